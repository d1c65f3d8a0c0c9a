"""How every kernel is compiled: one decorator, so that all of them obey the same rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Item = TypeVar("Item", bound=np.generic)


RULES: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": False,
    "no_cfunc_wrapper": True,
    "no_rewrites": True,
    "_nrt": False,
}
KERNEL_RULES: dict[str, Any] = {**RULES, "cache": True}
INNER_RULES: dict[str, Any] = {**RULES, "no_cpython_wrapper": True}


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a kernel: it releases the GIL, is cached on disk and follows IEEE arithmetic.

    Arrays must be C-contiguous and of the types int64, uint64 or float64, so that each kernel is compiled
    once. Division by zero gives infinity or nan, as in NumPy; nothing is reordered for speed, so a kernel
    gives the same bits wherever it is called from.

    A kernel makes no arrays: it fills those that it is given. So there are no references to count, which takes
    time to compile and to run. The elements of tuples are taken by unpacking them, ``m, n = array.shape``.
    """
    return cast(Callable[Parameters, Result], numba.njit(**KERNEL_RULES)(function))


def inner(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function that only kernels call: it becomes part of each, and is not cached by itself."""
    return cast(Callable[Parameters, Result], numba.njit(**INNER_RULES)(function))


def inlined(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a small function and copy it into its callers, so that numbers stay in registers."""
    return cast(Callable[Parameters, Result], numba.njit(forceinline=True, **INNER_RULES)(function))


def is_cached() -> bool:
    """Tell whether kernels were compiled since the last change: an index file is newer than all sources."""
    folder = Path(__file__).parent
    newest = max(source.stat().st_mtime for source in folder.glob("*.py"))
    return any(index.stat().st_mtime >= newest for index in folder.glob("__pycache__/*.nbi"))


def plain(array: npt.NDArray[Item]) -> npt.NDArray[Item]:
    """Return a contiguous, writable array: others would make a kernel compile once more.

    A read-only array is copied, which costs little beside any kernel.
    """
    return np.require(array, requirements=["C", "W"])
