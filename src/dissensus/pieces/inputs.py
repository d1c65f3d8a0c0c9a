"""Parquet files that hold one table together, and may be larger than memory; nothing here reads more than a chunk."""

from __future__ import annotations

import glob
import hashlib
import importlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import polars as pl

from dissensus.core.aliases import Path
from dissensus.core.errors import DissensusError, FormatError, MissingExtraError, listing
from dissensus.core.files import TABLE_ENDINGS, checked_path, unreadable
from dissensus.core.limits import AGAIN
from dissensus.study.tables import SCORE_NAMES, find_columns, normalised

# A single Parquet file with more rows than this is worth splitting.
LARGE_ROWS = 2_000_000

ENDINGS = (".parquet", ".pq")
MAGIC = b"PAR1"

# Rows that are read at a time, at most, and how many hashes of values are kept to count different ones.
MOST_ROWS, SKETCHED = 1_000_000, 1 << 13

DAMAGE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)

# Roles of columns that a file of one annotator does not have.
SHARED = ("annotator", "annotation", "votes")

# What stores call the mark that changes with a file, whatever its case.
TAGS = ("etag", "md5hash", "crc32c", "last_modified", "lastmodified", "mtime")


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
    def of(given: Path | Sequence[Path]) -> Input:
        """Take a file, a directory (with its subdirectories), a pattern with ``*``, an address, or a list of those.

        Raises
        ------
        FormatError
            If there is no such file, a file is given twice, or nothing is found.
        """
        parts = [given] if isinstance(given, str | os.PathLike) else list(given)
        places = tuple(place for part in parts for place in _expanded(part))
        if not places:
            raise FormatError("the list of files is empty", expected="Parquet files, a directory of them, or a pattern")
        twice, count = Counter(places).most_common(1)[0]
        if count > 1:
            raise FormatError("a file is given twice", got=twice, advice="its rows would count twice: name it once")
        return Input(places)

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns and their types, in the order of the first file; categories are text, empty columns fit all."""
        known = _schema(self.places[0])
        for place in self.places[1:]:
            known = _agreed(known, _schema(place), (self.places[0], place))
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
                with _told(place):
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
    parts = [given] if isinstance(given, str | os.PathLike) else list(given) if isinstance(given, Sequence) else []
    if any(is_address(part) for part in parts):
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


def _expanded(given: Path) -> list[str]:
    if is_address(given):
        return [str(given)]
    if "*" in str(given) and not FilePath(given).exists():
        found = sorted(path for path in glob.glob(str(given), recursive=True) if FilePath(path).is_file())  # noqa: PTH207 - of any root
        if not found:
            raise FormatError("no file fits the pattern", got=str(given), advice="check the path")
        return found
    place = checked_path(given)
    if not place.is_dir():
        return [str(given)]
    found = [str(path) for path in _visible(place) if path.suffix.lower() in ENDINGS]
    if not found:
        raise FormatError(
            "the directory holds no Parquet files", expected=f"files ending in {ENDINGS[0]}", where=str(place)
        )
    return found


def _visible(folder: FilePath) -> list[FilePath]:
    """List the files of a directory and its subdirectories without hidden ones and marks such as ``_SUCCESS``."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)]


# One file -----------------------------------------------------------------------------------------------


@contextmanager
def _told(place: str) -> Iterator[None]:
    """Turn what polars says of a file into an error that names it."""
    try:
        yield
    except FormatError:
        raise
    except DAMAGE as error:
        got = str(error).partition("\n")[0]
        if is_address(place):
            raise FormatError("the address cannot be read", got=got, where=place, advice="check it") from error
        raise FormatError("the Parquet file is damaged or cut off", got=got, where=place, advice=AGAIN) from error


def _scanned(place: str) -> pl.LazyFrame:
    return pl.scan_parquet(place, glob=is_address(place), hive_partitioning=False)


def _n_rows(place: str) -> int:
    with _told(place):
        return int(_scanned(place).select(pl.len()).collect().item())


def _schema(place: str) -> dict[str, pl.DataType]:
    if not is_address(place):
        _refuse_others(FilePath(place))
    with _told(place):
        found = _scanned(place).collect_schema().items()
    return {name: pl.String() if isinstance(dtype, pl.Categorical | pl.Enum) else dtype for name, dtype in found}


def _refuse_others(file: FilePath) -> None:
    """Refuse what is not Parquet from beginning to end before polars sees it, which may panic."""
    checked_path(file)
    if file.is_dir():
        raise FormatError("a directory is among the files", got=str(file), advice="give the directory alone")
    if file.suffix.lower() in TABLE_ENDINGS:
        raise FormatError(
            "studies that are split or large need Parquet files throughout",
            expected="Parquet",
            got=f"a {file.suffix} file",
            where=str(file),
            advice="write it as Parquet, for example polars.scan_csv(file).sink_parquet(other_file)",
        )
    if not _has_magic(file):
        expected = "Parquet, from its first to its last bytes"
        raise FormatError("this is not a Parquet file", expected=expected, where=str(file), advice=AGAIN)


def _has_magic(file: FilePath) -> bool:
    try:
        with file.open("rb") as opened:
            first = opened.read(len(MAGIC))
            opened.seek(max(0, file.stat().st_size - len(MAGIC)))
            return first == MAGIC == opened.read(len(MAGIC))
    except OSError as error:
        raise unreadable(file, error) from error


def _agreed(
    known: dict[str, pl.DataType], other: Mapping[str, pl.DataType], places: tuple[str, str]
) -> dict[str, pl.DataType]:
    """Return the types that two files share, or say in what they differ; a column without any value fits all."""
    only = [*(name for name in known if name not in other), *(name for name in other if name not in known)]
    agreed = {name: other[name] if dtype == pl.Null else dtype for name, dtype in known.items() if name in other}
    typed = [name for name, dtype in agreed.items() if other[name] not in (dtype, pl.Null)]
    if not only and not typed:
        return agreed
    first = (only or typed)[0]
    types = [f"{place}: {schema[first]}" for place, schema in zip(places, (known, other), strict=True) if not only]
    raise FormatError(
        "the files of one table have different columns",
        expected=f"the same columns in all files: {listing(known, most=12)}",
        got=f"{first!r} has two types ({'; '.join(types)})" if types else f"only one of two files has {listing(only)}",
        where=" and ".join(places),
        advice="bring the files into one form, or give those that belong together",
    )


def _of_address(place: str) -> dict[str, str]:
    """Ask the store for the size, and for the tag or the time, of the file or files at an address."""
    try:
        store, path = importlib.import_module("fsspec.core").url_to_fs(place)
    except (ImportError, ValueError) as error:
        raise MissingExtraError(
            "the store of an address cannot be asked whether its files have changed",
            got=str(error).partition("\n")[0],
            where=place,
            advice="pip install fsspec and the package of the store (s3fs, gcsfs, adlfs, aiohttp), or copy the files",
        ) from error
    found = {}
    try:
        for one in sorted(store.glob(path) if "*" in path else store.find(path) or [path]):
            info = {key.casefold(): value for key, value in store.info(one).items()}
            tags = [f" tag:{info[key]}" for key in TAGS if key in info]
            found[store.unstrip_protocol(one)] = f"size:{info.get('size')}" + "".join(tags[:1])
    except (OSError, ValueError) as error:
        raise FormatError("the address cannot be read", got=str(error), where=place, advice="check it") from error
    return found
