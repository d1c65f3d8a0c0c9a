"""Inverse rank normalisation, plain and probabilistic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dissensus.aggregation._dirichlet import DirichletSampler
from dissensus.aggregation.base import Aggregation, PointSampler, plausibilities_of
from dissensus.aggregation.votes import normalised
from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_choice, check_positive
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.draws import Plausibilities
from dissensus.study.opinions import Opinions, opinions_of
from dissensus.study.rankings import Annotations
from dissensus.study.ratings import Ratings

Ties: TypeAlias = Literal["shared", "each"]
TIES = ("shared", "each")

PARTS = 720720.0
"""The least common multiple of 1 to 16."""


@dataclass(frozen=True)
class InverseRank(Aggregation):
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
    >>> said = Annotations.from_rankings([[[["a"], ["b", "c"]]]])
    >>> InverseRank().sample(said).mean()
    array([[0.66666667, 0.16666667, 0.16666667]])
    >>> InverseRank(ties="each").sample(said).mean()
    array([[0.5 , 0.25, 0.25]])
    """

    ties: Ties = "shared"

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, TIES)

    def point(self, opinions: Opinions) -> FloatArray:
        """Return the plausibilities of the mentioned conditions of all cases, side by side, shape (sum of U,)."""
        return normalised(opinions, inverse_ranks(opinions, self.ties))

    def _prepare(self, annotations: Annotations | Ratings, *, draws: int, seed: int) -> Plausibilities:  # noqa: ARG002
        opinions = opinions_of(annotations)
        return plausibilities_of(opinions, PointSampler(opinions, self.point(opinions)), draws=1)


@dataclass(frozen=True)
class ProbabilisticInverseRank(Aggregation):
    """Probabilistic inverse rank normalisation (PrIRN): Dirichlet(reliability * IRN + alpha).

    Parameters
    ----------
    reliability
        Concentration of the distribution; its inverse is about the variance. Any positive number.
    ties
        How tied conditions weigh, as in :class:`InverseRank`.
    alpha
        Prior mass of every condition. With 0, conditions that nobody mentioned have plausibility zero.

    Notes
    -----
    IRN is normalised before it is scaled, so weights of annotators shift the mean and not the spread. What is not
    mentioned has weight zero whether it is below or unobserved, so ``unranked`` makes no difference.

    Examples
    --------
    >>> said = Annotations.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"])
    >>> ProbabilisticInverseRank(reliability=30).sample(said, draws=4000).mean().round(2)
    array([[0.67, 0.33, 0.  ]])
    """

    reliability: float = 30.0
    ties: Ties = "shared"
    alpha: float = 0.0

    def __post_init__(self) -> None:
        check_positive(reliability=self.reliability)
        check_choice("ties", self.ties, TIES)
        if not 0 <= self.alpha < np.inf:
            raise DissensusError("alpha must be a finite number, zero or more", got=repr(self.alpha))

    def _prepare(self, annotations: Annotations | Ratings, *, draws: int, seed: int) -> Plausibilities:
        opinions = opinions_of(annotations)
        evidence = self.reliability * InverseRank(self.ties).point(opinions)
        sampler = DirichletSampler.of(opinions, evidence, self.alpha, draws=draws, seed=seed)
        return plausibilities_of(opinions, sampler, draws=draws)


def inverse_ranks(opinions: Opinions, ties: Ties) -> FloatArray:
    """Sum the weighted inverse ranks of the mentioned conditions of all cases, side by side, shape (sum of U,).

    The unit is one part in 720720, a multiple of every rank up to 16: sums of whole numbers are exact, so that three
    thirds are as much as one.
    """
    block = row_of_each(opinions.code_offsets)
    ranking = row_of_each(opinions.block_offsets)
    rank = np.arange(len(ranking)) - opinions.block_offsets[ranking] + 1
    share = np.diff(opinions.code_offsets) if ties == "shared" else 1
    weight = opinions.weights[ranking] * (PARTS / (rank * share))
    return weighted_counts(opinions.member_of_mention, weight[block], len(opinions.support))
