"""How well scores put positive cases above negative ones: areas under curves and points of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.checks import check_share
from dissensus.metrics.base import Average, Truth
from dissensus.metrics.data_set import Added, BinaryMetric, Part, Question, Said


class RankingMetric(BinaryMetric):
    """Compare the scores of positive cases with those of negative ones."""

    accepts = ("scores",)
    scale = "logit"
    curves = ("roc", "precision-recall")
    is_share = False  # differences of areas are numbers

    def stated(self, said: Said, question: Question) -> FloatArray:
        """Return the scores of the condition that is asked about."""
        return np.asarray(said.scores[question])

    @abstractmethod
    def of_steps(self, found: Steps) -> FloatArray:
        """Return the metric of masses by score in every draw, shape (n_draws,)."""

    def sums(self, part: Part) -> FloatArray:
        """Add up positive and negative mass by score, the highest first, and products of both, in every draw."""
        from dissensus.kernels.label_sums import step_sums

        places, number = step_of(part)
        return step_sums(places, number, part.masses[:, 1], part.masses[:, 0])

    def of_part(self, sums: FloatArray) -> FloatArray:
        """Return the metric of every draw."""
        return self.of_steps(Steps.of(sums))

    def part_slopes(self, part: Part, sums: FloatArray) -> FloatArray:
        """Return the derivatives by the masses of a part (2, m): those by step, but for what a case is to itself."""
        return self.by_steps(Steps.of(sums))[:, step_of(part)[0]]

    def by_steps(self, found: Steps) -> FloatArray:
        """Return the derivatives by the masses of the steps of the first draw, shape (2, steps)."""
        raise NotImplementedError

    def size(self, sums: FloatArray) -> float:
        """Count positive or negative cases, whichever are fewer."""
        found = Steps.of(sums)
        return float(min(found.yes.sum(), found.no.sum()))

    def amounts(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Add up masses by score."""
        yes, no = (one.sum(axis=1) for one in Steps.of(sums)[:2])
        return yes, yes + no

    def off_by(self, added: Added, marks: Sequence[FloatArray]) -> float:
        """Return how far a value may be off in any draw where a bin of scores counts as one score.

        All metrics grow as positive cases go above negative ones, so values lie between those of the two extreme orders
        within bins. A bin that holds a single number, so that the next one begins right above it, has no order.

        Parameters
        ----------
        added
            Sums over all cases.
        marks
            Where bins begin, of each question; where all questions count as one, of all together.
        """
        found = [0.0]
        for sums, begins in zip(added, marks if len(added) > 1 else [np.concatenate(marks)], strict=True):
            steps, begin = Steps.of(sums), np.unique(begins)[::-1]
            is_open = np.append(True, begin[:-1] > np.nextafter(begin[1:], np.inf))
            value = self.of_steps(steps)
            for late, early in ((steps.no, steps.yes), (steps.yes, steps.no)):
                after = np.stack([np.where(is_open, 0.0, late), np.where(is_open, late, 0.0)], axis=2)
                first = np.stack([early, np.zeros_like(early)], axis=2)
                both = [one.reshape(len(one), -1) for one in ((first, after) if late is steps.no else (after, first))]
                found += (np.abs(self.of_steps(steps._replace(yes=both[0], no=both[1])) - value)).tolist()
        return float(np.nanmax(found))


class Steps(NamedTuple):
    """Masses by descending score: one step for all cases with the same score, or in the same bin of scores.

    Attributes
    ----------
    yes, no : (n_draws, n_steps)
        Positive and negative mass of each step.
    own, yes_squares, no_squares : (n_draws,)
        Sums over cases of positive times negative mass, and of their squares.
    """

    yes: FloatArray
    no: FloatArray
    own: FloatArray
    yes_squares: FloatArray
    no_squares: FloatArray

    @staticmethod
    def of(sums: FloatArray) -> Steps:
        """Tell sums apart."""
        number = (sums.shape[1] - 3) // 2
        return Steps(sums[:, :number], sums[:, number : 2 * number], *sums[:, 2 * number :].T)


def step_of(part: Part) -> tuple[IntArray, int]:
    """Return the step of each case, the highest scores first, and how many steps there are."""
    marks = np.unique(part.marks)
    return len(marks) - np.searchsorted(marks, part.stated, side="right"), len(marks)


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
    aliases = ("auc", "roc auc", "c-statistic")
    meaning = (
        "How often a positive case has a higher score than a negative one; equal scores count half. 0.5 is chance, 1 "
        "is perfect."
    )

    short_name = "AUROC"
    is_counted = True

    average: Average = "macro"
    truth: Truth = "top"

    def of_steps(self, found: Steps) -> FloatArray:
        """Return the share of pairs in the right order."""
        from dissensus.kernels.label_sums import pair_shares

        return pair_shares(found.yes, found.no, found.own)

    def by_answer(self, said: Said, question: Question) -> FloatArray:
        """Return the mass that a positive case has below it, half of what is tied included, and both masses."""
        weights, (_, place) = said.weights[question.rows], np.unique(said.scores[question], return_inverse=True)
        totals, nothing = np.bincount(place, weights), np.zeros_like(weights)
        below = (np.cumsum(totals) - totals / 2)[place]
        return np.stack([[nothing, nothing, weights], [weights * below, weights, nothing]])

    def of_answers(self, sums: FloatArray) -> FloatArray:
        """Take off pairs of positive cases, and return three steps of which the middle one is won as often."""
        below, yes, no = sums.T
        nothing = np.zeros_like(yes)
        above = np.divide(below - yes * yes / 2, no, out=nothing.copy(), where=no > 0)
        return np.stack([above, nothing, yes - above, nothing, no, *[nothing] * 4], axis=1)

    def part_slopes(self, part: Part, sums: FloatArray) -> FloatArray:
        """Compare what each case wins with what it would win on average."""
        found, (negative, positive) = Steps.of(sums), part.masses[0]
        area, yes, no = self.of_steps(found)[0], found.yes[0], found.no[0]
        tie = step_of(part)[0]
        above, below = np.cumsum(yes) - 0.5 * yes, np.cumsum(no) - 0.5 * no
        won = no.sum() - below[tie] - 0.5 * negative  # by a positive case against all others
        given = above[tie] - 0.5 * positive  # by a negative case
        against_no, against_yes = no.sum() - negative, yes.sum() - positive
        pairs = float(yes.sum() * no.sum() - found.own[0])
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
    aliases = ("ap", "auprc", "pr auc")
    meaning = (
        "The share of positive cases among those with at least the score of a positive case, on average over positive "
        "cases. Chance is the share of positive cases among all, 1 is perfect."
    )

    average: Average = "macro"
    truth: Truth = "top"

    def of_steps(self, found: Steps) -> FloatArray:
        """Return the mean precision."""
        from dissensus.kernels.label_sums import average_precisions

        return average_precisions(found.yes, found.no)

    def by_steps(self, found: Steps) -> FloatArray:
        """Add to the precision of a positive case what a case does to the precision of all below it."""
        yes, no = found.yes[0], found.no[0]
        above, whole = np.cumsum(yes), np.cumsum(yes + no)
        precision = np.divide(above, whole, out=np.ones_like(whole), where=whole > 0)
        weights = np.divide(yes, whole, out=np.zeros_like(whole), where=whole > 0)
        gained = np.cumsum((weights * (1 - precision))[::-1])[::-1]
        lost = np.cumsum((weights * precision)[::-1])[::-1]
        mean = float((yes * precision).sum() / above[-1])
        return np.asarray(np.stack([-lost, precision + gained - mean]) / float(above[-1]))


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

    def of_steps(self, found: Steps) -> FloatArray:
        """Return the standardised area."""
        from dissensus.kernels.label_sums import heights_and_areas

        area = heights_and_areas(found.yes, found.no, [self.up_to])[1][0]
        least = 0.5 * self.up_to * self.up_to
        return np.asarray(0.5 * (1 + (area - least) / (self.up_to - least)))

    def by_steps(self, found: Steps) -> FloatArray:
        """Tell what a case does to the area and to where it ends."""
        yes, no = found.yes[0], found.no[0]
        negative, positive = no.sum(), yes.sum()
        end = self.up_to * negative
        after, wide = np.cumsum(no), np.maximum(no, 1e-300)
        height = float(np.interp(end, np.append(0.0, after), np.append(0.0, np.cumsum(yes))))
        counts = np.clip(end - (after - no), 0.0, no)  # negative mass of each step that counts
        above = np.cumsum(yes) - yes
        is_whole = after <= end
        mean = above + 0.5 * yes
        by_no = np.where(is_whole, mean - height, -0.5 * yes * (counts / wide) ** 2) + self.up_to * height
        by_yes = np.where(is_whole, end - after + 0.5 * no, 0.5 * counts * counts / wide)
        area = float((counts * (above + 0.5 * yes * counts / wide)).sum())
        slopes = np.stack([by_no - area / negative, by_yes - area / positive]) / (positive * negative)
        return np.asarray(slopes * 0.5 / (self.up_to - 0.5 * self.up_to**2))


class PointOfCurve(RankingMetric):
    """Read one rate where the other is given: between two thresholds, decisions at random lead from one to the other.

    Slopes are those of a smooth curve: how steep it is, is measured over a window around the threshold, since a curve
    of steps is level or upright everywhere, and an interval would not know that the threshold is uncertain, too.
    """

    is_share = True

    # The rate that is given.
    given_rate: ClassVar[Literal["specificity", "sensitivity"]]

    def seen(self, found: Steps) -> tuple[Steps, float]:
        """Return masses as they are seen from the side on which a rate is given, and one minus this rate."""
        yes, no, own, yes_squares, no_squares = found
        turned = Steps(no[:, ::-1], yes[:, ::-1], own, no_squares, yes_squares)
        return found if self.given_rate == "specificity" else turned, 1 - getattr(self, self.given_rate)

    def of_steps(self, found: Steps) -> FloatArray:
        """Return the height of the curve."""
        from dissensus.kernels.label_sums import heights_and_areas

        own, limit = self.seen(found)
        return np.asarray(heights_and_areas(own.yes, own.no, [limit])[0][0])

    def by_steps(self, found: Steps) -> FloatArray:
        """Return the slopes of a smooth curve."""
        own, limit = self.seen(found)
        yes, no = own.yes[0], own.no[0]
        negative, whole = no.sum(), float(yes.sum())
        end, after = limit * negative, np.cumsum(no)
        shares = np.clip((end - (after - no)) / np.maximum(no, 1e-300), 0.0, 1.0)
        shares = np.where(no > 0, shares, after <= end * (1 + 1e-12))  # of each step that is above the threshold
        height = float((shares * yes).sum())
        # window: as wide as is usual for densities at a quantile, a cube root of the effective number of cases
        effective = negative**2 / own.no_squares[0]
        width = min(0.5 * negative * effective ** (-1 / 3), end, negative - end)
        widths, heights = (np.append(0.0, np.cumsum(masses)) for masses in (no, yes))
        low, high = np.interp([end - width, end + width], widths, heights)
        steepness = float((high - low) / (2 * width))
        slopes = np.stack([steepness * (limit - shares), shares - height / whole])
        return np.asarray((slopes if own is found else slopes[::-1, ::-1]) / whole)


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
    given_rate = "specificity"

    specificity: float = 0.9
    average: Average = "macro"
    truth: Truth = "top"


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
    given_rate = "sensitivity"

    sensitivity: float = 0.9
    average: Average = "macro"
    truth: Truth = "top"
