"""Tables of single cases, such as their certainty, and of curves and confusion matrices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dissensus.agreement.peers import annotator_agreement
from dissensus.certainty.top_sets import ANY_OTHER
from dissensus.core.aliases import IntArray
from dissensus.core.checks import check_choice
from dissensus.core.ragged import row_of_each
from dissensus.evaluation.curves import KINDS, Curve
from dissensus.study.study import require_kind

if TYPE_CHECKING:
    from dissensus.evaluation.profiles import Profiles
    from dissensus.evaluation.results import Evaluation

RUN = {"run": pl.String, "aggregation": pl.String, "reliability": pl.Float64, "estimand": pl.String}
"""Columns that say which run a row belongs to, and what it estimates."""

SUMMARY = {
    **RUN,
    "model": pl.String,
    "metric": pl.String,
    **dict.fromkeys(("mean", "sd", "low", "high", "annotation_low", "annotation_high", "min", "max"), pl.Float64),
    **dict.fromkeys(
        ("case_sd", "annotator_sd", "draw_sd", "fit_sd", "mc_error", "point_estimate", "difference"), pl.Float64
    ),
    "n_cases": pl.Int64,
    "n_draws": pl.Int64,
}
"""Columns of the tidy table."""


def certainties(evaluation: Evaluation) -> pl.DataFrame:
    """Return the rows of :meth:`Evaluation.certainties`."""
    parts = []
    for run, found in enumerate(evaluation.profiles):
        for top, is_member in enumerate(found.is_member, start=1):
            rows = _labelled(evaluation, run, pl.Series("case", evaluation.case_names, dtype=pl.String))
            parts.append(
                rows.with_columns(
                    pl.lit(top, dtype=pl.Int64).alias("top"),
                    pl.Series("certainty", found.certainties[top - 1]),
                    pl.Series("error", found.errors[top - 1]),
                    _winners(evaluation.conditions, found.support_offsets, found.support, is_member, top),
                )
            )
    return pl.concat(parts).select(*RUN, "top", "case", "certainty", "error", "winner")


def _winners(
    conditions: tuple[str, ...], offsets: IntArray, support: IntArray, is_member: IntArray, top: int
) -> pl.Series:
    """Name the winning set of every case; what it lacks is some unmentioned condition."""
    chosen = np.flatnonzero(is_member)
    cases = row_of_each(offsets)[chosen]
    lacking = np.repeat(np.arange(len(offsets) - 1), top - np.bincount(cases, minlength=len(offsets) - 1))
    names = pl.Series([*conditions, ANY_OTHER], dtype=pl.String)
    codes = np.concatenate([support[chosen], np.full(len(lacking), len(conditions))])
    rows = pl.DataFrame({"case": np.concatenate([cases, lacking]), "winner": names.gather(codes)})
    grouped = rows.sort("case", maintain_order=True).group_by("case", maintain_order=True).agg("winner")
    return grouped["winner"]


def category_certainties(evaluation: Evaluation) -> pl.DataFrame:
    """Return the rows of :meth:`Evaluation.category_certainties`."""
    schema = {**LABELS, "certainty": pl.Float64, "error": pl.Float64, "category": pl.String}
    if evaluation.categories is None:
        return pl.DataFrame(schema=schema)
    names = pl.Series(evaluation.categories.names, dtype=pl.String)
    parts = [
        _labelled(evaluation, run, pl.Series("case", evaluation.case_names, dtype=pl.String)).with_columns(
            pl.Series("certainty", found.category_certainties),
            pl.Series("error", found.category_errors),
            names.gather(found.category_winners).alias("category"),
        )
        for run, found in enumerate(evaluation.profiles)
    ]
    return pl.concat(parts)


def risks(evaluation: Evaluation) -> pl.DataFrame:
    """Return the rows of :meth:`Evaluation.risks`."""
    schema = {**LABELS, **dict.fromkeys(("mean", "min", "max"), pl.Float64)}
    if evaluation.categories is None or not evaluation.categories.levels:
        return pl.DataFrame(schema=schema)
    names = pl.Series("case", evaluation.case_names, dtype=pl.String)
    parts = [
        _labelled(evaluation, run, names).with_columns(
            pl.Series(name, values) for name, values in zip(("mean", "min", "max"), found.risks, strict=True)
        )
        for run, found in enumerate(evaluation.profiles)
    ]
    return pl.concat(parts)


def plausibilities(evaluation: Evaluation) -> pl.DataFrame:
    """Return the rows of :meth:`Evaluation.plausibilities`."""
    parts = [
        _labelled(evaluation, run, _cases_of(evaluation, found)).with_columns(
            _conditions_of(evaluation, found),
            pl.Series("mean", found.means),
            pl.Series("top", found.tops),
            pl.Series("draws", np.ascontiguousarray(found.sketch.T.astype(np.float32))).arr.to_list(),
        )
        for run, found in enumerate(evaluation.profiles)
    ]
    return pl.concat(parts)


def _cases_of(evaluation: Evaluation, found: Profiles) -> pl.Series:
    """Name the case of each of the U + 1 plausibilities."""
    return pl.Series("case", evaluation.case_names, dtype=pl.String).gather(row_of_each(found.columns))


def _conditions_of(evaluation: Evaluation, found: Profiles) -> pl.Series:
    """Name the condition of each of the U + 1 plausibilities; missing for all others together."""
    codes = np.insert(found.support, found.support_offsets[1:], len(evaluation.conditions))
    return pl.Series("condition", [*evaluation.conditions, None], dtype=pl.String).gather(codes)


def agreement(evaluation: Evaluation) -> pl.DataFrame:
    """Return the rows of :meth:`Evaluation.agreement`."""
    schema = {"case": pl.String, "agreement": pl.Float64, "n_annotators": pl.Int64}
    if evaluation.study.kind != "rankings":
        return pl.DataFrame(schema=schema)
    return (
        annotator_agreement(require_kind(evaluation.study, "rankings", "agreement"))
        .to_frame()
        .with_columns(pl.col("agreement").fill_nan(None))
    )


LABELS = {**RUN, "case": pl.String}


def _labelled(evaluation: Evaluation, run: int, case: pl.Series) -> pl.DataFrame:
    """Begin a table of cases under one run."""
    identity = evaluation.runs[run].identity
    return pl.DataFrame({"case": case}).select(
        *(pl.lit(identity[name], dtype=kind).alias(name) for name, kind in RUN.items()), "case"
    )


# Curves -------------------------------------------------------------------------------------------------

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
    for one in evaluation.lines:
        names = {"run": one.run, "estimand": estimands[one.run], "truth": one.truth}
        yield one, {**names, "model": one.model, "question": one.question}
