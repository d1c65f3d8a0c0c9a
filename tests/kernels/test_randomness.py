"""Every p-value must exceed 1e-5: with fixed seeds a false alarm would have that probability per test."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import special, stats

from dissensus.kernels import randomness
from dissensus.kernels.randomness import Streams, new_streams, stream_keys, tallies
from kernels.kernel_studies import from_python
from rare import some

binomial, exponential, gamma = (from_python(f) for f in (randomness.binomial, randomness.exponential, randomness.gamma))
beta_log_odds, log_gamma, raw_normal = (
    from_python(randomness.beta_log_odds),
    from_python(randomness.log_gamma),
    from_python(randomness.raw_normal),
)
start, subkey = from_python(randomness.start), from_python(randomness.subkey)
uniform = from_python(randomness.uniform)

N = 40_000
ALARM = 1e-5


def started(key: np.uint64) -> Streams:
    streams = new_streams()
    start(streams[0], key)
    return streams


def draws(draw: Callable[..., float], *parameters: float, n: int = N) -> np.ndarray:
    streams = started(np.uint64(2024))
    return np.array([draw(streams[0], *parameters) for _ in range(n)])


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
    streams = started(np.uint64(0))
    for i in range(4):
        streams[f"s{i}"] = i + 1
    got = [uniform(streams[0]) for _ in range(20)]
    np.testing.assert_array_equal(got, [((word >> 12) + 0.5) / 2**52 for word in expected])


@pytest.mark.parametrize(
    ("draw", "distribution"),
    [(uniform, stats.uniform()), (exponential, stats.expon()), (raw_normal, stats.norm())],
    ids=["uniform", "exponential", "normal"],
)
def test_simple_distributions(draw: Callable[..., float], distribution: stats.rv_continuous) -> None:
    sample = draws(draw)
    assert stats.kstest(sample, distribution.cdf).pvalue > ALARM
    tail = distribution.ppf(0.999)
    beyond = int((sample > tail).sum())
    assert stats.binomtest(beyond, N, 0.001).pvalue > ALARM


@pytest.mark.parametrize("draw", [exponential, raw_normal], ids=["exponential", "normal"])
def test_the_tail_beyond_the_last_layer_of_the_ziggurat(draw: Callable[..., float]) -> None:
    streams = started(np.uint64(5))
    edge = 7.697117470131049 if draw is exponential else 3.654152885361008
    distribution = stats.expon() if draw is exponential else stats.norm()
    probability = distribution.sf(edge) * (1 if draw is exponential else 2)
    sample = np.abs([draw(streams[0]) for _ in range(400_000)])
    assert stats.binomtest(int((sample > edge).sum()), 400_000, probability).pvalue > ALARM


@pytest.mark.parametrize("shape", some((1e-3, 0.05, 0.5, 1.0, 1.5, 2.0, 7.3, 100.0, 1e6), 1e-3, 0.5, 1.5, 100.0))
def test_gamma(shape: float) -> None:
    if shape > 0.01:  # smaller ones underflow, their logarithms do not
        assert stats.kstest(draws(gamma, shape), stats.gamma(shape).cdf).pvalue > ALARM
    logs = draws(log_gamma, shape)
    assert np.isfinite(logs).all()
    assert stats.kstest(logs, stats.loggamma(shape).cdf).pvalue > ALARM


@pytest.mark.parametrize(("a", "b"), [(0.01, 0.02), (1.0, 1.0), (0.5, 3.0), (40.0, 60.0)])
def test_beta(a: float, b: float) -> None:
    sample = special.expit(draws(beta_log_odds, a, b))
    for point in (1e-9, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9):
        expected = float(stats.beta(a, b).cdf(point))
        assert stats.binomtest(int((sample <= point).sum()), N, expected).pvalue > ALARM


@pytest.mark.parametrize(
    ("n", "p"),
    [(1, 0.3), (3, 0.5), (10, 0.05), (10, 0.95), (25, 0.5), (60, 0.3), (200, 0.9), (1000, 0.02), (100_000, 0.4)],
)
def test_binomial(n: int, p: float) -> None:
    sample = draws(binomial, n, p)
    distribution = stats.binom(n, p)
    edges = np.unique(distribution.ppf(np.linspace(0.01, 0.99, 21)))
    observed = np.bincount(np.searchsorted(edges, sample), minlength=len(edges) + 1)
    cumulative = np.concatenate([[0.0], distribution.cdf(edges), [1.0]])
    expected = N * np.diff(cumulative)
    keep = expected > 5
    observed = np.append(observed[keep], observed[~keep].sum())
    expected = np.append(expected[keep], expected[~keep].sum())
    if expected[-1] < 5:
        observed, expected = observed[:-1], expected[:-1] * observed[:-1].sum() / expected[:-1].sum()
    assert stats.chisquare(observed, expected).pvalue > ALARM


def test_streams_are_keyed_by_seed_case_and_number() -> None:
    cases = np.array([3, 1, 2], dtype=np.uint64)
    keys = stream_keys(np.uint64(7), cases, 4)
    assert len(np.unique(keys)) == 12
    np.testing.assert_array_equal(keys[1], stream_keys(np.uint64(7), cases[1:2], 9)[0, :4])
    assert not np.isin(keys, stream_keys(np.uint64(8), cases, 4)).any()
    assert subkey(np.uint64(1), np.uint64(2)) != subkey(np.uint64(2), np.uint64(1))
    assert keys[2, 3] == subkey(subkey(np.uint64(7), cases[2]), np.uint64(3))


def test_neighbouring_keys_give_unrelated_streams() -> None:
    keys = stream_keys(np.uint64(0), np.arange(4000).astype(np.uint64), 1)[:, 0]
    first = np.empty(4000)
    for i, key in enumerate(keys):
        first[i] = uniform(started(key)[0])
    assert stats.kstest(first, stats.uniform().cdf).pvalue > ALARM
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 4.5 / np.sqrt(4000)


def test_a_stream_starts_again_and_counts_what_it_gave() -> None:
    streams = started(np.uint64(3))
    once = [gamma(streams[0], 2.0), exponential(streams[0]), uniform(streams[0]), gamma(streams[0], 1.0)]
    assert tallies(streams).tolist() == [1, 2, 1]
    start(streams[0], np.uint64(3))
    assert gamma(streams[0], 2.0) == once[0]


def test_binomial_at_its_limits() -> None:
    for n, p, value in ((0, 0.5, 0), (7, 0.0, 0), (7, 1.0, 7), (10**12, 1.0, 10**12)):
        assert binomial(started(np.uint64(1))[0], n, p) == value
    scores = (draws(binomial, 10**12, 0.3) - 3e11) / np.sqrt(2.1e11)
    assert stats.kstest(scores, stats.norm.cdf).pvalue > ALARM
