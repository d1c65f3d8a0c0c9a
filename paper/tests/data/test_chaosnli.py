"""ChaosNLI: votes and probabilities as they are, whatever the order of rows and columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from dissensus.core.errors import DissensusError
from paper.data import load_chaosnli
from paper.tests.data.published_files import CHAOSNLI, write_chaosnli
from shared_data import SHARED, needs_shared


def test_votes_are_anonymous_single_labels(tmp_path: Path) -> None:
    said = load_chaosnli(write_chaosnli(tmp_path)).annotations
    assert said.conditions == ("entailment", "neutral", "contradiction")
    assert said.case_names == ("p", "q", "r")
    assert said.votes.tolist() == [60, 40, 50, 50, 1, 2, 97]
    assert said.votes_per_case.tolist() == [100, 100, 100]


def test_probabilities_are_matched_by_the_names_of_cases_and_labels(tmp_path: Path) -> None:
    (name, said), *rest = load_chaosnli(write_chaosnli(tmp_path)).predictions.items()
    assert (name, rest) == ("net_1", [])
    assert said.to_scores().tolist() == [[0.5, 0.3, 0.2], [0.3, 0.6, 0.1], [0.05, 0.05, 0.9]]


def test_other_contents_than_the_published_ones_are_noted(tmp_path: Path) -> None:
    (note,) = load_chaosnli(write_chaosnli(tmp_path)).notes
    assert "other contents" in str(note)
    assert "counts.csv" in str(note)


def test_another_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="not the votes of ChaosNLI") as caught:
        load_chaosnli(write_chaosnli(tmp_path, "case,yes,no\np,1,2\n"))
    assert "'entailment'" in caught.value.got
    assert "easonnie/ChaosNLI" in caught.value.advice


@pytest.mark.parametrize(("votes", "problem"), [("q,0,x,50", "whole numbers"), ("q,0,-3,50", "votes|counts|negative")])
def test_what_are_no_votes_is_refused_with_its_place(tmp_path: Path, votes: str, problem: str) -> None:
    with pytest.raises(DissensusError, match=problem) as caught:
        load_chaosnli(write_chaosnli(tmp_path, CHAOSNLI.replace("q,0,50,50", votes)))
    assert "counts.csv" in str(caught.value)


def test_an_empty_directory_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match=r"counts\.csv"):
        load_chaosnli(tmp_path)


@needs_shared
def test_the_release_has_a_hundred_labels_and_five_networks() -> None:
    data = load_chaosnli(SHARED / "chaosnli_snli")
    assert data.annotations.n_cases == 1514
    assert set(data.annotations.votes_per_case.tolist()) == {100}
    assert len(data.predictions) == 5
    assert data.notes == ()
