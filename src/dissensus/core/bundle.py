"""Values as bytes: numbers, text, arrays, lists, mappings and objects of known classes; nothing else, and no code.

A bundle is a line of JSON that says what the value is made of, and behind it the bytes of all arrays. The same value
gives the same bytes. Objects come back only as the classes that the reader names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.core.errors import FormatError

HEAD = b"dissensus bundle 1\n"
ALIGNED = 16
"""Arrays begin at multiples of so many bytes."""


def bundled(value: object) -> bytes:
    """Write a value.

    Examples
    --------
    >>> restored(bundled({"a": np.arange(3), "b": (1.5, None, "x", b"y")}), [])
    {'a': array([0, 1, 2]), 'b': (1.5, None, 'x', b'y')}
    """
    parts: list[bytes] = []
    said = json.dumps(_said(value, parts), ensure_ascii=True, separators=(",", ":")).encode("ascii")
    return b"".join([HEAD, said, b"\n", *parts])


def restored(data: bytes, classes: Sequence[type]) -> Any:
    """Read a value; its objects are of these classes.

    Raises
    ------
    FormatError
        If these are not the bytes of a bundle, or not all of them.
    """
    head, _, rest = data.partition(b"\n")
    said, newline, body = rest.partition(b"\n")
    if head + b"\n" != HEAD or not newline:
        raise FormatError("these bytes are not a bundle", expected=repr(HEAD), got=repr(data[: len(HEAD)]))
    try:
        arrays = _Arrays(body)
        value = _value(json.loads(said), arrays, {one.__name__: one for one in classes})
        if arrays.position != len(body):
            raise ValueError(f"{len(body)} bytes of arrays, not {arrays.position}")
        return value
    except (LookupError, TypeError, ValueError) as error:
        raise FormatError("a bundle is damaged", got=repr(error)) from error


def _said(value: Any, parts: list[bytes]) -> Any:
    """Say what a value is made of; the bytes of arrays go to the parts."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, bytes):
        return {"bytes": _array(np.frombuffer(value, dtype=np.uint8), parts)}
    if isinstance(value, np.ndarray):
        return {"array": _array(value, parts)}
    if isinstance(value, Mapping):
        return {"map": [[_said(key, parts), _said(item, parts)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return {"tuple" if isinstance(value, tuple) else "list": [_said(item, parts) for item in value]}
    if is_dataclass(value) and not isinstance(value, type):
        own = [_said(getattr(value, part.name), parts) for part in fields(value)]
        return {"object": type(value).__name__, "fields": own}
    raise TypeError(f"a {type(value).__name__} cannot be bundled")


def _array(value: npt.NDArray[Any], parts: list[bytes]) -> list[Any]:
    """Write an array; one that is zero throughout takes no room."""
    kind = value.dtype.newbyteorder("<").str
    if value.dtype.hasobject:
        raise TypeError("an array of objects cannot be bundled")
    if not value.any():
        return [kind, list(value.shape)]
    data = np.ascontiguousarray(value).astype(kind, copy=False).tobytes()
    parts.append(data + bytes(-len(data) % ALIGNED))
    return [kind, list(value.shape), len(data)]


class _Arrays:
    """Give the arrays of a bundle, one after the other."""

    def __init__(self, body: bytes) -> None:
        self.body, self.position = body, 0

    def next(self, kind: str, shape: Sequence[int], size: int = 0) -> npt.NDArray[Any]:
        dtype = np.dtype(kind)
        if dtype.hasobject:
            raise ValueError("an array of objects")
        if not size:
            return np.zeros(shape, dtype=dtype)
        found = np.frombuffer(self.body, dtype=dtype, count=size // dtype.itemsize, offset=self.position)
        self.position += size + -size % ALIGNED
        return found.reshape(shape).astype(dtype.newbyteorder("="))


def _value(said: Any, arrays: _Arrays, classes: Mapping[str, type]) -> Any:
    if not isinstance(said, dict):
        return said
    if "float" in said:
        return float.fromhex(said["float"])
    if "bytes" in said:
        return arrays.next(*said["bytes"]).tobytes()
    if "array" in said:
        return arrays.next(*said["array"])
    if "map" in said:
        return {_value(key, arrays, classes): _value(item, arrays, classes) for key, item in said["map"]}
    if "object" in said:
        return classes[said["object"]](*(_value(part, arrays, classes) for part in said["fields"]))
    (kind, items), *_ = said.items()
    found = [_value(item, arrays, classes) for item in items]
    return {"list": list, "tuple": tuple}[kind](found)
