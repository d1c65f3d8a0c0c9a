"""Numbers of an evaluation that must not move: aggregations, metrics, intervals, comparison, certainty, categories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dissensus import Evaluation, evaluate, simulate_study

GOLDEN: dict[str, list[Any]] = json.loads((Path(__file__).parent / "evaluation.json").read_text(encoding="utf-8"))
SUMMARY = ("mean", "sd", "low", "high", "annotation_low", "annotation_high", "case_sd", "mc_error", "point_estimate")
AGREEMENT = ("mean", "low", "high", "case_sd")
COMPARISON = ("difference", "low", "high", "probability_better")
METRICS = [
    *("top-k-accuracy:1", "top-k-accuracy:3", "set-accuracy:2", "overlap:3", "average-overlap:3"),
    *("rank-biased-overlap:0.8:4", "kendall-tau:3", "spearman-footrule:3", "expected-accuracy:2"),
    *("log-score:1e-6", "brier-score"),
]


@pytest.fixture(scope="module")
def result() -> Evaluation:
    study = simulate_study(n_cases=40, seed=7)
    return evaluate(
        study.annotations,
        {name: study.predictions[name] for name in ("Aster", "Birch", "Clover", "Dahlia")},
        aggregations=["plackett-luce:3:prior=observed:alpha=1", "probabilistic-inverse-rank:30", "dirichlet:2"],
        metrics=METRICS,
        draws=200,
        seed=5,
        categories=study.categories,
        strata=study.strata,
    )


def test_the_summary(result: Evaluation) -> None:
    table = result.to_frame().filter(estimand="adjusted")
    names = [list(row) for row in table.select("aggregation", "model", "metric").iter_rows()]
    assert names == [row[:3] for row in GOLDEN["summary"]]
    np.testing.assert_allclose(table.select(SUMMARY).to_numpy(), [row[3:] for row in GOLDEN["summary"]], atol=2e-9)


def test_the_agreement(result: Evaluation) -> None:
    table = result.to_frame().filter(estimand="agreement")
    assert [list(row) for row in table.select("model", "metric").iter_rows()] == [
        row[:2] for row in GOLDEN["agreement"]
    ]
    np.testing.assert_allclose(table.select(AGREEMENT).to_numpy(), [row[2:] for row in GOLDEN["agreement"]], atol=2e-9)


def test_the_comparison(result: Evaluation) -> None:
    table = result.compare().to_frame()
    names = [list(row) for row in table.select("aggregation", "metric", "first", "second").iter_rows()]
    assert names == [row[:4] for row in GOLDEN["comparison"]]
    np.testing.assert_allclose(
        table.select(COMPARISON).to_numpy(), [row[4:] for row in GOLDEN["comparison"]], atol=2e-9
    )


def test_certainty_and_categories(result: Evaluation) -> None:
    np.testing.assert_allclose(result.certainties()["certainty"], GOLDEN["certainty"], atol=2e-9)
    np.testing.assert_allclose(result.by_category()["mean"], GOLDEN["by_category"], atol=2e-9)
