"""The opinions that count: rankings of the annotated cases, with conditions numbered within their support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray, KeyArray, Question, Unranked
from dissensus.core.errors import DissensusError
from dissensus.core.names import case_keys
from dissensus.core.ragged import offsets_from_lengths, row_of_each, take_rows, weighted_counts

if TYPE_CHECKING:
    from dissensus.study.rankings import Annotations

Ties: TypeAlias = Literal["shared", "each"]
"""What tied conditions have of the weight of their block: a share each, or all of it."""

TIES = ("shared", "each")

PARTS = 720720.0
"""The least common multiple of 1 to 16: the unit of inverse ranks is one part."""


@dataclass(frozen=True, eq=False)
class Opinions:
    """Hold the rankings of annotated cases: no abstentions, no rankings of weight zero, no case without either.

    Attributes
    ----------
    case_names, excluded
        The annotated cases, and the others.
    conditions, unranked, question
        As in the annotations.
    keys : (n_cases,)
        Hash of the name of each case.
    ranking_offsets, block_offsets, code_offsets
        From cases to rankings, from rankings to blocks, from blocks to conditions.
    local : (n_mentions,)
        Conditions as positions in the support of their case.
    weights : (n_rankings,)
        Weight of each ranking, positive, times the annotators who gave it.
    votes : (n_rankings,)
        How many annotators gave each ranking.
    annotators : (n_rankings,)
        Code of the annotator of each ranking, -1 where nobody is named.
    support_offsets, support
        Codes of the mentioned conditions of each case.
    """

    case_names: tuple[str, ...]
    excluded: tuple[str, ...]
    conditions: tuple[str, ...]
    unranked: Unranked
    keys: KeyArray
    ranking_offsets: IntArray
    block_offsets: IntArray
    code_offsets: IntArray
    local: IntArray
    weights: FloatArray
    votes: IntArray
    annotators: IntArray
    support_offsets: IntArray
    support: IntArray
    question: Question = "conditions"

    @property
    def n_cases(self) -> int:
        """Number of annotated cases."""
        return len(self.case_names)

    @property
    def support_sizes(self) -> IntArray:
        """U of each case, shape (n_cases,)."""
        return np.diff(self.support_offsets)

    @property
    def rest_sizes(self) -> IntArray:
        """K - U of each case, shape (n_cases,)."""
        return len(self.conditions) - self.support_sizes

    @property
    def case_of_ranking(self) -> IntArray:
        """Position of the case of each ranking, shape (n_rankings,)."""
        return row_of_each(self.ranking_offsets)

    @property
    def member_of_mention(self) -> IntArray:
        """Position of each mention among the supports of all cases put side by side, shape (n_mentions,)."""
        case = self.case_of_ranking[row_of_each(self.code_offsets[self.block_offsets])]
        return self.local + self.support_offsets[case]

    def take(self, cases: IntArray) -> Opinions:
        """Select cases by position, which may repeat."""
        ranking_offsets, rankings = take_rows(self.ranking_offsets, cases)
        block_offsets, blocks = take_rows(self.block_offsets, rankings)
        code_offsets, mentions = take_rows(self.code_offsets, blocks)
        support_offsets, members = take_rows(self.support_offsets, cases)
        return Opinions(
            case_names=tuple(self.case_names[i] for i in cases),
            excluded=(),
            conditions=self.conditions,
            unranked=self.unranked,
            keys=self.keys[cases],
            ranking_offsets=ranking_offsets,
            block_offsets=block_offsets,
            code_offsets=code_offsets,
            local=self.local[mentions],
            weights=self.weights[rankings],
            votes=self.votes[rankings],
            annotators=self.annotators[rankings],
            support_offsets=support_offsets,
            support=self.support[members],
            question=self.question,
        )

    def inverse_ranks(self, ties: Ties) -> FloatArray:
        """Sum the weighted inverse ranks of the mentioned conditions of all cases, side by side, shape (sum of U,)."""
        return weighted_counts(self.member_of_mention, inverse_ranks(self, ties), len(self.support))


def inverse_ranks(said: Opinions | Annotations, ties: Ties) -> FloatArray:
    """Return what every mention contributes: the weight of its ranking over its rank, shape (n_mentions,).

    The unit is one part in 720720, a multiple of every rank up to 16: sums of whole numbers are exact, so that three
    thirds are as much as one.

    Examples
    --------
    >>> from dissensus import Annotations
    >>> inverse_ranks(Annotations.from_rankings([[[["a"], ["b", "c"]]]]), "shared") / PARTS
    array([1.  , 0.25, 0.25])
    """
    ranking = row_of_each(said.block_offsets)
    rank = np.arange(len(ranking)) - said.block_offsets[ranking] + 1
    share = np.diff(said.code_offsets) if ties == "shared" else 1
    weight = said.weights[ranking] * (PARTS / (rank * share))
    return np.asarray(weight[row_of_each(said.code_offsets)])


def found_opinions(annotations: Annotations) -> Opinions:
    """Keep what can be aggregated, and name the cases that cannot; see :attr:`Annotations.opinions`."""
    check_several_conditions(annotations)
    said = annotations.counted
    if not said.n_rankings:
        raise DissensusError(
            "no case has any opinion",
            expected="at least one ranking with a condition, and a weight above zero",
            got=f"{annotations.n_cases} cases with {annotations.n_rankings} rankings, all empty or without weight",
        )
    return kept_opinions(said)


def kept_opinions(said: Annotations) -> Opinions:
    """Lay out opinions that count; there may be none, as in a part of a study."""
    has_opinion = said.rankings_per_case > 0
    names = np.array(said.case_names, dtype=object)
    return Opinions(
        case_names=tuple(names[has_opinion].tolist()),
        excluded=tuple(names[~has_opinion].tolist()),
        conditions=said.conditions,
        unranked=said.unranked,
        keys=case_keys(names[has_opinion].tolist()),
        ranking_offsets=offsets_from_lengths(said.rankings_per_case[has_opinion]),
        block_offsets=said.block_offsets.copy(),  # kernels are compiled for arrays that may be written
        code_offsets=said.code_offsets.copy(),
        local=said.support.local,
        weights=said.weights * said.votes,
        votes=said.votes,
        annotators=said.annotators,
        support_offsets=offsets_from_lengths(said.support.sizes[has_opinion]),
        support=said.support.codes,
        question=said.question,
    )


def check_several_conditions(annotations: Annotations) -> None:
    """Refuse a study in which there is only one condition to choose."""
    if annotations.n_conditions < 2:
        raise DissensusError(
            "there is only one condition, so there is nothing to be uncertain about",
            expected="at least two conditions",
            got=str(annotations.n_conditions),
            advice="give the whole list of conditions (conditions=[...], --conditions FILE)",
        )
