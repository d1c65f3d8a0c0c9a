"""Simulated ratings: annotators who rate above or below others, and models that give a number per case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_count, check_most, check_seed, checked
from dissensus.core.errors import DissensusError
from dissensus.predictions.lists import Predictions
from dissensus.simulate.crossing import crossed, numbered
from dissensus.study.study import Study

# The largest standard deviation of simulated ratings: their squares are finite.
LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class SimulatedRatings:
    """Hold a simulated study of ratings, of which the truth is known.

    Attributes
    ----------
    ratings
        What the annotators said.
    truth : (n_cases,)
        What a large panel would say on average.
    predictions
        What the models said.
    shifts : (n_annotators,)
        How far above others each annotator rates.
    """

    ratings: Study
    truth: FloatArray
    predictions: Mapping[str, Predictions]
    shifts: FloatArray


@checked
def simulate_ratings(
    *,
    n_cases: int = 200,
    n_annotators: int = 8,
    opinions: int = 3,
    spread: float = 1.0,
    noise: float = 0.7,
    shift: float = 0.0,
    models: Mapping[str, float] | None = None,
    seed: int = 0,
) -> SimulatedRatings:
    """Simulate annotators who rate the same cases, and models that give a number per case.

    Parameters
    ----------
    n_cases, n_annotators, opinions
        How many cases and annotators there are, and how many of them rate each case.
    spread, noise, shift
        Standard deviations of the truth between cases, of a rating around the truth, and of shifts of annotators.
    models
        Name to the standard deviation of the errors of a model.
    seed
        Same seed, same study.

    Examples
    --------
    >>> study = simulate_ratings(n_cases=20, models={"A": 0.5}, seed=1)
    >>> study.ratings.n_ratings, study.predictions["A"].kind, study.truth.shape
    (60, 'numbers', (20,))
    """
    check_count(n_cases=n_cases, n_annotators=n_annotators, opinions=opinions)
    if opinions > n_annotators:
        raise DissensusError("there are too few annotators", expected=f"at least {opinions}", got=str(n_annotators))
    check_seed(seed)
    check_most("n_cases * n_annotators", 20 * n_cases * n_annotators)
    for name, size in {"spread": spread, "noise": noise, "shift": shift, **(models or {})}.items():
        if not 0 <= size <= LARGEST:
            raise DissensusError(f"{name} must be from 0 to {LARGEST:g}", got=repr(size))
    rng = np.random.default_rng((seed, 0))
    truth, shifts = spread * rng.normal(size=n_cases), shift * rng.normal(size=n_annotators)
    who = np.argsort(rng.random((n_cases, n_annotators)), axis=1)[:, :opinions]
    scores = truth[:, None] + shifts[who] + noise * rng.normal(size=who.shape)
    panel = crossed(np.full(n_cases, opinions), who.ravel(), numbered("annotator", n_annotators))
    said = {
        name: Predictions.from_numbers(truth + error * rng.normal(size=n_cases), case_names=panel.case_names, name=name)
        for name, error in (models or {}).items()
    }
    return SimulatedRatings(Study((), panel, scores=scores.ravel(), question="numbers"), truth, said, shifts)
