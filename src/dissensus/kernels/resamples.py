"""Resample annotators and cases."""

from __future__ import annotations

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.ragged import offsets_from_lengths
from dissensus.kernels.jit import compiled, filled
from dissensus.kernels.randomness import Keys, Streams, binomial, exponential, new_streams, start, subkey, uniform

# Number of the random stream that weighs a case in the Bayesian bootstrap: beyond that of any chain.
CASE_STREAM = np.uint64(1 << 32)

# Larger resamples, where annotators share rankings, are counted ranking by ranking and not annotator by annotator.
MANY = 1000


def case_weights(seed: np.uint64, keys: Keys, draws: int) -> FloatArray:
    """Weigh cases for the Bayesian bootstrap, shape (n_cases, draws): exponential, the same for the same key.

    Cases that share a key, as those of one patient do, share their weights.
    """
    return filled(np.empty((len(keys), draws)), fill_weights, seed, keys, new_streams())


@compiled
def fill_weights(seed: np.uint64, keys: Keys, streams: Streams, weights: FloatArray) -> None:
    """Fill in the weights of :func:`case_weights`."""
    stream, (n_cases, draws) = streams[0], weights.shape
    for case in range(n_cases):
        start(stream, subkey(subkey(seed, keys[case]), CASE_STREAM))
        for draw in range(draws):
            weights[case, draw] = exponential(stream)


def resample_counts(ranking_offsets: IntArray, votes: IntArray, keys: Keys, draws: int, size: int) -> FloatArray:
    """Count how often each ranking is in each resample of annotators.

    Parameters
    ----------
    ranking_offsets : (n_cases + 1,)
        Rankings of each case.
    votes : (n_rankings,)
        How many annotators gave each ranking.
    keys : (n_cases,)
        Keys of the random streams.
    draws, size
        Resamples per case, and annotators per resample; size 0 stands for as many as the case has.

    Returns
    -------
    (draws * n_rankings,)
        Case after case, draw after draw, one count per ranking.
    """
    before = offsets_from_lengths(votes)
    ends = before[1:] - np.repeat(before[ranking_offsets[:-1]], np.diff(ranking_offsets))
    counts = np.zeros(draws * ranking_offsets[-1])
    return filled(counts, add_counts, ranking_offsets, ends, keys, draws, size, new_streams())


@compiled
def add_counts(
    ranking_offsets: IntArray, last: IntArray, keys: Keys, draws: int, size: int, streams: Streams, counts: FloatArray
) -> None:
    """Count as :func:`resample_counts` says, from zero; ``last`` counts the votes of a case up to each ranking."""
    stream = streams[0]
    for case in range(len(keys)):
        start(stream, keys[case])
        ends = last[ranking_offsets[case] : ranking_offsets[case + 1]]
        n_rankings, n_annotators = len(ends), ends[-1]
        for draw in range(draws):
            row, left = draws * ranking_offsets[case] + draw * n_rankings, size if size > 0 else n_annotators
            if left > MANY and n_annotators > n_rankings:  # one binomial number for each ranking but the first
                for ranking in range(n_rankings - 1, 0, -1):
                    chosen = binomial(stream, left, (ends[ranking] - ends[ranking - 1]) / ends[ranking])
                    counts[row + ranking] = chosen
                    left -= chosen
                counts[row] = left
                continue
            for _ in range(left):  # annotators one at a time, each with the first ranking that ends after them
                annotator = min(np.int64(uniform(stream) * n_annotators), n_annotators - 1)
                low, high = 0, n_rankings - 1
                while low < high:
                    middle = (low + high) // 2
                    if ends[middle] > annotator:
                        high = middle
                    else:
                        low = middle + 1
                counts[row + low] += 1.0
