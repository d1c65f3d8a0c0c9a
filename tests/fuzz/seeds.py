"""One good file of every format, or several: what the fuzzer starts from. All of it is made up."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import polars as pl

from format_examples import EXAMPLES

RICH = Path(__file__).with_suffix(".json")
"""Files with more in them than the examples: what each holds, its format and name, its content, and options."""


@dataclass(frozen=True)
class Seed:
    """A good file: what it holds, its format and name, its bytes, and the options to read it with.

    A directory has several files, of which the first is mutated.
    """

    holds: Literal["annotations", "predictions"]
    format: str
    name: str
    files: dict[str, bytes]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.holds}-{self.format}-{self.name.replace('.', '-')}"

    @property
    def content(self) -> bytes:
        return next(iter(self.files.values()))

    @property
    def is_directory(self) -> bool:
        return list(self.files) != [self.name]

    def renamed(self, name: str) -> Seed:
        """Return the same file under another name, which may have another ending."""
        return replace(self, name=name, files={name: self.content})

    def written(self, folder: Path, content: bytes) -> Path:
        """Write the file, or the directory, with another content of its first file."""
        files = {**self.files, next(iter(self.files)): content}
        for name, data in files.items():
            place = folder / name
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(data)
        return folder / self.name


def _written(name: str, content: Any) -> bytes:
    """Return the bytes of a file of text, of a table that is written as Parquet, or of one array or several."""
    file = io.BytesIO()
    if isinstance(content, dict):
        np.savez_compressed(file, allow_pickle=False, **{key: np.array(one) for key, one in content.items()})
    elif isinstance(content, list):
        np.save(file, np.array(content))
    elif name.endswith(".parquet"):
        pl.read_csv(content.encode()).write_parquet(file)
    else:
        return bytes(content.encode())
    return file.getvalue()


@cache
def seeds() -> tuple[Seed, ...]:
    """Return all seeds: those of the laws of formats, and richer ones."""
    rich = json.loads(RICH.read_text(encoding="utf-8"))
    made = (Seed(holds, known_as, name, {name: _written(name, one)}, how) for holds, known_as, name, one, how in rich)
    return (*_examples(), *made)


def _examples() -> list[Seed]:
    found = []
    with TemporaryDirectory() as folder:
        for example in EXAMPLES:
            place = example.file(Path(folder))
            inside = sorted(place.iterdir()) if place.is_dir() else [place]
            files = {file.relative_to(folder).as_posix(): file.read_bytes() for file in inside}
            found.append(Seed("annotations", example.format, example.name, files, example.options))
    return found
