"""Every metric against enumeration of all tie-breaks and identities of unmentioned conditions; standings, counted."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as ds
import naive_metrics as naive
from dissensus import metrics as m
from dissensus.aggregations import Dirichlet, MajorityVote, PlackettLuce
from dissensus.core.arrays import FloatArray
from dissensus.metrics.base import OrderMetric
from dissensus.plugins import Aggregation, Batch, Drawn, Metric, Predicted
from metrics.metric_studies import (
    AGGREGATIONS,
    KINDS,
    dense_order,
    fits,
    measured,
    metrics_for,
    names_of,
    one_batch,
    predictions_for,
    small_studies,
)

DRAWS = 3


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
    m.SetSize: lambda _, scores, __: float(sum(score > 0 for score in scores)),
    m.GradeError: naive.grade_error,
    m.WithinGrades: naive.within_grades,
    m.RankedProbabilityScore: naive.ranked_probability_score,
    m.WassersteinDistance: naive.wasserstein_distance,
}


assert set(TWINS) == set(KINDS), "every metric has a twin"


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


# Standings ----------------------------------------------------------------------------------------------


def counted(values: FloatArray, codes: list[int]) -> tuple[list[int], list[int]]:
    """Count for some conditions how many of all are better, and how many as good."""
    return [int((values > values[c]).sum()) for c in codes], [int((values == values[c]).sum()) for c in codes]


def assert_standings_are_right(batch: Batch, depth: int) -> None:
    found = Drawn(batch, depth).orders
    dense = dense_order(batch)
    for case in range(batch.n_cases):
        codes = batch.support_of(case).tolist()
        for draw, order in zip(dense[case], found.of_draw[case], strict=True):
            row = found.starts[case] + (order - found.offsets[case]) * len(codes)
            for place, (above, tied) in enumerate(zip(*counted(draw, codes), strict=True), row):
                assert min(found.above[place], depth) == min(above, depth)
                if above < depth:
                    assert found.tied[place] == tied
    assert len(found.above) == len(found.tied) == found.starts[-1]
    assert found.offsets[-1] == len(found.counts) == len(found.has_rest)
    np.testing.assert_array_equal(found.counts, np.bincount(found.of_draw.ravel(), minlength=len(found.counts)))
    for case in range(batch.n_cases):
        rows = slice(found.starts[case], found.starts[case + 1])
        orders = slice(found.offsets[case], found.offsets[case + 1])
        standings = [column[rows].reshape(orders.stop - orders.start, -1) for column in (found.above, found.tied)]
        every = np.hstack([*standings, found.has_rest[orders, None]])
        assert len(np.unique(every, axis=0)) == len(every)
        assert found.of_draw[case].min() == orders.start
        assert found.of_draw[case].max() == orders.stop - 1


@pytest.mark.parametrize("aggregation", AGGREGATIONS, ids=repr)
@given(data=st.data())
def test_standings_of_draws_are_counts(aggregation: Aggregation, data: st.DataObject) -> None:
    study = data.draw(small_studies())
    assert_standings_are_right(one_batch(aggregation.sample(study, draws=8)), data.draw(st.integers(1, 6)))


def test_unmentioned_conditions_are_found_wherever_they_stand_and_masses_too_small_for_a_number_are_ties() -> None:
    study = ds.Study.from_rankings([[[["c3"]]], [[["c1"], ["c2"]]]], names_of(40))
    steep = PlackettLuce(reliability=0.1, alpha=3.0, prior="observed")
    for aggregation, depth in product((Dirichlet(alpha=1.0), Dirichlet(alpha=0.001), steep), (1, 3, 10)):
        assert_standings_are_right(one_batch(aggregation.sample(study, draws=200)), depth)
    study = ds.Study.from_rankings([[[["c0"], ["c1", "c2"]]]], names_of(6))
    batch = one_batch(Dirichlet(reliability=0.0005, alpha=0.0005).sample(study, draws=300))
    assert (batch.dense() == 0).any()
    assert_standings_are_right(batch, 4)


def test_a_tie_of_two_hundred_conditions_is_shared() -> None:
    study = ds.Study.from_rankings([[[list(range(200))]]], names_of(419))
    batch = one_batch(MajorityVote().sample(study))
    assert_standings_are_right(batch, 3)
    named = ds.Predictions.from_rankings([[[0], [1], [300]]], study.conditions)
    assert measured(m.TopKAccuracy(3), batch, named)[0, 0] == pytest.approx(2 / 200, rel=1e-13)
    pair = ds.Predictions.from_rankings([[[0, 1]]], study.conditions)
    assert measured(m.SetAccuracy(2), batch, pair)[0, 0] == pytest.approx(1 / (200 * 199 / 2), rel=1e-13)


@given(data=st.data())
def test_standings_of_predictions_are_counts(data: st.DataObject) -> None:
    study = data.draw(small_studies())
    predictions = data.draw(predictions_for(study))
    batch = one_batch(MajorityVote().sample(study))
    predicted = Predicted(predictions, batch)
    scores = predictions.to_scores()
    for case in range(batch.n_cases):
        members = slice(*batch.support_offsets[case : case + 2])
        above, tied = counted(scores[case], batch.support_of(case).tolist())
        assert predicted.standings.above[members].tolist() == above
        assert predicted.standings.tied[members].tolist() == tied
        assert predicted.scores[members].tolist() == scores[case][batch.support_of(case)].tolist()


def test_short_lists_over_many_conditions_are_as_good_as_long_ones() -> None:
    n = 100_000
    names = [str(i) for i in range(n)]
    study = ds.Study.from_rankings([[[["5"], ["70000"]], [["9", "5"]]]], names)
    batch = one_batch(PlackettLuce(reliability=1, alpha=1.0, prior="observed").sample(study, draws=50))
    short = ds.Predictions.from_rankings([[["9"], ["70000", "11"], ["5"]]], names)
    scores = np.zeros((1, n))
    scores[0, [9, 70000, 11, 5]] = 3, 2, 2, 1
    for metric in (m.TopKAccuracy(2), m.SetAccuracy(3)):
        np.testing.assert_array_equal(
            measured(metric, batch, short), measured(metric, batch, ds.Predictions.from_scores(scores, names))
        )
