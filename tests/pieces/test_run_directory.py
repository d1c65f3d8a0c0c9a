"""The directory of a run: one process at a time, nothing half written, and results that come last."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from dissensus.core.errors import FormatError
from dissensus.core.output import UNDERWAY, WRITTEN
from dissensus.pieces.run_directory import Manifest, RunDirectory

MANIFEST = Manifest(
    {"dissensus": "0.2.0", "numpy": "2.4.5"},
    {"study": {"a.parquet": "61", "b.parquet": "62"}, "model": {"m.parquet": "63"}},
    {"draws": 200, "seed": 7, "aggregations": ["dirichlet:1"], "prior": {"kind": "flat", "strength": 1.5}},
    n_buckets=24,
)
KEYS = [f"{number:064x}" for number in range(4)]


def results(place: Path) -> None:
    (place / "summary.json").write_text("[]")
    (place / "run.json").write_text("{}")


def go_on(path: Path, manifest: Manifest = MANIFEST) -> int:
    """Do what is left of a run; return how many pieces were computed."""
    with RunDirectory.resumed(path, manifest) as run:
        left = [key for key in KEYS if not run.piece(key, "sums").exists()]
        for key in left:
            run.write(run.table("per_case", key[-1]), key.encode() * 4000)
            run.write(run.piece(key, "sums"), key.encode())
        kept = [place for key in KEYS for place in (run.table("per_case", key[-1]), run.piece(key, "sums"))]
        run.publish(results, kept)
        return len(left)


def content_of(path: Path) -> dict[str, bytes]:
    files = sorted(place for place in path.rglob("*") if place.is_file() and place.name != ".lock")
    return {place.relative_to(path).as_posix(): place.read_bytes() for place in files}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run."""
    assert go_on(tmp_path / "run") == len(KEYS)
    return tmp_path / "run"


def test_a_piece_is_finished_if_its_file_exists(run: Path) -> None:
    before = content_of(run)
    assert go_on(run) == 0
    (run / "pieces" / f"{KEYS[1]}.sums").unlink()
    (run / "pieces" / "unfinished").mkdir()
    (run / "pieces" / "unfinished" / f"{KEYS[1]}.sums").touch()  # as a killed process leaves it
    assert go_on(run) == 1
    assert content_of(run) == before


def test_what_belongs_to_no_piece_is_removed_with_the_results(run: Path) -> None:
    before = content_of(run)
    (run / "pieces" / "input-1").mkdir()
    (run / "pieces" / "input-1" / "0-00001").touch()
    (run / "per_case" / "part-9.parquet").touch()
    go_on(run)
    assert content_of(run) == before


def test_an_unfinished_run_is_neither_taken_for_results_nor_replaced(tmp_path: Path) -> None:
    with RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=False):
        pass
    with pytest.raises(FormatError, match="unfinished run"):
        RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=False)
    go_on(tmp_path / "run")
    with pytest.raises(FormatError, match="exists already"):
        RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=False)
    with RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=True) as run:
        assert not run.is_finished
    assert set(content_of(tmp_path / "run")) == {"manifest.json"}
    assert [place.name for place in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("foreign", ["thesis.tex", "per_case/notes.txt", "pieces/thesis.docx", "mine/run.json", "link"])
def test_a_run_with_something_else_in_it_is_never_replaced(run: Path, foreign: str) -> None:
    (run / foreign).parent.mkdir(exist_ok=True)
    if foreign == "link":
        (run / "per_case" / "part-9.parquet").symlink_to(run / "elsewhere.parquet")
    else:
        (run / foreign).write_text("years of work")
    before = content_of(run)
    with pytest.raises(FormatError, match="holds something else") as caught:
        RunDirectory.new(run, MANIFEST, overwrite=True)
    assert caught.value.got in (foreign, "mine", "per_case/part-9.parquet")
    assert content_of(run) == before


def test_a_directory_that_holds_an_input_is_never_replaced(run: Path) -> None:
    inside = str(run / "per_case" / "part-0.parquet")
    given = replace(MANIFEST, inputs={"study": {inside: "1"}}, generations=())
    with pytest.raises(FormatError, match="holds an input"):
        RunDirectory.new(run, given, overwrite=True)


@pytest.mark.parametrize(
    ("spoiled", "told"),
    [
        (b"", "the manifest of the run is damaged"),
        (b"[1]", "the manifest of the run is damaged"),
        (MANIFEST.to_json()[:-9], "the manifest of the run is damaged"),
        (MANIFEST.to_json().replace(b'"version": 2', b'"version": 1'), "begun by another version"),
        (None, "this is not the directory of a run"),
    ],
)
def test_a_run_without_a_manifest_does_not_go_on(run: Path, spoiled: bytes | None, told: str) -> None:
    (run / "manifest.json").unlink() if spoiled is None else (run / "manifest.json").write_bytes(spoiled)
    with pytest.raises(FormatError, match=told):
        RunDirectory.resumed(run, MANIFEST)


def test_what_was_asked_differently_is_shown_and_changes_nothing(run: Path) -> None:
    before = content_of(run)
    now = replace(MANIFEST, options={**MANIFEST.options, "draws": 500, **{f"o{n}": n for n in range(30)}})
    with pytest.raises(FormatError, match="draws: 200 then, 500 now") as caught:
        go_on(run, now)
    assert "and 19 more" in str(caught.value)
    assert content_of(run) == before


def test_files_may_be_added_and_the_run_is_unfinished_then(run: Path) -> None:
    more = replace(MANIFEST, inputs={**MANIFEST.inputs, "study": {**MANIFEST.inputs["study"], "c.parquet": "9"}})
    with RunDirectory.resumed(run, replace(more, generations=())) as found:
        assert not found.is_finished
        assert found.manifest.generations[1] == {"study": ["c.parquet"]}
    assert Manifest.read(run) == found.manifest


HOLD = """
import os, sys, time
from pieces.test_run_directory import MANIFEST
from dissensus.pieces.run_directory import RunDirectory
run = RunDirectory.resumed(sys.argv[1], MANIFEST)
child = os.fork()
if not child:
    time.sleep(60)
print(child, flush=True)
time.sleep(60)
"""


def test_two_processes_do_not_write_into_one_run_and_a_killed_one_blocks_nobody(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-W", "ignore", "-c", HOLD, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        again: list[Callable[..., RunDirectory]] = [RunDirectory.resumed, partial(RunDirectory.new, overwrite=True)]
        for begin in again:
            with pytest.raises(FormatError, match="another process writes into this directory") as caught:
                begin(tmp_path / "run", MANIFEST)
            assert caught.value.got.startswith(f"process {process.pid} on ")
        process.kill()
        process.wait()
        try:
            os.kill(child, 0)  # a process that it started lives on
            with RunDirectory.resumed(tmp_path / "run", MANIFEST):
                pass
        finally:
            os.kill(child, 9)


def test_ctrl_c_says_how_to_go_on_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    with RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=False) as run:
        assert WRITTEN[-1].endswith("run (unfinished: the same command with --resume goes on)")
        (run.path / "pieces" / "unfinished").mkdir()
        (run.path / "pieces" / "unfinished" / "half").touch()
        for remove in list(UNDERWAY.values()):
            remove()
        assert set(content_of(run.path)) == {"manifest.json"}
        run.publish(results, [])
        assert WRITTEN[-1] == str(run.path)
    assert not [place for place in UNDERWAY if str(tmp_path) in place]


def test_results_that_fail_leave_the_earlier_ones_and_the_mark_comes_last(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, seen, replaced = content_of(run), list[tuple[str, bool]](), Path.replace

    def half(place: Path) -> None:
        (place / "summary.json").write_text("new")
        raise RuntimeError("no more")

    def watched(place: Path, target: Path) -> Path:
        seen.append((target.name, (run / "run.json").exists()))
        return replaced(place, target)

    with RunDirectory.resumed(run, MANIFEST) as found, pytest.raises(RuntimeError, match="no more"):
        found.publish(half, [])
    assert content_of(run) == before
    monkeypatch.setattr(Path, "replace", watched)
    go_on(run)
    assert seen == [("summary.json", False), ("run.json", False)]


def test_an_error_of_the_disk_is_told_and_what_was_finished_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=False) as run:
        run.write(run.piece(KEYS[0], "sums"), b"sums")
        monkeypatch.setattr("dissensus.pieces.run_directory.os.fsync", full)
        with pytest.raises(FormatError, match="no space left on device") as caught:
            run.write(run.piece(KEYS[1], "sums"), b"sums")
        assert "--resume" in caught.value.advice
        assert run.piece(KEYS[0], "sums").read_bytes() == b"sums"
        assert not run.piece(KEYS[1], "sums").exists()
