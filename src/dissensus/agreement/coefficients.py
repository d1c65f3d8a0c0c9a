"""Coefficients of agreement: one table of who said what on which case, and formulas of it that can be resampled.

A coefficient is a function of how many times each case occurs, so that samples of cases cost a product of matrices. It
also says in words what it rests on, and why it is undefined where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Integral
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.checks import check_count, checked
from dissensus.core.errors import DissensusError, listing
from dissensus.core.names import Ranking
from dissensus.core.ragged import offsets_from_lengths, product, row_of_each, take_rows, weighted_counts
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study

Distance: TypeAlias = Literal["first-choice", "overlap", "set", "masi", "ordinal", "interval", "ratio"]

# What near misses are worth: nothing, or more the nearer two grades are.
Credit: TypeAlias = Literal["none", "linear", "quadratic"]

# How many pairs of sets are compared at the same time.
PAIRS_AT_ONCE = 2_000_000

# Share of pairs with a common condition above which the dense product is faster than the sparse one.
DENSE = 0.05

# Expected disagreement, or agreement that chance leaves open, below which all opinions are the same up to rounding.
NONE_EXPECTED = 1e-12

# Variance of numbers over their mean square below which they are the same, up to rounding.
ROUNDED = 1e-28

# Step, in logarithms, and ends of the sum that stands for the integral behind ratios; it is off by less than 1e-12.
STEP, LEAST, MOST = 0.25, 1e-8, 45.0

# How many cases two annotators have in common, at the least, to be one of the pairs that Cohen's kappa averages.
LEAST_COMMON = 10

# Determinant, relative to the sizes of its rows, below which components of variance cannot be told apart.
SINGULAR = 1e-9

UNPAIRED = "undefined: no case has two opinions"
NAMELESS = "undefined: annotators have no names"
NO_DIFFERENCE = "undefined: no two opinions differ"


# Who said what -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Table:
    """Hold the different things that were said, and how often each was said on each case.

    Attributes
    ----------
    study
        The opinions that count.
    kind : (n_opinions,)
        Which of the different things each opinion says.
    shares : (n_kinds, n_values)
        How each of them shares itself among values, which are conditions or different ratings in their order; sparse.
    numbers : (n_values,)
        The number that each value stands for: the place of a condition, or the rating.
    """

    study: Study
    kind: IntArray
    shares: Matrix
    numbers: FloatArray

    @classmethod
    def of(cls, study: Study) -> Table:
        """Take the first choices of rankings, among which several share the choice, or ratings."""
        if study.kind == "ratings":
            from scipy.sparse import eye_array

            numbers, kind = np.unique(study.scores, return_inverse=True)
            return cls(study, kind.astype(np.int64), eye_array(len(numbers), format="csr"), numbers)
        offsets, mentions = take_rows(study.code_offsets, study.block_offsets[:-1])
        return cls.of_sets(study, offsets, study.codes[mentions])

    @classmethod
    def of_sets(cls, study: Study, offsets: IntArray, codes: IntArray) -> Table:
        """Tell sets of conditions apart, one per opinion, with ascending codes."""
        known: dict[bytes, int] = {}
        keys = [codes[start:stop].tobytes() for start, stop in pairwise(offsets.tolist())]
        kind = np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)
        rows, elements = take_rows(offsets, np.unique(kind, return_index=True)[1].astype(np.int64))
        row = row_of_each(rows)
        shares = sparse(1 / np.diff(rows)[row], row, codes[elements], (len(known), study.n_conditions))
        return cls(study, kind, shares, np.arange(study.n_conditions, dtype=np.float64))

    @cached_property
    def sizes(self) -> FloatArray:
        """How many annotators gave an opinion on each case, shape (n_cases,)."""
        return self.study.votes_per_case.astype(np.float64)

    @cached_property
    def is_paired(self) -> FloatArray:
        """One for the cases that have a weight and two opinions or more, zero for the others, shape (n_cases,)."""
        return ((self.sizes > 1) & (self.study.case_weights > 0)).astype(np.float64)

    @cached_property
    def counts(self) -> Matrix:
        """How often each kind of opinion was given on each case, shape (n_cases, n_kinds); sparse."""
        study, case = self.study, self.study.panel.case_of_opinion
        return sparse(study.votes.astype(np.float64), case, self.kind, (study.n_cases, self.shares.shape[0]))

    @cached_property
    def by_value(self) -> Matrix:
        """How often each value was given on each case, shape (n_cases, n_values); sparse."""
        return self.counts @ self.shares


def seats_of(study: Study) -> IntArray:
    """Give whoever gave an opinion on a case a number, by case, shape (n_opinions,); nameless ones stand alone."""
    n_names = len(study.annotator_names)
    own = np.where(study.annotators == ANONYMOUS, n_names + np.arange(study.n_opinions), study.annotators)
    return np.asarray(study.panel.case_of_opinion * (n_names + study.n_opinions) + own, dtype=np.int64)


def pairs_within(rows: IntArray) -> tuple[IntArray, IntArray]:
    """List all pairs of places of one row; rows are ascending.

    >>> pairs_within(np.array([0, 0, 0, 1]))
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    later = np.searchsorted(rows, rows, side="right") - 1 - np.arange(len(rows))
    first = np.repeat(np.arange(len(rows)), later)
    return first, first + 1 + np.arange(len(first)) - offsets_from_lengths(later)[:-1][first]


def sparse(values: FloatArray, rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Matrix:
    """Build a sparse matrix; entries at the same place are added up."""
    from scipy.sparse import csr_array

    matrix = csr_array((values, (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def inner(one: Matrix, other: Matrix) -> FloatArray:
    """Return the inner products of the rows of two sparse matrices."""
    return np.asarray(one.multiply(other).sum(axis=1), dtype=np.float64).ravel()


class Measure(NamedTuple):
    """A statistic of cases that can be resampled.

    Attributes
    ----------
    values
        Returns it, shape (n,), if each case occurs so many times (n, n_cases); nan where it is undefined.
    width
        How many numbers it takes per sample of cases.
    n_cases
        The cases that count.
    note, undefined
        What it rests on, and why it is undefined if it is.
    """

    values: Callable[[FloatArray], FloatArray]
    width: int
    n_cases: int
    note: str
    undefined: str


def nowhere_defined(undefined: str, n_cases: int = 0) -> Measure:
    """Return a measure that is undefined whatever the sample."""
    return Measure(lambda times: np.full(len(times), np.nan), 1, n_cases, "", undefined)


# Krippendorff's alpha ------------------------------------------------------------------------------------


class Disagreement(NamedTuple):
    """Add up distances between the opinions of a study: alpha, if cases occur so many times.

    ``apart`` returns what lies between opinions if cases have these weights (n, n_cases), each shape (n,): first the
    sum over cases of the distances of all ordered pairs over one less than the opinions of the case; then the mean
    distance of all ordered pairs, each opinion with itself among them, and zero where they differ by rounding only.
    ``width`` is how many numbers it takes per sample of cases.
    """

    table: Table
    width: int
    apart: Callable[[FloatArray], tuple[FloatArray, FloatArray]]

    def observed_and_expected(self, times: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both if each case occurs so many ``times`` (n, n_cases), each shape (n,); only pairs count."""
        times = times * self.table.is_paired
        weights, n_opinions = times * self.table.study.case_weights, product(times, self.table.sizes)
        with np.errstate(invalid="ignore", divide="ignore"):
            within, across = self.apart(weights)
            return within / product(weights, self.table.sizes), across * n_opinions / (n_opinions - 1)

    def values(self, times: FloatArray) -> FloatArray:
        """Return alpha if each case occurs so many ``times`` (n, n_cases), shape (n,); nan where it is undefined."""
        observed, expected = self.observed_and_expected(times)
        defined = expected > 0
        return np.where(defined, 1 - observed / np.where(defined, expected, 1.0), np.nan)


def alpha(table: Table, distance: Distance) -> Measure:
    """Prepare Krippendorff's alpha ([krippendorff])."""
    n_paired = int(table.is_paired.sum())
    if not n_paired:
        return nowhere_defined(UNPAIRED)
    if distance == "ratio" and table.numbers.min() < 0:
        return nowhere_defined("undefined: ratios need ratings of zero or more", n_paired)
    found = disagreement_of(table, distance)
    return Measure(found.values, found.width, n_paired, "", NO_DIFFERENCE)


def disagreement_of(table: Table, distance: Distance, depth: int = 1) -> Disagreement:
    """Find what alpha needs to know of a study."""
    if distance == "ordinal":
        return _of_midranks(table)
    if distance == "interval":
        return _of_numbers(table)
    if distance == "ratio":
        return _of_vectors(table, *_ratio_vectors(table.numbers))
    if distance == "first-choice":
        return _of_sets(table, lambda common, a, b: common / np.maximum(a, b))
    said = table.study
    if distance == "overlap":
        vectors, signs = soft_rankings(said, depth)
        return _of_vectors(Table(said, np.arange(said.n_opinions), vectors, signs), vectors, signs)
    first_key = said.ranking_of_mention * said.n_conditions
    mentioned = np.sort(first_key + said.codes) - first_key
    sets = Table.of_sets(said, offsets_from_lengths(said.mentions_per_ranking), mentioned)
    return _of_sets(sets, _jaccard if distance == "set" else _masi)


def _over_others(table: Table, apart: FloatArray) -> FloatArray:
    """Divide sums over the pairs of cases (..., n_cases) by one less than the opinions of the case."""
    return np.asarray(np.maximum(apart, 0.0) / np.maximum(table.sizes - 1, 1.0))


def _unless_rounded(across: FloatArray, least: FloatArray | float = NONE_EXPECTED) -> FloatArray:
    """Replace mean distances by zero that are nothing but rounding."""
    return np.where(across > least, across, 0.0 * across)  # what is nan stays nan


def _of_midranks(table: Table) -> Disagreement:
    """Square the differences of midranks, which are other ones in every sample of cases.

    The opinions between two values, half of their own included, are the difference of their midranks.
    """
    counts, shares, sizes = table.counts, table.shares, table.sizes

    def apart(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        given = weights @ counts
        mass = given.sum(axis=1, keepdims=True)
        values = given @ shares
        ranks = ((np.cumsum(values, axis=1) - values / 2) / mass - 0.5) @ shares.T
        sums, squares = ((counts @ (ranks**power).T).T for power in (1, 2))
        within = _over_others(table, 2 * (sizes * squares - sums**2))
        means, mean_squares = (np.einsum("nk,nk->n", given, ranks**power) / mass[:, 0] for power in (1, 2))
        return np.einsum("ni,ni->n", weights, within), _unless_rounded(2 * (mean_squares - means**2))

    return Disagreement(table, int(max(counts.shape)), apart)


def _of_numbers(table: Table) -> Disagreement:
    """Square the differences of numbers: around the mean of each case, and around the mean of every sample.

    So no sample loses digits to a distant zero, or to numbers far away that it lacks. The unit is the range of all.
    """
    numbers, sizes, said = table.shares @ table.numbers, table.sizes, table.counts.tocoo()
    paired = numbers[table.is_paired @ table.counts > 0]
    numbers = numbers / (np.ptp(paired) if len(paired) and np.ptp(paired) > 0 else 1.0)
    means = table.counts @ numbers / np.maximum(sizes, 1.0)
    squares = weighted_counts(said.row, said.data * (numbers[said.col] - means[said.row]) ** 2, len(sizes))
    within = _over_others(table, 2 * sizes * squares)

    def apart(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        total = product(weights, sizes)
        shares = weights * sizes / total[:, None]
        centred = means - product(shares, means)[:, None]
        variance = product(weights, squares) / total + np.einsum("ni,ni,ni->n", shares, centred, centred)
        return product(weights, within), _unless_rounded(2 * variance, ROUNDED * product(shares, means**2))

    return Disagreement(table, len(sizes), apart)


def _ratio_vectors(numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compare numbers by four times their product over their squared sum, as an inner product of vectors.

    It is the integral over s of 2 c e^s exp(-c e^s) times the same of the other number, and a sum over equal steps of s
    is as good as the integral. Zeros have a component of their own.
    """
    scores = numbers / numbers.max(initial=np.finfo(float).tiny)
    steps = np.arange(np.log(LEAST / 2), np.log(MOST / 2 / scores[scores > 0].min(initial=1.0)) + STEP, STEP)
    rates = scores[:, None] * np.exp(steps)
    vectors = np.column_stack([2 * np.sqrt(STEP) * rates * np.exp(-rates), scores == 0])
    return vectors, np.ones(vectors.shape[1])


def _of_vectors(table: Table, vectors: Matrix, signs: FloatArray) -> Disagreement:
    """Take one minus the inner product of vectors of length one, a row per kind; components count with their signs.

    Sums over pairs follow from the sums of the vectors of cases.
    """
    sizes, own = table.sizes, table.counts @ vectors
    within = _over_others(table, sizes**2 - (own * own) @ signs)

    def apart(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        sums = product(weights, own) if isinstance(own, np.ndarray) else weights @ own
        across = (sums * sums) @ signs / product(weights, sizes) ** 2
        return product(weights, within), _unless_rounded(1 - across)

    return Disagreement(table, len(signs), apart)


# The similarity of two sets that share something, from the sizes of their intersection and of each.
Similarity: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def _jaccard(common: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    return common / (a + b - common)


def _masi(common: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    nested = np.where(common == np.minimum(a, b), 2 / 3, 1 / 3)
    return _jaccard(common, a, b) * np.where(common == np.maximum(a, b), 1.0, nested)


def _of_sets(table: Table, similarity: Similarity) -> Disagreement:
    """Take one minus the similarity of sets: identical sets are counted, only sets that share a condition compared."""
    members, counted, sizes = table.shares.copy(), table.counts.tocoo(), table.sizes
    members.data[:] = 1.0

    def similarities(one: Matrix, other: Matrix) -> Matrix:
        common = (one @ other.T).tocsr()
        row = np.repeat(np.arange(common.shape[0]), np.diff(common.indptr))
        common.data = similarity(common.data, one.sum(axis=1)[row], other.sum(axis=1)[common.indices])
        return common

    # within cases, conditions of different cases are different columns
    case = counted.row.astype(np.int64)
    offsets, elements = take_rows(members.indptr.astype(np.int64), counted.col.astype(np.int64))
    group = row_of_each(offsets)
    columns, column = np.unique(case[group] * members.shape[1] + members.indices[elements], return_inverse=True)
    own = sparse(np.ones(len(group)), group, column, (counted.nnz, len(columns)))
    alike = similarities(own, own).tocoo()
    times = counted.data[alike.row] * counted.data[alike.col]
    within = _over_others(table, sizes**2 - weighted_counts(case[alike.row], times * alike.data, len(sizes)))

    # across cases, sets are cut so that similarities to all sets fit into memory
    filled = np.cumsum(members @ np.asarray(members.sum(axis=0))) // PAIRS_AT_ONCE
    cuts = [0, *(np.flatnonzero(np.diff(filled)) + 1).tolist(), len(filled)]

    def apart(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        counts, alike = weights @ table.counts, np.zeros(len(weights))
        for start, stop in pairwise(cuts):
            part = similarities(members[start:stop], members)
            part = part.toarray() if part.nnz > DENSE * np.prod(part.shape) else part
            alike += np.einsum("ns,ns->n", (part @ counts.T).T, counts[:, start:stop])
        return product(weights, within), _unless_rounded(1 - alike / product(weights, sizes) ** 2)

    return Disagreement(table, int(table.counts.shape[1]), apart)


# Kappas --------------------------------------------------------------------------------------------------


def credits_of(n_conditions: int, credit: Credit) -> Matrix:
    """Return what naming one condition is worth where another was named, shape (K, K).

    >>> credits_of(3, "linear").toarray()
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """
    from scipy.sparse import csr_array, eye_array

    if credit == "none":
        return eye_array(n_conditions, format="csr")
    codes = np.arange(n_conditions) / max(n_conditions - 1, 1)
    return csr_array(1 - np.abs(codes[:, None] - codes) ** (1 if credit == "linear" else 2))


def _beyond(observed: FloatArray, chance: FloatArray) -> FloatArray:
    """Return how much of the agreement that chance leaves open was reached; nan where it leaves none."""
    left = 1 - chance
    defined = left > NONE_EXPECTED
    return np.where(defined, (observed - chance) / np.where(defined, left, 1.0), np.nan)


def independent(prevalence: FloatArray, worth: Matrix) -> FloatArray:
    """Return the credit of two who choose as all choices (n, K) are distributed, independently ([fleiss], [gwet])."""
    return np.asarray(np.einsum("nk,nk->n", prevalence @ worth, prevalence))


def guessed(prevalence: FloatArray, worth: Matrix) -> FloatArray:
    """Return the credit of guesses, which are the more frequent the more equally common conditions are ([gwet])."""
    n_conditions = worth.shape[0]
    credit = worth.sum() / np.float64(n_conditions * (n_conditions - 1))
    return np.asarray(credit * np.einsum("nk,nk->n", prevalence, 1 - prevalence))


def panel_kappa(
    table: Table, credit: Credit = "none", *, chance: Callable[[FloatArray, Matrix], FloatArray]
) -> Measure:
    """Prepare the agreement of two annotators of a case, taken at random, beyond chance: Fleiss' kappa, Gwet's."""
    n_paired = int(table.is_paired.sum())
    if not n_paired:
        return nowhere_defined(UNPAIRED)
    weights, sizes, shares = table.study.case_weights, table.sizes, table.shares
    worth = credits_of(shares.shape[1], credit)
    alone = table.counts @ inner(shares @ worth, shares)
    together = inner(table.by_value @ worth, table.by_value) - alone
    pairs = sizes * (sizes - 1)
    agreed = weights * np.divide(together, pairs, out=np.zeros(len(sizes)), where=pairs > 0)
    scale = np.divide(weights, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    shared = table.by_value.multiply(scale[:, None]).tocsr()

    def values(times: FloatArray) -> FloatArray:
        prevalence = times @ shared
        with np.errstate(invalid="ignore", divide="ignore"):
            observed = product(times, agreed) / product(times, weights * (sizes > 1))
            return _beyond(observed, chance(prevalence / prevalence.sum(axis=1, keepdims=True), worth))

    undefined = "undefined: there is one condition only" if len(table.numbers) < 2 else NO_DIFFERENCE
    return Measure(values, int(max(shared.shape)), n_paired, "", undefined)


def mean_kappa(
    table: Table, credit: Credit = "none", *, least: int = LEAST_COMMON, only: tuple[int, int] | None = None
) -> Measure:
    """Prepare the mean of Cohen's kappa over pairs of annotators, or of one ([cohen]; the mean: [light]).

    Pairs have at least so many cases in common.
    """
    if not (table.study.annotators != ANONYMOUS).any():
        return nowhere_defined(NAMELESS)
    case, who, shares = _choices_by_name(table, only)
    first, second = pairs_within(case)
    n_people, n_conditions = int(who.max(initial=0)) + 1, shares.shape[1]
    _, pair, n_common = np.unique(who[first] * n_people + who[second], return_inverse=True, return_counts=True)
    enough = n_common >= least
    if not enough.any():
        return nowhere_defined(f"undefined: no two annotators share {least} cases")
    pair = (np.cumsum(enough) - 1)[pair[kept := enough[pair]]]
    first, second = first[kept], second[kept]
    worth, chosen = (shares @ credits_of(n_conditions, credit)).tocsr()[first], shares[second]
    at, shape = case[first], (table.study.n_cases, int(enough.sum()))
    weights = table.study.case_weights[at]

    def cells(part: Matrix) -> Matrix:
        """Sum by case (rows), and by pair and condition (columns)."""
        entries = part.tocoo()
        columns = pair[entries.row] * n_conditions + entries.col
        values = weights[entries.row] * entries.data
        return sparse(values, at[entries.row], columns, (shape[0], shape[1] * n_conditions))

    one, other = cells(worth), cells(chosen)
    used = np.intersect1d(one.indices, other.indices)
    one, other = one[:, used], other[:, used]
    common, agreed = (sparse(part, at, pair, shape) for part in (weights, weights * inner(worth, chosen)))

    def of_pairs(times: FloatArray) -> FloatArray:
        sums, n_samples = times @ common, len(times)
        place = (np.arange(n_samples)[:, None] * shape[1] + used // n_conditions).ravel()
        chance = weighted_counts(place, ((times @ one) * (times @ other)).ravel(), sums.size).reshape(sums.shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            return _beyond(times @ agreed / sums, chance / sums**2)

    def values(times: FloatArray) -> FloatArray:
        found = of_pairs(times)
        defined = np.isfinite(found)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(defined, found, 0.0).sum(axis=1) / defined.sum(axis=1))

    defined = np.isfinite(of_pairs(np.ones((1, shape[0])))).sum()
    note = f"mean of {defined} pairs with at least {least} common cases" if defined != 1 else "one pair of annotators"
    n_cases = int((np.diff(common.indptr) > 0).sum())
    return Measure(values, int(max(*one.shape, shape[1])), n_cases, note, NO_DIFFERENCE)


def _choices_by_name(table: Table, only: tuple[int, int] | None) -> tuple[IntArray, IntArray, Matrix]:
    """Average the choices of each named annotator on each case: case, annotator, and shares of conditions."""
    said, case = table.study, table.study.panel.case_of_opinion
    kept = (said.annotators != ANONYMOUS) & (said.case_weights[case] > 0)
    named = np.flatnonzero(kept if only is None else kept & np.isin(said.annotators, only))
    n_people = len(said.annotator_names) + 1
    keys, unit = np.unique(case[named] * n_people + said.annotators[named], return_inverse=True)
    mean = sparse(1 / np.bincount(unit)[unit], unit, table.kind[named], (len(keys), table.shares.shape[0]))
    return keys // n_people, keys % n_people, (mean @ table.shares).tocsr()


# Ratings -------------------------------------------------------------------------------------------------


def intraclass(table: Table, *, averaged: bool) -> Measure:
    """Prepare ICC(2,1) or ICC(2,k): cases and annotators both at random, absolute agreement ([shrout], [mcgraw])."""
    named = table.study.annotators != ANONYMOUS
    if not named.any():
        return nowhere_defined(NAMELESS)
    components, width = variance_components(table)

    def values(times: FloatArray) -> FloatArray:
        of_cases, of_people, rest, per_case = components(times)
        others = (of_people + rest) / (per_case if averaged else 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(of_cases + others > 0, of_cases / (of_cases + others), np.nan)

    rated = len(np.unique(table.study.panel.case_of_opinion[named]))
    mean = components(np.ones((1, table.study.n_cases)))[3][0]
    undefined = "undefined: cases and annotators cannot be told apart, or ratings do not vary"
    return Measure(values, width, rated, f"k = {mean:.3g} ratings per case" if averaged else "", undefined)


def variance_components(table: Table) -> tuple[Callable[[FloatArray], tuple[FloatArray, ...]], int]:
    """Return what estimates components of variance by moments if each case occurs so many times, and its width.

    The sums of squares of cases, of annotators and of all ratings are set equal to what they are expected to be
    (Henderson's first method, [searle]). If everybody rates every case, this is the analysis of variance. They are the
    variances of cases, of annotators and of the rest, nan if they cannot be told apart, and the harmonic mean of the
    numbers of ratings of cases; each shape (n,).
    """
    said, named = table.study, table.study.annotators != ANONYMOUS
    case, who, scores = said.panel.case_of_opinion[named], said.annotators[named], table.numbers[table.kind[named]]
    centred = scores - scores.mean()
    shape = (said.n_cases, len(said.annotator_names))
    by_person = [sparse(part, case, who, shape) for part in (np.ones(len(case)), centred)]
    by_person.append(by_person[0].multiply(by_person[0]).tocsr())  # how often people repeat themselves
    n, total, again = (np.asarray(part.sum(axis=1), dtype=np.float64).ravel() for part in by_person)
    squares = weighted_counts(case, centred**2, said.n_cases)
    each = np.divide(1.0, n, out=np.zeros(len(n)), where=n > 0)
    weights = (said.case_weights / max(said.case_weights.mean(), np.finfo(float).tiny))[:, None]
    columns = [n, total, squares, total**2 * each, (n > 0).astype(float), again * each, n**2, each]
    by_case, by_person = np.stack(columns, axis=1) * weights, [part.multiply(weights).tocsr() for part in by_person]

    def components(times: FloatArray) -> tuple[FloatArray, ...]:
        n, total, squares, of_cases, n_cases, both, sizes_squared, each = product(times, by_case).T
        counts, sums, repeats = (times @ part for part in by_person)
        with np.errstate(invalid="ignore", divide="ignore"):
            of_people, of_both = (np.where(counts > 0, part / counts, 0.0).sum(axis=1) for part in (sums**2, repeats))
            mean, people_squared, sizes = total**2 / n, (counts**2).sum(axis=1) / n, sizes_squared / n
            per_case = n_cases / each
        n_people = (counts > 0).sum(axis=1)
        between = np.stack([of_cases - mean, of_people - mean, squares - of_cases - of_people + mean], axis=1)
        expected = [
            [n - sizes, both - people_squared, n_cases - 1],
            [of_both - sizes, n - people_squared, n_people - 1],
            [sizes - of_both, people_squared - both, n - n_cases - n_people + 1],
        ]
        matrices = np.moveaxis(np.array(expected), -1, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            lengths = np.linalg.norm(matrices, axis=2)
            solvable = np.abs(np.linalg.det(matrices)) > SINGULAR * lengths.prod(axis=1)
        found = np.full(between.shape, np.nan)
        found[solvable] = np.linalg.solve(matrices[solvable], between[solvable][..., None])[..., 0]
        return *found.T, per_case

    return components, int(max(shape))


# Rows of numbers: a sparse array of SciPy, or a dense one of NumPy.
Matrix: TypeAlias = Any


@checked
def mean_average_overlap(a: Ranking, b: Ranking, *, depth: int, n_conditions: int, normalised: bool = True) -> float:
    """Compare two partial rankings: 1 if they are the same, 0 if they share nothing down to the depth.

    The average overlap of two full rankings is the mean over l = 1 to depth of the share that their first l places have
    in common. For partial rankings the places of tied conditions are averaged over all orders of the tie, and the
    result is divided by the geometric mean of each ranking's overlap with itself ([stutz], appendix "Average overlap
    with partial rankings": meanAO@L).

    Parameters
    ----------
    a, b
        Blocks of conditions, best first, as codes from 0 or as names. Conditions that are not mentioned form a last
        block, written out or not. A ranking without blocks says nothing, and overlaps with nothing: 0, even with
        itself. Someone who finds all conditions equally likely says so in one block of all of them.
    depth
        How many places count, L: 1 to ``n_conditions``. An average over no places is refused.
    n_conditions
        Number of conditions in all, K.
    normalised
        Whether to divide by that geometric mean. Without it (UAO@L), a ranking with ties overlaps with itself by less
        than 1.

    Notes
    -----
    Time and memory are proportional to the mentioned conditions times the depth, whatever K is. Two rankings without a
    common condition still overlap a little when the depth reaches conditions that they do not mention. The authors'
    released code has 0 for an empty ranking too; for a depth of 0 it has 0, where this function asks for a depth.
    Abstentions of a study never come so far: :func:`pairwise_agreement` and :func:`krippendorff_alpha` leave them out.

    Examples
    --------
    >>> round(mean_average_overlap([["Eczema"], ["Tinea"]], [["Tinea"], ["Eczema"]], depth=2, n_conditions=419), 3)
    0.5
    >>> round(mean_average_overlap([[0], [1, 2]], [[0], [1], [2]], depth=2, n_conditions=5), 3)
    0.935
    >>> round(mean_average_overlap([[0, 1]], [[0, 1]], depth=2, n_conditions=5, normalised=False), 3)
    0.75
    """
    check_depth(depth, n_conditions)
    blocks = [*_blocks(a, "a"), *_blocks(b, "b")]
    flat = [condition for block in blocks for condition in block]
    known = {condition: code for code, condition in enumerate(dict.fromkeys(flat))}
    names, numbers = ([one for one in known if isinstance(one, str) == is_name] for is_name in (True, False))
    outside = [code for code in numbers if not 0 <= int(code) < n_conditions]
    mixed = listing([names[0], numbers[0]]) if names and numbers else ""
    many = f"{len(known)}: {listing(known)}" if len(known) > n_conditions else ""
    spelt = "raise n_conditions, or look for one condition that is spelled in two ways"
    for got, message, expected, advice in (
        (mixed, "names and codes of conditions are mixed", "names in both rankings, or codes in both", ""),
        (str(*outside[:1]), "a condition code is out of range", f"0 to {n_conditions - 1}", ""),
        (many, "the rankings mention more conditions than there are", f"at most {n_conditions} different names", spelt),
    ):
        if got:
            raise DissensusError(message, expected=expected, got=got, advice=advice)
    n_blocks = [len(a), len(b)]
    if not all(n_blocks):
        return 0.0
    codes = np.array([known[condition] for condition in flat], dtype=np.int64)
    code_offsets = offsets_from_lengths([len(block) for block in blocks])
    offsets = offsets_from_lengths(n_blocks)
    vectors, signs = soft_vectors(codes, code_offsets, offsets, depth, n_conditions, normalised=normalised)
    own, common = (vectors * vectors) @ signs, ((vectors[[0]] * vectors[[1]]) @ signs)[0]
    return min(1.0, float(common / np.sqrt(own.prod()) if normalised else common))


def check_depth(depth: int, n_conditions: int) -> None:
    """Refuse a depth that is not between one and the number of conditions."""
    check_count(depth=depth, n_conditions=n_conditions)
    if depth > n_conditions:
        raise DissensusError(
            "the depth is larger than the number of conditions",
            expected=f"1 to {n_conditions}",
            got=str(depth),
            advice=f"pass depth={n_conditions} or less",
        )


# Checks --------------------------------------------------------------------------------------------------


def _listed(value: Any, place: str) -> list[Any]:
    """Return the members of a list, or say what a ranking is."""
    is_one = isinstance(value, str | bytes) or getattr(value, "ndim", 1) == 0
    if is_one or not isinstance(value, Sequence | np.ndarray | set | frozenset):
        raise DissensusError(
            "a ranking must be a list of blocks",
            expected="blocks of tied conditions, best first: [['Eczema'], ['Psoriasis', 'Tinea']] or [[3], [0, 2]]",
            got=f"{value!r:.60}",
            where=f"ranking {place}",
            advice="a single label is [['name']]: one block with one condition",
        )
    return list(value)


def _blocks(ranking: Any, name: str) -> list[list[Any]]:
    """Take a ranking apart, or say why it is none."""
    blocks = [_listed(block, f"{name}, block {number}") for number, block in enumerate(_listed(ranking, name), start=1)]
    flat = [condition for block in blocks for condition in block]
    wrong = [one for one in flat if not isinstance(one, str | Integral) or isinstance(one, bool)]
    twice = [] if wrong else [one for one, count in Counter(flat).items() if count > 1]
    for bad, message, expected in (
        ([block for block in blocks if not block], "a block is empty", "at least one condition in every block"),
        (wrong, "a condition is neither a name nor a code", "text or whole numbers, two lists deep: block > condition"),
        (twice, f"condition {str(twice[:1])[1:-1]} is mentioned twice", "every condition at most once in a ranking"),
    ):
        if bad:
            raise DissensusError(message, expected=expected, got=f"{bad[0]!r:.60}", where=f"ranking {name}")
    return blocks


# Vectors ------------------------------------------------------------------------------------------------


def soft_rankings(said: Study, depth: int) -> tuple[Matrix, FloatArray]:
    """Turn every ranking of a study into a vector; see :func:`soft_vectors`. Abstentions are left out before."""
    return soft_vectors(said.codes, said.code_offsets, said.block_offsets, depth, said.n_conditions)


def soft_vectors(
    codes: IntArray,
    code_offsets: IntArray,
    block_offsets: IntArray,
    depth: int,
    n_conditions: int,
    *,
    normalised: bool = True,
) -> tuple[Matrix, FloatArray]:
    """Turn rankings into vectors, of length one if normalised, whose inner products are average overlaps.

    For l places, the shares of a ranking are those of an unmentioned condition, r, plus the excess of the mentioned
    ones, and sum to l. With K conditions and m = l - K r / 2, the inner product of two rankings is r m' + r' m, which
    is half of (r + m) (r' + m') - (r - m) (r' - m'), plus the product of their excesses.

    Returns
    -------
    vectors, signs
        A sparse row per ranking, and the sign with which each component counts.
    """
    from scipy.sparse import csr_array, hstack

    places = np.arange(1, depth + 1)

    def shares(before: IntArray, sizes: IntArray) -> FloatArray:
        """Return the chance that a condition of a block is in the first places, shape (n_blocks, depth)."""
        return np.clip((places - before[:, None]) / sizes[:, None], 0.0, 1.0)

    offsets, before = code_offsets[block_offsets], code_offsets[:-1]
    before = before - np.repeat(offsets[:-1], np.diff(block_offsets))
    ranking, mentioned = row_of_each(offsets), np.diff(offsets)
    rest = shares(mentioned, np.maximum(n_conditions - mentioned, 1))
    excess = shares(before, np.diff(code_offsets))[row_of_each(code_offsets)] - rest[ranking]
    within = 2 * places * rest - n_conditions * rest**2
    np.add.at(within, ranking, excess**2)
    own = (within / places).sum(axis=1, keepdims=True)
    scale = 1 / np.sqrt(places) / np.sqrt(own if normalised else np.full_like(own, depth))
    different, position = np.unique(codes, return_inverse=True)
    columns = (position[:, None] * depth + np.arange(depth)).ravel()
    shape = (len(mentioned), len(different) * depth)
    named = csr_array(((excess * scale[ranking]).ravel(), columns, offsets * depth), shape=shape)
    half = places - n_conditions * rest / 2
    crossed = np.stack([rest + half, rest - half], axis=-1) * (scale / np.sqrt(2))[..., None]
    signs = np.append(np.tile([1.0, -1.0], depth), np.ones(shape[1]))
    return hstack([csr_array(crossed.reshape(len(mentioned), 2 * depth)), named], format="csr"), signs
