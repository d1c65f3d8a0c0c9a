"""Runs of ``dissensus evaluate`` on studies larger than memory, and what their directories tell about them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scale.processes import Watched, watched
from scale.study import NAMES

COMMAND = Path(sys.executable).with_name("dissensus")
ASKED = ("--aggregation", "plackett-luce:1", "--metric", "top-k-accuracy:3", "--metric", "set-accuracy:3",
         "--draws", "200")  # fmt: skip
PLAIN = ("--annotators", "fixed", "--no-panel")
THREADS = ("--threads", "2")
WORKERS = ("--workers", "2", "--threads", "1")
AT_ONCE = 2
"""Shards that are under way at the same time, on two threads or two workers."""

JOURNALS, EXAMINED = "pieces/*.sums", "pieces/*.survey"
"""Files for every shard that is finished, and for every one that was looked at."""

CONTENTS = {
    "split input": ("input/**/*",),
    "sums": ("pieces/*.sums", "pieces/*.survey", "pieces/*.bundle"),
    "per-case tables": ("per_case/*.parquet", "certainty/*.parquet"),
}
"""What stands where below the directory of a run; its split input is kept apart."""


@dataclass(frozen=True)
class Stages:
    """Seconds of the parts of a run, one after the other, by when its files were written.

    Attributes
    ----------
    split
        From the start until the input was split by case.
    before
        Until the first look begins.
    first
        The first look at all shards, wherever that is done.
    between
        What is learned from all of them, and a sample of the cases: one process.
    second
        The evaluation of all shards, wherever that is done.
    end
        From the last shard until the end: sums put together, results and report written, by one process.
    """

    split: float
    before: float
    first: float
    between: float
    second: float
    end: float

    @staticmethod
    def of(place: Path, seen: Watched) -> Stages:
        """Look at the files."""
        split = max(times_of(place, "input/index"))
        looked, looking = span_of(times_of(place, EXAMINED))
        done, doing = span_of(times_of(place, JOURNALS))
        began, ended = seen.began, seen.began + seen.seconds
        return Stages(
            split - began, looked - looking - split, looking, done - doing - looked, doing, max(0.0, ended - done)
        )

    @property
    def alone(self) -> float:
        """Seconds in which one process works, before the evaluation."""
        return self.split + self.before + self.between


def times_of(place: Path, pattern: str) -> list[float]:
    """Return when files were written, the earliest first, in seconds since 1970."""
    return sorted(file.stat().st_mtime for file in place.glob(pattern))


def span_of(times: Sequence[float]) -> tuple[float, float]:
    """Return when the last of some shards was finished, and how long all took, if the first took as long as others.

    Two are under way at a time, so that the time of so few is not to be told: it is 0, and counts for what was before.

    >>> span_of([12.0, 12.0, 14.0, 14.0, 16.0, 16.0]), span_of([12.0, 12.0])
    ((16.0, 6.0), (12.0, 0.0))
    """
    n_shards, last = len(times), times[-1]
    if n_shards <= AT_ONCE:
        return last, 0.0
    return last, (last - times[AT_ONCE - 1]) * n_shards / (n_shards - AT_ONCE)


@dataclass(frozen=True)
class Run:
    """What is known of a finished run.

    Attributes
    ----------
    n_cases, n_shards
        Size of the study.
    seen
        Time and memory of the command.
    stages
        Time of its parts.
    disk
        Bytes by what they hold: split input, sums, per-case tables.
    n_files
        How many files there are.
    summary
        The numbers that came out.
    """

    n_cases: int
    n_shards: int
    seen: Watched
    stages: Stages
    disk: Mapping[str, int]
    n_files: int
    summary: bytes

    @staticmethod
    def of(place: Path, n_cases: int, seen: Watched) -> Run:
        """Look at the directory of a run."""
        shards = list((place / "input").glob("[0-9]*-*"))
        return Run(
            n_cases,
            len(shards),
            seen,
            Stages.of(place, seen),
            {name: size_of(place, patterns) for name, patterns in CONTENTS.items()},
            sum(file.is_file() and place / "input" not in file.parents for file in place.rglob("*")),
            (place / "summary.json").read_bytes(),
        )

    @property
    def seconds_per_case(self) -> float:
        """Time of the whole command by case."""
        return self.seen.seconds / self.n_cases


def keep_input(place: Path, kept: Path) -> bool:
    """Keep the split input of a run, which removes it at its end, once all of it is there; the run may go on."""
    if not kept.exists() and any(place.glob(EXAMINED)):
        (split,) = (place / "pieces").glob("input-*")
        shutil.copytree(split, kept, copy_function=os.link)
    return False


def size_of(place: Path, patterns: Sequence[str]) -> int:
    """Add up the bytes of files."""
    files = (file for pattern in patterns for file in place.glob(pattern))
    return sum(file.stat().st_size for file in files if file.is_file())


@dataclass(frozen=True)
class Bench:
    """Studies below a directory, and runs on them.

    Attributes
    ----------
    place
        The directory.
    """

    place: Path

    def study(self, n_cases: int) -> Path:
        """Return where the study of so many cases is."""
        return self.place / f"study-{n_cases}"

    def out(self, name: str) -> Path:
        """Return where a run is."""
        return self.place / f"run-{name}"

    def command(self, name: str, n_cases: int, *options: str) -> list[str]:
        """Write the command of a run."""
        study = self.study(n_cases)
        models = [part for model in NAMES for part in ("--predictions", f"{model}={study / model}")]
        return [str(COMMAND), "evaluate", str(study / "study"), *models, "--out", str(self.out(name)), *ASKED, *options]

    def run(self, name: str, n_cases: int, *options: str, rounds: int = 1) -> Run:
        """Run the command from the beginning, and return the fastest of some rounds."""
        return min((self._once(name, n_cases, options) for _ in range(rounds)), key=lambda run: run.seen.seconds)

    def _once(self, name: str, n_cases: int, options: Sequence[str]) -> Run:
        shutil.rmtree(self.out(name), ignore_errors=True)
        kept = self.place / "input"
        shutil.rmtree(kept, ignore_errors=True)
        seen = watched(self.command(name, n_cases, *options), until=partial(keep_input, self.out(name), kept))
        kept.rename(self.out(name) / "input")
        return Run.of(self.out(name), n_cases, seen)

    def resumed(self, name: str, n_cases: int, *options: str) -> Watched:
        """Run the command with ``--resume``."""
        return watched([*self.command(name, n_cases, *options), "--resume"])

    def killed(self, name: str, n_cases: int, *options: str, after: int) -> Watched:
        """Begin a run, and kill it once so many shards are finished."""
        place = self.out(name)
        shutil.rmtree(place, ignore_errors=True)

        def far_enough() -> bool:
            return len(list(place.glob(JOURNALS))) >= after

        return watched(self.command(name, n_cases, *options), until=far_enough)
