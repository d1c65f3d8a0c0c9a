"""In short: the things to know first, and the models on a common scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dissensus.evaluation.sentences import best_first, gap_of, practice_name, reads, statements
from dissensus.report.section import ReportSection, ReportSubject

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation

MARGIN = 0.04
"""Empty room at both ends of the scale, as a share of it."""

NAMES = {"point": "point_estimate", "adjusted": "mean", "low": "low", "high": "high"}
"""What the scoreboard draws, and the columns that hold it."""


class Summary(ReportSection):
    """Say what came out in a few sentences."""

    id = "summary"
    title = "In short"
    place = 10

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the statements, and the first metric of all models."""
        evaluation = subject.evaluation
        return {
            "statements": statements(evaluation),
            "scores": scores(subject) if evaluation.models else (),
            "metric": evaluation.metrics[0].name if evaluation.metrics else "",
            "practice": practice_name(evaluation),
            "level": level(evaluation),
        }


def level(evaluation: Evaluation) -> str:
    """Write the probability that intervals hold."""
    return f"{100 * evaluation.level:g} %"


@dataclass(frozen=True)
class Score:
    """A model against one answer per case and against the draws, in words and on the scale.

    Places are percentages of the width of the scale.
    """

    model: str
    values: dict[str, float | None]
    places: dict[str, float]
    verdict: str


def scores(subject: ReportSubject) -> tuple[Score, ...]:
    """Put the point estimates and the adjusted values of the first metric side by side, the best model first."""
    metric = subject.evaluation.metrics[0]
    rows = best_first(subject.evaluation, subject.tables.results(), metric)
    values = [{name: row[column] for name, column in NAMES.items()} for row in rows]
    finite = [one for each in values for one in each.values() if one is not None and one == one] or [0.0, 1.0]
    return tuple(
        Score(row["model"], each, placed(each, min(finite), max(finite)), reads(gap_of(row), metric))
        for row, each in zip(rows, values, strict=True)
    )


def placed(values: Mapping[str, float | None], least: float, most: float) -> dict[str, float]:
    """Return where values stand between two others, in percent of the width with its margins; none for nothing.

    >>> placed({"low": 0.5, "point": None}, 0.0, 1.0), placed({"low": 1.0}, 1.0, 1.0)
    ({'low': 50.0}, {'low': 50.0})
    """
    known = {name: value for name, value in values.items() if value is not None and value == value}
    shares = {name: (value - least) / (most - least) if most > least else 0.5 for name, value in known.items()}
    return {name: round(100 * (MARGIN + (1 - 2 * MARGIN) * share), 2) for name, share in shares.items()}
