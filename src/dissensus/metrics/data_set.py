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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.errors import DissensusError
from dissensus.metrics.base import KINDS, Average, Drawn, Metric, Predicted, Truth
from dissensus.predictions.lists import Predictions

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    """

    scores: FloatArray
    picks: FloatArray
    weights: FloatArray
    is_binary: bool
    findings: IntArray
    items: IntArray

    @property
    def n_cases(self) -> int:
        """Number of rows."""
        return len(self.weights)

    @property
    def n_conditions(self) -> int:
        """Number of conditions, K."""
        return int(self.scores.shape[1])

    @cached_property
    def _is_weighted(self) -> bool:
        return bool((self.weights != 1.0).any())

    def weighted(self, masses: FloatArray, rows: IntArray) -> FloatArray:
        """Multiply masses (..., m) by the weights of their cases; where all weigh one, masses are as they are.

        Examples
        --------
        >>> said = Said.of_scores(np.array([[0.2, 0.8], [0.6, 0.4]]), np.array([1.0, 3.0]))
        >>> said.weighted(np.array([0.5]), np.array([1]))
        array([1.5])
        """
        return np.asarray(masses * self.weights[rows]) if self._is_weighted else masses

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
        return tuple(Question(np.flatnonzero(self.findings == one), last) for one in np.unique(self.findings))


class Question(NamedTuple):
    """Ask whether one condition is the label.

    Attributes
    ----------
    rows : (m,)
        Positions of the cases that it is asked about.
    condition
        Code of the condition.
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


def at_threshold(name: str, threshold: float | None) -> str:
    """Add a threshold to a name.

    >>> at_threshold("sensitivity", 0.5), at_threshold("sensitivity", None)
    ('sensitivity at threshold 0.5', 'sensitivity')
    """
    return name if threshold is None else f"{name} at threshold {threshold:g}"


def check_share(name: str, value: object, *, up_to: str = "below 1") -> None:
    """Refuse what is not a number between 0 and 1; 0 never counts, and 1 counts where it is said."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0 < float(value) <= 1 or (up_to == "below 1" and value == 1):  # type: ignore[arg-type]
        raise DissensusError(f"{name} must be above 0 and {up_to}", got=repr(value))


class DataSetMetric(Metric):
    """Compare all cases of a draw at once.

    A new one is a frozen dataclass like any metric, with a ``short_name``, a parameter ``truth`` and three functions of
    masses in the place of :meth:`values`. Parameters ``average`` and ``threshold`` mean the same in all of them.
    """

    sees = "data set"
    # What it is called, whatever the threshold, the average and the truth are.
    short_name: ClassVar[str] = ""

    truth: Truth

    @property
    def threshold_of_decisions(self) -> float | None:
        """Cases whose score is at least this are called positive; without one, what the model puts first is."""
        return getattr(self, "threshold", None)

    @property
    def name(self) -> str:
        """What the metric is called: how questions are averaged and what the truth is, where that is not the usual."""
        words = [word for word in (getattr(self, "average", "macro"), self.truth) if word not in ("macro", "top")]
        called = at_threshold(self.short_name, self.threshold_of_decisions)
        return f"{called} ({', '.join(words)})" if words else called

    def check(self, predictions: Predictions) -> None:
        """Refuse predictions of another kind, and a threshold where there are no scores."""
        super().check(predictions)
        if self.threshold_of_decisions is not None and predictions.kind != "scores":
            raise DissensusError(
                f"{self.name} needs scores",
                got=KINDS[predictions.kind],
                where=f"model {predictions.name!r}",
                advice="leave the threshold out, so that what the model puts first is its decision",
            )

    @abstractmethod
    def of_draws(self, said: Said, labels: FloatArray) -> FloatArray:
        """Return the metric of every draw, shape (n_draws,); nan where it is undefined.

        Parameters
        ----------
        labels : (n_draws, K, n_cases)
            How much of each case has which label, before weights: between 0 and 1, together at most 1.
        """

    @abstractmethod
    def slopes(self, said: Said, labels: FloatArray) -> FloatArray:
        """Return the derivative of the metric by every mass, shape (K, n_cases), at the masses ``labels`` (K, n_cases).

        A mass is label times weight. Where the metric is undefined, so are all slopes: nan.
        """

    @abstractmethod
    def counted(self, said: Said, labels: FloatArray) -> float:
        """Return on how many cases the metric rests at the masses ``labels`` (K, n_cases).

        Sensitivity rests on the positive cases; an area under a curve on positive or negative ones, whichever are
        fewer. An interval is never narrower than so few cases allow. Cases count by their weights: it is a mass.
        """

    def remarks(self, said: Said, labels: FloatArray) -> tuple[str, ...]:  # noqa: ARG002 - most have nothing to say
        """Say in short sentences what makes the metric meaningless on these cases, if anything does."""
        return ()

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:  # noqa: ARG002
        """Refuse: there is no value of one case."""
        raise DissensusError(
            f"{self.name} is a metric of a whole data set",
            got="some cases at a time",
            advice="evaluate it with dissensus.evaluate",
        )


class BinaryMetric(DataSetMetric):
    """Compare all cases of a draw at once, where the answer to a question is yes or no.

    Several questions, such as whether each of several findings is present, or whether each of several conditions is the
    one, are averaged. A parameter ``average`` says how.
    """

    average: Average

    @abstractmethod
    def stated(self, said: Said, question: Question) -> FloatArray:
        """Return what the model says on the cases of a question, shape (m,): scores, or decisions between 0 and 1."""

    @abstractmethod
    def of_masses(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Return the metric of one question in every draw, shape (n_draws,).

        Parameters
        ----------
        stated : (m,)
            What the model says.
        positive, negative : (n_draws, m)
            Mass of each case that is positive, and that is negative; weights are in them.
        """

    @abstractmethod
    def mass_slopes(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Return the derivatives by the negative and the positive mass (m,) of each case, shape (2, m)."""

    @abstractmethod
    def mass_counted(self, stated: FloatArray, positive: FloatArray, negative: FloatArray) -> float:
        """Return on how many cases the metric of one question rests; masses are (m,)."""

    def of_draws(self, said: Said, labels: FloatArray) -> FloatArray:
        """Return the metric of every draw, shape (n_draws,)."""
        asked = self._asked(said, labels)
        values = np.stack([self.of_masses(one.stated, one.positive, one.negative) for one in asked])
        return averaged(values, self._shares(asked))

    def slopes(self, said: Said, labels: FloatArray) -> FloatArray:
        """Return the derivative of the metric by every mass, shape (K, n_cases)."""
        asked = self._asked(said, labels[None])
        values = np.stack([self.of_masses(one.stated, one.positive, one.negative) for one in asked])[:, 0]
        shares = np.where(np.isnan(values), 0.0, self._shares(asked)[:, 0])
        total, found = shares.sum(), np.zeros(labels.shape)
        if not total:
            return np.full(labels.shape, np.nan)
        mean = float(np.nansum(shares * values) / total)
        for one, value, share in zip(asked, values, shares, strict=True):
            if share:
                both = self.mass_slopes(one.stated, one.positive[0], one.negative[0]) * (share / total)
                gain = (value - mean) / total if self.average == "weighted" else 0.0
                one.spread(both + gain * np.array([[0.0], [1.0]]), found)
        return found

    def counted(self, said: Said, labels: FloatArray) -> float:
        """Return on how many cases the metric rests: of a mean over questions, on more than each of them."""
        asked = self._asked(said, labels[None])
        sizes = np.array([self.mass_counted(one.stated, one.positive[0], one.negative[0]) for one in asked])
        shares = self._shares(asked)[:, 0]
        known = (sizes > 0) & (shares > 0)
        if not known.any():
            return 0.0
        return float(shares[known].sum() ** 2 / (shares[known] ** 2 / sizes[known]).sum())

    def _shares(self, asked: Sequence[_Asked]) -> FloatArray:
        """Return how much each question counts in every draw, shape (questions, n_draws)."""
        if self.average == "weighted":
            return np.stack([one.positive.sum(axis=1) for one in asked])
        return np.ones((len(asked), asked[0].positive.shape[0]))

    def _asked(self, said: Said, labels: FloatArray) -> list[_Asked]:
        """Ask all questions of masses (n_draws, K, n_cases), each on its own or all as one."""
        totals = labels.sum(axis=1) * said.weights if labels.shape[1] != 2 else None
        parts = []
        for question in said.questions:
            rows, k = question
            masses = labels[:, k], labels[:, 1 - k] if totals is None else totals
            if len(rows) < said.n_cases:  # otherwise they need not be copied
                masses = np.take(masses[0], rows, axis=1), np.take(masses[1], rows, axis=1)
            positive = said.weighted(masses[0], rows)
            negative = said.weighted(masses[1], rows) if totals is None else masses[1] - positive
            parts.append(_Asked(self.stated(said, question), positive, negative, (question,)))
        if self.average != "micro" or len(parts) == 1:
            return parts
        stated, positive, negative = (np.concatenate([one[i] for one in parts], axis=-1) for i in range(3))
        return [_Asked(stated, positive, negative, said.questions)]


class _Asked(NamedTuple):
    """Masses of the cases of one question, or of several that count as one."""

    stated: FloatArray
    positive: FloatArray
    negative: FloatArray
    questions: tuple[Question, ...]

    def spread(self, slopes: FloatArray, found: FloatArray) -> None:
        """Add slopes (2, m) to those of all conditions and cases (K, n_cases)."""
        start = 0
        for one in self.questions:
            stop = start + len(one.rows)
            negative, positive = slopes[:, start:stop]
            for k in range(len(found)):
                found[k, one.rows] += positive if k == one.condition else negative
            start = stop


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


def few(what: str, amounts: Sequence[float] | FloatArray, totals: Sequence[float] | FloatArray) -> tuple[str, ...]:
    """Say that there are few cases of a kind, if there are.

    Parameters
    ----------
    what
        What the cases are, such as "positive".
    amounts, totals
        How many there are, and how many cases there are at all, for each question.

    Examples
    --------
    >>> few("positive", [2.25], [500.0])
    ('only 2.2 of 500 cases are positive',)
    >>> few("positive", [2.25, 80.0], [500.0, 500.0])
    ('in 1 of 2 questions fewer than 5 cases are positive',)
    """
    scarce = [(amount, total) for amount, total in zip(amounts, totals, strict=True) if amount < FEWEST]
    if not scarce:
        return ()
    if len(amounts) == 1:
        amount, total = scarce[0]
        verb = "is" if amount == 1 else "are"
        return (f"only {_written(amount)} of {_written(total)} cases {verb} {what}",)
    return (f"in {len(scarce)} of {len(amounts)} questions fewer than {FEWEST:g} cases are {what}",)


def _written(amount: float) -> str:
    return f"{amount:.1f}".removesuffix(".0")


def question_masses(said: Said, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the positive mass of each question, and all of it, at the masses ``labels`` (K, n_cases).

    >>> said = Said.of_scores(np.array([[0.2, 0.8], [0.6, 0.4]]), is_binary=True)
    >>> question_masses(said, np.array([[0.0, 0.5], [1.0, 0.5]]))
    (array([1.5]), array([2.]))
    """
    weighted = labels * said.weights
    totals = weighted.sum(axis=0)
    asked = said.questions
    positive = np.array([weighted[one.condition, one.rows].sum() for one in asked])
    return positive, np.array([totals[one.rows].sum() for one in asked])
