"""Resample the annotators of each case with replacement."""

from __future__ import annotations

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.jit import compiled, plain
from dissensus.kernels.randomness import Keys, Streams, exponential, new_streams, start, subkey, uniform

CASE_STREAM = np.uint64(1 << 32)
"""Number of the random stream that weighs a case in the Bayesian bootstrap: beyond that of any chain."""


def case_weights(seed: np.uint64, keys: Keys, draws: int) -> FloatArray:
    """Weigh cases for the Bayesian bootstrap, shape (n_cases, draws): exponential, the same for the same key.

    Cases that share a key, as those of one patient do, share their weights.
    """
    weights = np.empty((len(keys), draws))
    fill_weights(seed, plain(keys), weights, new_streams())
    return weights


@compiled
def fill_weights(seed: np.uint64, keys: Keys, weights: FloatArray, streams: Streams) -> None:
    """Fill in the weights of :func:`case_weights`."""
    stream, (n_cases, draws) = streams[0], weights.shape
    for case in range(n_cases):
        start(stream, subkey(subkey(seed, keys[case]), CASE_STREAM))
        for draw in range(draws):
            weights[case, draw] = exponential(stream)


def resample_counts(ranking_offsets: IntArray, keys: Keys, draws: int, size: int) -> FloatArray:
    """Count how often each ranking is in each resample.

    Parameters
    ----------
    ranking_offsets : (n_cases + 1,)
        Rankings of each case.
    keys : (n_cases,)
        Keys of the random streams.
    draws, size
        Resamples per case, and rankings per resample; size 0 stands for as many as the case has.

    Returns
    -------
    (draws * n_rankings,)
        Case after case, draw after draw, one count per ranking.
    """
    counts = np.zeros(draws * ranking_offsets[-1])
    add_counts(plain(ranking_offsets), plain(keys), draws, size, counts, new_streams())
    return counts


@compiled
def add_counts(
    ranking_offsets: IntArray, keys: Keys, draws: int, size: int, counts: FloatArray, streams: Streams
) -> None:
    """Count as :func:`resample_counts` says, from zero."""
    stream = streams[0]
    for case in range(len(keys)):
        start(stream, keys[case])
        n_rankings = ranking_offsets[case + 1] - ranking_offsets[case]
        for draw in range(draws):
            row = draws * ranking_offsets[case] + draw * n_rankings
            for _ in range(size if size > 0 else n_rankings):
                counts[row + min(np.int64(uniform(stream) * n_rankings), n_rankings - 1)] += 1.0
