"""Trust: what annotators who were held out say about the numbers of the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dissensus.evaluation.calibration import agreed, best, informed, models, plateau
from dissensus.report.section import ReportSection, ReportSubject


class Trust(ReportSection):
    """Compare what was stated with what held-out annotators confirmed."""

    id = "trust"
    title = "Can these numbers be trusted?"
    place = 35
    shows = ("confirmation",)

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return one sentence about certainty, what else was found, and the tables."""
        found = subject.evaluation.calibration
        assert found is not None, "checked by the needs of the figure"
        whole = next(row for row in reversed(found.split_rows) if row["aggregation"] == found.labels[found.best_place])
        return {
            "sentence": agreed(whole),
            "others": [best(found), plateau(found), *informed(found), *models(found)],
            "bins": found.curve().to_dicts(),
            "scores": sorted(found.score_rows, key=lambda row: -float(row["score"])),
            "agreements": found.model_rows,
            "counts": found.counts,
        }
