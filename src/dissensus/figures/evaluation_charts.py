"""Figures of an evaluation: its study and cases, how certain they are; models, comparisons, curves of a data set."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
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
    bands,
    counted,
    diagonal,
    dodged,
    even_edges,
    in_order,
    joint_span,
    kept_places,
    named_places,
    numbers,
    quantile_curve,
    sampled_places,
    sampling_note,
    shortened,
    told,
)

if TYPE_CHECKING:
    import polars as pl

    from dissensus.study.diagnosis import Distribution
    from dissensus.study.study import Study

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
    for aggregation, runs in by_aggregation(certainties.filter(certainties["top"] == top)):
        named = [(run_of(rows), rows) for _, rows in runs]
        lines = [_sorted_line(rows, run, theme.shade(i, len(runs)), i) for i, (run, rows) in enumerate(named)]
        panels.append(Pane(tuple(lines), SHARE_OF_CASES, CERTAINTY, aggregation))
    caption = (
        "Certainty is the share of draws that agree on the most plausible condition. Read: at 25 % on the horizontal "
        "axis, a quarter of the cases are at most as certain as the curve says."
    )
    return Chart("Certainty of every case", tuple(panels), caption, columns=min(len(panels), 2))


def certainty_histogram(certainties: pl.DataFrame, *, run: str, top: int = 1) -> Chart:
    """Count the cases of one run by certainty."""
    values = certainties.filter(certainties["top"] == top)["certainty"].to_numpy()
    counts, edges = np.histogram(values, BINS, (0.0, 1.0))
    told = "{} cases with a certainty of {:.2f} to {:.2f}".format
    texts = tuple(map(told, counts, edges[:-1], edges[1:]))
    bars = Bars((edges[:-1] + edges[1:]) / 2, counts.astype(np.float64), 0.9 / BINS, colour=theme.hue(0), texts=texts)
    title = f"{np.mean(is_uncertain(values)):.1%} of {len(values)} cases below {CERTAIN}"
    panel = Pane((bars,), CERTAINTY, Axis("cases", form=",.0f"), title)
    return Chart(f"Certainty under {run}", (panel,), "How many cases have which certainty.")


def certainty_by_top(certainties: pl.DataFrame, *, run: str) -> Chart:
    """Sort the cases of one run by the certainty of the first condition, the first two, the first three."""
    tops = sorted(certainties["top"].unique().to_list())
    own = [certainties.filter(certainties["top"] == top) for top in tops]
    lines = [_sorted_line(own[i], f"top {top}", theme.hue(i), i) for i, top in enumerate(tops)]
    caption = (
        "Top 2 and top 3: the share of draws that agree on the set of the two or three most plausible conditions, "
        "each curve sorted by itself."
    )
    panel = Pane(tuple(lines), SHARE_OF_CASES, CERTAINTY)
    return Chart(f"Certainty of the first conditions under {run}", (panel,), caption)


def share_below(certainties: pl.DataFrame, *, threshold: float = CERTAIN) -> Chart:
    """Tell for every run and top which share of cases is less certain than a threshold."""
    tops = sorted(certainties["top"].unique().to_list())
    title = Axis(f"cases with certainty below {threshold:g}", (0.0, 1.02), form=".1%")
    panels = []
    for aggregation, runs in by_aggregation(certainties):
        lines = []
        for place, top in enumerate(tops):
            shares = [_share_below(rows.filter(rows["top"] == top), threshold) for _, rows in runs]
            told = f"{{}}, top {top}: {{:.1%}} of cases below {threshold:g}".format
            texts = tuple(map(told, (run_of(rows) for _, rows in runs), shares))
            x, y = np.arange(len(runs), dtype=np.float64), np.array(shares)
            lines.append(Line(x, y, f"top {top}", theme.hue(place), place, symbol=place, texts=texts))
        panels.append(Pane(tuple(lines), reliabilities([run for run, _ in runs]), title, aggregation))
    caption = f"Share of cases in which fewer than {threshold:.0%} of the draws agree on the first conditions."
    return Chart("Cases that are not certain", tuple(panels), caption, columns=min(len(panels), 2))


def _share_below(rows: pl.DataFrame, threshold: float) -> float:
    return float(np.mean(is_uncertain(rows["certainty"].to_numpy(), threshold))) if len(rows) else float("nan")


def confirmation_curve(curve: pl.DataFrame, *, run: str) -> Chart:
    """Plot what was stated, and what was expected of panels of their size, against what held-out panels confirmed."""
    confirmed, error = curve["confirmed"].to_numpy(), np.nan_to_num(curve["confirmed_se"].to_numpy())
    low, high = np.maximum(confirmed - SPREAD * error, 0.0), np.minimum(confirmed + SPREAD * error, 1.0)
    marks: list[Line | Points] = [diagonal()]
    for place, (column, name) in enumerate((("predicted", "expected of such panels"), ("stated", "certainty"))):
        stated, values = curve[column].to_numpy(), f"{name}: {{{column}:.2f}}\nconfirmed: {{confirmed:.2f}}"
        texts = told(curve, f"certainty {{low:g}} to {{high:g}}: {{n_cases:,}} cases\n{values}")
        marks.append(Points(stated, confirmed, name, theme.hue(place), place, low=low, high=high, texts=texts))
    panel = Pane(tuple(marks), Axis("stated", (0, 1.02)), Axis("confirmed by held-out panels", (0, 1.02)))
    caption = (
        "Each point is a bin of cases: half of the annotators of a case say how certain its first condition is, and "
        "the others say whether it won; bars are 90 % intervals. Small panels are a lottery even where certainty is "
        "right, so it is what is expected of panels of their size that should lie on the dotted line."
    )
    return Chart(f"Certainty and what held-out annotators said, under {run}", (panel,), caption, height=420)


def categories_against_conditions(
    certainties: pl.DataFrame, by_category: pl.DataFrame, *, run: str, order: Sequence[str] = ()
) -> Chart:
    """Plot the certainty of the category of every case against the certainty of its condition."""
    first = certainties.filter(certainties["top"] == 1).select("case", "certainty")
    both = first.join(by_category.select("case", "category", of_category="certainty"), on="case", maintain_order="left")
    drawn = both[sampled_places(len(both))]
    marks: list[Line | Points] = [diagonal()]
    for place, category in enumerate(in_order(drawn["category"], order)):
        rows = drawn.filter(drawn["category"] == category)
        texts = told(rows, "case {case}\ncondition: {certainty:.3f}\ncategory {category}: {of_category:.3f}")
        x, y = rows["certainty"].to_numpy(), rows["of_category"].to_numpy()
        marks.append(Points(x, y, category, theme.hue(place), place, 6, opacity=0.55, texts=texts))
    axes = Axis("certainty of the condition", (0, 1.02)), Axis("certainty of the category", (0, 1.02))
    below = [_share_below(frame, CERTAIN) for frame in (first, by_category)]
    caption = (
        f"Below {CERTAIN}: {below[0]:.1%} of cases by condition, {below[1]:.1%} by category. A case above the dotted "
        "line is more certain in its category than in its condition; colours tell the most frequent category."
    ) + sampling_note(len(both))
    title = f"Certainty of categories and conditions under {run}"
    return Chart(title, (Pane(tuple(marks), *axes),), caption, height=420)


def agreement_scatter(agreement: pl.DataFrame, certainties: pl.DataFrame, *, run: str) -> Chart:
    """Plot the agreement among the annotators of every case against its certainty, with the line of least squares."""
    first = certainties.filter(certainties["top"] == 1).select("case", "certainty")
    known = agreement.drop_nulls("agreement").filter(agreement.drop_nulls("agreement")["agreement"].is_not_nan())
    both = first.join(known.select("case", "agreement"), on="case", maintain_order="left")
    x, y = both["certainty"].to_numpy(), both["agreement"].to_numpy()
    kept = sampled_places(len(both))
    texts = told(both[kept], "case {case}\ncertainty: {certainty:.3f}\nagreement among annotators: {agreement:.3f}")
    marks: list[Line | Points] = [Points(x[kept], y[kept], "cases", theme.hue(0), size=6, opacity=0.45, texts=texts)]
    correlation = "undefined"  # where one side does not vary
    if len(x) > 1 and np.ptp(x) >= 1e-12 and np.ptp(y) >= 1e-12:
        slope, intercept = np.polyfit(x, y, 1)
        ends = np.array([x.min(), x.max()])
        marks.append(Line(ends, slope * ends + intercept, "least squares", theme.hue(1), dash=1))
        correlation = f"{np.corrcoef(x, y)[0, 1]:.2f}"
    axes = Axis("certainty", (0, 1.02)), Axis("agreement among annotators", (-0.03, 1.03))
    caption = (
        "Agreement among annotators: leave one of them out, and ask how often the first condition of the others is in "
        "the opinion left out. Cases with one annotator have none."
    ) + sampling_note(len(both))
    panel = Pane(tuple(marks), *axes, f"correlation {correlation}, {len(x)} cases")
    return Chart(f"Agreement among annotators, and certainty under {run}", (panel,), caption, height=420)


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
    caption = (
        "The risk level of a case, averaged over its plausible conditions in each draw: mean over draws, and the least "
        "and the greatest value of any draw."
    ) + (f" {len(kept)} of {len(ordered)} cases are drawn, evenly spaced." if len(kept) < len(ordered) else "")
    return Chart(f"Expected risk of every case under {run}", (panel,), caption)


def case_plausibilities(plausibilities: pl.DataFrame, case: str, *, run: str) -> Chart:
    """Show what one case may be: a bar for the mean plausibility of each condition, a dot for each draw."""
    import polars as pl

    rows = plausibilities.filter(plausibilities["case"] == case)
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
    names = [shortened(name) for name in kept["condition"]]
    panel = Pane((bars, dots), Axis("plausibility", (0.0, 1.02)), named_places(names))
    left = len(rows) - len(kept)
    caption = "Bars: mean plausibility of each condition. Dots: single draws." + (
        f" {left} less plausible conditions are not shown." if left else ""
    )
    return Chart(f"Case {case} under {run}", (panel,), caption, height=max(120, 26 * len(kept)))


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
    caption = f"{study.n_cases} {noun} with {study.n_votes} opinions." + (
        " Shares are within each category of the most plausible condition." if len(groups) > 1 else ""
    )
    return Chart("What the annotators said", tuple(panes), caption, columns=2, height=240)


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
        texts = tuple(
            f"{share:.1%} of {whose}\n{one.title}: {number if number <= MOST else f'more than {MOST}'}"
            for number, share in zip(shown, shares, strict=True)
        )
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
