"""Scores of the model's probabilities against a label drawn from the plausibilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_fields
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.metrics.base import Drawn, Metric, Predicted


@dataclass(frozen=True)
class LogScore(Metric):
    """Expected log of the model's probability of a label drawn from the plausibilities; at most 0.

    Scores must not be negative; those of a case are divided by their sum. A model that gives no probability to a
    condition with some plausibility scores minus infinity, unless there is a floor.

    Parameters
    ----------
    floor
        Smaller probabilities are raised to this, without taking anything from the others.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> said = Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_scores([[0.5, 0.5, 0.0]], ["a", "b", "c"])
    >>> LogScore().values(Drawn(batch, 0), Predicted(model, batch)).round(3)
    array([[-0.693]])
    """

    id = "log-score"
    meaning = (
        "The logarithm of the model's probability of a condition that is drawn in proportion to the plausibilities, on "
        "average; 0 at best."
    )
    accepts = ("scores",)
    takes_probabilities = True
    range = (-np.inf, 0.0)

    floor: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        if not isinstance(self.floor, int | float) or not 0 <= self.floor < 1:
            raise DissensusError("floor must be at least 0 and below 1", got=repr(self.floor))

    @property
    def name(self) -> str:
        """What the metric is called."""
        return f"log score, floor {self.floor:g}" if self.floor else "log score"

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the expected log probability under each draw."""
        from dissensus.kernels.gains import expected_values

        logs = floored_logs(predicted.scores / score_sums(predicted)[predicted.case_of_member], self.floor)
        return expected_values(drawn.batch.layout(), drawn.batch.values, logs, self._rest_logs(predicted, logs))

    def _rest_logs(self, predicted: Predicted, logs: FloatArray) -> FloatArray:
        """Average the log probabilities of the unmentioned conditions, shape (n_cases,)."""
        offsets, _, values = predicted.entries
        case, n_cases = row_of_each(offsets), predicted.batch.n_cases
        listed = floored_logs(values / score_sums(predicted)[case], self.floor)
        finite, is_zero = finite_and_zero(listed)
        zeros = weighted_counts(case, is_zero, n_cases)
        if self.floor == 0:
            zeros += predicted.batch.n_conditions - predicted.listed
        own, own_is_zero = finite_and_zero(logs)
        means = predicted.weighted_rest_means(finite, np.full(n_cases, np.log(self.floor or 1.0)), own)
        is_lost = zeros > predicted.sums(own_is_zero * (predicted.batch.member_weights() > 0))
        return np.where(is_lost, -np.inf, means)


@dataclass(frozen=True)
class BrierScore(Metric):
    """Expected squared distance of the model's probabilities from a label drawn from the plausibilities; 0 to 2.

    Scores must not be negative; those of a case are divided by their sum. The distance is summed over all conditions.

    Examples
    --------
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> said = Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_scores([[0.5, 0.5, 0.0]], ["a", "b", "c"])
    >>> BrierScore().values(Drawn(batch, 0), Predicted(model, batch))
    array([[0.5]])
    """

    id = "brier-score"
    meaning = (
        "The squared distance of the model's probabilities from a condition that is drawn in proportion to the "
        "plausibilities, on average; 0 at best and 2 at worst."
    )
    accepts = ("scores",)
    takes_probabilities = True
    range = (0.0, 2.0)
    curves = ("reliability",)

    higher_is_better = False

    name = "Brier score"

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Return the expected squared distance under each draw."""
        from dissensus.kernels.gains import expected_values

        offsets, _, values = predicted.entries
        sums, n_cases = score_sums(predicted), predicted.batch.n_cases
        members = predicted.scores / sums[predicted.case_of_member]
        rest = predicted.rest_means(np.ones(n_cases), members)
        if predicted.batch.rest_sums is not None:
            rest = predicted.weighted_rest_means(values / sums[row_of_each(offsets)], np.zeros(n_cases), members)
        hit = expected_values(drawn.batch.layout(), drawn.batch.values, members, rest)
        squares = weighted_counts(row_of_each(offsets), values * values, n_cases) / (sums * sums)
        return 1.0 - 2.0 * hit + squares[:, None]


def score_sums(predicted: Predicted) -> FloatArray:
    """Add up the scores of each case, shape (n_cases,)."""
    offsets, _, values = predicted.entries
    return weighted_counts(row_of_each(offsets), values, predicted.batch.n_cases)


def floored_logs(probabilities: FloatArray, floor: float) -> FloatArray:
    """Take logarithms; that of zero is minus infinity."""
    raised = np.maximum(probabilities, floor)
    return np.log(raised, out=np.full(len(raised), -np.inf), where=raised > 0)


def finite_and_zero(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return logarithms of positive numbers, 0 elsewhere, and a 1 for each logarithm of zero."""
    is_finite = np.isfinite(logs)
    return np.where(is_finite, logs, 0.0), (~is_finite).astype(np.float64)
