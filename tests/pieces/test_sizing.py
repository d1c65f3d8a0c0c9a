"""The arithmetic from what was measured of scale to what a study needs."""

import doctest
import importlib
import json
import re
from dataclasses import fields, replace
from typing import Any

import pytest

from scale.constants import Constants
from scale.processes import Watched
from scale.runs import Run, Stages
from scale.sizing import PAGE, RESULTS, TABLES, Need, filled

COSTS: dict[str, Any] = {"fixed_seconds": 3.0, "split_seconds": 0.002, "first_seconds": 0.002, "second_seconds": 0.004}
COSTS |= {"split_bytes": 100.0, "table_bytes": 50.0, "sum_bytes": 10_000.0}
KNOWN = Constants(cases_per_shard=1000.0, end_seconds=0.5, files=4.0, tasks_per_second=100.0, **COSTS)


# Arithmetic ----------------------------------------------------------------------------------------------


def test_needs_follow_from_what_a_case_a_shard_and_a_task_cost() -> None:
    need = Need(100_000, KNOWN, shard_size=1000)
    assert (need.n_shards, need.core_seconds, need.scheduler_seconds) == pytest.approx((100, 850.0, 5.0))
    assert (need.seconds(4), need.seconds(1000)) == pytest.approx((3.0 + 212.5, 3.0 + 8.5))
    slow = Need(100_000, replace(KNOWN, tasks_per_second=10.0), shard_size=1000)
    assert slow.seconds(1000) == pytest.approx(3.0 + 50.0)
    assert (need.disk, need.n_files, need.most_cores) == pytest.approx((15e6 + 1e6, 400.0, 850 / 5))
    assert Need(100_000, KNOWN, shard_size=10_000).scheduler_seconds == pytest.approx(0.5)


def run_of(n_cases: int, n_shards: int, stages: Stages) -> Run:
    disk = {"split input": 100 * n_cases, "sums": 7 * n_shards, "per-case tables": 50 * n_cases}
    return Run(n_cases, n_shards, Watched(0.0, sum(vars(stages).values()), 0), stages, disk, 9 + 4 * n_shards, b"")


def test_constants_give_back_the_runs_that_they_are_taken_from() -> None:
    small = run_of(1000, 1, Stages(2.0 + 0.1, 0.2, 0.5, 0.3, 1.5, end=1.0 + 0.2))
    large = run_of(10_000, 10, Stages(2.0 + 1.0, 2.0, 5.0, 3.0, 15.0, end=1.0 + 2.0))
    known = Constants.of([small, large], 100.0)
    seconds = known.fixed_seconds, known.split_seconds, known.first_seconds, known.second_seconds, known.end_seconds
    assert seconds == pytest.approx((3.0, 12e-4, 1e-3, 3e-3, 0.2))
    assert (known.files, known.sum_bytes, known.table_bytes) == pytest.approx((4.0, 7.0, 50.0))
    assert Need(10_000, known, shard_size=1000).seconds(2) == pytest.approx(3.0 + 6.0 + 5.0 + 15.0 + 1.0)


# What is told --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["constants", "runs", "sizing", "study"])
def test_examples_of_docstrings_hold(module: str) -> None:
    found = doctest.testmod(importlib.import_module(f"scale.{module}"))
    assert found.attempted
    assert not found.failed


def test_the_tables_of_the_guide_are_those_of_the_results() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert set(results["constants"]) == {field.name for field in fields(Constants)}
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text, results) == text, "run: PYTHONPATH=benchmarks python -m scale.sizing"
    assert sorted(re.findall(r"<!-- scale: (\w+) -->", text)) == sorted(TABLES)
