"""Intraclass correlation of ratings: how much of their variance lies between cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.agreement.table import Matrix, sparse
from dissensus.core.aliases import FloatArray
from dissensus.core.ragged import weighted_counts
from dissensus.study.panel import ANONYMOUS
from dissensus.study.ratings import Ratings

SINGULAR = 1e-9
"""Determinant, relative to the sizes of its rows, below which components of variance cannot be told apart."""


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
    def of(cls, said: Ratings, *, averaged: bool) -> Intraclass:
        """Find what the components need to know of each case, of ratings by named annotators."""
        named = said.annotators != ANONYMOUS
        case, who, scores = said.panel.case_of_opinion[named], said.annotators[named], said.scores[named]
        centred = scores - scores.mean() if len(scores) else scores
        shape = (said.n_cases, len(said.annotator_names))
        counts, sums = (sparse(part, case, who, shape) for part in (np.ones(len(case)), centred))
        repeats = counts.multiply(counts).tocsr()
        n, total, again = (np.asarray(part.sum(axis=1), dtype=np.float64).ravel() for part in (counts, sums, repeats))
        squares = weighted_counts(case, centred**2, said.n_cases)
        each = np.divide(1.0, n, out=np.zeros(len(n)), where=n > 0)
        columns = [n, total, squares, total**2 * each, (n > 0).astype(float), again * each, n**2, each]
        weights = (said.case_weights / max(said.case_weights.mean(), np.finfo(float).tiny))[:, None]
        by_person = (part.multiply(weights).tocsr() for part in (counts, sums, repeats))
        return cls(np.stack(columns, axis=1) * weights, *by_person, averaged)

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
