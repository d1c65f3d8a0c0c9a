"""Annotators who differ, learned from how they agree over the whole study: Bayesian Dawid-Skene, and ordered probit.

In ordered probit, grades are intervals of a severity, which annotators perceive with a shift and a spread.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dissensus.aggregations.base import (
    MOST_VALUES,
    REST_STREAM,
    Aggregation,
    available_threads,
    check_warmup,
    plausibilities_of,
    stream_keys_of,
    with_support,
)
from dissensus.aggregations.point_estimates import first_choices, votes
from dissensus.core.arrays import FloatArray, IntArray, KeyArray
from dissensus.core.checks import check_choice, check_count, check_positive, is_list
from dissensus.core.errors import DissensusError, DissensusWarning, listing, suggestion
from dissensus.core.ragged import offsets_from_lengths, take_rows, weighted_counts
from dissensus.draws import Plausibilities
from dissensus.study.opinions import Opinions

if TYPE_CHECKING:
    from dissensus.kernels.dawid_skene import Record, Votes
    from dissensus.kernels.ordered_probit import Record as GradeRecord

# Before anything is seen, annotators name the true condition with this chance. The shapes of a pooled row sum to the
# second number, and with K conditions to the third times (K - 2)^2, if that is more: with less, one condition after the
# other becomes that of all cases on which annotators disagree, another one in every chain.
RIGHT, LEAST_STRENGTH, STRENGTH = 2 / 3, 6.0, 1.5

# Prior shape of the frequency of every condition.
FREQUENCY_SHAPE = 0.5

# How many numbers the confusions of all annotators may be: 160 MB for them and their counts.
MOST_CELLS = 10**7

# How often the opinions of named annotators may count, all together: votes are looked at one by one in every sweep.
MOST_COUNTED = 1e7

# Stand where other aggregations have the key of a case: the chains belong to the study.
LABEL_CHAINS, GRADE_CHAINS = (np.array([key], dtype=np.uint64) for key in (0x44617769642D536B, 0x4F72646572656450))

# Up to this number every condition of every case has a plausibility of its own, mentioned or not.
FEW_CONDITIONS = 12


@dataclass(frozen=True)
class DawidSkene(Aggregation):
    """Posterior of single labels, given annotators whose confusions are learned from the whole study.

    Every case has one true condition, and every annotator names condition l on a case of true condition k with a
    probability of their own. The rows of these confusions are drawn towards those of all annotators together, the more
    the more alike annotators are, which is learned too.

    Parameters
    ----------
    reliability
        How often each opinion counts when a case is judged; any positive number, below 1 where annotators tend to make
        the same mistakes. What annotators are like is learned with every opinion counting once, times its weight.
    target
        What is drawn. ``"truth"``: the probability of each condition to be the true one, given one draw of the
        confusions and of the frequencies of conditions. ``"votes"``: the shares of votes that a large panel of these
        annotators would give; given the true condition k they are Dirichlet(c r_k + reliability * votes), where r_k
        is the average row of annotators and c, learned as well, says how much cases of one condition differ.
    gold
        The true condition of cases where it is known, by name of the case: ``{"case 7": "Eczema"}``. Names of cases
        that are not in the study are passed over.
    chains, warmup
        The draws come from several chains, each after some sweeps that are thrown away.

    Notes
    -----
    Draws of a case depend on all other cases. Only first blocks count, and a tied block shares its vote: two tied
    conditions are half a vote each, as powers of their probabilities. Weights of opinions are powers as well. Opinions
    of nobody in particular follow the pooled confusions. What is not mentioned gets no vote, whether it is below or
    unobserved. Up to 12 conditions all have plausibilities of their own; of more, those that nobody mentioned on a case
    share the exact sum of their probabilities, split among them by how frequent they are in the study.

    Draws of the truth say how certain it is, not how annotators are going to vote: where they err, the truth is more
    certain than their shares. The cost of a sweep is in proportion to conditions times the sum over annotators of the
    different conditions that each has named, plus conditions times opinions; the former may be ten million.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings(
    ...     [[[["a"]], [["a"]], [["b"]]]] * 20 + [[[["b"]], [["b"]], [["a"]]]] * 20, ["a", "b"],
    ...     annotator_names=["A", "B", "C"])
    >>> DawidSkene().sample(said, draws=1000).mean()[[0, -1], 0] > 0.8
    array([ True, False])
    """

    id = "dawid-skene"
    meaning = (
        "Learns how each annotator errs from how they agree with the others, and weighs what they say by it; every "
        "case has one true condition."
    )
    given = ("gold",)
    plain_name = "Dawid-Skene"
    learns = True
    needs_whole = "its chains learn what annotators are like from all cases at once"

    reliability: float = 1.0
    target: Literal["truth", "votes"] = "truth"
    gold: Mapping[str, str] | tuple[tuple[str, str], ...] = ()
    chains: int = 4
    warmup: int = 100

    def __post_init__(self) -> None:
        check_positive(reliability=self.reliability)
        check_choice("target", self.target, ("truth", "votes"))
        object.__setattr__(self, "gold", gold_pairs(self.gold))
        check_count(chains=self.chains)
        check_warmup(self.warmup)

    @property
    def methods(self) -> str:
        """What a methods section says opinions were aggregated with."""
        known = f"; the true condition of {len(self.gold)} cases was given" if self.gold else ""
        what = "the true condition" if self.target == "truth" else "the shares of votes"
        return f"a Bayesian Dawid-Skene model of {what}, with partially pooled confusions of annotators{known}"

    def _prepare(self, opinions: Opinions, *, draws: int, seed: int) -> Plausibilities:
        chains, truths = min(self.chains, draws), known_truths(opinions, dict(self.gold))
        known, n_conditions = np.flatnonzero(truths >= 0), len(opinions.conditions)
        added = known * n_conditions + truths[known]
        if n_conditions <= FEW_CONDITIONS:
            added = np.arange(opinions.n_cases * n_conditions)
        judged = with_support(opinions, *np.divmod(added, n_conditions))
        order = np.argsort(opinions.keys, kind="stable")
        how: Any = {"draws": draws, "chains": chains, "warmup": self.warmup, "seed": seed, "power": self.reliability}
        record = learned_record(judged.take(order), truths[order], self.target, **how)
        n_cases = opinions.n_cases + FREQUENCY_SHAPE * n_conditions
        sums = np.append(0.0, np.cumsum(record.frequencies / draws * n_cases))
        return kept_plausibilities(judged, record.values, sums, draws=draws, chains=chains, seed=seed)


def gold_pairs(gold: Any) -> tuple[tuple[str, str], ...]:
    """Return names of cases and of their true conditions, in order; refuse what is not a mapping of names to names."""
    pairs: list[Any] = list(gold.items()) if isinstance(gold, Mapping) else list(gold) if is_list(gold) else [None]
    are_names = (is_list(pair) and len(pair) == 2 and all(isinstance(name, str) for name in pair) for pair in pairs)
    wrong = [pair for pair, is_right in zip(pairs, are_names, strict=True) if not is_right]
    if wrong:
        raise DissensusError(
            "gold is not understood",
            expected='the name of the true condition by the name of the case, such as {"case 7": "Eczema"}',
            got=f"{gold if wrong[0] is None else wrong[0]!r:.60}",
        )
    twice = [name for name, count in Counter(case for case, _ in pairs).items() if count > 1]
    if twice:
        raise DissensusError("a case has two gold labels", where=f"case {twice[0]!r}")
    return tuple(sorted((case, condition) for case, condition in pairs))


def known_truths(opinions: Opinions, gold: Mapping[str, str]) -> IntArray:
    """Return the code of the true condition of each case, -1 where it is not known, shape (n_cases,)."""
    codes = {name: code for code, name in enumerate(opinions.conditions)}
    unknown = [name for name in gold.values() if name not in codes]
    if unknown:
        raise DissensusError(
            f"gold names a condition that the study does not have: {unknown[0]!r}",
            advice=suggestion(unknown[0], opinions.conditions) or "give the whole list of conditions",
        )
    truths = np.array([codes[gold[name]] if name in gold else -1 for name in opinions.case_names], dtype=np.int64)
    if gold and not (truths >= 0).any() and gold.keys().isdisjoint(opinions.excluded):
        warnings.warn(
            f"none of the cases with a gold label is in the study: {listing(gold)}", DissensusWarning, stacklevel=2
        )
    return truths


def kept_plausibilities(
    opinions: Opinions, values: FloatArray, sums: FloatArray | None, *, draws: int, chains: int, seed: int
) -> Plausibilities:
    """Wrap draws that chains have kept, in the order of keys of cases; ``sums`` are those of weights that differ."""
    order = np.argsort(opinions.keys, kind="stable")
    offsets = draws * offsets_from_lengths(opinions.support_sizes[order] + 1)
    fill = partial(kept_draws, np.argsort(order), offsets, values)
    rest = np.ones(opinions.n_cases), stream_keys_of(opinions, seed)[:, REST_STREAM], sums
    return plausibilities_of(opinions, fill, draws=draws, chains=chains, rest=rest)


def kept_draws(
    places: IntArray, offsets: IntArray, values: FloatArray, cases: IntArray
) -> tuple[FloatArray, None, None]:
    """Give the draws of cases that the chains of the whole study have kept.

    ``places`` says where the draws of each case are among ``values``, which begin at ``offsets``.
    """
    _, kept = take_rows(offsets, places[cases])
    return values[kept], None, None


# Chains -------------------------------------------------------------------------------------------------


def learned_record(
    opinions: Opinions,
    truths: IntArray,
    keeps: Literal["truth", "votes", "annotators"],
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int,
    power: float = 1.0,
) -> Record:
    """Run chains over a whole study; return what they keep.

    They keep the plausibilities of the truth of cases, or of votes on them, or what annotators do: accuracies and
    confusions, in the order of their codes. The cases are in the order of their keys, so that their order in the study
    makes no difference.
    """
    from dissensus.kernels.dawid_skene import Record, run_chain

    n_conditions, of_cases = len(opinions.conditions), keeps != "annotators"
    said, named, people = _laid_out(opinions, truths, full=not of_cases)
    n_values = draws * (len(opinions.support) + opinions.n_cases) if of_cases else 0
    check_kept(n_values, draws)
    record = Record(
        opinions.support_offsets,
        opinions.support,
        np.searchsorted(named, opinions.support),
        votes(opinions) if keeps == "votes" else np.zeros(0),
        np.empty(n_values),
        np.zeros((draws, 0 if of_cases else len(people))),
        np.zeros(n_conditions),
        np.zeros((0 if of_cases else len(said.labels), n_conditions)),
    )
    how, priors = {"alpha": FREQUENCY_SHAPE, "reliability": power}, pooled_priors(named, n_conditions)

    def run(chain: tuple[np.uint64, tuple[int, int]]) -> Record:
        own = record._replace(frequencies=np.zeros(n_conditions), confusions=np.zeros_like(record.confusions))
        run_chain(said, priors, own, key=chain[0], warmup=warmup, rows=chain[1], **how)
        return own

    with ThreadPoolExecutor(available_threads()) as pool:
        for own in pool.map(run, chain_rows(LABEL_CHAINS, seed, chains=chains, draws=draws)):
            record.frequencies[:] += own.frequencies
            record.confusions[:] += own.confusions
    return record


def _laid_out(opinions: Opinions, truths: IntArray, *, full: bool) -> tuple[Votes, IntArray, IntArray]:
    """Return what was said as kernels take it, the conditions of pooled columns, and codes of those who are named.

    ``full`` gives every named annotator a column of every condition. Every pair of annotator and condition has a
    column, and every annotator one more for all other conditions; the anonymous ones come last.
    """
    from dissensus.kernels.dawid_skene import Votes

    n_conditions = len(opinions.conditions)
    case, who, code, power, people = first_votes(opinions)
    counted = power[who < len(people)].sum()
    if counted > MOST_COUNTED:
        raise DissensusError(
            "the opinions of named annotators count too often for Dawid-Skene",
            expected=f"sum of weights up to {MOST_COUNTED:g}",
            got=f"{counted:.3g}",
            advice="give them smaller weights: only their ratios tell annotators apart",
        )
    pairs, pair_of_vote = np.unique(who * n_conditions + code, return_inverse=True)
    named = np.unique(opinions.support)
    if full:
        every = np.union1d(pairs, np.arange(len(people) * n_conditions))
        pair_of_vote = np.asarray(np.searchsorted(every, pairs))[pair_of_vote]
        pairs, named = every, np.arange(n_conditions)
    owner = pairs // n_conditions
    sizes = np.bincount(owner, minlength=len(people) + 1)
    offsets, columns = np.append(0, np.cumsum(sizes + (sizes > 0))), np.arange(len(pairs)) + owner
    labels = np.full(offsets[-1], len(named))
    labels[columns] = np.searchsorted(named, pairs % n_conditions)
    if len(labels) * n_conditions > MOST_CELLS:
        raise DissensusError(
            "the confusions of all annotators do not fit into memory",
            expected=f"at most {MOST_CELLS:,} numbers: conditions x sum over annotators of conditions they named",
            got=f"{len(labels) * n_conditions:,} for {len(people):,} named annotators and {n_conditions:,} conditions",
            advice="leave the names of annotators out, or use PlackettLuce or Dirichlet",
        )
    are_alike = not len(people)
    offsets = np.append(offsets, offsets[-1]) if are_alike else offsets
    case_offsets = np.searchsorted(case, np.arange(opinions.n_cases + 1))
    said = Votes(case_offsets, who, columns[pair_of_vote], power, truths, offsets, labels, are_alike)
    return said, named, people


def chain_rows(key: KeyArray, seed: int, *, chains: int, draws: int) -> Iterator[tuple[np.uint64, tuple[int, int]]]:
    """Give every chain of a study, one after the other, its key and its rows of draws: first, and one past the last.

    The first have a draw more where draws do not divide evenly. ``key`` stands where other aggregations have the key of
    a case: the chains belong to the study.
    """
    from dissensus.kernels.randomness import stream_keys

    (length, longer), first = divmod(draws, chains), 0
    for chain, own in enumerate(stream_keys(np.uint64(seed), key, 1 + chains)[0, REST_STREAM + 1 :]):
        last = first + length + (chain < longer)
        yield own, (first, last)
        first = last


def first_votes(opinions: Opinions) -> tuple[IntArray, IntArray, IntArray, FloatArray, IntArray]:
    """Return cases, annotators, conditions and powers of what was named first, each combination once, by case.

    The annotators are positions among those who have a name, whose codes come last; anonymous ones stand behind them.
    """
    n_annotators, n_conditions = int(opinions.annotators.max(initial=0)) + 2, len(opinions.conditions)
    ranking, member, sizes = first_choices(opinions)
    person = opinions.case_of_ranking * n_annotators + opinions.annotators % n_annotators
    keys, which = np.unique(person[ranking] * n_conditions + opinions.support[member], return_inverse=True)
    case, annotator = np.divmod(keys // n_conditions, n_annotators)
    people: IntArray = np.unique(
        annotator[annotator < n_annotators - 1]
    )  # the last code is ANONYMOUS, modulo their number
    power = weighted_counts(which, opinions.weights[ranking] / sizes, len(keys))
    return case, np.asarray(np.searchsorted(people, annotator)), keys % n_conditions, power, people


def pooled_priors(said: IntArray, n_conditions: int) -> FloatArray:
    """Return prior shapes of naming each of the conditions that were named, and any other, under each true condition.

    >>> pooled_priors(np.array([0]), 3)
    array([[4., 1., 1.],
           [2., 5., 5.]])
    """
    strength = max(LEAST_STRENGTH, STRENGTH * (n_conditions - 2) ** 2)
    right, wrong = RIGHT * strength, (1.0 - RIGHT) * strength / (n_conditions - 1)
    priors = np.full((len(said) + 1, n_conditions), wrong)
    priors[-1] = (n_conditions - len(said)) * wrong
    of_true = np.full(n_conditions, len(said))
    of_true[said] = np.arange(len(said))
    priors[of_true, np.arange(n_conditions)] += right - wrong
    return priors


def check_kept(n_values: int, draws: int) -> None:
    """Refuse draws of all cases that would not fit into memory: those of a chain are kept."""
    if n_values > MOST_VALUES:
        raise DissensusError(
            "too many draws to be kept in memory",
            expected=f"at most {max(1, MOST_VALUES * draws // n_values):,} draws: those of all cases are kept",
            got=f"{draws:,}",
        )


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
        record = graded_record(opinions, **how, reliability=float(self.reliability))
        n_grades = len(opinions.conditions)
        judged = with_support(opinions, *np.divmod(np.arange(opinions.n_cases * n_grades), n_grades))
        return kept_plausibilities(judged, record.values, None, draws=draws, chains=chains, seed=seed)


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
) -> GradeRecord:
    """Run chains over a whole study; return what they keep.

    They keep what annotators are like, and draws of cases if wanted. Cases are taken in the order of their keys, so
    that their order in the study makes no difference.
    """
    from dissensus.kernels.ordered_probit import Given, Record, run_chain

    n_grades, n_cases = len(opinions.conditions), opinions.n_cases
    n_values = draws * n_cases * (n_grades + 1) if keeps_cases else 0
    check_kept(n_values, draws)
    case, who, grade, power, people = first_votes(opinions.take(np.argsort(opinions.keys, kind="stable")))
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
    for key, rows in chain_rows(GRADE_CHAINS, seed, chains=chains, draws=draws):
        run_chain(given, record, key=key, warmup=warmup, rows=rows, reliability=reliability)
    return record
