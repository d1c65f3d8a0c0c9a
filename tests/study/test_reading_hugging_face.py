"""Hugging Face style records with lists of labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dissensus.core.errors import DissensusError, DissensusWarning, FormatError
from dissensus.study.reading import Reading, examine_annotations, read_annotations
from format_examples import HUGGING_FACE, write_json, write_lines


def examine(folder: Path, *records: dict[str, Any], **options: Any) -> Reading:
    return examine_annotations(write_lines(folder / "train.jsonl", list(records)), **options)


def test_one_label_per_annotator(tmp_path: Path) -> None:
    reading = examine(tmp_path, *HUGGING_FACE)
    said = reading.rankings
    assert reading.receipt.format == "hugging-face"
    assert said.to_rankings() == [[[["joy"]], [["awe", "joy"]]], [[["fear"]]], []]
    assert said.case_names == ("s1", "s2", "s3")
    assert said.annotator_names == ("kim", "lou")
    notes = [str(note) for note in reading.receipt.notes]
    assert notes == ["labels that are null: 1, taken as no opinion (for example 's1')"]


def test_a_label_that_is_not_a_number_is_no_opinion(tmp_path: Path) -> None:
    """As pandas writes a missing code."""
    reading = examine(tmp_path, {"id": "s1", "labels": [1.0, float("nan")]}, conditions=["awe", "fear"], lists="votes")
    assert reading.rankings.to_rankings() == [[[["fear"]]]]
    assert [note.found for note in reading.receipt.notes] == ["labels that are null"]


def test_codes_need_conditions(tmp_path: Path) -> None:
    record = {"id": "s1", "labels": [2, 2, 0], "annotator_ids": ["a", "b", "c"]}
    with pytest.raises(DissensusError, match="integer labels need a list of conditions"):
        examine(tmp_path, record)
    said = examine(tmp_path, record, conditions=["awe", "fear", "joy"]).rankings
    assert said.to_rankings() == [[[["joy"]], [["joy"]], [["awe"]]]]


def test_a_negative_code_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="a condition code is negative") as caught:
        examine(tmp_path, {"id": "s1", "labels": [2, -1]}, conditions=["awe", "fear", "joy"], lists="votes")
    assert "record 1, case 's1'" in caught.value.where


def test_comma_separated_texts(tmp_path: Path) -> None:
    record = {
        "annotations": "1,0",
        "annotators": "Ann1,Ann4",
        "soft_label": {"0": 0.5, "1": 0.5},
        "text": "hm",
    }
    path = write_json(tmp_path / "dev.json", {"17": record, "18": {**record, "annotations": "", "annotators": ""}})
    reading = examine_annotations(path, conditions=["calm", "rude"])
    assert reading.rankings.to_rankings() == [[[["rude"]], [["calm"]]], []]
    assert reading.rankings.case_names == ("17", "18")
    assert reading.rankings.annotator_names == ("Ann1", "Ann4")
    assert reading.receipt.unused == ("soft_label", "text")


def test_only_submitted_responses_are_used(tmp_path: Path) -> None:
    record = {
        "id": "s1",
        "dx.responses": ["Eczema", "Tinea", ["Tinea", "Acne"]],
        "dx.responses.users": ["u1", "u2", "u3"],
        "dx.responses.status": ["submitted", "draft", "submitted"],
    }
    path = write_lines(tmp_path / "train.jsonl", [record, {"id": "s2", "dx.responses": None}])
    with pytest.warns(DissensusWarning, match="responses with the status 'draft': 1, skipped"):
        said = read_annotations(path)
    assert said.to_rankings() == [[[["Eczema"]], [["Acne", "Tinea"]]], []]
    assert said.annotator_names == ("u1", "u3")


def test_responses_with_ranks_keep_their_ties(tmp_path: Path) -> None:
    answer = [{"value": "b", "rank": 2}, {"value": "a", "rank": 1}, {"value": "c", "rank": 2}]
    said = examine(tmp_path, {"id": 1, "dx.responses": [answer], "dx.responses.users": ["u1"]}).rankings
    assert said.to_rankings() == [[[["a"], ["b", "c"]]]]


def test_several_questions_need_a_choice(tmp_path: Path) -> None:
    record = {"id": "s1", "dx.responses": ["Eczema"], "mood.responses": ["calm"]}
    with pytest.raises(DissensusError, match="several questions") as caught:
        examine(tmp_path, record)
    assert caught.value.got == "'dx', 'mood'"
    said = examine(tmp_path, record, columns={"condition": "mood"}).rankings
    assert said.to_rankings() == [[[["calm"]]]]


def test_unusual_keys_can_be_named(tmp_path: Path) -> None:
    record = {"name": "s1", "votes": ["joy"], "who": ["kim"]}
    columns = {"case": "name", "condition": "votes", "annotator": "who"}
    said = examine(tmp_path, record, format="hugging-face", columns=columns).rankings
    assert (said.case_names, said.annotator_names) == (("s1",), ("kim",))
    with pytest.raises(DissensusError, match="no record has the key 'vote'"):
        examine(tmp_path, record, format="hugging-face", columns={"condition": "vote"})


def test_records_without_an_id_are_numbered(tmp_path: Path) -> None:
    reading = examine(tmp_path, {"labels": ["joy"]}, {"labels": ["awe"]})
    assert reading.rankings.case_names == ("0", "1")
    assert "the records have no id and are numbered from 0" in reading.receipt.assumed


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ([{"id": 1, "labels": ["a", "b"], "annotators": ["x"]}], "the labels and the annotators"),
        ([{"id": 1, "q.responses": ["a"], "q.responses.status": []}], "the labels and the statuses"),
        ([{"id": 1, "labels": ["a"]}, {"id": 1, "labels": ["b"]}], "case '1' stands in several records"),
        ([{"id": 1, "labels": ["a"]}, {"labels": ["b"]}], "the id of a record is not understood"),
        ([{"id": 1, "labels": ["a"]}, {"id": 2, "labels": 7}], "the value of 'labels'"),
        ([{"id": 1, "labels": ["a", True], "annotators": ["x", "y"]}], "a condition is not understood"),
    ],
)
def test_what_does_not_fit_is_an_error(records: list[dict[str, Any]], problem: str, tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match=problem):
        examine(tmp_path, *records)
