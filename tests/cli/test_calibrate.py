"""``dissensus calibrate`` as a person meets it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from command_calls import Outcome, called
from dissensus import Calibration, Study, load, simulate, write
from dissensus.aggregations import PlackettLuce
from dissensus.cli import main

WORDS = ("opinions.csv", "--aggregation", "plackett-luce:1,10", "--draws", "40", "--out", "trust")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    study = simulate.study(n_cases=30, n_conditions=8, seed=1)
    write(study.annotations, "opinions.csv")
    model = study.predictions["Birch"]
    rows = [
        (model.case_names[case], model.conditions[model.codes[entry]], model.values[entry])
        for entry, case in enumerate(model.case_of_entry)
    ]
    pl.DataFrame(rows, schema=["case", "condition", "score"], orient="row").write_csv("birch.csv")

    def call(*words: str) -> Outcome:
        return called(monkeypatch, capsys, "calibrate", *words)

    return call


def test_the_best_is_named_and_tables_are_written(run: Any) -> None:
    outcome = run(*WORDS)
    assert outcome.code == 0
    assert "best: plackett-luce 1, with a mean log score of" in outcome.out
    assert "certainty from half of the annotators" in outcome.out
    assert "opinions.csv: read as long" in outcome.err
    assert max(map(len, outcome.out.splitlines())) <= 80
    names = sorted(path.name for path in Path("trust").iterdir())
    assert names == ["calibration.json", "panel_split.csv", "scores.csv"]
    scores = pl.read_csv("trust/scores.csv")
    assert scores["aggregation"].to_list() == ["plackett-luce 1", "plackett-luce 10"]
    assert scores["score"][0] > scores["score"][1]
    assert Calibration.load("trust").best.parameters()["reliability"] == 1
    assert json.loads(Path("trust/calibration.json").read_text())["counts"]["draws"] == 40


def test_models_are_compared_with_held_out_annotators(run: Any) -> None:
    outcome = run(*WORDS, "--predictions", "Birch=birch.csv")
    assert outcome.code == 0
    assert "agreement of models with annotators who were held out" in outcome.out
    table = pl.read_csv("trust/models.csv")
    assert set(table["model"]) == {"Birch"}
    assert {"agreement", "adjusted"} <= set(table["estimand"])


def test_nothing_is_replaced_unasked_and_only_a_calibration_at_all(run: Any) -> None:
    assert run(*WORDS).code == 0
    before = Path("trust/scores.csv").read_bytes()
    refused = run(*WORDS)
    assert refused.code == 2
    assert "exists already" in refused.err
    assert run(*WORDS, "--overwrite", "--seed", "3").code == 0
    assert Path("trust/scores.csv").read_bytes() != before
    Path("trust/mine.txt").write_text("kept")
    assert run(*WORDS, "--overwrite").code == 2
    assert Path("trust/mine.txt").read_text() == "kept"


def test_one_annotator_per_case_is_an_error_that_says_what_follows(run: Any) -> None:
    write(Study.from_rankings([[[["a"]]], [[["b"]]]], annotator_names=["A"]), "alone.csv")
    outcome = run("alone.csv", "--out", "trust")
    assert outcome.code == 2
    assert "no case has opinions of two annotators" in outcome.err
    assert "report the range" in " ".join(outcome.err.split())
    assert not Path("trust").exists()


def test_evaluate_lets_held_out_annotators_choose_the_reference_run(
    run: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "dissensus.evaluation.calibration.candidates", lambda *_, **__: (PlackettLuce(2.0), PlackettLuce(20.0))
    )
    words = ("opinions.csv", "--predictions", "B=birch.csv", "--draws", "30", "--aggregation", "plackett-luce:1")
    monkeypatch.setattr(sys, "argv", ["dissensus", "evaluate", *words, "--calibrate", "--out", "results"])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert not leaving.value.code
    assert "best: plackett-luce 2" in capsys.readouterr().out
    result = load("results")
    assert result.calibration is not None
    assert result.run_label(result.reference) == "plackett-luce 2"
    page = Path("results/report.html").read_text(encoding="utf-8")
    assert "Can these numbers be trusted?" in page
    assert "Held-out panels agreed with the leading condition" in page
    assert run is not None
