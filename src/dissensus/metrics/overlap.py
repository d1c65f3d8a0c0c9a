"""How much the first places of a draw and of the model have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_count
from dissensus.core.errors import DissensusError
from dissensus.metrics.base import (
    Drawn,
    OrderMetric,
    Predicted,
    TopKMetric,
    check_depth,
    mean_worth,
)
from dissensus.predictions.lists import Predictions


@dataclass(frozen=True)
class Overlap(TopKMetric):
    """Share of the top k of a draw that are in the top k of the model.

    Parameters
    ----------
    k
        Number of conditions on either side, fewer than there are.

    Examples
    --------
    >>> from dissensus import Annotations, InverseRank
    >>> said = Annotations.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c", "d"])
    >>> [batch] = InverseRank().sample(said)
    >>> model = Predictions.from_scores([[0.6, 0.1, 0.2, 0.1]], ["a", "b", "c", "d"])
    >>> Overlap(2).values(Drawn(batch, 2), Predicted(model, batch))
    array([[0.5]])
    """

    id = "overlap"
    meaning = "The share of the first conditions that model and draw have in common."

    @property
    def name(self) -> str:
        """What the metric is called."""
        return f"top-{self.k} overlap"

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the overlap with each order."""
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
    >>> from dissensus import Annotations, InverseRank
    >>> said = Annotations.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c", "d"])
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
    >>> from dissensus import Annotations, InverseRank
    >>> said = Annotations.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c", "d"])
    >>> [batch] = InverseRank().sample(said)
    >>> model = Predictions.from_rankings([["b", "a"]], ["a", "b", "c", "d"])
    >>> RankBiasedOverlap(0.5, depth=2).values(Drawn(batch, 2), Predicted(model, batch)).round(3)
    array([[0.333]])
    """

    id = "rank-biased-overlap"
    meaning = "How much the lists of model and draw have in common; each place counts less than the last."
    accepts = ("scores", "ranking")

    persistence: float = 0.9
    depth: int = 10

    def __post_init__(self) -> None:
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


def mean_overlap(drawn: Drawn, predicted: Predicted, weights: FloatArray) -> FloatArray:
    """Average the overlaps of the top 1, the top 2 and so on, with these weights."""
    shares, rest_shares = zip(*(predicted.top_shares(k) for k in range(1, len(weights) + 1)), strict=True)
    return mean_worth(drawn, weights, np.stack(shares), np.stack(rest_shares))
