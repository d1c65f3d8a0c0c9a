"""Simulated studies: reproducible, and shaped like published ones."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus import DissensusError, simulate_study
from dissensus.datasets.simulation import condition_names


def test_the_same_seed_gives_the_same_study() -> None:
    one, other = simulate_study(n_cases=20, seed=3), simulate_study(n_cases=20, seed=3)
    assert one.annotations == other.annotations
    assert np.array_equal(one.theta, other.theta)
    assert simulate_study(n_cases=20, seed=4).annotations != one.annotations


def test_a_case_does_not_depend_on_the_number_of_cases() -> None:
    small, large = simulate_study(n_cases=5, seed=1), simulate_study(n_cases=25, seed=1)
    shared = large.annotations.select(slice(0, 5))
    assert shared.to_rankings() == small.annotations.to_rankings()
    assert shared.case_names == small.annotations.case_names
    assert np.array_equal(large.theta[:5], small.theta)


def test_theta_is_on_the_simplex() -> None:
    theta = simulate_study(n_cases=50, n_conditions=30).theta
    assert theta.shape == (50, 30)
    assert (theta > 0).all()
    assert np.allclose(theta.sum(axis=1), 1)


def test_the_shape_is_that_of_published_differential_diagnoses() -> None:
    said = simulate_study(n_cases=1000, seed=0).annotations
    assert 0.5 < (said.mentions_per_ranking == 1).mean() < 0.6
    assert 0.1 < said.has_tie.mean() < 0.2
    assert said.rankings_per_case.min() >= 1
    assert said.rankings_per_case.max() <= 10
    assert not said.unannotated


def test_annotators_favour_plausible_conditions() -> None:
    study = simulate_study(n_cases=300, seed=5)
    said = study.annotations
    spoken = said.code_offsets[said.block_offsets[:-1]]
    first = study.theta[said.panel.case_of_opinion, said.codes[spoken]]
    assert first.mean() > 5 * study.theta.mean()


def test_an_annotator_ranks_a_case_once() -> None:
    panel = simulate_study(n_cases=100).annotations.panel
    pairs = list(zip(panel.case_of_opinion.tolist(), panel.annotators.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))


@pytest.mark.parametrize("sizes", [{"n_cases": 0}, {"n_conditions": 1}, {"n_annotators": 9}])
def test_impossible_sizes_are_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(DissensusError, match="at least 1 case, 2 conditions and 10 annotators"):
        simulate_study(**sizes)


def test_names_are_different_however_many() -> None:
    assert len(set(condition_names(1234))) == 1234


@pytest.mark.parametrize("n_conditions", [2, 5, 300])
def test_few_and_many_conditions_work(n_conditions: int) -> None:
    assert simulate_study(n_cases=10, n_conditions=n_conditions).annotations.n_conditions == n_conditions
