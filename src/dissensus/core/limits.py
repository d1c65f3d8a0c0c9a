"""How much a file may ask for, so that a small one cannot take all the memory there is.

Files that say how much they hold, npy, npz and Parquet, are checked against it before they are unpacked.
"""

from __future__ import annotations

import io
import math
import os
import re
import warnings
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path as FilePath
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

from dissensus.core.errors import DissensusError, FormatError, suggestion

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([KMGT]?)B?", re.IGNORECASE)

DAMAGE = (ValueError, TypeError, EOFError, OSError, SyntaxError, RuntimeError, KeyError, zipfile.BadZipFile, zlib.error)

# Archives that unpack to more bytes are looked at before.
LARGE = 10**8

# An array without numbers may still claim rows; so many are believed.
EMPTY_ROWS = 10**7

AGAIN = "write or download it again"


@cache
def memory_there() -> int:
    """Return the bytes of memory that the machine has, or that its container is allowed."""
    found = [64 * 10**9]
    with suppress(AttributeError, ValueError, OSError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for place in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(ValueError, OSError):
            found.append(int(FilePath(place).read_text(encoding="ascii")))
    return min(found)


@dataclass(frozen=True)
class Limits:
    """What a file may hold before it is refused, far beyond what real files hold.

    Attributes
    ----------
    columns
        Columns of a table.
    memory
        Bytes that arrays and Parquet tables take when they are unpacked: by default a quarter of what the machine, or
        the container, has, and at most 16 GB.

    Examples
    --------
    >>> Limits.given({"memory": "32GB"})
    Limits(columns=50000, memory=32000000000)
    """

    columns: int = 50_000
    memory: int = field(default_factory=lambda: min(16 * 10**9, memory_there() // 4))

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
            show = _size if name == "memory" else lambda number: f"{number:,} columns".replace(",", " ")
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


# Arrays -------------------------------------------------------------------------------------------------


def arrays_in(data: bytes, place: FilePath, limits: Limits) -> Any:
    """Return an npy array, or the arrays of an npz file by name; nothing pickled is ever loaded."""
    try:
        if not data.startswith(b"PK"):
            return _array(data, str(place), limits)
        arrays: dict[str, NDArray[Any]] = {}
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            limits.check("memory", size, where=str(place))
            if size > LARGE:
                _check_names(archive, members, str(place))
            for member in members:
                name = member.filename.removesuffix(".npy")
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError(f"{name!r} is compressed as numpy never does")
                if name in arrays:
                    raise ValueError(f"{name!r} stands in it twice")
                arrays[name] = _array(archive.read(member), f"{place}, array {name!r}", limits)
        return arrays
    except FormatError:
        raise
    except (*DAMAGE, TokenError) as error:
        raise FormatError(
            "the array file cannot be read",
            expected="numbers or text saved with numpy.save or numpy.savez, without pickled objects",
            got=str(error).partition("\n")[0],
            where=str(place),
        ) from error


def _check_names(archive: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo], where: str) -> None:
    """Refuse names that are not as many as any array has rows or columns, before the arrays are unpacked."""
    claimed = {}
    for member in members:
        with archive.open(member) as file:
            claimed[member.filename.removesuffix(".npy")] = _header(file)
    sizes = {size for shape, _, _ in claimed.values() if len(shape) > 1 for size in shape}
    for name, (shape, _, dtype) in claimed.items():
        if dtype.kind in "US" and len(shape) == 1 and shape[0] not in sizes:
            raise FormatError(
                f"the names do not fit: there are {shape[0]} in the array {name!r}",
                expected="as many names as an array has rows or columns",
                got=", ".join(f"{other!r} of shape {one[0]}" for other, one in claimed.items() if len(one[0]) > 1),
                where=where,
            )


def _header(file: Any) -> tuple[tuple[int, ...], bool, Any]:
    """Return the shape that an array claims, whether columns come first, and the type of its numbers."""
    import numpy as np

    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version} of the npy format")
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # numbers written by Python 2 take longer to read
        return header(file)


def _array(data: bytes, where: str, limits: Limits) -> NDArray[Any]:
    """Read an array whose header claims what there is, no more and no less."""
    import numpy as np

    file = io.BytesIO(data)
    shape, columns_first, dtype = _header(file)
    shown = f"{shape}" if len(shape) < 8 else f"({', '.join(map(str, shape[:8]))}, ...)"
    if dtype.hasobject:
        raise ValueError("objects, which only pickle could load")
    if any(size < 0 for size in shape):
        raise ValueError(f"a negative size in the shape {shown}")
    there, claimed = len(data) - file.tell(), math.prod(shape) * dtype.itemsize
    limits.check("memory", claimed if claimed <= there else 0, where=where)
    rows = math.prod(size for size in shape if size) if claimed == 0 else 0
    if claimed != there or rows > EMPTY_ROWS:
        raise FormatError(
            "the array file is cut off" if claimed > there else "the array file holds more than its array",
            expected=f"{claimed} bytes for shape {shown} of {dtype}",
            got=f"{there} bytes",
            where=where,
            advice=AGAIN if claimed >= there else "save one array per file, or several with numpy.savez",
        )
    order: Any = "F" if columns_first else "C"
    return np.ndarray(shape, dtype, data, offset=file.tell(), order=order).copy(order)


# Parquet ------------------------------------------------------------------------------------------------


def parquet_table(data: bytes, place: FilePath, limits: Limits) -> pl.DataFrame:
    """Read a Parquet table if what it claims to hold is within the limits."""
    import polars as pl

    def width(dtype: pl.DataType) -> int:
        """Return the bytes that a cell takes at least."""
        if dtype in (pl.String, pl.Binary):
            return 16
        return 8 if dtype.is_numeric() or dtype.is_temporal() or dtype.is_nested() else 1

    try:
        schema = pl.read_parquet_schema(io.BytesIO(data))
        limits.check("columns", len(schema), where=str(place))
        rows = pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item()
        limits.check("memory", rows * sum(map(width, schema.values())), where=str(place), least=True)
        return pl.read_parquet(io.BytesIO(data))
    except FormatError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise FormatError(
            "the Parquet file is damaged or cut off", got=str(error).partition("\n")[0], where=str(place), advice=AGAIN
        ) from error
