"""Prior shapes of conditions: equal ones, or learned from the study."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dissensus.aggregation.majority_vote import votes
from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_positive
from dissensus.core.errors import DissensusError, DissensusWarning
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.study.opinions import Opinions

Prior: TypeAlias = Literal["observed", "symmetric", "frequency", "informed"]
Alpha: TypeAlias = float | Literal["fitted"]

LEAST_MASS, MOST_MASS = 1e-3, 1e3
"""Limits of a fitted prior mass of all conditions together."""

MASS_SPREAD = 2.0
"""Before any case is seen, the logarithm of that mass is normal around 0 with this standard deviation."""

SMOOTHING = 0.5
"""How many mentions are added to those of every condition."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """Hold the prior shapes of the conditions of every case.

    Attributes
    ----------
    mentioned : (sum of U,)
        Of the mentioned conditions of all cases, side by side.
    rest : (n_cases,)
        Of all others together.
    split : (n_cases,)
        Of an unmentioned condition when the rest is split, per unit of its weight.
    sums : (K + 1,), optional
        Sums of the weights of the conditions before each one; by default all weigh the same.
    """

    mentioned: FloatArray
    rest: FloatArray
    split: FloatArray
    sums: FloatArray | None = None


def prior_shapes(opinions: Opinions, prior: Prior, alpha: float) -> Shapes:
    """Return the shapes that a prior gives the conditions of every case; see :class:`PlackettLuce`."""
    if prior == "frequency":
        return frequency_shapes(opinions, alpha)
    is_observed = prior == "observed"
    members = np.minimum(opinions.rest_sizes, 1) if is_observed else opinions.rest_sizes
    split = np.full(opinions.n_cases, 1.0 if is_observed else alpha)
    return Shapes(np.full(len(opinions.support), float(alpha)), np.asarray(alpha * members, dtype=np.float64), split)


def frequency_shapes(opinions: Opinions, alpha: float) -> Shapes:
    """Divide the mass ``alpha`` among all conditions by the number of other cases that mention them, plus a half.

    The case itself is left out: what it mentions would otherwise count twice, and what it does not mention is counted
    in other cases only.
    """
    weights = mention_counts(opinions) + SMOOTHING
    per_weight = alpha / (weights.sum() - opinions.support_sizes)
    case = row_of_each(opinions.support_offsets)
    own = (weights[opinions.support] - 1.0) * per_weight[case]
    unmentioned = weights.sum() - weighted_counts(case, weights[opinions.support], opinions.n_cases)
    rest = np.where(opinions.rest_sizes > 0, per_weight * unmentioned, 0.0)
    return Shapes(own, rest, per_weight, np.append(0.0, np.cumsum(weights)))


def mention_counts(opinions: Opinions) -> FloatArray:
    """Count the cases that mention each condition, shape (K,)."""
    return np.bincount(opinions.support, minlength=len(opinions.conditions)).astype(np.float64)


def given_alpha(alpha: Alpha | None, prior: object) -> Alpha:
    """Return alpha, by default what suits the prior; refuse one that is wrong or cannot be fitted."""
    if alpha is None:
        return 1.0 if prior == "observed" else "fitted"
    if prior == "informed" and alpha != "fitted":
        raise DissensusError(
            "alpha cannot be given with the prior 'informed', whose strength is fitted case by case",
            expected="alpha left out",
            got=f"{alpha!r:.40}",
        )
    if isinstance(alpha, str) and alpha != "fitted":
        raise DissensusError("alpha is not understood", expected="a positive number or 'fitted'", got=repr(alpha))
    if isinstance(alpha, str) and prior == "observed":
        raise DissensusError(
            "alpha cannot be fitted under the prior 'observed', which depends on what was mentioned",
            expected="prior='frequency' or prior='symmetric'",
        )
    if not isinstance(alpha, str):
        check_positive(alpha=alpha)
    return alpha


def alpha_words(alpha: Alpha | None) -> str:
    """Write alpha in a sentence.

    >>> alpha_words(0.5), alpha_words("fitted")
    ('0.5', 'fitted to the first choices of the study')
    """
    return "fitted to the first choices of the study" if alpha is None or isinstance(alpha, str) else f"{alpha:g}"


def resolved_alpha(opinions: Opinions, alpha: Alpha | None, prior: Prior) -> tuple[float, dict[str, float]]:
    """Return the number that alpha stands for in a study, and what of it was fitted."""
    if alpha is not None and not isinstance(alpha, str):
        return float(alpha), {}
    found = fitted_alpha(opinions, prior)
    return found, {"alpha": found}


def fitted_alpha(opinions: Opinions, prior: Prior) -> float:
    """Find the alpha under which the first choices of all annotators are most likely, case by case.

    The likelihood is that of Dirichlet-multinomial counts of first choices, weights of rankings counting as numbers of
    votes and tied conditions sharing theirs. With ties broken, as the informed prior has it, the mass would be smaller
    (1.2 rather than 1.6 on the published differential diagnoses), which held-out rankings like less there (-3.83 rather
    than -3.79). It is multiplied by a log-normal density of the mass of all conditions together, which weighs less than
    a case or two, so that studies with little to tell give something near 1; the mass stays between 0.001 and 1000.
    """
    from scipy.optimize import minimize_scalar

    n_parts = 1.0 if prior == "frequency" else len(opinions.conditions)
    counts, case = votes(opinions), row_of_each(opinions.support_offsets)
    totals = weighted_counts(case, counts, opinions.n_cases)
    shares, counts = (
        part[totals[case] > 1.0] for part in (prior_shapes(opinions, prior, 1 / n_parts).mentioned, counts)
    )
    totals = totals[totals > 1.0]  # a single vote is as likely under any alpha

    def badness(log_mass: float) -> float:
        mass = np.exp(log_mass)
        return 0.5 * (log_mass / MASS_SPREAD) ** 2 - first_choice_likelihood(mass * shares, counts, mass, totals)

    limits = np.log(LEAST_MASS), np.log(MOST_MASS)
    found = float(np.exp(minimize_scalar(badness, bounds=limits, method="bounded", options={"xatol": 1e-6}).x))
    warn_of_limits(found, len(totals))
    return found / n_parts


def first_choice_likelihood(shapes: FloatArray, counts: FloatArray, mass: float, totals: FloatArray) -> float:
    """Return the log-probability of Dirichlet-multinomial counts, up to a constant.

    Parameters
    ----------
    shapes, counts : (sum of U,)
        Of the mentioned conditions of all cases.
    mass, totals : a number, (n_cases,)
        Sums over all conditions of shapes and counts.
    """
    from scipy.special import gammaln

    of_members = gammaln(shapes + counts) - gammaln(shapes)
    return float(of_members.sum() + (gammaln(mass) - gammaln(mass + totals)).sum())


def warn_of_limits(mass: float, n_cases: int) -> None:
    """Say where a study cannot tell what alpha should be."""
    if n_cases == 0:
        problem = "alpha is not learned, as no case has two opinions to compare: the prior mass is 1"
    elif not 1.01 * LEAST_MASS < mass < MOST_MASS / 1.01:
        problem = f"the fitted prior mass is at its limit, {mass:.2g}: annotators always agree, or only by chance"
    else:
        return
    warnings.warn(problem, DissensusWarning, stacklevel=2)
