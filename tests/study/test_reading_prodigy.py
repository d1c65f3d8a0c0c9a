"""Prodigy's JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dissensus.core.errors import DissensusWarning, FormatError
from dissensus.study.reading import Reading, examine_annotations, read_annotations
from format_examples import PRODIGY, write_lines


def task(**changes: Any) -> dict[str, Any]:
    options = [{"id": 0, "text": "Flat"}, {"id": 1, "text": "Sharp"}]
    return {
        "_task_hash": 71,
        "_annotator_id": "anna",
        "answer": "accept",
        "options": options,
        "accept": [1],
        **changes,
    }


def examine(folder: Path, *records: dict[str, Any]) -> Reading:
    return examine_annotations(write_lines(folder / "tasks.jsonl", list(records)), "prodigy")


def test_accepted_options_are_tied(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "tasks.jsonl", PRODIGY)
    with pytest.warns(DissensusWarning, match="answers 'reject': 1, skipped.*answers 'ignore': 1, skipped"):
        said = read_annotations(path)
    assert said.to_rankings() == [[[["flat", "sharp"]], []], []]
    assert said.conditions == ("flat", "sharp", "fine")
    assert said.case_names == ("71", "72")
    assert said.annotator_names == ("db-anna", "db-bert")
    assert said.unannotated == ("72",)


def test_an_option_with_a_number_goes_by_its_text(tmp_path: Path) -> None:
    said = examine(tmp_path, task()).rankings
    assert (said.conditions, said.to_rankings()) == (("Flat", "Sharp"), [[[["Sharp"]]]])


def test_options_of_all_lines_are_the_conditions(tmp_path: Path) -> None:
    said = examine(tmp_path, task(), task(options=[{"id": "Fine"}], accept=["Fine"])).rankings
    assert said.conditions == ("Flat", "Sharp", "Fine")


def test_the_input_hash_and_the_session_stand_in(tmp_path: Path) -> None:
    record = task(_input_hash=7, _session_id="night", _task_hash=None, _annotator_id=None)
    said = examine(tmp_path, record).rankings
    assert (said.case_names, said.annotator_names) == (("7",), ("night",))


def test_a_second_answer_by_one_annotator_is_kept_and_counted(tmp_path: Path) -> None:
    reading = examine(tmp_path, task(), task(accept=[0]))
    assert reading.rankings.to_rankings() == [[[["Sharp"]], [["Flat"]]]]
    notes = [(note.found, note.count) for note in reading.receipt.notes]
    assert notes == [("further rankings of a case by one annotator", 1)]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"_task_hash": None}, "the hash of a task is not understood"),
        ({"answer": None}, "the answer is not understood"),
        ({"accept": [2]}, "an accepted option '2' is not among the options"),
        ({"accept": "Flat"}, "the accepted options is not understood"),
        ({"options": [{"text": "Flat"}]}, "a condition is not understood"),
    ],
)
def test_a_wrong_record_says_where(changes: dict[str, Any], problem: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        examine(tmp_path, task(), task(**changes))
    assert "tasks.jsonl, record 2" in caught.value.where


def test_other_recipes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="neither options nor accepted options"):
        examine(tmp_path, {"_task_hash": 1, "answer": "accept", "text": "hm", "spans": []})
