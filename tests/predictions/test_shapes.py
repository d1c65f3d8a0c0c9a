"""Hard labels, one probability for two conditions, and models that score only some of the conditions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dissensus import DissensusError, DissensusWarning, Predictions, Study, evaluate, read_predictions
from dissensus.metrics import TopKAccuracy
from dissensus.predictions.reader import examine_predictions

TWO = ["Nevus", "Melanoma"]
THREE = ["Eczema", "Psoriasis", "Tinea"]


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Predictions]:
    def reading(text: str, *, name: str = "A.csv", **options: Any) -> Predictions:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return read_predictions(path, **options)

    return reading


# Labels -------------------------------------------------------------------------------------------------


def test_one_label_per_case_is_a_ranking_of_one(read: Callable[..., Predictions]) -> None:
    said = read("case,label\nc1,Tinea\nc2,Eczema\n", conditions=THREE)
    assert (said.kind, said.to_lists()) == ("ranking", [[["Tinea"]], [["Eczema"]]])


def test_one_label_per_case_is_certain_if_scores_are_asked_for(read: Callable[..., Predictions]) -> None:
    said = read("case,label\nc1,Tinea\nc2,Eczema\n", conditions=THREE, kind="scores")
    assert said.to_scores().tolist() == [[0, 0, 1], [1, 0, 0]]


def test_labels_as_codes_and_in_json_lines(read: Callable[..., Predictions]) -> None:
    assert read("case,label\nc1,2\n", conditions=THREE).to_lists() == [[["Tinea"]]]
    lines = '{"case": "c1", "label": "Tinea"}\n{"case": "c2", "label": "Eczema"}\n'
    assert read(lines, name="A.jsonl", conditions=THREE).to_lists() == [[["Tinea"]], [["Eczema"]]]


def test_several_labels_of_a_case_need_a_word(read: Callable[..., Predictions]) -> None:
    text = "case,label\nc1,Tinea\nc1,Eczema\nc2,Eczema\n"
    with pytest.raises(DissensusError, match="a case has several labels, and no score or rank") as caught:
        read(text, conditions=THREE)
    assert "2 such rows" in caught.value.got
    assert "kind='set' or kind='ranking' (--kind set)" in caught.value.advice
    with pytest.raises(DissensusError, match="several labels"):
        read(text, conditions=THREE, kind="scores")
    assert read(text, conditions=THREE, kind="ranking").to_lists() == [[["Tinea"], ["Eczema"]], [["Eczema"]]]
    assert read(text, conditions=THREE, kind="set").to_lists() == [[["Eczema", "Tinea"]], [["Eczema"]]]


def test_the_order_of_rows_counts_even_if_cases_are_scattered(read: Callable[..., Predictions]) -> None:
    text = "case,label\nc1,Tinea\nc2,Eczema\nc1,Eczema\nc2,Psoriasis\n"
    said = read(text, conditions=THREE, kind="ranking")
    assert said.to_lists() == [[["Tinea"], ["Eczema"]], [["Eczema"], ["Psoriasis"]]]


def test_a_column_of_numbers_beside_labels_may_be_the_score(read: Callable[..., Predictions]) -> None:
    with pytest.raises(DissensusError, match="no score column and no rank column"):
        read("case,label,sureness\nc1,Tinea,0.5\n", conditions=THREE)


# One probability ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["prob", "probability", "score", "p", "Prob"])
def test_one_probability_is_that_of_the_positive_condition(column: str, read: Callable[..., Predictions]) -> None:
    text = f"case,{column}\nc1,0.75\nc2,0\n"
    said = read(text, conditions=TWO, cases=["c2", "c1"], positive="Melanoma")
    assert said.to_scores().tolist() == [[1, 0], [0.25, 0.75]]
    assert read(text, conditions=TWO, positive="Nevus").to_scores().tolist() == [[0.75, 0.25], [0, 1]]


def test_a_column_called_like_a_condition_is_clear(read: Callable[..., Predictions]) -> None:
    assert read("case,Melanoma\nc1,0.75\n", conditions=TWO).to_scores().tolist() == [[0.25, 0.75]]
    with pytest.raises(DissensusError, match="'Melanoma' is said to hold the probability of 'Nevus'"):
        read("case,Melanoma\nc1,0.75\n", conditions=TWO, positive="Nevus")


def test_without_a_word_both_meanings_are_named(read: Callable[..., Predictions]) -> None:
    with pytest.raises(DissensusError, match="'prob' does not say whose probability it is") as caught:
        read("case,prob\nc1,0.75\n", conditions=TWO)
    assert "--positive 'Nevus' (0.9 means 0.9 for 'Nevus', 0.1 for 'Melanoma')" in caught.value.expected
    assert "--positive 'Melanoma'" in caught.value.expected


@pytest.mark.parametrize(
    ("text", "problem", "options"),
    [
        ("case,prob\nc1,1.5\n", "is not a probability", {"conditions": TWO, "positive": "Nevus"}),
        ("case,prob\nc1,-2\n", "is not a probability", {"conditions": TWO, "positive": "Nevus"}),
        ("case,prob\nc1,\nc2,1\n", "is not a probability", {"conditions": TWO, "positive": "Nevus"}),
        ("case,prob\nc1,high\n", "is not a probability", {"conditions": TWO, "positive": "Nevus"}),
        ("case,prob\nc1,0.5\n", "there is no condition 'Nevos'", {"conditions": TWO, "positive": "Nevos"}),
        ("case,prob\nc1,0.5\n", "enough for two conditions only", {"conditions": THREE, "positive": "Tinea"}),
        ("case,prob\nc1,0.5\n", "enough for two conditions only", {}),
    ],
)
def test_what_is_wrong_with_one_probability(
    text: str, problem: str, options: dict[str, Any], read: Callable[..., Predictions]
) -> None:
    with pytest.raises(DissensusError, match=problem) as caught:
        read(text, **options)
    assert "A.csv" in caught.value.where


# Some of the conditions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wide.csv", "case,Tinea,Eczema\nc1,0.3,0.1\nc2,0.2,0.6\n"),
        ("long.csv", "case,label,score\nc1,Tinea,0.3\nc1,Eczema,0.1\nc2,Tinea,0.2\nc2,Eczema,0.6\n"),
        (
            "lines.jsonl",
            '{"case": "c1", "scores": {"Tinea": 0.3, "Eczema": 0.1}}\n'
            '{"case": "c2", "scores": {"Tinea": 0.2, "Eczema": 0.6}}\n',
        ),
    ],
)
def test_conditions_without_a_score_are_last_and_noted(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    reading = examine_predictions(tmp_path / name, conditions=THREE, cases=["c1", "c2"])
    assert reading.predictions.to_lists() == [[["Tinea"], ["Eczema"]], [["Eczema"], ["Tinea"]]]
    assert not reading.predictions.complete
    (note,) = (note for note in reading.predictions.notes() if note.found == "conditions without a score")
    assert (note.count, note.examples, note.lost) == (1, ("Psoriasis",), False)
    assert str(note).startswith("conditions without a score: 1, of 3, taken as not predicted")


def test_cases_that_score_fewer_conditions_are_noted(read: Callable[..., Predictions]) -> None:
    said = read("case,label,score\nc1,Tinea,0.3\nc1,Eczema,0.1\nc2,Tinea,1\n", conditions=THREE)
    assert [(note.found, note.count, note.examples) for note in said.notes() if "have no score" in note.found] == [
        ("cases on which some of the other conditions have no score", 1, ("c2",))
    ]


def test_an_evaluation_warns_of_conditions_without_a_score_and_ranks_them_last() -> None:
    said = Study.from_rankings([[[["b"]]], [[["c"]]]], ["a", "b", "c"], case_names=["x", "y"])
    model = Predictions.from_scores([[0.2, 0.8], [0.5, 0.5]], ["a", "b"], case_names=["x", "y"], name="A")
    with pytest.warns(DissensusWarning, match=r"model 'A': conditions without a score: 1, of 3"):
        result = evaluate(
            said, {"A": model}, aggregations=["majority-vote"], metrics=[TopKAccuracy(1), TopKAccuracy(2)], threads=1
        )
    means = result.to_frame()["mean"].to_list()  # against the majority, and against single annotators
    np.testing.assert_allclose(means, [0.5, 0.5, 0.5, 0.5])
