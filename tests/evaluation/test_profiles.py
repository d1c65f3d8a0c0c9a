"""What an evaluation says about cases, categories and certainty, against plain computation on dense draws."""

from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import Dirichlet, InverseRank, NormalInverseGamma, PlackettLuce
from dissensus.agreement import annotator_agreement
from dissensus.certainty import annotation_certainty, certainty_profile, expected_risk
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.evaluation.tally import bin_of, pooled
from dissensus.metrics import BrierScore, SetAccuracy, TopKAccuracy, UserMetric
from dissensus.plugins import Metric
from refusals import refused

RNG = np.random.default_rng(4)
CONDITIONS = ("acne", "eczema", "nevus", "melanoma", "wart")
VOTES = ds.Study.from_counts(RNG.integers(1, 6, size=(150, 5)), CONDITIONS)
"""Every condition is mentioned on every case, so that nothing is left to expectation."""
RISKS = ds.Categories.from_labels(["low", "low", "medium", "high", "low"], CONDITIONS)
SCORES = {"first": RNG.random((150, 5)), "second": RNG.random((150, 5))}
METRICS: tuple[Metric, ...] = (TopKAccuracy(2), BrierScore(), SetAccuracy(2))
DRAWS = 120
SITES = ["north" if case % 3 else "south" for case in range(150)]


RUNS = [Dirichlet(reliability=2), PlackettLuce(reliability=1, alpha=1.0, prior="observed")]


def evaluated(cases: IntArray) -> ds.Evaluation:
    return ds.evaluate(
        VOTES.select(cases.tolist()),
        {name: scores[cases] for name, scores in SCORES.items()},
        aggregations=RUNS,
        metrics=METRICS,
        draws=DRAWS,
        seed=3,
        categories=RISKS,
        strata={"site": [SITES[case] for case in cases]},
        images=[f"{VOTES.case_names[case]}.png" for case in cases],
        panel=False,
    )


@pytest.fixture(scope="module")
def result() -> ds.Evaluation:
    return evaluated(np.arange(150))


@pytest.fixture(scope="module")
def dense() -> FloatArray:
    return RUNS[0].sample(VOTES, draws=DRAWS, seed=3).dense()


def hits(dense: FloatArray) -> FloatArray:
    """Whether the best condition of each draw is in the first model's top two, (cases, draws)."""
    top = np.argsort(-SCORES["first"], axis=1)[:, :2]
    return np.asarray((dense.argmax(axis=2)[:, :, None] == top[:, None]).any(axis=2), dtype=np.float64)


def check_draws(row: dict[str, Any], per_draw: FloatArray) -> None:
    found = [row[name] for name in ("mean", "sd", "min", "max")]
    np.testing.assert_allclose(found, [per_draw.mean(), per_draw.std(), per_draw.min(), per_draw.max()], rtol=1e-6)


def test_metrics_by_category_use_the_category_of_each_draw(result: ds.Evaluation, dense: FloatArray) -> None:
    is_high = RISKS.codes[dense.argmax(axis=2)] == RISKS.names.index("high")
    per_draw = (hits(dense) * is_high).sum(axis=0) / is_high.sum(axis=0)
    row = result.by_category().filter(category="high", model="first", metric="top-2 accuracy").row(0, named=True)
    check_draws(row, per_draw)
    assert row["low"] < row["mean"] < row["high"]
    sizes = dict(result.by_category().select("category", "n_cases").unique("category").iter_rows())
    assert sum(sizes.values()) == pytest.approx(150)


def test_metrics_by_certainty_are_means_over_the_cases_of_a_bin(result: ds.Evaluation, dense: FloatArray) -> None:
    winners = dense.argmax(axis=2)
    certainty = np.array([np.bincount(row).max() / DRAWS for row in winners])
    table = result.by_certainty().filter(aggregation="dirichlet", model="first", metric="top-2 accuracy")
    assert table["n_cases"].sum() == 150
    for row in table.iter_rows(named=True):
        inside = (certainty >= row["from"]) & ((certainty < row["to"]) | (row["to"] == 1))
        assert row["n_cases"] == inside.sum()
        assert row["mean"] == pytest.approx(hits(dense)[inside].mean())
        assert row["low"] <= row["mean"] <= row["high"]


def test_a_certainty_at_the_edge_of_bins_is_in_the_upper_one_and_what_is_not_told_apart_joins_the_rest() -> None:
    certainties = np.array([0.5 - 1e-6, 0.5 - 1e-15, 0.5, 0.9 - 1e-15, 0.99 - 1e-6, 0.99 - 1e-15, 1.0])
    assert bin_of(certainties).tolist() == [0, 1, 1, 4, 4, 5, 5]
    [batch] = InverseRank().sample(ds.Study.from_rankings([[[["a"], ["b"]]]], ["a", "b", "c"]))
    np.testing.assert_allclose(pooled(batch, np.array([0.5, 0.3, 0.2]), np.array([0])), [0.5, 0.5])


def test_draws_in_which_a_metric_is_undefined_do_not_change_the_spread_of_a_case() -> None:
    def defined_at_first(_: FloatArray, plausibilities: FloatArray) -> FloatArray:
        values = plausibilities.max(axis=2)
        values[:, DRAWS // 4 :] = np.nan
        return np.asarray(values)

    metric = UserMetric("own", defined_at_first)
    found = ds.evaluate(VOTES, SCORES, aggregations=[Dirichlet()], metrics=[metric], draws=DRAWS)
    known = Dirichlet().sample(VOTES, draws=DRAWS).dense().max(axis=2)[:, : DRAWS // 4]
    first = found.per_case().filter(model="first", estimand="adjusted")
    np.testing.assert_allclose(first["mean"], known.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(first["sd"], known.std(axis=1), rtol=1e-9)


def test_tables_of_cases_are_those_of_single_functions(result: ds.Evaluation) -> None:
    draws = RUNS[1].sample(VOTES, draws=DRAWS, seed=3)
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


def test_merging_keeps_everything(result: ds.Evaluation, tmp_path: Path) -> None:
    whole = reduce(ds.Evaluation.merge, map(evaluated, np.array_split(np.arange(150), 4)))
    assert (whole.study, whole.strata, whole.images) == (result.study, result.strata, result.images)
    assert whole.certainties().equals(result.certainties())
    for name in ("by_category", "by_certainty", "to_frame"):
        one, other = (getattr(each, name)() for each in (whole, result))
        np.testing.assert_allclose(one["mean"], other["mean"], rtol=1e-12)
        single = 1e-6 if name == "by_category" else 1e-12  # sums of categories are kept in single precision
        np.testing.assert_allclose(one["low"], other["low"], rtol=single)
    whole.save(tmp_path / "results")
    assert ds.load(tmp_path / "results") == whole
    few = {name: scores[:1] for name, scores in SCORES.items()}
    different = ds.evaluate(VOTES.select([0]), few, metrics=METRICS, draws=DRAWS, seed=3)
    refused("cannot be merged", result.merge, different)


def test_no_opinions_and_different_conditions_are_refused() -> None:
    said = ds.Study.from_rankings([[]], ["a", "b"], case_names=["x"])
    refused("no case has any opinion", ds.evaluate, said, {})
    runs = [NormalInverseGamma(thresholds=(limit,)) for limit in (1.0, 2.0)]
    refused("different conditions", ds.evaluate, ds.Study.from_scores([[1.0, 2.0]]), {}, aggregations=runs)
