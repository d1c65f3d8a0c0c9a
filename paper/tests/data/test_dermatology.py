"""The dermatology data: three files that must fit together, and models that may be there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from dissensus.core.errors import DissensusError
from paper.data import load_dermatology
from paper.data.dermatology import MODELS
from paper.data.printed_cases import CASES
from paper.tests.data.published_files import CONDITIONS, SCORES, SELECTORS, write_dermatology
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


# Are the models the published ones? ------------------------------------------------------------------------

NAMES = sorted(set().union(*(case.named for case in CASES)))
N_CASES = 1058
Scores = dict[str, npt.NDArray[np.float64]]


def genuine() -> Scores:
    """Make scores of four models whose first three conditions are those that are printed; the rest is noise."""
    scores = {name: np.random.default_rng(number).random((N_CASES, len(NAMES))) for number, name in enumerate(MODELS)}
    for case in CASES:
        for each in case.predictions:
            scores[each.model][int(case.name), [NAMES.index(name) for name in each.conditions]] += 1
    return scores


def write_models(directory: Path, scores: Mapping[str, npt.NDArray[np.float64]]) -> Path:
    (directory / "dermatology_selectors.json").write_text(json.dumps([[[[0]]]] * N_CASES), encoding="utf-8")
    (directory / "dermatology_conditions.txt").write_text("\n".join(NAMES), encoding="utf-8")
    (directory / "dermatology_risks.txt").write_text("\n".join("012"[i % 3] for i in range(len(NAMES))))
    for name, values in scores.items():
        np.savetxt(directory / f"dermatology_predictions{MODELS.index(name)}.txt", values, fmt="%.6e")
    return directory


def place(case: str, condition: str) -> tuple[int, int]:
    return int(case), NAMES.index(condition)


def test_models_that_predict_what_is_printed_are_the_published_ones(tmp_path: Path) -> None:
    data = load_dermatology(write_models(tmp_path, genuine()))
    assert data.unlike == ()
    assert data.has_published_models
    assert not any("paper prints" in note.found for note in data.notes)


@pytest.mark.parametrize(
    ("model", "case", "rival"),
    [("A", "1026", "Melanoma"), ("A", "357", "Tinea"), ("B", "1026", "Tinea"), ("D", "1057", "Calciphylaxis cutis")],
)
def test_another_set_at_one_case_is_enough_to_doubt(tmp_path: Path, model: str, case: str, rival: str) -> None:
    scores = genuine()
    scores[model][place(case, rival)] = 5.0
    data = load_dermatology(write_models(tmp_path, scores))
    (words,) = data.unlike
    assert words.startswith(f"model {model} has {{{rival}, ")
    assert f"at case {case}, not {{" in words
    assert not data.has_published_models
    (note,) = [note for note in data.notes if "paper prints" in note.found]
    assert (note.count, note.examples) == (1, (words,))


def test_files_in_another_order_are_not_believed(tmp_path: Path) -> None:
    scores = genuine()
    scores["A"], scores["B"] = scores["B"], scores["A"]
    assert {words[:7] for words in load_dermatology(write_models(tmp_path, scores)).unlike} == {"model A", "model B"}


def test_a_tie_at_the_third_place_may_fall_either_way(tmp_path: Path) -> None:
    scores = genuine()
    row = scores["D"][1057]
    row[:] = 0.1
    row[[NAMES.index("Arterial ulcer"), NAMES.index("Cellulitis")]] = 0.6
    row[[NAMES.index("Pyoderma Gangrenosum"), NAMES.index("Acne")]] = 0.4
    assert load_dermatology(write_models(tmp_path, scores)).has_published_models


def test_a_model_that_says_the_same_of_all_conditions_matches_nothing(tmp_path: Path) -> None:
    scores = genuine()
    scores["D"][:] = 1.0
    (words,) = load_dermatology(write_models(tmp_path, scores)).unlike
    assert words.startswith("model D")


@pytest.mark.parametrize("missing", MODELS)
def test_without_one_of_the_files_the_models_are_not_complete(tmp_path: Path, missing: str) -> None:
    scores = {name: values for name, values in genuine().items() if name != missing}
    data = load_dermatology(write_models(tmp_path, scores))
    assert data.unlike == ()
    assert not data.has_published_models


def test_nothing_is_printed_for_model_c(tmp_path: Path) -> None:
    scores = genuine()
    scores["C"] = scores["C"][::-1]
    assert load_dermatology(write_models(tmp_path, scores)).has_published_models


def test_a_study_without_the_printed_cases_has_no_published_models(tmp_path: Path) -> None:
    write_dermatology(tmp_path)
    np.savetxt(tmp_path / "dermatology_predictions0.txt", SCORES, fmt="%.3e")
    data = load_dermatology(tmp_path)
    assert data.unlike == tuple(f"model A has no case {case}" for case in ("1026", "1057", "357"))


@needs_shared
def test_the_release_is_what_was_published() -> None:
    data = load_dermatology(SHARED / "dermatology_ddx")
    said = data.annotations
    assert (said.n_cases, said.n_conditions, said.n_rankings) == (1947, 419, 9602)
    assert data.notes == ()
    assert [int(size) for size in data.categories.sizes] == [201, 150, 68]
