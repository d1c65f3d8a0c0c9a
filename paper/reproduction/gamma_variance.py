"""Ratings under the prior of the paper's footnote: a normal prior of the mean, and a gamma prior of the variance.

The paper calls its prior of the mean and the variance normal-inverse-gamma, and writes mu ~ N(mu0, nu) and
sigma^2 ~ Gamma(alpha, beta) in a footnote. A normal-inverse-gamma prior is another one: the *inverse* of the variance
is gamma distributed, and the variance of mu is in proportion to sigma^2. Only that one is conjugate, so that the
posterior has the same form. With a gamma prior of the variance there is no closed form, and no posterior at all for a
case with n equal ratings, n >= 2 alpha + 1: its density at small variances grows beyond all bounds.

Given the variance, the mean is normal under both. What is left is an integral over the variance, done here by
quadrature; nothing is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtr

from dissensus.aggregations.normal_inverse_gamma import NormalInverseGammaPrior, posterior_parameters
from dissensus.core.arrays import FloatArray
from dissensus.study.opinions import Moments

NODES, WIDTH = 121, 12.0
"""Points of the quadrature, and how many standard deviations of the log variance they reach to each side."""


@dataclass(frozen=True)
class GammaVariancePrior:
    """Prior mu ~ N(mu0, nu) and, independently, sigma^2 ~ Gamma(alpha, beta); ``nu`` is a variance, ``beta`` a rate.

    Examples
    --------
    >>> prior = GammaVariancePrior.matched(NormalInverseGammaPrior(mu=5.0, kappa=4.0, a=10.0, b=18.0))
    >>> prior.mu0, prior.nu, prior.alpha, prior.beta
    (5.0, 0.5, 8.0, 4.0)
    """

    mu0: float
    nu: float
    alpha: float
    beta: float

    @staticmethod
    def matched(prior: NormalInverseGammaPrior) -> GammaVariancePrior:
        """Return the prior with the same mean and variance of mu, and the same mean and variance of sigma^2.

        The normal-inverse-gamma prior is estimated by these moments; hence these are the parameters that the same
        scores give. Its shape must be above 2, as an estimated one is.
        """
        variance = prior.b / (prior.a - 1)
        alpha = prior.a - 2
        return GammaVariancePrior(prior.mu, variance / prior.kappa, alpha, alpha / variance)


def chance_below(rated: Moments, prior: GammaVariancePrior, threshold: float) -> FloatArray:
    """Return the posterior probability of every case that its mean is not above the threshold, shape (n_cases,).

    Where equal ratings leave no posterior, what is close to its limit is given: the mean is that rating.

    Examples
    --------
    >>> from dissensus import Study
    >>> rated = Study.from_scores([[1, 2, 2, 3], [4, 5, 6, 7]]).opinions
    >>> chance_below(rated, GammaVariancePrior(mu0=4.0, nu=4.0, alpha=2.0, beta=1.0), 4.0).round(3)
    array([0.995, 0.029])
    """
    n, mean, squares = (values[:, None] for values in (rated.totals, rated.means, rated.squares))
    log_variance = _nodes(n, squares, prior.alpha / prior.beta)
    variance = np.exp(log_variance)
    spread = prior.nu + variance / n
    log_density = (
        (prior.alpha - (n - 1) / 2) * log_variance
        - prior.beta * variance
        - squares / (2 * variance)
        - np.log(spread) / 2
        - (mean - prior.mu0) ** 2 / (2 * spread)
    )
    weights = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    precision = 1 / prior.nu + n / variance
    centre = (prior.mu0 / prior.nu + n * mean / variance) / precision
    below = ndtr((threshold - centre) * np.sqrt(precision))
    return np.asarray((weights * below).sum(axis=1) / weights.sum(axis=1))


def _nodes(n: FloatArray, squares: FloatArray, typical: float) -> FloatArray:
    """Return evenly spaced log variances around that of each case, shape (n_cases, NODES)."""
    centre = np.log((squares + 2 * typical) / (n + 1))
    return np.asarray(centre + WIDTH * np.sqrt(2 / (n + 1)) * np.linspace(-1, 1, NODES))


def conjugate_chance_below(rated: Moments, prior: NormalInverseGammaPrior, threshold: float) -> FloatArray:
    """Return the same under the normal-inverse-gamma prior: the mean has a Student t distribution, shape (n_cases,).

    Examples
    --------
    >>> from dissensus import Study
    >>> rated = Study.from_scores([[1, 2, 2, 3], [4, 5, 6, 7]]).opinions
    >>> conjugate_chance_below(rated, NormalInverseGammaPrior(mu=4.0, kappa=0.5, a=4.0, b=6.0), 4.0).round(3)
    array([0.997, 0.02 ])
    """
    mu, kappa, a, b = posterior_parameters(rated, prior, 1.0).T
    return np.asarray(stdtr(2 * a, (threshold - mu) / np.sqrt(b / (a * kappa))))
