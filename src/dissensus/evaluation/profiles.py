"""Profiles of single cases, as the draws have them: certainty, plausibilities, categories and risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from dissensus.certainty.categories import Categories, category_certainty, risk_ranges
from dissensus.certainty.top_sets import batch_certainty
from dissensus.core.aliases import FloatArray, IntArray, SmallFloatArray
from dissensus.core.ragged import offsets_from_lengths, row_of_each, take_rows, weighted_counts
from dissensus.core.value import Value
from dissensus.draws import Batch
from dissensus.metrics.base import Drawn

# How many draws of each case are kept to be looked at.
SKETCHED = 20


@dataclass(frozen=True, eq=False)
class Profiles(Value):
    """Hold what the draws of one aggregation say about every case.

    Attributes
    ----------
    support_sizes : (n_cases,)
        Number of conditions of each case that have plausibilities of their own, U; all others are the rest.
    support : (sum of U,)
        Their codes.
    certainties, errors : (n_tops, n_cases)
        Certainty of the first 1, 2, ... conditions, and its Monte Carlo standard error.
    is_member : (n_tops, sum of U)
        One for the mentioned conditions that belong to the winning set of their case.
    means, tops : (sum of (U + 1),)
        Mean plausibility of each mentioned condition and of all others together, and how often it is on top.
    sketch : (at most 20, sum of (U + 1))
        A few draws, to be looked at: in half precision.
    category_certainties, category_errors, category_winners : (n_cases,)
        Certainty of the category of the first condition; empty without categories.
    risks : (3, n_cases)
        Mean, least and greatest expected risk over the draws; empty without levels of risk.
    """

    support_sizes: IntArray
    support: IntArray
    certainties: FloatArray
    errors: FloatArray
    is_member: IntArray
    means: FloatArray
    tops: FloatArray
    sketch: SmallFloatArray
    category_certainties: FloatArray
    category_errors: FloatArray
    category_winners: IntArray
    risks: FloatArray

    @staticmethod
    def of(
        drawn: Drawn,
        tops: IntArray,
        categories: Categories | None,
        chances: Sequence[FloatArray],
        *,
        sketches: bool = True,
    ) -> Profiles:
        """Find out what the draws of a batch say; ``chances`` are the :func:`order_chances` of the categories.

        Without ``sketches`` no draws are kept.
        """
        from dissensus.kernels.orders import place_shares

        batch = drawn.batch
        certain = batch_certainty(drawn, tops)
        by_category = (np.empty(0), np.empty(0), np.empty(0, dtype=np.int64))
        if categories is not None:
            by_category = category_certainty(np.stack([drawn.of_draws(one) for one in chances]), batch.n_chains)
        tops_of_members, told = place_shares(drawn.layout, drawn.orders, 1), np.arange(len(batch.support))
        if batch.is_mentioned is not None:
            told = np.flatnonzero(batch.is_mentioned | certain.is_member.any(axis=0))
        return Profiles(
            np.bincount(drawn.case_of_member[told], minlength=batch.n_cases),
            batch.support[told],
            certain.values,
            certain.errors,
            certain.is_member[:, told],
            pooled(batch, batch.means(), told),
            pooled(batch, tops_of_members, told),
            sketched(batch, told) if sketches else np.empty((0, len(told) + batch.n_cases), dtype=np.float16),
            *by_category,
            risk_ranges(batch, categories) if categories is not None and categories.levels else np.empty((3, 0)),
        )

    def take(self, cases: IntArray) -> Profiles:
        """Keep the cases at these positions."""
        members, columns = take_rows(self.support_offsets, cases)[1], take_rows(self.columns, cases)[1]
        chosen = {"support": members, "is_member": members, "means": columns, "tops": columns, "sketch": columns}
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return Profiles(
            **{name: part[..., chosen.get(name, cases)] if part.shape[-1] else part for name, part in parts.items()}
        )

    @property
    def support_offsets(self) -> IntArray:
        """Where the support of each case begins, shape (n_cases + 1,)."""
        return offsets_from_lengths(self.support_sizes)

    @property
    def columns(self) -> IntArray:
        """Where the U + 1 numbers of each case begin when all are put side by side, shape (n_cases + 1,)."""
        return self.support_offsets + np.arange(len(self.support_sizes) + 1)


def pooled(batch: Batch, side_by_side: FloatArray, told: IntArray) -> FloatArray:
    """Add what is not told apart any more to the rest of its case; ``side_by_side`` has U + 1 numbers per case."""
    if len(told) == len(batch.support):
        return side_by_side
    case = row_of_each(batch.support_offsets)
    is_told = np.zeros(len(case), dtype=np.bool_)
    is_told[told] = True
    of_members = side_by_side[np.arange(len(case)) + case]
    rests = side_by_side[batch.columns[1:] - 1] + weighted_counts(case, of_members * ~is_told, batch.n_cases)
    ends = np.cumsum(np.bincount(case[told], minlength=batch.n_cases))
    return np.insert(of_members[told], ends, rests)


def sketched(batch: Batch, told: IntArray) -> SmallFloatArray:
    """Pick a few draws of every case, evenly spaced, shape (at most 20, sum of (U + 1))."""
    kept = np.unique(np.linspace(0, batch.n_draws - 1, SKETCHED).astype(np.int64))
    columns, owner = batch.columns, row_of_each(batch.columns)
    first = batch.n_draws * columns[owner] + np.arange(columns[-1]) - columns[owner]
    sketch = batch.values[first + kept[:, None] * np.diff(columns)[owner]]
    if batch.is_mentioned is not None:
        # unmentioned conditions that are told apart are taken out of the rest, and the others dropped
        case = row_of_each(batch.support_offsets)
        for member in told[~batch.is_mentioned[told]]:
            masses = batch.plausibility_of(int(case[member]), int(batch.support[member]), kept)
            sketch[:, member + case[member]] = masses
            sketch[:, columns[case[member] + 1] - 1] -= masses
        is_kept = np.zeros(sketch.shape[1], dtype=np.bool_)
        is_kept[told + case[told]] = is_kept[columns[1:] - 1] = True
        sketch = np.maximum(sketch[:, is_kept], 0.0)
    small: SmallFloatArray = sketch.astype(np.float16)
    return small
