"""Runs over pieces that are killed or interrupted at any moment: with ``--resume`` they end as if nothing had been."""

import os
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from command_calls import told
from dissensus.evaluation.store import load
from faults.large_study import EVALUATE, PIECES, RESUME, content_of, put_large_study, sums_of
from faults.small_study import children, ended, entries, started, until
from workers.pieces_of_work import SCHEDULER

if os.name != "posix":
    pytest.skip("signals are sent as POSIX does", allow_module_level=True)

BESIDE = ["A", "study"]
LINE = re.compile(r"interrupted; (nothing was written|written before: (?P<place>.*/run)(?P<how> \(unfinished: .*\))?)")


@dataclass(frozen=True)
class Whole:
    """A run that nobody disturbed, and how long it took."""

    seconds: float
    content: dict[str, bytes]

    def moments(self, count: int, seed: int) -> Iterator[float]:
        """Choose moments at random, from the very beginning to the very end; the first comes before any end."""
        chance = Random(seed)
        yield 0.0
        for number in range(count - 1):
            yield self.seconds * (number + chance.random()) / (count - 1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    put_large_study(folder)
    with started(folder, *EVALUATE) as process:
        start = time.perf_counter()
        assert ended(process).code == 0
    seconds = time.perf_counter() - start
    content = content_of(folder / "run")
    assert sum(name.startswith("per_case/") for name in content) > PIECES // 2
    return Whole(seconds, content)


def check_finished(folder: Path, whole: Whole) -> None:
    """Assert that a run has the bytes of one that was not disturbed, and that nothing else is there."""
    assert content_of(folder / "run") == whole.content
    assert (folder / "run" / ".lock").read_bytes() == b""  # no name of a machine
    assert entries(folder) == sorted([*BESIDE, "run"])
    assert entries(folder / "run") == sorted({name.split("/")[0] for name in (*whole.content, ".lock")})
    assert not [name for name in entries(folder / "run" / "pieces") if name.startswith(("input", "unfinished"))]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "count"), [(signal.SIGKILL, 20), (signal.SIGINT, 6)])
def test_ended_runs_end_with_the_same_bytes(whole: Whole, tmp_path: Path, number: signal.Signals, count: int) -> None:
    folder = tmp_path / "ended"
    put_large_study(folder)
    seen = []
    for place, moment in enumerate(whole.moments(count, seed=16)):
        with started(folder, *RESUME) as process:
            outcome = ended(process, number, moment)
        seen.append(outcome.code)
        if number == signal.SIGINT:
            assert set(entries(folder)) <= {*BESIDE, "run"}
        if outcome.code == 130:
            check_interrupted(outcome.err, folder / "run")
        if outcome.code == 0:  # it was faster: the next ones are to find something to do
            check_finished(folder, whole)
            (folder / "run").rename(tmp_path / f"run-{place}")
    assert told(folder, *RESUME).code == 0
    check_finished(folder, whole)
    load(folder / "run")
    assert {0} < {0, *seen} <= {0, 130, -signal.SIGKILL}


def check_interrupted(said: str, run: Path) -> None:
    """Assert that the last line tells what is there, and that nothing of it is half written."""
    line = LINE.fullmatch(said.splitlines()[-1])
    assert line is not None, said
    assert said.count("interrupted; ") == 1
    is_finished = (run / "run.json").exists()
    if run.exists():
        assert line["place"] == str(run)
        assert (line["how"] is None) == is_finished
        assert is_finished or "--resume goes on" in line["how"]
    assert not (run / "pieces" / "unfinished").exists()


def test_ctrl_c_in_the_middle_of_the_pieces_and_no_second_beginning_by_mistake(whole: Whole, tmp_path: Path) -> None:
    folder = tmp_path / "stopped"
    put_large_study(folder)
    with started(folder, *EVALUATE) as process:
        until_pieces(folder / "run", 2)
        outcome = ended(process, signal.SIGINT, 0.0)
    assert outcome.code == 130
    check_interrupted(outcome.err, folder / "run")
    before = content_of(folder / "run")
    assert told(folder, *EVALUATE).refused("the output directory holds an unfinished run", "--resume")
    assert content_of(folder / "run") == before
    outcome = told(folder, *RESUME).done()
    assert " pieces are finished" in outcome.err
    check_finished(folder, whole)


def until_pieces(run: Path, count: int) -> None:
    """Wait until some pieces are finished."""
    until(lambda: len(sums_of(run)) >= count, "no piece is finished")


# Two at once --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_second_process_is_told_that_the_first_one_writes_there(whole: Whole, tmp_path: Path) -> None:
    folder = tmp_path / "twice"
    put_large_study(folder)
    with started(folder, *EVALUATE) as process:
        until_pieces(folder / "run", 1)
        process.send_signal(signal.SIGSTOP)
        outcomes = [told(folder, *EVALUATE, *more) for more in (("--resume",), ("--overwrite",))]
        process.send_signal(signal.SIGCONT)
        for outcome in outcomes:
            assert outcome.refused("another process writes into this directory", f"process {process.pid} on")
        assert ended(process).code == 0
    check_finished(folder, whole)


@pytest.mark.slow
def test_of_two_processes_that_begin_together_one_ends_well(whole: Whole, tmp_path: Path) -> None:
    folder, other = tmp_path / "together", tmp_path / "beside"
    put_large_study(folder)
    other.symlink_to(folder)
    with started(folder, *RESUME) as one, started(other, *RESUME) as two:
        outcomes = sorted(map(ended, (one, two)), key=lambda outcome: outcome.code)
    assert outcomes[0].code == 0
    if outcomes[1].code:  # the second may have come when the first was over
        assert "error: another process writes into this directory" in outcomes[1].err
    check_finished(folder, whole)


# Workers and schedulers ---------------------------------------------------------------------------------


on_a_cluster = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")


@pytest.mark.slow
@pytest.mark.cluster
@on_a_cluster
def test_a_worker_that_is_killed_changes_no_byte(whole: Whole, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    put_large_study(tmp_path)
    with started(tmp_path, *EVALUATE, "--workers", "2") as process:
        until_pieces(tmp_path / "run", 1)
        # those that work were started by one that watches them
        working = [one for one in children(process.pid) if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]
        os.kill(working[0], signal.SIGKILL)
        assert "Traceback" not in ended(process).done().err
    check_finished(tmp_path, whole)


@pytest.mark.slow
@pytest.mark.cluster
@on_a_cluster
def test_a_lost_scheduler_is_one_error_and_the_run_goes_on_without_it(whole: Whole, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    put_large_study(tmp_path)
    with started(tmp_path, code=SCHEDULER) as scheduler:
        assert scheduler.stdout is not None
        address = scheduler.stdout.readline().strip()
        with started(tmp_path, *EVALUATE, "--dask", address) as process:
            until_pieces(tmp_path / "run", 1)
            process.send_signal(signal.SIGSTOP)  # so that the last piece is not finished by then, however fast it is
            assert not (tmp_path / "run" / "run.json").exists()
            scheduler.kill()
            scheduler.wait()
            process.send_signal(signal.SIGCONT)
            outcome = ended(process)
    if outcome.code:  # the last piece may have been on its way
        assert outcome.refused("the scheduler of the cluster was lost", "--resume")
        assert outcome.err.count("error: ") == 1
    assert told(tmp_path, *RESUME).code == 0
    check_finished(tmp_path, whole)
