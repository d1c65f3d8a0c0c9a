"""A lock: one process at a time writes into a directory.

The system holds the lock and gives it back when the process ends, however it ends. Where it offers none, there is none.
"""

from __future__ import annotations

import os
import platform
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath

from dissensus.core.errors import FormatError

try:
    import fcntl
except ImportError:  # there is none on Windows
    fcntl = None  # type: ignore[assignment]  # asked before it is used


class Lock:
    """A lock that is held from now on, until it is released or the process ends.

    Parameters
    ----------
    path
        A file, which is made if need be. It says who holds the lock.

    Raises
    ------
    FormatError
        If another process holds it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     lock = Lock(FilePath(folder, ".lock"))
    ...     try:
    ...         Lock(FilePath(folder, ".lock"))
    ...     except FormatError as error:
    ...         print(error.problem)
    ...     lock.release()
    another process writes into this directory
    """

    def __init__(self, path: FilePath) -> None:
        try:
            self._number: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise FormatError("the run cannot be locked", got=str(error.strerror), where=str(path)) from error
        _held.add(self)
        if not (_is_locked(self._number) and _is_still(self._number, path)):
            holder = os.pread(self._number, 200, 0).decode(errors="replace").strip()
            self.release()
            raise FormatError(
                "another process writes into this directory",
                got=holder or "a process that is not known",
                where=str(path.parent),
                advice="wait until it has ended, or end it",
            )
        try:
            os.ftruncate(self._number, 0)
            os.pwrite(self._number, f"process {os.getpid()} on {platform.node()}\n".encode(), 0)
        except OSError:  # the disk is full
            self.release()
            raise

    def release(self) -> None:
        """Give the lock back."""
        number, self._number = self._number, None
        if number is not None:
            os.close(number)

    @staticmethod
    @contextmanager
    def of_existing(path: FilePath) -> Iterator[None]:
        """Hold a lock if there is a file for it."""
        if not path.is_file():
            yield
            return
        lock = Lock(path)
        try:
            yield
        finally:
            lock.release()


_held: weakref.WeakSet[Lock] = weakref.WeakSet()


def _let_go() -> None:
    """Close the files of locks in a process that was forked: it would hold them after the end of the one it left."""
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


def _is_locked(number: int) -> bool:
    """Lock an open file; tell whether that was possible, or whether the system offers no locks here."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network file systems have no locks
        return True
    return True


def _is_still(number: int, path: FilePath) -> bool:
    """Tell whether an open file still has its name: the whole directory may have been replaced meanwhile."""
    try:
        return os.path.samestat(os.fstat(number), path.stat())
    except FileNotFoundError:
        return False
