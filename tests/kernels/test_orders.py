"""The orders of draws: as plain sorting finds them, at the sizes where their numbers stop fitting into one word."""

import numpy as np
import pytest

from dissensus.core.arrays import FloatArray
from dissensus.kernels.compact import Layout
from dissensus.kernels.orders import draw_orders


def draws_of(size: int, n_draws: int) -> FloatArray:
    """Let any two conditions lead, sometimes tied, and leave some mass to others in every other draw."""
    rng = np.random.default_rng(size)
    values = np.arange(float(size), 0.0, -1.0) + np.zeros((n_draws, 1))
    leaders = rng.permuted(np.tile(np.arange(size), (n_draws, 1)), axis=1)[:, :2]
    np.put_along_axis(values, leaders, np.where(rng.random((n_draws, 1)) < 0.9, [40.0, 30.0], 30.0), axis=1)
    return np.column_stack([values, 0.01 * rng.integers(0, 2, n_draws)])


@pytest.mark.parametrize("size", [2, 4, 15, 16, 17, 18])
def test_orders_are_those_of_sorting(size: int) -> None:
    values = draws_of(size, 600)
    support, keys = np.arange(size), np.zeros(1, dtype=np.uint64)
    layout = Layout(
        len(values),
        size + 2,
        np.array([0, size]),
        support,
        np.ones(1),
        keys,
        np.empty(0),
        np.empty(0, dtype=np.int64),
        np.empty(0),
    )
    mentioned = values[:, :size]
    above = (mentioned[:, None] > mentioned[:, :, None]).sum(axis=2)
    tied = (mentioned[:, None] == mentioned[:, :, None]).sum(axis=2)
    for depth in {1, 2, min(size, 15), min(size, 16), min(size, 17)}:
        orders = draw_orders(layout, np.ascontiguousarray(values.ravel()), depth)
        found = orders.above.reshape(-1, size)[orders.of_draw[0]]
        np.testing.assert_array_equal(found, np.minimum(above, depth))
        matters = found < depth
        np.testing.assert_array_equal(orders.tied.reshape(-1, size)[orders.of_draw[0]][matters], tied[matters])
        np.testing.assert_array_equal(orders.has_rest[orders.of_draw[0]], values[:, size] > 0)
        np.testing.assert_array_equal(orders.counts, np.bincount(orders.of_draw[0]))
        assert len(orders.counts) == len(np.unique(np.column_stack([found, values[:, size]]), axis=0))
