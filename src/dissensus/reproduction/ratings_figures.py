"""Figures A.10 and A.11: ratings of comments and of photographs."""

from __future__ import annotations

from collections.abc import Callable

from dissensus.figures import theme
from dissensus.figures.charts import CERTAINTY, SHARE_OF_CASES, Chart, Line, Pane
from dissensus.figures.samples import quantile_curve
from dissensus.reproduction.paper_figures import Frames, PaperFigure
from dissensus.reproduction.ratings_experiment import AVA_TITLE, TOXICITY_TITLE


def _ratings(name: str, title: str) -> Callable[[Frames], Chart]:
    def draw(frames: Frames) -> Chart:
        x, y = quantile_curve(frames[name]["certainty"].to_numpy())
        panel = Pane((Line(x, y, "certainty", theme.hue(0), steps=True),), SHARE_OF_CASES, CERTAINTY)
        return Chart(title, (panel,), "Certainty of the side of the threshold.")

    return draw


FIGURES = (
    PaperFigure("ava", "A.11", AVA_TITLE, ("ava",), _ratings("ava", "AVA: certainty of poor or good")),
    PaperFigure(
        "wikipedia_toxicity",
        "A.10",
        TOXICITY_TITLE,
        ("wikipedia_toxicity",),
        _ratings("wikipedia_toxicity", "Certainty of toxic or not"),
    ),
)
