"""Run a command: how long it takes, and how much memory it and all that it starts hold at most (Linux)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
PAUSE = 0.02
"""Seconds between two looks at the memory."""

IMPORT_ALL = """
import importlib, pkgutil, dissensus
import altair, jinja2, numba, polars, rich.progress, rich.table, scipy.optimize, scipy.special
for module in pkgutil.walk_packages(dissensus.__path__, "dissensus."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
import time; time.sleep(0.2)
"""
"""What an interpreter does that holds all libraries and nothing else."""


@dataclass(frozen=True)
class Watched:
    """What was seen of a command.

    Attributes
    ----------
    began
        When it began, in seconds since 1970, as times of files are.
    seconds
        How long it took.
    peak
        Resident bytes of the process and all it started, added up, at most; what they share counts for each.
    """

    began: float
    seconds: float
    peak: int


def watched(command: Sequence[str], *, until: Callable[[], bool] | None = None) -> Watched:
    """Run a command to its end, or kill it, with all it started, once something is true."""
    with tempfile.TemporaryFile() as told:
        began, start = time.time(), time.perf_counter()
        process = subprocess.Popen(command, stdout=told, stderr=told, start_new_session=True)
        peak = 0
        while process.poll() is None:
            peak = max(peak, resident(process.pid), highest(process.pid))
            if until is not None and until():
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return Watched(began, time.perf_counter() - start, peak)
            time.sleep(PAUSE)
        seconds = time.perf_counter() - start
        if process.returncode:
            told.seek(0)
            raise SystemExit(f"{' '.join(command)}\n{told.read().decode(errors='replace')[-3000:]}")
    return Watched(began, seconds, peak)


def baseline() -> int:
    """Return the memory of an interpreter that has imported all of the package and its libraries, and does nothing."""
    return watched([sys.executable, "-W", "ignore", "-c", IMPORT_ALL]).peak


def resident(process: int) -> int:
    """Add up the resident bytes of a process and of all that it started."""
    return sum(memory_of(one, "VmRSS") for one in family(process))


def highest(process: int) -> int:
    """Return the most resident bytes that a process had so far, between two looks too."""
    return memory_of(process, "VmHWM")


def family(process: int) -> Iterator[int]:
    """Give a process and all that it started, directly or not."""
    yield process
    for threads in (PROC / str(process) / "task").glob("*/children"):
        for child in _read(threads).split():
            yield from family(int(child))


def memory_of(process: int, field: str) -> int:
    """Return what the system says about a process, in bytes; 0 if it has ended."""
    found = re.search(rf"{field}:\s+(\d+) kB", _read(PROC / str(process) / "status"))
    return 1024 * int(found[1]) if found else 0


def _read(place: Path) -> str:
    try:
        return place.read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has ended in the meantime
        return ""
