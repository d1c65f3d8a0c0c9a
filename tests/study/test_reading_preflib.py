"""PrefLib's files of orders."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissensus.core.errors import DissensusWarning, FormatError
from dissensus.study.reading import examine, read
from format_examples import PREFLIB, write_text
from shared_data import SHARED, needs_shared


def test_counts_expand_to_anonymous_voters(tmp_path: Path) -> None:
    reading = examine(write_text(tmp_path / "soup.toi", PREFLIB))
    said = reading.rankings
    assert said.to_rankings() == [[[["Leek"], ["Pea", "Borscht: hot"]]] * 2 + [[["Borscht: hot"]], []]]
    assert said.conditions == ("Leek", "Pea", "Borscht: hot")
    assert said.case_names == ("soup",)
    assert said.annotator_names == ()
    assert [str(note) for note in reading.receipt.notes] == [
        "empty braces in orders: 1, read as nothing (for example 'soup.toi')",
        "rankings without a condition: 1, kept as abstentions (for example 'soup')",
    ]


def test_a_directory_has_one_case_per_file(tmp_path: Path) -> None:
    write_text(tmp_path / "noon.toi", PREFLIB)
    other = PREFLIB.replace("NAME 1: Leek", "NAME 1: Pea", 1).replace("NAME 2: Pea", "NAME 2: Leek", 1)
    write_text(tmp_path / "night.toi", other.replace("\n", "\r\n"))
    write_text(tmp_path / "README.txt", "about soup")
    with pytest.warns(DissensusWarning, match="files with another ending: 1, skipped"):
        said = read(tmp_path)
    assert said.case_names == ("night", "noon")
    assert said.conditions == ("Pea", "Leek", "Borscht: hot")
    assert said.to_rankings()[0][0] == [["Pea"], ["Leek", "Borscht: hot"]]
    assert said.to_rankings()[1][0] == [["Leek"], ["Pea", "Borscht: hot"]]


def test_files_of_a_directory_share_their_alternatives(tmp_path: Path) -> None:
    write_text(tmp_path / "a.toi", PREFLIB)
    write_text(tmp_path / "b.toi", PREFLIB.replace("Leek", "Onion"))
    with pytest.raises(FormatError, match="different alternatives") as caught:
        examine(tmp_path)
    assert caught.value.got == "'Leek', 'Onion' in some files only"
    assert caught.value.where.endswith("b.toi")


@pytest.mark.parametrize(
    ("old", "new", "problem", "place"),
    [
        ("TYPE: toi", "TYPE: soc", "the data type does not fit", "DATA TYPE"),
        ("TYPE: toi", "TYPE: wmd", "the data type does not fit", "DATA TYPE"),
        ("# DATA TYPE: toi\n", "", "no PrefLib header", "line 1"),
        ("VOTERS: 4", "VOTERS: 5", "NUMBER VOTERS does not fit", ""),
        ("VOTERS: 4", "VOTERS: many", "NUMBER VOTERS is not a number", "NUMBER VOTERS"),
        ("ORDERS: 3", "ORDERS: 2", "NUMBER UNIQUE ORDERS does not fit", ""),
        ("ALTERNATIVES: 3", "ALTERNATIVES: 4", "the names of the alternatives", ""),
        ("NAME 2: Pea", "NAME 2: Leek", "alternatives need different names", ""),
        ("{2, 3}", "{2, 2}", "alternative 2 stands twice", "line 10"),
        ("1: 3", "1: 4", "an alternative is not known", "line 11"),
        ("1: 3", "1: Leek", "an alternative is not known", "line 11"),
        ("1: 3", "1: 3,", "an alternative is not known", "line 11"),
        ("1: 3", "1; 3", "a line is not an order", "line 11"),
        ("{2, 3}", "{2, 3", "the braces of an order do not fit", "line 10"),
        ("{2, 3}", "2, 3}", "the braces of an order do not fit", "line 10"),
    ],
)
def test_a_deviation_says_where(old: str, new: str, problem: str, place: str, tmp_path: Path) -> None:
    assert old in PREFLIB
    path = write_text(tmp_path / "soup.toi", PREFLIB.replace(old, new))
    with pytest.raises(FormatError, match=problem) as caught:
        examine(path)
    assert place in caught.value.where
    assert "soup.toi" in caught.value.where


@pytest.mark.parametrize(
    ("kind", "problem"),
    [("soi", "an order has a tie, but"), ("toc", "an order is incomplete, but"), ("soc", "an order has a tie, but")],
)
def test_orders_keep_the_promise_of_their_type(kind: str, problem: str, tmp_path: Path) -> None:
    path = write_text(tmp_path / f"soup.{kind}", PREFLIB.replace("TYPE: toi", f"TYPE: {kind}"))
    with pytest.raises(FormatError, match=problem):
        examine(path)


def test_a_header_is_enough_to_recognise_it(tmp_path: Path) -> None:
    assert examine(write_text(tmp_path / "soup.txt", PREFLIB)).receipt.format == "preflib"


def test_billions_of_voters_are_counted(tmp_path: Path) -> None:
    text = PREFLIB.replace("VOTERS: 4", "VOTERS: 9000000002").replace("2: 1", "9000000000: 1")
    said = examine(write_text(tmp_path / "soup.toi", text)).rankings
    assert said.votes.tolist() == [9_000_000_000, 1, 1]
    assert said.n_votes == 9_000_000_002


@needs_shared
@pytest.mark.parametrize(
    ("name", "n_voters", "n_alternatives", "n_ties"),
    [("00016-00000002.toi", 2527, 5, 7), ("00034-00000001.soi", 392, 36, 0)],
)
def test_published_elections(name: str, n_voters: int, n_alternatives: int, n_ties: int) -> None:
    said = read(SHARED / "preflib" / name)
    assert (said.n_cases, said.n_votes, said.n_conditions) == (1, n_voters, n_alternatives)
    assert said.votes[said.has_tie].sum() == n_ties
