"""Evaluating: the pieces together, from annotations and predictions to results on disk."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from polars.testing import assert_frame_equal

import dissensus as ds
from dissensus.aggregations import Dirichlet, InverseRank, MajorityVote, PlackettLuce, ProbabilisticInverseRank
from dissensus.aggregations.diagnostics import standard_errors_of_means
from dissensus.core.aliases import FloatArray
from dissensus.evaluation import store
from dissensus.evaluation.evaluator import default_metrics
from dissensus.evaluation.store import FILES
from dissensus.metrics import AverageOverlap, BrierScore, Coverage, LogScore, SetAccuracy, TopKAccuracy
from dissensus.plugins import Metric

SIMULATED = ds.simulate.study(n_cases=90, n_conditions=12, seed=5)
SAID = SIMULATED.annotations
METRICS: tuple[Metric, ...] = (TopKAccuracy(1), TopKAccuracy(3), SetAccuracy(2), AverageOverlap(3))
AGGREGATIONS = (
    PlackettLuce(reliability=3, alpha=1.0, prior="observed"),
    ProbabilisticInverseRank(reliability=30),
)


def scores(quality: float, seed: int) -> FloatArray:
    noise = np.random.default_rng(seed).gumbel(size=SIMULATED.theta.shape)
    return np.asarray(np.exp(quality * np.log(SIMULATED.theta) + noise))


MODELS = {"good": scores(2.0, 1), "fair": scores(0.4, 2), "same": scores(0.4, 3)}


@pytest.fixture(scope="module")
def result() -> ds.Evaluation:
    return ds.evaluate(SAID, MODELS, aggregations=AGGREGATIONS, metrics=METRICS, draws=200, seed=1)


@pytest.mark.parametrize("learned", ["plackett-luce:1", "dirichlet:1:prior=frequency", "dirichlet:1:alpha=fitted"])
def test_parts_are_not_merged_where_something_was_learned_from_all_cases(learned: str) -> None:
    parts = [
        ds.evaluate(
            SAID.select(chosen),
            {"good": MODELS["good"][chosen]},
            aggregations=[learned],
            metrics=[TopKAccuracy(1)],
            draws=20,
            annotators="fixed",
        )
        for chosen in (slice(0, 20), slice(20, 40))
    ]
    with pytest.raises(ds.DissensusError, match="cannot be merged"):
        parts[0].merge(parts[1])
    assert not Dirichlet().learns
    assert not PlackettLuce(prior="observed").learns


def test_what_cannot_be_merged_says_why(result: ds.Evaluation) -> None:
    with pytest.raises(ds.DissensusError, match="case names must all be different"):
        result.merge(result)
    other = ds.evaluate(SAID, MODELS, aggregations=AGGREGATIONS[:1], metrics=METRICS, draws=200, seed=1)
    with pytest.raises(ds.DissensusError, match="different runs cannot be merged"):
        result.merge(other)


def test_the_same_seed_gives_the_same_bytes(result: ds.Evaluation, tmp_path: Path) -> None:
    result.save(tmp_path / "one")
    ds.evaluate(SAID, MODELS, aggregations=AGGREGATIONS, metrics=METRICS, draws=200, seed=1, threads=1).save(
        tmp_path / "two"
    )
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_earlier_results_are_replaced_when_asked_for(result: ds.Evaluation, tmp_path: Path) -> None:
    target = tmp_path / "results"
    result.save(target)
    before = (target / "run.json").stat().st_ino
    (target / "report.html").write_text("an old report")
    with pytest.raises(ds.DissensusError, match="exists already"):
        result.save(target)
    result.save(target, overwrite=True)
    assert (target / "run.json").stat().st_ino != before
    assert sorted(path.name for path in target.iterdir()) == sorted(FILES)
    (target / "thesis.tex").write_text("years of work")
    with pytest.raises(ds.DissensusError, match="holds something else") as caught:
        result.save(target, overwrite=True)
    assert caught.value.got == "thesis.tex"
    assert (target / "thesis.tex").read_text() == "years of work"
    assert sorted(tmp_path.iterdir()) == [target]


def test_a_failing_disk_leaves_the_old_results(
    result: ds.Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "results"
    result.save(target)
    before = (target / "summary.json").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "write_arrays", full)
    with pytest.raises(ds.DissensusError, match="no space left on device"):
        result.save(target, overwrite=True)
    assert (target / "summary.json").read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [target]


def test_results_survive_pickling(result: ds.Evaluation) -> None:
    assert pickle.loads(pickle.dumps(result)) == result


def test_a_better_model_is_found_better_and_equal_ones_not_distinguishable(result: ds.Evaluation) -> None:
    found = {(d.first, d.second): d for d in result.compare().differences if d.metric == "top-3 accuracy"}
    assert found["good", "fair"].is_distinguishable
    assert found["good", "fair"].verdict == "good is better than fair"
    assert found["good", "fair"].probability_better > 0.99
    assert found["fair", "same"].verdict == "fair and same are not distinguishable"


def test_deterministic_aggregations_have_no_spread_but_an_interval() -> None:
    table = ds.evaluate(SAID, MODELS, aggregations=[MajorityVote()], metrics=[TopKAccuracy(1)], draws=300).to_frame()
    assert (table["sd"] < 1e-12).all()
    assert (table["low"] < table["high"]).all()
    np.testing.assert_allclose(table["difference"].drop_nulls(), 0, atol=1e-12)


def test_strata_add_up_and_show_their_size() -> None:
    sites = ["north" if case % 3 else "south" for case in range(90)]
    result = ds.evaluate(
        SAID, MODELS, aggregations=[Dirichlet()], metrics=[TopKAccuracy(1)], draws=100, strata={"site": sites}
    )
    table = result.by_group("site")
    sizes = dict(zip(table["stratum"], table["n_cases"], strict=True))
    assert sizes == {"north": 60, "south": 30}
    overall = result.to_frame()["mean"][0]
    good = table.filter(table["model"] == "good").sort("stratum")["mean"]
    assert overall == pytest.approx((60 * good[0] + 30 * good[1]) / 90)
    with pytest.raises(ds.DissensusError, match="no column 'sites'"):
        result.by_group("sites")


def test_groups_share_their_weights() -> None:
    """Cases that come in identical pairs of one patient are worth as much as one of each."""
    single = ds.Study.from_counts([[3, 1], [1, 3], [2, 2], [4, 0]], ["a", "b"])
    names = [f"{case}{twin}" for case in single.case_names for twin in "xy"]
    double = ds.Study.from_counts(
        np.repeat([[3, 1], [1, 3], [2, 2], [4, 0]], 2, axis=0),
        ["a", "b"],
        case_names=names,
        groups=[name[0] for name in names],
    )
    lonely = ds.Study.from_counts(np.repeat([[3, 1], [1, 3], [2, 2], [4, 0]], 2, axis=0), ["a", "b"], case_names=names)
    model = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
    spread = {}
    for label, said, matrix in (
        ("single", single, model),
        ("double", double, np.repeat(model, 2, axis=0)),
        ("lonely", lonely, np.repeat(model, 2, axis=0)),
    ):
        table = ds.evaluate(said, {"m": matrix}, aggregations=[MajorityVote()], metrics=[TopKAccuracy(1)], draws=4000)
        spread[label] = table.to_frame()["case_sd"][0]
    few = (5 / 3) ** 0.5  # what four groups are widened by, and four cases are not
    assert spread["double"] == pytest.approx(few * spread["single"], rel=0.05)
    assert spread["lonely"] < 0.85 * spread["single"]


def test_only_cases_that_all_models_have_are_evaluated_when_allowed() -> None:
    whole = ds.Predictions.from_scores(MODELS["good"], SAID.conditions, case_names=SAID.case_names)
    part = whole.select(slice(0, 50))
    with pytest.raises(ds.DissensusError, match=r"missing|lack"):
        ds.evaluate(SAID, {"whole": whole, "part": part}, aggregations=[Dirichlet()], metrics=METRICS, draws=20)
    result = ds.evaluate(
        SAID,
        {"whole": whole, "part": part},
        aggregations=[Dirichlet()],
        metrics=METRICS,
        draws=20,
        allow_missing=True,
    )
    assert result.n_cases == 50


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
def test_bad_requests_are_refused_before_anything_is_drawn(change: dict[str, object], problem: str) -> None:
    request: dict[str, object] = {"aggregations": [Dirichlet()], "metrics": METRICS, "draws": 10, **change}
    with pytest.raises(ds.DissensusError, match=problem):
        ds.evaluate(SAID, MODELS, **request)  # type: ignore[arg-type]


def test_models_without_common_cases_are_refused() -> None:
    whole = ds.Predictions.from_scores(MODELS["good"], SAID.conditions, case_names=SAID.case_names)
    halves = {"a": whole.select(slice(0, 40)), "b": whole.select(slice(40, 90))}
    with pytest.raises(ds.DissensusError, match="no case in common"):
        ds.evaluate(SAID, halves, allow_missing=True)


def test_specs_may_be_given_as_text() -> None:
    by_text = ds.evaluate(
        SAID,
        MODELS,
        aggregations=["plackett-luce:1,3", "inverse-rank:each"],
        metrics=["top-k-accuracy:1,3", "set-accuracy:2"],
        draws=20,
    )
    by_objects = ds.evaluate(
        SAID,
        MODELS,
        aggregations=[PlackettLuce(1.0), PlackettLuce(3.0), InverseRank("each")],
        metrics=[TopKAccuracy(1), TopKAccuracy(3), SetAccuracy(2)],
        draws=20,
    )
    assert by_text == by_objects
    assert ds.evaluate(SAID, MODELS, aggregations="dirichlet", metrics="overlap:2", draws=5).metrics[0].name


def test_runs_of_one_aggregation_with_other_parameters_are_told_apart_in_every_table() -> None:
    priors = [
        PlackettLuce(3, alpha=1.0, prior="observed"),
        PlackettLuce(3, alpha=0.5, prior="observed"),
        PlackettLuce(3, prior="symmetric", alpha=0.1),
    ]
    result = ds.evaluate(SAID, MODELS, aggregations=priors, metrics=[TopKAccuracy(1)], draws=30)
    labels = [run.label for run in result.runs]
    assert labels == [
        "plackett-luce (alpha=1, prior=observed) 3",
        "plackett-luce (alpha=0.5, prior=observed) 3",
        "plackett-luce (alpha=0.1, prior=symmetric) 3",
    ]
    tables = [
        result.to_frame(),
        result.per_case(),
        result.per_draw(),
        result.certainties(),
        result.by_certainty(),
        result.plausibilities(),
        result.compare().to_frame(),
        result.compare().rank_frame(),
    ]
    for table in tables:
        adjusted = table.filter(table["run"] != "annotators")
        assert adjusted["run"].unique(maintain_order=True).to_list() == labels
        assert adjusted.select("aggregation", "reliability").n_unique() == 3
    means = result.to_frame().filter(model="good", estimand="adjusted")["mean"].to_list()
    assert len(set(means)) == 3


def test_case_weights_count_in_every_average() -> None:
    """A case of weight three counts like three cases, in means and by stratum."""
    rankings = [[[["a"]]], [[["b"]]]]
    weighted = ds.Study.from_rankings(rankings, ["a", "b"], case_weights=[3.0, 1.0])
    model = {"m": [[1.0, 0.0], [1.0, 0.0]]}
    chosen = {"aggregations": [MajorityVote()], "metrics": [TopKAccuracy(1)], "draws": 400}
    table = ds.evaluate(weighted, model, strata={"site": ["x", "x"]}, **chosen)  # type: ignore[arg-type]
    assert table.to_frame()["mean"][0] == pytest.approx(0.75)
    assert table.by_group("site")["mean"][0] == pytest.approx(0.75)
    assert table.by_certainty()["mean"][0] == pytest.approx(0.75)
    plain = ds.evaluate(ds.Study.from_rankings(rankings, ["a", "b"]), model, **chosen)  # type: ignore[arg-type]
    assert plain.to_frame()["mean"][0] == pytest.approx(0.5)


def test_the_table_summarises_draws_and_resamples_at_the_level_asked_for() -> None:
    result = ds.evaluate(SAID, MODELS, aggregations=AGGREGATIONS, metrics=METRICS, draws=200, level=0.5)
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
    metrics = [BrierScore(), TopKAccuracy(1), LogScore(floor=0.01), SetAccuracy(2), TopKAccuracy(3)]
    chosen = {"aggregations": [Dirichlet()], "draws": 20}
    together = ds.evaluate(SAID, MODELS, metrics=metrics, **chosen)  # type: ignore[arg-type]
    for metric in metrics:
        alone = ds.evaluate(SAID, MODELS, metrics=[metric], **chosen)  # type: ignore[arg-type]
        for table in ("per_draw", "per_case"):
            own = getattr(together, table)().filter(metric=metric.name)
            assert_frame_equal(own, getattr(alone, table)(), rel_tol=1e-12)
    assert together.to_frame()["metric"].unique(maintain_order=True).to_list() == [one.name for one in metrics]


def test_the_difference_is_the_point_estimate_minus_the_adjusted_value_whichever_way_the_metric_points() -> None:
    result = ds.evaluate(SAID, MODELS, aggregations=[Dirichlet()], metrics=[TopKAccuracy(1), BrierScore()], draws=50)
    rows = result.to_frame().filter(estimand="adjusted")
    assert len(rows) == 2 * len(MODELS)
    for row in rows.iter_rows(named=True):
        assert row["difference"] == pytest.approx(row["point_estimate"] - row["mean"])


def test_reliability_one_stands_for_all_else_the_middle_of_the_sweep() -> None:
    for sweep, label in (("dirichlet:1,2,5", "dirichlet 1"), ("dirichlet:2,3,5", "dirichlet 3")):
        result = ds.evaluate(SAID, MODELS, aggregations=[sweep], metrics=[TopKAccuracy(1)], draws=20)
        assert result.runs[result.reference].label == label


def test_a_single_draw_is_counted_as_one() -> None:
    result = ds.evaluate(
        SAID, MODELS, aggregations=["dirichlet:1,2,5", "majority-vote"], metrics=[TopKAccuracy(1)], draws=20
    )
    table = result.to_frame()
    assert table.filter(table["run"] == "majority-vote")["n_draws"].unique().to_list() == [1]


def test_usual_metrics_leave_out_those_of_all_conditions() -> None:
    said = ds.Study.from_counts([[3, 1, 0]], ["a", "b", "c"])
    wanted = default_metrics(said, {}, said.conditions, None)
    assert [metric.name for metric in wanted] == ["top-1 accuracy", "top-2 set accuracy"]


def test_cases_that_one_aggregation_leaves_out_are_left_out_of_all_and_named() -> None:
    said = ds.Study.from_rankings([[[["a"]]], []], ["a", "b"], case_names=["x", "nobody"])
    drawn = ds.Plausibilities.from_draws([[[0.9, 0.1]]] * 2, conditions=["a", "b"], case_names=["x", "nobody"])
    result = ds.evaluate(said, {}, aggregations=[drawn, "dirichlet"], draws=10)
    assert (result.case_names, result.excluded) == (("x",), ("nobody",))


def test_the_repr_tells_the_story(result: ds.Evaluation) -> None:
    text = repr(result)
    assert "3 models, 90 cases" in text
    assert "The agreement of good with single annotators is" in text
    assert "adjusted" in text
    assert "the probability that" in text
