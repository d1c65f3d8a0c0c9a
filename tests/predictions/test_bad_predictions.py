"""Bad predictions: every message says what was expected, what was got, where, and what to do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from dissensus.core.errors import DissensusError
from dissensus.predictions.lists import Predictions
from dissensus.predictions.reader import read_models, read_predictions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = ["Eczema", "Psoriasis", "Tinea"]
CASES = ["c1", "c2"]
HEADER = "case_id,Eczema,Psoriasis,Tinea\n"
WIDE = HEADER + "c1,0.2,0.7,0.1\nc2,0.4,0.2,0.4\n"
LONG = "case,condition,{}\n"


def assert_says(error: DissensusError, *saying: str) -> None:
    assert [text for text in saying if text not in str(error)] == []


def jsonl(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


# Files --------------------------------------------------------------------------------------------------

STUDY: dict[str, Any] = {"conditions": NAMES, "cases": CASES}
LINES: dict[str, Any] = {"name": "m.jsonl"}
TINIA = ("unknown condition 'Tinia'", "did you mean 'Tinea'?", "case 'c1'")
TWICE = {"probs": [[1.0], [1.0]], "case_ids": ["c1", "c1"], "classes": ["a"]}

TWO = ["Nevus", "Melanoma"]
PROB = "case,prob\nc1,{}\n"
BOTH = ("--positive 'Nevus' (0.9 means 0.9 for 'Nevus', 0.1 for 'Melanoma')", "--positive 'Melanoma'")
LABELS = "case,label\nc1,Tinea\nc1,Eczema\nc2,Eczema\n"
ALPHAS = np.zeros((2, 3, 2), dtype=np.bool_)


def bad(content: Any, *saying: str, name: str = "m.csv", **options: Any) -> tuple[Any, ...]:
    """A file and its name, options to read it with, and what the error says."""
    return content, name, saying, options


REFUSED = [
    # all zero rows
    bad(HEADER + "c1,0.0,0,0\nc2,0,0,0\nc3,1,0,0\n", "all scores of a case are zero", "2 of 3 cases", "'c1', 'c2'"),
    bad(LONG.format("score") + "c1,a,0\n", "all scores of a case are zero", "case 'c1'"),
    bad(jsonl({"case_id": "c1", "scores": {}}), "all scores of a case are zero", name="m.jsonl"),
    # a column that stands twice
    bad("case,a,a\nc1,0.5,0.5\n", "the header names 'a' twice"),
    # scores that are not numbers
    bad(HEADER + "c1,0.2,high,0.1\n", "not a number", "'high'", "row 1, case 'c1', column 'Psoriasis'"),
    bad(HEADER + "c1,0.2,,0.1\n", "a score is missing", "row 1, case 'c1', column 'Psoriasis'"),
    bad(LONG.format("score") + "c1,a,high\n", "a score is not a number", "'high'", "row 1, case 'c1'"),
    bad(LONG.format("score") + "c1,a,\n", "a score is not a finite number", "nothing", "row 1"),
    bad(jsonl({"case_id": "c1", "scores": {"a": "x"}}), "a score is not a number", "'x'", name="m.jsonl"),
    # a missing score in the first column does not make it the case
    bad("Acne,Tinea\n,0.9\n0.1,0.9\n", "no case column"),
    bad("Acne,Tinea\n,0.9\n0.1,0.9\n", "a score is missing", "row 1, case 'c1'", cases=CASES),
    # cases missing on either side are counted
    bad(WIDE, "1 cases without a prediction ('c3')", "allow_missing", cases=[*CASES, "c3"]),
    bad(WIDE, "1 predictions on cases outside the study ('c2')", "--allow-missing", cases=["c1"]),
    bad(WIDE, "2 cases without", "1 predictions on", cases=["c1", "x", "y"]),
    # no common case is an error whatever is allowed
    bad(WIDE, "no case of the study", "'c1', 'c2'", cases=["x"], allow_missing=True),
    # rows without a case
    bad(WIDE + ",1,0,0\n", "a row has no case", "row 3"),
    bad(LONG.format("score") + ",a,1\n", "a row has no case", "row 1"),
    bad(jsonl({"set": ["a"]}), "the case of a row (case_id)", "row 1", name="m.jsonl"),
    # columns that are missing
    bad("case,diagnos,score\nc1,a,1\n", "no condition column", "'diagnos'"),
    bad("scan,label,score\n1,a,1\n", "no case column", "'scan'"),
    bad("case,label,number\nc1,a,1\n", "no score column and no rank column", "kind='set'"),
    bad("case,label,rank\nc1,a,1\n", "no score column", kind="scores"),
    bad("Eczema,Tinea\n0.1,0.9\n", "no case column"),
    bad("case,label,score\nc1,a,1\n", "no column 'scor'", "did you mean 'score'", columns={"score": "scor"}),
    # scores and ranks at once
    bad("case,label,score,rank\nc1,a,1,1\n", "scores and ranks", "kind='scores' or kind='ranking'"),
    # a table without a header
    bad("c1,0.1,0.9\nc2,0.2,0.8\n", "seems to have no header"),
    # integers need a list of conditions
    bad("case,0,1\nc1,0.1,0.9\n", "integer labels need a list"),
    bad(LONG.format("score") + "c1,0,0.9\n", "integer labels need a list"),
    bad(jsonl({"case": "c1", "ranked": [1, 0]}), "integer codes need a list", name="m.jsonl"),
    bad(jsonl({"case": "c1", "scores": {"0": 1}}), "integer labels need a list", name="m.jsonl"),
    bad("case,0,9\nc1,0.1,0.9\n", "unknown condition '9'", conditions=["a", "b"]),
    # a rank that is not a number
    bad(LONG.format("rank") + "c1,a,first\n", "a rank is not a number", "'first'", "row 1"),
    # a rank without a condition
    bad(LONG.format("rank") + "c1,,1\n", "a rank but no condition", "row 1"),
    # a condition listed twice
    bad(LONG.format("rank") + "c1,a,1\nc1,a,2\n", "condition 'a' is listed twice", "case 'c1'"),
    bad(LONG.format("score") + "c1,a,0.1\nc1,a,0.2\n", "condition 'a' is listed twice", "case 'c1'"),
    bad(jsonl({"case": "c1", "ranked": ["a", ["b", "a"]]}), "'a' is listed twice", name="m.jsonl"),
    bad(jsonl({"case": "c1", "set": ["a", "a"]}), "'a' is listed twice", name="m.jsonl"),
    # what is wrong with any file, see tests/test_files.py
    bad(HEADER, "a header but no rows", name="m.txt"),
    bad("0.5 é\n".encode("latin-1"), "not UTF-8", "line 1", name="m.txt"),
    # formats and kinds that do not fit
    bad(WIDE, "a matrix holds scores or sets", kind="ranking"),
    bad(WIDE, "kind is not understood", "'guess'", kind="guess"),
    bad(WIDE, "no format 'wid' of predictions", "did you mean 'wide'", format="wid"),
    bad(WIDE, "not JSON lines", format="jsonl"),
    bad("hello", "is not a table", name="m.txt", format="long"),
    # scores that are not finite
    *(
        bad(HEADER + f"c1,0.2,{value},0.1\n", "not a finite number", "row 1, case 'c1', condition 'Psoriasis'")
        for value in ("NaN", "inf", "-inf")
    ),
    *(
        bad(LONG.format("score") + f"c1,a,1\nc1,b,{value}\n", "not a finite number", "row 2, case 'c1'")
        for value in ("NaN", "inf", "-inf")
    ),
    bad(jsonl({"case": "c1", "scores": {"Acne": np.nan}}), "a finite number", "case 'c1', condition 'Acne'", **LINES),
    # names and numbers that do not fit
    bad(np.ones((3, 3)), "does not fit", "2 rows (cases) and 3 columns", "3 rows and 3 columns", name="m.npy", **STUDY),
    bad(WIDE.replace("Eczema", "Eczma"), "unknown condition 'Eczma'", "did you mean 'Eczema'?", conditions=NAMES),
    bad(LONG.format("rank") + "c1,Tinia,1\n", *TINIA, conditions=NAMES),
    bad(jsonl({"case": "c1", "ranked": ["Tinia"]}), *TINIA, conditions=NAMES, **LINES),
    bad(jsonl({"case": "c1", "set": ["Tinia"]}), *TINIA, conditions=NAMES, **LINES),
    bad(np.ones((2, 3)), "its cases and its conditions", "shape (2, 3)", "np.savez", name="m.npy"),
    bad("0.5 0.5\n", "without names needs its cases", name="m.txt", conditions=["a", "b"]),
    # negative scores beside conditions without any
    bad("case,Eczema,Psoriasis\nc1,-1.5,2\n", "negative although some", "case 'c1'", conditions=NAMES),
    bad(LONG.format("score") + "c1,a,-0.5\nc1,b,2\nc2,a,1\n", "negative", "-0.5", "case 'c1', condition 'a'", "logits"),
    # text that is not a matrix
    bad("0.1 0.2 0.7\n0.1 x 0.8\n", "a score is not a number", "'x'", "line 2", name="m.txt", **STUDY),
    bad("0.1 0.2 0.7\n\n0.1 0.8\n", "rows differ in length", "3 numbers", "line 3", name="m.txt", **STUDY),
    bad("# nothing\n", "holds no numbers", name="m.txt", **STUDY),
    bad("[[0.1, 0.2], [0.3]]", "differ in length", name="m.json", **STUDY),
    # cases named twice
    bad(WIDE + "c1,1,0,0\n", "case 'c1' stands in several rows", "rows 1 and 3"),
    bad(jsonl({"case_id": "c1", "set": []}, {"case_id": "c1", "set": []}), "'c1' stands in several rows", **LINES),
    bad(TWICE, "several rows", name="m.npz"),
    # ranks must be positive
    *(
        bad(LONG.format("rank") + f"c1,a,1\nc1,b,{rank}\n", "a rank must be a positive number", "row 2, case 'c1'")
        for rank in ("0", "-1", "NaN", "")
    ),
    # lines that cannot be read
    bad(jsonl({"case": 1, "ranked": []}, {"case": 2, "set": []}), "mixes kinds", "in row 1; set in row 2", **LINES),
    bad(jsonl({"case": "c1", "answer": "a"}), "no predictions", "'answer'", **LINES),
    bad(jsonl({"case": "c1", "set": "a"}), "the set of a row", "case 'c1'", **LINES),
    bad(jsonl({"case": "c1", "set": ["a"]}, {"case": "c2"}), "the set of a row", "row 2, case 'c2'", **LINES),
    bad(jsonl({"case": "c1", "ranked": ["a"]}), "a score is not a number", format="wide", **LINES),
    # arrays
    bad({"probs": np.array([[None]], dtype=object)}, "without pickled objects", name="m.npz"),
    bad(np.ones(3), "must be a matrix", name="m.npy", **STUDY),
    bad(np.ones((2, 2, 3)), "average an ensemble", name="m.npy", **STUDY),
    bad(np.array([["a"]]), "expected: numbers", "<U1", name="m.npy", **STUDY),
    bad({"case_ids": ["c1"]}, "no matrix", name="m.npz"),
    bad({"probs": [[1.0]], "scores": [[1.0]]}, "several matrices", name="m.npz"),
    bad({"probs": [[1.0]], "classes": [[1.5]]}, "does not hold names", name="m.npz"),
    bad(ALPHAS, "alpha_index=0 to 1", name="m.npy", **STUDY),
    bad(ALPHAS, "out of range", name="m.npy", alpha_index=2, **STUDY),
    # several labels need a word, and a column of numbers beside them may be the score
    *(
        bad(LABELS, "a case has several labels, and no score or rank", "2 such rows", "(--kind set)", **options)
        for options in ({}, {"kind": "scores"})
    ),
    bad("case,label,sureness\nc1,Tinea,0.5\n", "no score column and no rank column", conditions=NAMES),
    # one probability
    bad("case,Melanoma\nc1,0.7\n", "is said to hold the probability of 'Nevus'", conditions=TWO, positive="Nevus"),
    bad(PROB.format(0.7), "'prob' does not say whose probability it is", *BOTH, conditions=TWO),
    *(
        bad(PROB.format(value), "is not a probability", conditions=TWO, positive="Nevus")
        for value in ("1.5", "-2", "\nc2,1", "high")
    ),
    bad(PROB.format(0.5), "there is no condition 'Nevos'", conditions=TWO, positive="Nevos"),
    bad(PROB.format(0.5), "enough for two conditions only", conditions=NAMES, positive="Tinea"),
    bad(PROB.format(0.5), "enough for two conditions only", positive="Tinea"),
    # one number per case
    bad("case,prediction\nx,one\n", "a score is not a number"),
    bad("case,prediction\nx,\n", "a score is missing"),
    bad("case,prediction\nx,1\nx,2\n", "stands in several rows"),
    bad("case,prediction\n,1\n", "a row has no case"),
]


@pytest.mark.parametrize(("content", "name", "saying", "options"), REFUSED)
def test_what_is_wrong_with_a_file_is_said(
    content: Any, name: str, saying: tuple[str, ...], options: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / name
    if isinstance(content, np.ndarray):
        np.save(path, content)
    elif isinstance(content, dict):
        np.savez(path, **{name: np.array(values) for name, values in content.items()})  # type: ignore[arg-type]
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DissensusError) as caught:
        read_predictions(path, **options)
    assert_says(caught.value, *saying, name)


# Values in memory ---------------------------------------------------------------------------------------

ABC = ["a", "b", "c"]
ROW_2 = "row 2, case 'c2', condition 'Psoriasis'"


@pytest.mark.parametrize(
    ("build", "saying"),
    [
        *(
            (
                lambda value=value: Predictions.from_scores([[0.2, 1], [0.1, value]], NAMES[:2], case_names=CASES),
                (ROW_2,),
            )
            for value in (np.nan, np.inf, -np.inf)
        ),
        (lambda: Predictions.from_scores(np.ones((3, 2)), NAMES, case_names=CASES), ("transpose",)),
        (lambda: Predictions.from_scores(pl.DataFrame({"a": [0.5]})), ("from_wide",)),
        (lambda: Predictions.from_scores([0.1, 0.9]), ("must be a matrix",)),
        (lambda: Predictions.from_scores([[[0.1]]]), ("must be a matrix",)),
        (lambda: Predictions.from_scores([["a", "b"]]), ("numbers in the shape (cases, K)", "of <U1")),
        (lambda: Predictions.from_scores([[0.1], [0.2, 0.8]]), ("differ in length",)),
        (lambda: Predictions.from_sets(np.array([[0, 2, 1]]), NAMES), ("0 and 1 only", "condition 'Psoriasis'")),
        (lambda: Predictions.from_sets([["a"]], case_names=["case 1"]).select(["case1"]), ("did you mean 'case 1'",)),
        (lambda: Predictions.from_sets([["Tinia"]]).align(conditions=NAMES), (*TINIA[:2], "1 unknown")),
        (lambda: Predictions.from_long(pl.DataFrame({"case": [], "condition": [], "score": []})), ("no rows",)),
        (lambda: Predictions.from_rankings([["a", []]], ABC), ("a block is empty",)),
        (lambda: Predictions.from_rankings(["a"], ABC), ("a ranking must be a list",)),
        (lambda: Predictions.from_rankings([[{"a": 1}]], ABC), ("a block must be a list",)),
        (lambda: Predictions.from_rankings([[7]], ABC), ("expected: 0 to 2",)),
        (lambda: Predictions.from_rankings([[0.5]], ABC), ("neither a name nor a code",)),
        (lambda: Predictions.from_rankings([[True]], ABC), ("neither a name nor a code",)),
        (lambda: Predictions.from_rankings([[None]], ABC), ("neither a name nor a code",)),
    ],
)
def test_what_is_wrong_with_values_is_said(build: Callable[[], Predictions], saying: tuple[str, ...]) -> None:
    with pytest.raises(DissensusError) as caught:
        build()
    assert_says(caught.value, *saying)


# Paths and formats --------------------------------------------------------------------------------------


def test_directories_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="directory"):
        read_predictions(tmp_path)
    (tmp_path / "model.csv").write_text(WIDE, encoding="utf-8")
    with pytest.raises(DissensusError, match=r"did you mean .model\.csv"):
        read_predictions(tmp_path / "modle.csv")
    with pytest.raises(DissensusError, match="no such file"):
        read_predictions(f"A={tmp_path / 'other.npy'}")


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
