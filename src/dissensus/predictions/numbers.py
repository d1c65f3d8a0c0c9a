"""One number per case, for studies of ratings: a table of cases and numbers, or a list of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dissensus.core.errors import DissensusError
from dissensus.core.receipt import columns_of
from dissensus.predictions.entries import check_one_row_each, predictions_from_numbers
from dissensus.predictions.frames import ALIASES as TABLE_ALIASES
from dissensus.predictions.frames import case_column
from dissensus.predictions.roles import ROWS_BY_POSITION, Understood
from dissensus.study.tables import find_columns, missing_column, normalised, refuse_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dissensus.predictions.lists import Predictions

ALIASES: dict[str, tuple[str, ...]] = {
    "score": ("prediction", "predicted", "number", "value", "score", "rating", "mean", "y_pred"),
    "sd": ("sd", "std", "stddev", "standard_deviation", "sigma"),
}
"""The roles a column can have beside that of the case, and the names it goes by, first choice first."""


def columns_of_numbers(table: pl.DataFrame, given: Mapping[str, str | None]) -> dict[str, str]:
    """Find the columns of cases and numbers, and maybe of standard deviations.

    >>> columns_of_numbers(pl.DataFrame({"case": ["x"], "prediction": [2.5]}), {})
    {'score': 'prediction', 'case': 'case'}
    """
    beside = {role: given.get(role) for role in ALIASES}
    found = find_columns(table.columns, beside, aliases=ALIASES, required=())
    case = case_column(table.drop(found.values()), given=given.get("case"))
    return found if case is None else {**found, "case": case}


def holds_numbers(table: pl.DataFrame, given: Mapping[str, str | None]) -> bool:
    """Tell a table that holds nothing but cases and numbers.

    >>> holds_numbers(pl.DataFrame({"case": ["x"], "prediction": [2.5]}), {})
    True
    >>> holds_numbers(pl.DataFrame({"case": ["x"], "condition": ["a"], "score": [2.5]}), {})
    False
    """
    names = {normalised(name) for name in table.columns}
    if any(given.get(role) for role in ("condition", "rank")) or names & {*TABLE_ALIASES["condition"]}:
        return False
    roles = columns_of_numbers(table, given)
    return "score" in roles and set(roles.values()) == set(table.columns)


def predictions_from_number_table(
    table: pl.DataFrame, *, columns: Mapping[str, str | None], name: str, case_names: Sequence[str] | None
) -> Predictions:
    """Build from one row per case; without a column for the case, ``case_names`` names the rows.

    Examples
    --------
    >>> table = pl.DataFrame({"case": ["x", "y"], "prediction": [2.5, 4.0]})
    >>> predictions_from_number_table(table, columns={}, name="A", case_names=None).numbers
    array([2.5, 4. ])
    """
    roles = columns_of_numbers(table, columns)
    if "score" not in roles:
        raise missing_column("score", ALIASES["score"], table.columns)
    if "case" not in roles and case_names is None:
        raise missing_column("case", TABLE_ALIASES["case"], table.columns)
    named = _named(table, roles, case_names)
    refuse_rows(named, named["case"].is_null() | (named["case"] == ""), "case", "a row has no case")
    check_one_row_each(named["case"].to_list())
    found = {role: _numbers(table, named, roles[role]) for role in ALIASES if role in roles}
    cases = tuple(named["case"].to_list())
    return predictions_from_numbers(found["score"], found.get("sd"), case_names=cases, name=name)


def _named(table: pl.DataFrame, roles: Mapping[str, str], case_names: Sequence[str] | None) -> pl.DataFrame:
    """Return the table with the names of cases as text in a column of their own."""
    if "case" in roles:
        return table.select(pl.col(roles["case"]).cast(pl.String).alias("case"))
    names = tuple(case_names or ())
    if len(names) != len(table):
        raise DissensusError("the rows do not fit the cases", expected=f"{len(names)} rows", got=str(len(table)))
    return pl.DataFrame({"case": names}, schema={"case": pl.String})


def _numbers(table: pl.DataFrame, named: pl.DataFrame, column: str) -> NDArray[np.float64]:
    """Return a column as floats, or say which cell is not a number."""
    numbers = table[column].cast(pl.Float64, strict=False)
    shown = named.with_columns(table[column].alias("score"))
    wrong = ~numbers.is_finite().fill_null(False)
    refuse_rows(shown, wrong, "score", f"the column {column!r} does not hold a number", expected="a finite number")
    return numbers.to_numpy()


def roles_of_numbers(table: pl.DataFrame, given: Mapping[str, str | None]) -> Understood:
    """Tell what the columns of a table of numbers are."""
    roles = columns_of_numbers(table, given)
    told = {"number" if role == "score" else role: column for role, column in roles.items()}
    return Understood(columns_of(table.columns, told, given), () if "case" in roles else (ROWS_BY_POSITION,))


def is_list_of_numbers(array: NDArray[Any]) -> bool:
    """Tell an array with one number per row.

    >>> is_list_of_numbers(np.zeros(3)), is_list_of_numbers(np.zeros((3, 1))), is_list_of_numbers(np.zeros((3, 2)))
    (True, True, False)
    """
    return array.dtype.kind in "biuf" and (array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1))


def predictions_from_list(array: NDArray[Any], case_names: Sequence[str] | None, *, name: str) -> Predictions:
    """Build from numbers in the order of the cases of the study.

    Examples
    --------
    >>> predictions_from_list(np.array([2.5, 4.0]), ["x", "y"], name="A").case_names
    ('x', 'y')
    """
    if case_names is None:
        raise DissensusError(
            "numbers without names need the list of their cases",
            expected="cases=[...] in the order of the numbers",
            got=f"{len(array)} numbers",
            advice="give the list, or save the names too: np.savez(file, predictions=..., case_ids=...)",
        )
    check_one_row_each(case_names)
    return predictions_from_numbers(array.ravel(), None, case_names=case_names, name=name)
