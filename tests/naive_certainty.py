"""Slow, obvious twins of certainty, on dense draws: every tie-break and every swap of unmentioned ones written out.

Small studies to compare them on are at the end.
"""

from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
from hypothesis import strategies as st

import dissensus as ds
from dissensus.aggregations import (
    AnnotatorBootstrap,
    Dirichlet,
    InverseRank,
    MajorityVote,
    PlackettLuce,
    PlackettLuceML,
    ProbabilisticInverseRank,
)
from dissensus.core.arrays import FloatArray
from dissensus.plugins import Aggregation
from strategies import rankings

AGGREGATIONS: list[Aggregation] = [
    MajorityVote(),
    InverseRank(),
    InverseRank(ties="each"),
    PlackettLuceML(),
    AnnotatorBootstrap(),
    AnnotatorBootstrap(MajorityVote()),
    AnnotatorBootstrap(PlackettLuceML()),
    PlackettLuce(reliability=1, alpha=1.0, prior="observed"),
    PlackettLuce(reliability=0.5, alpha=0.2, prior="symmetric"),
    ProbabilisticInverseRank(reliability=10),
    ProbabilisticInverseRank(reliability=0.01),
    ProbabilisticInverseRank(reliability=5, alpha=0.3),
    Dirichlet(reliability=1, alpha=1),
]
"""Aggregations that draw in different ways."""

Outcome = tuple[frozenset[int], int]
"""Mentioned members, and how many unmentioned ones complete the set."""


def compared(plausibilities: ds.Plausibilities) -> FloatArray:
    """Return what conditions of dense draws are compared by, shape (n_cases, n_draws, K)."""
    return np.concatenate([replace(batch, values=batch.compared).dense() for batch in plausibilities])


def top_sets(theta: FloatArray, top: int) -> dict[frozenset[int], float]:
    """Return the probability of each top set of one draw under random tie-breaking."""
    last = sorted(theta, reverse=True)[top - 1]
    sure = [k for k, value in enumerate(theta) if value > last]
    tied = [k for k, value in enumerate(theta) if value == last]
    choices = list(combinations(tied, top - len(sure)))
    return {frozenset([*sure, *choice]): 1 / len(choices) for choice in choices}


def pooled_chances(theta: FloatArray, support: set[int], top: int) -> dict[Outcome, float]:
    """Return the probability of each outcome of one draw when all unmentioned conditions count as one."""
    result: dict[Outcome, float] = defaultdict(float)
    for members, probability in top_sets(theta, top).items():
        result[members & support, len(members - support)] += probability
    return result


def set_chances(theta: FloatArray, support: set[int], top: int) -> dict[frozenset[int], float]:
    """Return the probability of each set of one draw when the unmentioned conditions are swapped at random."""
    others = sorted(set(range(len(theta))) - support)
    result: dict[frozenset[int], float] = defaultdict(float)
    for (members, n_others), probability in pooled_chances(theta, support, top).items():
        for choice in combinations(others, n_others):
            result[members | set(choice)] += probability / comb(len(others), n_others)
    return result


def certainty(draws: FloatArray, support: set[int], top: int, *, pool: bool) -> float:
    """Return the certainty of a case with draws (n_draws, K)."""
    total: dict[object, float] = defaultdict(float)
    for theta in draws:
        chances = pooled_chances(theta, support, top) if pool else set_chances(theta, support, top)
        for outcome, probability in chances.items():
            total[outcome] += probability
    return max(total.values()) / len(draws)


def certainty_of(draws: FloatArray, support: set[int], members: set[int], *, pool: bool) -> float:
    """Return the certainty of a given set of a case with draws (n_draws, K)."""
    total = 0.0
    for theta in draws:
        if pool:
            outcome = frozenset(members & support), len(members - support)
            total += pooled_chances(theta, support, len(members)).get(outcome, 0.0)
        else:
            total += set_chances(theta, support, len(members)).get(frozenset(members), 0.0)
    return total / len(draws)


def place_chances(theta: FloatArray, rank: int) -> dict[int, float]:
    """Return the probability that each condition has a place: is among so many first ones, but not among one less."""
    result: dict[int, float] = defaultdict(float)
    for sign, top in ((1.0, rank), (-1.0, rank - 1)):
        for members, probability in top_sets(theta, top).items() if top else ():
            for k in members:
                result[k] += sign * probability
    return result


def rank_shares(draws: FloatArray, support: set[int], rank: int) -> dict[int | None, float]:
    """Return how often each mentioned condition of a case has a place, and (None) all the others together."""
    total: dict[int | None, float] = defaultdict(float)
    for theta in draws:
        for k, probability in place_chances(theta, rank).items():
            total[k if k in support else None] += probability / len(draws)
    return total


def rank_certainty(draws: FloatArray, support: set[int], rank: int, *, pool: bool) -> float:
    """Return the certainty of a place of a case with draws (n_draws, K)."""
    shares = rank_shares(draws, support, rank)
    n_others = 1 if pool else max(1, draws.shape[1] - len(support))
    return max(share / n_others if k is None else share for k, share in shares.items())


def category_certainty(draws: FloatArray, support: set[int], codes: list[int], *, via: str) -> float:
    """Return the certainty of the category of a case with draws (n_draws, K)."""
    total: dict[int, float] = defaultdict(float)
    others = [codes[k] for k in range(len(codes)) if k not in support]
    for theta in draws:
        if via == "mass":
            masses = category_masses(theta, support, codes)
            best = [c for c, mass in masses.items() if mass >= max(masses.values()) - 1e-12]
            for code in best:
                total[code] += 1 / len(best)
            continue
        for (members, _), probability in pooled_chances(theta, support, 1).items():
            where = [codes[k] for k in members] or others
            for code in where:
                total[code] += probability / len(where)
    return max(total.values()) / len(draws)


def category_masses(theta: FloatArray, support: set[int], codes: list[int]) -> dict[int, float]:
    """Add up the plausibilities of each category; the unmentioned conditions share theirs equally."""
    others = [k for k in range(len(theta)) if k not in support]
    even = np.array(theta)
    if others:
        even[others] = even[others].sum() / len(others)
    return {code: sum(even[k] for k in range(len(codes)) if codes[k] == code) for code in set(codes)}


def mean_risk(draws: FloatArray, support: set[int], levels: list[float]) -> float:
    """Average the levels of conditions by their plausibilities, over draws; unmentioned ones share theirs equally."""
    others = [k for k in range(len(levels)) if k not in support]
    mean = float(np.mean([levels[k] for k in others])) if others else 0.0
    known = [sum(theta[k] * levels[k] for k in support) for theta in draws]
    return float(np.mean([own + sum(theta[k] for k in others) * mean for own, theta in zip(known, draws, strict=True)]))


def risk_range(draws: FloatArray, levels: list[float]) -> tuple[float, float]:
    """Return the least and greatest mean level over dense draws, in which unmentioned conditions are split."""
    risks = [sum(share * level for share, level in zip(theta, levels, strict=True)) for theta in draws.tolist()]
    return min(risks), max(risks)


def supports(plausibilities: ds.Plausibilities) -> list[set[int]]:
    """Return the mentioned conditions of each case."""
    offsets = plausibilities.support_offsets
    return [set(plausibilities.support[offsets[i] : offsets[i + 1]].tolist()) for i in range(plausibilities.n_cases)]


@st.composite
def small_studies(draw: st.DrawFn) -> ds.Study:
    """Draw a few cases with rankings of a few conditions, none of them empty."""
    conditions = [f"k{i}" for i in range(draw(st.integers(2, 6)))]
    ranking = rankings(len(conditions)).filter(bool)
    nested = draw(st.lists(st.lists(ranking, min_size=1, max_size=4), min_size=1, max_size=3))
    return ds.Study.from_rankings(nested, conditions)
