"""Pairs of models: differences, ranks, flips, p-values and verdicts."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import dissensus as ds
from dissensus.aggregations import MajorityVote
from dissensus.core.arrays import FloatArray
from dissensus.evaluation.comparison import Comparison, Difference, holm, rank_probabilities
from dissensus.evaluation.intervals import LEAST_P, tail_probability
from dissensus.evaluation.sentences import decision
from dissensus.metrics import BrierScore, Overlap, TopKAccuracy
from refusals import refused

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
    assert replace(found, n_cases=30, n_groups=5).verdict == "A is better than B"
    assert replace(found, p_adjusted=0.1).verdict == "A and B are equivalent within 0.1"
    for low, high in ((0.0, 0.1), (-0.1, 0.0)):  # an interval that ends at zero tells nothing apart
        assert not replace(found, low=low, high=high, margin=None).is_distinguishable
    lower = replace(found, higher_is_better=False, probability_better=0.01)
    assert lower.verdict == "B is better than A"


def judged(n_cases: int, *, n_groups: int = 0, margin: float | None = None) -> Comparison:
    groups = [str(case % n_groups) for case in range(n_cases)] if n_groups else None
    said = ds.Study.from_rankings([[[["a"]]]] * n_cases, ["a", "b"], groups=groups)
    models = {"right": [[0.9, 0.1]] * n_cases, "wrong": [[0.2, 0.8]] * n_cases, "same": [[0.9, 0.1]] * n_cases}
    result = ds.evaluate(said, models, aggregations=["majority-vote"], metrics=METRICS, primary="top-k-accuracy")
    return result.compare(margin=margin)


def test_verdicts_of_an_evaluation_know_its_cases_and_groups() -> None:
    for n_cases, n_groups, verdict in (
        (29, 0, "too few cases for a verdict (29 of at least 30)"),
        (29, 4, "too few cases for a verdict (29 of at least 30)"),
        (30, 4, "too few groups for a verdict (4 of at least 5)"),
        (40, 10, "right is better than wrong"),
        (30, 0, "right is better than wrong"),
    ):
        found = judged(n_cases, n_groups=n_groups).differences
        own = [one for one in found if {one.first, one.second} == {"right", "wrong"}]
        assert {one.verdict for one in own if one.is_primary} == {verdict}
        secondary = verdict if "few" in verdict else f"{verdict} (secondary, not adjusted)"
        assert {one.verdict for one in own if not one.is_primary} == {secondary}


def test_holm_goes_over_the_pairs_of_the_primary_metric_but_the_same_predictions() -> None:
    comparison = judged(60, margin=0.2)
    same = [one for one in comparison.differences if {one.first, one.second} == {"right", "same"}]
    assert {one.verdict for one in same} == {"right and same are the same predictions"}
    assert all(np.isnan(one.p_value) and one.low == one.high == 0 for one in same)
    assert {one.margin for one in comparison.differences} == {0.2}
    assert {one.metric for one in comparison.differences if one.is_primary} == {"top-1 accuracy"}
    assert comparison.to_frame().filter(is_primary=False)["p_adjusted"].is_nan().all()
    for estimand in ("adjusted", "agreement"):
        own = [one for one in comparison.differences if one.estimand == estimand and one.is_primary]
        assert [one.p_adjusted for one in own] == pytest.approx(naive_holm([one.p_value for one in own]), nan_ok=True)
        assert [one.p_adjusted for one in own if one not in same] == [2 * LEAST_P] * 2
    assert {one.first for one in comparison.differences} == {"right", "same"}  # the better one is first
    for margin in (0.0, -0.1):
        refused("margin", comparison.evaluation.compare, margin=margin)


def test_any_metric_can_be_the_primary_one_and_stays_so() -> None:
    said = ds.Study.from_counts([[3, 1], [1, 3]] * 20, ["a", "b"])
    how = {"aggregations": ["majority-vote"], "metrics": ["top-k-accuracy:1", "brier-score"]}
    models = {"A": [[0.9, 0.1], [0.2, 0.8]] * 20, "B": [[0.3, 0.7], [0.4, 0.6]] * 20}
    for primary in ("Brier score", "brier-score", BrierScore()):
        result = ds.evaluate(said, models, primary=primary, **how)  # type: ignore[arg-type]
        assert result.primary == "Brier score"
        assert [one.name for one in result.metrics] == ["Brier score", "top-1 accuracy"]
        assert {one.metric for one in result.compare().differences if one.is_primary} == {"Brier score"}
    assert ds.evaluate(said, models, **how).primary == "top-1 accuracy"  # type: ignore[arg-type]
    refused("there is no metric 'Brierly'", ds.evaluate, said, models, primary="Brierly", **how)


# p-values -----------------------------------------------------------------------------------------------


def naive_tail(values: FloatArray, freedom: float, third: float, n_cases: int, level: float) -> float:
    """Hold mean over deviation against Student's t, by SciPy's distributions, with Hall's correction written out."""
    tail = (1 + level) / 2
    sd = float(np.std(values)) / (scipy.stats.t.ppf(tail, freedom) / scipy.stats.norm.ppf(tail))
    own = 1 / (1 / freedom + 1 / (n_cases - 1))
    t, g = float(np.mean(values)) / sd, third / sd**3
    both = [t, t + g / 3 * t**2 + g**2 / 27 * t**3 + g / 6]
    found = [2 * float(scipy.stats.t.sf(abs(one), own)) for one in both]
    return max(LEAST_P, *found) if both[0] * both[1] > 0 else 1.0


@pytest.mark.parametrize("shift", [-6.0, -3.0, -1.0, 0.02, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("third", [0.0, 0.2, -0.2])
def test_p_values_are_a_tail_of_student(shift: float, third: float) -> None:
    values = np.random.default_rng(3).normal(size=2000) + shift
    for freedom, n_cases, level in ((np.inf, 100, 0.95), (4.0, 40, 0.9), (12.0, 1000, 0.95)):
        how = {"n_cases": n_cases, "level": level}
        found = float(tail_probability(values, np.array(freedom), np.array(third), **how))  # type: ignore[arg-type]
        assert found == pytest.approx(naive_tail(values, freedom, third, n_cases, level))
        turned = tail_probability(-values, np.array(freedom), np.array(-third), **how)  # type: ignore[arg-type]
        assert turned == pytest.approx(found)


def test_what_resolution_does_not_reach_is_not_called_indistinguishable() -> None:
    clear = replace(WIDE, low=0.5, high=0.7, margin=None, probability_better=1.0, p_value=LEAST_P)
    assert replace(clear, p_adjusted=5001 * LEAST_P).verdict == "A and B cannot be decided at this resolution"
    assert replace(clear, p_adjusted=4999 * LEAST_P).verdict == "A is better than B"
    assert replace(clear, p_value=0.01, p_adjusted=0.2).verdict == "A and B are not distinguishable"


# From better to worse -----------------------------------------------------------------------------------


def told(models: dict[str, float], *, n_cases: int = 200, **fields: object) -> list[str]:
    """Say what is decided between models that are right in so many cases; two of three annotators say a."""
    said = ds.Study.from_counts([[2, 1]] * n_cases, ["a", "b"])
    scores = {
        name: [[0.9, 0.1] if case < share * n_cases else [0.1, 0.9] for case in range(n_cases)]
        for name, share in models.items()
    }
    result = ds.evaluate(said, scores, aggregations=["majority-vote"], metrics=["top-k-accuracy:1"], panel=False)
    for name, value in fields.items():
        object.__setattr__(result, name, value)  # as long as evaluations do not have these fields
    return list(decision(result))


def test_differences_are_told_from_better_to_worse() -> None:
    (sentence,) = told({"worse": 0.3, "better": 0.9})
    assert sentence.startswith("better outperforms worse by 0.200 (95 % 0.17")
    assert sentence.endswith("; p < 0.001).")


def test_a_dead_heat_is_said_as_one() -> None:
    assert told({"A": 0.50, "B": 0.51, "C": 0.49}) == ["No model is distinguishable from the leader, B (0.503)."]
    assert told({"A": 0.50, "B": 0.51, "C": 0.1}) == ["Not distinguishable from the leader, B (0.503): A."]
    (sentence,) = told({"A": 0.50, "B": 0.51})
    assert sentence.startswith("B and A are not distinguishable (0.003, 95 % ")
    assert told({"A": 0.9, "B": 0.2}, n_cases=20)[0].startswith(
        "Too few cases for a verdict (20 of at least 30) (0.233"
    )


def test_models_that_saw_the_annotations_have_no_verdict() -> None:
    models = {"A": 0.2, "B": 0.9, "seen": 1.0}
    first, second = told(models, trained_on=("seen",))
    assert first.startswith("B outperforms A by 0.233")
    assert second == "seen trained on these annotations: no verdict."
    one = replace(WIDE, low=0.1, high=0.2, p_value=0.001, p_adjusted=0.001, trained=("A",))
    assert one.verdict == "A trained on these annotations: no verdict"
    assert not one.is_distinguishable


def test_verdicts_are_about_agreement_and_say_what_reverses_them() -> None:
    """Most annotators of most cases say a; a clear minority of cases counts more often by annotator than by case."""
    said = ds.Study.from_counts([[3, 2]] * 120 + [[0, 5]] * 60, ["a", "b"])
    models = {"all a": [[0.9, 0.1]] * 180, "all b": [[0.1, 0.9]] * 180}
    how = {"aggregations": ["majority-vote"], "metrics": ["top-k-accuracy:1"], "panel": False}
    result = ds.evaluate(said, models, **how)  # type: ignore[arg-type]
    first, second, third = decision(result)
    assert first.startswith("all b outperforms all a by 0.200")
    assert second.startswith("The uncertainty-adjusted value reverses the order: all a outperforms all b by 0.333")
    assert third == "Against the majority vote, without an interval, the order is reversed: all a above all b."
    object.__setattr__(result, "leads", "adjusted")
    assert decision(result)[0].startswith("all a outperforms all b")


# Flips --------------------------------------------------------------------------------------------------


def test_flips_are_between_orders_that_can_be_told_apart() -> None:
    clear = replace(WIDE, first="right", second="wrong", low=0.1, high=0.2, p_adjusted=0.01, probability_better=0.99)
    other = replace(clear, low=-0.2, high=-0.1, probability_better=0.01, metric="n", is_primary=False, p_value=0.01)
    comparison = judged(30)
    for second, expected in (
        (other, 1),
        (replace(other, high=0.1), 0),
        (replace(other, p_value=0.2), 0),
        (replace(other, is_primary=True, p_adjusted=0.2), 0),
        (replace(other, first="wrong", second="right", low=0.1, high=0.2, probability_better=0.99), 1),
        (replace(other, first="wrong", second="right"), 0),
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
    assert found.verdict == "the difference of A and B is undefined"
