"""Distances between the first k places of a draw and of the model, ties and all.

Both are turned into lists of k conditions. A tie that crosses place k is cut at random, as everywhere; ties within the
list stay ties; all other conditions are tied below the list. Distances between such rankings are those of R. Fagin,
R. Kumar, M. Mahdian, D. Sivakumar and E. Vee, "Comparing partial rankings" (2006): K_prof and F_prof. They are turned
into similarities, 1 for equal lists and 0 for lists as different as lists of k conditions out of K can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.metrics.base import Drawn, OrderMetric, Predicted, TopKMetric, check_depth
from dissensus.predictions.lists import Predictions


@dataclass(frozen=True)
class ListSimilarity(TopKMetric):
    """Compare lists of k conditions, which may be all of them."""

    def check(self, predictions: Predictions) -> None:
        """Refuse sets, and lists longer than the number of conditions."""
        OrderMetric.check(self, predictions)
        check_depth(self, self.k, predictions.n_conditions, predictions)


@dataclass(frozen=True)
class KendallTau(ListSimilarity):
    """Similarity of the first k places by pairs of conditions, from 0 to 1.

    A pair that the two lists order oppositely counts 1, a pair that is tied in one of them only counts 1/2. The sum is
    divided by its maximum, k (k - 1) / 2 + k (K - k), and taken from 1. With k = K and no ties this is (1 + tau) / 2.

    Parameters
    ----------
    k
        Length of the lists, at most the number of conditions.

    Examples
    --------
    >>> from dissensus import InverseRank, Predictions, Study
    >>> said = Study.from_rankings([[[["a"], ["b"], ["c"]]]])
    >>> [batch] = InverseRank().sample(said)
    >>> model = Predictions.from_rankings([["b", "a", "c"]])
    >>> KendallTau(3).values(Drawn(batch, 3), Predicted(model, batch)).round(3)
    array([[0.667]])
    """

    id = "kendall-tau"
    meaning = "How similarly model and draw order their first conditions, pair by pair; 1 if they are equal."

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
class SpearmanFootrule(ListSimilarity):
    """Similarity of the first k places by how far each condition is moved, from 0 to 1.

    Conditions in a tie have its mean place, those outside the list the mean of the places below it. The sum of the
    absolute differences is divided by its maximum, k K if K is at least 2 k, and taken from 1.

    Parameters
    ----------
    k
        Length of the lists, at most the number of conditions.

    Examples
    --------
    >>> from dissensus import InverseRank, Predictions, Study
    >>> said = Study.from_rankings([[[["a"], ["b"], ["c"]]]])
    >>> [batch] = InverseRank().sample(said)
    >>> model = Predictions.from_rankings([["b", "a", "c"]])
    >>> SpearmanFootrule(3).values(Drawn(batch, 3), Predicted(model, batch))
    array([[0.5]])
    """

    id = "spearman-footrule"
    meaning = "How similarly model and draw order their first conditions, by how far each moves; 1 if they are equal."

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
