"""Receipts: what was understood of a file, so that a person sees whether it is what they meant, and who keeps it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dissensus import Study, examine, read
from dissensus.predictions.reader import examine_predictions

READINGS = json.loads(Path(__file__).with_name("readings.json").read_text(encoding="utf-8"))
LINES = [{"case_id": "c1", "ranked": ["x", ["y", "z"]], "epoch": 3}]


def test_everything_was_used_only_if_it_was(put: Any) -> None:
    assert examine(put("case,annotator,label,rank\nc,A,x,1\n")).receipt.everything_was_used
    assert not examine(put("case,annotator,label,rank,site\nc,A,x,1,arm\n")).receipt.everything_was_used
    task = {"id": 1, "annotations": [{"completed_by": 3, "result": [], "was_cancelled": True}], "data": {}}
    receipt = examine(put([task], "a.json"), conditions=["x"]).receipt
    assert [note.found for note in receipt.lost] == ["cancelled annotations"]
    assert not receipt.everything_was_used


def test_examples_are_the_first_middle_and_last_case_with_an_order(put: Any) -> None:
    lines = "".join(f"c{case},Ann,x,1\nc{case},Bo,x,1\nc{case},Bo,y,2\nc{case},Bo,z,2\n" for case in range(9))
    receipt = examine(put(f"case,annotator,label,rank\n{lines}")).receipt
    assert receipt.examples == tuple(f"annotator Bo on case c{case} said: x, then y and z tied" for case in (0, 4, 8))
    said = Study.from_rankings([[[]], [], [[["a"]]]], ["a", "b"])
    assert said.examples() == ("an annotator on case 2 said: a",)
    assert Study.from_rankings([[]], ["a"]).examples() == Study.from_scores([[]]).examples() == ()


def test_studies_and_predictions_keep_their_receipt_and_are_compared_without_it(put: Any) -> None:
    said = read(put("case,annotator,label,rank\nc1,A,x,1\nc2,A,y,1\n"))
    built = Study.from_rankings([[[["x"]]], [[["y"]]]], case_names=["c1", "c2"], annotator_names=["A"])
    assert said == built
    assert built.receipt is None is not said.receipt
    for other in (
        said.select(["c2"]),
        said.with_conditions(["y", "x"]),
        said.with_unranked("unobserved"),
        pickle.loads(pickle.dumps(said)),
        Study.concatenate([said.select(["c1"]), said.select(["c2"])]),
    ):
        assert other.receipt == said.receipt
    assert Study.concatenate([said.select(["c1"]), built.select(["c2"])]).receipt is None
    reading = examine_predictions(put(LINES, "A.jsonl"))
    kept = reading.predictions.select(["c1"]).rename("B").align(["c1"], ["z", "y", "x"])
    assert kept.receipt == pickle.loads(pickle.dumps(kept)).receipt == reading.receipt


@pytest.mark.parametrize("case", READINGS["predictions"], ids=lambda case: case["file"])
def test_what_is_understood_of_predictions(case: dict[str, Any], put: Any) -> None:
    content = case["content"]
    if case["file"].endswith((".npy", ".npz")):
        content = {k: np.array(v) for k, v in content.items()} if isinstance(content, dict) else np.array(content)
    receipt = examine_predictions(put(content, case["file"]), **case["options"]).receipt
    assert {column.name: column.role for column in receipt.columns} == case["roles"]
    assert (list(receipt.assumed), list(receipt.examples)) == (case["assumed"], case["examples"])
    reasons = {column.name: column.reason for column in receipt.columns}
    assert reasons.get("name", "as the first column") == "as the first column"
    assert reasons.get("score", "the predictions are read as ranking") == "the predictions are read as ranking"
