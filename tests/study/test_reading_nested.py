"""Nested JSON: case > annotator > block > condition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dissensus.core.errors import DissensusError
from dissensus.study.reading import examine_annotations, read_annotations
from format_examples import NESTED, write_json
from shared_data import SHARED, needs_shared


def test_an_object_names_everything(tmp_path: Path) -> None:
    said = read_annotations(write_json(tmp_path / "nested.json", NESTED))
    assert said.to_rankings() == [
        [[["ant", "dog"], ["cat"]], [["bee"], ["ant"]]],
        [[["cat"], ["ant", "bee"]], []],
        [],
    ]
    assert said.conditions == ("ant", "bee", "cat", "dog")
    assert said.case_names == ("den", "hive", "yard")
    assert said.unannotated == ("yard",)


def test_a_bare_list_numbers_its_cases(tmp_path: Path) -> None:
    path = write_json(tmp_path / "nested.json", [[[[1]]], [], [[[0, 1]]]])
    said = read_annotations(path, conditions=["1", "0"])
    assert said.to_rankings() == [[[["0"]]], [], [[["1", "0"]]]]
    assert said.case_names == ("0", "1", "2")


def test_names_are_their_own_vocabulary(tmp_path: Path) -> None:
    said = read_annotations(write_json(tmp_path / "nested.json", [[[["b"], ["a"]]]]))
    assert (said.conditions, said.to_rankings()) == (("a", "b"), [[[["b"], ["a"]]]])


def test_codes_need_conditions(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="integer codes need a list of conditions"):
        read_annotations(write_json(tmp_path / "nested.json", [[[[0]]]]))


@pytest.mark.parametrize(
    ("rankings", "problem", "place"),
    [
        ([[[["a"]]], "a"], "nested to the wrong depth", "case '1'"),
        ([[[["a"]]], ["a"]], "nested to the wrong depth", "case '1', ranking 1"),
        ([[[["a"]]], [[["a"]], ["a"]]], "nested to the wrong depth", "case '1', ranking 2"),
        ([[[["a"]]], [[["a"]], [[["a"]]]]], "nested to the wrong depth", "case '1', ranking 2"),
        ([[[["a"]]], [[["a"], []]]], "a block is empty", "case '1', ranking 1"),
        ([[[["a"]]], [[["b", "a"]], [[None]]]], "a condition is not understood", "case '1', ranking 2"),
        ([[[["a"]]], [[["b", "a"]], [["a"], ["a"]]]], "mentioned twice", "case '1', ranking 2, condition 'a'"),
    ],
)
def test_a_wrong_depth_says_where(rankings: Any, problem: str, place: str, tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match=problem) as caught:
        examine_annotations(write_json(tmp_path / "nested.json", rankings))
    assert caught.value.where.endswith(f"nested.json, {place}")


@pytest.mark.parametrize(
    ("mention", "problem"), [(2, "out of range"), (-1, "out of range"), ("beee", "did you mean 'bees'")]
)
def test_an_unknown_condition_says_where(mention: Any, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match=problem) as caught:
        read_annotations(write_json(tmp_path / "nested.json", [[[[mention]]]]), conditions=["ants", "bees"])
    assert "case '0', ranking 1" in caught.value.where


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"case_names": ["den"]}, "number of case names does not fit"),
        ({"case_names": ["den", "den", "yard"]}, "case names must all be different"),
        ({"conditions": ["ant", "ant"]}, "condition names must all be different"),
        ({"conditions": "ant"}, "the list of conditions is not understood"),
        ({"unranked": "last"}, "the meaning of 'unranked' is not understood"),
    ],
)
def test_names_must_fit(change: dict[str, Any], problem: str, tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match=problem):
        read_annotations(write_json(tmp_path / "nested.json", {**NESTED, **change}))


def test_keys_without_a_role_are_noted(tmp_path: Path) -> None:
    reading = examine_annotations(write_json(tmp_path / "nested.json", {**NESTED, "annotators": ["Ann"]}))
    assert reading.receipt.unused == ("annotators",)


@needs_shared
def test_published_dermatology_annotations() -> None:
    folder = SHARED / "dermatology_ddx"
    conditions = (folder / "dermatology_conditions.txt").read_text(encoding="utf-8").splitlines()
    said = read_annotations(folder / "dermatology_selectors.json", conditions=conditions)
    assert (said.n_cases, said.n_rankings, said.n_conditions) == (1947, 9602, 419)
    assert round(100 * said.has_tie.mean(), 1) == 15.8
    assert round(100 * (said.mentions_per_ranking == 1).mean()) == 54
