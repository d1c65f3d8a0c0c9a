"""Verdicts: Holm's adjustment, margins, too few cases, the same predictions, flips."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dissensus as ds
from dissensus.evaluation.comparison import Comparison, Difference, difference, holm
from dissensus.metrics import BrierScore, TopKAccuracy

WIDE = Difference("r", "a", 1.0, "adjusted", "m", "A", "B", 0.0, -0.3, 0.3, 0.5, 1.0, 1.0, margin=0.1, n_cases=100)
P_VALUES = st.lists(st.one_of(st.just(float("nan")), st.floats(0, 1)), max_size=8)


def naive_holm(p_values: list[float]) -> list[float]:
    """Adjust one by one: the largest of what every smaller p-value, ties by place, times its number would be."""
    known = [(p, place) for place, p in enumerate(p_values) if p == p]
    found = []
    for place, p in enumerate(p_values):
        before = [(q, i) for q, i in known if (q, i) <= (p, place)]
        steps = [q * sum((q, i) <= other for other in known) for q, i in before]
        found.append(min(max(steps), 1.0) if p == p else p)
    return found


@given(P_VALUES)
def test_holm_is_what_one_by_one_gives(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(naive_holm(p_values), nan_ok=True)
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.05, 0.08, "A and B are equivalent within 0.1"),
        (-0.05, 0.2, "A is not worse than B by more than 0.1"),
        (-0.2, 0.05, "B is not worse than A by more than 0.1"),
        (-0.2, 0.2, "A and B are not distinguishable"),
        (-0.1, 0.1, "A and B are not distinguishable"),
    ],
)
def test_margins_make_verdicts_of_intervals(low: float, high: float, verdict: str) -> None:
    found = replace(WIDE, low=low, high=high)
    assert found.verdict == verdict
    assert found.mirrored().verdict.replace("B and A", "A and B") == verdict
    lower = replace(WIDE, low=-high, high=-low, higher_is_better=False)
    assert lower.verdict == verdict
    assert replace(found, margin=None).verdict == "A and B are not distinguishable"


def test_superiority_comes_before_margins() -> None:
    found = replace(WIDE, low=0.01, high=0.05, p_adjusted=0.01, probability_better=0.99)
    assert found.verdict == "A is better than B"
    assert replace(found, p_adjusted=0.1).verdict == "A and B are equivalent within 0.1"
    for low, high in ((0.0, 0.1), (-0.1, 0.0)):  # an interval that ends at zero tells nothing apart
        assert not replace(found, low=low, high=high, margin=None).is_distinguishable
    lower = replace(found, higher_is_better=False, probability_better=0.01)
    assert lower.verdict == "B is better than A"


def test_few_cases_or_groups_have_no_verdict() -> None:
    clear = replace(WIDE, low=0.5, high=0.7, p_adjusted=0.001, probability_better=1.0)
    for n_cases, n_groups, verdict in (
        (29, 0, "too few cases for a verdict (29 of at least 30)"),
        (30, 4, "too few groups for a verdict (4 of at least 5)"),
        (29, 4, "too few cases for a verdict (29 of at least 30)"),
        (30, 5, "A is better than B"),
        (30, 0, "A is better than B"),
    ):
        found = replace(clear, n_cases=n_cases, n_groups=n_groups)
        assert found.verdict == verdict
        assert found.is_distinguishable is verdict.startswith("A")


def judged(n_cases: int, *, n_groups: int = 0, margin: float | None = None) -> Comparison:
    said = ds.Study.from_rankings(
        [[[["a"]]]] * n_cases,
        ["a", "b"],
        groups=[str(case % n_groups) for case in range(n_cases)] if n_groups else None,
    )
    models = {"right": [[0.9, 0.1]] * n_cases, "wrong": [[0.2, 0.8]] * n_cases, "same": [[0.9, 0.1]] * n_cases}
    result = ds.evaluate(said, models, aggregations=["majority-vote"], metrics=[TopKAccuracy(1), BrierScore()])
    return result.compare(margin=margin)


def test_verdicts_of_an_evaluation_know_its_cases_and_groups() -> None:
    for n_cases, n_groups, verdict in (
        (29, 0, "too few cases for a verdict (29 of at least 30)"),
        (40, 4, "too few groups for a verdict (4 of at least 5)"),
        (40, 10, "right is better than wrong"),
    ):
        found = judged(n_cases, n_groups=n_groups).differences
        assert {one.verdict for one in found if {one.first, one.second} == {"right", "wrong"}} == {verdict}


def test_holm_goes_over_all_pairs_and_metrics_of_a_run_but_the_same_predictions() -> None:
    comparison = judged(60, margin=0.2)
    same = [one for one in comparison.differences if {one.first, one.second} == {"right", "same"}]
    assert {one.verdict for one in same} == {"right and same are the same predictions"}
    assert all(np.isnan(one.p_value) and one.low == one.high == 0 for one in same)
    assert {one.margin for one in comparison.differences} == {0.2}
    for estimand in ("adjusted", "agreement"):
        own = [one for one in comparison.differences if one.estimand == estimand]
        assert [one.p_adjusted for one in own] == pytest.approx(naive_holm([one.p_value for one in own]), nan_ok=True)
    adjusted = [one for one in comparison.differences if one.estimand == "adjusted" and one not in same]
    assert [one.p_value for one in adjusted] == [1 / 2000] * 4
    assert [one.p_adjusted for one in adjusted] == pytest.approx([4 / 2000] * 4)
    one = difference(comparison.evaluation.estimates[0], 0, 1, 0)
    assert (one.first, one.second, one.verdict) == ("wrong", "right", "right is better than wrong")
    for margin in (0.0, -0.1):
        with pytest.raises(ds.DissensusError, match="margin"):
            comparison.evaluation.compare(margin=margin)


def test_flips_are_between_orders_that_can_be_told_apart() -> None:
    clear = replace(WIDE, first="right", second="wrong", low=0.1, high=0.2, p_adjusted=0.01, probability_better=0.99)
    other = replace(clear, low=-0.2, high=-0.1, probability_better=0.01, metric="n")
    comparison = judged(30)
    for second, expected in (
        (other, 1),
        (replace(other, high=0.1), 0),
        (replace(other, p_adjusted=0.2), 0),
        (replace(other, n_cases=20), 0),
    ):
        assert len(replace(comparison, differences=(clear, second)).flips()) == expected


def test_infinite_values_are_shown_and_decide_nothing() -> None:
    """A log score without a floor, of models that call the truth impossible."""
    said = ds.Study.from_counts([[3, 1], [1, 3]] * 20, ["a", "b"])
    models = {"A": [[1.0, 0.0]] * 40, "B": [[0.0, 1.0]] * 40}
    result = ds.evaluate(said, models, aggregations=["dirichlet:1"], metrics=["log-score"], draws=20)
    assert result.to_frame()["mean"].to_list() == [-np.inf, -np.inf]
    (found,) = result.compare().differences
    assert np.isnan(found.difference)
    assert not found.is_distinguishable
