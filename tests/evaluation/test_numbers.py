"""Evaluations of models that give numbers, against ratings: from files to results, and back from disk."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from command_calls import told
from dissensus.aggregations import NormalInverseGamma
from dissensus.evaluation.results import Evaluation
from dissensus.metrics import MeanAbsoluteError
from refusals import refused

STUDY = ds.simulate.ratings(n_cases=60, models={"A": 0.3, "B": 0.9}, shift=0.4, seed=1)


@pytest.fixture(scope="module")
def result() -> Evaluation:
    return ds.evaluate(STUDY.ratings, STUDY.predictions, draws=60)


def row(result: Evaluation, model: str, metric: str, estimand: str) -> dict[str, float]:
    found = result.to_frame().filter(model=model, metric=metric, estimand=estimand)
    return found.row(0, named=True)


def test_numbers_are_judged_by_error_and_correlation_beside_the_mean_and_median_rating(result: Evaluation) -> None:
    assert [metric.name for metric in result.metrics] == ["mean absolute error", "RMSE", "correlation"]
    assert [point.id for point in result.points] == ["mean-rating", "median-rating"]
    assert result.runs[0].spec == NormalInverseGamma()
    bare = {name: said.numbers for name, said in STUDY.predictions.items()}  # in the order of the ratings
    assert ds.evaluate(STUDY.ratings, bare, draws=60).to_frame().equals(result.to_frame())


def test_agreement_is_the_mean_distance_to_single_ratings_and_adjusted_that_to_draws(result: Evaluation) -> None:
    said, told = STUDY.ratings, STUDY.predictions["A"].numbers
    gaps = np.abs(said.scores - told[said.panel.case_of_opinion])
    assert row(result, "A", "mean absolute error", "agreement")["mean"] == pytest.approx(gaps.mean())
    assert row(result, "A", "RMSE", "agreement")["mean"] == pytest.approx(np.sqrt((gaps**2).mean()))
    drawn = NormalInverseGamma().sample(said, draws=60)
    numbers = np.concatenate([batch.numbers for batch in drawn if batch.numbers is not None])[..., 0]
    expected = np.abs(told[:, None] - numbers).mean()
    assert row(result, "A", "mean absolute error", "adjusted")["mean"] == pytest.approx(expected)


def test_scores_of_intervals_are_evaluated_as_before() -> None:
    said = ds.Study.from_scores([[1, 2, 2], [4, 5], [3, 1]])
    scores = ds.Predictions.from_scores([[0.8, 0.2], [0.1, 0.9], [0.6, 0.4]])
    found = ds.evaluate(said, {"A": scores}, aggregations=[NormalInverseGamma((2.5,))], draws=50)
    assert found.points == ()
    with pytest.raises(ds.DissensusError, match="needs numbers"):
        ds.evaluate(said, {"A": scores}, aggregations=[NormalInverseGamma((2.5,))], metrics=[MeanAbsoluteError()])


def test_held_out_ratings_find_shifts_and_the_reliability_that_is_true() -> None:
    study = ds.simulate.ratings(n_cases=120, shift=0.8, seed=3)
    specs = [
        NormalInverseGamma(reliability=gamma, shifts=shifts) for shifts in (False, True) for gamma in (0.25, 1, 10)
    ]
    found = ds.calibrate(study.ratings, specs, draws=100)
    assert found.best == NormalInverseGamma(shifts=True)
    assert "log density" in found.sentences[1]
    assert "ratings" in found.sentences[0]
    assert not found.split_rows
    for judged in ("mean-rating", "plackett-luce"):  # what has no density cannot be judged by held-out ratings
        refused("cannot be judged", ds.calibrate, STUDY.ratings, [judged])


def test_the_command_line_goes_all_the_way(tmp_path: Path) -> None:
    said = STUDY.ratings
    table = {
        "case": [said.case_names[i] for i in said.panel.case_of_opinion],
        "annotator": [said.annotator_names[i] for i in said.annotators],
        "score": said.scores,
    }
    pl.DataFrame(table).write_csv(tmp_path / "ratings.csv")
    for name, model in STUDY.predictions.items():
        pl.DataFrame({"case": model.case_names, "prediction": model.numbers}).write_csv(tmp_path / f"{name}.csv")
    words = ("evaluate", "ratings.csv", *(f"--predictions={name}={name}.csv" for name in STUDY.predictions))
    assert told(tmp_path, *words, "--out", "results", "--draws", 30, "--thresholds", "0.5").code == 0
    found = ds.load(tmp_path / "results")
    assert found.conditions == ("<= 0.5", "> 0.5")
    assert found.models == ("A", "B")
    assert told(tmp_path, "calibrate", "ratings.csv", "--out", "trust", "--draws", 30).code == 0
    assert told(tmp_path, *words, "--out", "wrong", "--metric", "auroc").code > 0
