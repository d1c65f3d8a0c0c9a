"""Read predictions from the files that people have; the format is recognised from the content."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.arguments import checked
from dissensus.core.delimited import SEPARATORS
from dissensus.core.errors import DissensusError, DissensusWarning, FormatError, suggestion
from dissensus.core.files import Source, open_source
from dissensus.core.json_text import refuse_scattered
from dissensus.core.limits import Limits
from dissensus.core.receipt import AS_SAID, BY_NAME, Column, Receipt
from dissensus.predictions.alignment import aligned
from dissensus.predictions.arrays import (
    matrix_from_text,
    predictions_from_array,
    predictions_from_arrays,
    separator_of,
)
from dissensus.predictions.binary import predictions_from_probabilities, probability_column
from dissensus.predictions.description import check_predictions
from dissensus.predictions.frames import (
    is_long,
    is_number,
    predictions_from_long,
    predictions_from_wide,
)
from dissensus.predictions.lines import is_list_per_case, predictions_from_lines
from dissensus.predictions.numbers import holds_numbers, predictions_from_number_table, roles_of_numbers
from dissensus.predictions.roles import (
    Understood,
    roles_of_arrays,
    roles_of_lines,
    roles_of_long,
    roles_of_wide,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from dissensus.core.aliases import Path
    from dissensus.predictions.lists import PredictionKind, Predictions

__all__ = ["PredictionReading", "examine_predictions", "read_models", "read_predictions"]


@dataclass(frozen=True)
class PredictionReading:
    """What was read, what was understood of it, and the file as it was read."""

    predictions: Predictions
    receipt: Receipt
    source: Source = field(repr=False)


@dataclass(frozen=True)
class PredictionOptions:
    """What a user says about a file of predictions beyond its content."""

    name: str
    conditions: tuple[str, ...] | None = None
    cases: tuple[str, ...] | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict)
    kind: PredictionKind | None = None
    alpha_index: int | None = None
    positive: str | None = None
    findings: bool = False


@checked
def read_predictions(
    path: Path,
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
    allow_missing: bool = False,
    limits: Mapping[str, int | str] | None = None,
) -> Predictions:
    r"""Read the predictions of one model.

    Parameters
    ----------
    path
        npy, npz, rows of numbers as text, a wide or long CSV, TSV or Parquet table, or JSON lines; also
        ``"name=path"``, where ``=`` and ``/`` in the name have a backslash before them.
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
    allow_missing
        Keep the cases that the study and the predictions share rather than insist on the same cases.
    limits
        What a file may ask for, for example ``{"columns": 200_000, "memory": "32GB"}``; see docs/formats.md.

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
    reading = examine_predictions(
        path,
        conditions=conditions,
        cases=cases,
        name=name,
        format=format,
        columns=columns,
        kind=kind,
        alpha_index=alpha_index,
        positive=positive,
        findings=findings,
        allow_missing=allow_missing,
        limits=limits,
    )
    if reading.receipt.lost:
        warnings.warn(f"{path}: {'; '.join(map(str, reading.receipt.lost))}", DissensusWarning, stacklevel=2)
    return reading.predictions


@checked
def read_models(
    paths: Sequence[Path],
    *,
    conditions: Sequence[str] | None = None,
    cases: Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002 - the word users expect
    columns: Mapping[str, str | None] | None = None,
    kind: PredictionKind | None = None,
    alpha_index: int | None = None,
    positive: str | None = None,
    findings: bool = False,
    allow_missing: bool = False,
    limits: Mapping[str, int | str] | None = None,
) -> dict[str, Predictions]:
    r"""Read several models, each from ``"name=path"`` or a path.

    The other parameters are those of :func:`read_predictions`.

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
    options: dict[str, Any] = {"conditions": conditions, "cases": cases, "format": format, "columns": columns}
    options |= {"kind": kind, "alpha_index": alpha_index, "positive": positive, "allow_missing": allow_missing}
    options |= {"findings": findings, "limits": limits}
    return {name: read_predictions(place, name=name, **options) for name, place in named_paths(paths).items()}


def named_paths(paths: Sequence[Path]) -> dict[str, FilePath]:
    """Split several ``"name=path"``; no two models may share a name.

    >>> named_paths(["A=a.npy", "b.npy"])
    {'A': PosixPath('a.npy'), 'b': PosixPath('b.npy')}
    """
    places: dict[str, FilePath] = {}
    for path in paths:
        name, place = named_path(path)
        if name in places:
            raise DissensusError(
                f"two models have the name {name!r}",
                got=f"{places[name]} and {place}",
                advice="give each a name of its own: NAME=FILE",
            )
        places[name] = place
    return places


def examine_predictions(
    path: Path,
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
    allow_missing: bool = False,
    limits: Mapping[str, int | str] | None = None,
) -> PredictionReading:
    """Read predictions and tell what was understood of the file; see :func:`read_predictions`."""
    own_name, place = named_path(path)
    options = PredictionOptions(
        name=name or own_name,
        conditions=tuple(conditions) if conditions is not None else None,
        cases=tuple(cases) if cases is not None else None,
        columns=columns or {},
        kind=kind,
        alpha_index=alpha_index,
        positive=positive,
        findings=findings,
    )
    source = _opened(place, Limits.given(limits))
    return examine_source(source, format, options=options, allow_missing=allow_missing)


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
    place = str(source.path)
    try:
        chosen = _named_format(format) if format else _recognised_format(source, options)
        predictions = chosen.parse(source, options)
        found = aligned(predictions, options.cases, options.conditions, allow_missing=allow_missing)
    except DissensusError as error:
        raise error if place in error.where else error.at(place) from None
    understood = chosen.understood(source, options, predictions)
    receipt = Receipt(
        place,
        chosen.name,
        format is not None,
        columns=understood.columns,
        assumed=understood.assumed,
        notes=(*found.notes, *check_predictions(found.predictions, findings=options.findings)),
        examples=found.predictions.examples(),
    )
    return PredictionReading(found.predictions.with_receipt(receipt), receipt, replace(source, content=None))


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


NAMED = re.compile(r"(?P<name>(?:[^=/\\]|\\[=/\\])*)=(?P<path>.*)", re.DOTALL)
"""``name=path``: the name ends at the first ``=`` without a backslash; a path before it holds a bare slash."""


def _opened(place: FilePath, limits: Limits) -> Source:
    source = open_source(place, limits, headless=True)
    if source.kind == "directory":
        raise FormatError("this is a directory", expected="a file of predictions", where=str(place))
    if source.kind == "json" and isinstance(source.content, dict):
        return replace(source, kind="jsonl", content=[source.content])
    if source.kind == "json" and _holds_objects(source.content):
        return replace(source, kind="jsonl")
    if source.kind == "text" and _has_header(source.content):
        return source.as_table(limits=limits, headless=True)
    return source


def _holds_objects(content: object) -> bool:
    return isinstance(content, list) and bool(content) and all(isinstance(item, dict) for item in content)


def _has_header(text: str) -> bool:
    first = text.lstrip().partition("\n")[0]
    separated = any(mark in first for mark in SEPARATORS)
    return separated and not all(is_number(cell) for cell in first.split(separator_of(first)))


# Formats ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PredictionFormat:
    """A format of predictions: its name on the command line, how it is recognised, read and told of."""

    name: str
    recognises: Callable[[Source, PredictionOptions], bool]
    parse: Callable[[Source, PredictionOptions], Predictions]
    understood: Callable[[Source, PredictionOptions, Predictions], Understood]


def _named_format(name: str) -> PredictionFormat:
    for known in FORMATS:
        if known.name == name:
            return known
    names = [known.name for known in FORMATS]
    raise FormatError(f"unknown format {name!r}", expected=f"one of {', '.join(names)}", advice=suggestion(name, names))


def _recognised_format(source: Source, options: PredictionOptions) -> PredictionFormat:
    for known in FORMATS:
        if known.recognises(source, options):
            return known
    raise FormatError(
        "no known format of predictions fits the file",
        expected=f"one of {', '.join(known.name for known in FORMATS)}",
        got=f"{source.kind}: {str(source.content)[:60]!r}",
        where=str(source.path),
    )


def _table(source: Source) -> pl.DataFrame:

    if source.is_table:
        return source.table
    if source.kind == "jsonl":
        return _table_of_records(source.content, str(source.path))
    raise FormatError("this is not a table", expected="CSV, TSV, Parquet or JSON lines", got=source.kind)


def _table_of_records(records: Sequence[Mapping[str, Any]], where: str) -> pl.DataFrame:
    import polars as pl

    refuse_scattered(records, len({key for record in records for key in record}), where)
    try:
        return pl.DataFrame(records, infer_schema_length=None, strict=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError, OverflowError) as error:
        raise FormatError(
            "the records do not make a table",
            expected="single words and numbers under the same keys in every row, or a list under the key 'ranked'",
            got=str(error).partition(";")[0],
            where=where,
        ) from error


def _is_headerless(source: Source, options: PredictionOptions) -> bool:
    """Tell a table whose first row are numbers, unless they are the codes of its columns."""
    if source.kind != "table":
        return False
    names = [name.partition("_duplicated_")[0] for name in source.table.columns]
    are_codes = names == [str(code) for code in range(len(names))]
    is_header = are_codes and options.cases is not None and len(options.cases) == len(source.table)
    return not is_header and all(is_number(name) for name in names)


def _recognises_matrix(source: Source, options: PredictionOptions) -> bool:
    return source.kind in ("text", "json") or _is_headerless(source, options)


def _recognises_numbers(source: Source, options: PredictionOptions) -> bool:
    """Tell a table of numbers: it is said to be one, or holds one number per case where no conditions are known."""
    if not source.is_table and (source.kind != "jsonl" or is_list_per_case(source.content)):
        return False
    if options.kind is not None or options.conditions is not None or options.positive is not None:
        return options.kind == "numbers"
    return holds_numbers(_table(source), options.columns)


def _recognises_binary(source: Source, options: PredictionOptions) -> bool:
    if options.findings or (source.kind == "jsonl" and is_list_per_case(source.content)):
        return False
    is_table = source.is_table or source.kind == "jsonl"
    return is_table and probability_column(_table(source), options.conditions, options.columns) is not None


def _recognises_long(source: Source, options: PredictionOptions) -> bool:
    if source.kind == "jsonl":
        return not is_list_per_case(source.content) and is_long(_table(source), None, options.columns)
    return source.is_table and is_long(source.table, options.conditions, options.columns)


def _parse_arrays(source: Source, options: PredictionOptions) -> Predictions:
    given = (options.conditions, options.cases)
    said: Any = {"kind": options.kind, "name": options.name, "alpha_index": options.alpha_index}
    said["findings"] = options.findings
    if source.kind == "npz":
        return predictions_from_arrays(source.content, *given, **said)
    if not isinstance(source.content, np.ndarray):
        raise FormatError("this is not an array file", expected="npy or npz", got=source.kind)
    return predictions_from_array(source.content, *given, **said)


def _parse_matrix(source: Source, options: PredictionOptions) -> Predictions:
    array = _json_matrix(source) if source.kind == "json" else matrix_from_text(source.text)
    return _parse_arrays(replace(source, content=array), options)


def _json_matrix(source: Source) -> object:
    try:
        return np.array(source.content)
    except ValueError as error:
        raise FormatError("the rows of the matrix differ in length", got=str(error)) from error


def _parse_wide(source: Source, options: PredictionOptions) -> Predictions:
    return predictions_from_wide(
        _table(source),
        options.conditions,
        case=options.columns.get("case"),
        kind=options.kind,
        name=options.name,
        case_names=options.cases,
        findings=options.findings,
    )


def _parse_numbers(source: Source, options: PredictionOptions) -> Predictions:
    return predictions_from_number_table(
        _table(source), columns=options.columns, name=options.name, case_names=options.cases
    )


def _parse_binary(source: Source, options: PredictionOptions) -> Predictions:
    return predictions_from_probabilities(
        _table(source),
        options.conditions,
        columns=options.columns,
        positive=options.positive,
        name=options.name,
        case_names=options.cases,
    )


def _parse_long(source: Source, options: PredictionOptions) -> Predictions:
    return predictions_from_long(
        _table(source),
        options.conditions,
        columns=options.columns,
        kind=options.kind,
        name=options.name,
        findings=options.findings,
    )


def _parse_lines(source: Source, options: PredictionOptions) -> Predictions:
    if source.kind != "jsonl":
        raise FormatError("this is not JSON lines", expected='one {"case_id": ...} per line', got=source.kind)
    said: Any = {"kind": options.kind, "name": options.name, "findings": options.findings}
    return predictions_from_lines(source.content, options.conditions, **said)


def _arrays_understood(source: Source, options: PredictionOptions, predictions: Predictions) -> Understood:
    return roles_of_arrays(source.content if source.kind == "npz" else {}, predictions, options.kind)


def _long_understood(source: Source, options: PredictionOptions, predictions: Predictions) -> Understood:
    return roles_of_long(_table(source).columns, options.columns, predictions, options.kind)


def _wide_understood(source: Source, options: PredictionOptions, predictions: Predictions) -> Understood:
    given = options.columns.get("case")
    return roles_of_wide(_table(source), given, options.conditions, predictions, options.kind)


def _binary_understood(source: Source, options: PredictionOptions, predictions: Predictions) -> Understood:
    """Tell whose probability the one column holds, and that the other condition has the rest."""
    wide = _wide_understood(source, options, predictions)
    table = _table(source)
    column = probability_column(table, options.conditions, options.columns)
    positive = options.positive or column
    other = next(name for name in options.conditions or () if name != positive)
    reason = AS_SAID if options.positive is not None else BY_NAME
    columns = tuple(
        Column(one.name, f"probability of {positive!r}", reason) if one.name == column else one for one in wide.columns
    )
    return Understood(columns, (*wide.assumed, f"{other!r} has what {positive!r} leaves of 1"))


def _numbers_understood(source: Source, options: PredictionOptions, _: Predictions) -> Understood:
    return roles_of_numbers(_table(source), options.columns)


def _lines_understood(source: Source, _: PredictionOptions, predictions: Predictions) -> Understood:
    return roles_of_lines(source.content, predictions)


FORMATS = (
    PredictionFormat("npy", lambda source, _: source.kind == "npy", _parse_arrays, _arrays_understood),
    PredictionFormat("npz", lambda source, _: source.kind == "npz", _parse_arrays, _arrays_understood),
    PredictionFormat("matrix", _recognises_matrix, _parse_matrix, _arrays_understood),
    PredictionFormat("numbers", _recognises_numbers, _parse_numbers, _numbers_understood),
    PredictionFormat("binary", _recognises_binary, _parse_binary, _binary_understood),
    PredictionFormat("long", _recognises_long, _parse_long, _long_understood),
    PredictionFormat("wide", lambda source, _: source.is_table, _parse_wide, _wide_understood),
    PredictionFormat("jsonl", lambda source, _: source.kind == "jsonl", _parse_lines, _lines_understood),
)
"""All formats; the first that fits a file is taken."""
