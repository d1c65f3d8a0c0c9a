"""Where workers keep the files of a run: a directory that all of them see, or an address of an object store.

A file appears whole or not at all, whoever writes it and however often. Addresses are those that ``fsspec`` knows.
"""

from __future__ import annotations

import os
import platform
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, BinaryIO, cast

from dissensus.core.bundle import restored
from dissensus.core.errors import FormatError
from dissensus.core.output import told
from dissensus.pieces.inputs import at_address, is_address

PIECES, UNFINISHED = "pieces", "pieces/unfinished"
TABLES = ("per_case", "certainty")
GO_ON = "finished pieces are kept: make room and run again with --resume"
SHARED = "let all workers see the same directory, or keep the pieces in an object store (scratch=, --scratch s3://...)"


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
    ...     here.read("pieces/a", 1, 2), here.has("pieces/b"), here.names("pieces")
    (b'um', False, {'pieces/a'})
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

    def read(self, name: str, first: int = 0, size: int = -1) -> bytes:
        """Read a file, or a part of it."""
        with self.opened(name) as file:
            file.seek(first)
            return file.read(size)

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
            where = f"process {os.getpid()} on {platform.node()}"
            raise FormatError(
                "a worker does not see the directory of the run", got=self.root, where=where, advice=SHARED
            )
