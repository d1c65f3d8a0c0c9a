"""The command line in a folder of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import dissensus as ds
from command_calls import Outcome, Run, told
from dissensus import compilation


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run ``dissensus`` with some words in an empty folder, on a terminal of 200 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: told(Path.cwd(), *words)


@dataclass(frozen=True)
class Demo:
    """Where the demo was run, what it said, and its results."""

    place: Path
    outcome: Outcome
    result: ds.Evaluation


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo on 100 cases, once for all tests."""
    place = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, "needed", lambda _: [])
        outcome = told(place, "demo", "--cases", "100", "--draws", "50", columns=100)
    assert outcome.code == 0, outcome.err
    return Demo(place, outcome, ds.load(place / "demo-results"))
