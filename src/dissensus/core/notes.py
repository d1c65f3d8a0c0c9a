"""Notes on what was found while reading, and what was done about it: nothing is dropped silently."""

from __future__ import annotations

from dataclasses import dataclass

from dissensus.core.errors import listing


@dataclass(frozen=True)
class Note:
    """Count one kind of finding and say what was done with it; ``lost`` if it did not reach the study.

    Examples
    --------
    >>> print(Note("cancelled annotations", 2, "skipped", ("task 1", "task 7")))
    cancelled annotations: 2, skipped (for example 'task 1', 'task 7')
    """

    found: str
    count: int
    action: str
    examples: tuple[str, ...] = ()
    lost: bool = False

    def __str__(self) -> str:
        examples = f" (for example {listing(self.examples, most=3)})" if self.examples else ""
        return f"{self.found}: {self.count}, {self.action}{examples}"
