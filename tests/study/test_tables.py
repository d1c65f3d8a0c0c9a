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

from dissensus import Annotations, DissensusError
from dissensus.study.canonical import long_table
from dissensus.study.tables import build_from_table
from strategies import studies

Columns = Mapping[str, list[Any]]
Row = dict[str, Any]

LIBRARIES: dict[str, Callable[[Any], Any]] = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": pa.table,
}


@pytest.fixture(params=sorted(LIBRARIES))
def frame(request: pytest.FixtureRequest) -> Callable[[Columns], Any]:
    return LIBRARIES[request.param]


def long(case: str, annotator: str, **more: str) -> dict[str, list[Any]]:
    """Write columns as words: one letter per row, '-' for nothing."""
    columns = {"case": case, "annotator": annotator, **more}
    return {role: [None if value == "-" else value for value in words] for role, words in columns.items()}


# What a table means -------------------------------------------------------------------------------------


def test_equal_ranks_are_ties_and_gaps_do_not_matter(frame: Callable[[Columns], Any]) -> None:
    columns = long("xxxxy", "AAABA", condition="adcba")
    said = Annotations.from_long(frame({**columns, "rank": [3, 1, 7, 2, 5]}))
    same = Annotations.from_long(frame({**columns, "rank": [2, 1, 3, 1, 1]}))
    assert said == same
    assert said.to_rankings() == [[[["d"], ["a"], ["c"]], [["b"]]], [[["a"]]]]
    tied = Annotations.from_long(frame({**columns, "rank": [1, 1, 7, 2, 5]}))
    assert tied.to_rankings()[0][0] == [["a", "d"], ["c"]]


def test_higher_confidence_is_better_and_none_is_not_mentioned(frame: Callable[[Columns], Any]) -> None:
    columns = {**long("xxxxx", "AAAAB", condition="abcde"), "confidence": [1.0, 5.0, 0.0, 5.0, None]}
    said = Annotations.from_long(frame(columns))
    assert said.to_rankings() == [[[["b", "d"], ["a"]], []]]
    assert said.conditions == ("a", "b", "c", "d", "e")


def test_what_was_not_stated_is_noted() -> None:
    columns = {**long("xxx", "AAA", condition="abc"), "confidence": [1.0, 0.0, None]}
    (note,) = build_from_table(pl.DataFrame(columns), None)[1]
    assert (note.count, note.action) == (2, "kept as not mentioned")


def test_without_rank_or_confidence_all_conditions_of_an_annotator_are_tied(
    frame: Callable[[Columns], Any],
) -> None:
    said = Annotations.from_long(frame(long("xxx", "ABA", condition="aba".replace("b", "c")[:2] + "b")))
    assert said.to_rankings() == [[[["a", "b"]], [["c"]]]]


def test_without_annotators_and_ranks_every_row_is_an_opinion(frame: Callable[[Columns], Any]) -> None:
    said = Annotations.from_long(frame({"case": ["x", "x", "y"], "condition": ["a", "a", "b"]}))
    assert said.to_rankings() == [[[["a"]], [["a"]]], [[["b"]]]]
    assert said.annotator_names == ()


def test_without_annotators_but_with_ranks_a_case_is_one_ranking(frame: Callable[[Columns], Any]) -> None:
    said = Annotations.from_long(frame({"case": ["x", "x", "y"], "condition": ["a", "b", "b"], "rank": [2, 1, 1]}))
    assert said.to_rankings() == [[[["b"], ["a"]]], [[["b"]]]]


def test_an_annotation_column_tells_rankings_of_one_annotator_apart(frame: Callable[[Columns], Any]) -> None:
    columns = {**long("xxx", "AAA", condition="aab"), "round": [1, 2, 2], "rank": [1, 1, 2]}
    said = Annotations.from_long(frame(columns))
    assert said.to_rankings() == [[[["a"]], [["a"], ["b"]]]]
    assert said.annotators.tolist() == [0, 0]


def test_a_ranking_without_a_weight_counts_once() -> None:
    table = pl.DataFrame({"case": ["x", "y"], "condition": ["a", "b"], "weight": [0.5, None]})
    assert Annotations.from_long(table).weights.tolist() == [0.5, 1]


def test_weights_and_groups_are_kept(frame: Callable[[Columns], Any]) -> None:
    columns = {
        **long("xxy", "ABA", condition="aba"),
        "weight": [0.5, 2.0, 1.0],
        "patient": ["p", "p", "q"],
        "case_weight": [3.0, 3.0, 1.0],
    }
    said = Annotations.from_long(frame(columns))
    assert said.weights.tolist() == [0.5, 2, 1]
    assert said.groups == ("p", "q")
    assert said.case_weights.tolist() == [3, 1]


def test_rows_without_a_condition_are_abstentions_and_a_case_alone_is_unannotated(
    frame: Callable[[Columns], Any],
) -> None:
    said = Annotations.from_long(frame(long("xxyz", "AB-A", condition="a---")))
    assert said.to_rankings() == [[[["a"]], []], [], [[]]]
    assert said.unannotated == ("y", "z")


def test_usual_names_of_columns_are_found_and_others_can_be_given(frame: Callable[[Columns], Any]) -> None:
    columns = long("xy", "AB", condition="ab")
    usual: Columns = {"Image ID": columns["case"], "Reader": columns["annotator"], "Diagnosis": columns["condition"]}
    odd = {"photo": columns["case"], "who": columns["annotator"], "what": columns["condition"]}
    expected = Annotations.from_long(frame(columns))
    assert Annotations.from_long(frame(usual)) == expected
    given = Annotations.from_long(frame(odd), case="photo", annotator="who", condition="what")
    assert given == expected


def test_cells_can_be_split_into_ties(frame: Callable[[Columns], Any]) -> None:
    columns: Columns = {"case": ["x", "x"], "annotator": ["A", "A"], "label": ["a | b", "c"], "rank": [1, 2]}
    said = Annotations.from_long(frame(columns), tie_separator="|")
    assert said.to_rankings() == [[[["a", "b"], ["c"]]]]


def test_integer_cases_and_labels_read_as_written(frame: Callable[[Columns], Any]) -> None:
    columns: Columns = {"case": [10, 2, 10], "annotator": [1, 1, 2], "label": [1, 0, 0]}
    said = Annotations.from_long(frame(columns), ["cat", "dog"])
    assert said.case_names == ("10", "2")
    assert said.annotator_names == ("1", "2")
    assert said.to_rankings() == [[[["dog"]], [["cat"]]], [[["cat"]]]]


def test_integers_that_a_missing_value_turned_into_floats_are_integers_again() -> None:
    table = pd.DataFrame({"case": [1, 1, 2], "annotator": ["A", "B", "A"], "label": [1, None, 0]})
    said = Annotations.from_long(table, ["cat", "dog"])
    assert said.to_rankings() == [[[["dog"]], []], [[["cat"]]]]


def test_the_index_of_a_pandas_frame_does_not_matter() -> None:
    table = pd.DataFrame(long("xy", "AB", condition="ab"), index=[7, 7])
    assert Annotations.from_long(table) == Annotations.from_long(table.reset_index(drop=True))


def test_categories_are_names() -> None:
    columns = long("xy", "AB", condition="ab")
    table = pd.DataFrame(columns).astype("category")
    assert Annotations.from_long(table) == Annotations.from_long(pl.DataFrame(columns))


def test_a_rank_decides_unless_the_confidence_is_asked_for() -> None:
    table = pl.DataFrame({**long("xx", "AA", condition="ab"), "rank": [1, 2], "confidence": [1, 2]})
    assert Annotations.from_long(table).to_rankings() == [[[["a"], ["b"]]]]
    assert Annotations.from_long(table, confidence="confidence").to_rankings() == [[[["b"], ["a"]]]]
    with pytest.raises(DissensusError, match="both asked for"):
        Annotations.from_long(table, confidence="confidence", rank="rank")


def test_a_frame_is_not_aliased() -> None:
    weights = np.array([1.0, 2.0])
    table = pd.DataFrame({"case": ["x", "y"], "condition": ["a", "b"], "weight": weights}, copy=False)
    said = Annotations.from_long(table)
    weights[:] = 9
    table["weight"] = 9.0
    assert said.weights.tolist() == [1, 2]


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
    schema = {
        "case": pl.String,
        "annotator": pl.String,
        "annotation": pl.Int64,
        "condition": pl.String,
        order: pl.Float64,
    }
    said = Annotations.from_long(pl.DataFrame(rows, schema=schema))
    expected = naive(rows, order)
    assert said.case_names == tuple(expected)
    assert said.to_rankings() == [list(rankings.values()) for rankings in expected.values()]
    names = [None if code < 0 else said.annotator_names[code] for code in said.annotators]
    assert names == [who for rankings in expected.values() for who, _ in rankings]


@given(data=st.data())
def test_libraries_agree(data: st.DataObject) -> None:
    rows = data.draw(long_rows("confidence"))
    columns = {role: [row[role] for row in rows] for role in rows[0]}
    typed = {
        "case": pa.string(),
        "annotator": pa.string(),
        "annotation": pa.int64(),
        "condition": pa.string(),
        "confidence": pa.float64(),
    }
    arrow = pa.table({role: pa.array(values, typed[role]) for role, values in columns.items()})
    from_arrow = Annotations.from_long(arrow)
    assert Annotations.from_long(pl.DataFrame(arrow)) == from_arrow
    assert Annotations.from_long(arrow.to_pandas()) == from_arrow


@given(studies(), st.randoms(use_true_random=False))
def test_the_order_of_rows_within_cases_does_not_matter(said: Annotations, rng: random.Random) -> None:
    table = long_table(said)
    rows = list(range(len(table)))
    rng.shuffle(rows)
    shuffled = build_from_table(table[rows], said.conditions)[0]
    assert sorted(shuffled.case_names) == sorted(said.case_names)
    again = shuffled.select(said.case_names)
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
        ({"condition": [1, 0]}, "integer labels need a list of conditions", "'0', '1'", ""),
        ({"condition": [1, -1]}, "integer labels need a list of conditions", "'-1', '1'", ""),
        ({"condition": ["0.0", "1.0"]}, "integer labels need a list of conditions", "'0.0', '1.0'", ""),
        ({"unranked": ["below", "above"]}, "'unranked' must be the same", "'above'", ""),
    ],
)
def test_wrong_values_say_what_was_got_and_where(
    changes: dict[str, list[Any]], problem: str, got: str, where: str
) -> None:
    with pytest.raises(DissensusError, match=problem) as caught:
        Annotations.from_long(pl.DataFrame({**BASE, **changes}, strict=False))
    assert got in caught.value.got
    assert caught.value.where.startswith(where)


def test_a_nan_that_pandas_means_as_missing_is_missing() -> None:
    said = Annotations.from_long(pd.DataFrame({**BASE, "confidence": [1, np.nan]}))
    assert said.to_rankings() == [[[["a"]]], [[]]]
    with pytest.raises(DissensusError, match="rank is not a positive number"):
        Annotations.from_long(pd.DataFrame({**BASE, "rank": [1, np.nan]}))


@pytest.mark.parametrize("role", ["weight", "group", "case_weight"])
def test_what_belongs_to_a_ranking_or_case_must_not_change_within_it(role: str) -> None:
    columns = long("xx", "AA", condition="ab")
    values: list[Any] = ["p", "q"] if role == "group" else [1, 2]
    with pytest.raises(DissensusError, match=r"changes within one (ranking|case)") as caught:
        Annotations.from_long(pl.DataFrame({**columns, role: values}))
    assert caught.value.where == "data row 2, case 'x', annotator 'A'"


def test_the_same_condition_twice_by_one_annotator_is_refused() -> None:
    columns = {**long("xyy", "ABB", condition="aaa"), "rank": [1, 1, 2]}
    with pytest.raises(DissensusError, match="'a' is mentioned twice by one annotator") as caught:
        Annotations.from_long(pl.DataFrame(columns))
    assert caught.value.where == "case 'y', annotator 'B', condition 'a'"
    assert "annotation column" in caught.value.advice


def test_an_unknown_condition_gets_a_row_and_a_suggestion() -> None:
    table = pl.DataFrame({**BASE, "condition": ["Eczema", "Eczma"]})
    with pytest.raises(DissensusError, match="unknown condition 'Eczma'") as caught:
        Annotations.from_long(table, ["Eczema", "Tinea"])
    assert caught.value.where == "data row 2, case 'y', annotator 'B'"
    assert caught.value.advice == "did you mean 'Eczema'?"


def test_integer_labels_are_names_first_and_codes_only_if_none_is_a_name() -> None:
    table = pl.DataFrame({**BASE, "condition": [1, 2]})
    assert Annotations.from_long(table, ["2", "1"]).to_rankings() == [[[["1"]]], [[["2"]]]]
    with pytest.raises(DissensusError, match="unknown condition '1'"):
        Annotations.from_long(table, ["2", "3"])
    with pytest.raises(DissensusError, match="unknown condition '2'"):
        Annotations.from_long(table, ["cat", "dog"])
    with pytest.raises(DissensusError, match="unknown condition '-1'"):
        Annotations.from_long(pl.DataFrame({**BASE, "condition": [0, -1]}), ["cat", "dog"])


def test_a_missing_column_is_named_with_what_was_found() -> None:
    with pytest.raises(DissensusError, match="the table has no condition column") as caught:
        Annotations.from_long(pl.DataFrame({"case": ["x"], "dx": ["a"]}))
    assert "'condition'" in caught.value.expected
    assert caught.value.got == "columns 'case', 'dx'"
    assert "--column condition=NAME" in caught.value.advice


def test_a_given_column_that_does_not_exist_gets_a_suggestion() -> None:
    with pytest.raises(DissensusError, match="no column 'cases' for the case") as caught:
        Annotations.from_long(pl.DataFrame(BASE), case="cases")
    assert caught.value.advice == "did you mean 'case'?"


@pytest.mark.parametrize("frame", [pl.LazyFrame(BASE), [1, 2], None, "table.csv"])
def test_what_is_no_table_is_refused(frame: Any) -> None:
    with pytest.raises(DissensusError, match="this is not a table") as caught:
        Annotations.from_long(frame)
    assert type(frame).__name__ in caught.value.got


def test_a_column_of_mixed_types_is_refused() -> None:
    with pytest.raises(DissensusError, match="column 'case' mixes different types") as caught:
        Annotations.from_long(pd.DataFrame({"condition": ["a", "b"], "case": ["x", 1]}))
    assert "astype(str)" in caught.value.advice


@pytest.mark.parametrize("columns", [{"case": [], "condition": []}, {"case": [], "condition": [], "rank": []}])
def test_a_table_without_rows_is_refused(columns: Columns) -> None:
    with pytest.raises(DissensusError, match="the table has no rows"):
        Annotations.from_long(pl.DataFrame(columns))


def test_an_empty_tie_separator_is_refused() -> None:
    with pytest.raises(DissensusError, match="tie separator is empty"):
        Annotations.from_long(pl.DataFrame(BASE), tie_separator="")


def test_a_row_that_lost_its_case_is_not_taken_for_a_declaration() -> None:
    with pytest.raises(DissensusError, match="a row has no case"):
        Annotations.from_long(pl.DataFrame({"case": ["x", None], "condition": ["a", "b"]}))
