"""The informed prior: how much each model says about what a large panel would say, as the annotators decide."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dissensus.evaluation.words import NOTHING, number
from dissensus.report.section import ReportSection, ReportSubject

if TYPE_CHECKING:
    from dissensus.evaluation.results import Evaluation, PriorRecord

LEAST_GAIN = 0.005
"""A factor nearer to one than this is none."""


class InformedPrior(ReportSection):
    """Show how much each model informed the prior."""

    id = "prior"
    title = "How much each model informed the prior"
    place = 45

    def has(self, evaluation: Evaluation) -> bool:
        """Tell whether there is a panel estimate."""
        return evaluation.panel is not None and evaluation.prior is not None and bool(evaluation.prior.models)

    def words(self, subject: ReportSubject) -> Mapping[str, Any]:
        """Return what was fitted of every model, in numbers and in words, and how many opinions the prior is worth."""
        evaluation = subject.evaluation
        assert evaluation.prior is not None, "checked by has"
        return {
            "rows": [(row, *gains(row)) for row in evaluation.prior.models],
            "is_rated": evaluation.study.kind == "ratings",
            "worth": worth(evaluation.prior, evaluation.study.kind),
            "opinions": f"{evaluation.n_votes / evaluation.n_cases:.3g}",
            "prior_warnings": evaluation.prior.warnings,
        }


def gains(row: Mapping[str, Any]) -> tuple[str, str]:
    """Say how much more probable a model makes what annotators chose, alone and beyond the others.

    >>> gains({"alone": 0.5, "beyond": 0.0, "left_out": None})
    ('1.65 times as probable', 'nothing')
    >>> gains({"alone": None, "beyond": None, "left_out": "it has seen the answers"})[1]
    'left out: it has seen the answers'
    """
    if row.get("left_out") is not None:
        return NOTHING, f"left out: {row['left_out']}"
    return times(row["alone"]), times(row["beyond"])


def times(gain: float) -> str:
    """Write a gain of the mean logarithm of a probability as a factor.

    >>> times(0.1), times(-0.0001)
    ('1.11 times as probable', 'nothing')
    """
    factor = math.exp(gain)
    return "nothing" if factor < 1 + LEAST_GAIN else f"{number(factor, 2)} times as probable"


def worth(prior: PriorRecord, kind: str = "rankings") -> str:
    """Say how many votes, or ratings, the prior of a case is worth.

    >>> from dissensus.evaluation.results import PriorRecord
    >>> worth(PriorRecord(concentrations=(0.5, 1.0, 2.0, 4.0, 32.0)))
    'is worth 2 votes in the middle case, 1 to 4 in half of the cases, and 0.5 to 32 in all'
    >>> worth(PriorRecord(concentrations=(2.5,) * 5), "ratings")
    'is worth 2.5 ratings in every case'
    """
    least, low, middle, high, most = (f"{one:.2g}" if one < 10 else f"{one:,.0f}" for one in prior.concentrations)
    votes = ("rating" if kind == "ratings" else "vote") + ("" if middle == "1" else "s")
    if least == most:
        return f"is worth {middle} {votes} in every case"
    half = f"{low} to {high} in half of the cases"
    return f"is worth {middle} {votes} in the middle case, {half}, and {least} to {most} in all"
