"""Labels of draws: what is kept of every draw says what the draws say."""

import numpy as np
import pytest

from dissensus import Study
from dissensus.aggregations import AnnotatorBootstrap, Dirichlet, MajorityVote, PlackettLuce
from dissensus.core.errors import DissensusError
from dissensus.draws import Batch
from dissensus.evaluation.labels import Labels, check_soft, labels_of, settled, vote_labels
from dissensus.metrics.base import Drawn
from dissensus.plugins import Aggregation
from metrics.metric_studies import one_batch

SAID = Study.from_counts([[3, 1, 0], [0, 2, 2], [1, 1, 1], [0, 0, 4]], ["a", "b", "c"])
BINARY = Study.from_counts([[3, 1], [2, 2], [0, 5]], ["no", "yes"], question="binary")


def batch_of(aggregation: Aggregation, study: Study, draws: int = 40) -> Batch:
    return one_batch(aggregation.sample(study, draws=draws, seed=2))


def top_shares(batch: Batch) -> np.ndarray:
    """Share of every condition in the first place of every draw, from dense draws: (n_cases, n_draws, K)."""
    dense = batch.dense()
    best = dense == dense.max(axis=2, keepdims=True)
    return np.asarray(best / best.sum(axis=2, keepdims=True))


FULL = Study.from_counts([[3, 1, 1], [1, 2, 2], [1, 1, 1], [1, 1, 4]], ["a", "b", "c"])
"""Somebody mentions every condition of every case, so that draws have no ties."""


@pytest.mark.parametrize("study", [FULL, BINARY], ids=["three", "two"])
def test_labels_of_draws_without_ties_are_their_most_plausible_conditions(study: Study) -> None:
    batch = batch_of(Dirichlet(), study)
    labels = labels_of(Drawn(batch, 1), "top", seed=0)
    assert labels.form == ("bits" if study.n_conditions == 2 else "codes")
    naive = top_shares(batch)
    np.testing.assert_array_equal(labels.block(range(40)).transpose(2, 0, 1), naive)
    np.testing.assert_allclose(labels.means, naive.mean(axis=1))
    np.testing.assert_array_equal(labels.block(range(3, 40, 5)), labels.block(range(40))[3::5])


def test_a_single_draw_keeps_its_ties() -> None:
    labels = labels_of(Drawn(batch_of(MajorityVote(), SAID), 1), "top", seed=0)
    shares = np.array([[1, 0, 0], [0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3], [0, 0, 1]])
    np.testing.assert_allclose(labels.block(range(1))[0].T, shares)


def test_ties_of_several_draws_are_broken_at_random_and_the_same_for_the_same_seed() -> None:
    batch = batch_of(AnnotatorBootstrap(MajorityVote()), BINARY, draws=2000)
    first, again, other = (labels_of(Drawn(batch, 1), "top", seed=seed) for seed in (1, 1, 2))
    shares = top_shares(batch)
    assert ((shares > 0) & (shares < 1)).any()
    assert first == again
    assert not np.array_equal(first.data, other.data)
    masses = first.block(range(2000)).transpose(2, 0, 1)
    assert set(np.unique(masses)) == {0.0, 1.0}
    assert masses[shares == 1].all()
    np.testing.assert_allclose(masses.mean(axis=1), first.means, atol=0.05)  # 4.5 standard errors
    np.testing.assert_allclose(first.means, shares.mean(axis=1))


def test_chance_decides_in_proportion() -> None:
    tied = np.array([[0.75], [0.25]])
    keys = np.arange(4000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    chosen = settled(tied, np.zeros((4000, 1), dtype=np.int64), keys)
    assert abs(chosen.mean() - 0.25) < 0.03  # 4.4 standard errors


@pytest.mark.parametrize("aggregation", [Dirichlet(), PlackettLuce(2, prior="symmetric", alpha=0.5)], ids=repr)
def test_plausibilities_as_labels_are_those_of_dense_draws_on_average(aggregation: Aggregation) -> None:
    said = Study.from_rankings([[[["a"]], [["b"]]], [[["c"]]]], ["a", "b", "c", "d"])
    batch = batch_of(aggregation, said, draws=3000)
    labels = labels_of(Drawn(batch, 1), "soft", seed=0)
    masses = labels.block(range(3000)).transpose(2, 0, 1)
    np.testing.assert_allclose(masses.sum(axis=2), 1, atol=1e-6)
    np.testing.assert_allclose(masses.mean(axis=1), batch.dense().mean(axis=1), atol=0.03)
    np.testing.assert_allclose(masses[0][:, :2], batch.dense()[0][:, :2], atol=1e-6)


def test_refits_weigh_the_labels_of_draws() -> None:
    batch, rng = batch_of(Dirichlet(), BINARY), np.random.default_rng(0)
    weights = [rng.dirichlet(np.ones(20), size=3) for _ in range(3)]
    labels = labels_of(Drawn(batch, 1), "top", seed=0, weights=weights, step=2)
    masses = labels.block(range(40)).transpose(2, 0, 1)[:, ::2]
    naive = np.array([of_case @ masses[case] for case, of_case in enumerate(weights)])
    np.testing.assert_allclose(labels.moved, naive, atol=1e-6)


def test_cases_are_taken_by_position_and_labels_within_conditions_have_no_mass_elsewhere() -> None:
    labels = labels_of(Drawn(batch_of(Dirichlet(), SAID), 1), "top", seed=0)
    assert Labels.joined([labels.take(np.array(some)) for some in ([0, 1], [2], [3])]) == labels
    inside, whole = labels.within(np.array([0, 2])), labels.block(range(40))
    whole[:, 1] = 0
    np.testing.assert_array_equal(inside.block(range(40)), whole)
    np.testing.assert_allclose(inside.means, labels.means * np.array([1.0, 0.0, 1.0]))


def test_votes_are_shares_of_first_choices() -> None:
    said = Study.from_rankings(
        [[[["a"], ["b"]], [["b", "c"]], [["b"]]], [[["c"]], []], []],
        ["a", "b", "c"],
        case_names=["x", "y", "z"],
        weights=[[2.0, 1.0, 1.0], [1.0, 1.0], []],
    )
    votes = vote_labels(said, ["y", "x"])
    np.testing.assert_allclose(votes.means, np.array([[0, 0, 1], [2 / 4, 1.5 / 4, 0.5 / 4]]))
    votes = vote_labels(Study.from_scores([[1, 3], [5]], case_names=["x", "y"]), ["x", "y"])
    np.testing.assert_allclose(votes.means, np.array([[1.0, 2.0, 5.0], [1.0, 5.0, 25.0]]))  # 1, scores and squares
    np.testing.assert_allclose(votes.block(range(1))[0].T, votes.means)


def test_plausibilities_of_very_many_conditions_are_refused_as_labels() -> None:
    check_soft(64)
    with pytest.raises(DissensusError, match="truth='top'"):
        check_soft(65)
