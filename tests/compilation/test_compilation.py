"""Compiling all kernels before they are needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dissensus.cli.progress import compile_on_first_use
from dissensus.compilation import ahead, can_be_kept, compile_kernels, is_compiled
from dissensus.compilation.exercises import EXERCISES
from dissensus.core.errors import DissensusError

COUNT_COMPILED = """
from importlib import import_module
from pkgutil import iter_modules
from numba.core.dispatcher import Dispatcher
import dissensus.kernels
from dissensus.compilation.exercises import EXERCISES

for exercise in EXERCISES.values():
    exercise()
modules = [import_module(f"dissensus.kernels.{module.name}") for module in iter_modules(dissensus.kernels.__path__)]
kernels = {value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)}
kept = [kernel.stats for kernel in kernels if kernel.stats.cache_path]
print(len(kept), sum(sum(stats.cache_hits.values()) for stats in kept), sum(bool(stats.cache_misses) for stats in kept))
"""


def test_after_compiling_nothing_is_left_to_compile_and_each_kernel_was_called() -> None:
    done: list[float] = []
    compile_kernels(done=done.append)
    assert sum(done) == pytest.approx(1.0)
    assert is_compiled()
    outcome = subprocess.run([sys.executable, "-c", COUNT_COMPILED], capture_output=True, text=True, check=True)
    n_kernels, found, compiled = map(int, outcome.stdout.split())
    assert (found, compiled) == (n_kernels, 0)
    assert n_kernels > 20


@pytest.mark.parametrize("n_workers", [1, 2, 3, 9])
def test_every_exercise_has_one_worker_and_no_worker_is_idle(n_workers: int) -> None:
    lists = ahead.shared_out(n_workers)
    assert sorted(name for names in lists for name in names) == sorted(EXERCISES)
    assert sum(ahead.SHARES.values()) == pytest.approx(1.0)
    assert len(lists) <= n_workers
    assert all(lists)


def test_a_process_that_fails_is_told_and_commands_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ahead, "SHARES", {"no such exercise": 1.0})
    with pytest.raises(DissensusError, match="no such exercise"):
        compile_kernels()
    monkeypatch.setattr("dissensus.compilation.is_compiled", lambda: False)
    compile_on_first_use()
    said = capsys.readouterr().err
    assert "compiling the kernels for first use" in said
    assert "one after another" in said
    assert "Traceback" not in said


def test_without_a_folder_commands_say_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ahead, "_folder", lambda: None)
    assert not can_be_kept()
    assert not is_compiled()
    with pytest.raises(DissensusError, match="NUMBA_CACHE_DIR"):
        compile_kernels()
    compile_on_first_use()
    assert "NUMBA_CACHE_DIR" in capsys.readouterr().err


def test_other_sources_are_not_compiled_yet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ahead, "_folder", lambda: tmp_path)
    assert not is_compiled()
    (tmp_path / ahead._marker()).touch()
    assert is_compiled()
    monkeypatch.setattr(ahead, "SOURCES", b"others")
    assert not is_compiled()
