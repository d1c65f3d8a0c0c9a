"""Data inside a page: text that no name can break out of, and numbers that take little room."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import math
import re
from collections.abc import Iterable, Sequence

from markupsafe import Markup

# What could end a script element or a line of one, and how JSON writes it instead.
UNSAFE = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}

# One character per level: a draw of a plausibility takes one byte, about a hundredth apart.
ALPHABET = " !" + "".join(chr(code) for code in range(0x23, 0x7F) if chr(code) not in "&<>\\")


def script_json(value: object) -> Markup:
    r"""Write a value as JSON that is safe inside a script element.

    >>> script_json({"a": "</script>"})
    Markup('{"a":"\\u003c/script\\u003e"}')
    """
    return Markup(_json(value).translate(UNSAFE))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def packed(value: object) -> str:
    """Write a value as compressed JSON in letters, which browsers unpack when it is needed.

    >>> json.loads(gzip.decompress(base64.b64decode(packed([1, None]))))
    [1, None]
    """
    return base64.b64encode(gzip.compress(_json(value).encode("utf-8"), mtime=0)).decode("ascii")


def thousandths(values: Iterable[float | None]) -> list[int | None]:
    """Write numbers as thousandths; what is unknown stays unknown.

    >>> thousandths([0.25, None, float("nan")])
    [250, None, None]
    """
    return [None if value is None or not math.isfinite(value) else round(1000 * value) for value in values]


def one_letter_each(values: Iterable[float]) -> str:
    """Write plausibilities as one character each.

    >>> one_letter_each([0.0, 1.0])
    ' ~'
    """
    last = len(ALPHABET) - 1
    return "".join(ALPHABET[round(last * min(max(value, 0.0), 1.0))] for value in values)


def csv_link(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as an address that holds a CSV file; no cell is a formula, and no row has a line end within."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    for row in (names, *rows):
        cells = [" ".join(cell.split()) if isinstance(cell, str) else cell for cell in row]
        writer.writerow(
            [f"'{cell}" if re.match(r"[=+\-@]", str(cell)) and isinstance(cell, str) else cell for cell in cells]
        )
    return "data:text/csv;base64," + base64.b64encode(("\ufeff" + text.getvalue()).encode("utf-8", "replace")).decode()
