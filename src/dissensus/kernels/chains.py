"""Convergence of chains: split R-hat, effective sample size and Monte Carlo error of many short series.

Definitions are those of A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Burkner, "Rank-normalization,
folding, and localization: an improved R-hat for assessing convergence of MCMC" (2021). A constant series has
nothing left to estimate: its effective size is its number of draws, its R-hat is 1 and its error 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.jit import compiled, inner

# Numbers that are sorted at a time.
BATCH = 1 << 22


class ChainStatistics(NamedTuple):
    """Hold what is known of the convergence of each of n series.

    Attributes
    ----------
    r_hat : (n,)
        Rank-normalised split R-hat, the larger one of bulk and tails (folded).
    bulk_ess : (n,)
        Effective sample size of the rank-normalised split chains.
    mean_ess : (n,)
        Effective sample size of the split chains as they are, for the mean or a frequency.
    standard_error : (n,)
        Monte Carlo standard error of the mean.
    """

    r_hat: FloatArray
    bulk_ess: FloatArray
    mean_ess: FloatArray
    standard_error: FloatArray


@inner
def autocovariance(series: FloatArray, means: FloatArray, lag: int) -> float:
    """Average the autocovariances of several series (m, n) at one lag."""
    m, n = series.shape
    total = 0.0
    for c in range(m):
        mean = means[c]
        for t in range(n - lag):
            total += (series[c, t] - mean) * (series[c, t + lag] - mean)
    return float(total / (m * n))


@inner
def chain_moments(series: FloatArray, means: FloatArray) -> tuple[float, float]:
    """Fill in the mean of each series (m, n); return the average variance and the variance of the means."""
    m, n = series.shape
    within, centre = 0.0, 0.0
    for c in range(m):
        total = 0.0
        for t in range(n):
            total += series[c, t]
        means[c] = total / n
        centre += means[c] / m
        for t in range(n):
            within += (series[c, t] - means[c]) * (series[c, t] - means[c])
    between = 0.0
    for c in range(m):
        between += (means[c] - centre) * (means[c] - centre)
    return within / (m * (n - 1)), between / (m - 1)


@inner
def r_hat_of(series: FloatArray, means: FloatArray) -> float:
    """Compare the variance between the series (m, n) with that within them."""
    within, between = chain_moments(series, means)
    if within == 0.0:
        return 1.0 if between == 0.0 else np.inf
    _, n = series.shape
    return math.sqrt((n * between / within + n - 1) / n)


@inner
def effective_size(series: FloatArray, means: FloatArray, rho: FloatArray) -> float:
    """Estimate how many independent draws the series (m, n) are worth.

    Autocorrelations are summed in pairs as long as these stay positive, and made monotone (Geyer's initial
    monotone sequence). ``means`` (m,) and ``rho`` (n,) are room to work in.
    """
    m, n = series.shape
    size = m * n
    within, between = chain_moments(series, means)
    pooled = within * (n - 1) / n + between
    if pooled == 0.0:
        return float(size)
    t = n // n  # one, but not a constant, which Numba would compile the autocovariance for once more
    even, odd = 1.0, 1.0 - (within - autocovariance(series, means, t)) / pooled
    rho[0], rho[1] = even, odd
    while t < n - 3 and even + odd > 0.0:
        even = 1.0 - (within - autocovariance(series, means, t + 1)) / pooled
        odd = 1.0 - (within - autocovariance(series, means, t + 2)) / pooled
        rho[t + 1], rho[t + 2] = even, odd
        if even + odd < 0.0:
            rho[t + 1], rho[t + 2] = 0.0, 0.0
        t += 2
    last = t - 2
    if even > 0.0:
        rho[last + 1] = even
    for t in range(1, last - 1, 2):
        if rho[t + 1] + rho[t + 2] > rho[t - 1] + rho[t]:
            rho[t + 1] = 0.5 * (rho[t - 1] + rho[t])
            rho[t + 2] = rho[t + 1]
    time = -1.0 + rho[last + 1]
    for t in range(last + 1):
        time += 2.0 * rho[t]
    return float(size / max(time, 1.0 / math.log10(size)))


@inner
def normal_scores(values: FloatArray, order: IntArray, scores: FloatArray, out: FloatArray) -> None:
    """Replace values by the normal scores of their ranks; equal values share their average rank.

    ``scores[r]`` is the score of rank r / 2; ``out`` is flat.
    """
    size, begin = len(order), 0
    while begin < size:
        end = begin + 1
        while end < size and values[order[end]] == values[order[begin]]:
            end += 1
        for j in range(begin, end):
            out[order[j]] = scores[begin + end + 1]
        begin = end


class Work(NamedTuple):
    """Hold the arrays that one series after the other is worked out in; ``flat`` is ``ranked``, row by row."""

    means: FloatArray
    rho: FloatArray
    ranked: FloatArray
    flat: FloatArray
    folded: FloatArray


@compiled
def diagnose_series(
    halves: FloatArray,
    flat_halves: FloatArray,
    order: IntArray,
    folded_order: IntArray,
    scores: FloatArray,
    result: FloatArray,
    work: Work,
) -> None:
    """Fill ``result`` (s, 4) for series split in halves (s, m, n), also given as (s, m * n).

    ``order`` sorts the values of each series, ``folded_order`` their distances to the median, both (s, m * n).
    """
    means, rho, ranked, flat, folded = work
    n_series, size = len(means), len(flat)
    for s in range(len(halves)):
        series, values = halves[s], flat_halves[s]
        low, high = order[s, (size - 1) // 2], order[s, size // 2]
        median = 0.5 * (values[low] + values[high])
        if values[order[s, 0]] == values[order[s, size - 1]]:
            result[s, 0], result[s, 1], result[s, 2], result[s, 3] = 1.0, float(size), float(size), 0.0
            continue
        normal_scores(values, order[s], scores, flat)
        result[s, 0] = r_hat_of(ranked, means)
        result[s, 1] = effective_size(ranked, means, rho)
        result[s, 2] = effective_size(series, means, rho)
        mean, variance = 0.0, 0.0
        for c in range(n_series):
            mean += means[c] / n_series
        for j in range(size):
            variance += (values[j] - mean) * (values[j] - mean)
            folded[j] = abs(values[j] - median)
        result[s, 3] = math.sqrt(variance / (size - 1) / result[s, 2])
        normal_scores(folded, folded_order[s], scores, flat)
        result[s, 0] = max(result[s, 0], r_hat_of(ranked, means))


def diagnose(draws: FloatArray) -> ChainStatistics:
    """Compute the diagnostics of many series.

    Parameters
    ----------
    draws : (n, chains, draws)
        At least four draws per chain.
    """
    n_series, half = 2 * draws.shape[1], draws.shape[2] // 2
    size, ranked = n_series * half, np.empty((n_series, half))
    work = Work(np.empty(n_series), np.empty(half + 3), ranked, ranked.reshape(-1), np.empty(size))
    scores = ndtri((np.arange(2 * size + 1) / 2 - 0.375) / (size + 0.25))
    result = np.empty((len(draws), 4))
    for first in range(0, len(draws), max(1, BATCH // size)):
        batch = slice(first, first + max(1, BATCH // size))
        own = draws[batch]  # each chain is cut in two halves, the middle draw left out
        halves = np.concatenate([own[:, :, :half], own[:, :, -half:]], axis=1).reshape(len(own), -1)
        distances = np.abs(halves - np.median(halves, axis=1, keepdims=True))
        orders = np.argsort(halves, axis=1), np.argsort(distances, axis=1)
        diagnose_series(halves.reshape(-1, n_series, half), halves, *orders, scores, result[batch], work)
    return ChainStatistics(*np.ascontiguousarray(result.T))
