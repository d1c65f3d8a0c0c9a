"""Predictions: what they hold, how they are built, selected, aligned, compared and told."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from dissensus.core.errors import DissensusError
from dissensus.predictions.lists import Predictions

if TYPE_CHECKING:
    pass

NAMES = ["Eczema", "Psoriasis", "Tinea"]
SCORES = [[0.2, 0.7, 0.1], [0.4, 0.2, 0.4]]


def scores() -> Predictions:
    return Predictions.from_scores(SCORES, NAMES, case_names=["c1", "c2"], name="A")


def long(columns: dict[str, list[Any]]) -> pl.DataFrame:
    return pl.DataFrame({"case": ["c1", "c1", "c2"], "condition": ["Tinea", "Eczema", "Tinea"], **columns})


def test_entries_are_sorted_best_first_and_by_code_among_ties() -> None:
    said = scores()
    assert said.codes.tolist() == [1, 0, 2, 0, 2, 1]
    assert said.values.tolist() == [0.7, 0.2, 0.1, 0.4, 0.4, 0.2]
    assert said.has_tie.tolist() == [False, True]
    assert said.complete


def test_rankings_count_blocks_to_the_end() -> None:
    said = Predictions.from_rankings([["Tinea", ["Eczema", "Psoriasis"]], [["Psoriasis"]], []], NAMES)
    assert said.values.tolist() == [2, 1, 1, 1]
    assert said.to_scores().tolist() == [[1, 1, 2], [0, 1, 0], [0, 0, 0]]
    assert Predictions.from_rankings([[2, [0, 1]], [np.int64(1)], []], NAMES) == said
    assert Predictions.from_rankings([[1, 0]], 3).conditions == ("0", "1", "2")


@pytest.mark.parametrize(
    "sets",
    [
        [["Tinea", "Eczema"], []],
        [{"Tinea", "Eczema"}, set()],
        [[2, 0], []],
        [[True, False, True], [False, False, False]],
        np.array([[1, 0, 1], [0, 0, 0]]),
        np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]),
    ],
)
def test_sets_come_as_lists_or_matrix(sets: Any) -> None:
    said = Predictions.from_sets(sets, NAMES)
    assert said.to_lists() == [[["Eczema", "Tinea"]], []]
    assert said.entries_per_case.tolist() == [2, 0]
    assert Predictions.from_sets([[0, 1]], NAMES).to_lists() == [[["Eczema", "Psoriasis"]]]


def test_long_scores_leave_out_zeros_because_not_listed_means_zero() -> None:
    said = Predictions.from_long(long({"score": [0.9, 0.0, 1.0]}), NAMES)
    assert said.kind == "scores"
    assert not said.complete
    assert said.entries_per_case.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("columns", "options", "lists"),
    [
        ({"case": ["c"] * 3, "condition": NAMES, "rank": [7, 3, 7]}, {}, [[["Psoriasis"], ["Eczema", "Tinea"]]]),
        ({"case": [*"xyx"], "condition": [*"aab"], "score": [0.1, 1, 0.9]}, {}, [[["b"], ["a"]], [["a"]]]),
        ({"case": [*"xxy"], "condition": ["a", "b", None]}, {"kind": "set"}, [[["a", "b"]], []]),
        (
            {"case": ["c"] * 3, "condition": NAMES, "logit": [-1.0, 0.0, 2.0]},
            {},
            [[["Tinea"], ["Psoriasis"], ["Eczema"]]],
        ),
    ],
)
def test_rows_are_ranks_with_gaps_scattered_scores_sets_or_all_logits(
    columns: dict[str, Any], options: dict[str, Any], lists: list[Any]
) -> None:
    said = Predictions.from_long(pl.DataFrame(columns, strict=False), **options)
    assert said.to_lists() == lists
    assert said.complete == ("logit" in columns)
    assert said.case_names == tuple(dict.fromkeys(columns["case"]))


def test_kind_chooses_between_scores_and_ranks_and_sets() -> None:
    frame = long({"score": [0.1, 0.9, 1.0], "rank": [1, 2, 1]})
    assert Predictions.from_long(frame, kind="ranking").to_lists()[0] == [["Tinea"], ["Eczema"]]
    assert Predictions.from_long(frame, kind="scores").to_lists()[0] == [["Eczema"], ["Tinea"]]
    frame = pl.DataFrame({"case": ["c1"], "a": [1], "b": [0]})
    assert Predictions.from_wide(frame).kind == "set"
    assert Predictions.from_wide(frame, kind="scores").kind == "scores"
    assert Predictions.from_wide(frame.with_columns(pl.col("a", "b").cast(pl.Boolean))).to_lists() == [[["a"]]]
    assert Predictions.from_wide(frame.with_columns(pl.col("a").cast(pl.Float64))).kind == "scores"


def test_arrays_are_read_only_copies() -> None:
    given = np.array(SCORES)
    said = Predictions.from_scores(given, NAMES)
    given[:] = 0
    assert said.to_scores().tolist() == SCORES
    with pytest.raises(ValueError, match="read-only"):
        said.values[0] = 1


@pytest.mark.parametrize("cases", [["c2"], [1], slice(1, None), np.array([False, True])])
def test_select_takes_names_positions_slices_and_masks(cases: Any) -> None:
    said = scores().select(cases)
    assert said.case_names == ("c2",)
    assert said.to_scores().tolist() == [SCORES[1]]
    nothing = scores().select([])
    assert len(nothing) == 0
    assert nothing.notes() == ()
    assert "0 cases" in repr(nothing)


def test_align_reorders_by_name() -> None:
    said = scores().align(["c2", "c1"], ["Tinea", "Eczema", "Psoriasis"])
    assert said.case_names == ("c2", "c1")
    assert said.to_scores().tolist() == [[0.4, 0.4, 0.2], [0.1, 0.2, 0.7]]
    assert said.codes.tolist()[:3] == [0, 1, 2]

    said = Predictions.from_rankings([["b", "a"]]).align(conditions=["c", "a", "b"])
    assert said.to_lists() == [[["b"], ["a"]]]
    assert said.n_conditions == 3
    assert Predictions.from_sets([["a"]], ["a", "b"]).align(conditions=["a"]).n_conditions == 1
    assert scores().align(["c0", "c2", "c1"], allow_missing=True).case_names == ("c2", "c1")


def test_equality_is_by_content_and_pickling_keeps_it() -> None:
    assert scores() == scores()
    assert scores() != scores().rename("B")
    assert scores() != scores().select([1, 0])
    assert scores() != "scores"
    copy = pickle.loads(pickle.dumps(scores()))
    assert copy == scores()
    assert not copy.values.flags.writeable


def test_repr_tells_what_is_inside() -> None:
    text = repr(Predictions.from_sets([["a"], [], ["a", "b"]], ["a", "b", "c"], name="sets"))
    assert "'sets': 3 sets over 3 conditions" in text
    assert "2 of 3; 0 to 2 per case" in text
    assert "33.3 % of cases" in text
    assert "scores on 2 cases" in repr(scores())
    assert "50.0 % of cases" in repr(scores())


def test_a_hundred_thousand_conditions_stay_compact() -> None:
    codes = np.arange(1000) * 97
    frame = pl.DataFrame(
        {"case": np.arange(1000) // 10, "condition": [f"k{code}" for code in codes], "score": 1.0 + codes}
    )
    said = Predictions.from_long(frame, [f"k{code}" for code in range(100_000)])
    assert said.n_entries == 1000
    assert said.entries_per_case.tolist() == [10] * 100


def noted(said: Predictions) -> dict[str, int]:
    return {note.found: note.count for note in said.notes()}


def test_probabilities_need_no_notes() -> None:
    assert scores().notes() == ()
    top = Predictions.from_long(long({"score": [0.5, 0.2, 0.4]}), NAMES)
    assert [note.found for note in top.notes()] == [
        "conditions without a score",
        "cases on which some of the other conditions have no score",
    ]


@pytest.mark.parametrize(
    ("rows", "finding"),
    [
        ([[1.0, 2.0], [0.5, 0.5]], "cases whose scores do not sum to 1"),
        ([[0.5, 0.5], [0.3, 0.7]], "cases with the same score for every condition"),
        ([[-1.0, 2.0], [1.0, 0.5]], "cases with negative scores"),
    ],
)
def test_notes_count_what_deserves_a_look(rows: list[list[float]], finding: str) -> None:
    assert noted(Predictions.from_scores(rows))[finding] == 1


def test_notes_on_hard_scores_and_empty_lists() -> None:
    assert noted(Predictions.from_scores([[1.0, 0.0]])) == {"cases with scores of 0 and 1 only": 1}
    assert noted(Predictions.from_rankings([[], ["a"]])) == {"empty rankings": 1}
    assert noted(Predictions.from_sets([[], ["a"], ["a", "b"]])) == {"empty sets": 1, "sets of all conditions": 1}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kind": "guess"}, "kind is not understood"),
        ({"case_names": ("c1", "c1")}, "must all be different"),
        ({"offsets": [0, 3]}, "number of offsets"),
        ({"codes": [1, 0, 2]}, "number of codes"),
        ({"values": [1.0]}, "number of values"),
        ({"codes": [1, 0, 2, 0, 9, 1]}, "out of range"),
        ({"codes": [1, 0, 2, 2, 0, 1]}, "not in order"),
        ({"values": [0.7, 0.2, np.nan, 0.4, 0.4, 0.2]}, "not a finite number"),
        ({"offsets": [0, 2, 6]}, "not in order"),
    ],
)
def test_the_constructor_refuses_what_cannot_be(change: dict[str, Any], problem: str) -> None:
    said = scores()
    parts = {name: getattr(said, name) for name in Predictions.__dataclass_fields__}
    with pytest.raises(DissensusError, match=problem):
        Predictions(**{**parts, **change})

    with pytest.raises(DissensusError, match="must list every condition"):
        Predictions("A", "scores", ("a", "b"), ("c",), np.array([0, 1]), np.array([0]), np.array([1.0]), True)
