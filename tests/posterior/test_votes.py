"""Aggregations of votes give what they give for the same study with every vote written out."""

from dataclasses import replace

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import (
    AnnotatorBootstrap,
    Dirichlet,
    InverseRank,
    MajorityVote,
    NormalInverseGamma,
    PlackettLuce,
    PlackettLuceML,
    ProbabilisticInverseRank,
    plackett_luce_log_likelihood,
)
from dissensus.kernels.resamples import MANY, resample_counts
from dissensus.plugins import Aggregation
from voted_studies import voted_study, written_out, written_out_ratings

AGGREGATIONS = (
    MajorityVote(),
    InverseRank(),
    InverseRank(ties="each"),
    Dirichlet(reliability=0.5),
    PlackettLuce(),
    PlackettLuce(reliability=2.5, prior="symmetric"),
    ProbabilisticInverseRank(reliability=10),
    AnnotatorBootstrap(),
    AnnotatorBootstrap(MajorityVote(), size=3),
)


@pytest.mark.parametrize("aggregation", AGGREGATIONS, ids=repr)
@pytest.mark.parametrize("unranked", ["below", "unobserved"])
def test_the_draws_of_votes_are_the_same_bits(aggregation: Aggregation, unranked: str) -> None:
    for seed in range(2):
        said = voted_study(seed).with_unranked(unranked)  # type: ignore[arg-type]
        drawn, expected = (aggregation.sample(study, draws=40) for study in (said, written_out(said)))
        assert drawn.case_names == expected.case_names
        assert drawn.excluded == expected.excluded
        np.testing.assert_array_equal(drawn.dense(), expected.dense())


@pytest.mark.parametrize("aggregation", [PlackettLuceML(), AnnotatorBootstrap(PlackettLuceML())], ids=repr)
def test_the_likelihood_of_votes_and_its_maximum_are_the_same(aggregation: Aggregation) -> None:
    for seed in range(5):
        said = voted_study(seed)
        drawn, expected = (aggregation.sample(study, draws=20).dense() for study in (said, written_out(said)))
        np.testing.assert_allclose(drawn, expected, atol=1e-8)
        heights = [plackett_luce_log_likelihood(study, np.arange(1.0, 6.0)) for study in (said, written_out(said))]
        np.testing.assert_allclose(heights[0], heights[1], rtol=1e-12)


def test_ratings_with_votes_have_the_same_posterior() -> None:
    votes = np.random.default_rng(0).integers(0, 9, (12, 5))
    said = ds.Study.from_counts(votes, levels=[-2, -1, 0, 1, 2])
    drawn, expected = (NormalInverseGamma().sample(study, draws=50) for study in (said, written_out_ratings(said)))
    np.testing.assert_allclose(drawn.dense(), expected.dense(), rtol=1e-9)


def test_resamples_of_many_annotators_have_the_moments_of_a_multinomial() -> None:
    """Means within 5 standard errors, a false alarm in a million; variances within 10 %, about 5 standard errors."""
    votes, draws = np.array([700, 200, 2, 98]), 5000
    size = votes.sum()
    assert size > MANY - 1
    counts = resample_counts(np.array([0, 4]), votes, np.array([3], dtype=np.uint64), draws, MANY + 1).reshape(draws, 4)
    shares = votes / size
    assert (counts.sum(axis=1) == MANY + 1).all()
    deviations = np.sqrt((MANY + 1) * shares * (1 - shares))
    assert (np.abs(counts.mean(axis=0) - (MANY + 1) * shares) < 5 * deviations / np.sqrt(draws)).all()
    np.testing.assert_allclose(counts.std(axis=0), deviations, rtol=0.05)
    expected = -(MANY + 1) * shares[0] * shares[1]
    assert np.cov(counts[:, 0], counts[:, 1])[0, 1] == pytest.approx(expected, rel=0.15)


def test_votes_beyond_what_the_sampler_can_count_are_refused_with_the_range() -> None:
    said = ds.Study.from_rankings([[[["a", "b"]], [["b"]]]], ["a", "b", "c"])
    said = replace(said, panel=replace(said.panel, votes=np.array([2**52, 1])))
    PlackettLuce(reliability=800.0).sample(said, draws=5).dense()
    with pytest.raises(ds.DissensusError, match=r"reliability x weight x votes of a case up to 4e\+18"):
        PlackettLuce(reliability=900.0).sample(said, draws=5)


@pytest.mark.parametrize("aggregation", [*AGGREGATIONS, PlackettLuceML()], ids=repr)
def test_a_thousand_million_votes_are_drawn(aggregation: Aggregation) -> None:
    said = ds.Study.from_counts([[10**9, 3 * 10**9, 0]], ["a", "b", "c"])
    if isinstance(aggregation, AnnotatorBootstrap):
        aggregation = AnnotatorBootstrap(aggregation.model)
    drawn = aggregation.sample(said, draws=20).mean()
    assert np.isfinite(drawn).all()
    assert drawn.sum() == pytest.approx(1)
