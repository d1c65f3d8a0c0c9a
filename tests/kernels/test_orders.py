"""The orders of draws: as plain sorting finds them, at the sizes where their numbers stop fitting into one word."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.core.aliases import FloatArray
from dissensus.kernels.compact import Layout
from dissensus.kernels.orders import draw_orders


def draws_of(size: int, n_draws: int, rest: float) -> FloatArray:
    """Draw many orders of the first few and of the last two conditions, whose numbers are easily mixed up."""
    rng = np.random.default_rng(size)
    values = np.arange(size, 0, -1) + np.zeros((n_draws, 1))
    values[:, : min(4, size)] = rng.permuted(values[:, : min(4, size)], axis=1)
    values[:, -2:] = np.where(rng.random((n_draws, 1)) < 0.5, values[:, -2:], values[:, -2:] + rng.integers(0, size))
    rows = np.column_stack([values, np.full(n_draws, rest)])
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("rest", [0.0, 1e-3])
@pytest.mark.parametrize("size", [2, 4, 15, 16, 17, 18])
def test_orders_are_those_of_sorting(size: int, rest: float) -> None:
    values = draws_of(size, 300, rest)
    layout = Layout(len(values), size + 2, np.array([0, size]), np.ones(1), np.zeros(1, dtype=np.uint64))
    mentioned = values[:, :size]
    above = (mentioned[:, None] > mentioned[:, :, None]).sum(axis=2)
    tied = (mentioned[:, None] == mentioned[:, :, None]).sum(axis=2)
    for depth in {1, 2, min(size, 15), min(size, 16), min(size, 17)}:
        orders = draw_orders(layout, np.ascontiguousarray(values.ravel()), depth)
        found = orders.above.reshape(-1, size)[orders.of_draw[0]]
        np.testing.assert_array_equal(found, np.minimum(above, depth))
        matters = found < depth
        np.testing.assert_array_equal(orders.tied.reshape(-1, size)[orders.of_draw[0]][matters], tied[matters])
        assert len(orders.counts) == len(np.unique(np.minimum(above, depth), axis=0))
        assert orders.counts.sum() == len(values)
