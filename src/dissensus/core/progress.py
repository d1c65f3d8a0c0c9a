"""How far long work is: told to whoever watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable


@runtime_checkable
class Watched(Protocol):
    """Takes how much was just done, as any ``advance`` does, and is told before how much there is to do."""

    def __call__(self, done: int, /) -> None:
        """Take how much was just done."""

    def expect(self, what: str, total: int, *, again: int = 0) -> None:
        """Take what begins, how much there is to do, and how much of it is done again without some annotators."""


def expect(advance: Callable[[int], None] | None, what: str, total: int, *, again: int = 0) -> None:
    """Tell whoever watches how much there is to do; a plain function is told only what was done."""
    if isinstance(advance, Watched):
        advance.expect(what, total, again=again)
