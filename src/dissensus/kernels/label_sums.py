"""Sums of masses of labels over cases, and areas under curves, draw by draw: the same bits in any company.

For areas, and points of curves, masses are added up by score; then every draw is one pass over the different scores.
The curve is that of the receiver: positive mass above a threshold over negative mass above it, both as they are, and a
straight line through cases with the same score.
"""

from __future__ import annotations

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.jit import compiled, filled


def weighted_sums(numbers: FloatArray, masses: FloatArray) -> FloatArray:
    """Add up masses (n_draws, m) times several numbers of each case (n_numbers, m), shape (n_numbers, n_draws).

    >>> weighted_sums(np.array([[1.0, 0.0]]), np.array([[0.5, 2.0], [1.0, 3.0]]))
    array([[0.5, 1. ]])
    """
    return filled(np.empty((len(numbers), len(masses))), fill_weighted_sums, numbers, masses)


@compiled
def fill_weighted_sums(numbers: FloatArray, masses: FloatArray, sums: FloatArray) -> None:
    """Do what :func:`weighted_sums` says, for plain arrays."""
    n_draws, n_cases = masses.shape
    for draw in range(n_draws):
        for row in range(len(numbers)):
            total = 0.0
            for case in range(n_cases):
                total += numbers[row, case] * masses[draw, case]
            sums[row, draw] = total


def confusions(labels: FloatArray, weights: FloatArray, picks: FloatArray) -> FloatArray:
    """Add up how much of which label was called what, shape (n_draws, K, K): labels in rows, calls in columns.

    Parameters
    ----------
    labels : (n_draws, K, m)
        How much of each case has which label.
    weights : (m,)
        How much each case counts.
    picks : (m, K)
        How much of each case is called what.

    Examples
    --------
    >>> confusions(np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.ones(2), np.array([[1.0, 0.0], [0.5, 0.5]]))
    array([[[1. , 0. ],
            [0.5, 0.5]]])
    """
    n_draws, n_conditions, _ = labels.shape
    case, code = np.nonzero(picks)
    offsets = np.searchsorted(case, np.arange(len(weights) + 1))
    found = np.zeros((n_draws, n_conditions, n_conditions))
    return filled(found, fill_confusions, labels, weights, offsets, code, picks[case, code])


@compiled
def fill_confusions(
    labels: FloatArray, weights: FloatArray, offsets: IntArray, codes: IntArray, shares: FloatArray, found: FloatArray
) -> None:
    """Do what :func:`confusions` says, for plain arrays; the calls of a case are codes and shares side by side."""
    n_draws, n_conditions, n_cases = labels.shape
    for draw in range(n_draws):
        for label in range(n_conditions):
            for case in range(n_cases):
                mass = labels[draw, label, case] * weights[case]
                if mass > 0.0:
                    for pick in range(offsets[case], offsets[case + 1]):
                        found[draw, label, codes[pick]] += mass * shares[pick]


def binned_sums(
    place: IntArray, bins: int, probabilities: FloatArray, positive: FloatArray, negative: FloatArray
) -> FloatArray:
    """Add up six numbers over the cases of each bin, shape (6, n_draws, bins).

    They are mass, mass times probability, positive mass, its square, its product with mass, and the square of mass.

    Parameters
    ----------
    place, bins
        The bin of each case (m,), and how many there are.
    probabilities : (m,)
        What the model says.
    positive, negative : (n_draws, m)
        Masses of each case.

    Examples
    --------
    >>> yes = np.array([[1.0, 0.0, 0.5]])
    >>> sums = binned_sums(np.array([0, 0, 1]), 2, np.array([0.2, 0.4, 0.8]), yes, 1 - yes)
    >>> sums[0], sums[2]
    (array([[2., 1.]]), array([[1. , 0.5]]))
    """
    return filled(np.zeros((6, len(positive), bins)), fill_binned_sums, place, probabilities, positive, negative)


@compiled
def fill_binned_sums(
    place: IntArray, probabilities: FloatArray, positive: FloatArray, negative: FloatArray, sums: FloatArray
) -> None:
    """Do what :func:`binned_sums` says, for plain arrays."""
    for draw in range(len(positive)):
        for case in range(len(place)):
            yes, here = positive[draw, case], place[case]
            mass = yes + negative[draw, case]
            sums[0, draw, here] += mass
            sums[1, draw, here] += mass * probabilities[case]
            sums[2, draw, here] += yes
            sums[3, draw, here] += yes * yes
            sums[4, draw, here] += yes * mass
            sums[5, draw, here] += mass * mass


def step_sums(places: IntArray, steps: int, positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Add up positive and negative mass by step, then their products and squares, shape (n_draws, 2 * steps + 3).

    Parameters
    ----------
    places, steps
        The step of each case (m,), and how many there are.
    positive, negative : (n_draws, m)
        Masses of each case.

    Examples
    --------
    >>> step_sums(np.array([1, 0, 1]), 2, np.array([[1.0, 0.0, 0.5]]), np.array([[0.0, 1.0, 0.5]]))
    array([[0.  , 1.5 , 1.  , 0.5 , 0.25, 1.25, 1.25]])
    """
    return filled(np.zeros((len(positive), 2 * steps + 3)), fill_step_sums, places, positive, negative)


@compiled
def fill_step_sums(places: IntArray, positive: FloatArray, negative: FloatArray, sums: FloatArray) -> None:
    """Do what :func:`step_sums` says, for plain arrays."""
    steps = (sums.shape[1] - 3) // 2
    for draw in range(len(positive)):
        own, yes_squares, no_squares = 0.0, 0.0, 0.0
        for case in range(len(places)):
            yes, no = positive[draw, case], negative[draw, case]
            sums[draw, places[case]] += yes
            sums[draw, steps + places[case]] += no
            own += yes * no
            yes_squares += yes * yes
            no_squares += no * no
        sums[draw, 2 * steps] = own
        sums[draw, 2 * steps + 1] = yes_squares
        sums[draw, 2 * steps + 2] = no_squares


def pair_shares(positive: FloatArray, negative: FloatArray, own: FloatArray) -> FloatArray:
    """Return how often a positive case has a higher score than a negative one, shape (n_draws,).

    Equal scores count half, and no case is compared with itself. Where there is no pair, nan.

    Parameters
    ----------
    positive, negative : (n_draws, n_steps)
        Masses by score, the highest first.
    own : (n_draws,)
        Sum over cases of positive times negative mass.

    Examples
    --------
    >>> pair_shares(np.array([[1.0, 1.0]]), np.array([[0.0, 1.0]]), np.zeros(1))
    array([0.75])
    """
    return filled(np.empty(len(positive)), fill_pair_shares, positive, negative, own)


@compiled
def fill_pair_shares(positive: FloatArray, negative: FloatArray, own: FloatArray, shares: FloatArray) -> None:
    """Do what :func:`pair_shares` says, for plain arrays."""
    for draw in range(len(shares)):
        above, below, won, lost = 0.0, 0.0, 0.0, 0.0
        for step in range(positive.shape[1]):
            yes, no = positive[draw, step], negative[draw, step]
            won += no * (above + 0.5 * yes)
            lost += yes * (below + 0.5 * no)
            above += yes
            below += no
        pairs = won + lost
        is_known = pairs - own[draw] > 1e-14 * pairs
        shares[draw] = (won - 0.5 * own[draw]) / (pairs - own[draw]) if is_known else np.nan


def average_precisions(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Return the average of the precision over positive mass, shape (n_draws,); nan where there is none.

    The precision of a case is that of a threshold at its score; masses (n_draws, n_steps) are by score, highest first.

    Examples
    --------
    >>> average_precisions(np.array([[1.0, 0.0, 1.0]]), np.array([[0.0, 1.0, 0.0]])).round(3)
    array([0.833])
    """
    return filled(np.empty(len(positive)), fill_average_precisions, positive, negative)


@compiled
def fill_average_precisions(positive: FloatArray, negative: FloatArray, averages: FloatArray) -> None:
    """Do what :func:`average_precisions` says, for plain arrays."""
    for draw in range(len(averages)):
        above, everyone, total = 0.0, 0.0, 0.0
        for step in range(positive.shape[1]):
            yes = positive[draw, step]
            above += yes
            everyone += yes + negative[draw, step]
            if yes > 0.0:
                total += yes * above / everyone
        averages[draw] = total / above if above > 0.0 else np.nan


def heights_and_areas(positive: FloatArray, negative: FloatArray, limit: float) -> tuple[FloatArray, FloatArray]:
    """Return the height of the curve at a share of the negative mass, and the area up to there, each (n_draws,).

    Both are shares: of the positive mass, and of the whole square. Where one of the masses is missing, nan. Masses
    (n_draws, n_steps) are by score, the highest first.

    Examples
    --------
    >>> yes = np.array([[1.0, 0.0, 1.0, 0.0]])
    >>> heights_and_areas(yes, 1 - yes, 0.75)
    (array([1.]), array([0.5]))
    """
    heights, areas = filled(np.empty((2, len(positive))), fill_heights_and_areas, positive, negative, limit)
    return heights, areas


@compiled
def fill_heights_and_areas(positive: FloatArray, negative: FloatArray, limit: float, found: FloatArray) -> None:
    """Do what :func:`heights_and_areas` says, for plain arrays; heights stand above areas (2, n_draws)."""
    n_draws, n_steps = positive.shape
    for draw in range(n_draws):
        whole_yes, whole_no = 0.0, 0.0
        for step in range(n_steps):
            whole_yes += positive[draw, step]
            whole_no += negative[draw, step]
        end = limit * whole_no
        height, width, area = 0.0, 0.0, 0.0
        for step in range(n_steps):
            yes, no = positive[draw, step], negative[draw, step]
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
