"""Receipts: what was understood of a file, in every format, so that a person sees whether it is what they meant."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dissensus import Study, examine, read
from dissensus.core.receipt import Receipt
from dissensus.predictions.reader import examine_predictions
from format_examples import EXAMPLES, Example, write_json, write_lines


def roles(receipt: Receipt) -> dict[str, str]:
    return {column.name: column.role for column in receipt.columns}


# Opinions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_every_format_gives_a_receipt_of_every_column_or_key_with_examples(example: Example, tmp_path: Path) -> None:
    path = example.file(tmp_path)
    receipt = examine(path, **example.options).receipt
    assert (receipt.path, receipt.format, receipt.is_given) == (str(path), example.format, False)
    assert 1 <= len(receipt.examples) <= 3
    assert all(" said: " in sentence for sentence in receipt.examples)
    assert examine(path, example.format, **example.options).receipt.is_given
    assert Receipt.from_dict(receipt.to_dict()) == receipt
    told = {name.partition(".")[0] for name in roles(receipt)}
    if example.name.endswith(".csv"):
        assert tuple(roles(receipt)) == tuple(example.content.splitlines()[0].split(","))
    elif isinstance(example.content, list) and isinstance(example.content[0], dict):
        assert told == {key for record in example.content for key in record}
    elif example.name in ("soup.toi", "votes.npy", "confidences.npy", "bare.json"):
        assert not told
    if told and example.format != "patterns":  # whose rows are many cases
        assert {"case"} < set(roles(receipt).values())


def test_everything_was_used_only_if_it_was(put: Any, tmp_path: Path) -> None:
    assert examine(put("case,annotator,label,rank\nc,A,x,1\n")).receipt.everything_was_used
    assert not examine(put("case,annotator,label,rank,site\nc,A,x,1,arm\n")).receipt.everything_was_used
    task = {"id": 1, "annotations": [{"completed_by": 3, "result": [], "was_cancelled": True}], "data": {}}
    receipt = examine(write_json(tmp_path / "a.json", [task]), conditions=["x"]).receipt
    assert [note.found for note in receipt.lost] == ["cancelled annotations"]
    assert not receipt.everything_was_used


# Examples -----------------------------------------------------------------------------------------------


def test_examples_are_the_first_middle_and_last_case_with_an_order(put: Any) -> None:
    lines = "".join(f"c{case},Ann,x,1\nc{case},Bo,x,1\nc{case},Bo,y,2\nc{case},Bo,z,2\n" for case in range(9))
    receipt = examine(put(f"case,annotator,label,rank\n{lines}")).receipt
    assert receipt.examples == tuple(f"annotator Bo on case c{case} said: x, then y and z tied" for case in (0, 4, 8))
    said = Study.from_rankings([[[]], [], [[["a"]]]], ["a", "b"])
    assert said.examples() == ("an annotator on case 2 said: a",)
    assert Study.from_rankings([[]], ["a"]).examples() == ()
    assert Study.from_scores([[]]).examples() == ()


# What keeps a receipt -----------------------------------------------------------------------------------


def test_a_study_keeps_its_receipt_and_is_compared_without_it(put: Any) -> None:
    said = read(put("case,annotator,label,rank\nc1,A,x,1\nc2,A,y,1\n"))
    built = Study.from_rankings([[[["x"]]], [[["y"]]]], case_names=["c1", "c2"], annotator_names=["A"])
    assert built.receipt is None
    assert said == built
    assert said.receipt is not None
    for other in (
        said.select(["c2"]),
        said.with_conditions(["y", "x"]),
        said.with_unranked("unobserved"),
        pickle.loads(pickle.dumps(said)),
        Study.concatenate([said.select(["c1"]), said.select(["c2"])]),
    ):
        assert other.receipt == said.receipt
    assert Study.concatenate([said.select(["c1"]), built.select(["c2"])]).receipt is None


# Predictions --------------------------------------------------------------------------------------------


def test_columns_of_wide_predictions(put: Any) -> None:
    receipt = examine_predictions(put("name,x,y,z\nc1,0.62,0.21,0.05\n", "A.csv")).receipt
    assert roles(receipt) == {"name": "case", **dict.fromkeys("xyz", "scores of a condition")}
    assert receipt.columns[0].reason == "as the first column"
    assert receipt.examples == ("on case c1: x 0.62, y 0.21, z 0.05",)
    coded = examine_predictions(put("case,0,1\nc1,0.4,0.6\n", "A.csv"), conditions=["x", "y"]).receipt
    assert coded.assumed == ("integers are codes of the given conditions: 0 is x, 1 is y",)


def test_columns_of_long_predictions(put: Any) -> None:
    path = put("case,label,rank,score,colour\nc1,x,1,0.3,red\nc1,y,2,0.2,red\n", "A.csv")
    receipt = examine_predictions(path, kind="ranking").receipt
    assert roles(receipt) == {"case": "case", "label": "condition", "rank": "rank", "score": "", "colour": ""}
    assert receipt.columns[3].reason == "the predictions are read as ranking"
    assert receipt.assumed == ("a condition that a case does not list ranks below all others",)
    assert receipt.examples == ("on case c1: x, then y",)


def test_a_matrix_without_names_says_that_it_goes_by_position(tmp_path: Path) -> None:
    names: dict[str, Any] = {"conditions": ["x", "y"], "cases": ["c1", "c2"]}
    np.save(tmp_path / "A.npy", np.array([[1, 0], [1, 1]]))
    receipt = examine_predictions(tmp_path / "A.npy", **names).receipt
    assert receipt.columns == ()
    assert receipt.assumed == (
        "the rows are the cases of the study, in its order",
        "the columns are the conditions of the study, in its order",
        "all cells are 0 or 1: they are sets, not scores (kind='scores' says otherwise)",
    )
    assert receipt.examples == ("on case c1: {x}", "on case c2: {x, y}")
    np.savez(tmp_path / "B.npz", probs=np.array([[0.4, 0.6], [0.5, 0.5]]), case_ids=["c1", "c2"], epoch=[3])
    named = examine_predictions(tmp_path / "B.npz", **names).receipt
    assert roles(named) == {"probs": "scores", "case_ids": "case", "epoch": ""}
    assert named.assumed == ("the columns are the conditions of the study, in its order",)


def test_keys_of_predictions_in_json_lines(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "A.jsonl", [{"case_id": "c1", "ranked": ["x", ["y", "z"]], "epoch": 3}])
    reading = examine_predictions(path)
    assert roles(reading.receipt) == {"case_id": "case", "ranked": "ranking", "epoch": ""}
    assert reading.receipt.examples == ("on case c1: x, then y and z tied",)
    kept = reading.predictions.select(["c1"]).rename("B").align(["c1"], ["z", "y", "x"])
    assert kept.receipt == reading.receipt
    assert pickle.loads(pickle.dumps(kept)).receipt == reading.receipt
