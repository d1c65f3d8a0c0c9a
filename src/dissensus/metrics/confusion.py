"""Metrics of the matrix that says how much of which label was called what, for two conditions or more."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.checks import check_choice
from dissensus.core.errors import DissensusError
from dissensus.metrics.data_set import DataSetMetric, Said, Truth, at_threshold, averaged
from dissensus.metrics.small_numbers import few
from dissensus.predictions.lists import Predictions

KappaWeights: TypeAlias = Literal["none", "linear", "quadratic"]
"""How bad a wrong grade is: all the same, by its distance, or by the square of it."""


def decisions(said: Said, threshold: float | None = None) -> FloatArray:
    """Return how much of each case is called what, shape (n_cases, K).

    >>> decisions(Said.of_scores(np.array([[0.6, 0.4]]), is_binary=True), 0.3)
    array([[0., 1.]])
    """
    if threshold is None:
        return said.picks
    positive = np.asarray(said.scores[:, -1] >= threshold, dtype=np.float64)
    return np.stack([1 - positive, positive], axis=1)


def adjusted_confusion(said: Said, labels: FloatArray, *, threshold: float | None = None) -> FloatArray:
    """Add up how much of which label was called what, shape (n_draws, K, K): labels in rows, calls in columns.

    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4]]), is_binary=True)
    >>> adjusted_confusion(said, np.array([[[0.25, 1.0], [0.75, 0.0]]]))
    array([[[1.  , 0.25],
            [0.  , 0.75]]])
    """
    from dissensus.kernels.label_sums import confusions

    return confusions(labels, said.weights, decisions(said, threshold))


class ConfusionMetric(DataSetMetric):
    """Judge decisions by a formula of the whole matrix; where there are several findings, by the mean over them."""

    accepts = ("scores", "ranking")
    range = (-1.0, 1.0)
    curves = ("confusion",)
    threshold: float | None

    @abstractmethod
    def formula(self, matrix: FloatArray) -> FloatArray:
        """Return the metric of matrices (n_draws, K, K); nan where it is undefined."""

    @abstractmethod
    def gradient(self, matrix: FloatArray) -> FloatArray:
        """Return the derivative by every part of a matrix (K, K)."""

    def size(self, matrix: FloatArray) -> float:
        """Return on how many cases the metric rests; the matrix is (K, K)."""
        return float(matrix.sum())

    def check(self, predictions: Predictions) -> None:
        """Refuse a threshold where there are no scores, or more than two conditions."""
        super().check(predictions)
        if self.threshold is not None and predictions.n_conditions != 2:
            raise DissensusError(
                f"{self.name} needs two conditions",
                got=str(predictions.n_conditions),
                where=f"model {predictions.name!r}",
                advice="leave the threshold out, so that what the model puts first is its decision",
            )

    def of_draws(self, said: Said, labels: FloatArray) -> FloatArray:
        """Return the metric of every draw, shape (n_draws,)."""
        values = np.stack([self.formula(matrix) for _, matrix in self._matrices(said, labels)])
        return averaged(values, np.ones(values.shape))

    def slopes(self, said: Said, labels: FloatArray) -> FloatArray:
        """Return the derivative of the metric by every mass, shape (K, n_cases)."""
        calls, found, n_known = decisions(said, self.threshold), np.zeros(labels.shape), 0
        for rows, matrix in self._matrices(said, labels[None]):
            if not np.isnan(self.formula(matrix))[0]:
                found[:, rows] = self.gradient(matrix[0]) @ calls[rows].T
                n_known += 1
        return found / n_known if n_known else np.full(labels.shape, np.nan)

    def counted(self, said: Said, labels: FloatArray) -> float:
        """Return on how many cases the metric rests: of a mean over findings, on more than each of them."""
        known = [matrix[0] for _, matrix in self._matrices(said, labels[None]) if not np.isnan(self.formula(matrix))[0]]
        return len(known) ** 2 / sum(1 / self.size(matrix) for matrix in known) if known else 0.0

    def remarks(self, said: Said, labels: FloatArray) -> tuple[str, ...]:
        """Say that nearly all cases of two conditions are called the same, or are the same."""
        if said.n_conditions != 2:
            return ()
        matrices = np.stack([matrix[0] for _, matrix in self._matrices(said, labels[None])])
        totals = matrices.sum(axis=(1, 2))
        words = [
            few(at_threshold(f"called {word}", self.threshold), matrices[:, :, code].sum(axis=1), totals)
            + few(word, matrices[:, code].sum(axis=1), totals)
            for code, word in ((1, "positive"), (0, "negative"))
        ]
        return words[0] + words[1]

    def _matrices(self, said: Said, labels: FloatArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Give the cases of every finding, and their matrices (n_draws, K, K)."""
        for one in np.unique(said.findings):
            rows = np.flatnonzero(said.findings == one)
            part, own = (said, labels) if len(rows) == said.n_cases else (said.select(rows), labels[:, :, rows])
            yield rows, adjusted_confusion(part, own, threshold=self.threshold)


@dataclass(frozen=True)
class CohenKappa(ConfusionMetric):
    """Agreement of the model with the labels beyond chance, as Cohen's kappa; weighted for grades.

    Parameters
    ----------
    weights
        How bad a wrong condition is: "none", all the same; "linear" or "quadratic", by its distance in the order of
        conditions, which must be grades then.
    threshold
        Of two conditions, the last is called if its score is at least this; None: if the model puts it first.
    truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> CohenKappa().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]])).round(3)
    array([0.4])
    """

    id = "cohen-kappa"
    meaning = (
        "How much more often the model agrees with the label than by chance: 0 is chance, 1 is perfect. With weights, "
        "a near miss between grades counts in part."
    )

    weights: KappaWeights = "none"
    threshold: float | None = None
    truth: Truth = "top"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("weights", self.weights, get_args(KappaWeights))

    @property
    def short_name(self) -> str:  # type: ignore[override]
        """What it is called, whatever the threshold and the truth are."""
        return "Cohen's kappa" if self.weights == "none" else f"{self.weights} kappa"

    def formula(self, matrix: FloatArray) -> FloatArray:
        """Compare the distances with those of chance."""
        seen, chance, total = self._distances(matrix)
        return np.asarray(1 - np.divide(seen * total, chance, out=np.full(chance.shape, np.nan), where=chance > 0))

    def gradient(self, matrix: FloatArray) -> FloatArray:
        """Differentiate distances that are seen, and those of chance."""
        seen, chance, total = self._distances(matrix)
        costs = self._costs(len(matrix))
        by_chance = (costs @ matrix.sum(axis=0))[:, None] + matrix.sum(axis=1) @ costs
        return np.asarray(-(costs * total + seen) / chance + seen * total * by_chance / chance**2)

    def _distances(self, matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return distances that are seen, those of chance times the total, and the total."""
        costs = self._costs(matrix.shape[-1])
        chance = np.einsum("...i,ij,...j->...", matrix.sum(axis=-1), costs, matrix.sum(axis=-2))
        return (matrix * costs).sum(axis=(-2, -1)), np.asarray(chance), matrix.sum(axis=(-2, -1))

    def _costs(self, n_conditions: int) -> FloatArray:
        """Return how bad it is to call one condition another, shape (K, K)."""
        places = np.arange(n_conditions, dtype=np.float64)
        gaps = np.abs(places[:, None] - places)
        return gaps if self.weights == "linear" else gaps**2 if self.weights == "quadratic" else np.sign(gaps)


@dataclass(frozen=True)
class BalancedAccuracy(ConfusionMetric):
    """Share of cases that are called right, as the mean over the conditions that are the label of some.

    Of two conditions it is the mean of sensitivity and specificity.

    Parameters
    ----------
    threshold
        Of two conditions, the last is called if its score is at least this; None: if the model puts it first.
    truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> BalancedAccuracy().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]))
    array([0.75])
    """

    id = "balanced-accuracy"
    meaning = "The share of cases that are called right, on average over conditions, so that rare ones count as much."
    range = (0.0, 1.0)
    scale = "logit"

    short_name = "balanced accuracy"

    threshold: float | None = None
    truth: Truth = "top"

    def formula(self, matrix: FloatArray) -> FloatArray:
        """Average the diagonal over its rows."""
        totals = matrix.sum(axis=2)
        hits = np.diagonal(matrix, axis1=1, axis2=2)
        shares = np.divide(hits, totals, out=np.full(totals.shape, np.nan), where=totals > 0)
        means = averaged(shares.T, np.ones(shares.T.shape))
        return np.where((totals > 0).sum(axis=1) >= 2, means, np.nan)

    def gradient(self, matrix: FloatArray) -> FloatArray:
        """Differentiate the share of every row."""
        totals = matrix.sum(axis=1, keepdims=True)
        hits = np.diagonal(matrix)[:, None]
        own = np.divide(np.eye(len(matrix)) * totals - hits, totals**2, out=np.zeros(matrix.shape), where=totals > 0)
        return np.asarray(own / (totals > 0).sum())

    def size(self, matrix: FloatArray) -> float:
        """Count as of a mean over conditions, each of which has cases of its own."""
        totals = matrix.sum(axis=1)
        known = totals[totals > 0]
        return float(len(known) ** 2 / (1 / known).sum())


@dataclass(frozen=True)
class Matthews(ConfusionMetric):
    """Correlation of labels and calls, as the coefficient of Matthews; of several conditions, that of Gorodkin.

    Parameters
    ----------
    threshold
        Of two conditions, the last is called if its score is at least this; None: if the model puts it first.
    truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> Matthews().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]))
    array([0.5])
    """

    id = "matthews"
    meaning = "The correlation between what cases are and what they are called: 0 is chance, 1 is perfect."

    short_name = "Matthews correlation"

    threshold: float | None = None
    truth: Truth = "top"

    def formula(self, matrix: FloatArray) -> FloatArray:
        """Divide the covariance by both spreads."""
        shared, of_labels, of_calls = _moments(matrix)
        whole = matrix.sum(axis=(-2, -1)) ** 2
        is_known = (of_labels > 1e-13 * whole) & (of_calls > 1e-13 * whole)
        spreads = np.sqrt(np.where(is_known, of_labels * of_calls, 1.0))
        return np.where(is_known, np.clip(shared / spreads, -1.0, 1.0), np.nan)

    def gradient(self, matrix: FloatArray) -> FloatArray:
        """Differentiate covariance and spreads."""
        shared, of_labels, of_calls = _moments(matrix)
        labels, calls, total = matrix.sum(axis=1), matrix.sum(axis=0), matrix.sum()
        by_shared = np.eye(len(matrix)) * total + np.trace(matrix) - calls[:, None] - labels
        by_spreads = (total - labels)[:, None] / of_labels + (total - calls) / of_calls
        return np.asarray((by_shared - shared * by_spreads) / np.sqrt(of_labels * of_calls))


def _moments(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return covariance of labels and calls, and variances of labels and of calls, all times the squared total."""
    labels, calls, total = matrix.sum(axis=-1), matrix.sum(axis=-2), matrix.sum(axis=(-2, -1))
    hits = np.trace(matrix, axis1=-2, axis2=-1)
    return (
        np.asarray(hits * total - (labels * calls).sum(axis=-1)),
        np.asarray(total * total - (labels * labels).sum(axis=-1)),
        np.asarray(total * total - (calls * calls).sum(axis=-1)),
    )
