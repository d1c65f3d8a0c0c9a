"""Metrics against plain NumPy, scikit-learn and SciPy where there are no ties, and at the edges."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, log_loss, top_k_accuracy_score

from dissensus import DissensusError
from dissensus import Dirichlet, InverseRank, MajorityVote, PlackettLuce
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.draws import Batch
from dissensus import (
    AverageOverlap,
    BrierScore,
    CategoryAccuracy,
    Coverage,
    ExpectedAccuracy,
    KendallTau,
    LogScore,
    Metric,
    Overlap,
    RankBiasedOverlap,
    SetAccuracy,
    SpearmanFootrule,
    TopKAccuracy,
    UserMetric,
)
from dissensus.metrics.base import Drawn, Predicted
from dissensus.metrics import named_metric
from dissensus.predictions.lists import Predictions
from dissensus.study.rankings import Annotations
from metrics.metric_studies import measured, one_batch

N, N_CASES = 50, 12
NAMES = [f"c{i}" for i in range(N)]
RNG = np.random.default_rng(4)
SCORES = RNG.dirichlet(np.ones(N), size=N_CASES)
MODEL = Predictions.from_scores(SCORES, NAMES)


def full_rankings() -> Annotations:
    """Everybody ranks everything, so that there are neither ties nor unmentioned conditions."""
    return Annotations.from_rankings(
        [[[[int(c)] for c in RNG.permutation(N)] for _ in range(2)] for _ in range(N_CASES)], NAMES
    )


@pytest.fixture(scope="module")
def batch() -> Batch:
    return one_batch(PlackettLuce(reliability=0.3).sample(full_rankings(), draws=30))


def first_places(values: FloatArray) -> IntArray:
    return np.argsort(-values, axis=-1).astype(np.int64)


def test_without_ties_metrics_are_those_of_sorted_lists(batch: Batch) -> None:
    dense = batch.dense()
    drawn, named = first_places(dense), first_places(SCORES)[:, None]
    for k in (1, 2, 5, 20):
        common = (drawn[..., :k, None] == named[..., None, :k]).sum(axis=(-2, -1))
        hit = (drawn[..., :1] == named[..., :k]).any(axis=-1)
        mass = np.take_along_axis(dense, np.broadcast_to(named[..., :k], (*dense.shape[:2], k)), axis=2).sum(axis=2)
        np.testing.assert_array_equal(measured(TopKAccuracy(k), batch, MODEL), hit)
        np.testing.assert_allclose(measured(Overlap(k), batch, MODEL), common / k, rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(measured(SetAccuracy(k), batch, MODEL), common == k)
        np.testing.assert_allclose(measured(ExpectedAccuracy(k), batch, MODEL), mass, rtol=1e-12)


def test_without_ties_full_lists_have_the_coefficients_of_scipy(batch: Batch) -> None:
    kendall, footrule = (measured(kind(N), batch, MODEL) for kind in (KendallTau, SpearmanFootrule))
    farthest = N * N // 2
    for case, draws in enumerate(batch.dense()):
        for draw, plausibilities in enumerate(draws):
            tau = stats.kendalltau(plausibilities, SCORES[case]).statistic
            moved = np.abs(stats.rankdata(plausibilities) - stats.rankdata(SCORES[case])).sum()
            assert kendall[case, draw] == pytest.approx((1 + tau) / 2, abs=1e-12)
            assert footrule[case, draw] == pytest.approx(1 - moved / farthest, abs=1e-12)


def test_probabilities_are_scored_as_numpy_would(batch: Batch) -> None:
    dense = batch.dense()
    log = (dense * np.log(SCORES)[:, None]).sum(axis=2)
    brier = 1 - 2 * (dense * SCORES[:, None]).sum(axis=2) + (SCORES**2).sum(axis=1)[:, None]
    np.testing.assert_allclose(measured(LogScore(), batch, MODEL), log, rtol=1e-12)
    np.testing.assert_allclose(measured(BrierScore(), batch, MODEL), brier, rtol=1e-12)
    tripled = Predictions.from_scores(3 * SCORES, NAMES)
    np.testing.assert_allclose(measured(LogScore(), batch, tripled), log, rtol=1e-12)
    np.testing.assert_allclose(measured(BrierScore(), batch, tripled), brier, rtol=1e-12)


def test_hard_labels_give_the_numbers_of_scikit_learn() -> None:
    labels = RNG.integers(N, size=N_CASES)
    hard = one_batch(MajorityVote().sample(Annotations.from_rankings([[[[int(y)]]] for y in labels], NAMES)))
    for k in (1, 3, 10):
        expected = top_k_accuracy_score(labels, SCORES, k=k, labels=range(N))
        assert measured(TopKAccuracy(k), hard, MODEL).mean() == pytest.approx(expected, abs=1e-15)
    top = SCORES.argmax(axis=1)
    accuracy = accuracy_score(labels, top)
    for metric in (TopKAccuracy(1), SetAccuracy(1), Overlap(1), AverageOverlap(1), ExpectedAccuracy(1)):
        assert measured(metric, hard, MODEL).mean() == pytest.approx(accuracy, abs=1e-15)
    loss = log_loss(labels, SCORES, labels=range(N))
    assert measured(LogScore(), hard, MODEL).mean() == pytest.approx(-loss, rel=1e-12)
    risk = np.arange(N) % 3
    found = measured(CategoryAccuracy(risk.tolist()), hard, MODEL).mean()
    assert found == pytest.approx(accuracy_score(risk[labels], risk[top]), abs=1e-15)
    sets = Predictions.from_sets(SCORES > 0.02, NAMES)
    inside = (SCORES > 0.02)[np.arange(N_CASES), labels]
    assert measured(Coverage(), hard, sets).mean() == pytest.approx(inside.mean(), abs=1e-15)


def test_a_user_function_sees_dense_scores_and_draws_in_batches(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def hit(scores: FloatArray, plausibilities: FloatArray) -> FloatArray:
        seen.append(len(scores))
        same: FloatArray = (scores.argmax(axis=1)[:, None] == plausibilities.argmax(axis=2)).astype(np.float64)
        return same

    monkeypatch.setattr("dissensus.metrics.user_metric.BATCH_VALUES", 5 * N * batch.n_draws)
    found = measured(UserMetric("hit", hit), batch, MODEL)
    assert seen == [5, 5, 2]
    np.testing.assert_array_equal(found, measured(TopKAccuracy(1), batch, MODEL))


def test_a_probability_of_zero_costs_everything_where_it_matters() -> None:
    study = Annotations.from_rankings([[[["a"]], [["b"]]]], ["a", "b", "c"])
    votes, draws = one_batch(MajorityVote().sample(study)), one_batch(Dirichlet().sample(study, draws=3))
    sure = Predictions.from_scores([[0.5, 0.5, 0.0]], ["a", "b", "c"])
    assert measured(LogScore(), votes, sure)[0, 0] == pytest.approx(np.log(0.5))
    assert (measured(LogScore(), draws, sure) == -np.inf).all()
    assert np.isfinite(measured(LogScore(floor=1e-6), draws, sure)).all()


def test_one_swap_matters_less_in_longer_lists() -> None:
    said = Annotations.from_rankings([[[[c] for c in NAMES]]])
    batch = one_batch(InverseRank().sample(said))
    swapped = Predictions.from_rankings([[NAMES[1], NAMES[0], *NAMES[2:]]], said.conditions)
    for kind in (KendallTau, SpearmanFootrule):
        values = [measured(kind(k), batch, swapped)[0, 0] for k in range(2, N + 1)]
        assert all(0.9 < one < 1 for one in values)
        assert all(one <= other + 1e-15 for one, other in pairwise(values))


# Bad input -----------------------------------------------------------------------------------------------

WRONG: list[tuple[Metric, str]] = [
    (TopKAccuracy(N), "looks at 50 conditions of 50"),
    (SetAccuracy(N), "1 to 49"),
    (Overlap(N + 1), "looks at 51"),
    (AverageOverlap(N + 1), "1 to 50"),
    (RankBiasedOverlap(depth=60), "1 to 50"),
    (KendallTau(N + 1), "1 to 50"),
    (CategoryAccuracy([0, 1]), "number of categories"),
]


@pytest.mark.parametrize(("metric", "message"), WRONG, ids=lambda value: getattr(value, "name", ""))
def test_numbers_that_do_not_fit_the_conditions_are_refused(metric: Metric, message: str) -> None:
    with pytest.raises(DissensusError, match=message):
        metric.check(MODEL)


@pytest.mark.parametrize("kind", [TopKAccuracy, SetAccuracy, Overlap, AverageOverlap, KendallTau, ExpectedAccuracy])
@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
def test_places_are_counted_from_one(kind: type[Metric], k: object) -> None:
    with pytest.raises(DissensusError, match="whole number, one or more"):
        kind(k)  # type: ignore[call-arg]


def test_parameters_out_of_range_are_refused() -> None:
    for persistence in (0, 1, 2, "much"):
        with pytest.raises(DissensusError, match="between 0 and 1"):
            RankBiasedOverlap(persistence)  # type: ignore[arg-type]
    with pytest.raises(DissensusError, match="floor must be"):
        LogScore(floor=-0.1)


def test_scores_that_are_no_probabilities_are_refused() -> None:
    logits = Predictions.from_scores([[1.0, 2.0], [0.5, -2.0]], ["a", "b"], name="net")
    with pytest.raises(DissensusError, match=r"needs probabilities\n.*\n.*-2\n.*'net', case '1'\n.*softmax"):
        LogScore().check(logits)
    nothing = Predictions("net", "scores", ("a", "b"), ("0",), np.array([0, 0]), np.empty(0, np.int64), np.empty(0))
    with pytest.raises(DissensusError, match="at least one score above 0"):
        BrierScore().check(nothing)
    with pytest.raises(DissensusError, match="a ranking per case"):
        BrierScore().check(Predictions.from_rankings([["a"]], ["a", "b"]))


def test_conditions_and_cases_that_differ_are_refused(batch: Batch) -> None:
    with pytest.raises(DissensusError, match="different conditions"):
        Predicted(Predictions.from_scores([[0.1, 0.9]]), batch)
    other = Predictions.from_scores(SCORES, NAMES, case_names=[f"x{i}" for i in range(N_CASES)])
    with pytest.raises(DissensusError, match="unknown case '0'"):
        TopKAccuracy(1).values(Drawn(batch, 1), Predicted(other, batch))


def test_user_functions_of_the_wrong_shape_are_refused(batch: Batch) -> None:
    with pytest.raises(DissensusError, match=r"wrong shape\n.*\(12, 30\)[^\n]*\n.*\(12, 50\)\n.*'mine'"):
        measured(UserMetric("mine", lambda scores, _: scores), batch, MODEL)
    with pytest.raises(DissensusError, match="needs a name"):
        UserMetric("", lambda scores, _: scores)
    with pytest.raises(DissensusError, match="needs a function"):
        UserMetric("mine")


def test_metrics_have_names_for_the_command_line() -> None:
    assert named_metric("set-accuracy:2") == SetAccuracy(2)
    assert named_metric("coverage") == Coverage()
    assert named_metric("rank-biased-overlap:0.8") == RankBiasedOverlap(0.8, 10)
    assert named_metric("category-accuracy:2", categories=["a", "b"]) == CategoryAccuracy(("a", "b"), 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("top-k-acuracy:3", "did you mean 'top-k-accuracy'"),
        ("set-accuracy", "set-accuracy needs k"),
        ("set-accuracy:two", "must be a whole number"),
        ("top-k-accuracy:0", "one or more"),
        ("coverage:3", "too many parameters"),
        ("log-score:x", "must be a number"),
        ("category-accuracy", "needs the category of each condition"),
    ],
)
def test_names_that_make_no_sense_are_refused(text: str, message: str) -> None:
    with pytest.raises(DissensusError, match=message):
        named_metric(text)
