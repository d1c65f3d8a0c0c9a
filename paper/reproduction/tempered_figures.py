"""What tempering does beside repeating, across reliabilities: not in the paper, which leaves it aside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dissensus.figures import theme
from dissensus.figures.charts import Axis, Chart, Line, Pane
from paper.reproduction.paper_figures import Frames, PaperFigure
from paper.reproduction.tempered_experiment import TITLE

if TYPE_CHECKING:
    import polars as pl

COLUMNS = {
    "certainty": "mean top-1 certainty",
    "largest_plausibility": "mean largest plausibility",
    "held_out_score": "held-out score",
}
"""The panels: a column of the frame, and what it is."""


def _tempering(frames: Frames) -> Chart:
    """Follow both rules across reliabilities."""
    found = frames["tempered"]
    first = found.filter(found["top"] == 1)
    gammas = sorted(first["reliability"].unique().to_list())
    axis = Axis("reliability", ticks=tuple((float(place), f"{gamma:g}") for place, gamma in enumerate(gammas)))
    panels = tuple(Pane(_lines(first, column), axis, Axis(words)) for column, words in COLUMNS.items())
    caption = (
        "Both rules are the same at reliability 1. Repeating makes the first place more certain, and plausibilities "
        "more unequal; tempering hardly makes it more certain, and plausibilities more equal. Held-out score: mean "
        "log-probability of the ranking of an annotator who was left out; more trust than 1 makes both worse."
    )
    return Chart("Tempering beside repeating", panels, caption, columns=3)


def _lines(first: pl.DataFrame, column: str) -> tuple[Line, ...]:
    parts = enumerate(first.group_by("rule", maintain_order=True))
    return tuple(
        Line(np.arange(len(rows), dtype=np.float64), rows[column].to_numpy(), str(rule), theme.hue(place), place, place)
        for place, ((rule,), rows) in parts
    )


FIGURES = (PaperFigure("tempering", "", TITLE, ("tempered",), _tempering),)
