"""The wide form: a table with one row per case and one column per annotator, also of codes, as cleanlab has it."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from dissensus.core.errors import DissensusError
from dissensus.core.files import Source
from dissensus.core.receipt import Column, columns_of
from dissensus.study import tables
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.guesses import refuse_findings, refuse_strangers
from dissensus.study.reading.records import as_table, column_names, has_answers, has_role, holds_lists

LONG_FORM_ONLY = frozenset(
    (*tables.ALIASES["annotator"], *tables.ALIASES["rank"], *tables.ALIASES["confidence"], *tables.SCORE_NAMES)
)
CODES_OR_VOTES = (
    f"if columns are annotators and cells are codes (--format cleanlab), {tables.GIVE_CONDITIONS}; if columns are "
    "conditions and cells are votes, say --format counts (format='counts')"
)


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
        table = as_table(source)
        found = layout(table, options)
        refuse_strangers(table, found.case, found.columns, options)
        cells = found.cells("annotator", "condition").with_columns(pl.col("condition").replace("", None))
        said = filled(cells, pl.col("condition").is_not_null(), "annotator")
        blocks = said.with_columns(pl.col("condition").str.split(">"))
        blocks = blocks.with_columns(rank=pl.int_ranges(1, pl.col("condition").list.len() + 1))
        ranked = blocks.explode("condition", "rank").with_columns(pl.col("condition").str.split("="))
        ranked = ranked.explode("condition").with_columns(pl.col("condition").str.strip_chars())
        return Parsed(ranked, tie_separator=options.tie_separator, columns=found.roles, assumed=found.assumed)


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
        table = as_table(source)
        found = layout(table, options)
        refuse_findings(table, found.case, found.columns, options)
        codes = pl.col("condition").str.strip_chars().str.replace(r"\.0*$", "")
        cells = found.cells("annotator", "condition").with_columns(codes)
        said = filled(cells, pl.col("condition").is_not_null(), "annotator")
        if options.conditions is None and not (options.question == "grades" and options.format_is_given):
            raise tables.integers_need_names(said["condition"].drop_nulls().unique().sort().to_list(), CODES_OR_VOTES)
        return Parsed(said, columns=found.roles, assumed=found.assumed)


def is_matrix_of_labels(source: Source) -> bool:
    """Tell a table that names neither conditions nor annotators in a column, nor ranks or scores."""
    return (
        source.is_table
        and not has_role(source, "condition")
        and not has_answers(source)
        and not holds_lists(source)
        and len(source.table.columns) > 1
        and column_names(source).isdisjoint(LONG_FORM_ONLY)
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


class Layout(NamedTuple):
    """What the columns of a table with one row per case are.

    Attributes
    ----------
    table
        The table, all of it text.
    case, columns
        The column of cases, and those that hold opinions.
    of_case
        The name, row number and group of each case.
    roles, assumed
        For the receipt.
    """

    table: pl.DataFrame
    case: str
    columns: list[str]
    of_case: pl.DataFrame
    roles: tuple[Column, ...]
    assumed: tuple[str, ...]

    def cells(self, column: str, cell: str) -> pl.DataFrame:
        """Give every cell a row of its own, in the order of the rows: its case, its column and what it holds."""
        if not self.columns:
            expected = f"one column per {column}"
            raise DissensusError(
                "the table has no column beside the case", expected=expected, got=f"column {self.case!r}"
            )
        numbers = [str(number) for number in range(len(self.columns))]  # no name of a column gets in the way
        cells = (
            self.of_case.hstack(self.table.rename(dict(zip(self.columns, numbers, strict=True))))
            .unpivot(numbers, index=self.of_case.columns, variable_name=column, value_name=cell)
            .sort(tables.ROW, maintain_order=True)
        )
        return cells.with_columns(pl.Series(column, self.columns, pl.String).gather(cells[column].cast(pl.Int64)))


def filled(cells: pl.DataFrame, is_filled: pl.Expr, *emptied: str) -> pl.DataFrame:
    """Keep the cells that hold an opinion, and one for a case that has none, emptied so that only the case is left."""
    kept = cells.filter(is_filled | (~is_filled.any().over(tables.ROW) & pl.col(tables.ROW).is_first_distinct()))
    return kept.with_columns(pl.when(is_filled).then(pl.col(role)).alias(role) for role in emptied)


def layout(table: pl.DataFrame, options: Options) -> Layout:
    """Tell the column of cases, that of groups if there is one, and the others, which are annotators."""
    found = tables.find_columns(table.columns, options.columns, required=())
    case, group = found.get("case", table.columns[0]), found.get("group")
    others = [name for name in table.columns if name not in (case, group)]
    roles = {"case": case} if group is None else {"case": case, "group": group}
    named = {column.name: column for column in columns_of(table.columns, roles, options.columns)}
    named |= {name: Column(name, "annotator", "as every other column") for name in others}
    named |= {} if "case" in found else {case: Column(case, "case", "as the first column")}
    assumed = () if "case" in found else (f"the first column, {case!r}, names the cases",)
    cases = tables.numbered(tables.with_roles(table, roles).cast(pl.String))
    tables.one_row_each(cases, advice="merge the rows, or use the long form with one row per opinion")
    return Layout(table.select(pl.col(others).cast(pl.String)), case, others, cases, tuple(named.values()), assumed)
