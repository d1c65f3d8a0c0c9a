"""How every kernel is compiled: one decorator, so that all of them obey the same rules."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import update_wrapper
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

from dissensus.kernels import cache

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

Item = TypeVar("Item", bound=np.generic)

RULES: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": False}
"""No kernel needs the interpreter; division by zero gives infinity or nan; nothing is reordered for speed."""


class Kernel(Generic[Parameters, Result]):
    """A function that Numba compiles when it is first called, unless it finds it on disk.

    Attributes
    ----------
    name
        Module and function, which is also the name of its folder.
    dispatcher
        What Numba made of the function; None before the first call.
    """

    def __init__(self, function: Callable[Parameters, Result]) -> None:
        update_wrapper(self, function)
        self.function = function
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self.dispatcher: Any = None
        self._folder: Path | None = None
        self._n_sealed = 0
        self._lock = threading.Lock()

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Call the compiled function."""
        dispatcher = self._declared() if self.dispatcher is None else self.dispatcher
        try:
            result = dispatcher(*args, **kwargs)
        except OSError:  # kernels open no files, so it was Numba, before the call: the disk is full, or the folder gone
            self._folder, self.dispatcher = None, self._uncached()
            return cast(Result, self.dispatcher(*args, **kwargs))
        if self._folder is not None and len(dispatcher.overloads) != self._n_sealed:
            self._seal()
        return cast(Result, result)

    def _declared(self) -> Any:
        """Declare the function to Numba, once the files of its folder are known to be intact."""
        with self._lock:
            if self.dispatcher is None:
                whole = cache.folder()
                self._folder = whole / self.name if whole else None
                self.dispatcher = self._cached() or self._uncached()
        return self.dispatcher

    def _cached(self) -> Any:
        """Let Numba keep the function in its folder; return None where this is not possible."""
        if self._folder is None or not (cache.is_intact(self._folder) or cache.discard(self._folder)):
            return None
        try:
            with cache.kept_in(self._folder):
                return numba.njit(cache=True, **RULES)(self.function)
        except RuntimeError:  # what Numba raises when a folder cannot be used
            return None

    def _uncached(self) -> Any:
        self._folder = None
        return numba.njit(**RULES)(self.function)

    def _seal(self) -> None:
        """Seal what is on disk, if Numba compiled anything; it has written all before it called the function."""
        with self._lock:
            self._n_sealed = len(self.dispatcher.overloads)
            if self._folder is not None and not cache.is_intact(self._folder):
                with suppress(OSError):  # without a seal the next process compiles anew, which is no reason to fail
                    cache.seal(self._folder)


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a kernel: it releases the GIL, is kept on disk and follows IEEE arithmetic.

    Arrays must be C-contiguous and of the types int64, uint64 or float64, so that each kernel is compiled
    once. Division by zero gives infinity or nan, as in NumPy; nothing is reordered for speed, so a kernel
    gives the same bits wherever it is called from.

    A kernel makes no arrays: it fills those that it is given. A call within a kernel counts references to every array
    that it passes on, so inner loops pass on few.
    """
    return function if cache.numba_setting("DISABLE_JIT") else Kernel(function)


def inner(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function that only kernels call: it becomes part of each, and is not kept by itself."""
    return cast(Callable[Parameters, Result], numba.njit(**RULES)(function))


def inlined(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a small function and copy it into its callers, so that numbers stay in registers."""
    return cast(Callable[Parameters, Result], numba.njit(forceinline=True, **RULES)(function))


@inner
def fill(row: npt.NDArray[np.float64], value: float) -> None:
    """Set all numbers of a row within a kernel; a loop is compiled much faster than an assignment to a slice."""
    for k in range(len(row)):
        row[k] = value


def plain(array: npt.NDArray[Item]) -> npt.NDArray[Item]:
    """Return a contiguous, writable array: others would make a kernel compile once more.

    A read-only array is copied, which costs little beside any kernel.
    """
    return np.require(array, requirements=["C", "W"])
