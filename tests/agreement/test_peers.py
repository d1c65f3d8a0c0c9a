"""Agreement of annotators with each other: by case, by pair, and as overlap of rankings."""

from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_agreement as naive
from dissensus import Study
from dissensus.aggregations import PlackettLuce
from dissensus.agreement import pairwise_agreement
from dissensus.agreement.coefficients import mean_average_overlap, soft_rankings
from dissensus.agreement.peers import Agreement, Within, annotator_agreement
from refusals import refused
from shared_data import dermatology, needs_shared
from strategies import rankings

WEIGHTS = st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0, 3.0])


@st.composite
def studies(draw: st.DrawFn) -> Study:
    """Draw a study of named and nameless annotators, with weights whose sums are exact."""
    n_conditions = draw(st.integers(2, 6))
    nested = draw(st.lists(st.lists(rankings(n_conditions), max_size=5), min_size=1, max_size=4))
    people = st.sampled_from([None, "Ada", "Bo", "Cy"])
    return Study.from_rankings(
        nested,
        n_conditions,
        annotator_names=[[draw(people) for _ in case] for case in nested],
        weights=[[draw(WEIGHTS) for _ in case] for case in nested],
        case_weights=[draw(WEIGHTS) for _ in nested],
    )


@given(studies(), st.sampled_from(["shared", "each"]), st.sampled_from(["ranking", "first-block"]))
def test_it_equals_dictionaries_of_fractions(said: Study, ties: Any, within: Any) -> None:
    expected = naive.annotator_agreement(said, ties, within)
    agreement = annotator_agreement(said, ties=ties, within=within)
    np.testing.assert_allclose(agreement.values, expected, atol=1e-12, rtol=0)
    np.testing.assert_array_equal(agreement.is_defined, ~np.isnan(expected))
    people = [len({one.annotator for one in case}) for case in naive.opinions_by_case(said)]
    np.testing.assert_array_equal(agreement.n_annotators, people)
    anywhere, first = (annotator_agreement(said, within=one).values[agreement.is_defined] for one in get_args(Within))
    assert ((first >= 0) & (first <= anywhere) & (anywhere <= 1)).all()


def test_ties_up_to_rounding_are_ties() -> None:
    thirds = [[["b"], ["c"], ["a"]]] * 3
    said = Study.from_rankings([[*thirds, [["a"]], [["x"], ["a"]]]])
    assert annotator_agreement(said).values[0] == pytest.approx(naive.annotator_agreement(said, "shared", "ranking")[0])


def test_the_mean_is_by_case_weight_over_cases_with_two_annotators_and_the_frame_has_a_row_per_case() -> None:
    nested = [[[["a"]], [["a"]]], [[["b"]]], [], [[["a"]], []], [[["a"]], [["b"]]]]
    agreement = annotator_agreement(Study.from_rankings(nested, case_names=list("vwxyz"), case_weights=[3, 5, 5, 5, 1]))
    assert agreement.mean == pytest.approx(0.75)
    assert "mean 0.750 over 2 of 5 cases; 3 with fewer than two annotators left out" in repr(agreement)
    frame = agreement.to_frame()
    assert frame.columns == ["case", "agreement", "n_annotators"]
    assert frame.select("case", "n_annotators").rows() == [("v", 2), ("w", 1), ("x", 0), ("y", 1), ("z", 2)]
    assert frame["agreement"].is_nan().to_list() == [False, True, True, True, False]


def agreement_of(values: list[float]) -> Agreement:
    names = tuple(f"case {i}" for i in range(len(values)))
    defined = np.where(np.isnan(values), 1, 2)
    return Agreement(names, np.array(values), defined, np.ones(len(values)))


def test_the_correlation_is_by_name_and_leaves_missing_numbers_out() -> None:
    agreement = agreement_of([0.0, 0.5, 1.0, np.nan, 0.3])
    other = {"case 4": np.nan, "case 2": 0.9, "case 1": 0.7, "case 0": 0.2, "case 3": 0.4, "another": 7.0}
    expected = np.corrcoef([0.0, 0.5, 1.0], [0.2, 0.7, 0.9])[0, 1]
    assert agreement.correlation(other) == pytest.approx(expected)

    for flat in ({"case 0": 1.0}, {"case 0": 0.5, "case 1": 0.5}):
        assert np.isnan(agreement_of([0.0, 0.5]).correlation(flat))


SAID = Study.from_rankings([[[["a"]], [["b"]]]])


@pytest.mark.parametrize(
    ("message", "ask"),
    [
        (
            r"no case has both(.*\n)+.*did you mean 'case 0'\?",
            lambda: agreement_of([0, 1]).correlation({"Case 0": 1.0}),
        ),
        ("values must have case names", lambda: agreement_of([0.0, 0.5]).correlation([0.1, 0.2])),  # type: ignore[arg-type]
        ("ties is not understood", lambda: annotator_agreement(SAID, ties="broken")),  # type: ignore[arg-type]
        ("within is not understood", lambda: annotator_agreement(SAID, within="anything")),  # type: ignore[arg-type]
        ("agreement needs rankings", lambda: annotator_agreement(Study.from_scores([[1.0]]))),
        (r"the annotators have no names(.*\n)+.*annotator_names", lambda: pairwise_agreement(SAID, depth=1)),
        ("depth is larger than the number of conditions", lambda: pairwise_agreement(SAID, depth=3)),
    ],
)
def test_what_makes_no_sense_is_refused(message: str, ask: Any) -> None:
    refused(message, ask)


@given(studies(), st.integers(1, 2))
def test_pairs_equal_the_comparison_ranking_by_ranking(said: Study, depth: int) -> None:
    if not said.annotator_names:
        return
    found = pairwise_agreement(said, depth=depth).rows()
    expected = naive.pairwise_agreement(said, depth)
    assert sorted(row[:3] for row in found) == sorted(row[:3] for row in expected)
    for one, other in zip(sorted(found), sorted(expected), strict=True):
        np.testing.assert_allclose(one[3:], other[3:], atol=1e-12, rtol=0)


def test_pairs_are_the_same_whatever_the_portions_and_those_without_a_common_case_have_no_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = Study.from_rankings([[[["a"]]], [[["b"]]]], annotator_names=[["Ada"], ["Bo"]])
    frame = pairwise_agreement(said, depth=1)
    assert frame.shape == (0, 5)
    assert frame.columns == ["annotator_a", "annotator_b", "n_cases", "overlap", "same_first"]
    said = Study.from_rankings(
        [[[["a"], ["b"]], [["b"]], [["c", "a"]]], [[["a"]], [["b"]], [["a"]]]], annotator_names=["Ada", "Bo", "Cy"]
    )
    whole = pairwise_agreement(said)
    monkeypatch.setattr("dissensus.agreement.peers.PAIRS_AT_ONCE", 2)
    assert pairwise_agreement(said).equals(whole)


@needs_shared
def test_certainty_correlates_with_agreement_as_published() -> None:
    said = dermatology()
    summary = PlackettLuce(reliability=3).sample(said, draws=1000).summary()
    certainty = dict(summary.group_by("case").agg(pl.col("top").max()).iter_rows())
    agreement = annotator_agreement(said)
    np.testing.assert_allclose(agreement.values, naive.annotator_agreement(said, "shared", "ranking"), atol=1e-12)
    assert agreement.n_undefined == 25
    assert agreement.mean == pytest.approx(0.658, abs=0.001)
    assert 0.80 < agreement.correlation(certainty) < 0.89  # published: 0.85
    assert 0.80 < annotator_agreement(said, ties="each").correlation(certainty) < 0.89


Blocks = list[list[int]]
Problem = tuple[Blocks, Blocks, int, int]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw two rankings of up to 12 conditions that say something, and a depth."""
    n_conditions = draw(st.integers(1, 12))
    depth = draw(st.integers(1, n_conditions))
    ranking = rankings(n_conditions).filter(bool)
    return draw(ranking), draw(ranking), depth, n_conditions


@given(problems(), st.randoms(use_true_random=False))
def test_it_equals_the_trace_of_soft_permutation_matrices_in_any_form(problem: Problem, random: Any) -> None:
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
    shuffled = [random.sample(block, len(block)) for block in naive.completed(a, n_conditions)]  # with a last block
    assert mean_average_overlap(shuffled, b, **how) == pytest.approx(value, abs=1e-12)
    vectors, signs = soft_rankings(Study.from_rankings([[a, b]], n_conditions), depth, n_conditions)
    np.testing.assert_allclose((vectors * vectors) @ signs, 1.0, atol=1e-12)
    assert ((vectors[[0]] * vectors[[1]]) @ signs)[0] == pytest.approx(value, abs=1e-12)


@given(problems())
def test_a_ranking_that_says_nothing_overlaps_with_nothing(problem: Problem) -> None:
    a, _, depth, n_conditions = problem
    everything = [list(range(n_conditions))]
    for other in (a, [], everything):
        assert mean_average_overlap([], other, depth=depth, n_conditions=n_conditions) == 0
        assert mean_average_overlap(other, [], depth=depth, n_conditions=n_conditions) == 0
    assert mean_average_overlap(everything, everything, depth=depth, n_conditions=n_conditions) == 1


def test_many_conditions_cost_nothing_and_blocks_may_be_arrays_and_tuples() -> None:
    value = mean_average_overlap(((0,), (1, 2)), [np.array([0]), np.array([2, 1])], depth=2, n_conditions=4)
    assert value == pytest.approx(1)
    a, b = [[7], [1_000_000]], [[7], [999_999_999]]
    expected = naive.mean_average_overlap([[0], [1]], [[0], [2]], 2, 10)
    assert mean_average_overlap(a, b, depth=2, n_conditions=1_000_000_000) == pytest.approx(expected, abs=1e-12)


def test_a_tie_may_be_a_set() -> None:
    ties: list[Any] = [{"b", "c"}, ["b", "c"]]
    of_set, of_list = (mean_average_overlap([["a"], tie], [["b"], ["a"]], depth=3, n_conditions=9) for tie in ties)
    assert of_set == of_list


@pytest.mark.parametrize(
    ("a", "b", "depth", "n_conditions", "message"),
    [
        ([[0]], [[1]], 0, 3, "depth must be a whole number"),
        ([[0]], [[1]], 1.5, 3, "depth must be a whole number"),
        ([[0]], [[1]], 4, 3, "depth is larger than the number of conditions"),
        ([[0]], [[1]], 1, 0, "n_conditions must be a whole number"),
        ([[0], [1, 0]], [[1]], 1, 3, "condition '0' is mentioned twice"),
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
    refused(message, mean_average_overlap, a, b, depth=depth, n_conditions=n_conditions)
