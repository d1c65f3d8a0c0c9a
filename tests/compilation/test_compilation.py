"""Compiling kernels before they are needed: all of them, those that a command needs, and in several processes."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from command_calls import printed
from dissensus import compilation
from dissensus.cli.app import app
from dissensus.cli.terminal import compile_on_first_use
from dissensus.compilation import EXERCISES, compile_kernels, needed
from dissensus.kernels import jit
from refusals import refused

COUNT_COMPILED = """
from importlib import import_module
from pkgutil import iter_modules
from dissensus import compilation, kernels
from dissensus.kernels.jit import Kernel

for exercise in compilation.EXERCISES.values():
    exercise()
modules = [import_module(f"dissensus.kernels.{module.name}") for module in iter_modules(kernels.__path__)]
found = {kernel for module in modules for kernel in vars(module).values() if isinstance(kernel, Kernel)}
hits = sum(sum(kernel.dispatcher.stats.cache_hits.values()) for kernel in found)
misses = sum(sum(kernel.dispatcher.stats.cache_misses.values()) for kernel in found)
print(len(found), hits, misses)
"""


@pytest.mark.slow
def test_after_compiling_nothing_is_left_to_compile_and_each_kernel_was_called_with_one_type() -> None:
    done: list[str] = []
    missing = needed()
    compile_kernels(done=done.append)
    assert sorted(done) == sorted(missing)
    assert needed() == []
    n_kernels, found, compiled = map(int, printed("-c", COUNT_COMPILED).split())
    assert (found, compiled) == (n_kernels, 0)
    assert n_kernels > 20


def test_commands_go_on_if_compiling_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(compilation, "EXERCISES", {"no such exercise": lambda: None})
    refused("no such exercise", compile_kernels, ["no such exercise"])
    compile_on_first_use("no such exercise")
    said = capsys.readouterr().err
    assert "compiling kernels for first use" in said
    assert "one after another" in said
    assert "Traceback" not in said


def test_commands_tell_of_a_missing_folder(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(jit, "folder", lambda: None)
    assert needed() == list(EXERCISES)
    refused("NUMBA_CACHE_DIR", compile_kernels)
    compile_on_first_use("certainty")
    assert "NUMBA_CACHE_DIR" in capsys.readouterr().err


def test_a_command_compiles_what_it_needs_once_and_no_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / jit.folder_name()
    assert jit.is_ready(place)
    monkeypatch.setattr(jit, "folder", lambda: place)
    compile_kernels(["annotator-bootstrap", "an aggregation of a plug-in"])
    assert needed() == [name for name in EXERCISES if name != "annotator-bootstrap"]
    assert needed(["annotator-bootstrap"]) == []


@pytest.mark.parametrize(("words", "is_forced"), [([], False), (["--force"], True)])
def test_kernels_are_forced_to_compile_anew(monkeypatch: pytest.MonkeyPatch, words: list[str], is_forced: bool) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(compilation, "needed", list)
    monkeypatch.setattr(compilation, "compile_kernels", lambda *_, **options: asked.append(options["force"]))
    outcome = CliRunner().invoke(app, ["compile", *words])
    assert outcome.exit_code == 0, outcome.output
    assert asked == ([True] if is_forced else [])
    assert ("already" in outcome.output) == (not is_forced)
