"""Reading a long CSV of a million rows, against polars reading the same file and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl
import pytest

from dissensus import read
from measuring import Record, in_turn

N_CASES = 200_000


@pytest.fixture(scope="module")
def long_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 1 000 000 rows: 200 000 cases, two annotators each, two or three ranked conditions of 419."""
    rng = np.random.default_rng(0)
    per_case = np.array([0, 0, 0, 1, 1])
    case = np.repeat(np.arange(N_CASES), 5)
    annotator = (case * 7 + np.tile(per_case, N_CASES) * 13) % 40
    rank = np.tile([1, 2, 3, 1, 2], N_CASES)
    condition = (np.repeat(rng.integers(419, size=N_CASES), 5) + np.tile([0, 5, 9, 3, 31], N_CASES)) % 419
    frame = pl.DataFrame({"case": case, "annotator": annotator, "condition": condition, "rank": rank}).select(
        pl.format("case-{}", pl.col("case").cast(pl.String).str.zfill(6)).alias("case"),
        pl.format("dr-{}", "annotator").alias("annotator"),
        pl.format("condition-{}", pl.col("condition").cast(pl.String).str.zfill(3)).alias("condition"),
        "rank",
    )
    path = tmp_path_factory.mktemp("long") / "long.csv"
    frame.write_csv(path)
    return path


def test_time_of_reading_a_million_rows(long_csv: Path, record: Record) -> None:
    """At most 3 times what polars alone takes, in the median of five runs."""
    said = read(long_csv)
    assert (said.n_cases, said.n_rankings, len(said.codes)) == (N_CASES, 2 * N_CASES, 5 * N_CASES)
    pairs = [in_turn(lambda: read(long_csv), lambda: pl.read_csv(long_csv), rounds=3) for _ in range(5)]
    ratio = median(pair.ratio for pair in pairs)
    record(what="read 1 000 000 rows / polars alone, median of five", ratio=ratio, limit=3.0)


MEMORY_SCRIPT = """
import sys
import polars as pl, numpy as np
from dissensus import read
sys.path.insert(0, sys.argv[2])
from measuring import peak_memory
small = sys.argv[1] + ".small.csv"
with open(sys.argv[1]) as file, open(small, "w") as head:
    head.writelines(file.readline() for _ in range(100))
read(small)
before = peak_memory()
read(sys.argv[1])
print(peak_memory() - before)
"""


def test_memory_of_reading_a_million_rows(long_csv: Path, record: Record) -> None:
    """Below 10 times the size of the file, above an interpreter that has read a small file."""
    command = [sys.executable, "-c", MEMORY_SCRIPT, str(long_csv), str(Path(__file__).parent)]
    grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    ratio = grown / long_csv.stat().st_size
    record(what="peak memory of reading / file size", ratio=ratio, limit=10.0)
