"""What was said: for each case, each annotator's ranked groups of tied conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from dissensus.core.aliases import BoolArray, Confidence, Duplicates, IntArray, NestedRankings, Question, Unranked
from dissensus.core.arguments import check_fields, checked
from dissensus.core.checks import check_offsets
from dissensus.core.errors import DissensusError, listing, suggestion
from dissensus.core.names import check_names
from dissensus.core.notes import Note
from dissensus.core.ragged import frozen_integers, join_offsets, offsets_from_lengths, row_of_each, take_rows
from dissensus.core.receipt import tied_in_words
from dissensus.study.diagnosis import (
    RankingsDiagnosis,
    description,
    description_html,
    diagnosis_of_rankings,
    percent,
    plural,
    spread,
)
from dissensus.study.opinions import Opinions, found_opinions
from dissensus.study.panel import Panel, concatenate_panels
from dissensus.study.question import asked_of, check_question, conditions_asked, question_in_words
from dissensus.study.study import Distribution, Fact, Study
from dissensus.study.support import Support, support_of

if TYPE_CHECKING:
    import polars as pl
    from narwhals.typing import IntoDataFrame
    from numpy.typing import ArrayLike


Item = TypeVar("Item")


@dataclass(frozen=True, eq=False, repr=False)
class Annotations(Study):
    """Hold the rankings that annotators gave on the cases of a study.

    A ranking is a sequence of blocks, best first; a block is a set of tied conditions. Everything is
    stored flat: offsets lead from cases to rankings, from rankings to blocks, and from blocks to codes
    of conditions, which are ascending within a block. A ranking without blocks is an abstention; a case
    without rankings is unannotated. Both are kept. Objects are immutable: arrays are read-only.

    Build them with :meth:`from_rankings`, :meth:`from_long`, :meth:`from_counts` or
    :func:`dissensus.read_annotations` rather than by hand.

    Attributes
    ----------
    conditions
        Names of the K conditions, in the order of their codes.
    panel
        The cases and who gave an opinion on them; its fields are available here too.
    block_offsets : (n_rankings + 1,)
        The blocks of ranking ``r`` are ``block_offsets[r]:block_offsets[r + 1]``.
    code_offsets : (n_blocks + 1,)
        The conditions of block ``b`` are ``codes[code_offsets[b]:code_offsets[b + 1]]``.
    codes : (n_mentions,)
        Codes of the mentioned conditions.
    unranked
        ``"below"``: a condition that is not mentioned ranks below all that are. ``"unobserved"``: the
        annotator compared only what is mentioned.
    question
        What annotators were asked: ``"conditions"``; ``"binary"``, whether the last of two conditions, the positive
        one, holds; or ``"grades"``, where the order of the conditions is the order of the grades. See :meth:`asked`.

    Examples
    --------
    >>> Annotations.from_rankings([[[["Eczema"], ["Psoriasis", "Tinea"]], [["Tinea"]]]])
    Annotations: 1 case, 2 rankings, 3 conditions (not mentioned = below)
      rankings per case     2
      conditions mentioned  3 of 3; 1 to 3 per ranking
      one condition only    50.0 % of rankings
      with a tie            50.0 % of rankings
      annotators            anonymous
    """

    kind: ClassVar[str] = "rankings"
    opinion: ClassVar[str] = "ranking"
    described: ClassVar[str] = "partial rankings of conditions"
    aggregated_by: ClassVar[str] = "PlackettLuce and the like"
    has_agreement: ClassVar[bool] = True

    conditions: tuple[str, ...]
    panel: Panel
    block_offsets: IntArray
    code_offsets: IntArray
    codes: IntArray
    unranked: Unranked = "below"
    question: Question = "conditions"

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("block_offsets", "code_offsets", "codes"):
            object.__setattr__(self, name, frozen_integers(getattr(self, name)))
        check_names("condition", self.conditions)
        check_offsets("block offset", self.block_offsets, self.panel.n_opinions, len(self.code_offsets) - 1)
        check_offsets("code offset", self.code_offsets, int(self.block_offsets[-1]), len(self.codes))
        if self.unranked not in ("below", "unobserved"):
            raise DissensusError(
                "unranked is not understood",
                expected="'below' (not mentioned = ranked last) or 'unobserved' (not mentioned = not compared)",
                got=repr(self.unranked),
            )
        check_question(self.question, self.conditions)
        if len(self.codes) and not (self.codes.min() >= 0 and self.codes.max() < self.n_conditions):
            raise DissensusError(
                "a condition code is out of range",
                expected=f"0 to {self.n_conditions - 1}, as there are {self.n_conditions} conditions",
                got=f"{self.codes.min()} to {self.codes.max()}",
            )

    # Builders ---------------------------------------------------------------------------------------

    @classmethod
    @checked
    def from_rankings(
        cls,
        rankings: NestedRankings,
        conditions: Sequence[str] | int | None = None,
        *,
        case_names: Sequence[str] | None = None,
        annotator_names: Sequence[str | None] | Sequence[Sequence[str | None]] | None = None,
        weights: Sequence[float] | Sequence[Sequence[float]] | None = None,
        groups: Sequence[str] | None = None,
        case_weights: Sequence[float] | None = None,
        unranked: Unranked = "below",
        question: Question | None = None,
        positive: str | None = None,
    ) -> Annotations:
        """Build from nested lists: case > annotator > block > condition.

        Parameters
        ----------
        rankings
            Conditions as names, or as codes from 0 (then ``conditions`` is required).
        conditions
            Names of all conditions in the order of their codes; a number K stands for the names
            "0" to "K - 1". By default, the mentioned names in alphabetical order.
        case_names
            One name per case; by default "0", "1" and so on.
        annotator_names, weights
            One per ranking: nested by case like ``rankings``, or one flat list that serves every case. An
            annotator who is ``None`` is nobody in particular.
        groups, case_weights
            One per case.
        question, positive
            What was asked, see :meth:`asked`. Where no list of conditions gives their order, names that are numbers
            go by their size.

        Examples
        --------
        >>> said = Annotations.from_rankings([[[[0, 3], [2]], [[1], [0]]], []], conditions=4)
        >>> said.n_cases, said.n_rankings, said.unannotated
        (2, 2, ('1',))
        """
        from dissensus.study.builders import annotations_from_rankings

        said = annotations_from_rankings(
            rankings,
            conditions,
            case_names=case_names,
            annotator_names=annotator_names,
            weights=weights,
            groups=groups,
            case_weights=case_weights,
            unranked=unranked,
        )
        return asked_of(said, question, positive, are_ordered=conditions is not None)

    @classmethod
    @checked
    def from_long(
        cls,
        frame: IntoDataFrame,
        conditions: Sequence[str] | None = None,
        *,
        case: str | None = None,
        annotator: str | None = None,
        condition: str | None = None,
        rank: str | None = None,
        confidence: str | None = None,
        annotation: str | None = None,
        weight: str | None = None,
        votes: str | None = None,
        group: str | None = None,
        case_weight: str | None = None,
        tie_separator: str | None = None,
        unranked: Unranked | None = None,
        duplicates: Duplicates = "refuse",
        confidence_as: Confidence | None = None,
        question: Question | None = None,
        positive: str | None = None,
    ) -> Annotations:
        """Build from a table with one row per mentioned condition (pandas, polars or arrow).

        Parameters
        ----------
        frame
            Columns are found by their usual names (``case``, ``annotator``, ``condition``, and ``rank``
            *or* ``confidence``; also ``case_id``, ``label`` and the like), or as given below.
        conditions
            Names of all conditions, in order; by default the names found, in alphabetical order.
        rank, confidence
            Rank: 1 is best, only the order matters. Confidence: higher is better, 0 or missing means not
            mentioned. Equal values are a tie. With neither, all conditions of an annotator are tied. If
            the table has both, the rank decides unless ``confidence`` is given here.
        annotator
            Without such a column all opinions are anonymous: the rows of a case are one ranking if there is
            a rank or a confidence, and one opinion each if there is none.
        annotation
            A column that tells several rankings by one annotator on one case apart.
        weight, group, case_weight
            Weight of the ranking, group of the case (for example the patient), weight of the case.
        votes
            How many annotators gave this ranking, 0 for none; only where the annotators have no names.
        tie_separator
            Split each condition cell at this text into tied conditions.
        duplicates
            What to do where a ranking mentions a condition again: ``"refuse"``, keep the ``"first"`` row, or the one
            with the ``"best"`` rank.
        confidence_as
            ``"order"`` (as by default): confidences order the conditions of a ranking. ``"share"``: they share one
            vote among them, see :func:`read_annotations`.
        question, positive
            What was asked, see :meth:`asked`. Where no list of conditions gives their order, names that are numbers
            go by their size.

        Examples
        --------
        >>> import polars as pl
        >>> said = Annotations.from_long(pl.DataFrame({
        ...     "case": ["c1", "c1", "c1"], "annotator": ["A", "A", "B"],
        ...     "condition": ["Eczema", "Tinea", "Tinea"], "confidence": [5, 3, 2]}))
        >>> said.to_rankings()
        [[[['Eczema'], ['Tinea']], [['Tinea']]]]
        """
        from dissensus.study.tables import annotations_from_long

        columns = {
            "case": case,
            "annotator": annotator,
            "annotation": annotation,
            "condition": condition,
            "rank": rank,
            "confidence": confidence,
            "weight": weight,
            "votes": votes,
            "group": group,
            "case_weight": case_weight,
        }
        return annotations_from_long(
            frame,
            conditions,
            columns=columns,
            tie_separator=tie_separator,
            unranked=unranked,
            duplicates=duplicates,
            confidence=confidence_as,
            question=question,
            positive=positive,
        )

    @classmethod
    @checked
    def from_counts(
        cls,
        counts: ArrayLike,
        conditions: Sequence[str] | None = None,
        *,
        case_names: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        unranked: Unranked = "below",
        question: Question | None = None,
        positive: str | None = None,
    ) -> Annotations:
        """Build from votes: ``counts[i, k]`` anonymous annotators gave condition ``k`` on case ``i``.

        Votes are counted, not listed: every number above 0 is one ranking with so many votes. What was asked is said
        as in :meth:`asked`; columns of grades are in the order of the grades.

        Examples
        --------
        >>> said = Annotations.from_counts([[2, 0, 1]], ["cat", "dog", "frog"])
        >>> said.n_rankings, said.votes
        (2, array([2, 1]))
        >>> said.to_rankings()
        [[[['cat']], [['cat']], [['frog']]]]
        """
        from dissensus.study.builders import annotations_from_counts

        said = annotations_from_counts(counts, conditions, case_names=case_names, groups=groups, unranked=unranked)
        return asked_of(said, question, positive, are_ordered=True)

    @classmethod
    @checked
    def from_ranking_arrays(
        cls,
        rankings: ArrayLike | Sequence[Sequence[ArrayLike]],
        groups: ArrayLike | Sequence[Sequence[ArrayLike]],
        *,
        conditions: Sequence[str] | int | None = None,
        case_names: Sequence[str] | None = None,
        unranked: Unranked = "below",
        question: Question | None = None,
        positive: str | None = None,
    ) -> Annotations:
        """Build from orders of all conditions, and the group of each place, as the released code of [stutz] has them.

        Parameters
        ----------
        rankings : (n_cases, n_annotators, K)
            The codes 0 to K - 1 in the order of each annotator, best first. Cases may have different numbers of
            annotators: lists of rows, one list per case.
        groups
            Of the same shape: 0 for the first block of tied conditions, then 1, 2 and so on; -1, at the end, for
            conditions that are not ranked. A row of nothing but -1 is an annotator who is not there, and is left out.
        conditions, case_names, unranked, question, positive
            As in :meth:`from_rankings`; by default conditions and cases are numbered from 0.

        Examples
        --------
        >>> said = Annotations.from_ranking_arrays(
        ...     [[[0, 3, 2, 1], [1, 0, 2, 3]]], [[[0, 0, 1, -1], [-1, -1, -1, -1]]], conditions=["a", "b", "c", "d"])
        >>> said.to_rankings()
        [[[['a', 'd'], ['c']]]]
        """
        from dissensus.study.ranking_arrays import annotations_from_ranking_arrays

        said = annotations_from_ranking_arrays(
            rankings, groups, conditions=conditions, case_names=case_names, unranked=unranked
        )
        return asked_of(said, question, positive, are_ordered=True)

    @classmethod
    @checked
    def from_confidences(
        cls,
        confidences: ArrayLike | Sequence[Sequence[ArrayLike]],
        conditions: Sequence[str] | int | None = None,
        *,
        case_names: Sequence[str] | None = None,
        unranked: Unranked = "below",
        question: Question | None = None,
        positive: str | None = None,
    ) -> Annotations:
        """Build from a confidence per case, annotator and condition, which the released code of [stutz] calls opinions.

        Parameters
        ----------
        confidences : (n_cases, n_annotators, K)
            The larger comes first, equal ones are tied, and 0 is not ranked. A row of nothing but 0 is an annotator
            who is not there, and is left out. Cases may have different numbers of annotators: lists of rows.
        conditions, case_names, unranked, question, positive
            As in :meth:`from_rankings`; by default conditions and cases are numbered from 0.

        Examples
        --------
        >>> Annotations.from_confidences([[[5, 0, 3, 5]], [[0, 0, 0, 0], [2, 2, 3, 0]]]).to_rankings()
        [[[['0', '3'], ['2']]], [[['2'], ['0', '1']]]]
        """
        from dissensus.study.ranking_arrays import annotations_from_confidences

        said = annotations_from_confidences(
            confidences, conditions=conditions, case_names=case_names, unranked=unranked
        )
        return asked_of(said, question, positive, are_ordered=True)

    # Quantities ---------------------------------------------------------------------------------------

    @property
    def n_rankings(self) -> int:
        """Number of rankings on all cases, abstentions included; one that several annotators share counts once."""
        return self.n_opinions

    @property
    def ranking_offsets(self) -> IntArray:
        """The rankings of case ``i`` are ``ranking_offsets[i]:ranking_offsets[i + 1]``."""
        return self.panel.opinion_offsets

    @property
    def rankings_per_case(self) -> IntArray:
        """Number of rankings of each case, abstentions included; shared ones count once, shape (n_cases,)."""
        return self.panel.opinions_per_case

    @property
    def blocks_per_ranking(self) -> IntArray:
        """Number of blocks of each ranking, shape (n_rankings,)."""
        return np.diff(self.block_offsets)

    @property
    def block_sizes(self) -> IntArray:
        """Number of tied conditions in each block, shape (n_blocks,)."""
        return np.diff(self.code_offsets)

    @property
    def mentions_per_ranking(self) -> IntArray:
        """Number of conditions in each ranking, shape (n_rankings,)."""
        return np.diff(self.code_offsets[self.block_offsets])

    @property
    def ranking_of_mention(self) -> IntArray:
        """Position of the ranking behind each mentioned condition, shape (n_mentions,)."""
        return row_of_each(self.block_offsets)[row_of_each(self.code_offsets)]

    @property
    def n_mentioned(self) -> int:
        """Number of different conditions that anybody mentioned."""
        return len(np.unique(self.codes))

    @property
    def has_tie(self) -> BoolArray:
        """Whether each ranking has a block of two or more, shape (n_rankings,)."""
        tied = np.zeros(self.n_rankings, dtype=np.bool_)
        tied[row_of_each(self.block_offsets)[self.block_sizes > 1]] = True
        return tied

    @property
    def is_abstention(self) -> BoolArray:
        """Whether each ranking mentions nothing, shape (n_rankings,)."""
        return np.equal(self.blocks_per_ranking, 0)

    @cached_property
    def support(self) -> Support:
        """The conditions that anybody mentioned on each case, whatever the weight of the ranking."""
        return support_of(self)

    @cached_property
    def opinions(self) -> Opinions:
        """The rankings that can be aggregated, with conditions numbered within the support of their case.

        Examples
        --------
        >>> said = Annotations.from_rankings([[[["a"], ["b"]], []], []])
        >>> said.opinions.case_names, said.opinions.excluded
        (('0',), ('1',))
        """
        return found_opinions(self)

    # Acts ---------------------------------------------------------------------------------------------

    def each_alone(self, opinions: IntArray, names: Sequence[str]) -> Annotations:
        """Make every one of some opinions a case of its own, under new names.

        Examples
        --------
        >>> said = Annotations.from_rankings([[[["a"]], [["b"]]]], ["a", "b"])
        >>> said.each_alone(np.array([1]), ["second"]).to_rankings()
        [[[['b']]]]
        """
        panel = Panel(
            case_names=tuple(names),
            opinion_offsets=np.arange(len(opinions) + 1),
            annotators=self.annotators[opinions],
            annotator_names=self.annotator_names,
        )
        return self._with_opinions(panel, opinions)

    def _with_opinions(self, panel: Panel, opinions: IntArray) -> Annotations:
        block_offsets, blocks = take_rows(self.block_offsets, opinions)
        code_offsets, mentions = take_rows(self.code_offsets, blocks)
        codes = self.codes[mentions]
        return Annotations(self.conditions, panel, block_offsets, code_offsets, codes, self.unranked, self.question)

    def _joined(self, parts: Sequence[Annotations]) -> Annotations:
        for part in parts:
            if part.conditions != self.conditions or part.unranked != self.unranked:
                raise DissensusError(
                    "studies with different conditions cannot be concatenated",
                    expected=f"{self.n_conditions} conditions, unranked={self.unranked!r}",
                    got=f"{part.n_conditions} conditions, unranked={part.unranked!r}",
                    advice="bring them to one vocabulary first: annotations.with_conditions([...])",
                )
            if part.question != self.question:
                raise DissensusError(
                    "studies that asked different questions cannot be concatenated",
                    expected=f"question {self.question!r}",
                    got=f"question {part.question!r}",
                    advice="say what was asked: annotations.asked(...)",
                )
        return Annotations(
            self.conditions,
            concatenate_panels([part.panel for part in parts]),
            join_offsets(part.block_offsets for part in parts),
            join_offsets(part.code_offsets for part in parts),
            np.concatenate([part.codes for part in parts]),
            self.unranked,
            self.question,
        )

    def with_conditions(self, conditions: Sequence[str]) -> Annotations:
        """Put the vocabulary into another order, or add conditions that nobody mentioned.

        Examples
        --------
        >>> said = Annotations.from_rankings([[[["a"], ["b"]]]])
        >>> said.with_conditions(["c", "b", "a"]).codes
        array([2, 1])
        """
        codes = {name: code for code, name in enumerate(conditions)}
        mentioned = np.unique(self.codes)
        lost = [self.conditions[code] for code in mentioned if self.conditions[code] not in codes]
        if lost:
            raise DissensusError(
                "the new list of conditions lacks some that are mentioned",
                got=listing(lost),
                advice=suggestion(lost[0], conditions) or "add them to the list",
            )
        recoded = np.full(self.n_conditions, -1, dtype=np.int64)
        recoded[mentioned] = [codes[self.conditions[code]] for code in mentioned]
        block = row_of_each(self.code_offsets)
        order = np.lexsort((recoded[self.codes], block))
        return Annotations(
            tuple(conditions),
            self.panel,
            self.block_offsets,
            self.code_offsets,
            recoded[self.codes][order],
            self.unranked,
            self.question,
        ).with_receipt(self.receipt)

    def with_unranked(self, unranked: Unranked) -> Annotations:
        """Give the conditions that are not mentioned another meaning.

        Examples
        --------
        >>> Annotations.from_rankings([[[["a"]]]]).with_unranked("unobserved").unranked
        'unobserved'
        """
        parts = (self.conditions, self.panel, self.block_offsets, self.code_offsets, self.codes)
        return Annotations(*parts, unranked, self.question).with_receipt(self.receipt)

    @checked
    def asked(self, question: Question, positive: str | None = None) -> Annotations:
        """Say what annotators were asked.

        Parameters
        ----------
        question
            ``"conditions"``: which conditions. ``"binary"``: whether the positive one of two holds. ``"grades"``:
            which grade; the order of the conditions is the order of the grades.
        positive
            The positive one of two conditions, which becomes the last; by default it is the last already.

        Examples
        --------
        >>> said = Annotations.from_rankings([[[["Melanoma"]], [["Nevus"]]]])
        >>> said.asked("binary", positive="Melanoma").conditions
        ('Nevus', 'Melanoma')
        """
        ordered = self
        if positive is not None:
            ordered = self.asked("conditions").with_conditions(conditions_asked(question, self.conditions, positive))
        parts = (ordered.conditions, self.panel, self.block_offsets, self.code_offsets, ordered.codes)
        return Annotations(*parts, self.unranked, question).with_receipt(self.receipt)

    @classmethod
    @checked
    def from_roles(
        cls,
        table: pl.DataFrame,
        conditions: Sequence[str] | None = None,
        *,
        tie_separator: str | None = None,
        unranked: Unranked | None = None,
        duplicates: Duplicates = "refuse",
        confidence: Confidence | None = None,
        question: Question | None = None,
        positive: str | None = None,
    ) -> tuple[Annotations, tuple[Note, ...]]:
        """Build from a table whose columns are named by their roles, with notes on its rows."""
        from dissensus.study.tables import build_from_table

        return build_from_table(
            table,
            conditions,
            tie_separator=tie_separator,
            unranked=unranked,
            duplicates=duplicates,
            confidence=confidence,
            question=question,
            positive=positive,
        )

    def to_rankings(self) -> list[list[list[list[str]]]]:
        """Write out as nested lists of names: case > annotator > block > condition; shared rankings are repeated.

        Examples
        --------
        >>> Annotations.from_counts([[1, 1]], ["a", "b"]).to_rankings()
        [[[['a']], [['b']]]]
        """
        names = [self.conditions[code] for code in self.codes]
        blocks = _nest(names, self.code_offsets)
        rankings = _nest(blocks, self.block_offsets)
        repeated = [ranking for ranking, votes in zip(rankings, self.votes, strict=True) for _ in range(votes)]
        return _nest(repeated, offsets_from_lengths(self.votes_per_case))

    def to_ranking_arrays(self) -> tuple[IntArray, IntArray]:
        """Write out as two arrays (n_cases, n_annotators, K), which :meth:`from_ranking_arrays` reads.

        Orders of all conditions, those that are not ranked last, and the group of each place. Cases with fewer
        annotators than others end with rows that rank nothing. So does an abstention, which does not come back.

        Examples
        --------
        >>> rankings, groups = Annotations.from_rankings([[[[2], [0, 1]]]], conditions=4).to_ranking_arrays()
        >>> rankings.tolist(), groups.tolist()
        ([[[2, 0, 1, 3]]], [[[0, 1, 1, -1]]])
        """
        from dissensus.study.ranking_arrays import ranking_arrays

        return ranking_arrays(self)

    # Telling ------------------------------------------------------------------------------------------

    def facts(self) -> tuple[Fact, ...]:
        """Count cases, rankings, annotators, conditions and ties, for a table."""
        given, votes = self.mentions_per_ranking, self.votes
        spoken = int(votes[given > 0].sum())
        return (
            Fact("Cases", f"{self.n_cases:,}", "case", "Cases"),
            Fact("Rankings", f"{self.n_votes:,}", "ranking", "Rankings"),
            Fact("Annotators per case", spread(self.panel.annotators_per_case), "annotator", "Annotators"),
            Fact("Conditions per ranking", spread(given[given > 0], votes[given > 0]), "condition", "Conditions"),
            Fact("Conditions per case (support)", spread(self.support.sizes), "support", "support"),
            Fact("Rankings with one condition", percent(int(votes[given == 1].sum()), spoken)),
            Fact("Rankings with a tie", percent(int(votes[self.has_tie].sum()), spoken), "tie", "tie"),
            Fact("Different conditions mentioned", f"{self.n_mentioned:,} of {self.n_conditions:,}"),
            *([Fact("Question", f"annotators were {asked}")] if (asked := question_in_words(self)) else []),
        )

    def methods(self) -> str:
        """Write the sentence of a methods section about the rankings."""
        cases = "The one case was" if self.n_cases == 1 else f"Each of {self.n_cases:,} cases was"
        if self.question != "conditions":
            return self._methods_of_question(cases)
        below = "ranked last" if self.unranked == "below" else "taken as not compared"
        people = spread(self.panel.annotators_per_case)
        return (
            f"{cases} ranked by annotators ({people} per case); a ranking may hold ties "
            f"and need not mention every one of the {plural(self.n_conditions, 'condition')}, and those that were not "
            f"mentioned were {below}."
        )

    def _methods_of_question(self, cases: str) -> str:
        people, asked = spread(self.panel.annotators_per_case), question_in_words(self)
        if self.question == "grades":
            return f"{cases} {asked} by annotators ({people} per case)."
        return f"{cases} judged by annotators ({people} per case), who were {asked}."

    def distributions(self) -> tuple[Distribution, ...]:
        """Return how many annotators, conditions and ties there are."""
        largest = np.zeros(self.n_rankings, dtype=np.int64)
        np.maximum.at(largest, row_of_each(self.block_offsets), self.block_sizes)
        per_ranking = {
            "conditions per ranking": self.mentions_per_ranking,
            "largest tie of a ranking (1: no tie)": largest,
        }
        return (
            Distribution("annotators per case", self.panel.annotators_per_case),
            Distribution("different conditions per case", self.support.sizes),
            *(
                Distribution(title, values, "rankings", self.votes, per_case=False)
                for title, values in per_ranking.items()
            ),
        )

    @property
    def detail(self) -> IntArray:
        """Number of blocks of each ranking, shape (n_rankings,)."""
        return self.blocks_per_ranking

    def said(self, opinion: int, code: Callable[[int], int]) -> list[int]:
        """Write one ranking as a flat list of codes; a condition tied with the one before it is minus its code minus 1.

        Examples
        --------
        >>> Annotations.from_rankings([[[["a"], ["b", "c"]]]]).said(0, lambda condition: condition + 5)
        [5, 6, -8]
        """
        coded = ([code(condition) for condition in block] for block in self._blocks(opinion))
        return [number for first, *tied in coded for number in (first, *(-other - 1 for other in tied))]

    def words(self, opinion: int) -> str:
        """Write one ranking in words.

        Examples
        --------
        >>> Annotations.from_rankings([[[["Melanoma"], ["Hemangioma", "Nevus"]]]]).words(0)
        'Melanoma, then Hemangioma and Nevus tied'
        >>> Annotations.from_counts([[0, 1, 0]], question="grades").words(0)
        'grade 1'
        """
        ranked = tied_in_words([self.conditions[code] for code in block] for block in self._blocks(opinion))
        return f"grade {ranked}" if self.question == "grades" and ranked else ranked

    def _blocks(self, opinion: int) -> list[list[int]]:
        offsets = self.code_offsets[self.block_offsets[opinion] : self.block_offsets[opinion + 1] + 1]
        return [self.codes[start:stop].tolist() for start, stop in pairwise(offsets.tolist())]

    def diagnosis(self) -> RankingsDiagnosis:
        """Count rankings, conditions and ties, and look for what may be wrong."""
        return diagnosis_of_rankings(self)

    def __repr__(self) -> str:
        return description(self)

    def _repr_html_(self) -> str:
        return description_html(self)


def _nest(items: list[Item], offsets: IntArray) -> list[list[Item]]:
    return [items[start:stop] for start, stop in pairwise(offsets.tolist())]
