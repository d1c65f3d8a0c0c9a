"""A figure of the paper: its number there, what it needs, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dissensus.figures.charts import Chart

if TYPE_CHECKING:
    import polars as pl

Frames: TypeAlias = "Mapping[str, pl.DataFrame]"
"""The numbers behind the figures, by name."""


@dataclass(frozen=True, eq=False)
class PaperFigure:
    """Tell how one figure of the paper, or a panel of it, is drawn anew.

    Attributes
    ----------
    name
        Of its file.
    number
        In the paper, in the order of its source; figures of the appendix carry the letter of their section. Empty for a
        figure of ours.
    section
        Title of the experiment that it belongs to.
    needs
        Frames without which it is left out.
    draw
        Turns the frames into a chart, whose caption is in our words.
    """

    name: str
    number: str
    section: str
    needs: tuple[str, ...]
    draw: Callable[[Frames], Chart]

    def is_possible(self, frames: Frames) -> bool:
        """Tell whether the frames that it needs are there."""
        return all(name in frames for name in self.needs)

    @property
    def label(self) -> str:
        """What it is called on the page."""
        return f"Figure {self.number} of the paper" if self.number else "Not in the paper"

    @property
    def place(self) -> tuple[int, str]:
        """Where it stands among the others: by the number in the paper, those of ours last.

        >>> PaperFigure("main", "6", "Models", (), Chart).place < PaperFigure("ratings", "A.11", "AVA", (), Chart).place
        True
        """
        number = self.number.rpartition(".")[2]
        return (int(number) if number else 1000), self.name
