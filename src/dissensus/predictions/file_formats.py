"""The formats of files of predictions: how each is recognised, read, and told of in a receipt."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.core.files import SEPARATORS, is_number, refuse_scattered
from dissensus.core.names import known_name
from dissensus.core.receipt import AS_SAID, BY_NAME, Column, Receipt, codes_in_words, columns_of
from dissensus.predictions import forms
from dissensus.predictions.forms import ALIASES, KIND_OF_ROLE, PredictionOptions
from dissensus.study.tables import find_columns, missing_column, normalised, refuse_repeated_cases, refuse_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dissensus.core.files import Source
    from dissensus.predictions.lists import PredictionKind, Predictions

MATRIX_KEYS = ("probs", "scores", "predictions", "numbers", "probabilities", "logits", "sets", "pred_probs", "arr_0")
CASE_KEYS = ("case_ids", "case_names", "cases", "case_id", "ids")

# Names of the arrays of an npz file, first choice first.
CONDITION_KEYS = ("classes", "conditions", "class_names", "condition_names", "labels")

# The keys under which a record holds a prediction of all its conditions, and what kind it is.
LIST_KEYS: dict[PredictionKind, tuple[str, ...]] = {
    "ranking": ("ranked", "ranking"),
    "set": ("set", "prediction_set"),
    "scores": ("scores", "probs", "probabilities"),
}

# The roles of columns beside the case where a model gives a number per case, and the names they go by.
NUMBER_ALIASES: dict[str, tuple[str, ...]] = {
    "score": ("prediction", "predicted", "number", "value", "score", "rating", "mean", "y_pred"),
    "sd": ("sd", "std", "stddev", "standard_deviation", "sigma"),
}

ONE_SCORE = (*ALIASES["score"], "p")

# Below it a float is the whole number that was written.
MOST_WHOLE = 2**53

ROWS_BY_POSITION = "the rows are the cases of the study, in its order"
COLUMNS_BY_POSITION = "the columns are the conditions of the study, in its order"
SETS = "all cells are 0 or 1: they are sets, not scores (kind='scores' says otherwise)"

# What the absence of a condition means, by the kind of predictions that do not list all.
UNLISTED = {
    "scores": "a condition that a case does not list has the score 0",
    "ranking": "a condition that a case does not list ranks below all others",
}

OUT_OF_RANGE = "alpha_index is out of range"
OF_CONDITION = {"scores": "scores of a condition", "set": "membership of a condition"}


class PredictionFormat(NamedTuple):
    """A format of predictions: its name on the command line, how it is recognised, and how it is read.

    What is read has a receipt with the role of every column and with what was assumed.
    """

    name: str
    recognises: Callable[[Source, PredictionOptions], bool]
    parse: Callable[[Source, PredictionOptions], Predictions]


def _received(said: Predictions, columns: Iterable[Column], assumed: Mapping[str, object]) -> Predictions:
    """Return predictions with the role of every column, and with the sentences that hold."""
    sentences = tuple(sentence for sentence, holds in assumed.items() if holds)
    return said.with_receipt(Receipt("", "", columns=tuple(columns), assumed=sentences))


# Arrays -----------------------------------------------------------------------------------------------


def _parse_arrays(source: Source, options: PredictionOptions) -> Predictions:
    """Read a matrix, and the names of its rows and columns: its own (npz), or those of the study, in their order."""
    arrays = source.content if source.kind == "npz" else {}
    array = _named_matrix(arrays) if source.kind == "npz" else source.content
    if not isinstance(array, np.ndarray):
        raise FormatError("this is not an array file", expected="npy or npz", got=source.kind)
    own_cases, own_conditions = _names(arrays, CASE_KEYS), _names(arrays, CONDITION_KEYS)
    cases = options.cases if own_cases is None else own_cases
    conditions = options.conditions if own_conditions is None else own_conditions
    said = _from_array(array, replace(options, cases=cases, conditions=conditions))
    roles = dict.fromkeys(CASE_KEYS, "case") | dict.fromkeys(CONDITION_KEYS, "condition")
    roles |= {key: said.kind for key in arrays if arrays[key] is array}
    assumed = {ROWS_BY_POSITION: own_cases is None}
    assumed[COLUMNS_BY_POSITION] = own_conditions is None and said.kind != "numbers"
    assumed[SETS] = said.kind == "set" and options.kind is None
    return _received(
        said, (Column(key, roles.get(key, ""), BY_NAME if key in roles else "") for key in arrays), assumed
    )


def _from_array(array: NDArray[Any], options: PredictionOptions) -> Predictions:
    """Build from an array without names; both lists of names are needed, and give the order."""
    is_list = array.dtype.kind in "biuf" and (array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1))
    are_numbers = options.kind == "numbers" or (options.kind is None and options.conditions is None and is_list)
    matrix = array.reshape(-1, 1) if are_numbers else _two_dimensional(array, options.alpha_index)
    needed = {"cases": options.cases} | ({} if are_numbers else {"conditions": options.conditions})
    missing = [what for what, names in needed.items() if names is None]
    if missing:
        raise DissensusError(
            f"{'an array' if are_numbers else 'a matrix'} without names needs its {' and its '.join(missing)}",
            expected="cases=[...] in the order of the rows, conditions=[...] in the order of the columns",
            got=f"a matrix of {matrix.shape[0]} rows and {matrix.shape[1]} columns without {' and '.join(missing)}",
            advice="give the lists, or save the names too: np.savez(file, probs=..., case_ids=..., classes=...)",
        )
    refuse_repeated_cases(options.cases or ())
    if are_numbers:
        return forms.from_numbers(array.ravel(), None, options)
    forms.check_matrix_kind(options.kind)
    is_binary = matrix.dtype.kind in "biu" and bool(((matrix == 0) | (matrix == 1)).all())
    return forms.from_matrix(matrix, replace(options, kind=options.kind or ("set" if is_binary else "scores")))


def _two_dimensional(array: NDArray[Any], alpha_index: int | None) -> NDArray[Any]:
    if array.dtype.kind not in "biuf":
        raise DissensusError("the array does not hold numbers", got=f"an array of {array.dtype}")
    if array.ndim == 3 and array.dtype.kind == "b":
        n_alphas, index = array.shape[2], alpha_index or 0
        if (alpha_index is None and n_alphas != 1) or not 0 <= index < n_alphas:
            raise DissensusError(
                f"the array holds sets for {n_alphas} values of alpha" if alpha_index is None else OUT_OF_RANGE,
                expected="a choice of one of them",
                got="" if alpha_index is None else str(index),
                advice=f"say which: alpha_index=0 to {n_alphas - 1}",
            )
        return array[:, :, index]
    if array.ndim != 2:
        raise DissensusError(
            "the array is not a matrix",
            expected="shape (cases, conditions), or (cases, conditions, alphas) of booleans for sets",
            got=f"shape {array.shape} of {array.dtype}",
            advice="average an ensemble over its members first" if array.ndim == 3 else "",
        )
    return array


def _named_matrix(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    known = [key for key in MATRIX_KEYS if key in arrays]
    found = known or [key for key in arrays if key not in (*CASE_KEYS, *CONDITION_KEYS)]
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
        got, expected = f"shape {values.shape} of {values.dtype}", "a one-dimensional array of text or integers"
        raise FormatError(f"the array {key!r} does not hold names", expected=expected, got=got)
    return tuple(np.char.decode(values, "utf-8").tolist() if values.dtype.kind == "S" else map(str, values.tolist()))


# Rows of numbers --------------------------------------------------------------------------------------


def _recognises_matrix(source: Source, options: PredictionOptions) -> bool:
    """Tell rows of numbers, also in a table whose first row are numbers, unless they are the codes of its columns."""
    if source.kind != "table":
        return source.kind in ("text", "json")
    names = [name.partition("_duplicated_")[0] for name in source.table.columns]
    are_codes = names == [str(code) for code in range(len(names))]
    is_header = are_codes and options.cases is not None and len(options.cases) == len(source.table)
    return not is_header and all(is_number(name) for name in names)


def _parse_matrix(source: Source, options: PredictionOptions) -> Predictions:
    try:
        matrix = np.array(source.content) if source.kind == "json" else matrix_from_text(source.text)
    except ValueError as error:
        if isinstance(error, DissensusError):
            raise
        raise FormatError("the rows of the matrix differ in length", got=str(error)) from error
    return _parse_arrays(replace(source, content=matrix), options)


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
        cells, where = line.split("#")[0].split(separator), f"line {number}"
        if not line.split("#")[0].strip():
            continue
        wrong = [cell for cell in cells if not is_number(cell)]
        if wrong:
            return FormatError("a score is not a number", got=repr(wrong[0].strip()), where=where)
        width = width or len(cells)
        if len(cells) != width:
            expected = f"{width} numbers as in the first row"
            return FormatError("the rows differ in length", expected=expected, got=str(len(cells)), where=where)
    return FormatError("the numbers cannot be read", expected="one row of numbers per case")


# Tables -----------------------------------------------------------------------------------------------


def _is_tabular(source: Source) -> bool:
    return source.is_table or (source.kind == "jsonl" and not _offered(source.content[0] if source.content else {}))


def _table(source: Source) -> pl.DataFrame:
    if source.is_table:
        return source.table
    if source.kind != "jsonl":
        raise FormatError("this is not a table", expected="CSV, TSV, Parquet or JSON lines", got=source.kind)
    refuse_scattered(source.content, len({key for record in source.content for key in record}), str(source.path))
    try:
        return pl.DataFrame(source.content, infer_schema_length=None, strict=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError, OverflowError) as error:
        raise FormatError(
            "the records do not make a table",
            expected="single words and numbers under the same keys in every row, or a list under the key 'ranked'",
            got=str(error).partition(";")[0],
            where=str(source.path),
        ) from error


def _recognises_long(source: Source, options: PredictionOptions) -> bool:
    """Tell a long table from a wide one: it has a column of conditions, of scores or of ranks."""
    if not _is_tabular(source):
        return False
    taken = set(options.names or ()) if source.is_table else set()
    free = {normalised(name) for name in _table(source).columns if name not in taken}
    return any(role in options.columns or not free.isdisjoint(ALIASES[role]) for role in ("condition", "score", "rank"))


def _parse_long(source: Source, options: PredictionOptions) -> Predictions:
    table, given = _table(source), options.columns
    said = forms.from_long(table, options)
    found = find_columns(table.columns, given, aliases=ALIASES)
    used = {role: name for role, name in found.items() if KIND_OF_ROLE.get(role, said.kind) == said.kind}
    spare = {found[role]: f"the predictions are read as {said.kind}" for role in found.keys() - used.keys()}
    assumed = {UNLISTED.get(said.kind, f"the rows of a case are a set, {AS_SAID}"): said.kind != "set" or options.kind}
    return _received(said, columns_of(table.columns, used, given, unused=spare), assumed)


def _parse_wide(source: Source, options: PredictionOptions, table: pl.DataFrame | None = None) -> Predictions:
    """Read one row per case and one column per condition; roles are those of the file, whatever was made of it."""
    given, conditions, own = options.columns.get("case"), options.names or (), _table(source)
    said = forms.from_wide(own if table is None else table, options)
    case = forms.case_column(own, conditions, given=given)
    by_name = case is not None and normalised(case) in ALIASES["case"]
    reason = AS_SAID if given is not None else BY_NAME if by_name else "as the first column"
    role = (OF_CONDITION.get(said.kind, ""), "as every other column")
    columns = (Column(name, *(("case", reason) if name == case else role)) for name in own.columns)
    are_codes = conditions and all(name.isdecimal() for name in own.columns if name != case)
    assumed = {ROWS_BY_POSITION: case is None}
    assumed[codes_in_words(conditions)] = bool(are_codes) and not set(own.columns) & set(conditions)
    assumed[SETS] = said.kind == "set" and options.kind is None
    return _received(said, columns, assumed)


# One number per case ----------------------------------------------------------------------------------


def columns_of_numbers(table: pl.DataFrame, given: Mapping[str, str | None]) -> dict[str, str]:
    """Find the columns of cases and numbers, and maybe of standard deviations.

    >>> columns_of_numbers(pl.DataFrame({"case": ["x"], "prediction": [2.5]}), {})
    {'score': 'prediction', 'case': 'case'}
    """
    beside = {role: given.get(role) for role in NUMBER_ALIASES}
    found = find_columns(table.columns, beside, aliases=NUMBER_ALIASES, required=())
    case = forms.case_column(table.drop(found.values()), given=given.get("case"))
    return found if case is None else {**found, "case": case}


def _recognises_numbers(source: Source, options: PredictionOptions) -> bool:
    """Tell a table of numbers: it is said to be one, or holds one number per case where no conditions are known."""
    if not _is_tabular(source):
        return False
    if options.kind is not None or options.conditions is not None or options.positive is not None:
        return options.kind == "numbers"
    table, given = _table(source), options.columns
    names = {normalised(name) for name in table.columns}
    if any(given.get(role) for role in ("condition", "rank")) or names & {*ALIASES["condition"]}:
        return False
    roles = columns_of_numbers(table, given)
    return "score" in roles and set(roles.values()) == set(table.columns)


def _parse_numbers(source: Source, options: PredictionOptions) -> Predictions:
    table = _table(source)
    roles = columns_of_numbers(table, options.columns)
    if "score" not in roles:
        raise missing_column("score", NUMBER_ALIASES["score"], table.columns)
    cases = forms.row_names(table, roles.get("case"), options.cases)
    _, numbers = forms.numbers_in(table.select(roles[role] for role in NUMBER_ALIASES if role in roles), cases)
    said = forms.from_numbers(numbers[:, 0], numbers[:, 1] if "sd" in roles else None, replace(options, cases=cases))
    told = {"number" if role == "score" else role: column for role, column in roles.items()}
    columns = columns_of(table.columns, told, options.columns)
    return _received(said, columns, {ROWS_BY_POSITION: "case" not in roles})


# One probability per case -----------------------------------------------------------------------------


def probability_column(table: pl.DataFrame, options: PredictionOptions) -> str | None:
    """Find the one column beside the cases: named like one of two conditions, or like a score."""
    known, columns = set(options.names or ()), options.columns
    case = forms.case_column(table, options.names, given=columns.get("case"))
    others = [column for column in table.columns if column != case]
    if len(others) != 1 or columns.get("score") not in (None, others[0]):
        return None
    is_named = others[0] in known and len(known) == 2
    is_score = normalised(others[0]) in ONE_SCORE or columns.get("score") == others[0]
    return others[0] if is_named or (is_score and others[0] not in known) else None


def _recognises_binary(source: Source, options: PredictionOptions) -> bool:
    is_possible = not options.findings and _is_tabular(source)
    return is_possible and probability_column(_table(source), options) is not None


def _parse_binary(source: Source, options: PredictionOptions) -> Predictions:
    """Build scores of both conditions from the probability of one: the other has the rest."""
    table, conditions = _table(source), options.names
    column = probability_column(table, options)
    if column is None or conditions is None or len(conditions) != 2:
        count = "no list of" if conditions is None else len(conditions)
        raise DissensusError(
            "one score per case is enough for two conditions only",
            expected="a study of two conditions, or a score for each condition",
            got=f"{count} conditions, columns {listing(table.columns)}",
            advice="write a row per case and condition (case, condition, score), or a column per condition",
        )
    positive = _positive(column, conditions, options.positive)
    other = next(condition for condition in conditions if condition != positive)
    share = table[column].cast(pl.Float64, strict=False)
    refuse_rows(
        table.with_columns(table[column].alias("probability")),
        ~share.is_between(0, 1).fill_null(False),
        "probability",
        f"a number in the column {column!r} is not a probability",
        expected="a number from 0 to 1 in every row; the other condition has the rest",
        advice="give logits and other scores for both conditions, in a column each",
    )
    both = table.drop(column).with_columns(share.alias(positive), (1 - share).alias(other))
    said = _parse_wide(source, replace(options, kind="scores"), both)
    told = said.receipt or Receipt("", "")
    role = Column(column, f"probability of {positive!r}", AS_SAID if options.positive is not None else BY_NAME)
    assumed = {**dict.fromkeys(told.assumed, True), f"{other!r} has what {positive!r} leaves of 1": True}
    return _received(said, (role if one.name == column else one for one in told.columns), assumed)


def _positive(column: str, conditions: tuple[str, ...], positive: str | None) -> str:
    """Tell the condition whose probability a column holds."""
    if column in conditions and positive in (None, column):
        return column
    if column in conditions:
        raise DissensusError(
            f"the column {column!r} is said to hold the probability of {positive!r}",
            expected=f"positive={column!r}, or nothing",
            advice="rename the column, or leave --positive out",
        )
    if positive is None:
        one, other = conditions
        raise DissensusError(
            f"the column {column!r} does not say whose probability it is",
            expected=f"--positive {one!r} (0.9 means 0.9 for {one!r}, 0.1 for {other!r}) or --positive {other!r}",
            got="no word",
            advice=f"say positive={one!r} or positive={other!r} (--positive), or call the column like the condition",
        )
    return known_name("condition", positive, conditions)


# A list per case --------------------------------------------------------------------------------------


def _offered(row: Mapping[str, Any]) -> dict[PredictionKind, str]:
    """Find the keys of a row that hold a prediction."""
    folded = {normalised(key): key for key in row}
    return {kind: folded[key] for kind, keys in LIST_KEYS.items() for key in keys if key in folded}


def _parse_lines(source: Source, options: PredictionOptions) -> Predictions:
    """Read one object per case, such as ``{"case_id": "c1", "ranked": ["a", ["b", "c"]]}``."""
    if source.kind != "jsonl":
        raise FormatError("this is not JSON lines", expected='one {"case_id": ...} per line', got=source.kind)
    rows = source.content
    kind = options.kind or _kind_of_lines(rows)
    if kind == "numbers":
        got = f"keys {listing(rows[0] if rows else ())}"
        expected = "a number under the key 'prediction'"
        raise FormatError("the rows do not hold a number each", expected=expected, got=got)
    cases = tuple(_case_of_line(row, number) for number, row in enumerate(rows, start=1))
    refuse_repeated_cases(cases)
    places = [f"row {number}, case {case!r}" for number, case in enumerate(cases, start=1)]
    lists = [_content(row, kind, place) for row, place in zip(rows, places, strict=True)]
    if kind == "scores":
        said = forms.from_long(_long_scores(lists, cases, places), replace(options, columns={}, kind=kind))
    else:
        said = forms.from_lists(kind, lists, replace(options, cases=cases))
    roles = dict.fromkeys(LIST_KEYS[kind], kind) | dict.fromkeys(ALIASES["case"], "case")
    found = {key: roles.get(normalised(key), "") for row in rows for key in row}
    columns = (Column(key, role, BY_NAME if role else "") for key, role in found.items())
    return _received(said, columns, {UNLISTED.get(kind, ""): kind in UNLISTED})


def _kind_of_lines(rows: Sequence[Mapping[str, Any]]) -> PredictionKind:
    kinds = {kind: number for number, row in reversed([*enumerate(rows, start=1)]) for kind in _offered(row)}
    if len(kinds) == 1:
        return next(iter(kinds))
    first = "; ".join(f"{kind} in row {number}" for kind, number in sorted(kinds.items()))
    raise FormatError(
        "the file mixes kinds of predictions" if kinds else "the rows hold no predictions",
        expected=f"in every row one of the keys {listing(keys[0] for keys in LIST_KEYS.values())}",
        got=first or f"keys {listing(rows[0] if rows else ())}",
        advice="write one file per kind, or say kind=... if every row has several" if kinds else "",
    )


def _case_of_line(row: Mapping[str, Any], number: int) -> str:
    folded = {normalised(key): row[key] for key in row}
    name = next((folded[alias] for alias in ALIASES["case"] if alias in folded), None)
    if name in (None, ""):
        got, expected = f"keys {listing(row)}", "the name of a case under the key 'case_id'"
        raise FormatError("a row has no case", expected=expected, got=got, where=f"row {number}")
    return str(name)


def _content(row: Mapping[str, Any], kind: PredictionKind, where: str) -> Any:
    content = row.get(_offered(row).get(kind, ""))
    if not isinstance(content, dict if kind == "scores" else list):
        wanted = 'an object such as {"Eczema": 0.7}' if kind == "scores" else "a list of names"
        raise FormatError(
            f"a row has no {kind}" if content is None else f"the {kind} of a row cannot be read",
            expected=f"{wanted} under the key {LIST_KEYS[kind][0]!r}",
            got=f"keys {listing(row)}" if content is None else f"{content!r:.60}",
            where=where,
        )
    return content


def _long_scores(rows: Sequence[Mapping[str, Any]], cases: Sequence[str], places: Sequence[str]) -> pl.DataFrame:
    """Write scores by name as a long table, with a row without a condition for a case that has none."""
    long: list[tuple[str, str | None, float | None]] = []
    for case, row, place in zip(cases, rows, places, strict=True):
        for name, value in row.items():
            is_real = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_real or not abs(value) <= sys.float_info.max:
                problem = "a score is not a finite number" if is_real else "a score is not a number"
                where = f"{place}, condition {name!r}"
                raise DissensusError(problem, expected="a number", got=repr(value), where=where)
        long += [(case, name, value) for name, value in row.items()] or [(case, None, None)]
    schema = {"case": pl.String, "condition": pl.String, "score": pl.Float64}
    return pl.DataFrame(long, schema=schema, orient="row", strict=False)


# All formats; the first that fits a file is taken.
FORMATS = (
    PredictionFormat("npy", lambda source, _: source.kind == "npy", _parse_arrays),
    PredictionFormat("npz", lambda source, _: source.kind == "npz", _parse_arrays),
    PredictionFormat("matrix", _recognises_matrix, _parse_matrix),
    PredictionFormat("numbers", _recognises_numbers, _parse_numbers),
    PredictionFormat("binary", _recognises_binary, _parse_binary),
    PredictionFormat("long", _recognises_long, _parse_long),
    PredictionFormat("wide", lambda source, _: source.is_table, _parse_wide),
    PredictionFormat("jsonl", lambda source, _: source.kind == "jsonl", _parse_lines),
)
