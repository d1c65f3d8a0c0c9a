"""Lay out who named what for the chains of Dawid-Skene, and run them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregation.base import MOST_VALUES, REST_STREAM
from dissensus.aggregation.majority_vote import votes
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import row_of_each, weighted_counts
from dissensus.study.opinions import Opinions
from dissensus.study.panel import ANONYMOUS

if TYPE_CHECKING:
    from dissensus.kernels.dawid_skene import Record, Votes

RIGHT, WRONG = 4.0, 2.0
"""Prior shapes of a pooled row: of naming the true condition, and of all others together."""

FREQUENCY_SHAPE = 0.5
"""Prior shape of the frequency of every condition."""

MOST_CELLS = 10**7
"""How many numbers the confusions of all annotators may be: 160 MB for them and their counts."""

MOST_COUNTED = 1e7
"""How often the opinions of named annotators may count, all together: votes are looked at one by one in every sweep."""

CHAIN_KEY = np.array([0x44617769642D536B], dtype=np.uint64)
"""Stands where other aggregations have the key of a case: the chains belong to the study."""


@dataclass(frozen=True, eq=False)
class Chains:
    """Hold what chains over a whole study need.

    Attributes
    ----------
    opinions
        The cases in the order of their keys, so that their order in the study makes no difference.
    votes
        What was said, as kernels take it.
    priors : (L, K)
        Prior shapes of pooled columns.
    labels : (sum of U,)
        Pooled column of each mentioned condition.
    annotators : (n_annotators,)
        Codes of those who are named and said something.
    """

    opinions: Opinions
    votes: Votes
    priors: FloatArray
    labels: IntArray
    annotators: IntArray

    @staticmethod
    def of(opinions: Opinions, truths: IntArray, *, full: bool = False) -> Chains:
        """Lay out what was said; ``full`` gives every named annotator a column of every condition."""
        from dissensus.kernels.dawid_skene import Votes

        n_conditions = len(opinions.conditions)
        case, annotator, code, power = first_votes(opinions)
        people = np.unique(annotator[annotator != ANONYMOUS])
        who = np.where(annotator == ANONYMOUS, len(people), np.searchsorted(people, annotator))
        are_alike = not len(people)
        check_counted(power[who < len(people)])
        pairs, pair_of_vote = np.unique(who * n_conditions + code, return_inverse=True)
        said = np.unique(opinions.support)
        if full:
            every = np.union1d(pairs, np.arange(len(people) * n_conditions))
            pair_of_vote = np.searchsorted(every, pairs)[pair_of_vote]
            pairs, said = every, np.arange(n_conditions)
        columns, offsets, labels = column_layout(pairs, said, n_conditions, len(people))
        case_offsets = np.searchsorted(case, np.arange(opinions.n_cases + 1))
        offsets = np.append(offsets, offsets[-1]) if are_alike else offsets
        said_by = Votes(case_offsets, who, columns[pair_of_vote], power, truths, offsets, labels, are_alike)
        check_cells(len(labels) * n_conditions, len(people), n_conditions)
        labels = np.searchsorted(said, opinions.support)
        return Chains(opinions, said_by, pooled_priors(said, n_conditions), labels, people)

    def of_cases(
        self, *, draws: int, chains: int, warmup: int, seed: int, power: float, of_votes: bool = False
    ) -> Record:
        """Run the chains and keep the plausibilities of the truth of cases, or of votes on them."""
        from dissensus.kernels.dawid_skene import Record

        said, n_conditions = self.opinions, self.priors.shape[1]
        n_values = draws * (len(said.support) + said.n_cases)
        check_kept(n_values, draws)
        nothing = np.zeros((draws, 0)), np.zeros(n_conditions), np.zeros((0, n_conditions))
        counts = votes(said) if of_votes else np.zeros(0)
        record = Record(said.support_offsets, said.support, self.labels, counts, np.empty(n_values), *nothing)
        return self._run(record, draws=draws, chains=chains, warmup=warmup, seed=seed, power=power)

    def of_annotators(self, *, draws: int, chains: int, warmup: int, seed: int) -> Record:
        """Run the chains and keep accuracies and confusions of annotators."""
        from dissensus.kernels.dawid_skene import Record

        n_conditions = self.priors.shape[1]
        accuracies, frequencies = np.zeros((draws, len(self.annotators))), np.zeros(n_conditions)
        confusions = np.zeros((len(self.votes.labels), n_conditions))
        nothing = self.opinions.support_offsets, self.opinions.support, self.labels, np.zeros(0), np.empty(0)
        record = Record(*nothing, accuracies, frequencies, confusions)
        return self._run(record, draws=draws, chains=chains, warmup=warmup, seed=seed, power=1.0)

    def _run(self, record: Record, *, draws: int, chains: int, warmup: int, seed: int, power: float) -> Record:
        """Run the chains one after the other; the first have a draw more where draws do not divide evenly."""
        from dissensus.kernels.dawid_skene import run_chain
        from dissensus.kernels.randomness import stream_keys

        keys = stream_keys(np.uint64(seed), CHAIN_KEY, 1 + chains)[0, REST_STREAM + 1 :]
        length, longer = divmod(draws, chains)
        first = 0
        for chain, key in enumerate(keys):
            rows = first, first + length + (chain < longer)
            run_chain(
                self.votes,
                self.priors,
                record,
                key=key,
                warmup=warmup,
                rows=rows,
                alpha=FREQUENCY_SHAPE,
                reliability=power,
            )
            first = rows[1]
        return record


def first_votes(opinions: Opinions) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return cases, annotators, conditions and powers of what was named first, each combination once, by case."""
    n_annotators, n_conditions = int(opinions.annotators.max(initial=0)) + 2, len(opinions.conditions)
    ranking = row_of_each(opinions.block_offsets)
    is_first = np.zeros(len(ranking), dtype=np.bool_)
    is_first[opinions.block_offsets[:-1]] = True
    share = opinions.weights[ranking] / np.diff(opinions.code_offsets)
    block = row_of_each(opinions.code_offsets)
    chosen = np.flatnonzero(is_first[block])
    block = block[chosen]
    case, annotator = opinions.case_of_ranking[ranking[block]], opinions.annotators[ranking[block]]
    code = opinions.support[opinions.member_of_mention[chosen]]
    keys, which = np.unique((case * n_annotators + annotator % n_annotators) * n_conditions + code, return_inverse=True)
    person = keys // n_conditions
    power = weighted_counts(which, share[block], len(keys))
    annotator = person % n_annotators
    annotator[annotator == n_annotators - 1] = ANONYMOUS
    return person // n_annotators, annotator, keys % n_conditions, power


def column_layout(
    pairs: IntArray, said: IntArray, n_conditions: int, n_people: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Give every pair of annotator and condition a column, and every annotator one more for all other conditions.

    Returns the column of each pair, offsets from annotators (the anonymous ones last) to columns, and pooled columns.
    """
    owner = pairs // n_conditions
    sizes = np.bincount(owner, minlength=n_people + 1)
    offsets = np.append(0, np.cumsum(sizes + (sizes > 0)))
    columns = np.arange(len(pairs)) + owner
    labels = np.full(offsets[-1], len(said))
    labels[columns] = np.searchsorted(said, pairs % n_conditions)
    return columns, offsets, labels


def pooled_priors(said: IntArray, n_conditions: int) -> FloatArray:
    """Return prior shapes of naming each of the conditions that were named, and any other, under each true condition.

    >>> pooled_priors(np.array([0]), 3)
    array([[4., 1., 1.],
           [2., 5., 5.]])
    """
    wrong = WRONG / (n_conditions - 1)
    priors = np.full((len(said) + 1, n_conditions), wrong)
    priors[-1] = (n_conditions - len(said)) * wrong
    of_true = np.full(n_conditions, len(said))
    of_true[said] = np.arange(len(said))
    priors[of_true, np.arange(n_conditions)] += RIGHT - wrong
    return priors


def check_counted(powers: FloatArray) -> None:
    """Refuse weights so large that counting votes one by one would not end."""
    if powers.sum() > MOST_COUNTED:
        raise DissensusError(
            "the opinions of named annotators count too often for Dawid-Skene",
            expected=f"sum of weights up to {MOST_COUNTED:g}",
            got=f"{powers.sum():.3g}",
            advice="give them smaller weights: only their ratios tell annotators apart",
        )


def check_cells(n_cells: int, n_people: int, n_conditions: int) -> None:
    """Refuse confusions that would not fit into memory."""
    if n_cells > MOST_CELLS:
        raise DissensusError(
            "the confusions of all annotators do not fit into memory",
            expected=f"at most {MOST_CELLS:,} numbers: conditions x sum over annotators of the conditions they named",
            got=f"{n_cells:,} for {n_people:,} named annotators and {n_conditions:,} conditions",
            advice="leave the names of annotators out, or use PlackettLuce or Dirichlet",
        )


def check_kept(n_values: int, draws: int) -> None:
    """Refuse draws of all cases that would not fit into memory: those of a chain are kept."""
    if n_values > MOST_VALUES:
        raise DissensusError(
            "too many draws to be kept in memory",
            expected=f"at most {max(1, MOST_VALUES * draws // n_values):,} draws: those of all cases are kept",
            got=f"{draws:,}",
        )
