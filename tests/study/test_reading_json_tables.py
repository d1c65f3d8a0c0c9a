"""Long tables written as JSON records, and a published table with several diagnoses per cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dissensus.core.errors import DissensusError
from dissensus.study.reading import examine_annotations, read_annotations
from format_examples import LONG_RECORDS, write_json, write_lines
from shared_data import SHARED, needs_shared


def test_json_lines_are_rows(tmp_path: Path) -> None:
    said = read_annotations(write_lines(tmp_path / "long.jsonl", LONG_RECORDS))
    assert said.to_rankings() == [[[["oak"], ["elm"]]], [[["ash"]]]]
    assert said == read_annotations(write_json(tmp_path / "long.json", LONG_RECORDS))


def test_nested_columns_without_a_role_do_no_harm(tmp_path: Path) -> None:
    records = [{"case": "c1", "condition": "oak", "meta": {"x": [1]}}, {"case": "c2", "condition": "elm"}]
    reading = examine_annotations(write_lines(tmp_path / "long.jsonl", records))
    assert (reading.receipt.format, reading.rankings.n_cases) == ("long", 2)
    assert reading.receipt.unused == ("meta",)


def test_crowd_kit_records(tmp_path: Path) -> None:
    records = [{"task": "t1", "worker": "w1", "label": "oak"}, {"task": "t1", "worker": "w2", "label": "elm"}]
    reading = examine_annotations(write_lines(tmp_path / "crowd.jsonl", records))
    assert reading.receipt.format == "crowd-kit"
    assert reading.rankings.to_rankings() == [[[["oak"]], [["elm"]]]]


@pytest.mark.parametrize("value", [["oak"], {"name": "oak"}])
def test_a_list_as_condition_is_not_a_table(value: Any, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "long.jsonl", [{"case": "c1", "condition": value}])
    with pytest.raises(DissensusError, match="this is not a table"):
        read_annotations(path, "long")


def test_half_a_character_is_an_error(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "long.jsonl", [{"case": "c1", "condition": "\ud800"}])
    with pytest.raises(DissensusError, match="half a character"):
        read_annotations(path)


@needs_shared
def test_published_diagnoses_joined_by_bars() -> None:
    said = read_annotations(SHARED / "dermxdb" / "dermxdb_diagnoses.csv", tie_separator="|")
    assert (said.n_cases, said.n_rankings, len(said.annotator_names)) == (630, 5528, 8)
    assert (said.mentions_per_ranking == 0).sum() == 59
