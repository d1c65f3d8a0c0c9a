"""Tallies and resamples are monoids: they add up in any grouping, and nothing is their identity."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from dissensus.core.aliases import FloatArray
from dissensus.evaluation.tally import CASES_AT_ONCE, CaseWeights, ExactTally

NUMBERS = st.floats(0, 1)
CASES, DRAWS = 12, 5


def study(seed: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    values = rng.random((CASES, DRAWS))
    values[rng.random((CASES, DRAWS)) < 0.1] = np.nan
    return values, rng.random((CASES, DRAWS))


def weights_of(n_cases: int, weights: FloatArray | None = None) -> CaseWeights:
    return CaseWeights(7, np.ones(n_cases) if weights is None else weights, tuple(f"c{i}" for i in range(n_cases)))


@given(st.integers(0, 100), st.lists(st.integers(0, CASES), max_size=4))
def test_splitting_into_any_batches_gives_the_same_sums(seed: int, cuts: list[int]) -> None:
    whole = ExactTally.of(*study(seed))
    bounds = [0, *sorted(cuts), CASES]
    parts = [ExactTally.of(*(array[a:b] for array in study(seed))) for a, b in pairwise(bounds)]
    merged = sum(parts, ExactTally.zeros(DRAWS))
    assert merged == whole


@given(*(st.integers(0, 100) for _ in range(3)))
def test_merging_is_associative_and_commutative_and_zero_is_its_identity(a: int, b: int, c: int) -> None:
    one, two, three = (ExactTally.of(*study(seed)) for seed in (a, b, c))
    assert (one + two) + three == one + (two + three)
    assert one + two == two + one
    assert one + ExactTally.zeros(DRAWS) == one


@given(arrays(np.float64, (CASES, DRAWS), elements=NUMBERS))
def test_means_are_weighted_means(values: FloatArray) -> None:
    weights = np.arange(1.0, CASES + 1)
    tally = ExactTally.of(values, weights[:, None] * np.ones(DRAWS)).rounded()
    np.testing.assert_allclose(tally.means, np.average(values, axis=0, weights=weights), atol=1e-12)


@given(arrays(np.float64, (2, 3, CASES), elements=NUMBERS), st.integers(0, 9))
def test_resamples_are_weighted_means_with_bootstrap_weights(means: FloatArray, seed: int) -> None:
    weights = np.random.default_rng(seed).random(CASES) + 0.1
    known = weights_of(CASES, weights)
    (exact,) = known.resamples(means, np.ones((1, 1, CASES)), n_resamples=DRAWS)
    found = exact.rounded()
    bootstrap = known.bootstrap(np.arange(CASES), DRAWS) * weights[:, None]
    np.testing.assert_allclose(found.sums, means @ bootstrap, atol=CASES * 2**-35)
    np.testing.assert_allclose(found.weights[0, 0], bootstrap.sum(axis=0), atol=CASES * 2**-35)
    np.testing.assert_allclose(found.squares[0, 0, 0], (weights**2).sum(), rtol=1e-12)


def test_resamples_of_groups_are_those_of_their_cases_and_add_up() -> None:
    means = np.random.default_rng(1).random((1, 2, CASES))
    ones, known = np.ones((1, 1, CASES)), weights_of(CASES)
    groups = np.arange(CASES) % 3
    parts = known.resamples(means, ones, n_resamples=DRAWS, groups=groups, n_groups=3)
    (whole,) = known.resamples(means, ones, n_resamples=DRAWS)
    chosen = np.flatnonzero(groups == 1)
    (alone,) = known.resamples(means[..., chosen], ones[..., chosen], n_resamples=DRAWS, cases=chosen)
    assert parts[1] == alone
    assert parts[0] + parts[1] + parts[2] == parts[2] + (parts[1] + parts[0]) == whole


def test_many_cases_are_resampled_a_few_at_a_time_with_the_same_result() -> None:
    n_cases = 2 * CASES_AT_ONCE + 3
    means, known = np.random.default_rng(2).random((1, 1, n_cases)), weights_of(n_cases)
    (whole,) = known.resamples(means, np.ones((1, 1, n_cases)), n_resamples=2)
    expected = means[0, 0] @ known.bootstrap(np.arange(n_cases), 2)
    np.testing.assert_allclose(whole.rounded().sums[0, 0], expected, rtol=1e-10)


def test_fewer_resamples_are_the_first_of_more() -> None:
    means, ones, known = np.ones((1, 1, CASES)), np.ones((1, 1, CASES)), weights_of(CASES)
    (whole,) = known.resamples(means, ones, n_resamples=9)
    (fewer,) = known.resamples(means, ones, n_resamples=4)
    assert fewer.sums == whole.sums[..., :4]


def test_bootstrap_weights_are_exponential() -> None:
    weights = weights_of(3).bootstrap(np.arange(3), 2000)
    assert stats.kstest(weights.ravel(), stats.expon.cdf).pvalue > 1e-4


def test_cases_of_one_group_share_their_weights() -> None:
    known = CaseWeights(3, np.ones(3), ("group a", "group a", "group b"))
    bootstrap = known.bootstrap(np.arange(3), 50)
    np.testing.assert_array_equal(bootstrap[0], bootstrap[1])
    assert (bootstrap[0] != bootstrap[2]).any()


def test_many_cases_without_spread_leave_the_draws_by_the_root_of_their_effective_number() -> None:
    values = np.random.default_rng(0).random((CASES, DRAWS))
    weights = np.arange(1.0, CASES + 1)
    tally = ExactTally.of(values[None, None], weights[:, None] * np.ones(DRAWS)).rounded()
    constant = np.full((1, 1, CASES), tally.means.mean())  # resampling cases that are all alike changes nothing
    (resamples,) = weights_of(CASES, weights).resamples(constant, np.ones((1, 1, CASES)), n_resamples=DRAWS)
    mean, n_cases = tally.means.mean(), weights.sum() ** 2 / (weights**2).sum()
    found = resamples.rounded().resampled(tally, np.ones((1, 1)))
    np.testing.assert_allclose(found.means, mean, atol=1e-10)
    np.testing.assert_allclose(found.gaps, (tally.means - mean) / n_cases**0.5, atol=1e-12)


def test_one_case_varies_as_its_draws_do() -> None:
    values = np.array([[0.0, 1.0, 1.0, 0.25]])
    tally = ExactTally.of(values[None, None], np.full((1, 4), 2.0)).rounded()
    known = weights_of(1, np.array([2.0]))
    (resamples,) = known.resamples(values.mean(axis=1)[None, None], np.ones((1, 1, 1)), n_resamples=4)
    found = resamples.rounded().resampled(tally, np.ones((1, 1)))
    np.testing.assert_allclose((found.means + found.gaps)[0, 0], values[0], atol=1e-9)


def test_a_case_without_weight_counts_for_nothing_even_if_its_mean_is_infinite() -> None:
    means = np.array([[[-np.inf, 0.5]]])
    (found,) = weights_of(2, np.array([0.0, 1.0])).resamples(means, np.ones((1, 1, 2)), n_resamples=3)
    np.testing.assert_allclose(found.rounded().sums / found.rounded().weights, 0.5)


def test_undefined_values_do_not_count_and_a_mean_of_nothing_is_undefined() -> None:
    values = np.array([[1.0, np.nan], [0.0, np.nan]])
    np.testing.assert_array_equal(ExactTally.of(values, np.ones((2, 2))).rounded().means, [0.5, np.nan])


def test_infinite_values_are_not_hidden() -> None:
    values = np.array([[-np.inf], [0.0]])
    assert ExactTally.of(values, np.ones((2, 1))).rounded().means[0] == -np.inf


def test_many_quantities_are_tallied_at_once() -> None:
    _, weights = study(0)
    several = np.stack([study(seed)[0] for seed in range(3)])
    together = ExactTally.of(several, weights).rounded()
    for number, values in enumerate(several):
        np.testing.assert_allclose(together.means[number], ExactTally.of(values, weights).rounded().means, rtol=1e-14)


def test_rounding_keeps_single_precision_and_is_done_once() -> None:
    means = np.random.default_rng(3).random((1, 1, CASES))
    (found,) = weights_of(CASES).resamples(means, np.ones((1, 1, CASES)), n_resamples=4)
    single = found.rounded().in_single_precision()
    assert single != found.rounded()
    assert single.in_single_precision() == single
    np.testing.assert_allclose(single.sums, found.rounded().sums, rtol=1e-6)


@given(st.integers(0, 20), st.permutations(range(CASES)), st.integers(1, CASES - 1))
def test_resamples_do_not_depend_on_the_order_of_cases_or_their_parts(seed: int, order: list[int], cut: int) -> None:
    rng = np.random.default_rng(seed)
    means, weights = rng.random((2, 1, CASES)), rng.random(CASES)
    means[0, 0, 3] = 1e6
    known, shares = weights_of(CASES, weights), np.ones((1, 1, CASES))
    (whole,) = known.resamples(means, shares, n_resamples=3)
    parts = [
        known.resamples(means[..., some], shares[..., some], n_resamples=3, cases=some)[0]
        for some in (np.array(order[:cut]), np.array(order[cut:]))
    ]
    assert parts[0] + parts[1] == whole


def test_values_too_large_for_whole_units_are_added_as_they_are() -> None:
    means = np.array([[[1e9, 0.5, -3e8]]])
    known = weights_of(3)
    (found,) = known.resamples(means, np.ones((1, 1, 3)), n_resamples=4)
    expected = means[0, 0] @ known.bootstrap(np.arange(3), 4)
    np.testing.assert_allclose(found.rounded().sums[0, 0], expected, rtol=1e-12)
