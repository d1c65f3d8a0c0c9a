"""Draws on the compact support: U + 1 numbers a case, the last one the rest mass, which is split lazily.

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

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.kernels.jit import compiled, inlined, inner
from dissensus.kernels.randomness import (
    Keys,
    State,
    Streams,
    beta_log_odds,
    drawing,
    new_streams,
    next_exponential,
    next_gamma,
    next_log_gamma,
    next_uniform,
    spread,
    start,
    state_of,
    subkey,
)

# More than the depth of any tree of 2**63 members.
DEPTH = 64


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


# Room to work in --------------------------------------------------------------------------------------


class Atoms(NamedTuple):
    """Hold room for the conditions of the rest of a draw as they come.

    Attributes
    ----------
    streams
        A stream for all.
    excluded, blocked : (K,)
        Codes of what is mentioned or has come already, ascending; in the end, of what is not among those that weigh
        least.
    codes, masses, boosts : (K,)
        What has come, in order; those that come at once have masses times exp(-boosts).
    heavier, shapes, spreads, scale
        Codes of conditions that weigh more than the least, ascending; their shapes and spreads where a unit of weight
        has the shape ``scale[0]``.
    branches, branch_masses : (3, 2 * DEPTH), (2 * DEPTH,)
        Nodes of a tree that were not followed yet: number, first member and how many it has; and their masses. Where
        all conditions weigh the same, there is nothing else.
    """

    streams: Streams
    excluded: IntArray
    blocked: IntArray
    codes: IntArray
    masses: FloatArray
    boosts: FloatArray
    heavier: IntArray
    shapes: FloatArray
    spreads: FloatArray
    scale: FloatArray
    branches: IntArray
    branch_masses: FloatArray


def new_atoms(sums: FloatArray) -> Atoms:
    """Make room for the rest of any case, given the sums of all weights."""
    weights = np.diff(sums)
    heavier = np.flatnonzero(weights > weights.min(initial=np.inf) * (1.0 + 1e-9))
    excluded, blocked, codes = np.empty((3, len(weights)), dtype=np.int64)
    branches = np.empty((3, 2 * DEPTH), dtype=np.int64)
    masses, boosts = np.empty((2, len(weights)))
    known = (heavier, np.empty(len(heavier)), np.empty(len(heavier)), np.full(1, np.nan))
    return Atoms(new_streams(), excluded, blocked, codes, masses, boosts, *known, branches, np.empty(2 * DEPTH))


# Equal weights ----------------------------------------------------------------------------------------


@inner
def split_node(
    streams: Streams, key: np.uint64, node: np.uint64, mass: float, n: int, shape: float
) -> tuple[float, float]:
    """Divide the mass of a node with n members between its halves."""
    stream = streams[0]
    start(stream, subkey(key, node))
    log_odds = beta_log_odds(stream, shape * (n // 2), shape * (n - n // 2))
    return mass / (1.0 + math.exp(-log_odds)), mass / (1.0 + math.exp(log_odds))


@drawing
def split_every_rest(
    streams: Streams, rests: FloatArray, n: int, shape: float, key: np.uint64, draws: IntArray
) -> FloatArray:
    """Split the rest masses of some draws of a case among its n unmentioned conditions, shape (len(draws), n).

    ``shape`` is their common Dirichlet parameter, ``key`` that of the rest of the case.
    """
    split, masses = np.zeros((len(draws), n)), np.empty(2 * DEPTH)
    nodes, members = np.empty(2 * DEPTH, np.int64), np.empty(2 * DEPTH, np.int64)
    for row in range(len(draws)):
        draw_key = subkey(key, np.uint64(draws[row]))
        nodes[0], members[0], masses[0] = 1, n, rests[row]
        waiting, place = (1 if n > 0 else 0), 0
        while waiting > 0:
            waiting -= 1
            node, count, here = nodes[waiting], members[waiting], masses[waiting]
            if count == 1 or here == 0.0:
                for _ in range(count):
                    split[row, place] = here
                    place += 1
                continue
            left, right = split_node(streams, draw_key, np.uint64(node), here, count, shape)
            nodes[waiting], members[waiting], masses[waiting] = 2 * node + 1, count - count // 2, right
            waiting += 1
            nodes[waiting], members[waiting], masses[waiting] = 2 * node, count // 2, left
            waiting += 1
    return split


@inlined
def largest_unmentioned(
    mass: float, n: int, shape: float, key: np.uint64, draw: int, threshold: float, out: FloatArray, atoms: Atoms
) -> int:
    """Find the largest masses of unmentioned conditions that exceed a threshold.

    Parameters
    ----------
    mass, n, shape
        Mass of the rest in this draw, how many share it, and their common Dirichlet parameter.
    key, draw, atoms
        Key of the rest of the case, number of the draw, and room to work in.
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
    nodes, members, masses = atoms.branches[0], atoms.branches[2], atoms.branch_masses
    draw_key = subkey(key, np.uint64(draw))
    nodes[0], members[0], masses[0] = 1, n, mass
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
        left, right = split_node(atoms.streams, draw_key, np.uint64(node), here, count, shape)
        left_waits = 1 if right > left else 0  # the heavier half is followed first
        i, j = waiting + 1 - left_waits, waiting + left_waits
        nodes[i], members[i], masses[i] = 2 * node, count // 2, left
        nodes[j], members[j], masses[j] = 2 * node + 1, count - count // 2, right
        waiting += 2
    return found


@drawing
def greatest_of_equal(
    streams: Streams,
    known: FloatArray,
    rests: FloatArray,
    order: IntArray,
    worths: FloatArray,
    shape: float,
    key: np.uint64,
) -> float:
    """Return the greatest of all draws of what is known plus what the rest is worth.

    Parameters
    ----------
    known, rests : (n_draws,)
        What mentioned conditions are worth in each draw, and the mass of all others.
    order : (n_draws,)
        The draws; the sooner a great one comes, the sooner others are left.
    worths : (n,)
        What a mass of one of each unmentioned condition is worth.
    shape, key
        Their common Dirichlet parameter, and the key of the rest of the case.
    """
    greatest, highest, masses = -np.inf, 0.0, np.empty(2 * DEPTH)
    nodes, members = np.empty(2 * DEPTH, np.int64), np.empty(2 * DEPTH, np.int64)
    for worth in worths:
        highest = max(highest, worth)
    for draw in order:
        nodes[0], members[0], masses[0] = 1, len(worths), rests[draw]
        draw_key, total, left = subkey(key, np.uint64(draw)), known[draw], rests[draw]
        waiting, place = (1 if len(worths) > 0 else 0), 0
        while waiting > 0 and total + left * highest > greatest:
            waiting -= 1
            node, count, here = nodes[waiting], members[waiting], masses[waiting]
            if count == 1 or here == 0.0:
                total += here * worths[place]
                left -= here
                place += count
                continue
            masses[waiting + 1], masses[waiting] = split_node(streams, draw_key, np.uint64(node), here, count, shape)
            nodes[waiting], members[waiting] = 2 * node + 1, count - count // 2
            nodes[waiting + 1], members[waiting + 1] = 2 * node, count // 2
            waiting += 2
        if waiting == 0:
            greatest = max(greatest, total)
    return greatest


# Unequal weights --------------------------------------------------------------------------------------
# Shares that are Dirichlet(shape * weights) are drawn in size-biased order: a condition comes next with a probability
# in proportion to its weight, and takes a Beta(a + 1, A - a) share of what is left, a being its parameter and A the sum
# of those that are left. Large shares come early, so that whoever looks for the largest is soon done: no condition that
# is still to come can have more than all that is left. After a number of steps the others come at once: first those
# with a weight of their own, then all that share the least weight together, as most do where few of many conditions
# were ever mentioned. What these have is split as equal weights are, no further than it matters.

# How many conditions come one by one.
STEPS = 32


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


# exp(-k / 32).
DECAYS = np.exp(-np.arange(40 * 32 + 1) / 32.0)


@inlined
def decay(exponent: float) -> float:
    """Return exp(-exponent) to 1e-15, exponent >= 0, and nothing beyond 40: faster in loops than the library's."""
    if not exponent < 40.0:
        return 0.0
    k = int(exponent * 32.0)
    x = k / 32.0 - exponent
    series = 1 / 6 + x * (1 / 24 + x * (1 / 120 + x * (1 / 720 + x * (1 / 5040))))
    return float(DECAYS[k] * (1.0 + x * (1.0 + x * (0.5 + x * series))))


@inlined
def next_condition(target: float, sums: FloatArray, excluded: IntArray, n_excluded: int) -> tuple[int, int]:
    """Find the condition at a cumulated weight of those that are not excluded, and its place among the excluded."""
    place, code, last = 0, 0, len(sums) - 1
    while place < n_excluded and last == len(sums) - 1:
        if excluded[place] > code and sums[excluded[place]] > target:
            last = excluded[place]
        else:
            code = excluded[place] + 1
            target += sums[code] - sums[code - 1]
            place += 1
    if code == last:  # beyond all by rounding: the last one that is not excluded
        while place > 0 and excluded[place - 1] == code - 1:
            code, place = code - 1, place - 1
        return code - 1, place
    while last - code > 1:
        middle = (code + last) // 2
        if sums[middle] <= target:
            code = middle
        else:
            last = middle
    return code, place


@inlined
def insert_atom(
    mass: float, code: int, best: FloatArray, codes: IntArray, found: int, limit: float
) -> tuple[int, float]:
    """Put a condition among those of the largest masses, descending; return how many these are, and what others need.

    Its mass exceeds the limit; from when on there is no more room, that is the least mass.
    """
    place = found if found < len(best) else found - 1
    found = place + 1
    while place > 0 and best[place - 1] < mass:
        best[place], codes[place] = best[place - 1], codes[place - 1]
        place -= 1
    best[place], codes[place] = mass, code
    return found, (best[found - 1] if found == len(best) else limit)


@inner
def draw_others(  # noqa: C901 - what is called once is written here, which compiles faster
    left: float,
    weights: Weights,
    key: np.uint64,
    limit: float,
    best: FloatArray,
    codes: IntArray,
    atoms: Atoms,
    wanted: int,
    found: int,
    state: State,
) -> tuple[int, int]:
    """Draw all conditions that are left after :data:`STEPS` of them, see :func:`draw_atoms`; ``key`` is of the draw."""
    sums, mentioned, shape = weights
    _, excluded, blocked, drawn, masses, boosts, heavier, shapes, spreads, scale, _, branches = atoms
    n, n_conditions = STEPS, len(sums) - 1
    place, n_blocked, n_excluded, lowest = 0, 0, len(mentioned) + STEPS, np.inf
    if scale[0] != shape:
        scale[0] = shape
        for i in range(len(heavier)):
            own = shape * (sums[heavier[i] + 1] - sums[heavier[i]])
            shapes[i], spreads[i] = own, spread(own + 1.0 if own < 1.0 else own)
    for i in range(len(heavier)):
        code, own, boost = heavier[i], shapes[i], 0.0
        while place < n_excluded and excluded[place] < code:
            blocked[n_blocked] = excluded[place]
            place, n_blocked = place + 1, n_blocked + 1
        if place < n_excluded and excluded[place] == code:
            place += 1
        else:  # a gamma variate is masses * exp(-boosts)
            if own < 1.0:
                boost, state = next_exponential(state)
            masses[n], state = next_gamma(state, own + 1.0 if own < 1.0 else own, spreads[i])
            drawn[n], boosts[n] = code, boost / own
            lowest = min(lowest, boosts[n])
            n += 1
        blocked[n_blocked] = code
        n_blocked += 1
    for i in range(place, n_excluded):
        blocked[n_blocked] = excluded[i]
        n_blocked += 1
    alike, least, highest, end = n_conditions - n_blocked, 0.0, -np.inf, n
    if alike > 0:  # of the least weight, which is that of the first who is not blocked
        first, boost, end = 0, 0.0, n + 1
        while first < n_blocked and blocked[first] == first:
            first += 1
        least = shape * (sums[first + 1] - sums[first])
        own = least * alike
        if own < 1.0:
            boost, state = next_exponential(state)
        larger = own + 1.0 if own < 1.0 else own
        masses[n], state = next_gamma(state, larger, spread(larger))
        boosts[n] = boost / own
        lowest = min(lowest, boosts[n])
    if len(best) > 0:
        for i in range(STEPS, end):
            masses[i] *= decay(boosts[i] - lowest)
    else:  # what is written out is right to the last bit
        for i in range(STEPS, end):
            masses[i] = math.log(masses[i]) - boosts[i]
            highest = max(highest, masses[i])
        for i in range(STEPS, end):
            masses[i] = math.exp(masses[i] - highest)
    share = masses[n] if alike > 0 else 0.0
    total = share
    for i in range(STEPS, n):
        total += masses[i]
    for i in range(STEPS, n):
        masses[i] *= left / total
        if masses[i] > limit and len(best) > 0:
            found, limit = insert_atom(masses[i], drawn[i], best, codes, found, limit)
    nodes, firsts, counts = atoms.branches[0], atoms.branches[1], atoms.branches[2]
    nodes[0], firsts[0], counts[0], branches[0] = 1, 0, alike, share * left / total
    waiting, at, is_single = 1 if alike > 0 else 0, wanted, 0 <= wanted < n_conditions
    for i in range(n_blocked if is_single else 0):  # the place of the wanted one among those who are alike
        at -= blocked[i] < wanted
        waiting = 0 if blocked[i] == wanted else waiting
    while waiting > 0:
        waiting -= 1
        node, first, count, here = nodes[waiting], firsts[waiting], counts[waiting], branches[waiting]
        if here <= limit:
            continue
        if is_single and not first <= at < first + count:
            continue
        if count > 1:
            left_mass, right_mass = split_node(atoms.streams, key, np.uint64(node), here, count, least)
            is_left = 1 if right_mass <= left_mass else 0  # the heavier half is followed first
            i, j, half = waiting + is_left, waiting + 1 - is_left, count // 2
            nodes[i], firsts[i], counts[i], branches[i] = 2 * node, first, half, left_mass
            nodes[j], firsts[j], counts[j], branches[j] = 2 * node + 1, first + half, count - half, right_mass
            waiting += 2
            continue
        low, high = 0, n_blocked  # its code is greater by as many as are blocked before
        while low < high:
            middle = (low + high) // 2
            if blocked[middle] - middle <= first:
                low = middle + 1
            else:
                high = middle
        drawn[n], masses[n] = first + low, here
        if len(best) > 0:
            found, limit = insert_atom(here, first + low, best, codes, found, limit)
        n += 1
    return n, found


@inlined
def draw_atoms(
    mass: float,
    weights: Weights,
    key: np.uint64,
    draw: int,
    limit: float,
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
    limit
        Masses up to this do not matter.
    best, codes : (most,)
        Receive the largest masses, descending, and whose they are; smaller ones do not matter. If they are empty, all
        matter.
    atoms
        Receives conditions and masses in the order in which they come.
    wanted
        The only condition that matters, or what no condition has for a code.

    Returns
    -------
    How many have come, and how many of ``best`` there are.
    """
    sums, mentioned, shape = weights
    excluded, drawn, masses = atoms.excluded, atoms.codes, atoms.masses
    n_excluded, n, found, total = len(mentioned), 0, 0, sums[len(sums) - 1]
    for i in range(n_excluded):
        excluded[i] = mentioned[i]
        total -= sums[mentioned[i] + 1] - sums[mentioned[i]]
    stream, left = atoms.streams[0], mass
    start(stream, subkey(key, np.uint64(draw)))
    state = state_of(stream)
    while n_excluded < len(sums) - 1 and left > limit:
        if n == STEPS:
            return draw_others(
                left, weights, subkey(key, np.uint64(draw)), limit, best, codes, atoms, wanted, found, state
            )
        target, state = next_uniform(state)
        code, place = next_condition(target * total, sums, excluded, n_excluded)
        weight, here = sums[code + 1] - sums[code], left
        total -= weight
        if n_excluded < len(sums) - 2:  # the last one has all that is left
            one, state = next_gamma(state, shape * weight + 1.0, spread(shape * weight + 1.0))
            if len(best) > 0:  # faster, if not to the last bit
                boost, own = 0.0, shape * total
                if own < 1.0:
                    boost, state = next_exponential(state)
                    boost, own = boost / own, own + 1.0
                other, state = next_gamma(state, own, spread(own))
                other *= math.exp(-boost) if boost > 0.0 else 1.0
                here, left = left * (one / (one + other)), left * (other / (one + other))
            else:
                log_other, state = next_log_gamma(state, shape * total)
                log_odds = math.log(one) - log_other
                here, left = left / (1.0 + math.exp(-log_odds)), left / (1.0 + math.exp(log_odds))
        for i in range(n_excluded, place, -1):
            excluded[i] = excluded[i - 1]
        excluded[place], drawn[n], masses[n] = code, code, here
        n_excluded += 1
        n += 1
        if here > limit and len(best) > 0:
            found, limit = insert_atom(here, code, best, codes, found, limit)
        if code == wanted:
            break
    return n, found


@compiled
def split_every_unequal_rest(
    masses: FloatArray, weights: Weights, key: np.uint64, draws: IntArray, atoms: Atoms, wanted: int
) -> FloatArray:
    """Split the rest masses of some draws of a case among its unmentioned conditions, shape (len(draws), K).

    Where a single condition is wanted, and not -1, the others are not all written out.
    """
    split, best, codes = np.zeros((len(draws), len(weights.sums) - 1)), np.empty(0), np.empty(0, np.int64)
    for row in range(len(draws)):
        n, _ = draw_atoms(masses[row], weights, key, draws[row], 0.0, best, codes, atoms, wanted)
        for i in range(n):
            split[row, atoms.codes[i]] = atoms.masses[i]
    return split


# Shares of a rest up to which it is looked at before it is seen whether more can matter.
LOOKS = (0.3, 0.03, 0.0)


@compiled
def greatest_of_unequal(
    known: FloatArray,
    rests: FloatArray,
    order: IntArray,
    worths: FloatArray,
    weights: Weights,
    key: np.uint64,
    atoms: Atoms,
) -> float:
    """Do what :func:`greatest_of_equal` says where conditions have weights; worths are those of all K conditions."""
    greatest, highest, none = -np.inf, -np.inf, len(worths) + 1
    best, codes = np.empty(0), np.empty(0, np.int64)
    for worth in worths:
        highest = max(highest, worth)
    for draw in order:
        total, left = known[draw], rests[draw]
        for share in LOOKS:
            if total + left * highest <= greatest:
                break
            total, left = known[draw], rests[draw]
            n, _ = draw_atoms(left, weights, key, draw, share * left, best, codes, atoms, none)
            for i in range(n):
                total += atoms.masses[i] * worths[atoms.codes[i]]
                left -= atoms.masses[i]
            if share == 0.0:
                greatest = max(greatest, total)
    return greatest
