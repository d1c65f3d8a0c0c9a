"""Comparing models: orientation, signs, ranks, ties and flips, each on a study whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import MajorityVote
from dissensus.evaluation.comparison import Comparison, Difference, rank_probabilities
from dissensus.metrics import BrierScore, Overlap, TopKAccuracy

N_CASES = 40
SAID = ds.Study.from_rankings([[[["a"], ["b"]]] for _ in range(N_CASES)], ["a", "b", "c"])
RIGHT, WRONG = [[0.8, 0.1, 0.1]] * N_CASES, [[0.1, 0.2, 0.7]] * N_CASES
HALF = [RIGHT[0] if case % 2 else WRONG[0] for case in range(N_CASES)]
METRICS = [TopKAccuracy(1), BrierScore()]


def compared(models: dict[str, list[list[float]]]) -> tuple[ds.Evaluation, Comparison]:
    result = ds.evaluate(SAID, models, aggregations=[MajorityVote()], metrics=METRICS, draws=200, seed=2)
    return result, result.compare()


@pytest.fixture(scope="module")
def contest() -> Comparison:
    return compared({"half": HALF, "right": RIGHT, "wrong": WRONG})[1]


def found(comparison: Comparison, metric: str, first: str, second: str) -> Difference:
    return next(d for d in comparison.differences if (d.metric, d.first, d.second) == (metric, first, second))


def test_the_better_model_is_better_whichever_way_the_metric_points(contest: Comparison) -> None:
    by_accuracy = found(contest, "top-1 accuracy", "right", "half")
    by_distance = found(contest, "Brier score", "right", "half")
    assert by_accuracy.difference == pytest.approx(0.5)
    assert by_distance.difference < 0
    assert by_accuracy.verdict == "right is better than half"
    assert by_distance.verdict == "right is better than half (secondary, not adjusted)"
    for one in (by_accuracy, by_distance):
        assert one.probability_better > 0.99
        assert (one.mirrored().first, one.mirrored().difference) == ("half", -one.difference)


def test_intervals_ranks_and_flips_follow_the_orientation_of_the_metric(contest: Comparison) -> None:
    for one in contest.differences:
        assert one.low - 1e-12 <= one.difference <= one.high + 1e-12
        assert (one.low > 0 or one.high < 0) == one.is_distinguishable
        assert (one.difference > 0) == (one.metric == "top-1 accuracy")  # from better to worse
    table = contest.rank_frame()
    first = table.filter((table["rank"] == 1) & (table["probability"] > 0.99))
    known = set(zip(first["metric"], first["model"], strict=True))
    assert known == {("top-1 accuracy", "right"), ("Brier score", "right")}
    assert not len(contest.flips())  # models are in the same order everywhere


def test_equal_models_are_better_half_of_the_time_and_share_their_ranks() -> None:
    _, comparison = compared({"one": RIGHT, "other": RIGHT})
    for one in comparison.differences:
        assert one.difference == 0
        assert one.probability_better == 0.5
        assert not one.is_distinguishable
        assert one.verdict == "one and other are the same predictions"
    np.testing.assert_array_equal(comparison.rank_frame()["probability"], 0.5)


def test_ties_share_the_ranks_they_take_up() -> None:
    goodness = np.array([[3.0, 1.0], [2.0, 1.0], [2.0, 1.0]])
    expected = [[(1 + 1 / 3) / 2, (0 + 1 / 3) / 2, (0 + 1 / 3) / 2]]
    expected += [[(0 + 1 / 3) / 2, (0.5 + 1 / 3) / 2, (0.5 + 1 / 3) / 2]] * 2
    np.testing.assert_allclose(rank_probabilities(goodness), expected)


def test_an_order_that_changes_with_the_metric_is_a_flip_and_both_sides_are_named() -> None:
    first_right, sets_right = [[0.6, 0.1, 0.3]] * N_CASES, [[0.3, 0.6, 0.1]] * N_CASES
    models = {"first": first_right, "sets": sets_right}
    result = ds.evaluate(SAID, models, aggregations=["inverse-rank"], metrics=[TopKAccuracy(1), Overlap(2)], draws=50)
    (row,) = result.compare().flips().to_dicts()
    assert (row["first"], row["second"]) == ("first", "sets")
    assert row["first_better"] == "top-1 accuracy (annotators); top-1 accuracy (inverse-rank)"
    assert row["second_better"] == "top-2 overlap (annotators); top-2 overlap (inverse-rank)"


def test_swapping_models_does_not_swap_the_comparison() -> None:
    _, one = compared({"half": HALF, "right": RIGHT})
    _, other = compared({"right": RIGHT, "half": HALF})
    for a, b in zip(one.differences, other.differences, strict=True):
        assert (a.first, a.second, a.verdict) == (b.first, b.second, b.verdict)
        numbers = [(d.difference, d.low, d.high, d.probability_better, d.p_value) for d in (a, b)]
        assert numbers[0] == pytest.approx(numbers[1])


def test_the_interval_of_a_difference_is_that_of_the_level() -> None:
    models = {"half": HALF, "wrong": WRONG}
    result = ds.evaluate(SAID, models, aggregations=[MajorityVote()], metrics=METRICS, draws=200, level=0.5)
    one = found(result.compare(), "top-1 accuracy", "half", "wrong")
    gaps = result.estimates[0].spread_of_difference(np.array([0]), np.array([1])).values[0, 0]
    np.testing.assert_allclose((one.low, one.high), np.quantile(gaps, [0.25, 0.75]))


def test_a_flip_names_four_places_and_counts_the_others(contest: Comparison) -> None:
    one = found(contest, "top-1 accuracy", "right", "half")
    many = [replace(one, metric=f"metric {number}", probability_better=0.1) for number in range(6)]
    (row,) = Comparison((one, *many), contest.ranks, contest.evaluation).flips().to_dicts()
    assert (row["first"], row["second"]) == ("half", "right")
    assert row["first_better"].endswith("metric 3 (majority-vote) and 2 more")
    assert row["second_better"] == "top-1 accuracy (majority-vote)"
