"""Split inputs by case into buckets on disk, in one pass and little memory; a shard is a bucket of every input.

The rows of a case may be scattered over files; afterwards they stand together, in the order of files, then rows. Memory
is that of two chunks and of a block of buckets, some 500 MB, however large the input, as long as a bucket fits into it.
Every input of every generation becomes a directory: a few files, each a row of Parquet tables, one per bucket, that are
64 MB in memory, and ``index.json``, which says where each begins. So 100 million cases with 1.5 billion rows become
some thousand files per input and, with 10 000 cases per bucket, 10 000 shards, each read in one go; while an input is
split, the disk needs room for it twice. A million rows take about a second and a half of one processor, less where the
rows of a case stand together. A directory gets its name when it is whole: what is not whole never counts as finished.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import polars as pl

from dissensus.core.aliases import IntArray, KeyArray
from dissensus.core.bundle import bundled, restored
from dissensus.core.errors import DissensusError, FormatError, listing, suggestion
from dissensus.core.names import case_keys
from dissensus.core.ragged import begins_run
from dissensus.predictions.alignment import Match
from dissensus.shards.tables import Tables
from dissensus.study.tables import encoded, tidied

FORMAT = 1
STUDY, STRATA = "study", "strata"
INDEX = "index.json"
UNFINISHED = ".unfinished-"
INPUT = re.compile(r"[a-z]+( [0-9]+)?")
"""Names of inputs: ``study``, ``strata``, ``model 0`` and so on."""

CHUNK_BYTES, MOST_ROWS, LEAST_ROWS = 1 << 26, 1_000_000, 1_000
"""Bytes of a chunk, and the rows that it has at most and at least."""

BLOCK_BYTES = 1 << 26
"""Bytes of the buckets that are put in order, and written, together."""

NAMES_AT_ONCE = 8192
"""So many names are hashed at a time; more would stay in memory with their keys."""

BUCKET = "bucket of the row"
STORED = "stored"
"""Names of cases that were numbers with a decimal point are stored as text."""


@dataclass(frozen=True)
class Buckets:
    """Rows of several inputs, split by case into buckets below a directory.

    Attributes
    ----------
    place
        The directory.
    n_buckets
        How many buckets there are; the bucket of a case is its key modulo this number.
    generations
        How often files were added, the first time included.
    """

    place: FilePath
    n_buckets: int
    generations: int = 1

    def shards(self) -> tuple[Shard, ...]:
        """Return the shards in the order of their names; see :func:`shards_of`."""
        return shards_of(self.place, self.n_buckets, self.generations)

    def matches(self) -> dict[str, Match]:
        """Compare the cases of every model with those of the study; see :func:`matches_of`."""
        return matches_of(self.place, self.n_buckets, self.generations)


def bucketed(
    inputs: Mapping[str, Tables],
    case_columns: Mapping[str, str],
    place: FilePath,
    *,
    n_buckets: int,
    generation: int = 0,
    advance: Callable[[int], None] | None = None,
) -> Buckets:
    """Split inputs by case into buckets, unless that has been done before.

    Parameters
    ----------
    inputs
        Files by the name of the input: ``"study"``, ``"model 0"``, ``"model 1"``, ``"strata"``.
    case_columns
        The column of each input that names the case.
    place
        The directory below which the buckets are written; it is made if it is not there.
    n_buckets
        How many buckets; the same for all generations.
    generation
        0 for the first files, then 1, 2 and so on for files that are added later.
    advance
        Told the number of rows done; rows of finished inputs are told at once.

    Raises
    ------
    FormatError
        If a file cannot be read, has no such column, or differs from those of earlier generations.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     pl.DataFrame({"case": ["a", "b", "a"], "label": ["x", "y", "z"]}).write_parquet(f"{folder}/1.parquet")
    ...     study = Tables.of(f"{folder}/1.parquet")
    ...     found = bucketed({"study": study}, {"study": "case"}, FilePath(folder, "input"), n_buckets=1)
    ...     [shard.name for shard in found.shards()], found.shards()[0].frames()["study"].rows()
    (['0-00000'], [('a', 'x'), ('b', 'y'), ('a', 'z')])
    """
    if n_buckets < 1:
        raise DissensusError("there must be a bucket at least", expected="a number from 1", got=str(n_buckets))
    with _told(place):
        place.mkdir(parents=True, exist_ok=True)
    for name, tables in inputs.items():
        if not INPUT.fullmatch(name):
            raise DissensusError("an input has a name that is not known", expected="study, strata, model 0", got=name)
        task = _Task(name, tables, case_columns[name], place, n_buckets, generation, advance or _ignored)
        if task.is_done():
            task.advance(tables.n_rows())
        else:
            task.run()
    return Buckets(place, n_buckets, generation + 1)


def _ignored(_: int) -> None:
    """Tell nobody."""


@contextmanager
def _told(place: FilePath) -> Iterator[None]:
    """Turn what the system says of a full or missing disk into an error in words."""
    try:
        yield
    except OSError as error:
        raise FormatError(
            "the split input cannot be written",
            got=str(error.strerror or error).lower(),
            where=str(place),
            advice="make room, or choose another place; what is finished is not done again",
        ) from error


# Splitting one input ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Index:
    """What stands in the directory of a split input, written last.

    Attributes
    ----------
    input, generation, n_buckets, case
        The input, when it came, how many buckets there are, and the column of the case.
    text
        How numbers with a decimal point are names of cases: ``"whole"`` or ``"decimal"``; empty for all others.
    signature
        The files that were split, with sizes and times.
    schema
        The types of the columns, in words.
    files, starts, sizes, checks, rows
        For every bucket the number of its file, where in it, its bytes, their check sum, and its rows; the last bucket
        holds rows without a case.
    """

    input: str
    generation: int
    n_buckets: int
    case: str
    text: str
    signature: list[list[str | int]]
    schema: dict[str, str]
    files: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    checks: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    format: int = FORMAT

    @property
    def order(self) -> tuple[object, ...]:
        """What must be the same for a directory to be what was asked for."""
        return self.input, self.generation, self.n_buckets, self.case, self.signature, self.format

    def check(self) -> int:
        """Return a check sum of everything."""
        return zlib.crc32(json.dumps(asdict(self), sort_keys=True).encode())

    def append(self, file: int, start: int, document: bytes, rows: int) -> None:
        """Note where the next bucket stands."""
        for column, value in zip(
            (self.files, self.starts, self.sizes, self.checks, self.rows),
            (file, start, len(document), zlib.crc32(document), rows),
            strict=True,
        ):
            column.append(value)


@dataclass(frozen=True)
class _Task:
    """Split one input."""

    name: str
    tables: Tables
    case: str
    place: FilePath
    n_buckets: int
    generation: int
    advance: Callable[[int], None]

    @property
    def target(self) -> FilePath:
        return _directory(self.place, self.generation, self.name)

    def is_done(self) -> bool:
        """Tell whether the very same files were split before."""
        if not (self.target / INDEX).is_file():
            return False
        return _index(self.target).order == self._index("", {}).order

    def run(self) -> None:
        """Split, and give the directory its name when it is whole."""
        schema, text = self._checked_schema(), self._text()
        index = self._index(text, {name: str(dtype) for name, dtype in schema.items()})
        self._refuse_other_generations(index)
        folder = self.target.with_name(f"{UNFINISHED}{self.target.name}")
        with _told(self.place):
            for old in (folder, self.target):
                shutil.rmtree(old, ignore_errors=True)
            folder.mkdir()
            self._split(folder, index)
            (folder / INDEX).write_text(json.dumps({**asdict(index), "check": index.check()}), encoding="utf-8")
            folder.rename(self.target)

    def _index(self, text: str, schema: dict[str, str]) -> _Index:
        signature = self.tables.signature()
        return _Index(self.name, self.generation, self.n_buckets, self.case, text, signature, schema)

    def _checked_schema(self) -> dict[str, pl.DataType]:
        schema = self.tables.schema
        if not self.generation and not self.tables.n_rows():
            raise FormatError("the table has no rows", expected="at least one row", where=listing(self.tables.places))
        if self.case not in schema:
            raise FormatError(
                f"there is no column {self.case!r} for the case",
                expected=f"one of the columns {listing(schema, most=12)}",
                where=self.tables.places[0],
                advice=suggestion(self.case, schema),
            )
        return schema

    def _text(self) -> str:
        """Tell how numbers with a decimal point are names: readers take whole ones for integers if all are whole."""
        if not self.tables.schema[self.case].is_float():
            return ""
        are_whole = [self._is_whole(chunk[self.case]) for chunk in self.tables.chunks(MOST_ROWS, [self.case])]
        return "whole" if all(are_whole) else "decimal"

    def _is_whole(self, column: pl.Series) -> bool:
        known = column.drop_nulls()
        if not known.is_finite().all():
            got = f"{known.filter(~known.is_finite())[0]} in the column {self.case!r}"
            raise FormatError("the case of a row is not a name", got=got, where=listing(self.tables.places))
        return bool((known == known.round()).all())

    def _refuse_other_generations(self, index: _Index) -> None:
        for earlier in _indexes(self.place, self.generation, self.name):
            if (earlier.schema, earlier.text, earlier.case) != (index.schema, index.text, index.case):
                raise FormatError(
                    "the files that were added differ from the earlier ones in their columns or their types",
                    expected=f"columns {_shown(earlier.schema)}",
                    got=f"columns {_shown(index.schema)}",
                    where=self.tables.places[0],
                    advice="bring them into the form of the earlier files",
                )

    def _split(self, folder: FilePath, index: _Index) -> None:
        rows, width = _measured(self.tables)
        n_blocks = min(self.n_buckets + 1, max(1, -(-rows * width // BLOCK_BYTES)))
        per_block = -(-(self.n_buckets + 1) // n_blocks)
        n_blocks = -(-(self.n_buckets + 1) // per_block)
        spill = _Spill(folder, n_blocks)
        self._fill(spill, index.text, min(MOST_ROWS, max(LEAST_ROWS, CHUNK_BYTES // width)), per_block)
        for block in range(n_blocks):
            last = min(self.n_buckets + 1, (block + 1) * per_block)
            _write_block(spill.taken(block, index.schema), range(block * per_block, last), folder, index)

    def _fill(self, spill: _Spill, text: str, rows: int, per_block: int) -> None:
        """Hash the names of a chunk while the one before is put away."""
        with ThreadPoolExecutor(1) as pool:
            before: Future[None] | None = None
            for chunk in self.tables.chunks(rows):
                found = self._with_buckets(chunk, text)
                if before is not None:
                    before.result()
                before = pool.submit(spill.add, found, per_block)
                self.advance(len(chunk))
            if before is not None:
                before.result()

    def _with_buckets(self, chunk: pl.DataFrame, text: str) -> pl.DataFrame:
        names = _case_names(chunk[self.case], text)
        if text:
            chunk = chunk.with_columns(names.alias(self.case))
        return chunk.with_columns(pl.Series(BUCKET, buckets_of(names, self.n_buckets), dtype=pl.UInt32))


def _measured(tables: Tables) -> tuple[int, int]:
    """Return the number of rows and the bytes that each takes in memory."""
    head = tables.head(LEAST_ROWS)
    return tables.n_rows(), max(1, int(head.estimated_size() / max(1, len(head)))) + 4


def _case_names(column: pl.Series, text: str) -> pl.Series:
    """Return the names of cases as the readers make them; missing where there is none."""
    if text == "whole":
        column = column.cast(pl.Int64)
    if text:
        return column.cast(pl.String)
    return tidied(pl.DataFrame({"case": column}))["case"]


def buckets_of(names: pl.Series, n_buckets: int) -> IntArray:
    """Return the bucket of each name of a case: its key modulo the number of buckets; one more where there is none.

    Examples
    --------
    >>> buckets_of(pl.Series(["a", "a", None]), 1)
    array([0, 0, 1])
    """
    runs = names.rle_id().to_numpy().astype(np.int64)
    return np.asarray(_distinct_buckets(names.filter(pl.Series(begins_run(runs))), n_buckets)[runs])


def _distinct_buckets(names: pl.Series, n_buckets: int) -> IntArray:
    """Hash every name once, unless most are different anyway and it takes longer to find the others."""
    if 2 * int(names.to_frame().select(pl.all().approx_n_unique()).item()) > len(names):
        found = (_keys(names.fill_null("").to_list()) % np.uint64(n_buckets)).astype(np.int64)
        return np.where(names.is_null().to_numpy(), n_buckets, found)
    codes, distinct = encoded(names)
    return np.append((_keys(distinct) % np.uint64(n_buckets)).astype(np.int64), n_buckets)[codes]


def _keys(names: Sequence[str]) -> KeyArray:
    parts = [case_keys(names[first : first + NAMES_AT_ONCE]) for first in range(0, len(names), NAMES_AT_ONCE)]
    return np.concatenate([np.empty(0, dtype=np.uint64), *parts])


@dataclass
class _Spill:
    """Keep rows by block of buckets: on disk, or in memory where one block holds them all."""

    folder: FilePath
    n_blocks: int
    kept: list[pl.DataFrame] = field(default_factory=list)
    sizes: dict[int, list[int]] = field(default_factory=dict)

    def add(self, rows: pl.DataFrame, per_block: int) -> None:
        """Add rows to the blocks of their buckets; rows of a block stay in order."""
        if self.n_blocks == 1:
            self.kept.append(rows)
            return
        block = rows[BUCKET].to_numpy() // per_block
        ends = np.cumsum(np.bincount(block, minlength=self.n_blocks))
        ordered = rows[np.argsort(block, kind="stable")]
        for number, (start, end) in enumerate(zip(np.append(0, ends[:-1]), ends, strict=True)):
            if end > start:
                self._append(number, ordered[int(start) : int(end)])

    def _append(self, block: int, rows: pl.DataFrame) -> None:
        document = _document(rows, "lz4")
        with self._file(block).open("ab") as file:
            file.write(document)
        self.sizes.setdefault(block, []).append(len(document))

    def taken(self, block: int, schema: Iterable[str]) -> pl.DataFrame:
        """Return the rows of a block in order, and forget them."""
        parts, self.kept = self.kept, []
        if block in self.sizes:
            with self._file(block).open("rb") as file:
                parts = [pl.read_parquet(io.BytesIO(file.read(size))) for size in self.sizes.pop(block)]
            self._file(block).unlink()
        return pl.concat(parts) if parts else pl.DataFrame(schema=[*schema, BUCKET])

    def _file(self, block: int) -> FilePath:
        return self.folder / f"spill-{block:05d}"


def _write_block(rows: pl.DataFrame, buckets: range, folder: FilePath, index: _Index) -> None:
    """Write the buckets of a block one after the other into one file; an empty bucket takes no room."""
    bucket = rows[BUCKET].to_numpy().astype(np.int64) - buckets.start
    ends = np.cumsum(np.bincount(bucket, minlength=len(buckets)))
    ordered = rows.drop(BUCKET)[np.argsort(bucket, kind="stable")]
    number = index.files[-1] + 1 if index.files else 0
    with (folder / _file_name(number)).open("wb") as file:
        for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
            document = _document(ordered[int(start) : int(end)], "lz4") if end > start else b""
            index.append(number, file.tell(), document, int(end - start))
            file.write(document)


def _document(rows: pl.DataFrame, compression: Any) -> bytes:
    """Write a table as Parquet that depends on its rows only."""
    written = io.BytesIO()
    rows.rechunk().write_parquet(written, compression=compression, statistics=False)
    return written.getvalue()


def _file_name(number: int) -> str:
    return f"part-{number:05d}"


def _shown(schema: Mapping[str, str]) -> str:
    return listing((f"{name}: {dtype}" for name, dtype in schema.items()), most=12)


# What was split -----------------------------------------------------------------------------------------


def _directory(place: FilePath, generation: int, name: str) -> FilePath:
    return place / f"{generation}-{name.replace(' ', '-')}"


def _index(folder: FilePath) -> _Index:
    try:
        known = (folder / INDEX).stat()
        return _loaded_index(folder, known.st_mtime_ns, known.st_size)
    except (OSError, ValueError, TypeError) as error:
        raise _damaged(folder / INDEX, str(error)) from error


@lru_cache(maxsize=64)
def _loaded_index(folder: FilePath, _time: int, _size: int) -> _Index:
    said = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    check = said.pop("check", None)
    found = _Index(**said)
    if found.check() != check:
        raise ValueError("a check sum that does not fit")
    return found


def _indexes(place: FilePath, generations: int, name: str) -> list[_Index]:
    folders = [_directory(place, generation, name) for generation in range(generations)]
    return [_index(folder) for folder in folders if (folder / INDEX).is_file()]


def _names(place: FilePath, generations: int) -> list[str]:
    """Name the inputs, the study first."""
    folders = [path for path in place.iterdir() if path.name[0] != "." and (path / INDEX).is_file()]
    found = {one.input for one in map(_index, folders) if one.generation < generations}
    return sorted(found, key=lambda name: (name != STUDY, name.partition(" ")[0], int(name.partition(" ")[2] or 0)))


def _read(place: FilePath, index: _Index, bucket: int, columns: list[str] | None = None) -> pl.DataFrame:
    """Read a bucket of an input, and see whether it is what was written."""
    file = _directory(place, index.generation, index.input) / _file_name(index.files[bucket])
    try:
        with file.open("rb") as opened:
            opened.seek(index.starts[bucket])
            document = opened.read(index.sizes[bucket])
    except OSError as error:
        raise _damaged(file, str(error.strerror)) from error
    if zlib.crc32(document) != index.checks[bucket]:
        raise _damaged(file, "it has changed since, or is cut off")
    return pl.read_parquet(io.BytesIO(document), columns=columns)


def _damaged(file: FilePath, got: str) -> FormatError:
    return FormatError(
        "a part of the split input is damaged",
        got=got,
        where=str(file),
        advice=f"remove {file.parent} and start again with --resume: it is split again, finished shards stay",
    )


def _rows_of(
    place: FilePath, indexes: Sequence[_Index], buckets: Sequence[int], columns: list[str] | None = None
) -> pl.DataFrame | None:
    """Put the rows of some buckets together, generation after generation; nothing if there are none."""
    parts = [_read(place, index, bucket, columns) for bucket in buckets for index in indexes if index.rows[bucket]]
    return pl.concat(parts, how="vertical_relaxed") if parts else None


def _cases(place: FilePath, indexes: Sequence[_Index], bucket: int) -> pl.Series:
    """Name the cases of a bucket, in order of appearance."""
    rows = _rows_of(place, indexes, [bucket], [indexes[0].case]) if indexes else None
    if rows is None:
        return pl.Series("case", [], dtype=pl.String)
    return _case_names(rows.to_series(), indexes[0].text and STORED).unique(maintain_order=True).alias("case")


# Shards -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shard:
    """The rows about some cases, of every input.

    Attributes
    ----------
    place, n_buckets
        Where the buckets are, and how many.
    bucket
        Which bucket.
    own
        The generations whose rows of the study are in this shard.
    generations
        How many generations there are: predictions may come with any of them.
    """

    place: FilePath
    n_buckets: int
    bucket: int
    own: tuple[int, ...]
    generations: int

    @property
    def name(self) -> str:
        """The first generation and the bucket: it stays the same when files are added, and sorts."""
        return f"{self.own[0]}-{self.bucket:05d}"

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return the rows of every input, in the order of files, then rows; only about cases of the shard's study.

        Rows without a case come first, in every shard: they declare names, or a reader refuses them.
        """
        found = {}
        cases = pl.Series("case", [], dtype=pl.String)
        for name in _names(self.place, self.generations):
            known = _indexes(self.place, self.generations, name)
            indexes = [index for index in known if name != STUDY or index.generation in self.own]
            rows = _rows_of(self.place, indexes, [self.bucket])
            empty = pl.DataFrame(schema=_types(self.place, known))
            if rows is not None and name == STUDY:
                cases = _cases(self.place, indexes, self.bucket)
            elif rows is not None:
                rows = _about(rows, known[0], cases)
            nameless = _rows_of(self.place, known, [self.n_buckets])
            parts = [part for part in (nameless, rows) if part is not None and len(part)]
            found[name] = pl.concat(parts, how="vertical_relaxed").rechunk() if parts else empty
        return found

    def about(self, cases: Collection[str]) -> dict[str, pl.DataFrame]:
        """Return the same for some of the cases."""
        wanted = pl.Series("case", sorted(cases), dtype=pl.String)
        found = {}
        for name, rows in self.frames().items():
            found[name] = _about(rows, _indexes(self.place, self.generations, name)[0], wanted)
        return found

    def payload(self) -> bytes:
        """Return the same as bytes: a bundle with a Parquet table for every input."""
        return bundled({name: _document(rows, "zstd") for name, rows in self.frames().items()})

    def fingerprint(self) -> str:
        """Return the hash of what the rows say, whatever the compression."""
        return fingerprint_of(self.frames())


def _types(place: FilePath, indexes: Sequence[_Index]) -> dict[str, pl.DataType]:
    """Return the columns of an input that has no rows here, from any bucket that has some."""
    for index in indexes:
        bucket = int(np.argmax(index.rows))
        if index.rows[bucket]:
            return dict(_read(place, index, bucket).schema)
    return dict.fromkeys(indexes[0].schema, pl.Null())


def _about(rows: pl.DataFrame, index: _Index, cases: pl.Series) -> pl.DataFrame:
    """Keep the rows about some cases."""
    names = _case_names(rows[index.case], index.text and STORED)
    return rows.filter(names.is_in(cases.implode()))


def rows_about(shards: Sequence[Shard], cases: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Return the rows of every input about some cases, case by case in this order, however they are split.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     pl.DataFrame({"case": ["a", "b", "a"], "label": ["x", "y", "z"]}).write_parquet(f"{folder}/1.parquet")
    ...     study = Tables.of(f"{folder}/1.parquet")
    ...     found = bucketed({"study": study}, {"study": "case"}, FilePath(folder, "input"), n_buckets=5)
    ...     rows_about(found.shards(), ["b", "a"])["study"].rows()
    [('b', 'y'), ('a', 'x'), ('a', 'z')]
    """
    parts, first = [shard.about(cases) for shard in shards], shards[0]
    found = {}
    for name in parts[0]:
        rows = pl.concat([part[name] for part in parts], how="vertical_relaxed")
        found[name] = _in_order(rows, _indexes(first.place, first.generations, name)[0], cases)
    return found


def _in_order(rows: pl.DataFrame, index: _Index, cases: Sequence[str]) -> pl.DataFrame:
    places = {case: place for place, case in enumerate(cases)}
    names = _case_names(rows[index.case], index.text and STORED)
    return rows[np.argsort([places[name] for name in names], kind="stable")]


def frames_from(payload: bytes) -> dict[str, pl.DataFrame]:
    """Return the frames of a shard from what :meth:`Shard.payload` gave.

    Examples
    --------
    >>> frames_from(bundled({"study": _document(pl.DataFrame({"case": ["a"]}), "zstd")}))["study"].rows()
    [('a',)]
    """
    try:
        return {name: pl.read_parquet(io.BytesIO(document)) for name, document in restored(payload, []).items()}
    except (FormatError, pl.exceptions.PolarsError) as error:
        raise FormatError("the bytes of a shard are damaged or cut off", got=str(error).partition("\n")[0]) from error


def fingerprint_of(frames: Mapping[str, pl.DataFrame]) -> str:
    """Return the hash of what tables say, by name, types and rows.

    Examples
    --------
    >>> fingerprint_of({"study": pl.DataFrame({"case": ["a"]})})[:7]
    'sha256:'
    """
    hashed = hashlib.sha256()
    for name, rows in sorted(frames.items()):
        document = _document(rows, "uncompressed")
        hashed.update(f"{name}\n{len(document)}\n".encode())
        hashed.update(document)
    return f"sha256:{hashed.hexdigest()}"


def shards_of(place: FilePath, n_buckets: int, generations: int) -> tuple[Shard, ...]:
    """Return the shards, in the order of their names.

    A bucket of the first generation is a shard. What is added later to a bucket is a shard of its own where it shares
    no case with what was there, and otherwise joins the shard whose cases it has (several become one by that).
    """
    indexes = _indexes(place, generations, STUDY)
    found = []
    for bucket in range(n_buckets):
        present = [index for index in indexes if index.rows[bucket]]
        joined = _joined([_cases(place, [index], bucket) for index in present]) if len(present) > 1 else [[0]]
        for members in joined if present else []:
            own = tuple(present[member].generation for member in members)
            found.append(Shard(place, n_buckets, bucket, own, generations))
    if not found and any(index.rows[n_buckets] for index in indexes):
        found = [Shard(place, n_buckets, 0, (0,), generations)]
    return tuple(sorted(found, key=lambda shard: (shard.own[0], shard.bucket)))


def _joined(cases: Sequence[pl.Series]) -> list[list[int]]:
    """Put the positions of what shares a case, directly or by way of others, together.

    >>> _joined([pl.Series(["a"]), pl.Series(["b"]), pl.Series(["c", "a"])])
    [[0, 2], [1]]
    """
    groups: list[tuple[list[int], set[str]]] = []
    for position, names in enumerate(cases):
        own = set(names.to_list())
        alike = [group for group in groups if not group[1].isdisjoint(own)]
        members = sorted([position, *(member for group in alike for member in group[0])])
        groups = [group for group in groups if group not in alike]
        groups.append((members, own.union(*(group[1] for group in alike))))
    return sorted(members for members, _ in groups)


# Cases of the study and of the models -------------------------------------------------------------------


def matches_of(place: FilePath, n_buckets: int, generations: int) -> dict[str, Match]:
    """Compare the cases of every model, by the name of its input, with those of the study; only names are read."""
    models = {name: _indexes(place, generations, name) for name in _names(place, generations) if "model" in name}
    study = _indexes(place, generations, STUDY)
    found = dict.fromkeys(models, Match())
    for bucket in range(n_buckets if models else 0):
        wanted = _cases(place, study, bucket)
        for name, indexes in models.items():
            found[name] = found[name] + Match.of(wanted.to_list(), _cases(place, indexes, bucket).to_list())
    return found
