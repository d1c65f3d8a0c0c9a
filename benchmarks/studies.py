"""The study that benchmarks run on."""

from __future__ import annotations

import json
from pathlib import Path

from dissensus import Study, simulate

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "dermatology_ddx"


def published_or_simulated() -> Study:
    """Give the published differential diagnoses where they are at hand, else simulated ones of the same size."""
    if not DATA.is_dir():
        return simulate.study(n_cases=1947, n_conditions=419, seed=0).annotations
    names = (DATA / "dermatology_conditions.txt").read_text(encoding="utf-8").splitlines()
    return Study.from_rankings(json.loads((DATA / "dermatology_selectors.json").read_text()), names)
