"""Split the rest mass of a draw among the unmentioned conditions, lazily.

The n unmentioned conditions are exchangeable, their shares being Dirichlet(shape, ..., shape), or they have weights
(see below). The split is a binary tree. A node with c members gives its halves of
c // 2 and c - c // 2 members a Beta distributed share of its mass, drawn from a stream of its own, keyed by case, draw
and node. Whoever asks for a part of the tree finds the same numbers as the one who writes all of it out, and the cost
follows what was asked for, not n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.jit import copied, inner
from dissensus.kernels.randomness import (
    Keys,
    Stream,
    Streams,
    beta_log_odds,
    log_gamma,
    new_streams,
    start,
    subkey,
    uniform,
)

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


@copied
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


@copied
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
# Shares that are Dirichlet(shape * weights) are drawn in size-biased order: a condition comes next with a probability
# in proportion to its weight, and takes a Beta(a + 1, A - a) share of what is left, a being its parameter and A the sum
# of those that are left. Large shares come early, so that whoever looks for the largest is soon done: no condition that
# is still to come can have more than all that is left. After a number of steps the others are written out at once.

STEPS = 32
"""How many conditions come one by one."""


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


class Atoms(NamedTuple):
    """Hold room for the conditions of the rest of a draw as they come, each array of length K.

    Attributes
    ----------
    streams
        A stream for all.
    excluded
        Codes of what is mentioned or has come already, ascending.
    codes, masses
        What has come, in order.
    """

    streams: Streams
    excluded: IntArray
    codes: IntArray
    masses: FloatArray


def new_atoms(n_conditions: int) -> Atoms:
    """Make room for the rest of any case."""
    codes = np.empty(n_conditions, dtype=np.int64), np.empty(n_conditions, dtype=np.int64)
    return Atoms(new_streams(), *codes, np.empty(n_conditions))


@inner
def next_condition(weight: float, sums: FloatArray, excluded: IntArray, n_excluded: int) -> tuple[int, int]:
    """Find the condition at a cumulated weight of those that are not excluded, and its place among the excluded."""
    low, first, last, place, target = 0, 0, 0, 0, 0.0
    for i in range(n_excluded + 1):
        end = excluded[i] if i < n_excluded else len(sums) - 1
        if end > low:
            first, last, place, target = low, end, i, sums[low] + weight
            weight -= sums[end] - sums[low]
            if weight < 0.0:
                break
        low = end + 1
    while last - first > 1:
        middle = (first + last) // 2
        if sums[middle] <= target:
            first = middle
        else:
            last = middle
    return first, place


@copied
def write_others(left: float, weights: Weights, n_excluded: int, n: int, stream: Stream, atoms: Atoms) -> int:
    """Write out all conditions that have not come yet, by code; return how many there are then."""
    sums, shape = weights.sums, weights.shape
    place, first, highest, total = 0, n, -np.inf, 0.0
    for code in range(len(sums) - 1):
        if place < n_excluded and atoms.excluded[place] == code:
            place += 1
            continue
        atoms.codes[n], atoms.masses[n] = code, log_gamma(stream, shape * (sums[code + 1] - sums[code]))
        highest = max(highest, atoms.masses[n])
        n += 1
    for i in range(first, n):
        atoms.masses[i] = math.exp(atoms.masses[i] - highest)
        total += atoms.masses[i]
    for i in range(first, n):
        atoms.masses[i] *= left / total
    return n


@inner
def insert_atom(mass: float, code: int, best: FloatArray, codes: IntArray, found: int) -> int:
    """Put a condition among those of the largest masses, descending; return how many these are."""
    if found == len(best) and (found == 0 or mass <= best[found - 1]):
        return found
    place = found if found < len(best) else found - 1
    found = place + 1
    while place > 0 and best[place - 1] < mass:
        best[place], codes[place] = best[place - 1], codes[place - 1]
        place -= 1
    best[place], codes[place] = mass, code
    return found


@inner
def draw_atoms(
    mass: float,
    weights: Weights,
    key: np.uint64,
    draw: int,
    threshold: float,
    best: FloatArray,
    codes: IntArray,
    atoms: Atoms,
    wanted: int,
) -> tuple[int, int]:
    """Draw conditions of the rest until no other can matter.

    Parameters
    ----------
    mass, weights, key, draw
        Mass of the rest in this draw, who shares it, key of the rest of the case, and number of the draw.
    threshold
        Masses up to this do not matter.
    best, codes : (most,)
        Receive the largest masses, descending, and whose they are; smaller ones do not matter. If they are empty, all
        matter.
    atoms
        Receives conditions and masses in the order in which they come.
    wanted
        The only condition that matters, or -1.

    Returns
    -------
    How many have come, and how many of ``best`` there are, perhaps with some up to the threshold at the end.
    """
    sums, mentioned, shape = weights
    n_excluded, n, found, total = len(mentioned), 0, 0, sums[len(sums) - 1]
    for i in range(n_excluded):
        atoms.excluded[i] = mentioned[i]
        total -= sums[mentioned[i] + 1] - sums[mentioned[i]]
    stream, left = atoms.streams[0], mass
    start(stream, subkey(key, np.uint64(draw)))
    while n_excluded < len(sums) - 1 and left > threshold:
        if 0 < found == len(best) and left <= best[found - 1]:
            break
        if n == STEPS:
            n = write_others(left, weights, n_excluded, n, stream, atoms)
            for i in range(STEPS, n):
                found = insert_atom(atoms.masses[i], atoms.codes[i], best, codes, found)
            break
        code, place = next_condition(uniform(stream) * total, sums, atoms.excluded, n_excluded)
        weight, here = sums[code + 1] - sums[code], left
        total -= weight
        if n_excluded < len(sums) - 2:  # the last one has all that is left
            log_odds = beta_log_odds(stream, shape * weight + 1.0, shape * total)
            here, left = left / (1.0 + math.exp(-log_odds)), left / (1.0 + math.exp(log_odds))
        for i in range(n_excluded, place, -1):
            atoms.excluded[i] = atoms.excluded[i - 1]
        atoms.excluded[place], atoms.codes[n], atoms.masses[n] = code, code, here
        n_excluded += 1
        n += 1
        found = insert_atom(here, code, best, codes, found)
        if code == wanted:
            break
    return n, found


@inner
def largest_unequal(
    mass: float,
    weights: Weights,
    key: np.uint64,
    draw: int,
    threshold: float,
    best: FloatArray,
    codes: IntArray,
    atoms: Atoms,
) -> int:
    """Find the largest masses of unmentioned conditions that exceed a threshold, descending, and whose they are.

    See :func:`draw_atoms`; returns how many there are.
    """
    if len(best) == 0:
        return 0
    _, found = draw_atoms(mass, weights, key, draw, threshold, best, codes, atoms, -1)
    while found > 0 and best[found - 1] <= threshold:
        found -= 1
    return found
