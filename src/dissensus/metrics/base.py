"""What a metric is: a small frozen dataclass that compares every draw of a case with what a model said about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.checks import check_count
from dissensus.core.errors import DissensusError
from dissensus.core.names import case_positions
from dissensus.core.ragged import begins_run, row_of_each, take_rows, weighted_counts
from dissensus.draws import Batch
from dissensus.predictions.lists import Predictions

if TYPE_CHECKING:
    from dissensus.kernels.compact import Layout
    from dissensus.kernels.orders import Orders
    from dissensus.kernels.standings import Standings


class Metric(ABC):
    """Compare draws with predictions.

    A new metric is a frozen dataclass with a :attr:`name`, an orientation and :meth:`values`. Ties, in a draw or in
    what a model said, are broken at random, and unmentioned conditions are exchangeable in a draw: a metric is the
    exact expectation over both.
    """

    higher_is_better: ClassVar[bool] = True
    """Whether a better model has a higher value."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the metric is called, in plain words; parameters are part of the name."""

    @property
    def depth(self) -> int:
        """How many places of the rankings it looks at; zero if the order of conditions does not matter."""
        return 0

    def check(self, predictions: Predictions) -> None:  # noqa: B027 - most metrics have something to refuse, not all
        """Refuse predictions that the metric cannot be computed for."""

    @abstractmethod
    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the metric of every case and draw, shape (n_cases, n_draws)."""


class OrderMetric(Metric):
    """Compare the order of conditions in draws with predictions: every different order of a case is compared once."""

    @abstractmethod
    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the metric of every different order, shape (n_orders,); it must be defined for all of them."""

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the metric of every case and draw, shape (n_cases, n_draws)."""
        return drawn.of_draws(self.of_orders(drawn, predicted))


@dataclass(frozen=True)
class TopKMetric(OrderMetric):
    """Compare the first k conditions of each order with those of a model.

    Parameters
    ----------
    k
        How many conditions, fewer than there are.
    """

    k: int

    def __post_init__(self) -> None:
        check_count(k=self.k)

    @property
    def depth(self) -> int:
        """How many places count."""
        return self.k

    def check(self, predictions: Predictions) -> None:
        """Refuse sets, and a k that holds all conditions."""
        check_ordered(self, predictions)
        check_fewer(self, self.k, predictions)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Hold a batch of draws and the orders that they put conditions in.

    Attributes
    ----------
    batch
        The draws.
    depth
        How many places matter: at least the depth of every metric that will be computed.
    """

    batch: Batch
    depth: int

    @cached_property
    def layout(self) -> Layout:
        """What kernels need to know to walk through the draws."""
        return self.batch.layout()

    @cached_property
    def orders(self) -> Orders:
        """The different orders of each case, down to the depth."""
        from dissensus.kernels.orders import draw_orders

        return draw_orders(self.layout, self.batch.values, max(1, self.depth))

    @cached_property
    def case_of_member(self) -> IntArray:
        """Position of the case of each mentioned condition, shape (sum of U,)."""
        return row_of_each(self.batch.support_offsets)

    def of_draws(self, of_orders: FloatArray) -> FloatArray:
        """Give every draw the number of its order, shape (n_cases, n_draws)."""
        return of_orders[self.orders.of_draw]

    def means(self, of_orders: FloatArray) -> FloatArray:
        """Average numbers of orders (..., n_orders) over draws, shape (..., n_cases)."""
        sums = np.add.reduceat(self.orders.counts * of_orders, self.orders.offsets[:-1], axis=-1)
        return np.asarray(sums / self.batch.n_draws)


@dataclass(frozen=True, eq=False)
class Predicted:
    """Hold what a model said about the cases of a batch, as far as it concerns the mentioned conditions.

    Attributes
    ----------
    predictions
        What the model said, about the cases of the batch or more; conditions in the order of the study.
    batch
        The draws to compare with.

    Examples
    --------
    >>> from dissensus import Annotations, MajorityVote
    >>> said = Annotations.from_rankings([[[["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_scores([[0.5, 0.3, 0.2]], ["a", "b", "c"])
    >>> Predicted(model, batch).top_shares(2)
    (array([1.]), array([0.5]))
    """

    predictions: Predictions
    batch: Batch

    def __post_init__(self) -> None:
        if self.predictions.n_conditions != self.batch.n_conditions:
            raise DissensusError(
                "the model and the draws have different conditions",
                expected=str(self.batch.n_conditions),
                got=str(self.predictions.n_conditions),
                where=f"model {self.predictions.name!r}",
                advice="align the predictions to the conditions of the study: predictions.align(...)",
            )

    @cached_property
    def rows(self) -> IntArray:
        """Position of each case of the batch among the cases of the predictions, shape (n_cases,)."""
        names = self.batch.case_names
        if self.predictions.case_names == names:
            return np.arange(len(names), dtype=np.int64)
        return case_positions(list(names), self.predictions._positions)

    @cached_property
    def entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Offsets, codes and values of the listed conditions of each case, best first."""
        offsets, chosen = take_rows(self.predictions.offsets, self.rows)
        return offsets, self.predictions.codes[chosen], self.predictions.values[chosen]

    @cached_property
    def listed(self) -> IntArray:
        """Number of listed conditions of each case, shape (n_cases,)."""
        return np.asarray(self.predictions.entries_per_case[self.rows])

    @cached_property
    def case_of_member(self) -> IntArray:
        """Position of the case of each mentioned condition, shape (sum of U,)."""
        return row_of_each(self.batch.support_offsets)

    @cached_property
    def _looked_up(self) -> tuple[Standings, FloatArray]:
        from dissensus.kernels.standings import predicted_standings

        said = self.predictions
        return predicted_standings(
            said.offsets, said.codes, said.values, self.rows, *plain_support(self.batch), self.batch.n_conditions
        )

    @property
    def standings(self) -> Standings:
        """Standings of the mentioned conditions in the predictions, shape (sum of U,)."""
        return self._looked_up[0]

    @property
    def scores(self) -> FloatArray:
        """Values of the mentioned conditions in the predictions, shape (sum of U,); zero if not listed."""
        return self._looked_up[1]

    @cached_property
    def entry_standings(self) -> tuple[IntArray, IntArray]:
        """How many conditions are above each listed one, and how many are tied with it, shape (n_entries,)."""
        offsets, _, values = self.entries
        case = row_of_each(offsets)
        begins = begins_run(case, values)
        block = np.cumsum(begins) - 1
        above = np.flatnonzero(begins)[block] - offsets[case]
        return above, np.bincount(block)[block] if len(block) else block

    def blocks(self, k: int) -> tuple[IntArray, IntArray]:
        """Return the blocks that begin within the first k places, and how many of each nobody mentioned.

        Both have shape (n_cases, k): column ``a`` is the block with ``a`` conditions above it, zero if there is none.
        """
        above, tied = self.entry_standings
        n_conditions, is_early = self.batch.n_conditions, above < k
        sizes = np.zeros((self.batch.n_cases, k), dtype=np.int64)
        sizes[row_of_each(self.entries[0])[is_early], above[is_early]] = tied[is_early]
        short = np.flatnonzero(self.listed < min(k, n_conditions))
        sizes[short, self.listed[short]] = n_conditions - self.listed[short]
        counts, is_early = sizes.copy(), self.standings.above < k
        np.subtract.at(counts, (self.case_of_member[is_early], self.standings.above[is_early]), 1)
        return sizes, counts

    def sums(self, of_members: FloatArray) -> FloatArray:
        """Add up numbers of the mentioned conditions by case, shape (n_cases,)."""
        return weighted_counts(self.case_of_member, of_members, self.batch.n_cases)

    def rest_means(self, totals: FloatArray, of_members: FloatArray) -> FloatArray:
        """Average over the unmentioned conditions what they have, given the totals of each case, shape (n_cases,)."""
        left = np.maximum(0.0, totals - self.sums(of_members))
        return np.where(self.batch.rest_sizes > 0, left / np.maximum(1, self.batch.rest_sizes), 0.0)

    @cached_property
    def _known_shares(self) -> dict[int, tuple[FloatArray, FloatArray]]:
        return {}

    def top_shares(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Return the probability of being in the top k.

        Returns
        -------
        (sum of U,), (n_cases,)
            Of each mentioned condition, and of an unmentioned one on average.
        """
        if k not in self._known_shares:
            above, tied = self.standings
            shares = np.clip((k - above) / tied, 0.0, 1.0)
            self._known_shares[k] = shares, self.rest_means(np.full(self.batch.n_cases, float(k)), shares)
        return self._known_shares[k]


def plain_support(batch: Batch) -> tuple[IntArray, IntArray]:
    """Return offsets and codes of the support as kernels take them."""
    from dissensus.kernels.jit import plain

    return plain(batch.support_offsets), plain(batch.support)


def expected_worth(drawn: Drawn, shares: FloatArray, rest_shares: FloatArray) -> FloatArray:
    """Average over the top condition of each order what a condition is worth, shape (n_orders,).

    ``shares`` (sum of U,) holds the worth of the mentioned conditions and ``rest_shares`` (n_cases,) the mean worth of
    the others.
    """
    return mean_worth(drawn, np.ones(1), shares[None], rest_shares[None])


def mean_worth(drawn: Drawn, weights: FloatArray, shares: FloatArray, rest_shares: FloatArray) -> FloatArray:
    """Average over the first conditions of each order what a condition is worth, for several depths at once.

    Parameters
    ----------
    weights : (depth,)
        Weight of the first condition, of the first two together, of the first three together and so on.
    shares : (depth, sum of U)
        Worth of the mentioned conditions, for each of these depths.
    rest_shares : (depth, n_cases)
        Mean worth of the others.
    """
    from dissensus.kernels.gains import expected_gains

    depth = len(weights)
    shared = (weights / weights.sum())[:, None]
    parts = shared / np.arange(1, depth + 1)[:, None]
    gains = np.zeros((shares.shape[1], depth + 1))
    # a condition in one place counts at this depth and at all below
    gains[:, :depth] = np.cumsum((parts * (shares - rest_shares[:, drawn.case_of_member]))[::-1], axis=0)[::-1].T
    bases = np.cumsum(shared * rest_shares, axis=0)[-1]  # in order, so that a case gives the same bits in any company
    return expected_gains(drawn.layout, drawn.orders, bases, gains)


# Checks --------------------------------------------------------------------------------------------------


def check_depth(metric: Metric, depth: int, most: int, predictions: Predictions) -> None:
    """Refuse to look deeper than there are conditions."""
    if depth > most:
        raise DissensusError(
            f"{metric.name} looks at {depth} conditions of {predictions.n_conditions}",
            expected=f"1 to {most}",
            got=str(depth),
            where=f"model {predictions.name!r}",
            advice="choose a smaller number" if most else "there must be at least two conditions",
        )


def check_fewer(metric: Metric, k: int, predictions: Predictions) -> None:
    """Refuse to look at as many conditions as there are, which says nothing."""
    check_depth(metric, k, predictions.n_conditions - 1, predictions)


def check_ordered(metric: Metric, predictions: Predictions) -> None:
    """Refuse sets, which have no order."""
    if predictions.kind == "set":
        raise DissensusError(
            f"{metric.name} needs scores or rankings",
            got="sets of conditions",
            where=f"model {predictions.name!r}",
            advice="sets have coverage, expected-coverage and set-size; or give the scores behind the sets",
        )


def check_sets(metric: Metric, predictions: Predictions) -> None:
    """Refuse anything but sets."""
    if predictions.kind != "set":
        raise DissensusError(
            f"{metric.name} needs sets of conditions",
            got=predictions.kind if predictions.kind == "scores" else f"a {predictions.kind} per case",
            where=f"model {predictions.name!r}",
            advice="build them with Predictions.from_sets, or use top-k-accuracy",
        )
