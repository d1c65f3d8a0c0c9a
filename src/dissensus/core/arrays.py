"""Arrays: the aliases of their types, dataclasses that hold them, and which of their numbers are near or certain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import attrgetter
from os import PathLike
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
SmallFloatArray: TypeAlias = npt.NDArray[np.float16]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
KeyArray: TypeAlias = npt.NDArray[np.uint64]

# A place on disk.
Path: TypeAlias = "str | PathLike[str]"

# Sums that differ by no more than this are equal: they are rounded.
NEAR = 1e-12

# Cases below this certainty count as uncertain.
CERTAIN = 0.99

# Monte Carlo errors of certainties above this deserve a warning.
ROUGH = 0.03

Kind = TypeVar("Kind")


def is_uncertain(certainties: Any, threshold: float = CERTAIN) -> Any:
    """Tell which certainties, in an array or a column, are below the threshold.

    >>> is_uncertain(np.array([0.5, 0.99, 1.0]))
    array([ True, False, False])
    """
    return certainties < threshold - NEAR


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
    """Read an attribute of a part on the whole, given its path and what it is, or what a function makes of it.

    Examples
    --------
    >>> class Line:
    ...     text = "some words"
    ...     begins = Forwarded[Any]("text.startswith", "Whether the text begins with something.")
    ...     length = Forwarded[int]("text", "Number of letters.", len)
    >>> Line().begins("some"), Line().length
    (True, 10)
    """

    def __init__(self, path: str, doc: str, made: Callable[[Any], Kind] | None = None) -> None:
        self.read, self.made, self.__doc__ = attrgetter(path), made, doc

    def __get__(self, whole: object, kind: type) -> Kind:
        found: Any = self if whole is None else self.read(whole)
        return found if whole is None or self.made is None else self.made(found)
