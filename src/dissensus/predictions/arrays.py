"""From arrays to predictions: npy, npz and matrices of numbers as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.delimited import SEPARATORS
from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.predictions.entries import check_one_row_each, predictions_from_scores, predictions_from_sets
from dissensus.predictions.frames import check_matrix_kind, is_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dissensus.predictions.lists import PredictionKind, Predictions

MATRIX_KEYS = ("probs", "scores", "predictions", "numbers", "probabilities", "logits", "sets", "pred_probs", "arr_0")
CASE_KEYS = ("case_ids", "case_names", "cases", "case_id", "ids")
CONDITION_KEYS = ("classes", "conditions", "class_names", "condition_names", "labels")

MOST_WHOLE = 2**53
"""Below it a float is the whole number that was written."""


def predictions_from_array(
    array: NDArray[Any],
    conditions: Sequence[str] | None,
    case_names: Sequence[str] | None,
    *,
    kind: PredictionKind | None,
    name: str,
    alpha_index: int | None = None,
    findings: bool = False,
) -> Predictions:
    """Build from an array without names; both lists of names are needed, and give the order."""
    from dissensus.predictions.numbers import is_list_of_numbers, predictions_from_list

    if kind == "numbers" or (kind is None and conditions is None and is_list_of_numbers(array)):
        return predictions_from_list(array, case_names, name=name)
    matrix = _two_dimensional(array, alpha_index)
    if conditions is None or case_names is None:
        raise _nameless(matrix.shape, conditions, case_names)
    check_one_row_each(case_names)
    is_binary = matrix.dtype.kind in "biu" and bool(((matrix == 0) | (matrix == 1)).all())
    if kind == "set" or (kind is None and is_binary):
        return predictions_from_sets(matrix, conditions, case_names=case_names, name=name)
    check_matrix_kind(kind)
    return predictions_from_scores(matrix, conditions, case_names=case_names, name=name, findings=findings)


def _nameless(
    shape: tuple[int, ...], conditions: Sequence[str] | None, case_names: Sequence[str] | None
) -> DissensusError:
    lists = {"cases": case_names, "conditions": conditions}
    missing = [what for what, names in lists.items() if names is None]
    return DissensusError(
        f"a matrix without names needs the list of its {' and its '.join(missing)}",
        expected="cases=[...] in the order of the rows, conditions=[...] in the order of the columns",
        got=f"a matrix of {shape[0]} rows and {shape[1]} columns without {' and '.join(missing)}",
        advice="give the lists, or save the names too: np.savez(file, probs=..., case_ids=..., classes=...)",
    )


def _two_dimensional(array: NDArray[Any], alpha_index: int | None) -> NDArray[Any]:
    if array.dtype.kind not in "biuf":
        raise DissensusError("the array does not hold numbers", got=f"an array of {array.dtype}")
    if array.ndim == 3 and array.dtype.kind == "b":
        return array[:, :, _chosen_alpha(array.shape[2], alpha_index)]
    if array.ndim != 2:
        advice = "average an ensemble over its members first" if array.ndim == 3 else ""
        raise DissensusError(
            "the array is not a matrix",
            expected="shape (cases, conditions), or (cases, conditions, alphas) of booleans for sets",
            got=f"shape {array.shape} of {array.dtype}",
            advice=advice,
        )
    return array


def _chosen_alpha(n_alphas: int, alpha_index: int | None) -> int:
    if alpha_index is None and n_alphas != 1:
        raise DissensusError(
            f"the array holds sets for {n_alphas} values of alpha",
            expected="a choice of one of them",
            advice=f"say which: alpha_index=0 to {n_alphas - 1}",
        )
    index = alpha_index or 0
    if not 0 <= index < n_alphas:
        raise DissensusError("alpha_index is out of range", expected=f"0 to {n_alphas - 1}", got=str(index))
    return index


# npz --------------------------------------------------------------------------------------------------


def predictions_from_arrays(
    arrays: Mapping[str, NDArray[Any]],
    conditions: Sequence[str] | None,
    case_names: Sequence[str] | None,
    *,
    kind: PredictionKind | None,
    name: str,
    alpha_index: int | None = None,
    findings: bool = False,
) -> Predictions:
    """Build from named arrays: a matrix, and the names of its rows and columns unless they are given."""
    own_cases, own_conditions = _names(arrays, CASE_KEYS), _names(arrays, CONDITION_KEYS)
    return predictions_from_array(
        _named_matrix(arrays),
        conditions if own_conditions is None else own_conditions,
        case_names if own_cases is None else own_cases,
        kind=kind,
        name=name,
        alpha_index=alpha_index,
        findings=findings,
    )


def _named_matrix(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    known = [key for key in MATRIX_KEYS if key in arrays]
    spare = [key for key in arrays if key not in (*CASE_KEYS, *CONDITION_KEYS)]
    found = known or spare
    if len(found) != 1:
        raise FormatError(
            "the file holds several matrices" if found else "the file holds no matrix of predictions",
            expected=f"one array named {', '.join(map(repr, MATRIX_KEYS[:4]))} or the like",
            got=f"arrays {listing(arrays)}",
        )
    return arrays[found[0]]


def _names(arrays: Mapping[str, NDArray[Any]], keys: Sequence[str]) -> tuple[str, ...] | None:
    key = next((key for key in keys if key in arrays), None)
    if key is None:
        return None
    values = arrays[key]
    if values.ndim != 1 or values.dtype.kind not in "USiu":
        raise FormatError(
            f"the array {key!r} does not hold names",
            expected="a one-dimensional array of text or integers",
            got=f"shape {values.shape} of {values.dtype}",
        )
    return tuple(np.char.decode(values, "utf-8").tolist() if values.dtype.kind == "S" else map(str, values.tolist()))


# Text -------------------------------------------------------------------------------------------------


def matrix_from_text(text: str) -> NDArray[Any]:
    """Read rows of numbers, separated by blanks or commas; whole numbers give an array of integers.

    >>> matrix_from_text("0.5 0.5")
    array([[0.5, 0.5]])
    """
    lines = text.splitlines()
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not rows:
        raise FormatError("the file holds no numbers", expected="one row of numbers per case")
    separator = separator_of(rows[0])
    try:
        matrix = np.loadtxt(rows, delimiter=separator, ndmin=2)
    except ValueError as error:
        raise _bad_line(lines, separator) from error
    written = not any("." in row or "e" in row.lower() for row in rows)
    whole = written and bool((np.abs(matrix) < MOST_WHOLE).all()) and bool((matrix == np.round(matrix)).all())
    return matrix.astype(np.int64) if whole else matrix


def separator_of(line: str) -> str | None:
    """Find what separates the cells of a line; nothing stands for blanks."""
    return next((mark for mark in SEPARATORS if mark in line), None)


def _bad_line(lines: Sequence[str], separator: str | None) -> FormatError:
    """Find the first line that is not like the first, or not numbers."""
    width = 0
    for number, line in enumerate(lines, start=1):
        cells = line.split("#")[0].split(separator)
        if not line.split("#")[0].strip():
            continue
        wrong = [cell for cell in cells if not is_number(cell)]
        if wrong:
            return FormatError("a score is not a number", got=repr(wrong[0].strip()), where=f"line {number}")
        width = width or len(cells)
        if len(cells) != width:
            expected = f"{width} numbers as in the first row"
            return FormatError(
                "the rows differ in length", expected=expected, got=str(len(cells)), where=f"line {number}"
            )
    return FormatError("the numbers cannot be read", expected="one row of numbers per case")
