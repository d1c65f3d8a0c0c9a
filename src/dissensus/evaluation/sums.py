"""Sums over cases: a flat mapping of named arrays with one addition; all that tables and intervals are found from.

A name is a tuple of words and numbers. Its first word says how arrays of different cases are put together: most add,
limits take the least or the greatest, and what is known of single cases is put side by side. Cases are summed in the
order of their keys and in runs of fixed length, so that threads, workers and the order of rows change no bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dissensus.core.arrays import FloatArray, IntArray, KeyArray, Value
from dissensus.core.names import case_keys
from dissensus.core.ragged import product
from dissensus.evaluation.intervals import Resampled, ratio
from dissensus.metrics.base import Metric
from dissensus.study.panel import Panel

Array: TypeAlias = npt.NDArray[Any]
Name: TypeAlias = tuple[str | int, ...]
# Which cases: ``("all",)``, ``("stratum", column, label)``, ``("bin", number)`` or ``("category", name)``.
Place: TypeAlias = tuple[str | int, ...]

ALL: Place = ("all",)

# The last word of a name: whether it is about metrics of single cases, or about those that see all cases.
EACH, DATA_SET = "each case", "data set"

# Name of the column that says which finding a row is about, where every finding of a case is a row.
FINDING = "finding"

# First words of what is put side by side, and along which axis.
JOINED = {"cases": -1, "profile": -1, "rows": 0}

# First words of what is put side by side and is not about cases.
GROUPS = (("rows", "group keys"), ("rows", "group sums"))

LIMITS: Mapping[str, Callable[[Array, Array], Array]] = {"least": np.fmin, "greatest": np.fmax}

# Share of the sum of squares below which values count as all equal: what rounding leaves.
NO_SPREAD = 1e-12


@dataclass(frozen=True, eq=False)
class Sums(Value):
    """Hold sums over some cases; those of other cases are added by ``+``.

    Examples
    --------
    >>> one = Sums({("n",): np.array(2.0), ("cases", "x"): np.array([1, 2])})
    >>> both = one + Sums({("n",): np.array(1.0), ("cases", "x"): np.array([3])})
    >>> float(both["n",]), both["cases", "x"]
    (3.0, array([1, 2, 3]))
    """

    arrays: Mapping[Name, Array] = field(default_factory=dict)

    def __getitem__(self, name: Name) -> Array:
        return self.arrays[name]

    def __contains__(self, name: Name) -> bool:
        return name in self.arrays

    def __add__(self, other: Sums) -> Sums:
        return Sums.joined([self, other])

    @staticmethod
    def joined(parts: Iterable[Sums]) -> Sums:
        """Add up many sums, one after the other."""
        found: dict[Name, Array] = {}
        beside: dict[Name, list[Array]] = {}
        for part in parts:
            for name, array in part.arrays.items():
                if name[0] in JOINED:
                    beside.setdefault(name, []).append(array)
                elif name in found:
                    found[name] = np.asarray(LIMITS.get(str(name[0]), np.add)(found[name], array))
                else:
                    found[name] = array
        return Sums({**found, **{name: side_by_side(some, JOINED[str(name[0])]) for name, some in beside.items()}})

    def names(self, *first: str | int) -> list[Name]:
        """Return the names that begin with some words."""
        return [name for name in self.arrays if name[: len(first)] == first]

    def only(self, wanted: Callable[[Name], bool]) -> Sums:
        """Keep the arrays with some names."""
        return Sums({name: self.arrays[name] for name in self.arrays if wanted(name)})  # what is not wanted is not read


def is_of_cases(name: Name) -> bool:
    """Tell whether an array says something of every single case.

    >>> is_of_cases(("cases", "means")), is_of_cases(("rows", "group sums")), is_of_cases(("n",))
    (True, False, False)
    """
    return name[0] in JOINED and name[:2] not in GROUPS


def side_by_side(parts: list[Array], axis: int) -> Array:
    """Put arrays of different cases side by side; what is said once for all models and metrics is repeated if needed.

    >>> side_by_side([np.ones((1, 1, 2)), np.zeros((1, 2, 1))], -1).shape
    (1, 2, 3)
    """
    if len(parts) == 1:
        return parts[0]
    whole = [np.moveaxis(part, axis, 0) for part in parts]
    shape = np.broadcast_shapes(*(part.shape[1:] for part in whole))
    full = [part if part.shape[1:] == shape else np.broadcast_to(part, (len(part), *shape)) for part in whole]
    return np.ascontiguousarray(np.moveaxis(np.concatenate(full), 0, axis))


def known_means(values: FloatArray) -> FloatArray:
    """Average the draws that have a value, along the last axis; nan where none has."""
    is_known = ~np.isnan(values)
    return ratio(np.where(is_known, values, 0.0).sum(axis=-1), is_known.sum(axis=-1).astype(np.float64))


@dataclass(frozen=True, eq=False)
class Tally(Value):
    """Sums over cases of every draw.

    Attributes
    ----------
    sums, weights : (models, metrics, n_draws)
        Sum over cases of weight times value, and of weight.

    Examples
    --------
    >>> Tally(np.zeros((1, 1, 2)), np.zeros((1, 1, 2))).means
    array([[[nan, nan]]])
    """

    sums: FloatArray
    weights: FloatArray

    @property
    def n_draws(self) -> int:
        """Number of draws that were tallied."""
        return int(self.sums.shape[-1])

    @property
    def means(self) -> FloatArray:
        """Mean over cases of every draw: its spread is the uncertainty of the annotations."""
        return ratio(self.sums, self.weights)


@dataclass(frozen=True, eq=False)
class CaseWeights:
    """Know how much each case counts, and which cases are resampled together.

    Attributes
    ----------
    seed
        Of the resampling.
    weights : (n_cases,)
        Weight of each case.
    keys : (n_cases,)
        Hash of what is resampled: groups such as patients, or the cases themselves.
    is_grouped
        Whether these are groups.
    """

    seed: int
    weights: FloatArray
    keys: KeyArray
    is_grouped: bool = False

    @staticmethod
    def of(panel: Panel, seed: int) -> CaseWeights:
        """Take weights and groups of cases from the panel of a study."""
        return CaseWeights.named(seed, panel.case_weights, panel.case_names, panel.groups)

    @staticmethod
    def named(seed: int, weights: FloatArray, cases: tuple[str, ...], groups: tuple[str, ...]) -> CaseWeights:
        """Take weights, names and groups of cases; no groups where they stand alone."""
        names = tuple(f"group {name}" for name in groups) if groups else cases
        return CaseWeights(seed, weights, case_keys(names), bool(groups))

    def bootstrap(self, cases: IntArray | slice, n_resamples: int) -> FloatArray:
        """Weigh some cases in the first resamples, shape (n_cases, n_resamples)."""
        from dissensus.kernels.resamples import case_weights

        return case_weights(np.uint64(self.seed), self.keys[cases], n_resamples)

    def take(self, cases: IntArray) -> CaseWeights:
        """Keep the cases at these positions."""
        return CaseWeights(self.seed, self.weights[cases], self.keys[cases], self.is_grouped)


def place_sums(
    means: FloatArray,
    shares: FloatArray,
    weights: CaseWeights,
    bootstrap: FloatArray,
    name: Name,
    *,
    pairs: bool = False,
) -> dict[Name, Array]:
    """Sum over cases what intervals are found from.

    Parameters
    ----------
    means : (models, metrics, n_cases)
        What every case adds: its mean over draws, or its pseudo-value.
    shares : (models, metrics, n_cases) or (1, 1, n_cases)
        How much of the case counts.
    weights
        Of these cases.
    bootstrap : (n_cases, n_resamples)
        Their weights in resamples.
    name
        The reference and the place of the cases, and which metrics these are.
    pairs
        Whether differences of models are asked for.
    """
    masses = np.broadcast_to(shares * weights.weights, means.shape)
    products = np.multiply(masses, means, out=np.zeros_like(means), where=masses > 0)
    alike = masses[:1, :1] if (masses == masses[:1, :1]).all() else masses  # what is said once is resampled once
    with np.errstate(invalid="ignore"):
        resampled = [product(one, bootstrap) for one in (products, alike)]
    found: dict[Name, Array] = {
        ("resampled", *name): np.stack(np.broadcast_arrays(*resampled)),
        ("squares", *name): np.square(masses).sum(axis=-1),
    }
    if pairs:
        found |= {
            ("least", *name): np.fmin.reduce(means, axis=-1, initial=np.nan),
            ("greatest", *name): np.fmax.reduce(means, axis=-1, initial=np.nan),
        }
    if weights.is_grouped:
        found |= _group_sums(np.where(masses > 0, means, 0.0), masses, weights.keys, name, pairs=pairs)
    return found


def _group_sums(
    values: FloatArray, masses: FloatArray, keys: KeyArray, name: Name, *, pairs: bool
) -> dict[Name, Array]:
    """Sum what tells how far cases of a group repeat each other, by model and then by pair of models.

    That is a ratio of sums of squares. With mass m and value v of a case and their mean c, they are ``m^2 (v - c)^2``
    over cases and ``(sum m (v - c))^2`` over groups. Multiplied out, neither needs to know c beforehand. The mass of a
    difference is the smaller one of both models.
    """
    both = list(combinations(range(len(values)), 2)) if pairs else []
    gaps = [np.where(np.isclose(values[a], values[b], NO_SPREAD, 0.0), 0.0, values[a] - values[b]) for a, b in both]
    v = np.stack([*values, *gaps])  # what only rounding leaves of a difference is nothing
    m = np.stack([*masses, *(np.minimum(masses[a], masses[b]) for a, b in both)])
    known, group = np.unique(keys, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    terms = np.moveaxis(np.stack([m * v, m]), -1, 0)[order]
    return {
        ("moments", *name): np.stack([part.sum(axis=-1) for part in (m, m * v, m * m, m * m * v, m * m * v * v)]),
        ("rows", "group keys", *name): known,
        ("rows", "group sums", *name): np.add.reduceat(terms, starts, axis=0) if len(starts) else terms,
    }


def design_effects(sums: Sums, name: tuple[str | int, ...], n_cases: int) -> tuple[FloatArray, int]:
    """Return how many cases a group is worth (models, then pairs of models; metrics), and how many groups there are.

    It is the variance of the mean with groups over that without, between 1 and the mean size of a group; the latter
    where all values are equal, so that nothing can be known.
    """
    keys, group = np.unique(sums["rows", "group keys", *name], return_inverse=True)
    mass, total, squares, mixed, products = sums["moments", *name]
    if len(keys) in (1, n_cases):
        return np.ones(mass.shape), len(keys)
    of_groups = np.zeros((len(keys), 2, *mass.shape))
    np.add.at(of_groups, group, sums["rows", "group sums", *name])
    v, m = np.moveaxis(of_groups, 1, 0)
    centre = total / np.maximum(mass, 1e-300)
    apart = products - 2 * centre * mixed + centre**2 * squares
    together = (v * v).sum(axis=0) - 2 * centre * (v * m).sum(axis=0) + centre**2 * (m * m).sum(axis=0)
    most = np.maximum((m * m).sum(axis=0) / np.maximum(squares, 1e-300), 1.0)
    differ = apart > NO_SPREAD * (products + centre**2 * squares)
    found = together * len(keys) / (len(keys) - 1) / np.where(differ, apart, 1.0)
    return np.where(differ, np.clip(found, 1.0, most), most), len(keys)


@np.errstate(invalid="ignore")  # the spread around what is infinite is undefined
def resampled_means(both: FloatArray, squares: FloatArray, tally: Tally, designs: FloatArray) -> Resampled:
    """Return the means over resampled cases, and what an added case weighs and the draws add.

    What annotators got wrong differs from case to case, so it is in the spread of the cases' means already. Of n
    cases, the spread over draws comes in by 1/sqrt(n) only: it is all there is for one case, and vanishes for many.

    Parameters
    ----------
    both : (2, models, metrics, n_resamples)
        Sums over resampled cases of weight times mean, and of weight.
    squares : (models, metrics)
        Sum over cases of the square of their weight.
    tally
        The same cases, by draw.
    designs : (models, metrics)
        How many cases an added case stands for.
    """
    means, totals = tally.means, tally.weights.mean(axis=-1)
    apart = means - known_means(means)[..., None]
    gaps = np.where(np.isnan(means), 0.0, ratio(np.sqrt(squares), totals)[..., None] * apart)
    again = np.arange(both.shape[-1]) % tally.n_draws
    return Resampled(ratio(*both), both[1], designs * ratio(squares, totals), gaps[..., again])


def block_places(metrics: Sequence[Metric], block: str) -> list[int]:
    """Say where metrics of single cases, or those of a whole data set, stand among all metrics."""
    return [k for k, one in enumerate(metrics) if (one.sees == "data set") == (block == DATA_SET)]
