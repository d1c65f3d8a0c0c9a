"""Compiling all kernels before they are needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dissensus.cli.app import app
from dissensus.cli.progress import compile_on_first_use
from dissensus.compilation import ahead, can_be_kept, compile_kernels, is_compiled
from dissensus.compilation.exercises import EXERCISES
from dissensus.core.errors import DissensusError
from dissensus.kernels import cache

COUNT_COMPILED = """
from dissensus.compilation.ahead import all_kernels
from dissensus.compilation.exercises import EXERCISES

for exercise in EXERCISES.values():
    exercise()
kernels = [kernel.dispatcher for kernel in all_kernels() if kernel.dispatcher is not None]
misses = sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels)
print(len(all_kernels()), sum(sum(kernel.stats.cache_hits.values()) for kernel in kernels), misses)
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


def test_one_of_two_workers_aggregates_and_the_other_evaluates() -> None:
    assert ahead.shared_out(2) == [
        ["certainty", "evaluation", "dawid-skene", "ordered probit"],
        ["maximum likelihood", "plackett-luce", "counts", "summaries", "held out"],
    ]


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
    monkeypatch.setattr(cache, "folder", lambda: None)
    assert not can_be_kept()
    assert not is_compiled()
    with pytest.raises(DissensusError, match="NUMBA_CACHE_DIR"):
        compile_kernels()
    compile_on_first_use()
    assert "NUMBA_CACHE_DIR" in capsys.readouterr().err


def test_a_kernel_that_no_exercise_keeps_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(ahead, "_do_exercises", lambda *_: None)
    with pytest.raises(DissensusError, match=r"tallies\.add_orders"):
        compile_kernels()
    assert not is_compiled()


@pytest.mark.parametrize(("words", "is_forced"), [([], False), (["--force"], True)])
def test_the_command_compiles_anew_only_when_forced(
    monkeypatch: pytest.MonkeyPatch, words: list[str], is_forced: bool
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr("dissensus.compilation.is_compiled", lambda: True)
    monkeypatch.setattr("dissensus.compilation.compile_kernels", lambda **options: asked.append(options["force"]))
    outcome = CliRunner().invoke(app, ["compile", *words])
    assert outcome.exit_code == 0, outcome.output
    assert asked == ([True] if is_forced else [])
    assert ("already" in outcome.output) == (not is_forced)
