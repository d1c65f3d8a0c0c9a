"""Files: what they hold, told from their content."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dissensus.core.aliases import Path
from dissensus.core.errors import FormatError, suggestion

if TYPE_CHECKING:
    import polars as pl

Kind: TypeAlias = Literal["directory", "parquet", "npy", "npz", "json", "jsonl", "table", "text"]

SEPARATORS = (",", "\t", ";", "|")
NUMBER_NAMES = ("rank", "confidence", "score", "weight", "case_weight")
TABLE_ENDINGS = (".csv", ".tsv", ".tab")
JSON_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
SHOWN = 4096
"""A file whose first so many bytes are blank counts as empty."""

BLANK = b"\xef\xbb\xbf \t\r\n"
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
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
        return _decoded(self.data, self.path)

    def as_table(self, separator: str | None = None) -> Source:
        """Take a file of text for a table, whatever its ending."""
        return replace(self, kind="table", content=_table(self.data, self.path, separator))

    @cached_property
    def sha256(self) -> str:
        """The hash of what was read; empty for a directory."""
        return "" if self.kind == "directory" else hashlib.sha256(self.data).hexdigest()


def open_source(path: Path) -> Source:
    r"""Read a file, once, and tell from its content what kind it is.

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
    if not data[:SHOWN].strip(BLANK):
        raise empty(place)
    _refuse_packed(place, data)
    kind, content = _understood(place, data)
    return Source(place, kind, content, data)


def _understood(place: FilePath, data: bytes) -> tuple[Kind, Any]:
    if data.startswith(b"PAR1"):
        return "parquet", _parquet(data, place)
    if data.startswith((b"\x93NUMPY", b"PK\x03\x04")):
        return "npy" if data.startswith(b"\x93") else "npz", _arrays(data, place)
    is_table = place.suffix.lower() in TABLE_ENDINGS
    if data[:SHOWN].lstrip(BLANK)[:1] in (b"[", b"{") and not is_table:
        return _json(place, _decoded(data, place))
    return ("table", _table(data, place)) if is_table else ("text", _decoded(data, place))


def checked_path(path: Path) -> FilePath:
    """Return the path if it can be read, or say why not."""
    place = FilePath(path)
    try:
        if not place.exists():
            near = _near(place)
            raise FormatError("there is no such file", got=str(path), advice=near or "check the path")
        size = place.stat().st_size
    except OSError as error:
        raise unreadable(place, error) from error
    if not os.access(place, os.R_OK):
        raise unreadable(place)
    if size == 0 and not place.is_dir():
        raise empty(place)
    return place


def empty(place: FilePath) -> FormatError:
    """Build the error for a file with nothing in it."""
    return FormatError("the file is empty", expected="annotations or predictions", where=str(place))


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
        got, advice = "UTF-16 text", "save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')"
    if advice:
        expected = "UTF-8 text, JSON, Parquet or an array file"
        problem = "the file is not UTF-8 text" if "UTF" in got else "the file cannot be read as it is"
        raise FormatError(problem, expected=expected, got=got, where=str(place), advice=advice)


def _near(place: FilePath) -> str:
    """Offer a file beside a missing one if the name is alike even without its ending."""
    if not place.parent.is_dir():
        return ""
    beside = [item.name for item in place.parent.iterdir()]
    alike = [name for name in beside if get_close_matches(place.stem, [FilePath(name).stem])]
    return suggestion(place.name, alike)


def read_bytes(place: FilePath) -> bytes:
    """Read a file; the only place where files of data are opened."""
    try:
        with place.open("rb") as file:
            return file.read()
    except OSError as error:
        raise unreadable(place, error) from error


def read_text(place: FilePath) -> str:
    """Read UTF-8 text, with or without a byte order mark."""
    return _decoded(read_bytes(place), place)


def _decoded(data: bytes, place: FilePath) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            "the file is not UTF-8 text",
            got=f"the byte 0x{data[error.start]:02x}",
            where=f"{place}, line {line}",
            advice="save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')",
        ) from error


def _table(data: bytes, place: FilePath, separator: str | None = None) -> pl.DataFrame:
    """Parse CSV or TSV, empty cells as missing, every column as text.

    Columns that are called ``rank``, ``score`` and the like are read as numbers if all their cells are.
    """
    import polars as pl

    header = data[: data.find(b"\n") + 1 or None].decode("utf-8-sig", errors="replace")
    separator = separator or _separator(place, header)
    numbers = {name: pl.Float64 for name in header.strip().split(separator) if name in NUMBER_NAMES}
    try:
        try:
            table = pl.read_csv(data, separator=separator, infer_schema=False, schema_overrides=numbers)
        except pl.exceptions.ComputeError:
            table = pl.read_csv(data, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise _broken_table(data, place, separator, str(error).splitlines()[0]) from error
    if all(column.null_count() for column in table):
        table = table.filter(~pl.all_horizontal(pl.all().is_null()))
    if not len(table):
        one_line = any("\r" in name for name in table.columns)
        raise FormatError(
            "the table has a header but no rows",
            expected="at least one row of data",
            where=str(place),
            advice="save it with the line ends of Windows or Unix" if one_line else "",
        )
    # polars leaves doubled quotes in the header as they are (pola-rs/polars#20294)
    return table.rename({name: name.replace('""', '"') for name in table.columns if '""' in name})


def _separator(place: FilePath, header: str) -> str:
    return "\t" if place.suffix.lower() in (".tsv", ".tab") else max(SEPARATORS, key=header.count)


def _broken_table(data: bytes, place: FilePath, separator: str, problem: str) -> FormatError:
    """Find out, row by row, why a table cannot be read."""
    text = _decoded(data, place)
    if not text.strip():
        return empty(place)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line, width = 1, 0
    try:
        for row in reader:
            width = width or len(row)
            if len(row) > width:
                got = f"{len(row)} cells where the header has {width}"
                return _broken_row("a row has more cells than the header", got, f"{place}, line {line}")
            line = reader.line_num + 1
    except csv.Error:
        got = f"{text.splitlines()[line - 1]:.60}"
        return _broken_row("a quotation mark is not closed", got, f"{place}, from line {line}")
    odd = [number for number, line in enumerate(text.split("\n")) if line.count('"') % 2]
    if odd:
        got = f"{text.splitlines()[odd[0]]:.60}"
        return _broken_row("a lone quotation mark stands in a cell", got, f"{place}, line {odd[0] + 1}")
    return _broken_row("the table cannot be read", problem, str(place))


def _broken_row(problem: str, got: str, where: str) -> FormatError:
    advice = 'put a cell that holds separators or quotes between quotes, and double the quotes inside: "5"" long"'
    return FormatError(problem, got=got, where=where, advice=advice)


def _parquet(data: bytes, place: FilePath) -> pl.DataFrame:
    import polars as pl

    try:
        return pl.read_parquet(data)
    except pl.exceptions.PolarsError as error:
        raise FormatError(
            "the Parquet file is damaged or cut off",
            got=str(error).splitlines()[0],
            where=str(place),
            advice="write or download it again",
        ) from error


def read_arrays(place: FilePath) -> Any:
    """Read an npy array, or the arrays of an npz file by name; nothing pickled is ever loaded."""
    return _arrays(read_bytes(place), place)


def _arrays(data: bytes, place: FilePath) -> Any:
    import zipfile
    import zlib
    from tokenize import TokenError

    import numpy as np

    damage = (zipfile.BadZipFile, zlib.error, TokenError)
    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, OSError, NotImplementedError, *damage) as error:
        raise FormatError(
            "the array file cannot be read",
            expected="numbers or text saved with numpy.save or numpy.savez, without pickled objects",
            got=str(error).partition("\n")[0],
            where=str(place),
        ) from error


def _json(place: FilePath, text: str) -> tuple[Kind, Any]:
    lines = [line for line in text.split("\n") if line.strip()]
    if place.suffix.lower() in (".jsonl", ".ndjson") or (len(lines) > 1 and _is_object(lines[0])):
        return "jsonl", [_parse_line(place, number, line) for number, line in _numbered(text)]
    return "json", _parse(place, text)


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _parse(place: FilePath, text: str, first_line: int = 1) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        cut = _ends_early(text, error)
        raise FormatError(
            "the JSON is cut off" if cut else "the JSON is not valid",
            got=error.msg,
            where=f"{place}, line {first_line + error.lineno - 1}, column {error.colno}",
            advice="write or download the file again" if cut else "",
        ) from error
    except (ValueError, RecursionError) as error:
        raise FormatError("the JSON is nested too deeply or holds a huge number", where=str(place)) from error


def _ends_early(text: str, error: json.JSONDecodeError) -> bool:
    """Tell a file that was cut off from one that is wrong inside."""
    rest = text[error.pos :].strip()
    unfinished = any(word.startswith(rest) for word in (*JSON_WORDS, ".", "e+", "e-", "E+", "E-"))
    return unfinished or error.msg.startswith("Unterminated string")


def _parse_line(place: FilePath, number: int, line: str) -> dict[str, Any]:
    value = _parse(place, line, number)
    if not isinstance(value, dict):
        raise FormatError(
            "a line of the file is not a JSON object",
            expected='an object such as {"id": ...} on every line',
            got=line[:60],
            where=f"{place}, line {number}",
        )
    return value
