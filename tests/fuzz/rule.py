"""The rule: a file is accepted or refused with one clear error, and what is accepted is read as a naive reader does."""

import csv
import faulthandler
import io
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, Literal

import numpy as np
import polars as pl

from dissensus import DissensusError, DissensusWarning, Study, examine
from dissensus.predictions.reader import examine_predictions
from fuzz.mutations import mutated
from fuzz.naive_reader import READERS, DoubtError, Said
from fuzz.seeds import Seed, seeds

PATIENCE = 20
"""Seconds that a file of some kilobytes may take."""


class FindingError(Exception):
    """A file on which the rule does not hold."""


class HangError(BaseException):
    """Reading does not end."""


def verdict(seed: Seed, content: bytes, folder: Path, *, told: bool = False) -> Literal["accepted", "refused"]:
    """Read a mutant as its seed is read, its format ``told`` or recognised, and see whether the rule holds."""
    path = seed.written(folder, content)
    options = {**seed.options, **({"format": seed.format} if told else {})}
    try:
        with in_time(), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", DissensusWarning)
            read: Any = examine if seed.holds == "annotations" else examine_predictions
            reading = read(path, **options)
    except DissensusError as error:
        if not error.problem or path.name not in error.where:
            raise FindingError(f"an error without a place: {error}") from error
        return "refused"
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise FindingError(f"{type(error).__name__}: {str(error)[:200]}") from error
    if seed.holds == "annotations":
        _compare(reading, seed, content, path)
    return "accepted"


@contextmanager
def in_time() -> Iterator[None]:
    """Interrupt what takes too long, where the system can."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise HangError

    faulthandler.dump_traceback_later(3 * PATIENCE, exit=True)  # for what does not come back to Python
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        faulthandler.cancel_dump_traceback_later()


def _compare(reading: Any, seed: Seed, content: bytes, path: Path) -> None:
    """Read what was accepted once more, by another route."""
    if reading.receipt.format not in READERS or path.is_dir():
        return
    name = path.name
    if path.suffix == ".parquet":  # as text, cell by cell, where every cell has one way to be written
        table = pl.read_parquet(content)
        if not all(dtype == pl.String or dtype.is_integer() for dtype in table.dtypes):
            return
        file = io.StringIO()
        rows = [["" if cell is None else str(cell) for cell in row] for row in table.iter_rows()]
        csv.writer(file).writerows([table.columns, *rows])
        content, name = file.getvalue().encode(), "table.csv"
    try:
        naive = READERS[reading.receipt.format](content, name, seed.options.get("conditions"))
    except DoubtError as doubt:
        raise FindingError(
            f"accepted as {reading.receipt.format}, though the naive reader doubts it: {doubt}"
        ) from doubt
    said = _said(reading.study)
    if said != naive:
        different = next((pair for pair in zip(said, naive, strict=False) if pair[0] != pair[1]), (said, naive))
        raise FindingError(
            f"read differently as {reading.receipt.format}: {str(different[0])[:300]} / {str(different[1])[:300]}"
        )


def _said(study: Study) -> Said:
    """Write a study out as the naive reader does."""
    pairs = zip(study.panel.annotators.tolist(), study.votes.tolist(), strict=True)
    who = [study.annotator_names[code] if code >= 0 else None if n == 1 else f"{n} voters" for code, n in pairs]
    once = replace(study, panel=replace(study.panel, votes=np.ones(study.n_opinions, dtype=np.int64)))
    names = iter(who)
    return [
        (case, [(next(names), [tuple(sorted(block)) for block in ranking]) for ranking in rankings])
        for case, rankings in zip(study.case_names, once.to_rankings(), strict=True)
    ]


def mutant(number: int, seed: int) -> tuple[Seed, bytes, bool]:
    """Make one mutant, the same for the same numbers: its seed, its bytes, and whether its format is told."""
    chance = Random(f"{seed}/{number}")
    chosen = seeds()[number % len(seeds())]
    others = [other.content for other in seeds() if other.holds == chosen.holds]
    return chosen, mutated(chosen.content, others, chance), chance.random() < 0.3
