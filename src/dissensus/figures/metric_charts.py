"""Figures of models: metrics across reliabilities, draws, certainties and categories."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.figures import theme
from dissensus.figures.certainty_charts import by_aggregation, reliabilities
from dissensus.figures.charts import (
    Axis,
    Bars,
    Chart,
    Line,
    Mark,
    Pane,
    Points,
    bands,
    dodged,
    joint_span,
    named_places,
    shortened,
)
from dissensus.figures.samples import counted, even_edges

if TYPE_CHECKING:
    import polars as pl

BANDS = ("annotation_low", "annotation_high", 0.45), ("low", "high", 0.18)
"""The strong band of the annotations alone, and the pale one of cases like these, annotated likewise."""


SPREADS = (("resamples", "cases like these", 0.35), ("draws", "annotations alone", 0.85))
"""What numbers are counted, what they differ by, and how strongly they are drawn."""


def metric_across_reliability(summary: pl.DataFrame, metric: str, *, level: float = 0.9) -> Chart:
    """Follow every model across reliabilities: lines with two bands, and crosses for point estimates."""
    rows = summary.filter(summary["metric"] == metric)
    models = rows["model"].unique(maintain_order=True).to_list()
    span = joint_span(*(_numbers(rows, name) for name in ("mean", "low", "high", "point_estimate")))
    panels = []
    for aggregation, runs in by_aggregation(rows):
        has_points = any(part["point_estimate"].is_not_null().any() for _, part in runs)
        marks = [mark for place, model in enumerate(models) for mark in _model_marks(runs, model, place, models)]
        axis = reliabilities([reliability for reliability, _ in runs])
        axis = _with_point_place(axis, len(runs)) if has_points else axis
        panels.append(Pane(tuple(marks), axis, Axis(metric, span), aggregation))
    caption = (
        f"Lines: mean over draws. Strong bands: {100 * level:g} % interval of the annotations alone; pale bands: of "
        "cases like these, annotated likewise. Crosses: the point estimate, against the one answer per case of the "
        "deterministic aggregation that the runs tend to."
    )
    return Chart(f"{metric} across reliabilities", tuple(panels), caption, columns=min(len(panels), 2), height=360)


def _with_point_place(axis: Axis, place: int) -> Axis:
    return Axis(axis.title, (-0.35, place + 0.45), (*axis.ticks, (float(place), "point\nestimate")), axis.form)


def _model_marks(
    runs: list[tuple[float | None, pl.DataFrame]], model: str, place: int, models: list[str]
) -> list[Mark]:
    """Draw one model: bands below, the line, and the cross of the point estimate behind the last reliability."""
    import polars as pl

    chosen = pl.concat([part.filter(part["model"] == model).head(1) for _, part in runs])
    x, colour = np.arange(len(chosen), dtype=np.float64), theme.hue(place)
    marks: list[Mark] = []
    for low, high, opacity in BANDS[::-1]:
        marks += bands(x, _numbers(chosen, low), _numbers(chosen, high), colour=colour, opacity=opacity)
    texts = tuple(f"{row['run']}\n{_told(row)}" for row in chosen.iter_rows(named=True))
    marks.append(Line(x, _numbers(chosen, "mean"), model, colour, place, symbol=place, texts=texts))
    points = _numbers(chosen, "point_estimate")
    known = points[np.isfinite(points)][-1:]
    where = np.full(len(known), len(runs) + dodged(place, len(models), room=0.4))
    told = tuple(f"{model}\npoint estimate: {value:.3f}" for value in known)
    return [*marks, Points(where, known, "", colour, symbol=-1, size=10, texts=told)]


def _told(row: dict[str, object]) -> str:
    """Write a row out in words."""
    parts = (
        f"{row['model']}: {_written(row['mean'])}",
        f"annotations: {_written(row['annotation_low'])} to {_written(row['annotation_high'])}",
        f"annotations and cases: {_written(row['low'])} to {_written(row['high'])}",
    )
    point = "" if row.get("point_estimate") is None else f"\npoint estimate: {_written(row['point_estimate'])}"
    return "\n".join(parts) + point


def _written(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) and np.isfinite(value) else "undefined"


def _numbers(rows: pl.DataFrame, column: str) -> FloatArray:
    """Return a column with nan for all that cannot be drawn: what is missing, undefined or infinite."""
    values = rows[column].cast(float).fill_null(float("nan")).to_numpy()
    return np.where(np.isfinite(values), values, np.nan)


def draws_histogram(
    per_draw: pl.DataFrame, per_resample: pl.DataFrame, summary: pl.DataFrame, metric: str, *, run: str
) -> Chart:
    """Show how a metric of each model spreads over draws and over resampled cases, one row of panels per model."""
    tables = [table.filter(table["metric"] == metric) for table in (per_resample, per_draw)]
    rows = summary.filter(summary["metric"] == metric)
    span = joint_span(*(_numbers(table, "mean") for table in tables), _numbers(rows, "point_estimate"))
    panels = []
    for place, row in enumerate(rows.iter_rows(named=True)):
        mine = [_numbers(table.filter(table["model"] == row["model"]), "mean") for table in tables]
        last = place == len(rows) - 1
        x = Axis(metric if last else "", span)
        panels.append(Pane(_draw_marks(mine, row, place), x, Axis("share", form=".1%"), row["model"]))
    caption = (
        "Solid: the metric over all cases in each draw, so its spread is due to the annotations alone. Pale: where it "
        "may lie on cases like these. The dashed line marks the point estimate."
    )
    return Chart(f"{metric} over the draws of {run}", tuple(panels), caption, height=130, gap=64)


def _draw_marks(values: list[FloatArray], row: dict[str, float], place: int) -> tuple[Mark, ...]:
    edges = even_edges(*values, number=24)
    middle, width = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0])
    marks: list[Mark] = []
    top = 0.0
    for own, (unit, name, opacity) in zip(values, SPREADS, strict=True):
        shares = counted(own, edges)
        texts = tuple(f"{share:.1%} of {unit} around {x:.3f}\n{name}" for share, x in zip(shares, middle, strict=True))
        marks.append(Bars(middle, shares, width, colour=theme.hue(place), opacity=opacity, texts=texts))
        top = float(np.nanmax(shares, initial=top))
    for value, name, dash in ((row["mean"], "mean over draws", 0), (row["point_estimate"], "point estimate", 1)):
        if value is not None and np.isfinite(value):
            told = (f"{name}: {value:.3f}",) * 2
            marks.append(Line(np.full(2, value), np.array([0, top]), name, theme.NEUTRAL, dash=dash, texts=told))
    return tuple(marks)


def metric_by_certainty(binned: pl.DataFrame, metric: str, *, run: str, level: float = 0.9) -> Chart:
    """Compare the models among cases of like certainty, with the number of cases of each bin."""
    rows = binned.filter(binned["metric"] == metric).sort("from", maintain_order=True)
    bins = rows.unique("bin", keep="first", maintain_order=True)
    names = [f"{name}\nn = {number:g}" for name, number in bins.select("bin", "n_cases").iter_rows()]
    marks = _grouped_intervals(rows, bins["bin"].to_list(), "bin", lambda row: f"certainty {row['bin']}")
    panel = Pane(marks, named_places(names, "certainty of the case"), Axis(metric))
    caption = f"Mean over draws and {100 * level:g} % interval among the cases of each certainty; n: number of cases."
    return Chart(f"{metric} by certainty under {run}", (panel,), caption, height=360)


def category_metrics(by_category: pl.DataFrame, metric: str, *, run: str, level: float = 0.9) -> Chart:
    """Compare the models within each category, with the expected number of its cases."""
    rows = by_category.filter(by_category["metric"] == metric)
    found = rows.unique("category", keep="first", maintain_order=True)
    names = [
        f"{shortened(name, 24)}\nn ≈ {number:.4g}" for name, number in found.select("category", "n_cases").iter_rows()
    ]
    marks = _grouped_intervals(rows, found["category"].to_list(), "category", lambda row: f"category {row['category']}")
    panel = Pane(marks, named_places(names, "category of the most plausible condition"), Axis(metric))
    caption = (
        f"Mean over draws and {100 * level:g} % interval. Which cases belong to a category differs from draw to draw; "
        "n is the expected number."
    )
    return Chart(f"{metric} by category under {run}", (panel,), caption, height=360)


def _grouped_intervals(
    rows: pl.DataFrame, groups: list[str], column: str, told: Callable[[dict[str, object]], str]
) -> tuple[Mark, ...]:
    """Draw a point with its interval for every model and group, the models of a group side by side."""
    models = rows["model"].unique(maintain_order=True).to_list()
    marks = []
    for place, model in enumerate(models):
        mine = rows.filter(rows["model"] == model)
        at = np.array([groups.index(name) for name in mine[column]], dtype=np.float64) + dodged(place, len(models))
        low, mean, high = (_numbers(mine, name) for name in ("low", "mean", "high"))
        texts = tuple(
            f"{model}: {_written(row['mean'])} ({_written(row['low'])} to {_written(row['high'])})\n"
            f"{told(row)}, n = {row['n_cases']:.4g}"
            for row in mine.iter_rows(named=True)
        )
        marks.append(Points(at, mean, model, theme.hue(place), place, 9, low=low, high=high, texts=texts))
    return tuple(marks)
