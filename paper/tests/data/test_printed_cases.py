"""The printed cases: as they are printed, and as they were released."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from dissensus import evaluate
from dissensus.aggregations import PlackettLuce, ProbabilisticInverseRank
from dissensus.metrics import Coverage
from dissensus.plugins import Aggregation
from paper.data.printed_cases import CASES, N_CONDITIONS, PrintedCase, printed_cases
from shared_data import SHARED, needs_shared


def test_the_annotations_hold_all_cases_among_all_conditions() -> None:
    printed = printed_cases()
    assert printed.annotations.case_names == ("1026", "1057", "357", "170", "153", "147", "108")
    assert printed.annotations.n_conditions == N_CONDITIONS
    for case in printed.cases:
        (rankings,) = printed.annotations.select([case.name]).to_rankings()
        assert [[set(block) for block in ranking] for ranking in rankings] == [
            [set(block) for block in ranking] for ranking in case.rankings
        ]


def test_predictions_are_aligned_with_the_cases() -> None:
    printed = printed_cases()
    assert printed.predictions(0).case_names == ("1026", "1057", "357")
    for number in (0, 1):
        (second,) = printed.predictions(number).select(["1057"]).to_lists()
        assert set(second[0]) == set(CASES[1].predictions[number].conditions)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_a_study_of_its_own_and_its_sets_have_three_conditions(case: PrintedCase) -> None:
    assert case.annotations.case_names == (case.name,)
    assert case.annotations.n_conditions == N_CONDITIONS
    assert all(len(set(prediction.conditions)) == 3 for prediction in case.predictions)
    assert len(case.predictions) == (0 if case.figure == "E.18" else 2)


@pytest.mark.parametrize(
    ("aggregation", "column", "tolerance"),
    [
        (PlackettLuce(reliability=3, alpha=1.0, prior="observed"), "plackett_luce", 0.06),
        (ProbabilisticInverseRank(reliability=30, ties="each"), "inverse_rank", 0.03),
    ],
    ids=["plackett-luce", "inverse-rank"],
)
def test_values_come_out_as_printed(aggregation: Aggregation, column: str, tolerance: float) -> None:
    """The printed ones are averages of 1000 draws, which are correlated under Plackett-Luce."""
    printed = printed_cases()
    sets = {"first": printed.predictions(0), "second": printed.predictions(1)}
    said = printed.annotations.select(sets["first"].case_names)
    result = evaluate(said, sets, aggregations=[aggregation], metrics=[Coverage()], draws=8000)
    predicted = [case for case in printed.cases if case.predictions]
    expected = [getattr(case.predictions[number], column) for number in (0, 1) for case in predicted]
    assert result.per_case()["mean"].to_list() == pytest.approx(expected, abs=tolerance)


def test_a_long_run_comes_as_close_as_rounded_shares_can() -> None:
    """A long run against the printed value, which is a share of 1000 draws rounded to two digits: 4 of its errors."""
    study = printed_cases()
    for aggregation, name in (
        (PlackettLuce(reliability=3, alpha=1.0, prior="observed"), "plackett_luce"),
        (ProbabilisticInverseRank(reliability=30, ties="each"), "inverse_rank"),
    ):
        table = aggregation.sample(study.annotations, draws=40_000).summary()
        for name_of_case, prediction in ((case.name, one) for case in study.cases for one in case.predictions):
            own = table.filter(pl.col("case") == name_of_case, pl.col("condition").is_in(prediction.conditions))
            found, printed = float(own["top"].sum()), getattr(prediction, name)
            error = np.sqrt(max(found * (1 - found), 0.001) / 1000)
            assert abs(found - printed) < 4 * error + 0.005


@needs_shared
def test_the_released_annotations_have_the_same_rankings() -> None:
    folder = SHARED / "dermatology_ddx"
    names = [line.strip() for line in (folder / "dermatology_conditions.txt").read_text("utf-8").splitlines()]
    released = json.loads((folder / "dermatology_selectors.json").read_text("utf-8"))
    for case in CASES:
        found = [[{names[code] for code in block} for block in ranking] for ranking in released[int(case.name)]]
        if case.omitted is not None:
            assert found.pop(case.omitted) == [{"Melanocytic Nevus"}, {"Melanoma"}]
        assert found == [[set(block) for block in ranking] for ranking in case.rankings]
    assert [case.name for case in CASES if case.omitted is not None] == ["153"]
