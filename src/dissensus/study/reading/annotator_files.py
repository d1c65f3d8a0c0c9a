"""A directory, or a list of files, with one file per annotator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from dissensus.core.arrays import Path as PathLike
from dissensus.core.errors import DissensusError, FormatError, listing
from dissensus.core.files import SPREADSHEETS, Source, checked_path, open_source
from dissensus.core.receipt import Note, columns_of
from dissensus.study import tables
from dissensus.study.reading.columns import BY_ORDER, ORDERS, has_several_rows, order_of
from dissensus.study.reading.format import Collection, Format, Options, Parsed, as_name, as_table, files_of

ENDINGS = (".csv", ".tsv", ".tab", ".parquet", ".json")
LINES = (".jsonl", ".ndjson")

# Endings of the files of other formats that are directories.
OTHERS = (*LINES, ".soc", ".soi", ".toc", ".toi")

OWN = {role: names for role, names in tables.ALIASES.items() if role != "annotator"}
BY_NAME = "the name of a file is its annotator"
TIED = "several labels that an annotator gave a case without a rank are tied"


class AnnotatorFiles(Format):
    """Directory or list of files, one per annotator."""

    id = "annotator-files"
    title = "directory or list of files, one per annotator"
    kinds = ("directory",)

    def recognises(self, source: Source) -> bool:
        """Tell a directory with tables or JSON, and no files of another format that is a directory."""
        if source.kind != "directory":
            return False
        endings = {path.suffix.lower() for path in source.content if not path.name.startswith(".")}
        return not endings.isdisjoint(ENDINGS) and endings.isdisjoint(OTHERS)

    def parse(self, source: Source, options: Options) -> Parsed:
        """Read a table ``case,label[,rank]`` or JSON ``{case: label or ranking}`` per file, named by the annotator."""
        files, notes = parsed_files(source, _parsed, options)
        orders = {order_of(file.frame): path for path, file in reversed(files.items())}
        orders.pop("", None)
        if len(orders) > 1:
            first, second = (f"{orders[order].name} ({order})" for order in ORDERS)
            raise FormatError(
                "some files have ranks and others confidences",
                expected="the same columns in the files of all annotators",
                got=f"{first} and {second}",
                advice="name the column that counts (--column rank=NAME), or bring the files into one form",
            )
        frames = []
        for path, file in files.items():  # where others have ranks, a case with one label has it in the first place
            order = next((order for order in orders if order not in file.frame.columns), "")
            if order and has_several_rows(file.frame):
                raise FormatError(
                    f"a file has no {order} although others have, and gives a case several labels",
                    expected=f"a column {order!r}, as in {orders[order].name}",
                    got=f"columns {listing(column.name for column in file.columns)}",
                    where=str(path),
                    advice=f"add the column {order!r}; equal numbers are a tie",
                )
            first_place = pl.when(pl.col("condition").is_not_null()).then(1.0)
            frames.append(file.frame.with_columns(first_place.alias(order)) if order else file.frame)
        return put_together(frames, [*files.values()], notes)


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


def parsed_files(
    source: Source, parse: Callable[[Source, Options], Parsed], options: Options
) -> tuple[dict[Path, Parsed], tuple[Note, ...]]:
    """Read every file of data on its own, as that of the annotator whose name it has, and note other files.

    Whatever is wrong with a file, the error names it. A spreadsheet is data that cannot be read.
    """
    if source.kind != "directory":
        raise FormatError("this is not a directory", expected="one file per annotator", got=source.kind)
    endings = (*ENDINGS, *LINES, *SPREADSHEETS)
    paths, notes = files_of(source, endings, f"one file per annotator, ending in {', '.join((*ENDINGS, *LINES))}")
    by_name: dict[str, Path] = {}
    for path in paths:
        if by_name.setdefault(path.stem, path) != path:
            raise FormatError(
                f"two files would be annotator {path.stem!r}",
                expected="one file per annotator, named after them",
                got=f"{by_name[path.stem]} and {path}",
                advice="merge the two files, or give one another name",
            )
    files = {}
    for path in paths:
        try:
            parsed = parse(open_source(path, options.limits), options)
        except DissensusError as error:
            raise error.at(str(path), "correct the file, or take it out of the directory") from None
        if "annotator" not in parsed.frame.columns:
            parsed = replace(parsed, frame=parsed.frame.with_columns(annotator=pl.lit(path.stem)))
        files[path] = parsed
    return files, notes


def put_together(frames: Sequence[pl.DataFrame], files: Sequence[Parsed], notes: Sequence[Note]) -> Parsed:
    """Make one long table of those of several files, and add up what the receipt says of them."""
    sums = Collection(notes)
    for note in (note for file in files for note in file.notes):
        sums.add_note(note)
    columns = dict.fromkeys(column for file in files for column in file.columns)
    told = dict.fromkeys((BY_NAME, *(sentence for file in files for sentence in file.assumed)))
    table = pl.concat(frames, how="diagonal")
    return Parsed(table, sums.parsed().notes, columns=tuple(columns), assumed=tuple(told))


# One file -----------------------------------------------------------------------------------------------


def _parsed(source: Source, options: Options) -> Parsed:
    """Read a table, or ``{case: label or ranking}``; null is no opinion, and an empty list an abstention.

    The columns of a table are found as in the long form, but for the annotator.
    """
    if source.kind == "json" and isinstance(source.content, dict):
        said = Collection()
        for case, value in source.content.items():
            said.add_opinion(as_name(case, "the name of a case", ""), source.path.stem, value)
        parsed = said.parsed()
        return replace(parsed, frame=parsed.frame.drop("annotation"))
    table = as_table(source)
    given = {role: name for role, name in options.columns.items() if role != "annotator"}
    free = [name for name in table.columns if name not in given.values()]
    expected = "the columns case and label, and rank where there is an order"
    refuse_annotator_column(tables.find_columns(free, {}, required=()), expected)
    found = tables.find_columns(table.columns, given, aliases=OWN)
    roles = tables.without_second_order(found, given, options.confidence)
    frame = tables.tidied(tables.numbered(tables.with_roles(table, roles)), options.tie_separator)
    frame = frame.with_columns(pl.col(tables.ROW).cast(pl.Int64))
    order = order_of(frame)
    assumed = (TIED,) if not order and has_several_rows(frame) else ()
    assumed = (BY_ORDER,) if order == "confidence" and options.confidence is None else assumed
    return Parsed(frame, columns=columns_of(table.columns, roles, given), assumed=assumed)


def refuse_annotator_column(found: Mapping[str, str], expected: str) -> None:
    """Refuse that a file which is named after its annotator names annotators inside, too."""
    if "annotator" in found:
        raise DissensusError(
            "a file of one annotator has an annotator column",
            expected=expected,
            got=f"the column {found['annotator']!r}",
            advice="read the file on its own if it holds several annotators, or leave the column out",
        )
