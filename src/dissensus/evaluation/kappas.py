"""Agreement beyond chance of single choices: the kappas of Fleiss and Cohen, and Gwet's coefficients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self, TypeAlias

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.ragged import offsets_from_lengths, row_of_each, take_rows, weighted_counts
from dissensus.evaluation.ranking_overlap import Matrix
from dissensus.study.panel import ANONYMOUS
from dissensus.study.rankings import Annotations

Credit: TypeAlias = Literal["none", "linear", "quadratic"]
"""What near misses are worth: nothing, or more the nearer two grades are."""

CREDITS = ("none", "linear", "quadratic")

ALL_BY_CHANCE = 1e-12
"""How far below one the agreement by chance must be: nearer, all choices are the same, up to rounding."""


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


@dataclass(frozen=True, eq=False)
class Choices:
    """First choices of the annotators of a study; who names several first gives each the same share.

    ``shares`` (n_opinions, K) are the shares, ``case``, ``annotators`` and ``votes`` (n_opinions,) where, by whom, and
    by how many each was given; ``weights`` (n_cases,) are those of cases.
    """

    shares: Matrix
    case: IntArray
    annotators: IntArray
    votes: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, said: Annotations) -> Choices:
        """Take the first choices of a study without abstentions."""
        from scipy.sparse import csr_array

        offsets, mentions = take_rows(said.code_offsets, said.block_offsets[:-1])
        values = np.repeat(1 / np.diff(offsets), np.diff(offsets))
        shares = csr_array((values, said.codes[mentions], offsets), shape=(said.n_rankings, said.n_conditions))
        votes = said.votes.astype(np.float64)
        return cls(shares, said.panel.case_of_opinion, said.annotators, votes, said.case_weights)

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return len(self.weights)

    @cached_property
    def sizes(self) -> FloatArray:
        """How many annotators chose on each case, shape (n_cases,)."""
        return weighted_counts(self.case, self.votes, self.n_cases)

    @cached_property
    def by_case(self) -> Matrix:
        """How many annotators chose each condition of each case, shape (n_cases, K)."""
        from scipy.sparse import csr_array

        shape = (self.n_cases, len(self.case))
        return csr_array((self.votes, (self.case, np.arange(len(self.case)))), shape=shape) @ self.shares

    def same(self, credit: Credit) -> FloatArray:
        """Return the credit of two annotators of each case, averaged over all pairs, shape (n_cases,); 0 of none."""
        worth = credits_of(self.shares.shape[1], credit)
        alone = weighted_counts(self.case, self.votes * _inner(self.shares @ worth, self.shares), self.n_cases)
        pairs = self.sizes * (self.sizes - 1)
        together = _inner(self.by_case @ worth, self.by_case) - alone
        return np.divide(together, pairs, out=np.zeros(self.n_cases), where=pairs > 0)


def _inner(one: Matrix, other: Matrix) -> FloatArray:
    """Return the inner products of the rows of two sparse matrices."""
    return np.asarray(one.multiply(other).sum(axis=1), dtype=np.float64).ravel()


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
    def of(cls, choices: Choices, credit: Credit) -> Self:
        """Find what the coefficient needs to know of each case."""
        weights, sizes = choices.weights, choices.sizes
        scale = np.divide(weights, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
        shared = choices.by_case.multiply(scale[:, None]).tocsr()
        worth = credits_of(choices.shares.shape[1], credit)
        return cls(weights * choices.same(credit), weights * (sizes > 1), shared, worth)

    @property
    def width(self) -> int:
        """How many numbers it takes per sample of cases."""
        return int(max(self.shared.shape))

    @abstractmethod
    def values(self, times: FloatArray) -> FloatArray:
        """Return the coefficient if each case occurs so many ``times`` (n, n_cases), shape (n,)."""

    def _parts(self, times: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return observed agreement (n,), and the prevalence of each condition (n, K)."""
        prevalence = times @ self.shared
        with np.errstate(invalid="ignore", divide="ignore"):
            return times @ self.agreed / (times @ self.is_paired), prevalence / prevalence.sum(axis=1, keepdims=True)


class FleissKappa(PanelKappa):
    """By chance, two annotators choose as all choices are distributed, independently ([fleiss], [gwet])."""

    def values(self, times: FloatArray) -> FloatArray:
        """Return the coefficient if each case occurs so many ``times`` (n, n_cases), shape (n,)."""
        observed, prevalence = self._parts(times)
        return beyond(observed, np.einsum("nk,nk->n", prevalence @ self.worth, prevalence))


class GwetCoefficient(PanelKappa):
    """By chance, annotators agree where they guess, which they do where conditions are equally common ([gwet])."""

    def values(self, times: FloatArray) -> FloatArray:
        """Return the coefficient if each case occurs so many ``times`` (n, n_cases), shape (n,)."""
        observed, prevalence = self._parts(times)
        n_conditions = self.worth.shape[0]
        if n_conditions < 2:
            return np.full(len(times), np.nan)
        guessed = self.worth.sum() / (n_conditions * (n_conditions - 1))
        return beyond(observed, guessed * np.einsum("nk,nk->n", prevalence, 1 - prevalence))


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
    pairs: IntArray

    @classmethod
    def of(cls, choices: Choices, credit: Credit, *, least: int, only: tuple[int, int] | None = None) -> CohenKappa:
        """Compare all pairs of annotators, or one, that have at least so many cases in common."""
        first, second, shares, case, who = _in_common(choices, least, only)
        n_people = int(who.max(initial=0)) + 1
        pairs, pair = np.unique(who[first] * n_people + who[second], return_inverse=True)
        worth = (shares @ credits_of(shares.shape[1], credit)).tocsr()[first]
        chosen, at = shares[second], case[first]
        cells, columns = _cells(pair, worth, chosen)
        weights, shape = choices.weights[at], (choices.n_cases, len(pairs))
        one, other = (
            _spread(weights, at, matrix, column, (choices.n_cases, len(cells)))
            for matrix, column in zip((worth, chosen), columns, strict=True)
        )
        common, agreed = (_sums(weights * part, at, pair, shape) for part in (np.ones(len(at)), _inner(worth, chosen)))
        people = np.stack([pairs // n_people, pairs % n_people], axis=1)
        return cls(common, agreed, one, other, cells // shares.shape[1], people)

    @property
    def width(self) -> int:
        """How many numbers it takes per sample of cases."""
        return int(max(self.one.shape))

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


def _in_common(
    choices: Choices, least: int, only: tuple[int, int] | None
) -> tuple[IntArray, IntArray, Matrix, IntArray, IntArray]:
    """List what two annotators chose on one case: places of both, and shares, case and annotator at each place.

    Several choices of one annotator on a case are averaged first.
    """
    kept = (choices.annotators != ANONYMOUS) & (choices.weights[choices.case] > 0)
    named = np.flatnonzero(kept if only is None else kept & np.isin(choices.annotators, only))
    n_people = int(choices.annotators.max(initial=0)) + 1
    keys, unit = np.unique(choices.case[named] * n_people + choices.annotators[named], return_inverse=True)
    mean = _sums(1 / np.bincount(unit)[unit], unit, np.arange(len(named)), (len(keys), len(named)))
    case, who = keys // n_people, keys % n_people
    first, second = _pairs_within(case)
    shared = np.unique(who[first] * n_people + who[second], return_inverse=True, return_counts=True)
    enough = (shared[2] >= least)[shared[1]]
    return first[enough], second[enough], (mean @ choices.shares[named]).tocsr(), case, who


def _pairs_within(case: IntArray) -> tuple[IntArray, IntArray]:
    """List all pairs of places of one case; cases are ascending."""
    later = np.searchsorted(case, case, side="right") - 1 - np.arange(len(case))
    first = np.repeat(np.arange(len(case)), later)
    return first, first + 1 + np.arange(len(first)) - offsets_from_lengths(later)[:-1][first]


def _cells(pair: IntArray, worth: Matrix, chosen: Matrix) -> tuple[IntArray, tuple[IntArray, IntArray]]:
    """Give numbers to the conditions of each pair of annotators: the cells, and that of each entry of both matrices."""
    keys = [pair[row_of_each(part.indptr.astype(np.int64))] * part.shape[1] + part.indices for part in (worth, chosen)]
    cells, place = np.unique(np.concatenate(keys), return_inverse=True)
    return cells, (place[: len(keys[0])], place[len(keys[0]) :])


def _spread(weights: FloatArray, case: IntArray, part: Matrix, cell: IntArray, shape: tuple[int, int]) -> Matrix:
    """Add the entries of a matrix to the cells of their case, weighted."""
    row = row_of_each(part.indptr.astype(np.int64))
    return _sums(weights[row] * part.data, case[row], cell, shape)


def _sums(values: FloatArray, rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Matrix:
    from scipy.sparse import csr_array

    return csr_array((values, (rows, columns)), shape=shape)
