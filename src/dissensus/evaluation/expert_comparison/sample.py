"""Agreement of annotators and models with one annotator, with intervals over cases and over annotators.

Every opinion has a value: how well it agrees with the others, or a model with it. Around the mean of their case, these
values add up over the cases of an annotator to one effect. The sum of squared effects beyond what independent cases
give by chance is the variance between annotators; its scale follows from who read which case with whom. Annotators of
one site are one annotator in this.

Metrics of a whole data set are functions of pooled masses; their slopes give every pair a value whose weighted mean is
the metric, so that means, intervals and annotators who are left out are found alike.

What was said on a case is counted. A cell is a case and one of the different things that were said on it; values are of
pairs of cells of a case, and what follows for an opinion is the sum over all cells, without what its own annotator
said. So a case costs as much as it has different opinions, however many annotators gave them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from scipy.special import expit, logit, stdtr, stdtrit

from dissensus import metrics as named
from dissensus.aggregations.point_estimates import InverseRank, MeanRating
from dissensus.agreement.coefficients import Matrix, inner, kinds_of, remains, seats_of, sparse
from dissensus.core.arrays import BoolArray, FloatArray, IntArray
from dissensus.core.ragged import offsets_from_lengths, product, row_of_each, take_rows, weighted_counts
from dissensus.evaluation.annotators import probe_vectors
from dissensus.evaluation.expert_comparison.survey_equivalence import Panels, Worth, worth_of
from dissensus.evaluation.intervals import Part
from dissensus.evaluation.labels import vote_labels
from dissensus.metrics.base import Drawn, Metric, Predicted
from dissensus.predictions.lists import Predictions, repeated
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study

if TYPE_CHECKING:
    from dissensus.metrics.data_set import DataSetMetric, Said
    from dissensus.metrics.ranking import SensitivityAtSpecificity

# So many cases with two annotators or more are needed, of all and of every subgroup and annotator.
LEAST_CASES = 10

# Annotators are a sample if so many read so many cases with at least two others.
LEAST_ANNOTATORS, LEAST_COMMON = 4, 10

# Of more cases, this many say how far panels move without an annotator.
MOST_MOVED = 2000

# How many vectors probe the design of more annotators than can be probed one by one.
PROBES = 16

# What estimates of annotators, of models and of their differences are called in rows.
EXPERTS, AGREED = ("experts", "experts_low", "experts_high"), ("agreement", "low", "high")
APART = ("difference", "difference_low", "difference_high", "case_sd", "annotator_sd")

# How far from the annotators' specificity the slope of a curve is looked at.
NEAR = 0.05

# How an annotator's share of the pairs of a case may lie below one half, which it is where there are only two.
ROUNDED = 1e-9

# How many pairs of cells are held at a time, and how many of them are compared at a time.
PAIRS_AT_ONCE, COMPARED_AT_ONCE = 1_000_000, 20_000

# Share of a case below which nobody else said anything on it, up to rounding.
NOBODY = 1e-12


# Who is compared with whom --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pairs:
    """Hold the opinions that are compared with each other: those on the same case by different annotators.

    Attributes
    ----------
    study
        The opinions that count, on cases with two annotators or more.
    weights, clusters : (n_cases,)
        How much each case counts, and what is resampled together: groups of cases, or cases.
    kinds, case, cell : (n_opinions,)
        Which of the different things each opinion says, and the positions of its case and of its cell.
    cell_case, cell_opinion : (n_cells,)
        Positions of the case of each cell, ascending, and of one of its opinions.
    own
        Pairs of opinions on a case by one annotator, each with itself among them, ascending by the first.
    masses, others : (n_opinions,)
        How much each opinion counts, with all its votes, and how much all other annotators of the case do; the latter
        is zero where there is nobody else.
    shares, rates, targets : (n_opinions,)
        Share of each opinion in its case, as the one that agrees, none where there is nobody else; the same over
        ``others``; and its share as the one that is agreed with.

    Examples
    --------
    >>> said = Study.from_rankings([[[["a"]], [["a"]], [["b"]]], [[["a"]]]], ["a", "b"])
    >>> pairs = Pairs.of(said)
    >>> pairs.study.n_cases, len(pairs.cell_case), pairs.others
    (1, 2, array([2., 2., 2.]))
    """

    study: Study
    weights: FloatArray
    clusters: IntArray
    kinds: IntArray
    case: IntArray
    cell: IntArray
    cell_case: IntArray
    cell_opinion: IntArray
    own: tuple[IntArray, IntArray]
    masses: FloatArray
    others: FloatArray
    shares: FloatArray
    rates: FloatArray
    targets: FloatArray

    @staticmethod
    def of(study: Study) -> Pairs:
        """Pair the opinions of a study; cases with one annotator are left out."""
        said = study.counted
        said = said.select(np.bincount(said.panel.case_of_opinion[remains(said)], minlength=said.n_cases) > 0)
        return Pairs.of_kinds(said, different_opinions(said))

    @staticmethod
    def of_kinds(study: Study, kinds: IntArray) -> Pairs:
        """Pair all opinions of a study, given which of the different things each says."""
        case, n_kinds, seats = study.panel.case_of_opinion, int(kinds.max(initial=0)) + 1, seats_of(study)
        keys, cell_opinion, cell = np.unique(case * n_kinds + kinds, return_index=True, return_inverse=True)
        order = np.argsort(seats, kind="stable")
        seat = np.empty(len(order), dtype=np.int64)
        _, seat[order], sizes = np.unique(seats[order], return_inverse=True, return_counts=True)
        offsets, places = take_rows(offsets_from_lengths(sizes), seat)
        own = row_of_each(offsets), order[places]

        def apart(values: FloatArray, per_vote: FloatArray) -> FloatArray:
            """Sum values of a case without what the annotator of each opinion said, one vote."""
            by_case = weighted_counts(case, values, study.n_cases)[case]
            return by_case - weighted_counts(own[0], per_vote[own[1]], study.n_opinions)

        masses = np.asarray(study.weights * study.votes, dtype=np.float64)
        others = apart(masses, study.weights)
        others = np.where(others > NOBODY * weighted_counts(case, masses, study.n_cases)[case], others, 0.0)
        counted = np.where(others > 0, masses, 0.0)
        everyone = weighted_counts(case, counted, study.n_cases)
        shares = counted / np.where(everyone > 0, everyone, 1.0)[case]
        rates = _over(shares, others)
        targets = masses * apart(rates, rates / study.votes)
        cases, cells = (study.case_weights, study.panel.clusters), (cell, keys // n_kinds, cell_opinion)
        return Pairs(study, *cases, kinds, case, *cells, own, masses, others, shares, rates, targets)

    def by_cell(self, values: FloatArray) -> FloatArray:
        """Add up values of opinions by cell."""
        return weighted_counts(self.cell, values, len(self.cell_case))

    def mean_of_others(self, values: FloatArray) -> FloatArray:
        """Average values of cells (..., n_cells) over the others of each opinion, shape (..., n_opinions)."""
        (one, own), masses = self.own, self.by_cell(self.masses)
        by_case = weighted_counts(self.cell_case, masses * values, self.study.n_cases)[..., self.case]
        of_own = weighted_counts(one, self.study.weights[own] * values[..., self.cell[own]], self.study.n_opinions)
        return _over(by_case - of_own, self.others)

    def summed(self, values: Callable[[IntArray, IntArray], FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Add up values of pairs by opinion.

        Parameters
        ----------
        values
            Given cells of those who agree and of those who are agreed with, returns values (n, n_pairs).

        Returns
        -------
        alone : (n, n_opinions)
            Mean over the others.
        involved : (n, n_opinions)
            Sum of share times value over all pairs, as the one that agrees and as the one that is agreed with.
        """
        study, cell, (one, other) = self.study, self.cell, self.own
        offsets = np.searchsorted(self.cell_case, np.arange(study.n_cases + 1))
        masses, rates = self.by_cell(self.masses), self.by_cell(self.rates)
        block = np.cumsum(np.diff(offsets) ** 2) // PAIRS_AT_ONCE
        limits = np.append(np.flatnonzero(np.diff(block, prepend=-1)), study.n_cases)
        alone, involved = [], []
        for first, last in pairwise(limits):
            start, stop = offsets[[first, last]]
            begins, b = take_rows(offsets, self.cell_case[start:stop])
            a = row_of_each(begins)
            found = values(start + a, b)
            opinions = slice(*study.panel.opinion_offsets[[first, last]].tolist())
            own = slice(*np.searchsorted(one, [opinions.start, opinions.stop]).tolist())
            who, also, n = one[own] - opinions.start, other[own], opinions.stop - opinions.start
            place = cell[opinions] - start
            starts = begins[:-1] - offsets[self.cell_case[start:stop]]
            there, back = starts[cell[one[own]] - start] + cell[also], starts[cell[also] - start] + cell[one[own]]
            weights, rate = study.weights[also], (self.rates / study.votes)[also]
            of_others = weighted_counts(a, masses[b] * found, stop - start)[:, place]
            of_others -= weighted_counts(who, weights * found[:, there], n)
            as_target = weighted_counts(b - start, rates[start + a] * found, stop - start)[:, place]
            as_target -= weighted_counts(who, rate * found[:, back], n)
            mean = _over(of_others, self.others[opinions])
            alone.append(mean)
            involved.append(self.shares[opinions] * mean + self.masses[opinions] * as_target)
        return np.concatenate(alone, axis=1), np.concatenate(involved, axis=1)

    @cached_property
    def labels(self) -> FloatArray:
        """What is said in each cell, shape (n_cells, K): shares of its first choice; of ratings 1, score, square."""
        names = [str(number) for number in range(len(self.cell_opinion))]
        return vote_labels(self.study.each_alone(self.cell_opinion, names), names).means

    def select(self, cases: IntArray) -> tuple[Pairs, IntArray, IntArray]:
        """Keep some cases, ascending; also return the positions of their opinions and cells."""
        is_kept = np.zeros(self.study.n_cases, dtype=np.bool_)
        is_kept[cases] = True
        opinions, cells = np.flatnonzero(is_kept[self.case]), np.flatnonzero(is_kept[self.cell_case])
        return Pairs.of_kinds(self.study.select(cases), self.kinds[opinions]), opinions, cells


def _over(sums: FloatArray, others: FloatArray) -> FloatArray:
    """Divide sums over the others of each opinion by how much these count; zero where there is nobody else."""
    return np.divide(sums, others, out=np.zeros_like(sums), where=others > 0)


def different_opinions(study: Study) -> IntArray:
    """Give the different things that were said a number, shape (n_opinions,)."""
    if study.kind == "ratings":
        return np.unique(study.scores, return_inverse=True)[1].astype(np.int64)
    if len(study.codes) == study.n_opinions:  # labels
        return study.codes.astype(np.int64)
    codes = np.insert(study.codes, study.code_offsets[1:], -1)  # where blocks end
    return kinds_of(study.code_offsets[study.block_offsets] + study.block_offsets, codes)


# What pairs are worth -------------------------------------------------------------------------------------


def as_predictions(study: Study, opinions: IntArray, name: str, some: IntArray, names: Sequence[str]) -> Predictions:
    """Take some of the opinions for what a model said, each about a case of its own.

    >>> said = Study.from_rankings([[[["a"], ["b", "c"]], [["b"]]]], ["a", "b", "c"])
    >>> as_predictions(said, np.array([0, 1]), "annotator", np.array([1, 0]), ["x", "y"]).to_lists()
    [[['b']], [['a'], ['b', 'c']]]
    """
    if study.kind == "ratings":
        return Predictions.from_numbers(study.scores[opinions[some]], case_names=names, name=name)
    block_offsets, blocks = take_rows(study.block_offsets, opinions[some])
    code_offsets, mentions = take_rows(study.code_offsets, blocks)
    last = np.repeat(block_offsets[1:], np.diff(block_offsets))
    places = np.repeat(last - np.arange(len(blocks)), np.diff(code_offsets))
    return Predictions(
        name, "ranking", study.conditions, tuple(names), code_offsets[block_offsets], study.codes[mentions], places
    )


def compared(
    metrics: Sequence[Metric], study: Study, opinions: IntArray, said: Callable[[IntArray, Sequence[str]], Predictions]
) -> FloatArray:
    """Compare single opinions, each as a case of its own, with what is ``said`` of them, shape (metrics, n)."""
    spec = MeanRating() if study.kind == "ratings" else InverseRank("each")
    found = []
    for start in range(0, len(opinions), COMPARED_AT_ONCE):
        places = np.arange(start, min(start + COMPARED_AT_ONCE, len(opinions)))
        names = [str(i) for i in range(len(places))]
        own = said(places, names)
        depth = max(1, *(metric.depth_for(own) for metric in metrics))
        for batch in spec.sample(study.each_alone(opinions[places], names), threads=1):
            seen = Drawn(batch.identified(depth), depth)
            predicted = Predicted(own, seen.batch.outline())
            found.append(np.array([metric.values(seen, predicted).mean(axis=-1) for metric in metrics]))
    return np.concatenate(found, axis=-1)


def of_kinds(metrics: Sequence[Metric], pairs: Pairs, called: str, a: IntArray, b: IntArray) -> FloatArray:
    """Compare what is said in cells ``a`` with what is said in cells ``b``, shape (metrics, n); the same only once."""
    said, kind = pairs.study, pairs.kinds[pairs.cell_opinion]
    n_kinds, one_of_kind = int(kind.max()) + 1, np.empty(int(kind.max()) + 1, dtype=np.int64)
    one_of_kind[kind] = pairs.cell_opinion
    keys, place = np.unique(kind[a] * n_kinds + kind[b], return_inverse=True)
    first, second = one_of_kind[keys // n_kinds], one_of_kind[keys % n_kinds]
    return compared(metrics, said, second, partial(as_predictions, said, first, called))[:, place.ravel()]


def of_cells(metrics: Sequence[Metric], pairs: Pairs, model: Predictions) -> FloatArray:
    """Compare a model with what is said in all cells, shape (metrics, n_cells)."""
    return compared(
        metrics, pairs.study, pairs.cell_opinion, lambda some, names: repeated(model, pairs.cell_case[some], names)
    )


def needs_scores(metric: Metric) -> bool:
    """Tell whether a metric cannot be computed of an annotator, who gives a label, a ranking or a number.

    >>> from dissensus.metrics import AUROC, TopKAccuracy
    >>> needs_scores(AUROC()), needs_scores(TopKAccuracy(1))
    (True, False)
    """
    return not {"ranking", "numbers"} & set(metric.accepts)


def first_shares(model: Predictions, n_conditions: int) -> Matrix:
    """Return how a model shares its first choice among conditions, shape (n_cases, K); sparse."""
    case = model.case_of_entry
    first = model.values == model.values[model.offsets[:-1][case]]  # the best come first
    share = 1.0 / np.bincount(case[first], minlength=model.n_cases)[case[first]]
    return sparse(share, case[first], model.codes[first], (model.n_cases, n_conditions))


# Estimates and their intervals ----------------------------------------------------------------------------


class PointOfExperts(NamedTuple):
    """The sensitivity of a model at the specificity of annotators, beside their sensitivity; a metric of pairs only."""

    called: str
    range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    scale: str = "logit"
    sees: str = "data set"

    @property
    def name(self) -> str:
        """What it is called."""
        return f"sensitivity at the specificity of one {self.called}"


class Estimates(NamedTuple):
    """Means over cases with their intervals and what makes them uncertain, shape (...) each."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    case_sd: FloatArray
    annotator_sd: FloatArray
    freedom: FloatArray

    def tail(self, value: FloatArray) -> FloatArray:
        """Return the probability that so much more than a value is seen, if the value is true: one-sided p-values."""
        sd = np.hypot(self.case_sd, np.nan_to_num(self.annotator_sd))
        beyond = np.divide(value - self.mean, sd, out=np.zeros_like(self.mean), where=sd > 0)
        return np.where(sd > 0, stdtr(self.freedom, beyond), np.asarray(self.mean <= value, dtype=np.float64))


@np.errstate(invalid="ignore", divide="ignore")
def estimates(
    values: FloatArray,
    weights: FloatArray,
    clusters: IntArray,
    bounds: tuple[FloatArray, FloatArray],
    part: Part | None,
    level: float,
    is_logit: BoolArray | bool = False,
) -> Estimates:
    """Average values (..., n_cases) over cases, with Student's t interval at the degrees of freedom of Satterthwaite.

    The variance over cases is that of clusters, with one more case at the ends of the range (...), so that no interval
    is empty; that over annotators is added where they are a sample. On the logit scale an interval keeps to its range.

    >>> bounds = np.array(0.0), np.array(1.0)
    >>> found = estimates(np.array([0.0, 1.0, 1.0, 1.0]), np.ones(4), np.arange(4), bounds, None, 0.95)
    >>> float(found.mean), float(found.low.round(2)), float(found.high.round(2))
    (0.75, 0.0, 1.0)
    """
    total, n_clusters, (low, high) = float(weights.sum()), int(clusters.max()) + 1, bounds
    mean = product(values, weights) / total
    away = weighted_counts(clusters, weights * (values - mean[..., None]), n_clusters)
    n = int((weighted_counts(clusters, weights, n_clusters) > 0).sum())
    end = np.where(np.isfinite(high - low), high - low, np.ptp(values, axis=-1)) / 2
    unit = float(np.square(weights).sum()) / total
    cases = (np.square(away).sum(axis=-1) * n / max(n - 1, 1) + (unit * end) ** 2) / total**2
    annotators, doubt = np.zeros_like(cases), cases**2 / max(n - 1, 1)
    if part is not None:
        annotators, doubt = part.variance, doubt + np.square(part.before) / part.freedom
    freedom = np.where(doubt > 0, np.maximum((cases + annotators) ** 2 / doubt, 1.0), np.inf)
    half = stdtrit(freedom, (1 + level) / 2) * np.sqrt(cases + annotators)
    inside = is_logit & (mean > 0) & (mean < 1)
    centre = np.where(inside, mean, 0.5)
    wide = half / (centre * (1 - centre))
    return Estimates(
        mean,
        np.where(inside, expit(logit(centre) - wide), np.maximum(mean - half, low)),
        np.where(inside, expit(logit(centre) + wide), np.minimum(mean + half, high)),
        np.sqrt(cases),
        np.full_like(cases, np.nan) if part is None else np.sqrt(annotators),
        freedom,
    )


@dataclass(frozen=True, eq=False)
class Crossing:
    """Say who read which case with whom, and how effects of annotators become a variance.

    With the share h of an annotator in a case of weight w, an effect g of annotators moves the values of a case by
    w h (g - mean of g): the quadratic form of these, minus what chance would give, is compared with that of the mean.

    Attributes
    ----------
    counted : (n_opinions,)
        Opinions of named annotators with two others or more on the case.
    cell, unit : (n_counted,), (n_cells,)
        Who read which case, or group of cases, and the annotator, or site, of each of these.
    scale, freedom
        From squared effects beyond chance to the variance of the mean, and the degrees of freedom.
    """

    counted: BoolArray
    cell: IntArray
    unit: IntArray
    scale: float
    freedom: float

    @staticmethod
    def of(pairs: Pairs, weights: FloatArray, clusters: IntArray, wanted: float | None = None) -> Crossing | None:
        """Find who read what with whom; nothing if too few annotators read enough cases with two others.

        Parameters
        ----------
        wanted
            Sum of the squared shares of annotators in the mean, where these are some of the cases; see
            :func:`squared_shares`.
        """
        study, case, n_clusters = pairs.study, pairs.case, int(clusters.max()) + 1
        units, own = study.panel.units, (pairs.shares + pairs.targets) / 2
        n_units, weight = int(units.max(initial=-1)) + 1, weights / weights.sum()
        largest = np.zeros(study.n_cases)
        np.maximum.at(largest, case, own)
        counted = (units != ANONYMOUS) & (own > 0) & (weight[case] > 0) & (largest[case] < 0.5 - ROUNDED)
        keys = units * n_clusters + clusters[case]
        read = np.bincount(np.unique(keys[counted]) // n_clusters, minlength=n_units + 1)
        counted &= read[units] > 1
        if (read >= LEAST_COMMON).sum() < LEAST_ANNOTATORS:
            return None
        cells, cell = np.unique(keys[counted], return_inverse=True)
        plain = Crossing(counted, cell, cells // n_clusters, 1.0, 1.0)
        probes = probe_vectors(n_units, PROBES)
        added = np.append(probes, np.zeros((len(probes), 1)), axis=1)[:, units]
        effects = own * weight[case] * (added - weighted_counts(case, own * added, study.n_cases)[:, case])
        sums, noise = plain.of_units(effects)
        found = float((np.square(sums).sum() - noise.sum()) * n_units / np.square(probes).sum())
        if found <= ROUNDED * float(np.square(sums).sum()):
            return None
        products = product(sums, sums.T)
        squares = np.square(products)
        if len(probes) < n_units:  # signs at random: products of two of them are unbiased
            squares = squares - np.diag(np.diag(squares))
        pairs_of = len(probes) * (len(probes) - 1) / len(probes) ** 2 if len(probes) < n_units else 1.0
        freedom = float(np.trace(products) ** 2 / (squares.sum() / pairs_of))
        wanted = squared_shares(pairs, weights) if wanted is None else wanted
        return replace(plain, scale=wanted / found, freedom=freedom)

    def of_units(self, effects: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sum effects (..., n_opinions) by annotator, (..., n_units), with the squares that chance gives."""
        cells, n = weighted_counts(self.cell, effects[..., self.counted], len(self.unit)), np.bincount(self.unit)
        sums, squares = (weighted_counts(self.unit, cells**power, len(n)) for power in (1, 2))
        return sums, np.where(n > 1, n / np.maximum(n - 1, 1) * (squares - sums**2 / np.maximum(n, 1)), 0.0)

    def part(self, effects: FloatArray) -> Part:
        """Return the variance of means (...) from annotators, given what every opinion moves, (..., n_opinions)."""
        sums, noise = self.of_units(effects)
        before = self.scale * np.square(sums).sum(axis=-1)
        return Part(np.maximum(before - self.scale * noise.sum(axis=-1), 0.0), before, self.freedom)


def squared_shares(pairs: Pairs, weights: FloatArray) -> float:
    """Sum the squares of the shares that annotators, or sites, have in a mean over cases of these weights."""
    units, share = pairs.study.panel.units, (pairs.shares + pairs.targets) / 2 * (weights / weights.sum())[pairs.case]
    named = units != ANONYMOUS
    return float(np.square(weighted_counts(units[named], share[named], int(units.max(initial=0)) + 1)).sum())


# Metrics of a whole data set ------------------------------------------------------------------------------


class Side(NamedTuple):
    """What somebody said, row by row, and how much of each row has which label, (K, n_rows)."""

    said: Said
    masses: FloatArray

    def value(self, metric: DataSetMetric | None) -> float:
        """Return a metric; nan if it is none."""
        return math.nan if metric is None else float(metric.of_draws(self.said, self.masses[None])[0])

    def linear(self, metric: DataSetMetric | None) -> tuple[float, FloatArray]:
        """Return the metric, and slopes (K, n_rows): with the label times slope added, rows average to the metric."""
        if metric is None:
            return math.nan, np.full_like(self.masses, np.nan)
        return self.value(metric), self.said.weights.sum() * metric.slopes(self.said, self.masses)

    def values(self, metric: DataSetMetric | None) -> FloatArray:
        """Return values of rows whose mean by weights is the metric."""
        base, slopes = self.linear(metric)
        return np.asarray(base + (self.masses * slopes).sum(axis=0))


def sides_of(metric: Metric | PointOfExperts, own: Side) -> tuple[DataSetMetric | None, DataSetMetric | None]:
    """Return what is computed of annotators and of models, if it is of a whole data set."""
    if isinstance(metric, PointOfExperts):
        return named.Sensitivity(), at_specificity(own.value(named.Specificity()))
    whole = cast("DataSetMetric", metric) if metric.sees == "data set" else None
    if whole is None or needs_scores(whole):
        return None, whole
    decided = whole
    if whole.parameters().get("threshold") is not None:  # what an annotator says is a decision
        decided = type(whole).from_parameters({**whole.parameters(), "threshold": None})
    return decided, whole


def at_specificity(value: float) -> SensitivityAtSpecificity | None:
    """Return the sensitivity at a specificity, if that is between 0 and 1."""
    return named.SensitivityAtSpecificity(value) if 0 < value < 1 else None


def slope_at(own: Side, model: Side) -> float:
    """Return how fast the sensitivity of a model falls with specificity, around that of annotators."""
    c = own.value(named.Specificity())
    ends = max(c - NEAR, c / 2), min(c + NEAR, (1 + c) / 2)
    low, high = (model.value(at_specificity(one)) for one in ends)
    return 0.0 if math.isnan(high - low) else (high - low) / (ends[1] - ends[0])


@dataclass(frozen=True, eq=False)
class Sample:
    """Hold how well every opinion agrees with the others, and every model with it.

    Attributes
    ----------
    pairs, models
        Who is compared with whom.
    findings, items : (n_cases,)
        Which finding each case is about, from 0, and which case it belongs to.
    metrics, called
        What they are compared by, and what an annotator is called.
    alone, involved : (metrics, n_opinions)
        Of :meth:`Pairs.summed`; nan of metrics that need scores.
    of_models : (models, metrics, n_cells)
        Agreement of each model with what is said in each cell.
    """

    pairs: Pairs
    models: Mapping[str, Predictions]
    findings: IntArray
    items: IntArray
    metrics: tuple[Metric | PointOfExperts, ...]
    called: str
    alone: FloatArray
    involved: FloatArray
    of_models: FloatArray

    @staticmethod
    def of(
        pairs: Pairs,
        models: Mapping[str, Predictions],
        metrics: tuple[Metric, ...],
        *,
        findings: Mapping[str, str],
        called: str,
        point: bool,
    ) -> Sample:
        """Compare everybody with everybody.

        Where models give scores for a yes-or-no question, the point of their curve at the annotators' mean specificity
        is compared too: first, if there is a ``point`` in it, as the metric that was wanted first needs scores.
        """
        study, rows = pairs.study, np.arange(pairs.study.n_cases)
        _, of_finding = np.unique([findings.get(name, "") for name in study.case_names], return_inverse=True)
        items = study.panel.clusters[rows] if findings else rows
        wanted: list[Metric | PointOfExperts] = list(metrics)
        scored = study.question == "binary" and all(model.kind == "scores" for model in models.values())
        if scored and (point or any(metric.id == "sensitivity" for metric in metrics)):
            wanted.insert(0 if point else len(wanted), PointOfExperts(called))
            wanted += [metric for metric in (named.Specificity(),) if metric not in wanted]
        alone, involved = np.full((2, len(wanted), study.n_opinions), np.nan)
        of_models = np.full((len(models), len(wanted), len(pairs.cell_case)), np.nan)
        chosen = [metric for metric in metrics if metric.sees == "case"]
        known = [metric for metric in chosen if not needs_scores(metric)]
        if known:
            places = [wanted.index(metric) for metric in known]
            alone[places], involved[places] = pairs.summed(partial(of_kinds, known, pairs, called))
        if chosen:
            places = [wanted.index(metric) for metric in chosen]
            of_models[:, places] = [of_cells(chosen, pairs, model) for model in models.values()]
        found = of_finding.astype(np.int64), items, tuple(wanted), called, alone, involved, of_models
        return Sample(pairs, models, *found)._with_whole()

    def part(self, cases: IntArray) -> Sample:
        """Return the same for some of the cases, ascending."""
        pairs, opinions, cells = self.pairs.select(cases)
        return replace(
            self,
            pairs=pairs,
            models={name: model.select(cases) for name, model in self.models.items()},
            findings=self.findings[cases],
            items=self.items[cases],
            alone=self.alone[:, opinions],
            involved=self.involved[:, opinions],
            of_models=self.of_models[..., cells],
        )._with_whole()

    # Metrics of a whole data set --------------------------------------------------------------------------

    def _with_whole(self) -> Sample:
        """Write the values of metrics of a whole data set into their places."""
        for place, metric in enumerate(self.metrics):
            if metric.sees == "data set":
                ours, theirs = sides_of(metric, self.experts)
                if ours is not None:
                    self.alone[place], self.involved[place] = self.pairs.summed(self.of_pairs(place))
                for row, own in zip(self.of_models, self.sides, strict=True):
                    base, slopes = own.linear(theirs)
                    row[place] = base + (slopes[:, self.pairs.cell_case] * self.pairs.labels.T).sum(axis=0)
        return self

    def side(self, scores: FloatArray, about: IntArray, weights: FloatArray, masses: FloatArray) -> Side:
        """Put together rows about some of the cases."""
        from dissensus.metrics import data_set

        picks, is_binary = data_set.first_shares(scores), self.pairs.study.question == "binary"
        return Side(data_set.Said(scores, picks, weights, is_binary, self.findings[about], self.items[about]), masses)

    @cached_property
    def said(self) -> FloatArray:
        """What each cell says, as if a model had said it, (n_cells, K); of ratings the score."""
        study = self.pairs.study
        return study.scores[self.pairs.cell_opinion, None] if study.kind == "ratings" else self.pairs.labels

    @cached_property
    def scores(self) -> list[FloatArray]:
        """What each model says, (n_cases, K) each."""
        return [model.to_scores() for model in self.models.values()]

    @cached_property
    def others(self) -> FloatArray:
        """What the others of each opinion say on average, (K, n_opinions)."""
        return self.pairs.mean_of_others(self.pairs.labels.T)

    @cached_property
    def experts(self) -> Side:
        """Annotators against the others, one row per cell of whoever has others."""
        pairs = self.pairs
        mass = pairs.by_cell(pairs.shares)
        rows = np.flatnonzero(mass > 0)
        masses, about = pairs.by_cell(pairs.shares * self.others)[:, rows] / mass[rows], pairs.cell_case[rows]
        return self.side(self.said[rows], about, self.pairs.weights[about] * mass[rows], masses)

    @cached_property
    def sides(self) -> list[Side]:
        """Models against all annotators, one row per case."""
        pairs, n_cases = self.pairs, self.pairs.study.n_cases
        masses = weighted_counts(pairs.cell_case, pairs.by_cell(pairs.targets) * pairs.labels.T, n_cases)
        return [self.side(own, np.arange(n_cases), self.pairs.weights, masses) for own in self.scores]

    def of_pairs(self, place: int) -> Callable[[IntArray, IntArray], FloatArray]:
        """Return what computes a metric, by its place, of pairs of cells, (1, n_pairs); the mean is the metric."""
        metric, pairs = self.metrics[place], self.pairs
        if not isinstance(metric, PointOfExperts) and metric.sees == "case":
            return partial(of_kinds, [metric], pairs, self.called)
        labels = pairs.labels.T
        slopes = np.zeros((len(labels), len(pairs.cell_case)))
        base, slopes[:, pairs.by_cell(pairs.shares) > 0] = self.experts.linear(sides_of(metric, self.experts)[0])
        return lambda a, b: base + (slopes[:, a] * labels[:, b]).sum(axis=0)[None]

    # Values of cases --------------------------------------------------------------------------------------

    @cached_property
    def means(self) -> FloatArray:
        """Agreement of annotators and of models on each case, shape (1 + models, metrics, n_cases)."""
        pairs, n_cases = self.pairs, self.pairs.study.n_cases
        models = weighted_counts(pairs.cell_case, pairs.by_cell(pairs.targets) * self.of_models, n_cases)
        return np.concatenate([weighted_counts(pairs.case, pairs.shares * self.alone, n_cases)[None], models])

    @cached_property
    def crossing(self) -> Crossing | None:
        """Who read what with whom; nothing if annotators are no sample."""
        return Crossing.of(self.pairs, self.pairs.weights, self.pairs.clusters)

    @cached_property
    def effects(self) -> FloatArray:
        """How far every opinion moves the mean of annotators and of models, (1 + models, metrics, n_opinions).

        An opinion is part of a pair twice, as the one that agrees and as the one that is agreed with; what is left of
        the mean of its case without it says how far it moves.
        """
        pairs, case = self.pairs, self.pairs.case
        weight, involved = ((self.pairs.weights / self.pairs.weights.sum())[case], pairs.shares + pairs.targets)
        left = np.where(involved < 1 - ROUNDED, 1 - involved, np.inf)
        alone = (self.involved - involved * self.means[0][:, case]) * (1 - involved / 2) / left
        models = pairs.targets * (self.of_models[..., pairs.cell] - self.means[1:][..., case])
        return np.asarray(weight * np.concatenate([alone[None], models]))

    def rows(self, margin: float | None, level: float) -> list[dict[str, Any]]:
        """Return a row per metric and model, with p-values: of no difference, and of one beyond the margin."""
        means = self.means.copy()
        effects = None if self.crossing is None else self.effects.copy()
        for k, metric in enumerate(self.metrics):
            if isinstance(metric, PointOfExperts):  # the specificity of annotators is uncertain too
                point = self.metrics.index(named.Specificity())
                slopes = np.array([slope_at(self.experts, own) for own in self.sides])
                centre = self.experts.value(named.Specificity())
                means[1:, k] += slopes[:, None] * (means[0, point] - centre)
                if effects is not None:
                    effects[1:, k] += slopes[:, None] * effects[0, point]
        moved = None if effects is None or self.crossing is None else self.crossing.part(with_gaps(effects))
        return self._summarised(means, self.pairs.weights, self.pairs.clusters, moved, margin, level)

    def _summarised(
        self,
        means: FloatArray,
        weights: FloatArray,
        clusters: IntArray,
        part: Part | None,
        margin: float | None,
        level: float,
    ) -> list[dict[str, Any]]:
        """Return a row per metric and model, given means of cases, (1 + models, metrics, n_cases)."""
        values = with_gaps(means)
        low, high = np.array([metric.range for metric in self.metrics], dtype=np.float64).T
        is_gap = (np.arange(len(values)) > len(self.models))[:, None]
        bounds = np.where(is_gap, low - high, low), np.where(is_gap, high - low, high)
        is_logit = ~is_gap & np.array([metric.scale == "logit" for metric in self.metrics])
        found = estimates(values, weights, clusters, bounds, part, level, is_logit)
        sign = np.array([1.0 if metric.higher_is_better else -1.0 for metric in self.metrics])
        better = found._replace(mean=sign * found.mean)
        tail = better.tail(np.zeros(1))
        p_value = np.minimum(2 * np.minimum(tail, 1 - tail), 1.0)
        p_noninferior = np.full_like(p_value, np.nan) if margin is None else better.tail(np.array([-margin]))
        rows = []
        for k, metric in enumerate(self.metrics):
            for number, name in enumerate(self.models, 1):
                gap = number + len(self.models), k
                row: dict[str, Any] = {"metric": metric.name, "model": name}
                for columns, place in ((EXPERTS, (0, k)), (AGREED, (number, k)), (APART, gap)):
                    row |= {column: float(values[place]) for column, values in zip(columns, found, strict=False)}
                rows.append({**row, "p_value": float(p_value[gap]), "p_noninferior": float(p_noninferior[gap])})
        return rows

    @cached_property
    def panels(self) -> Panels:
        """How well panels of annotators agree with one more."""
        return Panels(self.pairs.study)

    def worth(self, level: float) -> dict[str, Worth]:
        """Return how many annotators each model is worth, by first choices or, of ratings, by squared distance."""
        pairs, study, panels = self.pairs, self.pairs.study, self.panels
        crossings: dict[bytes, Crossing | None] = {}
        some = self if study.n_cases <= MOST_MOVED else self.part(np.arange(MOST_MOVED))
        few, n_some = some.pairs, some.pairs.study.n_cases
        share = (few.shares + few.targets) / 2
        end = np.ptp(study.scores) ** 2 if study.kind == "ratings" else 1.0
        bounds, found = (np.array(-end), np.array(end)), {}
        for name, model in self.models.items():
            if study.kind == "ratings":
                values = -np.square(model.numbers[pairs.case] - study.scores)
            else:
                values = inner(first_shares(model, study.n_conditions)[pairs.case], panels.choices)
            own = weighted_counts(pairs.case, pairs.targets * values, study.n_cases)
            moves = (pairs.targets * (values - own[pairs.case]))[: len(share)]

            def compare(k: int, own: FloatArray = own, moves: FloatArray = moves) -> tuple[float, ...]:
                of_panel = panels.agreement(k)
                weights, part = np.where(np.isnan(of_panel), 0.0, self.pairs.weights), None
                key = (weights > 0).tobytes()
                if key not in crossings:
                    crossings[key] = None
                    if weights[:n_some].any():
                        wanted = squared_shares(pairs, weights)
                        crossings[key] = Crossing.of(few, weights[:n_some], few.clusters, wanted)
                crossing = crossings[key]
                if crossing is not None:
                    here = weights[:n_some] / weights[:n_some].sum()
                    part = crossing.part((moves - (1 - share) * some.panels.moves(k)) * here[few.case])
                gaps = np.where(weights > 0, own - np.nan_to_num(of_panel), 0.0)
                return tuple(map(float, estimates(gaps, weights, self.pairs.clusters, bounds, part, level)[:3]))

            found[name] = worth_of(panels, compare)
        return found

    def of_groups(self, level: float) -> tuple[float, float, Estimates]:
        """Return how often annotators of one group, and of different ones, name the same first, and the difference.

        It is about the cases that have pairs of either kind; nan where there are none.
        """
        study, case, choices = self.pairs.study, self.pairs.case, self.panels.choices
        units = study.panel.units
        _, group = np.unique(case * (int(units.max()) + 1) + units, return_inverse=True)
        own = weighted_counts(case, inner(choices, choices), study.n_cases)

        def paired(row: IntArray) -> tuple[FloatArray, FloatArray]:
            """Sum over pairs of opinions of one row, and count them, by case."""
            sizes = np.bincount(row).astype(np.float64)
            case_of = np.zeros(len(sizes), dtype=np.int64)
            case_of[row] = case
            sums = sparse(np.ones(len(row)), row, np.arange(len(row)), (len(sizes), len(row))) @ choices
            same = weighted_counts(case_of, inner(sums, sums), study.n_cases) - own
            return same, weighted_counts(case_of, sizes * (sizes - 1), study.n_cases)

        (alike, n_within), (same, n_pairs) = paired(group), paired(case)
        both = (n_within > 0) & (n_pairs > n_within)
        if not both.any():
            return math.nan, math.nan, Estimates(*(np.array(math.nan),) * 6)
        within, between = alike[both] / n_within[both], (same - alike)[both] / (n_pairs - n_within)[both]
        weights, bounds = self.pairs.weights[both], (np.array(-1.0), np.array(1.0))
        gap = estimates(within - between, weights, self.pairs.clusters[both], bounds, None, level)
        return float(np.average(within, weights=weights)), float(np.average(between, weights=weights)), gap

    def annotator_rows(self, level: float) -> list[dict[str, Any]]:
        """Score every named annotator like a model, beside every model on the same cases against the same others."""
        pairs, study, found = self.pairs, self.pairs.study, []
        if not study.annotator_names:
            return []
        both = np.concatenate([self.alone[None], pairs.mean_of_others(self.of_models)])
        order = np.argsort(study.annotators, kind="stable")
        limits = np.searchsorted(study.annotators[order], np.arange(len(study.annotator_names) + 1))
        for code, name in enumerate(study.annotator_names):
            own = order[limits[code] : limits[code + 1]]
            own = own[pairs.shares[own] > 0]
            cases, row = np.unique(pairs.case[own], return_inverse=True)
            if len(cases) < LEAST_CASES:
                continue
            share = pairs.shares[own] / weighted_counts(row, pairs.shares[own], len(cases))[row]
            values = both[..., own] * share
            means, weights = weighted_counts(row, values, len(cases)), self.pairs.weights[cases]
            for k, metric in enumerate(self.metrics):
                if metric.sees == "data set":
                    others = self.others[:, own]
                    alone = self.side(self.said[pairs.cell[own]], pairs.case[own], weights[row] * share, others)
                    said = weighted_counts(row, share * others, len(cases))
                    ours, theirs = sides_of(metric, alone)
                    means[0, k] = weighted_counts(row, share * alone.values(ours), len(cases))
                    for number, scores in enumerate(self.scores, 1):
                        means[number, k] = self.side(scores[cases], cases, weights, said).values(theirs)
            for one in self._summarised(means, weights, self.pairs.clusters[cases], None, None, level):
                if math.isnan(one["experts"]):  # an annotator gives no scores
                    continue
                mine = {to: one[of] for of, to in zip(EXPERTS, AGREED, strict=True)}
                beside = {"model": one["model"], "model_agreement": one["agreement"]}
                head = {"annotator": name, "metric": one["metric"], "n_cases": len(cases), **mine, **beside}
                found.append(head | {part: one[part] for part in APART[:3]})
        return found


def with_gaps(values: FloatArray) -> FloatArray:
    """Put differences of models from annotators behind values of annotators and models (1 + models, metrics, n)."""
    return np.concatenate([values, values[1:] - values[:1]])
