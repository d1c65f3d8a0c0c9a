"""Certainty: how far the draws of each aggregation agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissensus.report.section import ReportSection, ReportSubject


class CertaintySection(ReportSection):
    """Show how certain the annotations are."""

    id = "certainty"
    title = "How certain the annotations are"
    place = 30
    looks_at_cases = True
    shows = ("certainty", "certainty_histogram", "certainty_by_top", "share_below", "categories")

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return what the aggregations do."""
        runs, shown = subject.evaluation.runs, subject.evaluation.adjusted_runs or range(len(subject.evaluation.runs))
        return {"aggregations": {runs[place].aggregation: runs[place].spec.meaning for place in shown}}
