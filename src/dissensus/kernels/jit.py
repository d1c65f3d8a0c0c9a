"""How every kernel is compiled: one decorator, so that all of them obey the same rules."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from numba.core.dispatcher import Dispatcher

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
KERNEL_RULES: dict[str, Any] = RULES
INNER_RULES: dict[str, Any] = {**RULES, "no_cpython_wrapper": True}

if (0, 61) <= numba.version_info.short <= (0, 68):  # the versions with which it was tried
    from dissensus.kernels.passes import InnerCompiler, KernelCompiler

    KERNEL_RULES = {**KERNEL_RULES, "pipeline_class": KernelCompiler}
    INNER_RULES = {**INNER_RULES, "pipeline_class": InnerCompiler}

SOURCES = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).digest()
"""What all kernels were compiled from: any of them may be part of any other."""


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a kernel: it releases the GIL, is cached on disk and follows IEEE arithmetic.

    Arrays must be C-contiguous and of the types int64, uint64 or float64, so that each kernel is compiled
    once. Division by zero gives infinity or nan, as in NumPy; nothing is reordered for speed, so a kernel
    gives the same bits wherever it is called from.

    A kernel makes no arrays: it fills those that it is given. So there are no references to count, which takes
    time to compile and to run. The elements of tuples are taken by unpacking them, ``m, n = array.shape``.
    """
    kernel = numba.njit(**KERNEL_RULES)(function)
    if isinstance(kernel, Dispatcher):  # which it is not when NUMBA_DISABLE_JIT is set
        keep_on_disk(kernel)
    return cast(Callable[Parameters, Result], kernel)


def keep_on_disk(kernel: Any) -> None:
    """Let Numba cache a kernel until a source of any kernel changes; by itself it looks at the kernel's own file only.

    Where nothing can be written, kernels are compiled in every process anew.
    """
    try:
        kernel.enable_caching()
    except RuntimeError:  # Numba tried the folder of the sources, NUMBA_CACHE_DIR and the user's own
        return
    file = kernel._cache._cache_file
    file._source_stamp = (file._source_stamp, SOURCES)


def inner(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function that only kernels call: it becomes part of each, and is not cached by itself."""
    return cast(Callable[Parameters, Result], numba.njit(**INNER_RULES)(function))


def inlined(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a small function and copy it into its callers, so that numbers stay in registers."""
    return cast(Callable[Parameters, Result], numba.njit(forceinline=True, **INNER_RULES)(function))


def plain(array: npt.NDArray[Item]) -> npt.NDArray[Item]:
    """Return a contiguous, writable array: others would make a kernel compile once more.

    A read-only array is copied, which costs little beside any kernel.
    """
    return np.require(array, requirements=["C", "W"])
