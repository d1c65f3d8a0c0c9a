"""How often intervals hold is counted right, and studies are what is independent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from dissensus.evaluation.results import Evaluation
from dissensus.simulate.differential_study import MODELS
from paper.trials.coverage import BESIDE, DIFFERENCE, MODEL, evaluated, rows_of, summary, with_endless_cases
from paper.trials.crowds import Trial, simulated_trial
from paper.trials.panel_page import faults, verdict

NAMES = ("study", "estimate", "low", "high", "here", "everywhere")
ROWS = [
    (0, 0.50, 0.40, 0.60, 0.45, 0.59),
    (0, 0.50, 0.40, 0.60, 0.65, 0.61),
    (1, 0.70, 0.60, 0.90, 0.70, 0.60),
    (1, 0.70, 0.60, 0.90, 0.60, 0.80),
]


def table(rows: Sequence[Sequence[float]] = ROWS, **columns: Any) -> pl.DataFrame:
    known = {
        "experiment": "A",
        "opinions": "3 votes",
        "number": "panel",
        "kind": MODEL,
        "name": "M",
        "estimand": "panel",
    }
    return pl.DataFrame([{**known, **columns, **dict(zip(NAMES, row, strict=True))} for row in rows])


def test_bias_shares_and_widths_by_hand() -> None:
    (found,) = summary(table(), ["number"]).to_dicts()
    assert found["bias"] == pytest.approx((0.05 - 0.15 + 0.0 + 0.1) / 4)
    assert found["holds"] == pytest.approx(3 / 4)
    assert found["holds_here"] == pytest.approx(3 / 4)
    assert found["width"] == pytest.approx((0.2 + 0.2 + 0.3 + 0.3) / 4)
    assert found["count"] == 4


def test_the_error_of_a_share_is_that_of_independent_studies() -> None:
    (found,) = summary(table(), ["number"]).to_dicts()
    assert found["error"] == pytest.approx(0.25)


def test_what_is_not_known_is_missing_and_does_not_count_as_a_miss() -> None:
    nan = float("nan")
    (found,) = summary(table([(0, 0.5, 0.4, 0.6, nan, nan), (1, 0.5, 0.4, 0.6, nan, nan)]), ["number"]).to_dicts()
    assert found["holds"] is found["holds_here"] is found["bias"] is None


def test_endless_cases_have_the_mean_of_all_studies_model_by_model() -> None:
    nan = float("nan")
    rows = [(0, 0.5, 0.4, 0.6, 0.2, nan), (1, 0.5, 0.4, 0.6, 0.4, nan), (2, 0.5, 0.4, 0.6, 0.9, 0.7)]
    joined = pl.concat([table(rows), table([(0, 0.5, 0.4, 0.6, 0.8, nan)], name="N")])
    found = with_endless_cases(joined)
    assert found["everywhere"].to_list() == pytest.approx([0.5, 0.5, 0.7, 0.8])


@pytest.fixture(scope="module")
def trial() -> Trial:
    return simulated_trial(60, 12, opinions=(3, 5), models=MODELS, seed=2)


@pytest.fixture(scope="module")
def result(trial: Trial) -> Evaluation:
    return evaluated(trial, draws=60, seed=1)


def test_every_estimate_stands_beside_the_truth_about_its_model(trial: Trial, result: Evaluation) -> None:
    rows = [row for row in rows_of(result, trial, {"study": 3}) if row["kind"] == MODEL]
    assert {row["study"] for row in rows} == {3}
    assert {row["number"] for row in rows} >= {*BESIDE, "agreement"}
    wanted = dict(zip(trial.predictions, trial.here.panel.tolist(), strict=True))
    own = [row for row in rows if row["number"] == "majority vote"]
    assert {row["name"]: row["here"] for row in own} == wanted
    means = result.to_frame().filter(run="majority-vote")
    assert {row["name"]: row["estimate"] for row in own} == dict(means.select("model", "mean").iter_rows())


def test_differences_stand_beside_differences_of_truths(trial: Trial, result: Evaluation) -> None:
    rows = [row for row in rows_of(result, trial, {}) if row["kind"] == DIFFERENCE and row["number"] == "majority vote"]
    truth = dict(zip(trial.predictions, trial.here.panel.tolist(), strict=True))
    assert len(rows) == 10
    for row in rows:
        first, second = row["name"].split(" - ")
        assert row["here"] == pytest.approx(truth[first] - truth[second])
        assert row["low"] <= row["estimate"] <= row["high"]


def test_what_is_outside_of_what_it_should_be_is_named() -> None:
    row = {"experiment": "A", "opinions": "3 votes", "kind": "model", "bias": 0.0, "holds": 0.9, "error": 0.02}
    assert faults(row) == []
    assert faults({**row, "holds": 0.84}) == [("A, 3 votes, models", "holds in 84 % (2)")]
    assert faults({**row, "holds": 0.96}) == [("A, 3 votes, models", "holds in 96 % (2)")]
    assert faults({**row, "bias": -0.011}) == [("A, 3 votes, models", "off by \N{MINUS SIGN}1.1 points")]


def test_the_verdict_counts_rows_without_fault_and_is_about_panel_estimates() -> None:
    good = [(study, 0.5, 0.4, 0.6, 0.5, 0.5 if study else 0.7) for study in range(10)]
    both = pl.concat([table(good), table(ROWS, opinions="5 votes")])
    assert "Of 2 rows on panel estimates, 1 hold" in verdict(both)
    assert "A, 5 votes, models: holds in 75 % (25)" in verdict(both)
    assert verdict(both.with_columns(estimand=pl.lit("adjusted"))) == "No panel estimate was made.\n"


def test_bias_is_estimate_minus_truth() -> None:
    found = {"run": ["a", "a"], "study": [0, 1], "estimate": [0.6, 0.8], "low": [0.5, 0.7], "high": [0.7, 0.9]}
    rows = pl.DataFrame({**found, "here": [0.5, 0.5], "everywhere": [0.5, 0.5]})
    assert summary(rows, ["run"])["bias"].item() == pytest.approx(0.2)
