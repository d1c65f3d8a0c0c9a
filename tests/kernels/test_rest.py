from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dissensus.kernels import rest
from dissensus.kernels.rest import new_branches
from kernels.kernel_studies import from_python

largest_unmentioned, split_rest = from_python(rest.largest_unmentioned), from_python(rest.split_rest)

KEY = np.uint64(77)
ALARM = 1e-5  # bound on p-values; seeds are fixed


def dense(mass: float, n: int, shape: float, draw: int) -> np.ndarray:
    out = np.full(n, -1.0)
    split_rest(mass, n, shape, KEY, draw, out, new_branches())
    return out


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 64, 415])
@pytest.mark.parametrize("shape", [0.002, 1.0, 5.0])
def test_lazy_and_dense_splits_are_the_same_numbers(n: int, shape: float) -> None:
    for draw in range(20):
        masses = np.sort(dense(0.3, n, shape, draw))[::-1]
        if n:
            assert masses.sum() == pytest.approx(0.3)
        for threshold in (0.0, 0.001, 0.02, 0.5):
            for most in (0, 1, 3, n + 2):
                out = np.empty(most)
                found = largest_unmentioned(0.3, n, shape, KEY, draw, threshold, out, new_branches())
                expected = masses[masses > threshold][:most]
                assert found == len(expected)
                np.testing.assert_array_equal(out[:found], expected)


def test_no_mass_and_no_shape_give_zeros() -> None:
    assert dense(0.0, 5, 0.0, 1).tolist() == [0.0] * 5
    assert largest_unmentioned(0.0, 5, 0.0, KEY, 1, 0.0, np.empty(3), new_branches()) == 0


@pytest.mark.parametrize(("n", "shape"), [(2, 1.0), (5, 1.0), (6, 0.3), (9, 2.5)])
def test_each_share_has_its_beta_marginal(n: int, shape: float) -> None:
    shares = np.array([dense(2.0, n, shape, draw) for draw in range(4000)]) / 2.0
    for k in range(n):
        assert stats.kstest(shares[:, k], stats.beta(shape, shape * (n - 1)).cdf).pvalue > ALARM
    pair = shares[:, 0] + shares[:, -1]
    if n > 2:
        assert stats.kstest(pair, stats.beta(2 * shape, shape * (n - 2)).cdf).pvalue > ALARM


def test_draws_and_keys_differ() -> None:
    assert (dense(1.0, 4, 1.0, 0) != dense(1.0, 4, 1.0, 1)).all()
    other = np.empty(4)
    split_rest(1.0, 4, 1.0, np.uint64(78), 0, other, new_branches())
    assert (dense(1.0, 4, 1.0, 0) != other).all()


def test_a_hundred_thousand_conditions_are_split() -> None:
    masses = dense(1.0, 100_000, 1.0, 0)
    out = np.empty(10)
    assert largest_unmentioned(1.0, 100_000, 1.0, KEY, 0, 5e-5, out, new_branches()) == 10
    np.testing.assert_array_equal(out, np.sort(masses)[::-1][:10])
