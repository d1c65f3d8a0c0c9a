"""Standard evaluation beside the adjusted one: a row per model, drawn on a common scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dissensus.report.sentences import NEGLIGIBLE, amount, is_share, metric_rows, run_name

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation

MARGIN = 0.04
"""Empty room at both ends of the scale, as a share of it."""


@dataclass(frozen=True)
class Score:
    """What standard evaluation says about a model, what is left when disagreement counts, and where both stand.

    Places are percentages of the width of the scale.
    """

    model: str
    standard: float | None
    adjusted: float
    low: float
    high: float
    verdict: str
    places: dict[str, float]


@dataclass(frozen=True)
class Scoreboard:
    """The models under one metric and run."""

    metric: str
    run: str
    level: str
    scores: tuple[Score, ...]


def scoreboard(evaluation: Evaluation) -> Scoreboard | None:
    """Put standard and adjusted values of the first metric side by side; nothing without models."""
    if not evaluation.models:
        return None
    metric = evaluation.metrics[0].name
    rows = metric_rows(evaluation, metric)
    share, known = is_share(rows), rows.to_dicts()
    numbers = [row[name] for row in known for name in ("mean", "low", "high", "point_estimate")]
    finite = [value for value in numbers if value is not None and value == value] or [0.0, 1.0]
    scores = tuple(_score(row, min(finite), max(finite), share=share) for row in known)
    return Scoreboard(metric, run_name(evaluation, evaluation.reference), f"{100 * evaluation.level:g} %", scores)


def _score(row: dict[str, Any], least: float, most: float, *, share: bool) -> Score:
    named = {"standard": row["point_estimate"], "adjusted": row["mean"], "low": row["low"], "high": row["high"]}
    places = {name: place(value, least, most) for name, value in named.items() if value is not None and value == value}
    return Score(row["model"], **named, verdict=_verdict(row["optimism"], share=share), places=places)


def place(value: float, least: float, most: float) -> float:
    """Return where a value stands between two others, in percent of the width with its margins.

    >>> place(0.5, 0.0, 1.0), place(1.0, 1.0, 1.0)
    (50.0, 50.0)
    """
    share = (value - least) / (most - least) if most > least else 0.5
    return round(100 * (MARGIN + (1 - 2 * MARGIN) * share), 2)


def _verdict(gap: float | None, *, share: bool) -> str:
    if gap is None or gap != gap:
        return "no standard evaluation"
    if abs(gap) <= NEGLIGIBLE:
        return "about right"
    return f"{'over' if gap > 0 else 'under'}stated by {amount(gap, share=share)}"
