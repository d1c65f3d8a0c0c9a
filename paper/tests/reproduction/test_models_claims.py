"""Claims about models: every one of them could have failed, and stand-ins are never compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dissensus.figures.charts import Band, Chart, Line, Points
from paper.data import load_dermatology
from paper.data.dermatology import Dermatology
from paper.reproduction.dermatology_experiment import dermatology_section
from paper.reproduction.experiments import Reproduction
from paper.reproduction.model_claims import FIGURE, OVERLAP, SET2, SET3, TOP1, TOP3, ModelClaims
from paper.reproduction.models_experiment import models_section
from paper.reproduction.models_figures import FIGURES
from paper.reproduction.page import HEAVY, write_page
from paper.reproduction.rows import Row, Section, Settings
from shared_data import SHARED, needs_shared

SETTINGS = Settings(draws=200, sweep_draws=40)
RACE, INVERSE = "plackett-luce", "probabilistic-inverse-rank"
MEANS = {TOP1: 0.6, TOP3: 0.8, SET2: 0.3, SET3: 0.15, OVERLAP: 0.5}
SDS = {TOP1: 0.005, TOP3: 0.005, SET2: 0.005, SET3: 0.005, OVERLAP: 0.002}
Doctor = Callable[[pl.DataFrame], pl.DataFrame]


def table() -> pl.DataFrame:
    """Make results that bear out all that the paper says."""
    rows = [
        {
            "aggregation": aggregation,
            "reliability": gamma,
            "model": model,
            "metric": metric,
            "mean": mean + 0.01 * place - (0.01 if aggregation == INVERSE else 0),
            "sd": SDS[metric],
            "min": mean - 0.015,
            "max": mean + 0.02,
            "mc_error": 0.0002,
            "difference": 0.03,
            "point_estimate": mean + 0.03,
        }
        for aggregation, gammas in ((RACE, (1.0, 3.0, 10.0)), (INVERSE, (10.0, 30.0, 100.0)))
        for place, gamma in enumerate(gammas)
        for model in "AB"
        for metric, mean in MEANS.items()
    ]
    return pl.DataFrame(rows)


def certainties(first: float = 0.8, third: float = 0.5) -> pl.DataFrame:
    rows = [(name, top, mean, 0.0002) for name in (RACE, INVERSE) for top, mean in ((1, first), (3, third))]
    return pl.DataFrame(rows, schema=["aggregation", "top", "mean", "error"], orient="row")


def claims(doctor: Doctor = lambda rows: rows, *, published: bool = True) -> ModelClaims:
    per_case = np.repeat([0.2, 1.0], [30, 70])
    return ModelClaims(doctor(table()), certainties(), per_case, 1, are_published=published, settings=SETTINGS)


def changed(column: str, value: float | pl.Expr, *, metric: str = "", model: str = "", aggregation: str = "") -> Doctor:
    """Return what puts other numbers into some rows."""
    wanted = {"metric": metric, "model": model, "aggregation": aggregation}
    chosen = pl.all_horizontal(pl.lit(True), *(pl.col(name) == word for name, word in wanted.items() if word))
    return lambda rows: rows.with_columns(pl.when(chosen).then(value).otherwise(pl.col(column)).alias(column))


# Every claim can fail --------------------------------------------------------------------------------------


def test_results_as_told_bear_out_the_paper() -> None:
    rows = claims().rows()
    like = [row for row in rows if "from top-1 accuracy to" in row.quantity]
    assert {row.verdict for row in rows if row not in like} == {"agrees", "not in the paper"}
    assert all(row.explanation and row.refutation for row in rows if row.paper)


@pytest.mark.parametrize(
    ("judge", "doctor"),
    [
        (ModelClaims.falling_row, changed("mean", 0.8, metric=TOP3, model="B")),
        (ModelClaims.falling_row, changed("mc_error", 0.01, metric=TOP3)),
        (ModelClaims.overestimating_row, changed("difference", -0.01, model="A")),
        (ModelClaims.overestimating_row, changed("mc_error", 0.02)),
        (ModelClaims.several_points_row, changed("difference", 0.015)),
        (ModelClaims.set_accuracy_row, changed("mean", 0.6, metric=SET2, model="B", aggregation=INVERSE)),
        (lambda found: found.reduction_row(TOP3, ""), changed("mean", 0.5, metric=SET3, model="A")),
        (lambda found: found.reduction_row(TOP1, ""), changed("mean", 0.4, metric=SET3, model="A")),
        (ModelClaims.overlap_row, changed("mean", 0.1, metric=OVERLAP)),
        (ModelClaims.variation_row, changed("sd", 0.004, metric=OVERLAP, model="B", aggregation=RACE)),
        (ModelClaims.variation_row, changed("sd", 0.0, metric=SET3)),
        (ModelClaims.range_row, changed("max", 0.9, metric=TOP3, model="B")),
        (ModelClaims.lower_row, changed("mean", 0.99, aggregation=INVERSE, model="A")),
    ],
)
def test_other_results_refute(judge: Callable[[ModelClaims], Row], doctor: Doctor) -> None:
    assert judge(claims(doctor)).verdict == "differs"


def test_accuracy_that_falls_as_certainty_does_is_no_further_fall() -> None:
    steep = replace(claims(), certainties=certainties(0.9, 0.2))
    assert claims().reduction_row(TOP3, "").verdict == "agrees"
    assert steep.reduction_row(TOP3, "").verdict == "differs"


def test_an_order_that_never_changes_and_cases_near_one_refute() -> None:
    assert replace(claims(), changed=0).order_row().verdict == "differs"
    assert replace(claims(), first_model=np.full(100, 0.95)).quarter_row().verdict == "differs"


def test_up_to_four_percent_is_an_upper_bound() -> None:
    narrow = claims(changed("max", pl.col("min") + 0.001)).range_row()
    assert narrow.verdict == "agrees"
    assert narrow.refutation == "above 4.5 %"


def test_the_model_that_a_claim_hangs_on_is_named() -> None:
    row = claims(changed("max", 0.84, metric=TOP3, model="B")).range_row()
    assert row.quantity.endswith("(B)")
    assert row.ours == pytest.approx(0.055)


# The main figure -------------------------------------------------------------------------------------------


def sweep() -> pl.DataFrame:
    """Make certainties of two cases, rising with reliability and falling with the places."""
    rows = [
        (aggregation, gamma, top, certainty, 0.01)
        for aggregation, gammas in ((RACE, (1.0, 3.0, 10.0)), (INVERSE, (10.0, 30.0, 100.0)))
        for place, gamma in enumerate(gammas)
        for top in (1, 2, 3)
        for certainty in (0.5 + 0.1 * place - 0.1 * top, 0.7 + 0.1 * place - 0.1 * top)
    ]
    return pl.DataFrame(rows, schema=["aggregation", "reliability", "top", "certainty", "error"], orient="row")


@pytest.fixture
def main_figure() -> Chart:
    points = [(name, top, 0.9) for name in (RACE, INVERSE) for top in (1, 2, 3)]
    frames = {
        "models": table(),
        "certainty_by_reliability": sweep(),
        "certainty_of_points": pl.DataFrame(points, schema=["aggregation", "top", "mean"], orient="row"),
    }
    return FIGURES[0].draw(frames)


def test_the_main_figure_has_ten_panels_and_one_range_per_column(main_figure: Chart) -> None:
    assert (len(main_figure.panels), main_figure.columns) == (10, 5)
    above, below = main_figure.panels[:5], main_figure.panels[5:]
    assert [pane.y.span for pane in above] == [pane.y.span for pane in below]
    assert {pane.y.title for pane in above} == {"PL"}
    assert {pane.y.title for pane in below} == {"PrIRN"}
    assert len(main_figure.names()) == 3 + 2


def test_bands_are_one_standard_deviation_over_draws(main_figure: Chart) -> None:
    for pane, metric in zip(main_figure.panels[1:5], FIGURE, strict=True):
        band = next(mark for mark in pane.marks if isinstance(mark, Band))
        line = next(mark for mark in pane.marks if isinstance(mark, Line))
        cross = next(mark for mark in pane.marks if isinstance(mark, Points))
        assert line.y == pytest.approx(MEANS[metric] + np.array([0.0, 0.01, 0.02]))
        assert band.low == pytest.approx(line.y - SDS[metric])
        assert band.high == pytest.approx(line.y + SDS[metric])
        assert cross.y == pytest.approx([MEANS[metric] + 0.03])
        assert cross.x > line.x.max()


def test_the_first_column_is_the_mean_certainty(main_figure: Chart) -> None:
    for pane in (main_figure.panels[0], main_figure.panels[5]):
        lines = [mark for mark in pane.marks if isinstance(mark, Line)]
        assert len(lines) == 3
        for top, line in enumerate(lines, start=1):
            assert line.y == pytest.approx(np.array([0.6, 0.7, 0.8]) - 0.1 * top)


# Stand-ins -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("doctor", [lambda rows: rows, changed("mean", 0.99), changed("difference", -0.1)])
def test_stand_ins_are_never_compared(doctor: Doctor) -> None:
    rows = claims(doctor, published=False).rows()
    assert {row.verdict for row in rows} == {"not comparable", "not in the paper"}
    assert all("stand-ins" in row.explanation for row in rows)


def test_the_reason_says_why_stand_ins_prove_nothing_about_inverse_ranks() -> None:
    assert "proves nothing" in claims(published=False).lower_row().explanation
    assert "proves nothing" not in claims().lower_row().explanation


@pytest.fixture(scope="module")
def data() -> Dermatology:
    whole = load_dermatology(SHARED / "dermatology_ddx")
    return replace(whole, annotations=whole.annotations.select(slice(0, 600)))


@pytest.fixture(scope="module")
def sections(data: Dermatology) -> tuple[Section, Section]:
    return dermatology_section(data, SETTINGS), models_section(data, SETTINGS)


@needs_shared
def test_what_stand_ins_say_of_inverse_ranks_follows_from_their_making(sections: tuple[Section, Section]) -> None:
    shares = {"other" in row.quantity: row.ours for row in sections[1].rows if "lower values" in row.quantity}
    assert shares[False] < 0.25
    assert shares[True] > 0.5


# Figures ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def charts(sections: tuple[Section, Section]) -> dict[str, Chart]:
    frames = {**sections[0].frames, **sections[1].frames}
    return {figure.number: figure.draw(frames) for figure in FIGURES}


@needs_shared
def test_cases_and_draws_stand_side_by_side(charts: dict[str, Chart]) -> None:
    certain, accurate, draws = charts["7"].panels
    assert "correlation 0.88" in certain.title
    assert all(np.all(np.diff(mark.y) >= 0) for mark in accurate.marks if isinstance(mark, Line))
    assert len(draws.marks) == 4


@needs_shared
def test_figures_are_light_enough_for_the_page(sections: tuple[Section, Section], tmp_path: Path) -> None:
    written = write_page(Reproduction(sections), tmp_path / "page.md")
    names = {place.stem for place in written if place.suffix == ".svg"}
    assert {"main_figure", "cases_and_draws", "risk", "annotators", "agreement"} <= names
    assert all(place.stat().st_size < HEAVY for place in written if place.suffix == ".svg")
