"""Where the answer is known without sampling: infinite reliability, certain labels, constant classifiers."""

import numpy as np
import pytest

import dissensus as ds
from dissensus.core.aliases import FloatArray

STUDY = ds.simulate_study(n_cases=60, n_conditions=9, seed=11)
N_CONDITIONS = 9
SAMPLED: tuple[ds.Aggregation, ...] = (ds.PlackettLuce(3), ds.ProbabilisticInverseRank(30), ds.Dirichlet(2, alpha=0.5))
FIXED: tuple[ds.Aggregation, ...] = (
    ds.MajorityVote(),
    ds.InverseRank("shared"),
    ds.InverseRank("each"),
    ds.PlackettLuceML(),
)
NEAR_INFINITY = 1e7


def guesses(quality: float) -> FloatArray:
    noise = np.random.default_rng(3).gumbel(size=STUDY.theta.shape)
    return np.asarray(quality * np.log(STUDY.theta) + noise)


def clear_cases() -> ds.Annotations:
    """Keep the cases on which every deterministic aggregation has a single best condition by a clear margin."""
    ordered = [np.sort(fixed.sample(STUDY.annotations).mean(), axis=1) for fixed in FIXED]
    margins = np.min([theta[:, -1] - theta[:, -2] for theta in ordered], axis=0)
    return STUDY.annotations.select(margins > 0.02)


def mean_of(
    said: ds.Annotations, scores: FloatArray, aggregation: ds.Aggregation, metric: ds.Metric, draws: int = 50
) -> float:
    result = ds.evaluate(said, {"model": scores}, aggregations=[aggregation], metrics=[metric], draws=draws)
    return float(result.to_frame()["mean"][0])


@pytest.mark.parametrize(
    ("sampled", "limit"),
    [
        (ds.Dirichlet(NEAR_INFINITY), ds.MajorityVote()),
        (ds.ProbabilisticInverseRank(NEAR_INFINITY), ds.InverseRank("shared")),
        (ds.ProbabilisticInverseRank(NEAR_INFINITY, ties="each"), ds.InverseRank("each")),
        (ds.PlackettLuce(NEAR_INFINITY, warmup=400), ds.PlackettLuceML()),
    ],
    ids=lambda part: type(part).__name__,
)
@pytest.mark.parametrize("k", [1, 3])
def test_adjusted_accuracy_is_plain_accuracy_at_infinite_reliability(
    sampled: ds.Aggregation, limit: ds.Aggregation, k: int
) -> None:
    said = clear_cases()
    assert 20 < said.n_cases < 60
    scores = guesses(0.7)[STUDY.annotations.panel.positions(list(said.case_names))]
    truth = limit.sample(said).mean().argmax(axis=1)
    plain = (np.argsort(-scores, axis=1)[:, :k] == truth[:, None]).any(axis=1).mean()
    assert 0.2 < plain < 0.95
    assert mean_of(said, scores, limit, ds.TopKAccuracy(k)) == pytest.approx(plain, abs=1e-12)
    assert mean_of(said, scores, sampled, ds.TopKAccuracy(k)) == pytest.approx(plain, abs=1e-12)


@pytest.mark.parametrize("aggregation", FIXED, ids=repr)
def test_a_deterministic_aggregation_without_ties_is_certain(aggregation: ds.Aggregation) -> None:
    draws = aggregation.sample(clear_cases())
    assert (ds.annotation_certainty(draws, top=1).values == 1).all()


def test_a_tie_for_the_first_place_is_not_certain() -> None:
    said = ds.Annotations.from_rankings([[[["a"]], [["b"]]]], ["a", "b", "c"])
    assert ds.annotation_certainty(ds.MajorityVote().sample(said)).values.tolist() == [0.5]


@pytest.mark.parametrize("aggregation", [*SAMPLED, *FIXED], ids=repr)
def test_top_k_accuracy_grows_with_k_and_a_right_set_overlaps_wholly(aggregation: ds.Aggregation) -> None:
    """In every case, also with tied scores."""
    rng, sizes = np.random.default_rng(3), (1, 2, 3, 8)
    models = {str(n): rng.integers(1, n + 1, size=STUDY.theta.shape).astype(float) for n in (2, 5, 1000)}
    models["guessed"] = guesses(1.0)
    tops = [ds.TopKAccuracy(k) for k in range(1, N_CONDITIONS)]
    sets = [kind(k) for k in sizes for kind in (ds.SetAccuracy, ds.Overlap)]
    result = ds.evaluate(STUDY.annotations, models, aggregations=[aggregation], metrics=[*tops, *sets], draws=40)
    by_case = result.per_case()["mean"].to_numpy().reshape(len(models), len(tops) + len(sets), -1)
    assert (np.diff(by_case[:, : len(tops)], axis=1) >= -1e-12).all()
    correct, overlap = by_case[:, len(tops) :: 2], by_case[:, len(tops) + 1 :: 2]
    assert (correct <= overlap + 1e-12).all()
    assert (correct[-1, 1:].mean(axis=-1) < overlap[-1, 1:].mean(axis=-1)).all()


@pytest.mark.parametrize("aggregation", [*SAMPLED, *FIXED], ids=repr)
def test_a_constant_classifier_is_right_by_chance(aggregation: ds.Aggregation) -> None:
    """Exactly k of K, in every case and draw: ties are worth their expectation, not their position."""
    metrics: list[ds.Metric] = [
        ds.TopKAccuracy(1),
        ds.TopKAccuracy(4),
        ds.Overlap(3),
        ds.AverageOverlap(3),
        ds.ExpectedAccuracy(2),
    ]
    chance = [1 / 9, 4 / 9, 3 / 9, (1 + 2 + 3) / (3 * 9), 2 / 9]
    constant = np.full(STUDY.theta.shape, 0.3)
    result = ds.evaluate(STUDY.annotations, {"m": constant}, aggregations=[aggregation], metrics=metrics, draws=30)
    table = result.to_frame().filter(estimand="adjusted")
    np.testing.assert_allclose(table["mean"], chance, rtol=1e-12)
    np.testing.assert_allclose(table["min"], chance, rtol=1e-12)
    np.testing.assert_allclose(table["max"], chance, rtol=1e-12)
    assert (table["low"] <= table["mean"]).all()
    assert (table["mean"] < table["high"]).all()
