"""The step that tries the oldest versions: what it installs, what it skips, and what it calls a failure."""

import subprocess
import tomllib
from pathlib import Path

import pytest

from minimum import versions

LACKS = "ERROR: Could not find a version that satisfies the requirement numpy==2.1 (from versions: {})\n"
LACKS += "ERROR: No matching distribution found for numpy==2.1"


def test_every_dependency_declares_a_minimum() -> None:
    text = (versions.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    minima = versions.declared_minima(text)
    assert len(minima) == len(tomllib.loads(text)["project"]["dependencies"])
    assert {"polars", "narwhals", "numpy", "altair", "typer", "rich"} <= set(minima)
    with pytest.raises(SystemExit, match="'numpy<3' declares no minimum"):
        versions.declared_minima('[project]\ndependencies = ["numpy<3"]')


@pytest.mark.parametrize(
    ("ended", "code", "said"),
    [
        ([(0, ""), (0, "")], 0, "numpy 2.1: ok"),
        ([(1, LACKS.format("2.2.0, 2.3.0"))], 0, "skipped, the index lacks numpy==2.1"),
        ([(1, LACKS.format("none"))], 1, "not installed\n" + LACKS.format("none")),
        ([(1, "ERROR: ResolutionImpossible")], 1, "not installed\nERROR: ResolutionImpossible"),
        ([(0, ""), (1, "AssertionError")], 1, "numpy 2.1: failed\nAssertionError"),
    ],
)
def test_the_declared_versions_are_installed_and_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ended: list[tuple[int, str]], code: int, said: str
) -> None:
    called = []

    def answer(*command: str | Path) -> subprocess.CompletedProcess[str]:
        called.append([str(word) for word in command])
        code, said = ended[len(called) - 1]
        return subprocess.CompletedProcess(command, code, "", said)

    monkeypatch.setattr(versions, "run", answer)
    assert versions.outcome({"numpy": "2.1"}, tmp_path) == (code, said)
    assert {"numpy==2.1", str(versions.ROOT)} <= set(called[0])
    assert [words[0] for words in called[1:]] == [str(tmp_path / "bin" / "python")] * (len(ended) - 1)


def test_what_must_hold_before_a_change_lands_includes_it_before_the_tests() -> None:
    lines = (versions.ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert lines.index("make check") < lines.index("make minimum") < lines.index("make test")
