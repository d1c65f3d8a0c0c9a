"""Mean average overlap is the published formula, without its matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_agreement as naive
from dissensus import DissensusError, Study
from dissensus.agreement import krippendorff_alpha, pairwise_agreement
from dissensus.agreement.coefficients import mean_average_overlap, soft_rankings
from strategies import rankings

Blocks = list[list[int]]
Problem = tuple[Blocks, Blocks, int, int]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw two rankings of up to 12 conditions that say something, and a depth."""
    n_conditions = draw(st.integers(1, 12))
    depth = draw(st.integers(1, n_conditions))
    ranking = rankings(n_conditions).filter(bool)
    return draw(ranking), draw(ranking), depth, n_conditions


@given(problems())
def test_it_equals_the_trace_of_soft_permutation_matrices(problem: Problem) -> None:
    a, b, depth, n_conditions = problem
    how: dict[str, Any] = {"depth": depth, "n_conditions": n_conditions}
    value = mean_average_overlap(a, b, **how)
    assert value == pytest.approx(naive.mean_average_overlap(a, b, depth, n_conditions), abs=1e-12)
    plain = mean_average_overlap(a, b, **how, normalised=False)
    assert plain == pytest.approx(naive.unnormalised_overlap(a, b, depth, n_conditions), abs=1e-12)
    assert 0 <= value <= 1
    assert mean_average_overlap(b, a, **how) == pytest.approx(value, abs=1e-12)
    assert mean_average_overlap(a, a, **how) == 1
    one, other = ([[f"condition {code}" for code in block] for block in ranking] for ranking in (a, b))
    assert mean_average_overlap(one, other, **how) == pytest.approx(value, abs=1e-12)
    vectors, signs = soft_rankings(Study.from_rankings([[a, b]], n_conditions), depth)
    np.testing.assert_allclose((vectors * vectors) @ signs, 1.0, atol=1e-12)
    assert ((vectors[[0]] * vectors[[1]]) @ signs)[0] == pytest.approx(value, abs=1e-12)


@given(problems(), st.randoms(use_true_random=False))
def test_the_order_within_a_block_and_an_explicit_last_block_make_no_difference(problem: Problem, random: Any) -> None:
    a, b, depth, n_conditions = problem
    shuffled = [random.sample(block, len(block)) for block in naive.completed(a, n_conditions)]
    value = mean_average_overlap(a, b, depth=depth, n_conditions=n_conditions)
    assert mean_average_overlap(shuffled, b, depth=depth, n_conditions=n_conditions) == pytest.approx(value, abs=1e-12)


def test_the_published_example_of_a_soft_permutation_matrix() -> None:
    expected = [[0, 0, 0, 1], [0.5, 0, 0.5, 0], [0.5, 0, 0.5, 0], [0, 1, 0, 0]]
    np.testing.assert_array_equal(naive.soft_permutation([[3], [2, 0], [1]], 4), expected)


@given(problems())
def test_a_ranking_that_says_nothing_overlaps_with_nothing(problem: Problem) -> None:
    a, _, depth, n_conditions = problem
    everything = [list(range(n_conditions))]
    for other in (a, [], everything):
        assert mean_average_overlap([], other, depth=depth, n_conditions=n_conditions) == 0
        assert mean_average_overlap(other, [], depth=depth, n_conditions=n_conditions) == 0
    assert mean_average_overlap(everything, everything, depth=depth, n_conditions=n_conditions) == 1


def test_abstentions_of_a_study_do_not_lower_its_agreement() -> None:
    rankings_of_cases: list[list[Blocks]] = [[[[0], [1]], [[1], [0]]], [[[2]], [[2]]]]
    silent: list[list[Blocks]] = [[*case, []] for case in rankings_of_cases]
    names = ["Ann", "Bo", "Cy"]
    few = Study.from_rankings(rankings_of_cases, 4, annotator_names=names[:2])
    more = Study.from_rankings(silent, 4, annotator_names=names)
    assert pairwise_agreement(more, depth=2).equals(pairwise_agreement(few, depth=2))
    alphas = [krippendorff_alpha(said, distance="overlap", depth=2, draws=8).value for said in (few, more)]
    assert alphas[0] == alphas[1]


def test_blocks_may_be_arrays_and_tuples() -> None:
    value = mean_average_overlap(((0,), (1, 2)), [np.array([0]), np.array([2, 1])], depth=2, n_conditions=4)
    assert value == pytest.approx(1)


def test_many_conditions_cost_nothing() -> None:
    a, b = [[7], [1_000_000]], [[7], [999_999_999]]
    expected = naive.mean_average_overlap([[0], [1]], [[0], [2]], 2, 10)
    assert mean_average_overlap(a, b, depth=2, n_conditions=1_000_000_000) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "depth", "n_conditions", "message"),
    [
        ([[0]], [[1]], 0, 3, "depth must be a whole number"),
        ([[0]], [[1]], 1.5, 3, "depth must be a whole number"),
        ([[0]], [[1]], 4, 3, "depth is larger than the number of conditions"),
        ([[0]], [[1]], 1, 0, "n_conditions must be a whole number"),
        ([[0], [1, 0]], [[1]], 1, 3, "condition 0 is mentioned twice"),
        ([[0]], [["a", "a"]], 1, 3, "condition 'a' is mentioned twice"),
        ([["a"], ["b"]], [["c"]], 1, 2, "more conditions than there are"),
        ([[0]], [[3]], 1, 3, "a condition code is out of range"),
        ([[-1]], [[0]], 1, 3, "a condition code is out of range"),
        ([[0]], [["a"]], 1, 3, "names and codes of conditions are mixed"),
        ([[0.5]], [[0]], 1, 3, "neither a name nor a code"),
        ([[True]], [[0]], 1, 3, "neither a name nor a code"),
        ([[["a"]]], [["a"]], 1, 3, "neither a name nor a code"),
        (["Eczema"], [["Eczema"]], 1, 3, "a ranking must be a list of blocks"),
        ("Eczema", [["Eczema"]], 1, 3, "a ranking must be a list of blocks"),
        ([0, 1], [[0]], 1, 3, "a ranking must be a list of blocks"),
        (None, [[0]], 1, 3, "a ranking must be a list of blocks"),
        ([[0], []], [[0]], 1, 3, "a block is empty"),
    ],
)
def test_what_is_no_ranking_is_refused(a: Any, b: Any, depth: Any, n_conditions: int, message: str) -> None:
    with pytest.raises(DissensusError, match=message):
        mean_average_overlap(a, b, depth=depth, n_conditions=n_conditions)
