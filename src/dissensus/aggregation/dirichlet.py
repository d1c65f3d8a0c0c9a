"""Dirichlet posterior of single labels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from dissensus.aggregation._dirichlet import DirichletSampler
from dissensus.aggregation._priors import Alpha, LearnedPrior, alpha_words, given_alpha
from dissensus.aggregation.base import Aggregation, plausibilities_of
from dissensus.aggregation.case_prior import CasePrior, prepared_prior, taken_prior
from dissensus.aggregation.majority_vote import MajorityVote, votes
from dissensus.core.checks import check_choice, check_positive
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
        Prior mass of every condition, mentioned or not; positive, by default 1. ``"fitted"``: what makes the first
        choices of the study most likely (empirical Bayes).
    prior
        ``"symmetric"``: every condition has the mass ``alpha``. ``"frequency"``: all together have it, each in
        proportion to the number of other cases that mention it, plus a half. ``"informed"``: what the models say about
        each case, as far as it foretells first choices; inside :func:`evaluate`, or given as what
        :func:`informed_prior` returns.

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
    alpha: Alpha | None = None
    prior: Literal["symmetric", "frequency", "informed"] | CasePrior = "symmetric"
    case_prior: CasePrior | None = field(default=None, repr=False, compare=False)
    learned: LearnedPrior | None = field(default=None, repr=False, compare=False)

    kept_apart = ("case_prior", "learned")

    def __post_init__(self) -> None:
        check_positive(reliability=self.reliability)
        taken = taken_prior(self.prior, self.case_prior, self.learned)
        for name, value in zip(("prior", "case_prior"), taken, strict=True):
            object.__setattr__(self, name, value)
        check_choice("prior", self.prior, ("symmetric", "frequency", "informed"))
        alpha = 1.0 if self.alpha is None and self.prior != "informed" else self.alpha
        object.__setattr__(self, "alpha", given_alpha(alpha, self.prior))

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        if self.prior == "informed":
            return "Dirichlet distributions of the counts of first choices, with a prior informed by the models"
        shared = " in all, by frequency" if self.prior == "frequency" else ""
        return f"Dirichlet distributions of the counts of first choices (added mass {alpha_words(self.alpha)}{shared})"

    @property
    def limit(self) -> Aggregation:
        """The shares of votes."""
        return MajorityVote()

    @property
    def needs_whole(self) -> str:
        """Nothing: what it learns adds up over parts of a study."""
        return ""

    def with_learned(self, learned: LearnedPrior) -> Aggregation:
        """Fix what it learns."""
        return replace(self, learned=learned)

    def _prepare(self, opinions: Opinions, *, draws: int, seed: int) -> Plausibilities:
        opinions, prior, fitted = prepared_prior(opinions, self.prior, self.alpha, self.case_prior, self.learned)
        sampler = DirichletSampler.of(opinions, self.reliability * votes(opinions), prior, draws=draws, seed=seed)
        return plausibilities_of(opinions, sampler, draws=draws, rest_sums=prior.sums, fitted=fitted)
