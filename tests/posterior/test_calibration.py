"""Simulation-based calibration: ranks of the truth among the draws of its posterior are uniform.

Parameters are drawn from the prior, opinions from the model, and the posterior is sampled as users do. If sampler,
model and prior agree, the rank of the truth among the draws is uniform on 0 to the number of draws. A chi-square test
over 16 bins with a limit at probability 1e-4 raises a false alarm once in 10 000 runs with fresh seeds; they are fixed.
"""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import dissensus as ds
from dissensus.aggregations import Dirichlet, NormalInverseGamma, NormalInverseGammaPrior, PlackettLuce
from dissensus.core.arrays import FloatArray, IntArray

BINS = 16
KEPT = 63
FALSE_ALARM = 1e-4


def ranks(truth: FloatArray, draws: FloatArray) -> IntArray:
    """Rank each truth, shape (n,), among its draws, shape (n, many), thinned to nearly independent ones."""
    thinned = draws[:, :: draws.shape[1] // KEPT][:, :KEPT]
    return np.asarray((thinned < truth[:, None]).sum(axis=1))


def assert_uniform(found: IntArray) -> None:
    counts = np.bincount(found * BINS // (KEPT + 1), minlength=BINS)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM, counts


@pytest.mark.parametrize("condition", [0, 3])
def test_dirichlet_draws_are_calibrated(condition: int) -> None:
    rng = np.random.default_rng(1)
    n_cases, n_conditions, alpha = 2000, 4, 0.6
    theta = rng.dirichlet(np.full(n_conditions, alpha), size=n_cases)
    counts = np.stack([rng.multinomial(rng.integers(1, 6), row) for row in theta])
    dense = Dirichlet(alpha=alpha).sample(ds.Study.from_counts(counts), draws=KEPT).dense()
    assert_uniform(ranks(theta[:, condition], dense[:, :, condition]))


def _race(rng: np.random.Generator, theta: FloatArray) -> list[list[int]]:
    """Rank a few conditions by a race; how many, and which neighbours are tied, does not depend on the outcome."""
    order = np.argsort(rng.exponential(size=len(theta)) / theta)
    sizes = [[1], [1, 1], [2], [1, 2], [3, 1], [2, 2]][rng.integers(6)]
    bounds = np.cumsum([0, *sizes])
    return [order[a:b].tolist() for a, b in pairwise(bounds)]


def test_plackett_luce_draws_are_calibrated() -> None:
    rng = np.random.default_rng(2)
    n_cases, n_conditions, alpha = 1200, 6, 0.7
    theta = rng.dirichlet(np.full(n_conditions, alpha), size=n_cases)
    said = [[_race(rng, row) for _ in range(rng.integers(1, 5))] for row in theta]
    annotations = ds.Study.from_rankings(said, n_conditions)
    aggregation = PlackettLuce(alpha=alpha, prior="symmetric", chains=1, warmup=50)
    dense = aggregation.sample(annotations, draws=KEPT * 10).dense()
    for condition in (0, 5):
        assert_uniform(ranks(theta[:, condition], dense[:, :, condition]))
    assert_uniform(ranks(theta.max(axis=1), dense.max(axis=2)))


@pytest.mark.slow
@pytest.mark.parametrize("power", [0.5, 3.0])
def test_tempered_draws_are_calibrated(power: float) -> None:
    """Every condition is mentioned, last in a ranking that says nothing else, so that all have the same prior."""
    rng = np.random.default_rng(5)
    n_cases, n_conditions, alpha = 1200, 5, 0.8
    lam = rng.gamma(alpha, size=(n_cases, n_conditions))
    said = [[[list(range(n_conditions))], *(_race(rng, row**power) for _ in range(rng.integers(1, 5)))] for row in lam]
    aggregation = PlackettLuce(power, alpha=alpha, chains=1, warmup=50, tempered=True)
    dense = aggregation.sample(ds.Study.from_rankings(said, n_conditions), draws=KEPT * 10).dense()
    theta = lam / lam.sum(axis=1, keepdims=True)
    for condition in (0, 4):
        assert_uniform(ranks(theta[:, condition], dense[:, :, condition]))
    assert_uniform(ranks(theta.max(axis=1), dense.max(axis=2)))


def test_unobserved_rankings_follow_the_restricted_race() -> None:
    """With "unobserved", what an annotator compares is chosen beforehand; only the order among it is informative."""
    rng = np.random.default_rng(4)
    n_cases, n_conditions, alpha = 1200, 5, 0.8
    theta = rng.dirichlet(np.full(n_conditions, alpha), size=n_cases)
    said = []
    for row in theta:
        compared = [rng.choice(n_conditions, size=3, replace=False) for _ in range(3)]
        orders = [chosen[np.argsort(rng.exponential(size=3) / row[chosen])] for chosen in compared]
        said.append([[[int(a)], [int(b), int(c)]] for a, b, c in orders])
    annotations = ds.Study.from_rankings(said, n_conditions, unranked="unobserved")
    aggregation = PlackettLuce(alpha=alpha, prior="symmetric", chains=1, warmup=50)
    dense = aggregation.sample(annotations, draws=KEPT * 10).dense()
    assert_uniform(ranks(theta[:, 1], dense[:, :, 1]))


def test_normal_inverse_gamma_draws_are_calibrated() -> None:
    rng = np.random.default_rng(3)
    n_cases, prior = 2000, NormalInverseGammaPrior(mu=0.5, kappa=1.5, a=3.0, b=2.0)
    variance = prior.b / rng.gamma(prior.a, size=n_cases)
    mean = rng.normal(prior.mu, np.sqrt(variance / prior.kappa))
    scores = [rng.normal(m, np.sqrt(v), size=rng.integers(1, 7)) for m, v in zip(mean, variance, strict=True)]
    aggregation = NormalInverseGamma(thresholds=(0.0, 1.0), prior=prior)
    dense = aggregation.sample(ds.Study.from_scores([s.tolist() for s in scores]), draws=KEPT).dense()
    truth = np.diff(stats.norm.cdf([[0.0], [1.0]], mean, np.sqrt(variance)), axis=0)[0]
    assert_uniform(ranks(truth, dense[:, :, 1]))
