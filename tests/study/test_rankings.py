"""Annotations as objects: immutable, comparable, picklable, selectable, and able to say what they hold."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus import Annotations, DissensusError
from dissensus.study.panel import Panel
from strategies import studies

ARRAYS = ("block_offsets", "code_offsets", "codes", "ranking_offsets", "annotators", "weights", "case_weights")


def small_study() -> Annotations:
    return Annotations.from_rankings(
        [[[["b"], ["a", "c"]], [["c"]]], [[]], [], [[["a"]]]],
        ["a", "b", "c", "d"],
        case_names=["w", "x", "y", "z"],
        annotator_names=[["Ann", "Bo"], ["Ann"], [], ["Bo"]],
        groups=["p", "p", "q", "q"],
    )


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_cannot_be_written(name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(small_study(), name)[0] = 1


def test_fields_cannot_be_replaced() -> None:
    with pytest.raises(AttributeError):
        small_study().conditions = ("x",)  # type: ignore[misc]


def test_changing_the_sources_afterwards_changes_nothing() -> None:
    weights, case_weights, block = np.array([[1.0, 2.0]]), np.array([3.0]), np.array([0, 1])
    counts = np.array([[1, 2]])
    said = Annotations.from_rankings(
        [[[block], [np.array([1])]]],
        2,
        weights=weights,  # type: ignore[arg-type]
        case_weights=case_weights,  # type: ignore[arg-type]
    )
    voted = Annotations.from_counts(counts)
    before, before_votes = pickle.dumps(said), pickle.dumps(voted)
    for source in (weights, case_weights, block, counts):
        source[:] = 0
    assert (pickle.dumps(said), pickle.dumps(voted)) == (before, before_votes)


def test_arrays_given_to_the_constructor_are_copied() -> None:
    offsets, codes = np.array([0, 1]), np.array([0])
    panel = Panel(("x",), offsets, np.array([-1]))
    said = Annotations(("a", "b"), panel, offsets, offsets, codes)
    offsets[:] = 7
    codes[:] = 1
    assert said.to_rankings() == [[[["a"]]]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"block_offsets": [0, 2]},
        {"block_offsets": [0, 1, 1]},
        {"code_offsets": [0, 3]},
        {"code_offsets": [1, 1]},
        {"codes": [0, 1]},
        {"codes": [5]},
        {"codes": [-1]},
    ],
)
def test_arrays_that_contradict_each_other_are_refused(wrong: dict[str, Any]) -> None:
    panel = Panel(("x",), np.array([0, 1]), np.array([-1]))
    fitting = {"block_offsets": [0, 1], "code_offsets": [0, 1], "codes": [0]}
    arrays: dict[str, Any] = {name: np.array(values) for name, values in (fitting | wrong).items()}
    with pytest.raises(DissensusError):
        Annotations(("a", "b"), panel, **arrays)


@given(studies())
def test_pickles_and_copies_are_equal_and_still_read_only(said: Annotations) -> None:
    for again in (pickle.loads(pickle.dumps(said)), copy.deepcopy(said), copy.copy(said)):
        assert again == said
        assert not any(getattr(again, name).flags.writeable for name in ARRAYS)


def test_equality_looks_at_everything() -> None:
    said = small_study()
    assert said == small_study()
    different = [
        said.with_unranked("unobserved"),
        said.with_conditions(["a", "b", "c", "d", "e"]),
        said.select([0, 1, 2]),
        said.select([1, 0, 2, 3]),
        Annotations.from_rankings(said.to_rankings(), said.conditions, case_names=said.case_names),
    ]
    assert all(said != other for other in different)
    assert said != "annotations"
    with pytest.raises(TypeError):
        hash(said)


def test_counts_and_shares() -> None:
    said = small_study()
    assert (said.n_cases, said.n_rankings, said.n_conditions, said.n_mentioned, len(said)) == (4, 4, 4, 3, 4)
    assert said.rankings_per_case.tolist() == [2, 1, 0, 1]
    assert said.mentions_per_ranking.tolist() == [3, 1, 0, 1]
    assert said.blocks_per_ranking.tolist() == [2, 1, 0, 1]
    assert said.block_sizes.tolist() == [1, 2, 1, 1]
    assert said.has_tie.tolist() == [True, False, False, False]
    assert said.ranking_of_mention.tolist() == [0, 0, 0, 1, 3]
    assert said.unannotated == ("x", "y")


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        (["z", "w"], ("z", "w")),
        (np.array(["z", "w"]), ("z", "w")),
        (("y",), ("y",)),
        ([3, 0], ("z", "w")),
        ([-1, -4], ("z", "w")),
        (np.array([1]), ("x",)),
        (slice(1, 3), ("x", "y")),
        (slice(None, None, -1), ("z", "y", "x", "w")),
        ([True, False, False, True], ("w", "z")),
        (np.array([False] * 4), ()),
        ([], ()),
    ],
)
def test_cases_are_selected_in_the_order_asked_for(cases: Any, expected: tuple[str, ...]) -> None:
    said = small_study()
    chosen = said.select(cases)
    everything = dict(zip(said.case_names, said.to_rankings(), strict=True))
    assert chosen.case_names == expected
    assert chosen.to_rankings() == [everything[name] for name in expected]
    assert chosen.conditions == said.conditions
    assert chosen.annotator_names == said.annotator_names
    assert chosen.groups == tuple(dict(zip("wxyz", said.groups, strict=True))[name] for name in expected)


@pytest.mark.parametrize(
    ("cases", "problem"),
    [
        (["w", "nobody"], "unknown case 'nobody'"),
        ([4], "no case at this position"),
        ([-5], "no case at this position"),
        ([0, 0], "case names must all be different"),
        ([True, False], "number of mask values"),
        ([0.5], "choice of cases is not understood"),
        ("w", "choice of cases is not understood"),
        (2, "choice of cases is not understood"),
        (None, "choice of cases is not understood"),
        ([[0]], "choice of cases is not understood"),
    ],
)
def test_choices_that_make_no_sense_are_refused(cases: Any, problem: str) -> None:
    with pytest.raises(DissensusError, match=problem):
        small_study().select(cases)


def test_a_near_miss_of_a_case_gets_a_suggestion() -> None:
    said = Annotations.from_rankings([[[["a"]]]], case_names=["patient 17"])
    with pytest.raises(DissensusError) as caught:
        said.select(["Patient 71"])
    assert caught.value.advice == "did you mean 'patient 17'?"


@given(studies(), st.data())
def test_pieces_put_together_are_the_whole(said: Annotations, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, said.n_cases))
    assert Annotations.concatenate([said.select(slice(0, cut)), said.select(slice(cut, None))]) == said


@given(studies(), st.data())
def test_selecting_twice_is_selecting_once(said: Annotations, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(said.n_cases)))
    names = [said.case_names[i] for i in order]
    shuffled = said.select(list(order))
    assert shuffled == said.select(names)
    assert shuffled.select(said.case_names) == said


def test_annotators_are_matched_by_name_when_studies_are_put_together() -> None:
    one = Annotations.from_rankings([[[["a"]]]], case_names=["x"], annotator_names=[["Ann"]])
    other = Annotations.from_rankings([[[["a"]], [["a"]]]], case_names=["y"], annotator_names=[["Bo", "Ann"]])
    nobody = Annotations.from_rankings([[[["a"]]]], case_names=["z"])
    both = Annotations.concatenate([one, other, nobody])
    assert both.annotator_names == ("Ann", "Bo")
    assert both.annotators.tolist() == [0, 1, 0, -1]


def test_studies_that_do_not_fit_together_are_refused() -> None:
    said = small_study()
    with pytest.raises(DissensusError, match="different conditions") as caught:
        Annotations.concatenate([said, said.with_conditions(["d", "c", "b", "a"])])
    assert "with_conditions" in caught.value.advice
    with pytest.raises(DissensusError, match="different conditions"):
        Annotations.concatenate([said, said.with_unranked("unobserved")])
    with pytest.raises(DissensusError, match="case names must all be different"):
        Annotations.concatenate([said, said])
    with pytest.raises(DissensusError, match="nothing to concatenate"):
        Annotations.concatenate([])


@given(studies(), st.data())
def test_another_order_of_conditions_says_the_same(said: Annotations, data: st.DataObject) -> None:
    order = data.draw(st.permutations(said.conditions))
    other = said.with_conditions(order)
    assert [[[set(b) for b in r] for r in c] for c in other.to_rankings()] == [
        [[set(b) for b in r] for r in c] for c in said.to_rankings()
    ]
    assert other.with_conditions(said.conditions) == said
    blocks = np.split(other.codes, other.code_offsets[1:-1])
    assert all((np.diff(block) > 0).all() for block in blocks)


def test_a_vocabulary_may_grow_but_not_lose_what_was_mentioned() -> None:
    said = small_study()
    assert said.with_conditions(["a", "b", "c"]).n_conditions == 3
    with pytest.raises(DissensusError, match="lacks some that are mentioned") as caught:
        said.with_conditions(["a", "b", "C"])
    assert "'c'" in caught.value.got
    assert caught.value.advice == "did you mean 'C'?"


def test_repr_tells_a_person_what_is_inside() -> None:
    assert repr(small_study()).splitlines() == [
        "Annotations: 4 cases, 4 rankings, 4 conditions (not mentioned = below)",
        "  rankings per case     0 to 2",
        "  conditions mentioned  3 of 4; 1 to 3 per ranking",
        "  one condition only    66.7 % of rankings",
        "  with a tie            33.3 % of rankings",
        "  annotators            2",
        "  abstentions           1",
        "  unannotated cases     2",
        "  groups of cases       2",
    ]
