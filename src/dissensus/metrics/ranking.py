"""How well scores put positive cases above negative ones: areas under curves and points of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.ragged import weighted_counts
from dissensus.metrics.base import Average, Truth
from dissensus.metrics.data_set import BinaryMetric, Question, Said, check_share, few, question_masses


class RankingMetric(BinaryMetric):
    """Compare the scores of positive cases with those of negative ones."""

    accepts = ("scores",)
    scale = "logit"
    curves = ("roc", "precision-recall")

    @property
    def is_share(self) -> bool:
        """Whether differences are percentage points: those of areas are numbers."""
        return False

    def stated(self, said: Said, question: Question) -> FloatArray:
        """Return the scores of the condition that is asked about."""
        return np.asarray(said.scores[question.rows, question.condition])

    def mass_counted(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> float:  # noqa: ARG002
        """Count positive or negative cases, whichever are fewer."""
        return float(min(positive.sum(), negative.sum()))

    def remarks(self, said: Said, labels: FloatArray) -> tuple[str, ...]:
        """Say that there are next to no positive or negative cases."""
        positive, totals = question_masses(said, labels)
        return few("positive", positive, totals) + few("negative", totals - positive, totals)


@dataclass(frozen=True)
class _Steps:
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
    def of(scores: FloatArray, positive: FloatArray, negative: FloatArray) -> _Steps:
        """Sort the cases (m,)."""
        from dissensus.kernels.label_sums import ranked

        cases = ranked(scores)
        tie = np.empty(len(scores), dtype=np.int64)
        tie[cases.order] = np.repeat(np.arange(len(cases.offsets) - 1), np.diff(cases.offsets))
        n_ties = len(cases.offsets) - 1
        return _Steps(tie, weighted_counts(tie, positive, n_ties), weighted_counts(tie, negative, n_ties))

    def height(self, width: FloatArray) -> FloatArray:
        """Return the positive mass above which there is so much negative mass."""
        widths, heights = (np.append(0.0, np.cumsum(part)) for part in (self.no, self.yes))
        return np.asarray(np.interp(width, widths, heights))


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

    def of_masses(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Return the share of pairs in the right order."""
        from dissensus.kernels.label_sums import pair_shares, ranked

        return pair_shares(ranked(stated), positive, negative)

    def mass_slopes(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Compare what each case wins with what it would win on average."""
        from dissensus.kernels.label_sums import pair_shares, ranked

        area = pair_shares(ranked(stated), positive[None], negative[None])[0]
        steps = _Steps.of(stated, positive, negative)
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

    short_name = "average precision"

    average: Average = "macro"
    truth: Truth = "top"

    def of_masses(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Return the mean precision."""
        from dissensus.kernels.label_sums import average_precisions, ranked

        return average_precisions(ranked(stated), positive, negative)

    def mass_slopes(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Add to the precision of a positive case what a case does to the precision of all below it."""
        steps = _Steps.of(stated, positive, negative)
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

    up_to: float = 0.1
    average: Average = "macro"
    truth: Truth = "top"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("up_to", self.up_to, up_to="at most 1")

    @property
    def short_name(self) -> str:  # type: ignore[override]
        """What it is called, whatever the average and the truth are."""
        return f"AUROC up to a false positive rate of {self.up_to:g}"

    def of_masses(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Return the standardised area."""
        from dissensus.kernels.label_sums import heights_and_areas, ranked

        area = heights_and_areas(ranked(stated), positive, negative, self.up_to)[1]
        least = 0.5 * self.up_to * self.up_to
        return np.asarray(0.5 * (1 + (area - least) / (self.up_to - least)))

    def mass_slopes(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Tell what a case does to the area and to where it ends."""
        steps, whole = _Steps.of(stated, positive, negative), positive.sum() * negative.sum()
        end = self.up_to * negative.sum()
        height, after, wide = float(steps.height(end)), np.cumsum(steps.no), np.maximum(steps.no, 1e-300)
        part = np.clip(end - (after - steps.no), 0.0, steps.no)  # negative mass of each step that counts
        above = np.cumsum(steps.yes) - steps.yes
        is_whole = after <= end
        mean = above + 0.5 * steps.yes
        by_no = np.where(is_whole, mean - height, -0.5 * steps.yes * (part / wide) ** 2) + self.up_to * height
        by_yes = np.where(is_whole, end - after + 0.5 * steps.no, 0.5 * part * part / wide)
        area = float((part * (above + 0.5 * steps.yes * part / wide)).sum())
        slopes = np.stack([by_no - area / negative.sum(), by_yes - area / positive.sum()]) / whole
        return np.asarray(slopes[:, steps.tie] * 0.5 / (self.up_to - 0.5 * self.up_to**2))


class _PointOfCurve(RankingMetric):
    """Read one rate where the other is given: between two thresholds, decisions at random lead from one to the other.

    Slopes are those of a smooth curve: how steep it is, is measured over a window around the threshold, since a curve
    of steps is level or upright everywhere, and an interval would not know that the threshold is uncertain, too.
    """

    @property
    def is_share(self) -> bool:
        """Whether differences are percentage points: rates are shares."""
        return True

    def _height(self, scores: FloatArray, positive: FloatArray, negative: FloatArray, limit: float) -> FloatArray:
        from dissensus.kernels.label_sums import heights_and_areas, ranked

        return heights_and_areas(ranked(scores), positive, negative, limit)[0]

    def _slopes(self, scores: FloatArray, positive: FloatArray, negative: FloatArray, limit: float) -> FloatArray:
        """Return the derivatives by the negative and the positive mass, shape (2, m)."""
        steps, whole = _Steps.of(scores, positive, negative), float(positive.sum())
        end = limit * negative.sum()
        after = np.cumsum(steps.no)
        shares = np.clip((end - (after - steps.no)) / np.maximum(steps.no, 1e-300), 0.0, 1.0)
        shares = np.where(steps.no > 0, shares, after <= end * (1 + 1e-12))  # of each step that is above the threshold
        height = float((shares * steps.yes).sum())
        # window: as wide as is usual for densities at a quantile, a cube root of the effective number of cases
        width = min(0.5 * negative.sum() * _effective(negative) ** (-1 / 3), end, negative.sum() - end)
        steepness = float(np.diff(steps.height(np.array([end - width, end + width])))[0] / (2 * width))
        return np.stack([steepness * (limit - shares), shares - height / whole])[:, steps.tie] / whole


def _effective(masses: FloatArray) -> float:
    """Return how many equal masses would be as uncertain as these."""
    return float(masses.sum() ** 2 / (masses * masses).sum())


@dataclass(frozen=True)
class SensitivityAtSpecificity(_PointOfCurve):
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

    specificity: float = 0.9
    average: Average = "macro"
    truth: Truth = "top"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("specificity", self.specificity)

    @property
    def short_name(self) -> str:  # type: ignore[override]
        """What it is called, whatever the average and the truth are."""
        return f"sensitivity at specificity {self.specificity:g}"

    def of_masses(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Return the height of the curve."""
        return self._height(stated, positive, negative, 1 - self.specificity)

    def mass_slopes(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Return the slopes of a smooth curve."""
        return self._slopes(stated, positive, negative, 1 - self.specificity)


@dataclass(frozen=True)
class SpecificityAtSensitivity(_PointOfCurve):
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

    sensitivity: float = 0.9
    average: Average = "macro"
    truth: Truth = "top"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("sensitivity", self.sensitivity)

    @property
    def short_name(self) -> str:  # type: ignore[override]
        """What it is called, whatever the average and the truth are."""
        return f"specificity at sensitivity {self.sensitivity:g}"

    def of_masses(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Return the height of the curve that is seen from the other side."""
        return self._height(-stated, negative, positive, 1 - self.sensitivity)

    def mass_slopes(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Return the slopes of a smooth curve."""
        return np.flip(self._slopes(-stated, negative, positive, 1 - self.sensitivity), axis=0)
