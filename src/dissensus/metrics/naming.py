"""Metrics by name, as on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from typing import Any

from dissensus.core.errors import DissensusError, suggestion
from dissensus.metrics.accuracy import ExpectedAccuracy, TopKAccuracy
from dissensus.metrics.base import Metric
from dissensus.metrics.category_accuracy import CategoryAccuracy
from dissensus.metrics.overlap import AverageOverlap, Overlap, RankBiasedOverlap
from dissensus.metrics.probabilities import BrierScore, LogScore
from dissensus.metrics.sets import Coverage, ExpectedCoverage, SetAccuracy, SetSize
from dissensus.metrics.similarity import KendallTau, SpearmanFootrule

METRICS: dict[str, type[Metric]] = {
    "top-k-accuracy": TopKAccuracy,
    "set-accuracy": SetAccuracy,
    "overlap": Overlap,
    "average-overlap": AverageOverlap,
    "rank-biased-overlap": RankBiasedOverlap,
    "kendall-tau": KendallTau,
    "spearman-footrule": SpearmanFootrule,
    "category-accuracy": CategoryAccuracy,
    "expected-accuracy": ExpectedAccuracy,
    "log-score": LogScore,
    "brier-score": BrierScore,
    "coverage": Coverage,
    "expected-coverage": ExpectedCoverage,
    "set-size": SetSize,
}
"""All metrics by their names on the command line."""


def named_metric(text: str, *, categories: Sequence[str | int] | None = None) -> Metric:
    """Make a metric from its hyphenated name and its parameters, each after a colon.

    Parameters
    ----------
    categories
        The category of each condition, for metrics of categories.

    Examples
    --------
    >>> named_metric("top-k-accuracy:3")
    TopKAccuracy(k=3)
    >>> named_metric("rank-biased-overlap:0.8:5")
    RankBiasedOverlap(persistence=0.8, depth=5)
    """
    name, *given = text.strip().split(":")
    if name not in METRICS:
        raise DissensusError(
            f"unknown metric {name!r}", expected=f"one of {', '.join(METRICS)}", advice=suggestion(name, METRICS)
        )
    kind = METRICS[name]
    own = {"categories": categories} if issubclass(kind, CategoryAccuracy) else {}
    if own and categories is None:
        raise DissensusError(f"{name} needs the category of each condition")
    return kind(**own, **_parameters(text, name, given, [part for part in _parts(kind) if part.name not in own]))


def _parts(kind: type[Metric]) -> tuple[Field[Any], ...]:
    return fields(kind)  # type: ignore[arg-type]  # every metric is a dataclass


def _parameters(text: str, name: str, given: Sequence[str], parts: Sequence[Field[Any]]) -> dict[str, int | float]:
    """Match what is given with the parameters of a metric."""
    usage = ":".join([name, *(part.name.upper() for part in parts)])
    missing = [part.name for part in parts[len(given) :] if part.default is MISSING]
    if missing or len(given) > len(parts):
        problem = f"{name} needs {missing[0]}" if missing else f"{name} has too many parameters"
        raise DissensusError(problem, expected=usage, got=repr(text), advice=f"such as {name}:3" if missing else "")
    return {part.name: _number(part, value, text) for part, value in zip(parts, given, strict=False)}


def _number(part: Field[Any], value: str, text: str) -> int | float:
    try:
        return int(value) if part.type == "int" else float(value)
    except ValueError:
        what = "a whole number" if part.type == "int" else "a number"
        raise DissensusError(f"{part.name} must be {what}", got=repr(value), where=repr(text)) from None
