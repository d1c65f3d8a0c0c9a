"""From draws and predictions to numbers: one file per family of metrics."""

from __future__ import annotations

from dissensus.metrics.accuracy import ExpectedAccuracy, TopKAccuracy
from dissensus.metrics.base import Drawn, Metric, OrderMetric, Predicted
from dissensus.metrics.category_accuracy import CategoryAccuracy
from dissensus.metrics.naming import METRICS, named_metric
from dissensus.metrics.overlap import AverageOverlap, Overlap, RankBiasedOverlap
from dissensus.metrics.probabilities import BrierScore, LogScore
from dissensus.metrics.sets import Coverage, ExpectedCoverage, SetAccuracy, SetSize
from dissensus.metrics.similarity import KendallTau, SpearmanFootrule
from dissensus.metrics.user_metric import UserMetric

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
