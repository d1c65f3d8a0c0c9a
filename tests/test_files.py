"""Files as people have them: damaged, empty, in another encoding, out of reach."""

from __future__ import annotations

import json
import os
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import dissensus as ds
from dissensus.cli.app import app
from dissensus.core.errors import FormatError
from dissensus.core.files import LIMITS, checked_path, open_source
from dissensus.core.limits import Limits

TABLE = "case,annotator,condition,rank\nc1,Ann,Eczema,1\nc2,Bo,Tinea,1\n"
ROWS = [("c1", "Ann", "Eczema", 1.0), ("c2", "Bo", "Tinea", 1.0)]


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(path: Path, limits: Limits = LIMITS) -> FormatError:
    with pytest.raises(FormatError) as caught:
        open_source(path, limits)
    return caught.value


# Kinds --------------------------------------------------------------------------------------------------


def test_kinds_are_told_from_content(tmp_path: Path) -> None:
    frame = pl.DataFrame({"case": ["c1"]})
    frame.write_parquet(tmp_path / "a")
    np.save(tmp_path / "b.npy", np.eye(2))
    np.savez(tmp_path / "c.npz", scores=np.eye(2))
    assert open_source(tmp_path / "a").kind == "parquet"
    assert open_source(tmp_path / "b.npy").kind == "npy"
    assert list(open_source(tmp_path / "c.npz").content) == ["scores"]
    assert open_source(put(tmp_path, "d", '[{"id": 1}]')).kind == "json"
    assert open_source(put(tmp_path, "e", '{"id": 1}\n{"id": 2}\n')).kind == "jsonl"
    assert open_source(put(tmp_path, "f.jsonl", '{"id": 1}')).kind == "jsonl"
    assert open_source(put(tmp_path, "g.csv", TABLE)).kind == "table"
    assert open_source(put(tmp_path, "h.soc", "# FILE NAME: x\n")).kind == "text"
    assert open_source(tmp_path).kind == "directory"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.csv", TABLE),
        ("bom.csv", b"\xef\xbb\xbf" + TABLE.encode()),
        ("crlf.csv", TABLE.replace("\n", "\r\n")),
        ("both.csv", b"\xef\xbb\xbf" + TABLE.replace("\n", "\r\n").encode()),
        ("no_end.csv", TABLE.rstrip("\n")),
        ("blank_lines.csv", TABLE.replace("\nc2", "\n\nc2") + "\n\n"),
        ("empty_cells.csv", TABLE + ",,,\n"),
        ("tabs.tsv", TABLE.replace(",", "\t")),
        ("semicolons.csv", TABLE.replace(",", ";")),
        ("bars.csv", TABLE.replace(",", "|")),
        ("quoted.csv", TABLE.replace("Eczema", '"Eczema"')),
    ],
)
def test_tables_are_read_whatever_the_dialect(tmp_path: Path, name: str, content: Any) -> None:
    table = open_source(put(tmp_path, name, content)).table
    assert table.columns == ["case", "annotator", "condition", "rank"]
    assert table.rows() == ROWS


def test_names_stay_text_and_ranks_that_are_not_all_numbers_do_too(tmp_path: Path) -> None:
    table = open_source(put(tmp_path, "a.csv", "case,rank,position\n007,1,1\n010,first,2\n")).table
    assert table.rows() == [("007", "1", "1"), ("010", "first", "2")]


def test_quoted_cells_may_hold_anything(tmp_path: Path) -> None:
    names = ["line\nbreak", 'say ""ah""', "one, two", "🦠", "<b>&amp;</b>"]
    text = "case,condition\n" + "".join(f'c{i},"{name}"\n' for i, name in enumerate(names))
    found = open_source(put(tmp_path, "a.csv", text)).table["condition"].to_list()
    assert found == [name.replace('""', '"') for name in names]


# Damage -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.parquet", "a"])
def test_an_empty_file_says_so(tmp_path: Path, name: str) -> None:
    error = refused(put(tmp_path, name, ""))
    assert error.problem == "the file is empty"
    assert name in error.where


@pytest.mark.parametrize("content", ["\n\n", "  \n\n "])
def test_a_file_of_blank_lines_is_empty(tmp_path: Path, content: str) -> None:
    assert refused(put(tmp_path, "a.csv", content)).problem == "the file is empty"


@pytest.mark.parametrize("content", ["case,condition\n", "case,condition", "case,condition\n\n"])
def test_a_header_alone_says_so(tmp_path: Path, content: str) -> None:
    error = refused(put(tmp_path, "a.csv", content))
    assert error.problem == "the table has a header but no rows"
    assert error.expected == "at least one row of data"


def test_the_line_ends_of_old_macs_are_named(tmp_path: Path) -> None:
    assert "line ends" in refused(put(tmp_path, "a.csv", TABLE.replace("\n", "\r"))).advice


def test_text_in_another_encoding_names_the_byte_and_the_line(tmp_path: Path) -> None:
    error = refused(put(tmp_path, "a.csv", b"case,condition\nc1,caf\xe9\n"))
    assert error.problem == "the file is not UTF-8 text"
    assert error.got == "the byte 0xe9"
    assert error.where.endswith("a.csv, line 2")
    assert "UTF-8" in error.advice


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_not_read_as_garbage(tmp_path: Path, encoding: str) -> None:
    mark = {"utf-16": b"", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}[encoding]
    error = refused(put(tmp_path, "a.csv", mark + TABLE.encode(encoding)))
    assert error.got == "UTF-16 text"
    assert "UTF-8" in error.advice


@pytest.mark.parametrize(
    ("row", "problem", "line"),
    [
        ('c1,Ann,"Eczema,1\nc2,Ann,Tinea,1\n', "a quotation mark is not closed", "from line 2"),
        ('c1,Ann,"Eczema"!,1\n', "a cell goes on after its closing quotation mark", "from line 2"),
        ('c1,Ann,""""""""""a"",1\n', "a cell goes on after its closing quotation mark", "from line 2"),
        ('c1,Ann,Eczema,1\n"c2,Ann,Tinea,1\n', "a quotation mark is not closed", "from line 3"),
        ("c1,Ann,Eczema,1\nc2,Ann,Tinea,1,2\n", "a row has more cells than the header", "line 3"),
        ("c1,Ann,Eczema,1\nc2,Ann,Tinea,1,", "a row has more cells than the header", "line 3"),
        ('c1,Ann,5" wide,1\nc2,Ann,Tinea,1\n', "a lone quotation mark stands in a cell", "line 2"),
    ],
)
def test_a_broken_row_is_found(tmp_path: Path, row: str, problem: str, line: str) -> None:
    error = refused(put(tmp_path, "a.csv", "case,annotator,condition,rank\n" + row))
    assert error.problem == problem
    assert error.where.endswith(line)
    assert "double the quotes" in error.advice
    assert "Schema" not in str(error)


@pytest.mark.parametrize(
    ("content", "problem", "line"),
    [
        ("case,a,b\nc1,x,y\nc2,z\n", "a row has fewer cells than the header", 3),
        ("case,a,b\nc1,x,\nc2\n", "a row has fewer cells than the header", 3),
        ('case,a,b\n"c1\n\n",x,\nc2,"z,y"\n', "a row has fewer cells than the header", 5),
        ('case,a,b\n\n\nc1,"x ""y, z""",y\nc2,z', "a row has fewer cells than the header", 5),
        ("case,a,b\r\nc1,x,y\r\nc2,z\r\n", "a row has fewer cells than the header", 3),
        ("case,a,b\nc1,x,y\n  \n", "a row has fewer cells than the header", 3),
        ("case,a,a\nc1,x,y\n", "the header names 'a' twice", 1),
        ("a,b,a,a\nc1,x,y,z\n", "the header repeats 'a'", 1),
        ('case,"a",a\nc1,x,y\n', "the header names 'a' twice", 1),
        ('case,5",b\nc1,x,y\nc2,z"y,w\nc3,x,y\n', "a lone quotation mark stands in the header", 1),
        ("case,,b\nc1,x,y\n", "a column has no name", 1),
        ("case,b, \nc1,x,y\n", "a column has no name", 1),
        ("case,a\n\rc1,x\n\r", "a line ends like no line of Windows or Unix", 1),
        ("case,a\nc1,x\rc2,y\n", "a line ends like no line of Windows or Unix", 2),
        ("case,a\nc1,x\r\r\nc2,y\n", "a line ends like no line of Windows or Unix", 2),
        ("case,a\nc1,x\0\n", "the file holds a NUL byte", 2),
        ("case,a\nc1,x\ncase,a\nc2,y\n", "the header is repeated inside the table", 3),
    ],
)
def test_what_would_be_guessed_is_refused_with_its_line(tmp_path: Path, content: str, problem: str, line: int) -> None:
    error = refused(put(tmp_path, "a.csv", content))
    assert error.problem == problem
    assert error.where.endswith(f"a.csv, line {line}")
    assert error.advice


def test_invalid_text_in_a_header_is_refused(tmp_path: Path) -> None:
    error = refused(put(tmp_path, "a.csv", b"case,caf\xe9\nc1,x\n"))
    assert (error.problem, error.got) == ("the file is not UTF-8 text", "the byte 0xe9")
    assert error.where.endswith("line 1")


def test_rows_may_end_with_empty_cells(tmp_path: Path) -> None:
    text = 'case,a,b\nc1,x,\nc2,,\nc3,"say, ""y""",\n\nc4,a "quoted, word",\nc5,"",""\n'
    assert refused(put(tmp_path, "a.csv", text)).got.startswith("4 cells")
    rows = open_source(put(tmp_path, "a.csv", text.replace("quoted,", "quoted"))).table.rows()
    assert rows[:3] == [("c1", "x", None), ("c2", None, None), ("c3", 'say, "y"', None)]
    assert rows[3:] == [("c4", 'a "quoted word"', None), ("c5", "", "")]


def test_carriage_returns_within_quotes_are_part_of_a_cell(tmp_path: Path) -> None:
    table = open_source(put(tmp_path, "a.csv", 'case,a\r\nc1,"x\ry"\r\n')).table
    assert table.rows() == [("c1", "x\ry")]


def test_an_index_and_empty_columns_need_no_name(tmp_path: Path) -> None:
    table = open_source(put(tmp_path, "a.csv", ",a,,b,\nc1,x,,y,\nc2,,,z,\n")).table
    assert table.columns == ["", "a", "b"]
    assert table.rows() == [("c1", "x", "y"), ("c2", None, "z")]


def test_names_of_columns_are_kept_as_they_are(tmp_path: Path) -> None:
    text = '"a ""b""","c,d","e\nf",g_duplicated_0,g\n1,2,3,4,5\n'
    assert open_source(put(tmp_path, "a.csv", text)).table.columns == ['a "b"', "c,d", "e\nf", "g_duplicated_0", "g"]


def test_separators_are_told_from_the_first_line_with_something_in_it(tmp_path: Path) -> None:
    assert open_source(put(tmp_path, "a.csv", "\n\na;b\n1;2\n")).table.rows() == [("1", "2")]


@pytest.mark.parametrize(
    ("name", "content", "where"),
    [
        ("a.json", '[{"id": 1},\n {"id": 2, "x": {"id": 3, "\\u0069d": {}}}]', "line 2, column 27"),
        ("a.jsonl", '{"id": 1}\n\n{"a:": "}", "b": [{}, {"a:": 1}], "a:": 2}\n', "line 3, column 35"),
    ],
)
def test_a_key_that_stands_twice_is_refused(tmp_path: Path, name: str, content: str, where: str) -> None:
    error = refused(put(tmp_path, name, content))
    assert error.where.endswith(where)
    assert error.problem in ("the key 'id' stands twice in one JSON object", "the JSON is cut off") or "a:" in str(
        error
    )


@pytest.mark.parametrize(
    "text", ['"\\ud800"', '"x\\udc00\\ud800"', '"\\\\\\ud83e"', '"\\uD83E\\uD83E\\uDDA0"', '"\\ud83e\\\\udda0"']
)
def test_half_a_character_is_refused(tmp_path: Path, text: str) -> None:
    error = refused(put(tmp_path, "a.json", f"[1,\n{text}]"))
    assert error.problem == "the JSON holds half a character"
    assert error.where.endswith("line 2")


@pytest.mark.parametrize("text", ["\N{MICROBE}", "\\ud800", "\\", "\N{MICROBE}" * 3 + "\\udc00"])
def test_whole_characters_are_read_however_they_are_escaped(tmp_path: Path, text: str) -> None:
    assert open_source(put(tmp_path, "a.json", json.dumps([text]))).content == [text]
    assert open_source(put(tmp_path, "b.json", json.dumps([text], ensure_ascii=False))).content == [text]


def test_a_parquet_file_that_was_cut_off_says_so(tmp_path: Path) -> None:
    pl.DataFrame({"case": [str(i) for i in range(1000)]}).write_parquet(tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    for size in (4, 11, 50, len(whole) // 2, len(whole) - 1):
        error = refused(put(tmp_path, "cut.parquet", whole[:size]))
        assert error.problem == "the Parquet file is damaged or cut off"
        assert "again" in error.advice


def test_json_that_was_cut_off_anywhere_says_so(tmp_path: Path) -> None:
    whole = json.dumps([{"id": "a b", "labels": ["x", None, True], "n": -1.5}])
    for size in range(1, len(whole)):
        assert refused(put(tmp_path, "cut.json", whole[:size])).problem == "the JSON is cut off", whole[:size]


def test_json_lines_that_were_cut_off_name_the_line(tmp_path: Path) -> None:
    error = refused(put(tmp_path, "a.jsonl", '{"id": 1}\n\n{"id": 2, "lab'))
    assert error.problem == "the JSON is cut off"
    assert "line 3" in error.where


def test_json_that_is_wrong_inside_says_where(tmp_path: Path) -> None:
    error = refused(put(tmp_path, "a.json", '[\n{"id": 1},\n{"id" 2}\n]'))
    assert error.problem == "the JSON is not valid"
    assert "line 3, column 7" in error.where


def test_a_line_that_is_no_object_is_refused(tmp_path: Path) -> None:
    error = refused(put(tmp_path, "a.jsonl", '{"id": 1}\n[1, 2]\n'))
    assert error.problem == "a line of the file is not a JSON object"
    assert error.got == "[1, 2]"
    assert error.where.endswith("line 2")


@pytest.mark.parametrize("content", ["[" * 100_000, "[" + "9" * 10_000 + "]"])
def test_hostile_json_is_refused(tmp_path: Path, content: str) -> None:
    assert "JSON" in refused(put(tmp_path, "a.json", content)).problem


def test_unusual_line_separators_inside_json_do_not_split_it(tmp_path: Path) -> None:
    rows = [{"id": "a\u2028b"}, {"id": "c\x85d"}]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    assert open_source(put(tmp_path, "a.json", text)).content == rows


def test_arrays_that_hold_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{"x": 1}], dtype=object), allow_pickle=True)
    error = refused(tmp_path / "a.npy")
    assert error.problem == "the array file cannot be read"
    assert "pickled" in error.expected


@pytest.mark.parametrize(
    ("name", "head", "got"),
    [
        ("a.xlsx", b"PK\x03\x04rest", "a spreadsheet"),
        ("a.csv.gz", b"\x1f\x8b\x08rest", "a compressed file"),
        ("a.csv.zst", b"\x28\xb5\x2f\xfdrest", "a compressed file"),
    ],
)
def test_spreadsheets_and_compressed_files_get_advice(tmp_path: Path, name: str, head: bytes, got: str) -> None:
    error = refused(put(tmp_path, name, head))
    assert error.got == got
    assert error.advice


# Limits -------------------------------------------------------------------------------------------------


def npy(shape: str, dtype: str = "<f8", rest: bytes = b"") -> bytes:
    """Write the header of an array that claims a shape, and whatever follows."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + rest


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (npy("(1000000, 1000000)", rest=bytes(100)), "the array file is cut off"),
        (npy("(2,)", rest=bytes(8)), "the array file is cut off"),
        (npy("(1000000000000, 0)"), "the array file holds"),
        (npy("(1000000000000,)", "<U0"), "the array file"),
        (npy("(-1,)"), "the array file cannot be read"),
        (npy("(2,)", rest=bytes(24)), "the array file holds more than its array"),
        (npy("(1,)", "|O", rest=bytes(8)), "the array file cannot be read"),
    ],
)
def test_what_an_array_claims_is_checked_before_it_is_read(tmp_path: Path, content: bytes, problem: str) -> None:
    begin = time.perf_counter()
    assert refused(put(tmp_path, "a.npy", content)).problem.startswith(problem)
    assert time.perf_counter() - begin < 1


@pytest.mark.parametrize(
    "array", [np.eye(3, order="F"), np.empty((0, 3)), np.array(["a", "bc"]), np.array(7), np.array([True])]
)
def test_arrays_are_read_as_numpy_reads_them(tmp_path: Path, array: Any) -> None:
    np.save(tmp_path / "a.npy", array)
    found = open_source(tmp_path / "a.npy").content
    expected = np.load(tmp_path / "a.npy")
    np.testing.assert_array_equal(found, expected, strict=True)
    assert found.flags.writeable
    assert found.flags.f_contiguous == expected.flags.f_contiguous


def test_arrays_that_python_2_wrote_are_read(tmp_path: Path) -> None:
    assert open_source(put(tmp_path, "a.npy", npy("(1L,)", rest=bytes(8)))).content.tolist() == [0.0]


def zipped(path: Path, *members: tuple[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, content in members:
            archive.writestr(name, content)
    return path


def test_an_archive_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    big = npy("(1000000,)", rest=bytes(8_000_000))
    path = zipped(tmp_path / "a.npz", ("probs.npy", big))
    assert path.stat().st_size < 20_000
    assert len(open_source(path).content["probs"]) == 1_000_000
    error = refused(path, Limits(memory=10**6))
    assert (error.problem, error.expected, error.got) == ("the file unpacks to too much", "at most 1 MB", "8 MB")
    assert "--limit memory=8000128" in error.advice


@pytest.mark.parametrize(
    "members",
    [
        [("probs.npy", npy("(9999999999,)", rest=bytes(8)))],
        [("probs.npy", b"plain text")],
        [("a.npy", npy("(1,)", rest=bytes(8))), ("a.npy", npy("(1,)", rest=bytes(8)))],
    ],
)
def test_archives_that_are_not_of_arrays_are_refused(tmp_path: Path, members: list[tuple[str, bytes]]) -> None:
    assert "the array file" in refused(zipped(tmp_path / "a.npz", *members)).problem


def test_arrays_are_packed_as_numpy_does_or_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.npz", ("a.npy", npy("(1,)", rest=bytes(8))), compression=zipfile.ZIP_LZMA)
    assert "as numpy never does" in refused(path).got


def test_a_million_columns_are_refused_quickly(tmp_path: Path) -> None:
    header = ",".join(f"c{number}" for number in range(1_000_000))
    path = put(tmp_path, "a.csv", header + "\n" + "," * 999_999 + "\n")
    begin = time.perf_counter()
    error = refused(path)
    assert time.perf_counter() - begin < 2
    assert (error.expected, error.got) == ("at most 50 000 columns", "1 000 000 columns")
    assert "--limit columns=1000000" in error.advice


def test_a_parquet_table_that_claims_too_much_is_refused(tmp_path: Path) -> None:
    pl.select(case=pl.repeat("c", 1_000_000)).write_parquet(tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 10_000
    assert len(open_source(tmp_path / "a.parquet").table) == 1_000_000
    error = refused(tmp_path / "a.parquet", Limits(memory=10**6))
    assert (error.problem, error.got) == ("the file unpacks to too much", "at least 16 MB")
    assert refused(tmp_path / "a.parquet", Limits(columns=0)).problem == "the table has too many columns"


@pytest.mark.parametrize(
    "limits", [{"column": 3}, {"columns": 0}, {"memory": "much"}, {"memory": -1}, {"memory": True}]
)
def test_limits_that_are_none_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ds.DissensusError, match="limit"):
        Limits.given(limits)


def test_limits_are_given_as_numbers_and_sizes() -> None:
    assert Limits.given({"memory": "1.5 kB", "columns": "12"}) == Limits(12, 1500)
    assert Limits.given(None) == Limits()


def test_limits_reach_the_files_from_python_and_the_command_line(tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", "case,annotator,label\nc1,A,x\n")
    with pytest.raises(FormatError, match="too many columns"):
        ds.read_annotations(path, limits={"columns": 2})
    with pytest.raises(FormatError, match="too many columns"):
        ds.read_predictions(put(tmp_path, "m.csv", "case,a,b\nc1,1,0\n"), limits={"columns": 2})
    assert CliRunner().invoke(app, ["validate", str(path), "--limit", "columns=3"]).exit_code == 0
    assert isinstance(CliRunner().invoke(app, ["validate", str(path), "--limit", "columns=2"]).exception, FormatError)


# Out of reach -------------------------------------------------------------------------------------------


def test_a_missing_file_gets_the_nearest_name(tmp_path: Path) -> None:
    put(tmp_path, "opinions.csv", TABLE)
    error = refused(tmp_path / "opinion.csv")
    assert error.problem == "there is no such file"
    assert error.advice == "did you mean 'opinions.csv'?"
    assert refused(tmp_path / "nowhere" / "a.csv").advice == "check the path"


@pytest.mark.parametrize("name", ["a" * 300 + ".csv", "a\x00b.csv"])
def test_an_impossible_path_is_an_error_like_any_other(tmp_path: Path, name: str) -> None:
    assert refused(tmp_path / name).problem in ("the file cannot be read", "there is no such file")


def test_a_file_without_permission_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "a.csv", TABLE)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(FormatError, match="cannot be read") as caught:
        checked_path(path)
    assert caught.value.got == "permission denied"
    assert "permissions" in caught.value.advice


def test_a_file_that_refuses_to_open_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "a.csv", TABLE)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert refused(path).got == "permission denied"
