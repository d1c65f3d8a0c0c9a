"""The directory of a run: what it was asked, the pieces that are finished, and the results once all are.

::

    manifest.json             what was asked: fingerprints of the input, options and versions
    pieces/input-....         the input, split by case, as large as the input itself
    pieces/<digest>.<kind>    what came out for a piece; the digest is of its rows and of everything that was asked
    per_case/part-....parquet and certainty/part-....parquet, tables of the cases of a piece
    run.json                  written last: without it, the run is unfinished
    .lock                     held by the process that writes here

A process may be killed at any moment. Every file is written below ``pieces/unfinished`` and then renamed, and the sums
of a piece come after everything else of it: a piece is finished if that file exists. Nothing is ever unpickled. With
the results, the split input is removed, and so is whatever belongs to no piece of the run. What workers write, pieces
and tables, may be elsewhere: below a scratch that all of them see, such as an object store at an address that
``fsspec`` knows; there, too, a file appears whole or not at all, whoever writes it and however often.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path as FilePath
from typing import Any, BinaryIO, cast

from dissensus.core.arrays import Path
from dissensus.core.bundle import restored
from dissensus.core.errors import FormatError
from dissensus.core.output import UNDERWAY, WRITTEN, checked_directory_target, told, undisturbed
from dissensus.evaluation.store import DISPUTED, EARLIER, FILES, REPORT, not_results
from dissensus.pieces.inputs import at_address, is_address

try:
    import fcntl
except ImportError:  # there is none on Windows
    fcntl = None  # type: ignore[assignment]  # asked before it is used

PIECES, UNFINISHED = "pieces", "pieces/unfinished"
TABLES = ("per_case", "certainty")
GO_ON = "finished pieces are kept: make room and run again with --resume"
SHARED = "let all workers see the same directory, or keep the pieces in an object store (scratch=, --scratch s3://...)"

# What ``manifest.json`` says it is, and the version of the schema that is written.
FORMAT, VERSION = "dissensus run", 3

MANIFEST, FINISHED, LOCK = "manifest.json", "run.json", ".lock"
FOLDERS = (PIECES, *TABLES, DISPUTED)

# What a run writes, by its path.
OWN = re.compile(
    "|".join(map(re.escape, (MANIFEST, LOCK, REPORT, *FILES)))
    + rf"|pieces/(input-|unfinished).*|pieces/[0-9a-f]{{64}}\.[a-z0-9-]+|({'|'.join(FOLDERS)})/.+"
    r"\.(parquet|json|npz|bundle)"
)

MOST_DIFFERENCES = 12
TO_GO_ON = " (unfinished: the same command with --resume goes on)"
BUSY, WAIT = "another process writes into this directory", "wait until it has ended, or end it"

# Locks that this process holds.
HELD: set[str] = set()


# Manifest ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Manifest:
    """What was asked of a run.

    Attributes
    ----------
    generations
        Files in the order in which they came, at first all at once: by input, the fingerprint of each.
    options
        Everything else that numbers depend on, versions of packages among it, as plain JSON.
    n_buckets
        Into how many parts cases are hashed; that of the beginning holds, and it is not compared.

    Examples
    --------
    >>> then = Manifest([{"study": {"a.parquet": "61"}}], {"draws": 200, "versions": {"numpy": "2.4.5"}}, n_buckets=4)
    >>> now = Manifest([{"study": {"a.parquet": "62", "b.parquet": "99"}}], {"draws": 500, "versions": {}}, 4)
    >>> print(*then.differences(now), sep="; ")
    draws: 200 then, 500 now; versions.numpy: 2.4.5 then, not given now; study: a.parquet changed
    >>> more = Manifest([{"study": {"a.parquet": "61", "b.parquet": "99"}}], then.options, n_buckets=9)
    >>> then.continued(more, "run").generations
    [{'study': {'a.parquet': '61'}}, {'study': {'b.parquet': '99'}}]
    """

    generations: Sequence[Mapping[str, Mapping[str, str]]]
    options: Mapping[str, Any]
    n_buckets: int

    @property
    def inputs(self) -> dict[str, dict[str, str]]:
        """By input: the fingerprint of every file, in their order."""
        first = self.generations[0]
        return {name: {k: v for one in self.generations for k, v in one.get(name, {}).items()} for name in first}

    def differences(self, other: Manifest) -> list[str]:
        """Say in words what another one asks differently, a line each; files that were added are no difference."""
        then, now = (_flat({**one.options, **dict.fromkeys(one.inputs, "given")}) for one in (self, other))
        words = {name: [one.get(name, "not given").strip('"') for one in (then, now)] for name in {**then, **now}}
        found = [f"{name}: {before} then, {after} now" for name, (before, after) in words.items() if before != after]
        for name, files in self.inputs.items():
            known = other.inputs.get(name, {})
            lost = [file for file, fingerprint in files.items() if known.get(file) != fingerprint]
            found += [f"{name}: {file} {'changed' if file in known else 'is missing now'}" for file in lost]
        return found

    def continued(self, other: Manifest, where: Path) -> Manifest:
        """Return this one with the files that another one has besides as a generation; refuse other differences."""
        lines = self.differences(other)
        if lines:
            more = len(lines) - MOST_DIFFERENCES
            raise FormatError(
                "the run was asked something else, and cannot go on",
                expected="the same options, versions and input; files may be added",
                got=("\n" + " " * 12).join([*lines[:MOST_DIFFERENCES], *([f"and {more} more"] if more > 0 else [])]),
                where=str(where),
                advice="give what it was begun with, or begin another run in another directory",
            )
        known, came = self.inputs, other.inputs
        added = {name: {file: came[name][file] for file in came[name] if file not in known[name]} for name in came}
        added = {name: files for name, files in added.items() if files}
        return replace(self, generations=[*self.generations, added]) if added else self

    def to_json(self) -> bytes:
        """Write it as JSON."""
        text = json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1, ensure_ascii=False)
        return f"{text}\n".encode(errors="surrogatepass")  # names of files may hold bytes that are no text

    @staticmethod
    def read(place: FilePath) -> Manifest:
        """Read what :meth:`to_json` wrote, or say what is wrong with it."""
        if not is_run(place):
            advice = "without --resume, a run begins in a directory that does not exist yet"
            problem, expected = "this is not the directory of a run", f"a {MANIFEST} in it"
            raise FormatError(problem, expected=expected, got=str(place), advice=advice)
        file, problem, expected, got = place / MANIFEST, "the manifest of the run is damaged", "", ""
        with told("the manifest of the run cannot be read", place):
            data = file.read_bytes()
        try:
            found = json.loads(data)
            said = found.pop("format"), found.pop("version")
            if said == (FORMAT, VERSION):
                return Manifest(**found)
            problem, got = "the run was begun by another version of Dissensus", "{!r}, version {!r}".format(*said)
            expected = f"{FORMAT!r}, version {VERSION}"
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass
        again = "start again in another directory, or with --overwrite"
        raise FormatError(problem, expected=expected, got=got, where=str(file), advice=again)


def _flat(value: Any, name: str = "") -> dict[str, str]:
    """Write plain values as JSON, by the words that lead to each."""
    if not isinstance(value, Mapping):
        return {name: json.dumps(value, ensure_ascii=False)}
    parts = (_flat(inner, f"{name}.{key}".lstrip(".")) for key, inner in value.items())
    return {key: text for part in parts for key, text in part.items()}


# Directory -----------------------------------------------------------------------------------------------


@contextmanager
def run_in(
    path: Path, manifest: Manifest, *, resume: bool = False, overwrite: bool = False, scratch: str | None = None
) -> Iterator[RunDirectory]:
    """Begin a run in a directory, or go on with the one that is there; others may not write into it meanwhile.

    Parameters
    ----------
    path
        A directory that does not exist yet, unless the run is resumed or replaced.
    manifest
        What is asked now.
    resume
        Go on, if there is a run.
    overwrite
        Replace a run or results.
    scratch
        Where workers keep pieces and tables by case; by default, in the directory.

    Raises
    ------
    FormatError
        If the directory exists and may not be replaced, holds an input or anything that no run writes, if anything was
        asked differently when the run was begun, or if another process writes into the directory.
    """
    place = FilePath(path)
    with ExitStack() as held:
        has_lock = (place / LOCK).is_file()
        if has_lock:
            held.enter_context(locked(place / LOCK))
        goes_on = resume and place.exists() and not _is_empty(place)
        if goes_on:
            manifest = Manifest.read(place).continued(manifest, place)
        elif is_run(path) and not overwrite and not (place / FINISHED).is_file():
            raise FormatError(
                "the output directory holds an unfinished run",
                got=str(path),
                advice="go on with --resume, or allow it to be replaced (overwrite=True, --overwrite)",
            )
        else:
            files = [file for of_input in manifest.inputs.values() for file in of_input if not is_address(file)]
            if not place.is_dir() or not _is_empty(place):  # another process may just have made it, and not begun
                checked_directory_target(path, overwrite=overwrite, foreign=not_a_run, inputs=files)
        run = RunDirectory(place.resolve(), manifest, scratch)
        with told("the run cannot go on", path, GO_ON):
            place.mkdir(exist_ok=True)
            if not has_lock:
                held.enter_context(locked(place / LOCK))
                # while the lock is held, nobody else begins: a directory in which no run could be begun goes
                held.callback(lambda: shutil.rmtree(place, ignore_errors=True) if _is_empty(place) else None)
                if is_run(place) and not (goes_on or overwrite):
                    raise FormatError(BUSY, got="a process that has ended by now", where=str(path), advice="look there")
            held.callback(shutil.rmtree, run.path / UNFINISHED, ignore_errors=True)
            held.callback(UNDERWAY.pop, str(run.path / UNFINISHED), None)
            shutil.rmtree(run.path / UNFINISHED, ignore_errors=True)
            if not goes_on or manifest != Manifest.read(place):  # it begins, or files were added
                with undisturbed():
                    run.reopen()
                    Storage(str(run.path)).write(MANIFEST, manifest.to_json())
                    if not goes_on:
                        run.remove_others(())
        yield run


def _is_empty(place: FilePath) -> bool:
    """Tell whether no file is in a directory that may just have been made, but for its lock."""
    if not place.is_dir():
        return not place.exists()
    return all(one.is_dir() and not one.is_symlink() for one in place.rglob("*") if one != place / LOCK)


@dataclass(frozen=True)
class RunDirectory:
    """A directory that one process writes into, and where workers keep pieces and tables by case.

    Attributes
    ----------
    path
        Where it is.
    manifest
        What was asked, with all generations of files.
    scratch
        A directory or an address below which workers keep their files; by default, they are in the directory.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> asked = Manifest([{"study": {"a.parquet": "61"}}], {"draws": 200}, n_buckets=4)
    >>> with TemporaryDirectory() as folder:
    ...     with run_in(f"{folder}/run", asked) as run:
    ...         run.storage.write("pieces/61.sums", b"sums")
    ...     with run_in(f"{folder}/run", asked, resume=True) as run:
    ...         run.storage.has("pieces/61.sums"), run.storage.has("pieces/62.sums"), run.is_finished
    (True, False, False)
    """

    path: FilePath
    manifest: Manifest
    scratch: str | None = None

    @cached_property
    def storage(self) -> Storage:
        """Where workers keep their files; in a scratch, by a digest of what was asked when the run began."""
        if self.scratch is None:
            return Storage(str(self.path))
        told = json.dumps([self.manifest.generations[0], self.manifest.options], sort_keys=True, default=str)
        name = f"{self.path.name}-{hashlib.sha256(told.encode()).hexdigest()[:12]}"
        found = Storage(f"{self.scratch.rstrip('/')}/{name}")
        if not is_address(self.scratch):
            FilePath(found.root).mkdir(parents=True, exist_ok=True)
        return found

    @property
    def is_finished(self) -> bool:
        """Whether results were published since the last change."""
        return (self.path / FINISHED).is_file()

    def reopen(self) -> None:
        """Count as unfinished from now on; Ctrl-C removes what is half written, and says how to go on."""
        with told("the run cannot go on", self.path, GO_ON):
            (self.path / FINISHED).unlink(missing_ok=True)
        UNDERWAY[str(self.path / UNFINISHED)] = partial(shutil.rmtree, self.path / UNFINISHED, ignore_errors=True)
        if f"{self.path}{TO_GO_ON}" not in WRITTEN:
            WRITTEN.append(f"{self.path}{TO_GO_ON}")

    def remove_others(self, kept: Collection[str]) -> None:
        """Remove what belongs to no results and to no piece that is kept, finished pieces first."""
        known = {name for folder in (PIECES, *TABLES) for name in self.storage.names(folder)}
        for name in sorted(known - {*kept}, reverse=True):
            if not name.startswith(f"{UNFINISHED}/"):
                self.storage.remove(name)
        for name in (REPORT, *FILES, DISPUTED, *EARLIER, *(TABLES if self.scratch else ())):
            Storage(str(self.path)).remove(name)
        for folder in (self.path / PIECES).glob("input-*"):
            with suppress(OSError):  # something of it is kept
                folder.rmdir()

    def publish(self, files: Callable[[FilePath], None], kept: Collection[str]) -> None:
        """Put the files of the results into the directory, ``run.json`` last: then the run is finished.

        Parameters
        ----------
        files
            Writes them into a directory that exists and is empty; ``run.json`` has to be among them.
        kept
            Files of the pieces that belong to the results; those of others are removed.
        """
        room = self.path / UNFINISHED / "results"
        with told("the results cannot be written", self.path, GO_ON):
            room.mkdir(parents=True)
            files(room)
            written = [place.relative_to(room) for place in sorted(room.rglob("*")) if place.is_file()]
            with undisturbed():
                self.remove_others(kept)
                for name in sorted(written, key=lambda name: name == FilePath(FINISHED)):
                    (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                    (room / name).replace(self.path / name)
                WRITTEN[:] = [*(note for note in WRITTEN if note != f"{self.path}{TO_GO_ON}"), str(self.path)]


@contextmanager
def locked(path: FilePath) -> Iterator[None]:
    """Lock a file, which says who holds it until then; the system gives the lock back when the process ends.

    Processes that are forked do not hold it. A lock that this thread of work holds already is held once more.

    Raises
    ------
    FormatError
        If another process holds it.
    """
    name, holder = str(path.resolve()), f"process {os.getpid()} on {platform.node()}"
    if name in HELD:  # to open and close it would give it back
        raise FormatError(BUSY, got=holder, where=str(path.parent), advice=WAIT)
    with told("the run cannot be locked", path):
        file = path.open("a+b", buffering=0)
    with file:
        try:
            if fcntl is not None:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError) as error:
            file.seek(0)
            known = file.read(200).decode(errors="replace").strip() or "a process that is not known"
            raise FormatError(BUSY, got=known, where=str(path.parent), advice=WAIT) from error
        except OSError:  # some network file systems have no locks
            pass
        HELD.add(name)
        try:
            with suppress(OSError):  # the disk is full: then it is not known who holds it
                file.truncate(0)
                file.write(f"{holder}\n".encode())
            yield
        finally:
            HELD.discard(name)
            with suppress(OSError):
                file.truncate(0)  # a run that has ended names nobody


def is_run(path: Path) -> bool:
    """Tell whether a directory holds a run, finished or not.

    >>> is_run("no-such-directory")
    False
    """
    return (FilePath(path) / MANIFEST).is_file()


def not_a_run(place: FilePath) -> str:
    """Say what in a directory must not be lost; nothing if it holds a run or results, and nothing else."""
    if not is_run(place):
        return not_results(place)
    if f'"format": "{FORMAT}"'.encode() not in (place / MANIFEST).read_bytes():
        return f"a {MANIFEST} without the format {FORMAT!r}"
    for found in sorted(place.rglob("*")):
        name = found.relative_to(place).as_posix()
        is_own = OWN.fullmatch(name) if found.is_file() or "/" in name else name in FOLDERS
        if found.is_symlink() or not is_own:
            return name
    return ""


# Where workers keep files ------------------------------------------------------------------------------


def piece_of(key: str, kind: str) -> str:
    """Name the file of something of a piece, by the digest of its rows and of what was asked."""
    return f"{PIECES}/{key}.{kind}"


def table_of(name: str, piece: str) -> str:
    """Name the file of a table of the cases of a piece."""
    return f"{name}/part-{piece}.parquet"


@dataclass(frozen=True)
class Storage:
    """Files by name, below a directory or an address.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     here = Storage(folder)
    ...     here.write("pieces/a", b"sums")
    ...     here.read("pieces/a"), here.has("pieces/b"), here.names("pieces")
    (b'sums', False, {'pieces/a'})
    """

    root: str

    def has(self, name: str) -> bool:
        """Tell whether there is a file."""
        if is_address(self.root):
            with at_address(f"{self.root}/{name}") as (store, path):
                return bool(store.exists(path))
        return FilePath(self.root, name).exists()

    def names(self, folder: str) -> set[str]:
        """Name the files of a folder and of those below."""
        if is_address(self.root):
            with at_address(self.root) as (store, root):
                return {path[len(root) :].lstrip("/") for path in store.find(f"{root}/{folder}")}
        files = (one for one in FilePath(self.root, folder).rglob("*") if not one.is_dir())
        return {one.relative_to(self.root).as_posix() for one in files}

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        """Open a file to read parts of it."""
        if is_address(self.root):
            with at_address(f"{self.root}/{name}") as (store, path), store.open(path, "rb") as file:
                yield cast("BinaryIO", file)
            return
        self._check_there()
        with FilePath(self.root, name).open("rb") as file:
            yield file

    def read(self, name: str) -> bytes:
        """Read a file."""
        with self.opened(name) as file:
            return file.read()

    def restored(self, name: str, classes: Sequence[type], problem: str, advice: str) -> Any:
        """Read a bundle of objects of these classes, or say what is damaged and what to do about it."""
        try:
            return restored(self.read(name), classes)
        except FormatError as error:
            raise FormatError(problem, where=f"{self.root}/{name}", advice=advice) from error

    def write(self, name: str, data: bytes) -> None:
        """Write a file, under another name first: it gets its own once it is on the disk."""
        if is_address(self.root):
            with at_address(f"{self.root}/{name}") as (store, path):
                store.pipe_file(path, data)
            return
        self._check_there()
        target = FilePath(self.root, name)
        temporary = FilePath(self.root, UNFINISHED, f"{target.name}-{secrets.token_hex(6)}")
        with told("the disk is full, or cannot be written", self.root, GO_ON):
            for folder in (temporary.parent, target.parent):
                folder.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with everything below, if it is there."""
        if is_address(self.root):
            with at_address(f"{self.root}/{name}") as (store, path):
                if store.exists(path):
                    store.rm(path, recursive=True)
        elif FilePath(self.root, name).is_dir():
            shutil.rmtree(FilePath(self.root, name))
        else:
            FilePath(self.root, name).unlink(missing_ok=True)

    def _check_there(self) -> None:
        """Refuse a directory that this machine does not see, before anything is written elsewhere in its name."""
        if not FilePath(self.root).is_dir():
            problem = "a worker does not see the directory of the run"
            where = f"process {os.getpid()} on {platform.node()}"
            raise FormatError(problem, got=self.root, where=where, advice=SHARED)
