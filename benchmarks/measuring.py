"""Measure two things against each other in one run, so that the machine's mood cancels."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Record: TypeAlias = Callable[..., None]
"""Write a row: ``what`` was measured, a ``ratio`` or a ``value`` with its ``unit``, and the ``limit`` of it, if any."""


@dataclass(frozen=True)
class Pair:
    """Best times of two functions that were called in turn, in seconds."""

    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """Our time over theirs."""
        return self.ours / self.theirs


def seconds(function: Callable[[], object]) -> float:
    """Time one call."""
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def in_turn(ours: Callable[[], object], theirs: Callable[[], object], *, rounds: int = 7) -> Pair:
    """Call both in turn, after one call each that does not count, and keep the best time of each."""
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    return Pair(min(pair[0] for pair in pairs), min(pair[1] for pair in pairs))


def peak_memory() -> int:
    """Return the largest resident size of this process so far, in bytes (Linux)."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
