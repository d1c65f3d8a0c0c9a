"""Curves of a whole data set with pointwise bands: receiver operating characteristic, precision, reliability, benefit.

A curve is the mean over draws at every place of a fixed grid, so that the area under the mean curve is the mean area.
Its band holds what resampled cases, each resample with the labels of one draw, do at that place; a case is added at
either end of the range, as for intervals of metrics. Cases are summed in the order of their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias, get_args

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray, Value
from dissensus.core.ragged import weighted_counts
from dissensus.evaluation.intervals import end_weights, ratio
from dissensus.evaluation.labels import Labels, LabelsByTruth
from dissensus.evaluation.sums import CaseWeights
from dissensus.metrics.base import CurveKind, Metric, Truth
from dissensus.metrics.data_set import DataSetMetric, Question, Said
from dissensus.metrics.decisions import decisions, probabilities_of
from dissensus.metrics.probabilities import bin_of

# All kinds of curves, in the order of tables and pages.
KINDS: tuple[CurveKind, ...] = get_args(CurveKind)

# What a decision curve calls the decision that every case is positive.
EVERYBODY = "treat all"

# How often cases are resampled, and how many draws are looked at.
RESAMPLES = 100

# Scores are put into so many steps at most, with about as many cases each; equal scores share one.
MOST_STEPS = 512

# Curves are kept of so many findings or conditions, those with the most positive cases.
MOST_QUESTIONS = 24

# Confusion matrices are kept of so many conditions at most.
MOST_CONDITIONS = 12

# How many masses of labels are looked at at a time: 32 MB.
AT_ONCE = 4_000_000

RATES = np.linspace(0.0, 1.0, 101)
RECALLS = np.linspace(0.01, 1.0, 100)
THRESHOLDS = np.linspace(0.01, 0.99, 99)
N_BINS = 10
NEAR = 1e-12


@dataclass(frozen=True, eq=False)
class Curve(Value):
    """One curve of one model, or one row of its confusion matrix.

    Attributes
    ----------
    kind, run, model
        What it shows, the label of the run, and the model.
    question
        The finding or the condition that is asked about; empty where there is only one question.
    truth
        What the label of a case is: "top", the most plausible condition of a draw, or "soft", all by plausibility.
    given
        Of a row of a confusion matrix, the label.
    x, y, low, high : (n_points,)
        The places, the mean over draws, and the band. Places of a confusion matrix are codes of conditions, and values
        are expected numbers of cases.
    sizes : (n_points,)
        Of a reliability diagram, how many cases there are at each place; otherwise empty.
    """

    kind: str
    run: str
    model: str
    question: str
    truth: str
    given: str
    x: FloatArray
    y: FloatArray
    low: FloatArray
    high: FloatArray
    sizes: FloatArray


# Places and heights ----------------------------------------------------------------------------------------


def rank_steps(counts: IntArray) -> IntArray:
    """Put different scores, each of so many cases, into steps of about as many cases: not too many.

    >>> rank_steps(np.array([1, 2]))
    array([0, 1])
    """
    if len(counts) <= MOST_STEPS:
        return np.arange(len(counts))
    before = np.cumsum(counts) - counts
    return np.unique(before * MOST_STEPS // counts.sum(), return_inverse=True)[1].astype(np.int64)


def reached(probabilities: FloatArray) -> IntArray:
    """Count the thresholds of a decision curve that probabilities reach.

    >>> reached(np.array([0.0, 0.015, 1.0]))
    array([ 0,  1, 99])
    """
    return np.asarray(np.searchsorted(THRESHOLDS, probabilities + NEAR, side="right"), dtype=np.int64)


def roc_heights(yes: FloatArray, no: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sensitivities at the false positive rates of the grid, and the positive mass that they rest on.

    Parameters
    ----------
    yes, no : (n, n_steps)
        Positive and negative mass of each step, highest scores first.

    Examples
    --------
    >>> roc_heights(np.array([[1.0, 0.0, 1.0]]), np.array([[0.0, 1.0, 0.0]]))[0][0, [0, 99, 100]]
    array([0.5, 0.5, 1. ])
    """
    from dissensus.kernels.label_sums import heights_and_areas

    rates = np.minimum(RATES + NEAR, 1.0)  # a rate that is met but for rounding is met
    found = heights_and_areas(yes, no, rates)[0].T
    return found, np.broadcast_to(yes.sum(axis=1)[:, None], found.shape)


def precision_heights(yes: FloatArray, no: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return precisions at the recalls of the grid, and the mass of the cases that are called positive there.

    >>> precision_heights(np.array([[1.0, 0.0, 1.0]]), np.array([[0.0, 1.0, 0.0]]))[0][0, [49, 99]].round(3)
    array([1.   , 0.667])
    """
    found, masses = np.full((2, len(yes), len(RECALLS)), np.nan)
    for row in np.flatnonzero(yes.sum(axis=1) > 0):
        sums, alarms = (np.append(0.0, np.cumsum(masses_of)) for masses_of in (yes[row], no[row]))
        heights, positive = sums / sums[-1], yes[row].sum()
        at = np.maximum(np.searchsorted(heights, RECALLS - NEAR, side="left") - 1, 0)
        after = np.minimum(at + 1, len(heights) - 1)
        gaps = heights[after] - heights[at]
        # how far on the way to the next step the recall is met
        way = np.clip(np.divide(RECALLS - heights[at], gaps, out=np.zeros_like(RECALLS), where=gaps > 0), 0.0, 1.0)
        false = alarms[at] + way * (alarms[after] - alarms[at])
        masses[row] = RECALLS * positive + false
        found[row] = RECALLS * positive / masses[row]
    return found, masses


def net_benefits(yes: FloatArray, no: FloatArray) -> tuple[FloatArray, None]:
    """Return the net benefit at every threshold, which is a share of nothing; steps are numbers of thresholds reached.

    >>> net_benefits(np.eye(1, 100, 99), np.eye(1, 100, 0))[0][0, [0, 98]]
    array([0.5, 0.5])
    """
    hits, alarms = (masses[:, ::-1].cumsum(axis=1)[:, ::-1] for masses in (yes, no))
    gained = hits[:, 1:] - alarms[:, 1:] * (THRESHOLDS / (1 - THRESHOLDS))
    return ratio(gained, (hits + alarms)[:, :1]), None


class Sort(NamedTuple):
    """What curves of a kind are made of.

    Attributes
    ----------
    stated, codes, number
        What a model says about the cases of a question, the steps that they fall into by it, and how many there are;
        missing where steps are those of scores by rank.
    heights
        What becomes of positive and negative masses (n, n_steps): values, and the mass that they are shares of, if any.
    grid
        The places; missing where they are the mean probabilities of bins.
    """

    stated: Callable[[Said, Question], FloatArray]
    codes: Callable[[FloatArray], IntArray] | None
    number: int
    heights: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray | None]]
    grid: FloatArray | None


def scores_of(said: Said, question: Question) -> FloatArray:
    """Return the score of the condition that is asked about, shape (m,)."""
    return np.asarray(said.scores[question.rows, question.condition])


def tenths(stated: FloatArray) -> IntArray:
    """Put probabilities into ten bins of equal width, as a calibration error does."""
    return bin_of(stated, N_BINS)


SORTS: Mapping[str, Sort] = {
    "roc": Sort(scores_of, None, 0, roc_heights, RATES),
    "precision-recall": Sort(scores_of, None, 0, precision_heights, RECALLS),
    "reliability": Sort(probabilities_of, tenths, N_BINS, lambda yes, no: (ratio(yes, yes + no), yes + no), None),
    "decision": Sort(probabilities_of, reached, len(THRESHOLDS) + 1, net_benefits, THRESHOLDS),
}


# What is drawn ---------------------------------------------------------------------------------------------


class Wish(NamedTuple):
    """A kind of curve, the truth that it is drawn against, and the threshold of decisions."""

    kind: CurveKind
    truth: Truth
    threshold: float | None = None


def wishes(metrics: Sequence[Metric], truths: Sequence[Truth], n_conditions: int) -> tuple[Wish, ...]:
    """Choose the curves of some metrics: every kind once, with the truth of the first metric that it shows.

    >>> from dissensus.metrics import AUROC
    >>> [wish.kind for wish in wishes([AUROC()], ["top"], 2)]
    ['roc', 'precision-recall']
    """
    found: dict[str, Wish] = {}
    for metric in metrics:
        truth: Truth = metric.truth if isinstance(metric, DataSetMetric) else truths[0]
        for kind in metric.curves:
            if kind not in found and truth in truths and (kind != "confusion" or n_conditions <= MOST_CONDITIONS):
                found[kind] = Wish(kind, truth, getattr(metric, "threshold", None) if kind == "confusion" else None)
    return tuple(found[kind] for kind in KINDS if kind in found)


# What every model said, labels of draws by truth, and what is resampled together, all in the order of keys.
Cases: TypeAlias = tuple[tuple[Said, ...], LabelsByTruth, CaseWeights]


@dataclass(frozen=True, eq=False)
class Sheet:
    """Draw the curves of one run.

    Attributes
    ----------
    pieces
        Gives the cases, some at a time.
    models
        Names of the models.
    names
        Of the questions: findings or conditions.
    conditions
        Names of the conditions.
    is_binary
        Whether the last of two conditions is the positive one.
    run, level
        Label of the run, and the probability that bands hold at each place.
    """

    pieces: Callable[[], Iterable[Cases]]
    models: tuple[str, ...]
    names: tuple[str, ...]
    conditions: tuple[str, ...]
    is_binary: bool
    run: str
    level: float

    def curves(self, wanted: Sequence[Wish]) -> tuple[Curve, ...]:
        """Draw all curves that are wanted, kind by kind and question by question."""
        if not wanted:
            return ()
        # all questions, or those with the most positive cases
        sums = np.zeros(len(self.names))
        for said, labels, _ in self.pieces():
            masses = labels[wanted[0].truth].means * said[0].weights[:, None]
            sums += [float(masses[one.rows, one.condition].sum()) for one in said[0].questions]
        most = sorted(np.argsort(-sums, kind="stable")[:MOST_QUESTIONS].tolist())
        drawn = [one for place in most for one in self._of_question(place, wanted)]
        return tuple(sorted(drawn, key=lambda one: [*map(str, KINDS)].index(one.kind)))

    def _of_question(self, place: int, wanted: Sequence[Wish]) -> Iterator[Curve]:
        for truth in dict.fromkeys(wish.truth for wish in wanted):
            own = [wish for wish in wanted if wish.truth == truth]
            sorts = {SORTS[wish.kind].codes: SORTS[wish.kind] for wish in own if wish.kind in SORTS}
            sums = self._sums(place, truth, list(sorts.values())) if sorts else []
            for wish in own:
                if wish.kind in SORTS:
                    which = list(sorts).index(SORTS[wish.kind].codes)
                    yield from self._drawn(wish, place, [of_model[which] for of_model in sums])
                elif self.is_binary or place == 0:  # several conditions share one matrix
                    yield from self._matrices(wish, place)

    @cached_property
    def _n_draws(self) -> dict[Truth, int]:
        """How many draws are looked at, by truth."""
        return {truth: len(_chosen(labels)) for truth, labels in next(iter(self.pieces()))[1].items()}

    def _drawn(self, wish: Wish, place: int, sums: Sequence[FloatArray]) -> Iterator[Curve]:
        """Turn the sums (2, 2, n, n_steps) of every model into curves and their bands."""
        sort, n_draws, by_model = SORTS[wish.kind], self._n_draws[wish.truth], dict(enumerate(sums))
        if wish.kind == "decision":
            all_positive = np.zeros_like(sums[0])
            all_positive[..., -1] = sums[0].sum(axis=-1)
            by_model[-1] = all_positive
        for m, own in by_model.items():
            (centres, _), (values, masses) = sort.heights(*own[0][:, :n_draws]), sort.heights(*own[1])
            x, sizes = (sort.grid, None) if sort.grid is not None else self._bins(m, place)
            whose = (wish, EVERYBODY if m < 0 else self.models[m], self.names[place])
            ended = values if masses is None else self._ended(values, masses)
            yield self._curve(whose, x, centres, ended, sizes=sizes)

    def _bins(self, m: int, place: int) -> tuple[FloatArray, FloatArray]:
        """Return the mean probability of every bin, and the number of its cases."""
        found = np.zeros((2, N_BINS))
        for said, _, _ in self.pieces():
            question = said[m].questions[place]
            stated, weights = probabilities_of(said[m], question), said[m].weights[question.rows]
            found += [weighted_counts(tenths(stated), one, N_BINS) for one in (weights, weights * stated)]
        sizes, sums = found
        return np.divide(sums, sizes, out=np.zeros(N_BINS), where=sizes > 0), sizes

    def _curve(
        self, whose: tuple[Wish, str, str], *points: FloatArray, sizes: FloatArray | None = None, given: str = ""
    ) -> Curve:
        """Average over draws, and take quantiles over resamples; places where nothing is known are left out.

        Points are x and, at each of these places, heights in draws and in resamples.
        """
        x, centres, values = points
        known = ~np.isnan(centres).all(axis=0) & ~np.isnan(values).all(axis=0)
        y = np.nanmean(centres[:, known], axis=0)
        low, high = (np.nanquantile(values[:, known], (1 + side * self.level) / 2, axis=0) for side in (-1, 1))
        (wish, model, question), own = whose, np.empty(0) if sizes is None else sizes[known]
        found = (x[known], y, np.minimum(low, y), np.maximum(high, y), own)
        return Curve(wish.kind, self.run, model, question, wish.truth, given, *found)

    def _ended(self, values: FloatArray, masses: FloatArray) -> FloatArray:
        """Add a case at either end of the range, as intervals of metrics do."""
        seed, total, squares = self._weights
        low, high = end_weights(seed, RESAMPLES)[:, :, None] * (squares / total)
        return np.asarray((values * masses + high) / (masses + low + high))

    @cached_property
    def _weights(self) -> tuple[int, float, float]:
        """Seed of the resampling, and sums over cases of their weights and the squares of them."""
        sums = [(own.seed, own.weights.sum(), np.square(own.weights).sum()) for _, _, own in self.pieces()]
        return sums[0][0], float(sum(one[1] for one in sums)), float(sum(one[2] for one in sums))

    def _matrices(self, wish: Wish, place: int) -> Iterator[Curve]:
        """Count how much of which label (K) was called what (K), with intervals, by model and by label."""
        from dissensus.kernels.label_sums import confusions

        codes, whole = np.arange(len(self.conditions), dtype=np.float64), 0.0
        sums = np.zeros((len(self.models), 2, RESAMPLES, len(codes), len(codes)))  # of cases as they are, and resampled
        for piece in self.pieces():
            rows = piece[0][0].questions[place].rows
            whole += float(piece[0][0].weights[rows].sum())
            calls = [decisions(said, wish.threshold)[rows] for said in piece[0]]
            for part, masses, resampled in _blocks(piece, rows, wish.truth):
                for kind, own in enumerate((masses, masses * resampled[:, None])):
                    for m, of_model in enumerate(calls):
                        sums[m, kind] += confusions(own, of_model[part])
        name = self.names[place] if self.is_binary else ""
        for model, (plain, again) in zip(self.models, sums, strict=True):
            totals = again.sum(axis=(1, 2))[:, None]
            values = whole * self._ended(again.reshape(RESAMPLES, -1) / totals, totals).reshape(again.shape)
            for code, given in enumerate(self.conditions):
                centres = plain[: self._n_draws[wish.truth], code]
                yield self._curve((wish, model, name), codes, centres, values[:, code], given=given)

    # Sums --------------------------------------------------------------------------------------------------

    def _ranks(self, place: int) -> list[tuple[FloatArray, IntArray]]:
        """Return of every model the scores that are told apart, ascending, and the steps of them, descending."""
        marks, counts = list[FloatArray](), list[IntArray]()
        for said, _, _ in self.pieces():
            stated = [scores_of(one, one.questions[place]) for one in said]
            known = [one.marks[place] if one.marks else np.unique(own) for one, own in zip(said, stated, strict=True)]
            places = (_places(own, scores) for own, scores in zip(known, stated, strict=True))
            found = [np.bincount(at, minlength=len(own)) for at, own in zip(places, known, strict=True)]
            marks, counts = known, [a + b for a, b in zip(counts, found, strict=True)] if counts else found
        return [(own, rank_steps(number)) for own, number in zip(marks, counts, strict=True)]

    def _sums(self, place: int, truth: Truth, sorts: Sequence[Sort]) -> list[list[FloatArray]]:
        """Sum positive and negative mass by step, for all models and all sorts of steps.

        Each array has the shape (2, 2, n, n_steps): cases as they are and resampled, positive and negative.
        """
        from dissensus.kernels.label_sums import sums_by_place

        ranks = self._ranks(place)
        numbers = [[one.number or int(steps.max(initial=0)) + 1 for one in sorts] for _, steps in ranks]
        found = [[np.zeros((2, 2, RESAMPLES, number)) for number in of_model] for of_model in numbers]
        for piece in self.pieces():
            question, codes = piece[0][0].questions[place], list[list[IntArray]]()
            for said, (marks, steps) in zip(piece[0], ranks, strict=True):
                stated = [(one.codes, one.stated(said, question)) for one in sorts]
                codes.append([code(own) if code else steps[_places(marks, own)] for code, own in stated])
            for part, masses, resampled in _blocks(piece, question.rows, truth):
                positive = np.ascontiguousarray(masses[:, question.condition])
                both = positive, masses.sum(axis=1) - positive
                every = both, tuple(one * resampled for one in both)
                for m, which in np.ndindex(len(codes), len(sorts)):
                    for kind, sign in np.ndindex(2, 2):
                        own = codes[m][which][part], numbers[m][which], every[kind][sign]
                        found[m][which][kind, sign] += sums_by_place(*own)
        return found


def _places(marks: FloatArray, scores: FloatArray) -> IntArray:
    """Return where scores stand among those that are told apart, the highest first."""
    return np.asarray(len(marks) - np.searchsorted(marks, scores, side="right"), dtype=np.int64)


def _blocks(cases: Cases, rows: IntArray, truth: Truth) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Give runs of rows, the masses of their labels (n, K, m) by resample, and their weights in resamples (n, m).

    Resamples take the draws in turn.
    """
    said, by_truth, weights = cases
    labels = by_truth[truth]
    size = max(1, AT_ONCE // (RESAMPLES * labels.means.shape[1]))
    draws = _chosen(labels)
    again = np.arange(RESAMPLES) % len(draws)
    for first in range(0, len(rows), size):
        own = rows[first : first + size]
        masses = labels.take(own).block(draws)
        masses *= said[0].weights[own]
        resampled = np.ascontiguousarray(weights.bootstrap(own, RESAMPLES).T)
        yield slice(first, first + len(own)), masses if len(draws) == RESAMPLES else masses[again], resampled


def _chosen(labels: Labels) -> range:
    """Choose the draws that are looked at, evenly spaced."""
    step = max(1, labels.n_draws // RESAMPLES)
    return range(0, min(labels.n_draws, step * RESAMPLES), step)
