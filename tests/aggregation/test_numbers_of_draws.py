"""Draws of ratings carry their numbers: mean and spread of what a large panel would say."""

import numpy as np
import pytest
from scipy import stats

from dissensus import Study
from dissensus.aggregations import MeanRating, MedianRating, NormalInverseGamma, NormalInverseGammaPrior
from dissensus.core.arrays import FloatArray
from dissensus.draws import Plausibilities
from dissensus.study.opinions import weighted_medians

SAID = Study.from_scores([[1, 2, 6], [4, 4.5], [0.5], []], case_names=["x", "y", "z", "nobody"])
PRIOR = NormalInverseGammaPrior(mu=2.0, kappa=1.0, a=3.0, b=2.0)


def numbers_of(drawn: Plausibilities) -> FloatArray:
    parts = [batch.numbers for batch in drawn]
    return np.concatenate([part for part in parts if part is not None])


def test_plausibilities_are_those_of_the_normal_distribution_that_a_draw_carries() -> None:
    drawn = NormalInverseGamma((2.0, 4.0), PRIOR).sample(SAID, draws=50)
    mu, sigma = np.moveaxis(numbers_of(drawn), -1, 0)
    below = stats.norm.cdf(np.array([2.0, 4.0])[:, None, None], mu, sigma)
    expected = np.stack([below[0], below[1] - below[0], 1 - below[1]], axis=-1)
    np.testing.assert_allclose(drawn.dense(), expected, atol=1e-12)


def test_numbers_follow_the_conjugate_posterior() -> None:
    mu, sigma = np.moveaxis(numbers_of(NormalInverseGamma((2.0,), PRIOR).sample(SAID, draws=20_000)), -1, 0)
    kappa, mean = 4.0, (2.0 + 9.0) / 4
    b = 2.0 + 14.0 / 2 + 3 * (3.0 - 2.0) ** 2 / 8
    assert stats.kstest(mu[0], stats.t(2 * 4.5, mean, np.sqrt(b / (4.5 * kappa))).cdf).pvalue > 1e-3
    assert stats.kstest(sigma[0] ** 2, stats.invgamma(4.5, scale=b).cdf).pvalue > 1e-3


def test_without_thresholds_ratings_are_cut_at_their_median_and_that_is_said() -> None:
    spec = NormalInverseGamma()
    drawn = spec.sample(SAID, draws=5)
    assert drawn.conditions == ("<= 3", "> 3")
    assert drawn.fitted == {"median rating": 3.0}
    assert "median rating" in spec.methods
    given = NormalInverseGamma((3.0,)).sample(SAID, draws=5)
    assert (given.dense() == drawn.dense()).all()
    assert given.fitted == {}


@pytest.mark.parametrize(("spec", "expected"), [(MeanRating(), [3.0, 4.25, 0.5]), (MedianRating(), [2.0, 4.25, 0.5])])
def test_point_estimates_are_the_mean_and_the_median_of_each_case(spec: MeanRating, expected: list[float]) -> None:
    drawn = spec.sample(SAID)
    assert drawn.case_names == ("x", "y", "z")
    assert numbers_of(drawn)[:, 0, 0].tolist() == expected
    assert (numbers_of(drawn)[..., 1] == 0).all()
    assert drawn.mean()[:, 0].tolist() == [float(one <= 3) for one in expected]


def test_medians_by_weight_are_those_of_repeated_numbers() -> None:
    rng = np.random.default_rng(2)
    rows = np.sort(np.append(np.arange(6), rng.integers(6, size=40)))
    values, weights = rng.integers(9, size=46).astype(float), rng.integers(1, 5, size=46)
    expected = [np.median(np.repeat(values[rows == row], weights[rows == row])) for row in range(6)]
    assert weighted_medians(rows, values, weights.astype(float)).tolist() == expected
