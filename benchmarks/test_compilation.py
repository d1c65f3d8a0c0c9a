"""Compiling all kernels, in fresh processes and with an empty cache: what the first use takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from measuring import Record, seconds

SCRIPT = Path(__file__).parent / "every_kernel.py"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Compile each kernel once, and none twice, one after another."""
    found: dict[str, Any] = json.loads(run(tmp_path_factory.mktemp("cache"), str(SCRIPT)))
    assert found["never"] == []
    assert found["repeatedly"] == []
    return found


def run(cache: Path, *words: str) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=True).stdout


def test_compilation_of_all_kernels(compiled: dict[str, Any], tmp_path: Path, record: Record) -> None:
    """Do what the first command does: all kernels, in two processes on two processors."""
    start = "from dissensus.compilation import compile_kernels; compile_kernels()"
    taken = seconds(lambda: run(tmp_path, "-c", start))
    record(
        what=f"compile all {compiled['kernels']} kernels, once, as the first command does",
        value=taken,
        limit=25.0,
        unit="s",
    )


@pytest.mark.parametrize("part", ["aggregating", "all"])
def test_compilation_one_after_another(compiled: dict[str, Any], record: Record, part: str) -> None:
    what = "those of aggregation" if part == "aggregating" else "all"
    record(what=f"compile {what}, one after another", value=compiled[part], unit="s of processor")
