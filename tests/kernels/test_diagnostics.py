import numpy as np
import pytest
from arviz_stats.base.array import array_stats

from dissensus.kernels.chains import diagnose


def autoregressive(phi: float, chains: int, draws: int, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=(chains, draws))
    for t in range(1, draws):
        noise[:, t] += phi * noise[:, t - 1]
    return noise


@pytest.mark.parametrize("phi", [-0.6, 0.0, 0.5, 0.97])
@pytest.mark.parametrize(("chains", "draws"), [(1, 1000), (4, 251), (2, 8), (3, 4)])
@pytest.mark.parametrize("kind", ["continuous", "rounded", "indicator", "drifting"])
def test_diagnostics_are_those_of_arviz(phi: float, chains: int, draws: int, kind: str) -> None:
    series = autoregressive(phi, chains, draws, seed=7)
    if kind == "rounded":
        series = np.round(series)
    if kind == "indicator":
        series = (series > 0.3).astype(np.float64)
    if kind == "drifting":
        series = series + np.arange(chains)[:, None]
    got = diagnose(series[None])
    if np.ptp(series) == 0:
        pytest.skip("a constant series, tested below")
    axes = {"chain_axis": 0, "draw_axis": 1}
    expected_size = array_stats.ess(series, **axes)
    assert got.bulk_ess[0] == pytest.approx(expected_size, rel=1e-6)
    assert got.mean_ess[0] == pytest.approx(array_stats.ess(series, method="mean", **axes), rel=1e-6)
    if chains > 1 and kind != "indicator":
        assert got.r_hat[0] == pytest.approx(array_stats.rhat(series, **axes), rel=1e-6)
    if draws % 2 == 0:
        assert got.standard_error[0] == pytest.approx(array_stats.mcse(series, **axes), rel=1e-6)


def test_a_constant_series_is_exactly_known() -> None:
    got = diagnose(np.full((2, 3, 50), 0.25))
    assert got.bulk_ess.tolist() == got.mean_ess.tolist() == [150, 150]
    assert got.r_hat.tolist() == [1, 1]
    assert got.standard_error.tolist() == [0, 0]


def test_series_do_not_influence_each_other() -> None:
    many = np.stack([autoregressive(phi, 2, 100, seed=3) for phi in (0.0, 0.5, 0.9)])
    together = diagnose(many)
    for i in range(3):
        alone = diagnose(many[i : i + 1])
        for a, b in zip(alone, together, strict=True):
            assert a[0] == b[i]
