"""Where conditions stand, in a draw and in the predictions of a model: how many are better, and how many are tied.

The standing of a condition is two counts over all K conditions: ``above``, those strictly better, and ``tied``, those
as good, itself included. With ties broken at random it is among the first j with probability
``clip((j - above) / tied, 0, 1)``. Standings are written out for the support of each case only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.kernels.compact import Layout
from dissensus.kernels.compiling import compiled, inlined
from dissensus.kernels.rest import largest_unmentioned
from dissensus.typing import FloatArray, IntArray


class Standings(NamedTuple):
    """Hold the standings of the supports of some cases, side by side: how many are better, and how many as good."""

    above: IntArray
    tied: IntArray


@inlined
def largest_mentioned(values: FloatArray, start: int, size: int, out: FloatArray) -> int:
    """Write down the largest of some consecutive values, descending; return how many there are."""
    found = 0
    for i in range(start, start + size):
        if found == len(out) and values[i] <= out[found - 1]:
            continue
        place = found if found < len(out) else found - 1
        found = place + 1
        while place > 0 and out[place - 1] < values[i]:
            out[place] = out[place - 1]
            place -= 1
        out[place] = values[i]
    return found


@compiled
def draw_standings(layout: Layout, values: FloatArray, depth: int) -> Standings:
    """Find the standing of every mentioned condition in every draw, down to a depth.

    Parameters
    ----------
    layout, values
        The draws.
    depth
        How many places matter; a condition with ``depth`` or more better ones has ``above = depth``.

    Returns
    -------
    Two arrays of shape (n_draws * sum of U,): case after case, each a C-ordered (n_draws, U) matrix.

    Notes
    -----
    Unmentioned conditions are looked at only in draws whose rest mass reaches a mentioned condition that matters.
    """
    n_cases, n_draws = len(layout.rest_shapes), layout.n_draws
    above = np.empty(n_draws * layout.support_offsets[n_cases], dtype=np.int64)
    tied = np.empty(n_draws * layout.support_offsets[n_cases], dtype=np.int64)
    best, others = np.empty(depth), np.empty(depth)
    for case in range(n_cases):
        first = layout.support_offsets[case]
        size = layout.support_offsets[case + 1] - first
        n_rest = layout.n_conditions - size
        source, target = n_draws * (first + case), n_draws * first
        for draw in range(n_draws):
            filled = largest_mentioned(values, source, size, best)
            last, at_last = best[filled - 1], 0
            for k in range(size):
                at_last += values[source + k] == last
            rest, n_others = values[source + size], 0
            if rest > 0.0 and rest >= last:
                below = np.nextafter(last, 0.0)  # conditions as good as the last count too, unless that is nothing
                n_others = largest_unmentioned(
                    rest, n_rest, layout.rest_shapes[case], layout.rest_keys[case], draw, below, others
                )
            for k in range(size):
                value = values[source + k]
                better, equal = 0, 0
                if value < last:
                    better, equal = depth, 1
                else:
                    for i in range(filled):
                        better += best[i] > value
                        equal += best[i] == value
                    if value == last:
                        equal = at_last
                    for i in range(n_others):
                        better += others[i] > value
                        equal += others[i] == value
                    if value == 0.0 and n_others < depth:
                        equal += n_rest - n_others
                above[target + k] = min(better, depth)
                tied[target + k] = equal
            source += size + 1
            target += size
    return Standings(above, tied)


@compiled
def predicted_standings(
    offsets: IntArray, codes: IntArray, values: FloatArray, support_offsets: IntArray, support: IntArray, n: int
) -> tuple[Standings, FloatArray]:
    """Find the standing and the value of every mentioned condition in the predictions of a model.

    Parameters
    ----------
    offsets, codes, values
        The listed conditions of each case, best first; all others are tied below them with the value zero.
    support_offsets, support
        Codes of the mentioned conditions of each case.
    n
        Number of conditions, K.

    Returns
    -------
    Standings and values, each of shape (sum of U,).
    """
    above = np.empty(len(support), dtype=np.int64)
    tied = np.empty(len(support), dtype=np.int64)
    found = np.zeros(len(support))
    member_of = np.full(n, -1, dtype=np.int64)
    for case in range(len(support_offsets) - 1):
        start, stop = offsets[case], offsets[case + 1]
        members = support_offsets[case], support_offsets[case + 1]
        for member in range(members[0], members[1]):
            member_of[support[member]] = member
            above[member], tied[member] = stop - start, n - (stop - start)
        missing = members[1] - members[0]
        entry = start
        while entry < stop and missing > 0:
            end = entry + 1
            while end < stop and values[end] == values[entry]:
                end += 1
            for tie in range(entry, end):
                member = member_of[codes[tie]]
                if member >= 0:
                    above[member], tied[member], found[member] = entry - start, end - entry, values[entry]
                    missing -= 1
            entry = end
        for member in range(members[0], members[1]):
            member_of[support[member]] = -1
    return Standings(above, tied), found
