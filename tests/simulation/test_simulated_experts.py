"""Models beside annotators on simulated studies: the part of ``make simulate`` that decides, each 200 studies.

Intervals of 95 % must hold in 90 % of studies, those of what a model is worth in 92 %, and a model that is worse by the
margin be called non-inferior in at most 6 % (2.5 % nominal), each within 1.5 standard errors.
"""

import numpy as np
import pytest

from simulation.experts import cells, faults, ragged

NUMBER = 200
DECISIVE = ("6 annotators, skill sd 0.12: worse by the margin", "AUROC, 4 annotators", "AUROC, 8 annotators")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*DECISIVE, "plurality of 3"])
def test_intervals_hold_and_inferior_models_are_rarely_accepted(name: str) -> None:
    assert faults(name, cells()[name](NUMBER, 1), NUMBER) == []


@pytest.mark.slow
def test_equal_models_are_accepted_more_often_than_inferior_ones() -> None:
    worse, equal = (cells()[f"no names, 3 a case: {word}"](NUMBER, 2) for word in ("worse by the margin", "equal"))
    assert equal.told > 0.2 > worse.told


def test_the_plurality_of_three_is_worth_about_three_where_two_to_ten_gave_opinions() -> None:
    found = [ragged(3, [5, seed], n_cases=1000).worth["A"] for seed in range(8)]
    assert np.median([one.value for one in found]) == pytest.approx(3, abs=0.5)
    assert sum(one.low <= 3 <= one.high for one in found) >= 6
