"""Long tables of any library, against an obvious twin made of dictionaries."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus import DissensusError, Study
from dissensus.study.canonical import long_table
from dissensus.study.tables import study_from_table
from strategies import studies

Columns = Mapping[str, list[Any]]
Row = dict[str, Any]

LIBRARIES: tuple[Callable[[Any], Any], ...] = (pd.DataFrame, lambda table: pl.DataFrame(table, strict=False), pa.table)


def long(case: str, annotator: str, **more: str) -> dict[str, list[Any]]:
    """Write columns as words: one letter per row, '-' for nothing."""
    columns = {"case": case, "annotator": annotator, **more}
    return {role: [None if value == "-" else value for value in words] for role, words in columns.items()}


# What a table means -------------------------------------------------------------------------------------


BOTH = [[[["a"]]], [[["b"]]]]
WEIGHTS: dict[str, list[Any]] = {"weight": [0.5, 2.0, 1.0], "patient": ["p", "p", "q"], "case_weight": [3.0, 3.0, 1.0]}
SPLIT: Columns = {"case": ["x", "x"], "annotator": ["A", "A"], "label": ["a | b", "c"], "rank": [1, 2]}


def means(
    columns: Columns, rankings: list[Any], options: dict[str, Any] | None = None, **known: Any
) -> tuple[Any, ...]:
    """Columns, the rankings that they mean, options to read them with, and what else is known of the study."""
    return columns, rankings, options or {}, known


MEANINGS = {
    "without rank or confidence all are tied": means(long("xxx", "ABA", condition="acb"), [[[["a", "b"]], [["c"]]]]),
    "without annotators and ranks every row is an opinion": means(
        {"case": [*"xxy"], "condition": [*"aab"]}, [[[["a"]], [["a"]]], [[["b"]]]], annotator_names=()
    ),
    "without annotators but with ranks a case is one ranking": means(
        {"case": [*"xxy"], "condition": [*"abb"], "rank": [2, 1, 1]}, [[[["b"], ["a"]]], [[["b"]]]]
    ),
    "weights and groups are kept": means(
        long("xxy", "ABA", condition="aba") | WEIGHTS,
        [[[["a"]], [["b"]]], [[["a"]]]],
        weights=[0.5, 2, 1],
        groups=("p", "q"),
        case_weights=[3, 1],
    ),
    "usual names of columns": means(
        {"Image ID": [*"xy"], "Reader": [*"AB"], "Diagnosis": [*"ab"]}, BOTH, annotator_names=("A", "B")
    ),
    "columns as said": means(
        {"photo": [*"xy"], "who": [*"AB"], "what": [*"ab"]},
        BOTH,
        {"case": "photo", "annotator": "who", "condition": "what"},
        annotator_names=("A", "B"),
    ),
    "cells can be split into ties": means(SPLIT, [[[["a", "b"], ["c"]]]], {"tie_separator": "|"}),
    "integers read as written": means(
        {"case": [10, 2, 10], "annotator": [1, 1, 2], "label": [1, 0, 0]},
        [[[["dog"]], [["cat"]]], [[["cat"]]]],
        {"conditions": ["cat", "dog"]},
        case_names=("10", "2"),
        annotator_names=("1", "2"),
    ),
}


@pytest.mark.parametrize("name", MEANINGS)
def test_what_a_table_of_any_library_means(name: str) -> None:
    columns, rankings, options, known = MEANINGS[name]
    for library in LIBRARIES:
        said = Study.from_long(library(columns), **options)
        assert said.to_rankings() == rankings
        found = {what: getattr(said, what) for what in known}
        assert {what: value.tolist() if hasattr(value, "tolist") else value for what, value in found.items()} == known


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
    with pytest.raises(DissensusError, match="rank is not a positive number"):
        Study.from_long(pd.DataFrame({**BASE, "rank": [1, np.nan]}))


def test_a_rank_decides_unless_the_confidence_is_asked_for() -> None:
    table = pl.DataFrame({**long("xx", "AA", condition="ab"), "rank": [1, 2], "confidence": [1, 2]})
    assert Study.from_long(table).to_rankings() == [[[["a"], ["b"]]]]
    assert Study.from_long(table, confidence="confidence").to_rankings() == [[[["b"], ["a"]]]]
    with pytest.raises(DissensusError, match="both asked for"):
        Study.from_long(table, confidence="confidence", rank="rank")


# The twin -----------------------------------------------------------------------------------------------


def naive(rows: list[Row], order: str) -> dict[str, dict[tuple[Any, Any], list[list[str]]]]:
    """Build rankings by hand: case > (annotator, annotation) > blocks, all in order of appearance."""
    found: dict[str, dict[tuple[Any, Any], list[list[str]]]] = {}
    for row in rows:
        found.setdefault(row["case"], {})
        if row["annotator"] is None and row["annotation"] is None:
            continue
        found[row["case"]].setdefault((row["annotator"], row["annotation"]), [])
    for case, rankings in found.items():
        for who in rankings:
            mine = [row for row in rows if row["case"] == case and (row["annotator"], row["annotation"]) == who]
            stated = [row for row in mine if row["condition"] is not None and row[order]]
            values = sorted({row[order] for row in stated}, reverse=order == "confidence")
            rankings[who] = [sorted(row["condition"] for row in stated if row[order] == v) for v in values]
    return found


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
def test_tables_build_what_dictionaries_build(order: str, data: st.DataObject) -> None:
    rows = data.draw(long_rows(order))
    texts = dict.fromkeys(("case", "annotator", "condition"), pl.String)
    said = Study.from_long(pl.DataFrame(rows, schema_overrides={**texts, "annotation": pl.Int64}))
    expected = naive(rows, order)
    assert said.case_names == tuple(expected)
    assert said.to_rankings() == [list(rankings.values()) for rankings in expected.values()]
    names = [None if code < 0 else said.annotator_names[code] for code in said.annotators]
    assert names == [who for rankings in expected.values() for who, _ in rankings]


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


@pytest.mark.parametrize(
    ("changes", "problem", "got", "where"),
    [
        ({"rank": [1, 0]}, "rank is not a positive number", "0", "data row 2, case 'y', annotator 'B'"),
        ({"rank": [1, -2]}, "rank is not a positive number", "-2", "data row 2, case 'y', annotator 'B'"),
        ({"rank": [1, float("nan")]}, "rank is not a positive number", "nan", "data row 2"),
        ({"rank": [1, float("inf")]}, "rank is not a positive number", "inf", "data row 2"),
        ({"rank": [1, None]}, "rank is not a positive number", "nothing", "data row 2"),
        ({"rank": ["1", "first"]}, "rank is not a number", "'first'", "data row 2"),
        ({"rank": [[1], [2]]}, "holds more than one value per row", "[1]", ""),
        ({"rank": [1, 1], "condition": ["a", None]}, "a rank but no condition", "1", "data row 2"),
        ({"confidence": [1, -2]}, "confidence is not a number, zero or more", "-2", "data row 2"),
        ({"confidence": [1, float("nan")]}, "confidence is not a number", "nan", "data row 2"),
        ({"confidence": ["1", "high"]}, "confidence is not a number", "'high'", "data row 2"),
        ({"confidence": [1, 1], "condition": ["a", None]}, "a confidence but no condition", "1", "data row 2"),
        ({"weight": [1, -1]}, "weight is not a finite number", "-1", "data row 2"),
        ({"weight": [1, float("nan")]}, "weight is not a finite number", "nan", "data row 2"),
        ({"case": ["x", None]}, "a row has no case", "nothing", "data row 2, annotator 'B'"),
        ({"case": [1.0, float("nan")]}, "case of a row is not a name", "nan", "data row 2"),
        ({"annotator": ["A", None]}, "a row has no annotator", "", "data row 2, case 'y'"),
        ({"condition": [["a"], ["b"]]}, "holds more than one value per row", "['a']", ""),
        ({"group": ["p", None]}, "a case has no group", "", "data row 2"),
        ({"condition": [1, 2]}, "integer labels need a list of conditions", "'1', '2'", ""),
        ({"condition": [1, -1]}, "integer labels need a list of conditions", "'-1', '1'", ""),
        ({"condition": ["0.0", "1.0"]}, "integer labels need a list of conditions", "'0.0', '1.0'", ""),
        ({"unranked": ["below", "above"]}, "'unranked' must be one word", "'above'", ""),
    ],
)
def test_wrong_values_say_what_was_got_and_where(
    changes: dict[str, list[Any]], problem: str, got: str, where: str
) -> None:
    with pytest.raises(DissensusError, match=problem) as caught:
        Study.from_long(pl.DataFrame({**BASE, **changes}, strict=False))
    assert got in caught.value.got
    assert caught.value.where.startswith(where)


@pytest.mark.parametrize("role", ["weight", "group", "case_weight"])
def test_what_belongs_to_a_ranking_or_case_must_not_change_within_it(role: str) -> None:
    columns = {**long("xx", "AA", condition="ab"), role: ["p", "q"] if role == "group" else [1, 2]}
    problem = r"changes within one (ranking|case)[^$]*data row 2, case 'x', annotator 'A'"
    with pytest.raises(DissensusError, match=problem):
        Study.from_long(pl.DataFrame(columns))


def test_integer_labels_are_names_first_and_codes_only_if_none_is_a_name() -> None:
    table = pl.DataFrame({**BASE, "condition": [1, 2]})
    assert Study.from_long(table, ["2", "1"]).to_rankings() == [[[["1"]]], [[["2"]]]]
    for labels, names, unknown in (([1, 2], "23", "1"), ([1, 2], ("cat", "dog"), "2"), ([0, -1], ("cat", "dog"), "-1")):
        with pytest.raises(DissensusError, match=f"unknown condition '{unknown}'"):
            Study.from_long(pl.DataFrame({**BASE, "condition": labels}), list(names))


TWICE = {**long("xyy", "ABB", condition="aaa"), "rank": [1, 1, 2]}
EMPTY: Columns = {"case": [], "condition": []}


@pytest.mark.parametrize(
    ("columns", "options", "problem"),
    [
        (TWICE, {}, "'a' is mentioned twice by[^$]*case 'y', annotator 'B'[^$]*annotation column"),
        (
            {**BASE, "condition": ["Eczema", "Eczma"]},
            {"conditions": ["Eczema", "Tinea"]},
            r"unknown condition 'Eczma'[^$]*data row 2, case 'y', annotator 'B'[^$]*did you mean 'Eczema'\?",
        ),
        (
            {"case": ["x"], "dx": ["a"]},
            {},
            "no condition column[^$]*'condition'[^$]*columns 'case', 'dx'[^$]*--column condition=NAME",
        ),
        (BASE, {"case": "cases"}, r"no column 'cases' for the case[^$]*did you mean 'case'\?"),
        (EMPTY, {}, "the table has no rows"),
        ({**EMPTY, "rank": []}, {}, "the table has no rows"),
        (BASE, {"tie_separator": ""}, "tie separator is empty"),
        ({"case": ["x", None], "condition": ["a", "b"]}, {}, "a row has no case"),  # and is no declaration
    ],
)
def test_what_is_wrong_with_a_table_is_said(columns: Columns, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(DissensusError, match=problem):
        Study.from_long(pl.DataFrame(columns), **options)


def test_what_is_no_table_or_mixes_types_is_refused() -> None:
    for frame in (pl.LazyFrame(BASE), [1, 2], None, "table.csv"):
        with pytest.raises(DissensusError, match=f"this is not a table[^$]*{type(frame).__name__}"):
            Study.from_long(frame)  # type: ignore[arg-type]
    with pytest.raises(DissensusError, match=r"column 'case' mixes different types[^$]*astype\(str\)"):
        Study.from_long(pd.DataFrame({"condition": ["a", "b"], "case": ["x", 1]}))
