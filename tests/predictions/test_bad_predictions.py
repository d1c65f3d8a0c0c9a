"""Bad predictions: every message says what was expected, what was got, where, and what to do."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from dissensus.core.errors import DissensusError
from dissensus.predictions.lists import Predictions
from dissensus.predictions.reader import read_models, read_predictions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

NAMES = ["Eczema", "Psoriasis", "Tinea"]
CASES = ["c1", "c2"]
HEADER = "case_id,Eczema,Psoriasis,Tinea\n"
WIDE = HEADER + "c1,0.2,0.7,0.1\nc2,0.4,0.2,0.4\n"
LONG = "case,condition,{}\n"


@pytest.fixture
def refused(tmp_path: Path) -> Callable[..., None]:
    """Write a file, read it, and expect an error that says certain things and names the file."""

    def check(content: str | bytes, *saying: str, name: str = "m.csv", **options: Any) -> None:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(DissensusError) as caught:
            read_predictions(path, **options)
        assert_says(caught.value, *saying, name)

    return check


def assert_says(error: DissensusError, *saying: str) -> None:
    for text in saying:
        assert text in str(error)


def jsonl(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


# Scores -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite(value: float) -> None:
    with pytest.raises(DissensusError) as caught:
        Predictions.from_scores([[0.2, 0.8, 0], [0.1, value, 0]], NAMES, case_names=CASES)
    assert_says(caught.value, "not a finite number", str(value), "row 2, case 'c2', condition 'Psoriasis'")


@pytest.mark.parametrize("value", ["NaN", "inf", "-inf"])
def test_scores_in_files_that_are_not_finite(refused: Callable[..., None], value: str) -> None:
    refused(HEADER + f"c1,0.2,{value},0.1\n", "not a finite number", "row 1, case 'c1', condition 'Psoriasis'")
    refused(LONG.format("score") + f"c1,a,1\nc1,b,{value}\n", "not a finite number", "row 2, case 'c1'")


def test_a_nan_in_json(refused: Callable[..., None]) -> None:
    row = jsonl({"case_id": "c1", "scores": {"Eczema": float("nan")}})
    refused(row, "not a finite number", "case 'c1', condition 'Eczema'", name="m.jsonl")


def test_all_zero_rows(refused: Callable[..., None]) -> None:
    refused(
        HEADER + "c1,0.0,0,0\nc2,0,0,0\nc3,1,0,0\n",
        "all scores of a case are zero",
        "2 of 3 cases",
        "'c1', 'c2'",
    )
    refused(LONG.format("score") + "c1,a,0\n", "all scores of a case are zero", "case 'c1'")
    refused(jsonl({"case_id": "c1", "scores": {}}), "all scores of a case are zero", name="m.jsonl")


def test_wrong_number_of_rows_or_columns(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.ones((3, 3)))
    with pytest.raises(DissensusError) as caught:
        read_predictions(tmp_path / "m.npy", conditions=NAMES, cases=CASES)
    assert_says(caught.value, "does not fit", "2 rows (cases) and 3 columns", "3 rows and 3 columns", "m.npy")
    with pytest.raises(DissensusError, match="transpose"):
        Predictions.from_scores(np.ones((3, 2)), NAMES, case_names=CASES)


def test_wrong_column_names_get_a_suggestion(refused: Callable[..., None]) -> None:
    text = WIDE.replace("Eczema", "Eczma")
    refused(text, "unknown condition 'Eczma'", "did you mean 'Eczema'?", conditions=NAMES)


def test_logits_of_some_conditions(refused: Callable[..., None]) -> None:
    text = "case,Eczema,Psoriasis\nc1,-1.5,2\n"
    refused(text, "a score is negative although some conditions have none", "case 'c1'", conditions=NAMES)


def test_a_column_that_stands_twice(refused: Callable[..., None]) -> None:
    refused("case,a,a\nc1,0.5,0.5\n", "the header names 'a' twice")


def test_scores_that_are_not_numbers(refused: Callable[..., None]) -> None:
    refused(HEADER + "c1,0.2,high,0.1\n", "not a number", "'high'", "row 1, case 'c1', column 'Psoriasis'")
    refused(HEADER + "c1,0.2,,0.1\n", "a score is missing", "row 1, case 'c1', column 'Psoriasis'")
    refused(LONG.format("score") + "c1,a,high\n", "a score is not a number", "'high'", "row 1, case 'c1'")
    refused(LONG.format("score") + "c1,a,\n", "a score is not a finite number", "nothing", "row 1")
    refused(jsonl({"case_id": "c1", "scores": {"a": "x"}}), "a score is not a number", "'x'", name="m.jsonl")


def test_text_that_is_not_a_matrix(refused: Callable[..., None]) -> None:
    options = {"conditions": NAMES, "cases": CASES}
    refused("0.1 0.2 0.7\n0.1 x 0.8\n", "a score is not a number", "'x'", "line 2", name="m.txt", **options)
    refused("0.1 0.2 0.7\n\n0.1 0.8\n", "rows differ in length", "3 numbers", "line 3", name="m.txt", **options)
    refused("# nothing\n", "holds no numbers", name="m.txt", **options)
    refused("[[0.1, 0.2], [0.3]]", "differ in length", name="m.json", **options)


def test_negative_scores_beside_conditions_without_any(refused: Callable[..., None]) -> None:
    text = LONG.format("score") + "c1,a,-0.5\nc1,b,2\nc2,a,1\n"
    refused(text, "negative", "-0.5", "case 'c1', condition 'a'", "logits of all conditions")


def test_matrices_of_sets_hold_zeros_and_ones() -> None:
    with pytest.raises(DissensusError, match=re.escape("0 and 1 only")) as caught:
        Predictions.from_sets(np.array([[0, 2, 1]]), NAMES)
    assert_says(caught.value, "condition 'Psoriasis'")


@pytest.mark.parametrize("scores", [[0.1, 0.9], [[[0.1]]], [["a", "b"]], [[0.1], [0.2, 0.8]]])
def test_scores_that_are_not_a_matrix(scores: Any) -> None:
    with pytest.raises(DissensusError, match=r"must be|differ in length"):
        Predictions.from_scores(scores)


def test_a_data_frame_is_not_read_as_a_nameless_matrix() -> None:
    with pytest.raises(DissensusError, match="from_wide"):
        Predictions.from_scores(pl.DataFrame({"a": [0.5]}))


def test_a_missing_score_in_the_first_column_does_not_make_it_the_case(refused: Callable[..., None]) -> None:
    refused("Acne,Tinea\n,0.9\n0.1,0.9\n", "no case column")
    refused("Acne,Tinea\n,0.9\n0.1,0.9\n", "a score is missing", "row 1, case 'c1'", cases=CASES)


# Cases ------------------------------------------------------------------------------------------------


def test_cases_missing_on_either_side_are_counted(refused: Callable[..., None]) -> None:
    refused(WIDE, "1 cases without a prediction ('c3')", "allow_missing", cases=[*CASES, "c3"])
    refused(WIDE, "1 predictions on cases outside the study ('c2')", "--allow-missing", cases=["c1"])
    refused(WIDE, "2 cases without", "1 predictions on", cases=["c1", "x", "y"])


def test_no_common_case_is_an_error_whatever_is_allowed(refused: Callable[..., None]) -> None:
    refused(WIDE, "no case of the study", "'c1', 'c2'", cases=["x"], allow_missing=True)


def test_cases_named_twice(refused: Callable[..., None], tmp_path: Path) -> None:
    refused(WIDE + "c1,1,0,0\n", "case 'c1' stands in several rows", "rows 1 and 3")
    rows = jsonl({"case_id": "c1", "set": []}, {"case_id": "c1", "set": []})
    refused(rows, "case 'c1' stands in several rows", name="m.jsonl")
    path = tmp_path / "m.npz"
    np.savez(path, probs=np.ones((2, 1)), case_ids=np.array(["c1", "c1"]), classes=np.array(["a"]))
    with pytest.raises(DissensusError, match="several rows"):
        read_predictions(path)


def test_rows_without_a_case(refused: Callable[..., None]) -> None:
    refused(WIDE + ",1,0,0\n", "a row has no case", "row 3")
    refused(LONG.format("score") + ",a,1\n", "a row has no case", "row 1")
    refused(jsonl({"set": ["a"]}), "a row has no case", "row 1", name="m.jsonl")


def test_selecting_an_unknown_case() -> None:
    with pytest.raises(DissensusError, match="did you mean 'case 1'"):
        Predictions.from_sets([["a"]], case_names=["case 1"]).select(["case1"])


# Columns ----------------------------------------------------------------------------------------------


def test_columns_that_are_missing(refused: Callable[..., None]) -> None:
    refused("case,diagnos,score\nc1,a,1\n", "no condition column", "'diagnos'")
    refused("scan,label,score\n1,a,1\n", "no case column", "'scan'")
    refused("case,label,number\nc1,a,1\n", "no score column and no rank column", "kind='set'")
    refused("case,label,rank\nc1,a,1\n", "no score column", kind="scores")
    refused("Eczema,Tinea\n0.1,0.9\n", "no case column")
    refused("case,label,score\nc1,a,1\n", "no column 'scor'", "did you mean 'score'", columns={"score": "scor"})


def test_scores_and_ranks_at_once(refused: Callable[..., None]) -> None:
    refused("case,label,score,rank\nc1,a,1,1\n", "scores and ranks", "kind='scores' or kind='ranking'")


def test_a_table_without_a_header(refused: Callable[..., None]) -> None:
    refused("c1,0.1,0.9\nc2,0.2,0.8\n", "seems to have no header")


def test_integers_need_a_list_of_conditions(refused: Callable[..., None]) -> None:
    refused("case,0,1\nc1,0.1,0.9\n", "integer column names need a list")
    refused(LONG.format("score") + "c1,0,0.9\n", "integer labels need a list")
    refused(jsonl({"case": "c1", "ranked": [1, 0]}), "integer codes need a list", name="m.jsonl")
    refused(jsonl({"case": "c1", "scores": {"0": 1}}), "integer column names need a list", name="m.jsonl")
    refused("case,0,9\nc1,0.1,0.9\n", "unknown condition '9'", conditions=["a", "b"])


def test_a_matrix_without_names_needs_both_lists(tmp_path: Path, refused: Callable[..., None]) -> None:
    np.save(tmp_path / "m.npy", np.ones((2, 3)))
    with pytest.raises(DissensusError) as caught:
        read_predictions(tmp_path / "m.npy")
    assert_says(caught.value, "its cases and its conditions", "2 rows and 3 columns", "np.savez")
    refused("0.5 0.5\n", "the list of its cases", name="m.txt", conditions=["a", "b"])


# Lists ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", ["0", "-1", "NaN", ""])
def test_ranks_must_be_positive(refused: Callable[..., None], rank: str) -> None:
    refused(LONG.format("rank") + f"c1,a,1\nc1,b,{rank}\n", "a rank must be a positive number", "row 2, case 'c1'")


def test_a_rank_that_is_not_a_number(refused: Callable[..., None]) -> None:
    refused(LONG.format("rank") + "c1,a,first\n", "a rank is not a number", "'first'", "row 1")


def test_a_rank_without_a_condition(refused: Callable[..., None]) -> None:
    refused(LONG.format("rank") + "c1,,1\n", "a rank but no condition", "row 1")


def test_a_condition_listed_twice(refused: Callable[..., None]) -> None:
    refused(LONG.format("rank") + "c1,a,1\nc1,a,2\n", "condition 'a' is listed twice", "case 'c1'")
    refused(LONG.format("score") + "c1,a,0.1\nc1,a,0.2\n", "condition 'a' is listed twice", "case 'c1'")
    refused(jsonl({"case": "c1", "ranked": ["a", ["b", "a"]]}), "'a' is listed twice", name="m.jsonl")
    refused(jsonl({"case": "c1", "set": ["a", "a"]}), "'a' is listed twice", name="m.jsonl")


def test_unknown_conditions_get_a_suggestion(refused: Callable[..., None]) -> None:
    saying = ("unknown condition 'Tinia'", "did you mean 'Tinea'?", "case 'c1'")
    refused(LONG.format("rank") + "c1,Tinia,1\n", *saying, conditions=NAMES)
    refused(jsonl({"case": "c1", "ranked": ["Tinia"]}), *saying, name="m.jsonl", conditions=NAMES)
    refused(jsonl({"case": "c1", "set": ["Tinia"]}), *saying, name="m.jsonl", conditions=NAMES)
    with pytest.raises(DissensusError) as caught:
        Predictions.from_sets([["Tinia"]], case_names=["c1"]).align(conditions=NAMES)
    assert_says(caught.value, *saying[:2], "1 unknown")


@pytest.mark.parametrize(
    ("rankings", "problem"),
    [
        ([["a", []]], "a block is empty"),
        (["a"], "a ranking must be a list"),
        ([[{"a": 1}]], "a block must be a list"),
        ([[0.5]], "neither a name nor a code"),
        ([[7]], "expected: 0 to 2"),
        ([[True]], "neither a name nor a code"),
        ([[None]], "neither a name nor a code"),
    ],
)
def test_rankings_that_cannot_be_read(rankings: Sequence[Any], problem: str) -> None:
    with pytest.raises(DissensusError, match=problem):
        Predictions.from_rankings(rankings, ["a", "b", "c"])


def test_lines_that_cannot_be_read(refused: Callable[..., None]) -> None:
    mixed = jsonl({"case": "c1", "ranked": ["a"]}, {"case": "c2", "set": ["a"]})
    refused(mixed, "mixes kinds", "ranking in row 1; set in row 2", name="m.jsonl")
    refused(jsonl({"case": "c1", "answer": "a"}), "no predictions", "'answer'", name="m.jsonl")
    refused(jsonl({"case": "c1", "set": "a"}), "cannot be read", "case 'c1'", name="m.jsonl")
    gap = jsonl({"case": "c1", "set": ["a"]}, {"case": "c2"})
    refused(gap, "a row has no set", "row 2, case 'c2'", name="m.jsonl")


# Files ------------------------------------------------------------------------------------------------


def test_files_with_nothing_inside(refused: Callable[..., None]) -> None:
    refused("", "the file is empty")
    refused(HEADER, "a header but no rows")
    refused(HEADER, "a header but no rows", name="m.txt")


def test_a_frame_without_rows() -> None:
    frame = pl.DataFrame({"case": [], "condition": [], "score": []})
    with pytest.raises(DissensusError, match="no rows"):
        Predictions.from_long(frame)


def test_files_that_are_not_utf8(refused: Callable[..., None]) -> None:
    refused("0.5 é\n".encode("latin-1"), "not UTF-8", "line 1", name="m.txt")
    refused((HEADER + "cas é,1,0,0\n").encode("latin-1"), "not UTF-8", "line 2")


def test_files_that_are_cut_off(refused: Callable[..., None], tmp_path: Path) -> None:
    pl.DataFrame({"case": ["c1"], "a": [0.5]}).write_parquet(tmp_path / "whole.parquet")
    refused((tmp_path / "whole.parquet").read_bytes()[:-20], "damaged or cut off", name="m.parquet")
    np.savez(tmp_path / "whole.npz", probs=np.ones((2, 3)))
    refused((tmp_path / "whole.npz").read_bytes()[:-60], "cannot be read", name="m.npz")
    np.save(tmp_path / "whole.npy", np.ones((2, 3)))
    refused((tmp_path / "whole.npy").read_bytes()[:-8], "cut off", "expected: 48 bytes", name="m.npy")
    refused('{"case": "c1", "set": ["a"', "JSON is cut off", "line 1", name="m.jsonl")
    refused('[{"case": "c1"', "JSON is cut off", name="m.json")


def test_pickled_arrays_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "m.npz", probs=np.array([[None]], dtype=object))
    for name in ("m.npy", "m.npz"):
        with pytest.raises(DissensusError, match="without pickled objects"):
            read_predictions(tmp_path / name)


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (np.ones(3), "not a matrix"),
        (np.ones((2, 2, 3)), "average an ensemble"),
        (np.array([["a"]]), "does not hold numbers"),
    ],
)
def test_arrays_of_another_shape(tmp_path: Path, array: Any, problem: str) -> None:
    np.save(tmp_path / "m.npy", array)
    with pytest.raises(DissensusError, match=problem):
        read_predictions(tmp_path / "m.npy", conditions=NAMES, cases=CASES)


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"case_ids": ["c1"]}, "no matrix"),
        ({"probs": [[1.0]], "scores": [[1.0]]}, "several matrices"),
        ({"probs": [[1.0]], "classes": [[1.5]]}, "does not hold names"),
    ],
)
def test_npz_files_that_cannot_be_read(tmp_path: Path, arrays: dict[str, Any], problem: str) -> None:
    np.savez(tmp_path / "m.npz", **{name: np.array(values) for name, values in arrays.items()})  # type: ignore[arg-type]
    with pytest.raises(DissensusError, match=problem):
        read_predictions(tmp_path / "m.npz")


def test_directories_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="directory"):
        read_predictions(tmp_path)
    (tmp_path / "model.csv").write_text(WIDE, encoding="utf-8")
    with pytest.raises(DissensusError, match=r"did you mean .model\.csv"):
        read_predictions(tmp_path / "modle.csv")
    with pytest.raises(DissensusError, match="no such file"):
        read_predictions(f"A={tmp_path / 'other.npy'}")


def test_formats_and_kinds_that_do_not_fit(refused: Callable[..., None]) -> None:
    refused(WIDE, "a matrix holds scores or sets", kind="ranking")
    refused(WIDE, "unknown kind of prediction 'guess'", kind="guess")
    refused(WIDE, "unknown format 'wid'", "did you mean 'wide'", format="wid")
    refused(WIDE, "not JSON lines", format="jsonl")
    refused("hello", "is not a table", name="m.txt", format="long")


def test_models_need_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text(WIDE, encoding="utf-8")
    with pytest.raises(DissensusError, match="two models have the name 'A'"):
        read_models([f"A={path}", f"A={path}"])
    with pytest.raises(DissensusError, match="NAME=FILE"):
        read_models([f"={path}"])


FILES: dict[str, str] = {
    "wide.csv": "case,a,b\nc1,0.2,0.8\n",
    "long.csv": "case,condition,score\nc1,a,0.2\nc1,b,0.8\n",
    "matrix.txt": "0.2 0.8\n",
    "matrix.json": "[[0.2, 0.8]]",
    "lines.jsonl": '{"case": "c1", "ranked": ["b", "a"]}\n',
}


def test_a_wrong_format_names_the_file(tmp_path: Path) -> None:
    own = {"wide.csv": "wide", "long.csv": "long", "matrix.txt": "matrix", "matrix.json": "matrix"}
    own |= {"lines.jsonl": "jsonl", "a.npy": "npy", "a.npz": "npz"}
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    np.save(tmp_path / "a.npy", np.array([[0.2, 0.8]]))
    np.savez(tmp_path / "a.npz", probs=np.array([[0.2, 0.8]]))
    also = {("a.npy", "npz"), ("a.npz", "npy")}  # both are arrays
    for name in own:
        for format_name in own.values():
            options: Any = {"format": format_name, "conditions": ["a", "b"], "cases": ["c1"]}
            if format_name == own[name] or (name, format_name) in also:
                assert read_predictions(tmp_path / name, **options).to_lists() == [[["b"], ["a"]]]
                continue
            with pytest.raises(DissensusError) as caught:
                read_predictions(tmp_path / name, **options)
            assert name in caught.value.where
