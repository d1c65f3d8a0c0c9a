"""In short: the things to know first, and the models on a common scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from dissensus.evaluation.practices import Beside, Result, side_by_side
from dissensus.evaluation.sentences import assumption, leading, panel_meaning, reads, statements, strong
from dissensus.evaluation.words import NOTHING, number, value
from dissensus.report.section import ReportSection, ReportSubject

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation

MARGIN = 0.04
"""Empty room at both ends of the scale, as a share of it."""

ESTIMANDS = ("panel", "agreement", "adjusted")
"""What the scoreboard shows of a model, from top to bottom."""

NAMES = {"": "mean", "_low": "low", "_high": "high"}
"""What the scoreboard draws of an estimand, and the columns that hold it."""


class Summary(ReportSection):
    """Say what came out in a few sentences."""

    id = "summary"
    title = "In short"
    place = 10

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return the statements, and the first metric of all models."""
        evaluation = subject.evaluation
        found = leading(evaluation, subject.tables.results()) if evaluation.models else []
        return {
            "statements": statements(evaluation),
            "scores": scores(found),
            "metric": evaluation.metrics[0].name if evaluation.metrics else "",
            "practices": list(found[0].practices) if found else [],
            "has_truth": bool(found) and found[0].truth is not None,
            "every": everything(subject) if evaluation.models else (),
            "assumption": assumption(evaluation),
            "panel_meaning": panel_meaning(),
            "shown": shown(found[0]) if found else (),
            "headline_estimand": evaluation.runs[evaluation.headline].estimand,
            "estimate": estimate,
            "level": level(evaluation),
        }


def level(evaluation: Evaluation) -> str:
    """Write the probability that intervals hold."""
    return f"{100 * evaluation.level:g} %"


def estimate(row: Result | None) -> Markup:
    """Write a value with its interval.

    >>> str(estimate({"mean": 0.5, "low": 0.25, "high": 0.75}))
    '<strong>0.500</strong> (0.250 to 0.750)'
    """
    if row is None:
        return Markup(NOTHING)
    if math.isnan(row["mean"]):
        return Markup(value(row["mean"]))
    return Markup("{} ({} to {})").format(strong(number(row["mean"])), number(row["low"]), number(row["high"]))


def shown(one: Beside) -> tuple[str, ...]:
    """Name the estimands that there are, in the order of the page."""
    return tuple(name for name in ESTIMANDS if getattr(one, name) is not None)


@dataclass(frozen=True)
class Score:
    """A model by all estimands and by every practice, in numbers, in words and on the scale.

    Places are percentages of the width of the scale.
    """

    beside: Beside
    values: dict[str, float | None]
    places: dict[str, float]
    verdict: str


def everything(subject: ReportSubject) -> list[Score]:
    """Put estimands and practices of all models and metrics side by side."""
    return [score(one, 0.0, 1.0) for one in side_by_side(subject.evaluation, subject.tables.results())]


def scores(found: Sequence[Beside]) -> tuple[Score, ...]:
    """Put estimands and practices of the first metric on one scale, the best model first."""
    values = [one for each in found for one in drawn(each).values() if one is not None and one == one] or [0.0, 1.0]
    return tuple(score(one, min(values), max(values)) for one in found)


def score(one: Beside, least: float, most: float) -> Score:
    """Say how the first practice compares with panel or the adjusted value, and place all values between two others."""
    name, gap = next(iter(one.gaps.items()), ("", None))
    told = reads(gap, one.metric).removeprefix("reads ") if name else ""
    return Score(one, drawn(one), placed(drawn(one), least, most), told)


def drawn(one: Beside) -> dict[str, float | None]:
    """Return what the scale shows of a model: all estimands with their intervals, the first practice, the truth."""
    rows = {name: getattr(one, name) for name in ESTIMANDS}
    estimated = {
        name + ending: row[column] for name, row in rows.items() if row is not None for ending, column in NAMES.items()
    }
    return {**estimated, "practice": next(iter(one.practices.values()), None), "truth": one.truth}


def placed(values: Mapping[str, float | None], least: float, most: float) -> dict[str, float]:
    """Return where values stand between two others, in percent of the width with its margins; none for nothing.

    >>> placed({"low": 0.5, "truth": None}, 0.0, 1.0), placed({"low": 1.0}, 1.0, 1.0)
    ({'low': 50.0}, {'low': 50.0})
    """
    known = {name: value for name, value in values.items() if value is not None and value == value}
    shares = {name: (value - least) / (most - least) if most > least else 0.5 for name, value in known.items()}
    return {name: round(100 * (MARGIN + (1 - 2 * MARGIN) * share), 2) for name, share in shares.items()}
