"""The ordered probit model by another route: weighted draws of its prior.

Opinions are (case, annotator or None, grade, power).
"""

from typing import TypeAlias

import numpy as np
from scipy import special

Opinion: TypeAlias = tuple[int, int | None, int, float]


def drawn_prior(rng: np.random.Generator, n: int, n_cases: int, n_people: int, n_grades: int) -> dict[str, np.ndarray]:
    """Draw parameters n times as the model has them before anything is seen."""
    d, w = np.abs(rng.normal(size=n)), np.abs(rng.normal(scale=0.5, size=n))
    s = 0.5 * np.exp(rng.normal(size=n))
    return {
        "severities": rng.normal(size=(n, n_cases)),
        "limits": np.sort(rng.normal(scale=2.0, size=(n, n_grades - 1)), axis=1),
        "d": d,
        "s": s,
        "w": w,
        "shifts": d[:, None] * rng.normal(size=(n, n_people)),
        "spreads": s[:, None] * np.exp(w[:, None] * rng.normal(size=(n, n_people))),
    }


def chances(middle: np.ndarray, spread: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return the probability of every grade, shape (n, K)."""
    below = special.ndtr((limits - middle[:, None]) / spread[:, None])
    return np.diff(below, axis=1, prepend=0.0, append=1.0)


def weighted_means(
    opinions: list[Opinion], n_cases: int, n_people: int, n_grades: int, *, n: int, seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return mean plausibilities (n_cases, K) and mean shifts, and how many draws of the posterior they are worth."""
    drawn = drawn_prior(np.random.default_rng(seed), n, n_cases, n_people, n_grades)
    typical = np.hypot(drawn["d"], drawn["s"])
    log = np.zeros(n)
    for case, who, grade, power in opinions:
        shift = np.zeros(n) if who is None else drawn["shifts"][:, who]
        spread = typical if who is None else drawn["spreads"][:, who]
        chance = chances(drawn["severities"][:, case] + shift, spread, drawn["limits"])[:, grade]
        log += power * np.log(np.maximum(chance, 1e-300))
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    next_grades = [chances(drawn["severities"][:, case], typical, drawn["limits"]) for case in range(n_cases)]
    means = np.array([weights @ plausibilities for plausibilities in next_grades])
    return means, weights @ drawn["shifts"], float(1.0 / (weights**2).sum())
