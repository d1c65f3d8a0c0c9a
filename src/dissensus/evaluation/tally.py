"""Weighted sums over cases, per draw and per resample: all that averages, spreads and intervals need; they add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Self

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray, KeyArray
from dissensus.core.exact import Exact
from dissensus.core.names import case_keys
from dissensus.core.value import Value
from dissensus.evaluation.intervals import Resampled
from dissensus.study.panel import Panel

CASES_AT_ONCE = 1024
"""How many cases are resampled at a time."""

MOST_WEIGHT = 4.0
"""The largest weight of a case that is counted as it is."""

MOST_RESAMPLED = 512.0
"""Larger means of cases are not rounded before they are summed over resamples."""


@dataclass(frozen=True, eq=False)
class Sums(Value):
    """Add field by field; the identity is zero."""

    def __add__(self, other: Self) -> Self:
        pairs = ((getattr(self, part.name), getattr(other, part.name)) for part in fields(self))
        return type(self)(*(one + another for one, another in pairs))


@dataclass(frozen=True, eq=False)
class Tally(Sums):
    """Sum a quantity over cases, separately for every draw. A mean over no weight is undefined: nan.

    Attributes
    ----------
    sums : (..., n_draws)
        Sum over cases of weight times value.
    weights : (..., n_draws) or (1, ..., n_draws)
        Sum over cases of weights; once, if it is the same for all quantities.
    """

    sums: FloatArray
    weights: FloatArray

    @staticmethod
    def zeros(*shape: int) -> Tally:
        """Return the tally of no cases.

        >>> Tally.zeros(2).means
        array([nan, nan])
        """
        return Tally(np.zeros(shape), np.zeros((*(1 for _ in shape[:-1]), shape[-1])))

    @property
    def n_draws(self) -> int:
        """Number of draws that were tallied."""
        return int(self.sums.shape[-1])

    @property
    def means(self) -> FloatArray:
        """Mean over cases of every draw, shape (..., n_draws): its spread is the uncertainty of the annotations."""
        return _ratio(self.sums, self.weights)

    def with_columns(self, values: FloatArray, places: IntArray, mass: float | None = None) -> Tally:
        """Put the values of some metrics (models, metrics, n_draws) in their places; a single draw counts for all.

        ``mass`` is their weight, by default that of the metrics that were there.

        >>> tally = Tally(np.zeros((1, 2, 3)), np.full((1, 1, 3), 2.0))
        >>> tally.with_columns(np.array([[[0.5]]]), np.array([1])).means[0, 1]
        array([0.5, 0.5, 0.5])
        """
        shape = self.sums.shape
        own = np.broadcast_to(values, (*values.shape[:2], shape[-1]))
        weights = np.broadcast_to(self.weights, shape)[:, places] if mass is None else np.full(own.shape, mass)
        sums, is_known = self.sums.copy(), ~np.isnan(own)
        sums[:, places] = np.where(is_known, own, 0.0) * weights
        if is_known.all() and mass is None:
            return Tally(sums, self.weights)
        full = np.broadcast_to(self.weights, shape).copy()
        full[:, places] = np.where(is_known, weights, 0.0)
        return Tally(sums, full)


@dataclass(frozen=True, eq=False)
class ExactTally(Sums):
    """Tally cases so that their order and their batches do not matter: what a :class:`Tally` is rounded from.

    Attributes
    ----------
    sums, weights : (..., n_draws)
        As in a tally.
    """

    sums: Exact
    weights: Exact

    @staticmethod
    def zeros(*shape: int) -> ExactTally:
        """Return the tally of no cases.

        >>> ExactTally.zeros(2).rounded().means
        array([nan, nan])
        """
        return ExactTally(Exact.zeros(*shape), Exact.zeros(*(1 for _ in shape[:-1]), shape[-1]))

    @staticmethod
    def of(values: FloatArray, weights: FloatArray) -> ExactTally:
        """Tally values (..., n_cases, n_draws) with weights (n_cases, n_draws); undefined values do not count."""
        known = ~np.isnan(values)
        weights = np.broadcast_to(weights, values.shape)
        if not known.all():
            weights = np.where(known, weights, 0.0)
            values = np.where(known, values, 0.0)
        return ExactTally(Exact.of(weights * values).summed(-2), Exact.of(weights).summed(-2))

    def rounded(self, unit: float = 1.0) -> Tally:
        """Return the sums as numbers; ``unit`` is that of the weights."""
        return Tally(self.sums.rounded() * unit, self.weights.rounded() * unit)


@dataclass(frozen=True, eq=False)
class Resamples(Sums):
    """Sum the means of cases over resamples of the cases (Bayesian bootstrap).

    Attributes
    ----------
    sums : (models, metrics, n_resamples)
        Sum over cases of bootstrap weight times weight times mean.
    weights : (models, metrics, n_resamples) or (1, 1, n_resamples)
        The same without the mean.
    squares : (models, metrics, 1) or (1, 1, 1)
        Sum over cases of the square of their weight.
    """

    sums: FloatArray
    weights: FloatArray
    squares: FloatArray

    def in_single_precision(self) -> Resamples:
        """Round to single precision: intervals need no more, and files are half as large."""
        return Resamples(
            *(part.astype(np.float32).astype(np.float64) for part in (self.sums, self.weights, self.squares))
        )

    @np.errstate(invalid="ignore")  # the spread around what is infinite is undefined
    def resampled(self, tally: Tally, designs: FloatArray) -> Resampled:
        """Return the means over resampled cases, and what an added case weighs and the draws add.

        What annotators got wrong differs from case to case, so it is in the spread of the cases' means already. Of n
        cases, the spread over draws comes in by 1/sqrt(n) only: it is all there is for one case, and vanishes for many.

        Parameters
        ----------
        tally
            The same cases, by draw.
        designs : (models, metrics)
            Design effects, see :class:`~dissensus.evaluation.basis.Basis`.
        """
        means = tally.means
        is_known = ~np.isnan(means)
        centres = _ratio(np.where(is_known, means, 0.0).sum(axis=-1), is_known.sum(axis=-1).astype(np.float64))
        totals = tally.weights.mean(axis=-1, keepdims=True)
        gaps = np.where(is_known, _ratio(np.sqrt(self.squares), totals) * (means - centres[..., None]), 0.0)
        again = np.arange(self.sums.shape[-1]) % tally.n_draws
        return Resampled(
            _ratio(self.sums, self.weights),
            np.broadcast_to(self.weights, self.sums.shape),
            designs * _ratio(self.squares, totals)[..., 0],
            gaps[..., again],
        )


@dataclass(frozen=True, eq=False)
class ExactResamples(Sums):
    """Sum over resamples so that the order of cases does not matter: what :class:`Resamples` are rounded from."""

    sums: Exact
    weights: Exact
    squares: Exact

    def rounded(self, unit: float = 1.0) -> Resamples:
        """Return the sums as numbers; ``unit`` is that of the weights."""
        return Resamples(self.sums.rounded() * unit, self.weights.rounded() * unit, self.squares.rounded() * unit**2)


def unit_of(weights: FloatArray) -> float:
    """Return the power of two in which weights of cases are counted: 1 unless they are all small, or some are large.

    Exact sums have room for numbers of a certain size. In units, the largest weight is between 1 and 4.

    >>> unit_of(np.array([1.0, 3.0])), unit_of(np.array([1e7])), unit_of(np.array([0.25, 0.1]))
    (1.0, 4194304.0, 0.25)
    """
    largest = float(weights.max(initial=0.0))
    if not 0 < largest < np.inf or 1 <= largest <= MOST_WEIGHT:
        return 1.0
    exponent = np.ceil(np.log2(largest / MOST_WEIGHT)) if largest > MOST_WEIGHT else np.floor(np.log2(largest))
    return float(2.0**exponent)


@dataclass(frozen=True, eq=False)
class CaseWeights:
    """Know how much each case counts, and which cases are resampled together.

    Attributes
    ----------
    seed
        Of the resampling.
    weights : (n_cases,)
        Weight of each case, in units.
    names
        What is resampled: groups such as patients, or the cases themselves.
    is_grouped
        Whether these are groups.
    unit
        What a weight of one stands for, see :func:`unit_of`.
    """

    seed: int
    weights: FloatArray
    names: tuple[str, ...]
    is_grouped: bool = False
    unit: float = 1.0

    @staticmethod
    def of(panel: Panel, seed: int, unit: float | None = None) -> CaseWeights:
        """Take weights and groups of cases from the panel of a study; the unit is by default that of its own cases."""
        names = tuple(f"group {name}" for name in panel.groups) if panel.groups else panel.case_names
        unit = unit_of(panel.case_weights) if unit is None else unit
        return CaseWeights(seed, panel.case_weights / unit, names, bool(panel.groups), unit)

    @cached_property
    def keys(self) -> KeyArray:
        """Hash of what is resampled, shape (n_cases,)."""
        return case_keys(self.names)

    def resamples(
        self,
        means: FloatArray,
        shares: FloatArray,
        *,
        n_resamples: int,
        cases: IntArray | None = None,
        groups: IntArray | None = None,
        n_groups: int = 1,
    ) -> list[ExactResamples]:
        """Sum the means of cases over resamples of the cases, separately for groups of cases.

        Parameters
        ----------
        means : (models, metrics, n_cases)
            Mean of every case over the draws in which it counts.
        shares : (models, metrics, n_cases) or (1, 1, n_cases)
            Share of the draws in which it counts.
        n_resamples
            How often the cases are resampled.
        cases : (n_cases,)
            Positions of the cases, by default all; these must be in the order of ``means``.
        groups : (n_cases,)
            Group of each case, from 0 to ``n_groups - 1``.
        """
        everyone = np.arange(len(self.weights), dtype=np.int64) if cases is None else cases
        own = np.zeros(len(everyone), dtype=np.int64) if groups is None else groups
        masses = shares * self.weights[everyone]
        products = np.multiply(masses, means, out=np.zeros_like(means), where=np.broadcast_to(masses > 0, means.shape))
        parts = _columns(products), _columns(masses)
        totals = [Exact.zeros(n_groups, n_resamples, part.shape[1]) for part in parts]
        for chunk in _chunks(len(everyone)):
            bootstrap = self.bootstrap(everyone[chunk], n_resamples)
            for place, part in enumerate(parts):
                totals[place] = totals[place] + resampled_sums(part[chunk], bootstrap, own[chunk], n_groups)
        squares = Exact.of(np.square(masses))
        shaped = [_shaped(total, part) for total, part in zip(totals, (products, masses), strict=True)]
        return [
            ExactResamples(
                shaped[0][group],
                shaped[1][group],
                squares[..., own == group].summed(-1)[..., None],
            )
            for group in range(n_groups)
        ]

    def bootstrap(self, cases: IntArray, n_resamples: int) -> FloatArray:
        """Weigh some cases in the first resamples, shape (n_cases, n_resamples)."""
        from dissensus.kernels.resamples import case_weights

        return case_weights(np.uint64(self.seed), self.keys[cases], n_resamples)


def _columns(values: FloatArray) -> FloatArray:
    """Lay (models, metrics, n_cases) out as (n_cases, models * metrics)."""
    return np.ascontiguousarray(values.reshape(-1, values.shape[-1]).T)


def _shaped(total: Exact, like: FloatArray) -> Exact:
    """Lay (n_groups, n_resamples, models * metrics) out as (n_groups, models, metrics, n_resamples)."""
    return total.arranged(lambda part: part.transpose(0, 2, 1).reshape(len(part), *like.shape[:-1], part.shape[1]))


def resampled_sums(values: FloatArray, bootstrap: FloatArray, groups: IntArray, n_groups: int) -> Exact:
    """Sum values (n_cases, n_columns) of at most a thousand cases times their bootstrap weights (n_cases, n_resamples).

    The result has the shape (n_groups, n_resamples, n_columns). Products are rounded to multiples of 2^-34, whose sums
    are exact; values too large for that are added as they are.
    """
    from dissensus.kernels.jit import plain
    from dissensus.kernels.tallies import add_resampled

    fits = np.abs(values) < MOST_RESAMPLED
    sums = np.zeros((n_groups, bootstrap.shape[1], values.shape[1]))
    add_resampled(np.where(fits, values, 0.0), plain(bootstrap), plain(groups), sums)
    found = Exact.of(sums)
    if fits.all():
        return found
    large = np.where(fits, 0.0, values)
    beyond = np.stack([bootstrap[groups == group].T @ large[groups == group] for group in range(n_groups)])
    return replace(found, beyond=found.beyond + beyond)


def _chunks(n_cases: int) -> Iterator[slice]:
    return (slice(start, start + CASES_AT_ONCE) for start in range(0, n_cases, CASES_AT_ONCE))


def _ratio(sums: FloatArray, weights: FloatArray) -> FloatArray:
    undefined = np.full(np.broadcast_shapes(sums.shape, weights.shape), np.nan)
    return np.asarray(np.divide(sums, weights, out=undefined, where=weights > 0))
