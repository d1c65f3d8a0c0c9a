"""Points of curves, draw by draw: sensitivity over false alarms, precision over recall, net benefit, reliability."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.metrics.calibration_error import bin_sums


class Curve(NamedTuple):
    """Hold the points of a curve in every draw, one per different score, highest first.

    Attributes
    ----------
    thresholds : (t,)
        Scores: cases with at least this score are called positive.
    across, up : (n_draws, t)
        Where the points are; nan where a draw has no such cases.
    """

    thresholds: FloatArray
    across: FloatArray
    up: FloatArray


class ReliabilityPoints(NamedTuple):
    """Hold the points of a reliability diagram in every draw, one per bin, each (n_draws, bins).

    Attributes
    ----------
    probability, positive
        Mean probability, and share of positive mass; nan where a bin is empty.
    weight
        Share of all mass.
    """

    probability: FloatArray
    positive: FloatArray
    weight: FloatArray


def roc_points(stated: FloatArray, positive: FloatArray, negative: FloatArray) -> Curve:
    """Return false positive rates and sensitivities at every score (m,); masses are (n_draws, m).

    >>> yes = np.array([[1.0, 0.0, 1.0]])
    >>> roc_points(np.array([0.9, 0.5, 0.1]), yes, 1 - yes)
    Curve(thresholds=array([0.9, 0.5, 0.1]), across=array([[0., 1., 1.]]), up=array([[0.5, 0.5, 1. ]]))
    """
    thresholds, yes, no = _above(stated, positive, negative)
    return Curve(thresholds, _shares(no, no[:, -1:]), _shares(yes, yes[:, -1:]))


def precision_recall_points(stated: FloatArray, positive: FloatArray, negative: FloatArray) -> Curve:
    """Return recalls and precisions at every score (m,); masses are (n_draws, m).

    >>> yes = np.array([[1.0, 0.0]])
    >>> precision_recall_points(np.array([0.9, 0.5]), yes, 1 - yes)
    Curve(thresholds=array([0.9, 0.5]), across=array([[1., 1.]]), up=array([[1. , 0.5]]))
    """
    thresholds, yes, no = _above(stated, positive, negative)
    return Curve(thresholds, _shares(yes, yes[:, -1:]), _shares(yes, yes + no))


def sensitivities_at(stated: FloatArray, positive: FloatArray, negative: FloatArray, rates: FloatArray) -> FloatArray:
    """Return the sensitivity at some false positive rates, shape (n_draws, n_rates): what a band is drawn from.

    >>> yes = np.array([[1.0, 0.0, 1.0, 0.0]])
    >>> sensitivities_at(np.array([0.9, 0.5, 0.1, 0.05]), yes, 1 - yes, np.array([0.0, 0.25, 0.5]))
    array([[0.5, 0.5, 1. ]])
    """
    from dissensus.kernels.label_sums import heights_and_areas, ranked

    cases = ranked(stated)
    return np.stack([heights_and_areas(cases, positive, negative, float(rate))[0] for rate in rates], axis=1)


def decision_curve(
    stated: FloatArray, positive: FloatArray, negative: FloatArray, thresholds: FloatArray
) -> FloatArray:
    """Return the net benefit at threshold probabilities, shape (n_draws, n_thresholds).

    A threshold of 1 is no threshold: one false alarm would cost more than any positive case is worth.

    >>> yes = np.array([[1.0, 0.0, 1.0]])
    >>> decision_curve(np.array([0.9, 0.5, 0.1]), yes, 1 - yes, np.array([0.2, 0.5])).round(3)
    array([[0.25, 0.  ]])
    """
    scores, yes, no = _above(stated, positive, negative)
    n_above = np.searchsorted(-scores, -thresholds, side="right")
    nothing = np.zeros((len(yes), 1))
    hits, alarms = (np.hstack([nothing, part])[:, n_above] for part in (yes, no))
    return _shares(hits - alarms * (thresholds / (1 - thresholds)), (yes + no)[:, -1:])


def reliability_points(
    stated: FloatArray, positive: FloatArray, negative: FloatArray, *, bins: int = 10
) -> ReliabilityPoints:
    """Return what bins of equal width hold; probabilities are (m,), masses (n_draws, m).

    >>> yes = np.array([[1.0, 0.0, 1.0]])
    >>> reliability_points(np.array([0.25, 0.5, 0.75]), yes, 1 - yes, bins=2).positive
    array([[0.5, 1. ]])
    """
    sums = bin_sums(stated, positive, negative, bins)
    total = sums.mass.sum(axis=1, keepdims=True)
    return ReliabilityPoints(
        _shares(sums.scores, sums.mass), _shares(sums.positive, sums.mass), _shares(sums.mass, total)
    )


def _above(stated: FloatArray, positive: FloatArray, negative: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the different scores, highest first, and both masses of all cases from there up, (n_draws, t)."""
    from dissensus.kernels.label_sums import ranked

    cases = ranked(stated)
    begins = cases.offsets[:-1]
    yes, no = (
        np.cumsum(np.add.reduceat(masses[:, cases.order], begins, axis=1), axis=1) for masses in (positive, negative)
    )
    return stated[cases.order[begins]], yes, no


def _shares(parts: FloatArray, wholes: FloatArray) -> FloatArray:
    """Divide; nan where there is nothing to divide by."""
    wholes = np.broadcast_to(wholes, parts.shape)
    return np.asarray(np.divide(parts, wholes, out=np.full(parts.shape, np.nan), where=wholes > 0))
