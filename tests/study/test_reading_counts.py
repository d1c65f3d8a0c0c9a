"""Matrices of votes."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from dissensus.core.errors import DissensusError, FormatError
from dissensus.study.rankings import Annotations
from dissensus.study.reading import examine_annotations, read_annotations
from format_examples import COUNTS, write_array
from shared_data import SHARED, needs_shared


def test_every_vote_is_a_ranking(tmp_path: Path) -> None:
    path = write_array(tmp_path / "votes.npy", COUNTS)
    reading = examine_annotations(path, conditions=["cat", "dog", "frog"])
    assert reading.rankings.to_rankings() == [[[["cat"]], [["cat"]], [["frog"]]], []]
    assert reading.rankings.unannotated == ("1",)
    notes = [str(note) for note in reading.receipt.notes]
    assert notes == ["votes in a matrix: 3, expanded to one anonymous ranking each"]
    assert reading.rankings == Annotations.from_counts(COUNTS, ["cat", "dog", "frog"])


def test_conditions_are_numbered_by_default(tmp_path: Path) -> None:
    said = read_annotations(write_array(tmp_path / "votes.npy", COUNTS))
    assert said.conditions == ("0", "1", "2")


def test_whole_numbers_stored_as_floats_need_the_format(tmp_path: Path) -> None:
    path = write_array(tmp_path / "votes.npy", COUNTS.astype(float))
    with pytest.raises(FormatError, match="no known format fits"):
        read_annotations(path)
    assert read_annotations(path, "counts").n_rankings == 3


@pytest.mark.parametrize(
    ("votes", "problem"),
    [
        (np.array([[1, -1]]), "whole numbers, zero or more"),
        (np.array([[10**9, 1]]), "too many votes"),
        (np.array([[1, 1, 1]]), "the number of conditions does not fit"),
    ],
)
def test_what_is_not_a_matrix_of_votes_is_an_error(votes: np.ndarray, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match=problem):
        read_annotations(write_array(tmp_path / "votes.npy", votes), conditions=["cat", "dog"])


@needs_shared
def test_published_votes_on_photographs() -> None:
    start = time.perf_counter()
    said = read_annotations(SHARED / "cifar10h" / "cifar10h-counts.npy")
    elapsed = time.perf_counter() - start
    assert (said.n_cases, said.n_conditions, said.n_rankings) == (10_000, 10, 511_000)
    assert said.rankings_per_case.min() == 47
    assert said.rankings_per_case.max() == 63
    assert elapsed < 2
