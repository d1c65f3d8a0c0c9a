"""How good probabilities are: scores against a label drawn from the plausibilities, and whether they are what they say.

For the latter, cases are put into bins of probability, and compared with how much of each bin is positive.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.checks import check_count, check_share
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.metrics.base import Average, Drawn, Metric, Predicted, Truth
from dissensus.metrics.data_set import BinaryMetric, Part, Question, Said
from dissensus.metrics.decisions import probabilities_of


@dataclass(frozen=True)
class LogScore(Metric):
    """Expected log of the model's probability of a label drawn from the plausibilities; at most 0.

    Scores must not be negative; those of a case are divided by their sum. A model that gives no probability to a
    condition with some plausibility scores minus infinity, unless there is a floor.

    Parameters
    ----------
    floor
        Smaller probabilities are raised to this, without taking anything from the others.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> said = Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_scores([[0.5, 0.5, 0.0]], ["a", "b", "c"])
    >>> LogScore().values(Drawn(batch, 0), Predicted(model, batch)).round(3)
    array([[-0.693]])
    """

    id = "log-score"
    meaning = (
        "The logarithm of the model's probability of a condition that is drawn in proportion to the plausibilities, on "
        "average; 0 at best."
    )
    accepts = ("scores",)
    takes_probabilities = True
    range = (-np.inf, 0.0)
    checks = (("floor", partial(check_share, within="at least 0 and below 1")),)
    unusual_names = (("floor", "{}, floor {floor:g}"),)

    floor: float = 0.0

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the expected log probability under each draw."""
        batch, (offsets, _, values) = drawn.batch, predicted.entries
        sums, case, of_member = score_sums(predicted), row_of_each(offsets), predicted.batch.case_of_member
        raised = (np.maximum(part, self.floor) for part in (values / sums[case], predicted.scores / sums[of_member]))
        # logarithms of zero are counted apart, of the listed conditions and of the mentioned ones
        (listed, no_listed), (own, no_own) = ((np.log(np.where(p > 0, p, 1.0)), (p == 0) * 1.0) for p in raised)
        zeros = weighted_counts(case, no_listed, batch.n_cases) + (self.floor == 0) * (
            batch.n_conditions - predicted.listed
        )
        is_lost = zeros > predicted.sums(no_own * (batch.member_weights() > 0))
        rest = predicted.weighted_rest_means(listed, float(np.log(self.floor or 1.0)), own)
        return drawn.expected(np.where(no_own > 0, -np.inf, own), np.where(is_lost, -np.inf, rest))


@dataclass(frozen=True)
class BrierScore(Metric):
    """Expected squared distance of the model's probabilities from a label drawn from the plausibilities; 0 to 2.

    Scores must not be negative; those of a case are divided by their sum. The distance is summed over all conditions.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> said = Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_scores([[0.5, 0.5, 0.0]], ["a", "b", "c"])
    >>> BrierScore().values(Drawn(batch, 0), Predicted(model, batch))
    array([[0.5]])
    """

    id = "brier-score"
    aliases = ("brier",)
    meaning = (
        "The squared distance of the model's probabilities from a condition that is drawn in proportion to the "
        "plausibilities, on average; 0 at best and 2 at worst."
    )
    accepts = ("scores",)
    takes_probabilities = True
    range = (0.0, 2.0)
    curves = ("reliability",)
    higher_is_better = False
    short_name = "Brier score"

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the expected squared distance under each draw."""
        (offsets, _, values), sums = predicted.entries, score_sums(predicted)
        members, case = predicted.scores / sums[predicted.batch.case_of_member], row_of_each(offsets)
        hit = drawn.expected(members, predicted.weighted_rest_means(values / sums[case], 0.0, members))
        squares = weighted_counts(case, values * values, len(sums)) / (sums * sums)
        return 1.0 - 2.0 * hit + squares[:, None]


def score_sums(predicted: Predicted) -> FloatArray:
    """Add up the scores of each case, shape (n_cases,)."""
    offsets, _, values = predicted.entries
    return weighted_counts(row_of_each(offsets), values, predicted.batch.n_cases)


# Bins of probability ---------------------------------------------------------------------------------------

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


class BinnedMetric(BinaryMetric):
    """Judge probabilities by a formula of sums over bins."""

    accepts = ("scores",)
    takes_probabilities = True
    curves = ("reliability",)
    about = ()
    is_share = False  # distances are not shares of cases

    unusual_names = (("debiased", "debiased {}"), ("bins", "{}, {bins} bins"))

    bins: int

    @abstractmethod
    def formula(self, sums: BinSums) -> Any:
        """Return the metric of sums (n, bins); plain arithmetic, since it is called with complex numbers as well."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(bins=self.bins)
        if self.bins > MOST_BINS:
            raise DissensusError("there are too many bins", expected=f"at most {MOST_BINS}", got=str(self.bins))

    def stated(self, said: Said, question: Question) -> FloatArray:
        """Return the probabilities of the condition that is asked about."""
        return probabilities_of(said, question)

    def sums(self, part: Part) -> FloatArray:
        """Add up the cases of each bin, shape (n_draws, 6 * bins)."""
        from dissensus.kernels.label_sums import binned_sums

        place, masses = bin_of(part.stated, self.bins), part.masses
        found = binned_sums(place, self.bins, part.stated, masses[:, 1], masses[:, 0])
        return np.moveaxis(found, 0, 1).reshape(len(masses), -1)

    def size(self, sums: FloatArray) -> float:
        """Count all cases."""
        return float(sums[0, : self.bins].sum())

    def amounts(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Add up bins."""
        mass, _, positive, *_ = np.moveaxis(sums.reshape(len(sums), 6, -1), 1, 0)
        return positive.sum(axis=1), mass.sum(axis=1)

    def of_sums(self, sums: Any) -> Any:
        """Apply the formula."""
        return self.formula(BinSums(*np.moveaxis(sums.reshape(len(sums), 6, -1), 1, 0)))

    def chained(self, part: Part, by_sums: FloatArray) -> FloatArray:
        """Tell what a case adds to the sums of its bin."""
        by = BinSums(*by_sums.reshape(6, -1)[:, bin_of(part.stated, self.bins)])
        positive, mass = part.masses[0, 1], part.masses[0].sum(axis=0)
        both = by.mass + by.scores * part.stated + by.products * positive + 2 * by.mass_squares * mass
        return np.stack([both, both + by.positive + 2 * by.positive_squares * positive + by.products * mass])


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
    aliases = ("ece", "expected calibration error")
    meaning = (
        "How far the model's probabilities are from the share of positive cases among those with about the same "
        "probability, on average; 0 is perfect."
    )
    higher_is_better = False

    bins: int = 10
    debiased: bool = False
    average: Average = "macro"
    truth: Truth = "top"

    def formula(self, sums: BinSums) -> Any:
        """Weigh the gaps of all bins by their mass."""
        from scipy.special import erf

        mass = _known(sums.mass)
        gaps = (sums.scores - sums.positive) / mass
        sizes = gaps * np.where(np.real(gaps) < 0, -1.0, 1.0)
        if self.debiased:
            share = sums.positive / mass
            variance = sums.positive_squares - 2 * share * sums.products + share * share * sums.mass_squares
            variance = variance / (mass * mass)
            # the expected distance from zero of a normal variable whose mean is the gap
            is_spread = np.real(variance) > 1e-15
            spread = np.sqrt(np.where(is_spread, variance, 1.0))
            ratio = sizes / spread
            found = spread * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + sizes * erf(ratio / np.sqrt(2))
            sizes = 2 * sizes - np.where(is_spread, found, sizes)
        return (sums.mass * sizes).sum(axis=-1) / sums.mass.sum(axis=-1)


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
    short_name = "Brier reliability"

    def formula(self, sums: BinSums) -> Any:
        """Weigh the squared gaps of all bins by their mass."""
        return ((sums.scores - sums.positive) ** 2 / _known(sums.mass)).sum(axis=-1) / sums.mass.sum(axis=-1)


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
    short_name = "Brier resolution"

    def formula(self, sums: BinSums) -> Any:
        """Compare the share of each bin with that of all."""
        total, positive = sums.mass.sum(axis=-1), sums.positive.sum(axis=-1)
        return (sums.positive**2 / _known(sums.mass)).sum(axis=-1) / total - (positive / total) ** 2


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
    short_name = "Brier uncertainty"

    def formula(self, sums: BinSums) -> Any:
        """Multiply the shares of positive and negative cases."""
        share = sums.positive.sum(axis=-1) / sums.mass.sum(axis=-1)
        return share * (1 - share)
