"""Figures of the models: metrics across reliabilities, and their spread over draws."""

from __future__ import annotations

from collections.abc import Callable

from dissensus.figures.certainty_charts import certainty_curves
from dissensus.figures.charts import Chart
from dissensus.figures.metric_charts import draws_histogram, metric_across_reliability
from dissensus.reproduction.models_experiment import SET3, TITLE, TOP3
from dissensus.reproduction.paper_figures import Frames, PaperFigure

MEDIUM = "plackett-luce 3"


def _histogram(frames: Frames) -> Chart:
    found = frames["models"]
    medium = found.filter((found["aggregation"] == "plackett-luce") & (found["reliability"] == 3.0))
    return draws_histogram(frames["models_draws"], frames["models_resamples"], medium, TOP3, run=MEDIUM)


def _across(metric: str) -> Callable[[Frames], Chart]:
    return lambda frames: metric_across_reliability(frames["models"], metric)


def _certainties(frames: Frames) -> Chart:
    return certainty_curves(frames["certainty_by_reliability"], top=1)


FIGURES = (
    PaperFigure("certainty_by_reliability", "E.15", TITLE, ("certainty_by_reliability",), _certainties),
    PaperFigure("top3_accuracy", "6", TITLE, ("models",), _across(TOP3)),
    PaperFigure("top3_set_accuracy", "6", TITLE, ("models",), _across(SET3)),
    PaperFigure("top3_accuracy_over_draws", "7", TITLE, ("models", "models_draws", "models_resamples"), _histogram),
)
