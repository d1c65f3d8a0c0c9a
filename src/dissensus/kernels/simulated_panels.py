"""Panels of annotators, drawn from the plausibilities: how often a condition would win among their first choices.

An annotator names a first block of the size that was seen, without replacement and in proportion to the plausibilities;
the block shares one vote. Conditions that nobody mentioned share the rest mass by a Dirichlet distribution, which is
integrated out: whoever names one of them names one that was named before in proportion to how often that was, and
otherwise one in proportion to the shapes (Polya's urn).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.kernels.compact import Layout, Weights, next_condition
from dissensus.kernels.jit import compiled, inlined, inner, plain, plain_parts
from dissensus.kernels.randomness import Keys, Stream, Streams, new_streams, start, subkey, uniform

# Number of the random stream of panels, beside those of the draws.
JURY = np.uint64(0xA11)

# Votes closer than this are as many.
TIED = 1e-9


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
    keys: Keys


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
    is_named, (others, urn) = np.zeros(widest, dtype=np.int64), np.empty((2, most), dtype=np.int64)
    room = VoteRoom(new_streams(), np.empty(widest), is_named, others, np.empty(most), urn)
    count_wins(layout, plain(values), plain(weights), plain_parts(panels), room, chances)
    return chances / layout.n_draws


@inner
def place_of(code: int, n: int, codes: IntArray) -> int:
    """Find a condition among the first n of some; -1 if it is not there."""
    for j in range(n):
        if codes[j] == code:
            return j
    return -1


@inlined
def vote(  # noqa: C901 - what is called once is written here, which compiles faster
    masses: FloatArray, sizes: IntArray, outside: Weights, total: float, stream: Stream, room: VoteRoom
) -> int:
    """Let a panel vote; return how many conditions outside the support it names.

    Each member names conditions of the support that it has not named yet, or the rest, in proportion to their masses;
    for the rest, one that is in the urn, or one by its shape.
    """
    size, n_others, n_urn = len(masses) - 1, 0, 0
    votes, is_named, urn, others = room.votes, room.is_named, room.urn, room.others
    for j in range(size):
        votes[j] = 0.0
    for seat in range(len(sizes)):
        for j in range(size):
            is_named[j] = 0
        for _ in range(sizes[seat]):
            left, chosen = masses[size], size
            for j in range(size):
                if is_named[j] == 0:
                    left += masses[j]
            at = uniform(stream) * left
            for j in range(size):
                if is_named[j] == 0:
                    at -= masses[j]
                    if at < 0.0:
                        chosen = j
                        break
            if chosen < size:
                is_named[chosen] = 1
                votes[chosen] += 1.0 / sizes[seat]
            elif masses[size] > 0.0 and total > 0.0:
                at = uniform(stream) * (outside.shape * total + n_urn)
                if at < n_urn:
                    code = urn[int(at)]
                else:
                    weight, mentioned = uniform(stream) * total, outside.mentioned
                    code, _ = next_condition(weight, outside.sums, mentioned, len(mentioned))
                urn[n_urn] = code
                n_urn += 1
                place = place_of(code, n_others, others)
                if place < 0:
                    place = n_others
                    others[place], room.other_votes[place] = code, 0.0
                    n_others += 1
                room.other_votes[place] += 1.0 / sizes[seat]
    return n_others


@compiled
def count_wins(
    layout: Layout, values: FloatArray, sums: FloatArray, panels: Panels, room: VoteRoom, chances: FloatArray
) -> None:
    """Do what :func:`winning_chances` says, for plain arrays: add up wins over draws."""
    stream = room.streams[0]
    for case in range(len(layout.rest_shapes)):
        size = layout.support_offsets[case + 1] - layout.support_offsets[case]
        mentioned = layout.support[layout.support_offsets[case] : layout.support_offsets[case + 1]]
        outside = Weights(sums, mentioned, layout.rest_shapes[case])
        sizes = panels.sizes[panels.seat_offsets[case] : panels.seat_offsets[case + 1]]
        flat, total = layout.n_draws * (layout.support_offsets[case] + case), sums[len(sums) - 1]
        for code in mentioned:
            total -= sums[code + 1] - sums[code]
        for draw in range(layout.n_draws):
            start(stream, subkey(subkey(panels.keys[case], JURY), np.uint64(draw)))
            n_others = vote(values[flat : flat + size + 1], sizes, outside, total, stream, room)
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
                place, own = place_of(panels.targets[t], size, mentioned), 0.0
                if place >= 0:
                    own = room.votes[place]
                else:
                    place = place_of(panels.targets[t], n_others, room.others)
                    own = room.other_votes[place] if place >= 0 else 0.0
                if best > 0.0 and own > best - TIED:
                    chances[t] += 1.0 / n_best
            flat += size + 1
