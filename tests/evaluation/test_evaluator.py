"""Evaluating: from annotations to results on disk, and where the answer is known without sampling."""

import pickle
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import dissensus as ds
from dissensus.aggregations import Dirichlet, InverseRank, MajorityVote, PlackettLuce, ProbabilisticInverseRank
from dissensus.aggregations.diagnostics import standard_errors_of_means
from dissensus.core.arrays import FloatArray
from dissensus.evaluation import store
from dissensus.evaluation.request import default_metrics
from dissensus.evaluation.store import FILES
from dissensus.metrics import AverageOverlap, BrierScore, Coverage, LogScore, SetAccuracy, TopKAccuracy
from dissensus.plugins import Metric
from refusals import refused

SIMULATED = ds.simulate.study(n_cases=90, n_conditions=12, seed=5)
SAID = SIMULATED.annotations
METRICS: tuple[Metric, ...] = (TopKAccuracy(1), TopKAccuracy(3), SetAccuracy(2), AverageOverlap(3))
AGGREGATIONS = (PlackettLuce(reliability=3, alpha=1.0, prior="observed"), ProbabilisticInverseRank(reliability=30))


def scores(quality: float, seed: int) -> FloatArray:
    noise = np.random.default_rng(seed).gumbel(size=SIMULATED.theta.shape)
    return np.asarray(np.exp(quality * np.log(SIMULATED.theta) + noise))


MODELS = {"good": scores(2.0, 1), "fair": scores(0.4, 2), "same": scores(0.4, 3)}


def evaluated(said: ds.Study = SAID, models: Any = MODELS, **how: Any) -> ds.Evaluation:
    usual = {"aggregations": [Dirichlet()], "metrics": [TopKAccuracy(1)], "draws": 20, "annotators": "fixed"}
    return ds.evaluate(said, models, **{**usual, **how})


ASKED: dict[str, Any] = {"aggregations": AGGREGATIONS, "metrics": METRICS, "draws": 200, "seed": 1}


@pytest.fixture(scope="module")
def result() -> ds.Evaluation:
    return evaluated(**ASKED)


@pytest.mark.parametrize("learned", ["plackett-luce:1", "dirichlet:1:prior=frequency", "dirichlet:1:alpha=fitted"])
def test_parts_are_not_merged_where_something_was_learned_from_all_cases(learned: str) -> None:
    one, other = (
        evaluated(SAID.select(rows), {"good": MODELS["good"][rows]}, aggregations=[learned])
        for rows in (slice(0, 20), slice(20, 40))
    )
    refused("cannot be merged", one.merge, other)


def test_one_reference_run_leads_and_the_sweep_comes_on_request() -> None:
    plain, swept = (evaluated(aggregations=None, annotators="sample", sweep=sweep) for sweep in (False, True))
    assert [run.label for run in plain.runs] == ["plackett-luce 1"]
    reliabilities = [run.reliability for run in swept.runs]
    assert reliabilities == [1, 2, 3, 5, 10, 10, 20, 30, 50, 100]
    assert_frame_equal(
        plain.to_frame(), swept.to_frame().filter(pl.col("run").is_in(["plackett-luce 1", "annotators"]))
    )
    assert set(swept.moved) == {"run 0", "annotators"}, "annotators are left out of what is read"
    refused("a sweep and aggregations are both given", evaluated, sweep=True)


def test_what_cannot_be_merged_says_why(result: ds.Evaluation) -> None:
    refused("case names must all be different", result.merge, result)
    other = evaluated(**{**ASKED, "aggregations": AGGREGATIONS[:1]})
    refused("different runs cannot be merged", result.merge, other)


def test_the_same_seed_gives_the_same_bytes(result: ds.Evaluation, tmp_path: Path) -> None:
    assert pickle.loads(pickle.dumps(result)) == result
    result.save(tmp_path / "one")
    evaluated(**ASKED, threads=1).save(tmp_path / "two")
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_earlier_results_are_replaced_whole_when_asked_for_and_never_lost(
    result: ds.Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "results"
    result.save(target)
    (target / "report.html").write_text("an old report")
    refused("exists already", result.save, target)
    result.save(target, overwrite=True)
    assert sorted(path.name for path in target.iterdir()) == sorted(FILES)
    before = (target / "summary.json").read_bytes()
    with monkeypatch.context() as broken:
        broken.setattr(store, "write_arrays", Mock(side_effect=OSError(28, "No space left on device")))
        refused("no space left on device", result.save, target, overwrite=True)
    assert (target / "summary.json").read_bytes() == before
    (target / "thesis.tex").write_text("years of work")
    caught = refused("holds something else", result.save, target, overwrite=True)
    assert caught.got == "thesis.tex"
    assert (target / "thesis.tex").read_text() == "years of work"
    assert sorted(tmp_path.iterdir()) == [target]


def test_deterministic_aggregations_have_no_spread_but_an_interval() -> None:
    sites = ["north" if case % 3 else "south" for case in range(90)]
    result = evaluated(aggregations=["dirichlet:1,2,5", MajorityVote()], strata={"site": sites})
    table = result.to_frame().filter(run="majority-vote")
    assert (table["sd"] < 1e-12).all()
    assert (table["low"] < table["high"]).all()
    np.testing.assert_allclose(table["difference"].drop_nulls(), 0, atol=1e-12)
    assert table["n_draws"].unique().to_list() == [1]
    assert dict(result.by_group("site").select("stratum", "n_cases").iter_rows()) == {"north": 60, "south": 30}
    refused("no column 'sites'", result.by_group, "sites")


def test_only_cases_that_all_models_have_are_evaluated_when_allowed() -> None:
    whole = ds.Predictions.from_scores(MODELS["good"], SAID.conditions, case_names=SAID.case_names)
    models = {"whole": whole, "part": whole.select(slice(0, 50))}
    refused(r"missing|lack", evaluated, models=models)
    assert evaluated(models=models, allow_missing=True).n_cases == 50
    halves = {"a": whole.select(slice(0, 40)), "b": whole.select(slice(40, 90))}
    refused("no case in common", evaluated, models=halves, allow_missing=True)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"aggregations": []}, "nothing to evaluate"),
        ({"metrics": []}, "nothing to evaluate"),
        ({"aggregations": [PlackettLuce(3), PlackettLuce(3)]}, "given twice"),
        ({"metrics": [TopKAccuracy(1), TopKAccuracy(1)]}, "metric names must all be different"),
        ({"level": 1.5}, "level must be between 0 and 1"),
        ({"strata": {"site": ["a"]}}, "number of site labels does not fit"),
        ({"metrics": [TopKAccuracy(12)]}, "12"),
        ({"metrics": [Coverage()]}, "set"),
        ({"draws": 0}, "draws must be a whole number"),
    ],
)
def test_bad_requests_are_refused_before_anything_is_drawn(change: dict[str, Any], problem: str) -> None:
    refused(problem, evaluated, **{"metrics": METRICS, **change})


def test_specs_may_be_given_as_text() -> None:
    metrics: Any
    metrics, specs = ["top-k-accuracy:1,3", "set-accuracy:2"], ["plackett-luce:1,3", "inverse-rank:each"]
    by_text = evaluated(aggregations=specs, metrics=metrics)
    metrics = [TopKAccuracy(1), TopKAccuracy(3), SetAccuracy(2)]
    assert by_text == evaluated(
        aggregations=[PlackettLuce(1.0), PlackettLuce(3.0), InverseRank("each")], metrics=metrics
    )
    assert evaluated(aggregations="dirichlet", metrics="overlap:2", draws=5).metrics[0].name


def test_runs_of_one_aggregation_with_other_parameters_are_told_apart_in_every_table() -> None:
    priors = [
        PlackettLuce(3, alpha=1.0, prior="observed"),
        PlackettLuce(3, alpha=0.5, prior="observed"),
        PlackettLuce(3, prior="symmetric", alpha=0.1),
    ]
    result = evaluated(aggregations=priors)
    labels = [run.label for run in result.runs]
    assert labels == [
        "plackett-luce (alpha=1, prior=observed) 3",
        "plackett-luce (alpha=0.5, prior=observed) 3",
        "plackett-luce (alpha=0.1, prior=symmetric) 3",
    ]
    whole = (result.to_frame, result.per_case, result.per_draw, result.certainties, result.by_certainty)
    tables = [table() for table in (*whole, result.plausibilities, result.compare().to_frame)]
    tables.append(result.compare().rank_frame())
    for table in tables:
        adjusted = table.filter(table["run"] != "annotators")
        assert adjusted["run"].unique(maintain_order=True).to_list() == labels
        assert adjusted.select("aggregation", "reliability").n_unique() == 3
    means = result.to_frame().filter(model="good", estimand="adjusted")["mean"].to_list()
    assert len(set(means)) == 3


def test_the_table_summarises_draws_and_resamples_at_the_level_asked_for() -> None:
    result = evaluated(**ASKED, level=0.5)
    row = result.to_frame().row(0, named=True)
    first = {name: row[name] for name in ("run", "model", "metric")}
    means, resampled = (each.filter(**first)["mean"].to_numpy() for each in (result.per_draw(), result.per_resample()))
    expected = [
        *(means.mean(), means.std(), *np.quantile(resampled, [0.25, 0.75]), *np.quantile(means, [0.25, 0.75])),
        *(means.min(), means.max(), standard_errors_of_means(means[None], 4)[0]),
    ]
    names = ("mean", "sd", "low", "high", "annotation_low", "annotation_high", "min", "max", "mc_error")
    np.testing.assert_allclose([row[name] for name in names], expected)


def test_metrics_keep_their_order_whatever_they_need() -> None:
    """Metrics of orders and of draws are computed apart and must come back in the places that they were given."""
    metrics = [BrierScore(), TopKAccuracy(1), LogScore(floor=0.01), SetAccuracy(2)]
    together = evaluated(metrics=metrics)
    for metric in metrics:
        alone = evaluated(metrics=[metric])
        for table in ("per_draw", "per_case"):
            own = getattr(together, table)().filter(metric=metric.name)
            assert_frame_equal(own, getattr(alone, table)(), rel_tol=1e-12)
    assert together.to_frame()["metric"].unique(maintain_order=True).to_list() == [one.name for one in metrics]
    for row in together.to_frame().filter(estimand="adjusted").drop_nulls("difference").iter_rows(named=True):
        assert row["difference"] == pytest.approx(row["point_estimate"] - row["mean"], nan_ok=True)


def test_reliability_one_stands_for_all_else_the_middle_of_the_sweep() -> None:
    for sweep, label in (("dirichlet:1,2,5", "dirichlet 1"), ("dirichlet:2,3,5", "dirichlet 3")):
        result = evaluated(aggregations=[sweep])
        assert result.runs[result.reference].label == label


def test_usual_metrics_leave_out_those_of_all_conditions() -> None:
    single = ds.Study.from_counts([[3, 1, 0]], ["a", "b", "c"])
    ranked = ds.Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"])
    for said, names in (single, ["top-1 accuracy"]), (ranked, ["top-1 accuracy", "top-2 set accuracy"]):
        assert [metric.name for metric in default_metrics(said, {}, said.conditions, None)] == names


def test_cases_that_one_aggregation_leaves_out_are_left_out_of_all_and_named() -> None:
    said = ds.Study.from_rankings([[[["a"]]], []], ["a", "b"], case_names=["x", "nobody"])
    drawn = ds.Plausibilities.from_draws([[[0.9, 0.1]]] * 2, conditions=["a", "b"], case_names=["x", "nobody"])
    result = ds.evaluate(said, {}, aggregations=[drawn, "dirichlet"], draws=10)
    assert (result.case_names, result.excluded) == (("x",), ("nobody",))
