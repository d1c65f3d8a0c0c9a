"""Files: what they hold, told from their content; tables are read by polars, and refused where polars would guess.

A small file cannot take all the memory there is: those that say how much they hold, npy, npz and Parquet, are checked
against a limit before they are unpacked.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import re
import sys
import unicodedata
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache, cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path as FilePath
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dissensus.core.errors import DissensusError, FormatError, MissingExtraError, known_name, listing, suggestion

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from dissensus.core.arrays import Path

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([KMGT]?)B?", re.IGNORECASE)

DAMAGE = (ValueError, TypeError, EOFError, OSError, SyntaxError, RuntimeError, KeyError, zipfile.BadZipFile, zlib.error)

# Archives that unpack to more bytes are looked at before.
LARGE = 10**8

# An array without numbers may still claim rows; so many are believed.
EMPTY_ROWS = 10**7

AGAIN = "write or download it again"


@cache
def memory_there() -> int:
    """Return the bytes of memory that the machine has, or that its container is allowed."""
    found = [64 * 10**9]
    with suppress(AttributeError, ValueError, OSError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for place in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(ValueError, OSError):
            found.append(int(FilePath(place).read_text(encoding="ascii")))
    return min(found)


@dataclass(frozen=True)
class Limits:
    """What a file may hold before it is refused, far beyond what real files hold.

    Attributes
    ----------
    columns
        Columns of a table.
    memory
        Bytes that arrays and Parquet tables take when they are unpacked: by default a quarter of what the machine, or
        the container, has, and at most 16 GB.

    Examples
    --------
    >>> Limits.given({"memory": "32GB"})
    Limits(columns=50000, memory=32000000000)
    """

    columns: int = 50_000
    memory: int = field(default_factory=lambda: min(16 * 10**9, memory_there() // 4))

    @staticmethod
    def given(limits: Mapping[str, int | str] | None) -> Limits:
        """Take the limits that a user raised or lowered, as numbers or as text such as ``"32GB"``."""
        found = {}
        for name, value in (limits or {}).items():
            known_name("limit", name, [part.name for part in fields(Limits)])
            match = SIZE.fullmatch(str(value).strip()) if isinstance(value, int | str) else None
            found[name] = int(float(match[1]) * UNITS[match[2].upper()]) if match else 0
            if found[name] < 1 or isinstance(value, bool):
                expected = "a whole number from 1, such as 200000, or a size such as 32GB"
                raise DissensusError(f"the limit of {name} is not understood", expected=expected, got=repr(value))
        return Limits(**found)

    def check(self, name: str, needed: int, *, where: str, least: bool = False) -> None:
        """Refuse a file that needs more than a limit allows; ``least`` says that it may need even more."""
        limit = getattr(self, name)
        if needed > limit:
            is_memory = name == "memory"
            problem = "the file unpacks to too much" if is_memory else "the table has too many columns"
            unit = "bytes" if is_memory else "columns"
            got = f"{'at least ' if least else ''}{_size(needed, unit)}"
            advice = f"if the file is right, raise the limit: --limit {name}={needed} (limits={{{name!r}: {needed}}})"
            raise FormatError(problem, expected=f"at most {_size(limit, unit)}", got=got, where=where, advice=advice)


def _size(number: int, unit: str) -> str:
    """Write how much there is as people do.

    >>> _size(16 * 10**9, "bytes"), _size(12, "bytes"), _size(60_000, "columns")
    ('16 GB', '12 bytes', '60 000 columns')
    """
    prefix = next((sign for sign in "TGMK" if number >= UNITS[sign]), "") if unit == "bytes" else ""
    return f"{number / UNITS[prefix]:.4g} {prefix}B" if prefix else f"{number:,} {unit}".replace(",", " ")


Kind: TypeAlias = Literal["directory", "parquet", "npy", "npz", "json", "jsonl", "table", "text"]

TABLE_ENDINGS = (".csv", ".tsv", ".tab")

# A file whose first so many bytes are blank counts as empty.
SHOWN = 4096

SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")

# What stands for standard input, as on most command lines, and what errors call data that are in no file.
STANDARD_INPUT, IN_MEMORY = "-", FilePath("the given data")
INSPECT = ".eval"
LIMITS = Limits()
SAVE_AS_UTF_8 = "save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')"
SEPARATORS = (",", "\t", ";", "|")
NUMBER_NAMES = ("rank", "confidence", "score", "weight", "case_weight")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
QUOTES = 'put a cell that holds separators or quotes between quotes, and double the quotes inside: "5"" long"'

JSON_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
LONE_RETURN = re.compile(rb"\r(?!\n)")
ESCAPE = re.compile(r"\\\\|\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(?P<half>\\u[dD][89a-fA-F]\w\w)")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?P<colon>\s*:)?|[{}]', re.DOTALL)

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
    def is_delimited(self) -> bool:
        """Whether the content is a table that the bytes spell out, letters and their accents composed."""
        return self.kind == "table" and len(self.data) > 0 and self.path.suffix.lower() in TABLE_ENDINGS

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


def open_source(given: Any, limits: Limits = LIMITS, *, headless: bool = False, sheet: str | None = None) -> Source:
    r"""Read a file, standard input (``-``) or data in memory, once, and tell from the content what kind it is.

    A table may be ``headless``, a matrix of numbers, where a reader knows what to do with such a one. A data frame
    (pandas, polars, Arrow) is a table, a dictionary of columns too; others, and lists, are what JSON would hold.

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
    >>> open_source({"case": ["c1"], "label": ["Eczema"]}).table.rows()
    [('c1', 'Eczema')]
    """
    if not isinstance(given, str | os.PathLike):
        return _in_memory(given)
    piped = str(given) == STANDARD_INPUT
    place = FilePath("standard input") if piped else checked_path(given)
    if not piped and place.is_dir():
        return Source(place, "directory", sorted(item for item in place.iterdir() if item.is_file()))
    data, ending = sys.stdin.buffer.read() if piped else read_bytes(place), place.suffix.lower()
    start, where = data[:SHOWN].strip(BYTE_ORDER_MARK + b" \t\r\n"), str(place)
    if not start:
        raise empty(place)
    expected = "UTF-8 text, JSON, Parquet, Excel or an array file"
    if data.startswith(COMPRESSED):
        problem, got = "the file cannot be read as it is", "a compressed file"
        raise FormatError(problem, expected=expected, got=got, where=where, advice="unpack it first")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        problem, got = "the file is not UTF-8 text", "UTF-16 text"
        raise FormatError(problem, expected=expected, got=got, where=where, advice=SAVE_AS_UTF_8)
    kind: Kind
    content: Any
    if ending in SPREADSHEETS:
        kind, content = "table", sheet_table(data, place, limits, sheet)
    elif ending == INSPECT:
        kind, content = "table", scored_samples(place)
    elif data.startswith(b"PAR1"):
        kind, content = "parquet", parquet_table(data, place, limits)
    elif data.startswith((b"\x93NUMPY", b"PK\x03\x04")):
        kind, content = "npy" if data.startswith(b"\x93") else "npz", arrays_in(data, place, limits)
    elif ending in TABLE_ENDINGS:
        kind, content = "table", delimited_table(data, place, limits, headless=headless)
    elif start[:1] in (b"[", b"{"):
        kind, content = json_content(place, decoded(data, place))
    else:
        kind, content = "text", decoded(data, place)
    source, first = Source(place, kind, content, data), start.split(b"\n")[0].decode(errors="replace")
    is_table = piped and kind == "text" and not first.startswith("#") and any(map(first.count, SEPARATORS))
    return source.as_table(limits=limits, headless=headless) if is_table else source


def _in_memory(given: Any) -> Source:
    """Take arrays as they are, dictionaries of columns and frames for tables, and the rest for what JSON would hold."""
    import numpy as np
    import polars as pl

    if isinstance(given, np.ndarray):
        return Source(IN_MEMORY, "npy", given)
    if not isinstance(given, Mapping | list | tuple):
        return Source(IN_MEMORY, "parquet", polars_frame(given))
    named: dict[str, Any] = {str(name): one for name, one in given.items()} if isinstance(given, Mapping) else {}
    are_columns = named and all(isinstance(one, list | tuple | np.ndarray | pl.Series) for one in named.values())
    if are_columns and len(set(map(len, named.values()))) == 1:
        try:
            return Source(IN_MEMORY, "parquet", pl.DataFrame(named))
        except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
            raise _mixed(listing(given), error) from error
    try:
        return Source(IN_MEMORY, *json_content(IN_MEMORY, json.dumps(given)))
    except FormatError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        expected = "text, numbers, lists and dictionaries, a dictionary of columns, or a data frame"
        raise DissensusError("the data are not understood", expected=expected, got=f"{given!r:.60}") from error


def polars_frame(frame: Any) -> pl.DataFrame:
    """Take a data frame of any library and return it as a polars one; an index that names the rows is a column."""
    import narwhals as nw
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        expected, got = "a pandas, polars or arrow data frame", type(frame).__name__
        advice = "collect it first: frame.collect()" if got == "LazyFrame" else ""
        raise DissensusError("this is not a table", expected=expected, got=got, advice=advice) from error
    index = getattr(frame, "index", None)
    if index is not None and (index.name is not None or index.dtype.kind in "OUT") and len(frame):
        table = nw.from_native(frame.reset_index(), eager_only=True)
    columns = []
    for name in table.columns:
        try:
            columns.append(table.select(name).to_polars())
        except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
            raise _mixed(repr(name), error) from error
    return pl.concat(columns, how="horizontal") if columns else pl.DataFrame()


def _mixed(name: str, error: Exception) -> DissensusError:
    expected, got = "columns that hold text only or numbers only", str(error).splitlines()[0]
    advice = f"convert it first: frame[{name}] = frame[{name}].astype(str)"
    return DissensusError(f"the column {name} mixes different types", expected=expected, got=got, advice=advice)


def sheet_table(data: bytes, place: FilePath, limits: Limits, sheet: str | None) -> pl.DataFrame:
    """Read one sheet of a spreadsheet, every cell as text; its name is needed where several hold anything."""
    fastexcel = _extra("fastexcel", "excel", "to read spreadsheets")
    try:
        book = fastexcel.read_excel(data)
        names = [sheet] if sheet in book.sheet_names else [] if sheet else list(book.sheet_names)
        found = {name: book.load_sheet(name, header_row=None, dtypes="string").to_polars() for name in names}
    except fastexcel.FastExcelError as error:
        got = str(error).partition("\n")[0]
        raise FormatError("the spreadsheet cannot be read", got=got, where=str(place)) from error
    filled = {name: table for name, table in found.items() if len(table)}
    if len(filled) != 1:
        problem = f"the spreadsheet has {'several sheets' if filled else 'no such sheet, or it is empty'}"
        expected, got = "the name of one sheet", f"sheets {listing(book.sheet_names, most=12)}"
        advice = f"say which: --sheet {next(iter(filled), 'NAME')} (sheet=...)"
        raise FormatError(problem, expected=expected, got=got, where=str(place), advice=advice)
    (table,) = filled.values()
    limits.check("columns", table.width, where=str(place))
    return _named(table[1:], [str(name or "") for name in table.row(0)], b"", place)


def scored_samples(place: FilePath) -> pl.DataFrame:
    """Read an Inspect log by its own reader: a row per sample, epoch and scorer, with the score and the answer."""
    import polars as pl

    log = _extra("inspect_ai.log", "inspect", "to read Inspect logs")
    try:
        samples = log.read_eval_log(str(place)).samples or []
    except Exception as error:
        raise FormatError("the Inspect log cannot be read", got=f"{error!r:.100}", where=str(place)) from error
    rows = [
        [None if cell is None else cell if isinstance(cell, str) else json.dumps(cell) for cell in row]
        for one in samples
        for scorer, score in (one.scores or {}).items()
        for row in [(str(one.id), str(one.epoch), scorer, score.value, score.answer, one.output.model)]
    ]
    if not rows:
        raise FormatError("the Inspect log holds no scored samples", got=f"{len(samples)} samples", where=str(place))
    names = ("case", "epoch", "scorer", "value", "answer", "model")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def _extra(module: str, extra: str, purpose: str) -> Any:
    """Import what only an extra installs, or name the extra."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        advice = f"pip install 'dissensus[{extra}]'"
        raise MissingExtraError(f"{package} is needed {purpose}", got="it is not installed", advice=advice) from error


def checked_path(path: Path) -> FilePath:
    """Return the path if it can be read, or say why not."""
    place = FilePath(path)
    try:
        if place.is_symlink() and not place.exists():
            raise FormatError("the link leads to no file", got=str(path), advice="check where it points to")
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
    if size == 0 and place.is_file():  # a pipe has no size
        raise empty(place)
    return place


def unreadable(place: FilePath, error: OSError | None = None) -> FormatError:
    """Build the error for a file that may not be read."""
    got = "permission denied" if error is None else str(error.strerror or error).lower()
    advice = "check the path and its permissions"
    return FormatError("the file cannot be read", got=got, where=str(place), advice=advice)


def read_bytes(place: FilePath) -> bytes:
    """Read a file; the only place where files of data are opened."""
    try:
        return place.read_bytes()
    except OSError as error:
        raise unreadable(place, error) from error


def read_text(place: FilePath) -> str:
    """Read UTF-8 text, with or without a byte order mark."""
    return decoded(read_bytes(place), place)


# Text -------------------------------------------------------------------------------------------------


def empty(place: FilePath) -> FormatError:
    """Build the error for a file with nothing in it."""
    return FormatError("the file is empty", expected="annotations or predictions", where=str(place))


def decoded(data: bytes, place: FilePath) -> str:
    """Return the text of a file, with or without a byte order mark, letters and their accents composed (NFC)."""
    refuse_nul(data, place)
    try:
        return unicodedata.normalize("NFC", data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        got, where = f"the byte 0x{data[error.start]:02x}", line_of(data, error.start, place)
        raise FormatError("the file is not UTF-8 text", got=got, where=where, advice=SAVE_AS_UTF_8) from error


def refuse_nul(data: bytes, place: FilePath) -> None:
    """Refuse a byte that text never holds, and text in two bytes per letter always does."""
    at = data.find(b"\0")
    if at >= 0:
        got, where = "a binary or damaged file, or UTF-16 text", line_of(data, at, place)
        problem, expected = "the file holds a NUL byte", "UTF-8 text"
        raise FormatError(problem, expected=expected, got=got, where=where, advice=SAVE_AS_UTF_8)


def line_of(data: bytes, at: int, place: FilePath) -> str:
    """Say in which line of a file a byte stands."""
    return f"{place}, line {data.count(10, 0, at) + 1}"


# Tables -----------------------------------------------------------------------------------------------


def delimited_table(
    data: bytes, place: FilePath, limits: Limits, *, separator: str | None = None, headless: bool = False
) -> pl.DataFrame:
    r"""Parse CSV or TSV, empty cells as missing, every column as text.

    Columns that are called ``rank``, ``score`` and the like are read as numbers if all their cells are. A table that
    may be ``headless`` keeps a first row of numbers as the names of its columns, even if they repeat.

    >>> delimited_table(b"case,label\nc1,Eczema\n", FilePath("a.csv"), Limits()).rows()
    [('c1', 'Eczema')]
    """
    import polars as pl

    data = data if data.isascii() else decoded(data, place).encode()
    refuse_nul(data, place)
    _refuse_lone_returns(data, place)
    if separator is None and place.suffix.lower() in (".tsv", ".tab"):
        separator = "\t"
    elif separator is None:
        first = next((line for line in io.BytesIO(data) if line.strip()), b"")
        separator = max(SEPARATORS, key=lambda sign: first.count(sign.encode()))
    names = _header(data, place, separator)
    limits.check("columns", len(names), where=str(place))
    table = _parsed(data, place, separator, names)
    width, has_quotes = len(names), b'"' in data
    # polars fills short rows up, and lets a quoted cell go on after its last quote
    is_short = width > 1 and table.to_series(width - 1).null_count() > 0
    is_short = is_short and (has_quotes or data.count(separator.encode()) < (width - 1) * (len(table) + 1))
    is_doubtful = is_short or (has_quotes and _has_quotes_inside(data, separator))
    if is_doubtful and (wrong := _wrong_row(decoded(data, place), place, separator, least=width)):
        raise wrong
    if all(column.null_count() for column in table):
        table = table.filter(~pl.all_horizontal(pl.all().is_null()))
    return _named(table, names, data, place, headless=headless and all(map(is_number, names)))


# The header ---------------------------------------------------------------------------------------------


def _header(data: bytes, place: FilePath, separator: str) -> list[str]:
    """Return the names of the columns as they stand in the file."""
    file = io.BytesIO(data.removeprefix(BYTE_ORDER_MARK))
    try:
        rows = csv.reader((line.decode() for line in file), delimiter=separator, strict=True)
        names = next((row for row in rows if row), [])
    except UnicodeDecodeError:
        decoded(data, place)
        raise
    except csv.Error as error:
        raise _broken_table(data, place, separator, str(error)) from error
    header = b"".join(islice(io.BytesIO(data), rows.line_num))
    if header.count(b'"') % 2:  # polars would take the rows up to the next quote for a part of the header
        got = f"{header.decode('utf-8-sig'):.60}".rstrip()
        raise _broken_row("a lone quotation mark stands in the header", got, f"{place}, line {rows.line_num}")
    return names


def is_number(text: str) -> bool:
    """Tell whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _named(
    table: pl.DataFrame, names: Sequence[str], data: bytes, place: FilePath, *, headless: bool = False
) -> pl.DataFrame:
    """Give the columns the names of the file; the first may have none, as an index has, and so may empty ones."""
    if not len(table):
        raise FormatError("the table has a header but no rows", expected="at least one row of data", where=str(place))
    if headless:
        return table
    where = f"{place}, line 1"
    for name, count in Counter(names).items():
        if count > 1 and name.strip():
            columns = [str(number) for number, other in enumerate(names, start=1) if other == name]
            problem = f"the header names {name!r} twice" if count == 2 else f"the header repeats {name!r}"
            expected, got = "a name of its own for every column", f"columns {', '.join(columns[:8])} of {len(names)}"
            advice = "rename or remove the columns that repeat a name"
            raise FormatError(problem, expected=expected, got=got, where=where, advice=advice)
    nameless = {number for number, name in enumerate(names) if number and not name.strip()}
    filled = [number for number in sorted(nameless) if table.to_series(number).null_count() < len(table)]
    if filled:
        expected = "a name in the header for every column that holds something"
        got, advice = f"nothing above column {filled[0] + 1} of {len(names)}", "name the column, or remove it"
        raise FormatError("a column has no name", expected=expected, got=got, where=where, advice=advice)
    table.columns = [name if number not in nameless else f"\0{number}" for number, name in enumerate(names)]
    table = table.drop(f"\0{number}" for number in nameless)
    first = table.columns[0]
    if not table.schema[first].is_numeric() and table.columns in map(list, table.filter(table[first] == first).rows()):
        header = data[: data.find(b"\n")].removeprefix(BYTE_ORDER_MARK).strip()
        again = data.find(header, data.find(b"\n"))
        where = str(place) if again < 0 else line_of(data, again, place)
        problem, got = "the header is repeated inside the table", "a row that holds the names of the columns"
        advice = "if files were put together, leave out the headers of all but the first"
        raise FormatError(problem, got=got, where=where, advice=advice)
    return table


# The rows -----------------------------------------------------------------------------------------------


def _refuse_lone_returns(data: bytes, place: FilePath) -> None:
    """Refuse line ends of old Macs and reversed ones; within quotes a carriage return is part of a cell."""
    if b"\r" not in data or data.count(b"\r") == data.count(b"\r\n"):
        return
    start = quotes = 0
    for found in LONE_RETURN.finditer(data):
        at = found.start()
        quotes, start = quotes + data.count(b'"', start, at), at
        if quotes % 2 == 0:
            turned = data[at - 1 : at] == b"\n"
            expected, got = r"'\n' or '\r\n' at the end of every line", r"'\n\r'" if turned else r"'\r' alone"
            problem, where = "a line ends like no line of Windows or Unix", line_of(data, at - turned, place)
            advice = "save it with the line ends of Windows or Unix, or put the cell between quotes"
            raise FormatError(problem, expected=expected, got=got, where=where, advice=advice)


def _parsed(data: bytes, place: FilePath, separator: str, names: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    numbers = {name: pl.Float64 for name in names if name in NUMBER_NAMES}
    options: dict[str, Any] = {"separator": separator, "infer_schema": False}
    if data.endswith(separator.encode()):  # polars would overlook an empty cell too many at the very end
        data += b"\n"
    try:
        try:
            table = pl.read_csv(data, schema_overrides=numbers, **options)
        except pl.exceptions.ComputeError:
            table = pl.read_csv(data, **options)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _broken_table(data, place, separator, str(error).partition("\n")[0]) from error
    if len(table.columns) != len(names):
        raise _broken_table(data, place, separator, f"{len(table.columns)} columns under {len(names)} names")
    return table


def _has_quotes_inside(data: bytes, separator: str) -> bool:
    """Tell whether some quote neither begins nor ends a cell, nor stands beside another."""
    import numpy as np

    signs = np.frombuffer(b"\n" + data.removeprefix(BYTE_ORDER_MARK) + b"\n", np.uint8)
    quotes = np.flatnonzero(signs == ord('"'))
    before, after = signs[quotes[::2] - 1], signs[quotes[1::2] + 1]
    is_edge = np.zeros(256, np.bool_)
    is_edge[[*b'"\n\r', ord(separator)]] = True
    return not (is_edge[before].all() and is_edge[after].all())


def _broken_table(data: bytes, place: FilePath, separator: str, problem: str) -> FormatError:
    """Find out why a table cannot be read."""
    text = decoded(data, place)
    if not text.strip():
        return empty(place)
    if wrong := _wrong_row(text, place, separator):
        return wrong
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count('"') % 2:
            return _broken_row("a lone quotation mark stands in a cell", f"{line:.60}", f"{place}, line {number}")
    return _broken_row("the table cannot be read", problem, str(place))


def _wrong_row(text: str, place: FilePath, separator: str, *, least: int = 0) -> FormatError | None:
    """Go from row to row until one has too many cells, or fewer than the least, or quotes that make no sense."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line, width = 1, 0
    try:
        for row in reader:
            width = width or len(row)
            if len(row) > width:
                got = f"{len(row)} cells where the header has {width}"
                return _broken_row("a row has more cells than the header", got, f"{place}, line {line}")
            if 0 < len(row) < least:
                expected = f"{width} cells, empty ones too: {separator * min(width - 1, 20)!r}"
                got, where = f"{len(row)} cell{'s' * (len(row) > 1)}", f"{place}, line {line}"
                advice = "add the missing cells, or download the file again if its end was cut off"
                problem = "a row has fewer cells than the header"
                return FormatError(problem, expected=expected, got=got, where=where, advice=advice)
            line = reader.line_num + 1
    except csv.Error as error:
        found = "a cell is endless" if "limit" in str(error) else "a quotation mark is not closed"
        if "expected after" in str(error):
            found = "a cell goes on after its closing quotation mark"
        return _broken_row(found, f"{text.split(chr(10))[line - 1]:.60}", f"{place}, from line {line}")
    return None


def _broken_row(problem: str, got: str, where: str) -> FormatError:
    return FormatError(problem, got=got, where=where, advice=QUOTES)


# JSON -------------------------------------------------------------------------------------------------


def json_content(place: FilePath, text: str) -> tuple[Literal["json", "jsonl"], Any]:
    """Parse JSON, or JSON lines where the name or the first line says so.

    >>> json_content(FilePath("a.jsonl"), '{"id": 1}')
    ('jsonl', [{'id': 1}])
    """
    for escape in ESCAPE.finditer(text) if "\\ud" in text or "\\uD" in text else ():
        if escape["half"]:  # which is no text and can be written nowhere
            expected, got = r"pairs such as \ud83e\udda0", f"{escape['half']} alone"
            where = f"{place}, line {text.count(chr(10), 0, escape.start()) + 1}"
            advice = "write the text again from its source, as UTF-8"
            raise FormatError("the JSON holds half a character", expected=expected, got=got, where=where, advice=advice)
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    are_lines = place.suffix.lower() in (".jsonl", ".ndjson")
    with suppress(ValueError, RecursionError):
        are_lines = are_lines or (len(lines) > 1 and isinstance(json.loads(lines[0][1]), dict))
    if not are_lines:
        return "json", _parse(place, text)
    values = []
    for number, line in lines:
        values.append(_parse(place, line, number))
        if not isinstance(values[-1], dict):
            problem, expected = "a line of the file is not a JSON object", 'an object such as {"id": ...} on every line'
            raise FormatError(problem, expected=expected, got=line[:60], where=f"{place}, line {number}")
    return "jsonl", values


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that has a key twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise KeyError
    return found


def _parse(place: FilePath, text: str, first_line: int = 1) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=_distinct)
        composed = text if "\\u" not in text else unicodedata.normalize("NFC", json.dumps(value, ensure_ascii=False))
        return value if composed is text else json.loads(composed, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        unfinished = any(word.startswith(rest) for word in (*JSON_WORDS, ".", "e+", "e-", "E+", "E-"))
        is_cut = unfinished or error.msg.startswith("Unterminated string")  # rather than wrong inside
        problem, advice = ("the JSON is cut off", AGAIN) if is_cut else ("the JSON is not valid", "")
        where = f"{place}, line {first_line + error.lineno - 1}, column {error.colno}"
        raise FormatError(problem, got=error.msg, where=where, advice=advice) from error
    except KeyError:
        open_objects: list[set[str]] = []
        for token in TOKEN.finditer(text):  # up to the first key that its object has already
            if token[0] == "{":
                open_objects.append(set())
            elif token[0] == "}":
                open_objects.pop()
            elif token["colon"]:
                key = json.loads(token[0].removesuffix(token["colon"]))
                if key in open_objects[-1]:
                    break
                open_objects[-1].add(key)
        line = first_line + text.count("\n", 0, token.start())
        where = f"{place}, line {line}, column {token.start() - text.rfind(chr(10), 0, token.start())}"
        problem, expected = f"the key {key!r} stands twice in one JSON object", "every key once"
        advice = "only one of the two values can be meant: remove the other, or rename its key"
        raise FormatError(problem, expected=expected, where=where, advice=advice) from None
    except (ValueError, RecursionError) as error:
        raise FormatError("the JSON is nested too deeply or holds a huge number", where=str(place)) from error


# Arrays -------------------------------------------------------------------------------------------------


def arrays_in(data: bytes, place: FilePath, limits: Limits) -> Any:
    """Return an npy array, or the arrays of an npz file by name; nothing pickled is ever loaded."""
    try:
        if not data.startswith(b"PK"):
            return _array(data, str(place), limits)
        arrays: dict[str, NDArray[Any]] = {}
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            limits.check("memory", size, where=str(place))
            if size > LARGE:
                _check_names(archive, members, str(place))
            for member in members:
                name = member.filename.removesuffix(".npy")
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError(f"{name!r} is compressed as numpy never does")
                if name in arrays:
                    raise ValueError(f"{name!r} stands in it twice")
                arrays[name] = _array(archive.read(member), f"{place}, array {name!r}", limits)
        return arrays
    except FormatError:
        raise
    except (*DAMAGE, TokenError) as error:
        expected = "numbers or text saved with numpy.save or numpy.savez, without pickled objects"
        got = str(error).partition("\n")[0]
        raise FormatError("the array file cannot be read", expected=expected, got=got, where=str(place)) from error


def _check_names(archive: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo], where: str) -> None:
    """Refuse names that are not as many as any array has rows or columns, before the arrays are unpacked."""
    claimed = {}
    for member in members:
        with archive.open(member) as file:
            claimed[member.filename.removesuffix(".npy")] = _array_header(file)
    sizes = {size for shape, _, _ in claimed.values() if len(shape) > 1 for size in shape}
    for name, (shape, _, dtype) in claimed.items():
        if dtype.kind in "US" and len(shape) == 1 and shape[0] not in sizes:
            problem = f"the names do not fit: there are {shape[0]} in the array {name!r}"
            got = ", ".join(f"{other!r} of shape {one[0]}" for other, one in claimed.items() if len(one[0]) > 1)
            raise FormatError(problem, expected="as many names as an array has rows or columns", got=got, where=where)


def _array_header(file: Any) -> tuple[tuple[int, ...], bool, Any]:
    """Return the shape that an array claims, whether columns come first, and the type of its numbers."""
    import numpy as np

    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version} of the npy format")
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # numbers written by Python 2 take longer to read
        return header(file)


def _array(data: bytes, where: str, limits: Limits) -> NDArray[Any]:
    """Read an array whose header claims what there is, no more and no less."""
    import numpy as np

    file = io.BytesIO(data)
    shape, columns_first, dtype = _array_header(file)
    shown = f"{shape}" if len(shape) < 8 else f"({', '.join(map(str, shape[:8]))}, ...)"
    if dtype.hasobject:
        raise ValueError("objects, which only pickle could load")
    if any(size < 0 for size in shape):
        raise ValueError(f"a negative size in the shape {shown}")
    there, claimed = len(data) - file.tell(), math.prod(shape) * dtype.itemsize
    limits.check("memory", claimed if claimed <= there else 0, where=where)
    rows = math.prod(size for size in shape if size) if claimed == 0 else 0
    if claimed != there or rows > EMPTY_ROWS:
        problem = "the array file is cut off" if claimed > there else "the array file holds more than its array"
        expected, got = f"{claimed} bytes for shape {shown} of {dtype}", f"{there} bytes"
        advice = AGAIN if claimed >= there else "save one array per file, or several with numpy.savez"
        raise FormatError(problem, expected=expected, got=got, where=where, advice=advice)
    order: Any = "F" if columns_first else "C"
    return np.ndarray(shape, dtype, data, offset=file.tell(), order=order).copy(order)


# Parquet ------------------------------------------------------------------------------------------------


def parquet_table(data: bytes, place: FilePath, limits: Limits) -> pl.DataFrame:
    """Read a Parquet table if what it claims to hold is within the limits."""
    import polars as pl

    def width(dtype: pl.DataType) -> int:
        """Return the bytes that a cell takes at least."""
        if dtype in (pl.String, pl.Binary):
            return 16
        return 8 if dtype.is_numeric() or dtype.is_temporal() or dtype.is_nested() else 1

    try:
        schema = pl.read_parquet_schema(io.BytesIO(data))
        limits.check("columns", len(schema), where=str(place))
        rows = pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item()
        limits.check("memory", rows * sum(map(width, schema.values())), where=str(place), least=True)
        return pl.read_parquet(io.BytesIO(data))
    except FormatError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        problem, got = "the Parquet file is damaged or cut off", str(error).partition("\n")[0]
        raise FormatError(problem, got=got, where=str(place), advice=AGAIN) from error
