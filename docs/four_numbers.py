"""The same models by four numbers, beside the truth that a simulated study knows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dissensus.core.arrays import FloatArray
from dissensus.evaluation.estimates import AGREEMENT, PANEL
from dissensus.evaluation.evaluator import evaluate
from dissensus.figures import theme
from dissensus.figures.charts import Axis, Chart, Pane, Points, dodged, named_places
from dissensus.metrics.accuracy import TopKAccuracy
from dissensus.simulate.differential_study import NEAR_TIES, SimulatedStudy, simulate_study

MAJORITY, ADJUSTED_RUN = "majority-vote", "plackett-luce 1"


@dataclass(frozen=True)
class Number:
    """An estimate with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class FourNumbers:
    """What may be said about a model: the truth, and four numbers; those that were not computed are missing."""

    model: str
    truth: Number
    majority: Number | None
    agreement: Number | None
    adjusted: Number | None
    panel: Number | None

    def values(self) -> tuple[Number | None, ...]:
        """Return the truth and the four numbers, in this order."""
        return self.truth, self.majority, self.agreement, self.adjusted, self.panel


WORDS = ("truth", "majority vote", "agreement", "adjusted (PL 1)", "panel")


@lru_cache(maxsize=1)
def numbers_of_demo() -> tuple[FourNumbers, ...]:
    """Evaluate the study of the demo, with models of which some know near-ties.

    Examples
    --------
    >>> [row.model for row in numbers_of_demo()]
    ['Aster', 'Birch', 'Clover', 'Dahlia', 'Elder']
    """
    return four_numbers(simulate_study(n_cases=400, models=NEAR_TIES, seed=1), draws=1000, seed=1)


def four_numbers(study: SimulatedStudy, *, draws: int, seed: int) -> tuple[FourNumbers, ...]:
    """Evaluate the top-1 accuracy of the models of a simulated study in four ways, and find the truth.

    Examples
    --------
    >>> row = four_numbers(simulate_study(n_cases=30, models=NEAR_TIES, seed=1), draws=50, seed=1)[0]
    >>> row.model, round(row.truth.value, 2)
    ('Aster', 0.93)
    """
    runs = ["plackett-luce:1", MAJORITY]
    table = evaluate(
        study.annotations,
        study.predictions,
        aggregations=runs,
        metrics=[TopKAccuracy(1)],
        draws=draws,
        seed=seed,
        annotators="fixed",
        level=0.9,
    ).to_frame()
    found = {
        (row["estimand"] if row["estimand"] in (PANEL, AGREEMENT) else row["run"], row["model"]): Number(
            row["mean"], row["low"], row["high"]
        )
        for row in table.iter_rows(named=True)
    }
    best = study.theta.argmax(axis=1)
    truth = [float((said.codes[said.offsets[:-1]] == best).mean()) for said in study.predictions.values()]
    return tuple(
        FourNumbers(
            model,
            Number(value, value, value),
            *(found.get((kind, model)) for kind in (MAJORITY, AGREEMENT, ADJUSTED_RUN, PANEL)),
        )
        for model, value in zip(study.predictions, truth, strict=True)
    )


def written(number: Number | None) -> str:
    """Write a number with its interval, if it has one.

    >>> written(Number(0.5, 0.4, 0.6)), written(Number(0.5, 0.5, 0.5)), written(None)
    ('0.500 (0.40 to 0.60)', '0.500', '-')
    """
    if number is None:
        return "-"
    return f"{number.value:.3f}" + (f" ({number.low:.2f} to {number.high:.2f})" if number.high > number.low else "")


def chart_of(rows: tuple[FourNumbers, ...]) -> Chart:
    """Draw the numbers of every model side by side."""
    marks = []
    for place, word in enumerate(WORDS):
        shown = [(x, row.values()[place]) for x, row in enumerate(rows)]
        known = [(x + dodged(place, len(WORDS)), number) for x, number in shown if number is not None]
        marks.append(_points(known, word, place))
    caption = "Points with 90 % intervals; stars are the truth, which a simulated study knows."
    axis = Axis("top-1 accuracy", (0.25, 1.0), form=".2f")
    return Chart(
        "Four numbers and the truth", (Pane(tuple(marks), named_places([row.model for row in rows]), axis),), caption
    )


def _points(known: list[tuple[float, Number]], word: str, place: int) -> Points:
    x, value, low, high = _columns(known)
    if word == WORDS[0]:
        return Points(x, value, word, theme.NEUTRAL, symbol=5, size=13)
    return Points(x, value, word, theme.hue(place - 1), symbol=place - 1, low=low, high=high)


def _columns(known: list[tuple[float, Number]]) -> tuple[FloatArray, ...]:
    rows = np.array([(x, number.value, number.low, number.high) for x, number in known]).reshape(-1, 4)
    return tuple(rows.T)
