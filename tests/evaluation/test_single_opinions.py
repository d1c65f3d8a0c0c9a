"""Agreement with single annotators, against a plain loop over opinions in which ties are broken in every way."""

from itertools import permutations

import numpy as np
import pytest

import dissensus as ds
from dissensus.metrics import AverageOverlap, BrierScore, Overlap, SetAccuracy, TopKAccuracy
from dissensus.plugins import Metric

CODES = range(4)
CONDITIONS = ["a", "b", "c", "d"]
METRICS: list[Metric] = [TopKAccuracy(1), TopKAccuracy(2), SetAccuracy(2), Overlap(2), AverageOverlap(2)]
Blocks = list[list[int]]


def naive_orders(blocks: Blocks) -> list[tuple[int, ...]]:
    """List every order that agrees with blocks of ties; what is not mentioned is tied behind."""
    rest = [code for code in CODES if not any(code in block for block in blocks)]
    orders: list[tuple[int, ...]] = [()]
    for block in [*blocks, rest]:
        orders = [(*order, *more) for order in orders for more in permutations(block)]
    return orders


def naive_value(number: int, said: tuple[int, ...], predicted: tuple[int, ...]) -> float:
    common = len(set(said[:2]) & set(predicted[:2]))
    one = float(said[0] == predicted[0])
    return [one, float(said[0] in predicted[:2]), float(common == 2), common / 2, (one + common / 2) / 2][number]


def naive_agreement(number: int, opinion: Blocks, scores: list[float]) -> float:
    levels = sorted(set(scores), reverse=True)
    predicted = naive_orders([[code for code in CODES if scores[code] == level] for level in levels])
    values = [naive_value(number, one, other) for one in naive_orders(opinion) for other in predicted]
    return sum(values) / len(values)


def random_opinion(rng: np.random.Generator) -> Blocks:
    order = rng.permutation(4).tolist()[: int(rng.integers(1, 5))]
    blocks: Blocks = []
    for code in order:
        if blocks and rng.random() < 0.4:
            blocks[-1].append(code)
        else:
            blocks.append([code])
    return blocks


def agreement(result: ds.Evaluation) -> dict[str, float]:
    """Return what agrees with single annotators, by metric."""
    return dict(result.to_frame().filter(estimand="agreement").select("metric", "mean").iter_rows())


@pytest.mark.parametrize("seed", range(4))
def test_agreement_is_that_of_a_plain_loop_with_ties_shared(seed: int) -> None:
    rng = np.random.default_rng(seed)
    opinions = [[random_opinion(rng) for _ in range(int(rng.integers(1, 4)))] for _ in range(8)]
    weights = [rng.choice([0.0, 0.5, 1.0, 2.0], size=len(row)).tolist() for row in opinions]
    for row in weights:
        row[0] = 1.0
    scores = rng.integers(1, 4, size=(8, 4)).astype(float)
    case_weights = rng.random(8)
    said = ds.Study.from_rankings(opinions, CONDITIONS, weights=weights, case_weights=case_weights.tolist())
    result = ds.evaluate(said, {"M": scores}, aggregations=["majority-vote"], metrics=[*METRICS, BrierScore()])
    alone = [
        agreement(
            ds.evaluate(said.select([case]), {"M": scores[[case]]}, aggregations=["majority-vote"], metrics=METRICS)
        )
        for case in range(8)
    ]
    for number, metric in enumerate(METRICS):
        means = [
            np.average([naive_agreement(number, one, scores[case].tolist()) for one in row], weights=weights[case])
            for case, row in enumerate(opinions)
        ]
        np.testing.assert_allclose([own[metric.name] for own in alone], means, atol=1e-12)
        assert agreement(result)[metric.name] == pytest.approx(np.average(means, weights=case_weights))
    assert BrierScore().name not in agreement(result)


def test_votes_count_as_often_as_they_were_given_and_abstentions_say_nothing() -> None:
    voted = ds.Study.from_counts([[3, 1, 0, 0], [0, 0, 5, 5]], CONDITIONS)
    abstaining = ds.Study.from_rankings([[[[0]], []], [[[1]], [[2]]]], CONDITIONS)
    for said, expected in ((voted, (0.75 + 0.5) / 2), (abstaining, (1.0 + 0.5) / 2)):
        models = {"M": [[1, 0, 0, 0], [0, 0, 1, 0]]}
        result = ds.evaluate(said, models, aggregations=["majority-vote"], metrics=METRICS[:1])
        assert agreement(result) == {"top-1 accuracy": pytest.approx(expected)}


def test_many_opinions_are_compared_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from dissensus.evaluation import tally

    rng = np.random.default_rng(5)
    said = ds.Study.from_rankings([[random_opinion(rng) for _ in range(3)] for _ in range(6)], CONDITIONS)
    scores = rng.random((6, 4))
    whole = ds.evaluate(said, {"M": scores}, aggregations=["majority-vote"], metrics=METRICS)
    monkeypatch.setattr(tally, "OPINIONS_AT_ONCE", 7)
    assert ds.evaluate(said, {"M": scores}, aggregations=["majority-vote"], metrics=METRICS) == whole
