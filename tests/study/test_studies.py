"""Laws of every kind of study, found by reflection: a new kind is tested as soon as it is declared."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus import Annotations, Checklists, DissensusError, Ratings, diagnose
from dissensus.study.opinions import PARTS, TIES, Ties
from dissensus.study.panel import Panel
from dissensus.study.question import KINDS
from dissensus.study.study import Study, require_kind, restored_study
from strategies import studies

PANEL = Panel(
    case_names=("w", "x", "y", "z"),
    opinion_offsets=np.array([0, 2, 3, 3, 5]),
    annotators=np.array([0, 1, 1, -1, 0]),
    annotator_names=("Ann", "Bo"),
    weights=np.array([1.0, 2.0, 0.0, 0.5, 1.0]),
    groups=("p", "p", "q", "r"),
    case_weights=np.array([1.0, 2.0, 1.0, 1.0]),
)
CONDITIONS = ("Acne", "Eczema", "Lupus", "Tinea")

EXAMPLES: dict[str, Study] = {
    "checklists": Checklists(
        CONDITIONS,
        PANEL,
        answers=np.array([[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1], [-1, 1, 0, -1], [0, 0, -1, 0]]),
        question="findings",
    ),
    "rankings": Annotations(
        CONDITIONS,
        PANEL,
        np.array([0, 2, 3, 4, 4, 5]),
        np.array([0, 1, 3, 4, 5, 7]),
        np.array([1, 0, 3, 3, 2, 0, 2]),
        "unobserved",
    ),
    "ratings": Ratings((), PANEL, scores=np.array([3.0, 5.0, 1.0, 4.0, 4.5]), question="numbers"),
}

kinds = pytest.mark.parametrize("said", EXAMPLES.values(), ids=EXAMPLES.keys())


def test_every_kind_has_an_example_of_its_own() -> None:
    assert EXAMPLES.keys() == KINDS.keys()
    assert all(said.kind == kind for kind, said in EXAMPLES.items())


@kinds
def test_the_words_of_a_kind_are_different_from_those_of_others(said: Study) -> None:
    others = [other for other in EXAMPLES.values() if other is not said]
    for name in ("kind", "opinion", "described", "aggregated_by"):
        assert getattr(said, name)
        assert all(getattr(said, name) != getattr(other, name) for other in others)
    assert said.kind == f"{said.opinion}s"


@kinds
def test_the_panel_speaks_through_the_study(said: Study) -> None:
    assert (said.case_names, said.annotator_names, said.groups) == (
        PANEL.case_names,
        PANEL.annotator_names,
        PANEL.groups,
    )
    assert (said.n_cases, said.n_opinions, len(said)) == (4, 5, 4)
    assert said.weights.tolist() == PANEL.weights.tolist()
    assert said.case_weights.tolist() == [1, 2, 1, 1]
    assert said.annotators.tolist() == [0, 1, 1, -1, 0]


@kinds
def test_parts_put_together_are_the_whole(said: Study) -> None:
    parts: list[Any] = [said.select([0, 1]), said.select(["y", "z"])]
    assert Study.concatenate(parts) == said
    assert said.select([3, 0]).case_names == ("z", "w")
    assert said.select(slice(0, 0)).n_opinions == 0


@kinds
def test_kinds_are_not_mixed(said: Study) -> None:
    for other in EXAMPLES.values():
        if other is not said:
            mixed: list[Any] = [said, other]
            with pytest.raises(DissensusError, match="different kinds cannot be concatenated") as caught:
                Study.concatenate(mixed)
            assert other.kind in caught.value.got
            with pytest.raises(DissensusError, match=f"agreement needs {said.kind}") as caught:
                require_kind(other, said.kind, "agreement")
            assert other.aggregated_by in caught.value.advice
            assert said != other
    with pytest.raises(DissensusError, match="nothing to concatenate"):
        type(said).concatenate([])
    with pytest.raises(DissensusError, match=f"agreement needs {said.kind}"):
        require_kind([1], said.kind, "agreement")
    assert require_kind(said, said.kind, "agreement") is said


@kinds
def test_what_does_not_count_is_left_out_and_every_case_kept(said: Study) -> None:
    counted = said.counted
    assert counted.case_names == said.case_names
    assert (counted.weights > 0).all()
    assert not counted.is_abstention.any()
    assert counted.n_opinions == int((~said.is_abstention & (said.weights > 0)).sum())
    assert counted.counted is counted
    assert said.counted is counted


@kinds
def test_opinions_are_found_once_and_exclude_cases_without_any(said: Study) -> None:
    assert said.opinions is said.opinions
    found = said.opinions
    assert tuple(dict.fromkeys(name.partition(" / ")[0] for name in found.case_names)) == ("w", "z")
    assert {"x", "y"} <= {name.partition(" / ")[0] for name in found.excluded}
    assert said.unannotated == ("y",)
    empty = said.select(["y"])
    with pytest.raises(DissensusError, match="no case has any"):
        _ = empty.opinions


@kinds
def test_what_was_found_is_neither_compared_nor_pickled(said: Study) -> None:
    fresh = said.select(slice(None))
    before = len(pickle.dumps(fresh))
    _ = (fresh.opinions, fresh.counted)
    assert "opinions" in vars(fresh)
    assert len(pickle.dumps(fresh)) == before
    again = pickle.loads(pickle.dumps(fresh))
    assert again == said
    assert "opinions" not in vars(again)
    assert said != said.select([0])
    with pytest.raises(TypeError, match="unhashable"):
        hash(said)


@kinds
def test_a_study_is_restored_from_its_settings_and_arrays(said: Study) -> None:
    settings = json.loads(json.dumps(said.settings()))
    back = restored_study(
        said.kind, said.panel, conditions=list(said.conditions), settings=settings, arrays=said.arrays()
    )
    assert back == said
    assert not said.settings().keys() & said.arrays().keys()
    arrays = said.arrays()
    name, _ = arrays.popitem()
    with pytest.raises(DissensusError, match=f"a study of {said.kind} lacks a part") as caught:
        restored_study(said.kind, said.panel, conditions=said.conditions, settings=settings, arrays=arrays)
    assert name in caught.value.expected


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(DissensusError, match="unknown kind of study 'rating'") as caught:
        restored_study("rating", PANEL, conditions=(), settings={}, arrays={})
    assert caught.value.advice == "did you mean 'ratings'?"


@kinds
def test_a_table_of_facts_links_words_that_it_shows(said: Study) -> None:
    facts = said.facts()
    assert len({fact.label for fact in facts}) == len(facts)
    for fact in facts:
        assert fact.label
        assert fact.value
        assert bool(fact.term) == bool(fact.word)
        assert fact.word in fact.label
    nothing = said.select(slice(0, 0))
    assert [fact.label for fact in nothing.facts()] == [fact.label for fact in facts]
    assert all(fact.value for fact in nothing.facts())


@kinds
def test_distributions_have_a_number_per_case_or_per_opinion(said: Study) -> None:
    for one in said.distributions():
        assert len(one.values) == (said.n_cases if one.per_case else said.n_opinions)
        assert (one.unit == "cases") == one.per_case
        assert one.title


@kinds
def test_every_opinion_can_be_told(said: Study) -> None:
    assert all(said.words(opinion) for opinion in range(said.n_opinions))
    assert all(isinstance(said.said(opinion, lambda code: code), list) for opinion in range(said.n_opinions))
    assert said.methods().startswith("Each of 4 cases was ")
    assert said.methods().endswith(".")
    assert said.select([0]).methods().startswith("The one case was ")
    found = diagnose(said)
    assert found.cases == 4
    assert found.lines()["cases"] == "4"
    assert any("'y'" in remark for remark in found.remarks())


def test_rankings_in_words_and_in_numbers() -> None:
    said = EXAMPLES["rankings"]
    words = ["Eczema, then Acne and Tinea tied", "Tinea", "Lupus", "no condition", "Acne and Lupus tied"]
    assert [said.words(opinion) for opinion in range(5)] == words
    numbers: dict[int, int] = {}
    flat = [said.said(opinion, lambda code: numbers.setdefault(code, len(numbers))) for opinion in range(5)]
    assert flat == [[0, 1, -3], [2], [3], [], [1, -4]]
    assert numbers == {1: 0, 0: 1, 3: 2, 2: 3}
    assert said.scale is None
    assert said.conditions == CONDITIONS


def test_ratings_in_words_and_in_numbers() -> None:
    said = EXAMPLES["ratings"]
    assert [said.words(opinion) for opinion in range(5)] == ["3", "5", "1", "4", "4.5"]
    assert said.said(4, lambda code: code) == [4.5]
    assert said.scale == (1.0, 5.0)
    assert said.select(["y"]).scale is None
    assert said.conditions == ()


def test_the_facts_of_rankings_are_those_counted_by_hand() -> None:
    values = [fact.value for fact in EXAMPLES["rankings"].facts()]
    assert values == [
        "4",
        "5",
        "0 to 2, median 1.5",
        "1 to 3, median 1.5",
        "0 to 3, median 1.5",
        "50.0 %",
        "50.0 %",
        "4 of 4",
    ]
    assert [one.values.tolist() for one in EXAMPLES["rankings"].distributions()] == [
        [2, 1, 0, 2],
        [3, 1, 0, 2],
        [3, 1, 1, 0, 2],
        [2, 1, 1, 0, 2],
    ]


@given(
    st.lists(st.lists(st.tuples(st.integers(-20, 20), st.sampled_from([0.0, 0.5, 1.0, 3.0])), max_size=4), max_size=4)
)
def test_moments_of_ratings_are_those_of_repeated_scores(cases: list[list[tuple[int, float]]]) -> None:
    sizes = [len(case) for case in cases]
    flat = [rating for case in cases for rating in case]
    panel = Panel(
        tuple(map(str, range(len(cases)))),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.full(len(flat), -1),
        weights=np.array([weight for _, weight in flat]),
    )
    said = Ratings((), panel, scores=np.array([score for score, _ in flat], dtype=np.float64), question="numbers")
    rated = [str(i) for i, case in enumerate(cases) if any(weight > 0 for _, weight in case)]
    if not rated:
        with pytest.raises(DissensusError, match="no case has any rating"):
            _ = said.opinions
        return
    found = said.opinions
    assert list(found.case_names) == rated
    for position, name in enumerate(rated):
        repeated = np.repeat(*np.array([(score, 2 * weight) for score, weight in cases[int(name)]], dtype=np.int64).T)
        assert found.totals[position] == len(repeated) / 2
        assert found.means[position] == pytest.approx(repeated.mean())
        assert found.squares[position] == pytest.approx(((repeated - repeated.mean()) ** 2).sum() / 2)


@pytest.mark.parametrize("ties", TIES)
@given(said=studies())
def test_inverse_ranks_are_exact_for_weights_of_one(said: Annotations, ties: Ties) -> None:
    said = Annotations.from_rankings(said.to_rankings(), said.conditions, case_names=said.case_names)
    if said.n_conditions < 2 or not len(said.codes):
        return
    found = said.opinions
    sums = found.inverse_ranks(ties)
    rankings = dict(zip(said.case_names, said.to_rankings(), strict=True))
    for position, name in enumerate(found.case_names):
        first, last = found.support_offsets[position], found.support_offsets[position + 1]
        wanted = [_inverse_rank(rankings[name], said.conditions[code], ties) for code in found.support[first:last]]
        assert sums[first:last].tolist() == [float(int(PARTS) * value) for value in wanted]


def _inverse_rank(rankings: list[list[list[str]]], condition: str, ties: Ties) -> Fraction:
    given = [(rank, block) for ranking in rankings for rank, block in enumerate(ranking, 1) if condition in block]
    return sum((Fraction(1, rank * (len(block) if ties == "shared" else 1)) for rank, block in given), Fraction(0))
