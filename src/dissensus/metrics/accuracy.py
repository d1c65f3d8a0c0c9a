"""How often the model finds the best condition, or how much of the plausibility."""

from __future__ import annotations

from dataclasses import dataclass

from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_count
from dissensus.metrics.base import (
    Drawn,
    Metric,
    Predicted,
    TopKMetric,
    check_fewer,
    expected_worth,
)
from dissensus.predictions.lists import Predictions


@dataclass(frozen=True)
class TopKAccuracy(TopKMetric):
    """Probability that the best condition of a draw is among the model's top k.

    Parameters
    ----------
    k
        Number of conditions that the model may name, fewer than there are.

    Examples
    --------
    >>> from dissensus import Annotations, MajorityVote
    >>> said = Annotations.from_rankings([[[["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_scores([[0.6, 0.2, 0.2]], ["a", "b", "c"])
    >>> TopKAccuracy(2).values(Drawn(batch, 1), Predicted(model, batch))
    array([[0.5]])
    """

    id = "top-k-accuracy"
    meaning = "The share of draws whose most plausible condition is among the model's first."

    k: int = 1

    @property
    def name(self) -> str:
        """What the metric is called."""
        return f"top-{self.k} accuracy"

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the probability that the best condition of each order is in the top k."""
        return expected_worth(drawn, *predicted.top_shares(self.k))


@dataclass(frozen=True)
class ExpectedAccuracy(Metric):
    """Plausibility that a draw gives to the model's top k: its accuracy on a label drawn from the plausibilities.

    Parameters
    ----------
    k
        Number of conditions that the model may name, fewer than there are.

    Examples
    --------
    >>> from dissensus import Annotations, MajorityVote
    >>> said = Annotations.from_rankings([[[["a"]], [["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_scores([[0.6, 0.3, 0.1]], ["a", "b", "c"])
    >>> ExpectedAccuracy(1).values(Drawn(batch, 0), Predicted(model, batch))
    array([[0.5]])
    """

    id = "expected-accuracy"
    meaning = "How much plausibility the draws give to the model's first conditions."
    accepts = ("scores", "ranking")

    k: int = 1

    def __post_init__(self) -> None:
        check_count(k=self.k)

    @property
    def name(self) -> str:
        """What the metric is called."""
        return f"expected top-{self.k} accuracy"

    def check(self, predictions: Predictions) -> None:
        """Refuse sets, and a k that holds all conditions."""
        super().check(predictions)
        check_fewer(self, self.k, predictions)

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the plausibility of the top k in each draw."""
        from dissensus.kernels.gains import expected_values

        return expected_values(drawn.batch.layout(), drawn.batch.values, *predicted.top_shares(self.k))
