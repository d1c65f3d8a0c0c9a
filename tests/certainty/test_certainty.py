"""Certainty, categories and plausibility regions: naive twins, properties, published numbers, bad input."""

import dataclasses
import math
import pickle
from collections.abc import Callable
from functools import partial
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dissensus as ds
import naive_certainty as naive
from dissensus import aggregations as by
from dissensus.aggregations import Dirichlet, PlackettLuce
from dissensus.certainty import plausibility_regions, rank_certainty, rank_shares
from dissensus.certainty.categories import VIA, Categories, Via, expected_risk
from dissensus.certainty.regions import PlausibilityRegions, conformities
from dissensus.certainty.top_sets import (
    UNMENTIONED,
    Certainty,
    Unmentioned,
    annotation_certainty,
    certainty_of,
    certainty_profile,
)
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.draws import Batch
from dissensus.kernels.chains import diagnose
from dissensus.kernels.compact import Layout
from dissensus.kernels.orders import Orders
from dissensus.kernels.winning_sets import winning_members
from dissensus.plugins import Aggregation
from naive_certainty import AGGREGATIONS, small_studies, supports
from refusals import refused
from shared_data import SHARED, dermatology, needs_shared

STUDY = ds.simulate.study(n_cases=40, seed=8).annotations


def agrees(plausibilities: ds.Plausibilities, unranked: Unmentioned, rank: int = 2) -> None:
    """Compare all numbers of places with the naive twin; the winners must be worth what is said."""
    dense, known = naive.compared(plausibilities), supports(plausibilities)
    tops = range(1, plausibilities.n_conditions)
    for one in certainty_profile(plausibilities, tops=tops, unranked=unranked):
        assert one.top is not None
        expected = [
            naive.certainty(draws, support, one.top, pool=unranked == "pool")
            for draws, support in zip(dense, known, strict=True)
        ]
        np.testing.assert_allclose(one.values, expected, rtol=0, atol=1e-12)
        worth = certainty_of(plausibilities, completed(one, plausibilities), top=one.top, unranked=unranked)
        np.testing.assert_allclose(worth.values, one.values, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(worth.errors, one.errors)
    place_agrees(plausibilities, rank, unranked)


def place_agrees(draws: ds.Plausibilities, rank: int, unranked: Unmentioned) -> None:
    """Compare one place of every case with the naive twin: certainty, all shares, and given labels."""
    dense, known, pool = naive.compared(draws), supports(draws), unranked == "pool"
    found = rank_certainty(draws, rank=rank, unranked=unranked)
    pairs = list(zip(dense, known, strict=True))
    expected = [naive.rank_certainty(d, support, rank, pool=pool) for d, support in pairs]
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-12)
    table = rank_shares(draws, rank=rank)
    for case, (d, support) in zip(draws.case_names, pairs, strict=True):
        shares = naive.rank_shares(d, support, rank)
        rows = dict(table.filter(case=case).select("condition", "share").iter_rows())
        assert sum(rows.values()) == pytest.approx(1.0)
        for code, name in enumerate(draws.conditions):
            if code in support:
                assert rows.get(name, 0.0) == pytest.approx(shares.get(code, 0.0), abs=1e-12)
        assert rows.get(None, 0.0) == pytest.approx(shares.get(None, 0.0), abs=1e-12)
    for code, name in enumerate(draws.conditions):
        given_label = certainty_of(draws, name, rank=rank, unranked=unranked)
        assert (given_label.rank, given_label.top) == (rank, None)
        worth = [
            shares.get(code, 0.0)
            if code in support
            else shares.get(None, 0.0) / (1 if pool else draws.n_conditions - len(support))
            for support, shares in ((s, naive.rank_shares(d, s, rank)) for d, s in pairs)
        ]
        np.testing.assert_allclose(given_label.values, worth, rtol=0, atol=1e-12)


def completed(certainty: Certainty, plausibilities: ds.Plausibilities) -> list[list[str]]:
    """Put unmentioned conditions in the place of "any other"."""
    sets = []
    for winners, support in zip(certainty.winners, supports(plausibilities), strict=True):
        others = [name for code, name in enumerate(plausibilities.conditions) if code not in support]
        mentioned = [name for name in winners if name != "any other"]
        sets.append([*mentioned, *others[: len(winners) - len(mentioned)]])
    return sets


class Fixed:
    """Give the same draws to every question: (cases, draws, U + 1), the rest last."""

    def __init__(self, values: FloatArray, n_conditions: int) -> None:
        self.values, self.n_conditions = values, n_conditions

    def __call__(self, cases: IntArray) -> Batch:
        size = self.values.shape[2] - 1
        return Batch(
            case_names=tuple(f"case {i}" for i in cases),
            n_conditions=self.n_conditions,
            n_draws=self.values.shape[1],
            n_chains=1,
            support_offsets=np.arange(len(cases) + 1) * size,
            support=np.tile(np.arange(size), len(cases)),
            values=self.values[cases].ravel(),
            rest_shapes=np.full(len(cases), 0.7),
            rest_keys=cases.astype(np.uint64),
        )


def fixed(values: FloatArray, n_conditions: int, *, threads: int = 1) -> ds.Plausibilities:
    n_cases, n_draws, columns = values.shape
    return ds.Plausibilities(
        conditions=tuple(f"k{i}" for i in range(n_conditions)),
        case_names=tuple(f"case {i}" for i in range(n_cases)),
        excluded=(),
        n_draws=n_draws,
        n_chains=1,
        support_offsets=np.arange(n_cases + 1) * (columns - 1),
        support=np.tile(np.arange(columns - 1), n_cases),
        sampler=Fixed(values, n_conditions),
        threads=threads,
    )


# Against the naive twin -----------------------------------------------------------------------------------


@given(st.data())
def test_every_aggregation_agrees_with_the_naive_twin(data: st.DataObject) -> None:
    study = data.draw(small_studies())
    aggregation = data.draw(st.sampled_from(AGGREGATIONS))
    rank = data.draw(st.integers(1, study.n_conditions))
    agrees(aggregation.sample(study, draws=7, threads=1), data.draw(st.sampled_from(UNMENTIONED)), rank)


@given(st.data())
def test_draws_full_of_ties_agree_with_the_naive_twin(data: st.DataObject) -> None:
    size, n_rest = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 3))
    n_draws = data.draw(st.integers(1, 12))
    seed, most = data.draw(st.integers(0, 2**32 - 1)), data.draw(st.integers(1, 4))
    values = np.random.default_rng(seed).integers(0, most + 1, size=(2, n_draws, size + 1)).astype(float)
    values[:, :, -1] *= n_rest > 0
    values[:, :, 0] += values.sum(axis=2) == 0
    values /= values.sum(axis=2, keepdims=True)
    if size + n_rest > 1:
        rank = data.draw(st.integers(1, size + n_rest))
        agrees(fixed(values, size + n_rest), data.draw(st.sampled_from(UNMENTIONED)), rank)


@pytest.mark.parametrize("size", [63, 64, 65, 128, 200])
def test_large_supports_agree_with_the_naive_twin(size: int) -> None:
    rng = np.random.default_rng(size)
    weights = np.concatenate([rng.choice([0.1, 5.0], size=(3, 1, size)), np.full((3, 1, 1), 9.0)], axis=2)
    values = rng.gamma(np.tile(weights, (1, 40, 1)))
    plausibilities = fixed(values / values.sum(axis=2, keepdims=True), size + 4)
    dense, known = plausibilities.dense(), supports(plausibilities)
    for one in certainty_profile(plausibilities, tops=(1, 2, size - 1, size + 1)):
        assert one.top is not None
        expected = [naive.certainty(d, s, one.top, pool=False) for d, s in zip(dense, known, strict=True)]
        np.testing.assert_allclose(one.values, expected, rtol=0, atol=1e-12)


def test_many_tied_conditions_are_counted_not_written_out() -> None:
    names = [f"k{i}" for i in range(300)]
    draws = by.InverseRank().sample(ds.Study.from_rankings([[[names[:200]]]], names))
    for top in (1, 100, 199):
        assert annotation_certainty(draws, top=top).values[0] == pytest.approx(1 / comb(200, top), rel=1e-10)
    assert annotation_certainty(draws, top=200).values[0] == 1.0
    assert annotation_certainty(draws, top=299).values[0] == pytest.approx(1 / 100, rel=1e-10)
    assert annotation_certainty(draws, top=299, unranked="pool").values[0] == 1.0


# Properties -----------------------------------------------------------------------------------------------


def test_errors_are_those_of_the_effective_sample_size() -> None:
    draws = by.PlackettLuce(chains=3).sample(ds.simulate.study(n_cases=15, seed=6).annotations, draws=300)
    certainty = annotation_certainty(draws, top=2, unranked="pool")
    dense, known = draws.dense(), supports(draws)
    marks = np.empty((15, 300))
    for case, names in enumerate(completed(certainty, draws)):
        codes = {draws.conditions.index(name) for name in names}
        for i, theta in enumerate(dense[case]):
            marks[case, i] = naive.certainty_of(theta[None], known[case], codes, pool=True)
    expected = diagnose(marks.reshape(15, 3, 100)).standard_error
    np.testing.assert_allclose(certainty.errors, expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("asked", [partial(annotation_certainty, top=2), partial(rank_certainty, rank=2)])
def test_results_do_not_depend_on_threads_batches_or_company(asked: Callable[[ds.Plausibilities], Certainty]) -> None:
    one, two = (by.PlackettLuce().sample(STUDY, draws=101, threads=threads) for threads in (1, 3))
    alone, threaded, few = asked(one), asked(two), asked(one.select(slice(5, 9)))
    for name in ("values", "errors"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(threaded, name))
        np.testing.assert_array_equal(getattr(alone, name)[5:9], getattr(few, name))
    assert alone.winners[5:9] == few.winners
    assert rank_shares(one, rank=2).equals(rank_shares(two, rank=2))


@given(small_studies(), st.sampled_from(AGGREGATIONS), st.randoms(use_true_random=False))
def test_given_sets_agree_with_the_naive_twin(study: ds.Study, aggregation: Aggregation, random: object) -> None:
    draws = aggregation.sample(study, draws=5, threads=1)
    dense, known = naive.compared(draws), supports(draws)
    for pool in (False, True):
        sets = [random.sample(range(draws.n_conditions), random.randint(1, draws.n_conditions - 1)) for _ in known]  # type: ignore[attr-defined]
        named = {case: {draws.conditions[k] for k in codes} for case, codes in zip(draws.case_names, sets, strict=True)}
        expected = [
            naive.certainty_of(d, s, set(codes), pool=pool) for d, s, codes in zip(dense, known, sets, strict=True)
        ]
        found = certainty_of(draws, named, unranked="pool" if pool else "identify")
        np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-12)


def test_a_label_may_be_given_once_for_all_or_in_the_order_of_cases() -> None:
    said = ds.Study.from_counts([[3, 1, 0], [1, 3, 0]], ["cat", "dog", "cow"], case_names=["x", "y"])
    draws = by.Dirichlet().sample(said, draws=500)
    every, listed = certainty_of(draws, "cat"), certainty_of(draws, ["cat", ["cat", "dog"]])
    assert every.values[0] == listed.values[0]
    assert (every.top, listed.top) == (1, None)
    assert listed.winners == (("cat",), ("cat", "dog"))


def test_categories_of_a_place_agree_with_the_shares_of_its_conditions() -> None:
    study = ds.simulate.study(n_cases=20, n_conditions=9, seed=2).annotations
    categories = Categories.from_labels(list("xyzxyzxyz"), study.conditions)
    label = dict(zip(study.conditions, categories.labels, strict=True))
    for aggregation in (by.InverseRank(ties="each"), by.PlackettLuce(alpha=1.0, prior="observed")):
        draws = aggregation.sample(study, draws=50)
        for rank in (1, 2, 4):
            dense, known = naive.compared(draws), supports(draws)
            found, table = (
                rank_certainty(draws, rank=rank, categories=categories),
                rank_shares(draws, rank=rank, categories=categories),
            )
            for i, case in enumerate(draws.case_names):
                expected = dict.fromkeys("xyz", 0.0)
                others = [name for code, name in enumerate(draws.conditions) if code not in known[i]]
                for code, share in naive.rank_shares(dense[i], known[i], rank).items():
                    names = others if code is None else [draws.conditions[code]]
                    for name in names:
                        expected[label[name]] += share / len(names)
                shares = dict(table.filter(case=case).select("category", "share").iter_rows())
                assert {name: shares.get(name, 0.0) for name in "xyz"} == pytest.approx(expected, abs=1e-12)
                assert found.values[i] == pytest.approx(max(expected.values()), abs=1e-12)
                assert expected[found.winners[i][0]] == pytest.approx(found.values[i], abs=1e-12)


def test_unmentioned_conditions_are_named_where_the_prior_tells_them_apart() -> None:
    rankings = [[[["a"]], [["a"]]], [[["a"], ["b"]]], [[["c"]]], [[["a"]]]]
    said = ds.Study.from_rankings(rankings, list("abcdef"))
    draws = by.Dirichlet(prior="frequency", alpha=4.0).sample(said, draws=400)
    table, dense = rank_shares(draws, rank=2), draws.dense()
    second = np.argsort(-dense, axis=2)[:, :, 1]
    named = table.filter(pl.col("condition").is_not_null()).rows()
    assert ("2", "a") in {row[:2] for row in named}
    for case, condition, share in named:
        assert share == pytest.approx(np.mean(second[int(case)] == "abcdef".index(condition)))


# The result -----------------------------------------------------------------------------------------------


def test_the_summary_counts_cases() -> None:
    certainty = Certainty(("a", "b", "c"), 1, np.array([0.99, 0.5, 1.0]), np.zeros(3), (("x",), ("y",), ("x",)), 10)
    assert certainty.mean == pytest.approx(0.83)
    assert certainty.share_below() == pytest.approx(1 / 3)
    assert certainty.share_below(0.995) == pytest.approx(2 / 3)
    assert certainty.quantiles((0, 0.5, 1)) == {0.0: 0.5, 0.5: 0.99, 1.0: 1.0}
    assert repr(certainty) == "Certainty of the top 1: mean 0.830, 33.3% of 3 cases below 0.99; 10 draws"
    frame = certainty.to_frame()
    assert frame.columns == ["case", "certainty", "error", "winner"]
    assert frame["case"].to_list() == ["b", "a", "c"]
    assert pickle.loads(pickle.dumps(certainty)).winners == certainty.winners


def test_no_cases_have_no_certainty() -> None:
    draws = by.MajorityVote().sample(ds.Study.from_rankings([[[["a"], ["b"]]]])).select(slice(0))
    risks = Categories.from_labels(["x", "y"], ["a", "b"])
    for certainty in (
        *(annotation_certainty(draws, categories=one) for one in (None, risks)),
        *(rank_certainty(draws, rank=2, categories=one) for one in (None, risks)),
        certainty_of(draws, "a"),
    ):
        assert np.isnan([certainty.mean, certainty.share_below()]).all()
        assert certainty.to_frame().height == 0
    assert all(rank_shares(draws, rank=2, categories=one).height == 0 for one in (None, risks))


# Published numbers ----------------------------------------------------------------------------------------


@needs_shared
def test_certainty_of_the_dermatology_annotations() -> None:
    said = dermatology()
    ranked = by.PlackettLuce(reliability=3, alpha=1.0, prior="observed").sample(said, draws=1000)
    risks = Categories.from_file(SHARED / "dermatology_ddx" / "dermatology_risks.txt", said.conditions)
    assert repr(risks) == "Categories: 0 201, 1 150, 2 68 of 419 conditions; levels 0, 1, 2"
    certainty = annotation_certainty(ranked)
    by_risk = annotation_certainty(ranked, categories=risks)
    inverse = by.ProbabilisticInverseRank(reliability=30, ties="each").sample(said, draws=1000)
    correlation = np.corrcoef(certainty.values, annotation_certainty(inverse).values)[0, 1]
    assert certainty.share_below(0.99) == pytest.approx(0.59, abs=0.02)
    assert by_risk.share_below(0.99) == pytest.approx(0.382, abs=0.02)
    assert correlation == pytest.approx(0.90, abs=0.03)


# Bad input ------------------------------------------------------------------------------------------------


LABELS, CONDITIONS = ["low", "low", "high"], ["acne", "eczema", "melanoma"]
VOTES = by.MajorityVote().sample(ds.Study.from_counts([[4, 3, 3]], CONDITIONS))
ANIMALS = by.MajorityVote().sample(
    ds.Study.from_counts([[3, 1, 0], [1, 1, 0]], ["cat", "horse", "cow"], case_names=["first", "second"])
)
RISKS = Categories.from_labels(["x", "y", "y"], ANIMALS.conditions)
ALONE = ds.Plausibilities.from_draws([[[1.0]]])
PLACES: tuple[Any, ...] = (rank_certainty, rank_shares)
first: Any = annotation_certainty
worth: Any = certainty_of
NO_PLACE = r"rank (must be a whole number, one or more|is not of the right kind)"
TOO_FAR = r"top must be smaller than the number of conditions\n.*1 to 2\n.*got: +\d"


@pytest.mark.parametrize(
    ("message", "ask"),
    [
        *(
            ("top must be a whole number, one or more", partial(first, ANIMALS, top=number))
            for number in (0, -1, 1.5, True, "2")
        ),
        *((NO_PLACE, partial(asked, ANIMALS, rank=number)) for asked in PLACES for number in (0, -1, 1.5, True, "2")),
        *((TOO_FAR, partial(first, ANIMALS, top=top)) for top in (3, 4)),
        (r"a place that a condition can have\n.*1 to 3\n.*4", partial(rank_certainty, ANIMALS, rank=4)),
        *(("at least two conditions", partial(asked, ALONE)) for asked in (annotation_certainty, rank_shares)),
        ("unranked is not understood", partial(first, ANIMALS, unranked="drop")),
        ("unranked is not understood", partial(worth, ANIMALS, "cat", unranked="drop")),
        ("via is not understood", partial(first, ANIMALS, categories=RISKS, via="votes")),
        ("by the first place only", partial(first, ANIMALS, categories=RISKS, top=2)),
        ("from 0 to 1", lambda: annotation_certainty(ANIMALS).quantiles((0.5, 1.5))),
        (r"the wrong size\n.*2 conditions\n.*1", partial(worth, ANIMALS, [["cat", "horse"], "cat"], top=2)),
        (r"the wrong size\n.*1 conditions\n.*2", partial(worth, ANIMALS, [["cat", "cow"]] * 2, rank=2)),
        (r"top and rank are two questions\n(.*\n)?.*top=1 and rank=2", partial(worth, ANIMALS, "cat", top=1, rank=2)),
        *(
            (message, partial(worth, ANIMALS, sets))
            for message, sets in (
                ("unknown condition 'hrose'\n.*case 'second'\n.*did you mean 'horse'", ["cat", "hrose"]),
                ("the number of sets does not fit", ["cat"]),
                ("a set has the wrong size\n.*1 to 2 conditions\n.*0\n.*case 'second'", ["cat", []]),
                ("a set has the wrong size", ["cat", ["cat", "horse", "cow"]]),
                ("a set has a condition twice", ["cat", ["cat", "cat"]]),
                ("every case needs a set\n.*'second'", {"first": "cat"}),
                ("no draws of case 'secnd'\n.*did you mean 'second'", {"first": "cat", "secnd": "horse"}),
                ("unknown condition 0", ["cat", [0]]),
            )
        ),
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
def test_what_makes_no_sense_is_refused(message: str, ask: Callable[[], object]) -> None:
    refused(message, ask)


def test_an_unmentioned_condition_among_several_is_less_probable_than_a_mentioned_one_that_is_rarer() -> None:
    """Draws without ties: 6 of 10 put one of 8 unmentioned conditions second, 4 the other mentioned one."""
    keys, none, few = np.zeros(1, dtype=np.uint64), np.empty(0), np.empty(0, dtype=np.int64)
    layout = Layout(10, 10, np.array([0, 2]), np.array([0, 1]), np.ones(1), keys, none, few, none)
    above, tied = np.array([0, 2, 0, 1]), np.ones(4, dtype=np.int64)
    ends = np.array([0, 2]), np.array([0, 4])
    orders = Orders(above, tied, np.ones(2, dtype=np.int64), np.array([6, 4]), *ends, np.array([[0] * 6 + [1] * 4]))
    tops = np.array([2])
    assert winning_members(layout, orders, tops, False).tolist() == [[1, 1]]
    assert winning_members(layout, orders, tops, True).tolist() == [[1, 0]]


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
    assert mapped.aligned(["melanoma", "acne", "eczema"]).codes.tolist() == [1, 0, 0]
    assert mapped.aligned(CONDITIONS) is mapped


def test_levels_are_given_or_follow_from_the_names() -> None:
    labels = ["mild", "grave", "mild"]
    assert Categories.from_labels(labels, CONDITIONS).levels == ()
    assert Categories.from_labels(labels, CONDITIONS).names == ("mild", "grave")
    given_levels = Categories.from_labels(labels, CONDITIONS, levels={"grave": 0, "mild": 1, "none": 2})
    assert (given_levels.names, given_levels.levels) == (("grave", "mild"), (0.0, 1.0))
    assert Categories.from_labels(["10", "9", "-1.5"], CONDITIONS).names == ("-1.5", "9", "10")
    assert Categories.from_labels(["nan", "1", "1"], CONDITIONS).levels == ()


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
    refused(message, Categories.from_file, tmp_path / name, CONDITIONS)


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
    drawn = ds.Plausibilities.from_draws([[[0.5, 0.3, 0.2]]], conditions=list("abc"), case_names=["x"])
    frame = pl.DataFrame({"case": ["x"], "condition": ["b"], "score": [0.5]})
    listed = ds.Predictions.from_long(frame, list("abc"), kind="scores")
    assert conformities(drawn, listed)[0, 0] == pytest.approx(0.15)


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


def test_models_without_scores_or_of_other_cases_are_refused() -> None:
    drawn = ds.Plausibilities.from_draws([[[0.9, 0.1]]], conditions=["a", "b"], case_names=["x"])
    regions = PlausibilityRegions(0.1, 0.9, 10, 1)
    with pytest.raises(ds.DissensusError, match=r"the grid is too large\n.*20,000,000.*\n.*40 conditions"):
        regions.grid(ds.Predictions.from_scores(np.ones((2, 40))))
    for said in (ds.Predictions.from_rankings([["a", "b"]], ["a", "b"]), ds.Predictions.from_sets([["a"]], ["a", "b"])):
        for ask in (partial(plausibility_regions, drawn), regions.grid, partial(regions.top_sets, drawn)):
            refused(r"plausibility regions need scores\n.*(rankings|sets)", ask, said)
    refused("", plausibility_regions, drawn, ds.Predictions.from_scores([[0.5, 0.5]], ["a", "b"], case_names=["y"]))
    for coverage in (0.0, 1.0, -0.1, 1.5, float("nan")):
        with pytest.raises(ds.DissensusError, match="coverage must be between 0 and 1"):
            plausibility_regions(drawn, scored(drawn, np.ones((1, 2))), coverage=coverage)
