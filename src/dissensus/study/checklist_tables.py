"""From a long table, one row per finding, to checklists; no Python loop over rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dissensus.core.aliases import Duplicates, IntArray
from dissensus.core.errors import DissensusError
from dissensus.core.notes import Note
from dissensus.core.ragged import begins_run
from dissensus.study.checklists import ABSENT, NOT_ASSESSED, PRESENT, AnswerArray, Checklists, unknown_finding
from dissensus.study.tables import (
    ALIASES,
    INTEGER,
    encoded,
    find_columns,
    gathered,
    integers_need_names,
    label_codes,
    name_codes,
    numbered,
    place,
    polars_frame,
    tidied,
    with_roles,
    without_declarations,
    without_zero_votes,
)

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

FINDING_NAMES = ("finding", "findings", "finding_name", *ALIASES["condition"])
PRESENT_NAMES = ("present", "is_present", "presence", "answer", "value")
ROLES = ("case", "annotator", "annotation", "weight", "votes", "group", "case_weight")
CHECKLIST_ALIASES: dict[str, tuple[str, ...]] = {
    **{role: ALIASES[role] for role in ROLES},
    "condition": FINDING_NAMES,
    "present": PRESENT_NAMES,
}
"""The roles of the columns of checklists, and the names by which they are recognised."""

SAYS = {
    **dict.fromkeys(("1", "1.0", "yes", "y", "true", "t", "present", "positive"), PRESENT),
    **dict.fromkeys(("0", "0.0", "no", "n", "false", "f", "absent", "negative"), ABSENT),
    **dict.fromkeys(("", "nan", "not assessed"), NOT_ASSESSED),
}
"""What the words of a cell say about a finding."""

SAID_NOTHING = "checklists that say {!r}"
EXPECTED_ANSWER = "1, yes, true or present; 0, no, false or absent; an empty cell if it was not assessed"
DECIDE = "write 1 or 0, or leave the cell empty where the finding was not assessed"


def checklists_from_long(
    frame: IntoDataFrame, findings: Sequence[str] | None, *, columns: Mapping[str, str | None], nothing: str | None
) -> Checklists:
    """Build from any data frame; see :meth:`Checklists.from_long`."""
    table = polars_frame(frame)
    named = with_roles(table, find_columns(table.columns, columns, aliases=CHECKLIST_ALIASES))
    named, notes = without_nothing(named, nothing)
    refuse_unsaid(nothing, notes)
    return checklists_from_roles(named, findings)[0]


def without_nothing(table: pl.DataFrame, nothing: str | None) -> tuple[pl.DataFrame, tuple[Note, ...]]:
    """Leave the finding empty where it goes by the name that says that nothing was found; a note counts how often.

    >>> without_nothing(pl.DataFrame({"case": ["x"], "condition": ["none"]}), "none")[0]["condition"].to_list()
    [None]
    """
    if nothing is None:
        return table, ()
    is_nothing = (table["condition"].cast(pl.String).str.strip_chars() == nothing).fill_null(False)
    says = np.ones(len(table), np.bool_)
    if "present" in table.columns:
        says = answers_of_cells(table, "present") == PRESENT
    denied = is_nothing & ~pl.Series(says)
    kept = numbered(table).with_columns(pl.when(~is_nothing).then(pl.col("condition")).alias("condition"))
    note = Note(SAID_NOTHING.format(nothing), int((is_nothing & ~denied).sum()), "kept as nothing found")
    return kept.filter(~denied), (note,)


def refuse_unsaid(nothing: str | None, notes: Iterable[Note]) -> None:
    """Refuse a name for nothing found that stands nowhere."""
    if nothing is not None and any(note.found == SAID_NOTHING.format(nothing) and not note.count for note in notes):
        raise DissensusError(
            f"no checklist says {nothing!r}",
            expected="the name that says that nothing was found, as it stands among the findings",
            advice="leave it out if every checklist has a finding, or correct the name",
        )


def answers_of_cells(table: pl.DataFrame, role: str) -> IntArray:
    """Translate the cells of a column into answers, or refuse a word that is not understood.

    >>> answers_of_cells(pl.DataFrame({"case": ["x"] * 3, "present": ["Yes", "0", None]}), "present")
    array([ 1,  0, -1])
    """
    column = table[role]
    if column.dtype.is_nested():
        raise DissensusError("a cell holds several values", expected=EXPECTED_ANSWER, got=str(column.dtype))
    words = column.cast(pl.String).fill_null("").str.strip_chars().str.to_lowercase()
    answers = words.replace_strict(SAYS, default=None, return_dtype=pl.Int64)
    if answers.null_count():
        row = answers.is_null().arg_max() or 0
        finding = table["condition"][row] if "condition" in table.columns else role
        rest = f"if {finding!r} is no finding, leave it out (--ignore) or list the findings (--conditions)"
        raise DissensusError(
            f"the answer for {finding!r} is not understood",
            expected=EXPECTED_ANSWER,
            got=repr(table[role][row]),
            where=place(table, row),
            advice=f"{DECIDE}; {rest}",
        )
    return answers.to_numpy()


def checklists_from_roles(
    table: pl.DataFrame,
    findings: Sequence[str] | None = None,
    *,
    separator: str | None = None,
    duplicates: Duplicates = "refuse",
) -> tuple[Checklists, tuple[Note, ...]]:
    """Build from a table whose columns are named by their roles.

    A checklist with any row has assessed every finding; a row without a finding says that nothing was found, and rows
    whose ``present`` is empty say that their finding was not assessed. Rows with a case alone are cases that nobody
    assessed, unless there is no column of annotators: then the rows of a case are the checklist of one.
    """
    table, declared = without_declarations(tidied(table, separator))
    table, notes = without_zero_votes(table)
    names, codes = _findings(table, findings if findings is not None else declared.get("condition"))
    annotators = partial(name_codes, table, "annotator", declared.get("annotator"))
    panel, opinion = gathered(table, annotators, by_case=True)
    answers, repeated = _answers(table, opinion, codes, (panel.n_opinions, len(names)), duplicates)
    return Checklists(names, panel, answers), (*notes, *repeated)


def _findings(table: pl.DataFrame, given: Sequence[str] | None) -> tuple[tuple[str, ...], IntArray]:
    """Return the findings, those given or as they appear, and the code of each row, -1 where there is none."""
    codes, labels = encoded(table["condition"])
    if given is None:
        if labels and pl.Series(labels).str.contains(INTEGER).all():
            raise integers_need_names(labels)
        return tuple(labels), codes
    known = tuple(map(str, given))
    unknown = [label for label in labels if label not in known]
    if unknown and len(unknown) < len(labels):
        row = (table["condition"] == unknown[0]).arg_max() or 0
        raise unknown_finding(unknown[0], known, place(table, row))
    return known, label_codes(table, known)[0]


def _answers(
    table: pl.DataFrame, opinion: IntArray, codes: IntArray, shape: tuple[int, int], duplicates: Duplicates
) -> tuple[AnswerArray, tuple[Note, ...]]:
    says = answers_of_cells(table, "present") if "present" in table.columns else np.full(len(table), PRESENT)
    named = (codes >= 0) & (opinion >= 0)
    kept, notes = _without_repeats(table, opinion * shape[1] + codes, named, duplicates)
    answers = np.full(shape, ABSENT, dtype=np.int8)
    answers[opinion[kept], codes[kept]] = says[kept]
    found = (answers == PRESENT).any(axis=1)
    wrong = np.flatnonzero(~named & (opinion >= 0) & np.append(found, False)[opinion])
    if len(wrong):
        raise DissensusError(
            "a checklist says that nothing was found, and names a finding",
            expected="either",
            where=place(table, int(wrong[0])),
            advice="correct the rows, or tell two checklists of one annotator apart (annotation column)",
        )
    return answers, notes


def _without_repeats(
    table: pl.DataFrame, key: IntArray, named: np.ndarray, duplicates: Duplicates
) -> tuple[IntArray, tuple[Note, ...]]:
    """Return the rows that count, one per checklist and finding."""
    rows = np.flatnonzero(named)
    order = np.argsort(key[rows], kind="stable")
    again = rows[order[~begins_run(key[rows][order])]]
    if not len(again):
        return rows, ()
    first = int(again.min())
    if duplicates != "first":
        raise DissensusError(
            f"finding {table['condition'][first]!r} is answered twice on one checklist",
            expected="every finding at most once for a case and an annotator",
            got=f"{len(again):,} repeated answer{'s' * (len(again) > 1)}",
            where=place(table, first),
            advice="tell repeated checklists apart (annotation column), or keep the first answers: duplicates='first' "
            "(--duplicates first)",
        )
    note = Note("repeated answers", len(again), "left out, the first counts", (place(table, first),), lost=True)
    return np.setdiff1d(rows, again), (note,)
