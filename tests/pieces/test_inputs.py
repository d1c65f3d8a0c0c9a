"""Parquet files that hold one table together."""

import importlib
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dissensus.core.errors import FormatError, MissingExtraError
from dissensus.pieces import inputs as module
from dissensus.pieces.inputs import Input, is_large, is_split

ROWS = {"case": ["a", "a", "b"], "annotator": ["A", "B", "A"], "label": ["x", "y", "x"]}


def written(folder: Path, *names: str, **columns: list[object]) -> list[str]:
    places = [folder / f"{name}.parquet" for name in names]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame({**ROWS, **columns}).write_parquet(place)
    return [str(place) for place in places]


@pytest.mark.parametrize("given", ["directory", "pattern", "list", "file"])
def test_files_are_found_however_they_are_given(tmp_path: Path, given: str) -> None:
    places = written(tmp_path, "p2", "p1", "sub/p3")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden.parquet").write_bytes(b"x")
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "0.parquet").write_bytes(b"x")
    found: tuple[Any, list[str]] = {
        "directory": (tmp_path, [places[1], places[0], places[2]]),
        "pattern": (f"{tmp_path}/p*.parquet", [places[1], places[0]]),
        "list": (places, places),
        "file": (places[0], places[:1]),
    }[given]
    assert list(Input.of(found[0]).places) == found[1]


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_chunks_hold_all_rows_in_order_and_no_more_than_asked_for(tmp_path: Path, rows: int) -> None:
    frames = [pl.DataFrame({"case": range(start, start + 5), "x": [0.5] * 5}) for start in (0, 5, 10)]
    for number, frame in enumerate(frames):
        frame.write_parquet(tmp_path / f"{number}.parquet", row_group_size=2)
    tables = Input.of(tmp_path)
    chunks = list(tables.chunks(rows))
    assert max(map(len, chunks)) <= rows
    assert pl.concat(chunks).equals(pl.concat(frames))
    assert tables.n_rows() == 15
    assert next(tables.chunks(rows, ["x"])).columns == ["x"]


@pytest.mark.parametrize(("different", "error"), [(3, 0.0), (5000, 0.0), (100_000, 0.04)])
def test_different_values_are_counted_over_all_files(
    tmp_path: Path, different: int, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 30_000)
    for number in range(2):
        names = [f"case {row}" for row in range(number * different // 3, different)]
        pl.DataFrame({"case": names}).write_parquet(tmp_path / f"{number}.parquet")
    assert Input.of(tmp_path).n_distinct("case") == pytest.approx(different, rel=error)


def test_an_empty_table_has_columns_and_no_chunks(tmp_path: Path) -> None:
    pl.DataFrame(schema={"case": pl.String}).write_parquet(tmp_path / "a.parquet")
    tables = Input.of(tmp_path)
    assert (tuple(tables.schema), tables.n_rows(), list(tables.chunks(5)), len(tables.head(3))) == (("case",), 0, [], 0)


def test_columns_may_be_in_another_order_and_without_any_value(tmp_path: Path) -> None:
    pl.DataFrame({"case": ["a"], "rank": [None]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"rank": [2], "case": ["b"]}).write_parquet(tmp_path / "2.parquet")
    tables = Input.of(tmp_path)
    assert tuple(tables.schema) == ("case", "rank")
    assert pl.concat(tables.chunks(10)).rows() == [("a", None), ("b", 2)]


def test_categories_are_text(tmp_path: Path) -> None:
    pl.DataFrame({"case": pl.Series(["a"], dtype=pl.Categorical)}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"case": ["b"]}).write_parquet(tmp_path / "2.parquet")
    assert pl.concat(Input.of(tmp_path).chunks(10))["case"].to_list() == ["a", "b"]


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path: Path) -> None:
    (place,) = written(tmp_path, "votes[1]*")
    assert Input.of(place).n_rows() == 3
    assert not is_split(place)


def test_partition_folders_add_no_columns(tmp_path: Path) -> None:
    written(tmp_path, "site=a/1", "site=b/2")
    assert tuple(Input.of(tmp_path).schema) == tuple(ROWS)


# What is refused ----------------------------------------------------------------------------------------


def refused(given: object) -> FormatError:
    with pytest.raises(FormatError) as caught:
        list(Input.of(given).chunks(10))  # type: ignore[arg-type]  # that is what is tried
    return caught.value


def test_files_with_other_columns_are_named(tmp_path: Path) -> None:
    one, other = written(tmp_path, "1", "2")
    pl.DataFrame({**ROWS, "rank": [1, 1, 1]}).write_parquet(other)
    error = refused(tmp_path)
    assert error.where == f"{one} and {other}"
    assert "'rank'" in error.got


def test_files_with_other_types_are_named(tmp_path: Path) -> None:
    one, other = written(tmp_path, "1", "2")
    pl.DataFrame({**ROWS, "case": [1, 1, 2]}).write_parquet(other)
    error = refused(tmp_path)
    assert error.where == f"{one} and {other}"
    assert "'case'" in error.got
    assert "Int64" in error.got


@pytest.mark.parametrize("spoil", ["cut", "empty", "text", "middle", "footer"])
def test_a_spoiled_file_is_named_once_and_nothing_is_printed(
    tmp_path: Path, spoil: str, capfd: pytest.CaptureFixture[str]
) -> None:
    _, place = written(tmp_path, "1", "2")
    data = Path(place).read_bytes()
    spoiled = {
        "cut": data[:-20],
        "empty": b"",
        "text": b"case,label\n",
        "middle": data[:10] + bytes(60) + data[70:],
        "footer": data[:-8] + b"\xff\xff\xff\x7f" + data[-4:],
    }[spoil]
    Path(place).write_bytes(spoiled)
    error = refused(tmp_path)
    assert place in str(error)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("given", ["nothing", "*.parquet", "folder", []])
def test_nothing_found_is_an_error(tmp_path: Path, given: object) -> None:
    (tmp_path / "folder").mkdir()
    place = [] if given == [] else str(tmp_path / str(given))
    assert refused(place).problem in (
        "there is no such file",
        "no file fits the pattern",
        "the directory holds no Parquet files",
        "the list of files is empty",
    )


def test_a_file_given_twice_is_refused(tmp_path: Path) -> None:
    (place,) = written(tmp_path, "1")
    assert refused([place, str(tmp_path)]).problem == "a file is given twice"


# What is split ------------------------------------------------------------------------------------------


def test_files_of_one_annotator_each_keep_their_meaning(tmp_path: Path) -> None:
    for name in ("Ann", "Bo"):
        pl.DataFrame({"case": ["a"], "label": ["x"], "rank": [1]}).write_parquet(tmp_path / f"{name}.parquet")
    files = sorted(map(str, tmp_path.iterdir()))
    assert not is_split(tmp_path)
    assert not is_split(files)
    assert is_split(tmp_path, opinions=False)
    assert is_split(f"{tmp_path}/*.parquet")
    assert is_split(tmp_path, columns={"annotator": "rank"})


@pytest.mark.parametrize(
    "columns", [{"annotator": ["A"]}, {"votes": [2]}, {"n_votes": [2]}, {"annotation": [1]}, {"score": [0.5]}]
)
def test_files_that_say_who_or_how_many_are_one_table(tmp_path: Path, columns: dict[str, list[object]]) -> None:
    place = tmp_path / "1.parquet"
    pl.DataFrame({"case": ["a"], "label": ["x"], **columns}).write_parquet(place)
    assert is_split(tmp_path)
    assert is_split([str(place)])
    assert not is_split(place)


def test_other_inputs_are_not_split(tmp_path: Path) -> None:
    written(tmp_path, "1")
    (tmp_path / "2.csv").write_text("case,label\n", encoding="utf-8")
    assert not is_split(tmp_path)
    assert not is_split(tmp_path / "2.csv")
    assert not is_split(tmp_path / "missing.parquet")
    assert not is_split([])
    assert not is_split(3)
    assert is_split(["s3://store/a.parquet"])


def test_a_large_file_says_so_without_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place,) = written(tmp_path, "1")
    assert not is_large(place)
    monkeypatch.setattr(module, "LARGE_ROWS", 2)
    assert is_large(place)
    assert not is_large(tmp_path)
    assert not is_large("https://example.org/1.parquet")
    Path(place).write_bytes(b"PAR1 and so on PAR1")
    assert not is_large(place)


# What has changed ---------------------------------------------------------------------------------------


def test_fingerprints_change_with_the_content_only(tmp_path: Path) -> None:
    places = written(tmp_path, "1", "2")
    before = Input.of(tmp_path).fingerprints()
    assert list(before) == places
    assert all(found.startswith("sha256:") and len(found) == 71 for found in before.values())
    os.utime(places[0], (1, 1))
    assert Input.of(tmp_path).fingerprints() == before
    pl.DataFrame({**ROWS, "case": ["a", "a", "c"]}).write_parquet(places[1])
    after = Input.of(tmp_path).fingerprints()
    assert [place for place in places if after[place] != before[place]] == places[1:]


def test_an_address_is_asked_by_fsspec(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    (place,) = written(tmp_path, "1")
    tables = Input.of(f"file://{place}")
    assert tables.n_rows() == 3
    assert tuple(tables.schema) == tuple(ROWS)
    (told,) = tables.fingerprints().values()
    assert told.startswith(f"size:{Path(place).stat().st_size} tag:")


def test_without_fsspec_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    (place,) = written(tmp_path, "1")
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match="pip install fsspec"):
        Input.of(f"file://{place}").fingerprints()


def test_an_address_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    assert f"file://{tmp_path}/none.parquet" in str(refused(f"file://{tmp_path}/none.parquet"))
