"""Whether probabilities are what they say: cases in bins of probability, and how much of each bin is positive."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.checks import check_count
from dissensus.core.errors import DissensusError
from dissensus.metrics.base import Average, Truth
from dissensus.metrics.data_set import STEP, BinaryMetric, Question, Said
from dissensus.metrics.decisions import probabilities_of

# More would hold hardly a case each.
MOST_BINS = 1000


def bin_of(probabilities: FloatArray, bins: int) -> IntArray:
    """Return the bin of equal width that each probability is in, shape (m,); a bin includes its upper end.

    >>> bin_of(np.array([0.0, 0.1, 0.11, 1.0]), 10)
    array([0, 0, 1, 9])
    """
    return np.searchsorted(np.linspace(0.0, 1.0, bins + 1)[1:-1], probabilities).astype(np.int64)


class BinSums(NamedTuple):
    """Sums over the cases of each bin, each (..., bins).

    Attributes
    ----------
    mass, scores, positive
        Mass, mass times probability, and positive mass.
    positive_squares, products, mass_squares
        Squares of positive mass, its products with mass, and squares of mass.
    """

    mass: Any
    scores: Any
    positive: Any
    positive_squares: Any
    products: Any
    mass_squares: Any


def bin_sums(stated: FloatArray, positive: FloatArray, negative: FloatArray, bins: int) -> BinSums:
    """Add up the cases of each bin; probabilities are (m,), masses (n_draws, m).

    >>> sums = bin_sums(np.array([0.2, 0.3, 0.9]), np.array([[1.0, 0.0, 1.0]]), np.array([[0.0, 1.0, 0.0]]), 2)
    >>> sums.mass, sums.positive
    (array([[2., 1.]]), array([[1., 1.]]))
    """
    from dissensus.kernels.label_sums import binned_sums

    return BinSums(*binned_sums(bin_of(stated, bins), bins, stated, positive, negative))


class BinnedMetric(BinaryMetric):
    """Judge probabilities by a formula of sums over bins."""

    accepts = ("scores",)
    takes_probabilities = True
    curves = ("reliability",)
    bins: int

    @property
    def is_share(self) -> bool:
        """Whether differences are percentage points: distances are not shares of cases."""
        return False

    @abstractmethod
    def formula(self, sums: BinSums) -> Any:
        """Return the metric of sums (..., bins); plain arithmetic, since it is called with complex numbers as well."""

    # What it is called, whatever the bins, the average and the truth are.
    plain_name: ClassVar[str]

    @property
    def short_name(self) -> str:  # type: ignore[override]
        """What it is called, whatever the average and the truth are."""
        return self.plain_name if self.bins == 10 else f"{self.plain_name}, {self.bins} bins"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(bins=self.bins)
        if self.bins > MOST_BINS:
            raise DissensusError("there are too many bins", expected=f"at most {MOST_BINS}", got=str(self.bins))

    def stated(self, said: Said, question: Question) -> FloatArray:
        """Return the probabilities of the condition that is asked about."""
        return probabilities_of(said, question)

    def of_masses(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Add up the bins and apply the formula."""
        sums = bin_sums(stated, positive, negative, self.bins)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.asarray(self.formula(sums))
        low, high = self.range  # but for rounding and for what a correction of bias overdoes
        return np.where(sums.mass.sum(axis=1) > 0, np.clip(values, low, high), np.nan)

    def mass_slopes(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Follow the formula into the imaginary numbers, one sum at a time."""
        sums = np.stack(bin_sums(stated, positive[None], negative[None], self.bins))[:, 0]
        steps = 1j * STEP * np.eye(sums.size).reshape(sums.size, *sums.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.imag(self.formula(BinSums(*np.moveaxis(sums + steps, 1, 0)))) / STEP
        by_mass, by_score, by_yes, by_square, by_product, by_mass_square = found.reshape(sums.shape)[
            :, bin_of(stated, self.bins)
        ]
        mass = positive + negative
        both = by_mass + by_score * stated + by_product * positive + 2 * by_mass_square * mass
        return np.stack([both, both + by_yes + 2 * by_square * positive + by_product * mass])

    def mass_counted(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> float:  # noqa: ARG002
        """Count all cases."""
        return float(positive.sum() + negative.sum())


@dataclass(frozen=True)
class PartOfBrier(BinnedMetric):
    """One of the parts that the Brier score of binned probabilities is made of.

    Parameters
    ----------
    bins
        Number of bins of equal width.
    average, truth
        As of :class:`AUROC`.
    """

    bins: int = 10
    average: Average = "macro"
    truth: Truth = "top"


def _known(mass: Any) -> Any:
    """Return the mass of each bin, and 1 where it is empty, so that nothing is divided by zero."""
    return np.where(np.real(mass) == 0, 1.0, mass)


@dataclass(frozen=True)
class CalibrationError(BinnedMetric):
    """Mean distance between the probability of a bin of cases and how much of it is positive.

    A finite number of cases is off by chance even if probabilities are right. The debiased form takes off what chance
    adds: the expected size of each gap if the share of positive cases varied as a normal distribution, as Kumar, Liang
    and Ma (2019, Verified Uncertainty Calibration) do with random numbers, here in closed form. It is at least 0.

    Parameters
    ----------
    bins
        Number of bins of equal width.
    debiased
        Whether to take off what chance adds.
    average, truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> CalibrationError().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]])).round(3)
    array([0.333])
    """

    id = "calibration-error"
    meaning = (
        "How far the model's probabilities are from the share of positive cases among those with about the same "
        "probability, on average; 0 is perfect."
    )
    higher_is_better = False

    bins: int = 10
    debiased: bool = False
    average: Average = "macro"
    truth: Truth = "top"

    @property
    def plain_name(self) -> str:  # type: ignore[override]
        """What it is called, whatever the bins, the average and the truth are."""
        return "debiased calibration error" if self.debiased else "calibration error"

    def formula(self, sums: BinSums) -> Any:
        """Weigh the gaps of all bins by their mass."""
        mass = _known(sums.mass)
        gaps = (sums.scores - sums.positive) / mass
        sizes = gaps * np.where(np.real(gaps) < 0, -1.0, 1.0)
        if self.debiased:
            share = sums.positive / mass
            variance = sums.positive_squares - 2 * share * sums.products + share * share * sums.mass_squares
            sizes = 2 * sizes - _mean_size(sizes, variance / (mass * mass))
        return (sums.mass * sizes).sum(axis=-1) / sums.mass.sum(axis=-1)


def _mean_size(mean: Any, variance: Any) -> Any:
    """Return the expected distance from zero of a normal variable whose mean is not negative."""
    from scipy.special import erf

    is_spread = np.real(variance) > 1e-15
    spread = np.sqrt(np.where(is_spread, variance, 1.0))
    found = spread * np.sqrt(2 / np.pi) * np.exp(-((mean / spread) ** 2) / 2) + mean * erf(mean / spread / np.sqrt(2))
    return np.where(is_spread, found, mean)


@dataclass(frozen=True)
class BrierReliability(PartOfBrier):
    """Squared distance between the probability of a bin of cases and how much of it is positive.

    The first part of the Brier score of binned probabilities (Murphy, 1973), which is reliability less resolution plus
    uncertainty, where the score is the squared distance from the positive condition alone.

    Parameters
    ----------
    bins
        Number of bins of equal width.
    average, truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> BrierReliability().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]])).round(3)
    array([0.153])
    """

    id = "brier-reliability"
    meaning = "The part of the Brier score that is due to probabilities which are not what they say; 0 is perfect."
    higher_is_better = False
    plain_name = "Brier reliability"

    def formula(self, sums: BinSums) -> Any:
        """Weigh the squared gaps of all bins by their mass."""
        return ((sums.scores - sums.positive) ** 2 / _known(sums.mass)).sum(axis=-1) / sums.mass.sum(axis=-1)


@dataclass(frozen=True)
class BrierResolution(PartOfBrier):
    """Squared distance between how much of a bin is positive and how much of all cases is; the more the better.

    The second part of the Brier score of binned probabilities; see :class:`BrierReliability`.

    Parameters
    ----------
    bins
        Number of bins of equal width.
    average, truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> BrierResolution().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]])).round(3)
    array([0.222])
    """

    id = "brier-resolution"
    meaning = "The part of the Brier score by which telling cases apart improves it; 0 if all cases look the same."
    plain_name = "Brier resolution"

    def formula(self, sums: BinSums) -> Any:
        """Compare the share of each bin with that of all."""
        total, positive = sums.mass.sum(axis=-1), sums.positive.sum(axis=-1)
        return (sums.positive**2 / _known(sums.mass)).sum(axis=-1) / total - (positive / total) ** 2


@dataclass(frozen=True)
class BrierUncertainty(PartOfBrier):
    """Variance of the label: what the Brier score is if every case is given the share of positive ones.

    The third part of the Brier score; see :class:`BrierReliability`. It is the same for all models.

    Parameters
    ----------
    bins
        Number of bins of equal width, which do not matter here.
    average, truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> BrierUncertainty().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]])).round(3)
    array([0.222])
    """

    id = "brier-uncertainty"
    meaning = "The part of the Brier score that is due to the cases, whatever the model: the variance of the label."
    higher_is_better = False
    plain_name = "Brier uncertainty"

    def formula(self, sums: BinSums) -> Any:
        """Multiply the shares of positive and negative cases."""
        share = sums.positive.sum(axis=-1) / sums.mass.sum(axis=-1)
        return share * (1 - share)
