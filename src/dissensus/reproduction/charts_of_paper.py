"""The figures of the paper, from the frames of a reproduction; what is not there is left out."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from dissensus.core.errors import MissingExtraError
from dissensus.core.output import directory_written_whole, foreign_entry
from dissensus.figures.charts import Chart
from dissensus.reproduction import (
    cifar10h_figures,
    dermatology_figures,
    models_figures,
    printed_figures,
    ratings_figures,
    tempered_figures,
    toy_figures,
)
from dissensus.reproduction.paper_figures import Frames, PaperFigure

if TYPE_CHECKING:
    from dissensus.core.aliases import Path

FIGURES: tuple[PaperFigure, ...] = (
    *toy_figures.FIGURES,
    *printed_figures.FIGURES,
    *cifar10h_figures.FIGURES,
    *ratings_figures.FIGURES,
    *dermatology_figures.FIGURES,
    *models_figures.FIGURES,
    *tempered_figures.FIGURES,
)
"""Every figure of the paper that shows data, and one of ours."""


def charts_of(frames: Frames) -> dict[str, Chart]:
    """Return the charts that the frames allow, by name."""
    return {figure.name: figure.draw(frames) for figure in FIGURES if figure.is_possible(frames)}


def not_figures(place: FilePath) -> str:
    """Say what in a directory must not be lost; nothing if it holds these figures only."""
    return foreign_entry(place, [f"{each.name}{ending}" for each in FIGURES for ending in (".svg", ".html")])


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
