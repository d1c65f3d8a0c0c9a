import numpy as np
import pytest

from dissensus.core.arrays import FloatArray
from dissensus.kernels import likelihood
from dissensus.kernels.likelihood import LATTICE_MOST, Offsets, log_likelihood
from kernels.kernel_studies import from_python, offsets
from naive_plackett_luce import Ranking, log_block_by_inclusion_exclusion, ranking_probability, rankings_of

fill_lattice = from_python(likelihood.fill_lattice)
log_block_probability = from_python(likelihood.log_block_probability)
log_quadrature = from_python(likelihood.log_quadrature)


def log_probabilities(
    rankings: list[Ranking], weights: FloatArray, *, below: bool = True, lattice_most: int = LATTICE_MOST
) -> FloatArray:
    """One ranking per case."""
    all_offsets = Offsets(
        np.arange(len(rankings) + 1),
        offsets([len(r) for r in rankings]),
        offsets([len(b) for r in rankings for b in r]),
    )
    codes = np.array([k for r in rankings for b in r for k in b], dtype=np.int64)
    ones = np.ones(len(rankings))
    weights = np.atleast_2d(weights)
    return log_likelihood(all_offsets, codes, ones, weights, int(below), lattice_most)


@pytest.mark.parametrize("n_conditions", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("below", [True, False])
@pytest.mark.parametrize("lattice_most", [9, 1])
def test_every_partial_ranking_has_the_probability_of_its_orders(
    n_conditions: int, below: bool, lattice_most: int
) -> None:
    rankings = rankings_of(n_conditions)
    weights = np.random.default_rng(n_conditions).gamma(0.7, size=n_conditions)
    expected = [np.log(ranking_probability(weights, ranking, below=below)) for ranking in rankings]
    got = log_probabilities(rankings, weights, below=below, lattice_most=lattice_most)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


def test_weights_may_differ_between_cases_and_rankings_count_as_often_as_they_are_given() -> None:
    weights = np.array([[1.0, 2.0, 3.0], [5.0, 0.1, 1.0]])
    codes = np.array([0, 1, 2])
    all_offsets = Offsets(np.array([0, 1, 2]), np.array([0, 1, 2]), np.array([0, 1, 3]))
    got = log_likelihood(all_offsets, codes, np.array([2.0, 0.5]), weights, 1, 9)
    expected = [2 * np.log(1 / 6), 0.5 * np.log(ranking_probability(weights[1], [[1, 2]]))]
    np.testing.assert_allclose(got, expected)


@pytest.mark.parametrize("scale", [1e-200, 1e-6, 1e6, 1e200])
def test_the_scale_of_the_weights_does_not_matter(scale: float) -> None:
    rankings = rankings_of(4)
    weights = np.array([0.2, 1.0, 3.0, 0.01])
    for lattice_most in (1, 9):
        got = log_probabilities(rankings, scale * weights, lattice_most=lattice_most)
        expected = log_probabilities(rankings, weights, lattice_most=lattice_most)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [2, 3, 5, 7, 9, 12])
@pytest.mark.parametrize("span", [0, 1, 4, 12])
def test_the_lattice_and_the_quadrature_agree(size: int, span: int) -> None:
    rng = np.random.default_rng([size, span])
    table, mass = np.empty(2**size), np.empty(2**size)
    for _ in range(40):
        lam, z = 10.0 ** rng.uniform(-span, span, size), 10.0 ** rng.uniform(-span, span)
        lattice = fill_lattice(lam, z, table, mass)
        if lattice > 1e-280:
            assert abs(np.log(lattice) - log_quadrature(lam, z)) < 1e-10


def test_a_block_whose_lattice_underflows_has_a_finite_log_probability() -> None:
    lam, room = np.full(8, 1e-60), np.empty(512)
    expected = 8 * np.log(1e-60) + np.log(np.arange(1, 9)).sum()  # all orders, each with this product
    assert log_block_probability(lam, 1.0, 9, room, room.copy()) == pytest.approx(expected, abs=1e-9)


def test_probabilities_of_closed_form() -> None:
    assert log_probabilities([[]], np.ones(3)).tolist() == [0.0]  # an abstention
    outweighing = log_probabilities([[[0], [1], [2]]], np.array([1e12, 1e12, 1e-12, 1e-12]))
    np.testing.assert_allclose(outweighing, 2 * np.log(0.5), atol=1e-12)
    # P(all of n unit weights before mass z) = prod_j j / (j + z)
    j, z = np.arange(1, 201), 3.0
    got = log_probabilities([[list(range(200))]], np.append(np.ones(200), z))
    np.testing.assert_allclose(got, np.log(j / (j + z)).sum(), atol=1e-10)
    lam = np.array([0.8, 1.0, 1.3, 0.4, 2.0, 1.1])
    assert log_quadrature(lam, 0.7) == pytest.approx(log_block_by_inclusion_exclusion(list(lam), 0.7), abs=1e-11)
