"""One row per case: a column per annotator, also of codes, as cleanlab has it, or votes per condition, in any form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dissensus.core.checks import check_length
from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.core.files import Source, read_text
from dissensus.core.names import check_names
from dissensus.core.notes import Note
from dissensus.core.receipt import Column, columns_of
from dissensus.study import tables
from dissensus.study.builders import checked_counts
from dissensus.study.reading import records as read
from dissensus.study.reading.format import RECORDS, Format, Options, Parsed
from dissensus.study.reading.guesses import refuse_findings, refuse_strangers

LONG_FORM_ONLY = frozenset(
    (*tables.ALIASES["annotator"], *tables.ALIASES["rank"], *tables.ALIASES["confidence"], *tables.SCORE_NAMES)
)
CODES_OR_VOTES = (
    f"if columns are annotators and cells are codes (--format cleanlab), {tables.GIVE_CONDITIONS}; if columns are "
    "conditions and cells are votes, say --format counts (format='counts')"
)

# Keys under which records hold their votes, first choice first.
COUNTS = ("label_counter", "label_count")

CASES = (*tables.ALIASES["case"], "uid")


class Wide(Format):
    """Table with one column per annotator whose cells are rankings."""

    id = "wide"
    title = "table with one column per annotator, cells such as a>b=c"
    kinds = ("table", "parquet")

    def recognises(self, source: Source) -> bool:
        """Tell a table with a case column, no condition column, and cells that are not all integers."""
        return is_matrix_of_labels(source) and not is_integer_matrix(source.table)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read ``a>b=c`` cells: ``>`` separates ranks, ``=`` ties; an empty cell is no opinion."""
        table = read.as_table(source)
        cells, case, columns, roles, assumed = layout(table, options, "annotator", "condition")
        refuse_strangers(table, case, columns, options)
        cells = cells.with_columns(pl.col("condition").replace("", None))
        said = filled(cells, pl.col("condition").is_not_null(), "annotator")
        blocks = said.with_columns(pl.col("condition").str.split(">"))
        blocks = blocks.with_columns(rank=pl.int_ranges(1, pl.col("condition").list.len() + 1))
        ranked = blocks.explode("condition", "rank").with_columns(pl.col("condition").str.split("="))
        ranked = ranked.explode("condition").with_columns(pl.col("condition").str.strip_chars())
        return Parsed(ranked, tie_separator=options.tie_separator, columns=roles, assumed=assumed)


class Cleanlab(Format):
    """Table with one column per annotator whose cells are codes."""

    id = "cleanlab"
    title = "table with one column per annotator, cells are codes"
    kinds = ("table", "parquet")

    def recognises(self, source: Source) -> bool:
        """Tell a table with one column per annotator whose cells are integer codes."""
        return is_matrix_of_labels(source) and is_integer_matrix(source.table)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read one integer code per annotator and case; an empty cell is no opinion."""
        table = read.as_table(source)
        cells, case, columns, roles, assumed = layout(table, options, "annotator", "condition")
        refuse_findings(table, case, columns, options)
        codes = pl.col("condition").str.strip_chars().str.replace(r"\.0*$", "")
        said = filled(cells.with_columns(codes), pl.col("condition").is_not_null(), "annotator")
        if options.conditions is None and not (options.question == "grades" and options.format_is_given):
            raise tables.integers_need_names(said["condition"].drop_nulls().unique().sort().to_list(), CODES_OR_VOTES)
        return Parsed(said, columns=roles, assumed=assumed)


def is_matrix_of_labels(source: Source) -> bool:
    """Tell a table that names neither conditions nor annotators in a column, nor ranks or scores."""
    return (
        source.is_table
        and not read.has_role(source, "condition")
        and not read.has_answers(source)
        and not read.holds_lists(source)
        and len(source.table.columns) > 1
        and read.column_names(source).isdisjoint(LONG_FORM_ONLY)
    )


def is_integer_matrix(table: pl.DataFrame) -> bool:
    """Tell a table whose cells are integer codes, apart from the column of cases."""
    if any(dtype.is_nested() for dtype in table.dtypes):
        return False
    case = tables.find_columns(table.columns, {}, required=()).get("case", table.columns[0])
    filled_cells = [column.cast(pl.String).drop_nulls().str.strip_chars() for column in table.drop(case)]
    return any(len(column) for column in filled_cells) and all(
        bool(column.str.contains(r"^\d+(\.0*)?$").all()) for column in filled_cells
    )


def filled(cells: pl.DataFrame, is_filled: pl.Expr, *emptied: str) -> pl.DataFrame:
    """Keep the cells that hold an opinion, and one for a case that has none, emptied so that only the case is left."""
    kept = cells.filter(is_filled | (~is_filled.any().over(tables.ROW) & pl.col(tables.ROW).is_first_distinct()))
    return kept.with_columns(pl.when(is_filled).then(pl.col(role)).alias(role) for role in emptied)


def layout(
    table: pl.DataFrame, options: Options, column: str, cell: str
) -> tuple[pl.DataFrame, str, list[str], tuple[Column, ...], tuple[str, ...]]:
    """Give every cell a row of its own, in the order of the rows: its case and group, its column and what it holds.

    Also tell the column of cases and the others, which are annotators unless something else is said, and, for the
    receipt, the roles of all and what was assumed.
    """
    found = tables.find_columns(table.columns, options.columns, required=())
    case, group = found.get("case", table.columns[0]), found.get("group")
    others = [name for name in table.columns if name not in (case, group)]
    if not others:
        expected, got = f"one column per {column}", f"column {case!r}"
        raise DissensusError("the table has no column beside the case", expected=expected, got=got)
    roles = {"case": case} if group is None else {"case": case, "group": group}
    named = {one.name: one for one in columns_of(table.columns, roles, options.columns)}
    named |= {name: Column(name, "annotator", "as every other column") for name in others}
    named |= {} if "case" in found else {case: Column(case, "case", "as the first column")}
    assumed = () if "case" in found else (f"the first column, {case!r}, names the cases",)
    cases = tables.numbered(tables.with_roles(table, roles).cast(pl.String))
    tables.one_row_each(cases, advice="merge the rows, or use the long form with one row per opinion")
    numbers = [str(number) for number in range(len(others))]  # no name of a column gets in the way
    texts = table.select(
        pl.col(name).cast(pl.String).alias(number) for name, number in zip(others, numbers, strict=True)
    )
    cells = cases.hstack(texts).unpivot(numbers, index=cases.columns, variable_name=column, value_name=cell)
    cells = cells.sort(tables.ROW, maintain_order=True)
    names = pl.Series(column, others, pl.String).gather(cells[column].cast(pl.Int64))
    return cells.with_columns(names), case, others, tuple(named.values()), assumed


# Votes -----------------------------------------------------------------------------------------------


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
            padded = np.column_stack([votes, votes.sum(axis=1) == 0])  # a case without votes has a row, too
            case, condition = np.nonzero(padded)
            named_row = pl.Series("condition", [*names, None], dtype=pl.String).gather(condition)
            rows = pl.DataFrame({"case": pl.Series(cases, dtype=pl.String).gather(case), "condition": named_row})
            given = pl.lit(pl.Series(padded[case, condition]))
            rows = rows.with_columns(votes=pl.when(named_row.is_not_null()).then(given))
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
    found = tables.find_columns(source.table.columns, {}, required=())
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


# A table ----------------------------------------------------------------------------------------------


def _from_table(table: pl.DataFrame, options: Options) -> Parsed:
    cells, _, columns, roles, assumed = layout(table, options, "condition", "votes")
    cells, given = tables.tidied(cells), options.conditions
    if given is not None and set(columns) != set(given):
        raise DissensusError(
            "the columns of votes are not the conditions",
            expected=f"the columns {listing(given)}",
            got=listing(columns),
            advice="name the columns as the conditions are named, or leave the list of conditions out",
        )
    empty = Note("empty cells", cells["votes"].null_count(), "taken as 0 votes")
    rows = filled(cells.with_columns(pl.col("votes").fill_null(0.0)), pl.col("votes") != 0, "condition", "votes")
    votes = {name: Column(name, "votes for the condition of this name") for name in columns}
    return Parsed(
        rows,
        (_counted_votes(rows), *((empty,) if empty.count else ())),
        tuple(given or columns),
        columns=tuple(votes.get(one.name, one) for one in roles),
        assumed=(*assumed, "a cell is the number of annotators who gave the condition of its column"),
    )


# Records ----------------------------------------------------------------------------------------------


def _from_records(source: Source, options: Options) -> Parsed:
    """Read records such as ``{"case": "c1", "label_count": {"a": 3, "b": 1}}``."""
    placed = read.checked_records(source, "record")
    records = [record for _, record in placed]
    by_name = {tables.normalised(key): key for key in records[0]}
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
            advice=tables.GIVE_CONDITIONS,
        )
    if isinstance(counts, list):
        check_length("vote", len(counts), len(conditions or ()), where=where)
        counts = dict(zip(conditions or (), counts, strict=True))
    for count in counts.values():
        is_number = isinstance(count, int | float) and not isinstance(count, bool)
        if count is not None and not (is_number and 0 <= count < 2**63 and count == int(count)):
            raise read.wrong_shape(count, "a number of votes", "a whole number, zero or more", where)
    return {read.as_name(name, "a condition", where): float(count or 0) for name, count in counts.items()}
