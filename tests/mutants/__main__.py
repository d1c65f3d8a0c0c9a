"""Break the code in small ways, one at a time, in a copy, and see whether the tests notice: ``make mutants``.

Every mutant is an entry of the file of its package (``PACKAGE.toml``): the mistake it stands for, a file, a piece
of it, what takes its place, and the tests that should fail. They have to pass on the code as it is, so that a
broken test kills nobody. Survivors are printed, and those whose tests did not end; the exit code is their number.
Words choose the mutants in which one of them occurs::

    python -m mutants comparison kernels
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "paper", "docs", "examples", "pyproject.toml", "README.md", "CONTRIBUTING.md")
PATIENCE = 300
"""Seconds after which tests are not waited for any longer."""

NO_END = f"no end after {PATIENCE} s"

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Mutant:
    """One way to break the code, and who should notice."""

    mistake: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: {self.mistake} ({' '.join(self.old.split())!r} -> {' '.join(self.new.split())!r})"


def mutants() -> list[Mutant]:
    """Read the lists of all packages."""
    files = sorted(Path(__file__).parent.glob("*.toml"))
    rows = [row for file in files for row in tomllib.loads(file.read_text(encoding="utf-8"))["mutant"]]
    return [Mutant(row["mistake"], row["file"], row["old"], row["new"], tuple(row["tests"])) for row in rows]


def copied(copy: Path) -> Path:
    """Copy what tests need into a new directory."""
    copy.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, copy / name)
    return copy


@contextmanager
def broken(mutant: Mutant, copy: Path) -> Iterator[None]:
    """Break a copy, and mend it afterwards; its time is restored too, by which Numba knows what it compiled."""
    path = copy / mutant.file
    text, status = path.read_text(encoding="utf-8"), path.stat()
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.file}: {text.count(mutant.old)} places hold {mutant.old!r}, expected one")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def complaint(tests: Iterable[str], copy: Path, patience: float | None = PATIENCE) -> str:
    """Run tests in a copy; return the end of what they say if any does not pass, nothing otherwise."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "0", "-m", "", *tests]
    here = {**os.environ, "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}", "HYPOTHESIS_PROFILE": "mutants"}
    try:
        outcome = subprocess.run(
            command, check=False, cwd=copy, env=here, capture_output=True, text=True, timeout=patience
        )
    except subprocess.TimeoutExpired:
        return NO_END
    return f"{outcome.stdout[-2000:]}{outcome.stderr[-2000:]}" if outcome.returncode else ""


def fate(mutant: Mutant, copy: Path) -> str:
    """Try a mutant: it survives if its tests pass; if they do not end, which is no test that fails, that is told."""
    with broken(mutant, copy):
        said = complaint(mutant.tests, copy)
    return "SURVIVES" if not said else "NO END" if said == NO_END else "dies"


def in_copies(room: Path, function: Callable[[Item, Path], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Apply a function to every item and to a copy that nobody else uses meanwhile; results are in order."""
    copies: Queue[Path] = Queue()
    for copy in sorted(room.iterdir()):
        copies.put(copy)

    def applied(item: Item) -> Result:
        copy = copies.get()
        try:
            return function(item, copy)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(copies.qsize()) as pool:
        yield from pool.map(applied, items)


def check_tests(room: Path, chosen: Sequence[Mutant]) -> None:
    """Refuse to go on if a test fails before anything is broken; every copy runs its share of them."""
    tests, n_copies = sorted({test for mutant in chosen for test in mutant.tests}), len(list(room.iterdir()))
    shares = [tests[number::n_copies] for number in range(min(n_copies, len(tests)))]
    failed = [said for said in in_copies(room, lambda own, copy: complaint(own, copy, None), shares) if said]
    if failed:
        raise SystemExit("\n".join(["tests fail before anything is broken:", *failed]))
    print(f"the tests of {len(tests)} places pass on the code as it is", flush=True)


def main() -> None:
    """Try all mutants, or those in which one of the words given occurs."""
    words, began = sys.argv[1:], time.monotonic()
    chosen = [one for one in mutants() if not words or any(word in str(one) for word in words)]
    left: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(os.cpu_count() or 1):
            copied(Path(folder) / str(number))
        check_tests(Path(folder), chosen)
        for mutant, found in zip(chosen, in_copies(Path(folder), fate, chosen), strict=True):
            print(f"{found:8} {mutant}", flush=True)
            left += [f"{found:8} {mutant}"] if found != "dies" else []
    survivors, endless = (sum(line.startswith(word) for line in left) for word in ("SURVIVES", "NO END"))
    seconds = time.monotonic() - began
    print(f"{len(chosen)} mutants, {survivors} survive, {endless} without an end, {seconds:.0f} s", *left, sep="\n  ")
    raise SystemExit(min(len(left), 100))


if __name__ == "__main__":
    main()
