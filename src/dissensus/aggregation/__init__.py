"""From opinions to plausibilities: one file per aggregation."""

from __future__ import annotations

from dissensus.aggregation.annotator_bootstrap import AnnotatorBootstrap
from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.inverse_rank import InverseRank, ProbabilisticInverseRank
from dissensus.aggregation.naming import AGGREGATIONS, named_aggregation
from dissensus.aggregation.normal_inverse_gamma import NormalInverseGamma, NormalInverseGammaPrior
from dissensus.aggregation.plackett_luce import PlackettLuce, PlackettLuceML, plackett_luce_log_likelihood
from dissensus.aggregation.votes import Dirichlet, MajorityVote

__all__ = [
    "AGGREGATIONS",
    "Aggregation",
    "AnnotatorBootstrap",
    "Dirichlet",
    "InverseRank",
    "MajorityVote",
    "NormalInverseGamma",
    "NormalInverseGammaPrior",
    "PlackettLuce",
    "PlackettLuceML",
    "ProbabilisticInverseRank",
    "named_aggregation",
    "plackett_luce_log_likelihood",
]
