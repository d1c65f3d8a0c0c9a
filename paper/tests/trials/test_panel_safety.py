"""Models that know nothing, or nothing new, move no panel estimate; with many votes all numbers come to the same."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as ds
from dissensus.core.arrays import FloatArray
from paper.trials.crowds import Crowd, Trial
from paper.trials.safety import (
    PERMUTED,
    REPEATED,
    Change,
    distances,
    information,
    is_recognised,
    largest_move,
    with_annotator,
    with_copy,
    with_permuted,
    with_random,
)

LABELS = tuple("abcd")
N_CASES = 240


def blurred(theta: FloatArray, noise: float, seed: int) -> FloatArray:
    """See plausibilities through noise, as a classifier does, and be a little surer than that."""
    logits = 1.3 * (np.log(theta) + noise * np.random.default_rng(seed).gumbel(size=theta.shape))
    scores = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


@pytest.fixture(scope="module")
def crowd() -> Crowd:
    rng = np.random.default_rng(5)
    theta = rng.dirichlet(np.full(4, 0.6), size=N_CASES) * 0.97 + 0.0075
    names = [f"case {place}" for place in range(N_CASES)]
    said = ds.Study.from_counts(np.stack([rng.multinomial(100, row) for row in theta]), LABELS, case_names=names)
    models = {
        name: ds.Predictions.from_scores(blurred(theta, noise, seed), LABELS, case_names=names, name=name)
        for seed, (name, noise) in enumerate({"good": 0.4, "fair": 0.8, "poor": 1.4}.items())
    }
    return Crowd.of(said, models)


@pytest.fixture(scope="module")
def trial(crowd: Crowd) -> Trial:
    return crowd.trial(N_CASES, 3, seed=(2,))


@pytest.mark.parametrize("change", [with_random, with_copy])
def test_a_model_that_brings_nothing_moves_no_estimate_by_a_tenth_of_its_interval(trial: Trial, change: Change) -> None:
    assert largest_move(trial, change, draws=400, seed=1) < 0.1


def test_a_model_that_brings_something_does_move_the_others(trial: Trial) -> None:
    def without_the_best(one: Trial, _: int) -> dict[str, ds.Predictions]:
        return {name: said for name, said in one.predictions.items() if name != "good"}

    assert largest_move(trial, without_the_best, draws=400, seed=1) > 0.1


def test_a_model_is_worth_nothing_once_its_cases_are_permuted(trial: Trial) -> None:
    before = information(trial.annotations, trial.predictions, "good")
    after = information(trial.annotations, with_permuted(trial, 0), PERMUTED)
    assert before["alone"] > 0.1
    assert abs(after["alone"]) < 0.05 * before["alone"]
    assert abs(after["beyond"]) < 0.05 * before["alone"]


def test_with_fifty_votes_a_case_all_numbers_come_to_the_same(crowd: Crowd) -> None:
    few, many = (distances(crowd.trial(N_CASES, votes, seed=(3, votes)), draws=400, seed=1) for votes in (3, 50))
    assert max(many.values()) < 0.03
    assert few["adjusted"] > few["panel"] + 0.02
    assert few["apart"] > 4 * many["apart"]


def test_a_model_that_repeats_an_annotator_is_recognised_and_the_others_are_not_suspected(trial: Trial) -> None:
    named, models = with_annotator(trial, 1)
    assert named.annotator_names == ("annotator 1", "annotator 2", "annotator 3")
    assert is_recognised(named, models, REPEATED)
    assert not any(is_recognised(named, models, name) for name in trial.predictions)


def test_the_votes_that_are_given_names_are_the_same(trial: Trial) -> None:
    named, _ = with_annotator(trial, 1)
    sorted_votes = [sorted(ranking[0][0] for ranking in case) for case in named.to_rankings()]
    assert sorted_votes == [sorted(ranking[0][0] for ranking in case) for case in trial.annotations.to_rankings()]
