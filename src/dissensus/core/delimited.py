"""Tables as text: CSV, TSV and the like, read by polars, and refused where polars would guess."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
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
    refuse_nul(data, place)
    _refuse_lone_returns(data, place)
    separator = separator or _separator(data, place)
    names = _header(data, place, separator)
    limits.check("columns", len(names), where=str(place))
    named = not (headless and all(_is_number(name) for name in names))
    if named:
        _refuse_repeated_names(names, place)
    table = _parsed(data, place, separator, names)
    _refuse_doubtful_quotes(data, place, separator)
    _refuse_short_rows(table, data, place, separator)
    table = _without_blank_rows(table)
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
    try:
        rows = csv.reader(_lines(data), delimiter=separator, strict=True)
        return next((row for row in rows if row), [])
    except UnicodeDecodeError:
        decoded(data, place)
        raise
    except csv.Error as error:
        raise _broken_table(data, place, separator, str(error)) from error


def _lines(data: bytes) -> Iterator[str]:
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    file = io.BytesIO(data)
    file.seek(start)
    return (line.decode() for line in file)


def _is_number(text: str) -> bool:
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
    _refuse_repeated_header(table, data, place)
    return table


def _refuse_repeated_header(table: pl.DataFrame, data: bytes, place: FilePath) -> None:
    first = table.columns[0]
    if table.schema[first].is_numeric() or not (table[first] == first).any():
        return
    row = next((row for row in table.filter(table[first] == first).iter_rows() if list(row) == table.columns), None)
    if row is not None:
        header = data[: data.find(b"\n")].removeprefix(BYTE_ORDER_MARK).strip()
        again = data.find(header, data.find(b"\n"))
        raise FormatError(
            "the header is repeated inside the table",
            got="a row that holds the names of the columns",
            where=str(place) if again < 0 else line_of(data, again, place),
            advice="if files were put together, leave out the headers of all but the first",
        )


# The rows -----------------------------------------------------------------------------------------------


def _refuse_lone_returns(data: bytes, place: FilePath) -> None:
    """Refuse line ends of old Macs and reversed ones; within quotes a carriage return is part of a cell."""
    start = quotes = 0
    for at in _lone_returns(data) if b"\r" in data else ():
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


def _lone_returns(data: bytes) -> Iterator[int]:
    """Find the carriage returns that no line feed follows."""
    import numpy as np

    signs = np.frombuffer(data + b"\0", np.uint8)
    return map(int, np.flatnonzero((signs[:-1] == ord("\r")) & (signs[1:] != ord("\n"))))


def _parsed(data: bytes, place: FilePath, separator: str, names: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    numbers = {name: pl.Float64 for name in names if name in NUMBER_NAMES}
    options: dict[str, Any] = {"separator": separator, "infer_schema": False}
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


def _refuse_doubtful_quotes(data: bytes, place: FilePath, separator: str) -> None:
    """Refuse a quoted cell that goes on after its last quote, which polars reads now in one way, now in another."""
    if b'"' in data and _has_quotes_inside(data, separator):
        rows = csv.reader(io.StringIO(decoded(data, place), newline=""), delimiter=separator, strict=True)
        try:
            for _ in rows:
                pass
        except csv.Error as error:
            raise _broken_table(data, place, separator, str(error)) from error


def _has_quotes_inside(data: bytes, separator: str) -> bool:
    """Tell whether some quote neither begins nor ends a cell, nor stands beside another."""
    import numpy as np

    signs = np.frombuffer(b"\n" + data.removeprefix(BYTE_ORDER_MARK) + b"\n", np.uint8)
    quotes = np.flatnonzero(signs == ord('"'))
    before, after = signs[quotes[::2] - 1], signs[quotes[1::2] + 1]
    is_edge = np.zeros(256, np.bool_)
    is_edge[[*b'"\n\r', ord(separator)]] = True
    return not (is_edge[before].all() and is_edge[after].all())


def _refuse_short_rows(table: pl.DataFrame, data: bytes, place: FilePath, separator: str) -> None:
    """Refuse rows that polars fills up; only if the last column misses something can there be any."""
    width = len(table.columns)
    if width < 2 or not table.to_series(width - 1).null_count():
        return
    for start, end in _suspects(data, separator, width):
        cells = _cells(data[start:end].decode(), separator)
        if cells is None:
            raise _broken_table(data, place, separator, "quotation marks in the wrong places")
        if 0 < len(cells) < width:
            raise FormatError(
                "a row has fewer cells than the header",
                expected=f"{width} cells, empty ones too: {separator * (width - 1)!r}",
                got=f"{len(cells)} cell{'s' if len(cells) > 1 else ''}: {data[start:end].decode()[:60]!r}",
                where=line_of(data, start, place),
                advice="add the missing cells, or download the file again if its end was cut off",
            )


def _cells(record: str, separator: str) -> list[str] | None:
    """Split a record into its cells; nothing if its quotes make no sense."""
    try:
        return next(csv.reader(io.StringIO(record, newline=""), delimiter=separator, strict=True), [])
    except csv.Error:
        return None


def _without_blank_rows(table: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    blank = all(column.null_count() for column in table)
    return table.filter(~pl.all_horizontal(pl.all().is_null())) if blank else table


def _suspects(data: bytes, separator: str, width: int) -> Iterator[tuple[int, int]]:
    """Find the records with too few separators outside of quotes, and where they begin and end."""
    import numpy as np

    signs = np.frombuffer(data, np.uint8)
    ends, marks = signs == ord("\n"), signs == ord(separator)
    if b'"' in data:
        outside = np.cumsum(signs == ord('"'), dtype=np.uint8) & 1 == 0
        ends, marks = ends & outside, marks & outside
    stops = np.append(np.flatnonzero(ends), len(data))
    few = np.flatnonzero(np.diff(np.searchsorted(np.flatnonzero(marks), stops), prepend=0) < width - 1)
    starts = np.append(0, stops[:-1] + 1)
    return ((int(starts[row]), int(stops[row])) for row in few if data[starts[row] : stops[row]].strip(b"\r"))


def _broken_table(data: bytes, place: FilePath, separator: str, problem: str) -> FormatError:
    """Find out, row by row, why a table cannot be read."""
    text = decoded(data, place)
    if not text.strip():
        return empty(place)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    lines, line, width = text.split("\n"), 1, 0
    try:
        for row in reader:
            width = width or len(row)
            if len(row) > width:
                got = f"{len(row)} cells where the header has {width}"
                return _broken_row("a row has more cells than the header", got, f"{place}, line {line}")
            line = reader.line_num + 1
    except csv.Error as error:
        found = "a cell is endless" if "limit" in str(error) else "a quotation mark is not closed"
        return _broken_row(found, f"{lines[line - 1]:.60}", f"{place}, from line {line}")
    odd = [number for number, text in enumerate(lines) if text.count('"') % 2]
    if odd:
        got = f"{lines[odd[0]]:.60}"
        return _broken_row("a lone quotation mark stands in a cell", got, f"{place}, line {odd[0] + 1}")
    return _broken_row("the table cannot be read", problem, str(place))


def _broken_row(problem: str, got: str, where: str) -> FormatError:
    return FormatError(problem, got=got, where=where, advice=QUOTES)
