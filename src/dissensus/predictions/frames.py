"""From tables to predictions: long, one row per listed condition, or wide, one column per condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dissensus.core.errors import DissensusError, listing
from dissensus.predictions.entries import (
    Entries,
    Subject,
    assembled,
    assembled_scores,
    check_one_row_each,
    predictions_from_scores,
    predictions_from_sets,
)
from dissensus.predictions.lists import PredictionKind, Predictions, check_kind
from dissensus.study.builders import unknown_condition
from dissensus.study.tables import (
    ALIASES as ANNOTATION_ALIASES,
)
from dissensus.study.tables import (
    case_codes,
    find_columns,
    label_codes,
    missing_column,
    normalised,
    polars_frame,
    refuse_rows,
    tidied,
    with_roles,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from narwhals.typing import IntoDataFrame

    from dissensus.core.aliases import FloatArray

ALIASES: dict[str, tuple[str, ...]] = {
    "case": ANNOTATION_ALIASES["case"],
    "condition": (*ANNOTATION_ALIASES["condition"], "finding", "findings", "finding_name"),
    "score": ("score", "probability", "prob", "confidence", "logit", "scores", "probs"),
    "rank": ANNOTATION_ALIASES["rank"],
}
"""The roles a column of a long table can have, and the names it goes by, first choice first."""

KIND_OF_ROLE: dict[str, PredictionKind] = {"score": "scores", "rank": "ranking"}

PANDAS_INDEX = "__index_level_0__"
"""The column in which pandas writes an index without a name to Parquet."""

BOOLEAN_CELLS = {"true": "1", "false": "0"}


# Long -------------------------------------------------------------------------------------------------


def predictions_from_long(
    frame: IntoDataFrame,
    conditions: Sequence[str] | None,
    *,
    columns: Mapping[str, str | None],
    kind: PredictionKind | None,
    name: str,
    findings: bool = False,
) -> Predictions:
    """Build from any data frame, without a Python loop over rows; see :meth:`Predictions.from_long`."""
    table = polars_frame(frame)
    roles = find_columns(table.columns, columns, aliases=ALIASES)
    chosen = _long_kind(table, roles, _kind_of_findings(roles, kind) if findings else kind)
    needed = {role: column for role, column in roles.items() if KIND_OF_ROLE.get(role, chosen) == chosen}
    table = tidied(with_roles(table, needed))
    if not len(table):
        raise DissensusError("the table has no rows", expected="at least one row below the header")
    refuse_rows(table, table["case"].is_null(), "case", "a row has no case")
    case, case_names = case_codes(table["case"])
    codes, known = label_codes(table, tuple(conditions) if conditions is not None else None)
    entries = Entries(case, codes, _values(table, chosen)).where(codes >= 0)
    subject = Subject(name, known, case_names)
    if chosen == "scores":
        return assembled_scores(entries, subject, findings=findings)
    return assembled(chosen, entries, subject)


def _kind_of_findings(roles: Mapping[str, str], kind: PredictionKind | None) -> PredictionKind | None:
    """Take the rows of a case for a set where nothing but findings is named: each of them is present."""
    return "set" if kind is None and KIND_OF_ROLE.keys().isdisjoint(roles) else kind


def _long_kind(table: pl.DataFrame, roles: Mapping[str, str], kind: PredictionKind | None) -> PredictionKind:
    """Settle what the rows mean: what is asked for, or what the one column of numbers says."""
    columns, offered = table.columns, {role for role in roles if role in KIND_OF_ROLE}
    kinds = [KIND_OF_ROLE[role] for role in sorted(offered)]
    if not kinds and kind != "set" and not _numbers_without_role(table, roles):
        return _kind_of_labels(table, roles, kind)
    if kind is not None:
        check_kind(kind)
        role = next((role for role, other in KIND_OF_ROLE.items() if other == kind), None)
        if role is not None and role not in offered:
            raise missing_column(role, ALIASES[role], columns)
        return kind
    if len(kinds) == 1:
        return kinds[0]
    raise DissensusError(
        "the table has scores and ranks" if kinds else "the table has no score column and no rank column",
        expected="one of them" if kinds else "a column named 'score' or 'rank' or the like",
        got=f"columns {listing(columns, most=12)}",
        advice="say which counts: kind='scores' or kind='ranking'"
        if kinds
        else "rename the column, or say kind='set' if the rows of a case are a set",
    )


def _numbers_without_role(table: pl.DataFrame, roles: Mapping[str, str]) -> list[str]:
    """Name the columns of numbers that no role uses: one of them may be the score."""
    spare = table.drop(roles.values())
    return [column.name for column in spare if len(column.drop_nulls()) and not _holds_text(column)]


def _kind_of_labels(table: pl.DataFrame, roles: Mapping[str, str], kind: PredictionKind | None) -> PredictionKind:
    """Settle what rows without a number mean: one label per case is certain, several need a word."""
    if kind is not None:
        check_kind(kind)
    several = table.drop_nulls(roles["condition"])[roles["case"]].is_duplicated()
    if not several.any() or kind == "ranking":
        return kind or "ranking"
    raise DissensusError(
        "a case has several labels, and no score or rank",
        expected="one label per case, a column 'score' or 'rank', or a word: set, or ranking (by the order of rows)",
        got=f"{several.sum()} such rows; columns {listing(table.columns, most=12)}",
        advice="say kind='set' or kind='ranking' (--kind set)",
    )


def _values(table: pl.DataFrame, kind: PredictionKind) -> FloatArray:
    """Return a number per row that is larger for better conditions."""
    if kind == "set":
        return np.ones(len(table))
    role = "score" if kind == "scores" else "rank"
    if role not in table.columns:
        return np.ones(len(table)) if kind == "scores" else -np.arange(len(table), dtype=np.float64)
    numbers = table[role]
    stray = numbers.is_not_null() & table["condition"].is_null()
    refuse_rows(table, stray, role, f"a row has a {role} but no condition")
    silent = table["condition"].is_null()
    if kind == "scores":
        wrong = ~numbers.is_finite().fill_null(False) & ~silent
        refuse_rows(table, wrong, role, "a score is not a finite number")
        return numbers.fill_null(0.0).to_numpy()
    wrong = ~((numbers > 0) & numbers.is_finite()).fill_null(False) & ~silent
    refuse_rows(table, wrong, role, "a rank must be a positive number; 1 is best")
    return -numbers.fill_null(0.0).to_numpy()


# Wide -------------------------------------------------------------------------------------------------


def predictions_from_wide(
    frame: IntoDataFrame,
    conditions: Sequence[str] | None,
    *,
    case: str | None,
    kind: PredictionKind | None,
    name: str,
    case_names: Sequence[str] | None = None,
    findings: bool = False,
) -> Predictions:
    """Build from one row per case and one column per condition; see :meth:`Predictions.from_wide`.

    Without a column for the case, ``case_names`` names the rows.
    """
    table = polars_frame(frame)
    conditions = None if conditions is None else tuple(map(str, conditions))
    column = case_column(table, conditions, given=case)
    if column is None and case_names is None:
        raise missing_column("case", ALIASES["case"], table.columns)
    rows = _row_names(table, column) if column is not None else tuple(case_names or ())
    cells = table.drop(column) if column is not None else table
    names = column_conditions(cells.columns, conditions)
    binary, matrix = _numbers(cells, rows)
    if (kind or ("set" if binary else "scores")) == "set":
        return predictions_from_sets(matrix, names, case_names=rows, name=name)
    check_matrix_kind(kind)
    return predictions_from_scores(matrix, names, case_names=rows, name=name, findings=findings)


def check_matrix_kind(kind: PredictionKind | None) -> None:
    """Refuse to read a matrix as rankings."""
    check_kind(kind or "scores")
    if kind == "numbers":
        raise DissensusError(
            "a matrix holds scores of conditions, not one number per case",
            expected="one column of numbers beside the case",
        )
    if kind == "ranking":
        raise DissensusError(
            "a matrix holds scores or sets, not rankings",
            expected="kind='scores' or kind='set'",
            advice="the order of scores is a ranking already; give ranks as a long table",
        )


def case_column(
    table: pl.DataFrame, conditions: Sequence[str] | None = None, *, given: str | None = None
) -> str | None:
    """Find the column with the names of cases: given, by a usual name, or the first if it holds text."""
    taken = set(conditions or ())
    free = [column for column in table.columns if column not in taken]
    found = find_columns(free, {"case": given}, aliases={"case": ALIASES["case"]}, required=())
    usual = found.get("case") or (PANDAS_INDEX if PANDAS_INDEX in free else None)
    if usual is not None or not free or free[0] != table.columns[0]:
        return usual
    return free[0] if free[0] == "" or _holds_text(table[free[0]]) else None


def _holds_text(column: pl.Series) -> bool:
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return False
    text = column.cast(pl.String)
    return text.cast(pl.Float64, strict=False).null_count() > text.null_count()


def _row_names(table: pl.DataFrame, column: str) -> tuple[str, ...]:
    names = table.select(pl.col(column).cast(pl.String).alias("case"))
    refuse_rows(names, (names["case"].is_null()) | (names["case"] == ""), "case", "a row has no case")
    found = tuple(names["case"].to_list())
    check_one_row_each(found)
    return found


def column_conditions(columns: Sequence[str], conditions: Sequence[str] | None) -> tuple[str, ...]:
    """Name the condition of each column; integers are codes and need a list."""
    repeated = [column for column in columns if column.rpartition("_duplicated_")[0] in columns]
    if repeated:
        name = repeated[0].rpartition("_duplicated_")[0]
        raise DissensusError(f"condition {name!r} has several columns", expected="one column per condition")
    if all(is_number(column) for column in columns) and not set(columns) <= set(conditions or ()):
        return _coded_columns(columns, conditions)
    unknown = [column for column in columns if column not in set(conditions or columns)]
    if unknown:
        raise unknown_condition(unknown[0], conditions or (), f"columns {listing(unknown)}")
    return tuple(columns)


def _coded_columns(columns: Sequence[str], conditions: Sequence[str] | None) -> tuple[str, ...]:
    if not all(column.isdecimal() for column in columns):
        raise DissensusError(
            "the table seems to have no header",
            expected="the names of conditions in the first row",
            got=f"numbers: {listing(columns)}",
        )
    if conditions is None:
        raise DissensusError(
            "integer column names need a list of conditions",
            expected="the names of the conditions in the order of their codes",
            got=f"columns {listing(columns)} without a list",
            advice="give the list (conditions=[...], --conditions FILE with one name per line)",
        )
    outside = [column for column in columns if int(column) >= len(conditions)]
    if outside:
        raise unknown_condition(outside[0], conditions, f"columns {listing(outside)}")
    return tuple(conditions[int(column)] for column in columns)


def is_number(text: str) -> bool:
    """Tell whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbers(cells: pl.DataFrame, case_names: Sequence[str]) -> tuple[bool, FloatArray]:
    """Return the cells as a matrix, and whether they are booleans or the integers 0 and 1."""
    text = [column for column, dtype in cells.schema.items() if dtype == pl.String]
    if text:
        tidy = pl.col(text).str.strip_chars().str.to_lowercase().replace(BOOLEAN_CELLS).replace("", None)
        cells = cells.with_columns(tidy)
    integers = all(
        dtype.is_integer() or dtype == pl.Boolean or column in text for column, dtype in cells.schema.items()
    )
    binary = integers and all(bool(column.cast(pl.String).is_in(("0", "1", "true", "false")).all()) for column in cells)
    numbers = cells.select(pl.all().cast(pl.Float64, strict=False))
    _refuse_cells(cells, numbers, case_names)
    return binary, numbers.cast(pl.Float64).to_numpy().astype(np.float64)


def _refuse_cells(cells: pl.DataFrame, numbers: pl.DataFrame, case_names: Sequence[str]) -> None:
    for column in cells.columns:
        wrong = numbers[column].is_null()
        if wrong.any():
            row = wrong.arg_max() or 0
            value = cells[column][row]
            case = f", case {case_names[row]!r}" if row < len(case_names) else ""
            raise DissensusError(
                "a score is missing" if value is None else "a score is not a number",
                expected="a number for every case and condition",
                got="an empty cell" if value is None else repr(value),
                where=f"row {row + 1}{case}, column {column!r}",
            )


def is_long(table: pl.DataFrame, conditions: Sequence[str] | None, given: Collection[str]) -> bool:
    """Tell a long table from a wide one: it has a column of conditions, of scores or of ranks."""
    free = {normalised(name) for name in table.columns if name not in set(conditions or ())}
    roles = ("condition", "score", "rank")
    return any(role in given or not free.isdisjoint(ALIASES[role]) for role in roles)
