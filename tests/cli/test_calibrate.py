"""``dissensus calibrate`` as a person meets it."""

import json
from pathlib import Path

import polars as pl
import pytest

from cli.conftest import put_study
from command_calls import Run
from dissensus import Calibration, Study, load, simulate, write
from dissensus.aggregations import PlackettLuce

WORDS = ("opinions.csv", "--aggregation", "plackett-luce:1,10", "--draws", "40", "--out", "trust")


@pytest.fixture
def calibrated(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "80")
    put_study(simulate.study(n_cases=30, n_conditions=8, seed=1), "Birch")
    return lambda *words: run("calibrate", *words)


def test_the_best_is_named_and_tables_are_written(calibrated: Run) -> None:
    outcome = calibrated(*WORDS, "--predictions", "Birch=Birch.csv").done()
    for part in ("Best: plackett-luce 1, with a mean log score of", "* plackett-luce 1 ", "Held-out panels agreed"):
        assert part in outcome.out
    assert "predicted agreement with held-out annotators" in " ".join(outcome.out.split())
    assert len(outcome.out.splitlines()) <= 25
    assert "opinions.csv: read as long" in outcome.err
    assert max(map(len, outcome.out.splitlines())) <= 80
    names = sorted(path.name for path in Path("trust").iterdir())
    assert names == ["calibration.json", "models.csv", "panel_split.csv", "scores.csv"]
    scores, models = pl.read_csv("trust/scores.csv"), pl.read_csv("trust/models.csv")
    assert scores["aggregation"].to_list() == ["plackett-luce 1", "plackett-luce 10"]
    assert scores["score"][0] > scores["score"][1]
    assert set(models["model"]) == {"Birch"}
    assert {"agreement", "adjusted"} <= set(models["estimand"])
    assert Calibration.load("trust").best.parameters()["reliability"] == 1
    assert json.loads(Path("trust/calibration.json").read_text())["counts"]["draws"] == 40


def test_nothing_is_replaced_unasked_and_only_a_calibration_at_all(calibrated: Run) -> None:
    assert calibrated(*WORDS).code == 0
    before = Path("trust/scores.csv").read_bytes()
    assert calibrated(*WORDS).refused("exists already")
    assert calibrated(*WORDS, "--overwrite", "--seed", "3").code == 0
    assert Path("trust/scores.csv").read_bytes() != before
    Path("trust/mine.txt").write_text("kept")
    assert calibrated(*WORDS, "--overwrite").refused()
    assert Path("trust/mine.txt").read_text() == "kept"
    write(Study.from_rankings([[[["a"]]], [[["b"]]]], annotator_names=["A"]), "alone.csv")
    refused = calibrated("alone.csv", "--out", "again")
    assert refused.refused("no case has opinions of two annotators", "report the range")
    assert not Path("again").exists()


@pytest.mark.usefixtures("calibrated")
def test_evaluate_lets_held_out_annotators_choose_the_reference_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "dissensus.evaluation.calibration.candidates", lambda *_, **__: (PlackettLuce(2.0), PlackettLuce(20.0))
    )
    words = ("opinions.csv", "--predictions", "B=Birch.csv", "--draws", "30", "--aggregation", "plackett-luce:1")
    assert "best: plackett-luce 2" in run("evaluate", *words, "--calibrate", "--out", "results").out
    result = load("results")
    assert result.calibration is not None
    assert result.run_label(result.reference) == "plackett-luce 2"
    page = Path("results/report.html").read_text(encoding="utf-8")
    assert "Curves and calibration" in page
    assert "Held-out panels agreed with the leading condition" in page
