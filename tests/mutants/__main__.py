"""Break the code in small ways, one at a time, in a copy, and see whether the tests notice: ``make mutants``.

Every mutant is a line of ``mutants.toml``: a file, a piece of it, what takes its place, and the tests that should fail.
Survivors are printed, and the exit code is their number.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "docs", "examples", "benchmarks", "pyproject.toml", "README.md", "CONTRIBUTING.md")
PATIENCE = 600
"""Seconds after which tests that do not end count as having noticed."""


@dataclass(frozen=True)
class Mutant:
    """One way to break the code, and who should notice."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: {' '.join(self.old.split())!r} -> {' '.join(self.new.split())!r}"


def mutants() -> list[Mutant]:
    """Read the list."""
    rows = tomllib.loads((Path(__file__).parent / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    return [Mutant(row["file"], row["old"], row["new"], tuple(row["tests"])) for row in rows]


def copied(place: Path) -> Path:
    """Copy what tests need into a directory, the data beside it."""
    copy = place / "project"
    copy.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, symlinks=True)
        else:
            shutil.copy2(source, copy / name)
    if (ROOT.parent / "shared").is_dir():
        (place / "shared").symlink_to(ROOT.parent / "shared")
    return copy


def survives(mutant: Mutant, copy: Path) -> bool:
    """Tell whether the tests pass on the mutant."""
    path = copy / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.file}: {text.count(mutant.old)} places hold {mutant.old!r}, expected one")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "0", *mutant.tests]
    here = {**os.environ, "PYTHONPATH": str(copy / "src")}
    try:
        outcome = subprocess.run(
            command, check=False, cwd=copy, env=here, capture_output=True, text=True, timeout=PATIENCE
        )
        if outcome.returncode not in (0, 1, 2):
            raise SystemExit(f"the tests of {mutant} did not run:\n{outcome.stdout[-2000:]}{outcome.stderr[-2000:]}")
        return outcome.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_text(text, encoding="utf-8")


def main() -> None:
    """Try all mutants, or those whose file or tests hold one of the words given."""
    words = sys.argv[1:]
    chosen = [one for one in mutants() if not words or any(word in str(one) for word in words)]
    workers = os.cpu_count() or 1
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as room, ThreadPoolExecutor(workers) as pool:
        copies: Queue[Path] = Queue()
        for number in range(workers):
            copies.put(copied(Path(room) / str(number)))

        def tried(mutant: Mutant) -> bool:
            copy = copies.get()
            try:
                return survives(mutant, copy)
            finally:
                copies.put(copy)

        survivors = []
        for mutant, alive in zip(chosen, pool.map(tried, chosen), strict=True):
            print("SURVIVES" if alive else "dies    ", mutant, flush=True)
            survivors += [mutant] if alive else []
    print(f"{len(chosen)} mutants, {len(survivors)} survive, {time.monotonic() - began:.0f} s")
    for mutant in survivors:
        print(f"  {mutant}")
    raise SystemExit(min(len(survivors), 100))


if __name__ == "__main__":
    main()
