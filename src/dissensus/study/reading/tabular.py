"""Tables of opinions: long, wide, crowd-kit and cleanlab."""

from __future__ import annotations

import json

import polars as pl

from dissensus.core.errors import DissensusError
from dissensus.core.files import Source
from dissensus.core.notes import Note
from dissensus.study.ratings import SCORE_NAMES
from dissensus.study.reading.format import Format, LongRows, Options, Parsed
from dissensus.study.reading.json_values import is_scalar, is_text, records_of, wrong_shape
from dissensus.study.reading.prodigy import HASHES as PRODIGY_HASHES
from dissensus.study.tables import (
    ALIASES,
    ROW,
    find_columns,
    integers_need_names,
    normalised,
    notes_on_columns,
    numbered,
    refuse_rows,
    with_roles,
    without_second_order,
)

CROWD_KIT = ("task", "label")
CROWD_WORKER = ("worker", "performer")
LONG_FORM_ONLY = frozenset((*ALIASES["annotator"], *ALIASES["rank"], *ALIASES["confidence"], *SCORE_NAMES))
ROLE_NAMES = frozenset(name for names in ALIASES.values() for name in names)


def _names(source: Source) -> set[str]:
    columns = source.table.columns if source.is_table else _flat_keys(source)
    return {normalised(name) for name in columns}


def _flat_keys(source: Source) -> list[str]:
    """Name the keys of JSON records that form a table: what has a role is a single value everywhere."""
    records = records_of(source)
    if not records or not all(isinstance(record, dict) for record in records):
        return []
    keys = list(dict.fromkeys(key for record in records for key in record))
    flat = all(is_scalar(record.get(key)) for key in keys if normalised(key) in ROLE_NAMES for record in records)
    return keys if flat and not any(key in keys for key in PRODIGY_HASHES) else []


def _has_role(source: Source, role: str) -> bool:
    return not _names(source).isdisjoint(ALIASES[role])


# Long ---------------------------------------------------------------------------------------------------


def recognises_long(source: Source) -> bool:
    """Tell a table with a case and a condition column."""
    names = _names(source)
    has_roles = all(not names.isdisjoint(ALIASES[role]) for role in ("case", "condition"))
    return has_roles and not _is_crowd_kit(names)


def is_partly_long(source: Source) -> bool:
    """Tell a table that has some of the columns of the long form, but not all it needs."""
    return source.is_table and any(_has_role(source, role) for role in ("case", "condition", "annotator"))


def parse_long(source: Source, options: Options) -> Parsed:
    """Name the columns by their roles and leave the rest to the builder."""
    table = _as_table(source)
    found = find_columns(table.columns, options.columns)
    roles = without_second_order(found, options.columns)
    notes = notes_on_columns(table.columns, found)
    for spare in found.keys() - roles.keys():
        order = "rank" if spare == "confidence" else "confidence"
        notes = (*notes, Note(f"{spare} column beside a {order} column", 1, f"not used, the {order} decides"))
    return Parsed(with_roles(table, roles), notes, tie_separator=options.tie_separator)


def _as_table(source: Source) -> pl.DataFrame:
    if source.is_table:
        return source.table
    keys = _flat_keys(source)
    if not keys:
        raise DissensusError(
            "this is not a table",
            expected="CSV, TSV, Parquet, or JSON records whose values are single words and numbers",
            where=str(source.path),
        )
    records = records_of(source)
    texts = {key: [_text(record.get(key), key, number) for number, record in enumerate(records, 1)] for key in keys}
    return pl.DataFrame(texts, schema=dict.fromkeys(keys, pl.String))


def _text(value: object, key: str, number: int) -> str | None:
    if not is_text(key) or (isinstance(value, str) and not is_text(value)):
        raise wrong_shape(value, f"the value of {key!r}", "text", f"record {number}")
    return value if value is None or isinstance(value, str) else json.dumps(value)


# crowd-kit ------------------------------------------------------------------------------------------------


def recognises_crowd_kit(source: Source) -> bool:
    """Tell crowd-kit's table by its columns: task, worker (formerly performer) and label."""
    return _is_crowd_kit(_names(source))


def _is_crowd_kit(names: set[str]) -> bool:
    return names.issuperset(CROWD_KIT) and not names.isdisjoint(CROWD_WORKER) and "rank" not in names


# Wide -------------------------------------------------------------------------------------------------------


def recognises_wide(source: Source) -> bool:
    """Tell a table with a case column, no condition column, and cells that are not all integers."""
    return _is_matrix_of_labels(source) and not _is_integer_matrix(source.table)


def recognises_cleanlab(source: Source) -> bool:
    """Tell a table with one column per annotator whose cells are integer codes."""
    return _is_matrix_of_labels(source) and _is_integer_matrix(source.table)


def _is_matrix_of_labels(source: Source) -> bool:
    return (
        source.is_table
        and not _has_role(source, "condition")
        and len(source.table.columns) > 1
        and _names(source).isdisjoint(LONG_FORM_ONLY)
    )


def _case_column(table: pl.DataFrame, options: Options) -> str:
    found = find_columns(table.columns, options.columns, required=())
    return found.get("case", table.columns[0])


def _annotator_columns(table: pl.DataFrame, case: str, group: str | None = None) -> list[str]:
    return [name for name in table.columns if name not in (case, group)]


def _is_integer_matrix(table: pl.DataFrame) -> bool:
    cells = table.select(pl.col(_annotator_columns(table, _case_column(table, Options()))).cast(pl.String))
    filled = [column.drop_nulls().str.strip_chars() for column in cells]
    return any(len(column) for column in filled) and all(
        bool(column.str.contains(r"^\d+(\.0*)?$").all()) for column in filled
    )


def parse_wide(source: Source, options: Options) -> Parsed:
    """Read ``a>b=c`` cells: ``>`` separates ranks, ``=`` ties; an empty cell is no opinion."""
    table = _as_table(source)
    case = _case_column(table, options)
    group = find_columns(table.columns, options.columns, required=()).get("group")
    of_case = _one_row_per_case(table, case, group)
    annotators = _annotator_columns(table, case, group)
    rows = LongRows()
    for row in table.cast(pl.String).iter_rows(named=True):
        rows.add_case(row[case])
        for annotator in annotators:
            if row[annotator]:
                rows.add_ranking(row[case], annotator, split_ranking(row[annotator]))
    return Parsed(rows.frame().drop(ROW).join(of_case, on="case", how="left", maintain_order="left"))


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


def split_ranking(cell: str) -> list[list[str]]:
    """Split ``a>b=c`` into blocks.

    >>> split_ranking("Melanoma > Nevus = Hemangioma")
    [['Melanoma'], ['Nevus', 'Hemangioma']]
    """
    return [[name.strip() for name in block.split("=")] for block in cell.split(">")]


def parse_cleanlab(source: Source, options: Options) -> Parsed:
    """Read one integer code per annotator and case; an empty cell is no opinion."""
    table = _as_table(source)
    case = _case_column(table, options)
    group = find_columns(table.columns, options.columns, required=()).get("group")
    of_case = _one_row_per_case(table, case, group)
    annotators = _annotator_columns(table, case, group)
    codes = pl.col("condition").cast(pl.String).str.strip_chars().str.replace(r"\.0*$", "")
    melted = (
        table.with_row_index("position")
        .unpivot(annotators, index=["position", case], variable_name="annotator", value_name="condition")
        .with_columns(codes)
        .with_columns(pl.col(case).cast(pl.String).alias("case"))
    )
    order = pl.col("annotator").cast(pl.Enum(annotators))
    opinions = melted.drop_nulls("condition").sort("position", order, maintain_order=True)
    silent = melted.filter(pl.col("condition").is_null().all().over("position")).unique("position", maintain_order=True)
    lonely = silent.with_columns(annotator=pl.lit(None, pl.String))
    rows = pl.concat([opinions, lonely]).sort("position", maintain_order=True)
    if options.conditions is None:
        raise integers_need_names(rows["condition"].drop_nulls().unique().sort().to_list())
    opinions = rows.select("case", "annotator", "condition")
    return Parsed(opinions.join(of_case, on="case", how="left", maintain_order="left"))


FORMATS = (
    Format("long", "table with one row per mentioned condition", recognises_long, parse_long),
    Format("crowd-kit", "table of task, worker, label", recognises_crowd_kit, parse_long),
    Format("wide", "table with one column per annotator, cells such as a>b=c", recognises_wide, parse_wide),
    Format(
        "cleanlab",
        "table with one column per annotator, cells are codes",
        recognises_cleanlab,
        parse_cleanlab,
    ),
)
