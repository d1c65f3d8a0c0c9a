"""Figure A.9: the least certain images of CIFAR-10H."""

from __future__ import annotations

import numpy as np

from dissensus.figures import theme
from dissensus.figures.charts import Axis, Chart, Line, Pane, Points
from dissensus.reproduction.cifar10h_experiment import TITLE
from dissensus.reproduction.paper_figures import Frames, PaperFigure


def _cifar10h(frames: Frames) -> Chart:
    """Draw certainty and adjusted accuracy of the original labels on the least certain images."""
    found = frames["cifar10h"]
    x = found["place"].to_numpy().astype(np.float64)
    marks: list[Line | Points] = []
    if "accuracy" in found.columns:
        accuracy = found["accuracy"].to_numpy()
        marks.append(Points(x, accuracy, "adjusted accuracy of the original labels", theme.hue(1), size=4, opacity=0.5))
    marks.append(Line(x, found["certainty"].to_numpy(), "certainty", theme.hue(0)))
    panel = Pane(tuple(marks), Axis("images, least certain first", form=",.0f"), Axis("", (-0.03, 1.03)))
    return Chart("CIFAR-10H: the least certain images", (panel,), "One point per image.")


FIGURES = (PaperFigure("cifar10h", "A.9", TITLE, ("cifar10h",), _cifar10h),)
