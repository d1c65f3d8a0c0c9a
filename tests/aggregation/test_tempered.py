"""Tempering as users see it: what it refuses, how runs are named, where it tends to."""

import numpy as np

from dissensus import Study, evaluate
from dissensus.aggregations import PlackettLuce
from dissensus.certainty import annotation_certainty
from dissensus.cli.options import chosen_aggregation
from dissensus.core.spec import distinct_names, one_spec
from dissensus.plugins import Aggregation
from naive_plackett_luce import posterior_by_quadrature

SAID = Study.from_rankings([[[["a"], ["b"]], [["b"], ["a"]], [["a"], ["c"]]], [[["a"]]]], ["a", "b", "c", "d"])


def test_a_tempered_race_has_the_observed_prior_with_alpha_one_by_default() -> None:
    assert PlackettLuce(3, tempered=True) == PlackettLuce(3, alpha=1.0, prior="observed", tempered=True)
    assert PlackettLuce(3).prior == "frequency"
    assert one_spec(Aggregation.family, "plackett-luce:3:tempered=true") == PlackettLuce(3, tempered=True)
    assert chosen_aggregation({"aggregation": "plackett-luce:3", "tempered": True}) == PlackettLuce(3, tempered=True)


def test_runs_of_one_reliability_have_names_that_tell_them_apart() -> None:
    specs = [PlackettLuce(3, prior="observed"), PlackettLuce(3, tempered=True)]
    assert len(set(distinct_names(specs))) == 2
    table = evaluate(SAID, {"m": [[0.4, 0.3, 0.2, 0.1]] * 2}, aggregations=specs, draws=50).to_frame()
    assert table["aggregation"].n_unique() >= 2
    assert "tempered Plackett-Luce" in specs[1].methods


def test_weights_count_rankings_and_reliability_does_not() -> None:
    twice = Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"], weights=[[2.0]])
    written = Study.from_rankings([[[["a"], ["b"]], [["a"], ["b"]]]], ["a", "b", "c"])
    one, other = (PlackettLuce(4, tempered=True).sample(said, draws=200).dense() for said in (twice, written))
    np.testing.assert_allclose(one, other)


def test_reliability_is_a_power_and_no_number_of_repeats() -> None:
    """Means of 20 000 draws have errors of 0.003 at most; were the ranking repeated as well, a would have 0.05 more."""
    said = Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"])
    expected, _ = posterior_by_quadrature([[[0], [1]]], [1.0], [1.0] * 3, step=0.125, reach=20.0, power=2.0)
    found = PlackettLuce(2, tempered=True).sample(said, draws=20_000).mean()[0]
    np.testing.assert_allclose(found, expected, atol=0.012)


def test_more_reliable_annotators_who_disagree_do_not_settle_it() -> None:
    """One says a, one says b: half and half whatever the reliability, and plausibilities that become equal."""
    said = Study.from_rankings([[[["a"]], [["b"]]]], ["a", "b", "c"])
    draws = PlackettLuce(100, tempered=True).sample(said, draws=4000)
    assert annotation_certainty(draws).values[0] < 0.55
    a, b, _ = draws.dense()[0].T
    assert np.median(np.abs(np.log(a / b))) < 0.05
    assert PlackettLuce(100, tempered=True).limit is None


def test_more_reliable_annotators_who_agree_settle_the_order_and_not_the_plausibilities() -> None:
    said = Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"])
    theta = PlackettLuce(100, tempered=True).sample(said, draws=8000).dense()[0]
    assert ((theta[:, 0] > theta[:, 1]) & (theta[:, 1] > theta[:, 2])).mean() > 0.95
    # the order statistics of a flat Dirichlet distribution: 11 / 18, 5 / 18, 2 / 18; 4 errors of 0.004
    np.testing.assert_allclose(theta.mean(axis=0), np.array([11, 5, 2]) / 18, atol=0.016)
