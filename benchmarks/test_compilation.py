"""Compiling all kernels, in a fresh process and with an empty cache: what the first use takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

SCRIPT = Path(__file__).parent / "every_kernel.py"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Compile each kernel once, and none twice; only what nothing but a test calls is left out."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    command = [sys.executable, str(SCRIPT)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["never"] == ["randomness.beta"]
    assert found["repeatedly"] == []
    return found


@pytest.mark.parametrize("part", ["aggregating", "all"])
def test_compilation(compiled: dict[str, Any], benchmark: BenchmarkFixture, part: str) -> None:
    what = (
        "the kernels of all aggregations" if part == "aggregating" else f"all {compiled['kernels']} kernels and parts"
    )
    benchmark.extra_info.update(
        what=f"compile {what}, once",
        value=compiled[part],
        unit="s of processor",
        **({"limit": 20.0} if part == "aggregating" else {}),
    )
    benchmark.pedantic(SCRIPT.stat, rounds=1)
