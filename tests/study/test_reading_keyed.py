"""JSON of two levels: annotators and their cases, or cases and their annotators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dissensus import DissensusError, examine_annotations, read_annotations
from dissensus.core.files import open_source
from dissensus.study.reading.format import Format, Options
from format_examples import KEYED, write_json


def test_the_outer_keys_are_what_the_format_says(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", KEYED)
    people = read_annotations(path, "annotator-json")
    assert (people.annotator_names, people.case_names) == (("A", "D"), ("B", "C"))
    assert people.to_rankings() == [[[["oak"]], [["elm"]]], [[["elm"], ["ash", "oak"]]]]
    cases = read_annotations(path, "case-json")
    assert (cases.annotator_names, cases.case_names) == (("B", "C"), ("A", "D"))
    assert cases.to_rankings() == [[[["oak"]], [["elm"], ["ash", "oak"]]], [[["elm"]]]]


def test_without_a_word_both_readings_are_named_and_none_is_taken(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", KEYED)
    with pytest.raises(DissensusError, match="can be annotators or cases") as caught:
        read_annotations(path)
    assert "annotator-json (annotator 'A' said 'oak' on case 'B')" in caught.value.expected
    assert "case-json (annotator 'B' said 'oak' on case 'A')" in caught.value.expected
    assert "--format annotator-json or --format case-json" in caught.value.advice


def test_many_cases_of_few_annotators_are_no_word_either(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", {name: dict.fromkeys(map(str, range(500)), "oak") for name in "AB"})
    with pytest.raises(DissensusError, match="can be annotators or cases"):
        read_annotations(path)


@pytest.mark.parametrize(("wrapper", "format_"), [("annotators", "annotator-json"), ("cases", "case-json")])
def test_a_file_that_says_what_its_keys_are_is_recognised(wrapper: str, format_: str, tmp_path: Path) -> None:
    bare = write_json(tmp_path / "bare.json", KEYED)
    path = write_json(tmp_path / "a.json", {wrapper: KEYED})
    assert read_annotations(path) == read_annotations(bare, format_)


def test_what_the_keys_are_is_an_assumption_of_the_receipt(tmp_path: Path) -> None:
    source = open_source(write_json(tmp_path / "a.json", KEYED))
    parsed = Format.family.find("case-json")().parse(source, Options())
    assert parsed.assumed == ("the outer keys are cases, the inner keys annotators",)


def test_cases_without_an_opinion_are_kept(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", {"c1": {}, "c2": {"ann": None}, "c3": {"ann": "oak", "bo": []}})
    said = read_annotations(path, "case-json")
    assert said.to_rankings() == [[], [], [[["oak"]], []]]


def test_integers_are_codes(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", {"ann": {"c1": 1, "c2": [[0, 1]]}})
    said = read_annotations(path, "annotator-json", conditions=["oak", "elm"])
    assert said.to_rankings() == [[[["elm"]]], [[["oak", "elm"]]]]


@pytest.mark.parametrize(
    ("content", "problem", "place"),
    [
        ({"ann": {"c1": ["oak", "elm"]}}, "a list of labels can be an order or a tie", "case 'c1', annotator 'ann'"),
        ({"ann": {"c1": {"oak": 1}}}, "a condition is not understood", "case 'c1', annotator 'ann'"),
        ({"ann": {"c1": True}}, "a condition is not understood", "case 'c1', annotator 'ann'"),
        ({"ann": "oak"}, "what stands under 'ann' is not understood", "annotator 'ann'"),
        ({"": {"c1": "oak"}}, "the name of the annotator is not understood", "a.json"),
        ({"ann": {" ": "oak"}}, "the name of the case is not understood", "annotator 'ann'"),
        ([], "the file is not understood", "a.json"),
        ({"ann": {"c1": [["oak"], ["oak"]]}}, "'oak' is mentioned twice", "case 'c1', annotator 'ann'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(content: Any, problem: str, place: str, tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", content)
    with pytest.raises(DissensusError, match=problem) as caught:
        examine_annotations(path, "annotator-json")
    assert place in caught.value.where
    assert str(path) in caught.value.where
