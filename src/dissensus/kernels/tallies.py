"""Add up over cases what every draw is worth, and what every resample is."""

from __future__ import annotations

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.jit import compiled, plain


def tally_orders(
    of_draw: IntArray, table: FloatArray, shares: FloatArray, weights: FloatArray, groups: IntArray, n_groups: int
) -> tuple[FloatArray, FloatArray]:
    """Sum what the orders of draws are worth.

    Parameters
    ----------
    of_draw : (n_cases, n_draws)
        The order of every draw.
    table : (n_orders, n_columns)
        What each order is worth, for example by several metrics.
    shares : (n_orders,)
        How much each order counts.
    weights : (n_cases,)
        How much each case counts.
    groups : (n_cases,)
        The group of each case, from 0 to ``n_groups - 1``.

    Returns
    -------
    sums : (n_groups, n_draws, n_columns)
        Sums over cases of weight times share times worth.
    weights : (n_groups, n_draws)
        Sums over cases of weight times share.
    """
    sums = np.zeros((n_groups, of_draw.shape[1], table.shape[1]))
    totals = np.zeros((n_groups, of_draw.shape[1]))
    add_orders(plain(of_draw), plain(table), plain(shares), plain(weights), plain(groups), sums, totals)
    return sums, totals


@compiled
def add_orders(
    of_draw: IntArray,
    table: FloatArray,
    shares: FloatArray,
    weights: FloatArray,
    groups: IntArray,
    sums: FloatArray,
    totals: FloatArray,
) -> None:
    """Do what :func:`tally_orders` says, for plain arrays, from zero."""
    (n_cases, n_draws), (_, n_columns) = of_draw.shape, table.shape
    for case in range(n_cases):
        group = groups[case]
        for draw in range(n_draws):
            order = of_draw[case, draw]
            weight = weights[case] * shares[order]
            totals[group, draw] += weight
            for column in range(n_columns):
                sums[group, draw, column] += weight * table[order, column]


@compiled
def add_resampled(values: FloatArray, bootstrap: FloatArray, groups: IntArray, sums: FloatArray) -> None:
    """Add values (n_cases, n_columns) of cases times their bootstrap weights (n_cases, n_draws) to sums.

    ``sums`` has the shape (n_groups, n_draws, n_columns); ``groups`` (n_cases,) is the group of each case.
    """
    (n_cases, n_draws), (_, n_columns) = bootstrap.shape, values.shape
    for case in range(n_cases):
        group = groups[case]
        for draw in range(n_draws):
            again = bootstrap[case, draw]
            for column in range(n_columns):
                sums[group, draw, column] += again * values[case, column]
