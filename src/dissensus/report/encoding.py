"""Data inside a page: text that no name can break out of, and numbers that take little room."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

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
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.translate(UNSAFE))


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
