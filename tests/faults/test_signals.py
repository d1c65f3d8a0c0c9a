"""Processes that are killed or interrupted at any moment: old results or new ones, and nothing else for long."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from dissensus.core.output import checked_file_target
from dissensus.evaluation.store import load
from faults.small_study import EVALUATE, PROCESS, Outcome, entries, put_study, snapshot

if os.name != "posix":
    pytest.skip("signals are sent as POSIX does", allow_module_level=True)

LINE = re.compile(r"interrupted; (?P<kept>nothing was written|written before: (results|out\.parquet))\n")
PATIENCE = 60


@contextmanager
def started(folder: Path, *words: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Start the command line in a folder, and wait until its first line is about to run."""
    with subprocess.Popen(
        [sys.executable, "-c", PROCESS, *words],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process


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


COURSES = pytest.mark.parametrize(
    ("command", "count"), [("evaluation", (6, 4)), ("conversion", (9, 6))], ids=["evaluate", "convert"]
)
"""Commands, and how often each is killed and interrupted with and without an earlier result."""

BEFORE = pytest.mark.parametrize("with_old", [True, False], ids=["old results", "no results"])


@pytest.mark.slow
@BEFORE
@COURSES
def test_a_killed_process_leaves_old_or_new_and_the_next_one_clears_up(
    request: pytest.FixtureRequest, tmp_path: Path, command: str, count: tuple[int, int], with_old: bool
) -> None:
    course: Course = request.getfixturevalue(command)
    seen = set()
    for number, moment in enumerate(course.moments(count[0], seed=int(with_old))):
        folder = tmp_path / str(number)
        course.prepare(folder, with_old=with_old)
        with started(folder, *course.words) as process:
            seen.add(ended(process, signal.SIGKILL, moment).code)
        course.check(folder, with_old=with_old)
        checked_file_target(folder / "next.txt")
        assert set(entries(folder)) <= {"A.csv", "opinions.csv", course.target}
        course.check(folder, with_old=with_old)
    assert -signal.SIGKILL in seen


@pytest.mark.slow
@BEFORE
@COURSES
def test_an_interrupted_process_says_in_one_line_what_was_written(
    request: pytest.FixtureRequest, tmp_path: Path, command: str, count: tuple[int, int], with_old: bool
) -> None:
    course: Course = request.getfixturevalue(command)
    seen = set()
    for number, moment in enumerate(course.moments(count[1], seed=10 + with_old)):
        folder = tmp_path / str(number)
        course.prepare(folder, with_old=with_old)
        with started(folder, *course.words) as process:
            outcome = ended(process, signal.SIGINT, moment)
        seen.add(outcome.code)
        course.check(folder, with_old=with_old)
        assert set(entries(folder)) <= {"A.csv", "opinions.csv", course.target}
        check_words(outcome, is_new=course.found(folder) == course.new)
    assert 130 in seen


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


def children(process: int) -> list[int]:
    """Find the processes that a process started."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(place.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == process:
            found.append(int(place.parent.name))
    return found


def until(happened: object, what: str) -> None:
    """Wait for something to happen."""
    assert callable(happened)
    for _ in range(PATIENCE * 20):
        if happened():
            return
        time.sleep(0.05)
    raise AssertionError(what)


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
    until(lambda: not any(is_alive(one) for one in compiling), "a process goes on compiling")


def is_alive(process: int) -> bool:
    """Tell whether a process runs; one that ended and was not asked how is no more."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
