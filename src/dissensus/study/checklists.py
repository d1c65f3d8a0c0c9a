"""Lists of findings: per case and annotator, each finding is present, absent or not assessed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from dissensus.core.aliases import BoolArray, Confidence, Duplicates, FloatArray, IntArray, KeyArray, Unranked
from dissensus.core.arguments import check_fields, checked
from dissensus.core.checks import check_length
from dissensus.core.errors import DissensusError, listing, suggestion
from dissensus.core.names import case_keys, check_names, known_name
from dissensus.core.notes import Note
from dissensus.core.ragged import offsets_from_lengths
from dissensus.study.builders import annotator_codes, group_names, numbered_names, per_opinion
from dissensus.study.diagnosis import ChecklistsDiagnosis, diagnosis_of_checklists, percent, plural, spread
from dissensus.study.panel import Panel, concatenate_panels, place_of
from dissensus.study.rankings import Annotations
from dissensus.study.study import Distribution, Fact, Study

if TYPE_CHECKING:
    import polars as pl
    from narwhals.typing import IntoDataFrame
    from numpy.typing import ArrayLike

AnswerArray: TypeAlias = npt.NDArray[np.int8]
"""Answers: 1 present, 0 absent, -1 not assessed."""

PRESENT, ABSENT, NOT_ASSESSED = 1, 0, -1

PAIR = " / "
"""What stands between the name of a case and that of a finding, where the two together are a case."""

ANSWERS = ("absent", "present")
"""The two conditions of one finding; the last is the positive one."""

NOTHING_FOUND = "nothing found"


@dataclass(frozen=True, eq=False)
class Tallies:
    """Hold how many annotators assessed and saw each finding of each case that anybody assessed.

    Attributes
    ----------
    case_names, excluded
        The cases with a checklist of positive weight, and the others.
    keys : (n_cases,)
        Hash of the name of each case.
    present, assessed : (n_cases, n_findings)
        Total weight of the checklists on which each finding is present, and on which it was assessed.
    """

    case_names: tuple[str, ...]
    excluded: tuple[str, ...]
    keys: KeyArray
    present: FloatArray
    assessed: FloatArray

    @property
    def n_cases(self) -> int:
        """Number of assessed cases."""
        return len(self.case_names)


@dataclass(frozen=True, eq=False, repr=False)
class Checklists(Study):
    """Hold which findings annotators saw on the cases of a study.

    Every opinion answers for every finding of a fixed list: present, absent, or not assessed. An opinion without a
    present finding is one ("nothing found"); an opinion in which nothing was assessed is an abstention.

    Build them with :meth:`from_sets`, :meth:`from_matrix`, :meth:`from_long` or :func:`dissensus.read_checklists`
    rather than by hand.

    Attributes
    ----------
    conditions
        Names of the findings, in the order of the columns of ``answers``; also called ``findings``.
    panel
        The cases and who gave an opinion on them.
    answers : (n_opinions, n_findings)
        1 present, 0 absent, -1 not assessed.

    Examples
    --------
    >>> Checklists.from_sets([[{"AF"}, {"AF", "RBBB"}], [set()]], ["AF", "RBBB", "ST"])
    Checklists: 2 cases, 3 checklists of 3 findings; 1 found nothing
    """

    kind: ClassVar[str] = "checklists"
    opinion: ClassVar[str] = "checklist"
    described: ClassVar[str] = "lists of findings"
    aggregated_by: ClassVar[str] = "any aggregation of rankings, finding by finding (of_finding)"

    conditions: tuple[str, ...]
    panel: Panel
    answers: AnswerArray

    def __post_init__(self) -> None:
        check_fields(self)
        check_names("finding", self.conditions)
        if not len(self.conditions):
            raise DissensusError("there is no finding", expected="a list of at least one finding")
        object.__setattr__(self, "answers", _frozen_answers(self.answers, (self.panel.n_opinions, len(self.findings))))
        wrong = np.argwhere(~np.isin(self.answers, (PRESENT, ABSENT, NOT_ASSESSED)))
        if len(wrong):
            raise DissensusError(
                "an answer is not understood",
                expected="1 (present), 0 (absent) or -1 (not assessed)",
                got=f"{self.answers[tuple(wrong[0])]} for {self.findings[wrong[0][1]]!r}",
                where=place_of(self.panel, int(wrong[0][0]), self.opinion),
            )

    # Builders -----------------------------------------------------------------------------------------

    @classmethod
    @checked
    def from_sets(
        cls,
        sets: Sequence[Sequence[Any]],
        findings: Sequence[str] | None = None,
        *,
        assessed: Sequence[Sequence[Any]] | None = None,
        case_names: Sequence[str] | None = None,
        annotator_names: Sequence[str | None] | Sequence[Sequence[str | None]] | None = None,
        groups: Sequence[str] | None = None,
    ) -> Checklists:
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
            As in :meth:`Annotations.from_rankings`.

        Examples
        --------
        >>> said = Checklists.from_sets([[["AF"], []]], ["AF", "ST"], assessed=[[None, ["ST"]]])
        >>> said.answers.tolist()
        [[1, 0], [-1, 0]]
        """
        sizes = _sizes(sets)
        flat = [one for case in sets for one in case]
        looked = per_opinion(assessed, sizes, "list") or [None] * len(flat)
        names = tuple(map(str, findings)) if findings is not None else _named_findings(flat)
        panel = _panel(sizes, case_names, annotator_names, groups)
        return cls(names, panel, _answers_of_sets(flat, looked, names, panel))

    @classmethod
    @checked
    def from_matrix(
        cls,
        answers: ArrayLike,
        findings: Sequence[str],
        *,
        case_names: Sequence[str] | None = None,
        annotator_names: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
    ) -> Checklists:
        """Build from an array (n_cases, n_annotators, n_findings) of 1 (present), 0 (absent) and -1 or nan (neither).

        An annotator who assessed nothing on a case is taken as not there.

        Examples
        --------
        >>> said = Checklists.from_matrix([[[1, 0], [-1, -1]], [[0, 0], [0, 1]]], ["AF", "ST"])
        >>> said.n_opinions, said.words(0), said.words(1)
        (3, 'AF', 'nothing found')
        """
        matrix = _checked_matrix(answers, len(findings))
        is_there = (matrix != NOT_ASSESSED).any(axis=2)
        who = None if annotator_names is None else np.array([*annotator_names], dtype=object)
        if who is not None:
            check_length("annotator name", len(who), matrix.shape[1])
        names = None if who is None else [who[there].tolist() for there in is_there]
        panel = _panel(is_there.sum(axis=1).tolist(), case_names, names, groups)
        return cls(tuple(map(str, findings)), panel, matrix[is_there])

    @classmethod
    @checked
    def from_long(
        cls,
        frame: IntoDataFrame,
        findings: Sequence[str] | None = None,
        *,
        nothing: str | None = None,
        case: str | None = None,
        annotator: str | None = None,
        annotation: str | None = None,
        finding: str | None = None,
        present: str | None = None,
        weight: str | None = None,
        votes: str | None = None,
        group: str | None = None,
        case_weight: str | None = None,
    ) -> Checklists:
        """Build from a table with one row per finding (pandas, polars or arrow).

        Parameters
        ----------
        frame
            Columns are found by their usual names, or as given below. Without ``present`` every named finding is
            present. A checklist with any row has assessed all findings, but for those whose ``present`` is empty.
        findings
            The whole list of findings; by default those in the table, in order of appearance.
        nothing
            The name that says that nothing was found; an empty finding says it, too.
        case, annotator, annotation, finding, present, weight, votes, group, case_weight
            Names of columns.

        Examples
        --------
        >>> import polars as pl
        >>> said = Checklists.from_long(pl.DataFrame({
        ...     "case": ["x", "x", "x"], "annotator": ["Ann", "Ann", "Bo"], "finding": ["AF", "ST", "none"]}),
        ...     nothing="none")
        >>> said.findings, said.answers.tolist()
        (('AF', 'ST'), [[1, 1], [0, 0]])
        """
        from dissensus.study.tables import checklists_from_long

        columns = {
            "case": case,
            "annotator": annotator,
            "annotation": annotation,
            "condition": finding,
            "present": present,
            "weight": weight,
            "votes": votes,
            "group": group,
            "case_weight": case_weight,
        }
        return checklists_from_long(frame, findings, columns=columns, nothing=nothing)

    @classmethod
    @checked
    def from_roles(
        cls,
        table: pl.DataFrame,
        conditions: Sequence[str] | None = None,
        *,
        tie_separator: str | None = None,
        unranked: Unranked | None = None,  # noqa: ARG003 - nothing is ranked
        duplicates: Duplicates = "refuse",
        confidence: Confidence | None = None,  # noqa: ARG003
    ) -> tuple[Checklists, tuple[Note, ...]]:
        """Build from a table whose columns are named by their roles, with notes on its rows."""
        from dissensus.study.tables import checklists_from_roles

        return checklists_from_roles(table, conditions, separator=tie_separator, duplicates=duplicates)

    # Quantities ---------------------------------------------------------------------------------------

    @property
    def findings(self) -> tuple[str, ...]:
        """Names of the findings."""
        return self.conditions

    @property
    def n_findings(self) -> int:
        """Number of findings."""
        return len(self.conditions)

    @property
    def present_per_checklist(self) -> IntArray:
        """Number of findings that each checklist has as present, shape (n_opinions,)."""
        return np.asarray((self.answers == PRESENT).sum(axis=1), dtype=np.int64)

    @property
    def is_abstention(self) -> BoolArray:
        """Whether nothing was assessed on each checklist, shape (n_opinions,)."""
        return np.asarray((self.answers == NOT_ASSESSED).all(axis=1))

    @cached_property
    def opinions(self) -> Tallies:
        """How many annotators assessed and saw each finding of each case.

        Examples
        --------
        >>> found = Checklists.from_sets([[{"AF"}, set()], []], ["AF", "ST"]).opinions
        >>> found.case_names, found.excluded, found.present.tolist(), found.assessed.tolist()
        (('0',), ('1',), [[1.0, 0.0]], [[2.0, 2.0]])
        """
        said = self.counted
        if not said.n_opinions:
            raise DissensusError("no case has any checklist", got=f"{self.n_cases} cases on which nothing was assessed")
        assessed, case = np.unique(said.panel.case_of_opinion, return_inverse=True)
        weights = (said.weights * said.votes)[:, None]
        sums = np.zeros((2, len(assessed), self.n_findings))
        np.add.at(sums[0], case, weights * (said.answers == PRESENT))
        np.add.at(sums[1], case, weights * (said.answers != NOT_ASSESSED))
        names = np.array(self.case_names, dtype=object)
        kept = tuple(names[assessed].tolist())
        return Tallies(kept, tuple(np.delete(names, assessed).tolist()), case_keys(kept), sums[0], sums[1])

    # Acts ---------------------------------------------------------------------------------------------

    def of_finding(self, name: str) -> Annotations:
        """Ask about one finding: a study of two conditions, absent and present, which every aggregation takes.

        Its cases are called ``case / finding``, so that those of several findings are different, and belong to the
        group of the case or, if it stands alone, to the case: findings of one case are resampled together. Who did not
        assess the finding gave no opinion.

        Examples
        --------
        >>> said = Checklists.from_sets([[{"AF"}, set()]], ["AF", "ST"], case_names=["x"])
        >>> asked = said.of_finding("AF")
        >>> asked.case_names, asked.groups, asked.to_rankings()
        (('x / AF',), ('x',), [[[['present']], [['absent']]]])
        """
        answers = self.answers[:, self.findings.index(known_name("finding", name, self.findings))]
        kept = np.flatnonzero(answers != NOT_ASSESSED)
        panel = replace(
            self.panel.keep(kept),
            case_names=tuple(f"{case}{PAIR}{name}" for case in self.case_names),
            groups=self.groups or self.case_names,
        )
        one_each = np.arange(len(kept) + 1, dtype=np.int64)
        codes = answers[kept].astype(np.int64)
        return Annotations(ANSWERS, panel, one_each, one_each, codes, question="binary")

    def by_finding(self) -> dict[str, Annotations]:
        """Ask about every finding, in the order of the list; see :meth:`of_finding`.

        Examples
        --------
        >>> list(Checklists.from_sets([[{"AF"}, set()]], ["AF", "ST"]).by_finding())
        ['AF', 'ST']
        """
        return {name: self.of_finding(name) for name in self.findings}

    def to_sets(self) -> list[list[set[str] | None]]:
        """Write out the findings that are present: case > annotator > names; ``None`` where nothing was assessed.

        Examples
        --------
        >>> Checklists.from_sets([[["AF"], [], None]], ["AF", "ST"]).to_sets()
        [[{'AF'}, set(), None]]
        """
        found = [
            None if silent else {self.findings[code] for code in np.flatnonzero(row == PRESENT)}
            for row, silent in zip(self.answers, self.is_abstention, strict=True)
        ]
        repeated = [one for one, votes in zip(found, self.votes, strict=True) for _ in range(votes)]
        offsets = offsets_from_lengths(self.votes_per_case).tolist()
        return [repeated[start:stop] for start, stop in pairwise(offsets)]

    def _with_opinions(self, panel: Panel, opinions: IntArray) -> Checklists:
        return Checklists(self.conditions, panel, self.answers[opinions])

    def _joined(self, parts: Sequence[Checklists]) -> Checklists:
        for part in parts:
            if part.findings != self.findings:
                raise DissensusError(
                    "studies with different findings cannot be concatenated",
                    expected=listing(self.findings, most=12),
                    got=listing(part.findings, most=12),
                    advice="build them with one list of findings (findings=[...], --conditions FILE)",
                )
        panel = concatenate_panels([part.panel for part in parts])
        return Checklists(self.conditions, panel, np.concatenate([part.answers for part in parts]))

    # Telling ------------------------------------------------------------------------------------------

    def facts(self) -> tuple[Fact, ...]:
        """Count cases, checklists, annotators, findings, and answers that were not given, for a table."""
        spoken, votes = ~self.is_abstention, self.votes
        found = self.present_per_checklist
        missing = int((votes * (self.answers == NOT_ASSESSED).sum(axis=1)).sum())
        return (
            Fact("Cases", f"{self.n_cases:,}", "case", "Cases"),
            Fact("Checklists", f"{self.n_votes:,}", "checklist", "Checklists"),
            Fact("Annotators per case", spread(self.panel.annotators_per_case), "annotator", "Annotators"),
            Fact("Findings on the list", f"{self.n_findings:,}", "finding", "Findings"),
            Fact("Findings present per checklist", spread(found[spoken], votes[spoken])),
            Fact("Checklists with nothing found", percent(self._nothing_found, int(votes[spoken].sum()))),
            Fact("Answers not assessed", percent(missing, self.n_votes * self.n_findings)),
        )

    @property
    def _nothing_found(self) -> int:
        return int(self.votes[~self.is_abstention & (self.present_per_checklist == 0)].sum())

    def methods(self) -> str:
        """Write the sentence of a methods section about the checklists."""
        cases = "The one case was" if self.n_cases == 1 else f"Each of {self.n_cases:,} cases was"
        people = spread(self.panel.annotators_per_case)
        return (
            f"{cases} assessed by annotators ({people} per case) for {plural(self.n_findings, 'finding')}; every "
            f"finding was a question of its own, present or absent, and what was not assessed was no opinion."
        )

    def distributions(self) -> tuple[Distribution, ...]:
        """Return how many annotators there are, and how many findings they saw."""
        return (
            Distribution("annotators per case", self.panel.annotators_per_case),
            Distribution(
                "findings present per checklist", self.present_per_checklist, "checklists", self.votes, per_case=False
            ),
        )

    @property
    def detail(self) -> IntArray:
        """Number of findings present on each checklist and one more, shape (n_opinions,)."""
        return self.present_per_checklist + 1

    def said(self, opinion: int, code: Callable[[int], int]) -> list[int]:
        """Write one checklist as a list of codes: those present, and minus the code minus 1 if not assessed.

        Examples
        --------
        >>> said = Checklists.from_matrix([[[1, 0, -1]]], ["AF", "RBBB", "ST"])
        >>> said.said(0, lambda finding: finding + 5)
        [5, -8]
        """
        row = self.answers[opinion]
        present = [code(int(finding)) for finding in np.flatnonzero(row == PRESENT)]
        return [*present, *(-code(int(finding)) - 1 for finding in np.flatnonzero(row == NOT_ASSESSED))]

    def words(self, opinion: int) -> str:
        """Write one checklist in words.

        Examples
        --------
        >>> Checklists.from_matrix([[[1, 1, -1]]], ["AF", "RBBB", "ST"]).words(0)
        'AF, RBBB; not assessed: ST'
        """
        row = self.answers[opinion]
        if (row == NOT_ASSESSED).all():
            return "nothing assessed"
        present = ", ".join(self.findings[code] for code in np.flatnonzero(row == PRESENT))
        missing = ", ".join(self.findings[code] for code in np.flatnonzero(row == NOT_ASSESSED))
        return f"{present or NOTHING_FOUND}; not assessed: {missing}" if missing else present or NOTHING_FOUND

    def diagnosis(self) -> ChecklistsDiagnosis:
        """Count checklists and findings, and look for what may be wrong."""
        return diagnosis_of_checklists(self)

    def __repr__(self) -> str:
        nothing = f"; {self._nothing_found:,} found nothing" if self._nothing_found else ""
        missing = f"; {plural(len(self.unannotated), 'case')} not assessed" if self.unannotated else ""
        return (
            f"Checklists: {plural(self.n_cases, 'case')}, {plural(self.n_votes, 'checklist')} of "
            f"{plural(self.n_findings, 'finding')}{nothing}{missing}"
        )


def unknown_finding(name: str, findings: Sequence[str], where: str = "") -> DissensusError:
    """Build the error for a finding that is not on the list."""
    return DissensusError(
        f"unknown finding {name!r}",
        expected=f"one of the {len(findings)} listed findings",
        got=repr(name),
        where=where,
        advice=suggestion(name, findings)
        or "add it to the list, correct the name, or say that it means that nothing was found (nothing=NAME, "
        "--nothing NAME)",
    )


# What the builders have in common -----------------------------------------------------------------------


def _frozen_answers(answers: Any, shape: tuple[int, int]) -> AnswerArray:
    """Return the answers as a read-only array of its own."""
    given = np.asarray(answers)
    if given.shape != shape:
        raise DissensusError(
            "the answers do not fit",
            expected=f"shape {shape}: one row per checklist, one column per finding",
            got=f"shape {given.shape}",
        )
    if given.dtype.kind not in "iub":
        raise DissensusError("the answers are not whole numbers", got=f"an array of {given.dtype}")
    frozen: AnswerArray = np.clip(given, -2, 2).astype(np.int8)
    frozen.flags.writeable = False
    return frozen


def _panel(
    sizes: Sequence[int], case_names: Sequence[str] | None, annotator_names: Any, groups: Sequence[str] | None
) -> Panel:
    who = per_opinion(annotator_names, list(sizes), "annotator name")
    annotators, known = annotator_codes(who, int(sum(sizes)))
    return Panel(
        case_names=numbered_names(case_names, len(sizes)),
        opinion_offsets=offsets_from_lengths(sizes),
        annotators=annotators,
        annotator_names=known,
        groups=group_names(groups),
    )


def _sizes(sets: Sequence[Any]) -> list[int]:
    for number, case in enumerate(sets, start=1):
        if isinstance(case, str) or not isinstance(case, Sequence):
            raise DissensusError(
                "the checklists of a case are not a list",
                expected="one set of findings per annotator, three lists deep: case > annotator > finding",
                got=f"{case!r:.60}",
                where=f"case {number}",
            )
    return [len(case) for case in sets]


def _named_findings(sets: Sequence[Collection[Any] | None]) -> tuple[str, ...]:
    return tuple(sorted({str(name) for one in sets if isinstance(one, Collection) for name in one}))


def _answers_of_sets(sets: Sequence[Any], assessed: Sequence[Any], names: tuple[str, ...], panel: Panel) -> AnswerArray:
    answers = np.full((len(sets), len(names)), ABSENT, dtype=np.int8)
    for opinion, (present, looked) in enumerate(zip(sets, assessed, strict=True)):
        where = place_of(panel, opinion, "checklist")
        if present is None:
            answers[opinion] = NOT_ASSESSED
            continue
        if looked is not None:
            answers[opinion] = NOT_ASSESSED
            answers[opinion, _codes(looked, names, where)] = ABSENT
        found = _codes(present, names, where)
        _refuse_unassessed(answers[opinion], found, names, where)
        answers[opinion, found] = PRESENT
    return answers


def _codes(given: Any, names: tuple[str, ...], where: str) -> list[int]:
    if isinstance(given, str) or not isinstance(given, Collection):
        raise DissensusError(
            "a checklist is not a set of findings",
            expected="names of findings, three lists deep: case > annotator > finding",
            got=f"{given!r:.60}",
            where=where,
        )
    unknown = [name for name in given if name not in names]
    if unknown:
        raise unknown_finding(str(unknown[0]), names, where)
    return [names.index(name) for name in given]


def _refuse_unassessed(answers: AnswerArray, found: Sequence[int], names: tuple[str, ...], where: str) -> None:
    unlooked = [names[code] for code in found if answers[code] == NOT_ASSESSED]
    if unlooked:
        raise DissensusError("a finding is present that was not assessed", got=listing(unlooked), where=where)


def _checked_matrix(answers: ArrayLike, n_findings: int) -> AnswerArray:
    try:
        given = np.asarray(answers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DissensusError(
            "the answers are not an array of numbers", expected="1, 0, and -1 or nan", got=f"{answers!r:.60}"
        ) from error
    if given.ndim != 3 or given.shape[2] != n_findings:
        raise DissensusError(
            "the answers do not fit",
            expected=f"shape (cases, annotators, {n_findings})",
            got=f"shape {given.shape}",
        )
    matrix = np.where(np.isnan(given), NOT_ASSESSED, given)
    wrong = np.argwhere(~np.isin(matrix, (PRESENT, ABSENT, NOT_ASSESSED)))
    if len(wrong):
        raise DissensusError(
            "an answer is not understood",
            expected="1 (present), 0 (absent), -1 or nan (not assessed)",
            got=f"{matrix[tuple(wrong[0])]:g}",
            where="case {}, annotator {}, finding {}".format(*(wrong[0] + 1)),
        )
    return matrix.astype(np.int8)
