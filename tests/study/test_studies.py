"""Laws of every kind of study: immutable, comparable, picklable, selectable, able to say what it holds and answers."""

import copy
import json
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus import DissensusError, diagnose
from dissensus.study.diagnosis import Spread, percent, similar_names, span
from dissensus.study.opinions import PARTS, TIES, Ties, support_of
from dissensus.study.panel import Panel
from dissensus.study.question import KINDS
from dissensus.study.study import Study, require_kind
from refusals import refused
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

ANSWERS = [[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1], [-1, 1, 0, -1], [0, 0, -1, 0]]
BLOCKS, MENTIONS = np.array([0, 2, 3, 4, 4, 5]), np.array([0, 1, 3, 4, 5, 7])

EXAMPLES: dict[str, Study] = {
    "checklists": Study(CONDITIONS, PANEL, answers=np.array(ANSWERS), question="findings"),
    "rankings": Study(CONDITIONS, PANEL, BLOCKS, MENTIONS, np.array([1, 0, 3, 3, 2, 0, 2]), "unobserved"),
    "ratings": Study((), PANEL, scores=np.array([3.0, 5.0, 1.0, 4.0, 4.5]), question="numbers"),
}

kinds = pytest.mark.parametrize("said", EXAMPLES.values(), ids=EXAMPLES.keys())


def test_every_kind_has_an_example_and_words_of_its_own() -> None:
    assert [said.kind for said in EXAMPLES.values()] == list(EXAMPLES) == sorted(KINDS)
    for name in ("opinion", "described", "aggregated_by"):
        assert len({getattr(kind, name) for kind in KINDS.values()} - {""}) == len(KINDS)


@kinds
def test_arrays_are_copied_cannot_be_written_and_those_of_another_kind_are_refused(said: Study) -> None:
    assert (said.n_cases, said.n_opinions, len(said)) == (4, 5, 4)
    sources: dict[str, Any] = {name: array.copy() for name, array in said.arrays().items()}
    again = replace(said, **sources)
    for source in sources.values():
        source[:] = 0
    assert again == said
    for name in ("annotators", "weights", "case_weights", *said.arrays()):
        with pytest.raises(ValueError, match="read-only"):
            getattr(said, name)[0] = 1
    with pytest.raises(AttributeError):
        said.conditions = ("x",)  # type: ignore[misc]


@kinds
def test_parts_put_together_are_the_whole_and_kinds_are_not_mixed(said: Study) -> None:
    assert Study.concatenate([said.select([0, 1]), said.select(["y", "z"])]) == said
    assert said.select([3, 0]).case_names == ("z", "w")
    assert said.select(slice(0, 0)).n_opinions == 0
    for parts, problem in (([], "nothing to concatenate"), ([said, said], "case names must all be different")):
        refused(problem, Study.concatenate, parts)
    for other in EXAMPLES.values():
        if other is not said:
            refused(f"a study of {said.kind} has no", replace, said, **other.arrays())
            refused(f"different kinds cannot be concatenated[^$]*{other.kind}", Study.concatenate, [said, other])
            caught = refused(f"agreement needs {said.kind}", require_kind, other, said.kind, "agreement")
            assert KINDS[other.kind].aggregated_by in caught.advice
            assert said != other
    refused(f"agreement needs {said.kind}", require_kind, [1], said.kind, "agreement")
    assert require_kind(said, said.kind, "agreement") is said


@kinds
def test_what_does_not_count_is_left_out_found_once_and_neither_compared_nor_pickled(said: Study) -> None:
    counted = said.counted
    assert (counted.case_names, said.unannotated) == (said.case_names, ("y",))
    assert (counted.weights > 0).all()
    assert not counted.is_abstention.any()
    assert counted.n_opinions == int((~said.is_abstention & (said.weights > 0)).sum())
    assert said.counted is counted is counted.counted
    fresh = said.select(slice(None))
    before, found = len(pickle.dumps(fresh)), fresh.opinions
    assert fresh.opinions is found
    assert tuple(dict.fromkeys(name.partition(" / ")[0] for name in found.case_names)) == ("w", "z")
    assert {"x", "y"} <= {name.partition(" / ")[0] for name in found.excluded}
    assert len(pickle.dumps(fresh)) == before
    again = pickle.loads(pickle.dumps(fresh))
    assert again == said != said.select([0])
    assert "opinions" not in vars(again)
    with pytest.raises(TypeError, match="unhashable"):
        hash(said)
    with pytest.raises(DissensusError, match="no case has any"):
        _ = said.select(["y"]).opinions


@kinds
def test_settings_and_arrays_are_all_that_a_study_says(said: Study) -> None:
    settings: dict[str, Any] = json.loads(json.dumps(said.settings()))
    arrays: dict[str, Any] = said.arrays()
    assert Study(said.conditions, said.panel, **settings, **arrays) == said
    for name in arrays:
        with pytest.raises(DissensusError):
            Study(said.conditions, said.panel, **settings, **{one: arrays[one] for one in arrays if one != name})


@kinds
def test_facts_and_distributions_fit_what_they_are_about(said: Study) -> None:
    facts, of_nothing = said.facts(), said.select(slice(0, 0)).facts()
    assert [fact.label for fact in of_nothing] == list(dict.fromkeys(fact.label for fact in facts))
    assert all(fact.value and fact.word in fact.label for fact in (*facts, *of_nothing))
    assert all(bool(fact.term) == bool(fact.word) for fact in facts)
    for one in said.distributions():
        assert len(one.values) == (said.n_cases if one.per_case else said.n_opinions)
        assert one.unit == ("cases" if one.per_case else said.kind)


FOUND = ("Acne, Lupus", "nothing found", "Acne, Eczema, Lupus, Tinea")
TOLD = {
    "rankings": (
        ["Eczema, then Acne and Tinea tied", "Tinea", "Lupus", "no condition", "Acne and Lupus tied"],
        [[0, 1, -3], [2], [3], [], [1, -4]],
    ),
    "ratings": (["3", "5", "1", "4", "4.5"], [[3.0], [5.0], [1.0], [4.0], [4.5]]),
    "checklists": (
        [*FOUND, "Eczema; not assessed: Acne, Tinea", "nothing found; not assessed: Lupus"],
        [[0, 1], [], [0, 2, 1, 3], [2, -1, -4], [-2]],
    ),
}


@kinds
def test_every_opinion_is_told_in_words_and_in_numbers(said: Study) -> None:
    words, flat = TOLD[said.kind]
    assert [said.words(opinion) for opinion in range(5)] == words
    numbers: dict[int, int] = {}
    told = [said.said(opinion, lambda code: numbers.setdefault(code, len(numbers))) for opinion in range(5)]
    assert told == flat
    assert said.methods().startswith("Each of 4 cases was ")
    assert said.methods().endswith(".")
    assert said.select([0]).methods().startswith("The one case was ")
    found = diagnose(said)
    assert (found.cases, found.lines()["cases"]) == (4, "4")
    assert any("'y'" in remark for remark in found.remarks())
    assert json.loads(json.dumps(found.to_dict()))["unannotated_cases"] == ["y"]


def test_the_facts_of_rankings_are_those_counted_by_hand() -> None:
    said = EXAMPLES["rankings"]
    ranges = ["0 to 2, median 1.5, mean 1.25", "0 to 3, median 1, mean 1.40", "0 to 3, median 1.5, mean 1.50"]
    shares = ["2 (50.0 %)", "2 (50.0 %), largest block 2"]
    facts = ["4", "5", ranges[0], "4, of which 4 mentioned", *ranges[1:], *shares]
    assert [fact.value for fact in said.facts()] == facts
    per_case, per_ranking = [[2, 1, 0, 2], [3, 1, 0, 2]], [[3, 1, 1, 0, 2], [2, 1, 1, 0, 2]]
    assert [one.values.tolist() for one in said.distributions()] == [*per_case, *per_ranking]
    assert (said.scale, EXAMPLES["ratings"].scale, EXAMPLES["ratings"].select(["y"]).scale) == (None, (1.0, 5.0), None)


# Random studies -----------------------------------------------------------------------------------------


@given(studies(), st.data())
def test_copies_and_pieces_of_any_study_are_equal_to_it(said: Study, data: st.DataObject) -> None:
    for again in (pickle.loads(pickle.dumps(said)), copy.deepcopy(said), copy.copy(said)):
        assert again == said
        assert not any(array.flags.writeable for array in (*again.arrays().values(), again.weights))
    cut = data.draw(st.integers(0, said.n_cases))
    assert Study.concatenate([said.select(slice(0, cut)), said.select(slice(cut, None))]) == said
    order = data.draw(st.permutations(range(said.n_cases)))
    shuffled = said.select(list(order))
    assert shuffled == said.select([said.case_names[i] for i in order])
    assert shuffled.select(said.case_names) == said


@given(studies(), st.data())
def test_another_order_of_conditions_says_the_same(said: Study, data: st.DataObject) -> None:
    other = said.with_conditions(data.draw(st.permutations(said.conditions)))
    assert [[[set(b) for b in r] for r in c] for c in other.to_rankings()] == [
        [[set(b) for b in r] for r in c] for c in said.to_rankings()
    ]
    assert other.with_conditions(said.conditions) == said
    assert all((np.diff(block) > 0).all() for block in np.split(other.codes, other.code_offsets[1:-1]))


@given(studies())
def test_support_is_the_set_of_mentioned_conditions(said: Study) -> None:
    support = support_of(said)
    for case, rankings in enumerate(said.to_rankings()):
        codes = support.codes[support.offsets[case] : support.offsets[case + 1]]
        mentioned = {name for ranking in rankings for block in ranking for name in block}
        assert {said.conditions[code] for code in codes} == mentioned
        assert (np.diff(codes) > 0).all()
    assert support.sizes.sum() == len(support.codes)
    case_of_mention = said.panel.case_of_opinion[said.ranking_of_mention]
    assert np.array_equal(support.codes[support.offsets[case_of_mention] + support.local], said.codes)


@given(
    st.lists(st.lists(st.tuples(st.integers(-20, 20), st.sampled_from([0.0, 0.5, 1.0, 3.0])), max_size=4), max_size=4)
)
def test_moments_of_ratings_are_those_of_repeated_scores(cases: list[list[tuple[int, float]]]) -> None:
    flat = [weight for case in cases for _, weight in case]
    said = Study.from_scores([[score for score, _ in case] for case in cases]).with_weights(np.array(flat))
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
def test_inverse_ranks_are_exact_for_weights_of_one(said: Study, ties: Ties) -> None:
    said = Study.from_rankings(said.to_rankings(), said.conditions, case_names=said.case_names)
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


# Diagnoses ----------------------------------------------------------------------------------------------


def test_every_number_of_a_study_made_by_hand() -> None:
    nested: list[list[list[list[str]]]] = [
        [[["Eczema"], ["Tinea", "Lupus", "Acne"]], [["Eczema"]], [["eczema"]]],
        [[["Acne"], ["Lupus"]]],
        [[]],
        [],
    ]
    people: list[list[str | None]] = [["Ann", "Ann", "Bo"], [None], ["Bo"], []]
    said = Study.from_rankings(
        nested,
        ["Acne", "Eczema", "Lupus", "Tinea", "Vitiligo", "eczema"],
        case_names=["c1", "c2", "c3", "c4"],
        annotator_names=people,
        groups=["p", "p", "q", "r"],
        weights=[[1, 1, 2], [1], [1], []],
    )
    found = diagnose(said)
    counts = "cases rankings conditions annotators anonymous_rankings repeated_rankings single_condition_rankings"
    counts += " rankings_with_tie largest_tie abstentions weighted groups conditions_mentioned unranked question"
    wanted = dict(zip(counts.split(), [4, 5, 6, 2, 1, 1, 2, 1, 3, 1, True, 3, 5, "below", ""], strict=True))
    spreads = {
        "annotators_per_case": Spread(0, 1.0, 2, 1.0),
        "conditions_per_ranking": Spread(0, 1.0, 4, 1.6),
        "conditions_per_case": Spread(0, 1.0, 5, 1.75),
    }
    never, cases, similar = ("Vitiligo",), ("c3", "c4"), (("Eczema", "eczema"),)
    names = {"conditions_never_used": never, "unannotated_cases": cases, "similar_conditions": similar}
    names |= {"similar_annotators": (), "similar_cases": ()}
    assert found.numbers == {**wanted, **spreads, **names}
    assert (found.largest_tie, pickle.loads(pickle.dumps(found))) == (3, found)
    with pytest.raises(AttributeError, match="lowest"):
        _ = found.lowest
    assert found.remarks() == [
        "1 abstention: kept, without conditions",
        "2 unannotated cases: kept, excluded from aggregation ('c3', 'c4')",
        "1 ranking by an annotator who ranked the case before: kept",
        "1 condition never used ('Vitiligo')",
        "conditions 'Eczema' and 'eczema' look alike: one name spelt twice?",
    ]


@given(studies())
def test_a_diagnosis_is_valid_json_for_any_study(said: Study) -> None:
    found = json.loads(json.dumps(diagnose(said).to_dict(), allow_nan=False))
    assert found["cases"] == said.n_cases
    assert found["abstentions"] == sum(not ranking for case in said.to_rankings() for ranking in case)
    assert repr(said).startswith("Annotations: ")


def test_similar_names_and_no_numbers_are_told_and_a_notebook_shows_a_table() -> None:
    assert (percent(1, 3), percent(0, 0), span(np.empty(0, dtype=np.int64))) == ("33.3 %", "-", "none")
    names = ["Atopic dermatitis", "atopic  Dermatitis", "Atopic-dermatitis", "Atopy", "?", "!", "é", "e"]
    assert similar_names(names) == tuple(("Atopic dermatitis", name) for name in names[1:3])
    assert diagnose(Study.from_counts([[5, 5]])).repeated_rankings == 0
    found = diagnose(Study.from_scores([[1, 2, 3], []], case_names=["x", "y"]))
    assert (found.cases, found.ratings, found.annotators, found.unannotated_cases) == (2, 3, 0, ("y",))
    assert (found.lowest, found.highest, found.mean) == (1, 3, 2)
    assert found.sd == pytest.approx(np.std([1, 2, 3]))
    silent = diagnose(Study.from_scores([[], []]))
    assert json.loads(json.dumps(silent.to_dict(), allow_nan=False))["mean"] is None
    html = Study.from_rankings([[[["a"], ["b"]]]], ["a", "b"], case_names=["<x>"], groups=["<p>"])._repr_html_()
    assert "1 case, 1 ranking" in html
    assert "<td>1</td>" in html
    assert "<x>" not in html


# Questions ----------------------------------------------------------------------------------------------


@pytest.fixture
def graded() -> Study:
    return Study.from_rankings(
        [[[["mild"]], [["severe"]]], [[["none"]]]], ["none", "mild", "severe"], question="grades"
    )


def test_the_positive_condition_becomes_the_last_one_and_opinions_keep_their_meaning() -> None:
    said = Study.from_rankings([[[["Melanoma"], ["Nevus"]], [["Nevus"]]]])
    asked = said.asked("binary", positive="Melanoma")
    assert (asked.question, asked.conditions) == ("binary", ("Nevus", "Melanoma"))
    assert asked.to_rankings() == said.to_rankings()
    assert said.question == "conditions"


@pytest.mark.parametrize("question", ["grade", "numbers"])
def test_a_study_of_conditions_is_asked_nothing_else(question: Any) -> None:
    refused("question is not understood", Study.from_rankings([[[["Melanoma"]], [["Nevus"]]]]).asked, question)


def test_selected_weighted_recoded_and_joined_studies_keep_the_question_and_others_do_not_fit(graded: Study) -> None:
    kept = [
        graded.select(["1"]),
        graded.counted,
        graded.with_weights(np.full(graded.n_opinions, 2.0)),
        graded.with_unranked("unobserved"),
        graded.with_conditions(["none", "mild", "moderate", "severe"]),
        graded.each_alone(np.array([1]), ["alone"]),
        Study.concatenate([graded.select(["0"]), graded.select(["1"])]),
    ]
    assert [said.question for said in kept] == ["grades"] * len(kept)
    assert graded != graded.asked("conditions")
    refused("different questions", Study.concatenate, [graded.select(["0"]), graded.select(["1"]).asked("conditions")])


def test_what_was_asked_is_said_in_words(graded: Study) -> None:
    asked = Study.from_rankings([[[["Nevus"]]]], ["Nevus", "Melanoma"], question="binary")
    assert "graded from none to severe" in graded.methods()
    assert "asked whether Melanoma is present" in asked.methods()
    assert "asked whether Melanoma is present" in repr(asked)
    assert diagnose(graded).lines()["question"] == "annotators were graded from none to severe"
    assert graded.words(0) == "grade mild"
