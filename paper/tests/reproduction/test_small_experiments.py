"""Toy problem, CIFAR-10H and ratings: words of the paper as rows, priors of the variance, and figures."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from dissensus.aggregations.normal_inverse_gamma import (
    NormalInverseGamma,
    NormalInverseGammaPrior,
    estimated_prior,
    posterior_parameters,
)
from dissensus.certainty.top_sets import annotation_certainty
from dissensus.figures.charts import Bars, Chart, Line, Points
from dissensus.study.opinions import Moments
from dissensus.study.study import Study
from paper.data import load_ava, load_cifar10h
from paper.data.cifar10h import CLASSES, Cifar10h
from paper.reproduction.charts_of_paper import charts_of
from paper.reproduction.cifar10h_experiment import cifar10h_section
from paper.reproduction.gamma_variance import GammaVariancePrior, chance_below, conjugate_chance_below
from paper.reproduction.ratings_experiment import ava_section, toxicity_section
from paper.reproduction.rows import Row, Section, Settings
from paper.reproduction.toy_experiment import EXAMPLES, RELIABILITIES, toy_section
from paper.reproduction.toy_figures import Labels
from shared_data import SHARED, needs_shared

SETTINGS = Settings(draws=200)
Floats = npt.NDArray[np.float64]


def found(section: Section, words: str) -> Row:
    (row,) = [row for row in section.rows if words in row.quantity]
    return row


# The toy problem -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy() -> Section:
    return toy_section(SETTINGS)


def test_certainty_stays_low_at_one_example_and_rises_at_every_step_at_another(toy: Section) -> None:
    low, rise, least = (found(toy, words) for words in ("highest certainty", "from reliability 1 to 100", "least rise"))
    assert {row.verdict for row in (low, rise, least)} == {"agrees"}
    assert low.ours < 0.75 < found(toy, "(iii) at reliability 100").ours
    assert 0 < least.ours < rise.ours / 3


def test_the_toy_problem_is_drawn_in_five_panels_with_the_examples_marked(toy: Section) -> None:
    chart = charts_of(toy.frames)["toy"]
    assert len(chart.panels) == 5
    for panel in (chart.panels[0], chart.panels[-1]):
        (labels,) = [mark for mark in panel.marks if isinstance(mark, Labels)]
        assert labels.texts == tuple(EXAMPLES)
        upright = [mark for mark in panel.marks if isinstance(mark, Line) and np.ptp(mark.x) == 0]
        assert sorted(mark.x[0] for mark in upright) == sorted(EXAMPLES.values())
    diamonds = [[mark for mark in panel.marks if isinstance(mark, Points)] for panel in chart.panels[1:4]]
    assert [sum(mark.symbol == 2 for mark in marks) for marks in diamonds] == [3, 3, 3]
    assert [len(marks) for marks in diamonds] == [3, 6, 6]
    spread = [np.std(np.concatenate([mark.x for mark in marks if mark.symbol == 0])) for marks in diamonds[1:]]
    assert spread[0] > 0
    assert ", ".join(map(str, RELIABILITIES)) in chart.caption


# CIFAR-10H -------------------------------------------------------------------------------------------------


def images(votes: list[dict[str, int]], labels: tuple[str, ...] = ()) -> Cifar10h:
    counts = np.array([[row.get(name, 0) for name in CLASSES] for row in votes])
    return Cifar10h(Study.from_counts(counts, CLASSES), labels)


OPEN, CLEAR, LEANING = {"cat": 20, "dog": 20}, {"ship": 50}, {"deer": 28, "horse": 22}


def test_labels_against_the_votes_of_uncertain_images_are_counted() -> None:
    section = cifar10h_section(images([LEANING, LEANING, CLEAR, CLEAR], ("deer", "horse", "ship", "ship")), SETTINGS)
    poor, apart = found(section, "adjusted accuracy below 0.5"), found(section, "other images less")
    assert poor.ours == 0.5
    assert poor.verdict == apart.verdict == "agrees"
    agreeing = cifar10h_section(images([LEANING, CLEAR], ("deer", "ship")), SETTINGS)
    assert found(agreeing, "adjusted accuracy below 0.5").verdict == "differs"


def test_without_uncertain_images_nothing_is_said_about_them() -> None:
    section = cifar10h_section(images([CLEAR, CLEAR], ("ship", "cat")), SETTINGS)
    assert not [row for row in section.rows if "poorly" in row.words]
    assert found(section, "at least 0.99").ours == 1.0


def test_examples_are_the_least_certain_image_and_the_middle_of_the_uncertain_ones() -> None:
    section = cifar10h_section(images([CLEAR, LEANING, OPEN, CLEAR], ("ship", "deer", "dog", "ship")), SETTINGS)
    chart = charts_of(section.frames)["cifar10h"]
    assert [panel.title.split(":")[0] for panel in chart.panels[2:]] == [
        "image 2, labelled dog",
        "image 1, labelled deer",
    ]
    bars, dots = chart.panels[2].marks
    assert isinstance(bars, Bars)
    assert isinstance(dots, Points)
    assert bars.lengths[[3, 5]].tolist() == [0.5, 0.5]
    assert dots.x.min() >= 0


def test_dots_mark_labels_that_are_not_the_likeliest_class() -> None:
    section = cifar10h_section(images([LEANING, LEANING, CLEAR], ("deer", "horse", "ship")), SETTINGS)
    first = charts_of(section.frames)["cifar10h"].panels[0]
    (dots,) = [mark for mark in first.marks if isinstance(mark, Points)]
    assert len(dots.x) == 1
    assert dots.y[0] < 0.5


def test_images_without_labels_are_drawn_all_the_same() -> None:
    chart = charts_of(cifar10h_section(images([OPEN, CLEAR]), SETTINGS).frames)["cifar10h"]
    assert not any("labelled" in panel.title for panel in chart.panels)
    assert not any(isinstance(mark, Points) for mark in chart.panels[0].marks)


@needs_shared
def test_original_labels_often_perform_poorly_where_annotators_are_uncertain() -> None:
    section = cifar10h_section(load_cifar10h(SHARED / "cifar10h"), SETTINGS)
    assert found(section, "adjusted accuracy below 0.5").ours == pytest.approx(0.31, abs=0.03)
    assert found(section, "other images less").ours == pytest.approx(0.33, abs=0.03)


# A gamma prior of the variance -----------------------------------------------------------------------------

PRIOR = GammaVariancePrior(mu0=5.0, nu=0.5, alpha=3.0, beta=1.5)
SCORES = [[4, 5, 5, 6, 7, 3], [5, 5, 6], [2, 8, 5, 5, 4, 4, 6, 7, 5, 3]]


def rated(scores: list[list[int]] = SCORES) -> Moments:
    found: Moments = Study.from_scores(scores).opinions
    return found


def posterior_density(mean: Floats, variance: Floats, scores: list[int]) -> Floats:
    """Return the unnormalised posterior density, straight from its definition."""
    likelihood = np.prod([stats.norm.pdf(score, mean, np.sqrt(variance)) for score in scores], axis=0)
    of_mean = stats.norm.pdf(mean, PRIOR.mu0, np.sqrt(PRIOR.nu))
    density: Floats = likelihood * of_mean * stats.gamma.pdf(variance, PRIOR.alpha, scale=1 / PRIOR.beta)
    return density


@pytest.mark.parametrize("case", range(len(SCORES)))
def test_the_quadrature_is_that_of_the_density_in_two_dimensions(case: int) -> None:
    mean = np.arange(0.005, 10, 0.01)  # middles of cells, so that none lies on both sides of 4.8
    variance = np.arange(0.005, 30, 0.01)
    mass = posterior_density(mean[:, None], variance, SCORES[case]).sum(axis=1)
    expected = mass[mean < 4.8].sum() / mass.sum()
    assert chance_below(rated(), PRIOR, 4.8)[case] == pytest.approx(expected, abs=1e-4)


def test_the_quadrature_is_that_of_weighted_draws_of_the_conjugate_posterior() -> None:
    rng = np.random.default_rng(0)
    conjugate = NormalInverseGammaPrior(mu=5.0, kappa=2.0, a=3.0, b=4.0)
    said = rated()
    for case, (mu, kappa, a, b) in enumerate(posterior_parameters(said, conjugate, 1.0)):
        variance = b / rng.gamma(a, size=200_000)
        mean = mu + rng.standard_normal(len(variance)) * np.sqrt(variance / kappa)
        new = stats.norm.logpdf(mean, PRIOR.mu0, np.sqrt(PRIOR.nu)) + stats.gamma.logpdf(
            variance, PRIOR.alpha, scale=1 / PRIOR.beta
        )
        old = stats.invgamma.logpdf(variance, conjugate.a, scale=conjugate.b) + stats.norm.logpdf(
            mean, conjugate.mu, np.sqrt(variance / conjugate.kappa)
        )
        weights = np.exp(new - old)
        assert np.average(mean <= 4.8, weights=weights) == pytest.approx(chance_below(said, PRIOR, 4.8)[case], abs=0.01)


def test_exact_certainty_is_what_draws_tend_to() -> None:
    said = Study.from_scores(SCORES)
    prior = NormalInverseGammaPrior(mu=5.0, kappa=2.0, a=3.0, b=4.0)
    below = conjugate_chance_below(said.opinions, prior, 4.8)
    drawn = annotation_certainty(NormalInverseGamma((4.8,), prior).sample(said, draws=40_000))
    assert drawn.values == pytest.approx(np.maximum(below, 1 - below), abs=0.01)


def test_a_matched_prior_has_the_same_moments() -> None:
    prior = NormalInverseGammaPrior(mu=4.0, kappa=3.0, a=7.0, b=9.0)
    other = GammaVariancePrior.matched(prior)
    variance = stats.invgamma(prior.a, scale=prior.b)
    gamma = stats.gamma(other.alpha, scale=1 / other.beta)
    assert (gamma.mean(), gamma.var()) == pytest.approx((variance.mean(), variance.var()))
    assert (other.mu0, other.nu) == pytest.approx((prior.mu, variance.mean() / prior.kappa))


def test_equal_ratings_leave_the_mean_at_that_rating() -> None:
    assert chance_below(rated([[2] * 20, [9] * 20]), PRIOR, 5.0) == pytest.approx([1, 0], abs=1e-6)


@needs_shared
def test_on_the_photographs_both_priors_hardly_differ() -> None:
    ratings = load_ava(SHARED / "ava", most=1000).ratings
    section = ava_section(ratings, SETTINGS)
    assert found(section, "mean difference").ours == pytest.approx(0.0008, abs=0.0004)
    assert 0.005 < found(section, "largest difference").ours < 0.06
    shares = [found(section, f"variance {name}").ours for name in ("inverse gamma", "gamma")]
    assert shares[0] == pytest.approx(shares[1], abs=0.005)
    assert found(section, "next score").ours < 0.05


# Ratings ---------------------------------------------------------------------------------------------------


def comments(n_toxic: int, n_open: int, n: int = 200) -> Study:
    """Make comments of ten ratings: toxic beyond doubt, toxic by six of ten, and others, whose means differ widely."""
    toxic, doubted = [-2] * 8 + [-1] * 2, [-1] * 6 + [1, 1, 2, 2]
    others = ([0] * 3 + [1] * 4 + [2] * 3, [2] * 8 + [1] * 2, [-2] * 4 + [0] * 6)
    rest = [others[number % len(others)] for number in range(n - n_toxic - n_open)]
    return Study.from_scores([toxic] * n_toxic + [doubted] * n_open + rest)


@pytest.mark.parametrize(("n_toxic", "n_open", "verdict"), [(1, 1, "agrees"), (3, 3, "differs"), (0, 0, "differs")])
def test_roughly_one_in_a_hundred_can_be_refuted(n_toxic: int, n_open: int, verdict: str) -> None:
    section = toxicity_section(comments(n_toxic, n_open), SETTINGS)
    row = found(section, "find toxic")
    assert row.ours == pytest.approx((n_toxic + n_open) / 200)
    assert row.verdict == verdict


@pytest.mark.parametrize(("n_toxic", "n_open", "verdict"), [(1, 1, "agrees"), (2, 0, "differs"), (0, 2, "differs")])
def test_approximately_half_can_be_refuted(n_toxic: int, n_open: int, verdict: str) -> None:
    row = found(toxicity_section(comments(n_toxic, n_open), SETTINGS), "share of toxic comments")
    assert row.ours == n_open / 2
    assert row.verdict == verdict


def test_without_toxic_comments_nothing_is_said_about_them() -> None:
    section = toxicity_section(comments(0, 0), SETTINGS)
    assert not [row for row in section.rows if "toxic comments" in row.quantity]
    assert charts_of(section.frames)["wikipedia_toxicity"].panels[1].title == "0 toxic comments"


def test_the_example_is_the_toxic_comment_in_the_middle() -> None:
    section = toxicity_section(comments(1, 2), SETTINGS)
    scores = section.frames["wikipedia_toxicity_scores"]
    assert scores["score"].to_list() == [-1.0, 1.0, 2.0]
    assert scores["votes"].to_list() == [6, 2, 2]


def example_of(chart: Chart) -> tuple[Bars, Points]:
    bars, points = chart.panels[-2].marks[0], chart.panels[-1].marks[0]
    assert isinstance(bars, Bars)
    assert isinstance(points, Points)
    return bars, points


def test_draws_of_the_example_are_means_and_precisions_of_its_posterior() -> None:
    said = Study.from_counts([[0, 30, 60, 10], [50, 40, 10, 0], [0, 10, 20, 70]], levels=[3, 4, 5, 6])
    chart = charts_of(ava_section(said, SETTINGS).frames)["ava"]
    bars, points = example_of(chart)
    assert bars.positions.tolist() == [4, 5, 6]
    assert bars.lengths.tolist() == [30, 60, 10]
    mu, _, a, b = posterior_parameters(said.opinions, estimated_prior(said.opinions), 1.0)[0]
    assert points.x.mean() == pytest.approx(mu, abs=0.03)
    assert points.y.mean() == pytest.approx(a / b, rel=0.1)


def test_photographs_on_the_boundary_are_counted() -> None:
    said = Study.from_scores([[4, 6], [5, 5, 5], [5, 6], [1, 2]])
    row = found(ava_section(said, SETTINGS), "exactly 5")
    assert row.ours == 2
    assert "no difference" in row.reason
