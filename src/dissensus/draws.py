"""The batch of draws that flows onward: plausibilities on the support of each case, plus one rest mass.

A case mentions U of K conditions. A draw of its plausibilities is U + 1 numbers: one per mentioned condition and the
mass of all others together, which splits among them by a Dirichlet distribution, symmetric unless conditions have
weights. A dense view with K numbers is built only on request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from dissensus.core.arrays import BoolArray, FloatArray, IntArray, KeyArray
from dissensus.core.checks import check_count, check_length, checked, is_list, with_checked_methods
from dissensus.core.errors import DissensusError, listing, suggestion
from dissensus.core.names import Cases, case_positions, check_names
from dissensus.core.ragged import product, row_of_each, take_rows, weighted_counts
from dissensus.core.screen import repr_html

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import ArrayLike

    from dissensus.kernels.compact import Layout
    from dissensus.kernels.orders import Leaders, Orders

Result = TypeVar("Result")

# How many numbers a batch holds at most (16 MB), unless a single case needs more.
BATCH_VALUES = 2_000_000

# Unmentioned conditions of unequal weight are told apart if they are among the first in this share of draws.
TOLD_APART = 0.02


@dataclass(frozen=True, eq=False)
class Batch:
    """Hold all draws of some cases.

    Attributes
    ----------
    case_names
        The cases, in order.
    n_conditions
        K.
    n_draws, n_chains
        Draws per case, chain after chain; independent draws form one chain.
    support_offsets : (n_cases + 1,)
        The support of case ``i`` is ``support[support_offsets[i]:support_offsets[i + 1]]``.
    support : (sum of U,)
        Codes of the mentioned conditions, ascending within a case.
    values : (n_draws * sum of (U + 1),)
        Case after case, each a C-ordered (n_draws, U + 1) matrix whose last column is the rest mass.
    rest_shapes : (n_cases,)
        Shape of each unmentioned condition in the Dirichlet distribution that splits the rest mass, per unit of its
        weight.
    rest_keys : (n_cases,)
        Key of the random stream of that split.
    rest_sums : (K + 1,), optional
        Sums of the weights of all conditions before each one; by default all conditions weigh the same.
    order_values : (n_draws * sum of (U + 1),), optional
        Numbers in the place of ``values`` that conditions are compared by, where that is not ``values``: where
        plausibilities of zero would hide an order, or unmentioned conditions are told apart. The larger comes first;
        zero stands where the unmentioned conditions stand that have no mass.
    is_mentioned : (sum of U,), optional
        Which conditions of the support are mentioned, where not all are; see :meth:`identified`.
    others : (n_cases * n_draws + 1,), (n_others,), optional
        Offsets and values of the largest plausibilities outside the support in every draw, where they are known.
    numbers : (n_cases, n_draws, 2), optional
        Mean and spread of the numbers that annotators would give, where opinions are numbers.

    Examples
    --------
    >>> from dissensus import Study
    >>> from dissensus.aggregations import MajorityVote
    >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
    >>> batch.n_cases, batch.n_draws, batch.of_case(0)
    (1, 1, array([[0.75, 0.25, 0.  ]]))
    """

    case_names: tuple[str, ...]
    n_conditions: int
    n_draws: int
    n_chains: int
    support_offsets: IntArray
    support: IntArray
    values: FloatArray
    rest_shapes: FloatArray
    rest_keys: KeyArray
    rest_sums: FloatArray | None = None
    order_values: FloatArray | None = None
    is_mentioned: BoolArray | None = None
    others: tuple[IntArray, FloatArray] | None = None
    numbers: FloatArray | None = None

    @staticmethod
    @checked
    def from_dense(draws: FloatArray, case_names: Sequence[str], *, n_chains: int = 1) -> Batch:
        """Wrap full draws, shape (n_cases, n_draws, K): every condition counts as mentioned and nothing is left over.

        >>> Batch.from_dense(np.array([[[0.7, 0.3]]]), ["x"]).of_case(0)
        array([[0.7, 0.3, 0. ]])
        """
        if np.ndim(draws) != 3:
            raise DissensusError("draws have the wrong shape", expected="(cases, draws, K)", got=str(np.shape(draws)))
        n_cases, n_draws, n_conditions = draws.shape
        offsets, support = np.arange(n_cases + 1) * n_conditions, np.tile(np.arange(n_conditions), n_cases)
        values = np.concatenate([draws, np.zeros((n_cases, n_draws, 1))], axis=2).ravel()
        sizes, no_rest = (n_conditions, n_draws, n_chains), (np.zeros(n_cases), np.zeros(n_cases, dtype=np.uint64))
        return Batch(tuple(case_names), *sizes, offsets, support, values, *no_rest)

    @property
    def n_cases(self) -> int:
        """Number of cases in the batch."""
        return len(self.case_names)

    @cached_property
    def case_of_member(self) -> IntArray:
        """Position of the case of each condition of the support, shape (sum of U,)."""
        return row_of_each(self.support_offsets)

    @property
    def support_sizes(self) -> IntArray:
        """U of each case, shape (n_cases,)."""
        return np.diff(self.support_offsets)

    @property
    def rest_sizes(self) -> IntArray:
        """K - U of each case, shape (n_cases,)."""
        return self.n_conditions - self.support_sizes

    @property
    def columns(self) -> IntArray:
        """Where the U + 1 columns of each case begin when all are put side by side, shape (n_cases + 1,)."""
        return self.support_offsets + np.arange(self.n_cases + 1)

    @property
    def compared(self) -> FloatArray:
        """What conditions are compared by to put them in order, laid out like ``values``."""
        return self.values if self.order_values is None else self.order_values

    def of_case(self, case: int) -> FloatArray:
        """Return the draws of one case, a view of shape (n_draws, U + 1); the last column is the rest mass.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> batch.of_case(0)
        array([[0.75, 0.25, 0.  ]])
        """
        start, stop = self.n_draws * self.columns[case : case + 2]
        return self.values[start:stop].reshape(self.n_draws, -1)

    def by_case(self) -> Iterator[FloatArray]:
        """Give the draws of one case after the other, as :meth:`of_case` does.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> list(batch.by_case())
        [array([[0.75, 0.25, 0.  ]])]
        """
        bounds = (self.n_draws * self.columns).tolist()
        return (self.values[start:stop].reshape(self.n_draws, -1) for start, stop in pairwise(bounds))

    def support_of(self, case: int) -> IntArray:
        """Return the codes of the mentioned conditions of one case, shape (U,).

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> batch.support_of(0)
        array([0, 1])
        """
        return self.support[self.support_offsets[case] : self.support_offsets[case + 1]]

    def outline(self) -> Batch:
        """Return the same cases and conditions without the draws.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> batch.outline().case_names, batch.outline().values
        (('0',), array([], dtype=float64))
        """
        return replace(self, values=np.empty(0), order_values=None, others=None, numbers=None)

    def dense(self, cases: Sequence[int] | None = None) -> FloatArray:
        """Build the full draws of some cases, or of all, shape (n_cases, n_draws, K); the rest mass is split.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> batch.dense().shape
        (1, 1, 3)
        >>> batch.dense()[0]
        array([[0.75, 0.25, 0.  ]])
        """
        chosen = range(self.n_cases) if cases is None else cases
        full = np.zeros((len(chosen), self.n_draws, self.n_conditions))
        for place, case in enumerate(chosen):
            draws = self.of_case(case)
            full[place] = self._split_rest(case, np.ascontiguousarray(draws[:, -1]), np.arange(self.n_draws))
            codes = self._mentioned_of(case)
            full[place][:, codes] = draws[:, :-1][:, np.isin(self.support_of(case), codes)]
        return full

    def _mentioned_of(self, case: int) -> IntArray:
        """Return the codes of the conditions of one case that somebody mentioned."""
        if self.is_mentioned is None:
            return self.support_of(case)
        return self.support_of(case)[self.is_mentioned[self.support_offsets[case] : self.support_offsets[case + 1]]]

    def _split_rest(self, case: int, masses: FloatArray, draws: IntArray, wanted: int = -1) -> FloatArray:
        """Split the rest masses (n_draws,) of a case among its conditions in some draws, shape (len(draws), K)."""
        from dissensus.kernels.compact import Weights, new_atoms, split_every_rest, split_every_unequal_rest

        codes, shape, key = self._mentioned_of(case), self.rest_shapes[case], self.rest_keys[case]
        if self.rest_sums is not None:
            weights, atoms = Weights(self.rest_sums, codes, float(shape)), new_atoms(self.rest_sums)
            return split_every_unequal_rest(masses[draws], weights, key, draws, atoms, wanted)
        full = np.zeros((len(draws), self.n_conditions))
        others = np.delete(np.arange(self.n_conditions), codes)
        full[:, others] = split_every_rest(masses[draws], len(others), float(shape), key, draws)
        return full

    def greatest_worth(self, case: int, worths: FloatArray) -> float:
        """Return the greatest of the draws of a case of what its conditions are worth (K,), averaged by plausibility.

        The rest of a draw is split as far as it decides.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import Dirichlet
        >>> [batch] = Dirichlet(alpha=1.0).sample(Study.from_counts([[3, 1, 0, 0]], list("abcd")), draws=9, threads=1)
        >>> worths = np.array([0.0, 0.0, 1.0, 2.0])
        >>> bool(np.isclose(batch.greatest_worth(0, worths), (batch.dense()[0] @ worths).max()))
        True
        """
        from dissensus.kernels.compact import Weights, greatest_of_equal, greatest_of_unequal, new_atoms

        draws, codes, shape = self.of_case(case), self._mentioned_of(case), float(self.rest_shapes[case])
        known, rests = product(draws[:, :-1], worths[self.support_of(case)]), np.ascontiguousarray(draws[:, -1])
        order = np.argsort(-(known + rests * worths.mean()), kind="stable")
        if self.rest_sums is None:
            return greatest_of_equal(known, rests, order, np.delete(worths, codes), shape, self.rest_keys[case])
        weights = Weights(self.rest_sums, codes, shape)
        atoms = new_atoms(self.rest_sums)
        return greatest_of_unequal(known, rests, order, worths, weights, self.rest_keys[case], atoms)

    def rest_average(self, of_all: FloatArray, of_members: FloatArray) -> FloatArray:
        """Average numbers of the unmentioned conditions by their weights, shape (n_cases,).

        Parameters
        ----------
        of_all : (n_cases,) or a number
            Sum over all conditions of weight times number.
        of_members : (sum of U,)
            The numbers of the support.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0, 0]], ["a", "b", "c", "d"]))
        >>> batch.rest_average(2.0, np.array([0.5, 0.5]))
        array([0.5])
        """
        weights, case = self.member_weights(), self.case_of_member
        own = weighted_counts(case, weights * of_members, self.n_cases)
        left = self._rest_weights()
        return np.where(left > 0, (of_all - own) / np.where(left > 0, left, 1.0), 0.0)

    def _rest_weights(self) -> FloatArray:
        """Return the sum of the weights of unmentioned conditions of each case, zero if there are none; (n_cases,)."""
        case, weights = self.case_of_member, self.member_weights()
        mentioned = self.support_sizes
        if self.is_mentioned is not None:
            mentioned = np.bincount(case[self.is_mentioned], minlength=self.n_cases)
        left = self.total_weight - weighted_counts(case, weights, self.n_cases)
        return np.where(mentioned < self.n_conditions, left, 0.0)

    def member_weights(self) -> FloatArray:
        """Return the weight of each condition of the support if it is mentioned, otherwise zero, shape (sum of U,).

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> batch.member_weights()
        array([1., 1.])
        """
        weights = np.ones(len(self.support)) if self.rest_sums is None else np.diff(self.rest_sums)[self.support]
        return weights if self.is_mentioned is None else weights * self.is_mentioned

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all conditions."""
        return float(self.n_conditions) if self.rest_sums is None else float(self.rest_sums[-1])

    def plausibility_of(self, case: int, code: int, draws: IntArray) -> FloatArray:
        """Return the plausibility of one condition of a case in some draws, mentioned or not.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> batch.plausibility_of(0, 1, np.array([0]))
        array([0.25])
        """
        masses, codes = np.ascontiguousarray(self.of_case(case)[:, -1]), self._mentioned_of(case)
        if code in codes:
            return np.asarray(self.of_case(case)[draws, np.searchsorted(self.support_of(case), code)])
        return np.asarray(self._split_rest(case, masses, draws, int(code))[:, code])

    def identified(self, depth: int) -> Batch:
        """Add the unmentioned conditions to the support that are among the first ones of a draw, if they have weights.

        Conditions that weigh the same are exchangeable, and nobody needs to know which of them is first. Others are
        told apart if they are the very first in any draw, or among the first ``depth`` in at least 2 % of the draws;
        those that are neither count as exchangeable. Their plausibilities stay part of the rest (they are zero in
        ``values``); ``order_values`` holds them where they are among the first of a draw.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> batch.identified(1) is batch
        True
        """
        return identified([self], depth)[0]

    def _told_apart(self, leaders: Leaders) -> Batch:
        """Add conditions to the support, given those that are among the first ones of draws."""
        keys, is_told = leaders.cases * self.n_conditions + leaders.codes, leaders.told > 0
        own = self.case_of_member * self.n_conditions + self.support
        members = np.union1d(own, keys[leaders.told == 2])
        is_mentioned = np.isin(members, own, assume_unique=True)
        offsets = np.searchsorted(members, np.arange(self.n_cases + 1) * self.n_conditions)
        wider = replace(self, support_offsets=offsets, support=members % self.n_conditions, is_mentioned=is_mentioned)
        kept = np.insert(is_mentioned, wider.support_offsets[1:], True)
        wider = replace(wider, values=np.zeros(self.n_draws * wider.columns[-1]))
        columns = np.split(
            np.flatnonzero(kept) - np.repeat(wider.columns[:-1], np.diff(self.columns)), self.columns[1:-1]
        )
        for wide, narrow, own in zip(wider.by_case(), self.by_case(), columns, strict=True):
            wide[:, own] = narrow
        ordered = wider.values.copy()
        case, draw = leaders.cases[is_told], leaders.draws[is_told]
        place = np.searchsorted(members, keys[is_told]) - wider.support_offsets[case]
        places = self.n_draws * wider.columns[case] + draw * (wider.support_sizes + 1)[case] + place
        ordered[places] = leaders.masses[is_told]
        rows = leaders.cases[~is_told] * self.n_draws + leaders.draws[~is_told]
        offsets = np.append(0, np.cumsum(np.bincount(rows, minlength=self.n_cases * self.n_draws)))
        return replace(wider, order_values=ordered, others=(offsets, leaders.masses[~is_told]))

    def means(self) -> FloatArray:
        """Return the means over draws, side by side for all cases, shape (sum of (U + 1),).

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> batch.means()
        array([0.75, 0.25, 0.  ])
        """
        means = np.concatenate([np.einsum("dk->k", draws) for draws in self.by_case()]) / self.n_draws
        if self.is_mentioned is None:
            return means
        # The unmentioned conditions of the support have their part of the rest, on average.
        assert self.rest_sums is not None
        case, rests = self.case_of_member, self.columns[1:] - 1
        left = self._rest_weights()
        share = np.where(
            self.is_mentioned, 0.0, np.diff(self.rest_sums)[self.support] / np.where(left > 0, left, 1)[case]
        )
        means[np.arange(len(case)) + case] += share * means[rests][case]
        means[rests] *= 1.0 - weighted_counts(case, share, self.n_cases)
        return means

    def deviations(self) -> FloatArray:
        """Return the standard deviations over draws, side by side for all cases, shape (sum of (U + 1),).

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> batch.deviations()
        array([0., 0., 0.])
        """
        return np.concatenate([draws.std(axis=0) for draws in self.by_case()])

    def top_shares(self) -> FloatArray:
        """Return how often each condition is on top, side by side for all cases, shape (sum of (U + 1),).

        The last number of a case is how often any unmentioned condition is on top. Exact ties share the draw.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> batch.top_shares()
        array([1., 0., 0.])
        """
        from dissensus.kernels.orders import place_shares

        return place_shares(self.layout(), self.first_orders(), 1)

    def first_orders(self) -> Orders:
        """Return which conditions are on top of each draw.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> batch.first_orders().counts
        array([1])
        """
        from dissensus.kernels.orders import draw_orders

        return draw_orders(self.layout(), self.compared, 1)

    def layout(self) -> Layout:
        """Return what kernels need to know to walk through ``values``.

        Examples
        --------
        >>> from dissensus import Study
        >>> from dissensus.aggregations import MajorityVote
        >>> [batch] = MajorityVote().sample(Study.from_counts([[3, 1, 0]], ["a", "b", "c"]))
        >>> batch.layout().n_conditions
        3
        """
        from dissensus.kernels.compact import Layout
        from dissensus.kernels.jit import plain

        return Layout(
            self.n_draws,
            self.n_conditions,
            np.ascontiguousarray(self.support_offsets, dtype=np.int64),
            plain(np.asarray(self.support, dtype=np.int64)),
            np.ascontiguousarray(self.rest_shapes, dtype=np.float64),
            np.ascontiguousarray(self.rest_keys, dtype=np.uint64),
            np.empty(0) if self.rest_sums is None or self.is_mentioned is not None else plain(self.rest_sums),
            np.empty(0, dtype=np.int64) if self.others is None else plain(self.others[0]),
            np.empty(0) if self.others is None else plain(self.others[1]),
        )


class Sampler(Protocol):
    """Draw the plausibilities of some cases: what it takes to put any posterior behind :class:`Plausibilities`.

    A sampler is called with positions of cases, from several threads at once, as often as somebody iterates. It must
    give the same draws of a case whatever its company and however often it is asked, so randomness is keyed by the case
    and never by a shared generator. :meth:`Batch.from_dense` wraps full draws.

    Examples
    --------
    >>> class Coin:
    ...     def __call__(self, cases):
    ...         heads = np.stack([np.random.default_rng([7, case]).beta(2, 2, size=100) for case in cases])
    ...         return Batch.from_dense(np.stack([heads, 1 - heads], axis=2), [f"coin {case}" for case in cases])
    >>> coins = Plausibilities(
    ...     conditions=("heads", "tails"), case_names=("coin 0", "coin 1"), excluded=(), n_draws=100, n_chains=1,
    ...     support_offsets=np.array([0, 2, 4]), support=np.array([0, 1, 0, 1]), sampler=Coin())
    >>> coins.mean().shape
    (2, 2)
    """

    def __call__(self, cases: IntArray) -> Batch:
        """Draw the cases at these positions."""


def identified(batches: Sequence[Batch], depth: int) -> list[Batch]:
    """Do what :meth:`Batch.identified` says for several batches of the same cases, whose rests are split alike."""
    one = batches[0]
    if one.rest_sums is None or one.is_mentioned is not None:
        return list(batches)
    from dissensus.kernels.orders import unmentioned_leaders

    values, depth = [each.values for each in batches], min(depth, one.n_conditions)
    leaders = unmentioned_leaders(one.layout(), values, depth, TOLD_APART)
    return [each._told_apart(own) for each, own in zip(batches, leaders, strict=True)]


def given_batch(case_names: tuple[str, ...], draws: FloatArray, n_chains: int, cases: IntArray) -> Batch:
    """Wrap draws that are there already, shape (n_cases, n_draws, K), of the cases at these positions."""
    return Batch.from_dense(draws[cases], [case_names[case] for case in cases], n_chains=n_chains)


def in_order(tasks: Iterable[Callable[[], Result]], threads: int) -> Iterator[Result]:
    """Run tasks in threads and give their results in order; few of them wait at any time."""
    if threads <= 1:
        yield from (task() for task in tasks)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(task))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@with_checked_methods
@dataclass(frozen=True, eq=False)
class Plausibilities:
    """Iterate over batches of draws without keeping them.

    Every iteration draws anew, and gives the same draws: they are keyed by the seed and the name of the case, so they
    do not depend on threads, batches, the order of cases, or which other cases there are, unless the aggregation learns
    something from those (a prior by frequency, a fitted alpha).

    Attributes
    ----------
    conditions
        Names of the K conditions.
    case_names
        The cases that have draws.
    excluded
        Cases without any opinion; they have no draws.
    n_draws, n_chains
        Draws per case, and the chains they come from.
    support_offsets, support
        Codes of the mentioned conditions of each case.
    sampler
        Draws the plausibilities of cases given by position.
    threads
        How many threads draw at the same time.
    positions : (n_cases,), optional
        Which cases of the sampler these are; by default all of them.
    rest_sums : (K + 1,), optional
        Sums of the weights of the conditions before each one, by which unmentioned ones share the rest; by default all
        weigh the same.
    fitted
        The numbers that parameters stand for which were fitted to the study, by name.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
    >>> drawn = ds.aggregations.Dirichlet().sample(said, draws=1000)
    >>> drawn
    Plausibilities: 2 cases, 1000 draws, 2 conditions
    >>> drawn.mean().round(1)
    array([[0.7, 0.3],
           [0.2, 0.8]])
    >>> sum(batch.n_cases for batch in drawn)
    2
    """

    conditions: tuple[str, ...]
    case_names: tuple[str, ...]
    excluded: tuple[str, ...]
    n_draws: int
    n_chains: int
    support_offsets: IntArray
    support: IntArray
    sampler: Sampler
    threads: int = 1
    positions: IntArray | None = None
    rest_sums: FloatArray | None = None
    fitted: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    @checked
    def from_draws(
        draws: ArrayLike,
        *,
        conditions: Sequence[str] | None = None,
        case_names: Sequence[str] | None = None,
        n_chains: int = 1,
    ) -> Plausibilities:
        """Take draws that were made elsewhere: by another sampler, a network, or a posterior of your own.

        Parameters
        ----------
        draws
            Plausibilities of shape (n_cases, n_draws, K), each draw summing to one; or an xarray array with the
            dimensions ``chain`` (if any), ``draw``, one for cases and one for conditions, as ArviZ keeps them, whose
            coordinates are the names.
        conditions, case_names
            Names; by default those of the coordinates, otherwise "0", "1" and so on.
        n_chains
            Chains that the draws come from, one after the other.

        Examples
        --------
        >>> drawn = Plausibilities.from_draws([[[0.9, 0.1], [0.6, 0.4]]], conditions=["a", "b"], case_names=["x"])
        >>> drawn.mean()
        array([[0.75, 0.25]])
        """
        if hasattr(draws, "dims"):
            draws, labels, n_chains = _unlabelled(draws)
            case_names, conditions = case_names or labels[0], conditions or labels[1]
        array = _checked_draws(draws)
        n_cases, n_draws, n_conditions = array.shape
        cases = tuple(map(str, range(n_cases) if case_names is None else case_names))
        names = tuple(map(str, range(n_conditions) if conditions is None else conditions))
        check_count(n_chains=n_chains)
        for what, own, size in (("case name", cases, n_cases), ("condition", names, n_conditions)):
            check_length(what, len(own), size)
            check_names(what.split()[0], own)
        return Plausibilities(
            conditions=names,
            case_names=cases,
            excluded=(),
            n_draws=n_draws,
            n_chains=min(n_chains, n_draws),
            support_offsets=np.arange(n_cases + 1) * n_conditions,
            support=np.tile(np.arange(n_conditions), n_cases),
            sampler=partial(given_batch, cases, array, n_chains),
        )

    @property
    def n_cases(self) -> int:
        """Number of cases with draws."""
        return len(self.case_names)

    @property
    def n_conditions(self) -> int:
        """K."""
        return len(self.conditions)

    def __len__(self) -> int:
        return self.n_cases

    _repr_html_ = repr_html

    def __repr__(self) -> str:
        chains = f" in {self.n_chains} chains" if self.n_chains > 1 else ""
        excluded = f"; {len(self.excluded)} unannotated excluded" if self.excluded else ""
        fitted = "".join(f"; {name} fitted: {value:.3g}" for name, value in self.fitted.items())
        return (
            f"Plausibilities: {self.n_cases} cases, {self.n_draws} draws{chains}, "
            f"{self.n_conditions} conditions{excluded}{fitted}"
        )

    def __iter__(self) -> Iterator[Batch]:
        return self.map(lambda batch: batch)

    def map(
        self,
        function: Callable[[Batch], Result],
        *,
        batch_cases: int | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> Iterator[Result]:
        """Apply a function to every batch, in worker threads, and yield the results in the order of cases.

        Batches have ``batch_cases`` cases each, or as many as fit; ``advance`` is told the number of cases of each.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> drawn = ds.aggregations.Dirichlet().sample(said, draws=1000)
        >>> [names for names in drawn.map(lambda batch: batch.case_names, batch_cases=1)]
        [('x',), ('y',)]
        """
        positions = np.arange(self.n_cases) if self.positions is None else self.positions
        sizes = (np.diff(self.support_offsets) + 1) * self.n_draws
        most = max(1, min(BATCH_VALUES, int(sizes.sum()) // (4 * self.threads) + 1))
        number = (np.cumsum(sizes) - 1) // most if batch_cases is None else np.arange(len(positions)) // batch_cases
        batches = np.split(positions, np.flatnonzero(np.diff(number)) + 1) if len(positions) else []
        tasks = (partial(lambda own: function(self.sampler(own)), cases) for cases in batches)
        for cases, result in zip(batches, in_order(tasks, min(self.threads, len(batches))), strict=True):
            if advance is not None:
                advance(len(cases))
            yield result

    def select(self, cases: Cases) -> Plausibilities:
        """Keep some cases: names, positions, a slice or a mask.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> ds.aggregations.MajorityVote().sample(said).select(["y"]).mean()
        array([[0., 1.]])
        """
        known = {name: position for position, name in enumerate(self.case_names)}
        if not isinstance(cases, slice) and is_list(cases) and len(cases) and isinstance(cases[0], str):
            unknown = [str(name) for name in cases if name not in known]
            if unknown:
                raise DissensusError(
                    f"no draws of case {unknown[0]!r}",
                    advice=suggestion(unknown[0], self.case_names) or "is it annotated?",
                )
        chosen = case_positions(cases, known)
        offsets, members = take_rows(self.support_offsets, chosen)
        positions = np.arange(self.n_cases) if self.positions is None else self.positions
        return replace(
            self,
            case_names=tuple(self.case_names[i] for i in chosen),
            support_offsets=offsets,
            support=self.support[members],
            positions=positions[chosen],
        )

    def dense(self) -> FloatArray:
        """Build all draws of all conditions, shape (n_cases, n_draws, K); mind the memory.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> drawn = ds.aggregations.Dirichlet().sample(said, draws=100)
        >>> drawn.dense().shape
        (2, 100, 2)
        """
        parts = [batch.dense() for batch in self]
        return np.concatenate(parts) if parts else np.zeros((0, self.n_draws, self.n_conditions))

    def mean(self) -> FloatArray:
        """Return the posterior mean of each case, shape (n_cases, K); unmentioned conditions share the rest by weight.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> ds.aggregations.MajorityVote().sample(said).mean()
        array([[0.75, 0.25],
               [0.  , 1.  ]])
        """
        means = list(self.map(Batch.means))
        side_by_side = np.concatenate(means) if means else np.empty(0)
        case, rests = row_of_each(self.support_offsets), self._columns[1:] - 1
        weights = np.ones(self.n_conditions) if self.rest_sums is None else np.diff(self.rest_sums)
        others = weights.sum() - weighted_counts(case, weights[self.support], self.n_cases)
        share = side_by_side[rests] / np.where(np.diff(self.support_offsets) < self.n_conditions, others, 1.0)
        full = share[:, None] * weights
        full[case, self.support] = np.delete(side_by_side, rests)
        return full

    @property
    def _columns(self) -> IntArray:
        """Where the U + 1 columns of each case begin when all are put side by side, shape (n_cases + 1,)."""
        return self.support_offsets + np.arange(self.n_cases + 1)

    def summary(self, *, advance: Callable[[int], None] | None = None) -> pl.DataFrame:
        """Summarise every case: a row per mentioned condition and one (condition missing) for all others together.

        Columns: ``case``, ``condition``, ``mean`` and ``sd`` of the plausibility, and ``top``, the share of draws in
        which the condition is the most plausible one. ``advance`` is told the number of cases of each batch done.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> ds.aggregations.MajorityVote().sample(said).summary().head(3).rows()
        [('x', 'a', 0.75, 0.0, 1.0), ('x', 'b', 0.25, 0.0, 0.0), ('x', None, 0.0, 0.0, 0.0)]
        """
        import polars as pl

        told = self.map(lambda one: np.stack([one.means(), one.deviations(), one.top_shares()]), advance=advance)
        mean, sd, top = np.concatenate([np.empty((3, 0)), *told], axis=1)
        return pl.DataFrame({**self._labels(), "mean": mean, "sd": sd, "top": top})

    def _labels(self) -> dict[str, pl.Series]:
        """Name the U + 1 columns of each case: case and condition, the latter missing for the rest."""
        import polars as pl

        codes = np.insert(self.support, self.support_offsets[1:], -1)
        names, cases = np.array([*self.conditions, None], dtype=object), np.array(self.case_names, dtype=object)
        labels = {"case": cases[row_of_each(self._columns)], "condition": names[codes]}
        return {name: pl.Series(column, dtype=pl.String) for name, column in labels.items()}

    def to_frame(self) -> pl.DataFrame:
        """Write out every draw: ``case``, ``draw``, ``condition`` (missing for the rest), ``plausibility``.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> ds.aggregations.MajorityVote().sample(said.select(["x"])).to_frame().rows()
        [('x', 0, 'a', 0.75), ('x', 0, 'b', 0.25), ('x', 0, None, 0.0)]
        """
        import polars as pl

        columns = list(pairwise(self._columns))
        rows = np.concatenate([np.tile(np.arange(first, last), self.n_draws) for first, last in columns])
        draw = np.concatenate([np.repeat(np.arange(self.n_draws), last - first) for first, last in columns])
        values = np.concatenate([batch.values for batch in self])
        labelled = pl.DataFrame(self._labels())[rows].with_columns(draw=draw, plausibility=values)
        return labelled.select("case", "draw", "condition", "plausibility")


# How far a draw may be from a sum of one: single precision is not exact.
SUM_TOLERANCE = 1e-6


def _checked_draws(draws: ArrayLike) -> FloatArray:
    """Return draws as an array of their own that sums to one, or say what is wrong with them."""
    try:
        array = np.array(draws, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DissensusError("draws must be an array of numbers", got=str(error)) from None
    if array.ndim != 3 or 0 in array.shape:
        raise DissensusError("draws have the wrong shape", expected="(cases, draws, K)", got=str(array.shape))
    wrong = np.argwhere(~((array >= 0) & np.isfinite(array)).all(axis=2))
    if len(wrong):
        raise DissensusError(
            "plausibilities must be finite and not negative", where=f"case {wrong[0][0] + 1}, draw {wrong[0][1] + 1}"
        )
    sums = array.sum(axis=2)
    off = np.argwhere(np.abs(sums - 1) > SUM_TOLERANCE)
    if len(off):
        case, draw = off[0]
        raise DissensusError(
            "the plausibilities of a draw must sum to one",
            got=f"{sums[case, draw]:g}",
            where=f"case {case + 1}, draw {draw + 1}",
            advice="divide them by their sum",
        )
    return np.asarray(array / sums[:, :, None])


def _unlabelled(draws: Any) -> tuple[FloatArray, tuple[Sequence[str] | None, Sequence[str] | None], int]:
    """Turn an xarray array into draws (cases, draws, K), names of cases and conditions, and the number of chains."""
    if hasattr(draws, "data_vars"):
        variables = list(draws.data_vars)
        if len(variables) != 1:
            raise DissensusError(
                "the data set has several variables" if variables else "the data set is empty",
                expected="one array of draws",
                got=listing(variables) if variables else "none",
                advice=f"choose one: from_draws(data[{variables[0]!r}])" if variables else "",
            )
        draws = draws[variables[0]]
    others = [name for name in draws.dims if name not in ("chain", "draw")]
    if "draw" not in draws.dims or len(others) != 2:
        raise DissensusError(
            "the dimensions of the draws are not understood",
            expected="chain (if any), draw, case, condition",
            got=", ".join(map(str, draws.dims)),
        )
    if others[0] == "condition":
        others = others[::-1]
    leading = [name for name in ("chain", "draw") if name in draws.dims]
    array = np.asarray(draws.transpose(*others, *leading).values)
    n_cases, n_conditions = array.shape[:2]
    names = [[str(one) for one in draws.coords[name].values] if name in draws.coords else None for name in others]
    flat = np.moveaxis(array.reshape(n_cases, n_conditions, -1), 1, 2)
    return flat, (names[0], names[1]), array.shape[2] if "chain" in leading else 1
