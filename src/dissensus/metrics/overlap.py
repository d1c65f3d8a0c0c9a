"""How much the first places of a draw and of the model have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.checks import check_count, check_fields
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import row_of_each, take_rows, weighted_counts
from dissensus.metrics.base import (
    Drawn,
    OrderMetric,
    Predicted,
    SetMetric,
    check_depth,
    mean_worth,
)
from dissensus.metrics.sets import inside
from dissensus.predictions.lists import Predictions


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
    >>> from dissensus import InverseRank, Predictions, Study
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
    >>> from dissensus import InverseRank, Predictions, Study
    >>> said = Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c", "d"])
    >>> [batch] = InverseRank().sample(said)
    >>> model = Predictions.from_rankings([["b", "a"]], ["a", "b", "c", "d"])
    >>> AverageOverlap(2).values(Drawn(batch, 2), Predicted(model, batch))
    array([[0.5]])
    """

    id = "average-overlap"
    meaning = "How much the first places of model and draw have in common; early places count more."
    accepts = ("scores", "ranking")

    depth: int = 3

    def __post_init__(self) -> None:
        check_fields(self)
        check_count(depth=self.depth)

    @property
    def name(self) -> str:
        """What the metric is called."""
        return f"average overlap at {self.depth}"

    def check(self, predictions: Predictions) -> None:
        """Refuse sets, and a depth beyond the number of conditions."""
        super().check(predictions)
        check_depth(self, self.depth, predictions.n_conditions, predictions)

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
    >>> from dissensus import InverseRank, Predictions, Study
    >>> said = Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c", "d"])
    >>> [batch] = InverseRank().sample(said)
    >>> model = Predictions.from_rankings([["b", "a"]], ["a", "b", "c", "d"])
    >>> RankBiasedOverlap(0.5, depth=2).values(Drawn(batch, 2), Predicted(model, batch)).round(3)
    array([[0.333]])
    """

    id = "rank-biased-overlap"
    meaning = "How much the lists of model and draw have in common; each place counts less than the one before."
    accepts = ("scores", "ranking")

    persistence: float = 0.9
    depth: int = 10

    def __post_init__(self) -> None:
        check_fields(self)
        check_count(depth=self.depth)
        if not isinstance(self.persistence, int | float) or not 0 < self.persistence < 1:
            raise DissensusError("persistence must be between 0 and 1", got=repr(self.persistence))

    @property
    def name(self) -> str:
        """What the metric is called."""
        return f"rank-biased overlap at {self.depth}, persistence {self.persistence:g}"

    def check(self, predictions: Predictions) -> None:
        """Refuse sets, and a depth beyond the number of conditions."""
        super().check(predictions)
        check_depth(self, self.depth, predictions.n_conditions, predictions)

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
