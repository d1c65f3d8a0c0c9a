"""What annotators were asked is kept, checked, stored, read and said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dissensus import Annotations, DissensusError, diagnose, examine_annotations, read_annotations
from dissensus.study.canonical import write_annotations
from dissensus.study.study import restored_study

GRADES = "case,annotator,label\nc1,A,2\nc1,B,10\nc2,A,0\nc2,B,2\n"
FINDINGS = "case,annotator,label\nc1,A,Melanoma\nc1,B,Nevus\nc2,A,Nevus\n"


def written(folder: Path, text: str) -> Path:
    place = folder / "opinions.csv"
    place.write_text(text, encoding="utf-8")
    return place


@pytest.fixture
def graded() -> Annotations:
    return Annotations.from_rankings(
        [[[["mild"]], [["severe"]]], [[["none"]]]], ["none", "mild", "severe"], question="grades"
    )


def test_the_positive_condition_becomes_the_last_one_and_opinions_keep_their_meaning() -> None:
    said = Annotations.from_rankings([[[["Melanoma"], ["Nevus"]], [["Nevus"]]]])
    asked = said.asked("binary", positive="Melanoma")
    assert (asked.question, asked.conditions) == ("binary", ("Nevus", "Melanoma"))
    assert asked.to_rankings() == said.to_rankings()
    assert said.question == "conditions"


@pytest.mark.parametrize("conditions", [["a"], ["a", "b", "c"]])
def test_a_binary_question_of_other_than_two_conditions_is_refused(conditions: list[str]) -> None:
    said = Annotations.from_rankings([[[["a"]]]], conditions)
    with pytest.raises(DissensusError, match="two conditions"):
        said.asked("binary")


def test_an_unknown_positive_condition_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(DissensusError, match="Melanoma"):
        Annotations.from_rankings([[[["Melanoma"]], [["Nevus"]]]], question="binary", positive="Melanom")


def test_grades_have_no_positive_condition(graded: Annotations) -> None:
    with pytest.raises(DissensusError, match="only a binary question"):
        graded.asked("grades", positive="mild")


@pytest.mark.parametrize("wrong", ["grade", "", "ordinal"])
def test_an_unknown_question_is_refused(graded: Annotations, wrong: str) -> None:
    with pytest.raises(DissensusError, match="question"):
        graded.asked(wrong)  # type: ignore[arg-type]


def test_the_order_of_grades_is_never_guessed_from_words() -> None:
    with pytest.raises(DissensusError, match="order of grades is not known"):
        Annotations.from_rankings([[[["mild"]], [["severe"]]]], question="grades")


def test_which_condition_is_positive_is_never_guessed_from_words() -> None:
    with pytest.raises(DissensusError, match="which condition is positive"):
        Annotations.from_rankings([[[["Melanoma"]], [["Nevus"]]]], question="binary")


def test_selected_weighted_recoded_and_joined_studies_keep_the_question(graded: Annotations) -> None:
    kept = [
        graded.select(["1"]),
        graded.counted,
        graded.with_weights(np.full(graded.n_opinions, 2.0)),
        graded.with_unranked("unobserved"),
        graded.with_conditions(["none", "mild", "moderate", "severe"]),
        graded.each_alone(np.array([1]), ["alone"]),
        Annotations.concatenate([graded.select(["0"]), graded.select(["1"])]),
    ]
    assert [said.question for said in kept] == ["grades"] * len(kept)


def test_studies_that_asked_different_questions_are_not_concatenated(graded: Annotations) -> None:
    with pytest.raises(DissensusError, match="different questions"):
        Annotations.concatenate([graded.select(["0"]), graded.select(["1"]).asked("conditions")])


def test_a_stored_study_comes_back_with_its_question_and_an_old_one_without_asks_for_conditions(
    graded: Annotations,
) -> None:
    settings = graded.settings()
    how = {"conditions": graded.conditions, "arrays": graded.arrays()}
    assert restored_study("rankings", graded.panel, settings=settings, **how) == graded  # type: ignore[arg-type]
    old = {name: value for name, value in settings.items() if name != "question"}
    restored = restored_study("rankings", graded.panel, settings=old, **how)  # type: ignore[arg-type]
    assert isinstance(restored, Annotations)
    assert restored.question == "conditions"


def test_studies_with_different_questions_are_not_equal(graded: Annotations) -> None:
    assert graded != graded.asked("conditions")


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "json", "npz"])
@pytest.mark.parametrize("question", ["conditions", "grades"])
def test_every_written_form_keeps_the_question_and_the_order_of_grades(
    graded: Annotations, tmp_path: Path, ending: str, question: str
) -> None:
    said = graded.asked(question)  # type: ignore[arg-type]
    place = tmp_path / f"opinions.{ending}"
    write_annotations(said, place)
    back = read_annotations(place)
    assert back == said
    assert back.conditions == ("none", "mild", "severe")


def test_grades_that_are_numbers_go_by_their_size(tmp_path: Path) -> None:
    said = read_annotations(written(tmp_path, GRADES), question="grades")
    assert said.conditions == ("0", "2", "10")
    assert said.to_rankings()[0] == [[["2"]], [["10"]]]


def test_grades_go_by_the_list_of_conditions_where_there_is_one(tmp_path: Path) -> None:
    said = read_annotations(written(tmp_path, GRADES), question="grades", conditions=["10", "2", "1", "0"])
    assert said.conditions == ("10", "2", "1", "0")


def test_a_file_of_grades_in_words_needs_their_order(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="--conditions"):
        read_annotations(written(tmp_path, FINDINGS), question="grades")


def test_naming_the_positive_condition_of_a_file_asks_a_binary_question(tmp_path: Path) -> None:
    said = read_annotations(written(tmp_path, FINDINGS), positive="Melanoma")
    assert (said.question, said.conditions) == ("binary", ("Nevus", "Melanoma"))


def test_a_positive_condition_of_more_than_two_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="two conditions"):
        read_annotations(written(tmp_path, FINDINGS + "c3,A,Eczema\n"), positive="Melanoma")


def test_a_table_of_votes_by_grade_goes_by_the_numbers_of_its_columns(tmp_path: Path) -> None:
    said = read_annotations(written(tmp_path, "case,10,2,0\nx,1,2,0\ny,0,0,3\n"), "counts", question="grades")
    assert said.conditions == ("0", "2", "10")
    assert said.to_rankings()[1] == [[["0"]]] * 3


def test_ratings_do_not_answer_a_question_of_grades(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="--column condition=NAME"):
        examine_annotations(written(tmp_path, "case,annotator,score\nx,A,3.5\n"), question="grades")


def test_a_column_with_another_kind_of_question_is_refused(tmp_path: Path) -> None:
    text = "case,annotator,label,kind_of_question\nc1,A,1,ordinal\n"
    with pytest.raises(DissensusError, match="kind_of_question"):
        read_annotations(written(tmp_path, text))


def test_what_was_asked_is_said_in_words(graded: Annotations, tmp_path: Path) -> None:
    asked = Annotations.from_rankings([[[["Nevus"]]]], ["Nevus", "Melanoma"], question="binary")
    assert "graded from none to severe" in graded.methods()
    assert "asked whether Melanoma is present" in asked.methods()
    assert any("graded from none to severe" in fact.value for fact in graded.facts())
    assert "asked whether Melanoma is present" in repr(asked)
    assert diagnose(graded).lines()["annotators were"] == "graded from none to severe"
    assert graded.words(0) == "grade mild"
    receipt = examine_annotations(written(tmp_path, GRADES), question="grades").receipt
    assert "annotators were graded from 0 to 10: '0', '2', '10'" in receipt.assumed


def test_a_table_of_annotators_by_columns_holds_grades_if_it_is_said(tmp_path: Path) -> None:
    table = written(tmp_path, "case,A,B\nx,1,2\ny,0,3\n")
    said = read_annotations(table, "cleanlab", question="grades")
    assert said.conditions == ("0", "1", "2", "3")
    assert said.to_rankings()[0] == [[["1"]], [["2"]]]
    with pytest.raises(DissensusError, match="--format counts"):
        read_annotations(table, question="grades")


def test_confidences_of_the_positive_condition_share_a_vote_or_order_both_conditions(tmp_path: Path) -> None:
    table = written(tmp_path, "case,reader,confidence\nx,A,0.75\nx,B,1\ny,A,0.2\n")
    shared = read_annotations(table, positive="Melanoma", confidence="share")
    assert (shared.question, shared.conditions) == ("binary", ("not Melanoma", "Melanoma"))
    assert shared.to_rankings()[0] == [[["Melanoma"]], [["not Melanoma"]], [["Melanoma"]]]
    np.testing.assert_allclose(shared.weights, [0.75, 0.25, 1.0, 0.8, 0.2])
    ordered = read_annotations(table, positive="Melanoma", conditions=["Nevus", "Melanoma"])
    assert ordered.to_rankings()[1] == [[["Nevus"], ["Melanoma"]]]


def test_confidences_on_another_scale_are_refused_with_the_place(tmp_path: Path) -> None:
    table = written(tmp_path, "case,reader,confidence\nx,A,0.75\nx,B,4\n")
    with pytest.raises(DissensusError, match="data row 2") as refused:
        read_annotations(table, positive="Melanoma")
    assert "--question grades" in str(refused.value)


def test_a_five_point_scale_of_confidence_is_read_as_grades(tmp_path: Path) -> None:
    table = written(tmp_path, "case,reader,confidence\nx,A,5\nx,B,4\ny,A,1\n")
    said = read_annotations(table, question="grades", columns={"condition": "confidence"})
    assert said.conditions == ("1", "4", "5")
