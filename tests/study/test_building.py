"""Building from nested lists and from counts: what is accepted, and what is refused with which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus import Annotations, DissensusError
from strategies import studies
from voted_studies import written_out

NESTED = [[[["b"], ["a", "c"]], [["c"]]], [], [[["a"]]]]


def test_names_become_codes_in_alphabetical_order() -> None:
    said = Annotations.from_rankings(NESTED)
    assert said.conditions == ("a", "b", "c")
    assert said.case_names == ("0", "1", "2")
    assert said.codes.tolist() == [1, 0, 2, 2, 0]
    assert said.code_offsets.tolist() == [0, 1, 3, 4, 5]
    assert said.block_offsets.tolist() == [0, 2, 3, 4]
    assert said.ranking_offsets.tolist() == [0, 2, 2, 3]
    assert said.unannotated == ("1",)
    by_code = Annotations.from_rankings([[[[1], [2, 0]], [[2]]], [], [[[0]]]], ["a", "b", "c"])
    assert by_code == Annotations.from_rankings(NESTED, ["a", "b", "c"]) == said


def test_arrays_are_lists_and_the_order_within_a_block_does_not_matter() -> None:
    said = Annotations.from_rankings([[[np.array([2, 0]), np.array([1])]]], conditions=4)
    assert said == Annotations.from_rankings([[[[0, 2], [1]]]], conditions=4)
    assert said.conditions == ("0", "1", "2", "3")
    assert said.to_rankings() == [[[["0", "2"], ["1"]]]]


def test_listed_conditions_keep_their_order_even_if_nobody_mentions_them() -> None:
    said = Annotations.from_rankings([[[["z"]]]], ["z", "y", "x"])
    assert (said.conditions, said.n_mentioned) == (("z", "y", "x"), 1)


@pytest.mark.parametrize("nested", [True, False])
def test_annotators_and_weights_may_be_nested_or_serve_every_case(nested: bool) -> None:
    names: Any = ["Ann", "Bo"]
    weights: Any = [1.0, 2.0]
    said = Annotations.from_rankings(
        [[[["a"]], [["b"]]], [[["a"]], [["a"]]]],
        annotator_names=[names, names] if nested else names,
        weights=[weights, weights] if nested else weights,
    )
    assert said.annotator_names == ("Ann", "Bo")
    assert said.annotators.tolist() == [0, 1, 0, 1]
    assert said.weights.tolist() == [1, 2, 1, 2]


def test_none_among_the_annotators_is_nobody_in_particular() -> None:
    said = Annotations.from_rankings([[[["a"]], [["b"]]]], annotator_names=["Ann", None])
    assert said.annotator_names == ("Ann",)
    assert said.annotators.tolist() == [0, -1]


def test_groups_and_case_weights_belong_to_cases() -> None:
    groups = np.array(["p", "p", "q"])
    said = Annotations.from_rankings(NESTED, groups=groups, case_weights=[1, 2, 0.5])  # type: ignore[arg-type]
    assert said.groups == ("p", "p", "q")
    assert said.case_weights.tolist() == [1, 2, 0.5]


def test_nothing_at_all_is_a_study_of_no_cases() -> None:
    said = Annotations.from_rankings([])
    assert (said.n_cases, said.n_rankings, said.n_conditions) == (0, 0, 0)
    assert "0 cases" in repr(said)


@pytest.mark.parametrize(
    ("nested", "place", "level"),
    [
        ("abc", "", "the cases"),
        ([[], "abc"], "case 2", "rankings of a case"),
        ([[[["a"]], "abc"]], "case 1, ranking 2", "blocks of a ranking"),
        ([[], [[["a"], "abc"]]], "case 2, ranking 1, block 2", "conditions of a block"),
        ([[{"a": 1}]], "case 1, ranking 1", "blocks of a ranking"),
        ([3], "case 1", "rankings of a case"),
    ],
)
def test_lists_of_the_wrong_depth_say_what_stands_where(nested: Any, place: str, level: str) -> None:
    with pytest.raises(DissensusError, match="nested to the wrong depth") as caught:
        Annotations.from_rankings(nested)
    assert caught.value.where == place
    assert level in caught.value.got
    assert "four lists deep" in caught.value.expected
    assert "[['name']]" in caught.value.advice


@pytest.mark.parametrize("mention", [True, 1.5, None, ["a"]])
def test_a_mention_that_is_no_name_is_refused(mention: Any) -> None:
    with pytest.raises(DissensusError, match="neither a name nor a code") as caught:
        Annotations.from_rankings([[[[mention]]]], ["a", "b"])
    assert (caught.value.got, caught.value.where) == (repr(mention), "case '0', ranking 1")


def test_an_empty_block_is_refused() -> None:
    with pytest.raises(DissensusError, match="block is empty") as caught:
        Annotations.from_rankings([[[["a"], []]]], case_names=["left arm"], annotator_names=[["Ann"]])
    assert caught.value.where == "case 'left arm', annotator 'Ann'"
    assert "leave the empty block out" in caught.value.advice


@pytest.mark.parametrize("ranking", [[["a"], ["a"]], [["b"], ["a", "a"]], [["a", "b"], ["a"]]])
def test_a_condition_mentioned_twice_is_refused(ranking: list[list[str]]) -> None:
    with pytest.raises(DissensusError, match="'a' is mentioned twice") as caught:
        Annotations.from_rankings([[[["a"]], ranking]], case_names=["c1"])
    assert caught.value.where == "case 'c1', ranking 2, condition 'a'"
    assert "at most once" in caught.value.expected


def test_an_unknown_condition_gets_a_place_and_a_suggestion() -> None:
    with pytest.raises(DissensusError, match="unknown condition 'Eczma'") as caught:
        Annotations.from_rankings(
            [[], [[["Tinea"]], [["Tinea"], ["Eczma"]]]], ["Eczema", "Tinea"], case_names=["x", "y"]
        )
    assert caught.value.where == "case 'y', ranking 2"
    assert caught.value.advice == "did you mean 'Eczema'?"
    assert caught.value.expected == "one of the 2 listed conditions"


@pytest.mark.parametrize("code", [-1, 2, 100])
def test_codes_out_of_range_are_refused(code: int) -> None:
    with pytest.raises(DissensusError, match="out of range") as caught:
        Annotations.from_rankings([[[[0]], [[code]]]], ["a", "b"])
    assert (caught.value.got, caught.value.where) == (str(code), "case '0', ranking 2")
    assert caught.value.expected == "0 to 1, as there are 2 conditions"


def test_codes_without_names_are_refused() -> None:
    with pytest.raises(DissensusError, match="integer codes need a list of conditions"):
        Annotations.from_rankings([[[[0]]]])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"conditions": ["a", "a"]}, "condition names must all be different"),
        ({"conditions": ["a", ""]}, "condition has an empty name"),
        ({"case_names": ["", "x"]}, "case has an empty name"),
        ({"case_names": ["x", "x"]}, r"case names must all be different\n.*'x'"),
        ({"case_names": ["x"]}, r"number of case names does not fit\n.*expected: 2\n.*got: *1"),
        ({"groups": ["p"]}, "number of groups"),
        ({"groups": ["p", ""]}, "group has an empty name"),
        ({"case_weights": [1.0]}, "number of case weights"),
        ({"case_weights": [1.0, -1.0]}, "case weights must be finite and not negative"),
        ({"case_weights": ["x", "y"]}, "case weights are not numbers"),
        ({"weights": [[1.0], [2.0]]}, "number of weights"),
        ({"weights": [[np.nan, 1.0], []]}, "weights must be finite and not negative"),
        ({"weights": [["heavy", 1.0], []]}, "weights are not numbers"),
        ({"annotator_names": [["Ann", "Bo"]]}, "number of case's annotator name lists"),
        ({"annotator_names": [["Ann"], []]}, r"number of annotator names(.*\n)*.*case 1"),
        ({"annotator_names": [["", "Bo"], []]}, "an annotator has an empty name"),
        ({"unranked": "last"}, "unranked is not understood"),
    ],
)
def test_what_describes_the_rankings_must_fit_them(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(DissensusError, match=problem):
        Annotations.from_rankings([[[["a"]], [["a"]]], []], **given)


@given(studies())
def test_nested_lists_come_back_out(said: Annotations) -> None:
    again = Annotations.from_rankings(
        said.to_rankings(),
        said.conditions,
        case_names=said.case_names,
        groups=said.groups or None,
        case_weights=said.case_weights,  # type: ignore[arg-type]
        unranked=said.unranked,
    )
    assert again.to_rankings() == said.to_rankings()
    assert np.array_equal(again.codes, said.codes)


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=5))
def test_counts_are_that_many_single_labels(counts: list[list[int]]) -> None:
    said = Annotations.from_counts(counts, ["a", "b", "c"])
    votes = [[["a", "b", "c"][k] for k in range(3) for _ in range(row[k])] for row in counts]
    assert written_out(said) == Annotations.from_rankings(
        [[[[vote]] for vote in row] for row in votes], ["a", "b", "c"]
    )


@pytest.mark.parametrize(
    ("counts", "problem", "where"),
    [
        ([[1, -1]], "whole numbers, zero or more", "row 1, column 2"),
        ([[1, 0], [0.5, 0]], "whole numbers, zero or more", "row 2, column 1"),
        ([[1, np.nan]], "whole numbers, zero or more", "row 1, column 2"),
        ([1, 2], "must be a matrix", ""),
        ([[1], [1, 2]], "must be a matrix", ""),
        ([["x", "y"]], "must be numbers", ""),
    ],
)
def test_counts_that_are_none_are_refused(counts: Any, problem: str, where: str) -> None:
    with pytest.raises(DissensusError, match=problem) as caught:
        Annotations.from_counts(counts)
    assert caught.value.where == where


def test_columns_of_counts_are_numbered_or_named_one_by_one_and_numbers_are_levels() -> None:
    assert Annotations.from_counts(np.eye(2)).conditions == ("0", "1")
    assert Annotations.from_counts([[1, 2]], [3, 4.5]).scores.tolist() == [3, 4.5]  # type: ignore[list-item]
    assert Annotations.from_counts([[1, 2]], [3, 4], question="grades").conditions == ("3", "4")  # type: ignore[list-item]
    with pytest.raises(DissensusError, match="number of conditions"):
        Annotations.from_counts([[1, 2]], ["a", "b", "c"])
