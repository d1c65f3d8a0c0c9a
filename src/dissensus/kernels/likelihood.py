"""Probability of rankings under Plackett-Luce, exact for ties of any size.

A tied block with members' weights lam and mass z behind it comes first with probability

- on the lattice of its subsets: P(empty) = 1, P(A) = sum over a in A of lam_a / (z + lam(A)) P(A without a),
  which costs 2^size, or
- as an integral over the logarithm x of the time at which the first of those behind arrives, in units of
  1 / z: the integral of exp(h(x)), h(x) = x - e^x + sum over k of log(1 - exp(-e^x lam_k / z)), which costs
  a number of steps times the size.

h is concave and the integrand is analytic, so the trapezoidal rule converges exponentially. The mode of h
lies between 0 and log(1 + size), and its curvature there is at least 1, whatever the weights are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.kernels.jit import compiled, inlined, inner

# Largest tied block whose probability is computed on the lattice by default: measured.
LATTICE_MOST = 9

# Step of the trapezoidal rule in standard deviations of the integrand, and at most this.
STEP = 0.28

# Leave out what is smaller than exp(-34) times the mode; the tails fall at least exponentially.
DEPTH = 34.0


@inlined
def fill_lattice(lam: FloatArray, z: float, table: FloatArray, mass: FloatArray) -> float:
    """Compute the probability of every subset A of a block, and return that of the block.

    ``table[A]`` receives the probability, ``mass[A]`` the mass z + lam(A) that runs when A remains. All terms
    are positive probabilities, so nothing cancels, and nothing overflows for any scale.
    """
    table[0], mass[0] = 1.0, z
    for k in range(len(lam)):
        for without in range(1 << k):
            subset = without | 1 << k
            mass[subset] = mass[without] + lam[k]
            flow = lam[k] * table[without]
            for j in range(k):
                if subset >> j & 1:
                    flow += lam[j] * table[subset ^ (1 << j)]
            table[subset] = flow / mass[subset]
    return float(table[(1 << len(lam)) - 1])


@inlined
def ratio(s: float) -> float:
    """Return s / (exp(s) - 1): 1 at zero, 0 at infinity."""
    if s > 700.0:
        return 0.0
    return s / math.expm1(s) if s > 0.0 else 1.0


@inner
def log_density(lam: FloatArray, z: float, x: float) -> float:
    """Return h(x), see the module; the product of many small factors is kept from underflowing."""
    t = math.exp(x)
    total, product = x - t, 1.0
    for k in range(len(lam)):
        product *= -math.expm1(-t * (lam[k] / z))
        if product < 1e-15:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@inner
def slope(lam: FloatArray, z: float, x: float) -> float:
    """Return h'(x)."""
    t = math.exp(x)
    total = 1.0 - t
    for k in range(len(lam)):
        total += ratio(t * (lam[k] / z))
    return total


@inner
def mode(lam: FloatArray, z: float) -> tuple[float, float]:
    """Find the maximum of h, and the standard deviation of a normal density as curved as exp(h) there."""
    low, high = 0.0, math.log(1.0 + len(lam))
    x, curvature = 0.5 * (low + high), 1.0
    for _ in range(60):
        t = math.exp(x)
        first, curvature = 1.0 - t, t
        for k in range(len(lam)):
            s = t * (lam[k] / z)
            phi = ratio(s)
            first += phi
            if phi > 0.0:
                curvature += phi * (s + phi - 1.0)
        if first > 0.0:
            low = x
        else:
            high = x
        new = x + first / curvature
        if not low <= new <= high:
            new = 0.5 * (low + high)
        if abs(new - x) < 1e-9:
            break
        x = new
    return x, 1.0 / math.sqrt(curvature)


@inner
def log_quadrature(lam: FloatArray, z: float) -> float:
    """Integrate exp(h) and return the logarithm: the probability of a block in O(size)."""
    centre, width = mode(lam, z)
    top = log_density(lam, z, centre)
    step = STEP * min(width, 1.0)
    total = 1.0
    for direction in (-1.0, 1.0):
        x = centre
        while True:
            x += direction * step
            height = log_density(lam, z, x) - top
            if height < -DEPTH:
                break
            total += math.exp(height)
    return top + math.log(total * step)


@inlined
def log_block_probability(lam: FloatArray, z: float, lattice_most: int, table: FloatArray, mass: FloatArray) -> float:
    """Return the log-probability that a block comes before everything behind it.

    Parameters
    ----------
    lam : (size,)
        Weights of the block.
    z
        Mass behind the block; when zero, nothing competes and the probability is one.
    lattice_most
        Largest size for which the lattice is used.
    table, mass : (2**lattice_most,)
        Room to work in.
    """
    if z <= 0.0:
        return 0.0
    if len(lam) == 1:
        return -math.log1p(z / lam[0])
    if len(lam) <= lattice_most:
        probability = fill_lattice(lam, z, table, mass)
        if probability > 1e-280:
            return math.log(probability)
    return log_quadrature(lam, z)


class Offsets(NamedTuple):
    """Say where the parts of rankings begin: (n_cases + 1,), (n_rankings + 1,), (n_blocks + 1,)."""

    rankings: IntArray
    blocks: IntArray
    codes: IntArray


@compiled
def log_likelihood(
    offsets: Offsets, codes: IntArray, multiplicities: FloatArray, weights: FloatArray, below: int, lattice_most: int
) -> FloatArray:
    """Return the log-probability of the rankings of each case.

    Parameters
    ----------
    offsets
        From cases to rankings, from rankings to blocks, from blocks to codes.
    codes : (n_mentions,)
        Codes of the conditions, 0 to K - 1.
    multiplicities : (n_rankings,)
        The log-probability of each ranking is multiplied by this.
    weights : (n_cases or 1, K)
        Positive weights of the conditions, any scale; one row serves all cases.
    below
        1: conditions that are not mentioned rank below; 0: they do not compete.
    lattice_most
        Largest tied block for the lattice, usually :data:`LATTICE_MOST`.

    Returns
    -------
    (n_cases,)

    Notes
    -----
    The mass behind a block is summed from the back, and the mass of the conditions that are not mentioned is
    summed over them, never taken as a difference: mentioned conditions may outweigh them by any factor.
    """
    ranking_offsets, block_offsets, code_offsets = offsets
    n_conditions, result = weights.shape[1], np.zeros(len(ranking_offsets) - 1)
    mentioned, weights_of_block = np.zeros(n_conditions, np.bool_), np.empty(n_conditions)
    table, mass = np.empty(1 << lattice_most), np.empty(1 << lattice_most)
    for i in range(len(result)):
        row = weights[i if len(weights) > 1 else 0]
        for r in range(ranking_offsets[i], ranking_offsets[i + 1]):
            if multiplicities[r] <= 0.0 or block_offsets[r] == block_offsets[r + 1]:
                continue
            first, last = block_offsets[r], block_offsets[r + 1]
            behind, log_p = 0.0, 0.0
            if below:  # all other conditions are behind
                for j in range(code_offsets[first], code_offsets[last]):
                    mentioned[codes[j]] = True
                for k in range(len(row)):
                    if not mentioned[k]:
                        behind += row[k]
                for j in range(code_offsets[first], code_offsets[last]):
                    mentioned[codes[j]] = False
            for b in range(last - 1, first - 1, -1):
                lam = weights_of_block[: code_offsets[b + 1] - code_offsets[b]]
                for k in range(len(lam)):
                    lam[k] = row[codes[code_offsets[b] + k]]
                log_p += log_block_probability(lam, behind, lattice_most, table, mass)
                for k in range(len(lam)):
                    behind += lam[k]
            result[i] += multiplicities[r] * log_p
    return result
