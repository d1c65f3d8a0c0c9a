"""Lists in the cells of tables, and what a list of labels means."""

from __future__ import annotations

import ast
import json
import re
import reprlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import polars as pl

from dissensus.core.aliases import Lists
from dissensus.core.checks import check_choice
from dissensus.core.errors import FormatError
from dissensus.core.files import Source
from dissensus.study.tables import ALIASES, normalised

LABELS = ("labels", "annotations", *ALIASES["condition"], "conditions")
RESPONSES = ".responses"

_ITEM = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[+-]?\d+(?:\.\d*)?|None)"
_FLAT = rf"\[\s*(?:{_ITEM}\s*(?:,\s*{_ITEM}\s*)*,?\s*)?\]"
_EITHER = rf"(?:{_ITEM}|{_FLAT})"
PYTHON_LIST = re.compile(rf"\[\s*(?:{_EITHER}\s*(?:,\s*{_EITHER}\s*)*,?\s*)?\]", re.DOTALL)
"""A list as Python writes it, at most two deep; without commas, as NumPy writes them, neighbours would run together."""


FIRST_ROWS = 64


def holds_lists(source: Source) -> bool:
    """Tell a table with lists in a column of labels, or of responses."""
    return source.is_table and any(
        _is_list(source.table[name])
        for name in source.table.columns
        if normalised(name) in LABELS or name.endswith(RESPONSES)
    )


def _is_list(column: pl.Series) -> bool:
    if isinstance(column.dtype, pl.List | pl.Array):
        return True
    if column.dtype != pl.String or column.null_count() == len(column):
        return False
    return _are_lists(column.head(FIRST_ROWS)) and _are_lists(column)  # the first rows clear nearly every column


def _are_lists(column: pl.Series) -> bool:
    cells = column.drop_nulls().str.strip_chars()
    return bool((cells.str.starts_with("[") & cells.str.ends_with("]")).all())


def unpacked(source: Source) -> Source:
    """Take a table with lists in its cells for records; lists may be written as JSON or Python writes them."""
    if not source.is_table:
        return source
    table = source.table
    table = table.with_columns(
        table[name].cast(pl.List(dtype.inner)) for name, dtype in table.schema.items() if isinstance(dtype, pl.Array)
    )
    texts = [name for name, dtype in table.schema.items() if dtype == pl.String and _is_list(table[name])]
    records = table.to_dicts()
    for number, record in enumerate(records, start=1):
        record.update({name: _list(record[name], name, number) for name in texts})
    return replace(source, kind="jsonl", content=records)


def _python_list(text: str) -> Any:
    if not PYTHON_LIST.fullmatch(text):
        raise ValueError(text)
    return ast.literal_eval(text)


def _list(cell: str | None, column: str, number: int) -> Any:
    if cell is None:
        return None
    for parse in (json.loads, _python_list):
        try:
            return parse(cell.strip())
        except (ValueError, SyntaxError, RecursionError):
            continue
    raise FormatError(
        "a list in a cell is not understood",
        expected="a list such as [\"a\", \"b\"] or ['a', 'b'], with commas between its labels",
        got=f"{cell:.60}",
        where=f"data row {number}, column {column!r}",
    )


# What a list of labels means ----------------------------------------------------------------------------


def meaning(records: Sequence[Mapping[str, Any]], labels: str, annotators: str | None, given: Lists | None) -> Lists:
    """Tell what lists are: as said, or votes if a list of annotators stands beside; anything else would be a guess."""
    if given is not None:
        check_choice("lists", given, get_args(Lists))
        return given
    doubtful = [record for record in records if _is_doubtful(record.get(labels), record.get(annotators or ""))]
    if labels.endswith(RESPONSES) or not doubtful:
        return "votes"
    beside = "" if annotators is None else f" beside {annotators!r}: {reprlib.repr(doubtful[0].get(annotators))}"
    raise FormatError(
        "a list of labels can be votes, an order or a tie",
        expected="a list of as many annotators beside it, or a word: votes (of several annotators, a label each), "
        "order (of one annotator, best first) or tie (of one annotator, all alike)",
        got=f"{labels!r}: {reprlib.repr(doubtful[0][labels])}{beside}; {len(doubtful):,} such lists",
        advice="say which it is: lists='votes', lists='order' or lists='tie' (--lists votes)",
    )


def _is_doubtful(labels: Any, annotators: Any) -> bool:
    """Tell a list of several labels (or one of blocks) beside which no list of annotators stands."""
    if not isinstance(labels, Collection) or isinstance(labels, str | Mapping):
        return False
    several = len(labels) > 1 or any(isinstance(label, list) and len(label) > 1 for label in labels)
    return several and not isinstance(annotators, list) and not (isinstance(annotators, str) and "," in annotators)
