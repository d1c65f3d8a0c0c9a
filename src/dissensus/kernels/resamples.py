"""Resample annotators and cases."""

from __future__ import annotations

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.kernels.randomness import Keys, Streams, binomial, drawing, exponential, start, subkey, uniform

# Number of the random stream that weighs a case in the Bayesian bootstrap: beyond that of any chain.
CASE_STREAM = np.uint64(1 << 32)

# Larger resamples, where annotators share rankings, are counted ranking by ranking and not annotator by annotator.
MANY = 1000


@drawing
def case_weights(streams: Streams, seed: np.uint64, keys: Keys, draws: int) -> FloatArray:
    """Weigh cases for the Bayesian bootstrap, shape (n_cases, draws): exponential, the same for the same key.

    Cases that share a key, as those of one patient do, share their weights.
    """
    stream, weights = streams[0], np.empty((len(keys), draws))
    for case in range(len(keys)):
        start(stream, subkey(subkey(seed, keys[case]), CASE_STREAM))
        for draw in range(draws):
            weights[case, draw] = exponential(stream)
    return weights


@drawing
def resample_counts(
    streams: Streams, ranking_offsets: IntArray, votes: IntArray, keys: Keys, draws: int, size: int
) -> FloatArray:
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
    stream, counts, last = streams[0], np.zeros(draws * ranking_offsets[-1]), votes.copy()
    for case in range(len(keys)):
        start(stream, keys[case])
        ends = last[ranking_offsets[case] : ranking_offsets[case + 1]]
        for ranking in range(1, len(ends)):
            ends[ranking] += ends[ranking - 1]
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
    return counts
