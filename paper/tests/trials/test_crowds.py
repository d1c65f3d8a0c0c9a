"""Few labels out of many: what is drawn, and what is true of it."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus import DissensusError, Predictions, Study, evaluate
from dissensus.simulate.differential_study import MODELS
from paper.trials.crowds import Crowd, Truth, first_choices, simulated_trial

LABELS = ("a", "b", "c")
COUNTS = np.random.default_rng(3).multinomial(40, [0.5, 0.3, 0.2], size=30)
CASES = tuple(f"case {place}" for place in range(30))
SCORES = {name: np.random.default_rng(place).dirichlet(np.ones(3), size=30) for place, name in enumerate("AB")}


@pytest.fixture
def crowd() -> Crowd:
    said = Study.from_counts(COUNTS, LABELS, case_names=CASES)
    models = {name: Predictions.from_scores(one, LABELS, case_names=CASES, name=name) for name, one in SCORES.items()}
    return Crowd.of(said, models)


def test_a_label_that_ties_for_the_first_place_is_right_by_its_share() -> None:
    shares = np.array([[0.4, 0.4, 0.2], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.1, 0.9]])
    found = Truth.of(shares, np.array([[0, 1, 2], [2, 2, 1]]))
    assert found.panel.tolist() == pytest.approx([(1 / 2 + 1 / 3 + 1) / 3, 1 / 9])
    assert found.agreement.tolist() == pytest.approx([(0.4 + 1 / 3 + 0.9) / 3, (0.2 + 1 / 3 + 0.1) / 3])


def test_the_truth_is_what_an_evaluation_finds_against_all_votes(crowd: Crowd) -> None:
    said = Study.from_counts(COUNTS, LABELS, case_names=CASES)
    table = evaluate(said, crowd.predictions, aggregations=["majority-vote"], metrics=["top-k-accuracy:1"]).to_frame()
    assert table.filter(estimand="adjusted")["mean"].to_list() == pytest.approx(crowd.truth.panel.tolist())
    assert table.filter(estimand="agreement")["mean"].to_list() == pytest.approx(crowd.truth.agreement.tolist())
    assert crowd.truth.named("panel") is not crowd.truth.named("agreement")


def test_the_votes_of_a_crowd_are_those_of_the_study(crowd: Crowd) -> None:
    assert np.array_equal(crowd.counts, COUNTS)


def test_a_study_has_some_of_the_cases_and_some_of_their_votes(crowd: Crowd) -> None:
    found = crowd.trial(12, 5, seed=(1, 2))
    said = found.annotations
    assert said.n_cases == len(set(said.case_names)) == 12
    assert (said.votes_per_case == 5).all()
    own = Crowd.of(said, found.predictions)
    places = [CASES.index(name) for name in said.case_names]
    assert (own.counts <= COUNTS[places]).all()
    assert np.array_equal(first_choices(found.predictions), first_choices(crowd.predictions)[:, places])
    assert np.allclose(found.here.panel, crowd.select(np.array(places)).truth.panel)
    assert found.everywhere is not None
    assert np.array_equal(found.everywhere.panel, crowd.truth.panel)


def test_no_more_votes_are_drawn_than_there_are(crowd: Crowd) -> None:
    found = crowd.trial(100, 100, seed=(1,))
    assert np.array_equal(Crowd.of(found.annotations, found.predictions).counts, COUNTS)
    assert np.array_equal(found.here.panel, crowd.truth.panel)


def test_the_same_seed_gives_the_same_study(crowd: Crowd) -> None:
    assert crowd.trial(12, 5, seed=(1, 2)).annotations == crowd.trial(12, 5, seed=(1, 2)).annotations
    assert crowd.trial(12, 5, seed=(1, 2)).annotations != crowd.trial(12, 5, seed=(1, 3)).annotations


def test_disputed_cases_have_the_lowest_shares_of_the_leading_label(crowd: Crowd) -> None:
    kept = crowd.disputed(10)
    leads = COUNTS.max(axis=1) / 40
    assert len(kept.counts) == 10
    assert (kept.counts.max(axis=1) / 40).max() <= np.sort(leads)[10]


def test_rankings_are_no_crowd() -> None:
    said = Study.from_rankings([[[["a"], ["b"]]]], LABELS)
    with pytest.raises(DissensusError, match="single labels"):
        Crowd.of(said, {})


def test_a_simulated_study_knows_its_truth_but_not_that_of_agreement() -> None:
    found = simulated_trial(30, 12, opinions=(2, 3), models=MODELS, seed=1)
    assert found.everywhere is None
    assert np.isnan(found.here.agreement).all()
    assert (found.here.panel > 0.2).all()
    assert set(found.annotations.rankings_per_case.tolist()) == {2, 3}
