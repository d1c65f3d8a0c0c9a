"""What a large panel would say, on the command line: asked for, left out, refused, and compared first."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

import dissensus as ds
from dissensus.cli import main
from dissensus.cli.demo import evaluated, truth_told

WORDS = ("--aggregation", "plackett-luce:1,3", "--metric", "top-k-accuracy:1", "--draws", "20", "--no-report")


def run(patch: pytest.MonkeyPatch, *words: object, columns: int = 80) -> int:
    patch.setattr(sys, "argv", ["dissensus", *map(str, words)])
    patch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


def files(place: Path, n_cases: int) -> tuple[object, ...]:
    """Write a study and the scores of two models, and return the words that name them."""
    study = ds.simulate_study(n_cases=n_cases, n_conditions=8, seed=9)
    ds.write_annotations(study.annotations, place / "opinions.csv")
    words: list[object] = [place / "opinions.csv"]
    for name, power in (("A", 2.0), ("B", 0.5)):
        scores = pl.DataFrame(study.theta**power, schema=list(study.annotations.conditions))
        path = place / f"{name}.csv"
        scores.insert_column(0, pl.Series("case", study.annotations.case_names)).write_csv(path)
        words += ["--predictions", f"{name}={path}"]
    return tuple(words)


def test_the_panel_is_estimated_by_itself_and_compared_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results"
    assert run(monkeypatch, "evaluate", *files(tmp_path, 110), *WORDS, "--out", out) == 0
    said = capsys.readouterr().out
    assert "against a large panel, agreement with single annotators and adjusted under plackett-luce 1" in said
    assert "The panel top-1 accuracy of" in said
    rules = [line for line in said.split("\n") if line and line[0] in "┏┃┡│├└"]
    assert max(map(len, rules)) <= 80
    assert ds.load_evaluation(out).panel == 2
    assert run(monkeypatch, "compare", out) == 0
    titles = [line.strip() for line in capsys.readouterr().out.splitlines() if "top-1 accuracy" in line]
    assert titles[0] == "panel top-1 accuracy"
    assert titles[1].startswith("adjusted top-1 accuracy, plackett-luce 1")


def test_the_panel_is_left_out_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results"
    assert run(monkeypatch, "evaluate", *files(tmp_path, 110), *WORDS, "--no-panel", "--out", out) == 0
    said = capsys.readouterr().out
    assert "What a large panel would say is not estimated: it was not asked for." in said
    assert "The panel" not in said
    assert [one.label for one in ds.load_evaluation(out).runs] == ["plackett-luce 1", "plackett-luce 3"]


def test_too_few_cases_are_said_and_a_panel_that_is_asked_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given, out = files(tmp_path, 40), tmp_path / "results"
    assert run(monkeypatch, "evaluate", *given, *WORDS, "--panel", "--out", out) == 2
    assert "there are 40 annotated cases, and at least 100 are needed" in capsys.readouterr().err
    assert not out.exists()
    assert run(monkeypatch, "evaluate", *given, *WORDS, "--out", out) == 0
    assert "not estimated: there are 40 annotated cases" in capsys.readouterr().out


def test_an_aggregation_takes_the_informed_prior_in_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "results"
    words = ("--aggregation", "plackett-luce:1", "--aggregation", "dirichlet:1:prior=informed", *WORDS[2:])
    assert run(monkeypatch, "evaluate", *files(tmp_path, 110), *words, "--out", out) == 0
    assert [one.estimand for one in ds.load_evaluation(out).runs] == ["adjusted", "panel"]


def test_commands_without_models_refuse_the_informed_prior_and_say_what_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opinions, *_ = files(tmp_path, 40)
    assert run(monkeypatch, "certainty", opinions, "--prior", "informed", "--out", tmp_path / "open.csv") == 2
    assert "needs to know what the models say" in capsys.readouterr().err


# The demo -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo() -> ds.Evaluation:
    study = ds.simulate_study(n_cases=100, n_conditions=10, seed=1)
    return evaluated(study, draws=30, seed=1, origin="here")


def test_the_demo_names_the_estimands_and_counts_the_intervals_that_hold_the_truth(demo: ds.Evaluation) -> None:
    from dissensus.evaluation.sentences import leading

    said = truth_told(demo)
    assert [line.split()[0] for line in said.splitlines()[1:4]] == ["agreement", "adjusted", "panel"]
    found = leading(demo, demo.to_frame())
    held = sum(one.panel["low"] <= one.truth <= one.panel["high"] for one in found if one.panel and one.truth)
    assert f"hold the truth of {held} of {len(found)} models" in said
    assert max(map(len, said.splitlines()[:4])) <= 80


def test_a_small_demo_says_why_there_is_no_panel() -> None:
    study = ds.simulate_study(n_cases=30, n_conditions=10, seed=1)
    small = truth_told(evaluated(study, draws=10, seed=1, origin="here"))
    assert "not estimated: there are 30 annotated cases" in small
    assert "  panel" not in small


def test_a_prior_by_name_is_that_of_all_aggregations_that_have_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("evaluate", *files(tmp_path, 100), "--metric", "top-k-accuracy:1", "--draws", "20", "--no-report")
    chosen = ("--aggregation", "dirichlet:1", "--aggregation", "majority-vote", "--prior")
    assert run(monkeypatch, *words, *chosen, "informed", "--out", tmp_path / "results") == 0
    result = ds.load_evaluation(tmp_path / "results")
    assert [one.estimand for one in result.runs] == ["panel", "adjusted"]
    assert result.runs[0].spec.parameters()["prior"] == "informed"
    assert run(monkeypatch, *words, *chosen, "flat", "--out", tmp_path / "others") == 2
    assert "prior" in capsys.readouterr().err
    alone = ("--aggregation", "majority-vote", "--prior", "informed", "--out", tmp_path / "others")
    assert run(monkeypatch, *words, *alone) == 2
    assert "no aggregation has a prior" in capsys.readouterr().err
