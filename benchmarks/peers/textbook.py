"""The textbook sampler: all K conditions, every annotator on their own, every order within a tie enumerated.

It draws from the same posterior as ``PlackettLuce`` with prior="symmetric" and whole reliability,
along the lines of Caron and Doucet (2012) extended to ties: choose a complete order compatible with each
ranking, then arrival times given the order, then weights given the times. Cost: annotators x reliability x K
per sweep, and the factorial of the largest tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ranking = Sequence[Sequence[int]]


def order_block(lam: Array, block: Sequence[int], behind: float, rng: np.random.Generator) -> list[int]:
    """Choose an order of a tied block, each with its probability given that the block comes first."""
    orders = list(permutations(block))
    weights = lam[np.array(orders)]
    running = behind + np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]
    probabilities = np.prod(weights / running, axis=1)
    return list(orders[rng.choice(len(orders), p=probabilities / probabilities.sum())])


def arrival_times(lam: Array, ranking: Ranking, rng: np.random.Generator) -> tuple[Array, list[int]]:
    """Draw how long each of the K conditions has run when the last mentioned one arrives."""
    mentioned = [k for block in ranking for k in block]
    unmentioned = np.setdiff1d(np.arange(len(lam)), mentioned)
    order: list[int] = []
    for i, block in enumerate(ranking):
        later = [k for other in ranking[i + 1 :] for k in other]
        order += order_block(lam, block, float(lam[later].sum() + lam[unmentioned].sum()), rng)
    running = lam[unmentioned].sum() + np.cumsum(lam[order][::-1])[::-1]
    arrivals = np.cumsum(rng.exponential(size=len(order)) / running)
    exposure = np.full(len(lam), arrivals[-1])
    exposure[order] = arrivals
    return exposure, order


def sample_textbook(
    rankings: Sequence[Ranking],
    n_conditions: int,
    *,
    reliability: int,
    alpha: float | Array,
    draws: int,
    warmup: int,
    rng: np.random.Generator,
) -> Array:
    """Draw plausibilities of one case, (draws, K). ``alpha`` is the prior shape, of all conditions or of each.

    At least one condition must stay unmentioned.
    """
    lam = np.ones(n_conditions)  # draws from the prior may all underflow when alpha is small
    out = np.empty((draws, n_conditions))
    for sweep in range(-warmup, draws):
        exposure, wins = np.ones(n_conditions), np.full(n_conditions, alpha)
        for ranking in rankings:
            for _ in range(reliability):
                times, order = arrival_times(lam, ranking, rng)
                exposure += times
                wins[order] += 1.0
        lam = rng.gamma(wins) / exposure
        if sweep >= 0:
            out[sweep] = lam / lam.sum()
    return out
