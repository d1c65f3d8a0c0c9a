"""Panels of annotators, drawn from the plausibilities: how often a condition would win among their first choices.

An annotator names a first block of the size that was seen, without replacement and in proportion to the plausibilities;
the block shares one vote. Conditions that nobody mentioned share the rest mass by a Dirichlet distribution, which is
integrated out: whoever names one of them names one that was named before in proportion to how often that was, and
otherwise one in proportion to the shapes (Polya's urn).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.compact import Layout
from dissensus.kernels.jit import compiled, inner, plain
from dissensus.kernels.randomness import Stream, Streams, new_streams, start, subkey, uniform
from dissensus.kernels.rest import next_condition

JURY = np.uint64(0xA11)
"""Number of the random stream of panels, beside those of the draws."""

TIED = 1e-9
"""Votes closer than this are as many."""


class Panels(NamedTuple):
    """Say who sits on the panel of each case, and whose chance to win is wanted.

    Attributes
    ----------
    seat_offsets : (n_cases + 1,)
        From cases to annotators.
    sizes : (n_seats,)
        How many conditions each of them names first, tied.
    target_offsets : (n_cases + 1,)
        From cases to conditions whose chance is wanted.
    targets : (n_targets,)
        Their codes.
    keys : (n_cases,)
        Keys of the random streams.
    """

    seat_offsets: IntArray
    sizes: IntArray
    target_offsets: IntArray
    targets: IntArray
    keys: np.ndarray[tuple[int], np.dtype[np.uint64]]


class VoteRoom(NamedTuple):
    """Hold the votes of one panel: of the support, and of the conditions outside it in the order they are named."""

    streams: Streams
    votes: FloatArray
    is_named: IntArray
    others: IntArray
    other_votes: FloatArray
    urn: IntArray


def winning_chances(layout: Layout, values: FloatArray, panels: Panels) -> FloatArray:
    """Return how often each target wins, averaged over draws, shape (n_targets,); those who tie share the win."""
    chances = np.zeros(len(panels.targets))
    widest = int(np.diff(layout.support_offsets).max(initial=0))
    named = np.add.reduceat(panels.sizes, panels.seat_offsets[:-1]) if len(panels.sizes) else np.zeros(1, np.int64)
    most = int(named.max(initial=0)) + 1
    weights = layout.rest_sums if len(layout.rest_sums) else np.arange(layout.n_conditions + 1, dtype=np.float64)
    room = VoteRoom(
        new_streams(),
        np.empty(widest),
        np.zeros(widest, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.empty(most),
        np.empty(most, dtype=np.int64),
    )
    own = Panels(*(plain(part) for part in panels))
    count_wins(layout, plain(values), plain(weights), own, room, chances)
    return chances / layout.n_draws


@inner
def name_other(
    sums: FloatArray, mentioned: IntArray, shape: float, total: float, n_urn: int, stream: Stream, room: VoteRoom
) -> int:
    """Name a condition outside the support: one that is in the urn, or one by its shape."""
    at = uniform(stream) * (shape * total + n_urn)
    if at < n_urn:
        return int(room.urn[int(at)])
    code, _ = next_condition(uniform(stream) * total, sums, mentioned, len(mentioned))
    return code


@inner
def place_of_other(code: int, n_others: int, room: VoteRoom) -> int:
    """Find a condition among those outside the support that were named; -1 if it was not."""
    for j in range(n_others):
        if room.others[j] == code:
            return j
    return -1


@compiled
def count_wins(
    layout: Layout, values: FloatArray, sums: FloatArray, panels: Panels, room: VoteRoom, chances: FloatArray
) -> None:
    """Do what :func:`winning_chances` says, for plain arrays: add up wins over draws."""
    for case in range(len(layout.rest_shapes)):
        size = layout.support_offsets[case + 1] - layout.support_offsets[case]
        mentioned = layout.support[layout.support_offsets[case] : layout.support_offsets[case + 1]]
        flat = layout.n_draws * (layout.support_offsets[case] + case)
        total, shape = sums[len(sums) - 1], layout.rest_shapes[case]
        for j in range(size):
            total -= sums[mentioned[j] + 1] - sums[mentioned[j]]
        for draw in range(layout.n_draws):
            start(room.streams[0], subkey(subkey(panels.keys[case], JURY), np.uint64(draw)))
            room.votes[:size] = 0.0
            n_others, n_urn = 0, 0
            for seat in range(panels.seat_offsets[case], panels.seat_offsets[case + 1]):
                vote, left, rest = 1.0 / panels.sizes[seat], 0.0, values[flat + size]
                room.is_named[:size] = 0
                for _ in range(panels.sizes[seat]):
                    left = rest
                    for j in range(size):
                        if room.is_named[j] == 0:
                            left += values[flat + j]
                    at, chosen = uniform(room.streams[0]) * left, size
                    for j in range(size):
                        if room.is_named[j] == 0:
                            at -= values[flat + j]
                            if at < 0.0:
                                chosen = j
                                break
                    if chosen < size:
                        room.is_named[chosen] = 1
                        room.votes[chosen] += vote
                    elif rest > 0.0 and total > 0.0:
                        code = name_other(sums, mentioned, shape, total, n_urn, room.streams[0], room)
                        room.urn[n_urn] = code
                        n_urn += 1
                        place = place_of_other(code, n_others, room)
                        if place < 0:
                            place = n_others
                            room.others[place], room.other_votes[place] = code, 0.0
                            n_others += 1
                        room.other_votes[place] += vote
            best, n_best = 0.0, 0
            for j in range(size):
                best = max(best, room.votes[j])
            for j in range(n_others):
                best = max(best, room.other_votes[j])
            for j in range(size):
                n_best += int(room.votes[j] > best - TIED)
            for j in range(n_others):
                n_best += int(room.other_votes[j] > best - TIED)
            for t in range(panels.target_offsets[case], panels.target_offsets[case + 1]):
                own = 0.0
                for j in range(size):
                    if mentioned[j] == panels.targets[t]:
                        own = room.votes[j]
                place = place_of_other(panels.targets[t], n_others, room)
                if place >= 0:
                    own = room.other_votes[place]
                if best > 0.0 and own > best - TIED:
                    chances[t] += 1.0 / n_best
            flat += size + 1
    room.streams[0].uniforms += np.uint64(0)  # keeps the array alive while its record is used
