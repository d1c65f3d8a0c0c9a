"""Figure A.9: certainty of CIFAR-10H, the least certain images, and two examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dissensus.figures import theme
from dissensus.figures.charts import Axis, Bars, Chart, Line, Mark, Pane, Points, named_places
from paper.reproduction.cifar10h_experiment import TITLE
from paper.reproduction.dots import dots
from paper.reproduction.paper_figures import Frames, PaperFigure

if TYPE_CHECKING:
    import polars as pl

ACCURACY, SCALE = "accuracy of labels", (-0.03, 1.03)
CAPTION = (
    "Above left: certainty of the least certain images in order, and the adjusted accuracy of their original labels as "
    "dots where it differs from the certainty, which is where the label is not the likeliest class. Above right: both "
    "for all images, each sorted by itself. Below: votes and draws of the least certain image, and of the one in the "
    "middle of those with a certainty below 0.99."
)


def _cifar10h(frames: Frames) -> Chart:
    """Draw the least certain images, all images, and the votes and draws of examples."""
    least, examples = frames["cifar10h"], frames["cifar10h_examples"]
    panels = (
        _least_certain(least),
        _all_images(frames["cifar10h_all"]),
        *(_example(rows) for _, rows in examples.group_by("image", maintain_order=True)),
    )
    return Chart("CIFAR-10H: certainty, and the original labels", panels, CAPTION, columns=2, height=300)


def _least_certain(found: pl.DataFrame) -> Pane:
    x, certainty = found["place"].to_numpy().astype(np.float64), found["certainty"].to_numpy()
    marks: list[Mark] = [Line(x, certainty, "certainty", theme.hue(0))]
    if "accuracy" in found.columns:
        accuracy = found["accuracy"].to_numpy()
        apart = accuracy < certainty
        marks.append(Points(x[apart], accuracy[apart], ACCURACY, theme.hue(1), size=5, opacity=0.7))
    title = f"the {len(found)} least certain images"
    return Pane(tuple(marks), Axis("images, least certain first", form=",.0f"), Axis("", SCALE), title)


def _all_images(found: pl.DataFrame) -> Pane:
    x = found["share"].to_numpy()
    marks = [Line(x, found["certainty"].to_numpy(), "certainty", theme.hue(0), steps=True)]
    if "accuracy" in found.columns:
        marks.append(Line(x, found["accuracy"].to_numpy(), f"{ACCURACY}, sorted", theme.hue(1), dash=1, steps=True))
    return Pane(tuple(marks), Axis("share of images", (0.0, 1.0), form=".1%"), Axis("", SCALE), "all images")


def _example(rows: pl.DataFrame) -> Pane:
    bars = Bars(
        np.arange(len(rows), dtype=np.float64), rows["share"].to_numpy(), 0.7, "votes", theme.hue(4), across=True
    )
    first = rows.row(0, named=True)
    label = f", labelled {first['label']}" if first["label"] else ""
    title = f"image {first['image']}{label}: certainty {first['certainty']:.2f}"
    marks = (bars, dots(rows["draws"].to_list()))
    return Pane(marks, Axis("plausibility", (0.0, 0.8)), named_places(rows["class"].to_list()), title)


FIGURES = (PaperFigure("cifar10h", "A.9", TITLE, ("cifar10h", "cifar10h_all", "cifar10h_examples"), _cifar10h),)
