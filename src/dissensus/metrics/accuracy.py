"""How often the model finds the best conditions, or how much of the plausibility."""

from __future__ import annotations

from dataclasses import dataclass

from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_count, check_fields
from dissensus.core.errors import DissensusError
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
    """Probability that the best condition of a draw, or all of its top j, are among the model's top k.

    Parameters
    ----------
    k
        Number of conditions that the model may name, fewer than there are.
    j
        Number of conditions of the draw that must all be among them, at most k.

    Examples
    --------
    >>> from dissensus import MajorityVote, Predictions, Study
    >>> said = Study.from_rankings([[[["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_scores([[0.6, 0.2, 0.2]], ["a", "b", "c"])
    >>> TopKAccuracy(2).values(Drawn(batch, 1), Predicted(model, batch))
    array([[0.5]])

    Nobody ranked ``a`` or ``c``, so that either may be second.

    >>> TopKAccuracy(2, j=2).values(Drawn(batch, 2), Predicted(model, batch))
    array([[0.25]])
    """

    id = "top-k-accuracy"
    meaning = "The share of draws whose most plausible condition, or each of the first few, is among the model's first."

    k: int = 1
    j: int = 1

    def __post_init__(self) -> None:
        check_fields(self)
        super().__post_init__()
        check_count(j=self.j)
        if self.j > self.k:
            raise DissensusError("j must be at most k", expected=f"1 to {self.k}", got=str(self.j))

    @property
    def name(self) -> str:
        """What the metric is called."""
        return f"top-{self.k} accuracy" if self.j == 1 else f"top-{self.j} in top-{self.k} accuracy"

    @property
    def methods(self) -> str:
        """What a methods section says about it."""
        wanted = "most plausible condition is" if self.j == 1 else f"{self.j} most plausible conditions are all"
        return f"{self.name.capitalize()}: the share of draws whose {wanted} among the model's first {self.k}."

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the probability that the top j of each order are in the top k."""
        from dissensus.kernels.gains import contained_sets

        if self.j == 1:
            return expected_worth(drawn, *predicted.top_shares(self.k))
        return contained_sets(drawn.layout, drawn.orders, predicted.standings, predicted.cuts(self.k), self.j, self.k)


@dataclass(frozen=True)
class ExpectedAccuracy(Metric):
    """Plausibility that a draw gives to the model's top k: its accuracy on a label drawn from the plausibilities.

    Parameters
    ----------
    k
        Number of conditions that the model may name, fewer than there are.

    Examples
    --------
    >>> from dissensus import MajorityVote, Predictions, Study
    >>> said = Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_scores([[0.6, 0.3, 0.1]], ["a", "b", "c"])
    >>> ExpectedAccuracy(1).values(Drawn(batch, 0), Predicted(model, batch))
    array([[0.5]])
    """

    id = "expected-accuracy"
    meaning = "How much of the plausibility the draws give to the model's first conditions."
    accepts = ("scores", "ranking")

    k: int = 1

    def __post_init__(self) -> None:
        check_fields(self)
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

        return expected_values(drawn.batch.layout(), drawn.batch.values, *predicted.mass_shares(self.k))
