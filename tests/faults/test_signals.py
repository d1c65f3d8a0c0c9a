"""Processes that are killed or interrupted at any moment: old results or new ones, and nothing else for long."""

import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from dissensus.core.output import checked_file_target
from dissensus.evaluation.store import load
from faults.small_study import (
    EVALUATE,
    PATIENCE,
    Outcome,
    children,
    entries,
    put_study,
    snapshot,
    started,
    status,
    until,
)

if os.name != "posix":
    pytest.skip("signals are sent as POSIX does", allow_module_level=True)

LINE = re.compile(r"interrupted; (?P<kept>nothing was written|written before: (results|out\.parquet))\n")


def ended(process: subprocess.Popen[str], number: int, moment: float) -> Outcome:
    """Send a signal to a process some time from now, and wait for its end."""
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    return Outcome(process.returncode, out, err)


@dataclass(frozen=True)
class Course:
    """A command, what it writes, how long it takes here, and what an earlier run left."""

    words: tuple[str, ...]
    target: str
    seconds: float
    old: dict[str, bytes]
    new: dict[str, bytes]

    def moments(self, count: int, seed: int) -> list[float]:
        """Choose moments at random: half of them anywhere, half of them towards the end, where files are written.

        The first is early, so that it comes before the end even if the machine was busy while the command was timed.
        """
        chance = Random(seed)
        shares = [chance.uniform(0.0 if number % 2 else 0.7, 1.0) for number in range(count)]
        return [share * self.seconds for share in (0.1, *shares)]

    def prepare(self, folder: Path, *, with_old: bool) -> None:
        """Put the study into a folder, and what an earlier run left."""
        folder.mkdir()
        put_study(folder)
        for name, data in self.old.items() if with_old else ():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)

    def found(self, folder: Path) -> dict[str, bytes]:
        """Return what is where the command writes to, and nothing else."""
        return {name: data for name, data in snapshot(folder).items() if name.split("/")[0] == self.target}

    def check(self, folder: Path, *, with_old: bool) -> None:
        """Assert that what is there is old or new, and whole."""
        assert self.found(folder) in (self.old if with_old else {}, self.new)


def beyond_receipts(err: str) -> str:
    """Return what a process said beside the receipts of what it read."""
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if ": read as " not in line and not line.startswith("  "))


def timed(folder: Path, words: tuple[str, ...]) -> float:
    """Run a command to its end."""
    put_study(folder)
    with started(folder, *words) as process:
        began = time.perf_counter()
        assert beyond_receipts(process.communicate(timeout=600)[1]) == ""
        return time.perf_counter() - began


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The command that writes a directory."""
    folder, words = tmp_path_factory.mktemp("course"), (*EVALUATE, "--seed", "2", "--overwrite")
    timed(folder, (*EVALUATE, "--seed", "1"))
    old = snapshot(folder / "results")
    seconds = timed(folder, words)
    results = {True: old, False: snapshot(folder / "results")}
    old, new = ({f"results/{name}": data for name, data in results[is_old].items()} for is_old in (True, False))
    assert load(folder / "results").seed == 2
    return Course(words, "results", seconds, old, new)


@pytest.fixture(scope="module")
def conversion(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The command that writes a file."""
    folder, words = tmp_path_factory.mktemp("course"), ("convert", "opinions.csv", "out.parquet", "--overwrite")
    seconds = timed(folder, words)
    new = {"out.parquet": (folder / "out.parquet").read_bytes()}
    return Course(words, "out.parquet", seconds, {"out.parquet": b"an earlier file"}, new)


# Commands, and how often each is ended with and without an earlier result.
COURSES = pytest.mark.parametrize(
    ("command", "count"), [("evaluation", 5), ("conversion", 8)], ids=["evaluate", "convert"]
)

BEFORE = pytest.mark.parametrize("with_old", [True, False], ids=["old results", "no results"])


@pytest.mark.slow
@BEFORE
@COURSES
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_is_ended_leaves_old_or_new_and_says_which_if_it_can(
    request: pytest.FixtureRequest, tmp_path: Path, number: signal.Signals, command: str, count: int, with_old: bool
) -> None:
    course: Course = request.getfixturevalue(command)
    seen = set()
    for place, moment in enumerate(course.moments(count, seed=10 * (number == signal.SIGINT) + with_old)):
        folder = tmp_path / str(place)
        course.prepare(folder, with_old=with_old)
        with started(folder, *course.words) as process:
            outcome = ended(process, number, moment)
        seen.add(outcome.code)
        if number == signal.SIGKILL:
            course.check(folder, with_old=with_old)
            checked_file_target(folder / "next.txt")  # the next process clears up
        else:
            check_words(outcome, is_new=course.found(folder) == course.new)
        assert set(entries(folder)) <= {"A.csv", "opinions.csv", course.target}
        course.check(folder, with_old=with_old)
    assert {-signal.SIGKILL, 130} & seen


def check_words(outcome: Outcome, *, is_new: bool) -> None:
    """Assert that a process that was interrupted, if it was not over by then, says so and is right."""
    if outcome.code == 130:
        line = LINE.fullmatch(beyond_receipts(outcome.err))
        assert line is not None, outcome.err
        assert is_new == line["kept"].startswith("written before")
    else:
        assert (outcome.code, beyond_receipts(outcome.err)) == (0, "")
        assert is_new


def test_imports_can_be_interrupted_too(tmp_path: Path) -> None:
    put_study(tmp_path)
    for moment in (0.0, 0.05, 0.15):
        with started(tmp_path, *EVALUATE) as process:
            outcome = ended(process, signal.SIGINT, moment)
        assert outcome == Outcome(130, "", "interrupted; nothing was written\n")
    assert entries(tmp_path) == ["A.csv", "opinions.csv"]


# Compilation --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_compilation_ends_with_the_command_that_started_it(tmp_path: Path, number: signal.Signals) -> None:
    with started(tmp_path, "compile", "--workers", "2", NUMBA_CACHE_DIR=str(tmp_path / "cache")) as process:
        until(lambda: len(children(process.pid)) == 2, "no process compiles")
        compiling = children(process.pid)
        outcome = ended(process, number, 0.5)
    if number == signal.SIGINT:
        assert outcome == Outcome(130, "", "interrupted; nothing was written\n")
    # one that ended and was not asked how is no more
    until(lambda: all(status(one)[:1] in ([], ["Z"]) for one in compiling), "a process goes on compiling")
