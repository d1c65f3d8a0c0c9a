"""Curves of a whole data set: against naive twins, against scikit-learn, with bands that hold them."""

from collections.abc import Callable
from functools import cache

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import confusion_matrix

import dissensus as ds
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.evaluation import curves
from dissensus.evaluation.curves import RATES, RECALLS, THRESHOLDS
from refusals import refused

METRICS = ["auroc", "calibration-error", "net-benefit:0.2", "sensitivity"]


def draws_of(n_cases: int = 60, seed: int = 3) -> tuple[ds.Study, dict[str, FloatArray]]:
    """Simulate votes on a binary question, and two models of different quality, one with few different scores."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.6, 0.9, n_cases)
    votes = rng.binomial(5, chance)
    names = [f"case {i}" for i in range(n_cases)]
    counts = np.stack([5 - votes, votes], axis=1)
    said = ds.Study.from_counts(counts, ["no", "yes"], question="binary", case_names=names)
    scores = {"A": np.clip(chance + rng.normal(0, 0.15, n_cases), 0.01, 0.99), "B": rng.integers(1, 8, n_cases) / 8}
    return said, {name: np.stack([1 - one, one], axis=1) for name, one in scores.items()}


@cache
def uncertain() -> ds.Evaluation:
    said, models = draws_of()
    return ds.evaluate(said, models, aggregations=["dirichlet:1"], metrics=METRICS, draws=60, panel=False)


def sure(codes: IntArray, scores: FloatArray) -> ds.Evaluation:
    """Evaluate a model against annotators who agree."""
    counts = 4 * np.eye(2, dtype=np.int64)[codes]
    said = ds.Study.from_counts(counts, ["no", "yes"], question="binary")
    models = {"A": np.stack([1 - scores, scores], axis=1)}
    return ds.evaluate(said, models, aggregations=["majority-vote"], metrics=METRICS)


def labels_of_draws(result: ds.Evaluation) -> FloatArray:
    """Return whether each case is positive, shape (n_draws, n_cases)."""
    labels = result.label_masses(0)["top"]
    return np.asarray(labels.block(range(labels.n_draws))[:, 1])


# Twins: one threshold, one draw and one case at a time ------------------------------------------------------


def naive_sensitivity(scores: FloatArray, positive: FloatArray, rate: float) -> float:
    """Lower the threshold score by score as long as there are not too many false alarms; then by chance."""
    best, before = 0.0, (0.0, 0.0)
    for threshold in sorted(set(scores.tolist()), reverse=True):
        point = ((scores >= threshold)[positive == 0].mean(), (scores >= threshold)[positive == 1].mean())
        if point[0] <= rate + 1e-9:
            best = point[1]
        else:
            share = (rate - before[0]) / (point[0] - before[0])
            return float(max(best, before[1] + share * (point[1] - before[1])))
        before = point
    return float(best)


def naive_precision(scores: FloatArray, positive: FloatArray, recall: float) -> float:
    before = (0.0, 0.0)
    for threshold in sorted(set(scores.tolist()), reverse=True):
        called = scores >= threshold
        hits, alarms = float((called & (positive == 1)).sum()), float((called & (positive == 0)).sum())
        wanted = recall * positive.sum()
        if hits >= wanted - 1e-9:
            share = (wanted - before[0]) / (hits - before[0])
            return float(wanted / (wanted + before[1] + share * (alarms - before[1])))
        before = hits, alarms
    raise AssertionError("the lowest threshold reaches every recall")


def naive_benefit(scores: FloatArray, positive: FloatArray, threshold: float) -> float:
    called = scores >= threshold - 1e-12
    hits, alarms = (called & (positive == 1)).sum(), (called & (positive == 0)).sum()
    return float((hits - alarms * threshold / (1 - threshold)) / len(scores))


Twin = Callable[[FloatArray, FloatArray, float], float]
TWINS: list[tuple[str, Twin, FloatArray]] = [
    *[("roc", naive_sensitivity, RATES), ("precision-recall", naive_precision, RECALLS)],
    ("decision", naive_benefit, THRESHOLDS),
]


@pytest.mark.parametrize("model", ["A", "B"])
@pytest.mark.parametrize(("kind", "twin", "grid"), TWINS)
def test_a_curve_is_the_mean_over_draws_of_its_naive_twin(model: str, kind: str, twin: Twin, grid: FloatArray) -> None:
    result = uncertain()
    scores = result.predictions[model].to_scores()[:, 1]
    places = [0, 3, 17, 50, len(grid) - 1]
    labels = labels_of_draws(result)
    expected = [np.mean([twin(scores, positive, grid[place]) for positive in labels]) for place in places]
    found = result.curves(kind).filter(model=model)
    np.testing.assert_allclose(found["x"].to_numpy(), grid)
    np.testing.assert_allclose(found["y"].to_numpy()[places], expected, atol=1e-9)


def test_a_reliability_diagram_counts_the_cases_of_every_bin() -> None:
    result = uncertain()
    scores = result.predictions["A"].to_scores()[:, 1]
    found = result.curves("reliability").filter(model="A")
    assert found["n_cases"].sum() == len(scores)
    inside = (scores > 0.2) & (scores <= 0.3)
    row = found.filter((pl.col("x") > 0.2) & (pl.col("x") <= 0.3)).row(0, named=True)
    assert row["n_cases"] == inside.sum()
    assert row["x"] == pytest.approx(scores[inside].mean())
    assert row["y"] == pytest.approx(labels_of_draws(result)[:, inside].mean())


def test_with_unanimous_annotators_the_matrix_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(8)
    codes = rng.integers(0, 2, 80)
    scores = np.clip(np.round(0.3 * codes + rng.random(80) * 0.7, 2), 0.0, 1.0)  # with ties
    found = sure(codes, scores).confusion()
    expected = confusion_matrix(codes, scores > 0.5) + 0.0
    tied = scores == 0.5
    for code in (0, 1):  # what is tied is called both, half each
        expected[code] += np.array([-0.5, 0.5]) * (tied & (codes == code)).sum()
    np.testing.assert_allclose(found["n_cases"].to_numpy().reshape(2, 2), expected)


# Bands ----------------------------------------------------------------------------------------------------


def test_bands_hold_their_curves_and_are_not_empty() -> None:
    result = uncertain()
    for rows in (result.curves(), result.confusion().rename({"n_cases": "y"})):
        assert (rows["low"] <= rows["y"]).all()
        assert (rows["y"] <= rows["high"]).all()
    shares = result.curves("roc")
    assert (shares["high"] - shares["low"] > 0).all()


def test_a_band_is_over_cases_too_where_annotators_agree() -> None:
    rng = np.random.default_rng(8)
    scores = rng.random(100)
    point = sure((rng.random(100) < scores).astype(np.int64), scores).curves("roc").row(20, named=True)
    assert 0.1 < point["high"] - point["low"] < 0.5


def test_many_scores_are_put_into_steps_that_change_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    scores = rng.random(1200)
    codes = (rng.random(1200) < scores).astype(np.int64)
    few = sure(codes, scores).curves("roc")["y"].to_numpy()
    monkeypatch.setattr(curves, "MOST_STEPS", 10_000)
    exact = sure(codes, scores).curves("roc")["y"].to_numpy()
    np.testing.assert_allclose(few, exact, atol=0.01)
    assert not np.array_equal(few, exact)


# Which curves there are -----------------------------------------------------------------------------------


def test_curves_are_those_of_the_metrics() -> None:
    said, models = draws_of(20)
    for metrics, kinds in (
        (["auroc"], {"roc", "precision-recall"}),
        (["calibration-error"], {"reliability"}),
        (["net-benefit:0.3"], {"decision"}),
        (["f-beta"], {"confusion"}),
        (["cohen-kappa", "brier-score"], {"confusion", "reliability"}),
        (["top-k-accuracy:1"], set()),
    ):
        result = ds.evaluate(said, models, aggregations=["majority-vote"], metrics=metrics, draws=10)
        assert {one.kind for one in result.lines} == kinds
    refused("kind", result.curves, "lorenz")


def test_every_condition_is_asked_about_with_one_matrix_and_every_finding_has_its_own() -> None:
    rng = np.random.default_rng(2)
    said = ds.Study.from_counts(rng.multinomial(4, [0.5, 0.3, 0.2], size=30), ["a", "b", "c"])
    sets = [[{name for name in ("AF", "ST") if rng.random() < 0.4} for _ in range(3)] for _ in range(30)]
    ticked = ds.Study.from_sets(sets, ["AF", "ST"])
    studies = ((said, ["a", "b", "c"], "", 9), (ticked, ["AF", "ST"], "ST", 4))
    for study, names, question, size in studies:
        models = {"A": ds.Predictions.from_scores(rng.random((30, len(names))), names)}
        result = ds.evaluate(study, models, aggregations=["dirichlet:1"], metrics=["auroc", "sensitivity"], draws=30)
        assert result.curves("roc")["question"].unique(maintain_order=True).to_list() == names
        matrix = result.confusion().filter(run=result.run_label(result.headline), question=question)
        assert len(matrix) == size
        assert matrix["n_cases"].sum() == pytest.approx(30)
    assert (result.n_cases, result.n_items, result.asked_findings) == (60, 30, ("AF", "ST"))
