"""The paper's system in one option: the same from Python, in pieces and on the command line."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dissensus as ds
from command_calls import told
from dissensus.aggregations import PlackettLuce, ProbabilisticInverseRank
from dissensus.metrics import AverageOverlap, SetAccuracy, TopKAccuracy
from refusals import refused

STUDY = ds.simulate.study(n_cases=110, n_conditions=8, seed=9)
MODELS = dict(list(STUDY.predictions.items())[:2])
SETTINGS: dict[str, Any] = {"draws": 20, "seed": 3}


@pytest.fixture(scope="module")
def result() -> ds.Evaluation:
    """The paper's system on a study that a panel could be estimated of."""
    return ds.evaluate(STUDY.annotations, MODELS, **SETTINGS, **ds.paper())


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The same study as files."""
    rows = [
        (case, f"{number}", name, rank)
        for case, rankings in zip(STUDY.annotations.case_names, STUDY.annotations.to_rankings(), strict=True)
        for number, blocks in enumerate(rankings)
        for rank, block in enumerate(blocks, 1)
        for name in block
    ]
    pl.DataFrame(rows, ["case", "annotator", "condition", "rank"], orient="row").write_parquet(tmp_path / "o.parquet")
    for name, model in MODELS.items():
        scores = pl.DataFrame(model.to_scores(), schema=list(STUDY.annotations.conditions))
        scores.insert_column(0, pl.Series("case", model.case_names)).write_parquet(tmp_path / f"{name}.parquet")
    (tmp_path / "conditions.txt").write_text("\n".join(STUDY.annotations.conditions), encoding="utf-8")
    return tmp_path


def test_the_settings_are_those_of_the_paper(result: ds.Evaluation) -> None:
    races = [PlackettLuce(gamma, alpha=1.0, prior="observed") for gamma in (1, 2, 3, 5, 10)]
    ranks = [ProbabilisticInverseRank(gamma, ties="each") for gamma in (10, 20, 30, 50, 100)]
    assert [run.spec for run in result.runs] == [*races, *ranks]
    assert result.metrics == (TopKAccuracy(3), SetAccuracy(2), SetAccuracy(3), AverageOverlap(3))
    assert (result.panel, dict(result.moved)) == (None, {})
    assert {run.estimand for run in result.runs} == {"adjusted"}


def test_adjusted_metrics_lead_at_the_middle_reliability_also_beside_a_panel(result: ds.Evaluation) -> None:
    assert (result.leads, result.runs[result.headline].spec) == ("adjusted", PlackettLuce(3, 1.0, "observed"))
    settings: dict[str, Any] = {**SETTINGS, "metrics": ["top-k-accuracy:1"], "panel": True, "annotators": "fixed"}
    settings["aggregations"] = ["plackett-luce:1,3,10"]
    usual = ds.evaluate(STUDY.annotations, MODELS, **settings)
    adjusted = ds.evaluate(STUDY.annotations, MODELS, **settings, leads="adjusted")
    assert [usual.run_label(run) for run in (usual.headline, usual.reference)] == ["panel", "plackett-luce 1"]
    assert {adjusted.run_label(run) for run in (adjusted.headline, adjusted.reference)} == {"plackett-luce 3"}
    assert usual.to_frame().equals(adjusted.to_frame()), "what leads changes no number"


def test_what_leads_is_stored_and_is_part_of_what_merges(result: ds.Evaluation, tmp_path: Path) -> None:
    result.save(tmp_path / "results")
    assert ds.load(tmp_path / "results").leads == "adjusted"
    refused("different leads cannot be merged", result.merge, replace(result, leads="agreement"))


def test_the_command_line_and_pieces_say_the_same(result: ds.Evaluation, files: Path) -> None:
    models = [f"--predictions={name}={name}.parquet" for name in MODELS]
    words = ("evaluate", "o.parquet", *models, "--conditions", "conditions.txt", "--draws", 20, "--seed", 3, "--paper")
    assert told(files, *words, "--no-report", "--out", "pieces", "--shard-size", 60).code == 0
    again = ds.load(files / "pieces")
    assert (again.leads, again.headline, again.metrics) == ("adjusted", 2, result.metrics)
    found, expected = (one.to_frame().select("run", "model", "metric", "mean") for one in (again, result))
    assert found.select("run", "model", "metric").equals(expected.select("run", "model", "metric"))
    assert found["mean"].to_list() == pytest.approx(expected["mean"].to_list(), abs=1e-12)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--aggregation", "plackett-luce:3"), "--aggregation"),
        (("--metric", "top-k-accuracy:3"), "--metric"),
        (("--prior", "symmetric"), "--prior"),
        (("--calibrate",), "--calibrate"),
        (("--annotators", "sample", "--panel"), "--annotators and --panel"),
    ],
)
def test_options_that_contradict_the_paper_are_refused_by_name(files: Path, words: tuple[str], named: str) -> None:
    said = ("evaluate", "o.parquet", "--predictions", "Aster=Aster.parquet", "--conditions", "conditions.txt")
    refused = told(files, *said, "--paper", *words, "--out", "results")
    assert refused.refused(f"--paper contradicts {named}", f"leave out --paper or {named}")
    assert not (files / "results").exists()


def test_what_cannot_lead_is_refused() -> None:
    refused("leads is not understood", ds.evaluate, STUDY.annotations, {}, leads="panel")
