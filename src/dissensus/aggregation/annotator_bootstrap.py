"""Resample annotators: the spread that comes from whom one happened to ask."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

import numpy as np

from dissensus.aggregation.base import Aggregation, batch_of, plausibilities_of, stream_keys_of
from dissensus.aggregation.inverse_rank import InverseRank
from dissensus.aggregation.plackett_luce import PlackettLuceML
from dissensus.aggregation.votes import MajorityVote
from dissensus.core.aliases import FloatArray, IntArray, KeyArray
from dissensus.core.checks import check_count
from dissensus.core.errors import DissensusError
from dissensus.draws import Batch, Plausibilities
from dissensus.study.opinions import Opinions, opinions_of
from dissensus.study.rankings import Annotations
from dissensus.study.ratings import Ratings


class PointModel(Protocol):
    """A deterministic aggregation."""

    def point(self, opinions: Opinions) -> FloatArray:
        """Return the plausibilities of the mentioned conditions of all cases, side by side."""


Model: TypeAlias = MajorityVote | InverseRank | PlackettLuceML


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
    >>> said = Annotations.from_counts([[3, 1]], ["a", "b"])
    >>> AnnotatorBootstrap().sample(said, draws=4000).mean().round(1)
    array([[0.8, 0.2]])
    """

    model: Model = field(default_factory=InverseRank)
    size: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, MajorityVote | InverseRank | PlackettLuceML):
            raise DissensusError(
                "the bootstrap needs a deterministic aggregation",
                expected="MajorityVote, InverseRank or PlackettLuceML",
                got=repr(self.model),
            )
        if self.size is not None:
            check_count(size=self.size)

    def _prepare(self, annotations: Annotations | Ratings, *, draws: int, seed: int) -> Plausibilities:
        opinions = opinions_of(annotations)
        keys = stream_keys_of(opinions, seed)[:, 1]
        return plausibilities_of(
            opinions, BootstrapSampler(opinions, self.model, keys, draws, self.size or 0), draws=draws
        )


@dataclass(frozen=True, eq=False)
class BootstrapSampler:
    """Aggregate resamples of the annotators; ``size`` 0 stands for the number of annotators of the case."""

    opinions: Opinions
    model: PointModel
    keys: KeyArray
    draws: int
    size: int

    def __call__(self, cases: IntArray) -> Batch:
        """Draw the cases at these positions."""
        from dissensus.kernels.resamples import resample_counts

        replicates = self.opinions.take(np.repeat(cases, self.draws))
        offsets = self.opinions.take(cases).ranking_offsets
        counts = resample_counts(offsets, np.ascontiguousarray(self.keys[cases]), self.draws, self.size)
        theta = self.model.point(replace(replicates, weights=replicates.weights * counts))
        values = np.insert(theta, replicates.support_offsets[1:], 0.0)
        return batch_of(self.opinions, cases, values, draws=self.draws)
