"""Metrics of numbers: closed forms against quadrature, moments against numpy, slopes against finite differences."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import dissensus as ds
from dissensus import metrics as m
from dissensus.aggregations import MajorityVote, MeanRating
from dissensus.core.arrays import FloatArray
from dissensus.evaluation.labels import labels_of
from dissensus.metrics.base import Truth
from dissensus.metrics.data_set import DataSetMetric, Said
from dissensus.metrics.numbers import Limit
from dissensus.plugins import Batch, Drawn, Metric, Predicted
from refusals import refused

RNG = np.random.default_rng(4)
NUMBERS = np.stack([RNG.normal(2, 1, (3, 4)), RNG.gamma(2, 0.4, (3, 4))], axis=-1)
SAID = ds.Predictions.from_numbers([1.5, 2.5, 3.0], [0.5, 1.5, 0.2])
SURE = ds.Predictions.from_numbers([1.5, 2.5, 3.0])


def batch_of(numbers: FloatArray) -> Batch:
    n_cases, n_draws, _ = numbers.shape
    flat = Batch.from_dense(np.full((n_cases, n_draws, 2), 0.5), [*map(str, range(n_cases))])
    return replace(flat, numbers=numbers)


def number_labels(numbers: FloatArray, truth: Truth) -> FloatArray:
    """Return the masses of draws of numbers as an evaluation has them: 1, y and y squared."""
    return labels_of(Drawn(batch_of(numbers), 1), truth, seed=0).block(range(numbers.shape[1]))


def values(metric: Metric, said: ds.Predictions, numbers: FloatArray = NUMBERS) -> FloatArray:
    batch = batch_of(numbers)
    return metric.values(Drawn(batch, 1), Predicted(said, batch.outline()))


def integral(function: Any, *points: float) -> float:
    return float(quad(function, -30, 30, points=points, limit=400, epsabs=1e-12)[0])


# What a metric is, as an integral over ratings or over distribution functions, and how exactly it is found.
INTEGRALS: list[tuple[Metric, Callable[[float, float, float, float], float], float]] = [
    (m.MeanAbsoluteError(), lambda x, _, mu, __: abs(x - mu), 1e-12),
    (
        m.MeanAbsoluteError("soft"),
        lambda x, _, mu, sigma: integral(lambda y: abs(x - y) * norm.pdf(y, mu, sigma), x, mu),
        1e-8,
    ),
    (m.CRPS(), lambda x, s, mu, _: integral(lambda t: (norm.cdf(t, x, s) - (t >= mu)) ** 2, x, mu), 1e-7),
    (
        m.WassersteinNumbers(),
        lambda x, s, mu, sigma: integral(lambda t: abs(norm.cdf(t, x, s) - norm.cdf(t, mu, sigma)), x, mu),
        1e-6,
    ),
]


@pytest.mark.parametrize(("metric", "function", "exact"), INTEGRALS)
def test_distances_are_integrals(metric: Metric, function: Callable[..., float], exact: float) -> None:
    assert SAID.deviations is not None
    pairs = zip(SAID.numbers, SAID.deviations, NUMBERS, strict=True)
    expected = [[function(x, s, mu, sigma) for mu, sigma in draws] for x, s, draws in pairs]
    np.testing.assert_allclose(values(metric, SAID), expected, rtol=exact)


def test_soft_crps_is_its_expectation_over_ratings() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    scores = [
        values(m.CRPS(), SAID, np.stack([NUMBERS[..., 0] + z * NUMBERS[..., 1], NUMBERS[..., 1]], axis=-1))
        for z in nodes
    ]
    expected = np.tensordot(weights / weights.sum(), np.array(scores), 1)
    np.testing.assert_allclose(values(m.CRPS("soft"), SAID), expected, rtol=1e-4)


def test_crps_of_a_model_that_is_sure_is_the_absolute_error() -> None:
    for truth in ("top", "soft"):
        crps, error = (kind.from_parameters({"truth": truth}) for kind in (m.CRPS, m.MeanAbsoluteError))
        np.testing.assert_allclose(values(crps, SURE), values(error, SURE))


@pytest.mark.parametrize("metric", [m.MeanAbsoluteError(), m.CRPS(), m.WassersteinNumbers(), m.RMSE(), m.Correlation()])
def test_metrics_of_numbers_refuse_everything_else(metric: Metric) -> None:
    metric.check(SAID)
    caught = refused("needs numbers", metric.check, ds.Predictions.from_scores([[0.2, 0.8]]))
    assert "from_numbers" in caught.advice


def test_draws_of_conditions_have_no_numbers_to_compare_with() -> None:
    [batch] = MajorityVote().sample(ds.Study.from_counts([[3, 1]], ["a", "b"], case_names=["x"]))
    refused("needs draws of numbers", m.MeanAbsoluteError().values, Drawn(batch, 1), Predicted(SURE, batch))


def test_a_mean_rating_is_compared_as_it_is() -> None:
    [batch] = MeanRating().sample(ds.Study.from_scores([[1, 2, 6]]))
    assert m.MeanAbsoluteError("soft").values(Drawn(batch, 1), Predicted(SURE, batch)).tolist() == [[1.5]]


# All cases at once --------------------------------------------------------------------------------------

N = 9
X = RNG.normal(3, 2, N)
Y = X + RNG.normal(0.4, 1, N)
WEIGHTS = RNG.uniform(0.5, 2, N)
DRAWS = np.stack([np.stack([Y, Y + RNG.normal(0, 1, N)], axis=1), RNG.gamma(2, 0.3, (N, 2))], axis=-1)

TRUTHS: tuple[Truth, ...] = ("top", "soft")
LIMITS: tuple[Limit, ...] = ("mean", "lower", "upper")
METRICS: tuple[DataSetMetric, ...] = (
    *(kind(truth) for kind in (m.RMSE, m.Correlation, m.ConcordanceCorrelation) for truth in TRUTHS),
    *(m.BlandAltman(limit, truth) for limit in LIMITS for truth in TRUTHS),
)
EVERY = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)


def said_of(x: FloatArray = X, weights: FloatArray | None = None) -> Said:
    return Said.of_scores(x[:, None], weights)


def naive(metric: DataSetMetric, x: FloatArray, y: FloatArray, weights: FloatArray) -> float:
    """Find a metric of numbers by what numpy offers."""
    gaps, shares = x - y, weights / weights.sum()
    mean = float(shares @ gaps)
    deviation = float(np.sqrt(shares @ (gaps - mean) ** 2))
    cov = np.cov(x, y, aweights=weights, ddof=0)
    if isinstance(metric, m.RMSE):
        return float(np.sqrt(shares @ gaps**2))
    if isinstance(metric, m.Correlation):
        return float(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))
    if isinstance(metric, m.ConcordanceCorrelation):
        return float(2 * cov[0, 1] / (cov[0, 0] + cov[1, 1] + (shares @ x - shares @ y) ** 2))
    assert isinstance(metric, m.BlandAltman)
    return mean + {"mean": 0.0, "lower": -1.96, "upper": 1.96}[metric.limit] * deviation


@EVERY
def test_where_draws_are_single_numbers_metrics_are_those_of_numpy(metric: DataSetMetric) -> None:
    found = metric.of_draws(said_of(weights=WEIGHTS), number_labels(DRAWS, "top"))
    expected = [naive(metric, X, DRAWS[:, draw, 0], WEIGHTS) for draw in (0, 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@EVERY
def test_soft_metrics_are_those_of_ratings_of_a_large_panel(metric: DataSetMetric) -> None:
    nodes, heights = np.polynomial.hermite_e.hermegauss(5)
    heights = heights / heights.sum()
    x, weights = np.repeat(X, 5), (WEIGHTS[:, None] * heights).ravel()
    y = (DRAWS[:, 0, :1] + DRAWS[:, 0, 1:] * nodes).ravel()
    found = metric.of_draws(said_of(weights=WEIGHTS), number_labels(DRAWS[:, :1], "soft"))
    np.testing.assert_allclose(found, naive(metric, x, y, weights), rtol=1e-10)


@EVERY
def test_slopes_are_derivatives_by_masses(metric: DataSetMetric) -> None:
    said, labels = said_of(weights=WEIGHTS), number_labels(DRAWS[:, :1], metric.truth)[0]
    slopes = metric.slopes(said, labels)
    for row, case in np.ndindex(labels.shape):
        step = np.zeros(labels.shape)
        step[row, case] = 1e-6 / WEIGHTS[case]
        up, down = metric.of_draws(said, np.stack([labels + step, labels - step]))
        assert slopes[row, case] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-7)
    assert (slopes * labels * WEIGHTS).sum() == pytest.approx(0.0, abs=1e-12)


def test_a_constant_model_has_no_correlation_and_a_perfect_one_no_error() -> None:
    labels, same, said = number_labels(DRAWS[:, :1], "top"), said_of(np.full(N, 0.1)), said_of(DRAWS[:, 0, 0])
    assert np.isnan(m.Correlation().of_draws(same, labels)).all()
    assert np.isnan(m.Correlation().slopes(same, labels[0])).all()
    assert m.RMSE().of_draws(said, labels) == pytest.approx(0.0, abs=1e-7)
    assert np.isfinite(m.RMSE().slopes(said, labels[0])).all()
    assert m.Correlation().of_draws(said, labels) == pytest.approx(1.0)


def test_metrics_of_all_cases_rest_on_as_many_cases_as_weights_leave() -> None:
    for weights, size in ((np.ones(N), N), (np.arange(N) < 2, 2)):
        sums = m.RMSE().added(
            said_of(weights=np.asarray(weights, dtype=np.float64)), number_labels(DRAWS[:, :1], "top")
        )
        assert m.RMSE().rests_upon(sums) == pytest.approx(size)
