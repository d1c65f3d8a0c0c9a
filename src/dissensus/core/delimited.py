"""Tables as text: CSV, TSV and the like, read by polars, and refused where polars would guess."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from dissensus.core.errors import FormatError
from dissensus.core.limits import Limits
from dissensus.core.text_files import decoded, empty, line_of, refuse_nul

if TYPE_CHECKING:
    import polars as pl

SEPARATORS = (",", "\t", ";", "|")
NUMBER_NAMES = ("rank", "confidence", "score", "weight", "case_weight")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
QUOTES = 'put a cell that holds separators or quotes between quotes, and double the quotes inside: "5"" long"'


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

    refuse_nul(data, place)
    _refuse_lone_returns(data, place)
    separator = separator or _separator(data, place)
    names = _header(data, place, separator)
    limits.check("columns", len(names), where=str(place))
    named = not (headless and all(is_number(name) for name in names))
    if named:
        _refuse_repeated_names(names, place)
    table = _parsed(data, place, separator, names)
    _refuse_doubtful_rows(table, data, place, separator)
    if all(column.null_count() for column in table):
        table = table.filter(~pl.all_horizontal(pl.all().is_null()))
    if not len(table):
        raise FormatError("the table has a header but no rows", expected="at least one row of data", where=str(place))
    return _named(table, names, data, place) if named else table


# The header ---------------------------------------------------------------------------------------------


def _separator(data: bytes, place: FilePath) -> str:
    if place.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    first = next((line for line in io.BytesIO(data) if line.strip()), b"")
    return max(SEPARATORS, key=lambda sign: first.count(sign.encode()))


def _header(data: bytes, place: FilePath, separator: str) -> list[str]:
    """Return the names of the columns as they stand in the file."""
    file = io.BytesIO(data)
    file.seek(len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0)
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


def _refuse_repeated_names(names: Sequence[str], place: FilePath) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1 and name.strip()]
    if repeated:
        columns = [str(number) for number, name in enumerate(names, start=1) if name == repeated[0]]
        raise FormatError(
            f"the header names {repeated[0]!r} twice" if len(columns) == 2 else f"the header repeats {repeated[0]!r}",
            expected="a name of its own for every column",
            got=f"columns {', '.join(columns[:8])} of {len(names)}",
            where=f"{place}, line 1",
            advice="rename or remove the columns that repeat a name",
        )


def _named(table: pl.DataFrame, names: Sequence[str], data: bytes, place: FilePath) -> pl.DataFrame:
    """Give the columns the names of the file; the first may have none, as an index has, and so may empty ones."""
    nameless = {number for number, name in enumerate(names) if number and not name.strip()}
    filled = [number for number in sorted(nameless) if table.to_series(number).null_count() < len(table)]
    if filled:
        raise FormatError(
            "a column has no name",
            expected="a name in the header for every column that holds something",
            got=f"nothing above column {filled[0] + 1} of {len(names)}",
            where=f"{place}, line 1",
            advice="name the column, or remove it",
        )
    table.columns = [name if number not in nameless else f"\0{number}" for number, name in enumerate(names)]
    table = table.drop(f"\0{number}" for number in nameless)
    first = table.columns[0]
    if not table.schema[first].is_numeric() and table.columns in map(list, table.filter(table[first] == first).rows()):
        header = data[: data.find(b"\n")].removeprefix(BYTE_ORDER_MARK).strip()
        again = data.find(header, data.find(b"\n"))
        raise FormatError(
            "the header is repeated inside the table",
            got="a row that holds the names of the columns",
            where=str(place) if again < 0 else line_of(data, again, place),
            advice="if files were put together, leave out the headers of all but the first",
        )
    return table


# The rows -----------------------------------------------------------------------------------------------


def _refuse_lone_returns(data: bytes, place: FilePath) -> None:
    """Refuse line ends of old Macs and reversed ones; within quotes a carriage return is part of a cell."""
    if b"\r" not in data:
        return
    import numpy as np

    start = quotes = 0
    signs = np.frombuffer(data + b"\0", np.uint8)
    for at in np.flatnonzero((signs[:-1] == ord("\r")) & (signs[1:] != ord("\n"))).tolist():
        quotes += data.count(b'"', start, at)
        start = at
        if quotes % 2 == 0:
            turned = data[at - 1 : at] == b"\n"
            raise FormatError(
                "a line ends like no line of Windows or Unix",
                expected=r"'\n' or '\r\n' at the end of every line",
                got=r"'\n\r'" if turned else r"'\r' alone",
                where=line_of(data, at - turned, place),
                advice="save it with the line ends of Windows or Unix, or put the cell between quotes",
            )


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


def _refuse_doubtful_rows(table: pl.DataFrame, data: bytes, place: FilePath, separator: str) -> None:
    """Refuse rows that polars fills up, and quoted cells that go on after their last quote.

    Only if the last column misses something can there be short rows, and only if quotes stand inside of cells has one
    to go from row to row.
    """
    width = len(table.columns)
    wrong = None
    if b'"' in data and _has_quotes_inside(data, separator):
        wrong = _wrong_row(decoded(data, place), place, separator, least=width)
    elif width > 1 and table.to_series(width - 1).null_count():
        wrong = _short_record(data, place, separator, width)
    if wrong is not None:
        raise wrong


def _short_record(data: bytes, place: FilePath, separator: str, width: int) -> FormatError | None:
    """Find the first record with too few separators outside of quotes."""
    import numpy as np

    signs = np.frombuffer(data, np.uint8)
    ends, marks = signs == ord("\n"), signs == ord(separator)
    if b'"' in data:
        outside = np.cumsum(signs == ord('"'), dtype=np.uint8) & 1 == 0
        ends, marks = ends & outside, marks & outside
    stops = np.append(np.flatnonzero(ends), len(data))
    found = np.diff(np.searchsorted(np.flatnonzero(marks), stops), prepend=0)
    starts = np.append(0, stops[:-1] + 1)
    for row in np.flatnonzero(found < width - 1):
        if data[starts[row] : stops[row]].strip(b"\r"):
            return _short_row(int(found[row]) + 1, width, separator, line_of(data, int(starts[row]), place))
    return None


def _short_row(cells: int, width: int, separator: str, where: str) -> FormatError:
    return FormatError(
        "a row has fewer cells than the header",
        expected=f"{width} cells, empty ones too: {separator * min(width - 1, 20)!r}",
        got=f"{cells} cell{'s' if cells > 1 else ''}",
        where=where,
        advice="add the missing cells, or download the file again if its end was cut off",
    )


def _broken_table(data: bytes, place: FilePath, separator: str, problem: str) -> FormatError:
    """Find out why a table cannot be read."""
    text = decoded(data, place)
    if not text.strip():
        return empty(place)
    wrong = _wrong_row(text, place, separator)
    lines = text.split("\n")
    odd = [number for number, line in enumerate(lines) if line.count('"') % 2]
    if wrong is None and odd:
        got = f"{lines[odd[0]]:.60}"
        return _broken_row("a lone quotation mark stands in a cell", got, f"{place}, line {odd[0] + 1}")
    return wrong or _broken_row("the table cannot be read", problem, str(place))


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
                return _short_row(len(row), width, separator, f"{place}, line {line}")
            line = reader.line_num + 1
    except csv.Error as error:
        found = "a cell is endless" if "limit" in str(error) else "a quotation mark is not closed"
        if "expected after" in str(error):
            found = "a cell goes on after its closing quotation mark"
        return _broken_row(found, f"{text.split(chr(10))[line - 1]:.60}", f"{place}, from line {line}")
    return None


def _broken_row(problem: str, got: str, where: str) -> FormatError:
    return FormatError(problem, got=got, where=where, advice=QUOTES)
