"""The few numbers from which the size of a machine follows, out of what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scale.runs import Run

PROCESSORS = 2
"""Threads of the runs that are measured."""


@dataclass(frozen=True)
class Constants:
    """What a case, a shard and a task cost.

    Attributes
    ----------
    cases_per_shard
        Cases of a shard, about.
    fixed_seconds
        Time of a run that no case causes: imports, the report.
    split_seconds, first_seconds, second_seconds
        Time of one processor by case: splitting and learning, the first look at all shards, and the evaluation.
    end_seconds
        Time by shard to put sums together.
    split_bytes, table_bytes
        Disk by case: the split input, until the run is finished, and per-case tables.
    sum_bytes
        Disk by shard: sums and journal.
    files
        Files by shard.
    tasks_per_second
        What goes through the scheduler of a cluster.
    passes
        How many tasks a shard is: it is put together, looked at, sampled, evaluated and added up.
    """

    cases_per_shard: float
    fixed_seconds: float
    split_seconds: float
    first_seconds: float
    second_seconds: float
    end_seconds: float
    split_bytes: float
    table_bytes: float
    sum_bytes: float
    files: float
    tasks_per_second: float
    passes: int = 5

    @staticmethod
    def of(runs: Sequence[Run], tasks_per_second: float) -> Constants:
        """Take the smallest and the largest run apart: what the larger one needs more is due to cases and shards.

        The passes over shards take as long by case in both; in the smallest they cannot be told from the rest.
        """
        small, large = runs[0], runs[-1]
        cases, shards = large.n_cases - small.n_cases, large.n_shards - small.n_shards
        passes = (large.stages.first + large.stages.second) / large.n_cases
        small_alone = small.seen.seconds - small.stages.end - passes * small.n_cases
        alone = _slope(small_alone, large.stages.alone, cases)
        end = _slope(small.stages.end, large.stages.end, shards)
        fixed = small_alone - alone * small.n_cases + small.stages.end - end * small.n_shards
        return Constants(
            cases_per_shard=large.n_cases / large.n_shards,
            fixed_seconds=max(0.0, fixed),
            split_seconds=PROCESSORS * alone,
            first_seconds=PROCESSORS * large.stages.first / large.n_cases,
            second_seconds=PROCESSORS * large.stages.second / large.n_cases,
            end_seconds=end,
            split_bytes=large.disk["split input"] / large.n_cases,
            table_bytes=large.disk["per-case tables"] / large.n_cases,
            sum_bytes=large.disk["sums"] / large.n_shards,
            files=_slope(small.n_files, large.n_files, shards),
            tasks_per_second=tasks_per_second,
        )


def _slope(small: float, large: float, more: int) -> float:
    """Return by how much a number grows with each more; never less than nothing.

    >>> _slope(3.0, 13.0, 5), _slope(3.0, 2.0, 5)
    (2.0, 0.0)
    """
    return max(0.0, large - small) / more
