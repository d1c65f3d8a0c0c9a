"""Runs that are damaged between two processes or have no room, input and options that change: mended, or refused."""

import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from command_calls import told
from dissensus.core import spec
from dissensus.pieces import evaluation
from dissensus.pieces.inputs import FileFacts
from dissensus.pieces.run_directory import RunDirectory
from faults import large_study as large
from faults.small_study import PAGE, entries, mounted


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study beside a finished run, and beside one that lacks nothing but its results."""
    folder = tmp_path_factory.mktemp("finished")
    large.put_large_study(folder)
    publish = RunDirectory.publish

    def keeping_input(run: RunDirectory, files: Callable[[Path], None], kept: Collection[str]) -> None:
        publish(run, files, [*kept, *(name for name in run.storage.names("pieces") if "/input-" in name)])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunDirectory, "publish", keeping_input)
        assert told(folder, *large.EVALUATE).code == 0
    shutil.copytree(folder / "run", folder / "almost")
    (folder / "almost" / "run.json").unlink()
    (split,) = (folder / "run" / "pieces").glob("input-*")
    shutil.rmtree(split)
    return folder


@pytest.fixture(params=["finished", pytest.param("unfinished", marks=pytest.mark.slow)])
def folder(request: pytest.FixtureRequest, finished: Path, tmp_path: Path) -> Path:
    """A copy of it, with one of the runs; the split input is there in the unfinished one."""
    large.copied(finished, tmp_path)
    if request.param == "unfinished":
        shutil.rmtree(tmp_path / "run")
        (tmp_path / "almost").rename(tmp_path / "run")
    else:
        shutil.rmtree(tmp_path / "almost")
    return tmp_path


only_finished = pytest.mark.parametrize("folder", ["finished"], indirect=True)
only_unfinished = pytest.mark.parametrize("folder", ["unfinished"], indirect=True)


def refused(folder: Path, *parts: str, words: tuple[str, ...] = large.RESUME) -> None:
    """Run a command that is refused with one error, and changes nothing."""
    before = large.content_of(folder)
    outcome = told(folder, *words)
    assert outcome.code == 2, outcome
    assert outcome.err.count("error: ") == 1
    assert all(text.lower() in outcome.err.lower() for text in parts), outcome.err
    assert "Traceback" not in outcome.err
    assert large.content_of(folder) == before


def truncate(place: Path) -> None:
    place.write_bytes(place.read_bytes()[:-20])


def change(place: Path) -> None:
    data = bytearray(place.read_bytes())
    data[len(data) // 2] ^= 1
    place.write_bytes(data)


FAULTS: dict[str, Callable[[Path], None]] = {"truncated": truncate, "changed": change, "removed": Path.unlink}
faults = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)


# Files of the run ---------------------------------------------------------------------------------------


@only_unfinished
def test_what_is_missing_is_computed_again(folder: Path, finished: Path) -> None:
    for ending in ("sums", "survey"):
        min((folder / "run" / "pieces").glob(f"*.{ending}")).unlink()
    outcome = told(folder, *large.RESUME).done()
    total = len(large.sums_of(finished / "run"))
    assert f"{total - 1} of {total} pieces are finished" in outcome.err
    assert large.content_of(folder / "run") == large.content_of(finished / "run")


@only_unfinished
@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("*.sums", "a finished piece is damaged"),
        ("learned.bundle", "--learn-again"),
        ("input-*/index", "the split input is damaged"),
    ],
)
def test_what_is_damaged_is_told_with_what_to_do(folder: Path, finished: Path, pattern: str, problem: str) -> None:
    first = min((folder / "run" / "pieces").glob(pattern))
    truncate(first)
    refused(folder, problem)
    shutil.rmtree(first.parent) if pattern.startswith("input") else first.unlink()
    assert told(folder, *large.RESUME).code == 0
    assert large.content_of(folder / "run") == large.content_of(finished / "run")


# A finished run -----------------------------------------------------------------------------------------


@only_finished
def test_a_finished_run_shows_results_and_computes_nothing_but_a_report(
    folder: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("something is computed")

    refused(folder, "the output directory exists already", words=large.EVALUATE)
    for owner, name in ((evaluation, "FileEvaluation"), (FileFacts, "n_cases"), (evaluation, "write_files")):
        monkeypatch.setattr(owner, name, never)
    before = {place: place.stat().st_mtime_ns for place in (folder / "run").rglob("*.*") if place.name != ".lock"}
    outcome = told(folder, *large.RESUME).done()
    assert outcome.err.startswith("the run is finished, and nothing was added: these are its results\n")
    assert "top-1 accuracy" in outcome.out
    assert {place: place.stat().st_mtime_ns for place in before} == before
    words = [word for word in large.RESUME if word != "--no-report"]
    assert told(folder, *words).code == 0
    found = large.content_of(folder / "run")
    assert b"<html" in found.pop("report.html")
    assert found == large.content_of(finished / "run")


# Input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["study/1.parquet", "A/1.parquet"])
def test_input_that_changed_is_refused(folder: Path, file: str) -> None:
    if file.startswith("A"):
        large.put_predictions(folder, range(1, 5 * large.PIECES), file="1")
    else:
        change(folder / file)
    refused(folder, "the run was asked something else", f"{file} changed")


@faults
def test_input_that_cannot_be_read_any_more_is_one_error(folder: Path, fault: Callable[[Path], None]) -> None:
    for file in ("study/1.parquet", "A/1.parquet"):
        data = (folder / file).read_bytes()
        (folder / file.replace("1", "2")).write_bytes(data)
        fault(folder / file)
        refused(folder, file)
        (folder / file).write_bytes(data)
        (folder / file.replace("1", "2")).unlink()


# Options ------------------------------------------------------------------------------------------------


def replaced(old: str, new: str) -> tuple[str, ...]:
    """Return the command with one word changed."""
    assert old in large.RESUME
    return tuple(new if word == old else word for word in large.RESUME)


def test_options_and_versions_that_changed_are_refused(folder: Path, finished: Path) -> None:
    (folder / "conditions.txt").write_text("Acne\nEczema\nLupus\nTinea\nVitiligo\n")
    wrong: list[tuple[tuple[str, ...], str]] = [
        (replaced("30", "31"), "draws: 30 then, 31 now"),
        (replaced("plackett-luce:3", "dirichlet:1"), "aggregations: "),
        (replaced("A=A", "B=A"), 'reading.models: ["A"] then, ["B"] now'),
        ((*large.RESUME, "--conditions", "conditions.txt"), "reading.conditions: null then"),
    ]
    for words, part in wrong:
        refused(folder, "the run was asked something else", part, words=words)
    there = {**spec.present_versions(), "numpy": "0.1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "present_versions", lambda: there)
        refused(folder, "versions.numpy: ", "0.1 now")
    told(folder, *replaced("5", "20")).done()  # another size of pieces is no difference
    assert large.content_of(folder / "run") == large.content_of(finished / "run")
    assert json.loads((folder / "run" / "manifest.json").read_text())["n_buckets"] == large.PIECES


# Places -------------------------------------------------------------------------------------------------


@only_finished
@pytest.mark.parametrize("how", [(), ("--overwrite",)], ids=["new", "overwritten"])
def test_nothing_is_written_where_the_input_is(folder: Path, how: tuple[str, ...]) -> None:
    for out in ("study", "study/.run", "A/deeper", "."):
        refused(folder, words=large.words_of(*how, out=out))
        assert entries(folder / "study") == ["1.parquet"]


@pytest.fixture
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of its own."""
    with mounted(tmp_path_factory.mktemp("disk"), 2000) as place:
        yield place


@pytest.mark.slow
@only_finished
@pytest.mark.parametrize("pages", [0, 8, 100])
def test_a_run_on_a_full_disk_is_one_error_and_goes_on_later(folder: Path, disk: Path, pages: int) -> None:
    ballast, room = disk / "ballast", os.statvfs(disk)
    ballast.write_bytes(bytes(PAGE * (room.f_bavail * room.f_bsize // PAGE - pages)))
    words = large.words_of("--resume", out=str(disk / "run"))
    refused(folder, "no space left on device", words=words)
    assert not (disk / "run" / "run.json").exists()
    assert set(entries(disk)) <= {"ballast", "run"}
    ballast.unlink()
    told(folder, *words).done()
    assert large.content_of(disk / "run") == large.content_of(folder / "run")
