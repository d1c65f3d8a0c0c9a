"""Models: every metric across aggregations and reliabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dissensus.evaluation.results import PANEL
from dissensus.evaluation.sentences import assumption, no_panel, panel_meaning
from dissensus.report.pictures import Picture, picture, shown_runs
from dissensus.report.section import ReportSection, ReportSubject

if TYPE_CHECKING:
    from dissensus.figures.charts import Chart


MOST_PICTURES = 4
"""So many metrics have a picture of their own; of more, one is chosen at a time."""


class Models(ReportSection):
    """Follow the models across reliabilities."""

    id = "models"
    title = "Models across reliability"
    place = 40
    shows = ("estimands", "reliability", "draws", "by_certainty")

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return what the metrics measure, those that measure alike together, and all results."""
        meanings: dict[str, list[str]] = {}
        for metric in subject.evaluation.metrics:
            meanings.setdefault(metric.meaning, []).append(metric.name)
        return {
            "meanings": [(", ".join(names), text) for text, names in meanings.items() if text],
            "results": sorted(subject.tables.results().to_dicts(), key=lambda row: row["estimand"] != PANEL),
            "assumption": assumption(subject.evaluation),
            "has_panel": subject.evaluation.panel is not None,
            "panel_meaning": panel_meaning(),
            "no_panel": no_panel(subject.evaluation),
        }

    def pictures(self, subject: ReportSubject) -> Iterator[Picture]:
        """Draw all estimands, one picture across reliabilities for each metric, and the draws of some runs."""
        evaluation, plots = subject.evaluation, subject.plots
        yield picture("estimands", plots)
        if evaluation.adjusted_runs and len(evaluation.metrics) > MOST_PICTURES:
            yield picture("reliability", plots)
        elif evaluation.adjusted_runs:
            for place, metric in enumerate(evaluation.metrics):
                yield replace(picture("reliability", plots, metrics=[metric.name]), name=f"reliability-{place}")
        own = evaluation.runs[evaluation.reference].aggregation
        shown = {*shown_runs(evaluation), *(i for i, run in enumerate(evaluation.runs) if run.aggregation == own)}
        drawn = [run for run in sorted(shown) if evaluation.runs[run].n_draws > 1] or [evaluation.reference]
        leading = {evaluation.headline: 0, evaluation.reference: 1}
        draws = picture("draws", plots, runs=sorted(drawn, key=lambda run: leading.get(run, 2)))
        yield replace(draws, variants=tuple(replace(one, chart=without_texts(one.chart)) for one in draws.variants))
        yield picture("by_certainty", plots)


def without_texts(chart: Chart) -> Chart:
    """Leave out what is said about every bar: it would weigh a megabyte, and the axes tell the same."""
    from dissensus.figures.charts import Bars

    panels = tuple(
        replace(panel, marks=tuple(replace(mark, texts=()) if isinstance(mark, Bars) else mark for mark in panel.marks))
        for panel in chart.panels
    )
    return replace(chart, panels=panels)
