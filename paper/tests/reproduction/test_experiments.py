"""The numbers of the paper come out: every printed one within its tolerance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from paper.data import load_ava, load_cifar10h, load_dermatology
from paper.data.dermatology import Dermatology
from paper.data.printed_cases import CASES
from paper.reproduction.cifar10h_experiment import cifar10h_section
from paper.reproduction.dermatology_experiment import dermatology_section
from paper.reproduction.models_experiment import METRICS, models_section
from paper.reproduction.printed_experiment import cases_found, printed_section
from paper.reproduction.ratings_experiment import ava_section
from paper.reproduction.rows import Printed, Row, Section, Settings
from paper.reproduction.stand_ins import stand_ins
from paper.reproduction.toy_experiment import EXAMPLES, RELIABILITIES, toy_section
from shared_data import SHARED, needs_shared

SETTINGS = Settings(draws=1000, sweep_draws=20, seed=0)

PRINTED = {
    ("1026", "A"): (0.70, 0.52),
    ("1026", "B"): (1.00, 0.99),
    ("1057", "A"): (0.39, 0.41),
    ("1057", "D"): (0.58, 0.61),
    ("357", "A"): (0.27, 0.40),
    ("357", "B"): (0.42, 0.62),
}
"""What the paper prints for Plackett-Luce and for PrIRN."""


def found(section: Section, *words: str) -> Row:
    """Give the one row whose quantity and settings hold all the words."""
    (row,) = [row for row in section.rows if all(word in f"{row.quantity}; {row.settings}" for word in words)]
    return row


@pytest.fixture(scope="module")
def printed() -> Section:
    return printed_section(SETTINGS)


@pytest.fixture(scope="module")
def dermatology_data() -> Dermatology:
    return load_dermatology(SHARED / "dermatology_ddx")


@pytest.fixture(scope="module")
def dermatology(dermatology_data: Dermatology) -> Section:
    return dermatology_section(dermatology_data, SETTINGS)


# The printed cases -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", PRINTED)
@pytest.mark.parametrize(("place", "aggregation"), [(0, "PL, reliability 3"), (1, 'ties="each"')])
def test_printed_values_come_out(printed: Section, which: tuple[str, str], place: int, aggregation: str) -> None:
    case, model = which
    row = found(printed, f"case {case},", f"model {model} ", aggregation)
    assert isinstance(row.paper, Printed)
    assert row.paper.value == PRINTED[which][place]
    assert row.ours == pytest.approx(PRINTED[which][place], abs=0.06 if place == 0 else 0.03)
    assert row.verdict == "agrees"
    assert row.error is not None
    assert row.error < 0.01


def test_the_tie_rule_of_the_equation_does_not_give_the_printed_values(printed: Section) -> None:
    rows = [row for row in printed.rows if 'ties="shared"' in row.settings]
    assert [row.verdict for row in rows].count("differs") >= 5
    assert all("equation" in row.explanation for row in rows)
    off = max(abs(row.ours - row.paper.value) for row in rows if isinstance(row.paper, Printed))
    assert off > 0.3


@needs_shared
def test_the_printed_cases_stand_in_the_release(dermatology_data: Dermatology) -> None:
    assert cases_found(dermatology_data.annotations) == len(CASES)


def test_another_release_has_no_printed_cases() -> None:
    assert cases_found(CASES[0].annotations) == 1


# The toy problem -------------------------------------------------------------------------------------------


def test_the_toy_problem_behaves_as_told() -> None:
    section = toy_section(Settings(draws=300))
    assert {row.verdict for row in section.rows} == {"agrees", "not in the paper"}
    line = section.frames["toy_certainty"]
    assert sorted(set(line["reliability"].to_list())) == list(RELIABILITIES)
    curves = [line.filter(line["reliability"] == gamma)["certainty"].to_numpy() for gamma in RELIABILITIES]
    mean = [float(np.mean(curve)) for curve in curves]
    assert mean == sorted(mean)
    draws = section.frames["toy_draws"]
    assert set(draws["example"].to_list()) == set(EXAMPLES)
    assert np.allclose(draws.select("Benign 1", "Benign 2", "Cancer").to_numpy().sum(axis=1), 1)


# Published data --------------------------------------------------------------------------------------------


@needs_shared
def test_cifar10h_has_178_uncertain_images() -> None:
    section = cifar10h_section(load_cifar10h(SHARED / "cifar10h"), SETTINGS)
    (count,) = [row for row in section.rows if row.quantity == "images with certainty below 0.99"]
    assert count.ours == pytest.approx(178, abs=8)
    assert count.verdict == "agrees"
    assert found(section, "share of images with certainty below").verdict == "differs"
    whole = found(section, "adjusted accuracy of the original labels;").ours
    least = found(section, "least certain").ours
    assert found(section, "most frequent vote").ours == pytest.approx(0.992, abs=0.001)
    assert whole == pytest.approx(0.9915, abs=0.001)
    assert least == pytest.approx(0.927, abs=0.005)


@needs_shared
def test_most_photographs_are_certain() -> None:
    section = ava_section(load_ava(SHARED / "ava", most=2000).ratings, Settings(draws=500))
    assert found(section, "at least 0.99; ").verdict == "agrees"
    assert found(section, "ratings per photograph").verdict == "differs"
    assert found(section, "ratings per photograph").explanation


@needs_shared
@pytest.mark.parametrize(
    ("words", "value", "tolerance"),
    [
        (("below 0.99 (condition)",), 0.59, 0.02),
        (("below 0.99 (risk category of the top-1",), 0.382, 0.02),
        (("correlation of certainty, PL and PrIRN", 'ties="each"'), 0.9, 0.03),
        (("agreement", 'ties="each"'), 0.85, 0.03),
        (("agreement", 'ties="shared"'), 0.85, 0.03),
    ],
)
def test_shares_and_correlations_come_out(
    dermatology: Section, words: tuple[str, ...], value: float, tolerance: float
) -> None:
    row = found(dermatology, *words)
    assert row.paper == Printed(value, tolerance)
    assert row.ours == pytest.approx(value, abs=tolerance)
    assert row.verdict == "agrees"


@needs_shared
def test_what_differs_in_the_release_is_said(dermatology: Section) -> None:
    cases, few = found(dermatology, "cases; the release"), found(dermatology, "fewer than three annotators")
    assert (cases.ours, few.ours) == (1947, 157)
    assert {cases.verdict, few.verdict} == {"differs"}
    assert "1939" in cases.explanation
    assert found(dermatology, "conditions; the release").verdict == "agrees"
    assert found(dermatology, "printed cases").ours == 7


@needs_shared
def test_risks_and_annotators_are_as_the_paper_says(dermatology: Section) -> None:
    assert found(dermatology, "annotators per case, high less low").verdict == "agrees"
    assert found(dermatology, "different conditions per case, high less low").verdict == "agrees"
    strict, generous = (found(dermatology, f"more than {limit} from every level") for limit in (0.1, 0.2))
    assert (strict.verdict, generous.verdict) == ("agrees", "differs")
    assert strict.explanation == generous.explanation
    assert found(dermatology, "below 0.9 (condition)").verdict == "agrees"
    tops = [found(dermatology, f"mean top-{top} certainty; PL").ours for top in (1, 2, 3)]
    assert tops == sorted(tops, reverse=True)


@needs_shared
def test_stand_ins_show_the_main_figure(dermatology_data: Dermatology) -> None:
    some = replace(dermatology_data, annotations=dermatology_data.annotations.select(slice(0, 500)))
    section = models_section(some, Settings(draws=200, sweep_draws=60))
    table = section.frames["models"]
    assert len(table) == 10 * 4 * len(METRICS)
    assert {row.verdict for row in section.rows} == {"not comparable", "not in the paper"}
    assert all("stand-in" in row.explanation for row in section.rows)
    assert found(section, "point estimates that are above").ours > 0.9
    assert found(section, "order changes").ours >= 1
    race = table.filter((table["aggregation"] == "plackett-luce") & (table["metric"] == "top-3 accuracy"))
    for model in race["model"].unique():
        means = race.filter(race["model"] == model).sort("reliability")["mean"].to_list()
        assert means == sorted(means)


@needs_shared
def test_stand_ins_are_the_same_for_a_seed_and_differ_in_quality(dermatology_data: Dermatology) -> None:
    said = dermatology_data.annotations.select(slice(0, 200))
    one, again, other = stand_ins(said), stand_ins(said), stand_ins(said, seed=1)
    assert all(np.array_equal(one[name], again[name]) for name in one)
    assert not any(np.array_equal(one[name], other[name]) for name in one)
    assert all(np.allclose(scores.sum(axis=1), 1, atol=1e-6) for scores in one.values())
