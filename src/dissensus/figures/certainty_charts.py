"""Figures of certainty: how far the draws agree, case by case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.thresholds import CERTAIN, is_uncertain
from dissensus.figures import theme
from dissensus.figures.charts import (
    CERTAINTY,
    SHARE_OF_CASES,
    Axis,
    Bars,
    Chart,
    Line,
    Pane,
    Points,
    in_order,
    named_places,
)
from dissensus.figures.samples import quantile_curve, sampled_places, sampling_note

if TYPE_CHECKING:
    import polars as pl

BINS = 25
SPREAD = 1.645
"""Half the width of a 90 % interval, in standard errors."""


def run_of(rows: pl.DataFrame) -> str:
    """Return the label of the run that some rows belong to."""
    return str(rows["run"][0])


def by_aggregation(frame: pl.DataFrame) -> Iterator[tuple[str, list[tuple[float | None, pl.DataFrame]]]]:
    """Give every aggregation with the rows of each of its reliabilities, in ascending order."""
    for (aggregation,), rows in frame.group_by("aggregation", maintain_order=True):
        runs = rows.sort("reliability", maintain_order=True).group_by("reliability", maintain_order=True)
        yield str(aggregation), [(reliability, part) for (reliability,), part in runs]


def certainty_curves(certainties: pl.DataFrame, *, top: int = 1) -> Chart:
    """Sort the cases by certainty: one panel per aggregation, one line per reliability."""
    panels = []
    for aggregation, runs in by_aggregation(certainties.filter(certainties["top"] == top)):
        lines = []
        for place, (_, rows) in enumerate(runs):
            x, y = quantile_curve(rows["certainty"].to_numpy())
            lines.append(Line(x, y, run_of(rows), theme.shade(place, len(runs)), dash=place, steps=True))
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
    texts = tuple(
        f"{count} cases with a certainty of {low:.2f} to {high:.2f}"
        for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True)
    )
    bars = Bars((edges[:-1] + edges[1:]) / 2, counts.astype(np.float64), 0.9 / BINS, colour=theme.hue(0), texts=texts)
    below = float(np.mean(is_uncertain(values)))
    panel = Pane((bars,), CERTAINTY, Axis("cases", form=",.0f"), f"{below:.1%} of {len(values)} cases below {CERTAIN}")
    return Chart(f"Certainty under {run}", (panel,), "How many cases have which certainty.")


def certainty_by_top(certainties: pl.DataFrame, *, run: str) -> Chart:
    """Sort the cases of one run by the certainty of the first condition, the first two, the first three."""
    tops = sorted(certainties["top"].unique().to_list())
    lines = []
    for place, top in enumerate(tops):
        x, y = quantile_curve(certainties.filter(certainties["top"] == top)["certainty"].to_numpy())
        lines.append(Line(x, y, f"top {top}", theme.hue(place), dash=place, steps=True))
    caption = (
        "Top 2 and top 3: the share of draws that agree on the set of the two or three most plausible conditions, "
        "each curve sorted by itself."
    )
    return Chart(
        f"Certainty of the first conditions under {run}", (Pane(tuple(lines), SHARE_OF_CASES, CERTAINTY),), caption
    )


def share_below(certainties: pl.DataFrame, *, threshold: float = CERTAIN) -> Chart:
    """Tell for every run and top which share of cases is less certain than a threshold."""
    tops = sorted(certainties["top"].unique().to_list())
    title = Axis(f"cases with certainty below {threshold:g}", (0.0, 1.02), form=".1%")
    panels = []
    for aggregation, runs in by_aggregation(certainties):
        lines = []
        for place, top in enumerate(tops):
            shares = [_share_below(rows.filter(rows["top"] == top), threshold) for _, rows in runs]
            texts = tuple(
                f"{run_of(rows)}, top {top}: {share:.1%} of cases below {threshold:g}"
                for (_, rows), share in zip(runs, shares, strict=True)
            )
            x, y = np.arange(len(runs), dtype=np.float64), np.array(shares)
            lines.append(Line(x, y, f"top {top}", theme.hue(place), place, symbol=place, texts=texts))
        panels.append(Pane(tuple(lines), reliabilities([run for run, _ in runs]), title, aggregation))
    caption = f"Share of cases in which fewer than {threshold:.0%} of the draws agree on the first conditions."
    return Chart("Cases that are not certain", tuple(panels), caption, columns=min(len(panels), 2))


def reliabilities(known: list[float | None]) -> Axis:
    """Return the axis of the reliabilities of an aggregation, evenly spaced."""
    names = ["none" if reliability is None else f"{reliability:g}" for reliability in known]
    return named_places(names, "reliability", margin=0.35)


def _share_below(rows: pl.DataFrame, threshold: float) -> float:
    return float(np.mean(is_uncertain(rows["certainty"].to_numpy(), threshold))) if len(rows) else float("nan")


def confirmation_curve(curve: pl.DataFrame, *, run: str) -> Chart:
    """Plot what was stated, and what was expected of panels of their size, against what held-out panels confirmed."""
    confirmed, error = curve["confirmed"].to_numpy(), np.nan_to_num(curve["confirmed_se"].to_numpy())
    marks: list[Line | Points] = [Line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), dash=2)]
    for place, (column, name) in enumerate((("predicted", "expected of such panels"), ("stated", "certainty"))):
        texts = tuple(
            f"certainty {low:g} to {high:g}: {n:,} cases\n{name}: {x:.2f}\nconfirmed: {y:.2f}"
            for low, high, n, x, y in curve.select("low", "high", "n_cases", column, "confirmed").iter_rows()
        )
        low, high = np.maximum(confirmed - SPREAD * error, 0.0), np.minimum(confirmed + SPREAD * error, 1.0)
        marks.append(
            Points(curve[column].to_numpy(), confirmed, name, theme.hue(place), place, low=low, high=high, texts=texts)
        )
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
    marks: list[Line | Points] = [Line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), dash=2)]
    for place, category in enumerate(in_order(drawn["category"], order)):
        rows = drawn.filter(drawn["category"] == category)
        texts = tuple(
            f"case {case}\ncondition: {certainty:.3f}\ncategory {category}: {other:.3f}"
            for case, certainty, other in rows.select("case", "certainty", "of_category").iter_rows()
        )
        x, y = rows["certainty"].to_numpy(), rows["of_category"].to_numpy()
        marks.append(Points(x, y, category, theme.hue(place), place, 6, opacity=0.55, texts=texts))
    panel = Pane(
        tuple(marks), Axis("certainty of the condition", (0, 1.02)), Axis("certainty of the category", (0, 1.02))
    )
    below = [_share_below(frame, CERTAIN) for frame in (first, by_category)]
    caption = (
        f"Below {CERTAIN}: {below[0]:.1%} of cases by condition, {below[1]:.1%} by category. A case above the dotted "
        "line is more certain in its category than in its condition; colours tell the most frequent category."
    )
    return Chart(
        f"Certainty of categories and conditions under {run}", (panel,), caption + sampling_note(len(both)), height=420
    )


def agreement_scatter(agreement: pl.DataFrame, certainties: pl.DataFrame, *, run: str) -> Chart:
    """Plot the agreement among the annotators of every case against its certainty, with the line of least squares."""
    first = certainties.filter(certainties["top"] == 1).select("case", "certainty")
    known = agreement.drop_nulls("agreement").filter(agreement.drop_nulls("agreement")["agreement"].is_not_nan())
    both = first.join(known.select("case", "agreement"), on="case", maintain_order="left")
    x, y = both["certainty"].to_numpy(), both["agreement"].to_numpy()
    kept = sampled_places(len(both))
    texts = tuple(
        f"case {case}\ncertainty: {certainty:.3f}\nagreement among annotators: {agreed:.3f}"
        for case, certainty, agreed in both[kept].iter_rows()
    )
    points = Points(x[kept], y[kept], "cases", theme.hue(0), size=6, opacity=0.45, texts=texts)
    title, line = _regression(x, y)
    panel = Pane(
        (points, *line), Axis("certainty", (0, 1.02)), Axis("agreement among annotators", (-0.03, 1.03)), title
    )
    caption = (
        "Agreement among annotators: leave one of them out, and ask how often the first condition of the others is in "
        "the opinion left out. Cases with one annotator have none."
    )
    return Chart(
        f"Agreement among annotators, and certainty under {run}",
        (panel,),
        caption + sampling_note(len(both)),
        height=420,
    )


def _regression(x: FloatArray, y: FloatArray) -> tuple[str, tuple[Line, ...]]:
    """Return the correlation in words and the line of least squares; none where one side does not vary."""
    if len(x) < 2 or np.ptp(x) < 1e-12 or np.ptp(y) < 1e-12:
        return f"correlation undefined, {len(x)} cases", ()
    slope, intercept = np.polyfit(x, y, 1)
    ends = np.array([x.min(), x.max()])
    correlation = float(np.corrcoef(x, y)[0, 1])
    line = Line(ends, slope * ends + intercept, "least squares", theme.hue(1), dash=1)
    return f"correlation {correlation:.2f}, {len(x)} cases", (line,)
