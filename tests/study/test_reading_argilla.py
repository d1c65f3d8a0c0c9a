"""Argilla's records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dissensus.core.errors import DissensusError, DissensusWarning, FormatError
from dissensus.study.reading import Reading, examine_annotations, read_annotations
from format_examples import ARGILLA, write_json


def record(*answers: Any, question: str = "dx") -> dict[str, Any]:
    responses = [
        {"user_id": f"u{number}", "status": "submitted", "values": {question: {"value": answer}}}
        for number, answer in enumerate(answers, start=1)
    ]
    return {"id": "r1", "fields": {"text": "hm"}, "responses": responses}


def examine(folder: Path, *records: dict[str, Any], **options: Any) -> Reading:
    return examine_annotations(write_json(folder / "records.json", list(records)), **options)


def test_rankings_keep_their_ties(tmp_path: Path) -> None:
    path = write_json(tmp_path / "records.json", ARGILLA)
    with pytest.warns(DissensusWarning, match="'draft': 1, skipped.*'discarded': 1, skipped"):
        said = read_annotations(path)
    assert said.to_rankings() == [[[["Eczema", "Psoriasis"], ["Tinea"]]], []]
    assert said.case_names == ("rash-1", "1f")
    assert said.annotator_names == ("u-one",)


def test_other_questions_are_counted(tmp_path: Path) -> None:
    notes = [str(note) for note in examine(tmp_path, *ARGILLA).receipt.notes]
    assert "answers to the question 'sure': 1, not used (for example 'rash-1')" in notes


def test_labels_and_multiple_labels(tmp_path: Path) -> None:
    reading = examine(tmp_path, record("Acne", ["Tinea", "Acne"], [], None))
    assert reading.rankings.to_rankings() == [[[["Acne"]], [["Acne", "Tinea"]], [], []]]
    assert [(note.found, note.count) for note in reading.receipt.notes] == [("rankings without a condition", 2)]


def test_a_missing_rank_means_not_ranked(tmp_path: Path) -> None:
    answer = [{"value": "Acne", "rank": 1}, {"value": "Tinea", "rank": None}]
    assert examine(tmp_path, record(answer)).rankings.to_rankings() == [[[["Acne"]]]]


def test_lists_of_the_second_sdk_are_strict_orders(tmp_path: Path) -> None:
    responses = {"dx": [{"value": ["Tinea", "Acne"], "user_id": "u1"}, {"value": ["Acne"], "user_id": "u2"}]}
    second = {"id": "r1", "fields": {"text": "hm"}, "metadata": {}, "suggestions": {}, "responses": responses}
    reading = examine(tmp_path, second)
    assert reading.rankings.to_rankings() == [[[["Tinea"], ["Acne"]], [["Acne"]]]]
    assert reading.rankings.annotator_names == ("u1", "u2")
    assert [str(note) for note in reading.receipt.notes] == [
        "lists without ranks: 1, read as strict orders; this export has lost any ties (for example 'r1')"
    ]


def test_several_questions_need_a_choice(tmp_path: Path) -> None:
    both = record("Acne")
    both["responses"][0]["values"]["mood"] = {"value": "calm"}
    with pytest.raises(DissensusError, match="several questions") as caught:
        examine(tmp_path, both)
    assert caught.value.got == "'dx', 'mood'"
    assert "--column condition=dx" in caught.value.advice
    assert examine(tmp_path, both, columns={"condition": "mood"}).rankings.to_rankings() == [[[["calm"]]]]


def test_a_rating_question_names_no_conditions(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no question asks for conditions"):
        examine(tmp_path, record(4, 5))
    chosen = examine(tmp_path, record(0, 1), columns={"condition": "dx"}, conditions=["no", "yes"])
    assert chosen.rankings.to_rankings() == [[[["no"]], [["yes"]]]]


def test_an_unknown_question_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="did you mean 'diagnosis'"):
        examine(tmp_path, record("Acne", question="diagnosis"), columns={"condition": "diagnosys"})


@pytest.mark.parametrize("rank", [0, -1, "first", True, [1]])
def test_a_wrong_rank_says_where(rank: Any, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="a rank is not understood") as caught:
        examine(tmp_path, record([{"value": "Acne", "rank": rank}]))
    assert "case 'r1', response 1" in caught.value.where
