"""The figures of the paper, from the frames of a reproduction; what is not there is left out."""

from __future__ import annotations

from dissensus.figures.charts import Chart
from paper.reproduction import (
    cifar10h_figures,
    dermatology_figures,
    models_figures,
    printed_figures,
    ratings_figures,
    tempered_figures,
    toy_figures,
)
from paper.reproduction.paper_figures import Frames, PaperFigure

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
