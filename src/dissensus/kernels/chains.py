"""Convergence of chains: split R-hat, effective sample size and Monte Carlo error of many short series.

Definitions are those of A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Burkner, "Rank-normalization,
folding, and localization: an improved R-hat for assessing convergence of MCMC" (2021). A constant series has
nothing left to estimate: its effective size is its number of draws, its R-hat is 1 and its error 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from dissensus.core.arrays import FloatArray

# Numbers that are looked at together.
BATCH = 1 << 20

# Chains shorter than this are taken for independent draws.
SHORTEST = 4


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


def split(series: FloatArray, n_chains: int) -> FloatArray:
    """Cut the chains of each series (s, n_draws) in halves, the middle draw left out, shape (s, 2 * n_chains, half).

    Chain follows chain; the first have a draw more when the draws do not divide evenly, which is left out as well.
    """
    length, longer = divmod(series.shape[1], n_chains)
    chain, half = np.arange(n_chains), length // 2
    begins = chain * length + np.minimum(chain, longer)
    starts = np.stack([begins, begins + length - half], axis=1).reshape(-1)
    return np.take(series, starts[:, None] + np.arange(half), axis=1)


def chain_moments(series: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return series (s, m, n) minus their means, the average variance within and the variance of the means (s,)."""
    means = series.mean(axis=2, keepdims=True)
    centred = series - means
    within = (centred * centred).sum(axis=2).sum(axis=1) / (series.shape[1] * (series.shape[2] - 1))
    return centred, within, means[:, :, 0].var(axis=1, ddof=1)


def r_hats(series: FloatArray) -> FloatArray:
    """Compare the variance between the chains of each series (s, m, n) with that within them."""
    _, within, between = chain_moments(series)
    n = series.shape[2]
    ratios = np.divide(between, within, out=np.where(between > 0.0, np.inf, 1.0 / n), where=within > 0.0)
    return np.asarray(np.sqrt((n * ratios + n - 1) / n))


def effective_sizes(series: FloatArray) -> FloatArray:
    """Estimate how many independent draws each of the series (s, m, n) is worth.

    Autocorrelations are summed in pairs as long as these stay positive, and made monotone (Geyer's initial
    monotone sequence): of the series whose pairs are positive so far, one pair of lags after the other.
    """
    _, m, n = series.shape
    centred, within, between = chain_moments(series)
    pooled = within * (n - 1) / n + between
    size, rows = m * n, np.flatnonzero(pooled > 0.0)
    time, last, least = np.full(len(series), -1.0), np.ones(len(series)), np.empty(len(series))

    def correlations(lag: int) -> FloatArray:
        covariance = np.einsum("smn,smn->s", centred[:, :, : n - lag], centred[:, :, lag:]) / size
        return np.asarray(1.0 - (within[rows] - covariance) / pooled[rows])

    centred = centred[rows]
    pair, lag = 1.0 + correlations(1), 1
    least[rows] = pair
    while lag < n - 3 and (pair > 0.0).any():
        centred, rows = centred[pair > 0.0], rows[pair > 0.0]
        time[rows] += 2.0 * least[rows]
        even = correlations(lag + 1)
        pair = even + correlations(lag + 2)
        last[rows] = np.where((even > 0.0) | (pair >= 0.0), even, 0.0)
        least[rows] = np.minimum(least[rows], pair)
        lag += 2
    return np.asarray(np.where(pooled > 0.0, size / np.maximum(time + last, 1.0 / np.log10(size)), size))


def normal_scores(values: FloatArray) -> FloatArray:
    """Replace values (s, size) by the normal scores of their ranks in each row; equal ones share their average rank."""
    size, order = values.shape[1], np.argsort(values, axis=1)
    ordered, places = np.take_along_axis(values, order, axis=1), np.arange(values.shape[1])
    begins, ends = np.ones((2, *values.shape), dtype=np.bool_)
    begins[:, 1:] = ends[:, :-1] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(begins, places, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, places, size)[:, ::-1], axis=1)[:, ::-1]
    of_half_ranks = ndtri((np.arange(2 * size + 1) / 2 - 0.375) / (size + 0.25))
    scores = np.empty(values.shape)
    np.put_along_axis(scores, order, of_half_ranks[first + last + 2], axis=1)
    return scores


def diagnose(draws: FloatArray) -> ChainStatistics:
    """Compute the diagnostics of many series.

    Parameters
    ----------
    draws : (n, chains, draws)
        At least four draws per chain.
    """
    size, found = draws.shape[1] * draws.shape[2], []
    for first in range(0, max(len(draws), 1), max(1, BATCH // size)):
        own = draws[first : first + max(1, BATCH // size)]
        halves = split(own.reshape(len(own), -1), draws.shape[1])
        flat = halves.reshape(len(own), -1)
        ranked = normal_scores(flat).reshape(halves.shape)
        folded = normal_scores(np.abs(flat - np.median(flat, axis=1, keepdims=True))).reshape(halves.shape)
        numbers = np.maximum(r_hats(ranked), r_hats(folded)), effective_sizes(ranked), effective_sizes(halves)
        error = np.sqrt(flat.var(axis=1, ddof=1) / numbers[2])
        constant = np.array([1.0, flat.shape[1], flat.shape[1], 0.0])[:, None]
        found.append(np.where(np.ptp(flat, axis=1) == 0.0, constant, [*numbers, error]))
    return ChainStatistics(*np.concatenate(found, axis=1))


def standard_errors(series: FloatArray, n_chains: int) -> FloatArray:
    """Return the Monte Carlo standard error of the mean of each series (n, n_draws), chain after chain; shape (n,).

    It comes from the effective sample size; zero where nothing varies.
    """
    (n, n_draws), errors = series.shape, np.zeros(len(series))
    for first in range(0, n, max(1, BATCH // n_draws)):
        batch = slice(first, first + max(1, BATCH // n_draws))
        varies = np.flatnonzero(np.ptp(series[batch], axis=1) > 0.0)
        if not len(varies):
            continue
        own, effective = series[batch][varies], np.full(len(varies), float(n_draws))
        if n_draws // n_chains >= SHORTEST:
            halves = split(own, n_chains)
            effective = effective_sizes(halves) * n_draws / (halves.shape[1] * halves.shape[2])
        errors[batch][varies] = np.sqrt(own.var(axis=1, ddof=1) / effective)
    return errors
