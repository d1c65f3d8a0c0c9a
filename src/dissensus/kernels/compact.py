"""Walk through draws on the compact support: U + 1 numbers a case, the last one the rest mass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.kernels.compiling import compiled, plain
from dissensus.kernels.randomness import Keys
from dissensus.kernels.rest import Branches, largest_unmentioned, new_branches, split_rest
from dissensus.typing import FloatArray, IntArray


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


@compiled
def find_best(
    layout: Layout, values: FloatArray, best: FloatArray, ties: IntArray, largest: FloatArray, branches: Branches
) -> None:
    """Do what :func:`best_of_draws` says; ``largest`` (1,) and ``branches`` are worked in."""
    n_draws, row = layout.n_draws, 0
    for case in range(len(layout.rest_shapes)):
        size = layout.support_offsets[case + 1] - layout.support_offsets[case]
        n_rest, shape, key = layout.n_conditions - size, layout.rest_shapes[case], layout.rest_keys[case]
        for draw in range(n_draws):
            top, n_top, rest = values[row], 1, values[row + size]
            for k in range(row + 1, row + size):
                if values[k] > top:
                    top, n_top = values[k], 1
                elif values[k] == top:
                    n_top += 1
            if rest > top and largest_unmentioned(rest, n_rest, shape, key, draw, top, largest, branches) > 0:
                top, n_top = largest[0], 0
            best[case, draw], ties[case, draw] = top, n_top
            row += size + 1


def best_of_draws(layout: Layout, values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Find the greatest plausibility of each draw, and how many mentioned conditions have it (none: another one wins).

    Returns
    -------
    (n_cases, n_draws), (n_cases, n_draws)
    """
    shape = len(layout.rest_shapes), layout.n_draws
    best, ties = np.empty(shape), np.empty(shape, dtype=np.int64)
    find_best(layout, plain(values), best, ties, np.empty(1), new_branches())
    return best, ties


def matrix_of(layout: Layout, values: FloatArray, case: int) -> FloatArray:
    """Return the draws of one case, a view of shape (n_draws, U + 1)."""
    first, last = layout.n_draws * (layout.support_offsets[case : case + 2] + np.arange(case, case + 2))
    return values[first:last].reshape(layout.n_draws, -1)


def top_one_shares(layout: Layout, values: FloatArray) -> FloatArray:
    """Count how often each condition is on top, unmentioned ones together; exact ties share the draw.

    Returns
    -------
    (sum of (U + 1),)
        Shares of draws, case after case.
    """
    best, ties = best_of_draws(layout, values)
    parts = (ties > 0) / np.maximum(ties, 1)
    shares = []
    for case in range(len(best)):
        is_best = matrix_of(layout, values, case) == best[case][:, None]
        shared = is_best * parts[case][:, None]
        shared[:, -1] = ties[case] == 0
        shares.append(np.cumsum(shared, axis=0)[-1])  # in order, so that sums have the same bits on every machine
    return np.concatenate([np.empty(0), *shares]) / layout.n_draws


def top_one_indicators(layout: Layout, values: FloatArray, winners: IntArray) -> FloatArray:
    """Mark the draws in which the winner of each case is on top, shape (n_cases, n_draws); ties count in part.

    ``winners[i]`` is a position in the support of case ``i``, or U for the unmentioned conditions together.
    """
    best, ties = best_of_draws(layout, values)
    marks = np.zeros(best.shape)
    for case, winner in enumerate(winners):
        draws = matrix_of(layout, values, case)
        if winner == draws.shape[1] - 1:
            marks[case] = ties[case] == 0
        else:
            marks[case] = ((draws[:, winner] == best[case]) & (ties[case] > 0)) / np.maximum(ties[case], 1)
    return marks
