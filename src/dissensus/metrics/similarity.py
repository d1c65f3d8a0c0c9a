"""Distances between the first k places of a draw and of the model, ties and all.

Both are turned into lists of k conditions. A tie that crosses place k is cut at random, as everywhere; ties within the
list stay ties; all other conditions are tied below the list. Distances between such rankings are those of R. Fagin,
R. Kumar, M. Mahdian, D. Sivakumar and E. Vee, "Comparing partial rankings" (2006): K_prof and F_prof. They are turned
into similarities, 1 for equal lists and 0 for lists as different as lists of k conditions out of K can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import row_of_each, take_rows, weighted_counts
from dissensus.metrics.accuracy import inside
from dissensus.metrics.base import (
    Drawn,
    OrderMetric,
    Predicted,
    SetMetric,
    TopKMetric,
    mean_worth,
)


@dataclass(frozen=True)
class KendallTau(TopKMetric):
    """Similarity of the first k places by pairs of conditions, from 0 to 1.

    A pair that the two lists order oppositely counts 1, a pair that is tied in one of them only counts 1/2. The sum is
    divided by its maximum, k (k - 1) / 2 + k (K - k), and taken from 1. With k = K and no ties this is (1 + tau) / 2.

    Parameters
    ----------
    k
        Length of the lists, at most the number of conditions.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import InverseRank
    >>> said = Study.from_rankings([[[["a"], ["b"], ["c"]]]])
    >>> [batch] = InverseRank().sample(said)
    >>> model = Predictions.from_rankings([["b", "a", "c"]])
    >>> KendallTau(3).values(Drawn(batch, 3), Predicted(model, batch)).round(3)
    array([[0.667]])
    """

    id = "kendall-tau"
    meaning = "How similarly model and draw order their first conditions, pair by pair; 1 if they are equal."
    takes_all = True

    @property
    def name(self) -> str:
        """What the metric is called."""
        return f"Kendall similarity at {self.k}"

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the similarity with each order."""
        from dissensus.kernels.gains import kendall_distances

        distances = kendall_distances(drawn.layout, drawn.orders, predicted.standings, *predicted.blocks(self.k))
        return 1.0 - distances / farthest_pairs(drawn.batch.n_conditions, self.k)


@dataclass(frozen=True)
class SpearmanFootrule(TopKMetric):
    """Similarity of the first k places by how far each condition is moved, from 0 to 1.

    Conditions in a tie have its mean place, those outside the list the mean of the places below it. The sum of the
    absolute differences is divided by its maximum, k K if K is at least 2 k, and taken from 1.

    Parameters
    ----------
    k
        Length of the lists, at most the number of conditions.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import InverseRank
    >>> said = Study.from_rankings([[[["a"], ["b"], ["c"]]]])
    >>> [batch] = InverseRank().sample(said)
    >>> model = Predictions.from_rankings([["b", "a", "c"]])
    >>> SpearmanFootrule(3).values(Drawn(batch, 3), Predicted(model, batch))
    array([[0.5]])
    """

    id = "spearman-footrule"
    meaning = "How similarly model and draw order their first conditions, by how far each moves; 1 if they are equal."
    takes_all = True

    @property
    def name(self) -> str:
        """What the metric is called."""
        return f"Spearman footrule similarity at {self.k}"

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the similarity with each order."""
        from dissensus.kernels.gains import footrule_distances

        distances = footrule_distances(drawn.layout, drawn.orders, predicted.standings, *predicted.blocks(self.k))
        return 1.0 - distances / farthest_places(drawn.batch.n_conditions, self.k)


def farthest_pairs(n_conditions: int, k: int) -> float:
    """Return the largest Kendall distance of two lists: no pair that one of them orders is ordered alike.

    >>> farthest_pairs(419, 3), farthest_pairs(4, 4)
    (1251.0, 6.0)
    """
    return max(1.0, k * (k - 1) / 2 + k * (n_conditions - k))


def farthest_places(n_conditions: int, k: int) -> float:
    """Return the largest footrule distance of two lists: one has the places of the other in reverse.

    >>> farthest_places(419, 3), farthest_places(4, 4)
    (1257.0, 8.0)
    """
    places = np.arange(1.0, n_conditions + 1)
    places[k:] = (k + 1 + n_conditions) / 2
    return max(1.0, float(np.abs(places - places[::-1]).sum()))


@dataclass(frozen=True)
class Overlap(SetMetric):
    """Share of the set that a model names that is among as many first conditions of a draw.

    Parameters
    ----------
    k
        The first k conditions of scores or rankings are the set, fewer than there are; predictions that are sets must
        have k conditions each. Without it, predictions must be sets, and each is compared at its own size; an empty
        set, which says nothing, counts 0.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import InverseRank
    >>> said = Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c", "d"])
    >>> [batch] = InverseRank().sample(said)
    >>> model = Predictions.from_scores([[0.6, 0.1, 0.2, 0.1]], ["a", "b", "c", "d"])
    >>> Overlap(2).values(Drawn(batch, 2), Predicted(model, batch))
    array([[0.5]])
    >>> named, metric = Predictions.from_sets([["a", "b", "c"]], ["a", "b", "c", "d"]), Overlap()
    >>> metric.values(Drawn(batch, metric.depth_for(named)), Predicted(named, batch)).round(3)
    array([[0.833]])
    """

    id = "overlap"
    meaning = "The share of the conditions that the model names that are among as many first conditions of a draw."

    @property
    def name(self) -> str:
        """What the metric is called."""
        return "overlap" if self.k is None else f"top-{self.k} overlap"

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the overlap with each order."""
        if self.k is None:
            return set_overlap(drawn, predicted, self.sizes(predicted))
        return mean_overlap(drawn, predicted, (np.arange(1, self.k + 1) == self.k).astype(np.float64))


@dataclass(frozen=True)
class AverageOverlap(OrderMetric):
    """Mean of the overlaps of the top 1, the top 2 and so on, so that early places count more.

    Parameters
    ----------
    depth
        The last of these numbers, at most the number of conditions.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import InverseRank
    >>> said = Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c", "d"])
    >>> [batch] = InverseRank().sample(said)
    >>> model = Predictions.from_rankings([["b", "a"]], ["a", "b", "c", "d"])
    >>> AverageOverlap(2).values(Drawn(batch, 2), Predicted(model, batch))
    array([[0.5]])
    """

    id = "average-overlap"
    meaning = "How much the first places of model and draw have in common; early places count more."
    accepts = ("scores", "ranking")
    size_parameter = "depth"
    takes_all = True

    depth: int = 3

    @property
    def name(self) -> str:
        """What the metric is called."""
        return f"average overlap at {self.depth}"

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the average overlap with each order."""
        return mean_overlap(drawn, predicted, np.ones(self.depth))


@dataclass(frozen=True)
class RankBiasedOverlap(OrderMetric):
    """Weighted mean of the overlaps of the top 1, the top 2 and so on, each weighted less than the one before.

    Parameters
    ----------
    persistence
        Weight of each overlap relative to the one before, between 0 and 1.
    depth
        Where to stop, at most the number of conditions; the weights up to there are made to sum to one, so that equal
        rankings have the value 1 (the published measure sums to infinity, or extrapolates).

    References
    ----------
    W. Webber, A. Moffat and J. Zobel, "A similarity measure for indefinite rankings" (2010).

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import InverseRank
    >>> said = Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c", "d"])
    >>> [batch] = InverseRank().sample(said)
    >>> model = Predictions.from_rankings([["b", "a"]], ["a", "b", "c", "d"])
    >>> RankBiasedOverlap(0.5, depth=2).values(Drawn(batch, 2), Predicted(model, batch)).round(3)
    array([[0.333]])
    """

    id = "rank-biased-overlap"
    meaning = "How much the lists of model and draw have in common; each place counts less than the one before."
    accepts = ("scores", "ranking")
    size_parameter = "depth"
    takes_all = True

    persistence: float = 0.9
    depth: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.persistence, int | float) or not 0 < self.persistence < 1:
            raise DissensusError("persistence must be between 0 and 1", got=repr(self.persistence))

    @property
    def name(self) -> str:
        """What the metric is called."""
        return f"rank-biased overlap at {self.depth}, persistence {self.persistence:g}"

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the rank-biased overlap with each order."""
        return mean_overlap(drawn, predicted, np.float64(self.persistence) ** np.arange(self.depth, dtype=np.float64))


def set_overlap(drawn: Drawn, predicted: Predicted, sizes: IntArray) -> FloatArray:
    """Return the share of each set that is among as many first conditions of each order; 0 for an empty set."""
    orders, batch, case = drawn.orders, drawn.batch, drawn.case_of_member
    members, rest = inside(predicted)
    gains = (members - rest[case]) / np.maximum(1, sizes)[case]
    case_of_order = row_of_each(orders.offsets)
    rows, member = take_rows(batch.support_offsets, case_of_order)
    chances = np.clip((sizes[case[member]] - orders.above) / orders.tied, 0.0, 1.0)
    return rest[case_of_order] + weighted_counts(row_of_each(rows), chances * gains[member], len(case_of_order))


def mean_overlap(drawn: Drawn, predicted: Predicted, weights: FloatArray) -> FloatArray:
    """Average the overlaps of the top 1, the top 2 and so on, with these weights."""
    shares, rest_shares = zip(*(predicted.top_shares(k) for k in range(1, len(weights) + 1)), strict=True)
    return mean_worth(drawn, weights, np.stack(shares), np.stack(rest_shares))
