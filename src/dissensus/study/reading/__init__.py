"""Read annotations from every format people really have; the format is recognised from the content."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dissensus.core.aliases import Path, Unranked
from dissensus.core.errors import DissensusError, DissensusWarning, FormatError, HoldsRatingsError, suggestion
from dissensus.core.files import Source, open_source
from dissensus.core.notes import Note
from dissensus.study.rankings import Annotations
from dissensus.study.ratings import holds_ratings
from dissensus.study.reading.format import Format, Options
from dissensus.study.reading.registry import FORMATS
from dissensus.study.reading.tabular import is_partly_long
from dissensus.study.tables import build_from_table

__all__ = ["Reading", "examine_annotations", "read_annotations"]


@dataclass(frozen=True)
class Reading:
    """What was read, in which format, and what was found on the way."""

    annotations: Annotations
    format: str
    notes: tuple[Note, ...]


def read_annotations(
    path: Path,
    format: str | None = None,  # noqa: A002 - the word users expect
    *,
    conditions: Sequence[str] | None = None,
    columns: Mapping[str, str | None] | None = None,
    tie_separator: str | None = None,
    bucket_order: Sequence[str] | None = None,
    unranked: Unranked | None = None,
) -> Annotations:
    """Read annotations from a file or directory.

    Parameters
    ----------
    path
        CSV, TSV, Parquet, JSON, JSON lines, npy, PrefLib, or a directory of PrefLib or doccano files.
    format
        Name of the format; by default it is recognised from the content.
    conditions
        Names of all conditions in order; needed when the file holds integer codes.
    columns
        Column of each role where it goes by an unusual name, for example ``{"case": "image"}``.
    tie_separator
        Split condition cells at this text into tied conditions, for example ``"|"``.
    bucket_order
        Names of ranked groups, best first, for Label Studio's Ranker with buckets.
    unranked
        ``"below"`` or ``"unobserved"``; by default what the file says, else ``"below"``.

    Raises
    ------
    DissensusError
        If the file cannot be understood; the message says what, where, and what to do.

    Warns
    -----
    DissensusWarning
        If something in the file had to be skipped; ``examine_annotations`` tells what.
    """
    reading = examine_annotations(
        path,
        format,
        conditions=conditions,
        columns=columns,
        tie_separator=tie_separator,
        bucket_order=bucket_order,
        unranked=unranked,
    )
    lost = [str(note) for note in reading.notes if note.lost]
    if lost:
        warnings.warn(f"{path}: {'; '.join(lost)}", DissensusWarning, stacklevel=2)
    return reading.annotations


def examine_annotations(
    path: Path,
    format: str | None = None,  # noqa: A002 - the word users expect
    *,
    conditions: Sequence[str] | None = None,
    columns: Mapping[str, str | None] | None = None,
    tie_separator: str | None = None,
    bucket_order: Sequence[str] | None = None,
    unranked: Unranked | None = None,
) -> Reading:
    """Read annotations and keep the notes on what was found; see :func:`read_annotations`."""
    options = Options(
        conditions=tuple(conditions) if conditions is not None else None,
        columns=columns or {},
        tie_separator=tie_separator,
        bucket_order=tuple(bucket_order) if bucket_order is not None else None,
        unranked=unranked,
    )
    source = open_source(path)
    chosen = named_format(format) if format else recognised_format(source, options.columns)
    try:
        parsed = chosen.parse(source, options)
        known = options.conditions if options.conditions is not None else parsed.conditions
        built = build_from_table(parsed.frame, known, tie_separator=parsed.tie_separator, unranked=options.unranked)
    except DissensusError as error:
        raise error if str(path) in error.where else error.at(str(path)) from None
    return Reading(built.annotations, chosen.name, (*parsed.notes, *built.notes))


def named_format(name: str) -> Format:
    """Find a format by name."""
    for known in FORMATS:
        if known.name == name:
            return known
    names = [known.name for known in FORMATS]
    raise FormatError(f"unknown format {name!r}", expected=f"one of {', '.join(names)}", advice=suggestion(name, names))


def recognised_format(source: Source, columns: Mapping[str, str | None] | None = None) -> Format:
    """Recognise the format of a file; none or several are an error.

    Columns that a user gave a role count as named by it. A table that has some of the columns of the long
    form is taken for one, so that reading it says which column is missing.
    """
    seen = _with_roles(source, columns or {})
    if holds_ratings(seen):
        raise HoldsRatingsError(
            "the file holds ratings, not rankings",
            expected="a column of conditions",
            got=describe_content(source),
            where=str(source.path),
            advice="read it with read_ratings (dissensus validate understands it, too)",
        )
    fitting = [known for known in FORMATS if known.recognises(seen)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting and is_partly_long(seen):
        return named_format("long")
    names = ", ".join(known.name for known in fitting or FORMATS)
    raise FormatError(
        "the file fits several formats" if fitting else "no known format fits the file",
        expected=f"{'one' if fitting else 'any'} of {names}",
        got=describe_content(source),
        where=str(source.path),
        advice=_which_format(source, fitting),
    )


def _which_format(source: Source, fitting: Sequence[Format]) -> str:
    if source.kind == "text" and not fitting:
        return "if it is a table, let its name end in .csv or .tsv; else say --format NAME (format=NAME)"
    name = fitting[0].name if fitting else "NAME"
    return f"say which it is, for example --format {name} (format={name!r})"


def _with_roles(source: Source, columns: Mapping[str, str | None]) -> Source:
    if not source.is_table:
        return source
    given = {name: role for role, name in columns.items() if name and name in source.table.columns}
    crowded = [role for name, role in given.items() if name != role]
    return replace(source, content=source.table.drop(crowded, strict=False).rename(given))


def describe_content(source: Source) -> str:
    """Say in a few words what a file holds."""
    if source.is_table:
        return f"a table with the columns {', '.join(map(repr, source.table.columns[:8]))}"
    if source.kind == "directory":
        return f"a directory with {len(source.content)} files"
    if source.kind == "jsonl":
        return f"JSON lines with the keys {', '.join(map(repr, list(source.content[0])[:8]))}"
    return f"{source.kind}: {reprlib.repr(source.content)[:60]}"
