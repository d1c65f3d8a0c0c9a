"""Dirichlet posterior of single labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from dissensus.aggregations.base import REST_STREAM, plausibilities_of, stream_keys_of
from dissensus.aggregations.case_prior import CasePrior, ShapedAggregation
from dissensus.aggregations.point_estimates import MajorityVote, votes
from dissensus.aggregations.priors import Alpha, LearnedPrior, Shapes, alpha_words, given_alpha
from dissensus.core.arrays import FloatArray, IntArray, KeyArray
from dissensus.core.checks import check_positive
from dissensus.core.ragged import take_rows
from dissensus.draws import Plausibilities
from dissensus.study.opinions import Opinions


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

    reliability: float = 1.0
    alpha: Alpha | None = None
    prior: Literal["symmetric", "frequency", "informed"] | CasePrior = "symmetric"
    case_prior: CasePrior | None = field(default=None, repr=False, compare=False)
    learned: LearnedPrior | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_positive(reliability=self.reliability)
        self._take_prior(self.prior, ("symmetric", "frequency", "informed"))
        alpha = 1.0 if self.alpha is None and self.prior != "informed" else self.alpha
        object.__setattr__(self, "alpha", given_alpha(alpha, self.prior))

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
