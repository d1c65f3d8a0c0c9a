"""Rankings: what is refused, how cases are chosen, and what a study of them counts and says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dissensus import Annotations, DissensusError
from dissensus.study.panel import Panel


def small_study() -> Annotations:
    return Annotations.from_rankings(
        [[[["b"], ["a", "c"]], [["c"]]], [[]], [], [[["a"]]]],
        ["a", "b", "c", "d"],
        case_names=["w", "x", "y", "z"],
        annotator_names=[["Ann", "Bo"], ["Ann"], [], ["Bo"]],
        groups=["p", "p", "q", "q"],
    )


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


def test_counts_and_shares() -> None:
    said = small_study()
    assert (said.n_cases, said.n_rankings, said.n_conditions, said.n_mentioned) == (4, 4, 4, 3)
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
        (["z", "w"], "zw"),
        (np.array(["z", "w"]), "zw"),
        (("y",), "y"),
        ([3, 0], "zw"),
        ([-1, -4], "zw"),
        (np.array([1]), "x"),
        (slice(1, 3), "xy"),
        (slice(None, None, -1), "zyxw"),
        ([True, False, False, True], "wz"),
        (np.array([False] * 4), ""),
        ([], ""),
    ],
)
def test_cases_are_selected_in_the_order_asked_for(cases: Any, expected: str) -> None:
    said = small_study()
    chosen = said.select(cases)
    everything = dict(zip(said.case_names, said.to_rankings(), strict=True))
    assert chosen.case_names == tuple(expected)
    assert chosen.to_rankings() == [everything[name] for name in expected]
    assert (chosen.conditions, chosen.annotator_names) == (said.conditions, said.annotator_names)
    assert chosen.groups == tuple(dict(zip("wxyz", said.groups, strict=True))[name] for name in expected)


@pytest.mark.parametrize(
    ("cases", "problem"),
    [
        (["w", "nobody"], "unknown case 'nobody'"),
        ([4], "no case at this position"),
        ([-5], "no case at this position"),
        ([0, 0], "case names must all be different"),
        ([True, False], "number of mask values"),
        *((wrong, "choice of cases is not understood") for wrong in ([0.5], "w", 2, None, [[0]])),
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


def test_annotators_are_matched_by_name_when_studies_are_put_together() -> None:
    one = Annotations.from_rankings([[[["a"]]]], case_names=["x"], annotator_names=[["Ann"]])
    other = Annotations.from_rankings([[[["a"]], [["a"]]]], case_names=["y"], annotator_names=[["Bo", "Ann"]])
    nobody = Annotations.from_rankings([[[["a"]]]], case_names=["z"])
    both = Annotations.concatenate([one, other, nobody])
    assert both.annotator_names == ("Ann", "Bo")
    assert both.annotators.tolist() == [0, 1, 0, -1]


def test_studies_that_do_not_fit_together_are_refused() -> None:
    said = small_study()
    for other in (said.with_conditions(["d", "c", "b", "a"]), said.with_unranked("unobserved")):
        with pytest.raises(DissensusError, match="different conditions") as caught:
            Annotations.concatenate([said, other])
        assert "with_conditions" in caught.value.advice


def test_a_vocabulary_may_grow_but_not_lose_what_was_mentioned() -> None:
    said = small_study()
    assert said.with_conditions(["a", "b", "c"]).n_conditions == 3
    with pytest.raises(DissensusError, match="lacks some that are mentioned") as caught:
        said.with_conditions(["a", "b", "C"])
    assert (caught.value.got, caught.value.advice) == ("'c'", "did you mean 'C'?")


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
