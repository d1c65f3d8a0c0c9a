"""Coefficients of agreement: one table of who said what on which case, and formulas of it that can be resampled.

A coefficient is a function of how many times each case occurs, so that samples of cases cost a product of matrices. It
also says in words what it rests on, and why it is undefined where it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from dissensus.core.arrays import BoolArray, FloatArray, IntArray
from dissensus.core.checks import check_choice, check_count, check_seed, check_share, checked
from dissensus.core.errors import DissensusError, known_name, listing
from dissensus.core.names import Ranking
from dissensus.core.ragged import offsets_from_lengths, product, row_of_each, take_rows, weighted_counts
from dissensus.core.screen import repr_html
from dissensus.study.builders import is_code
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study, require_kind

if TYPE_CHECKING:
    import polars as pl

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

DISTANCES_OF_RATINGS: tuple[str, ...] = ("first-choice", "ordinal", "interval", "ratio")

# How many samples of cases intervals rest on.
DRAWS = 1000

# How many numbers are held at the same time while cases are resampled (40 MB).
NUMBERS_AT_ONCE = 5_000_000

# What the row is called that averages a measure over all findings.
ALL_FINDINGS = "mean of findings"

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
        kind = kinds_of(offsets, codes)
        rows, elements = take_rows(offsets, np.unique(kind, return_index=True)[1].astype(np.int64))
        row = row_of_each(rows)
        shares = sparse(1 / np.diff(rows)[row], row, codes[elements], (len(rows) - 1, study.n_conditions))
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


def remains(study: Study) -> BoolArray:
    """Tell of each opinion whether somebody else gave one on the same case, shape (n_opinions,)."""
    _, seat, sizes = np.unique(seats_of(study), return_inverse=True, return_counts=True)
    own = np.where(study.annotators == ANONYMOUS, 1, sizes[seat])
    return np.asarray(study.votes_per_case[study.panel.case_of_opinion] > own)


def kinds_of(offsets: IntArray, codes: IntArray) -> IntArray:
    """Give rows of codes a number, the same where they are equal, in the order of their first appearance.

    >>> kinds_of(np.array([0, 1, 3, 4]), np.array([7, 7, 5, 7]))
    array([0, 1, 0])
    """
    known: dict[bytes, int] = {}
    keys = (codes[start:stop].tobytes() for start, stop in pairwise(offsets.tolist()))
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)


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
        return np.asarray(1 - np.divide(observed, expected, out=np.full(len(times), np.nan), where=expected > 0))


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
    if distance in ("ordinal", "interval"):
        return (_of_midranks if distance == "ordinal" else _of_numbers)(table)
    if distance == "ratio":
        return _of_vectors(table, *_ratio_vectors(table.numbers))
    if distance == "first-choice":
        return _of_sets(table, lambda common, a, b: common / np.maximum(a, b))
    said = table.study
    if distance == "overlap":
        vectors, signs = soft_rankings(said, depth, said.n_conditions)
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
    return np.asarray(np.divide(observed - chance, left, out=np.full(left.shape, np.nan), where=left > NONE_EXPECTED))


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

    @np.errstate(invalid="ignore", divide="ignore")
    def values(times: FloatArray) -> FloatArray:
        prevalence, observed = times @ shared, product(times, agreed) / product(times, weights * (sizes > 1))
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

    @np.errstate(invalid="ignore", divide="ignore")
    def of_pairs(times: FloatArray) -> FloatArray:
        sums = times @ common
        place = (np.arange(len(times))[:, None] * shape[1] + used // n_conditions).ravel()
        chance = weighted_counts(place, ((times @ one) * (times @ other)).ravel(), sums.size).reshape(sums.shape)
        return _beyond(times @ agreed / sums, chance / sums**2)

    @np.errstate(invalid="ignore")
    def values(times: FloatArray) -> FloatArray:
        found = of_pairs(times)
        return np.asarray(np.nansum(found, axis=1) / np.isfinite(found).sum(axis=1))

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

    @np.errstate(invalid="ignore", divide="ignore")
    def values(times: FloatArray) -> FloatArray:
        of_cases, of_people, rest, per_case = components(times)
        both = of_cases + (of_people + rest) / (per_case if averaged else 1.0)
        return np.where(both > 0, of_cases / both, np.nan)

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

    @np.errstate(invalid="ignore", divide="ignore")
    def components(times: FloatArray) -> tuple[FloatArray, ...]:
        n, total, squares, of_cases, n_cases, both, sizes_squared, each = product(times, by_case).T
        counts, sums, repeats = (times @ part for part in by_person)
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
        solvable = np.abs(np.linalg.det(matrices)) > SINGULAR * np.linalg.norm(matrices, axis=2).prod(axis=1)
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
    a, b = (
        [_listed(block, f"{name}, block {number}") for number, block in enumerate(_listed(one, name), start=1)]
        for name, one in (("a", a), ("b", b))
    )
    mentions = [one for block in (*a, *b) for one in block]
    names, numbers = ([one for one in mentions if isinstance(one, str) == is_name] for is_name in (True, False))
    outside = [one for one in numbers if is_code(one) and not 0 <= int(one) < n_conditions]
    mixed = listing([names[0], numbers[0]]) if names and numbers else ""
    # conditions are numbered by those that are mentioned, however many there are
    written: Any = [[[str(one) if is_code(one) else one for one in block] for block in ranking] for ranking in (a, b)]
    said = Study.from_rankings([written], list(dict.fromkeys(map(str, mentions))))
    many = f"{said.n_conditions}: {listing(said.conditions)}" if said.n_conditions > n_conditions else ""
    spelt = "raise n_conditions, or look for one condition that is spelled in two ways"
    for got, message, expected, advice in (
        (mixed, "names and codes of conditions are mixed", "names in both rankings, or codes in both", ""),
        (str(*outside[:1]), "a condition code is out of range", f"0 to {n_conditions - 1}", ""),
        (many, "the rankings mention more conditions than there are", f"at most {n_conditions} different names", spelt),
    ):
        if got:
            raise DissensusError(message, expected=expected, got=got, advice=advice)
    if not (len(a) and len(b)):
        return 0.0
    vectors, signs = soft_rankings(said, depth, n_conditions, normalised=normalised)
    dense = vectors.toarray()
    own, common = product(dense * dense, signs), product(dense[0] * dense[1], signs)
    return min(1.0, float(common / np.sqrt(own.prod()) if normalised else common))


def _listed(value: Any, place: str) -> list[Any]:
    """Return the members of a list or a set, or say what a ranking is."""
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


def check_depth(depth: int, n_conditions: int) -> None:
    """Refuse a depth that is not between one and the number of conditions."""
    check_count(depth=depth, n_conditions=n_conditions)
    if depth > n_conditions:
        most, advice = f"1 to {n_conditions}", f"pass depth={n_conditions} or less"
        message = "the depth is larger than the number of conditions"
        raise DissensusError(message, expected=most, got=str(depth), advice=advice)


# Vectors ------------------------------------------------------------------------------------------------


def soft_rankings(said: Study, depth: int, n_conditions: int, *, normalised: bool = True) -> tuple[Matrix, FloatArray]:
    """Turn rankings, none of them empty, into vectors whose inner products are average overlaps.

    They are of length one if normalised. For l places, the shares of a ranking are those of an unmentioned condition,
    r, plus the excess of the mentioned ones, and sum to l. With K conditions and m = l - K r / 2, the inner product of
    two rankings is r m' + r' m, which is half of (r + m) (r' + m') - (r - m) (r' - m'), plus the product of their
    excesses.

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

    code_offsets = said.code_offsets
    offsets, before = code_offsets[said.block_offsets], code_offsets[:-1]
    before = before - np.repeat(offsets[:-1], np.diff(said.block_offsets))
    ranking, mentioned = row_of_each(offsets), np.diff(offsets)
    rest = shares(mentioned, np.maximum(n_conditions - mentioned, 1))
    excess = shares(before, np.diff(code_offsets))[row_of_each(code_offsets)] - rest[ranking]
    within = 2 * places * rest - n_conditions * rest**2
    np.add.at(within, ranking, excess**2)
    own = (within / places).sum(axis=1, keepdims=True)
    scale = 1 / np.sqrt(places) / np.sqrt(own if normalised else np.full_like(own, depth))
    different, position = np.unique(said.codes, return_inverse=True)
    columns = (position[:, None] * depth + np.arange(depth)).ravel()
    shape = (len(mentioned), len(different) * depth)
    named = csr_array(((excess * scale[ranking]).ravel(), columns, offsets * depth), shape=shape)
    half = places - n_conditions * rest / 2
    crossed = np.stack([rest + half, rest - half], axis=-1) * (scale / np.sqrt(2))[..., None]
    signs = np.append(np.tile([1.0, -1.0], depth), np.ones(shape[1]))
    return hstack([csr_array(crossed.reshape(len(mentioned), 2 * depth)), named], format="csr"), signs


# Measures with their intervals ---------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Alpha:
    """Hold Krippendorff's alpha of a study.

    Attributes
    ----------
    value
        1: the annotators always agree; 0: they agree as often as rankings drawn at random from the study; negative:
        less than that; nan: undefined, as no two rankings differ or no case has two of them.
    low, high
        Bootstrap interval over cases, or over groups of cases; nan if there are fewer than two to resample.
    level
        Coverage of the interval.
    observed, expected
        Mean distance between the rankings of a case, and between all rankings; nan if there are none.
    n_cases, n_rankings
        Cases with at least two rankings, and their rankings; one that several annotators share counts for each.
    distance
        What is compared.

    For ratings, read ratings where it says rankings.

    Examples
    --------
    >>> said = Study.from_counts([[2, 0], [0, 2], [1, 1]], ["a", "b"])
    >>> found = krippendorff_alpha(said)
    >>> round(found.value, 3), found.n_cases, found.n_rankings, found.distance
    (0.444, 3, 6, 'first-choice')
    """

    value: float
    low: float
    high: float
    level: float
    observed: float
    expected: float
    n_cases: int
    n_rankings: int
    distance: Distance

    _repr_html_ = repr_html

    def __repr__(self) -> str:
        interval = f"{100 * self.level:g} % interval {self.low:.3f} to {self.high:.3f}"
        basis = f"{self.n_cases} cases, {self.n_rankings} rankings"
        if np.isnan(self.value):
            why = "no case has two rankings" if self.n_cases == 0 else "no two rankings differ"
            return f"Alpha: undefined, as {why} ({basis}, distance {self.distance!r})"
        return f"Alpha: {self.value:.3f} ({interval}; {basis}, distance {self.distance!r})"


@checked
def krippendorff_alpha(
    annotations: Study,
    *,
    distance: Distance = "first-choice",
    depth: int = 3,
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Alpha:
    """Measure the agreement beyond chance: one minus observed over expected disagreement ([krippendorff]).

    Parameters
    ----------
    annotations
        Rankings or ratings. Abstentions and opinions of weight zero are missing data; cases with fewer than two
        opinions, and cases of weight zero, do not count.
    distance
        ``"first-choice"``: one minus the common first choices over the first choices of the one who has more. This is
        the total variation between two votes that share themselves among tied first choices; for single labels it is
        the nominal alpha, and for ratings two numbers are the same or not. ``"overlap"``: one minus
        :func:`mean_average_overlap` at ``depth``. ``"set"``: Jaccard distance, one minus the conditions that both
        mention over those that either does. ``"masi"``: the same with the similarity multiplied by 2/3 if one set holds
        the other, and by 1/3 if neither does ([passonneau]). For ratings and for grades, whose order is that of the
        conditions: ``"ordinal"``, the squared number of opinions between two values, half of their own included;
        ``"interval"``, the squared difference; ``"ratio"``, the squared difference over the sum, for ratings without
        negative numbers only. Tied first grades count as their mean.
    depth
        How many places count in ``"overlap"``.
    draws, seed, level
        Bootstrap samples of the cases (of the groups, where cases have groups), their seed, and the coverage of the
        interval.

    Notes
    -----
    Every pair of rankings on a case with m of them weighs 1 / (m - 1); expected disagreement is over all pairs of
    rankings in the study. Both are exact: the pairs are never listed. Identical sets are counted, and only sets that
    share a condition are compared; for overlaps the sum over all pairs is the squared length of a sum of vectors.
    Every vote counts as one ranking, whatever its weight; case weights count. Observed and expected disagreement are
    both computed anew in every bootstrap sample; samples in which alpha is undefined are left out of the interval.

    Examples
    --------
    >>> said = Study.from_rankings([[[["a"]], [["a"]]], [[["b"]], [["b"]]], [[["a"]], [["b"]]]])
    >>> alpha = krippendorff_alpha(said)
    >>> round(alpha.value, 3), alpha.n_cases, alpha.n_rankings
    (0.444, 3, 6)
    """
    check_choice("distance", distance, get_args(Distance))
    check_count(draws=draws)
    check_seed(seed)
    check_share("level", level)
    if annotations.kind == "ratings":
        lowest = annotations.counted.scores.min(initial=0.0)
        if distance not in DISTANCES_OF_RATINGS:
            raise DissensusError(f"{distance} needs rankings", expected=listing(DISTANCES_OF_RATINGS), got="ratings")
        if distance == "ratio" and lowest < 0:
            raise DissensusError("ratios need ratings of zero or more", got=f"{lowest:g}")
    else:
        require_kind(annotations, "rankings", "agreement")
        if distance == "ratio":
            advice = "give grades that are amounts as ratings"
            raise DissensusError("ratios need ratings: conditions have no zero", got="rankings", advice=advice)
    counted = annotations.counted
    said = counted.select((counted.votes_per_case > 1) & (counted.case_weights > 0))
    if distance == "overlap":
        check_depth(depth, said.n_conditions)
    found = disagreement_of(Table.of(said), distance, depth)
    observed, expected = (float(part[0]) for part in found.observed_and_expected(np.ones((1, said.n_cases))))
    values, samples = resampled([(said, found)], draws=draws, seed=seed)
    low, high = middle(samples[:, 0], level)
    return Alpha(float(values[0]), low, high, level, observed, expected, said.n_cases, said.n_votes, distance)


# Several measures ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AgreementMeasure:
    """Hold one measure of agreement of a study.

    Attributes
    ----------
    measure
        Its name; see :func:`agreement_measures`.
    value
        1: all annotators agree; 0: as much as chance, or nothing of the variance, explains; nan: undefined.
    low, high
        Bootstrap interval over cases, or over groups of cases; nan if there are fewer than two to resample.
    n_cases, n_annotators
        The cases that count, and the named annotators of the study; none if nobody is named.
    note
        Why it is undefined, or what it rests on.

    Examples
    --------
    >>> said = Study.from_rankings([[[["a"]], [["a"]]], [[["b"]], [["b"]]]], annotator_names=["A", "B"])
    >>> found = cohen_kappa(said, ("A", "B"))
    >>> found.measure, found.value, found.n_cases
    ('cohen-kappa', 1.0, 2)
    """

    measure: str
    value: float
    low: float
    high: float
    n_cases: int
    n_annotators: int | None
    note: str


# Which measures there are ----------------------------------------------------------------------------------


class Known(NamedTuple):
    """What a measure is called, what it says in a sentence, and what finds it in a table."""

    title: str
    meaning: str
    of: Callable[[Table], Measure]


# How far apart two opinions are in alphas of grades and ratings.
APART: Mapping[Distance, str] = {
    "ordinal": "two opinions are the further apart the more opinions of the study lie between.",
    "interval": "two opinions are as far apart as the square of their difference.",
    "ratio": "differences count in proportion to the sum of both; zero must mean nothing at all.",
}

# What is taken off for near misses.
MISSED: Mapping[Credit, str] = {"linear": "every step between both", "quadratic": "the square of the steps"}


def _graded(name: str, title: str, of: Callable[..., Measure]) -> dict[str, Known]:
    """Give the kinds of a kappa that give credit for near misses."""
    words = "The same for grades, where near misses count in part, less by"
    return {
        f"{name}-{credit}": Known(f"{title}, {credit} credit", f"{words} {steps}.", partial(of, credit=credit))
        for credit, steps in MISSED.items()
    }


_guessed = partial(panel_kappa, chance=guessed)

KNOWN: Mapping[str, Known] = {
    "alpha-nominal": Known(
        "Krippendorff's alpha, nominal",
        "One minus the disagreement within cases over that among all opinions of the study; two opinions are the same "
        "or not.",
        partial(alpha, distance="first-choice"),
    ),
    **{
        f"alpha-{distance}": Known(
            f"Krippendorff's alpha, {distance}", f"The same, where {words}", partial(alpha, distance=distance)
        )
        for distance, words in APART.items()
    },
    "fleiss-kappa": Known(
        "Fleiss' kappa",
        "How often two annotators of a case agree, beyond two who choose by how common conditions are.",
        partial(panel_kappa, chance=independent),
    ),
    "cohen-kappa": Known(
        "Cohen's kappa",
        "How often two named annotators agree, beyond chance at the rates of each; mean over all pairs.",
        mean_kappa,
    ),
    **_graded("cohen-kappa", "Cohen's kappa", mean_kappa),
    "gwet-ac1": Known(
        "Gwet's AC1",
        "How often two annotators agree, beyond a chance that is small where most cases have one condition.",
        _guessed,
    ),
    **_graded("gwet-ac2", "Gwet's AC2", _guessed),
    "icc-2-1": Known(
        "ICC(2,1)",
        "The share of the variance of single ratings that lies between cases; that annotators differ in how high they "
        "rate counts as disagreement.",
        partial(intraclass, averaged=False),
    ),
    "icc-2-k": Known("ICC(2,k)", "The same of the mean of the ratings of a case.", partial(intraclass, averaged=True)),
}

OF_LABELS: tuple[str, ...] = ("alpha-nominal", "fleiss-kappa", "cohen-kappa", "gwet-ac1")
OF_GRADES: tuple[str, ...] = (
    *("alpha-ordinal", "alpha-interval", "cohen-kappa-linear", "cohen-kappa-quadratic"),
    *("gwet-ac2-linear", "gwet-ac2-quadratic"),
)
OF_RATINGS: tuple[str, ...] = ("alpha-ordinal", "alpha-interval", "alpha-ratio", "icc-2-1", "icc-2-k")


# The table -------------------------------------------------------------------------------------------------


@checked
def agreement_measures(
    study: Study, measures: Sequence[str] | None = None, *, seed: int = 0, level: float = 0.95
) -> pl.DataFrame:
    """Measure the agreement among the annotators of a study in several ways, each with an interval.

    Parameters
    ----------
    study
        Rankings, which count by what is named first (several conditions named first share the choice), grades, ratings
        or checklists. Abstentions and opinions of weight zero are missing; every other opinion counts once, whatever
        its weight, and as often as it has votes. Weights of cases count.
    measures
        Names of measures; by default those that suit the study. Conditions: ``"alpha-nominal"``
        (:func:`krippendorff_alpha`), ``"fleiss-kappa"``, ``"cohen-kappa"`` (mean over the pairs of named annotators
        with at least 10 common cases) and ``"gwet-ac1"``. Grades: ``"alpha-ordinal"``, ``"alpha-interval"``, and
        ``"cohen-kappa-"`` and ``"gwet-ac2-"`` with ``"linear"`` or ``"quadratic"`` credit for near misses. Ratings:
        ``"alpha-ordinal"``, ``"alpha-interval"``, ``"alpha-ratio"``, ``"icc-2-1"`` and ``"icc-2-k"``.
    seed, level
        Of the bootstrap samples of cases (of groups, where cases have groups), and the coverage of the interval.

    Returns
    -------
    polars.DataFrame
        A row per measure: ``measure``, ``value``, ``low``, ``high``, ``n_cases``, ``n_annotators``, ``note``; nan, and
        the reason in the note, where it is undefined. For checklists, a row per measure and ``finding``, and then the
        mean over all findings in which it is defined.

    Notes
    -----
    Fleiss' kappa and Gwet's coefficients are those of [gwet] for unequal numbers of opinions: agreement is averaged
    over the cases with two opinions or more, how common conditions are over all cases with any; all conditions of the
    study count as possible, named or not. ICC(2,1) and ICC(2,k) rest on components of variance by moments, which are
    those of the analysis of variance if everybody rates every case; k is the harmonic mean of the numbers of ratings.

    Examples
    --------
    >>> said = Study.from_counts([[2, 0], [0, 2], [1, 1]], ["a", "b"])
    >>> agreement_measures(said, ["alpha-nominal", "fleiss-kappa"]).select("measure", "value", "n_cases").rows()
    [('alpha-nominal', 0.444..., 3), ('fleiss-kappa', 0.333..., 3)]
    """
    import polars as pl

    check_seed(seed)
    check_share("level", level)
    if measures is not None and not len(measures):
        raise DissensusError(
            "there is no measure to compute", expected="names of measures, or None for those that suit"
        )
    studies: Mapping[str, Study] = study.by_finding() if study.kind == "checklists" else {"": study}
    prepared = []
    for one in studies.values():
        said = one.counted
        table = Table.of(said.select((said.votes_per_case > 0) & (said.case_weights > 0)))
        known = ("alpha-nominal", *OF_RATINGS) if said.kind == "ratings" else OF_LABELS + OF_GRADES
        suited = OF_RATINGS if said.kind == "ratings" else OF_GRADES if said.question == "grades" else OF_LABELS
        for name in suited if measures is None else measures:
            check_choice("measures", name, known)
            prepared.append((name, table.study, KNOWN[name].of(table)))
    computed = _computed(prepared, seed=seed, level=level)
    names = list(dict.fromkeys(name for name, _, _ in prepared))
    rows, findings = [row for row, _ in computed], [finding for finding in studies for _ in names]
    if study.kind == "checklists":
        rows += [_mean([one for one in computed if one[0].measure == name], level) for name in names]
        findings += [ALL_FINDINGS] * len(names)
    kinds = (pl.String, *[pl.Float64] * 3, pl.Int64, pl.Int64, pl.String)
    schema = dict(zip((part.name for part in fields(AgreementMeasure)), kinds, strict=True))
    frame = pl.DataFrame([astuple(row) for row in rows], schema=schema, orient="row")
    if study.kind == "checklists":
        frame.insert_column(0, pl.Series("finding", findings, dtype=pl.String))
    return frame


@checked
def cohen_kappa(
    annotations: Study, annotators: tuple[str, str], *, credit: Credit = "none", seed: int = 0, level: float = 0.95
) -> AgreementMeasure:
    """Measure the agreement of two named annotators beyond chance ([cohen]).

    Parameters
    ----------
    annotations
        Rankings, which count by what is named first; several conditions named first share the choice.
    annotators
        The names of both.
    credit
        What near misses are worth if the order of the conditions is one of grades: nothing, or ``"linear"`` or
        ``"quadratic"`` credit.
    seed, level
        As in :func:`agreement_measures`.

    Examples
    --------
    >>> said = Study.from_rankings(
    ...     [[[["a"]], [["a"]]], [[["b"]], [["a"]]], [[["b"]], [["b"]]]], annotator_names=["A", "B"])
    >>> round(cohen_kappa(said, ("A", "B")).value, 3)
    0.4
    """
    check_choice("credit", credit, get_args(Credit))
    check_seed(seed)
    check_share("level", level)
    said = require_kind(annotations, "rankings", "Cohen's kappa").counted
    if len(annotators) != 2 or annotators[0] == annotators[1]:
        raise DissensusError("Cohen's kappa compares two annotators", expected="two names", got=repr(annotators))
    names = [known_name("annotator", name, said.annotator_names) for name in annotators]
    one, other = (said.annotator_names.index(name) for name in names)
    kappa = mean_kappa(Table.of(said), credit, least=1, only=(one, other))._replace(note="")
    if not kappa.n_cases:
        kappa = kappa._replace(undefined="undefined: they have no case in common")
    name = "cohen-kappa" if credit == "none" else f"cohen-kappa-{credit}"
    return _computed([(name, said, kappa)], seed=seed, level=level)[0][0]


def _computed(
    prepared: Sequence[tuple[str, Study, Measure]], *, seed: int, level: float
) -> list[tuple[AgreementMeasure, FloatArray]]:
    """Compute measures on the same samples of cases; return what each is in them (draws,) too."""
    values, samples = resampled([(study, measure) for _, study, measure in prepared], draws=DRAWS, seed=seed)
    found = []
    for (name, study, measure), value, own in zip(prepared, values, samples.T, strict=True):
        is_defined = np.isfinite(value)
        low, high = middle(own, level) if is_defined else (np.nan, np.nan)
        n_annotators = len(np.unique(study.annotators[study.annotators != ANONYMOUS])) or None
        why = measure.note if is_defined else measure.undefined
        found.append((AgreementMeasure(name, float(value), low, high, measure.n_cases, n_annotators, why), own))
    return found


def _mean(found: Sequence[tuple[AgreementMeasure, FloatArray]], level: float) -> AgreementMeasure:
    """Average a measure over the studies in which it is defined."""
    rows, kept = [row for row, _ in found], [one for one in found if np.isfinite(one[0].value)]
    n_cases, n_annotators = max(row.n_cases for row in rows), max(row.n_annotators or 0 for row in rows) or None
    whole = replace(rows[0], value=np.nan, low=np.nan, high=np.nan, n_cases=n_cases, n_annotators=n_annotators)
    if not kept:
        return replace(whole, note="undefined: in every finding")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a sample in which no finding has a value has no mean
        low, high = middle(np.nanmean([samples for _, samples in kept], axis=0), level)
    value = float(np.mean([row.value for row, _ in kept]))
    return replace(whole, value=value, low=low, high=high, note=f"mean of {len(kept)} of {len(rows)} findings")


# Resampled cases -----------------------------------------------------------------------------------------


def resampled(
    prepared: Sequence[tuple[Study, Measure | Disagreement]], *, draws: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Compute measures of studies (n_measures,), and of the same samples of their cases (draws, n_measures).

    Cases of one group are drawn together, with replacement. With fewer than two groups, or cases without them, there is
    nothing to resample, and no sample.
    """
    units = [study.groups or study.case_names for study, _ in prepared]
    known = {name: number for number, name in enumerate(dict.fromkeys(name for names in units for name in names))}
    of_case = [np.array([known[name] for name in names], dtype=np.int64) for names in units]

    def of(times: FloatArray) -> FloatArray:
        return np.stack([one.values(times[:, at]) for (_, one), at in zip(prepared, of_case, strict=True)], axis=1)

    n_units, rng = len(known), np.random.default_rng(seed)
    values = of(np.ones((1, n_units)))[0]
    if n_units < 2:
        return values, np.empty((0, len(prepared)))
    at_once = max(1, NUMBERS_AT_ONCE // max([n_units, *(measure.width for _, measure in prepared)]))
    samples = []
    for start in range(0, draws, at_once):
        chosen = [rng.integers(n_units, size=n_units) for _ in range(start, min(start + at_once, draws))]
        samples.append(of(np.stack([np.bincount(one, minlength=n_units) for one in chosen]).astype(np.float64)))
    return values, np.concatenate(samples)


def middle(values: FloatArray, level: float) -> tuple[float, float]:
    """Return the ends of the middle ``level`` of the values that are defined; nan if none is."""
    defined = values[np.isfinite(values)]
    if not len(defined):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
