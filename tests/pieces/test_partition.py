"""Inputs that are split by case into pieces."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.core.errors import FormatError
from dissensus.pieces import partition as module
from dissensus.pieces.inputs import Input
from dissensus.pieces.partition import Partition, buckets_of, frames_from, partitioned
from dissensus.predictions.alignment import Match


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


@pytest.mark.parametrize("step", ["rename", "write_text", "write_bytes"])
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
    with pytest.raises(FormatError, match="no rows"):
        split(tmp_path / "none", study=opinions(3, 1)[:0])
    with pytest.raises(FormatError, match="not a name"):
        split(tmp_path / "nan", study=pl.DataFrame({"case": [1.0, float("nan")]}))
    with pytest.raises(FormatError, match="no column 'case'"):
        split(tmp_path / "column", study=pl.DataFrame({"cas": ["a"]}))
    found = split(tmp_path / "index", study=opinions(3, 1))
    (found.place / "index.json").write_text("{")
    with pytest.raises(FormatError, match="the split input is damaged") as caught:
        split(tmp_path / "index", study=opinions(3, 1))
    assert "--resume" in caught.value.advice

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module._Splitting, "_append", full)
    with pytest.raises(FormatError, match="no space left on device"):
        split(tmp_path / "full", study=opinions(10, 1))
