"""Metrics of numbers, where annotators give ratings and a model gives a number per case.

The truth of a draw is the mean of the ratings that a large panel would give (``truth="top"``), or a single one of them,
taken at random from their normal distribution (``truth="soft"``), of which metrics are the exact expectation.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import pi, sqrt
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from dissensus.core.arrays import FloatArray
from dissensus.core.errors import DissensusError
from dissensus.metrics.base import Drawn, Metric, Predicted, Truth, one_of
from dissensus.metrics.data_set import Part, Question, QuestionMetric, Said

# The mean of differences, or one of the limits between which 95 % of them are if they are normal.
Limit: TypeAlias = Literal["mean", "lower", "upper"]

# Half the width of the limits of agreement, in standard deviations (Bland and Altman 1986).
Z = 1.96

# Variances below this part of the squared mean are those of numbers that are all the same.
LEAST_SPREAD = 1e-13


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
    def of_numbers(self, x: FloatArray, spread: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
        """Return the expected metric of every case and draw, shape (n_cases, n_draws).

        Parameters
        ----------
        x, spread : (n_cases, 1)
            Numbers of the model, and standard deviations around them, zero where it is silent.
        mean, deviation : (n_cases, n_draws)
            Of the truth, which is normal around a mean: a rating of a large panel, or, without deviation, their mean.
        """

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the metric of every case and draw, shape (n_cases, n_draws)."""
        numbers = drawn.batch.numbers
        if numbers is None:
            advice = "aggregate ratings by normal-inverse-gamma, mean-rating or median-rating"
            raise DissensusError(f"{self.name} needs draws of numbers", got="draws of conditions only", advice=advice)
        said, rows, (mean, deviation) = predicted.predictions, predicted.rows, np.moveaxis(numbers, -1, 0)
        spread = np.zeros(len(rows)) if said.deviations is None else said.deviations[rows]
        known = deviation if getattr(self, "truth", "soft") == "soft" else np.zeros_like(deviation)
        return self.of_numbers(said.numbers[rows][:, None], spread[:, None], mean, known)


@dataclass(frozen=True)
class MeanAbsoluteError(NumberMetric):
    """Distance between the model's number and the truth.

    Parameters
    ----------
    truth
        "top": the mean of the ratings that a large panel would give; "soft": one such rating, in expectation.

    Examples
    --------
    >>> MeanAbsoluteError().name, MeanAbsoluteError("soft").name
    ('mean absolute error', 'mean absolute error (soft)')
    """

    id = "mean-absolute-error"
    aliases = ("mae",)
    meaning = "Distance between the model's number and what a large panel would say on average."

    truth: Truth = "top"

    def of_numbers(self, x: FloatArray, spread: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:  # noqa: ARG002
        """Return the expected distance."""
        return expected_gap(x - mean, deviation)


@dataclass(frozen=True)
class CRPS(NumberMetric):
    """Continuous ranked probability score of a normal distribution around the model's number.

    A model that gives no standard deviations is sure of its numbers: the score is then the distance.

    Parameters
    ----------
    truth
        "top": the mean of the ratings that a large panel would give; "soft": one such rating, in expectation.

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

    truth: Truth = "top"

    def of_numbers(self, x: FloatArray, spread: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
        """Return the expected score: E|X - Y| - E|X - X'| / 2."""
        return np.asarray(expected_gap(x - mean, np.hypot(spread, deviation)) - spread / sqrt(pi))


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

    short_name = "Wasserstein distance"

    def of_numbers(self, x: FloatArray, spread: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
        """Return the expected distance of equal quantiles."""
        return expected_gap(x - mean, np.abs(spread - deviation))


# All cases at once --------------------------------------------------------------------------------------


class JointMoments(NamedTuple):
    """Hold moments of what a model says, x, and of the truth, y; arrays of any shape.

    Attributes
    ----------
    mean_x, mean_y, var_x, var_y, cov
        Means, variances and the covariance, all by mass.
    """

    mean_x: Any
    mean_y: Any
    var_x: Any
    var_y: Any
    cov: Any

    @property
    def difference(self) -> tuple[Any, Any]:
        """Mean and variance of x - y."""
        return self.mean_x - self.mean_y, self.var_x + self.var_y - 2 * self.cov


class MomentMetric(QuestionMetric):
    """Compare the numbers of all cases with the truth of a draw, by means, variances and the covariance."""

    accepts = ("numbers",)

    @abstractmethod
    def of_moments(self, found: JointMoments) -> Any:
        """Return the metric; nan where it is undefined."""

    def parts(self, said: Said, labels: FloatArray) -> list[Part]:
        """Take all cases; masses are 1, y and y squared."""
        asked, x = Question(np.arange(said.n_cases), -1), said.scores[:, 0]
        return [Part(x, said.weighted(labels, asked.rows), (asked,), said.marks[0] if said.marks else x)]

    def columns(self, part: Part) -> FloatArray:
        """Add up masses, x, the gap of x from a number amid all of them and its square, y, y times gap, y squared.

        That number is amid those of all cases: sums of small numbers lose no digits.
        """
        x, marks, nothing = part.stated, part.marks[np.isfinite(part.marks)], np.zeros_like(part.stated)
        flat, gaps = np.ones_like(x), x - (marks.mean() if len(marks) else 0.0)
        of_x, of_y = [flat, x, gaps, gaps**2], [flat, gaps]
        return np.stack([[*of_x, *[nothing] * 3], [*[nothing] * 4, *of_y, nothing], [*[nothing] * 6, flat]])

    def of_sums(self, sums: Any) -> Any:
        """Apply the formula to moments."""
        total, x, gap, gap_square, y, y_gap, square = sums.T
        mean_y, off = y / total, gap / total  # off: how far the mean of x is from the number amid
        var_x, var_y = gap_square / total - off**2, square / total - mean_y**2
        var_x, var_y = (np.where(np.real(one) > 0, one, 0.0) for one in (var_x, var_y))
        return self.of_moments(JointMoments(x / total, mean_y, var_x, var_y, y_gap / total - mean_y * off))

    def size(self, sums: FloatArray) -> float:
        """Count all cases, by their weights."""
        return float(sums[0, 0])


@dataclass(frozen=True)
class RMSE(MomentMetric):
    """Root mean squared error over all cases.

    Parameters
    ----------
    truth
        "top": the mean of the ratings that a large panel would give; "soft": one such rating, in expectation.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[1.0], [2.0]]))
    >>> RMSE().of_draws(said, np.array([[[1.0, 1.0], [1.0, 4.0], [1.0, 16.0]]]))
    array([1.41421356])
    """

    id = "rmse"
    aliases = ("root mean squared error",)
    meaning = (
        "Root of the mean squared distance between the model's numbers and what a large panel would say on average."
    )
    higher_is_better = False
    range = (0.0, np.inf)
    scale = "log"
    short_name = "RMSE"

    truth: Truth = "top"

    def of_moments(self, found: JointMoments) -> Any:
        """Return the root of squared mean and variance of differences."""
        mean, variance = found.difference
        return _root(mean**2 + variance)


@dataclass(frozen=True)
class Correlation(MomentMetric):
    """Pearson correlation between the model's numbers and the truth; undefined where either is the same on all cases.

    Parameters
    ----------
    truth
        "top": the mean of the ratings that a large panel would give; "soft": one such rating, in expectation.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[1.0], [2.0], [3.0]]))
    >>> Correlation().of_draws(said, np.array([[[1.0] * 3, [1.0, 5.0, 9.0], [1.0, 25.0, 81.0]]]))
    array([1.])
    """

    id = "correlation"
    aliases = ("pearson",)
    meaning = "Correlation between the model's numbers and what a large panel would say on average."
    range = (-1.0, 1.0)

    truth: Truth = "top"

    def of_moments(self, found: JointMoments) -> Any:
        """Return the covariance over the root of both variances."""
        value = found.cov / np.sqrt(found.var_x * found.var_y)
        return np.where(_varies(found.var_x, found.mean_x) & _varies(found.var_y, found.mean_y), value, np.nan)


@dataclass(frozen=True)
class ConcordanceCorrelation(MomentMetric):
    """Concordance correlation of Lin (1989): correlation that shifts and other scales lower.

    Parameters
    ----------
    truth
        "top": the mean of the ratings that a large panel would give; "soft": one such rating, in expectation.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[1.0], [2.0], [3.0]]))
    >>> ConcordanceCorrelation().of_draws(said, np.array([[[1.0] * 3, [2.0, 3.0, 4.0], [4.0, 9.0, 16.0]]]))
    array([0.57142857])
    """

    id = "concordance-correlation"
    aliases = ("ccc",)
    meaning = (
        "Correlation with what a large panel would say on average, less where the model's numbers lie apart from it."
    )
    range = (-1.0, 1.0)

    truth: Truth = "top"

    def of_moments(self, found: JointMoments) -> Any:
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
    aliases = ("bias",)
    meaning = "How far the model's numbers are above what a large panel would say on average, zero being best."
    higher_is_better = False
    range = (-np.inf, np.inf)
    checks = (("limit", one_of(Limit)),)
    short_name = "mean difference"
    unusual_names = (("limit", "{limit} limit of agreement"),)

    limit: Limit = "mean"
    truth: Truth = "top"

    def goodness(self, values: FloatArray) -> FloatArray:
        """Return minus the distance from zero, which is best.

        >>> BlandAltman().goodness(np.array([-0.5, 0.25]))
        array([-0.5 , -0.25])
        """
        return -np.abs(values)

    def of_moments(self, found: JointMoments) -> Any:
        """Return the mean difference, and so many standard deviations above or below it."""
        mean, variance = found.difference
        return np.asarray(mean + {"mean": 0.0, "lower": -Z, "upper": Z}[self.limit] * _root(variance))


def _varies(variance: FloatArray, mean: FloatArray) -> Any:
    return np.real(variance) > LEAST_SPREAD * np.real(mean) ** 2


def _root(squares: FloatArray) -> FloatArray:
    """Take the root; what rounding leaves below zero is zero, and flat."""
    return np.asarray(np.sqrt(np.where(np.real(squares) > 0, squares, 0.0)))
