from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from dissensus.core.arrays import FloatArray
from dissensus.kernels.maximum_likelihood import Estimate, find_components, maximum_likelihood
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


Random = list[list[list[list[int]]]]


def random_cases(rng: np.random.Generator, number: int, most: int, *, below: bool) -> Random:
    """Make cases of up to so many conditions, all of them in the support, with ties and abstentions."""
    cases: Random = []
    for _ in range(number):
        n = int(rng.integers(1, most + 1))
        case = [[[k] for k in range(n)]] if below else [[list(range(n))]]
        for _ in range(int(rng.integers(0, 6))):
            order = [int(k) for k in rng.permutation(n)[: rng.integers(0, n + 1)]]
            cuts = sorted({0, len(order), *(int(c) for c in rng.integers(0, len(order) + 1, 3))})
            case.append([order[a:b] for a, b in pairwise(cuts)])
        cases.append(case)
    return cases


def naive_beaters(rankings: list[list[list[int]]], n: int, *, below: bool) -> list[set[int]]:
    """Follow who beats whom until nothing changes: all that beat each condition, themselves or through others."""
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
    return beaten_by


def naive_levels(beaten_by: list[set[int]]) -> list[int]:
    """Take away those that nobody beats but those whom they beat, again and again; count how often."""
    levels = [-1] * len(beaten_by)
    for turn in range(len(beaten_by)):
        left = {k for k, level in enumerate(levels) if level < 0}
        for k in left:
            if all(k in beaten_by[other] for other in beaten_by[k] & left):
                levels[k] = turn
    return levels


@pytest.mark.parametrize("below", [True, False])
def test_components_and_levels_are_those_found_by_following_every_ranking(below: bool) -> None:
    rng = np.random.default_rng(5)
    cases = random_cases(rng, 400, 7, below=below)
    rankings = rankings_of_cases(cases, 9)
    weights = rng.integers(0, 3, len(rankings.multiplicities)).astype(float)
    got = find_components(rankings._replace(multiplicities=weights), below)
    used = iter(weights)
    first: list[int] = []
    level: list[int] = []
    is_lost: list[bool] = []
    for case in cases:
        offset, size = len(first), len({k for ranking in case for block in ranking for k in block})
        kept = [r for r in case if next(used) > 0]
        beaten_by, mentioned = naive_beaters(kept, size, below=below), {k for r in kept for b in r for k in b}
        first += [offset + min([k, *(j for j in beaten_by[k] if k in beaten_by[j])]) for k in range(size)]
        level += naive_levels(beaten_by)
        is_lost += [bool(mentioned) and k not in mentioned for k in range(size)]
    assert max(level) > 2
    assert got.first.tolist() == first
    assert got.level.tolist() == level
    assert got.is_lost.tolist() == is_lost


def struck(rankings: Sequence[Ranking], gone: set[int]) -> list[Ranking]:
    """Strike conditions out of all rankings."""
    left = [[[k for k in block if k not in gone] for block in ranking] for ranking in rankings]
    return [[block for block in ranking if block] for ranking in left]


@pytest.mark.parametrize("below", [True, False])
def test_the_order_is_that_of_the_estimate_of_what_is_left(below: bool) -> None:
    """Take the plausible conditions away and estimate the others anew, until nothing is left."""
    for case in random_cases(np.random.default_rng(8), 200, 6, below=below):
        n = len({k for ranking in case for block in ranking for k in block})
        expected, left, place = np.zeros(n), list(range(n)), 0
        groups: list[list[int]] = []
        while left:
            again = [[[left.index(k) for k in block] for block in r] for r in struck(case, set(range(n)) - set(left))]
            values = estimate([again], 9, below=below).values[: len(left)]
            found = sorted({v for v in values if v > 0}, reverse=True)
            groups += [[left[i] for i in np.flatnonzero(values == v)] for v in found]
            left = [k for i, k in enumerate(left) if values[i] == 0]
        for place, group in enumerate(reversed(groups), start=1):
            expected[group] = place
        assert estimate([case], 9, below=below).order.tolist() == [*expected.tolist(), 0.0]


def test_who_is_mentioned_in_no_ranking_that_counts_comes_last() -> None:
    rankings = rankings_of_cases([[[[0], [1]], [[2]]]], 4)
    for below in (True, False):
        got = maximum_likelihood(rankings._replace(multiplicities=np.array([1.0, 0.0])), below=below)
        first, second, *others = got.order
        assert first > second > 0
        assert others == [0, 0]
        none = maximum_likelihood(rankings._replace(multiplicities=np.zeros(2)), below=below)
        assert none.order.tolist() == [1, 1, 1, 0]


def test_every_level_has_to_converge() -> None:
    """The even level is at its maximum from the start, the other one is not, wherever it stands."""
    for uneven, even in (([0, 1], [2, 3]), ([2, 3], [0, 1])):
        upper, lower = sorted((uneven, even))
        both = [[[k] for k in (*upper, *lower)], [[k] for k in (*upper[::-1], *lower[::-1])]]
        third = [[*upper], *([k] for k in lower)] if uneven == lower else [[k] for k in upper]
        rankings = rankings_of_cases([[*both, third]], 5)
        assert maximum_likelihood(rankings, below=True).is_converged.all()
        assert not maximum_likelihood(rankings, below=True, most=1).is_converged.any()


def test_large_ties_use_the_quadrature() -> None:
    tied = list(range(12))
    rankings = [[tied, [12]], [[12], [0]], [[0], [12], tied[1:]], [tied[1:], [0], [12]], *[[[k]] for k in tied]]
    got = estimate([rankings], 13)
    assert got.is_converged.all()
    theta = got.values[:13]
    np.testing.assert_allclose(theta[1:12], theta[1], rtol=1e-6)


APART = [[[0], [1]], [[1], [0]], [[2], [3]], [[3], [2]], [[2], [3]], [[3], [2]], [[2, 3]], [[2, 3]]]


@pytest.mark.parametrize(
    ("rankings", "n", "below", "values"),
    [
        ([[[0]], [[0]], [[1]], [[3]]], 9, True, [0.5, 0.25, 0.25, 0.0]),
        ([[[0], [1]], [[0], [2], [1]]], 5, True, [1, 0, 0, 0]),  # nobody beats the first
        ([[[0], [1], [2]], [[1], [0], [2]]], 5, True, [0.5, 0.5, 0, 0]),
        ([[[0, 1], [2]], [[0], [1], [2]]], 4, True, [1, 0, 0, 0]),  # a tie does not protect
        ([[[0, 1]]], 3, True, [0.5, 0.5, 0.0]),
        (APART, 4, False, [0.125, 0.125, 0.375, 0.375, 0.0]),  # who were never compared share by votes
    ],
)
def test_values_are_limits_and_scale_freely(rankings: list[Ranking], n: int, below: bool, values: list[float]) -> None:
    given = rankings_of_cases([rankings], n)
    for factor in (1.0, 7.3):
        heavier = given._replace(multiplicities=factor * given.multiplicities)
        np.testing.assert_allclose(maximum_likelihood(heavier, below=below).values, values, atol=1e-8)
    silent = rankings_of_cases([[], rankings, [[]]], n)
    weights = np.append(np.ones(len(rankings)), 0.0)
    found = maximum_likelihood(silent._replace(multiplicities=weights), below=below).values
    np.testing.assert_allclose(found, [1, *values, 1], atol=1e-8)


@pytest.mark.parametrize(
    ("rankings", "n", "below", "order"),
    [
        ([[[3], [1], [0], [2]]] * 3, 6, True, [2, 3, 1, 4, 0]),
        ([[[0], [1], [2]], [[0], [2], [1]], [[0], [2], [1]]], 4, True, [3, 1, 2, 0]),
        ([[[0], [1, 2]]] * 2, 4, True, [2, 1, 1, 0]),
        ([[[0], [1], [2]], [[0], [3]], [[0], [3]]], 5, False, [4, 2, 1, 3, 0]),  # a longer way down is a lower place
    ],
)
def test_the_order_does_not_end_with_the_first_place(
    rankings: list[Ranking], n: int, below: bool, order: list[int]
) -> None:
    assert estimate([rankings], n, below=below).order.tolist() == order
