"""Probabilistic inverse rank normalisation."""

from __future__ import annotations

from dataclasses import dataclass

from dissensus.aggregation._dirichlet import DirichletSampler
from dissensus.aggregation.base import Aggregation, plausibilities_of
from dissensus.aggregation.inverse_rank import InverseRank
from dissensus.core.arguments import check_fields
from dissensus.core.checks import GREATEST, SMALLEST, check_choice, check_positive
from dissensus.core.errors import DissensusError
from dissensus.draws import Plausibilities
from dissensus.study.opinions import TIES, Opinions, Ties


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
    >>> from dissensus import Annotations
    >>> said = Annotations.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"])
    >>> ProbabilisticInverseRank(reliability=30).sample(said, draws=4000).mean().round(2)
    array([[0.67, 0.33, 0.  ]])
    """

    id = "probabilistic-inverse-rank"
    meaning = (
        "Gives each condition the weight 1, 1/2, 1/3 ... by its place and spreads the plausibilities around the "
        "average weights."
    )

    reliability: float = 30.0
    ties: Ties = "shared"
    alpha: float = 0.0

    def __post_init__(self) -> None:
        check_positive(reliability=self.reliability)
        check_choice("ties", self.ties, TIES)
        check_fields(self)
        if self.alpha != 0 and not SMALLEST <= self.alpha <= GREATEST:
            expected = f"0, or {SMALLEST:g} to {GREATEST:g}"
            raise DissensusError("alpha must be a finite number, zero or more", expected=expected, got=repr(self.alpha))

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        shared = self.ties == "shared"
        ties = "shared among tied conditions" if shared else "given in full to each tied condition"
        return f"Dirichlet distributions around normalised inverse ranks (weights {ties}; added mass {self.alpha:g})"

    @property
    def limit(self) -> Aggregation:
        """Inverse ranks with the same ties."""
        return InverseRank(self.ties)

    def _prepare(self, opinions: Opinions, *, draws: int, seed: int) -> Plausibilities:
        evidence = self.reliability * InverseRank(self.ties).point(opinions)
        sampler = DirichletSampler.of(opinions, evidence, self.alpha, draws=draws, seed=seed)
        return plausibilities_of(opinions, sampler, draws=draws)
