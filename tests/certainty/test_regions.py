"""Plausibility regions against their definition, and whether they hold what they promise."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dissensus as ds
import naive_certainty as naive
from dissensus.aggregations import Dirichlet
from dissensus.certainty import plausibility_regions
from dissensus.certainty.regions import PlausibilityRegions, conformities
from dissensus.core.arrays import FloatArray
from dissensus.plugins import Aggregation
from naive_certainty import AGGREGATIONS, small_studies, supports


def spread(plausibilities: ds.Plausibilities) -> FloatArray:
    """Write draws out, the unmentioned conditions of a case sharing the rest equally."""
    dense = plausibilities.dense()
    for draws, support in zip(dense, supports(plausibilities), strict=True):
        others = [k for k in range(dense.shape[2]) if k not in support]
        if others:
            draws[:, others] = draws[:, others].mean(axis=1, keepdims=True)
    return dense


def scored(plausibilities: ds.Plausibilities, scores: FloatArray) -> ds.Predictions:
    return ds.Predictions.from_scores(scores, plausibilities.conditions, case_names=plausibilities.case_names)


@given(small_studies(), st.sampled_from(AGGREGATIONS), st.integers(0, 2**32 - 1))
def test_the_conformity_is_the_mean_score_by_plausibility(study: ds.Study, aggregation: Aggregation, seed: int) -> None:
    drawn = aggregation.sample(study, draws=4, threads=1)
    scores = np.random.default_rng(seed).normal(size=(drawn.n_cases, drawn.n_conditions))
    expected = np.einsum("cdk,ck->cd", spread(drawn), scores)
    np.testing.assert_allclose(conformities(drawn, scored(drawn, scores)), expected, rtol=0, atol=1e-12)


def test_conditions_without_a_score_have_none() -> None:
    drawn = ds.Plausibilities.from_draws([[[0.5, 0.3, 0.2]]], conditions=list("abc"), case_names=["x"])
    frame = pl.DataFrame({"case": ["x"], "condition": ["b"], "score": [0.5]})
    listed = ds.Predictions.from_long(frame, list("abc"), kind="scores")
    assert conformities(drawn, listed)[0, 0] == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("n_cases", "n_draws", "coverage", "place"),
    [
        (9, 1, 0.9, 1),  # 0.1 * 10 is one, though 1 - 0.9 is a little less than 0.1
        (8, 1, 0.9, 0),
        (49, 1, 0.9, 5),
        (49, 1, 0.89, 5),
        (50, 1, 0.89, 5),
        (10, 1, 0.5, 5),
        (9, 4, 0.9, 1),
        (49, 20, 0.9, 81),
        (3, 50, 0.9, 0),
    ],
)
def test_the_threshold_is_an_order_statistic(n_cases: int, n_draws: int, coverage: float, place: int) -> None:
    rng = np.random.default_rng(n_cases)
    drawn = ds.Plausibilities.from_draws(rng.dirichlet(np.ones(4), size=(n_cases, n_draws)))
    model = scored(drawn, rng.normal(size=(n_cases, 4)))
    regions = plausibility_regions(drawn, model, coverage=coverage)
    in_order = np.sort(conformities(drawn, model), axis=None)
    assert regions.threshold == (in_order[place - 1] if place else -math.inf)
    assert (regions.n_cases, regions.n_draws, regions.coverage) == (n_cases, n_draws, coverage)
    assert regions.guarantee == pytest.approx(coverage if n_draws == 1 else max(0.0, 2 * coverage - 1))


def test_the_share_of_draws_in_the_region_is_counted_by_case() -> None:
    drawn = ds.Plausibilities.from_draws([[[0.9, 0.1], [0.4, 0.6], [0.5, 0.5], [0.0, 1.0]], [[0.1, 0.9]] * 4])
    model = scored(drawn, np.array([[1.0, 0.0], [0.0, 1.0]]))
    np.testing.assert_array_equal(PlausibilityRegions(0.5, 0.9, 10, 1).contains(drawn, model), [0.5, 1.0])
    np.testing.assert_array_equal(PlausibilityRegions(-math.inf, 0.9, 10, 1).contains(drawn, model), [1.0, 1.0])


def test_results_do_not_depend_on_threads_or_on_the_order_of_a_model() -> None:
    study = ds.simulate.study(n_cases=40, seed=8)
    model = next(iter(study.predictions.values()))
    turned = model.select(list(reversed(model.case_names)))
    one, many = (Dirichlet().sample(study.annotations, draws=30, threads=threads) for threads in (1, 3))
    regions = plausibility_regions(one, model.align(one.case_names), coverage=0.8)
    assert regions == plausibility_regions(many, turned.align(one.case_names), coverage=0.8)
    np.testing.assert_array_equal(regions.contains(one, model), regions.contains(many, turned))
    assert regions.top_sets(one, model, top=2) == regions.top_sets(many, turned, top=2)


# Grids ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_conditions", "points"), [(1, 5), (2, 1), (2, 4), (3, 6), (4, 3)])
def test_a_grid_has_every_point_once_and_all_sum_to_one(n_conditions: int, points: int) -> None:
    model = ds.Predictions.from_scores(np.random.default_rng(1).normal(size=(3, n_conditions)))
    found, is_inside = PlausibilityRegions(0.1, 0.9, 10, 1).grid(model, points=points)
    steps = max(1, points - 1)
    assert len({tuple(point) for point in np.rint(found * steps).astype(int).tolist()}) == len(found)
    assert len(found) == math.comb(steps + n_conditions - 1, n_conditions - 1)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(is_inside, model.to_scores() @ found.T >= 0.1)


def test_a_grid_of_many_conditions_is_refused() -> None:
    model = ds.Predictions.from_scores(np.ones((2, 40)))
    with pytest.raises(ds.DissensusError, match=r"the grid is too large\n.*20,000,000.*\n.*40 conditions"):
        PlausibilityRegions(0.1, 0.9, 10, 1).grid(model)


# Sets -----------------------------------------------------------------------------------------------------


@given(small_studies(), st.sampled_from(AGGREGATIONS), st.integers(0, 2**32 - 1))
def test_sets_hold_what_may_be_among_the_first_of_a_draw_inside(
    study: ds.Study, aggregation: Aggregation, seed: int
) -> None:
    drawn = aggregation.sample(study, draws=4, threads=1)
    scores = np.random.default_rng(seed).normal(size=(drawn.n_cases, drawn.n_conditions))
    model = scored(drawn, scores)
    found = conformities(drawn, model)
    regions = PlausibilityRegions(float(np.median(found)), 0.5, 1, 1)
    compared = naive.compared(drawn)
    for top in range(1, drawn.n_conditions):
        sets = regions.top_sets(drawn, model, top=top)
        for case, support in enumerate(supports(drawn)):
            early = {
                drawn.conditions[code]
                for draw, theta in enumerate(compared[case])
                if found[case, draw] >= regions.threshold
                for members in naive.top_sets(theta, top)
                for code in members
                if code in support
            }
            assert {name for block in sets.to_lists()[case] for name in block} == early


# Bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_coverage_that_is_no_probability_is_refused(coverage: float) -> None:
    drawn = ds.Plausibilities.from_draws([[[0.9, 0.1]]])
    with pytest.raises(ds.DissensusError, match="coverage must be between 0 and 1"):
        plausibility_regions(drawn, scored(drawn, np.ones((1, 2))), coverage=coverage)


def test_models_without_scores_or_of_other_cases_are_refused() -> None:
    drawn = ds.Plausibilities.from_draws([[[0.9, 0.1]]], conditions=["a", "b"], case_names=["x"])
    regions = PlausibilityRegions(0.1, 0.9, 10, 1)
    for said in (ds.Predictions.from_rankings([["a", "b"]], ["a", "b"]), ds.Predictions.from_sets([["a"]], ["a", "b"])):
        for ask in (partial(plausibility_regions, drawn), regions.grid, partial(regions.top_sets, drawn)):
            with pytest.raises(ds.DissensusError, match=r"plausibility regions need scores\n.*(rankings|sets)"):
                ask(said)
    with pytest.raises(ds.DissensusError):
        plausibility_regions(drawn, ds.Predictions.from_scores([[0.5, 0.5]], ["a", "b"], case_names=["y"]))
