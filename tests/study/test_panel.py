"""Panels: who gave an opinion on which case."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dissensus.core.errors import DissensusError
from dissensus.study.panel import Panel, concatenate_panels


def panel(**changes: Any) -> Panel:
    fields: dict[str, Any] = {
        "case_names": ("x", "y"),
        "opinion_offsets": np.array([0, 2, 3]),
        "annotators": np.array([0, 1, 0]),
        "annotator_names": ("Ann", "Bo"),
    }
    return Panel(**(fields | changes))


def test_weights_are_one_unless_given() -> None:
    assert panel().weights.tolist() == [1, 1, 1]
    assert panel().case_weights.tolist() == [1, 1]
    assert not panel().is_weighted
    assert panel(weights=np.array([1.0, 2.0, 1.0])).is_weighted
    assert panel(case_weights=np.array([1.0, 2.0])).has_case_weights


def test_opinions_know_their_case() -> None:
    assert panel().case_of_opinion.tolist() == [0, 0, 1]
    assert panel().opinions_per_case.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"case_names": ("x",)}, "number of opinion offsets"),
        ({"opinion_offsets": np.array([0, 2, 4])}, "opinion offsets are not in order"),
        ({"opinion_offsets": np.array([0, 4, 3])}, "opinion offsets are not in order"),
        ({"opinion_offsets": np.array([1, 2, 3])}, "opinion offsets are not in order"),
        ({"annotators": np.array([0, 2, 0])}, "annotator code has no name"),
        ({"annotators": np.array([0, -2, 0])}, "annotator code has no name"),
        ({"weights": np.array([1.0])}, "number of weights"),
        ({"weights": np.array([1.0, np.inf, 1.0])}, "weights must be finite"),
        ({"groups": ("p",)}, "number of groups"),
        ({"annotator_names": ("Ann", "Ann")}, "annotator names must all be different"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(DissensusError, match=problem):
        panel(**changes)


def test_cases_without_a_group_stand_alone_beside_grouped_ones() -> None:
    grouped = panel(groups=("p", "p"))
    both = concatenate_panels([grouped, panel(case_names=("u", "v"))])
    assert both.groups == ("p", "p", "u", "v")
