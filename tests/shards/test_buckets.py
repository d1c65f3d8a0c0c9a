"""Inputs that are split by case into buckets."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.core.errors import DissensusError, FormatError
from dissensus.core.names import case_keys
from dissensus.predictions.alignment import Match
from dissensus.shards import buckets as module
from dissensus.shards.buckets import Buckets, bucketed, buckets_of, fingerprint_of, frames_from
from dissensus.shards.tables import Tables


def opinions(n_cases: int, seed: int, *, first: int = 0, text: bool = True) -> pl.DataFrame:
    """Make rows of cases that stand in any order."""
    rng = np.random.default_rng(seed)
    case = rng.permutation(np.repeat(np.arange(first, first + n_cases), rng.integers(1, 6, n_cases)))
    names = pl.Series("case", [f"case {one}" for one in case]) if text else pl.Series("case", case)
    row = pl.Series("row", np.arange(len(case)) + 1000 * first)
    return pl.DataFrame([names, row, pl.Series("label", [f"x{one}" for one in rng.integers(0, 4, len(case))])])


def written(frame: pl.DataFrame, folder: Path, pieces: int = 3) -> Tables:
    folder.mkdir(parents=True)
    size = -(-len(frame) // pieces)
    for number in range(pieces):
        frame[number * size : (number + 1) * size].write_parquet(folder / f"{number}.parquet")
    return Tables.of(folder)


def split(place: Path, n_buckets: int = 3, generation: int = 0, **frames: pl.DataFrame) -> Buckets:
    inputs = {name.replace("_", " "): frame for name, frame in frames.items()}
    tables = {
        name: written(frame, place.parent / f"given-{generation}-{name}")
        if not (place.parent / f"given-{generation}-{name}").exists()
        else Tables.of(place.parent / f"given-{generation}-{name}")
        for name, frame in inputs.items()
    }
    columns = dict.fromkeys(tables, "case")
    return bucketed(tables, columns, place, n_buckets=n_buckets, generation=generation)


def names_in(frame: pl.DataFrame) -> list[str]:
    return frame["case"].cast(pl.String).unique(maintain_order=True).to_list()


# Rows ---------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    n_cases=st.integers(1, 40),
    n_buckets=st.integers(1, 9),
    seed=st.integers(0, 99),
    text=st.booleans(),
    block=st.sampled_from([1, 300, 1 << 26]),
)
def test_every_row_is_in_the_bucket_of_its_case_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, n_cases: int, n_buckets: int, seed: int, text: bool, block: int
) -> None:
    place = tmp_path_factory.mktemp("split") / "input"
    frame = opinions(n_cases, seed, text=text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "BLOCK_BYTES", block)
        patched.setattr(module, "MOST_ROWS", 7)
        found = split(place, n_buckets, study=frame)
    parts = {shard.bucket: shard.frames()["study"] for shard in found.shards()}
    assert pl.concat(parts.values()).sort("row").equals(frame)
    for bucket, part in parts.items():
        assert part["row"].is_sorted()
        assert set((case_keys(names_in(part)) % np.uint64(n_buckets)).tolist()) == {bucket}
    assert [shard.name for shard in found.shards()] == [f"0-{bucket:05d}" for bucket in sorted(parts)]


@pytest.mark.parametrize("repeated", [1, 5])
def test_buckets_are_keys_modulo_their_number_however_often_names_repeat(repeated: int) -> None:
    names = [f"n{number % 50}" for number in range(50 * repeated)]
    expected = (case_keys(names) % np.uint64(7)).astype(int).tolist()
    assert buckets_of(pl.Series([*names, None]), 7).tolist() == [*expected, 7]


def test_models_and_strata_hold_the_cases_of_the_study_only(tmp_path: Path) -> None:
    study, model = opinions(20, 1), opinions(30, 2, first=5)
    strata = pl.DataFrame({"case": [f"case {one}" for one in range(40)], "site": ["s"] * 40})
    found = split(tmp_path / "input", 4, study=study, model_0=model, strata=strata)
    for shard in found.shards():
        frames = shard.frames()
        assert list(frames) == ["study", "model 0", "strata"]
        own = set(names_in(frames["study"]))
        assert set(names_in(frames["model 0"])) == own & set(names_in(model))
        assert set(names_in(frames["strata"])) == own
        assert frames["model 0"]["row"].is_sorted()


def test_an_input_without_rows_for_a_shard_keeps_its_columns(tmp_path: Path) -> None:
    found = split(tmp_path / "input", 50, study=opinions(30, 1), model_0=opinions(1, 2))
    schemas = {str(shard.frames()["model 0"].schema) for shard in found.shards()}
    assert len(schemas) == 1


def test_integers_and_whole_numbers_with_a_point_are_the_same_cases(tmp_path: Path) -> None:
    study = pl.DataFrame({"case": [1, 2, 3, 10**6], "x": [0, 1, 2, 3]})
    model = pl.DataFrame({"case": [10.0**6, 3.0, 2.0, 1.0], "y": [0, 1, 2, 3]})
    found = split(tmp_path / "input", 3, study=study, model_0=model)
    assert found.matches()["model 0"] == Match(4, 4, 4)
    names = [name for shard in found.shards() for name in names_in(shard.frames()["model 0"])]
    assert sorted(names) == ["1", "1000000", "2", "3"]


def test_numbers_that_are_not_whole_are_names_as_they_stand(tmp_path: Path) -> None:
    found = split(tmp_path / "input", 2, study=pl.DataFrame({"case": [1.0, 2.5, 3.0]}))
    assert sorted(name for shard in found.shards() for name in names_in(shard.frames()["study"])) == [
        "1.0",
        "2.5",
        "3.0",
    ]


def test_rows_without_a_case_come_first_in_every_shard(tmp_path: Path) -> None:
    study = pl.DataFrame({"case": ["a", None, "b", "c", ""], "label": ["x", "y", "x", "x", "z"]})
    shards = split(tmp_path / "input", 5, study=study).shards()
    assert len(shards) > 1
    assert all(shard.frames()["study"]["label"].to_list()[:2] == ["y", "z"] for shard in shards)


def test_a_study_of_nothing_but_rows_without_a_case_is_one_shard(tmp_path: Path) -> None:
    study = pl.DataFrame({"case": pl.Series([None, None], dtype=pl.String), "label": ["x", "y"]})
    (shard,) = split(tmp_path / "input", 5, study=study).shards()
    assert len(shard.frames()["study"]) == 2


def test_few_files_are_written(tmp_path: Path) -> None:
    split(tmp_path / "input", 500, study=opinions(300, 1))
    assert sorted(path.name for path in (tmp_path / "input" / "0-study").iterdir()) == ["index.json", "part-00000"]


# Bytes --------------------------------------------------------------------------------------------------


def test_bytes_hold_the_same_and_depend_on_the_rows_only(tmp_path: Path) -> None:
    study, model = opinions(20, 1), opinions(20, 2)
    one = split(tmp_path / "one" / "input", 2, study=study, model_0=model).shards()
    written(study, tmp_path / "other" / "given-0-study", pieces=1)
    other = split(tmp_path / "other" / "input", 2, study=study, model_0=model).shards()
    for first, second in zip(one, other, strict=True):
        assert first.payload() == second.payload()
        assert first.fingerprint() == second.fingerprint()
        again = frames_from(first.payload())
        assert all(again[name].equals(frame) for name, frame in first.frames().items())
        assert fingerprint_of(again) == first.fingerprint()


def test_the_fingerprint_changes_with_any_value(tmp_path: Path) -> None:
    (shard,) = split(tmp_path / "input", 1, study=opinions(5, 1)).shards()
    frames = shard.frames()
    changed = frames["study"].with_columns(pl.col("row") + 1)
    assert fingerprint_of({"study": changed}) != fingerprint_of(frames)
    assert fingerprint_of({"model 0": frames["study"]}) != fingerprint_of(frames)


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:-3], lambda data: data + b"x", lambda _: b"", lambda data: data[5:]]
)
def test_spoiled_bytes_are_refused(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    (shard,) = split(tmp_path / "input", 1, study=opinions(5, 1)).shards()
    with pytest.raises(FormatError, match="damaged or cut off"):
        frames_from(spoil(shard.payload()))


# Generations --------------------------------------------------------------------------------------------


def test_added_cases_are_shards_of_their_own_and_the_others_stay(tmp_path: Path) -> None:
    place = tmp_path / "input"
    before = {shard.name: shard.fingerprint() for shard in split(place, 3, study=opinions(20, 1)).shards()}
    found = split(place, 3, 1, study=opinions(20, 2, first=100)).shards()
    after = {shard.name: shard.fingerprint() for shard in found}
    assert {name: after[name] for name in before} == before
    assert {name[0] for name in after.keys() - before.keys()} == {"1"}


def test_added_rows_of_known_cases_join_their_shard(tmp_path: Path) -> None:
    place = tmp_path / "input"
    first, second = opinions(20, 1), opinions(3, 2)
    before = {shard.name: shard.fingerprint() for shard in split(place, 3, study=first).shards()}
    shards = split(place, 3, 1, study=second).shards()
    assert [shard.name for shard in shards] == list(before)
    changed = {shard.bucket for shard in shards if shard.fingerprint() != before[shard.name]}
    assert changed == set(buckets_of(second["case"], 3).tolist())
    rows = pl.concat(shard.frames()["study"] for shard in shards)
    assert sorted(rows.rows()) == sorted([*first.rows(), *second.rows()])


def test_shards_that_share_a_case_with_a_third_become_one(tmp_path: Path) -> None:
    place = tmp_path / "input"
    split(place, 1, study=pl.DataFrame({"case": ["a"], "row": [1]}))
    assert len(split(place, 1, 1, study=pl.DataFrame({"case": ["b"], "row": [2]})).shards()) == 2
    (shard,) = split(place, 1, 2, study=pl.DataFrame({"case": ["b", "a"], "row": [3, 4]})).shards()
    assert shard.name == "0-00000"
    assert shard.frames()["study"]["row"].to_list() == [1, 2, 3, 4]


def test_predictions_may_come_with_any_generation(tmp_path: Path) -> None:
    place = tmp_path / "input"
    one, other = pl.DataFrame({"case": ["a"], "p": [1]}), pl.DataFrame({"case": ["b", "a"], "p": [2, 3]})
    split(place, 1, study=pl.DataFrame({"case": ["a"]}), model_0=other.head(1))
    found = split(place, 1, 1, study=pl.DataFrame({"case": ["b"]}), model_0=one)
    assert [shard.frames()["model 0"].rows() for shard in found.shards()] == [[("a", 1)], [("b", 2)]]
    assert found.matches()["model 0"] == Match(2, 2, 2)


def test_a_generation_may_lack_an_input(tmp_path: Path) -> None:
    place = tmp_path / "input"
    split(place, 1, study=pl.DataFrame({"case": ["a"]}), model_0=pl.DataFrame({"case": ["a", "b"]}))
    found = split(place, 1, 1, study=pl.DataFrame({"case": ["b"]}))
    assert [names_in(shard.frames()["model 0"]) for shard in found.shards()] == [["a"], ["b"]]


def test_added_files_with_other_columns_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "input"
    split(place, 1, study=pl.DataFrame({"case": ["a"], "x": [1]}))
    with pytest.raises(FormatError, match="differ from the earlier ones"):
        split(place, 1, 1, study=pl.DataFrame({"case": ["a"], "x": [1.5]}))


# Interruptions ------------------------------------------------------------------------------------------


def watched(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """List the directories that are written from now on."""
    told: list[Path] = []
    real = module._Task.run

    def run(task: module._Task) -> None:
        told.append(task.target)
        real(task)

    monkeypatch.setattr(module._Task, "run", run)
    return told


class Killed(BaseException):
    """Stands for a process that ends at once."""


@pytest.mark.parametrize("step", ["_write_block", "_append", "rename", "write_text"])
def test_a_killed_split_goes_on_and_ends_with_the_same(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames: dict[str, Any] = {"study": opinions(30, 1), "model_0": opinions(30, 2)}
    expected = [shard.payload() for shard in split(tmp_path / "whole" / "input", 4, **frames).shards()]
    place = tmp_path / "killed" / "input"
    owner: Any = {"_write_block": module, "_append": module._Spill}.get(step, Path)
    monkeypatch.setattr(module, "BLOCK_BYTES", 200)
    real, calls = getattr(owner, step), []

    def dying(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2 and step != "write_text":
            raise Killed
        result = real(*arguments, **options)
        if len(calls) == 2:
            raise Killed  # the index is there, but the directory has not got its name
        return result

    with monkeypatch.context() as patched:
        patched.setattr(owner, step, dying)
        with pytest.raises(Killed):
            split(place, 4, **frames)
    finished = [path.name for path in place.iterdir() if path.name[0] != "."]
    assert len(finished) < 2
    told = watched(monkeypatch)
    assert [shard.payload() for shard in split(place, 4, **frames).shards()] == expected
    assert sorted(path.name for path in place.iterdir()) == ["0-model-0", "0-study"]
    assert {path.name for path in told} == {"0-study", "0-model-0"} - set(finished)


def test_finished_inputs_are_not_split_again_unless_their_files_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, frame = tmp_path / "input", opinions(10, 1)
    split(place, 2, study=frame)
    ran = watched(monkeypatch)
    split(place, 2, study=frame)
    assert not ran
    os.utime(tmp_path / "given-0-study" / "0.parquet", (1, 1))
    split(place, 2, study=frame)
    assert len(ran) == 1
    split(place, 3, study=frame)
    assert len(ran) == 2


def test_rows_are_counted_once_each_whether_they_are_split_or_finished(tmp_path: Path) -> None:
    tables = written(opinions(30, 1), tmp_path / "given")
    for _ in range(2):
        told: list[int] = []
        bucketed({"study": tables}, {"study": "case"}, tmp_path / "input", n_buckets=2, advance=told.append)
        assert sum(told) == tables.n_rows()


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_write_block", full)
    with pytest.raises(FormatError, match="no space left on device"):
        split(tmp_path / "input", 2, study=opinions(10, 1))


@pytest.mark.parametrize("spoil", ["cut", "changed", "missing", "index"])
def test_a_damaged_part_is_told(tmp_path: Path, spoil: str) -> None:
    found = split(tmp_path / "input", 1, study=opinions(10, 1))
    (shard,) = found.shards()
    part, index = tmp_path / "input" / "0-study" / "part-00000", tmp_path / "input" / "0-study" / "index.json"
    data = part.read_bytes()
    if spoil == "missing":
        part.unlink()
    elif spoil == "index":
        index.write_text("{", encoding="utf-8")
    else:
        part.write_bytes(data[:-9] if spoil == "cut" else data[:50] + b"?" + data[51:])
    with pytest.raises(FormatError, match="a part of the split input is damaged"):
        shard.frames()


# What is refused ----------------------------------------------------------------------------------------


def test_a_missing_column_is_told(tmp_path: Path) -> None:
    tables = written(opinions(5, 1), tmp_path / "given")
    with pytest.raises(FormatError, match="did you mean 'case'"):
        bucketed({"study": tables}, {"study": "cases"}, tmp_path / "input", n_buckets=2)


def test_impossible_requests_are_told(tmp_path: Path) -> None:
    tables = written(opinions(5, 1), tmp_path / "given")
    with pytest.raises(DissensusError, match="a bucket at least"):
        bucketed({"study": tables}, {"study": "case"}, tmp_path / "input", n_buckets=0)
    with pytest.raises(DissensusError, match="a name that is not known"):
        bucketed({"../study": tables}, {"../study": "case"}, tmp_path / "input", n_buckets=1)
    (tmp_path / "file").touch()
    with pytest.raises(FormatError, match="cannot be written"):
        bucketed({"study": tables}, {"study": "case"}, tmp_path / "file", n_buckets=1)


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="the table has no rows"):
        split(tmp_path / "input", 2, study=pl.DataFrame(schema={"case": pl.String}))


@pytest.mark.parametrize("case", [[float("nan"), 1.0], [float("inf"), 1.5]])
def test_numbers_that_are_none_are_no_cases(tmp_path: Path, case: list[float]) -> None:
    with pytest.raises(FormatError, match="the case of a row is not a name"):
        split(tmp_path / "input", 2, study=pl.DataFrame({"case": case}))


def test_lists_are_no_cases(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="more than one value per row"):
        split(tmp_path / "input", 2, study=pl.DataFrame({"case": [["a"], ["b"]]}))


# Cases of models ----------------------------------------------------------------------------------------


def test_cases_of_only_one_side_are_counted_and_refused_or_noted(tmp_path: Path) -> None:
    found = split(
        tmp_path / "input", 7, study=opinions(20, 1), model_0=opinions(30, 2, first=5), model_1=opinions(20, 3)
    )
    matches = found.matches()
    assert matches["model 1"].notes("B", allow_missing=False) == ()
    with pytest.raises(DissensusError, match="the cases of the study and of the predictions differ") as caught:
        matches["model 0"].notes("A", allow_missing=False)
    assert "5 cases without a prediction" in caught.value.got
    assert "15 predictions on cases outside the study" in caught.value.got
    assert caught.value.where == "model 'A'"
    notes = matches["model 0"].notes("A", allow_missing=True)
    assert [(note.count, note.lost, len(note.examples)) for note in notes] == [(5, True, 5), (15, True, 5)]


def test_a_model_of_other_cases_altogether_is_refused(tmp_path: Path) -> None:
    found = split(tmp_path / "input", 2, study=opinions(5, 1), model_0=opinions(5, 1, first=50))
    with pytest.raises(DissensusError, match="no case of the study is among the predictions"):
        found.matches()["model 0"].notes("A", allow_missing=True)
