"""Wide tables as people have them: columns of annotators are taken, and others are found."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dissensus import DissensusError
from dissensus.core.files import Source
from dissensus.study.reading.format import Options
from dissensus.study.reading.guesses import columns_by_shared_labels
from dissensus.study.reading.wide import Wide
from rare import rare


def is_taken(table: pl.DataFrame) -> bool:
    try:
        Wide().parse(Source(Path("a.csv"), "table", table), Options())
    except DissensusError as error:
        assert "annotators of one question" in error.problem  # noqa: PT017 - either outcome is counted
        return False
    return True


def wide_table(rng: np.random.Generator, sizes: tuple[int, int, int], agreement: float, missing: float) -> pl.DataFrame:
    """Simulate readers who name the truth or something else, frequent conditions more often than rare ones."""
    n_cases, n_readers, n_conditions = sizes
    shares = 1 / np.arange(1, n_conditions + 1)
    shares /= shares.sum()
    truth = rng.choice(n_conditions, n_cases, p=shares)
    other = rng.choice(n_conditions, (n_cases, n_readers), p=shares)
    said = np.where(rng.random((n_cases, n_readers)) < agreement, truth[:, None], other)
    silent = rng.random((n_cases, n_readers)) < missing
    columns = {
        f"reader {reader}": [
            None if s else f"condition {c}" for s, c in zip(silent[:, reader], said[:, reader], strict=True)
        ]
        for reader in range(n_readers)
    }
    return pl.DataFrame(
        {"case": [f"c{case}" for case in range(n_cases)], **columns}, schema_overrides=dict.fromkeys(columns, pl.String)
    )


@pytest.mark.parametrize(("n_cases", "most_refused"), [(10, 0.03), *rare([(20, 0.005), (100, 0.0)])])
def test_wide_tables_of_real_studies_are_taken(n_cases: int, most_refused: float) -> None:
    rng = np.random.default_rng(n_cases)
    designs = list(product((3, 5, 10), (2, 5, 20, 100, 400), (0.4, 0.6, 0.8), (0.0, 0.3)))
    taken = [
        is_taken(wide_table(rng, (n_cases, readers, conditions), agreement, missing))
        for readers, conditions, agreement, missing in designs
    ]
    assert 1 - np.mean(taken) <= most_refused


def test_a_single_label_in_common_does_not_make_an_annotator() -> None:
    remarks = pl.Series([*(f"remark {number}" for number in range(30)), "a"])
    heard = {"Ann": pl.Series([*"abab"]), "Bo": pl.Series([*"baab"]), "comment": remarks}
    assert columns_by_shared_labels(heard, set()) == [["Ann", "Bo"], ["comment"]]


@pytest.mark.parametrize("added", ["age", "sex", "comment"])
def test_a_column_of_something_else_is_always_found(added: str) -> None:
    rng = np.random.default_rng(3)
    others = {
        "age": lambda case: str(20 + case),
        "sex": lambda case: "fm"[case % 2],
        "comment": lambda case: f"remark number {case}",
    }
    for conditions in (2, 20, 400):
        table = wide_table(rng, (40, 3, conditions), 0.6, 0.1)
        column = pl.Series(added, [others[added](case) for case in range(40)])
        assert is_taken(table)
        assert not is_taken(table.with_columns(column))
