"""Where compiled kernels are kept, and how they are known to be whole and fresh.

Numba keeps what it compiles in the folder that ``numba.config.CACHE_DIR`` names when a function is declared. Left to
itself it would notice changes in the file of a kernel only, not in those of the functions that the kernel includes, and
it would fail on a damaged file. So every kernel has a folder of its own, ``<place>/<name>/<kernel>``:

- ``name`` is a hash of all that the machine code depends on: the sources of all kernels, the versions of Numba,
  llvmlite, NumPy and Python, the processor, and settings of Numba. When any of these changes, another folder is used,
  so nothing can be stale; the older ones are removed when all kernels are in the new one.
- ``place`` is the first of three that can be used: the folder that the user gave Numba (``NUMBA_CACHE_DIR``), the
  ``__pycache__`` of this package, and the user's own cache folder. Numba reads its files with pickle, which runs what
  it reads; therefore the folder has to belong to the user, and nobody else may write to it.
- In the folder of a kernel is a *seal*, the SHA-256 of each of its files, written when they were. Before a process uses
  a kernel it compares the two; where anything differs, is missing or cannot be read, the files are removed and the
  kernel is compiled anew. Processes that compile the same kernel at once can break the seal at worst.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name

KERNELS = Path(__file__).parent
SEAL = "seal.json"
COMPLETE = "complete.json"

SETTINGS = (
    "BOUNDSCHECK",
    "CPU_FEATURES",
    "CPU_NAME",
    "DEBUGINFO_DEFAULT",
    "DISABLE_INTEL_SVML",
    "ENABLE_AVX",
    "LOOP_VECTORIZE",
    "OPT",
    "SLP_VECTORIZE",
)
"""Settings of Numba, each also an environment variable, that change machine code but not the names of its files."""

_declaring = threading.Lock()


def numba_setting(name: str) -> Any:
    """Return what Numba was told, by an environment variable or otherwise; nothing where it knows no such setting."""
    return getattr(numba.config, name, "")


# Names --------------------------------------------------------------------------------------------------


@cache
def folder_name() -> str:
    """Name the folder of all kernels by what their machine code depends on.

    The first part stands for the package and the machine, the second for the code: of the folders with the same first
    part only one can be of use again.
    """
    settings = [repr(numba_setting(name)) for name in SETTINGS]
    machine = (str(KERNELS), str(sys.implementation.cache_tag), platform.system(), *_processor(), *settings)
    versions = (numba.__version__, llvmlite.__version__, np.__version__, platform.python_version())
    return f"dissensus-{_digest(machine)[:12]}-{_digest((*versions, *_sources()))[:20]}"


def _processor() -> tuple[str, str, str]:
    try:
        features = get_host_cpu_features().flatten()
    except RuntimeError:  # what llvmlite raises where LLVM cannot tell
        features = ""
    return platform.machine(), get_host_cpu_name(), features


def _sources() -> Iterator[str]:
    """Describe all sources of kernels; before version 0.68 Numba looks at the time of a file, later at its content."""
    for path in sorted(KERNELS.glob("*.py")):
        yield path.name
        yield hashlib.sha256(path.read_bytes()).hexdigest()
        if numba.version_info.short < (0, 68):
            yield repr(path.stat().st_mtime)


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


# Places -------------------------------------------------------------------------------------------------


@cache
def folder() -> Path | None:
    """Return the folder of all kernels, ready to be used, or None when there is nowhere to keep them."""
    candidates = (place / folder_name() for place in places())
    return next((candidate for candidate in candidates if is_ready(candidate)), None)


def places() -> Iterator[Path]:
    """List the places where kernels may be kept, the best first."""
    if chosen := numba_setting("CACHE_DIR"):
        yield Path(chosen).absolute()
    yield KERNELS / "__pycache__"
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home
        return
    yield user_cache(platform.system(), os.environ, home) / "dissensus"


def user_cache(system: str, environment: Mapping[str, str], home: Path) -> Path:
    """Return where the programs of a user keep what they can make anew.

    >>> user_cache("Linux", {}, Path("/u/ada")).as_posix()
    '/u/ada/.cache'
    >>> user_cache("Linux", {"XDG_CACHE_HOME": "/scratch/ada"}, Path("/u/ada")).as_posix()
    '/scratch/ada'
    """
    if system == "Windows":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local")
    if system == "Darwin":
        return home / "Library" / "Caches"
    chosen = Path(environment.get("XDG_CACHE_HOME", ""))
    return chosen if chosen.is_absolute() else home / ".cache"


def is_ready(candidate: Path) -> bool:
    """Tell whether a folder can be written, by nobody but the user; make it if need be."""
    try:
        candidate.parent.mkdir(parents=True, exist_ok=True)
        candidate.mkdir(mode=0o700, exist_ok=True)
        if not is_private(candidate):
            return False
        tempfile.TemporaryFile(dir=candidate).close()
    except OSError:  # then the next place is tried
        return False
    return True


def is_private(candidate: Path) -> bool:
    """Tell whether a folder is the user's own and nobody else may write to it; on Windows its place ensures that."""
    status = candidate.lstat()
    if os.name == "nt":
        return stat.S_ISDIR(status.st_mode)
    others_may_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not others_may_write


@contextmanager
def kept_in(kernel_folder: Path) -> Iterator[None]:
    """Let Numba keep in a folder what is declared meanwhile, and restore what it was told to do with other code."""
    ours = {"CACHE_DIR": str(kernel_folder), "CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    with _declaring:
        before = {setting: numba_setting(setting) for setting in ours}
        try:
            for setting, value in ours.items():
                setattr(numba.config, setting, value)
            yield
        finally:
            for setting, value in before.items():
                setattr(numba.config, setting, value)


# Seals --------------------------------------------------------------------------------------------------


def is_intact(kernel_folder: Path) -> bool:
    """Tell whether the files of a kernel are those that were sealed."""
    try:
        sealed = json.loads((kernel_folder / SEAL).read_bytes())
        return bool(sealed) and sealed == _digests(kernel_folder)
    except (OSError, ValueError):  # not there, not readable or no JSON
        return False


def seal(kernel_folder: Path) -> None:
    """Write down what the files of a kernel hold."""
    _write(kernel_folder / SEAL, _digests(kernel_folder))


def discard(kernel_folder: Path) -> bool:
    """Remove the files of a kernel; tell whether none is left."""
    try:
        for path in (kernel_folder / SEAL, *_files(kernel_folder)):
            path.unlink(missing_ok=True)
    except OSError:  # then the folder cannot be used
        return False
    return True


def _files(kernel_folder: Path) -> list[Path]:
    """List the indices and the machine code that Numba has written; what it is writing has another name."""
    return sorted(kernel_folder.rglob("*.nb[ic]"))


def _digests(kernel_folder: Path) -> dict[str, str]:
    files = _files(kernel_folder)
    return {path.relative_to(kernel_folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _write(path: Path, content: object) -> None:
    """Write a file that is either there as a whole or not at all."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=path.name, delete=False, encoding="utf-8") as file:
        json.dump(content, file)
    Path(file.name).replace(path)


# All kernels --------------------------------------------------------------------------------------------


def is_complete(whole: Path) -> bool:
    """Tell whether a folder has all kernels, each of them intact."""
    try:
        names = json.loads((whole / COMPLETE).read_bytes())
        return bool(names) and all(is_intact(whole / name) for name in names)
    except (OSError, ValueError, TypeError):  # not there, not readable, no JSON or no list
        return False


def complete(whole: Path, names: Collection[str]) -> None:
    """Write down which kernels there are, and remove the folders that this one replaces."""
    _write(whole / COMPLETE, sorted(names))
    machine, _, _ = whole.name.rpartition("-")
    for older in whole.parent.glob(f"{machine}-*"):
        if older != whole:
            shutil.rmtree(older, ignore_errors=True)  # another process may be removing it too


def clear(whole: Path) -> None:
    """Remove all kernels from a folder."""
    (whole / COMPLETE).unlink(missing_ok=True)
    for kernel_folder in whole.iterdir():
        discard(kernel_folder)
