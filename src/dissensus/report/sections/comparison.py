"""Comparison: which model is better, or that nobody can tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissensus.evaluation.sentences import flips, probability_better, verdict
from dissensus.report.section import ReportSection, ReportSubject


class ComparisonSection(ReportSection):
    """Compare all pairs of models."""

    id = "comparison"
    title = "Which model is better"
    place = 50
    shows = ("comparison", "ranks")

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return all differences in the reference run, with their sentences, and where orders flip."""
        evaluation, comparison = subject.evaluation, subject.tables.comparison()
        label = evaluation.runs[evaluation.reference].label
        own = [found for found in comparison.differences if found.run == label]
        return {
            "differences": [(found, verdict(found), probability_better(found)) for found in own],
            "main_metric": evaluation.metrics[0].name,
            "flips": flips(comparison),
        }
