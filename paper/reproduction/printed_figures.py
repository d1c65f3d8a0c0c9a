"""Figures 5, E.17 and E.18: what the printed cases may be, under both aggregations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dissensus.figures import theme
from dissensus.figures.charts import Axis, Bars, Chart, Pane, named_places, shortened
from dissensus.figures.evaluation_charts import OTHERS
from paper.data.printed_cases import CASES, PrintedCase
from paper.reproduction.dots import dots
from paper.reproduction.paper_figures import Frames, PaperFigure
from paper.reproduction.printed_experiment import SHOWN, TITLE

if TYPE_CHECKING:
    import polars as pl

SHOWN_HERE = (
    "What case {} may be at medium reliability. Bars: point estimate, which is maximum likelihood for PL and inverse "
    "rank normalisation, with full weight for tied conditions, for PrIRN. Dots: single draws."
)
WORDS = {
    "5": "Hemangioma and Melanoma change places from draw to draw.",
    "E.17": "The annotators name different conditions, and neither aggregation prefers one by much.",
    "E.18": "Compare the order of the bars left and right, and how far the dots of the first two overlap.",
}
"""What to see, by figure."""


def _drawing(case: PrintedCase) -> Callable[[Frames], Chart]:
    def draw(frames: Frames) -> Chart:
        """Draw a bar for the point estimate of each condition and a dot for each draw, PL left and PrIRN right."""
        found = frames["printed_plausibilities"].filter(case=case.name)
        panels = tuple(_panel(found.filter(aggregation=name), name) for name in SHOWN)
        height = max(160, 30 * (len(found) // len(SHOWN)))
        return Chart(f"Case {case.name}", panels, _caption(case, frames["printed_values"]), columns=2, height=height)

    return draw


def _panel(rows: pl.DataFrame, aggregation: str) -> Pane:
    """Put the conditions in the order of their bars, equal ones by name, and all that nobody mentioned last."""
    by_bar = -rows["point"].round(6)
    ordered = rows.sort(rows["condition"].is_null(), by_bar, "condition")
    places = np.arange(len(ordered), dtype=np.float64)
    names = [OTHERS if name is None else shortened(name, 26) for name in ordered["condition"]]
    bars = Bars(places, ordered["point"].to_numpy(), 0.7, "point estimate", theme.hue(4), across=True)
    return Pane(
        (bars, dots(ordered["draws"].to_list())), Axis("plausibility", (0.0, 0.65)), named_places(names), aggregation
    )


def _caption(case: PrintedCase, values: pl.DataFrame) -> str:
    told = [SHOWN_HERE.format(case.name), WORDS[case.figure]]
    if case.omitted is not None:
        told.append(f"Annotator A{case.omitted}, whom the paper leaves out, is left out here, too.")
    for (words,), rows in values.filter(case=case.name).group_by("set", maintain_order=True):
        both = ", ".join(
            f"{row['printed']:.2f} under {row['aggregation']} (here {row['ours']:.2f})"
            for row in rows.iter_rows(named=True)
        )
        told.append(f"Printed share of draws whose top-1 is in the set of {words}: {both}.")
    return " ".join(told)


FIGURES = tuple(
    PaperFigure(f"case_{case.name}", case.figure, TITLE, ("printed_plausibilities", "printed_values"), _drawing(case))
    for case in CASES
)
