"""Files as people have them: damaged, empty, in another encoding, out of reach."""

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
from dissensus.core.files import LIMITS, Limits, open_source

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


BOM = b"\xef\xbb\xbf"
DIALECTS: list[str | bytes] = [TABLE, BOM + TABLE.encode(), TABLE.replace("\n", "\r\n"), TABLE.rstrip("\n")]
DIALECTS += [BOM + TABLE.replace("\n", "\r\n").encode(), TABLE.replace("\nc2", "\n\nc2") + "\n\n", TABLE + ",,,\n"]
DIALECTS += [TABLE.replace(",", mark) for mark in "\t;|"] + [TABLE.replace("Eczema", '"Eczema"')]
ANYTHING = ["line\nbreak", 'say ""ah""', "one, two", "🦠", "<b>&amp;</b>"]
ENDS = 'case,a,b\nc1,x,\nc2,,\nc3,"say, ""y""",\n\nc4,a "quoted word",\nc5,"",""\n'
READ: list[tuple[str | bytes, str, list[tuple[Any, ...]]]] = [
    *((text, "case,annotator,condition,rank", ROWS) for text in DIALECTS),
    # names stay text, and ranks that are not all numbers do too
    ("case,rank,position\n007,1,1\n010,first,2\n", "case,rank,position", [("007", "1", "1"), ("010", "first", "2")]),
    ("a\n" + "".join(f'"{name}"\n' for name in ANYTHING), "a", [(name.replace('""', '"'),) for name in ANYTHING]),
    (ENDS, "case,a,b", [("c1", "x", None), ("c2", None, None), ("c3", 'say, "y"', None),
                        ("c4", 'a "quoted word"', None), ("c5", "", "")]),
    ('case,a\r\nc1,"x\ry"\r\n', "case,a", [("c1", "x\ry")]),
    # an index and empty columns need no name
    (",a,,b,\nc1,x,,y,\nc2,,,z,\n", ",a,b", [("c1", "x", "y"), ("c2", None, "z")]),
    ("\n\na;b\n1;2\n", "a,b", [("1", "2")]),
]  # fmt: skip


@pytest.mark.parametrize(("content", "columns", "rows"), READ)
def test_tables_as_written(tmp_path: Path, content: str | bytes, columns: str, rows: list[tuple[Any, ...]]) -> None:
    table = open_source(put(tmp_path, "a.csv", content)).table
    assert (table.columns, table.rows()) == (columns.split(","), rows)


def test_names_of_columns_are_kept_as_they_are(tmp_path: Path) -> None:
    text = '"a ""b""","c,d","e\nf",g_duplicated_0,g\n1,2,3,4,5\n'
    assert open_source(put(tmp_path, "a.csv", text)).table.columns == ['a "b"', "c,d", "e\nf", "g_duplicated_0", "g"]


# Damage -------------------------------------------------------------------------------------------------

EMPTY, NO_ROWS = "the file is empty", "the table has a header but no rows"
OPEN, GOES_ON = "a quotation mark is not closed", "a cell goes on after its closing quotation mark"
MORE, FEWER = "a row has more cells than the header", "a row has fewer cells than the header"
LONE = "a lone quotation mark stands in "
NOT_UTF8, NAMELESS = "the file is not UTF-8 text", "a column has no name"
ENDING = "a line ends like no line of Windows or Unix"
CUT, TWICE, HALF = "the JSON is cut off", "stands twice in one JSON object", "the JSON holds half a character"
HEAD, DOUBLE = "case,annotator,condition,rank\n", "double the quotes"
DAMAGED: list[tuple[str, str | bytes, str, str, str]] = [  # name, content, problem, where it ends, what else is said
    *((name, "", EMPTY, name, "") for name in ("a.csv", "a.json", "a.parquet", "a")),
    *(("a.csv", blank, EMPTY, "", "") for blank in ("\n\n", "  \n\n ")),
    *(("a.csv", "case,condition" + end, NO_ROWS, "", "at least one row of data") for end in ("\n", "", "\n\n")),
    ("a.csv", TABLE.replace("\n", "\r"), "", "", "line ends"),
    ("a.csv", b"case,condition\nc1,caf\xe9\n", NOT_UTF8, "a.csv, line 2", "the byte 0xe9"),
    ("a.csv", b"case,caf\xe9\nc1,x\n", NOT_UTF8, "line 1", "the byte 0xe9"),
    ("a.csv", TABLE.encode("utf-16"), "", "", "UTF-16 text"),
    ("a.csv", b"\xff\xfe" + TABLE.encode("utf-16-le"), "", "", "UTF-16 text"),
    ("a.csv", b"\xfe\xff" + TABLE.encode("utf-16-be"), "", "", "UTF-16 text"),
    ("a.csv", HEAD + 'c1,Ann,"Eczema,1\nc2,Ann,Tinea,1\n', OPEN, "from line 2", DOUBLE),
    ("a.csv", HEAD + 'c1,Ann,"Eczema"!,1\n', GOES_ON, "from line 2", DOUBLE),
    ("a.csv", HEAD + 'c1,Ann,""""""""""a"",1\n', GOES_ON, "from line 2", DOUBLE),
    ("a.csv", HEAD + 'c1,Ann,Eczema,1\n"c2,Ann,Tinea,1\n', OPEN, "from line 3", DOUBLE),
    ("a.csv", HEAD + "c1,Ann,Eczema,1\nc2,Ann,Tinea,1,2\n", MORE, "line 3", DOUBLE),
    ("a.csv", HEAD + "c1,Ann,Eczema,1\nc2,Ann,Tinea,1,", MORE, "line 3", DOUBLE),
    ("a.csv", HEAD + 'c1,Ann,5" wide,1\nc2,Ann,Tinea,1\n', LONE + "a cell", "line 2", DOUBLE),
    ("a.csv", ENDS.replace("quoted", "quoted,"), "", "", "4 cells"),
    ("a.csv", "case,a,b\nc1,x,y\nc2,z\n", FEWER, "line 3", ""),
    ("a.csv", "case,a,b\nc1,x,\nc2\n", FEWER, "line 3", ""),
    ("a.csv", 'case,a,b\n"c1\n\n",x,\nc2,"z,y"\n', FEWER, "line 5", ""),
    ("a.csv", 'case,a,b\n\n\nc1,"x ""y, z""",y\nc2,z', FEWER, "line 5", ""),
    ("a.csv", "case,a,b\r\nc1,x,y\r\nc2,z\r\n", FEWER, "line 3", ""),
    ("a.csv", "case,a,b\nc1,x,y\n  \n", FEWER, "line 3", ""),
    ("a.csv", "case,a,a\nc1,x,y\n", "the header names 'a' twice", "line 1", ""),
    ("a.csv", "a,b,a,a\nc1,x,y,z\n", "the header repeats 'a'", "line 1", ""),
    ("a.csv", 'case,"a",a\nc1,x,y\n', "the header names 'a' twice", "line 1", ""),
    ("a.csv", 'case,5",b\nc1,x,y\nc2,z"y,w\nc3,x,y\n', LONE + "the header", "line 1", ""),
    ("a.csv", "case,,b\nc1,x,y\n", NAMELESS, "line 1", ""),
    ("a.csv", "case,b, \nc1,x,y\n", NAMELESS, "line 1", ""),
    ("a.csv", "case,a\n\rc1,x\n\r", ENDING, "line 1", ""),
    ("a.csv", "case,a\nc1,x\rc2,y\n", ENDING, "line 2", ""),
    ("a.csv", "case,a\nc1,x\r\r\nc2,y\n", ENDING, "line 2", ""),
    ("a.csv", "case,a\nc1,x\0\n", "the file holds a NUL byte", "line 2", ""),
    ("a.csv", "case,a\nc1,x\ncase,a\nc2,y\n", "the header is repeated inside the table", "line 3", ""),
    ("a.json", '[{"id": 1},\n {"id": 2, "x": {"id": 3, "\\u0069d": {}}}]', TWICE, "line 2, column 27", "the key 'id'"),
    ("a.jsonl", '{"id": 1}\n\n{"a:": "}", "b": [{}, {"a:": 1}], "a:": 2}\n', TWICE, "line 3, column 35", "'a:'"),
    *(
        ("a.json", f'[1,\n"{text}"]', HALF, "line 2", "")
        for text in ("\\ud800", "x\\udc00\\ud800", "\\\\\\ud83e", "\\uD83E\\uD83E\\uDDA0", "\\ud83e\\\\udda0")
    ),
    ("a.jsonl", '{"id": 1}\n\n{"id": 2, "lab', CUT, "", "line 3"),
    ("a.json", '[\n{"id": 1},\n{"id" 2}\n]', "the JSON is not valid", "", "line 3, column 7"),
    ("a.jsonl", '{"id": 1}\n[1, 2]\n', "a line of the file is not a JSON object", "line 2", "[1, 2]"),
    *(("a.json", hostile, "JSON", "", "") for hostile in ("[" * 100_000, "[" + "9" * 10_000 + "]")),
    ("a.csv.gz", b"\x1f\x8b\x08rest", "", "", "a compressed file"),
    ("a.csv.zst", b"\x28\xb5\x2f\xfdrest", "", "", "a compressed file"),
]


@pytest.mark.parametrize(("name", "content", "problem", "where", "said"), DAMAGED, ids=lambda value: str(value)[:30])
def test_what_is_refused(tmp_path: Path, name: str, content: str | bytes, problem: str, where: str, said: str) -> None:
    error = refused(put(tmp_path, name, content))
    assert problem in error.problem
    assert error.where.endswith(where)
    assert name in error.where
    assert said in str(error)
    assert error.advice or problem in (EMPTY, NO_ROWS) or "JSON" in problem
    assert "Schema" not in str(error)


@pytest.mark.parametrize("text", ["\N{MICROBE}", "\\ud800", "\\", "\N{MICROBE}" * 3 + "\\udc00"])
def test_whole_characters_are_read_however_they_are_escaped(tmp_path: Path, text: str) -> None:
    assert open_source(put(tmp_path, "a.json", json.dumps([text]))).content == [text]
    assert open_source(put(tmp_path, "b.json", json.dumps([text], ensure_ascii=False))).content == [text]


def test_what_was_cut_off_anywhere_says_so(tmp_path: Path) -> None:
    pl.DataFrame({"case": [str(i) for i in range(1000)]}).write_parquet(tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    for size in (4, 11, 50, len(whole) // 2, len(whole) - 1):
        error = refused(put(tmp_path, "cut.parquet", whole[:size]))
        assert error.problem == "the Parquet file is damaged or cut off"
        assert "again" in error.advice
    text = json.dumps([{"id": "a b", "labels": ["x", None, True], "n": -1.5}])
    for size in range(1, len(text)):
        assert refused(put(tmp_path, "cut.json", text[:size])).problem == "the JSON is cut off", text[:size]


def test_unusual_line_separators_inside_json_do_not_split_it(tmp_path: Path) -> None:
    rows = [{"id": "a\u2028b"}, {"id": "c\x85d"}]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    assert open_source(put(tmp_path, "a.json", text)).content == rows


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
    written_by_python_2 = put(tmp_path, "a.npy", npy("(1L,)", rest=bytes(8)))
    assert open_source(written_by_python_2).content.tolist() == [0.0]


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


def test_archives_that_are_not_of_arrays_are_refused(tmp_path: Path) -> None:
    one = ("a.npy", npy("(1,)", rest=bytes(8)))
    for *members, said in (
        (("probs.npy", npy("(9999999999,)", rest=bytes(8))), "cut off"),
        (("probs.npy", b"plain text"), "magic"),
        (one, one, "twice"),
    ):
        error = refused(zipped(tmp_path / "a.npz", *members))
        assert "the array file" in error.problem
        assert said in str(error)
    assert "as numpy never does" in refused(zipped(tmp_path / "a.npz", one, compression=zipfile.ZIP_LZMA)).got


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


def test_limits_are_given_as_numbers_and_sizes() -> None:
    assert Limits.given({"memory": "1.5 kB", "columns": "12"}) == Limits(12, 1500)
    assert Limits.given(None) == Limits()
    wrong: list[dict[str, Any]] = [{"column": 3}, {"columns": 0}, {"memory": "much"}, {"memory": -1}, {"memory": True}]
    for limits in wrong:
        with pytest.raises(ds.DissensusError, match="limit"):
            Limits.given(limits)


def test_limits_reach_the_files_from_python_and_the_command_line(tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", "case,annotator,label\nc1,A,x\n")
    with pytest.raises(FormatError, match="too many columns"):
        ds.read(path, limits={"columns": 2})
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


def test_a_path_that_is_impossible_or_out_of_reach_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a" * 300 + ".csv", "a\x00b.csv"):
        assert refused(tmp_path / name).problem in ("the file cannot be read", "there is no such file")
    path = put(tmp_path, "a.csv", TABLE)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        assert refused(path).got == "permission denied"
    monkeypatch.setattr(os, "access", lambda *_: False)
    error = refused(path)
    assert (error.problem, error.got) == ("the file cannot be read", "permission denied")
    assert "permissions" in error.advice
