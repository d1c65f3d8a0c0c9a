import numpy as np
import pytest

from dissensus.kernels.randomness import stream_keys
from kernels.kernel_studies import CHAINS, DRAWS, assert_close, assert_same, chain_means, posterior_of, sample
from naive_plackett_luce import posterior_by_quadrature
from rare import some

STUDIES = {
    "single labels": [[[0]], [[0]], [[1]]],
    "two orders": [[[0], [1]], [[1], [0]], [[0], [1]]],
    "tie first": [[[0, 1]], [[1], [0]]],
    "tie behind": [[[0], [1, 2]], [[2], [1]]],
    "tie of three": [[[0, 1, 2]], [[0], [1, 2]], [[2]]],
    "the same tie twice": [[[0, 1]], [[0, 1]], [[1]]],
}


@pytest.mark.parametrize("reliability", [0.4, 1.0, 2.5, 7.0])
@pytest.mark.parametrize("rankings", STUDIES.values(), ids=STUDIES)
def test_means_and_top_probabilities_are_those_of_quadrature_for_three_conditions(
    rankings: list[list[list[int]]], reliability: float
) -> None:
    posterior = posterior_of([rankings], 3, reliability, prior="symmetric", alpha=1.0)
    means, tops = chain_means(posterior, 0, CHAINS, DRAWS, seed=1)
    expected = posterior_by_quadrature(rankings, [reliability] * len(rankings), [1.0] * 3, step=0.25)
    n_columns = means.shape[1]
    mentioned = len({k for r in rankings for b in r for k in b})
    assert n_columns == mentioned + 1
    assert_close(means[:, :mentioned], expected[0][:mentioned])
    if mentioned == 3:
        assert_close(tops[:, :3], expected[1])
        assert (means[:, 3] == 0).all()


@pytest.mark.parametrize("prior", ["observed", "symmetric"])
@pytest.mark.parametrize("unranked", ["below", "unobserved"])
@pytest.mark.parametrize("reliability", some((1.0, 2.5), 2.5))
def test_means_are_those_of_quadrature_for_four_conditions(reliability: float, unranked: str, prior: str) -> None:
    rankings = [[[0, 1], [2]], [[2], [0]], [[1]]]
    posterior = posterior_of([rankings], 4, reliability, prior=prior, alpha=0.7, unranked=unranked)
    means, _ = chain_means(posterior, 0, CHAINS, DRAWS, seed=2)
    expected, _ = posterior_by_quadrature(
        rankings, [reliability] * 3, [0.7] * 4, below=unranked == "below", step=1.0, reach=40.0
    )
    assert_close(means, expected)


def test_the_rest_stands_for_all_unmentioned_conditions() -> None:
    rankings = [[[0, 1]], [[1]]]
    posterior = posterior_of([rankings], 4, 2.0, prior="symmetric", alpha=0.8)
    means, _ = chain_means(posterior, 0, CHAINS, DRAWS, seed=3)
    expected, _ = posterior_by_quadrature(rankings, [2.0, 2.0], [0.8] * 4, step=1.0, reach=36.0)
    assert_close(means, np.array([expected[0], expected[1], expected[2] + expected[3]]))


@pytest.mark.parametrize("size", [3, 8])
@pytest.mark.parametrize("reliability", some((1.0, 3.0, 1.3), 1.3))
def test_the_lattice_and_the_race_agree(size: int, reliability: float) -> None:
    tied = list(range(size))
    rankings = [[tied], [[0], [1]], [tied[2:], [0]]]
    lattice = posterior_of([rankings], size + 2, reliability, lattice_most=9)
    race = posterior_of([rankings], size + 2, reliability, lattice_most=1)
    one, top_one = chain_means(lattice, 0, CHAINS, DRAWS, seed=4)
    two, top_two = chain_means(race, 0, CHAINS, DRAWS, seed=5)
    assert_same(one, two)
    assert_same(top_one, top_two)


def test_single_labels_are_drawn_from_a_dirichlet_distribution_without_a_chain() -> None:
    rankings = [[[0]], [[0]], [[1]], [[2]]]
    direct = posterior_of([rankings], 10, 1.7)
    assert direct.is_direct.all()
    chain = direct._replace(is_direct=np.array([False]))
    shapes = np.array([1 + 3.4, 1 + 1.7, 1 + 1.7, 1.0])
    variance = shapes * (shapes.sum() - shapes) / (shapes.sum() ** 2 * (shapes.sum() + 1))
    for posterior in (direct, chain):
        means, _ = chain_means(posterior, 0, CHAINS, DRAWS, seed=6)
        assert_close(means, shapes / shapes.sum())
        squares, _ = chain_means(posterior, 0, CHAINS, DRAWS, seed=7, power=2)
        assert_close(squares, variance + (shapes / shapes.sum()) ** 2)


def test_one_race_of_some_conditions_says_nothing_about_the_others() -> None:
    posterior = posterior_of([[[[0], [1]], [[2]]]], 3, 1.0, prior="symmetric", unranked="unobserved")
    assert not posterior.is_direct.any()
    means, _ = chain_means(posterior, 0, CHAINS, DRAWS, seed=9)
    assert_close(means, np.array([4 / 9, 2 / 9, 1 / 3, 0.0]))


def test_identical_rankings_are_one_race_with_a_larger_multiplicity() -> None:
    grouped = posterior_of([[[[0, 1], [2]]] * 4], 5, 0.5)
    single = posterior_of([[[[0, 1], [2]]]], 5, 2.0)
    for one, other in zip(grouped.races, single.races, strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("alpha", [1e-3, 0.05])
def test_tiny_prior_shapes_and_large_ties_give_numbers(alpha: float) -> None:
    rankings = [[[0], [1, 2]], [[3, 4, 5], [0]]]
    posterior = posterior_of([rankings], 7, 0.3, prior="symmetric", alpha=alpha, unranked="unobserved")
    keys = stream_keys(np.uint64(1), np.zeros(1, dtype=np.uint64), 2)
    values = sample(posterior, keys, (0, 1), chains=2, draws=300).reshape(600, -1)
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values.sum(axis=1), 1.0)
    many = posterior_of([[[list(range(200)), [200]]]], 300, 3.0)
    values = sample(many, keys, (0, 1), chains=1, draws=50, warmup=20).reshape(50, -1)
    np.testing.assert_allclose(values.sum(axis=1), 1.0)
    assert values[:, :200].mean() > 5 * values[:, 200].mean()


@pytest.mark.parametrize("reliability", [2.0, 1.3])
def test_warm_up_sweeps_are_the_first_ones_of_a_chain_thrown_away(reliability: float) -> None:
    posterior = posterior_of([[[[0, 1], [2]], [[2], [0]]]], 4, reliability)
    keys = stream_keys(np.uint64(5), np.zeros(1, dtype=np.uint64), 1)
    every = sample(posterior, keys, (0, 1), chains=1, draws=30, warmup=0).reshape(30, -1)
    later = sample(posterior, keys, (0, 1), chains=1, draws=18, warmup=12).reshape(18, -1)
    np.testing.assert_array_equal(later, every[12:])


@pytest.mark.parametrize("reliability", [0.95, 1.0, 1.001, 1.05, 2.5])
def test_whatever_repeats_leave_out_of_a_tie_counts(reliability: float) -> None:
    posterior = posterior_of([[[[0, 1], [2]]], [[[0], [1]]]], 4, reliability)
    np.testing.assert_allclose(posterior.tie_repeats + posterior.tie_fractions, reliability, rtol=1e-12)
    np.testing.assert_array_equal(posterior.is_tilted, [reliability != 1.0, False])


def test_weights_drawn_as_logarithms_have_the_same_distribution() -> None:
    plain = posterior_of([[[[0], [1, 2]], [[2], [1]], [[2]]]], 4, 1.0, alpha=0.6)
    in_logs = plain._replace(in_logs=np.array([True]))
    ours, theirs = chain_means(plain, 0, CHAINS, 400, seed=3), chain_means(in_logs, 0, CHAINS, 400, seed=4)
    for one, other in zip(ours, theirs, strict=True):
        assert_same(one, other)
