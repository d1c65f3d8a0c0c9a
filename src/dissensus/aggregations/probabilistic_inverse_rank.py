"""Probabilistic inverse rank normalisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.dirichlet import drawn_dirichlet
from dissensus.aggregations.point_estimates import InverseRank
from dissensus.aggregations.priors import prior_shapes
from dissensus.core.checks import GREATEST, SMALLEST, check_choice, check_fields, check_positive
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.draws import Plausibilities
from dissensus.study.opinions import TIES, Opinions, Ties, inverse_ranks

Scale: TypeAlias = Literal["case", "annotator"]
SCALES = ("case", "annotator")


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
    scale
        ``"case"``: the concentration of a case is the reliability, however many annotators there were. ``"annotator"``:
        each annotator adds a concentration of the reliability (about 1/2 to 3 is usual), times the weight of the
        ranking, so that more annotators mean less spread.

    Notes
    -----
    With ``scale="case"`` IRN is normalised before it is scaled, so weights of annotators shift the mean and not the
    spread. What is not mentioned has weight zero whether it is below or unobserved: ``unranked`` makes no difference.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"])
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
    scale: Scale = "case"

    def __post_init__(self) -> None:
        check_positive(reliability=self.reliability)
        check_choice("ties", self.ties, TIES)
        check_choice("scale", self.scale, SCALES)
        check_fields(self)
        if self.alpha != 0 and not SMALLEST <= self.alpha <= GREATEST:
            expected = f"0, or {SMALLEST:g} to {GREATEST:g}"
            raise DissensusError("alpha must be a finite number, zero or more", expected=expected, got=repr(self.alpha))

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        shared = self.ties == "shared"
        ties = "shared among tied conditions" if shared else "given in full to each tied condition"
        scale = "" if self.scale == "case" else "; concentration per annotator"
        details = f"weights {ties}; added mass {self.alpha:g}{scale}"
        return f"Dirichlet distributions around normalised inverse ranks ({details})"

    @property
    def limit(self) -> Aggregation:
        """Inverse ranks with the same ties."""
        return InverseRank(self.ties)

    def _prepare(self, opinions: Opinions, *, draws: int, seed: int) -> Plausibilities:
        prior = prior_shapes(opinions, "symmetric", self.alpha)
        evidence = self.reliability * InverseRank(self.ties).point(opinions)
        if self.scale == "annotator":
            parts = inverse_ranks(opinions, self.ties)
            ranking = row_of_each(opinions.code_offsets[opinions.block_offsets])
            share = opinions.weights * self.reliability / weighted_counts(ranking, parts, len(opinions.weights))
            evidence = weighted_counts(opinions.member_of_mention, parts * share[ranking], len(opinions.support))
        return drawn_dirichlet(opinions, evidence, prior, draws=draws, seed=seed)
