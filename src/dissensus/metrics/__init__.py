"""From draws and predictions to numbers: one file per family of metrics."""

from __future__ import annotations

from dissensus.metrics.accuracy import ExpectedAccuracy, TopKAccuracy
from dissensus.metrics.categories import CategoryAccuracy
from dissensus.metrics.functions import UserMetric
from dissensus.metrics.lists import KendallTau, SpearmanFootrule
from dissensus.metrics.measuring import Drawn, Metric, OrderMetric, Predicted
from dissensus.metrics.naming import METRICS, named_metric
from dissensus.metrics.overlap import AverageOverlap, Overlap, RankBiasedOverlap
from dissensus.metrics.probabilities import BrierScore, LogScore
from dissensus.metrics.sets import Coverage, ExpectedCoverage, SetAccuracy, SetSize

__all__ = [
    "METRICS",
    "AverageOverlap",
    "BrierScore",
    "CategoryAccuracy",
    "Coverage",
    "Drawn",
    "ExpectedAccuracy",
    "ExpectedCoverage",
    "KendallTau",
    "LogScore",
    "Metric",
    "OrderMetric",
    "Overlap",
    "Predicted",
    "RankBiasedOverlap",
    "SetAccuracy",
    "SetSize",
    "SpearmanFootrule",
    "TopKAccuracy",
    "UserMetric",
    "named_metric",
]
