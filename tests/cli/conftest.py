"""The command line in a folder of its own."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import dissensus as ds
from command_calls import Outcome, Run, told
from dissensus import compilation
from dissensus.simulate.answers import SimulatedAnswers
from dissensus.simulate.differential_study import SimulatedStudy


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run ``dissensus`` with some words in an empty folder, on a terminal of 200 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: told(Path.cwd(), *words)


def put_study(study: SimulatedStudy | SimulatedAnswers, *models: str) -> list[str]:
    """Write the opinions of a study, and what some models say; return the words that name the files."""
    ds.write(study.annotations, "opinions.csv", overwrite=True)
    for name in models:
        said = study.predictions[name]
        scores = pl.DataFrame(said.to_scores(), schema=list(said.conditions))
        scores.insert_column(0, pl.Series("case", said.case_names)).write_csv(f"{name}.csv")
    return ["opinions.csv", *(word for name in models for word in ("--predictions", f"{name}={name}.csv"))]


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
