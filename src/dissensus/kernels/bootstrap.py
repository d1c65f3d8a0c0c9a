"""Resample the annotators of each case with replacement."""

from __future__ import annotations

import numpy as np

from dissensus.kernels.compiling import compiled
from dissensus.kernels.randomness import STREAM, Keys, exponential, start, subkey, uniform
from dissensus.typing import FloatArray, IntArray

CASE_STREAM = np.uint64(1 << 32)
"""Number of the random stream that weighs a case in the Bayesian bootstrap: beyond that of any chain."""


@compiled
def case_weights(seed: np.uint64, keys: Keys, draws: int) -> FloatArray:
    """Weigh cases for the Bayesian bootstrap, shape (n_cases, draws): exponential, the same for the same key.

    Cases that share a key, as those of one patient do, share their weights.
    """
    weights = np.empty((len(keys), draws))
    streams = np.zeros(1, dtype=STREAM)
    for case in range(len(keys)):
        start(streams[0], subkey(subkey(seed, keys[case]), CASE_STREAM))
        for draw in range(draws):
            weights[case, draw] = exponential(streams[0])
    return weights


@compiled
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
    streams = np.zeros(1, dtype=STREAM)
    for case in range(len(keys)):
        start(streams[0], keys[case])
        n_rankings = ranking_offsets[case + 1] - ranking_offsets[case]
        for draw in range(draws):
            row = draws * ranking_offsets[case] + draw * n_rankings
            for _ in range(size if size > 0 else n_rankings):
                counts[row + min(int(uniform(streams[0]) * n_rankings), n_rankings - 1)] += 1.0
    return counts
