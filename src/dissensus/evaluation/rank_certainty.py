"""How certain one place is: how often the draws of a case agree on their k-th condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.arguments import checked
from dissensus.core.checks import check_choice
from dissensus.core.ragged import first_of_most, row_of_each
from dissensus.draws import Batch, Plausibilities
from dissensus.evaluation.categories import Categories, category_certainty, category_chances, collected, order_chances
from dissensus.evaluation.certainty import (
    ANY_OTHER,
    UNMENTIONED,
    Certainty,
    Unmentioned,
    check_rank,
    rank_judged,
    side_by_side,
    told_apart,
)
from dissensus.metrics.base import Drawn

if TYPE_CHECKING:
    import polars as pl


@checked
def rank_certainty(
    plausibilities: Plausibilities,
    *,
    rank: int = 1,
    unranked: Unmentioned = "identify",
    categories: Categories | None = None,
    advance: Callable[[int], None] | None = None,
) -> Certainty:
    """Find, for each case, the condition that most draws have in one place, and how many do ([stutz]).

    The first place is what :func:`annotation_certainty` is about with ``top=1``. Further down, the certainty of a place
    is no certainty of what stands above it: draws that agree on the second condition may differ in the first. Exact
    ties within a draw count by expectation over random tie-breaking; of several conditions that are as frequent, the
    first one is named, a mentioned one before all others.

    Parameters
    ----------
    plausibilities
        Draws of every case.
    rank
        The place, from 1 to the number of conditions.
    unranked
        What a condition in this place counts as that nobody mentioned; see :func:`annotation_certainty`.
    categories
        Compare the categories of the conditions in this place, for example levels of risk; an unmentioned one has the
        category of a random one of them.
    advance
        Is told the number of cases of each batch done.

    Examples
    --------
    >>> from dissensus import Annotations, InverseRank
    >>> said = Annotations.from_rankings([[[["a"], ["b"], ["c"]]], [[["a"], ["b", "c"]]]], ["a", "b", "c", "d"])
    >>> second = rank_certainty(InverseRank(ties="each").sample(said), rank=2)
    >>> second.values, second.winners
    (array([1. , 0.5]), (('b',), ('b',)))
    """
    check_choice("unranked", unranked, UNMENTIONED)
    check_rank(rank, plausibilities.n_conditions)
    if categories is not None:
        return _by_category(plausibilities, categories, rank, advance)
    parts = collected(plausibilities, lambda batch: _certainty_of_place(batch, rank, unranked), advance)
    values, errors, codes = side_by_side(parts, 3)
    names = (*plausibilities.conditions, ANY_OTHER)
    winners = tuple((names[int(code)],) for code in codes)
    return Certainty(plausibilities.case_names, None, values, errors, winners, plausibilities.n_draws, rank)


@checked
def rank_shares(
    plausibilities: Plausibilities,
    *,
    rank: int = 1,
    categories: Categories | None = None,
    advance: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Count how often each condition of a case has one place: ``case``, ``condition``, ``share``.

    There is a row per condition that ever has the place, and one (condition missing) for all others together; which of
    them it is stays open, unless the prior tells them apart. The shares of a case sum to one.

    Parameters
    ----------
    plausibilities, rank, advance
        See :func:`rank_certainty`.
    categories
        Count categories, in a column ``category`` instead of ``condition``; see :func:`rank_certainty`.

    Examples
    --------
    >>> from dissensus import Annotations, InverseRank
    >>> said = Annotations.from_rankings([[[["a"], ["b", "c"]]]], ["a", "b", "c", "d", "e"], case_names=["x"])
    >>> rank_shares(InverseRank(ties="each").sample(said), rank=2).rows()
    [('x', 'b', 0.5), ('x', 'c', 0.5)]
    >>> rank_shares(InverseRank(ties="each").sample(said), rank=4).rows()
    [('x', None, 1.0)]
    """
    check_rank(rank, plausibilities.n_conditions)
    if categories is None:
        parts = collected(plausibilities, lambda batch: _shares_of_conditions(batch, rank), advance)
        return _share_frame(plausibilities, parts, "condition", (*plausibilities.conditions, None))
    aligned = categories.aligned(plausibilities.conditions)
    parts = collected(plausibilities, lambda batch: _shares_of_categories(batch, aligned, rank), advance)
    return _share_frame(plausibilities, parts, "category", aligned.names)


def _shares(drawn: Drawn, rank: int) -> tuple[IntArray, FloatArray]:
    """Return codes, -1 for the unmentioned ones together, and shares side by side for all cases, (sum of (U + 1),)."""
    from dissensus.kernels.orders import place_shares

    codes = np.insert(drawn.batch.support, drawn.batch.support_offsets[1:], -1)
    return codes, place_shares(drawn.layout, drawn.orders, rank)


def _certainty_of_place(batch: Batch, rank: int, unranked: Unmentioned) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return certainty, its error and the code of the winner of each case, -1 where it is an unmentioned one."""
    drawn = told_apart(batch, rank, unranked)
    codes, shares = _shares(drawn, rank)
    columns, rests = drawn.batch.columns, drawn.batch.columns[1:] - 1
    if unranked == "identify":
        shares[rests] /= np.maximum(1, drawn.batch.rest_sizes)
    chosen = first_of_most(shares, columns)
    return *rank_judged(drawn, chosen - columns[:-1], rank, unranked), codes[chosen]


def _by_category(
    plausibilities: Plausibilities, categories: Categories, rank: int, advance: Callable[[int], None] | None
) -> Certainty:
    """Find the category of the place that most draws of every case agree on."""
    aligned = categories.aligned(plausibilities.conditions)
    parts = collected(
        plausibilities,
        lambda batch: category_certainty(category_chances(told_apart(batch, rank), aligned, rank), batch.n_chains),
        advance,
    )
    values, errors, codes = side_by_side(parts, 3)
    winners = tuple((aligned.names[int(code)],) for code in codes)
    return Certainty(plausibilities.case_names, None, values, errors, winners, plausibilities.n_draws, rank)


def _shares_of_conditions(batch: Batch, rank: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return how many rows each case has, which conditions they are about, and their shares."""
    drawn = told_apart(batch, rank)
    codes, shares = _shares(drawn, rank)
    case, is_some = row_of_each(drawn.batch.columns), shares > 0.0
    return np.bincount(case[is_some], minlength=batch.n_cases), codes[is_some], shares[is_some]


def _shares_of_categories(batch: Batch, categories: Categories, rank: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the same for categories."""
    drawn = told_apart(batch, rank)
    shares = drawn.means(np.stack(order_chances(drawn, categories, rank))).T
    case, code = np.nonzero(shares > 0.0)
    return np.bincount(case, minlength=batch.n_cases), code, shares[case, code]


def _share_frame(
    plausibilities: Plausibilities,
    parts: list[tuple[IntArray, IntArray, FloatArray]],
    column: str,
    names: tuple[str | None, ...],
) -> pl.DataFrame:
    """Put the rows of all batches one below the other."""
    import polars as pl

    counts, codes, shares = side_by_side(parts, 3)
    case = np.repeat(np.arange(plausibilities.n_cases), counts.astype(np.int64))
    labels = {
        "case": [plausibilities.case_names[i] for i in case],
        column: [names[int(code)] for code in codes],
    }
    return pl.DataFrame({**labels, "share": shares}, schema={"case": pl.String, column: pl.String, "share": pl.Float64})
