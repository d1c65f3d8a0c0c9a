"""Probability of a ranking that was left out, averaged over draws of the plausibilities.

A condition that the draws do not know shares their rest mass by a Dirichlet distribution. Shares B of such conditions,
of shapes a with the sum A, enter the probability of a ranking as a product, times something that depends on them
little: E[B_1 ... B_n g(B)] = E[B_1 ... B_n] E*[g(B)], where under E* the shape of each of the n is larger by one. So
the product is integrated exactly, and g, which is constant for one condition in the last place, is averaged over draws
from E*. Nothing is drawn that is nearly always zero.

Panels are drawn, too: how often would a condition win among the first choices of such annotators? Each names a first
block of the size that was seen, without replacement and in proportion to the plausibilities; the block shares one vote.
Conditions that nobody mentioned share the rest mass by a Dirichlet distribution, which is integrated out: whoever names
one of them names one that was named before in proportion to how often that was, and otherwise one in proportion to the
shapes (Polya's urn).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.kernels.compact import Layout, Weights, next_condition
from dissensus.kernels.jit import inlined, inner
from dissensus.kernels.likelihood import LATTICE_MOST, log_block_probability
from dissensus.kernels.randomness import Keys, Stream, Streams, drawing, log_gamma, start, subkey, uniform

# Number of the random stream of E*, beside those of the draws.
SPLIT = np.uint64(0x5EED)

# Stands in for the shapes of a rest that has none, and no mass.
LEAST = 1e-300


class LeftOut(NamedTuple):
    """Hold one ranking per case, in terms of the draws of the case.

    Attributes
    ----------
    block_offsets : (n_cases + 1,)
        From cases to blocks of tied conditions.
    mention_offsets : (n_blocks + 1,)
        From blocks to conditions.
    places : (n_mentions,)
        Position of each condition in the support of its case, -1 if it is not there.
    shapes : (n_mentions,)
        Shape of a condition outside the support in the split of the rest.
    totals : (n_cases,)
        Sum of the shapes of all conditions outside the support.
    """

    block_offsets: IntArray
    mention_offsets: IntArray
    places: IntArray
    shapes: FloatArray
    totals: FloatArray


@inlined
def split_shares(
    left_out: LeftOut, case: int, n_unbiased: int, has_others: int, stream: Stream, lam: FloatArray
) -> tuple[float, float]:
    """Draw the shares of the conditions outside the support into ``lam``, from E*.

    The last ``n_unbiased`` conditions of the ranking keep their shapes. Returns the share of all others, and the
    logarithm of the expected product over the product.
    """
    first = left_out.mention_offsets[left_out.block_offsets[case]]
    last = left_out.mention_offsets[left_out.block_offsets[case + 1]]
    total, left, n, log_ratio, highest = left_out.totals[case], left_out.totals[case], 0, 0.0, -np.inf
    for i in range(first, last):
        if left_out.places[i] < 0:
            is_biased = 1 if i < last - n_unbiased else 0
            lam[i - first] = log_gamma(stream, left_out.shapes[i] + is_biased)
            highest = max(highest, lam[i - first])
            left -= left_out.shapes[i]
            if is_biased:
                log_ratio += math.log(left_out.shapes[i] / (total + n))
                n += 1
    others = log_gamma(stream, left) if has_others and left > 0.0 else -np.inf
    highest = max(highest, others)
    scale = math.exp(others - highest)
    for i in range(first, last):
        if left_out.places[i] < 0:
            scale += math.exp(lam[i - first] - highest)
    for i in range(first, last):
        if left_out.places[i] < 0:
            log_share = lam[i - first] - highest - math.log(scale)
            if i < last - n_unbiased:
                log_ratio -= log_share
            lam[i - first] = math.exp(log_share)
    return math.exp(others - highest) / scale, log_ratio


@drawing
def log_predictive(  # noqa: C901 - what is called once is written here, which compiles faster
    streams: Streams, layout: Layout, values: FloatArray, left_out: LeftOut, below: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the log-probability of each ranking and of its first block, averaged over the draws; twice (n_cases,).

    Parameters
    ----------
    below
        Whether conditions that a ranking does not mention rank below; otherwise they do not compete.
    """
    stream, n_cases, masses = streams[0], len(layout.rest_shapes), np.empty(len(left_out.places))
    rankings, firsts, is_mentioned = np.empty(n_cases), np.empty(n_cases), np.zeros(layout.n_conditions, np.int64)
    table, mass = np.empty(1 << LATTICE_MOST), np.empty(1 << LATTICE_MOST)
    mention_offsets, places, totals = left_out.mention_offsets, left_out.places, left_out.totals
    for case in range(n_cases):
        size = layout.support_offsets[case + 1] - layout.support_offsets[case]
        flat = layout.n_draws * (layout.support_offsets[case] + case)
        first_block, last_block = left_out.block_offsets[case], left_out.block_offsets[case + 1]
        first, last = mention_offsets[first_block], mention_offsets[last_block]
        n_new = 0
        for i in range(first, last):
            if places[i] < 0:
                n_new += 1
            else:
                is_mentioned[places[i]] = 1
        is_contested = 1 if below and last - first < layout.n_conditions else 0
        n_unbiased = 0 if is_contested else last - mention_offsets[last_block - 1]
        has_others = 1 if size + n_new < layout.n_conditions else 0
        highest, total, in_first = -np.inf, 0.0, 0.0
        for draw in range(layout.n_draws):
            share, log_ratio = float(has_others), 0.0
            for i in range(last - first):
                masses[i] = 0.0
            if n_new > 0 and totals[case] > 0.0:
                start(stream, subkey(subkey(layout.rest_keys[case], SPLIT), np.uint64(draw)))
                share, log_ratio = split_shares(left_out, case, n_unbiased, has_others, stream, masses)
            rest, of_first, behind, log_p = values[flat + size], 0.0, 0.0, 0.0
            for i in range(first, last):
                own = values[flat + places[i]] if places[i] >= 0 else rest * masses[i - first]
                if i < mention_offsets[first_block + 1]:
                    of_first += own if places[i] >= 0 else rest * left_out.shapes[i] / max(totals[case], LEAST)
                masses[i - first] = own
            in_first += of_first
            if is_contested:
                behind = rest * share
                for j in range(size):
                    if is_mentioned[j] == 0:
                        behind += values[flat + j]
            for b in range(last_block - 1, first_block - 1, -1):
                lam = masses[mention_offsets[b] - first : mention_offsets[b + 1] - first]
                if is_contested or b < last_block - 1:
                    is_possible = True
                    for k in range(len(lam)):
                        is_possible &= lam[k] > 0.0
                    if not is_possible:
                        log_p = -np.inf
                        break
                    log_p += log_block_probability(lam, behind, LATTICE_MOST, table, mass)
                for k in range(len(lam)):
                    behind += lam[k]
            log_p += log_ratio
            if log_p > highest:
                total, highest = total * math.exp(highest - log_p) + 1.0, log_p
            elif log_p > -np.inf:
                total += math.exp(log_p - highest)
            flat += size + 1
        for i in range(first, last):
            if places[i] >= 0:
                is_mentioned[places[i]] = 0
        rankings[case] = highest + math.log(total / layout.n_draws) if total > 0.0 else -np.inf
        firsts[case] = math.log(in_first / layout.n_draws) if in_first > 0.0 else -np.inf
    return rankings, firsts


# Panels -------------------------------------------------------------------------------------------------

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

    votes: FloatArray
    is_named: IntArray
    others: IntArray
    other_votes: FloatArray
    urn: IntArray


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


@drawing
def winning_chances(  # noqa: C901 - what is called once is written here, which compiles faster
    streams: Streams, layout: Layout, values: FloatArray, panels: Panels
) -> FloatArray:
    """Return how often each target wins, averaged over draws, shape (n_targets,); those who tie share the win."""
    stream, sums, most, widest = streams[0], layout.rest_sums, 1, layout.n_conditions
    if len(sums) == 0:
        sums = np.arange(layout.n_conditions + 1).astype(np.float64)
    for size in panels.sizes:
        most += size
    support, others = (np.empty(widest), np.empty(widest, np.int64)), (np.empty(most, np.int64), np.empty(most))
    room, chances = VoteRoom(*support, *others, np.empty(most, np.int64)), np.zeros(len(panels.targets))
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
    return chances / layout.n_draws
