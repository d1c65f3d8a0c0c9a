"""What goes through a scheduler of Dask: tasks that do nothing, small ones and large ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from dissensus.workers import worked

SMALL_TASKS, LARGE_TASKS = 2000, 60


def nothing(settings: bytes, payload: bytes) -> bytes:  # noqa: ARG001 - what work is given
    """Do no work."""
    return b""


def tasks_per_second(cluster: Callable[[], AbstractContextManager[Any]]) -> float:
    """Send small tasks to a cluster."""
    return SMALL_TASKS / _seconds(cluster, SMALL_TASKS, b"")


def bytes_per_second(cluster: Callable[[], AbstractContextManager[Any]], payload: int) -> float:
    """Send tasks with payloads of so many bytes to a cluster."""
    return LARGE_TASKS * payload / _seconds(cluster, LARGE_TASKS, bytes(payload))


def _seconds(cluster: Callable[[], AbstractContextManager[Any]], count: int, payload: bytes) -> float:
    payloads = {str(number): lambda: payload for number in range(count)}
    with cluster() as client:
        list(worked(client, nothing, b"", dict(list(payloads.items())[:10])))
        began = time.perf_counter()
        list(worked(client, nothing, b"", payloads))
        return time.perf_counter() - began
