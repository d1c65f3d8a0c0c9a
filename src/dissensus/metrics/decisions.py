"""How good decisions are: what the model puts first, or a score at or above a threshold, counted in four numbers.

The four numbers of a question are masses: positive cases that are called positive (``tp``) and negative (``fn``), and
negative cases that are called positive (``fp``) and negative (``tn``). A metric is a formula of them; with
``truth="soft"``, of their expectations.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_positive
from dissensus.metrics.base import Average, CurveKind, Scale, Truth
from dissensus.metrics.data_set import (
    STEP,
    BinaryMetric,
    Question,
    Said,
    at_threshold,
    check_share,
    few,
    question_masses,
)
from dissensus.predictions.lists import PredictionKind


class CountedDecisions(BinaryMetric):
    """Judge decisions by a formula of four numbers."""

    accepts: ClassVar[tuple[PredictionKind, ...]] = ("scores", "ranking")
    scale: ClassVar[Scale] = "logit"
    curves: ClassVar[tuple[CurveKind, ...]] = ("confusion",)
    # Of which cases there must be some.
    about: ClassVar[tuple[str, ...]] = ("positive", "negative")

    # The counts of the cases that it rests on; of several sums of counts, on the smallest.
    rests_on: ClassVar[tuple[str, ...]] = ("tp fp fn tn",)

    threshold: float | None

    @abstractmethod
    def formula(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Return the metric; plain arithmetic, since it is called with complex numbers as well."""

    def stated(self, said: Said, question: Question) -> FloatArray:
        """Return which cases are called positive; tied conditions share."""
        if self.threshold is None:
            return np.asarray(said.picks[question.rows, question.condition])
        return np.asarray(said.scores[question.rows, question.condition] >= self.threshold, dtype=np.float64)

    def of_masses(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Count and apply the formula."""
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.asarray(self.formula(*_counts(stated, positive, negative)))
        return np.where(np.isfinite(values), values, np.nan)

    def mass_slopes(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Follow the formula into the imaginary numbers, one count at a time."""
        counts = _counts(stated, positive[None], negative[None])[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            by_tp, by_fp, by_fn, by_tn = np.imag(self.formula(*(counts[:, None] + 1j * STEP * np.eye(4)))) / STEP
        return np.stack([stated * by_fp + (1 - stated) * by_tn, stated * by_tp + (1 - stated) * by_fn])

    def mass_counted(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> float:
        """Count the cases that the formula looks at."""
        counts = dict(zip(("tp", "fp", "fn", "tn"), _counts(stated, positive[None], negative[None])[:, 0], strict=True))
        return float(min(sum(counts[name] for name in names.split()) for names in self.rests_on))

    def remarks(self, said: Said, labels: FloatArray) -> tuple[str, ...]:
        """Say that nearly all cases are called the same, or are the same."""
        positive, totals = question_masses(said, labels)
        weighted = labels.sum(axis=0) * said.weights
        called = np.array([float(self.stated(said, one) @ weighted[one.rows]) for one in said.questions])
        masses = {"positive": positive, "negative": totals - positive}
        calls = {"positive": called, "negative": totals - called}
        words = [few(at_threshold(f"called {word}", self.threshold), calls[word], totals) for word in calls]
        words += [few(word, masses[word], totals) for word in self.about]
        return tuple(sentence for found in words for sentence in found)


def _counts(stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Count tp, fp, fn and tn in every draw, shape (4, n_draws)."""
    from dissensus.kernels.label_sums import weighted_sums

    calls = np.stack([stated, 1 - stated])
    (tp, fn), (fp, tn) = weighted_sums(calls, positive), weighted_sums(calls, negative)
    return np.stack([tp, fp, fn, tn])


@dataclass(frozen=True)
class DecisionMetric(CountedDecisions):
    """Judge decisions by a formula of four numbers.

    Parameters
    ----------
    threshold
        A case is positive if its score is at least this; None: if the model puts the condition first.
    average, truth
        As of :class:`AUROC`.
    """

    threshold: float | None = None
    average: Average = "macro"
    truth: Truth = "top"


@dataclass(frozen=True)
class Sensitivity(DecisionMetric):
    """Share of positive cases that are called positive; also called recall.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> Sensitivity().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]))
    array([0.5])
    """

    id = "sensitivity"
    meaning = "The share of positive cases that the model calls positive."
    about = ("positive",)
    short_name = "sensitivity"
    rests_on = ("tp fn",)

    def formula(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:  # noqa: ARG002
        """Return the share."""
        return tp / (tp + fn)


@dataclass(frozen=True)
class Specificity(DecisionMetric):
    """Share of negative cases that are called negative.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> Specificity().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]))
    array([1.])
    """

    id = "specificity"
    meaning = "The share of negative cases that the model calls negative."
    about = ("negative",)
    short_name = "specificity"
    rests_on = ("fp tn",)

    def formula(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:  # noqa: ARG002
        """Return the share."""
        return tn / (fp + tn)


@dataclass(frozen=True)
class PositivePredictiveValue(DecisionMetric):
    """Share of positive cases among those that are called positive; also called precision.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> PositivePredictiveValue().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]))
    array([1.])
    """

    id = "ppv"
    meaning = "The share of positive cases among those that the model calls positive."
    short_name = "positive predictive value"
    rests_on = ("tp fp",)

    def formula(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:  # noqa: ARG002
        """Return the share."""
        return tp / (tp + fp)


@dataclass(frozen=True)
class NegativePredictiveValue(DecisionMetric):
    """Share of negative cases among those that are called negative.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> NegativePredictiveValue().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]))
    array([0.5])
    """

    id = "npv"
    meaning = "The share of negative cases among those that the model calls negative."
    short_name = "negative predictive value"
    rests_on = ("fn tn",)

    def formula(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:  # noqa: ARG002
        """Return the share."""
        return tn / (fn + tn)


@dataclass(frozen=True)
class PositiveLikelihoodRatio(DecisionMetric):
    """How many times more often positive cases are called positive than negative ones; undefined if no negative one is.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> PositiveLikelihoodRatio(0.2).of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]))
    array([1.])
    """

    id = "positive-likelihood-ratio"
    meaning = (
        "How many times more often the model calls a positive case positive than a negative one; 1 says nothing, more "
        "is better."
    )
    range = (0.0, np.inf)
    scale = "log"
    short_name = "positive likelihood ratio"
    rests_on = ("tp fn", "fp tn")

    def formula(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Return sensitivity over what is left of specificity."""
        return tp / (tp + fn) * ((fp + tn) / fp)


@dataclass(frozen=True)
class NegativeLikelihoodRatio(DecisionMetric):
    """How many times more often positive cases are called negative than negative ones; undefined if no negative one is.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> NegativeLikelihoodRatio().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]))
    array([0.5])
    """

    id = "negative-likelihood-ratio"
    meaning = (
        "How many times more often the model calls a positive case negative than a negative one; 1 says nothing, less "
        "is better."
    )
    range = (0.0, np.inf)
    higher_is_better = False
    scale = "log"
    short_name = "negative likelihood ratio"
    rests_on = ("tp fn", "fp tn")

    def formula(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Return what is left of sensitivity over specificity."""
        return fn / (tp + fn) * ((fp + tn) / tn)


@dataclass(frozen=True)
class FBeta(CountedDecisions):
    """Weighted harmonic mean of positive predictive value and sensitivity.

    Parameters
    ----------
    beta
        How many times more sensitivity counts; 1 gives the F1 score.
    threshold
        A case is positive if its score is at least this; None: if the model puts the condition first.
    average, truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> FBeta().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]])).round(3)
    array([0.667])
    """

    id = "f-beta"
    meaning = (
        "The harmonic mean of the share of positive cases that are called positive and the share of those called "
        "positive that are; beta says how many times more the first counts."
    )
    about = ("positive",)
    rests_on = ("tp fp fn",)

    beta: float = 1.0
    threshold: float | None = None
    average: Average = "macro"
    truth: Truth = "top"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(beta=self.beta)

    @property
    def short_name(self) -> str:  # type: ignore[override]
        """What it is called, whatever the threshold, the average and the truth are."""
        return f"F{self.beta:g}"

    @property
    def is_share(self) -> bool:
        """Whether differences are percentage points: a mean of two shares of different cases is none."""
        return False

    def formula(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:  # noqa: ARG002
        """Return the harmonic mean."""
        return (1 + self.beta**2) * tp / ((1 + self.beta**2) * tp + self.beta**2 * fn + fp)


@dataclass(frozen=True)
class Jaccard(DecisionMetric):
    """Share of cases that are positive and called so among those that are one or the other.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> Jaccard().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]))
    array([0.5])
    """

    id = "jaccard"
    meaning = "The share of cases that are positive and called positive among those that are one or the other."
    about = ("positive",)
    short_name = "Jaccard index"
    rests_on = ("tp fp fn",)

    def formula(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:  # noqa: ARG002
        """Return the share."""
        return tp / (tp + fp + fn)


@dataclass(frozen=True)
class NetBenefit(CountedDecisions):
    """Positive cases that are found less false alarms, weighted by the odds of a threshold probability.

    A point of a decision curve (Vickers and Elkin, 2006): a case is called positive if its probability is at least the
    threshold, which also says how many false alarms one positive case is worth.

    Parameters
    ----------
    threshold
        Probability, above 0 and below 1.
    average, truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> NetBenefit(0.2).of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]])).round(3)
    array([0.583])
    """

    id = "net-benefit"
    meaning = (
        "The share of all cases that are positive and found, less false alarms, each of which counts as much as the "
        "threshold probability says."
    )
    accepts = ("scores",)
    takes_probabilities = True
    range = (-np.inf, 1.0)
    scale = "plain"
    curves = ("decision",)
    short_name = "net benefit"

    threshold: float
    average: Average = "macro"
    truth: Truth = "top"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("threshold", self.threshold)

    def stated(self, said: Said, question: Question) -> FloatArray:
        """Return which cases have at least the threshold probability."""
        return np.asarray(probabilities_of(said, question) >= self.threshold, dtype=np.float64)

    def formula(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Return what is gained less what is lost."""
        return (tp - fp * (self.threshold / (1 - self.threshold))) / (tp + fp + fn + tn)


def probabilities_of(said: Said, question: Question) -> FloatArray:
    """Return the probability that the model gives to the condition that is asked about, shape (m,).

    Scores of a case are divided by their sum, unless it is 1 but for rounding.

    >>> said = Said.of_scores(np.array([[0.3, 0.7], [1.0, 3.0]]), is_binary=True)
    >>> probabilities_of(said, said.questions[0])
    array([0.7 , 0.75])
    """
    sums = said.scores[question.rows].sum(axis=1)
    sums = np.where(np.abs(sums - 1) < 1e-9, 1.0, sums)
    return np.asarray(said.scores[question.rows, question.condition] / sums)
