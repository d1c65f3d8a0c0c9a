"""The directory of a run: what it was asked, the pieces that are finished, and the results once all are.

::

    manifest.json             what was asked: versions, fingerprints of the input, options
    pieces/input-....         the input, split by case, as large as the input itself
    pieces/<digest>.<kind>    what came out for a piece; the digest is of its rows and of everything that was asked
    per_case/part-....parquet and certainty/part-....parquet, tables of the cases of a piece
    run.json                  written last: without it, the run is unfinished
    .lock                     held by the process that writes here

A process may be killed at any moment. Every file is written below ``pieces/unfinished`` and then renamed, and the sums
of a piece come after everything else of it: a piece is finished if that file exists. Nothing is ever unpickled. With
the results, the split input is removed, and so is whatever belongs to no piece of the run.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any, Self

from dissensus.core.aliases import Path
from dissensus.core.errors import FormatError
from dissensus.core.output import (
    UNDERWAY,
    WRITTEN,
    checked_directory_target,
    directory_written_whole,
    told,
    undisturbed,
)
from dissensus.evaluation.store import DISPUTED, FILES, REPORT, not_results

try:
    import fcntl
except ImportError:  # there is none on Windows
    fcntl = None  # type: ignore[assignment]  # asked before it is used

# What ``manifest.json`` says it is, and the version of the schema that is written.
FORMAT, VERSION = "dissensus run", 2

MANIFEST, FINISHED, LOCK = "manifest.json", "run.json", ".lock"
PIECES, TABLES = "pieces", ("per_case", "certainty")

# Files that a run has beside its directories.
TOP = (MANIFEST, LOCK, REPORT, *FILES)

FOLDERS = (PIECES, *TABLES, DISPUTED)

# What a run writes into its directories.
OWN = re.compile(
    rf"pieces/(input-|unfinished).*|pieces/[0-9a-f]{{64}}\.[a-z0-9-]+|({'|'.join(FOLDERS)})/.+"
    r"\.(parquet|json|npz|bundle)"
)

MOST_DIFFERENCES = 12
UNFINISHED = " (unfinished: the same command with --resume goes on)"
GO_ON = "finished pieces are kept: make room and run again with --resume"


# Manifest ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Manifest:
    """What was asked of a run.

    Attributes
    ----------
    versions
        Versions of the packages that numbers depend on.
    inputs
        By input: the fingerprint of every file, in their order.
    options
        Everything else that numbers depend on, as plain JSON.
    n_buckets
        Into how many parts cases are hashed; that of the beginning holds, and it is not compared.
    generations
        Which files came when, by input; at first, all of them at once.

    Examples
    --------
    >>> then = Manifest({"numpy": "2.4.5"}, {"study": {"a.parquet": "61"}}, {"draws": 200}, n_buckets=4)
    >>> now = Manifest({"numpy": "2.4.6"}, {"study": {"a.parquet": "62", "b.parquet": "99"}}, {"draws": 500}, 4)
    >>> then.differences(now)
    ['draws: 200 then, 500 now', 'versions: numpy 2.4.5 then, 2.4.6 now', 'study: a.parquet changed']
    >>> then.continued(now).generations[1:]
    ({'study': ['b.parquet']},)
    """

    versions: Mapping[str, str]
    inputs: Mapping[str, Mapping[str, str]]
    options: Mapping[str, Any]
    n_buckets: int
    generations: tuple[Mapping[str, list[str]], ...] = ()

    def __post_init__(self) -> None:
        if not self.generations:
            object.__setattr__(self, "generations", ({name: list(files) for name, files in self.inputs.items()},))

    def differences(self, other: Manifest) -> list[str]:
        """Say in words what another one asks differently, a line each; files that were added are no difference."""
        plain = json.loads(json.dumps([self.options, other.options]))  # tuples are lists, keys are text
        found = [f"{name}: {words}" for name, words in _changes(*plain).items()]
        found += [f"versions: {name} {words}" for name, words in _changes(self.versions, other.versions).items()]
        for name in {**self.inputs, **other.inputs}:
            then, now = self.inputs.get(name), other.inputs.get(name)
            if then is None or now is None:
                found.append(f"{name}: an input {'now, and none then' if then is None else 'then, and none now'}")
                continue
            lost = [file for file, fingerprint in then.items() if now.get(file) != fingerprint]
            found += [f"{name}: {file} {'changed' if file in now else 'is missing now'}" for file in lost]
        return found

    def continued(self, other: Manifest) -> Manifest:
        """Return this one with the files that another one has besides, as a generation of their own."""
        added = {
            name: [file for file in files if file not in self.inputs.get(name, {})]
            for name, files in other.inputs.items()
        }
        added = {name: files for name, files in added.items() if files}
        inputs = {name: {**files, **other.inputs.get(name, {})} for name, files in self.inputs.items()}
        return replace(self, inputs=inputs, generations=(*self.generations, added)) if added else self

    def to_json(self) -> bytes:
        """Write it as JSON."""
        text = json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1, ensure_ascii=False)
        return f"{text}\n".encode(errors="surrogatepass")  # names of files may hold bytes that are no text

    @staticmethod
    def read(place: FilePath) -> Manifest:
        """Read what :meth:`to_json` wrote, or say what is wrong with it."""
        file, again = place / MANIFEST, "start again in another directory, or with --overwrite"
        if not file.exists():
            raise FormatError(
                "this is not the directory of a run",
                expected=f"a {MANIFEST} in it",
                got=str(place),
                advice="without --resume, a run begins in a directory that does not exist yet",
            )
        with told("the manifest of the run cannot be read", place):
            data = file.read_bytes()
        try:
            found = json.loads(data)
            said = (found.pop("format"), found.pop("version"))
            if said == (FORMAT, VERSION):
                return Manifest(**{**found, "generations": tuple(found["generations"])})
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise FormatError("the manifest of the run is damaged", where=str(file), advice=again) from error
        raise FormatError(
            "the run was begun by another version of Dissensus",
            expected=f"{FORMAT!r}, version {VERSION}",
            got=f"{said[0]!r}, version {said[1]!r}",
            where=str(file),
            advice=again,
        )


def _changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, str]:
    """Say of every value that differs what it was and what it is; of mappings, which of their values."""
    found: dict[str, str] = {}
    for name in {**then, **now}:
        before, after = then.get(name), now.get(name)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            found.update({f"{name}.{key}": words for key, words in _changes(before, after).items()})
        elif name not in then or name not in now or before != after:
            words = [
                "not given" if name not in one else one[name] if isinstance(one[name], str) else json.dumps(one[name])
                for one in (then, now)
            ]
            found[name] = f"{words[0]} then, {words[1]} now"
    return found


# Directory -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunDirectory:
    """A directory that one process writes into, until it is closed.

    Attributes
    ----------
    path
        Where it is.
    manifest
        What was asked, with all generations of files.
    lock
        The open file that holds the lock.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> asked = Manifest({}, {"study": {"a.parquet": "61"}}, {"draws": 200}, n_buckets=4)
    >>> with TemporaryDirectory() as folder:
    ...     with RunDirectory.new(f"{folder}/run", asked, overwrite=False) as run:
    ...         run.write(run.piece("61", "sums"), b"sums")
    ...     with RunDirectory.resumed(f"{folder}/run", asked) as run:
    ...         run.piece("61", "sums").exists(), run.piece("62", "sums").exists(), run.is_finished
    (True, False, False)
    """

    path: FilePath
    manifest: Manifest
    lock: int = field(repr=False)

    @staticmethod
    def new(path: Path, manifest: Manifest, *, overwrite: bool) -> RunDirectory:
        """Begin a run in a directory that does not exist yet, or, with ``overwrite``, in one that may be replaced.

        Raises
        ------
        FormatError
            If the directory exists and may not be replaced, holds an input or anything that no run writes, or if
            another process writes into it.
        """
        place = FilePath(path)
        if not overwrite and is_run(path) and not (place / FINISHED).is_file():
            raise FormatError(
                "the output directory holds an unfinished run",
                got=str(path),
                advice="go on with --resume, or allow it to be replaced (overwrite=True, --overwrite)",
            )
        files = [file for of_input in manifest.inputs.values() for file in of_input if "://" not in file]
        checked_directory_target(path, overwrite=overwrite, foreign=not_a_run, inputs=files)
        with contextlib.ExitStack() as undone:
            if (place / LOCK).is_file():
                undone.callback(released, locked(place / LOCK))
            with directory_written_whole(path, overwrite=overwrite, foreign=not_a_run) as fresh:
                (fresh / PIECES).mkdir()
                (fresh / MANIFEST).write_bytes(manifest.to_json())
                lock = locked(fresh / LOCK)
                failed = undone.enter_context(contextlib.ExitStack())
                failed.callback(released, lock)
            failed.pop_all()
        WRITTEN[:] = [note for note in WRITTEN if note != str(path)]
        run = RunDirectory(place.resolve(), manifest, lock)
        run.reopen()
        return run

    @staticmethod
    def resumed(path: Path, manifest: Manifest) -> RunDirectory:
        """Go on with a run, or begin it if there is none.

        Raises
        ------
        FormatError
            If the directory holds no run, if anything was asked differently then, or if another process writes into it.
        """
        place = FilePath(path)
        if not place.exists():
            return RunDirectory.new(path, manifest, overwrite=False)
        Manifest.read(place)
        run = RunDirectory(place.resolve(), manifest, locked(place / LOCK))
        with contextlib.ExitStack() as failed:
            failed.push(run)
            then = Manifest.read(place)
            lines = then.differences(manifest)
            if lines:
                more = len(lines) - MOST_DIFFERENCES
                shown = lines[:MOST_DIFFERENCES] + ([f"and {more} more"] if more > 0 else [])
                raise FormatError(
                    "the run was asked something else, and cannot go on",
                    expected="the same options, versions and input; files may be added",
                    got=("\n" + " " * 12).join(shown),
                    where=str(path),
                    advice="give what it was begun with, or begin another run in another directory",
                )
            run = replace(run, manifest=then.continued(manifest))
            with told("the run cannot go on", path, GO_ON):
                shutil.rmtree(run._unfinished, ignore_errors=True)
                if run.manifest != then:
                    (place / FINISHED).unlink(missing_ok=True)
                    run.write(run.path / MANIFEST, run.manifest.to_json())
            if not run.is_finished:
                run.reopen()
            failed.pop_all()
        return run

    @property
    def _unfinished(self) -> FilePath:
        return self.path / PIECES / "unfinished"

    @property
    def is_finished(self) -> bool:
        """Whether results were published since the last change."""
        return (self.path / FINISHED).is_file()

    def reopen(self) -> None:
        """Count as unfinished from now on; Ctrl-C removes what is half written, and says how to go on."""
        with told("the run cannot go on", self.path, GO_ON):
            (self.path / FINISHED).unlink(missing_ok=True)
        UNDERWAY[str(self._unfinished)] = partial(shutil.rmtree, self._unfinished, ignore_errors=True)
        if f"{self.path}{UNFINISHED}" not in WRITTEN:
            WRITTEN.append(f"{self.path}{UNFINISHED}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let other processes write into the directory."""
        UNDERWAY.pop(str(self._unfinished), None)
        shutil.rmtree(self._unfinished, ignore_errors=True)
        released(self.lock)

    def piece(self, key: str, kind: str) -> FilePath:
        """Return where something of a piece is, by the digest of its rows and of what was asked."""
        return self.path / PIECES / f"{key}.{kind}"

    def table(self, name: str, piece: str) -> FilePath:
        """Return where the table of the cases of a piece is."""
        return self.path / name / f"part-{piece}.parquet"

    def write(self, target: FilePath, data: bytes) -> None:
        """Write a file under another name, and rename it once it is on the disk."""
        temporary = self._unfinished / target.name
        with told("the disk is full, or cannot be written", self.path, GO_ON):
            temporary.parent.mkdir(parents=True, exist_ok=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)

    def publish(self, files: Callable[[FilePath], None], kept: Collection[FilePath]) -> None:
        """Put the files of the results into the directory, ``run.json`` last: then the run is finished.

        Parameters
        ----------
        files
            Writes them into a directory that exists and is empty; ``run.json`` has to be among them.
        kept
            Files of the pieces that belong to the results; those of others are removed.
        """
        room = self._unfinished / "results"
        with told("the results cannot be written", self.path, GO_ON):
            room.mkdir(parents=True)
            files(room)
            written = [place.relative_to(room) for place in sorted(room.rglob("*")) if place.is_file()]
            with undisturbed():
                (self.path / FINISHED).unlink(missing_ok=True)
                below = {self.path / name for name in (REPORT, *FILES)}
                below.update(place for folder in FOLDERS for place in (self.path / folder).glob("*"))
                for place in below - {*kept, self._unfinished}:
                    shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
                for name in sorted(written, key=lambda name: name == FilePath(FINISHED)):
                    (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                    (room / name).replace(self.path / name)
                WRITTEN[:] = [*(note for note in WRITTEN if note != f"{self.path}{UNFINISHED}"), str(self.path)]


def locked(path: FilePath) -> int:
    """Lock a file, which says who holds it; the system gives the lock back when the process ends, however it ends.

    Raises
    ------
    FormatError
        If another process holds it.
    """
    with told("the run cannot be locked", path):
        number = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    try:
        if fcntl is not None:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_free = os.path.samestat(os.fstat(number), path.stat())  # the directory may have been replaced meanwhile
    except (BlockingIOError, FileNotFoundError):
        is_free = False
    except OSError:  # some network file systems have no locks
        is_free = True
    if not is_free:
        holder = os.pread(number, 200, 0).decode(errors="replace").strip()
        os.close(number)
        raise FormatError(
            "another process writes into this directory",
            got=holder or "a process that is not known",
            where=str(path.parent),
            advice="wait until it has ended, or end it",
        )
    HELD.add(number)
    with contextlib.suppress(OSError):  # the disk is full: then it is not known who holds it
        os.ftruncate(number, 0)
        os.pwrite(number, f"process {os.getpid()} on {platform.node()}\n".encode(), 0)
    return number


def released(*numbers: int) -> None:
    """Give locks back; all of them, unless it is said which."""
    for number in numbers or tuple(HELD):
        if number in HELD:
            HELD.discard(number)
            os.close(number)


# Files of the locks that this process holds; one that is forked would hold them after its end, and closes them.
HELD: set[int] = set()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=released)


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
    for entry in sorted(place.iterdir()):
        inside = entry.name in FOLDERS and entry.is_dir() and not entry.is_symlink()
        for found in sorted(entry.rglob("*")) if inside else [entry]:
            name = found.relative_to(place).as_posix()
            is_own = OWN.fullmatch(name) if inside else name in TOP and found.is_file()
            if found.is_symlink() or not is_own:
                return name
    return ""
