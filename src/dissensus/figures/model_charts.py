"""Figures of models: metrics and their spread, comparisons and ranks, and the curves of a whole data set."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.figures import theme
from dissensus.figures.case_charts import by_aggregation, reliabilities, run_of
from dissensus.figures.charts import (
    Axis,
    Band,
    Bars,
    Cells,
    Chart,
    Line,
    Mark,
    Pane,
    Points,
    bands,
    counted,
    diagonal,
    dodged,
    even_edges,
    joint_span,
    named_places,
    numbers,
    shortened,
)

if TYPE_CHECKING:
    import polars as pl

# What is said about a row where one points at it.
Told: TypeAlias = Callable[[dict[str, Any]], str]

# The pale band of cases like these, annotated likewise, and above it the strong one of the annotations alone.
BANDS = ("low", "high", 0.18), ("annotation_low", "annotation_high", 0.45)

# What numbers are estimates of, in the order in which they stand side by side, with colour and symbol of each.
ESTIMANDS = {"agreement": (2, 2), "adjusted": (0, 0), "panel": (3, 1)}

# How strongly the panel estimate is drawn.
PALE = 0.45

# What numbers are counted, what they differ by, and how strongly they are drawn.
SPREADS = (("resamples", "cases like these", 0.35), ("draws", "annotations alone", 0.85))

PROBABILITY = Axis("probability", (0, 1), form=".0%")

# How strongly bands of curves are drawn.
BAND = 0.18

# Up to so many conditions there is room for intervals in a confusion matrix.
MOST_WITH_INTERVALS = 4

SHARE, RATE = (0.0, 1.02), (-0.01, 1.01)

# What the caption says about labels.
TRUTHS = {
    "top": "A case is positive in the draws in which the condition is its most plausible one.",
    "soft": "A case is positive as far as the condition is plausible.",
}


def _of(rows: pl.DataFrame, column: str, usual: str) -> str:
    """Return what all rows have in a column."""
    return str(rows[column][0]) if len(rows) else usual


def estimand_of(rows: pl.DataFrame) -> str:
    """Say what the rows of one run estimate."""
    return _of(rows, "estimand", "adjusted")


def under(run: str, estimand: str) -> str:
    """Name a run in a title, unless it is called like what it estimates.

    >>> under("plackett-luce 1", "adjusted"), under("panel", "panel")
    (' under plackett-luce 1', '')
    """
    return "" if run == estimand else f" under {run}"


def _by(rows: pl.DataFrame, column: str) -> list[tuple[str, pl.DataFrame]]:
    """Part rows by a column, in the order in which its values come."""
    return [(name, rows.filter(rows[column] == name)) for name in rows[column].unique(maintain_order=True).to_list()]


def _interval_points(
    rows: pl.DataFrame, at: FloatArray, told: Told, *, name: str, place: int, size: float, y: str = "mean"
) -> Points:
    """Mark the values of some rows with their intervals, in the look of their place."""
    low, value, high = (numbers(rows, column) for column in ("low", y, "high"))
    texts = tuple(told(row) for row in rows.iter_rows(named=True))
    return Points(at, value, name, theme.hue(place), place, size, low=low, high=high, texts=texts)


def _written(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) and np.isfinite(value) else "undefined"


def _with_interval(row: dict[str, Any], y: str = "mean") -> str:
    return f"{_written(row[y])} ({_written(row['low'])} to {_written(row['high'])})"


def _estimated(row: dict[str, Any]) -> str:
    return f"{row['model']}, {row['estimand']}: {_with_interval(row)}"


# Metrics ------------------------------------------------------------------------------------------------


def metric_across_reliability(
    summary: pl.DataFrame, metric: str, *, panel: pl.DataFrame | None = None, level: float = 0.95
) -> Chart:
    """Follow every model across reliabilities: lines with two bands, and behind them panel and point estimates."""
    rows = summary.filter(summary["metric"] == metric)
    beside = rows.clear() if panel is None else panel.filter(panel["metric"] == metric)
    models = rows["model"].unique(maintain_order=True).to_list()
    drawn = [numbers(part, name) for part in (rows, beside) for name in ("mean", "low", "high", "point_estimate")]
    side = Axis(metric if len(beside) else f"adjusted {metric}", joint_span(*drawn))
    panels = []
    for aggregation, runs in by_aggregation(rows):
        has_points = any(part["point_estimate"].is_not_null().any() for _, part in runs)
        point = "point" if len(beside) else "point\nestimate"  # with both, only short names stay upright on a phone
        names = [*(["panel"] if len(beside) else []), *([point] if has_points else [])]
        marks: list[Mark] = []
        for place, model in enumerate(models):
            marks += _model_marks(runs, model, place, models, behind=len(runs) + len(names) - 1)
            own = beside.filter(beside["model"] == model)
            if len(own):
                at = np.full(len(own), len(runs) + dodged(place, len(models)))
                marks.append(_interval_points(own, at, _estimated, name="", place=place, size=8))
        axis = reliabilities([reliability for reliability, _ in runs])
        if names:
            ticks = ((float(len(runs) + number), name) for number, name in enumerate(names))
            axis = Axis(axis.title, (-0.35, len(runs) + len(names) - 0.55), (*axis.ticks, *ticks), axis.form)
        panels.append(Pane(tuple(marks), axis, side, aggregation))
    alone = f"Points on their own: panel, with its {100 * level:g} % interval; it depends on no reliability. "
    caption = (
        f"Lines: adjusted, the mean over draws. Strong bands: {100 * level:g} % interval of the annotations alone; "
        f"pale bands: of cases like these, annotated likewise. {alone if len(beside) else ''}Crosses: the point "
        "estimate, against the one answer per case of the deterministic aggregation that the runs tend to."
    )
    title = f"Adjusted {metric} across reliabilities" + (", beside panel" if len(beside) else "")
    return Chart(title, tuple(panels), caption, columns=min(len(panels), 2), height=360)


def _model_marks(
    runs: list[tuple[float | None, pl.DataFrame]], model: str, place: int, models: list[str], *, behind: int
) -> list[Mark]:
    """Draw one model: bands below, the line, and the cross of the point estimate behind the reliabilities."""
    import polars as pl

    chosen = pl.concat([part.filter(part["model"] == model).head(1) for _, part in runs])
    x, colour = np.arange(len(chosen), dtype=np.float64), theme.hue(place)
    marks: list[Mark] = []
    for low, high, opacity in BANDS:
        marks += bands(x, numbers(chosen, low), numbers(chosen, high), colour=colour, opacity=opacity)
    texts = []
    for row in chosen.iter_rows(named=True):
        told = f"{row['run']}\n{row['model']}, adjusted: {_written(row['mean'])}"
        for name, ends in (("annotations", "annotation_{}"), ("annotations and cases", "{}")):
            told += f"\n{name}: {_written(row[ends.format('low')])} to {_written(row[ends.format('high')])}"
        point = row.get("point_estimate")
        texts.append(told if point is None else f"{told}\npoint estimate: {_written(point)}")
    marks.append(Line(x, numbers(chosen, "mean"), model, colour, place, symbol=place, texts=tuple(texts)))
    points = numbers(chosen, "point_estimate")
    known = points[np.isfinite(points)][-1:]
    where = np.full(len(known), behind + dodged(place, len(models), room=0.4))
    crosses = tuple(f"{model}\npoint estimate: {value:.3f}" for value in known)
    return [*marks, Points(where, known, "", colour, symbol=-1, size=10, texts=crosses)]


def estimands_side_by_side(
    rows: pl.DataFrame,
    metric: str,
    *,
    points: Mapping[str, Mapping[str, float]],
    annotator: tuple[str, Mapping[str, float]] | None = None,
    level: float = 0.95,
) -> Chart:
    """Put one annotator and every model side by side: estimands with intervals, practice, the truth if known.

    Parameters
    ----------
    rows
        The rows of one run per estimand, the best model first.
    points
        Values without an interval, by their name and by model.
    annotator
        What an annotator is called, and the agreement of one with another: ``mean``, ``low`` and ``high``.
    """
    import polars as pl

    mine = rows.filter(rows["metric"] == metric)
    called = "annotator" if annotator is None else annotator[0]
    models = mine["model"].unique(maintain_order=True).to_list()
    known = {name: mine.filter(mine["estimand"] == name) for name in ESTIMANDS if name in mine["estimand"].to_list()}
    names = {"agreement": f"with one {called}", "adjusted": "uncertainty-adjusted", "panel": "large panel (estimate)"}
    lines = models
    if annotator is not None and not math.isnan(annotator[1]["mean"]):
        lines = [f"one {called}", *models]
        own = known.get("agreement", mine.clear())
        one = pl.DataFrame([{"model": lines[0], "estimand": "agreement", **annotator[1]}])
        known["agreement"] = pl.concat([one, own.select(one.columns)])
    marks = []
    for place, (name, own) in enumerate(known.items()):
        hue, symbol = ESTIMANDS[name]
        at = np.array([lines.index(model) for model in own["model"]]) + dodged(place, len(known), room=0.5)
        upright = _interval_points(own, at, _estimated, name=names[name], place=symbol, size=9)
        look: dict[str, Any] = {"colour": theme.hue(hue), "opacity": PALE if name == "panel" else 1.0}
        marks.append(replace(upright, x=upright.y, y=at, across=True, **look))
    for name, values in points.items():  # what has no interval: a cross for a practice, a star for the truth
        at = np.array([lines.index(model) for model in values], dtype=np.float64)
        texts = tuple(f"{model}, {name}: {_written(value)}" for model, value in values.items())
        symbol = theme.SHAPES.index(theme.STAR) if name == "truth" else -1
        marks.append(Points(np.array(list(values.values())), at, name, theme.NEUTRAL, symbol, 10, texts=texts))
    pane = Pane(tuple(marks), Axis(metric), named_places([shortened(name, 22) for name in lines]))
    caption = f"Bars are {100 * level:g} % intervals."
    return Chart(f"{metric} of models and {called}s", (pane,), caption, height=40 + 34 * len(lines))


def draws_histogram(
    per_draw: pl.DataFrame, per_resample: pl.DataFrame, summary: pl.DataFrame, metric: str, *, run: str
) -> Chart:
    """Show how a metric of each model spreads over draws and over resampled cases, one row of panels per model."""
    tables = [table.filter(table["metric"] == metric) for table in (per_resample, per_draw)]
    rows = summary.filter(summary["metric"] == metric)
    span = joint_span(*(numbers(table, "mean") for table in tables), numbers(rows, "point_estimate"))
    estimand, panels = estimand_of(rows), []
    for place, row in enumerate(rows.iter_rows(named=True)):
        values = [numbers(table.filter(table["model"] == row["model"]), "mean") for table in tables]
        edges, top = even_edges(*values, number=24), 0.0
        middle, width = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0])
        marks: list[Mark] = []
        for own, (unit, name, opacity) in zip(values, SPREADS, strict=True):
            shares = counted(own, edges)
            said = zip(shares, middle, strict=True)
            texts = tuple(f"{share:.1%} of {unit} around {at:.3f}\n{name}" for share, at in said)
            marks.append(Bars(middle, shares, width, colour=theme.hue(place), opacity=opacity, texts=texts))
            top = float(np.nanmax(shares, initial=top))
        for value, name, dash in ((row["mean"], row["estimand"], 0), (row["point_estimate"], "point estimate", 1)):
            if value is not None and np.isfinite(value):
                told = (f"{name}: {value:.3f}",) * 2
                marks.append(Line(np.full(2, value), np.array([0, top]), name, dash=dash, texts=told))
        x = Axis(f"{estimand} {metric}" if place == len(rows) - 1 else "", span)
        panels.append(Pane(tuple(marks), x, Axis("share", form=".1%"), row["model"]))
    caption = (
        f"Solid: the {estimand} metric over all cases in each draw, so its spread is due to the annotations alone. "
        f"Pale: where it may lie on cases like these. The full line marks the {estimand} value, the dashed line the "
        "point estimate."
    )
    title = f"{estimand.capitalize()} {metric} over the draws" + ("" if run == estimand else f" of {run}")
    return Chart(title, tuple(panels), caption, height=130)


def metric_by_certainty(binned: pl.DataFrame, metric: str, *, run: str, level: float = 0.95) -> Chart:
    """Compare the models among cases of like certainty, with the number of cases of each bin."""
    rows = binned.filter(binned["metric"] == metric).sort("from", maintain_order=True)
    told = f"value and {100 * level:g} % interval among the cases of each certainty; n: number of cases."
    return _grouped(rows, metric, "bin", "certainty", told, run=run, side="certainty of the case", number="\nn = {:g}")


def category_metrics(by_category: pl.DataFrame, metric: str, *, run: str, level: float = 0.95) -> Chart:
    """Compare the models within each category, with the expected number of its cases."""
    rows = by_category.filter(by_category["metric"] == metric)
    told = (
        f"value and {100 * level:g} % interval. Which cases belong to a category differs from draw to draw; n is the "
        "expected number."
    )
    side = "category of the most plausible condition"
    return _grouped(rows, metric, "category", "category", told, run=run, side=side, number="\nn ≈ {:.4g}")


def _grouped(
    rows: pl.DataFrame, metric: str, column: str, noun: str, told: str, *, run: str, side: str, number: str
) -> Chart:
    """Draw a point with its interval for every model and group of cases, the models of a group side by side."""
    groups = dict(rows.unique(column, keep="first", maintain_order=True).select(column, "n_cases").iter_rows())
    order, models, estimand = list(groups), _by(rows, "model"), estimand_of(rows)

    def words(row: dict[str, Any]) -> str:
        return f"{row['model']}: {_with_interval(row)}\n{noun} {row[column]}, n = {row['n_cases']:.4g}"

    marks = []
    for place, (model, own) in enumerate(models):
        at = np.array([order.index(name) for name in own[column]], dtype=np.float64) + dodged(place, len(models))
        marks.append(_interval_points(own, at, words, name=model, place=place, size=9))
    names = [shortened(name, 24) + number.format(n_cases) for name, n_cases in groups.items()]
    panel = Pane(tuple(marks), named_places(names, side), Axis(f"{estimand} {metric}"))
    title = f"{estimand.capitalize()} {metric} by {noun}{under(run, estimand)}"
    return Chart(title, (panel,), f"{estimand.capitalize()} {told}", height=360)


# Comparisons --------------------------------------------------------------------------------------------


def probability_matrix(differences: pl.DataFrame, metric: str, *, run: str, models: Sequence[str]) -> Chart:
    """Tabulate the probability that the model of a row is better than the model of a column."""
    chosen = differences.filter(differences["metric"] == metric)
    estimand, place = estimand_of(chosen), {model: number for number, model in enumerate(models)}
    values = np.full((len(models), len(models)), np.nan)
    for first, second, probability in chosen.select("first", "second", "probability_better").iter_rows():
        values[place[first], place[second]] = probability
        values[place[second], place[first]] = 1 - probability
    labels = tuple(tuple(chance(value, 2) for value in line) for line in values)
    told = "{} is better than {}\nwith probability {}".format
    texts = tuple(
        tuple(told(row, column, chance(values[i, j], 3)) if i != j else "" for j, column in enumerate(models))
        for i, row in enumerate(models)
    )
    names = [shortened(name, 18) for name in models]
    across, down = (named_places(names, title, margin=0.5) for title in ("... is better than", "this model ..."))
    caption = (
        f"Share of resamples in which the {estimand} value of the model of the row is better; ties count half. It does "
        "not allow for the number of comparisons, as verdicts do."
    )
    title = f"Probability of being better: {estimand} {metric}{under(run, estimand)}"
    panel = Pane((Cells(values, labels, texts),), across, down)
    return Chart(title, (panel,), caption, height=max(180, 46 * len(models)))


def chance(value: float, digits: int) -> str:
    """Write a probability that was counted in draws, never as certain; nothing if it is undefined.

    >>> chance(0.591, 2), chance(1.0, 2), chance(0.0004, 3)
    ('0.59', '> 0.99', '< 0.001')
    """
    least = 10.0**-digits
    if np.isnan(value):
        return ""
    if value > 1 - least / 2:
        return f"> {1 - least:.{digits}f}"
    return f"< {least:.{digits}f}" if value < least / 2 else f"{value:.{digits}f}"


def rank_distribution(ranks: pl.DataFrame, metric: str, *, run: str | None = None) -> Chart:
    """Stack the probabilities of the ranks of each model: one panel for one run, or one per model across all runs."""
    rows = ranks.filter(ranks["metric"] == metric)
    models, estimand = _by(rows, "model"), estimand_of(rows)
    caption = f"Probability of each rank of the {estimand} values over resamples; rank 1 is best, ties share ranks."
    if run is not None:
        names = named_places([shortened(model, 22) for model, _ in models])
        panel = Pane(_stacked(models, len(models)), names, PROBABILITY)
        return Chart(f"Ranks by {estimand} {metric}{under(run, estimand)}", (panel,), caption, height=280)
    aggregations = list(by_aggregation(rows))
    panels = []
    for model, _ in models:
        for aggregation, runs in aggregations:
            columns = [(f"{model}, {run_of(part)}", part.filter(part["model"] == model)) for _, part in runs]
            axis, title = reliabilities([known for known, _ in runs]), f"{shortened(model, 18)}: {aggregation}"
            panels.append(Pane(_stacked(columns, len(models)), axis, PROBABILITY, title))
    title = f"Ranks by {estimand} {metric} under every run"
    return Chart(title, tuple(panels), caption, columns=len(aggregations), height=120)


def _stacked(columns: list[tuple[str, pl.DataFrame]], n_models: int) -> tuple[Bars, ...]:
    """Stack the ranks of each column, rank 1 at the bottom."""
    base = np.zeros(len(columns))
    places = np.arange(len(columns), dtype=np.float64)
    known = [dict(part.select("rank", "probability").iter_rows()) for _, part in columns]
    bars = []
    for rank in range(1, n_models + 1):
        shares = np.array([float(own.get(rank, np.nan)) for own in known])
        texts = tuple(
            f"{name}: rank {rank} with probability {chance(share, 3)}"
            for (name, _), share in zip(columns, shares, strict=True)
        )
        colour = theme.shade(rank - 1, n_models)
        bars.append(Bars(places, shares, 0.7, f"rank {rank}", colour, base.copy(), pattern=rank - 1, texts=texts))
        base += np.nan_to_num(shares)
    return tuple(bars)


# Curves of a whole data set -----------------------------------------------------------------------------


def roc_curves(rows: pl.DataFrame, *, run: str, level: float = 0.95) -> Chart:
    """Draw sensitivity over the false positive rate, a panel for every question and a line for every model."""
    axes = Axis("1 \N{MINUS SIGN} specificity", RATE), Axis("sensitivity", SHARE)
    caption = (
        "Lines: the mean over draws; grey: chance. {bands} {labels} The area under a line is the {estimand} AUROC."
    )

    title = "receiver operating characteristic"
    return _curves(rows, title, axes, lambda own: [diagonal(), *_lines(own, start=True)], caption, run=run, level=level)


def precision_curves(rows: pl.DataFrame, *, run: str, level: float = 0.95) -> Chart:
    """Draw precision over recall, a panel for every question and a line for every model."""
    axes = Axis("recall (sensitivity)", RATE), Axis("precision", SHARE)
    caption = (
        "Precision: the share of positive cases among those called positive. Lines: the mean over draws. {bands} "
        "{labels}"
    )
    return _curves(rows, "precision over recall", axes, _lines, caption, run=run, level=level)


def reliability_diagram(rows: pl.DataFrame, *, run: str, level: float = 0.95) -> Chart:
    """Draw the share of positive cases over the probability that a model gave, in ten bins."""
    axes = Axis("probability given by the model", (-0.02, 1.02)), Axis("share of positive cases", SHARE)
    caption = (
        "Cases are put into ten bins by the probability that the model gave; points: the mean of a bin, with "
        f"{100 * level:g} % intervals on cases like these. On the grey line, probabilities are what they say. "
        "{labels}"
    )

    def told(row: dict[str, Any]) -> str:
        around = f"probability {row['x']:.3f} on average, {row['n_cases']:.4g} cases"
        return f"{row['model']}: {_with_interval(row, 'y')}\n{around}"

    def marks(own: pl.DataFrame) -> list[Mark]:
        found: list[Mark] = [diagonal()]
        for place, (model, mine) in enumerate(_by(own, "model")):
            x, y = numbers(mine, "x"), numbers(mine, "y")
            found.append(Line(x, y, "", theme.hue(place), place))
            found.append(_interval_points(mine, x, told, name=model, place=place, size=8, y="y"))
        return found

    return _curves(rows, "reliability diagram", axes, marks, caption, run=run, level=level)


def decision_curves(rows: pl.DataFrame, *, run: str, everybody: str, level: float = 0.95) -> Chart:
    """Draw the net benefit over threshold probabilities, beside that of calling all cases positive, or none."""
    best = max(float(rows["high"].max() or 0.0), 0.02)  # type: ignore[arg-type]
    axes = Axis("threshold probability", (0.0, 1.0)), Axis("net benefit", (-0.25 * best, 1.08 * best))
    caption = (
        "Net benefit: positive cases that are found, per case, less false alarms weighted by the odds of the threshold "
        "probability. Lines: the mean over draws. {bands} {labels} Where a line is below a grey one, it is better to "
        "call all cases positive, or none, than to follow the model."
    )

    def marks(own: pl.DataFrame) -> list[Mark]:
        models, all_of_them = own.filter(own["model"] != everybody), own.filter(own["model"] == everybody)
        none = Line(np.array([0.0, 1.0]), np.zeros(2), "treat none", theme.NEUTRAL, dash=2)
        every = Line(numbers(all_of_them, "x"), numbers(all_of_them, "y"), everybody, theme.NEUTRAL, dash=1)
        return [none, every, *_lines(models)]

    return _curves(rows, "net benefit over threshold probabilities", axes, marks, caption, run=run, level=level)


def _curves(
    rows: pl.DataFrame,
    what: str,
    axes: tuple[Axis, Axis],
    marks: Callable[[pl.DataFrame], list[Mark]],
    caption: str,
    *,
    run: str,
    level: float,
) -> Chart:
    """Make a panel for every question; its y axis, its title and its caption say what is estimated."""
    estimand = estimand_of(rows)
    x, y = axes[0], Axis(f"{estimand} {axes[1].title}", axes[1].span)
    panels = tuple(Pane(tuple(marks(own)), x, y, shortened(question)) for question, own in _by(rows, "question"))
    banded = f"Bands: {100 * level:g} % at each place, on cases like these; annotators count as fixed."
    told = caption.format(bands=banded, labels=TRUTHS[_of(rows, "truth", "top")], estimand=estimand)
    title = f"{estimand.capitalize()} {what}{under(run, estimand)}"
    height = 340 if len(panels) < 3 else 260
    return Chart(title, panels, told, columns=2 if len(panels) > 1 else 1, height=height)


def _lines(rows: pl.DataFrame, *, start: bool = False) -> list[Mark]:
    """Draw a band for every model, and above all bands a line for every model; ``start``: from the origin on."""
    marks: list[Mark] = []
    for place, (model, own) in enumerate(_by(rows, "model")):
        x, y, low, high = (numbers(own, name) for name in ("x", "y", "low", "high"))
        marks.insert(place, Band(x, low, high, theme.hue(place), BAND))
        x, y = (np.append(0.0, x), np.append(0.0, y)) if start else (x, y)
        marks.append(Line(x, y, model, theme.hue(place), place))
    return marks


def confusion_matrices(rows: pl.DataFrame, *, run: str, conditions: Sequence[str], level: float = 0.95) -> Chart:
    """Tabulate how many cases of which label are called what, a panel for every model and question."""
    estimand = estimand_of(rows)
    panels = [
        _matrix(own, conditions, f"{question}: {model}" if question else model)
        for question, of_question in _by(rows, "question")
        for model, own in _by(of_question, "model")
    ]
    where = "in brackets" if len(conditions) <= MOST_WITH_INTERVALS else "when pointed at"
    is_top = _of(rows, "truth", "top") == "top"
    caption = (
        f"Expected number of cases by label (rows, {estimand}) and by what the model calls them (columns); "
        f"{where}, {100 * level:g} % intervals on cases like these. Colours: the share of a row. "
        + ("A label is the most plausible condition of a draw." if is_top else "Labels are plausibilities.")
    )
    height = max(150, 44 * len(conditions))
    title = f"{estimand.capitalize()} confusion matrix{under(run, estimand)}"
    return Chart(title, tuple(panels), caption, columns=2 if len(panels) > 1 else 1, height=height)


def _matrix(rows: pl.DataFrame, conditions: Sequence[str], title: str) -> Pane:
    n = len(conditions)
    values, low, high = (numbers(rows, name).reshape(n, n) for name in ("n_cases", "low", "high"))
    totals = values.sum(axis=1, keepdims=True)
    hues = np.where(totals > 0, 0.5 + 0.5 * values / np.maximum(totals, 1e-300), 0.5)  # the upper half of hues
    counts, lows, highs = (
        [[f"{value:.1f}" if value < 100 else f"{value:,.0f}" for value in line] for line in table]
        for table in (values, low, high)
    )
    labels, texts = [], []
    for i, label in enumerate(conditions):
        spans = [f"({least} to {most})" for least, most in zip(lows[i], highs[i], strict=True)]
        labels.append(tuple(counts[i][j] + (f"\n{spans[j]}" if n <= MOST_WITH_INTERVALS else "") for j in range(n)))
        told = (f"{counts[i][j]} cases {spans[j]}\nlabel: {label}\ncalled: {conditions[j]}" for j in range(n))
        texts.append(tuple(told))
    names = [shortened(name, 14) for name in conditions]
    across, down = (named_places(names, side, margin=0.5) for side in ("called", "label"))
    return Pane((Cells(hues, tuple(labels), tuple(texts)),), across, down, title)
