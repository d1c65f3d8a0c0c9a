"""Areas under curves and points of them: cases in the order of their scores, positive and negative masses per draw.

The cases are sorted once; then every draw is one pass over them. The curve is that of the receiver: positive mass above
a threshold over negative mass above it, both as they are, and a straight line through cases with the same score.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.jit import compiled, plain


class Ranked(NamedTuple):
    """Hold cases by descending score.

    Attributes
    ----------
    order : (m,)
        Positions of the cases.
    offsets : (n_ties + 1,)
        Where in that order the cases of each different score begin.
    """

    order: IntArray
    offsets: IntArray


def ranked(scores: FloatArray) -> Ranked:
    """Sort cases by their scores (m,), the highest first; equal ones stay in their order.

    >>> ranked(np.array([0.2, 0.9, 0.2]))
    Ranked(order=array([1, 0, 2]), offsets=array([0, 1, 3]))
    """
    order = np.argsort(-scores, kind="stable")
    begins = np.flatnonzero(np.diff(scores[order], prepend=np.nan))
    return Ranked(order, np.append(begins, len(order)))


def pair_shares(cases: Ranked, positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Return how often a positive case has a higher score than a negative one, shape (n_draws,).

    Equal scores count half, and no case is compared with itself. Where there is no pair, nan.

    Parameters
    ----------
    cases
        The cases by score.
    positive, negative : (n_draws, m)
        Masses of each case.

    Examples
    --------
    >>> cases = ranked(np.array([0.9, 0.5, 0.5]))
    >>> pair_shares(cases, np.array([[1.0, 0.0, 1.0]]), np.array([[0.0, 1.0, 0.0]]))
    array([0.75])
    """
    shares = np.empty(len(positive))
    fill_pair_shares(cases, plain(positive), plain(negative), shares)
    return shares


@compiled
def fill_pair_shares(cases: Ranked, positive: FloatArray, negative: FloatArray, shares: FloatArray) -> None:
    """Do what :func:`pair_shares` says, for plain arrays."""
    for draw in range(len(shares)):
        above, below, won, lost, own = 0.0, 0.0, 0.0, 0.0, 0.0
        for tie in range(len(cases.offsets) - 1):
            yes, no, same = 0.0, 0.0, 0.0
            for place in range(cases.offsets[tie], cases.offsets[tie + 1]):
                case = cases.order[place]
                yes += positive[draw, case]
                no += negative[draw, case]
                same += positive[draw, case] * negative[draw, case]
            won += no * (above + 0.5 * yes)
            lost += yes * (below + 0.5 * no)
            above += yes
            below += no
            own += same
        pairs = won + lost
        shares[draw] = (won - 0.5 * own) / (pairs - own) if pairs - own > 1e-14 * pairs else np.nan


def average_precisions(cases: Ranked, positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Return the average of the precision over positive mass, shape (n_draws,); nan where there is none.

    The precision of a case is that of a threshold at its score.

    Examples
    --------
    >>> cases = ranked(np.array([0.9, 0.5, 0.1]))
    >>> average_precisions(cases, np.array([[1.0, 0.0, 1.0]]), np.array([[0.0, 1.0, 0.0]])).round(3)
    array([0.833])
    """
    averages = np.empty(len(positive))
    fill_average_precisions(cases, plain(positive), plain(negative), averages)
    return averages


@compiled
def fill_average_precisions(cases: Ranked, positive: FloatArray, negative: FloatArray, averages: FloatArray) -> None:
    """Do what :func:`average_precisions` says, for plain arrays."""
    for draw in range(len(averages)):
        above, everyone, total = 0.0, 0.0, 0.0
        for tie in range(len(cases.offsets) - 1):
            yes, no = 0.0, 0.0
            for place in range(cases.offsets[tie], cases.offsets[tie + 1]):
                yes += positive[draw, cases.order[place]]
                no += negative[draw, cases.order[place]]
            above += yes
            everyone += yes + no
            if yes > 0.0:
                total += yes * above / everyone
        averages[draw] = total / above if above > 0.0 else np.nan


def heights_and_areas(
    cases: Ranked, positive: FloatArray, negative: FloatArray, limit: float
) -> tuple[FloatArray, FloatArray]:
    """Return the height of the curve at a share of the negative mass, and the area up to there, each (n_draws,).

    Both are shares: of the positive mass, and of the whole square. Where one of the masses is missing, nan.

    Examples
    --------
    >>> cases = ranked(np.array([0.9, 0.5, 0.1, 0.05]))
    >>> yes = np.array([[1.0, 0.0, 1.0, 0.0]])
    >>> heights_and_areas(cases, yes, 1 - yes, 0.75)
    (array([1.]), array([0.5]))
    """
    found = np.empty((2, len(positive)))
    fill_heights_and_areas(cases, plain(positive), plain(negative), limit, found)
    return found[0], found[1]


@compiled
def fill_heights_and_areas(
    cases: Ranked, positive: FloatArray, negative: FloatArray, limit: float, found: FloatArray
) -> None:
    """Do what :func:`heights_and_areas` says, for plain arrays; heights stand above areas (2, n_draws)."""
    for draw in range(len(positive)):
        whole_yes, whole_no = 0.0, 0.0
        for case in range(len(cases.order)):
            whole_yes += positive[draw, case]
            whole_no += negative[draw, case]
        end = limit * whole_no
        height, width, area = 0.0, 0.0, 0.0
        for tie in range(len(cases.offsets) - 1):
            yes, no = 0.0, 0.0
            for place in range(cases.offsets[tie], cases.offsets[tie + 1]):
                yes += positive[draw, cases.order[place]]
                no += negative[draw, cases.order[place]]
            left = end - width
            if no > left + 1e-12 * whole_no:  # the curve reaches the limit within these cases
                area += left * (height + 0.5 * yes * left / no)
                height += yes * left / no
                break
            area += no * (height + 0.5 * yes)
            height += yes
            width += no
        is_known = whole_yes > 0.0 and whole_no > 0.0
        found[0, draw] = height / whole_yes if is_known else np.nan
        found[1, draw] = area / (whole_yes * whole_no) if is_known else np.nan
