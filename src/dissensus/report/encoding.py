"""Data inside a page: text that no name can break out of, and numbers that take little room."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

# Significant digits that figures keep: more than a screen can show.
DIGITS = 6

# What could end a script element or a line of one, and how JSON writes it instead.
UNSAFE = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}

# One character per level: a draw of a plausibility takes one byte, about a hundredth apart.
ALPHABET = " !" + "".join(chr(code) for code in range(0x23, 0x7F) if chr(code) not in "&<>\\")

# Flat arrays of this length and more are packed as single-precision numbers, little end first.
PACKED = 12


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


def compact(value: Any) -> Any:
    """Make a chart plain and small: arrays become packed numbers, floats lose digits that nobody can see.

    Dataclasses become objects that say their kind and leave out what is empty.

    >>> compact(np.array([1.0, np.nan]))
    [1.0, None]
    """
    if is_dataclass(value):
        parts = {part.name: getattr(value, part.name) for part in fields(value)}
        said = {name: one for name, one in parts.items() if isinstance(one, np.ndarray) or one not in (None, "", ())}
        return {"kind": type(value).__name__, **{name: compact(part) for name, part in said.items()}}
    match value:
        case Mapping():
            return {str(key): compact(item) for key, item in value.items() if item is not None}
        case np.ndarray(ndim=1) if value.dtype.kind in "iuf" and len(value) >= PACKED:
            return {"packed": base64.b64encode(value.astype("<f4").tobytes()).decode("ascii")}
        case np.ndarray():
            return compact(value.tolist())
        case str() | bool() | int() | None:
            return value
        case float() | np.floating():
            return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
        case np.integer() | np.bool_():
            return value.item()
        case list() | tuple():
            return [compact(item) for item in value]
    return str(value)
