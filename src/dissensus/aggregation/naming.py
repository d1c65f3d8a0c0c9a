"""Aggregations by name, as on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dissensus.aggregation.annotator_bootstrap import AnnotatorBootstrap
from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.inverse_rank import InverseRank, ProbabilisticInverseRank
from dissensus.aggregation.normal_inverse_gamma import NormalInverseGamma
from dissensus.aggregation.plackett_luce import PlackettLuce, PlackettLuceML
from dissensus.aggregation.votes import Dirichlet, MajorityVote
from dissensus.core.errors import DissensusError, suggestion


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


def aggregations_from(text: str) -> list[Aggregation]:
    """Make aggregations from a name, reliabilities and other parameters, separated by colons.

    Examples
    --------
    >>> [a.reliability for a in aggregations_from("plackett-luce:1,3")]
    [1.0, 3.0]
    >>> aggregations_from("probabilistic-inverse-rank:30:ties=each")
    [ProbabilisticInverseRank(reliability=30.0, ties='each', alpha=0.0)]
    """
    name, *rest = text.split(":")
    parameters = dict(part.split("=", 1) for part in rest if "=" in part)
    reliabilities = [number for part in rest if "=" not in part for number in part.split(",")]
    typed: dict[str, Any] = {key: _number_or_word(value) for key, value in parameters.items()}
    if not reliabilities:
        return [named_aggregation(name, typed)]
    return [named_aggregation(name, {**typed, "reliability": _reliability(value, text)}) for value in reliabilities]


def _reliability(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DissensusError(
            "a reliability is not a number", expected="NAME:1,2,3", got=repr(text), where=where
        ) from None


def _number_or_word(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
