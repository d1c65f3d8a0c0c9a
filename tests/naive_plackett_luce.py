"""Plackett-Luce by other routes: every order written out, and posteriors integrated over the simplex."""

import math
from collections.abc import Sequence
from itertools import permutations, product

import numpy as np
import numpy.typing as npt

Ranking = Sequence[Sequence[int]]
Array = npt.NDArray[np.float64]


def order_probability(weights: Array, order: Sequence[int]) -> Array:
    """Probability of a complete order; weights (..., K)."""
    probability: Array = np.ones(weights.shape[:-1])
    left = list(order)
    for k in order:
        probability = probability * weights[..., k] / weights[..., left].sum(axis=-1)
        left.remove(k)
    return probability


def ranking_probability(weights: Array, ranking: Ranking, *, below: bool = True) -> Array:
    """Sum the probabilities of all orders in which each block comes before the next; weights (..., K)."""
    mentioned = [k for block in ranking for k in block]
    unmentioned = [k for k in range(weights.shape[-1]) if k not in mentioned]
    blocks = [*ranking, unmentioned] if below else list(ranking)
    orders = product(*(permutations(block) for block in blocks))
    total: Array = np.zeros(weights.shape[:-1])
    for parts in orders:
        total = total + order_probability(weights, [k for part in parts for k in part])
    return total


def rankings_of(conditions: int) -> list[Ranking]:
    """List every partial ranking of some of the conditions: all ordered partitions of all subsets."""
    found: list[Ranking] = []
    for ranks in product(range(conditions + 1), repeat=conditions):
        used = sorted(set(ranks) - {0})
        if used == list(range(1, len(used) + 1)) and used:
            found.append([[k for k in range(conditions) if ranks[k] == rank] for rank in used])
    return found


def simplex_grid(conditions: int, step: float, reach: float) -> Array:
    """Points of the simplex that are equally spaced in the logarithms of ratios to the last condition."""
    axis = np.arange(-reach, reach + step / 2, step)
    axes = np.meshgrid(*[axis] * (conditions - 1), indexing="ij")
    log_ratios = np.stack([*(x.ravel() for x in axes), np.zeros(axes[0].size)], axis=-1)
    weights = np.exp(log_ratios - log_ratios.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def posterior_by_quadrature(
    rankings: Sequence[Ranking],
    multiplicities: Sequence[float],
    shapes: Sequence[float],
    *,
    below: bool = True,
    step: float = 0.1,
    reach: float = 34.0,
    power: float = 1.0,
) -> tuple[Array, Array]:
    """Posterior mean of theta, and probability that each condition is on top (ties shared).

    Rankings are drawn at the weights theta to a power.
    """
    theta = simplex_grid(len(shapes), step, reach)
    with np.errstate(divide="ignore"):
        log_density = (np.asarray(shapes) * np.log(theta)).sum(axis=-1)
        for ranking, multiplicity in zip(rankings, multiplicities, strict=True):
            log_density += multiplicity * np.log(ranking_probability(theta**power, ranking, below=below))
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    is_top = theta == theta.max(axis=-1, keepdims=True)
    top = is_top / is_top.sum(axis=-1, keepdims=True)
    return density @ theta, density @ top


def log_block_by_inclusion_exclusion(lam: Sequence[float], z: float) -> float:
    """Log-probability of a block from the alternating sum over subsets; only for weights of one scale."""
    total = 0.0
    for chosen in product((0, 1), repeat=len(lam)):
        mass = sum(w for w, c in zip(lam, chosen, strict=True) if c)
        total += (-1.0) ** sum(chosen) * z / (z + mass)
    return math.log(total)
