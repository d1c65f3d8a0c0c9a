"""Figures of the models: the main figure, and their accuracy per case and per draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.arrays import FloatArray
from dissensus.figures import theme
from dissensus.figures.charts import (
    Axis,
    Band,
    Bars,
    Chart,
    Line,
    Mark,
    Pane,
    Points,
    counted,
    even_edges,
    joint_span,
    quantile_curve,
)
from dissensus.figures.evaluation_charts import by_aggregation
from paper.reproduction.certainty_claims import mean_certainties
from paper.reproduction.dermatology_figures import certainty_pane
from paper.reproduction.model_claims import FIGURE, OVERLAP, SET2, SET3, TITLE, TOP3
from paper.reproduction.paper_figures import Frames, PaperFigure
from paper.reproduction.paper_runs import POINT_NAMES, SHORT

if TYPE_CHECKING:
    import polars as pl

TITLES = {TOP3: "top-3 accuracy", SET2: "top-2 set accuracy", SET3: "top-3 set accuracy", OVERLAP: "average overlap"}
TOPS = (1, 2, 3)
BINS = 40
MOST_TICKS = 5


def _main(frames: Frames) -> Chart:
    """Figure 6: certainty and four metrics across reliabilities, PL above and PrIRN below."""
    table, means = frames["models"], mean_certainties(frames["certainty_by_reliability"])
    spans = {metric: _span(table.filter(table["metric"] == metric)) for metric in FIGURE}
    panels = []
    for row, (aggregation, runs) in enumerate(by_aggregation(table)):
        known = [float(reliability) for reliability, _ in runs if reliability is not None]
        axis = _reliability_axis(known, POINT_NAMES[SHORT[aggregation]], is_last=row == 1)
        side = SHORT[aggregation]
        tops = _certainty_marks(means.filter(means["aggregation"] == aggregation), frames["certainty_of_points"])
        panels.append(Pane(tops, axis, _round_axis(side, (0.3, 1.0)), "" if row else "mean certainty"))
        for metric in FIGURE:
            mine = table.filter((table["aggregation"] == aggregation) & (table["metric"] == metric))
            panels.append(
                Pane(_metric_marks(mine), axis, _round_axis(side, spans[metric]), "" if row else TITLES[metric])
            )
    caption = (
        "Mean certainty of the first one to three conditions, and four metrics of four models, across reliabilities: "
        "PL above, PrIRN below. Lines: mean over cases and draws. Bands: one standard deviation, over draws, of the "
        "metric averaged over cases. Crosses: against the point estimate (ML for PL, IRN for PrIRN). Every column has "
        "one range. Lower reliability lowers every metric; sets are far harder than single conditions."
    )
    return Chart("Certainty and metrics across reliabilities", tuple(panels), caption, columns=5, height=260)


def _span(rows: pl.DataFrame) -> tuple[float, float] | None:
    mean, sd = (rows[name].to_numpy() for name in ("mean", "sd"))
    return joint_span(mean - sd, mean + sd, rows["point_estimate"].cast(float).fill_null(np.nan).to_numpy())


def _round_axis(title: str, span: tuple[float, float] | None) -> Axis:
    """Return an axis with three to six round numbers."""
    if span is None:
        return Axis(title)
    steps = [step for step in (0.01, 0.02, 0.05, 0.1, 0.2) if (span[1] - span[0]) / step <= MOST_TICKS]
    step = steps[0] if steps else 0.5
    places = np.arange(np.ceil(span[0] / step - 1e-9), np.floor(span[1] / step + 1e-9) + 1) * step
    return Axis(title, span, tuple((float(place), f"{place:.2f}") for place in places))


def _reliability_axis(known: list[float], point: str, *, is_last: bool) -> Axis:
    """Name the reliabilities, evenly spaced, and the point estimate behind them."""
    ticks = (*((float(place), f"{gamma:g}") for place, gamma in enumerate(known)), (float(len(known)), point))
    return Axis("reliability" if is_last else "", (-0.3, len(known) + 0.5), ticks)


def _certainty_marks(means: pl.DataFrame, points: pl.DataFrame) -> tuple[Mark, ...]:
    marks: list[Mark] = []
    aggregation = means["aggregation"][0]
    for place, top in enumerate(TOPS):
        y = means.filter(means["top"] == top).sort("reliability")["mean"].to_numpy()
        marks.append(Line(np.arange(float(len(y))), y, f"certainty of the top {top}", dash=place))
        point = points.filter((points["aggregation"] == aggregation) & (points["top"] == top))["mean"].to_numpy()
        marks.append(Points(np.full(len(point), float(len(y))), point, "", symbol=-1, size=8))
    return tuple(marks)


def _metric_marks(rows: pl.DataFrame) -> tuple[Mark, ...]:
    """Draw every model: a band of one standard deviation, a line, and the cross of the point estimate."""
    marks: list[Mark] = []
    for place, ((model,), mine) in enumerate(rows.group_by("model", maintain_order=True)):
        ordered = mine.sort("reliability")
        mean, sd = (ordered[name].to_numpy() for name in ("mean", "sd"))
        x, colour = np.arange(float(len(mean))), theme.hue(place)
        marks.append(Band(x, mean - sd, mean + sd, colour, 0.3))
        marks.append(Line(x, mean, str(model), colour, place))
        point = ordered["point_estimate"].drop_nulls().to_numpy()[-1:]
        marks.append(Points(np.full(len(point), float(len(mean))), point, "", colour, symbol=-1, size=8))
    return tuple(marks)


def _per_case(frames: Frames) -> Chart:
    """Figure 7: certainty of PL and PrIRN, accuracy of the first model per case, and accuracy over draws."""
    cases, accuracy = frames["dermatology_cases"], frames["models_cases"]
    panels = (certainty_pane(cases), _accuracy_pane(cases, accuracy), _draws_pane(frames["models_draws"]))
    caption = (
        "Medium reliability. Left: the certainty of every case under PL, sorted, and under PrIRN for the same cases: "
        "alike on the whole, but not on every case. Middle: the adjusted top-3 accuracy of one model for every case, "
        "and the certainty, each sorted by itself; a case between 0 and 1 has first conditions that the model names "
        "and others that it does not. Right: top-3 accuracy averaged over cases, in every draw."
    )
    return Chart("Cases and draws at medium reliability", panels, caption, columns=3)


def _accuracy_pane(cases: pl.DataFrame, accuracy: pl.DataFrame) -> Pane:
    model = str(accuracy["model"][0])
    mine = accuracy.filter(accuracy["model"] == model)["mean"].to_numpy()
    marks = []
    for values, name, place, dash in (
        (cases["certainty"].to_numpy(), "certainty, PL", 0, 0),
        (mine, f"adjusted top-3 accuracy of {model}", 2, 1),
    ):
        x, y = quantile_curve(values)
        marks.append(Line(x, y, name, theme.hue(place), dash, steps=True))
    x_axis = Axis("share of cases, each curve sorted by itself", (0.0, 1.0), form=".1%")
    return Pane(tuple(marks), x_axis, Axis("", (-0.02, 1.03)), f"accuracy of {model} per case")


def _draws_pane(draws: pl.DataFrame) -> Pane:
    """Count the draws by top-3 accuracy, model by model."""
    edges = even_edges(draws["mean"].to_numpy(), number=BINS)
    middle, width = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0])
    bars = []
    for place, ((model,), rows) in enumerate(draws.group_by("model", maintain_order=True)):
        shares: FloatArray = counted(rows["mean"].to_numpy(), edges)
        bars.append(Bars(middle, shares, width, f"draws, {model}", theme.hue(place), opacity=0.6))
    return Pane(tuple(bars), Axis("top-3 accuracy"), Axis("share of draws", form=".1%"), "top-3 accuracy over draws")


FIGURES = (
    PaperFigure("main_figure", "6", TITLE, ("models", "certainty_by_reliability", "certainty_of_points"), _main),
    PaperFigure("cases_and_draws", "7", TITLE, ("dermatology_cases", "models_cases", "models_draws"), _per_case),
)
