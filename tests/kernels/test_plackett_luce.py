"""The samplers against other routes: quadrature over the simplex, numerical integrals, one sampler and the other."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from dissensus.kernels import race_sampler, randomness
from dissensus.kernels.randomness import new_streams
from kernels.kernel_studies import (
    CHAINS,
    DRAWS,
    Array,
    assert_close,
    assert_same,
    chain_means,
    from_python,
    posterior_of,
    sample,
)
from naive_plackett_luce import Ranking, posterior_by_quadrature
from rare import some

start, log_weight = from_python(randomness.start), from_python(race_sampler.log_weight)

STUDIES: dict[str, list[Ranking]] = {
    "single labels": [[[0]], [[0]], [[1]]],
    "two orders": [[[0], [1]], [[1], [0]], [[0], [1]]],
    "tie first": [[[0, 1]], [[1], [0]]],
    "tie behind": [[[0], [1, 2]], [[2], [1]]],
    "tie of three": [[[0, 1, 2]], [[0], [1, 2]], [[2]]],
    "the same tie twice": [[[0, 1]], [[0, 1]], [[1]]],
}


@pytest.mark.parametrize(
    ("reliability", "power"),
    [(0.4, None), (1.0, None), (2.5, None), (7.0, None), *some(((1.0, 0.5), (1.0, 2.0), (1.0, 5.0)), (1.0, 2.0))],
)
@pytest.mark.parametrize("rankings", STUDIES.values(), ids=STUDIES)
def test_means_and_top_probabilities_are_those_of_quadrature_for_three_conditions(
    rankings: list[Ranking], reliability: float, power: float | None
) -> None:
    means, tops = chain_means(posterior_of([rankings], 3, reliability, power=power), seed=1)
    expected = posterior_by_quadrature(
        rankings, [reliability] * len(rankings), [1.0] * 3, step=0.125, reach=20.0, power=power or 1.0
    )
    assert_close(means[:, :3], expected[0])
    is_seen = expected[1] > 1e-3  # where some draws can be expected
    assert_close(tops[:, :3][:, is_seen], expected[1][is_seen])
    assert (means[:, 3:] == 0).all()


@pytest.mark.parametrize(
    ("reliability", "power", "below"),
    [
        *some(product((1.0, 2.5), (None,), (True, False)), (2.5, None, True), (2.5, None, False)),
        *some(product((1.0, 1.3), (0.5, 2.0, 5.0), (True, False)), (1.3, 2.0, True), (1.0, 5.0, False)),
    ],
)
def test_means_are_those_of_quadrature_for_four_conditions(
    reliability: float, power: float | None, below: bool
) -> None:
    rankings: list[Ranking] = [[[0, 1], [2]], [[2], [0]], [[1]]]
    means, _ = chain_means(posterior_of([rankings], 4, reliability, alpha=0.7, below=below, power=power), seed=2)
    grid = {"step": 1.0, "reach": 40.0} if power is None else {"step": 0.25, "reach": 14.0, "power": power}
    expected, _ = posterior_by_quadrature(rankings, [reliability] * 3, [0.7] * 4, below=below, **grid)
    assert_close(means, expected)


def test_the_rest_stands_for_all_unmentioned_conditions() -> None:
    rankings = [[[0, 1]], [[1]]]
    means, _ = chain_means(posterior_of([rankings], 4, 2.0, prior="symmetric", alpha=0.8), seed=3)
    expected, _ = posterior_by_quadrature(rankings, [2.0, 2.0], [0.8] * 4, step=1.0, reach=36.0)
    assert_close(means, np.array([expected[0], expected[1], expected[2] + expected[3]]))


def test_at_power_one_the_posterior_is_the_ordinary_one() -> None:
    for rankings in ([[[0, 1], [2]], [[2], [0]], [[1]]], [[[0], [1, 2, 3]], [[3], [0]]], [[[0]], [[1], [0]]]):
        ordinary, tempered = (chain_means(posterior_of([rankings], 5, power=p), seed=3) for p in (None, 1.0))
        for one, other in zip(ordinary, tempered, strict=True):
            assert_same(one, other)


@pytest.mark.parametrize(
    ("size", "reliability", "power"),
    [*some(product((3, 8), (1.0, 3.0, 1.3), (None,)), (3, 1.3, None), (8, 1.3, None)), (5, 2.3, 2.0)],
)
def test_the_lattice_and_the_race_agree(size: int, reliability: float, power: float | None) -> None:
    tied = list(range(size))
    rankings, draws = [[tied], [[0], [1]], [tied[2:], [0]]], DRAWS if power is None else 200
    one, other = (
        chain_means(posterior_of([rankings], size + 2, reliability, lattice_most=m, power=power), seed=m, draws=draws)
        for m in (9, 1)
    )
    for a, b in zip(one, other, strict=True):
        assert_same(a, b)


def test_single_labels_are_drawn_from_a_dirichlet_distribution_without_a_chain() -> None:
    direct = posterior_of([[[[0]], [[0]], [[1]], [[2]]]], 10, 1.7)
    assert direct.is_direct.all()
    shapes = np.array([1 + 3.4, 1 + 1.7, 1 + 1.7, 1.0])
    variance = shapes * (shapes.sum() - shapes) / (shapes.sum() ** 2 * (shapes.sum() + 1))
    for posterior in (direct, direct._replace(is_direct=np.array([False]))):
        assert_close(chain_means(posterior, seed=6)[0], shapes / shapes.sum())
        assert_close(chain_means(posterior, seed=7, moment=2)[0], variance + (shapes / shapes.sum()) ** 2)


def test_one_race_of_some_conditions_says_nothing_about_the_others() -> None:
    posterior = posterior_of([[[[0], [1]], [[2]]]], 3, below=False)
    assert not posterior.is_direct.any()
    assert_close(chain_means(posterior, seed=9)[0], np.array([4 / 9, 2 / 9, 1 / 3, 0.0]))


def test_identical_rankings_are_one_race_with_a_larger_multiplicity() -> None:
    grouped = posterior_of([[[[0, 1], [2]]] * 4], 5, 0.5)
    single = posterior_of([[[[0, 1], [2]]]], 5, 2.0)
    for one, other in zip(grouped.races, single.races, strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("below", [True, False])
def test_extreme_settings_give_numbers(below: bool) -> None:
    rankings = [[[0], [1, 2]], [[3, 4, 5], [0]], [[1], [0]]]
    tempered = product((1e-3, 1.0, 100.0), (1e-3, 1.0, 1e3), (0.3, 1.0, 1e6))
    for power, alpha, weight in ((None, 1e-3, 0.3), (None, 0.05, 0.3), *tempered):
        values = sample(posterior_of([rankings], 9, weight, alpha=alpha, below=below, power=power), chains=2, draws=200)
        assert np.isfinite(values).all()
        assert power is None or (values > 0).all()
        np.testing.assert_allclose(values.sum(axis=-1), 1.0)
    for power in (None, 3.0):
        many = sample(posterior_of([[[list(range(200)), [200]]]], 300, 3.0, below=below, power=power), draws=20)[0]
        np.testing.assert_allclose(many.sum(axis=1), 1.0)
        assert many[:, :200].mean() > 2 * many[:, 200].mean()


@pytest.mark.parametrize(("reliability", "power"), [(2.0, None), (1.3, None), (1.0, 3.0), (1.3, 3.0)])
def test_warm_up_sweeps_are_the_first_ones_of_a_chain_thrown_away(reliability: float, power: float | None) -> None:
    posterior = posterior_of([[[[0, 1], [2]], [[2], [0]]]], 4, reliability, power=power)
    every, later = sample(posterior, draws=30, warmup=0), sample(posterior, draws=18, warmup=12)
    np.testing.assert_array_equal(later[0], every[0, 12:])


@pytest.mark.parametrize("reliability", [0.95, 1.0, 1.001, 1.05, 2.5])
def test_whatever_repeats_leave_out_of_a_tie_counts(reliability: float) -> None:
    posterior = posterior_of([[[[0, 1], [2]]], [[[0], [1]]]], 4, reliability)
    np.testing.assert_allclose(posterior.tie_repeats + posterior.tie_fractions, reliability, rtol=1e-12)
    np.testing.assert_array_equal(posterior.is_tilted, [reliability != 1.0, False])


def test_weights_drawn_as_logarithms_have_the_same_distribution() -> None:
    plain = posterior_of([[[[0], [1, 2]], [[2], [1]], [[2]]]], 4, alpha=0.6)
    ours = chain_means(plain, seed=3, draws=400)
    theirs = chain_means(plain._replace(in_logs=np.array([True])), seed=4, draws=400)
    for one, other in zip(ours, theirs, strict=True):
        assert_same(one, other)


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
    tempered = posterior_of([[[[0, 1, 2]]]], 3, alpha=0.5, power=5.0)
    values = sample(tempered, draws=5000)[0]
    assert tempered.is_direct.all()
    for k in range(3):
        assert stats.kstest(values[:, k], stats.beta(0.5, 1.0).cdf).pvalue > 1e-4
    assert abs(np.corrcoef(values[1:, 0], values[:-1, 0])[0, 1]) < 0.06


def test_chains_forget_where_they_were_at_a_large_power() -> None:
    """Without jumps some ten thousand sweeps would be needed; four runners in one order, and two that are contested."""
    for rankings in ([[[0], [1], [2]]], [[[0], [1], [2]], [[1], [0], [2]], [[0]], [[1]]]):
        values = np.log(sample(posterior_of([rankings], 5, power=30.0), chains=CHAINS, draws=1000))
        between = values.mean(axis=1).var(axis=0, ddof=1)
        effective = values.var(axis=(0, 1)) / between
        assert (effective > 80).all(), effective
