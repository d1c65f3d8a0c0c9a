"""What the fit of an informed prior adds to intervals: refit it to resampled cases, and weigh the draws anew.

Other cases would have given other coefficients, and these other posteriors. They need no new draws: under other prior
shapes, a draw theta counts in proportion to the product of theta_k to the power of what the shape of k gains. A draw
of the mean and spread of ratings counts in proportion to its density under the other prior, divided by that under this.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

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


@dataclass(frozen=True, eq=False)
class Refits:
    """Know the coefficients of the prior of rankings under resamples of the cases.

    Attributes
    ----------
    prior
        The prior that was drawn with.
    opinions
        Of the study.
    coefficients : (n_refits, n_coefficients)
        What each resample would have.
    """

    prior: CasePrior
    opinions: Opinions
    coefficients: FloatArray

    def shifts(self, names: tuple[str, ...]) -> FloatArray:
        """Return how far the shapes of some cases move, shape (n_refits, sum of (U + 1))."""
        places = np.array([self.prior.place[name] for name in names], dtype=np.int64)
        return self.prior.repeated(names, names).shifted(self.opinions.take(places), self.coefficients)

    def weights(self, batch: Batch, step: int) -> list[FloatArray]:
        """Weigh draws by how far the shapes move."""
        shifts = self.shifts(batch.case_names)
        return [
            draw_weights(batch, case, shifts[:, start:stop], step)
            for case, (start, stop) in enumerate(pairwise(batch.columns))
        ]


@dataclass(frozen=True, eq=False)
class RatingRefits:
    """Know the coefficients of the prior of ratings under resamples of the cases.

    Attributes
    ----------
    prior
        The prior that was drawn with.
    coefficients : (n_refits, n_coefficients)
        What each resample would have; see :meth:`RatingPrior.refitted`.
    """

    prior: RatingPrior
    coefficients: FloatArray

    def weights(self, batch: Batch, step: int) -> list[FloatArray]:
        """Weigh draws by the ratio of their densities under the priors."""
        assert batch.numbers is not None  # as ratings have numbers
        logs = self.prior.log_ratios(batch.case_names, batch.numbers[:, ::step], self.coefficients)
        return [normalised_weights(of_case) for of_case in logs]


# Weigh the draws of cases as other fits of an informed prior would have them.
Reweighting: TypeAlias = Refits | RatingRefits


def draw_weights(batch: Batch, case: int, shifts: FloatArray, step: int) -> FloatArray:
    """Weigh every ``step``-th draw of a case under each refit, shape (n_refits, n_weighed); rows sum to one.

    Parameters
    ----------
    shifts : (n_refits, U + 1)
        What the shapes gain.
    """
    logs = shifts @ np.log(np.maximum(batch.of_case(case)[::step], LEAST)).T
    return normalised_weights(logs)


def normalised_weights(logs: FloatArray) -> FloatArray:
    """Turn logarithms of weights into weights of which every row sums to one.

    >>> normalised_weights(np.zeros((1, 2)))
    array([[0.5, 0.5]])
    """
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def reweighted_means(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Average the draws of a case as they are and weighed anew; those that are undefined do not count.

    Parameters
    ----------
    values : (models, metrics, n_weighed)
        Of every draw.
    weights : (n_refits, n_weighed)
        Weights of :func:`draw_weights`.

    Returns
    -------
    still, moved, counted
        Means as they are (models, metrics) and weighed anew (n_refits, models, metrics); and 1 where any draw counts,
        like ``moved``.

    Examples
    --------
    >>> still, moved, counted = reweighted_means(np.array([[[0.0, 1.0]]]), np.array([[0.25, 0.75]]))
    >>> still, moved, counted
    (array([[0.5]]), array([[[0.75]]]), array([[[1.]]]))
    """
    is_known = ~np.isnan(values)
    if is_known.all():
        moved = np.moveaxis(values @ weights.T, -1, 0)
        return values.mean(axis=-1), moved, np.ones_like(moved)
    filled = np.where(is_known, values, 0.0)
    plain = np.full((1, weights.shape[1]), 1.0 / weights.shape[1])
    still, moved = (
        np.moveaxis(filled @ part.T, -1, 0) / np.maximum(np.moveaxis(is_known @ part.T, -1, 0), LEAST)
        for part in (plain, weights)
    )
    return still[0], moved, np.broadcast_to(is_known.any(axis=-1), moved.shape).astype(np.float64)
