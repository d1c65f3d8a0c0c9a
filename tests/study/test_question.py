"""What annotators were asked is kept, checked, stored, read and said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dissensus import DissensusError, Study, diagnose, read
from dissensus.study.canonical import write


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


def test_what_was_asked_is_said_in_words(graded: Study) -> None:
    asked = Study.from_rankings([[[["Nevus"]]]], ["Nevus", "Melanoma"], question="binary")
    assert "graded from none to severe" in graded.methods()
    assert "asked whether Melanoma is present" in asked.methods()
    assert "asked whether Melanoma is present" in repr(asked)
    assert diagnose(graded).lines()["question"] == "annotators were graded from none to severe"
    assert graded.words(0) == "grade mild"
