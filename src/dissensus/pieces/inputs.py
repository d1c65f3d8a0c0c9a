"""Parquet files that hold one table together and may be larger than memory: paths, or addresses of a store."""

from __future__ import annotations

import glob
import hashlib
import importlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.core.arrays import Path
from dissensus.core.errors import DissensusError, FormatError, MissingExtraError, listing
from dissensus.core.files import AGAIN, TABLE_ENDINGS, checked_path, open_source, unreadable
from dissensus.study.tables import SCORE_NAMES, find_columns, normalised

STUDY, STRATA, TRUTH = "study", "strata", "truth"

# A single Parquet file with more rows than this is worth splitting.
LARGE_ROWS = 2_000_000

ENDINGS = (".parquet", ".pq")
MAGIC = b"PAR1"

# Rows that are read at a time, at most, and how many hashes of names are kept to count different ones.
MOST_ROWS, SKETCHED = 1_000_000, 1 << 12

DAMAGE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)

# Roles of columns that a file of one annotator does not have.
SHARED = ("annotator", "annotation", "votes")

# What stores call the mark that changes with a file, whatever its case.
TAGS = ("etag", "md5hash", "crc32c", "last_modified", "lastmodified", "mtime")


def is_address(given: object) -> bool:
    """Tell an address from a path.

    >>> is_address("https://example.org/a.parquet"), is_address("a.parquet")
    (True, False)
    """
    return isinstance(given, str) and "://" in given


@contextmanager
def at_address(address: str) -> Iterator[tuple[Any, str]]:
    """Give the file system of an address and the path in it; what the store says becomes one error."""
    try:
        yield importlib.import_module("fsspec.core").url_to_fs(address, use_listings_cache=False)
    except DissensusError:
        raise
    except (ImportError, ValueError) as error:
        raise MissingExtraError(
            "the store of an address cannot be asked",
            got=str(error).partition("\n")[0],
            where=address,
            advice="pip install 'dissensus[s3]', or fsspec with the package of another store (gcsfs, adlfs, aiohttp)",
        ) from error
    except Exception as error:  # stores have errors of their own
        got = f"{type(error).__name__}: {error}".partition("\n")[0]
        advice = "check it, and who may read and write there; with --resume, finished pieces are kept"
        raise FormatError("the address cannot be read or written", got=got, where=address, advice=advice) from error


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
    ...     list(found.schema), found.head(1).rows()
    (['case'], [('a',)])
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
                found, problem = _at_address(str(part)), "there is no file at the address"
            elif "*" in str(part) and not FilePath(part).exists():
                matching, problem = glob.glob(str(part), recursive=True), "no file fits the pattern"  # noqa: PTH207
                found = sorted(path for path in matching if FilePath(path).is_file())
            elif checked_path(part).is_dir():
                files = [path for path in _visible(FilePath(part)) if path.suffix.lower() in ENDINGS]
                found, problem = list(map(str, files)), "the directory holds no Parquet files"
            if not found:
                expected = f"files ending in {ENDINGS[0]}"
                raise FormatError(problem, expected=expected, got=str(part), advice="check the path")
            places += found
        if not places:
            raise FormatError("the list of files is empty", expected="Parquet files, a directory of them, or a pattern")
        text = next((place for place in places if _is_text(place)), "")
        if text and not (is_small and len(places) == 1):
            problem, got = (
                "studies that are split or large need Parquet files throughout",
                f"a {FilePath(text).suffix} file",
            )
            advice = "write it as Parquet, for example polars.scan_csv(file).sink_parquet(other_file)"
            raise FormatError(problem, expected="Parquet", got=got, where=text, advice=advice)
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

    def head(self, rows: int) -> pl.DataFrame:
        """Return the first rows, to see what the columns hold."""
        parts = (rows_in(place, self.schema, 0, rows) for place in self.places)
        return next((one for one in parts if len(one)), pl.DataFrame(schema=self.schema))


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
        return _has_magic(FilePath(given)) and n_rows_in(str(given)) > LARGE_ROWS
    except DissensusError:
        return False  # the ordinary reader says what is wrong with it


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


def n_rows_in(place: str) -> int:
    """Count the rows of a file, which it says without being read."""
    with _explained(place):
        return int(_scanned(place).select(pl.len()).collect().item())


def rows_in(place: str, types: Mapping[str, pl.DataType], first: int = 0, count: int | None = None) -> pl.DataFrame:
    """Read some rows of a file, as columns of these types.

    A row group that is larger than what is read is unpacked again every time.
    """
    with _explained(place):
        found = _scanned(place).select(list(types)).slice(first, count).collect()
        return found.cast(cast("Any", dict(types)))


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


def _at_address(address: str) -> list[str]:
    """List the files at an address: of a pattern, of a folder those that are Parquet, or one."""
    with at_address(address) as (store, path):
        found = store.glob(path) if "*" in path else store.find(path)
        if found != [path] and "*" not in path:
            found = [one for one in found if one.lower().endswith(ENDINGS)]
        return [store.unstrip_protocol(one) for one in sorted(found)]


# What is in a file --------------------------------------------------------------------------------------


class FileFacts(NamedTuple):
    """What whoever reads a file finds out.

    Attributes
    ----------
    mark
        The hash of the file, or what the store says of it: it changes with the content.
    smallest
        The smallest hashes of the names of its cases, if they are asked for.
    are_whole
        Whether cases that are numbers with a decimal point are all whole.
    """

    mark: str
    smallest: npt.NDArray[np.uint64]
    are_whole: bool

    @staticmethod
    def n_cases(facts: Iterable[FileFacts]) -> int:
        """Count the cases of all files: exactly up to some thousand, then within some 5 %.

        Hashes are spread evenly: where the smallest of them end, tells how many there are.
        """
        smallest = np.unique(np.concatenate([one.smallest for one in facts]))[:SKETCHED]
        return len(smallest) if len(smallest) < SKETCHED else round((SKETCHED - 1) * 2.0**64 / float(smallest[-1]))


def look_at_file(_: object, given: tuple[str, str | None]) -> FileFacts:
    """Find out what is in a file, with the column of its cases if their names matter: the work of the first pass."""
    place, column = given
    smallest, are_whole = np.empty(0, dtype=np.uint64), True
    n_rows, types = (n_rows_in(place), _schema(place)) if column is not None else (0, {})
    for first in range(0, n_rows, MOST_ROWS):
        names = rows_in(place, {str(column): types[str(column)]}, first, MOST_ROWS).to_series()
        smallest = np.unique(np.concatenate([smallest, names.unique().hash().to_numpy()]))[:SKETCHED]
        if names.dtype.is_float():
            known = names.drop_nulls()
            if not known.is_finite().all():
                got = f"{known.filter(~known.is_finite())[0]} in the column {column!r}"
                raise FormatError("the case of a row is not a name", got=got, where=place)
            are_whole &= bool((known == known.round()).all())
    return FileFacts(mark_of(place), smallest, are_whole)


def mark_of(place: str) -> str:
    """Tell what a file holds: by its hash, or by its size and the tag or the time that a store says.

    Raises
    ------
    MissingExtraError
        If an address has to be asked and the package ``fsspec`` is not there.
    """
    if is_address(place):
        with at_address(place) as (store, path):
            info = {key.casefold(): value for key, value in store.info(path).items()}
        tags = [f" tag:{info[key]}" for key in TAGS if key in info]
        return f"size:{info.get('size')}" + "".join(tags[:1])
    try:
        with checked_path(place).open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as error:
        raise unreadable(FilePath(place), error) from error
