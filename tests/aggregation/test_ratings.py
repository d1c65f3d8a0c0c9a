"""Ratings: shifts of annotators against the dense mixed model, and the numbers that draws carry."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import optimize, stats

from dissensus import Study
from dissensus.aggregations import (
    MeanRating,
    MedianRating,
    NormalInverseGamma,
    NormalInverseGammaPrior,
    annotator_shifts,
)
from dissensus.aggregations.normal_inverse_gamma import estimated_shifts
from dissensus.core.arrays import FloatArray
from dissensus.draws import Plausibilities
from dissensus.study.opinions import weighted_medians

SHIFTS = np.array([0.9, -0.4, 0.1, -0.8, 0.5])


def rated(n_cases: int = 40, noise: float = 0.5, seed: int = 1, shifts: FloatArray = SHIFTS) -> Study:
    """Let three of the annotators rate every case."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"c{case}", "ABCDEFGHIJ"[who], truth + shifts[who] + rng.normal(0, noise))
        for case, truth in enumerate(rng.normal(3, 1, n_cases))
        for who in rng.choice(len(shifts), 3, replace=False)
    ]
    return Study.from_long(pl.DataFrame(rows, schema=["case", "annotator", "score"], orient="row"))


def dense_fit(said: Study) -> tuple[FloatArray, FloatArray, float, float]:
    """Fit the mixed model with cases as fixed effects by its dense restricted likelihood."""
    n, cases = said.n_ratings, np.eye(said.n_cases)[said.panel.case_of_opinion]
    who = np.eye(len(said.annotator_names))[said.annotators]

    def parts(logs: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        between, noise = np.exp(logs)
        inverse = np.linalg.inv(between * who @ who.T + noise * np.eye(n))
        information = cases.T @ inverse @ cases
        project = inverse - inverse @ cases @ np.linalg.solve(information, cases.T @ inverse)
        value = -np.linalg.slogdet(inverse)[1] + np.linalg.slogdet(information)[1] + said.scores @ project @ said.scores
        return inverse, project, np.array([between, noise]), float(value)

    minimize: Any = optimize.minimize
    found = minimize(lambda logs: parts(np.asarray(logs))[3], [0.0, 0.0], method="Nelder-Mead", tol=1e-10)
    _, project, (between, noise), _ = parts(found.x)
    shifts = between * who.T @ project @ said.scores
    covariance = between * np.eye(who.shape[1]) - between**2 * who.T @ project @ who
    return shifts, np.sqrt(np.diag(covariance)), between, noise


def test_shifts_are_those_of_the_dense_mixed_model() -> None:
    said = rated(15)
    shifts, errors, between, noise = dense_fit(said)
    found = estimated_shifts(said.opinions)
    np.testing.assert_allclose(found.values, shifts, atol=1e-4)
    np.testing.assert_allclose(found.errors, errors, rtol=1e-3)
    assert found.variance == pytest.approx(between, rel=1e-3)
    assert found.noise == pytest.approx(noise, rel=1e-3)


def test_shifts_are_recovered_from_many_cases_and_nearly_vanish_where_there_are_none() -> None:
    table = annotator_shifts(rated(2000)).sort("annotator")
    np.testing.assert_allclose(table["shift"], SHIFTS - SHIFTS.mean(), atol=0.05)
    assert table["n_ratings"].sum() == 6000
    found = estimated_shifts(rated(200, shifts=np.zeros(5), seed=3).opinions)
    assert found.variance < 0.01
    assert np.abs(found.values).max() < 0.1


def test_shifts_are_taken_away_before_the_number_of_a_case_is_drawn() -> None:
    said = rated(300)
    truths = np.random.default_rng(1).normal(3, 1, 300)  # the first numbers of the generator
    errors = {}
    for shifts in (False, True):
        drawn = NormalInverseGamma(shifts=shifts).sample(said, draws=100)
        means = np.concatenate([batch.numbers[..., 0].mean(axis=1) for batch in drawn if batch.numbers is not None])
        errors[shifts] = np.std(means - truths)
    assert errors[True] < 0.8 * errors[False]
    assert set(drawn.fitted) == {"median rating", "spread of shifts"}
    assert 0.3 < drawn.fitted["spread of shifts"] < 1.5


def test_nameless_ratings_among_named_ones_stay_as_they_are() -> None:
    named = rated(20)
    rows = {"case": ["c0"], "annotator": [None], "score": [7.0]}
    table = pl.DataFrame(
        {
            "case": [named.case_names[i] for i in named.panel.case_of_opinion],
            "annotator": [named.annotator_names[i] for i in named.annotators],
            "score": named.scores,
        }
    )
    both = Study.from_long(pl.concat([table, pl.DataFrame(rows, schema=table.schema)]))
    np.testing.assert_allclose(
        np.sort(estimated_shifts(both.opinions).values), np.sort(estimated_shifts(named.opinions).values)
    )


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
