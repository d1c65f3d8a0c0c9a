"""What is measured: runs of several sizes, interrupted ones, on a cluster, and with more asked of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dissensus.workers import local_cluster
from scale.constants import Constants
from scale.processes import baseline
from scale.runs import PLAIN, THREADS, WORKERS, Bench, Run
from scale.scheduler import tasks_per_second
from scale.study import write_study

MIDDLE = 100_000
"""Cases of the runs that are not about size."""

MOST_SECONDS, INSTEAD = 20 * 60, 300_000
"""If the largest study would take longer, one of so many cases is taken instead."""

MEMORY_LIMIT, GROWTH_LIMIT, DASK_LIMIT = 1000.0, 1.15, 1.25
SHORT, ROUNDS = 30_000, 3
"""Studies up to so many cases are evaluated so often, and the fastest run counts."""

PLAIN_ON_THREADS = (*PLAIN, *THREADS)


@dataclass
class Measured:
    """Collect rows (what was measured, its value, and its limit if there is one), and notes."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, what: str, value: float, unit: str = "", *, limit: float | None = None) -> None:
        """Note a value, and tell it at once."""
        bounded = {} if limit is None else {"limit": limit}
        self.rows.append({"what": what, "value": float(f"{value:.4g}"), "unit": unit, **bounded})
        say(f"{what}: {value:.4g} {unit}" + (f" (at most {limit:g})" if limit is not None else ""))


def failures(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name what is above its limit."""
    return [row["what"] for row in rows if row["value"] > row.get("limit", float("inf"))]


def say(text: str) -> None:
    """Tell how far it is."""
    print(text, file=sys.stderr, flush=True)


def measure(bench: Bench, sizes: Sequence[int]) -> dict[str, Any]:
    """Measure everything; give the rows, and the constants that follow."""
    found = Measured()
    runs = measure_sizes(bench, sizes, found)
    middle = min(runs, key=lambda run: abs(run.n_cases - MIDDLE))
    measure_resumption(bench, middle, found)
    measure_dask(bench, middle, found)
    measure_costs(bench, middle, found)
    cluster = partial(local_cluster, 1, threads=2)
    known = Constants.of(runs, tasks_per_second(cluster))
    return {"measured": found.rows, "notes": found.notes, "constants": vars(known)}


# Size ----------------------------------------------------------------------------------------------------


def measure_sizes(bench: Bench, sizes: Sequence[int], found: Measured) -> list[Run]:
    """Run studies of different sizes on two threads."""
    libraries = baseline()
    found.add("interpreter and libraries alone", libraries / 1e6, "MB")
    runs: list[Run] = []
    for wanted in sizes:
        n_cases = affordable(wanted, runs)
        if n_cases < wanted:
            found.notes.append(
                f"{wanted:,} cases would have taken over {MOST_SECONDS // 60} minutes; {n_cases:,} instead."
            )
            say(found.notes[-1])
        written_study(bench, n_cases)
        rounds = ROUNDS if n_cases <= SHORT else 1
        runs.append(bench.run(str(n_cases), n_cases, *PLAIN_ON_THREADS, rounds=rounds))
        tell_size(runs[-1], libraries, found)
    first, last = runs[0], runs[-1]
    ratio = last.seconds_per_case / first.seconds_per_case
    found.add(f"time per case: {last.n_cases:,} cases / {first.n_cases:,}", ratio, limit=GROWTH_LIMIT)
    for content, size in last.disk.items():
        found.add(f"disk: {content}", size / last.n_cases, "bytes a case")
    return runs


def affordable(wanted: int, runs: Sequence[Run]) -> int:
    """Take a smaller study where the one that is wanted would take too long, as far as runs before it tell."""
    seconds = wanted * runs[-1].seconds_per_case if runs else 0.0
    return wanted if seconds <= MOST_SECONDS else min(wanted, INSTEAD)


def written_study(bench: Bench, n_cases: int) -> None:
    """Write a study unless it is there."""
    if not bench.study(n_cases).exists():
        began = time.perf_counter()
        rows = write_study(bench.study(n_cases), n_cases)
        say(f"a study of {n_cases:,} cases, {rows:,} rows, written in {time.perf_counter() - began:.0f} s")


def tell_size(run: Run, libraries: int, found: Measured) -> None:
    """Note time and memory of a run."""
    cases = f"{run.n_cases:,} cases"
    stages = run.stages
    found.add(f"{cases}: in all", run.seen.seconds, "s")
    found.add(f"{cases}: in all", 1 / run.seconds_per_case, "cases/s")
    if stages.second:
        found.add(f"{cases}: the evaluation of shards alone", run.n_cases / stages.second, "cases/s")
    found.add(f"{cases}: start, and the input split", stages.split, "s")
    found.add(f"{cases}: until the evaluation begins", stages.before + stages.first + stages.between, "s")
    found.add(f"{cases}: after the last shard", stages.end, "s")
    found.add(
        f"{cases}: memory above interpreter and libraries", (run.seen.peak - libraries) / 1e6, "MB", limit=MEMORY_LIMIT
    )


# Interruptions -------------------------------------------------------------------------------------------


def measure_resumption(bench: Bench, whole: Run, found: Measured) -> None:
    """Kill a run when half of the shards are finished, go on with it, and then once more with nothing to do."""
    name, cases = "resumed", f"{whole.n_cases:,} cases"
    killed = bench.killed(name, whole.n_cases, *PLAIN_ON_THREADS, after=whole.n_shards // 2)
    rest = bench.resumed(name, whole.n_cases, *PLAIN_ON_THREADS)
    if (bench.out(name) / "summary.json").read_bytes() != whole.summary:
        raise SystemExit("a run that was killed and resumed gave another summary than one that was not")
    ratio = (killed.seconds + rest.seconds) / whole.seen.seconds
    found.add(f"{cases}: killed after half of the shards and resumed / not interrupted", ratio)
    nothing = bench.resumed(name, whole.n_cases, *PLAIN_ON_THREADS)
    found.add(f"{cases}: --resume where all is finished", nothing.seconds, "s")


# Clusters, and what more costs ---------------------------------------------------------------------------


def measure_dask(bench: Bench, whole: Run, found: Measured) -> None:
    """Compare two workers of a local cluster with two threads of one process, in turn, the better of two runs each."""
    cases = f"{whole.n_cases:,} cases"
    pairs = [
        (bench.run("dask", whole.n_cases, *PLAIN, *WORKERS), bench.run("threads", whole.n_cases, *PLAIN_ON_THREADS))
        for _ in range(2)
    ]
    dask, threads = (min(runs, key=lambda run: run.seen.seconds) for runs in zip(*pairs, strict=True))
    if dask.summary != threads.summary:
        raise SystemExit("a cluster gave another summary than one process")
    found.add(
        f"{cases}: Dask with two workers / two threads, in all",
        dask.seen.seconds / threads.seen.seconds,
        limit=DASK_LIMIT,
    )
    if threads.stages.second:  # which is not to be told of very few shards
        alone = dask.stages.second / threads.stages.second
        found.add(f"{cases}: Dask with two workers / two threads, the evaluation of shards alone", alone)
    found.add(f"{cases}: memory of all processes of Dask, libraries included", dask.seen.peak / 1e6, "MB")


def measure_costs(bench: Bench, whole: Run, found: Measured) -> None:
    """Ask for more: the panel estimate, and annotators as a sample."""
    cases = f"{whole.n_cases:,} cases"
    panel = bench.run("panel", whole.n_cases, "--annotators", "fixed", "--panel", *THREADS)
    found.add(f"{cases}: with the panel estimate / without", panel.seen.seconds / whole.seen.seconds)
    sample = bench.run("sample", whole.n_cases, "--annotators", "sample", "--no-panel", *THREADS)
    found.add(f"{cases}: annotators as a sample / fixed", sample.seen.seconds / whole.seen.seconds)
