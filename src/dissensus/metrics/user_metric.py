"""Metrics that are functions of users: of dense scores and dense draws, or of all cases at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.errors import DissensusError
from dissensus.draws import BATCH_VALUES
from dissensus.metrics.base import Drawn, Metric, Predicted, Truth
from dissensus.metrics.data_set import Added, DataSetMetric, Said

# From scores (n, K) and plausibilities (n, draws, K) to values (n, draws).
UserFunction: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]

# From scores (n, K), codes of labels (draws, n) and weights (n,) to values (draws,).
DataSetFunction: TypeAlias = Callable[[FloatArray, IntArray, FloatArray], FloatArray]

# So many labels are drawn for a case whose label is shared between conditions.
LABELINGS = 20

# At most so many times cases are left out to see what they add.
BLOCKS = 500


def _no_function(*given: FloatArray) -> FloatArray:  # noqa: ARG001
    raise DissensusError("the metric has no function")


@dataclass(frozen=True)
class OwnMetric(Metric):
    """Hold what a user says of a function."""

    kept_apart = ("function", "higher_is_better", "range", "meaning")

    # What the function must be.
    signature: ClassVar[str]

    name: str = ""
    function: Callable[..., FloatArray] = field(default=_no_function, compare=False)
    higher_is_better: bool = True  # type: ignore[misc]  # users say it of each function
    range: tuple[float, float] = (-np.inf, np.inf)  # type: ignore[misc]
    meaning: str = "A measure of the user's own."  # type: ignore[misc]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.name, str) or not self.name:
            raise DissensusError("a user metric needs a name", got=repr(self.name))
        where = f"metric {self.name!r}"
        if not callable(self.function) or self.function is _no_function:
            raise DissensusError("a user metric needs a function", expected=self.signature, where=where)
        object.__setattr__(self, "range", tuple(self.range))
        if len(self.range) != 2 or not self.range[0] < self.range[1]:
            words = "the range of a user metric is its least and its greatest value"
            raise DissensusError(words, got=repr(self.range), where=where)

    def called(self, shape: tuple[int, ...], words: str, *given: FloatArray | IntArray) -> FloatArray:
        """Call the function, and refuse what is not of the right shape."""
        found = np.asarray(self.function(*given), dtype=np.float64)
        if found.shape != shape:
            problem, where = "a user metric returned an array of the wrong shape", f"metric {self.name!r}"
            raise DissensusError(problem, expected=f"{shape}: {words}", got=str(found.shape), where=where)
        return found


class UserMetric(OwnMetric):
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

    signature = "function(scores (n, K), plausibilities (n, draws, K)) -> (n, draws)"

    @property
    def id(self) -> str:  # type: ignore[override]  # it belongs to whoever wrote the function: nobody finds it by an id
        """The same for all of them; their names tell them apart."""
        return "user-metric"

    def values(self, drawn: Drawn, predicted: Predicted) -> FloatArray:
        """Call the function on a few cases at a time, so that dense draws fit into memory."""
        batch = drawn.batch
        most = max(1, BATCH_VALUES // (batch.n_draws * batch.n_conditions))
        values = np.empty((batch.n_cases, batch.n_draws))
        for start in range(0, batch.n_cases, most):
            some = range(start, min(start + most, batch.n_cases))
            scores = predicted.predictions.select(predicted.rows[some]).to_scores()
            shape = (len(some), batch.n_draws)
            values[some] = self.called(shape, "one value per case and draw", scores, batch.dense(some))
        return values


@dataclass(frozen=True)
class UserDataSetMetric(OwnMetric, DataSetMetric):
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

    signature = "function(scores (n, K), labels (draws, n), weights (n,)) -> (draws,)"

    is_summed = False

    truth: Truth = "top"

    @property
    def id(self) -> str:  # type: ignore[override]  # it belongs to whoever wrote the function: nobody finds it by an id
        """The same for all of them; their names tell them apart."""
        return "user-data-set-metric"

    def of_draws(self, said: Said, labels: FloatArray) -> FloatArray:
        """Call the function, for draws in which labels are shared several times."""
        values = np.empty(len(labels))
        is_shared = ((labels > 0).sum(axis=1) > 1).any(axis=1)
        values[~is_shared] = self._called(said, _codes(labels[~is_shared], np.zeros(said.n_cases)))
        for draw in np.flatnonzero(is_shared):
            # every label as often as its share says; the same numbers for all draws, so that company does not matter
            turns = np.tile(np.arange(LABELINGS), (said.n_cases, 1))
            places: Any = np.random.default_rng(17).permuted(turns, axis=1)
            values[draw] = self._called(said, _codes(labels[draw][None], (places.T + 0.5) / LABELINGS)).mean()
        return np.where(labels.any(axis=(1, 2)), values, np.nan)

    def added(self, said: Said, labels: FloatArray) -> Added:
        """Add up the masses of all cases: nothing else adds up."""
        return [(labels.sum(axis=1) * said.weights).sum(axis=1, keepdims=True)]

    def rests_upon(self, added: Added) -> float:
        """Count all cases."""
        return float(added[0][0, 0])

    def slopes_at(self, said: Said, labels: FloatArray, added: Added) -> FloatArray:  # noqa: ARG002
        """Leave out one block of cases after another."""
        masses = labels.sum(axis=0) * said.weights
        whole = self.of_draws(said, labels[None])[0]
        block = np.arange(said.n_cases) % BLOCKS
        effects, total = np.zeros(said.n_cases), masses.sum()
        for one in np.unique(block):
            kept, own = np.flatnonzero(block != one), block == one
            left = masses[kept].sum()
            if 0 < left < total:
                # what a mean would change by if the block were lighter, from what it changes by without the block
                change = (whole - self.of_draws(said.select(kept), labels[None][:, :, kept])[0]) * left / total
                # every case of a block has its share in the variance of the block, not in its sum: the cases vary on
                # their own, so that the squares of what they add must come to the square of what the block adds
                effects[own] = change * masses[own] / np.sqrt((masses[own] ** 2).sum())
        slopes = np.divide(effects, masses, out=np.zeros(said.n_cases), where=masses > 0)
        return np.broadcast_to(slopes - (effects.sum() / total if total else np.nan), labels.shape).copy()

    def _called(self, said: Said, codes: IntArray) -> FloatArray:
        return self.called((len(codes),), "one value per draw", said.scores, codes, said.weights)


def _codes(labels: FloatArray, chance: FloatArray) -> IntArray:
    """Choose a label by the shares of a case (..., K, n) and a number from 0 to 1 (..., n); -1 where it has none."""
    sums = np.cumsum(labels, axis=-2)
    total = sums[..., -1, :]
    codes = (sums <= (chance * total)[..., None, :]).sum(axis=-2)
    return np.where(total > 0, np.minimum(codes, labels.shape[-2] - 1), -1).astype(np.int64)
