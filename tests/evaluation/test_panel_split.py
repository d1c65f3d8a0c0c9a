"""Panels that are cut in two, and panels that are simulated, against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dissensus import Annotations, Batch, Dirichlet, PlackettLuce, Predictions
from dissensus.evaluation.held_out import (
    PanelSplit,
    bins_of,
    calibration_error,
    first_choices,
    leading_conditions,
)
from dissensus.kernels.simulated_panels import Panels, winning_chances

NAMES = ["a", "b", "c"]
HOW = {"draws": 200, "seed": 0, "threads": 1}


def naive_chances(theta: np.ndarray, n_seats: int) -> np.ndarray:
    """Enumerate what a panel of single first choices may say; those who tie share the win."""
    wins = np.zeros(len(theta))
    for said in product(range(len(theta)), repeat=n_seats):
        votes = np.bincount(said, minlength=len(theta))
        winners = votes == votes.max()
        wins += np.prod(theta[list(said)]) * winners / winners.sum()
    return wins


def chances(batch: Batch, n_seats: int) -> np.ndarray:
    n = batch.n_cases
    panels = Panels(
        n_seats * np.arange(n + 1),
        np.ones(n * n_seats, dtype=np.int64),
        3 * np.arange(n + 1),
        np.tile(np.arange(3), n),
        np.arange(n, dtype=np.uint64),
    )
    return winning_chances(batch.layout(), batch.values, panels).reshape(n, 3)


@pytest.mark.parametrize("n_seats", [1, 2, 3, 4])
def test_simulated_panels_elect_whom_enumerated_panels_elect(n_seats: int) -> None:
    theta = np.array([0.5, 0.3, 0.2])
    batch = Batch.from_dense(np.tile(theta, (1, 40_000, 1)), ["x"])
    assert chances(batch, n_seats)[0] == pytest.approx(naive_chances(theta, n_seats), abs=0.01)


@pytest.mark.parametrize("n_seats", [2, 3])
@pytest.mark.parametrize("prior", ["symmetric", "frequency"])
def test_what_nobody_mentioned_is_elected_as_often_as_if_the_rest_were_split(n_seats: int, prior: str) -> None:
    said = Annotations.from_rankings([[[["a"]]], [[["b"]], [["b"]]]], NAMES)
    spec = Dirichlet(1.0, alpha=0.6, prior="frequency") if prior == "frequency" else Dirichlet(1.0, alpha=0.6)
    drawn = spec.sample(said, draws=3000)
    batch = next(iter(drawn))
    assert batch.support_of(0).tolist() == [0]
    exact = np.mean([naive_chances(theta, n_seats) for theta in batch.dense()[0]], axis=0)
    assert chances(batch, n_seats)[0] == pytest.approx(exact, abs=0.03)


def test_a_tied_first_block_names_that_many_different_conditions() -> None:
    batch = Batch.from_dense(np.tile([0.6, 0.3, 0.1], (1, 20_000, 1)), ["x"])
    panels = Panels(np.array([0, 1]), np.array([2]), np.array([0, 3]), np.arange(3), np.zeros(1, dtype=np.uint64))
    found = winning_chances(batch.layout(), batch.values, panels)
    first_two = [0.6 * 0.3 / 0.4 + 0.3 * 0.6 / 0.7, 0.6 * 0.1 / 0.4 + 0.1 * 0.6 / 0.9]  # a and b, a and c
    assert found[0] == pytest.approx(sum(first_two) / 2, abs=0.01)
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("named", [False, True])
def test_halves_hold_every_annotator_once_and_the_first_is_the_larger_one(named: bool) -> None:
    rng = np.random.default_rng(0)
    cases = [[[[int(rng.integers(3))]] for _ in range(rng.integers(1, 8))] for _ in range(50)]
    who = [[f"A{i}" for i in range(len(case))] for case in cases] if named else None
    said = Annotations.from_rankings(cases, NAMES, annotator_names=who)
    split = PanelSplit.of(said, max_cases=1000, seed=0)
    sizes = said.rankings_per_case
    assert split.cases.tolist() == np.flatnonzero(sizes > 1).tolist()
    case = said.panel.case_of_opinion
    first, second = (np.bincount(case, weights=half, minlength=50) for half in (split.first, split.second))
    assert first[split.cases].tolist() == ((sizes + 1) // 2)[split.cases].tolist()
    assert second[split.cases].tolist() == (sizes // 2)[split.cases].tolist()
    assert second[sizes == 1].sum() == 0


def test_somebody_with_two_opinions_is_on_one_side() -> None:
    said = Annotations.from_rankings([[[["a"]], [["b"]], [["c"]]]] * 30, NAMES, annotator_names=[["A", "A", "B"]] * 30)
    split = PanelSplit.of(said, max_cases=100, seed=0)
    halves = {tuple(row) for row in split.first.reshape(30, 3).tolist()}
    assert halves == {(1, 1, 0), (0, 0, 1)}


def test_votes_are_cut_like_annotators_who_are_listed() -> None:
    split = PanelSplit.of(Annotations.from_counts([[7, 4, 0]] * 40, NAMES), max_cases=100, seed=0)
    firsts = split.first.reshape(40, 2)
    assert (firsts.sum(axis=1) == 6).all()
    assert firsts[:, 0].mean() == pytest.approx(6 * 7 / 11, abs=0.6)
    assert firsts[:, 0].std() > 0.5


def test_those_who_tie_share_the_win_and_a_tied_block_shares_its_vote() -> None:
    said = Annotations.from_rankings([[[["a", "b"]], [["c"]], [["b"]]], [[["a"]], [["b"]]]], NAMES)
    split = PanelSplit(said, np.array([0, 1]), np.zeros(5, dtype=np.int64), np.zeros(2, dtype=np.int64))
    assert split.wins(np.array([1, 0])).tolist() == [1.0, 0.5]
    assert split.wins(np.array([2, 2])).tolist() == [0.0, 0.0]
    assert split.wins(np.array([-1, 1])).tolist() == [0.0, 0.5]
    assert split.shares(split.votes, np.array([1, 1])).tolist() == [0.5, 0.5]


def test_the_leader_may_be_a_condition_that_nobody_mentioned() -> None:
    others = [[[["b"]], [["b"]]]] * 30
    said = Annotations.from_rankings([[[["a"]]], *others], NAMES, case_names=[f"c{i}" for i in range(31)])
    drawn = PlackettLuce(0.05, alpha=200.0).sample(said, draws=300).select(["c0"])
    certainty, leader = leading_conditions(next(iter(drawn)))
    assert leader.tolist() == [1]
    assert certainty[0] > 0.9


def test_what_a_model_lists_first_is_found_by_name() -> None:
    model = Predictions.from_rankings([["c", "a"], [], ["b"]], NAMES, case_names=["x", "y", "z"])
    assert first_choices(model, ["z", "y", "x"]).tolist() == [1, -1, 2]


def simulated(n_cases: int, n_votes: int, seed: int) -> Annotations:
    """Draw plausibilities from a known prior, and first choices from them."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet([0.5] * 4, size=n_cases)
    return Annotations.from_counts([rng.multinomial(n_votes, row) for row in theta], ["a", "b", "c", "d"])


def test_certainty_that_is_stated_is_confirmed_if_the_model_is_right_and_not_if_it_trusts_too_much() -> None:
    said, rng = simulated(1500, 61, 0), np.random.default_rng(3)
    few = np.concatenate(
        [rng.multivariate_hypergeometric(part, 3) for part in np.split(said.votes, said.ranking_offsets[1:-1])]
    )
    small = PanelSplit(said, np.arange(1500), few, rng.integers(2, size=1500))  # three against a panel that knows
    right, trusting = (small.expected(Dirichlet(reliability, alpha=0.5), {}, **HOW) for reliability in (1.0, 10.0))
    for row in bins_of(right, small):
        assert abs(row["stated"] - row["confirmed"]) < 3 * row["confirmed_se"] + 0.02
    assert calibration_error(bins_of(right, small)) < 0.05
    whole = bins_of(trusting, small)[-1]
    assert whole["gap"] > 5 * whole["gap_se"]
    assert whole["stated"] > whole["confirmed"] + 0.1


@pytest.mark.parametrize("n_votes", [2, 5])
def test_agreement_with_small_panels_is_predicted_too(n_votes: int) -> None:
    said = simulated(2000, n_votes, 1)
    split = PanelSplit.of(said, max_cases=5000, seed=0)
    rng = np.random.default_rng(0)
    models = {"random": rng.integers(4, size=2000)}
    found = split.expected(Dirichlet(1.0, alpha=0.5), models, **HOW)
    whole = bins_of(found, split)[-1]
    assert abs(whole["gap"]) < 3 * whole["gap_se"]
    assert whole["stated"] > whole["predicted"]
    gaps = found.predicted[1] - found.confirmed[1]
    assert abs(gaps.mean()) < 3 * gaps.std() / 2000**0.5
