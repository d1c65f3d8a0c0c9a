"""Categories of conditions, such as levels of risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.checks import check_count, check_fields, check_length
from dissensus.core.ragged import row_of_each
from dissensus.metrics.base import (
    Drawn,
    OrderMetric,
    Predicted,
    check_fewer,
    expected_worth,
)
from dissensus.predictions.lists import Predictions


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
    >>> from dissensus import MajorityVote, Predictions, Study
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
    given = ("categories",)

    categories: Sequence[str | int]
    k: int = 1

    def __post_init__(self) -> None:
        check_fields(self)
        check_count(k=self.k)
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
        check_fewer(self, self.k, predictions)
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
    sure, cut, listed = (_counts(key[mask], n_cases, n_categories) for mask in (is_sure, is_cut, slice(None)))
    size, before = cut.sum(axis=1), sure.sum(axis=1)
    is_short = predicted.listed < k  # the cut is among the conditions that are not listed
    cut[is_short] = (np.bincount(codes, minlength=n_categories) - listed)[is_short]
    size[is_short] = n_conditions - predicted.listed[is_short]
    missed = np.ones((n_cases, n_categories))
    for i in range(k):
        chosen = (i < k - before) & (size > i)
        missed[chosen] *= np.maximum(0.0, 1.0 - cut / np.maximum(1, size - i)[:, None])[chosen]
    return np.where(sure > 0, 1.0, 1.0 - missed)


def _counts(key: IntArray, n_cases: int, n_categories: int) -> IntArray:
    return np.bincount(key, minlength=n_cases * n_categories).reshape(n_cases, n_categories)
