"""Comparison: which model is better, or that nobody can tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissensus.evaluation.comparison import LEAST_CASES, LEAST_GROUPS
from dissensus.evaluation.results import ADJUSTED, AGREEMENT, PANEL
from dissensus.evaluation.sentences import flips, probability_better, verdict
from dissensus.evaluation.words import small_probability
from dissensus.report.section import ReportSection, ReportSubject


class ComparisonSection(ReportSection):
    """Compare all pairs of models."""

    id = "comparison"
    title = "Which model is better"
    place = 50
    shows = ("comparison", "ranks")

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return all differences by every estimand, adjusted in the reference run, and where orders flip."""
        evaluation, comparison = subject.evaluation, subject.tables.comparison()
        labels = {evaluation.run_label(run) for run in (evaluation.headline, evaluation.reference)}
        order = (PANEL, ADJUSTED, AGREEMENT)
        own = [found for found in comparison.differences if found.run in labels or found.estimand == AGREEMENT]
        own.sort(key=lambda found: order.index(found.estimand))
        return {
            "differences": [(found, verdict(found), probability_better(found)) for found in own],
            "main_metric": evaluation.metrics[0].name,
            "estimands": [name for name in order if any(found.estimand == name for found in own)],
            "flips": flips(comparison),
            "p_value": small_probability,
            "chance": 1 - evaluation.level,
            "least_cases": LEAST_CASES,
            "least_groups": LEAST_GROUPS,
        }
