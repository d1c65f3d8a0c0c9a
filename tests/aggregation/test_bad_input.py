"""Bad input to aggregations: one clear error each, with what to do about it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import (
    AnnotatorBootstrap,
    DawidSkene,
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
from refusals import refused

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
    (PlackettLuce, {"alpha": "fitted", "prior": "observed"}, "cannot be fitted under the prior 'observed'"),
    (PlackettLuce, {"alpha": 2.0, "prior": "informed"}, "alpha cannot be given"),
    (Dirichlet, {"alpha": "guessed"}, "alpha is not understood"),
    (Dirichlet, {"learned": 3}, "learned is not of the right kind"),
    (PlackettLuce, {"reliability": 101, "tempered": True}, "reliability up to 100"),
    (PlackettLuce, {"reliability": 2, "tempered": "yes"}, "true or false"),
    *(
        (PlackettLuce, {"tempered": True, "prior": prior}, "only there all unmentioned conditions are one runner")
        for prior in ("frequency", "symmetric", "informed")
    ),
    *((DawidSkene, {"gold": gold}, "gold") for gold in ("x", [("x",)], [("x", "a"), ("x", "b")], {"x": 1}, None, [1])),
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
    refused(problem, function, **given)


@pytest.mark.parametrize("kind", [Dirichlet, ProbabilisticInverseRank, PlackettLuce, NormalInverseGamma])
@pytest.mark.parametrize("reliability", [0, -1.0, math.nan, math.inf, "3", True, None])
def test_reliability_must_be_positive_and_finite(kind: Any, reliability: object) -> None:
    caught = refused(f"reliability {POSITIVE}", kind, reliability=reliability)
    assert "InverseRank" in caught.advice
    assert repr(reliability) in caught.got


SILENT = ds.Study.from_rankings([[], [[]]], ["a", "b"])
WEIGHTLESS = ds.Study.from_rankings([[[["a"]]]], ["a", "b"], weights=[[0.0]])


@pytest.mark.parametrize(
    ("spec", "study", "problem", "advice"),
    [
        (PlackettLuce(), ds.Study.from_scores([[1.0, 2.0]]), "needs rankings", "NormalInverseGamma"),
        (NormalInverseGamma(), SAID, "needs ratings", "PlackettLuce"),
        (InverseRank(), ds.Study.from_rankings([[[["a"]]]]), "only one condition", "--conditions"),
        (PlackettLuce(), SILENT, "no case has any opinion", ""),
        (PlackettLuce(), WEIGHTLESS, "no case has any opinion", ""),
        (NormalInverseGamma(), ds.Study.from_scores([[], []]), "no case has any rating", ""),
        (NormalInverseGamma(), ds.Study.from_scores([[1.0], [2.0]]), "cannot be estimated", "NormalInverseGammaPrior"),
        (NormalInverseGamma(), ds.Study.from_scores([[1.0] * 2, [2.0] * 3]), "cannot be estimated", "Gamma"),
        (NormalInverseGamma(shifts=True), ds.Study.from_scores([[1, 2], [2, 4]]), "need their names", "leave shifts"),
    ],
)
def test_studies_that_do_not_fit_are_refused(spec: Aggregation, study: ds.Study, problem: str, advice: str) -> None:
    caught = refused(problem, spec.sample, study)
    assert advice in caught.advice
