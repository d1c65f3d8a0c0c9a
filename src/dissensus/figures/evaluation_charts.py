"""Figures of an evaluation: its study and cases, how certain they are; models, comparisons, curves of a data set."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dissensus.core.arrays import CERTAIN, FloatArray, is_uncertain
from dissensus.figures import theme
from dissensus.figures.charts import (
    CERTAINTY,
    SHARE_OF_CASES,
    Axis,
    Band,
    Bars,
    Cells,
    Chart,
    Line,
    Mark,
    Pane,
    Points,
    counted,
    dodged,
    even_edges,
    joint_span,
    kept_places,
    named_places,
    quantile_curve,
    shortened,
)

if TYPE_CHECKING:
    import polars as pl

    from dissensus.study.diagnosis import Distribution
    from dissensus.study.study import Study

# Of larger clouds, a sample is drawn.
MOST_IN_CLOUD = 2000

BINS = 25

# Half the width of a 90 % interval, in standard errors.
SPREAD = 1.645

MOST_CONDITIONS = 15

# All conditions that nobody mentioned, together.
OTHERS = "any other"

# Counts above this share one bar.
MOST = 12

MOST_CATEGORIES = 5
ALL = "all"

# What stands above and below figures.
CAPTIONS = tomllib.loads(files("dissensus.figures").joinpath("captions.toml").read_text(encoding="utf-8"))


def chart(name: str, panels: Sequence[Pane], *, columns: int = 1, height: int = 320, **words: Any) -> Chart:
    """Put panels below their title and above their caption, which are filled in with words."""
    title, caption = (CAPTIONS[name][part].format(**words) for part in ("title", "caption"))
    return Chart(title, tuple(panels), caption, columns, height)


# Parts ------------------------------------------------------------------------------------------------


def in_order(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """Return the different names in a given order, those outside it last and sorted.

    >>> in_order(["high", "low", "high", "b", "a"], ["low", "medium", "high"])
    ['low', 'high', 'a', 'b']
    """
    found = set(names)
    return [*(name for name in order if name in found), *sorted(found.difference(order))]


def bands(x: FloatArray, low: FloatArray, high: FloatArray, *, colour: str, opacity: float) -> tuple[Band, ...]:
    """Return a band for every stretch of finite numbers; a stretch of one point is widened to be seen."""
    is_known = np.isfinite(low) & np.isfinite(high)
    edges = np.flatnonzero(np.diff(is_known, prepend=False, append=False))
    found = []
    for start, stop in list(pairwise(edges))[::2]:
        x_own, low_own, high_own = x[start:stop], low[start:stop], high[start:stop]
        if len(x_own) == 1:
            x_own, low_own, high_own = x_own[0] + np.array([-0.15, 0.15]), low_own.repeat(2), high_own.repeat(2)
        found.append(Band(x_own, low_own, high_own, colour, opacity))
    return tuple(found)


def diagonal() -> Line:
    """Return the dotted line on which two shares are the same."""
    return Line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), dash=2)


def told(rows: pl.DataFrame, form: str) -> tuple[str, ...]:
    """Say something about every row where one points at it; the form names columns in braces."""
    return tuple(form.format(**row) for row in rows.iter_rows(named=True))


def numbers(rows: pl.DataFrame, column: str) -> FloatArray:
    """Return a column with nan for all that cannot be drawn: what is missing, undefined or infinite."""
    values = rows[column].cast(float).fill_null(float("nan")).to_numpy()
    return np.where(np.isfinite(values), values, np.nan)


def sampled(rows: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Return all rows, or some at random in their order, the same ones every time; and say that, if it is so."""
    if len(rows) <= MOST_IN_CLOUD:
        return rows, ""
    places = np.sort(np.random.default_rng(0).choice(len(rows), MOST_IN_CLOUD, replace=False))
    return rows[places], f" {MOST_IN_CLOUD} of {len(rows)} cases are drawn, chosen at random."


# Certainty ----------------------------------------------------------------------------------------------


def run_of(rows: pl.DataFrame) -> str:
    """Return the label of the run that some rows belong to."""
    return str(rows["run"][0])


def by_aggregation(frame: pl.DataFrame) -> Iterator[tuple[str, list[tuple[float | None, pl.DataFrame]]]]:
    """Give every aggregation with the rows of each of its reliabilities, in ascending order."""
    for (aggregation,), rows in frame.group_by("aggregation", maintain_order=True):
        runs = rows.sort("reliability", maintain_order=True).group_by("reliability", maintain_order=True)
        yield str(aggregation), [(reliability, part) for (reliability,), part in runs]


def reliabilities(known: list[float | None]) -> Axis:
    """Return the axis of the reliabilities of an aggregation, evenly spaced."""
    names = ["none" if reliability is None else f"{reliability:g}" for reliability in known]
    return named_places(names, "reliability", margin=0.35)


def _sorted_line(rows: pl.DataFrame, name: str, colour: str, dash: int) -> Line:
    """Sort cases by certainty."""
    return Line(*quantile_curve(rows["certainty"].to_numpy()), name, colour, dash=dash, steps=True)


def certainty_curves(certainties: pl.DataFrame, *, top: int = 1) -> Chart:
    """Sort the cases by certainty: one panel per aggregation, one line per reliability."""
    panels = []
    for aggregation, runs in by_aggregation(certainties.filter(top=top)):
        lines = [_sorted_line(rows, run_of(rows), theme.shade(i, len(runs)), i) for i, (_, rows) in enumerate(runs)]
        panels.append(Pane(tuple(lines), SHARE_OF_CASES, CERTAINTY, aggregation))
    return chart("certainty", panels, columns=min(len(panels), 2))


def certainty_histogram(certainties: pl.DataFrame, *, run: str, top: int = 1) -> Chart:
    """Count the cases of one run by certainty."""
    values = certainties.filter(top=top)["certainty"].to_numpy()
    counts, edges = np.histogram(values, BINS, (0.0, 1.0))
    texts = tuple(map("{} cases with a certainty of {:.2f} to {:.2f}".format, counts, edges[:-1], edges[1:]))
    bars = Bars((edges[:-1] + edges[1:]) / 2, counts.astype(np.float64), 0.9 / BINS, colour=theme.hue(0), texts=texts)
    title = f"{np.mean(is_uncertain(values)):.1%} of {len(values)} cases below {CERTAIN}"
    return chart("histogram", [Pane((bars,), CERTAINTY, Axis("cases", form=",.0f"), title)], run=run)


def certainty_by_top(certainties: pl.DataFrame, *, run: str) -> Chart:
    """Sort the cases of one run by the certainty of the first condition, the first two, the first three."""
    tops = sorted(certainties["top"].unique().to_list())
    own = [certainties.filter(top=top) for top in tops]
    lines = [_sorted_line(own[i], f"top {top}", theme.hue(i), i) for i, top in enumerate(tops)]
    return chart("tops", [Pane(tuple(lines), SHARE_OF_CASES, CERTAINTY)], run=run)


def share_below(certainties: pl.DataFrame, *, threshold: float = CERTAIN) -> Chart:
    """Tell for every run and top which share of cases is less certain than a threshold."""
    tops = sorted(certainties["top"].unique().to_list())
    title = Axis(f"cases with certainty below {threshold:g}", (0.0, 1.02), form=".1%")
    panels = []
    for aggregation, runs in by_aggregation(certainties):
        lines = []
        for place, top in enumerate(tops):
            shares = [_share_below(rows.filter(top=top), threshold) for _, rows in runs]
            told = f"{{}}, top {top}: {{:.1%}} of cases below {threshold:g}".format
            texts = tuple(map(told, (run_of(rows) for _, rows in runs), shares))
            x, y = np.arange(len(runs), dtype=np.float64), np.array(shares)
            lines.append(Line(x, y, f"top {top}", theme.hue(place), place, symbol=place, texts=texts))
        panels.append(Pane(tuple(lines), reliabilities([run for run, _ in runs]), title, aggregation))
    return chart("below", panels, columns=min(len(panels), 2), threshold=threshold)


def _share_below(rows: pl.DataFrame, threshold: float) -> float:
    return float(np.mean(is_uncertain(rows["certainty"].to_numpy(), threshold))) if len(rows) else float("nan")


def confirmation_curve(curve: pl.DataFrame, *, run: str) -> Chart:
    """Plot what was stated, and what was expected of panels of their size, against what held-out panels confirmed."""
    confirmed, error = curve["confirmed"].to_numpy(), np.nan_to_num(curve["confirmed_se"].to_numpy())
    low, high = np.maximum(confirmed - SPREAD * error, 0.0), np.minimum(confirmed + SPREAD * error, 1.0)
    marks: list[Mark] = [diagonal()]
    for place, (column, name) in enumerate((("predicted", "expected of such panels"), ("stated", "certainty"))):
        stated, values = curve[column].to_numpy(), f"{name}: {{{column}:.2f}}\nconfirmed: {{confirmed:.2f}}"
        texts = told(curve, f"certainty {{low:g}} to {{high:g}}: {{n_cases:,}} cases\n{values}")
        marks.append(Points(stated, confirmed, name, theme.hue(place), place, low=low, high=high, texts=texts))
    panel = Pane(tuple(marks), Axis("stated", SHARE), Axis("confirmed by held-out panels", SHARE))
    return chart("confirmation", [panel], height=420, run=run)


def categories_against_conditions(
    certainties: pl.DataFrame, by_category: pl.DataFrame, *, run: str, order: Sequence[str] = ()
) -> Chart:
    """Plot the certainty of the category of every case against the certainty of its condition."""
    first = certainties.filter(top=1).select("case", "certainty")
    both = first.join(by_category.select("case", "category", of_category="certainty"), on="case", maintain_order="left")
    drawn, left_out = sampled(both)
    marks: list[Mark] = [diagonal()]
    for place, category in enumerate(in_order(drawn["category"], order)):
        rows = drawn.filter(category=category)
        texts = told(rows, "case {case}\ncondition: {certainty:.3f}\ncategory {category}: {of_category:.3f}")
        x, y = rows["certainty"].to_numpy(), rows["of_category"].to_numpy()
        marks.append(Points(x, y, category, theme.hue(place), place, 6, opacity=0.55, texts=texts))
    axes = Axis("certainty of the condition", SHARE), Axis("certainty of the category", SHARE)
    below = [_share_below(frame, CERTAIN) for frame in (first, by_category)]
    told_too: dict[str, Any] = {"certain": CERTAIN, "below": below, "left_out": left_out}
    return chart("categories", [Pane(tuple(marks), *axes)], height=420, run=run, **told_too)


def agreement_scatter(agreement: pl.DataFrame, certainties: pl.DataFrame, *, run: str) -> Chart:
    """Plot the agreement among the annotators of every case against its certainty, with the line of least squares."""
    first = certainties.filter(top=1).select("case", "certainty")
    known = agreement.drop_nulls("agreement").drop_nans("agreement").select("case", "agreement")
    both = first.join(known, on="case", maintain_order="left")
    x, y = both["certainty"].to_numpy(), both["agreement"].to_numpy()
    kept, left_out = sampled(both)
    texts = told(kept, "case {case}\ncertainty: {certainty:.3f}\nagreement among annotators: {agreement:.3f}")
    drawn = kept["certainty"].to_numpy(), kept["agreement"].to_numpy()
    marks: list[Mark] = [Points(*drawn, "cases", theme.hue(0), size=6, opacity=0.45, texts=texts)]
    correlation = "undefined"  # where one side does not vary
    if len(x) > 1 and np.ptp(x) >= 1e-12 and np.ptp(y) >= 1e-12:
        slope, intercept = np.polyfit(x, y, 1)
        ends = np.array([x.min(), x.max()])
        marks.append(Line(ends, slope * ends + intercept, "least squares", theme.hue(1), dash=1))
        correlation = f"{np.corrcoef(x, y)[0, 1]:.2f}"
    axes = Axis("certainty", SHARE), Axis("agreement among annotators", (-0.03, 1.03))
    panel = Pane(tuple(marks), *axes, f"correlation {correlation}, {len(x)} cases")
    return chart("agreement", [panel], height=420, run=run, left_out=left_out)


# Cases --------------------------------------------------------------------------------------------------


def risk_ranges(risks: pl.DataFrame, *, run: str, levels: Sequence[tuple[float, str]] = ()) -> Chart:
    """Sort the cases by expected risk, with the range over draws."""
    ordered = risks.filter(risks["mean"].is_not_nan()).sort("mean", maintain_order=True)
    places = kept_places(len(ordered)) if len(ordered) != 1 else np.zeros(2, dtype=np.int64)
    kept = ordered[places]
    x = np.linspace(0, 1, len(ordered))[places] if len(ordered) != 1 else np.array([0.0, 1.0])
    low, mean, high = (kept[name].to_numpy() for name in ("min", "mean", "max"))
    texts = told(kept, "case {case}\nexpected risk: {mean:.2f}\nover draws: {min:.2f} to {max:.2f}")
    band = Band(x, low, high, theme.hue(0), 0.25, "range over draws")
    ticks = tuple((level, f"{shortened(name, 16)} ({level:g})") for level, name in levels)
    axes = Axis("share of cases, least risk first", (0, 1), form=".1%"), Axis("risk level", None, ticks)
    panel = Pane((band, Line(x, mean, "expected risk", theme.hue(0), texts=texts)), *axes)
    note = f" {len(kept)} of {len(ordered)} cases are drawn, evenly spaced." if len(kept) < len(ordered) else ""
    return chart("risk", [panel], run=run, left_out=note)


def case_plausibilities(plausibilities: pl.DataFrame, case: str, *, run: str) -> Chart:
    """Show what one case may be: a bar for the mean plausibility of each condition, a dot for each draw."""
    import polars as pl

    rows = plausibilities.filter(case=case)
    others = rows["condition"].is_null()
    mentioned = rows.filter(~others).sort("mean", descending=True, maintain_order=True)
    kept = pl.concat([mentioned.head(MOST_CONDITIONS), rows.filter(others)])
    kept = kept.with_columns(pl.col("condition").fill_null(OTHERS))
    texts = told(kept, "{condition}\nmean plausibility: {mean:.3f}\nmost plausible in {top:.1%} of draws")
    places = np.arange(len(kept), dtype=np.float64)
    bars = Bars(places, kept["mean"].to_numpy(), 0.7, "mean", theme.hue(4), across=True, texts=texts)
    draws = kept.select("condition", "draws").explode("draws")
    heights = dot_heights(len(kept), len(draws) // max(len(kept), 1), room=0.5)
    said = told(draws, "{condition}\nin one draw: {draws:.3f}")
    dots = Points(draws["draws"].to_numpy(), heights, "single draws", theme.hue(1), size=5, opacity=0.6, texts=said)
    panel = Pane((bars, dots), Axis("plausibility", SHARE), named_places([*map(shortened, kept["condition"])]))
    left = len(rows) - len(kept)
    note = f" {left} less plausible conditions are not shown." if left else ""
    return chart("case", [panel], height=max(120, 26 * len(kept)), case=case, run=run, left_out=note)


def dot_heights(n_bars: int, n_dots: int, *, room: float) -> FloatArray:
    """Spread as many dots over the height of every bar, in the same order for all; ``room`` is the part they take.

    >>> dot_heights(2, 2, room=0.55).round(2).tolist()
    [-0.28, 0.06, 0.72, 1.06]
    """
    shift = ((np.arange(n_dots) * 0.618034) % 1 - 0.5) * room
    return np.asarray(np.add.outer(np.arange(n_bars, dtype=np.float64), shift).ravel())


# The study ----------------------------------------------------------------------------------------------


def study_statistics(
    study: Study, *, categories: Sequence[str] = (), order: Sequence[str] = (), noun: str = "cases"
) -> Chart:
    """Count what there is per case and per opinion, by category if there are any.

    Parameters
    ----------
    study
        What was said.
    categories
        Category of each case, for example the risk of its most plausible condition; empty for no split.
    order
        The categories in their order; by default in the order of the alphabet.
    noun
        What is counted: cases, or findings of cases.
    """
    labels = list(categories) or [ALL] * study.n_cases
    often = sorted(dict.fromkeys(labels), key=lambda label: -labels.count(label))
    if len(often) > MOST_CATEGORIES + 1:
        labels = [label if label in often[:MOST_CATEGORIES] else "other categories" for label in labels]
    groups = in_order(labels, order)
    panes = []
    for one in study.distributions():
        places = np.arange(study.n_cases) if one.per_case else study.panel.case_of_opinion
        panes.append(_counts(one, [labels[i] for i in places], groups) if one.are_counts else _scores(one))
    within = " Shares are within each category of the most plausible condition." if len(groups) > 1 else ""
    many: dict[str, Any] = {"cases": f"{study.n_cases} {noun}", "opinions": study.n_votes}
    return chart("study", panes, columns=2, height=240, **many, within=within)


def _counts(one: Distribution, labels: list[str], groups: list[str]) -> Pane:
    """Draw how often each number occurs, side by side for each label."""
    capped = np.minimum(one.values, MOST + 1)
    shown = np.arange(int(capped.min(initial=MOST + 1)), int(capped.max(initial=0)) + 1)
    group_of, bars = np.array([groups.index(label) for label in labels], dtype=np.int64), []
    for place, group in enumerate(groups):
        own = [(group_of == place) & (capped == number) for number in shown]
        counts = np.array([mask.sum() if one.votes is None else one.votes[mask].sum() for mask in own], dtype=float)
        shares = counts / max(counts.sum(), 1)
        name = "" if group == ALL else str(group)
        whose = f"{one.unit} ({name})" if name else one.unit
        told = zip([number if number <= MOST else f"more than {MOST}" for number in shown], shares, strict=True)
        texts = tuple(f"{share:.1%} of {whose}\n{one.title}: {number}" for number, share in told)
        at = np.arange(len(shown), dtype=np.float64) + dodged(place, len(groups), room=0.8)
        bars.append(Bars(at, shares, 0.8 / len(groups), name, theme.hue(place), pattern=place, texts=texts))
    names = [f"{number}" if number <= MOST else f"{MOST + 1}+" for number in shown]
    return Pane(tuple(bars), named_places(names, one.title), Axis(f"share of {one.unit}", form=".1%"))


def _scores(one: Distribution) -> Pane:
    edges = even_edges(np.asarray(one.values, dtype=np.float64), number=20)
    counts = np.histogram(one.values, edges, weights=one.votes)[0]
    shares = counts / max(counts.sum(), 1)
    bars = Bars((edges[:-1] + edges[1:]) / 2, shares, 0.9 * float(edges[1] - edges[0]), colour=theme.hue(0))
    return Pane((bars,), Axis(one.title, form=".2f"), Axis(f"share of {one.unit}", form=".1%"))


# Models ------------------------------------------------------------------------------------------------

# What is said about a row where one points at it.
Told: TypeAlias = Callable[[dict[str, Any]], str]

# The pale band of cases like these, annotated likewise, and above it the strong one of the annotations alone.
BANDS = ("low", "high", 0.18), ("annotation_low", "annotation_high", 0.45)

# What is said about a model in one run: its value, and both intervals.
ACROSS = """{run}
{model}, adjusted: {mean}
annotations: {annotation_low} to {annotation_high}
annotations and cases: {low} to {high}"""

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


def estimated(rows: pl.DataFrame, run: str, joint: str = " under") -> dict[str, Any]:
    """Say for a title what the rows of one run estimate, and under which run unless it is called like that.

    >>> import polars as pl
    >>> estimated(pl.DataFrame({"estimand": ["adjusted"]}), "plackett-luce 1")
    {'estimand': 'adjusted', 'Estimand': 'Adjusted', 'under': ' under plackett-luce 1'}
    >>> estimated(pl.DataFrame({"estimand": ["panel"]}), "panel")["under"]
    ''
    """
    estimand = str(rows["estimand"][0]) if len(rows) else "adjusted"
    below = "" if run == estimand else f"{joint} {run}"
    return {"estimand": estimand, "Estimand": estimand.capitalize(), "under": below}


def _by(rows: pl.DataFrame, column: str) -> list[tuple[str, pl.DataFrame]]:
    """Part rows by a column, in the order in which its values come."""
    return [(str(name), part) for (name,), part in rows.group_by(column, maintain_order=True)]


def _interval_points(
    rows: pl.DataFrame, at: FloatArray, told: Told, *, name: str, place: int, size: float, y: str = "mean"
) -> Points:
    """Mark the values of some rows with their intervals, in the look of their place."""
    low, value, high = (numbers(rows, column) for column in ("low", y, "high"))
    texts = tuple(map(told, rows.iter_rows(named=True)))
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
    rows = summary.filter(metric=metric)
    beside = rows.clear() if panel is None else panel.filter(metric=metric)
    models = rows["model"].unique(maintain_order=True).to_list()
    drawn = [numbers(part, name) for part in (rows, beside) for name in ("mean", "low", "high", "point_estimate")]
    side = Axis(metric if len(beside) else f"adjusted {metric}", joint_span(*drawn))
    panels, has_panel = [], len(beside) > 0
    for aggregation, runs in by_aggregation(rows):
        has_points = any(part["point_estimate"].is_not_null().any() for _, part in runs)
        point = "point" if len(beside) else "point\nestimate"  # with both, only short names stay upright on a phone
        names = [*(["panel"] if len(beside) else []), *([point] if has_points else [])]
        marks: list[Mark] = []
        for place, model in enumerate(models):
            marks += _model_marks(runs, model, place, models, behind=len(runs) + len(names) - 1)
            own = beside.filter(model=model)
            if len(own):
                at = np.full(len(own), len(runs) + dodged(place, len(models)))
                marks.append(_interval_points(own, at, _estimated, name="", place=place, size=8))
        axis = reliabilities([reliability for reliability, _ in runs])
        if names:
            ticks = ((float(len(runs) + number), name) for number, name in enumerate(names))
            axis = Axis(axis.title, (-0.35, len(runs) + len(names) - 0.55), (*axis.ticks, *ticks), axis.form)
        panels.append(Pane(tuple(marks), axis, side, aggregation))
    alone = f"Points on their own: panel, with its {100 * level:g} % interval; it depends on no reliability. "
    words: dict[str, Any] = {"beside": ", beside panel", "alone": alone} if has_panel else {"beside": "", "alone": ""}
    many = min(len(panels), 2)
    return chart("reliability", panels, columns=many, height=360, metric=metric, level=100 * level, **words)


def _model_marks(
    runs: list[tuple[float | None, pl.DataFrame]], model: str, place: int, models: list[str], *, behind: int
) -> list[Mark]:
    """Draw one model: bands below, the line, and the cross of the point estimate behind the reliabilities."""
    import polars as pl

    chosen = pl.concat([part.filter(model=model).head(1) for _, part in runs])
    x, colour = np.arange(len(chosen), dtype=np.float64), theme.hue(place)
    marks: list[Mark] = []
    for low, high, opacity in BANDS:
        marks += bands(x, numbers(chosen, low), numbers(chosen, high), colour=colour, opacity=opacity)
    texts = []
    for row in chosen.iter_rows(named=True):  # a value with both intervals, and the point estimate if there is one
        own = {name: _written(value) for name, value in row.items()} | {"run": row["run"], "model": row["model"]}
        more = "" if row["point_estimate"] is None else "\npoint estimate: {point_estimate}"
        texts.append((ACROSS + more).format(**own))
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

    mine = rows.filter(metric=metric)
    called = "annotator" if annotator is None else annotator[0]
    models = mine["model"].unique(maintain_order=True).to_list()
    known = {name: mine.filter(estimand=name) for name in ESTIMANDS if name in mine["estimand"].to_list()}
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
    return chart("estimands", [pane], height=40 + 34 * len(lines), metric=metric, called=called, level=100 * level)


def draws_histogram(
    per_draw: pl.DataFrame, per_resample: pl.DataFrame, summary: pl.DataFrame, metric: str, *, run: str
) -> Chart:
    """Show how a metric of each model spreads over draws and over resampled cases, one row of panels per model."""
    tables = [table.filter(metric=metric) for table in (per_resample, per_draw)]
    rows = summary.filter(metric=metric)
    span = joint_span(*(numbers(table, "mean") for table in tables), numbers(rows, "point_estimate"))
    words, panels = estimated(rows, run, " of"), []
    for place, row in enumerate(rows.iter_rows(named=True)):
        values = [numbers(table.filter(model=row["model"]), "mean") for table in tables]
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
        x = Axis(f"{words['estimand']} {metric}" if place == len(rows) - 1 else "", span)
        panels.append(Pane(tuple(marks), x, Axis("share", form=".1%"), row["model"]))
    return chart("draws", panels, height=130, metric=metric, **words)


# Groups of cases by the column that names them: what tells them apart, their axis, and how their size is written, which
# of a category is an expectation.
GROUPS = {
    "bin": ("certainty", "certainty of the case", "= {:g}"),
    "category": ("category", "category of the most plausible condition", "≈ {:.4g}"),
}


def metric_by_group(frame: pl.DataFrame, metric: str, *, run: str, level: float = 0.95) -> Chart:
    """Compare the models among cases of like certainty, or within each category, side by side with intervals."""
    column = next(name for name in GROUPS if name in frame.columns)
    noun, side, n = GROUPS[column]
    rows = frame.filter(metric=metric)
    rows = rows.sort("from", maintain_order=True) if column == "bin" else rows
    groups = dict(rows.unique(column, keep="first", maintain_order=True).select(column, "n_cases").iter_rows())
    order, models, words = list(groups), _by(rows, "model"), estimated(rows, run)

    def told(row: dict[str, Any]) -> str:
        return f"{row['model']}: {_with_interval(row)}\n{noun} {row[column]}, n = {row['n_cases']:.4g}"

    marks = []
    for place, (model, own) in enumerate(models):
        at = np.array([order.index(name) for name in own[column]], dtype=np.float64) + dodged(place, len(models))
        marks.append(_interval_points(own, at, told, name=model, place=place, size=9))
    names = [shortened(name, 24) + f"\nn {n.format(n_cases)}" for name, n_cases in groups.items()]
    panel = Pane(tuple(marks), named_places(names, side), Axis(f"{words['estimand']} {metric}"))
    return chart(f"by_{noun}", [panel], height=360, metric=metric, level=100 * level, **words)


# Comparisons --------------------------------------------------------------------------------------------


def probability_matrix(differences: pl.DataFrame, metric: str, *, run: str, models: Sequence[str]) -> Chart:
    """Tabulate the probability that the model of a row is better than the model of a column."""
    chosen = differences.filter(metric=metric)
    place = {model: number for number, model in enumerate(models)}
    values = np.full((len(models), len(models)), np.nan)
    for first, second, probability in chosen.select("first", "second", "probability_better").iter_rows():
        values[place[first], place[second]] = probability
        values[place[second], place[first]] = 1 - probability
    labels = tuple(tuple(chance(value, 2) for value in line) for line in values)
    told = "{} is better than {}\nwith probability {}".format
    each = list(enumerate(models))
    texts = tuple(tuple(told(a, b, chance(values[i, j], 3)) if i != j else "" for j, b in each) for i, a in each)
    names = [shortened(name, 18) for name in models]
    across, down = (named_places(names, title, margin=0.5) for title in ("... is better than", "this model ..."))
    panel, height = Pane((Cells(values, labels, texts),), across, down), max(180, 46 * len(models))
    return chart("comparison", [panel], height=height, metric=metric, **estimated(chosen, run))


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
    rows = ranks.filter(metric=metric)
    models = _by(rows, "model")
    if run is not None:
        names = named_places([shortened(model, 22) for model, _ in models])
        panel = Pane(_stacked(models, len(models)), names, PROBABILITY)
        return chart("ranks", [panel], height=280, metric=metric, **estimated(rows, run))
    aggregations = list(by_aggregation(rows))
    panels = []
    for model, _ in models:
        for aggregation, runs in aggregations:
            columns = [(f"{model}, {run_of(part)}", part.filter(model=model)) for _, part in runs]
            axis, title = reliabilities([known for known, _ in runs]), f"{shortened(model, 18)}: {aggregation}"
            panels.append(Pane(_stacked(columns, len(models)), axis, PROBABILITY, title))
    words = estimated(rows, "every run")
    return chart("ranks", panels, columns=len(aggregations), height=120, metric=metric, **words)


def _stacked(columns: list[tuple[str, pl.DataFrame]], n_models: int) -> tuple[Bars, ...]:
    """Stack the ranks of each column, rank 1 at the bottom."""
    base = np.zeros(len(columns))
    places = np.arange(len(columns), dtype=np.float64)
    known = [dict(part.select("rank", "probability").iter_rows()) for _, part in columns]
    bars = []
    for rank in range(1, n_models + 1):
        shares = np.array([float(own.get(rank, np.nan)) for own in known])
        told = zip((name for name, _ in columns), shares, strict=True)
        texts = tuple(f"{name}: rank {rank} with probability {chance(share, 3)}" for name, share in told)
        colour = theme.shade(rank - 1, n_models)
        bars.append(Bars(places, shares, 0.7, f"rank {rank}", colour, base.copy(), pattern=rank - 1, texts=texts))
        base += np.nan_to_num(shares)
    return tuple(bars)


# Curves of a whole data set -----------------------------------------------------------------------------


def curves(rows: pl.DataFrame, *, run: str, everybody: str = "", level: float = 0.95) -> Chart:
    """Draw curves of one kind: a panel for every question and a line for every model.

    Its y axis, its title and its caption say what is estimated. The net benefit stands beside that of calling all cases
    positive, which ``everybody`` names, or none.
    """
    name, x, y, marks_of = CURVES[rows["kind"][0]]
    words, best = estimated(rows, run), max(float(rows["high"].max() or 0.0), 0.02)  # type: ignore[arg-type]
    y, panels = Axis(f"{words['estimand']} {y.title}", y.span or (-0.25 * best, 1.08 * best)), []
    for question, own in _by(rows, "question"):
        marks, all_of_them = marks_of(own.filter(own["model"] != everybody)), own.filter(model=everybody)
        if len(all_of_them):
            none = Line(np.array([0.0, 1.0]), np.zeros(2), "treat none", theme.NEUTRAL, dash=2)
            every = Line(numbers(all_of_them, "x"), numbers(all_of_them, "y"), everybody, theme.NEUTRAL, dash=1)
            marks = [none, every, *marks]
        panels.append(Pane(tuple(marks), x, y, shortened(question)))
    told = {"labels": CAPTIONS["positive"][rows["truth"][0]], "level": 100 * level, **words}
    told["bands"] = f"Bands: {100 * level:g} % at each place, on cases like these; annotators count as fixed."
    return chart(name, panels, columns=1 + (len(panels) > 1), height=340 if len(panels) < 3 else 260, **told)


def _bins(rows: pl.DataFrame) -> list[Mark]:
    """Draw the share of positive cases over the probability that a model gave, in ten bins."""

    def told(row: dict[str, Any]) -> str:
        around = f"probability {row['x']:.3f} on average, {row['n_cases']:.4g} cases"
        return f"{row['model']}: {_with_interval(row, 'y')}\n{around}"

    found: list[Mark] = [diagonal()]
    for place, (model, mine) in enumerate(_by(rows, "model")):
        x, y = numbers(mine, "x"), numbers(mine, "y")
        found.append(Line(x, y, "", theme.hue(place), place))
        found.append(_interval_points(mine, x, told, name=model, place=place, size=8, y="y"))
    return found


def _lines(rows: pl.DataFrame, *, start: bool = False) -> list[Mark]:
    """Draw a band for every model, and above all bands a line for every model; ``start``: from the origin on."""
    marks: list[Mark] = []
    for place, (model, own) in enumerate(_by(rows, "model")):
        x, y, low, high = (numbers(own, name) for name in ("x", "y", "low", "high"))
        marks.insert(place, Band(x, low, high, theme.hue(place), BAND))
        x, y = (np.append(0.0, x), np.append(0.0, y)) if start else (x, y)
        marks.append(Line(x, y, model, theme.hue(place), place))
    return marks


# Curves by their kind: the name of the figure, both axes, of which net benefits set the range of theirs, and the marks.
CURVES: dict[str, tuple[str, Axis, Axis, Callable[[pl.DataFrame], list[Mark]]]] = {
    "roc": (
        "roc",
        Axis("1 \N{MINUS SIGN} specificity", RATE),
        Axis("sensitivity", SHARE),
        lambda own: [diagonal(), *_lines(own, start=True)],
    ),
    "precision-recall": ("precision_recall", Axis("recall (sensitivity)", RATE), Axis("precision", SHARE), _lines),
    "reliability": (
        "reliability_diagram",
        Axis("probability given by the model", (-0.02, 1.02)),
        Axis("share of positive cases", SHARE),
        _bins,
    ),
    "decision": ("decision_curve", Axis("threshold probability", (0.0, 1.0)), Axis("net benefit"), _lines),
}


def confusion_matrices(rows: pl.DataFrame, *, run: str, conditions: Sequence[str], level: float = 0.95) -> Chart:
    """Tabulate how many cases of which label are called what, a panel for every model and question."""
    panels = [
        _matrix(own, conditions, f"{question}: {model}" if question else model)
        for question, of_question in _by(rows, "question")
        for model, own in _by(of_question, "model")
    ]
    told: dict[str, Any] = {"level": 100 * level, **estimated(rows, run)}
    told["where"] = "in brackets" if len(conditions) <= MOST_WITH_INTERVALS else "when pointed at"
    told["labels"] = CAPTIONS["label"][rows["truth"][0]]
    return chart("confusion", panels, columns=1 + (len(panels) > 1), height=max(150, 44 * len(conditions)), **told)


def _matrix(rows: pl.DataFrame, conditions: Sequence[str], title: str) -> Pane:
    n = len(conditions)
    values, low, high = (numbers(rows, name).reshape(n, n) for name in ("n_cases", "low", "high"))
    totals = values.sum(axis=1, keepdims=True)
    hues = np.where(totals > 0, 0.5 + 0.5 * values / np.maximum(totals, 1e-300), 0.5)  # the upper half of hues
    written = np.vectorize(lambda value: f"{value:.1f}" if value < 100 else f"{value:,.0f}", otypes=[object])
    labels, texts = [], []
    for label, counts, lows, highs in zip(conditions, *map(written, (values, low, high)), strict=True):
        spans = [f"({least} to {most})" for least, most in zip(lows, highs, strict=True)]
        shown = zip(counts, [f"\n{span}" if n <= MOST_WITH_INTERVALS else "" for span in spans], strict=True)
        labels.append(tuple(map("".join, shown)))
        cells = zip(counts, spans, conditions, strict=True)
        texts.append(tuple(f"{count} cases {span}\nlabel: {label}\ncalled: {call}" for count, span, call in cells))
    names = [shortened(name, 14) for name in conditions]
    across, down = (named_places(names, side, margin=0.5) for side in ("called", "label"))
    return Pane((Cells(hues, tuple(labels), tuple(texts)),), across, down, title)
