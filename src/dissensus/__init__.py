"""Dissensus: evaluate models when the experts disagree.

Names are imported on first use, so that ``import dissensus`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dissensus.aggregation import AnnotatorBootstrap as AnnotatorBootstrap
    from dissensus.aggregation import Dirichlet as Dirichlet
    from dissensus.aggregation import InverseRank as InverseRank
    from dissensus.aggregation import MajorityVote as MajorityVote
    from dissensus.aggregation import NormalInverseGamma as NormalInverseGamma
    from dissensus.aggregation import NormalInverseGammaPrior as NormalInverseGammaPrior
    from dissensus.aggregation import PlackettLuce as PlackettLuce
    from dissensus.aggregation import PlackettLuceML as PlackettLuceML
    from dissensus.aggregation import ProbabilisticInverseRank as ProbabilisticInverseRank
    from dissensus.aggregation import plackett_luce_log_likelihood as plackett_luce_log_likelihood
    from dissensus.aggregation.diagnostics import sampling_diagnostics as sampling_diagnostics
    from dissensus.aggregation.diagnostics import to_xarray as to_xarray
    from dissensus.core.errors import DissensusError as DissensusError
    from dissensus.core.errors import DissensusWarning as DissensusWarning
    from dissensus.datasets.simulation import simulate_study as simulate_study
    from dissensus.draws import Plausibilities as Plausibilities
    from dissensus.evaluation.agreement import annotator_agreement as annotator_agreement
    from dissensus.evaluation.agreement import pairwise_agreement as pairwise_agreement
    from dissensus.evaluation.categories import Categories as Categories
    from dissensus.evaluation.categories import expected_risk as expected_risk
    from dissensus.evaluation.certainty import Certainty as Certainty
    from dissensus.evaluation.certainty import annotation_certainty as annotation_certainty
    from dissensus.evaluation.certainty import certainty_of as certainty_of
    from dissensus.evaluation.certainty import certainty_profile as certainty_profile
    from dissensus.evaluation.evaluator import evaluate as evaluate
    from dissensus.evaluation.krippendorff import krippendorff_alpha as krippendorff_alpha
    from dissensus.evaluation.ranking_overlap import mean_average_overlap as mean_average_overlap
    from dissensus.evaluation.results import Evaluation as Evaluation
    from dissensus.evaluation.store import load_evaluation as load_evaluation
    from dissensus.predictions.lists import Predictions as Predictions
    from dissensus.predictions.reader import read_models as read_models
    from dissensus.predictions.reader import read_predictions as read_predictions
    from dissensus.report.page import write_report as write_report
    from dissensus.study.canonical import write_annotations as write_annotations
    from dissensus.study.diagnosis import diagnose as diagnose
    from dissensus.study.rankings import Annotations as Annotations
    from dissensus.study.ratings import Ratings as Ratings
    from dissensus.study.reading import examine_annotations as examine_annotations
    from dissensus.study.reading import read_annotations as read_annotations
    from dissensus.study.reading import read_ratings as read_ratings

_HOMES = {
    "Annotations": "study.rankings",
    "AnnotatorBootstrap": "aggregation",
    "Categories": "evaluation.categories",
    "Certainty": "evaluation.certainty",
    "Dirichlet": "aggregation",
    "DissensusError": "core.errors",
    "DissensusWarning": "core.errors",
    "Evaluation": "evaluation.results",
    "InverseRank": "aggregation",
    "MajorityVote": "aggregation",
    "NormalInverseGamma": "aggregation",
    "NormalInverseGammaPrior": "aggregation",
    "PlackettLuce": "aggregation",
    "PlackettLuceML": "aggregation",
    "Plausibilities": "draws",
    "Predictions": "predictions.lists",
    "ProbabilisticInverseRank": "aggregation",
    "Ratings": "study.ratings",
    "annotation_certainty": "evaluation.certainty",
    "annotator_agreement": "evaluation.agreement",
    "certainty_of": "evaluation.certainty",
    "certainty_profile": "evaluation.certainty",
    "diagnose": "study.diagnosis",
    "evaluate": "evaluation.evaluator",
    "examine_annotations": "study.reading",
    "expected_risk": "evaluation.categories",
    "krippendorff_alpha": "evaluation.krippendorff",
    "load_evaluation": "evaluation.store",
    "mean_average_overlap": "evaluation.ranking_overlap",
    "pairwise_agreement": "evaluation.agreement",
    "plackett_luce_log_likelihood": "aggregation",
    "read_annotations": "study.reading",
    "read_models": "predictions.reader",
    "read_predictions": "predictions.reader",
    "read_ratings": "study.reading",
    "sampling_diagnostics": "aggregation.diagnostics",
    "simulate_study": "datasets.simulation",
    "to_xarray": "aggregation.diagnostics",
    "write_annotations": "study.canonical",
    "write_report": "report.page",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the lazy names are the public ones


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'dissensus' has no attribute {name!r}")
    return getattr(import_module(f"dissensus.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
