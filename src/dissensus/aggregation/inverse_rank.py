"""Inverse rank normalisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dissensus.aggregation.base import PointAggregation, normalised
from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_choice
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.study.opinions import Opinions

Ties: TypeAlias = Literal["shared", "each"]
TIES = ("shared", "each")

PARTS = 720720.0
"""The least common multiple of 1 to 16."""


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
    >>> said = Annotations.from_rankings([[[["a"], ["b", "c"]]]])
    >>> InverseRank().sample(said).mean()
    array([[0.66666667, 0.16666667, 0.16666667]])
    >>> InverseRank(ties="each").sample(said).mean()
    array([[0.5 , 0.25, 0.25]])
    """

    id = "inverse-rank"
    meaning = "Averages the weights 1, 1/2, 1/3 ... by place; nothing stays open."

    ties: Ties = "shared"

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, TIES)

    def point(self, opinions: Opinions) -> FloatArray:
        """Return the plausibilities of the mentioned conditions of all cases, side by side, shape (sum of U,)."""
        return normalised(opinions, inverse_ranks(opinions, self.ties))


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
