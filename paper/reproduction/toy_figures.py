"""Figure 2: the toy problem on a line and in the triangle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.core.arrays import FloatArray
from dissensus.figures import theme
from dissensus.figures.charts import Axis, Chart, Line, Mark, Pane, Points, shortened
from paper.reproduction.paper_figures import Frames, PaperFigure
from paper.reproduction.toy_experiment import EXAMPLES, TITLE

if TYPE_CHECKING:
    import polars as pl

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])
ABOVE = 1.07
"""Where the names of the examples stand over curves that reach 1."""

CAPTION = (
    "First, p(y|x) along the line, with the three examples at the dotted lines; then p(y|x) of the examples, as "
    "diamonds in the triangle of the classes. Then draws given the labels of the annotators, at two reliabilities: the "
    "higher one keeps the draws together, but those of (ii) still lie in all three parts of the triangle. Last, the "
    "certainty along the line at reliability {}: it is low at (ii) throughout and rises with reliability at (iii)."
)


@dataclass(frozen=True, eq=False)
class Labels(Mark):
    """Write words at places."""

    x: FloatArray
    y: FloatArray
    texts: tuple[str, ...]

    def layers(self) -> list[dict[str, Any]]:
        """Draw words."""
        places = zip(self.x.tolist(), self.y.tolist(), self.texts, strict=True)
        data = [{"x": x, "y": y, "text": text} for x, y, text in places]
        return [self.layer({"type": "text"}, data, text={"field": "text", "type": "nominal"})]


def _toy(frames: Frames) -> Chart:
    """Draw the truth, the examples in the triangle with and without draws, and certainty for every reliability."""
    draws = frames["toy_draws"]
    gammas = draws["reliability"].unique(maintain_order=True).to_list()
    truth = draws.filter(draws["draw"] < 0)
    panels = (
        _line_panel(frames["toy_truth"]),
        _triangle(truth.filter(reliability=gammas[0]), "three examples"),
        *(_triangle(draws.filter(reliability=gamma), f"draws at reliability {gamma:g}") for gamma in gammas),
        _certainty_panel(frames["toy_certainty"]),
    )
    named = ", ".join(f"{gamma:g}" for gamma in _reliabilities(frames["toy_certainty"]))
    return Chart("The toy problem", panels, CAPTION.format(named), columns=3, height=300)


def _examples() -> tuple[Mark, ...]:
    """Mark the examples by dotted lines with their names above."""
    places = np.array(list(EXAMPLES.values()))
    lines = (Line(np.full(2, place), np.array([0.0, 1.0]), dash=2) for place in places)
    return (*lines, Labels(places, np.full(len(places), ABOVE), tuple(EXAMPLES)))


def _line_panel(truth: pl.DataFrame) -> Pane:
    classes = [name for name in truth.columns if name != "x"]
    x = truth["x"].to_numpy()
    lines = (Line(x, truth[name].to_numpy(), name, theme.hue(place), place) for place, name in enumerate(classes))
    return Pane((*_examples(), *lines), Axis("x"), Axis("p(y|x)", (0.0, 1.13)), "the truth")


def _reliabilities(found: pl.DataFrame) -> list[int]:
    return sorted(found["reliability"].unique().to_list())


def _certainty_panel(found: pl.DataFrame) -> Pane:
    """Draw a curve per reliability; the legend names the first and the last of them."""
    gammas = _reliabilities(found)
    curves = []
    for place, gamma in enumerate(gammas):
        rows = found.filter(reliability=gamma)
        name = f"reliability {gamma:g}" if gamma in (gammas[0], gammas[-1]) else ""
        colour = theme.shade(place, len(gammas))
        curves.append(Line(rows["x"].to_numpy(), rows["certainty"].to_numpy(), name, colour))
    return Pane((*_examples(), *curves), Axis("x"), Axis("certainty", (0.0, 1.13)), "certainty of the annotations")


def _triangle(rows: pl.DataFrame, title: str) -> Pane:
    """Draw the truth of each example as a diamond, and its draws as points; dotted lines part the triangle."""
    labels = [name for name in rows.columns if name not in ("draw", "example", "reliability")]
    centre, around = CORNERS.mean(axis=0), CORNERS[[0, 1, 2, 0]]
    middles = [CORNERS[[a, b]].mean(axis=0) for a, b in ((0, 1), (1, 2), (0, 2))]
    parting = (Line(np.array([centre[0], end[0]]), np.array([centre[1], end[1]]), dash=2) for end in middles)
    names = Labels(CORNERS[:, 0], np.array([-0.07, -0.07, 0.94]), tuple(shortened(label, 24) for label in labels))
    clouds, diamonds = [], []
    for place, ((example,), part) in enumerate(rows.group_by("example", maintain_order=True)):
        x, y = (part.select(labels).to_numpy() @ CORNERS).T
        is_truth = part["draw"].to_numpy() < 0
        colour = theme.hue(place + 3)
        if not is_truth.all():
            clouds.append(Points(x[~is_truth], y[~is_truth], f"draws of {example}", colour, size=4, opacity=0.5))
        diamonds.append(Points(x[is_truth], y[is_truth], f"p(y|x) of {example}", colour, symbol=2, size=14))
    marks: tuple[Mark, ...] = (Line(around[:, 0], around[:, 1]), *parting, names, *clouds, *diamonds)
    axes = Axis(span=(-0.2, 1.2), is_shown=False), Axis(span=(-0.13, 1.0), is_shown=False)
    return Pane(marks, *axes, title, is_square=True)


FIGURES = (PaperFigure("toy", "2", TITLE, ("toy_truth", "toy_certainty", "toy_draws"), _toy),)
