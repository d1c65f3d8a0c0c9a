"""Where two aggregations must agree: in the limit of high reliability, in conjugate cases, and on published values."""

from collections.abc import Mapping

import numpy as np
import pytest
from scipy import stats

import dissensus as ds
from dissensus.aggregations import (
    AnnotatorBootstrap,
    Dirichlet,
    InverseRank,
    MajorityVote,
    NormalInverseGammaPrior,
    PlackettLuce,
    PlackettLuceML,
    ProbabilisticInverseRank,
    plackett_luce_log_likelihood,
)
from dissensus.aggregations.normal_inverse_gamma import posterior_parameters
from dissensus.core.arrays import FloatArray
from dissensus.plugins import Aggregation
from dissensus.simulate.differential_study import NEAR_TIES

STUDY = ds.Study.from_rankings(
    [
        [[["a"], ["b"]], [["b"], ["a", "c"]], [["c", "a"]], [["b", "d"], ["a"]]],
        [[["a", "b", "c"]], [["d"], ["b"]], [["b"], ["d"]], [["c"], ["d"]], [["d"], ["c"], ["a"]]],
    ],
    ["a", "b", "c", "d", "e"],
)


def test_plackett_luce_tends_to_maximum_likelihood() -> None:
    point = PlackettLuceML().sample(STUDY).mean()
    # at reliability 4000 the posterior sd is about 1 / sqrt(4000 * 5 races) = 0.007, the bias of the prior smaller
    draws = PlackettLuce(reliability=4000, warmup=2000, alpha=1.0, prior="observed").sample(STUDY, draws=4000).mean()
    np.testing.assert_allclose(draws, point, atol=0.01)


SETS = ["set-accuracy:2", "set-accuracy:3", "average-overlap:3"]


def distances(said: ds.Study, models: Mapping[str, FloatArray], draws: int) -> FloatArray:
    """Return the largest distance from the point estimate over models, for 10, 50 and 500, shape (3, n_metrics)."""
    runs = [*(PlackettLuce(reliability) for reliability in (10, 50, 500)), PlackettLuceML()]
    table = ds.evaluate(said, models, aggregations=runs, metrics=SETS, draws=draws).to_frame()
    table = table.filter(estimand="adjusted")
    means = table["mean"].to_numpy().reshape(len(runs), len(models), len(SETS))
    return np.asarray(np.abs(means[:3] - means[3]).max(axis=1))


def test_the_order_of_plackett_luce_tends_to_that_of_maximum_likelihood() -> None:
    """At 500 what is left of the order is what nobody decided, and the prior among 12 conditions."""
    study = ds.simulate.study(n_cases=200, n_conditions=12, models=NEAR_TIES, seed=4)
    found = distances(study.annotations, {name: one.to_scores() for name, one in study.predictions.items()}, 200)
    assert (found[2] < 0.02).all()
    assert (found[2] < found[0]).all()


def test_every_resample_of_annotators_has_its_own_levels() -> None:
    """Of two annotators who agree on the first place only, both are drawn in half of the resamples: a tie."""
    said = ds.Study.from_rankings([[[["a"], ["b"], ["c"]], [["a"], ["c"], ["b"]]]], ["a", "b", "c", "d"])
    [batch] = AnnotatorBootstrap(PlackettLuceML()).sample(said, draws=4000)
    orders = batch.compared.reshape(4000, 4)[:, 1:]
    for order, chance in (([2, 1, 0], 0.25), ([1, 2, 0], 0.25), ([1, 1, 0], 0.5)):
        assert (orders == order).all(axis=1).mean() == pytest.approx(chance, abs=0.04)
    np.testing.assert_array_equal(batch.of_case(0), np.tile([1.0, 0, 0, 0], (4000, 1)))


def test_probabilistic_inverse_rank_tends_to_inverse_rank() -> None:
    for ties in ("shared", "each"):
        point = InverseRank(ties).sample(STUDY).mean()
        sharp = ProbabilisticInverseRank(reliability=1e8, ties=ties).sample(STUDY, draws=50)
        np.testing.assert_allclose(sharp.dense(), np.repeat(point[:, None], 50, axis=1), atol=1e-3)


def test_the_bootstrap_of_many_annotators_tends_to_its_model() -> None:
    for model in (InverseRank(), MajorityVote(), PlackettLuceML()):
        point = model.sample(STUDY).mean()
        sharp = AnnotatorBootstrap(model, size=200_000).sample(STUDY, draws=5)
        np.testing.assert_allclose(sharp.dense(), np.repeat(point[:, None], 5, axis=1), atol=0.02)


def test_single_choices_give_the_dirichlet_posterior_in_every_aggregation_that_has_one() -> None:
    """Votes 3, 1, 0 with prior 1 each: Dirichlet(4, 2, 1); false alarm of each KS test 1e-4."""
    said = ds.Study.from_counts([[3, 1, 0]], ["a", "b", "c"])
    # tripled, then divided: the sampler sees the same total evidence by another route
    written_out = ds.Study.from_rankings(
        [[[["a"], ["b", "c"]], [["a"], ["b", "c"]], [["a"]], [["b"], ["a", "c"]]]], ["a", "b", "c"]
    )
    alternatives: list[tuple[Aggregation, ds.Study]] = [
        (Dirichlet(), said),
        (PlackettLuce(alpha=1.0, prior="symmetric"), said),
        (PlackettLuce(alpha=1.0, prior="observed"), said),
        (PlackettLuce(alpha=1.0, prior="observed"), written_out),
    ]
    for aggregation, opinions in alternatives:
        draws = aggregation.sample(opinions, draws=5000, seed=7).dense()[0]
        for condition, (a, b) in enumerate([(4, 3), (2, 5), (1, 6)]):
            assert stats.kstest(draws[:, condition], stats.beta(a, b).cdf).pvalue > 1e-4
    for reliability in (0.3, 2.5, 40.0):  # multiplies votes
        spec = PlackettLuce(reliability=reliability, alpha=1.0, prior="observed")
        law = stats.beta(1 + 3 * reliability, 2 + reliability)
        assert stats.kstest(spec.sample(said, draws=5000, seed=3).dense()[0, :, 0], law.cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("aggregation", "shapes", "split"),
    [
        (PlackettLuce(2, alpha=0.5, prior="observed"), [6.5, 2.5, 0.5], 1.0),
        (PlackettLuce(2, alpha=0.5, prior="symmetric"), [6.5, 2.5, 1.0], 0.5),
        (PlackettLuce(2, alpha=3, prior="observed"), [9.0, 5.0, 3.0], 1.0),
        (Dirichlet(2, alpha=0.5), [6.5, 2.5, 1.0], 0.5),
        (ProbabilisticInverseRank(8, alpha=0.5), [6.5, 2.5, 1.0], 0.5),
    ],
    ids=repr,
)
def test_the_parameters_of_a_prior_are_those_of_its_distribution(
    aggregation: Aggregation, shapes: list[float], split: float
) -> None:
    """Votes 3 and 1 of four conditions: a Dirichlet distribution on a, b and the rest, which c and d share."""
    said = ds.Study.from_counts([[3, 1, 0, 0]], ["a", "b", "c", "d"])
    draws, total = aggregation.sample(said, draws=5000, seed=2).dense()[0], sum(shapes)
    parts = np.column_stack([draws[:, :2], draws[:, 2:].sum(axis=1)])
    for part, shape in zip(parts.T, shapes, strict=True):
        assert stats.kstest(part, stats.beta(shape, total - shape).cdf).pvalue > 1e-4
    shares = draws[:, 2] / draws[:, 2:].sum(axis=1)
    assert stats.kstest(shares, stats.beta(split, split).cdf).pvalue > 1e-4


def test_single_choices_say_nothing_about_conditions_that_were_not_compared() -> None:
    said = ds.Study.from_counts([[3, 1, 0]], ["a", "b", "c"]).with_unranked("unobserved")
    draws = PlackettLuce(5, alpha=1.0, prior="observed").sample(said, draws=5000, seed=4).dense()[0]
    for condition in range(3):
        assert stats.kstest(draws[:, condition], stats.beta(1, 2).cdf).pvalue > 1e-4


def test_ratings_one_after_the_other_say_what_they_say_together() -> None:
    prior = NormalInverseGammaPrior(mu=0.5, kappa=2.0, a=3.0, b=1.5)
    together = posterior_parameters(ds.Study.from_scores([[1.0, 4.0, -2.0]]).opinions, prior, 1.0)
    for score in (1.0, 4.0, -2.0):
        (row,) = posterior_parameters(ds.Study.from_scores([[score]]).opinions, prior, 1.0)
        prior = NormalInverseGammaPrior(*row.tolist())
    np.testing.assert_allclose(together[0], [prior.mu, prior.kappa, prior.a, prior.b])


def test_maximum_likelihood_is_not_beaten_by_its_neighbours() -> None:
    said = ds.simulate.study(n_cases=40, n_conditions=12, seed=2).annotations
    best = PlackettLuceML().sample(said).mean()
    rng = np.random.default_rng(0)
    inside = np.maximum(best, 1e-13)
    height = plackett_luce_log_likelihood(said, inside)
    for _ in range(50):
        # conditions at the boundary stay there: their ratios among each other are no part of the estimate
        neighbour = inside * np.exp(rng.normal(scale=0.05, size=inside.shape) * (best > 0))
        assert (plackett_luce_log_likelihood(said, neighbour) <= height + 1e-6).all()
