from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from dissensus.core.aliases import FloatArray
from dissensus.kernels.maximum_likelihood import Estimate, maximum_likelihood, top_components
from kernels.kernel_studies import Nested, rankings_of_cases
from naive_plackett_luce import Ranking, ranking_probability


def estimate(cases: Nested, n_conditions: int, *, below: bool = True) -> Estimate:
    return maximum_likelihood(rankings_of_cases(cases, n_conditions), below=below)


def log_likelihood(theta: np.ndarray, rankings: list[Ranking], *, below: bool) -> float:
    return float(sum(np.log(ranking_probability(theta, r, below=below)) for r in rankings))


INTERIOR = {
    "two orders": [[[0], [1]], [[1], [0]], [[0], [1]]],
    "a cycle": [[[0], [1], [2]], [[1], [2], [0]], [[2], [0], [1]], [[0], [1], [2]]],
    "ties inside": [[[0, 1], [2]], [[2], [0]], [[1], [2], [0]], [[2, 0], [1]]],
    "single labels": [[[0]], [[0]], [[1]], [[2]]],
    "a tie of three": [[[0, 1, 2], [3]], [[3], [0, 1]], [[1], [3]], [[2], [0], [1]]],
}


@pytest.mark.parametrize("below", [True, False])
@pytest.mark.parametrize("rankings", INTERIOR.values(), ids=INTERIOR)
def test_no_other_optimiser_finds_a_larger_likelihood(rankings: list[Ranking], below: bool) -> None:
    n = 1 + max(k for r in rankings for b in r for k in b)
    got = estimate([rankings], n, below=below)
    assert got.is_converged.all()
    theta = got.values[:n]
    assert got.values.sum() == pytest.approx(1.0)

    def loss(x: FloatArray) -> float:
        return float(-log_likelihood(np.exp(x), rankings, below=below) + 1e-3 * x.sum() ** 2)

    found = minimize(loss, np.zeros(n), method="BFGS", tol=1e-8)
    best = np.exp(found.x) / np.exp(found.x).sum()
    if found.fun < 1e-9:
        return  # the rankings say nothing
    if (theta > 0).all():
        np.testing.assert_allclose(theta, best, atol=2e-5)
        assert log_likelihood(theta, rankings, below=below) >= -found.fun - 1e-9
    else:
        assert best[theta == 0].sum() < 0.01  # the optimiser is on its way to the boundary


def test_single_labels_give_their_frequencies() -> None:
    got = estimate([[[[0]], [[0]], [[1]], [[3]]]], 9)
    np.testing.assert_allclose(got.values, [0.5, 0.25, 0.25, 0.0], atol=1e-9)


def test_who_is_never_beaten_by_others_has_all_the_mass() -> None:
    got = estimate([[[[0], [1]], [[0], [2], [1]]], [[[0], [1], [2]], [[1], [0], [2]]]], 5)
    np.testing.assert_allclose(got.values[:4], [1, 0, 0, 0])
    np.testing.assert_allclose(got.values[4:], [0.5, 0.5, 0, 0], atol=1e-9)


def naive_components(rankings: list[list[list[int]]], n: int, *, below: bool) -> list[int]:
    """Follow who beats whom until nothing changes; then look for groups that nobody else beats."""
    beaten_by: list[set[int]] = [set() for _ in range(n)]
    for ranking in rankings:
        unmentioned = sorted(set(range(n)) - {k for block in ranking for k in block})
        blocks = [*ranking, unmentioned] if below and ranking else ranking
        for place, block in enumerate(blocks):
            for loser in block:
                beaten_by[loser] |= {k for better in blocks[:place] for k in better}
    changed = True
    while changed:
        further = [known | {b for k in known for b in beaten_by[k]} for known in beaten_by]
        changed, beaten_by = further != beaten_by, further
    tops = [all(k in beaten_by[other] for other in beaten_by[k]) for k in range(n)]
    return [min({k} | beaten_by[k]) if is_top else -1 for k, is_top in enumerate(tops)]


@pytest.mark.parametrize("below", [True, False])
def test_components_are_those_found_by_following_every_ranking(below: bool) -> None:
    rng = np.random.default_rng(5)
    cases: list[list[list[list[int]]]] = []
    for _ in range(300):
        n = int(rng.integers(1, 8))
        case = [[[k] for k in range(n)]] if below else [[list(range(n))]]  # so that everybody is in the support
        for _ in range(int(rng.integers(0, 6))):
            order = [int(k) for k in rng.permutation(n)[: rng.integers(0, n + 1)]]
            cuts = sorted({0, len(order), *(int(c) for c in rng.integers(0, len(order) + 1, 3))})
            case.append([order[a:b] for a, b in pairwise(cuts)])
        cases.append(case)
    rankings = rankings_of_cases(cases, 9)
    weights = rng.integers(0, 3, len(rankings.multiplicities)).astype(float)
    got = top_components(rankings._replace(multiplicities=weights), below)
    used, expected = iter(weights), []
    for case in cases:
        size = len({k for ranking in case for block in ranking for k in block})
        expected += naive_components([r for r in case if next(used) > 0], size, below=below)
    assert got.tolist() == expected


def test_a_tie_does_not_protect_from_being_beaten() -> None:
    got = estimate([[[[0, 1], [2]], [[0], [1], [2]]]], 4)
    np.testing.assert_allclose(got.values, [1, 0, 0, 0])
    near = np.array([1.0, 1e-6, 1e-12, 1e-18])
    assert log_likelihood(near, [[[0, 1], [2]], [[0], [1], [2]]], below=True) == pytest.approx(0.0, abs=1e-5)


def test_components_that_were_never_compared_share_by_votes() -> None:
    rankings = [[[0], [1]], [[1], [0]], [[2], [3]], [[3], [2]], [[2], [3]], [[3], [2]], [[2, 3]], [[2, 3]]]
    got = estimate([rankings], 4, below=False)
    np.testing.assert_allclose(got.values, [0.125, 0.125, 0.375, 0.375, 0.0], atol=1e-9)
    np.testing.assert_allclose(estimate([[[[0, 1]]]], 3).values, [0.5, 0.5, 0.0])


def test_cases_without_usable_rankings() -> None:
    rankings = rankings_of_cases([[], [[[0, 1]]], [[]]], 3)
    got = maximum_likelihood(rankings._replace(multiplicities=np.array([0.0, 1.0])), below=True)
    np.testing.assert_allclose(got.values, [1, 0.5, 0.5, 0, 1])


def test_large_ties_use_the_quadrature() -> None:
    tied = list(range(12))
    rankings = [[tied, [12]], [[12], [0]], [[0], [12], tied[1:]], [tied[1:], [0], [12]], *[[[k]] for k in tied]]
    got = estimate([rankings], 13)
    assert got.is_converged.all()
    theta = got.values[:13]
    np.testing.assert_allclose(theta[1:12], theta[1], rtol=1e-6)


def test_weights_scale_freely() -> None:
    rankings = rankings_of_cases([INTERIOR["ties inside"]], 3)
    one = maximum_likelihood(rankings, below=True)
    other = maximum_likelihood(rankings._replace(multiplicities=rankings.multiplicities * 7.3), below=True)
    np.testing.assert_allclose(one.values, other.values, atol=1e-8)
