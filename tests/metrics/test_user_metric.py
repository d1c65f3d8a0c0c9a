"""Functions of users as metrics: what they see, what they may say, and how they are written down."""

import json
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import PlackettLuce
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.spec import distinct_names
from dissensus.metrics import AUROC, SubsetAccuracy, TopKAccuracy, UserDataSetMetric, UserMetric
from dissensus.metrics.base import restored_metric
from dissensus.metrics.data_set import DataSetMetric
from dissensus.plugins import Metric
from metrics.data_set_studies import hard_labels, soft_labels, some_said
from metrics.metric_studies import measured, one_batch
from refusals import refused

STUDY = ds.simulate.study(n_cases=12, n_conditions=50, seed=5).annotations
SCORES = np.random.default_rng(4).dirichlet(np.ones(50), size=12)
MODEL = ds.Predictions.from_scores(SCORES, STUDY.conditions, case_names=STUDY.case_names)
BATCH = one_batch(PlackettLuce(reliability=0.3, alpha=1.0, prior="observed").sample(STUDY, draws=30))


def hit(scores: FloatArray, plausibilities: FloatArray) -> FloatArray:
    same: FloatArray = (scores.argmax(axis=1)[:, None] == plausibilities.argmax(axis=2)).astype(np.float64)
    return same


def missed(scores: FloatArray, plausibilities: FloatArray) -> FloatArray:
    return 1.0 - hit(scores, plausibilities)


def test_a_function_sees_dense_scores_and_draws_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(scores: FloatArray, plausibilities: FloatArray) -> FloatArray:
        seen.append(len(scores))
        return hit(scores, plausibilities)

    monkeypatch.setattr("dissensus.metrics.user_metric.BATCH_VALUES", 5 * 50 * BATCH.n_draws)
    found = measured(UserMetric("hit", watched), BATCH, MODEL)
    assert seen == [5, 5, 2]
    np.testing.assert_allclose(found, measured(TopKAccuracy(1), BATCH, MODEL), atol=1e-15)


def test_a_function_is_called_for_every_kind_of_predictions() -> None:
    first = SCORES.max(axis=1, keepdims=True) == SCORES
    sets = ds.Predictions.from_sets(first, STUDY.conditions, case_names=STUDY.case_names)
    metric = UserMetric("hit", hit)
    np.testing.assert_array_equal(measured(metric, BATCH, sets), measured(metric, BATCH, MODEL))


def test_what_users_say_of_a_function_is_known_of_the_metric() -> None:
    metric = UserMetric("miss", missed, higher_is_better=False, range=(0, 1), meaning="How often it is wrong.")
    assert (metric.higher_is_better, metric.is_share) == (False, True)
    assert metric.methods == "Miss: how often it is wrong."
    plain = UserMetric("miss", missed)
    assert (plain.higher_is_better, plain.is_share, plain.range) == (True, False, (-np.inf, np.inf))
    assert plain.methods == "Miss: a measure of the user's own."


def test_an_evaluation_takes_functions_beside_other_metrics() -> None:
    metric = UserMetric("miss", missed, higher_is_better=False, range=(0, 1))
    runs = [PlackettLuce(1, alpha=1.0, prior="observed")]
    done = ds.evaluate(STUDY, {"A": MODEL}, aggregations=runs, metrics=["top-k-accuracy", metric], draws=20)
    means = dict(done.to_frame().filter(estimand="adjusted").select("metric", "mean").iter_rows())
    assert means["miss"] == pytest.approx(1 - means["top-1 accuracy"], abs=1e-12)


def test_names_tell_functions_apart_and_pickling_keeps_them() -> None:
    metrics = UserMetric("hit", hit), UserMetric("miss", missed, higher_is_better=False, range=(0, 1))
    assert metrics[0] != metrics[1]
    assert distinct_names(metrics) == ("user-metric (name=hit)", "user-metric (name=miss)")
    again = pickle.loads(pickle.dumps(metrics[1]))
    assert (again, hash(again)) == (metrics[1], hash(metrics[1]))
    assert again.function is missed


def test_what_is_stored_of_a_function_is_all_but_the_function() -> None:
    metric = UserMetric("miss", missed, higher_is_better=False, range=[0, np.inf], meaning="Misses.")  # type: ignore[arg-type]
    record = json.loads(json.dumps(metric.record(), allow_nan=False))
    assert record == metric.record()
    assert record["parameters"] == {"name": "miss"}
    again = restored_metric(record)
    assert (again.id, again.name, again.meaning, again.methods) == (metric.id, "miss", "Misses.", metric.methods)
    assert (again.higher_is_better, again.range) == (False, (0.0, np.inf))
    assert again.record() == record
    assert again.parameters() == {"name": "miss"}
    assert pickle.loads(pickle.dumps(again)) == again
    refused(r"miss cannot be computed here(.|\n)*known from stored results only", measured, again, BATCH, MODEL)


SHAPE = r"wrong shape\n.*\(12, 30\)[^\n]*\n.*"
WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: measured(UserMetric("mine", lambda scores, _: scores), BATCH, MODEL), SHAPE + r"\(12, 50\)\n.*'mine'"),
    (lambda: measured(UserMetric("turned", lambda _, draws: draws[..., 0].T), BATCH, MODEL), SHAPE + r"\(30, 12\)"),
    (lambda: UserMetric("", hit), "needs a name"),
    (lambda: UserMetric("mine"), r"needs a function(.|\n)*'mine'"),
    *(
        (lambda limits=limits: UserMetric("mine", hit, range=limits), r"least and its greatest(.|\n)*'mine'")
        for limits in ((1, 0), (0, 0), (0, 1, 2), (0, np.nan))
    ),
    (lambda: UserDataSetMetric("", auroc), "needs a name"),
    (lambda: UserDataSetMetric("mine"), r"needs a function(.|\n)*labels \(draws, n\)"),
    (
        lambda: UserDataSetMetric("mine", lambda _, given, __: given * 1.0).of_draws(
            said := some_said(4), hard_labels(said)[0]
        ),
        r"wrong shape\n.*\(3,\)[^\n]*\n.*\(3, 4\)\n.*'mine'",
    ),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_functions_of_the_wrong_shape_and_metrics_without_a_name_a_function_or_a_range_are_refused(
    make: Callable[[], object], message: str
) -> None:
    refused(message, make)


# Of a whole data set -------------------------------------------------------------------------------------


def accuracy(scores: FloatArray, labels: IntArray, weights: FloatArray) -> FloatArray:
    return np.asarray(np.average(labels == scores.argmax(axis=1), axis=1, weights=weights))


def auroc(scores: FloatArray, labels: IntArray, weights: FloatArray) -> FloatArray:
    higher = (scores[:, 1, None] > scores[:, 1]) + 0.5 * (scores[:, 1, None] == scores[:, 1])
    yes, no = (labels == 1) * weights, (labels == 0) * weights
    with np.errstate(invalid="ignore"):
        return np.asarray(((yes @ higher) * no).sum(axis=1) / (yes.sum(axis=1) * no.sum(axis=1)))


def test_a_function_sees_all_cases_and_the_labels_of_every_draw() -> None:
    said = some_said(40, rounded=6)
    labels, codes = hard_labels(said)
    seen: list[IntArray] = []

    def watched(scores: FloatArray, given: IntArray, weights: FloatArray) -> FloatArray:
        seen.append(given)
        assert (scores is said.scores, weights is said.weights) == (True, True)
        return auroc(scores, given, weights)

    metric = UserDataSetMetric("mine", watched, range=(0, 1))
    np.testing.assert_allclose(metric.of_draws(said, labels), AUROC().of_draws(said, labels), rtol=1e-12)
    np.testing.assert_array_equal(seen, [codes])


def test_shared_labels_are_drawn_as_often_as_their_share_says() -> None:
    said = some_said(30, rounded=6)
    labels = (soft_labels(said) * 20).round() / 20
    labels[:, 0] = 1 - labels[:, 1]
    metric = UserDataSetMetric("accuracy", accuracy, truth="soft")
    found = metric.of_draws(said, labels)
    np.testing.assert_allclose(found, SubsetAccuracy(truth="soft").of_draws(said, labels), rtol=1e-12)
    assert metric.of_draws(said, labels[1:2]) == found[1]


def test_a_case_without_a_label_has_a_code_of_its_own() -> None:
    said = some_said(4)
    labels, _ = hard_labels(said, draws=1)
    labels[:, :, 2] = 0.0
    metric = UserDataSetMetric("missing", lambda _, given, __: (given == -1).sum(axis=1))
    assert metric.of_draws(said, labels) == 1
    assert np.isnan(metric.of_draws(said, np.zeros((1, 2, 4))))
    assert np.isnan(metric.slopes(said, np.zeros((2, 4)))).all()
    assert metric.id not in Metric.family.known()
    assert metric.record()["parameters"] == {"name": "missing", "truth": "top"}


@pytest.mark.parametrize(
    ("n", "function", "exact"),
    [(200, accuracy, SubsetAccuracy()), (200, auroc, AUROC()), (1500, accuracy, SubsetAccuracy())],
)
def test_slopes_of_a_function_are_as_uncertain_as_the_exact_ones(
    n: int, function: Callable[..., FloatArray], exact: DataSetMetric
) -> None:
    """Up to 500 cases each is left out; above, blocks of several are."""
    said = some_said(n, rounded=6, seed=n)
    labels = hard_labels(said, draws=1)[0][0]
    metric = UserDataSetMetric("mine", function)
    found, expected = ((labels * said.weights * one.slopes(said, labels)).sum(axis=0) for one in (metric, exact))
    assert found.sum() == pytest.approx(0.0, abs=1e-9)
    assert (found**2).sum() == pytest.approx((expected**2).sum(), rel=0.02 if n == 200 else 0.15)
    if n == 200:
        np.testing.assert_allclose(found, expected, atol=0.05 * np.abs(expected).max())
