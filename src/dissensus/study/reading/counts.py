"""Votes: how many annotators gave each condition on each case, as a matrix, a table or records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dissensus.core.aliases import IntArray
from dissensus.core.checks import check_length
from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.core.files import Source, read_text
from dissensus.core.names import check_names
from dissensus.core.notes import Note
from dissensus.core.receipt import Column
from dissensus.study.builders import checked_counts
from dissensus.study.reading import records as read
from dissensus.study.reading.format import RECORDS, Format, Options, Parsed
from dissensus.study.reading.wide import filled, is_integer_matrix, is_matrix_of_labels, layout
from dissensus.study.tables import ALIASES, GIVE_CONDITIONS, find_columns, normalised, tidied

# Keys under which records hold their votes, first choice first.
COUNTS = ("label_counter", "label_count")

CASES = (*ALIASES["case"], "uid")


class Counts(Format):
    """Votes of anonymous annotators: cases by conditions."""

    id = "counts"
    title = "votes: a matrix (.npy) or table of cases by conditions, or records with label_count"
    kinds = ("npy", *RECORDS)

    def recognises(self, source: Source) -> bool:
        """Tell a matrix of integers, or records that hold counts by condition; a table needs the list of conditions."""
        if source.kind == "npy":
            return bool(source.content.ndim == 2 and source.content.dtype.kind in "iu")
        records = read.records_of(source)
        return bool(records) and all(_counts_key(record) is not None for record in records)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one anonymous ranking, with its votes, for every number above 0; a case without votes is unannotated."""
        if source.kind == "npy":
            votes = checked_counts(source.content)
            cases, told = names_beside(source.path, "cases", None, votes.shape[0])
            names, named = names_beside(source.path, "conditions", options.conditions, votes.shape[1])
            rows = _rows(votes, cases, names)
            assumed = (f"rows are cases, {told}", f"columns are conditions, {named}, and cells are votes")
            return Parsed(rows, (_counted_votes(rows),), tuple(names), assumed=assumed)
        if source.is_table or not self.recognises(source):
            return _from_table(read.as_table(source), options)
        return _from_records(source, options)


def is_table_of_votes(source: Source, conditions: Sequence[str] | None) -> bool:
    """Tell a table of whole numbers, some above 1, whose columns, apart from case and group, are the conditions.

    A table of nothing but 0 and 1 may as well hold findings, so it has to be said.
    """
    if conditions is None or not is_matrix_of_labels(source):
        return False
    found = find_columns(source.table.columns, {}, required=())
    apart = (found.get("case", source.table.columns[0]), found.get("group"))
    columns = [name for name in source.table.columns if name not in apart]
    if len(columns) != len(conditions) or set(columns) != set(conditions) or not is_integer_matrix(source.table):
        return False
    numbers = source.table.select(pl.col(columns).cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False))
    return any(number is not None and number > 1 for number in numbers.max().row(0))


def _counted_votes(rows: pl.DataFrame) -> Note:
    return Note("votes of annotators without a name", int(rows["votes"].sum()), "counted")


# A matrix ---------------------------------------------------------------------------------------------


def names_beside(path: Path, what: str, given: Sequence[str] | None, count: int) -> tuple[Sequence[str], str]:
    """Return the names that are given, or stand in a file beside, or are numbers, and say which."""
    beside = path.with_suffix(f".{what}.txt")
    if given is None and not beside.is_file():
        return [str(number) for number in range(count)], "numbered from 0"
    if given is None:
        given = [line.strip() for line in read_text(beside).splitlines() if line.strip()]
        check_length(what.removesuffix("s"), len(given), count, where=str(beside))
        return given, f"named by {beside.name!r}"
    check_length(what.removesuffix("s"), len(given), count)
    return given, "named as given"


def _rows(votes: IntArray, cases: Sequence[str], conditions: Sequence[str]) -> pl.DataFrame:
    """Write one row per number above 0, and one row without a condition for a case without votes."""
    padded = np.column_stack([votes, votes.sum(axis=1) == 0])
    case, condition = np.nonzero(padded)
    named = pl.Series("condition", [*conditions, None], dtype=pl.String).gather(condition)
    rows = pl.DataFrame({"case": pl.Series(cases, dtype=pl.String).gather(case), "condition": named})
    return rows.with_columns(votes=pl.when(named.is_not_null()).then(pl.lit(pl.Series(padded[case, condition]))))


# A table ----------------------------------------------------------------------------------------------


def _from_table(table: pl.DataFrame, options: Options) -> Parsed:
    found, given = layout(table, options), options.conditions
    if given is not None and set(found.columns) != set(given):
        raise DissensusError(
            "the columns of votes are not the conditions",
            expected=f"the columns {listing(given)}",
            got=listing(found.columns),
            advice="name the columns as the conditions are named, or leave the list of conditions out",
        )
    cells = tidied(found.cells("condition", "votes"))
    empty = Note("empty cells", cells["votes"].null_count(), "taken as 0 votes")
    rows = filled(cells.with_columns(pl.col("votes").fill_null(0.0)), pl.col("votes") != 0, "condition", "votes")
    votes = {name: Column(name, "votes for the condition of this name") for name in found.columns}
    return Parsed(
        rows,
        (_counted_votes(rows), *((empty,) if empty.count else ())),
        tuple(given or found.columns),
        columns=tuple(votes.get(one.name, one) for one in found.roles),
        assumed=(*found.assumed, "a cell is the number of annotators who gave the condition of its column"),
    )


# Records ----------------------------------------------------------------------------------------------


def _from_records(source: Source, options: Options) -> Parsed:
    """Read records such as ``{"case": "c1", "label_count": {"a": 3, "b": 1}}``."""
    placed = read.checked_records(source, "record")
    records = [record for _, record in placed]
    by_name = {normalised(key): key for key in records[0]}
    usual = (by_name[name] for name in CASES if name in by_name)
    single = (name for name in usual if all(read.is_scalar(record.get(name)) for record in records))
    given = options.columns.get("case")
    key = next(single, None) if given is None else given
    if key is None:
        raise FormatError(
            "the records have no name of their case",
            expected=f"a key such as {listing(('case', 'id', 'uid'))}",
            got=f"keys {listing(records[0], most=12)}",
            advice='say which key it is: columns={"case": NAME} (--column case=NAME)',
        )
    cases = [read.as_name(record.get(key), f"the case ({key})", where) for where, record in placed]
    check_names("case", cases)
    counted = [_counted(record, where, options.conditions) for where, record in placed]
    above: list[list[Any]] = [[vote for vote in one.items() if vote[1]] or [(None, None)] for one in counted]
    votes = [(case, *vote) for case, some in zip(cases, above, strict=True) for vote in some]
    schema = {"case": pl.String, "condition": pl.String, "votes": pl.Float64}
    rows = pl.DataFrame(votes, schema=schema, orient="row")
    roles = {key: "case", **{str(_counts_key(record)): "votes by condition" for record in records}}
    return Parsed(
        rows,
        (_counted_votes(rows),),
        options.conditions or tuple(sorted({name for one in counted for name in one})),
        columns=tuple(Column(name, roles.get(name, "")) for name in dict.fromkeys(k for one in records for k in one)),
        assumed=("a number is how many annotators gave the condition",),
    )


def _counts_key(record: Any) -> str | None:
    """Return the key under which a record holds votes, by condition or in the order of conditions."""
    if not isinstance(record, dict):
        return None
    return next((key for key in COUNTS if isinstance(record.get(key), dict | list)), None)


def _counted(record: Mapping[str, Any], where: str, conditions: Sequence[str] | None) -> dict[str, float]:
    """Return the votes of one record by condition; nothing is none."""
    counts = record[str(_counts_key(record))]
    if isinstance(counts, list) and conditions is None:
        raise FormatError(
            "a list of votes needs a list of conditions",
            expected="the names of the conditions in the order of the votes",
            got=repr(counts),
            where=where,
            advice=GIVE_CONDITIONS,
        )
    if isinstance(counts, list):
        check_length("vote", len(counts), len(conditions or ()), where=where)
        counts = dict(zip(conditions or (), counts, strict=True))
    for count in counts.values():
        is_number = isinstance(count, int | float) and not isinstance(count, bool)
        if count is not None and not (is_number and 0 <= count < 2**63 and count == int(count)):
            raise read.wrong_shape(count, "a number of votes", "a whole number, zero or more", where)
    return {read.as_name(name, "a condition", where): float(count or 0) for name, count in counts.items()}
