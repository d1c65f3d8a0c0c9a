"""Every format in which predictions arrive, and how they are matched to a study."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dissensus.core.errors import DissensusError, DissensusWarning
from dissensus.predictions.lists import Predictions
from dissensus.predictions.reader import examine_predictions, named_path, read_models, read_predictions

NAMES = ["Eczema", "Psoriasis", "Tinea"]
CASES = ["c1", "c2"]
SCORES = [[0.2, 0.7, 0.1], [0.4, 0.2, 0.4]]
WIDE = "case_id,Tinea,Eczema,Psoriasis\nc2,0.4,0.4,0.2\nc1,0.1,0.2,0.7\n"
LONG = "case_id,label,score\nc2,Eczema,0.4\nc2,Tinea,0.4\nc2,Psoriasis,0.2\n" + "".join(
    f"c1,{name},{score}\n" for name, score in zip(NAMES, SCORES[0], strict=True)
)
MARK = "\ufeff"
PANDAS = pd.DataFrame(SCORES, index=CASES, columns=NAMES)
SETS = np.array([[1, 0, 1], [0, 0, 0]])
OF_SETS: list[Any] = [[["Eczema", "Tinea"]], []]
ALPHAS = np.stack([np.zeros((2, 3)), [[0, 1, 0]] * 2], axis=2).astype(np.bool_)
TWO = ["Nevus", "Melanoma"]
LABELS = "case,label\nc1,Tinea\nc2,Eczema\n"
SEVERAL = "case,label\nc1,Tinea\nc2,Eczema\nc1,Eczema\nc2,Psoriasis\n"
CODES = {"columns": {"case": "scan", "condition": "finding", "score": "strength"}}


def read(path: Path | str, **options: Any) -> Predictions:
    return read_predictions(path, **{"conditions": NAMES, "cases": CASES, **options})


def written(path: Path, content: Any) -> Path:
    """Write text, records, arrays or tables, as the name of the file says."""
    if isinstance(content, pd.DataFrame | pl.DataFrame):
        (content.to_parquet if isinstance(content, pd.DataFrame) else content.write_parquet)(path)
    elif path.suffix == ".npy":
        np.save(path, content)
    elif path.suffix == ".npz":
        np.savez(path, **{name: np.array(values) for name, values in content.items()})  # type: ignore[arg-type]
    elif path.suffix == ".jsonl" and not isinstance(content, str):
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content), encoding="utf-8")
    else:
        path.write_bytes((content if isinstance(content, str) else json.dumps(content)).encode())
    return path


def as_text(values: Any, delimiter: str = " ", newline: str = "\n") -> str:
    file = io.StringIO()
    np.savetxt(file, values, fmt="%.3e", delimiter=delimiter, newline=newline)
    return file.getvalue()


def reads(name: str, content: Any, expected: Any = SCORES, **options: Any) -> tuple[Any, ...]:
    """A file and its content, options to read it with, and the scores or lists that come of it."""
    return name, content, expected, options


ALONE: dict[str, Any] = {"conditions": None, "cases": None}
REVERSED = {"case_ids": CASES[::-1], "classes": NAMES[::-1]}
READ = [
    # arrays
    reads("m.npy", SCORES),
    *(reads("m.npy", SETS.astype(dtype), OF_SETS) for dtype in (np.bool_, np.int64, np.uint8)),
    reads("m.npy", [[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]], kind="scores"),
    reads("m.npy", [[1.0, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]]),
    reads("m.npy", [[1.0, 0, 0], [0, 1, 0]], [[["Eczema"]], [["Psoriasis"]]], kind="set"),
    reads("m.npy", ALPHAS, [[["Psoriasis"]], [["Psoriasis"]]], alpha_index=1),
    reads("m.npz", {"probs": np.array(SCORES)[::-1, ::-1], **REVERSED}),
    reads("m.npz", {"scores": np.array(SCORES)[::-1, ::-1], "cases": CASES[::-1], "conditions": NAMES[::-1]}),
    reads("m.npz", {"arr_0": SCORES}),
    # rows of numbers
    *(reads("m.txt", as_text(SCORES, delimiter)) for delimiter in (" ", ",", "\t", ";")),
    reads("m.txt", as_text(SCORES, newline="\r\n")),
    reads("m.txt", "1 0 1\n0 0 0\n", OF_SETS),
    reads("m.txt", "1.0 0 1\n0 1 0\n", [[1, 0, 1], [0, 1, 0]]),
    reads("m.txt", "# scores\n\n0.5 0.25 0.25\n", [[0.5, 0.25, 0.25]], cases=["c1"]),
    reads("m.csv", as_text(SCORES, ",")),
    reads("m.json", SCORES),
    # tables
    *(reads(name, text) for name in ("A.csv", "A.txt") for text in (WIDE, LONG)),
    *(reads("A.tsv", text.replace(",", "\t")) for text in (WIDE, LONG)),
    *(reads("A.parquet", pl.read_csv(text.encode())) for text in (WIDE, LONG)),
    *(reads("A.csv", MARK + text.replace("\n", "\r\n")) for text in (WIDE, LONG)),
    reads("m.parquet", PANDAS),
    reads("m.csv", "0,1,2\n0.2,0.7,0.1\n0.4,0.2,0.4\n"),
    reads("m.csv", "case,2,1,0\nc1,0.1,0.7,0.2\nc2,0.4,0.2,0.4\n"),
    reads("m.csv", LONG.replace("case_id,label,score", "scan,finding,strength"), **CODES),
    reads("m.csv", WIDE.replace("case_id", "")),
    reads("m.csv", WIDE.replace("case_id", "scan")),
    reads("m.csv", "Tinea,Eczema,Psoriasis\n0.1,0.2,0.7\n0.4,0.4,0.2\n"),
    reads("m.csv", "case,rank,item\nc1,0.3,0.7\n", [[0.7, 0.3]], conditions=["item", "rank"], cases=["c1"]),
    # records
    reads("m.jsonl", MARK + '{"case_id": "c1", "set": ["Tinea"]}\r\n', [[["Tinea"]]], **ALONE),
    reads(
        "m.jsonl",
        [{"case_id": "c2", "ranked": ["Eczema", ["Psoriasis", "Tinea"]]}, {"case_id": "c1", "ranked": ["Tinea"]}],
        [[["Tinea"]], [["Eczema"], ["Psoriasis", "Tinea"]]],
    ),
    reads("m.jsonl", [{"id": "c2", "set": ["Tinea", "Eczema"]}, {"id": "c1", "set": []}], OF_SETS[::-1]),
    reads(
        "m.jsonl",
        [{"case_id": "c1", "scores": {"Tinea": 0.9, "Eczema": 0}}, {"case_id": "c2", "scores": {"Eczema": 1}}],
        [[0, 0, 0.9], [1, 0, 0]],
    ),
    reads("m.jsonl", [{"id": 1, "ranked": [2, [0, 1]]}], [[["Tinea"], ["Eczema", "Psoriasis"]]], cases=None),
    reads("m.jsonl", [{"id": 1, "scores": {"2": 0.5}}], [[0, 0, 0.5]], cases=None),
    reads("m.json", [{"case_id": "c1", "set": ["Tinea"]}, {"case_id": "c2", "set": []}], [[["Tinea"]], []]),
    reads("m.json", {"case_id": "c1", "set": ["Tinea"]}, [[["Tinea"]]], **ALONE),
    reads("m.jsonl", [{"case": "c1", "condition": "a", "score": 0.5}], [[0.5]], **ALONE),
    reads("m.jsonl", [{"id": 1, "label": n, "rank": r} for r, n in enumerate("ab", 1)], [[["a"], ["b"]]], **ALONE),
    # one label per case, which is certain if scores are asked for, or several as said, by the order of rows
    *(reads("m.csv", text, [[["Tinea"]], [["Eczema"]]]) for text in (LABELS, "case,label\nc1,2\nc2,0\n")),
    reads("m.jsonl", [{"id": "c1", "label": "Tinea"}, {"id": "c2", "label": "Eczema"}], [[["Tinea"]], [["Eczema"]]]),
    reads("m.csv", LABELS, [[0, 0, 1], [1, 0, 0]], kind="scores"),
    reads("m.csv", SEVERAL, [[["Tinea"], ["Eczema"]], [["Eczema"], ["Psoriasis"]]], kind="ranking"),
    reads("m.csv", SEVERAL, [[["Eczema", "Tinea"]], [["Eczema", "Psoriasis"]]], kind="set"),
    # one probability for two conditions
    *(
        reads("m.csv", f"case,{column}\nc2,0\nc1,0.75\n", [[0.25, 0.75], [1, 0]], conditions=TWO, positive="Melanoma")
        for column in ("prob", "probability", "score", "p", "Prob")
    ),
    reads("m.csv", "case,p\nc1,0.75\nc2,0\n", [[0.75, 0.25], [0, 1]], conditions=TWO, positive="Nevus"),
    reads("m.csv", "case,Melanoma\nc1,0.75\nc2,1\n", [[0.25, 0.75], [0, 1]], conditions=TWO),
]


@pytest.mark.parametrize(("name", "content", "expected", "options"), READ)
def test_predictions_are_matched_by_name_or_by_their_place(
    name: str, content: Any, expected: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    said = read(written(tmp_path / name, content), **options)
    assert said.name == Path(name).stem
    assert (said.to_scores().tolist() if said.kind == "scores" else said.to_lists()) == expected
    if options.get("cases", CASES) is CASES:
        assert said.case_names == tuple(CASES)


def test_names_are_taken_from_the_file_when_none_are_given(tmp_path: Path) -> None:
    wide = read_predictions(written(tmp_path / "w.csv", WIDE))
    assert (wide.conditions, wide.case_names) == (("Tinea", "Eczema", "Psoriasis"), ("c2", "c1"))
    assert read_predictions(written(tmp_path / "l.csv", LONG)).conditions == tuple(NAMES)
    assert read_predictions(written(tmp_path / "r.npz", {"probs": SCORES, **REVERSED})).conditions == tuple(NAMES[::-1])
    said = read_predictions(
        written(tmp_path / "m.npz", {"probs": SCORES, "ids": [7, 8], "classes": [b"a", b"b", b"c"]})
    )
    assert (said.case_names, said.conditions) == (("7", "8"), ("a", "b", "c"))
    matrix = examine_predictions(written(tmp_path / "m.csv", as_text(SCORES, ",")), conditions=NAMES, cases=CASES)
    assert matrix.receipt.format == "matrix"


@pytest.mark.parametrize("name", ['say "Aah", then', "Café; naïve", "🦠 tinea", "<b>Eczema</b> & co", "a\nb"])
def test_conditions_may_have_any_name(tmp_path: Path, name: str) -> None:
    frame = pl.DataFrame({"case": ["c1"], name: [0.7], "other, one": [0.3]})
    frame.write_csv(tmp_path / "wide.csv")
    frame.unpivot(index="case", variable_name="condition", value_name="score").write_csv(tmp_path / "long.csv")
    written(tmp_path / "m.jsonl", [{"case": "c1", "scores": {name: 0.7, "other, one": 0.3}}])
    for file in ("wide.csv", "long.csv", "m.jsonl"):
        said = read_predictions(tmp_path / file, conditions=["other, one", name])
        assert said.to_scores().tolist() == [[0.3, 0.7]]


def test_the_name_of_a_model_may_stand_before_its_file(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", WIDE)
    assert read(f"Model A={path}").name == "Model A"
    assert read(path, name="B").name == "B"
    odd = written(tmp_path / "x=y.csv", WIDE)
    assert read(odd).name == "x=y"


def test_several_models(tmp_path: Path) -> None:
    wide, long = written(tmp_path / "a.csv", WIDE), written(tmp_path / "b.csv", LONG)
    models = read_models([f"A={wide}", long], conditions=NAMES, cases=CASES)
    assert list(models) == ["A", "b"]
    assert [model.name for model in models.values()] == ["A", "b"]


def test_allowing_missing_cases_warns_and_keeps_the_common_ones(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", WIDE)
    with pytest.warns(DissensusWarning, match="cases without a prediction: 1"):
        said = read_predictions(path, cases=["c1", "c9"], allow_missing=True)
    assert said.case_names == ("c1",)


def test_an_examination_keeps_notes(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "case,condition,score,colour\nc1,a,3,red\n")
    reading = examine_predictions(path)
    assert reading.receipt.format == "long"
    found = {note.found: note.examples for note in reading.receipt.notes}
    assert reading.receipt.unused == ("colour",)
    assert found["cases whose scores do not sum to 1"] == ("c1",)
    sets = examine_predictions(written(tmp_path / "b.csv", "case,a,b\nc1,1,0\n"))
    assert sets.receipt.assumed == ("all cells are 0 or 1: they are sets, not scores (kind='scores' says otherwise)",)


def test_a_format_can_be_demanded(tmp_path: Path) -> None:
    path = written(tmp_path / "m.csv", "case,label,score\nc1,0.4,0.6\n")
    assert read_predictions(path, format="wide").conditions == ("label", "score")


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
    assert str(place) == path
    assert name is None or found == name


@pytest.mark.parametrize("text", ["=a.csv", "A=", r"A\=B= "])
def test_a_name_without_a_file_or_a_file_without_a_name_is_refused(text: str) -> None:
    with pytest.raises(DissensusError, match="a model needs a name and a file"):
        named_path(text)


# Some of the conditions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.csv", "case,Tinea,Eczema\nc1,0.3,0.1\nc2,0.2,0.6\n"),
        ("m.csv", "case,label,score\nc1,Tinea,0.3\nc1,Eczema,0.1\nc2,Tinea,0.2\nc2,Eczema,0.6\n"),
        (
            "m.jsonl",
            [{"id": c, "scores": {"Tinea": t, "Eczema": e}} for c, t, e in (("c1", 0.3, 0.1), ("c2", 0.2, 0.6))],
        ),
    ],
)
def test_conditions_without_a_score_are_last_and_noted(name: str, content: Any, tmp_path: Path) -> None:
    said = read(written(tmp_path / name, content))
    assert said.to_lists() == [[["Tinea"], ["Eczema"]], [["Eczema"], ["Tinea"]]]
    assert not said.complete
    (note,) = (note for note in said.notes() if note.found == "conditions without a score")
    assert (note.count, note.examples, note.lost) == (1, ("Psoriasis",), False)
    assert str(note).startswith("conditions without a score: 1, of 3, taken as not predicted")
    fewer = read(written(tmp_path / "n.csv", "case,label,score\nc1,Tinea,0.3\nc1,Eczema,0.1\nc2,Tinea,1\n")).notes()
    assert [(note.count, note.examples) for note in fewer if "have no score" in note.found] == [(1, ("c2",))]


def test_aligning_warns_of_conditions_without_a_score() -> None:
    model = Predictions.from_scores([[0.2, 0.8]], ["a", "b"], case_names=["x"], name="A")
    with pytest.warns(DissensusWarning, match=r"model 'A': conditions without a score: 1, of 3"):
        assert model.align(["x"], ["a", "b", "c"]).to_lists() == [[["b"], ["a"]]]
