"""Ratings: a normal distribution of scores per case, with a normal-inverse-gamma posterior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from dissensus.aggregations.base import Aggregation, plausibilities_of
from dissensus.aggregations.point_estimates import checked_thresholds, interval_names
from dissensus.aggregations.rating_regression import (
    LARGEST_SHAPE,
    RatingPrior,
    estimated_shifts,
    variances_of,
    without_shifts,
)
from dissensus.core.arrays import FloatArray, IntArray, KeyArray
from dissensus.core.checks import GREATEST, check_fields, check_length, check_positive
from dissensus.core.errors import DissensusError, listing
from dissensus.core.names import check_names
from dissensus.draws import Plausibilities
from dissensus.study.opinions import Moments


@dataclass(frozen=True)
class NormalInverseGammaPrior:
    """Prior of the mean and variance of a case: sigma^2 ~ InverseGamma(a, b), mean ~ N(mu, sigma^2 / kappa).

    Examples
    --------
    >>> from dissensus import Study
    >>> prior = NormalInverseGammaPrior(mu=0.0, kappa=1.0, a=2.0, b=1.0)
    >>> draws = NormalInverseGamma((0.0,), prior).sample(Study.from_scores([[1, 2, 2]]), draws=2000)
    >>> draws.mean().round(1)
    array([[0.1, 0.9]])
    """

    mu: float
    kappa: float
    a: float
    b: float

    def __post_init__(self) -> None:
        check_positive(kappa=self.kappa, a=self.a, b=self.b)
        check_fields(self)
        if not abs(self.mu) <= GREATEST:
            raise DissensusError("mu must be finite", expected=f"-{GREATEST:g} to {GREATEST:g}", got=repr(self.mu))


@dataclass(frozen=True)
class NormalInverseGamma(Aggregation):
    """Posterior of normally distributed scores, as plausibilities of the intervals between thresholds.

    Every draw is a mean and a variance from the conjugate posterior of a case; the plausibility of an interval is its
    probability under that normal distribution.

    Parameters
    ----------
    thresholds
        Increasing; K - 1 of them make K intervals. A score equal to a threshold belongs to the interval below it. By
        default ratings are numbers and nothing else; where conditions are shown, they are cut at their median.
    prior
        Given, or estimated from the scores of all cases by the method of moments (default). ``"informed"``: the mean
        that is expected of a case is a regression on the numbers of the models; inside :func:`evaluate`, or given as
        what :func:`rating_prior` returns.
    reliability
        How often each rating counts; any positive number. Weights of ratings multiply it.
    conditions
        Names of the K intervals; by default made from the thresholds.
    shifts
        Whether annotators with names rate higher or lower than others, each by an amount of their own, which is
        estimated from the cases that several rated and taken away from their ratings (:func:`annotator_shifts`).

    Notes
    -----
    Shifts are shrunk towards none as far as the ratings leave them open, and are taken as known: draws do not contain
    their uncertainty. Intervals of an evaluation do, if annotators count as a sample: shifts are then estimated again
    without each of them.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_scores([[-2, -1, -1], [1, 2, 2, 1], [-1, 0, 2]])
    >>> draws = NormalInverseGamma(thresholds=(0.0,)).sample(said, draws=2000)
    >>> draws.conditions, draws.mean()[:, 0].round(1)
    (('<= 0', '> 0'), array([0.8, 0.1, 0.4]))
    """

    id = "normal-inverse-gamma"
    meaning = "Takes ratings as measurements with an unknown mean and spread."
    needs = "ratings"

    thresholds: tuple[float, ...] | None = None
    prior: NormalInverseGammaPrior | Literal["informed"] | RatingPrior | None = None
    reliability: float = 1.0
    conditions: tuple[str, ...] | None = None
    shifts: bool = False
    rating_prior: RatingPrior | None = field(default=None, repr=False, compare=False)

    kept_apart = ("rating_prior",)

    def __post_init__(self) -> None:
        check_positive(reliability=self.reliability)
        if isinstance(self.prior, Mapping):
            if set(self.prior) != {"mu", "kappa", "a", "b"}:
                raise DissensusError("the prior is incomplete", expected="mu, kappa, a and b", got=listing(self.prior))
            object.__setattr__(self, "prior", NormalInverseGammaPrior(**self.prior))
        if isinstance(self.prior, RatingPrior):
            object.__setattr__(self, "rating_prior", self.prior)
            object.__setattr__(self, "prior", "informed")
        check_fields(self)
        given = self.prior
        if not (given is None or isinstance(given, NormalInverseGammaPrior) or str(given) == "informed"):
            raise DissensusError(
                "prior is not of the right kind",
                expected="a NormalInverseGammaPrior, 'informed', or what rating_prior returns",
                got=f"{given!r:.60}, a {type(given).__name__}",
            )
        object.__setattr__(self, "thresholds", checked_thresholds(self.thresholds))
        if self.conditions is not None:
            check_length("condition", len(self.conditions), len(self.thresholds or (0.0,)) + 1)
            check_names("condition", self.conditions)
            object.__setattr__(self, "conditions", tuple(self.conditions))

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        shifted = ", less a shift per annotator" if self.shifts else ""
        informed = " whose prior mean is a regression on the numbers of the models" if self.is_informed else ""
        cut = "at the median rating where conditions are shown"
        if self.thresholds is not None:
            cut = f"into conditions at {', '.join(f'{at:g}' for at in self.thresholds)}"
        return f"a normal-inverse-gamma model of the ratings{informed}{shifted}, cut {cut}"

    @property
    def learns(self) -> bool:
        """Whether the draws of a case depend on other cases: by the prior, the shifts or the median."""
        return bool(self.needs_whole)

    @property
    def needs_whole(self) -> str:
        """Only if something is estimated."""
        if self.prior is None or (self.is_informed and self.rating_prior is None):
            return "its prior is estimated from the scores of all cases at once"
        if self.shifts:
            return "the shifts of annotators are estimated from all cases at once"
        return "" if self.thresholds else "ratings are cut at the median of all cases"

    def shifts_of(self, opinions: Moments) -> FloatArray:
        """Return the shift of each annotator, zero where none is estimated, shape (n_annotators,).

        Examples
        --------
        >>> from dissensus import Study
        >>> NormalInverseGamma().shifts_of(Study.from_scores([[1, 2]]).opinions)
        array([], dtype=float64)
        """
        return estimated_shifts(opinions).values if self.shifts else np.zeros(len(opinions.annotator_names))

    def _prepare(self, opinions: Moments, *, draws: int, seed: int) -> Plausibilities:
        from dissensus.kernels.randomness import stream_keys

        thresholds = self.thresholds or (opinions.median,)
        found = estimated_shifts(opinions) if self.shifts else None
        opinions = opinions if found is None else without_shifts(opinions, found.values)
        fitted = {} if self.thresholds else {"median rating": thresholds[0]}
        fitted |= {} if found is None else {"spread of shifts": float(np.sqrt(found.variance))}
        keys = np.ascontiguousarray(stream_keys(np.uint64(seed), opinions.keys, 2)[:, 1])
        draw = partial(_drawn, self._posterior(opinions), np.array(thresholds), keys, draws)
        names = self.conditions or interval_names(thresholds)
        return plausibilities_of(opinions, draw, draws=draws, conditions=names, fitted=fitted)

    def _posterior(self, opinions: Moments) -> FloatArray:
        """Return mu, kappa, a, b of the posterior of each case, shape (n_cases, 4)."""
        if isinstance(self.prior, NormalInverseGammaPrior) or self.prior is None:
            return posterior_parameters(opinions, self.prior or estimated_prior(opinions), self.reliability)
        known = self.rating_prior
        if known is None:
            raise DissensusError(
                "the prior 'informed' needs to know what the models say",
                expected="prior=rating_prior(study, predictions), or evaluate(study, predictions), which fits one",
            )
        means = known.means[known.positions(opinions.case_names)]
        return posterior_parameters(opinions, known, self.reliability, means)


def _drawn(
    posteriors: FloatArray, thresholds: FloatArray, keys: KeyArray, draws: int, cases: IntArray
) -> tuple[FloatArray, None, FloatArray]:
    """Draw the plausibilities of all intervals, and numbers, for some cases."""
    from dissensus.kernels.simplex import sample_intervals

    theta, numbers = sample_intervals(posteriors[cases], thresholds, keys[cases], draws)
    return theta.ravel(), None, numbers


def posterior_parameters(
    rated: Moments, prior: NormalInverseGammaPrior | RatingPrior, reliability: float, means: Any = None
) -> FloatArray:
    """Return mu, kappa, a, b of the posterior of each case, shape (n_cases, 4).

    ``means`` (n_cases,) are those of the prior, if it has one for every case.
    """
    centre = prior.mu if isinstance(prior, NormalInverseGammaPrior) else means
    n, mean, squares = reliability * rated.totals, rated.means, reliability * rated.squares
    kappa = prior.kappa + n
    mu = (prior.kappa * centre + n * mean) / kappa
    b = prior.b + squares / 2 + prior.kappa * n * (mean - centre) ** 2 / (2 * kappa)
    return np.stack([mu, kappa, prior.a + n / 2, b], axis=1)


def estimated_prior(rated: Moments) -> NormalInverseGammaPrior:
    """Estimate the prior from the scores of all cases by the method of moments.

    The mean variance within cases, its spread between cases and the spread of case means, each less what sampling
    alone explains, are matched to the moments of the prior. Cases with many ratings count for more.
    """
    total, mean = rated.totals, rated.means
    within, a = variances_of(rated)
    centre = float(np.average(mean, weights=total))
    noise = within * len(total) / total.sum()
    between = max(float(np.average((mean - centre) ** 2, weights=total)) - noise, within / LARGEST_SHAPE)
    return NormalInverseGammaPrior(mu=centre, kappa=float(within / between), a=float(a), b=float(within * (a - 1)))
