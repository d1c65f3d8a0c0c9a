"""Keep figures small: curves of few points, counted histograms, a sample of large clouds."""

from __future__ import annotations

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray

MOST_ON_CURVE = 400
MOST_IN_CLOUD = 2000


def quantile_curve(values: FloatArray, *, most: int = MOST_ON_CURVE) -> tuple[FloatArray, FloatArray]:
    """Return shares of cases from 0 to 1 and the sorted values up to each, at most ``most + 1`` of them; nan left out.

    Examples
    --------
    >>> x, y = quantile_curve(np.array([0.9, 0.5]))
    >>> x.tolist(), y.tolist()
    ([0.0, 0.5, 1.0], [0.5, 0.5, 0.9])
    """
    ordered = np.sort(values[np.isfinite(values)])
    if not len(ordered):
        return np.empty(0), np.empty(0)
    kept = kept_places(len(ordered), most)
    return np.append(0.0, (kept + 1) / len(ordered)), np.append(ordered[0], ordered[kept])


def kept_places(number: int, most: int = MOST_ON_CURVE) -> IntArray:
    """Return evenly spaced places among ``number``, the first and the last among them.

    >>> kept_places(10, 4).tolist()
    [0, 3, 6, 9]
    """
    return np.unique(np.linspace(0, number - 1, min(number, most)).round().astype(np.int64))


def sampled_places(number: int, most: int = MOST_IN_CLOUD, *, seed: int = 0) -> IntArray:
    """Return all places, or a random ``most`` of them in order, the same ones every time."""
    if number <= most:
        return np.arange(number, dtype=np.int64)
    return np.sort(np.random.default_rng(seed).choice(number, most, replace=False))


def sampling_note(number: int, most: int = MOST_IN_CLOUD) -> str:
    """Say that points were left out, if any were."""
    return f" {most} of {number} cases are drawn, chosen at random." if number > most else ""


def counted(values: FloatArray, edges: FloatArray) -> FloatArray:
    """Return the share of the finite values in each bin; nan if there are none."""
    finite = values[np.isfinite(values)]
    counts = np.histogram(finite, edges)[0].astype(np.float64)
    return np.asarray(counts / len(finite)) if len(finite) else np.full(len(counts), np.nan)


def even_edges(*arrays: FloatArray, number: int) -> FloatArray:
    """Return the edges of bins of equal width that hold all finite values; there is always some width."""
    finite = np.concatenate([array[np.isfinite(array)] for array in arrays])
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.02, high + 0.02
    return np.linspace(low, high, number + 1)
