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
from dissensus.core.arrays import FloatArray
from dissensus.metrics import TopKAccuracy
from dissensus.plugins import Aggregation

STUDY = ds.simulate.study(n_cases=60, n_conditions=9, seed=11)
FIXED = (MajorityVote(), InverseRank("shared"), InverseRank("each"), PlackettLuceML())
NEAR_INFINITY = 1e7


def guesses(quality: float) -> FloatArray:
    noise = np.random.default_rng(3).gumbel(size=STUDY.theta.shape)
    return np.asarray(quality * np.log(STUDY.theta) + noise)


def clear_cases() -> ds.Study:
    """Keep the cases on which every deterministic aggregation has a single best condition by a clear margin."""
    ordered = [np.sort(fixed.sample(STUDY.annotations).mean(), axis=1) for fixed in FIXED]
    margins = np.min([theta[:, -1] - theta[:, -2] for theta in ordered], axis=0)
    return STUDY.annotations.select(margins > 0.02)


@pytest.mark.parametrize(
    ("sampled", "limit"),
    [
        (Dirichlet(NEAR_INFINITY), FIXED[0]),
        (ProbabilisticInverseRank(NEAR_INFINITY), FIXED[1]),
        (ProbabilisticInverseRank(NEAR_INFINITY, ties="each"), FIXED[2]),
        (PlackettLuce(NEAR_INFINITY, warmup=400), FIXED[3]),
    ],
    ids=lambda part: type(part).__name__,
)
def test_adjusted_accuracy_is_plain_accuracy_at_infinite_reliability(sampled: Aggregation, limit: Aggregation) -> None:
    said = clear_cases()
    assert 20 < said.n_cases < 60
    scores = guesses(0.7)[STUDY.annotations.panel.positions(list(said.case_names))]
    truth = limit.sample(said).mean().argmax(axis=1)
    metrics = [TopKAccuracy(1), TopKAccuracy(3)]
    found = ds.evaluate(said, {"model": scores}, aggregations=[sampled, limit], metrics=metrics, draws=50).to_frame()
    for metric in metrics:
        plain = (np.argsort(-scores, axis=1)[:, : metric.k] == truth[:, None]).any(axis=1).mean()
        assert 0.2 < plain < 0.95
        adjusted = found.filter(metric=metric.name, estimand="adjusted")["mean"].to_list()
        assert adjusted == pytest.approx([plain, plain], abs=1e-12)
