"""Whether intervals of metrics of a whole data set hold, on simulated studies with a known truth."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dissensus.aggregations.plackett_luce import PlackettLuce
from dissensus.core.arrays import FloatArray
from dissensus.core.errors import DissensusWarning
from dissensus.evaluation.estimates import AGREEMENT
from dissensus.evaluation.evaluator import evaluate
from dissensus.evaluation.results import Evaluation
from dissensus.metrics.data_set import DataSetMetric
from dissensus.metrics.decisions import CohenKappa, FBeta, Sensitivity
from dissensus.metrics.ranking import AUROC
from paper.trials.coverage import DIFFERENCE, MODEL
from paper.trials.severity import DISTORTED, SILENT, Asked, Cases, Setting, counted

if TYPE_CHECKING:
    import polars as pl

Row: TypeAlias = dict[str, Any]
Truths: TypeAlias = Mapping[tuple[str, str], Mapping[str, float]]
Watch: TypeAlias = Callable[[str, int, int], None]

METRICS: Mapping[Asked, tuple[DataSetMetric, ...]] = {
    "binary": (AUROC(), Sensitivity(0.5), FBeta(threshold=0.5)),
    "grades": (CohenKappa("quadratic"),),
}
MAJORITY = "majority vote"
POPULATION = 400_000
"""How many cases the truth about all cases is found on: its error is a thirtieth of that of a study."""

RESAMPLES = 400
"""How often cases are resampled for intervals of a majority vote."""

LEVEL = 0.9


def settings() -> tuple[Setting, ...]:
    """Return all that is tried."""
    each = [(people, share) for share in (0.05, 0.4) for people in (3, 8)]
    few = [(3, share) for share in (0.05, 0.4)]
    return (
        *(Setting("plain", "binary", *one) for one in each),
        *(Setting("grades", "grades", *one) for one in each),
        *(Setting("annotators of different strictness", "binary", *one, strictness=0.4) for one in each),
        *(Setting("models too sure and too shy", "binary", *one, models=DISTORTED) for one in few),
        *(Setting("a model that says next to nothing", "binary", *one, models=SILENT) for one in few),
        Setting("1000 cases", "binary", 3, 0.05, n_cases=1000),
        Setting("grades, models too sure and too shy", "grades", 3, 0.4, models=DISTORTED),
    )


@dataclass(frozen=True)
class Effort:
    """How much is tried: studies of each kind, draws of each case, and where random numbers begin."""

    studies: int = 100
    draws: int = 200
    seed: int = 1


@dataclass(frozen=True, eq=False)
class DataSetProof:
    """Hold what was found.

    Attributes
    ----------
    rows
        Every estimate and difference of every study beside the truth.
    effort
        How much was tried.
    minutes
        How long it took.
    """

    rows: pl.DataFrame
    effort: Effort
    minutes: float


def data_set_proof(
    effort: Effort | None = None, *, chosen: Sequence[Setting] | None = None, watch: Watch | None = None
) -> DataSetProof:
    """Try all settings.

    Parameters
    ----------
    effort
        How much is tried.
    chosen
        Settings, by default :func:`settings`.
    watch
        Is told what begins, how many studies are done, and how many there are.
    """
    import polars as pl

    began, given, planned = time.monotonic(), effort or Effort(), chosen or settings()
    rows: list[Row] = []
    for place, setting in enumerate(planned):
        truth = truths_of(setting, setting.drawn(POPULATION, (given.seed, place, POPULATION)))
        for number in range(given.studies):
            if watch is not None:
                watch(setting.title, place * given.studies + number, len(planned) * given.studies)
            found = rows_of_study(setting, truth, seed=(given.seed, place, number), draws=given.draws)
            rows += [{"setting": place, **_where(setting), "study": number, **row} for row in found]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return DataSetProof(frame, given, (time.monotonic() - began) / 60)


def _where(setting: Setting) -> Row:
    return {
        "title": setting.title,
        "annotators": setting.n_annotators,
        "prevalence": setting.prevalence,
        "cases": setting.n_cases,
    }


def truths_of(setting: Setting, cases: Cases) -> Truths:
    """Return what is true of every model, by metric and by what it is held against.

    Agreement is held against single annotators of a large panel, all else against what most of them say.
    """
    against = {AGREEMENT: cases.shares, MODEL: cases.labels}
    return {
        (metric.name, about): cases.values(metric, labels)
        for metric in METRICS[setting.asked]
        for about, labels in against.items()
    }


def rows_of_study(setting: Setting, truths: Truths, *, seed: tuple[int, ...], draws: int) -> list[Row]:
    """Evaluate one study, and put every estimate and every difference of two models beside the truth.

    Parameters
    ----------
    setting
        What kind of study it is.
    truths
        What is true of all cases.
    seed, draws
        As said.

    Examples
    --------
    >>> setting = Setting("plain", "binary", 3, 0.4, n_cases=150)
    >>> truths = truths_of(setting, setting.drawn(2000, (0,)))
    >>> rows = rows_of_study(setting, truths, seed=(1,), draws=50)
    >>> sorted({row["number"] for row in rows}), len(rows)
    (['adjusted', 'agreement', 'majority vote', 'panel'], 36)
    """
    cases = setting.drawn(setting.n_cases, (*seed, 0))
    votes = setting.votes(cases, seed)
    result = evaluated(setting, cases, votes, draws=draws, seed=seed[-1])
    counts = counted(votes, len(setting.conditions))
    estimates = [*_estimates(result), *majority_estimates(METRICS[setting.asked], cases, counts, seed=(*seed, 2))]
    both = {"here": truths_of(setting, cases), "everywhere": truths}
    return [{**row, **{name: _truth(of, row) for name, of in both.items()}} for row in estimates]


def _truth(truths: Truths, row: Row) -> float:
    """Return what is true of a model, or of the difference of two."""
    of_model = truths[row["metric"], AGREEMENT if row["number"] == AGREEMENT else MODEL]
    first, _, second = row["name"].partition(" - ")
    return of_model[first] - (of_model[second] if second else 0.0)


def evaluated(setting: Setting, cases: Cases, votes: Any, *, draws: int, seed: int) -> Evaluation:
    """Evaluate a study; that a metric rests on few cases is known here, and nobody is told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DissensusWarning)
        return evaluate(
            setting.annotations(votes),
            {name: said.scores for name, said in cases.said.items()},
            aggregations=[PlackettLuce(1)],
            metrics=METRICS[setting.asked],
            draws=draws,
            seed=seed,
            level=LEVEL,
            threads=1,
        )


def _estimates(result: Evaluation) -> Iterator[Row]:
    """Go through all estimates and all differences of two models."""
    for row in result.to_frame().iter_rows(named=True):
        own = {name: row[name] for name in ("metric", "low", "high")}
        yield {"kind": MODEL, "number": row["estimand"], "name": row["model"], "estimate": row["mean"], **own}
    for each in result.compare().differences:
        one = each if result.models.index(each.first) < result.models.index(each.second) else each.mirrored()
        own = {name: getattr(one, name) for name in ("metric", "low", "high")}
        name = f"{one.first} - {one.second}"
        yield {"kind": DIFFERENCE, "number": one.estimand, "name": name, "estimate": one.difference, **own}


# Usual practice -----------------------------------------------------------------------------------------


def majority_estimates(
    metrics: Sequence[DataSetMetric], cases: Cases, counts: Any, *, seed: tuple[int, ...]
) -> Iterator[Row]:
    """Take the label that most annotators gave, the milder one of a tie, for the truth; resample cases.

    The interval is that of the usual bootstrap: quantiles of the metric on resampled cases that have a value.
    """
    rng, n_cases = np.random.default_rng(seed), len(counts)
    labels = np.eye(counts.shape[1])[counts.argmax(axis=1)].T
    times = np.concatenate([np.ones((1, n_cases)), rng.multinomial(n_cases, np.full(n_cases, 1 / n_cases), RESAMPLES)])
    masses = labels * times[:, None]
    for metric in metrics:
        found = {name: metric.of_draws(said, masses) for name, said in cases.said.items()}
        for name, values in found.items():
            yield _majority_row(MODEL, metric, name, values)
        for (first, one), (second, other) in combinations(found.items(), 2):
            yield _majority_row(DIFFERENCE, metric, f"{first} - {second}", one - other)


def _majority_row(kind: str, metric: DataSetMetric, name: str, values: FloatArray) -> Row:
    known = values[1:][~np.isnan(values[1:])]
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if len(known) else (np.nan, np.nan)
    own = {"metric": metric.name, "estimate": float(values[0]), "low": float(low), "high": float(high)}
    return {"kind": kind, "number": MAJORITY, "name": name, **own}
