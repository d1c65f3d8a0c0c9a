"""Bad input to aggregations: one clear error each, with what to do about it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import (
    AnnotatorBootstrap,
    Dirichlet,
    InverseRank,
    MajorityVote,
    NormalInverseGamma,
    NormalInverseGammaPrior,
    OrderedProbit,
    PlackettLuce,
    PlackettLuceML,
    ProbabilisticInverseRank,
    plackett_luce_log_likelihood,
)
from dissensus.plugins import Aggregation

SAID = ds.Study.from_rankings([[[["a"], ["b"]]], [[["c"]]]], ["a", "b", "c"])
UNBOUND = (0, -0.5, math.nan, math.inf)


RACE = PlackettLuce(alpha=1.0, prior="observed")
POSITIVE, COUNTED, THRESHOLDS = (
    "must be a positive, finite number",
    "must be a whole number",
    "must be finite and increasing",
)
BAD: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    *((kind, {"alpha": alpha}, f"alpha {POSITIVE}") for kind in (Dirichlet, PlackettLuce) for alpha in UNBOUND),
    *(
        (ProbabilisticInverseRank, {"alpha": alpha}, "alpha must be a finite number, zero or more")
        for alpha in UNBOUND[1:]
    ),
    (PlackettLuce, {"prior": "flat"}, "prior is not understood"),
    (InverseRank, {"ties": "split"}, "ties is not understood"),
    *((kind, {"chains": 0}, f"chains {COUNTED}, one or more") for kind in (PlackettLuce, OrderedProbit)),
    *((kind, {"warmup": -1}, f"warmup {COUNTED}, zero or more") for kind in (PlackettLuce, OrderedProbit)),
    (OrderedProbit, {"warmup": True}, f"warmup {COUNTED}, zero or more"),
    (AnnotatorBootstrap, {"size": 0}, f"size {COUNTED}, one or more"),
    (AnnotatorBootstrap, {"model": Dirichlet()}, "the bootstrap needs a deterministic aggregation"),
    *((NormalInverseGamma, {"thresholds": cuts}, THRESHOLDS) for cuts in ((), (1.0, 1.0), (2.0, 1.0), (math.nan,))),
    (NormalInverseGamma, {"conditions": ("one",)}, "the number of conditions does not fit"),
    (NormalInverseGammaPrior, {"mu": 0.0, "kappa": 0.0, "a": 1.0, "b": 1.0}, "kappa must be a positive"),
    (
        Aggregation.family.find,
        {"name": "plackett-lucy"},
        r"unknown aggregation 'plackett-lucy'(.|\n)*did you mean 'plackett-luce'?",
    ),
    (MajorityVote.from_parameters, {"parameters": {"reliability": 2.0}}, "majority-vote has no reliability"),
    *(
        (RACE.sample, {"annotations": SAID, "draws": draws}, f"draws {COUNTED}, one or more")
        for draws in (0, -3, 2.5, True)
    ),
    *((RACE.sample, {"annotations": SAID, "seed": seed}, f"seed {COUNTED}") for seed in (-1, 2**64, 0.5, "7")),
    (RACE.sample, {"annotations": SAID, "threads": 0}, f"threads {COUNTED}"),
    (RACE.sample, {"annotations": SAID, "precision": 0}, "precision must be a positive"),
    *(
        (plackett_luce_log_likelihood, {"annotations": SAID, "weights": one}, "wrong shape")
        for one in ([1.0, 2.0], np.ones((3, 3)))
    ),
    *(
        (plackett_luce_log_likelihood, {"annotations": SAID, "weights": [1.0, one, 1.0]}, "positive and finite")
        for one in (0.0, np.nan, -1.0, np.inf)
    ),
    (PlackettLuceML().sample(SAID).select, {"cases": ["zero"]}, "no draws of case 'zero'"),
]


@pytest.mark.parametrize(("function", "given", "problem"), BAD)
def test_what_is_given_is_checked(function: Callable[..., Any], given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ds.DissensusError, match=problem):
        function(**given)


@pytest.mark.parametrize("kind", [Dirichlet, ProbabilisticInverseRank, PlackettLuce, NormalInverseGamma])
@pytest.mark.parametrize("reliability", [0, -1.0, math.nan, math.inf, "3", True, None])
def test_reliability_must_be_positive_and_finite(kind: Any, reliability: object) -> None:
    with pytest.raises(ds.DissensusError, match=f"reliability {POSITIVE}") as caught:
        kind(reliability=reliability)
    assert "InverseRank" in caught.value.advice
    assert repr(reliability) in caught.value.got


def test_ratings_and_rankings_are_not_confused() -> None:
    ratings = ds.Study.from_scores([[1.0, 2.0]])
    with pytest.raises(ds.DissensusError, match="needs rankings") as caught:
        PlackettLuce().sample(ratings)
    assert "NormalInverseGamma" in caught.value.advice
    with pytest.raises(ds.DissensusError, match="needs ratings") as caught:
        NormalInverseGamma().sample(SAID)
    assert "PlackettLuce" in caught.value.advice


def test_one_condition_is_not_enough() -> None:
    with pytest.raises(ds.DissensusError, match="only one condition") as caught:
        InverseRank().sample(ds.Study.from_rankings([[[["a"]]]]))
    assert "--conditions" in caught.value.advice


def test_a_study_without_any_opinion_is_refused() -> None:
    silent = ds.Study.from_rankings([[], [[]]], ["a", "b"])
    with pytest.raises(ds.DissensusError, match="no case has any opinion"):
        PlackettLuce().sample(silent)
    weightless = ds.Study.from_rankings([[[["a"]]]], ["a", "b"], weights=[[0.0]])
    with pytest.raises(ds.DissensusError, match="no case has any opinion"):
        PlackettLuce().sample(weightless)
    with pytest.raises(ds.DissensusError, match="no case has any rating"):
        NormalInverseGamma().sample(ds.Study.from_scores([[], []]))


def test_a_prior_cannot_be_estimated_from_ratings_that_always_agree() -> None:
    for scores in ([[1.0], [2.0]], [[1.0, 1.0], [2.0, 2.0, 2.0]]):
        with pytest.raises(ds.DissensusError, match="the prior cannot be estimated") as caught:
            NormalInverseGamma().sample(ds.Study.from_scores(scores))
        assert "NormalInverseGammaPrior" in caught.value.advice
