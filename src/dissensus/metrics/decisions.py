"""How good decisions are: what the model puts first, or a score at or above a threshold.

The four numbers of a question are masses: positive cases that are called positive (``tp``) and negative (``fn``), and
negative cases that are called positive (``fp``) and negative (``tn``). A metric is a formula of them, or of the matrix
that says how much of which label was called what; with ``truth="soft"``, of their expectations.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.checks import check_positive, check_share
from dissensus.core.ragged import product
from dissensus.metrics.base import HALF, Average, CurveKind, Scale, Truth, at_threshold, one_of
from dissensus.metrics.data_set import Added, BinaryMetric, DataSetMetric, Part, Question, QuestionMetric, Said, few
from dissensus.predictions.lists import PredictionKind, Predictions

# How bad a wrong grade is: all the same, by its distance, or by the square of it.
KappaWeights: TypeAlias = Literal["none", "linear", "quadratic"]

# So far above one may a probability be that was computed.
ROUNDING = 1e-9


def no_decisions(added: Added) -> tuple[str, ...]:
    """Say why there are no decisions, where sums over cases are undefined; nothing otherwise."""
    told = "no decisions: scores are not between 0 and 1; give a threshold on their scale, or decisions"
    return (told,) if any(np.isnan(one).any() for one in added) else ()


def decisions(said: Said, threshold: float | None = None) -> FloatArray:
    """Return how much of each case is called what, shape (n_cases, K); nan where there are no decisions.

    Of two conditions the last is called if its score is at least the threshold; one half, of probabilities, is a tie,
    and decides nothing about other scores.

    >>> decisions(Said.of_scores(np.array([[0.6, 0.4]]), is_binary=True), 0.3)
    array([[0., 1.]])
    >>> decisions(Said.of_scores(np.array([[-2.5, 2.5]])), 0.5)
    array([[nan, nan]])
    """
    if threshold in (None, HALF):
        is_half = threshold == HALF and said.n_conditions == 2
        is_undecided = is_half and (np.abs(said.scores - HALF) > HALF + ROUNDING).any()
        return said.picks * np.nan if is_undecided else said.picks
    positive = np.asarray(said.scores[:, -1] >= threshold, dtype=np.float64)
    return np.stack([1 - positive, positive], axis=1)


class CountedDecisions(BinaryMetric):
    """Judge decisions by a formula of four numbers: if it says nothing else, the share of some of them among others."""

    accepts: ClassVar[tuple[PredictionKind, ...]] = ("scores", "ranking")
    scale: ClassVar[Scale] = "logit"
    curves: ClassVar[tuple[CurveKind, ...]] = ("confusion",)
    is_counted: ClassVar[bool] = True

    # Of which counts it is the share: of the first among those of the second.
    share: ClassVar[tuple[str, str]] = ("tp tn", "tp fp fn tn")

    # The counts of the cases that it rests on, by default those of the share; of several, on the smallest.
    rests_on: ClassVar[tuple[str, ...]] = ()

    threshold: float | None

    def formula(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Return the metric; plain arithmetic, since it is called with complex numbers as well."""
        counts = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        part, whole = (sum(counts[name] for name in names.split()) for names in self.share)
        return part / whole

    def stated(self, said: Said, question: Question) -> FloatArray:
        """Return which cases are called positive; tied conditions share, and nan where there are no decisions."""
        if self.threshold is None or (self.threshold == HALF and said.n_conditions == 2):
            return np.asarray(decisions(said, self.threshold)[question])
        return np.asarray(said.scores[question] >= self.threshold, dtype=np.float64)

    def columns(self, part: Part) -> FloatArray:
        """Tell to which of tp, fp, fn and tn a case belongs."""
        called, other, nothing = part.stated, 1 - part.stated, np.zeros_like(part.stated)
        return np.stack([[nothing, called, nothing, other], [called, nothing, other, nothing]])

    def by_answer(self, said: Said, question: Question) -> FloatArray:
        """Return what every case adds to tp, fp, fn and tn."""
        return self.columns(Part(self.stated(said, question), np.empty(0), (question,))) * said.weights[question.rows]

    def of_sums(self, sums: Any) -> Any:
        """Apply the formula."""
        return self.formula(*sums.T)

    def amounts(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Add up counts."""
        return sums[:, 0] + sums[:, 2], sums.sum(axis=1)

    def size(self, sums: FloatArray) -> float:
        """Count the cases that the formula looks at."""
        counts = dict(zip(("tp", "fp", "fn", "tn"), np.nan_to_num(sums[0]), strict=True))
        return float(min(sum(counts[name] for name in names.split()) for names in self.rests_on or self.share[1:]))

    def told(self, added: Added) -> tuple[str, ...]:
        """Say that nearly all cases are called the same, or are the same."""
        called, totals = np.array([(one[0, :2].sum(), one[0].sum()) for one in added]).T  # tp and fp
        calls = {"called positive": called, "called negative": totals - called}
        words = few({at_threshold(word, self.threshold): amounts for word, amounts in calls.items()}, totals)
        return no_decisions(added) or words + super().told(added)


@dataclass(frozen=True)
class DecisionMetric(CountedDecisions):
    """Judge decisions by a formula of four numbers.

    Parameters
    ----------
    threshold
        A case is positive if its score is at least this; None: if the model puts the condition first, or 0.5 where
        models give scores for a yes-or-no question. 0.5 needs scores between 0 and 1.
    average, truth
        As of :class:`AUROC`.
    """

    threshold: float | None = None
    average: Average = "macro"
    truth: Truth = "top"


class Sensitivity(DecisionMetric):
    """Share of positive cases that are called positive; also called recall.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> Sensitivity().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]))
    array([0.5])
    """

    id = "sensitivity"
    aliases = ("recall", "true positive rate", "tpr")
    meaning = "The share of positive cases that the model calls positive."
    about = ("positive",)
    share = "tp", "tp fn"


class Specificity(DecisionMetric):
    """Share of negative cases that are called negative.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> Specificity().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]))
    array([1.])
    """

    id = "specificity"
    aliases = ("true negative rate", "tnr")
    meaning = "The share of negative cases that the model calls negative."
    about = ("negative",)
    share = "tn", "fp tn"


class PositivePredictiveValue(DecisionMetric):
    """Share of positive cases among those that are called positive; also called precision.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> PositivePredictiveValue().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]))
    array([1.])
    """

    id = "ppv"
    aliases = ("precision",)
    meaning = "The share of positive cases among those that the model calls positive."
    short_name = "positive predictive value"
    share = "tp", "tp fp"


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
    share = "tn", "fn tn"


class LikelihoodRatio(DecisionMetric):
    """How many times more often positive cases are called something than negative ones."""

    range = (0.0, np.inf)
    scale = "log"
    rests_on = ("tp fn", "fp tn")


class PositiveLikelihoodRatio(LikelihoodRatio):
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

    def formula(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
        """Return sensitivity over what is left of specificity."""
        return tp / (tp + fn) * ((fp + tn) / fp)


class NegativeLikelihoodRatio(LikelihoodRatio):
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
    higher_is_better = False

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
        A case is positive if its score is at least this; None: if the model puts the condition first, or 0.5 where
        models give scores for a yes-or-no question. 0.5 needs scores between 0 and 1.
    average, truth
        As of :class:`AUROC`.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> FBeta().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]])).round(3)
    array([0.667])
    """

    id = "f-beta"
    aliases = ("f1:1", "f1 score:1", "f-score:1", "dice:1", "f2:2")
    meaning = (
        "The harmonic mean of the share of positive cases that are called positive and the share of those called "
        "positive that are; beta says how many times more the first counts."
    )
    short_name = "F{beta:g}"
    about = ("positive",)
    share = "tp", "tp fp fn"
    is_share = False  # a mean of two shares of different cases is none
    checks = (("beta", lambda name, value: check_positive(**{name: value})),)

    beta: float = 1.0
    threshold: float | None = None
    average: Average = "macro"
    truth: Truth = "top"

    def formula(self, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:  # noqa: ARG002
        """Return the harmonic mean."""
        return (1 + self.beta**2) * tp / ((1 + self.beta**2) * tp + self.beta**2 * fn + fp)


class Jaccard(DecisionMetric):
    """Share of cases that are positive and called so among those that are one or the other.

    Examples
    --------
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]), is_binary=True)
    >>> Jaccard().of_draws(said, np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]))
    array([0.5])
    """

    id = "jaccard"
    aliases = ("iou",)
    meaning = "The share of cases that are positive and called positive among those that are one or the other."
    about = ("positive",)
    short_name = "Jaccard index"
    share = "tp", "tp fp fn"


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
    checks = (("threshold", check_share),)

    threshold: float
    average: Average = "macro"
    truth: Truth = "top"

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
    return np.asarray(said.scores[question] / np.where(np.abs(sums - 1) < 1e-9, 1.0, sums))


# The whole matrix ------------------------------------------------------------------------------------------


class ConfusionMetric(QuestionMetric):
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
        hits, labels, calls : (n, K)
            The diagonal of every matrix, and the sums of its rows and of its columns.
        distance : (n,)
            How far calls are from labels, in all; see :meth:`costs`.
        """

    def costs(self, n_conditions: int) -> FloatArray:
        """Return how bad it is to call one condition another, shape (K, K)."""
        return 1.0 - np.eye(n_conditions)

    def check(self, predictions: Predictions) -> None:
        """Refuse a threshold where there are no scores, or more than two conditions."""
        super().check(predictions)
        if self.threshold is not None and predictions.n_conditions != 2:
            advice = "leave the threshold out, so that what the model puts first is its decision"
            raise self.refusal(predictions, "needs two conditions", got=str(predictions.n_conditions), advice=advice)

    def parts(self, said: Said, labels: FloatArray) -> list[Part]:
        """Take the cases of every finding."""
        calls = decisions(said, self.threshold)
        every = [Question(rows, -1) for rows in said.rows_of_findings]
        return [Part(calls[one.rows], said.weighted(labels, one.rows), (one,)) for one in every]

    def sums(self, part: Part) -> FloatArray:
        """Add up hits, labels, calls and the distance, shape (n_draws, 3 K + 1)."""
        from dissensus.kernels.label_sums import confusions

        matrix = confusions(part.masses, part.stated)  # labels in rows, calls in columns
        distance = (matrix * self.costs(matrix.shape[-1])).sum(axis=(1, 2))[:, None]
        return np.hstack([np.diagonal(matrix, axis1=1, axis2=2), matrix.sum(axis=2), matrix.sum(axis=1), distance])

    def of_sums(self, sums: Any) -> Any:
        """Apply the formula."""
        return self.formula(*_split(sums))

    def chained(self, part: Part, by_sums: FloatArray) -> FloatArray:
        """Tell what a case does to all cells of its calls."""
        by_hits, by_labels, by_calls, by_distance = _split(by_sums)
        gradient = np.diag(by_hits) + by_labels[:, None] + by_calls + by_distance * self.costs(len(by_hits))
        return product(gradient, part.stated.T)

    def size(self, sums: FloatArray) -> float:
        """Count all cases, unless the metric is undefined."""
        return 0.0 if np.isnan(self.of_part(sums)[0]) else float(_split(sums)[1].sum())

    def told(self, added: Added) -> tuple[str, ...]:
        """Say that nearly all cases of two conditions are called the same, or are the same."""
        _, labels, calls, _ = _split(np.concatenate(added))
        if labels.shape[1] != 2:
            return ()
        amounts = {}
        for code, word in ((1, "positive"), (0, "negative")):
            amounts[at_threshold(f"called {word}", self.threshold)] = calls[:, code]
            amounts[word] = labels[:, code]
        return no_decisions(added) or few(amounts, labels.sum(axis=1))


def _split(sums: Any) -> tuple[Any, Any, Any, Any]:
    """Tell hits, labels, calls and the distance apart."""
    k = sums.shape[-1] // 3
    return sums[..., :k], sums[..., k : 2 * k], sums[..., 2 * k : 3 * k], sums[..., -1]


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
    aliases = ("kappa", "weighted kappa:quadratic", "quadratic kappa:quadratic", "qwk:quadratic")
    meaning = (
        "How much more often the model agrees with the label than by chance: 0 is chance, 1 is perfect. With weights, "
        "a near miss between grades counts in part."
    )
    checks = (("weights", one_of(KappaWeights)),)
    short_name = "Cohen's kappa"
    unusual_names = (("weights", "{weights} kappa"),)

    weights: KappaWeights = "none"
    threshold: float | None = None
    truth: Truth = "top"

    def formula(self, hits: Any, labels: Any, calls: Any, distance: Any) -> Any:  # noqa: ARG002
        """Compare the distances with those of chance."""
        chance = (product(labels, self.costs(labels.shape[-1])) * calls).sum(axis=-1)
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

    threshold: float | None = None
    truth: Truth = "top"

    def formula(self, hits: Any, labels: Any, calls: Any, distance: Any) -> Any:  # noqa: ARG002
        """Average the diagonal over its rows."""
        is_known = np.real(labels) > 0
        shares, n_known = hits / np.where(is_known, labels, 1.0), is_known.sum(axis=-1)
        return np.where(n_known >= 2, (shares * is_known).sum(axis=-1) / n_known, np.nan)

    def size(self, sums: FloatArray) -> float:
        """Count as of a mean over conditions, each of which has cases of its own."""
        totals = _split(sums)[1][0]
        known = totals[totals > 0]
        return float(len(known) ** 2 / (1 / known).sum()) if len(known) >= 2 else 0.0


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
    aliases = ("mcc",)
    meaning = "The correlation between what cases are and what they are called: 0 is chance, 1 is perfect."
    short_name = "Matthews correlation"

    threshold: float | None = None
    truth: Truth = "top"

    def formula(self, hits: Any, labels: Any, calls: Any, distance: Any) -> Any:  # noqa: ARG002
        """Divide the covariance by both spreads, all times the squared total."""
        total = labels.sum(axis=-1)
        shared = hits.sum(axis=-1) * total - (labels * calls).sum(axis=-1)
        of_labels, of_calls = (total * total - (sums * sums).sum(axis=-1) for sums in (labels, calls))
        is_known = np.minimum(np.real(of_labels), np.real(of_calls)) > 1e-13 * np.real(total) ** 2
        return np.where(is_known, shared / np.sqrt(np.where(is_known, of_labels * of_calls, 1.0)), np.nan)


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

    threshold: float | None = None
    truth: Truth = "top"

    def added(self, said: Said, labels: FloatArray) -> Added:
        """Add up the weights of cases, of those that are right and of all."""
        *_, rights, weights = self._parts(said, labels)
        return [np.stack([(weights * rights).sum(axis=1), weights.sum(axis=1)], axis=1)]

    def of_added(self, added: Added) -> FloatArray:
        """Return the share of cases that are right, weighted."""
        right, total = added[0].T
        return np.asarray(np.divide(right, total, out=np.full(total.shape, np.nan), where=total > 0))

    def rests_upon(self, added: Added) -> float:
        """Count all cases, unless there are no decisions."""
        return 0.0 if no_decisions(added) else float(added[0][0, 1])

    def slopes_at(self, said: Said, labels: FloatArray, added: Added) -> FloatArray:
        """Differentiate the weight of each case and the share of each finding that is right."""
        item, *parts = self._parts(said, labels[None])
        masses, shares, right, weights = (part[0] for part in parts)
        total, value = float(added[0][0, 1]), float(self.of_added(added)[0])
        if np.isnan(value):
            return np.full(labels.shape, np.nan)
        counts = np.maximum(np.bincount(item, masses > 0), 1)
        by_weight = ((right - value) / counts)[item]
        # the product of all other shares of a case; where one is zero, nothing can be divided by it
        is_zero = shares == 0
        logs = np.log(np.where(is_zero, 1.0, shares))
        has_zero = np.bincount(item, is_zero)[item] - is_zero > 0
        others = np.where(has_zero, 0.0, np.exp(np.bincount(item, logs)[item] - logs))
        calls = decisions(said, self.threshold).T
        by_share = (weights[item] * others / np.where(masses > 0, masses, 1.0)) * (calls - shares)
        return np.where(masses > 0, by_weight + by_share, 0.0) / total

    def told(self, added: Added) -> tuple[str, ...]:
        """Say that there are no decisions."""
        return no_decisions(added)

    def _parts(self, said: Said, labels: FloatArray) -> tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Find the case of each row, masses and right shares of rows (n_draws, n), then of cases (n_draws, n_items)."""
        total, hits = labels.sum(axis=1), np.zeros((len(labels), said.n_cases))
        for k, calls in enumerate(decisions(said, self.threshold).T):
            hits += labels[:, k] * calls
        is_known = (total > 0) & (said.weights > 0)
        shares = np.divide(hits, total, out=np.ones_like(total), where=is_known)
        masses = total * said.weights
        # cases are numbered as they first occur, so that sums over them follow the order of rows, not of names
        _, first, inverse = np.unique(said.items, return_index=True, return_inverse=True)
        item = np.argsort(np.argsort(first))[inverse]
        if item.max(initial=0) + 1 == said.n_cases:  # one question: nothing to multiply
            return item, masses, shares, shares, masses
        order = np.argsort(item, kind="stable")
        begins = np.flatnonzero(np.diff(item[order], prepend=-1))
        right = np.multiply.reduceat(shares[:, order], begins, axis=1)
        counts = np.add.reduceat(is_known[:, order].astype(np.float64), begins, axis=1)
        weights = np.add.reduceat(masses[:, order], begins, axis=1) / np.maximum(counts, 1)
        return item, masses, shares, right, weights
