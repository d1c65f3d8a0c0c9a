"""How every kernel is compiled, and where it is kept: one decorator, so that all of them obey the same rules.

Numba keeps what it compiles in a folder and notices there when the file of a kernel or the processor changes, but not
when a function that the kernel includes does. So the folder is named by a hash of the sources of all kernels and of the
versions that machine code depends on: when any of them changes, another folder is used. Numba reads its files with
pickle, which runs what it reads; therefore the folder belongs to the user, and nobody else may write to it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, update_wrapper
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, cast

import llvmlite
import numba
import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

KERNELS = Path(__file__).parent

# No kernel needs the interpreter; division by zero gives infinity or nan; nothing is reordered for speed.
RULES: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": False}

# Of Numba, which mypy does not know.
settings: Any = numba.config

_declaring = threading.Lock()

# Where kernels are kept -------------------------------------------------------------------------------------


def folder_name() -> str:
    """Name the folder by the package, of whose folders only one is of use, and by what machine code depends on."""
    versions = (numba.__version__, llvmlite.__version__, np.__version__, platform.python_version())
    sources = (path.read_bytes() for path in sorted(KERNELS.glob("*.py")))
    code = hashlib.sha256(b"\0".join([repr(versions).encode(), *sources])).hexdigest()
    return f"dissensus-{hashlib.sha256(os.fsencode(KERNELS)).hexdigest()[:12]}-{code[:20]}"


@cache
def folder() -> Path | None:
    """Return the folder of all kernels, ready to be used, or None when there is nowhere to keep them."""
    name = folder_name()
    return next((place / name for place in places() if is_ready(place / name)), None)


def places() -> Iterator[Path]:
    """List where kernels may be kept: where the user told Numba, in the package, or in the user's cache."""
    if settings.CACHE_DIR:
        yield Path(settings.CACHE_DIR).absolute()
    yield KERNELS / "__pycache__"
    user = Path(os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", ""))
    with suppress(RuntimeError):  # a user without a home
        yield (user if user.is_absolute() else Path.home() / ".cache") / "dissensus"


def is_ready(candidate: Path) -> bool:
    """Tell whether a folder can be written, by nobody but the user; make it if need be."""
    try:
        candidate.parent.mkdir(parents=True, exist_ok=True)
        candidate.mkdir(mode=0o700, exist_ok=True)
        status = candidate.lstat()
        is_own = os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)
        tempfile.TemporaryFile(dir=candidate).close()
    except OSError:  # then the next place is tried
        return False
    return is_own and stat.S_ISDIR(status.st_mode)


def remove_older(current: Path) -> None:
    """Remove the folders of this package that another one has replaced."""
    package, _, _ = current.name.rpartition("-")
    for older in set(current.parent.glob(f"{package}-*")) - {current}:
        shutil.rmtree(older, ignore_errors=True)  # another process may be removing it too


# Kernels ----------------------------------------------------------------------------------------------------


class Kernel(Generic[Parameters, Result]):
    """A function that Numba compiles when it is first called, unless it finds it on disk.

    Attributes
    ----------
    dispatcher
        What Numba made of the function.
    """

    def __init__(self, function: Callable[Parameters, Result]) -> None:
        update_wrapper(self, function)
        self.function = function
        self.dispatcher = kept_in(folder(), function)

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Call the compiled function with plain arguments.

        Kernels raise nothing. So what is raised comes from Numba, before the call: files are damaged, the disk is full,
        the folder is gone. Then all that is kept is removed, and the kernel compiled without keeping it.
        """
        ready = [plain(one) for one in args]
        try:
            return cast(Result, self.dispatcher(*ready, **kwargs))
        except Exception:  # noqa: BLE001 - reading a damaged file may raise anything
            where = folder()
            if where is not None:
                shutil.rmtree(where, ignore_errors=True)
                is_ready(where)
            self.dispatcher = kept_in(None, self.function)
            return cast(Result, self.dispatcher(*ready, **kwargs))


def kept_in(where: Path | None, function: Callable[..., object]) -> Any:
    """Declare a kernel that is kept in a folder, if there is any; what Numba was told about other code stays."""
    if where is not None:
        with _declaring:
            before = settings.CACHE_DIR
            try:
                settings.CACHE_DIR = str(where)
                return numba.njit(cache=True, **RULES)(function)
            except RuntimeError:  # what Numba raises when a folder cannot be used
                pass
            finally:
                settings.CACHE_DIR = before
    return numba.njit(**RULES)(function)


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a kernel: it releases the GIL, is kept on disk and follows IEEE arithmetic.

    Arrays are of the types int64, uint64 or float64, and are made :func:`plain`, so that each kernel is compiled once.
    Division by zero gives infinity or nan, as in NumPy; nothing is reordered for speed, so a kernel gives the same bits
    wherever it is called from.

    A kernel makes no arrays in its loops. A call within a kernel counts references to every array that it passes on, so
    inner loops pass on few.
    """
    return function if settings.DISABLE_JIT else Kernel(function)


def inner(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let kernels call a function; it becomes part of each, and is not kept by itself.

    Compiling one takes a twentieth of a second at least, and more for every array that it is given. Numba compiles it
    once for kernels, once for other such functions and once for what is :func:`inlined`, so large ones should have
    callers of one kind.
    """
    return register_jitable(**RULES)(function)


def inlined(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let kernels call a small function whose machine code is copied there, so that numbers stay in registers."""
    return register_jitable(forceinline=True, **RULES)(function)


@inner
def fill(row: npt.NDArray[np.float64], value: float) -> None:
    """Set all numbers of a row within a kernel; a loop is compiled much faster than an assignment to a slice."""
    for k in range(len(row)):
        row[k] = value


def plain(value: Any) -> Any:
    """Make an array, or those of a named tuple, contiguous and writable: others would compile a kernel once more.

    A read-only array is copied, which costs little beside any kernel. What else there is stays as it is, as do the
    arrays of an unnamed tuple, which must always be of one kind.
    """
    if isinstance(value, np.ndarray):
        return value if value.flags.carray else np.require(value, requirements=["C", "W"])
    return type(value)(*map(plain, value)) if hasattr(value, "_fields") else value
