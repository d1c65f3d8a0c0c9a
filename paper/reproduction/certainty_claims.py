"""What the paper says in words about certainty: it rises with reliability, tends to 1, and falls with the places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dissensus.certainty.top_sets import Certainty
from dissensus.core.arrays import CERTAIN, FloatArray, is_uncertain
from paper.reproduction.paper_runs import FAR_RELIABILITY, POINT_NAMES, SHORT, PaperRun, clearly
from paper.reproduction.rows import AtLeast, Row, shaken_error

if TYPE_CHECKING:
    import polars as pl

TITLE = "Dermatology"
RISE, FALL, ONE = 0.01, 0.05, 0.995
"""What is taken as a clear rise, as significantly lower, and as 1."""

RISES = (
    f"a rise of less than {RISE}, or within five Monte Carlo errors, would not be clear; the smallest of the eight is "
    "judged"
)
LOWER = (
    f"a difference below {FALL} of certainty, or within five Monte Carlo errors, would not be significant; the "
    "smallest is judged"
)
EVENTUALLY = (
    f"{ONE} rounds to 1; where conditions tie for the first place, draws pick one of them at random however reliable "
    "the annotators are, so that the certainty tends to one over their number, not to 1"
)
UNTIED = "the same limit without the cases whose first place ties: there the paper is right"


class Finding(NamedTuple):
    """A number with its Monte Carlo error, and where it was found; the least comes first."""

    value: float
    error: float
    where: str


def uncertain_share(certainty: Certainty, limit: float = CERTAIN) -> tuple[float, float]:
    """Return the share of cases whose certainty is below a limit, and its Monte Carlo error."""

    def share(values: FloatArray) -> float:
        return float(is_uncertain(values, limit).mean())

    return share(certainty.values), shaken_error(share, certainty.values, certainty.errors)


def certainty_frame(found: Iterable[tuple[PaperRun, Sequence[Certainty]]]) -> pl.DataFrame:
    """Return a row per aggregation, number of first places and case, with the Monte Carlo error of the certainty."""
    import polars as pl

    parts = []
    for aggregation, profile in found:
        gamma = float(aggregation.reliability)
        run = {"run": f"{aggregation.id} {gamma:g}", "aggregation": aggregation.id, "reliability": gamma}
        for one in profile:
            columns = {"case": one.case_names, "top": one.top, "certainty": one.values, "error": one.errors}
            parts.append(pl.DataFrame(columns).with_columns(**{name: pl.lit(value) for name, value in run.items()}))
    return pl.concat(parts)


def mean_certainties(frame: pl.DataFrame) -> pl.DataFrame:
    """Average the certainty over cases: a row per aggregation, reliability and number of first places."""
    import polars as pl

    means = frame.group_by("aggregation", "reliability", "top", maintain_order=True).agg(
        mean=pl.col("certainty").mean(), error=(pl.col("error") ** 2).sum().sqrt() / pl.len()
    )
    return means.sort("aggregation", "reliability", "top")


def rise_row(means: pl.DataFrame, told: str) -> Row:
    """Judge whether the mean certainty rises from every reliability to the next."""
    first = means.filter(means["top"] == 1).sort("reliability")
    rises = [
        Finding(
            after["mean"] - before["mean"],
            float(np.hypot(before["error"], after["error"])),
            f"{SHORT[str(aggregation)]}, {before['reliability']:g} to {after['reliability']:g}",
        )
        for (aggregation,), rows in first.group_by("aggregation", maintain_order=True)
        for before, after in pairwise(rows.iter_rows(named=True))
    ]
    least = min(rises)
    quantity = f"smallest rise of the mean top-1 certainty from one reliability to the next ({least.where})"
    claim = clearly(RISE, least.error, "clearly increases")
    return Row(TITLE, quantity, least.value, least.error, told, claim, RISES, form=".3f")


def lower_row(means: pl.DataFrame, told: str) -> Row:
    """Judge whether the certainty of the first two and three conditions is lower than that of the first."""
    falls = []
    for (aggregation,), rows in means.group_by("aggregation", maintain_order=True):
        by_top = {row["top"]: row for row in rows.iter_rows(named=True)}
        falls += [
            Finding(
                by_top[1]["mean"] - by_top[top]["mean"],
                float(np.hypot(by_top[1]["error"], by_top[top]["error"])),
                f"top {top}, {SHORT[str(aggregation)]}",
            )
            for top in (2, 3)
        ]
    least = min(falls)
    quantity = f"mean top-1 certainty less that of the top 2 or 3, smallest ({least.where})"
    claim = clearly(FALL, least.error, "significantly lower")
    return Row(TITLE, quantity, least.value, least.error, told, claim, LOWER, form=".3f")


def limit_rows(far: Mapping[str, Certainty], points: Mapping[str, Certainty], told: str) -> list[Row]:
    """Judge whether certainty tends to 1, with all cases and without those whose first place ties."""
    everything = min(_mean(name, one.values, one.errors) for name, one in far.items())
    untied = min(
        _mean(name, one.values[is_first], one.errors[is_first])
        for name, one in far.items()
        for is_first in [~is_uncertain(points[name].values, 1.0)]
    )
    claim = AtLeast(ONE, "eventually being 1")
    quantity = f"mean top-1 certainty at reliability {FAR_RELIABILITY:,}, the smaller of two"
    return [
        Row(TITLE, f"{quantity} ({everything.where})", *everything[:2], told, claim, EVENTUALLY, form=".3f"),
        Row(TITLE, f"{quantity}, no tied cases ({untied.where})", *untied[:2], told, claim, UNTIED, form=".3f"),
        *(_point_row(name, one) for name, one in points.items()),
    ]


def _mean(name: str, values: FloatArray, errors: FloatArray) -> Finding:
    if not len(values):
        return Finding(float("nan"), float("nan"), name)
    return Finding(float(values.mean()), float(np.sqrt((errors**2).sum()) / len(errors)), name)


def _point_row(name: str, certainty: Certainty) -> Row:
    tied = float(is_uncertain(certainty.values, 1.0).mean())
    told = f"infinite reliability; the first place ties in {tied:.1%} of cases".replace("%", " %")
    quantity = f"mean top-1 certainty of the point estimate ({POINT_NAMES[name]})"
    return Row(TITLE, quantity, certainty.mean, None, told, None, EVENTUALLY, form=".3f")
