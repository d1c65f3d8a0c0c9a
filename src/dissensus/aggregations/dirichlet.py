"""Dirichlet distributions of the plausibilities: around counts of first choices, or around normalised inverse ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from dissensus.aggregations.base import REST_STREAM, Aggregation, plausibilities_of, stream_keys_of
from dissensus.aggregations.case_prior import CasePrior, ShapedAggregation
from dissensus.aggregations.point_estimates import InverseRank, MajorityVote, votes
from dissensus.aggregations.priors import Shapes, alpha_words, prior_shapes
from dissensus.core.arrays import FloatArray, IntArray, KeyArray
from dissensus.core.checks import GREATEST, SMALLEST, check_choice, check_fields, check_positive
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import row_of_each, take_rows, weighted_counts
from dissensus.draws import Plausibilities
from dissensus.study.opinions import TIES, Opinions, Ties, inverse_ranks


@dataclass(frozen=True)
class Dirichlet(ShapedAggregation):
    """Posterior of single labels: Dirichlet(reliability * votes + alpha).

    Parameters
    ----------
    reliability
        How many independent votes one annotator is worth; any positive number.
    alpha
        Prior mass of every condition, mentioned or not; positive, by default 1. ``"fitted"``: what makes the first
        choices of the study most likely (empirical Bayes).
    prior
        ``"symmetric"``: every condition has the mass ``alpha``. ``"frequency"``: all together have it, each in
        proportion to the number of other cases that mention it, plus a half. ``"informed"``: what the models say about
        each case, as far as it predicts first choices; inside :func:`evaluate`, or given as what
        :func:`informed_prior` returns.

    Notes
    -----
    Only first blocks count (a tied block shares its vote); use :class:`PlackettLuce` when lower ranks say something.
    What is not mentioned gets no vote whether it is below or unobserved, so ``unranked`` makes no difference.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_counts([[8, 2, 0]], ["a", "b", "c"])
    >>> Dirichlet(alpha=1).sample(said, draws=4000).mean().round(1)
    array([[0.7, 0.2, 0.1]])
    """

    id = "dirichlet"
    meaning = "Counts single answers and spreads the plausibilities around their shares."
    limit = MajorityVote()
    priors, unit_priors = ("symmetric", "frequency", "informed"), ("symmetric", "frequency")

    prior: Literal["symmetric", "frequency", "informed"] | CasePrior = "symmetric"

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        if self.prior == "informed":
            return "Dirichlet distributions of the counts of first choices, with a prior informed by the models"
        shared = " in all, by frequency" if self.prior == "frequency" else ""
        return f"Dirichlet distributions of the counts of first choices (added mass {alpha_words(self.alpha)}{shared})"

    def _prepare(self, opinions: Opinions, *, draws: int, seed: int) -> Plausibilities:
        opinions, prior, fitted = self._shaped(opinions)
        return drawn_dirichlet(
            opinions, self.reliability * votes(opinions), prior, draws=draws, seed=seed, fitted=fitted
        )


def drawn_dirichlet(
    opinions: Opinions,
    evidence: FloatArray,
    prior: Shapes,
    *,
    draws: int,
    seed: int,
    fitted: Mapping[str, float] | None = None,
) -> Plausibilities:
    """Add the shapes of a prior to the evidence for each mentioned condition, and to nothing for the rest; draw."""
    concentrations = np.insert(evidence + prior.mentioned, opinions.support_offsets[1:], prior.rest)
    columns, keys = opinions.support_offsets + np.arange(opinions.n_cases + 1), stream_keys_of(opinions, seed)
    fill = partial(dirichlet_draws, concentrations, columns, keys[:, 1:], draws)
    rest = prior.split, keys[:, REST_STREAM], prior.sums
    return plausibilities_of(opinions, fill, draws=draws, rest=rest, fitted=fitted)


def dirichlet_draws(
    concentrations: FloatArray, columns: IntArray, keys: KeyArray, draws: int, cases: IntArray
) -> tuple[FloatArray, None, None]:
    """Draw independently from Dirichlet(concentrations), the rest being one component.

    Parameters
    ----------
    concentrations : (sum of (U + 1),)
        Case after case, the rest last; all others positive.
    columns : (n_cases + 1,)
        Where those of each case begin.
    keys : (n_cases, 1)
        Keys of the streams of the draws.
    cases
        Positions of the cases that are drawn.
    """
    from dissensus.kernels.simplex import sample_dirichlet

    offsets, chosen = take_rows(columns, cases)
    values = np.empty(draws * offsets[-1])
    sample_dirichlet(concentrations[chosen], offsets, keys[cases], (0, len(cases)), values)
    return values, None, None


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
