"""Annotators: how often each of them names the true condition, as far as their agreement tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dissensus.core.names import visible
from dissensus.report.section import ReportSection, ReportSubject
from dissensus.study.rankings import Annotations

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
    template = """
  <p>How often each annotator names the true condition first, estimated by a Bayesian Dawid-Skene model: nobody knows
  the truth, but who agrees with others on many cases is more often right. It takes annotators to err independently;
  mistakes that most of them share look like the truth. Those with few cases are taken to be like the others, within
  a wide interval. Only first choices count. <code>annotator_confusion(...)</code> tells what each mistakes for what.</p>
  <div class="scroll" tabindex="0" role="region" aria-label="Accuracy of annotators">
  <table class="numbers">
    <caption>Accuracy of annotators, with 90 % intervals</caption>
    <thead><tr><th scope="col">annotator</th><th scope="col">cases</th><th scope="col">accuracy</th><th scope="col">{{ term("interval") }}</th></tr></thead>
    <tbody>
      {% for name, cases, accuracy, low, high in rows %}
      <tr><th scope="row">{{ name }}</th><td>{{ cases }}</td><td>{{ "%.2f" | format(accuracy) }}</td><td>{{ "%.2f" | format(low) }} to {{ "%.2f" | format(high) }}</td></tr>
      {% endfor %}
    </tbody>
  </table>
  </div>
"""

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether a few annotators are named, and the study is small enough to be quick."""
        study = evaluation.study
        if not isinstance(study, Annotations):
            return False
        people, n_conditions = len(set(study.counted.annotators.tolist()) - {-1}), study.n_conditions
        cells = n_conditions * (n_conditions * people + study.n_rankings)
        return LEAST_ANNOTATORS <= people <= MOST_ANNOTATORS and cells <= MOST_CELLS

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the rows of the table, the most accurate annotator first."""
        from dissensus.evaluation.annotator_quality import annotator_quality

        study = subject.evaluation.study
        assert isinstance(study, Annotations)
        table = annotator_quality(study, draws=DRAWS, seed=subject.evaluation.seed).sort("accuracy", descending=True)
        return {"rows": [(visible(name), *numbers) for name, *numbers in table.rows()]}
