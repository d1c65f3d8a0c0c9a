"""Walk through draws on the compact support: U + 1 numbers a case, the last one the rest mass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.kernels.compiling import compiled, inner
from dissensus.kernels.randomness import Keys
from dissensus.kernels.rest import largest_unmentioned, split_rest
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


@compiled
def split_every_rest(masses: FloatArray, n: int, shape: float, key: np.uint64) -> FloatArray:
    """Split the rest mass of every draw of a case among its n unmentioned conditions, shape (n_draws, n)."""
    split = np.zeros((len(masses), n))
    for draw in range(len(masses)):
        split_rest(masses[draw], n, shape, key, draw, split[draw])
    return split


@compiled
def mean_draws(layout: Layout, values: FloatArray) -> FloatArray:
    """Average the draws of every case, shape (sum of (U + 1),)."""
    n_cases, n_draws, flat = len(layout.rest_shapes), layout.n_draws, 0
    means = np.zeros(layout.support_offsets[n_cases] + n_cases)
    for case in range(n_cases):
        first, end = layout.support_offsets[case] + case, layout.support_offsets[case + 1] + case + 1
        for _ in range(n_draws):
            for column in range(first, end):
                means[column] += values[flat]
                flat += 1
    for column in range(len(means)):
        means[column] /= n_draws
    return means


@inner
def top_one(layout: Layout, case: int, draw: int, theta: FloatArray, largest: FloatArray) -> tuple[float, int]:
    """Find the greatest plausibility of a draw, and how many mentioned conditions have it (none: another one wins)."""
    size = len(theta) - 1
    best, ties = theta[0], 1
    for k in range(1, size):
        if theta[k] > best:
            best, ties = theta[k], 1
        elif theta[k] == best:
            ties += 1
    rest, shape, key = theta[size], layout.rest_shapes[case], layout.rest_keys[case]
    if rest > best and largest_unmentioned(rest, layout.n_conditions - size, shape, key, draw, best, largest) > 0:
        return largest[0], 0
    return best, ties


@compiled
def top_one_shares(layout: Layout, values: FloatArray) -> FloatArray:
    """Count how often each condition is on top, unmentioned ones together; exact ties share the draw.

    Returns
    -------
    (sum of (U + 1),)
        Shares of draws, case after case.
    """
    n_cases, n_draws = len(layout.rest_shapes), layout.n_draws
    shares = np.zeros(layout.support_offsets[n_cases] + n_cases)
    largest = np.empty(1)
    for case in range(n_cases):
        column = layout.support_offsets[case] + case
        size = layout.support_offsets[case + 1] - layout.support_offsets[case]
        for draw in range(n_draws):
            row = n_draws * column + draw * (size + 1)
            theta = values[row : row + size + 1]
            best, ties = top_one(layout, case, draw, theta, largest)
            if ties == 0:
                shares[column + size] += 1.0
            else:
                for k in range(size):
                    if theta[k] == best:
                        shares[column + k] += 1.0 / ties
    for j in range(len(shares)):
        shares[j] /= n_draws
    return shares


@compiled
def top_one_indicators(layout: Layout, values: FloatArray, winners: IntArray) -> FloatArray:
    """Mark the draws in which the winner of each case is on top, shape (n_cases, n_draws); ties count in part.

    ``winners[i]`` is a position in the support of case ``i``, or U for the unmentioned conditions together.
    """
    n_cases, n_draws = len(layout.rest_shapes), layout.n_draws
    marks = np.zeros((n_cases, n_draws))
    largest = np.empty(1)
    for case in range(n_cases):
        column = layout.support_offsets[case] + case
        size = layout.support_offsets[case + 1] - layout.support_offsets[case]
        for draw in range(n_draws):
            row = n_draws * column + draw * (size + 1)
            theta = values[row : row + size + 1]
            best, ties = top_one(layout, case, draw, theta, largest)
            if ties == 0:
                marks[case, draw] = 1.0 if winners[case] == size else 0.0
            elif winners[case] < size and theta[winners[case]] == best:
                marks[case, draw] = 1.0 / ties
    return marks
