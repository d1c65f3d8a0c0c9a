"""Long tables of any library, of labels and of ratings, against an obvious twin made of plain loops."""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus import DissensusError, Study, read
from dissensus.agreement import annotator_agreement
from dissensus.core.files import open_source
from dissensus.study.canonical import long_table
from dissensus.study.tables import study_from_table
from fuzz.naive_reader import long_form
from refusals import refused
from strategies import studies

Columns = Mapping[str, list[Any]]
Row = dict[str, Any]

READINGS = json.loads(Path(__file__).with_name("readings.json").read_text(encoding="utf-8"))
LIBRARIES: tuple[Callable[[Any], Any], ...] = (pd.DataFrame, lambda table: pl.DataFrame(table, strict=False), pa.table)


def long(case: str, annotator: str, **more: str) -> dict[str, list[Any]]:
    """Write columns as words: one letter per row, '-' for nothing."""
    columns = {"case": case, "annotator": annotator, **more}
    return {role: [None if value == "-" else value for value in words] for role, words in columns.items()}


# What a table means -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", READINGS["tables"], ids=lambda case: case["name"])
def test_what_a_table_of_any_library_means(case: dict[str, Any]) -> None:
    for library in LIBRARIES:
        said = Study.from_long(library(case["columns"]), **case["options"])
        assert said.to_rankings() == case["rankings"]
        found = {what: getattr(said, what) for what in case["known"]}
        assert {what: list(value) for what, value in found.items()} == case["known"]


def test_what_was_not_stated_is_noted_and_a_ranking_without_a_weight_counts_once() -> None:
    columns = {**long("xxx", "AAA", condition="abc"), "confidence": [1.0, 0.0, None]}
    (note,) = study_from_table(pl.DataFrame(columns), None)[1]
    assert (note.count, note.action) == (2, "kept as not mentioned")
    table = pl.DataFrame({"case": ["x", "y"], "condition": ["a", "b"], "weight": [0.5, None]})
    assert Study.from_long(table).weights.tolist() == [0.5, 1]


def test_integers_that_became_floats_categories_and_an_index_of_pandas_are_understood_and_not_aliased() -> None:
    table = pd.DataFrame({"case": [1, 1, 2], "annotator": ["A", "B", "A"], "label": [1, None, 0]})
    assert Study.from_long(table, ["cat", "dog"]).to_rankings() == [[[["dog"]], []], [[["cat"]]]]
    columns = long("xy", "AB", condition="ab")
    said = Study.from_long(pl.DataFrame(columns))
    assert Study.from_long(pd.DataFrame(columns, index=[7, 7])) == said
    assert Study.from_long(pd.DataFrame(columns).astype("category")) == said
    weights = np.array([1.0, 2.0])
    table = pd.DataFrame({"case": ["x", "y"], "condition": ["a", "b"], "weight": weights}, copy=False)
    said = Study.from_long(table)
    weights[:] = 9
    table["weight"] = 9.0
    assert said.weights.tolist() == [1, 2]
    said = Study.from_long(pd.DataFrame({**BASE, "confidence": [1, np.nan]}))
    assert said.to_rankings() == [[[["a"]]], [[]]]
    refused("rank is not a positive number", Study.from_long, pd.DataFrame({**BASE, "rank": [1, np.nan]}))


def test_a_rank_decides_unless_the_confidence_is_asked_for() -> None:
    table = pl.DataFrame({**long("xx", "AA", condition="ab"), "rank": [1, 2], "confidence": [1, 2]})
    assert Study.from_long(table).to_rankings() == [[[["a"], ["b"]]]]
    assert Study.from_long(table, confidence="confidence").to_rankings() == [[[["b"], ["a"]]]]
    refused("both asked for", Study.from_long, table, confidence="confidence", rank="rank")


# The twin -----------------------------------------------------------------------------------------------


@st.composite
def long_rows(draw: st.DrawFn, order: str) -> list[Row]:
    """Draw shuffled rows of a long table, ranks with gaps or confidences with zeros, and silent rows."""
    value = st.sampled_from([1, 2, 3, 7]) if order == "rank" else st.sampled_from([None, 0, 0.5, 1, 80])
    rows: list[Row] = []
    for case in draw(st.lists(st.sampled_from("xyzuv"), min_size=1, unique=True)):
        people = draw(st.lists(st.tuples(st.sampled_from([None, "A", "B"]), st.sampled_from([1, 2])), unique=True))
        rows.extend(
            {"case": case, "annotator": who, "annotation": turn, "condition": name, order: draw(value)}
            for who, turn in people
            for name in draw(st.lists(st.sampled_from("abcd"), unique=True))
        )
        nobody: list[tuple[str | None, int | None]] = [(None, None)]
        silent = [(who, turn) for who, turn in people if draw(st.booleans())] or nobody
        rows.extend(
            {"case": case, "annotator": who, "annotation": turn, "condition": None, order: None} for who, turn in silent
        )
    return list(draw(st.permutations(rows)))


@pytest.mark.parametrize("order", ["rank", "confidence"])
@given(data=st.data())
def test_tables_build_what_plain_loops_build(order: str, data: st.DataObject) -> None:
    rows = data.draw(long_rows(order))
    texts = dict.fromkeys(("case", "annotator", "condition"), pl.String)
    table = pl.DataFrame(rows, schema_overrides={**texts, "annotation": pl.Int64})
    said, expected = Study.from_long(table), long_form(table.write_csv().encode(), "table.csv", None)
    assert said.case_names == tuple(case for case, _ in expected)
    blocks = [[[list(block) for block in ranking] for _, ranking in rankings] for _, rankings in expected]
    assert said.to_rankings() == blocks
    names = [None if code < 0 else said.annotator_names[code] for code in said.annotators]
    assert names == [who for _, rankings in expected for who, _ in rankings]


@given(studies(), st.randoms(use_true_random=False))
def test_the_order_of_rows_within_cases_does_not_matter(said: Study, rng: random.Random) -> None:
    table = long_table(said)
    rows = list(range(len(table)))
    rng.shuffle(rows)
    again = study_from_table(table[rows], said.conditions)[0]
    assert sorted(again.case_names) == sorted(said.case_names)
    for case in said.case_names:
        one, other = again.select([case]), said.select([case])
        assert sorted(map(str, one.to_rankings()[0])) == sorted(map(str, other.to_rankings()[0]))
        assert sorted(one.weights) == sorted(other.weights)


# What is refused ------------------------------------------------------------------------------------------

BASE: dict[str, list[Any]] = {"case": ["x", "y"], "annotator": ["A", "B"], "condition": ["a", "b"]}


def test_integer_labels_are_names_first_and_codes_only_if_none_is_a_name() -> None:
    table = pl.DataFrame({**BASE, "condition": [1, 2]})
    assert Study.from_long(table, ["2", "1"]).to_rankings() == [[[["1"]]], [[["2"]]]]


def test_what_is_no_table_or_mixes_types_is_refused() -> None:
    for frame in (pl.LazyFrame(BASE), [1, 2], None, "table.csv"):
        refused(f"this is not a table[^$]*{type(frame).__name__}", Study.from_long, frame)
    with pytest.raises(DissensusError, match=r"column 'case' mixes different types[^$]*astype\(str\)"):
        Study.from_long(pd.DataFrame({"condition": ["a", "b"], "case": ["x", 1]}))


# Numeric ratings ------------------------------------------------------------------------------------------


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


def test_a_table_without_conditions_says_by_its_columns_what_it_answers() -> None:
    table = pl.DataFrame({"case": ["x", "x"], "label": ["a", "b"], "rating": [1, 2], "finding": ["a", "b"]})
    asked = {"rankings": table, "checklists": table.drop("label"), "ratings": table.drop("label", "finding")}
    assert {kind: Study.from_long(given).kind for kind, given in asked.items()} == {kind: kind for kind in asked}
    assert Study.from_long(table, score="rating").kind == "ratings"
    assert Study.from_long(table, finding="label").kind == "checklists"
    assert Study.from_long(table, question="findings").findings == ("a", "b")


# Mentions of a ranking ------------------------------------------------------------------------------------


def test_scattered_rows_and_long_rankings_of_a_table_in_python_are_found() -> None:
    names = [f"n{number:02}" for number in range(30)]
    frame = pl.DataFrame({"case": ["c"] * 31, "annotator": ["A"] * 31, "label": [*names, "n00"], "rank": range(1, 32)})
    refused("'n00' is mentioned twice", Study.from_long, frame)
    assert Study.from_long(frame.reverse(), duplicates="best").to_rankings() == [[[[name] for name in names]]]
    refused("duplicates is not understood", Study.from_long, frame, duplicates="last")
    sure = pl.DataFrame({"case": ["c"] * 3, "annotator": ["A"] * 3, "label": [*"xyx"], "confidence": [1, 2, 3]})
    assert Study.from_long(sure, duplicates="best").to_rankings() == [[[["x"], ["y"]]]]
    assert Study.from_long(sure, duplicates="first").to_rankings() == [[[["y"], ["x"]]]]
    assert not study_from_table(sure[1:].rename({"label": "condition"}), duplicates="first")[1]


TEXT = "case,annotator,label,confidence\nc1,A,x,1\nc1,A,y,3\nc1,B,x,5\nc1,B,y,0\nc2,A,z,\nc3,B,y,2\nc3,B,x,2\n"


def test_a_soft_vote_is_one_annotator_wherever_annotators_are_counted(put: Any) -> None:
    path = put(TEXT)
    order, share = read(path), read(path, confidence="share")
    assert annotator_agreement(share).n_annotators.tolist() == [2, 0, 1]
    assert share.panel.annotators_per_case.tolist() == order.panel.annotators_per_case.tolist() == [2, 1, 1]
    assert [fact.value for fact in share.facts() if fact.label == "Annotators per case"] == [
        "1 to 2, median 1, mean 1.33"
    ]
    assert Study.from_long(open_source(path).table, confidence_as="share") == share
