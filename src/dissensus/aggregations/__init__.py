"""Aggregations: what turns the opinions of annotators into plausibilities, and the priors they use."""

from dissensus.aggregations.annotator_bootstrap import AnnotatorBootstrap
from dissensus.aggregations.case_prior import CasePrior, informed_prior
from dissensus.aggregations.dawid_skene import DawidSkene
from dissensus.aggregations.diagnostics import Diagnostics, sampling_diagnostics, to_xarray
from dissensus.aggregations.dirichlet import Dirichlet
from dissensus.aggregations.given_draws import GivenDraws
from dissensus.aggregations.normal_inverse_gamma import NormalInverseGamma, NormalInverseGammaPrior
from dissensus.aggregations.ordered_probit import OrderedProbit
from dissensus.aggregations.plackett_luce import PlackettLuce, plackett_luce_log_likelihood
from dissensus.aggregations.point_estimates import InverseRank, MajorityVote, MeanRating, MedianRating, PlackettLuceML
from dissensus.aggregations.probabilistic_inverse_rank import ProbabilisticInverseRank
from dissensus.aggregations.rating_prior import RatingPrior, annotator_shifts, rating_prior

__all__ = [
    "AnnotatorBootstrap",
    "CasePrior",
    "DawidSkene",
    "Diagnostics",
    "Dirichlet",
    "GivenDraws",
    "InverseRank",
    "MajorityVote",
    "MeanRating",
    "MedianRating",
    "NormalInverseGamma",
    "NormalInverseGammaPrior",
    "OrderedProbit",
    "PlackettLuce",
    "PlackettLuceML",
    "ProbabilisticInverseRank",
    "RatingPrior",
    "annotator_shifts",
    "informed_prior",
    "plackett_luce_log_likelihood",
    "rating_prior",
    "sampling_diagnostics",
    "to_xarray",
]


def __getattr__(name: str) -> object:
    """Find an aggregation of an installed package by the name of its class."""
    from dissensus.aggregations.base import Aggregation

    found = [kind for kind in Aggregation.family.known().values() if not name.startswith("_") and kind.__name__ == name]
    if not found:
        raise AttributeError(f"module 'dissensus.aggregations' has no attribute {name!r}")
    return found[0]
