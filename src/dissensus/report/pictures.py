"""The figures of the page: which ones there are, what can be chosen in them, and how they travel.

They travel as charts, which the script of the page draws: building a hundred plotly figures in Python takes a minute,
and only the page knows how wide it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from dissensus.report.encoding import compact
from dissensus.report.selection import shown_runs
from dissensus.study.rankings import Annotations

if TYPE_CHECKING:
    from dissensus.evaluation.plots import Plots
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


def pictures(evaluation: Evaluation) -> dict[str, list[Picture]]:
    """Draw all figures that an evaluation has something to show in, by section."""
    from dissensus.evaluation.plots import Plots

    plots = Plots(evaluation)
    sections = {
        "data": _data(plots),
        "certainty": _certainty(evaluation, plots),
        "models": _models(evaluation, plots) if evaluation.models else (),
        "comparison": _comparison(evaluation, plots) if len(evaluation.models) > 1 else (),
        "risk": _risk(evaluation, plots) if evaluation.categories is not None else (),
        "agreement": _agreement(evaluation, plots),
    }
    return {name: list(found) for name, found in sections.items()}


def _data(plots: Plots) -> Iterator[Picture]:
    yield picture("study", plots)


def _certainty(evaluation: Evaluation, plots: Plots) -> Iterator[Picture]:
    runs = shown_runs(evaluation)
    yield picture("certainty", plots)
    yield picture("certainty_histogram", plots, runs=runs)
    yield picture("certainty_by_top", plots, runs=runs)
    yield picture("share_below", plots)
    if evaluation.categories is not None:
        yield picture("categories", plots)


def _models(evaluation: Evaluation, plots: Plots) -> Iterator[Picture]:
    metrics = [one.name for one in evaluation.metrics]
    for place, metric in enumerate(metrics):
        yield replace(picture("reliability", plots, metrics=[metric]), name=f"reliability-{place}")
    drawn = [run for run, one in enumerate(evaluation.runs) if one.n_draws > 1] or [evaluation.reference]
    every = sorted(drawn, key=lambda run: run != evaluation.reference)
    draws = picture("draws", plots, metrics=metrics, runs=every)
    yield replace(draws, variants=tuple(replace(one, chart=_without_texts(one.chart)) for one in draws.variants))
    yield picture("by_certainty", plots, metrics=metrics, runs=shown_runs(evaluation))


def _without_texts(chart: Chart) -> Chart:
    """Leave out what is said about every bar: it would weigh a megabyte, and the axes tell the same."""
    from dissensus.figures.charts import Bars

    panels = tuple(
        replace(panel, marks=tuple(replace(mark, texts=()) if isinstance(mark, Bars) else mark for mark in panel.marks))
        for panel in chart.panels
    )
    return replace(chart, panels=panels)


def _comparison(evaluation: Evaluation, plots: Plots) -> Iterator[Picture]:
    metrics, runs = [one.name for one in evaluation.metrics], shown_runs(evaluation)
    yield picture("comparison", plots, metrics=metrics, runs=runs)
    yield picture("ranks", plots, metrics=metrics, runs=runs)


def _risk(evaluation: Evaluation, plots: Plots) -> Iterator[Picture]:
    metrics, runs = [one.name for one in evaluation.metrics], shown_runs(evaluation)
    if len(evaluation.risks()):
        yield picture("risk", plots, runs=runs)
    if evaluation.models and len(evaluation.by_category()):
        yield picture("category_metrics", plots, metrics=metrics, runs=runs)


def _agreement(evaluation: Evaluation, plots: Plots) -> Iterator[Picture]:
    if not isinstance(evaluation.study, Annotations):
        return
    if evaluation.agreement()["agreement"].is_not_null().any():
        yield picture("agreement", plots)


def picture(name: str, plots: Plots, *, metrics: Sequence[str] = (), runs: Sequence[int] = ()) -> Picture:
    """Make the chart of this name for every choice of metric and run."""
    choices = product(metrics or (None,), runs or (None,))
    return Picture(name, tuple(Variant(m, run, plots.chart(name, metric=m, run=run)) for m, run in choices))
