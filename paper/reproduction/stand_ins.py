"""Four simulated models that stand in for published ones whose predictions are not at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.point_estimates import InverseRank
from dissensus.core.arrays import FloatArray
from dissensus.study.study import Study
from paper.reproduction.printed_experiment import MEDIUM_PL, MEDIUM_PRIRN

QUALITIES: Mapping[str, tuple[float, float]] = {
    "stand-in A": (1.6, 60.0),
    "stand-in B": (1.6, 4.0),
    "stand-in C": (1.9, 150.0),
    "stand-in D": (2.2, 12.0),
}
"""How seldom each stand-in sees what a case shows (larger is more seldom), and how sharply it sees it."""

PREVALENT = 25.0


def by_inverse_ranks(sharp: float) -> Aggregation:
    """Return probabilistic inverse ranks that see a case as sharply as told."""
    return replace(MEDIUM_PRIRN, reliability=sharp)


def by_races(sharp: float) -> Aggregation:
    """Return Plackett-Luce that sees a case as sharply as told: a tenth of the reliability does about the same."""
    return replace(MEDIUM_PL, reliability=max(1.0, sharp / 10))


def stand_ins(
    annotations: Study, *, seed: int = 0, seen_by: Callable[[float], Aggregation] = by_inverse_ranks
) -> dict[str, FloatArray]:
    """Simulate four models of different quality from the annotations themselves.

    Each mixes one draw from the case's own plausibilities with noise that favours frequent conditions. They stand in
    for models whose predictions are not at hand; nothing about real models can be learnt from them.

    Parameters
    ----------
    annotations
        What the annotators said.
    seed
        The same seed gives the same models.
    seen_by
        Turns how sharply a model sees into the aggregation whose draws it sees.

    Returns
    -------
    dict
        Name to scores (n_cases, K), in the order of the annotations; cases without opinions have noise only.
    """
    shape = (annotations.n_cases, annotations.n_conditions)
    point = InverseRank("each").sample(annotations)
    places = [annotations.case_names.index(name) for name in point.case_names] if point.excluded else slice(None)
    prevalence = point.mean().mean(axis=0) + 1e-4
    found = {}
    for number, (name, (seldom, sharp)) in enumerate(QUALITIES.items()):
        rng = np.random.default_rng((seed, number))
        seen = np.zeros(shape)
        # a seed of their own: models must not share random numbers with the draws that they are evaluated against
        own = int(rng.integers(1 << 32, 1 << 40))
        seen[places] = seen_by(sharp).sample(annotations, draws=1, seed=own).dense()[:, 0]
        noise = rng.gamma(PREVALENT * prevalence / prevalence.sum(), size=shape) + 1e-9
        weight = rng.random((shape[0], 1)) ** seldom
        found[name] = weight * seen + (1 - weight) * noise / noise.sum(axis=1, keepdims=True)
    return found
