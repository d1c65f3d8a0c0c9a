"""Sums of masses of labels over cases, and areas under curves, draw by draw: the same bits in any company.

For areas, and points of curves, masses are added up by score; then every draw is one pass over the different scores.
The curve is that of the receiver: positive mass above a threshold over negative mass above it, both as they are, and a
straight line through cases with the same score.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.kernels.jit import compiled


@compiled
def answer_sums(answers: npt.NDArray[np.uint8], numbers: FloatArray) -> FloatArray:
    """Add up what every case adds if the answer is no, and if it is yes, shape (n_sums, n_draws).

    Parameters
    ----------
    answers : (n_groups, n_draws)
        The answers of every draw, of eight cases in a byte.
    numbers : (2, n_sums, m)
        What each case adds to every sum.

    Notes
    -----
    What eight cases add together is written down for all their 256 answers, and looked up in every draw.
    """
    n_groups, n_draws = answers.shape
    n_sums, n_cases = numbers.shape[1:]
    sums, table = np.zeros((n_sums, n_draws)), np.empty(256)
    for which in range(n_sums):
        for group in range(n_groups):
            table[0] = 0.0
            for bit in range(8):
                case, half = 8 * group + bit, 1 << bit
                for code in range(half):
                    table[half + code] = table[code]
                    if case < n_cases:
                        table[half + code] += numbers[1, which, case]
                        table[code] += numbers[0, which, case]
            for draw in range(n_draws):
                sums[which, draw] += table[answers[group, draw]]
    return sums


@compiled
def sums_by_place(places: IntArray, number: int, masses: FloatArray) -> FloatArray:
    """Add up masses (n, m) by the place of each case (m,), of so many places, shape (n, number)."""
    sums = np.zeros((len(masses), number))
    for row in range(len(masses)):
        for case in range(len(places)):
            sums[row, places[case]] += masses[row, case]
    return sums


def weighted_sums(masses: FloatArray, columns: FloatArray) -> FloatArray:
    """Add up masses (n_draws, k, m) times what each of them adds to several sums (k, n_sums, m): (n_draws, n_sums).

    >>> weighted_sums(np.array([[[0.5, 2.0]], [[1.0, 3.0]]]), np.array([[[1.0, 0.0], [0.0, 0.0]]]))
    array([[0.5, 0. ],
           [1. , 0. ]])
    """
    sums = np.zeros((len(masses), columns.shape[1]))
    for k, own in enumerate(columns):
        some = own.any(axis=1)
        sums[:, some] += np.einsum("sm,dm->ds", own[some], masses[:, k])
    return sums


def confusions(labels: FloatArray, picks: FloatArray) -> FloatArray:
    """Add up how much of which label was called what, shape (n_draws, K, K): labels in rows, calls in columns.

    Parameters
    ----------
    labels : (n_draws, K, m)
        How much of each case has which label.
    picks : (m, K)
        How much of each case is called what.

    Examples
    --------
    >>> confusions(np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.array([[1.0, 0.0], [0.5, 0.5]]))
    array([[[1. , 0. ],
            [0.5, 0.5]]])
    """
    from scipy.sparse import csr_array

    called = csr_array(picks)
    return np.stack([of_draw @ called for of_draw in labels])


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
    mass, flat = positive + negative, np.ones_like(probabilities)
    pairs = (
        (mass, flat),
        (mass, probabilities),
        (positive, flat),
        (positive, positive),
        (positive, mass),
        (mass, mass),
    )
    return np.stack([sums_by_place(place, bins, one * other) for one, other in pairs])


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
    pairs = ((positive, negative), (positive, positive), (negative, negative))
    products = [np.einsum("dm,dm->d", *pair) for pair in pairs]
    return np.column_stack([*(sums_by_place(places, steps, one) for one in (positive, negative)), *products])


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
    above = np.cumsum(positive, axis=1)
    won = np.einsum("ds,ds->d", negative, above) - 0.5 * np.einsum("ds,ds->d", negative, positive)
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    is_known = pairs - own > 1e-14 * pairs
    return np.asarray(np.divide(won - 0.5 * own, pairs - own, out=np.full(len(won), np.nan), where=is_known))


def average_precisions(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Return the average of the precision over positive mass, shape (n_draws,); nan where there is none.

    The precision of a case is that of a threshold at its score; masses (n_draws, n_steps) are by score, highest first.

    Examples
    --------
    >>> average_precisions(np.array([[1.0, 0.0, 1.0]]), np.array([[0.0, 1.0, 0.0]])).round(3)
    array([0.833])
    """
    above, everyone = np.cumsum(positive, axis=1), np.cumsum(positive + negative, axis=1)
    precision = np.divide(above, everyone, out=np.zeros_like(above), where=positive > 0.0)
    total, found = positive.sum(axis=1), np.full(len(positive), np.nan)
    return np.asarray(np.divide((positive * precision).sum(axis=1), total, out=found, where=total > 0.0))


def heights_and_areas(
    positive: FloatArray, negative: FloatArray, limits: Sequence[float] | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the height of the curve at shares of the negative mass, and the area up to there.

    Both are (n_limits, n_draws), and shares: of the positive mass, and of the whole square. Where one of the masses is
    missing, nan. Masses (n_draws, n_steps) are by score, the highest first.

    Examples
    --------
    >>> yes = np.array([[1.0, 0.0, 1.0, 0.0]])
    >>> heights_and_areas(yes, 1 - yes, [0.75])
    (array([[1.]]), array([[0.5]]))
    """
    yes, no = (np.pad(one, ((0, 0), (0, 1))) for one in (positive, negative))
    heights, widths = (np.pad(np.cumsum(one, axis=1), ((0, 0), (1, 0))) for one in (positive, negative))
    areas = np.pad(np.cumsum(negative * (heights[:, :-1] + 0.5 * positive), axis=1), ((0, 0), (1, 0)))
    whole_yes, whole_no, found = heights[:, -1], widths[:, -1], np.full((2, len(limits), len(positive)), np.nan)
    is_known = (whole_yes > 0.0) & (whole_no > 0.0)
    for row, limit in enumerate(limits):
        end = limit * whole_no  # reached within the cases of the step after so many
        passed = np.count_nonzero(widths[:, 1:] <= (end + 1e-12 * whole_no)[:, None], axis=1)[:, None]
        here = (np.take_along_axis(one, passed, axis=1)[:, 0] for one in (yes, no, heights, widths, areas))
        more, wide, height, width, area = here
        risen = more * np.divide(end - width, wide, out=np.zeros_like(end), where=wide > 0.0)
        np.divide(height + risen, whole_yes, out=found[0, row], where=is_known)
        area = area + (end - width) * (height + 0.5 * risen)
        np.divide(area, whole_yes * whole_no, out=found[1, row], where=is_known)
    return found[0], found[1]
