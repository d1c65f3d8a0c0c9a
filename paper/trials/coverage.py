"""How often intervals hold what is true, how wide they are, and how far estimates are from it on average."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.plackett_luce import PlackettLuce
from dissensus.aggregations.point_estimates import MajorityVote
from dissensus.evaluation.evaluator import evaluate
from dissensus.evaluation.results import Evaluation
from dissensus.metrics.accuracy import TopKAccuracy
from paper.trials.crowds import Trial

if TYPE_CHECKING:
    import polars as pl

BESIDE: Mapping[str, Aggregation] = {
    "adjusted, PL 1": PlackettLuce(1),
    "adjusted, PL 1, observed prior": PlackettLuce(1, alpha=1.0, prior="observed"),
    "adjusted, PL 3, observed prior": PlackettLuce(3, alpha=1.0, prior="observed"),
    "majority vote": MajorityVote(),
}
"""What is tried beside the panel estimand and the agreement, which every evaluation has by itself."""

MODEL, DIFFERENCE = "model", "difference"


def evaluated(trial: Trial, *, draws: int, seed: int, threads: int | None = None) -> Evaluation:
    """Evaluate the top-1 accuracy of the models of a trial; its annotators are as good as each other."""
    return evaluate(
        trial.annotations,
        trial.predictions,
        aggregations=list(BESIDE.values()),
        metrics=[TopKAccuracy(1)],
        draws=draws,
        seed=seed,
        threads=threads,
        annotators="fixed",
        level=0.9,
    )


def rows_of(result: Evaluation, trial: Trial, where: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Put every estimate and every difference of two models beside the truth.

    Examples
    --------
    >>> from paper.trials.crowds import simulated_trial
    >>> from dissensus.simulate.differential_study import NEAR_TIES
    >>> one = simulated_trial(40, 12, opinions=(3, 5), models=NEAR_TIES, seed=1)
    >>> rows = rows_of(evaluated(one, draws=50, seed=1), one, {})
    >>> sorted({row["number"] for row in rows})[:2], sorted({row["kind"] for row in rows})
    (['adjusted, PL 1', 'adjusted, PL 1, observed prior'], ['difference', 'model'])
    """
    numbers = {run.label: name for run in result.runs for name, spec in BESIDE.items() if run.spec == spec}
    return [
        {**where, "number": numbers.get(row["run"], row["estimand"]), **row}
        for row in (*_models(result, trial), *_differences(result, trial))
    ]


def _models(result: Evaluation, trial: Trial) -> Iterator[dict[str, Any]]:
    for row in result.to_frame().iter_rows(named=True):
        place = result.models.index(row["model"])
        yield {
            **{name: row[name] for name in ("run", "estimand", "low", "high")},
            "kind": MODEL,
            "name": row["model"],
            "estimate": row["mean"],
            **_truths(trial, row["estimand"], place),
        }


def _differences(result: Evaluation, trial: Trial) -> Iterator[dict[str, Any]]:
    for each in result.compare().differences:
        found = each if result.models.index(each.first) < result.models.index(each.second) else each.mirrored()
        first, second = (result.models.index(name) for name in (found.first, found.second))
        one, other = (_truths(trial, found.estimand, place) for place in (first, second))
        yield {
            **{name: getattr(found, name) for name in ("run", "estimand", "low", "high")},
            "kind": DIFFERENCE,
            "name": f"{found.first} - {found.second}",
            "estimate": found.difference,
            **{name: one[name] - other[name] for name in one},
        }


def _truths(trial: Trial, estimand: str, place: int) -> dict[str, float]:
    """Return what is true of a model on the cases of a trial and on all; nan where these are endless."""
    everywhere = trial.everywhere
    return {
        "here": float(trial.here.named(estimand)[place]),
        "everywhere": float("nan") if everywhere is None else float(everywhere.named(estimand)[place]),
    }


def with_endless_cases(rows: pl.DataFrame) -> pl.DataFrame:
    """Where the cases are endless, let what is true of them be the mean over all studies of the same kind."""
    import polars as pl

    pooled = pl.col("here").mean().over("experiment", "opinions", "number", "kind", "name")
    return rows.with_columns(everywhere=pl.when(pl.col("everywhere").is_nan()).then(pooled).otherwise("everywhere"))


def summary(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Sum up rows by some of their columns.

    Returns
    -------
    frame
        ``bias``, mean of estimate minus truth on the cases of a study; ``holds`` and ``holds_here``, shares of the
        intervals that hold what is true of all cases and of these; ``error``, standard error of ``holds``, studies
        being what is independent; ``width``, mean width of intervals; ``count`` of intervals. What cannot be told
        because the truth is not known is missing.

    Examples
    --------
    >>> import polars as pl
    >>> found = pl.DataFrame({"run": ["a"] * 4, "study": [0, 0, 1, 1], "estimate": [0.5, 0.6, 0.7, 0.8],
    ...     "low": [0.4, 0.5, 0.6, 0.7], "high": [0.6, 0.7, 0.8, 0.9], "here": [0.5, 0.5, 0.5, 0.5],
    ...     "everywhere": [0.5, 0.3, 0.75, 0.65]})
    >>> [round(value, 3) for value in summary(found, ["run"]).select("bias", "holds", "holds_here", "width").row(0)]
    [0.15, 0.5, 0.5, 0.2]
    """
    import polars as pl

    known = rows.with_columns(pl.col("here", "everywhere").fill_nan(None))
    holds, here = (pl.col(name).is_between(pl.col("low"), pl.col("high")) for name in ("everywhere", "here"))
    marked = known.with_columns(holds=holds.cast(pl.Float64), holds_here=here.cast(pl.Float64))
    found = marked.group_by(by, maintain_order=True).agg(
        bias=(pl.col("estimate") - pl.col("here")).mean(),
        holds=pl.col("holds").mean(),
        holds_here=pl.col("holds_here").mean(),
        width=(pl.col("high") - pl.col("low")).mean(),
        count=pl.len(),
    )
    return found.join(_errors(marked, by), on=by, how="left", maintain_order="left")


def _errors(marked: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Find the standard error of the share that holds, from the shares of single studies."""
    import polars as pl

    shares = marked.group_by([*by, "study"]).agg(share=pl.col("holds").mean())
    spread = pl.col("share").std() / np.sqrt(pl.len())
    return shares.group_by(by).agg(error=spread.cast(pl.Float64))
