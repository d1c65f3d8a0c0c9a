"""Krippendorff's alpha for rankings, grades and ratings: agreement beyond chance, with any of several distances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol, TypeAlias

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.arguments import checked
from dissensus.core.checks import check_choice, check_count, check_seed
from dissensus.core.errors import DissensusError, listing
from dissensus.core.ragged import offsets_from_lengths, row_of_each, take_rows, weighted_counts
from dissensus.evaluation.ranking_overlap import Matrix, SoftRankings, check_depth, soft_rankings
from dissensus.study.rankings import Annotations
from dissensus.study.ratings import Ratings
from dissensus.study.study import require_kind

Distance: TypeAlias = Literal["first-choice", "overlap", "set", "masi", "ordinal", "interval", "ratio"]
DISTANCES = ("first-choice", "overlap", "set", "masi", "ordinal", "interval", "ratio")
DISTANCES_OF_RATINGS = ("first-choice", "ordinal", "interval", "ratio")

Labelled: TypeAlias = Annotations | Ratings
"""Studies of which alpha is defined."""

NUMBERS_AT_ONCE = 5_000_000
"""How many numbers are held at the same time while cases are resampled (40 MB)."""

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
    >>> said = Annotations.from_counts([[2, 0], [0, 2], [1, 1]], ["a", "b"])
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
    annotations: Annotations | Ratings,
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
    >>> said = Annotations.from_rankings([[[["a"]], [["a"]]], [[["b"]], [["b"]]], [[["a"]], [["b"]]]])
    >>> alpha = krippendorff_alpha(said)
    >>> round(alpha.value, 3), alpha.n_cases, alpha.n_rankings
    (0.444, 3, 6)
    """
    check_choice("distance", distance, DISTANCES)
    check_count(draws=draws)
    check_seed(seed)
    check_level(level)
    _check_distance(annotations, distance)
    said = paired(annotations.counted)
    if distance == "overlap":
        check_depth(depth, said.n_conditions)
    distances = alpha_distances(said, distance, depth)
    one_of_each = np.ones((1, said.n_cases))
    observed, expected = (float(part[0]) for part in _disagreement(said, distances, one_of_each))
    width = max(said.n_cases, distances.width)
    alphas = resampled(clusters(said), lambda times: alphas_of(said, distances, times), width, draws=draws, seed=seed)
    low, high = middle(alphas, level)
    value = float(_alpha(np.array([observed]), np.array([expected]))[0])
    return Alpha(value, low, high, level, observed, expected, said.n_cases, said.n_votes, distance)


def check_level(level: float) -> None:
    """Refuse a coverage that is not between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0 < level < 1:
        raise DissensusError("level must be between 0 and 1", expected="for example 0.9", got=repr(level))


def _check_distance(said: Labelled, distance: Distance) -> None:
    """Refuse distances that a study does not have."""
    if said.kind != "ratings":
        require_kind(said, "rankings", "agreement")
        if distance == "ratio":
            advice = "give grades that are amounts as ratings"
            raise DissensusError("ratios need ratings: conditions have no zero", got="rankings", advice=advice)
    elif distance not in DISTANCES_OF_RATINGS:
        raise DissensusError(f"{distance} needs rankings", expected=listing(DISTANCES_OF_RATINGS), got="ratings")
    elif distance == "ratio" and said.counted.scores.min(initial=0.0) < 0:
        raise DissensusError("ratios need ratings of zero or more", got=f"{said.counted.scores.min():g}")


def paired(said: Labelled) -> Labelled:
    """Keep the cases with a weight and at least two opinions."""
    return said.select((said.votes_per_case > 1) & (said.case_weights > 0))


# Disagreement --------------------------------------------------------------------------------------------


class Distances(Protocol):
    """Add up distances between opinions."""

    @property
    def width(self) -> int:
        """How many numbers it takes to describe a sum of opinions."""

    def apart(self, sizes: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what lies between opinions if cases have these weights (n, n_cases), each shape (n,).

        First the sum over cases of the distances of all ordered pairs over one less than the opinions of the case,
        ``sizes`` (n_cases,); then the mean distance of all ordered pairs, each opinion with itself among them.
        """


class _Likeness(ABC):
    """Add up similarities between rankings, one minus their distance; a ranking is entirely like itself."""

    within: FloatArray
    """The sum over all ordered pairs of rankings of each case, shape (n_cases,)."""

    @abstractmethod
    def across(self, weights: FloatArray) -> FloatArray:
        """Return the sum over all ordered pairs of the study, cases weighted by (n, n_cases), shape (n,)."""

    def apart(self, sizes: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what lies between rankings."""
        apart = np.maximum(sizes**2 - self.within, 0.0) / (sizes - 1)
        return weights @ apart, 1 - self.across(weights) / (weights @ sizes) ** 2


def alpha_distances(said: Labelled, distance: Distance, depth: int = 1) -> Distances:
    """Find what alpha needs to know of the distances of a study whose cases all have two opinions or more."""
    if distance == "ordinal":
        return _MidrankDistances.of(said)
    if distance == "interval":
        return _SquaredDistances.of(said, numbers_of(said))
    if said.kind == "ratings":
        return _RatioLikeness.of(said) if distance == "ratio" else _SetLikeness.of(said, *_same_numbers(said))
    if distance == "overlap":
        return _OverlapLikeness.of(said, depth)
    if distance == "first-choice":
        return _SetLikeness.of(said, *_same_blocks(said))
    return _SetLikeness.of(said, *_mentioned_sets(said), said.n_conditions, SIMILARITIES[distance])


def _disagreement(said: Labelled, distances: Distances, times: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return observed and expected disagreement if each case occurs so many ``times`` (n, n_cases), each shape (n,)."""
    sizes = said.votes_per_case.astype(np.float64)
    weights = times * said.case_weights
    n_rankings = times @ sizes
    with np.errstate(invalid="ignore", divide="ignore"):
        within, across = distances.apart(sizes, weights)
        return within / (weights @ sizes), across * n_rankings / (n_rankings - 1)


def _alpha(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Return one minus observed over expected; nan where no disagreement is expected."""
    defined = expected > NONE_EXPECTED
    return np.where(defined, 1 - observed / np.where(defined, expected, 1.0), np.nan)


def alphas_of(said: Labelled, distances: Distances, times: FloatArray) -> FloatArray:
    """Return alpha if each case occurs so many ``times`` (n, n_cases), shape (n,)."""
    return _alpha(*_disagreement(said, distances, times))


# Resampled cases -----------------------------------------------------------------------------------------


def resampled(
    cluster: IntArray, of: Callable[[FloatArray], FloatArray], width: int, *, draws: int, seed: int
) -> FloatArray:
    """Resample clusters of cases with replacement and return a statistic of each sample, shape (draws, ...).

    ``of`` takes how often each case occurs (n, n_cases), and ``width`` is how many numbers it holds per sample. With
    fewer than two clusters there is nothing to resample, and there are no values.
    """
    n_clusters = int(cluster.max(initial=-1)) + 1
    if n_clusters < 2:
        return np.empty(0)
    parts = _samples(np.random.default_rng(seed), draws, n_clusters, max(1, NUMBERS_AT_ONCE // width))
    return np.concatenate([of(times[:, cluster]) for times in parts])


def middle(values: FloatArray, level: float) -> tuple[float, float]:
    """Return the ends of the middle ``level`` of the values that are defined; nan if none is."""
    defined = values[np.isfinite(values)]
    if not len(defined):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def clusters(said: Labelled) -> IntArray:
    """Give every case the number of its group, shape (n_cases,); cases without groups stand alone."""
    names = said.groups or said.case_names
    known = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([known[name] for name in names], dtype=np.int64)


def _samples(rng: np.random.Generator, draws: int, n_clusters: int, at_once: int) -> Iterator[FloatArray]:
    """Count how often each cluster occurs in each bootstrap sample, some samples (n, n_clusters) at a time."""
    for start in range(0, draws, at_once):
        samples = [rng.integers(n_clusters, size=n_clusters) for _ in range(start, min(start + at_once, draws))]
        yield np.stack([np.bincount(sample, minlength=n_clusters) for sample in samples]).astype(np.float64)


# Numbers -------------------------------------------------------------------------------------------------


def numbers_of(said: Labelled) -> FloatArray:
    """Return the number of each opinion, shape (n_opinions,): its score, or the mean code of its first grades."""
    if said.kind == "ratings":
        return said.scores
    offsets, codes = _first_blocks(said)
    return weighted_counts(row_of_each(offsets), codes.astype(np.float64), len(offsets) - 1) / np.diff(offsets)


def _unit(numbers: FloatArray) -> FloatArray:
    """Shift and scale numbers: alpha is the same, and sums of squares lose no digits to a distant zero."""
    spread = np.ptp(numbers) if len(numbers) else 0.0
    return (numbers - numbers.mean()) / spread if spread > 0 else np.zeros(len(numbers))


@dataclass(frozen=True, eq=False)
class _SquaredDistances:
    """Squared differences of numbers: sums over pairs follow from the sums and the sums of squares of cases."""

    sums: FloatArray
    squares: FloatArray
    width: int = 1

    @classmethod
    def of(cls, said: Labelled, numbers: FloatArray) -> _SquaredDistances:
        case, scaled = said.panel.case_of_opinion, _unit(numbers)
        sums, squares = (weighted_counts(case, said.votes * scaled**power, said.n_cases) for power in (1, 2))
        return cls(sums, squares)

    def apart(self, sizes: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        within = 2 * np.maximum(sizes * self.squares - self.sums**2, 0.0) / (sizes - 1)
        mass = weights @ sizes
        return weights @ within, 2 * (weights @ self.squares / mass - (weights @ self.sums / mass) ** 2)


@dataclass(frozen=True, eq=False)
class _MidrankDistances:
    """Squared differences of midranks, which are other ones in every sample of cases.

    The opinions between two values, half of their own included, are the difference of their midranks. ``counts``
    (n_cases, n_kinds) says how often each kind of opinion was given on each case; ``shares`` (n_kinds, n_values) how
    each kind shares itself among values in their order.
    """

    counts: Matrix
    shares: Matrix

    @property
    def width(self) -> int:
        return int(max(self.counts.shape))

    @classmethod
    def of(cls, said: Labelled) -> _MidrankDistances:
        offsets, codes, n_values, _ = _same_numbers(said) if said.kind == "ratings" else _same_blocks(said)
        identity, different = _identical(offsets, codes)
        kinds, elements = take_rows(offsets, different)
        kind = row_of_each(kinds)
        shares = _matrix(1 / np.diff(kinds)[kind], kind, codes[elements], (len(different), n_values))
        return cls(_times_given(said, identity, len(different)), shares)

    def apart(self, sizes: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        given = weights @ self.counts
        mass = given.sum(axis=1, keepdims=True)
        values = given @ self.shares
        ranks = ((np.cumsum(values, axis=1) - values / 2) / mass - 0.5) @ self.shares.T
        sums, squares = ((self.counts @ (ranks**power).T).T for power in (1, 2))
        within = 2 * np.maximum(sizes * squares - sums**2, 0.0) / (sizes - 1)
        means, mean_squares = (np.einsum("nk,nk->n", given, ranks**power) / mass[:, 0] for power in (1, 2))
        return np.einsum("ni,ni->n", weights, within), 2 * (mean_squares - means**2)


@dataclass(frozen=True, eq=False)
class _RatioLikeness(_Likeness):
    """Similarity of two numbers, four times their product over their squared sum, as an inner product of vectors.

    It is the integral over s of 2 c e^s exp(-c e^s) times the same of the other number, and a sum over equal steps of
    s is as good as the integral. Zeros have a component of their own. ``by_case`` (n_cases, n_steps + 1) are sums.
    """

    by_case: FloatArray
    within: FloatArray

    @property
    def width(self) -> int:
        return int(self.by_case.shape[1])

    @classmethod
    def of(cls, said: Ratings) -> _RatioLikeness:
        scores = said.scores / said.scores.max(initial=np.finfo(float).tiny)
        case, votes = said.panel.case_of_opinion, said.votes.astype(np.float64)
        steps = np.arange(np.log(LEAST / 2), np.log(MOST / 2 / scores[scores > 0].min(initial=1.0)) + STEP, STEP)
        rates = (scores * np.exp(step) for step in steps)
        parts = [weighted_counts(case, votes * 2 * np.sqrt(STEP) * r * np.exp(-r), said.n_cases) for r in rates]
        parts.append(weighted_counts(case, votes * (scores == 0), said.n_cases))
        by_case = np.stack(parts, axis=1)
        return cls(by_case, np.einsum("is,is->i", by_case, by_case))

    def across(self, weights: FloatArray) -> FloatArray:
        sums = weights @ self.by_case
        return np.asarray(np.einsum("ns,ns->n", sums, sums))


# Overlaps ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _OverlapLikeness(_Likeness):
    """Similarity is the inner product of unit vectors, so sums over pairs are squared lengths of sums of vectors."""

    by_case: SoftRankings
    within: FloatArray
    width: int

    @classmethod
    def of(cls, said: Annotations, depth: int) -> _OverlapLikeness:
        soft = soft_rankings(said, depth)
        case = said.panel.case_of_opinion
        membership = _matrix(said.votes.astype(np.float64), case, np.arange(len(case)), (said.n_cases, len(case)))
        by_case = soft.combined(membership)
        return cls(by_case, by_case.inner(by_case), soft.excess.shape[1])

    def across(self, weights: FloatArray) -> FloatArray:
        sums = self.by_case.combined(weights)
        return sums.inner(sums)


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


SIMILARITIES: dict[Distance, Similarity] = {"set": _jaccard, "masi": _masi}


@dataclass(frozen=True, eq=False)
class _SetLikeness(_Likeness):
    """Similarity of sets of conditions: identical sets are counted, and only sets that share a condition compared.

    ``counts`` (n_cases, n_sets) says how often each set was given on each case; ``members`` (n_sets, K) which
    conditions it holds. Both are sparse.
    """

    counts: Matrix
    members: Matrix
    similarity: Similarity
    within: FloatArray
    blocks: tuple[slice, ...]

    @property
    def width(self) -> int:
        return int(self.counts.shape[1])

    @classmethod
    def of(
        cls, said: Labelled, offsets: IntArray, codes: IntArray, n_codes: int, similarity: Similarity
    ) -> _SetLikeness:
        identity, different = _identical(offsets, codes)
        set_offsets, elements = take_rows(offsets, different)
        counts = _times_given(said, identity, len(different))
        shape = (len(different), n_codes)
        members = _matrix(np.ones(len(elements)), row_of_each(set_offsets), codes[elements], shape)
        return cls(counts, members, similarity, _within_cases(counts, members, similarity), _blocks(members))

    def across(self, weights: FloatArray) -> FloatArray:
        counts = weights @ self.counts
        total = np.zeros(len(weights))
        for block in self.blocks:
            alike = _similarities(self.members[block], self.members, self.similarity)
            alike = alike.toarray() if alike.nnz > DENSE * np.prod(alike.shape) else alike
            total += np.einsum("ns,ns->n", (alike @ counts.T).T, counts[:, block])
        return total


def _within_cases(counts: Matrix, members: Matrix, similarity: Similarity) -> FloatArray:
    """Compare the different sets of each case: conditions of different cases are different columns."""
    counted = counts.tocoo()
    case = counted.row.astype(np.int64)
    offsets, elements = take_rows(members.indptr.astype(np.int64), counted.col.astype(np.int64))
    group = row_of_each(offsets)
    columns, column = np.unique(case[group] * members.shape[1] + members.indices[elements], return_inverse=True)
    own = _matrix(np.ones(len(group)), group, column, (counted.nnz, len(columns)))
    alike = _similarities(own, own, similarity).tocoo()
    times = counted.data[alike.row] * counted.data[alike.col]
    return weighted_counts(case[alike.row], times * alike.data, counts.shape[0])


def _times_given(said: Labelled, identity: IntArray, n_kinds: int) -> Matrix:
    """Count how often each kind of opinion was given on each case, shape (n_cases, n_kinds)."""
    case = said.panel.case_of_opinion
    return _matrix(said.votes.astype(np.float64), case, identity, (said.n_cases, n_kinds))


def _matrix(values: FloatArray, rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Matrix:
    """Build a sparse matrix; entries at the same place are added up."""
    from scipy.sparse import csr_array

    matrix = csr_array((values, (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def _similarities(one: Matrix, other: Matrix, similarity: Similarity) -> Matrix:
    """Return the similarities of all pairs of sets that share a condition, sparse."""
    common = (one @ other.T).tocsr()
    sizes = np.asarray(one.sum(axis=1)), np.asarray(other.sum(axis=1))
    row = np.repeat(np.arange(common.shape[0]), np.diff(common.indptr))
    common.data = similarity(common.data, sizes[0][row], sizes[1][common.indices])
    return common


def _blocks(members: Matrix) -> tuple[slice, ...]:
    """Cut the sets into blocks whose similarities to all sets fit into memory."""
    popularity = np.asarray(members.sum(axis=0))
    filled = np.cumsum(members @ popularity)
    number = filled // PAIRS_AT_ONCE
    cuts = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(number)]
    return tuple(slice(start, stop) for start, stop in pairwise(cuts))


def _identical(offsets: IntArray, codes: IntArray) -> tuple[IntArray, IntArray]:
    """Tell the different rows of a ragged array apart: the number of each row, and the first row of each number."""
    known: dict[bytes, int] = {}
    keys = [codes[start:stop].tobytes() for start, stop in pairwise(offsets.tolist())]
    identity = np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)
    return identity, np.unique(identity, return_index=True)[1].astype(np.int64)


def _first_blocks(said: Annotations) -> tuple[IntArray, IntArray]:
    """Return the first choices of every ranking: offsets and codes, ascending within a ranking."""
    offsets, mentions = take_rows(said.code_offsets, said.block_offsets[:-1])
    return offsets, said.codes[mentions]


def _same_blocks(said: Annotations) -> tuple[IntArray, IntArray, int, Similarity]:
    """Return the first choices of every ranking, how many conditions there are, and how alike two of them are."""
    return *_first_blocks(said), said.n_conditions, _vote_similarity


def _same_numbers(said: Ratings) -> tuple[IntArray, IntArray, int, Similarity]:
    """Return the number of every rating among all different ones, in their order, as sets of one each."""
    different, codes = np.unique(said.scores, return_inverse=True)
    return np.arange(said.n_ratings + 1), codes.astype(np.int64), len(different), _vote_similarity


def _mentioned_sets(said: Annotations) -> tuple[IntArray, IntArray]:
    """Return the conditions that every ranking mentions: offsets and codes, ascending within a ranking."""
    offsets = offsets_from_lengths(said.mentions_per_ranking)
    first_key = said.ranking_of_mention * said.n_conditions
    return offsets, np.sort(first_key + said.codes) - first_key
