"""Writing: what is written appears whole or not at all, and never in the place of something else.

A target is checked before anything is computed (see :func:`checked_file_target` and
:func:`checked_directory_target`), and written beside, under a name that says which process does so. Leftovers of
processes that were killed are removed by the next one that writes there.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, TypeAlias

from dissensus.core.errors import FormatError
from dissensus.core.interruption import UNDERWAY, WRITTEN, undisturbed

if TYPE_CHECKING:
    import polars as pl

    from dissensus.core.aliases import Path

Foreign: TypeAlias = Callable[[FilePath], str]
"""Says what in a directory must not be lost; nothing if the directory may be replaced."""

NO_REPLACE, EXCHANGE = 1, 2
"""Flags of the system call ``renameat2``."""

HERE = -100
"""In the place of a directory's number: paths are relative to the working directory."""

NOT_OFFERED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
PREFIX = ".dissensus"
LEFTOVER = re.compile(rf"{re.escape(PREFIX)}-(?P<machine>[0-9a-f]{{8}})-(?P<process>[0-9]{{1,9}})-[0-9a-f]{{12}}")
ANOTHER = "choose another one"
ALLOW = "choose another one, or allow it to be replaced (overwrite=True, --overwrite)"


# Targets -------------------------------------------------------------------------------------------------


def checked_file_target(path: Path, *, overwrite: bool = False, inputs: Iterable[Path | None] = ()) -> FilePath:
    """Return where a file will be, links followed, or say why it cannot be written there.

    Raises
    ------
    FormatError
        If the directory is missing or cannot be written into, if the file exists and may not be replaced, or if it is
        one of the inputs, whatever its path is called.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     checked_file_target(FilePath(folder, "soft.csv")).name
    'soft.csv'
    """
    with _told("the file cannot be written", path):
        target = _prepared(path)
        exists = _exists(target)
        if exists and any(_is_part(target, _resolved(place)) for place in inputs if place is not None):
            raise FormatError("the output would replace an input", got=str(path), advice=ANOTHER)
        if exists and not target.is_file():
            raise FormatError("the output file is something else already", got=str(path), advice=ANOTHER)
        if exists and not overwrite:
            raise FormatError("the output file exists already", got=str(path), advice=ALLOW)
        return target


def checked_directory_target(
    path: Path, *, overwrite: bool = False, foreign: Foreign | None = None, inputs: Iterable[Path | None] = ()
) -> FilePath:
    """Return where a directory will be, links followed, or say why it cannot be written there.

    Parameters
    ----------
    path
        The directory.
    overwrite
        Allow an existing one to be replaced, if ``foreign`` finds nothing in it.
    foreign
        Says what must not be lost; without it, an existing directory is never replaced.
    inputs
        Files that stay as they are, as does the working directory: nothing that holds one of them is replaced.
    """
    with _told("the results cannot be written", path):
        target = _prepared(path)
        if not _exists(target):
            return target
        if not target.is_dir():
            raise FormatError("the output directory is a file", got=str(path), advice=ANOTHER)
        _refuse_holding(target, path, inputs)
        if not overwrite or foreign is None:
            advice = ANOTHER if foreign is None else ALLOW
            raise FormatError("the output directory exists already", got=str(path), advice=advice)
        _refuse_foreign(target, path, foreign)
        return target


def foreign_entry(place: FilePath, known: Collection[str]) -> str:
    """Name the first thing in a directory that is not an ordinary file with a known name, if there is one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("run.json", "thesis.tex"):
    ...         FilePath(folder, name).touch()
    ...     foreign_entry(FilePath(folder), ["run.json"])
    'thesis.tex'
    """
    entries = sorted(place.iterdir())
    return next((one.name for one in entries if one.name not in known or one.is_symlink() or not one.is_file()), "")


def _refuse_holding(target: FilePath, path: Path, inputs: Iterable[Path | None]) -> None:
    kept = {
        "the working directory": [FilePath.cwd()],
        "an input": [_resolved(one) for one in inputs if one is not None],
    }
    for what, places in kept.items():
        if any(_is_part(place, target) for place in places):
            raise FormatError(f"the output directory is or holds {what}", got=str(path), advice=ANOTHER)


def _refuse_foreign(target: FilePath, path: Path, foreign: Foreign) -> None:
    _remove_leftovers(target)
    found = foreign(target)
    if found:
        raise FormatError(
            "the output directory holds something else and is not replaced",
            expected="a directory that Dissensus wrote, and nothing else in it",
            got=found,
            where=str(path),
            advice=ANOTHER,
        )
    if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise FormatError("the output directory cannot be replaced", got="permission denied", where=str(path))


def _prepared(path: Path) -> FilePath:
    """Follow links, and make sure that something can be written beside the target."""
    target = _resolved(path)
    if not target.parent.is_dir():
        got, advice = str(FilePath(path).parent), "create it first"
        raise FormatError("the directory to write into does not exist", got=got, advice=advice)
    _remove_leftovers(target.parent)
    with _temporary(target) as tried:
        tried.touch(exist_ok=False)
    return target


def _resolved(path: Path) -> FilePath:
    try:
        return FilePath(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise FormatError("the path leads nowhere", got=str(error), where=repr(str(path))) from error


def _exists(target: FilePath) -> bool:
    try:
        target.lstat()
    except FileNotFoundError:
        return False
    return True


def _is_part(place: FilePath, whole: FilePath) -> bool:
    """Tell whether a place is another one or inside it, also where one place has several names."""
    return any(one == whole or (one.exists() and whole.exists() and one.samefile(whole)) for one in _upwards(place))


def _upwards(place: FilePath) -> tuple[FilePath, ...]:
    return (place, *place.parents)


@contextmanager
def _told(problem: str, path: Path) -> Iterator[None]:
    """Turn what the system says into an error in words."""
    try:
        yield
    except OSError as error:
        # errors of polars have no number, and end with that of the system
        got = (error.strerror or str(error)).partition(" (os error")[0].lower()
        raise FormatError(problem, got=got, where=str(path)) from error


# Temporary places ----------------------------------------------------------------------------------------


@contextmanager
def _temporary(target: FilePath) -> Iterator[FilePath]:
    """Give a name beside the target, and remove in the end whatever has it."""
    place = target.parent / f"{PREFIX}-{_machine()}-{os.getpid()}-{secrets.token_hex(6)}"
    UNDERWAY[str(place)] = partial(_remove, place)
    try:
        yield place
    finally:
        try:
            _remove(place)
        finally:
            del UNDERWAY[str(place)]


def _remove(place: FilePath) -> None:
    """Remove a temporary place; what cannot be removed now is a leftover for the next process."""
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


@cache
def _machine() -> str:
    """Tell machines that share a directory apart: the processes of another one cannot be seen here."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _remove_leftovers(directory: FilePath) -> None:
    """Remove what processes left that were killed while they wrote; old results that were on their way go back."""
    for place in directory.glob(f"{PREFIX}-*"):
        name = LEFTOVER.fullmatch(place.name)
        if name is None or name["machine"] != _machine() or _is_underway(place, int(name["process"])):
            continue
        for old in (place / "old").glob("*"):
            if not _exists(directory / old.name):
                old.replace(directory / old.name)
        _remove(place)


def _is_underway(place: FilePath, process: int) -> bool:
    if process == os.getpid():
        return str(place) in UNDERWAY
    if os.name != "posix":
        return True  # elsewhere there is no signal that only asks
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


# Writing -------------------------------------------------------------------------------------------------


@contextmanager
def written_whole(path: Path, *, overwrite: bool = False) -> Iterator[FilePath]:
    """Give a temporary path to write to; on success it takes the place of ``path`` in one step.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     target = FilePath(folder, "a.txt")
    ...     with written_whole(target) as temporary:
    ...         _ = temporary.write_text("all of it")
    ...     target.read_text()
    'all of it'
    """
    target = checked_file_target(path, overwrite=overwrite)
    with _told("the file cannot be written", path), _temporary(target) as temporary:
        temporary.touch(exist_ok=False)
        yield temporary
        with undisturbed():
            _put_file(temporary, target, path, overwrite=overwrite)
            _note(target, path)


def _put_file(temporary: FilePath, target: FilePath, path: Path, *, overwrite: bool) -> None:
    if overwrite and target.is_file():
        shutil.copymode(target, temporary)
        temporary.replace(target)
    else:
        _put_new(temporary, target, path)


def _put_new(temporary: FilePath, target: FilePath, path: Path) -> None:
    """Rename, unless something has appeared under the name since it was checked."""
    try:
        offered = _renamed(temporary, target, NO_REPLACE)
    except FileExistsError as error:
        raise FormatError("the output has appeared while it was computed", got=str(path), advice=ANOTHER) from error
    if not offered:
        if _exists(target):
            raise FormatError("the output has appeared while it was computed", got=str(path), advice=ANOTHER)
        temporary.replace(target)


def _note(target: FilePath, path: Path) -> None:
    """Remember what was written, unless it is part of something that is still under way."""
    if not any(str(place) in UNDERWAY for place in target.parents):
        WRITTEN.append(str(path))


@contextmanager
def directory_written_whole(
    path: Path, *, overwrite: bool = False, foreign: Foreign | None = None
) -> Iterator[FilePath]:
    """Give a temporary directory to fill; on success it takes the place of ``path``, which stays intact until then.

    The parameters are those of :func:`checked_directory_target`.
    """
    target = checked_directory_target(path, overwrite=overwrite, foreign=foreign)
    with _told("the results cannot be written", path), _temporary(target) as room:
        fresh = room / "new"
        fresh.mkdir(parents=True)
        yield fresh
        with undisturbed():
            if overwrite and _exists(target):
                checked_directory_target(path, overwrite=True, foreign=foreign)
                _replace_directory(fresh, target, room)
            else:
                _put_new(fresh, target, path)
            _note(target, path)


def _replace_directory(fresh: FilePath, target: FilePath, room: FilePath) -> None:
    """Exchange two directories in one step where the system can, otherwise in two."""
    shutil.copymode(target, fresh)
    if _renamed(fresh, target, EXCHANGE):
        return
    old = room / "old" / target.name
    old.parent.mkdir()
    target.replace(old)
    try:
        fresh.replace(target)
    except OSError:
        old.replace(target)
        raise


def _renamed(one: FilePath, other: FilePath, flag: int) -> bool:
    """Rename by the system call that never replaces, or that exchanges; tell whether the system offers it here."""
    call = _system_call()
    if call is None:
        return False
    import ctypes

    if call(HERE, os.fsencode(one), HERE, os.fsencode(other), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in NOT_OFFERED:
        return False
    raise OSError(number, os.strerror(number), str(other))


@cache
def _system_call() -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    import ctypes

    call: Any = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is not None:
        call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return call  # type: ignore[no-any-return]  # a function of the system has no Python type


# Tables --------------------------------------------------------------------------------------------------


def checked_table_target(path: Path, *, overwrite: bool = False, inputs: Iterable[Path | None] = ()) -> None:
    """Refuse a place where no table can be written, see :func:`checked_file_target`, or an unknown ending."""
    table_writer(path)
    checked_file_target(path, overwrite=overwrite, inputs=inputs)


def write_table(table: pl.DataFrame, path: Path, *, overwrite: bool = False) -> None:
    """Write a table whole; the ending of the path chooses the form."""
    write = table_writer(path)
    with written_whole(path, overwrite=overwrite) as temporary:
        write(table, temporary)


def table_writer(path: Path) -> Callable[[pl.DataFrame, FilePath], None]:
    """Return how a table is written to this path, or say which endings are known."""
    ending = FilePath(path).suffix.lower()
    if ending not in TABLE_WRITERS:
        raise FormatError(
            "the ending of the output file is not understood",
            expected=f"one of {', '.join(TABLE_WRITERS)}",
            got=repr(ending),
            where=str(path),
        )
    return TABLE_WRITERS[ending]


def write_parquet(table: pl.DataFrame, place: FilePath) -> None:
    """Write Parquet; a disk that is full is an error of the system, as it is for all other files."""
    import polars as pl

    try:
        table.write_parquet(place)
    except pl.exceptions.ComputeError as error:
        raise OSError(str(error).rpartition("IO error: ")[2]) from error


TABLE_WRITERS: dict[str, Callable[[pl.DataFrame, FilePath], None]] = {
    ".csv": lambda table, place: table.write_csv(place),
    ".tsv": lambda table, place: table.write_csv(place, separator="\t"),
    ".parquet": write_parquet,
    ".jsonl": lambda table, place: table.write_ndjson(place),
}
"""How a table is written, by the ending of the path."""
