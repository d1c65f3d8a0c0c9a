"""Figures of models: metrics across reliabilities, draws, certainties and categories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

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


ESTIMANDS = {"panel": (3, 1), "agreement": (2, 2), "adjusted": (0, 0)}
"""What numbers are estimates of, in the order in which they stand side by side, with colour and symbol of each."""

MEANINGS = {
    "panel": "Panel: against what a large panel of such annotators would say.",
    "agreement": "Agreement: against one annotator taken at random.",
    "adjusted": "Adjusted: the mean over the draws of {run}.",
}
"""What the caption says about each of them."""

SPREADS = (("resamples", "cases like these", 0.35), ("draws", "annotations alone", 0.85))
"""What numbers are counted, what they differ by, and how strongly they are drawn."""


def metric_across_reliability(
    summary: pl.DataFrame, metric: str, *, panel: pl.DataFrame | None = None, level: float = 0.9
) -> Chart:
    """Follow every model across reliabilities: lines with two bands, and behind them panel and point estimates."""
    rows = summary.filter(summary["metric"] == metric)
    beside = rows.clear() if panel is None else panel.filter(panel["metric"] == metric)
    models = rows["model"].unique(maintain_order=True).to_list()
    span = joint_span(
        *(_numbers(part, name) for part in (rows, beside) for name in ("mean", "low", "high", "point_estimate"))
    )
    title = metric if len(beside) else f"adjusted {metric}"
    panels = []
    for aggregation, runs in by_aggregation(rows):
        has_points = any(part["point_estimate"].is_not_null().any() for _, part in runs)
        point = "point" if len(beside) else "point\nestimate"  # with both, only short names stay upright on a phone
        names = [*(["panel"] if len(beside) else []), *([point] if has_points else [])]
        marks = [
            mark
            for place, model in enumerate(models)
            for mark in (
                *_model_marks(runs, model, place, models, behind=len(runs) + len(names) - 1),
                *_panel_marks(beside, model, place, models, behind=len(runs)),
            )
        ]
        axis = _with_places(reliabilities([reliability for reliability, _ in runs]), len(runs), names)
        panels.append(Pane(tuple(marks), axis, Axis(title, span), aggregation))
    return Chart(
        f"Adjusted {metric} across reliabilities" + (", beside panel" if len(beside) else ""),
        tuple(panels),
        _across_caption(level, has_panel=bool(len(beside))),
        columns=min(len(panels), 2),
        height=360,
    )


def _across_caption(level: float, *, has_panel: bool) -> str:
    panel = f"Points on their own: panel, with its {100 * level:g} % interval; it depends on no reliability. "
    return (
        f"Lines: adjusted, the mean over draws. Strong bands: {100 * level:g} % interval of the annotations alone; "
        f"pale bands: of cases like these, annotated likewise. {panel if has_panel else ''}Crosses: the point "
        "estimate, against the one answer per case of the deterministic aggregation that the runs tend to."
    )


def _with_places(axis: Axis, first: int, names: list[str]) -> Axis:
    """Add named places behind the reliabilities."""
    if not names:
        return axis
    ticks = tuple((float(first + number), name) for number, name in enumerate(names))
    return Axis(axis.title, (-0.35, first + len(names) - 0.55), (*axis.ticks, *ticks), axis.form)


def _panel_marks(rows: pl.DataFrame, model: str, place: int, models: list[str], *, behind: int) -> list[Mark]:
    """Mark what a large panel would say about a model, apart from every sweep."""
    mine = rows.filter(rows["model"] == model)
    low, mean, high = (_numbers(mine, name) for name in ("low", "mean", "high"))
    where = np.full(len(mine), behind + dodged(place, len(models)))
    texts = tuple(_interval_told(model, row) for row in mine.iter_rows(named=True))
    return [Points(where, mean, "", theme.hue(place), place, 8, low=low, high=high, texts=texts)] if len(mine) else []


def _interval_told(model: str, row: dict[str, object]) -> str:
    told = f"{_written(row['mean'])} ({_written(row['low'])} to {_written(row['high'])})"
    return f"{model}, {row['estimand']}: {told}"


def estimands_side_by_side(
    rows: pl.DataFrame, metric: str, *, points: Mapping[str, Mapping[str, float]], level: float = 0.9
) -> Chart:
    """Put the estimands of every model side by side, with what practice reports and the truth where it is known.

    Parameters
    ----------
    rows
        The rows of one run per estimand.
    points
        Values without an interval, by their name and by model.
    """
    mine = rows.filter(rows["metric"] == metric)
    models = mine["model"].unique(maintain_order=True).to_list()
    known = [name for name in ESTIMANDS if name in mine["estimand"].to_list()]
    marks = [_estimand_marks(mine.filter(mine["estimand"] == name), name, models, known) for name in known]
    singles = [_single_marks(name, values, models) for name, values in points.items()]
    pane = Pane((*marks, *singles), named_places([shortened(model, 22) for model in models]), Axis(metric))
    told = [MEANINGS[name].format(run=mine.filter(mine["estimand"] == name)["run"][0]) for name in known]
    caption = f"Every estimand with its {100 * level:g} % interval. {' '.join(told)}"
    return Chart(f"{metric}: {', '.join(known)}", (pane,), caption)


def _estimand_marks(rows: pl.DataFrame, name: str, models: list[str], known: list[str]) -> Points:
    """Mark one estimand of every model, beside the others."""
    at = np.array([models.index(model) for model in rows["model"]]) + dodged(known.index(name), len(known))
    low, mean, high = (_numbers(rows, column) for column in ("low", "mean", "high"))
    texts = tuple(_interval_told(row["model"], row) for row in rows.iter_rows(named=True))
    colour, symbol = ESTIMANDS[name]
    return Points(at, mean, name, theme.hue(colour), symbol, 9, low=low, high=high, texts=texts)


def _single_marks(name: str, values: Mapping[str, float], models: list[str]) -> Points:
    """Mark what has no interval: a cross for a practice, a star for the truth."""
    at = np.array([models.index(model) for model in values], dtype=np.float64)
    texts = tuple(f"{model}, {name}: {_written(value)}" for model, value in values.items())
    symbol = theme.SYMBOLS.index("star") if name == "truth" else -1
    given = np.array(list(values.values()))
    return Points(at, np.where(np.isfinite(given), given, np.nan), name, theme.NEUTRAL, symbol, 10, texts=texts)


def _model_marks(
    runs: list[tuple[float | None, pl.DataFrame]], model: str, place: int, models: list[str], *, behind: int
) -> list[Mark]:
    """Draw one model: bands below, the line, and the cross of the point estimate behind the reliabilities."""
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
    where = np.full(len(known), behind + dodged(place, len(models), room=0.4))
    told = tuple(f"{model}\npoint estimate: {value:.3f}" for value in known)
    return [*marks, Points(where, known, "", colour, symbol=-1, size=10, texts=told)]


def _told(row: dict[str, object]) -> str:
    """Write a row out in words."""
    parts = (
        f"{row['model']}, adjusted: {_written(row['mean'])}",
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
    estimand, panels = estimand_of(rows), []
    for place, row in enumerate(rows.iter_rows(named=True)):
        mine = [_numbers(table.filter(table["model"] == row["model"]), "mean") for table in tables]
        last = place == len(rows) - 1
        x = Axis(f"{estimand} {metric}" if last else "", span)
        panels.append(Pane(_draw_marks(mine, row, place), x, Axis("share", form=".1%"), row["model"]))
    caption = (
        f"Solid: the {estimand} metric over all cases in each draw, so its spread is due to the annotations alone. "
        f"Pale: where it may lie on cases like these. The full line marks the {estimand} value, the dashed line the "
        "point estimate."
    )
    title = f"{estimand.capitalize()} {metric} over the draws" + ("" if run == estimand else f" of {run}")
    return Chart(title, tuple(panels), caption, height=130, gap=64)


def estimand_of(rows: pl.DataFrame) -> str:
    """Say what the rows of one run estimate."""
    return str(rows["estimand"][0]) if len(rows) else "adjusted"


def under(run: str, estimand: str) -> str:
    """Name a run in a title, unless it is called like what it estimates.

    >>> under("plackett-luce 1", "adjusted"), under("panel", "panel")
    (' under plackett-luce 1', '')
    """
    return "" if run == estimand else f" under {run}"


def _draw_marks(values: list[FloatArray], row: dict[str, Any], place: int) -> tuple[Mark, ...]:
    edges = even_edges(*values, number=24)
    middle, width = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0])
    marks: list[Mark] = []
    top = 0.0
    for own, (unit, name, opacity) in zip(values, SPREADS, strict=True):
        shares = counted(own, edges)
        texts = tuple(f"{share:.1%} of {unit} around {x:.3f}\n{name}" for share, x in zip(shares, middle, strict=True))
        marks.append(Bars(middle, shares, width, colour=theme.hue(place), opacity=opacity, texts=texts))
        top = float(np.nanmax(shares, initial=top))
    for value, name, dash in ((row["mean"], row["estimand"], 0), (row["point_estimate"], "point estimate", 1)):
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
    estimand = estimand_of(rows)
    panel = Pane(marks, named_places(names, "certainty of the case"), Axis(f"{estimand} {metric}"))
    caption = (
        f"{estimand.capitalize()} value and {100 * level:g} % interval among the cases of each certainty; n: number of "
        "cases."
    )
    title = f"{estimand.capitalize()} {metric} by certainty{under(run, estimand)}"
    return Chart(title, (panel,), caption, height=360)


def category_metrics(by_category: pl.DataFrame, metric: str, *, run: str, level: float = 0.9) -> Chart:
    """Compare the models within each category, with the expected number of its cases."""
    rows = by_category.filter(by_category["metric"] == metric)
    found = rows.unique("category", keep="first", maintain_order=True)
    names = [
        f"{shortened(name, 24)}\nn ≈ {number:.4g}" for name, number in found.select("category", "n_cases").iter_rows()
    ]
    marks = _grouped_intervals(rows, found["category"].to_list(), "category", lambda row: f"category {row['category']}")
    estimand = estimand_of(rows)
    panel = Pane(marks, named_places(names, "category of the most plausible condition"), Axis(f"{estimand} {metric}"))
    caption = (
        f"{estimand.capitalize()} value and {100 * level:g} % interval. Which cases belong to a category differs from "
        "draw to draw; n is the expected number."
    )
    title = f"{estimand.capitalize()} {metric} by category{under(run, estimand)}"
    return Chart(title, (panel,), caption, height=360)


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
