"""How often the comparison of models with annotators is right, on simulated studies with a known truth.

Labels come from the populations of the grid: how often annotators agree with each other and with a model is known in
closed form. Scores are of a yes-or-no question that annotators of different strictness answer. What a model is worth is
known where it is the plurality of so many annotators of the same population.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

import dissensus as ds
from dissensus.core.arrays import BoolArray, FloatArray, IntArray
from dissensus.evaluation.expert_comparison.experts import Experts, experts_of
from dissensus.metrics import AUROC, TopKAccuracy
from simulation.coverage import slack
from simulation.grid import crossed
from simulation.populations import CONDITIONS, Population

MARGIN = 0.05
LEAST, LEAST_WORTH, MOST_FALSE = 0.90, 0.92, 0.06


@dataclass(frozen=True)
class Outcome:
    """What came out of many studies.

    Attributes
    ----------
    holds
        Share of the intervals that hold the truth.
    told
        Share of the studies that call the model non-inferior or superior; nan where there is no verdict.
    median
        Of the estimates.
    """

    holds: float
    told: float
    median: float


def outcome(rows: list[tuple[float, float, float]], truth: float, told: list[bool]) -> Outcome:
    """Sum up estimates with their limits."""
    value, low, high = np.array(rows).T
    return Outcome(
        float(((low <= truth) & (truth <= high)).mean()),
        float(np.mean(told)) if told else float("nan"),
        float(np.median(value)),
    )


# Labels: the difference from one annotator, and non-inferiority ------------------------------------------


def with_difference(population: Population, difference: float) -> Population:
    """Return the population in which model A agrees with an annotator so much more than another annotator does."""
    skill, by_chance = population.skill, (1 - population.skill) / (len(CONDITIONS) - 1)
    right = (skill**2 + (1 - skill) * by_chance + difference - by_chance) / (skill - by_chance)
    return replace(population, right=right, apart=min(0.05, right, 1 - right), better=0.0)


def compared(population: Population, number: int, seed: int, difference: float) -> Outcome:
    """Compare model A with annotators, by the margin."""
    rows, told = [], []
    for study in range(number):
        rng = np.random.default_rng([seed, study])
        studies = with_difference(population, difference).studies(1, population.readers(rng), rng)
        said = studies.annotations(0)
        model = ds.Predictions.from_scores(studies.predictions(0)["A"], CONDITIONS, case_names=said.case_names)
        row = experts_of(said, {"A": model}, [TopKAccuracy(1)], margin=MARGIN).row("A")
        rows.append((row["difference"], row["difference_low"], row["difference_high"]))
        told.append(row["verdict"] != "not shown")
    return outcome(rows, difference, told)


# Scores: AUROC with annotators of different strictness ---------------------------------------------------

STRICTNESS, SKILL = 0.5, 0.2


def answers(z: FloatArray, strictness: FloatArray, skill: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Draw what annotators say of cases that look so suspicious."""
    return np.asarray(np.exp(SKILL * skill) * z + rng.normal(size=z.shape) > STRICTNESS * strictness)


def suspicion(n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Draw how suspicious cases look, and the scores of a model."""
    z = 1.5 * rng.normal(size=n) - 0.7
    return z, 1 / (1 + np.exp(-z - 0.7 * rng.normal(size=n)))


@cache
def true_area(n: int = 1_000_000) -> float:
    """Return the area under the curve of the model, each case read by an annotator of its own."""
    rng = np.random.default_rng(0)
    z, scores = suspicion(n, rng)
    yes = answers(z, rng.normal(size=n), rng.normal(size=n), rng)
    ranks = np.empty(n)
    ranks[np.argsort(scores)] = np.arange(1, n + 1)
    n_yes = int(yes.sum())
    return float((ranks[yes].sum() - n_yes * (n_yes + 1) / 2) / (n_yes * (n - n_yes)))


def area(n_annotators: int, number: int, seed: int, n_cases: int = 200) -> Outcome:
    """Compare the scores of a model with annotators who all read all cases."""
    rows = []
    for study in range(number):
        rng = np.random.default_rng([seed, study])
        z, scores = suspicion(n_cases, rng)
        strictness, skill = rng.normal(size=(2, n_annotators))
        yes = answers(np.tile(z[:, None], n_annotators), strictness, skill, rng)
        said = ds.Study.from_rankings(
            [[[["yes" if one else "no"]] for one in row] for row in yes],
            ["no", "yes"],
            annotator_names=[[f"annotator {j}" for j in range(n_annotators)]] * n_cases,
            question="binary",
        )
        model = ds.Predictions.from_scores(np.c_[1 - scores, scores], ["no", "yes"], case_names=said.case_names)
        found = experts_of(said, {"A": model}, [AUROC(), TopKAccuracy(1)])
        row = next(row for row in found.rows if row["metric"] == "AUROC")
        rows.append((row["agreement"], row["low"], row["high"]))
    return outcome(rows, true_area(), [])


# What a model is worth ------------------------------------------------------------------------------------


def ragged(worth: int, seed: Any, *, n_cases: int = 300, pool: int = 12, skill_sd: float = 0.5) -> Experts:
    """Compare the plurality of so many annotators with two to ten others on each case."""
    rng = np.random.default_rng(seed)
    right, hard = rng.integers(4, size=n_cases), rng.normal(size=n_cases)
    skill = 0.8 + skill_sd * rng.normal(size=pool)

    def named(case: IntArray, skill: FloatArray) -> IntArray:
        knows = rng.random(len(case)) < 1 / (1 + np.exp(hard[case] - skill))
        return np.where(knows, right[case], rng.integers(4, size=len(case)))

    case = np.repeat(np.arange(n_cases), rng.choice([2, 3, 5, 8, 10], size=n_cases))
    who = np.concatenate([rng.permutation(pool)[:n] for n in np.bincount(case)])
    said = named(case, skill[who])
    own = np.repeat(np.arange(n_cases), worth)
    votes = np.zeros((n_cases, 4))
    np.add.at(votes, (own, named(own, 0.8 + skill_sd * rng.normal(size=len(own)))), 1)
    first = (votes + 0.5 * rng.random(votes.shape)).argmax(axis=1)
    split = np.cumsum(np.bincount(case))[:-1]
    study = ds.Study.from_rankings(
        [[[[CONDITIONS[one]]] for one in row] for row in np.split(said, split)],
        CONDITIONS,
        annotator_names=[[f"annotator {j}" for j in row] for row in np.split(who, split)],
    )
    model = ds.Predictions.from_rankings([[CONDITIONS[k]] for k in first], CONDITIONS, case_names=study.case_names)
    return experts_of(study, {"A": model}, [TopKAccuracy(1)])


def worth(size: int, number: int, seed: int) -> Outcome:
    """See whether the plurality of so many annotators is worth as many."""
    found = [ragged(size, [seed, study]).worth["A"] for study in range(number)]
    return outcome([(one.value, one.low, one.high) for one in found], size, [])


def cells() -> Mapping[str, Callable[[int, int], Outcome]]:
    """Return what is tried, each with what it is called; every one takes the number of studies and a seed."""
    populations = {
        "no names, 3 a case": Population(200, skill=0.75),
        "4 annotators, skill sd 0.04": crossed(4, 0.04),
        "6 annotators, skill sd 0.12": crossed(6, 0.12),
        "panels of 3 of 12, skill sd 0.12": crossed(3, 0.12, pool=12),
        "panels of 5 of 30, skill sd 0.12": crossed(5, 0.12, pool=30),
    }

    def of(population: Population, difference: float) -> Callable[[int, int], Outcome]:
        return lambda number, seed: compared(population, number, seed, difference)

    return {
        **{f"{name}: worse by the margin": of(one, -MARGIN) for name, one in populations.items()},
        **{f"{name}: equal": of(one, 0.0) for name, one in populations.items()},
        **{f"AUROC, {j} annotators": partial(area, j) for j in (4, 5, 6, 8)},
        **{f"plurality of {k}": partial(worth, k) for k in (1, 3, 5)},
    }


def faults(name: str, found: Outcome, n_studies: float = math.inf) -> list[str]:
    """Tell which numbers are outside of what is allowed, by more than the slack."""
    least = LEAST_WORTH if name.startswith("plurality") else LEAST
    told = [(f"holds in {100 * found.holds:.1f} %", found.holds < least - slack(least, n_studies))]
    is_false = "worse" in name and found.told > MOST_FALSE + slack(MOST_FALSE, n_studies)
    told.append((f"called non-inferior in {100 * found.told:.1f} %", is_false))
    return [f"{name}: {text}" for text, is_wrong in told if is_wrong]
