"""The split of the rest among unmentioned conditions, against enumeration and NumPy's Dirichlet draws."""

import numpy as np
import pytest
from scipy import stats

from dissensus.kernels import compact
from dissensus.kernels.compact import STEPS, Weights, new_atoms, split_every_rest, split_every_unequal_rest
from kernels.kernel_studies import from_python

largest_unmentioned, draw_atoms = from_python(compact.largest_unmentioned), from_python(compact.draw_atoms)

KEY = np.uint64(77)
ALARM = 1e-5  # bound on p-values; seeds are fixed
FREQUENCIES = np.array([5.5, 0.5, 12.5, 0.5, 1.5, 40.5, 0.5, 3.5, 0.5, 2.5, 7.5])


def dense(mass: float, n: int, shape: float, n_draws: int, key: np.uint64 = KEY) -> np.ndarray:
    return split_every_rest(np.full(n_draws, mass), n, shape, key, np.arange(n_draws))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 64, 415])
@pytest.mark.parametrize("shape", [0.002, 1.0, 5.0])
def test_lazy_and_dense_splits_are_the_same_numbers(n: int, shape: float) -> None:
    for draw, unsorted in enumerate(dense(0.3, n, shape, 20)):
        masses = np.sort(unsorted)[::-1]
        if n:
            assert masses.sum() == pytest.approx(0.3)
        for threshold in (0.0, 0.001, 0.02, 0.5):
            for most in (0, 1, 3, n + 2):
                out = np.empty(most)
                found = largest_unmentioned(0.3, n, shape, KEY, draw, threshold, out, new_atoms(np.zeros(0)))
                expected = masses[masses > threshold][:most]
                assert found == len(expected)
                np.testing.assert_array_equal(out[:found], expected)


def test_draws_and_keys_differ_and_no_mass_gives_zeros() -> None:
    first, second = dense(1.0, 4, 1.0, 2)
    assert (first != second).all()
    assert (first != dense(1.0, 4, 1.0, 1, np.uint64(78))).all()
    assert dense(0.0, 5, 0.0, 1).tolist() == [[0.0] * 5]
    assert largest_unmentioned(0.0, 5, 0.0, KEY, 1, 0.0, np.empty(3), new_atoms(np.zeros(0))) == 0


@pytest.mark.parametrize(("n", "shape"), [(2, 1.0), (5, 1.0), (6, 0.3), (9, 2.5)])
def test_each_share_has_its_beta_marginal(n: int, shape: float) -> None:
    shares = dense(2.0, n, shape, 4000) / 2.0
    for k in range(n):
        assert stats.kstest(shares[:, k], stats.beta(shape, shape * (n - 1)).cdf).pvalue > ALARM
    pair = shares[:, 0] + shares[:, -1]
    if n > 2:
        assert stats.kstest(pair, stats.beta(2 * shape, shape * (n - 2)).cdf).pvalue > ALARM


def test_a_hundred_thousand_conditions_are_split() -> None:
    (masses,) = dense(1.0, 100_000, 1.0, 1)
    out = np.empty(10)
    assert largest_unmentioned(1.0, 100_000, 1.0, KEY, 0, 5e-5, out, new_atoms(np.zeros(0))) == 10
    np.testing.assert_array_equal(out, np.sort(masses)[::-1][:10])


# Unequal weights ------------------------------------------------------------------------------------------


def weights_of(frequencies: np.ndarray, mentioned: list[int], shape: float) -> Weights:
    sums = np.append(0.0, np.cumsum(frequencies))
    return Weights(sums, np.array(mentioned, dtype=np.int64), shape)


def dense_unequal(weights: Weights, n_draws: int, mass: float = 0.3) -> np.ndarray:
    return some_unequal(weights, np.arange(n_draws), mass=mass)


def some_unequal(weights: Weights, draws: np.ndarray, wanted: int = -1, *, mass: float = 0.3) -> np.ndarray:
    masses = np.full(len(draws), mass)
    return split_every_unequal_rest(masses, weights, KEY, draws, new_atoms(weights.sums), wanted)


def largest_unequal(
    weights: Weights, draw: int, most: int, mass: float = 0.3, threshold: float = 0.0
) -> tuple[list[int], np.ndarray]:
    """Return the codes and masses of the largest, descending, of a draw."""
    out, codes, none = np.empty(most), np.empty(most, dtype=np.int64), len(weights.sums)
    _, found = draw_atoms(mass, weights, KEY, draw, threshold, out, codes, new_atoms(weights.sums), none)
    return codes[:found].tolist(), out[:found]


@pytest.mark.parametrize("mentioned", [[], [0], [2, 5], [0, 1, 2, 3, 4], list(range(10)), list(range(11))])
@pytest.mark.parametrize("shape", [0.001, 0.05, 2.0])
def test_lazy_and_dense_splits_by_unequal_weights_are_the_same_numbers(mentioned: list[int], shape: float) -> None:
    weights = weights_of(FREQUENCIES, mentioned, shape)
    masses = dense_unequal(weights, 30)
    np.testing.assert_array_equal(masses[:, mentioned], 0.0)
    np.testing.assert_allclose(masses.sum(axis=1), 0.3 if len(mentioned) < 11 else 0.0, rtol=1e-12)
    for draw in range(30):
        best = np.argsort(-masses[draw], kind="stable")
        for threshold in (0.0, 0.001, 0.05, 0.5):
            for most in (1, 3, 13):
                codes, found = largest_unequal(weights, draw, most, threshold=threshold)
                expected = [code for code in best if masses[draw, code] > threshold][:most]
                assert codes == expected
                np.testing.assert_allclose(found, masses[draw, expected], rtol=1e-13)


def test_some_draws_and_conditions_are_looked_up_without_the_others() -> None:
    weights, draws, some = weights_of(FREQUENCIES, [2, 5], 0.1), np.arange(40), np.array([3, 17, 39])
    split = some_unequal(weights, some)
    np.testing.assert_array_equal(split, dense_unequal(weights, 40)[some])
    for code in (0, 1, 4, 10):
        looked_up = some_unequal(weights, draws, code)
        np.testing.assert_array_equal(looked_up[:, code], dense_unequal(weights, 40)[:, code])


def test_more_conditions_than_come_one_by_one_have_their_beta_marginals() -> None:
    # 20 tests at 1e-5 with fixed seeds: a false alarm once in 5000 changes of the streams
    frequencies = np.tile(FREQUENCIES, 8)
    others = np.delete(np.arange(88), [0, 80])
    assert len(others) > 2 * STEPS
    shares = dense_unequal(weights_of(frequencies, [0, 80], 0.5), 3000, 1.0)
    total = 0.5 * frequencies[others].sum()
    for k in others[::4]:
        own = 0.5 * frequencies[k]
        assert stats.kstest(shares[:, k], stats.beta(own, total - own).cdf).pvalue > ALARM


@pytest.mark.parametrize("heavier", [[], [0, 3, 40, 199], list(range(100))], ids=len)
def test_conditions_that_weigh_the_same_are_split_no_further_than_they_matter(heavier: list[int]) -> None:
    frequencies = np.full(200, 0.5)
    frequencies[heavier] = 3.5
    weights = weights_of(frequencies, [3, 50, 51], 0.8)
    masses, some = dense_unequal(weights, 20), np.arange(20)
    np.testing.assert_allclose(masses.sum(axis=1), 0.3, rtol=1e-12)
    for draw in some:
        codes, found = largest_unequal(weights, int(draw), 7)
        assert codes == np.argsort(-masses[draw])[:7].tolist()
        np.testing.assert_allclose(found, masses[draw, codes], rtol=1e-13)
    for code in (0, 2, 40, 49, 52, 199):
        looked_up = some_unequal(weights, some, code)
        np.testing.assert_array_equal(looked_up[:, code], masses[:, code])


@pytest.mark.parametrize("shape", [0.02, 0.3, 1.5])
def test_shares_have_the_distribution_of_numpy_dirichlet_draws(shape: float) -> None:
    # Exact Beta marginals and a two-sample test of the largest share; 9 + 2 tests at 1e-5 each: a false alarm of all
    # three shapes together once in 3000 changes of the streams.
    mentioned = [2, 5]
    others = np.delete(np.arange(11), mentioned)
    shapes = shape * FREQUENCIES[others]
    shares = dense_unequal(weights_of(FREQUENCIES, mentioned, shape), 4000, 1.0)[:, others]
    for k, own in enumerate(shapes):
        assert stats.kstest(shares[:, k], stats.beta(own, shapes.sum() - own).cdf).pvalue > ALARM
    drawn = np.random.default_rng(5).dirichlet(shapes, size=4000)
    assert stats.ks_2samp(shares.max(axis=1), drawn.max(axis=1)).pvalue > ALARM
    assert stats.ks_2samp(shares[:, 0] + shares[:, -1], drawn[:, 0] + drawn[:, -1]).pvalue > ALARM


def test_a_hundred_thousand_conditions_are_searched_without_being_written_out() -> None:
    frequencies = np.random.default_rng(1).integers(0, 50, 100_000) + 0.5
    weights = weights_of(frequencies, [10, 99_999], 1e-4)
    masses = dense_unequal(weights, 1, 1.0)[0]
    codes, _ = largest_unequal(weights, 0, 5, 1.0)
    assert codes == np.argsort(-masses)[:5].tolist()
