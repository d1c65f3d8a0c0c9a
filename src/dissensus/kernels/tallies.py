"""Add up over cases what every draw is worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.jit import compiled, plain


class Sums(NamedTuple):
    """Hold sums over cases by group of cases and draw, as they are and with resampled cases.

    Attributes
    ----------
    sums, resampled_sums : (n_groups, n_draws, n_columns)
        Sums of weight times value.
    weights, resampled_weights : (n_groups, n_draws)
        Sums of weights.
    squares : (n_groups,)
        Sums of squares of the cases' mean weights.
    """

    sums: FloatArray
    weights: FloatArray
    resampled_sums: FloatArray
    resampled_weights: FloatArray
    squares: FloatArray


def tally_orders(
    of_draw: IntArray,
    table: FloatArray,
    shares: FloatArray,
    weights: FloatArray,
    bootstrap: FloatArray,
    groups: IntArray,
    n_groups: int,
) -> Sums:
    """Sum what the orders of draws are worth; what is resampled is the mean of each case over its draws.

    Parameters
    ----------
    of_draw : (n_cases, n_draws)
        The order of every draw.
    table : (n_orders, n_columns)
        What each order is worth, for example by several metrics.
    shares : (n_orders,)
        How much each order counts.
    weights : (n_cases,), bootstrap : (n_cases, n_draws)
        How much each case counts, and how often it is resampled in each draw.
    groups : (n_cases,)
        The group of each case, from 0 to ``n_groups - 1``.
    """
    by_draw, n_columns = (n_groups, of_draw.shape[1]), table.shape[1]
    by_column = (*by_draw, n_columns)
    totals = (np.zeros(by_column), np.zeros(by_draw), np.zeros(by_column), np.zeros(by_draw))
    result = Sums(*totals, np.zeros(n_groups))
    arrays = (plain(table), plain(shares), plain(weights), plain(bootstrap), plain(groups))
    add_orders(plain(of_draw), *arrays, np.empty(n_columns), result)
    return result


@compiled
def add_orders(
    of_draw: IntArray,
    table: FloatArray,
    shares: FloatArray,
    weights: FloatArray,
    bootstrap: FloatArray,
    groups: IntArray,
    averages: FloatArray,
    result: Sums,
) -> None:
    """Do what :func:`tally_orders` says, for plain arrays, from zero; ``averages`` (n_columns,) is worked in."""
    (n_cases, n_draws), n_columns = of_draw.shape, len(averages)
    sums, totals, resampled, resampled_totals, squares = result
    for case in range(n_cases):
        group = groups[case]
        average_weight = 0.0
        for column in range(n_columns):
            averages[column] = 0.0
        for draw in range(n_draws):
            order = of_draw[case, draw]
            weight = weights[case] * shares[order]
            totals[group, draw] += weight
            average_weight += weight
            for column in range(n_columns):
                value = weight * table[order, column]
                sums[group, draw, column] += value
                averages[column] += value
        average_weight /= n_draws
        squares[group] += average_weight * average_weight
        for column in range(n_columns):
            averages[column] /= n_draws
        for draw in range(n_draws):
            again = bootstrap[case, draw]
            resampled_totals[group, draw] += again * average_weight
            for column in range(n_columns):
                resampled[group, draw, column] += again * averages[column]
