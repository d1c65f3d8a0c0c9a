"""The printed cases: words of the paper as rows, what the release has of them, and their figures."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.figures.charts import Bars, Chart, Points
from dissensus.study.study import Study
from paper.data import load_dermatology
from paper.data.printed_cases import CASES, PrintedCase
from paper.reproduction.charts_of_paper import charts_of
from paper.reproduction.printed_experiment import SHOWN_DRAWS, cases_found, printed_section
from paper.reproduction.rows import Row, Section, Settings
from shared_data import SHARED, needs_shared

SETTINGS = Settings(draws=200)


@pytest.fixture(scope="module")
def section() -> Section:
    return printed_section(SETTINGS)


@pytest.fixture(scope="module")
def charts(section: Section) -> dict[str, Chart]:
    return charts_of(section.frames)


def rows_about(section: Section, words: str) -> list[Row]:
    return [row for row in section.rows if words in row.quantity]


def test_tolerances_follow_from_how_the_paper_draws(section: Section) -> None:
    values = rows_about(section, "top-1 in the set")
    assert {row.tolerance for row in values if row.settings.startswith("PL")} == {0.06}
    assert {row.tolerance for row in values if row.settings.startswith("PrIRN")} == {0.03}
    assert all("draws" in row.reason or "equation" in row.reason for row in values)


def test_what_the_paper_says_in_words_comes_out_and_could_have_failed(section: Section) -> None:
    said = [row for row in section.rows if row.words]
    assert len(said) == 10
    assert {row.verdict for row in said} == {"agrees"}
    assert all(row.refutation for row in said)


def test_every_case_has_a_distance_between_its_aggregations(section: Section) -> None:
    rows = rows_about(section, "PL and PrIRN")
    assert [row.quantity.split()[1].rstrip(":") for row in rows] == [case.name for case in CASES]
    assert all(0.02 < row.ours < 0.2 for row in rows)
    assert {row.verdict for row in rows} == {"not in the paper"}
    (left_out,) = [row for row in rows if row.reason]
    assert "case 153" in left_out.quantity
    assert "A1" in left_out.reason


def test_a_case_that_differs_from_its_release_is_not_found() -> None:
    said = {case.name: [list(map(list, ranking)) for ranking in case.rankings] for case in CASES}
    omitted = [["Melanocytic Nevus"], ["Melanoma"]]
    said["153"].insert(1, omitted)
    assert cases_found(release(said)) == len(CASES)
    assert cases_found(release({**said, "153": said["153"][:1] + said["153"][2:]})) == len(CASES) - 1
    assert cases_found(release({**said, "147": said["147"][::-1]})) == len(CASES) - 1


def release(said: dict[str, list[list[list[str]]]]) -> Study:
    return Study.from_rankings(list(said.values()), case_names=list(said))


@needs_shared
def test_all_seven_cases_stand_in_the_release() -> None:
    assert cases_found(load_dermatology(SHARED / "dermatology_ddx").annotations) == 7


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_drawn_as_bars_and_dots_of_both_aggregations(charts: dict[str, Chart], case: PrintedCase) -> None:
    chart = charts[f"case_{case.name}"]
    assert [panel.title for panel in chart.panels] == ["PL", "PrIRN"]
    for panel in chart.panels:
        bars, dots = panel.marks
        assert isinstance(bars, Bars)
        assert isinstance(dots, Points)
        assert panel.y.ticks[-1][1] == "any other"
        assert bars.lengths.sum() == pytest.approx(1, abs=1e-6)
        assert (np.diff(bars.lengths[:-1]) <= 1e-9).all()
        assert len(dots.x) == SHOWN_DRAWS * len(bars.lengths)
        assert panel.x.span is not None
        assert dots.x.max() < panel.x.span[1] + 0.05


def test_captions_give_the_printed_values_beside_ours(section: Section, charts: dict[str, Chart]) -> None:
    ours = {
        row.settings[:2]: row.ours for row in rows_about(section, "case 357, model A") if "shared" not in row.settings
    }
    caption = charts["case_357"].caption
    assert f"0.27 under PL (here {ours['PL']:.2f}), 0.40 under PrIRN (here {ours['Pr']:.2f})" in caption
    assert "Annotator A1" in charts["case_153"].caption
    assert "Printed share" not in charts["case_147"].caption
