"""How often the plurality of some annotators of a case agrees with one more of them, counted exactly.

All panels of k of the annotators of a case, and all annotators who are left, are equally likely; ties are broken
evenly. The winner has j votes and nobody has more: votes are independent binomial counts, given that they add up to k.
With more than half of the panel nobody else can win; otherwise a panel is a product of polynomials whose powers are
votes. A tie of t + 1 counts 1 / (t + 1), which is the integral of z^t from 0 to 1; Gauss-Legendre nodes give it without
error, and no more than k / j can tie.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.ragged import begins_run
from dissensus.kernels.jit import compiled, inner


def plurality_agreement(counts: IntArray, k: int) -> FloatArray:
    """Return how often the plurality of k annotators agrees with one more of the same case, shape (n_cases,).

    Parameters
    ----------
    counts : (n_cases, m)
        Votes of the conditions of each case, in any order, more than k on every case.

    Examples
    --------
    >>> plurality_agreement(np.array([[2, 1]]), 1)
    array([0.33333333])
    """
    counts = -np.sort(-np.asarray(counts, dtype=np.int64), axis=1)
    order = np.lexsort(counts.T[::-1])
    is_new = begins_run(*counts[order].T)
    patterns, of_case = counts[order][is_new], np.empty(len(counts), dtype=np.int64)
    of_case[order] = np.cumsum(is_new) - 1
    nodes = legendre_nodes((min(counts.shape[1], k) + 1) // 2 + 1)
    found = of_patterns(patterns, int(k), nodes)
    return np.asarray(found[of_case])


@cache
def legendre_nodes(most: int) -> FloatArray:
    """Return points and weights of integrals from 0 to 1 with fewer than so many nodes, shape (2, most, most)."""
    nodes = np.zeros((2, most, most))
    for number in range(1, most):
        points, weights = np.polynomial.legendre.leggauss(number)
        nodes[:, number, :number] = (points + 1) / 2, weights / 2
    return nodes


@inner
def fill_chances(n: int, p: float, chances: FloatArray) -> None:
    """Write the binomial probabilities of 0, 1, ... of n, outwards from the most likely one."""
    last = min(n, len(chances) - 1)
    for x in range(last + 1, len(chances)):
        chances[x] = 0.0
    middle = min(int(n * p), last)
    logs = math.lgamma(n + 1.0) - math.lgamma(middle + 1.0) - math.lgamma(n - middle + 1.0)
    chances[middle] = math.exp(logs + middle * math.log(p) + (n - middle) * math.log1p(-p))
    odds = p / (1.0 - p)
    for x in range(middle, last):
        chances[x + 1] = chances[x] * odds * (n - x) / (x + 1)
    for x in range(middle, 0, -1):
        chances[x - 1] = chances[x] / odds * x / (n - x + 1)


@inner
def multiply(series: FloatArray, factor: FloatArray, degree: int, low: int, high: int) -> None:
    """Multiply a polynomial by another one in its place; only powers between two limits are wanted."""
    for power in range(high, low - 1, -1):
        total = 0.0
        for x in range(min(degree, power) + 1):
            total += series[power - x] * factor[x]
        series[power] = total


@compiled
def of_patterns(  # noqa: C901 - loops are compiled faster than slices
    patterns: IntArray, k: int, nodes: FloatArray
) -> FloatArray:
    """Do what :func:`plurality_agreement` says, for different cases, the most votes first."""
    n_patterns, width = patterns.shape
    found, chances, others = np.empty(n_patterns), np.empty((width, k + 1)), np.empty(k + 1)
    nobody, somebody, own = np.empty(k + 1), np.empty(k + 1), np.empty(k + 1)
    for row in range(n_patterns):
        votes, total, m = patterns[row], 0, 0
        while m < width and votes[m] > 0:
            total += votes[m]
            m += 1
        p, wins = k / total, 0.0
        for one in range(m):
            fill_chances(votes[one], p, chances[one])
            if votes[one] > k // 2:
                fill_chances(total - votes[one], p, others)
                for j in range(k // 2 + 1, min(k, votes[one]) + 1):
                    wins += chances[one, j] * (votes[one] - j) * others[k - j]
        for j in range(-(-k // m), min(k // 2, votes[0]) + 1):
            possible = 0
            for one in range(m):
                possible += min(j, votes[one])
            number = (min(m, k // j) + 1) // 2 if possible >= k else 0
            for node in range(number):
                for power in range(k + 1):
                    nobody[power], somebody[power] = 0.0, 0.0
                nobody[0] = 1.0
                low, high = k - possible, 0  # what the conditions that follow can still add
                for one in range(m):
                    degree = min(j, votes[one])
                    low, high = low + degree, min(k, high + degree)
                    for x in range(degree + 1):
                        own[x] = chances[one, x]
                    winning = own[j] * (votes[one] - j) if degree == j else 0.0
                    if degree == j:
                        own[j] *= nodes[0, number, node]
                    multiply(somebody, own, degree, max(low, 0), high)
                    for power in range(max(low, j), high + 1):
                        somebody[power] += nobody[power - j] * winning
                    multiply(nobody, own, degree, max(low, 0), high)
                wins += nodes[1, number, node] * somebody[k]
        fill_chances(total, p, others)
        found[row] = wins / (others[k] * (total - k))
    return found
