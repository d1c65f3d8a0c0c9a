"""Metrics of a whole data set: what cannot be said case by case, such as the area under a curve.

Such a metric is a function of masses: how much of every case has which label. A label that a draw is sure of has the
mass 1, the plausibility of a condition is a mass between 0 and 1, and the weight of the case multiplies it. The metric
does not change if all masses grow by the same factor, so the sum over all masses of mass times slope is zero, where the
slope is the derivative by the mass. What a case adds to the metric is therefore the sum over labels of mass times
slope: with it, resampled cases, groups, annotators who are left out and refitted priors work as for any mean over
cases.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.errors import DissensusError
from dissensus.metrics.base import KINDS, Average, Drawn, Metric, Predicted, Truth
from dissensus.predictions.lists import Predictions

# Sums over cases in every draw (n_draws, n_sums), of one question after the other.
Added: TypeAlias = Sequence[FloatArray]

# Where scores do not matter.
NO_MARKS = np.empty(0)

# So far into the imaginary numbers a formula is followed to find its derivative, which is exact.
STEP = 1e-30


@dataclass(frozen=True, eq=False)
class Said:
    """Hold what one model said about all cases.

    Attributes
    ----------
    scores : (n_cases, K)
        Score of every condition; a single column of numbers where opinions are numbers.
    picks : (n_cases, K)
        Whether the model puts a condition first; tied conditions share.
    weights : (n_cases,)
        How much each case counts.
    is_binary
        Whether the last of two conditions is the positive one, so that only this one is asked about.
    findings : (n_cases,)
        Which finding each row is about, from 0; all zero where there is one question only.
    items : (n_cases,)
        Which case each row belongs to: the findings of a case share it.
    n_findings
        How many findings all cases have, where some of them may be missing here.
    marks : (n_marks,) of each question
        Where these are some of the cases: the different scores of all, or where bins of scores begin, ascending.
    """

    scores: FloatArray
    picks: FloatArray
    weights: FloatArray
    is_binary: bool
    findings: IntArray
    items: IntArray
    n_findings: int = 1
    marks: tuple[FloatArray, ...] = ()

    @property
    def n_cases(self) -> int:
        """Number of rows."""
        return len(self.weights)

    @property
    def n_conditions(self) -> int:
        """Number of conditions, K."""
        return int(self.scores.shape[1])

    def weighted(self, masses: FloatArray, rows: IntArray) -> FloatArray:
        """Take some cases of masses (..., n_cases), times their weights; what need not be copied is as it is.

        Examples
        --------
        >>> said = Said.of_scores(np.array([[0.2, 0.8], [0.6, 0.4]]), np.array([1.0, 3.0]))
        >>> said.weighted(np.array([0.1, 0.5]), np.array([1]))
        array([1.5])
        """
        own = masses if len(rows) == self.n_cases else np.take(masses, rows, axis=-1)
        return np.asarray(own * self.weights[rows]) if (self.weights != 1.0).any() else own

    def select(self, rows: IntArray) -> Said:
        """Keep some rows.

        Examples
        --------
        >>> said = Said.of_scores(np.array([[0.2, 0.8], [0.6, 0.4]]), is_binary=True)
        >>> said.select(np.array([1])).scores
        array([[0.6, 0.4]])
        """
        parts = ("scores", "picks", "weights", "findings", "items")
        return replace(self, **{name: getattr(self, name)[rows] for name in parts})

    @staticmethod
    def of_scores(scores: FloatArray, weights: FloatArray | None = None, *, is_binary: bool = False) -> Said:
        """Take scores (n_cases, K) of cases that stand alone.

        Examples
        --------
        >>> Said.of_scores(np.array([[0.2, 0.8], [0.5, 0.5]])).picks
        array([[0. , 1. ],
               [0.5, 0.5]])
        """
        numbers = np.arange(len(scores), dtype=np.int64)
        given = np.ones(len(scores)) if weights is None else weights
        return Said(scores, first_shares(scores), given, is_binary, np.zeros_like(numbers), numbers)

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """What is asked: whether a finding is present, or whether a condition is the one; one question each."""
        if not self.is_binary:
            everyone = np.arange(self.n_cases, dtype=np.int64)
            return tuple(Question(everyone, k) for k in range(self.n_conditions))
        last = self.n_conditions - 1
        return tuple(Question(rows, last) for rows in self.rows_of_findings)

    @cached_property
    def rows_of_findings(self) -> tuple[IntArray, ...]:
        """Positions of the rows about each finding; none where a finding is missing here."""
        number = max(self.n_findings, int(self.findings.max(initial=0)) + 1)
        return tuple(np.flatnonzero(self.findings == one) for one in range(number))


class Question(NamedTuple):
    """Ask whether one condition is the label, or what the label is.

    Attributes
    ----------
    rows : (m,)
        Positions of the cases that it is asked about.
    condition
        Code of the condition; -1 where all labels count.
    """

    rows: IntArray
    condition: int


def first_shares(scores: FloatArray) -> FloatArray:
    """Tell which condition has the highest score (n_cases, K); tied ones share.

    >>> first_shares(np.array([[1.0, 3.0, 3.0]]))
    array([[0. , 0.5, 0.5]])
    """
    best = scores == scores.max(axis=1, keepdims=True, initial=-np.inf)
    return np.asarray(best / np.maximum(best.sum(axis=1, keepdims=True), 1))


class DataSetMetric(Metric):
    """Compare all cases of a draw at once: a formula of sums over cases, which pieces of a study add up.

    A new one is a frozen dataclass like any metric, with a parameter ``truth`` and four functions in the place of
    :meth:`values`. Parameters ``average`` and ``threshold`` mean the same in all of them.
    """

    sees = "data set"

    # Whether sums over cases are all that it needs; otherwise :meth:`of_draws` and :meth:`slopes_at` see all cases.
    is_summed: ClassVar[bool] = True

    truth: Truth

    def check(self, predictions: Predictions) -> None:
        """Refuse predictions of another kind, and a threshold where there are no scores."""
        super().check(predictions)
        if getattr(self, "threshold", None) is not None and predictions.kind != "scores":
            advice = "leave the threshold out, so that what the model puts first is its decision"
            raise self.refusal(predictions, "needs scores", got=KINDS[predictions.kind], advice=advice)

    @abstractmethod
    def added(self, said: Said, labels: FloatArray) -> Added:
        """Add up the cases in every draw: arrays of shape (n_draws, n_sums).

        Parameters
        ----------
        labels : (n_draws, K, n_cases)
            How much of each case has which label, before weights: between 0 and 1, together at most 1.
        """

    def of_added(self, added: Added) -> FloatArray:
        """Return the metric of every draw, shape (n_draws,); nan where it is undefined."""
        raise NotImplementedError

    @abstractmethod
    def slopes_at(self, said: Said, labels: FloatArray, added: Added) -> FloatArray:
        """Return the derivatives by the masses of some cases (K, n_cases), given the sums over all of them.

        A mass is label times weight. Where the metric is undefined, so are all slopes: nan.
        """

    @abstractmethod
    def rests_upon(self, added: Added) -> float:
        """Return on how many cases the metric rests in the only draw.

        Sensitivity rests on the positive cases; an area under a curve on positive or negative ones, whichever are
        fewer. An interval is never narrower than so few cases allow. Cases count by their weights: it is a mass.
        """

    def told(self, added: Added) -> tuple[str, ...]:  # noqa: ARG002 - most have nothing to say
        """Say in short sentences what makes the metric meaningless on the cases of the only draw, if anything does."""
        return ()

    def of_draws(self, said: Said, labels: FloatArray) -> FloatArray:
        """Return the metric of every draw, shape (n_draws,); nan where it is undefined."""
        return self.of_added(self.added(said, labels))

    def slopes(self, said: Said, labels: FloatArray) -> FloatArray:
        """Return the derivative by every mass, shape (K, n_cases), at the masses ``labels`` (K, n_cases)."""
        return self.slopes_at(said, labels, self.added(said, labels[None]))

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:  # noqa: ARG002
        """Refuse: there is no value of one case."""
        advice = "evaluate it with dissensus.evaluate"
        raise DissensusError(f"{self.name} is a metric of a whole data set", got="some cases at a time", advice=advice)


# Questions -------------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """Hold what is known of the cases of one question, or of several that count as one.

    Attributes
    ----------
    stated : (m,) or (m, K)
        What the model says: scores, or decisions between 0 and 1.
    masses : (n_draws, 2, m) or (n_draws, K, m)
        Mass of each case that is negative and that is positive, or by label; weights are in them.
    questions
        Where the cases come from.
    marks : (n_marks,)
        The different scores of all cases, or where bins of them begin, ascending.
    """

    stated: FloatArray
    masses: FloatArray
    questions: tuple[Question, ...]
    marks: FloatArray = NO_MARKS

    def spread(self, slopes: FloatArray, found: FloatArray) -> None:
        """Add slopes by these masses to those of all labels and cases (K, n_cases)."""
        start = 0
        for rows, condition in self.questions:
            own, start = slopes[:, start : start + len(rows)], start + len(rows)
            for k in range(len(found)):
                found[k, rows] += own[k if condition < 0 else int(k == condition)]


class QuestionMetric(DataSetMetric):
    """Compare all cases of a draw at once, as the mean over questions such as one of every finding.

    The metric of a question is a formula of sums, which is followed into the imaginary numbers to find its derivatives,
    unless :meth:`of_part` and :meth:`part_slopes` say otherwise; and sums are of :meth:`columns`, unless :meth:`sums`
    and :meth:`chained` do.
    """

    @abstractmethod
    def parts(self, said: Said, labels: FloatArray) -> list[Part]:
        """Ask all questions of masses (n_draws, K, n_cases)."""

    def columns(self, part: Part) -> FloatArray:
        """Return what a unit of each mass of a part adds to every sum, shape (2, n_sums, m) or (K, n_sums, m)."""
        raise NotImplementedError

    def sums(self, part: Part) -> FloatArray:
        """Add up the cases of a question in every draw, shape (n_draws, n_sums)."""
        from dissensus.kernels.label_sums import weighted_sums

        return weighted_sums(part.masses, self.columns(part))

    def of_sums(self, sums: Any) -> Any:
        """Return the metric (n,) of sums (n, n_sums); plain arithmetic, since they may be complex."""
        raise NotImplementedError

    def chained(self, part: Part, by_sums: FloatArray) -> FloatArray:
        """Turn derivatives by the sums (n_sums,) into those by the masses of a part, (2, m) or (K, m)."""
        return np.asarray(np.einsum("s,ksm->km", by_sums, self.columns(part)))

    def of_part(self, sums: FloatArray) -> FloatArray:
        """Return the metric of one question in every draw; what rounding overdoes is brought back into the range."""
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.asarray(self.of_sums(sums))
        return np.where(np.isfinite(values), np.clip(values, *self.range), np.nan)

    def part_slopes(self, part: Part, sums: FloatArray) -> FloatArray:
        """Return derivatives by the masses of a part, given the sums (1, n_sums) over all cases."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.chained(part, np.imag(self.of_sums(sums + 1j * STEP * np.eye(sums.shape[1]))) / STEP)

    @abstractmethod
    def size(self, sums: FloatArray) -> float:
        """Return on how many cases of the only draw the metric of one question rests."""

    def added(self, said: Said, labels: FloatArray) -> Added:
        """Add up the cases of every question."""
        return [self.sums(one) for one in self.parts(said, labels)]

    def of_added(self, added: Added) -> FloatArray:
        """Return the metric of every draw, shape (n_draws,)."""
        return averaged(np.stack([self.of_part(one) for one in added]), self._shares(added))

    def slopes_at(self, said: Said, labels: FloatArray, added: Added) -> FloatArray:
        """Return the derivatives by the masses of some cases, shape (K, n_cases)."""
        values = np.stack([self.of_part(one) for one in added])[:, 0]
        shares = np.where(np.isnan(values), 0.0, self._shares(added)[:, 0])
        total, found = shares.sum(), np.zeros(labels.shape)
        if not total:
            return np.full(labels.shape, np.nan)
        mean = float(np.nansum(shares * values) / total)
        for one, sums, value, share in zip(self.parts(said, labels[None]), added, values, shares, strict=True):
            if share:
                slopes = self.part_slopes(one, sums) * (share / total)
                if getattr(self, "average", "") == "weighted":  # a positive case also makes its question count more
                    slopes[1] += (value - mean) / total
                one.spread(slopes, found)
        return found

    def rests_upon(self, added: Added) -> float:
        """Return on how many cases the metric rests: of a mean over questions, on more than each of them."""
        sizes, shares = np.array([self.size(one) for one in added]), self._shares(added)[:, 0]
        known = (sizes > 0) & (shares > 0)
        return float(shares[known].sum() ** 2 / (shares[known] ** 2 / sizes[known]).sum()) if known.any() else 0.0

    def _shares(self, added: Added) -> FloatArray:
        """Return how much each question counts in every draw, shape (questions, n_draws)."""
        return np.ones((len(added), len(added[0])))


class BinaryMetric(QuestionMetric):
    """Compare all cases of a draw at once, where the answer to a question is yes or no.

    Several questions, such as whether each of several findings is present, or whether each of several conditions is the
    one, are averaged. A parameter ``average`` says how.
    """

    # Of which cases there must be some.
    about: ClassVar[tuple[str, ...]] = ("positive", "negative")

    # Whether :meth:`by_answer` says it all where every draw is sure of its labels, and all cases are at hand.
    is_counted: ClassVar[bool] = False

    average: Average

    @abstractmethod
    def stated(self, said: Said, question: Question) -> FloatArray:
        """Return what the model says on the cases of a question, shape (m,): scores, or decisions between 0 and 1."""

    def parts(self, said: Said, labels: FloatArray) -> list[Part]:
        """Ask all questions of masses (n_draws, K, n_cases), each on its own or all as one."""
        parts, totals = [], None if labels.shape[1] == 2 else labels.sum(axis=1)
        for number, question in enumerate(said.questions):
            rows, k = question
            if totals is None:
                masses = said.weighted(labels if k else labels[:, ::-1], rows)
            else:
                positive = said.weighted(labels[:, k], rows)
                masses = np.stack([said.weighted(totals, rows) - positive, positive], axis=1)
            stated = self.stated(said, question)
            parts.append(Part(stated, masses, (question,), said.marks[number] if said.marks else stated))
        if self.average != "micro" or len(parts) == 1:
            return parts
        stated, masses, marks = (np.concatenate([one[i] for one in parts], axis=-1) for i in (0, 1, 3))
        return [Part(stated, masses, said.questions, marks)]

    def by_answer(self, said: Said, question: Question) -> FloatArray:
        """Return what every case adds to a few sums if the answer is no, and if it is yes, shape (2, n_sums, m)."""
        raise NotImplementedError

    def of_answers(self, sums: FloatArray) -> FloatArray:
        """Turn sums (n_draws, n_sums) of :meth:`by_answer` into :meth:`sums` of which the metric is the same."""
        return sums

    @abstractmethod
    def amounts(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the positive mass of a question in every draw, and all of it, each (n_draws,)."""

    def _shares(self, added: Added) -> FloatArray:
        """Return how much each question counts: by its positive mass if this is asked for."""
        if self.average != "weighted":
            return super()._shares(added)
        return np.stack([self.amounts(one)[0] for one in added])

    def told(self, added: Added) -> tuple[str, ...]:
        """Say that there are next to no cases of those that it is about."""
        positive, totals = np.array([self.amounts(one) for one in added])[..., 0].T
        masses = {"positive": positive, "negative": totals - positive}
        return few({word: masses[word] for word in self.about}, totals)


def averaged(values: FloatArray, shares: FloatArray) -> FloatArray:
    """Average over the questions that have a value (questions, n_draws); nan where none has.

    >>> averaged(np.array([[1.0, np.nan], [0.5, np.nan]]), np.ones((2, 2)))
    array([0.75,  nan])
    """
    known = ~np.isnan(values) & (shares > 0)
    weights = np.where(known, shares, 0.0)
    sums = (weights * np.where(known, values, 0.0)).sum(axis=0)
    total = weights.sum(axis=0)
    return np.asarray(np.divide(sums, total, out=np.full(total.shape, np.nan), where=total > 0))


# With fewer cases than this, weighted and expected, a share of them says next to nothing.
FEWEST = 5.0


def few(amounts: Mapping[str, FloatArray], totals: FloatArray) -> tuple[str, ...]:
    """Say of which kinds of cases there are few.

    Parameters
    ----------
    amounts, totals
        How many there are of each kind, such as "positive", and how many cases there are at all, for each question.

    Examples
    --------
    >>> few({"positive": np.array([2.25]), "negative": np.array([497.75])}, np.array([500.0]))
    ('only 2.2 of 500 cases are positive',)
    >>> few({"positive": np.array([2.25, 80.0])}, np.array([500.0, 500.0]))
    ('in 1 of 2 questions fewer than 5 cases are positive',)
    """
    words = []
    for what, found in amounts.items():
        n_scarce = sum(amount < FEWEST for amount in found)
        if n_scarce and len(found) > 1:
            words.append(f"in {n_scarce} of {len(found)} questions fewer than {FEWEST:g} cases are {what}")
        elif n_scarce:
            amount, total = (f"{number:.1f}".removesuffix(".0") for number in (found[0], totals[0]))
            words.append(f"only {amount} of {total} cases {'is' if found[0] == 1 else 'are'} {what}")
    return tuple(words)
