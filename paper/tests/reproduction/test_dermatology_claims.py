"""Claims about certainty: they hold on the release, and every one of them could have failed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dissensus.certainty.top_sets import Certainty
from dissensus.core.arrays import FloatArray
from paper.data import load_dermatology
from paper.reproduction.certainty_claims import limit_rows, lower_row, mean_certainties, rise_row
from paper.reproduction.dermatology_claims import (
    annotator_rows,
    correlation_rows,
    expected_risk_rows,
    risk_rows,
    saturated_rows,
    share_rows,
)
from paper.reproduction.dermatology_experiment import dermatology_section
from paper.reproduction.dermatology_figures import FIGURES, in_order
from paper.reproduction.paper_figures import PaperFigure
from paper.reproduction.rows import Row, Section, Settings
from shared_data import SHARED, needs_shared

SETTINGS = Settings(draws=400, sweep_draws=60)


def certainty(values: FloatArray | list[float], error: float = 0.001, top: int = 1) -> Certainty:
    numbers = np.asarray(values, dtype=np.float64)
    names = tuple(str(place) for place in range(len(numbers)))
    return Certainty(names, top, numbers, np.full(len(numbers), error), (("a",),) * len(numbers), 100)


def means(races: list[float], inverses: list[float], *, top: int = 1, error: float = 0.0005) -> pl.DataFrame:
    """Return mean certainties at reliabilities 1, 2, ... and 10, 20, ..."""
    rows = [("plackett-luce", place + 1.0, top, value, error) for place, value in enumerate(races)]
    rows += [
        ("probabilistic-inverse-rank", 10.0 * (place + 1), top, value, error) for place, value in enumerate(inverses)
    ]
    return pl.DataFrame(rows, schema=["aggregation", "reliability", "top", "mean", "error"], orient="row")


def by_top(first: float, second: float, third: float, *, error: float = 0.0005) -> pl.DataFrame:
    parts = [means([value], [value], top=top, error=error) for top, value in enumerate((first, second, third), start=1)]
    return pl.concat(parts)


@pytest.fixture(scope="module")
def section() -> Section:
    return dermatology_section(load_dermatology(SHARED / "dermatology_ddx"), SETTINGS)


def found(rows: tuple[Row, ...] | list[Row], *words: str) -> Row:
    (row,) = [row for row in rows if all(word in f"{row.quantity}; {row.settings}" for word in words)]
    return row


# On the release --------------------------------------------------------------------------------------------


@needs_shared
@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (("smallest rise",), "agrees"),
        (("less that of the top 2 or 3",), "agrees"),
        (("at reliability 10,000, the smaller of two (",), "differs"),
        (("no tied cases",), "agrees"),
        (("correlation of certainty, PL and PrIRN", 'ties="each"'), "agrees"),
        (("correlation of certainty, PL and PrIRN", 'ties="shared"'), "differs"),
        (("largest difference of certainty",), "agrees"),
        (("below 0.99 (condition, claim of the abstract)",), "agrees"),
        (("below 0.9 (condition, claim of the abstract)",), "differs"),
        (("risk less condition",), "agrees"),
        (("whose risk is more certain",), "agrees"),
        (("below 0.9 (risk)",), "agrees"),
        (("annotators per case, high less low",), "agrees"),
        (("different conditions per case, high less low",), "agrees"),
    ],
)
def test_claims_in_words_are_judged(section: Section, words: tuple[str, ...], verdict: str) -> None:
    row = found(section.rows, *words)
    assert row.verdict == verdict
    assert row.explanation
    assert row.refutation


@needs_shared
def test_certainty_tends_to_less_than_one_because_of_ties(section: Section) -> None:
    likelihood, ranks = (found(section.rows, f"point estimate ({name})") for name in ("ML", "IRN"))
    assert likelihood.ours == pytest.approx(0.966, abs=0.001)
    assert ranks.ours == pytest.approx(0.934, abs=0.001)
    assert "6.3 % of cases" in likelihood.settings
    assert "11.4 % of cases" in ranks.settings
    assert found(section.rows, "at reliability 10,000, the smaller of two (PrIRN)").ours < 0.95


@needs_shared
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_figures_are_drawn_with_a_caption(section: Section, figure: PaperFigure) -> None:
    chart = figure.draw(section.frames)
    assert chart.caption.endswith(".")
    assert len(chart.panels) == {"8": 2, "D.13": 4, "E.14": 1, "E.15": 2, "E.16": 1}[figure.number]


# Every claim can fail --------------------------------------------------------------------------------------

RISING = [0.7, 0.8, 0.85]


@pytest.mark.parametrize(
    ("races", "inverses", "error", "verdict"),
    [
        (RISING, RISING, 0.0005, "agrees"),
        (RISING, [0.7, 0.7, 0.85], 0.0005, "differs"),
        ([0.7, 0.85, 0.8], RISING, 0.0005, "differs"),
        ([0.7, 0.8, 0.805], RISING, 0.0005, "differs"),
        (RISING, RISING, 0.02, "differs"),
    ],
)
def test_certainty_that_does_not_rise_clearly_refutes(
    races: list[float], inverses: list[float], error: float, verdict: str
) -> None:
    row = rise_row(means(races, inverses, error=error), "")
    assert row.verdict == verdict


def test_the_smallest_rise_is_named() -> None:
    row = rise_row(means([0.7, 0.8], [0.6, 0.63]), "")
    assert row.ours == pytest.approx(0.03)
    assert "(PrIRN, 10 to 20)" in row.quantity


@pytest.mark.parametrize(
    ("tops", "error", "verdict"),
    [
        ((0.8, 0.6, 0.4), 0.0005, "agrees"),
        ((0.8, 0.77, 0.4), 0.0005, "differs"),
        ((0.8, 0.6, 0.9), 0.0005, "differs"),
        ((0.8, 0.6, 0.4), 0.05, "differs"),
    ],
)
def test_later_places_that_are_as_certain_refute(tops: tuple[float, float, float], error: float, verdict: str) -> None:
    assert lower_row(by_top(*tops, error=error), "").verdict == verdict


@pytest.mark.parametrize(
    ("far", "everything", "untied"),
    [([1.0, 1.0], "agrees", "agrees"), ([1.0, 0.5], "differs", "agrees"), ([0.9, 1.0], "differs", "differs")],
)
def test_ties_are_told_from_certainty_that_does_not_tend_to_one(far: list[float], everything: str, untied: str) -> None:
    points = {"PL": certainty([1.0, 0.5]), "PrIRN": certainty([1.0, 1.0])}
    rows = limit_rows({"PL": certainty(far), "PrIRN": certainty([1.0, 1.0])}, points, "")
    assert [row.verdict for row in rows] == [everything, untied, "not in the paper", "not in the paper"]


def test_cases_that_all_tie_are_no_evidence() -> None:
    tied = {"PL": certainty([0.5])}
    everything, untied, _ = limit_rows({"PL": certainty([0.5])}, tied, "")
    assert {everything.verdict, untied.verdict} == {"differs"}
    assert np.isnan(untied.ours)


def test_correlations_and_single_cases_can_refute() -> None:
    race = certainty(np.linspace(0.2, 1.0, 50))
    same, other = certainty(race.values), certainty(race.values[::-1].copy())
    rows = correlation_rows(race, {"each": same, "shared": other}, SETTINGS)
    assert [row.verdict for row in rows] == ["differs", "differs", "differs"]
    assert rows[1].ours == pytest.approx(-1)
    apart = correlation_rows(race, {"each": other, "shared": other}, SETTINGS)[-1]
    assert apart.verdict == "agrees"
    assert apart.ours == pytest.approx(0.8)


def test_risks_that_are_no_more_certain_refute() -> None:
    low = certainty(np.linspace(0.2, 0.9, 40))
    assert [row.verdict for row in risk_rows(low, low, "")] == ["differs", "differs", "agrees"]
    certain = certainty(np.ones(40))
    assert [row.verdict for row in risk_rows(low, certain, "")] == ["agrees", "agrees", "differs"]


def test_certain_cases_refute_shares() -> None:
    certain = certainty(np.ones(40))
    rows = share_rows(certain, certain, certain, "")
    assert {row.verdict for row in rows if row.paper} == {"differs"}


def test_cases_that_rise_are_not_saturated() -> None:
    low, high = certainty(np.full(300, 0.5)), certainty(np.full(300, 0.8))
    assert [row.verdict for row in saturated_rows(low, high, SETTINGS)] == ["differs", "differs"]
    assert [row.verdict for row in saturated_rows(low, low, SETTINGS)] == ["agrees", "agrees"]


def test_annotators_and_conditions_can_refute() -> None:
    cases = pl.DataFrame(
        {"risk": ["low"] * 4 + ["high"] * 4, "annotators": [3, 4, 3, 4, 5, 6, 5, 6], "conditions": [3, 5] * 4}
    )
    gaps = [row for row in annotator_rows(cases) if row.paper]
    assert [row.verdict for row in gaps] == ["differs", "differs"]
    turned = cases.with_columns(
        risk=pl.Series(["high"] * 4 + ["low"] * 4), conditions=pl.Series([9, 8, 9, 8, 3, 4, 3, 4])
    )
    assert [row.verdict for row in annotator_rows(turned) if row.paper] == ["agrees", "agrees"]


def test_crisp_risks_refute() -> None:
    risks = pl.DataFrame({"mean": [0.0, 1.0, 2.0, 0.5], "min": [0.0] * 4, "max": [1.0] * 4})
    assert [row.verdict for row in expected_risk_rows(risks, "") if row.paper] == ["differs", "differs"]


def test_mean_certainties_have_the_error_of_a_mean() -> None:
    rows = {"certainty": [0.5, 1.0], "error": [0.03, 0.04]}
    frame = pl.DataFrame(rows).with_columns(aggregation=pl.lit("plackett-luce"), reliability=pl.lit(3.0), top=pl.lit(1))
    assert mean_certainties(frame).row(0)[-2:] == (0.75, pytest.approx(0.025))


def test_points_stand_at_the_place_of_their_case() -> None:
    x, y = in_order(np.array([0.3, 0.1, 0.2]), np.array([3.0, 1.0, 2.0]))
    assert y.tolist() == [1, 2, 3]
    assert x == pytest.approx([1 / 6, 1 / 2, 5 / 6])
    many = in_order(np.arange(1000.0), np.arange(1000.0))
    assert len(many[0]) == len(many[1]) == 250
