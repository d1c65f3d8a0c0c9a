"""Values as bytes: numbers, text, arrays, lists, mappings and objects of known classes; nothing else, and no code.

A bundle is an npz file: JSON says what the value is made of, and the arrays stand beside it. The same value gives the
same bytes. Objects come back only as the classes that the reader names.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.core.errors import FormatError

DAMAGE = (LookupError, TypeError, ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error)


def bundled(value: object) -> bytes:
    """Write a value.

    Examples
    --------
    >>> restored(bundled({"a": np.arange(3), "b": (1.5, None, "x", b"y")}), [])
    {'a': array([0, 1, 2]), 'b': (1.5, None, 'x', b'y')}
    """
    arrays: list[npt.NDArray[Any]] = []
    said = json.dumps(_said(value, arrays), separators=(",", ":")).encode("ascii")
    written = io.BytesIO()
    np.savez_compressed(written, *arrays, value=np.frombuffer(said, dtype=np.uint8))
    return written.getvalue()


def restored(data: bytes, classes: Sequence[type]) -> Any:
    """Read a value; its objects are of these classes.

    Raises
    ------
    FormatError
        If these are not the bytes of a bundle, or not all of them.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return _value(json.loads(arrays["value"].tobytes()), arrays, {one.__name__: one for one in classes})
    except DAMAGE as error:
        raise FormatError("a bundle is damaged", got=repr(error)) from error


def _said(value: Any, arrays: list[npt.NDArray[Any]]) -> Any:
    """Say what a value is made of; arrays are put aside."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        arrays.append(np.frombuffer(value, dtype=np.uint8))
        return {"bytes": len(arrays) - 1}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, Mapping):
        return {"map": [[_said(key, arrays), _said(item, arrays)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return {"tuple" if isinstance(value, tuple) else "list": [_said(item, arrays) for item in value]}
    if is_dataclass(value) and not isinstance(value, type):
        own = [_said(getattr(value, part.name), arrays) for part in fields(value)]
        return {"object": type(value).__name__, "fields": own}
    raise TypeError(f"a {type(value).__name__} cannot be bundled")


def _value(said: Any, arrays: Mapping[str, npt.NDArray[Any]], classes: Mapping[str, type]) -> Any:
    if not isinstance(said, dict):
        return said
    if "object" in said:
        return classes[said["object"]](*(_value(part, arrays, classes) for part in said["fields"]))
    ((kind, inner),) = said.items()
    if kind in ("bytes", "array"):
        found = arrays[f"arr_{inner}"]
        return found.tobytes() if kind == "bytes" else found
    if kind == "map":
        return {_value(key, arrays, classes): _value(item, arrays, classes) for key, item in inner}
    return {"list": list, "tuple": tuple}[kind](_value(item, arrays, classes) for item in inner)
