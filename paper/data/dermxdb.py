"""DermXDB: diagnoses of 630 images by eight dermatologists each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from dissensus.core.errors import DissensusError, listing
from dissensus.core.files import open_source
from dissensus.core.receipt import Note
from dissensus.study.study import Study
from paper.data.publication import Publication, PublishedFile

if TYPE_CHECKING:
    import polars as pl

    from dissensus.core.arrays import Path

DERMXDB = Publication(
    title="DermXDB data",
    name="dermxdb",
    folder="dermxdb",
    files=(PublishedFile("dermxdb_diagnoses.csv", "20a791d8a43c31a31de344a7e1f87b3f99d263719188a386505ad5f24aff5ead"),),
    origin="github.com/ralucaj/dermx: the tags of each annotation file, put into one table "
    "(image, labeller, round, diagnoses joined by '|')",
    licence="CC0",
)
COLUMNS = ("image", "labeller", "round", "diagnoses")
REMARK = "Low-quality"
"""A remark on the image that stands among the diagnoses."""


@dataclass(frozen=True, eq=False)
class DermXDB:
    """Hold the DermXDB data.

    Attributes
    ----------
    annotations
        What each dermatologist said of each image. Several diagnoses are tied: their order is not a ranking.
    notes
        What was left out.
    """

    annotations: Study
    notes: tuple[Note, ...] = ()


def load_dermxdb(path: Path, *, rating_round: int = 1) -> DermXDB:
    """Load DermXDB from its table, or from a directory that holds ``dermxdb_diagnoses.csv``.

    Parameters
    ----------
    path
        Table with the columns ``image``, ``labeller``, ``round`` and ``diagnoses``, which are joined by ``|``.
    rating_round
        Which round of labelling; 61 images have a second one.
    """
    place = DERMXDB.single(path)
    table = _checked(place)
    rows = table.filter(table["round"].cast(str) == str(rating_round))
    if not len(rows):
        rounds = sorted(set(table["round"].cast(str).to_list()))
        raise DissensusError(
            f"there is no round {rating_round}", expected=f"one of {listing(rounds)}", where=str(place)
        )
    kept, remarks = _without_remarks(rows)
    said = Study.from_long(kept, case="image", annotator="labeller", condition="diagnoses", tie_separator="|")
    note = Note(f"remarks {REMARK!r}", remarks, "skipped: they are not diagnoses", lost=True)
    return DermXDB(said, (*([note] if remarks else []), *DERMXDB.notes([place])))


def _checked(place: FilePath) -> pl.DataFrame:
    source = open_source(place)
    missing = [name for name in COLUMNS if not source.is_table or name not in source.table.columns]
    if missing:
        raise DissensusError(
            "this is not the table of DermXDB",
            expected=f"the columns {listing(COLUMNS)}",
            got=f"no {listing(missing)}",
            where=str(place),
            advice=DERMXDB.advice,
        )
    return source.table.select(COLUMNS)


def _without_remarks(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Take remarks out of the diagnoses; who says nothing else abstains."""
    import polars as pl

    parts = pl.col("diagnoses").str.split("|")
    remarks = table.select((parts.list.count_matches(REMARK)).sum()).item() or 0
    named = parts.list.set_difference([REMARK]).list.join("|")
    return table.with_columns(pl.when(named != "").then(named).alias("diagnoses")), int(remarks)


def fetch_dermxdb(directory: Path | None = None) -> FilePath:
    """Say where DermXDB is; it is published as one file per image and dermatologist, and cannot be fetched as a table.

    Raises
    ------
    DissensusError
        Always, with the place to get it from.
    """
    return DERMXDB.fetch(directory)
