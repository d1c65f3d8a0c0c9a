"""p-values of equal models are near uniform, sane in the tail; at most 6 % of studies at 0.95 have a false verdict.

Single pairs are differences of cases whose mean is zero, as one or three votes give them, or skewed ones; families are
three equal models and a better one. Bounds allow for 3.3 standard errors beside the factor that is named.
"""

import numpy as np
import pytest

from dissensus.core.arrays import FloatArray
from dissensus.evaluation.intervals import RESAMPLES, Resampled, end_weights, spread, tail_probability
from rare import some
from simulation.coverage import simulated
from simulation.grid import alone, crossed, grouped

LEVEL = 0.95

# Differences of a case, how often each is met, and by which factor a tail may be heavier than it says.
PAIRS: dict[str, tuple[list[float], list[float], float]] = {
    "one vote": ([-1, 0, 1], [0.2, 0.6, 0.2], 1.4),
    "one vote, often alike": ([-1, 0, 1], [0.05, 0.9, 0.05], 1.4),
    "three votes": ([-1, -2 / 3, -1 / 3, 0, 1 / 3, 2 / 3, 1], [0.05] * 3 + [0.7] + [0.05] * 3, 1.4),
    "skewed": ([-1, 0, 1 / 3], [0.1, 0.6, 0.3], 2.0),
}
FAMILIES = {
    "50 cases": alone(50, easy=False),
    "200 cases": alone(200, easy=False),
    "20 groups": grouped(20, 5, 0.3),
    "4 annotators": crossed(4, 0.12),
    "panels of 3 of 12": crossed(3, 0.12, pool=12),
}


def p_values(name: str, n_cases: int, n_studies: int, *, seed: int, batch: int = 1000) -> FloatArray:
    """Draw studies in which both models are as good, and hold the resampled differences against zero."""
    rng, found = np.random.default_rng(seed), []
    for number in range(n_studies // batch):
        gaps = rng.choice(PAIRS[name][0], size=(batch, n_cases), p=PAIRS[name][1])
        weights = rng.exponential(size=(n_cases, RESAMPLES))
        masses = np.broadcast_to(weights.sum(axis=0), (batch, RESAMPLES))
        cases = Resampled(gaps @ weights / masses, masses, np.ones(batch), np.zeros((batch, 1)))
        one = spread(cases, -np.ones(batch), np.ones(batch), ends=end_weights(number, RESAMPLES), level=LEVEL)
        found.append(tail_probability(one.values, one.freedom, one.third, n_cases=n_cases, level=LEVEL))
    return np.concatenate(found)


def heavier(found: FloatArray, chance: float) -> float:
    """Say how many times as many p-values are below a number as should be, less 3.3 standard errors."""
    return float((np.mean(found < chance) - 3.3 * np.sqrt(chance / len(found))) / chance)


@pytest.mark.parametrize("name", some(PAIRS, next(iter(PAIRS))))
def test_p_values_of_equal_models_are_near_uniform(name: str) -> None:
    found = p_values(name, 100, 6000, seed=3)
    for chance in (0.5, 0.2, 0.1, 0.05, 0.01, 0.001):
        assert heavier(found, chance) < (1.1 if chance >= 0.05 else PAIRS[name][2])
    body = [float(np.mean(found < chance)) for chance in (0.2, 0.5, 0.8)]
    assert body == pytest.approx([0.2, 0.5, 0.8], abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("n_cases", [30, 100, 400])
@pytest.mark.parametrize("name", PAIRS)
def test_the_tail_holds_to_one_in_ten_thousand(name: str, n_cases: int) -> None:
    found = p_values(name, n_cases, 200_000, seed=4)
    for chance in (0.05, 0.01, 0.001, 0.0001):
        assert heavier(found, chance) < PAIRS[name][2]


SOME = [pytest.param(name, marks=[] if name == "200 cases" else [pytest.mark.slow]) for name in FAMILIES]


@pytest.mark.parametrize("name", SOME)
def test_false_verdicts_between_equal_models_are_rare(name: str) -> None:
    n_studies = 600
    found = simulated(FAMILIES[name], n_studies, seed=5, level=LEVEL)
    assert found.false_anywhere < 0.06 + 1.5 * np.sqrt(0.06 * 0.94 / n_studies)
