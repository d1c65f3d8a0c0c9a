"""Resample annotators: the spread that comes from whom one happened to ask."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from dissensus.aggregations.base import Aggregation, PointAggregation, plausibilities_of, stream_keys_of, without_rest
from dissensus.aggregations.point_estimates import InverseRank
from dissensus.core.arrays import FloatArray, IntArray, KeyArray
from dissensus.core.checks import check_count
from dissensus.core.errors import DissensusError
from dissensus.core.spec import one_spec
from dissensus.draws import Plausibilities
from dissensus.study.opinions import Opinions


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
