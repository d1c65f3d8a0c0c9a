"""The figures of the paper, from the frames of a reproduction; what is not there is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.errors import MissingExtraError
from dissensus.core.output import directory_written_whole, foreign_entry
from dissensus.figures import theme
from dissensus.figures.case_charts import CORNERS, risk_ranges, simplex
from dissensus.figures.certainty_charts import certainty_curves
from dissensus.figures.charts import CERTAINTY, SHARE_OF_CASES, Axis, Chart, Line, Pane, Points
from dissensus.figures.metric_charts import draws_histogram, metric_across_reliability
from dissensus.figures.samples import quantile_curve
from dissensus.reproduction.models_experiment import SET3, TOP3

if TYPE_CHECKING:
    import polars as pl

    from dissensus.core.aliases import Path

    Frames = Mapping[str, "pl.DataFrame"]

LEVELS = ((0.0, "low"), (1.0, "medium"), (2.0, "high"))
MEDIUM = "plackett-luce 3"


def charts_of(frames: Frames) -> dict[str, Chart]:
    """Return the charts that the frames allow, by name."""
    return {name: draw(frames) for name, (needed, draw) in CHARTS.items() if needed in frames}


def not_figures(place: FilePath) -> str:
    """Say what in a directory must not be lost; nothing if it holds these figures only."""
    return foreign_entry(place, [f"{name}{ending}" for name in CHARTS for ending in (".svg", ".html")])


def write_figures(frames: Frames, directory: Path, *, overwrite: bool = False) -> tuple[FilePath, ...]:
    """Write the figures into a directory, all or none: SVG if matplotlib is there, otherwise pages."""
    from dissensus.figures.matplotlib_renderer import write_chart
    from dissensus.figures.plotly_renderer import page

    ending = ".svg" if _has_matplotlib() else ".html"
    charts = charts_of(frames)
    with directory_written_whole(directory, overwrite=overwrite, foreign=not_figures) as room:
        for name, chart in charts.items():
            place = room / f"{name}{ending}"
            if ending == ".svg":
                write_chart(chart, place)
            else:
                place.write_text(page(chart), encoding="utf-8")
    return tuple(FilePath(directory) / f"{name}{ending}" for name in charts)


def _has_matplotlib() -> bool:
    try:
        import matplotlib as mpl  # noqa: F401 - whether it is there is the question
    except (ImportError, MissingExtraError):
        return False
    return True


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


def _ratings(name: str, title: str) -> Callable[[Frames], Chart]:
    def draw(frames: Frames) -> Chart:
        x, y = quantile_curve(frames[name]["certainty"].to_numpy())
        panel = Pane((Line(x, y, "certainty", theme.hue(0), steps=True),), SHARE_OF_CASES, CERTAINTY)
        return Chart(title, (panel,), "Certainty of the side of the threshold.")

    return draw


def _risk_certainty(frames: Frames) -> Chart:
    """Draw the certainty of conditions and of their risks, each sorted by itself."""
    found = frames["dermatology_certainty"]
    marks = []
    for place, ((what,), rows) in enumerate(found.group_by("what", maintain_order=True)):
        x, y = quantile_curve(rows["certainty"].to_numpy())
        marks.append(Line(x, y, str(what), theme.hue(place), place, steps=True))
    caption = "Certainty of the first one, two and three conditions, and of the risk of the first one."
    return Chart("Dermatology: certainty", (Pane(tuple(marks), SHARE_OF_CASES, CERTAINTY),), caption)


def _histogram(frames: Frames) -> Chart:
    found = frames["models"]
    medium = found.filter((found["aggregation"] == "plackett-luce") & (found["reliability"] == 3.0))
    return draws_histogram(frames["models_draws"], frames["models_resamples"], medium, TOP3, run=MEDIUM)


CHARTS: Mapping[str, tuple[str, Callable[[Frames], Chart]]] = {
    "toy_certainty": ("toy_certainty", _toy_line),
    "toy_simplex": ("toy_draws", _toy_triangles),
    "cifar10h": ("cifar10h", _cifar10h),
    "ava": ("ava", _ratings("ava", "AVA: certainty of poor or good")),
    "wikipedia_toxicity": ("wikipedia_toxicity", _ratings("wikipedia_toxicity", "Certainty of toxic or not")),
    "dermatology_certainty": ("dermatology_certainty", _risk_certainty),
    "dermatology_risk": ("dermatology_risks", lambda f: risk_ranges(f["dermatology_risks"], run=MEDIUM, levels=LEVELS)),
    "certainty_by_reliability": (
        "certainty_by_reliability",
        lambda f: certainty_curves(f["certainty_by_reliability"], top=1),
    ),
    "top3_accuracy": ("models", lambda f: metric_across_reliability(f["models"], TOP3)),
    "top3_set_accuracy": ("models", lambda f: metric_across_reliability(f["models"], SET3)),
    "top3_accuracy_over_draws": ("models_draws", _histogram),
}
"""Which frame each chart needs, and how it is drawn."""
