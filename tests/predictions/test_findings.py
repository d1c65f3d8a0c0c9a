"""Predictions of findings: every finding is a question of its own, and scores need not add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from dissensus import DissensusError, Predictions, Study, read_predictions
from dissensus.predictions.alignment import predictions_of_finding
from dissensus.predictions.reader import examine_predictions

FINDINGS = ("AF", "ST")
CASES = ("x", "y", "z")
SCORES = [[0.9, 0.0], [0.2, 0.7], [0.0, 0.0]]


def of(scores: Any) -> Predictions:
    return Predictions.from_scores(scores, FINDINGS, case_names=CASES, findings=True)


def test_a_probability_becomes_two_scores_under_the_names_of_the_study() -> None:
    said = predictions_of_finding(of(SCORES), "AF", ["z", "x"])
    asked = Study.from_sets([[[]], [[]], [[]]], FINDINGS, case_names=CASES).of_finding("AF")
    assert said.conditions == asked.conditions == ("absent", "present")
    assert set(said.case_names) < set(asked.case_names)
    assert said.case_names == ("z / AF", "x / AF")
    assert said.complete
    assert said.to_scores().tolist() == [[1.0, 0.0], [1 - 0.9, 0.9]]


def test_scores_outside_of_0_to_1_are_opposites_on_all_findings() -> None:
    model = of([[2.5, 0.5], [0.3, -1.0], [0.0, 0.0]])
    assert predictions_of_finding(model, "AF", CASES).to_scores().tolist() == [[-2.5, 2.5], [-0.3, 0.3], [0, 0]]
    assert predictions_of_finding(model, "ST", CASES).to_scores().tolist() == [[-0.5, 0.5], [1.0, -1.0], [0, 0]]


def test_a_set_is_a_decision_about_every_finding() -> None:
    model = Predictions.from_sets([["AF"], [], ["AF", "ST"]], FINDINGS, case_names=CASES)
    said = predictions_of_finding(model, "ST", CASES)
    assert said.kind == "ranking"
    assert said.to_lists() == [[["absent"]], [["absent"]], [["present"]]]


def test_an_order_of_findings_and_unknown_findings_are_refused() -> None:
    ranked = Predictions.from_rankings([["AF"], ["ST"], ["AF"]], FINDINGS, case_names=CASES)
    with pytest.raises(DissensusError, match="does not say which are present"):
        predictions_of_finding(ranked, "AF", CASES)
    with pytest.raises(DissensusError, match="there is no finding 'RBBB'"):
        predictions_of_finding(of(SCORES), "RBBB", CASES)


LONG = [(case, name, SCORES[i][k]) for i, case in enumerate(CASES) for k, name in enumerate(FINDINGS)]
FORMS: dict[str, Any] = {
    "wide.csv": "case,AF,ST\nx,0.9,0.0\ny,0.2,0.7\nz,0.0,0.0\n",
    "long.parquet": pl.DataFrame(LONG, schema=["case", "finding", "score"], orient="row"),
    "model.npz": {"probs": np.array(SCORES), "case_ids": np.array(CASES), "classes": np.array(FINDINGS)},
}
STUDY: dict[str, Any] = {"conditions": FINDINGS, "cases": CASES}


@pytest.mark.parametrize("name", FORMS)
def test_cases_without_any_finding_are_read_and_sums_are_not_looked_at(name: str, put: Any) -> None:
    file = put(FORMS[name], name)
    reading = examine_predictions(file, **STUDY, findings=True)
    assert reading.predictions.to_scores().tolist() == SCORES
    assert reading.receipt.notes == ()
    with pytest.raises(DissensusError, match="all scores of a case are zero"):
        examine_predictions(file, **STUDY)


def test_findings_without_a_score_and_scores_that_are_no_probabilities_are_noted(put: Any) -> None:
    reading = examine_predictions(put("case,AF\nx,0.9\ny,0.2\nz,0\n"), **STUDY, findings=True)
    assert reading.predictions.to_scores().tolist() == [[0.9, 0.0], [0.2, 0.0], [0.0, 0.0]]
    assert [str(note) for note in reading.receipt.notes] == [
        "findings without a score above 0: 1, taken as absent on every case (for example 'ST')"
    ]
    other = examine_predictions(put("case,AF,ST\nx,2.5,-1\ny,0.2,0.1\nz,0.5,0.5\n"), **STUDY, findings=True)
    (note,) = other.receipt.notes
    assert (note.count, "not as probabilities" in note.action) == (1, True)


def test_decisions_are_a_matrix_of_0_and_1_or_rows_of_what_is_present(put: Any) -> None:
    texts = ("case,AF,ST\nx,1,1\ny,0,0\nz,0,1\n", "case,finding\nx,AF\nx,ST\ny,\nz,ST\n")
    wide, long = (read_predictions(put(text), **STUDY, findings=True) for text in texts)
    assert wide == long
    assert (wide.kind, wide.to_lists()) == ("set", [[["AF", "ST"]], [], [["ST"]]])
