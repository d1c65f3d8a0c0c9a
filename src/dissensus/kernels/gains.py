"""Compare draws with the predictions of a model, on the support of each case.

Ties are broken at random and unmentioned conditions are exchangeable in a draw; every number is the exact expectation
over both. What depends on the order of conditions only is computed once for every different order.

The standing of a condition in the predictions is two counts over all K conditions: ``above``, those strictly better,
and ``tied``, those as good, itself included. With ties broken at random it is among the first j with probability
``clip((j - above) / tied, 0, 1)``. Standings are written out for the support of each case only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.kernels.compact import Layout
from dissensus.kernels.jit import compiled, inner
from dissensus.kernels.orders import Orders

# Standings -----------------------------------------------------------------------------------------------


class Standings(NamedTuple):
    """Hold the standings of the supports of some cases, side by side: how many are better, and how many as good."""

    above: IntArray
    tied: IntArray


@compiled
def predicted_standings(
    listed: tuple[IntArray, IntArray, FloatArray], rows: IntArray, support_offsets: IntArray, support: IntArray, n: int
) -> tuple[Standings, FloatArray]:
    """Find the standing and the value of every mentioned condition in the predictions of a model.

    Parameters
    ----------
    listed
        Offsets, codes and values of the listed conditions of the cases of the model, best first; all others are tied
        below them with the value zero. These arrays are read-only, as predictions are.
    rows : (n_cases,)
        Where each case stands among those of the model.
    support_offsets, support
        Codes of the mentioned conditions of each case.
    n
        Number of conditions, K.

    Returns
    -------
    Standings and values, each of shape (sum of U,).
    """
    offsets, codes, values = listed
    above, tied = np.empty(len(support), np.int64), np.empty(len(support), np.int64)
    found, member_of = np.zeros(len(support)), np.full(n, -1)
    for case in range(len(support_offsets) - 1):
        start, stop = offsets[rows[case]], offsets[rows[case] + 1]
        first, last = support_offsets[case], support_offsets[case + 1]
        for member in range(first, last):
            member_of[support[member]] = member
            above[member], tied[member] = stop - start, n - (stop - start)
        missing = last - first
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
        for member in range(first, last):
            member_of[support[member]] = -1
    return Standings(above, tied), found


# Sums over conditions ------------------------------------------------------------------------------------


@compiled
def expected_gains(layout: Layout, drawn: Orders, bases: FloatArray, gains: FloatArray) -> FloatArray:
    """Add up what the mentioned conditions gain by their places in each order.

    Parameters
    ----------
    layout, drawn
        The draws, and their orders.
    bases : (n_cases,)
        What a draw with unmentioned conditions only is worth.
    gains : (sum of U, n_places + 1)
        What is gained by each mentioned condition in the first place, the second and so on instead of an unmentioned
        one; the last column, for all places beyond, holds zeros.

    Returns
    -------
    (n_orders,)

    Notes
    -----
    A condition in a tie has each place of the tie with equal probability.
    """
    n_places, start, worths = gains.shape[1] - 1, 0, np.empty(len(drawn.counts))
    for case in range(len(bases)):
        first = layout.support_offsets[case]
        size = layout.support_offsets[case + 1] - first
        for order in range(drawn.offsets[case], drawn.offsets[case + 1]):
            worth = bases[case]
            for k in range(size):
                above, tied = min(drawn.above[start + k], n_places), drawn.tied[start + k]
                if tied > 1 and above < n_places:
                    total = 0.0
                    for place_in_tie in range(above, min(above + tied, n_places)):
                        total += gains[first + k, place_in_tie]
                    worth += total / tied
                else:
                    worth += gains[first + k, above]
            worths[order] = worth
            start += size
    return worths


def expected_values(layout: Layout, values: FloatArray, worths: FloatArray, rest_worths: FloatArray) -> FloatArray:
    """Average what the conditions are worth, weighted by their plausibility; a condition without any does not count.

    Parameters
    ----------
    layout, values
        The draws.
    worths : (sum of U,)
        What each mentioned condition is worth.
    rest_worths : (n_cases,)
        What an unmentioned condition is worth, on average.

    Returns
    -------
    (n_cases, n_draws)
    """
    averages = np.empty((len(rest_worths), layout.n_draws))
    for case, rest in enumerate(rest_worths):
        first, last = layout.support_offsets[case], layout.support_offsets[case + 1]
        draws = values[layout.n_draws * (first + case) : layout.n_draws * (last + case + 1)].reshape(layout.n_draws, -1)
        with np.errstate(invalid="ignore"):  # nothing times infinity
            worth = draws * np.append(worths[first:last], rest)
        averages[case] = worth.sum(axis=1, where=draws > 0.0)
    return averages


# Sets ----------------------------------------------------------------------------------------------------


@inner
def log_binomial(n: int, r: int) -> float:
    """Return the logarithm of n choose r, for small r or n - r."""
    if r < 0 or r > n:
        return -np.inf
    total = 0.0
    for i in range(min(r, n - r)):
        total += math.log((n - i) / (i + 1))
    return total


class Named(NamedTuple):
    """Say which conditions are named on each case: those of a set, or the first ones of a model.

    Attributes
    ----------
    status : (sum of U,)
        Two for a mentioned condition that is surely named, one if it is in a tie of which only some are, else zero.
    sizes, above, tied : (n_cases,)
        How many are named, how many of them surely, and how many are in the tie; zero if there is none.
    least : (n_cases,)
        How many mentioned conditions there must be among those that are looked for.
    """

    status: IntArray
    sizes: IntArray
    above: IntArray
    tied: IntArray
    least: IntArray


@compiled
def contained_sets(  # noqa: C901 - what is called once is written here, which compiles faster
    layout: Layout, drawn: Orders, sizes: IntArray, named: Named
) -> FloatArray:
    """Return the probability that the first conditions of an order are all among those that are named, (n_orders,).

    Parameters
    ----------
    layout, drawn
        The draws, and their orders.
    sizes : (n_cases,)
        How many first conditions; if as many are named, both sets are the same. Where there are none, the probability
        is zero.

    Notes
    -----
    Sums over what the top j consist of: how many mentioned conditions of the tie across place j are surely named, how
    many are in the tie of which only some are, and how many of the unmentioned conditions, which are any of them with
    equal probability, are in that tie. If g conditions are in it, and it has t conditions for p places, all are named
    with probability (t - g choose p - g) / (t choose p).

    In the loops, of the conditions that are surely in the top j of an order, ``cut`` mentioned ones are in the tie of
    which some are named and some are unmentioned. The tie across place j gives ``n_places`` more; ``free_sure``
    mentioned ones of it are surely named, ``free_cut`` are in the other tie.
    """
    start, chances = 0, np.zeros(len(drawn.counts))
    for case in range(len(sizes)):
        first, end, j, tie = (
            layout.support_offsets[case],
            layout.support_offsets[case + 1],
            sizes[case],
            named.tied[case],
        )
        rest_sure, rest_cut, places = named.above[case], tie, named.sizes[case] - named.above[case]
        none = j - j  # zero, but not a constant, which Numba would compile functions for once more
        for member in range(first, end):
            rest_sure -= named.status[member] == 2
            rest_cut -= named.status[member] == 1
        all_rest = layout.n_conditions - (end - first)
        for order in range(drawn.offsets[case], drawn.offsets[case + 1]):
            in_top, cut, above, tied, group, free_sure, free_cut = none, none, none + j, none, none, none, none
            possible = j > 0
            for member in range(first, end):
                flat, status = start + member - first, named.status[member]
                if drawn.above[flat] + drawn.tied[flat] <= j:
                    possible = possible and status > 0
                    in_top += 1
                    cut += status == 1
                elif drawn.above[flat] < j:
                    above, tied = drawn.above[flat], drawn.tied[flat]
                    group += 1
                    free_sure += status == 2
                    free_cut += status == 1
                if not possible:
                    break
            start += end - first
            if not possible:
                continue
            n_places, tied_rest = j - above, tied - group
            for sure in range(min(free_sure, n_places) + 1):
                for more in range(min(free_cut, n_places - sure) + 1):
                    others = n_places - sure - more
                    if others > tied_rest or in_top + sure + more < named.least[case]:
                        continue
                    unmentioned = above - in_top + others
                    ways = log_binomial(free_sure, sure) + log_binomial(free_cut, more)
                    ways += log_binomial(tied_rest, others)
                    ways -= log_binomial(tied, n_places) + log_binomial(all_rest, unmentioned)
                    for w in range(min(rest_cut, unmentioned) + 1):
                        log_p = ways + log_binomial(rest_sure, unmentioned - w) + log_binomial(rest_cut, w)
                        in_tie = cut + more + w
                        if in_tie > 0:
                            log_p += log_binomial(tie - in_tie, places - in_tie) - log_binomial(tie, places)
                        chances[order] += math.exp(log_p)
    return chances


# Lists of the first k ------------------------------------------------------------------------------------
#
# A list holds k conditions, best first; conditions in a tie that crosses place k are in it with equal probability,
# ties within the list stay ties, and all conditions outside are tied below it.


@inner
def listed(above: int, tied: int, k: int) -> float:
    """Return the probability that a condition is in the list."""
    return 0.0 if above >= k else min(1.0, (k - above) / tied)


@inner
def chance_before(above: int, tied: int, other_above: int, k: int) -> float:
    """Return the probability that a list puts one condition before another one."""
    if above >= k or above > other_above:
        return 0.0
    if above < other_above:
        return listed(above, tied, k)
    places = min(k - above, tied)
    return places * (tied - places) / (tied * (tied - 1.0)) if places < tied else 0.0


@inner
def place(above: int, tied: int, k: int) -> float:
    """Return the mean place, from 1, of a block in the list."""
    return above + (min(k - above, tied) + 1) / 2


@inner
def drawn_blocks(
    above: IntArray, tied: IntArray, has_rest: int, n_rest: int, sizes: IntArray, counts: IntArray
) -> None:
    """Find the blocks of one draw that begin within the list, as ``Predicted.blocks`` does for a model.

    Unmentioned conditions with some mass are never tied with each other; without any they all are.
    """
    k = len(sizes)
    for a in range(k):
        sizes[a], counts[a] = 0, 0
    for member in range(len(above)):
        if above[member] < k:
            sizes[above[member]] = tied[member]
            counts[above[member]] += 1
    a, left = 0, n_rest
    while a < k:
        if sizes[a] > 0:
            counts[a] = sizes[a] - counts[a]
        elif left > 0:
            sizes[a] = 1 if has_rest else left
            counts[a] = sizes[a]
        else:
            break
        left -= counts[a]
        a += sizes[a]


@inner
def beside_rest(above: int, tied: int, sizes: IntArray, counts: IntArray, n_rest: int) -> tuple[float, float]:
    """Return how many unmentioned conditions a list puts after a mentioned one, and before it."""
    k = len(sizes)
    after, before, left = 0.0, 0.0, n_rest
    for a in range(k):
        if counts[a] > 0:
            after += counts[a] * chance_before(above, tied, a, k)
            before += counts[a] * chance_before(a, sizes[a], above, k)
            left -= counts[a]
    return after + left * listed(above, tied, k), before


@inner
def tied_share(sizes: IntArray, counts: IntArray, n_rest: int) -> float:
    """Return the share of the pairs of unmentioned conditions that are tied in a list."""
    k = len(sizes)
    ordered, left = 0.0, n_rest
    for a in range(k):
        if counts[a] > 0:
            left -= counts[a]
            ordered += counts[a] * left * listed(a, sizes[a], k)
            ordered += counts[a] * (counts[a] - 1) * chance_before(a, sizes[a], a, k)
    return 1.0 - ordered / (n_rest * (n_rest - 1) / 2)


@inner
def pair_distance(before: float, after: float, other_before: float, other_after: float) -> float:
    """Return the expected distance of a pair: 1 if ordered oppositely, 1/2 if tied in one list only."""
    tied, other_tied = 1.0 - before - after, 1.0 - other_before - other_after
    return before * other_after + after * other_before + 0.5 * (tied + other_tied) - tied * other_tied


@compiled
def kendall_distances(
    layout: Layout, drawn: Orders, predicted: Standings, predicted_sizes: IntArray, predicted_counts: IntArray
) -> FloatArray:
    """Count the pairs of conditions on which the list of a draw and the list of the model differ.

    Parameters
    ----------
    layout, drawn
        The draws, and their orders.
    predicted, predicted_sizes, predicted_counts
        Standings of the model, and the blocks that begin within the list, (n_cases, k): column ``a`` is the block with
        ``a`` conditions above it, how many conditions it has, and how many of them nobody mentioned.

    Returns
    -------
    (n_orders,)
    """
    (n_cases, k), start, distances = predicted_sizes.shape, 0, np.zeros(len(drawn.counts))
    sizes, counts, most = np.empty(k, np.int64), np.empty(k, np.int64), 0
    for case in range(n_cases):
        most = max(most, layout.support_offsets[case + 1] - layout.support_offsets[case])
    ahead = np.empty((most, most))  # chance that the list of the model has one mentioned condition before another one
    beside = np.empty((most, 2))  # share of the unmentioned ones that it has after a mentioned one, and before it
    for case in range(n_cases):
        first, end = layout.support_offsets[case], layout.support_offsets[case + 1]
        size, n_rest = end - first, layout.n_conditions - (end - first)
        sizes_p, counts_p = predicted_sizes[case], predicted_counts[case]
        for i in range(size):
            above_p, tied_p = predicted.above[first + i], predicted.tied[first + i]
            for j in range(size):
                ahead[i, j] = chance_before(above_p, tied_p, predicted.above[first + j], k)
            after, before = beside_rest(above_p, tied_p, sizes_p, counts_p, n_rest)
            beside[i, 0], beside[i, 1] = after / n_rest, before / n_rest
        tied_rest = tied_share(sizes_p, counts_p, n_rest)
        for order in range(drawn.offsets[case], drawn.offsets[case + 1]):
            above, tied = drawn.above[start : start + size], drawn.tied[start : start + size]
            drawn_blocks(above, tied, drawn.has_rest[order], n_rest, sizes, counts)
            start += size
            distance = 0.0
            for i in range(size):
                for j in range(i):
                    distance += pair_distance(
                        chance_before(above[i], tied[i], above[j], k),
                        chance_before(above[j], tied[j], above[i], k),
                        ahead[i, j],
                        ahead[j, i],
                    )
                if n_rest > 0:
                    after, before = beside_rest(above[i], tied[i], sizes, counts, n_rest)
                    distance += n_rest * pair_distance(after / n_rest, before / n_rest, beside[i, 0], beside[i, 1])
            if n_rest > 1:
                distance += n_rest * (n_rest - 1) / 4 * (1.0 - tied_share(sizes, counts, n_rest) * tied_rest)
            distances[order] = distance
    return distances


@inner
def spread(sizes: IntArray, counts: IntArray, expected: FloatArray) -> float:
    """Write down how many unmentioned conditions are listed in each block, in expectation; return their number."""
    k, total = len(sizes), 0.0
    for a in range(k):
        expected[a] = counts[a] * listed(a, sizes[a], k) if counts[a] > 0 else 0.0
        total += expected[a]
    return total


@compiled
def footrule_distances(
    layout: Layout, drawn: Orders, predicted: Standings, predicted_sizes: IntArray, predicted_counts: IntArray
) -> FloatArray:
    """Add up how far each condition is from its place in the list of the model; see :func:`kendall_distances`."""
    (n_cases, k), start, distances = predicted_sizes.shape, 0, np.zeros(len(drawn.counts))
    sizes, counts, expected, expected_p = np.empty(k, np.int64), np.empty(k, np.int64), np.empty(k), np.empty(k)
    bottom = (k + 1 + layout.n_conditions) / 2
    for case in range(n_cases):
        first, end = layout.support_offsets[case], layout.support_offsets[case + 1]
        size, n_rest = end - first, layout.n_conditions - (end - first)
        sizes_p, counts_p = predicted_sizes[case], predicted_counts[case]
        total_p = spread(sizes_p, counts_p, expected_p)
        for order in range(drawn.offsets[case], drawn.offsets[case + 1]):
            above, tied = drawn.above[start : start + size], drawn.tied[start : start + size]
            drawn_blocks(above, tied, drawn.has_rest[order], n_rest, sizes, counts)
            start += size
            total = spread(sizes, counts, expected)
            distance = 0.0
            for i in range(size):
                above_p, tied_p = predicted.above[first + i], predicted.tied[first + i]
                chance, chance_p = listed(above[i], tied[i], k), listed(above_p, tied_p, k)
                here, there = place(above[i], tied[i], k), place(above_p, tied_p, k)
                distance += chance * chance_p * abs(here - there)
                distance += chance * (1.0 - chance_p) * (bottom - here)
                distance += chance_p * (1.0 - chance) * (bottom - there)
            moved = 0.0
            for a in range(k):
                if expected[a] > 0.0:
                    here = place(a, sizes[a], k)
                    moved += expected[a] * (n_rest - total_p) * (bottom - here)
                    for b in range(k):
                        if expected_p[b] > 0.0:
                            moved += expected[a] * expected_p[b] * abs(here - place(b, sizes_p[b], k))
                if expected_p[a] > 0.0:
                    moved += expected_p[a] * (n_rest - total) * (bottom - place(a, sizes_p[a], k))
            distances[order] = distance + (moved / n_rest if n_rest > 0 else 0.0)
    return distances
