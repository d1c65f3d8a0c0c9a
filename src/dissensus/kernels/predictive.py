"""Probability of a ranking that was left out, averaged over draws of the plausibilities.

A condition that the draws do not know shares their rest mass by a Dirichlet distribution. Shares B of such conditions,
of shapes a with the sum A, enter the probability of a ranking as a product, times something that depends on them
little: E[B_1 ... B_n g(B)] = E[B_1 ... B_n] E*[g(B)], where under E* the shape of each of the n is larger by one. So
the product is integrated exactly, and g, which is constant for one condition in the last place, is averaged over draws
from E*. Nothing is drawn that is nearly always zero.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.kernels.compact import Layout
from dissensus.kernels.jit import compiled, inlined, plain, plain_parts
from dissensus.kernels.likelihood import LATTICE_MOST, log_block_probability
from dissensus.kernels.randomness import Stream, Streams, log_gamma, new_streams, start, subkey

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


class Room(NamedTuple):
    """Hold the arrays that a ranking is worked out in; ``lam`` and ``is_mentioned`` are as long as any ranking."""

    streams: Streams
    lam: FloatArray
    is_mentioned: IntArray
    table: FloatArray
    mass: FloatArray
    lattice_most: int


def log_predictive(
    layout: Layout, values: FloatArray, left_out: LeftOut, *, below: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the log-probability of each ranking and of its first block, averaged over the draws; twice (n_cases,).

    Parameters
    ----------
    below
        Whether conditions that a ranking does not mention rank below; otherwise they do not compete.
    """
    n_cases, subsets = len(layout.rest_shapes), 1 << LATTICE_MOST
    rankings, firsts = np.empty(n_cases), np.empty(n_cases)
    largest = int(np.diff(left_out.mention_offsets[left_out.block_offsets]).max(initial=0))
    widest = int(np.diff(layout.support_offsets).max(initial=0))
    numbers = np.empty(largest), np.zeros(widest, dtype=np.int64), np.empty(subsets), np.empty(subsets)
    room = Room(new_streams(), *numbers, LATTICE_MOST)
    average_probabilities(layout, plain(values), plain_parts(left_out), int(below), room, rankings, firsts)
    return rankings, firsts


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


@compiled
def average_probabilities(  # noqa: C901 - what is called once is written here, which compiles faster
    layout: Layout,
    values: FloatArray,
    left_out: LeftOut,
    below: int,
    room: Room,
    rankings: FloatArray,
    firsts: FloatArray,
) -> None:
    """Do what :func:`log_predictive` says, for plain arrays; ``room.is_mentioned`` is zero before and after."""
    stream, masses, is_mentioned = room.streams[0], room.lam, room.is_mentioned
    mention_offsets, places, totals = left_out.mention_offsets, left_out.places, left_out.totals
    for case in range(len(rankings)):
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
                    log_p += log_block_probability(lam, behind, room.lattice_most, room.table, room.mass)
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
