"""Risk: how much is at stake in each case, and how the models do within each category."""

from __future__ import annotations

from dissensus.report.section import ReportSection


class Risk(ReportSection):
    """Show the expected risk of the cases, and the metrics within categories."""

    id = "risk"
    title = "Risk"
    place = 60
    shows = ("risk", "category_metrics")
    template = """
  <p>Mistakes do not weigh the same. The {{ term("expected risk") }} of a case averages the levels of its conditions by
  their {{ term("plausibilities") }}; its range shows how far the opinions leave the risk open.
  Metrics within a {{ term("category") }} count a case as often as its draws fall into that category.</p>
  {{ figures }}
"""
