"""Parquet files that hold one table together, and how they are split by case into pieces."""

import importlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.core.errors import DissensusError, FormatError, MissingExtraError
from dissensus.pieces import inputs as module
from dissensus.pieces import partition
from dissensus.pieces.inputs import FileFacts, Input, is_large, is_split, look_at_file, mark_of, rows_in
from dissensus.pieces.partition import Partition, Pieces, buckets_of
from dissensus.pieces.run_directory import Storage
from dissensus.predictions.lists import Match

ROWS = {"case": ["a", "a", "b"], "annotator": ["A", "B", "A"], "label": ["x", "y", "x"]}


def written(folder: Path, *names: str, **columns: Any) -> list[str]:
    places = [folder / f"{name}.parquet" for name in names]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame({**ROWS, **columns}).write_parquet(place)
    return [str(place) for place in places]


def test_files_are_found_however_they_are_given(tmp_path: Path) -> None:
    places = written(tmp_path, "p2", "p1", "sub/p3", "_delta_log/0", ".hidden")[:3]
    (tmp_path / "_SUCCESS").touch()
    second, first, third = places
    found: list[tuple[Any, list[str]]] = [(places, places), (second, [second])]
    found += [(tmp_path, [first, second, third]), (f"{tmp_path}/p*.parquet", [first, second])]
    for given_, expected in found:
        assert list(Input.of(given_).places) == expected
    (odd,) = written(tmp_path, "votes[1]*")  # it looks like a pattern
    assert len(Input.of(odd).head(9)) == 3
    assert not is_split(odd)
    written(tmp_path / "parts", "site=a/1", "site=b/2")
    assert tuple(Input.of(tmp_path / "parts").schema) == tuple(ROWS)


@pytest.mark.parametrize(("different", "error"), [(3, 0.0), (4000, 0.0), (100_000, 0.05)])
def test_cases_are_counted_over_all_files(
    tmp_path: Path, different: int, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 30_000)
    for number in range(2):
        names = [f"case {row}" for row in range(number * different // 3, different)]
        pl.DataFrame({"case": names}).write_parquet(tmp_path / f"{number}.parquet")
    facts = [look_at_file(b"", (place, "case")) for place in Input.of(tmp_path).places]
    assert FileFacts.n_cases(facts) == pytest.approx(different, rel=error)


def test_columns_may_be_in_another_order_without_any_value_or_categories(tmp_path: Path) -> None:
    pl.DataFrame({"case": pl.Series(["a"], dtype=pl.Categorical), "rank": [None]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"rank": [2], "case": ["b"]}).write_parquet(tmp_path / "2.parquet")
    tables = Input.of(tmp_path)
    assert tuple(tables.schema) == ("case", "rank")
    assert [rows_in(place, tables.schema).rows() for place in tables.places] == [[("a", None)], [("b", 2)]]


# What is refused ----------------------------------------------------------------------------------------


def refused(given_: Any) -> FormatError:
    with pytest.raises(FormatError) as caught:  # noqa: PT012 - files are looked at, then read
        tables = Input.of(given_)
        for place in tables.places:
            rows_in(place, tables.schema)
    return caught.value


def test_files_with_other_columns_or_types_are_named(tmp_path: Path) -> None:
    first = written(tmp_path, "1")
    for column, told in (("rank", "only one of two files has 'rank'"), ("case", "'case' has two types")):
        second = written(tmp_path, "2", **{column: [1, 1, 2]})
        error = refused(tmp_path)
        assert (error.where, error.got[: len(told)]) == (" and ".join([*first, *second]), told)


SPOILED: list[Callable[[bytes], bytes]] = [
    lambda data: data[:-20],
    lambda _: b"",
    lambda _: b"case,label\n",
    lambda data: data[:10] + bytes(60) + data[70:],
    lambda data: data[:-8] + b"\xff\xff\xff\x7f" + data[-4:],
]


@pytest.mark.parametrize("spoil", SPOILED, ids=["cut", "empty", "text", "middle", "footer"])
def test_a_spoiled_file_is_named_once_and_nothing_is_printed(
    tmp_path: Path, spoil: Callable[[bytes], bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    _, place = written(tmp_path, "1", "2")
    Path(place).write_bytes(spoil(Path(place).read_bytes()))
    assert place in str(refused(tmp_path))
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
    assert len(Input.of(tmp_path / "a.csv", is_small=True).head(9)) == 1
    nowhere = f"file://{tmp_path}/none.parquet"
    assert nowhere in str(refused(nowhere))


# What is split ------------------------------------------------------------------------------------------


def test_files_that_say_who_or_how_many_are_one_table_and_other_inputs_are_not_split(tmp_path: Path) -> None:
    place = tmp_path / "1.parquet"
    for column in ("annotator", "votes", "n_votes", "annotation", "score", "rank"):
        pl.DataFrame({"case": ["a"], "label": ["x"], column: [1]}).write_parquet(place)
        says_who = column != "rank"  # otherwise each file is that of one annotator
        assert [is_split(one) for one in (tmp_path, [str(place)], place)] == [says_who, says_who, False]
    assert is_split(f"{tmp_path}/*.parquet")
    assert is_split(["s3://store/a.parquet"])
    assert all(is_split(tmp_path, **how) for how in ({"opinions": False}, {"columns": {"annotator": "rank"}}))
    (tmp_path / "2.csv").write_text("case,label\n", encoding="utf-8")
    others: list[Any] = [tmp_path, tmp_path / "2.csv", tmp_path / "missing.parquet", [], 3]
    assert not any(map(is_split, others))


def test_a_large_file_says_so_without_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place,) = written(tmp_path, "1")
    assert not is_large(place)
    monkeypatch.setattr(module, "LARGE_ROWS", 2)
    assert [is_large(one) for one in (place, tmp_path, "https://example.org/1.parquet")] == [True, False, False]
    Path(place).write_bytes(b"PAR1 and so on PAR1")
    assert not is_large(place)


# What has changed ---------------------------------------------------------------------------------------


def test_fingerprints_change_with_the_content_only(tmp_path: Path) -> None:
    places = written(tmp_path, "1", "2")
    one, other = before = list(map(mark_of, places))
    assert all(found.startswith("sha256:") and len(found) == 71 for found in before)
    os.utime(places[0], (1, 1))
    assert list(map(mark_of, places)) == before
    written(tmp_path, "2", case=["a", "a", "c"])
    assert (mark_of(places[0]) == one, mark_of(places[1]) == other) == (True, False)


def test_an_address_is_asked_by_fsspec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    (place,) = written(tmp_path, "1")
    (tmp_path / "_SUCCESS").touch()
    for given_ in (f"file://{place}", f"file://{tmp_path}", f"file://{tmp_path}/*.parquet"):
        tables = Input.of(given_)
        assert (tables.places, len(tables.head(9)), tuple(tables.schema)) == ((f"file://{place}",), 3, tuple(ROWS))
    assert mark_of(tables.places[0]).startswith(f"size:{Path(place).stat().st_size} tag:")
    monkeypatch.setattr(importlib, "import_module", Mock(side_effect=ImportError("No module named 'fsspec'")))
    with pytest.raises(MissingExtraError, match="pip install"):
        Input.of(f"file://{place}")


# Pieces -------------------------------------------------------------------------------------------------


def opinions(n_cases: int, seed: int, *, first: int = 0, text: bool = True) -> pl.DataFrame:
    """Make rows of cases that stand in any order."""
    rng = np.random.default_rng(seed)
    case = rng.permutation(np.repeat(np.arange(first, first + n_cases), rng.integers(1, 6, n_cases)))
    names = pl.Series("case", [f"case {one}" for one in case]) if text else pl.Series("case", case)
    row = pl.Series("row", np.arange(len(case)) + 1000 * first)
    return pl.DataFrame([names, row, pl.Series("label", [f"x{one}" for one in rng.integers(0, 4, len(case))])])


class Split(NamedTuple):
    """How tables were split, into what, and the rows of each piece."""

    how: Partition
    known: Pieces
    frames: dict[str, dict[str, pl.DataFrame]]
    digests: dict[str, str]


def split(place: Path, n_buckets: int = 3, *, n_files: int = 3, partitioned: bool = False, **frames: Any) -> Split:
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
    places = [file for own in generations.values() for one in own for file in one.places]
    facts = {one: look_at_file(b"", (one, "case" if "case" in Input((one,)).schema else None)) for one in places}
    how = partition.partition_of(
        generations, columns, facts, Storage(str(place)), "x", n_buckets, is_partitioned=partitioned
    )
    settings = pickle.dumps(how)
    if partitioned:
        done = [partition.compare_files(settings, (piece, piece)) for piece in how.files]
    else:
        for chunk in how.chunks:
            partition.scatter(settings, chunk)
        done = [partition.gather(settings, bucket) for bucket in range(n_buckets)]
    known = Pieces.joined(done)
    return Split(how, known, {piece: how.frames(piece) for piece in known.digests}, dict(known.digests))


def names_in(frame: pl.DataFrame) -> list[str]:
    return frame["case"].cast(pl.String).unique(maintain_order=True).to_list()


@settings(max_examples=15, deadline=None)
@given(n_cases=st.integers(1, 40), n_buckets=st.integers(1, 9), seed=st.integers(0, 99), text=st.booleans())
def test_every_row_is_in_the_piece_of_its_case_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, n_cases: int, n_buckets: int, seed: int, text: bool
) -> None:
    frame = opinions(n_cases, seed, text=text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(partition, "MOST_ROWS", 7)
        found = split(tmp_path_factory.mktemp("split"), n_buckets, study=frame)
    pieces = {piece: frames["study"] for piece, frames in found.frames.items()}
    assert pl.concat(pieces.values()).sort("row").equals(frame)
    assert sum(rows["case"].n_unique() for rows in pieces.values()) == n_cases
    for piece, rows in pieces.items():
        assert rows["row"].is_sorted()
        assert set(buckets_of(rows["case"].cast(pl.String), n_buckets).tolist()) == {int(piece.partition("-")[2])}


def test_pieces_hold_the_cases_of_the_study_only_behind_rows_without_a_case(tmp_path: Path) -> None:
    study, model = opinions(20, 1), opinions(30, 2, first=5)
    strata = pl.DataFrame({"case": [f"case {one}" for one in range(40)], "site": ["s"] * 40})
    found = split(tmp_path, 50, study=study, model_0=model, strata=strata)
    for frames in found.frames.values():
        own = set(names_in(frames["study"]))
        assert set(names_in(frames["model 0"])) == own & set(names_in(model))
        assert set(names_in(frames["strata"])) == own
        assert frames["model 0"].schema == model.schema  # even without rows
    match = found.known.matches["model 0"]
    assert (match.n_study, match.n_model, match.n_common) == (20, 30, 15)
    nameless = pl.DataFrame({"case": ["a", None, "b", "c", ""], "label": ["x", "y", "x", "x", "z"]})
    pieces = split(tmp_path / "nameless", 5, study=nameless).frames.values()
    assert len(pieces) > 1
    assert all(frames["study"]["label"].to_list()[:2] == ["y", "z"] for frames in pieces)


@pytest.mark.parametrize(
    ("cases", "names"), [([1.0, 2.0, 10.0**6], ["1", "1000000", "2"]), ([1.0, 2.5, 3.0], ["1.0", "2.5", "3.0"])]
)
def test_numbers_are_names_as_readers_make_them(cases: list[float], names: list[str], tmp_path: Path) -> None:
    found = split(tmp_path, 3, study=pl.DataFrame({"case": names}), model_0=pl.DataFrame({"case": cases}))
    assert found.known.matches["model 0"] == Match(3, 3, 3)
    assert sorted(name for frames in found.frames.values() for name in names_in(frames["model 0"])) == names


def test_digests_depend_on_the_rows_only(tmp_path: Path) -> None:
    one = split(tmp_path / "one", 2, study=opinions(20, 1), model_0=opinions(20, 2))
    assert split(tmp_path / "two", 2, n_files=1, study=opinions(20, 1), model_0=opinions(20, 2)).digests == one.digests
    other = split(tmp_path / "other", 2, study=opinions(20, 1), model_0=opinions(20, 3)).digests
    assert not {*one.digests.values()} & {*other.values()}
    with pytest.raises(FormatError, match="damaged or cut off"):
        partition.frames_from(one.how.storage.read("pieces/input-x/0-00000")[:-3])


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
    assert [len(frames["study"]) for frames in third.frames.values()] == [2, 1]
    asked = pickle.dumps((third.how, ["b", "a"]))
    about = [partition.rows_about(asked, piece)["study"] for piece in third.digests]
    assert [rows["case", partition.NAME].rows() for rows in about] == [[("a", "a"), ("a", "a")], [("b", "b")]]


def test_a_split_that_was_begun_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = split(tmp_path / "whole", 4, study=opinions(30, 1)).digests
    found = split(tmp_path / "again", 4, study=opinions(30, 1))
    folder = tmp_path / "again" / found.how.folder
    for name in ("study-000001", "0-00002"):
        (folder / name).unlink()
    monkeypatch.setattr(partition, "rows_in", rows := Mock(side_effect=rows_in))
    assert split(tmp_path / "again", 4, study=opinions(30, 1)).digests == expected
    assert rows.call_count == 1  # what was there is not read again


def test_files_that_are_partitioned_by_case_are_pieces_as_they_are(tmp_path: Path) -> None:
    cases = [f"case {number}" for number in range(9)]
    study = pl.DataFrame({"case": cases, "label": ["x", "y", "z"] * 3})
    strata = pl.DataFrame({"case": cases[::-1], "site": ["s"] * 9})
    found = split(tmp_path, partitioned=True, study=study, model_0=study[::-1], strata=strata)
    assert not (tmp_path / "pieces").exists()
    assert found.known.matches["model 0"].n_common == 3
    assert [len(frames["study"]) for frames in found.frames.values()] == [3, 3, 3]
    assert [len(frames["strata"]) for frames in found.frames.values()] == [0, 3, 0]  # files in another order
    with pytest.raises(FormatError, match="the files are not partitioned by case"):
        partition._files_by_piece({"study": [Input(("a", "b"))], "model 0": [Input(("a",))]})
    shared = partition._files_by_piece({"study": [Input(("a", "b"))], "strata": [Input(("s",))]})
    assert len({own["strata"] for own in shared.values()}) == 1


def test_what_cannot_be_split_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {
        "no rows": opinions(3, 1)[:0],
        "not a name": pl.DataFrame({"case": [1.0, float("nan")]}),
        "no column 'case'": pl.DataFrame({"cas": ["a"]}),
    }
    for problem, study in wrong.items():
        with pytest.raises(DissensusError, match=problem):
            split(tmp_path / problem, study=study)
    monkeypatch.setattr("os.fsync", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(FormatError, match=r"(?s)no space left on device.*--resume"):
        split(tmp_path / "full", study=opinions(10, 1))
    with pytest.raises(FormatError, match=r"(?s)a worker does not see the directory of the run.*--scratch"):
        Storage(str(tmp_path / "elsewhere")).write("pieces/x", b"")
    assert not (tmp_path / "elsewhere").exists()
