"""Every metric against enumeration of all tie-breaks and all identities of unmentioned conditions."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_metrics as naive
from dissensus import metrics as m
from dissensus.metrics.base import OrderMetric
from dissensus.plugins import Aggregation, Metric
from metrics.metric_studies import (
    AGGREGATIONS,
    KINDS,
    dense_order,
    fits,
    measured,
    metrics_for,
    one_batch,
    predictions_for,
    small_studies,
)

DRAWS = 3


def size(_: Sequence[float], scores: Sequence[float], __: Sequence[int]) -> float:
    return float(sum(score > 0 for score in scores))


TWINS: dict[type[Metric], Callable[..., float]] = {
    m.TopKAccuracy: naive.top_k_accuracy,
    m.SetAccuracy: naive.set_accuracy,
    m.Overlap: naive.overlap,
    m.AverageOverlap: naive.average_overlap,
    m.RankBiasedOverlap: naive.rank_biased_overlap,
    m.CategoryAccuracy: naive.category_accuracy,
    m.KendallTau: partial(naive.list_similarity, distance=naive.pair_distance),
    m.SpearmanFootrule: partial(naive.list_similarity, distance=naive.place_distance),
    m.ExpectedAccuracy: naive.expected_accuracy,
    m.LogScore: naive.log_score,
    m.BrierScore: naive.brier_score,
    m.Coverage: naive.coverage,
    m.ExpectedCoverage: naive.expected_coverage,
    m.SetSize: size,
    m.GradeError: naive.grade_error,
    m.WithinGrades: naive.within_grades,
    m.RankedProbabilityScore: naive.ranked_probability_score,
    m.WassersteinDistance: naive.wasserstein_distance,
}


def test_every_metric_has_a_twin() -> None:
    assert set(TWINS) == set(KINDS)


def is_of_order(metric: Metric) -> bool:
    """Tell metrics that look at what conditions are compared by, not at plausibilities."""
    return isinstance(metric, OrderMetric) or getattr(metric, "truth", "soft") == "top"


def twin(metric: Metric, draw: Iterable[float], scores: Iterable[float], mentioned: Iterable[int]) -> float:
    """Compute a metric of one case and one draw the slow way; its parameters are those of the twin."""
    parameters = {part.name: getattr(metric, part.name) for part in fields(metric)}  # type: ignore[arg-type]
    return TWINS[type(metric)](tuple(draw), tuple(scores), tuple(mentioned), **parameters)


@pytest.mark.parametrize("aggregation", AGGREGATIONS, ids=repr)
@settings(max_examples=20)
@given(data=st.data())
def test_metrics_are_exact_expectations(aggregation: Aggregation, data: st.DataObject) -> None:
    study = data.draw(small_studies())
    predictions = data.draw(predictions_for(study))
    batch = one_batch(aggregation.sample(study, draws=DRAWS, seed=data.draw(st.integers(0, 99))))
    values, order, scores = batch.dense(), dense_order(batch), predictions.to_scores()
    for metric in metrics_for(study.n_conditions):
        if fits(metric, predictions):
            found = measured(metric, batch, predictions)
            assert found.shape == (batch.n_cases, batch.n_draws)
            expected = [
                [twin(metric, draw, scores[case].tolist(), batch.support_of(case).tolist()) for draw in draws.tolist()]
                for case, draws in enumerate(order if is_of_order(metric) else values)
            ]
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=repr(metric))
