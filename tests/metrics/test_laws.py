"""Laws that hold for every metric, and for families of them; they run by reflection."""

import json
import pickle
import re
from dataclasses import FrozenInstanceError, fields, replace
from itertools import product
from operator import attrgetter

import numpy as np
import pytest

import dissensus as ds
from dissensus import metrics as m
from dissensus.aggregations import AnnotatorBootstrap, InverseRank, MajorityVote, PlackettLuceML
from dissensus.metrics.base import OrderMetric, RecordedMetric, restored_metric
from dissensus.metrics.grades import GradeMetric
from dissensus.plugins import Aggregation, Drawn, Metric, Predicted
from metrics.data_set_studies import every_metric
from metrics.metric_studies import AGGREGATIONS, KINDS, all_values, fits, measured, metrics_for, one_batch
from refusals import refused

N_CONDITIONS = 12
STUDY = ds.simulate.study(n_cases=15, n_conditions=N_CONDITIONS, seed=2).annotations
DIRICHLET = AGGREGATIONS[2]
DRAWN = [aggregation.sample(STUDY, draws=20, seed=1) for aggregation in AGGREGATIONS]
SCORES = np.random.default_rng(3).random((STUDY.n_cases, N_CONDITIONS)).round(1)

METRICS_HERE, NAME = metrics_for(N_CONDITIONS, some=(1, 4, 12)), attrgetter("name")
EVERY = pytest.mark.parametrize("metric", METRICS_HERE, ids=NAME)
ALL_METRICS: list[Metric] = [*METRICS_HERE, *every_metric()]
EVERY_KIND = tuple(Metric.family.known().values())


@pytest.mark.parametrize("aggregation", [PlackettLuceML(), AnnotatorBootstrap(PlackettLuceML())], ids=repr)
def test_a_model_that_says_what_all_annotators_say_is_perfect(aggregation: Aggregation) -> None:
    """Every annotator gives the same complete ranking, and the model as well: nothing is left to a tie."""
    rng, n = np.random.default_rng(1), 6
    orders = [rng.permutation(n).tolist() for _ in range(4)]
    names = [f"c{i}" for i in range(n)]
    lists = [[names[i] for i in order] for order in orders]
    said = ds.Study.from_rankings([[[[name] for name in one]] * 3 for one in lists], names)
    batch = one_batch(aggregation.sample(said, draws=5))
    models = [
        ds.Predictions.from_scores((n - np.argsort(orders, axis=1)) / 21, names),
        ds.Predictions.from_rankings(lists, names),
        *(ds.Predictions.from_sets([one[:k] for one in lists], names) for k in range(1, n)),
    ]
    judged = set()
    for metric in metrics_for(n):
        is_about_orders = isinstance(metric, OrderMetric) or (metric.range == (0.0, 1.0) and metric.higher_is_better)
        for model in [model for model in models if is_about_orders and fits(metric, model)]:
            np.testing.assert_allclose(measured(metric, batch, model), 1.0, rtol=1e-12, err_msg=metric.name)
            judged.add(type(metric))
    distances = {m.GradeError, m.RankedProbabilityScore, m.WassersteinDistance}
    assert judged == {*KINDS} - {m.BrierScore, m.LogScore, m.SetSize, *distances}


def said_by_model(scores: np.ndarray = SCORES, conditions: tuple[str, ...] = STUDY.conditions) -> ds.Predictions:
    return ds.Predictions.from_scores(scores, conditions, case_names=STUDY.case_names)


SETS = ds.Predictions.from_sets(SCORES > 0.6, STUDY.conditions, case_names=STUDY.case_names)


RANKINGS = ds.Predictions.from_rankings(
    [[[int(c)] for c in np.argsort(-row)[:5]] for row in SCORES], STUDY.conditions, case_names=STUDY.case_names
)
ALL_PREDICTIONS = (said_by_model(), RANKINGS, SETS)


def made_for(metric: Metric) -> ds.Predictions:
    return next(said for said in ALL_PREDICTIONS if fits(metric, said))


def test_every_metric_of_the_package_is_public_and_found_by_its_id() -> None:
    public = {getattr(ds.metrics, name) for name in ds.metrics.__all__}
    metrics = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Metric)}
    assert metrics - {Metric, m.UserMetric, m.UserDataSetMetric} == set(EVERY_KIND)


def test_metrics_are_plain_and_say_what_they_mean_and_how_they_are_found() -> None:
    for kind in EVERY_KIND:
        assert re.fullmatch(r"[A-Z].*\.", kind.meaning)
        assert set(kind.accepts) <= {"scores", "ranking", "set", "numbers"}
        assert kind.range[0] < kind.range[1]
    names = [metric.name for metric in ALL_METRICS]
    assert len(set(names)) == len(names)
    for metric in ALL_METRICS:
        assert metric.methods.lower().startswith(f"{metric.name}: ".lower())
        assert metric.methods.endswith(".")
        assert metric.range == (0, 1) or not metric.is_share
        assert pickle.loads(pickle.dumps(metric)) == metric
        hash(metric)
        for part in fields(metric):  # type: ignore[arg-type]
            with pytest.raises(FrozenInstanceError):
                setattr(metric, part.name, None)


@EVERY
def test_a_metric_obeys_the_laws(metric: Metric) -> None:
    """Values stay within the range; neither company, depth, the order of cases nor, for orders, the scale matter."""
    (low, high), predictions = metric.range, made_for(metric)
    backwards, logits = predictions.select(slice(None, None, -1)), said_by_model(np.log(SCORES + 0.05) - 1)
    for drawn in DRAWN:
        values = all_values(metric, drawn, predictions)
        assert values.shape == (drawn.n_cases, drawn.n_draws)
        assert ((low - 1e-12 <= values) & (values <= high + 1e-12)).all()
        if fits(metric, RANKINGS):
            scored = values if predictions is ALL_PREDICTIONS[0] else all_values(metric, drawn, said_by_model())
            np.testing.assert_array_equal(all_values(metric, drawn, logits), scored)
    for drawn in DRAWN[:3]:
        values = all_values(metric, drawn, predictions)
        np.testing.assert_array_equal(all_values(metric, drawn, backwards), values)
        for case in (0, 7, 14):
            batch = drawn.sampler(np.array([case]))
            alone = metric.values(Drawn(batch, N_CONDITIONS), Predicted(predictions, batch))
            np.testing.assert_array_equal(alone[0], values[case])


@EVERY
def test_names_of_conditions_do_not_matter(metric: Metric) -> None:
    """Grades keep their distances when they are counted from the other end."""
    is_of_grades = isinstance(metric, GradeMetric | m.WassersteinDistance)
    order = np.arange(N_CONDITIONS)[::-1] if is_of_grades else np.random.default_rng(0).permutation(N_CONDITIONS)
    shuffled = tuple(STUDY.conditions[i] for i in order)
    predictions = made_for(metric)
    moved: Metric = metric
    if isinstance(metric, m.CategoryAccuracy):
        moved = replace(metric, categories=[metric.categories[i] for i in order])
    study, aligned = STUDY.with_conditions(shuffled), predictions.align(conditions=shuffled)
    for aggregation in (MajorityVote(), InverseRank()):
        relabelled = all_values(moved, aggregation.sample(study), aligned)
        np.testing.assert_allclose(relabelled, all_values(metric, aggregation.sample(STUDY), predictions), atol=1e-12)


@pytest.mark.parametrize("said", ALL_PREDICTIONS, ids=attrgetter("kind"))
def test_predictions_that_do_not_fit_are_refused_with_advice(said: ds.Predictions) -> None:
    for metric in [one for one in METRICS_HERE if fits(one, said)]:
        metric.check(said)
    for metric in [one for one in METRICS_HERE if not fits(one, said)]:
        caught = refused(rf"{re.escape(metric.name)} needs (.|\n)*do: ", metric.check, said)
        assert repr(said.name) in caught.where


# Records ------------------------------------------------------------------------------------------------


def test_every_metric_comes_back_from_its_record_which_holds_what_tables_and_reports_say() -> None:
    for metric in ALL_METRICS:
        record = json.loads(json.dumps(metric.record(), allow_nan=False))
        assert record == metric.record()
        assert restored_metric(record) == metric
        stored = RecordedMetric.of(metric.record())
        assert stored.record() == metric.record()
        for part in ("id", "name", "meaning", "methods", "higher_is_better", "range", "is_share"):
            assert getattr(stored, part) == getattr(metric, part), metric.name
        assert stored.parameters() == metric.parameters()


def test_less_is_better_for_distances_and_sizes_only() -> None:
    assert {kind.id for kind in Metric.family.known().values() if not kind.higher_is_better} == {
        *("bland-altman", "brier-reliability", "brier-score", "brier-uncertainty", "calibration-error", "crps"),
        *("negative-likelihood-ratio", "mean-absolute-error", "rmse", "set-size", "grade-error"),
        *("ranked-probability-score", "wasserstein-distance", "wasserstein-numbers"),
    }


def test_a_metric_that_nobody_provides_is_stood_for() -> None:
    record = {**m.LogScore().record(), "id": "elsewhere", "name": "own score", "parameters": {"floor": 0.5}}
    stored = restored_metric(record)
    assert isinstance(stored, RecordedMetric)
    assert (stored.id, stored.name, stored.range) == ("elsewhere", "own score", (-np.inf, 0.0))
    assert stored.parameters() == {"floor": 0.5}
    assert stored == restored_metric(record)
    assert stored != restored_metric({**record, "name": "another"})
    assert pickle.loads(pickle.dumps(stored)) == stored
    with pytest.raises(FrozenInstanceError):
        stored.name = "mine"  # type: ignore[misc]
    assert "elsewhere" not in Metric.family.known()


def test_a_record_with_a_parameter_that_the_metric_does_not_have_is_refused() -> None:
    record = m.LogScore().record()
    with pytest.raises(ds.DissensusError, match=r"log-score has no flor\n.*floor\n.*did you mean 'floor'"):
        restored_metric({**record, "parameters": {"flor": 0.1}})


# Sets of any size ----------------------------------------------------------------------------------------


def test_an_empty_set_counts_nothing_and_a_set_of_everything_counts_in_full() -> None:
    for inside, worth in ((False, 0.0), (True, 1.0)):
        sets = ds.Predictions.from_sets(np.full(SCORES.shape, inside), STUDY.conditions, case_names=STUDY.case_names)
        for metric, drawn in product((m.SetAccuracy(), m.Overlap(), m.Coverage()), DRAWN):
            np.testing.assert_array_equal(all_values(metric, drawn, sets), worth)


def test_an_evaluation_looks_as_deep_as_the_largest_set_of_any_model() -> None:
    small = ds.Predictions.from_sets(SCORES > 0.95, STUDY.conditions, case_names=STUDY.case_names)
    models, metrics = {"small": small, "large": SETS}, (m.SetAccuracy(), m.Overlap())
    assert SETS.entries_per_case.max() > 5
    found = ds.evaluate(STUDY, models, aggregations=[DIRICHLET], metrics=["set-accuracy", "overlap"], draws=30)
    drawn = DIRICHLET.sample(STUDY, draws=30)
    for (model, said), metric in product(models.items(), metrics):
        means = found.per_case().filter(model=model, metric=metric.name)["mean"]
        np.testing.assert_allclose(means, all_values(metric, drawn, said).mean(axis=1), rtol=1e-12, atol=1e-15)
