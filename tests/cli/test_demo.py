"""The demo: one command from nothing to a report."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

import dissensus as ds
from dissensus import compilation
from dissensus.cli import main
from dissensus.cli.demo import lesson, printed_rows, was_written_by_demo
from dissensus.datasets.printed_cases import printed_cases

SMALL = ("--cases", "100", "--draws", "50")


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def run(place: Path, *words: str, columns: int = 100) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(place)
        patch.setenv("COLUMNS", str(columns))
        patch.setattr(sys, "argv", ["dissensus", "demo", *words])
        with pytest.raises(SystemExit) as leaving:
            main()
    code = leaving.value.code or 0
    assert isinstance(code, int)
    return Outcome(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def outcome(place: Path) -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, "is_compiled", lambda: True)
        return run(place, *SMALL)


@pytest.fixture(scope="module")
def result(place: Path, outcome: Outcome) -> ds.Evaluation:
    assert outcome.code == 0, outcome.err
    return ds.load_evaluation(place / "demo-results")


def test_it_prints_the_data_the_table_and_the_headline(outcome: Outcome) -> None:
    assert outcome.code == 0
    for part in (
        "a simulated study",
        "Aster",
        "Dahlia",
        "top-2 set accuracy",
        "reads",
        "leads by top-1 accuracy",
        "Known here, because the study is simulated",
        "truth",
    ):
        assert part in outcome.out


def test_it_says_how_to_open_the_report(place: Path, outcome: Outcome) -> None:
    report = place / "demo-results" / "report.html"
    assert f"-m webbrowser {report.absolute().as_uri()}\n" in outcome.out
    assert report.stat().st_size > 100_000
    page = report.read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "Clover" in page


def test_it_evaluates_the_whole_simulated_study(result: ds.Evaluation) -> None:
    study = ds.simulate_study(n_cases=100, seed=1)
    assert result.models == tuple(study.predictions)
    assert result.study == study.annotations
    assert result.categories == study.categories
    assert result.strata == study.strata
    assert len(result.runs) == 11
    assert result.runs[-1].estimand == "panel"
    assert {run.n_draws for run in result.runs} == {50}
    assert dict(result.inputs) == {"simulated study": "simulate_study(n_cases=100, seed=1)"}


def test_the_lesson_names_the_models_that_lead(result: ds.Evaluation) -> None:
    table, points = result.to_frame(), result.point_estimates()
    said = lesson(result)
    usual = points.filter((points["aggregation"] == "majority-vote") & (points["metric"] == "top-1 accuracy"))
    leader = usual.sort("point_estimate", descending=True).row(0, named=True)
    assert said.startswith(f"{leader['model']} leads by top-1 accuracy against the majority vote")
    assert f"({leader['point_estimate']:.3f})" in said
    sets = table.filter((table["metric"] == "top-2 set accuracy") & (table["estimand"] == "panel"))
    best = sets.sort("mean", descending=True).row(0, named=True)
    assert best["model"] != leader["model"]
    assert f"{best['model']} does by panel top-2 set accuracy ({best['mean']:.3f} against" in said


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


def test_the_next_demo_replaces_the_last_one_and_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    words = ("--cases", "5", "--draws", "20", "--seed", "7")
    assert run(tmp_path, *words).code == 0
    assert was_written_by_demo(tmp_path / "demo-results")
    before = (tmp_path / "demo-results" / "summary.json").stat().st_ino
    first = (tmp_path / "demo-results" / "summary.json").read_bytes()
    assert run(tmp_path, *words).code == 0
    assert (tmp_path / "demo-results" / "summary.json").stat().st_ino != before
    assert (tmp_path / "demo-results" / "summary.json").read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["demo-results"]


FOREIGN: list[dict[str, str]] = [
    {},
    {"notes.txt": "mine"},
    {"run.json": json.dumps({"inputs": {"opinions.csv": "sha256:0"}})},
    {"run.json": json.dumps(["simulated study"])},
    {"run.json": "{"},
]


@pytest.mark.parametrize("files", FOREIGN, ids=str)
def test_a_directory_that_no_demo_wrote_stays_as_it_is(tmp_path: Path, files: dict[str, str]) -> None:
    directory = tmp_path / "demo-results"
    directory.mkdir()
    for name, text in files.items():
        (directory / name).write_text(text)
    refused = run(tmp_path, *SMALL)
    assert refused.code == 2
    assert refused.err.startswith("error: the output directory exists already")
    assert refused.out == ""
    assert {path.name: path.read_text() for path in directory.iterdir()} == files


def test_what_else_lies_among_the_results_is_never_replaced(tmp_path: Path) -> None:
    words = ("--cases", "3", "--draws", "10", "--out", "mine")
    assert run(tmp_path, *words).code == 0
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    for more in ((), ("--overwrite",)):
        refused = run(tmp_path, *words, *more)
        assert refused.code == 2
        assert "holds something else" in refused.err
    assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"
    assert ds.load_evaluation(tmp_path / "mine").n_cases == 3


@pytest.mark.parametrize("words", [("--cases", "0"), ("--cases", "many"), ("--draws", "0"), ("--seed", "-1")])
def test_impossible_sizes_are_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    refused = run(tmp_path, *words)
    assert refused.code == 2
    assert "Traceback" not in refused.err
    assert list(tmp_path.iterdir()) == []


def test_the_first_run_says_that_it_compiles_and_tables_fit_into_80_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "is_compiled", lambda: False)
    said = run(tmp_path, "--cases", "3", "--draws", "10", columns=80)
    assert "compiling the kernels for first use" in said.err
    rules = [line for line in said.out.split("\n") if line and line[0] in "┏┃┡│├└"]
    assert len(rules) > 40
    assert max(len(line) for line in rules) <= 80


def test_later_runs_do_not_say_that_they_compile(outcome: Outcome) -> None:
    assert outcome.err == ""
