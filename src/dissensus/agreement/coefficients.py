"""Coefficients of agreement: the kappas of Fleiss and Cohen, Gwet's coefficients, and intraclass correlation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import numpy as np

from dissensus.agreement.table import Matrix, Table, inner, sparse
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.ragged import offsets_from_lengths, weighted_counts
from dissensus.study.panel import ANONYMOUS

Credit: TypeAlias = Literal["none", "linear", "quadratic"]
"""What near misses are worth: nothing, or more the nearer two grades are."""

CREDITS = ("none", "linear", "quadratic")

ALL_BY_CHANCE = 1e-12
"""How far below one the agreement by chance must be: nearer, all choices are the same, up to rounding."""

SINGULAR = 1e-9
"""Determinant, relative to the sizes of its rows, below which components of variance cannot be told apart."""


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


def beyond(observed: FloatArray, chance: FloatArray) -> FloatArray:
    """Return how much of the agreement that chance leaves open was reached; nan where it leaves none."""
    left = 1 - chance
    defined = left > ALL_BY_CHANCE
    return np.where(defined, (observed - chance) / np.where(defined, left, 1.0), np.nan)


# All annotators --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PanelKappa(ABC):
    """Agreement of two annotators taken at random, beyond chance, if cases occur so many times.

    ``agreed`` (n_cases,) is the credit of the pairs of each case, 0 where there is none (``is_paired``, weighted);
    ``shared`` (n_cases, K) the shares of the conditions in the choices on each case, both times its weight.
    """

    agreed: FloatArray
    is_paired: FloatArray
    shared: Matrix
    worth: Matrix

    @classmethod
    def of(cls, table: Table, credit: Credit) -> Self:
        """Find what the coefficient needs to know of each case."""
        weights, sizes, shares = table.weights, table.sizes, table.shares
        worth = credits_of(shares.shape[1], credit)
        alone = table.counts @ inner(shares @ worth, shares)
        together = inner(table.by_value @ worth, table.by_value) - alone
        pairs = sizes * (sizes - 1)
        agreed = weights * np.divide(together, pairs, out=np.zeros(len(sizes)), where=pairs > 0)
        scale = np.divide(weights, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
        return cls(agreed, weights * (sizes > 1), table.by_value.multiply(scale[:, None]).tocsr(), worth)

    @property
    def width(self) -> int:
        """How many numbers it takes per sample of cases."""
        return int(max(self.shared.shape))

    @abstractmethod
    def chance(self, prevalence: FloatArray) -> FloatArray:
        """Return the agreement by chance, shape (n,), from how common conditions are (n, K)."""

    def values(self, times: FloatArray) -> FloatArray:
        """Return the coefficient if each case occurs so many ``times`` (n, n_cases), shape (n,)."""
        prevalence = times @ self.shared
        with np.errstate(invalid="ignore", divide="ignore"):
            observed = times @ self.agreed / (times @ self.is_paired)
            return beyond(observed, self.chance(prevalence / prevalence.sum(axis=1, keepdims=True)))


class FleissKappa(PanelKappa):
    """By chance, two annotators choose as all choices are distributed, independently ([fleiss], [gwet])."""

    def chance(self, prevalence: FloatArray) -> FloatArray:
        """Return the credit of two independent choices."""
        return np.asarray(np.einsum("nk,nk->n", prevalence @ self.worth, prevalence))


class GwetCoefficient(PanelKappa):
    """By chance, annotators agree where they guess, which they do where conditions are equally common ([gwet])."""

    def chance(self, prevalence: FloatArray) -> FloatArray:
        """Return the credit of guesses, by how far conditions are equally common; nan if there is one condition."""
        n_conditions = self.worth.shape[0]
        guessed = self.worth.sum() / np.float64(n_conditions * (n_conditions - 1))
        return np.asarray(guessed * np.einsum("nk,nk->n", prevalence, 1 - prevalence))


# Two annotators --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CohenKappa:
    """Mean over pairs of annotators of Cohen's kappa, if cases occur so many times ([cohen]; the mean: [light]).

    Rows are cases, weighted. ``common`` and ``agreed`` (n_cases, n_pairs) say whether both chose, and the credit of
    their choices; ``one`` and ``other`` (n_cases, n_cells) what the first's choices are worth for each condition, and
    the choices of the second, for the cells of a pair and a condition that ``pair_of_cell`` (n_cells,) tells apart.
    """

    common: Matrix
    agreed: Matrix
    one: Matrix
    other: Matrix
    pair_of_cell: IntArray

    @classmethod
    def of(cls, table: Table, credit: Credit, *, least: int, only: tuple[int, int] | None = None) -> CohenKappa:
        """Compare all pairs of annotators, or one, that have at least so many cases in common."""
        case, who, shares = _choices_by_name(table, only)
        first, second = pairs_within(case)
        n_people, n_conditions = int(who.max(initial=0)) + 1, shares.shape[1]
        _, pair, n_common = np.unique(who[first] * n_people + who[second], return_inverse=True, return_counts=True)
        enough = n_common >= least
        pair = (np.cumsum(enough) - 1)[pair[kept := enough[pair]]]
        first, second = first[kept], second[kept]
        worth, chosen = (shares @ credits_of(n_conditions, credit)).tocsr()[first], shares[second]
        at, shape = case[first], (table.n_cases, int(enough.sum()))
        weights = table.weights[at]

        def cells(part: Matrix) -> Matrix:
            entries = part.tocoo()
            columns = pair[entries.row] * n_conditions + entries.col
            values = weights[entries.row] * entries.data
            return sparse(values, at[entries.row], columns, (shape[0], shape[1] * n_conditions))

        one, other = cells(worth), cells(chosen)
        used = np.intersect1d(one.indices, other.indices)
        agreed = sparse(weights * inner(worth, chosen), at, pair, shape)
        return cls(sparse(weights, at, pair, shape), agreed, one[:, used], other[:, used], used // n_conditions)

    @property
    def width(self) -> int:
        """How many numbers it takes per sample of cases."""
        return int(max(*self.one.shape, self.n_pairs))

    @property
    def n_pairs(self) -> int:
        """Number of pairs of annotators."""
        return int(self.common.shape[1])

    @property
    def n_cases(self) -> int:
        """Number of cases that any pair has in common."""
        return int((np.diff(self.common.indptr) > 0).sum())

    def of_pairs(self, times: FloatArray) -> FloatArray:
        """Return kappa of every pair if each case occurs so many ``times`` (n, n_cases), shape (n, n_pairs)."""
        sums, agreed, one, other = (times @ part for part in (self.common, self.agreed, self.one, self.other))
        n_samples, n_pairs = sums.shape
        at = (np.arange(n_samples)[:, None] * n_pairs + self.pair_of_cell).ravel()
        chance = weighted_counts(at, (one * other).ravel(), n_samples * n_pairs).reshape(sums.shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            return beyond(agreed / sums, chance / sums**2)

    def values(self, times: FloatArray) -> FloatArray:
        """Return the mean over the pairs in which it is defined, shape (n,); nan if there are none."""
        found = self.of_pairs(times)
        defined = np.isfinite(found)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(defined, found, 0.0).sum(axis=1) / defined.sum(axis=1))


def _choices_by_name(table: Table, only: tuple[int, int] | None) -> tuple[IntArray, IntArray, Matrix]:
    """Average the choices of each named annotator on each case: case, annotator, and shares of conditions."""
    said, case = table.study, table.study.panel.case_of_opinion
    kept = (said.annotators != ANONYMOUS) & (table.weights[case] > 0)
    named = np.flatnonzero(kept if only is None else kept & np.isin(said.annotators, only))
    n_people = len(said.annotator_names) + 1
    keys, unit = np.unique(case[named] * n_people + said.annotators[named], return_inverse=True)
    mean = sparse(1 / np.bincount(unit)[unit], unit, table.kind[named], (len(keys), table.shares.shape[0]))
    return keys // n_people, keys % n_people, (mean @ table.shares).tocsr()


def pairs_within(rows: IntArray) -> tuple[IntArray, IntArray]:
    """List all pairs of places of one row; rows are ascending.

    >>> pairs_within(np.array([0, 0, 0, 1]))
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    later = np.searchsorted(rows, rows, side="right") - 1 - np.arange(len(rows))
    first = np.repeat(np.arange(len(rows)), later)
    return first, first + 1 + np.arange(len(first)) - offsets_from_lengths(later)[:-1][first]


# Ratings ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Intraclass:
    """ICC(2,1) or ICC(2,k): cases and annotators both at random, absolute agreement ([shrout], [mcgraw]).

    Components of variance are estimated by moments: the sums of squares of cases, of annotators and of all ratings are
    set equal to what they are expected to be (Henderson's first method, [searle]). If everybody rates every case, this
    is the analysis of variance. Rows are cases: ``cases`` (n_cases, 8) are sums over ratings (their number, sum and
    squares, the squared sum over the number, whether there is any, repeats over the number, the squared number, and one
    over it), and ``counts``, ``sums`` and ``repeats`` (n_cases, n_annotators) by annotator; all add up over cases.
    """

    cases: FloatArray
    counts: Matrix
    sums: Matrix
    repeats: Matrix
    averaged: bool

    @classmethod
    def of(cls, table: Table, *, averaged: bool) -> Intraclass:
        """Find what the components need to know of each case, of ratings by named annotators."""
        said, named = table.study, table.study.annotators != ANONYMOUS
        case, who, scores = said.panel.case_of_opinion[named], said.annotators[named], table.numbers[table.kind[named]]
        centred = scores - scores.mean() if len(scores) else scores
        shape = (said.n_cases, len(said.annotator_names))
        counts, sums = (sparse(part, case, who, shape) for part in (np.ones(len(case)), centred))
        repeats = counts.multiply(counts).tocsr()
        n, total, again = (np.asarray(part.sum(axis=1), dtype=np.float64).ravel() for part in (counts, sums, repeats))
        squares = weighted_counts(case, centred**2, said.n_cases)
        each = np.divide(1.0, n, out=np.zeros(len(n)), where=n > 0)
        columns = [n, total, squares, total**2 * each, (n > 0).astype(float), again * each, n**2, each]
        weights = (said.case_weights / max(said.case_weights.mean(), np.finfo(float).tiny))[:, None]
        counts, sums, repeats = (part.multiply(weights).tocsr() for part in (counts, sums, repeats))
        return cls(np.stack(columns, axis=1) * weights, counts, sums, repeats, averaged)

    @property
    def width(self) -> int:
        """How many numbers it takes per sample of cases."""
        return int(max(self.counts.shape))

    def components(self, times: FloatArray) -> FloatArray:
        """Return the variance of cases, of annotators and of the rest, shape (n, 3); nan if they cannot be told."""
        n, total, squares, by_case, n_cases, both, sizes_squared, _ = (times @ self.cases).T
        counts, sums, repeats = (times @ part for part in (self.counts, self.sums, self.repeats))
        with np.errstate(invalid="ignore", divide="ignore"):
            by_person, of_both = (np.where(counts > 0, part / counts, 0.0).sum(axis=1) for part in (sums**2, repeats))
            mean, people_squared, sizes = total**2 / n, (counts**2).sum(axis=1) / n, sizes_squared / n
        n_people = (counts > 0).sum(axis=1)
        between = np.stack([by_case - mean, by_person - mean, squares - by_case - by_person + mean], axis=1)
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
        return found

    def ratings_per_case(self, times: FloatArray) -> FloatArray:
        """Return the harmonic mean of the numbers of ratings of cases, shape (n,)."""
        sums = times @ self.cases
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums[:, 4] / sums[:, 7])

    def values(self, times: FloatArray) -> FloatArray:
        """Return the correlation if each case occurs so many ``times`` (n, n_cases), shape (n,)."""
        of_cases, of_people, rest = self.components(times).T
        others = (of_people + rest) / (self.ratings_per_case(times) if self.averaged else 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(of_cases + others > 0, of_cases / (of_cases + others), np.nan)
