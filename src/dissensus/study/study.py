"""A study, whatever annotators were asked: cases, who gave an opinion on them, and what it says."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from itertools import pairwise, product
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from dissensus.core import ragged
from dissensus.core.arrays import BoolArray, FloatArray, Forwarded, IntArray
from dissensus.core.checks import check_codes, check_fields, check_length, check_offsets, with_checked_methods
from dissensus.core.errors import DissensusError, known_name, listing, suggestion
from dissensus.core.files import polars_frame
from dissensus.core.names import (
    AnyQuestion,
    Cases,
    Confidence,
    Duplicates,
    NestedRankings,
    Question,
    Unranked,
    check_names,
)
from dissensus.core.receipt import Received, shared_receipt
from dissensus.study import builders, diagnosis
from dissensus.study.opinions import found_opinions, support_of
from dissensus.study.panel import Panel, concatenate_panels, place_of
from dissensus.study.question import (
    ANSWERS,
    KINDS,
    NOT_ASSESSED,
    PAIR,
    PRESENT,
    RANKED,
    AnswerArray,
    asked_of,
    check_question,
)

if TYPE_CHECKING:
    import polars as pl
    from narwhals.typing import IntoDataFrame
    from numpy.typing import ArrayLike

Item = TypeVar("Item")

# The fields that hold opinions, of any kind of study.
CONTENT = tuple(name for kind in KINDS.values() for name in kind.arrays)


@with_checked_methods
@dataclass(frozen=True, eq=False, repr=False)
class Study(Received):
    """Hold what annotators said about the cases of a study.

    What they were asked is the ``question``, and makes the ``kind`` of the study. *Rankings*: a ranking is a sequence
    of blocks, best first; a block is a set of tied conditions. Everything is stored flat: offsets lead from cases to
    rankings, from rankings to blocks, and from blocks to codes of conditions, which are ascending within a block. A
    ranking without blocks is an abstention. *Ratings* are numbers. *Checklists* answer for every finding of a fixed
    list: present, absent, or not assessed; one without a present finding says that nothing was found, and one on which
    nothing was assessed is an abstention. A case without opinions is unannotated. Abstentions and such cases are kept.
    Objects are immutable: arrays are read-only.

    Build them with :meth:`from_rankings`, :meth:`from_counts`, :meth:`from_scores`, :meth:`from_sets`,
    :meth:`from_long` or :func:`dissensus.read` rather than by hand.

    Attributes
    ----------
    conditions
        Names of the K conditions, in the order of their codes; of findings, which are also called ``findings``; none
        where annotators gave numbers.
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
        one, holds; ``"grades"``, where the order of the conditions is the order of the grades (see :meth:`asked`);
        ``"numbers"``; or ``"findings"``, which of a list are present.
    scores : (n_ratings,)
        The numbers, case by case; all finite.
    answers : (n_checklists, n_findings)
        1 present, 0 absent, -1 not assessed.
    receipt
        What was understood of the file that it was read from; none if it was built in memory.

    Examples
    --------
    >>> Study.from_rankings([[[["Eczema"], ["Psoriasis", "Tinea"]], [["Tinea"]]]])
    Annotations: 1 case, 2 rankings, 3 conditions (not mentioned = below)
      annotators per case            2
      conditions                     3, of which 3 mentioned
      conditions per ranking         1 to 3, median 2, mean 2.00
      conditions per case (support)  3
      rankings with one condition    1 (50.0 %)
      rankings with a tie            1 (50.0 %), largest block 2
      not mentioned means            below
      annotators                     anonymous
    >>> Study.from_scores([[1, 2, 2], [5]], case_names=["a", "b"])
    Ratings: 2 cases, 4 ratings from 1 to 5
    >>> Study.from_sets([[{"AF"}, {"AF", "RBBB"}], [set()]], ["AF", "RBBB", "ST"])
    Checklists: 2 cases, 3 checklists of 3 findings; 1 found nothing
    """

    conditions: tuple[str, ...]
    panel: Panel
    block_offsets: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    code_offsets: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    codes: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    unranked: Unranked = "below"
    question: AnyQuestion = "conditions"
    scores: FloatArray = field(default_factory=lambda: np.empty(0))
    answers: AnswerArray = field(default_factory=lambda: np.empty((0, 0), dtype=np.int8))

    def __post_init__(self) -> None:
        check_fields(self)
        check_names("finding" if self.question == "findings" else "condition", self.conditions)
        check_question(self.question, self.conditions)
        if self.unranked not in ("below", "unobserved"):
            expected = "'below' (not mentioned = ranked last) or 'unobserved' (not mentioned = not compared)"
            raise DissensusError("unranked is not understood", expected=expected, got=repr(self.unranked))
        foreign = [name for name in CONTENT if np.size(getattr(self, name)) and name not in KINDS[self.kind].arrays]
        if foreign:
            raise DissensusError(f"a study of {self.kind} has no {listing(foreign)}", got=f"question {self.question!r}")
        for name in RANKED:
            object.__setattr__(self, name, ragged.frozen(getattr(self, name)))
        object.__setattr__(self, "scores", ragged.frozen(self.scores, np.float64))
        if self.kind == "checklists":
            if not self.conditions:
                raise DissensusError("there is no finding", expected="a list of at least one finding")
            shape = (self.n_opinions, self.n_findings)
            object.__setattr__(self, "answers", builders.checked_answers(self.answers, shape, ("checklist", "finding")))
        elif self.kind == "ratings":
            check_length("score", len(self.scores), self.n_opinions)
            wrong = np.flatnonzero(~np.isfinite(self.scores))
            if len(wrong):
                raise DissensusError(
                    "a score is not a finite number",
                    got=str(self.scores[wrong[0]]),
                    where=place_of(self.panel, int(wrong[0]), self.opinion),
                    advice="leave ratings that are missing out",
                )
        else:
            check_offsets("block offset", self.block_offsets, self.n_opinions, len(self.code_offsets) - 1)
            check_offsets("code offset", self.code_offsets, int(self.block_offsets[-1]), len(self.codes))
            check_codes(self.codes, self.n_conditions)

    # Builders ---------------------------------------------------------------------------------------

    @staticmethod
    def from_rankings(
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
    ) -> Study:
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
        >>> said = Study.from_rankings([[[[0, 3], [2]], [[1], [0]]], []], conditions=4)
        >>> said.n_cases, said.n_rankings, said.unannotated
        (2, 2, ('1',))
        """
        who = {"case_names": case_names, "annotator_names": annotator_names, "weights": weights}
        who |= {"groups": groups, "case_weights": case_weights}
        said = builders.assemble(*builders.nested_mentions(rankings, conditions, **who), unranked)
        return asked_of(said, question, positive, are_ordered=conditions is not None)

    @classmethod
    def from_counts(
        cls,
        counts: ArrayLike,
        conditions: Sequence[str] | None = None,
        *,
        levels: Sequence[float] | None = None,
        case_names: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        unranked: Unranked = "below",
        question: Question | None = None,
        positive: str | None = None,
    ) -> Study:
        """Build from votes: ``counts[i, k]`` anonymous annotators gave condition, or score, ``k`` on case ``i``.

        Votes are counted, not listed: every number above 0 is one opinion with so many votes. What was asked is said
        as in :meth:`asked`; columns of grades are in the order of the grades. Where annotators gave numbers, ``levels``
        are the scores of the columns; so is a list of numbers in the place of conditions, unless a question is named.

        Examples
        --------
        >>> said = Study.from_counts([[2, 0, 1]], ["cat", "dog", "frog"])
        >>> said.n_rankings, said.votes
        (2, array([2, 1]))
        >>> said.to_rankings()
        [[[['cat']], [['cat']], [['frog']]]]
        >>> Study.from_counts([[2, 1]], levels=[0.0, 1.0]).scores
        array([0., 1.])
        """
        matrix = builders.checked_counts(counts)
        voted = matrix > 0
        sizes = voted.sum(axis=1).tolist()
        panel = builders.panel_of(sizes, case_names=case_names, groups=groups, votes=matrix[voted])
        column = np.nonzero(voted)[1]
        are_numbers = conditions is not None and len(conditions) and all(isinstance(name, Real) for name in conditions)
        if are_numbers and question is None:
            levels = cast("Sequence[float]", conditions)
        if levels is not None:
            numbers = builders.as_numbers("levels", levels)
            check_length("level", numbers.size, matrix.shape[1])
            return cls((), panel, scores=numbers[column], question="numbers")
        names = builders.condition_names([], matrix.shape[1] if conditions is None else conditions)
        check_length("condition", len(names), matrix.shape[1])
        one_each = np.arange(panel.n_opinions + 1, dtype=np.int64)
        said = cls(names, panel, one_each, one_each, column, unranked)
        return asked_of(said, question, positive, are_ordered=True)

    from_ranking_arrays = staticmethod(builders.from_ranking_arrays)
    from_confidences, to_ranking_arrays = staticmethod(builders.from_confidences), builders.to_ranking_arrays

    @classmethod
    def from_scores(
        cls,
        scores: Sequence[Sequence[float]],
        *,
        case_names: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
    ) -> Study:
        """Build from one list of scores per case.

        Examples
        --------
        >>> Study.from_scores([[1, 2], [5]], case_names=["a", "b"]).scores
        array([1., 2., 5.])
        """
        panel = builders.panel_of([len(given) for given in scores], case_names=case_names, groups=groups)
        numbers = builders.as_numbers("scores", [score for given in scores for score in given])
        return cls((), panel, scores=numbers, question="numbers")

    @classmethod
    def from_sets(
        cls,
        sets: Sequence[Sequence[Any]],
        findings: Sequence[str] | None = None,
        *,
        assessed: Sequence[Sequence[Any]] | None = None,
        case_names: Sequence[str] | None = None,
        annotator_names: Sequence[str | None] | Sequence[Sequence[str | None]] | None = None,
        groups: Sequence[str] | None = None,
    ) -> Study:
        """Build from the findings that are present: case > annotator > names of findings.

        Parameters
        ----------
        sets
            An empty set is "nothing found"; ``None`` is an annotator who assessed nothing.
        findings
            The whole list of findings; by default those that are present anywhere, in alphabetical order.
        assessed
            Of the same shape: the findings that each annotator looked for; ``None`` for all of them, as by default.
        case_names, annotator_names, groups
            As in :meth:`from_rankings`.

        Examples
        --------
        >>> said = Study.from_sets([[["AF"], []]], ["AF", "ST"], assessed=[[None, ["ST"]]])
        >>> said.answers.tolist()
        [[1, 0], [-1, 0]]
        """
        for number, case in enumerate(sets, start=1):
            if isinstance(case, str) or not isinstance(case, Sequence):
                raise DissensusError(
                    "the checklists of a case are not a list",
                    expected="one set of findings per annotator, three lists deep: case > annotator > finding",
                    got=f"{case!r:.60}",
                    where=f"case {number}",
                )
        sizes = [len(case) for case in sets]
        flat = [one for case in sets for one in case]
        looked = builders.per_opinion(assessed, sizes, "list") or [None] * len(flat)
        named = {str(name) for one in flat if isinstance(one, Collection) for name in one}
        names = tuple(map(str, findings)) if findings is not None else tuple(sorted(named))
        panel = builders.panel_of(sizes, case_names=case_names, annotator_names=annotator_names, groups=groups)
        present = builders.marked_findings([() if one is None else one for one in flat], names, panel)
        seen = builders.marked_findings([names if one is None else one for one in looked], names, panel)
        unlooked = np.argwhere(present & ~seen)
        if len(unlooked):
            where = place_of(panel, int(unlooked[0, 0]), "checklist")
            raise DissensusError("a finding is present that was not assessed", got=names[unlooked[0, 1]], where=where)
        seen &= np.array([one is not None for one in flat], dtype=np.bool_)[:, None]
        answers = np.where(seen, present, NOT_ASSESSED).astype(np.int8)
        return cls(names, panel, answers=answers, question="findings")

    @classmethod
    def from_matrix(
        cls,
        answers: ArrayLike,
        findings: Sequence[str],
        *,
        case_names: Sequence[str] | None = None,
        annotator_names: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
    ) -> Study:
        """Build from an array (n_cases, n_annotators, n_findings) of 1 (present), 0 (absent) and -1 or nan (neither).

        An annotator who assessed nothing on a case is taken as not there.

        Examples
        --------
        >>> said = Study.from_matrix([[[1, 0], [-1, -1]], [[0, 0], [0, 1]]], ["AF", "ST"])
        >>> said.n_opinions, said.words(0), said.words(1)
        (3, 'AF', 'nothing found')
        """
        matrix = builders.checked_answers(answers, (-1, -1, len(findings)), ("case", "annotator", "finding"))
        is_there = (matrix != NOT_ASSESSED).any(axis=2)
        names: list[list[str]] | None = None
        if annotator_names is not None:
            check_length("annotator name", len(annotator_names), matrix.shape[1])
            names = [np.array(annotator_names, dtype=object)[there].tolist() for there in is_there]
        sizes = is_there.sum(axis=1).tolist()
        panel = builders.panel_of(sizes, case_names=case_names, annotator_names=names, groups=groups)
        return cls(tuple(map(str, findings)), panel, answers=matrix[is_there], question="findings")

    @staticmethod
    def from_long(
        frame: IntoDataFrame,
        conditions: Sequence[str] | None = None,
        *,
        case: str | None = None,
        annotator: str | None = None,
        annotator_group: str | None = None,
        condition: str | None = None,
        rank: str | None = None,
        confidence: str | None = None,
        score: str | None = None,
        finding: str | None = None,
        present: str | None = None,
        annotation: str | None = None,
        weight: str | None = None,
        votes: str | None = None,
        group: str | None = None,
        case_weight: str | None = None,
        tie_separator: str | None = None,
        unranked: Unranked | None = None,
        duplicates: Duplicates = "refuse",
        confidence_as: Confidence | None = None,
        findings: Sequence[str] | None = None,
        nothing: str | None = None,
        question: AnyQuestion | None = None,
        positive: str | None = None,
    ) -> Study:
        """Build from a table with a row per mentioned condition, score or finding (pandas, polars or arrow).

        Parameters
        ----------
        frame
            Columns are found by their usual names (``case``, ``annotator``, ``condition``, and ``rank``
            *or* ``confidence``; also ``case_id``, ``label`` and the like), or as given below. A table without
            conditions holds ratings if it has a column ``score``, and checklists if it has a column ``finding``.
        conditions
            Names of all conditions, in order; by default the names found, in alphabetical order. Of findings, which
            may be given as ``findings`` as well, in order of appearance.
        rank, confidence
            Rank: 1 is best, only the order matters. Confidence: higher is better, 0 or missing means not
            mentioned. Equal values are a tie. With neither, all conditions of an annotator are tied. If
            the table has both, the rank decides unless ``confidence`` is given here.
        score
            A number; a missing one is no rating.
        finding, present
            Without ``present`` every named finding is present. A checklist with any row has assessed all findings, but
            for those whose ``present`` is empty.
        annotator
            Without such a column all opinions are anonymous: the rows of a case are one ranking if there is
            a rank or a confidence, and one opinion each if there is none.
        annotator_group
            The group that the annotator belongs to, such as a hospital.
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
            vote among them, see :func:`read`.
        nothing
            The name that says that nothing was found; an empty finding says it, too.
        question, positive
            What was asked, see :meth:`asked`; also ``"numbers"`` or ``"findings"``. Where no list of conditions gives
            their order, names that are numbers go by their size.

        Examples
        --------
        >>> import polars as pl
        >>> said = Study.from_long(pl.DataFrame({
        ...     "case": ["c1", "c1", "c1"], "annotator": ["A", "A", "B"],
        ...     "condition": ["Eczema", "Tinea", "Tinea"], "confidence": [5, 3, 2]}))
        >>> said.to_rankings()
        [[[['Eczema'], ['Tinea']], [['Tinea']]]]
        >>> Study.from_long(pl.DataFrame({"case": ["a", "a", "b"], "score": [1, 2, None]}))
        Ratings: 2 cases, 2 ratings from 1 to 2; 1 case without a rating
        >>> said = Study.from_long(pl.DataFrame({
        ...     "case": ["x", "x", "x"], "annotator": ["Ann", "Ann", "Bo"], "finding": ["AF", "ST", "none"]}),
        ...     nothing="none")
        >>> said.findings, said.answers.tolist()
        (('AF', 'ST'), [[1, 1], [0, 0]])
        """
        given = dict(locals())
        from dissensus.study import tables

        how = {name: given[name] for name in ("tie_separator", "unranked", "duplicates", "positive")}
        columns = {role: given.get(role) for role in (*tables.ROLES, "rank", "confidence", "score", "present")}
        columns["condition"] = condition or finding
        table = polars_frame(frame)
        known = set(map(tables.normalised, table.columns))
        question = question or ("numbers" if score else "findings" if finding or present or nothing else None)
        if question is None and columns["condition"] is None and known.isdisjoint(tables.ALIASES["condition"]):
            has_findings = not known.isdisjoint(tables.ONLY_FINDINGS)
            question = "findings" if has_findings else None if known.isdisjoint(tables.SCORE_NAMES) else "numbers"
        aliases, needed = tables.OF_QUESTION.get(str(question), (tables.ALIASES, ("case", "condition")))
        roles = tables.find_columns(table.columns, columns, aliases=aliases, required=needed)
        if question not in tables.OF_QUESTION:
            roles = tables.without_second_order(roles, columns, confidence_as)
        named, notes = tables.without_nothing(tables.with_roles(table, roles), nothing)
        tables.refuse_unsaid(nothing, notes)
        names = findings if conditions is None else conditions
        return tables.study_from_table(named, names, confidence=confidence_as, question=question, **how)[0]

    # The panel's fields -------------------------------------------------------------------------------

    case_names = Forwarded[tuple[str, ...]]("panel.case_names", "One name per case.")
    annotators = Forwarded[IntArray]("panel.annotators", "Code of the annotator of each opinion, -1 for nobody named.")
    annotator_names = Forwarded[tuple[str, ...]]("panel.annotator_names", "Names of annotators; none if anonymous.")
    weights = Forwarded[FloatArray]("panel.weights", "Weight of each opinion; it multiplies the reliability.")
    votes = Forwarded[IntArray]("panel.votes", "How many annotators gave each opinion; one where somebody is named.")
    groups = Forwarded[tuple[str, ...]]("panel.groups", "Group of each case; empty when cases stand alone.")
    case_weights = Forwarded[FloatArray]("panel.case_weights", "Weight of each case in averages over cases.")
    n_cases = Forwarded[int]("panel.n_cases", "Number of cases, annotated or not.")
    n_opinions = Forwarded[int]("panel.n_opinions", "Number of opinions, abstentions included; shared ones count once.")
    n_votes = Forwarded[int]("panel.n_votes", "Number of times that an annotator gave an opinion, on all cases.")
    ranking_offsets = Forwarded[IntArray]("panel.opinion_offsets", "Where the opinions on each case begin and end.")
    rankings_per_case = Forwarded[IntArray]("panel.opinions_per_case", "Number of opinions on each case.")
    votes_per_case = Forwarded[IntArray]("panel.votes_per_case", "Number of annotators who spoke on each case.")
    n_rankings = n_ratings = n_opinions
    rating_offsets = ranking_offsets

    def __len__(self) -> int:
        return self.n_cases

    # What was asked -----------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """What opinions are: ``"rankings"``, ``"ratings"`` or ``"checklists"``."""
        return {"numbers": "ratings", "findings": "checklists"}.get(self.question, "rankings")

    @property
    def opinion(self) -> str:
        """The noun of one opinion."""
        return KINDS[self.kind].opinion

    n_conditions = Forwarded[int]("conditions", "Number of conditions, K.", len)
    findings = Forwarded[tuple[str, ...]]("conditions", "Names of the findings.")
    n_findings = n_conditions

    # What was said ------------------------------------------------------------------------------------

    blocks_per_ranking = Forwarded[IntArray]("block_offsets", "Number of blocks, shape (n_rankings,).", np.diff)
    block_sizes = Forwarded[IntArray]("code_offsets", "Number of tied conditions, shape (n_blocks,).", np.diff)

    @property
    def mentions_per_ranking(self) -> IntArray:
        """Number of conditions in each ranking, shape (n_rankings,)."""
        return np.diff(self.code_offsets[self.block_offsets])

    @property
    def ranking_of_mention(self) -> IntArray:
        """Position of the ranking behind each mentioned condition, shape (n_mentions,)."""
        return ragged.row_of_each(self.block_offsets)[ragged.row_of_each(self.code_offsets)]

    @property
    def n_mentioned(self) -> int:
        """Number of different conditions that anybody mentioned."""
        return len(np.unique(self.codes))

    @property
    def has_tie(self) -> BoolArray:
        """Whether each ranking has a block of two or more, shape (n_rankings,)."""
        tied = np.zeros(self.n_opinions, dtype=np.bool_)
        tied[ragged.row_of_each(self.block_offsets)[self.block_sizes > 1]] = True
        return tied

    @property
    def present_per_checklist(self) -> IntArray:
        """Number of findings that each checklist has as present, shape (n_opinions,)."""
        return np.asarray((self.answers == PRESENT).sum(axis=1), dtype=np.int64)

    @property
    def scale(self) -> tuple[float, float] | None:
        """The lowest and the highest score; none if there is no rating."""
        return (float(self.scores.min()), float(self.scores.max())) if len(self.scores) else None

    @property
    def is_abstention(self) -> BoolArray:
        """Whether each opinion says nothing, shape (n_opinions,)."""
        if self.kind == "ratings":
            return np.zeros(self.n_opinions, dtype=np.bool_)
        if self.kind == "checklists":
            return np.asarray((self.answers == NOT_ASSESSED).all(axis=1))
        return np.equal(self.blocks_per_ranking, 0)

    @property
    def unannotated(self) -> tuple[str, ...]:
        """Names of the cases on which nobody said anything."""
        said = np.bincount(self.panel.case_of_opinion[~self.is_abstention], minlength=self.n_cases)
        return tuple(self.case_names[i] for i in np.flatnonzero(said == 0))

    @cached_property
    def counted(self) -> Study:
        """The same cases without abstentions and without opinions of weight zero."""
        kept = np.flatnonzero(~self.is_abstention & (self.weights > 0))
        return self if len(kept) == self.n_opinions else self._with_opinions(self.panel.keep(kept), kept)

    support, opinions = cached_property(support_of), cached_property(found_opinions)

    # Acts ---------------------------------------------------------------------------------------------

    def select(self, cases: Cases) -> Study:
        """Keep some cases, in the order given: names, positions, a slice or a mask.

        Examples
        --------
        >>> Study.from_scores([[1, 2], [5]], case_names=["x", "y"]).select(["y"]).scores
        array([5.])
        """
        return self._with_opinions(*self.panel.select(self.panel.positions(cases))).with_receipt(self.receipt)

    def without(self, annotators: Sequence[str]) -> Study:
        """Leave out what some annotators said; all cases stay, and all names.

        Examples
        --------
        >>> said = Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b"], annotator_names=["A", "B"])
        >>> said.without(["A"]).to_rankings()
        [[[['b']]]]
        """
        codes = [self.annotator_names.index(known_name("annotator", name, self.annotator_names)) for name in annotators]
        kept = np.flatnonzero(~np.isin(self.annotators, codes))
        return self._with_opinions(self.panel.keep(kept), kept)

    def with_weights(self, weights: FloatArray) -> Study:
        """Give every opinion another weight, shape (n_opinions,).

        Examples
        --------
        >>> said = Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b"])
        >>> said.with_weights(np.array([2.0, 0.5])).weights
        array([2. , 0.5])
        """
        return replace(self, panel=replace(self.panel, weights=weights))

    def with_annotator_groups(self, groups: Mapping[str, str]) -> Study:
        """Say which group, such as a hospital, every named annotator belongs to.

        Annotators of a group are left out together where intervals are about annotators.

        Examples
        --------
        >>> said = Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b"], annotator_names=["A", "B"])
        >>> said.with_annotator_groups({"A": "north", "B": "south"}).panel.annotator_groups
        ('north', 'south')
        """
        for name in groups:
            known_name("annotator", name, self.annotator_names)
        lacking = [name for name in self.annotator_names if name not in groups]
        if lacking or not self.annotator_names:
            expected = "a group for every annotator, who must have a name"
            got = f"none for {listing(lacking)}" if lacking else "annotators without names"
            raise DissensusError("the group of some annotators is not known", expected=expected, got=got)
        of_annotators = tuple(groups[name] for name in self.annotator_names)
        return replace(self, panel=replace(self.panel, annotator_groups=of_annotators))

    def each_alone(self, opinions: IntArray, names: Sequence[str]) -> Study:
        """Make every one of some opinions a case of its own, under new names.

        Examples
        --------
        >>> said = Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b"])
        >>> said.each_alone(np.array([1]), ["second"]).to_rankings()
        [[[['b']]]]
        """
        one_each = np.arange(len(opinions) + 1)
        panel = Panel(tuple(names), one_each, self.annotators[opinions], self.annotator_names)
        return self._with_opinions(panel, opinions)

    def _with_opinions(self, panel: Panel, opinions: IntArray) -> Study:
        """Keep the opinions at these positions, which are those of the panel."""
        if self.kind != "rankings":
            given: dict[str, Any] = {name: array[opinions] for name, array in self.arrays().items()}
            return replace(self, panel=panel, **given)
        block_offsets, blocks = ragged.take_rows(self.block_offsets, opinions)
        code_offsets, mentions = ragged.take_rows(self.code_offsets, blocks)
        return replace(
            self, panel=panel, block_offsets=block_offsets, code_offsets=code_offsets, codes=self.codes[mentions]
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Study]) -> Study:
        """Put studies of different cases together; they must be of one kind.

        Examples
        --------
        >>> one, other = Study.from_scores([[1]], case_names=["x"]), Study.from_scores([[5]], case_names=["y"])
        >>> Study.concatenate([one, other]).case_names
        ('x', 'y')
        """
        if not parts:
            raise DissensusError("there is nothing to concatenate", expected="at least one study")
        first = parts[0]
        noun, advice = "conditions", "bring them to one vocabulary first: with_conditions([...])"
        if first.kind == "checklists":
            noun, advice = "findings", "build them with one list of findings (findings=[...], --conditions FILE)"
        differing = {
            "kind": ("of different kinds", ""),
            "conditions": (f"with different {noun}", advice),
            "unranked": ("in which not mentioned means something else", "with_unranked(...)"),
            "question": ("that asked different questions", "say what was asked: study.asked(...)"),
        }
        for part, (name, (what, do)) in product(parts[1:], differing.items()):
            both = getattr(first, name), getattr(part, name)
            if both[0] != both[1]:
                words = [listing(given) if isinstance(given, tuple) else repr(given) for given in both]
                problem = f"studies {what} cannot be concatenated"
                raise DissensusError(problem, expected=words[0], got=words[1], advice=do)
        arrays: dict[str, Any] = {}
        for name in KINDS[first.kind].arrays:
            join = ragged.join_offsets if name.endswith("offsets") else np.concatenate
            arrays[name] = join([getattr(one, name) for one in parts])
        joined = replace(first, panel=concatenate_panels([part.panel for part in parts]), **arrays)
        return joined.with_receipt(shared_receipt(list(parts)))

    # Acts on rankings -----------------------------------------------------------------------------------

    def with_conditions(self, conditions: Sequence[str]) -> Study:
        """Put the vocabulary into another order, or add conditions that nobody mentioned.

        Examples
        --------
        >>> said = Study.from_rankings([[[["a"], ["b"]]]])
        >>> said.with_conditions(["c", "b", "a"]).codes
        array([2, 1])
        """
        require_kind(self, "rankings", "with_conditions")
        codes = {name: code for code, name in enumerate(conditions)}
        mentioned = np.unique(self.codes)
        lost = [self.conditions[code] for code in mentioned if self.conditions[code] not in codes]
        if lost:
            got = listing(lost)
            advice = suggestion(lost[0], conditions) or "add them to the list"
            raise DissensusError("the new list of conditions lacks some that are mentioned", got=got, advice=advice)
        recoded = np.full(self.n_conditions, -1, dtype=np.int64)
        recoded[mentioned] = [codes[self.conditions[code]] for code in mentioned]
        order = np.lexsort((recoded[self.codes], ragged.row_of_each(self.code_offsets)))
        changed = replace(self, conditions=tuple(conditions), codes=recoded[self.codes][order])
        return changed.with_receipt(self.receipt)

    def with_unranked(self, unranked: Unranked) -> Study:
        """Give the conditions that are not mentioned another meaning.

        Examples
        --------
        >>> Study.from_rankings([[[["a"]]]]).with_unranked("unobserved").unranked
        'unobserved'
        """
        return replace(require_kind(self, "rankings", "with_unranked"), unranked=unranked).with_receipt(self.receipt)

    def asked(self, question: Question, positive: str | None = None) -> Study:
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
        >>> said = Study.from_rankings([[[["Melanoma"]], [["Nevus"]]]])
        >>> said.asked("binary", positive="Melanoma").conditions
        ('Nevus', 'Melanoma')
        """
        return asked_of(require_kind(self, "rankings", "asked"), question, positive, are_ordered=True)

    def to_rankings(self) -> list[list[list[list[str]]]]:
        """Write out as nested lists of names: case > annotator > block > condition; shared rankings are repeated.

        Examples
        --------
        >>> Study.from_counts([[1, 1]], ["a", "b"]).to_rankings()
        [[[['a']], [['b']]]]
        """
        require_kind(self, "rankings", "to_rankings")
        blocks = _nest([self.conditions[code] for code in self.codes], self.code_offsets)
        return self._by_case(_nest(blocks, self.block_offsets))

    def to_frame(self) -> pl.DataFrame:
        """Return opinions as a table: a row per mentioned condition, rating, or finding of a checklist.

        Columns are those of the canonical long form (:func:`~dissensus.write`).

        Examples
        --------
        >>> Study.from_rankings([[[["a"], ["b"]]]], case_names=["c1"], annotator_names=["Ada"]).to_frame().rows()
        [('c1', 1, 'Ada', 'a', 1), ('c1', 1, 'Ada', 'b', 2)]
        >>> Study.from_scores([[3.5]], case_names=["c1"]).to_frame().rows()
        [('c1', 1, 3.5)]
        """
        from dissensus.study.canonical import long_table

        unsaid = ("condition", "kind_of_question") if self.kind == "ratings" else ()
        return long_table(self).drop_nulls("case").drop(unsaid)

    def _by_case(self, opinions: list[Item]) -> list[list[Item]]:
        """Nest something per opinion by case, as often as it has votes."""
        repeated = [one for one, votes in zip(opinions, self.votes, strict=True) for _ in range(votes)]
        return _nest(repeated, ragged.offsets_from_lengths(self.votes_per_case))

    # Acts on checklists ---------------------------------------------------------------------------------

    def of_finding(self, name: str) -> Study:
        """Ask about one finding: a study of two conditions, absent and present, which every aggregation takes.

        Its cases are called ``case / finding``, so that those of several findings are different, and belong to the
        group of the case or, if it stands alone, to the case: findings of one case are resampled together. Who did not
        assess the finding gave no opinion.

        Examples
        --------
        >>> said = Study.from_sets([[{"AF"}, set()]], ["AF", "ST"], case_names=["x"])
        >>> asked = said.of_finding("AF")
        >>> asked.case_names, asked.groups, asked.to_rankings()
        (('x / AF',), ('x',), [[[['present']], [['absent']]]])
        """
        require_kind(self, "checklists", "of_finding")
        answers = self.answers[:, self.findings.index(known_name("finding", name, self.findings))]
        kept = np.flatnonzero(answers != NOT_ASSESSED)
        named = tuple(f"{case}{PAIR}{name}" for case in self.case_names)
        panel = replace(self.panel.keep(kept), case_names=named, groups=self.groups or self.case_names)
        one_each = np.arange(len(kept) + 1, dtype=np.int64)
        return Study(ANSWERS, panel, one_each, one_each, answers[kept].astype(np.int64), question="binary")

    def by_finding(self) -> dict[str, Study]:
        """Ask about every finding, in the order of the list; see :meth:`of_finding`.

        Examples
        --------
        >>> list(Study.from_sets([[{"AF"}, set()]], ["AF", "ST"]).by_finding())
        ['AF', 'ST']
        """
        return {name: self.of_finding(name) for name in self.findings}

    def items(self) -> Study:
        """Ask about every finding of every case, each a case of its own, finding by finding; other studies stay.

        Examples
        --------
        >>> Study.from_sets([[{"AF"}, set()]], ["AF", "ST"], case_names=["x"]).items().case_names
        ('x / AF', 'x / ST')
        """
        if self.kind != "checklists":
            return self
        return Study.concatenate(list(self.by_finding().values())).with_receipt(self.receipt)

    def to_sets(self) -> list[list[set[str] | None]]:
        """Write out the findings that are present: case > annotator > names; ``None`` where nothing was assessed.

        Examples
        --------
        >>> Study.from_sets([[["AF"], [], None]], ["AF", "ST"]).to_sets()
        [[{'AF'}, set(), None]]
        """
        require_kind(self, "checklists", "to_sets")
        present = [{self.findings[code] for code in np.flatnonzero(row == PRESENT)} for row in self.answers]
        silent = self.is_abstention
        return self._by_case([None if silent[opinion] else found for opinion, found in enumerate(present)])

    # Telling ------------------------------------------------------------------------------------------

    facts, methods, distributions = diagnosis.facts_of, diagnosis.methods_of, diagnosis.distributions_of
    said, words, examples = diagnosis.numbers_of_opinion, diagnosis.words_of_opinion, diagnosis.examples_of

    def __repr__(self) -> str:
        lines = list(diagnosis.lines_of(self).items())[2:] if self.kind == "rankings" else []
        return "\n".join([diagnosis.headline(self), *(f"  {label:<31}{text}" for label, text in lines)])

    def _repr_html_(self) -> str:
        cells = [(escape(label), escape(text)) for label, text in diagnosis.lines_of(self).items()]
        rows = "".join(f"<tr><th>{label}</th><td>{text}</td></tr>" for label, text in cells)
        return f"<table><caption>{escape(diagnosis.headline(self))}</caption><tbody>{rows}</tbody></table>"

    # Storing ------------------------------------------------------------------------------------------

    def settings(self) -> dict[str, object]:
        """Return the fields that are plain values, for JSON; without the panel and the conditions.

        Examples
        --------
        >>> Study.from_rankings([[[["a"]]]]).settings()
        {'unranked': 'below', 'question': 'conditions'}
        """
        return {"unranked": self.unranked, "question": self.question}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the fields that hold opinions of this kind of study.

        Examples
        --------
        >>> sorted(Study.from_rankings([[[["a"]]]]).arrays())
        ['block_offsets', 'code_offsets', 'codes']
        """
        return {name: getattr(self, name) for name in KINDS[self.kind].arrays}


def require_kind(study: object, kind: str, who: str) -> Study:
    """Return a study of a kind, or refuse what ``who`` cannot use.

    Examples
    --------
    >>> said = Study.from_scores([[1, 2]])
    >>> require_kind(said, "ratings", "this function") is said
    True
    """
    if isinstance(study, Study) and study.kind == kind:
        return study
    raise DissensusError(
        f"{who} needs {kind}",
        expected=f"a study of {kind}",
        got=f"a study of {study.kind}" if isinstance(study, Study) else type(study).__name__,
        advice=f"{study.kind} go to {KINDS[study.kind].aggregated_by}"
        if isinstance(study, Study)
        else "build it with Study.from_...",
    )


def _nest(items: list[Item], offsets: IntArray) -> list[list[Item]]:
    return [items[start:stop] for start, stop in pairwise(offsets.tolist())]
