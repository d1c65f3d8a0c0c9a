"""What the columns, keys and arrays of a file of predictions were taken for, and what was assumed beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dissensus.core.receipt import AS_SAID, BY_NAME, Column, codes_in_words, columns_of
from dissensus.predictions.arrays import CASE_KEYS, CONDITION_KEYS, MATRIX_KEYS
from dissensus.predictions.frames import ALIASES, KIND_OF_ROLE, case_column
from dissensus.predictions.lines import KEYS
from dissensus.study.tables import ALIASES as STUDY_ALIASES
from dissensus.study.tables import find_columns, normalised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import polars as pl

    from dissensus.predictions.lists import PredictionKind, Predictions

ROWS_BY_POSITION = "the rows are the cases of the study, in its order"
COLUMNS_BY_POSITION = "the columns are the conditions of the study, in its order"
SETS = "all cells are 0 or 1: they are sets, not scores (kind='scores' says otherwise)"
UNLISTED = {
    "scores": "a condition that a case does not list has the score 0",
    "ranking": "a condition that a case does not list ranks below all others",
    "set": "",
    "numbers": "",
}
"""What the absence of a condition means, by the kind of predictions that do not list all."""

OF_CONDITION = {"scores": "scores of a condition", "set": "membership of a condition", "ranking": "", "numbers": ""}


@dataclass(frozen=True)
class Understood:
    """The role of every column, and what was assumed."""

    columns: tuple[Column, ...] = ()
    assumed: tuple[str, ...] = ()


def roles_of_arrays(arrays: Mapping[str, Any], predictions: Predictions, kind: PredictionKind | None) -> Understood:
    """Tell what the arrays of an npz file are; a file of one nameless array has no names at all."""
    matrix = next((key for key in MATRIX_KEYS if key in arrays), "") or next(
        (key for key in arrays if key not in (*CASE_KEYS, *CONDITION_KEYS)), ""
    )
    cases = next((key for key in CASE_KEYS if key in arrays), "")
    conditions = next((key for key in CONDITION_KEYS if key in arrays), "")
    roles = {matrix: predictions.kind, cases: "case", conditions: "condition"}
    columns = tuple(Column(key, roles.get(key, ""), BY_NAME if key in roles else "") for key in arrays)
    by_position = {ROWS_BY_POSITION: not cases, COLUMNS_BY_POSITION: not conditions and predictions.kind != "numbers"}
    sentences = [sentence for sentence, is_assumed in by_position.items() if is_assumed]
    return Understood(columns, (*sentences, *_sets(predictions, kind)))


def _sets(predictions: Predictions, kind: PredictionKind | None) -> tuple[str, ...]:
    return (SETS,) if predictions.kind == "set" and kind is None else ()


def roles_of_long(
    names: Sequence[str], given: Mapping[str, str | None], predictions: Predictions, kind: PredictionKind | None
) -> Understood:
    """Tell what the columns of a table with one row per listed condition are."""
    found = find_columns(names, given, aliases=ALIASES)
    used = {role: name for role, name in found.items() if KIND_OF_ROLE.get(role, predictions.kind) == predictions.kind}
    spare = {found[role]: f"the predictions are read as {predictions.kind}" for role in found.keys() - used.keys()}
    unlisted = UNLISTED[predictions.kind] or (f"the rows of a case are a set, {AS_SAID}" if kind == "set" else "")
    return Understood(columns_of(names, used, given, unused=spare), (unlisted,) if unlisted else ())


def roles_of_wide(
    table: pl.DataFrame,
    given: str | None,
    conditions: tuple[str, ...] | None,
    predictions: Predictions,
    kind: PredictionKind | None,
) -> Understood:
    """Tell what the columns of a table with one row per case are."""
    case = case_column(table, conditions, given=given)
    by_name = case is not None and normalised(case) in ALIASES["case"]
    reason = AS_SAID if given is not None else BY_NAME if by_name else "as the first column"
    role = OF_CONDITION[predictions.kind]
    columns = tuple(
        Column(name, "case", reason) if name == case else Column(name, role, "as every other column")
        for name in table.columns
    )
    coded = conditions is not None and all(name.isdecimal() for name in table.columns if name != case)
    codes = (codes_in_words(conditions),) if coded and conditions and not set(table.columns) & set(conditions) else ()
    rows = (ROWS_BY_POSITION,) if case is None else ()
    return Understood(columns, (*rows, *codes, *_sets(predictions, kind)))


def roles_of_lines(rows: Sequence[Mapping[str, Any]], predictions: Predictions) -> Understood:
    """Tell what the keys of objects, one per case, are."""
    columns: dict[str, Column] = {}
    for row in rows:
        for key in row:
            columns.setdefault(key, _key(key, predictions.kind))
    unlisted = UNLISTED[predictions.kind]
    return Understood(tuple(columns.values()), (unlisted,) if unlisted else ())


def _key(key: str, kind: PredictionKind) -> Column:
    if normalised(key) in STUDY_ALIASES["case"]:
        return Column(key, "case", BY_NAME)
    if normalised(key) in KEYS[kind]:
        return Column(key, kind, BY_NAME)
    return Column(key, "")
