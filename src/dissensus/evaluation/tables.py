"""Tables of single cases, such as their certainty, and of curves and confusion matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    from dissensus.evaluation.results import Evaluation

# Columns that say which run a row belongs to, and what it estimates.
RUN = {"run": pl.String, "aggregation": pl.String, "reliability": pl.Float64, "estimand": pl.String}

# Columns of the tidy table.
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


def _of_cases(evaluation: Evaluation, found: Iterable[tuple[int, IntArray | None, Mapping[str, Any]]]) -> pl.DataFrame:
    """Put columns of runs together; each has the run, the position of the case of every row if not all, and columns."""
    names, parts = pl.Series("case", evaluation.case_names, dtype=pl.String), []
    for run, rows, columns in found:
        identity = evaluation.runs[run].identity
        own = {"case": names if rows is None else names.gather(rows), **columns}
        labels = (pl.lit(identity[name], dtype=kind).alias(name) for name, kind in RUN.items())
        parts.append(pl.DataFrame(own).select(*labels, pl.all()))
    return pl.concat(parts)


def certainties(evaluation: Evaluation) -> pl.DataFrame:
    """Return the rows of :meth:`Evaluation.certainties`."""
    found = []
    for run, known in enumerate(evaluation.profiles):
        for top, is_member in enumerate(known.is_member, start=1):
            columns = {
                "top": pl.Series([top], dtype=pl.Int64).new_from_index(0, len(evaluation.case_names)),
                "certainty": known.certainties[top - 1],
                "error": known.errors[top - 1],
                "winner": _winners(evaluation.conditions, known.support_offsets, known.support, is_member, top),
            }
            found.append((run, None, columns))
    return _of_cases(evaluation, found).select(*RUN, "top", "case", "certainty", "error", "winner")


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
    if evaluation.categories is None:
        own = {"certainty": pl.Float64, "error": pl.Float64, "category": pl.String}
        return pl.DataFrame(schema={**RUN, "case": pl.String, **own})
    names = pl.Series(evaluation.categories.names, dtype=pl.String)
    parts = [
        (known.category_certainties, known.category_errors, names.gather(known.category_winners))
        for known in evaluation.profiles
    ]
    named = [dict(zip(("certainty", "error", "category"), part, strict=True)) for part in parts]
    return _of_cases(evaluation, ((run, None, columns) for run, columns in enumerate(named)))


def risks(evaluation: Evaluation) -> pl.DataFrame:
    """Return the rows of :meth:`Evaluation.risks`."""
    names = ("mean", "min", "max")
    if evaluation.categories is None or not evaluation.categories.levels:
        return pl.DataFrame(schema={**RUN, "case": pl.String, **dict.fromkeys(names, pl.Float64)})
    named = [dict(zip(names, known.risks, strict=True)) for known in evaluation.profiles]
    return _of_cases(evaluation, ((run, None, columns) for run, columns in enumerate(named)))


def plausibilities(evaluation: Evaluation) -> pl.DataFrame:
    """Return the rows of :meth:`Evaluation.plausibilities`: U + 1 of each case, the last for all other conditions."""
    names, found = pl.Series([*evaluation.conditions, None], dtype=pl.String), []
    for run, known in enumerate(evaluation.profiles):
        columns = {
            "condition": names.gather(np.insert(known.support, known.support_offsets[1:], len(evaluation.conditions))),
            "mean": known.means,
            "top": known.tops,
            "draws": pl.Series(np.ascontiguousarray(known.sketch.T.astype(np.float32))).arr.to_list(),
        }
        found.append((run, row_of_each(known.columns), columns))
    return _of_cases(evaluation, found)


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


# Curves -------------------------------------------------------------------------------------------------

# Columns that say whose curve it is.
OF_CURVE = dict.fromkeys(("run", "estimand", "truth", "model", "question"), pl.String)

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
        for x, y, low, high, size in zip(
            *(one.x, one.y, one.low, one.high, one.sizes if len(one.sizes) else [None] * len(one.x)), strict=True
        )
    ]
    numbers = dict.fromkeys(("x", "y", "low", "high", "n_cases"), pl.Float64)
    return pl.DataFrame(rows, schema={"kind": pl.String, **OF_CURVE, **numbers}, orient="row")


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
