"""A condition that a ranking mentions again is refused and counted, or left out and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dissensus import Annotations, DissensusError, DissensusWarning, examine_annotations, read_annotations
from format_examples import write_json, write_lines, write_text

LONG = """\
case,annotator,label,rank
c1,A,x,2
c1,A,y,1
c1,A,x,1
c1,A,x,3
c1,B,y,1
c2,A,z,2
c2,A,x,1
c2,A,z,1
c3,B,y,1
c3,B,y,2
c4,A,y,2
c4,A,y,1
"""


def test_the_error_counts_all_repeated_mentions_and_names_the_first_three_places(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="'x' is mentioned twice") as caught:
        read_annotations(write_text(tmp_path / "a.csv", LONG))
    assert caught.value.got == "5 repeated mentions in 4 rankings"
    assert "case 'c1', annotator 'A', condition 'x'; case 'c2', annotator 'A', condition 'z'" in caught.value.where
    assert "case 'c3', annotator 'B', condition 'y'; and 1 more" in caught.value.where
    assert "c4" not in caught.value.where
    assert "--duplicates first" in caught.value.advice


def test_the_first_row_counts_or_the_best_rank_and_what_is_left_out_is_noted(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", LONG)
    kept = {
        "first": [[[["y"], ["x"]], [["y"]]], [[["x"], ["z"]]], [[["y"]]], [[["y"]]]],
        "best": [[[["x", "y"]], [["y"]]], [[["x", "z"]]], [[["y"]]], [[["y"]]]],
    }
    words = {"first": "the first mention counts", "best": "the mention with the best rank counts"}
    for duplicates, rankings in kept.items():
        reading = examine_annotations(path, duplicates=duplicates)  # type: ignore[arg-type]
        assert reading.rankings.to_rankings() == rankings
        (note,) = reading.receipt.lost
        assert (note.count, note.lost, len(note.examples)) == (5, True, 3)
        assert words[duplicates] in str(note)
    with pytest.warns(DissensusWarning, match="repeated mentions of a condition: 5, left out"):
        read_annotations(path, duplicates="first")


def test_the_best_confidence_is_the_highest(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", "case,annotator,label,confidence\nc1,A,x,1\nc1,A,y,2\nc1,A,x,3\n")
    assert examine_annotations(path, duplicates="best").rankings.to_rankings() == [[[["x"], ["y"]]]]
    assert examine_annotations(path, duplicates="first").rankings.to_rankings() == [[[["y"], ["x"]]]]


def test_nothing_is_noted_where_nothing_repeats(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", "case,annotator,label,rank\nc1,A,x,1\nc1,B,x,1\n")
    assert not examine_annotations(path, duplicates="first").receipt.notes


SHAPES: dict[str, tuple[str, Any]] = {
    "wide.csv": ("text", "case,A,B\nc1,x>y>x,y\n"),
    "nested.json": ("json", [[[["x"], ["y"], ["x"]], [["y"]]]]),
    "huggingface.jsonl": ("lines", [{"id": "c1", "labels": [["x", "y", "x"], "y"], "annotator_ids": ["A", "B"]}]),
    "records.jsonl": ("lines", [{"case": "c1", "annotator": "A", "label": name, "rank": 1} for name in "xyx"]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_of_file_is_served(name: str, tmp_path: Path) -> None:
    kind, content = SHAPES[name]
    write: Any = {"text": write_text, "json": write_json, "lines": write_lines}[kind]
    path = write(tmp_path / name, content)
    with pytest.raises(DissensusError, match="'x' is mentioned twice") as caught:
        examine_annotations(path)
    assert caught.value.got == "1 repeated mention in 1 ranking"
    for duplicates in ("first", "best"):
        reading = examine_annotations(path, duplicates=duplicates)
        assert sorted(name for block in reading.rankings.to_rankings()[0][0] for name in block) == ["x", "y"]
        assert [note.count for note in reading.receipt.notes if note.lost] == [1]


def test_scattered_rows_and_long_rankings_of_a_table_in_python_are_found() -> None:
    names = [f"n{number:02}" for number in range(30)]
    frame = pl.DataFrame({"case": ["c"] * 31, "annotator": ["A"] * 31, "label": [*names, "n00"], "rank": range(1, 32)})
    with pytest.raises(DissensusError, match="'n00' is mentioned twice"):
        Annotations.from_long(frame)
    said = Annotations.from_long(frame.reverse(), duplicates="best")
    assert said.to_rankings() == [[[[name] for name in names]]]
    with pytest.raises(DissensusError, match="duplicates is not understood"):
        Annotations.from_long(frame, duplicates=json.loads('"last"'))
