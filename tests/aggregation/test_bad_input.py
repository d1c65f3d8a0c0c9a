"""Bad input to aggregations: one clear error each, with what to do about it."""

import math
from typing import Any

import numpy as np
import pytest

from dissensus import (
    Aggregation,
    Annotations,
    AnnotatorBootstrap,
    Dirichlet,
    DissensusError,
    InverseRank,
    MajorityVote,
    NormalInverseGamma,
    NormalInverseGammaPrior,
    PlackettLuce,
    PlackettLuceML,
    ProbabilisticInverseRank,
    Ratings,
    plackett_luce_log_likelihood,
)

SAID = Annotations.from_rankings([[[["a"], ["b"]]], [[["c"]]]], ["a", "b", "c"])


@pytest.mark.parametrize("kind", [Dirichlet, ProbabilisticInverseRank, PlackettLuce, NormalInverseGamma])
@pytest.mark.parametrize("reliability", [0, -1.0, math.nan, math.inf, "3", True, None])
def test_reliability_must_be_positive_and_finite(kind: Any, reliability: object) -> None:
    with pytest.raises(DissensusError, match="reliability must be a positive, finite number") as caught:
        kind(reliability=reliability)
    assert "InverseRank" in caught.value.advice
    assert repr(reliability) in caught.value.got


@pytest.mark.parametrize("kind", [Dirichlet, PlackettLuce])
@pytest.mark.parametrize("alpha", [0, -0.5, math.nan, math.inf])
def test_alpha_must_be_positive(kind: Any, alpha: float) -> None:
    with pytest.raises(DissensusError, match="alpha must be a positive, finite number"):
        kind(alpha=alpha)


@pytest.mark.parametrize("alpha", [-1e-9, math.nan, math.inf])
def test_alpha_of_inverse_ranks_may_be_zero_but_not_less(alpha: float) -> None:
    ProbabilisticInverseRank(alpha=0)
    with pytest.raises(DissensusError, match="alpha must be a finite number, zero or more"):
        ProbabilisticInverseRank(alpha=alpha)


@pytest.mark.parametrize(
    ("build", "problem"),
    [
        (lambda: PlackettLuce(prior="flat"), "prior is not understood"),  # type: ignore[arg-type]
        (lambda: InverseRank(ties="split"), "ties is not understood"),  # type: ignore[arg-type]
        (lambda: PlackettLuce(chains=0), "chains must be a whole number, one or more"),
        (lambda: PlackettLuce(warmup=-1), "warmup must be a whole number, zero or more"),
        (lambda: AnnotatorBootstrap(size=0), "size must be a whole number, one or more"),
        (lambda: AnnotatorBootstrap(model=Dirichlet()), "the bootstrap needs a deterministic aggregation"),  # type: ignore[arg-type]
        (lambda: NormalInverseGamma(thresholds=()), "thresholds must be finite and increasing"),
        (lambda: NormalInverseGamma(thresholds=(1.0, 1.0)), "thresholds must be finite and increasing"),
        (lambda: NormalInverseGamma(thresholds=(2.0, 1.0)), "thresholds must be finite and increasing"),
        (lambda: NormalInverseGamma(thresholds=(math.nan,)), "thresholds must be finite and increasing"),
        (lambda: NormalInverseGamma(conditions=("one",)), "the number of conditions does not fit"),
        (lambda: NormalInverseGammaPrior(0.0, 0.0, 1.0, 1.0), "kappa must be a positive"),
        (lambda: Aggregation.family.find("plackett-lucy"), "unknown aggregation 'plackett-lucy'"),
        (lambda: MajorityVote.from_parameters({"reliability": 2.0}), "majority-vote has no reliability"),
    ],
)
def test_parameters_are_checked_when_they_are_given(build: Any, problem: str) -> None:
    with pytest.raises(DissensusError, match=problem):
        build()


def test_a_misspelt_aggregation_gets_a_suggestion() -> None:
    with pytest.raises(DissensusError) as caught:
        Aggregation.family.find("plackett-lucy")
    assert caught.value.advice == "did you mean 'plackett-luce'?"


@pytest.mark.parametrize("draws", [0, -3, 2.5, True])
def test_draws_must_be_counted(draws: Any) -> None:
    with pytest.raises(DissensusError, match="draws must be a whole number, one or more"):
        PlackettLuce(alpha=1.0, prior="observed").sample(SAID, draws=draws)


@pytest.mark.parametrize("seed", [-1, 2**64, 0.5, "7"])
def test_seeds_are_64_bits(seed: Any) -> None:
    with pytest.raises(DissensusError, match="seed must be a whole number"):
        PlackettLuce(alpha=1.0, prior="observed").sample(SAID, seed=seed)


def test_threads_and_precision_must_be_positive() -> None:
    with pytest.raises(DissensusError, match="threads must be a whole number"):
        PlackettLuce(alpha=1.0, prior="observed").sample(SAID, threads=0)
    with pytest.raises(DissensusError, match="precision must be a positive"):
        PlackettLuce(alpha=1.0, prior="observed").sample(SAID, precision=0)


def test_ratings_and_rankings_are_not_confused() -> None:
    ratings = Ratings.from_scores([[1.0, 2.0]])
    with pytest.raises(DissensusError, match="needs rankings") as caught:
        PlackettLuce().sample(ratings)
    assert "NormalInverseGamma" in caught.value.advice
    with pytest.raises(DissensusError, match="needs ratings") as caught:
        NormalInverseGamma().sample(SAID)
    assert "PlackettLuce" in caught.value.advice


def test_one_condition_is_not_enough() -> None:
    with pytest.raises(DissensusError, match="only one condition") as caught:
        InverseRank().sample(Annotations.from_rankings([[[["a"]]]]))
    assert "--conditions" in caught.value.advice


def test_a_study_without_any_opinion_is_refused() -> None:
    silent = Annotations.from_rankings([[], [[]]], ["a", "b"])
    with pytest.raises(DissensusError, match="no case has any opinion"):
        PlackettLuce().sample(silent)
    weightless = Annotations.from_rankings([[[["a"]]]], ["a", "b"], weights=[[0.0]])
    with pytest.raises(DissensusError, match="no case has any opinion"):
        PlackettLuce().sample(weightless)
    with pytest.raises(DissensusError, match="no case has any rating"):
        NormalInverseGamma().sample(Ratings.from_scores([[], []]))


def test_an_annotator_without_any_ranking_changes_nothing() -> None:
    rankings = [[[["a"], ["b"]], [["b"]]], [[["c"]]]]
    named = Annotations.from_rankings(rankings, ["a", "b", "c"], annotator_names=[["x", "y"], ["x"]])
    without = named.select([1])
    assert "y" in without.annotator_names
    alone = Annotations.from_rankings(rankings[1:], ["a", "b", "c"], case_names=["1"])
    drawn = PlackettLuce(alpha=1.0, prior="observed").sample(without, draws=10).dense()
    np.testing.assert_array_equal(drawn, PlackettLuce(alpha=1.0, prior="observed").sample(alone, draws=10).dense())


def test_a_prior_cannot_be_estimated_from_ratings_that_always_agree() -> None:
    for scores in ([[1.0], [2.0]], [[1.0, 1.0], [2.0, 2.0, 2.0]]):
        with pytest.raises(DissensusError, match="the prior cannot be estimated") as caught:
            NormalInverseGamma().sample(Ratings.from_scores(scores))
        assert "NormalInverseGammaPrior" in caught.value.advice


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ([1.0, 2.0], "wrong shape"),
        (np.ones((3, 3)), "wrong shape"),
        ([1.0, 0.0, 1.0], "positive and finite"),
        ([1.0, np.nan, 1.0], "positive and finite"),
        ([1.0, -1.0, 1.0], "positive and finite"),
        ([1.0, np.inf, 1.0], "positive and finite"),
    ],
)
def test_weights_of_the_likelihood_are_checked(weights: Any, problem: str) -> None:
    with pytest.raises(DissensusError, match=problem):
        plackett_luce_log_likelihood(SAID, weights)


def test_unknown_cases_are_named() -> None:
    with pytest.raises(DissensusError, match="no draws of case 'zero'"):
        PlackettLuceML().sample(SAID).select(["zero"])
