"""Glossary: what every technical term means, and every metric and aggregation of the evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissensus.evaluation.glossary import GLOSSARY
from dissensus.report.section import ReportSection, ReportSubject


class GlossarySection(ReportSection):
    """Explain the words."""

    id = "glossary"
    title = "Glossary"
    place = 100
    template = """
  <dl class="glossary">
    {% for word, text in terms | dictsort %}
    <div id="{{ anchor(word) }}"><dt>{{ word }}</dt><dd>{{ text }}</dd></div>
    {% endfor %}
    {% for word, text in specs.items() if text %}
    <div><dt>{{ word }}</dt><dd>{{ text }}</dd></div>
    {% endfor %}
  </dl>
"""

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the terms, and what metrics and aggregations say about themselves."""
        evaluation = subject.evaluation
        metrics = {metric.name: metric.meaning for metric in evaluation.metrics}
        return {"terms": GLOSSARY, "specs": {**metrics, **{run.spec.id: run.spec.meaning for run in evaluation.runs}}}

    def data(self, subject: ReportSubject) -> Mapping[str, Any]:  # noqa: ARG002 - the same for every evaluation
        """Return what is shown beside a term."""
        return {"glossary": GLOSSARY}
