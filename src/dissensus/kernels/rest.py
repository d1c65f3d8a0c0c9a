"""Split the rest mass of a draw among the unmentioned conditions, lazily.

The n unmentioned conditions are exchangeable, their shares being Dirichlet(shape, ..., shape), or they have weights,
and their shares are Dirichlet(shape * weights). The split is a binary tree. A node with c members gives its halves of
c // 2 and c - c // 2 members a Beta distributed share of its mass, drawn from a stream of its own, keyed by case, draw
and node. Whoever asks for a part of the tree finds the same numbers as the one who writes all of it out, and the cost
follows what was asked for, not n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.jit import inner
from dissensus.kernels.randomness import Keys, Streams, beta_log_odds, new_streams, start, subkey

DEPTH = 64
"""More than the depth of any tree of 2**63 members."""

ROOT, TWO, ODD = np.uint64(1), np.uint64(2), np.uint64(1)


class Branches(NamedTuple):
    """Hold the branches that were not followed yet, their masses and numbers of members, and a stream for all."""

    streams: Streams
    nodes: Keys
    members: IntArray
    masses: FloatArray


def new_branches() -> Branches:
    """Make room for the branches of any tree."""
    numbers = np.empty(2 * DEPTH, dtype=np.uint64), np.empty(2 * DEPTH, dtype=np.int64)
    return Branches(new_streams(), *numbers, np.empty(2 * DEPTH))


@inner
def split_node(
    streams: Streams, key: np.uint64, node: np.uint64, mass: float, n: int, shape: float
) -> tuple[float, float]:
    """Divide the mass of a node with n members between its halves."""
    stream = streams[0]
    start(stream, subkey(key, node))
    log_odds = beta_log_odds(stream, shape * (n // 2), shape * (n - n // 2))
    return mass / (1.0 + math.exp(-log_odds)), mass / (1.0 + math.exp(log_odds))


@inner
def split_rest(
    mass: float, n: int, shape: float, key: np.uint64, draw: int, out: FloatArray, branches: Branches
) -> None:
    """Write out the masses of all unmentioned conditions.

    Parameters
    ----------
    mass
        Mass of the rest in this draw.
    n
        Number of unmentioned conditions.
    shape
        Their common Dirichlet parameter.
    key
        Key of the rest of the case.
    draw
        Number of the draw.
    out : (n,)
        Receives the masses.
    branches
        Room to work in.
    """
    streams, nodes, members, masses = branches
    draw_key = subkey(key, np.uint64(draw))
    nodes[0], members[0], masses[0] = ROOT, n, mass
    waiting, place = (1 if n > 0 else 0), 0
    while waiting > 0:
        waiting -= 1
        node, count, here = nodes[waiting], members[waiting], masses[waiting]
        if count == 1 or here == 0.0:
            for _ in range(count):
                out[place] = here
                place += 1
            continue
        left, right = split_node(streams, draw_key, node, here, count, shape)
        nodes[waiting], members[waiting], masses[waiting] = node * TWO + ODD, count - count // 2, right
        waiting += 1
        nodes[waiting], members[waiting], masses[waiting] = node * TWO, count // 2, left
        waiting += 1


@inner
def largest_unmentioned(
    mass: float,
    n: int,
    shape: float,
    key: np.uint64,
    draw: int,
    threshold: float,
    out: FloatArray,
    branches: Branches,
) -> int:
    """Find the largest masses of unmentioned conditions that exceed a threshold.

    Parameters
    ----------
    mass, n, shape, key, draw, branches
        See :func:`split_rest`.
    threshold
        Smaller masses, and equal ones, do not count.
    out : (most,)
        Receives the largest masses, descending.

    Returns
    -------
    Number of masses found, at most ``most``.

    Notes
    -----
    A branch is followed only while its mass exceeds the threshold and the smallest of the masses that fill
    ``out``; at most mass / threshold branches do so on each level.
    """
    streams, nodes, members, masses = branches
    draw_key = subkey(key, np.uint64(draw))
    nodes[0], members[0], masses[0] = ROOT, n, mass
    waiting, found = (1 if n > 0 and len(out) > 0 else 0), 0
    while waiting > 0:
        waiting -= 1
        node, count, here = nodes[waiting], members[waiting], masses[waiting]
        if here <= threshold or (found == len(out) and here <= out[found - 1]):
            continue
        if count == 1:
            place = found if found < len(out) else found - 1
            found = place + 1
            while place > 0 and out[place - 1] < here:
                out[place] = out[place - 1]
                place -= 1
            out[place] = here
            continue
        left, right = split_node(streams, draw_key, node, here, count, shape)
        left_waits = 1 if right > left else 0  # the heavier half is followed first
        i, j = waiting + 1 - left_waits, waiting + left_waits
        nodes[i], members[i], masses[i] = node * TWO, count // 2, left
        nodes[j], members[j], masses[j] = node * TWO + ODD, count - count // 2, right
        waiting += 2
    return found


# Unequal weights --------------------------------------------------------------------------------------
# The tree of conditions that are not exchangeable: a node is a range of codes, and its halves share its mass by a Beta
# distribution whose parameters are the sums of the shapes of their unmentioned conditions.


class Weights(NamedTuple):
    """Say how likely the unmentioned conditions of a case are.

    Attributes
    ----------
    sums : (K + 1,)
        Sums of the weights of all conditions before each one, mentioned or not; the same for all cases.
    mentioned : (U,)
        Codes of the mentioned conditions of the case, ascending.
    shape
        Dirichlet parameter of an unmentioned condition per unit of weight.
    """

    sums: FloatArray
    mentioned: IntArray
    shape: float


class Ranges(NamedTuple):
    """Hold the ranges that were not followed yet: node, first code and one past the last, and mass; and a stream."""

    streams: Streams
    nodes: Keys
    starts: IntArray
    stops: IntArray
    masses: FloatArray


def new_ranges() -> Ranges:
    """Make room for the ranges of any tree."""
    codes = np.empty(2 * DEPTH, dtype=np.int64), np.empty(2 * DEPTH, dtype=np.int64)
    return Ranges(new_streams(), np.empty(2 * DEPTH, dtype=np.uint64), *codes, np.empty(2 * DEPTH))


@inner
def place_of(code: int, mentioned: IntArray) -> int:
    """Count the mentioned conditions before a code."""
    low, high = 0, len(mentioned)
    while low < high:
        middle = (low + high) // 2
        if mentioned[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def weight_of(low: int, high: int, weights: Weights) -> tuple[int, float]:
    """Count the unmentioned conditions of a range of codes, and add up their weights."""
    sums, mentioned, _ = weights
    first, last = place_of(low, mentioned), place_of(high, mentioned)
    total = sums[high] - sums[low]
    for place in range(first, last):
        total -= sums[mentioned[place] + 1] - sums[mentioned[place]]
    return high - low - (last - first), total


@inner
def split_range(
    streams: Streams, key: np.uint64, node: np.uint64, mass: float, low: int, high: int, weights: Weights
) -> tuple[float, float]:
    """Divide the mass of a range of codes between its halves; a half without unmentioned conditions has none."""
    middle = (low + high) // 2
    n_left, left = weight_of(low, middle, weights)
    n_right, right = weight_of(middle, high, weights)
    if n_left == 0 or n_right == 0:
        return (0.0, mass) if n_left == 0 else (mass, 0.0)
    stream = streams[0]
    start(stream, subkey(key, node))
    log_odds = beta_log_odds(stream, weights.shape * left, weights.shape * right)
    return mass / (1.0 + math.exp(-log_odds)), mass / (1.0 + math.exp(log_odds))


@inner
def split_unequal(mass: float, weights: Weights, key: np.uint64, draw: int, out: FloatArray, ranges: Ranges) -> None:
    """Write out the masses of all unmentioned conditions by code; ``out`` (K,) is zero before.

    See :func:`split_rest` for the other parameters.
    """
    streams, nodes, starts, stops, masses = ranges
    draw_key, n = subkey(key, np.uint64(draw)), len(weights.sums) - 1
    nodes[0], starts[0], stops[0], masses[0] = ROOT, 0, n, mass
    waiting = 1 if n > len(weights.mentioned) else 0
    while waiting > 0:
        waiting -= 1
        node, first, last, here = nodes[waiting], starts[waiting], stops[waiting], masses[waiting]
        if here == 0.0:
            continue
        if last - first == 1:
            out[first] = here
            continue
        left, right = split_range(streams, draw_key, node, here, first, last, weights)
        middle = (first + last) // 2
        nodes[waiting], starts[waiting], stops[waiting], masses[waiting] = node * TWO + ODD, middle, last, right
        waiting += 1
        nodes[waiting], starts[waiting], stops[waiting], masses[waiting] = node * TWO, first, middle, left
        waiting += 1


@inner
def unequal_mass(mass: float, weights: Weights, key: np.uint64, draw: int, code: int, ranges: Ranges) -> float:
    """Return the mass of one unmentioned condition; see :func:`split_unequal`."""
    draw_key, node, first, last = subkey(key, np.uint64(draw)), ROOT, 0, len(weights.sums) - 1
    while last - first > 1 and mass > 0.0:
        left, right = split_range(ranges.streams, draw_key, node, mass, first, last, weights)
        middle = (first + last) // 2
        if code < middle:
            node, last, mass = node * TWO, middle, left
        else:
            node, first, mass = node * TWO + ODD, middle, right
    return mass


@inner
def largest_unequal(
    mass: float,
    weights: Weights,
    key: np.uint64,
    draw: int,
    threshold: float,
    out: FloatArray,
    codes: IntArray,
    ranges: Ranges,
) -> int:
    """Find the largest masses of unmentioned conditions that exceed a threshold, and whose they are.

    ``out`` and ``codes`` (most,) receive them, descending; see :func:`largest_unmentioned` for the rest.
    """
    streams, nodes, starts, stops, masses = ranges
    draw_key, n = subkey(key, np.uint64(draw)), len(weights.sums) - 1
    nodes[0], starts[0], stops[0], masses[0] = ROOT, 0, n, mass
    waiting, found = (1 if n > len(weights.mentioned) and len(out) > 0 else 0), 0
    while waiting > 0:
        waiting -= 1
        node, first, last, here = nodes[waiting], starts[waiting], stops[waiting], masses[waiting]
        if here <= threshold or (found == len(out) and here <= out[found - 1]):
            continue
        if last - first == 1:
            place = found if found < len(out) else found - 1
            found = place + 1
            while place > 0 and out[place - 1] < here:
                out[place], codes[place] = out[place - 1], codes[place - 1]
                place -= 1
            out[place], codes[place] = here, first
            continue
        left, right = split_range(streams, draw_key, node, here, first, last, weights)
        middle = (first + last) // 2
        left_waits = 1 if right > left else 0  # the heavier half is followed first
        i, j = waiting + 1 - left_waits, waiting + left_waits
        nodes[i], starts[i], stops[i], masses[i] = node * TWO, first, middle, left
        nodes[j], starts[j], stops[j], masses[j] = node * TWO + ODD, middle, last, right
        waiting += 2
    return found
