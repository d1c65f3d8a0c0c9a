"""Who said what on which case: the one table behind all coefficients, and the one way to resample its cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import row_of_each, take_rows
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study, require_kind

Matrix: TypeAlias = Any
"""Rows of numbers: a sparse array of SciPy, or a dense one of NumPy."""

NUMBERS_AT_ONCE = 5_000_000
"""How many numbers are held at the same time while cases are resampled (40 MB)."""


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

            numbers, kind = np.unique(require_kind(study, "ratings", "agreement").scores, return_inverse=True)
            return cls(study, kind.astype(np.int64), eye_array(len(numbers), format="csr"), numbers)
        said = require_kind(study, "rankings", "agreement")
        offsets, mentions = take_rows(said.code_offsets, said.block_offsets[:-1])
        return cls.of_sets(said, offsets, said.codes[mentions])

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

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return self.study.n_cases

    @property
    def weights(self) -> FloatArray:
        """Weight of each case, shape (n_cases,)."""
        return self.study.case_weights

    @cached_property
    def sizes(self) -> FloatArray:
        """How many annotators gave an opinion on each case, shape (n_cases,)."""
        return self.study.votes_per_case.astype(np.float64)

    @cached_property
    def is_paired(self) -> FloatArray:
        """One for the cases that have a weight and two opinions or more, zero for the others, shape (n_cases,)."""
        return ((self.sizes > 1) & (self.weights > 0)).astype(np.float64)

    @cached_property
    def counts(self) -> Matrix:
        """How often each kind of opinion was given on each case, shape (n_cases, n_kinds); sparse."""
        return given_on_cases(self.study, self.kind, self.shares.shape[0])

    @cached_property
    def by_value(self) -> Matrix:
        """How often each value was given on each case, shape (n_cases, n_values); sparse."""
        return self.counts @ self.shares


def seats_of(study: Study) -> IntArray:
    """Give whoever gave an opinion on a case a number, by case, shape (n_opinions,); nameless ones stand alone."""
    n_names = len(study.annotator_names)
    own = np.where(study.annotators == ANONYMOUS, n_names + np.arange(study.n_opinions), study.annotators)
    return np.asarray(study.panel.case_of_opinion * (n_names + study.n_opinions) + own, dtype=np.int64)


def given_on_cases(study: Study, kind: IntArray, n_kinds: int) -> Matrix:
    """Count how often each kind of opinion was given on each case, shape (n_cases, n_kinds)."""
    case = study.panel.case_of_opinion
    return sparse(study.votes.astype(np.float64), case, kind, (study.n_cases, n_kinds))


def sparse(values: FloatArray, rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Matrix:
    """Build a sparse matrix; entries at the same place are added up."""
    from scipy.sparse import csr_array

    matrix = csr_array((values, (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def inner(one: Matrix, other: Matrix) -> FloatArray:
    """Return the inner products of the rows of two sparse matrices."""
    return np.asarray(one.multiply(other).sum(axis=1), dtype=np.float64).ravel()


# Resampled cases -----------------------------------------------------------------------------------------


class Measure(Protocol):
    """A statistic of cases that can be resampled."""

    @property
    def width(self) -> int:
        """How many numbers it takes per sample of cases."""

    def values(self, times: FloatArray) -> FloatArray:
        """Return the measure if each case occurs so many ``times`` (n, n_cases), shape (n,)."""


def resampled(
    measures: Sequence[Measure | None], studies: Sequence[Study], *, draws: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Compute measures of studies (n_measures,), and of the same samples of their cases (draws, n_measures).

    Cases of one group are drawn together, with replacement. With fewer than two groups, or cases without them, there is
    nothing to resample, and no sample. A measure that is missing is nan.
    """
    known = {name: number for number, name in enumerate(dict.fromkeys(n for s in studies for n in units(s)))}
    cluster = [np.array([known[name] for name in units(study)], dtype=np.int64) for study in studies]

    def of(times: FloatArray) -> FloatArray:
        rows = (
            np.full(len(times), np.nan) if measure is None else measure.values(times[:, at])
            for measure, at in zip(measures, cluster, strict=True)
        )
        return np.stack(list(rows), axis=1)

    n_units, rng = len(known), np.random.default_rng(seed)
    values = of(np.ones((1, n_units)))[0]
    if n_units < 2:
        return values, np.empty((0, len(measures)))
    at_once = max(1, NUMBERS_AT_ONCE // max([n_units, *(measure.width for measure in measures if measure is not None)]))
    samples = []
    for start in range(0, draws, at_once):
        chosen = [rng.integers(n_units, size=n_units) for _ in range(start, min(start + at_once, draws))]
        samples.append(of(np.stack([np.bincount(one, minlength=n_units) for one in chosen]).astype(np.float64)))
    return values, np.concatenate(samples)


def units(study: Study) -> tuple[str, ...]:
    """Name what is resampled as a whole behind every case."""
    return study.groups or study.case_names


def middle(values: FloatArray, level: float) -> tuple[float, float]:
    """Return the ends of the middle ``level`` of the values that are defined; nan if none is."""
    defined = values[np.isfinite(values)]
    if not len(defined):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def check_level(level: float) -> None:
    """Refuse a coverage that is not between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0 < level < 1:
        raise DissensusError("level must be between 0 and 1", expected="for example 0.9", got=repr(level))
