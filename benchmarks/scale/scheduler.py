"""What goes through a scheduler of Dask: tasks that do nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from dissensus.workers import worked

TASKS = 2000


def nothing(settings: bytes, payload: bytes) -> None:
    """Do no work."""


def tasks_per_second(cluster: Callable[[], AbstractContextManager[Any]]) -> float:
    """Send small tasks to a cluster."""
    with cluster() as client:
        list(worked(client, nothing, b"", {str(number): b"" for number in range(10)}))
        began = time.perf_counter()
        list(worked(client, nothing, b"", {str(number): b"" for number in range(TASKS)}))
        return TASKS / (time.perf_counter() - began)
