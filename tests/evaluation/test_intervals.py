"""Intervals: Jeffreys' for right and wrong answers, and plain twins of every step that widens them."""

import numpy as np
import pytest
from scipy import stats

from dissensus import Evaluation, Study, evaluate
from dissensus.aggregations import Dirichlet
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.evaluation.intervals import Part, Resampled, end_weights, few_groups, spread, widened
from dissensus.evaluation.sums import CaseWeights, Sums, place_sums
from dissensus.evaluation.sums import design_effects as effects_of
from dissensus.metrics import AverageOverlap, BrierScore, LogScore, TopKAccuracy


def answered(n_cases: int, *right: int, seed: int = 0, groups: list[str] | None = None) -> Evaluation:
    """Evaluate models that are right on the first cases, so many each, against one annotator."""
    said = Study.from_rankings([[[["a"]]]] * n_cases, ["a", "b"], groups=groups)
    scores = [[[1.0, 0.0]] * k + [[0.0, 1.0]] * (n_cases - k) for k in right]
    models = {f"right on {k}": one for k, one in zip(right, scores, strict=True)}
    return evaluate(said, models, aggregations=["majority-vote"], metrics=[TopKAccuracy(1)], seed=seed, level=0.9)


@pytest.mark.parametrize(("k", "n"), [(20, 20), (0, 20), (19, 20), (10, 20), (1, 3), (3, 3), (1, 1), (140, 150)])
def test_shares_of_right_answers_have_the_interval_of_jeffreys(k: int, n: int) -> None:
    """Quantiles of 2000 resamples, within four of their standard errors: one of 16 000 other seeds would fail."""
    posterior = stats.beta(k + 0.5, n - k + 0.5)
    result = answered(n, k)
    row = result.to_frame().row(0, named=True)
    values = result.per_resample()["mean"].to_numpy()
    assert len(values) == 2000
    for level in (0.05, 0.5, 0.95):
        expected = posterior.ppf(level)
        error = np.sqrt(level * (1 - level) / 2000) / posterior.pdf(expected)
        assert abs(np.quantile(values, level) - expected) < 4 * error
    assert row["mean"] == pytest.approx(k / n)
    assert row["low"] <= row["mean"] <= row["high"]
    assert row["low"] == pytest.approx(min(np.quantile(values, 0.05), k / n))
    assert row["high"] == pytest.approx(max(np.quantile(values, 0.95), k / n))


def test_one_differing_case_of_a_thousand_is_not_better() -> None:
    for found in answered(1000, 900, 901).compare().differences:
        assert found.difference == pytest.approx(0.001)
        assert found.low < 0 < found.high
        assert found.p_value > 0.1
        assert found.verdict == "right on 901 and right on 900 are not distinguishable"


def drawn(draws: int, *, disputed: bool) -> Evaluation:
    rng = np.random.default_rng(1)
    counts = [[4, 3, 3] if disputed else [12, 0, 0]] * 60
    said = Study.from_counts(counts, ["a", "b", "c"])
    models = {"A": rng.random((60, 3)), "B": rng.random((60, 3))}
    return evaluate(said, models, aggregations=[Dirichlet(1)], metrics=[TopKAccuracy(1)], draws=draws)


def widths(result: Evaluation, estimand: str) -> FloatArray:
    rows = result.to_frame().filter(estimand=estimand)
    gaps = [one.high - one.low for one in result.compare().differences if one.estimand == estimand]
    return np.array([*(rows["high"] - rows["low"]), *gaps])


def test_one_draw_gives_no_narrower_interval_than_a_thousand() -> None:
    """A single draw adds its own noise to the cases, so that the interval may be wider; 10 % are for resampling."""
    one, many = drawn(1, disputed=False), drawn(1000, disputed=False)
    np.testing.assert_allclose(widths(one, "adjusted"), widths(many, "adjusted"), rtol=0.1)
    np.testing.assert_array_equal(widths(one, "agreement"), widths(many, "agreement"))
    one, many = drawn(1, disputed=True), drawn(1000, disputed=True)
    assert (widths(one, "adjusted") > 0.9 * widths(many, "adjusted")).all()
    assert one.per_resample().shape == many.per_resample().shape


def test_intervals_stay_inside_the_range_of_their_metric() -> None:
    said = Study.from_rankings(
        [[[["a"], ["b"]]], [[["b"], ["a"]]], [[["c"]]]], ["a", "b", "c", "d"], groups=["x", "x", "y"]
    )
    models = {"good": np.eye(4)[:3], "bad": np.eye(4)[[3, 3, 3]], "even": np.full((3, 4), 0.25)}
    metrics = [TopKAccuracy(1), AverageOverlap(2), BrierScore(), LogScore(0.001)]
    result = evaluate(said, models, aggregations=["dirichlet:1"], metrics=metrics, draws=50)
    table = {metric.name: metric.range for metric in metrics}
    for row in result.to_frame().filter(estimand="adjusted").to_dicts():
        least, greatest = table[row["metric"]]
        assert least <= row["low"] <= row["mean"] <= row["high"] <= greatest
    for one in result.compare().differences:
        width = table[one.metric][1] - table[one.metric][0]
        assert -width <= one.low <= one.difference <= one.high <= width


# Step by step --------------------------------------------------------------------------------------------


def test_the_two_added_cases_weigh_gamma_of_one_half() -> None:
    """Kolmogorov-Smirnov at 1 of 10 000."""
    ends = end_weights(3, 20_000)
    assert ends.shape == (2, 20_000)
    for row in ends:
        assert stats.kstest(row, stats.gamma(0.5).cdf).pvalue > 1e-4
    assert abs(float(np.mean((ends[0] - 0.5) * (ends[1] - 0.5)))) < 0.02
    np.testing.assert_array_equal(end_weights(3, 50), ends[:, :50])
    assert not np.array_equal(end_weights(4, 50), ends[:, :50])


def naive_design(values: FloatArray, masses: FloatArray, groups: IntArray) -> float:
    """Return the design effect of one quantity by a plain loop over groups."""
    gaps, own = masses * (values - np.average(values, weights=masses)), [groups == one for one in np.unique(groups)]
    apart, n = float(np.square(gaps).sum()), len(own)
    most = max(1.0, sum(masses[some].sum() ** 2 for some in own) / np.square(masses).sum())
    together = sum(float(gaps[some].sum()) ** 2 for some in own)
    return float(most if apart == 0 else min(max(together * n / (n - 1) / apart, 1.0), most))


def design_effects(values: FloatArray, masses: FloatArray, groups: IntArray) -> FloatArray:
    weights = CaseWeights.named(0, np.ones(len(groups)), (), tuple(map(str, groups)))
    bootstrap = weights.bootstrap(np.arange(len(groups)), 1)
    sums = Sums(place_sums(values, masses, weights, bootstrap, ("run 0", "all", "each case")))
    return effects_of(sums, ("run 0", "all", "each case"), len(groups))[0]


@pytest.mark.parametrize("seed", range(6))
def test_design_effects_are_those_of_a_plain_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(4), rng.integers(4, size=11)])
    shift = rng.normal(size=4)[groups] * (seed % 3)
    values, masses = shift + rng.normal(size=(2, 3, 15)), rng.random((2, 3, 15))
    values[0, 0] = 1.0
    found = design_effects(values, masses, groups)
    expected = [[naive_design(values[a, k], masses[a, k], groups) for k in range(3)] for a in range(2)]
    np.testing.assert_allclose(found, expected)


def test_cases_that_count_for_nothing_stand_alone_or_are_one_group_have_no_design() -> None:
    values = np.array([[[1.0, 1.0, 0.0, 0.0, np.nan]]])
    masses, groups = np.array([1.0, 1.0, 1.0, 1.0, 0.0]).reshape(1, 1, 5), np.array([0, 0, 1, 1, 1])
    np.testing.assert_allclose(design_effects(values, masses, groups), 2.0)
    values = np.random.default_rng(0).random((1, 1, 6))
    for groups in (np.arange(6), np.zeros(6, dtype=np.int64)):
        np.testing.assert_array_equal(design_effects(values, np.ones((1, 1, 6)), groups), 1.0)


def test_added_cases_are_averaged_in_by_their_weight() -> None:
    rng = np.random.default_rng(1)
    cases = Resampled(rng.random((2, 5)), rng.random((2, 5)) + 3, np.array([1.0, 2.5]), rng.normal(size=(2, 5)))
    low, high, ends = np.array([0.0, -1.0]), np.array([1.0, 1.0]), rng.random((2, 5))
    parts = np.broadcast_arrays(cases.means, low[:, None], high[:, None])
    weights = np.stack([cases.masses, *(cases.units[:, None] * end for end in ends)])
    expected = np.average(np.stack(parts), axis=0, weights=weights) + cases.gaps
    np.testing.assert_allclose(cases.between(low, high, ends), expected)


@pytest.mark.parametrize("n_groups", [1, 2, 4, 10, 50])
def test_few_groups_have_a_larger_variance_and_few_degrees_of_freedom(n_groups: int) -> None:
    values = np.random.default_rng(2).random((2, 30))
    part, n = few_groups(values, n_groups), max(n_groups, 2)
    np.testing.assert_allclose(part.variance, values.var(axis=-1) * (n + 1) / (n - 1))
    np.testing.assert_array_equal(part.before, part.variance)
    assert part.freedom == n - 1
    assert few_groups(values, None).freedom == np.inf


def test_widened_values_have_the_width_of_student_at_the_freedom_of_satterthwaite() -> None:
    values = 0.5 + 0.001 * np.random.default_rng(3).normal(size=(1, 400))
    own, other = few_groups(values, 5), Part(np.array([3e-6]), np.array([4e-6]), 2)
    total = own.variance[0] + 3e-6
    freedom = total**2 / (own.variance[0] ** 2 / 4 + 4e-6**2 / 2)
    found = widened(values, (own, other), np.array([0.0]), np.array([1.0]), level=0.9)
    expected = np.sqrt(total) * stats.t.ppf(0.95, freedom) / stats.norm.ppf(0.95)
    assert found.std() == pytest.approx(expected)
    assert found.mean() == pytest.approx(values.mean())
    values = np.array([[0.49, 0.51]])  # freedom is never below one
    vague = Part(np.array([1e-9]), np.array([1.0]), 2)
    found = widened(values, (few_groups(values, None), vague), np.array([-9.0]), np.array([9.0]), level=0.9)
    factor = stats.t.ppf(0.95, 1) / stats.norm.ppf(0.95)
    assert found.std() == pytest.approx(np.sqrt(1e-4 + 1e-9) * factor)
    values = np.array([[0.0, 0.5, 1.0]])  # values are cut at the ends of the range
    found = widened(values, (Part(np.array([4.0]), np.array([4.0]), np.inf),), np.zeros(1), np.ones(1), level=0.9)
    assert found.tolist() == [[0.0, 0.5, 1.0]]


def test_the_parts_of_a_spread_are_kept_apart() -> None:
    rng = np.random.default_rng(5)
    gaps = 0.01 * rng.normal(size=(1, 1000))
    cases = Resampled(0.5 + 0.02 * rng.normal(size=(1, 1000)), np.full((1, 1000), 1e9), np.ones(1), gaps)
    limits, ends = (np.zeros(1), np.ones(1)), end_weights(0, 1000)
    alone = spread(cases, *limits, ends=ends, level=0.9)
    both = spread(cases, *limits, ends=ends, annotators=Part(np.array([9e-4]), np.array([9e-4]), np.inf), level=0.9)
    assert alone.draw_sd[0] == both.draw_sd[0] == pytest.approx(gaps.std())
    assert alone.case_sd[0] == both.case_sd[0] == pytest.approx(0.02, rel=0.05)
    assert np.isnan(alone.annotator_sd[0])
    assert both.annotator_sd[0] == pytest.approx(0.03)
    assert alone.values.var() == pytest.approx(alone.case_sd[0] ** 2 + alone.draw_sd[0] ** 2)
    assert both.values.var() == pytest.approx(alone.values.var() + 9e-4)


def test_groups_widen_intervals_and_a_group_of_equal_cases_is_one_case() -> None:
    groups = [str(number // 10) for number in range(100)]
    said = {"alone": answered(100, 50), "grouped": answered(100, 50, groups=groups)}
    sds = {name: result.to_frame()["case_sd"][0] for name, result in said.items()}
    ten = stats.beta(5.5, 5.5).std() * np.sqrt(11 / 9)
    assert sds["grouped"] == pytest.approx(ten, rel=0.1)
    assert sds["alone"] == pytest.approx(stats.beta(50.5, 50.5).std(), rel=0.1)
