"""Cases: a table that can be searched, sorted and filtered, and every case one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissensus.report.explorer import explored, remote_images
from dissensus.report.section import ReportSection, ReportSubject


class Cases(ReportSection):
    """Let single cases be looked at."""

    id = "cases"
    title = "Case explorer"
    place = 80
    is_wide = True

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return how many cases there are, how many of them are shown, and how many pictures a network holds."""
        total, held = subject.evaluation.n_cases, subject.explored.evaluation.n_cases
        shown = min(subject.explorer_cases, held)
        return {"shown": shown, "total": total, "remote": remote_images(subject.explored)}

    def data(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return all that the explorer shows."""
        return {"explorer": {**explored(subject.explored), "total": subject.evaluation.n_cases}}
