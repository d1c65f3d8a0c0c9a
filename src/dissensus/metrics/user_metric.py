"""Metrics that are functions of dense scores and dense draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.arguments import check_fields
from dissensus.core.errors import DissensusError
from dissensus.draws import BATCH_VALUES, Batch
from dissensus.metrics.base import Drawn, Metric, Predicted

UserFunction: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
"""From scores (n, K) and plausibilities (n, draws, K) to values (n, draws)."""


def _no_function(scores: FloatArray, plausibilities: FloatArray) -> FloatArray:  # noqa: ARG001
    raise DissensusError("the metric has no function")


@dataclass(frozen=True)
class UserMetric(Metric):
    """Turn any function into an uncertainty-adjusted metric.

    Parameters
    ----------
    name
        What to call it.
    function
        From scores of shape (n, K), in which an unlisted condition has 0, and plausibilities of shape (n, draws, K) to
        values of shape (n, draws), for a few cases at a time. How to treat ties is its own business.
    higher_is_better
        Whether a better model has a higher value.
    range
        The least and the greatest value that it can have.
    meaning
        What it measures, in a sentence for the report.

    Examples
    --------
    >>> from dissensus import Annotations, MajorityVote, Predictions
    >>> def hit(scores, plausibilities):
    ...     return (scores.argmax(axis=1)[:, None] == plausibilities.argmax(axis=2)).astype(float)
    >>> said = Annotations.from_rankings([[[["b"]]]], ["a", "b", "c"])
    >>> [batch] = MajorityVote().sample(said)
    >>> model = Predictions.from_scores([[0.1, 0.6, 0.3]], ["a", "b", "c"])
    >>> UserMetric("hit", hit).values(Drawn(batch, 0), Predicted(model, batch))
    array([[1.]])
    """

    kept_apart = ("function", "higher_is_better", "range", "meaning")

    name: str = ""
    function: UserFunction = field(default=_no_function, compare=False)
    higher_is_better: bool = True  # type: ignore[misc]  # users say it of each function
    range: tuple[float, float] = (-np.inf, np.inf)  # type: ignore[misc]
    meaning: str = "A measure of the user's own."  # type: ignore[misc]

    @property
    def id(self) -> str:  # type: ignore[override]  # it belongs to whoever wrote the function: nobody finds it by an id
        """The same for all of them; their names tell them apart."""
        return "user-metric"

    def __post_init__(self) -> None:
        check_fields(self)
        if not isinstance(self.name, str) or not self.name:
            raise DissensusError("a user metric needs a name", got=repr(self.name))
        if not callable(self.function) or self.function is _no_function:
            raise DissensusError(
                "a user metric needs a function",
                expected="function(scores (n, K), plausibilities (n, draws, K)) -> (n, draws)",
                where=f"metric {self.name!r}",
            )
        object.__setattr__(self, "range", tuple(self.range))
        if len(self.range) != 2 or not self.range[0] < self.range[1]:
            raise DissensusError(
                "the range of a user metric is its least and its greatest value",
                got=repr(self.range),
                where=f"metric {self.name!r}",
            )

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Call the function on a few cases at a time, so that dense draws fit into memory."""
        batch = drawn.batch
        most = max(1, BATCH_VALUES // (batch.n_draws * batch.n_conditions))
        values = np.empty((batch.n_cases, batch.n_draws))
        for start in range(0, batch.n_cases, most):
            some = slice(start, min(start + most, batch.n_cases))
            values[some] = self._checked(dense_scores(predicted, some), part_of(batch, some).dense())
        return values

    def _checked(self, scores: FloatArray, plausibilities: FloatArray) -> FloatArray:
        found = np.asarray(self.function(scores, plausibilities), dtype=np.float64)
        if found.shape != plausibilities.shape[:2]:
            raise DissensusError(
                "a user metric returned an array of the wrong shape",
                expected=f"{plausibilities.shape[:2]}: one value per case and draw",
                got=str(found.shape),
                where=f"metric {self.name!r}",
            )
        return found


def dense_scores(predicted: Predicted, cases: slice) -> FloatArray:
    """Write out the scores of some cases of the batch, shape (n, K)."""
    return predicted.predictions.select(predicted.rows[cases]).to_scores()


def part_of(batch: Batch, cases: slice) -> Batch:
    """Take some consecutive cases of a batch."""
    start, stop = cases.start, cases.stop
    first, last = batch.support_offsets[start], batch.support_offsets[stop]
    numbers = slice(batch.n_draws * (first + start), batch.n_draws * (last + stop))
    return replace(
        batch,
        case_names=batch.case_names[cases],
        support_offsets=batch.support_offsets[start : stop + 1] - first,
        support=batch.support[first:last],
        values=batch.values[numbers],
        rest_shapes=batch.rest_shapes[cases],
        rest_keys=batch.rest_keys[cases],
        order_values=None if batch.order_values is None else batch.order_values[numbers],
        others=None,
        is_mentioned=None if batch.is_mentioned is None else batch.is_mentioned[first:last],
        numbers=None if batch.numbers is None else batch.numbers[cases],
    )
