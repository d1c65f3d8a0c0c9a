"""Independent draws from Dirichlet distributions of any concentrations, and of intervals under normal distributions."""

from __future__ import annotations

import math

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.kernels.jit import compiled, inner
from dissensus.kernels.randomness import (
    Keys,
    Stream,
    Streams,
    drawing,
    fill_gammas,
    gamma,
    log_gamma,
    new_streams,
    raw_normal,
    spread,
    start,
    tallies,
)

# Gamma variates of a smaller shape are drawn as logarithms: they can be too small for a float.
SMALL_SHAPE = 0.1


@inner
def draw_small_weights(stream: Stream, shapes: FloatArray, rates: FloatArray, least: float, theta: FloatArray) -> None:
    """Draw theta_k proportional to Gamma(shape_k) / rate_k relative to the largest one, so never 0/0, or ``least``."""
    highest = -np.inf
    for k in range(len(shapes)):
        theta[k] = log_gamma(stream, shapes[k]) - math.log(rates[k]) if shapes[k] > 0.0 else -np.inf
        highest = max(highest, theta[k])
    total = 0.0
    for k in range(len(shapes)):
        theta[k] = math.exp(theta[k] - highest) if shapes[k] > 0.0 else 0.0
        total += theta[k]
    for k in range(len(shapes)):
        theta[k] = max(theta[k] / total, least) if shapes[k] > 0.0 else 0.0


@inner
def fill_dirichlet(stream: Stream, shapes: FloatArray, out: FloatArray, room: FloatArray) -> None:
    """Fill ``out``, (draws, U + 1) row by row, with independent draws from Dirichlet(shapes).

    ``room`` (3, at least U + 1) is worked in.
    """
    columns, in_logs = len(shapes), False
    rates, spreads, drawn = room[0], room[1], room[2]
    for k in range(columns):
        rates[k], spreads[k] = 1.0, spread(shapes[k])
        in_logs |= 0.0 < shapes[k] < SMALL_SHAPE
    for first in range(0, len(out), columns):
        if in_logs:
            draw_small_weights(stream, shapes, rates, 0.0, drawn)
        else:
            fill_gammas(stream, shapes, spreads, drawn)
        total = 0.0
        for k in range(columns):
            total += drawn[k]
        for k in range(columns):
            out[first + k] = drawn[k] / total


def sample_dirichlet(
    shapes: FloatArray, column_offsets: IntArray, keys: Keys, cases: tuple[int, int], values: FloatArray
) -> Keys:
    """Draw the plausibilities of a range of cases from their Dirichlet distributions.

    Parameters
    ----------
    shapes : (sum of U + 1,)
        Concentrations of the support and, last, of the rest as a whole; zero where impossible. At least
        one of each case is positive.
    column_offsets : (n_cases + 1,)
        The U + 1 columns of each case.
    keys : (n_cases, n_streams)
        The first stream of each case is used.
    cases
        First case, and one past the last.
    values : (draws * columns of these cases,)
        For each case its (draws, U + 1) draws, row by row; rows sum to one.

    Returns
    -------
    (3,)
        How many gamma, exponential and uniform variates were drawn.
    """
    streams = new_streams()
    fill_cases(shapes, column_offsets, keys, cases, values, streams)
    return tallies(streams)


@compiled
def fill_cases(
    shapes: FloatArray,
    column_offsets: IntArray,
    keys: Keys,
    cases: tuple[int, int],
    values: FloatArray,
    streams: Streams,
) -> None:
    """Do what :func:`sample_dirichlet` says."""
    first, last = cases
    draws = len(values) // max(1, column_offsets[last] - column_offsets[first])
    stream, room = streams[0], np.empty((3, column_offsets[last] - column_offsets[first]))
    for i in range(first, last):
        begin, end = column_offsets[i], column_offsets[i + 1]
        offset = column_offsets[first]
        start(stream, keys[i, 0])
        out = values[draws * (begin - offset) : draws * (end - offset)]
        fill_dirichlet(stream, shapes[begin:end], out, room)


@drawing
def sample_intervals(
    streams: Streams, posteriors: FloatArray, thresholds: FloatArray, keys: Keys, draws: int
) -> tuple[FloatArray, FloatArray]:
    """Draw normal distributions, and the plausibilities of all intervals under them.

    Parameters
    ----------
    posteriors : (n_cases, 4)
        mu, kappa, a, b: sigma^2 ~ b / Gamma(a), then mean ~ N(mu, sigma^2 / kappa).
    thresholds : (K - 1,)
        Increasing.
    keys : (n_cases,)
        Keys of the random streams.

    Returns
    -------
    theta : (n_cases, draws, K + 1)
        Probabilities of the K intervals; the last column, the rest, is zero.
    numbers : (n_cases, draws, 2)
        Mean and standard deviation of the distribution.

    Notes
    -----
    Each probability is the difference of the two tails on the side where they are small, so that nothing cancels.
    """
    stream, n_cases, last = streams[0], len(posteriors), len(thresholds)
    theta, numbers = np.zeros((n_cases, draws, last + 2)), np.zeros((n_cases, draws, 2))
    for case in range(n_cases):
        posterior = posteriors[case]
        start(stream, keys[case])
        for draw in range(draws):
            variance = posterior[3] / max(gamma(stream, posterior[2]), 1e-300)
            mu, sigma = posterior[0] + raw_normal(stream) * math.sqrt(variance / posterior[1]), math.sqrt(variance)
            scale = 1.0 / (sigma * math.sqrt(2.0))
            for k in range(last + 1):
                low = -np.inf if k == 0 else (thresholds[k - 1] - mu) * scale
                high = np.inf if k == last else (thresholds[k] - mu) * scale
                if low > 0.0:
                    theta[case, draw, k] = 0.5 * (math.erfc(low) - math.erfc(high))
                else:
                    theta[case, draw, k] = 0.5 * (math.erfc(-high) - math.erfc(-low))
            numbers[case, draw, 0], numbers[case, draw, 1] = mu, sigma
    return theta, numbers
