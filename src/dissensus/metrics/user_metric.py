"""Metrics that are functions of users: of dense scores and dense draws, or of all cases at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.errors import DissensusError
from dissensus.draws import BATCH_VALUES, Batch
from dissensus.metrics.base import Drawn, Metric, Predicted, Truth
from dissensus.metrics.data_set import DataSetMetric, Said

# From scores (n, K) and plausibilities (n, draws, K) to values (n, draws).
UserFunction: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]


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
    >>> from dissensus import Predictions, Study
    >>> from dissensus.aggregations import MajorityVote
    >>> def hit(scores, plausibilities):
    ...     return (scores.argmax(axis=1)[:, None] == plausibilities.argmax(axis=2)).astype(float)
    >>> said = Study.from_rankings([[[["b"]]]], ["a", "b", "c"])
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
        super().__post_init__()
        check_own(self, "function(scores (n, K), plausibilities (n, draws, K)) -> (n, draws)")

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Call the function on a few cases at a time, so that dense draws fit into memory."""
        batch = drawn.batch
        most = max(1, BATCH_VALUES // (batch.n_draws * batch.n_conditions))
        values = np.empty((batch.n_cases, batch.n_draws))
        for start in range(0, batch.n_cases, most):
            some = slice(start, min(start + most, batch.n_cases))
            scores = predicted.predictions.select(predicted.rows[some]).to_scores()
            draws = part_of(batch, some).dense()
            values[some] = called(self, (scores, draws), draws.shape[:2], "one value per case and draw")
        return values


def check_own(metric: UserMetric | UserDataSetMetric, expected: str) -> None:
    """Refuse a metric without a name, a function or a range."""
    if not isinstance(metric.name, str) or not metric.name:
        raise DissensusError("a user metric needs a name", got=repr(metric.name))
    if not callable(metric.function) or metric.function in (_no_function, _no_data_set_function):
        raise DissensusError("a user metric needs a function", expected=expected, where=f"metric {metric.name!r}")
    object.__setattr__(metric, "range", tuple(metric.range))
    if len(metric.range) != 2 or not metric.range[0] < metric.range[1]:
        raise DissensusError(
            "the range of a user metric is its least and its greatest value",
            got=repr(metric.range),
            where=f"metric {metric.name!r}",
        )


def called(metric: UserMetric | UserDataSetMetric, given: Any, shape: tuple[int, ...], words: str) -> FloatArray:
    """Call the function of a user, and refuse what is not of the right shape."""
    found = np.asarray(metric.function(*given), dtype=np.float64)
    if found.shape != shape:
        raise DissensusError(
            "a user metric returned an array of the wrong shape",
            expected=f"{shape}: {words}",
            got=str(found.shape),
            where=f"metric {metric.name!r}",
        )
    return found


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


# Of a whole data set -------------------------------------------------------------------------------------

# From scores (n, K), codes of labels (draws, n) and weights (n,) to values (draws,).
DataSetFunction: TypeAlias = Callable[[FloatArray, IntArray, FloatArray], FloatArray]

# So many labels are drawn for a case whose label is shared between conditions.
LABELINGS = 20

# At most so many times cases are left out to see what they add.
BLOCKS = 500


def _no_data_set_function(scores: FloatArray, labels: IntArray, weights: FloatArray) -> FloatArray:  # noqa: ARG001
    raise DissensusError("the metric has no function")


@dataclass(frozen=True)
class UserDataSetMetric(DataSetMetric):
    """Turn any function of all cases into an uncertainty-adjusted metric.

    Where a label is shared between conditions, because they are tied or because ``truth`` is "soft", the value is the
    mean over 20 labelings, in which every case has each label as often as its share says. What a case adds to the
    metric is found by leaving it out; of more than 500 cases, by leaving out one of 500 blocks of them.

    Parameters
    ----------
    name
        What to call it.
    function
        From scores of shape (n, K), codes of the labels of shape (draws, n), which are -1 where a case has none, and
        weights of shape (n,) to values of shape (draws,); nan where they are undefined.
    higher_is_better
        Whether a better model has a higher value.
    range
        The least and the greatest value that it can have.
    meaning
        What it measures, in a sentence for the report.
    truth
        What the label of a case is: "top", the most plausible condition of a draw, or "soft", all by plausibility.

    Examples
    --------
    >>> def accuracy(scores, labels, weights):
    ...     return np.average(labels == scores.argmax(axis=1), axis=1, weights=weights)
    >>> said = Said.of_scores(np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]]))
    >>> labels = np.array([[[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]])
    >>> UserDataSetMetric("accuracy", accuracy).of_draws(said, labels).round(3)
    array([0.667])
    """

    kept_apart = ("function", "higher_is_better", "range", "meaning")

    name: str = ""
    function: DataSetFunction = field(default=_no_data_set_function, compare=False)
    higher_is_better: bool = True  # type: ignore[misc]  # users say it of each function
    range: tuple[float, float] = (-np.inf, np.inf)  # type: ignore[misc]
    meaning: str = "A measure of the user's own."  # type: ignore[misc]
    truth: Truth = "top"

    @property
    def id(self) -> str:  # type: ignore[override]  # it belongs to whoever wrote the function: nobody finds it by an id
        """The same for all of them; their names tell them apart."""
        return "user-data-set-metric"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_own(self, "function(scores (n, K), labels (draws, n), weights (n,)) -> (draws,)")

    def of_draws(self, said: Said, labels: FloatArray) -> FloatArray:
        """Call the function, for draws in which labels are shared several times."""
        values = np.empty(len(labels))
        is_shared = ((labels > 0).sum(axis=1) > 1).any(axis=1)
        values[~is_shared] = self._called(said, _codes(labels[~is_shared], np.zeros(said.n_cases)))
        for draw in np.flatnonzero(is_shared):
            values[draw] = self._called(said, _labelings(labels[draw])).mean()
        return np.where(labels.any(axis=(1, 2)), values, np.nan)

    def slopes(self, said: Said, labels: FloatArray) -> FloatArray:
        """Leave out one block of cases after another."""
        masses = labels.sum(axis=0) * said.weights
        whole = self.of_draws(said, labels[None])[0]
        block = np.arange(said.n_cases) % BLOCKS
        added, total = np.zeros(said.n_cases), masses.sum()
        for one in np.unique(block):
            kept, own = np.flatnonzero(block != one), block == one
            left = masses[kept].sum()
            if 0 < left < total:
                # what a mean would change by if the block were lighter, from what it changes by without the block
                change = (whole - self.of_draws(said.select(kept), labels[None][:, :, kept])[0]) * left / total
                # every case of a block has its share in the variance of the block, not in its sum: the cases vary on
                # their own, so that the squares of what they add must come to the square of what the block adds
                added[own] = change * masses[own] / np.sqrt((masses[own] ** 2).sum())
        slopes = np.divide(added, masses, out=np.zeros(said.n_cases), where=masses > 0)
        return np.broadcast_to(slopes - (added.sum() / total if total else np.nan), labels.shape).copy()

    def counted(self, said: Said, labels: FloatArray) -> float:
        """Count all cases."""
        return float((labels.sum(axis=0) * said.weights).sum())

    def _called(self, said: Said, codes: IntArray) -> FloatArray:
        return called(self, (said.scores, codes, said.weights), (len(codes),), "one value per draw")


def _codes(labels: FloatArray, chance: FloatArray) -> IntArray:
    """Choose a label by the shares of a case (..., K, n) and a number from 0 to 1 (..., n); -1 where it has none."""
    sums = np.cumsum(labels, axis=-2)
    total = sums[..., -1, :]
    codes = (sums <= (chance * total)[..., None, :]).sum(axis=-2)
    return np.where(total > 0, np.minimum(codes, labels.shape[-2] - 1), -1).astype(np.int64)


def _labelings(labels: FloatArray) -> IntArray:
    """Choose labels of each case (K, n) several times, each as often as its share says, shape (LABELINGS, n)."""
    # the same numbers for all draws and blocks of draws, so that a draw has the same value in any company
    places: Any = np.random.default_rng(17).permuted(np.tile(np.arange(LABELINGS), (labels.shape[1], 1)), axis=1)
    return _codes(labels[None], (places.T + 0.5) / LABELINGS)
