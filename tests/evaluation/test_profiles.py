"""What an evaluation says about cases, categories and certainty, against plain computation on dense draws."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dissensus import (
    Annotations,
    AverageOverlap,
    BrierScore,
    Categories,
    Dirichlet,
    DissensusError,
    Evaluation,
    InverseRank,
    LogScore,
    Metric,
    NormalInverseGamma,
    PlackettLuce,
    Predictions,
    Ratings,
    SetAccuracy,
    TopKAccuracy,
    UserMetric,
    annotation_certainty,
    annotator_agreement,
    evaluate,
    expected_risk,
    load_evaluation,
)
from dissensus.core.aliases import FloatArray
from dissensus.draws import Plausibilities
from dissensus.evaluation.certainty import certainty_profile
from dissensus.evaluation.tally import Values, bin_of
from dissensus.metrics.base import Drawn, Predicted

RNG = np.random.default_rng(4)
CONDITIONS = ("acne", "eczema", "nevus", "melanoma", "wart")
VOTES = Annotations.from_counts(RNG.integers(1, 6, size=(150, 5)), CONDITIONS)
"""Every condition is mentioned on every case, so that nothing is left to expectation."""
RISKS = Categories.from_labels(["low", "low", "medium", "high", "low"], CONDITIONS)
SCORES = {"first": RNG.random((150, 5)), "second": RNG.random((150, 5))}
METRICS: tuple[Metric, ...] = (TopKAccuracy(2), BrierScore(), SetAccuracy(2))
DRAWS = 120
SITES = ["north" if case % 3 else "south" for case in range(150)]


@pytest.fixture(scope="module")
def result() -> Evaluation:
    return evaluate(
        VOTES,
        SCORES,
        aggregations=[Dirichlet(reliability=2), PlackettLuce(reliability=1, alpha=1.0, prior="observed")],
        metrics=METRICS,
        draws=DRAWS,
        seed=3,
        categories=RISKS,
        strata={"site": SITES},
        images=[f"{name}.png" for name in VOTES.case_names],
        panel=False,
    )


@pytest.fixture(scope="module")
def dense() -> FloatArray:
    return Dirichlet(reliability=2).sample(VOTES, draws=DRAWS, seed=3).dense()


def hits(dense: FloatArray) -> FloatArray:
    """Whether the best condition of each draw is in the first model's top two, (cases, draws)."""
    top = np.argsort(-SCORES["first"], axis=1)[:, :2]
    return np.asarray((dense.argmax(axis=2)[:, :, None] == top[:, None]).any(axis=2), dtype=np.float64)


def test_metrics_by_category_use_the_category_of_each_draw(result: Evaluation, dense: FloatArray) -> None:
    is_high = RISKS.codes[dense.argmax(axis=2)] == RISKS.names.index("high")
    per_draw = (hits(dense) * is_high).sum(axis=0) / is_high.sum(axis=0)
    tally = result.tally("run 0", ("category", "high"))
    np.testing.assert_allclose(tally.means[0, 0], per_draw, atol=1e-12)
    row = result.by_category().filter(category="high", model="first", metric="top-2 accuracy").row(0, named=True)
    assert row["mean"] == pytest.approx(per_draw.mean())
    assert row["low"] < row["mean"] < row["high"]
    sizes = dict(result.by_category().select("category", "n_cases").unique("category").iter_rows())
    assert sum(sizes.values()) == pytest.approx(150)


def test_metrics_that_need_all_draws_have_categories_too(result: Evaluation, dense: FloatArray) -> None:
    is_low = RISKS.codes[dense.argmax(axis=2)] == RISKS.names.index("low")
    shares = SCORES["second"] / SCORES["second"].sum(axis=1, keepdims=True)
    brier = dense @ np.ones(5) - 2 * np.einsum("ijk,ik->ij", dense, shares) + (shares**2).sum(axis=1)[:, None]
    per_draw = (brier * is_low).sum(axis=0) / is_low.sum(axis=0)
    np.testing.assert_allclose(result.tally("run 0", ("category", "low")).means[1, 1], per_draw, atol=1e-12)


def test_metrics_by_certainty_are_means_over_the_cases_of_a_bin(result: Evaluation, dense: FloatArray) -> None:
    winners = dense.argmax(axis=2)
    certainty = np.array([np.bincount(row).max() / DRAWS for row in winners])
    table = result.by_certainty().filter(aggregation="dirichlet", model="first", metric="top-2 accuracy")
    assert table["n_cases"].sum() == 150
    for row in table.iter_rows(named=True):
        inside = (certainty >= row["from"]) & ((certainty < row["to"]) | (row["to"] == 1))
        assert row["n_cases"] == inside.sum()
        assert row["mean"] == pytest.approx(hits(dense)[inside].mean())
        assert row["low"] <= row["mean"] <= row["high"]


def test_a_certainty_at_the_edge_of_bins_is_in_the_upper_one_even_if_it_is_rounded() -> None:
    certainties = np.array([0.5 - 1e-6, 0.5 - 1e-15, 0.5, 0.9 - 1e-15, 0.99 - 1e-6, 0.99 - 1e-15, 1.0])
    assert bin_of(certainties).tolist() == [0, 1, 1, 4, 4, 5, 5]


def test_draws_in_which_a_metric_is_undefined_do_not_change_the_spread_of_a_case() -> None:
    def defined_at_first(_: FloatArray, plausibilities: FloatArray) -> FloatArray:
        values = plausibilities.max(axis=2)
        values[:, DRAWS // 4 :] = np.nan
        return np.asarray(values)

    metric = UserMetric("own", defined_at_first)
    found = evaluate(VOTES, SCORES, aggregations=[Dirichlet()], metrics=[metric], draws=DRAWS)
    known = Dirichlet().sample(VOTES, draws=DRAWS).dense().max(axis=2)[:, : DRAWS // 4]
    np.testing.assert_allclose(found.case_means[0, 0, 0], known.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(found.case_deviations[0, 0, 0], known.std(axis=1), rtol=1e-9)
    np.testing.assert_allclose(found.case_shares[0, 0, 0], 0.25)


def test_tables_of_cases_are_those_of_single_functions(result: Evaluation) -> None:
    draws = PlackettLuce(reliability=1, alpha=1.0, prior="observed").sample(VOTES, draws=DRAWS, seed=3)
    for top, expected in enumerate(certainty_profile(draws, tops=(1, 2, 3)), start=1):
        found = result.certainties().filter(aggregation="plackett-luce", top=top)
        np.testing.assert_allclose(found["certainty"], expected.values, atol=1e-12)
        np.testing.assert_allclose(found["error"], expected.errors, atol=1e-12)
        assert [tuple(winner) for winner in found["winner"].to_list()] == list(expected.winners)
    by_risk = annotation_certainty(draws, categories=RISKS)
    found = result.category_certainties().filter(aggregation="plackett-luce")
    np.testing.assert_allclose(found["certainty"], by_risk.values, atol=1e-12)
    assert [(name,) for name in found["category"]] == list(by_risk.winners)
    risks = result.risks().filter(aggregation="plackett-luce").select("case", "mean", "min", "max")
    assert risks.equals(expected_risk(draws, RISKS))
    assert result.agreement()["agreement"].to_list() == annotator_agreement(VOTES).values.tolist()


def test_plausibilities_are_means_shares_and_some_draws(result: Evaluation) -> None:
    draws = PlackettLuce(reliability=1, alpha=1.0, prior="observed").sample(VOTES, draws=DRAWS, seed=3)
    summary, found = draws.summary(), result.plausibilities().filter(aggregation="plackett-luce")
    assert found["condition"].to_list() == summary["condition"].to_list()
    np.testing.assert_allclose(found["mean"], summary["mean"], atol=1e-12)
    np.testing.assert_allclose(found["top"], summary["top"], atol=1e-12)
    kept = np.array(found.filter(case=VOTES.case_names[7])["draws"].to_list())
    every = draws.dense()[7].T
    np.testing.assert_allclose(kept[:5], every[:, np.linspace(0, DRAWS - 1, 20).astype(int)], atol=5e-4)


def test_unmentioned_conditions_are_any_other() -> None:
    said = Annotations.from_rankings([[[["a"]]], [[["b"], ["c"]]]], ["a", "b", "c", "d"], case_names=["x", "y"])
    result = evaluate(said, {}, aggregations=[InverseRank()])
    winners = dict(result.certainties().filter(top=2).select("case", "winner").iter_rows())
    assert winners == {"x": ["a", "any other"], "y": ["b", "c"]}
    assert dict(result.certainties().filter(top=2).select("case", "certainty").iter_rows())["x"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("pieces", [2, 7])
def test_merging_keeps_everything(result: Evaluation, pieces: int) -> None:
    parts = [
        evaluate(
            VOTES.select(cases.tolist()),
            {name: scores[cases] for name, scores in SCORES.items()},
            aggregations=[Dirichlet(reliability=2), PlackettLuce(reliability=1, alpha=1.0, prior="observed")],
            metrics=METRICS,
            draws=DRAWS,
            seed=3,
            categories=RISKS,
            strata={"site": [SITES[case] for case in cases]},
            images=[f"{VOTES.case_names[case]}.png" for case in cases],
        )
        for cases in np.array_split(np.arange(150), pieces)
    ]
    whole = reduce(Evaluation.merge, parts)
    assert (whole.study, whole.predictions, whole.strata) == (result.study, result.predictions, result.strata)
    assert whole.certainties().equals(result.certainties())
    for name in ("by_category", "by_certainty", "to_frame"):
        one, other = (getattr(each, name)() for each in (whole, result))
        np.testing.assert_allclose(one["mean"], other["mean"], rtol=1e-12)
        single = 1e-6 if name == "by_category" else 1e-12  # sums of categories are kept in single precision
        np.testing.assert_allclose(one["low"], other["low"], rtol=single)
    different = evaluate(VOTES.select([0]), {n: s[:1] for n, s in SCORES.items()}, metrics=METRICS, draws=DRAWS, seed=3)
    with pytest.raises(DissensusError, match="cannot be merged"):
        result.merge(different)


def test_everything_comes_back_from_disk(result: Evaluation, tmp_path: Path) -> None:
    result.save(tmp_path / "results")
    again = load_evaluation(tmp_path / "results")
    assert again == result
    assert again.plausibilities().equals(result.plausibilities())
    assert again.images[2] == "2.png"
    certainty = pl.read_parquet(tmp_path / "results" / "certainty.parquet")
    assert certainty.equals(result.certainties())


def test_without_models_there_is_certainty(tmp_path: Path) -> None:
    result = evaluate(VOTES, {}, aggregations=[Dirichlet()], draws=50, categories=RISKS)
    assert result.models == ()
    assert len(result.to_frame()) == len(result.by_certainty()) == len(result.by_category()) == 0
    assert len(result.certainties()) == 3 * 150
    assert "0 models, 150 cases" in repr(result)
    result.save(tmp_path / "results")
    assert load_evaluation(tmp_path / "results") == result


def test_ratings_are_evaluated_too(tmp_path: Path) -> None:
    scores = Ratings.from_scores([[1.0, 2.0, 3.0], [6.0, 7.0], [5.0, 4.0, 5.5]], case_names=["x", "y", "z"])
    aggregation = NormalInverseGamma(thresholds=(5.0,))
    conditions = aggregation.sample(scores, draws=1).conditions
    model = Predictions.from_scores([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], conditions, case_names=["x", "y", "z"])
    result = evaluate(scores, {"m": model}, aggregations=[aggregation], metrics=[TopKAccuracy(1)], draws=400)
    means = dict(result.per_case().select("case", "mean").iter_rows())
    assert means["z"] == 0.5
    assert means["x"] > 0.9
    assert len(result.agreement()) == 0
    result.save(tmp_path / "results")
    assert load_evaluation(tmp_path / "results") == result


def test_a_study_without_opinions_is_refused() -> None:
    said = Annotations.from_rankings([[]], ["a", "b"], case_names=["x"])
    with pytest.raises(DissensusError, match="no case has any opinion"):
        evaluate(said, {})


def test_aggregations_with_different_conditions_are_refused() -> None:
    scores = Ratings.from_scores([[1.0, 2.0]])
    with pytest.raises(DissensusError, match="different conditions"):
        evaluate(
            scores, {}, aggregations=[NormalInverseGamma(thresholds=(1.0,)), NormalInverseGamma(thresholds=(2.0,))]
        )


def test_labels_of_runs_are_unique() -> None:
    runs = [PlackettLuce(reliability=3), PlackettLuce(reliability=3, prior="symmetric"), Dirichlet()]
    result = evaluate(VOTES.select(slice(0, 3)), {}, aggregations=runs, draws=20)
    labels = [result.run_label(run) for run in range(3)]
    assert len(set(labels)) == 3
    assert labels[2] == "dirichlet 1"
    assert result.reference == 1


# The tally of orders against the tally of draws ------------------------------------------------------------


def one_batch(draws: Plausibilities) -> Values:
    (batch,) = draws.map(lambda batch: batch, batch_cases=1000)
    names = VOTES.case_names[:40]
    models = [Predictions.from_scores(scores[:40], CONDITIONS, case_names=names) for scores in SCORES.values()]
    known = [Predicted(model, batch) for model in models]
    return Values.of(Drawn(batch, 3), (LogScore(), TopKAccuracy(1), BrierScore(), AverageOverlap(3)), known)


@pytest.mark.parametrize("n_groups", [1, 3])
@pytest.mark.parametrize("step", [1, 4])
def test_tallies_of_orders_are_tallies_of_draws(n_groups: int, step: int) -> None:
    values = one_batch(PlackettLuce().sample(VOTES.select(slice(0, 40)), draws=60))
    rng = np.random.default_rng(n_groups)
    weights, groups = rng.random(40), rng.integers(n_groups, size=40)
    shares = rng.random((values.of_orders.shape[-1],))
    of_draw = values.drawn.orders.of_draw
    every = values.arranged(values.of_orders[..., of_draw], values.of_draws)[..., ::step]
    for group in range(n_groups):
        mask = groups == group
        counted = (weights[:, None] * shares[of_draw])[mask][:, ::step]
        (sums, masses), total = values.by_draw(weights, 60, step=step, chance=shares, rows=np.flatnonzero(mask))
        np.testing.assert_allclose(sums, (counted * every[:, :, mask]).sum(axis=2), rtol=1e-12)
        np.testing.assert_allclose(masses, np.broadcast_to(counted.sum(axis=0), masses.shape), rtol=1e-12)
        np.testing.assert_allclose(total, counted.sum(axis=0), rtol=1e-12)


def test_means_of_cases_over_the_draws_that_count_are_weighted_means() -> None:
    values = one_batch(PlackettLuce().sample(VOTES.select(slice(0, 40)), draws=60))
    chance = np.random.default_rng(8).random((values.of_orders.shape[-1],))
    means, shares = values.counted(chance)
    of_draw = values.drawn.orders.of_draw
    every = values.arranged(values.of_orders[..., of_draw], values.of_draws)
    weights = chance[of_draw]
    np.testing.assert_allclose(means, (weights * every).sum(axis=-1) / weights.sum(axis=-1), rtol=1e-12)
    np.testing.assert_allclose(shares, np.broadcast_to(weights.mean(axis=-1), shares.shape), rtol=1e-12)


def test_a_notebook_shows_an_escaped_table() -> None:
    result = evaluate(VOTES, {"<b>m</b>": SCORES["first"]}, aggregations=[Dirichlet()], draws=20)
    html = result._repr_html_()
    assert "&lt;b&gt;m&lt;/b&gt;" in html
    assert "<b>" not in html
    assert "top-1 accuracy" in html


def test_deterministic_aggregations_have_all_their_tables(tmp_path: Path) -> None:
    result = evaluate(
        VOTES, SCORES, aggregations=[InverseRank(), Dirichlet()], metrics=METRICS, draws=30, categories=RISKS
    )
    table = result.per_draw().filter(aggregation="inverse-rank", model="first", metric="top-2 accuracy")
    assert len(table) == 30
    assert table["mean"].n_unique() == 1
    result.save(tmp_path / "results")
    assert load_evaluation(tmp_path / "results") == result
    assert len(result.warnings) <= 1


def test_a_rare_category_is_judged_by_the_draws_that_have_it() -> None:
    votes = Annotations.from_counts([[6, 1, 1], [5, 2, 1], [6, 1, 0]], ["a", "b", "c"])
    groups = Categories.from_labels(["common", "common", "rare"], votes.conditions)
    scores = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.5, 0.3, 0.2]])
    aggregation = Dirichlet(reliability=1)
    result = evaluate(
        votes, {"m": scores}, aggregations=[aggregation], metrics=[TopKAccuracy(1)], draws=200, categories=groups
    )
    best = aggregation.sample(votes, draws=200).dense().argmax(axis=2)
    is_rare = best == 2
    has_any = is_rare.any(axis=0)
    assert 0 < has_any.mean() < 1
    expected = is_rare[1] * 1.0
    row = result.by_category().filter(category="rare").row(0, named=True)
    assert row["mean"] == pytest.approx((expected / np.maximum(is_rare.sum(axis=0), 1))[has_any].mean())
    assert row["n_cases"] == pytest.approx(is_rare.sum(axis=0).mean())
    assert row["low"] <= row["mean"] <= row["high"]


def test_a_category_that_no_draw_has_is_undefined() -> None:
    said = Annotations.from_rankings([[[["a"]]]], ["a", "b", "c"])
    groups = Categories.from_labels(["x", "y", "y"], said.conditions)
    result = evaluate(
        said, {"m": [[1, 2, 3]]}, aggregations=[InverseRank()], metrics=[TopKAccuracy(1)], categories=groups
    )
    row = result.by_category().filter(category="y").row(0, named=True)
    assert np.isnan(row["mean"])
    assert np.isnan(row["low"])
    assert row["n_cases"] == 0
