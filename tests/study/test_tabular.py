"""Tables of opinions in files: long, wide, crowd-kit and cleanlab, good and bad."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dissensus import DissensusError, Study, examine, read
from dissensus.core.files import Source
from dissensus.study.reading.format import Format
from dissensus.study.reading.wide import Wide

HEADER = "case,annotator,condition,rank\n"


def refused(path: Path, **options: Any) -> DissensusError:
    with pytest.raises(DissensusError) as caught:
        read(path, **options)
    assert str(path) in str(caught.value)
    return caught.value


# Accepted -----------------------------------------------------------------------------------------------


def test_a_long_table_with_byte_order_mark_windows_lines_and_quoted_newlines(put: Any) -> None:
    text = HEADER + 'c1,Ann,"two\nlines",1\nc1,Ann,"a ""quote"", 🦠 <b>",2\nc2,,,\n'
    said = read(put("\ufeff" + text))
    assert said.to_rankings() == [[[["two\nlines"], ['a "quote", 🦠 <b>']]], []]
    windows = HEADER.replace("\n", "\r\n") + "c1,Ann,x,1\r\nc1,Ann,y,2\r\n"
    assert read(put(windows)).to_rankings() == [[[["x"], ["y"]]]]


def test_the_same_opinions_in_three_forms(put: Any) -> None:
    long = HEADER + "c1,Ann,x,1\nc1,Ann,y,2\nc1,Ann,z,2\nc2,Bo,x,1\n"
    wide = "case,Ann,Bo\nc1,x > y = z,\nc2,,x\n"
    assert read(put(long)) == read(put(wide))


def test_confidences_ties_and_gaps(put: Any) -> None:
    text = "image_id,reader,diagnosis,confidence\n1,A,x,10\n1,A,y,10\n1,A,z,3\n1,B,x,0\n1,B,y,\n"
    reading = examine(put(text))
    assert reading.rankings.to_rankings() == [[[["x", "y"], ["z"]], []]]
    assert [note.count for note in reading.receipt.notes] == [2]
    assert read(put(HEADER + "c,A,x,3\nc,A,y,1\nc,A,z,7\n")).to_rankings() == [[[["y"], ["x"], ["z"]]]]

    path = put("task,worker,label\nt,w,Rosacea| Lupus\n")
    assert read(path, tie_separator="|").to_rankings() == [[[["Lupus", "Rosacea"]]]]


def test_integer_codes_need_a_list(put: Any) -> None:
    path = put("id,Ann,Bo\n1,0,1.0\n2,,\n3,1,\n")
    said = read(path, conditions=["cat", "dog"])
    assert said.to_rankings() == [[[["cat"]], [["dog"]]], [], [[["dog"]]]]
    assert said.annotator_names == ("Ann", "Bo")
    assert said.unannotated == ("2",)
    error = refused(put("case,Ann,Bo\nc1,0,1\n"))
    assert error.problem == "integer labels need a list of conditions"
    assert "--conditions FILE" in error.advice
    error = refused(put("case,Ann,Bo\nc1,0,1\nc2,7,\n"), conditions=["x", "y"])
    assert error.problem == "unknown condition '7'"
    assert "data row 2, case 'c2', annotator 'Ann'" in error.where


def test_unusual_columns_are_found_by_what_the_user_says(put: Any) -> None:
    path = put("photo,who,dx,order\np1,A,x,2\np1,A,y,1\n")
    roles = {"case": "photo", "annotator": "who", "condition": "dx", "rank": "order"}
    assert read(path, columns=roles).to_rankings() == [[[["y"], ["x"]]]]

    assert read(put("case,row,Ann\nc1,x,x\n")).annotator_names == ("row", "Ann")


def test_columns_without_a_role_and_a_second_order_are_noted(put: Any) -> None:
    text = "case,annotator,condition,rank,confidence,age\nc,A,x,1,2,40\nc,A,y,2,9,40\n"
    receipt = examine(put(text)).receipt
    assert receipt.unused == ("confidence", "age")
    assert str(receipt.columns[4]) == "'confidence' is not used (the rank decides)"
    assert "the rank orders the conditions of an annotator, not the confidence" in receipt.assumed
    said = read(put(text), columns={"confidence": "confidence"})
    assert said.to_rankings() == [[[["y"], ["x"]]]]


def test_a_parquet_table_keeps_its_types(tmp_path: Path) -> None:
    pl.DataFrame({"case": [1, 2], "annotator": [7, 8], "condition": ["x", "y"], "rank": [1, 1]}).write_parquet(
        tmp_path / "a.parquet"
    )
    said = read(tmp_path / "a.parquet")
    assert said == Study.from_rankings([[[["x"]]], [[["y"]]]], case_names=["1", "2"], annotator_names=[["7"], ["8"]])


# Refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem", "got", "where"),
    [
        ("c1,A,x,first\n", "a rank is not a number", "'first'", "data row 1, case 'c1', annotator 'A'"),
        ("c1,A,x,1\nc1,A,y,NaN\n", "a rank is not a positive number", "nan", "data row 2"),
        ("c1,A,x,1\nc1,A,x,2\n", "condition 'x' is mentioned twice", "1 repeated", "case 'c1', annotator 'A'"),
    ],
)
def test_wrong_rows_of_a_long_table(put: Any, text: str, problem: str, got: str, where: str) -> None:
    error = refused(put(HEADER + text))
    assert problem in error.problem
    assert got in error.got
    assert where in error.where


def test_rows_are_counted_as_the_file_counts_them_even_after_declarations(put: Any) -> None:
    text = "case,annotation,condition,rank\n,,x,\n,,y,\nc1,1,x,1\nc1,1,y,0\n"
    assert "data row 4" in refused(put(text)).where


@pytest.mark.parametrize(
    ("header", "missing"), [("photo,annotator,condition,rank", "case"), ("case,annotator,dx,rank", "condition")]
)
def test_a_missing_column_is_named(put: Any, header: str, missing: str) -> None:
    row = ",".join("1" for _ in header.split(","))
    error = refused(put(f"{header}\n{row}\n"))
    assert error.problem == f"the table has no {missing} column"
    assert f"'{missing}'" in error.expected
    assert header.split(",")[0] in error.got
    assert f"--column {missing}=NAME" in error.advice


@pytest.mark.parametrize("cells", ["x,y", "0,1"])
def test_a_case_in_two_rows_of_a_wide_table(put: Any, cells: str) -> None:
    error = refused(put(f"case,Ann,Bo\nc1,{cells}\nc2,{cells}\nc1,{cells}\n"), conditions=["x", "y"])
    assert error.problem == "case 'c1' stands in several rows"
    assert "rows 1 and 3" in error.got
    assert "long form" in error.advice


@pytest.mark.parametrize("cell", ["x>>y", "x=", ">x", "x>y>x"])
def test_a_wrong_cell_of_a_wide_table_names_case_and_annotator(put: Any, cell: str) -> None:
    error = refused(put(f"case,Ann,Bo\nc1,x,y\nc2,{cell},y\nc3,y,x\n"))
    assert "case 'c2'" in error.where
    assert "annotator 'Ann'" in error.where

    assert "data row 2" in refused(put("case,Ann\nc1,x\n,y\n")).where


def test_formats_and_columns_that_do_not_exist_get_a_suggestion(put: Any) -> None:
    path = put(HEADER + "c1,A,x,1\n")
    with pytest.raises(DissensusError, match="unknown format 'wid'") as caught:
        read(path, "wid")
    assert caught.value.advice == "did you mean 'wide'?"
    assert {"long", "crowd-kit", "wide", "cleanlab"} <= set(caught.value.expected.removeprefix("one of ").split(", "))
    assert refused(path, columns={"case": "cas"}).advice == "did you mean 'case'?"
    error = refused(path, columns={"conditon": "condition"})
    assert "no role 'conditon'" in error.problem
    assert error.advice == "did you mean 'condition'?"


def test_a_format_that_fits_nothing_says_what_was_found(put: Any) -> None:
    error = refused(put("x\n1\n"))
    assert error.problem == "no known format fits the file"
    assert error.got == "a table with the columns 'x'"
    assert "--format" in error.advice
    assert ".csv" in refused(put(HEADER + "c1,A,x,1\n", "opinions.txt")).advice


def test_an_ambiguous_file_names_the_candidates(put: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Format.family, "_declared", Format.family.known())

    class Greedy(Wide):
        id = "greedy"
        title = "takes everything"

        def recognises(self, source: Source) -> bool:  # noqa: ARG002
            return True

    error = refused(put("case,Ann\nc1,x\n"))
    assert error.problem == "the file fits several formats"
    assert error.expected == "one of greedy, wide"
    assert "--format greedy" in error.advice


def test_a_table_format_on_something_else_is_refused(put: Any, tmp_path: Path) -> None:
    path = put(json.dumps({"a": [1]}), "a.json")
    for name in ("long", "wide", "cleanlab", "crowd-kit"):
        assert "not a table" in refused(path, format=name).problem
    assert "not a table" in refused(tmp_path, format="long").problem
