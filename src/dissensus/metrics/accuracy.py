"""How often the model finds the best conditions, or how much of the plausibility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.checks import check_count, check_length
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import row_of_each
from dissensus.metrics.base import (
    Drawn,
    Metric,
    OrderMetric,
    Predicted,
    SetMetric,
    TopKMetric,
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
    meaning = "The share of draws whose most plausible condition, or each of the first few, is among the model's first."

    k: int = 1
    j: int = 1

    def __post_init__(self) -> None:
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
    accepts = ("scores", "ranking")
    size_parameter = "k"

    k: int = 1

    @property
    def name(self) -> str:
        """What the metric is called."""
        return f"expected top-{self.k} accuracy"

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the plausibility of the top k in each draw."""
        from dissensus.kernels.gains import expected_values

        return expected_values(drawn.batch.layout(), drawn.batch.values, *predicted.mass_shares(self.k))


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
    accepts = ("scores", "ranking")
    size_parameter = "k"
    given = ("categories",)

    categories: Sequence[str | int]
    k: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "categories", tuple(self.categories))

    @property
    def name(self) -> str:
        """What the metric is called."""
        return f"top-{self.k} category accuracy"

    @property
    def depth(self) -> int:
        """How many places count."""
        return self.k

    def check(self, predictions: Predictions) -> None:
        """Refuse sets, a k that holds all conditions, and categories of other conditions."""
        super().check(predictions)
        check_length("categorie", len(self.categories), predictions.n_conditions, where=f"model {predictions.name!r}")

    def of_orders(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the probability that the category of the best condition of each order is found."""
        known = {category: code for code, category in enumerate(dict.fromkeys(self.categories))}
        codes = np.array([known[category] for category in self.categories], dtype=np.int64)
        found = found_categories(predicted, codes, len(known), self.k)
        members = found[predicted.case_of_member, codes[predicted.batch.support]]
        totals = np.cumsum(found * np.bincount(codes, minlength=len(known)), axis=1)[:, -1]
        return expected_worth(drawn, members, predicted.rest_means(totals, members))


def found_categories(predicted: Predicted, codes: IntArray, n_categories: int, k: int) -> FloatArray:
    """Return the probability that each category has a condition in the model's top k, shape (n_cases, n_categories)."""
    n_cases, n_conditions = predicted.batch.n_cases, predicted.batch.n_conditions
    above, tied = predicted.entry_standings
    is_sure, is_cut = above + tied <= k, (above < k) & (above + tied > k)
    key = row_of_each(predicted.entries[0]) * n_categories + codes[predicted.entries[1]]
    counts = (np.bincount(key[some], minlength=n_cases * n_categories) for some in (is_sure, is_cut, slice(None)))
    sure, cut, listed = (own.reshape(n_cases, n_categories) for own in counts)
    size, before = cut.sum(axis=1), sure.sum(axis=1)
    is_short = predicted.listed < k  # the cut is among the conditions that are not listed
    cut[is_short] = (np.bincount(codes, minlength=n_categories) - listed)[is_short]
    size[is_short] = n_conditions - predicted.listed[is_short]
    missed = np.ones((n_cases, n_categories))
    for i in range(k):
        chosen = (i < k - before) & (size > i)
        missed[chosen] *= np.maximum(0.0, 1.0 - cut / np.maximum(1, size - i)[:, None])[chosen]
    return np.where(sure > 0, 1.0, 1.0 - missed)


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

    name = "set size"

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the size of the set, once per draw."""
        return np.repeat(predicted.listed.astype(np.float64)[:, None], drawn.batch.n_draws, axis=1)


def inside(predicted: Predicted) -> tuple[FloatArray, FloatArray]:
    """Return whether each mentioned condition is in the set (sum of U,), and the share of the others (n_cases,)."""
    is_inside = (predicted.scores > 0).astype(np.float64)
    return is_inside, predicted.rest_means(predicted.listed.astype(np.float64), is_inside)
