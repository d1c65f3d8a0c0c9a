"""What dataclasses that hold arrays have in common: how they are compared, hashed and pickled, and read in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any, Generic, TypeVar

import numpy as np

Kind = TypeVar("Kind")


class Value:
    """Compare a dataclass by its fields, arrays by content; pickle these fields alone, and refuse to hash it.

    What a ``cached_property`` has found is neither compared nor pickled, and reading a pickle checks the fields anew.
    """

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and equal_fields(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        parts: Any = self
        return type(self), tuple(getattr(self, part.name) for part in fields(parts))


def equal_fields(one: Any, other: Any) -> bool:
    """Compare two dataclasses of one type field by field, arrays by content; what is undefined in both is equal."""
    pairs = ((getattr(one, part.name), getattr(other, part.name)) for part in fields(one))
    return all(_equal(a, b) for a, b in pairs)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equal(value, other[key]) for key, value in one.items())
    return bool(one == other)


class Forwarded(Generic[Kind]):
    """Read an attribute of a part on the whole, given its path and what it is.

    Examples
    --------
    >>> class Line:
    ...     text = "some words"
    ...     begins = Forwarded[Any]("text.startswith", "Whether the text begins with something.")
    >>> Line().begins("some")
    True
    """

    def __init__(self, path: str, doc: str) -> None:
        self.read, self.__doc__ = attrgetter(path), doc

    def __get__(self, whole: object, kind: type) -> Kind:
        found: Kind = self if whole is None else self.read(whole)  # type: ignore[assignment]
        return found
