"""Read thousands of spoiled files and see whether the rule holds: ``make fuzz``.

There are two generators, of spoiled bytes and of whole files with other types, and as many mutants of each. Every
mutant follows from two numbers, the seed of the run and its own::

    python -m fuzz --mutants 20000 --seed 1

What breaks the rule is made smaller, kept in ``regressions`` and read by the tests from then on; the exit code is 1.
"""

import argparse
import hashlib
import sys
import time
from collections import Counter
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz.rule import FindingError, mutant, verdict
from fuzz.seeds import Seed, seeds
from fuzz.typed_mutations import typed_mutant, typed_seeds

REGRESSIONS = Path(__file__).parent / "regressions"
MOST_TRIES = 3000


def main() -> int:
    """Run, print how many mutants of each format were accepted and refused, and tell what was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Read spoiled files of every format.")
    parser.add_argument("--mutants", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    findings: Counter[str] = Counter()
    slowest = 0.0
    with TemporaryDirectory() as folder:
        for make, number in product((mutant, typed_mutant), range(given.mutants)):
            seed, content, told = make(number, given.seed)
            begin = time.perf_counter()
            try:
                counts[f"{seed.holds} {seed.format}", verdict(seed, content, Path(folder), told=told)] += 1
            except FindingError as finding:
                counts[f"{seed.holds} {seed.format}", "found"] += 1
                findings[f"{seed.format}: {_kind(finding)}"] += 1
                if findings[f"{seed.format}: {_kind(finding)}"] == 1:
                    print(
                        f"found: {seed.id}, mutant {number}: {finding}\n  kept as {kept(seed, content, told, folder)}"
                    )
            slowest = max(slowest, time.perf_counter() - begin)
    _tell(counts, slowest)
    return 1 if findings else 0


def _kind(finding: FindingError) -> str:
    return str(finding).partition(":")[0] if "naive" not in str(finding) else str(finding)


def kept(seed: Seed, content: bytes, told: bool, folder: str) -> str:
    """Keep a file on which the rule does not hold, after making it smaller."""
    small = _smaller(seed, content, told, Path(folder))
    name = f"{seed.id}--{'told' if told else 'seen'}-{hashlib.sha256(small).hexdigest()[:8]}"
    REGRESSIONS.mkdir(exist_ok=True)
    (REGRESSIONS / name).write_bytes(small)
    return name


def _smaller(seed: Seed, content: bytes, told: bool, folder: Path) -> bytes:
    """Take pieces away for as long as the same is found."""
    wanted, size, tries = _found(seed, content, told, folder), max(1, len(content) // 2), 0
    while size:
        at = 0
        while at < len(content) and tries < MOST_TRIES:
            tries += 1
            less = content[:at] + content[at + size :]
            if less and _found(seed, less, told, folder) == wanted:
                content = less
            else:
                at += size
        size //= 2
    return content


def _found(seed: Seed, content: bytes, told: bool, folder: Path) -> str:
    try:
        return verdict(seed, content, folder, told=told)
    except FindingError as finding:
        return _kind(finding)


def from_regression(path: Path) -> tuple[Seed, bytes, bool]:
    """Return a kept file as a mutant of its seed."""
    name, _, rest = path.name.partition("--")
    known = (*seeds(), *(seed for seed, _ in typed_seeds()))
    seed = next(seed for seed in known if seed.id == name)
    return seed, path.read_bytes(), rest.startswith("told")


def _tell(counts: Counter[tuple[str, str]], slowest: float) -> None:
    for one in sorted({one for one, _ in counts}):
        print(f"{one:<28}" + "".join(f"{word} {counts[one, word]:>6}   " for word in ("accepted", "refused", "found")))
    total = {word: sum(number for (_, one), number in counts.items() if one == word) for _, word in counts}
    print(f"{sum(counts.values())} mutants: {total}; the slowest took {slowest:.2f} s")


if __name__ == "__main__":
    sys.exit(main())
