"""Add up over cases what every draw is worth, and what every resample is."""

from __future__ import annotations

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.jit import compiled


@compiled
def add_orders(of_draw: IntArray, worth: FloatArray, groups: IntArray, sums: FloatArray) -> None:
    """Sum over cases what the orders of draws are worth.

    Parameters
    ----------
    of_draw : (n_cases, n_draws)
        The order of every draw; cases have orders of their own.
    worth : (n_orders, n_columns)
        What each order is worth.
    groups : (n_cases,)
        The group of each case.
    sums : (n_groups, n_draws, n_columns)
        Is added to.
    """
    (n_cases, n_draws), (_, n_columns) = of_draw.shape, worth.shape
    for case in range(n_cases):
        group = groups[case]
        for draw in range(n_draws):
            order = of_draw[case, draw]
            for column in range(n_columns):
                sums[group, draw, column] += worth[order, column]


@compiled
def add_resampled(values: FloatArray, bootstrap: FloatArray, groups: IntArray, sums: FloatArray) -> None:
    """Add values (n_cases, n_columns) of cases times their bootstrap weights (n_cases, n_draws) to sums.

    ``sums`` has the shape (n_groups, n_draws, n_columns); ``groups`` (n_cases,) is the group of each case. Cases are
    added in their order.
    """
    (n_cases, n_draws), (_, n_columns) = bootstrap.shape, values.shape
    for case in range(n_cases):
        group = groups[case]
        for draw in range(n_draws):
            again = bootstrap[case, draw]
            for column in range(n_columns):
                sums[group, draw, column] += again * values[case, column]
