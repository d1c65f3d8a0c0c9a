"""Tables by stratum and category: the agreement with annotators, usual practice and the truth beside the runs."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import dissensus as ds

SITES = ["north", "south", "south"] * 30
HOW: dict[str, Any] = {"aggregations": ["plackett-luce:1"], "draws": 40, "panel": False, "annotators": "fixed"}


@pytest.fixture(scope="module")
def study() -> Any:
    return ds.simulate.study(n_cases=90, n_conditions=6, seed=4)


@pytest.fixture(scope="module")
def models(study: Any) -> Any:
    return {name: study.predictions[name] for name in list(study.predictions)[:2]}


@pytest.mark.parametrize("metric", ["top-k-accuracy:1", "matthews"])
def test_a_stratum_has_the_rows_of_a_study_of_its_cases(study: Any, models: Any, metric: str) -> None:
    said = study.annotations
    truth = {name: said.conditions[place % 6] for place, name in enumerate(said.case_names)}
    found = ds.evaluate(said, models, metrics=[metric], strata={"site": SITES}, truth=truth, **HOW)
    rows = found.by_group("site").filter(stratum="north")
    cases = [name for name, site in zip(said.case_names, SITES, strict=True) if site == "north"]
    asked = {name: model.select(cases) for name, model in models.items()}
    own = {name: truth[name] for name in cases}
    alone = ds.evaluate(said.select(cases), asked, metrics=[metric], truth=own, **HOW)
    for estimand in ("agreement", "truth"):
        one, other = (table.filter(estimand=estimand) for table in (rows, alone.to_frame()))
        assert len(one) == 2
        assert one["mean"].to_list() == pytest.approx(other["mean"].to_list())
        assert one["case_sd"].to_list() == pytest.approx(other["case_sd"].to_list(), rel=0.2)  # of other resamples
    usual = rows.filter(estimand="practice").select("aggregation", "model", "mean").rows()
    expected = alone.point_estimates().select("aggregation", "model", "point_estimate").rows()
    assert usual
    assert {row[:2]: row[2] for row in usual} == pytest.approx({row[:2]: row[2] for row in expected})
    assert rows.filter(estimand="practice")["low"].null_count() == len(usual)


def test_an_opinion_counts_for_the_category_of_what_it_says_first() -> None:
    names, codes = ["a", "b", "c"], np.array([[0, 1, 1], [2, 2, 0], [1, 0, 0], [2, 1, 1]])
    said = ds.Study.from_rankings([[[[names[code]]] for code in row] for row in codes], names)
    risks = ds.Categories.from_mapping({"a": "low", "b": "high", "c": "high"})
    scores = np.eye(3)[[1, 2, 0, 0]]
    found = ds.evaluate(said, {"A": scores}, metrics=["top-k-accuracy:1"], categories=risks, **HOW)
    rows = found.by_category().filter(pl.col("estimand") == "agreement")
    agrees, in_high = codes == np.array([1, 2, 0, 0])[:, None], codes > 0
    for name, counts in (("low", ~in_high), ("high", in_high)):
        (row,) = rows.filter(category=name).to_dicts()
        assert row["mean"] == pytest.approx((agrees * counts).sum() / counts.sum())
        assert row["low"] <= row["mean"] <= row["high"]
