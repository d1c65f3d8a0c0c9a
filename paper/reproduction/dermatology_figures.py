"""Figures of the dermatology study: certainty, risks, agreement and annotators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.arrays import CERTAIN, FloatArray, is_uncertain
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
    counted,
    dodged,
    kept_places,
    quantile_curve,
)
from dissensus.figures.evaluation_charts import certainty_curves
from paper.reproduction.dermatology_experiment import TITLE
from paper.reproduction.paper_figures import Frames, PaperFigure
from paper.reproduction.paper_runs import SHORT

if TYPE_CHECKING:
    import polars as pl

LEVELS = ((0.0, "low"), (1.0, "medium"), (2.0, "high"))
N_BINS = 20
MOST_SHOWN = 250
"""Cases drawn as points, evenly spaced over the order; more would hide each other."""

BINS = 20


def in_order(sorted_by: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where cases stand in an order, from 0 to 1, and other values of theirs, for evenly spaced cases.

    Examples
    --------
    >>> x, y = in_order(np.array([0.9, 0.1]), np.array([5.0, 7.0]))
    >>> x.tolist(), y.tolist()
    ([0.25, 0.75], [7.0, 5.0])
    """
    order = np.argsort(sorted_by, kind="stable")
    kept = kept_places(len(order), MOST_SHOWN)
    return (kept + 0.5) / len(order), values[order[kept]]


def _sorted_line(values: FloatArray, name: str, place: int, *, dash: int = 0) -> Line:
    x, y = quantile_curve(values)
    return Line(x, y, name, theme.hue(place), dash, steps=True)


def certainty_pane(cases: pl.DataFrame) -> Pane:
    """Draw the certainty of PL, sorted, as a line, and that of PrIRN of the same cases as points."""
    race, inverse = (cases[name].to_numpy() for name in ("certainty", "inverse_certainty"))
    x, y = in_order(race, inverse)
    correlation = float(np.corrcoef(race, inverse)[0, 1])
    return Pane(
        (Points(x, y, "certainty, PrIRN", theme.hue(1), size=4, opacity=0.6), _sorted_line(race, "certainty, PL", 0)),
        SHARE_OF_CASES,
        CERTAINTY,
        f"PL and PrIRN (correlation {correlation:.2f})",
    )


def _risk(frames: Frames) -> Chart:
    """Figure 8: certainty of conditions and of risks, and the expected risk of every case."""
    cases = frames["dermatology_cases"]
    lines = (
        _sorted_line(cases["certainty"].to_numpy(), "certainty of the condition", 0),
        _sorted_line(cases["risk_certainty"].to_numpy(), "certainty of its risk", 1, dash=1),
    )
    risks = frames["dermatology_risks"]
    limits = np.linspace(LEVELS[0][0], LEVELS[-1][0], N_BINS + 1)
    middles = (limits[1:] + limits[:-1]) / 2
    mean, least, greatest = (_shares(risks[name].to_numpy(), limits) for name in ("mean", "min", "max"))
    bars = Bars(middles, mean, 0.9 * (limits[1] - limits[0]), "mean over draws", theme.hue(2))
    edges = (
        Line(middles, least, "least of any draw", theme.hue(4)),
        Line(middles, greatest, "greatest", theme.hue(3), dash=1),
    )
    axis = Axis(
        "expected risk", (LEVELS[0][0], LEVELS[-1][0]), tuple((level, f"{name} ({level:g})") for level, name in LEVELS)
    )
    expected = Pane((bars, *edges), axis, Axis("share of cases", form=".0%"), "expected risk")
    caption = (
        "Left: the certainty of the first condition and of its risk, each sorted by itself; three risks are more "
        "certain than 419 conditions, and still uncertain for many cases. Right: histograms of the expected risk of "
        "the cases, by its mean over draws (bars) and by the least and the greatest value of any draw (lines); many "
        "lie between two levels."
    )
    certain = Pane(lines, SHARE_OF_CASES, CERTAINTY, "risk and condition")
    return Chart("Certainty of risks, and expected risk", (certain, expected), caption, columns=2)


def _shares(values: FloatArray, limits: FloatArray) -> FloatArray:
    """Return the share of values between each two limits."""
    known = values[~np.isnan(values)]
    return np.histogram(np.clip(known, limits[0], limits[-1]), limits)[0] / max(len(known), 1)


def _annotators(frames: Frames) -> Chart:
    """Figure D.13: how many annotators a case has, and how many conditions they name, for low and high risk."""
    cases = frames["dermatology_cases"]
    panels = [
        _counts_pane(cases, column, words, risk, place)
        for place, risk in enumerate(("low", "high"))
        for column, words in (("annotators", "annotators per case"), ("conditions", "different conditions per case"))
    ]
    top = 1.1 * max(float(bars.lengths.max()) for pane in panels for bars in pane.marks if isinstance(bars, Bars))
    levelled = tuple(replace(pane, y=replace(pane.y, span=(0.0, top or 1.0))) for pane in panels)
    caption = (
        "Risk is that of the first condition by inverse ranks. Cases of high risk have fewer annotators on average, "
        "who name more different conditions all the same."
    )
    return Chart("Annotators and their conditions, by risk", levelled, caption, columns=4, height=240)


def _counts_pane(cases: pl.DataFrame, column: str, words: str, risk: str, place: int) -> Pane:
    counts = cases.filter(cases["risk"] == risk)[column].to_numpy()
    numbers = np.arange(1.0, cases[column].to_numpy().max(initial=1) + 1)
    shares = np.array([(counts == number).sum() / max(len(counts), 1) for number in numbers])
    mean = f", mean {counts.mean():.2f}" if len(counts) else ""
    bars = Bars(numbers, shares, 0.85, f"{risk} risk", theme.hue(place), pattern=place)
    axis = Axis(words, (0.4, len(numbers) + 0.6), form=",.0f")
    return Pane((bars,), axis, Axis("share of cases", form=".1%"), f"{risk} risk{mean}")


def _agreement(frames: Frames) -> Chart:
    """Figure E.14: certainty, sorted, and the agreement among the annotators of the same cases."""
    cases = frames["dermatology_cases"]
    known = cases.filter(cases["agreement"].is_not_nan())
    certainty, agreement = known["certainty"].to_numpy(), known["agreement"].to_numpy()
    x, y = in_order(certainty, agreement)
    marks: list[Line | Points] = [Points(x, y, "agreement among annotators", theme.hue(1), size=4, opacity=0.6)]
    title = f"{len(known)} cases"
    if len(known) > 1 and np.ptp(certainty) > 0 and np.ptp(agreement) > 0:
        marks.append(_regression(agreement[np.argsort(certainty, kind="stable")]))
        title = f"correlation {np.corrcoef(certainty, agreement)[0, 1]:.2f}, {len(known)} cases"
    marks.append(_sorted_line(certainty, "certainty, PL", 0))
    caption = (
        "Agreement: leave one annotator out, and ask how often the first condition of the others is among those of the "
        "one left out. Grey: the straight line nearest to it in the order of certainty. Where annotators disagree, "
        "certainty is low."
    )
    pane = Pane(tuple(marks), SHARE_OF_CASES, Axis("certainty or agreement", (-0.02, 1.03)), title)
    return Chart("Certainty and agreement among annotators", (pane,), caption)


def _regression(ordered: FloatArray) -> Line:
    """Draw the straight line that is nearest to agreements in the order of certainty, by least squares."""
    place = (np.arange(len(ordered)) + 0.5) / len(ordered)
    slope, start = np.polyfit(place, ordered, 1)
    ends = np.array([0.0, 1.0])
    return Line(ends, start + slope * ends, "regression line of agreement", dash=1)


def _reliabilities(frames: Frames) -> Chart:
    """Figure E.15: the certainty of every case across reliabilities, under PL and PrIRN."""
    chart = certainty_curves(frames["certainty_by_reliability"], top=1)
    panels = tuple(
        replace(
            pane,
            title=SHORT[pane.title],
            marks=tuple(
                replace(mark, name=mark.name.replace(pane.title, SHORT[pane.title]))
                for mark in pane.marks
                if isinstance(mark, Line)
            ),
        )
        for pane in chart.panels
    )
    caption = (
        "The certainty of the first condition, each curve sorted by itself. Higher reliability lifts the curves, but "
        "their left ends stay low: some cases are ambiguous however far their annotators are trusted."
    )
    return replace(chart, title="Certainty across reliabilities", panels=panels, caption=caption)


def _distributions(frames: Frames) -> Chart:
    """Figure E.16: how many cases have which certainty, of the condition and of its risk."""
    cases = frames["dermatology_cases"]
    edges = np.linspace(0.0, 1.0, BINS + 1)
    middle, bars = (edges[:-1] + edges[1:]) / 2, []
    for place, (column, name) in enumerate((("risk_certainty", "risk"), ("certainty", "condition"))):
        values = cases[column].to_numpy()
        told = f"{name}: {float(np.mean(is_uncertain(values))):.1%} of cases below {CERTAIN}".replace("%", " %")
        at = middle + dodged(place, 2, room=0.9 / BINS)
        bars.append(Bars(at, counted(values, edges), 0.45 / BINS, told, theme.hue(1 - place), pattern=place))
    pane = Pane(tuple(bars), CERTAINTY, Axis("share of cases", form=".1%"))
    caption = "How many cases have which certainty: more are certain of the risk, but a large part is not."
    return Chart("Distribution of the certainty of risks and conditions", (pane,), caption)


FIGURES = (
    PaperFigure("risk", "8", TITLE, ("dermatology_cases", "dermatology_risks"), _risk),
    PaperFigure("annotators", "D.13", TITLE, ("dermatology_cases",), _annotators),
    PaperFigure("agreement", "E.14", TITLE, ("dermatology_cases",), _agreement),
    PaperFigure("certainty_by_reliability", "E.15", TITLE, ("certainty_by_reliability",), _reliabilities),
    PaperFigure("certainty_distribution", "E.16", TITLE, ("dermatology_cases",), _distributions),
)
