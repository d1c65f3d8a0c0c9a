"""How good each annotator is, as Dawid-Skene learns it from how they agree with each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregation._confusions import Chains, first_votes
from dissensus.aggregation.dawid_skene import gold_pairs, known_truths
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.arguments import checked
from dissensus.core.checks import check_count, check_seed
from dissensus.core.errors import DissensusError
from dissensus.study.opinions import Opinions
from dissensus.study.panel import ANONYMOUS
from dissensus.study.rankings import Annotations
from dissensus.study.study import require_kind

if TYPE_CHECKING:
    import polars as pl

    from dissensus.kernels.dawid_skene import Record

CHAINS, WARMUP = 4, 300
"""How the posterior is drawn."""


@checked
def annotator_quality(
    annotations: Annotations,
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
    >>> said = Annotations.from_rankings(
    ...     [[[["a"]], [["a"]], [["b"]]]] * 8 + [[[["b"]], [["b"]], [["b"]]]] * 8, ["a", "b"],
    ...     annotator_names=["A", "B", "C"])
    >>> table = annotator_quality(said)
    >>> table.sort("accuracy")["annotator"][0], table["cases"].to_list()
    ('C', [16, 16, 16])
    """
    import polars as pl

    check_level(level)
    opinions, people, record = _learned(annotations, gold, draws=draws, seed=seed)
    low, high = np.quantile(record.accuracies, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return pl.DataFrame(
        {
            "annotator": [annotations.annotator_names[code] for code in people],
            "cases": cases_of(opinions, people),
            "accuracy": record.accuracies.mean(axis=0),
            "low": low,
            "high": high,
        }
    )


@checked
def annotator_confusion(
    annotations: Annotations, *, gold: Mapping[str, str] | None = None, draws: int = 1000, seed: int = 0
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
    >>> said = Annotations.from_rankings(
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
    rows = _rows(record, len(people), len(conditions), draws)
    who, truth, said = (axis.ravel() for axis in np.indices(rows.shape))
    columns = {"annotator": names[people[who]], "truth": conditions[truth], "said": conditions[said]}
    return pl.DataFrame({name: column.astype(object) for name, column in columns.items()}, strict=False).with_columns(
        pl.all().cast(pl.String), probability=pl.Series(rows.ravel())
    )


def _learned(
    annotations: Annotations, gold: Mapping[str, str] | None, *, draws: int, seed: int
) -> tuple[Opinions, IntArray, Record]:
    """Draw what annotators are like; return the opinions, the codes of annotators and the draws."""
    check_count(draws=draws)
    check_seed(seed)
    opinions = require_kind(annotations, "rankings", "the quality of annotators").opinions
    truths = known_truths(opinions, dict(gold_pairs(gold or {})))
    if not (opinions.annotators != ANONYMOUS).any():
        raise DissensusError(
            "annotators have no names, so they cannot be told apart",
            expected="names of annotators",
            advice="give the column that names them: read_annotations(..., columns={'annotator': ...})",
        )
    order = np.argsort(opinions.keys, kind="stable")
    study = Chains.of(opinions.take(order), truths[order], full=True)
    record = study.of_annotators(draws=draws, chains=min(CHAINS, draws), warmup=WARMUP, seed=seed)
    return opinions, study.annotators, record


def _rows(record: Record, n_people: int, n_conditions: int, draws: int) -> FloatArray:
    """Return mean confusions, shape (n_people, K true, K named)."""
    columns = record.confusions[: n_people * (n_conditions + 1)].reshape(n_people, n_conditions + 1, n_conditions)
    return np.moveaxis(columns[:, :-1], 1, 2) / draws


def cases_of(opinions: Opinions, people: IntArray) -> IntArray:
    """Count the cases on which each annotator said something, given their codes.

    Examples
    --------
    >>> said = Annotations.from_rankings([[[["a"]], [["b"]]]], annotator_names=["A", "B"])
    >>> cases_of(said.opinions, np.array([0, 1]))
    array([1, 1])
    """
    case, annotator, _, _ = first_votes(opinions)
    pairs = np.unique(annotator[annotator != ANONYMOUS] * opinions.n_cases + case[annotator != ANONYMOUS])
    return np.bincount(np.searchsorted(people, pairs // opinions.n_cases), minlength=len(people))


def check_level(level: float) -> None:
    """Refuse a level that no interval can have.

    Examples
    --------
    >>> check_level(0.9)
    """
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0 < level < 1:
        raise DissensusError("level must be between 0 and 1", got=repr(level))
