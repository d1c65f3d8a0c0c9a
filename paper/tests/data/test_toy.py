"""The toy problem: p(y|x) by Bayes' rule, and labels that follow it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from dissensus.core.errors import DissensusError
from paper.data import toy_problem
from paper.data.toy import TOY_CLASSES, GaussianClasses

UNEVEN = GaussianClasses(("a", "b", "c"), (-2.0, 0.3, 1.0), (0.5, 1.5, 0.25), (3.0, 1.0, 0.5))


def bayes(classes: GaussianClasses, x: float) -> list[float]:
    """Weigh the densities of the classes at one place, one after the other."""
    parts = [
        share * norm.pdf(x, mean, deviation)
        for mean, deviation, share in zip(classes.means, classes.deviations, classes.shares, strict=True)
    ]
    return [float(part / sum(parts)) for part in parts]


@pytest.mark.parametrize("classes", [TOY_CLASSES, UNEVEN])
@given(x=st.floats(-6, 6))
def test_the_posterior_follows_bayes_rule(classes: GaussianClasses, x: float) -> None:
    assert np.allclose(classes.posterior([x])[0], bayes(classes, x), atol=1e-12)


@pytest.mark.parametrize("classes", [TOY_CLASSES, UNEVEN])
def test_the_posterior_averages_to_the_shares(classes: GaussianClasses) -> None:
    shares = np.array(classes.shares) / sum(classes.shares)

    def density(x: float) -> float:
        terms = zip(shares, classes.means, classes.deviations, strict=True)
        return float(sum(share * norm.pdf(x, mean, deviation) for share, mean, deviation in terms))

    for place, share in enumerate(shares):
        mass, _ = quad(lambda x, k=place: classes.posterior([x])[0, k] * density(x), -15, 15, limit=200)
        assert mass == pytest.approx(share, abs=1e-7)


def test_far_away_observations_do_not_overflow() -> None:
    theta = TOY_CLASSES.posterior([-1e6, 1e6, 400.0])
    assert np.isfinite(theta).all()
    assert np.allclose(theta[:, 1], 1)


def test_three_examples_are_clear_open_and_between() -> None:
    clear, open_, between = toy_problem([4.0, 0.0, 2.0]).theta
    assert clear.max() > 0.99
    assert np.ptp(open_) < 0.02
    assert np.sort(between)[1] > 0.3
    assert np.sort(between)[0] < 0.01


def test_annotators_draw_from_the_truth() -> None:
    problem = toy_problem([0.0, 2.0], n_annotators=20_000, seed=3)
    said = problem.annotations
    votes = np.stack([np.bincount(one.codes, one.votes, minlength=3) for one in (said.select([i]) for i in range(2))])
    assert votes.sum(axis=1).tolist() == [20_000, 20_000]
    errors = np.sqrt(problem.theta * (1 - problem.theta) / 20_000)
    assert (np.abs(votes / 20_000 - problem.theta) <= 4 * errors + 1e-9).all()


def test_labels_of_a_case_do_not_depend_on_the_number_of_cases() -> None:
    few, many = toy_problem([0.0, 1.0], seed=5), toy_problem([0.0, 1.0, 2.0], seed=5)
    assert many.annotations.select(slice(0, 2)).to_rankings() == few.annotations.to_rankings()
    assert toy_problem([0.0, 1.0], seed=6).annotations != few.annotations


def test_the_line_is_even_by_default() -> None:
    problem = toy_problem(n_cases=11, n_annotators=1)
    assert problem.x.tolist() == [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5]
    assert problem.annotations.conditions == ("Benign 1", "Benign 2", "Cancer")


@pytest.mark.parametrize("wrong", [{"n_cases": 0}, {"n_annotators": 0}, {"x": []}, {"x": [np.nan]}, {"x": [[0.0]]}])
def test_impossible_problems_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(DissensusError):
        toy_problem(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "parts",
    [((0.0,), (1.0, 1.0), (1.0, 1.0)), ((0.0, 1.0), (0.0, 1.0), (1.0, 1.0)), ((0.0, 1.0), (1.0, 1.0), (-1.0, 1.0))],
)
def test_impossible_classes_are_refused(parts: tuple[tuple[float, ...], ...]) -> None:
    with pytest.raises(DissensusError):
        GaussianClasses(("a", "b"), *parts)
