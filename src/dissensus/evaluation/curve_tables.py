"""Tables of curves and of confusion matrices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import polars as pl

from dissensus.core.checks import check_choice
from dissensus.evaluation.curves import KINDS, Curve

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation

OF_CURVE = dict.fromkeys(("run", "estimand", "truth", "model", "question"), pl.String)
"""Columns that say whose curve it is."""

NUMBERS = dict.fromkeys(("low", "high"), pl.Float64)


def curves(evaluation: Evaluation, kind: str | None) -> pl.DataFrame:
    """Return the rows of :meth:`Evaluation.curves`."""
    drawn = [name for name in KINDS if name != "confusion"]
    if kind is not None:
        check_choice("kind", kind, drawn)
    wanted = drawn if kind is None else [kind]
    rows = [
        {"kind": one.kind, **identity, "x": x, "y": y, "low": low, "high": high, "n_cases": size}
        for one, identity in _identified(evaluation)
        if one.kind in wanted
        for x, y, low, high, size in zip(one.x, one.y, one.low, one.high, _sizes(one), strict=True)
    ]
    numbers = dict.fromkeys(("x", "y", "low", "high", "n_cases"), pl.Float64)
    return pl.DataFrame(rows, schema={"kind": pl.String, **OF_CURVE, **numbers}, orient="row")


def _sizes(curve: Curve) -> Iterable[float | None]:
    return curve.sizes.tolist() if len(curve.sizes) else [None] * len(curve.x)


def confusion(evaluation: Evaluation) -> pl.DataFrame:
    """Return the rows of :meth:`Evaluation.confusion`."""
    rows = [
        {
            **identity,
            "label": one.given,
            "called": evaluation.conditions[int(x)],
            "n_cases": y,
            "low": low,
            "high": high,
        }
        for one, identity in _identified(evaluation)
        if one.kind == "confusion"
        for x, y, low, high in zip(one.x, one.y, one.low, one.high, strict=True)
    ]
    own = {"label": pl.String, "called": pl.String, "n_cases": pl.Float64}
    return pl.DataFrame(rows, schema={**OF_CURVE, **own, **NUMBERS}, orient="row")


def _identified(evaluation: Evaluation) -> Iterable[tuple[Curve, dict[str, Any]]]:
    """Give every curve, and what columns say about it."""
    estimands = {run.label: run.estimand for run in evaluation.runs}
    for one in () if evaluation.kept is None else evaluation.kept.curves:
        names = {"run": one.run, "estimand": estimands[one.run], "truth": one.truth}
        yield one, {**names, "model": one.model, "question": one.question}
