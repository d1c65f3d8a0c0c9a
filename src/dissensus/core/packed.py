"""Files that say how much they hold: npy, npz and Parquet; what they claim is checked before it is unpacked."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
import zlib
from pathlib import Path as FilePath
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

from dissensus.core.errors import FormatError
from dissensus.core.limits import Limits

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

DAMAGE = (ValueError, TypeError, EOFError, OSError, SyntaxError, RuntimeError, KeyError, zipfile.BadZipFile, zlib.error)
EMPTY_ROWS = 10**7
"""An array without numbers may still claim rows; so many are believed."""

AGAIN = "write or download it again"


# Arrays -------------------------------------------------------------------------------------------------


def arrays_in(data: bytes, place: FilePath, limits: Limits) -> Any:
    """Return an npy array, or the arrays of an npz file by name; nothing pickled is ever loaded."""
    try:
        return _members(data, place, limits) if data.startswith(b"PK") else _array(data, str(place), limits)
    except FormatError:
        raise
    except (*DAMAGE, TokenError) as error:
        raise FormatError(
            "the array file cannot be read",
            expected="numbers or text saved with numpy.save or numpy.savez, without pickled objects",
            got=str(error).partition("\n")[0],
            where=str(place),
        ) from error


def _members(data: bytes, place: FilePath, limits: Limits) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        limits.check("memory", sum(member.file_size for member in members), where=str(place))
        arrays: dict[str, NDArray[Any]] = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"{name!r} is compressed as numpy never does")
            if name in arrays:
                raise ValueError(f"{name!r} stands in it twice")
            arrays[name] = _array(archive.read(member), f"{place}, array {name!r}", limits)
    return arrays


def _array(data: bytes, where: str, limits: Limits) -> NDArray[Any]:
    """Read an array whose header claims what there is, no more and no less."""
    import numpy as np

    file = io.BytesIO(data)
    shape, columns_first, dtype = _claim(file)
    there, claimed = len(data) - file.tell(), math.prod(shape) * dtype.itemsize
    limits.check("memory", claimed if claimed <= there else 0, where=where)
    rows = math.prod(size for size in shape if size) if claimed == 0 else 0
    if claimed != there or rows > EMPTY_ROWS:
        raise FormatError(
            "the array file is cut off" if claimed > there else "the array file holds more than its array",
            expected=f"{claimed} bytes for shape {_shown(shape)} of {dtype}",
            got=f"{there} bytes",
            where=where,
            advice=AGAIN if claimed >= there else "save one array per file, or several with numpy.savez",
        )
    order: Any = "F" if columns_first else "C"
    return np.ndarray(shape, dtype, data, offset=file.tell(), order=order).copy(order)


def _claim(file: io.BytesIO) -> tuple[tuple[int, ...], bool, Any]:
    """Read shape, order and type from the header of an array."""
    import numpy as np

    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version} of the npy format")
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # numbers written by Python 2 take longer to read
        shape, columns_first, dtype = header(file)
    if dtype.hasobject:
        raise ValueError("objects, which only pickle could load")
    if any(size < 0 for size in shape):
        raise ValueError(f"a negative size in the shape {_shown(shape)}")
    return shape, columns_first, dtype


def _shown(shape: tuple[int, ...]) -> str:
    return f"{shape}" if len(shape) < 8 else f"({', '.join(map(str, shape[:8]))}, ...)"


# Parquet ------------------------------------------------------------------------------------------------


def parquet_table(data: bytes, place: FilePath, limits: Limits) -> pl.DataFrame:
    """Read a Parquet table if what it claims to hold is within the limits."""
    import polars as pl

    try:
        schema = pl.read_parquet_schema(io.BytesIO(data))
        limits.check("columns", len(schema), where=str(place))
        rows = pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item()
        limits.check("memory", rows * sum(map(_width, schema.values())), where=str(place), least=True)
        return pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(
            "the Parquet file is damaged or cut off", got=str(error).partition("\n")[0], where=str(place), advice=AGAIN
        ) from error


def _width(dtype: pl.DataType) -> int:
    """Return the bytes that a cell takes at least."""
    import polars as pl

    if dtype == pl.String or dtype == pl.Binary:
        return 16
    return 8 if dtype.is_numeric() or dtype.is_temporal() or dtype.is_nested() else 1
