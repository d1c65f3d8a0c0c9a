"""AVA: how many people gave a photograph each score from 1 to 10."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.arrays import IntArray, Path
from dissensus.core.errors import DissensusError, FormatError
from dissensus.core.files import Source, open_source
from dissensus.study.study import Study
from paper.data.publication import Publication, PublishedFile

if TYPE_CHECKING:
    from dissensus.core.receipt import Note

COMMIT = "ae482174a1212b8c0e9e9e5bdfc41fdc31df9eb4"
AVA = Publication(
    title="AVA ratings",
    name="ava",
    folder="ava",
    files=(
        PublishedFile(
            "ava_labels_test.json",
            "dddbfa40e3bddf13de6e50b87c4ec63d978d04ffea0e2920246179c03b445065",
            f"https://raw.githubusercontent.com/idealo/image-quality-assessment/{COMMIT}/data/AVA/ava_labels_test.json",
        ),
    ),
    origin="github.com/idealo/image-quality-assessment, folder data/AVA (a tenth of AVA), or the file AVA.txt "
    "of the full data set",
    licence="Apache 2.0 (of that repository)",
)
FULL = "AVA.txt"
SCORES = tuple(range(1, 11))
WIDTH = 15
"""Numbers in a line of the full file: position, image, ten counts, two tags, challenge."""


@dataclass(frozen=True, eq=False)
class Ava:
    """Hold AVA: the ratings of each photograph, and what deserves a look."""

    ratings: Study
    notes: tuple[Note, ...] = ()


def load_ava(path: Path, *, most: int | None = None) -> Ava:
    """Load AVA ratings from a file, or from a directory that holds ``ava_labels_test.json`` or ``AVA.txt``.

    Parameters
    ----------
    path
        JSON with an ``image_id`` and ten counts (``label``) per photograph, or the text file of the full data set:
        position, image, ten counts, two tags and the challenge in each line.
    most
        Keep the first photographs only, at most so many.
    """
    place = AVA.single(path, (FULL,))
    source = open_source(place)
    try:
        names, counts = _from_json(source) if source.kind == "json" else _from_text(source)
        kept = slice(None, most)
        ratings = Study.from_counts(counts[kept], levels=SCORES, case_names=names[kept])
    except DissensusError as error:
        raise error.at(str(place)) from None
    return Ava(ratings, AVA.notes([place]))


def _from_json(source: Source) -> tuple[list[str], IntArray]:
    rows = source.content
    if not isinstance(rows, list):
        raise FormatError("these are not AVA ratings", expected="a list of photographs", got=type(rows).__name__)
    for number, row in enumerate(rows, start=1):
        if not _is_photograph(row):
            raise FormatError(
                "a photograph is not understood",
                expected='{"image_id": "1", "label": [ten counts]}',
                got=f"{row!r:.60}",
                where=f"entry {number}",
            )
    return [str(row["image_id"]) for row in rows], np.array([row["label"] for row in rows], dtype=np.int64)


def _is_photograph(row: Any) -> bool:
    label = row.get("label") if isinstance(row, dict) and "image_id" in row else None
    return isinstance(label, list) and len(label) == len(SCORES) and all(isinstance(count, int) for count in label)


def _from_text(source: Source) -> tuple[list[str], IntArray]:
    if source.kind != "text":
        raise FormatError("these are not AVA ratings", expected="JSON, or lines of numbers", got=source.kind)
    rows = [line.split() for line in source.content.splitlines() if line.strip()]
    for number, row in enumerate(rows, start=1):
        if len(row) != WIDTH or not all(cell.isdigit() for cell in row):
            raise FormatError(
                "a line is not understood",
                expected=f"{WIDTH} whole numbers: position, image, ten counts, two tags, challenge",
                got=f"{' '.join(row):.60}",
                where=f"line {number}",
            )
    return [row[1] for row in rows], np.array([row[2:12] for row in rows], dtype=np.int64)


def fetch_ava(directory: Path | None = None) -> FilePath:
    """Download the tenth of AVA that is published, check it, and return its directory; needs pooch."""
    return AVA.fetch(directory)
