"""What intervals are found from: sums over cases that add up, whatever the order and the parts in which cases come.

Means over cases need sums by draw, see :mod:`dissensus.evaluation.tally`. Intervals need sums over resampled cases, the
least and the greatest mean of a case, and how far cases of a group repeat each other. The last is a ratio of sums of
squares: with mass m and value v of a case and their mean c, ``sum m^2 (v - c)^2`` over cases and ``(sum m (v - c))^2``
summed over groups. Multiplied out, both consist of sums that do not need to know c beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from operator import add
from typing import Any, Protocol, TypeVar

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray, KeyArray
from dissensus.core.exact import AT_ONCE, Exact, carried
from dissensus.core.value import Value
from dissensus.evaluation.intervals import Resampled
from dissensus.evaluation.tally import CaseWeights, ExactResamples, Resamples, Tally

NO_SPREAD = 1e-12
"""Share of the sum of squares below which values count as all equal: what rounding leaves."""

LARGEST_MASS = 4096.0
"""Sums of groups are scaled so that all cases together weigh no more: their squares are summed exactly."""


@dataclass(frozen=True, eq=False)
class Basis(Value):
    """What the intervals of all models and metrics over some cases are found from.

    Attributes
    ----------
    resamples
        Sums over resampled cases.
    designs : (models, metrics)
        How many cases one group is worth as far as its cases repeat each other; 1 where cases stand alone.
    pair_designs : (models, models, metrics)
        The same for differences of models; empty where these are not asked for.
    limits : (2, models, metrics)
        The least and the greatest mean of a case; nan where no case has one.
    n_cases, n_groups
        How many cases there are, and in how many groups; no number of groups where cases stand alone.
    reaches : (models, metrics)
        Of how many cases one is that a metric rests on; by default each case counts.
    """

    resamples: Resamples
    designs: FloatArray
    pair_designs: FloatArray
    limits: FloatArray
    n_cases: int
    n_groups: int | None
    reaches: FloatArray | None = None

    def resampled(self, tally: Tally) -> Resampled:
        """Return means over resampled cases; an added case weighs what the design of the study and the metric ask."""
        return self.resamples.resampled(tally, self.designs if self.reaches is None else self.designs * self.reaches)

    def with_columns(self, own: Basis, places: IntArray) -> Basis:
        """Put what is known of some metrics, those at ``places``, in its place."""
        shape = self.resamples.sums.shape
        weights, squares = (
            np.broadcast_to(part, (*shape[:2], part.shape[-1])).copy()
            for part in (self.resamples.weights, self.resamples.squares)
        )
        sums, designs, limits = self.resamples.sums.copy(), self.designs.copy(), self.limits.copy()
        pairs, reaches = self.pair_designs.copy(), np.ones(shape[:2])
        sums[:, places], weights[:, places] = own.resamples.sums, own.resamples.weights
        squares[:, places], designs[:, places], limits[:, :, places] = own.resamples.squares, own.designs, own.limits
        pairs[..., places] = own.pair_designs
        if own.reaches is not None:
            reaches[:, places] = own.reaches
        return replace(
            self,
            resamples=Resamples(sums, weights, squares),
            designs=designs,
            pair_designs=pairs,
            limits=limits,
            reaches=reaches,
        )


@dataclass(frozen=True, eq=False)
class Measured:
    """The mean of every case by all models and metrics, and how much of it counts.

    Attributes
    ----------
    means : (models, metrics, n_cases)
        Mean of every case.
    shares : (models, metrics, n_cases) or (1, 1, n_cases)
        How much of the case counts.
    """

    means: FloatArray
    shares: FloatArray

    def columns(self, weights: FloatArray, *, pairs: bool) -> tuple[FloatArray, FloatArray]:
        """Return values and masses (columns, n_cases) of all models and metrics, then of all pairs of models.

        The mass of a difference is the smaller one of both models.
        """
        masses = np.broadcast_to(self.shares * weights, self.means.shape)
        values = np.where(masses > 0, self.means, 0.0)
        both = list(combinations(range(len(self.means)), 2)) if pairs else []
        gaps = [values[a] - values[b] for a, b in both]
        least = [np.minimum(masses[a], masses[b]) for a, b in both]
        shape = ((len(values) + len(both)) * values.shape[1], values.shape[2])
        return np.array([*values, *gaps]).reshape(shape), np.array([*masses, *least]).reshape(shape)

    @np.errstate(invalid="ignore")
    def limits(self) -> FloatArray:
        """Return the least and the greatest mean of a case, shape (2, models, metrics)."""
        if not self.means.shape[-1]:
            return np.full((2, *self.means.shape[:2]), np.nan)
        return np.stack([np.fmin.reduce(self.means, axis=-1), np.fmax.reduce(self.means, axis=-1)])


@dataclass(frozen=True, eq=False)
class GroupSums(Value):
    """Sum over the cases of every group.

    Attributes
    ----------
    keys : (n_groups,)
        Hashes of the names of groups, ascending.
    sums : (n_groups, 2, columns)
        Sums of mass times value, and of mass.
    """

    keys: KeyArray
    sums: Exact

    @staticmethod
    def of(values: FloatArray, masses: FloatArray, keys: KeyArray) -> GroupSums:
        """Sum values and masses (columns, n_cases) of the cases whose groups have these hashes (n_cases,)."""
        terms = np.stack([masses * values, masses]).transpose(2, 0, 1)
        return merged(_summed_by_key(keys[some], Exact.of(terms[some])) for some in _chunks(len(keys)))

    def __add__(self, other: GroupSums) -> GroupSums:
        both = zip(*((part.sums.high, part.sums.low, part.sums.beyond) for part in (self, other)), strict=True)
        joined = Exact(*(np.concatenate(pair) for pair in both))
        return _summed_by_key(np.concatenate([self.keys, other.keys]), joined)

    def part(self, number: int, n_parts: int) -> GroupSums:
        """Keep one part of all groups; there are ``n_parts``."""
        own = self.keys % np.uint64(n_parts) == number
        return GroupSums(self.keys[own], self.sums[own])

    def squares(self, largest: FloatArray) -> GroupSquares:
        """Square the sums of all groups; ``largest`` (columns,) is the mass of all cases."""
        scale = np.exp2(-np.maximum(np.ceil(np.log2(np.maximum(largest, 1.0) / LARGEST_MASS)), 0.0))
        products, masses = np.moveaxis(self.sums.rounded() * scale, 1, 0)
        terms = np.stack([products * products, products * masses, masses * masses])
        return GroupSquares(Exact.of(terms).summed(1), len(self.keys))


@dataclass(frozen=True, eq=False)
class GroupSquares(Value):
    """Sum squares over groups, each complete.

    Attributes
    ----------
    sums : (3, columns)
        Of the squares of mass times value, of their products with masses, and of the squares of masses; scaled.
    n_groups
        How many groups there are.
    """

    sums: Exact
    n_groups: int

    def __add__(self, other: GroupSquares) -> GroupSquares:
        return GroupSquares(self.sums + other.sums, self.n_groups + other.n_groups)


@dataclass(frozen=True, eq=False)
class CaseSums(Value):
    """Sum over some cases what a :class:`Basis` is found from.

    Attributes
    ----------
    resamples
        Sums over resampled cases.
    limits : (2, models, metrics)
        The least and the greatest mean of a case.
    moments : (5, columns)
        Sums of m, m v, m^2, m^2 v and m^2 v^2 for mass m and value v of all models and metrics, then of pairs of
        models; empty where cases stand alone.
    n_cases
        How many cases there are.
    """

    resamples: ExactResamples
    limits: FloatArray
    moments: Exact
    n_cases: int

    def __add__(self, other: CaseSums) -> CaseSums:
        return CaseSums(
            self.resamples + other.resamples,
            np.stack([np.fmin(self.limits[0], other.limits[0]), np.fmax(self.limits[1], other.limits[1])]),
            self.moments + other.moments,
            self.n_cases + other.n_cases,
        )

    @cached_property
    def masses(self) -> FloatArray:
        """Mass of all cases, shape (columns,)."""
        return np.asarray(self.moments.rounded()[0])

    def basis(self, squares: GroupSquares | None, unit: float = 1.0) -> Basis:
        """Round; ``squares`` are those of the groups, if cases have groups, and ``unit`` is that of the weights."""
        shape = self.limits.shape[1:]
        pairs = list(combinations(range(shape[0]), 2))
        n_columns = (shape[0] + len(pairs)) * shape[1]
        designs = np.ones(n_columns) if squares is None else self._designs(squares)
        of_pairs = np.ones((shape[0], shape[0], shape[1]))
        if len(designs) == n_columns:
            for place, (a, b) in enumerate(pairs, start=shape[0]):
                of_pairs[a, b] = of_pairs[b, a] = designs[place * shape[1] : (place + 1) * shape[1]]
        return Basis(
            self.resamples.rounded(unit),
            designs[: shape[0] * shape[1]].reshape(shape),
            of_pairs,
            self.limits,
            self.n_cases,
            None if squares is None else squares.n_groups,
        )

    def _designs(self, groups: GroupSquares) -> FloatArray:
        """Return design effects, shape (columns,): the variance of the mean with groups over that without.

        They are between 1 and the mean size of a group; the latter where all values are equal, so that nothing can be
        known.
        """
        if groups.n_groups in (1, self.n_cases):
            return np.ones(self.moments.high.shape[1])
        mass, total, squares, mixed, products = self.moments.rounded()
        scale = np.exp2(2 * np.maximum(np.ceil(np.log2(np.maximum(mass, 1.0) / LARGEST_MASS)), 0.0))
        of_products, of_both, of_masses = groups.sums.rounded() * scale
        centre = total / np.maximum(mass, 1e-300)
        apart = products - 2 * centre * mixed + centre**2 * squares
        together = of_products - 2 * centre * of_both + centre**2 * of_masses
        most = np.maximum(of_masses / np.maximum(squares, 1e-300), 1.0)
        differ = apart > NO_SPREAD * (products + centre**2 * squares)
        ratio = together * groups.n_groups / (groups.n_groups - 1) / np.where(differ, apart, 1.0)
        return np.asarray(np.where(differ, np.clip(ratio, 1.0, most), most))


def case_sums(
    measured: Measured,
    weights: CaseWeights,
    *,
    n_resamples: int,
    labels: IntArray | None = None,
    n_labels: int = 1,
    pairs: bool = False,
) -> tuple[list[CaseSums], list[GroupSums | None]]:
    """Sum over the cases of each label (n_cases,), by default over all; with the sums of groups, if there are any.

    Parameters
    ----------
    measured, weights
        The cases, in the same order.
    n_resamples
        How often cases are resampled.
    labels, n_labels
        The label of each case, from 0.
    pairs
        Whether differences of models are asked for.
    """
    own = np.zeros(len(weights.weights), dtype=np.int64) if labels is None else labels
    resamples = weights.resamples(
        measured.means, measured.shares, n_resamples=n_resamples, groups=own, n_groups=n_labels
    )
    found, groups = [], []
    for label, resampled in enumerate(resamples):
        cases = own == label
        part = measured if cases.all() else Measured(measured.means[..., cases], measured.shares[..., cases])
        moments, of_groups = _moments(part, weights, cases, pairs=pairs)
        found.append(CaseSums(resampled, part.limits(), moments, int(cases.sum())))
        groups.append(of_groups)
    return found, groups


def _moments(
    measured: Measured, weights: CaseWeights, cases: IntArray, *, pairs: bool
) -> tuple[Exact, GroupSums | None]:
    if not weights.is_grouped:
        return Exact.zeros(5, 0), None
    values, masses = measured.columns(weights.weights[cases], pairs=pairs)
    squares = masses * masses
    terms = np.stack([masses, masses * values, squares, squares * values, squares * values * values])
    return Exact.of(terms).summed(-1), GroupSums.of(values, masses, weights.keys[cases])


class Adds(Protocol):
    """What can be added."""

    def __add__(self, other: Any, /) -> Any: ...


Addend = TypeVar("Addend", bound=Adds)


def merged(parts: Iterable[Addend]) -> Addend:
    """Add up many parts in pairs of about equal size, as they come; at least one.

    Examples
    --------
    >>> merged([[1], [2], [3]])
    [1, 2, 3]
    """
    heaps: list[tuple[int, Addend]] = []
    for part in parts:
        heaps.append((1, part))
        while len(heaps) > 1 and heaps[-2][0] <= heaps[-1][0]:
            (size, last), (more, before) = heaps.pop(), heaps.pop()
            heaps.append((size + more, before + last))
    return reduce(add, [part for _, part in heaps])


def _chunks(n_cases: int) -> Iterator[slice]:
    """Cut cases into runs so short that the low parts of their sums do not overflow; at least one."""
    return (slice(start, start + AT_ONCE) for start in range(0, max(n_cases, 1), AT_ONCE))


def _summed_by_key(keys: KeyArray, terms: Exact) -> GroupSums:
    """Sum terms (n_terms, ...) of equal keys."""
    order = np.argsort(keys, kind="stable")
    known, starts = np.unique(keys[order], return_index=True)
    if not len(known):
        return GroupSums(known, terms)
    sums = (np.add.reduceat(part[order], starts, axis=0) for part in (terms.high, terms.low, terms.beyond))
    return GroupSums(known, carried(*sums))


def design_effects(values: FloatArray, masses: FloatArray, groups: IntArray) -> FloatArray:
    """Return how many cases one group is worth as far as its cases repeat each other, shape (models, metrics).

    Parameters
    ----------
    values : (models, metrics, n_cases)
        Means of cases.
    masses : (models, metrics, n_cases) or (1, 1, n_cases)
        Weights of cases.
    groups : (n_cases,)
        The group of each case, from 0.

    Examples
    --------
    >>> cases = np.array([[[1.0, 1.0, 0.0, 0.0]]])
    >>> design_effects(cases, np.ones((1, 1, 4)), np.array([0, 0, 1, 1]))
    array([[2.]])
    >>> design_effects(cases, np.ones((1, 1, 4)), np.array([0, 1, 0, 1]))
    array([[1.]])
    """
    weights = CaseWeights(0, np.ones(len(groups)), tuple(map(str, groups)), is_grouped=True)
    (sums,), (of_groups,) = case_sums(Measured(values, masses), weights, n_resamples=1)
    assert of_groups is not None  # as they are grouped
    return sums.basis(of_groups.squares(sums.masses)).designs
