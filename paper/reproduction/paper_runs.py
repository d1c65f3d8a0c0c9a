"""The aggregations that the paper runs: Plackett-Luce and probabilistic inverse ranks, at five reliabilities each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.dirichlet import ProbabilisticInverseRank
from dissensus.aggregations.plackett_luce import PlackettLuce
from dissensus.aggregations.point_estimates import PlackettLuceML
from paper.reproduction.printed_experiment import INVERSES, MEDIUM_PL, MEDIUM_PRIRN, RACES
from paper.reproduction.rows import AtLeast

PaperRun: TypeAlias = PlackettLuce | ProbabilisticInverseRank

SWEEP: tuple[PaperRun, ...] = (*RACES, *INVERSES)
MEDIUM: tuple[PaperRun, ...] = (MEDIUM_PL, MEDIUM_PRIRN)

FAR_RELIABILITY = 10_000
"""As good as infinite: thousands of repetitions of every opinion."""

FAR: Mapping[str, Aggregation] = {
    "PL": replace(MEDIUM_PL, reliability=FAR_RELIABILITY),
    "PrIRN": replace(MEDIUM_PRIRN, reliability=FAR_RELIABILITY),
}
POINTS: Mapping[str, Aggregation] = {"PL": PlackettLuceML(), "PrIRN": MEDIUM_PRIRN.limit}
"""The deterministic aggregations that the runs tend to: maximum likelihood (ML) and inverse ranks (IRN)."""

POINT_NAMES = {"PL": "ML", "PrIRN": "IRN"}
SHORT = {MEDIUM_PL.id: "PL", MEDIUM_PRIRN.id: "PrIRN"}
"""What the paper calls them."""

GENERALLY = 0.75
"""The share of comparisons that is taken as "generally" or "typically"."""

FAR_BELOW = 0.9
"""Certainties and accuracies below this are taken as low, or well below one."""

CLEAR = 5
"""How many Monte Carlo errors a difference has to have to be more than chance."""


def clearly(limit: float, error: float, words: str) -> AtLeast:
    """Claim a difference of at least a limit that Monte Carlo errors cannot bring about.

    Examples
    --------
    >>> clearly(0.05, 0.001, "significantly lower").value, clearly(0.05, 0.02, "significantly lower").value
    (0.05, 0.1)
    """
    return AtLeast(max(limit, CLEAR * error), words)
