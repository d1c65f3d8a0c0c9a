"""Read predictions from the files that people have; the format is recognised from the content."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from dissensus.core.checks import checked
from dissensus.core.errors import DissensusError, FormatError, suggestion
from dissensus.core.files import Source, is_number, open_source
from dissensus.core.limits import Limits
from dissensus.core.receipt import Receipt, warn_of_losses
from dissensus.predictions.alignment import aligned
from dissensus.predictions.file_formats import FORMATS as FORMATS
from dissensus.predictions.file_formats import PredictionFormat, separator_of
from dissensus.predictions.forms import PredictionOptions as PredictionOptions
from dissensus.predictions.lists import check_predictions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dissensus.core.aliases import Path
    from dissensus.predictions.lists import PredictionKind, Predictions

# ``name=path``: the name ends at the first ``=`` without a backslash; a path before it holds a bare slash.
NAMED = re.compile(r"(?P<name>(?:[^=/\\]|\\[=/\\])*)=(?P<path>.*)", re.DOTALL)


@dataclass(frozen=True)
class PredictionReading:
    """What was read, what was understood of it, and the file as it was read."""

    predictions: Predictions
    receipt: Receipt
    source: Source = field(repr=False)


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
    reading = examine_predictions(**locals())  # every parameter under its own name
    warn_of_losses(path, reading.receipt)
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
    options = {name: value for name, value in locals().items() if name != "paths"}
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
    name: str | None = None,
    format: str | None = None,  # noqa: A002 - the word users expect
    allow_missing: bool = False,
    limits: Mapping[str, int | str] | None = None,
    **said: Any,
) -> PredictionReading:
    """Read predictions and tell what was understood of the file; parameters are those of :func:`read_predictions`."""
    own_name, place = named_path(path)
    names = {what: tuple(said.pop(what)) for what in ("conditions", "cases") if said.get(what) is not None}
    options = PredictionOptions(name or own_name, columns=said.pop("columns", None) or {}, **{**said, **names})
    return examine_source(_opened(place, Limits.given(limits)), format, options=options, allow_missing=allow_missing)


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
        chosen = _chosen_format(source, format, options)
        said = chosen.parse(source, options)
        predictions, notes = aligned(said, options.cases, options.names, allow_missing=allow_missing)
    except DissensusError as error:
        raise error if place in error.where else error.at(place) from None
    receipt = replace(
        said.receipt or Receipt("", ""),
        path=place,
        format=chosen.name,
        is_given=format is not None,
        notes=(*notes, *check_predictions(predictions, findings=options.findings)),
        examples=predictions.examples(),
    )
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


def _opened(place: FilePath, limits: Limits) -> Source:
    source = open_source(place, limits, headless=True)
    if source.kind == "directory":
        raise FormatError("this is a directory", expected="a file of predictions", where=str(place))
    records = [source.content] if isinstance(source.content, dict) else source.content
    if source.kind == "json" and records and all(isinstance(item, dict) for item in records):
        return replace(source, kind="jsonl", content=records)
    first = source.content.lstrip().partition("\n")[0] if source.kind == "text" else ""
    mark = separator_of(first)
    if mark is not None and not all(is_number(cell) for cell in first.split(mark)):  # a table with a header
        return source.as_table(limits=limits, headless=True)
    return source


def _chosen_format(source: Source, name: str | None, options: PredictionOptions) -> PredictionFormat:
    """Return the format that is named, or the first that fits a file."""
    known = {one.name: one for one in FORMATS}
    found = known.get(name) if name else next((one for one in FORMATS if one.recognises(source, options)), None)
    if found is not None:
        return found
    expected = f"one of {', '.join(known)}"
    if name is not None:
        raise FormatError(f"unknown format {name!r}", expected=expected, advice=suggestion(name, known))
    got = f"{source.kind}: {str(source.content)[:60]!r}"
    raise FormatError(
        "no known format of predictions fits the file", expected=expected, got=got, where=str(source.path)
    )
