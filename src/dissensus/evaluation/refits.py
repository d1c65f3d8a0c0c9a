"""What the fit of an informed prior adds to intervals: refit it to resampled cases, and weigh the draws anew.

Other cases would have given other coefficients, and these other posteriors. They need no new draws: under other prior
shapes, a draw theta counts in proportion to the product of theta_k to the power of what the shape of k gains. A draw
of the mean and spread of ratings counts in proportion to its density under the other prior, divided by that under this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.case_prior import CasePrior
from dissensus.aggregations.rating_prior import RatingPrior
from dissensus.core.aliases import FloatArray
from dissensus.draws import Batch
from dissensus.evaluation.intervals import Part
from dissensus.study.opinions import Opinions

# Of more draws, the refits weigh this many, evenly spaced.
REFIT_DRAWS = 250

# A prior that models inform.
InformedPrior: TypeAlias = CasePrior | RatingPrior

# Stands in for a plausibility of zero, whose logarithm there is none.
LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class FitSpread:
    """How far means over resampled cases move when the prior is fitted to the resample.

    Attributes
    ----------
    sums : (3, n_refits, models, metrics)
        Sums over cases of bootstrap weight times weight times mean, with the prior fitted to all cases, and refitted;
        and the same without the mean.
    """

    sums: FloatArray

    def of_models(self) -> Part:
        """Return the variance that the fit adds to the mean of every model, shape (models, metrics)."""
        return self._part(*(self.sums[:2] / self.sums[2]))

    def of_difference(self, first: int, second: int) -> Part:
        """Return the variance that it adds to the difference of two models, shape (metrics,)."""
        means = self.sums[:2] / self.sums[2]
        return self._part(*(means[:, :, first] - means[:, :, second]))

    def _part(self, still: FloatArray, moved: FloatArray) -> Part:
        """Compare the variances of resampled means with and without refits."""
        gained = moved.var(axis=0, ddof=1) - still.var(axis=0, ddof=1)
        return Part(np.maximum(gained, 0.0), np.maximum(gained, 0.0), len(moved) - 1)


def known_prior(specs: Sequence[Aggregation]) -> InformedPrior | None:
    """Return the prior that was given to an aggregation, if any was."""
    given = (getattr(spec, name, None) for spec in specs for name in ("case_prior", "rating_prior"))
    return next((prior for prior in given if prior is not None), None)


def refit_weights(
    prior: InformedPrior, opinions: Opinions, coefficients: FloatArray, batch: Batch, step: int
) -> list[FloatArray]:
    """Weigh every ``step``-th draw of each case under refits, by case of shape (n_refits, n_weighed); rows sum to one.

    Parameters
    ----------
    prior
        The prior that was drawn with.
    opinions
        Of the study.
    coefficients : (n_refits, n_coefficients)
        What each resample of the cases would have.
    batch
        The draws.
    """
    names = batch.case_names
    if isinstance(prior, RatingPrior):
        assert batch.numbers is not None  # as ratings have numbers
        logs = prior.log_ratios(names, batch.numbers[:, ::step], coefficients)
        return [normalised_weights(of_case) for of_case in logs]
    # how far the shapes move, (n_refits, sum of (U + 1))
    shifts = prior.repeated(names, names).shifted(opinions.take(prior.positions(names)), coefficients)
    return [
        normalised_weights(shifts[:, start:stop] @ np.log(np.maximum(batch.of_case(case)[::step], LEAST)).T)
        for case, (start, stop) in enumerate(pairwise(batch.columns))
    ]


def normalised_weights(logs: FloatArray) -> FloatArray:
    """Turn logarithms of weights into weights of which every row sums to one.

    >>> normalised_weights(np.zeros((1, 2)))
    array([[0.5, 0.5]])
    """
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


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
    sums, counts = (np.tensordot(rows, part, axes=(1, 2)) for part in (np.where(is_known, values, 0.0), is_known))
    means = sums / np.maximum(counts, LEAST)
    return np.stack(np.broadcast_arrays(means[:1], means[1:], is_known.any(axis=-1)))
