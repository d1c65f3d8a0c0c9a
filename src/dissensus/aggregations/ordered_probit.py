"""Ordered probit: grades are intervals of a severity, which annotators perceive with a shift and a spread."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.aggregations.base import (
    REST_STREAM,
    Aggregation,
    check_warmup,
    plausibilities_of,
    stream_keys_of,
    with_support,
)
from dissensus.aggregations.dawid_skene import chain_rows, check_kept, first_votes, kept_draws
from dissensus.core.arrays import IntArray
from dissensus.core.checks import check_count, check_positive
from dissensus.core.errors import DissensusError
from dissensus.draws import Plausibilities
from dissensus.study.opinions import Opinions
from dissensus.study.panel import ANONYMOUS

if TYPE_CHECKING:
    from dissensus.kernels.ordered_probit import Record

# Stands where other aggregations have the key of a case: the chains belong to the study.
CHAIN_KEY = np.array([0x4F72646572656450], dtype=np.uint64)


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
    >>> from dissensus import Study
    >>> said = Study.from_counts([[3, 0, 0, 0], [0, 2, 1, 0], [0, 0, 1, 2]] * 5, question="grades")
    >>> means = OrderedProbit(warmup=100).sample(said, draws=400).mean()
    >>> bool(means[0, 1] > means[0, 2] > means[0, 3])
    True
    """

    id = "ordered-probit"
    meaning = (
        "Learns limits between grades, and how strict and how steady each annotator is; plausibilities are the grades "
        "that another annotator would give."
    )
    methods = (
        "a Bayesian ordered probit model of grades, with learned limits and partially pooled shifts and spreads of "
        "annotators"
    )
    learns = True
    needs_whole = "its chains learn limits between grades and what annotators are like from all cases at once"

    reliability: float = 1.0
    chains: int = 4
    warmup: int = 300

    def __post_init__(self) -> None:
        check_positive(reliability=self.reliability)
        check_count(chains=self.chains)
        check_warmup(self.warmup)

    def _prepare(self, opinions: Opinions, *, draws: int, seed: int) -> Plausibilities:
        check_grades(opinions)
        chains = min(self.chains, draws)
        how: Any = {"draws": draws, "chains": chains, "warmup": self.warmup, "seed": seed}
        record, _ = graded_record(opinions, **how, reliability=float(self.reliability))
        order, n_grades = np.argsort(opinions.keys, kind="stable"), len(opinions.conditions)
        judged = with_support(opinions, *np.divmod(np.arange(opinions.n_cases * n_grades), n_grades))
        columns, keys = np.arange(opinions.n_cases + 1) * (n_grades + 1), stream_keys_of(opinions, seed)
        rest = np.ones(opinions.n_cases), keys[:, REST_STREAM], None
        fill = partial(kept_draws, np.argsort(order), draws * columns, record.values)
        return plausibilities_of(judged, fill, draws=draws, chains=chains, rest=rest)


def check_grades(opinions: Opinions) -> None:
    """Refuse a study that did not ask for grades.

    Examples
    --------
    >>> from dissensus import Study
    >>> check_grades(Study.from_counts([[1, 0, 2]], question="grades").opinions)
    """
    if opinions.question != "grades":
        raise DissensusError(
            "ordered probit needs grades",
            expected="a study whose question is 'grades', its conditions from the lowest to the highest",
            got=f"a study whose question is {opinions.question!r}",
            advice="say what was asked (annotations.asked('grades'), --question grades), or use Dirichlet or "
            "PlackettLuce",
        )


def graded_record(
    opinions: Opinions,
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int,
    reliability: float = 1.0,
    keeps_cases: bool = True,
) -> tuple[Record, IntArray]:
    """Run chains over a whole study; return what they keep, and the codes of annotators who said something.

    They keep what annotators are like, and draws of cases if wanted. Cases are taken in the order of their keys, so
    that their order in the study makes no difference.
    """
    from dissensus.kernels.ordered_probit import Given, Record, run_chain

    n_grades, n_cases = len(opinions.conditions), opinions.n_cases
    n_values = draws * n_cases * (n_grades + 1) if keeps_cases else 0
    check_kept(n_values, draws)
    case, annotator, grade, power = first_votes(opinions.take(np.argsort(opinions.keys, kind="stable")))
    people = np.unique(annotator[annotator != ANONYMOUS])
    who = np.where(annotator == ANONYMOUS, len(people), np.searchsorted(people, annotator))
    by_annotator, by_grade = np.argsort(who, kind="stable"), np.argsort(grade, kind="stable")
    given = Given(
        case_offsets=np.searchsorted(case, np.arange(n_cases + 1)),
        cases=case,
        annotators=who,
        grades=grade,
        powers=power,
        by_annotator=by_annotator,
        annotator_offsets=np.searchsorted(who[by_annotator], np.arange(len(people) + 2)),
        by_grade=by_grade,
        grade_offsets=np.searchsorted(grade[by_grade], np.arange(n_grades + 1)),
    )
    sizes = (len(people), len(people), n_grades - 1, 3)
    record = Record(np.empty(n_values), *(np.empty((draws, size)) for size in sizes))
    for key, rows in chain_rows(CHAIN_KEY, seed, chains=chains, draws=draws):
        run_chain(given, record, key=key, warmup=warmup, rows=rows, reliability=reliability)
    return record, people
