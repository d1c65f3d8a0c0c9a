"""What a figure shows, before anybody draws it: panels of marks, with names and numbers as they are.

Names in a chart are plain text; drawing it makes them safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.figures.theme import NEUTRAL

if TYPE_CHECKING:
    import polars as pl

MOST_ON_CURVE = 400

# Figures are kept small: curves of few points, a sample of large clouds.
MOST_IN_CLOUD = 2000

# Longest name beside an axis; hovering tells the whole name.
SHORT = 34


@dataclass(frozen=True, eq=False)
class Line:
    """Join points; ``steps`` holds each value from the previous point on, as a quantile function does."""

    x: FloatArray
    y: FloatArray
    name: str = ""
    colour: str = NEUTRAL
    dash: int = 0
    symbol: int | None = None
    steps: bool = False
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Band:
    """Fill the room between two curves."""

    x: FloatArray
    low: FloatArray
    high: FloatArray
    colour: str = NEUTRAL
    opacity: float = 0.3
    name: str = ""


@dataclass(frozen=True, eq=False)
class Points:
    """Mark points, with an interval each if there are ``low`` and ``high``: upright or, if ``across``, to the side."""

    x: FloatArray
    y: FloatArray
    name: str = ""
    colour: str = NEUTRAL
    symbol: int = 0
    size: float = 8
    opacity: float = 1.0
    low: FloatArray | None = None
    high: FloatArray | None = None
    across: bool = False
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Bars:
    """Draw bars from ``base``, upright or, if ``across``, to the right."""

    positions: FloatArray
    lengths: FloatArray
    width: float = 0.8
    name: str = ""
    colour: str = NEUTRAL
    base: FloatArray | None = None
    across: bool = False
    pattern: int = 0
    opacity: float = 1.0
    texts: tuple[str, ...] = ()

    @property
    def starts(self) -> FloatArray:
        """Where each bar starts."""
        return np.zeros_like(self.lengths) if self.base is None else self.base


@dataclass(frozen=True, eq=False)
class Cells:
    """Colour a table of shares between 0 and 1, first row on top, and write a label on each; nan stays empty."""

    values: FloatArray
    labels: tuple[tuple[str, ...], ...]
    texts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Labels:
    """Write words at places."""

    x: FloatArray
    y: FloatArray
    texts: tuple[str, ...]


Mark: TypeAlias = Line | Band | Points | Bars | Cells | Labels


@dataclass(frozen=True)
class Axis:
    """Name an axis, its range, and the words at its ticks if it has words; ``form`` writes its numbers."""

    title: str = ""
    span: tuple[float, float] | None = None
    ticks: tuple[tuple[float, str], ...] = ()
    form: str = ".3f"
    is_shown: bool = True


@dataclass(frozen=True, eq=False)
class Pane:
    """Hold the marks between one pair of axes."""

    marks: tuple[Mark, ...]
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    title: str = ""
    is_square: bool = False

    @property
    def is_turned(self) -> bool:
        """Whether the first place belongs on top, as in lists and tables."""
        return any(isinstance(mark, Cells) or getattr(mark, "across", False) for mark in self.marks)


@dataclass(frozen=True, eq=False)
class Chart:
    """Hold the panels of one figure, row by row.

    Attributes
    ----------
    title, caption
        A line above the figure, and what has to be known to read it.
    panels, columns
        The panels, and how many stand side by side.
    height, gap
        Height of a row of panels, and the room between two rows, in pixels.
    width
        Width of a panel on paper, in inches.
    """

    title: str
    panels: tuple[Pane, ...]
    caption: str = ""
    columns: int = 1
    height: int = 320
    gap: int = 96
    width: float = 3.4

    @property
    def rows(self) -> int:
        """Number of rows of panels."""
        return -(-len(self.panels) // self.columns)

    @property
    def compares(self) -> bool:
        """Whether there is more than one thing to see: two points, two bars, two lines, or a table."""
        marks = [mark for panel in self.panels for mark in panel.marks]
        singles = sum(int(np.isfinite(mark.y).sum()) for mark in marks if isinstance(mark, Points))
        singles += sum(int((mark.lengths > 0).sum()) for mark in marks if isinstance(mark, Bars))
        lines = sum(isinstance(mark, Line | Band) for mark in marks)
        return singles > 1 or lines > 1 or any(isinstance(mark, Cells) and mark.values.size > 1 for mark in marks)

    def places(self) -> Iterator[tuple[int, int, Pane]]:
        """Give every panel with its row and column, from 0."""
        for number, panel in enumerate(self.panels):
            yield number // self.columns, number % self.columns, panel

    def y_title(self, row: int, column: int) -> str:
        """Return what stands beside the y axis of a panel: nothing if it would repeat the panel to the left."""
        place = row * self.columns + column
        title = self.panels[place].y.title
        return "" if column and self.panels[place - 1].y.title == title else title

    def names(self) -> tuple[str, ...]:
        """Give the names of a legend, each once."""
        marks = [mark for panel in self.panels for mark in panel.marks]
        return tuple(dict.fromkeys(mark.name for mark in marks if not isinstance(mark, Cells | Labels) and mark.name))


CERTAINTY = Axis("certainty", (0.0, 1.02))
SHARE_OF_CASES = Axis("share of cases, least certain first", (0.0, 1.0), form=".1%")


def named_places(names: Sequence[str], title: str = "", *, margin: float = 0.6) -> Axis:
    """Return an axis with a name at 0, 1, 2 and so on.

    >>> named_places(["A", "B"]).ticks
    ((0.0, 'A'), (1.0, 'B'))
    """
    ticks = tuple((float(place), name) for place, name in enumerate(names))
    return Axis(title, (-margin, len(names) - 1 + margin), ticks)


def in_order(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """Return the different names in a given order, those outside it last and sorted.

    >>> in_order(["high", "low", "high", "b", "a"], ["low", "medium", "high"])
    ['low', 'high', 'a', 'b']
    """
    found = set(names)
    return [*(name for name in order if name in found), *sorted(found.difference(order))]


def shortened(name: str, most: int = SHORT) -> str:
    """Cut a long name; line ends within become spaces.

    >>> shortened("Squamous cell carcinoma", 12)
    'Squamous ce…'
    """
    plain = " ".join(name.split())
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def dodged(place: int, number: int, *, room: float = 0.6) -> float:
    """Return how far the mark of one of several things stands from their common place.

    >>> [round(dodged(place, 3), 3) for place in range(3)]
    [-0.2, 0.0, 0.2]
    """
    return (place - (number - 1) / 2) * room / number


def joint_span(*arrays: FloatArray, around: float = 0.06) -> tuple[float, float] | None:
    """Return a range that holds all finite numbers, or none if there are none."""
    finite = np.concatenate([array[np.isfinite(array)] for array in arrays])
    if not len(finite):
        return None
    low, high = float(finite.min()), float(finite.max())
    margin = around * (high - low) or 0.01
    return low - margin, high + margin


def bands(x: FloatArray, low: FloatArray, high: FloatArray, *, colour: str, opacity: float) -> tuple[Band, ...]:
    """Return a band for every stretch of finite numbers; a stretch of one point is widened to be seen."""
    is_known = np.isfinite(low) & np.isfinite(high)
    edges = np.flatnonzero(np.diff(is_known, prepend=False, append=False))
    found = []
    for start, stop in list(pairwise(edges))[::2]:
        x_own, low_own, high_own = x[start:stop], low[start:stop], high[start:stop]
        if len(x_own) == 1:
            x_own, low_own, high_own = x_own[0] + np.array([-0.15, 0.15]), low_own.repeat(2), high_own.repeat(2)
        found.append(Band(x_own, low_own, high_own, colour, opacity))
    return tuple(found)


def diagonal() -> Line:
    """Return the dotted line on which two shares are the same."""
    return Line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), dash=2)


# Words and numbers that are drawn ---------------------------------------------------------------------------------


def told(rows: pl.DataFrame, form: str) -> tuple[str, ...]:
    """Say something about every row where one points at it; the form names columns in braces."""
    return tuple(form.format(**row) for row in rows.iter_rows(named=True))


def numbers(rows: pl.DataFrame, column: str) -> FloatArray:
    """Return a column with nan for all that cannot be drawn: what is missing, undefined or infinite."""
    values = rows[column].cast(float).fill_null(float("nan")).to_numpy()
    return np.where(np.isfinite(values), values, np.nan)


def quantile_curve(values: FloatArray, *, most: int = MOST_ON_CURVE) -> tuple[FloatArray, FloatArray]:
    """Return shares of cases from 0 to 1 and the sorted values up to each, at most ``most + 1`` of them; nan left out.

    Examples
    --------
    >>> x, y = quantile_curve(np.array([0.9, 0.5]))
    >>> x.tolist(), y.tolist()
    ([0.0, 0.5, 1.0], [0.5, 0.5, 0.9])
    """
    ordered = np.sort(values[np.isfinite(values)])
    if not len(ordered):
        return np.empty(0), np.empty(0)
    kept = kept_places(len(ordered), most)
    return np.append(0.0, (kept + 1) / len(ordered)), np.append(ordered[0], ordered[kept])


def kept_places(number: int, most: int = MOST_ON_CURVE) -> IntArray:
    """Return evenly spaced places among ``number``, the first and the last among them.

    >>> kept_places(10, 4).tolist()
    [0, 3, 6, 9]
    """
    return np.unique(np.linspace(0, number - 1, min(number, most)).round().astype(np.int64))


def sampled_places(number: int, most: int = MOST_IN_CLOUD, *, seed: int = 0) -> IntArray:
    """Return all places, or a random ``most`` of them in order, the same ones every time."""
    if number <= most:
        return np.arange(number, dtype=np.int64)
    return np.sort(np.random.default_rng(seed).choice(number, most, replace=False))


def sampling_note(number: int, most: int = MOST_IN_CLOUD) -> str:
    """Say that points were left out, if any were."""
    return f" {most} of {number} cases are drawn, chosen at random." if number > most else ""


def counted(values: FloatArray, edges: FloatArray) -> FloatArray:
    """Return the share of the finite values in each bin; nan if there are none."""
    finite = values[np.isfinite(values)]
    counts = np.histogram(finite, edges)[0].astype(np.float64)
    return np.asarray(counts / len(finite)) if len(finite) else np.full(len(counts), np.nan)


def even_edges(*arrays: FloatArray, number: int) -> FloatArray:
    """Return the edges of bins of equal width that hold all finite values; there is always some width."""
    finite = np.concatenate([array[np.isfinite(array)] for array in arrays])
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.02, high + 0.02
    return np.linspace(low, high, number + 1)
