"""Files of a run that are damaged between two processes, and input or options that change: mended, or refused."""

import json
import shutil
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from dissensus.cli import main
from dissensus.core import versions
from dissensus.pieces import evaluation
from dissensus.pieces.run_directory import RunDirectory
from faults.large_study import (
    EVALUATE,
    RESUME,
    Folder,
    content_of,
    copied,
    put_large_study,
    put_predictions,
    sums_of,
    words_of,
)
from faults.small_study import another_user, entries


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study beside a finished run, and beside one that lacks nothing but its results."""
    folder = tmp_path_factory.mktemp("finished")
    put_large_study(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(RunDirectory, "publish", keeping_input)
        patch.setattr("sys.argv", ["dissensus", *EVALUATE])
        with pytest.raises(SystemExit) as left:
            main()
        assert not left.value.code
    shutil.copytree(folder / "run", folder / "almost")
    (folder / "almost" / "run.json").unlink()
    (split,) = (folder / "run" / "pieces").glob("input-*")
    shutil.rmtree(split)
    return folder


def keeping_input(run: RunDirectory, files: Callable[[Path], None], kept: Collection[Path]) -> None:
    publish(run, files, [*kept, *(run.path / "pieces").glob("input-*")])


publish = RunDirectory.publish


@pytest.fixture(params=["finished", pytest.param("unfinished", marks=pytest.mark.slow)])
def folder(
    request: pytest.FixtureRequest,
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Folder:
    """A copy of it, with one of the runs; the split input is there in the unfinished one."""
    copied(finished, tmp_path)
    other = tmp_path / "almost"
    if request.param == "unfinished":
        shutil.rmtree(tmp_path / "run")
        other.rename(tmp_path / "run")
    else:
        shutil.rmtree(other)
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path, monkeypatch, capsys)


only_finished = pytest.mark.parametrize("folder", ["finished"], indirect=True)
only_unfinished = pytest.mark.parametrize("folder", ["unfinished"], indirect=True)


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
@pytest.mark.parametrize("ending", ["sums", "survey"])
def test_what_is_missing_is_computed_again(folder: Folder, finished: Path, ending: str) -> None:
    first = min((folder.run / "pieces").glob(f"*.{ending}"))
    first.unlink()
    outcome = folder.call(*RESUME)
    assert outcome.code == 0, outcome.err
    total = len(sums_of(finished / "run"))
    assert (f"{total - 1} of {total} pieces are finished" in outcome.err) == (ending == "sums")
    assert content_of(folder.run) == content_of(finished / "run")


@only_unfinished
@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("*.sums", "a finished piece is damaged"),
        ("learned.bundle", "--learn-again"),
        ("input-*/index.bundle", "the split input is damaged"),
    ],
)
def test_what_is_damaged_is_told_with_what_to_do(folder: Folder, finished: Path, pattern: str, told: str) -> None:
    first = min((folder.run / "pieces").glob(pattern))
    truncate(first)
    outcome = folder.call(*RESUME)
    assert outcome.code == 2
    assert told in outcome.err
    assert outcome.err.count("error: ") == 1
    shutil.rmtree(first.parent) if pattern.startswith("input") else first.unlink()
    assert folder.call(*RESUME).code == 0
    assert content_of(folder.run) == content_of(finished / "run")


@only_finished
@faults
@pytest.mark.parametrize("file", ["arrays.parquet", "run.json"])
def test_results_that_are_damaged_are_not_shown(folder: Folder, file: str, fault: Callable[[Path], None]) -> None:
    fault(folder.run / file)
    outcome = folder.call(*RESUME)
    assert outcome.code == (0 if (file, fault) == ("run.json", Path.unlink) else 2)
    assert "Traceback" not in outcome.err


@only_finished
def test_a_damaged_manifest_is_told_and_the_run_may_be_replaced(folder: Folder, finished: Path) -> None:
    truncate(folder.run / "manifest.json")
    outcome = folder.call(*RESUME)
    assert outcome.code == 2
    assert "the manifest of the run is damaged" in outcome.err
    assert folder.call(*words_of("--overwrite")).code == 0
    assert content_of(folder.run) == content_of(finished / "run")


# A finished run -----------------------------------------------------------------------------------------


@only_finished
def test_a_finished_run_shows_its_results_and_computes_nothing(folder: Folder, finished: Path) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("something is computed")

    for name in ("partitioned", "worked", "write_files"):
        folder.patch.setattr(evaluation, name, never)
    folder.patch.setattr("dissensus.pieces.inputs.Input.n_distinct", never)
    before = {place: place.stat().st_mtime_ns for place in folder.run.rglob("*.*") if place.name != ".lock"}
    outcome = folder.call(*RESUME)
    assert outcome.code == 0, outcome.err
    assert outcome.err == "the run is finished, and nothing was added: these are its results\n"
    assert "top-1 accuracy" in outcome.out
    assert {place: place.stat().st_mtime_ns for place in before} == before
    assert content_of(folder.run) == content_of(finished / "run")


@only_finished
def test_a_finished_run_gets_the_report_that_was_not_asked_for_before(folder: Folder, finished: Path) -> None:
    words = [word for word in RESUME if word != "--no-report"]
    assert folder.call(*words).code == 0
    found = content_of(folder.run)
    assert b"<html" in found.pop("report.html")
    assert found == content_of(finished / "run")


@only_finished
def test_a_finished_run_is_not_begun_again_by_mistake(folder: Folder) -> None:
    outcome = folder.call(*EVALUATE)
    assert outcome.code == 2
    assert "the output directory exists already" in outcome.err


# Input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["study/1.parquet", "A/1.parquet"])
def test_input_that_changed_is_refused(folder: Folder, file: str) -> None:
    before = content_of(folder.run)
    if file.startswith("A"):
        put_predictions(folder.place, range(1, 60), file="1")
    else:
        change(folder.place / file)
    outcome = folder.call(*RESUME)
    assert outcome.code == 2
    assert "the run was asked something else" in outcome.err
    assert f"{file} changed" in outcome.err
    assert content_of(folder.run) == before


@pytest.mark.parametrize("file", ["study/1.parquet", "A/1.parquet"])
@faults
def test_input_that_cannot_be_read_any_more_is_one_error(
    folder: Folder, file: str, fault: Callable[[Path], None]
) -> None:
    before = content_of(folder.run)
    shutil.copy(folder.place / file, folder.place / file.replace("1", "2"))
    fault(folder.place / file)
    outcome = folder.call(*RESUME)
    assert outcome.code == 2
    assert outcome.err.count("error: ") == 1
    assert file in outcome.err
    assert "Traceback" not in outcome.err
    assert content_of(folder.run) == before


@only_finished
def test_input_that_may_not_be_read_is_told(finished: Path, folder: Folder) -> None:
    folder.patch.setattr("dissensus.cli.terminal.compile_on_first_use", lambda *_, **__: None)
    assert folder.call(*RESUME).code == 0  # modules that are not imported yet may be out of reach for others
    with tempfile.TemporaryDirectory() as place:
        top = copied(folder.place, Path(place))
        top.chmod(0o777)
        (top / "study" / "1.parquet").chmod(0)
        folder.patch.chdir(top)
        with another_user():
            outcome = folder.call(*RESUME)
        assert outcome.code == 2
        assert "permission denied" in outcome.err.lower()
        assert content_of(top / "run") == content_of(finished / "run")
        folder.patch.chdir(folder.place)


# Options ------------------------------------------------------------------------------------------------


def replaced(old: str, new: str) -> tuple[str, ...]:
    """Return the command with one word changed."""
    assert old in RESUME
    return tuple(new if word == old else word for word in RESUME)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (replaced("30", "31"), "draws: 30 then, 31 now"),
        (replaced("top-k-accuracy:1", "top-k-accuracy:2"), "metrics: "),
        (replaced("plackett-luce:3", "dirichlet:1"), "aggregations: "),
        (replaced("A=A", "B=A"), 'reading.models: ["A"] then, ["B"] now'),
        ((*RESUME, "--seed", "3"), "seed: 0 then, 3 now"),
        ((*RESUME, "--level", "0.8"), "level: 0.9 then, 0.8 now"),
        ((*RESUME, "--predictions", "B=A"), "model 1: not given then, given now"),
        ((*RESUME, "--conditions", "conditions.txt"), "reading.conditions: null then"),
    ],
)
def test_options_that_changed_are_refused(folder: Folder, words: tuple[str, ...], told: str) -> None:
    (folder.place / "conditions.txt").write_text("Acne\nEczema\nLupus\nTinea\nVitiligo\n")
    before = content_of(folder.run)
    outcome = folder.call(*words)
    assert outcome.code == 2, outcome.err
    assert "the run was asked something else" in outcome.err
    assert told in outcome.err
    assert content_of(folder.run) == before


def test_other_versions_are_refused(folder: Folder) -> None:
    there = {**versions.present_versions(), "numpy": "0.1"}
    folder.patch.setattr(evaluation, "present_versions", lambda: there)
    outcome = folder.call(*RESUME)
    assert outcome.code == 2
    assert "versions.numpy: " in outcome.err
    assert "0.1 now" in outcome.err


def test_another_size_of_pieces_is_no_difference(folder: Folder, finished: Path) -> None:
    outcome = folder.call(*replaced("5", "20"))
    assert outcome.code == 0, outcome.err
    assert content_of(folder.run) == content_of(finished / "run")
    assert json.loads((folder.run / "manifest.json").read_text())["n_buckets"] == 12


# Places -------------------------------------------------------------------------------------------------


@only_finished
@pytest.mark.parametrize("out", ["study", "study/.run", "A/deeper", "."])
@pytest.mark.parametrize("how", [(), ("--overwrite",)], ids=["new", "overwritten"])
def test_nothing_is_written_where_the_input_is(folder: Folder, out: str, how: tuple[str, ...]) -> None:
    before = content_of(folder.place)
    outcome = folder.call(*words_of(*how, out=out))
    assert outcome.code == 2, outcome.err
    assert outcome.err.count("error: ") == 1
    assert content_of(folder.place) == before
    assert entries(folder.place / "study") == ["1.parquet"]
