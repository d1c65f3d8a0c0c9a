"""The opinions that count: rankings of the annotated cases, with conditions numbered within their support."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray, KeyArray, Unranked
from dissensus.core.errors import DissensusError
from dissensus.core.names import case_keys
from dissensus.core.ragged import offsets_from_lengths, row_of_each, take_rows
from dissensus.study.rankings import Annotations
from dissensus.study.ratings import Ratings


@dataclass(frozen=True, eq=False)
class Opinions:
    """Hold the rankings of annotated cases: no abstentions, no rankings of weight zero, no case without either.

    Attributes
    ----------
    case_names, excluded
        The annotated cases, and the others.
    conditions, unranked
        As in the annotations.
    keys : (n_cases,)
        Hash of the name of each case.
    ranking_offsets, block_offsets, code_offsets
        From cases to rankings, from rankings to blocks, from blocks to conditions.
    local : (n_mentions,)
        Conditions as positions in the support of their case.
    weights : (n_rankings,)
        Weight of each ranking, positive.
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
    support_offsets: IntArray
    support: IntArray

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
            support_offsets=support_offsets,
            support=self.support[members],
        )


def opinions_of(said: Annotations | Ratings) -> Opinions:
    """Keep what can be aggregated, and name the cases that cannot."""
    annotations = checked_rankings(said)
    spoken = (annotations.blocks_per_ranking > 0) & (annotations.weights > 0)
    rankings_per_case = np.bincount(annotations.panel.case_of_opinion[spoken], minlength=annotations.n_cases)
    counted = rankings_per_case > 0
    if not counted.any():
        raise DissensusError(
            "no case has any opinion",
            expected="at least one ranking with a condition, and a weight above zero",
            got=f"{annotations.n_cases} cases with {annotations.n_rankings} rankings, all empty or without weight",
        )
    block_offsets, blocks = take_rows(annotations.block_offsets, np.flatnonzero(spoken))
    code_offsets, mentions = take_rows(annotations.code_offsets, blocks)
    support_offsets, support, local = _support(annotations, mentions)
    names = np.array(annotations.case_names, dtype=object)
    return Opinions(
        case_names=tuple(names[counted].tolist()),
        excluded=tuple(names[~counted].tolist()),
        conditions=annotations.conditions,
        unranked=annotations.unranked,
        keys=case_keys(names[counted].tolist()),
        ranking_offsets=offsets_from_lengths(rankings_per_case[counted]),
        block_offsets=block_offsets,
        code_offsets=code_offsets,
        local=local,
        weights=annotations.weights[spoken],
        support_offsets=support_offsets,
        support=support,
    )


def _support(annotations: Annotations, mentions: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Find the support of each case among the mentions that count; cases without any are left out."""
    case = annotations.panel.case_of_opinion[annotations.ranking_of_mention[mentions]]
    present, case = np.unique(case, return_inverse=True)
    keys, member = np.unique(case * annotations.n_conditions + annotations.codes[mentions], return_inverse=True)
    offsets = offsets_from_lengths(np.bincount(keys // annotations.n_conditions, minlength=len(present)))
    return offsets, keys % annotations.n_conditions, member - offsets[case]


def checked_rankings(annotations: Annotations | Ratings) -> Annotations:
    """Return a study of rankings with at least two conditions; refuse anything else."""
    if not isinstance(annotations, Annotations):
        kind = type(annotations).__name__
        raise DissensusError(
            "this aggregation needs rankings",
            expected="Annotations",
            got=kind,
            advice="ratings go to NormalInverseGamma" if kind == "Ratings" else "build them with Annotations.from_...",
        )
    if annotations.n_conditions < 2:
        raise DissensusError(
            "there is only one condition, so there is nothing to be uncertain about",
            expected="at least two conditions",
            got=str(annotations.n_conditions),
            advice="give the whole list of conditions (conditions=[...], --conditions FILE)",
        )
    return annotations
