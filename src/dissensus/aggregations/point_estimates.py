"""Deterministic aggregations, one plausibility vector or number per case: usual practice, limits, and a bootstrap."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.aggregations.base import (
    Aggregation,
    PointAggregation,
    normalised,
    plausibilities_of,
    point_draws,
    stream_keys_of,
    without_rest,
)
from dissensus.core.arrays import FloatArray, IntArray, KeyArray
from dissensus.core.checks import check_choice, check_count, check_fields
from dissensus.core.errors import DissensusError, DissensusWarning, listing
from dissensus.core.ragged import row_of_each, take_rows, weighted_counts
from dissensus.core.spec import one_spec
from dissensus.draws import Plausibilities
from dissensus.study.opinions import TIES, Moments, Opinions, Ties, weighted_medians

if TYPE_CHECKING:
    from dissensus.kernels.races import Rankings


@dataclass(frozen=True)
class MajorityVote(PointAggregation):
    """Share of votes: every annotator has one vote, which the conditions of the first block share.

    Deterministic. Later blocks do not count, so ``unranked`` makes no difference.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings([[[["a"]], [["a", "b"]]]], ["a", "b", "c"])
    >>> MajorityVote().sample(said).mean()
    array([[0.75, 0.25, 0.  ]])
    """

    id = "majority-vote"
    meaning = "Counts first choices; nothing stays open."

    def point(self, opinions: Opinions) -> FloatArray:
        """Return the plausibilities of the mentioned conditions of all cases, side by side, shape (sum of U,)."""
        return normalised(opinions, votes(opinions))


def votes(opinions: Opinions) -> FloatArray:
    """Count weighted votes for the mentioned conditions of all cases, side by side, shape (sum of U,)."""
    ranking, member, sizes = first_choices(opinions)
    return weighted_counts(member, opinions.weights[ranking] / sizes, len(opinions.support))


def first_choices(opinions: Opinions) -> tuple[IntArray, IntArray, IntArray]:
    """Return the ranking of every condition that is named first, where it stands in the support, and how many tie."""
    offsets, mentions = take_rows(opinions.code_offsets, opinions.block_offsets[:-1])
    ranking = row_of_each(offsets)
    return ranking, opinions.member_of_mention[mentions], np.diff(offsets)[ranking]


@dataclass(frozen=True)
class InverseRank(PointAggregation):
    """Inverse rank normalisation (IRN): block ``i`` weighs ``1 / i``, summed over annotators, then normalised.

    Deterministic. What is not mentioned has weight zero whether it is below or unobserved, so ``unranked`` makes no
    difference.

    Parameters
    ----------
    ties
        ``"shared"``: the conditions of a block share its weight, as in the published equation. ``"each"``: each of
        them has the full weight, as in the published numbers.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings([[[["a"], ["b", "c"]]]])
    >>> InverseRank().sample(said).mean()
    array([[0.66666667, 0.16666667, 0.16666667]])
    >>> InverseRank(ties="each").sample(said).mean()
    array([[0.5 , 0.25, 0.25]])
    """

    id = "inverse-rank"
    meaning = "Averages the weights 1, 1/2, 1/3 ... by place; nothing stays open."

    ties: Ties = "shared"

    def __post_init__(self) -> None:
        check_fields(self)
        check_choice("ties", self.ties, TIES)

    def point(self, opinions: Opinions) -> FloatArray:
        """Return the plausibilities of the mentioned conditions of all cases, side by side, shape (sum of U,)."""
        return normalised(opinions, opinions.inverse_ranks(self.ties))


@dataclass(frozen=True)
class PlackettLuceML(PointAggregation):
    """Maximum likelihood of the Plackett-Luce model.

    Deterministic. Where the likelihood has no maximum inside the simplex, the limit of its maximising sequence is
    given: a condition that never comes before another one, directly or through a chain of others, has plausibility
    zero beside it. Its order is kept, see the notes.

    Notes
    -----
    On the way to the limit some conditions vanish faster than others. Conditions that beat each other in both
    directions, directly or through others, are on one *level*; a level below are those that only they beat, and so on.
    Wherever conditions are put in order, the level decides first, and within it the maximum likelihood of the rankings
    with all higher levels struck out. This is the order that draws of :class:`PlackettLuce` tend to.

    With ``unranked="below"`` unmentioned conditions lost against all mentioned ones and have plausibility zero. With
    ``"unobserved"`` they were not compared and have plausibility zero as well, by convention; groups of conditions
    that nobody compared with each other share the mass in proportion to their first-choice votes. A condition that
    nobody mentions comes last either way.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings([[[["a"]], [["a"]], [["b"]]]], ["a", "b", "c"])
    >>> PlackettLuceML().sample(said).mean().round(6)
    array([[0.666667, 0.333333, 0.      ]])
    >>> ranked = Study.from_rankings([[[["a"], ["b"], ["c"]]]], ["a", "b", "c", "d"])
    >>> [batch] = PlackettLuceML().sample(ranked)
    >>> batch.values, batch.order_values
    (array([1., 0., 0., 0.]), array([3., 2., 1., 0.]))
    """

    id = "plackett-luce-ml"
    meaning = "Takes the single best fit of the race model; nothing stays open."
    plain_name = "Plackett-Luce maximum likelihood"

    def point(self, opinions: Opinions) -> FloatArray:
        """Return the plausibilities of the mentioned conditions of all cases, side by side, shape (sum of U,)."""
        return self.ordered_point(opinions)[0]

    def ordered_point(self, opinions: Opinions) -> tuple[FloatArray, FloatArray]:
        """Return the plausibilities, and numbers that grow with the level of a condition and its value within."""
        from dissensus.kernels.maximum_likelihood import maximum_likelihood

        estimate = maximum_likelihood(kernel_rankings(opinions, opinions.weights), below=opinions.unranked == "below")
        if not estimate.is_converged.all():
            slow = [opinions.case_names[case] for case in np.flatnonzero(~estimate.is_converged)]
            warnings.warn(
                f"the likelihood is not quite at its maximum: {listing(slow)}", DissensusWarning, stacklevel=4
            )
        rest = opinions.support_offsets[1:] + np.arange(opinions.n_cases)
        return np.delete(estimate.values, rest), np.delete(estimate.order, rest)


def kernel_rankings(opinions: Opinions, multiplicities: FloatArray) -> Rankings:
    """Return the arrays that kernels take, each ranking counted as often as given."""
    from dissensus.kernels.races import Rankings

    return Rankings(
        opinions.support_offsets,
        opinions.ranking_offsets,
        opinions.block_offsets,
        opinions.code_offsets,
        opinions.local,
        np.ascontiguousarray(multiplicities, dtype=np.float64),
        opinions.rest_sizes,
    )


@dataclass(frozen=True)
class RatingPoint(PointAggregation):
    """Give every case one number; the interval between thresholds that it falls into is the only plausible one.

    Parameters
    ----------
    thresholds
        Increasing; K - 1 of them make K intervals. A number equal to a threshold belongs to the interval below it. By
        default the median of all ratings, which matters only where conditions are shown.
    """

    needs = "ratings"

    thresholds: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "thresholds", checked_thresholds(self.thresholds))

    @property
    def needs_whole(self) -> str:
        """Only if ratings are cut at their median."""
        return "" if self.thresholds else "ratings are cut at the median of all cases"

    @property
    def learns(self) -> bool:
        """Whether the interval of a case depends on other cases."""
        return bool(self.needs_whole)

    @abstractmethod
    def number(self, opinions: Moments) -> FloatArray:
        """Return the number of each case, shape (n_cases,)."""

    def point(self, opinions: Any) -> FloatArray:
        """Return 1 for the interval of each case, 0 for the others, shape (n_cases * K,)."""
        cuts = np.array(self.thresholds or (opinions.median,))
        place = np.searchsorted(cuts, self.number(opinions), side="left")
        return np.asarray(np.eye(len(cuts) + 1)[place].ravel())

    def _prepare(self, opinions: Any, *, draws: int, seed: int) -> Plausibilities:  # noqa: ARG002
        names = interval_names(self.thresholds or (opinions.median,))
        numbers = np.stack([self.number(opinions), np.zeros(opinions.n_cases)], axis=1)[:, None]
        offsets = np.arange(opinions.n_cases + 1) * len(names)
        fill = partial(point_draws, offsets, self.point(opinions), None, numbers)
        return plausibilities_of(opinions, fill, draws=1, conditions=names)


class MeanRating(RatingPoint):
    """Take the mean of the ratings of a case for the truth.

    Examples
    --------
    >>> from dissensus import Study
    >>> [batch] = MeanRating((2.0,)).sample(Study.from_scores([[1, 2, 6]]))
    >>> batch.numbers[0, 0, 0], batch.dense()[0, 0]
    (np.float64(3.0), array([0., 1.]))
    """

    id = "mean-rating"
    meaning = "Takes the mean of the ratings of a case for the truth."

    def number(self, opinions: Moments) -> FloatArray:
        """Return the mean rating of each case, shape (n_cases,)."""
        return opinions.means


class MedianRating(RatingPoint):
    """Take the median of the ratings of a case for the truth.

    Examples
    --------
    >>> from dissensus import Study
    >>> [batch] = MedianRating().sample(Study.from_scores([[1, 2, 6]]))
    >>> batch.numbers[0, 0, 0]
    np.float64(2.0)
    """

    id = "median-rating"
    meaning = "Takes the median of the ratings of a case for the truth."

    def number(self, opinions: Moments) -> FloatArray:
        """Return the median rating of each case, shape (n_cases,)."""
        return weighted_medians(opinions.cases, opinions.scores, opinions.weights)


def checked_thresholds(given: Sequence[float] | None) -> tuple[float, ...] | None:
    """Return thresholds as floats; refuse those that do not increase.

    >>> checked_thresholds([1, 2]), checked_thresholds(None)
    ((1.0, 2.0), None)
    """
    if given is None:
        return None
    found = tuple(float(one) for one in given)
    if not found or not np.isfinite(found).all() or not (np.diff(found) > 0).all():
        raise DissensusError("thresholds must be finite and increasing, at least one", got=str(found))
    return found


def interval_names(thresholds: Sequence[float]) -> tuple[str, ...]:
    """Name the intervals between thresholds.

    >>> interval_names((0.0, 5.0))
    ('<= 0', '0 to 5', '> 5')
    """
    inner = [f"{low:g} to {high:g}" for low, high in pairwise(thresholds)]
    return (f"<= {thresholds[0]:g}", *inner, f"> {thresholds[-1]:g}")


@dataclass(frozen=True)
class AnnotatorBootstrap(Aggregation):
    """Resample the annotators of each case with replacement and aggregate each resample deterministically.

    Parameters
    ----------
    model
        The deterministic aggregation: :class:`MajorityVote`, :class:`InverseRank` or :class:`PlackettLuceML`.
    size
        How many annotators a resample has; by default as many as the case has. More of them means less spread.

    Notes
    -----
    A case with one annotator has no spread at all: the bootstrap cannot know what nobody else said. ``unranked`` makes
    the difference that it makes for ``model``.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_counts([[3, 1]], ["a", "b"])
    >>> AnnotatorBootstrap().sample(said, draws=4000).mean().round(1)
    array([[0.8, 0.2]])
    """

    id = "annotator-bootstrap"
    meaning = "Asks what would have come out if other annotators of the same kind had been asked."

    model: PointAggregation = field(default_factory=InverseRank)
    size: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.model, str):
            object.__setattr__(self, "model", one_spec(self.family, self.model))
        if not isinstance(self.model, PointAggregation):
            names = [name for name, kind in self.family.known().items() if issubclass(kind, PointAggregation)]
            raise DissensusError(
                "the bootstrap needs a deterministic aggregation", expected=" or ".join(names), got=repr(self.model)
            )
        if self.size is not None:
            check_count(size=self.size)

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        return f"a bootstrap over annotators of {self.model.methods}"

    @property
    def limit(self) -> Aggregation:
        """The aggregation of all annotators."""
        return self.model

    def _prepare(self, opinions: Opinions, *, draws: int, seed: int) -> Plausibilities:
        keys = stream_keys_of(opinions, seed)[:, 1]
        fill = partial(resampled, opinions, self.model, keys, draws, self.size or 0)
        return plausibilities_of(opinions, fill, draws=draws)


def resampled(
    opinions: Opinions, model: PointAggregation, keys: KeyArray, draws: int, size: int, cases: IntArray
) -> tuple[FloatArray, FloatArray | None, None]:
    """Aggregate resamples of the annotators; ``size`` 0 stands for the number of annotators of the case."""
    from dissensus.kernels.resamples import resample_counts

    replicates, said = opinions.take(np.repeat(cases, draws)), opinions.take(cases)
    counts = resample_counts(said.ranking_offsets, said.votes, keys[cases], draws, size)
    again = replace(replicates, weights=replicates.weights / replicates.votes * counts)
    theta, order = model.ordered_point(again)
    order = None if order is None else without_rest(order, replicates.support_offsets)
    return without_rest(theta, replicates.support_offsets), order, None
