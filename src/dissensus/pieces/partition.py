"""How inputs are split by case, wherever that is done.

Cases go to pieces by a hash of their names, so that rows of a case meet whichever file they come from; they stand in
the order of files, then rows. Whoever splits reads a chunk of a file and writes one Parquet file, in which the rows of
every bucket stand together; then each bucket is read from all of these. Memory is that of a chunk and of
a piece, however large the input, and nothing passes through the process that asks for it. Rows of cases that first came
with files that were added later are pieces of their own, so that earlier pieces stay as they are. Files that are
partitioned by case already are pieces as they are.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from dissensus.core.arrays import IntArray
from dissensus.core.bundle import bundled, restored
from dissensus.core.errors import FormatError, known_name, listing
from dissensus.pieces.inputs import MOST_ROWS, STRATA, STUDY, TRUTH, FileFacts, Input, is_address, n_rows_in, rows_in
from dissensus.pieces.run_directory import PIECES, Storage
from dissensus.predictions.lists import Match

# Bytes of a chunk, and the rows that it has at least.
CHUNK_BYTES, LEAST_ROWS = 1 << 26, 1_000

GENERATION, BUCKET, NAME = "generation of the row", "bucket of the row", "name of the case"


class Chunk(NamedTuple):
    """Some rows of a file of an input, which came with a generation of files."""

    input: str
    number: int
    generation: int
    place: str
    first: int
    size: int


@dataclass(frozen=True)
class Partition:
    """Pieces of all inputs: what workers have to know to make and to read them.

    Attributes
    ----------
    storage, folder
        Where the pieces are.
    n_buckets
        Into how many parts the names of cases are hashed.
    columns, texts, types
        By input: the column that names the case, how its numbers are names, and the types of all columns.
    chunks
        What is split.
    files
        Of inputs that are partitioned by case already, the file of each input by piece.
    """

    storage: Storage
    folder: str
    n_buckets: int
    columns: Mapping[str, str]
    texts: Mapping[str, str]
    types: Mapping[str, Mapping[str, pl.DataType]]
    chunks: tuple[Chunk, ...] = ()
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def frames(self, piece: str) -> dict[str, pl.DataFrame]:
        """Return the rows of a piece, by input: ``study``, ``model 0`` and so on, ``strata``, ``truth``."""
        if not self.files:
            return frames_from(self.storage.read(f"{self.folder}/{piece}"))
        found = {name: self.named(name, rows_in(place, self.types[name])) for name, place in self.files[piece].items()}
        return of_cases(found, found[STUDY][NAME].unique())

    def named(self, name: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Write the names of cases beside the rows of an input, and into them if a piece could read them otherwise."""
        names = case_names(rows[self.columns[name]], self.texts[name])
        if self.texts[name]:  # a piece of whole numbers only would be read as another name
            rows = rows.with_columns(names.alias(self.columns[name]))
        return rows.with_columns(names.alias(NAME))

    def about(self, cases: Sequence[str], pieces: Sequence[str]) -> list[str]:
        """Name the pieces that may hold some cases."""
        wanted = set(buckets_of(pl.Series(cases, dtype=pl.String), self.n_buckets).tolist())
        return [piece for piece in pieces if self.files or int(piece.partition("-")[2]) in wanted]

    def part(self, chunk: Chunk) -> str:
        """Name the file that a chunk is split into."""
        return f"{self.folder}/{chunk.input}-{chunk.number:06d}"


@dataclass(frozen=True)
class Pieces:
    """What is known of pieces once they are there.

    Attributes
    ----------
    digests
        By piece, the hash of what its rows say. A piece is called after the generation of files with which its cases
        came, and the part of their hash, or the file.
    matches
        By input of a model: how its cases fit those of the study.
    """

    digests: Mapping[str, str]
    matches: Mapping[str, Match]

    @staticmethod
    def joined(parts: Sequence[Pieces]) -> Pieces:
        """Put together what is known of different pieces."""
        digests, matches = dict[str, str](), dict[str, Match]()
        for one in parts:
            digests |= one.digests
            matches |= {name: matches.get(name, Match()) + match for name, match in one.matches.items()}
        return Pieces(dict(sorted(digests.items())), matches)


def partition_of(
    generations: Mapping[str, Sequence[Input]],
    columns: Mapping[str, str],
    facts: Mapping[str, FileFacts],
    storage: Storage,
    key: str,
    n_buckets: int,
    *,
    is_partitioned: bool = False,
) -> Partition:
    """Plan how inputs are split.

    Parameters
    ----------
    generations
        By input, files in the order in which they were added: ``"study"``, ``"model 0"``, ``"strata"``.
    columns
        The column of each input that names the case.
    facts
        What is known of every file, by its place.
    storage, key
        Where pieces go, and a digest of what is split.
    n_buckets
        Into how many parts the names of cases are hashed.
    is_partitioned
        Whether files are pieces as they are.
    """
    types, texts, chunks = {}, {}, list[Chunk]()
    for name, inputs in generations.items():
        together = Input(tuple(file for one in inputs for file in one.places))
        types[name] = together.schema
        known_name("column", columns[name], list(together.schema), purpose="for the case")
        is_float = together.schema[columns[name]].is_float()
        are_whole = all(facts[place].are_whole for place in together.places)
        texts[name] = ("whole" if are_whole else "decimal") if is_float else ""
        head = together.head(LEAST_ROWS)
        if not len(head):
            raise FormatError("the table has no rows", expected="at least one row", where=listing(together.places))
        size = min(MOST_ROWS, max(LEAST_ROWS, CHUNK_BYTES * len(head) // max(1, int(head.estimated_size()))))
        came = [(generation, place) for generation, one in enumerate(inputs) for place in one.places]
        ranges = ((*one, first) for one in came for first in range(0, n_rows_in(one[1]), size))
        for number, (generation, place, first) in enumerate(ranges):
            chunks.append(Chunk(name, number, generation, absolute(place), first, size))
    folder, files = f"{PIECES}/input-{key}", _files_by_piece(generations) if is_partitioned else {}
    return Partition(storage, folder, n_buckets, columns, texts, types, tuple(chunks), files)


def absolute(place: str) -> str:
    """Return a path that other processes understand."""
    return place if is_address(place) else str(FilePath(place).absolute())


def _files_by_piece(generations: Mapping[str, Sequence[Input]]) -> dict[str, dict[str, str]]:
    """Take files for pieces as they are, in their order; labels and truths may be in one file for all."""
    found: dict[str, dict[str, str]] = {}
    for name, inputs in generations.items():
        for generation, study in enumerate(generations[STUDY]):
            own = inputs[generation].places
            if name in (STRATA, TRUTH) and len(inputs[0].places) == 1:
                own = inputs[0].places * len(study.places)
            if len(own) != len(study.places):
                raise FormatError(
                    "the files are not partitioned by case",
                    expected=f"as many files as the study has ({len(study.places)}), in the same order",
                    got=f"{len(own)} files of {name}",
                    advice="leave --partitioned out: they are split then",
                )
            for number, place in enumerate(own):
                found.setdefault(f"{generation}-{number:05d}", {})[name] = absolute(place)
    return found


# What workers do ----------------------------------------------------------------------------------------


def scatter(settings: bytes, chunk: Chunk) -> None:
    """Write the rows of a chunk in the order of their buckets, unless that has been done before."""
    how: Partition = pickle.loads(settings)
    if how.storage.has(how.part(chunk)):
        return
    rows = how.named(chunk.input, rows_in(chunk.place, how.types[chunk.input], chunk.first, chunk.size))
    bucket, generation = buckets_of(rows[NAME], how.n_buckets), pl.lit(chunk.generation, pl.Int32)
    rows = rows.with_columns(generation.alias(GENERATION), pl.Series(BUCKET, bucket)).sort(BUCKET, maintain_order=True)
    size = max(LEAST_ROWS, len(rows) // how.n_buckets)  # a bucket is read without most of the others
    how.storage.write(how.part(chunk), parquet(rows, compression="lz4", row_group_size=size))


def gather(settings: bytes, bucket: int) -> Pieces:
    """Put the rows of a bucket together; return what is known of its pieces.

    Cases are in the piece of the generation of files that they first came with. Rows without a case come first in every
    piece: they declare names, or a reader refuses them.
    """
    how: Partition = pickle.loads(settings)
    frames, digests = dict[str, pl.DataFrame](), dict[str, str]()
    for name in how.types:
        files = [f"{how.storage.root}/{how.part(chunk)}" for chunk in how.chunks if chunk.input == name]
        rows = pl.scan_parquet(files, glob=False, hive_partitioning=False)
        rows = rows.filter(pl.col(BUCKET).is_in([bucket, how.n_buckets]))
        frames[name] = rows.collect().sort(pl.col(NAME).is_not_null(), maintain_order=True)
    known = frames[STUDY].drop_nulls(NAME).group_by(NAME, maintain_order=True).agg(pl.col(GENERATION).min())
    for (generation,), cases in known.group_by(GENERATION):
        piece, own = f"{generation}-{bucket:05d}", of_cases(frames, cases[NAME])
        how_written = {"compression": "lz4", "statistics": False}
        payload = bundled({name: parquet(rows, **how_written) for name, rows in own.items()})
        how.storage.write(f"{how.folder}/{piece}", payload)
        digests[piece] = hashlib.sha256(payload).hexdigest()
    return Pieces(digests, _matches(frames))


def of_cases(frames: Mapping[str, pl.DataFrame], cases: pl.Series) -> dict[str, pl.DataFrame]:
    """Keep the rows about some cases, and those without a case; what was written beside them goes."""
    own = pl.col(NAME).is_in(cases.implode()) | pl.col(NAME).is_null()
    return {name: rows.filter(own).drop(BUCKET, GENERATION, NAME, strict=False) for name, rows in frames.items()}


def _matches(frames: Mapping[str, pl.DataFrame]) -> dict[str, Match]:
    """Compare the cases of every model with those of the study."""
    names = {name: rows[NAME].drop_nulls().unique(maintain_order=True).to_list() for name, rows in frames.items()}
    return {name: Match.of(names[STUDY], own) for name, own in names.items() if name.startswith("model")}


def compare_files(settings: bytes, given: tuple[str, str]) -> Pieces:
    """See how the cases of files match that are partitioned by case already; as :func:`gather` says it."""
    how, (piece, digest) = pickle.loads(settings), given
    compared = {name: place for name, place in how.files[piece].items() if name == STUDY or name.startswith("model")}
    types = {name: {how.columns[name]: how.types[name][how.columns[name]]} for name in compared}
    named = {name: how.named(name, rows_in(place, types[name])) for name, place in compared.items()}
    return Pieces({piece: digest}, _matches(named))


def rows_about(settings: bytes, piece: str) -> dict[str, pl.DataFrame]:
    """Return the rows of a piece about some cases, with their names beside them."""
    (how, cases), found = pickle.loads(settings), dict[str, pl.DataFrame]()
    for name, rows in how.frames(piece).items():
        names = case_names(rows[how.columns[name]])
        found[name] = rows.with_columns(names.alias(NAME)).filter(names.is_in(cases))
    return found


# Names and bytes ----------------------------------------------------------------------------------------


def frames_from(payload: bytes) -> dict[str, pl.DataFrame]:
    """Return the rows of a piece, by input.

    Examples
    --------
    >>> frames_from(bundled({"study": parquet(pl.DataFrame({"case": ["a"]}))}))["study"].rows()
    [('a',)]
    """
    try:
        return {name: pl.read_parquet(io.BytesIO(document)) for name, document in restored(payload, []).items()}
    except (FormatError, pl.exceptions.PolarsError) as error:
        raise FormatError("the bytes of a piece are damaged or cut off", got=str(error).partition("\n")[0]) from error


def parquet(rows: pl.DataFrame, **how: Any) -> bytes:
    """Write a table as Parquet that depends on its rows only."""
    written = io.BytesIO()
    rows.rechunk().write_parquet(written, **how)
    return written.getvalue()


def case_names(column: pl.Series, text: str = "") -> pl.Series:
    """Return the names of cases as the readers make them; missing where there is none."""
    try:
        names = column.cast(pl.Int64) if text == "whole" and column.dtype.is_float() else column
        return names.cast(pl.String).replace("", None)
    except pl.exceptions.PolarsError as error:
        raise FormatError("the case of a row is not a name", got=f"{column.dtype} in {column.name!r}") from error


def buckets_of(names: pl.Series, n_buckets: int) -> IntArray:
    """Return the part of each name of a case by its hash; one more where there is none.

    Examples
    --------
    >>> buckets_of(pl.Series(["a", "a", None]), 1)
    array([0, 0, 1])
    """
    found = (names.hash() % n_buckets).to_numpy().astype(np.int64)
    return np.where(names.is_null().to_numpy(), n_buckets, found)
