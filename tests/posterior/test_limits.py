"""Where aggregations must agree: in limits, conjugate and small cases, by counting, and on published values."""

from collections.abc import Mapping
from pathlib import Path

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
)
from dissensus.aggregations.normal_inverse_gamma import posterior_parameters
from dissensus.certainty import annotation_certainty
from dissensus.cli.options import read_for
from dissensus.core.arrays import FloatArray
from dissensus.core.spec import one_spec
from dissensus.plugins import Aggregation
from dissensus.simulate.differential_study import NEAR_TIES
from dissensus.study.opinions import TIES, Ties
from naive_plackett_luce import posterior_by_quadrature

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


def test_a_tempered_race_has_the_observed_prior_with_alpha_one_by_default(tmp_path: Path) -> None:
    file = tmp_path / "opinions.csv"
    file.write_text("case,annotator,label\nc1,Ann,a\nc1,Bo,b\n", encoding="utf-8")
    assert PlackettLuce(3, tempered=True) == PlackettLuce(3, alpha=1.0, prior="observed", tempered=True)
    assert PlackettLuce(3).prior == "frequency"
    assert one_spec(Aggregation.family, "plackett-luce:3:tempered=true") == PlackettLuce(3, tempered=True)
    _, chosen = read_for({"aggregation": "plackett-luce:3", "tempered": True}, file, {})
    assert chosen == PlackettLuce(3, tempered=True)


def test_weights_count_rankings_and_reliability_does_not() -> None:
    twice = ds.Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"], weights=[[2.0]])
    written = ds.Study.from_rankings([[[["a"], ["b"]], [["a"], ["b"]]]], ["a", "b", "c"])
    one, other = (PlackettLuce(4, tempered=True).sample(said, draws=200).dense() for said in (twice, written))
    np.testing.assert_allclose(one, other)


def test_reliability_is_a_power_and_no_number_of_repeats() -> None:
    """Means of 20 000 draws have errors of 0.003 at most; were the ranking repeated as well, a would have 0.05 more."""
    said = ds.Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"])
    expected, _ = posterior_by_quadrature([[[0], [1]]], [1.0], [1.0] * 3, step=0.125, reach=20.0, power=2.0)
    found = PlackettLuce(2, tempered=True).sample(said, draws=20_000).mean()[0]
    np.testing.assert_allclose(found, expected, atol=0.012)


def test_more_reliable_annotators_who_disagree_do_not_settle_it() -> None:
    """One says a, one says b: half and half whatever the reliability, and plausibilities that become equal."""
    said = ds.Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b", "c"])
    draws = PlackettLuce(100, tempered=True).sample(said, draws=4000)
    assert annotation_certainty(draws).values[0] < 0.55
    a, b, _ = draws.dense()[0].T
    assert np.median(np.abs(np.log(a / b))) < 0.05
    assert PlackettLuce(100, tempered=True).limit is None


def test_more_reliable_annotators_who_agree_settle_the_order_and_not_the_plausibilities() -> None:
    said = ds.Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"])
    theta = PlackettLuce(100, tempered=True).sample(said, draws=8000).dense()[0]
    assert ((theta[:, 0] > theta[:, 1]) & (theta[:, 1] > theta[:, 2])).mean() > 0.95
    # the order statistics of a flat Dirichlet distribution: 11 / 18, 5 / 18, 2 / 18; 4 errors of 0.004
    np.testing.assert_allclose(theta.mean(axis=0), np.array([11, 5, 2]) / 18, atol=0.016)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("rank", [3, 5, 6, 7, 9, 11, 13])
def test_as_many_parts_as_the_rank_are_a_whole(ties: Ties, rank: int) -> None:
    others = [[f"other {i}"] for i in range(rank - 1)]
    rankings = [[["first"]], *([[*others, ["late"]]] * rank)]
    weights = InverseRank(ties).sample(ds.Study.from_rankings([rankings])).summary()
    by_name = dict(weights.select("condition", "mean").iter_rows())
    assert by_name["first"] == by_name["late"]
    assert ProbabilisticInverseRank(ties=ties).limit == InverseRank(ties)


def test_tied_conditions_share_a_weight_or_have_it_each() -> None:
    said = ds.Study.from_rankings([[[["a", "b"], ["c"]], [["c"]]]], ["a", "b", "c", "d"])
    np.testing.assert_allclose(InverseRank("shared").sample(said).mean(), [[0.2, 0.2, 0.6, 0]])
    np.testing.assert_allclose(InverseRank("each").sample(said).mean(), np.array([[1, 1, 1.5, 0]]) / 3.5)
    np.testing.assert_allclose(MajorityVote().sample(said).mean(), [[0.25, 0.25, 0.5, 0]])


def test_a_tie_by_thirds_is_uncertain() -> None:
    rankings = [[["a"]], *([[["x"], ["y"], ["b"]], [["y"], ["z"], ["b"]], [["z"], ["x"], ["b"]]])]
    study = ds.Study.from_rankings([[*rankings, [["a"]], *rankings[1:]]], unranked="below")
    certainty = annotation_certainty(InverseRank().sample(study))
    assert certainty.values[0] == pytest.approx(1 / 3)  # x, y and z have three each, a and b have two


def test_selecting_no_case_leaves_nothing() -> None:
    study = ds.Study.from_rankings([[[["a"]]], [[["b"]]]])
    for aggregation in (MajorityVote(), Dirichlet()):
        nothing = aggregation.sample(study, draws=5).select([])
        assert nothing.n_cases == 0
        assert nothing.summary().height == 0
        assert nothing.mean().shape == (0, 2)
