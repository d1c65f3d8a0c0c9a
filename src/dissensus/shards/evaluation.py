"""Evaluate studies larger than memory: split by case, look at every shard twice, and put the sums together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeAlias

SHARD_CASES = 10_000
"""How many cases a shard has, about, unless it is said."""

SHOWN_CASES = 2000
"""How many cases are held by the result, to be looked at one by one."""

OUTPUTS = {
    "per_case": "per_case/part-{}.parquet",
    "certainty": "certainty/part-{}.parquet",
    "excluded": "shards/excluded-{}.bundle",
    "sums": "shards/sums-{}.bundle",
    "groups": "shards/groups-{}.bundle",
}
"""Files of a finished shard, by kind."""

Progress: TypeAlias = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Shows how far something is that has so many steps."""
