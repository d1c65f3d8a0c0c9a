"""DermXDB: diagnoses that are tied, remarks that are none, and two rounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissensus.core.errors import DissensusError
from paper.data import load_dermxdb
from shared_data import SHARED, needs_shared

TABLE = """image,labeller,round,diagnoses,characteristics
a,1,1,Psoriasis|Acne,Plaque
a,2,1,Acne|Low-quality,
a,3,1,Low-quality,
a,1,2,Vitiligo,
b,1,1,,Papule
b,2,1,Acne,
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "dermxdb_diagnoses.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def test_diagnoses_are_tied_and_remarks_are_left_out(table: Path) -> None:
    data = load_dermxdb(table)
    assert data.annotations.to_rankings() == [[[["Acne", "Psoriasis"]], [["Acne"]], []], [[], [["Acne"]]]]
    assert data.annotations.annotator_names == ("1", "2", "3")
    note = data.notes[0]
    assert (note.count, note.lost) == (2, True)


def test_the_second_round_is_another_study(table: Path) -> None:
    assert load_dermxdb(table.parent, rating_round=2).annotations.to_rankings() == [[[["Vitiligo"]]]]
    with pytest.raises(DissensusError, match="no round 3"):
        load_dermxdb(table, rating_round=3)


def test_another_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("image,labeller\na,1\n", encoding="utf-8")
    with pytest.raises(DissensusError, match="not the table of DermXDB") as caught:
        load_dermxdb(path)
    assert "'diagnoses'" in caught.value.got
    assert "ralucaj/dermx" in caught.value.advice


def test_an_empty_directory_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match=r"dermxdb_diagnoses\.csv"):
        load_dermxdb(tmp_path)


@needs_shared
def test_the_release_has_eight_dermatologists_on_every_image() -> None:
    said = load_dermxdb(SHARED / "dermxdb").annotations
    assert said.n_cases == 630
    assert set(said.rankings_per_case.tolist()) == {8}
    assert load_dermxdb(SHARED / "dermxdb", rating_round=2).annotations.n_cases == 61
