"""The ordered probit model by two other routes: weighted draws of its prior, and a sampler of what annotators perceive.

Opinions are (case, annotator or None, grade, power).
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy import special, stats

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


def perceived_chain(
    opinions: list[Opinion], n_cases: int, n_people: int, n_grades: int, *, sweeps: int, seed: int
) -> dict[str, np.ndarray]:
    """Run the sampler of Albert and Chib: perceived severities of named annotators are drawn from truncated normals.

    Pooled numbers and spreads take random-walk steps; limits are uniform between the perceptions on either side, times
    their prior. Slow, and slow to mix.
    """
    rng = np.random.default_rng(seed)
    case, who, grade = (np.array([opinion[k] for opinion in opinions], dtype=int) for k in range(3))
    z, b, spreads = np.zeros(n_cases), np.zeros(n_people), np.full(n_people, 0.5)
    d, s, w, limits = 0.5, 0.5, 0.5, np.linspace(-1, 1, n_grades - 1)
    kept: dict[str, list[np.ndarray]] = {"shifts": [], "limits": [], "spreads": []}
    for sweep in range(sweeps):
        ends = np.concatenate([[-np.inf], limits, [np.inf]])
        middle, own = z[case] + b[who], spreads[who]
        seen = stats.truncnorm.rvs(
            (ends[grade] - middle) / own, (ends[grade + 1] - middle) / own, loc=middle, scale=own, random_state=rng
        )
        z = _normal(rng, case, n_cases, seen - b[who], own, 1.0)
        b = _normal(rng, who, n_people, seen - z[case], own, d)
        for limit in range(n_grades - 1):
            low = max(seen[grade == limit].max(initial=-np.inf), limits[limit - 1] if limit else -np.inf)
            last = limit == n_grades - 2
            high = min(seen[grade == limit + 1].min(initial=np.inf), np.inf if last else limits[limit + 1])
            limits[limit] = stats.truncnorm.rvs(low / 2.0, high / 2.0, scale=2.0, random_state=rng)
        errors = seen - z[case] - b[who]
        for person in range(n_people):
            spreads[person] = _walked(rng, spreads[person], _of_spread, errors[who == person], s, w)
        d = _walked(rng, d, _of_shifts, b)
        s = _walked(rng, s, _of_typical, spreads, w)
        w = _walked(rng, w, _of_likeness, spreads, s)
        if sweep >= sweeps // 10:
            for name, value in (("shifts", b), ("limits", limits), ("spreads", spreads)):
                kept[name].append(value.copy())
    return {name: np.array(values) for name, values in kept.items()}


def _normal(
    rng: np.random.Generator, group: np.ndarray, n: int, values: np.ndarray, spread: np.ndarray, prior: float
) -> np.ndarray:
    """Draw means of groups, N(0, prior^2) before, given values with these spreads."""
    precision = 1.0 / prior**2 + np.bincount(group, weights=1.0 / spread**2, minlength=n)
    mean = np.bincount(group, weights=values / spread**2, minlength=n) / precision
    return np.asarray(mean + rng.normal(size=n) / np.sqrt(precision))


def _walked(rng: np.random.Generator, x: float, log_density: Callable[..., float], *known: Any) -> float:
    """Take random-walk steps with log x; the density is that of log x."""
    for _ in range(3):
        new = float(x * np.exp(0.6 * rng.normal()))
        if np.log(rng.random()) < log_density(new, *known) - log_density(x, *known):
            x = new
    return x


def _of_spread(x: float, errors: np.ndarray, s: float, w: float) -> float:
    return float(np.sum(stats.norm.logpdf(errors, scale=x)) + stats.norm.logpdf(np.log(x), np.log(s), w))


def _of_shifts(x: float, shifts: np.ndarray) -> float:
    return float(np.sum(stats.norm.logpdf(shifts, scale=x)) + stats.halfnorm.logpdf(x) + np.log(x))


def _of_typical(x: float, spreads: np.ndarray, w: float) -> float:
    own = np.sum(stats.norm.logpdf(np.log(spreads), np.log(x), w))
    return float(own + stats.norm.logpdf(np.log(x), np.log(0.5), 1.0))


def _of_likeness(x: float, spreads: np.ndarray, s: float) -> float:
    own = np.sum(stats.norm.logpdf(np.log(spreads), np.log(s), x))
    return float(own + stats.halfnorm.logpdf(x, scale=0.5) + np.log(x))
