"""Read predictions from the files that people have; the format is recognised from the content."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, get_args

import numpy as np
import polars as pl

from dissensus.core.checks import check_choice, checked
from dissensus.core.errors import DissensusError, FormatError, known_name, listing
from dissensus.core.files import IN_MEMORY, INSPECT, SEPARATORS, Limits, Source, is_number, open_source, polars_frame
from dissensus.core.names import Said
from dissensus.core.receipt import (
    AS_SAID,
    BY_NAME,
    Column,
    Receipt,
    codes_in_words,
    columns_of,
    refuse_unheard,
    warn_of_losses,
)
from dissensus.predictions.lists import (
    DEVIATION,
    NUMBER,
    PredictionKind,
    PredictionOptions,
    Predictions,
    Subject,
    aligned,
    check_predictions,
    from_lists,
    from_matrix,
)
from dissensus.study import tables
from dissensus.study.builders import unknown_condition
from dissensus.study.reading.format import as_list, as_name, as_object, as_table, prepared
from dissensus.study.tables import find_columns, missing_column, normalised, refuse_repeated_cases, refuse_rows

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame
    from numpy.typing import NDArray

    from dissensus.core.arrays import FloatArray, Path

# ``name=path``: the name ends at the first ``=`` without a backslash; a path before it holds a bare slash.
NAMED = re.compile(r"(?P<name>(?:[^=/\\]|\\[=/\\])*)=(?P<path>.*)", re.DOTALL)

# The roles a column of a long table can have, and the names it goes by, first choice first.
ALIASES: dict[str, tuple[str, ...]] = {
    "case": tables.ALIASES["case"],
    "condition": (*tables.ALIASES["condition"], *tables.ONLY_FINDINGS),
    "score": ("score", "probability", "prob", "confidence", "logit", "scores", "probs"),
    "rank": tables.ALIASES["rank"],
}

# Names of a column that holds what a model answers, where no column goes by a name of a condition.
ANSWERS = frozenset(
    (
        *("prediction", "predictions", "predicted", "predicted_label", "predicted_class", "predicted_condition"),
        *("predicted_grade", "pred", "pred_label", "pred_class", "y_pred", "yhat", "y_hat", "answer", "response"),
        *("output", "grade"),
    )
)

KIND_OF_ROLE: dict[str, PredictionKind] = {"score": "scores", "rank": "ranking"}

# The column in which pandas writes an index without a name to Parquet.
PANDAS_INDEX = "__index_level_0__"

# Why a matrix is of neither kind, and what to do.
NO_MATRIX = {
    "numbers": ("one number per case", "give the numbers in one column beside the case"),
    "ranking": ("rankings", "the order of scores is a ranking already; give ranks as a long table"),
}

# Names of the arrays of an npz file, first choice first.
MATRIX_KEYS = ("probs", "scores", "predictions", "numbers", "probabilities", "logits", "sets", "pred_probs", "arr_0")
NAME_KEYS = {
    "case": ("case_ids", "case_names", "cases", "case_id", "ids"),
    "condition": ("classes", "conditions", "class_names", "condition_names", "labels"),
}

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
OF_CONDITION = {"scores": "scores of a condition", "set": "membership of a condition"}

# What is read of a file, the role of its columns, and the sentences that may hold of it.
Told: TypeAlias = "tuple[Predictions, Iterable[Column], Mapping[str, object]]"


class PredictionReading(NamedTuple):
    """What was read, what was understood of it, and the file as it was read."""

    predictions: Predictions
    receipt: Receipt
    source: Source


@checked
def read_predictions(
    path: Any,
    *,
    conditions: Sequence[str] | None = None,
    cases: Sequence[str] | None = None,
    name: str | None = None,
    format: str | None = None,  # noqa: A002 - the word users expect
    columns: Mapping[str, str | None] | None = None,
    kind: PredictionKind | None = None,
    alpha_index: int | None = None,
    positive: str | None = None,
    findings: bool = False,
    binary: bool = False,
    allow_missing: bool = False,
    ignore: Sequence[str] = (),
    only: Mapping[str, str] | None = None,
    sheet: str | None = None,
    limits: Mapping[str, int | str] | None = None,
) -> Predictions:
    r"""Read the predictions of one model.

    Parameters
    ----------
    path
        npy, npz, rows of numbers as text, a wide or long table (CSV, TSV, Parquet, a spreadsheet), JSON lines, JSON
        ``{case: label, ranking or scores}`` or ``{model: {case: ...}}``, an Inspect log; ``"-"`` for standard input; a
        data frame, an array, a dictionary; also ``"name=path"``, where ``=`` and ``/`` in the name have a backslash
        before them.
    conditions, cases
        The names of the study: the predictions are matched to them by name. A matrix without names (npy,
        text) needs both, in the order of its columns and rows.
    name
        Name of the model; by default that of the file without its ending.
    format
        ``"npy"``, ``"npz"``, ``"matrix"``, ``"numbers"``, ``"binary"``, ``"wide"``, ``"long"`` or ``"jsonl"``;
        recognised by default.
    columns
        Column of each role (``case``, ``condition``, ``score``, ``rank``) where it goes by an unusual name.
    kind
        ``"scores"``, ``"ranking"``, ``"set"`` or ``"numbers"`` (one per case, where annotators give ratings), if the
        content leaves a doubt.
    alpha_index
        Which sets to take from an array of shape (cases, conditions, alphas).
    positive
        The condition whose probability a table with one number per case holds, in a study of two conditions.
    findings
        Whether every condition is a question of its own, as in studies of checklists: scores need not add up to 1.
    binary
        Whether annotators were asked for the last of two conditions, which one number per case is the probability of
        then.
    allow_missing
        Keep the cases that the study and the predictions share rather than insist on the same cases.
    ignore, only, sheet
        Columns to leave out, rows to read, and the sheet of a spreadsheet, as in :func:`read`.
    limits
        What a file may ask for, for example ``{"columns": 200_000, "memory": "32GB"}``; see the page on formats.

    Raises
    ------
    DissensusError
        If the file cannot be understood; the message says what, where, and what to do.

    Warns
    -----
    DissensusWarning
        If ``allow_missing`` left cases out; ``examine_predictions`` tells which.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "A.csv")
    ...     _ = file.write_text("case_id,Eczema,Tinea\nc1,0.2,0.8\n", encoding="utf-8")
    ...     read_predictions(file, conditions=["Tinea", "Eczema"], cases=["c1"]).to_scores()
    array([[0.8, 0.2]])
    """
    reading = examine_predictions(**locals())  # every parameter under its own name
    warn_of_losses(path, reading.receipt)
    return reading.predictions


@checked
def read_models(paths: Sequence[Path], **options: Any) -> dict[str, Predictions]:
    r"""Read several models, each from ``"name=path"`` or a path.

    The ``options`` are the parameters of :func:`read_predictions`, for all models alike.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "a.csv")
    ...     _ = file.write_text("case,Eczema,Tinea\nc1,0.2,0.8\n", encoding="utf-8")
    ...     list(read_models([f"Aster={file}"], cases=["c1"]))
    ['Aster']
    """
    return {name: read_predictions(place, name=name, **options) for name, place in named_paths(paths).items()}


def named_paths(paths: Sequence[Path]) -> dict[str, FilePath]:
    """Split several ``"name=path"``; no two models may share a name.

    >>> named_paths(["A=a.npy", "b.npy"])
    {'A': PosixPath('a.npy'), 'b': PosixPath('b.npy')}
    """
    places: dict[str, FilePath] = {}
    for name, place in map(named_path, paths):
        if name in places:
            got, advice = f"{places[name]} and {place}", "give each a name of its own: NAME=FILE"
            raise DissensusError(f"two models have the name {name!r}", got=got, advice=advice)
        places[name] = place
    return places


def examine_predictions(
    path: Any,
    *,
    name: str | None = None,
    format: str | None = None,  # noqa: A002 - the word users expect
    allow_missing: bool = False,
    ignore: Sequence[str] = (),
    only: Mapping[str, str] | None = None,
    sheet: str | None = None,
    limits: Mapping[str, int | str] | None = None,
    may_lack: bool = False,
    **said: Any,
) -> PredictionReading:
    """Read predictions and tell what was understood of the file; parameters are those of :func:`read_predictions`.

    The file ``may_lack`` what is to be ignored, and what roles are given.
    """
    own_name, place = named_path(path) if isinstance(path, str | PathLike) else ("model", path)
    names = {what: tuple(said.pop(what)) for what in ("conditions", "cases") if said.get(what) is not None}
    options = PredictionOptions(name or own_name, columns=said.pop("columns", None) or {}, **{**said, **names})
    allowed = Limits.given(limits)
    by_case = isinstance(path, Mapping) and not set(options.cases or ()).isdisjoint(path)  # rather than by column
    source = (
        Source(IN_MEMORY, "json", dict(path)) if by_case else open_source(place, allowed, headless=True, sheet=sheet)
    )
    if source.kind == "directory":
        raise FormatError("this is a directory", expected="a file of predictions", where=str(place))
    first = source.content.lstrip().partition("\n")[0] if source.kind == "text" else ""
    mark = _separator(first)
    if mark is not None and not all(is_number(cell) for cell in first.split(mark)):  # a table with a header
        source = source.as_table(limits=allowed, headless=True)
    how: dict[str, Any] = {"ignore": ignore, "only": only, "lists": False, "may_lack": may_lack}
    if may_lack and source.is_table:
        options = replace(options, columns=roles_here(options.columns, source.table.columns))
    source = prepared(_as_records(source, options), options.columns, **how)
    if source.path.suffix.lower() == INSPECT:  # by which rows may have been chosen
        source = replace(source, content=source.table.drop("epoch", "model"))
    return examine_source(source, format, options=options, allow_missing=allow_missing)


def _as_records(source: Source, options: PredictionOptions) -> Source:
    """Take JSON for records: a list of them, ``{case: prediction}`` or ``{model: {case: prediction}}``."""
    content = source.content
    if source.path.suffix.lower() == INSPECT:
        table = source.table.select("case", "epoch", "answer", "model").unique(maintain_order=True)
        return replace(source, content=table.rename({"answer": "condition"}))
    if source.kind != "json" or not content:
        return source
    if isinstance(content, list):
        are_records = all(isinstance(item, dict) for item in content)
        return replace(source, kind="jsonl") if are_records else source
    if not {normalised(key) for key in content}.isdisjoint(ALIASES["case"]):
        return replace(source, kind="jsonl", content=[content])
    cases, inner = set(options.cases or ()), [one for one in content.values() if isinstance(one, dict)]
    words = any(not isinstance(value, int | float) for one in inner for value in one.values())
    by_model = any(not cases.isdisjoint(one) for one in inner) if cases else words
    if by_model and len(inner) == len(content) and cases.isdisjoint(content):
        if options.name not in content and len(content) > 1:
            raise FormatError(
                "the file holds several models",
                expected="the name of one of them",
                got=listing(content, most=12),
                where=str(source.path),
                advice=f"say which: --predictions {next(iter(content))}={source.path} (name=...), once for each model",
            )
        content = content.get(options.name, next(iter(content.values())))
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in content.values()):
        table = pl.DataFrame({"case": list(content), "score": list(map(repr, content.values()))})
        return replace(source, kind="parquet", content=table)
    records = [
        {"case": case, "scores" if isinstance(one, dict) else "ranked": [one] if isinstance(one, str) else one}
        for case, one in content.items()
    ]
    return replace(source, kind="jsonl", content=records)


def examine_source(
    source: Source,
    format: str | None = None,  # noqa: A002 - the word users expect
    *,
    options: PredictionOptions,
    allow_missing: bool = False,
) -> PredictionReading:
    """Read what is open already, as :func:`examine_predictions` does.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"case": ["c1"], "Eczema": [0.2], "Tinea": [0.8]})
    >>> source = Source(FilePath("scores"), "parquet", table)
    >>> examine_source(source, options=PredictionOptions("A")).predictions.to_scores()
    array([[0.2, 0.8]])
    """
    place, is_table = str(source.path), source.is_table and format is None
    try:
        answers = column_of_answers(source.table, options) if is_table else {}
        options = replace(options, columns={**options.columns, **answers})
        name = format or _recognised(source, options)
        said, columns, assumed = FORMATS[known_name("format", name, FORMATS, purpose="of predictions")](source, options)
        columns = tuple(columns)
        refuse_unheard(options.columns, columns, f"the format {name}")
        for name_of in answers.values():
            why = BY_NAME if normalised(name_of) in ANSWERS else "as the only column beside the case"
            columns = tuple(replace(one, reason=why) if one.name == name_of else one for one in columns)
        predictions, notes = aligned(said, options.cases, options.names, allow_missing=allow_missing)
    except DissensusError as error:
        raise error.at(place) from None
    told = tuple(sentence for sentence, holds in assumed.items() if holds)
    notes = (*notes, *check_predictions(predictions, findings=options.findings))
    known: dict[str, Any] = {"columns": columns, "assumed": told, "notes": notes, "examples": predictions.examples()}
    receipt = Receipt(place, name, format is not None, **known)
    return PredictionReading(predictions.with_receipt(receipt), receipt, replace(source, content=None))


def named_path(path: Path) -> tuple[str, FilePath]:
    r"""Split ``"name=path"``; a path alone is named after its file.

    A name that holds ``=``, ``/`` or a backslash has a backslash before each of them.

    >>> named_path("A=models/a.npy")
    ('A', PosixPath('models/a.npy'))
    >>> named_path("models/a.npy")
    ('a', PosixPath('models/a.npy'))
    >>> named_path(r"meta\/A\=B=models/a.npy")
    ('meta/A=B', PosixPath('models/a.npy'))
    """
    text = str(path)
    split = None if isinstance(path, FilePath) else NAMED.fullmatch(text)
    if split is None or FilePath(path).exists():
        return FilePath(path).stem, FilePath(path)
    name, rest = re.sub(r"\\([=/\\])", r"\1", split["name"]).strip(), split["path"].strip()
    if not name or not rest:
        raise DissensusError("a model needs a name and a file", expected="NAME=FILE", got=repr(text))
    return name, FilePath(rest)


def _recognised(source: Source, options: PredictionOptions) -> str:
    """Tell the format by the kind of the file, and that of a table by its columns."""
    if source.kind in ("npy", "npz", "text", "json"):
        return "matrix" if source.kind in ("text", "json") else source.kind
    if source.kind == "jsonl" and _offered(source.content[0]):
        return "jsonl"
    table, given, known = as_table(source), options.columns, set(options.names or ())
    if source.kind == "table":  # rows of numbers, unless the first are the codes of the columns
        heads = [name.partition("_duplicated_")[0] for name in table.columns]
        are_codes = heads == [str(code) for code in range(len(heads))]
        is_header = are_codes and options.cases is not None and len(options.cases) == len(table)
        if not is_header and all(map(is_number, heads)):
            return "matrix"
    names = {normalised(name) for name in table.columns}
    if options.kind is None and options.conditions is None and options.positive is None:
        roles = _columns_of_numbers(table, given)
        lists = any(given.get(role) for role in ("condition", "rank")) or names & {*ALIASES["condition"]}
        if not lists and "score" in roles and set(roles.values()) == set(table.columns):
            return "numbers"
    if options.kind == "numbers":
        return "numbers"
    if not options.findings and _probability_column(table, options) is not None:
        return "binary"
    free = {normalised(name) for name in table.columns if not (source.is_table and name in known)}
    if any(role in given or not free.isdisjoint(ALIASES[role]) for role in ("condition", "score", "rank")):
        return "long"
    return "wide" if source.is_table else "jsonl"


# Arrays -----------------------------------------------------------------------------------------------


def _arrays(source: Source, options: PredictionOptions) -> Told:
    """Read a matrix, and the names of its rows and columns: its own (npz), or those of the study, in their order."""
    arrays = source.content if source.kind == "npz" else {"": source.content}
    roles = {key: role for role, keys in NAME_KEYS.items() for key in keys}
    found = [key for key in MATRIX_KEYS if key in arrays] or [key for key in arrays if key not in roles]
    if len(found) != 1:
        raise FormatError(
            "the file holds several matrices" if found else "the file holds no matrix of predictions",
            expected=f"one array named {', '.join(map(repr, MATRIX_KEYS[:4]))} or the like",
            got=f"arrays {listing(arrays)}",
        )
    array = arrays[found[0]]
    if not isinstance(array, np.ndarray):
        raise FormatError("this is not an array file", expected="npy or npz", got=source.kind)
    own = {role: _names(arrays, role) for role in NAME_KEYS}
    cases = options.cases if own["case"] is None else own["case"]
    conditions = options.conditions if own["condition"] is None else own["condition"]
    said = _from_array(array, replace(options, cases=cases, conditions=conditions))
    roles[found[0]] = said.kind
    columns = (Column(key, roles.get(key, ""), BY_NAME if key in roles else "") for key in arrays if key)
    by_position = own["condition"] is None and said.kind != "numbers"
    assumed = {ROWS_BY_POSITION: own["case"] is None, COLUMNS_BY_POSITION: by_position}
    return said, columns, {**assumed, SETS: said.kind == "set" and options.kind is None}


def _from_array(array: NDArray[Any], options: PredictionOptions) -> Predictions:
    """Build from an array without names; both lists of names are needed, and give the order."""
    is_list = array.dtype.kind in "biuf" and (array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1))
    if options.kind == "numbers" or (options.kind is None and options.conditions is None and is_list):
        array, options = array.reshape(-1, 1), replace(options, conditions=(NUMBER,), kind="numbers")
    elif array.ndim == 3 and array.dtype.kind == "b":
        n_alphas, index = array.shape[2], options.alpha_index or 0
        if (options.alpha_index is None and n_alphas != 1) or not 0 <= index < n_alphas:
            problem, got = "alpha_index is out of range", str(index)
            if options.alpha_index is None:
                problem, got = f"the array holds sets for {n_alphas} values of alpha", ""
            advice = f"say which: alpha_index=0 to {n_alphas - 1}"
            raise DissensusError(problem, expected="a choice of one of them", got=got, advice=advice)
        array = array[:, :, index]
    missing = [what for what in ("cases", "conditions") if getattr(options, what) is None]
    if missing:
        raise DissensusError(
            f"{'an array' if options.kind == 'numbers' else 'a matrix'} without names needs its "
            f"{' and its '.join(missing)}",
            expected="cases=[...] in the order of the rows, conditions=[...] in the order of the columns",
            got=f"an array of shape {array.shape} without {' and '.join(missing)}",
            advice="give the lists, or save the names too: np.savez(file, probs=..., case_ids=..., classes=...)",
        )
    refuse_repeated_cases(options.cases or ())
    if options.kind != "numbers":
        is_binary = array.dtype.kind in "biu" and bool(((array == 0) | (array == 1)).all())
        options = replace(options, kind=kind_of_matrix(options, are_binary=is_binary))
    return from_matrix(array, options)


def _names(arrays: Mapping[str, NDArray[Any]], role: str) -> tuple[str, ...] | None:
    key = next((key for key in NAME_KEYS[role] if key in arrays), None)
    if key is None:
        return None
    values = arrays[key]
    if values.ndim != 1 or values.dtype.kind not in "USiu":
        got, expected = f"shape {values.shape} of {values.dtype}", "a one-dimensional array of text or integers"
        raise FormatError(f"the array {key!r} does not hold names", expected=expected, got=got)
    return tuple(np.char.decode(values, "utf-8").tolist() if values.dtype.kind == "S" else map(str, values.tolist()))


# Rows of numbers --------------------------------------------------------------------------------------


def _matrix(source: Source, options: PredictionOptions) -> Told:
    """Read rows of numbers, separated by blanks or commas; whole numbers give an array of integers."""
    if source.kind == "json":
        try:
            matrix = np.array(source.content)
        except ValueError as error:
            raise FormatError("the rows of the matrix differ in length", got=str(error)) from error
        return _arrays(replace(source, content=matrix), options)
    lines = source.text.splitlines()
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not rows:
        raise FormatError("the file holds no numbers", expected="one row of numbers per case")
    separator = _separator(rows[0])
    try:
        matrix = np.loadtxt(rows, delimiter=separator, ndmin=2)
    except ValueError as error:
        raise _bad_line(lines, separator) from error
    written = not any("." in row or "e" in row.lower() for row in rows)
    whole = written and bool((np.abs(matrix) < MOST_WHOLE).all()) and bool((matrix == np.round(matrix)).all())
    return _arrays(replace(source, content=matrix.astype(np.int64) if whole else matrix), options)


def _separator(line: str) -> str | None:
    """Find what separates the cells of a line; nothing stands for blanks."""
    return next((mark for mark in SEPARATORS if mark in line), None)


def _bad_line(lines: Sequence[str], separator: str | None) -> FormatError:
    """Find the first line that is not like the first, or not numbers."""
    split = {number: line.split("#")[0].split(separator) for number, line in enumerate(lines, start=1)}
    filled = {number: cells for number, cells in split.items() if "".join(cells).strip()}
    width = len(next(iter(filled.values()), ()))
    for number, cells in filled.items():
        wrong = [cell for cell in cells if not is_number(cell)]
        if wrong:
            return FormatError("a score is not a number", got=repr(wrong[0].strip()), where=f"line {number}")
        if len(cells) != width:
            expected = f"{width} numbers as in the first row"
            return FormatError(
                "the rows differ in length", expected=expected, got=str(len(cells)), where=f"line {number}"
            )
    return FormatError("the numbers cannot be read", expected="one row of numbers per case")


# Tables -----------------------------------------------------------------------------------------------


def from_long(frame: IntoDataFrame, options: PredictionOptions) -> Predictions:
    """Build from any data frame, without a Python loop over rows; see :meth:`Predictions.from_long`."""
    table = polars_frame(frame)
    roles = tables.find_columns(table.columns, options.columns, aliases=ALIASES)
    kind = _kind_of_rows(table, roles, options)
    needed = {role: column for role, column in roles.items() if KIND_OF_ROLE.get(role, kind) == kind}
    table, _ = tables.without_declarations(tables.tidied(tables.with_roles(table, needed)))
    case, case_names = tables.case_codes(table["case"])
    codes, known = tables.label_codes(table, options.names)
    role, is_ranking = ("rank", True) if kind == "ranking" else ("score", False)
    # a number per row that is larger for better conditions
    values = -np.arange(len(table), dtype=np.float64) if is_ranking else np.ones(len(table))
    if kind != "set" and role in table.columns:
        numbers, silent = table[role], table["condition"].is_null()
        tables.refuse_rows(table, numbers.is_not_null() & silent, role, f"a row has a {role} but no condition")
        fits = numbers.is_finite() & (numbers > 0) if is_ranking else numbers.is_finite()
        problem = "a rank must be a positive number; 1 is best" if is_ranking else "a score is not a finite number"
        tables.refuse_rows(table, ~fits.fill_null(False) & ~silent, role, problem)
        values = (-1.0 if is_ranking else 1.0) * numbers.fill_null(0.0).to_numpy()
    subject, listed = Subject(options.name, known, case_names, options.findings), codes >= 0
    return subject.with_some(kind, case[listed], codes[listed], values[listed])


def _kind_of_rows(table: pl.DataFrame, roles: Mapping[str, str], options: PredictionOptions) -> PredictionKind:
    """Settle what the rows mean: what is asked for, or what the one column of numbers says.

    Rows without a number are certain if a case has one label; several need a word, unless they are findings, which are
    all present.
    """
    kind = options.kind
    check_choice("kind", kind or "scores", get_args(PredictionKind))
    offered = [KIND_OF_ROLE[role] for role in roles if role in KIND_OF_ROLE]
    if not offered and kind is None and options.findings:
        return "set"
    spare = [column for column in table.drop(roles.values()) if len(column.drop_nulls()) and not holds_text(column)]
    if not offered and kind != "set" and not spare:  # a spare column of numbers may be the score
        several = table.drop_nulls(roles["condition"])[roles["case"]].is_duplicated()
        if not several.any() or kind == "ranking":
            return kind or "ranking"
        raise DissensusError(
            "a case has several labels, and no score or rank",
            expected="one label per case, a column 'score' or 'rank', or a word: set or ranking (by the order of rows)",
            got=f"{several.sum()} such rows; columns {listing(table.columns, most=12)}",
            advice="say kind='set' or kind='ranking' (--kind set)",
        )
    if kind in KIND_OF_ROLE.values() and kind not in offered:
        role = "score" if kind == "scores" else "rank"
        raise tables.missing_column([role], ALIASES, table.columns)
    if kind is not None or len(offered) == 1:
        return kind or offered[0]
    both = ("the table has scores and ranks", "one of them", "say which counts: kind='scores' or kind='ranking'")
    none = "the table has no score column and no rank column", "a column named 'score' or 'rank' or the like"
    rename = "rename the column, or say kind='set' if the rows of a case are a set"
    problem, expected, advice = both if offered else (*none, rename)
    raise DissensusError(problem, expected=expected, got=f"columns {listing(table.columns, most=12)}", advice=advice)


def from_wide(frame: IntoDataFrame, options: PredictionOptions) -> Predictions:
    """Build from one row per case and one column per condition; see :meth:`Predictions.from_wide`.

    Without a column for the case, ``options.cases`` names the rows.
    """
    table = polars_frame(frame)
    column = case_column(table, options.names, given=options.columns.get("case"))
    rows = row_names(table, column, options.cases)
    cells, conditions = table if column is None else table.drop(column), options.names
    columns, known = cells.columns, conditions or cells.columns
    repeated = [name.rpartition("_duplicated_")[0] for name in columns if name.rpartition("_duplicated_")[0] in columns]
    if repeated:
        raise DissensusError(f"condition {repeated[0]!r} has several columns", expected="one column per condition")
    are_codes = all(map(is_number, columns)) and not set(columns) <= set(conditions or ())  # which need a list
    if are_codes and not all(name.isdecimal() for name in columns):
        got, expected = f"numbers: {listing(columns)}", "the names of conditions in the first row"
        raise DissensusError("the table seems to have no header", expected=expected, got=got)
    if are_codes and conditions is None:
        raise tables.integers_need_names(columns)
    named = {str(code): name for code, name in enumerate(known)} if are_codes else {name: name for name in known}
    keys = {name: str(int(name)) if are_codes else name for name in columns}
    unknown = [name for name, key in keys.items() if key not in named]
    if unknown:
        raise unknown_condition(unknown[0], conditions or (), f"columns {listing(unknown)}")
    names = tuple(named[key] for key in keys.values())
    binary, matrix = numbers_in(cells, rows)
    kind = kind_of_matrix(options, are_binary=binary)
    return from_matrix(matrix, replace(options, conditions=names, cases=rows, kind=kind))


def kind_of_matrix(options: PredictionOptions, *, are_binary: bool) -> PredictionKind:
    """Tell scores from sets, as said or by what cells hold; a matrix is neither rankings nor one number per case."""
    kind = options.kind or ("set" if are_binary else "scores")
    check_choice("kind", kind, get_args(PredictionKind))
    if kind in NO_MATRIX:
        what, advice = NO_MATRIX[kind]
        expected = "kind='scores' or kind='set'"
        raise DissensusError(f"a matrix holds scores or sets, not {what}", expected=expected, advice=advice)
    return kind


def case_column(
    table: pl.DataFrame, conditions: Sequence[str] | None = None, *, given: str | None = None
) -> str | None:
    """Find the column with the names of cases: given, by a usual name, or the first if it holds text."""
    free = [column for column in table.columns if column not in set(conditions or ())]
    found = tables.find_columns(free, {"case": given}, aliases={"case": ALIASES["case"]}, required=())
    usual = found.get("case") or (PANDAS_INDEX if PANDAS_INDEX in free else None)
    if usual is not None or not free or free[0] != table.columns[0]:
        return usual
    return free[0] if free[0] == "" or holds_text(table[free[0]]) else None


def holds_text(column: pl.Series) -> bool:
    """Tell whether a cell of a column is no number."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return False
    text = column.cast(pl.String)
    return text.cast(pl.Float64, strict=False).null_count() > text.null_count()


def roles_here(given: Said, names: Collection[str]) -> dict[str, str]:
    """Keep what is said of columns that a file has, in roles that predictions have.

    >>> roles_here({"case": "patient", "condition": "dx", "annotator": "reader"}, ["patient", "reader", "score"])
    {'case': 'patient'}
    """
    return {role: name for role, name in given.items() if role in ALIASES and name is not None and name in names}


def column_of_answers(table: pl.DataFrame, options: PredictionOptions) -> dict[str, str]:
    """Find the role of the one column that is called like an answer, or stands alone beside the cases.

    Text, and whole numbers, are conditions; numbers with fractions are scores. There is none where a column goes by the
    name of a condition, or by that of the role.

    >>> asked = PredictionOptions(conditions=["Eczema", "Tinea"])
    >>> column_of_answers(pl.DataFrame({"case": ["c1"], "model_a": ["Tinea"]}), asked)
    {'condition': 'model_a'}
    """
    names, given = set(options.names or ()), options.columns
    case = case_column(table, options.names, given=given.get("case"))
    others = [name for name in table.columns if name != case]
    is_settled = (
        options.findings or case is None or not names or not given.keys().isdisjoint(("condition", *KIND_OF_ROLE))
    )
    if is_settled or not names.isdisjoint(others):
        return {}
    called = [name for name in others if normalised(name) in ANSWERS]
    rivals = [name for name in others if normalised(name) in ALIASES["condition"]]
    if called and rivals:
        raise DissensusError(
            "two columns could be the answers of the model",
            expected="one of them",
            got=f"{rivals[0]!r} and {called[0]!r}",
            advice=f"leave out what is no answer (--ignore {rivals[0]} or --ignore {called[0]}), or rename it",
        )
    has_role = {normalised(name) for name in others} & {*ALIASES["score"], *ALIASES["rank"], "p"}
    found = called or ([] if rivals or has_role else others)
    if len(found) != 1 or is_number(found[0]):
        return {}
    numbers = None if holds_text(table[found[0]]) else table[found[0]].cast(pl.Float64, strict=False).drop_nulls()
    is_scored = numbers is not None and bool((numbers != numbers.round()).any())
    return {("score" if is_scored else "condition"): found[0]}


def row_names(table: pl.DataFrame, column: str | None, given: Sequence[str] | None) -> tuple[str, ...]:
    """Name the case of each row: by a column, or as given where there is none."""
    if column is None:
        if given is None:
            raise tables.missing_column(["case"], ALIASES, table.columns)
        return tuple(given)
    return tuple(tables.one_row_each(table.select(pl.col(column).cast(pl.String).alias("case"))))


def numbers_in(cells: pl.DataFrame, case_names: Sequence[str]) -> tuple[bool, FloatArray]:
    """Return the cells as a matrix, and whether they are booleans or the integers 0 and 1."""
    nested = [column for column, dtype in cells.schema.items() if dtype.is_nested()]
    if nested:
        raise DissensusError("a cell holds several values", expected="a number", where=f"column {nested[0]!r}")
    text = [column for column, dtype in cells.schema.items() if dtype == pl.String]
    if text:
        tidy = pl.col(text).str.strip_chars().str.to_lowercase().replace({"true": "1", "false": "0", "": None})
        cells = cells.with_columns(tidy)
    whole = [name for name, dtype in cells.schema.items() if dtype.is_integer() or dtype == pl.Boolean or name in text]
    is_binary = (cells[name].cast(pl.String).is_in(("0", "1", "true", "false")).all() for name in whole)
    binary = len(whole) == cells.width and all(is_binary)
    numbers = cells.select(pl.all().cast(pl.Float64, strict=False))
    for column in (name for name in cells.columns if numbers[name].null_count()):
        row = numbers[column].is_null().arg_max() or 0
        value = cells[column][row]
        case = f", case {case_names[row]!r}" if row < len(case_names) else ""
        raise DissensusError(
            "a score is missing" if value is None else "a score is not a number",
            expected="a number for every case and condition",
            got="an empty cell" if value is None else repr(value),
            where=f"row {row + 1}{case}, column {column!r}",
        )
    return binary, numbers.to_numpy().astype(np.float64)


def _long(source: Source, options: PredictionOptions) -> Told:
    table, given = as_table(source), options.columns
    said = from_long(table, options)
    found = find_columns(table.columns, given, aliases=ALIASES)
    used = {role: name for role, name in found.items() if KIND_OF_ROLE.get(role, said.kind) == said.kind}
    spare = {found[role]: f"the predictions are read as {said.kind}" for role in found.keys() - used.keys()}
    assumed = {UNLISTED.get(said.kind, f"the rows of a case are a set, {AS_SAID}"): said.kind != "set" or options.kind}
    return said, columns_of(table.columns, used, given, why=spare), assumed


def _wide(source: Source, options: PredictionOptions, said: Predictions | None = None) -> Told:
    """Read one row per case and one column per condition, unless they were made something else of already."""
    table = as_table(source)
    said = from_wide(table, options) if said is None else said
    given, conditions = options.columns.get("case"), options.names or ()
    case = case_column(table, conditions, given=given)
    by_name = case is not None and normalised(case) in ALIASES["case"]
    reason = AS_SAID if given is not None else BY_NAME if by_name else "as the first column"
    role = (OF_CONDITION.get(said.kind, ""), "as every other column")
    columns = (Column(name, *(("case", reason) if name == case else role)) for name in table.columns)
    are_codes = conditions and all(name.isdecimal() for name in table.columns if name != case)
    assumed = {ROWS_BY_POSITION: case is None}
    assumed[codes_in_words(conditions)] = bool(are_codes) and not set(table.columns) & set(conditions)
    return said, columns, {**assumed, SETS: said.kind == "set" and options.kind is None}


def _columns_of_numbers(table: pl.DataFrame, given: Mapping[str, str | None]) -> dict[str, str]:
    """Find the columns of cases and numbers, and maybe of standard deviations."""
    beside = {role: given.get(role) for role in NUMBER_ALIASES}
    found = find_columns(table.columns, beside, aliases=NUMBER_ALIASES, required=())
    case = case_column(table.drop(found.values()), given=given.get("case"))
    others = [name for name in table.columns if name != case]
    if not found and case is not None and len(others) == 1 and not holds_text(table[others[0]]):
        found = {"score": others[0]}  # whatever it is called
    return found if case is None else {**found, "case": case}


def _numbers(source: Source, options: PredictionOptions) -> Told:
    """Read one number per case."""
    table = as_table(source)
    roles = _columns_of_numbers(table, options.columns)
    if "score" not in roles:
        raise missing_column(["score"], NUMBER_ALIASES, table.columns)
    cases = row_names(table, roles.get("case"), options.cases)
    _, numbers = numbers_in(table.select(roles[role] for role in NUMBER_ALIASES if role in roles), cases)
    names = (NUMBER, DEVIATION)[: numbers.shape[1]]
    said = from_matrix(numbers, replace(options, conditions=names, cases=cases, kind="numbers"))
    told = {"number" if role == "score" else role: column for role, column in roles.items()}
    given = {**options.columns, "number": options.columns.get("score")}
    return said, columns_of(table.columns, told, given), {ROWS_BY_POSITION: "case" not in roles}


# One probability per case -----------------------------------------------------------------------------


def _probability_column(table: pl.DataFrame, options: PredictionOptions) -> str | None:
    """Find the one column beside the cases: named like one of two conditions, or like a score."""
    known, columns = set(options.names or ()), options.columns
    case = case_column(table, options.names, given=columns.get("case"))
    others = [column for column in table.columns if column != case]
    if len(others) != 1 or columns.get("score") not in (None, others[0]):
        return None
    is_named = others[0] in known and len(known) == 2
    is_score = normalised(others[0]) in (*ALIASES["score"], "p") or columns.get("score") == others[0]
    return others[0] if is_named or (is_score and others[0] not in known) else None


def _binary(source: Source, options: PredictionOptions) -> Told:
    """Build scores of both conditions from the probability of one: the other has the rest."""
    table, conditions = as_table(source), options.names
    column = _probability_column(table, options)
    if column is None or conditions is None or len(conditions) != 2:
        count = "no list of" if conditions is None else len(conditions)
        raise DissensusError(
            "one score per case is enough for two conditions only",
            expected="a study of two conditions, or a score for each condition",
            got=f"{count} conditions, columns {listing(table.columns)}",
            advice="write a row per case and condition (case, condition, score), or a column per condition",
        )
    one, other = conditions
    positive = column if column in conditions else options.positive or (other if options.binary else None)
    if positive is None:
        raise DissensusError(
            f"the column {column!r} does not say whose probability it is",
            expected=f"--positive {one!r} (0.9 means 0.9 for {one!r}, 0.1 for {other!r}) or --positive {other!r}",
            got="no word",
            advice=f"say positive={one!r} or positive={other!r} (--positive), or call the column like the condition",
        )
    if options.positive not in (None, positive):
        problem = f"the column {column!r} is said to hold the probability of {options.positive!r}"
        advice = "rename the column, or leave --positive out"
        raise DissensusError(problem, expected=f"positive={column!r}, or nothing", advice=advice)
    other = one if known_name("condition", positive, conditions) == other else other
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
    options = replace(options, kind="scores")
    said, columns, assumed = _wide(source, options, from_wide(both, options))
    is_said = options.positive is not None or options.columns.get("score") is not None
    role = Column(column, f"probability of {positive!r}", AS_SAID if is_said else BY_NAME)
    columns = (role if one.name == column else one for one in columns)
    return said, columns, {**assumed, f"{other!r} has what {positive!r} leaves of 1": True}


# A list per case --------------------------------------------------------------------------------------


def _offered(row: Mapping[str, Any]) -> dict[PredictionKind, str]:
    """Find the keys of a row that hold a prediction."""
    folded = {normalised(key): key for key in row}
    return {kind: folded[key] for kind, keys in LIST_KEYS.items() for key in keys if key in folded}


def _lines(source: Source, options: PredictionOptions) -> Told:
    """Read one object per case, such as ``{"case_id": "c1", "ranked": ["a", ["b", "c"]]}``."""
    if source.kind != "jsonl":
        raise FormatError("this is not JSON lines", expected='one {"case_id": ...} per line', got=source.kind)
    kind = _kind_of_lines(source.content, options.kind)
    cases: list[str] = []
    lists: list[Any] = []
    scores: list[tuple[str, str | None, float | None]] = []  # a case without any has a row without a condition
    for number, row in enumerate(source.content, start=1):
        folded = {normalised(key): row[key] for key in row}
        name = next((folded[alias] for alias in ALIASES["case"] if alias in folded), None)
        cases.append(as_name(name, "the case of a row (case_id)", f"row {number}"))
        where = f"row {number}, case {cases[-1]!r}"
        content, what = row.get(_offered(row).get(kind, "")), f"the {kind} of a row ({LIST_KEYS[kind][0]})"
        lists.append(as_object(content, what, where) if kind == "scores" else as_list(content, what, where))
        given = lists[-1] if kind == "scores" else {}
        for condition, value in given.items():
            is_real = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_real or not abs(value) <= sys.float_info.max:
                problem = "a score is not a finite number" if is_real else "a score is not a number"
                of = f"{where}, condition {condition!r}"
                raise DissensusError(problem, expected="a number", got=repr(value), where=of)
        scores += [(cases[-1], *one) for one in given.items()] or [(cases[-1], None, None)]
    refuse_repeated_cases(cases)
    if kind == "scores":
        schema = {"case": pl.String, "condition": pl.String, "score": pl.Float64}
        table = pl.DataFrame(scores, schema=schema, orient="row", strict=False)
        said = from_long(table, replace(options, columns={}, kind=kind))
    else:
        said = from_lists(kind, lists, replace(options, cases=cases))
    roles = dict.fromkeys(LIST_KEYS[kind], kind) | dict.fromkeys(ALIASES["case"], "case")
    found = {key: roles.get(normalised(key), "") for row in source.content for key in row}
    columns = (Column(key, role, BY_NAME if role else "") for key, role in found.items())
    return said, columns, {UNLISTED.get(kind, ""): kind in UNLISTED}


def _kind_of_lines(rows: Sequence[Mapping[str, Any]], given: PredictionKind | None) -> PredictionKind:
    if given in LIST_KEYS:
        return given
    kinds = {kind: number for number, row in reversed([*enumerate(rows, start=1)]) for kind in _offered(row)}
    if len(kinds) == 1 and given is None:
        return next(iter(kinds))
    first = "; ".join(f"{kind} in row {number}" for kind, number in sorted(kinds.items()))
    raise FormatError(
        "the file mixes kinds of predictions" if len(kinds) > 1 else "the rows hold no predictions",
        expected=f"in every row one of the keys {listing(keys[0] for keys in LIST_KEYS.values())}",
        got=first or f"keys {listing(rows[0] if rows else ())}",
        advice="write one file per kind, or say kind=... if every row has several" if kinds else "",
    )


FORMATS: dict[str, Callable[[Source, PredictionOptions], Told]] = {
    "npy": _arrays,
    "npz": _arrays,
    "matrix": _matrix,
    "numbers": _numbers,
    "binary": _binary,
    "long": _long,
    "wide": _wide,
    "jsonl": _lines,
}
