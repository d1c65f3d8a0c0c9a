"""Dirichlet posterior of single labels."""

from __future__ import annotations

from dataclasses import dataclass

from dissensus.aggregation._dirichlet import DirichletSampler
from dissensus.aggregation.base import Aggregation, plausibilities_of
from dissensus.aggregation.majority_vote import MajorityVote, votes
from dissensus.core.checks import check_positive
from dissensus.draws import Plausibilities
from dissensus.study.opinions import Opinions


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
    >>> from dissensus import Annotations
    >>> said = Annotations.from_counts([[8, 2, 0]], ["a", "b", "c"])
    >>> Dirichlet(alpha=1).sample(said, draws=4000).mean().round(1)
    array([[0.7, 0.2, 0.1]])
    """

    id = "dirichlet"
    meaning = "Counts single answers and spreads the plausibilities around their shares."

    reliability: float = 1.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        check_positive(reliability=self.reliability, alpha=self.alpha)

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        return f"Dirichlet distributions of the counts of first choices (added mass {self.alpha:g})"

    @property
    def limit(self) -> Aggregation:
        """The shares of votes."""
        return MajorityVote()

    def _prepare(self, opinions: Opinions, *, draws: int, seed: int) -> Plausibilities:
        sampler = DirichletSampler.of(opinions, self.reliability * votes(opinions), self.alpha, draws=draws, seed=seed)
        return plausibilities_of(opinions, sampler, draws=draws)
