"""Where published data comes from: its files, addresses and checksums, and what to say when it is not there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path as FilePath
from types import ModuleType
from typing import TYPE_CHECKING

from dissensus.core.errors import DissensusError, FormatError, MissingExtraError, listing
from dissensus.core.files import checked_path
from dissensus.core.receipt import Note

if TYPE_CHECKING:
    from dissensus.core.arrays import Path

PIECE = 1 << 20


@dataclass(frozen=True)
class PublishedFile:
    """One file of a data set.

    Attributes
    ----------
    name
        What it is called.
    sha256
        Checksum of the published file, empty where it is not known.
    address
        Where it can be fetched for good, empty where there is no such place.
    """

    name: str
    sha256: str = ""
    address: str = ""


@dataclass(frozen=True)
class Publication:
    """A published data set: what it is called, what belongs to it, and who allows what.

    Attributes
    ----------
    title, name
        What people call it, and its name in code: ``load_NAME``, ``fetch_NAME``.
    folder
        The folder in which it is looked for.
    files
        The files that it needs.
    origin, licence
        Where to get it, in words, and on what terms.
    """

    title: str
    name: str
    folder: str
    files: tuple[PublishedFile, ...]
    origin: str
    licence: str

    def located(self, path: Path) -> FilePath:
        """Return the directory with all files, or say which were looked for and which are missing."""
        directory = _directory(path, self)
        missing = [file.name for file in self.files if not (directory / file.name).is_file()]
        if missing:
            raise FormatError(
                f"files of the {self.title} are missing",
                expected=listing((file.name for file in self.files), most=9),
                got=f"no {listing(missing, most=9)}",
                where=str(directory),
                advice=self.advice,
            )
        return directory

    def single(self, path: Path, names: Sequence[str] = ()) -> FilePath:
        """Return the one file of a data set: the path itself, or the file of this name in a directory."""
        place = checked_path(path)
        if not place.is_dir():
            return place
        names = (*(file.name for file in self.files), *names)
        found = [place / name for name in names if (place / name).is_file()]
        if not found:
            raise FormatError(
                f"there is no file of the {self.title}",
                expected=" or ".join(map(repr, names)),
                where=str(place),
                advice=self.advice,
            )
        return found[0]

    @property
    def advice(self) -> str:
        """Where to get the data."""
        fetch = f", or call paper.data.fetch_{self.name}()" if self.is_fetchable else ""
        return f"get it from {self.origin}{fetch}"

    @property
    def is_fetchable(self) -> bool:
        """Whether every file has a lasting address and a known checksum."""
        return all(file.address and file.sha256 for file in self.files)

    def notes(self, paths: Iterable[FilePath]) -> tuple[Note, ...]:
        """Name the files whose contents are not those that were published."""
        known = {file.name: file.sha256 for file in self.files if file.sha256}
        other = [path.name for path in paths if path.name in known and checksum(path) != known[path.name]]
        found = f"files of the {self.title} with other contents than the published ones"
        return (Note(found, len(other), "read all the same", tuple(other)),) if other else ()

    def fetch(self, directory: Path | None = None) -> FilePath:
        """Download the files that are not there yet, check them, and return the directory."""
        if not self.is_fetchable:
            raise DissensusError(
                f"the {self.title} cannot be fetched",
                expected="a lasting address and a known checksum for every file",
                got=f"none for {listing(file.name for file in self.files)}",
                advice=f"get it from {self.origin}, and load it from there",
            )
        pooch = _pooch()
        target = FilePath(directory) if directory is not None else FilePath(pooch.os_cache("dissensus")) / self.folder
        for file in self.files:
            _fetched(pooch, file, target, self)
        return target


def _directory(path: Path, publication: Publication) -> FilePath:
    place = FilePath(path)
    if not place.is_dir():
        raise FormatError(
            "there is no such directory" if not place.exists() else "this is not a directory",
            expected=f"a directory with {listing((file.name for file in publication.files), most=9)}",
            got=str(place),
            advice=publication.advice,
        )
    return place


def checksum(path: FilePath) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _pooch() -> ModuleType:
    try:
        return import_module("pooch")
    except ImportError as error:
        raise MissingExtraError(
            "fetching data needs a package that is not installed",
            expected="pooch",
            advice="install it (pip install --group paper), or download the files yourself and load them",
        ) from error


def _fetched(pooch: ModuleType, file: PublishedFile, target: FilePath, publication: Publication) -> None:
    """Download one file; what cannot be reached or has other contents is named, and nothing of it is kept."""
    try:
        pooch.retrieve(file.address, known_hash=f"sha256:{file.sha256}", fname=file.name, path=target)
    except OSError as error:  # what requests raises when there is no connection is one, too
        raise DissensusError(
            f"{file.name} cannot be fetched",
            expected=file.address,
            got=f"{type(error).__name__}: {str(error).partition('(Caused')[0]:.120}",
            advice=f"is there a connection? Otherwise get it from {publication.origin}, and load it from there",
        ) from error
    except ValueError as error:
        raise DissensusError(
            f"{file.name} has other contents than the published file",
            expected=f"sha256 {file.sha256}",
            where=file.address,
            advice=f"get it from {publication.origin}, and load it from there",
        ) from error
