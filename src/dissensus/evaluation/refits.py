"""What an informed prior adds to intervals: refit it to resampled cases, take another family, and weigh the draws anew.

Other cases would have given other coefficients, and these other posteriors. They need no new draws: a draw counts in
proportion to its density under the other prior, divided by that under this one. Few votes per case cannot tell one
family of priors from another. The other family is logistic-normal, around the same means, with the spread of logarithms
that makes the votes most likely: it doubts the leading conditions more, and the rare ones less, than a Dirichlet
distribution does. It has draws of its own, which count as they make the votes of the case probable. Of ratings it is a
mixture of two concentrations, and the draws are weighed under each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.names import case_keys
from dissensus.core.ragged import product
from dissensus.draws import Batch
from dissensus.evaluation.intervals import Part
from dissensus.evaluation.sums import ratio
from dissensus.study.opinions import Opinions

if TYPE_CHECKING:
    from dissensus.aggregations.case_prior import CasePrior
    from dissensus.aggregations.normal_inverse_gamma import RatingPrior

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

    def of_models(self) -> Part:
        """Return the variance that this adds to the mean of every model, shape (models, metrics)."""
        return self._part(*ratio(self.sums[:2], self.sums[2:]))

    def of_difference(self, first: int, second: int) -> Part:
        """Return the variance that it adds to the difference of two models, shape (metrics,)."""
        means = ratio(self.sums[:2], self.sums[2:])
        return self._part(*(means[:, :, first] - means[:, :, second]))

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


def reweighted_sums(values: FloatArray, weights: FloatArray, counted: FloatArray) -> FloatArray:
    """Sum the draws of a case that count, as they are and weighed anew, and how much they count.

    As in :func:`reweighted_means`, where ``counted`` (n_weighed,) says how much each draw counts.

    Examples
    --------
    >>> reweighted_sums(np.array([[[0.0, 1.0]]]), np.array([[0.25, 0.75]]), np.array([1.0, 0.5])).ravel()
    array([0.25 , 0.375, 0.75 , 0.625])
    """
    is_known = ~np.isnan(values)
    rows = np.vstack([np.full(weights.shape[1], 1.0 / weights.shape[1]), weights]) * counted
    sums, counts = (
        np.einsum("rd,mkd->rmk", rows, part) for part in (np.where(is_known, values, 0.0), is_known.astype(np.float64))
    )
    return np.array(np.broadcast_arrays(sums[:1], sums[1:], counts[:1], counts[1:]))


def reweighted_means(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Average the draws of a case as they are and weighed anew; those that are undefined do not count.

    Parameters
    ----------
    values : (models, metrics, n_weighed)
        Of every draw.
    weights : (n_refits, n_weighed)
        Weights of :func:`refit_weights`.

    Returns
    -------
    (3, n_refits, models, metrics)
        Means as they are and weighed anew; and 1 where any draw counts.

    Examples
    --------
    >>> reweighted_means(np.array([[[0.0, 1.0]]]), np.array([[0.25, 0.75]])).ravel()
    array([0.5 , 0.75, 1.  ])
    """
    is_known = ~np.isnan(values)
    rows = np.vstack([np.full(weights.shape[1], 1.0 / weights.shape[1]), weights])
    if is_known.all():  # not by BLAS, whose bits depend on its threads
        means = np.einsum("rd,mkd->rmk", rows, values) / rows.sum(axis=1)[:, None, None]
    else:
        sums = np.einsum("rd,mkd->rmk", rows, np.where(is_known, values, 0.0))
        means = sums / np.maximum(np.einsum("rd,mkd->rmk", rows, is_known.astype(np.float64)), LEAST)
    return np.stack(np.broadcast_arrays(means[:1], means[1:], is_known.any(axis=-1)))
