"""Metrics of numbers, where annotators give ratings and a model gives a number per case.

The truth of a draw is the mean of the ratings that a large panel would give (``truth="top"``), or a single one of them,
taken at random from their normal distribution (``truth="soft"``), of which metrics are the exact expectation.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import pi, sqrt
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_choice, check_fields
from dissensus.core.errors import DissensusError
from dissensus.metrics.base import Drawn, Metric, Predicted, Truth
from dissensus.metrics.data_set import STEP, DataSetMetric, Said

# The mean of differences, or one of the limits between which 95 % of them are if they are normal.
Limit: TypeAlias = Literal["mean", "lower", "upper"]

# Half the width of the limits of agreement, in standard deviations (Bland and Altman 1986).
Z = 1.96

# Variances below this part of the squared mean are those of numbers that are all the same.
LEAST_SPREAD = 1e-13


def default_number_metrics() -> tuple[Metric, ...]:
    """Return what numbers are judged by if nothing else is asked for.

    >>> [metric.name for metric in default_number_metrics()]
    ['mean absolute error', 'RMSE', 'correlation']
    """
    return (MeanAbsoluteError(), RMSE(), Correlation())


def number_labels(numbers: FloatArray, truth: Truth = "top") -> FloatArray:
    """Return the masses of draws of numbers: 1, y and y squared, shape (n_draws, 3, n_cases).

    Parameters
    ----------
    numbers : (n_cases, n_draws, 2)
        Mean and standard deviation of the ratings that a large panel would give.
    truth
        Whether y is that mean, or a single rating.

    Examples
    --------
    >>> number_labels(np.array([[[3.0, 2.0]]]), "soft")[0, :, 0]
    array([ 1.,  3., 13.])
    """
    mean, deviation = numbers[..., 0].T, numbers[..., 1].T
    square = mean**2 if truth == "top" else mean**2 + deviation**2
    return np.stack([np.ones_like(mean), mean, square], axis=1)


def expected_gap(gap: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the expected distance from zero of normal numbers with the mean ``gap``.

    >>> expected_gap(np.array([0.0, -3.0]), np.array([1.0, 0.0])).round(4)
    array([0.7979, 3.    ])
    """
    from scipy.special import erf

    gap, deviation = np.broadcast_arrays(np.abs(gap), deviation)
    scaled = np.divide(gap, deviation, out=np.full(gap.shape, np.inf), where=deviation > 0)
    return np.asarray(deviation * sqrt(2 / pi) * np.exp(-(scaled**2) / 2) + gap * erf(scaled / sqrt(2)))


# Case by case -------------------------------------------------------------------------------------------


class NumberMetric(Metric):
    """Compare numbers with the numbers of draws."""

    accepts = ("numbers",)
    higher_is_better = False
    range = (0.0, np.inf)

    @abstractmethod
    def of_numbers(self, said: Stated, mean: FloatArray, deviation: FloatArray) -> FloatArray:
        """Return the metric of every case and draw, shape (n_cases, n_draws).

        ``mean`` and ``deviation`` (n_cases, n_draws) are those of the ratings that a large panel would give.
        """

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the metric of every case and draw, shape (n_cases, n_draws)."""
        numbers = drawn.batch.numbers
        if numbers is None:
            raise DissensusError(
                f"{self.name} needs draws of numbers",
                got="draws of conditions only",
                advice="aggregate ratings by normal-inverse-gamma, mean-rating or median-rating",
            )
        deviations = predicted.predictions.deviations
        spread = np.zeros(len(predicted.rows)) if deviations is None else deviations[predicted.rows]
        said = Stated(predicted.predictions.numbers[predicted.rows][:, None], spread[:, None])
        return self.of_numbers(said, numbers[..., 0], numbers[..., 1])


class Stated(NamedTuple):
    """What a model says: numbers and standard deviations around them, zero where it is silent, twice (n_cases, 1)."""

    numbers: FloatArray
    deviations: FloatArray


@dataclass(frozen=True)
class TruthMetric(NumberMetric):
    """Compare numbers with what a large panel says on average, or with single ratings.

    Parameters
    ----------
    truth
        "top": the mean of the ratings that a large panel would give; "soft": one such rating, in expectation.
    """

    # What it is called, whatever the truth is.
    short_name: ClassVar[str]

    truth: Truth = "top"

    def __post_init__(self) -> None:
        check_fields(self)
        check_choice("truth", self.truth, get_args(Truth))

    @property
    def name(self) -> str:
        """What the metric is called."""
        return self.short_name if self.truth == "top" else f"{self.short_name} ({self.truth})"

    def of_numbers(self, said: Stated, mean: FloatArray, deviation: FloatArray) -> FloatArray:
        """Return the metric of every case and draw, shape (n_cases, n_draws)."""
        return self.of_truth(said, mean, np.zeros_like(deviation) if self.truth == "top" else deviation)

    @abstractmethod
    def of_truth(self, said: Stated, mean: FloatArray, deviation: FloatArray) -> FloatArray:
        """Return the expectation where the truth is normal around a mean."""


@dataclass(frozen=True)
class MeanAbsoluteError(TruthMetric):
    """Distance between the model's number and the truth.

    Examples
    --------
    >>> MeanAbsoluteError().name, MeanAbsoluteError("soft").name
    ('mean absolute error', 'mean absolute error (soft)')
    """

    id = "mean-absolute-error"
    meaning = "Distance between the model's number and what a large panel would say on average."
    short_name = "mean absolute error"

    def of_truth(self, said: Stated, mean: FloatArray, deviation: FloatArray) -> FloatArray:
        """Return the expected distance."""
        return expected_gap(said.numbers - mean, deviation)


@dataclass(frozen=True)
class CRPS(TruthMetric):
    """Continuous ranked probability score of a normal distribution around the model's number.

    A model that gives no standard deviations is sure of its numbers: the score is then the distance.

    Examples
    --------
    >>> CRPS().name
    'CRPS'
    """

    id = "crps"
    meaning = (
        "Distance between the model's distribution and the truth: a model that knows how sure it is has less of it."
    )
    short_name = "CRPS"

    def of_truth(self, said: Stated, mean: FloatArray, deviation: FloatArray) -> FloatArray:
        """Return the expected score: E|X - Y| - E|X - X'| / 2."""
        both = np.sqrt(said.deviations**2 + deviation**2)
        return np.asarray(expected_gap(said.numbers - mean, both) - said.deviations / sqrt(pi))


@dataclass(frozen=True)
class WassersteinNumbers(NumberMetric):
    """Distance between the model's normal distribution and that of the ratings of a large panel.

    Examples
    --------
    >>> WassersteinNumbers().name
    'Wasserstein distance'
    """

    id = "wasserstein-numbers"
    meaning = "How far probability must be moved to turn the model's distribution into that of a large panel's ratings."

    name = "Wasserstein distance"

    def of_numbers(self, said: Stated, mean: FloatArray, deviation: FloatArray) -> FloatArray:
        """Return the expected distance of equal quantiles."""
        return expected_gap(said.numbers - mean, np.abs(said.deviations - deviation))


# All cases at once --------------------------------------------------------------------------------------


class JointMoments(NamedTuple):
    """Hold moments of what a model says, x, and of the truth, y; arrays of any shape.

    Attributes
    ----------
    mean_x, mean_y, var_x, var_y, cov
        Means, variances and the covariance, all by mass.
    """

    mean_x: FloatArray
    mean_y: FloatArray
    var_x: FloatArray
    var_y: FloatArray
    cov: FloatArray

    @staticmethod
    def of(x: FloatArray, labels: FloatArray, weights: FloatArray) -> JointMoments:
        """Find the moments of all cases; labels (..., 3, n_cases) are 1, y and y squared."""
        ones, y, squares = (labels[..., row, :] for row in range(3))
        total = ones @ weights
        with np.errstate(divide="ignore", invalid="ignore"):
            mean_x, mean_y = ones @ (weights * x) / total, y @ weights / total
            gaps = x - mean_x[..., None]
            var_x = (ones * gaps**2) @ weights / total
            cov = (y * gaps) @ weights / total
            var_y = squares @ weights / total - mean_y**2
        return JointMoments(mean_x, mean_y, var_x, np.maximum(var_y, 0.0), cov)

    @property
    def difference(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of x - y."""
        return self.mean_x - self.mean_y, self.var_x + self.var_y - 2 * self.cov

    def slopes(self, x: FloatArray, total: float, gradient: FloatArray) -> FloatArray:
        """Turn derivatives by the moments, in their order, into derivatives by every mass, shape (3, n_cases)."""
        gap, mean = x - self.mean_x, float(self.mean_y)
        flat, none = np.ones_like(x), np.zeros_like(x)
        squares = (gap**2 - self.var_x, (mean**2 - self.var_y) * flat, -self.cov - mean * gap)
        by_one = np.stack([gap, -mean * flat, *squares])
        by_y = np.stack([none, flat, none, -2 * mean * flat, gap])
        return np.stack([gradient @ by_one, gradient @ by_y, np.full_like(x, gradient[3])]) / total


class MomentMetric(DataSetMetric):
    """Compare the numbers of all cases with the truth of a draw, by means, variances and the covariance."""

    accepts = ("numbers",)

    @abstractmethod
    def of_moments(self, found: JointMoments) -> FloatArray:
        """Return the metric; nan where it is undefined."""

    def of_draws(self, said: Said, labels: FloatArray) -> FloatArray:
        """Return the metric of every draw, shape (n_draws,); nan where it is undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.of_moments(JointMoments.of(said.scores[:, 0], labels, said.weights))
        return np.clip(values, *self.range)  # but for rounding

    def slopes(self, said: Said, labels: FloatArray) -> FloatArray:
        """Return the derivative of the metric by every mass, shape (3, n_cases); nan where it is undefined."""
        x, total = said.scores[:, 0], float(labels[0] @ said.weights)
        found = JointMoments.of(x, labels, said.weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            if not total or np.isnan(self.of_moments(found)):
                return np.full(labels.shape, np.nan)
            steps = JointMoments(*(np.array(found)[:, None] + 1j * STEP * np.eye(5)))
            gradient = np.imag(self.of_moments(steps)) / STEP
        return found.slopes(x, total, gradient)

    def counted(self, said: Said, labels: FloatArray) -> float:
        """Return on how many cases the metric rests: all, by their weights."""
        return float((labels[0] * said.weights).sum())


@dataclass(frozen=True)
class TruthMoments(MomentMetric):
    """Compare the numbers of all cases with what a large panel says on average, or with single ratings.

    Parameters
    ----------
    truth
        "top": the mean of the ratings that a large panel would give; "soft": one such rating, in expectation.
    """

    truth: Truth = "top"


@dataclass(frozen=True)
class RMSE(TruthMoments):
    """Root mean squared error over all cases.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[1.0], [2.0]]))
    >>> RMSE().of_draws(said, number_labels(np.array([[[1.0, 0.0]], [[4.0, 0.0]]])))
    array([1.41421356])
    """

    id = "rmse"
    meaning = (
        "Root of the mean squared distance between the model's numbers and what a large panel would say on average."
    )
    higher_is_better = False
    range = (0.0, np.inf)
    scale = "log"
    short_name = "RMSE"

    def of_moments(self, found: JointMoments) -> FloatArray:
        """Return the root of squared mean and variance of differences."""
        mean, variance = found.difference
        return _root(mean**2 + variance)


@dataclass(frozen=True)
class Correlation(TruthMoments):
    """Pearson correlation between the model's numbers and the truth; undefined where either is the same on all cases.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[1.0], [2.0], [3.0]]))
    >>> Correlation().of_draws(said, number_labels(np.array([[[1.0, 0.0]], [[5.0, 0.0]], [[9.0, 0.0]]])))
    array([1.])
    """

    id = "correlation"
    meaning = "Correlation between the model's numbers and what a large panel would say on average."
    range = (-1.0, 1.0)
    short_name = "correlation"

    def of_moments(self, found: JointMoments) -> FloatArray:
        """Return the covariance over the root of both variances."""
        value = found.cov / np.sqrt(found.var_x * found.var_y)
        return np.where(_varies(found.var_x, found.mean_x) & _varies(found.var_y, found.mean_y), value, np.nan)


@dataclass(frozen=True)
class ConcordanceCorrelation(TruthMoments):
    """Concordance correlation of Lin (1989): correlation that shifts and other scales lower.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[1.0], [2.0], [3.0]]))
    >>> ConcordanceCorrelation().of_draws(said, number_labels(np.array([[[2.0, 0.0]], [[3.0, 0.0]], [[4.0, 0.0]]])))
    array([0.57142857])
    """

    id = "concordance-correlation"
    meaning = (
        "Correlation with what a large panel would say on average, less where the model's numbers lie apart from it."
    )
    range = (-1.0, 1.0)
    short_name = "concordance correlation"

    def of_moments(self, found: JointMoments) -> FloatArray:
        """Return twice the covariance over the sum of variances and the squared difference of means."""
        value = 2 * found.cov / (found.var_x + found.var_y + found.difference[0] ** 2)
        return np.where(_varies(found.var_x, found.mean_x) | _varies(found.var_y, found.mean_y), value, np.nan)


@dataclass(frozen=True)
class BlandAltman(MomentMetric):
    """Mean difference between the model and the truth, or a limit of agreement: 1.96 standard deviations from it.

    Parameters
    ----------
    limit
        "mean", "lower" or "upper". The standard deviation is that of the cases at hand, divided by their number.
    truth
        "top": the mean of the ratings that a large panel would give; "soft": one such rating, in expectation.

    Examples
    --------
    >>> BlandAltman().name, BlandAltman("upper").name
    ('mean difference', 'upper limit of agreement')
    """

    id = "bland-altman"
    meaning = "How far the model's numbers are above what a large panel would say on average, zero being best."
    higher_is_better = False
    range = (-np.inf, np.inf)

    limit: Limit = "mean"
    truth: Truth = "top"

    def goodness(self, values: FloatArray) -> FloatArray:
        """Return minus the distance from zero, which is best.

        >>> BlandAltman().goodness(np.array([-0.5, 0.25]))
        array([-0.5 , -0.25])
        """
        return -np.abs(values)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("limit", self.limit, get_args(Limit))

    @property
    def short_name(self) -> str:  # type: ignore[override]
        """What it is called, whatever the truth is."""
        return "mean difference" if self.limit == "mean" else f"{self.limit} limit of agreement"

    def of_moments(self, found: JointMoments) -> FloatArray:
        """Return the mean difference, and so many standard deviations above or below it."""
        mean, variance = found.difference
        return np.asarray(mean + {"mean": 0.0, "lower": -Z, "upper": Z}[self.limit] * _root(variance))


def _varies(variance: FloatArray, mean: FloatArray) -> Any:
    return np.real(variance) > LEAST_SPREAD * np.real(mean) ** 2


def _root(squares: FloatArray) -> FloatArray:
    """Take the root; what rounding leaves below zero is zero, and flat."""
    return np.asarray(np.sqrt(np.where(np.real(squares) > 0, squares, 0.0)))
