"""The figures of the page: which ones there are, what can be chosen in them, and how they travel.

They travel as charts, which the script of the page draws: building a hundred plotly figures in Python takes a minute,
and only the page knows how wide it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from dissensus.report.encoding import compact

if TYPE_CHECKING:
    from dissensus.evaluation.plots import FigureSort, Plots
    from dissensus.evaluation.results import Evaluation
    from dissensus.figures.charts import Chart


@dataclass(frozen=True)
class Variant:
    """One chart of a picture: for a metric, a run, both or neither."""

    metric: str | None
    run: int | None
    chart: Chart


@dataclass(frozen=True)
class Picture:
    """A place on the page with one or more drawings to choose from."""

    name: str
    variants: tuple[Variant, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics to choose from."""
        return tuple(dict.fromkeys(one.metric for one in self.variants if one.metric is not None))

    @property
    def runs(self) -> tuple[int, ...]:
        """The runs to choose from."""
        return tuple(dict.fromkeys(one.run for one in self.variants if one.run is not None))

    @property
    def height(self) -> int:
        """Height of the first chart in pixels, about, so that little moves when it appears."""
        chart = self.variants[0].chart
        return chart.rows * (chart.height + chart.gap)

    def data(self) -> list[dict[str, Any]]:
        """Return what the script of the page needs to draw."""
        return [{"metric": one.metric, "run": one.run, "chart": compact(one.chart)} for one in self.variants]


def shown_runs(evaluation: Evaluation, *, first: int | None = None) -> list[int]:
    """Choose the runs that can be looked at: the reference, and the middle run of every other aggregation.

    ``first`` is the one that is seen first; by default the reference.
    """
    own = evaluation.runs[evaluation.reference].aggregation
    sweeps: dict[str, list[int]] = {}
    for run, one in enumerate(evaluation.runs):
        sweeps.setdefault(one.aggregation, []).append(run)
    found = [evaluation.reference, *(runs[len(runs) // 2] for name, runs in sweeps.items() if name != own)]
    return sorted(found, key=lambda run: run != first)


def runs_of(sort: FigureSort, evaluation: Evaluation) -> list[int]:
    """Choose the runs of one sort of figure: those about panel begin with it, and all others leave it out."""
    if sort.panel:
        return shown_runs(evaluation, first=evaluation.headline)
    swept = [run for run in shown_runs(evaluation) if run in evaluation.adjusted_runs]
    return swept or [evaluation.reference]


def picture(
    name: str, plots: Plots, *, metrics: Sequence[str] | None = None, runs: Sequence[int] | None = None
) -> Picture:
    """Make the chart of this name for every choice of metric and run that it takes; by default all of them."""
    from dissensus.evaluation.plots import found_figure

    sort, evaluation = found_figure(name), plots.evaluation
    options = sort.options
    every = [one.name for one in evaluation.metrics] if metrics is None else metrics
    shown = runs_of(sort, evaluation) if runs is None else runs
    choices = product(every if "metric" in options else (None,), shown if "run" in options else (None,))
    return Picture(name, tuple(Variant(m, run, plots.chart(name, metric=m, run=run)) for m, run in choices))
