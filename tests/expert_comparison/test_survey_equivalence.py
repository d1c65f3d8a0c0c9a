"""How many experts a plurality is worth: published values, and a naive twin that lists all panels."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from dissensus.evaluation.expert_comparison.survey_equivalence import plurality_agreement
from shared_data import SHARED, needs_shared


def listed(counts: list[int], k: int) -> float:
    """List every panel of k and everybody who is left."""
    votes = np.repeat(np.arange(len(counts)), counts)
    found = []
    for panel in combinations(range(len(votes)), k):
        tally = np.bincount(votes[list(panel)], minlength=len(counts))
        top = np.flatnonzero(tally == tally.max())
        found += [float(votes[one] in top) / len(top) for one in range(len(votes)) if one not in panel]
    return float(np.mean(found))


def test_counting_equals_listing() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        counts = rng.integers(0, 4, rng.integers(1, 6))
        if counts.sum() > 1:
            k = int(rng.integers(1, counts.sum()))
            assert plurality_agreement(counts[None], k)[0] == pytest.approx(listed(counts.tolist(), k), abs=1e-12)


def test_two_are_worth_one_and_large_panels_stay_finite() -> None:
    counts = np.array([[700, 200, 100], [400, 400, 200], [1000, 0, 0]])
    one, two, many = (plurality_agreement(counts, k) for k in (1, 2, 200))
    assert one == pytest.approx(two, abs=1e-12)
    assert many == pytest.approx([0.7, 0.4, 1.0], abs=0.01)


@needs_shared
def test_values_of_chaosnli_are_reproduced() -> None:
    counts = pl.read_csv(SHARED / "chaosnli_snli" / "counts.csv")[:, 1:].to_numpy()
    found = [plurality_agreement(counts, k).mean() for k in range(1, 6)]
    assert found == pytest.approx([0.65798, 0.65798, 0.69929, 0.70367, 0.71727], abs=1e-5)
