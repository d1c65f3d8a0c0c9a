"""Processes that are killed or interrupted at any moment: old results or new ones, and nothing else for long."""

import os
import re
import signal
import time
from pathlib import Path
from random import Random

import pytest

from command_calls import Outcome
from dissensus.core.output import checked_file_target
from faults.small_study import EVALUATE, children, ended, entries, put_study, snapshot, started, status, until

if os.name != "posix":
    pytest.skip("signals are sent as POSIX does", allow_module_level=True)

LINE = re.compile(r"interrupted; (?P<kept>nothing was written|written before: results)\n")


def results_of(folder: Path, *words: str) -> dict[str, bytes]:
    """Evaluate to the end, and return what is there then."""
    with started(folder, *EVALUATE, *words) as process:
        assert ended(process).done().err == ""
    return snapshot(folder / "results")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_is_ended_leaves_old_or_new_and_says_which(tmp_path: Path, number: signal.Signals) -> None:
    put_study(tmp_path)
    old = results_of(tmp_path, "--seed", "1")
    begin = time.perf_counter()
    new = results_of(tmp_path, "--seed", "2", "--overwrite")
    seconds, chance, seen = time.perf_counter() - begin, Random(int(number)), set()
    for share in (0.1, *(chance.uniform(0.0 if place % 2 else 0.7, 1.0) for place in range(8))):
        for name, data in old.items():
            (tmp_path / "results" / name).write_bytes(data)
        with started(tmp_path, *EVALUATE, "--seed", "2", "--overwrite") as process:
            outcome = ended(process, number, share * seconds)
        seen.add(outcome.code)
        if number == signal.SIGKILL:
            checked_file_target(tmp_path / "next.txt")  # the next process clears up
        elif outcome.code == 130:
            line = LINE.fullmatch(outcome.err)
            assert line is not None, outcome.err
            assert line["kept"].startswith("written before") == (snapshot(tmp_path / "results") == new)
        assert snapshot(tmp_path / "results") in (old, new)
        assert entries(tmp_path) == ["A.csv", "opinions.csv", "results"]
    assert {-signal.SIGKILL, 130} & seen


def test_imports_can_be_interrupted_too(tmp_path: Path) -> None:
    put_study(tmp_path)
    for moment in (0.0, 0.15):
        with started(tmp_path, *EVALUATE) as process:
            outcome = ended(process, signal.SIGINT, moment)
        assert outcome == Outcome(130, "", "interrupted; nothing was written\n")
    assert entries(tmp_path) == ["A.csv", "opinions.csv"]


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
