"""The published data beside the project; tests that need it are skipped where it is absent."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the published data is not beside the project")


def dermatology() -> Any:
    """Read the published differential diagnoses, with all conditions in their order."""
    from dissensus import read

    folder = SHARED / "dermatology_ddx"
    conditions = (folder / "dermatology_conditions.txt").read_text(encoding="utf-8").splitlines()
    return read(folder / "dermatology_selectors.json", conditions=conditions)


@cache
def vandyke() -> tuple[dict[str, dict[str, list[float]]], list[int]]:
    """Read the ratings of five readers under two treatments, and the truth (Van Dyke and others 1993)."""
    import polars as pl

    table = pl.read_csv(SHARED / "vandyke" / "vandyke.csv").sort("treatment", "reader", "case")
    rated: dict[str, dict[str, list[float]]] = {}
    for (treatment, reader), rows in table.group_by("treatment", "reader", maintain_order=True):
        rated.setdefault(str(treatment), {})[str(reader)] = rows["rating"].to_list()
    return rated, table.filter(treatment=1, reader=1)["truth"].to_list()
