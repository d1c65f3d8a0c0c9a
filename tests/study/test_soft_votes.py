"""Confidences order the conditions, or share one vote among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dissensus import Annotations, DissensusError, annotator_agreement, examine_annotations, read_annotations
from dissensus.core.files import open_source
from dissensus.study.reading.format import Options
from dissensus.study.reading.long import Long
from format_examples import write_text

TEXT = """\
case,annotator,label,confidence
c1,A,x,1
c1,A,y,3
c1,B,x,5
c1,B,y,0
c2,A,z,
c3,B,y,2
c3,B,x,2
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_text(tmp_path / "a.csv", TEXT)


@pytest.mark.parametrize("confidence", [None, "order"])
def test_confidences_order_by_default(path: Path, confidence: Any) -> None:
    said = read_annotations(path, confidence=confidence)
    assert said.to_rankings() == [[[["y"], ["x"]], [["x"]]], [[]], [[["x", "y"]]]]
    assert not said.panel.is_weighted


def test_what_confidences_do_is_an_assumption_unless_it_is_said(path: Path) -> None:
    source = open_source(path)
    (assumed,) = Long().parse(source, Options()).assumed
    assert assumed == "confidences order the conditions; their values are not used (--confidence share uses them)"
    assert not Long().parse(source, Options(confidence="order")).assumed


def test_shares_of_one_annotator_sum_to_one_vote(path: Path) -> None:
    reading = examine_annotations(path, confidence="share")
    said = reading.rankings
    assert said.to_rankings() == [[[["y"]], [["x"]], [["x"]]], [[]], [[["x"]], [["y"]]]]
    assert said.weights.tolist() == [0.75, 0.25, 1.0, 1.0, 0.5, 0.5]
    assert [said.annotator_names[code] for code in said.annotators] == ["A", "A", "B", "A", "B", "B"]
    assert any("soft votes: 3, shared by their confidences" in str(note) for note in reading.receipt.notes)


def test_a_soft_vote_is_one_annotator_in_agreement(path: Path) -> None:
    found = annotator_agreement(read_annotations(path, confidence="share"))
    assert found.n_annotators.tolist() == [2, 0, 1]


def test_a_soft_vote_is_one_annotator_in_counts_of_annotators(path: Path) -> None:
    order, share = read_annotations(path), read_annotations(path, confidence="share")
    assert share.panel.annotators_per_case.tolist() == order.panel.annotators_per_case.tolist() == [2, 1, 1]
    assert [fact.value for fact in share.facts() if fact.label == "Annotators per case"] == ["1 to 2, median 1"]


def test_weights_of_annotators_multiply_shares(tmp_path: Path) -> None:
    text = "case,annotator,label,confidence,weight\nc1,A,x,1,4\nc1,A,y,3,4\n"
    said = read_annotations(write_text(tmp_path / "a.csv", text), confidence="share")
    assert said.weights.tolist() == [3.0, 1.0]


def test_a_repeated_mention_is_refused_before_it_becomes_a_vote(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", "case,annotator,label,confidence\nc1,A,x,1\nc1,A,x,3\nc1,A,y,1\n")
    with pytest.raises(DissensusError, match="mentioned twice"):
        read_annotations(path, confidence="share")
    said = examine_annotations(path, confidence="share", duplicates="best").rankings
    assert (said.to_rankings(), said.weights.tolist()) == ([[[["x"]], [["y"]]]], [0.75, 0.25])


def test_scattered_rows_keep_their_confidences(tmp_path: Path) -> None:
    rows = [("c2", "A", "y", 1), ("c1", "A", "x", 1), ("c2", "A", "x", 4), ("c1", "A", "y", 9)]
    text = "case,annotator,label,confidence\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows)
    said = read_annotations(write_text(tmp_path / "a.csv", text), confidence="share")
    assert said.case_names == ("c2", "c1")
    assert said.to_rankings() == [[[["x"]], [["y"]]], [[["y"]], [["x"]]]]
    np.testing.assert_allclose(said.weights, [0.8, 0.2, 0.9, 0.1])


def test_huge_confidences_have_shares(tmp_path: Path) -> None:
    text = "case,annotator,label,confidence\nc1,A,x,1e308\nc1,A,y,1e308\n"
    said = read_annotations(write_text(tmp_path / "a.csv", text), confidence="share")
    assert said.weights.tolist() == [0.5, 0.5]


def test_a_soft_vote_of_nobody_is_refused(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", "case,label,confidence\nc1,x,1\nc1,y,3\n")
    with pytest.raises(DissensusError, match="needs the name of its annotator"):
        read_annotations(path, confidence="share")


def test_confidences_that_are_asked_for_decide_over_ranks(tmp_path: Path) -> None:
    text = "case,annotator,label,rank,confidence\nc1,A,x,1,1\nc1,A,y,2,3\n"
    path = write_text(tmp_path / "a.csv", text)
    assert read_annotations(path).to_rankings() == [[[["x"], ["y"]]]]
    assert read_annotations(path, confidence="order").to_rankings() == [[[["y"], ["x"]]]]
    assert read_annotations(path, confidence="share").weights.tolist() == [0.75, 0.25]


def test_confidences_that_are_not_there_are_an_error(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", "case,annotator,label,rank\nc1,A,x,1\n")
    with pytest.raises(DissensusError, match="there are no confidences to use"):
        read_annotations(path, confidence="share")


def test_another_word_is_refused(path: Path) -> None:
    word: Any = "shares"
    with pytest.raises(DissensusError, match="confidence is not understood"):
        read_annotations(path, confidence=word)


def test_a_table_in_python_is_served_too(path: Path) -> None:
    frame = open_source(path).table
    assert Annotations.from_long(frame, confidence_as="share") == read_annotations(path, confidence="share")
