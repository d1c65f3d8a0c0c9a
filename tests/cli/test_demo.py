"""The demo: one command from nothing to a report."""

import shutil
from pathlib import Path

import pytest

import dissensus as ds
from cli.conftest import Demo
from command_calls import told
from dissensus import compilation
from dissensus.cli.evaluate import was_written_by_demo


def test_it_tells_the_study_the_results_and_how_to_open_the_report(demo: Demo) -> None:
    told, report = demo.outcome.out, demo.place / "demo-results" / "report.html"
    parts = ("Simulated: 100 cases", "Aster", "Dahlia", "top-2 set accuracy", "with one annotator")
    for part in (*parts, "dissensus compare demo-results"):
        assert part in told
    assert f"-m webbrowser {report.absolute().as_uri()}\n" in told
    assert demo.outcome.err == "", "it says that it compiles the first time only"
    page = report.read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "Clover" in page
    study, result = ds.simulate.study(n_cases=100, seed=1), demo.result
    assert (result.models, result.study, result.strata) == (tuple(study.predictions), study.annotations, study.strata)
    assert result.categories == study.categories
    assert [run.label for run in result.runs] == ["plackett-luce 1", "panel"]
    assert result.runs[-1].estimand == "panel"
    assert {run.n_draws for run in result.runs} == {50}
    assert dict(result.inputs) == {"simulated study": "simulate_study(n_cases=100, seed=1)"}


def test_a_demo_replaces_only_what_a_demo_wrote(demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "needed", lambda _: ["evaluation"])
    place, words = tmp_path / "demo-results", ("demo", "--cases", "3", "--draws", "10")
    shutil.copytree(demo.place / "demo-results", place)
    assert was_written_by_demo(place)
    said = told(tmp_path, *words, columns=80)
    assert "compiling kernels for first use" in said.err
    lines = said.out.splitlines()
    assert max(len(line) for line in lines if "webbrowser" not in line) <= 80
    assert len(lines) <= 25
    assert ds.load(place).n_cases == 3
    assert [path.name for path in tmp_path.iterdir()] == ["demo-results"]
    (place / "notes.txt").write_text("mine")
    for more in ((), ("--overwrite",)):
        assert told(tmp_path, *words, *more).refused("holds something else")
    assert (place / "notes.txt").read_text() == "mine"
    assert ds.load(place).n_cases == 3


@pytest.mark.parametrize("text", ['{"inputs": {"opinions.csv": "sha256:0"}}', '["simulated study"]', "{"])
def test_a_directory_that_no_demo_wrote_stays_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "demo-results" / "run.json"
    file.parent.mkdir()
    file.write_text(text)
    assert told(tmp_path, "demo").refused("error: the output directory exists already")
    assert [path.read_text() for path in file.parent.iterdir()] == [text]
