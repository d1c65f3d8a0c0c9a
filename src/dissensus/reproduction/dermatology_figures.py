"""Figures of the dermatology study: certainty, risks, agreement and annotators."""

from __future__ import annotations

from dissensus.figures import theme
from dissensus.figures.case_charts import risk_ranges
from dissensus.figures.charts import CERTAINTY, SHARE_OF_CASES, Chart, Line, Pane
from dissensus.figures.samples import quantile_curve
from dissensus.reproduction.dermatology_experiment import TITLE
from dissensus.reproduction.paper_figures import Frames, PaperFigure

LEVELS = ((0.0, "low"), (1.0, "medium"), (2.0, "high"))
MEDIUM = "plackett-luce 3"


def _risk_certainty(frames: Frames) -> Chart:
    """Draw the certainty of conditions and of their risks, each sorted by itself."""
    found = frames["dermatology_certainty"]
    marks = []
    for place, ((what,), rows) in enumerate(found.group_by("what", maintain_order=True)):
        x, y = quantile_curve(rows["certainty"].to_numpy())
        marks.append(Line(x, y, str(what), theme.hue(place), place, steps=True))
    caption = "Certainty of the first one, two and three conditions, and of the risk of the first one."
    return Chart("Dermatology: certainty", (Pane(tuple(marks), SHARE_OF_CASES, CERTAINTY),), caption)


def _risk(frames: Frames) -> Chart:
    return risk_ranges(frames["dermatology_risks"], run=MEDIUM, levels=LEVELS)


FIGURES = (
    PaperFigure("dermatology_certainty", "E.16", TITLE, ("dermatology_certainty",), _risk_certainty),
    PaperFigure("dermatology_risk", "8", TITLE, ("dermatology_risks",), _risk),
)
