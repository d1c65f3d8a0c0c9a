"""Metrics of grades: how far the model is from the draws, in steps of ordered conditions.

Grades are the conditions in the order of the study, numbered 0 to K - 1. A metric sees predictions only, so it takes
this order as it is: it is that of a study whose question is "grades".
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dissensus.core.arrays import FloatArray
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.metrics.base import Drawn, Metric, Predicted, Truth, expected_worth
from dissensus.metrics.probabilities import score_sums
from dissensus.predictions.lists import PredictionKind


class GradeMetric(Metric):
    """Compare the grades of a model with one true grade of each draw.

    A new one is a frozen dataclass with a parameter ``truth`` that writes :meth:`of_grades`, what a model is worth
    under every true grade. This is the most plausible one of a draw (``"top"``), or one that is drawn in proportion to
    the plausibilities (``"soft"``).
    """

    accepts: ClassVar[tuple[PredictionKind, ...]] = ("scores", "ranking")

    unusual_names: ClassVar[tuple[tuple[str, str], ...]] = (("truth", "expected {}"),)

    truth: Truth

    @property
    def depth(self) -> int:
        """How many places count: the first, or none."""
        return 1 if self.truth == "top" else 0

    @abstractmethod
    def of_grades(self, predicted: Predicted) -> FloatArray:
        """Return the metric of every case under every true grade, shape (n_cases, K)."""

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the expected metric of every case and draw, shape (n_cases, n_draws)."""
        worths, batch = self.of_grades(predicted), drawn.batch
        members = worths[batch.case_of_member, batch.support]
        if self.truth == "soft" and batch.rest_sums is not None:
            worths = worths * np.diff(batch.rest_sums)
        # rows are added up in order, so that a case gives the same bits in any company
        totals = weighted_counts(np.repeat(np.arange(batch.n_cases), batch.n_conditions), worths.ravel(), batch.n_cases)
        if self.truth == "top":
            return drawn.of_draws(expected_worth(drawn, members, predicted.rest_means(totals, members)))
        return drawn.expected(members, np.maximum(batch.rest_average(totals, members), 0.0))


@dataclass(frozen=True)
class GradeError(GradeMetric):
    """Mean absolute difference between the model's first grade and the true one, in grades.

    The order of conditions is taken to be the order of grades.

    Parameters
    ----------
    truth
        ``"top"``: the true grade is the most plausible one of a draw. ``"soft"``: it is drawn in proportion to the
        plausibilities.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> [batch] = MajorityVote().sample(Study.from_counts([[0, 3, 1]], question="grades"))
    >>> model = Predictions.from_scores([[0.6, 0.3, 0.1]], ["0", "1", "2"])
    >>> GradeError().values(Drawn(batch, 1), Predicted(model, batch))
    array([[1.]])
    >>> GradeError("soft").values(Drawn(batch, 0), Predicted(model, batch))
    array([[1.25]])
    """

    id = "grade-error"
    meaning = "How many grades the model's first grade is away from the true one, on average; 0 at best."
    range = (0.0, np.inf)
    higher_is_better = False

    truth: Truth = "top"

    def of_grades(self, predicted: Predicted) -> FloatArray:
        """Return the distance of the first grade from every grade, on average over ties."""
        return step_distances(np.cumsum(first_shares(predicted), axis=1), 1)


@dataclass(frozen=True)
class WithinGrades(GradeMetric):
    """Probability that the model's first grade is at most so many grades away from the true one.

    The order of conditions is taken to be the order of grades.

    Parameters
    ----------
    distance
        How many grades it may be away; 0 is plain accuracy.
    truth
        ``"top"``: the true grade is the most plausible one of a draw. ``"soft"``: it is drawn in proportion to the
        plausibilities.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> [batch] = MajorityVote().sample(Study.from_counts([[0, 3, 1]], question="grades"))
    >>> model = Predictions.from_scores([[0.6, 0.3, 0.1]], ["0", "1", "2"])
    >>> WithinGrades(1, "soft").values(Drawn(batch, 0), Predicted(model, batch))
    array([[0.75]])
    """

    id = "within-grades"
    meaning = "How often the model's first grade is the true one, or at most so many grades away from it."
    short_name = "accuracy within 1 grade"
    unusual_names = (("distance", "accuracy within {distance} grades"), *GradeMetric.unusual_names)

    distance: int = 1
    truth: Truth = "top"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distance < 0:
            raise DissensusError("distance must be a whole number, zero or more", got=repr(self.distance))

    def of_grades(self, predicted: Predicted) -> FloatArray:
        """Return the probability that the first grade is near every grade."""
        below = np.cumsum(first_shares(predicted), axis=1)
        below = np.insert(below, 0, 0.0, axis=1)
        grades = np.arange(predicted.batch.n_conditions)
        last = np.minimum(grades + self.distance, len(grades) - 1) + 1
        return np.clip(below[:, last] - below[:, np.maximum(grades - self.distance, 0)], 0.0, 1.0)


@dataclass(frozen=True)
class RankedProbabilityScore(GradeMetric):
    """Squared distance between the model's cumulative distribution over grades and the step at the true grade.

    Scores must not be negative; those of a case are divided by their sum. The sum over the K - 1 limits between grades
    is divided by K - 1, so that it is 0 at best and 1 at worst. The order of conditions is taken to be that of grades.

    Parameters
    ----------
    truth
        ``"top"``: the true grade is the most plausible one of a draw. ``"soft"``: it is drawn in proportion to the
        plausibilities.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> [batch] = MajorityVote().sample(Study.from_counts([[0, 3, 1]], question="grades"))
    >>> model = Predictions.from_scores([[0.6, 0.4, 0.0]], ["0", "1", "2"])
    >>> RankedProbabilityScore().values(Drawn(batch, 1), Predicted(model, batch))
    array([[0.18]])
    """

    id = "ranked-probability-score"
    aliases = ("rps",)
    meaning = (
        "The squared distance between the model's probabilities of at most each grade and the true grade, on average; "
        "0 at best and 1 at worst."
    )
    accepts = ("scores",)
    takes_probabilities = True
    higher_is_better = False

    truth: Truth = "top"

    def of_grades(self, predicted: Predicted) -> FloatArray:
        """Return the score under every true grade."""
        limits = max(1, predicted.batch.n_conditions - 1)
        return step_distances(np.cumsum(grade_probabilities(predicted), axis=1), 2) / limits


@dataclass(frozen=True)
class WassersteinDistance(Metric):
    """Distance between the model's distribution over grades and the plausibilities of a draw, in grades.

    It is the least way, in grades, that probability must be moved to turn one into the other. Scores must not be
    negative; those of a case are divided by their sum. The order of conditions is taken to be the order of grades.

    Notes
    -----
    It is not an average over single grades, so the conditions that nobody mentioned on a case have the plausibilities
    that the draw splits their sum into.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> [batch] = MajorityVote().sample(Study.from_counts([[0, 3, 1]], question="grades"))
    >>> model = Predictions.from_scores([[0.5, 0.25, 0.25]], ["0", "1", "2"])
    >>> WassersteinDistance().values(Drawn(batch, 0), Predicted(model, batch))
    array([[0.5]])
    """

    id = "wasserstein-distance"
    meaning = (
        "How far, in grades, the model's probabilities must be moved to become the plausibilities of a draw, on "
        "average; 0 at best."
    )
    accepts = ("scores",)
    takes_probabilities = True
    range = (0.0, np.inf)
    higher_is_better = False
    short_name = "Wasserstein distance"

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the distance of every case and draw."""
        model = np.cumsum(grade_probabilities(predicted), axis=1)
        gaps = np.abs(np.cumsum(drawn.batch.dense(), axis=2) - model[:, None, :])[:, :, :-1]
        return np.asarray(np.cumsum(gaps, axis=2)[:, :, -1])


def first_shares(predicted: Predicted) -> FloatArray:
    """Return the probability of every condition to be the model's first one, shape (n_cases, K).

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> [batch] = MajorityVote().sample(Study.from_rankings([[[["b"]]]], ["a", "b", "c"]))
    >>> first_shares(Predicted(Predictions.from_rankings([[["a", "b"], "c"]], ["a", "b", "c"]), batch))
    array([[0.5, 0.5, 0. ]])
    """
    offsets, codes, _ = predicted.entries
    above, tied = predicted.entry_standings
    shares = np.zeros((predicted.batch.n_cases, predicted.batch.n_conditions))
    shares[predicted.listed == 0] = 1.0 / predicted.batch.n_conditions
    shares[row_of_each(offsets), codes] = np.where(above == 0, 1.0 / tied, 0.0)
    return shares


def grade_probabilities(predicted: Predicted) -> FloatArray:
    """Return the scores of each case divided by their sum, zero where there is none, shape (n_cases, K).

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> [batch] = MajorityVote().sample(Study.from_counts([[0, 3, 1]], question="grades"))
    >>> grade_probabilities(Predicted(Predictions.from_scores([[3, 1, 0]], ["0", "1", "2"]), batch))
    array([[0.75, 0.25, 0.  ]])
    """
    offsets, codes, values = predicted.entries
    case = row_of_each(offsets)
    found = np.zeros((predicted.batch.n_cases, predicted.batch.n_conditions))
    found[case, codes] = values / score_sums(predicted)[case]
    return found


def step_distances(below: FloatArray, power: int) -> FloatArray:
    """Sum, over the limits between grades, the distance of distributions from the step at every grade.

    Parameters
    ----------
    below : (n_cases, K)
        Cumulative distribution of each case.
    power
        To which power distances are taken.

    Returns
    -------
    (n_cases, K)
        Column g is the sum over k < g of below[k]^power and over g <= k < K - 1 of (1 - below[k])^power.

    Examples
    --------
    >>> step_distances(np.array([[0.5, 1.0, 1.0]]), 1)
    array([[0.5, 0.5, 1.5]])
    """
    short, over = below[:, :-1] ** power, np.abs(1.0 - below[:, :-1]) ** power
    nothing = np.zeros((len(below), 1))
    up = np.concatenate([nothing, np.cumsum(short, axis=1)], axis=1)
    down = np.concatenate([np.cumsum(over[:, ::-1], axis=1)[:, ::-1], nothing], axis=1)
    return np.asarray(up + down)
