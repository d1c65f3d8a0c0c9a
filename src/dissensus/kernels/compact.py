"""Walk through draws on the compact support: U + 1 numbers a case, the last one the rest mass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.jit import compiled, plain
from dissensus.kernels.randomness import Keys
from dissensus.kernels.rest import Atoms, Branches, Weights, draw_atoms, new_atoms, new_branches, split_rest


class Layout(NamedTuple):
    """Say where the draws of each case stand, and how its rest mass splits.

    Attributes
    ----------
    n_draws, n_conditions
        Draws per case, and K.
    support_offsets : (n_cases + 1,)
        Case ``i`` has ``U = support_offsets[i + 1] - support_offsets[i]`` mentioned conditions; its draws are a
        C-ordered (n_draws, U + 1) matrix that begins at ``n_draws * (support_offsets[i] + i)``.
    support : (sum of U,)
        Codes of the mentioned conditions, ascending within a case.
    rest_shapes : (n_cases,)
        Shape of an unmentioned condition in the Dirichlet distribution that splits the rest mass; where conditions have
        weights, per unit of weight.
    rest_keys : (n_cases,)
        Key of the random stream of that split.
    rest_sums : (K + 1,) or (0,)
        Sums of the weights of all conditions before each one; empty if all weigh the same.
    other_offsets, other_masses : (n_cases * n_draws + 1,) or (0,), (n_others,)
        The largest masses of conditions outside the support in every draw, descending; empty if they are to be found.
    """

    n_draws: int
    n_conditions: int
    support_offsets: IntArray
    support: IntArray
    rest_shapes: FloatArray
    rest_keys: Keys
    rest_sums: FloatArray
    other_offsets: IntArray
    other_masses: FloatArray


def split_every_rest(masses: FloatArray, n: int, shape: float, key: np.uint64) -> FloatArray:
    """Split the rest mass of every draw of a case among its n unmentioned conditions, shape (n_draws, n)."""
    split = np.zeros((len(masses), n))
    split_masses(plain(masses), float(shape), key, split, new_branches())
    return split


@compiled
def split_masses(masses: FloatArray, shape: float, key: np.uint64, split: FloatArray, branches: Branches) -> None:
    """Do what :func:`split_every_rest` says, for plain arrays."""
    n_draws, n = split.shape
    for draw in range(n_draws):
        split_rest(masses[draw], n, shape, key, draw, split[draw], branches)


def split_every_unequal_rest(
    masses: FloatArray, weights: Weights, key: np.uint64, draws: IntArray, wanted: int = -1
) -> FloatArray:
    """Split the rest masses of some draws of a case among its unmentioned conditions, shape (len(draws), K).

    Where a single condition is wanted, the others are not all written out.
    """
    split, (sums, mentioned, shape) = np.zeros((len(masses), len(weights.sums) - 1)), weights
    own, best = Weights(plain(sums), plain(mentioned), float(shape)), (np.empty(0), np.empty(0, dtype=np.int64))
    split_unequal_masses(plain(masses), own, key, plain(draws), split, best, new_atoms(split.shape[1]), wanted)
    return split


@compiled
def split_unequal_masses(
    masses: FloatArray,
    weights: Weights,
    key: np.uint64,
    draws: IntArray,
    split: FloatArray,
    best: tuple[FloatArray, IntArray],
    atoms: Atoms,
    wanted: int,
) -> None:
    """Do what :func:`split_every_unequal_rest` says, for plain arrays; ``best`` is empty."""
    for row in range(len(draws)):
        n, _ = draw_atoms(masses[row], weights, key, draws[row], 0.0, best[0], best[1], atoms, wanted)
        for i in range(n):
            split[row, atoms.codes[i]] = atoms.masses[i]


def mean_draws(layout: Layout, values: FloatArray) -> FloatArray:
    """Average the draws of every case, shape (sum of (U + 1),)."""
    sums = np.zeros(layout.support_offsets[-1] + len(layout.rest_shapes))
    add_draws(layout, plain(values), sums)
    return sums / layout.n_draws


@compiled
def add_draws(layout: Layout, values: FloatArray, sums: FloatArray) -> None:
    """Add the draws of every case up."""
    flat = 0
    for case in range(len(layout.rest_shapes)):
        first, end = layout.support_offsets[case] + case, layout.support_offsets[case + 1] + case + 1
        for _ in range(layout.n_draws):
            for column in range(first, end):
                sums[column] += values[flat]
                flat += 1
