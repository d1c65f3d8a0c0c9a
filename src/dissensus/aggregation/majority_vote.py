"""Votes for first blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.aggregation.base import PointAggregation, normalised
from dissensus.core.aliases import FloatArray
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.study.opinions import Opinions


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
    block = row_of_each(opinions.code_offsets)
    is_first = np.zeros(len(opinions.code_offsets) - 1, dtype=np.bool_)
    is_first[opinions.block_offsets[:-1]] = True
    weight = opinions.weights[row_of_each(opinions.block_offsets)] * is_first / np.diff(opinions.code_offsets)
    return weighted_counts(opinions.member_of_mention, weight[block], len(opinions.support))
