"""The directory of a run: one process at a time, nothing half written, and results that come last."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from dissensus.core.errors import FormatError
from dissensus.pieces.run_directory import Manifest, piece_of, run_in, table_of

MANIFEST = Manifest(
    [{"study": {"a.parquet": "61", "b.parquet": "62"}, "model 0": {"m.parquet": "63"}}],
    {"draws": 200, "aggregations": ["dirichlet:1"], "prior": {"kind": "flat"}, "versions": {"numpy": "2.4.5"}},
    n_buckets=24,
)
KEYS = [f"{number:064x}" for number in range(4)]


def results(place: Path) -> None:
    (place / "summary.json").write_text("[]")
    (place / "run.json").write_text("{}")


def go_on(path: Path, manifest: Manifest = MANIFEST) -> int:
    """Do what is left of a run; return how many pieces were computed."""
    names = {key: (table_of("per_case", key[-1]), piece_of(key, "sums")) for key in KEYS}
    with run_in(path, manifest, resume=True) as run:
        left = [key for key, (_, sums) in names.items() if not run.storage.has(sums)]
        for key in left:
            for name in names[key]:
                run.storage.write(name, key.encode() * 4000)
        run.publish(results, [name for both in names.values() for name in both])
        return len(left)


def refused(path: Path, problem: str, manifest: Manifest = MANIFEST, **how: Any) -> FormatError:
    """Begin a run that cannot be begun, and assert that nothing changes."""
    before = content_of(path)
    with pytest.raises(FormatError, match=problem) as caught, run_in(path, manifest, **how):
        pass
    assert content_of(path) == before
    return caught.value


def content_of(path: Path) -> dict[str, bytes]:
    files = sorted(place for place in path.rglob("*") if place.is_file() and place.name != ".lock")
    return {place.relative_to(path).as_posix(): place.read_bytes() for place in files}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run."""
    assert go_on(tmp_path / "run") == len(KEYS)
    return tmp_path / "run"


def test_a_piece_is_finished_if_its_file_exists_and_what_belongs_to_none_is_removed(run: Path) -> None:
    before = content_of(run)
    (run / "pieces" / f"{KEYS[1]}.sums").unlink()
    for left in (f"pieces/unfinished/{KEYS[1]}.sums", "pieces/input-1/0-00001", "per_case/part-9.parquet"):
        (run / left).parent.mkdir(exist_ok=True)  # as a killed process leaves it
        (run / left).touch()
    assert go_on(run) == 1
    assert content_of(run) == before
    assert go_on(run) == 0
    assert (run / ".lock").read_bytes() == b""  # it names no machine


def test_an_unfinished_run_is_neither_taken_for_results_nor_replaced(tmp_path: Path) -> None:
    place = tmp_path / "run"
    with run_in(place, MANIFEST):
        pass
    refused(place, "unfinished run")
    go_on(place)
    refused(place, "exists already")
    with run_in(place, MANIFEST, overwrite=True) as run:
        assert not run.is_finished
    assert set(content_of(place)) == {"manifest.json"}
    assert [one.name for one in tmp_path.iterdir()] == ["run"]


def test_a_run_with_something_else_in_it_is_never_replaced(run: Path) -> None:
    for foreign in ("thesis.tex", "per_case/notes.txt", "pieces/thesis.docx", "mine/run.json"):
        (run / foreign).parent.mkdir(exist_ok=True)
        (run / foreign).write_text("years of work")
        assert refused(run, "holds something else", overwrite=True).got in (foreign, "mine")
        (run / foreign).unlink()
    (run / "mine").rmdir()
    (run / "per_case" / "part-9.parquet").symlink_to(run / "elsewhere.parquet")
    assert refused(run, "holds something else", overwrite=True).got == "per_case/part-9.parquet"


def test_a_directory_that_holds_an_input_is_never_replaced(run: Path) -> None:
    inside = str(run / "per_case" / "part-0.parquet")
    refused(run, "holds an input", replace(MANIFEST, generations=[{"study": {inside: "1"}}]), overwrite=True)


def test_a_run_without_a_manifest_does_not_go_on(run: Path) -> None:
    older = MANIFEST.to_json().replace(b'"version": 3', b'"version": 2')
    for spoiled in (b"", b"[1]", MANIFEST.to_json()[:-9], older):
        (run / "manifest.json").write_bytes(spoiled)
        told = "begun by another version" if spoiled == older else "the manifest of the run is damaged"
        refused(run, told, resume=True)
    (run / "manifest.json").unlink()
    refused(run, "this is not the directory of a run", resume=True)


def test_what_was_asked_differently_is_shown_and_changes_nothing(run: Path) -> None:
    now = replace(MANIFEST, options={**MANIFEST.options, "draws": 500, **{f"o{n}": n for n in range(30)}})
    assert "and 19 more" in str(refused(run, "draws: 200 then, 500 now", now, resume=True))
    fewer = replace(MANIFEST, generations=[{"study": {"a.parquet": "61"}, "strata": {"s.csv": "1"}}])
    assert refused(run, "something else", fewer, resume=True).got.splitlines() == [
        "model 0: given then, not given now",
        "            strata: not given then, given now",
        "            study: b.parquet is missing now",
        "            model 0: m.parquet is missing now",
    ]


def test_files_may_be_added_and_the_run_is_unfinished_then(run: Path) -> None:
    then = MANIFEST.generations[0]
    more = replace(MANIFEST, generations=[{**then, "study": {**then["study"], "c.parquet": "9"}}])
    with run_in(run, more, resume=True) as found:
        assert not found.is_finished
        assert found.manifest.generations[1] == {"study": {"c.parquet": "9"}}
    assert Manifest.read(run) == found.manifest


HOLD = """
import os, sys, time
from pieces.test_run_directory import MANIFEST
from dissensus.pieces.run_directory import run_in
with run_in(sys.argv[1], MANIFEST, resume=True):
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
        for resume in (True, False):
            told = "another process writes into this directory"
            error = refused(tmp_path / "run", told, resume=resume, overwrite=not resume)
            assert error.got.startswith(f"process {process.pid} on ")
        process.kill()
        process.wait()
        try:
            os.kill(child, 0)  # a process that it started lives on
            with run_in(tmp_path / "run", MANIFEST, resume=True):
                pass
        finally:
            os.kill(child, 9)


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

    with run_in(run, MANIFEST, resume=True) as found, pytest.raises(RuntimeError, match="no more"):
        found.publish(half, [])
    assert content_of(run) == before
    monkeypatch.setattr(Path, "replace", watched)
    go_on(run)
    assert seen == [("summary.json", False), ("run.json", False)]


def test_an_error_of_the_disk_is_told_and_what_was_finished_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (piece_of(key, "sums") for key in KEYS[:2])
    with run_in(tmp_path / "run", MANIFEST) as run:
        run.storage.write(first, b"sums")
        monkeypatch.setattr("os.fsync", Mock(side_effect=OSError(28, "No space left on device")))
        with pytest.raises(FormatError, match="no space left on device") as caught:
            run.storage.write(second, b"sums")
        assert "--resume" in caught.value.advice
        assert (run.storage.read(first), run.storage.has(second)) == (b"sums", False)
