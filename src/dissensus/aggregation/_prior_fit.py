"""Fit a prior of every case to the first choices of annotators: what models say is weighed, annotators decide how much.

The prior of case i is Dirichlet(s_i mu_i). The logarithm of mu_ik is a sum of what each model says about condition k
times a coefficient, of the logarithm of the condition's frequency times one, and of a number of its own for the most
frequent conditions; the logarithm of s_i is a number plus one times the entropy of mu_i and one for every frequent
condition times its share. Coefficients maximise the Dirichlet-multinomial likelihood of the votes, with a ridge. The
entropy and the shares are those of a first fit in which all cases have the same s, so that the likelihood stays simple.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dissensus.aggregation._evidence import Evidence
from dissensus.core.aliases import FloatArray
from dissensus.core.exact import Exact
from dissensus.core.ragged import weighted_counts

MASS_LIMIT = 8.0
"""The logarithm of a concentration stays between minus and plus this."""

LEAST_SHAPE = 1e-9
"""No prior shape is smaller."""

MOST_STEPS, PRECISION = 300, 1e-3
"""When the search ends: after so many steps, or when slopes are below this in units of standard errors."""

BROAD = 0.25
"""Precision of what is known before any vote about the concentration: its logarithm has standard deviation 2."""

STEP = 1e-5
"""How far coefficients are moved to find the curvature."""

AT_ONCE, MOST_ROUNDED = 100, 256.0
"""So many slopes below this are weighted, rounded and added at a time: their sums are exact."""


@dataclass(frozen=True, eq=False)
class Shares:
    """Hold the means mu of all cases.

    Attributes
    ----------
    entries : (n_entries,)
        Of the conditions that are entries.
    rest : (n_cases,)
        Of all others together.
    scale : (n_cases,)
        Share of an other condition over its weight.
    weights : (K,)
        Those weights.
    """

    entries: FloatArray
    rest: FloatArray
    scale: FloatArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class State:
    """Hold what coefficients make: means, concentrations, and shapes of the mentioned conditions (n_mentioned,)."""

    shares: Shares
    mass: FloatArray
    shapes: FloatArray


@dataclass(frozen=True, eq=False)
class Pulls:
    """Hold the derivatives of the log-likelihood by the logarithms of what makes up the shapes.

    Attributes
    ----------
    entries : (n_entries,)
        By the logit of each entry.
    others : (n_cases,)
        By that of any other condition, over its weight.
    masses : (n_cases,)
        By the logarithm of the concentration.
    weights : (K,)
        Weights of conditions that are no entries.
    """

    entries: FloatArray
    others: FloatArray
    masses: FloatArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class PriorLikelihood:
    """Evaluate coefficients: (features, frequency, free conditions, concentration, its covariates), one after another.

    Attributes
    ----------
    evidence
        Features and votes.
    covariates : (n_cases, Q)
        What the logarithm of the concentration depends on, besides a constant.
    """

    evidence: Evidence
    covariates: FloatArray

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """How many coefficients there are of each kind."""
        return self.evidence.features.shape[1], 1, len(self.evidence.free), 1, self.covariates.shape[1]

    @property
    def start(self) -> FloatArray:
        """Coefficients to start from: all models count alike."""
        n_features, *_ = self.sizes
        found = np.zeros(sum(self.sizes))
        found[:n_features:3] = 1.0 / max(n_features, 1)
        found[n_features] = 1.0
        return found

    def parts(self, coefficients: FloatArray) -> list[FloatArray]:
        """Split coefficients by kind."""
        return np.split(coefficients, np.cumsum(self.sizes)[:-1])

    @property
    def centre(self) -> FloatArray:
        """What coefficients are before any vote: nothing, but conditions as frequent as they are."""
        return np.concatenate([np.full(size, float(kind == 1)) for kind, size in enumerate(self.sizes)])

    @cached_property
    def ridge(self) -> FloatArray:
        """How firmly: precisions of the coefficients."""
        _, *others = self.sizes
        parts = [np.full(size, own) for own, size in zip((1.0, 1.0, BROAD, 1.0), others, strict=True)]
        return np.concatenate([self.evidence.firmness, *parts])

    def shares(self, coefficients: FloatArray) -> Shares:
        """Return mu."""
        told, frequency, own, _, _ = self.parts(coefficients)
        evidence, own = self.evidence, np.append(own, 0.0)
        base = frequency[0] * evidence.log_weights
        base[evidence.free] += own[:-1]
        weights = np.exp(base - base.max())
        said = combined(evidence.features, told)
        logits = said + frequency[0] * evidence.log_frequency + own[evidence.place] - base.max()
        highest = np.maximum(np.maximum.reduceat(logits, evidence.offsets[:-1]), 0.0)
        masses = np.exp(logits - highest[evidence.case])
        others = weights.sum() - weighted_counts(evidence.case, weights[evidence.codes], evidence.n_cases)
        others = np.where(evidence.is_whole, 0.0, np.maximum(others, 0.0)) * np.exp(-highest)
        totals = weighted_counts(evidence.case, masses, evidence.n_cases) + others
        return Shares(masses / totals[evidence.case], others / totals, np.exp(-highest) / totals, weights)

    def concentrations(self, coefficients: FloatArray) -> FloatArray:
        """Return s, shape (n_cases,)."""
        *_, constant, slopes = self.parts(coefficients)
        logs = constant[0] + combined(self.covariates, slopes)
        return np.asarray(np.exp(np.clip(logs, -MASS_LIMIT, MASS_LIMIT)))

    def of_cases(self, coefficients: FloatArray) -> FloatArray:
        """Return the log-likelihood of the votes of each case, shape (n_cases,)."""
        return self._values(self._state(coefficients))

    def _state(self, coefficients: FloatArray) -> State:
        shares, mass, mentioned = self.shares(coefficients), self.concentrations(coefficients), self.evidence.mentioned
        shapes = mass[self.evidence.case[mentioned]] * shares.entries[mentioned]
        return State(shares, mass, np.maximum(shapes, LEAST_SHAPE))

    def _values(self, state: State) -> FloatArray:
        from scipy.special import gammaln

        evidence, mass, shapes = self.evidence, state.mass, state.shapes
        members = mean_of_rows(gammaln(shapes + evidence.votes)) - gammaln(shapes)
        own = gammaln(mass) - gammaln(mass + evidence.totals)
        return weighted_counts(evidence.case[evidence.mentioned], members, evidence.n_cases) + own

    def _pulls(self, state: State) -> Pulls:
        from scipy.special import digamma

        evidence, shares, mass, shapes = self.evidence, state.shares, state.mass, state.shapes
        pulls = shapes * (mean_of_rows(digamma(shapes + evidence.votes)) - digamma(shapes))
        pull = weighted_counts(evidence.case[evidence.mentioned], pulls, evidence.n_cases)
        entries = -pull[evidence.case] * shares.entries
        entries[evidence.mentioned] += pulls
        by_mass = pull + mass * (digamma(mass) - digamma(mass + evidence.totals))
        return Pulls(entries, -pull * shares.scale, by_mass, shares.weights)

    def slopes(self, coefficients: FloatArray) -> FloatArray:
        """Return the derivatives of :meth:`of_cases`, shape (n_cases, n_coefficients)."""
        return self._slopes(self._pulls(self._state(coefficients)))

    def values_and_slopes(self, coefficients: FloatArray) -> FloatArray:
        """Return :meth:`of_cases` and its derivatives, shape (n_cases, 1 + n_coefficients)."""
        state = self._state(coefficients)
        return np.column_stack([self._values(state), self._slopes(self._pulls(state))])

    def _slopes(self, pulls: Pulls) -> FloatArray:
        evidence = self.evidence
        told = np.add.reduceat(pulls.entries[:, None] * evidence.features, evidence.offsets[:-1], axis=0)
        own = pulls.others[:, None] * pulls.weights[evidence.free]
        is_free = evidence.place < len(evidence.free)
        own[evidence.case[is_free], evidence.place[is_free]] = pulls.entries[is_free]
        by_mass = pulls.masses[:, None]
        return np.concatenate([told, self._by_frequency(pulls)[:, None], own, by_mass, by_mass * self.covariates], 1)

    def slope(self, coefficients: FloatArray, weights: FloatArray) -> FloatArray:
        """Sum :meth:`slopes` over weighted cases, without writing them out, shape (n_coefficients,)."""
        return self._slope(self._pulls(self._state(coefficients)), weights)

    def _slope(self, pulls: Pulls, weights: FloatArray) -> FloatArray:
        evidence = self.evidence
        entries, others = weights[evidence.case] * pulls.entries, weights * pulls.others
        of_free = weighted_counts(evidence.place, entries, len(evidence.free) + 1)[:-1]
        inside = weighted_counts(evidence.place, others[evidence.case], len(evidence.free) + 1)[:-1]
        masses = weights * pulls.masses
        return np.concatenate(
            [
                entries @ evidence.features,
                [weights @ self._by_frequency(pulls)],
                of_free + pulls.weights[evidence.free] * (others.sum() - inside),
                [masses.sum()],
                masses @ self.covariates,
            ]
        )

    def _by_frequency(self, pulls: Pulls) -> FloatArray:
        evidence, weighed = self.evidence, pulls.weights * self.evidence.log_weights
        inside = weighted_counts(evidence.case, weighed[evidence.codes], evidence.n_cases)
        others = np.where(evidence.is_whole, 0.0, weighed.sum() - inside)
        own = weighted_counts(evidence.case, pulls.entries * evidence.log_frequency, evidence.n_cases)
        return np.asarray(own + pulls.others * others)

    def badness(self, coefficients: FloatArray, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the penalised log-likelihood of weighted cases, and its derivatives."""
        gap, state = coefficients - self.centre, self._state(coefficients)
        value = 0.5 * (self.ridge * gap**2).sum() - weights @ self._values(state)
        return float(value), self.ridge * gap - self._slope(self._pulls(state), weights)

    def fitted(self, weights: FloatArray, start: FloatArray | None = None) -> FloatArray:
        """Return the coefficients under which the votes are most likely.

        They are searched on axes along which the likelihood is about equally curved, judged by the slopes of cases.
        """
        from scipy.optimize import minimize

        first = self.start if start is None or len(start) != len(self.start) else start
        slopes = self.slopes(first)
        curvature = np.diag(self.ridge) + (weights[:, None] * slopes).T @ slopes
        axes = np.linalg.inv(np.linalg.cholesky(curvature)).T

        def badness(steps: FloatArray) -> tuple[float, FloatArray]:
            value, slope = self.badness(first + axes @ steps, weights)
            return value, slope @ axes

        options: Any = {"maxiter": MOST_STEPS, "gtol": PRECISION}
        found = minimize(badness, np.zeros(len(first)), jac=True, method="BFGS", options=options)
        return np.asarray(first + axes @ found.x)

    def curvature(self, coefficients: FloatArray, weights: FloatArray) -> FloatArray:
        """Return minus the second derivatives of the penalised log-likelihood of weighted cases."""
        here = self.slope(coefficients, weights)
        ahead = [self.slope(coefficients + step, weights) for step in STEP * np.eye(len(coefficients))]
        found = np.diag(self.ridge) - (np.array(ahead) - here) / STEP
        return np.asarray((found + found.T) / 2)

    def pushes(self, coefficients: FloatArray, weights: FloatArray) -> Exact:
        """Sum over cases what weights (n_cases, n_refits) add to the slope, beyond all cases counting once.

        Sums do not depend on the order of cases, and those of parts add up.

        Returns
        -------
        (n_refits, n_coefficients)
        """
        slopes, excess = self.slopes(coefficients), weights - 1.0
        total = Exact.zeros(weights.shape[1], slopes.shape[1])
        for first in range(0, len(slopes), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            total = total + _weighted_sums(slopes[some], excess[some])
        return total

    def refitted(
        self, coefficients: FloatArray, weights: FloatArray, curvature: FloatArray | None = None
    ) -> FloatArray:
        """Move coefficients by one Newton step to where weights (n_refits, n_cases) of the cases put them.

        Returns
        -------
        (n_refits, n_coefficients)
        """
        if curvature is None:
            curvature = self.curvature(coefficients, np.ones(self.evidence.n_cases))
        return moved(coefficients, curvature, self.pushes(coefficients, weights.T))


def moved(coefficients: FloatArray, curvature: FloatArray, pushes: Exact) -> FloatArray:
    """Move coefficients to where each push (n_refits, n_coefficients) is balanced by the curvature."""
    return np.asarray(coefficients + np.linalg.solve(curvature, pushes.rounded().T).T)


def _weighted_sums(slopes: FloatArray, weights: FloatArray) -> Exact:
    """Sum slopes (n_cases, n_coefficients) of some cases times weights (n_cases, n_refits)."""
    from dissensus.kernels.jit import plain
    from dissensus.kernels.tallies import add_resampled

    is_large = np.abs(slopes).max(axis=1) >= MOST_ROUNDED
    sums = np.zeros((1, weights.shape[1], slopes.shape[1]))
    everyone = np.zeros(len(slopes), dtype=np.int64)
    add_resampled(plain(np.where(np.expand_dims(is_large, 1), 0.0, slopes)), plain(weights), everyone, sums)
    total = Exact.of(sums[0])
    for case in np.flatnonzero(is_large):
        total = total + Exact.of(weights[case][:, None] * slopes[case])
    return total


def combined(columns: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Multiply columns (n, m) by coefficients and add them one after another: a row does not depend on other rows.

    >>> combined(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, 0.25]))
    array([1. , 2.5])
    """
    total = np.zeros(len(columns))
    for column, coefficient in zip(columns.T, coefficients, strict=True):
        total += coefficient * column
    return total


def mean_of_rows(rows: FloatArray) -> FloatArray:
    """Average rows (m, n), added one after another: a column does not depend on how many others there are."""
    total = rows[0]
    for row in rows[1:]:
        total = total + row
    return np.asarray(total / len(rows))


def raw_covariates(likelihood: PriorLikelihood, coefficients: FloatArray) -> FloatArray:
    """Return what concentrations may depend on: the entropy of mu, and the shares of the free conditions.

    Returns
    -------
    (n_cases, 1 + n_free)
    """
    evidence, shares = likelihood.evidence, likelihood.shares(coefficients)
    parts = -shares.entries * np.log(np.maximum(shares.entries, LEAST_SHAPE))
    rest = -shares.rest * np.log(np.maximum(shares.rest, LEAST_SHAPE))
    entropy = weighted_counts(evidence.case, parts, evidence.n_cases) + rest
    own = shares.scale[:, None] * shares.weights[evidence.free]
    is_free = evidence.place < len(evidence.free)
    own[evidence.case[is_free], evidence.place[is_free]] = shares.entries[is_free]
    return np.column_stack([entropy, own])


@dataclass(frozen=True, eq=False)
class Centre:
    """Know the means of raw covariates (1 + n_free,) and the standard deviation of the entropy."""

    means: FloatArray
    spread: float

    @staticmethod
    def of(raw: FloatArray) -> Centre:
        """Find them in raw covariates."""
        entropy = raw[:, 0].copy()
        return Centre(np.append(entropy.mean(), raw[:, 1:].copy().mean(axis=0)), float(entropy.std()))

    @staticmethod
    def of_sums(sums: FloatArray, n_cases: int) -> Centre:
        """Find them in sums over cases: of squared entropies, and of raw covariates."""
        square, *means = sums / n_cases
        return Centre(np.array(means), float(np.sqrt(max(square - means[0] ** 2, 0.0))))

    def applied(self, raw: FloatArray) -> FloatArray:
        """Standardise raw covariates."""
        scale = np.append(self.spread if self.spread > 0 else 1.0, np.ones(raw.shape[1] - 1))
        return np.asarray((raw - self.means) / scale)


def covariates_of(likelihood: PriorLikelihood, coefficients: FloatArray) -> FloatArray:
    """Return the covariates of all cases, the entropy in units of its standard deviation."""
    raw = raw_covariates(likelihood, coefficients)
    return Centre.of(raw).applied(raw)


def fitted_likelihood(
    evidence: Evidence, weights: FloatArray | None = None, start: FloatArray | None = None
) -> tuple[PriorLikelihood, FloatArray]:
    """Fit twice: with one concentration of all cases, and with one that depends on what the first fit says.

    Parameters
    ----------
    weights : (n_cases,)
        How much the votes of each case count; by default all alike. A case of weight zero has a prior that owes nothing
        to its votes.
    start
        Coefficients of a similar fit.
    """
    weights = np.ones(evidence.n_cases) if weights is None else weights
    plain = PriorLikelihood(evidence, np.empty((evidence.n_cases, 0)))
    n_plain = sum(plain.sizes)
    is_known = start is not None and len(start) == n_plain + 1 + len(evidence.free)
    first = start[:n_plain] if start is not None and is_known else plain.fitted(weights)
    whole = replace(plain, covariates=covariates_of(plain, first))
    extended = np.concatenate([first, np.zeros(whole.covariates.shape[1])])
    return whole, whole.fitted(weights, start if is_known else extended)
