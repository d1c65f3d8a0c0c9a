"""What models are compared with beside the draws: single annotators, votes that they share, and the truth."""

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus.agreement import annotator_agreement, krippendorff_alpha, pairwise_agreement
from dissensus.figures.evaluation_charts import study_statistics
from dissensus.metrics import AverageOverlap, BrierScore, Overlap, SetAccuracy, TopKAccuracy
from dissensus.plugins import Metric
from refusals import refused
from voted_studies import voted_study, written_out

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


N = 40
RNG = np.random.default_rng(5)
NAMES = [f"case {number}" for number in range(N)]
LABELS = RNG.integers(2, size=N)
SCORES = np.clip(LABELS[:, None] * [[-0.4, 0.4]] + RNG.normal(0.5, 0.3, (N, 1)) * [[-1, 1]] + [[1, 0]], 0.01, 0.99)
SAID = ds.Study.from_counts(RNG.multinomial(3, [0.5, 0.5], size=N), ["no", "yes"], case_names=NAMES, question="binary")
TRUTH = {name: ("no", "yes")[label] for name, label in zip(NAMES, LABELS, strict=True)}
ASKED: dict[str, Any] = {"aggregations": ["dirichlet:1"], "draws": 30, "panel": False}


def of_truth(result: ds.Evaluation) -> dict[str, float]:
    rows = result.to_frame().filter(estimand="truth")
    assert set(rows["run"]) == {"truth"}
    assert ((rows["low"] < rows["mean"]) & (rows["mean"] < rows["high"])).all()
    return dict(rows.select("metric", "mean").iter_rows())


def test_values_against_the_truth_are_plain_values() -> None:
    metrics = ["top-k-accuracy:1", "auroc", "sensitivity", "brier-score"]
    result = ds.evaluate(SAID, {"A": SCORES}, truth=TRUTH, metrics=metrics, **ASKED)
    found = of_truth(result)
    called, shares = SCORES.argmax(axis=1), SCORES / SCORES.sum(axis=1, keepdims=True)
    gaps = SCORES[LABELS == 1, 1][:, None] - SCORES[LABELS == 0, 1]
    assert found["top-1 accuracy"] == pytest.approx((called == LABELS).mean())
    assert found["AUROC"] == pytest.approx((gaps > 0).mean() + (gaps == 0).mean() / 2)
    assert found["sensitivity at 0.5"] == pytest.approx((called == 1)[LABELS == 1].mean())
    assert found["Brier score"] == pytest.approx(((shares - np.eye(2)[LABELS]) ** 2).sum(axis=1).mean())
    plain = ds.evaluate(SAID, {"A": SCORES}, metrics=metrics, **ASKED).to_frame()
    assert result.to_frame().filter(run="dirichlet 1").equals(plain.filter(run="dirichlet 1"))
    assert [found.estimand for found in result.compare().differences] == []


def test_numbers_and_findings_have_a_truth_too() -> None:
    rated = ds.Study.from_scores(RNG.normal(3.0, 1.0, (N, 3)).tolist(), case_names=NAMES)
    values = RNG.normal(3.0, 1.0, N)
    known = dict(zip(NAMES, values.tolist(), strict=True))
    numbers = ds.evaluate(rated, {"A": np.full(N, 2.5)}, truth=known, metrics=["mean-absolute-error"], panel=False)
    assert of_truth(numbers)["mean absolute error"] == pytest.approx(np.abs(values - 2.5).mean())
    ticked = ds.Study.from_sets([[{"AF"}, set()] for _ in NAMES], ["AF", "ST"], case_names=NAMES)
    present = {name: {"AF"} if label else set() for name, label in zip(NAMES, LABELS, strict=True)}
    scores = ds.Predictions.from_scores(np.tile([0.9, 0.2], (N, 1)), ["AF", "ST"], case_names=NAMES)
    findings = ds.evaluate(ticked, {"A": scores}, truth=present, metrics=["top-k-accuracy:1"], **ASKED)
    assert of_truth(findings)["top-1 accuracy"] == pytest.approx((LABELS.mean() + 1) / 2)


def test_a_truth_that_is_no_condition_or_lacks_cases_is_refused() -> None:
    refused("no condition 'perhaps'", ds.evaluate, SAID, {"A": SCORES}, truth={**TRUTH, "case 3": "perhaps"}, **ASKED)
    refused("truth of some cases is not given", ds.evaluate, SAID, {"A": SCORES}, truth={"case 3": "yes"}, **ASKED)


SEEDS = range(6)


@pytest.mark.parametrize("seed", SEEDS)
def test_agreement_and_alpha_of_votes(seed: int) -> None:
    said = voted_study(seed)
    both: Any = (said, written_out(said))
    choices: Any = product(("ranking", "first-block"), ("shared", "each"))
    for within, ties in choices:
        found, expected = (annotator_agreement(one, ties=ties, within=within) for one in both)
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
        np.testing.assert_array_equal(found.n_annotators, expected.n_annotators)
        assert found.mean == pytest.approx(expected.mean, rel=1e-12)
    for distance in ("first-choice", "overlap", "set", "masi"):
        alpha, same = (krippendorff_alpha(one, distance=distance, draws=50) for one in both)
        for name in ("value", "low", "high", "observed", "expected"):
            assert getattr(alpha, name) == pytest.approx(getattr(same, name), rel=1e-10, nan_ok=True), name
        assert (alpha.n_cases, alpha.n_rankings) == (same.n_cases, same.n_rankings)


def test_pairs_and_figures_are_not_changed_by_votes() -> None:
    said = voted_study(3)
    assert pairwise_agreement(said).equals(pairwise_agreement(written_out(said)))
    assert repr(study_statistics(said)) == repr(study_statistics(written_out(said)))


def test_agreement_of_so_many_votes_that_pairs_cannot_be_listed() -> None:
    said = ds.Study.from_counts(np.array([[3, 1], [0, 4]]) * 10**12, ["a", "b"])
    assert annotator_agreement(said).values == pytest.approx([0.75, 1.0])
    assert krippendorff_alpha(said, draws=10).observed == pytest.approx(0.1875)
