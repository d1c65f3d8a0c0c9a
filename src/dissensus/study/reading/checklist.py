"""Checklists: a long table, a wide one of 0 and 1, a file per annotator, or Label Studio's choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from dissensus.core.errors import listing
from dissensus.core.files import Source
from dissensus.core.receipt import Column, Note, columns_of
from dissensus.study import tables
from dissensus.study.question import NOT_ASSESSED, PRESENT
from dissensus.study.reading.annotator_files import parsed_files, put_together, refuse_annotator_column
from dissensus.study.reading.columns import molten, refuse_rivals, with_cases
from dissensus.study.reading.format import BOX, TABLES, Format, Options, Parsed, as_table, holds_checklists
from dissensus.study.reading.tool_exports import LabelStudio, parsed_tasks

ALIASES, FINDINGS = tables.CHECKLIST_ALIASES, tables.FINDING_NAMES
NAMED_ARE_PRESENT = "every finding that a checklist names is present, and every other finding is absent"
OTHERS_ARE_ABSENT = "findings that a checklist does not name are absent; an empty answer is not assessed"
NOBODY = "there is no annotator column"
EMPTY_IS_NOT_ASSESSED = "an empty cell is a finding that was not assessed"


class Checklist(Format):
    """Which findings are present, absent or not assessed, in several forms."""

    id = "checklist"
    title = "findings present, absent or not assessed: long, wide 0/1, one file per annotator, Label Studio choices"
    study = "checklists"
    kinds = TABLES

    def recognises(self, source: Source) -> bool:
        """Tell a table with a case, a column of findings and one of what is present; other forms must be named."""
        return holds_checklists(source)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Write every form as a long table: a row per finding, without one where nothing was found."""
        columns = {"condition" if role == "finding" else role: name for role, name in options.columns.items()}
        options = replace(options, columns=columns)  # users may call the role of findings by either name
        if source.kind == "directory":
            files, notes = parsed_files(source, _file, options)
            parsed = _together([*files.values()], notes, options)
        elif LabelStudio().recognises(source):
            parsed = parsed_tasks(source, options, "finding")
        else:
            table = _table(source, options)
            if table.conditions and {"annotator", "annotation"}.isdisjoint(table.frame.columns):
                rows = table.frame.with_columns(
                    annotation=pl.col(tables.ROW)
                )  # tells them apart where nothing else does
                table = replace(table, frame=rows)
            parsed = replace(_together([table], (), options), assumed=table.assumed)
        frame, notes = tables.without_nothing(parsed.frame, options.nothing)
        assumed = list(parsed.assumed)
        if options.conditions is None and ("annotation" not in frame.columns or not frame["case"].null_count()):
            names = listing(frame["condition"].cast(pl.String).drop_nulls().unique(maintain_order=True), most=12)
            assumed.append(f"the list of findings is what the file names, in order of appearance: {names}")
        parsed = replace(parsed, notes=(*parsed.notes, *notes), assumed=tuple(assumed))
        return replace(parsed, frame=frame, tie_separator=options.tie_separator)


# One table: columns named by their roles, long, or wide with a column per finding still (its conditions) --------------


def _table(source: Source, options: Options) -> Parsed:
    table = as_table(source)
    needed = not {*FINDINGS}.isdisjoint(map(tables.normalised, table.columns)) or options.columns.get("condition")
    if needed:  # a long table, of which the first column need not be the case
        tables.find_columns(table.columns, options.columns, aliases=ALIASES, required=("case",))
    found, why, told = with_cases(table, options, ALIASES)
    refuse_rivals(table, found, options.columns, ALIASES)
    if "condition" not in found:
        wide = _wide(table, found, options)
        renamed = tuple(replace(one, reason=why.get(one.name, one.reason)) for one in wide.columns)
        return replace(wide, columns=renamed, assumed=(*told, *wide.assumed))
    assumed = [OTHERS_ARE_ABSENT if "present" in found else NAMED_ARE_PRESENT]
    if "annotator" not in found and "annotation" not in found:
        assumed.append(f"{NOBODY}: the rows of a case are one checklist")
    columns = _columns(table.columns, found, options)
    return Parsed(tables.with_roles(table, found), columns=columns, assumed=tuple(assumed))


def _columns(names: Sequence[str], found: Mapping[str, str], options: Options) -> tuple[Column, ...]:
    roles = {"finding" if role == "condition" else role: name for role, name in found.items()}
    given = {"finding" if role == "condition" else role: name for role, name in options.columns.items()}
    return columns_of(names, roles, given)


def _wide(table: pl.DataFrame, found: Mapping[str, str], options: Options) -> Parsed:
    """Keep the columns with a role and those of findings: all listed ones, or all others."""
    roles = {role: name for role, name in found.items() if role != "present"}
    others = [name for name in table.columns if name not in roles.values()]
    boxes = [name for name in others if BOX in name] if options.conditions is None else []
    listed = boxes or (None if options.conditions is None else (*options.conditions, options.nothing))
    findings = [name for name in others if listed is None or name in listed]
    if not findings or options.columns.get("present") is not None:
        raise tables.missing_column(["finding"], {"finding": tables.FINDING_NAMES}, table.columns)
    why = "as every other column" if listed is None else "a checkbox" if boxes else "as listed"
    of_findings = {name: Column(name, "finding", why) for name in findings}
    columns = tuple(of_findings.get(one.name, one) for one in _columns(table.columns, roles, options))
    nobody = () if "annotator" in roles else (f"{NOBODY}: every row is a checklist of its own",)
    frame = tables.numbered(table.select(*(pl.col(name).alias(role) for role, name in roles.items()), *findings))
    return Parsed(frame, (), tuple(findings), columns=columns, assumed=(EMPTY_IS_NOT_ASSESSED, *nobody))


def _file(source: Source, options: Options) -> Parsed:
    """Read the table of one annotator."""
    one = _table(source, options)
    named = {role: role for role in one.frame.columns if role == "annotator"}
    refuse_annotator_column(named, "the column case, and one per finding")
    one = replace(one, assumed=tuple(sentence for sentence in one.assumed if NOBODY not in sentence))
    cells = _molten(one, (), options)
    if "present" in cells.columns:
        tables.answers_of_cells(cells, "present")
    return one


# All tables of a study ----------------------------------------------------------------------------------


def _together(several: Sequence[Parsed], notes: Sequence[Note], options: Options) -> Parsed:
    """Put the tables of a study into one long table; what one of them has no column for was not assessed there."""
    listed = options.conditions or tuple(dict.fromkeys(name for one in several for name in one.conditions or ()))
    frames, told = [], []
    for one in several:
        missing = [name for name in listed if one.conditions and name not in one.conditions]
        frames.append(_molten(one, missing, options))
        note = Note("findings without a column", len(missing), "kept as not assessed", tuple(missing[:3]))
        told.append(replace(one, notes=(note,) if missing else ()))
    if any("present" in frame.columns for frame in frames):
        frames = [frame if "present" in frame.columns else frame.with_columns(present=pl.lit("1")) for frame in frames]
    if len(frames) > 1:
        text = [pl.exclude(tables.ROW).cast(pl.String), pl.col(tables.ROW).cast(pl.Int64)]
        frames = [tables.numbered(frame).with_columns(text) for frame in frames]
    return put_together(frames, told, notes)


def _molten(one: Parsed, missing: Sequence[str], options: Options) -> pl.DataFrame:
    """Give every finding of a wide table a row of its own, in the order of the rows."""
    if not one.conditions:
        return one.frame
    empty = (pl.lit(None, pl.String).alias(name) for name in missing)
    findings = one.frame.select(*one.conditions, *empty)
    long = molten(one.frame.drop(one.conditions), findings, "condition", "present")
    if options.nothing not in one.conditions:
        return long
    answers = pl.Series(tables.answers_of_cells(long, "present"))  # an empty cell is absent where nothing was found
    rows = long[tables.ROW].filter((long["condition"] == options.nothing) & (answers == PRESENT))
    return long.filter(~((answers == NOT_ASSESSED) & long[tables.ROW].is_in(rows.to_list())))
