"""Krippendorff's alpha for rankings, grades and ratings: agreement beyond chance, with any of several distances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from dissensus.agreement.overlap import check_depth, soft_rankings
from dissensus.agreement.table import (
    Matrix,
    Table,
    check_level,
    given_on_cases,
    middle,
    resampled,
    sparse,
)
from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_choice, check_count, check_seed, checked
from dissensus.core.errors import DissensusError, listing
from dissensus.core.ragged import offsets_from_lengths, row_of_each, take_rows, weighted_counts
from dissensus.study.study import Study, require_kind

Distance: TypeAlias = Literal["first-choice", "overlap", "set", "masi", "ordinal", "interval", "ratio"]
DISTANCES = ("first-choice", "overlap", "set", "masi", "ordinal", "interval", "ratio")
DISTANCES_OF_RATINGS = ("first-choice", "ordinal", "interval", "ratio")

PAIRS_AT_ONCE = 2_000_000
"""How many pairs of sets are compared at the same time."""

DENSE = 0.05
"""Share of pairs with a common condition above which the dense product is faster than the sparse one."""

NONE_EXPECTED = 1e-12
"""Expected disagreement below which all rankings are the same, up to rounding."""

STEP, LEAST, MOST = 0.25, 1e-8, 45.0
"""Step, in logarithms, and ends of the sum that stands for the integral behind ratios; it is off by less than 1e-12."""


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
    level: float = 0.9,
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
    check_choice("distance", distance, DISTANCES)
    check_count(draws=draws)
    check_seed(seed)
    check_level(level)
    if annotations.kind == "ratings":
        lowest = require_kind(annotations, "ratings", "agreement").counted.scores.min(initial=0.0)
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
    values, samples = resampled([found], [said], draws=draws, seed=seed)
    low, high = middle(samples[:, 0], level)
    return Alpha(float(values[0]), low, high, level, observed, expected, said.n_cases, said.n_votes, distance)


def disagreement_of(table: Table, distance: Distance, depth: int = 1) -> Disagreement:
    """Find what alpha needs to know of a study."""
    if distance == "ordinal":
        return _Midranks(table)
    if distance == "interval":
        return _Vectors.of_numbers(table)
    if distance == "ratio":
        return _Vectors.of_ratios(table)
    if distance == "first-choice":
        return _Sets.of(table, _vote_similarity)
    said = require_kind(table.study, "rankings", "agreement")
    if distance == "overlap":
        vectors, signs = soft_rankings(said, depth)
        by_case = given_on_cases(said, np.arange(said.n_opinions), said.n_opinions) @ vectors
        return _Vectors(table, by_case, table.sizes, signs)
    first_key = said.ranking_of_mention * said.n_conditions
    mentioned = np.sort(first_key + said.codes) - first_key
    sets = Table.of_sets(said, offsets_from_lengths(said.mentions_per_ranking), mentioned)
    return _Sets.of(sets, _jaccard if distance == "set" else _masi)


# Disagreement --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Disagreement(ABC):
    """Add up distances between the opinions of a study: alpha, if cases occur so many times."""

    table: Table

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers it takes per sample of cases."""

    @abstractmethod
    def apart(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what lies between opinions if cases have these weights (n, n_cases), each shape (n,).

        First the sum over cases of the distances of all ordered pairs over one less than the opinions of the case; then
        the mean distance of all ordered pairs, each opinion with itself among them.
        """

    def over_others(self, apart: FloatArray) -> FloatArray:
        """Divide sums over the pairs of cases (..., n_cases) by one less than the opinions of the case."""
        return np.asarray(np.maximum(apart, 0.0) / np.maximum(self.table.sizes - 1, 1.0))

    def observed_and_expected(self, times: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both if each case occurs so many ``times`` (n, n_cases), each shape (n,); only pairs count."""
        times = times * self.table.is_paired
        weights, n_opinions = times * self.table.weights, times @ self.table.sizes
        with np.errstate(invalid="ignore", divide="ignore"):
            within, across = self.apart(weights)
            return within / (weights @ self.table.sizes), across * n_opinions / (n_opinions - 1)

    def values(self, times: FloatArray) -> FloatArray:
        """Return alpha if each case occurs so many ``times`` (n, n_cases), shape (n,); nan where it is undefined."""
        observed, expected = self.observed_and_expected(times)
        defined = expected > NONE_EXPECTED
        return np.where(defined, 1 - observed / np.where(defined, expected, 1.0), np.nan)


@dataclass(frozen=True, eq=False)
class _Vectors(Disagreement):
    """Half the squared distance of vectors: sums over pairs follow from the sums and the squared lengths of cases.

    ``by_case`` (n_cases, n_components) are sums of vectors, ``squares`` (n_cases,) of their squared lengths; components
    count with their ``signs`` (n_components,). For vectors of length one, it is one minus their inner product.
    """

    by_case: Matrix
    squares: FloatArray
    signs: FloatArray

    @property
    def width(self) -> int:
        return len(self.signs)

    @classmethod
    def of_numbers(cls, table: Table) -> _Vectors:
        """Square the differences of numbers, shifted and scaled: sums of squares lose no digits to a distant zero."""
        numbers = table.shares @ table.numbers
        paired = numbers[table.is_paired @ table.counts > 0]
        spread = np.ptp(paired) if len(paired) else 0.0
        scaled = (numbers - paired.mean()) / spread if spread > 0 else np.zeros(len(numbers))
        vectors = np.sqrt(2) * scaled[:, None]
        return cls(table, table.counts @ vectors, table.counts @ vectors[:, 0] ** 2, np.ones(1))

    @classmethod
    def of_ratios(cls, table: Table) -> _Vectors:
        """Compare numbers by four times their product over their squared sum, as an inner product of vectors.

        It is the integral over s of 2 c e^s exp(-c e^s) times the same of the other number, and a sum over equal steps
        of s is as good as the integral. Zeros have a component of their own.
        """
        scores = table.numbers / table.numbers.max(initial=np.finfo(float).tiny)
        steps = np.arange(np.log(LEAST / 2), np.log(MOST / 2 / scores[scores > 0].min(initial=1.0)) + STEP, STEP)
        rates = scores[:, None] * np.exp(steps)
        vectors = np.column_stack([2 * np.sqrt(STEP) * rates * np.exp(-rates), scores == 0])
        return cls(table, table.counts @ vectors, table.sizes, np.ones(vectors.shape[1]))

    def apart(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        sizes, squares = self.table.sizes, self.squares
        own, sums = self.by_case, weights @ self.by_case
        within, mass = self.over_others(sizes * squares - (own * own) @ self.signs), weights @ sizes
        return weights @ within, weights @ squares / mass - (sums * sums) @ self.signs / mass**2


@dataclass(frozen=True, eq=False)
class _Midranks(Disagreement):
    """Squared differences of midranks, which are other ones in every sample of cases.

    The opinions between two values, half of their own included, are the difference of their midranks.
    """

    @property
    def width(self) -> int:
        return int(max(self.table.counts.shape))

    def apart(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        counts, shares, sizes = self.table.counts, self.table.shares, self.table.sizes
        given = weights @ counts
        mass = given.sum(axis=1, keepdims=True)
        values = given @ shares
        ranks = ((np.cumsum(values, axis=1) - values / 2) / mass - 0.5) @ shares.T
        sums, squares = ((counts @ (ranks**power).T).T for power in (1, 2))
        within = self.over_others(2 * (sizes * squares - sums**2))
        means, mean_squares = (np.einsum("nk,nk->n", given, ranks**power) / mass[:, 0] for power in (1, 2))
        return np.einsum("ni,ni->n", weights, within), 2 * (mean_squares - means**2)


# Sets ----------------------------------------------------------------------------------------------------

Similarity: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""The similarity of two sets that share something, from the sizes of their intersection and of each."""


def _vote_similarity(common: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    return common / np.maximum(a, b)


def _jaccard(common: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    return common / (a + b - common)


def _masi(common: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    nested = np.where(common == np.minimum(a, b), 2 / 3, 1 / 3)
    return _jaccard(common, a, b) * np.where(common == np.maximum(a, b), 1.0, nested)


@dataclass(frozen=True, eq=False)
class _Sets(Disagreement):
    """One minus the similarity of sets: identical sets are counted, and only sets that share a condition compared.

    ``members`` (n_sets, K) says which conditions each set holds, ``within`` (n_cases,) is the sum of similarities over
    all ordered pairs of each case, and ``blocks`` cut the sets so that similarities to all sets fit into memory.
    """

    members: Matrix
    similarity: Similarity
    within: FloatArray
    blocks: tuple[slice, ...]

    @property
    def width(self) -> int:
        return int(self.table.counts.shape[1])

    @classmethod
    def of(cls, table: Table, similarity: Similarity) -> _Sets:
        members = table.shares.copy()
        members.data[:] = 1.0
        filled = np.cumsum(members @ np.asarray(members.sum(axis=0))) // PAIRS_AT_ONCE
        cuts = [0, *(np.flatnonzero(np.diff(filled)) + 1).tolist(), len(filled)]
        blocks = tuple(slice(start, stop) for start, stop in pairwise(cuts))
        return cls(table, members, similarity, _within_cases(table.counts, members, similarity), blocks)

    def apart(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        sizes, counts = self.table.sizes, weights @ self.table.counts
        alike = np.zeros(len(weights))
        for block in self.blocks:
            part = _similarities(self.members[block], self.members, self.similarity)
            part = part.toarray() if part.nnz > DENSE * np.prod(part.shape) else part
            alike += np.einsum("ns,ns->n", (part @ counts.T).T, counts[:, block])
        return weights @ self.over_others(sizes**2 - self.within), 1 - alike / (weights @ sizes) ** 2


def _within_cases(counts: Matrix, members: Matrix, similarity: Similarity) -> FloatArray:
    """Compare the different sets of each case: conditions of different cases are different columns."""
    counted = counts.tocoo()
    case = counted.row.astype(np.int64)
    offsets, elements = take_rows(members.indptr.astype(np.int64), counted.col.astype(np.int64))
    group = row_of_each(offsets)
    columns, column = np.unique(case[group] * members.shape[1] + members.indices[elements], return_inverse=True)
    own = sparse(np.ones(len(group)), group, column, (counted.nnz, len(columns)))
    alike = _similarities(own, own, similarity).tocoo()
    times = counted.data[alike.row] * counted.data[alike.col]
    return weighted_counts(case[alike.row], times * alike.data, counts.shape[0])


def _similarities(one: Matrix, other: Matrix, similarity: Similarity) -> Matrix:
    """Return the similarities of all pairs of sets that share a condition, sparse."""
    common = (one @ other.T).tocsr()
    sizes = np.asarray(one.sum(axis=1)), np.asarray(other.sum(axis=1))
    row = np.repeat(np.arange(common.shape[0]), np.diff(common.indptr))
    common.data = similarity(common.data, sizes[0][row], sizes[1][common.indices])
    return common
