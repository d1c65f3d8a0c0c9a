"""What annotators were asked is kept, checked, stored, read and said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dissensus import DissensusError, Study, diagnose, examine, read
from dissensus.study.canonical import write

GRADES = "case,annotator,label\nc1,A,2\nc1,B,10\nc2,A,0\nc2,B,2\n"
SCALE = {"condition": "confidence"}
FINDINGS = "case,annotator,label\nc1,A,Melanoma\nc1,B,Nevus\nc2,A,Nevus\n"


@pytest.fixture
def graded() -> Study:
    return Study.from_rankings(
        [[[["mild"]], [["severe"]]], [[["none"]]]], ["none", "mild", "severe"], question="grades"
    )


def test_the_positive_condition_becomes_the_last_one_and_opinions_keep_their_meaning() -> None:
    said = Study.from_rankings([[[["Melanoma"], ["Nevus"]], [["Nevus"]]]])
    asked = said.asked("binary", positive="Melanoma")
    assert (asked.question, asked.conditions) == ("binary", ("Nevus", "Melanoma"))
    assert asked.to_rankings() == said.to_rankings()
    assert said.question == "conditions"


MELANOMA = [[[["Melanoma"]], [["Nevus"]]]]


@pytest.mark.parametrize(
    ("rankings", "asked", "problem"),
    [
        ([[[["a"]]]], {"conditions": ["a"], "question": "binary"}, "two conditions"),
        ([[[["a"]]]], {"conditions": ["a", "b", "c"], "question": "binary"}, "two conditions"),
        (MELANOMA, {"question": "binary", "positive": "Melanom"}, "did you mean 'Melanoma'"),
        (MELANOMA, {"question": "grades", "positive": "Nevus"}, "only a binary question"),
        (MELANOMA, {"question": "grade"}, "question is not understood"),
        (MELANOMA, {"question": "numbers"}, "question is not understood"),
        (MELANOMA, {"question": "grades"}, "order of grades is not known"),
        (MELANOMA, {"question": "binary"}, "which condition is positive"),
    ],
)
def test_a_question_that_conditions_do_not_answer_is_refused_and_nothing_is_guessed(
    rankings: Any, asked: Any, problem: str
) -> None:
    with pytest.raises(DissensusError, match=problem):
        Study.from_rankings(rankings, **asked)
    listed = {"conditions": ["Nevus", "Melanoma"], **asked}
    if listed["question"] in ("grade", "numbers"):
        with pytest.raises(DissensusError, match=problem):
            Study.from_rankings(rankings, listed["conditions"]).asked(listed["question"])


def test_selected_weighted_recoded_and_joined_studies_keep_the_question_and_others_do_not_fit(graded: Study) -> None:
    kept = [
        graded.select(["1"]),
        graded.counted,
        graded.with_weights(np.full(graded.n_opinions, 2.0)),
        graded.with_unranked("unobserved"),
        graded.with_conditions(["none", "mild", "moderate", "severe"]),
        graded.each_alone(np.array([1]), ["alone"]),
        Study.concatenate([graded.select(["0"]), graded.select(["1"])]),
    ]
    assert [said.question for said in kept] == ["grades"] * len(kept)
    assert graded != graded.asked("conditions")
    with pytest.raises(DissensusError, match="different questions"):
        Study.concatenate([graded.select(["0"]), graded.select(["1"]).asked("conditions")])


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "json", "npz"])
def test_every_written_form_keeps_the_question_and_the_order_of_grades(
    graded: Study, tmp_path: Path, ending: str
) -> None:
    for said in (graded, graded.asked("conditions")):
        place = tmp_path / f"{said.question}.{ending}"
        write(said, place)
        assert read(place) == said


def test_grades_go_by_their_size_or_by_the_list_of_conditions_also_in_tables_of_votes_and_of_annotators(
    put: Any,
) -> None:
    path = put(GRADES)
    said = read(path, question="grades")
    assert (said.conditions, said.to_rankings()[0]) == (("0", "2", "10"), [[["2"]], [["10"]]])
    listed = ("10", "2", "1", "0")
    assert read(path, question="grades", conditions=listed).conditions == listed
    votes = read(put("case,10,2,0\nx,1,2,0\ny,0,0,3\n"), "counts", question="grades")
    assert (votes.conditions, votes.to_rankings()[1]) == (("0", "2", "10"), [[["0"]]] * 3)
    said = read(put("case,reader,confidence\nx,A,5\nx,B,4\ny,A,1\n"), question="grades", columns=SCALE)
    assert said.conditions == ("1", "4", "5")
    table = put("case,A,B\nx,1,2\ny,0,3\n")
    said = read(table, "cleanlab", question="grades")
    assert (said.conditions, said.to_rankings()[0]) == (("0", "1", "2", "3"), [[["1"]], [["2"]]])
    with pytest.raises(DissensusError, match="--format counts"):
        read(table, question="grades")


@pytest.mark.parametrize(
    ("text", "asked", "problem"),
    [
        (FINDINGS, {"question": "grades"}, "--conditions"),
        (FINDINGS + "c3,A,Eczema\n", {"positive": "Melanoma"}, "two conditions"),
        ("case,annotator,score\nx,A,3.5\n", {"question": "grades"}, "--column condition=NAME"),
        ("case,annotator,label,kind_of_question\nc1,A,1,ordinal\n", {}, "kind_of_question"),
        ("case,reader,confidence\nx,A,0.75\nx,B,4\n", {"positive": "Melanoma"}, "data row 2[^$]*--question grades"),
    ],
)
def test_files_that_do_not_answer_the_question_are_refused(text: str, asked: Any, problem: str, put: Any) -> None:
    with pytest.raises(DissensusError, match=problem):
        examine(put(text), **asked)


def test_what_was_asked_is_said_in_words(graded: Study, put: Any) -> None:
    asked = Study.from_rankings([[[["Nevus"]]]], ["Nevus", "Melanoma"], question="binary")
    assert "graded from none to severe" in graded.methods()
    assert "asked whether Melanoma is present" in asked.methods()
    assert "asked whether Melanoma is present" in repr(asked)
    assert diagnose(graded).lines()["question"] == "annotators were graded from none to severe"
    assert graded.words(0) == "grade mild"
    assumed = examine(put(GRADES), question="grades").receipt.assumed
    assert "annotators were graded from 0 to 10: '0', '2', '10'" in assumed


def test_naming_the_positive_condition_asks_a_binary_question_and_its_confidences_share_or_order(put: Any) -> None:
    said = read(put(FINDINGS), positive="Melanoma")
    assert (said.question, said.conditions) == ("binary", ("Nevus", "Melanoma"))
    table = put("case,reader,confidence\nx,A,0.75\nx,B,1\ny,A,0.2\n")
    shared = read(table, positive="Melanoma", confidence="share")
    assert (shared.question, shared.conditions) == ("binary", ("not Melanoma", "Melanoma"))
    assert shared.to_rankings()[0] == [[["Melanoma"]], [["not Melanoma"]], [["Melanoma"]]]
    np.testing.assert_allclose(shared.weights, [0.75, 0.25, 1.0, 0.8, 0.2])
    ordered = read(table, positive="Melanoma", conditions=["Nevus", "Melanoma"])
    assert ordered.to_rankings()[1] == [[["Nevus"], ["Melanoma"]]]
