"""The unmentioned conditions that are among the first of a draw, where they are not exchangeable."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.compact import Layout
from dissensus.kernels.jit import compiled, copied, plain
from dissensus.kernels.orders import find_leaders, integers
from dissensus.kernels.rest import Atoms, Weights, largest_unequal, new_atoms

ROOM = 1 << 17
"""For how many of them there is room at a time, at least."""


class LeaderRoom(NamedTuple):
    """Hold room for the first conditions of a draw: mentioned ones, and the masses and codes of others."""

    best: FloatArray
    members: IntArray
    others: FloatArray
    codes: IntArray
    atoms: Atoms


class Leaders(NamedTuple):
    """Hold which unmentioned conditions are among the first of which draws.

    Attributes
    ----------
    cases, draws, codes, masses
        Of each of them, draw after draw, descending within a draw.
    is_first
        One for those that are the very first of their draw, otherwise zero.
    """

    cases: IntArray
    draws: IntArray
    codes: IntArray
    masses: FloatArray
    is_first: IntArray


def unmentioned_leaders(layout: Layout, values: FloatArray, depth: int) -> Leaders:
    """Find all unmentioned conditions that are among the first ``depth`` conditions of a draw.

    Notes
    -----
    A draw is looked at only if its rest mass exceeds the mentioned condition in the last place that matters.
    """
    values, most = plain(values), max(layout.n_draws * depth, ROOM)
    room = LeaderRoom(
        np.empty(depth), integers(depth), np.empty(depth), integers(depth), new_atoms(layout.n_conditions)
    )
    found = Leaders(integers(most), integers(most), integers(most), np.empty(most), integers(most))
    case, parts = 0, []
    while case < len(layout.rest_shapes):
        case, n = find_others(layout, case, values, room, found)
        parts.append([column[:n].copy() for column in found])
    return Leaders(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@compiled
def find_others(layout: Layout, case: int, values: FloatArray, room: LeaderRoom, found: Leaders) -> tuple[int, int]:
    """Write down the unmentioned conditions among the first ones of all draws, from one case on, while there is room.

    Returns
    -------
    case, n
        The case that comes next, and how many were found.
    """
    n, most = 0, layout.n_draws * len(room.best)
    while case < len(layout.rest_shapes) and n + most <= len(found.cases):
        n = find_of_case(layout, case, values, room, found, n)
        case += 1
    return case, n


@copied
def find_of_case(layout: Layout, case: int, values: FloatArray, room: LeaderRoom, found: Leaders, n: int) -> int:
    """Write down those of one case behind the first ``n``; return how many there are then."""
    first, depth = layout.support_offsets[case], len(room.best)
    size = layout.support_offsets[case + 1] - first
    weights = Weights(layout.rest_sums, layout.support[first : first + size], layout.rest_shapes[case])
    source = layout.n_draws * (first + case)
    for draw in range(layout.n_draws):
        filled, _ = find_leaders(values, source, size, room.best, room.members)
        last, rest = room.best[depth - 1] if filled == depth else 0.0, values[source + size]
        if rest > last:
            key = layout.rest_keys[case]
            others = largest_unequal(rest, weights, key, draw, last, room.others, room.codes, room.atoms)
            for i in range(others):
                found.cases[n], found.draws[n], found.codes[n] = case, draw, room.codes[i]
                found.masses[n] = room.others[i]
                found.is_first[n] = int(i == 0 and room.others[i] > room.best[0])
                n += 1
        source += size + 1
    return n
