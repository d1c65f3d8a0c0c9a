"""A study in Parquet files that is evaluated piece by piece, and the command line as processes that can be killed."""

import multiprocessing
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_calls import Outcome, told
from faults.small_study import PATIENCE, until

CONDITIONS = ("Acne", "Eczema", "Lupus", "Tinea")
LEARNS, LEARNS_NOTHING = "plackett-luce:3", "dirichlet:1"
"""Plackett-Luce learns from all cases how frequent conditions are, the other one learns nothing."""

PIECES = 8


def words_of(*more: str, aggregation: str = LEARNS, out: str = "run") -> tuple[str, ...]:
    """Return the command that evaluates the study in some pieces."""
    return (
        *("evaluate", "study", "--predictions", "A=A", "--out", out, "--shard-size", "5", "--draws", "30"),
        *("--aggregation", aggregation, "--metric", "top-k-accuracy:1", "--no-report", *more),
    )


EVALUATE = words_of()
RESUME = words_of("--resume")


def put_cases(
    folder: Path, numbers: Sequence[int], *, file: str = "1", conditions: Sequence[str] = CONDITIONS, salt: int = 0
) -> None:
    """Write a file of opinions on some cases, and one of predictions for them."""
    put_opinions(folder, numbers, file=file, conditions=conditions, salt=salt)
    put_predictions(folder, numbers, file=file)


def put_opinions(
    folder: Path, numbers: Sequence[int], *, file: str, conditions: Sequence[str] = CONDITIONS, salt: int = 0
) -> None:
    """Write what two of three annotators say on each of some cases."""
    rows = []
    for number in numbers:
        chance = np.random.default_rng([number, salt])
        for annotator in chance.choice(["Ann", "Bo", "Cy"], 2, replace=False):
            first, second = chance.choice(list(conditions), 2, replace=False)
            who = f"{annotator}{salt or ''}"
            rows += [(f"c{number}", who, first, 1), (f"c{number}", who, second, 2)]
    _write(folder / "study" / f"{file}.parquet", rows, ["case", "annotator", "condition", "rank"])


def put_predictions(folder: Path, numbers: Sequence[int], *, file: str) -> None:
    """Write what the model says on some cases."""
    chances = [np.random.default_rng([number, 99]).dirichlet(np.ones(len(CONDITIONS))) for number in numbers]
    rows = [(f"c{number}", *map(float, scores)) for number, scores in zip(numbers, chances, strict=True)]
    _write(folder / "A" / f"{file}.parquet", rows, ["case", *CONDITIONS])


def _write(place: Path, rows: Sequence[tuple[object, ...]], columns: list[str]) -> None:
    place.parent.mkdir(exist_ok=True, parents=True)
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(place)


def put_large_study(folder: Path) -> None:
    """Write the study of the tests."""
    put_cases(folder, range(5 * PIECES))


def copied(source: Path, target: Path) -> Path:
    """Copy a study, and the runs beside it; times stay, as the files are the same."""
    shutil.copytree(source, target, dirs_exist_ok=True)
    return target


def content_of(run: Path) -> dict[str, bytes]:
    """Return every file of a run but the one that says which process was there."""
    files = sorted(place for place in run.rglob("*") if place.is_file() and place.name != ".lock")
    return {place.relative_to(run).as_posix(): place.read_bytes() for place in files}


def results_of(run: Path) -> dict[str, bytes]:
    """Return what users read: everything but what is below ``pieces``, and the manifest."""
    found = content_of(run)
    return {name: data for name, data in found.items() if not name.startswith(("pieces/", "manifest"))}


def sums_of(run: Path) -> dict[str, int]:
    """Return when the sums of every finished piece were written, by the name of the file."""
    return {place.name: place.stat().st_mtime_ns for place in (run / "pieces").glob("*.sums")}


@dataclass(frozen=True)
class Folder:
    """A folder with the study, in which the command runs within this process."""

    place: Path
    patch: pytest.MonkeyPatch

    @property
    def run(self) -> Path:
        return self.place / "run"

    def call(self, *words: str) -> Outcome:
        return told(self.place, *words, piped=True)


# Processes ----------------------------------------------------------------------------------------------


def processes() -> ForkServerContext:
    """Return what starts processes that have imported everything already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["faults.large_study", "faults.everything_imported"])
    return context


def command_here(folder: str, words: Sequence[str]) -> None:
    """Be the command line from now on; what it says goes into files beside the folder."""
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{folder}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdin, sys.argv = open(os.devnull), ["dissensus", *words]  # noqa: PTH123, SIM115 - until the process ends
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    from dissensus import cli

    run = cli._run
    cli._run = lambda: (Path(f"{folder}.ready").touch(), run())  # type: ignore[assignment,func-returns-value]
    cli.main()


def begun(folder: Path, words: Sequence[str]) -> ForkServerProcess:
    """Start the command line in a folder, and wait until its first line is about to run."""
    ready = Path(f"{folder}.ready")
    ready.unlink(missing_ok=True)
    process = processes().Process(target=command_here, args=(str(folder), words))
    process.start()
    until(ready.exists, "the command does not begin")
    return process


def ended(
    process: ForkServerProcess, folder: Path, *, number: int | None = None, moment: float | None = None
) -> Outcome:
    """Send a signal to a process some time from now, if it still runs, and wait for its end."""
    if number is not None:
        process.join(moment)
        if process.exitcode is None:
            assert process.pid is not None
            os.kill(process.pid, number)
    process.join(PATIENCE)
    assert process.exitcode is not None, "the process does not end"
    texts = [Path(f"{folder}.{name}") for name in ("out", "err")]
    return Outcome(process.exitcode, *(text.read_text() if text.exists() else "" for text in texts))
