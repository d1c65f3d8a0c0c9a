"""How often intervals hold and verdicts are false, over many studies at once.

Studies of the same size share the weights of resampled cases, so that the interval functions of the package take all of
a batch in one call; a test holds these numbers against those of ``evaluate``, study by study.
"""

import math
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from dissensus import Study, evaluate
from dissensus.aggregations import Dirichlet
from dissensus.core.arrays import BoolArray, FloatArray, IntArray
from dissensus.core.names import case_keys
from dissensus.evaluation.annotators import Design
from dissensus.evaluation.comparison import Difference, holm
from dissensus.evaluation.intervals import RESAMPLES, Part, end_weights, spread, tail_probability
from dissensus.evaluation.sums import CaseWeights, Sums, Tally, design_effects, place_sums, resampled_means
from dissensus.metrics import TopKAccuracy
from simulation.populations import CONDITIONS, EQUAL, MODELS, Population, Studies, annotations_of, batches

LEVEL = 0.9
PAIRS = tuple(combinations(range(len(MODELS)), 2))
WITH_C = tuple(place for place, pair in enumerate(PAIRS) if 2 in pair)
NULL = tuple(PAIRS.index(pair) for pair in EQUAL)
LEAST, MOST, MOST_BEFORE, MOST_AFTER, MOST_ANYWHERE = 0.86, 0.94, 0.12, 0.05, 0.1
CAUTIOUS = 40
"""Up to so many cases, intervals may hold more often than they say."""


class Found(NamedTuple):
    """Outcomes of many studies.

    Attributes
    ----------
    coverage, coverage_of_difference
        Share of the intervals of means that hold, over all models, and of those of differences of unequal models.
    false_before, false_after
        Share of the pairs of equal models of which the interval excludes zero, and of which one is called better.
    false_anywhere
        Share of the studies that call any of the equal models better.
    told : (studies, pairs)
        Whether the verdict, after Holm's adjustment, is that one model is better.
    """

    coverage: float
    coverage_of_difference: float
    false_before: float
    false_after: float
    false_anywhere: float
    told: BoolArray


def slack(share: float, n_studies: float) -> float:
    """Return 1.5 standard errors of a share of so many studies."""
    return 1.5 * math.sqrt(share * (1 - share) / n_studies)


def faults(found: Found, population: Population, n_studies: float = math.inf) -> list[str]:
    """Tell which numbers are outside of what is allowed, by more than the slack; small studies may be cautious."""
    most = 1.0 if population.n_cases <= CAUTIOUS else MOST
    return [
        f"{what} {100 * share:.1f} %"
        for what, share, low, high in (
            ("mean holds in", found.coverage, LEAST, most),
            ("difference holds in", found.coverage_of_difference, LEAST, most),
            ("false before", found.false_before, 0.0, MOST_BEFORE),
            ("false after", found.false_after, 0.0, MOST_AFTER),
            ("false anywhere", found.false_anywhere, 0.0, MOST_ANYWHERE),
        )
        if not low - slack(low, n_studies) <= share <= high + slack(high, n_studies)
    ]


def simulated(
    population: Population, number: int, *, seed: int, adjusted: bool = False, fixed: bool = False, level: float = LEVEL
) -> Found:
    """Draw studies and see whether their intervals hold, for agreement or the adjusted value."""
    truth = adjusted_truth(population) if adjusted else population.agreement()
    parts = [_outcome(found, key, truth, adjusted, fixed, level) for key, found in batches(population, number, seed)]
    mean, difference, outside, told = (np.concatenate(part) for part in zip(*parts, strict=True))
    shares = (mean, difference[:, WITH_C], outside[:, NULL], told[:, NULL], told[:, NULL].any(axis=1))
    a, b, c, d, e = (float(share.mean()) for share in shares)
    return Found(a, b, c, d, e, told)


def _outcome(
    studies: Studies, seed: int, truth: FloatArray, adjusted: bool, fixed: bool, level: float
) -> tuple[FloatArray, FloatArray, BoolArray, BoolArray]:
    means, gaps = intervals(studies, seed, adjusted=adjusted, fixed=fixed, level=level)
    apart = np.array([truth[a] - truth[b] for a, b in PAIRS])
    rows = zip(gaps.low, gaps.high, gaps.p, strict=True)
    told = np.array([verdicts(studies.population, *row, level=level) for row in rows])
    return (
        inside(means.low, truth, means.high),
        inside(gaps.low, apart, gaps.high),
        (gaps.low > 0) | (gaps.high < 0),
        told,
    )


class Intervals(NamedTuple):
    """Limits of intervals, and p-values; each (studies, quantities)."""

    low: FloatArray
    high: FloatArray
    p: FloatArray


def intervals(
    studies: Studies, seed: int, *, adjusted: bool = False, fixed: bool = False, level: float = LEVEL
) -> tuple[Intervals, Intervals]:
    """Return the intervals of the means of all models, and of the differences of all pairs."""
    means = values_of(studies, adjusted=adjusted)
    gaps = np.stack([means[:, a] - means[:, b] for a, b in PAIRS], axis=1)
    has_parts = not fixed and studies.population.pool
    moved = annotator_parts(studies, adjusted=adjusted) if has_parts else (None, None)
    kinds = zip((means, gaps), (0.0, -1.0), moved, strict=True)
    population = studies.population
    one, other = (limits(each, population, seed, low=low, part=part, level=level) for each, low, part in kinds)
    return one, other


def limits(
    values: FloatArray, population: Population, seed: int, *, low: float, part: Part | None, level: float = LEVEL
) -> Intervals:
    """Return the intervals of means over cases (studies, quantities, n_cases), as evaluations find them."""
    groups, shape = population.groups(), values.shape[:2]
    names = tuple(f"group {group}" if population.n_groups else str(group) for group in groups)
    weights = CaseWeights(seed, np.ones(len(groups)), case_keys(names), is_grouped=True)
    bootstrap = weights.bootstrap(slice(None), RESAMPLES)
    sums = Sums(place_sums(values, np.ones((1, 1, len(groups))), weights, bootstrap, ("all", "each case")))
    designs = design_effects(sums, ("all", "each case"), len(groups))[0]
    tally = Tally(values.sum(axis=-1, keepdims=True), np.full((*shape, 1), float(len(groups))))
    both, squares = (sums[what, "all", "each case"] for what in ("resampled", "squares"))
    found = spread(
        resampled_means(both, squares, tally, designs),
        np.full(shape, low),
        np.ones(shape),
        ends=end_weights(seed, RESAMPLES),
        n_groups=population.n_groups or None,
        annotators=part,
        level=level,
    )
    ends, centres = np.quantile(found.values, [(1 - level) / 2, (1 + level) / 2], axis=-1), values.mean(axis=-1)
    p = tail_probability(found.values, found.freedom, found.third, n_cases=len(groups), level=level)
    return Intervals(np.fmin(ends[0], centres), np.fmax(ends[1], centres), p)


def verdicts(population: Population, low: FloatArray, high: FloatArray, p: FloatArray, *, level: float) -> list[bool]:
    """Tell which pairs of models of a study one would call different, after Holm's adjustment."""
    one = Difference("", "", None, "", "", "A", "B", *(0.0,) * 6, n_cases=population.n_cases, level=level)
    one = replace(one, n_groups=population.n_groups)
    rows = zip(low.tolist(), high.tolist(), holm(p.tolist()), strict=True)
    return [replace(one, low=a, high=b, p_adjusted=c).is_distinguishable for a, b, c in rows]


def inside(low: FloatArray, value: FloatArray, high: FloatArray) -> FloatArray:
    """Tell whether intervals hold; on the very edge, which counts of few cases often hit, half."""
    closed = ((low <= value) & (value <= high)).astype(np.float64)
    return np.asarray((closed + ((low < value) & (value < high))) / 2)


# Annotators ----------------------------------------------------------------------------------------------


def annotator_parts(studies: Studies, *, adjusted: bool) -> tuple[Part, Part]:
    """Leave annotators out in turn: what they move, for the means of models and for their differences."""
    study = annotations_of(studies.population, studies.readers, studies.labels[0])
    design = Design.of(study)
    cases = study.panel.positions(list(design.study.case_names))[design.case]
    codes = np.array([int(name.split()[1]) for name in design.study.annotator_names])
    group_of = np.zeros(codes.max() + 1, dtype=np.int64)
    group_of[codes] = design.group_of
    kept = group_of[studies.readers[cases]] != design.group[:, None]
    moved = [design.spread(one[:, None]) for one in values_of(studies, cases, kept, adjusted=adjusted)]
    pairs = [[one.part((np.array(a), np.array(b))) for a, b in PAIRS] for one in moved]
    return _stacked([[one.part()] for one in moved]), _stacked(pairs)


def _stacked(parts: list[list[Part]]) -> Part:
    """Put the parts of all studies on top of each other; there is one metric."""
    both = (np.array([[getattr(one, name) for one in row] for row in parts]) for name in ("variance", "before"))
    variance, before = (each.reshape(len(parts), -1) for each in both)
    return Part(variance, before, parts[0][0].freedom)


# What cases are worth ------------------------------------------------------------------------------------


def values_of(
    studies: Studies, case: IntArray | None = None, kept: BoolArray | None = None, *, adjusted: bool
) -> FloatArray:
    """Return the value of cases by the annotators who are kept (n_cases, n_annotators), (studies, models, n_cases).

    It is the share of annotators who say what a model says; adjusted, that of draws of a Dirichlet distribution in
    which the model names the most plausible condition, where those who are kept weigh as much as all did.
    """
    case = np.arange(studies.population.n_cases) if case is None else case
    kept = np.ones((len(case), studies.labels.shape[-1]), dtype=np.bool_) if kept is None else kept
    sizes = kept.sum(axis=-1)
    if not adjusted:
        return np.asarray((studies.agreeing()[:, :, case] * kept).sum(axis=-1) / sizes)
    said = np.where(kept, studies.labels[:, case], -1)
    counts = np.stack([(said == code).sum(axis=-1) for code in range(len(CONDITIONS))], axis=-1)
    found = np.empty((len(counts), len(MODELS), len(case)))
    for size in np.unique(sizes).tolist():
        own, weight = sizes == size, kept.shape[-1] / size
        rows = (counts[:, own] * (size + 1) ** np.arange(counts.shape[-1])).sum(axis=-1)
        found[..., own] = table_of(size, weight)[rows[:, None], studies.models[:, :, case[own]]]
    return found


@lru_cache
def table_of(n_votes: int, weight: float) -> FloatArray:
    """Evaluate every outcome of a vote once: the adjusted accuracy of naming each condition."""
    n = len(CONDITIONS)
    outcomes = [row for row in product(range(n_votes + 1), repeat=n) if sum(row) == n_votes]
    models = {name: np.tile(np.eye(n)[code], (len(outcomes), 1)) for code, name in enumerate(CONDITIONS)}
    said = Study.from_counts(outcomes, CONDITIONS)
    result = evaluate(
        said, models, aggregations=[Dirichlet(weight)], metrics=[TopKAccuracy(1)], draws=1000, threads=1, panel=False
    )
    table = np.full(((n_votes + 1) ** n, n), np.nan)
    table[np.array(outcomes) @ (n_votes + 1) ** np.arange(n)] = result.case_means[0, :, 0].T
    return table


def adjusted_truth(population: Population, n_cases: int = 400_000) -> FloatArray:
    """Return the adjusted accuracy of every model over many cases, each with annotators of its own."""
    large = replace(population, n_cases=n_cases, n_groups=0, correlation=0.0, pool=0)
    rng = np.random.default_rng(0)
    return np.asarray(values_of(large.studies(1, large.readers(rng), rng), adjusted=True)[0].mean(axis=-1))
