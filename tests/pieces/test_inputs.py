"""Parquet files that hold one table together, and how they are split by case into pieces."""

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.core.errors import DissensusError, FormatError, MissingExtraError
from dissensus.pieces import inputs as module
from dissensus.pieces.inputs import Input, Partition, buckets_of, frames_from, is_large, is_split, partitioned
from dissensus.predictions.alignment import Match

ROWS = {"case": ["a", "a", "b"], "annotator": ["A", "B", "A"], "label": ["x", "y", "x"]}


def written(folder: Path, *names: str, **columns: list[object]) -> list[str]:
    places = [folder / f"{name}.parquet" for name in names]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame({**ROWS, **columns}).write_parquet(place)
    return [str(place) for place in places]


def test_files_are_found_however_they_are_given(tmp_path: Path) -> None:
    places = written(tmp_path, "p2", "p1", "sub/p3", "_delta_log/0", ".hidden")[:3]
    (tmp_path / "_SUCCESS").touch()
    found: list[tuple[Any, list[str]]] = [
        (tmp_path, [places[1], places[0], places[2]]),
        (f"{tmp_path}/p*.parquet", [places[1], places[0]]),
        (places, places),
        (places[0], places[:1]),
    ]
    for given_, expected in found:
        assert list(Input.of(given_).places) == expected
    (odd,) = written(tmp_path, "votes[1]*")  # it looks like a pattern
    assert Input.of(odd).n_rows() == 3
    assert not is_split(odd)
    written(tmp_path / "parts", "site=a/1", "site=b/2")
    assert tuple(Input.of(tmp_path / "parts").schema) == tuple(ROWS)


def test_chunks_hold_all_rows_in_order_and_no_more_than_asked_for(tmp_path: Path) -> None:
    frames = [pl.DataFrame({"case": range(start, start + 5), "x": [0.5] * 5}) for start in (0, 5, 10)]
    for number, frame in enumerate(frames):
        frame.write_parquet(tmp_path / f"{number}.parquet", row_group_size=2)
    tables = Input.of(tmp_path)
    for rows in (1, 2, 3, 100):
        chunks = list(tables.chunks(rows))
        assert max(map(len, chunks)) <= rows
        assert pl.concat(chunks).equals(pl.concat(frames))
    assert tables.n_rows() == 15
    assert next(tables.chunks(2, ["x"])).columns == ["x"]
    pl.DataFrame(schema={"case": pl.String}).write_parquet(tmp_path / "empty.parquet")
    empty = Input.of(tmp_path / "empty.parquet")
    assert (tuple(empty.schema), empty.n_rows(), list(empty.chunks(5)), len(empty.head(3))) == (("case",), 0, [], 0)


@pytest.mark.parametrize(("different", "error"), [(3, 0.0), (5000, 0.0), (100_000, 0.04)])
def test_different_values_are_counted_over_all_files(
    tmp_path: Path, different: int, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 30_000)
    for number in range(2):
        names = [f"case {row}" for row in range(number * different // 3, different)]
        pl.DataFrame({"case": names}).write_parquet(tmp_path / f"{number}.parquet")
    assert Input.of(tmp_path).n_distinct("case") == pytest.approx(different, rel=error)


def test_columns_may_be_in_another_order_without_any_value_or_categories(tmp_path: Path) -> None:
    pl.DataFrame({"case": pl.Series(["a"], dtype=pl.Categorical), "rank": [None]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"rank": [2], "case": ["b"]}).write_parquet(tmp_path / "2.parquet")
    tables = Input.of(tmp_path)
    assert tuple(tables.schema) == ("case", "rank")
    assert pl.concat(tables.chunks(10)).rows() == [("a", None), ("b", 2)]


# What is refused ----------------------------------------------------------------------------------------


def refused(given_: object) -> FormatError:
    with pytest.raises(FormatError) as caught:
        list(Input.of(given_).chunks(10))  # type: ignore[arg-type]  # that is what is tried
    return caught.value


@pytest.mark.parametrize(
    ("columns", "words"), [({"rank": [1, 1, 1]}, ["'rank'"]), ({"case": [1, 1, 2]}, ["'case'", "Int64"])]
)
def test_files_with_other_columns_or_types_are_named(
    tmp_path: Path, columns: dict[str, list[object]], words: list[str]
) -> None:
    places = [*written(tmp_path, "1"), *written(tmp_path, "2", **columns)]
    error = refused(tmp_path)
    assert error.where == " and ".join(places)
    assert all(word in error.got for word in words)


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


def test_nothing_found_or_found_twice_is_an_error(tmp_path: Path) -> None:
    (place,) = written(tmp_path, "sub/1")
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.csv").write_text("case\nx\n")
    told: list[tuple[Any, str]] = [
        (tmp_path / "nothing", "there is no such file"),
        (f"{tmp_path}/*.parquet", "no file fits the pattern"),
        (tmp_path / "folder", "the directory holds no Parquet files"),
        ([], "the list of files is empty"),
        ([place, str(tmp_path)], "a file is given twice"),
        (tmp_path / "a.csv", "studies that are split or large need Parquet files throughout"),
    ]
    for given_, problem in told:
        assert refused(given_).problem == problem
    assert Input.of(tmp_path / "a.csv", is_small=True).n_rows() == 1
    nowhere = f"file://{tmp_path}/none.parquet"
    assert nowhere in str(refused(nowhere))


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


def test_files_that_say_who_or_how_many_are_one_table_and_other_inputs_are_not_split(tmp_path: Path) -> None:
    place = tmp_path / "1.parquet"
    said: list[dict[str, list[Any]]] = [{"annotator": ["A"]}, {"votes": [2]}, {"n_votes": [2]}, {"annotation": [1]}]
    for columns in (*said, {"score": [0.5]}):
        pl.DataFrame({"case": ["a"], "label": ["x"], **columns}).write_parquet(place)
        assert is_split(tmp_path)
        assert is_split([str(place)])
        assert not is_split(place)
    assert is_split(["s3://store/a.parquet"])
    (tmp_path / "2.csv").write_text("case,label\n", encoding="utf-8")
    others: list[Any] = [tmp_path, tmp_path / "2.csv", tmp_path / "missing.parquet", [], 3]
    assert not any(map(is_split, others))


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
    written(tmp_path, "2", case=["a", "a", "c"])
    after = Input.of(tmp_path).fingerprints()
    assert [place for place in places if after[place] != before[place]] == places[1:]


def test_an_address_is_asked_by_fsspec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    pytest.importorskip("fsspec")
    (place,) = written(tmp_path, "1")
    tables = Input.of(f"file://{place}")
    assert (tables.n_rows(), tuple(tables.schema)) == (3, tuple(ROWS))
    (told,) = tables.fingerprints().values()
    assert told.startswith(f"size:{Path(place).stat().st_size} tag:")
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match="pip install fsspec"):
        tables.fingerprints()


# Pieces -------------------------------------------------------------------------------------------------


def opinions(n_cases: int, seed: int, *, first: int = 0, text: bool = True) -> pl.DataFrame:
    """Make rows of cases that stand in any order."""
    rng = np.random.default_rng(seed)
    case = rng.permutation(np.repeat(np.arange(first, first + n_cases), rng.integers(1, 6, n_cases)))
    names = pl.Series("case", [f"case {one}" for one in case]) if text else pl.Series("case", case)
    row = pl.Series("row", np.arange(len(case)) + 1000 * first)
    return pl.DataFrame([names, row, pl.Series("label", [f"x{one}" for one in rng.integers(0, 4, len(case))])])


def split(
    place: Path, n_buckets: int = 3, *, n_files: int = 3, advance: Any = lambda _: None, **frames: Any
) -> Partition:
    """Write tables, or those of several generations, into some files each, and split them."""
    generations: dict[str, list[Input]] = {}
    for name, given_ in frames.items():
        for number, frame in enumerate(given_ if isinstance(given_, list) else [given_]):
            folder = place / f"given {name} {number}"
            folder.mkdir(parents=True, exist_ok=True)
            size = -(-len(frame) // n_files) or 1
            for part in range(n_files):
                frame[part * size : (part + 1) * size].write_parquet(folder / f"{part}.parquet")
            generations.setdefault(name.replace("_", " "), []).append(Input.of(folder))
    columns = dict.fromkeys(generations, "case")
    return partitioned(generations, columns, place / "split", n_buckets=n_buckets, advance=advance)


def frames_of(found: Partition) -> dict[str, dict[str, pl.DataFrame]]:
    return {piece: frames_from(found.payload(piece)) for piece in found.digests}


def names_in(frame: pl.DataFrame) -> list[str]:
    return frame["case"].cast(pl.String).unique(maintain_order=True).to_list()


@settings(max_examples=15, deadline=None)
@given(n_cases=st.integers(1, 40), n_buckets=st.integers(1, 9), seed=st.integers(0, 99), text=st.booleans())
def test_every_row_is_in_the_piece_of_its_case_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, n_cases: int, n_buckets: int, seed: int, text: bool
) -> None:
    frame, told = opinions(n_cases, seed, text=text), list[int]()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "MOST_ROWS", 7)
        found = split(tmp_path_factory.mktemp("split"), n_buckets, advance=told.append, study=frame)
    pieces = {piece: frames["study"] for piece, frames in frames_of(found).items()}
    assert pl.concat(pieces.values()).sort("row").equals(frame)
    assert sum(told) == len(frame)
    for piece, rows in pieces.items():
        assert rows["row"].is_sorted()
        assert set(buckets_of(rows["case"].cast(pl.String), n_buckets).tolist()) == {int(piece.partition("-")[2])}


def test_models_and_strata_hold_the_cases_of_the_study_only(tmp_path: Path) -> None:
    study, model = opinions(20, 1), opinions(30, 2, first=5)
    strata = pl.DataFrame({"case": [f"case {one}" for one in range(40)], "site": ["s"] * 40})
    found = split(tmp_path, 50, study=study, model_0=model, strata=strata)
    for frames in frames_of(found).values():
        own = set(names_in(frames["study"]))
        assert set(names_in(frames["model 0"])) == own & set(names_in(model))
        assert set(names_in(frames["strata"])) == own
        assert frames["model 0"].schema == model.schema  # even without rows
    match = found.matches["model 0"]
    assert (match.n_study, match.n_model, match.n_common) == (20, 30, 15)


@pytest.mark.parametrize(
    ("cases", "names"), [([1.0, 2.0, 10.0**6], ["1", "1000000", "2"]), ([1.0, 2.5, 3.0], ["1.0", "2.5", "3.0"])]
)
def test_numbers_are_names_as_readers_make_them(cases: list[float], names: list[str], tmp_path: Path) -> None:
    found = split(tmp_path, 3, study=pl.DataFrame({"case": names}), model_0=pl.DataFrame({"case": cases}))
    assert found.matches["model 0"] == Match(3, 3, 3)
    assert sorted(name for frames in frames_of(found).values() for name in names_in(frames["model 0"])) == names


def test_rows_without_a_case_come_first_in_every_piece(tmp_path: Path) -> None:
    study = pl.DataFrame({"case": ["a", None, "b", "c", ""], "label": ["x", "y", "x", "x", "z"]})
    pieces = frames_of(split(tmp_path, 5, study=study)).values()
    assert len(pieces) > 1
    assert all(frames["study"]["label"].to_list()[:2] == ["y", "z"] for frames in pieces)
    nothing = pl.DataFrame({"case": pl.Series([None, None], dtype=pl.String), "label": ["x", "y"]})
    (frames,) = frames_of(split(tmp_path / "nothing", 5, study=nothing)).values()
    assert len(frames["study"]) == 2


def test_digests_depend_on_the_rows_only(tmp_path: Path) -> None:
    one = split(tmp_path / "one", 2, study=opinions(20, 1), model_0=opinions(20, 2))
    assert split(tmp_path / "two", 2, n_files=1, study=opinions(20, 1), model_0=opinions(20, 2)).digests == one.digests
    other = split(tmp_path / "other", 2, study=opinions(20, 1), model_0=opinions(20, 3)).digests
    assert not set(one.digests.values()) & set(other.values())
    with pytest.raises(FormatError, match="damaged or cut off"):
        frames_from(one.payload("0-00000")[:-3])


def test_added_cases_are_pieces_of_their_own_and_added_rows_join_those_of_their_case(tmp_path: Path) -> None:
    first, new, known = opinions(20, 1), opinions(20, 2, first=100), opinions(3, 2)
    before = split(tmp_path / "1", 3, study=first).digests
    after = split(tmp_path / "2", 3, study=[first, new]).digests
    assert {piece: after[piece] for piece in before} == before
    assert {piece[0] for piece in after.keys() - before.keys()} == {"1"}
    found = split(tmp_path / "3", 3, study=[first, known])
    assert list(found.digests) == list(before)
    changed = {int(piece[2:]) for piece, digest in found.digests.items() if digest != before[piece]}
    assert changed == set(buckets_of(known["case"], 3).tolist())
    third = split(tmp_path / "4", 1, study=[pl.DataFrame({"case": [one]}) for one in ("a", "b", "a")])
    assert [len(frames["study"]) for frames in frames_of(third).values()] == [2, 1]
    assert third.rows_about(["b", "a"])["study"]["case"].to_list() == ["b", "a", "a"]


class Killed(BaseException):
    """Stands for a process that ends at once."""


@pytest.mark.parametrize("step", ["rename", "write_bytes"])
def test_a_killed_split_is_begun_again_and_ends_with_the_same(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying(*_: object, **__: object) -> None:
        raise Killed

    expected = split(tmp_path / "whole", 4, study=opinions(30, 1)).digests
    with monkeypatch.context() as patched:
        patched.setattr(Path, step, dying)
        with pytest.raises(Killed):
            split(tmp_path / "killed", 4, study=opinions(30, 1))
    assert not (tmp_path / "killed" / "split").exists()
    assert split(tmp_path / "killed", 4, study=opinions(30, 1)).digests == expected
    told = list[int]()
    assert split(tmp_path / "killed", 4, advance=told.append, study=opinions(30, 1)).digests == expected
    assert not told  # it is not split again


def test_what_cannot_be_split_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {
        "no rows": opinions(3, 1)[:0],
        "not a name": pl.DataFrame({"case": [1.0, float("nan")]}),
        "no column 'case'": pl.DataFrame({"cas": ["a"]}),
    }
    for problem, study in wrong.items():
        with pytest.raises(DissensusError, match=problem):
            split(tmp_path / problem, study=study)
    found = split(tmp_path / "index", study=opinions(3, 1))
    (found.place / module.INDEX).write_text("{")
    with pytest.raises(FormatError, match="the split input is damaged") as caught:
        split(tmp_path / "index", study=opinions(3, 1))
    assert "--resume" in caught.value.advice

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_ipc_stream", full)
    with pytest.raises(FormatError, match="no space left on device"):
        split(tmp_path / "full", study=opinions(10, 1))
