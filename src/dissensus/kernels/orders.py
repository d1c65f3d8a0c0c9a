"""The different orders that the draws of a case put its first conditions in.

All that most metrics and the certainty need to know of a draw is where the mentioned conditions stand in it, down to
some place (see :mod:`~dissensus.kernels.gains`). A thousand draws of a case have a few dozen different orders, so
each order is written down once, with the draws that have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dissensus.core.arrays import BoolArray, FloatArray, IntArray
from dissensus.core.ragged import offsets_from_lengths, row_of_each, weighted_counts
from dissensus.kernels.compact import Atoms, Layout, Weights, draw_atoms, largest_unmentioned, new_atoms
from dissensus.kernels.jit import compiled, inlined

# Multiplier of the hashes.
MIXER = 0x2545F4914F6CDD1D

# Marks codes that are hashes.
HASHED = -(2**63)


# Shares below this are rounding.
NOTHING = 1e-12

# A little less than one: what is not less by rounding alone is looked at.
ROUNDED = 1.0 - 1e-12

# For how many unmentioned conditions among the first there is room at a time, at least.
ROOM = 1 << 17

# More often than this, no condition is among the first.
SEEN = 1 << 48


class Orders(NamedTuple):
    """Hold the different orders of each case.

    Attributes
    ----------
    above, tied : (sum of n_orders * U,)
        Case after case, each a C-ordered (n_orders, U) matrix: how many conditions are better than a mentioned one,
        and how many are as good, itself included.
    has_rest : (n_orders,)
        One where unmentioned conditions have any mass, so that no two of them are tied; otherwise zero.
    counts : (n_orders,)
        How many draws have the order.
    offsets : (n_cases + 1,)
        The orders of case ``i`` are ``offsets[i]`` to ``offsets[i + 1] - 1``.
    starts : (n_cases + 1,)
        Where the matrix of each case begins in ``above`` and ``tied``.
    of_draw : (n_cases, n_draws)
        The order of every draw.
    """

    above: IntArray
    tied: IntArray
    has_rest: IntArray
    counts: IntArray
    offsets: IntArray
    starts: IntArray
    of_draw: IntArray


@inlined
def find_leaders(values: FloatArray, start: int, size: int, best: FloatArray, members: IntArray) -> tuple[int, bool]:
    """Write down the greatest of some consecutive values, descending, and which they are.

    Returns
    -------
    How many there are, and whether any may be tied.
    """
    depth, found, may_tie = len(best), 0, False
    for i in range(size):
        value = values[start + i]
        if found == depth:
            if value <= best[depth - 1]:
                may_tie |= value == best[depth - 1]
                continue
            place = depth - 1
        else:
            place = found
            found += 1
        while place > 0 and best[place - 1] < value:
            best[place], members[place] = best[place - 1], members[place - 1]
            place -= 1
        may_tie |= place > 0 and best[place - 1] == value
        best[place], members[place] = value, i
    return found, may_tie


@inlined
def write_row(
    values: FloatArray,
    source: int,
    best: FloatArray,
    others: FloatArray,
    n_rest: int,
    depth: int,
    above: IntArray,
    tied: IntArray,
) -> bool:
    """Write down the standings of the mentioned conditions of one draw; return whether any tie or other one matters.

    Parameters
    ----------
    values, source
        The draws, and where the plausibilities of the mentioned conditions begin.
    best
        The greatest of these, descending, as many as places matter.
    others
        The plausibilities of unmentioned conditions that reach the last of them.
    n_rest, depth
        How many unmentioned conditions there are, and how many places matter.
    above, tied
        Receive the standings; their length is the number of mentioned conditions.
    """
    last, at_last, is_special = best[len(best) - 1], 0, len(others) > 0
    for k in range(len(above)):
        at_last += values[source + k] == last
    for k in range(len(above)):
        value = values[source + k]
        better, equal = 0, 0
        if value < last:
            better, equal = depth, 1
        else:
            for i in range(len(best)):
                better += best[i] > value
                equal += best[i] == value
            if value == last:
                equal = at_last
            for i in range(len(others)):
                better += others[i] > value
                equal += others[i] == value
            if value == 0.0 and len(others) < depth:
                equal += n_rest - len(others)
        above[k], tied[k] = min(better, depth), equal
        is_special |= equal > 1
    return is_special


def integers(size: int) -> IntArray:
    """Make room for numbers."""
    return np.empty(size, dtype=np.int64)


class OrderRoom(NamedTuple):
    """Hold room for the orders of any single case, and for finding them.

    Attributes
    ----------
    above, tied : ((n_draws + 1) * U,), has_rest, counts : (n_draws,)
        As in :class:`Orders`, with one row more.
    codes : (n_draws,)
        A number per order: its leaders if these fit, otherwise negative, and a hash.
    slots : (a power of two,)
        Hash table: which order stands here, or -1.
    best, members, others : (depth,)
        The first mentioned conditions of a draw, and the plausibilities of the first unmentioned ones.
    other_codes : (depth,)
        Whose these are, where conditions have weights.
    atoms
        For finding these.
    """

    above: IntArray
    tied: IntArray
    has_rest: IntArray
    counts: IntArray
    codes: IntArray
    slots: IntArray
    best: FloatArray
    members: IntArray
    others: FloatArray
    other_codes: IntArray
    atoms: Atoms


@compiled
def order_cases(  # noqa: C901 - what is called once is written here, which compiles faster
    layout: Layout, values: FloatArray, room: OrderRoom, orders: Orders, first: int
) -> int:
    """Write down the orders of the cases from a first one on, as far as there is room; return the next case."""
    n_cases, n_draws, depth = len(layout.rest_shapes), layout.n_draws, len(room.best)
    above, tied, slots, codes, has_rest = room.above, room.tied, room.slots, room.codes, room.has_rest
    best, members, others, counts, mask = room.best, room.members, room.others, room.counts, len(room.slots) - 1
    for case in range(first, n_cases):
        support, of_draw = layout.support_offsets[case], orders.of_draw[case]
        size = layout.support_offsets[case + 1] - support
        n_rest, shape, key = layout.n_conditions - size, layout.rest_shapes[case], layout.rest_keys[case]
        source, found, end = n_draws * (support + case), 0, 0
        is_packed = size <= 16 and depth <= 15
        for slot in range(len(slots)):
            slots[slot] = -1
        for draw in range(n_draws):
            filled, is_special = find_leaders(values, source, size, best, members)
            last, rest, n_others = best[filled - 1], values[source + size], 0
            if rest > 0.0 and rest >= last:
                below = np.nextafter(last, 0.0)  # conditions as good as the last count too, unless that is nothing
                if len(layout.other_offsets) > 0:
                    row = case * n_draws + draw
                    for i in range(layout.other_offsets[row], layout.other_offsets[row + 1]):
                        if layout.other_masses[i] >= last and n_others < depth:
                            others[n_others] = layout.other_masses[i]
                            n_others += 1
                elif len(layout.rest_sums) > 0:
                    weights = Weights(layout.rest_sums, layout.support[support : support + size], shape)
                    none = len(layout.rest_sums)  # no condition is the only one that is wanted
                    _, n_others = draw_atoms(
                        rest, weights, key, draw, below, others, room.other_codes, room.atoms, none
                    )
                else:
                    n_others = largest_unmentioned(rest, n_rest, shape, key, draw, below, others, room.atoms)
            if is_special or last == 0.0 or n_others > 0:
                row_above, row_tied = above[end : end + size], tied[end : end + size]
                is_special = write_row(
                    values, source, best[:filled], others[:n_others], n_rest, depth, row_above, row_tied
                )
            any_rest = int(rest > 0.0)
            code = any_rest
            if is_special:  # ties or unmentioned conditions matter, so the row is written out and mixed
                for k in range(end, end + size):
                    code = (code ^ (above[k] << 32 ^ tied[k])) * MIXER
                    code ^= code >> 29
                code |= HASHED
            elif is_packed:  # up to fifteen leaders out of sixteen members fit into one number, never negative
                for place in range(filled):
                    code = code << 4 | members[place]
            else:
                for place in range(filled):
                    code = (code ^ members[place]) * MIXER
                    code ^= code >> 29
                code |= HASHED
            slot, order = (code * MIXER) >> 32 & mask, -1
            while order < 0 and slots[slot] >= 0:
                order = slots[slot]
                begin, is_same = order * size, codes[order] == code
                if is_same and code < 0:
                    is_same = has_rest[order] == any_rest
                    if is_special:
                        for k in range(size):
                            is_same &= above[begin + k] == above[end + k]
                            is_same &= tied[begin + k] == tied[end + k]
                    else:
                        for place in range(filled):
                            member = begin + members[place]
                            is_same &= (above[member] == place) & (tied[member] == 1)
                if not is_same:
                    slot, order = (slot + 1) & mask, -1
            if order < 0:
                order = found
                slots[slot], codes[order], has_rest[order], counts[order] = order, code, any_rest, 0
                if not is_special:
                    for k in range(end, end + size):
                        above[k], tied[k] = depth, 1
                    for place in range(filled):
                        above[end + members[place]] = place
                found += 1
                end += size
            counts[order] += 1
            of_draw[draw] = order
            source += size + 1
        start, place = orders.offsets[case], orders.starts[case]
        if start + found > len(orders.counts) or place + end > len(orders.above):
            return case
        orders.offsets[case + 1], orders.starts[case + 1] = start + found, place + end
        for i in range(end):
            orders.above[place + i], orders.tied[place + i] = above[i], tied[i]
        for i in range(found):
            orders.has_rest[start + i], orders.counts[start + i] = has_rest[i], counts[i]
        for draw in range(n_draws):
            of_draw[draw] += start
    return n_cases


def longer(array: IntArray, least: int) -> IntArray:
    """Make twice as much room, and at least so much more."""
    return np.concatenate([array, integers(max(len(array), least))])


def draw_orders(layout: Layout, values: FloatArray, depth: int) -> Orders:
    """Find the order of every draw, down to a depth.

    Parameters
    ----------
    layout, values
        The draws.
    depth
        How many places matter; a condition with ``depth`` or more better ones has ``above = depth``.

    Notes
    -----
    Unmentioned conditions are looked at only in draws whose rest mass reaches a mentioned condition that matters. An
    order without ties and unmentioned conditions is known by its leaders alone; the others by their whole row.
    """
    n_cases, n_rows = len(layout.rest_shapes), int(layout.support_offsets[-1])
    most = layout.n_draws if len(layout.other_offsets) > 0 else 16  # orders with many different leaders
    rows = integers(most * n_rows), integers(most * n_rows), integers(most * n_cases), integers(most * n_cases)
    of_draw = np.empty((n_cases, layout.n_draws), dtype=np.int64)
    offsets, starts = np.zeros((2, n_cases + 1), dtype=np.int64)
    orders, n_draws = Orders(*rows, offsets, starts, of_draw), layout.n_draws
    size = (n_draws + 1) * int(np.diff(layout.support_offsets).max(initial=0))
    numbers = integers(size), integers(size), integers(n_draws), integers(n_draws), integers(n_draws)
    slots = integers(1 << max(1, (2 * n_draws - 1).bit_length()))
    leading = np.empty(depth), integers(depth), np.empty(depth), integers(depth)
    room = OrderRoom(*numbers, slots, *leading, new_atoms(layout.rest_sums))
    case = order_cases(layout, values, room, orders, 0)
    while case < n_cases:
        above, tied, has_rest, counts = (longer(array, len(room.above)) for array in orders[:4])
        orders = orders._replace(above=above, tied=tied, has_rest=has_rest, counts=counts)
        case = order_cases(layout, values, room, orders, case)
    found, end = offsets[-1], starts[-1]
    return Orders(
        orders.above[:end], orders.tied[:end], orders.has_rest[:found], orders.counts[:found], offsets, starts, of_draw
    )


def place_shares(layout: Layout, orders: Orders, rank: int) -> FloatArray:
    """Count how often each condition has a place, the first or any other, unmentioned ones together.

    Exact ties share the draw: each condition of a tie has each of its places equally often. The orders must reach down
    to the place.

    Returns
    -------
    (sum of (U + 1),)
        Shares of draws, case after case.
    """
    sizes, case_of_order, at = (
        np.diff(layout.support_offsets),
        row_of_each(orders.offsets),
        np.flatnonzero(placed(orders, rank)),
    )
    columns, starts = layout.support_offsets + np.arange(len(sizes) + 1), offsets_from_lengths(sizes[case_of_order])
    order, counts = np.searchsorted(starts, at, side="right") - 1, orders.counts / layout.n_draws
    left = 1.0 - weighted_counts(order, 1.0 / orders.tied[at], len(counts))
    members = columns[case_of_order[order]] + at - starts[order]
    shares = weighted_counts(members, counts[order] / orders.tied[at], columns[-1])
    shares[columns[1:] - 1] = weighted_counts(case_of_order, counts * np.where(left > NOTHING, left, 0.0), len(sizes))
    return shares


def placed(orders: Orders, rank: int) -> BoolArray:
    """Tell which mentioned conditions have a place in each order, perhaps with others, laid out like its standings."""
    above, tied = orders.above, orders.tied
    return np.asarray((above < rank) & (rank <= above + tied))


def place_marks(layout: Layout, orders: Orders, winners: IntArray, rank: int) -> FloatArray:
    """Mark the draws in which the winner of each case has a place, shape (n_cases, n_draws); ties count in part.

    ``winners[i]`` is a position in the support of case ``i``, or U for the unmentioned conditions together.
    """
    sizes, chances = np.diff(layout.support_offsets), placed(orders, rank) / orders.tied
    marks = np.empty(len(orders.counts))
    for case, winner in enumerate(winners):
        shares = chances[orders.starts[case] : orders.starts[case + 1]].reshape(-1, sizes[case])
        left = 1.0 - shares.sum(axis=1)
        of_orders = shares[:, winner] if winner < sizes[case] else np.where(left > NOTHING, left, 0.0)
        marks[orders.offsets[case] : orders.offsets[case + 1]] = of_orders
    return marks[orders.of_draw]


# Unmentioned conditions among the first ---------------------------------------------------------------------


class LeaderRoom(NamedTuple):
    """Hold room for the first conditions of a draw: mentioned ones, and the shares and codes of others.

    Then for every set of draws: plausibilities of the first condition and in the last place that matters, and the rest;
    and how often each condition was found, where ``least`` times are enough to tell it apart.
    """

    best: FloatArray
    members: IntArray
    others: FloatArray
    codes: IntArray
    atoms: Atoms
    ends: FloatArray
    counts: IntArray
    least: IntArray


class Leaders(NamedTuple):
    """Hold which unmentioned conditions are among the first of which draws.

    Attributes
    ----------
    cases, draws, codes, masses
        Of each of them, draw after draw, descending within a draw.
    told
        Zero for conditions that are not told apart, two once for each of the others of a case, one for it elsewhere.
    sets
        To which set of draws each belongs.
    """

    cases: IntArray
    draws: IntArray
    codes: IntArray
    masses: FloatArray
    told: IntArray
    sets: IntArray


def unmentioned_leaders(layout: Layout, values: Sequence[FloatArray], depth: int, share: float) -> list[Leaders]:
    """Find all unmentioned conditions that are among the first ``depth`` conditions of a draw.

    Parameters
    ----------
    layout, values
        Sets of draws of the same cases; in draws of the same number, unmentioned conditions have the same shares of the
        rest.
    depth
        How many places matter.
    share
        In which share of draws a condition must be among the first to be told apart, if it never is the very first.

    Notes
    -----
    A draw is looked at only if its rest mass exceeds the mentioned condition in the last place that matters.
    """
    widths = int(layout.support_offsets[-1]) + len(layout.rest_shapes)
    n_draws, flat = np.array([len(one) // max(widths, 1) for one in values]), np.concatenate(values)
    most, ends = max(int(n_draws.sum()) * depth, ROOM), np.empty((3, len(values)))
    numbers = np.empty(depth), integers(depth), np.empty(depth), integers(depth)
    counts, least = np.zeros((len(values), layout.n_conditions), dtype=np.int64), np.ceil(share * n_draws)
    room = LeaderRoom(*numbers, new_atoms(layout.rest_sums), ends, counts, least.astype(np.int64))
    found = Leaders(integers(most), integers(most), integers(most), np.empty(most), integers(most), integers(most))
    case, parts = 0, []
    while case < len(layout.rest_shapes):
        case, n = find_others(layout, case, flat, n_draws, room, found)
        parts.append([column[:n].copy() for column in found])
    leaders = Leaders(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    if len(values) == 1:
        return [leaders]
    return [Leaders(*(column[leaders.sets == k] for column in leaders)) for k in range(len(values))]


@compiled
def find_others(  # noqa: C901 - what is called once is written here, which compiles faster
    layout: Layout, case: int, values: FloatArray, n_draws: IntArray, room: LeaderRoom, found: Leaders
) -> tuple[int, int]:
    """Write down the unmentioned conditions among the first ones of all draws, from one case on, while there is room.

    Returns
    -------
    case, n
        The case that comes next, and how many were found.
    """
    n, depth, best, others, most, all_draws = 0, len(room.best), room.best, room.others, 0, 0
    top, last, rest = room.ends[0], room.ends[1], room.ends[2]
    widths = layout.support_offsets[len(layout.rest_shapes)] + len(layout.rest_shapes)
    for k in range(len(n_draws)):
        most, all_draws = max(most, n_draws[k]), all_draws + n_draws[k]
    while case < len(layout.rest_shapes) and n + all_draws * depth <= len(found.cases):
        begun = n
        first, key = layout.support_offsets[case], layout.rest_keys[case]
        size = layout.support_offsets[case + 1] - first
        weights = Weights(layout.rest_sums, layout.support[first : first + size], layout.rest_shapes[case])
        for draw in range(most):
            begin, share = 0, 1.0
            for k in range(len(n_draws)):
                if draw < n_draws[k]:
                    source = begin + n_draws[k] * (first + case) + draw * (size + 1)
                    filled, _ = find_leaders(values, source, size, best, room.members)
                    last[k], rest[k] = best[depth - 1] if filled == depth else 0.0, values[source + size]
                    top[k] = best[0]
                    if rest[k] > last[k]:
                        share = min(share, last[k] / rest[k])
                begin += n_draws[k] * widths
            if share == 1.0:
                continue
            limit, none = ROUNDED * share, len(layout.rest_sums)  # no condition is the only one that is wanted
            _, n_others = draw_atoms(1.0, weights, key, draw, limit, others, room.codes, room.atoms, none)
            for k in range(len(n_draws)):
                for i in range(n_others if draw < n_draws[k] else 0):
                    mass = others[i] * rest[k]
                    if mass > last[k]:
                        found.cases[n], found.draws[n], found.codes[n] = case, draw, room.codes[i]
                        found.masses[n], found.sets[n] = mass, k
                        room.counts[k, room.codes[i]] += room.least[k] if i == 0 and mass > top[k] else 1
                        n += 1
        for i in range(begun, n):
            k, code = found.sets[i], found.codes[i]
            found.told[i] = 0 if room.counts[k, code] < room.least[k] else 2 if room.counts[k, code] < SEEN else 1
            room.counts[k, code] += SEEN if found.told[i] == 2 else 0
        for i in range(begun, n):
            room.counts[found.sets[i], found.codes[i]] = 0
        case += 1
    return case, n
