"""The wide form: a table with one row per case and one column per annotator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from dissensus.core.errors import DissensusError
from dissensus.core.files import Source
from dissensus.core.receipt import Column, columns_of
from dissensus.study.ratings import SCORE_NAMES
from dissensus.study.reading.columns import as_table, column_names, has_answers, has_role
from dissensus.study.reading.format import Format, LongRows, Options, Parsed
from dissensus.study.reading.guesses import refuse_strangers
from dissensus.study.reading.lists import holds_lists
from dissensus.study.tables import ALIASES, ROW, find_columns, numbered, refuse_rows, with_roles

LONG_FORM_ONLY = frozenset((*ALIASES["annotator"], *ALIASES["rank"], *ALIASES["confidence"], *SCORE_NAMES))


class Wide(Format):
    """Table with one column per annotator whose cells are rankings."""

    id = "wide"
    title = "table with one column per annotator, cells such as a>b=c"

    def recognises(self, source: Source) -> bool:
        """Tell a table with a case column, no condition column, and cells that are not all integers."""
        return is_matrix_of_labels(source) and not is_integer_matrix(source.table)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read ``a>b=c`` cells: ``>`` separates ranks, ``=`` ties; an empty cell is no opinion."""
        table = as_table(source)
        found = layout(table, options)
        refuse_strangers(table, found.case, found.annotators, options)
        rows = LongRows()
        for row in table.cast(pl.String).iter_rows(named=True):
            rows.add_case(row[found.case])
            for annotator in found.annotators:
                if row[annotator]:
                    rows.add_ranking(row[found.case], annotator, split_ranking(row[annotator]))
        frame = rows.frame().drop(ROW).join(found.of_case, on="case", how="left", maintain_order="left")
        return Parsed(frame, tie_separator=options.tie_separator, columns=found.columns, assumed=found.assumed)


def split_ranking(cell: str) -> list[list[str]]:
    """Split ``a>b=c`` into blocks.

    >>> split_ranking("Melanoma > Nevus = Hemangioma")
    [['Melanoma'], ['Nevus', 'Hemangioma']]
    """
    return [[name.strip() for name in block.split("=")] for block in cell.split(">")]


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
    case = _case_column(table, find_columns(table.columns, {}, required=()))
    filled = [column.cast(pl.String).drop_nulls().str.strip_chars() for column in table.drop(case)]
    return any(len(column) for column in filled) and all(
        bool(column.str.contains(r"^\d+(\.0*)?$").all()) for column in filled
    )


@dataclass(frozen=True)
class Layout:
    """What the columns of a table with one row per case are.

    Attributes
    ----------
    case, annotators
        The column of cases, and those of annotators.
    of_case
        The name, row number and group of each case.
    columns, assumed
        For the receipt.
    """

    case: str
    annotators: list[str]
    of_case: pl.DataFrame
    columns: tuple[Column, ...]
    assumed: tuple[str, ...]


def layout(table: pl.DataFrame, options: Options) -> Layout:
    """Tell the column of cases, that of groups if there is one, and the others, which are annotators."""
    found = find_columns(table.columns, options.columns, required=())
    case, group = _case_column(table, found), found.get("group")
    annotators = [name for name in table.columns if name not in (case, group)]
    roles = {role: name for role, name in found.items() if role in ("case", "group")}
    others = {name: Column(name, "annotator", "as every other column") for name in annotators}
    named = {column.name: column for column in columns_of(table.columns, roles, options.columns)}
    first = {} if "case" in found else {case: Column(case, "case", "as the first column")}
    columns = tuple({**named, **others, **first}[name] for name in table.columns)
    assumed = () if "case" in found else (f"the first column, {case!r}, names the cases",)
    return Layout(case, annotators, _one_row_per_case(table, case, group), columns, assumed)


def _case_column(table: pl.DataFrame, found: Mapping[str, str]) -> str:
    return found.get("case", table.columns[0])


def _one_row_per_case(table: pl.DataFrame, case: str, group: str | None) -> pl.DataFrame:
    """Return the name, the number of the row and the group of each case; each must have one row."""
    roles = {"case": case} if group is None else {"case": case, "group": group}
    cases = numbered(with_roles(table, roles).cast(pl.String))
    nameless = cases["case"].is_null() | (cases["case"] == "")
    refuse_rows(cases, nameless, "case", "a row has no case", expected="the name of a case in every row")
    twice = cases.filter(cases["case"].is_duplicated())
    if len(twice):
        name = twice["case"][0]
        rows = twice.filter(twice["case"] == name)[ROW].to_list()
        raise DissensusError(
            f"case {name!r} stands in several rows",
            expected="one row per case",
            got=f"data rows {', '.join(map(str, rows[:4]))}",
            advice="merge the rows, or use the long form with one row per opinion",
        )
    return cases
