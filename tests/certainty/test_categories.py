"""Categories: building them, certainty by category and risk against naive twins, and bad input."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dissensus as ds
import naive_certainty as naive
from dissensus.aggregations import Dirichlet, MajorityVote, PlackettLuce
from dissensus.certainty.categories import VIA, Categories, Via, expected_risk
from dissensus.certainty.top_sets import annotation_certainty
from dissensus.plugins import Aggregation
from naive_certainty import AGGREGATIONS, small_studies, supports
from shared_data import SHARED, needs_shared

CONDITIONS = ["acne", "eczema", "melanoma"]
VOTES = MajorityVote().sample(ds.Study.from_counts([[4, 3, 3]], CONDITIONS))


# Building -------------------------------------------------------------------------------------------------


def test_categories_come_from_names_lines_and_tables(tmp_path: Path) -> None:
    by_name = {"melanoma": "high", "acne": "low", "eczema": "low"}
    mapped = Categories.from_mapping(by_name, CONDITIONS)
    (tmp_path / "lines.txt").write_text("low\nlow \nhigh\n", encoding="utf-8")
    (tmp_path / "table.csv").write_text("condition,category\nmelanoma,high\nacne,low\neczema,low\n", encoding="utf-8")
    pl.DataFrame({"category": [2, 0, 0], "condition": ["melanoma", "acne", "eczema"]}).write_parquet(
        tmp_path / "t.parquet"
    )
    assert mapped.names == ("low", "high")
    assert mapped.codes.tolist() == [0, 0, 1]
    assert mapped.levels == (0.0, 2.0)
    assert Categories.from_labels(["low", "low", "high"], CONDITIONS) == mapped
    assert Categories.from_file(tmp_path / "lines.txt", CONDITIONS) == mapped
    assert Categories.from_file(tmp_path / "table.csv", CONDITIONS) == mapped
    numbered = Categories.from_file(tmp_path / "t.parquet", CONDITIONS)
    assert numbered.renamed({"0": "low", "2": "high"}) == mapped
    assert pickle.loads(pickle.dumps(mapped)) == mapped


def test_levels_are_given_or_follow_from_the_names() -> None:
    labels = ["mild", "grave", "mild"]
    assert Categories.from_labels(labels, CONDITIONS).levels == ()
    assert Categories.from_labels(labels, CONDITIONS).names == ("mild", "grave")
    given_levels = Categories.from_labels(labels, CONDITIONS, levels={"grave": 0, "mild": 1, "none": 2})
    assert (given_levels.names, given_levels.levels) == (("grave", "mild"), (0.0, 1.0))
    assert Categories.from_labels(["10", "9", "-1.5"], CONDITIONS).names == ("-1.5", "9", "10")
    assert Categories.from_labels(["nan", "1", "1"], CONDITIONS).levels == ()


def test_conditions_are_aligned_by_name() -> None:
    risks = Categories.from_labels(["low", "low", "high"], CONDITIONS)
    turned = risks.aligned(["melanoma", "acne", "eczema"])
    assert turned.codes.tolist() == [1, 0, 0]
    assert risks.aligned(CONDITIONS) is risks


@needs_shared
def test_published_risks_are_read() -> None:
    folder = SHARED / "dermatology_ddx"
    conditions = [line.strip() for line in (folder / "dermatology_conditions.txt").read_text("utf-8").splitlines()]
    risks = Categories.from_file(folder / "dermatology_risks.txt", conditions)
    assert repr(risks) == "Categories: 0 201, 1 150, 2 68 of 419 conditions; levels 0, 1, 2"


# Against the naive twins ----------------------------------------------------------------------------------


@given(small_studies(), st.sampled_from(AGGREGATIONS), st.sampled_from(VIA), st.data())
def test_certainty_by_category_agrees_with_the_naive_twin(
    study: ds.Study, aggregation: Aggregation, via: Via, data: st.DataObject
) -> None:
    codes = data.draw(st.lists(st.integers(0, 2), min_size=study.n_conditions, max_size=study.n_conditions))
    draws = aggregation.sample(study, draws=6, threads=1)
    categories = Categories.from_labels([str(code) for code in codes], study.conditions)
    found = annotation_certainty(draws, categories=categories, via=via)
    expected = [
        naive.category_certainty(dense, support, codes, via=via)
        for dense, support in zip(draws.dense(), supports(draws), strict=True)
    ]
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-12)


@given(small_studies(), st.sampled_from(AGGREGATIONS), st.data())
def test_expected_risk_agrees_with_the_naive_twin(
    study: ds.Study, aggregation: Aggregation, data: st.DataObject
) -> None:
    size = study.n_conditions
    levels = data.draw(st.lists(st.integers(-2, 3), min_size=size, max_size=size))
    draws = aggregation.sample(study, draws=4, threads=1)
    frame = expected_risk(draws, Categories.from_labels([str(level) for level in levels], study.conditions))
    numbers = [float(level) for level in levels]
    for row, dense, support in zip(frame.iter_rows(), draws.dense(), supports(draws), strict=True):
        expected = (naive.mean_risk(dense, support, numbers), *naive.risk_range(dense, numbers))
        np.testing.assert_allclose(row[1:], np.array(expected), rtol=0, atol=1e-12)
    assert frame.columns == ["case", "mean", "min", "max"]
    assert tuple(frame["case"]) == draws.case_names


# Properties -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "aggregation",
    [
        PlackettLuce(),  # unmentioned conditions by how frequent they are
        PlackettLuce(1, alpha=1.0, prior="observed"),
        PlackettLuce(1, alpha=0.02, prior="symmetric"),
        Dirichlet(2, alpha=0.5),
    ],
)
def test_the_range_of_risk_is_that_of_the_draws_also_where_the_rest_decides(aggregation: Aggregation) -> None:
    study = ds.simulate.study(n_cases=12, n_conditions=60, seed=5)
    levels = np.array(study.categories.levels)[study.categories.codes]
    draws = aggregation.sample(study.annotations, draws=150)
    risks = draws.dense() @ levels
    found = expected_risk(draws, study.categories)
    np.testing.assert_allclose(found["min"], risks.min(axis=1), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["max"], risks.max(axis=1), rtol=0, atol=1e-12)
    assert ((found["min"] <= found["mean"]) & (found["mean"] <= found["max"])).all()
    np.testing.assert_allclose(found["mean"], risks.mean(axis=1), atol=5 * risks.std(axis=1).max() / np.sqrt(150))
    turned = [found[name] for name in ("mean", "max", "min")]
    other_way = dataclasses.replace(study.categories, levels=tuple(-level for level in study.categories.levels))
    for column, mirrored in zip(("mean", "min", "max"), turned, strict=True):
        np.testing.assert_allclose(expected_risk(draws, other_way)[column], -mirrored, atol=1e-12)


def test_the_top_condition_and_the_most_mass_may_differ_and_the_order_of_conditions_does_not_matter() -> None:
    risks = Categories.from_labels(["low", "high", "high"], CONDITIONS)
    assert annotation_certainty(VOTES, categories=risks).winners == (("low",),)
    assert annotation_certainty(VOTES, categories=risks, via="mass").winners == (("high",),)
    mapped = Categories.from_mapping({"melanoma": "2", "eczema": "1", "acne": "0"})
    assert expected_risk(VOTES, mapped)["mean"].to_list() == pytest.approx([0.9])
    assert annotation_certainty(VOTES, categories=mapped).winners == (("0",),)


# Bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "condition,risk\nacne,low\n", "the table has no column 'category'"),
        ("a.csv", "condition,category\nacne,low\nacne,high\n", "condition names must all be different"),
        ("a.json", '{"acne": "low"}', "these are not categories"),
        ("a.txt", "low\nhigh\n", r"the number of categories does not fit\n.*3, one per.*\n.*2\n.*a.txt"),
        ("a.txt", "low\n\nhigh\n", "a category has an empty name"),
        ("a.txt", "", "the file is empty"),
        ("b.txt", None, "there is no such file"),
    ],
)
def test_files_that_make_no_sense_are_refused(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ds.DissensusError, match=message):
        Categories.from_file(tmp_path / name, CONDITIONS)


LABELS = ["low", "low", "high"]


@pytest.mark.parametrize(
    ("message", "ask"),
    [
        (
            r"every condition needs a category\n.*2 conditions without one: 'acne', 'ec",
            lambda: Categories.from_mapping({"melanoma": "high"}, CONDITIONS),
        ),
        (
            r"there is no condition 'melanom'\n.*\n.*did you mean 'melanoma'",
            lambda: Categories.from_mapping({"acne": "low", "eczema": "low", "melanom": "high"}, CONDITIONS),
        ),
        (
            r"there is no level of category 'high'\n.*'low', 'hihg'\n.*did you mean 'hihg'",
            lambda: Categories.from_labels(LABELS, CONDITIONS, levels={"low": 0, "hihg": 1}),
        ),
        ("finite", lambda: Categories.from_labels(LABELS, CONDITIONS, levels={"low": 0, "high": float("nan")})),
        ("the number of levels does not fit", lambda: Categories(("a", "b"), ("x", "y"), np.array([0, 1]), (0.0,))),
        ("a category code has no name", lambda: Categories(("a", "b"), ("x",), np.array([0, 1]))),
        ("the number of category codes does not fit", lambda: Categories(("a", "b"), ("x",), np.array([0]))),
        (
            r"there is no category 'hihg'\n.*\n.*did you mean 'high'",
            lambda: Categories.from_labels(LABELS, CONDITIONS).renamed({"hihg": "x"}),
        ),
        (
            r"about other conditions\n.*3 conditions\n.*2",
            lambda: expected_risk(VOTES, Categories.from_labels(["low", "high"], ["acne", "eczema"])),
        ),
        (
            r"there is no condition 'melanoma' among the categories\n.*\n.*did you mean 'melanomas'",
            lambda: expected_risk(VOTES, Categories.from_labels(["1", "2", "3"], ["acne", "eczema", "melanomas"])),
        ),
        (
            r"these categories have no levels\n.*\n.*'face', 'leg'\n.*levels=",
            lambda: expected_risk(VOTES, Categories.from_labels(["face", "leg", "leg"], CONDITIONS)),
        ),
    ],
)
def test_categories_that_make_no_sense_are_refused(message: str, ask: Callable[[], object]) -> None:
    with pytest.raises(ds.DissensusError, match=message):
        ask()
