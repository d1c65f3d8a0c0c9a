"""Rankings: built from nested lists and counts, what is refused, how cases are chosen, and what a study counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus import DissensusError, Study
from dissensus.study.panel import Panel
from strategies import studies
from voted_studies import written_out

NESTED = [[[["b"], ["a", "c"]], [["c"]]], [], [[["a"]]]]


def test_names_become_codes_in_alphabetical_order_or_in_that_of_a_list() -> None:
    said = Study.from_rankings(NESTED)
    assert (said.conditions, said.case_names, said.unannotated) == (("a", "b", "c"), ("0", "1", "2"), ("1",))
    assert said.codes.tolist() == [1, 0, 2, 2, 0]
    assert said.code_offsets.tolist() == [0, 1, 3, 4, 5]
    assert said.block_offsets.tolist() == [0, 2, 3, 4]
    assert said.ranking_offsets.tolist() == [0, 2, 2, 3]
    by_code = Study.from_rankings([[[[1], [2, 0]], [[2]]], [], [[[0]]]], ["a", "b", "c"])
    assert by_code == Study.from_rankings(NESTED, ["a", "b", "c"]) == said
    listed = Study.from_rankings([[[["z"]]]], ["z", "y", "x"])
    assert (listed.conditions, listed.n_mentioned) == (("z", "y", "x"), 1)
    arrays = Study.from_rankings([[[np.array([2, 0]), np.array([1])]]], conditions=4)
    assert arrays == Study.from_rankings([[[[0, 2], [1]]]], conditions=4)
    assert arrays.to_rankings() == [[[["0", "2"], ["1"]]]]


def test_annotators_and_weights_may_be_nested_or_serve_every_case_and_be_nobodys() -> None:
    names: Any = ["Ann", "Bo"]
    weights: Any = [1.0, 2.0]
    nested = [[[["a"]], [["b"]]], [[["a"]], [["a"]]]]
    said = Study.from_rankings(nested, annotator_names=names, weights=weights)
    assert said == Study.from_rankings(nested, annotator_names=[names, names], weights=[weights, weights])
    assert (said.annotator_names, said.annotators.tolist()) == (("Ann", "Bo"), [0, 1, 0, 1])
    assert said.weights.tolist() == [1, 2, 1, 2]
    said = Study.from_rankings([[[["a"]], [["b"]]]], annotator_names=["Ann", None])
    assert (said.annotator_names, said.annotators.tolist()) == (("Ann",), [0, -1])
    groups = np.array(["p", "p", "q"])
    said = Study.from_rankings(NESTED, groups=groups, case_weights=[1, 2, 0.5])  # type: ignore[arg-type]
    assert (said.groups, said.case_weights.tolist()) == (("p", "p", "q"), [1, 2, 0.5])
    said = Study.from_rankings([])
    assert (said.n_cases, said.n_rankings, said.n_conditions) == (0, 0, 0)
    assert "0 cases" in repr(said)


@given(studies())
def test_nested_lists_come_back_out(said: Study) -> None:
    again = Study.from_rankings(said.to_rankings(), said.conditions, case_names=said.case_names)
    assert again.to_rankings() == said.to_rankings()
    assert np.array_equal(again.codes, said.codes)


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=5))
def test_counts_are_that_many_single_labels(counts: list[list[int]]) -> None:
    said = Study.from_counts(counts, ["a", "b", "c"])
    votes = [[["a", "b", "c"][k] for k in range(3) for _ in range(row[k])] for row in counts]
    assert written_out(said) == Study.from_rankings([[[[vote]] for vote in row] for row in votes], ["a", "b", "c"])


def test_columns_of_counts_are_numbered_and_numbers_are_levels_unless_a_question_is_named() -> None:
    assert Study.from_counts(np.eye(2)).conditions == ("0", "1")
    assert Study.from_counts([[1, 2]], [3, 4.5]).scores.tolist() == [3, 4.5]  # type: ignore[list-item]
    assert Study.from_counts([[1, 2]], [3, 4], question="grades").conditions == ("3", "4")  # type: ignore[list-item]


# Studies of rankings ------------------------------------------------------------------------------------


def small_study() -> Study:
    return Study.from_rankings(
        [[[["b"], ["a", "c"]], [["c"]]], [[]], [], [[["a"]]]],
        ["a", "b", "c", "d"],
        case_names=["w", "x", "y", "z"],
        annotator_names=[["Ann", "Bo"], ["Ann"], [], ["Bo"]],
        groups=["p", "p", "q", "q"],
    )


def test_arrays_that_contradict_each_other_are_refused_and_equality_looks_at_everything() -> None:
    panel = Panel(("x",), np.array([0, 1]), np.array([-1]))
    fitting = {"block_offsets": [0, 1], "code_offsets": [0, 1], "codes": [0]}
    wrong = {"block_offsets": ([0, 2], [0, 1, 1]), "code_offsets": ([0, 3], [1, 1]), "codes": ([0, 1], [5], [-1])}
    for name, values in wrong.items():
        for value in values:
            arrays: dict[str, Any] = {part: np.array(given) for part, given in {**fitting, name: value}.items()}
            with pytest.raises(DissensusError):
                Study(("a", "b"), panel, **arrays)
    said = small_study()
    assert said == small_study()
    different = [
        said.with_unranked("unobserved"),
        said.with_conditions(["a", "b", "c", "d", "e"]),
        said.select([0, 1, 2]),
        said.select([1, 0, 2, 3]),
        Study.from_rankings(said.to_rankings(), said.conditions, case_names=said.case_names),
    ]
    assert all(said != other for other in different)
    assert said != "annotations"


CHOICES: list[tuple[Any, str]] = [
    *((["z", "w"], "zw"), (np.array(["z", "w"]), "zw"), (("y",), "y"), ([3, 0], "zw"), ([-1, -4], "zw")),
    *((np.array([1]), "x"), (slice(1, 3), "xy"), (slice(None, None, -1), "zyxw"), ([True, False, False, True], "wz")),
    *((np.array([False] * 4), ""), ([], "")),
]


def test_cases_are_selected_in_the_order_asked_for() -> None:
    said = small_study()
    everything = dict(zip(said.case_names, said.to_rankings(), strict=True))
    for cases, expected in CHOICES:
        chosen = said.select(cases)
        assert chosen.case_names == tuple(expected)
        assert chosen.to_rankings() == [everything[name] for name in expected]
        assert (chosen.conditions, chosen.annotator_names) == (said.conditions, said.annotator_names)
        assert chosen.groups == tuple(dict(zip("wxyz", said.groups, strict=True))[name] for name in expected)


@pytest.mark.parametrize(
    ("cases", "problem"),
    [
        (["w", "nobody"], "unknown case 'nobody'"),
        (["Patient 71"], "did you mean 'patient 17'"),
        *(([position], "no case at this position") for position in (5, -6)),
        ([0, 0], "case names must all be different"),
        ([True, False], "number of mask values"),
        *((wrong, "choice of cases is not understood") for wrong in ([0.5], "w", 2, None, [[0]])),
    ],
)
def test_choices_that_make_no_sense_are_refused(cases: Any, problem: str) -> None:
    patient = Study.from_rankings([[[["a"]]]], ["a", "b", "c", "d"], case_names=["patient 17"])
    with pytest.raises(DissensusError, match=problem):
        Study.concatenate([small_study(), patient]).select(cases)


def test_annotators_are_matched_by_name_and_vocabularies_neither_mixed_nor_cut_short() -> None:
    one = Study.from_rankings([[[["a"]]]], case_names=["x"], annotator_names=[["Ann"]])
    other = Study.from_rankings([[[["a"]], [["a"]]]], case_names=["y"], annotator_names=[["Bo", "Ann"]])
    both = Study.concatenate([one, other, Study.from_rankings([[[["a"]]]], case_names=["z"])])
    assert (both.annotator_names, both.annotators.tolist()) == (("Ann", "Bo"), [0, 1, 0, -1])
    said = small_study()
    with pytest.raises(DissensusError, match=r"different conditions[^$]*with_conditions"):
        Study.concatenate([said, said.with_conditions(["d", "c", "b", "a"])])
    with pytest.raises(DissensusError, match=r"not mentioned means something else[^$]*with_unranked"):
        Study.concatenate([said, said.with_unranked("unobserved")])
    assert said.with_conditions(["a", "b", "c"]).n_conditions == 3
    with pytest.raises(DissensusError, match=r"lacks some that are mentioned[^$]*'c'[^$]*did you mean 'C'\?"):
        said.with_conditions(["a", "b", "C"])
