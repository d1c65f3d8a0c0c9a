"""From matrices and nested lists to predictions: check, flatten, put in order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from dissensus.core.checks import check_length
from dissensus.core.errors import DissensusError, listing
from dissensus.core.ragged import begins_run, offsets_from_lengths, row_of_each
from dissensus.predictions.lists import DEVIATION, NUMBER, Conditions, PredictionKind, Predictions, in_order
from dissensus.study.builders import condition_names, numbered_names, unknown_condition

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dissensus.core.aliases import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Subject:
    """Whose predictions, about which cases and conditions."""

    name: str
    conditions: tuple[str, ...]
    case_names: tuple[str, ...]

    def place(self, case: int, code: int | None = None) -> str:
        """Say where an entry stands: its row, its case and its condition."""
        condition = "" if code is None else f", condition {self.conditions[code]!r}"
        return f"row {case + 1}, case {self.case_names[case]!r}{condition}"


@dataclass(frozen=True)
class Entries:
    """Listed conditions in any order: on which case, which one, how good."""

    case: IntArray
    codes: IntArray
    values: FloatArray

    def where(self, kept: BoolArray) -> Entries:
        """Keep some entries."""
        return self if kept.all() else Entries(self.case[kept], self.codes[kept], self.values[kept])

    def sorted(self) -> Entries:
        """Put entries in order: by case, best first, codes ascending among ties."""
        if in_order(self.case, self.codes, self.values):
            return self
        keys = {"case": self.case, "minus_value": 0.0 - self.values, "code": self.codes}
        order = pl.DataFrame(keys).select(pl.arg_sort_by(*keys)).to_series().to_numpy()
        return Entries(self.case[order], self.codes[order], self.values[order])


# Matrices ---------------------------------------------------------------------------------------------


def predictions_from_scores(
    scores: ArrayLike, conditions: Conditions, *, case_names: Sequence[str] | None, name: str, findings: bool = False
) -> Predictions:
    """Check and sort a matrix of scores; see :meth:`Predictions.from_scores`."""
    matrix = _matrix(scores, "scores").astype(np.float64)
    subject = _subject_of_matrix(matrix, conditions, case_names, name)
    _check_scores(matrix, subject)
    if not findings:
        _refuse_zeros(np.asarray(~matrix.any(axis=1)), subject)
    order = np.argsort(-matrix, axis=1, kind="stable")
    return Predictions(
        name,
        "scores",
        subject.conditions,
        subject.case_names,
        np.arange(len(matrix) + 1, dtype=np.int64) * matrix.shape[1],
        order.ravel(),
        np.take_along_axis(matrix, order, axis=1).ravel(),
        complete=True,
    )


def predictions_from_sets(
    sets: Any, conditions: Conditions, *, case_names: Sequence[str] | None, name: str
) -> Predictions:
    """Build from a matrix of members or from lists of them; see :meth:`Predictions.from_sets`."""
    if not (isinstance(sets, np.ndarray) or _holds_booleans(sets)):
        return _sets_from_lists(sets, conditions, case_names, name)
    matrix = _matrix(sets, "sets")
    subject = _subject_of_matrix(matrix, conditions, case_names, name)
    wrong = np.argwhere((matrix != 0) & (matrix != 1))
    if len(wrong):
        row, column = (int(index) for index in wrong[0])
        raise DissensusError(
            "a matrix of sets must hold 0 and 1 only",
            got=str(matrix[row, column]),
            where=subject.place(row, column),
        )
    case, codes = np.nonzero(matrix)
    return assembled("set", Entries(case, codes, np.ones(len(codes))), subject)


def predictions_from_numbers(
    numbers: ArrayLike, deviations: ArrayLike | None, *, case_names: Sequence[str] | None, name: str
) -> Predictions:
    """Check one number per case, and maybe its standard deviation; see :meth:`Predictions.from_numbers`."""
    given = {NUMBER: numbers} if deviations is None else {NUMBER: numbers, DEVIATION: deviations}
    columns = [_vector(values, what) for what, values in given.items()]
    check_length(DEVIATION, len(columns[-1]), len(columns[0]))
    matrix = np.stack(columns, axis=1)
    subject = _subject_of_matrix(matrix, tuple(given), case_names, name)
    _check_numbers(matrix, subject)
    order = np.argsort(-matrix, kind="stable")
    offsets = np.arange(len(matrix) + 1, dtype=np.int64) * matrix.shape[1]
    values = np.take_along_axis(matrix, order, axis=1).ravel()
    return Predictions(
        name, "numbers", subject.conditions, subject.case_names, offsets, order.ravel(), values, complete=True
    )


def _vector(values: ArrayLike, what: str) -> FloatArray:
    try:
        vector = np.asarray(values)
    except ValueError as error:
        raise DissensusError(f"every {what} must be one number", got=str(error)) from error
    if vector.ndim != 1 or vector.dtype.kind not in "iufb":
        raise DissensusError(
            "numbers must be a list with one number per case",
            expected="shape (cases,)",
            got=f"shape {vector.shape} of {vector.dtype}",
            advice="scores of conditions go to Predictions.from_scores" if vector.ndim == 2 else "",
        )
    return vector.astype(np.float64)


def _check_numbers(matrix: FloatArray, subject: Subject) -> None:
    wrong = np.argwhere(~np.isfinite(matrix))
    if len(wrong):
        row, column = (int(index) for index in wrong[0])
        raise DissensusError(
            f"a {subject.conditions[column]} is not finite",
            expected="a number for every case",
            got=f"{matrix[row, column]}; {len(wrong)} such in all",
            where=subject.place(row),
            advice="leave out the cases that the model did not see",
        )
    negative = np.flatnonzero((matrix[:, 1:] < 0).any(axis=1))
    if len(negative):
        row = int(negative[0])
        raise DissensusError(
            "an sd is negative", expected="0 or more", got=f"{matrix[row, 1]:g}", where=subject.place(row)
        )


def _holds_booleans(sets: Sequence[Any]) -> bool:
    unfit = [row for row in sets if not isinstance(row, Collection)]
    if unfit:
        raise DissensusError("a set must be a list of conditions", got=f"{unfit[0]!r:.60}")
    first = next((row for row in sets if len(row)), ())
    return not isinstance(first, str) and any(isinstance(member, bool | np.bool_) for member in first)


def _matrix(values: ArrayLike, what: str) -> NDArray[Any]:
    if hasattr(values, "columns"):
        raise DissensusError(
            f"{what} must be a matrix without names",
            got="a data frame, whose columns could be in another order",
            advice="use Predictions.from_wide, which goes by the names of the columns",
        )
    try:
        matrix = np.asarray(values)
    except ValueError as error:
        raise DissensusError(f"the rows of the {what} differ in length", expected="a matrix") from error
    if matrix.ndim != 2:
        raise DissensusError(f"{what} must be a matrix", expected="shape (cases, K)", got=f"shape {matrix.shape}")
    if matrix.dtype.kind not in "iufb":
        raise DissensusError(f"{what} must be numbers", got=f"an array of {matrix.dtype}")
    return matrix


def _subject_of_matrix(
    matrix: NDArray[Any], conditions: Conditions, case_names: Sequence[str] | None, name: str
) -> Subject:
    n_cases, n_conditions = matrix.shape
    columns = condition_names([], n_conditions if conditions is None else conditions)
    rows = tuple(map(str, case_names)) if case_names is not None else numbered_names(None, n_cases)
    if (len(rows), len(columns)) != matrix.shape:
        turned = (len(columns), len(rows)) == matrix.shape
        raise DissensusError(
            "the matrix does not fit the names",
            expected=f"{len(rows)} rows (cases) and {len(columns)} columns (conditions)",
            got=f"{n_cases} rows and {n_conditions} columns",
            advice="transpose the matrix" if turned else "give one case per row and one condition per column",
        )
    return Subject(name, columns, rows)


def _check_scores(matrix: FloatArray, subject: Subject) -> None:
    wrong = np.argwhere(~np.isfinite(matrix))
    if len(wrong):
        row, column = (int(index) for index in wrong[0])
        raise DissensusError(
            "a score is not a finite number",
            expected="a number for every case and condition",
            got=f"{matrix[row, column]}; {len(wrong)} such in all",
            where=subject.place(row, column),
        )


def _refuse_zeros(empty: BoolArray, subject: Subject) -> None:
    if empty.any():
        cases = np.flatnonzero(empty)
        raise DissensusError(
            "all scores of a case are zero",
            expected="at least one score that is not zero for every case",
            got=f"{len(cases)} of {len(empty)} cases: {listing(subject.case_names[case] for case in cases)}",
            where=subject.place(int(cases[0])),
            advice="leave out the cases that the model did not see",
        )


# Nested lists -----------------------------------------------------------------------------------------


def predictions_from_rankings(
    rankings: Sequence[Sequence[Any]],
    conditions: Conditions,
    *,
    case_names: Sequence[str] | None,
    name: str,
) -> Predictions:
    """Check and flatten nested lists; see :meth:`Predictions.from_rankings`."""
    cases = [_items(blocks, "ranking") for blocks in rankings]
    blocks = [block for case in cases for block in case]
    members = [[block] if _is_condition(block) else _items(block, "block") for block in blocks]
    block_case = row_of_each(offsets_from_lengths(len(case) for case in cases))
    rank = np.concatenate([np.arange(len(case)) for case in cases]) if cases else np.empty(0)
    block_of = row_of_each(offsets_from_lengths(len(block) for block in members))
    mentions = [member for block in members for member in block]
    subject = Subject(name, condition_names(mentions, conditions), numbered_names(case_names, len(cases)))
    empty = [block for block, found in enumerate(members) if not found]
    if empty:
        where = subject.place(int(block_case[empty[0]]))
        raise DissensusError("a block is empty", expected="at least one condition in every block", where=where)
    codes = coded(mentions, block_case[block_of], subject)
    return assembled("ranking", Entries(block_case[block_of], codes, -rank[block_of]), subject)


def _sets_from_lists(
    sets: Sequence[Any], conditions: Conditions, case_names: Sequence[str] | None, name: str
) -> Predictions:
    cases = [_items(members, "set") for members in sets]
    case = row_of_each(offsets_from_lengths(len(members) for members in cases))
    mentions = [member for members in cases for member in members]
    subject = Subject(name, condition_names(mentions, conditions), numbered_names(case_names, len(cases)))
    return assembled("set", Entries(case, coded(mentions, case, subject), np.ones(len(mentions))), subject)


def _items(value: Any, what: str) -> list[Any]:
    if isinstance(value, str | bytes | dict) or not isinstance(value, Sequence | set | frozenset | np.ndarray):
        raise DissensusError(
            f"a {what} must be a list",
            expected="case > condition or block of tied conditions",
            got=f"{value!r:.60}",
        )
    return list(value)


def _is_condition(block: object) -> bool:
    return isinstance(block, str | Integral | np.bool_ | float) or block is None


def coded(mentions: Sequence[Any], case: IntArray, subject: Subject) -> IntArray:
    """Translate names or codes of conditions into codes, or say on which case one is unknown."""
    known: dict[object, int] = {name: code for code, name in enumerate(subject.conditions)}
    codes = np.array([_code(mention, known) for mention in mentions], dtype=np.int64)
    wrong = np.flatnonzero((codes < 0) | (codes >= len(known)))
    if len(wrong):
        mention, where = mentions[wrong[0]], subject.place(int(case[wrong[0]]))
        if isinstance(mention, str):
            raise unknown_condition(mention, subject.conditions, where)
        raise DissensusError(
            "a condition must be a name or a code",
            expected=f"a name in quotes, or a code from 0 to {len(known) - 1}",
            got=repr(mention),
            where=where,
        )
    return codes


def _code(mention: object, known: dict[object, int]) -> int:
    if isinstance(mention, str):
        return known.get(mention, -1)
    is_code = isinstance(mention, Integral) and not isinstance(mention, bool) and 0 <= int(mention) < len(known)
    return int(cast("Any", mention)) if is_code else -1


# Entries ----------------------------------------------------------------------------------------------


def assembled(kind: PredictionKind, entries: Entries, subject: Subject) -> Predictions:
    """Put entries in order and refuse what no list can say; ranks become counts of blocks."""
    check_listed_once(entries, subject)
    entries = entries.sorted()
    offsets = offsets_from_lengths(np.bincount(entries.case, minlength=len(subject.case_names)))
    values = blocks_to_the_end(entries) if kind == "ranking" else entries.values
    return Predictions(subject.name, kind, subject.conditions, subject.case_names, offsets, entries.codes, values)


def assembled_scores(entries: Entries, subject: Subject, *, findings: bool = False) -> Predictions:
    """Put the scores of listed conditions in order; what is not listed has 0, which all findings of a case may have."""
    check_listed_once(entries, subject)
    negative = np.flatnonzero(entries.values < 0)
    if len(negative):
        return _complete(entries, subject, int(negative[0]), findings=findings)
    listed = entries.where(entries.values != 0)
    empty = np.bincount(listed.case, minlength=len(subject.case_names)) == 0
    if not findings:
        _refuse_zeros(empty, subject)
    return assembled("scores", listed, subject)


def _complete(entries: Entries, subject: Subject, negative: int, *, findings: bool) -> Predictions:
    n_cases, n_conditions = len(subject.case_names), len(subject.conditions)
    if len(entries.codes) < n_cases * n_conditions:
        raise DissensusError(
            "a score is negative although some conditions have none",
            expected=f"scores of zero or more, or a score for all {n_conditions} conditions on every case",
            got=str(entries.values[negative]),
            where=subject.place(int(entries.case[negative]), int(entries.codes[negative])),
            advice="what has no score counts as 0: give probabilities, or the logits of all conditions",
        )
    matrix = np.zeros((n_cases, n_conditions))
    matrix[entries.case, entries.codes] = entries.values
    return predictions_from_scores(
        matrix, subject.conditions, case_names=subject.case_names, name=subject.name, findings=findings
    )


def check_listed_once(entries: Entries, subject: Subject) -> None:
    """Refuse a case that lists one condition twice."""
    keys = np.sort(entries.case * len(subject.conditions) + entries.codes)
    twice = keys[1:][~begins_run(keys)[1:]]
    if len(twice):
        case, code = divmod(int(twice[0]), len(subject.conditions))
        raise DissensusError(
            f"condition {subject.conditions[code]!r} is listed twice on one case",
            expected="every condition at most once per case",
            got=f"{len(twice)} repeated",
            where=f"case {subject.case_names[case]!r}",
        )


def blocks_to_the_end(entries: Entries) -> FloatArray:
    """Count, for each entry of sorted rankings, the blocks from its own to the last of its case.

    >>> entries = Entries(np.array([0, 0, 0, 1]), np.array([2, 0, 1, 0]), np.array([-1.0, -5.0, -5.0, -1.0]))
    >>> blocks_to_the_end(entries)
    array([2., 1., 1., 1.])
    """
    begins = begins_run(entries.case, entries.values)
    block = np.cumsum(begins)
    last = np.zeros(entries.case[-1] + 1 if len(entries.case) else 0, dtype=np.int64)
    last[entries.case] = block
    return (last[entries.case] - block + 1).astype(np.float64)


def check_one_row_each(case_names: Sequence[str]) -> None:
    """Refuse a file with one row per case that names a case twice."""
    first: dict[str, int] = {}
    for row, name in enumerate(case_names, start=1):
        if first.setdefault(name, row) != row:
            raise DissensusError(
                f"case {name!r} stands in several rows",
                expected="one row per case",
                got=f"rows {first[name]} and {row}; {len(case_names) - len(set(case_names))} repeated in all",
            )
