"""doccano's directory of files, one per annotator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dissensus.core.errors import DissensusError, DissensusWarning, FormatError
from dissensus.study.reading import examine_annotations, read_annotations
from format_examples import DOCCANO, write_directory, write_text


def test_the_file_is_the_annotator(tmp_path: Path) -> None:
    reading = examine_annotations(write_directory(tmp_path / "weather", DOCCANO))
    said = reading.rankings
    assert said.to_rankings() == [[[["ice", "rain"]], [["ice"]]], [[], [["mist"]]]]
    assert said.case_names == ("5", "6")
    assert said.annotator_names == ("ines", "jon")
    assert [str(note) for note in reading.receipt.notes] == [
        "rankings without a condition: 1, kept as abstentions (for example '6')"
    ]


@pytest.mark.parametrize(
    ("record", "annotator"),
    [
        ({"id": 1, "labels": ["ice"]}, "ines"),
        ({"doc_id": 1, "labels": ["ice"], "username": "kai"}, "kai"),
        ({"id": 1, "annotations": [{"label": "ice", "user": 4}]}, "4"),
        ({"filename": "1", "label": ["ice"]}, "ines"),
    ],
)
def test_older_exports_and_images(record: dict[str, Any], annotator: str, tmp_path: Path) -> None:
    said = examine_annotations(write_directory(tmp_path / "weather", {"ines": [record]})).rankings
    assert (said.case_names, said.annotator_names, said.to_rankings()) == (
        ("1",),
        (annotator,),
        [[[["ice"]]]],
    )


def test_documents_of_nobody_are_unannotated(tmp_path: Path) -> None:
    files = {"ines": [{"id": 1, "label": ["ice"]}], "unknown": [{"id": 2, "label": []}]}
    said = examine_annotations(write_directory(tmp_path / "weather", files)).rankings
    assert (said.unannotated, said.n_rankings, said.annotator_names) == (("2",), 1, ("ines",))


def test_other_and_empty_files_are_counted(tmp_path: Path) -> None:
    folder = write_directory(tmp_path / "weather", DOCCANO)
    write_text(folder / "lea.jsonl", "")
    write_text(folder / "notes.txt", "hm")
    write_text(folder / ".hidden", "hm")
    with pytest.warns(DissensusWarning, match=r"files with another ending: 1, skipped \(for example 'notes.txt'\)"):
        assert read_annotations(folder).annotator_names == ("ines", "jon")
    notes = [str(note) for note in examine_annotations(folder).receipt.notes]
    assert "empty files: 1, taken as annotators without an opinion (for example 'lea.jsonl')" in notes


def test_a_shared_file_is_noted(tmp_path: Path) -> None:
    reading = examine_annotations(write_directory(tmp_path / "weather", {"all": [{"id": 1, "label": ["ice"]}]}))
    assert [note.found for note in reading.receipt.notes] == ["file 'all.jsonl'"]


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ([{"id": 1, "label": ["ice"]}, {"id": 1, "label": []}], "case '1' stands in one file twice"),
        ([{"id": 0, "label": ["ice"]}, {"id": 1, "label": [[0, 2, "ice"]]}], "a label is not understood"),
        (
            [{"id": 0, "label": ["ice"]}, {"id": 1, "annotations": [{"label": 7, "user": 1}]}],
            "a number in doccano",
        ),
        ([{"id": 0, "label": ["ice"]}, {"id": 1, "text": "hail"}], "a document has no labels"),
        ([{"id": 0, "label": ["ice"]}, {"text": "hail", "label": []}], "the id of a document"),
    ],
)
def test_a_wrong_record_says_where(records: list[Any], problem: str, tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match=problem) as caught:
        examine_annotations(write_directory(tmp_path / "weather", {"ines": records}))
    assert caught.value.where.endswith("ines.jsonl, record 2")


def test_a_file_that_is_not_json_lines_is_named(tmp_path: Path) -> None:
    folder = write_directory(tmp_path / "weather", DOCCANO)
    write_text(folder / "kim.jsonl", "hello")
    with pytest.raises(FormatError, match="does not hold JSON lines") as caught:
        examine_annotations(folder)
    assert caught.value.where.endswith("kim.jsonl")
