"""How often the model finds the best conditions or their categories, and how much of the plausibility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dissensus.core.arrays import FloatArray
from dissensus.core.checks import check_count, check_length
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import row_of_each
from dissensus.metrics.base import Drawn, Metric, OrderMetric, Predicted, expected_worth
from dissensus.predictions.lists import Predictions


@dataclass(frozen=True)
class TopKAccuracy(OrderMetric):
    """Probability that the best condition of a draw, or all of its top j, are among the model's top k.

    Parameters
    ----------
    k
        Number of conditions that the model may name, fewer than there are.
    j
        Number of conditions of the draw that must all be among them, at most k.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
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
    aliases = ("accuracy:1", "top-k")
    short_name = "top-{k} accuracy"
    unusual_names = (("j", "top-{j} in {}"),)
    meaning = "The share of draws whose most plausible condition, or each of the first few, is among the model's first."
    size_parameter = "k"

    k: int = 1
    j: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(j=self.j)
        if self.j > self.k:
            raise DissensusError("j must be at most k", expected=f"1 to {self.k}", got=str(self.j))

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
        j, k = (np.full(drawn.batch.n_cases, size) for size in (self.j, self.k))
        return contained_sets(drawn.layout, drawn.orders, j, predicted.named(k))


@dataclass(frozen=True)
class ExpectedAccuracy(Metric):
    """Plausibility that a draw gives to the model's top k: its accuracy on a label drawn from the plausibilities.

    Parameters
    ----------
    k
        Number of conditions that the model may name, fewer than there are.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> said = Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_scores([[0.6, 0.3, 0.1]], ["a", "b", "c"])
    >>> ExpectedAccuracy(1).values(Drawn(batch, 0), Predicted(model, batch))
    array([[0.5]])
    """

    id = "expected-accuracy"
    meaning = "How much of the plausibility the draws give to the model's first conditions."
    short_name = "expected top-{k} accuracy"
    accepts = ("scores", "ranking")
    size_parameter = "k"

    k: int = 1

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the plausibility of the top k in each draw."""
        (above, tied), listed = predicted.entry_standings, predicted.listed
        unlisted = np.clip((self.k - listed) / np.maximum(1, drawn.batch.n_conditions - listed), 0.0, 1.0)
        members, entries = predicted.top_shares(self.k)[0], np.clip((self.k - above) / tied, 0.0, 1.0)
        return drawn.expected(members, predicted.weighted_rest_means(entries, unlisted, members))


@dataclass(frozen=True)
class CategoryAccuracy(OrderMetric):
    """Probability that the category of the best condition of a draw is a category of the model's top k.

    Parameters
    ----------
    categories
        The category of each condition, in the order of the conditions; K words or numbers.
    k
        Number of conditions that the model may name, fewer than there are.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> said = Study.from_rankings([[[["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_scores([[0.6, 0.3, 0.1]], ["a", "b", "c"])
    >>> CategoryAccuracy(["low", "low", "high"]).values(Drawn(batch, 1), Predicted(model, batch))
    array([[1.]])
    """

    id = "category-accuracy"
    meaning = (
        "The share of draws in which the category of the most plausible condition is a category of the model's first "
        "conditions."
    )
    short_name = "top-{k} category accuracy"
    size_parameter = "k"
    given = ("categories",)

    categories: Sequence[str | int]
    k: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "categories", tuple(self.categories))

    def check(self, predictions: Predictions) -> None:
        """Refuse sets, a k that holds all conditions, and categories of other conditions."""
        super().check(predictions)
        check_length("categorie", len(self.categories), predictions.n_conditions, where=f"model {predictions.name!r}")

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the probability that the category of the best condition of each order is found."""
        known = {category: code for code, category in enumerate(dict.fromkeys(self.categories))}
        codes = np.array([known[category] for category in self.categories], dtype=np.int64)
        shape, case = (drawn.batch.n_cases, len(known)), row_of_each(predicted.entries[0])
        (above, tied), (before, size) = predicted.entry_standings, predicted.cuts(self.k)
        key = case * len(known) + codes[predicted.entries[1]]
        is_sure, is_cut = above + tied <= self.k, (above < self.k) & (above + tied > self.k)
        counts = (np.bincount(key[some], minlength=shape[0] * shape[1]) for some in (is_sure, is_cut, slice(None)))
        sure, cut, listed = (own.reshape(shape) for own in counts)
        sizes, is_short = np.bincount(codes), predicted.listed < self.k
        cut[is_short] = (sizes - listed)[is_short]  # the cut is among the conditions that are not listed
        missed = np.ones(shape)
        for i in range(self.k):
            chosen = (i < self.k - before) & (size > i)
            missed[chosen] *= np.maximum(0.0, 1.0 - cut / np.maximum(1, size - i)[:, None])[chosen]
        found = np.where(sure > 0, 1.0, 1.0 - missed)  # how likely each category has a condition in the top k
        members = found[drawn.batch.case_of_member, codes[drawn.batch.support]]
        totals = np.asarray(np.cumsum(found * sizes, axis=1)[:, -1], dtype=np.float64)
        return expected_worth(drawn, members, predicted.rest_means(totals, members))
