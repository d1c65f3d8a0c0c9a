"""Checklists: a long table, a wide one of 0 and 1, a file per annotator, or Label Studio's choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from dissensus.core.errors import DissensusError, listing
from dissensus.core.files import Source, open_source
from dissensus.core.notes import Note
from dissensus.core.receipt import Column, columns_of
from dissensus.study.checklist_tables import CHECKLIST_ALIASES, FINDING_NAMES, answers_of_cells, without_nothing
from dissensus.study.checklists import NOT_ASSESSED, PRESENT
from dissensus.study.reading.annotator_files import (
    BY_NAME,
    error_in_file,
    merged_notes,
    refuse_shared_names,
    sorted_out,
)
from dissensus.study.reading.columns import as_table, has_answers
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.guesses import refuse_rivals
from dissensus.study.reading.label_studio import LabelStudio, checklists_of_tasks
from dissensus.study.tables import ROW, find_columns, missing_column, numbered, with_roles

NAMED_ARE_PRESENT = "every finding that a checklist names is present, and every other finding is absent"
OTHERS_ARE_ABSENT = "findings that a checklist does not name are absent; an empty answer is not assessed"
EMPTY_IS_NOT_ASSESSED = "an empty cell is a finding that was not assessed"


class Checklist(Format):
    """Which findings are present, absent or not assessed, in several forms."""

    id = "checklist"
    title = "findings present, absent or not assessed: long, wide 0/1, one file per annotator, Label Studio choices"
    study = "checklists"

    def recognises(self, source: Source) -> bool:
        """Tell a table with a case, a column of findings and one of what is present; other forms must be named."""
        return has_answers(source)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Write every form as a long table: a row per finding, without one where nothing was found."""
        options = replace(options, columns=_roles_as_said(options.columns))
        if source.kind == "directory":
            parsed = _directory(source, options)
        elif LabelStudio().recognises(source):
            parsed = checklists_of_tasks(source, options)
        else:
            parsed = _together([_with_numbers(_table(source, options))], options)
        frame, notes = without_nothing(parsed.frame, options.nothing)
        return replace(
            parsed,
            frame=frame,
            notes=(*parsed.notes, *notes),
            tie_separator=options.tie_separator,
            assumed=(*parsed.assumed, *_assumed_findings(frame, options)),
        )


@dataclass(frozen=True)
class _Table:
    """One table in columns named by their roles: long, or wide with a column per finding still."""

    frame: pl.DataFrame
    columns: tuple[Column, ...]
    findings: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


def _roles_as_said(columns: Mapping[str, str | None]) -> dict[str, str | None]:
    """Let users call the role of findings by either name."""
    return {"condition" if role == "finding" else role: name for role, name in columns.items()}


def _assumed_findings(frame: pl.DataFrame, options: Options) -> tuple[str, ...]:
    declares = "annotation" in frame.columns and frame["case"].null_count() > 0
    if options.conditions is not None or declares:
        return ()
    names = frame["condition"].cast(pl.String).drop_nulls().unique(maintain_order=True)
    return (f"the list of findings is what the file names, in order of appearance: {listing(names, most=12)}",)


# One table ----------------------------------------------------------------------------------------------


def _table(source: Source, options: Options) -> _Table:
    table = as_table(source)
    found = find_columns(table.columns, options.columns, aliases=CHECKLIST_ALIASES, required=("case",))
    refuse_rivals(table, found, options.columns, CHECKLIST_ALIASES)
    return _long(table, found, options) if "condition" in found else _wide(table, found, options)


def _long(table: pl.DataFrame, found: Mapping[str, str], options: Options) -> _Table:
    assumed = [OTHERS_ARE_ABSENT if "present" in found else NAMED_ARE_PRESENT]
    if "annotator" not in found and "annotation" not in found:
        assumed.append("there is no annotator column: the rows of a case are one checklist")
    return _Table(with_roles(table, found), _columns(table.columns, found, options), (), tuple(assumed))


def _columns(names: Sequence[str], found: Mapping[str, str], options: Options) -> tuple[Column, ...]:
    roles = {"finding" if role == "condition" else role: name for role, name in found.items()}
    given = {"finding" if role == "condition" else role: name for role, name in options.columns.items()}
    return columns_of(names, roles, given)


def _wide(table: pl.DataFrame, found: Mapping[str, str], options: Options) -> _Table:
    """Keep the columns with a role and those of findings: all listed ones, or all others."""
    roles = {role: name for role, name in found.items() if role != "present"}
    others = [name for name in table.columns if name not in roles.values()]
    listed = None if options.conditions is None else (*options.conditions, options.nothing)
    findings = [name for name in others if listed is None or name in listed]
    if not findings or options.columns.get("present") is not None:
        raise missing_column("finding", FINDING_NAMES, table.columns)
    why = "as every other column" if listed is None else "as listed"
    of_findings = {name: Column(name, "finding", why) for name in findings}
    columns = tuple(of_findings.get(one.name, one) for one in _columns(table.columns, roles, options))
    nobody = () if "annotator" in roles else ("there is no annotator column: every row is a checklist of its own",)
    frame = numbered(table.select(*(pl.col(name).alias(role) for role, name in roles.items()), *findings))
    return _Table(frame, columns, tuple(findings), (EMPTY_IS_NOT_ASSESSED, *nobody))


def _with_numbers(one: _Table) -> _Table:
    """Tell the rows of a wide table apart where nothing else does."""
    if not one.findings or not {"annotator", "annotation"}.isdisjoint(one.frame.columns):
        return one
    return replace(one, frame=one.frame.with_columns(annotation=pl.col(ROW)))


# All tables of a study ----------------------------------------------------------------------------------


def _together(tables: Sequence[_Table], options: Options) -> Parsed:
    """Put the tables of a study into one long table; what one of them has no column for was not assessed there."""
    listed = options.conditions or tuple(dict.fromkeys(name for one in tables for name in one.findings))
    frames, notes = [], []
    for one in tables:
        missing = [name for name in listed if one.findings and name not in one.findings]
        frames.append(_molten(one, missing, options) if one.findings else one.frame)
        if missing:
            notes.append(Note("findings without a column", len(missing), "kept as not assessed", tuple(missing[:3])))
    if any("present" in frame.columns for frame in frames):
        frames = [frame if "present" in frame.columns else frame.with_columns(present=pl.lit("1")) for frame in frames]
    columns = tuple(dict.fromkeys(column for one in tables for column in one.columns))
    assumed = tuple(dict.fromkeys(sentence for one in tables for sentence in one.assumed))
    whole = frames[0] if len(frames) == 1 else pl.concat(map(_as_text, frames), how="diagonal")
    return Parsed(whole, merged_notes(notes), columns=columns, assumed=assumed)


def _as_text(frame: pl.DataFrame) -> pl.DataFrame:
    frame = numbered(frame)
    return frame.with_columns(pl.exclude(ROW).cast(pl.String), pl.col(ROW).cast(pl.Int64))


def _molten(one: _Table, missing: Sequence[str], options: Options) -> pl.DataFrame:
    """Give every finding of a wide table a row of its own, in the order of the rows."""
    empty = (pl.lit(None, pl.String).alias(name) for name in missing)
    wide = one.frame.with_columns(pl.col(one.findings).cast(pl.String), *empty)
    findings = [*one.findings, *missing]
    roles = [name for name in wide.columns if name not in findings]
    long = wide.unpivot(findings, index=roles, variable_name="condition", value_name="present")
    long = long.sort(ROW, maintain_order=True)
    return long if options.nothing not in one.findings else _without_empty_cells(long, options.nothing)


def _without_empty_cells(long: pl.DataFrame, nothing: str) -> pl.DataFrame:
    """Leave out the empty cells of rows that say that nothing was found: there, they are absent."""
    answers = pl.Series(answers_of_cells(long, "present"))
    rows = long[ROW].filter((long["condition"] == nothing) & (answers == PRESENT))
    return long.filter(~((answers == NOT_ASSESSED) & long[ROW].is_in(rows.to_list())))


# A file per annotator -----------------------------------------------------------------------------------


def _directory(source: Source, options: Options) -> Parsed:
    paths, notes = sorted_out(source)
    refuse_shared_names(paths)
    parsed = _together([_file(path, options) for path in paths], options)
    return replace(parsed, notes=(*notes, *parsed.notes), assumed=(BY_NAME, *parsed.assumed))


def _file(path: Path, options: Options) -> _Table:
    """Read the table of one annotator; whatever is wrong with it, the error names it."""
    try:
        one = _table(open_source(path, options.limits), options)
        if "annotator" in one.frame.columns:
            raise DissensusError(
                "a file of one annotator has an annotator column",
                expected="the column case, and one per finding",
                advice="read the file on its own if it holds several annotators, or leave the column out",
            )
        _check_answers(one, options)
    except DissensusError as error:
        raise error_in_file(error, path) from None
    frame = one.frame.with_columns(annotator=pl.lit(path.stem))
    nobody = [sentence for sentence in one.assumed if "no annotator column" not in sentence]
    return replace(one, frame=frame, assumed=tuple(nobody))


def _check_answers(one: _Table, options: Options) -> None:
    frame = _molten(one, (), options) if one.findings else one.frame
    if "present" in frame.columns:
        answers_of_cells(frame, "present")
