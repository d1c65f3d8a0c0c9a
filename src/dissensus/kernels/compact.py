"""Walk through draws on the compact support: U + 1 numbers a case, the last one the rest mass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.jit import compiled, plain
from dissensus.kernels.randomness import Keys
from dissensus.kernels.rest import Branches, new_branches, split_rest


class Layout(NamedTuple):
    """Say where the draws of each case stand, and how its rest mass splits.

    Attributes
    ----------
    n_draws, n_conditions
        Draws per case, and K.
    support_offsets : (n_cases + 1,)
        Case ``i`` has ``U = support_offsets[i + 1] - support_offsets[i]`` mentioned conditions; its draws are a
        C-ordered (n_draws, U + 1) matrix that begins at ``n_draws * (support_offsets[i] + i)``.
    rest_shapes : (n_cases,)
        Shape of the symmetric Dirichlet distribution that splits the rest mass.
    rest_keys : (n_cases,)
        Key of the random stream of that split.
    """

    n_draws: int
    n_conditions: int
    support_offsets: IntArray
    rest_shapes: FloatArray
    rest_keys: Keys


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
