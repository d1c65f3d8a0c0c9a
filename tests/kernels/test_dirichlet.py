import numpy as np
import pytest
from scipy import stats

from dissensus.kernels.randomness import stream_keys
from dissensus.kernels.simplex import sample_dirichlet

ALARM = 1e-5  # bound on p-values; seeds are fixed


def sample(shapes: list[float], draws: int, seed: int = 1) -> np.ndarray:
    values = np.empty(draws * len(shapes))
    keys = stream_keys(np.uint64(seed), np.zeros(1, dtype=np.uint64), 1)
    sample_dirichlet(np.array(shapes), np.array([0, len(shapes)]), keys, (0, 1), values)
    return values.reshape(draws, -1)


@pytest.mark.parametrize("shapes", [[1.0, 2.0, 3.5], [0.2, 0.7, 4.0], [0.01, 0.02, 0.03], [300.0, 1.0, 0.05]])
def test_marginals_are_beta(shapes: list[float]) -> None:
    values = sample(shapes, 5000)
    np.testing.assert_allclose(values.sum(axis=1), 1.0)
    for k, shape in enumerate(shapes):
        # Below 1e-300 a share is zero in floating point: compare what is left of the distribution.
        share = np.maximum(values[:, k], 1e-280)
        cdf = stats.beta(shape, sum(shapes) - shape).cdf
        grid = np.quantile(share, [0.1, 0.3, 0.5, 0.7, 0.9])
        below = (share[:, None] <= grid).sum(axis=0)
        for count, point in zip(below, grid, strict=True):
            if 1e-270 < point < 1 - 1e-12:
                assert stats.binomtest(int(count), 5000, float(cdf(point))).pvalue > ALARM


def test_tiny_shapes_never_give_zero_over_zero() -> None:
    values = sample([1e-6, 1e-6, 1e-6, 0.0], 500)
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values.sum(axis=1), 1.0)
    assert (values[:, 3] == 0).all()
    assert {int(k) for k in values.argmax(axis=1)} == {0, 1, 2}
