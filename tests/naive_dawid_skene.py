"""Dawid-Skene by other routes: sums over all true conditions with integrals over a grid, and a slow Gibbs sampler."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.special import gammaln

RIGHT, WRONG, FREQUENCY = 4.0, 2.0, 0.5
"""As documented: prior shapes of naming the true condition and any other, and of the frequency of a condition."""

Vote = tuple[int, int | None, int, float]
"""Case, annotator (None: nobody in particular), condition, and how often it counts."""


def log_row(shapes: np.ndarray, of_annotators: Sequence[np.ndarray], anonymous: np.ndarray) -> np.ndarray:
    """Return the log-probability of the votes on cases of one true condition, for many rows of shapes (..., K)."""
    total = shapes.sum(axis=-1)
    found = (anonymous * np.log(shapes / total[..., None])).sum(axis=-1)
    for counts in of_annotators:
        found = found + gammaln(total) - gammaln(total + counts.sum())
        found = found + (gammaln(shapes + counts) - gammaln(shapes)).sum(axis=-1)
    return np.asarray(found)


def grid_of_two(true: int, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Return shapes (n, n, 2) and the logarithms of their prior weights, b integrated out in closed form.

    With s_l ~ Gamma(a_l) / b and b ~ Exp(1), the density of s is proportional to the product of s_l^(a_l - 1), over
    (1 + sum of s)^(1 + sum of a).
    """
    a = np.array([RIGHT, WRONG] if true == 0 else [WRONG, RIGHT])
    share = (np.arange(n) + 0.5) / n
    odds = np.exp(np.linspace(-12, 25, n))
    shapes = np.stack(np.broadcast_arrays(odds[:, None] * share, odds[:, None] * (1 - share)), axis=-1)
    log_prior = ((a - 1) * np.log(shapes)).sum(axis=-1) - (1 + a.sum()) * np.log1p(odds)[:, None]
    log_prior = log_prior + 2 * np.log(odds)[:, None]  # from (s_1, s_2) to (log of the sum, share)
    return shapes, log_prior - np.log(np.exp(log_prior - log_prior.max()).sum()) - log_prior.max()


def exact_truths(votes: Sequence[Vote], n_cases: int, known: dict[int, int] | None = None) -> np.ndarray:
    """Return the probability of each of two conditions to be the true one, shape (n_cases, 2)."""
    people = sorted({who for _, who, _, _ in votes if who is not None})
    grids = [grid_of_two(true) for true in range(2)]
    found = np.zeros((n_cases, 2))
    for truths in product(range(2), repeat=n_cases):
        if any(truths[case] != true for case, true in (known or {}).items()):
            continue
        sizes = np.bincount(truths, minlength=2)
        log_joint = (gammaln(FREQUENCY + sizes) - gammaln(FREQUENCY)).sum()
        for true in range(2):
            counts = {who: np.zeros(2) for who in [*people, None]}
            for case, who, label, power in votes:
                if truths[case] == true:
                    counts[who][label] += power
            shapes, log_prior = grids[true]
            terms = log_prior + log_row(shapes, [counts[who] for who in people], counts[None])
            log_joint += np.log(np.exp(terms - terms.max()).sum()) + terms.max()
        for case, true in enumerate(truths):
            found[case, true] += np.exp(log_joint)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def naive_chain(
    votes: Sequence[Vote], n_cases: int, n_conditions: int, *, sweeps: int, seed: int, power: float = 1.0
) -> dict[str, Any]:
    """Draw by random-walk Metropolis steps on the logarithms of shapes and plain Gibbs steps on everything else.

    Returns mean plausibilities of truths, of truths with a power of what was said, and of votes (n_cases, K), and draws
    of the accuracies of annotators (sweeps, n_annotators).
    """
    rng = np.random.default_rng(seed)
    people = sorted({who for _, who, _, _ in votes if who is not None})
    right = np.eye(n_conditions, dtype=bool)
    a = np.where(right, RIGHT, WRONG / (n_conditions - 1))
    log_s, truths = np.log(a), rng.integers(n_conditions, size=n_cases)
    means, tempered, shares = (np.zeros((n_cases, n_conditions)) for _ in range(3))
    accuracies, log_c = [], 0.0
    own = np.zeros((n_cases, n_conditions))
    for case, _, label, weight in votes:
        own[case, label] += weight
    for sweep in range(-sweeps // 5, sweeps):
        counts = {who: np.zeros((n_conditions, n_conditions)) for who in [*people, None]}
        for case, who, label, weight in votes:
            counts[who][truths[case], label] += weight
        for k in range(n_conditions):
            for _ in range(4):
                step = rng.normal(size=n_conditions) * rng.choice([0.2, 1.0]) + rng.normal() * 0.5
                log_s[k] = _accepted(
                    rng, log_s[k], log_s[k] + step, a[k], [counts[p][k] for p in people], counts[None][k]
                )
        shapes = np.exp(log_s)
        theta: dict[int | None, np.ndarray] = {None: shapes / shapes.sum(axis=1, keepdims=True)}
        for who in people:
            theta[who] = np.array([rng.dirichlet(shapes[k] + counts[who][k]) for k in range(n_conditions)])
        pi = rng.dirichlet(FREQUENCY + np.bincount(truths, minlength=n_conditions))
        log_likelihood = np.zeros((n_cases, n_conditions))
        for case, who, label, weight in votes:
            log_likelihood[case] += weight * np.log(np.maximum(theta[who][:, label], 1e-300))
        log_pi = np.log(np.maximum(pi, 1e-300))
        chances = _softmax(log_pi + log_likelihood)
        truths = np.array([rng.choice(n_conditions, p=row) for row in chances])
        row_weights = {who: sum(weight for _, voter, _, weight in votes if voter == who) for who in counts}
        crowd = np.average([theta[who] for who in counts], axis=0, weights=[row_weights[who] for who in counts])
        for _ in range(3):
            new = log_c + rng.normal() * 0.7
            if np.log(rng.random()) < _of_cases(new, crowd[truths], own) - _of_cases(log_c, crowd[truths], own):
                log_c = new
        if sweep >= 0:
            seen = np.exp(log_c) * crowd[[rng.choice(n_conditions, p=row) for row in chances]] + own
            shares += seen / seen.sum(axis=1, keepdims=True) / sweeps
            means += chances / sweeps
            tempered += _softmax(log_pi + power * log_likelihood) / sweeps
            accuracies.append([(pi * np.diag(theta[who])).sum() for who in people])
    return {"truths": means, "tempered": tempered, "votes": shares, "accuracies": np.array(accuracies)}


def _of_cases(log_c: float, rows: np.ndarray, votes: np.ndarray) -> float:
    """Return the log-density of log(c), given the mean rows of the truths of all cases and the votes on them."""
    shapes, totals = np.exp(log_c) * np.maximum(rows, 1e-12), np.full(len(votes), np.exp(log_c))
    of_cases = (gammaln(shapes + votes) - gammaln(shapes)).sum() + (
        gammaln(totals) - gammaln(totals + votes.sum(1))
    ).sum()
    return float(of_cases - 0.5 * ((log_c - np.log(10.0)) / 1.5) ** 2)


def _softmax(logs: np.ndarray) -> np.ndarray:
    scaled = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def _accepted(
    rng: np.random.Generator, old: np.ndarray, new: np.ndarray, a: np.ndarray, named: list[np.ndarray], none: np.ndarray
) -> np.ndarray:
    """Take one Metropolis step on the logarithms of a row of shapes."""

    def log_density(log_s: np.ndarray) -> float:
        prior = (a * log_s).sum() - (1 + a.sum()) * np.log1p(np.exp(log_s).sum())
        return float(prior + log_row(np.exp(log_s), named, none))

    return new if np.log(rng.random()) < log_density(new) - log_density(old) else old


def maximised(votes: Sequence[Vote], n_cases: int, n_conditions: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the estimates of Dawid and Skene (1979), by their algorithm: truths (n_cases, K) and frequencies."""
    people = sorted({who for _, who, _, _ in votes if who is not None})
    counts = np.zeros((n_cases, len(people), n_conditions))
    for case, who, label, weight in votes:
        counts[case, people.index(who or 0), label] += weight
    truths = counts.sum(axis=1) / counts.sum(axis=(1, 2))[:, None]
    for _ in range(500):
        pi = truths.mean(axis=0)
        rows = np.einsum("ik,ijl->jkl", truths, counts)
        theta = rows / np.maximum(rows.sum(axis=2, keepdims=True), 1e-300)
        with np.errstate(divide="ignore"):
            log_theta, log_pi = np.maximum(np.log(theta), -1e3), np.log(pi)
        truths = _softmax(log_pi + np.einsum("ijl,jkl->ik", counts, log_theta))
    return truths, pi
