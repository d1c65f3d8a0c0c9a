"""Sets of conditions: the top k of a model, and predictions that are sets of any size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.metrics.base import (
    Drawn,
    Metric,
    OrderMetric,
    Predicted,
    SetMetric,
    expected_worth,
)


@dataclass(frozen=True)
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
    >>> from dissensus import InverseRank, Predictions, Study
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

    @property
    def name(self) -> str:
        """What the metric is called."""
        return "set accuracy" if self.k is None else f"top-{self.k} set accuracy"

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the probability that the sets are the same."""
        from dissensus.kernels.gains import same_sets

        return same_sets(drawn.layout, drawn.orders, predicted.standings, self.sizes(predicted))


@dataclass(frozen=True)
class Coverage(OrderMetric):
    """Probability that the best condition of a draw is in the predicted set.

    Examples
    --------
    >>> from dissensus import MajorityVote, Predictions, Study
    >>> said = Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_sets([["b", "c"]], ["a", "b", "c"])
    >>> Coverage().values(Drawn(batch, 1), Predicted(model, batch))
    array([[0.5]])
    """

    id = "coverage"
    meaning = "The share of draws whose most plausible condition is in the set that the model names."
    accepts = ("set",)

    name = "coverage"

    @property
    def depth(self) -> int:
        """How many places count."""
        return 1

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the probability that the set holds the best condition of each order."""
        return expected_worth(drawn, *inside(predicted))


@dataclass(frozen=True)
class ExpectedCoverage(Metric):
    """Plausibility that a draw gives to the predicted set: its coverage of a label drawn from the plausibilities.

    Examples
    --------
    >>> from dissensus import MajorityVote, Predictions, Study
    >>> said = Study.from_rankings([[[["a"]], [["a"]], [["a"]], [["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_sets([["b", "c"]], ["a", "b", "c"])
    >>> ExpectedCoverage().values(Drawn(batch, 0), Predicted(model, batch))
    array([[0.25]])
    """

    id = "expected-coverage"
    meaning = "How much of the plausibility the draws give to the set that the model names."
    accepts = ("set",)

    name = "expected coverage"

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the plausibility of the set in each draw."""
        from dissensus.kernels.gains import expected_values

        is_inside, none = inside(predicted)[0], np.zeros(predicted.batch.n_cases)
        rest = predicted.weighted_rest_means(np.ones(len(predicted.entries[1])), none, is_inside)
        return expected_values(drawn.batch.layout(), drawn.batch.values, is_inside, rest)


@dataclass(frozen=True)
class SetSize(Metric):
    """Number of conditions in the predicted set, whatever the draw; of two sets that cover, the smaller is better.

    Examples
    --------
    >>> from dissensus import MajorityVote, Predictions, Study
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

    name = "set size"

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the size of the set, once per draw."""
        return np.repeat(predicted.listed.astype(np.float64)[:, None], drawn.batch.n_draws, axis=1)


def inside(predicted: Predicted) -> tuple[FloatArray, FloatArray]:
    """Return whether each mentioned condition is in the set (sum of U,), and the share of the others (n_cases,)."""
    is_inside = (predicted.scores > 0).astype(np.float64)
    return is_inside, predicted.rest_means(predicted.listed.astype(np.float64), is_inside)
