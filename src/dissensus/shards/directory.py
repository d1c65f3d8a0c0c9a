"""The directory of a run: what it was asked, which shards are finished, and the results once all are.

::

    manifest.json             what was asked: versions, fingerprints of the input, options
    shards/input/             the input, split by case, as large as the input itself
    shards/<name>.json        the journal of a finished shard: fingerprint of its input, sizes and hashes of its outputs
    per_case/part-....parquet and other outputs of shards
    shards/all.json           sizes and hashes of all journals and of the results
    run.json                  written last: without it, the run is unfinished
    .lock                     held by the process that writes here

A process may be killed at any moment. Every file is written under a name of its own below ``shards/unfinished`` and
then renamed, and the journal of a shard comes after its outputs; what the journal says is compared with what is there
before a shard counts as finished. Nothing is ever unpickled.

With the results, the split input is removed, and so is whatever no shard of the run wrote. If files are added later,
all input is split again; shards without new rows stay finished, as fingerprints are of what rows say.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path as FilePath
from types import TracebackType
from typing import Any, Self, TypeAlias

from dissensus.core.aliases import Path
from dissensus.core.errors import FormatError
from dissensus.core.interruption import UNDERWAY, WRITTEN, undisturbed
from dissensus.core.output import PREFIX, checked_directory_target, directory_written_whole
from dissensus.evaluation.store import DISPUTED, FILES, REPORT, WHOLE, checksum, not_results
from dissensus.shards.lock import Lock

Files: TypeAlias = Mapping[str, tuple[str, ...]]
"""By input: files, in their order."""

FORMAT, VERSION = "dissensus run", 1
"""What ``manifest.json`` says it is, and the version of the schema that is written."""

JOURNAL, JOURNALS = "dissensus shard", "dissensus shards"
MANIFEST, FINISHED, LOCK = "manifest.json", "run.json", ".lock"
UNFINISHED, INPUT, ALL = FilePath("shards", "unfinished"), FilePath("shards", "input"), FilePath("shards", "all.json")
TOP = (MANIFEST, LOCK, REPORT, WHOLE, *FILES)
"""Files that a run has beside the directories of shards."""

FOLDERS = ("shards", "per_case", "per_draw", "certainty", DISPUTED)
PARTS = (".json", ".parquet", ".npz", ".bundle")
"""Directories that a run has, and the endings of outputs in them."""

OWN = re.compile(rf".*({'|'.join(map(re.escape, PARTS))})|(part|spill)-[0-9]+|{re.escape(PREFIX)}-.*")
"""Files in these directories: outputs, input that was split, and what killed processes left."""

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
MOST_DIFFERENCES = 12
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
GO_ON = "finished shards are kept: make room and run again with --resume"


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
        Into how many buckets cases are split; that of the beginning holds, and it is not compared.
    generations
        Which files came when, by input; at first, all of them at once.

    Examples
    --------
    >>> then = Manifest({"numpy": "2.4.5"}, {"study": {"a.parquet": "61"}}, {"draws": 200}, n_buckets=4)
    >>> now = Manifest({"numpy": "2.4.6"}, {"study": {"a.parquet": "62", "b.parquet": "99"}}, {"draws": 500}, 4)
    >>> then.differences(now)
    ['draws: 200 then, 500 now', 'versions: numpy 2.4.5 then, 2.4.6 now', 'study: a.parquet changed']
    >>> then.added(now)
    {'study': ['b.parquet']}
    """

    versions: Mapping[str, str]
    inputs: Mapping[str, Mapping[str, str]]
    options: Mapping[str, Any]
    n_buckets: int
    generations: tuple[Files, ...] = ()

    def __post_init__(self) -> None:
        if not self.generations:
            first = {name: tuple(files) for name, files in self.inputs.items()}
            object.__setattr__(self, "generations", (first,))

    def differences(self, other: Manifest) -> list[str]:
        """Say in words what another one asks differently, a line each; files that were added are no difference."""
        options = _changes(_plain(self.options), _plain(other.options))
        versions = _changes(self.versions, other.versions)
        return [
            *(f"{name}: {words}" for name, words in options.items()),
            *(f"versions: {name} {words}" for name, words in versions.items()),
            *(line for name in {**self.inputs, **other.inputs} for line in self._input_differences(name, other)),
        ]

    def _input_differences(self, name: str, other: Manifest) -> Iterator[str]:
        if name not in other.inputs:
            yield f"{name}: an input then, and none now"
        elif name not in self.inputs:
            yield f"{name}: an input now, and none then"
        else:
            now = other.inputs[name]
            for file, fingerprint in self.inputs[name].items():
                if file not in now:
                    yield f"{name}: {file} is missing now"
                elif now[file] != fingerprint:
                    yield f"{name}: {file} changed"

    def added(self, other: Manifest) -> dict[str, list[str]]:
        """Return the files that another one has besides those of this one, by input."""
        found = {
            name: [file for file in files if file not in self.inputs.get(name, {})]
            for name, files in other.inputs.items()
        }
        return {name: files for name, files in found.items() if files}

    def continued(self, other: Manifest) -> Manifest:
        """Return this one with the files that another one has besides, as a generation of their own."""
        added = self.added(other)
        if not added:
            return self
        inputs = {
            name: {**files, **{file: other.inputs[name][file] for file in added.get(name, ())}}
            for name, files in self.inputs.items()
        }
        generation = {name: tuple(added.get(name, ())) for name in inputs}
        return replace(self, inputs=inputs, generations=(*self.generations, generation))

    def to_json(self) -> bytes:
        """Write it as JSON, with a checksum."""
        return _with_checksum(
            {
                "format": FORMAT,
                "version": VERSION,
                "versions": self.versions,
                "inputs": self.inputs,
                "options": self.options,
                "n_buckets": self.n_buckets,
                "generations": self.generations,
            }
        )

    @staticmethod
    def from_json(data: bytes, where: str) -> Manifest:
        """Read what :meth:`to_json` wrote, or say what is wrong with it."""
        found = _checked_json(data)
        if found is None:
            advice = "start again in another directory, or with --overwrite"
            raise FormatError("the manifest of the run is damaged", where=where, advice=advice)
        if found.get("format") != FORMAT or found.get("version") != VERSION:
            got = f"{found.get('format')!r}, version {found.get('version')!r}"
            expected = f"{FORMAT!r}, version {VERSION}"
            raise FormatError(
                "the run was begun by another version of Dissensus", expected=expected, got=got, where=where
            )
        generations = tuple({name: tuple(files) for name, files in one.items()} for one in found["generations"])
        return Manifest(found["versions"], found["inputs"], found["options"], found["n_buckets"], generations)


def _changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, str]:
    """Say of every value that differs what it was and what it is; of mappings, which of their values."""
    found: dict[str, str] = {}
    for name in {**then, **now}:
        before, after = then.get(name), now.get(name)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            found.update({f"{name}.{key}": words for key, words in _changes(before, after).items()})
        elif name not in then or name not in now or before != after:
            found[name] = f"{_words(then, name)} then, {_words(now, name)} now"
    return found


def _words(values: Mapping[str, Any], name: str) -> str:
    if name not in values:
        return "not given"
    value = values[name]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Return what is left of a value once it was JSON: tuples are lists, keys are text."""
    return json.loads(json.dumps(value))


def _with_checksum(content: Mapping[str, Any]) -> bytes:
    plain = _plain(content)
    text = json.dumps({**plain, "checksum": checksum(plain)}, indent=1, ensure_ascii=False)
    return f"{text}\n".encode(errors="surrogatepass")  # names of files may hold bytes that are no text


def _checked_json(data: bytes) -> dict[str, Any] | None:
    """Return the object that JSON holds, if its checksum fits."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    fits = isinstance(found, dict) and found.get("checksum") == checksum(found)
    return found if fits else None


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
    added
        Files that came since the run was here last, by input.
    remarks
        What was found wrong with shards that seemed to be finished, a line each.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> asked = Manifest({}, {"study": {"a.parquet": "61"}}, {"draws": 200}, n_buckets=4)
    >>> with TemporaryDirectory() as folder:
    ...     with RunDirectory.new(f"{folder}/run", asked, overwrite=False) as run:
    ...         run.record("0-00000", "61", {"per_case/part-0-00000.parquet": b"rows"})
    ...     with RunDirectory.resumed(f"{folder}/run", asked) as run:
    ...         run.finished("0-00000", "61"), run.finished("0-00001", "61"), run.is_finished
    (True, False, False)
    """

    path: FilePath
    manifest: Manifest
    lock: Lock = field(repr=False)
    added: Mapping[str, list[str]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    @staticmethod
    def new(path: Path, manifest: Manifest, *, overwrite: bool, inputs: Iterable[Path] = ()) -> RunDirectory:
        """Begin a run.

        Parameters
        ----------
        path
            A directory that does not exist yet, or one that may be replaced.
        manifest
            What is asked.
        overwrite
            Allow results or a run to be replaced, whether finished or not.
        inputs
            Places besides the files of the manifest that stay as they are.

        Raises
        ------
        FormatError
            If the directory exists and may not be replaced, holds an input or anything that no run writes, or if
            another process writes into it.
        """
        kept = [*inputs, *_local_files(manifest)]
        if not overwrite and _is_unfinished(FilePath(path)):
            raise FormatError(
                "the output directory holds an unfinished run",
                got=str(path),
                advice="go on with --resume, or allow it to be replaced (overwrite=True, --overwrite)",
            )
        checked_directory_target(path, overwrite=overwrite, foreign=not_a_run, inputs=kept)
        with Lock.of_existing(FilePath(path) / LOCK):
            return _begun(path, manifest, overwrite=overwrite)

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
        then = _read_manifest(place)
        lock = Lock(place / LOCK)
        try:
            then = _read_manifest(place)
            _refuse_differences(then.differences(manifest), path)
            run = RunDirectory(place.resolve(), then.continued(manifest), lock, then.added(manifest))
            run._continue()
        except BaseException:
            lock.release()
            raise
        return run

    def _continue(self) -> None:
        """Remove what killed processes left; if files were added, the run is unfinished again."""
        with _told("the run cannot go on", self.path):
            shutil.rmtree(self._unfinished, ignore_errors=True)
            self._unfinished.mkdir(parents=True)
            if self.added:
                (self.path / FINISHED).unlink(missing_ok=True)
                self._write(self.path / MANIFEST, self.manifest.to_json())
        self._announce()

    def _announce(self) -> None:
        """Let Ctrl-C remove what is half written, and say how to go on."""
        UNDERWAY[str(self._unfinished)] = partial(shutil.rmtree, self._unfinished, ignore_errors=True)
        if not self.is_finished and self._note not in WRITTEN:
            WRITTEN.append(self._note)

    @property
    def _note(self) -> str:
        return f"{self.path} (unfinished: the same command with --resume goes on)"

    @property
    def _unfinished(self) -> FilePath:
        return self.path / UNFINISHED

    @property
    def is_finished(self) -> bool:
        """Whether results were published since the last change."""
        return (self.path / FINISHED).is_file()

    def reopen(self) -> None:
        """Count as unfinished from now on, as results are about to change."""
        with _told("the run cannot go on", self.path):
            (self.path / FINISHED).unlink(missing_ok=True)
        self._announce()

    def close(self) -> None:
        """Let other processes write into the directory."""
        UNDERWAY.pop(str(self._unfinished), None)
        with contextlib.suppress(OSError):  # what is left is removed by the next process
            self._unfinished.rmdir()
        self.lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # Journal ---------------------------------------------------------------------------------------------

    def finished(self, name: str, fingerprint: str) -> bool:
        """Tell whether a shard is finished: for this input, with all its outputs as they were written.

        If it seems to be and is not, a line of :attr:`remarks` says why.
        """
        place = self._journal(name)
        if not place.is_file():
            return False
        found = _journal_content(place)
        if found is None:
            wrong = "its journal was changed or truncated"
        elif found["fingerprint"] != fingerprint:
            wrong = "its input changed, or what was learned from all"
        else:
            wrong = self._fault_of_any(found["outputs"])
        if wrong:
            self.remarks.append(f"shard {name}: {wrong}; it is computed again")
        return not wrong

    def recorded(self, name: str) -> str | None:
        """Return the fingerprint that a shard was finished with, if its journal and its outputs are whole."""
        found = _journal_content(self._journal(name))
        return None if found is None or self._fault_of_any(found["outputs"]) else str(found["fingerprint"])

    def _fault_of_any(self, described: Mapping[str, Mapping[str, Any]]) -> str:
        return next(filter(None, (self._fault(*one) for one in described.items())), "")

    def _fault(self, output: str, described: Mapping[str, Any]) -> str:
        return _fault_of(self._place(output), output, described)

    def record(self, name: str, fingerprint: str, outputs: Mapping[str, bytes]) -> None:
        """Write the outputs of a shard, then its journal: from then on it is finished.

        Raises
        ------
        FormatError
            If the disk is full, or cannot be written otherwise; shards that were finished before stay so.
        """
        content = {
            "format": JOURNAL,
            "version": VERSION,
            "name": name,
            "fingerprint": fingerprint,
            "outputs": {output: _described(data) for output, data in outputs.items()},
        }
        with _told("a shard cannot be written", self.path):
            for output, data in outputs.items():
                self._write(self._place(output), data)
            self._write(self._journal(name), _with_checksum(content))

    def read(self, name: str, output: str) -> bytes:
        """Return an output of a finished shard.

        Raises
        ------
        FormatError
            If the shard has no such output, or if it is not as it was written.
        """
        outputs = self.outputs(name)
        wrong = self._fault(output, outputs[output]) if output in outputs else f"{output} is not in its journal"
        if wrong:
            raise FormatError(
                "an output of a finished shard cannot be used",
                got=wrong,
                where=f"{self.path}, shard {name}",
                advice="run again with --resume: it is computed again",
            )
        return self._place(output).read_bytes()

    def _journal(self, name: str) -> FilePath:
        return self._place(f"shards/{name}.json")

    def _place(self, output: str) -> FilePath:
        """Return where an output is; nothing leads out of the directory, whatever a journal says."""
        folder, *rest = output.split("/")
        if folder not in FOLDERS or not rest or not all(map(NAME.fullmatch, rest)) or not output.endswith(PARTS):
            raise FormatError(
                "this is no name of an output",
                expected=f"a file below one of {', '.join(FOLDERS)}, with the ending {' or '.join(PARTS)}",
                got=repr(output),
            )
        return self.path.joinpath(folder, *rest)

    def _write(self, target: FilePath, data: bytes) -> None:
        """Write a file under another name, and rename it once it is on the disk."""
        temporary = self._unfinished / secrets.token_hex(8)
        try:
            temporary.parent.mkdir(parents=True, exist_ok=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)

    # Results ---------------------------------------------------------------------------------------------

    def publish(self, files: Callable[[FilePath], None], journals: Iterable[str] | None = None) -> None:
        """Put the files of the results into the directory, ``run.json`` last: then the run is finished.

        Parameters
        ----------
        files
            Writes them into a directory that exists and is empty; ``run.json`` has to be among them.
        journals
            Names of the shards that belong to the results; outputs of others are removed. By default, all belong.

        Raises
        ------
        FormatError
            If the disk is full, or cannot be written otherwise: then the run is as it was before.
        """
        room = self._unfinished / secrets.token_hex(8)
        with _told("the results cannot be written", self.path):
            room.mkdir(parents=True)
            try:
                files(room)
                with undisturbed():
                    self._put(room, [*self._journals()] if journals is None else list(journals))
            finally:
                shutil.rmtree(room, ignore_errors=True)
        self.forget_input()

    def forget_input(self) -> None:
        """Remove the split input: nobody needs it once the run is finished."""
        shutil.rmtree(self.path / INPUT, ignore_errors=True)

    def _put(self, room: FilePath, journals: list[str]) -> None:
        written = sorted(place.relative_to(room) for place in room.rglob("*") if place.is_file())
        written.remove(FilePath(FINISHED))
        for name in (*written, FilePath(FINISHED)):
            _flush_file(room / name)
        (self.path / FINISHED).unlink(missing_ok=True)
        _flush_file(self.path)
        self._write(self.path / ALL, _with_checksum(self._described_all(room, journals)))
        self._remove_others(journals, {name.as_posix() for name in written})
        for name in written:
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (room / name).replace(self.path / name)
        _flush_file(self.path)
        (room / FINISHED).replace(self.path / FINISHED)
        WRITTEN[:] = [*(note for note in WRITTEN if note != self._note), str(self.path)]

    def _journals(self) -> Iterator[str]:
        """Name everything that has a journal."""
        places = sorted((self.path / "shards").glob("*.json"))
        return (place.stem for place in places if place.name != ALL.name)

    def _described_all(self, room: FilePath, journals: list[str]) -> dict[str, Any]:
        places = {place.relative_to(room).as_posix(): place for place in sorted(room.rglob("*")) if place.is_file()}
        return {
            "format": JOURNALS,
            "version": VERSION,
            "journals": {name: _described(self._journal(name).read_bytes()) for name in journals},
            "results": {name: _described(place.read_bytes()) for name, place in places.items() if name != REPORT},
        }

    def _remove_others(self, journals: list[str], written: Collection[str]) -> None:
        """Remove results of earlier times that are not written again, and what no shard of this run wrote."""
        kept = {*written, ALL.as_posix(), *(f"shards/{name}.json" for name in journals)}
        kept.update(output for name in journals for output in self.outputs(name))
        for name in self._own_files():
            if name not in kept:
                (self.path / name).unlink()

    def outputs(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """Return size and hash of every output that the journal of a shard names."""
        found = _journal_content(self._journal(name))
        return {} if found is None else found["outputs"]

    def _own_files(self) -> list[str]:
        """List results, journals and outputs of shards, but neither the split input nor what is half written."""
        top = [self.path / name for name in (REPORT, WHOLE, *FILES) if name != FINISHED]
        below = [place for folder in FOLDERS for place in sorted((self.path / folder).rglob("*"))]
        apart = {self.path / INPUT, self.path / UNFINISHED}
        return [
            place.relative_to(self.path).as_posix()
            for place in (*top, *below)
            if place.is_file() and apart.isdisjoint(place.parents)
        ]

    def faults(self) -> list[str]:
        """Say in what a finished run is no longer as it was when its results were written, a line each.

        The report is made of the results, and not compared.
        """
        found = _read_json(self.path / ALL)
        if found is None or found.get("format") != JOURNALS:
            return [f"{ALL.as_posix()} is missing or was changed"]
        files = {**{f"shards/{name}.json": about for name, about in found["journals"].items()}, **found["results"]}
        for name in found["journals"]:
            files.update(self.outputs(name))
        wrong = [_fault_of(self.path / name, name, about) for name, about in files.items()]
        known = {*files, ALL.as_posix(), REPORT}
        others = [f"{name} is of no shard" for name in self._own_files() if name not in known]
        return [*filter(None, wrong), *others]


def _begun(path: Path, manifest: Manifest, *, overwrite: bool) -> RunDirectory:
    """Put a directory with nothing but the manifest in the place of what was there, in one step."""
    with contextlib.ExitStack() as undone:
        with directory_written_whole(path, overwrite=overwrite, foreign=not_a_run) as fresh:
            (fresh / UNFINISHED).mkdir(parents=True)
            (fresh / MANIFEST).write_bytes(manifest.to_json())
            _flush_file(fresh / MANIFEST)
            lock = Lock(fresh / LOCK)
            undone.callback(lock.release)
        undone.pop_all()
    WRITTEN[:] = [note for note in WRITTEN if note != str(path)]
    run = RunDirectory(FilePath(path).resolve(), manifest, lock)
    run._announce()
    return run


def _local_files(manifest: Manifest) -> list[str]:
    return [file for files in manifest.inputs.values() for file in files if "://" not in file]


def is_run(path: Path) -> bool:
    """Tell whether a directory holds a run, finished or not.

    >>> is_run("no-such-directory")
    False
    """
    return (FilePath(path) / MANIFEST).is_file()


def _is_unfinished(place: FilePath) -> bool:
    return (place / MANIFEST).is_file() and not (place / FINISHED).is_file()


def not_a_run(place: FilePath) -> str:
    """Say what in a directory must not be lost; nothing if it holds a run or results, and nothing else."""
    if not (place / MANIFEST).is_file():
        return not_results(place)
    if _format_of(place / MANIFEST) != FORMAT:
        return f"a {MANIFEST} without the format {FORMAT!r}"
    return next(_foreign(place), "")


def _format_of(place: FilePath) -> Any:
    """Return the format that a manifest names, even if it is damaged: then there is nothing to lose in it."""
    try:
        named = re.search(rb'"format": "([^"]*)"', place.read_bytes())
    except OSError:
        return None
    return named and named[1].decode(errors="replace")


def _foreign(place: FilePath) -> Iterator[str]:
    """Name everything that no run writes."""
    for entry in sorted(place.iterdir()):
        if entry.name in FOLDERS and entry.is_dir() and not entry.is_symlink():
            yield from (found.relative_to(place).as_posix() for found in _foreign_parts(entry))
        elif entry.name not in TOP or entry.is_symlink() or not entry.is_file():
            yield entry.name


def _foreign_parts(folder: FilePath) -> Iterator[FilePath]:
    for found in sorted(folder.rglob("*")):
        known = found.is_dir() or OWN.fullmatch(found.name) or UNFINISHED.name in found.parts
        if found.is_symlink() or not known:
            yield found


def _read_manifest(place: FilePath) -> Manifest:
    try:
        data = (place / MANIFEST).read_bytes()
    except FileNotFoundError:
        raise FormatError(
            "this is not the directory of a run",
            expected=f"a {MANIFEST} in it",
            got=str(place),
            advice="without --resume, a run begins in a directory that does not exist yet",
        ) from None
    except OSError as error:
        raise FormatError(
            "the manifest of the run cannot be read", got=str(error.strerror), where=str(place)
        ) from error
    return Manifest.from_json(data, str(place / MANIFEST))


def _refuse_differences(lines: list[str], path: Path) -> None:
    if not lines:
        return
    rest = len(lines) - MOST_DIFFERENCES
    shown = lines[:MOST_DIFFERENCES] + ([f"and {rest} more"] if rest > 0 else [])
    raise FormatError(
        "the run was asked something else, and cannot go on",
        expected="the same options, versions and input; files may be added",
        got=("\n" + " " * 12).join(shown),
        where=str(path),
        advice="give what it was begun with, or begin another run in another directory",
    )


def _fault_of(place: FilePath, name: str, described: Mapping[str, Any]) -> str:
    """Say in what a file is not as it was written, if so."""
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        return f"{name} is missing"
    except OSError as error:
        return f"{name} cannot be read ({error.strerror})"
    return "" if _described(data) == described else f"{name} was changed or truncated"


def _journal_content(place: FilePath) -> dict[str, Any] | None:
    """Return what a journal says, if it is whole."""
    found = _read_json(place)
    fits = found is not None and found.get("format") == JOURNAL and f"{found.get('name')}.json" == place.name
    return found if fits else None


def _read_json(place: FilePath) -> dict[str, Any] | None:
    try:
        return _checked_json(place.read_bytes())
    except OSError:
        return None


def _described(data: bytes) -> dict[str, Any]:
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _flush_file(place: FilePath) -> None:
    """Wait until a file, or the names in a directory, are on the disk."""
    if place.is_dir() and os.name != "posix":
        return  # elsewhere directories cannot be opened
    number = os.open(place, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextlib.contextmanager
def _told(problem: str, path: FilePath) -> Iterator[None]:
    """Turn what the system says into an error in words."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM or "No space left" in str(error):
            raise FormatError(
                "the disk is full", got=str(error.strerror or error), where=str(path), advice=GO_ON
            ) from error
        raise FormatError(problem, got=str(error.strerror or error).lower(), where=str(path)) from error
