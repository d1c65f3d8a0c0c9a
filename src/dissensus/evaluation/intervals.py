"""Intervals that hold: resampled cases, two cases at the ends of the range, few groups, annotators as a sample.

The mean over cases is resampled by the Bayesian bootstrap. Two added cases, at the least and the greatest value that is
possible, weigh Gamma(1/2) each, where a case weighs Gamma(1): for answers that are right or wrong this is the posterior
under Jeffreys' prior, and no interval is ever empty. With groups of cases, an added case weighs as much as the design
effect says that cases of a group repeat each other. Deviations are then widened: for few groups, of which a bootstrap
knows too little, and for annotators, who are a sample as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.special import expit, gammaincinv, logit, ndtri, stdtr, stdtrit

from dissensus.core.arrays import FloatArray
from dissensus.core.names import case_keys

# How often cases are resampled, whatever the number of draws.
RESAMPLES = 2000

# The same for groups of cases, of which there may be many.
GROUP_RESAMPLES = 500

# How far a resampled mean goes from its centre on a logarithmic scale, at most.
FARTHEST = 20.0

# The least p-value that is stated: so far simulated studies bear its tail out.
LEAST_P = 1e-5

ENDS = ("the case at the least value", "the case at the greatest value")

# Sets the keys of the two added cases apart from those of any case with the same name.
ENDS_STREAM = np.uint64(0x9E3779B97F4A7C15)


@cache
def end_weights(seed: int, n_resamples: int) -> FloatArray:
    """Weigh the two added cases, shape (2, n_resamples): Gamma(1/2), the same for the same seed."""
    from dissensus.kernels.resamples import case_weights

    exponential = case_weights(np.uint64(seed), case_keys(ENDS) ^ ENDS_STREAM, n_resamples)
    return np.asarray(gammaincinv(0.5, -np.expm1(-exponential)))


@dataclass(frozen=True, eq=False)
class Resampled:
    """Means over resampled cases, before anything is added; the leading axes are models and metrics, or metrics.

    Attributes
    ----------
    means : (..., n_resamples)
        Mean over the cases of each resample.
    masses : (..., n_resamples)
        Weight of all cases of each resample.
    units : (...)
        Weight of an added case.
    gaps : (..., n_resamples)
        What the draws add: all there is for one case, and little for many.
    """

    means: FloatArray
    masses: FloatArray
    units: FloatArray
    gaps: FloatArray

    def between(self, low: FloatArray, high: FloatArray, ends: FloatArray) -> FloatArray:
        """Add the cases at both ends, and what the draws add.

        Parameters
        ----------
        low, high : (...)
            The least and the greatest value.
        ends : (2, n_resamples)
            Weights of :func:`end_weights`.
        """
        units = self.units[..., None]
        sums = self.masses * self.means + units * (ends[0] * low[..., None] + ends[1] * high[..., None])
        return np.asarray(sums / (self.masses + units * ends.sum(axis=0)) + self.gaps)

    def on_scales(self, centres: FloatArray, scales: Sequence[str]) -> Resampled:
        """Move means away from their centres (models, metrics) on the scale of each metric: they keep to its range.

        >>> still = np.ones((1, 1, 1))
        >>> cases = Resampled(np.array([[[1.05]]]), still, still[0], still)
        >>> cases.on_scales(np.array([[0.9]]), ["logit"]).means.round(3)
        array([[[0.979]]])
        """
        means = self.means.copy()
        for k, scale in enumerate(scales):
            centre, own = centres[:, k, None], means[:, k]
            inside = (centre > 0) & ((centre < 1) | (scale == "log"))
            c = np.where(inside, centre, 0.5)
            if scale == "logit":
                means[:, k] = np.where(inside, expit(logit(c) + (own - c) / (c * (1 - c))), own)
            elif scale == "log":
                means[:, k] = np.where(inside, c * np.exp(np.clip((own - c) / c, -FARTHEST, FARTHEST)), own)
        return replace(self, means=means)


@dataclass(frozen=True)
class Part:
    """A part of the variance of a mean, and how well it is known.

    Attributes
    ----------
    variance : (...)
        Of the mean.
    before : (...)
        The same before noise was subtracted, on which its uncertainty depends.
    freedom
        Degrees of freedom, one or (...); infinite if it is known well.
    """

    variance: FloatArray
    before: FloatArray
    freedom: float | FloatArray


def few_groups(values: FloatArray, n_groups: int | None) -> Part:
    """Return the variance between resamples, corrected for the number of groups; cases alone need no correction.

    >>> few_groups(np.array([0.1, 0.2, 0.3]), 4).freedom
    3
    """
    variance = values.var(axis=-1)
    if n_groups is None:
        return Part(variance, variance, np.inf)
    n = max(n_groups, 2)
    corrected = variance * (n + 1) / (n - 1)
    return Part(corrected, corrected, n - 1)


def freedom_of(parts: tuple[Part, ...]) -> FloatArray:
    """Return the degrees of freedom of the sum of all parts by the rule of Satterthwaite.

    >>> freedom_of((Part(np.array(1.0), np.array(1.0), 4), Part(np.array(1.0), np.array(1.0), 4)))
    array(8.)
    """
    total = sum((part.variance for part in parts), start=np.zeros_like(parts[0].variance))
    doubt = sum((np.square(part.before) / part.freedom for part in parts), start=np.zeros_like(total))
    freedom = np.where(doubt > 0, np.square(total) / np.where(doubt > 0, doubt, 1.0), np.inf)
    return np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), np.inf)


def wider(freedom: FloatArray, level: float) -> FloatArray:
    """Say by how much an interval of Student's t is wider than that of a normal distribution."""
    tail, is_finite = (1 + level) / 2, np.isfinite(freedom)
    return np.where(is_finite, stdtrit(np.where(is_finite, freedom, 1.0), tail) / ndtri(tail), 1.0)


@np.errstate(invalid="ignore", divide="ignore")
def tail_probability(
    values: FloatArray, freedom: FloatArray, third: FloatArray, *, n_cases: int, level: float
) -> FloatArray:
    """Return twice the probability that a difference has the other sign, from resamples: a p-value of any resolution.

    Resamples that are counted say nothing below one by their number. Their mean over their standard deviation is held
    against Student's t, and once more after Hall's correction for skewness; the larger p-value counts, and none below
    ``LEAST_P`` is stated.

    Parameters
    ----------
    values : (..., n_resamples)
        Resampled differences, as :func:`widened` leaves them at the level.
    freedom, third : (...)
        Degrees of freedom of their spread, to which those of the cases come, and the third cumulant, as in a spread.
    n_cases
        How many cases were resampled.
    level
        Probability that intervals hold.

    Examples
    --------
    >>> values = np.array([np.linspace(-1, 3, 9), np.linspace(8, 12, 9)])
    >>> tail_probability(values, np.full(2, np.inf), np.zeros(2), n_cases=100, level=0.95).round(5).tolist()
    [0.44042, 1e-05]
    """
    mean, sd = values.mean(axis=-1), values.std(axis=-1) / wider(freedom, level)
    t, skewness = mean / sd, third / sd**3
    corrected = t + skewness * (t * t / 3 + 1 / 6) + skewness**2 * t**3 / 27
    beyond = np.where(t * corrected < 0, 0.0, np.minimum(np.abs(t), np.abs(corrected)))
    return np.asarray(np.maximum(2 * stdtr(1 / (1 / freedom + 1 / max(n_cases - 1, 1)), -beyond), LEAST_P))


def widened(
    values: FloatArray, parts: tuple[Part, ...], low: FloatArray, high: FloatArray, *, level: float
) -> FloatArray:
    """Widen resampled means (..., n_resamples) until they have the variance of all parts, inside their range.

    The factor is that of Student's t at the degrees of freedom of Satterthwaite.

    Examples
    --------
    >>> values = np.array([0.4, 0.5, 0.6])
    >>> one = few_groups(values, None)
    >>> bool(np.allclose(widened(values, (one,), np.array(0.0), np.array(1.0), level=0.9), values))
    True
    """
    centres, own = values.mean(axis=-1, keepdims=True), values.var(axis=-1)
    total, student = sum((part.variance for part in parts), start=np.zeros_like(own)), wider(freedom_of(parts), level)
    factor = np.sqrt(np.where(own > 0, total / np.where(own > 0, own, 1.0), 1.0)) * student
    return np.asarray(np.clip(centres + factor[..., None] * (values - centres), low[..., None], high[..., None]))


@dataclass(frozen=True, eq=False)
class Spread:
    """Where a mean over cases like these may lie, and what makes it uncertain.

    Attributes
    ----------
    values : (..., n_resamples)
        Resampled means with everything that widens them; their quantiles are the limits of an interval.
    case_sd, annotator_sd, draw_sd, fit_sd, family_sd : (...)
        Standard deviation that comes from the cases, from the choice of annotators (nan if that is not known), from the
        draws, and from what was fitted and the family of priors (nan if nothing was fitted).
    freedom : (...)
        Degrees of freedom; infinite where all parts are known well.
    third : (...)
        Third cumulant of the mean over cases: half that of the resamples, whose weights are exponential.
    """

    values: FloatArray
    case_sd: FloatArray
    annotator_sd: FloatArray
    draw_sd: FloatArray
    fit_sd: FloatArray
    family_sd: FloatArray
    freedom: FloatArray
    third: FloatArray


@np.errstate(invalid="ignore")  # the spread around what is infinite is undefined
def spread(
    cases: Resampled,
    low: FloatArray,
    high: FloatArray,
    *,
    ends: FloatArray,
    n_groups: int | None = None,
    annotators: Part | None = None,
    fit: Part | None = None,
    family: Part | None = None,
    level: float,
) -> Spread:
    """Put the parts of the uncertainty together.

    Parameters
    ----------
    cases
        Means over resampled cases.
    low, high : (...)
        The least and the greatest value.
    ends : (2, n_resamples)
        Weights of :func:`end_weights`.
    n_groups
        Number of groups that were resampled, if cases have groups.
    annotators
        What comes from the choice of annotators, if that is known.
    fit, family
        What comes from the fit of a prior and from its family, if one was fitted.
    level
        Probability that intervals hold.
    """
    values = cases.between(low, high, ends)
    own = few_groups(values, n_groups)
    drawn, apart = cases.gaps.std(axis=-1), cases.means - cases.means.mean(axis=-1, keepdims=True)
    parts = (own, *(part for part in (annotators, fit, family) if part is not None))
    unknown = np.full(own.variance.shape, np.nan)
    by_annotators, by_fit, by_family = (
        unknown if part is None else np.sqrt(part.variance) for part in (annotators, fit, family)
    )
    return Spread(
        widened(values, parts, low, high, level=level),
        np.sqrt(np.maximum(own.variance - np.square(drawn), 0.0)),
        by_annotators,
        drawn,
        by_fit,
        by_family,
        freedom_of(parts),
        (apart * apart * apart).mean(axis=-1) / 2,
    )
