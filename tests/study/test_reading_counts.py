"""Matrices of votes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dissensus.core.errors import DissensusError, FormatError
from dissensus.core.files import open_source
from dissensus.study.reading import examine, read
from dissensus.study.reading.format import Options
from dissensus.study.reading.wide import Counts
from dissensus.study.study import Study
from format_examples import COUNTS, write_array, write_text
from shared_data import SHARED, needs_shared


def test_every_number_above_zero_is_a_ranking_with_votes(tmp_path: Path) -> None:
    path = write_array(tmp_path / "votes.npy", COUNTS)
    reading = examine(path, conditions=["cat", "dog", "frog"])
    assert reading.rankings.to_rankings() == [[[["cat"]], [["cat"]], [["frog"]]], []]
    assert reading.rankings.unannotated == ("1",)
    assert [str(note) for note in reading.receipt.notes] == ["votes of annotators without a name: 3, counted"]
    assert reading.rankings == Study.from_counts(COUNTS, ["cat", "dog", "frog"])


def test_whole_numbers_stored_as_floats_need_the_format(tmp_path: Path) -> None:
    path = write_array(tmp_path / "votes.npy", COUNTS.astype(float))
    with pytest.raises(FormatError, match="no known format fits"):
        read(path)
    assert read(path, "counts").n_votes == 3


@pytest.mark.parametrize(
    ("votes", "problem"),
    [
        *((np.array([[1, many]]), "too many votes") for many in (np.inf, 2**53 + 3, 2**63 - 1)),
        (np.array([[2**64 - 1]], dtype=np.uint64), "too many votes"),
        *((np.zeros((2, 2), dtype=kind), "must be numbers") for kind in ([("a", np.int64)], "M8[s]", np.complex128)),
        *((np.zeros(shape, dtype=np.int64), "counts must be a matrix") for shape in ((), (1, 1, 1))),
        (np.zeros((0, 2), dtype=np.int64), "the table has no rows"),
        (np.array([[1, 1, 1]]), "the number of conditions does not fit"),
    ],
)
def test_what_is_not_a_matrix_of_votes_is_an_error(votes: np.ndarray, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match=problem):
        read(write_array(tmp_path / "votes.npy", votes), "counts", conditions=["cat", "dog"])


# Names beside the matrix --------------------------------------------------------------------------------


def test_names_beside_a_matrix_are_used(tmp_path: Path) -> None:
    path = write_array(tmp_path / "votes.npy", COUNTS)
    (tmp_path / "votes.conditions.txt").write_text("cat\ndog\nfrog\n", encoding="utf-8")
    (tmp_path / "votes.cases.txt").write_text("x\ny\n", encoding="utf-8")
    assert read(path) == Study.from_counts(COUNTS, ["cat", "dog", "frog"], case_names=["x", "y"])
    assert read(path, conditions=["a", "b", "c"]).conditions == ("a", "b", "c")
    told = Counts().parse(open_source(path), Options()).assumed
    assert told == (
        "rows are cases, named by 'votes.cases.txt'",
        "columns are conditions, named by 'votes.conditions.txt', and cells are votes",
    )
    bare = examine(write_array(tmp_path / "bare.npy", COUNTS))
    assert bare.rankings.conditions == ("0", "1", "2")
    assert {"rows are cases, numbered from 0", "columns are conditions, numbered from 0, and cells are votes"} <= set(
        bare.receipt.assumed
    )
    (tmp_path / "votes.cases.txt").write_text("x\n", encoding="utf-8")
    with pytest.raises(DissensusError, match="the number of cases does not fit") as caught:
        read(path)
    assert "votes.cases.txt" in caught.value.where


# Tables -------------------------------------------------------------------------------------------------

TABLE = "case,cat,dog,frog,patient\nx,2,0,1,p\ny,0,,0,q\n"


def test_a_table_of_votes_with_a_column_per_condition(tmp_path: Path) -> None:
    reading = examine(write_text(tmp_path / "votes.csv", TABLE), "counts")
    expected = Study.from_counts(COUNTS, ["cat", "dog", "frog"], case_names=["x", "y"], groups=["p", "q"])
    assert reading.rankings == expected
    assert [str(note) for note in reading.receipt.notes] == [
        "votes of annotators without a name: 3, counted",
        "empty cells: 1, taken as 0 votes",
    ]
    roles = {"case": "case", **dict.fromkeys(("cat", "dog", "frog"), "votes for the condition of this name")}
    assert {one.name: one.role for one in reading.receipt.columns} == {**roles, "patient": "group"}
    assert "a cell is the number of annotators who gave the condition of its column" in reading.receipt.assumed
    with pytest.raises(DissensusError, match=r"--format cleanlab.*--format counts"):
        read(write_text(tmp_path / "ones.csv", "case,cat,dog\nx,1,1\ny,0,0\n"))


def test_a_table_whose_columns_are_the_conditions_holds_votes(tmp_path: Path) -> None:
    path = write_text(tmp_path / "votes.csv", "case,cat,dog\nx,2,1\ny,0,0\n")
    reading = examine(path, conditions=["dog", "cat"])
    assert reading.receipt.format == "counts"
    assert reading.rankings.conditions == ("dog", "cat")
    assert reading.rankings.to_rankings() == [[[["cat"]], [["cat"]], [["dog"]]], []]
    with pytest.raises(DissensusError, match="may be findings") as caught:
        examine(path, conditions=["bird", "cat", "dog"])
    assert "--format counts" in caught.value.advice


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("case,cat,dog\nx,1,-1\n", "votes are not a whole number"),
        ("case,cat,dog\nx,1,0.5\n", "votes are not a whole number"),
        ("case,cat,dog\nx,1,few\n", "a number of votes is not a number"),
        ("case,cat,frog\nx,1,2\n", "the columns of votes are not the conditions"),
        ("case,cat,dog\nx,1,2\nx,1,2\n", "stands in several rows"),
    ],
)
def test_what_is_not_a_table_of_votes_is_an_error(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match=problem):
        read(write_text(tmp_path / "votes.csv", text), "counts", conditions=["cat", "dog"])


# Records ------------------------------------------------------------------------------------------------

CHAOS = {
    "uid": "144n",
    "label_counter": {"e": 76, "n": 20},
    "majority_label": "e",
    "label_count": [76, 20, 0],
    "example": {"uid": "144n", "premise": "a premise"},
    "old_labels": ["e", "e", "n"],
}


def test_records_with_counts_by_name(tmp_path: Path) -> None:
    text = '{"case": "c1", "label_count": {"b": 1, "a": 3}}\n{"case": "c2", "label_count": {"c": 0}}\n'
    reading = examine(write_text(tmp_path / "votes.jsonl", text))
    assert reading.receipt.format == "counts"
    assert reading.rankings.conditions == ("a", "b", "c")
    assert reading.rankings.votes.tolist() == [1, 3]
    assert reading.rankings.unannotated == ("c2",)


def test_records_as_chaosnli_has_them(tmp_path: Path) -> None:
    path = write_text(tmp_path / "votes.jsonl", json.dumps(CHAOS))
    said = read(path, conditions=["e", "n", "c"])
    assert said == Study.from_counts([[76, 20, 0]], ["e", "n", "c"], case_names=["144n"])
    parsed = Counts().parse(open_source(path), Options())
    assert [one.name for one in parsed.columns if one.role] == ["uid", "label_counter"]


def test_a_list_of_counts_takes_its_names_from_the_conditions(tmp_path: Path) -> None:
    path = write_text(tmp_path / "votes.json", '[{"id": 7, "label_count": [1, 0, 4]}]')
    assert read(path, conditions=["e", "n", "c"]).votes.tolist() == [1, 4]
    with pytest.raises(DissensusError, match="a list of votes needs a list of conditions"):
        read(path)


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ([{"id": 1, "label_count": {"e": -1}}], "a number of votes is not understood"),
        ([{"id": 1, "label_count": {"e": 1.5}}], "a number of votes is not understood"),
        ([{"id": 1, "label_count": {"e": True}}], "a number of votes is not understood"),
        ([{"id": 1, "label_count": {"e": 10**400}}], "a number of votes is not understood"),
        ([{"id": 1, "label_count": {"x": 1}}], "unknown condition 'x'"),
        ([{"id": 1, "label_count": [1]}], "the number of votes does not fit"),
        ([{"id": 1, "label_count": {"e": 1}}] * 2, "case names must all be different"),
        ([{"name": 1, "label_count": {"e": 1}}], "the table has no case column"),
        ([{"id": None, "label_count": {"e": 1}}], "the case .* is not understood"),
    ],
)
def test_records_that_do_not_hold_votes_are_an_error(records: list[Any], problem: str, tmp_path: Path) -> None:
    path = write_text(tmp_path / "votes.json", json.dumps(records))
    with pytest.raises(DissensusError, match=problem):
        read(path, "counts", conditions=["e", "n"])


@needs_shared
def test_published_votes_on_photographs() -> None:
    start = time.perf_counter()
    said = read(SHARED / "cifar10h" / "cifar10h-counts.npy")
    elapsed = time.perf_counter() - start
    assert (said.n_cases, said.n_conditions, said.n_votes) == (10_000, 10, 511_000)
    assert said.votes_per_case.min() == 47
    assert said.votes_per_case.max() == 63
    assert elapsed < 2
