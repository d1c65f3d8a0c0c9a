"""The step that tries the oldest versions: what it installs, what it skips, and what it calls a failure."""

import subprocess
import tomllib
from pathlib import Path

import pytest

from minimum import versions

MINIMA = {"numpy": "2.1"}
LACKS = "ERROR: Could not find a version that satisfies the requirement numpy==2.1 (from versions: {})\n"
LACKS += "ERROR: No matching distribution found for numpy==2.1"


def answers(monkeypatch: pytest.MonkeyPatch, *outcomes: tuple[int, str]) -> list[list[str]]:
    """Let commands end like this, one after the other, instead of running them; note them."""
    left, called = list(outcomes), []

    def answer(*command: str | Path) -> subprocess.CompletedProcess[str]:
        called.append([str(word) for word in command])
        code, said = left.pop(0)
        return subprocess.CompletedProcess(command, code, "", said)

    monkeypatch.setattr(versions, "run", answer)
    return called


def test_every_dependency_declares_a_minimum() -> None:
    text = (versions.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    minima = versions.declared_minima(text)
    assert len(minima) == len(tomllib.loads(text)["project"]["dependencies"])
    assert {"polars", "narwhals", "numpy", "plotly", "typer", "rich"} <= set(minima)
    with pytest.raises(SystemExit, match="'numpy<3' declares no minimum"):
        versions.declared_minima('[project]\ndependencies = ["numpy<3"]')


def test_exactly_the_declared_versions_are_installed_and_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    called = answers(monkeypatch, (0, ""), (0, ""))
    assert versions.outcome(MINIMA, tmp_path) == (0, "numpy 2.1: ok")
    install, smoke = called
    assert {"numpy==2.1", str(versions.ROOT)} <= set(install)
    assert smoke[0] == str(tmp_path / "bin" / "python")


def test_a_version_that_the_index_lacks_is_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers(monkeypatch, (1, LACKS.format("2.2.0, 2.3.0")))
    assert versions.outcome(MINIMA, tmp_path) == (0, "skipped, the index lacks numpy==2.1")


@pytest.mark.parametrize("said", [LACKS.format("none"), "ERROR: ResolutionImpossible"])
def test_an_index_out_of_reach_and_a_conflict_are_failures(
    said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers(monkeypatch, (1, said))
    code, told = versions.outcome(MINIMA, tmp_path)
    assert code == 1
    assert said in told


def test_a_version_that_does_not_work_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers(monkeypatch, (0, ""), (1, "AssertionError"))
    assert versions.outcome(MINIMA, tmp_path) == (1, "numpy 2.1: failed\nAssertionError")


def test_what_must_hold_before_a_change_lands_includes_it_before_the_tests() -> None:
    lines = (versions.ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert lines.index("make check") < lines.index("make minimum") < lines.index("make test")
