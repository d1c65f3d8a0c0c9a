"""How well scores put positive cases above negative ones: areas under curves and points of them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.ragged import weighted_counts
from dissensus.metrics.base import Average, Truth, check_share
from dissensus.metrics.data_set import BinaryMetric, Part, Question, Said


class RankingMetric(BinaryMetric):
    """Compare the scores of positive cases with those of negative ones."""

    accepts = ("scores",)
    scale = "logit"
    curves = ("roc", "precision-recall")
    is_share = False  # differences of areas are numbers

    def stated(self, said: Said, question: Question) -> FloatArray:
        """Return the scores of the condition that is asked about."""
        return np.asarray(said.scores[question.rows, question.condition])

    def size(self, part: Part) -> float:
        """Count positive or negative cases, whichever are fewer."""
        return float(part.masses[0].sum(axis=1).min())


class _Steps(NamedTuple):
    """Masses of one draw by descending score: one step for all cases with the same score.

    Attributes
    ----------
    tie : (m,)
        The step of each case.
    yes, no : (n_ties,)
        Positive and negative mass of each step.
    """

    tie: IntArray
    yes: FloatArray
    no: FloatArray

    @staticmethod
    def of(part: Part) -> _Steps:
        """Sort the cases of the only draw."""
        values, tie = np.unique(-part.stated, return_inverse=True)
        no, yes = (weighted_counts(tie, masses, len(values)) for masses in part.masses[0])
        return _Steps(tie, yes, no)


@dataclass(frozen=True)
class AUROC(RankingMetric):
    """Area under the receiver operating characteristic: how often a positive case has a higher score than a negative.

    Equal scores count half. With ``truth="soft"`` it is the expected number of such pairs over the expected number of
    all pairs; a case is never compared with itself.

    Parameters
    ----------
    average
        How several questions become one number: "macro", "weighted" by positive cases, or "micro", all in one.
    truth
        What the label of a case is: "top", the most plausible condition of a draw, or "soft", all by plausibility.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> AUROC().of_draws(said, np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]]))
    array([0.5])
    """

    id = "auroc"
    meaning = (
        "How often a positive case has a higher score than a negative one; equal scores count half. 0.5 is chance, 1 "
        "is perfect."
    )

    short_name = "AUROC"

    average: Average = "macro"
    truth: Truth = "top"

    def of_part(self, part: Part) -> FloatArray:
        """Return the share of pairs in the right order."""
        from dissensus.kernels.label_sums import pair_shares, ranked

        return pair_shares(ranked(part.stated), part.masses[:, 1], part.masses[:, 0])

    def part_slopes(self, part: Part) -> FloatArray:
        """Compare what each case wins with what it would win on average."""
        area, steps, (negative, positive) = self.of_part(part)[0], _Steps.of(part), part.masses[0]
        above, below = np.cumsum(steps.yes) - 0.5 * steps.yes, np.cumsum(steps.no) - 0.5 * steps.no
        won = steps.no.sum() - below[steps.tie] - 0.5 * negative  # by a positive case against all others
        given = above[steps.tie] - 0.5 * positive  # by a negative case
        against_no, against_yes = negative.sum() - negative, positive.sum() - positive
        pairs = float((positive * against_no).sum())
        return np.stack([given - area * against_yes, won - area * against_no]) / pairs


@dataclass(frozen=True)
class AveragePrecision(RankingMetric):
    """Area under the curve of precision over recall, as a sum of steps: the precision at each positive case.

    With ``truth="soft"`` positive and negative cases are counted by their plausibilities.

    Parameters
    ----------
    average, truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> AveragePrecision().of_draws(said, np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]])).round(3)
    array([0.833])
    """

    id = "average-precision"
    meaning = (
        "The share of positive cases among those with at least the score of a positive case, on average over positive "
        "cases. Chance is the share of positive cases among all, 1 is perfect."
    )

    average: Average = "macro"
    truth: Truth = "top"

    def of_part(self, part: Part) -> FloatArray:
        """Return the mean precision."""
        from dissensus.kernels.label_sums import average_precisions, ranked

        return average_precisions(ranked(part.stated), part.masses[:, 1], part.masses[:, 0])

    def part_slopes(self, part: Part) -> FloatArray:
        """Add to the precision of a positive case what a case does to the precision of all below it."""
        steps = _Steps.of(part)
        above, whole = np.cumsum(steps.yes), np.cumsum(steps.yes + steps.no)
        precision = np.divide(above, whole, out=np.ones_like(whole), where=whole > 0)
        weights = np.divide(steps.yes, whole, out=np.zeros_like(whole), where=whole > 0)
        gained = np.cumsum((weights * (1 - precision))[::-1])[::-1]
        lost = np.cumsum((weights * precision)[::-1])[::-1]
        mean = float((steps.yes * precision).sum() / above[-1])
        return np.stack([-lost, precision + gained - mean])[:, steps.tie] / float(above[-1])


@dataclass(frozen=True)
class PartialAUROC(RankingMetric):
    """Area under the receiver operating characteristic where few negative cases are called positive.

    Standardised as McClish (1989) does: 0.5 is chance and 1 is perfect. With ``truth="soft"`` the curve is drawn with
    plausibilities as masses, so a case is compared with itself as well, which counts half.

    Parameters
    ----------
    up_to
        The highest false positive rate that counts.
    average, truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> PartialAUROC(0.5).of_draws(said, np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]])).round(3)
    array([0.667])
    """

    id = "partial-auroc"
    meaning = (
        "The area under the receiver operating characteristic up to a false positive rate, standardised so that 0.5 is "
        "chance and 1 is perfect."
    )
    short_name = "AUROC up to a false positive rate of {up_to:g}"
    checks = (("up_to", partial(check_share, within="above 0 and at most 1")),)

    up_to: float = 0.1
    average: Average = "macro"
    truth: Truth = "top"

    def of_part(self, part: Part) -> FloatArray:
        """Return the standardised area."""
        from dissensus.kernels.label_sums import heights_and_areas, ranked

        area = heights_and_areas(ranked(part.stated), part.masses[:, 1], part.masses[:, 0], self.up_to)[1]
        least = 0.5 * self.up_to * self.up_to
        return np.asarray(0.5 * (1 + (area - least) / (self.up_to - least)))

    def part_slopes(self, part: Part) -> FloatArray:
        """Tell what a case does to the area and to where it ends."""
        steps, (negative, positive) = _Steps.of(part), part.masses[0].sum(axis=1)
        end = self.up_to * negative
        after, wide = np.cumsum(steps.no), np.maximum(steps.no, 1e-300)
        height = float(np.interp(end, np.append(0.0, after), np.append(0.0, np.cumsum(steps.yes))))
        counts = np.clip(end - (after - steps.no), 0.0, steps.no)  # negative mass of each step that counts
        above = np.cumsum(steps.yes) - steps.yes
        is_whole = after <= end
        mean = above + 0.5 * steps.yes
        by_no = np.where(is_whole, mean - height, -0.5 * steps.yes * (counts / wide) ** 2) + self.up_to * height
        by_yes = np.where(is_whole, end - after + 0.5 * steps.no, 0.5 * counts * counts / wide)
        area = float((counts * (above + 0.5 * steps.yes * counts / wide)).sum())
        slopes = np.stack([by_no - area / negative, by_yes - area / positive]) / (positive * negative)
        return np.asarray(slopes[:, steps.tie] * 0.5 / (self.up_to - 0.5 * self.up_to**2))


class PointOfCurve(RankingMetric):
    """Read one rate where the other is given: between two thresholds, decisions at random lead from one to the other.

    Slopes are those of a smooth curve: how steep it is, is measured over a window around the threshold, since a curve
    of steps is level or upright everywhere, and an interval would not know that the threshold is uncertain, too.
    """

    is_share = True

    @abstractmethod
    def seen(self, part: Part) -> tuple[Part, float]:
        """Return the cases as they are seen from the side on which a rate is given, and one minus this rate."""

    def of_part(self, part: Part) -> FloatArray:
        """Return the height of the curve."""
        from dissensus.kernels.label_sums import heights_and_areas, ranked

        own, limit = self.seen(part)
        return heights_and_areas(ranked(own.stated), own.masses[:, 1], own.masses[:, 0], limit)[0]

    def part_slopes(self, part: Part) -> FloatArray:
        """Return the slopes of a smooth curve."""
        own, limit = self.seen(part)
        steps, negative, whole = _Steps.of(own), own.masses[0, 0], float(own.masses[0, 1].sum())
        end, after = limit * negative.sum(), np.cumsum(steps.no)
        shares = np.clip((end - (after - steps.no)) / np.maximum(steps.no, 1e-300), 0.0, 1.0)
        shares = np.where(steps.no > 0, shares, after <= end * (1 + 1e-12))  # of each step that is above the threshold
        height = float((shares * steps.yes).sum())
        # window: as wide as is usual for densities at a quantile, a cube root of the effective number of cases
        effective = negative.sum() ** 2 / (negative * negative).sum()
        width = min(0.5 * negative.sum() * effective ** (-1 / 3), end, negative.sum() - end)
        widths, heights = (np.append(0.0, np.cumsum(masses)) for masses in (steps.no, steps.yes))
        low, high = np.interp([end - width, end + width], widths, heights)
        steepness = float((high - low) / (2 * width))
        slopes = np.stack([steepness * (limit - shares), shares - height / whole])[:, steps.tie] / whole
        return slopes if own is part else slopes[::-1]


@dataclass(frozen=True)
class SensitivityAtSpecificity(PointOfCurve):
    """Share of positive cases above the threshold that leaves a given share of negative cases below it.

    Parameters
    ----------
    specificity
        The share of negative cases below the threshold, above 0 and below 1.
    average, truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> SensitivityAtSpecificity(0.9).of_draws(said, np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]]))
    array([0.5])
    """

    id = "sensitivity-at-specificity"
    meaning = "The share of positive cases above the threshold at which the given share of negative cases is below it."
    short_name = "sensitivity at specificity {specificity:g}"
    checks = (("specificity", check_share),)

    specificity: float = 0.9
    average: Average = "macro"
    truth: Truth = "top"

    def seen(self, part: Part) -> tuple[Part, float]:
        """Look at the curve as it is."""
        return part, 1 - self.specificity


@dataclass(frozen=True)
class SpecificityAtSensitivity(PointOfCurve):
    """Share of negative cases below the threshold that leaves a given share of positive cases above it.

    Parameters
    ----------
    sensitivity
        The share of positive cases above the threshold, above 0 and below 1.
    average, truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> SpecificityAtSensitivity(0.9).of_draws(said, np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]]))
    array([0.])
    """

    id = "specificity-at-sensitivity"
    meaning = "The share of negative cases below the threshold at which the given share of positive cases is above it."
    short_name = "specificity at sensitivity {sensitivity:g}"
    checks = (("sensitivity", check_share),)

    sensitivity: float = 0.9
    average: Average = "macro"
    truth: Truth = "top"

    def seen(self, part: Part) -> tuple[Part, float]:
        """Look at the curve from the other side."""
        return part._replace(stated=-part.stated, masses=part.masses[:, ::-1]), 1 - self.sensitivity
