"""Writing: what is written appears whole or not at all, and never in the place of something else.

On Ctrl-C, what is under way is removed, what was written is told, and steps that belong together stay together. How
far long work is, is told to whoever watches.

A target is checked before anything is computed (see :func:`checked_file_target` and
:func:`checked_directory_target`), and written beside, under a name that says which process does so. Leftovers of
processes that were killed are removed by the next one that writes there.
"""

from __future__ import annotations

import atexit
import json
import os
import platform
import re
import secrets
import shutil
import signal
import threading
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from dissensus.core.errors import FormatError

if TYPE_CHECKING:
    import polars as pl

    from dissensus.core.arrays import Path

# Says what in a directory must not be lost; nothing if the directory may be replaced.
Foreign: TypeAlias = Callable[[FilePath], str]

# Tells machines that share a directory apart: the processes of another one cannot be seen here.
MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"

PREFIX = ".dissensus"
LEFTOVER = re.compile(rf"{re.escape(PREFIX)}-{MACHINE}-(?P<process>[0-9]{{1,9}})-[0-9a-f]{{12}}")
# Temporary places that this process is filling, and how each is removed.
UNDERWAY: dict[str, Callable[[], object]] = {}

# What the command that runs has written so far, as the user calls it.
WRITTEN: list[str] = []

EXIT_CODE = 130

# Clear the line of a progress bar, and show the cursor that it hid.
CLEAN_LINE = b"\r\x1b[2K\x1b[?25h"

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
    with told("the file cannot be written", path):
        target = _prepared(path)
        if not _exists(target):
            return target
        if any(_is_part(target, _resolved(place)) for place in inputs if place is not None):
            raise FormatError("the output would replace an input", got=str(path), advice=ANOTHER)
        if not target.is_file():
            raise FormatError("the output file is something else already", got=str(path), advice=ANOTHER)
        if not overwrite:
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
    with told("the results cannot be written", path):
        target = _prepared(path)
        if not _exists(target):
            return target
        if not target.is_dir():
            raise FormatError("the output directory is a file", got=str(path), advice=ANOTHER)
        kept = [("an input", _resolved(one)) for one in inputs if one is not None]
        for what, place in [("the working directory", FilePath.cwd()), *kept]:
            if _is_part(place, target):
                raise FormatError(f"the output directory is or holds {what}", got=str(path), advice=ANOTHER)
        if not overwrite or foreign is None:
            advice = ANOTHER if foreign is None else ALLOW
            raise FormatError("the output directory exists already", got=str(path), advice=advice)
        _remove_leftovers(target)
        if found := foreign(target):
            problem = "the output directory holds something else and is not replaced"
            expected = "a directory that Dissensus wrote, and nothing else in it"
            raise FormatError(problem, expected=expected, got=found, where=str(path), advice=ANOTHER)
        if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise FormatError("the output directory cannot be replaced", got="permission denied", where=str(path))
        return target


def foreign_content(place: FilePath, file: str, form: str, known: Collection[str]) -> str:
    """Say what in a directory must not be lost; nothing if a file of JSON says its form, and all others are known.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     foreign_content(FilePath(folder), "run.json", "dissensus results", ["run.json"])
    "no run.json with the format 'dissensus results'"
    """
    try:
        described = json.loads((place / file).read_bytes())
    except (OSError, ValueError, RecursionError):
        described = None
    if not isinstance(described, dict) or described.get("format") != form:
        return f"no {file} with the format {form!r}"
    return foreign_entry(place, known)


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
    """Tell whether there is anything, be it a link that leads nowhere; names that cannot be are errors."""
    try:
        target.lstat()
    except FileNotFoundError:
        return False
    return True


def _is_part(place: FilePath, other: FilePath) -> bool:
    """Tell whether a place is another one or inside it, also where one place has several names."""
    above = (place, *place.parents)
    return any(one == other or (one.exists() and other.exists() and one.samefile(other)) for one in above)


@contextmanager
def told(problem: str, path: Path, advice: str = "") -> Iterator[None]:
    """Turn what the system says into an error in words."""
    try:
        yield
    except OSError as error:
        # errors of polars have no number, and end with that of the system
        got = (error.strerror or str(error)).partition(" (os error")[0].lower()
        raise FormatError(problem, got=got, where=str(path), advice=advice) from error


# Writing -------------------------------------------------------------------------------------------------


@contextmanager
def _temporary(target: FilePath) -> Iterator[FilePath]:
    """Give a name beside the target, and remove in the end whatever has it."""
    place = target.parent / f"{PREFIX}-{MACHINE}-{os.getpid()}-{secrets.token_hex(6)}"
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


def _remove_leftovers(directory: FilePath) -> None:
    """Remove what processes left that were killed while they wrote; old results that were on their way go back."""
    for place in directory.glob(f"{PREFIX}-*"):
        name = LEFTOVER.fullmatch(place.name)
        if name is None or _is_underway(place, int(name["process"])):
            continue
        for old in (place / "old").glob("*"):
            if not _exists(directory / old.name):
                old.replace(directory / old.name)
        _remove(place)


def _is_underway(place: FilePath, process: int) -> bool:
    if process == os.getpid():
        return str(place) in UNDERWAY
    try:
        if os.name == "posix":  # elsewhere there is no signal that only asks
            os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


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
    with told("the file cannot be written", path), _temporary(target) as temporary:
        temporary.touch(exist_ok=False)
        yield temporary
        with undisturbed():
            if overwrite and target.is_file():
                shutil.copymode(target, temporary)
            else:
                _refuse_meanwhile(target, path)
            temporary.replace(target)
            _note(target, path)


@contextmanager
def directory_written_whole(
    path: Path, *, overwrite: bool = False, foreign: Foreign | None = None
) -> Iterator[FilePath]:
    """Give a temporary directory to fill; on success it takes the place of ``path``, which stays intact until then.

    The parameters are those of :func:`checked_directory_target`. A process that is killed between the two steps of a
    replacement leaves the old directory where the next one finds it and puts it back.
    """
    target = checked_directory_target(path, overwrite=overwrite, foreign=foreign)
    with told("the results cannot be written", path), _temporary(target) as room:
        fresh, old = room / "new", room / "old" / target.name
        fresh.mkdir(parents=True)
        yield fresh
        with undisturbed():
            if overwrite and _exists(target):
                checked_directory_target(path, overwrite=True, foreign=foreign)
                shutil.copymode(target, fresh)
                old.parent.mkdir()
                target.replace(old)
            _refuse_meanwhile(target, path)
            try:
                fresh.replace(target)
            except OSError:
                if old.exists():
                    old.replace(target)
                raise
            _note(target, path)


def _refuse_meanwhile(target: FilePath, path: Path) -> None:
    if _exists(target):
        raise FormatError("the output has appeared while it was computed", got=str(path), advice=ANOTHER)


def _note(target: FilePath, path: Path) -> None:
    """Remember what was written, unless it is part of something that is still under way."""
    if not any(str(place) in UNDERWAY for place in target.parents):
        WRITTEN.append(str(path))


# Tables --------------------------------------------------------------------------------------------------


def write_table(table: pl.DataFrame, path: Path, *, overwrite: bool = False) -> None:
    """Write a table whole; the ending of the path chooses the form."""
    write = table_writer(path)
    with written_whole(path, overwrite=overwrite) as temporary:
        write(table, temporary)


def table_writer(path: Path) -> Callable[[pl.DataFrame, FilePath], None]:
    """Return how a table is written to this path, or say which endings are known."""
    ending = FilePath(path).suffix.lower()
    if ending not in TABLE_WRITERS:
        problem, known = "the ending of the output file is not understood", ", ".join(TABLE_WRITERS)
        raise FormatError(problem, expected=f"one of {known}", got=repr(ending), where=str(path))
    return TABLE_WRITERS[ending]


def write_parquet(table: pl.DataFrame, place: FilePath) -> None:
    """Write Parquet; a disk that is full is an error of the system, as it is for all other files."""
    import polars as pl

    try:
        table.write_parquet(place)
    except pl.exceptions.ComputeError as error:
        raise OSError(str(error).rpartition("IO error: ")[2]) from error


# How a table is written, by the ending of the path.
TABLE_WRITERS: dict[str, Callable[[pl.DataFrame, FilePath], None]] = {
    ".csv": lambda table, place: table.write_csv(place),
    ".tsv": lambda table, place: table.write_csv(place, separator="\t"),
    ".parquet": write_parquet,
    ".jsonl": lambda table, place: table.write_ndjson(place),
}


# Interruption --------------------------------------------------------------------------------------------


@contextmanager
def told_when_interrupted() -> Iterator[None]:
    """Leave at once on Ctrl-C, with one line that says what was written.

    The process ends within the handler: an exception could be caught by others on its way, and would wait for threads.
    """
    WRITTEN.clear()
    with _handled(_leave if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN else signal.SIG_IGN) as is_handled:
        try:
            yield
        finally:
            if is_handled:  # all is done, and leaving takes a moment
                atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let Ctrl-C wait until a few steps are done."""
    came: list[int] = []
    try:
        with _handled(lambda number, _: came.append(number)):
            yield
    finally:
        if came:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def _handled(handler: Any) -> Iterator[bool]:
    """Handle Ctrl-C, and tell whether this can be done: in the main thread, unless a foreign handler is there."""
    previous = signal.getsignal(signal.SIGINT)
    is_handled = threading.current_thread() is threading.main_thread() and previous is not None
    if is_handled:
        signal.signal(signal.SIGINT, handler)
    try:
        yield is_handled
    finally:
        if is_handled:
            signal.signal(signal.SIGINT, previous)


def _leave(*_: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for remove in list(UNDERWAY.values()):
        remove()
    kept = f"written before: {', '.join(WRITTEN)}" if WRITTEN else "nothing was written"
    line = f"interrupted; {kept}\n".encode(errors="backslashreplace")
    os.write(2, CLEAN_LINE + line if os.isatty(2) else line)
    os._exit(EXIT_CODE)


# Progress ------------------------------------------------------------------------------------------------


@runtime_checkable
class Watched(Protocol):
    """Takes how much was just done, as any ``advance`` does, and is told before how much there is to do."""

    def __call__(self, done: int, /) -> None:
        """Take how much was just done."""

    def expect(self, what: str, total: int, *, again: int = 0) -> None:
        """Take what begins, how much there is to do, and how much of it is done again without some annotators."""


def expect(advance: Callable[[int], None] | None, what: str, total: int, *, again: int = 0) -> None:
    """Tell whoever watches how much there is to do; a plain function is told only what was done."""
    if isinstance(advance, Watched):
        advance.expect(what, total, again=again)
