"""Simulated studies: differential diagnoses by annotators who see the truth through a race."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dissensus.annotations.rankings import Annotations
from dissensus.errors import DissensusError
from dissensus.typing import FloatArray

ADJECTIVES = ("Acute", "Chronic", "Linear", "Nodular", "Solar", "Cold", "Dry", "Blue", "Mixed", "Late")
NOUNS = ("macule", "papule", "plaque", "patch", "crust", "nodule", "scale", "wheal", "erosion", "cyst")
ANNOTATORS_PER_CASE = (0.03, 0.10, 0.17, 0.14, 0.12, 0.22, 0.11, 0.06, 0.03, 0.02)
CONDITIONS_PER_RANKING = (0.54, 0.25, 0.14, 0.05, 0.015, 0.005)
TIE_PER_STEP = 0.20
CONFUSABLE = 6


@dataclass(frozen=True)
class Study:
    """Simulated annotations beside the plausibilities they were drawn from.

    Attributes
    ----------
    annotations
        What the annotators said.
    theta : (n_cases, K)
        The true plausibilities of each case.
    """

    annotations: Annotations
    theta: FloatArray


def condition_names(count: int) -> tuple[str, ...]:
    """Invent names of conditions.

    >>> condition_names(2)
    ('Acute macule', 'Chronic macule')
    """
    names = [f"{adjective} {noun}" for noun in NOUNS for adjective in ADJECTIVES]
    rounds = -(-count // len(names))
    every = [name if not turn else f"{name} {turn + 1}" for turn in range(rounds) for name in names]
    return tuple(every[:count])


def simulate_study(*, n_cases: int = 200, n_conditions: int = 60, n_annotators: int = 30, seed: int = 0) -> Study:
    """Simulate a study: long-tailed conditions, 1 to 10 annotators a case, partial rankings with ties.

    Each annotator draws an order of the conditions by a race with the true plausibilities (Plackett-Luce),
    writes down its first few, and ties some neighbours. About half of the rankings hold one condition and
    about one in six holds a tie, as in published differential diagnoses of skin conditions.

    Parameters
    ----------
    n_cases, n_conditions, n_annotators
        Size of the study; at least 1 case, 2 conditions and 10 annotators.
    seed
        The same seed gives the same study, and case ``i`` does not depend on the number of cases.

    Examples
    --------
    >>> simulate_study(n_cases=3).annotations.n_cases
    3
    """
    if n_cases < 1 or n_conditions < 2 or n_annotators < 10:
        raise DissensusError(
            "a simulated study needs at least 1 case, 2 conditions and 10 annotators",
            got=f"{n_cases} cases, {n_conditions} conditions, {n_annotators} annotators",
        )
    doctors = [f"Dr {number + 1}" for number in range(n_annotators)]
    streams = [np.random.default_rng((seed, case)) for case in range(n_cases)]
    theta = np.stack([_truth(rng, n_conditions) for rng in streams])
    chosen = [_annotators(rng, n_annotators) for rng in streams]
    rankings = [[_ranking(rng, truth) for _ in who] for rng, truth, who in zip(streams, theta, chosen, strict=True)]
    annotations = Annotations.from_rankings(
        rankings,
        condition_names(n_conditions),
        case_names=[f"case {case + 1}" for case in range(n_cases)],
        annotator_names=[[doctors[code] for code in who] for who in chosen],
    )
    return Study(annotations, theta)


def _truth(rng: np.random.Generator, n_conditions: int) -> FloatArray:
    """Draw plausibilities: a leading condition from a long tail, a few it is confused with, a trace of all."""
    frequency = 1 / np.arange(1, n_conditions + 1)
    likely = rng.choice(n_conditions, size=min(CONFUSABLE, n_conditions), replace=False, p=frequency / frequency.sum())
    theta = np.full(n_conditions, 0.02 / n_conditions)
    clarity = rng.choice([0.15, 0.5, 1.5])
    theta[likely] += 0.98 * rng.dirichlet(clarity / np.arange(1, len(likely) + 1) + 0.02)
    return np.asarray(theta / theta.sum(), dtype=np.float64)


def _annotators(rng: np.random.Generator, n_annotators: int) -> list[int]:
    count = 1 + int(rng.choice(len(ANNOTATORS_PER_CASE), p=ANNOTATORS_PER_CASE))
    return [int(code) for code in rng.choice(n_annotators, size=count, replace=False)]


def _ranking(rng: np.random.Generator, theta: FloatArray) -> list[list[int]]:
    """Race the conditions, keep the first few, and tie some neighbours."""
    order = np.argsort(rng.exponential(size=len(theta)) / theta)
    length = 1 + int(rng.choice(len(CONDITIONS_PER_RANKING), p=CONDITIONS_PER_RANKING))
    blocks: list[list[int]] = []
    for code in order[:length]:
        if blocks and rng.random() < TIE_PER_STEP:
            blocks[-1].append(int(code))
        else:
            blocks.append([int(code)])
    return blocks
