"""Models: every metric across aggregations and reliabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dissensus.evaluation.sentences import assumption
from dissensus.report.pictures import Picture, picture
from dissensus.report.section import ReportSection, ReportSubject

if TYPE_CHECKING:
    from dissensus.figures.charts import Chart


class Models(ReportSection):
    """Follow the models across reliabilities."""

    id = "models"
    title = "Models across reliability"
    place = 40
    shows = ("reliability", "draws", "by_certainty")

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return what the metrics measure, those that measure alike together, and all results."""
        meanings: dict[str, list[str]] = {}
        for metric in subject.evaluation.metrics:
            meanings.setdefault(metric.meaning, []).append(metric.name)
        return {
            "meanings": [(", ".join(names), text) for text, names in meanings.items() if text],
            "results": subject.tables.results().to_dicts(),
            "assumption": assumption(subject.evaluation),
        }

    def pictures(self, subject: ReportSubject) -> Iterator[Picture]:
        """Draw one picture across reliabilities for each metric, and the draws of every run."""
        evaluation, plots = subject.evaluation, subject.plots
        for place, metric in enumerate(evaluation.metrics):
            yield replace(picture("reliability", plots, metrics=[metric.name]), name=f"reliability-{place}")
        drawn = [run for run, one in enumerate(evaluation.runs) if one.n_draws > 1] or [evaluation.reference]
        draws = picture("draws", plots, runs=sorted(drawn, key=lambda run: run != evaluation.reference))
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
