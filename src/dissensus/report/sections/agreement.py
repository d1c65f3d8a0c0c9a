"""Agreement among annotators: how far they say the same, beside how certain the cases are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.report.section import ReportSection, ReportSubject

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation


class AgreementSection(ReportSection):
    """Show agreement among annotators in numbers, and beside certainty."""

    id = "agreement"
    title = "Agreement among annotators"
    place = 70
    looks_at_cases = True
    shows = ("agreement",)

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether any case has annotators who could agree."""
        return bool((evaluation.study.counted.votes_per_case > 1).any())

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the rows of the table: title, value, interval, cases, and what each measure says."""
        from dissensus.agreement.measures import agreement_measures

        table = agreement_measures(subject.evaluation.study, seed=subject.evaluation.seed)
        return {"rows": list(_rows(table.to_dicts())), "findings": "finding" in table.columns}


def _rows(measured: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    from dissensus.agreement.measures import KNOWN
    from dissensus.core.names import visible

    for row in measured:
        yield {
            "finding": visible(row.get("finding", "")),
            "title": KNOWN[row["measure"]].title,
            "value": f"{row['value']:.2f}" if np.isfinite(row["value"]) else "\N{EN DASH}",
            "interval": f"{row['low']:.2f} to {row['high']:.2f}" if np.isfinite(row["low"]) else "\N{EN DASH}",
            "cases": f"{row['n_cases']:,}",
            "meaning": KNOWN[row["measure"]].meaning,
            "note": row["note"].replace("undefined: ", "not defined, as "),
        }
