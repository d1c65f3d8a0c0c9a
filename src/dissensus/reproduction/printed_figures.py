"""Figures 5, E.17 and E.18: what the printed cases may be, under both aggregations."""

from __future__ import annotations

from dissensus.reproduction.paper_figures import PaperFigure

FIGURES: tuple[PaperFigure, ...] = ()
