"""What held-out annotators say about trust, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.evaluation.words import counted

if TYPE_CHECKING:
    from dissensus.evaluation.calibration import Calibration

SURE = 0.9
"""Certainties from here on are the ones that people act on."""

FAR = 2.0
"""A gap of more standard errors than this is called one."""

MOST_NAMED = 4
"""More aggregations that are as good are counted, not named."""

Row = dict[str, Any]


def sentences(found: Calibration) -> tuple[str, ...]:
    """Say which aggregation is best, which others are as good, whether certainty is confirmed, and what is impossible.

    The first sentence stands alone.
    """
    counts = found.counts
    first = (
        f"Calibration: {counted(len(found.specs), 'aggregation')} judged by {counted(counts['pairs'], found.opinion)} "
        f"that were held out, on {counted(counts['cases'], 'case')}"
    )
    if not found._order:
        return first, *impossible(found)
    return first, best(found), plateau(found), *certainty(found), *informed(found), *models(found), *impossible(found)


def best(found: Calibration) -> str:
    """Name the best."""
    row = found.score_rows[found.best_place]
    score = "log density" if found.opinion == "rating" else "log score"
    return (
        f"best: {row['aggregation']}, with a mean {score} of {row['score']:.3f} a {found.opinion} "
        f"(standard error {row['se']:.3f}, clustered by case)"
    )


def plateau(found: Calibration) -> str:
    """Name those that are as good, or how much worse the next is."""
    others = [found.score_rows[i] for i in found._order[1:]]
    alike = [row["aggregation"] for row in others if row["on_plateau"]]
    if alike:
        more = f" and {len(alike) - MOST_NAMED} others" if len(alike) > MOST_NAMED else ""
        return f"as good, as far as these annotators can tell (the plateau): {', '.join(alike[:MOST_NAMED])}{more}"
    if not others:
        return "nothing was compared with it"
    gap = f"{-others[0]['difference']:.3f} (standard error {others[0]['difference_se']:.3f})"
    return f"no other comes within one standard error of it; the next, {others[0]['aggregation']}, is lower by {gap}"


def certainty(found: Calibration) -> list[str]:
    """Say how often high certainty was confirmed, and whether held-out panels agreed as often as expected."""
    own = [row for row in found.split_rows if row["aggregation"] == found.labels[found.best_place]]
    if not own:
        return []
    *bins, whole = own
    sure = [row for row in bins if row["low"] >= SURE]
    said = [confirmed(sure)] if sure else []
    return [*said, agreed(whole)]


def confirmed(bins: Sequence[Row]) -> str:
    """Say how often high certainty was confirmed.

    >>> confirmed([{"n_cases": 50, "stated": 0.95, "predicted": 0.9, "confirmed": 0.88}])
    'certainty of 0.9 or more (mean 0.95, 50 cases) was confirmed in 0.88 of held-out panels; 0.90 was expected'
    """
    weights = [row["n_cases"] for row in bins]
    stated, predicted, seen = (
        np.average([row[name] for row in bins], weights=weights) for name in ("stated", "predicted", "confirmed")
    )
    return (
        f"certainty of {SURE} or more (mean {stated:.2f}, {counted(sum(weights), 'case')}) was confirmed in {seen:.2f} "
        f"of held-out panels; {predicted:.2f} was expected"
    )


def agreed(whole: Row) -> str:
    """Compare what was expected of held-out panels over all cases with what they said."""
    gap, error = whole["gap"], whole["gap_se"]
    if not math.isfinite(error) or abs(gap) <= FAR * error:
        verdict = "which fits"
    else:
        verdict = "so it is too sure" if gap > 0 else "so it is too cautious"
    return (
        f"held-out panels agreed with the leading condition in {whole['confirmed']:.2f} of "
        f"{counted(whole['n_cases'], 'case')}; {whole['predicted']:.2f} was expected, {verdict}"
    )


def informed(found: Calibration) -> list[str]:
    """Say what predictions add where they inform the prior."""
    rows = [row for row, spec in zip(found.score_rows, found.specs, strict=True) if spec.is_informed]
    if not rows:
        return []
    top = max(rows, key=lambda row: float(row["score"]))
    word = "raises" if top["difference"] > 0 else "lowers"
    return [
        f"a prior that the models inform ({top['aggregation']}) {word} the score by {abs(top['difference']):.3f} "
        f"(standard error {top['difference_se']:.3f})"
    ]


def models(found: Calibration) -> list[str]:
    """Say of how many models the agreement with held-out panels was predicted within its interval."""
    said = []
    for estimand in dict.fromkeys(row["estimand"] for row in found.model_rows):
        rows = [row for row in found.model_rows if row["estimand"] == estimand]
        held = sum(row["low"] <= 0 <= row["high"] for row in rows)
        worst = max(rows, key=lambda row: abs(row["gap"]))
        said.append(
            f"{estimand}: predicted agreement with held-out annotators fits for {held} of "
            f"{counted(len(rows), 'model')} (90\xa0% intervals); furthest off is {worst['model']}, predicted "
            f"{worst['predicted']:.3f}, observed {worst['observed']:.3f}"
        )
    return said


def impossible(found: Calibration) -> list[str]:
    """Name the aggregations that gave no chance to something that was said."""
    return [
        f"{row['aggregation']} gives no chance to what annotators said in {row['impossible']:,} of "
        f"{counted(found.counts['pairs'], 'pair')}"
        for row in found.score_rows
        if row["impossible"]
    ]
