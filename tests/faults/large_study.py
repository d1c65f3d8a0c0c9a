"""A study in Parquet files that is evaluated piece by piece."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

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
