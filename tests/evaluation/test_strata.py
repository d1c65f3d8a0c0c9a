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


PARTS = ("annotator_sd", "fit_sd", "family_sd")


def test_a_stratum_and_a_category_of_everything_have_every_part_of_the_interval() -> None:
    """Two hundred cases, so that there is a panel estimate whose prior is fitted."""
    world = ds.simulate.study(n_cases=200, n_annotators=10, n_conditions=4, seed=2)
    said, models = world.annotations, dict(list(world.predictions.items())[:2])
    alike = ds.Categories.from_mapping(dict.fromkeys(said.conditions, "any"))
    how: dict[str, Any] = {"aggregations": ["dirichlet:1"], "draws": 40, "categories": alike}
    how["metrics"] = ["matthews", "top-k-accuracy:1"]
    found = ds.evaluate(said, models, strata={"site": ["here"] * 200}, **how)
    for table in (found.by_group("site"), found.by_category()):
        for estimand in ("adjusted", "panel", "agreement"):
            own, whole = (one.filter(estimand=estimand).select(PARTS) for one in (table, found.to_frame()))
            for name in PARTS:
                assert own[name].to_list() == pytest.approx(whole[name].to_list(), rel=1e-6, nan_ok=True)
    assert (found.by_category().filter(estimand="panel").select(PARTS).min_horizontal() > 0).all()


@pytest.mark.parametrize("metric", ["top-k-accuracy:1", "matthews"])
def test_annotators_move_a_stratum_as_they_move_a_study_of_its_cases(metric: str) -> None:
    """Six annotators of different skill; more than twenty would be left out in groups that depend on the cases."""
    rng = np.random.default_rng(5)
    codes = np.where(rng.random((90, 6)) < np.linspace(0, 1, 6), 0, rng.integers(0, 3, (90, 6)))
    who = [[f"reader {j}" for j in range(6 if case % 2 else 3)] for case in range(90)]
    rankings = [
        [[["abc"[code]]] for code, _ in zip(row, names, strict=False)] for row, names in zip(codes, who, strict=True)
    ]
    said = ds.Study.from_rankings(rankings, ["a", "b", "c"], annotator_names=who)
    models = {"A": rng.dirichlet([3, 1, 1], 90), "B": rng.dirichlet([1, 1, 1], 90)}
    how = {**HOW, "aggregations": ["dirichlet:1:alpha=1"], "annotators": "sample", "metrics": [metric]}
    found = ds.evaluate(said, models, strata={"site": SITES}, **how).by_group("site")
    seen: list[float] = []
    for site in ("north", "south"):
        rows = np.flatnonzero(np.array(SITES) == site)
        alone = ds.evaluate(said.select(rows), {name: of[rows] for name, of in models.items()}, **how).to_frame()
        for estimand in ("agreement", "adjusted"):
            both = (table.filter(estimand=estimand) for table in (found.filter(stratum=site), alone))
            one, other = (table["annotator_sd"].to_list() for table in both)
            assert one == pytest.approx(other, rel=1e-9)
            seen += one
    assert np.count_nonzero(seen) >= 2


def test_annotators_move_a_category_as_they_move_the_cases_that_are_all_of_it() -> None:
    rng = np.random.default_rng(7)
    is_high = np.arange(120) % 3 == 0
    codes = (rng.random((120, 5)) < np.linspace(0.1, 0.9, 5)) + 2 * is_high[:, None]
    said = ds.Study.from_rankings(
        [[[["abcd"[code]]] for code in row] for row in codes], list("abcd"), annotator_names=[list("VWXYZ")] * 120
    )
    risks = ds.Categories.from_mapping({"a": "low", "b": "low", "c": "high", "d": "high"})
    columns = {"risk": np.where(is_high, "high", "low").tolist()}
    how = {**HOW, "annotators": "sample", "metrics": ["top-k-accuracy:1"], "categories": risks}
    found = ds.evaluate(said, {"A": np.eye(4)[1 + 2 * is_high]}, strata=columns, **how)
    for risk in ("low", "high"):
        (one,) = found.by_category().filter(category=risk, estimand="agreement").to_dicts()
        (other,) = found.by_group("risk").filter(stratum=risk, estimand="agreement").to_dicts()
        assert one["annotator_sd"] == pytest.approx(other["annotator_sd"], rel=0.05)
        assert one["annotator_sd"] > 0.05
