"""Rows: what agrees, what differs, and how numbers are written."""

from __future__ import annotations

import json

import numpy as np
import pytest

from paper.reproduction import AtLeast, AtMost, Between, Printed, Row, Section
from paper.reproduction.rows import Claim, shaken_error, small


def row(ours: float, paper: Claim | None = None, *, reason: str = "", is_comparable: bool = True) -> Row:
    return Row("section", "quantity", ours, 0.01, "settings", paper, reason, is_comparable)


@pytest.mark.parametrize(
    ("ours", "paper", "verdict"),
    [
        (0.60, Printed(0.58, 0.02), "agrees"),
        (0.61, Printed(0.58, 0.02), "differs"),
        (0.55, Printed(0.58, 0.02), "differs"),
        (0.30, AtLeast(0.25), "agrees"),
        (0.20, AtLeast(0.25), "differs"),
        (0.20, AtMost(0.25), "agrees"),
        (0.30, AtMost(0.25), "differs"),
        (float("nan"), AtMost(0.25), "differs"),
        (0.012, Between(0.005, 0.015, "roughly 1 %"), "agrees"),
        (0.016, Between(0.005, 0.015, "roughly 1 %"), "differs"),
        (0.004, Between(0.005, 0.015, "roughly 1 %"), "differs"),
        (0.30, None, "not in the paper"),
    ],
)
def test_verdicts_follow_tolerance_and_limits(ours: float, paper: Claim | None, verdict: str) -> None:
    assert row(ours, paper).verdict == verdict


def test_stand_ins_are_never_compared() -> None:
    assert row(0.04, Printed(0.04, 0.01), is_comparable=False).verdict == "not comparable"
    assert row(0.04, None, is_comparable=False).verdict == "not in the paper"


def test_a_difference_always_has_a_reason() -> None:
    assert row(0.9, Printed(0.5, 0.1)).explanation
    assert row(0.9, Printed(0.5, 0.1), reason="because").explanation == "because"
    assert row(0.5, Printed(0.5, 0.1)).explanation == ""


def test_numbers_are_written_with_tolerance_and_error() -> None:
    share = Row("s", "q", 0.5917, 0.0021, "", Printed(0.59, 0.02), form=".1%")
    assert share.paper_text == "59.0 % (± 2.0 %)"
    assert share.ours_text == "59.2 % ± 0.2 %"
    count = Row("s", "q", 1947, None, "", Printed(1939, 0), form=",.0f")
    assert (count.paper_text, count.ours_text) == ("1,939", "1,947")
    assert row(0.3).paper_text == "-"


def test_what_the_paper_says_and_what_it_is_taken_for_are_kept_apart() -> None:
    assert row(0.3, AtMost(0.75, "consistently low")).paper_text == '"consistently low", taken as at most 0.75'
    assert row(0.3, AtLeast(0.25)).paper_text == "at least 0.25"


@pytest.mark.parametrize(
    ("paper", "text"),
    [
        (Printed(0.58, 0.02), "outside 0.56 to 0.60"),
        (Printed(3, 0), "any other number than 3.00"),
        (AtLeast(0.25), "below 0.25"),
        (AtMost(0.25), "above 0.25"),
        (Between(0.1, 0.3, "a fifth"), "outside 0.10 to 0.30"),
        (None, ""),
    ],
)
def test_a_row_says_what_would_have_been_judged_as_different(paper: Claim | None, text: str) -> None:
    assert row(0.3, paper).refutation == text
    assert row(0.3, paper).to_dict()["differs_if"] == text


def test_errors_show_at_least_a_digit() -> None:
    assert small(0.00012, ".2f") == "0.0001"
    assert small(2.7, ",.0f") == "3"
    assert small(0.0003, ".1%") == "0.03 %"
    assert small(1e-9, ".2f") == "0"


def test_rows_become_plain_values() -> None:
    told = row(float("nan"), Printed(0.5, 0.1)).to_dict()
    assert told["ours"] is None
    assert (told["paper_value"], told["tolerance"], told["verdict"]) == (0.5, 0.1, "differs")
    json.dumps(told, allow_nan=False)


def test_reasons_are_numbered_once() -> None:
    rows = (row(1, None, reason="b"), row(1, None, reason="a"), row(1, None, reason="b"), row(1))
    assert Section("s", rows).reasons == ("b", "a")


def test_shaking_finds_the_error_of_a_count() -> None:
    values = np.concatenate([np.full(400, 0.99), np.full(100, 0.5)])
    errors = np.concatenate([np.full(400, 0.01), np.full(100, 0.001)])

    def count(moved: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        return float((moved < 0.99).sum())

    assert shaken_error(count, values, errors) == pytest.approx(10.0, rel=0.2)  # binomial: sqrt(400 / 4)
    assert shaken_error(count, values, np.zeros(500)) == 0.0
