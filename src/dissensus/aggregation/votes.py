"""Votes for first blocks, and the Dirichlet posterior that they give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.aggregation._dirichlet import DirichletSampler
from dissensus.aggregation.base import Aggregation, PointSampler, plausibilities_of
from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_positive
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.draws import Plausibilities
from dissensus.study.opinions import Opinions, opinions_of
from dissensus.study.rankings import Annotations
from dissensus.study.ratings import Ratings


@dataclass(frozen=True)
class MajorityVote(Aggregation):
    """Share of votes: every annotator has one vote, which the conditions of the first block share.

    Deterministic. Later blocks do not count, so ``unranked`` makes no difference.

    Examples
    --------
    >>> said = Annotations.from_rankings([[[["a"]], [["a", "b"]]]], ["a", "b", "c"])
    >>> MajorityVote().sample(said).mean()
    array([[0.75, 0.25, 0.  ]])
    """

    def point(self, opinions: Opinions) -> FloatArray:
        """Return the plausibilities of the mentioned conditions of all cases, side by side, shape (sum of U,)."""
        return normalised(opinions, votes(opinions))

    def _prepare(self, annotations: Annotations | Ratings, *, draws: int, seed: int) -> Plausibilities:  # noqa: ARG002
        opinions = opinions_of(annotations)
        return plausibilities_of(opinions, PointSampler(opinions, self.point(opinions)), draws=1)


@dataclass(frozen=True)
class Dirichlet(Aggregation):
    """Posterior of single labels: Dirichlet(reliability * votes + alpha).

    Parameters
    ----------
    reliability
        How many independent votes one annotator is worth; any positive number.
    alpha
        Prior mass of every condition, mentioned or not; positive.

    Notes
    -----
    Only first blocks count (a tied block shares its vote); use :class:`PlackettLuce` when lower ranks say something.
    What is not mentioned gets no vote whether it is below or unobserved, so ``unranked`` makes no difference.

    Examples
    --------
    >>> said = Annotations.from_counts([[8, 2, 0]], ["a", "b", "c"])
    >>> Dirichlet(alpha=1).sample(said, draws=4000).mean().round(1)
    array([[0.7, 0.2, 0.1]])
    """

    reliability: float = 1.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        check_positive(reliability=self.reliability, alpha=self.alpha)

    def _prepare(self, annotations: Annotations | Ratings, *, draws: int, seed: int) -> Plausibilities:
        opinions = opinions_of(annotations)
        sampler = DirichletSampler.of(opinions, self.reliability * votes(opinions), self.alpha, draws=draws, seed=seed)
        return plausibilities_of(opinions, sampler, draws=draws)


def votes(opinions: Opinions) -> FloatArray:
    """Count weighted votes for the mentioned conditions of all cases, side by side, shape (sum of U,)."""
    block = row_of_each(opinions.code_offsets)
    is_first = np.zeros(len(opinions.code_offsets) - 1, dtype=np.bool_)
    is_first[opinions.block_offsets[:-1]] = True
    weight = opinions.weights[row_of_each(opinions.block_offsets)] * is_first / np.diff(opinions.code_offsets)
    return weighted_counts(opinions.member_of_mention, weight[block], len(opinions.support))


def normalised(opinions: Opinions, scores: FloatArray) -> FloatArray:
    """Divide the scores of each case by their sum."""
    return scores / np.add.reduceat(scores, opinions.support_offsets[:-1])[row_of_each(opinions.support_offsets)]
