"""Compile all kernels in several processes at once; what they compile is found on disk from then on.

A kernel is compiled when it is first called, and Numba compiles one after another within a process.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
from llvmlite.binding import get_host_cpu_name
from numba.core.dispatcher import Dispatcher

import dissensus
from dissensus.core.errors import DissensusError
from dissensus.kernels.jit import SOURCES
from dissensus.kernels.tallies import add_orders

SHARES = {"evaluation": 0.5, "maximum likelihood": 0.15, "plackett-luce": 0.2, "summaries": 0.1, "counts": 0.05}
"""The exercises, and how much of the whole time compiling what they need takes: the longest first, and what it needs
too before the others, because whoever needs a kernel later finds it on disk."""

MOST_WORKERS = 3
"""More would wait for the longest exercise, which takes half of the whole."""


def can_be_kept() -> bool:
    """Tell whether there is a folder for what is compiled."""
    return _folder() is not None


def is_compiled() -> bool:
    """Tell whether all kernels were compiled, from these sources, by this version of Numba and for this processor.

    When ``NUMBA_DISABLE_JIT`` is set, nothing has to be.
    """
    folder = _folder()
    return not isinstance(add_orders, Dispatcher) or (folder is not None and (folder / _marker()).exists())


def compile_kernels(*, workers: int | None = None, done: Callable[[float], object] | None = None) -> None:
    """Compile all kernels that are not on disk yet.

    Parameters
    ----------
    workers
        Number of processes; by default that of the processors, at most 3.
    done
        Receives the share of the work that was just done; they add up to one.

    Raises
    ------
    DissensusError
        When there is nowhere to keep them, or a process fails.
    """
    folder = _folder()
    if folder is None:
        raise DissensusError(
            "there is no folder in which compiled kernels can be kept",
            advice="set the environment variable NUMBA_CACHE_DIR to one that can be written",
        )
    lists = shared_out(workers or min(os.cpu_count() or 1, MOST_WORKERS))
    with ThreadPoolExecutor(len(lists)) as pool:
        for failure in pool.map(lambda names: _exercise(names, done), lists):
            if failure:
                raise DissensusError("a process that compiles kernels failed", got=failure)
    for older in folder.glob("all-*.compiled"):
        older.unlink(missing_ok=True)
    (folder / _marker()).touch()


def shared_out(n_workers: int) -> list[list[str]]:
    """Give each worker a list of exercises: one after the other, to whom has least to do."""
    lists: list[list[str]] = [[] for _ in range(min(n_workers, len(SHARES)))]
    for name in SHARES:
        min(lists, key=lambda names: sum(SHARES[other] for other in names)).append(name)
    return lists


def _exercise(names: list[str], done: Callable[[float], object] | None) -> str:
    """Do exercises in a process of its own; return the last line of what went wrong, or nothing."""
    here = str(Path(dissensus.__file__).parents[1])
    path = os.pathsep.join(part for part in (here, os.environ.get("PYTHONPATH")) if part)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "dissensus.compilation", *names],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            if done:
                done(SHARES[line.rstrip("\n")])
        said = process.stderr.read().strip()
    return (said.split("\n")[-1] or f"exit code {process.returncode}") if process.returncode else ""


def _folder() -> Path | None:
    """Return where Numba keeps the kernels, which is one folder for all."""
    path = add_orders.stats.cache_path if isinstance(add_orders, Dispatcher) else None
    return Path(path) if path else None


def _marker() -> str:
    """Name the file that says that all is compiled, by everything on which that depends."""
    versions = (numba.__version__, str(sys.implementation.cache_tag), get_host_cpu_name())
    digest = hashlib.sha256(SOURCES + "\n".join(versions).encode()).hexdigest()
    return f"all-{digest[:16]}.compiled"
