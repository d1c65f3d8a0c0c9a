"""Inverse rank normalisation."""

from __future__ import annotations

from dataclasses import dataclass

from dissensus.aggregation.base import PointAggregation, normalised
from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_choice, check_fields
from dissensus.study.opinions import TIES, Opinions, Ties


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
