"""The columns of a source: of a table, or of JSON records that form one."""

from __future__ import annotations

import json

import polars as pl

from dissensus.core.errors import DissensusError
from dissensus.core.files import Source, refuse_scattered
from dissensus.study.reading.prodigy import HASHES as PRODIGY_HASHES
from dissensus.study.reading.records import is_scalar, is_text, records_of, wrong_shape
from dissensus.study.tables import ALIASES, normalised

FINDING = ("finding", "findings", "finding_name")

# Names of columns that only checklists have.
IS_PRESENT = ("present", "is_present", "presence")

LABELS = ("labels", "annotations", *ALIASES["condition"], "conditions")
RESPONSES = ".responses"
FIRST_ROWS = 64
ROLE_NAMES = frozenset(name for names in ALIASES.values() for name in names)


def column_names(source: Source) -> set[str]:
    """Name the columns of a source, folded so that spelling variants compare equal; none if it is no table."""
    columns = source.table.columns if source.is_table else _flat_keys(source)
    return {normalised(name) for name in columns}


def has_role(source: Source, role: str) -> bool:
    """Tell whether a column goes by a usual name of a role."""
    return not column_names(source).isdisjoint(ALIASES[role])


def has_answers(source: Source) -> bool:
    """Tell a long table of checklists: a case, a finding, and whether it is present."""
    names = column_names(source)
    return has_role(source, "case") and not names.isdisjoint(FINDING) and not names.isdisjoint(IS_PRESENT)


def as_table(source: Source) -> pl.DataFrame:
    """Return a table, or JSON records as a table of text."""
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
    refuse_scattered(records, len(keys), str(source.path))
    texts: dict[str, list[str | None]] = {key: [None] * len(records) for key in keys}
    for number, record in enumerate(records):
        for key, value in record.items():
            texts[key][number] = _text(value, key, number + 1)
    return pl.DataFrame(texts, schema=dict.fromkeys(keys, pl.String))


def _flat_keys(source: Source) -> list[str]:
    """Name the keys of JSON records that form a table: what has a role is a single value everywhere."""
    records = records_of(source)
    if not records or not all(isinstance(record, dict) for record in records):
        return []
    keys = list(dict.fromkeys(key for record in records for key in record))
    flat = all(is_scalar(record.get(key)) for key in keys if normalised(key) in ROLE_NAMES for record in records)
    return keys if flat and not any(key in keys for key in PRODIGY_HASHES) else []


def _text(value: object, key: str, number: int) -> str | None:
    if not is_text(key) or (isinstance(value, str) and not is_text(value)):
        raise wrong_shape(value, f"the value of {key!r}", "text", f"record {number}")
    return value if value is None or isinstance(value, str) else json.dumps(value)


def holds_lists(source: Source) -> bool:
    """Tell a table with lists in a column of labels, or of responses."""
    return source.is_table and any(
        is_list(source.table[name])
        for name in source.table.columns
        if normalised(name) in LABELS or name.endswith(RESPONSES)
    )


def is_list(column: pl.Series) -> bool:
    """Tell cells that hold lists, also written as text."""
    if isinstance(column.dtype, pl.List | pl.Array):
        return True
    if column.dtype != pl.String or column.null_count() == len(column):
        return False
    return _are_lists(column.head(FIRST_ROWS)) and _are_lists(column)  # the first rows clear nearly every column


def _are_lists(column: pl.Series) -> bool:
    cells = column.drop_nulls().str.strip_chars()
    return bool((cells.str.starts_with("[") & cells.str.ends_with("]")).all())
