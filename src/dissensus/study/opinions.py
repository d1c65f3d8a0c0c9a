"""The opinions that count, as aggregations take them: rankings or ratings of the annotated cases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from dissensus.core.arrays import BoolArray, FloatArray, Forwarded, IntArray, KeyArray
from dissensus.core.errors import DissensusError
from dissensus.core.names import AnyQuestion, Unranked, case_keys
from dissensus.core.ragged import begins_run, offsets_from_lengths, row_of_each, take_rows, weighted_counts

if TYPE_CHECKING:
    from dissensus.study.study import Study

# What tied conditions have of the weight of their block: a share each, or all of it.
Ties: TypeAlias = Literal["shared", "each"]

TIES = ("shared", "each")

# The least common multiple of 1 to 16: the unit of inverse ranks is one part.
PARTS = 720720.0

# Weights this close to one half of all, in parts of them, count as one half.
NEAR = 1e-10


def found_opinions(study: Study) -> Any:
    """Return what an aggregation works on, found once: rankings in the support of their case, or moments of ratings.

    Of checklists, they are the answers about every finding of every case, see :meth:`Study.items`.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings([[[["a"], ["b"]], []], []])
    >>> said.opinions.case_names, said.opinions.excluded
    (('0',), ('1',))
    >>> found = Study.from_scores([[1, 3], []]).opinions
    >>> found.case_names, found.excluded, found.totals, found.means, found.squares
    (('0',), ('1',), array([2.]), array([2.]), array([2.]))
    """
    said = study.items()
    if said.kind == "rankings":
        check_several_conditions(said)
    if not said.counted.n_opinions:
        raise DissensusError(
            f"no case has any {'rating' if study.kind == 'ratings' else 'opinion'}",
            expected=f"at least one {study.opinion} that is not empty, and a weight above zero",
            got=f"{study.n_cases} cases with {study.n_opinions} {study.kind}, all empty or without weight",
        )
    if said.kind != "ratings":
        return kept_opinions(said.counted)
    said = said.counted
    has_opinion, kept, excluded, keys = _split_cases(said)
    case = (np.cumsum(has_opinion) - 1)[said.panel.case_of_opinion]
    weights = said.weights * said.votes
    totals = weighted_counts(case, weights, len(kept))
    means, squares = mean_squares(case, said.scores, weights, totals)
    given = (case, said.annotators, said.scores, weights, said.annotator_names)
    return Moments(kept, excluded, keys, totals, means, squares, *given)


def check_several_conditions(study: Study) -> None:
    """Refuse a study in which there is only one condition to choose."""
    if study.n_conditions < 2:
        raise DissensusError(
            "there is only one condition, so there is nothing to be uncertain about",
            expected="at least two conditions",
            got=str(study.n_conditions),
            advice="give the whole list of conditions (conditions=[...], --conditions FILE)",
        )


def _split_cases(said: Study) -> tuple[BoolArray, tuple[str, ...], tuple[str, ...], KeyArray]:
    """Tell which cases have an opinion: a mark each, their names, those of the others, and keys of the former."""
    has_opinion = said.panel.opinions_per_case > 0
    names = np.array(said.case_names, dtype=object)
    kept = tuple(names[has_opinion].tolist())
    return has_opinion, kept, tuple(names[~has_opinion].tolist()), case_keys(kept)


# Rankings ---------------------------------------------------------------------------------------------


class Support(NamedTuple):
    """Hold the mentioned conditions of every case, ascending, and where each mention stands among them.

    Attributes
    ----------
    offsets : (n_cases + 1,)
        The support of case ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.
    codes : (sum of U,)
        Codes of the mentioned conditions.
    local : (n_mentions,)
        Position of each mention of the study within the support of its case, from 0.
    """

    offsets: IntArray
    codes: IntArray
    local: IntArray

    @property
    def sizes(self) -> IntArray:
        """Number of mentioned conditions of each case, U, shape (n_cases,)."""
        return np.diff(self.offsets)


def support_of(study: Study) -> Support:
    """Find the conditions that at least one annotator mentioned on each case.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_rankings([[[["b"], ["d"]], [["d"]]], [[["a"]]]])
    >>> support = support_of(said)
    >>> support.offsets, support.codes, support.local
    (array([0, 2, 3]), array([1, 2, 0]), array([0, 1, 1, 0]))
    """
    case = study.panel.case_of_opinion[study.ranking_of_mention]
    keys, position = np.unique(case * study.n_conditions + study.codes, return_inverse=True)
    sizes = np.bincount(keys // max(study.n_conditions, 1), minlength=study.n_cases)
    offsets = offsets_from_lengths(sizes)
    return Support(offsets, keys % max(study.n_conditions, 1), position - offsets[case])


@dataclass(frozen=True, eq=False)
class Opinions:
    """Hold the rankings of annotated cases: no abstentions, no rankings of weight zero, no case without either.

    Attributes
    ----------
    case_names, excluded
        The annotated cases, and the others.
    conditions, unranked, question
        As in the study.
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
    question: AnyQuestion = "conditions"

    n_cases = Forwarded[int]("case_names", "Number of annotated cases.", len)
    support_sizes = Forwarded[IntArray]("support_offsets", "U of each case, shape (n_cases,).", np.diff)

    @property
    def rest_sizes(self) -> IntArray:
        """K - U of each case, shape (n_cases,)."""
        return len(self.conditions) - self.support_sizes

    case_of_ranking = Forwarded[IntArray]("ranking_offsets", "Position of the case of each ranking.", row_of_each)

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
        return replace(
            self,
            case_names=tuple(self.case_names[i] for i in cases),
            excluded=(),
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
        )

    def inverse_ranks(self, ties: Ties) -> FloatArray:
        """Sum the weighted inverse ranks of the mentioned conditions of all cases, side by side, shape (sum of U,)."""
        return weighted_counts(self.member_of_mention, inverse_ranks(self, ties), len(self.support))


def inverse_ranks(said: Opinions | Study, ties: Ties) -> FloatArray:
    """Return what every mention contributes: the weight of its ranking over its rank, shape (n_mentions,).

    The unit is one part in 720720, a multiple of every rank up to 16: sums of whole numbers are exact, so that three
    thirds are as much as one.

    Examples
    --------
    >>> from dissensus import Study
    >>> inverse_ranks(Study.from_rankings([[[["a"], ["b", "c"]]]]), "shared") / PARTS
    array([1.  , 0.25, 0.25])
    """
    ranking = row_of_each(said.block_offsets)
    rank = np.arange(len(ranking)) - said.block_offsets[ranking] + 1
    share = np.diff(said.code_offsets) if ties == "shared" else 1
    weight = said.weights[ranking] * (PARTS / (rank * share))
    return np.asarray(weight[row_of_each(said.code_offsets)])


def kept_opinions(said: Study) -> Opinions:
    """Lay out rankings that count; there may be none, as in a part of a study."""
    has_opinion, kept, excluded, keys = _split_cases(said)
    return Opinions(
        case_names=kept,
        excluded=excluded,
        conditions=said.conditions,
        unranked=said.unranked,
        keys=keys,
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


# Ratings ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Moments:
    """Hold what the ratings of each rated case amount to.

    Attributes
    ----------
    case_names, excluded
        The cases with a rating of positive weight, and the others.
    keys : (n_cases,)
        Hash of the name of each case.
    totals, means, squares : (n_cases,)
        Total weight, weighted mean, and weighted sum of squared deviations from it.
    cases, annotators : (n_ratings,)
        Position of the rated case of each rating that counts, and code of its annotator, -1 where nobody is named.
    scores, weights : (n_ratings,)
        The ratings themselves, and how much each counts.
    annotator_names
        Names of the annotators, in the order of their codes.
    """

    case_names: tuple[str, ...]
    excluded: tuple[str, ...]
    keys: KeyArray
    totals: FloatArray
    means: FloatArray
    squares: FloatArray
    cases: IntArray
    annotators: IntArray
    scores: FloatArray
    weights: FloatArray
    annotator_names: tuple[str, ...]

    n_cases = Forwarded[int]("case_names", "Number of rated cases.", len)

    @property
    def median(self) -> float:
        """The median of all ratings, by their weights."""
        return float(weighted_medians(np.zeros_like(self.cases), self.scores, self.weights)[0])

    def with_scores(self, scores: FloatArray) -> Moments:
        """Put other scores in the place of the ratings, shape (n_ratings,).

        Examples
        --------
        >>> from dissensus import Study
        >>> rated = Study.from_scores([[1, 3], [5]]).opinions
        >>> rated.with_scores(rated.scores + 1).means
        array([3., 6.])
        """
        means, squares = mean_squares(self.cases, scores, self.weights, self.totals)
        return replace(self, means=means, squares=squares, scores=scores)


def mean_squares(
    cases: IntArray, scores: FloatArray, weights: FloatArray, totals: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the weighted mean of each case, and the weighted sum of squared deviations from it, twice (n_cases,)."""
    means = weighted_counts(cases, weights * scores, len(totals)) / totals
    return means, weighted_counts(cases, weights * (scores - means[cases]) ** 2, len(totals))


def weighted_medians(rows: IntArray, values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the median of each row by weight; rows are numbered from zero, and none is empty.

    >>> weighted_medians(np.array([0, 0, 0, 1, 1]), np.array([3.0, 1.0, 2.0, 4.0, 6.0]), np.ones(5))
    array([2., 5.])
    """
    order = np.lexsort((values, rows))
    rows, values, weights = rows[order], values[order], weights[order]
    first = np.flatnonzero(begins_run(rows))
    sums = np.cumsum(weights)
    before = (sums - weights)[first]
    half = before + weighted_counts(rows, weights, len(first)) / 2
    last = np.append(first[1:], len(rows)) - 1
    low, high = (np.clip(np.searchsorted(sums, part * half), first, last) for part in (1 - NEAR, 1 + NEAR))
    return np.asarray((values[low] + values[high]) / 2)
