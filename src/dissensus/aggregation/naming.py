"""Aggregations by name, as on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dissensus.aggregation.aggregating import Aggregation
from dissensus.aggregation.bootstrap import AnnotatorBootstrap
from dissensus.aggregation.inverse_rank import InverseRank, ProbabilisticInverseRank
from dissensus.aggregation.normal_inverse_gamma import NormalInverseGamma
from dissensus.aggregation.plackett_luce import PlackettLuce, PlackettLuceML
from dissensus.aggregation.votes import Dirichlet, MajorityVote
from dissensus.errors import DissensusError, suggestion


def hyphenated(name: str) -> str:
    """Spell the name of a class as on the command line.

    >>> hyphenated("ProbabilisticInverseRank"), hyphenated("PlackettLuceML")
    ('probabilistic-inverse-rank', 'plackett-luce-ml')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


AGGREGATIONS: dict[str, type[Aggregation]] = {
    hyphenated(kind.__name__): kind
    for kind in (
        MajorityVote,
        InverseRank,
        PlackettLuceML,
        Dirichlet,
        ProbabilisticInverseRank,
        PlackettLuce,
        NormalInverseGamma,
        AnnotatorBootstrap,
    )
}
"""All aggregations by their names on the command line."""


def named_aggregation(name: str, parameters: Mapping[str, Any] | None = None) -> Aggregation:
    """Make an aggregation from its hyphenated name and its parameters.

    Examples
    --------
    >>> named_aggregation("plackett-luce", {"reliability": 3.0})
    PlackettLuce(reliability=3.0, alpha=1.0, prior='observed', chains=4, warmup=100)
    """
    if name not in AGGREGATIONS:
        raise DissensusError(
            f"unknown aggregation {name!r}",
            expected=f"one of {', '.join(AGGREGATIONS)}",
            advice=suggestion(name, AGGREGATIONS),
        )
    kind = AGGREGATIONS[name]
    known = [part.name for part in fields(kind)]  # type: ignore[arg-type]  # every aggregation is a dataclass
    for parameter in parameters or {}:
        if parameter not in known:
            raise DissensusError(
                f"{name} has no {parameter}",
                expected=f"its parameters are {', '.join(known)}" if known else "it has no parameters",
                advice="leave it out, or choose another aggregation",
            )
    return kind(**(parameters or {}))
