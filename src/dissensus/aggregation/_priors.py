"""Prior shapes of conditions: equal ones, or learned from the study."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

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


N_BREAKS = 6
"""In how many ways tied first blocks are broken: a multiple of the usual sizes, 2 and 3."""

GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it are spread evenly between 0 and 1."""


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


def broken_votes(opinions: Opinions) -> FloatArray:
    """Give the vote of a tied first block to one of its conditions, in several ways that share it fairly on average.

    A vote that is shared by halves looks as if annotators agreed on the halves: with one tie in six, the fitted
    concentration of a simulated study was 1500 rather than 20. Which condition gets the vote depends on nothing but the
    name of the case and the place of the ranking in it.

    Returns
    -------
    (n_breaks, sum of U)
        Weighted votes for the mentioned conditions of all cases, side by side; once if there are no ties.

    Examples
    --------
    >>> from dissensus import Annotations
    >>> broken_votes(Annotations.from_rankings([[[["a"]], [["a", "b"]]]], ["a", "b", "c"]).opinions).T
    array([[1., 1., 2., 2., 2., 1.],
           [1., 1., 0., 0., 0., 1.]])
    """
    first = opinions.block_offsets[:-1]
    starts, sizes = opinions.code_offsets[first], np.diff(opinions.code_offsets)[first]
    offsets = np.append(0, np.cumsum(sizes))
    ranking = row_of_each(offsets)
    within = np.arange(offsets[-1]) - offsets[ranking]
    members = opinions.member_of_mention[starts[ranking] + within]
    size, given = sizes[ranking], opinions.votes[ranking]
    each = opinions.weights[ranking] / given
    rows = []
    for turn in range(N_BREAKS if (sizes > 1).any() else 1):
        favoured = (_fractions(opinions, turn)[ranking] * size).astype(np.int64)
        chosen = given // size + ((within - favoured) % size < given % size)
        rows.append(weighted_counts(members, each * chosen, len(opinions.support)))
    return np.array(rows)


def _fractions(opinions: Opinions, turn: int) -> FloatArray:
    """Return a number between 0 and 1 for each ranking, evenly spread over the turns, shape (n_rankings,)."""
    case = opinions.case_of_ranking
    place = np.arange(len(case)) - opinions.ranking_offsets[case] + 1
    of_case = (opinions.keys[case] >> np.uint64(11)).astype(np.float64) / 2.0**53
    return np.asarray((of_case + GOLDEN * place + turn / N_BREAKS) % 1.0)


def fitted_alpha(opinions: Opinions, prior: Prior) -> float:
    """Find the alpha under which the first choices of all annotators are most likely, case by case.

    The likelihood is that of Dirichlet-multinomial counts of first choices, ties broken in several ways and weights of
    rankings counting as numbers of votes. It is multiplied by a log-normal density of the mass of all conditions
    together, which weighs less than a case or two, so that studies with little to tell give something near 1; the mass
    stays between 0.001 and 1000.
    """
    from scipy.optimize import minimize_scalar

    n_parts = 1.0 if prior == "frequency" else len(opinions.conditions)
    counts, case = broken_votes(opinions), row_of_each(opinions.support_offsets)
    totals = weighted_counts(case, counts[0], opinions.n_cases)
    several = totals[case] > 1.0
    shares, counts = prior_shapes(opinions, prior, 1 / n_parts).mentioned[several], counts[:, several]
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
    shapes, counts : (sum of U,), (n_breaks, sum of U)
        Of the mentioned conditions of all cases; the log-probability is averaged over the ways to break ties.
    mass, totals : a number, (n_cases,)
        Sums over all conditions of shapes and counts.
    """
    from scipy.special import gammaln

    of_members = gammaln(shapes + counts).mean(axis=0) - gammaln(shapes)
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
