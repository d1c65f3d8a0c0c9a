"""Ordered probit: grades are intervals of a severity, which annotators perceive with a shift and a spread."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dissensus.aggregation._gradings import Gradings
from dissensus.aggregation.base import Aggregation, batch_of, plausibilities_of
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.checks import check_count, check_most, check_positive
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import take_rows
from dissensus.draws import Batch, Plausibilities
from dissensus.study.opinions import Opinions


@dataclass(frozen=True)
class OrderedProbit(Aggregation):
    """Posterior of grades that another annotator would give, learned from the whole study.

    Every case has a severity, a standard normal variate over cases. Annotator j perceives it shifted by b_j and with a
    normal error of deviation s_j, and gives the grade in whose interval it falls; the limits between grades are those
    of the whole study and learned. Shifts are normal around 0 and spreads log-normal, the more alike the more alike
    annotators are, which is learned too. The plausibilities of a draw are the probabilities of each grade from another
    annotator like these, whose shift is not known and whose spread is the typical one.

    Parameters
    ----------
    reliability
        How often each opinion counts when a case is judged; any positive number, below 1 where annotators tend to make
        the same mistakes. What annotators are like is learned with every opinion counting once, times its weight.
    chains, warmup
        The draws come from several chains, each after some sweeps that are thrown away.

    Notes
    -----
    The study must be one of grades (``question="grades"``), whose order is that of its conditions. Draws of a case
    depend on all other cases. Only first blocks count, and a tied block shares its vote: two tied grades are half a
    vote each, as powers of their probabilities. Weights of opinions are powers as well. Opinions of nobody in
    particular have an unknown shift and the typical spread. What is not mentioned gets no vote, whether it is below or
    unobserved, but neighbours of a grade that was given are more plausible than grades far away.

    Severities have mean 0 and deviation 1, and shifts mean 0: this fixes the scale, on which
    :func:`annotator_gradings` tells what annotators are like. What annotators perceive is integrated out, so that
    weights need not be whole and limits do not wait for it.

    Examples
    --------
    >>> from dissensus import Annotations
    >>> said = Annotations.from_counts([[3, 0, 0, 0], [0, 2, 1, 0], [0, 0, 1, 2]] * 5, question="grades")
    >>> means = OrderedProbit(warmup=100).sample(said, draws=400).mean()
    >>> bool(means[0, 1] > means[0, 2] > means[0, 3])
    True
    """

    id = "ordered-probit"
    meaning = (
        "Learns limits between grades, and how strict and how steady each annotator is; plausibilities are the grades "
        "that another annotator would give."
    )

    reliability: float = 1.0
    chains: int = 4
    warmup: int = 300

    def __post_init__(self) -> None:
        check_positive(reliability=self.reliability)
        check_count(chains=self.chains)
        if isinstance(self.warmup, bool) or not isinstance(self.warmup, int) or self.warmup < 0:
            raise DissensusError("warmup must be a whole number, zero or more", got=repr(self.warmup))
        check_most("warmup", self.warmup)

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        return (
            "a Bayesian ordered probit model of grades, with learned limits and partially pooled shifts and spreads "
            "of annotators"
        )

    @property
    def learns(self) -> bool:
        """Always: annotators and limits are known by what is said on other cases."""
        return True

    @property
    def needs_whole(self) -> str:
        """Always: its chains run over the whole study."""
        return "its chains learn limits between grades and what annotators are like from all cases at once"

    def _prepare(self, opinions: Opinions, *, draws: int, seed: int) -> Plausibilities:
        check_grades(opinions)
        chains, study = min(self.chains, draws), Gradings.of(opinions)
        record = study.run(
            draws=draws, chains=chains, warmup=self.warmup, seed=seed, reliability=float(self.reliability)
        )
        judged, order = with_all_grades(opinions), np.argsort(opinions.keys, kind="stable")
        sampler = GradeSampler(judged, np.argsort(order), record.values, draws, chains)
        return plausibilities_of(judged, sampler, draws=draws, chains=chains)


def check_grades(opinions: Opinions) -> None:
    """Refuse a study that did not ask for grades.

    Examples
    --------
    >>> from dissensus import Annotations
    >>> check_grades(Annotations.from_counts([[1, 0, 2]], question="grades").opinions)
    """
    if opinions.question != "grades":
        raise DissensusError(
            "ordered probit needs grades",
            expected="a study whose question is 'grades', its conditions from the lowest to the highest",
            got=f"a study whose question is {opinions.question!r}",
            advice="say what was asked (annotations.asked('grades'), --question grades), or use Dirichlet or "
            "PlackettLuce",
        )


def with_all_grades(opinions: Opinions) -> Opinions:
    """Add all grades to the supports of all cases.

    Examples
    --------
    >>> from dissensus import Annotations
    >>> with_all_grades(Annotations.from_counts([[1, 0, 2]]).opinions).support
    array([0, 1, 2])
    """
    n_grades, n_cases = len(opinions.conditions), opinions.n_cases
    codes = opinions.support[opinions.member_of_mention]
    offsets, support = np.arange(n_cases + 1) * n_grades, np.tile(np.arange(n_grades), n_cases)
    return replace(opinions, local=codes, support_offsets=offsets, support=support)


@dataclass(frozen=True, eq=False)
class GradeSampler:
    """Give the draws of cases that the chains of the whole study have kept.

    ``places`` says where the draws of each case are among ``values``.
    """

    opinions: Opinions
    places: IntArray
    values: FloatArray
    draws: int
    chains: int

    def __call__(self, cases: IntArray) -> Batch:
        """Return the draws of the cases at these positions."""
        size = self.draws * (len(self.opinions.conditions) + 1)
        _, kept = take_rows(np.arange(self.opinions.n_cases + 1) * size, self.places[cases])
        return batch_of(self.opinions, cases, self.values[kept], draws=self.draws, chains=self.chains)
