"""Resample the annotators of each case with replacement."""

from __future__ import annotations

import numpy as np

from dissensus.kernels.compiling import compiled
from dissensus.kernels.randomness import STREAM, Keys, start, uniform
from dissensus.typing import FloatArray, IntArray


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
    stream = np.zeros(1, dtype=STREAM)[0]
    for case in range(len(keys)):
        start(stream, keys[case])
        n_rankings = ranking_offsets[case + 1] - ranking_offsets[case]
        for draw in range(draws):
            row = draws * ranking_offsets[case] + draw * n_rankings
            for _ in range(size if size > 0 else n_rankings):
                counts[row + min(int(uniform(stream) * n_rankings), n_rankings - 1)] += 1.0
    return counts
