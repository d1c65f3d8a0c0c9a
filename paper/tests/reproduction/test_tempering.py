"""Tempering beside repetition: what the rows say, and that the page on aggregations shows these numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dissensus import Study
from dissensus.aggregations import PlackettLuce
from paper.data import load_dermatology
from paper.reproduction.rows import Settings
from paper.reproduction.tempered_experiment import (
    COLUMNS,
    RELIABILITIES,
    largest_plausibility,
    ratio_of_rises,
    tempered_section,
    tempering_table,
    to_power,
)
from shared_data import SHARED, needs_shared

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "aggregations.md"


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()]


@needs_shared
def test_tempering_does_not_concentrate_as_repetition_does_and_the_page_says_by_how_much() -> None:
    data = load_dermatology(SHARED / "dermatology_ddx")
    fewer = replace(data, annotations=data.annotations.select(data.annotations.case_names[::6]))
    section = tempered_section(fewer, Settings(draws=80, sweep_draws=80))
    assert [row.verdict for row in section.rows[:2]] == ["differs", "differs"]
    assert 0.3 < section.rows[0].ours < 0.5
    assert section.rows[1].ours < -0.5
    frame = section.frames["tempered"]
    tempered = frame.filter((frame["rule"] == "tempering") & (frame["top"] == 1))
    assert tempered["certainty"].is_sorted()
    assert tempered["largest_plausibility"].is_sorted(descending=True)
    text = PAGE.read_text(encoding="utf-8")
    shown = re.search(r"<!-- tempering: begin -->\n(.*?)<!-- tempering: end -->", text, re.DOTALL)
    assert shown is not None
    written, found = cells(shown[1]), cells(tempering_table(frame))
    assert [row[:2] for row in written] == [row[:2] for row in found]
    assert tuple(written[0]) == COLUMNS
    numbers = np.array([[row[2:5] for row in table[2:]] for table in (written, found)], dtype=np.float64)
    # a sixth of the cases, whose certainties have a standard deviation of 0.2: 4 errors of 0.011 and less
    assert np.abs(numbers[0] - numbers[1]).max() < 0.045


def test_powers_of_plausibilities_sum_to_one_case_by_case() -> None:
    said = Study.from_rankings([[[["a"], ["b"]]], [[["c"]]]], ["a", "b", "c", "d"])
    batch = PlackettLuce(2, tempered=True).sample(said, draws=30).sampler(np.arange(2))
    raised = to_power(batch, 3.0)
    for case in range(2):
        cubes = batch.of_case(case) ** 3
        np.testing.assert_allclose(raised.of_case(case), cubes / cubes.sum(axis=1, keepdims=True))


def test_the_largest_plausibility_is_averaged_over_draws_and_cases() -> None:
    said = Study.from_rankings([[[["a"]]], [[["a"], ["b"]]]], ["a", "b", "c"])
    drawn = PlackettLuce(1, prior="observed").sample(said, draws=50)
    batch = drawn.sampler(np.arange(2))
    expected = np.mean([batch.of_case(case)[:, :-1].max(axis=1).mean() for case in range(2)])
    assert largest_plausibility(drawn) == pytest.approx(expected)


def test_a_claim_of_the_same_effect_can_fail_and_hold() -> None:
    assert ratio_of_rises(np.array([0.5, 0.9, 0.5, 0.7])) == pytest.approx(0.5)
    assert ratio_of_rises(np.array([0.5, 0.9, 0.5, 0.3])) == pytest.approx(-0.5)
    assert len(RELIABILITIES) == 5
