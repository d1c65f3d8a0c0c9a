"""Parquet files that hold one table together and may be larger than memory, and how they are split by case.

Cases go to pieces by a hash of their names, so that rows of a case meet whichever file they come from; they stand in
the order of files, then rows. Memory is that of a chunk and of a piece, however large the input; the disk needs room
for it twice. Rows of cases that first came with files that were added later are pieces of their own, so that earlier
pieces stay as they are. A partition gets its name when it is whole: what is not whole never counts.
"""

from __future__ import annotations

import glob
import hashlib
import importlib
import io
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import polars as pl

from dissensus.core.aliases import IntArray, Path
from dissensus.core.bundle import bundled, restored
from dissensus.core.errors import DissensusError, FormatError, MissingExtraError, listing
from dissensus.core.files import TABLE_ENDINGS, checked_path, open_source, unreadable
from dissensus.core.limits import AGAIN
from dissensus.core.names import known_name
from dissensus.core.output import told
from dissensus.predictions.alignment import Match
from dissensus.study.tables import SCORE_NAMES, find_columns, normalised

STUDY, STRATA, TRUTH = "study", "strata", "truth"
INDEX = "index.bundle"

# A single Parquet file with more rows than this is worth splitting.
LARGE_ROWS = 2_000_000

ENDINGS = (".parquet", ".pq")
MAGIC = b"PAR1"

# Rows that are read at a time, at most, and how many hashes of values are kept to count different ones.
MOST_ROWS, SKETCHED = 1_000_000, 1 << 13

# Bytes of a chunk, and the rows that it has at least.
CHUNK_BYTES, LEAST_ROWS = 1 << 26, 1_000

DAMAGE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)

# Roles of columns that a file of one annotator does not have.
SHARED = ("annotator", "annotation", "votes")

# What stores call the mark that changes with a file, whatever its case.
TAGS = ("etag", "md5hash", "crc32c", "last_modified", "lastmodified", "mtime")

GENERATION, BUCKET = "generation of the row", "bucket of the row"

# Bytes that say how long a table is, in front of it.
SIZE = 8


def files_of(given: Path | Sequence[Path]) -> list[Path]:
    """Return what a user gave, a path, an address or several of them, as a list."""
    return [given] if isinstance(given, str | os.PathLike) else list(given)


@dataclass(frozen=True)
class Input:
    """Parquet files that hold one table together.

    Attributes
    ----------
    places
        Paths or addresses, in the order of their rows.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     pl.DataFrame({"case": ["a", "b"]}).write_parquet(f"{folder}/1.parquet")
    ...     pl.DataFrame({"case": ["c"]}).write_parquet(f"{folder}/2.parquet")
    ...     found = Input.of(folder)
    ...     list(found.schema), found.n_rows(), [len(chunk) for chunk in found.chunks(1)]
    (['case'], 3, [1, 1, 1])
    """

    places: tuple[str, ...]

    @staticmethod
    def of(given: Path | Sequence[Path], *, is_small: bool = False) -> Input:
        """Take a file, a directory (with its subdirectories), a pattern with ``*``, an address, or a list of those.

        A table that is small may be one text file.

        Raises
        ------
        FormatError
            If there is no such file, a file is given twice, or nothing is found.
        """
        places: list[str] = []
        for part in files_of(given):
            found, problem = [str(part)], ""
            if is_address(part):
                pass
            elif "*" in str(part) and not FilePath(part).exists():
                matching = glob.glob(str(part), recursive=True)  # noqa: PTH207 - of any root
                found, problem = (
                    sorted(path for path in matching if FilePath(path).is_file()),
                    "no file fits the pattern",
                )
            elif checked_path(part).is_dir():
                files = [path for path in _visible(FilePath(part)) if path.suffix.lower() in ENDINGS]
                found, problem = list(map(str, files)), "the directory holds no Parquet files"
            if not found:
                raise FormatError(
                    problem, expected=f"files ending in {ENDINGS[0]}", got=str(part), advice="check the path"
                )
            places += found
        if not places:
            raise FormatError("the list of files is empty", expected="Parquet files, a directory of them, or a pattern")
        text = next((place for place in places if _is_text(place)), "")
        if text and not (is_small and len(places) == 1):
            raise FormatError(
                "studies that are split or large need Parquet files throughout",
                expected="Parquet",
                got=f"a {FilePath(text).suffix} file",
                where=text,
                advice="write it as Parquet, for example polars.scan_csv(file).sink_parquet(other_file)",
            )
        twice, count = Counter(places).most_common(1)[0]
        if count > 1:
            raise FormatError("a file is given twice", got=twice, advice="its rows would count twice: name it once")
        return Input(tuple(places))

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns and their types, in the order of the first file; categories are text, empty columns fit all."""
        known = _schema(self.places[0])
        for place in self.places[1:]:
            other = _schema(place)
            only = [name for name in {**known, **other} if name not in known or name not in other]
            agreed = {name: other[name] if dtype == pl.Null else dtype for name, dtype in known.items() if not only}
            typed = [name for name, dtype in agreed.items() if other[name] not in (dtype, pl.Null)]
            got = f"only one of two files has {listing(only)}"
            for name in typed[:1]:
                got = f"{name!r} has two types ({self.places[0]}: {known[name]}; {place}: {other[name]})"
            if only or typed:
                raise FormatError(
                    "the files of one table have different columns",
                    expected=f"the same columns in all files: {listing(known, most=12)}",
                    got=got,
                    where=f"{self.places[0]} and {place}",
                    advice="bring the files into one form, or give those that belong together",
                )
            known = agreed
        return known

    def n_rows(self) -> int:
        """Count the rows of all files, which only say how many they have."""
        return sum(map(_n_rows, self.places))

    def chunks(
        self, rows: int, columns: Sequence[str] | None = None, schema: Mapping[str, pl.DataType] | None = None
    ) -> Iterator[pl.DataFrame]:
        """Give all rows in the order of the files, at most so many at a time; all columns, or some.

        A row group that is larger than a chunk is unpacked again for every chunk of it. The types are those of these
        files, unless others are given.
        """
        types = schema or self.schema
        wanted: Any = {name: types[name] for name in columns or types}
        for place in self.places:
            for first in range(0, _n_rows(place), rows):
                with _explained(place):
                    chunk = _scanned(place).select(list(wanted)).slice(first, rows).collect().cast(wanted)
                yield chunk

    def head(self, rows: int) -> pl.DataFrame:
        """Return the first rows, to see what the columns hold."""
        return next(self.chunks(rows), pl.DataFrame(schema=self.schema))

    def n_distinct(self, column: str) -> int:
        """Count the different values of a column in one pass: exactly up to some thousand, then within some 3 %.

        Hashes are spread evenly: where the smallest of them end, tells how many there are.
        """
        smallest = np.empty(0, dtype=np.uint64)
        for chunk in self.chunks(MOST_ROWS, [column]):
            hashes = chunk[column].unique().hash().to_numpy()
            smallest = np.unique(np.concatenate([smallest, hashes]))[:SKETCHED]
        if len(smallest) < SKETCHED:
            return len(smallest)
        return round((SKETCHED - 1) * 2.0**64 / float(smallest[-1]))

    def fingerprints(self) -> dict[str, str]:
        """Tell what every file holds, by place: the hash of a file, or what the store says of an address.

        Raises
        ------
        MissingExtraError
            If an address has to be asked and the package ``fsspec`` is not there.
        """
        found: dict[str, str] = {}
        for place in self.places:
            if is_address(place):
                found |= _of_address(place)
                continue
            try:
                with checked_path(place).open("rb") as file:
                    found[place] = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
            except OSError as error:
                raise unreadable(FilePath(place), error) from error
        return found


# What a user gave ---------------------------------------------------------------------------------------


def is_split(given: object, *, columns: Mapping[str, str | None] | None = None, opinions: bool = True) -> bool:
    """Tell whether an input is to be read as Parquet files that hold one table together.

    That is an address, a pattern, and a directory or a list of Parquet files and nothing else. Where files hold
    ``opinions`` and none has a column for the annotator, or votes, each is that of one annotator instead.

    Parameters
    ----------
    given
        What a user gave: a path, an address, or a list.
    columns
        The column of each role where it goes by an unusual name.
    opinions
        Whether it is a study; predictions have no files of annotators.

    Examples
    --------
    >>> is_split("s3://store/opinions/*.parquet"), is_split("opinions.csv")
    (True, False)
    """
    parts = files_of(given) if isinstance(given, str | os.PathLike | Sequence) else []
    if any(map(is_address, parts)):
        return True
    files = [FilePath(part) for part in parts]
    if isinstance(given, str | os.PathLike):
        if not files[0].is_dir():
            return "*" in str(given) and not files[0].exists()
        files = _visible(files[0])
    are_tables = bool(files) and all(file.suffix.lower() in ENDINGS for file in files)
    if not are_tables or not opinions:
        return are_tables
    # a file that names conditions of cases, but nobody, and no votes or scores, is that of one annotator
    names, given_roles = list(_schema(str(files[0]))), columns or {}
    said = {role: name for role, name in given_roles.items() if name in names and role != "score"}
    roles = find_columns(names, said, required=())
    is_scored = given_roles.get("score") in names or any(normalised(name) in SCORE_NAMES for name in names)
    return "condition" not in roles or is_scored or any(role in roles for role in SHARED)


def is_large(given: object) -> bool:
    """Tell a local Parquet file with more than ``LARGE_ROWS`` rows, which it says without being read.

    Examples
    --------
    >>> is_large("opinions.csv")
    False
    """
    if not isinstance(given, str | os.PathLike) or is_address(given) or not FilePath(given).is_file():
        return False
    try:
        return _has_magic(FilePath(given)) and _n_rows(str(given)) > LARGE_ROWS
    except DissensusError:
        return False  # the ordinary reader says what is wrong with it


def is_address(given: object) -> bool:
    """Tell an address from a path.

    >>> is_address("https://example.org/a.parquet"), is_address("a.parquet")
    (True, False)
    """
    return isinstance(given, str) and "://" in given


def _visible(folder: FilePath) -> list[FilePath]:
    """List the files of a directory and its subdirectories without hidden ones and marks such as ``_SUCCESS``."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)]


# One file -----------------------------------------------------------------------------------------------


@contextmanager
def _explained(place: str) -> Iterator[None]:
    """Turn what polars says of a file into an error that names it."""
    try:
        yield
    except FormatError:
        raise
    except DAMAGE as error:
        problem, advice = "the Parquet file is damaged or cut off", AGAIN
        if is_address(place):
            problem, advice = "the address cannot be read", "check it"
        raise FormatError(problem, got=str(error).partition("\n")[0], where=place, advice=advice) from error


def _is_text(place: str) -> bool:
    return not is_address(place) and FilePath(place).suffix.lower() in TABLE_ENDINGS


def _scanned(place: str) -> pl.LazyFrame:
    if _is_text(place):
        return open_source(place).table.lazy()
    return pl.scan_parquet(place, glob=is_address(place), hive_partitioning=False)


def _n_rows(place: str) -> int:
    with _explained(place):
        return int(_scanned(place).select(pl.len()).collect().item())


def _schema(place: str) -> dict[str, pl.DataType]:
    """Return the columns of a file; what is not Parquet from beginning to end is refused: polars might panic."""
    file = FilePath(place)
    if not is_address(place):
        checked_path(file)
        if file.is_dir():
            raise FormatError("a directory is among the files", got=place, advice="give the directory alone")
        if not _is_text(place) and not _has_magic(file):
            expected = "Parquet, from its first to its last bytes"
            raise FormatError("this is not a Parquet file", expected=expected, where=place, advice=AGAIN)
    with _explained(place):
        found = _scanned(place).collect_schema().items()
    return {name: pl.String() if isinstance(dtype, pl.Categorical | pl.Enum) else dtype for name, dtype in found}


def _has_magic(file: FilePath) -> bool:
    try:
        with file.open("rb") as opened:
            first = opened.read(len(MAGIC))
            opened.seek(max(0, file.stat().st_size - len(MAGIC)))
            return first == MAGIC == opened.read(len(MAGIC))
    except OSError as error:
        raise unreadable(file, error) from error


def _of_address(place: str) -> dict[str, str]:
    """Ask the store for the size, and for the tag or the time, of the file or files at an address."""
    found = {}
    try:
        store, path = importlib.import_module("fsspec.core").url_to_fs(place)
        for one in sorted(store.glob(path) if "*" in path else store.find(path) or [path]):
            info = {key.casefold(): value for key, value in store.info(one).items()}
            tags = [f" tag:{info[key]}" for key in TAGS if key in info]
            found[store.unstrip_protocol(one)] = f"size:{info.get('size')}" + "".join(tags[:1])
    except (ImportError, ValueError) as error:
        raise MissingExtraError(
            "the store of an address cannot be asked whether its files have changed",
            got=str(error).partition("\n")[0],
            where=place,
            advice="pip install fsspec and the package of the store (s3fs, gcsfs, adlfs, aiohttp), or copy the files",
        ) from error
    except OSError as error:
        raise FormatError("the address cannot be read", got=str(error), where=place, advice="check it") from error
    return found


# Pieces -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Partition:
    """Pieces of all inputs, below a directory.

    Attributes
    ----------
    place
        The directory.
    n_buckets
        Into how many parts the names of cases are hashed.
    columns
        By input: the column that names the case.
    digests
        By piece, in order: the hash of what its rows say. A piece is called after the generation of files with which
        its cases came, and the part of their hash.
    matches
        By input of a model: how its cases fit those of the study.
    """

    place: FilePath
    n_buckets: int
    columns: Mapping[str, str]
    digests: Mapping[str, str]
    matches: Mapping[str, Match]

    def payload(self, piece: str) -> bytes:
        """Return the rows of a piece as bytes, see :func:`frames_from`."""
        try:
            return (self.place / piece).read_bytes()
        except OSError as error:
            raise _damaged(self.place, str(error.strerror)) from error

    def rows_about(self, cases: Sequence[str]) -> dict[str, pl.DataFrame]:
        """Return the rows of every input about some cases, case by case in this order, however they are split."""
        order = pl.DataFrame({"": cases}, schema={"": pl.String}).with_row_index(GENERATION)
        wanted = set(buckets_of(order[""], self.n_buckets).tolist())
        parts: dict[str, list[pl.DataFrame]] = {}
        for piece in self.digests:
            if int(piece.partition("-")[2]) in wanted:
                for name, rows in frames_from(self.payload(piece)).items():
                    named = rows.with_columns(case_names(rows[self.columns[name]]).alias(""))
                    parts.setdefault(name, []).append(named.join(order, on="", how="inner", maintain_order="left"))
        return {
            name: pl.concat(found, how="vertical_relaxed").sort(GENERATION, maintain_order=True).drop("", GENERATION)
            for name, found in parts.items()
        }


def frames_from(payload: bytes) -> dict[str, pl.DataFrame]:
    """Return the rows of a piece, by input: ``study``, ``model 0`` and so on, ``strata``, ``truth``.

    Examples
    --------
    >>> frames_from(bundled({"study": parquet(pl.DataFrame({"case": ["a"]}))}))["study"].rows()
    [('a',)]
    """
    try:
        return {name: pl.read_parquet(io.BytesIO(document)) for name, document in restored(payload, []).items()}
    except (FormatError, pl.exceptions.PolarsError) as error:
        raise FormatError("the bytes of a piece are damaged or cut off", got=str(error).partition("\n")[0]) from error


def case_names(column: pl.Series, text: str = "") -> pl.Series:
    """Return the names of cases as the readers make them; missing where there is none."""
    try:
        names = column.cast(pl.Int64) if text == "whole" else column
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


def partitioned(
    generations: Mapping[str, Sequence[Input]],
    columns: Mapping[str, str],
    place: FilePath,
    *,
    n_buckets: int,
    advance: Callable[[int], None],
) -> Partition:
    """Split inputs by case, unless that has been done before.

    Parameters
    ----------
    generations
        By input, files in the order in which they were added: ``"study"``, ``"model 0"``, ``"strata"``.
    columns
        The column of each input that names the case.
    place
        A directory that is there once the partition is whole.
    n_buckets
        Into how many parts the names of cases are hashed.
    advance
        Told the number of rows done.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     pl.DataFrame({"case": ["a", "b", "a"], "label": ["x", "y", "z"]}).write_parquet(f"{folder}/1.parquet")
    ...     files, to = {"study": [Input.of(f"{folder}/1.parquet")]}, FilePath(folder, "split")
    ...     found = partitioned(files, {"study": "case"}, to, n_buckets=2, advance=lambda _: None)
    ...     found.rows_about(["b", "a"])["study"].rows()
    [('b', 'y'), ('a', 'x'), ('a', 'z')]
    """
    if not (place / INDEX).is_file():
        room = place.with_name(f"{place.name}-unfinished")
        advice = "make room, or choose another place; what is finished is not done again"
        with told("the split input cannot be written", place, advice):
            for old in (room, place):
                shutil.rmtree(old, ignore_errors=True)
            room.mkdir(parents=True)
            empty = {
                name: _scattered(room / name, inputs, columns[name], n_buckets, advance)
                for name, inputs in generations.items()
            }
            (room / INDEX).write_bytes(bundled(_assembled(room, empty, columns, n_buckets)))
            room.rename(place)
    try:
        return Partition(place, n_buckets, columns, **restored((place / INDEX).read_bytes(), [Match]))
    except (OSError, FormatError, TypeError) as error:
        raise _damaged(place, repr(error)) from error


def _damaged(place: FilePath, got: str) -> FormatError:
    advice = f"remove {place} and start again with --resume: it is split again, finished pieces stay"
    return FormatError("the split input is damaged", got=got, where=str(place), advice=advice)


def _scattered(
    place: FilePath, inputs: Sequence[Input], case: str, n_buckets: int, advance: Callable[[int], None]
) -> pl.DataFrame:
    """Append the rows of an input to files by the hash of the case; return a table without rows."""
    together = Input(tuple(file for one in inputs for file in one.places))
    schema, text = together.schema, _text(together, case)
    if not together.n_rows():
        raise FormatError("the table has no rows", expected="at least one row", where=listing(together.places))
    head = together.head(LEAST_ROWS)
    n_rows = min(MOST_ROWS, max(LEAST_ROWS, CHUNK_BYTES * len(head) // max(1, int(head.estimated_size()))))
    for generation, one in enumerate(inputs):
        for chunk in one.chunks(n_rows, schema=schema):
            names = case_names(chunk[case], text)
            if text:  # a piece of whole numbers only would be read as another name
                chunk = chunk.with_columns(names.alias(case))  # noqa: PLW2901 - the same rows
            bucket = pl.Series(BUCKET, buckets_of(names, n_buckets))
            noted = chunk.with_columns(pl.lit(generation).alias(GENERATION), bucket)
            for own in noted.partition_by(BUCKET, maintain_order=True):
                written = io.BytesIO()
                own.drop(BUCKET).write_ipc_stream(written, compression="lz4")
                document = written.getvalue()
                with place.with_name(f"{place.name}-{own[BUCKET][0]}").open("ab") as file:
                    file.write(len(document).to_bytes(SIZE, "little") + document)
            advance(len(chunk))
    types: Any = {**schema, case: pl.String()} if text else schema
    return pl.DataFrame(schema={**types, GENERATION: pl.Int32})


def _text(given: Input, case: str) -> str:
    """Tell how numbers with a decimal point are names: readers take whole ones for integers if all are whole."""
    known_name("column", case, list(given.schema), purpose="for the case")
    if not given.schema[case].is_float():
        return ""
    are_whole = True
    for chunk in given.chunks(MOST_ROWS, [case]):
        known = chunk[case].drop_nulls()
        if not known.is_finite().all():
            got = f"{known.filter(~known.is_finite())[0]} in the column {case!r}"
            raise FormatError("the case of a row is not a name", got=got, where=listing(given.places))
        are_whole &= bool((known == known.round()).all())
    return "whole" if are_whole else "decimal"


def _assembled(
    room: FilePath, empty: Mapping[str, pl.DataFrame], columns: Mapping[str, str], n_buckets: int
) -> dict[str, Any]:
    """Put the rows of all inputs together, piece by piece; return hashes of pieces, and how cases match."""

    def taken(bucket: int) -> dict[str, pl.DataFrame]:
        """Return the rows of a part in order, and forget them."""
        found = {}
        for name, rows in empty.items():
            file, parts = room / f"{name}-{bucket}", [rows]
            if file.exists():
                with file.open("rb") as opened:
                    while size := opened.read(SIZE):
                        parts.append(pl.read_ipc_stream(io.BytesIO(opened.read(int.from_bytes(size, "little")))))
                file.unlink()
            found[name] = pl.concat(parts, how="vertical_relaxed")
        return found

    nameless, digests = taken(n_buckets), dict[str, str]()
    matches = {name: Match() for name in empty if name.startswith("model")}

    def write(piece: str, frames: Mapping[str, pl.DataFrame]) -> None:
        """Write a piece; rows without a case come first: they declare names, or a reader refuses them."""
        rows = {name: pl.concat([nameless[name], own]).drop(GENERATION) for name, own in frames.items()}
        payload = bundled({name: parquet(own, compression="lz4", statistics=False) for name, own in rows.items()})
        digests[piece] = hashlib.sha256(payload).hexdigest()
        (room / piece).write_bytes(payload)

    for bucket in range(n_buckets):
        frames = taken(bucket)
        names = {name: case_names(rows[columns[name]]) for name, rows in frames.items()}
        known = names[STUDY].unique(maintain_order=True).to_list()
        for name in matches:
            matches[name] += Match.of(known, names[name].unique(maintain_order=True).to_list())
        # cases are in the piece of the generation of files that they first came with
        came = frames[STUDY].group_by(names[STUDY].alias("case"), maintain_order=True).agg(pl.col(GENERATION).min())
        for (generation,), cases in came.group_by(GENERATION):
            own = cases["case"].implode()
            write(
                f"{generation}-{bucket:05d}",
                {name: rows.filter(names[name].is_in(own)) for name, rows in frames.items()},
            )
    if not digests and len(nameless[STUDY]):  # a reader says what is missing
        write("0-00000", empty)
    return {"digests": dict(sorted(digests.items())), "matches": matches}


def parquet(rows: pl.DataFrame, **how: Any) -> bytes:
    """Write a table as Parquet that depends on its rows only."""
    written = io.BytesIO()
    rows.rechunk().write_parquet(written, **how)
    return written.getvalue()
