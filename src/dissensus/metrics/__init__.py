"""Metrics: how a model is measured against draws of the plausibilities, or against labels."""

from dissensus.metrics.accuracy import (
    CategoryAccuracy,
    Coverage,
    ExpectedAccuracy,
    ExpectedCoverage,
    SetAccuracy,
    SetSize,
    TopKAccuracy,
)
from dissensus.metrics.calibration_error import BrierReliability, BrierResolution, BrierUncertainty, CalibrationError
from dissensus.metrics.confusion import BalancedAccuracy, CohenKappa, Matthews, SubsetAccuracy
from dissensus.metrics.decisions import (
    FBeta,
    Jaccard,
    NegativeLikelihoodRatio,
    NegativePredictiveValue,
    NetBenefit,
    PositiveLikelihoodRatio,
    PositivePredictiveValue,
    Sensitivity,
    Specificity,
)
from dissensus.metrics.grades import GradeError, RankedProbabilityScore, WassersteinDistance, WithinGrades
from dissensus.metrics.numbers import (
    CRPS,
    RMSE,
    BlandAltman,
    ConcordanceCorrelation,
    Correlation,
    MeanAbsoluteError,
    WassersteinNumbers,
)
from dissensus.metrics.probabilities import BrierScore, LogScore
from dissensus.metrics.ranking import (
    AUROC,
    AveragePrecision,
    PartialAUROC,
    SensitivityAtSpecificity,
    SpecificityAtSensitivity,
)
from dissensus.metrics.similarity import AverageOverlap, KendallTau, Overlap, RankBiasedOverlap, SpearmanFootrule
from dissensus.metrics.user_metric import UserDataSetMetric, UserMetric

__all__ = [
    "AUROC",
    "CRPS",
    "RMSE",
    "AverageOverlap",
    "AveragePrecision",
    "BalancedAccuracy",
    "BlandAltman",
    "BrierReliability",
    "BrierResolution",
    "BrierScore",
    "BrierUncertainty",
    "CalibrationError",
    "CategoryAccuracy",
    "CohenKappa",
    "ConcordanceCorrelation",
    "Correlation",
    "Coverage",
    "ExpectedAccuracy",
    "ExpectedCoverage",
    "FBeta",
    "GradeError",
    "Jaccard",
    "KendallTau",
    "LogScore",
    "Matthews",
    "MeanAbsoluteError",
    "NegativeLikelihoodRatio",
    "NegativePredictiveValue",
    "NetBenefit",
    "Overlap",
    "PartialAUROC",
    "PositiveLikelihoodRatio",
    "PositivePredictiveValue",
    "RankBiasedOverlap",
    "RankedProbabilityScore",
    "Sensitivity",
    "SensitivityAtSpecificity",
    "SetAccuracy",
    "SetSize",
    "SpearmanFootrule",
    "Specificity",
    "SpecificityAtSensitivity",
    "SubsetAccuracy",
    "TopKAccuracy",
    "UserDataSetMetric",
    "UserMetric",
    "WassersteinDistance",
    "WassersteinNumbers",
    "WithinGrades",
]


def __getattr__(name: str) -> object:
    """Find a metric of an installed package by the name of its class."""
    from dissensus.metrics.base import Metric

    found = [kind for kind in Metric.family.known().values() if not name.startswith("_") and kind.__name__ == name]
    if not found:
        raise AttributeError(f"module 'dissensus.metrics' has no attribute {name!r}")
    return found[0]
