"""How much a file may ask for, so that a small one cannot take all the memory there is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from dissensus.core.errors import DissensusError, FormatError, suggestion

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([KMGT]?)B?", re.IGNORECASE)


@dataclass(frozen=True)
class Limits:
    """What a file may hold before it is refused, far beyond what real files hold.

    Attributes
    ----------
    columns
        Columns of a table.
    memory
        Bytes that arrays and Parquet tables take when they are unpacked.

    Examples
    --------
    >>> Limits.given({"memory": "32GB"})
    Limits(columns=50000, memory=32000000000)
    """

    columns: int = 50_000
    memory: int = 16 * 10**9

    @staticmethod
    def given(limits: Mapping[str, int | str] | None) -> Limits:
        """Take the limits that a user raised or lowered, as numbers or as text such as ``"32GB"``."""
        known = [part.name for part in fields(Limits)]
        for name in limits or {}:
            if name not in known:
                expected = f"one of {', '.join(known)}"
                raise DissensusError(f"there is no limit {name!r}", expected=expected, advice=suggestion(name, known))
        return Limits(**{name: _number(name, value) for name, value in (limits or {}).items()})

    def check(self, name: str, needed: int, *, where: str, least: bool = False) -> None:
        """Refuse a file that needs more than a limit allows; ``least`` says that it may need even more."""
        limit = getattr(self, name)
        if needed > limit:
            what = {"columns": "the table has too many columns", "memory": "the file unpacks to too much"}[name]
            show = _size if name == "memory" else _count
            higher = f"--limit {name}={needed} (limits={{{name!r}: {needed}}})"
            raise FormatError(
                what,
                expected=f"at most {show(limit)}",
                got=("at least " if least else "") + show(needed),
                where=where,
                advice=f"if the file is right, raise the limit: {higher}",
            )


def _number(name: str, value: object) -> int:
    match = SIZE.fullmatch(str(value).strip()) if isinstance(value, int | str) else None
    number = int(float(match[1]) * UNITS[match[2].upper()]) if match else 0
    if number < 1 or isinstance(value, bool):
        raise DissensusError(
            f"the limit of {name} is not understood",
            expected="a whole number from 1, such as 200000, or a size such as 32GB",
            got=repr(value),
        )
    return number


def _size(number: int) -> str:
    """Write bytes as people do.

    >>> _size(16 * 10**9), _size(12)
    ('16 GB', '12 bytes')
    """
    for unit in ("T", "G", "M", "K"):
        if number >= UNITS[unit]:
            return f"{number / UNITS[unit]:.4g} {unit}B"
    return f"{number} bytes"


def _count(number: int) -> str:
    return f"{number:,} columns".replace(",", " ")
