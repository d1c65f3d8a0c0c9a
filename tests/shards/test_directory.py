"""The directory of a run: killed at any moment, it goes on, and nothing half-written is taken for finished."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest

from dissensus.core.errors import FormatError
from dissensus.core.interruption import UNDERWAY, WRITTEN
from dissensus.shards.directory import Manifest, RunDirectory
from shards.runs_of_pieces import (
    MANIFEST,
    SHARDS,
    content_of,
    go_on,
    go_on_once_seen,
    hold,
    outputs_of,
    write_results,
)

PARQUET, NPZ = outputs_of(SHARDS[3])
KILLS = 20


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> multiprocessing.context.ForkServerContext:
    """Processes that have imported everything when they start, and so begin at once."""
    if os.name != "posix":
        pytest.skip("signals are sent as POSIX does")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["shards.runs_of_pieces"])
    return context


@pytest.fixture(autouse=True)
def nothing_noted() -> Iterator[None]:
    before = list(WRITTEN)
    yield
    WRITTEN[:] = before


def only_the_mark(place: Path) -> None:
    (place / "run.json").write_text("{}")


# Manifest ------------------------------------------------------------------------------------------------


def test_a_manifest_comes_back_as_it_was_written() -> None:
    again = Manifest.from_json(MANIFEST.to_json(), "manifest.json")
    assert again == MANIFEST
    assert again.to_json() == MANIFEST.to_json()
    assert again.generations == ({"study": ("a.parquet", "b.parquet"), "model": ("m.parquet",)},)


def test_a_manifest_is_plain_json_that_names_its_format() -> None:
    found = json.loads(MANIFEST.to_json())
    assert (found["format"], found["version"], found["n_buckets"]) == ("dissensus run", 1, 24)


def test_names_of_files_that_are_no_text_come_back() -> None:
    name = os.fsdecode(b"caf\xe9.parquet")
    given = replace(MANIFEST, inputs={"study": {name: "1"}}, generations=())
    assert Manifest.from_json(given.to_json(), "").inputs == {"study": {name: "1"}}


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({}, []),
        ({"n_buckets": 48}, []),
        ({"options": {**MANIFEST.options, "draws": 500}}, ["draws: 200 then, 500 now"]),
        ({"options": {**MANIFEST.options, "aggregations": ("dirichlet:1",)}}, []),
        (
            {"options": {**MANIFEST.options, "aggregations": ["majority-vote"]}},
            ['aggregations: ["dirichlet:1"] then, ["majority-vote"] now'],
        ),
        (
            {"options": {**MANIFEST.options, "prior": {"kind": "informed", "strength": 1.5}}},
            ["prior.kind: flat then, informed now"],
        ),
        (
            {"options": {"draws": 200, "seed": 7, "aggregations": ["dirichlet:1"], "level": 0.9}},
            ['prior: {"kind": "flat", "strength": 1.5} then, not given now', "level: not given then, 0.9 now"],
        ),
        ({"versions": {"dissensus": "0.2.0", "numpy": "2.4.6"}}, ["versions: numpy 2.4.5 then, 2.4.6 now"]),
        (
            {"inputs": {"study": {"a.parquet": "61", "b.parquet": "99"}, "model": {"m.parquet": "63"}}},
            ["study: b.parquet changed"],
        ),
        (
            {"inputs": {"study": {"b.parquet": "62", "c.parquet": "64"}, "model": {"m.parquet": "63"}}},
            ["study: a.parquet is missing now"],
        ),
        (
            {"inputs": {"study": MANIFEST.inputs["study"], "other": {"m.parquet": "63"}}},
            ["model: an input then, and none now", "other: an input now, and none then"],
        ),
    ],
)
def test_differences_are_told_in_words(changes: dict[str, object], lines: list[str]) -> None:
    assert MANIFEST.differences(replace(MANIFEST, generations=(), **changes)) == lines  # type: ignore[arg-type]  # by name


def with_file(manifest: Manifest, name: str) -> Manifest:
    study = {**manifest.inputs["study"], name: "77"}
    return replace(manifest, inputs={**manifest.inputs, "study": study}, generations=())


def test_added_files_are_a_generation_of_their_own(tmp_path: Path) -> None:
    go_on(tmp_path / "run")
    more = with_file(MANIFEST, "c.parquet")
    with RunDirectory.resumed(tmp_path / "run", more) as run:
        assert run.added == {"study": ["c.parquet"]}
        assert run.manifest.generations[1:] == ({"study": ("c.parquet",), "model": ()},)
        assert not run.is_finished
        assert all(run.finished(name, "in") for name in SHARDS)
    with RunDirectory.resumed(tmp_path / "run", with_file(more, "d.parquet")) as run:
        assert run.added == {"study": ["d.parquet"]}
        assert [one["study"] for one in run.manifest.generations] == [
            ("a.parquet", "b.parquet"),
            ("c.parquet",),
            ("d.parquet",),
        ]
    with pytest.raises(FormatError, match=r"study: d\.parquet is missing now"):
        RunDirectory.resumed(tmp_path / "run", more)


# Beginning and going on ----------------------------------------------------------------------------------


def test_a_run_that_does_not_exist_yet_begins(tmp_path: Path) -> None:
    assert go_on(tmp_path / "run") == (len(SHARDS), [])
    assert go_on(tmp_path / "run") == (0, [])
    names = {place.name for place in (tmp_path / "run").iterdir()}
    assert names == {".lock", "manifest.json", "shards", "per_case", "summary.json", "arrays.npz", "run.json"}
    assert [place.name for place in tmp_path.iterdir()] == ["run"]


def test_an_unfinished_run_is_not_replaced_by_mistake(tmp_path: Path) -> None:
    RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=False).close()
    with pytest.raises(FormatError, match="holds an unfinished run") as caught:
        RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=False)
    assert "--resume" in caught.value.advice


def test_a_finished_run_is_replaced_only_if_that_is_allowed(tmp_path: Path) -> None:
    go_on(tmp_path / "run")
    for name in ("shards/input/0-study/part-00001", "shards/input/.unfinished-0-model/spill-00001", "report.html"):
        (tmp_path / "run" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "run" / name).write_bytes(b"rows")
    with pytest.raises(FormatError, match="exists already"):
        RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=False)
    with RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=True) as run:
        assert not run.is_finished
        assert not run.finished(SHARDS[0], "in")
    assert set(content_of(tmp_path / "run")) == {"manifest.json"}
    assert [place.name for place in tmp_path.iterdir()] == ["run"]


def test_a_damaged_manifest_is_no_reason_to_keep_a_run_that_may_be_replaced(tmp_path: Path) -> None:
    go_on(tmp_path / "run")
    (tmp_path / "run" / "manifest.json").write_bytes(MANIFEST.to_json()[:40])
    RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=True).close()


@pytest.mark.parametrize("foreign", ["thesis.tex", "per_case/notes.txt", "shards/tally/thesis.docx", "mine/run.json"])
def test_a_run_with_something_else_in_it_is_never_replaced(tmp_path: Path, foreign: str) -> None:
    go_on(tmp_path / "run")
    (tmp_path / "run" / foreign).parent.mkdir(exist_ok=True)
    (tmp_path / "run" / foreign).write_text("years of work")
    before = content_of(tmp_path / "run")
    with pytest.raises(FormatError, match="holds something else") as caught:
        RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=True)
    assert caught.value.got in (foreign, "mine")
    assert content_of(tmp_path / "run") == before


def test_a_link_in_a_run_is_something_else(tmp_path: Path) -> None:
    go_on(tmp_path / "run")
    (tmp_path / "run" / "per_case" / "part-9.parquet").symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(FormatError, match="holds something else"):
        RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=True)


def test_a_directory_that_holds_an_input_is_never_replaced(tmp_path: Path) -> None:
    go_on(tmp_path / "run")
    inside = str(tmp_path / "run" / "per_case" / f"part-{SHARDS[0]}.parquet")
    for given in (replace(MANIFEST, inputs={"study": {inside: "1"}}, generations=()), MANIFEST):
        with pytest.raises(FormatError, match="holds an input"):
            RunDirectory.new(tmp_path / "run", given, overwrite=True, inputs=[inside])


def test_a_directory_without_a_run_does_not_go_on(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="this is not the directory of a run"):
        RunDirectory.resumed(tmp_path, MANIFEST)
    (tmp_path / "file").touch()
    with pytest.raises(FormatError, match="cannot be read"):
        RunDirectory.resumed(tmp_path / "file", MANIFEST)


@pytest.mark.parametrize(
    "spoiled", [b"", b"{}", b"[1]", MANIFEST.to_json()[:-9], MANIFEST.to_json().replace(b"200", b"500")]
)
def test_a_damaged_manifest_is_told(tmp_path: Path, spoiled: bytes) -> None:
    go_on(tmp_path / "run")
    (tmp_path / "run" / "manifest.json").write_bytes(spoiled)
    with pytest.raises(FormatError, match="the manifest of the run is damaged"):
        RunDirectory.resumed(tmp_path / "run", MANIFEST)


def test_all_differences_are_shown_up_to_twelve(tmp_path: Path) -> None:
    many = replace(MANIFEST, options={f"option {number}": 1 for number in range(30)})
    RunDirectory.new(tmp_path / "run", many, overwrite=False).close()
    now = replace(many, options=dict.fromkeys(many.options, 2))
    with pytest.raises(FormatError) as caught:
        RunDirectory.resumed(tmp_path / "run", now)
    lines = str(caught.value).splitlines()
    assert sum("1 then, 2 now" in line for line in lines) == 12
    assert any(line.strip() == "and 18 more" for line in lines)
    RunDirectory.resumed(tmp_path / "run", many).close()


def test_what_was_asked_differently_changes_nothing(tmp_path: Path) -> None:
    go_on(tmp_path / "run")
    before = content_of(tmp_path / "run")
    with pytest.raises(FormatError, match="draws: 200 then, 500 now"):
        go_on(tmp_path / "run", replace(MANIFEST, options={**MANIFEST.options, "draws": 500}))
    assert content_of(tmp_path / "run") == before


# Journal -------------------------------------------------------------------------------------------------


def truncate(place: Path) -> None:
    place.write_bytes(place.read_bytes()[:-2])


def change(place: Path) -> None:
    data = place.read_bytes()
    place.write_bytes(data[:10] + bytes([data[10] ^ 1]) + data[11:])


@pytest.mark.parametrize(
    ("file", "fault", "told"),
    [
        (PARQUET, truncate, f"{PARQUET} was changed or truncated"),
        (PARQUET, change, f"{PARQUET} was changed or truncated"),
        (PARQUET, Path.unlink, f"{PARQUET} is missing"),
        (NPZ, truncate, f"{NPZ} was changed or truncated"),
        (f"shards/{SHARDS[3]}.json", truncate, "its journal was changed or truncated"),
        (f"shards/{SHARDS[3]}.json", change, "its journal was changed or truncated"),
    ],
)
def test_a_spoiled_shard_is_computed_again_and_told(tmp_path: Path, file: str, fault: object, told: str) -> None:
    go_on(tmp_path / "run")
    before = content_of(tmp_path / "run")
    assert callable(fault)
    fault(tmp_path / "run" / file)
    assert go_on(tmp_path / "run") == (1, [f"shard {SHARDS[3]}: {told}; it is computed again"])
    assert content_of(tmp_path / "run") == before


def test_a_journal_that_was_removed_means_not_finished(tmp_path: Path) -> None:
    go_on(tmp_path / "run")
    (tmp_path / "run" / "shards" / f"{SHARDS[3]}.json").unlink()
    assert go_on(tmp_path / "run") == (1, [])


def test_a_journal_under_the_name_of_another_shard_does_not_count(tmp_path: Path) -> None:
    go_on(tmp_path / "run")
    journals = tmp_path / "run" / "shards"
    (journals / f"{SHARDS[3]}.json").write_bytes((journals / f"{SHARDS[4]}.json").read_bytes())
    assert go_on(tmp_path / "run")[0] == 1


def test_a_shard_whose_input_changed_is_not_finished(tmp_path: Path) -> None:
    with RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=False) as run:
        run.record("0-1", "old", {})
        assert run.finished("0-1", "old")
        assert not run.finished("0-1", "new")
        assert run.remarks == ["shard 0-1: its input changed, or what was learned from all; it is computed again"]
        run.record("0-1", "new", {})
        assert run.finished("0-1", "new")


def test_an_output_is_read_as_it_was_written_or_not_at_all(tmp_path: Path) -> None:
    with RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=False) as run:
        run.record("0-1", "in", {"shards/tally/a.npz": b"numbers"})
        assert run.read("0-1", "shards/tally/a.npz") == b"numbers"
        (tmp_path / "run" / "shards" / "tally" / "a.npz").write_bytes(b"numbers?")
        for name, output in (("0-1", "shards/tally/a.npz"), ("0-1", "per_case/b.npz"), ("0-2", "per_case/b.npz")):
            with pytest.raises(FormatError, match="cannot be used"):
                run.read(name, output)


@pytest.mark.parametrize(
    "name",
    ["../out.npz", "per_case/../../out.npz", "out.npz", "/tmp/out.npz", "mine/a.npz", "per_case/a.pkl", "shards"],
)
def test_nothing_is_written_where_no_output_belongs(tmp_path: Path, name: str) -> None:
    with RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=False) as run:
        with pytest.raises(FormatError, match="this is no name of an output"):
            run.record("0-1", "in", {name: b"x"})
        assert not run.finished("0-1", "in")


# Killed --------------------------------------------------------------------------------------------------


def test_a_run_that_is_killed_at_any_moment_ends_with_the_same_bytes(
    tmp_path: Path, processes: multiprocessing.context.ForkServerContext
) -> None:
    start = time.perf_counter()
    go_on(tmp_path / "whole")
    seconds = time.perf_counter() - start
    whole, chance = content_of(tmp_path / "whole"), Random(16)
    n_computed = []
    for number in range(KILLS):
        place = tmp_path / f"run-{number}"
        begun = processes.Event()
        process = processes.Process(target=go_on_once_seen, args=(place, begun))
        process.start()
        assert begun.wait(30)
        process.join(chance.uniform(0.0, 1.2 * seconds))
        process.kill()
        process.join()
        n_left, remarks = go_on(place)
        assert remarks == []
        n_computed.append(n_left)
        assert content_of(place) == whole
        assert not [entry for entry in place.rglob("*") if "unfinished" in entry.parts]
    assert len(set(n_computed)) > 3, "the moments were all alike"
    assert not [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")]


def test_two_processes_do_not_write_into_one_run(
    tmp_path: Path, processes: multiprocessing.context.ForkServerContext
) -> None:
    begun, end = processes.Event(), processes.Event()
    process = processes.Process(target=hold, args=(tmp_path / "run", begun, end))
    process.start()
    assert begun.wait(30)
    for again in (RunDirectory.resumed, partial(RunDirectory.new, overwrite=True)):
        with pytest.raises(FormatError, match="another process writes into this directory") as caught:
            again(tmp_path / "run", MANIFEST)
        assert caught.value.got.startswith(f"process {process.pid} on ")
    end.set()
    process.join()
    assert process.exitcode == 0
    RunDirectory.resumed(tmp_path / "run", MANIFEST).close()


def test_the_lock_of_a_killed_process_does_not_block_even_if_a_process_it_started_lives_on(tmp_path: Path) -> None:
    script = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from shards.runs_of_pieces import MANIFEST\n"
        "from dissensus.shards.directory import RunDirectory\n"
        f"run = RunDirectory.resumed({str(tmp_path / 'run')!r}, MANIFEST)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    time.sleep(60)\n"
        "print(child, flush=True)\n"
        "time.sleep(60)\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", script]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
        process.wait()
        try:
            os.kill(child, 0)
            RunDirectory.resumed(tmp_path / "run", MANIFEST).close()
        finally:
            os.kill(child, 9)


def test_ctrl_c_says_how_to_go_on_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    with RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=False) as run:
        assert WRITTEN[-1].endswith("run (unfinished: the same command with --resume goes on)")
        (run.path / "shards" / "unfinished" / "half").touch()
        for remove in list(UNDERWAY.values()):
            remove()
        assert set(content_of(run.path)) == {"manifest.json"}
        run.record("0-1", "in", {})
        run.publish(only_the_mark)
        assert WRITTEN[-1] == str(run.path)
    assert not [place for place in UNDERWAY if str(tmp_path) in place]


# Results -------------------------------------------------------------------------------------------------


def test_results_that_fail_leave_the_earlier_ones(tmp_path: Path) -> None:
    go_on(tmp_path / "run")
    before = content_of(tmp_path / "run")

    def half(place: Path) -> None:
        (place / "summary.json").write_text("new")
        raise RuntimeError("no more")

    with RunDirectory.resumed(tmp_path / "run", MANIFEST) as run, pytest.raises(RuntimeError, match="no more"):
        run.publish(half)
    assert content_of(tmp_path / "run") == before


def test_the_mark_of_a_finished_run_is_gone_before_results_change_and_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on(tmp_path / "run")
    seen: list[tuple[str, bool]] = []
    replaced = Path.replace

    def watched(place: Path, target: Path) -> Path:
        seen.append((target.name, (tmp_path / "run" / "run.json").exists()))
        return replaced(place, target)

    monkeypatch.setattr(Path, "replace", watched)
    with RunDirectory.resumed(tmp_path / "run", MANIFEST) as run:
        run.publish(lambda place: write_results(run, place))
    names = ("all.json", "arrays.npz", "summary.json", "run.json")
    assert seen == [(name, False) for name in names]


# Disk ----------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", str(place)]
    outcome = subprocess.run(mount, capture_output=True, text=True, check=False)
    if outcome.returncode:
        pytest.skip(f"no file system can be mounted: {outcome.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_on_a_full_disk_what_was_finished_stays_finished(small_disk: Path) -> None:
    with pytest.raises(FormatError, match="the disk is full") as caught:
        go_on(small_disk / "run")
    assert "--resume" in caught.value.advice
    with RunDirectory.resumed(small_disk / "run", MANIFEST) as run:
        finished = [name for name in SHARDS if run.finished(name, "in")]
        assert 3 < len(finished) < len(SHARDS)
        assert run.remarks == []
    subprocess.run(["mount", "-o", "remount,size=16M", str(small_disk)], check=True)
    assert go_on(small_disk / "run") == (len(SHARDS) - len(finished), [])


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_an_error_of_the_disk_while_a_shard_is_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def full(_: int) -> None:
        raise OSError(number, os.strerror(number))

    with RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=False) as run:
        run.record("0-1", "in", outputs_of("0-1"))
        monkeypatch.setattr("dissensus.shards.directory.os.fsync", full)
        with pytest.raises(FormatError, match="the disk is full"):
            run.record("0-2", "in", outputs_of("0-2"))
        with pytest.raises(FormatError, match="the disk is full"):
            run.publish(only_the_mark)
        assert run.finished("0-1", "in")
        assert not run.finished("0-2", "in")
        assert not run.is_finished
        assert list((tmp_path / "run" / "shards" / "unfinished").iterdir()) == []


def test_other_errors_of_the_disk_are_told_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with RunDirectory.new(tmp_path / "run", MANIFEST, overwrite=False) as run:
        monkeypatch.setattr("dissensus.shards.directory.os.fsync", broken)
        with pytest.raises(FormatError, match="a shard cannot be written") as caught:
            run.record("0-2", "in", outputs_of("0-2"))
    assert caught.value.got == "input/output error"
