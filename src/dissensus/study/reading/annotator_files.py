"""A directory, or a list of files, with one file per annotator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from dissensus.core.aliases import Path as PathLike
from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.core.files import SPREADSHEETS, Source, checked_path, open_source
from dissensus.core.notes import Note
from dissensus.core.receipt import Column, columns_of
from dissensus.study.reading.collection import Collection
from dissensus.study.reading.columns import as_table
from dissensus.study.reading.format import Format, Options, Parsed
from dissensus.study.reading.json_values import as_ranking, is_text
from dissensus.study.reading.long import BY_ORDER
from dissensus.study.tables import (
    ALIASES,
    ROW,
    find_columns,
    numbered,
    tidied,
    with_roles,
    without_second_order,
)

ENDINGS = (".csv", ".tsv", ".tab", ".parquet", ".json")
LINES = (".jsonl", ".ndjson")
OTHERS = (*LINES, ".soc", ".soi", ".toc", ".toi")
"""Endings of the files of other formats that are directories."""

OWN = {role: names for role, names in ALIASES.items() if role != "annotator"}
ORDERS = ("rank", "confidence")
BY_NAME = "the name of a file is its annotator"
TIED = "several labels that an annotator gave a case without a rank are tied"


class AnnotatorFiles(Format):
    """Directory or list of files, one per annotator."""

    id = "annotator-files"
    title = "directory or list of files, one per annotator"

    def recognises(self, source: Source) -> bool:
        """Tell a directory with tables or JSON, and no files of another format that is a directory."""
        if source.kind != "directory":
            return False
        endings = {path.suffix.lower() for path in _shown(source)}
        return not endings.isdisjoint(ENDINGS) and endings.isdisjoint(OTHERS)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read a table ``case,label[,rank]`` or JSON ``{case: label or ranking}`` per file, named by the annotator."""
        if source.kind != "directory":
            raise FormatError("this is not a directory", expected="one file per annotator", got=source.kind)
        paths, notes = sorted_out(source)
        refuse_shared_names(paths)
        files = [_read(path, options) for path in paths]
        frames = [_with_order(file, files) for file in files]
        assumed = (BY_NAME, *dict.fromkeys(sentence for file in files for sentence in file.assumed))
        columns = tuple(dict.fromkeys(column for file in files for column in file.columns))
        notes = (*notes, *merged_notes(note for file in files for note in file.notes))
        return Parsed(pl.concat(frames, how="diagonal"), notes, columns=columns, assumed=assumed)


@dataclass(frozen=True)
class _File:
    """The rows of one annotator, in columns named by their roles, and what the receipt says of them."""

    path: Path
    frame: pl.DataFrame
    columns: tuple[Column, ...] = ()
    notes: tuple[Note, ...] = ()
    assumed: tuple[str, ...] = ()

    @property
    def order(self) -> str | None:
        """The role that orders the conditions of a ranking."""
        return next((role for role in ORDERS if role in self.frame.columns), None)

    @property
    def has_several(self) -> bool:
        """Whether a case has several rows."""
        return bool(self.frame.select("case", *self.frame.select("^annotation$").columns).is_duplicated().any())


def listed_files(paths: Sequence[PathLike]) -> Source:
    """Take a list of files for a directory that holds them and nothing else.

    >>> listed_files([])
    Traceback (most recent call last):
    dissensus.core.errors.FormatError: the list of files is empty
      expected: one file per annotator
    """
    places = [checked_path(path) for path in paths]
    if not places:
        raise FormatError("the list of files is empty", expected="one file per annotator")
    folders = [place for place in places if place.is_dir()]
    if folders:
        raise FormatError("a directory is among the files", got=str(folders[0]), advice="give the directory alone")
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return Source(Path(f"{places[0]}{more}"), "directory", places)


# Which files --------------------------------------------------------------------------------------------


def _shown(source: Source) -> list[Path]:
    return [path for path in source.content if not path.name.startswith(".")]


def sorted_out(source: Source) -> tuple[list[Path], tuple[Note, ...]]:
    """Tell files of data from others, which are noted; a spreadsheet is data that cannot be read."""
    if not source.path.is_dir():
        return list(source.content), ()  # a list, of which all is meant
    shown = _shown(source)
    paths = [path for path in shown if path.suffix.lower() in (*ENDINGS, *LINES, *SPREADSHEETS)]
    if not paths:
        raise FormatError(
            "the directory holds no files of data",
            expected=f"one file per annotator, ending in {', '.join((*ENDINGS, *LINES))}",
            got=f"files {listing(path.name for path in shown)}" if shown else "no files",
            where=str(source.path),
        )
    found = {
        "hidden files": [path.name for path in source.content if path.name.startswith(".")],
        "files that are not data": [path.name for path in shown if path not in paths],
        "folders": sorted(path.name for path in source.path.iterdir() if path.is_dir()),
    }
    return paths, tuple(
        Note(what, len(names), "skipped", tuple(names[:3]), lost=what != "hidden files")
        for what, names in found.items()
        if names
    )


def refuse_shared_names(paths: Sequence[Path]) -> None:
    """Refuse files that differ in their endings only."""
    first: dict[str, Path] = {}
    for path in paths:
        if first.setdefault(path.stem, path) != path:
            raise FormatError(
                f"two files would be annotator {path.stem!r}",
                expected="one file per annotator, named after them",
                got=f"{first[path.stem]} and {path}",
                advice="merge the two files, or give one another name",
            )


# One file -----------------------------------------------------------------------------------------------


def _read(path: Path, options: Options) -> _File:
    """Read one file; whatever is wrong with it, the error names it."""
    try:
        source = open_source(path, options.limits)
        is_mapping = source.kind == "json" and isinstance(source.content, dict)
        file = _mapping(source) if is_mapping else _table(source, options)
    except DissensusError as error:
        raise error_in_file(error, path) from None
    return file


def error_in_file(error: DissensusError, path: Path) -> DissensusError:
    """Let an error name the file of a directory in which it is."""
    advice = error.advice or "correct the file, or take it out of the directory"
    named = FormatError(error.problem, expected=error.expected, got=error.got, where=error.where, advice=advice)
    return named if str(path) in error.where else named.at(str(path))


def _table(source: Source, options: Options) -> _File:
    """Find the columns as the long form does, but for the annotator."""
    table = as_table(source)
    given = {role: name for role, name in options.columns.items() if role != "annotator"}
    found = find_columns(table.columns, {}, required=())
    if "annotator" in found and found["annotator"] not in given.values():
        raise DissensusError(
            "a file of one annotator has an annotator column",
            expected="the columns case and label, and rank where there is an order",
            got=f"the column {found['annotator']!r}",
            advice="read the file on its own if it holds several annotators, or leave the column out",
        )
    known = find_columns(table.columns, given, aliases=OWN)
    roles = without_second_order(known, given, options.confidence)
    frame = tidied(numbered(with_roles(table, roles)), options.tie_separator)
    file = _File(source.path, _by(source.path, frame), columns_of(table.columns, roles, given))
    return replace(file, assumed=_assumed(file, options))


def _assumed(file: _File, options: Options) -> tuple[str, ...]:
    if file.order is None:
        return (TIED,) if file.has_several else ()
    return (BY_ORDER,) if file.order == "confidence" and options.confidence is None else ()


def _mapping(source: Source) -> _File:
    """Read ``{case: label or ranking}``; null is no opinion, and a list without anything in it an abstention."""
    said = Collection()
    for case, value in source.content.items():
        where = f"case {case!r}"
        if not case.strip() or not is_text(case):
            raise DissensusError("a case has no name", got=repr(case))
        if value is None:
            said.add_case(case)
        else:
            said.add_ranking(case, source.path.stem, as_ranking(value, where))
    parsed = said.parsed()
    return _File(source.path, parsed.frame.drop("annotation"), notes=parsed.notes)


def _by(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """Say whose rows these are."""
    return frame.with_columns(pl.col(ROW).cast(pl.Int64), annotator=pl.lit(path.stem))


# All files ----------------------------------------------------------------------------------------------


def _with_order(file: _File, files: Sequence[_File]) -> pl.DataFrame:
    """Let all files have one order: where others have ranks, a case with one label has it in the first place."""
    orders = {other.order: other.path for other in reversed(files) if other.order is not None}
    if not orders or (file.order is not None and len(orders) == 1):
        return file.frame
    if len(orders) > 1:
        first, second = (f"{orders[order].name} ({order})" for order in ORDERS)
        raise FormatError(
            "some files have ranks and others confidences",
            expected="the same columns in the files of all annotators",
            got=f"{first} and {second}",
            advice="name the column that counts (--column rank=NAME), or bring the files into one form",
        )
    if file.has_several:
        order, path = next(iter(orders.items()))
        raise FormatError(
            f"a file has no {order} although others have, and gives a case several labels",
            expected=f"a column {order!r}, as in {path.name}",
            got=f"columns {listing(column.name for column in file.columns)}",
            where=str(file.path),
            advice=f"add the column {order!r}; equal numbers are a tie",
        )
    return file.frame.with_columns(
        pl.when(pl.col("condition").is_not_null()).then(1.0).otherwise(None).alias(str(next(iter(orders))))
    )


def merged_notes(notes: Any) -> tuple[Note, ...]:
    """Add the notes on several files up, as one directory is one study."""
    sums: dict[tuple[str, str, bool], Note] = {}
    for note in notes:
        key = (note.found, note.action, note.lost)
        before = sums.get(key, Note(note.found, 0, note.action, (), note.lost))
        examples = tuple(dict.fromkeys((*before.examples, *note.examples)))[:3]
        sums[key] = Note(note.found, before.count + note.count, note.action, examples, note.lost)
    return tuple(sums.values())
