"""The seven cases that the paper prints: values of their prediction sets, and what both aggregations make of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregations.base import Aggregation, PointAggregation
from dissensus.aggregations.dirichlet import ProbabilisticInverseRank
from dissensus.aggregations.plackett_luce import PlackettLuce
from dissensus.aggregations.point_estimates import InverseRank, PlackettLuceML
from dissensus.core.arrays import FloatArray
from dissensus.draws import Batch
from dissensus.evaluation.estimates import ADJUSTED
from dissensus.evaluation.evaluator import evaluate, paper
from dissensus.figures.charts import kept_places
from dissensus.metrics import Coverage
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study
from paper.data.printed_cases import CASES, PredictionSet, PrintedCase
from paper.reproduction.rows import AtLeast, AtMost, Claim, Printed, Row, Section, Settings

if TYPE_CHECKING:
    import polars as pl

TITLE = "Printed cases"
CORRELATED_TOLERANCE, INDEPENDENT_TOLERANCE = 0.06, 0.03
RACES = tuple(one for one in paper()["aggregations"] if isinstance(one, PlackettLuce))
INVERSES = tuple(one for one in paper()["aggregations"] if isinstance(one, ProbabilisticInverseRank))
MEDIUM_PL, MEDIUM_PRIRN = RACES[2], INVERSES[2]
SHARED_PRIRN = replace(MEDIUM_PRIRN, ties="shared")
SHOWN: Mapping[str, tuple[Aggregation, PointAggregation]] = {
    "PL": (MEDIUM_PL, PlackettLuceML()),
    "PrIRN": (MEDIUM_PRIRN, InverseRank("each")),
}
"""Both aggregations of the paper, each with the point estimate that it is contrasted with."""

TIMES = 20
"""How many times the usual draws: one case costs nothing."""

SHOWN_DRAWS = 55
"""Draws of a case that its figure shows."""

CORRELATED = (
    "the paper averages 1000 successive, hence correlated, draws of a Gibbs sampler, so that its error is larger than "
    "the 0.016 of independent draws; ours are many more and nearly independent"
)
INDEPENDENT = (
    "the paper averages 1000 independent draws of a Dirichlet distribution, which errs by at most 0.016 (one standard "
    "error), and rounds by at most 0.005; one and a half of the former and the latter make 0.03"
)
EQUATION = (
    "the paper's equation shares a block's weight among its tied conditions; its printed numbers come from giving each "
    "of them the full weight"
)
PASSED_OVER = "the paper leaves annotator A1 of case 153 out; the case is compared, and computed here, as printed"
EVEN = "total variation distance from equal shares: the mass that would have to move"
VERY_LOW, NEARLY_EQUAL, SWAPPED = 0.4, 0.1, 0.05


@dataclass(frozen=True, eq=False)
class DrawnCase:
    """What one aggregation makes of a case: draws and point estimate of the mentioned conditions, the rest last."""

    case: PrintedCase
    name: str
    batch: Batch
    point: FloatArray

    @property
    def draws(self) -> FloatArray:
        """The draws, shape (n_draws, U + 1)."""
        return self.batch.of_case(0)

    @property
    def mean(self) -> FloatArray:
        """The mean plausibilities, shape (U + 1,)."""
        return self.batch.means()

    @property
    def names(self) -> tuple[str, ...]:
        """The mentioned conditions."""
        return tuple(self.case.annotations.conditions[code] for code in self.batch.support_of(0))

    def row(self, quantity: str, ours: float, claim: Claim, reason: str = "") -> Row:
        """Compare a number of this case with what the paper says in words."""
        told = f"{_told(SHOWN[self.name][0])}, {self.batch.n_draws} draws"
        return Row(TITLE, f"case {self.case.name}: {quantity}", ours, None, told, claim, reason)


@dataclass(frozen=True, eq=False)
class SetValue:
    """How often the most plausible condition of a draw is in a printed prediction set."""

    case: PrintedCase
    prediction: PredictionSet
    aggregation: Aggregation
    value: float
    error: float
    draws: int

    @property
    def words(self) -> str:
        """The model and its set."""
        return f"model {self.prediction.model} {{{', '.join(self.prediction.conditions)}}}"

    @property
    def claim(self) -> Printed:
        """What is printed."""
        if isinstance(self.aggregation, PlackettLuce):
            return Printed(self.prediction.plackett_luce, CORRELATED_TOLERANCE)
        return Printed(self.prediction.inverse_rank, INDEPENDENT_TOLERANCE)

    @property
    def row(self) -> Row:
        """Ours beside what is printed."""
        quantity = f"case {self.case.name}, {self.words}: top-1 in the set"
        told = f"{_told(self.aggregation)}, {self.draws} draws"
        return Row(TITLE, quantity, self.value, self.error, told, self.claim, self._reason)

    @property
    def _reason(self) -> str:
        if self.aggregation == SHARED_PRIRN:
            return EQUATION
        return CORRELATED if self.aggregation == MEDIUM_PL else INDEPENDENT


def printed_section(settings: Settings) -> Section:
    """Evaluate the printed prediction sets, and look at the plausibilities of all printed cases."""
    drawn = [[_drawn(case, name, settings) for name in SHOWN] for case in CASES]
    values = [value for case in CASES if case.predictions for value in _values(case, settings)]
    values.sort(key=lambda value: value.aggregation == SHARED_PRIRN)  # what follows the equation comes last
    rows = [
        *(value.row for value in values),
        *(row for case in drawn for one in case for row in _word_rows(one)),
        *(_difference(*case) for case in drawn),
    ]
    frames = {"printed_plausibilities": _plausibilities(drawn), "printed_values": _value_frame(values)}
    return Section(TITLE, tuple(rows), frames)


def _drawn(case: PrintedCase, name: str, settings: Settings) -> DrawnCase:
    said, (aggregation, estimate) = case.annotations, SHOWN[name]
    [batch] = aggregation.sample(said, draws=TIMES * settings.draws, seed=settings.seed, threads=1)
    [point] = estimate.sample(said)
    return DrawnCase(case, name, batch, point.of_case(0)[0])


def _values(case: PrintedCase, settings: Settings) -> list[SetValue]:
    """Return the value of every set of a case, under each aggregation."""
    said, draws = case.annotations, TIMES * settings.draws
    sets = {
        each.model: Predictions.from_sets([each.conditions], said.conditions, case_names=[case.name])
        for each in case.predictions
    }
    aggregations: tuple[Aggregation, ...] = (MEDIUM_PL, MEDIUM_PRIRN, SHARED_PRIRN)
    values = []
    for one in aggregations:
        found = evaluate(
            said, sets, aggregations=[one], metrics=[Coverage()], draws=draws, seed=settings.seed, threads=1
        ).to_frame()
        of = {row["model"]: row for row in found.iter_rows(named=True) if row["estimand"] == ADJUSTED}
        values += [
            SetValue(case, each, one, of[each.model]["mean"], of[each.model]["mc_error"], draws)
            for each in case.predictions
        ]
    return values


def _told(aggregation: Aggregation) -> str:
    """Name an aggregation as the paper does, with what matters of its parameters."""
    if isinstance(aggregation, ProbabilisticInverseRank):
        return f'PrIRN, reliability {aggregation.reliability:g}, ties="{aggregation.ties}"'
    assert isinstance(aggregation, PlackettLuce)
    return f"PL, reliability {aggregation.reliability:g}, alpha {aggregation.alpha:g}"


def _word_rows(drawn: DrawnCase) -> list[Row]:
    """Judge what the paper says about the case of figure 5 and about those of figure E.17."""
    if drawn.case.figure == "5":
        leader, other = (drawn.draws[:, drawn.names.index(name)] for name in ("Hemangioma", "Melanoma"))
        claim = AtLeast(SWAPPED, "may swap their positions")
        return [drawn.row("share of draws with Melanoma above Hemangioma", float((other > leader).mean()), claim)]
    return _even_rows(drawn) if drawn.case.figure == "E.17" else []


def _even_rows(drawn: DrawnCase) -> list[Row]:
    certainty = float(drawn.batch.top_shares().max())
    equal = np.append(np.full(len(drawn.names), 1 / len(drawn.names)), 0.0)
    spread = AtMost(NEARLY_EQUAL, "nearly equally across the annotated conditions")
    return [
        drawn.row("certainty", certainty, AtMost(VERY_LOW, "very low annotation certainty")),
        drawn.row("distance of mean plausibilities from equal shares", _distance(drawn.mean, equal), spread, EVEN),
    ]


def _difference(race: DrawnCase, inverse: DrawnCase) -> Row:
    """Measure how far apart the mean plausibilities of both aggregations are."""
    return Row(
        TITLE,
        f"case {race.case.name}: distance between the mean plausibilities of PL and PrIRN",
        _distance(race.mean, inverse.mean),
        None,
        f"total variation; PL 3, PrIRN 30, {race.batch.n_draws} draws",
        reason="" if race.case.omitted is None else PASSED_OVER,
    )


def _distance(first: FloatArray, second: FloatArray) -> float:
    """Return the total variation distance of two distributions."""
    return float(np.abs(first - second).sum() / 2)


def _plausibilities(drawn: list[list[DrawnCase]]) -> pl.DataFrame:
    """Return point estimate, mean and some draws of every condition; a missing condition stands for all others."""
    import polars as pl

    parts = []
    for one in [each for both in drawn for each in both]:
        shown = one.draws[kept_places(len(one.draws), SHOWN_DRAWS)]
        columns = {
            "condition": pl.Series([*one.names, None], dtype=pl.String),
            "point": one.point,
            "mean": one.mean,
            "draws": pl.Series(shown.T.tolist(), dtype=pl.List(pl.Float64)),
        }
        parts.append(pl.DataFrame(columns).with_columns(case=pl.lit(one.case.name), aggregation=pl.lit(one.name)))
    return pl.concat(parts)


def _value_frame(values: Sequence[SetValue]) -> pl.DataFrame:
    """Return what is printed for every prediction set, and ours, under the aggregations of the figures."""
    import polars as pl

    names = {aggregation: name for name, (aggregation, _) in SHOWN.items()}
    kept = [one for one in values if one.aggregation in names]
    return pl.DataFrame(
        {
            "case": [one.case.name for one in kept],
            "set": [one.words for one in kept],
            "aggregation": [names[one.aggregation] for one in kept],
            "printed": [one.claim.value for one in kept],
            "ours": [one.value for one in kept],
        }
    )


def cases_found(annotations: Study) -> int:
    """Count the printed cases whose rankings stand in a release at their position, but for an annotator passed over."""
    known = [case for case in CASES if case.name in annotations.case_names]
    return sum(_as_printed(annotations, case) == _sorted(case.annotations.to_rankings()[0]) for case in known)


def _as_printed(annotations: Study, case: PrintedCase) -> list[list[list[str]]]:
    """Return the released rankings of a case without the annotator that the print passes over."""
    (released,) = annotations.select([case.name]).to_rankings()
    return _sorted([ranking for place, ranking in enumerate(released) if place != case.omitted])


def _sorted(rankings: list[list[list[str]]]) -> list[list[list[str]]]:
    return [[sorted(block) for block in ranking] for ranking in rankings]
