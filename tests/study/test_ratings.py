"""Numeric ratings: read, built, weighted, and refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dissensus import DissensusError, Study

COLUMNS: dict[str, list[Any]] = {
    "case": ["x", "y", "x", "z"],
    "annotator": ["A", "A", "B", "A"],
    "score": [1.0, 5.0, 2.5, None],
    "weight": [1.0, 2.0, 3.0, 1.0],
    "group": ["p", "q", "p", "q"],
}


def test_rows_are_gathered_by_case_and_missing_scores_are_no_ratings() -> None:
    said = Study.from_long(pl.DataFrame(COLUMNS))
    assert said.case_names == ("x", "y", "z")
    assert said.scores.tolist() == [1, 2.5, 5]
    assert said.rating_offsets.tolist() == [0, 2, 3, 3]
    assert (said.annotator_names, said.annotators.tolist()) == (("A", "B"), [0, 1, 0])
    assert said.weights.tolist() == [1, 3, 2]
    assert said.groups == ("p", "q", "q")
    assert (said.n_ratings, said.unannotated) == (3, ("z",))
    assert repr(said) == "Ratings: 3 cases, 3 ratings from 1 to 5; 1 case without a rating"
    assert repr(Study.from_scores([])) == "Ratings: 0 cases, 0 ratings"
    for table in (pd.DataFrame(COLUMNS), pa.table(COLUMNS)):
        assert Study.from_long(table) == said


def test_scores_must_be_finite_numbers_and_a_table_must_have_rows() -> None:
    long, scores = Study.from_long, Study.from_scores
    cases: list[tuple[Any, Any, str]] = [
        (scores, [[1.0], [2.0, np.nan]], "not a finite number[^$]*case '1', rating 2"),
        (scores, [[1.0], [2.0, np.inf]], "not a finite number[^$]*case '1', rating 2"),
        (scores, [["good"]], "scores are not numbers"),
        (long, pl.DataFrame({"case": ["x"], "score": ["good"]}), "score is not a number[^$]*data row 1, case 'x'"),
        (long, pl.DataFrame({"case": [], "score": []}), "no rows"),
    ]
    for build, given, problem in cases:
        with pytest.raises(DissensusError, match=problem):
            build(given)


def test_a_table_without_conditions_says_by_its_columns_what_it_answers() -> None:
    table = pl.DataFrame({"case": ["x", "x"], "label": ["a", "b"], "rating": [1, 2], "finding": ["a", "b"]})
    asked = {"rankings": table, "checklists": table.drop("label"), "ratings": table.drop("label", "finding")}
    assert {kind: Study.from_long(given).kind for kind, given in asked.items()} == {kind: kind for kind in asked}
    assert Study.from_long(table, score="rating").kind == "ratings"
    assert Study.from_long(table, finding="label").kind == "checklists"
    assert Study.from_long(table, question="findings").findings == ("a", "b")
