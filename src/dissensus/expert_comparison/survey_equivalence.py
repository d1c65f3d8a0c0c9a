"""How many experts a model is worth: whose plurality agrees with one more expert as often as the model does.

Exact for votes, by counting all panels of k of a case's annotators without replacement ([resnick]: Resnick and others,
survey equivalence). Where first choices are tied, and for numbers, the panels are seeded samples.
"""

from __future__ import annotations

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray


def plurality_agreement(counts: IntArray, k: int) -> FloatArray:
    """Return how often the plurality of k annotators agrees with one more of the same case, exactly.

    All panels of k of the annotators of a case, and all annotators who are left, are equally likely; ties are broken
    evenly. The winner has j votes and nobody has more: votes are independent binomial counts, given that they add up
    to k, so that a panel is a product of polynomials whose powers are votes. A tie of t + 1 counts 1 / (t + 1), which is
    the integral of z^t from 0 to 1; Gauss-Legendre nodes give it without error.

    Parameters
    ----------
    counts : (n_cases, m)
        Votes of each condition that anybody mentioned, more than k on every case.

    Examples
    --------
    >>> plurality_agreement(np.array([[2, 1]]), 1)
    array([0.33333333])
    """
    from scipy.stats import binom

    counts = -np.sort(-np.asarray(counts, dtype=np.int64), axis=1)
    patterns, of_case = np.unique(counts, axis=0, return_inverse=True)
    total = patterns.sum(axis=1)
    n_patterns, m = patterns.shape
    votes = np.arange(k + 1)
    chances = binom.pmf(votes, patterns[..., None], (k / total)[:, None, None])  # (n_patterns, m, k + 1)
    nodes, weights = np.polynomial.legendre.leggauss((m + 1) // 2)
    found = np.zeros(n_patterns)
    for z, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        for j in range(-(-k // m), k + 1):
            nobody = np.zeros((n_patterns, k + 1))
            nobody[:, 0] = 1.0
            somebody = np.zeros((n_patterns, k + 1))
            for condition in range(m):
                own = chances[:, condition].copy()
                own[:, j + 1 :] = 0.0
                wins = own[:, j] * (patterns[:, condition] - j)
                own[:, j] *= z
                somebody = _product(somebody, own, j)
                somebody[:, j:] += nobody[:, : k + 1 - j] * wins[:, None]
                nobody = _product(nobody, own, j)
            found += weight * somebody[:, k]
    found /= binom.pmf(k, total, k / total) * (total - k)
    return np.asarray(found[of_case.ravel()])


def _product(one: FloatArray, other: FloatArray, degree: int) -> FloatArray:
    """Multiply polynomials row by row, up to the length of the first; the second has at most a degree."""
    found = one * other[:, :1]
    for power in range(1, degree + 1):
        found[:, power:] += one[:, :-power] * other[:, power, None]
    return np.asarray(found)
