"""A simulated study of any size, written piece by piece: ``python -m scale.study 1000000 DIRECTORY``.

A piece is 10 000 cases and a file of every table, some 100 000 rows each. It has a seed of its own, so that a case does
not depend on how many others there are, and pieces can be made by several processes, which need little memory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl

from dissensus import Predictions, Study, simulate
from dissensus.simulate.differential_study import MODELS

PIECE = 10_000
CONDITIONS, ANNOTATORS = 419, 100
NAMES = ("Aster", "Birch")
"""Models that are simulated: one has learnt single labels, the other whole differential diagnoses."""

TABLES = ("study", *NAMES)
MOST_PIECES = 1_000_000
"""Seeds of the next study begin behind those of so many pieces."""


@dataclass(frozen=True)
class Piece:
    """Cases that stand in one file of every table."""

    number: int
    n_cases: int
    seed: int

    def tables(self) -> dict[str, pl.DataFrame]:
        """Simulate the cases: what the annotators said, and what each model did."""
        study = simulate.study(
            n_cases=self.n_cases,
            n_conditions=CONDITIONS,
            n_annotators=ANNOTATORS,
            models={name: MODELS[name] for name in NAMES},
            seed=MOST_PIECES * self.seed + self.number,
        )
        first = self.number * PIECE
        cases = pl.Series("case", [f"case {first + place:09d}" for place in range(self.n_cases)])
        models = {name: scores_of(study.predictions[name], cases) for name in NAMES}
        return {"study": opinions_of(study.annotations, cases), **models}

    def write(self, place: Path) -> int:
        """Write a file of every table; return the number of rows."""
        tables = self.tables()
        for name, rows in tables.items():
            rows.write_parquet(place / name / f"part-{self.number:05d}.parquet")
        return sum(map(len, tables.values()))


def pieces_of(n_cases: int, seed: int = 0) -> Iterator[Piece]:
    """Split cases into pieces; the last one may be smaller.

    >>> [piece.n_cases for piece in pieces_of(25_000)]
    [10000, 10000, 5000]
    """
    for number, first in enumerate(range(0, n_cases, PIECE)):
        yield Piece(number, min(PIECE, n_cases - first), seed)


def opinions_of(said: Study, cases: pl.Series) -> pl.DataFrame:
    """Write a row for every condition that an annotator mentions, ranks from 1."""
    ranking = said.ranking_of_mention
    block = np.repeat(np.arange(len(said.block_sizes)), said.block_sizes)
    case = np.repeat(np.arange(said.n_cases), said.rankings_per_case)
    return pl.DataFrame(
        {
            "case": cases[case[ranking]],
            "annotator": pl.Series(said.annotator_names)[said.annotators[ranking]],
            "condition": pl.Series(said.conditions)[said.codes],
            "rank": 1 + block - said.block_offsets[ranking],
        }
    )


def scores_of(model: Predictions, cases: pl.Series) -> pl.DataFrame:
    """Write a row for every condition that a model lists."""
    return pl.DataFrame(
        {
            "case": cases[model.case_of_entry],
            "condition": pl.Series(model.conditions)[model.codes],
            "score": model.values,
        }
    )


def write_study(place: Path, n_cases: int, *, seed: int = 0, processes: int = 2) -> int:
    """Write a study as directories of Parquet files below a place; return the number of rows."""
    for name in TABLES:
        (place / name).mkdir(parents=True)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        return sum(pool.map(partial(Piece.write, place=place), pieces_of(n_cases, seed)))


if __name__ == "__main__":
    print(write_study(Path(sys.argv[2]), int(sys.argv[1])), "rows")
