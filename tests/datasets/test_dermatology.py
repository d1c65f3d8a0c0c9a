"""The dermatology data: three files that must fit together, and models that may be there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from datasets.published_files import CONDITIONS, SCORES, SELECTORS, write_dermatology
from dissensus.core.errors import DissensusError
from dissensus.datasets import load_dermatology
from shared_data import SHARED, needs_shared


def test_rankings_names_and_risks_are_read(tmp_path: Path) -> None:
    data = load_dermatology(write_dermatology(tmp_path))
    names = [[[[CONDITIONS[code] for code in block] for block in one] for one in case] for case in SELECTORS]
    assert data.annotations.to_rankings() == names
    assert data.annotations.case_names == ("0", "1", "2")
    assert data.categories.names == ("low", "medium", "high")
    assert data.categories.levels == (0.0, 1.0, 2.0)
    assert [data.categories.names[code] for code in data.categories.codes] == ["low", "low", "high", "medium"]
    assert data.predictions == {}


@pytest.mark.parametrize("ending", [".txt", ".json"])
def test_models_are_read_as_numpy_writes_them(tmp_path: Path, ending: str) -> None:
    write_dermatology(tmp_path)
    for number in range(4):
        np.savetxt(tmp_path / f"dermatology_predictions{number}{ending}", SCORES + number, fmt="%.3e")
    data = load_dermatology(tmp_path)
    assert tuple(data.predictions) == ("A", "B", "C", "D")
    assert np.allclose(data.predictions["C"].to_scores(), SCORES + 2)


def test_models_may_be_lists_in_json(tmp_path: Path) -> None:
    write_dermatology(tmp_path)
    (tmp_path / "dermatology_predictions1.json").write_text(json.dumps(SCORES.tolist()), encoding="utf-8")
    data = load_dermatology(tmp_path)
    assert tuple(data.predictions) == ("B",)
    assert np.allclose(data.predictions["B"].to_scores(), SCORES)


def test_scores_of_zero_and_one_are_scores(tmp_path: Path) -> None:
    write_dermatology(tmp_path)
    np.savetxt(tmp_path / "dermatology_predictions0.txt", np.eye(4)[[0, 3, 2]], fmt="%.3e")
    assert load_dermatology(tmp_path).predictions["A"].kind == "scores"


def test_models_of_another_shape_are_named(tmp_path: Path) -> None:
    write_dermatology(tmp_path)
    np.savetxt(tmp_path / "dermatology_predictions2.txt", SCORES[:, :3], fmt="%.3e")
    with pytest.raises(DissensusError, match=r"dermatology_predictions2\.txt"):
        load_dermatology(tmp_path)


def test_missing_files_are_listed_with_the_place_to_get_them(tmp_path: Path) -> None:
    write_dermatology(tmp_path)
    (tmp_path / "dermatology_risks.txt").unlink()
    with pytest.raises(DissensusError, match=r"dermatology_risks\.txt") as caught:
        load_dermatology(tmp_path)
    assert "dermatology_selectors.json" in caught.value.expected
    assert "google-deepmind/uncertain_ground_truth" in caught.value.advice
    assert "fetch_dermatology" in caught.value.advice


def test_a_directory_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="no such directory"):
        load_dermatology(tmp_path / "nowhere")
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    with pytest.raises(DissensusError, match="not a directory"):
        load_dermatology(file)


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("dermatology_risks.txt", "0\n0\n2\n", "number of categories"),
        ("dermatology_selectors.json", "[[[[0], [9]]]]", "9"),
        ("dermatology_selectors.json", "[[[0]]]", "wrong depth"),
        ("dermatology_selectors.json", "[[[[0], [1", "cut off"),
    ],
)
def test_files_that_do_not_fit_are_named(tmp_path: Path, name: str, text: str, match: str) -> None:
    write_dermatology(tmp_path)
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DissensusError, match=match) as caught:
        load_dermatology(tmp_path)
    assert name in str(caught.value)


def test_other_contents_than_published_are_noted(tmp_path: Path) -> None:
    (note,) = load_dermatology(write_dermatology(tmp_path)).notes
    assert note.count == 3
    assert "dermatology_selectors.json" in note.examples
    assert "other contents than the published ones" in str(note)


@needs_shared
def test_the_release_is_what_was_published() -> None:
    data = load_dermatology(SHARED / "dermatology_ddx")
    said = data.annotations
    assert (said.n_cases, said.n_conditions, said.n_rankings) == (1947, 419, 9602)
    assert data.notes == ()
    assert [int(size) for size in data.categories.sizes] == [201, 150, 68]
