"""The demo: one command from nothing to a report."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import dissensus as ds
from cli.conftest import Demo
from command_calls import told
from dissensus import compilation
from dissensus.cli.demo import evaluated, lesson, printed_rows, was_written_by_demo
from dissensus.simulate.differential_study import NEAR_TIES
from dissensus.simulate.printed_cases import printed_cases


def test_it_tells_the_study_the_results_and_how_to_open_the_report(demo: Demo) -> None:
    told, report = demo.outcome.out, demo.place / "demo-results" / "report.html"
    for part in (
        "a simulated study",
        "Aster",
        "Dahlia",
        "top-2 set accuracy",
        "with one annotator",
        "leads by top-1 accuracy",
    ):
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


@pytest.mark.parametrize("near_ties", [False, True])
def test_the_lesson_names_the_models_that_lead(demo: Demo, near_ties: bool) -> None:
    result = demo.result
    if near_ties:
        study = ds.simulate.study(n_cases=100, models=NEAR_TIES, seed=1)
        result = evaluated(study, {"draws": 50, "seed": 1}, origin="here")
    table, points = result.to_frame(), result.point_estimates()
    said = lesson(result)
    usual = points.filter((points["aggregation"] == "majority-vote") & (points["metric"] == "top-1 accuracy"))
    leader = usual.sort("point_estimate", descending=True).row(0, named=True)
    assert said.startswith(f"{leader['model']} leads by top-1 accuracy against the majority vote")
    assert f"({leader['point_estimate']:.3f})" in said
    sets = table.filter((table["metric"] == "top-2 set accuracy") & (table["estimand"] == "panel"))
    best = sets.sort("mean", descending=True).row(0, named=True)
    assert (best["model"] != leader["model"]) == near_ties
    does = f"{best['model']} does" if near_ties else "and so it does"
    end = " against" if near_ties else ")"
    assert f"{does} by panel top-2 set accuracy ({best['mean']:.3f}{end}" in said


def test_printed_cases_stand_beside_what_the_paper_prints() -> None:
    rows = list(printed_rows(printed_cases()))
    assert [row[0] for row in rows] == ["1026", "", "1057", "", "357", ""]
    assert [row[2] for row in rows] == ["A", "B", "A", "D", "A", "B"]
    for *_, race, printed_race, rank, printed_rank in rows:
        assert float(race) == pytest.approx(float(printed_race), abs=0.06)
        assert float(rank) == pytest.approx(float(printed_rank), abs=0.06)
    certainties = [float(row[1].split()[1]) for row in rows]
    assert certainties[:2] == pytest.approx([0.69, 0.53], abs=0.03)
    assert max(certainties[2:]) < 0.35


def test_the_next_demo_replaces_the_last_one_but_nothing_that_lies_among_its_results(
    demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "needed", lambda _: ["evaluation"])
    place, words = tmp_path / "demo-results", ("demo", "--cases", "3", "--draws", "10")
    shutil.copytree(demo.place / "demo-results", place)
    assert was_written_by_demo(place)
    said = told(tmp_path, *words, columns=80)
    assert "compiling kernels for first use" in said.err
    rules = [line for line in said.out.split("\n") if line and line[0] in "┏┃┡│├└"]
    assert rules
    assert max(len(line) for line in rules) <= 80
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


def test_impossible_sizes_are_refused(tmp_path: Path) -> None:
    for words in (("--cases", "0"), ("--cases", "many"), ("--draws", "0"), ("--seed", "-1")):
        refused = told(tmp_path, "demo", *words)
        assert refused.code == 2
        assert "Traceback" not in refused.err
    assert list(tmp_path.iterdir()) == []
