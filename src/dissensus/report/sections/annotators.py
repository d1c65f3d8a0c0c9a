"""Annotators: how often each of them names the true condition, as far as their agreement tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dissensus.core.names import visible
from dissensus.report.section import ReportSection, ReportSubject

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation

MOST_CELLS = 100_000
"""Conditions times (conditions times annotators, plus opinions) that are estimated within a second or two."""

LEAST_ANNOTATORS, MOST_ANNOTATORS = 3, 100
"""Two annotators cannot tell who of them is right; more than a hundred are for a table of one's own."""

DRAWS = 400
"""Draws of the posterior: enough for two digits."""


class AnnotatorsSection(ReportSection):
    """Show the accuracy of each named annotator."""

    id = "annotators"
    title = "Annotators"
    place = 72
    looks_at_cases = True

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether a few annotators are named, and the study is small enough to be quick."""
        study = evaluation.study
        if study.kind != "rankings":
            return False
        people, n_conditions = len(set(study.counted.annotators.tolist()) - {-1}), study.n_conditions
        cells = n_conditions * (n_conditions * people + study.n_rankings)
        return LEAST_ANNOTATORS <= people <= MOST_ANNOTATORS and cells <= MOST_CELLS

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the rows of the table, the most accurate annotator first."""
        from dissensus.agreement.annotator_quality import annotator_quality

        study = subject.evaluation.study
        table = annotator_quality(study, draws=DRAWS, seed=subject.evaluation.seed).sort("accuracy", descending=True)
        return {"rows": [(visible(name), *numbers) for name, *numbers in table.rows()]}
