"""How inputs are split by case, wherever that is done.

Cases go to pieces by a hash of their names, so that rows of a case meet whichever file they come from; they stand in
the order of files, then rows. Whoever splits reads a chunk of a file and writes one file, in which the rows of every
bucket stand together; then the rows of each bucket are put together from all of these. Memory is that of a chunk and of
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
        own = pl.col(NAME).is_in(found[STUDY][NAME].unique().implode()) | pl.col(NAME).is_null()
        return {name: rows.filter(own).drop(NAME) for name, rows in found.items()}

    def named(self, name: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Write the names of cases beside the rows of an input, and into them if a piece could read them otherwise."""
        names = case_names(rows[self.columns[name]], self.texts[name])
        if self.texts[name]:  # a piece of whole numbers only would be read as another name
            rows = rows.with_columns(names.alias(self.columns[name]))
        return rows.with_columns(names.alias(NAME))

    def nothing(self, name: str) -> pl.DataFrame:
        """Return a table without rows, as those of an input are when they are split."""
        types: Any = {**self.types[name], **({self.columns[name]: pl.String()} if self.texts[name] else {})}
        return pl.DataFrame(schema={**types, GENERATION: pl.Int32})

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
    digests, sizes
        By piece: the hash of what its rows say, and the number of its cases. A piece is called after the generation of
        files with which its cases came, and the part of their hash, or the file.
    matches
        By input of a model: how its cases fit those of the study.
    """

    digests: Mapping[str, str]
    sizes: Mapping[str, int]
    matches: Mapping[str, Match]

    @staticmethod
    def joined(parts: Sequence[Pieces]) -> Pieces:
        """Put together what is known of different pieces."""
        digests, sizes, matches = dict[str, str](), dict[str, int](), dict[str, Match]()
        for one in parts:
            digests |= one.digests
            sizes |= one.sizes
            matches |= {name: matches.get(name, Match()) + match for name, match in one.matches.items()}
        return Pieces(dict(sorted(digests.items())), sizes, matches)


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
    """Write the rows of a chunk, those of every bucket together, unless that has been done before.

    The file begins with the place where each bucket begins behind it.
    """
    how: Partition = pickle.loads(settings)
    if how.storage.has(how.part(chunk)):
        return
    rows = how.named(chunk.input, rows_in(chunk.place, how.types[chunk.input], chunk.first, chunk.size))
    bucket = pl.Series(BUCKET, buckets_of(rows[NAME], how.n_buckets))
    found, parts = rows.drop(NAME).with_columns(bucket).partition_by(BUCKET, as_dict=True, include_key=False), []
    for number in range(how.n_buckets + 1):
        written = io.BytesIO()
        if (number,) in found:
            found[number,].write_ipc_stream(written, compression="lz4")
        parts.append(written.getvalue())
    begins = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    how.storage.write(how.part(chunk), begins.tobytes() + b"".join(parts))


def gather(settings: bytes, bucket: int) -> bytes:
    """Put the rows of a bucket together; return what is known of its pieces as a bundle.

    Cases are in the piece of the generation of files that they first came with. Rows without a case come first in every
    piece: they declare names, or a reader refuses them.
    """
    how: Partition = pickle.loads(settings)
    index = f"{how.folder}/bucket-{bucket:05d}"
    if how.storage.has(index):
        return how.storage.read(index)
    frames, nameless = _bucket(how, bucket), _bucket(how, how.n_buckets)
    known = frames[STUDY].group_by(NAME, maintain_order=True).agg(pl.col(GENERATION).min())
    digests, sizes = dict[str, str](), dict[str, int]()
    for (generation,), cases in known.group_by(GENERATION):
        piece, own = f"{generation}-{bucket:05d}", pl.col(NAME).is_in(cases[NAME].implode())
        both = {name: pl.concat([nameless[name], rows.filter(own)]) for name, rows in frames.items()}
        how_written = {"compression": "lz4", "statistics": False}
        payload = bundled({name: parquet(rows.drop(GENERATION, NAME), **how_written) for name, rows in both.items()})
        how.storage.write(f"{how.folder}/{piece}", payload)
        digests[piece], sizes[piece] = hashlib.sha256(payload).hexdigest(), len(cases)
    found = bundled(Pieces(digests, sizes, _matches(frames)))
    how.storage.write(index, found)
    return found


def _bucket(how: Partition, bucket: int) -> dict[str, pl.DataFrame]:
    """Return the rows of a bucket, by input, in the order of chunks, with names of cases and generations."""
    found = {name: [how.nothing(name)] for name in how.types}
    for chunk in how.chunks:
        with how.storage.opened(how.part(chunk)) as file:
            file.seek(8 * bucket)
            first, end = np.frombuffer(file.read(16), dtype=np.int64).tolist()
            if end > first:
                file.seek(8 * (how.n_buckets + 2) + first)
                rows = pl.read_ipc_stream(io.BytesIO(file.read(end - first)))
                found[chunk.input].append(rows.with_columns(pl.lit(chunk.generation, pl.Int32).alias(GENERATION)))
    return {name: how.named(name, pl.concat(parts)) for name, parts in found.items()}


def _matches(frames: Mapping[str, pl.DataFrame]) -> dict[str, Match]:
    """Compare the cases of every model with those of the study."""
    names = {name: rows[NAME].drop_nulls().unique(maintain_order=True).to_list() for name, rows in frames.items()}
    return {name: Match.of(names[STUDY], own) for name, own in names.items() if name.startswith("model")}


def compare_files(settings: bytes, given: tuple[str, str]) -> bytes:
    """See how the cases of files match that are partitioned by case already; as :func:`gather` says it."""
    how, (piece, digest) = pickle.loads(settings), given
    compared = {name: place for name, place in how.files[piece].items() if name == STUDY or name.startswith("model")}
    types = {name: {how.columns[name]: how.types[name][how.columns[name]]} for name in compared}
    named = {name: how.named(name, rows_in(place, types[name])) for name, place in compared.items()}
    return bundled(Pieces({piece: digest}, {piece: named[STUDY][NAME].n_unique()}, _matches(named)))


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
