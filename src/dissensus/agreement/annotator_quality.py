"""How good each annotator is, as Dawid-Skene and the ordered probit model learn it from how they agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregations.dawid_skene import first_votes, gold_pairs, known_truths, learned_record
from dissensus.aggregations.ordered_probit import check_grades, graded_record
from dissensus.agreement.measures import check_level
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.checks import check_count, check_seed, checked
from dissensus.core.errors import DissensusError
from dissensus.study.opinions import Opinions
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    import polars as pl

    from dissensus.kernels.dawid_skene import Record

# How the posterior is drawn.
CHAINS, WARMUP = 4, 300


@checked
def annotator_quality(
    annotations: Study,
    *,
    gold: Mapping[str, str] | None = None,
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.9,
) -> pl.DataFrame:
    """Estimate how often each named annotator names the true condition first.

    The accuracy is the chance to name the true condition of a case like those that the annotator read. The truth is
    drawn as :class:`DawidSkene` knows it, from how annotators agree and from ``gold``; given a draw of it, an annotator
    who was right in r and wrong in w cases has an accuracy drawn from Beta(r + 1/2, w + 1/2). It owes nothing to what
    the others are like, except through the truth, so that intervals hold for annotators who are good or bad throughout.

    Parameters
    ----------
    annotations
        Rankings by annotators who are named; only first blocks count.
    gold
        The true condition of cases where it is known, by name of the case.
    draws, seed
        Of the posterior.
    level
        How much the intervals hold.

    Returns
    -------
    polars.DataFrame
        A row per annotator who said anything: ``annotator``, ``cases``, ``accuracy`` (the posterior mean), ``low`` and
        ``high``.

    Examples
    --------
    >>> said = Study.from_rankings(
    ...     [[[["a"]], [["a"]], [["b"]]]] * 8 + [[[["b"]], [["b"]], [["b"]]]] * 8, ["a", "b"],
    ...     annotator_names=["A", "B", "C"])
    >>> table = annotator_quality(said)
    >>> table.sort("accuracy")["annotator"][0], table["cases"].to_list()
    ('C', [16, 16, 16])
    """
    check_level(level)
    opinions, people, record = _learned(annotations, gold, draws=draws, seed=seed)
    return _frame(annotations, opinions, people, _summary(record.accuracies, level, "accuracy", "low", "high"))


@checked
def annotator_confusion(
    annotations: Study, *, gold: Mapping[str, str] | None = None, draws: int = 1000, seed: int = 0
) -> pl.DataFrame:
    """Estimate what each named annotator names first, by the true condition.

    Parameters
    ----------
    annotations, gold, draws, seed
        As in :func:`annotator_quality`.

    Returns
    -------
    polars.DataFrame
        A row per annotator, true condition and named condition: ``annotator``, ``truth``, ``said`` and ``probability``,
        the posterior mean.

    Examples
    --------
    >>> said = Study.from_rankings(
    ...     [[[["a"]], [["a"]], [["b"]]]] * 8 + [[[["b"]], [["b"]], [["b"]]]] * 8, ["a", "b"],
    ...     annotator_names=["A", "B", "C"])
    >>> table = annotator_confusion(said)
    >>> [row[:3] for row in table.head(2).rows()]
    [('A', 'a', 'a'), ('A', 'a', 'b')]
    >>> table.filter(annotator="C", truth="a", said="b")["probability"][0] > 0.5
    True
    """
    import polars as pl

    _, people, record = _learned(annotations, gold, draws=draws, seed=seed)
    names, conditions = np.array(annotations.annotator_names), np.array(annotations.conditions)
    shape = (len(people), len(conditions) + 1, len(conditions))  # one row of each annotator is for what nobody named
    confusions = record.confusions[: shape[0] * shape[1]].reshape(shape)
    rows = np.moveaxis(confusions[:, :-1], 1, 2) / draws
    who, truth, said = (axis.ravel() for axis in np.indices(rows.shape))
    columns = {"annotator": names[people[who]], "truth": conditions[truth], "said": conditions[said]}
    return pl.DataFrame({name: column.astype(object) for name, column in columns.items()}, strict=False).with_columns(
        pl.all().cast(pl.String), probability=pl.Series(rows.ravel())
    )


@checked
def annotator_gradings(annotations: Study, *, draws: int = 1000, seed: int = 0, level: float = 0.9) -> pl.DataFrame:
    """Estimate how far each named annotator shifts grades, and how much their grades scatter.

    As :class:`OrderedProbit` learns it. The unit is the standard deviation of the severities of cases. Someone of shift
    0.5 sees every case half a deviation more severe than annotators do on average; someone of spread 1 perceives a case
    with an error as large as cases differ.

    Parameters
    ----------
    annotations
        Grades by annotators who are named; only first blocks count.
    draws, seed
        Of the posterior.
    level
        How much the intervals hold.

    Returns
    -------
    polars.DataFrame
        A row per annotator who said anything: ``annotator``, ``cases``, ``shift`` (the posterior mean), ``shift_low``,
        ``shift_high``, ``spread``, ``spread_low`` and ``spread_high``.

    Examples
    --------
    >>> grades = [[[[0]], [[0]], [[1]]]] * 6 + [[[[1]], [[1]], [[2]]]] * 6
    >>> said = Study.from_rankings(grades, 3, annotator_names=["A", "B", "C"], question="grades")
    >>> table = annotator_gradings(said, draws=400)
    >>> table.sort("shift")["annotator"][-1], table["cases"].to_list()
    ('C', [12, 12, 12])
    """
    check_level(level)
    check_grades(require_kind(annotations, "rankings", "the shift of annotators").opinions)
    opinions = _opinions_of(annotations, "the shift of annotators", draws=draws, seed=seed)
    chains = min(CHAINS, draws)
    record, people = graded_record(opinions, draws=draws, chains=chains, warmup=WARMUP, seed=seed, keeps_cases=False)
    shifts = _summary(record.shifts, level, "shift", "shift_low", "shift_high")
    spreads = _summary(record.spreads, level, "spread", "spread_low", "spread_high")
    return _frame(annotations, opinions, people, {**shifts, **spreads})


def _learned(
    annotations: Study, gold: Mapping[str, str] | None, *, draws: int, seed: int
) -> tuple[Opinions, IntArray, Record]:
    """Draw what annotators are like; return the opinions, the codes of annotators and the draws."""
    opinions = _opinions_of(annotations, "the quality of annotators", draws=draws, seed=seed)
    truths = known_truths(opinions, dict(gold_pairs(gold or {})))
    order = np.argsort(opinions.keys, kind="stable")
    how = {"draws": draws, "chains": min(CHAINS, draws), "warmup": WARMUP, "seed": seed}
    record, people = learned_record(opinions.take(order), truths[order], "annotators", **how)
    return opinions, people, record


def _opinions_of(annotations: Study, what: str, *, draws: int, seed: int) -> Opinions:
    """Return the opinions; refuse those of nobody who has a name."""
    check_count(draws=draws)
    check_seed(seed)
    opinions: Opinions = require_kind(annotations, "rankings", what).opinions
    if not (opinions.annotators != ANONYMOUS).any():
        raise DissensusError(
            "annotators have no names, so they cannot be told apart",
            expected="names of annotators",
            advice="give the column that names them: read(..., columns={'annotator': ...})",
        )
    return opinions


def _summary(draws: FloatArray, level: float, *columns: str) -> dict[str, FloatArray]:
    """Return the mean and the ends of the interval of draws (n_draws, n_people), under these names."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return dict(zip(columns, (draws.mean(axis=0), low, high), strict=True))


def _frame(annotations: Study, opinions: Opinions, people: IntArray, columns: dict[str, FloatArray]) -> pl.DataFrame:
    """Write a row per annotator, with the number of cases on which each said something."""
    import polars as pl

    case, annotator, _, _ = first_votes(opinions)
    named = annotator != ANONYMOUS
    pairs = np.unique(annotator[named] * opinions.n_cases + case[named])
    cases = np.bincount(np.searchsorted(people, pairs // opinions.n_cases), minlength=len(people))
    return pl.DataFrame(
        {"annotator": [annotations.annotator_names[code] for code in people], "cases": cases, **columns}
    )
