"""Laws that hold for every metric, and for families of them; they run by reflection."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from operator import attrgetter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dissensus.metrics
from dissensus import Aggregation, InverseRank, MajorityVote
from dissensus.datasets.simulation import simulate_study
from dissensus.metrics import METRICS
from dissensus import (
    AverageOverlap,
    BrierScore,
    CategoryAccuracy,
    KendallTau,
    LogScore,
    Metric,
    Overlap,
    RankBiasedOverlap,
    SetAccuracy,
    SetSize,
    SpearmanFootrule,
    TopKAccuracy,
    UserMetric,
)
from dissensus.metrics.base import Drawn, Predicted
from dissensus.predictions.lists import Predictions
from dissensus.study.rankings import Annotations
from metrics.metric_studies import (
    AGGREGATIONS,
    OF_PROBABILITIES,
    OF_SETS,
    all_values,
    fits,
    measured,
    metrics_for,
    one_batch,
    predictions_for,
    small_studies,
)

N_CONDITIONS = 12
STUDY = simulate_study(n_cases=15, n_conditions=N_CONDITIONS, seed=2).annotations
DRAWN = [aggregation.sample(STUDY, draws=20, seed=1) for aggregation in AGGREGATIONS]
SCORES = np.random.default_rng(3).random((STUDY.n_cases, N_CONDITIONS)).round(1)

METRICS_HERE, NAME = metrics_for(N_CONDITIONS, some=(1, 3, 4, 11, 12)), attrgetter("name")
EVERY = pytest.mark.parametrize("metric", METRICS_HERE, ids=NAME)


def said_by_model(scores: np.ndarray = SCORES, conditions: tuple[str, ...] = STUDY.conditions) -> Predictions:
    return Predictions.from_scores(scores, conditions, case_names=STUDY.case_names)


SETS = Predictions.from_sets(SCORES > 0.6, STUDY.conditions, case_names=STUDY.case_names)


def made_for(metric: Metric) -> Predictions:
    return SETS if isinstance(metric, OF_SETS) else said_by_model()


def test_every_metric_of_the_package_has_a_name() -> None:
    exported = {
        kind
        for _, kind in inspect.getmembers(dissensus.metrics, inspect.isclass)
        if issubclass(kind, Metric) and not inspect.isabstract(kind) and kind is not UserMetric
    }
    assert exported == set(METRICS.values())


def test_names_tell_metrics_apart() -> None:
    names = [metric.name for metric in METRICS_HERE]
    assert len(set(names)) == len(names)


@EVERY
def test_bounded_metrics_stay_within_their_bounds(metric: Metric) -> None:
    low, high = {LogScore: (-np.inf, 0), BrierScore: (0, 2), SetSize: (0, N_CONDITIONS)}.get(type(metric), (0, 1))
    for drawn in DRAWN:
        values = all_values(metric, drawn, made_for(metric))
        assert values.shape == (drawn.n_cases, drawn.n_draws)
        assert (values >= low - 1e-12).all()
        assert (values <= high + 1e-12).all()


@EVERY
def test_company_and_depth_do_not_change_a_bit(metric: Metric) -> None:
    predictions = made_for(metric)
    for drawn in DRAWN[::2]:
        together = measured(metric, one_batch(drawn), predictions)
        for case in range(drawn.n_cases):
            batch = drawn.sampler(np.array([case]))
            alone = metric.values(Drawn(batch, N_CONDITIONS), Predicted(predictions, batch))
            np.testing.assert_array_equal(alone[0], together[case])


@EVERY
def test_the_order_of_cases_in_the_predictions_does_not_matter(metric: Metric) -> None:
    backwards = made_for(metric).select(slice(None, None, -1))
    for drawn in DRAWN[:3]:
        np.testing.assert_array_equal(all_values(metric, drawn, backwards), all_values(metric, drawn, made_for(metric)))


@pytest.mark.parametrize("metric", [m for m in METRICS_HERE if not isinstance(m, OF_SETS + OF_PROBABILITIES)], ids=NAME)
def test_only_the_order_of_scores_matters_to_metrics_of_order(metric: Metric) -> None:
    for drawn in DRAWN:
        plain = all_values(metric, drawn, said_by_model())
        logits = said_by_model(np.log(SCORES + 0.05) - 1)
        np.testing.assert_array_equal(all_values(metric, drawn, logits), plain)


@EVERY
@pytest.mark.parametrize("aggregation", [MajorityVote(), InverseRank()], ids=repr)
def test_names_of_conditions_do_not_matter(metric: Metric, aggregation: Aggregation) -> None:
    order = np.random.default_rng(0).permutation(N_CONDITIONS)
    shuffled = tuple(STUDY.conditions[i] for i in order)
    predictions = made_for(metric)
    moved: Metric = metric
    if isinstance(metric, CategoryAccuracy):
        moved = replace(metric, categories=[metric.categories[i] for i in order])
    relabelled = all_values(
        moved, aggregation.sample(STUDY.with_conditions(shuffled)), predictions.align(conditions=shuffled)
    )
    plain = all_values(metric, aggregation.sample(STUDY), predictions)
    np.testing.assert_allclose(relabelled, plain, atol=1e-12)


@EVERY
def test_metrics_are_plain_frozen_and_survive_pickling(metric: Metric) -> None:
    assert pickle.loads(pickle.dumps(metric)) == metric
    hash(metric)
    for part in fields(metric):  # type: ignore[arg-type]
        with pytest.raises(FrozenInstanceError):
            setattr(metric, part.name, None)


@given(data=st.data())
def test_sets_that_are_equal_overlap(data: st.DataObject) -> None:
    study = data.draw(small_studies())
    predictions = data.draw(predictions_for(study).filter(lambda said: said.kind != "set"))
    batch = one_batch(data.draw(st.sampled_from(AGGREGATIONS)).sample(study, draws=5))
    for k in range(1, study.n_conditions):
        equal, overlap = (measured(kind(k), batch, predictions) for kind in (SetAccuracy, Overlap))
        assert (equal <= overlap + 1e-12).all()


@pytest.mark.parametrize("drawn", DRAWN, ids=lambda drawn: type(drawn.sampler).__name__)
def test_top_k_accuracy_grows_with_k(drawn: dissensus.Plausibilities) -> None:
    values = [all_values(TopKAccuracy(k), drawn, said_by_model()) for k in range(1, N_CONDITIONS)]
    assert (np.diff(values, axis=0) >= -1e-12).all()


@pytest.mark.parametrize("constant", [1e-300, 0.25, -3.0])
def test_a_constant_classifier_finds_the_best_condition_k_times_in_n(constant: float) -> None:
    predictions = said_by_model(np.full_like(SCORES, constant))
    for drawn in DRAWN:
        for k in range(1, N_CONDITIONS):
            values = all_values(TopKAccuracy(k), drawn, predictions)
            np.testing.assert_allclose(values, k / N_CONDITIONS, rtol=1e-14)


PERFECT = (TopKAccuracy(1), SetAccuracy(2), Overlap(3), AverageOverlap(5), RankBiasedOverlap(0.8, 12))


@pytest.mark.parametrize("metric", [*PERFECT, KendallTau(4), SpearmanFootrule(4)], ids=lambda metric: metric.name)
def test_the_draw_itself_is_the_perfect_model(metric: Metric) -> None:
    rng = np.random.default_rng(8)
    nested = [[[[int(c)] for c in rng.permutation(N_CONDITIONS)]] for _ in range(5)]
    drawn = InverseRank().sample(Annotations.from_rankings(nested, STUDY.conditions))
    oracle = Predictions.from_scores(drawn.mean(), STUDY.conditions, case_names=drawn.case_names)
    np.testing.assert_allclose(all_values(metric, drawn, oracle), 1.0, rtol=1e-15)
    worst = Predictions.from_scores(-drawn.mean(), STUDY.conditions, case_names=drawn.case_names)
    if not isinstance(metric, RankBiasedOverlap):
        np.testing.assert_allclose(all_values(metric, drawn, worst), 0.0, atol=1e-14)


@EVERY
def test_models_and_metrics_that_do_not_fit_are_refused(metric: Metric) -> None:
    other = said_by_model() if isinstance(metric, OF_SETS) else SETS
    assert fits(metric, made_for(metric))
    metric.check(made_for(metric))
    with pytest.raises(dissensus.DissensusError, match="needs"):
        metric.check(other)
