"""Agreement among annotators: how far they say the same, beside how certain the cases are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dissensus.report.section import ReportSection

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation


class AgreementSection(ReportSection):
    """Show agreement among annotators and certainty together."""

    id = "agreement"
    title = "Agreement among annotators"
    place = 70
    looks_at_cases = True
    shows = ("agreement",)
    template = """
  <p>{{ term("agreement among annotators", "Agreement among annotators") }} asks how far they say the same as
  each other, whatever the models say; {{ term("certainty") }} asks what follows from all they said ({{ reference }}).
  Both should go together. Cases far off the line deserve a look: few opinions can agree and yet settle little.</p>
  {{ figures }}
"""

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether any case has annotators who could agree."""
        return super().has(evaluation) and bool(evaluation.agreement()["agreement"].is_not_null().any())
