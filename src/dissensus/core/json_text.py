"""JSON and JSON lines: every key once, and a place for every mistake."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any, Literal

from dissensus.core.errors import FormatError

JSON_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
ESCAPE = re.compile(r"\\\\|\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(?P<half>\\u[dD][89a-fA-F]\w\w)")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?P<colon>\s*:)?|[{}]', re.DOTALL)
SCATTERED = 1000
"""Records of which so few keys are filled, one of so many, are no table."""


def refuse_scattered(records: Sequence[Mapping[str, Any]], n_keys: int, where: str) -> None:
    """Refuse records that would make a table of nearly nothing but empty cells, far larger than the file."""
    filled = sum(map(len, records))
    if n_keys * len(records) > SCATTERED * filled + 10**7:
        raise FormatError(
            "the records have hardly a key in common",
            expected="records with the same keys",
            got=f"{n_keys} different keys in {len(records)} records, {filled // len(records)} in each",
            where=where,
            advice="give all records the same keys",
        )


def json_content(place: FilePath, text: str) -> tuple[Literal["json", "jsonl"], Any]:
    """Parse JSON, or JSON lines where the name or the first line says so.

    >>> json_content(FilePath("a.jsonl"), '{"id": 1}')
    ('jsonl', [{'id': 1}])
    """
    _refuse_half_characters(place, text)
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if place.suffix.lower() not in (".jsonl", ".ndjson") and not (len(lines) > 1 and _is_object(lines[0][1])):
        return "json", _parse(place, text)
    values = []
    for number, line in lines:
        values.append(_parse(place, line, number))
        if not isinstance(values[-1], dict):
            raise FormatError(
                "a line of the file is not a JSON object",
                expected='an object such as {"id": ...} on every line',
                got=line[:60],
                where=f"{place}, line {number}",
            )
    return "jsonl", values


def _refuse_half_characters(place: FilePath, text: str) -> None:
    """Refuse an escape that stands for half a pair, which is no text and can be written nowhere."""
    if "\\ud" not in text and "\\uD" not in text:
        return
    half = next((match for match in ESCAPE.finditer(text) if match["half"]), None)
    if half is not None:
        raise FormatError(
            "the JSON holds half a character",
            expected=r"pairs such as \ud83e\udda0",
            got=f"{half['half']} alone",
            where=f"{place}, line {text.count(chr(10), 0, half.start()) + 1}",
            advice="write the text again from its source, as UTF-8",
        )


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


class _RepeatedKeyError(Exception):
    """An object has a key twice."""


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _RepeatedKeyError
    return found


def _parse(place: FilePath, text: str, first_line: int = 1) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        unfinished = any(word.startswith(rest) for word in (*JSON_WORDS, ".", "e+", "e-", "E+", "E-"))
        cut = unfinished or error.msg.startswith("Unterminated string")  # rather than wrong inside
        raise FormatError(
            "the JSON is cut off" if cut else "the JSON is not valid",
            got=error.msg,
            where=f"{place}, line {first_line + error.lineno - 1}, column {error.colno}",
            advice="write or download the file again" if cut else "",
        ) from error
    except _RepeatedKeyError:
        raise _repeated_key(place, text, first_line) from None
    except (ValueError, RecursionError) as error:
        raise FormatError("the JSON is nested too deeply or holds a huge number", where=str(place)) from error


def _repeated_key(place: FilePath, text: str, first_line: int) -> FormatError:
    """Find the first key that its object has already."""
    open_objects: list[set[str]] = []
    for token in TOKEN.finditer(text):
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
    column = token.start() - text.rfind("\n", 0, token.start())
    return FormatError(
        f"the key {key!r} stands twice in one JSON object",
        expected="every key once",
        where=f"{place}, line {line}, column {column}",
        advice="only one of the two values can be meant: remove the other, or rename its key",
    )
