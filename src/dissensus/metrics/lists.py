"""How well a set that a model names covers the answer, and how similar its list is to that of a draw.

To be similar, the first k places of a draw and of the model are turned into lists of k conditions. A tie that crosses
place k is cut at random, as everywhere; ties within the list stay ties; all other conditions are tied below the list.
Distances between such rankings are those of R. Fagin, R. Kumar, M. Mahdian, D. Sivakumar and E. Vee, "Comparing partial
rankings" (2006): K_prof and F_prof. They are turned into similarities, 1 for equal lists and 0 for lists as different
as lists of k conditions out of K can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.checks import check_share
from dissensus.core.ragged import row_of_each, take_rows, weighted_counts
from dissensus.metrics.base import KINDS, Drawn, Metric, OrderMetric, Predicted, expected_worth
from dissensus.predictions.lists import Predictions


@dataclass(frozen=True)
class SetMetric(OrderMetric):
    """Compare a set that a model names with as many first conditions of each order.

    Parameters
    ----------
    k
        The first k conditions of scores or rankings are the set, fewer than there are; predictions that are sets must
        have k conditions each. Without it, predictions must be sets, and each is compared at its own size; an empty
        set, which says nothing, counts 0.
    """

    accepts = ("scores", "ranking", "set")
    size_parameter = "k"

    unusual_names = (("k", "top-{k} {}"),)

    k: int | None = None

    def depth_for(self, predictions: Predictions) -> int:
        """How many places of a draw must be known: as many as the largest set has conditions."""
        return int(predictions.entries_per_case.max(initial=0)) if self.k is None else self.k

    def sizes(self, predicted: Predicted) -> IntArray:
        """Return the size of the set of each case, shape (n_cases,)."""
        return predicted.listed if self.k is None else np.full(predicted.batch.n_cases, self.k, dtype=np.int64)

    def check(self, predictions: Predictions) -> None:
        """Refuse a k that holds all conditions, sets of another size, and anything but sets where there is no k."""
        super().check(predictions)
        other = np.flatnonzero(predictions.entries_per_case != self.k)
        if self.k is not None and predictions.kind == "set" and len(other):
            got = f"a set of {predictions.entries_per_case[other[0]]}"
            advice = f"leave the number out: {self.id} compares sets of any size"
            raise self.refusal(predictions, f"needs sets of {self.k} conditions", other[0], got=got, advice=advice)
        if self.k is None and predictions.kind != "set":
            advice = f"say how many first conditions are the set, such as {self.id}:3"
            raise self.refusal(predictions, "needs sets of conditions", got=KINDS[predictions.kind], advice=advice)


class SetAccuracy(SetMetric):
    """Probability that the set that a model names is the set of as many first conditions of a draw.

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
    >>> said = Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"])
    >>> [batch] = InverseRank().sample(said)
    >>> model = Predictions.from_scores([[0.2, 0.6, 0.2]], ["a", "b", "c"])
    >>> SetAccuracy(2).values(Drawn(batch, 2), Predicted(model, batch))
    array([[0.5]])
    >>> named, metric = Predictions.from_sets([["b", "a"]], ["a", "b", "c"]), SetAccuracy()
    >>> metric.values(Drawn(batch, metric.depth_for(named)), Predicted(named, batch))
    array([[1.]])
    """

    id = "set-accuracy"
    meaning = "The share of draws whose first conditions are exactly those that the model names, in any order."

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the probability that the sets are the same."""
        from dissensus.kernels.gains import contained_sets

        sizes = self.sizes(predicted)
        return contained_sets(drawn.layout, drawn.orders, sizes, predicted.named(sizes))


@dataclass(frozen=True)
class Coverage(OrderMetric):
    """Probability that the best condition of a draw is in the predicted set.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> said = Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_sets([["b", "c"]], ["a", "b", "c"])
    >>> Coverage().values(Drawn(batch, 1), Predicted(model, batch))
    array([[0.5]])
    """

    id = "coverage"
    meaning = "The share of draws whose most plausible condition is in the set that the model names."
    accepts = ("set",)

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the probability that the set holds the best condition of each order."""
        return expected_worth(drawn, *inside(predicted))


@dataclass(frozen=True)
class ExpectedCoverage(Metric):
    """Plausibility that a draw gives to the predicted set: its coverage of a label drawn from the plausibilities.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> said = Study.from_rankings([[[["a"]], [["a"]], [["a"]], [["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_sets([["b", "c"]], ["a", "b", "c"])
    >>> ExpectedCoverage().values(Drawn(batch, 0), Predicted(model, batch))
    array([[0.25]])
    """

    id = "expected-coverage"
    meaning = "How much of the plausibility the draws give to the set that the model names."
    accepts = ("set",)

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the plausibility of the set in each draw."""
        is_inside, is_listed = inside(predicted)[0], np.ones(len(predicted.entries[1]))
        return drawn.expected(is_inside, predicted.weighted_rest_means(is_listed, 0.0, is_inside))


@dataclass(frozen=True)
class SetSize(Metric):
    """Number of conditions in the predicted set, whatever the draw; of two sets that cover, the smaller is better.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> [batch] = MajorityVote().sample(Study.from_rankings([[[["a"]]]], ["a", "b", "c"]))
    >>> model = Predictions.from_sets([["b", "c"]], ["a", "b", "c"])
    >>> SetSize().values(Drawn(batch, 0), Predicted(model, batch))
    array([[2.]])
    """

    id = "set-size"
    meaning = "How many conditions the model names; of two sets that hold the answer, the smaller is better."
    accepts = ("set",)
    range = (0.0, np.inf)
    higher_is_better = False

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the size of the set, once per draw."""
        return np.repeat(predicted.listed.astype(np.float64)[:, None], drawn.batch.n_draws, axis=1)


def inside(predicted: Predicted) -> tuple[FloatArray, FloatArray]:
    """Return whether each mentioned condition is in the set (sum of U,), and the share of the others (n_cases,)."""
    is_inside = (predicted.scores > 0).astype(np.float64)
    return is_inside, predicted.rest_means(predicted.listed.astype(np.float64), is_inside)


# Similarity of lists ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KendallTau(OrderMetric):
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
    short_name = "Kendall similarity at {k}"
    size_parameter = "k"
    takes_all = True

    k: int

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the similarity with each order."""
        from dissensus.kernels.gains import kendall_distances

        distances = kendall_distances(drawn.layout, drawn.orders, predicted.standings, *predicted.blocks(self.k))
        # the farthest two lists: no pair that one of them orders is ordered alike
        return 1.0 - distances / max(1.0, self.k * (self.k - 1) / 2 + self.k * (drawn.batch.n_conditions - self.k))


@dataclass(frozen=True)
class SpearmanFootrule(OrderMetric):
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
    short_name = "Spearman footrule similarity at {k}"
    size_parameter = "k"
    takes_all = True

    k: int

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the similarity with each order."""
        from dissensus.kernels.gains import footrule_distances

        distances = footrule_distances(drawn.layout, drawn.orders, predicted.standings, *predicted.blocks(self.k))
        places = np.arange(1.0, drawn.batch.n_conditions + 1)
        places[self.k :] = (self.k + 1 + len(places)) / 2
        # the farthest two lists: one has the places of the other in reverse
        return 1.0 - distances / max(1.0, float(np.abs(places - places[::-1]).sum()))


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

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the overlap with each order."""
        if self.k is not None:
            return mean_overlap(drawn, predicted, (np.arange(1, self.k + 1) == self.k).astype(np.float64))
        orders, case, sizes = drawn.orders, drawn.batch.case_of_member, predicted.listed
        members, rest = inside(predicted)
        gains = (members - rest[case]) / np.maximum(1, sizes)[case]
        case_of_order = row_of_each(orders.offsets)
        rows, member = take_rows(drawn.batch.support_offsets, case_of_order)
        chances = np.clip((sizes[case[member]] - orders.above) / orders.tied, 0.0, 1.0)
        return rest[case_of_order] + weighted_counts(row_of_each(rows), chances * gains[member], len(case_of_order))


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
    short_name = "average overlap at {depth}"
    size_parameter = "depth"
    takes_all = True

    depth: int = 3

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
    aliases = ("rbo",)
    meaning = "How much the lists of model and draw have in common; each place counts less than the one before."
    short_name = "rank-biased overlap at {depth}, persistence {persistence:g}"
    checks = (("persistence", check_share),)
    size_parameter = "depth"
    takes_all = True

    persistence: float = 0.9
    depth: int = 10

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the rank-biased overlap with each order."""
        return mean_overlap(drawn, predicted, np.float64(self.persistence) ** np.arange(self.depth, dtype=np.float64))


def mean_overlap(drawn: Drawn, predicted: Predicted, weights: FloatArray) -> FloatArray:
    """Average over orders the overlaps of the top 1, the top 2 and so on, with these weights."""
    from dissensus.kernels.gains import expected_gains

    depth = len(weights)
    shares, rests = map(np.stack, zip(*(predicted.top_shares(k) for k in range(1, depth + 1)), strict=True))
    shared = (weights / weights.sum())[:, None]
    parts = shared / np.arange(1, depth + 1)[:, None]
    gains = np.zeros((shares.shape[1], depth + 1))
    # a condition in one place counts at this depth and at all below
    gains[:, :depth] = np.cumsum((parts * (shares - rests[:, drawn.batch.case_of_member]))[::-1], axis=0)[::-1].T
    bases = np.cumsum(shared * rests, axis=0)[-1]  # in order, so that a case gives the same bits in any company
    return expected_gains(drawn.layout, drawn.orders, bases, gains)
