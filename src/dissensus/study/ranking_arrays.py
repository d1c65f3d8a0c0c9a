"""Rankings as arrays of cases by annotators by conditions, as the released code of [stutz] keeps them.

Either two arrays, an order of all conditions and the group of each place, or one array of confidences. They have a row
for as many annotators as the case with the most of them has; a row that ranks nothing is an annotator who is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dissensus.core.aliases import BoolArray, FloatArray, IntArray, Question, Unranked
from dissensus.core.checks import check_length, checked, is_list
from dissensus.core.errors import DissensusError, listing
from dissensus.core.ragged import begins_run, offsets_from_lengths, row_of_each
from dissensus.study.builders import assemble, condition_names, numbered_names
from dissensus.study.panel import ANONYMOUS, Panel
from dissensus.study.question import asked_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dissensus.study.study import Study

    Rows3: TypeAlias = ArrayLike | Sequence[Sequence[ArrayLike]]
    """Rows by case and annotator: an array with three axes, or lists of any number of rows per case."""

# The group of conditions that an annotator does not rank.
UNRANKED = -1

KINDS = {"iu": "whole numbers", "iuf": "numbers"}


class Rows(NamedTuple):
    """Hold the rows of all annotators, one below the other.

    Attributes
    ----------
    cells : (n_rows, K)
        A number per place or condition.
    offsets : (n_cases + 1,)
        Where the rows of each case begin.
    """

    cells: NDArray[Any]
    offsets: IntArray

    def place(self, row: int, case_names: Sequence[str]) -> str:
        """Say whose row it is."""
        case = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return f"case {case_names[case]!r}, annotator {row - self.offsets[case] + 1}"


@checked
def from_ranking_arrays(
    rankings: Rows3,
    groups: Rows3,
    *,
    conditions: Sequence[str] | int | None = None,
    case_names: Sequence[str] | None = None,
    unranked: Unranked = "below",
    question: Question | None = None,
    positive: str | None = None,
) -> Study:
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
        As in :meth:`Study.from_rankings`; by default conditions and cases are numbered from 0.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_ranking_arrays(
    ...     [[[0, 3, 2, 1], [1, 0, 2, 3]]], [[[0, 0, 1, -1], [-1, -1, -1, -1]]], conditions=["a", "b", "c", "d"])
    >>> said.to_rankings()
    [[[['a', 'd'], ['c']]]]
    """
    ordered, grouped = stacked("rankings", rankings, "iu"), stacked("groups", groups, "iu")
    if ordered.cells.shape != grouped.cells.shape or not np.array_equal(ordered.offsets, grouped.offsets):
        raise DissensusError(
            "rankings and groups have different shapes",
            expected="one group for every place of every ranking",
            got=" and ".join(
                f"{len(rows.offsets) - 1} cases, {len(rows.cells)} rows, {rows.cells.shape[1]} conditions"
                for rows in (ordered, grouped)
            ),
        )
    names, cases = _names(ordered, conditions, case_names)
    codes, levels = ordered.cells.astype(np.int64), grouped.cells.astype(np.int64)
    is_there = (levels != UNRANKED).any(axis=1)
    before, after = levels[:, :-1], levels[:, 1:]
    goes_on = (before >= 0) & ((after == before) | (after == before + 1))
    are_groups = (levels[:, 0] == 0) & (goes_on | (after == UNRANKED)).all(axis=1)
    expected = "0 for the first place, then the same or one more, and -1 at the end for what is not ranked"
    _refuse_row(is_there & ~are_groups, grouped, cases, "the groups of a ranking are no groups", expected)
    # of annotators who are not there nothing is read
    is_order = (np.sort(codes, axis=1) == np.arange(len(names))).all(axis=1)
    expected = f"every code from 0 to {len(names) - 1} once, ranked or not"
    _refuse_row(is_there & ~is_order, ordered, cases, "a ranking is no order of all conditions", expected)
    row, place = np.nonzero(levels >= 0)
    said = _annotations(names, cases, ordered.offsets, row, levels[row, place], codes[row, place], unranked)
    return asked_of(said, question, positive, are_ordered=True)


@checked
def from_confidences(
    confidences: Rows3,
    conditions: Sequence[str] | int | None = None,
    *,
    case_names: Sequence[str] | None = None,
    unranked: Unranked = "below",
    question: Question | None = None,
    positive: str | None = None,
) -> Study:
    """Build from a confidence per case, annotator and condition, which the released code of [stutz] calls opinions.

    Parameters
    ----------
    confidences : (n_cases, n_annotators, K)
        The larger comes first, equal ones are tied, and 0 is not ranked. A row of nothing but 0 is an annotator
        who is not there, and is left out. Cases may have different numbers of annotators: lists of rows.
    conditions, case_names, unranked, question, positive
        As in :meth:`Study.from_rankings`; by default conditions and cases are numbered from 0.

    Examples
    --------
    >>> from dissensus import Study
    >>> Study.from_confidences([[[5, 0, 3, 5]], [[0, 0, 0, 0], [2, 2, 3, 0]]]).to_rankings()
    [[[['0', '3'], ['2']]], [[['2'], ['0', '1']]]]
    """
    given = stacked("confidences", confidences, "iuf")
    names, cases = _names(given, conditions, case_names)
    wrong = np.argwhere(~((given.cells >= 0) & (given.cells < np.inf)))
    if len(wrong):
        row, code = wrong[0]
        raise DissensusError(
            "confidences must be finite and not negative",
            expected="0 for a condition that is not ranked, more for one that is",
            got=str(given.cells[row, code]),
            where=f"{given.place(row, cases)}, condition {names[code]!r}",
        )
    row, code = np.nonzero(given.cells)
    levels = given.cells[row, code]
    best_first = np.lexsort((code, -levels.astype(np.float64), row))
    row, levels, code = row[best_first], levels[best_first], code[best_first].astype(np.int64)
    said = _annotations(names, cases, given.offsets, row, levels, code, unranked)
    return asked_of(said, question, positive, are_ordered=True)


def stacked(what: str, values: Rows3, kind: str) -> Rows:
    """Put the rows of all cases one below the other, or say why they are none."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError):
        return _ragged(what, values, kind)
    if array.ndim != 3 or array.shape[2] == 0:
        raise _wrong_shape(what, f"shape {array.shape}")
    _check_kind(what, array, kind)
    n_cases, n_annotators, n_conditions = array.shape
    offsets = np.arange(n_cases + 1, dtype=np.int64) * n_annotators
    return Rows(array.reshape(n_cases * n_annotators, n_conditions), offsets)


def _ragged(what: str, values: Any, kind: str) -> Rows:
    """Do the same for cases with different numbers of rows."""
    parts: list[NDArray[Any]] = []
    for number, case in enumerate(values if is_list(values) else ()):
        try:
            part = np.asarray(case)
        except (ValueError, TypeError, OverflowError):
            raise _wrong_shape(what, "rows of different lengths", where=f"case {number + 1}") from None
        width = part.shape[1] if part.ndim == 2 else 0
        if part.size and (part.ndim != 2 or width != next((known.shape[1] for known in parts if len(known)), width)):
            raise _wrong_shape(what, f"shape {part.shape}", where=f"case {number + 1}")
        parts.append(part if part.size else np.empty((0, 0), dtype=np.int64))
        _check_kind(what, parts[-1], kind)
    some = [part for part in parts if len(part)]
    if not some:
        raise _wrong_shape(what, f"{values!r:.60}")
    return Rows(np.concatenate(some), offsets_from_lengths(len(part) for part in parts))


def _check_kind(what: str, array: NDArray[Any], kind: str) -> None:
    if array.dtype.kind not in kind:
        raise DissensusError(f"{what} must be {KINDS[kind]}", got=f"an array of {array.dtype}")


def _wrong_shape(what: str, got: str, where: str = "") -> DissensusError:
    return DissensusError(
        f"{what} have the wrong shape",
        expected="(cases, annotators, K), or a list per case of rows of K numbers",
        got=got,
        where=where,
    )


def _names(
    rows: Rows, conditions: Sequence[str] | int | None, case_names: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    n_conditions = rows.cells.shape[1]
    names = condition_names([], n_conditions if conditions is None else conditions)
    check_length("condition", len(names), n_conditions)
    return names, numbered_names(case_names, len(rows.offsets) - 1)


def _refuse_row(wrong: BoolArray, rows: Rows, cases: Sequence[str], problem: str, expected: str) -> None:
    """Raise an error about the first of the wrong rows, if there is any."""
    if wrong.any():
        row = int(wrong.argmax())
        shown = listing(rows.cells[row].tolist(), most=12)
        raise DissensusError(problem, expected=expected, got=shown, where=rows.place(row, cases))


def _annotations(
    conditions: tuple[str, ...],
    case_names: tuple[str, ...],
    offsets: IntArray,
    row: IntArray,
    levels: IntArray | FloatArray,
    codes: IntArray,
    unranked: Unranked,
) -> Study:
    """Build rankings from mentions: their row, ascending, what they are tied by, best first, and their conditions."""
    rows, ranking = np.unique(row, return_inverse=True)
    begins = begins_run(ranking, levels)
    n_rankings = np.bincount(row_of_each(offsets)[rows], minlength=len(case_names))
    panel = Panel(
        case_names=case_names,
        opinion_offsets=offsets_from_lengths(n_rankings),
        annotators=np.full(len(rows), ANONYMOUS, dtype=np.int64),
    )
    block_offsets = offsets_from_lengths(np.bincount(ranking[begins], minlength=len(rows)))
    code_offsets = np.append(np.flatnonzero(begins), len(codes))
    return assemble(conditions, panel, block_offsets, code_offsets, codes, unranked)


def ranking_arrays(said: Study) -> tuple[IntArray, IntArray]:
    """Write every ranking as an order of all conditions with groups; see :meth:`Study.to_ranking_arrays`."""
    n_conditions, block = said.n_conditions, row_of_each(said.code_offsets)
    ranking = row_of_each(said.block_offsets)[block]
    levels = np.full((said.n_rankings, n_conditions), n_conditions, dtype=np.int64)
    levels[ranking, said.codes] = block - said.block_offsets[ranking]
    orders = np.argsort(levels, axis=1, kind="stable")
    levels = np.take_along_axis(levels, orders, axis=1)
    levels[levels == n_conditions] = UNRANKED
    row = np.repeat(np.arange(said.n_rankings), said.votes)
    case = said.panel.case_of_opinion[row]
    place = np.arange(len(row)) - offsets_from_lengths(said.votes_per_case)[case]
    shape = (said.n_cases, int(said.votes_per_case.max(initial=0)), n_conditions)
    rankings, groups = np.tile(np.arange(n_conditions), (*shape[:2], 1)), np.full(shape, UNRANKED, dtype=np.int64)
    rankings[case, place], groups[case, place] = orders[row], levels[row]
    return rankings, groups
