"""Mentions of a ranking: one that is made again is refused or left out, and confidences order or share one vote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dissensus import DissensusError, DissensusWarning, Study, examine, read
from dissensus.agreement import annotator_agreement
from dissensus.core.files import open_source
from dissensus.study.tables import study_from_table

LONG = """\
case,annotator,label,rank
c1,A,x,2
c1,A,y,1
c1,A,x,1
c1,A,x,3
c1,B,y,1
c2,A,z,2
c2,A,x,1
c2,A,z,1
c3,B,y,1
c3,B,y,2
c4,A,y,2
c4,A,y,1
"""


def test_the_error_counts_all_repeated_mentions_and_names_the_first_three_places(put: Any) -> None:
    with pytest.raises(DissensusError, match="'x' is mentioned twice") as caught:
        read(put(LONG))
    assert caught.value.got == "5 repeated mentions in 4 rankings"
    assert "case 'c1', annotator 'A', condition 'x'; case 'c2', annotator 'A', condition 'z'" in caught.value.where
    assert "case 'c3', annotator 'B', condition 'y'; and 1 more" in caught.value.where
    assert "c4" not in caught.value.where
    assert "--duplicates first" in caught.value.advice


def test_the_first_row_counts_or_the_best_rank_and_what_is_left_out_is_noted(put: Any) -> None:
    path = put(LONG)
    kept = {
        "first": [[[["y"], ["x"]], [["y"]]], [[["x"], ["z"]]], [[["y"]]], [[["y"]]]],
        "best": [[[["x", "y"]], [["y"]]], [[["x", "z"]]], [[["y"]]], [[["y"]]]],
    }
    words = {"first": "the first mention counts", "best": "the mention with the best rank counts"}
    for duplicates, rankings in kept.items():
        reading = examine(path, duplicates=duplicates)  # type: ignore[arg-type]
        assert reading.rankings.to_rankings() == rankings
        (note,) = reading.receipt.lost
        assert (note.count, note.lost, len(note.examples)) == (5, True, 3)
        assert words[duplicates] in str(note)
    with pytest.warns(DissensusWarning, match="repeated mentions of a condition: 5, left out"):
        read(path, duplicates="first")


SHAPES: dict[str, Any] = {
    "wide.csv": "case,A,B\nc1,x>y>x,y\n",
    "nested.json": [[[["x"], ["y"], ["x"]], [["y"]]]],
    "huggingface.jsonl": [{"id": "c1", "labels": [["x", "y", "x"], "y"], "annotator_ids": ["A", "B"]}],
    "records.jsonl": [{"case": "c1", "annotator": "A", "label": name, "rank": 1} for name in "xyx"],
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_of_file_is_served(name: str, put: Any) -> None:
    path = put(SHAPES[name], name)
    with pytest.raises(DissensusError, match="'x' is mentioned twice") as caught:
        examine(path)
    assert caught.value.got == "1 repeated mention in 1 ranking"
    for duplicates in ("first", "best"):
        reading = examine(path, duplicates=duplicates)
        assert sorted(name for block in reading.rankings.to_rankings()[0][0] for name in block) == ["x", "y"]
        assert [note.count for note in reading.receipt.notes if note.lost] == [1]


def test_scattered_rows_and_long_rankings_of_a_table_in_python_are_found() -> None:
    names = [f"n{number:02}" for number in range(30)]
    frame = pl.DataFrame({"case": ["c"] * 31, "annotator": ["A"] * 31, "label": [*names, "n00"], "rank": range(1, 32)})
    with pytest.raises(DissensusError, match="'n00' is mentioned twice"):
        Study.from_long(frame)
    assert Study.from_long(frame.reverse(), duplicates="best").to_rankings() == [[[[name] for name in names]]]
    with pytest.raises(DissensusError, match="duplicates is not understood"):
        Study.from_long(frame, duplicates="last")  # type: ignore[arg-type]
    sure = pl.DataFrame({"case": ["c"] * 3, "annotator": ["A"] * 3, "label": [*"xyx"], "confidence": [1, 2, 3]})
    assert Study.from_long(sure, duplicates="best").to_rankings() == [[[["x"], ["y"]]]]
    assert Study.from_long(sure, duplicates="first").to_rankings() == [[[["y"], ["x"]]]]
    assert not study_from_table(sure[1:].rename({"label": "condition"}), duplicates="first")[1]


# Confidences ------------------------------------------------------------------------------------------

HEADER = "case,annotator,label,confidence\n"
TEXT = HEADER + "c1,A,x,1\nc1,A,y,3\nc1,B,x,5\nc1,B,y,0\nc2,A,z,\nc3,B,y,2\nc3,B,x,2\n"


@pytest.fixture
def path(put: Any) -> Path:
    found: Path = put(TEXT)
    return found


def test_confidences_order_by_default_which_is_an_assumption_unless_it_is_said(path: Path) -> None:
    for confidence in (None, "order"):
        said = read(path, confidence=confidence)
        assert said.to_rankings() == [[[["y"], ["x"]], [["x"]]], [[]], [[["x", "y"]]]]
        assert not said.panel.is_weighted
    (assumed,) = examine(path).receipt.assumed[:1]
    assert assumed == "confidences order the conditions; their values are not used (--confidence share uses them)"
    assert assumed not in examine(path, confidence="order").receipt.assumed


def test_shares_of_one_annotator_sum_to_one_vote(path: Path) -> None:
    reading = examine(path, confidence="share")
    said = reading.rankings
    assert said.to_rankings() == [[[["y"]], [["x"]], [["x"]]], [[]], [[["x"]], [["y"]]]]
    assert said.weights.tolist() == [0.75, 0.25, 1.0, 1.0, 0.5, 0.5]
    assert [said.annotator_names[code] for code in said.annotators] == ["A", "A", "B", "A", "B", "B"]
    assert any("soft votes: 3, shared by their confidences" in str(note) for note in reading.receipt.notes)


def test_a_soft_vote_is_one_annotator_wherever_annotators_are_counted(path: Path) -> None:
    order, share = read(path), read(path, confidence="share")
    assert annotator_agreement(share).n_annotators.tolist() == [2, 0, 1]
    assert share.panel.annotators_per_case.tolist() == order.panel.annotators_per_case.tolist() == [2, 1, 1]
    assert [fact.value for fact in share.facts() if fact.label == "Annotators per case"] == [
        "1 to 2, median 1, mean 1.33"
    ]
    assert Study.from_long(open_source(path).table, confidence_as="share") == share


SCATTERED = f"{HEADER}c2,A,y,1\nc1,A,x,1\nc2,A,x,4\nc1,A,y,9\n"


def test_shares_by_hand(put: Any) -> None:
    for text, rankings, weights in (
        ("case,annotator,label,confidence,weight\nc1,A,x,1,4\nc1,A,y,3,4\n", ["yx"], [3.0, 1.0]),
        (SCATTERED, ["xy", "yx"], [0.8, 0.2, 0.9, 0.1]),
        (f"{HEADER}c1,A,x,1e308\nc1,A,y,1e308\n", ["xy"], [0.5, 0.5]),  # huge
    ):
        said = read(put(text), confidence="share")
        assert said.to_rankings() == [[[[name]] for name in case] for case in rankings]
        np.testing.assert_allclose(said.weights, weights)


def test_a_repeated_mention_is_no_vote_and_confidences_that_are_asked_for_decide_over_ranks(put: Any) -> None:
    path = put(f"{HEADER}c1,A,x,1\nc1,A,x,3\nc1,A,y,1\n")
    with pytest.raises(DissensusError, match="mentioned twice"):
        read(path, confidence="share")
    said = examine(path, confidence="share", duplicates="best").rankings
    assert (said.to_rankings(), said.weights.tolist()) == ([[[["x"]], [["y"]]]], [0.75, 0.25])
    path = put("case,annotator,label,rank,confidence\nc1,A,x,1,1\nc1,A,y,2,3\n")
    assert read(path).to_rankings() == [[[["x"], ["y"]]]]
    assert read(path, confidence="order").to_rankings() == [[[["y"], ["x"]]]]
    assert read(path, confidence="share").weights.tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    ("text", "confidence", "problem"),
    [
        ("case,label,confidence\nc1,x,1\nc1,y,3\n", "share", "needs the name of its annotator"),
        ("case,annotator,label,rank\nc1,A,x,1\n", "share", "there are no confidences to use"),
        (TEXT, "shares", "confidence is not understood"),
    ],
)
def test_what_cannot_be_shared_is_refused(text: str, confidence: Any, problem: str, put: Any) -> None:
    with pytest.raises(DissensusError, match=problem):
        read(put(text), confidence=confidence)
