"""How many experts a plurality is worth: published values, and a naive twin that lists all panels."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from dissensus.evaluation.expert_comparison.survey_equivalence import Panels
from dissensus.kernels.pluralities import plurality_agreement
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


def test_what_a_panel_loses_without_an_opinion_is_what_listing_says() -> None:
    """For labels, tied first choices (seeded orders, so within their error) and ratings."""
    labels = [["a", "a", "b", "c", "a"], ["b", "b", "a"], ["c", "c"]]
    study = ds.Study.from_rankings([[[[one]] for one in row] for row in labels] * 10, ["a", "b", "c"])
    tied = ds.Study.from_rankings([[[["a", "b"]], [["a"]], [["a"]], [["c"]], [["b"]]]] * 10, ["a", "b", "c"])
    scores = [[1.0, 2.0, 4.0, 4.5]] * 10
    for k in (1, 2, 3):
        found, place = Panels(study).moves(k), 0
        for row in labels:
            size = min(k, len(row) - 2)
            for left in range(len(row)):
                counts = [[some.count(one) for one in "abc"] for some in (row, row[:left] + row[left + 1 :])]
                expected = listed(counts[0], size) - listed(counts[1], size) if size else 0.0
                assert found[place] == pytest.approx(expected, abs=1e-12)
                place += 1
        moved = Panels(tied).moves(k).reshape(10, 5).mean(axis=0)
        assert moved[1] > 0 > moved[3]
        rated = Panels(ds.Study.from_scores(scores)).moves(k)[:4]
        without = [np.var(np.delete(scores[0], left), ddof=1) for left in range(4)]
        assert rated == pytest.approx(-(1 + 1 / k) * (np.var(scores[0], ddof=1) - np.array(without)), abs=1e-12)


def test_tied_first_choices_and_many_votes_are_sampled_opinion_by_opinion() -> None:
    """Agreement of one with another is known; a million votes take no longer than five."""
    tied = ds.Study.from_rankings([[[["a", "b"]], [["a"]], [["a"]], [["c"]], [["b"]]]] * 10, ["a", "b", "c"])
    shares = np.array([[0.5, 0.5, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]])
    expected = (shares.sum(axis=0) ** 2 - (shares**2).sum(axis=0)).sum() / 20
    assert Panels(tied).agreement(1).mean() == pytest.approx(expected, abs=0.02)
    votes = ds.Study.from_counts([[600_000, 300_000, 100_000]] * 10, ["a", "b", "c"])
    assert Panels(votes).agreement(1) == pytest.approx(0.46, abs=1e-5)
    assert Panels(votes).agreement(50) == pytest.approx(0.6, abs=0.01)


@needs_shared
def test_values_of_chaosnli_are_reproduced() -> None:
    counts = pl.read_csv(SHARED / "chaosnli_snli" / "counts.csv")[:, 1:].to_numpy()
    found = [plurality_agreement(counts, k).mean() for k in range(1, 6)]
    assert found == pytest.approx([0.65798, 0.65798, 0.69929, 0.70367, 0.71727], abs=1e-5)
