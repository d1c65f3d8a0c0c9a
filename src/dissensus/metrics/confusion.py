"""Metrics of the matrix that says how much of which label was called what, for two conditions or more."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.checks import check_choice
from dissensus.core.errors import DissensusError
from dissensus.metrics.base import Truth
from dissensus.metrics.data_set import STEP, DataSetMetric, Said, at_threshold, averaged, few
from dissensus.predictions.lists import Predictions

# How bad a wrong grade is: all the same, by its distance, or by the square of it.
KappaWeights: TypeAlias = Literal["none", "linear", "quadratic"]


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
    def formula(self, hits: Any, labels: Any, calls: Any, distance: Any) -> Any:
        """Return the metric of matrices; not finite where it is undefined.

        Parameters
        ----------
        hits, labels, calls : (n_draws, K)
            The diagonal of every matrix, and the sums of its rows and of its columns.
        distance : (n_draws,)
            How far calls are from labels, in all; see :meth:`costs`.
        """

    def costs(self, n_conditions: int) -> FloatArray:
        """Return how bad it is to call one condition another, shape (K, K)."""
        return 1.0 - np.eye(n_conditions)

    def _of_matrices(self, matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the metric of matrices (n_draws, K, K), nan where it is undefined, and the sums that it is of."""
        k = matrix.shape[-1]
        distance = (matrix * self.costs(k)).sum(axis=(1, 2))[:, None]
        sums = np.hstack([np.diagonal(matrix, axis1=1, axis2=2), matrix.sum(axis=2), matrix.sum(axis=1), distance])
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.asarray(self.formula(*_split(sums, k)))
        return np.where(np.isfinite(values), np.clip(values, *self.range), np.nan), sums

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
        values = np.stack([self._of_matrices(matrix)[0] for _, matrix in self._matrices(said, labels)])
        return averaged(values, np.ones(values.shape))

    def slopes(self, said: Said, labels: FloatArray) -> FloatArray:
        """Return the derivative of the metric by every mass, shape (K, n_cases)."""
        calls, found = decisions(said, self.threshold), np.zeros(labels.shape)
        k, n_known = len(labels), 0
        for rows, matrix in self._matrices(said, labels[None]):
            value, sums = self._of_matrices(matrix)
            if not np.isnan(value[0]):
                with np.errstate(divide="ignore", invalid="ignore"):
                    steps = np.imag(self.formula(*_split(sums + 1j * STEP * np.eye(3 * k + 1), k))) / STEP
                by_hits, by_labels, by_calls, by_distance = _split(steps, k)
                gradient = np.diag(by_hits) + by_labels[:, None] + by_calls + by_distance * self.costs(k)
                found[:, rows] = gradient @ calls[rows].T
                n_known += 1
        return found / n_known if n_known else np.full(labels.shape, np.nan)

    def counted(self, said: Said, labels: FloatArray) -> float:
        """Return on how many cases the metric rests: of a mean over findings, on more than each of them."""
        matrices = [matrix for _, matrix in self._matrices(said, labels[None])]
        sizes = [self.size(one[0]) for one in matrices if not np.isnan(self._of_matrices(one)[0][0])]
        return len(sizes) ** 2 / sum(1 / size for size in sizes) if sizes else 0.0

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

    def formula(self, hits: Any, labels: Any, calls: Any, distance: Any) -> Any:  # noqa: ARG002
        """Compare the distances with those of chance."""
        chance = ((labels @ self.costs(labels.shape[-1])) * calls).sum(axis=-1)
        return 1 - distance * labels.sum(axis=-1) / chance

    def costs(self, n_conditions: int) -> FloatArray:
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

    def formula(self, hits: Any, labels: Any, calls: Any, distance: Any) -> Any:  # noqa: ARG002
        """Average the diagonal over its rows."""
        is_known = np.real(labels) > 0
        shares, n_known = hits / np.where(is_known, labels, 1.0), is_known.sum(axis=-1)
        return np.where(n_known >= 2, (shares * is_known).sum(axis=-1) / n_known, np.nan)

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

    def formula(self, hits: Any, labels: Any, calls: Any, distance: Any) -> Any:  # noqa: ARG002
        """Divide the covariance by both spreads, all times the squared total."""
        total = labels.sum(axis=-1)
        shared = hits.sum(axis=-1) * total - (labels * calls).sum(axis=-1)
        of_labels, of_calls = (total * total - (sums * sums).sum(axis=-1) for sums in (labels, calls))
        is_known = (np.real(of_labels) > 1e-13 * np.real(total) ** 2) & (
            np.real(of_calls) > 1e-13 * np.real(total) ** 2
        )
        return np.where(is_known, shared / np.sqrt(np.where(is_known, of_labels * of_calls, 1.0)), np.nan)


def _split(sums: Any, k: int) -> tuple[Any, Any, Any, Any]:
    """Tell hits, labels, calls and the distance apart."""
    return sums[..., :k], sums[..., k : 2 * k], sums[..., 2 * k : 3 * k], sums[..., -1]


@dataclass(frozen=True)
class SubsetAccuracy(DataSetMetric):
    """Share of cases of which all findings are right; where there is one question, of cases that are called right.

    Findings that were not assessed do not count. With ``truth="soft"``, and where conditions are tied, it is the
    product over the findings, as if they were independent.

    Parameters
    ----------
    threshold
        A finding is called present if its score is at least this; None: if the model puts it first.
    truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> SubsetAccuracy().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]])).round(3)
    array([0.667])
    """

    id = "subset-accuracy"
    meaning = "The share of cases of which the model calls every finding right."
    accepts = ("scores", "ranking")
    scale = "logit"
    short_name = "subset accuracy"

    threshold: float | None = None
    truth: Truth = "top"

    def of_draws(self, said: Said, labels: FloatArray) -> FloatArray:
        """Return the share of cases that are right, weighted."""
        parts = self._parts(said, labels)
        total, right = parts.weights.sum(axis=1), (parts.weights * parts.right).sum(axis=1)
        return np.asarray(np.divide(right, total, out=np.full(total.shape, np.nan), where=total > 0))

    def slopes(self, said: Said, labels: FloatArray) -> FloatArray:
        """Differentiate the weight of each case and the share of each finding that is right."""
        parts = self._parts(said, labels[None])
        item, total = parts.item, float(parts.weights.sum())
        if not total:
            return np.full(labels.shape, np.nan)
        value = float((parts.weights * parts.right).sum() / total)
        masses, shares = parts.masses[0], parts.shares[0]
        counts = np.maximum(np.bincount(item, masses > 0), 1)
        by_weight = ((parts.right[0] - value) / counts)[item]
        others = _products_of_others(shares, item)
        calls = decisions(said, self.threshold).T
        by_share = (parts.weights[0][item] * others / np.where(masses > 0, masses, 1.0)) * (calls - shares)
        return np.where(masses > 0, by_weight + by_share, 0.0) / total

    def counted(self, said: Said, labels: FloatArray) -> float:
        """Count all cases."""
        return float(self._parts(said, labels[None]).weights.sum())

    def _parts(self, said: Said, labels: FloatArray) -> _Parts:
        """Find how much of each row is right (n_draws, n), then of each case (n_draws, n_items)."""
        total, hits = labels.sum(axis=1), np.zeros((len(labels), said.n_cases))
        for k, calls in enumerate(decisions(said, self.threshold).T):
            hits += labels[:, k] * calls
        is_known = (total > 0) & (said.weights > 0)
        shares = np.divide(hits, total, out=np.ones_like(total), where=is_known)
        masses = total * said.weights
        item = _in_order_of_rows(said.items)
        if item.max(initial=0) + 1 == said.n_cases:  # one question: nothing to multiply
            return _Parts(item, masses, shares, shares, masses)
        order = np.argsort(item, kind="stable")
        begins = np.flatnonzero(np.diff(item[order], prepend=-1))
        right = np.multiply.reduceat(shares[:, order], begins, axis=1)
        counts = np.add.reduceat(is_known[:, order].astype(np.float64), begins, axis=1)
        weights = np.add.reduceat(masses[:, order], begins, axis=1) / np.maximum(counts, 1)
        return _Parts(item, masses, shares, right, weights)


class _Parts(NamedTuple):
    """Masses and right shares of rows (n_draws, n), and right shares and weights of cases (n_draws, n_items)."""

    item: IntArray
    masses: FloatArray
    shares: FloatArray
    right: FloatArray
    weights: FloatArray


def _in_order_of_rows(items: IntArray) -> IntArray:
    """Give cases numbers as they first occur (n,), so that sums over them follow the order of rows, not of names.

    >>> _in_order_of_rows(np.array([7, 2, 7, 5]))
    array([0, 1, 0, 2])
    """
    _, first, inverse = np.unique(items, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse])


def _products_of_others(shares: FloatArray, item: IntArray) -> FloatArray:
    """Multiply the shares of all other rows of a case (n,); where one is zero, nothing can be divided by it.

    >>> _products_of_others(np.array([0.5, 0.0, 0.25]), np.array([0, 0, 1]))
    array([0. , 0.5, 1. ])
    """
    is_zero = shares == 0
    zeros = np.bincount(item, is_zero)[item] - is_zero
    logs = np.log(np.where(is_zero, 1.0, shares))
    sums = np.bincount(item, logs)[item] - logs
    return np.where(zeros > 0, 0.0, np.exp(sums))
