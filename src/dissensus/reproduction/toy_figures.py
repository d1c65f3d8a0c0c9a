"""Figure 2: the toy problem on a line and in the triangle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dissensus.figures import theme
from dissensus.figures.case_charts import CORNERS, simplex
from dissensus.figures.charts import CERTAINTY, Axis, Chart, Line, Pane, Points
from dissensus.reproduction.paper_figures import Frames, PaperFigure
from dissensus.reproduction.toy_experiment import TITLE


def _toy_line(frames: Frames) -> Chart:
    """Draw p(y|x), and the certainty for every reliability below it."""
    truth, found = frames["toy_truth"], frames["toy_certainty"]
    x = truth["x"].to_numpy()
    classes = [name for name in truth.columns if name != "x"]
    lines = [Line(x, truth[name].to_numpy(), name, theme.hue(place), place) for place, name in enumerate(classes)]
    gammas = sorted(found["reliability"].unique().to_list())
    curves = []
    for place, gamma in enumerate(gammas):
        rows = found.filter(found["reliability"] == gamma)
        colour = theme.shade(place, len(gammas))
        curves.append(Line(rows["x"].to_numpy(), rows["certainty"].to_numpy(), f"reliability {gamma:g}", colour, place))
    panels = (
        Pane(tuple(lines), Axis("x"), Axis("p(y|x)", (0.0, 1.02)), "the truth"),
        Pane(tuple(curves), Axis("x"), CERTAINTY, "certainty of the annotations"),
    )
    return Chart("The toy problem", panels, "Certainty is lowest where classes compete.", columns=2)


def _toy_triangles(frames: Frames) -> Chart:
    """Draw the draws of the three examples in the triangle, one panel per reliability; diamonds are the truth."""
    found = frames["toy_draws"]
    labels = [name for name in found.columns if name not in ("draw", "example", "reliability")]
    panels = []
    for (gamma,), rows in found.group_by("reliability", maintain_order=True):
        base = simplex(np.full((1, 3), 1 / 3), labels).panels[0]
        frame = tuple(mark for mark in base.marks if not isinstance(mark, Points))
        clouds = []
        for place, ((example,), part) in enumerate(rows.group_by("example", maintain_order=True)):
            x, y = (part.select(labels).to_numpy() @ CORNERS).T
            is_truth = part["draw"].to_numpy() < 0
            colour, name = theme.hue(place), f"example {example}"
            clouds.append(Points(x[~is_truth], y[~is_truth], name, colour, size=4, opacity=0.4))
            clouds.append(Points(x[is_truth], y[is_truth], f"{name}, truth", colour, symbol=2, size=14))
        panels.append(replace(base, marks=(*frame, *clouds), title=f"reliability {gamma:g}"))
    return Chart("Three examples of the toy problem", tuple(panels), "Points: draws.", columns=2, height=380)


FIGURES = (
    PaperFigure("toy_certainty", "2", TITLE, ("toy_truth", "toy_certainty"), _toy_line),
    PaperFigure("toy_simplex", "2", TITLE, ("toy_draws",), _toy_triangles),
)
