"""Dissensus: evaluate models when the experts disagree.

Everything public is here: ``dissensus.evaluate``, ``dissensus.PlackettLuce``, ``dissensus.TopKAccuracy``; all other
modules are internal. Names are imported on first use, so that ``import dissensus`` stays light. Aggregations and
metrics of installed packages are here too, by the names of their classes.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dissensus.aggregation.annotator_bootstrap import AnnotatorBootstrap as AnnotatorBootstrap
    from dissensus.aggregation.base import Aggregation as Aggregation
    from dissensus.aggregation.base import PointAggregation as PointAggregation
    from dissensus.aggregation.case_prior import CasePrior as CasePrior
    from dissensus.aggregation.case_prior import informed_prior as informed_prior
    from dissensus.aggregation.dawid_skene import DawidSkene as DawidSkene
    from dissensus.aggregation.diagnostics import Diagnostics as Diagnostics
    from dissensus.aggregation.diagnostics import sampling_diagnostics as sampling_diagnostics
    from dissensus.aggregation.diagnostics import to_xarray as to_xarray
    from dissensus.aggregation.dirichlet import Dirichlet as Dirichlet
    from dissensus.aggregation.given_draws import GivenDraws as GivenDraws
    from dissensus.aggregation.normal_inverse_gamma import NormalInverseGamma as NormalInverseGamma
    from dissensus.aggregation.normal_inverse_gamma import NormalInverseGammaPrior as NormalInverseGammaPrior
    from dissensus.aggregation.ordered_probit import OrderedProbit as OrderedProbit
    from dissensus.aggregation.plackett_luce import PlackettLuce as PlackettLuce
    from dissensus.aggregation.plackett_luce import plackett_luce_log_likelihood as plackett_luce_log_likelihood
    from dissensus.aggregation.point_estimates import InverseRank as InverseRank
    from dissensus.aggregation.point_estimates import MajorityVote as MajorityVote
    from dissensus.aggregation.point_estimates import MeanRating as MeanRating
    from dissensus.aggregation.point_estimates import MedianRating as MedianRating
    from dissensus.aggregation.point_estimates import PlackettLuceML as PlackettLuceML
    from dissensus.aggregation.priors import Alpha as Alpha
    from dissensus.aggregation.probabilistic_inverse_rank import ProbabilisticInverseRank as ProbabilisticInverseRank
    from dissensus.aggregation.rating_prior import RatingPrior as RatingPrior
    from dissensus.aggregation.rating_prior import annotator_shifts as annotator_shifts
    from dissensus.aggregation.rating_prior import rating_prior as rating_prior
    from dissensus.agreement.annotator_quality import annotator_confusion as annotator_confusion
    from dissensus.agreement.annotator_quality import annotator_gradings as annotator_gradings
    from dissensus.agreement.annotator_quality import annotator_quality as annotator_quality
    from dissensus.agreement.measures import AgreementMeasure as AgreementMeasure
    from dissensus.agreement.measures import agreement_measures as agreement_measures
    from dissensus.agreement.measures import cohen_kappa as cohen_kappa
    from dissensus.agreement.measures import krippendorff_alpha as krippendorff_alpha
    from dissensus.agreement.overlap import mean_average_overlap as mean_average_overlap
    from dissensus.agreement.peers import Agreement as Agreement
    from dissensus.agreement.peers import annotator_agreement as annotator_agreement
    from dissensus.agreement.peers import pairwise_agreement as pairwise_agreement
    from dissensus.certainty.categories import Categories as Categories
    from dissensus.certainty.categories import expected_risk as expected_risk
    from dissensus.certainty.regions import PlausibilityRegions as PlausibilityRegions
    from dissensus.certainty.regions import plausibility_regions as plausibility_regions
    from dissensus.certainty.top_sets import Certainty as Certainty
    from dissensus.certainty.top_sets import annotation_certainty as annotation_certainty
    from dissensus.certainty.top_sets import certainty_of as certainty_of
    from dissensus.certainty.top_sets import certainty_profile as certainty_profile
    from dissensus.certainty.top_sets import rank_certainty as rank_certainty
    from dissensus.certainty.top_sets import rank_shares as rank_shares
    from dissensus.core.errors import DissensusError as DissensusError
    from dissensus.core.errors import DissensusWarning as DissensusWarning
    from dissensus.draws import Batch as Batch
    from dissensus.draws import Plausibilities as Plausibilities
    from dissensus.draws import Sampler as Sampler
    from dissensus.evaluation.calibration import Calibration as Calibration
    from dissensus.evaluation.calibration import calibrate as calibrate
    from dissensus.evaluation.calibration import load_calibration as load_calibration
    from dissensus.evaluation.comparison import Comparison as Comparison
    from dissensus.evaluation.comparison import Difference as Difference
    from dissensus.evaluation.evaluator import evaluate as evaluate
    from dissensus.evaluation.results import Evaluation as Evaluation
    from dissensus.evaluation.results import Run as Run
    from dissensus.evaluation.store import load_evaluation as load_evaluation
    from dissensus.metrics.accuracy import CategoryAccuracy as CategoryAccuracy
    from dissensus.metrics.accuracy import Coverage as Coverage
    from dissensus.metrics.accuracy import ExpectedAccuracy as ExpectedAccuracy
    from dissensus.metrics.accuracy import ExpectedCoverage as ExpectedCoverage
    from dissensus.metrics.accuracy import SetAccuracy as SetAccuracy
    from dissensus.metrics.accuracy import SetSize as SetSize
    from dissensus.metrics.accuracy import TopKAccuracy as TopKAccuracy
    from dissensus.metrics.base import Drawn as Drawn
    from dissensus.metrics.base import Metric as Metric
    from dissensus.metrics.base import Predicted as Predicted
    from dissensus.metrics.calibration_error import BrierReliability as BrierReliability
    from dissensus.metrics.calibration_error import BrierResolution as BrierResolution
    from dissensus.metrics.calibration_error import BrierUncertainty as BrierUncertainty
    from dissensus.metrics.calibration_error import CalibrationError as CalibrationError
    from dissensus.metrics.confusion import BalancedAccuracy as BalancedAccuracy
    from dissensus.metrics.confusion import CohenKappa as CohenKappa
    from dissensus.metrics.confusion import Matthews as Matthews
    from dissensus.metrics.confusion import SubsetAccuracy as SubsetAccuracy
    from dissensus.metrics.decisions import FBeta as FBeta
    from dissensus.metrics.decisions import Jaccard as Jaccard
    from dissensus.metrics.decisions import NegativeLikelihoodRatio as NegativeLikelihoodRatio
    from dissensus.metrics.decisions import NegativePredictiveValue as NegativePredictiveValue
    from dissensus.metrics.decisions import NetBenefit as NetBenefit
    from dissensus.metrics.decisions import PositiveLikelihoodRatio as PositiveLikelihoodRatio
    from dissensus.metrics.decisions import PositivePredictiveValue as PositivePredictiveValue
    from dissensus.metrics.decisions import Sensitivity as Sensitivity
    from dissensus.metrics.decisions import Specificity as Specificity
    from dissensus.metrics.grades import GradeError as GradeError
    from dissensus.metrics.grades import RankedProbabilityScore as RankedProbabilityScore
    from dissensus.metrics.grades import WassersteinDistance as WassersteinDistance
    from dissensus.metrics.grades import WithinGrades as WithinGrades
    from dissensus.metrics.numbers import CRPS as CRPS
    from dissensus.metrics.numbers import RMSE as RMSE
    from dissensus.metrics.numbers import BlandAltman as BlandAltman
    from dissensus.metrics.numbers import ConcordanceCorrelation as ConcordanceCorrelation
    from dissensus.metrics.numbers import Correlation as Correlation
    from dissensus.metrics.numbers import MeanAbsoluteError as MeanAbsoluteError
    from dissensus.metrics.numbers import WassersteinNumbers as WassersteinNumbers
    from dissensus.metrics.probabilities import BrierScore as BrierScore
    from dissensus.metrics.probabilities import LogScore as LogScore
    from dissensus.metrics.ranking import AUROC as AUROC
    from dissensus.metrics.ranking import AveragePrecision as AveragePrecision
    from dissensus.metrics.ranking import PartialAUROC as PartialAUROC
    from dissensus.metrics.ranking import SensitivityAtSpecificity as SensitivityAtSpecificity
    from dissensus.metrics.ranking import SpecificityAtSensitivity as SpecificityAtSensitivity
    from dissensus.metrics.similarity import AverageOverlap as AverageOverlap
    from dissensus.metrics.similarity import KendallTau as KendallTau
    from dissensus.metrics.similarity import Overlap as Overlap
    from dissensus.metrics.similarity import RankBiasedOverlap as RankBiasedOverlap
    from dissensus.metrics.similarity import SpearmanFootrule as SpearmanFootrule
    from dissensus.metrics.user_metric import UserDataSetMetric as UserDataSetMetric
    from dissensus.metrics.user_metric import UserMetric as UserMetric
    from dissensus.pieces.evaluation import evaluate_files as evaluate_files
    from dissensus.predictions.lists import Predictions as Predictions
    from dissensus.predictions.reader import read_models as read_models
    from dissensus.predictions.reader import read_predictions as read_predictions
    from dissensus.report.page import write_report as write_report
    from dissensus.report.section import ReportSection as ReportSection
    from dissensus.simulate.checklist_study import simulate_binary as simulate_binary
    from dissensus.simulate.checklist_study import simulate_checklists as simulate_checklists
    from dissensus.simulate.differential_study import simulate_study as simulate_study
    from dissensus.simulate.rating_study import simulate_ratings as simulate_ratings
    from dissensus.study.canonical import write_annotations as write_annotations
    from dissensus.study.diagnosis import diagnose as diagnose
    from dissensus.study.reading import examine_annotations as examine_annotations
    from dissensus.study.reading import read_annotations as read_annotations
    from dissensus.study.reading import read_checklists as read_checklists
    from dissensus.study.reading import read_ratings as read_ratings
    from dissensus.study.reading.format import Format as Format
    from dissensus.study.reading.records import Collection as Collection
    from dissensus.study.study import Annotations as Annotations
    from dissensus.study.study import Checklists as Checklists
    from dissensus.study.study import Ratings as Ratings
    from dissensus.study.study import Study as Study

_HOMES = {
    "AUROC": "metrics.ranking",
    "Aggregation": "aggregation.base",
    "Agreement": "agreement.peers",
    "AgreementMeasure": "agreement.measures",
    "Alpha": "aggregation.priors",
    "Annotations": "study.study",
    "AnnotatorBootstrap": "aggregation.annotator_bootstrap",
    "AverageOverlap": "metrics.similarity",
    "AveragePrecision": "metrics.ranking",
    "BalancedAccuracy": "metrics.confusion",
    "Batch": "draws",
    "BlandAltman": "metrics.numbers",
    "BrierReliability": "metrics.calibration_error",
    "BrierResolution": "metrics.calibration_error",
    "BrierScore": "metrics.probabilities",
    "BrierUncertainty": "metrics.calibration_error",
    "CRPS": "metrics.numbers",
    "Calibration": "evaluation.calibration",
    "CalibrationError": "metrics.calibration_error",
    "CasePrior": "aggregation.case_prior",
    "Categories": "certainty.categories",
    "CategoryAccuracy": "metrics.accuracy",
    "Certainty": "certainty.top_sets",
    "Checklists": "study.study",
    "CohenKappa": "metrics.confusion",
    "Collection": "study.reading.records",
    "Comparison": "evaluation.comparison",
    "ConcordanceCorrelation": "metrics.numbers",
    "Correlation": "metrics.numbers",
    "Coverage": "metrics.accuracy",
    "DawidSkene": "aggregation.dawid_skene",
    "Diagnostics": "aggregation.diagnostics",
    "Difference": "evaluation.comparison",
    "Dirichlet": "aggregation.dirichlet",
    "DissensusError": "core.errors",
    "DissensusWarning": "core.errors",
    "Drawn": "metrics.base",
    "Evaluation": "evaluation.results",
    "ExpectedAccuracy": "metrics.accuracy",
    "ExpectedCoverage": "metrics.accuracy",
    "FBeta": "metrics.decisions",
    "Format": "study.reading.format",
    "GivenDraws": "aggregation.given_draws",
    "GradeError": "metrics.grades",
    "InverseRank": "aggregation.point_estimates",
    "Jaccard": "metrics.decisions",
    "KendallTau": "metrics.similarity",
    "LogScore": "metrics.probabilities",
    "MajorityVote": "aggregation.point_estimates",
    "Matthews": "metrics.confusion",
    "MeanAbsoluteError": "metrics.numbers",
    "MeanRating": "aggregation.point_estimates",
    "MedianRating": "aggregation.point_estimates",
    "Metric": "metrics.base",
    "NegativeLikelihoodRatio": "metrics.decisions",
    "NegativePredictiveValue": "metrics.decisions",
    "NetBenefit": "metrics.decisions",
    "NormalInverseGamma": "aggregation.normal_inverse_gamma",
    "NormalInverseGammaPrior": "aggregation.normal_inverse_gamma",
    "OrderedProbit": "aggregation.ordered_probit",
    "Overlap": "metrics.similarity",
    "PartialAUROC": "metrics.ranking",
    "PlackettLuce": "aggregation.plackett_luce",
    "PlackettLuceML": "aggregation.point_estimates",
    "Plausibilities": "draws",
    "PlausibilityRegions": "certainty.regions",
    "PointAggregation": "aggregation.base",
    "PositiveLikelihoodRatio": "metrics.decisions",
    "PositivePredictiveValue": "metrics.decisions",
    "Predicted": "metrics.base",
    "Predictions": "predictions.lists",
    "ProbabilisticInverseRank": "aggregation.probabilistic_inverse_rank",
    "RMSE": "metrics.numbers",
    "RankBiasedOverlap": "metrics.similarity",
    "RankedProbabilityScore": "metrics.grades",
    "RatingPrior": "aggregation.rating_prior",
    "Ratings": "study.study",
    "ReportSection": "report.section",
    "Run": "evaluation.results",
    "Sampler": "draws",
    "Sensitivity": "metrics.decisions",
    "SensitivityAtSpecificity": "metrics.ranking",
    "SetAccuracy": "metrics.accuracy",
    "SetSize": "metrics.accuracy",
    "SpearmanFootrule": "metrics.similarity",
    "Specificity": "metrics.decisions",
    "SpecificityAtSensitivity": "metrics.ranking",
    "Study": "study.study",
    "SubsetAccuracy": "metrics.confusion",
    "TopKAccuracy": "metrics.accuracy",
    "UserDataSetMetric": "metrics.user_metric",
    "UserMetric": "metrics.user_metric",
    "WassersteinDistance": "metrics.grades",
    "WassersteinNumbers": "metrics.numbers",
    "WithinGrades": "metrics.grades",
    "agreement_measures": "agreement.measures",
    "annotation_certainty": "certainty.top_sets",
    "annotator_agreement": "agreement.peers",
    "annotator_confusion": "agreement.annotator_quality",
    "annotator_gradings": "agreement.annotator_quality",
    "annotator_quality": "agreement.annotator_quality",
    "annotator_shifts": "aggregation.rating_prior",
    "calibrate": "evaluation.calibration",
    "certainty_of": "certainty.top_sets",
    "certainty_profile": "certainty.top_sets",
    "cohen_kappa": "agreement.measures",
    "diagnose": "study.diagnosis",
    "evaluate": "evaluation.evaluator",
    "evaluate_files": "pieces.evaluation",
    "examine_annotations": "study.reading",
    "expected_risk": "certainty.categories",
    "informed_prior": "aggregation.case_prior",
    "krippendorff_alpha": "agreement.measures",
    "load_calibration": "evaluation.calibration",
    "load_evaluation": "evaluation.store",
    "mean_average_overlap": "agreement.overlap",
    "pairwise_agreement": "agreement.peers",
    "plackett_luce_log_likelihood": "aggregation.plackett_luce",
    "plausibility_regions": "certainty.regions",
    "rank_certainty": "certainty.top_sets",
    "rank_shares": "certainty.top_sets",
    "rating_prior": "aggregation.rating_prior",
    "read_annotations": "study.reading",
    "read_checklists": "study.reading",
    "read_models": "predictions.reader",
    "read_predictions": "predictions.reader",
    "read_ratings": "study.reading",
    "sampling_diagnostics": "aggregation.diagnostics",
    "simulate_binary": "simulate.checklist_study",
    "simulate_checklists": "simulate.checklist_study",
    "simulate_ratings": "simulate.rating_study",
    "simulate_study": "simulate.differential_study",
    "to_xarray": "aggregation.diagnostics",
    "write_annotations": "study.canonical",
    "write_report": "report.page",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the lazy names are the public ones


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(_import_module(f"dissensus.{_HOMES[name]}"), name)
    found = None if name.startswith("_") else _provided(name)
    if found is None:
        raise AttributeError(f"module 'dissensus' has no attribute {name!r}")
    return found


def _provided(name: str) -> object:
    """Find an aggregation or a metric of an installed package by the name of its class."""
    families = (
        _import_module(f"dissensus.{home}").__dict__[base].family
        for base, home in (("Aggregation", "aggregation.base"), ("Metric", "metrics.base"))
    )
    return next((kind for family in families for kind in family.known().values() if kind.__name__ == name), None)


def __dir__() -> list[str]:
    return list(__all__)
