"""The certainty of one place against its naive twin, its properties, and bad input."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_certainty as naive
from dissensus import (
    Aggregation,
    Annotations,
    AnnotatorBootstrap,
    Categories,
    Dirichlet,
    DissensusError,
    InverseRank,
    MajorityVote,
    PlackettLuce,
    Plausibilities,
    ProbabilisticInverseRank,
    annotation_certainty,
    certainty_of,
    rank_certainty,
    rank_shares,
    simulate_study,
)
from dissensus.evaluation.certainty import UNMENTIONED, Unmentioned
from naive_certainty import small_studies, supports

AGGREGATIONS: list[Aggregation] = [
    MajorityVote(),
    InverseRank(ties="each"),
    AnnotatorBootstrap(),
    PlackettLuce(reliability=1, alpha=1.0, prior="observed"),
    PlackettLuce(reliability=0.5, alpha=0.2, prior="symmetric"),
    ProbabilisticInverseRank(reliability=0.01),
    Dirichlet(reliability=1, alpha=1),
]
RULES = pytest.mark.parametrize("unranked", UNMENTIONED)


def agrees(draws: Plausibilities, unranked: Unmentioned) -> None:
    """Compare every place of every case with the naive twin: certainty, all shares, and given labels."""
    dense, known, pool = naive.compared(draws), supports(draws), unranked == "pool"
    for rank in range(1, draws.n_conditions + 1):
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


@given(st.data())
def test_every_aggregation_agrees_with_the_naive_twin(data: st.DataObject) -> None:
    study = data.draw(small_studies())
    aggregation = data.draw(st.sampled_from(AGGREGATIONS))
    agrees(aggregation.sample(study, draws=5, threads=1), data.draw(st.sampled_from(UNMENTIONED)))


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 3))
def test_draws_full_of_ties_agree_with_the_naive_twin(seed: int, n_conditions: int, most: int) -> None:
    values = np.random.default_rng(seed).integers(0, most + 1, size=(2, 6, n_conditions)).astype(float)
    values[:, :, 0] += values.sum(axis=2) == 0
    agrees(Plausibilities.from_draws(values / values.sum(axis=2, keepdims=True)), "identify")


@RULES
def test_the_first_place_is_the_certainty_of_the_first_place(unranked: Unmentioned) -> None:
    study = simulate_study(n_cases=40, n_conditions=12, seed=3).annotations
    for aggregation in AGGREGATIONS:
        draws = aggregation.sample(study, draws=60)
        one, other = rank_certainty(draws, unranked=unranked), annotation_certainty(draws, top=1, unranked=unranked)
        np.testing.assert_allclose(one.values, other.values, rtol=0, atol=1e-14)
        same = [a == b for a, b in zip(one.winners, other.winners, strict=True)]
        np.testing.assert_array_equal(one.errors[same], other.errors[same])
        assert np.mean(same) > 0.7, "only where shares are tied may another condition be named"


def test_the_winner_of_a_place_is_worth_what_is_said() -> None:
    draws = PlackettLuce(alpha=1.0, prior="observed").sample(simulate_study(n_cases=30, seed=5).annotations, draws=101)
    for rank in (1, 2, 3):
        found = rank_certainty(draws, rank=rank)
        mentioned = np.array([winner != ("any other",) for winner in found.winners])
        labels = [winner[0] for winner in found.winners if winner != ("any other",)]
        worth = certainty_of(draws.select(mentioned), labels, rank=rank)
        np.testing.assert_array_equal(worth.values, found.values[mentioned])
        np.testing.assert_array_equal(worth.errors, found.errors[mentioned])


def test_categories_of_a_place_agree_with_the_shares_of_its_conditions() -> None:
    study = simulate_study(n_cases=20, n_conditions=9, seed=2).annotations
    categories = Categories.from_labels(list("xyzxyzxyz"), study.conditions)
    label = dict(zip(study.conditions, categories.labels, strict=True))
    for aggregation in (InverseRank(ties="each"), PlackettLuce(alpha=1.0, prior="observed")):
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
    said = Annotations.from_rankings(rankings, list("abcdef"))
    draws = Dirichlet(prior="frequency", alpha=4.0).sample(said, draws=400)
    table, dense = rank_shares(draws, rank=2), draws.dense()
    second = np.argsort(-dense, axis=2)[:, :, 1]
    named = table.filter(pl.col("condition").is_not_null()).rows()
    assert ("2", "a") in {row[:2] for row in named}
    for case, condition, share in named:
        assert share == pytest.approx(np.mean(second[int(case)] == "abcdef".index(condition)))


def test_results_do_not_depend_on_threads_batches_or_company() -> None:
    study = simulate_study(n_cases=40, seed=8).annotations
    one = rank_certainty(PlackettLuce().sample(study, draws=101, threads=1), rank=2)
    two = rank_certainty(PlackettLuce().sample(study, draws=101, threads=3), rank=2)
    few = rank_certainty(PlackettLuce().sample(study, draws=101).select(slice(5, 9)), rank=2)
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.errors, two.errors)
    np.testing.assert_array_equal(one.values[5:9], few.values)
    np.testing.assert_array_equal(one.errors[5:9], few.errors)
    assert one.winners[5:9] == few.winners
    table = rank_shares(PlackettLuce().sample(study, draws=101, threads=1), rank=2)
    assert table.equals(rank_shares(PlackettLuce().sample(study, draws=101, threads=3), rank=2))


def test_the_result_says_which_place_it_is_about() -> None:
    draws = MajorityVote().sample(Annotations.from_counts([[3, 1, 0]], ["a", "b", "c"]))
    assert repr(rank_certainty(draws, rank=2)) == "Certainty of rank 2: mean 1.000, 0.0% of 1 cases below 0.99; 1 draws"
    assert rank_certainty(draws, rank=2).winners == (("b",),)
    assert rank_certainty(draws, rank=3).winners == (("any other",),)


def test_no_cases_have_no_certainty() -> None:
    draws = MajorityVote().sample(Annotations.from_rankings([[[["a"], ["b"]]]])).select(slice(0))
    categories = Categories.from_labels(["x", "y"], ["a", "b"])
    for given_categories in (None, categories):
        assert np.isnan(rank_certainty(draws, rank=2, categories=given_categories).mean)
        assert rank_shares(draws, rank=2, categories=given_categories).height == 0


def test_progress_is_told() -> None:
    done: list[int] = []
    draws = PlackettLuce().sample(simulate_study(n_cases=9).annotations, draws=20)
    rank_certainty(draws, rank=2, advance=done.append)
    rank_shares(draws, rank=2, advance=done.append)
    assert sum(done) == 2 * draws.n_cases


# Bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [0, -1, 1.5, True, "2"])
def test_the_rank_must_be_a_positive_whole_number(rank: int) -> None:
    draws = MajorityVote().sample(Annotations.from_counts([[3, 1, 0]]))
    with pytest.raises(DissensusError, match=r"rank (must be a whole number, one or more|is not of the right kind)"):
        rank_certainty(draws, rank=rank)
    with pytest.raises(DissensusError, match=r"rank (must be a whole number, one or more|is not of the right kind)"):
        rank_shares(draws, rank=rank)


def test_a_place_must_exist() -> None:
    draws = MajorityVote().sample(Annotations.from_counts([[3, 1, 0]]))
    with pytest.raises(DissensusError, match=r"a place that a condition can have\n.*1 to 3\n.*4"):
        rank_certainty(draws, rank=4)
    with pytest.raises(DissensusError, match="at least two conditions"):
        rank_shares(MajorityVote().sample(Annotations.from_counts([[3]])))


def test_a_place_has_one_label() -> None:
    draws = MajorityVote().sample(Annotations.from_counts([[3, 1, 0]], list("abc")))
    with pytest.raises(DissensusError, match=r"a set has the wrong size\n.*1 conditions\n.*2"):
        certainty_of(draws, [["a", "b"]], rank=2)
    with pytest.raises(DissensusError, match=r"top and rank are two questions\n(.*\n)?.*top=1 and rank=2"):
        certainty_of(draws, "a", top=1, rank=2)
