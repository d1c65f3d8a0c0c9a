"""Metrics of a whole data set against scikit-learn, against all labelings, and by laws that run by reflection."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from operator import attrgetter
from typing import Any, NamedTuple, get_args

import numpy as np
import pytest
import sklearn.metrics as peers
from sklearn.calibration import calibration_curve

import dissensus as ds
from dissensus import metrics as m
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.kernels.label_sums import binned_sums, confusions
from dissensus.metrics.base import Average
from dissensus.metrics.data_set import BinaryMetric, DataSetMetric, Question, Said
from dissensus.metrics.decisions import probabilities_of
from dissensus.metrics.probabilities import BinSums, bin_of
from metrics.data_set_studies import STUDIES, every_metric, hard_labels, masses_of, soft_labels, some_said
from refusals import refused

METRICS = every_metric()
NAME = attrgetter("name")
EVERY = pytest.mark.parametrize("metric", METRICS, ids=repr)
STUDY = pytest.mark.parametrize("said", STUDIES.values(), ids=list(STUDIES))

SMOOTH = (m.SensitivityAtSpecificity, m.SpecificityAtSensitivity)
"""Their slopes are those of a smooth curve, on purpose; see test_slopes_of_a_point_of_the_curve..."""


def fits(metric: DataSetMetric, said: Said) -> bool:
    """Tell whether a metric has a meaning for these questions."""
    return getattr(metric, "threshold", None) is None or said.n_conditions == 2 or isinstance(metric, BinaryMetric)


def counted(metric: DataSetMetric, said: Said, labels: FloatArray) -> float:
    return metric.rests_upon(metric.added(said, labels[None]))


def remarks(metric: DataSetMetric, said: Said, labels: FloatArray) -> tuple[str, ...]:
    return metric.told(metric.added(said, labels[None]))


# Against scikit-learn ------------------------------------------------------------------------------------


def naive_sensitivity(labels: IntArray, scores: FloatArray, weights: FloatArray) -> float:
    """Take the highest point of the curve at the false positive rate."""
    false, true, _ = peers.roc_curve(labels, scores, sample_weight=weights, drop_intermediate=False)
    exact = true[np.isclose(false, 0.1, atol=1e-12)]
    return float(exact.max()) if len(exact) else float(np.interp(0.1, false, true))


def likelihood_ratio(row: IntArray, calls: FloatArray, weights: FloatArray, call: int) -> float:
    of_yes, of_no = (np.average(calls[one] == call, weights=weights[one]) for one in (row == 1, row == 0))
    return float(of_yes / of_no)


# Of scores, or of decisions (0 and 1) at no threshold and at one.
Naive = Callable[[IntArray, FloatArray, FloatArray], float]
TWINS: list[tuple[type[DataSetMetric], dict[str, Any], Naive]] = [
    (m.AUROC, {}, lambda y, s, w: peers.roc_auc_score(y, s, sample_weight=w)),
    (m.AveragePrecision, {}, lambda y, s, w: peers.average_precision_score(y, s, sample_weight=w)),
    (m.PartialAUROC, {"up_to": 0.6}, lambda y, s, w: peers.roc_auc_score(y, s, sample_weight=w, max_fpr=0.6)),
    (m.SensitivityAtSpecificity, {"specificity": 0.9}, naive_sensitivity),
    (m.SpecificityAtSensitivity, {"sensitivity": 0.9}, lambda y, s, w: naive_sensitivity(1 - y, -s, w)),
    (m.Sensitivity, {}, lambda y, c, w: peers.recall_score(y, c, sample_weight=w)),
    (m.Specificity, {}, lambda y, c, w: peers.recall_score(y, c, sample_weight=w, pos_label=0)),
    (m.PositivePredictiveValue, {}, lambda y, c, w: peers.precision_score(y, c, sample_weight=w)),
    (m.NegativePredictiveValue, {}, lambda y, c, w: peers.precision_score(y, c, sample_weight=w, pos_label=0)),
    (m.PositiveLikelihoodRatio, {}, lambda y, c, w: likelihood_ratio(y, c, w, 1)),
    (m.NegativeLikelihoodRatio, {}, lambda y, c, w: likelihood_ratio(y, c, w, 0)),
    (m.FBeta, {}, lambda y, c, w: peers.f1_score(y, c, sample_weight=w)),
    (m.FBeta, {"beta": 2.0}, lambda y, c, w: peers.fbeta_score(y, c, beta=2.0, sample_weight=w)),
    (m.Jaccard, {}, lambda y, c, w: peers.jaccard_score(y, c, sample_weight=w)),
    (m.BalancedAccuracy, {}, lambda y, c, w: peers.balanced_accuracy_score(y, c, sample_weight=w)),
    (m.Matthews, {}, lambda y, c, w: peers.matthews_corrcoef(y, c, sample_weight=w)),
    (m.CohenKappa, {}, lambda y, c, w: peers.cohen_kappa_score(y, c, sample_weight=w)),
    (m.SubsetAccuracy, {}, lambda y, c, w: peers.accuracy_score(y, c, sample_weight=w)),
]


@pytest.mark.parametrize(("kind", "chosen", "naive"), TWINS, ids=lambda one: getattr(one, "id", None))
def test_labels_of_mass_one_give_what_scikit_learn_gives(
    kind: type[DataSetMetric], chosen: dict[str, Any], naive: Naive
) -> None:
    decides = "threshold" in [part.name for part in kind.parameter_fields()]
    # scores with ties and without; decisions without, so that they are those of the metric
    for seed, rounded, threshold in product(range(3), (6,) if decides else (1, 6), (None, 0.3) if decides else (None,)):
        said = some_said(30, seed=seed, rounded=rounded)
        labels, codes = hard_labels(said, seed=seed)
        score = said.scores[:, 1]
        stated = np.asarray(score >= (threshold or 0.5), dtype=np.float64) if decides else score
        metric = kind.from_parameters({**chosen, **({"threshold": threshold} if decides else {})})
        expected = [naive(row, stated, said.weights) for row in codes]
        np.testing.assert_allclose(metric.of_draws(said, labels), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("average", get_args(Average))
def test_several_conditions_are_one_versus_rest(average: Average) -> None:
    said = STUDIES["conditions"]
    if average == "weighted":  # scikit-learn weighs by counts, so equal weights
        said = replace(said, weights=np.ones(said.n_cases))
    labels, codes = hard_labels(said)
    for kind, peer in ((m.AUROC, peers.roc_auc_score), (m.AveragePrecision, peers.average_precision_score)):
        how: dict[str, Any] = {"average": average, "sample_weight": said.weights}
        expected = [peer(row[:, None] == np.arange(4), said.scores, **how) for row in codes]
        np.testing.assert_allclose(kind(average).of_draws(said, labels), expected, rtol=1e-12)


def test_a_score_at_the_threshold_is_positive() -> None:
    said = Said.of_scores(np.array([[0.5, 0.5], [0.6, 0.4]]), is_binary=True)
    labels = masses_of(np.array([[1, 1]]), 2)
    for metric in (m.Sensitivity(0.45), m.SubsetAccuracy(0.45), m.NetBenefit(0.5)):
        assert metric.of_draws(said, labels) == 0.5
    assert m.Sensitivity(0.4).of_draws(said, labels) == 1.0
    for metric in (m.Sensitivity(0.5), m.SubsetAccuracy(0.5)):  # as likely as not: a tie, which counts half
        assert metric.of_draws(said, labels) == 0.25


def test_conditions_that_no_case_has_are_left_out_of_balanced_accuracy() -> None:
    said = STUDIES["conditions"]
    codes = hard_labels(said)[1] % 3
    calls = said.scores.argmax(axis=1)
    hits = [[np.average(calls[y == k] == k, weights=said.weights[y == k]) for k in range(3)] for y in codes]
    np.testing.assert_allclose(m.BalancedAccuracy().of_draws(said, masses_of(codes, 4)), np.mean(hits, axis=1))


def test_net_benefit_is_hits_less_false_alarms_at_their_odds() -> None:
    said = some_said(30)
    labels, codes = hard_labels(said)
    calls, share = said.scores[:, 1] >= 0.2, said.weights / said.weights.sum()
    expected = [share @ (calls & (row == 1)) - share @ (calls & (row == 0)) * 0.25 for row in codes]
    np.testing.assert_allclose(m.NetBenefit(0.2).of_draws(said, labels), expected, rtol=1e-12)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_metrics_of_several_conditions_are_those_of_scikit_learn(weights: Any) -> None:
    said = STUDIES["conditions"]
    labels, codes = hard_labels(said)
    calls, w = said.scores.argmax(axis=1), said.weights
    peer = None if weights == "none" else weights
    pairs: list[tuple[DataSetMetric, Any, dict[str, Any]]] = [
        (m.CohenKappa(weights), peers.cohen_kappa_score, {"weights": peer, "labels": range(4)}),
        (m.Matthews(), peers.matthews_corrcoef, {}),
        (m.BalancedAccuracy(), peers.balanced_accuracy_score, {}),
        (m.SubsetAccuracy(), peers.accuracy_score, {}),
        (m.Sensitivity(), peers.recall_score, {"average": "macro"}),
        (m.FBeta(average="micro"), peers.f1_score, {"average": "micro"}),
        (m.Jaccard(average="weighted"), peers.jaccard_score, {"average": "weighted"}),
    ]
    for metric, twin, how in pairs:
        expected = [twin(y, calls, sample_weight=w, **how) for y in codes]
        np.testing.assert_allclose(metric.of_draws(said, labels), expected, rtol=1e-12, err_msg=metric.name)


def test_findings_are_averaged_as_scikit_learn_averages_labels() -> None:
    said = STUDIES["findings"]
    labels, codes = hard_labels(said)
    n = len(np.unique(said.items))
    calls = (said.scores[:, 1] >= 0.45).reshape(3, n).T
    for row, found in zip(codes, m.SubsetAccuracy(0.45).of_draws(said, labels), strict=True):
        expected = peers.accuracy_score(row.reshape(3, n).T, calls, sample_weight=said.weights[:n])
        assert found == pytest.approx(expected, rel=1e-12)
    for average in get_args(Average):
        for row, found in zip(codes, m.FBeta(threshold=0.45, average=average).of_draws(said, labels), strict=True):
            expected = peers.f1_score(row.reshape(3, n).T, calls, average=average, sample_weight=said.weights[:n])
            assert found == pytest.approx(expected, rel=1e-12)
    kappas = [m.CohenKappa().of_draws(part, own) for part, own in findings_of(said, labels)]
    np.testing.assert_allclose(m.CohenKappa().of_draws(said, labels), np.mean(kappas, axis=0), rtol=1e-12)


def findings_of(said: Said, labels: FloatArray) -> Iterator[tuple[Said, FloatArray]]:
    for one in np.unique(said.findings):
        rows = np.flatnonzero(said.findings == one)
        yield said.select(rows), np.ascontiguousarray(labels[:, :, rows])


def test_calibration_is_that_of_the_curve_of_scikit_learn() -> None:
    said = some_said(300, seed=8)
    plain = replace(said, weights=np.ones(said.n_cases))
    labels, codes = hard_labels(plain)
    assert set(plain.scores[:, 1]) == set(np.arange(11) / 10)  # at the edges of bins
    found = m.CalibrationError().of_draws(plain, labels)
    sums = bin_sums(plain, labels)
    for draw, row in enumerate(codes):
        share, mean = calibration_curve(row, plain.scores[:, 1], n_bins=10)
        weight = sums.mass[draw][sums.mass[draw] > 0] / sums.mass[draw].sum()
        assert found[draw] == pytest.approx(weight @ np.abs(share - mean), rel=1e-12)


@STUDY
def test_the_parts_of_the_brier_score_add_up(said: Said) -> None:
    """Those of probabilities that are the same within a bin, whether labels are hard or soft."""
    said = replace(said, weights=1 + said.weights)
    for labels in (soft_labels(said), hard_labels(said)[0]):
        parts = [
            kind(20).of_draws(said, labels) for kind in (m.BrierReliability, m.BrierResolution, m.BrierUncertainty)
        ]
        expected = np.mean([binned_brier(said, labels, question) for question in said.questions], axis=0)
        np.testing.assert_allclose(parts[0] - parts[1] + parts[2], expected, rtol=1e-10)


def binned_brier(said: Said, labels: FloatArray, question: Question) -> FloatArray:
    scores, weights = probabilities_of(said, question), said.weights[question.rows]
    share = labels[:, question.condition][:, question.rows]
    place = np.digitize(scores, np.linspace(0, 1, 21)[1:-1], right=True)
    means = np.array([np.average(scores[place == one], weights=weights[place == one]) for one in place])
    distances = share * (1 - means) ** 2 + (1 - share) * means**2
    return np.asarray(np.average(distances, axis=1, weights=weights))


def bin_sums(said: Said, labels: FloatArray) -> BinSums:
    scores = said.scores[:, 1]
    return BinSums(*binned_sums(bin_of(scores, 10), 10, scores, labels[:, 1], labels[:, 0]))


def test_what_chance_adds_is_the_size_of_a_normal_gap() -> None:
    said = some_said(200, seed=3)
    labels, _ = hard_labels(replace(said, weights=np.ones(200)), draws=1)
    sums = bin_sums(said, labels)
    mass, positive, scores = (part[0][sums.mass[0] > 0] for part in (sums.mass, sums.positive, sums.scores))
    weight, share, mean = mass / mass.sum(), positive / mass, scores / mass
    spread = np.sqrt(share * (1 - share) / (200 * weight))
    drawn = np.abs(np.random.default_rng(0).normal(share, spread, size=(200_000, len(share))) - mean).mean(axis=0)
    expected = 2 * weight @ np.abs(share - mean) - weight @ drawn
    found = m.CalibrationError(debiased=True).of_draws(replace(said, weights=np.ones(200)), labels)[0]
    assert found == pytest.approx(expected, abs=3e-4)


# Against all labelings -----------------------------------------------------------------------------------


def labelings(said: Said, labels: FloatArray) -> Iterator[tuple[float, FloatArray]]:
    """Give all labelings of a few cases with their probabilities; labels are (K, n)."""
    for codes in product(range(said.n_conditions), repeat=said.n_cases):
        chance = float(np.prod(labels[list(codes), np.arange(said.n_cases)]))
        yield chance, masses_of(np.array([codes]), said.n_conditions)[0]


def test_soft_auroc_is_expected_pairs_in_order_over_expected_pairs() -> None:
    said = some_said(7, seed=2)
    labels = soft_labels(said, draws=1, seed=2)
    won = pairs = 0.0
    scores, weights = said.scores[:, 1], said.weights
    for chance, masses in labelings(said, labels[0]):
        yes, no = masses[1] * weights, masses[0] * weights
        higher = (scores[:, None] > scores) + 0.5 * (scores[:, None] == scores)
        won += chance * float(yes @ higher @ no)
        pairs += chance * float(yes.sum() * no.sum())
    np.testing.assert_allclose(m.AUROC(truth="soft").of_draws(said, labels), won / pairs, rtol=1e-12)


def test_soft_confusion_is_the_expected_one() -> None:
    """The metrics of decisions are formulas of it."""
    said = some_said(5, conditions=3, is_binary=False, seed=2)
    labels = soft_labels(said, draws=1, seed=2)
    expected = np.zeros((3, 3))
    for chance, masses in labelings(said, labels[0]):
        expected += chance * (masses * said.weights) @ said.picks
    np.testing.assert_allclose(confusions(labels * said.weights, said.picks)[0], expected, rtol=1e-12)
    hits = np.diagonal(expected) / expected.sum(axis=1)
    np.testing.assert_allclose(m.Sensitivity(truth="soft").of_draws(said, labels), hits.mean(), rtol=1e-12)
    np.testing.assert_allclose(m.BalancedAccuracy(truth="soft").of_draws(said, labels), hits.mean(), rtol=1e-12)


def test_soft_subset_accuracy_is_that_of_independent_findings() -> None:
    said = some_said(3, findings=2, seed=4)
    labels = soft_labels(said, draws=1)
    hard = ((chance, m.SubsetAccuracy().of_draws(said, one[None])[0]) for chance, one in labelings(said, labels[0]))
    expected = sum(chance * value for chance, value in hard)
    np.testing.assert_allclose(m.SubsetAccuracy(truth="soft").of_draws(said, labels), expected, rtol=1e-12)


# Laws ----------------------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """A metric, what a model says, soft labels of 20 draws, and values and slopes at them."""

    metric: DataSetMetric
    said: Said
    soft: FloatArray
    values: FloatArray
    slopes: FloatArray

    def same(self, said: Said, cases: Any = slice(None), *, rtol: float = 1e-12) -> None:
        """Assert that some cases that somebody else says are worth the same, and each of them."""
        some = np.ascontiguousarray(self.soft[:, :, cases])
        np.testing.assert_allclose(self.metric.of_draws(said, some), self.values, rtol=rtol)
        slopes = self.metric.slopes(said, np.ascontiguousarray(some[0]))
        np.testing.assert_allclose(slopes, self.slopes[:, cases], rtol=1e-9, atol=1e-12)


@EVERY
def test_a_metric_obeys_the_laws(metric: DataSetMetric) -> None:
    """One test per metric, on all studies that it has a meaning for."""
    studies = [said for said in STUDIES.values() if fits(metric, said)]
    assert len(studies) >= 2
    for said in studies:
        soft, hard = soft_labels(said, draws=20), hard_labels(said, draws=20)[0]
        one = Judged(metric, said, soft, metric.of_draws(said, soft), metric.slopes(said, soft[0]))
        assert_values_stay_within_the_range_and_draws_do_not_know_of_each_other(one, metric.of_draws(said, hard))
        assert_slopes_are_the_derivatives(one)
        for labels in (soft[0], hard[0]):
            shares = labels * said.weights * metric.slopes(said, labels)
            assert abs(shares.sum()) < 1e-12 * max(1.0, np.abs(shares).sum()), "masses times slopes add up to zero"
            assert np.abs(shares).sum() > 0
        assert_order_size_and_cases_without_weight_do_not_matter(one)
        for labels in (soft, hard):
            assert_a_case_may_be_split_in_two(one, labels, is_soft=labels is soft)
        assert_pieces_add_up(one)
        assert 0 < counted(metric, said, soft[0]) <= said.weights.sum() * max(said.n_conditions, 1) + 1e-9
    assert_nothing_is_undefined(metric)


def assert_values_stay_within_the_range_and_draws_do_not_know_of_each_other(one: Judged, hard: FloatArray) -> None:
    low, high = one.metric.range
    for found in (one.values, hard):
        known = found[~np.isnan(found)]
        assert (len(found), len(known) > 0) == (20, True)
        assert ((low - 1e-12 <= known) & (known <= high + 1e-12)).all()
    alone = [one.metric.of_draws(one.said, np.ascontiguousarray(draw[None]))[0] for draw in one.soft[:5]]
    np.testing.assert_array_equal(one.values[:5], alone)


def assert_slopes_are_the_derivatives(one: Judged) -> None:
    """By 30 of the masses; those of points of a curve are smooth on purpose."""
    assert one.slopes.shape == one.soft[0].shape
    step, rng = 1e-6, np.random.default_rng(5)
    for _ in range(0 if isinstance(one.metric, SMOOTH) else 30):
        k, case = rng.integers(one.said.n_conditions), rng.integers(one.said.n_cases)
        ends = np.repeat(one.soft[:1], 2, axis=0)
        ends[:, k, case] += [-step, step]
        low, high = one.metric.of_draws(one.said, ends)
        expected = (high - low) / (2 * step * one.said.weights[case])
        np.testing.assert_allclose(one.slopes[k, case], expected, rtol=1e-5, atol=1e-8)


def assert_order_size_and_cases_without_weight_do_not_matter(one: Judged) -> None:
    """The order of cases, the size of all weights, and whether a case of weight zero is there."""
    metric, said = one.metric, one.said
    order = np.random.default_rng(0).permutation(said.n_cases)
    one.same(said.select(order), order)
    doubled = replace(said, weights=2 * said.weights)
    one._replace(slopes=one.slopes / 2).same(doubled)
    without, kept = replace(said, weights=np.where(said.items == 3, 0.0, said.weights)), np.flatnonzero(said.items != 3)
    some = one._replace(values=metric.of_draws(without, one.soft), slopes=metric.slopes(without, one.soft[0]))
    some.same(said.select(kept), kept)


def assert_a_case_may_be_split_in_two(one: Judged, labels: FloatArray, *, is_soft: bool) -> None:
    """Not with soft labels for m.AUROC: two halves of a case are a pair, and a case with itself is none.

    Nor where a metric asks how many cases there are, to know how uncertain a bin is.
    """
    metric, said = one.metric, one.said
    weights = np.concatenate([0.3 * said.weights, 0.7 * said.weights])
    items = np.concatenate([said.items, said.items + said.items.max() + 1])
    halves = replace(said.select(np.tile(np.arange(said.n_cases), 2)), weights=weights, items=items)
    if not (getattr(metric, "debiased", False) or (is_soft and isinstance(metric, m.AUROC))):
        found = metric.of_draws(halves, np.ascontiguousarray(np.tile(labels, 2)))
        np.testing.assert_allclose(found, metric.of_draws(said, labels), rtol=1e-11)


def assert_pieces_add_up(one: Judged) -> None:
    """Pieces know how many findings there are, and all scores; one finding is in the first piece only."""
    metric, said, labels = one.metric, one.said, one.soft
    marks = tuple(np.unique(said.scores[question]) for question in said.questions)
    number = said.items % 3 if isinstance(metric, m.SubsetAccuracy) else np.where(said.findings == 1, 0, said.items % 3)
    rows = [np.flatnonzero(number == place) for place in np.unique(number)]
    pieces = [replace(said.select(own), n_findings=len(marks), marks=marks) for own in rows]
    own_labels = [np.ascontiguousarray(labels[:, :, own]) for own in rows]

    def added(draws: slice) -> list[FloatArray]:
        every = [metric.added(part, own[draws]) for part, own in zip(pieces, own_labels, strict=True)]
        return [np.asarray(sum(sums)) for sums in zip(*every, strict=True)]

    np.testing.assert_allclose(metric.of_added(added(slice(None))), one.values, rtol=1e-12, atol=1e-14)
    first = added(slice(1))
    for part, own, place in zip(pieces, own_labels, rows, strict=True):
        np.testing.assert_allclose(metric.slopes_at(part, own[0], first), one.slopes[:, place], rtol=1e-9, atol=1e-13)
    assert metric.rests_upon(first) == pytest.approx(counted(metric, said, labels[0]), rel=1e-12)
    assert metric.told(first) == remarks(metric, said, labels[0])


def assert_nothing_is_undefined(metric: DataSetMetric) -> None:
    """Without masses there is no value, and there never is one of a single case."""
    said, nothing = some_said(5), np.zeros((2, 2, 5))
    assert np.isnan(metric.of_draws(said, nothing)).all()
    assert np.isnan(metric.slopes(said, nothing[0])).all()
    assert counted(metric, said, nothing[0]) == 0
    assert metric.record()["sees"] == "data set"
    assert m.AUROC("weighted", "soft").name == "AUROC (weighted, soft)"
    refused("whole data set", metric.values, None, None)


# Slopes that are smooth on purpose -----------------------------------------------------------------------


@pytest.mark.parametrize("metric", [m.SensitivityAtSpecificity(0.8), m.SpecificityAtSensitivity(0.8)], ids=NAME)
def test_slopes_of_a_point_of_the_curve_tell_how_uncertain_it_is(metric: DataSetMetric) -> None:
    """Resampled cases differ as much as slopes say, threshold included."""
    rng = np.random.default_rng(2)
    n = 800
    codes = np.asarray(rng.random((1, n)) < 0.4, dtype=np.int64)
    scores = rng.normal(1.2 * codes[0], 1.0)
    said = Said.of_scores(np.stack([-scores, scores], axis=1), is_binary=True)
    labels = masses_of(codes, 2)
    spread = np.sqrt(((labels[0] * metric.slopes(said, labels[0])).sum(axis=0) ** 2).sum())
    resampled = [rng.integers(n, size=n) for _ in range(400)]
    values = [metric.of_draws(said.select(rows), np.ascontiguousarray(labels[:, :, rows]))[0] for rows in resampled]
    assert spread == pytest.approx(np.std(values), rel=0.2)


# Undefined, refused, remarked ----------------------------------------------------------------------------


def test_without_one_of_the_classes_areas_are_undefined() -> None:
    said = some_said(6)
    for code in (0, 1):
        labels = masses_of(np.full((1, 6), code), 2)
        for metric in (m.AUROC(), m.PartialAUROC(), m.SensitivityAtSpecificity(), m.SpecificityAtSensitivity()):
            assert np.isnan(metric.of_draws(said, labels)).all()
            assert np.isnan(metric.slopes(said, labels[0])).all()
    assert np.isnan(m.AveragePrecision().of_draws(said, masses_of(np.zeros((1, 6), dtype=int), 2)))
    assert m.AveragePrecision().of_draws(said, masses_of(np.ones((1, 6), dtype=int), 2)) == pytest.approx(1.0)


def test_a_question_without_positive_cases_is_left_out_of_the_mean() -> None:
    said = STUDIES["findings"]
    labels, _ = hard_labels(said)
    labels[:, :, said.findings == 1] = np.array([1.0, 0.0])[:, None]
    kept = np.flatnonzero(said.findings != 1)
    expected = m.AUROC().of_draws(said.select(kept), np.ascontiguousarray(labels[:, :, kept]))
    np.testing.assert_allclose(m.AUROC().of_draws(said, labels), expected, rtol=1e-12)


def binary(scores: FloatArray) -> Said:
    return Said.of_scores(np.stack([1 - scores, scores], axis=1), is_binary=True)


ALONE = "only 1 of 500 cases is called positive at 0.5"
# How many of how many cases are positive, the metric, and what is remarked of it.
REMARKED: list[tuple[int, int, DataSetMetric, tuple[str, ...]]] = [
    (3, 50, m.AUROC(), ("only 3 of 50 cases are positive",)),
    (47, 50, m.AUROC(), ("only 3 of 50 cases are negative",)),
    (10, 50, m.AUROC(), ()),
    (167, 500, m.Sensitivity(0.5), (ALONE,)),
    (167, 500, m.CohenKappa(threshold=0.5), (ALONE,)),
    (167, 500, m.Sensitivity(), (ALONE.removesuffix(" at 0.5"),)),
    (167, 500, m.Sensitivity(0.05), ("only 0 of 500 cases are called negative at 0.05",)),
    (2, 500, m.Specificity(0.5), (ALONE,)),
    (2, 500, m.Sensitivity(0.5), (ALONE, "only 2 of 500 cases are positive")),
    (2, 500, m.Matthews(0.5), (ALONE, "only 2 of 500 cases are positive")),
]


@pytest.mark.parametrize(("positive", "n", "metric", "told"), REMARKED)
def test_few_cases_of_a_kind_are_remarked(positive: int, n: int, metric: DataSetMetric, told: tuple[str, ...]) -> None:
    scores = np.arange(n) / n if n == 50 else np.where(np.arange(n) == 7, 0.6, 0.1)
    labels = masses_of((np.arange(n)[None] >= n - positive).astype(np.int64), 2)[0]
    assert remarks(metric, binary(scores), labels) == told


def test_a_question_that_cannot_be_answered_is_undefined() -> None:
    """Nobody is positive, nobody is called positive, or nothing varies."""
    said = Said.of_scores(np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]]), is_binary=True)
    none, some = masses_of(np.zeros((1, 3), dtype=int), 2), masses_of(np.array([[0, 0, 1]]), 2)
    of_none = (m.Sensitivity, m.FBeta, m.Jaccard, m.Matthews, m.CohenKappa, m.BalancedAccuracy)
    of_some = (m.PositivePredictiveValue, m.PositiveLikelihoodRatio, m.Matthews)
    for labels, kinds in ((none, of_none), (some, of_some)):
        for metric in [kind() for kind in kinds]:
            assert np.isnan(metric.of_draws(said, labels)).all(), metric
            assert np.isnan(metric.slopes(said, labels[0])).all(), metric
    assert m.Sensitivity().of_draws(said, some) == 0
    assert m.BalancedAccuracy().of_draws(said, some) == 0.5


def test_thresholds_need_scores_and_matrices_two_conditions() -> None:
    rankings = ds.Predictions.from_rankings([["a"], ["b"]], ["a", "b"])
    for metric in (m.Sensitivity(0.5), m.CohenKappa(threshold=0.5), m.SubsetAccuracy(0.5)):
        refused(r"needs scores(.|\n)*leave the threshold out", metric.check, rankings)
    for metric in (m.Sensitivity(), m.CohenKappa(), m.SubsetAccuracy()):
        metric.check(rankings)
    three = ds.Predictions.from_scores([[0.2, 0.3, 0.5]])
    refused("needs two conditions", m.Matthews(0.5).check, three)
    m.Sensitivity(0.5).check(three)
    refused("needs probabilities", m.NetBenefit(0.5).check, ds.Predictions.from_scores([[-0.2, 0.3]]))


def test_averages_truths_and_rates_that_there_are_not_are_refused() -> None:
    wrong: list[tuple[Any, Any]] = [
        *((m.AUROC, "mean"), (partial(m.AUROC, "macro"), "hard"), (m.PartialAUROC, 0.0), (m.NetBenefit, 1.0)),
        *((m.SensitivityAtSpecificity, 1.0), (m.SpecificityAtSensitivity, -0.1), (m.FBeta, 0.0)),
        *((m.Sensitivity, "high"), (m.CohenKappa, "cubic")),
    ]
    for make, value in wrong:
        refused("", make, value)


# Thresholds ---------------------------------------------------------------------------------------------


def test_one_half_decides_between_probabilities_only() -> None:
    """Log-odds have no threshold of one half; any other threshold is the user's."""
    chances = np.random.default_rng(3).random(80).round(3)
    labels = masses_of(np.asarray(np.arange(80)[None] % 3 == 0, dtype=np.int64), 2)
    metrics: list[DataSetMetric] = [m.Sensitivity(0.5), m.CohenKappa(threshold=0.5), m.SubsetAccuracy(0.5)]
    fine = binary(chances)
    for scores in (np.stack([-chances, chances], axis=1), np.stack([1 - chances, 4 * chances], axis=1)):
        said = Said.of_scores(scores, is_binary=True)
        for metric in metrics:
            assert np.isnan(metric.of_draws(said, labels)).all()
            assert np.isnan(metric.slopes(said, labels[0])).all()
            assert counted(metric, said, labels[0]) == 0
            assert remarks(metric, said, labels[0])[0].startswith("no decisions: scores are not between 0 and 1")
            plain = type(metric).from_parameters({**metric.parameters(), "threshold": None})
            np.testing.assert_array_equal(metric.of_draws(fine, labels), plain.of_draws(fine, labels))
            other = type(metric).from_parameters({**metric.parameters(), "threshold": 0.3})
            assert np.isfinite(other.of_draws(said, labels)).all()
        assert not any("no decisions" in remark for metric in metrics for remark in remarks(metric, fine, labels[0]))


def test_names_say_the_threshold_and_scores_that_are_no_probabilities_have_a_dash() -> None:
    said = ds.Study.from_counts([[3, 1], [0, 4], [2, 2], [4, 0]] * 10, ["no", "yes"], question="binary")
    chances = np.random.default_rng(4).random(40)
    odds = np.log(chances / (1 - chances))
    models = {"p": np.stack([1 - chances, chances], axis=1), "logit": np.stack([-odds, odds], axis=1)}
    metrics = ["sensitivity", "sensitivity:0.3", "sensitivity-at-specificity:0.5", "balanced-accuracy", "auroc"]
    result = ds.evaluate(said, models, aggregations=["majority-vote"], metrics=metrics, primary="sensitivity")
    assert [one.name for one in result.metrics[:2]] == ["sensitivity at 0.5", "sensitivity at 0.3"]
    assert result.metrics[3].name == "balanced accuracy at 0.5"
    values = {(row["model"], row["metric"]): row["mean"] for row in result.to_frame().to_dicts()}
    undefined = [key for key, value in values.items() if np.isnan(value)]
    assert undefined == [("logit", "sensitivity at 0.5"), ("logit", "balanced accuracy at 0.5")]
    told = [line for line in result.warnings if "no decisions" in line]
    assert told == [
        "logit, sensitivity at 0.5, balanced accuracy at 0.5: no decisions: scores are not between 0 and 1; "
        "give a threshold on their scale, or decisions"
    ]
    labels = ds.Predictions.from_rankings([["yes"], ["no"]] * 20, ["no", "yes"], case_names=said.case_names)
    decided = ds.evaluate(said, {"labels": labels}, aggregations=["majority-vote"], metrics=["sensitivity"])
    assert decided.to_frame()["mean"].is_finite().all()
