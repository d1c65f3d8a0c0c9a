"""Read predictions from the files that people have; the format is recognised from the content."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.errors import DissensusError, DissensusWarning, FormatError, suggestion
from dissensus.core.files import SEPARATORS, Source, open_source, read_table, read_text
from dissensus.core.notes import Note
from dissensus.predictions.alignment import aligned
from dissensus.predictions.arrays import (
    matrix_from_text,
    predictions_from_array,
    predictions_from_arrays,
    separator_of,
)
from dissensus.predictions.description import check_predictions
from dissensus.predictions.frames import (
    ALIASES,
    is_long,
    is_number,
    predictions_from_long,
    predictions_from_wide,
)
from dissensus.predictions.lines import is_list_per_case, predictions_from_lines
from dissensus.study.tables import find_columns, notes_on_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from dissensus.core.aliases import Path
    from dissensus.predictions.lists import PredictionKind, Predictions

__all__ = ["PredictionReading", "examine_predictions", "read_models", "read_predictions"]


@dataclass(frozen=True)
class PredictionReading:
    """What was read, in which format, and what was found on the way."""

    predictions: Predictions
    format: str
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class Request:
    """What a user says about a file of predictions beyond its content."""

    name: str
    conditions: tuple[str, ...] | None = None
    cases: tuple[str, ...] | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict)
    kind: PredictionKind | None = None
    alpha_index: int | None = None


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
    allow_missing: bool = False,
) -> Predictions:
    r"""Read the predictions of one model.

    Parameters
    ----------
    path
        npy, npz, rows of numbers as text, a wide or long CSV, TSV or Parquet table, or JSON lines; also
        ``"name=path"``.
    conditions, cases
        The names of the study: the predictions are matched to them by name. A matrix without names (npy,
        text) needs both, in the order of its columns and rows.
    name
        Name of the model; by default that of the file without its ending.
    format
        ``"npy"``, ``"npz"``, ``"matrix"``, ``"wide"``, ``"long"`` or ``"jsonl"``; recognised by default.
    columns
        Column of each role (``case``, ``condition``, ``score``, ``rank``) where it goes by an unusual name.
    kind
        ``"scores"``, ``"ranking"`` or ``"set"`` where the content leaves a doubt.
    alpha_index
        Which sets to take from an array of shape (cases, conditions, alphas).
    allow_missing
        Keep the cases that the study and the predictions share rather than insist on the same cases.

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
        allow_missing=allow_missing,
    )
    lost = [str(note) for note in reading.notes if note.lost]
    if lost:
        warnings.warn(f"{path}: {'; '.join(lost)}", DissensusWarning, stacklevel=2)
    return reading.predictions


def read_models(
    paths: Sequence[Path],
    *,
    conditions: Sequence[str] | None = None,
    cases: Sequence[str] | None = None,
    format: str | None = None,  # noqa: A002 - the word users expect
    columns: Mapping[str, str | None] | None = None,
    kind: PredictionKind | None = None,
    alpha_index: int | None = None,
    allow_missing: bool = False,
) -> dict[str, Predictions]:
    """Read several models, each from ``"name=path"`` or a path; see :func:`read_predictions`."""
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
    return {
        name: read_predictions(
            place,
            conditions=conditions,
            cases=cases,
            name=name,
            format=format,
            columns=columns,
            kind=kind,
            alpha_index=alpha_index,
            allow_missing=allow_missing,
        )
        for name, place in places.items()
    }


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
    allow_missing: bool = False,
) -> PredictionReading:
    """Read predictions and keep the notes on what was found; see :func:`read_predictions`."""
    own_name, place = named_path(path)
    request = Request(
        name=name or own_name,
        conditions=tuple(conditions) if conditions is not None else None,
        cases=tuple(cases) if cases is not None else None,
        columns=columns or {},
        kind=kind,
        alpha_index=alpha_index,
    )
    source = _opened(place)
    try:
        chosen = _named_format(format) if format else _recognised_format(source, request)
        predictions = chosen.parse(source, request)
        found = aligned(predictions, request.cases, request.conditions, allow_missing=allow_missing)
    except DissensusError as error:
        raise error if str(place) in error.where else error.at(str(place)) from None
    on_file = _notes_on_file(source, request, chosen.name, predictions)
    notes = (*on_file, *found.notes, *check_predictions(found.predictions))
    return PredictionReading(found.predictions, chosen.name, notes)


def named_path(path: Path) -> tuple[str, FilePath]:
    """Split ``"name=path"``; a path alone is named after its file.

    >>> named_path("A=models/a.npy")
    ('A', PosixPath('models/a.npy'))
    >>> named_path("models/a.npy")
    ('a', PosixPath('models/a.npy'))
    """
    name, equals, rest = str(path).partition("=")
    if not equals or "/" in name or "\\" in name or FilePath(path).exists():
        return FilePath(path).stem, FilePath(path)
    if not name.strip() or not rest.strip():
        raise DissensusError("a model needs a name and a file", expected="NAME=FILE", got=repr(str(path)))
    return name.strip(), FilePath(rest.strip())


def _opened(place: FilePath) -> Source:
    source = open_source(place)
    if source.kind == "directory":
        raise FormatError("this is a directory", expected="a file of predictions", where=str(place))
    if source.kind == "json" and isinstance(source.content, dict):
        return replace(source, kind="jsonl", content=[source.content])
    if source.kind == "json" and _holds_objects(source.content):
        return replace(source, kind="jsonl")
    if source.kind == "text" and _has_header(source.content):
        return replace(source, kind="table", content=read_table(place))
    return source


def _holds_objects(content: object) -> bool:
    return isinstance(content, list) and bool(content) and all(isinstance(item, dict) for item in content)


def _has_header(text: str) -> bool:
    first = text.lstrip().partition("\n")[0]
    separated = any(mark in first for mark in SEPARATORS)
    return separated and not all(is_number(cell) for cell in first.split(separator_of(first)))


def _notes_on_file(source: Source, request: Request, chosen: str, predictions: Predictions) -> tuple[Note, ...]:
    if chosen == "long":
        columns = _table(source).columns
        return notes_on_columns(columns, find_columns(columns, request.columns, aliases=ALIASES))
    if chosen != "jsonl" and predictions.kind == "set" and request.kind is None:
        action = "read as sets; kind='scores' reads them as scores"
        return (Note("cases with 0 and 1 only", predictions.n_cases, action),)
    return ()


# Formats ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Format:
    """A format of predictions: its name on the command line, and two functions."""

    name: str
    recognises: Callable[[Source, Request], bool]
    parse: Callable[[Source, Request], Predictions]


def _named_format(name: str) -> Format:
    for known in FORMATS:
        if known.name == name:
            return known
    names = [known.name for known in FORMATS]
    raise FormatError(f"unknown format {name!r}", expected=f"one of {', '.join(names)}", advice=suggestion(name, names))


def _recognised_format(source: Source, request: Request) -> Format:
    for known in FORMATS:
        if known.recognises(source, request):
            return known
    raise FormatError(
        "no known format of predictions fits the file",
        expected=f"one of {', '.join(known.name for known in FORMATS)}",
        got=f"{source.kind}: {str(source.content)[:60]!r}",
        where=str(source.path),
    )


def _table(source: Source) -> pl.DataFrame:
    import polars as pl

    if source.is_table:
        return source.table
    if source.kind == "jsonl":
        return pl.DataFrame(source.content, infer_schema_length=None, strict=False)
    raise FormatError("this is not a table", expected="CSV, TSV, Parquet or JSON lines", got=source.kind)


def _is_headerless(source: Source, request: Request) -> bool:
    """Tell a table whose first row are numbers, unless they are the codes of its columns."""
    if source.kind != "table":
        return False
    names = [name.partition("_duplicated_")[0] for name in source.table.columns]
    are_codes = names == [str(code) for code in range(len(names))]
    is_header = are_codes and request.cases is not None and len(request.cases) == len(source.table)
    return not is_header and all(is_number(name) for name in names)


def _recognises_matrix(source: Source, request: Request) -> bool:
    return source.kind in ("text", "json") or _is_headerless(source, request)


def _recognises_long(source: Source, request: Request) -> bool:
    if source.kind == "jsonl":
        return not is_list_per_case(source.content) and is_long(_table(source), None, request.columns)
    return source.is_table and is_long(source.table, request.conditions, request.columns)


def _parse_npy(source: Source, request: Request) -> Predictions:
    return predictions_from_array(
        source.content,
        request.conditions,
        request.cases,
        kind=request.kind,
        name=request.name,
        alpha_index=request.alpha_index,
    )


def _parse_npz(source: Source, request: Request) -> Predictions:
    return predictions_from_arrays(
        source.content,
        request.conditions,
        request.cases,
        kind=request.kind,
        name=request.name,
        alpha_index=request.alpha_index,
    )


def _parse_matrix(source: Source, request: Request) -> Predictions:
    array = _json_matrix(source) if source.kind == "json" else matrix_from_text(read_text(source.path))
    return _parse_npy(replace(source, content=array), request)


def _json_matrix(source: Source) -> object:
    try:
        return np.array(source.content)
    except ValueError as error:
        raise FormatError("the rows of the matrix differ in length", got=str(error)) from error


def _parse_wide(source: Source, request: Request) -> Predictions:
    return predictions_from_wide(
        _table(source),
        request.conditions,
        case=request.columns.get("case"),
        kind=request.kind,
        name=request.name,
        case_names=request.cases,
    )


def _parse_long(source: Source, request: Request) -> Predictions:
    return predictions_from_long(
        _table(source), request.conditions, columns=request.columns, kind=request.kind, name=request.name
    )


def _parse_lines(source: Source, request: Request) -> Predictions:
    if source.kind != "jsonl":
        raise FormatError("this is not JSON lines", expected='one {"case_id": ...} per line', got=source.kind)
    return predictions_from_lines(source.content, request.conditions, kind=request.kind, name=request.name)


FORMATS = (
    Format("npy", lambda source, _: source.kind == "npy", _parse_npy),
    Format("npz", lambda source, _: source.kind == "npz", _parse_npz),
    Format("matrix", _recognises_matrix, _parse_matrix),
    Format("long", _recognises_long, _parse_long),
    Format("wide", lambda source, _: source.is_table, _parse_wide),
    Format("jsonl", lambda source, _: source.kind == "jsonl", _parse_lines),
)
"""All formats; the first that fits a file is taken."""
