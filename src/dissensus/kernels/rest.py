"""Split the rest mass of a draw among the unmentioned conditions, lazily.

The n unmentioned conditions are exchangeable: their shares are Dirichlet(shape, ..., shape). The split is a
binary tree. A node with c members gives its halves of c // 2 and c - c // 2 members a Beta distributed share
of its mass, drawn from a stream of its own, keyed by case, draw and node. Whoever asks for a part of the tree
finds the same numbers as the one who writes all of it out, and the cost follows what was asked for, not n.
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
