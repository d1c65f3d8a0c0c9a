"""Intervals that hold: resampled cases, two cases at the ends of the range, few groups, annotators as a sample.

The mean over cases is resampled by the Bayesian bootstrap. Two added cases, at the least and the greatest value that is
possible, weigh Gamma(1/2) each, where a case weighs Gamma(1): for answers that are right or wrong this is the posterior
under Jeffreys' prior, and no interval is ever empty. With groups of cases, an added case weighs as much as the design
effect says that cases of a group repeat each other. Deviations are then widened: for few groups, of which a bootstrap
knows too little, and for annotators, who are a sample as well.

An informed prior adds that it is fitted: other cases would have given other coefficients, and these other posteriors.
They need no new draws: a draw counts in proportion to its density under the other prior, divided by that under this
one. Few votes per case cannot tell one family of priors from another. The other family is logistic-normal, around the
same means, with the spread of logarithms that makes the votes most likely: it doubts the leading conditions more, and
the rare ones less, than a Dirichlet distribution does. It has draws of its own, which count as they make the votes of
the case probable. Of ratings it is a mixture of two concentrations, and the draws are weighed under each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from scipy.special import expit, gammaincinv, logit, ndtri, stdtr, stdtrit

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.names import case_keys
from dissensus.core.ragged import product
from dissensus.draws import Batch
from dissensus.study.opinions import Opinions

if TYPE_CHECKING:
    from dissensus.aggregations.case_prior import CasePrior
    from dissensus.aggregations.normal_inverse_gamma import RatingPrior


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


# Of more draws, the refits weigh this many, evenly spaced.
REFIT_DRAWS = 250

# A prior that models inform: that of conditions, or that of ratings.
InformedPrior: TypeAlias = "CasePrior | RatingPrior"

# Stands in for a plausibility of zero, whose logarithm there is none.
LEAST = 1e-300

# What names of sums of a category begin with, where others say "fit".
CATEGORY_FIT = "category_fit"

# How far apart the logarithms of the two concentrations of the other family are, halved.
APART = 1.0
SIDES = np.array([APART, -APART])


def ratio(sums: FloatArray, weights: FloatArray) -> FloatArray:
    """Divide; what has no weight is undefined: nan."""
    undefined = np.full(np.broadcast_shapes(sums.shape, weights.shape), np.nan)
    return np.asarray(np.divide(sums, weights, out=undefined, where=weights > 0))


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


# What was fitted ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FitSpread:
    """How far means over resampled cases move when the prior is fitted to the resample.

    Attributes
    ----------
    sums : (3 or 4, n_refits, models, metrics)
        Sums over cases of bootstrap weight times weight times mean, with the prior fitted to all cases, and refitted;
        and the same without the mean, twice where the weights of cases depend on the prior, as in a category.
    """

    sums: FloatArray

    def part(self, pairs: tuple[IntArray, IntArray] | None = None) -> Part:
        """Return the variance that this adds to the mean of every model, or to differences of pairs, (..., metrics)."""
        means = ratio(self.sums[:2], self.sums[2:])
        return self._part(*(means if pairs is None else means[:, :, pairs[0]] - means[:, :, pairs[1]]))

    def _part(self, still: FloatArray, moved: FloatArray) -> Part:
        """Compare the variances of resampled means with and without refits."""
        gained = moved.var(axis=0, ddof=1) - still.var(axis=0, ddof=1)
        return Part(np.maximum(gained, 0.0), np.maximum(gained, 0.0), len(moved) - 1)


class FamilySpread(FitSpread):
    """How far means over all cases move under the other family of priors; ``sums`` are (3, 1, models, metrics)."""

    def _part(self, still: FloatArray, moved: FloatArray) -> Part:
        """Take half the distance of the families for a standard deviation."""
        variance = np.square((moved - still)[0] / 2)
        return Part(variance, np.zeros_like(variance), np.inf)


def refit_weights(
    prior: InformedPrior, opinions: Opinions, coefficients: FloatArray, batch: Batch, step: int
) -> list[FloatArray]:
    """Weigh every ``step``-th draw of each case under refits and, of ratings last, under the other family.

    By case, the shape is (n_refits, n_weighed), of ratings (n_refits + 1, n_weighed); rows sum to one.

    Parameters
    ----------
    prior
        The prior that was drawn with.
    opinions
        Of the cases of the batch, in their order.
    coefficients : (n_refits, n_coefficients)
        What each resample of the cases would have.
    batch
        The draws.
    """
    names = batch.case_names
    if batch.numbers is not None:
        prior = cast("RatingPrior", prior)
        own = np.append(prior.coefficients, prior.kappa)
        both = np.tile(own, (2, 1))
        both[:, -1] *= math.cosh(APART) * np.exp(SIDES)  # the variance between cases is the same
        logs = prior.log_ratios(names, batch.numbers[:, ::step], np.vstack([coefficients, both]))
        mixed = (np.vstack([of_case[:-2], np.logaddexp(*of_case[-2:])]) for of_case in logs)
        return [normalised_weights(of_case) for of_case in mixed]
    shapes, _ = cast("CasePrior", prior).repeated(names, names).shapes(opinions, coefficients)
    found = []
    for case, (start, stop) in enumerate(pairwise(batch.columns)):
        here, *there = shapes[:, start:stop]
        drawn = np.log(np.maximum(batch.of_case(case)[::step], LEAST))
        found.append(normalised_weights(product(np.array(there) - here, drawn.T)))
    return found


def other_family(
    prior: InformedPrior, opinions: Opinions, batch: Batch, seed: int
) -> tuple[Batch, list[FloatArray]] | None:
    """Draw cases anew from the other family, and say how much each draw counts, shape (1, n) by case.

    Nothing for ratings, whose draws :func:`refit_weights` weighs.
    """
    if batch.numbers is not None:
        return None
    own, names = cast("CasePrior", prior), batch.case_names
    (shapes,), votes = own.repeated(names, names).shapes(opinions, np.empty((0, own.coefficients.size)))
    values, weights = [], []
    for key, (start, stop) in zip(case_keys(names).tolist(), pairwise(batch.columns), strict=True):
        shares = shapes[start:stop] / shapes[start:stop].sum()
        noise = np.random.default_rng([seed, key]).standard_normal((REFIT_DRAWS, len(shares)))
        drawn = np.where(shares > 0, shares * np.exp(own.recipe.log_sd * noise), 0.0)
        drawn /= drawn.sum(axis=1, keepdims=True)
        values.append(drawn.ravel())
        weights.append(normalised_weights(product(np.log(np.maximum(drawn, LEAST)), votes[start:stop])[None]))
    return replace(batch, n_draws=REFIT_DRAWS, n_chains=1, values=np.concatenate(values), order_values=None), weights


def normalised_weights(logs: FloatArray) -> FloatArray:
    """Turn logarithms of weights into weights of which every row sums to one.

    >>> normalised_weights(np.zeros((1, 2)))
    array([[0.5, 0.5]])
    """
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def with_all(bootstrap: FloatArray) -> FloatArray:
    """Add all cases, counted once, to resamples of them (n_cases, n_refits).

    >>> with_all(np.array([[0.3], [1.7]]))
    array([[0.3, 1. ],
           [1.7, 1. ]])
    """
    return np.column_stack([bootstrap, np.ones(len(bootstrap))])


def reweighted(values: FloatArray, weights: FloatArray, counted: FloatArray | None = None) -> FloatArray:
    """Average the draws of cases as they are and weighed anew; those that are undefined do not count.

    Parameters
    ----------
    values : (..., models, metrics, n_weighed)
        Of every draw.
    weights : (..., n_refits, n_weighed)
        Weights of :func:`refit_weights`.
    counted : (..., n_weighed)
        How much each draw counts, if not all do alike: what comes back is then sums, and how much they count.

    Returns
    -------
    (3, ..., n_refits, models, metrics)
        Means as they are and weighed anew; and 1 where any draw counts.
    (4, ..., n_refits, models, metrics)
        Where it is said how much draws count: sums as they are and weighed anew, and how much counts in each.

    Examples
    --------
    >>> values, weights = np.array([[[0.0, 1.0]]]), np.array([[0.25, 0.75]])
    >>> reweighted(values, weights).ravel()
    array([0.5 , 0.75, 1.  ])
    >>> reweighted(values, weights, np.array([1.0, 0.5])).ravel()
    array([0.25 , 0.375, 0.75 , 0.625])
    """
    is_known = ~np.isnan(values)
    rows = np.concatenate([np.full_like(weights[..., :1, :], 1.0 / weights.shape[-1]), weights], axis=-2)
    rows = rows if counted is None else rows * counted[..., None, :]
    by_row = "...rd,...mkd->...rmk"  # BLAS has bits by threads
    sums = np.einsum(by_row, rows, np.where(is_known, values, 0.0))
    counts = np.broadcast_to(rows.sum(axis=-1)[..., None, None], sums.shape)
    if not is_known.all():
        counts = np.einsum(by_row, rows, is_known.astype(np.float64))
    as_is, anew = np.s_[..., :1, :, :], np.s_[..., 1:, :, :]
    if counted is not None:
        return np.stack(np.broadcast_arrays(sums[as_is], sums[anew], counts[as_is], counts[anew]))
    means = sums / np.maximum(counts, LEAST)
    return np.stack(np.broadcast_arrays(means[as_is], means[anew], np.asarray(is_known.any(axis=-1))[..., None, :, :]))
