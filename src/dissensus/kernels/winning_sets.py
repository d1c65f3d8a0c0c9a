"""How often the draws of a case agree on their first conditions, ties and unmentioned conditions by expectation.

For a given number of first places, ``top``, the outcome of a draw is which mentioned conditions are surely among them
and which are tied for the last of these places, together with unmentioned conditions or not. Draws with one outcome
are counted together, so all that follows costs by the number of different outcomes. An outcome is a row of numbers:
the sure members as a set of bits, the tied ones as another, how many unmentioned conditions are sure, and how many are
tied. A set of mentioned conditions *fits* an outcome if it has all sure members and otherwise tied ones only; the
unmentioned conditions that complete it are exchangeable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.ragged import row_of_each
from dissensus.kernels.compact import Layout
from dissensus.kernels.gains import Named, contained_sets
from dissensus.kernels.jit import compiled, inlined, inner
from dissensus.kernels.orders import Orders

# Conditions per number.
BITS = 64

# Improvements below rounding are not worth a search.
SLACK = 1.0 + 1e-14


class Outcomes(NamedTuple):
    """Count the different outcomes of the draws of a case.

    Attributes
    ----------
    rows : (n_draws + 1, 2 * n_words + 2)
        The outcomes, in the order of their first draw, and room for one more.
    counts : (n_draws,)
        How many draws have each outcome.
    slots : (a power of two,)
        Hash table: where an outcome stands, or -1.
    """

    rows: IntArray
    counts: IntArray
    slots: IntArray


class Search(NamedTuple):
    """Hold the arrays that a search is worked out in.

    Attributes
    ----------
    members : (n_words,)
        The best set so far.
    weights, order : (n_orders,)
        What each outcome adds, and those that add something, the weightiest first.
    lows, highs : (n_orders + 2, n_words)
        The smallest and the largest set of each branch, and one more to try.
    following, sums : (n_orders + 1,)
        The next outcome to take into each branch, and what it has in all.
    """

    members: IntArray
    weights: FloatArray
    order: IntArray
    lows: IntArray
    highs: IntArray
    following: IntArray
    sums: FloatArray


@inlined
def add_outcome(outcomes: Outcomes, width: int, n_found: int, count: int) -> int:
    """Count the row behind the outcomes so far: to one of them, or as a new one; return how many there are then."""
    rows, slots = outcomes.rows, outcomes.slots
    code = np.int64(0)
    for i in range(width):
        code = (code ^ rows[n_found, i]) * 0x2545F4914F6CDD1D
        code ^= code >> 29
    mask = len(slots) - 1
    slot = code & mask
    while slots[slot] >= 0:
        place, same = slots[slot], True
        for i in range(width):
            same &= rows[place, i] == rows[n_found, i]
        if same:
            outcomes.counts[place] += count
            return n_found
        slot = (slot + 1) & mask
    slots[slot] = n_found
    outcomes.counts[n_found] = count
    return n_found + 1


@inner
def count_outcomes(orders: Orders, case: int, size: int, top: int, outcomes: Outcomes) -> int:
    """Count the outcomes of a case with ``size`` mentioned conditions; return how many there are."""
    words, rows = row_words(size), outcomes.rows
    for slot in range(len(outcomes.slots)):
        outcomes.slots[slot] = -1
    n_found, place = size - size, orders.starts[case]  # zero, but not a constant: see set_size
    for order in range(orders.offsets[case], orders.offsets[case + 1]):
        for i in range(2 * words + 2):
            rows[n_found, i] = 0
        n_sure, n_tied, above_tie, tie = 0, 0, 0, 0
        for k in range(size):
            above, tied = orders.above[place + k], orders.tied[place + k]
            if above + tied <= top:
                rows[n_found, k >> 6] |= 1 << (k & 63)
                n_sure += 1
            elif above < top:
                rows[n_found, words + (k >> 6)] |= 1 << (k & 63)
                n_tied, above_tie, tie = n_tied + 1, above, tied
        if n_tied > 0:
            rows[n_found, 2 * words], rows[n_found, 2 * words + 1] = above_tie - n_sure, tie - n_tied
        n_found = add_outcome(outcomes, 2 * words + 2, n_found, orders.counts[order])
        place += size
    return n_found


@inlined
def row_words(size: int) -> int:
    """Count the numbers that hold a set of mentioned conditions."""
    return max(1, (size + BITS - 1) // BITS)


@inner
def set_size(row: IntArray, stop: int, words: int) -> int:
    """Count the members of a set that ends at ``stop``.

    Its start would often be the constant zero, and Numba compiles a function once more for a constant.
    """
    total = 0
    for i in range(stop - words, stop):
        word = row[i]
        while word != 0:
            word &= word - 1
            total += 1
    return total


@inner
def one_in_choices(n: int, k: int) -> float:
    """Return one divided by the number of ways to choose k of n."""
    result = 1.0
    for i in range(min(k, n - k)):
        result *= (i + 1) / (n - i)
    return result


@inner
def tie_chance(n_tied: int, n_others: int, places: int, others: int) -> float:
    """Return the probability that a certain part of the tied mentioned conditions wins the places left.

    ``places`` go to ``n_tied`` mentioned and ``n_others`` unmentioned conditions at random; ``others`` of them should
    go to any unmentioned ones. Every factor is at most one, so nothing overflows.
    """
    n = n_tied + n_others
    if others < 0 or others > n_others:
        return 0.0
    if 2 * places > n:
        places, others = n - places, n_others - others
    result = 1.0
    for i in range(others):
        result *= (n_others - i) / (n - i)
    for i in range(others, places):
        result *= (i + 1) / (n - i)
    return result


@inner
def joined(row: IntArray, low: IntArray, high: IntArray, next_low: IntArray, next_high: IntArray, size: int) -> bool:
    """Narrow the sets between ``low`` and ``high`` to those that fit an outcome; tell whether any has this size."""
    words = len(low)
    for i in range(words):
        next_low[i] = low[i] | row[i]
        next_high[i] = high[i] & (row[i] | row[words + i])
        if next_low[i] & ~next_high[i]:
            return False
    return set_size(next_low, words, words) <= size <= set_size(next_high, words, words)


@inner
def weightiest_first(
    outcomes: Outcomes, n_found: int, words: int, top: int, size: int, share: float, search: Search
) -> int:
    """Write down what each outcome adds to a set with ``size`` mentioned members; sort those that add something.

    ``share`` is the probability of the unmentioned conditions that complete it, given their number.
    """
    weights, order, n_kept = search.weights, search.order, 0
    for i in range(n_found):
        row = outcomes.rows[i]
        n_sure, n_tied, other_sure = set_size(row, words, words), set_size(row, 2 * words, words), row[2 * words]
        weights[i] = 0.0
        if n_sure <= size <= n_sure + n_tied:
            chance = share
            if n_tied > 0:
                others, places = top - size - other_sure, top - n_sure - other_sure
                chance *= tie_chance(n_tied, row[2 * words + 1], places, others)
            weights[i] = outcomes.counts[i] * chance
        if weights[i] > 0.0:
            place = n_kept
            while place > 0 and weights[order[place - 1]] < weights[i]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = i
            n_kept += 1
    return n_kept


@inner
def search_size(rows: IntArray, n: int, size: int, best: float, words: int, search: Search) -> float:
    """Find the most probable set with ``size`` mentioned members, if it is better than the best one so far.

    The sets that fit an outcome are those between its sure members and these with all its tied ones. Outcomes are
    taken together as long as some set fits them all, the weightiest first. A branch is left when all that could still
    be taken would not make it better than the best one, or when only one set is left.
    """
    members, weights, order, lows, highs, following, sums = search
    spare_low, spare_high = lows[n + 1][:words], highs[n + 1][:words]
    for i in range(words):
        lows[0, i], highs[0, i] = 0, -1
    following[0], sums[0], depth = 0, 0.0, 0
    while depth >= 0:
        low, high, found = lows[depth][:words], highs[depth][:words], -1
        limit = sums[depth]
        for i in range(n - 1, following[depth] - 1, -1):
            if joined(rows[order[i]], low, high, spare_low, spare_high, size):
                limit += weights[order[i]]
                found = i
        if found < 0 or limit <= best * SLACK:
            depth -= 1
            continue
        following[depth] = found + 1
        next_low, next_high = lows[depth + 1][:words], highs[depth + 1][:words]
        joined(rows[order[found]], low, high, next_low, next_high, size)
        value = sums[depth] + weights[order[found]]
        if set_size(next_low, words, words) == size or set_size(next_high, words, words) == size:
            only = next_low if set_size(next_low, words, words) == size else next_high
            value = 0.0
            for i in range(n):
                if joined(rows[order[i]], only, only, spare_low, spare_high, size):
                    value += weights[order[i]]
        else:
            depth += 1
            following[depth], sums[depth] = found + 1, value
        if value > best:
            best = value  # all of the smallest set, and the first few more of the largest
            missing = size - set_size(next_low, words, words)
            for i in range(words):
                members[i], others = next_low[i], next_high[i] & ~next_low[i]
                while missing > 0 and others != 0:
                    members[i] |= others & -others
                    others &= others - 1
                    missing -= 1
    return best


@compiled
def winning_members(layout: Layout, orders: Orders, tops: IntArray, is_pooled: bool) -> IntArray:
    """Find the most probable set of first conditions of every case, for several numbers of them.

    Parameters
    ----------
    layout, orders
        The draws, and their orders, down to a depth of the largest top or more.
    tops : (n_tops,)
        Numbers of first places.
    is_pooled
        Whether all unmentioned conditions count as one.

    Returns
    -------
    (n_tops, sum of U)
        One for the mentioned conditions that belong to the set of their case, zero for the others. As many unmentioned
        conditions as are missing to the top complete the set.

    Notes
    -----
    Without ties the commonest set wins, the first of several. Where draws have ties, one number of mentioned members is
    tried after the other.
    """
    most, largest, n_cases = 1, 0, len(layout.rest_shapes)
    for case in range(n_cases):
        most = max(most, orders.offsets[case + 1] - orders.offsets[case])
        largest = max(largest, layout.support_offsets[case + 1] - layout.support_offsets[case])
    words, n_slots = row_words(largest), 1
    while n_slots < 2 * most:
        n_slots *= 2
    rows, counts = np.empty((most + 1, 2 * words + 2), np.int64), np.empty(most, np.int64)
    outcomes = Outcomes(rows, counts, np.empty(n_slots, np.int64))
    lows, highs = np.empty((most + 2, words), np.int64), np.empty((most + 2, words), np.int64)
    order, following = np.empty(most, np.int64), np.empty(most + 1, np.int64)
    members, weights, sums = np.empty(words, np.int64), np.empty(most), np.empty(most + 1)
    search = Search(members, weights, order, lows, highs, following, sums)
    is_member = np.zeros((len(tops), len(layout.support)), np.int64)
    for case in range(n_cases):
        first = layout.support_offsets[case]
        size = layout.support_offsets[case + 1] - first
        for t in range(len(tops)):
            words, top, best, has_ties = row_words(size), tops[t], -1.0, False
            n_found = count_outcomes(orders, case, size, top, outcomes)
            for i in range(n_found):
                has_ties |= set_size(outcomes.rows[i], 2 * words, words) > 0
                value = float(outcomes.counts[i])
                if not is_pooled:
                    n_sure = set_size(outcomes.rows[i], words, words)
                    value *= one_in_choices(layout.n_conditions - size, top - n_sure)
                if value > best:
                    best = value
                    for word in range(words):
                        members[word] = outcomes.rows[i, word]
            if has_ties:
                best = -1.0
                for n_mentioned in range(top + 1):
                    share = 1.0 if is_pooled else one_in_choices(layout.n_conditions - size, top - n_mentioned)
                    n_kept = weightiest_first(outcomes, n_found, words, top, n_mentioned, share, search)
                    best = search_size(outcomes.rows, n_kept, n_mentioned, best, words, search)
            for k in range(size):
                is_member[t, first + k] = members[k >> 6] >> (k & 63) & 1
    return is_member


def set_chances(layout: Layout, orders: Orders, tops: IntArray, is_pooled: bool, is_member: IntArray) -> FloatArray:
    """Return the probability that one set per case is that of the first conditions of each order, shape (n_orders,).

    Parameters
    ----------
    layout, orders, is_pooled
        See :func:`winning_members`.
    tops : (n_cases,)
        Number of members of each set, mentioned or not.
    is_member : (sum of U,)
        One for the mentioned conditions that belong to the set of their case, zero for the others.
    """
    sizes, none = np.diff(layout.support_offsets), np.zeros(len(tops), dtype=np.int64)
    members = np.bincount(row_of_each(layout.support_offsets)[is_member == 1], minlength=len(tops))
    named, least = (members + layout.n_conditions - sizes, members) if is_pooled else (tops, none)
    return contained_sets(layout, orders, tops, Named(2 * is_member, named, named, none, least))
