"""Figures that compare models: who is better than whom, and who has which rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.figures import theme
from dissensus.figures.certainty_charts import by_aggregation, reliabilities, run_of
from dissensus.figures.charts import Axis, Bars, Cells, Chart, Pane, named_places, shortened
from dissensus.figures.metric_charts import estimand_of, under

if TYPE_CHECKING:
    import polars as pl

PROBABILITY = Axis("probability", (0, 1), form=".0%")


def probability_matrix(differences: pl.DataFrame, metric: str, *, run: str, models: Sequence[str]) -> Chart:
    """Tabulate the probability that the model of a row is better than the model of a column."""
    chosen = differences.filter(differences["metric"] == metric)
    values, estimand = _probabilities(chosen, models), estimand_of(chosen)
    labels = tuple(tuple(chance(value, 2) for value in line) for line in values)
    texts = tuple(
        tuple(
            "" if row == column else f"{row} is better than {column}\nwith probability {chance(value, 3)}"
            for column, value in zip(models, line, strict=True)
        )
        for row, line in zip(models, values, strict=True)
    )
    names = [shortened(name, 18) for name in models]
    rows, columns = named_places(names, "this model ...", margin=0.5), named_places(names, margin=0.5)
    panel = Pane((Cells(values, labels, texts),), Axis("... is better than", columns.span, columns.ticks), rows)
    caption = (
        f"Share of resamples in which the {estimand} value of the model of the row is better; ties count half. It does "
        "not allow for the number of comparisons, as verdicts do."
    )
    return Chart(
        f"Probability of being better: {estimand} {metric}{under(run, estimand)}",
        (panel,),
        caption,
        height=max(180, 46 * len(models)),
    )


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


def _probabilities(pairs: pl.DataFrame, models: Sequence[str]) -> FloatArray:
    place = {model: number for number, model in enumerate(models)}
    values = np.full((len(models), len(models)), np.nan)
    for first, second, probability in pairs.select("first", "second", "probability_better").iter_rows():
        values[place[first], place[second]] = probability
        values[place[second], place[first]] = 1 - probability
    return values


def rank_distribution(ranks: pl.DataFrame, metric: str, *, run: str | None = None) -> Chart:
    """Stack the probabilities of the ranks of each model: one panel for one run, or one per model across all runs."""
    rows = ranks.filter(ranks["metric"] == metric)
    models = rows["model"].unique(maintain_order=True).to_list()
    estimand = estimand_of(rows)
    caption = f"Probability of each rank of the {estimand} values over resamples; rank 1 is best, ties share ranks."
    if run is not None:
        bars = _stacked([(model, rows.filter(rows["model"] == model)) for model in models], len(models))
        panel = Pane(bars, named_places([shortened(model, 22) for model in models]), PROBABILITY)
        return Chart(f"Ranks by {estimand} {metric}{under(run, estimand)}", (panel,), caption, height=280)
    aggregations = list(by_aggregation(rows))
    panels = []
    for model in models:
        for aggregation, runs in aggregations:
            mine = [(reliability, part.filter(part["model"] == model)) for reliability, part in runs]
            panels.append(_across_runs(mine, aggregation, model, len(models)))
    title = f"Ranks by {estimand} {metric} under every run"
    return Chart(title, tuple(panels), caption, columns=len(aggregations), height=120, gap=84)


def _across_runs(runs: list[tuple[float | None, pl.DataFrame]], aggregation: str, model: str, n_models: int) -> Pane:
    columns = [(f"{model}, {run_of(part)}", part) for _, part in runs]
    axis = reliabilities([reliability for reliability, _ in runs])
    return Pane(_stacked(columns, n_models), axis, PROBABILITY, f"{shortened(model, 18)}: {aggregation}")


def _stacked(columns: list[tuple[str, pl.DataFrame]], n_models: int) -> tuple[Bars, ...]:
    """Stack the ranks of each column, rank 1 at the bottom."""
    base = np.zeros(len(columns))
    places = np.arange(len(columns), dtype=np.float64)
    bars = []
    for rank in range(1, n_models + 1):
        shares = np.array([_probability(part, rank) for _, part in columns])
        texts = tuple(
            f"{name}: rank {rank} with probability {chance(share, 3)}"
            for (name, _), share in zip(columns, shares, strict=True)
        )
        colour = theme.shade(rank - 1, n_models)
        bars.append(Bars(places, shares, 0.7, f"rank {rank}", colour, base.copy(), pattern=rank - 1, texts=texts))
        base += np.nan_to_num(shares)
    return tuple(bars)


def _probability(part: pl.DataFrame, rank: int) -> float:
    found = part.filter(part["rank"] == rank)["probability"]
    return float(found[0]) if len(found) else float("nan")
