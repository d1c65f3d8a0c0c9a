"""The tempered sampler against other routes: quadrature over the simplex, numerical integrals, the ordinary sampler."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from dissensus.kernels import randomness, tempered_sampler
from dissensus.kernels.races import group_rankings
from dissensus.kernels.randomness import new_streams, stream_keys
from dissensus.kernels.tempered_sampler import Tempered, sample_tempered, tempered_posterior
from kernels.kernel_studies import (
    CHAINS,
    DRAWS,
    Array,
    Nested,
    assert_close,
    assert_same,
    chain_means,
    from_python,
    posterior_of,
    rankings_of_cases,
)
from naive_plackett_luce import Ranking, posterior_by_quadrature
from rare import some

start, log_weight = from_python(randomness.start), from_python(tempered_sampler.log_weight)

STUDIES: dict[str, list[Ranking]] = {
    "single labels": [[[0]], [[0]], [[1]]],
    "two orders": [[[0], [1]], [[1], [0]], [[0], [1]]],
    "tie first": [[[0, 1]], [[1], [0]]],
    "tie of three": [[[0, 1, 2]], [[0], [1, 2]], [[2]]],
    "the same tie twice": [[[0, 1]], [[0, 1]], [[1]]],
}


def tempered_of(
    cases: Nested,
    n_conditions: int,
    power: float,
    *,
    weight: float = 1.0,
    alpha: float = 1.0,
    below: bool = True,
    lattice_most: int = 8,
) -> Tempered:
    """Group the rankings and join them with the observed prior."""
    rankings = rankings_of_cases(cases, n_conditions, weight)
    races = group_rankings(rankings, below=below)
    shapes = np.full(races.column_offsets[-1], alpha)
    shapes[races.column_offsets[1:] - 1] = alpha * (rankings.n_unmentioned > 0)
    return tempered_posterior(races, shapes, power, lattice_most=lattice_most)


def drawn(tempered: Tempered, *, chains: int, draws: int, seed: int = 1, warmup: int = 100) -> Array:
    """Draw the first case, shape (chains, draws, U + 1)."""
    keys = stream_keys(np.uint64(seed), np.zeros(1, dtype=np.uint64), chains)
    columns = int(tempered.posterior.races.column_offsets[1])
    values = np.empty(chains * draws * columns)
    sample_tempered(tempered, keys, (0, 1), chains, warmup, values)
    return values.reshape(chains, draws, columns)


def means_and_tops(values: Array) -> tuple[Array, Array]:
    is_top = values == values.max(axis=-1, keepdims=True)
    return values.mean(axis=1), is_top.mean(axis=1)


@pytest.mark.parametrize("power", some((0.5, 2.0, 5.0), 2.0))
@pytest.mark.parametrize("rankings", STUDIES.values(), ids=STUDIES)
def test_means_and_top_probabilities_are_those_of_quadrature_for_three_conditions(
    rankings: list[Ranking], power: float
) -> None:
    means, tops = means_and_tops(drawn(tempered_of([rankings], 3, power), chains=CHAINS, draws=DRAWS))
    expected = posterior_by_quadrature(rankings, [1.0] * len(rankings), [1.0] * 3, step=0.125, reach=20.0, power=power)
    mentioned = len({k for ranking in rankings for block in ranking for k in block})
    assert_close(means[:, :3], expected[0])
    assert_close(tops[:, :3], expected[1])
    assert mentioned == 2 or (means[:, 3] == 0).all()


@pytest.mark.parametrize(
    ("power", "weight", "below"),
    some(product((0.5, 2.0, 5.0), (1.0, 1.3), (True, False)), (2.0, 1.3, True), (5.0, 1.0, False)),
)
def test_means_are_those_of_quadrature_for_four_conditions(power: float, weight: float, below: bool) -> None:
    rankings: list[Ranking] = [[[0, 1], [2]], [[2], [0]], [[1]]]
    tempered = tempered_of([rankings], 4, power, weight=weight, alpha=0.7, below=below)
    means, _ = means_and_tops(drawn(tempered, chains=CHAINS, draws=DRAWS, seed=2))
    expected, _ = posterior_by_quadrature(
        rankings, [weight] * 3, [0.7] * 4, below=below, step=0.25, reach=14.0, power=power
    )
    assert_close(means, expected)


def test_at_power_one_the_posterior_is_the_ordinary_one() -> None:
    for rankings in ([[[0, 1], [2]], [[2], [0]], [[1]]], [[[0], [1, 2, 3]], [[3], [0]]], [[[0]], [[1], [0]]]):
        ordinary = chain_means(posterior_of([rankings], 5, 1.0), 0, CHAINS, DRAWS, seed=3)
        tempered = means_and_tops(drawn(tempered_of([rankings], 5, 1.0), chains=CHAINS, draws=DRAWS, seed=4))
        for one, other in zip(ordinary, tempered, strict=True):
            assert_same(one, other)


@pytest.mark.parametrize("weight", some((1.0, 2.3), 2.3))
def test_the_lattice_and_the_race_agree(weight: float) -> None:
    cases = [[[[0, 1, 2, 3, 4]], [[0], [1]], [[2, 3, 4], [0]]]]
    one, other = (
        means_and_tops(
            drawn(tempered_of(cases, 7, 2.0, weight=weight, lattice_most=most), chains=CHAINS, draws=200, seed=most)
        )
        for most in (1, 8)
    )
    for a, b in zip(one, other, strict=True):
        assert_same(a, b)


def log_weight_law(shape: float, power: float, log_exposure: float) -> tuple[Array, Array]:
    """Integrate the density of x numerically: points, and the distribution function there."""

    def log_density(x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(shape * x - np.exp(x) - np.exp(power * x + log_exposure))

    wide = np.linspace(-80.0 / shape - 100.0, 60.0, 1_000_001)
    inside = wide[log_density(wide) > log_density(wide).max() - 40.0]
    x = np.linspace(inside[0] - 1e-3, inside[-1] + 1e-3, 400_001)
    density = np.exp(log_density(x) - log_density(x).max())
    cumulated = np.append(0.0, np.cumsum((density[1:] + density[:-1]) / 2))
    return x, cumulated / cumulated[-1]


@pytest.mark.parametrize("log_exposure", [-60.0, pytest.param(-3.0, marks=pytest.mark.slow), 0.0, 4.0, 40.0])
@pytest.mark.parametrize("power", [0.5, pytest.param(1.0, marks=pytest.mark.slow), 5.0, 100.0])
@pytest.mark.parametrize("shape", [0.05, 1.0, pytest.param(3.0, marks=pytest.mark.slow), 60.0, 1e4])
def test_a_weight_has_the_distribution_that_it_should_have(shape: float, power: float, log_exposure: float) -> None:
    """Kolmogorov-Smirnov at 1e-6 for 100 settings: a false alarm in one of 10 000 runs with fresh seeds."""
    streams = new_streams()
    start(streams[0], np.uint64(11))
    found = np.array([log_weight(streams[0], shape, power, log_exposure) for _ in range(5000)])
    x, law = log_weight_law(shape, power, log_exposure)
    assert stats.kstest(found, lambda value: np.interp(value, x, law)).pvalue > 1e-6


def test_a_case_without_rankings_is_drawn_from_the_prior_without_a_chain() -> None:
    tempered = tempered_of([[[[0, 1, 2]]]], 3, 5.0, alpha=0.5)
    values = drawn(tempered, chains=1, draws=5000)[0]
    assert tempered.is_direct.all()
    for k in range(3):
        assert stats.kstest(values[:, k], stats.beta(0.5, 1.0).cdf).pvalue > 1e-4
    assert abs(np.corrcoef(values[1:, 0], values[:-1, 0])[0, 1]) < 0.06


@pytest.mark.parametrize("weight", [1.0, 1.3])
def test_warm_up_sweeps_are_the_first_ones_of_a_chain_thrown_away(weight: float) -> None:
    tempered = tempered_of([[[[0, 1], [2]], [[2], [0]]]], 4, 3.0, weight=weight)
    every = drawn(tempered, chains=1, draws=30, warmup=0)[0]
    later = drawn(tempered, chains=1, draws=18, warmup=12)[0]
    np.testing.assert_array_equal(later, every[12:])


@pytest.mark.parametrize("below", [True, False])
def test_extreme_settings_give_numbers(below: bool) -> None:
    rankings = [[[0], [1, 2]], [[3, 4, 5], [0]], [[1], [0]]]
    for power, alpha, weight in product((1e-3, 1.0, 100.0), (1e-3, 1.0, 1e3), (0.3, 1.0, 1e6)):
        tempered = tempered_of([rankings], 9, power, alpha=alpha, weight=weight, below=below)
        values = drawn(tempered, chains=2, draws=200)
        assert np.isfinite(values).all()
        assert (values > 0).all()
        np.testing.assert_allclose(values.sum(axis=-1), 1.0)
    many = drawn(tempered_of([[[list(range(200)), [200]]]], 300, 3.0, below=below), chains=1, draws=20, warmup=20)[0]
    np.testing.assert_allclose(many.sum(axis=1), 1.0)
    assert many[:, :200].mean() > 2 * many[:, 200].mean()


def test_chains_forget_where_they_were_at_a_large_power() -> None:
    """Without jumps some ten thousand sweeps would be needed; four runners in one order, and two that are contested."""
    for rankings in ([[[0], [1], [2]]], [[[0], [1], [2]], [[1], [0], [2]], [[0]], [[1]]]):
        values = np.log(drawn(tempered_of([rankings], 5, 30.0), chains=40, draws=1000))
        between = values.mean(axis=1).var(axis=0, ddof=1)
        effective = values.var(axis=(0, 1)) / between
        assert (effective > 80).all(), effective
