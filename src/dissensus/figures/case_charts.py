"""Figures of cases: their risks, the plausibilities of one case, and draws on the triangle of three conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.errors import DissensusError
from dissensus.figures import theme
from dissensus.figures.charts import Axis, Band, Bars, Chart, Labels, Line, Mark, Pane, Points, named_places, shortened
from dissensus.figures.samples import kept_places, sampled_places, sampling_note

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import ArrayLike

MOST_CONDITIONS = 15
OTHERS = "any other"
"""All conditions that nobody mentioned, together."""

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])


def risk_ranges(risks: pl.DataFrame, *, run: str, levels: Sequence[tuple[float, str]] = ()) -> Chart:
    """Sort the cases by expected risk, with the range over draws."""
    ordered = risks.filter(risks["mean"].is_not_nan()).sort("mean", maintain_order=True)
    places = kept_places(len(ordered)) if len(ordered) != 1 else np.zeros(2, dtype=np.int64)
    kept = ordered[places]
    x = np.linspace(0, 1, len(ordered))[places] if len(ordered) != 1 else np.array([0.0, 1.0])
    low, mean, high = (kept[name].to_numpy() for name in ("min", "mean", "max"))
    texts = tuple(
        f"case {case}\nexpected risk: {value:.2f}\nover draws: {least:.2f} to {most:.2f}"
        for case, value, least, most in kept.select("case", "mean", "min", "max").iter_rows()
    )
    colour = theme.hue(0)
    marks = (
        Band(x, low, high, colour, 0.25, "range over draws"),
        Line(x, mean, "expected risk", colour, texts=texts),
    )
    ticks = tuple((level, f"{shortened(name, 16)} ({level:g})") for level, name in levels)
    panel = Pane(marks, Axis("share of cases, least risk first", (0, 1), form=".1%"), Axis("risk level", None, ticks))
    caption = (
        "The risk level of a case, averaged over its plausible conditions in each draw: mean over draws, and the least "
        "and the greatest value of any draw."
    ) + (f" {len(kept)} of {len(ordered)} cases are drawn, evenly spaced." if len(kept) < len(ordered) else "")
    return Chart(f"Expected risk of every case under {run}", (panel,), caption)


def case_plausibilities(plausibilities: pl.DataFrame, case: str, *, run: str) -> Chart:
    """Show what one case may be: a bar for the mean plausibility of each condition, a dot for each draw."""
    import polars as pl

    rows = plausibilities.filter(plausibilities["case"] == case)
    others = rows["condition"].is_null()
    mentioned = rows.filter(~others).sort("mean", descending=True, maintain_order=True)
    kept = pl.concat([mentioned.head(MOST_CONDITIONS), rows.filter(others)])
    names = [OTHERS if name is None else name for name in kept["condition"]]
    places = np.arange(len(kept), dtype=np.float64)
    texts = tuple(
        f"{name}\nmean plausibility: {mean:.3f}\nmost plausible in {top:.1%} of draws"
        for name, (mean, top) in zip(names, kept.select("mean", "top").iter_rows(), strict=True)
    )
    bars = Bars(places, kept["mean"].to_numpy(), 0.7, "mean", theme.hue(4), across=True, texts=texts)
    panel = Pane(
        (bars, _dots(kept["draws"].to_list(), names)),
        Axis("plausibility", (0.0, 1.02)),
        named_places([shortened(name) for name in names]),
    )
    left = len(rows) - len(kept)
    caption = "Bars: mean plausibility of each condition. Dots: single draws." + (
        f" {left} less plausible conditions are not shown." if left else ""
    )
    return Chart(f"Case {case} under {run}", (panel,), caption, height=max(120, 26 * len(kept)))


def _dots(draws: list[list[float]], names: list[str]) -> Points:
    """Spread the draws of each condition over the height of its bar, in the same order for all."""
    x = np.array([value for each in draws for value in each], dtype=np.float64)
    y = dot_heights(len(draws), len(draws[0]) if draws else 0, room=0.5)
    texts = tuple(
        f"{name}\nin one draw: {value:.3f}" for name, each in zip(names, draws, strict=True) for value in each
    )
    return Points(x, y, "single draws", theme.hue(1), size=5, opacity=0.6, texts=texts)


def dot_heights(n_bars: int, n_dots: int, *, room: float) -> FloatArray:
    """Spread as many dots over the height of every bar, in the same order for all; ``room`` is the part they take.

    >>> dot_heights(2, 2, room=0.55).round(2).tolist()
    [-0.28, 0.06, 0.72, 1.06]
    """
    shift = ((np.arange(n_dots) * 0.618034) % 1 - 0.5) * room
    return np.asarray(np.add.outer(np.arange(n_bars, dtype=np.float64), shift).ravel())


def simplex(points: ArrayLike, labels: Sequence[str], *, title: str = "Draws of three conditions") -> Chart:
    """Place plausibilities of three conditions in a triangle; dotted lines part it by the most plausible condition.

    Parameters
    ----------
    points : (n, 3)
        Plausibilities; rows sum to one.
    labels
        Names of the three conditions.

    Examples
    --------
    >>> chart = simplex([[1, 0, 0], [0.2, 0.3, 0.5]], ["a", "b", "c"])
    >>> chart.panels[0].marks[-2].x.round(2).tolist()
    [0.0, 0.55]
    """
    shares = np.asarray(points, dtype=np.float64)
    if shares.ndim != 2 or shares.shape[1] != 3 or len(labels) != 3:
        raise DissensusError(
            "a triangle shows exactly three conditions",
            expected="(n, 3) and 3 labels",
            got=f"{shares.shape}, {len(labels)}",
        )
    kept = sampled_places(len(shares))
    x, y = (shares[kept] @ CORNERS).T
    texts = tuple(
        "\n".join(f"{label}: {share:.3f}" for label, share in zip(labels, row, strict=True)) for row in shares[kept]
    )
    cloud = Points(x, y, "", theme.hue(0), size=6, opacity=0.5, texts=texts)
    names = Labels(CORNERS[:, 0], np.array([-0.07, -0.07, 0.94]), tuple(shortened(label, 24) for label in labels))
    axes = Axis(span=(-0.2, 1.2), is_shown=False), Axis(span=(-0.13, 1.0), is_shown=False)
    panel = Pane((*_triangle(), cloud, names), *axes, is_square=True)
    return Chart(title, (panel,), "Each point is one draw." + sampling_note(len(shares)), height=380)


def _triangle() -> tuple[Mark, ...]:
    """Draw the edges, and the lines on which two conditions are equally plausible."""
    around = CORNERS[[0, 1, 2, 0]]
    centre = CORNERS.mean(axis=0)
    middles: list[FloatArray] = [CORNERS[[a, b]].mean(axis=0) for a, b in ((0, 1), (1, 2), (0, 2))]
    parting = [Line(np.array([centre[0], end[0]]), np.array([centre[1], end[1]]), dash=2) for end in middles]
    return (Line(around[:, 0], around[:, 1]), *parting)
