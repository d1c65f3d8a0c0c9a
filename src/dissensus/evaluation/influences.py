"""Metrics of a whole data set, from the labels of all draws: values by draw, and what every case adds.

With masses m of labels and slopes D, a metric with value t adds up over cases: the pseudo-value of a case is t plus the
mass of all cases times the sum of m D over its labels, per unit of its own mass. The mean of the pseudo-values is t,
and what resampled cases, groups of them, other annotators and other priors do to the metric follows from them to first
order. Cases are summed in the order of their keys, so that their order and the parts they come in do not matter.

A study in pieces is gone through twice: what metrics are formulas of is added up over its pieces, and then every piece
says what its cases add. One piece is in memory at a time, and sums of fixed size beside it. Metrics of the order of
scores need masses by score: up to ``MOST_MARKS`` different scores of a model and a question are told apart, as all are
in memory; more are put into that many bins, and how far a value may be off is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.core.arrays import NEAR, FloatArray, IntArray
from dissensus.core.names import in_order_of_keys
from dissensus.core.ragged import weighted_counts
from dissensus.evaluation.curves import Curve, Sheet, wishes
from dissensus.evaluation.intervals import CATEGORY_FIT, with_all
from dissensus.evaluation.labels import LabelsByTruth, data_set_metrics, kept_labels
from dissensus.evaluation.sums import (
    ALL,
    DATA_SET,
    FINDING,
    NO_SPREAD,
    Array,
    CaseWeights,
    Name,
    Place,
    Sums,
    known_means,
)
from dissensus.evaluation.tally import GROUP_DRAWS, Influences, cases_of_places, interval_sums, step_of
from dissensus.metrics.base import Truth
from dissensus.metrics.data_set import Added, BinaryMetric, DataSetMetric, Question, Said, first_shares
from dissensus.metrics.ranking import RankingMetric
from dissensus.study.question import PAIR

if TYPE_CHECKING:
    from dissensus.evaluation.tally import Plan

# How many masses of labels are looked at at a time, and how many sums over all pieces: 32 and 256 MB.
AT_ONCE, SUMS_AT_ONCE = 4_000_000, 32_000_000

# In pieces, so many different scores of a model are told apart; more are put into about so many bins.
MOST_MARKS = 4096


# Scores of all pieces ---------------------------------------------------------------------------------------


class SeenScores(NamedTuple):
    """Different scores of some cases, ascending, and of how many cases; of very many scores, some.

    Examples
    --------
    >>> SeenScores().plus(np.array([0.5, 0.2, 0.5])).marks()
    array([0.2, 0.5])
    """

    values: FloatArray = np.empty(0)
    counts: FloatArray = np.empty(0)
    has_all: bool = True

    def plus(self, scores: FloatArray) -> SeenScores:
        """Add the scores of other cases; of too many, every second one is forgotten unless many cases have it."""
        both = np.concatenate([self.values, scores])
        values, place = np.unique(both, return_inverse=True)
        counts = weighted_counts(place, np.concatenate([self.counts, np.ones(len(scores))]), len(values))
        kept = np.ones(len(values), dtype=bool)
        while kept.sum() > 4 * MOST_MARKS:
            light = np.flatnonzero(kept & (counts * MOST_MARKS < 2 * counts.sum()))
            kept[light[1::2]] = False
        return SeenScores(values[kept], counts[kept], self.has_all and bool(kept.all()))

    def marks(self) -> FloatArray:
        """Return all scores, or where bins of about as many cases begin; a score of many cases is a bin of its own."""
        if self.has_all and len(self.values) <= MOST_MARKS:
            return self.values
        total, before = self.counts.sum(), np.cumsum(self.counts) - self.counts
        begins = np.flatnonzero(np.diff(before * MOST_MARKS // total, prepend=-1.0))
        heavy = self.values[self.counts * MOST_MARKS >= 2 * total]
        return np.unique(np.concatenate([[-np.inf], self.values[begins], heavy, np.nextafter(heavy, np.inf)]))


# Some cases --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Whole:
    """What metrics are of all cases together.

    Attributes
    ----------
    values : (models, metrics, n_draws)
        Of every draw; nan where it is undefined.
    added
        By model and metric, the sums over all cases at the mean masses of labels.
    mass : (metrics,)
        Of all cases.
    counted : (models, metrics)
        Mass of the cases that a metric rests on.
    off : (models, metrics)
        How far values may be off because scores are in bins.
    """

    values: FloatArray
    added: Mapping[tuple[int, int], Added]
    mass: FloatArray
    counted: FloatArray
    off: FloatArray

    @cached_property
    def centres(self) -> FloatArray:
        """Mean over the draws that have a value, shape (models, metrics); nan where none has."""
        return known_means(self.values)

    def reaches(self, metrics: Sequence[DataSetMetric], gaps: FloatArray, masses: FloatArray) -> FloatArray:
        """Return of how many cases one is that the metric rests on, shape (models, metrics).

        An interval allows for a case at either end of the range, which weighs as much as one of the cases that count.
        Where values of cases vary less than those that are 0 or 1 with the same mean, there are as many more of these
        as their variance is smaller: the effective sample size of Korn and Graubard (1998), drawn to the plain count
        by one case. A range without end has no such cases: none is added.

        Parameters
        ----------
        gaps, masses : (models, metrics) and (metrics,)
            Sums of squares over all cases: see :meth:`Valued.squares`.
        """
        low, high = np.array([metric.range for metric in metrics], dtype=np.float64).T
        is_closed = np.isfinite(high - low)
        span = np.where(is_closed, high - low, 1.0)
        place = np.where(is_closed, (self.centres - np.where(np.isfinite(low), low, 0.0)) / span, np.nan)
        variance = gaps / (span * self.mass) ** 2
        most = self.mass**2 / np.maximum(masses, 1e-300)
        # masses grow with the weights of all cases, the number of cases does not
        alone = np.nan_to_num(self.counted) * np.divide(most, self.mass, out=np.ones_like(most), where=self.mass > 0)
        counted = np.clip(alone, 1.0, np.maximum(most, 1.0))
        full = place * (1 - place)
        is_known = (full > 0) & (variance > NO_SPREAD * full)
        ratio = np.divide(variance * counted, full, out=np.ones_like(counted), where=is_known)
        effective = counted / np.minimum((counted * ratio + 1) / (counted + 1), 1.0)
        return np.where(is_closed, np.maximum(most / effective, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class DataSet:
    """What metrics of a whole data set see under one aggregation.

    Attributes
    ----------
    said
        What every model said.
    labels
        Labels of draws by truth.
    """

    said: tuple[Said, ...]
    labels: LabelsByTruth

    def take(self, cases: IntArray) -> DataSet:
        """Keep the cases at these positions."""
        labels = {truth: labels.take(cases) for truth, labels in self.labels.items()}
        return DataSet(tuple(one.select(cases) for one in self.said), labels)

    def within(self, codes: IntArray) -> DataSet:
        """Keep the draws whose label is one of some conditions."""
        return DataSet(self.said, {truth: labels.within(codes) for truth, labels in self.labels.items()})

    def means(self, metric: DataSetMetric) -> FloatArray:
        """Return the mean masses of labels that a metric sees, shape (K, n_cases)."""
        return np.ascontiguousarray(self.labels[metric.truth].means.T)

    def valued(self, metrics: Sequence[DataSetMetric], whole: Whole | None = None) -> Valued:
        """Say what every case adds to metrics, given what they are of all cases; by default these are all."""
        return Valued(self, metrics, whole_of(lambda: [self], metrics) if whole is None else whole)

    @property
    def are_numbers(self) -> bool:
        """Whether labels are 1, a number and its square, not masses of conditions."""
        return any(labels.form == "numbers" for labels in self.labels.values())


def whole_of(
    pieces: Callable[[], Iterable[DataSet]],
    metrics: Sequence[DataSetMetric],
    *,
    most: int | None = None,
    threads: int = 1,
    is_alone: bool = True,
) -> Whole:
    """Compute metrics of all models on all cases.

    Parameters
    ----------
    pieces
        Gives the cases, some at a time.
    most
        How many draws are looked at, evenly spaced; by default all.
    is_alone
        Whether there is one piece, so that nothing has to be added up draw by draw.
    """
    added, mass, size = dict[tuple[int, int], Added](), np.zeros(len(metrics)), 1
    for data in pieces():
        for k, metric in enumerate(metrics):
            means = data.means(metric)
            mass[k] += float((data.said[0].weights * _shares(means.T, data.are_numbers)).sum())
            for m, said in enumerate(data.said):
                _add(added, (m, k), metric.added(said, means[None]))
        size = max(size, *(labels.means.size for labels in data.labels.values()))
    n_draws, marks = {truth: one.n_draws for truth, one in data.labels.items()}, [said.marks for said in data.said]
    step = 1 if most is None else step_of(max(n_draws.values()), most)
    values = np.full((len(marks), len(metrics), -(-max(n_draws.values()) // step)), np.nan)
    off, counted = np.zeros(values.shape[:2]), _counted(data, metrics) if is_alone else {}
    wanted: dict[Truth, list[tuple[int, int]]] = {}
    for k in sorted({*range(len(metrics))} - {*counted}):
        wanted.setdefault(metrics[k].truth, []).extend((m, k) for m in range(len(marks)))

    def fill(truth: Truth, draws: range) -> None:
        own, sums = slice(draws.start // step, -(-draws.stop // step)), dict[tuple[int, int], Added]()
        for data in pieces():
            masses = data.labels[truth].block(draws)
            for m, k in wanted[truth]:
                if is_alone:
                    values[m, k, own] = metrics[k].of_draws(data.said[m], masses)
                else:
                    _add(sums, (m, k), metrics[k].added(data.said[m], masses))
        for (m, k), total in sums.items():
            metric = metrics[k]
            values[m, k, own] = metric.of_added(total)
            if isinstance(metric, RankingMetric) and any(one[0] == -np.inf for one in marks[m]):
                off[m, k] = max(off[m, k], metric.off_by(total, marks[m]))

    n_sums = 1 if is_alone else sum(one.shape[1] for sums in added.values() for one in sums)
    room = max(1, min(AT_ONCE // size, SUMS_AT_ONCE // n_sums))
    length = step * (8 * (room // 8) if room >= 8 else room)  # bits of eight draws are a byte
    with ThreadPoolExecutor(max_workers=max(1, threads)) as pool:
        runs = ((truth, first) for truth in wanted for first in range(0, n_draws[truth], length))
        tasks = [(truth, range(first, min(first + length, n_draws[truth]), step)) for truth, first in runs]
        list(pool.map(lambda task: fill(*task), tasks))
        for (m, k), sums in _answered(data, counted, step, pool).items():
            values[m, k] = metrics[k].of_added(sums)
    rests = [[metric.rests_upon(added[m, k]) for k, metric in enumerate(metrics)] for m in range(len(marks))]
    return Whole(values, added, mass, np.array(rests), off)


def _counted(data: DataSet, metrics: Sequence[DataSetMetric]) -> dict[int, BinaryMetric]:
    """Return the metrics that sums by the answers of draws say all of, where each question counts by itself."""
    places = ((k, one) for k, one in enumerate(metrics) if isinstance(one, BinaryMetric) and one.is_counted)
    return {k: one for k, one in places if one.average != "micro" and data.labels[one.truth].is_sure}


def _answered(
    data: DataSet, metrics: Mapping[int, BinaryMetric], step: int, pool: ThreadPoolExecutor
) -> Mapping[tuple[int, int], Added]:
    """Add up what cases add to metrics by the answers of draws that are sure of them, question by question."""
    from dissensus.kernels.label_sums import answer_sums

    found: dict[tuple[int, int], list[FloatArray]] = {}
    for question in data.said[0].questions:
        for truth in sorted({metric.truth for metric in metrics.values()}):
            labels = data.labels[truth]
            answers = labels.answers(range(0, labels.n_draws, step), *question)

            def sums(name: tuple[int, int], answers: Array = answers, question: Question = question) -> FloatArray:
                m, k = name
                numbers = metrics[k].by_answer(data.said[m], question)
                return metrics[k].of_answers(answer_sums(answers, numbers).T)

            names = [(m, k) for k, one in metrics.items() if one.truth == truth for m in range(len(data.said))]
            for name, one in zip(names, pool.map(sums, names), strict=True):
                found.setdefault(name, []).append(one)
    return found


def _add(sums: dict[tuple[int, int], Added], name: tuple[int, int], more: Added) -> None:
    sums[name] = [one + other for one, other in zip(sums[name], more, strict=True)] if name in sums else more


def _shares(masses: FloatArray, are_numbers: bool) -> FloatArray:
    """Return how much of each case counts, by its masses (..., K)."""
    sums = masses[..., 0] if are_numbers else masses.sum(axis=-1)
    return np.where(np.abs(sums - 1.0) < NEAR, 1.0, sums)


@dataclass(frozen=True, eq=False)
class Valued:
    """What every one of some cases adds to metrics.

    Attributes
    ----------
    data, metrics
        The cases, and the metrics.
    whole
        What metrics are of all cases.
    """

    data: DataSet
    metrics: Sequence[DataSetMetric]
    whole: Whole

    @cached_property
    def slopes(self) -> list[list[FloatArray]]:
        """Derivatives by the masses of labels: (models, metrics) lists of (K, n_cases)."""
        metrics = list(enumerate(self.metrics))
        return [
            [metric.slopes_at(said, self.data.means(metric), self.whole.added[m, k]) for k, metric in metrics]
            for m, said in enumerate(self.data.said)
        ]

    @cached_property
    def labels(self) -> FloatArray:
        """Mean masses of labels, shape (metrics, n_cases, K)."""
        return np.stack([self.data.labels[metric.truth].means for metric in self.metrics])

    def _pseudo(self, m: int, k: int, masses: FloatArray, cases: IntArray | slice = slice(None)) -> FloatArray:
        """Return the pseudo-values of a model and a metric under masses of labels (n_cases, ..., K)."""
        added = self.whole.mass[k] * np.einsum("n...k,kn->n...", masses, self.slopes[m][k][:, cases])
        shares = _shares(masses, self.data.are_numbers)
        return np.asarray(
            self.whole.centres[m, k] + np.divide(added, shares, out=np.zeros_like(added), where=shares > 0)
        )

    @cached_property
    def influences(self) -> tuple[FloatArray, FloatArray]:
        """Pseudo-values and shares (models, metrics, n_cases); what is undefined does not count."""
        return self.counted(self.labels)

    def counted(self, labels: FloatArray, cases: IntArray | slice = slice(None)) -> tuple[FloatArray, FloatArray]:
        """Return the same under other mean masses (metrics, n_cases, K), such as those without some annotators.

        Slopes are those of the cases at some positions.
        """
        models = range(len(self.slopes))
        means = np.array([[self._pseudo(m, k, own, cases) for k, own in enumerate(labels)] for m in models])
        return means, np.where(np.isnan(means), 0.0, _shares(labels, self.data.are_numbers))

    def squares(self) -> tuple[FloatArray, FloatArray]:
        """Add up the squares of what cases add, by their masses, (models, metrics), and of the masses, (metrics,)."""
        masses = _shares(self.labels, self.data.are_numbers) * self.data.said[0].weights
        gaps = (self.influences[0] - self.whole.centres[..., None]) * masses
        return np.square(gaps).sum(axis=-1), np.square(masses).sum(axis=-1)

    def deviations(self) -> FloatArray:
        """Return how far the pseudo-value of each case varies over draws, shape (models, metrics, n_cases)."""
        found = np.full((*self.whole.centres.shape, len(self.data.said[0].weights)), np.nan)
        for m, of_model in enumerate([] if self.data.are_numbers else self.slopes):
            for k, slopes in enumerate(of_model):
                masses = self.labels[k].T
                spread = (masses * slopes**2).sum(axis=0) - (masses * slopes).sum(axis=0) ** 2
                found[m, k] = self.whole.mass[k] * np.sqrt(np.maximum(spread, 0.0))
        return found

    def fit(self, moved: Sequence[FloatArray], bootstrap: FloatArray) -> FloatArray:
        """Sum over resampled cases with the prior as it is and refitted, and weights: (4, n_refits, models, metrics).

        Parameters
        ----------
        moved : metrics arrays of shape (n_cases, n_refits, K)
            Mean masses under every refit.
        bootstrap : (n_cases, n_refits)
            Weights of resampled cases.
        """
        weights, (still, shares) = bootstrap * self.data.said[0].weights[:, None], self.influences
        sums = np.empty((4, bootstrap.shape[1], *still.shape[:2]))
        for m, k in np.ndindex(still.shape[:2]):
            before = after = weights  # what counts whole does so whatever rounding left of its masses
            if (shares[m, k] < 1).any():
                before, after = weights * shares[m, k][:, None], weights * _shares(moved[k], self.data.are_numbers)
            sums[:, :, m, k] = (
                (before * still[m, k][:, None]).sum(axis=0),
                (after * self._pseudo(m, k, moved[k])).sum(axis=0),
                before.sum(axis=0),
                after.sum(axis=0),
            )
        return np.nan_to_num(sums)


# All cases ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SomeCases:
    """Cases of a piece of a study, as metrics of a whole data set see them: in the order of their keys.

    Attributes
    ----------
    plan
        What is computed.
    sums
        What is kept of these cases: labels of draws and what models said about them.
    n_models
        How many models there are.
    is_binary
        Whether the last of two conditions is the positive one.
    findings
        All findings, in alphabetical order; by default those of these cases.
    marks
        By model and question, the scores of all cases that are told apart.
    """

    plan: Plan
    sums: Sums
    n_models: int
    is_binary: bool
    findings: tuple[str, ...] = ()
    marks: tuple[tuple[FloatArray, ...], ...] = ()
    _last: dict[str, DataSet] = field(default_factory=dict, init=False)

    @cached_property
    def order(self) -> IntArray:
        """Positions of the cases in the order of their keys."""
        return in_order_of_keys(self.sums["rows", "names"].tolist())

    @cached_property
    def names(self) -> list[str]:
        """Names of the cases."""
        return list(self.sums["rows", "names"][self.order].tolist())

    @cached_property
    def weights(self) -> CaseWeights:
        """How much each case counts."""
        groups = self.sums.arrays.get(("rows", "table", "groups"), np.empty(0))
        cases = self.sums["rows", "table", "weights"], tuple(self.sums["rows", "names"].tolist())
        return CaseWeights.named(self.plan.seed, *cases, tuple(groups.tolist())).take(self.order)

    @cached_property
    def strata(self) -> dict[str, npt.NDArray[Any]]:
        """For every column, the label of each case."""
        named = self.sums.names("rows", "table", "strata")
        return {str(name[-1]): self.sums[name][self.order] for name in named}

    @cached_property
    def said(self) -> tuple[Said, ...]:
        """What every model said."""
        rows = np.arange(len(self.order))
        findings, items, number = np.zeros_like(rows), rows, 1
        if self.is_binary and FINDING in self.strata:
            own = self.strata[FINDING]
            every = np.array(self.findings) if self.findings else np.unique(own)
            findings, items, number = np.searchsorted(every, own), case_of_each(self.names, own.tolist()), len(every)
        weights, marks = self.weights.weights, self.marks or ((),) * self.n_models
        scores = [self.sums["rows", "table", "scores", model][self.order] for model in range(self.n_models)]
        return tuple(
            Said(one, first_shares(one), weights, self.is_binary, findings, items, number, known)
            for one, known in zip(scores, marks, strict=True)
        )

    def data(self, key: str) -> DataSet:
        """Return what the metrics see of a reference; that of the last one is kept."""
        if key not in self._last:
            self._last.clear()
            truths = dict.fromkeys(metric.truth for metric in data_set_metrics(self.plan.metrics))
            known = kept_labels(self.sums, key, truths)
            self._last[key] = DataSet(self.said, {truth: one.take(self.order) for truth, one in known.items()})
        return self._last[key]

    def inside(self, key: str, place: Place) -> tuple[DataSet, IntArray]:
        """Return what the metrics see of the cases of a place, or of a category, and the positions of these cases."""
        data, everyone = self.data(key), np.arange(len(self.order))
        if place == ALL:
            return data, everyone
        if place[0] == "category":
            return data.within(self.plan.category_places[place]), everyone
        known = self.sums.arrays.get(("profile", key, "certainties"))
        own = cases_of_places(self.strata, None if known is None else known[:, self.order])
        rows = own.get(place, np.empty(0, dtype=np.int64))
        return data.take(rows), rows


@dataclass(frozen=True, eq=False)
class AllCases:
    """Compute metrics of a whole data set from what pieces of a study kept of their cases.

    Attributes
    ----------
    plan
        What is computed.
    sums
        The sums over all cases.
    pieces
        What is kept of the cases of every piece; it is gone through several times.
    n_models
        How many models there are.
    is_binary
        Whether the last of two conditions is the positive one.
    names
        The cases of which it is kept what they add.
    threads
        How many threads compute.
    """

    plan: Plan
    sums: Sums
    pieces: Sequence[Sums]
    n_models: int
    is_binary: bool
    names: Sequence[str]
    threads: int = 1
    _wholes: dict[tuple[str, Place], Whole] = field(default_factory=dict, init=False)

    @cached_property
    def metrics(self) -> tuple[DataSetMetric, ...]:
        """The metrics of a whole data set."""
        return data_set_metrics(self.plan.metrics)

    @cached_property
    def is_alone(self) -> bool:
        """Whether all cases are at hand at once: in memory, and where a metric needs the labels of all of them."""
        return len(self.pieces) == 1 or not all(metric.is_summed for metric in self.metrics)

    @cached_property
    def findings(self) -> tuple[str, ...]:
        """All findings, in alphabetical order."""
        return tuple(sorted({str(name[-1]) for name in self.sums.names("weight", "run 0", "stratum", FINDING)}))

    def _some(self, sums: Sums, marks: tuple[tuple[FloatArray, ...], ...] = ()) -> SomeCases:
        return SomeCases(self.plan, sums, self.n_models, self.is_binary, self.findings, marks)

    @cached_property
    def _marks(self) -> tuple[tuple[FloatArray, ...], ...]:
        """By model and question, the scores of all cases that are told apart."""
        seen: list[list[SeenScores]] = [[] for _ in range(self.n_models)]
        for piece in map(self._some, self.pieces):
            for of_model, said in zip(seen, piece.said, strict=True):
                before = of_model or [SeenScores()] * len(said.questions)
                stated = [said.scores[one.rows, one.condition] for one in said.questions]
                of_model[:] = [one.plus(scores) for one, scores in zip(before, stated, strict=True)]
        return tuple(tuple(one.marks() for one in of_model) for of_model in seen)

    def cases(self) -> Iterable[SomeCases]:
        """Give the cases, a piece at a time."""
        return self._at_hand or (self._some(sums, self._marks) for sums in self.pieces)

    @cached_property
    def _at_hand(self) -> tuple[SomeCases, ...]:
        """All cases together, or all pieces if they are in memory."""
        if self.is_alone:
            return (self._some(self.pieces[0] if len(self.pieces) == 1 else Sums.joined(self.pieces)),)
        are_read = all(isinstance(sums.arrays, dict) for sums in self.pieces)
        return tuple(self._some(sums, self._marks) for sums in self.pieces) if are_read else ()

    def whole(self, key: str, place: Place = ALL) -> Whole:
        """Compute the metrics of the cases of a place; of all cases, they are kept."""
        if (key, place) in self._wholes:
            return self._wholes[key, place]

        def pieces() -> Iterator[DataSet]:
            some = (piece.inside(key, place)[0] for piece in self.cases())
            return (data for data in some if data.said[0].n_cases)

        few = None if place == ALL else GROUP_DRAWS
        threads = self.threads if self.is_alone else 1
        found = whole_of(pieces, self.metrics, most=few, threads=threads, is_alone=self.is_alone)
        if place == ALL:
            self._wholes[key, place] = found
        return found

    def entries(self) -> dict[Name, Array]:
        """Compute the metrics against all references, and sum over all cases what intervals are found from."""
        found: dict[Name, Array] = {}
        wholes: dict[tuple[str, Place], Whole] = {}
        for reference in self.plan.references:
            key = reference.key
            places = sorted((name[2:] for name in self.sums.names("weight", key)), key=str)
            for place in places:
                whole = self.whole(key, place)
                # values of every draw weigh as those of other metrics do; what is undefined weighs nothing
                total = self.sums["weight", key, *place]
                values = np.broadcast_to(whole.values, (*whole.values.shape[:2], len(total)))
                weights = np.where(np.isnan(values), 0.0, total)
                sums = np.where(np.isnan(values), 0.0, values) * weights
                found["draws", key, *place, DATA_SET] = np.stack([sums, weights])
                if reference.detail != "point":
                    wholes[key, place] = whole
        return found | self._influences(wholes)

    def _influences(self, wholes: Mapping[tuple[str, Place], Whole]) -> dict[Name, Array]:
        """Say what cases add, a piece at a time: sums that intervals are found from, and of some cases each."""
        kept, parts = {name: place for place, name in enumerate(self.names)}, list[Sums]()
        shape, of_cases = (self.n_models, len(self.metrics), len(kept)), dict[Name, Array]()
        for piece in self.cases():
            wanted: dict[Name, Influences] = {}
            sums: dict[Name, Array] = {}
            at = np.array([kept.get(name, -1) for name in piece.names])
            seen = np.flatnonzero(at >= 0)
            for (key, place), whole in wholes.items():
                data, rows = piece.inside(key, place)
                if not len(rows):
                    continue
                own = data.valued(self.metrics, whole)
                wanted[key, *place, DATA_SET] = (*own.influences, rows, np.arange(len(rows)))
                sums["gaps", key, *place], sums["masses", key, *place] = own.squares()
                moved = [data.labels[metric.truth].moved for metric in self.metrics]
                if moved[0].shape[1] and place[0] != "bin":
                    bootstrap = with_all(piece.weights.bootstrap(rows, moved[0].shape[1] - 1))
                    word, n_rows = (CATEGORY_FIT, 4) if place[0] == "category" else ("fit", 3)
                    sums[word, key, *place, DATA_SET] = own.fit(moved, bootstrap)[:n_rows]
                if place != ALL:
                    continue
                known = {"means": own.influences[0], "deviations": own.deviations(), "shares": own.influences[1]}
                for what, part in known.items():
                    array = of_cases.setdefault(("cases", what, key, DATA_SET), np.full(shape, np.nan))
                    array[..., at[seen]] = part[..., seen]
            parts.append(Sums({**sums, **interval_sums(piece.weights, wanted, self.threads)}))
        found = dict(Sums.joined(parts).arrays)
        for (key, place), whole in wholes.items():
            squares = (found.pop((what, key, *place)) for what in ("gaps", "masses"))
            found["reach", key, *place, DATA_SET] = whole.reaches(self.metrics, *squares)
        return {**found, **of_cases}

    def remarks(self, key: str, models: Sequence[str]) -> tuple[str, ...]:
        """Say what makes a metric of a model meaningless, or inexact; what is true of several is said once."""
        alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        whole = self.whole(key)
        for k, metric in enumerate(self.metrics):
            told: dict[str, tuple[str, ...]] = {}
            for m, name in enumerate(models):
                off = whole.off[m, k]
                binned = (f"scores are in bins, which moves values by at most {off:.1g}",) if off else ()
                told[name] = binned + metric.told(whole.added[m, k])
            for remark in dict.fromkeys(chain.from_iterable(told.values())):
                own = tuple(name for name, remarks in told.items() if remark in remarks)
                alike.setdefault((remark, own), []).append(metric.name)
        return tuple(
            f"{', '.join([*(() if len(own) == len(models) > 1 else own), *measures])}: {remark}"
            for (remark, own), measures in alike.items()
        )

    def curves(
        self, key: str, models: tuple[str, ...], conditions: tuple[str, ...], run: str, level: float
    ) -> tuple[Curve, ...]:
        """Draw the curves of the metrics that were asked for, under one run."""

        def pieces() -> Iterator[tuple[tuple[Said, ...], LabelsByTruth, CaseWeights]]:
            return ((piece.said, piece.data(key).labels, piece.weights) for piece in self.cases())

        _, labels, _ = next(pieces())
        if any(one.form == "numbers" for one in labels.values()):
            return ()
        names = (self.findings or ("",)) if self.is_binary else conditions
        sheet = Sheet(pieces, models, names, conditions, self.is_binary, run, level)
        return sheet.curves(wishes(self.plan.metrics, list(labels), len(conditions)))


def case_of_each(names: Sequence[str], findings: Sequence[str]) -> IntArray:
    """Give every row the number of its case.

    >>> case_of_each(["x / AF", "x / ST", "y / AF"], ["AF", "ST", "AF"])
    array([0, 0, 1])
    """
    cases = [name.removesuffix(f"{PAIR}{finding}") for name, finding in zip(names, findings, strict=True)]
    return np.unique(cases, return_inverse=True)[1].astype(np.int64)
