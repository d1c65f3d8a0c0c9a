"""Every format in which predictions arrive, and how they are matched to a study."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dissensus.core.errors import DissensusError, DissensusWarning
from dissensus.predictions.reader import examine_predictions, named_path, read_models, read_predictions

if TYPE_CHECKING:
    from pathlib import Path

    from dissensus.predictions.lists import Predictions

NAMES = ["Eczema", "Psoriasis", "Tinea"]
CASES = ["c1", "c2"]
SCORES = [[0.2, 0.7, 0.1], [0.4, 0.2, 0.4]]
WIDE = "case_id,Tinea,Eczema,Psoriasis\nc2,0.4,0.4,0.2\nc1,0.1,0.2,0.7\n"
LONG = "case_id,label,score\nc2,Eczema,0.4\nc2,Tinea,0.4\nc2,Psoriasis,0.2\n" + "".join(
    f"c1,{name},{score}\n" for name, score in zip(NAMES, SCORES[0], strict=True)
)


def read(path: Path | str, **options: Any) -> Predictions:
    return read_predictions(path, conditions=NAMES, cases=CASES, **options)


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    return written(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def test_npy_scores(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.array(SCORES))
    said = read(tmp_path / "m.npy")
    assert said.name == "m"
    assert said.to_scores().tolist() == SCORES


@pytest.mark.parametrize("dtype", [np.bool_, np.int64, np.uint8])
def test_npy_of_zeros_and_ones_holds_sets(tmp_path: Path, dtype: type[np.generic]) -> None:
    np.save(tmp_path / "m.npy", np.array([[1, 0, 1], [0, 0, 0]], dtype=dtype))
    assert read(tmp_path / "m.npy").to_lists() == [[["Eczema", "Tinea"]], []]


def test_kind_decides_what_zeros_and_ones_are(tmp_path: Path) -> None:
    np.save(tmp_path / "whole.npy", np.array([[1, 0, 0], [0, 1, 0]]))
    np.save(tmp_path / "real.npy", np.array([[1.0, 0, 0], [0, 1, 0]]))
    assert read(tmp_path / "whole.npy", kind="scores").kind == "scores"
    assert read(tmp_path / "real.npy").kind == "scores"
    assert read(tmp_path / "real.npy", kind="set").to_lists() == [[["Eczema"]], [["Psoriasis"]]]


def test_npy_of_sets_per_alpha(tmp_path: Path) -> None:
    sets = np.zeros((2, 3, 2), dtype=np.bool_)
    sets[:, 1, 1] = True
    np.save(tmp_path / "m.npy", sets)
    assert read(tmp_path / "m.npy", alpha_index=1).to_lists() == [[["Psoriasis"]], [["Psoriasis"]]]
    with pytest.raises(DissensusError, match="alpha_index=0 to 1"):
        read(tmp_path / "m.npy")
    with pytest.raises(DissensusError, match="out of range"):
        read(tmp_path / "m.npy", alpha_index=2)


@pytest.mark.parametrize(
    ("matrix", "ids", "classes"), [("probs", "case_ids", "classes"), ("scores", "cases", "conditions")]
)
def test_npz_with_names_is_matched_by_name(tmp_path: Path, matrix: str, ids: str, classes: str) -> None:
    arrays = {
        matrix: np.array(SCORES)[::-1, ::-1],
        ids: np.array(CASES[::-1]),
        classes: np.array(NAMES[::-1]),
    }
    np.savez(tmp_path / "m.npz", **arrays)  # type: ignore[arg-type]
    assert read(tmp_path / "m.npz").to_scores().tolist() == SCORES
    assert read_predictions(tmp_path / "m.npz").conditions == tuple(NAMES[::-1])


def test_npz_takes_bytes_and_integers_as_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", probs=np.array(SCORES), ids=np.array([7, 8]), classes=np.array([b"a", b"b", b"c"]))
    said = read_predictions(tmp_path / "m.npz")
    assert said.case_names == ("7", "8")
    assert said.conditions == ("a", "b", "c")


def test_npz_without_names_needs_the_lists(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", np.array(SCORES))
    assert read(tmp_path / "m.npz").to_scores().tolist() == SCORES


@pytest.mark.parametrize("delimiter", [" ", ",", "\t", ";"])
def test_text_matrix(tmp_path: Path, delimiter: str) -> None:
    np.savetxt(tmp_path / "predictions0.txt", SCORES, fmt="%.3e", delimiter=delimiter)
    said = read(tmp_path / "predictions0.txt")
    assert said.name == "predictions0"
    assert said.to_scores().tolist() == SCORES


def test_text_matrix_of_whole_zeros_and_ones_holds_sets(tmp_path: Path) -> None:
    assert read(written(tmp_path / "m.txt", "1 0 1\n0 0 0\n")).to_lists() == [[["Eczema", "Tinea"]], []]
    assert read(written(tmp_path / "n.txt", "1.0 0 1\n0 1 0\n")).kind == "scores"


def test_text_matrix_may_have_comments_and_one_row(tmp_path: Path) -> None:
    path = written(tmp_path / "m.txt", "# scores\n\n0.5 0.25 0.25\n")
    assert read_predictions(path, conditions=NAMES, cases=["c1"]).to_scores().tolist() == [[0.5, 0.25, 0.25]]


def test_csv_without_a_header_is_a_matrix(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    np.savetxt(path, SCORES, delimiter=",")
    assert examine_predictions(path, conditions=NAMES, cases=CASES).receipt.format == "matrix"
    assert read(path).to_scores().tolist() == SCORES


def test_csv_headed_by_codes_takes_them_from_the_list(tmp_path: Path) -> None:
    path = written(tmp_path / "m.csv", "0,1,2\n0.2,0.7,0.1\n0.4,0.2,0.4\n")
    assert read(path).to_scores().tolist() == SCORES
    path = written(tmp_path / "n.csv", "case,2,1,0\nc1,0.1,0.7,0.2\nc2,0.4,0.2,0.4\n")
    assert read(path).to_scores().tolist() == SCORES


def test_json_matrix(tmp_path: Path) -> None:
    assert read(written(tmp_path / "m.json", json.dumps(SCORES))).to_scores().tolist() == SCORES


@pytest.mark.parametrize("text", [WIDE, LONG])
@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "parquet"])
def test_tables_are_matched_by_name(tmp_path: Path, text: str, ending: str) -> None:
    path = tmp_path / f"A.{ending}"
    if ending == "parquet":
        pl.read_csv(text.encode()).write_parquet(path)
    else:
        written(path, text.replace(",", "\t") if ending == "tsv" else text)
    said = read(path)
    assert said.case_names == tuple(CASES)
    assert said.to_scores().tolist() == SCORES


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    for number, text in enumerate((WIDE, LONG)):
        path = written(tmp_path / f"{number}.csv", "\ufeff" + text.replace("\n", "\r\n"))
        assert read(path).to_scores().tolist() == SCORES
    np.savetxt(tmp_path / "m.txt", SCORES, newline="\r\n")
    assert read(tmp_path / "m.txt").to_scores().tolist() == SCORES
    row = json.dumps({"case_id": "c1", "set": ["Tinea"]})
    path = written(tmp_path / "m.jsonl", "\ufeff" + row + "\r\n")
    assert read_predictions(path).to_lists() == [[["Tinea"]]]


def test_names_are_taken_from_the_file_when_none_are_given(tmp_path: Path) -> None:
    wide = read_predictions(written(tmp_path / "w.csv", WIDE))
    assert wide.conditions == ("Tinea", "Eczema", "Psoriasis")
    assert wide.case_names == ("c2", "c1")
    assert read_predictions(written(tmp_path / "l.csv", LONG)).conditions == tuple(NAMES)


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path / "m.csv", LONG.replace("case_id,label,score", "scan,finding,strength"))
    said = read(path, columns={"case": "scan", "condition": "finding", "score": "strength"})
    assert said.to_scores().tolist() == SCORES


def test_a_wide_table_may_name_its_cases_in_any_first_column_of_text(tmp_path: Path) -> None:
    assert read(written(tmp_path / "m.csv", WIDE.replace("case_id", ""))).to_scores().tolist() == SCORES
    assert read(written(tmp_path / "n.csv", WIDE.replace("case_id", "scan"))).to_scores().tolist() == SCORES


def test_a_wide_table_without_cases_takes_them_from_the_list(tmp_path: Path) -> None:
    path = written(tmp_path / "m.csv", "Tinea,Eczema,Psoriasis\n0.1,0.2,0.7\n0.4,0.4,0.2\n")
    assert read(path).to_scores().tolist() == SCORES


def test_a_condition_may_be_called_like_a_role(tmp_path: Path) -> None:
    path = written(tmp_path / "m.csv", "case,rank,item\nc1,0.3,0.7\n")
    said = read_predictions(path, conditions=["item", "rank"], cases=["c1"])
    assert said.to_scores().tolist() == [[0.7, 0.3]]


def test_jsonl_rankings_with_ties(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "m.jsonl",
        {"case_id": "c2", "ranked": ["Eczema", ["Psoriasis", "Tinea"]]},
        {"case_id": "c1", "ranked": ["Tinea"]},
    )
    assert read(path).to_lists() == [[["Tinea"]], [["Eczema"], ["Psoriasis", "Tinea"]]]


def test_jsonl_sets(tmp_path: Path) -> None:
    path = lines(tmp_path / "m.jsonl", {"case_id": "c2", "set": ["Tinea", "Eczema"]}, {"case_id": "c1", "set": []})
    assert read(path).to_lists() == [[], [["Eczema", "Tinea"]]]


def test_jsonl_scores_by_name(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "m.jsonl",
        {"case_id": "c1", "scores": {"Tinea": 0.9, "Eczema": 0}},
        {"case_id": "c2", "scores": {"Eczema": 1}},
    )
    assert read(path).to_scores().tolist() == [[0, 0, 0.9], [1, 0, 0]]


def test_jsonl_codes_with_a_list(tmp_path: Path) -> None:
    ranked = lines(tmp_path / "r.jsonl", {"id": 1, "ranked": [2, [0, 1]]})
    assert read_predictions(ranked, conditions=NAMES).to_lists() == [[["Tinea"], ["Eczema", "Psoriasis"]]]
    scores = lines(tmp_path / "s.jsonl", {"id": 1, "scores": {"2": 0.5}})
    assert read_predictions(scores, conditions=NAMES).to_scores().tolist() == [[0, 0, 0.5]]


def test_a_json_list_of_objects_reads_like_lines(tmp_path: Path) -> None:
    rows = [{"case_id": "c1", "set": ["Tinea"]}, {"case_id": "c2", "set": []}]
    assert read(written(tmp_path / "m.json", json.dumps(rows, indent=1))).to_lists() == [[["Tinea"]], []]
    assert read_predictions(written(tmp_path / "n.json", json.dumps(rows[0]))).to_lists() == [[["Tinea"]]]


def test_jsonl_rows_of_a_long_table(tmp_path: Path) -> None:
    path = lines(tmp_path / "m.jsonl", {"case": "c1", "condition": "a", "score": 0.5})
    assert read_predictions(path).to_scores().tolist() == [[0.5]]
    path = lines(tmp_path / "n.jsonl", {"case": "c1", "label": "a", "rank": 1}, {"case": "c1", "label": "b", "rank": 2})
    assert read_predictions(path).to_lists() == [[["a"], ["b"]]]


def test_an_index_that_pandas_wrote_names_the_cases(tmp_path: Path) -> None:
    pd.DataFrame(SCORES, index=CASES, columns=NAMES).to_parquet(tmp_path / "m.parquet")
    assert read(tmp_path / "m.parquet").to_scores().tolist() == SCORES


@pytest.mark.parametrize("name", ['say "Aah", then', "Café; naïve", "🦠 tinea", "<b>Eczema</b> & co", "a\nb"])
def test_conditions_may_have_any_name(tmp_path: Path, name: str) -> None:
    frame = pl.DataFrame({"case": ["c1"], name: [0.7], "other, one": [0.3]})
    frame.write_csv(tmp_path / "wide.csv")
    frame.unpivot(index="case", variable_name="condition", value_name="score").write_csv(tmp_path / "long.csv")
    lines(tmp_path / "m.jsonl", {"case": "c1", "scores": {name: 0.7, "other, one": 0.3}})
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
