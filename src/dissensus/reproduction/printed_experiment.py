"""The three cases that the paper prints in full: two prediction sets each, under both aggregations."""

from __future__ import annotations

from collections.abc import Sequence

from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.plackett_luce import PlackettLuce
from dissensus.aggregation.probabilistic_inverse_rank import ProbabilisticInverseRank
from dissensus.datasets.printed_cases import CASES, PredictionSet, PrintedCase
from dissensus.evaluation.evaluator import evaluate
from dissensus.evaluation.results import ADJUSTED
from dissensus.metrics.sets import Coverage
from dissensus.predictions.lists import Predictions
from dissensus.reproduction.rows import Printed, Row, Section, Settings
from dissensus.study.rankings import Annotations

TITLE = "Printed cases"
TOLERANCE = 0.06
MEDIUM_PL = PlackettLuce(reliability=3, alpha=1.0, prior="observed")
MEDIUM_PRIRN = ProbabilisticInverseRank(reliability=30, ties="each")
SHARED_PRIRN = ProbabilisticInverseRank(reliability=30, ties="shared")
TIMES = 20
"""How many times the usual draws: one case costs nothing."""


CORRELATED = "the paper averages 1000 successive, hence correlated, draws; ours are many more and nearly independent"
EQUATION = (
    "the paper's equation shares a block's weight among its tied conditions; its printed numbers come from giving each "
    "of them the full weight"
)


def printed_section(settings: Settings) -> Section:
    """Evaluate the printed prediction sets against the printed rankings."""
    rows = [row for case in CASES for row in _case_rows(case, settings)]
    return Section(TITLE, tuple(sorted(rows, key=lambda row: _order(row.settings))))


def _order(settings: str) -> int:
    """Put the settings of the paper first, and those of its equation last."""
    return "shared" in settings


def _case_rows(case: PrintedCase, settings: Settings) -> list[Row]:
    aggregations: tuple[Aggregation, ...] = (MEDIUM_PL, MEDIUM_PRIRN, SHARED_PRIRN)
    said = case.annotations
    sets = {
        each.model: Predictions.from_sets([each.conditions], said.conditions, case_names=[case.name])
        for each in case.predictions
    }
    draws = TIMES * settings.draws
    rows = []
    for aggregation in aggregations:
        found = evaluate(
            said, sets, aggregations=[aggregation], metrics=[Coverage()], draws=draws, seed=settings.seed, threads=1
        ).to_frame()
        values = {row["model"]: row for row in found.iter_rows(named=True) if row["estimand"] == ADJUSTED}
        rows += [_row(case, each, aggregation, values[each.model], draws) for each in case.predictions]
    return rows


def _row(
    case: PrintedCase, prediction: PredictionSet, aggregation: Aggregation, found: dict[str, float], draws: int
) -> Row:
    is_race = isinstance(aggregation, PlackettLuce)
    return Row(
        TITLE,
        f"case {case.name}, model {prediction.model} {_listed(prediction.conditions)}: top-1 in the set",
        found["mean"],
        found["mc_error"],
        f"{_told(aggregation)}, {draws} draws",
        Printed(prediction.plackett_luce if is_race else prediction.inverse_rank, TOLERANCE),
        CORRELATED if is_race else EQUATION if aggregation == SHARED_PRIRN else "",
    )


def _listed(conditions: Sequence[str]) -> str:
    return "{" + ", ".join(conditions) + "}"


def _told(aggregation: Aggregation) -> str:
    """Name an aggregation as the paper does, with what matters of its parameters."""
    if isinstance(aggregation, ProbabilisticInverseRank):
        return f'PrIRN, reliability {aggregation.reliability:g}, ties="{aggregation.ties}"'
    assert isinstance(aggregation, PlackettLuce)
    return f"PL, reliability {aggregation.reliability:g}, alpha {aggregation.alpha:g}"


def cases_found(annotations: Annotations) -> int:
    """Count the printed cases whose rankings stand in a release at their position."""
    known = [case for case in CASES if case.name in annotations.case_names]
    released = {case.name: annotations.select([case.name]).to_rankings()[0] for case in known}
    printed = {case.name: case.annotations.to_rankings()[0] for case in known}
    return sum(_sorted(released[name]) == _sorted(printed[name]) for name in released)


def _sorted(rankings: list[list[list[str]]]) -> list[list[list[str]]]:
    return [[sorted(block) for block in ranking] for ranking in rankings]
