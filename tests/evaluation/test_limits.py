"""Where the answer is known without sampling: infinite reliability, certain labels, constant classifiers."""

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import (
    Dirichlet,
    InverseRank,
    MajorityVote,
    PlackettLuce,
    PlackettLuceML,
    ProbabilisticInverseRank,
)
from dissensus.core.aliases import FloatArray
from dissensus.metrics import TopKAccuracy
from dissensus.plugins import Aggregation, Metric

STUDY = ds.simulate.study(n_cases=60, n_conditions=9, seed=11)
SAMPLED: tuple[Aggregation, ...] = (PlackettLuce(3), ProbabilisticInverseRank(30), Dirichlet(2, alpha=0.5))
FIXED: tuple[Aggregation, ...] = (
    MajorityVote(),
    InverseRank("shared"),
    InverseRank("each"),
    PlackettLuceML(),
)
NEAR_INFINITY = 1e7


def guesses(quality: float) -> FloatArray:
    noise = np.random.default_rng(3).gumbel(size=STUDY.theta.shape)
    return np.asarray(quality * np.log(STUDY.theta) + noise)


def clear_cases() -> ds.Study:
    """Keep the cases on which every deterministic aggregation has a single best condition by a clear margin."""
    ordered = [np.sort(fixed.sample(STUDY.annotations).mean(), axis=1) for fixed in FIXED]
    margins = np.min([theta[:, -1] - theta[:, -2] for theta in ordered], axis=0)
    return STUDY.annotations.select(margins > 0.02)


def mean_of(said: ds.Study, scores: FloatArray, aggregation: Aggregation, metric: Metric, draws: int = 50) -> float:
    result = ds.evaluate(said, {"model": scores}, aggregations=[aggregation], metrics=[metric], draws=draws)
    return float(result.to_frame()["mean"][0])


@pytest.mark.parametrize(
    ("sampled", "limit"),
    [
        (Dirichlet(NEAR_INFINITY), MajorityVote()),
        (ProbabilisticInverseRank(NEAR_INFINITY), InverseRank("shared")),
        (ProbabilisticInverseRank(NEAR_INFINITY, ties="each"), InverseRank("each")),
        (PlackettLuce(NEAR_INFINITY, warmup=400), PlackettLuceML()),
    ],
    ids=lambda part: type(part).__name__,
)
@pytest.mark.parametrize("k", [1, 3])
def test_adjusted_accuracy_is_plain_accuracy_at_infinite_reliability(
    sampled: Aggregation, limit: Aggregation, k: int
) -> None:
    said = clear_cases()
    assert 20 < said.n_cases < 60
    scores = guesses(0.7)[STUDY.annotations.panel.positions(list(said.case_names))]
    truth = limit.sample(said).mean().argmax(axis=1)
    plain = (np.argsort(-scores, axis=1)[:, :k] == truth[:, None]).any(axis=1).mean()
    assert 0.2 < plain < 0.95
    assert mean_of(said, scores, limit, TopKAccuracy(k)) == pytest.approx(plain, abs=1e-12)
    assert mean_of(said, scores, sampled, TopKAccuracy(k)) == pytest.approx(plain, abs=1e-12)
