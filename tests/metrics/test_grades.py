"""Metrics of grades against scipy, and what they mean."""

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

import dissensus as ds
from dissensus import metrics as m
from dissensus.aggregations import Dirichlet
from dissensus.plugins import Drawn, Metric, Predicted
from metrics.metric_studies import one_batch

GRADES = ["none", "mild", "moderate", "severe", "worst"]


def studied(n_cases: int = 40) -> tuple[ds.Plausibilities, ds.Predictions]:
    rng = np.random.default_rng(7)
    votes = 1 + rng.multinomial(6, [0.3, 0.25, 0.2, 0.15, 0.1], size=n_cases)  # every grade is mentioned
    said = ds.Study.from_counts(votes, GRADES, question="grades")
    drawn = Dirichlet(prior="symmetric").sample(said, draws=20, seed=3)
    return drawn, ds.Predictions.from_scores(rng.dirichlet(np.ones(5), size=n_cases), GRADES)


def measured(metric: Metric) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    drawn, model = studied()
    batch = one_batch(drawn)
    values = metric.values(Drawn(batch, metric.depth), Predicted(model, batch))
    return values, batch.dense(), model.to_scores()


def test_the_wasserstein_distance_is_that_of_scipy() -> None:
    values, draws, scores = measured(m.WassersteinDistance())
    grades = np.arange(5)
    expected = [
        [wasserstein_distance(grades, grades, draw, score) for draw in case]
        for case, score in zip(draws, scores, strict=True)
    ]
    np.testing.assert_allclose(values, expected, atol=1e-12)


def test_the_top_grade_error_is_the_distance_between_the_first_grades() -> None:
    values, draws, scores = measured(m.GradeError())
    expected = np.abs(draws.argmax(axis=2) - scores.argmax(axis=1)[:, None])
    np.testing.assert_allclose(values, expected, atol=1e-12)


def test_the_soft_grade_error_weighs_distances_by_plausibility() -> None:
    values, draws, scores = measured(m.GradeError("soft"))
    distances = np.abs(np.arange(5) - scores.argmax(axis=1)[:, None])
    np.testing.assert_allclose(values, (draws * distances[:, None, :]).sum(axis=2), atol=1e-12)


def test_within_no_grade_is_accuracy_and_within_all_of_them_is_certain() -> None:
    accuracy = measured(m.TopKAccuracy(1))[0]
    np.testing.assert_allclose(measured(m.WithinGrades(0))[0], accuracy, atol=1e-12)
    np.testing.assert_allclose(measured(m.WithinGrades(4, "soft"))[0], 1.0, atol=1e-12)


def test_a_brier_score_of_two_grades_is_twice_the_ranked_probability_score() -> None:
    said = ds.Study.from_counts([[3, 1], [0, 2]], question="grades")
    batch = one_batch(Dirichlet().sample(said, draws=30))
    model = Predicted(ds.Predictions.from_scores([[0.7, 0.3], [0.2, 0.8]], ["0", "1"]), batch)
    ranked = m.RankedProbabilityScore("soft").values(Drawn(batch, 0), model)
    np.testing.assert_allclose(2 * ranked, m.BrierScore().values(Drawn(batch, 0), model), atol=1e-12)


@pytest.mark.parametrize("metric", ["ranked-probability-score", "wasserstein-distance"])
def test_scores_that_are_no_probabilities_are_refused(metric: str) -> None:
    said = ds.Study.from_counts([[3, 1], [0, 2]], question="grades")
    logits = ds.Predictions.from_scores([[0.7, -0.3], [0.2, 0.8]], ["0", "1"])
    with pytest.raises(ds.DissensusError, match="needs probabilities"):
        ds.evaluate(said, {"A": logits}, metrics=[metric], draws=10)
