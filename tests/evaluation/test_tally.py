"""Tallies are a monoid: they add up in any grouping, and nothing is their identity."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dissensus.core.aliases import FloatArray
from dissensus.evaluation.tally import Tally

NUMBERS = st.floats(0, 1)
CASES, DRAWS = 12, 5


def study(seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    values = rng.random((CASES, DRAWS))
    values[rng.random((CASES, DRAWS)) < 0.1] = np.nan
    return values, rng.random((CASES, DRAWS)), rng.exponential(size=(CASES, DRAWS))


@given(st.integers(0, 100), st.lists(st.integers(0, CASES), max_size=4))
def test_splitting_into_any_batches_gives_the_same_sums(seed: int, cuts: list[int]) -> None:
    whole = Tally.of(*study(seed))
    bounds = [0, *sorted(cuts), CASES]
    parts = [Tally.of(*(array[a:b] for array in study(seed))) for a, b in pairwise(bounds)]
    merged = sum(parts, Tally.zeros(DRAWS))
    for name in ("sums", "weights", "resampled_sums", "resampled_weights"):
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-12, atol=1e-15)


@given(*(st.integers(0, 100) for _ in range(3)))
def test_merging_is_associative_and_commutative_up_to_rounding_and_zero_is_its_identity(a: int, b: int, c: int) -> None:
    one, two, three = (Tally.of(*study(seed)) for seed in (a, b, c))
    np.testing.assert_allclose(((one + two) + three).means, (one + (two + three)).means, rtol=1e-12)
    assert one + two == two + one
    assert one + Tally.zeros(DRAWS) == one


@given(arrays(np.float64, (CASES, DRAWS), elements=NUMBERS))
def test_means_are_weighted_means(values: FloatArray) -> None:
    weights = np.arange(1.0, CASES + 1)[:, None] * np.ones(DRAWS)
    tally = Tally.of(values, weights, np.ones((CASES, DRAWS)))
    np.testing.assert_allclose(tally.means, np.average(values, axis=0, weights=weights[:, 0]), atol=1e-12)
    # weights that are all alike leave the mean, and the draws by the inverse root of the effective number of cases
    mean, n_cases = tally.means.mean(), weights[:, 0].sum() ** 2 / (weights[:, 0] ** 2).sum()
    np.testing.assert_allclose(tally.resampled_means, mean + (tally.means - mean) / n_cases**0.5, atol=1e-12)


def test_one_case_varies_as_its_draws_do() -> None:
    values = np.array([[0.0, 1.0, 1.0, 0.25]])
    tally = Tally.of(values, np.full((1, 4), 2.0), np.random.default_rng(0).exponential(size=(1, 4)))
    np.testing.assert_allclose(tally.resampled_means, values[0], atol=1e-12)


def test_undefined_values_do_not_count_and_a_mean_of_nothing_is_undefined() -> None:
    values = np.array([[1.0, np.nan], [0.0, np.nan]])
    ones = np.ones((2, 2))
    np.testing.assert_array_equal(Tally.of(values, ones, ones).means, [0.5, np.nan])


def test_infinite_values_are_not_hidden() -> None:
    values = np.array([[-np.inf], [0.0]])
    assert Tally.of(values, np.ones((2, 1)), np.ones((2, 1))).means[0] == -np.inf


def test_many_quantities_are_tallied_at_once() -> None:
    _, weights, bootstrap = study(0)
    several = np.stack([study(seed)[0] for seed in range(3)])
    together = Tally.of(several, weights, bootstrap)
    for number, values in enumerate(several):
        alone = Tally.of(values, weights, bootstrap)
        np.testing.assert_allclose(together.means[number], alone.means, rtol=1e-14)
        np.testing.assert_allclose(together.resampled_means[number], alone.resampled_means, rtol=1e-14)
