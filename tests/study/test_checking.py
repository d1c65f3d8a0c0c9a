"""The diagnosis of a study: every number by hand."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given

from dissensus import Annotations, Ratings, diagnose
from dissensus.study.diagnosis import Spread, percent, plural, similar_names, span
from strategies import studies


def test_every_number_of_a_study_made_by_hand() -> None:
    people: list[list[str | None]] = [["Ann", "Ann", "Bo"], [None], ["Bo"], []]
    said = Annotations.from_rankings(
        [
            [[["Eczema"], ["Tinea", "Lupus", "Acne"]], [["Eczema"]], [["eczema"]]],
            [[["Acne"], ["Lupus"]]],
            [[]],
            [],
        ],
        ["Acne", "Eczema", "Lupus", "Tinea", "Vitiligo", "eczema"],
        case_names=["c1", "c2", "c3", "c4"],
        annotator_names=people,
        groups=["p", "p", "q", "r"],
        weights=[[1, 1, 2], [1], [1], []],
    )
    found = diagnose(said)
    wanted = {
        "cases": 4,
        "rankings": 5,
        "conditions": 6,
        "unranked": "below",
        "annotators": 2,
        "anonymous_rankings": 1,
        "repeated_rankings": 1,
        "annotators_per_case": Spread(0, 1.0, 3, 1.25),
        "conditions_per_ranking": Spread(0, 1.0, 4, 1.6),
        "conditions_per_case": Spread(0, 1.0, 5, 1.75),
        "single_condition_rankings": 2,
        "rankings_with_tie": 1,
        "largest_tie": 3,
        "abstentions": 1,
        "weighted": True,
        "groups": 3,
        "conditions_mentioned": 5,
        "question": "",
        "conditions_never_used": ("Vitiligo",),
        "unannotated_cases": ("c3", "c4"),
        "similar_conditions": (("Eczema", "eczema"),),
    }
    assert found.numbers == wanted
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
def test_a_diagnosis_is_valid_json_for_any_study(said: Annotations) -> None:
    found = json.loads(json.dumps(diagnose(said).to_dict(), allow_nan=False))
    assert found["cases"] == said.n_cases
    assert found["abstentions"] == sum(not ranking for case in said.to_rankings() for ranking in case)
    assert repr(said).startswith("Annotations: ")


def test_counts_and_names_are_told_for_people() -> None:
    assert (plural(0, "case"), plural(1, "case"), plural(2, "case")) == ("0 cases", "1 case", "2 cases")
    assert (percent(1, 3), percent(0, 0)) == ("33.3 %", "-")
    counts: list[list[int]] = [[], [2, 2], [3, 1]]
    assert [span(np.array(some, dtype=np.int64)) for some in counts] == ["none", "2", "1 to 3"]
    assert [str(Spread.of(np.array(some))) for some in ([1, 2, 6], [4, 4])] == ["1 to 6, median 2, mean 3.00", "4"]
    names = ["Atopic dermatitis", "atopic  Dermatitis", "Atopic-dermatitis", "Atopy", "?", "!", "é", "e"]
    assert similar_names(names) == tuple(("Atopic dermatitis", name) for name in names[1:3])
    people: list[list[str | None]] = [["Ann", "Ann", "Ann"], ["Ann", "Bo", None]]
    said = Annotations.from_rankings([[[["a"]]] * 3, [[["a"]]] * 3], annotator_names=people)
    assert diagnose(said).repeated_rankings == 2
    assert diagnose(Annotations.from_counts([[5, 5]])).repeated_rankings == 0


def test_ratings_are_summarised_and_valid_json_if_all_are_missing() -> None:
    found = diagnose(Ratings.from_scores([[1, 2, 3], []], case_names=["x", "y"]))
    assert (found.cases, found.ratings, found.annotators, found.unannotated_cases) == (2, 3, 0, ("y",))
    assert (found.lowest, found.highest, found.mean) == (1, 3, 2)
    assert found.sd == pytest.approx(np.std([1, 2, 3]))
    silent = diagnose(Ratings.from_scores([[], []]))
    assert json.loads(json.dumps(silent.to_dict(), allow_nan=False))["mean"] is None


def test_a_notebook_shows_a_table() -> None:
    html = Annotations.from_rankings([[[["a"], ["b"]]]], ["a", "b"], case_names=["<x>"])._repr_html_()
    assert "1 case, 1 ranking" in html
    assert "<td>1</td>" in html
    assert "<x>" not in html
