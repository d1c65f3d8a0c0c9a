"""Compile all kernels in several processes at once; what they compile is found on disk from then on.

A kernel is compiled when it is first called, and Numba compiles one after another within a process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import dissensus
from dissensus import kernels
from dissensus.core.errors import DissensusError
from dissensus.kernels import cache
from dissensus.kernels.jit import Kernel

SHARES = {
    "certainty": 0.19,
    "maximum likelihood": 0.11,
    "plackett-luce": 0.20,
    "evaluation": 0.09,
    "dawid-skene": 0.13,
    "counts": 0.03,
    "summaries": 0.02,
    "held out": 0.07,
    "ordered probit": 0.16,
}
"""The exercises, and how much of the whole time compiling what they need takes.

Their order is such that two workers compile hardly anything twice: one does what certainty and evaluation need, and
Dawid-Skene and the ordered probit, which share nothing; the other all else that aggregates; what evaluation needs of it
is on disk by then.
"""

MOST_WORKERS = 3
"""More would wait for the longest exercise."""

ATTEMPTS = 2
"""Processes that compile the same kernel at once may spoil it for each other, and then it is compiled once more."""


def can_be_kept() -> bool:
    """Tell whether there is a folder for what is compiled."""
    return cache.folder() is not None


def is_compiled() -> bool:
    """Tell whether no call has to compile anything: all kernels are on disk, for these sources and this machine.

    When ``NUMBA_DISABLE_JIT`` is set, nothing is ever compiled.
    """
    folder = cache.folder()
    return bool(cache.numba_setting("DISABLE_JIT")) or (folder is not None and cache.is_complete(folder))


def compile_kernels(
    *, workers: int | None = None, force: bool = False, done: Callable[[float], object] | None = None
) -> None:
    """Compile all kernels that are not on disk yet.

    Parameters
    ----------
    workers
        Number of processes; by default that of the processors, at most 3.
    force
        Compile those on disk anew.
    done
        Receives the share of the work that was just done; they add up to one.

    Raises
    ------
    DissensusError
        When there is nowhere to keep them, or a process fails.
    """
    folder = cache.folder()
    if folder is None:
        raise DissensusError(
            "there is no folder in which compiled kernels can be kept",
            advice="set the environment variable NUMBA_CACHE_DIR to one that can be written",
        )
    if force:
        cache.clear(folder)
    names = {kernel.name for kernel in all_kernels()}
    for _ in range(ATTEMPTS):
        _do_exercises(workers or min(os.cpu_count() or 1, MOST_WORKERS), done)
        missing = sorted(name for name in names if not cache.is_intact(folder / name))
        if not missing:
            return cache.complete(folder, names)
        done = None
    raise DissensusError("not all kernels could be compiled and kept", got=", ".join(missing), where=str(folder))


def compile_missing() -> None:
    """Compile all kernels if that was not done yet and there is a folder for them, as workers of a cluster do."""
    if not is_compiled() and can_be_kept():
        compile_kernels()


def all_kernels() -> list[Kernel[..., object]]:
    """Find all kernels, by the names of modules and functions."""
    modules = [import_module(f"{kernels.__name__}.{module.name}") for module in iter_modules(kernels.__path__)]
    found = {value.name: value for module in modules for value in vars(module).values() if isinstance(value, Kernel)}
    return [found[name] for name in sorted(found)]


def shared_out(n_workers: int) -> list[list[str]]:
    """Give each worker a list of exercises: one after the other, to whom has least to do."""
    lists: list[list[str]] = [[] for _ in range(min(n_workers, len(SHARES)))]
    for name in SHARES:
        min(lists, key=lambda names: sum(SHARES[other] for other in names)).append(name)
    return lists


def _do_exercises(n_workers: int, done: Callable[[float], object] | None) -> None:
    lists = shared_out(n_workers)
    with ThreadPoolExecutor(len(lists)) as pool:
        for failure in pool.map(lambda names: _exercise(names, done), lists):
            if failure:
                raise DissensusError("a process that compiles kernels failed", got=failure)


def _exercise(names: list[str], done: Callable[[float], object] | None) -> str:
    """Do exercises in a process of its own; return the last line of what went wrong, or nothing."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "dissensus.compilation", *names],
        env=_environment(),
        stdin=subprocess.PIPE,
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


def _environment() -> dict[str, str]:
    """Let another process find the same package, and the same place for kernels."""
    here = str(Path(dissensus.__file__).parents[1])
    path = os.pathsep.join(part for part in (here, os.environ.get("PYTHONPATH")) if part)
    place = cache.numba_setting("CACHE_DIR")
    return {**os.environ, "NUMBA_CACHE_DIR": str(place), "PYTHONPATH": path}
