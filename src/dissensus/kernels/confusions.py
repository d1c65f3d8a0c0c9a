"""Sums of masses of labels over cases, draw by draw: a draw gives the same bits in any company."""

from __future__ import annotations

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.kernels.jit import compiled, plain


def weighted_sums(numbers: FloatArray, masses: FloatArray) -> FloatArray:
    """Add up masses (n_draws, m) times several numbers of each case (n_numbers, m), shape (n_numbers, n_draws).

    >>> weighted_sums(np.array([[1.0, 0.0]]), np.array([[0.5, 2.0], [1.0, 3.0]]))
    array([[0.5, 1. ]])
    """
    sums = np.empty((len(numbers), len(masses)))
    fill_weighted_sums(plain(numbers), plain(masses), sums)
    return sums


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
    fill_confusions(plain(labels), plain(weights), offsets, code, picks[case, code], found)
    return found


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
    sums = np.zeros((6, len(positive), bins))
    fill_binned_sums(plain(place), plain(probabilities), plain(positive), plain(negative), sums)
    return sums


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
