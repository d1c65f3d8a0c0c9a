"""The wide form: a table with one row per case and one column per annotator."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from dissensus.core.errors import DissensusError
from dissensus.core.files import Source
from dissensus.study.ratings import SCORE_NAMES
from dissensus.study.reading.columns import as_table, column_names, has_role
from dissensus.study.reading.format import Format, LongRows, Options, Parsed
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
        case, annotators, of_case = layout(table, options)
        rows = LongRows()
        for row in table.cast(pl.String).iter_rows(named=True):
            rows.add_case(row[case])
            for annotator in annotators:
                if row[annotator]:
                    rows.add_ranking(row[case], annotator, split_ranking(row[annotator]))
        return Parsed(rows.frame().drop(ROW).join(of_case, on="case", how="left", maintain_order="left"))


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
        and not holds_lists(source)
        and len(source.table.columns) > 1
        and column_names(source).isdisjoint(LONG_FORM_ONLY)
    )


def is_integer_matrix(table: pl.DataFrame) -> bool:
    """Tell a table whose cells are integer codes, apart from the column of cases."""
    case = _case_column(table, find_columns(table.columns, {}, required=()))
    filled = [column.cast(pl.String).drop_nulls().str.strip_chars() for column in table.drop(case)]
    return any(len(column) for column in filled) and all(
        bool(column.str.contains(r"^\d+(\.0*)?$").all()) for column in filled
    )


def layout(table: pl.DataFrame, options: Options) -> tuple[str, list[str], pl.DataFrame]:
    """Return the column of cases, those of annotators, and the name, row number and group of each case."""
    found = find_columns(table.columns, options.columns, required=())
    case, group = _case_column(table, found), found.get("group")
    annotators = [name for name in table.columns if name not in (case, group)]
    return case, annotators, _one_row_per_case(table, case, group)


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
