"""Draw normal distributions from normal-inverse-gamma posteriors, as plausibilities of intervals."""

from __future__ import annotations

import math

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.kernels.jit import compiled, plain
from dissensus.kernels.randomness import Keys, Streams, gamma, new_streams, raw_normal, start


def sample_intervals(
    posteriors: FloatArray, thresholds: FloatArray, keys: Keys, draws: int
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
    """
    theta, numbers = np.zeros((len(posteriors), draws, len(thresholds) + 2)), np.zeros((len(posteriors), draws, 2))
    fill_cases(plain(posteriors), plain(thresholds), plain(keys), theta, numbers, new_streams())
    return theta, numbers


@compiled
def fill_cases(
    posteriors: FloatArray,
    thresholds: FloatArray,
    keys: Keys,
    theta: FloatArray,
    numbers: FloatArray,
    streams: Streams,
) -> None:
    """Do what :func:`sample_intervals` says, for plain arrays.

    Each probability is the difference of the two tails on the side where they are small, so that nothing cancels.
    """
    stream, (n_cases, draws, _), last = streams[0], theta.shape, len(thresholds)
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
