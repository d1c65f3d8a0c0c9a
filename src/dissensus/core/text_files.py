"""Text of files: UTF-8, and nothing that only binary files hold."""

from __future__ import annotations

from pathlib import Path as FilePath

from dissensus.core.errors import FormatError

SAVE_AS_UTF_8 = "save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')"


def empty(place: FilePath) -> FormatError:
    """Build the error for a file with nothing in it."""
    return FormatError("the file is empty", expected="annotations or predictions", where=str(place))


def decoded(data: bytes, place: FilePath) -> str:
    """Return the text of a file, with or without a byte order mark."""
    refuse_nul(data, place)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(
            "the file is not UTF-8 text",
            got=f"the byte 0x{data[error.start]:02x}",
            where=line_of(data, error.start, place),
            advice=SAVE_AS_UTF_8,
        ) from error


def refuse_nul(data: bytes, place: FilePath) -> None:
    """Refuse a byte that text never holds, and text in two bytes per letter always does."""
    at = data.find(b"\0")
    if at >= 0:
        raise FormatError(
            "the file holds a NUL byte",
            expected="UTF-8 text",
            got="a binary or damaged file, or UTF-16 text",
            where=line_of(data, at, place),
            advice=SAVE_AS_UTF_8,
        )


def line_of(data: bytes, at: int, place: FilePath) -> str:
    """Say in which line of a file a byte stands."""
    return f"{place}, line {data.count(10, 0, at) + 1}"
