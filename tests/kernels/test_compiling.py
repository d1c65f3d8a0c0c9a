"""How kernels are compiled, kept on disk and called."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core.dispatcher import Dispatcher

import dissensus
from dissensus.kernels.jit import KERNEL_RULES, keep_on_disk
from dissensus.kernels.winning_sets import one_in_choices

PACKAGE = Path(dissensus.__file__).parent

DRAW = """
import hashlib
from dissensus import Dirichlet, PlackettLuce, simulate_study
said = simulate_study(n_cases=6).annotations
for aggregation in (Dirichlet(), PlackettLuce(reliability=1.3)):
    draws = aggregation.sample(said, draws=30)
    print(hashlib.sha256(b"".join(batch.values.tobytes() for batch in draws)).hexdigest())
"""

COUNT_COMPILED = """
from dissensus.kernels.resamples import case_weights, fill_weights
import numpy as np
case_weights(np.uint64(1), np.arange(3).astype(np.uint64), 4)
print(sum(fill_weights.stats.cache_misses.values()))
"""


def run(script: str, cache: Path, *, package: Path = PACKAGE) -> list[str]:
    """Run a script in a process of its own, with a cache and a copy of the package; return the lines it prints."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(package.parent)}
    command = [sys.executable, "-P", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_draws_are_the_same_when_numba_compiles_in_its_own_way(tmp_path: Path) -> None:
    """A version of Numba that is not known gets its usual passes."""
    unknown = "import numba; numba.version_info = numba.version_info._replace(short=(99, 0))\n"
    check = "from dissensus.kernels.jit import KERNEL_RULES; assert ('pipeline_class' in KERNEL_RULES) == {}\n"
    ours = run(check.format(True) + DRAW, tmp_path / "ours")
    assert len(ours) == 2
    assert run(unknown + check.format(False) + DRAW, tmp_path / "numba") == ours


def test_a_kernel_is_compiled_again_when_the_source_of_any_other_changes(tmp_path: Path) -> None:
    package = tmp_path / "dissensus"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    compiled = [run(COUNT_COMPILED, tmp_path / "cache", package=package) for _ in range(2)]
    assert compiled == [["1"], ["0"]]
    with (package / "kernels" / "rest.py").open("a") as file:
        file.write("\nUNUSED = 0\n")
    assert run(COUNT_COMPILED, tmp_path / "cache", package=package) == ["1"]


def test_an_inner_function_refuses_to_be_called_from_python() -> None:
    for _ in range(2):
        with pytest.raises(TypeError):
            one_in_choices(5, 2)


def test_kernels_work_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(Dispatcher, "enable_caching", refuse)
    kernel = numba.njit(**KERNEL_RULES)(lambda x: x + 1)
    keep_on_disk(kernel)
    assert kernel(1) == 2
    assert kernel.stats.cache_path is None
