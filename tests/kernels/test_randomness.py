"""Every p-value must exceed 1e-5: with fixed seeds a false alarm would have that probability per test."""

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from dissensus.kernels import randomness
from dissensus.kernels.randomness import Streams, new_streams, stream_keys, tallies
from dissensus.kernels.simplex import sample_dirichlet
from kernels.kernel_studies import from_python
from rare import some

NAMES = ("binomial", "exponential", "gamma", "beta_log_odds", "log_gamma", "raw_normal", "start", "subkey", "uniform")
kernel = {name: from_python(getattr(randomness, name)) for name in NAMES}

N = 40_000
ALARM = 1e-5


def started(key: int) -> Streams:
    streams = new_streams()
    kernel["start"](streams[0], np.uint64(key))
    return streams


def draws(name: str, *parameters: float, n: int = N, key: int = 2024) -> np.ndarray:
    streams = started(key)
    return np.array([kernel[name](streams[0], *parameters) for _ in range(n)])


def test_the_words_are_those_of_xoshiro256plusplus() -> None:
    state, expected = [1, 2, 3, 4], []
    full = 2**64 - 1
    for _ in range(20):
        total = (state[0] + state[3]) & full
        expected.append((((total << 23) | (total >> 41)) + state[0]) & full)
        shifted = (state[1] << 17) & full
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= shifted
        state[3] = ((state[3] << 45) | (state[3] >> 19)) & full
    streams = started(0)
    for i in range(4):
        streams[f"s{i}"] = i + 1
    got = [kernel["uniform"](streams[0]) for _ in range(20)]
    np.testing.assert_array_equal(got, [((word >> 12) + 0.5) / 2**52 for word in expected])


SHAPES = (1e-3, 0.05, 0.5, 1.0, 1.5, 2.0, 7.3, 100.0, 1e6)
LAWS: dict[str, Any] = {
    "uniform": stats.uniform,
    "exponential": stats.expon,
    "raw_normal": stats.norm,
    "gamma": stats.gamma,
    "log_gamma": stats.loggamma,
}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        *((name, ()) for name in ("uniform", "exponential", "raw_normal")),
        # smaller shapes underflow, their logarithms do not
        *some([("gamma", (shape,)) for shape in SHAPES[1:]], *(("gamma", (shape,)) for shape in (0.5, 1.5, 100.0))),
        *some(
            [("log_gamma", (shape,)) for shape in SHAPES], *(("log_gamma", (shape,)) for shape in (1e-3, 0.5, 100.0))
        ),
    ],
)
def test_draws_have_the_distribution_that_they_should_have(name: str, parameters: tuple[float, ...]) -> None:
    sample, law = draws(name, *parameters), LAWS[name](*parameters)
    assert np.isfinite(sample).all()
    assert stats.kstest(sample, law.cdf).pvalue > ALARM
    assert stats.binomtest(int((sample > law.ppf(0.999)).sum()), N, 0.001).pvalue > ALARM


@pytest.mark.parametrize(
    ("name", "edge", "sides"), [("exponential", 7.697117470131049, 1), ("raw_normal", 3.654152885361008, 2)]
)
def test_the_tail_beyond_the_last_layer_of_the_ziggurat(name: str, edge: float, sides: int) -> None:
    beyond = int((np.abs(draws(name, n=400_000, key=5)) > edge).sum())
    assert stats.binomtest(beyond, 400_000, sides * LAWS[name]().sf(edge)).pvalue > ALARM


@pytest.mark.parametrize(("a", "b"), [(0.01, 0.02), (1.0, 1.0), (0.5, 3.0), (40.0, 60.0)])
def test_beta(a: float, b: float) -> None:
    assert_quantiles(special.expit(draws("beta_log_odds", a, b)), a, b, (1e-9, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9))


def assert_quantiles(sample: np.ndarray, a: float, b: float, points: tuple[float, ...]) -> None:
    """Compare how many draws are below some points with a beta distribution."""
    for point in points:
        below = int((sample <= point).sum())
        assert stats.binomtest(below, len(sample), float(stats.beta(a, b).cdf(point))).pvalue > ALARM


@pytest.mark.parametrize(
    ("n", "p"),
    [(1, 0.3), (3, 0.5), (10, 0.05), (10, 0.95), (25, 0.5), (60, 0.3), (200, 0.9), (1000, 0.02), (100_000, 0.4)],
)
def test_binomial(n: int, p: float) -> None:
    sample, law = draws("binomial", n, p), stats.binom(n, p)
    edges = np.unique(law.ppf(np.linspace(0.01, 0.99, 21)))
    observed = np.bincount(np.searchsorted(edges, sample), minlength=len(edges) + 1)
    expected = N * np.diff(law.cdf(edges), prepend=0.0, append=1.0)
    keep = expected > 5
    for count, mean in zip(observed[keep], expected[keep], strict=True):
        assert stats.binomtest(int(count), N, min(1.0, mean / N)).pvalue > ALARM
    assert observed[~keep].sum() < 40


def test_binomial_at_its_limits() -> None:
    for n, p, value in ((0, 0.5, 0), (7, 0.0, 0), (7, 1.0, 7), (10**12, 1.0, 10**12)):
        assert draws("binomial", n, p, n=1) == value
    scores = (draws("binomial", 10**12, 0.3) - 3e11) / np.sqrt(2.1e11)
    assert stats.kstest(scores, stats.norm.cdf).pvalue > ALARM


def test_streams_are_keyed_by_seed_case_and_number() -> None:
    cases, subkey = np.array([3, 1, 2], dtype=np.uint64), kernel["subkey"]
    keys = stream_keys(np.uint64(7), cases, 4)
    assert len(np.unique(keys)) == 12
    np.testing.assert_array_equal(keys[1], stream_keys(np.uint64(7), cases[1:2], 9)[0, :4])
    assert not np.isin(keys, stream_keys(np.uint64(8), cases, 4)).any()
    assert subkey(np.uint64(1), np.uint64(2)) != subkey(np.uint64(2), np.uint64(1))
    assert keys[2, 3] == subkey(subkey(np.uint64(7), cases[2]), np.uint64(3))


def test_neighbouring_keys_give_unrelated_streams() -> None:
    keys = stream_keys(np.uint64(0), np.arange(4000).astype(np.uint64), 1)[:, 0]
    first = np.concatenate([draws("uniform", n=1, key=key) for key in keys])
    assert stats.kstest(first, stats.uniform().cdf).pvalue > ALARM
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 4.5 / np.sqrt(4000)


def test_a_stream_starts_again_and_counts_what_it_gave() -> None:
    streams = started(3)
    once = [
        kernel[name](streams[0], *given)
        for name, *given in (("gamma", 2.0), ("exponential",), ("uniform",), ("gamma", 1.0))
    ]
    assert tallies(streams).tolist() == [1, 2, 1]
    assert draws("gamma", 2.0, n=1, key=3) == once[0]


def dirichlet(shapes: list[float], draws: int) -> np.ndarray:
    values, keys = np.empty(draws * len(shapes)), stream_keys(np.uint64(1), np.zeros(1, dtype=np.uint64), 1)
    sample_dirichlet(np.array(shapes), np.array([0, len(shapes)]), keys, (0, 1), values)
    return values.reshape(draws, -1)


@pytest.mark.parametrize("shapes", [[1.0, 2.0, 3.5], [0.2, 0.7, 4.0], [0.01, 0.02, 0.03], [300.0, 1.0, 0.05]])
def test_marginals_of_dirichlet_draws_are_beta(shapes: list[float]) -> None:
    values = dirichlet(shapes, 5000)
    np.testing.assert_allclose(values.sum(axis=1), 1.0)
    for k, shape in enumerate(shapes):
        # Below 1e-300 a share is zero in floating point: compare what is left of the distribution.
        share = np.maximum(values[:, k], 1e-280)
        points = tuple(p for p in np.quantile(share, [0.1, 0.3, 0.5, 0.7, 0.9]) if 1e-270 < p < 1 - 1e-12)
        assert_quantiles(share, shape, sum(shapes) - shape, points)


def test_tiny_shapes_never_give_zero_over_zero() -> None:
    values = dirichlet([1e-6, 1e-6, 1e-6, 0.0], 500)
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values.sum(axis=1), 1.0)
    assert (values[:, 3] == 0).all()
    assert {int(k) for k in values.argmax(axis=1)} == {0, 1, 2}
