"""What dataclasses that hold arrays have in common: how they are compared, hashed and pickled."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from dissensus.core.checks import equal_fields


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
