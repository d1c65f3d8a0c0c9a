"""The published data beside the project; tests that need it are skipped where it is absent."""

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
