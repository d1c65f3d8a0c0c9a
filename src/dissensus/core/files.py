"""Files: what they hold, told from their content."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dissensus.core.aliases import Path
from dissensus.core.errors import FormatError, suggestion
from dissensus.core.limits import Limits, arrays_in, parquet_table
from dissensus.core.text_files import SAVE_AS_UTF_8, decoded, delimited_table, empty, json_content

if TYPE_CHECKING:
    import polars as pl

Kind: TypeAlias = Literal["directory", "parquet", "npy", "npz", "json", "jsonl", "table", "text"]

TABLE_ENDINGS = (".csv", ".tsv", ".tab")

# A file whose first so many bytes are blank counts as empty.
SHOWN = 4096

BLANK = b"\xef\xbb\xbf \t\r\n"
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
LIMITS = Limits()
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf")


@dataclass(frozen=True, eq=False)
class Source:
    """A file (or directory), what kind it is, and its content, read once.

    Attributes
    ----------
    path, kind
        Where it is, and what it is.
    content
        A polars frame for tables and Parquet (text columns for CSV), the parsed value for JSON, a list of objects for
        JSON lines, an array or dict of arrays for npy and npz, the text otherwise, a sorted list of paths for a
        directory.
    data
        The bytes of the file; none for a directory.
    """

    path: FilePath
    kind: Kind
    content: Any
    data: bytes = field(default=b"", repr=False)

    @property
    def table(self) -> pl.DataFrame:
        """The content, known to be a table."""
        import polars as pl

        assert isinstance(self.content, pl.DataFrame)
        return self.content

    @property
    def is_table(self) -> bool:
        """Whether the content is a table, from text or from Parquet."""
        return self.kind in ("table", "parquet")

    @property
    def text(self) -> str:
        """The file as text, whatever was made of it."""
        return decoded(self.data, self.path)

    def as_table(self, separator: str | None = None, *, limits: Limits = LIMITS, headless: bool = False) -> Source:
        """Take a file of text for a table, whatever its ending."""
        content = delimited_table(self.data, self.path, limits, separator=separator, headless=headless)
        return replace(self, kind="table", content=content)

    @cached_property
    def sha256(self) -> str:
        """The hash of what was read; empty for a directory."""
        return "" if self.kind == "directory" else hashlib.sha256(self.data).hexdigest()


def open_source(path: Path, limits: Limits = LIMITS, *, headless: bool = False) -> Source:
    r"""Read a file, once, and tell from its content what kind it is.

    A table may be ``headless``, a matrix of numbers, where a reader knows what to do with such a one.

    Raises
    ------
    FormatError
        If the file is missing, unreadable, empty, truncated or not UTF-8.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = FilePath(folder, "a.csv")
    ...     _ = file.write_text("case,label\nc1,Eczema\n", encoding="utf-8")
    ...     open_source(file).table.rows()
    [('c1', 'Eczema')]
    """
    place = checked_path(path)
    if place.is_dir():
        return Source(place, "directory", sorted(item for item in place.iterdir() if item.is_file()))
    data = read_bytes(place)
    start = data[:SHOWN].strip(BLANK)
    if not start:
        raise empty(place)
    _refuse_packed(place, data)
    kind: Kind
    if data.startswith(b"PAR1"):
        kind, content = "parquet", parquet_table(data, place, limits)
    elif data.startswith((b"\x93NUMPY", b"PK\x03\x04")):
        kind, content = "npy" if data.startswith(b"\x93") else "npz", arrays_in(data, place, limits)
    elif place.suffix.lower() in TABLE_ENDINGS:
        kind, content = "table", delimited_table(data, place, limits, headless=headless)
    elif start[:1] in (b"[", b"{"):
        kind, content = json_content(place, decoded(data, place))
    else:
        kind, content = "text", decoded(data, place)
    return Source(place, kind, content, data)


def checked_path(path: Path) -> FilePath:
    """Return the path if it can be read, or say why not."""
    place = FilePath(path)
    try:
        if not place.exists():  # a file beside it may be meant if its name is alike, even without its ending
            beside = [item.name for item in place.parent.iterdir()] if place.parent.is_dir() else []
            alike = [name for name in beside if get_close_matches(place.stem, [FilePath(name).stem])]
            advice = suggestion(place.name, alike) or "check the path"
            raise FormatError("there is no such file", got=str(path), advice=advice)
        size = place.stat().st_size
    except OSError as error:
        raise unreadable(place, error) from error
    if not os.access(place, os.R_OK):
        raise unreadable(place)
    if size == 0 and not place.is_dir():
        raise empty(place)
    return place


def unreadable(place: FilePath, error: OSError | None = None) -> FormatError:
    """Build the error for a file that may not be read."""
    got = "permission denied" if error is None else str(error.strerror or error).lower()
    return FormatError(
        "the file cannot be read", got=got, where=str(place), advice="check the path and its permissions"
    )


def _refuse_packed(place: FilePath, head: bytes) -> None:
    """Refuse what is often passed by mistake: spreadsheets, compressed files, and UTF-16 text."""
    advice = ""
    if place.suffix.lower() in SPREADSHEETS:
        got, advice = "a spreadsheet", "save the sheet as CSV UTF-8"
    elif head.startswith(COMPRESSED):
        got, advice = "a compressed file", "unpack it first"
    elif head.startswith((b"\xff\xfe", b"\xfe\xff")):
        got, advice = "UTF-16 text", SAVE_AS_UTF_8
    if advice:
        expected = "UTF-8 text, JSON, Parquet or an array file"
        problem = "the file is not UTF-8 text" if "UTF" in got else "the file cannot be read as it is"
        raise FormatError(problem, expected=expected, got=got, where=str(place), advice=advice)


def read_bytes(place: FilePath) -> bytes:
    """Read a file; the only place where files of data are opened."""
    try:
        with place.open("rb") as file:
            return file.read()
    except OSError as error:
        raise unreadable(place, error) from error


def read_text(place: FilePath) -> str:
    """Read UTF-8 text, with or without a byte order mark."""
    return decoded(read_bytes(place), place)


def read_arrays(place: FilePath) -> Any:
    """Read an npy array, or the arrays of an npz file by name; nothing pickled is ever loaded."""
    return arrays_in(read_bytes(place), place, LIMITS)
