"""Files of predictions: what each says, how it is matched to a study, and how whatever is wrong is refused.

``readings.json`` holds names of files and their content, options to read them with, and what to expect: the scores, the
lists of what has none, or parts of the error.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dissensus.core.errors import DissensusWarning
from dissensus.predictions.lists import Predictions
from dissensus.predictions.reader import examine_predictions, named_path, read_models, read_predictions
from refusals import refused

FROM_FILE = json.loads(Path(__file__).with_name("readings.json").read_text(encoding="utf-8"))
NAMES, CASES = ["Eczema", "Psoriasis", "Tinea"], ["c1", "c2"]
SCORES = [[0.2, 0.7, 0.1], [0.4, 0.2, 0.4]]
WIDE = "case_id,Tinea,Eczema,Psoriasis\nc2,0.4,0.4,0.2\nc1,0.1,0.2,0.7\n"
LONG = "case_id,label,score\nc2,Eczema,0.4\nc2,Tinea,0.4\nc2,Psoriasis,0.2\n" + "".join(
    f"c1,{name},{score}\n" for name, score in zip(NAMES, SCORES[0], strict=True)
)
SETS = np.array([[1, 0, 1], [0, 0, 0]])
OF_SETS: list[Any] = [[["Eczema", "Tinea"]], []]
ALPHAS = np.stack([np.zeros((2, 3)), [[0, 1, 0]] * 2], axis=2).astype(np.bool_)
ANSWERS, OF_ANSWERS = "case,ANSWER\nc2,Eczema\nc1,Tinea\n", [[["Tinea"]], [["Eczema"]]]
ONES, ARRAY = [[1.0, 0, 0], [0, 1, 0]], np.array(SCORES)
REVERSED = {"case_ids": CASES[::-1], "classes": NAMES[::-1]}
TWICE = {"probs": [[1.0], [1.0]], "case_ids": ["c1", "c1"], "classes": ["a"]}
STUDY: dict[str, Any] = {"conditions": NAMES, "cases": CASES}


def read(path: Path | str, **options: Any) -> Predictions:
    return read_predictions(path, **{**STUDY, **options})


READ: list[tuple[str, Any, dict[str, Any], Any]] = [
    *((one["file"], one["content"], one.get("options", {}), one["says"]) for one in FROM_FILE["read"]),
    ("m.npy", ARRAY, {}, SCORES),
    *(("m.npy", SETS.astype(dtype), {}, OF_SETS) for dtype in (np.bool_, np.int64, np.uint8)),
    ("m.npy", np.array(ONES, dtype=np.int64), {"kind": "scores"}, ONES),
    ("m.npy", np.array(ONES), {}, ONES),
    ("m.npy", np.array(ONES), {"kind": "set"}, [[["Eczema"]], [["Psoriasis"]]]),
    ("m.npy", ALPHAS, {"alpha_index": 1}, [[["Psoriasis"]], [["Psoriasis"]]]),
    ("m.npz", {"probs": ARRAY[::-1, ::-1], **REVERSED}, {}, SCORES),
    ("m.npz", {"scores": ARRAY[::-1, ::-1], "cases": CASES[::-1], "conditions": NAMES[::-1]}, {}, SCORES),
    ("m.npz", {"arr_0": SCORES}, {}, SCORES),
    *(("m.csv", ANSWERS.replace("ANSWER", name), {}, OF_ANSWERS) for name in ("y_pred", "Predicted label", "ResNet")),
    ("m.csv", "case,prediction,prob,note\nc1,Tinea,0.9,-\nc2,Eczema,0.7,-\n", {}, [[0, 0, 0.9], [0.7, 0, 0]]),
    ("m.csv", "case,output\nc1,0.25\nc2,1\n", {"conditions": ["no", "yes"], "binary": True}, [[0.75, 0.25], [0, 1]]),
    ("m.csv", "case,pred\nc1,2\nc2,0\n", {}, OF_ANSWERS),
    ("m.csv", "patient,dx\n1,Tinea\n2,Eczema\n", {"cases": ["1", "2"], "columns": {"case": "patient"}}, OF_ANSWERS),
    *(("A.parquet", pl.read_csv(text.encode()), {}, SCORES) for text in (WIDE, LONG)),
]


@pytest.mark.parametrize(("name", "content", "options", "expected"), READ)
def test_predictions_are_matched_by_name_or_by_their_place(
    name: str, content: Any, options: dict[str, Any], expected: Any, put: Any
) -> None:
    said = read(put(content, name), **options)
    assert said.name == Path(name).stem
    assert (said.to_scores().tolist() if said.kind == "scores" else said.to_lists()) == expected
    if "cases" not in options:
        assert said.case_names == tuple(CASES)


REFUSED: list[tuple[str, Any, dict[str, Any], tuple[str, ...]]] = [
    *((one["file"], one["content"], one.get("options", {}), one["says"]) for one in FROM_FILE["refused"]),
    ("m.npy", np.ones((3, 3)), STUDY, ("does not fit", "2 rows (cases) and 3 columns", "3 rows and 3 columns")),
    ("m.npy", np.ones((2, 3)), {}, ("its cases and its conditions", "shape (2, 3)", "np.savez")),
    ("m.npz", TWICE, {}, ("several rows",)),
    ("m.csv", "case,label,prediction\nc1,a,b\n", {"conditions": ["a", "b"]}, ("two columns", "--ignore label")),
    ("m.npz", {"probs": np.array([[None]], dtype=object)}, {}, ("without pickled objects",)),
    ("m.npy", np.ones(3), STUDY, ("must be a matrix",)),
    ("m.npy", np.ones((2, 2, 3)), STUDY, ("average an ensemble",)),
    ("m.npy", np.array([["a"]]), STUDY, ("expected: numbers", "<U1")),
    ("m.npz", {"case_ids": ["c1"]}, {}, ("no matrix",)),
    ("m.npz", {"probs": [[1.0]], "scores": [[1.0]]}, {}, ("several matrices",)),
    ("m.npz", {"probs": [[1.0]], "classes": [[1.5]]}, {}, ("does not hold names",)),
    ("m.npy", ALPHAS, STUDY, ("alpha_index=0 to 1",)),
    ("m.npy", ALPHAS, {"alpha_index": 2, **STUDY}, ("out of range",)),
]


@pytest.mark.parametrize(("name", "content", "options", "saying"), REFUSED)
def test_what_is_wrong_with_a_file_is_said(
    name: str, content: Any, options: dict[str, Any], saying: tuple[str, ...], put: Any
) -> None:
    caught = refused("", read_predictions, put(content, name), **options)
    assert [text for text in (*saying, name) if text not in str(caught)] == []


# Values in memory ---------------------------------------------------------------------------------------

ABC = ["a", "b", "c"]
TINIA = ("unknown condition 'Tinia'", "did you mean 'Tinea'?", "case 'c1'")
ROW_2 = "row 2, case 'c2', condition 'Psoriasis'"


@pytest.mark.parametrize(
    ("build", "saying"),
    [
        (lambda: Predictions.from_scores([[0.2, 1], [0.1, np.nan]], NAMES[:2], case_names=CASES), (ROW_2,)),
        (lambda: Predictions.from_scores([[0.2, 1], [0.1, -np.inf]], NAMES[:2], case_names=CASES), (ROW_2,)),
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
        *(
            (lambda one=one: Predictions.from_rankings([[one]], ABC), ("neither a name nor a code",))
            for one in (0.5, True, None)
        ),
    ],
)
def test_what_is_wrong_with_values_is_said(build: Callable[[], Predictions], saying: tuple[str, ...]) -> None:
    caught = refused("", build)
    assert [text for text in saying if text not in str(caught)] == []


# Paths and formats --------------------------------------------------------------------------------------


def test_directories_missing_files_and_models_without_a_name_of_their_own_are_refused(put: Any) -> None:
    path = put(WIDE, "model.csv")
    for act, problem in (
        (lambda: read_predictions(path.parent), "directory"),
        (lambda: read_predictions(path.with_name("modle.csv")), r"did you mean .model\.csv"),
        (lambda: read_predictions(f"A={path.with_name('other.npy')}"), "no such file"),
        (lambda: read_models([f"A={path}", f"A={path}"]), "two models have the name 'A'"),
        (lambda: read_models([f"={path}"]), "NAME=FILE"),
    ):
        refused(problem, act)


FILES: dict[str, Any] = {
    "wide.csv": "case,a,b\nc1,0.2,0.8\n",
    "long.csv": "case,condition,score\nc1,a,0.2\nc1,b,0.8\n",
    "matrix.txt": "0.2 0.8\n",
    "matrix.json": [[0.2, 0.8]],
    "jsonl.jsonl": [{"case": "c1", "ranked": ["b", "a"]}],
    "npy.npy": np.array([[0.2, 0.8]]),
    "npz.npz": {"probs": np.array([[0.2, 0.8]])},
}


@pytest.mark.parametrize("name", FILES)
def test_a_wrong_format_names_the_file(name: str, put: Any) -> None:
    path, own = put(FILES[name], name), Path(name).stem
    for format_name in {Path(file).stem for file in FILES}:
        options: Any = {"format": format_name, "conditions": ["a", "b"], "cases": ["c1"]}
        if format_name == own or {format_name, own} == {"npy", "npz"}:  # both are arrays
            assert read_predictions(path, **options).to_lists() == [[["b"], ["a"]]]
            continue
        caught = refused("", read_predictions, path, **options)
        assert name in caught.where


def test_names_are_taken_from_the_file_when_none_are_given(put: Any) -> None:
    wide = read_predictions(put(WIDE, "w.csv"))
    assert (wide.conditions, wide.case_names) == (("Tinea", "Eczema", "Psoriasis"), ("c2", "c1"))
    assert read_predictions(put(LONG, "l.csv")).conditions == tuple(NAMES)
    assert read_predictions(put({"probs": SCORES, **REVERSED}, "r.npz")).conditions == tuple(NAMES[::-1])
    said = read_predictions(put({"probs": SCORES, "ids": [7, 8], "classes": [b"a", b"b", b"c"]}, "m.npz"))
    assert (said.case_names, said.conditions) == (("7", "8"), ("a", "b", "c"))
    matrix = examine_predictions(put("0.2,0.7,0.1\n0.4,0.2,0.4\n", "m.csv"), conditions=NAMES, cases=CASES)
    assert matrix.receipt.format == "matrix"


@pytest.mark.parametrize("name", ['say "Aah", then', "Café; naïve", "🦠 tinea", "<b>Eczema</b> & co", "a\nb"])
def test_conditions_may_have_any_name(put: Any, name: str) -> None:
    frame = pl.DataFrame({"case": ["c1"], name: [0.7], "other, one": [0.3]})
    long = frame.unpivot(index="case", variable_name="condition", value_name="score")
    lines = [{"case": "c1", "scores": {name: 0.7, "other, one": 0.3}}]
    for content, file in ((frame.write_csv(), "wide.csv"), (long.write_csv(), "long.csv"), (lines, "m.jsonl")):
        said = read_predictions(put(content, file), conditions=["other, one", name])
        assert said.to_scores().tolist() == [[0.3, 0.7]]


def test_models_are_named_before_their_file_and_notes_formats_and_missing_cases_are_as_said(put: Any) -> None:
    wide, long, odd = put(WIDE, "a.csv"), put(LONG, "b.csv"), put(WIDE, "x=y.csv")
    assert (read(f"Model A={wide}").name, read(wide, name="B").name, read(odd).name) == ("Model A", "B", "x=y")
    models = read_models([f"A={wide}", long], conditions=NAMES, cases=CASES)
    assert [(name, model.name) for name, model in models.items()] == [("A", "A"), ("b", "b")]
    with pytest.warns(DissensusWarning, match="cases without a prediction: 1"):
        assert read_predictions(wide, cases=["c1", "c9"], allow_missing=True).case_names == ("c1",)
    receipt = examine_predictions(put("case,condition,score,colour\nc1,a,3,red\n")).receipt
    found = {note.found: note.examples for note in receipt.notes}
    assert (receipt.format, receipt.unused) == ("long", ("colour",))
    assert found["cases whose scores do not sum to 1"] == ("c1",)
    path = put("case,label,score\nc1,0.4,0.6\n", "m.csv")
    assert read_predictions(path, format="wide").conditions == ("label", "score")
    pandas = pd.DataFrame(SCORES, index=CASES, columns=NAMES)
    pandas.to_parquet(path.with_suffix(".parquet"))
    assert read(path.with_suffix(".parquet")).to_scores().tolist() == SCORES


@pytest.mark.parametrize(
    ("text", "name", "path"),
    [
        ("A=a.csv", "A", "a.csv"),
        (r"A\=B=a.csv", "A=B", "a.csv"),
        (r"meta\/A=models/a=1.csv", "meta/A", "models/a=1.csv"),
        (r"a\\b=a.csv", r"a\b", "a.csv"),
        ("models/x=1.csv", "x=1", "models/x=1.csv"),
        (r"C:\models\x=1.csv", None, r"C:\models\x=1.csv"),
    ],
)
def test_names_hold_equals_signs_and_slashes_after_a_backslash(text: str, name: str | None, path: str) -> None:
    found, place = named_path(text)
    assert (str(place), name or found) == (path, found)
    for wrong in ("=a.csv", "A=", r"A\=B= "):
        refused("a model needs a name and a file", named_path, wrong)


# Some of the conditions ---------------------------------------------------------------------------------


LINES = [{"id": case, "scores": {"Tinea": t, "Eczema": e}} for case, t, e in (("c1", 0.3, 0.1), ("c2", 0.2, 0.6))]
PARTIAL: list[tuple[str, Any]] = [
    ("m.csv", "case,Tinea,Eczema\nc1,0.3,0.1\nc2,0.2,0.6\n"),
    ("m.csv", "case,label,score\nc1,Tinea,0.3\nc1,Eczema,0.1\nc2,Tinea,0.2\nc2,Eczema,0.6\n"),
    ("m.jsonl", LINES),
]


@pytest.mark.parametrize(("name", "content"), PARTIAL)
def test_conditions_without_a_score_are_last_and_noted(name: str, content: Any, put: Any) -> None:
    said = read(put(content, name))
    assert said.to_lists() == [[["Tinea"], ["Eczema"]], [["Eczema"], ["Tinea"]]]
    assert not said.complete
    (note,) = (note for note in said.notes() if note.found == "conditions without a score")
    assert (note.count, note.examples, note.lost) == (1, ("Psoriasis",), False)
    assert str(note).startswith("conditions without a score: 1, of 3, taken as not predicted")
    fewer = read(put("case,label,score\nc1,Tinea,0.3\nc1,Eczema,0.1\nc2,Tinea,1\n", "n.csv")).notes()
    assert [(note.count, note.examples) for note in fewer if "have no score" in note.found] == [(1, ("c2",))]


def test_aligning_warns_of_conditions_without_a_score() -> None:
    model = Predictions.from_scores([[0.2, 0.8]], ["a", "b"], case_names=["x"], name="A")
    with pytest.warns(DissensusWarning, match=r"model 'A': conditions without a score: 1, of 3"):
        assert model.align(["x"], ["a", "b", "c"]).to_lists() == [[["b"], ["a"]]]
