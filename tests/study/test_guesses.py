"""What could be understood in two ways is refused with the choices, and read as soon as one of them is said."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dissensus import DissensusError, examine, read
from dissensus.core.files import Source
from dissensus.study.reading.format import Options
from dissensus.study.reading.guesses import columns_by_shared_labels
from dissensus.study.reading.wide import Wide
from format_examples import write_json


def refused(path: Path, **options: Any) -> DissensusError:
    with pytest.raises(DissensusError) as caught:
        read(path, **options)
    assert str(path) in caught.value.where
    return caught.value


# Numbers without a role ---------------------------------------------------------------------------------

LONG = "case,annotator,label,{}\nc1,A,x,{}\nc1,A,y,{}\nc2,A,x,{}\n"


@pytest.mark.parametrize("name", ["Rang", "votes2", "weight2", "confiance", "score"])
@pytest.mark.parametrize("numbers", [("1", "2", "1"), ("0.5", "0.25", "1"), ("0,5", "0,25", "1"), ("50 %", "", "1")])
def test_numbers_without_a_role_beside_several_rows_are_refused(put: Any, name: str, numbers: tuple[str, ...]) -> None:
    cells = [f'"{number}"' for number in numbers]
    error = refused(put(LONG.format(name, *cells)))
    assert f"the column {name!r} holds numbers and has no role" in error.problem
    for choice in ("rank", "confidence", "weight"):
        assert f"--column {choice}={name}" in error.advice
    assert f"--ignore {name}" in error.advice


def test_numbers_are_read_as_soon_as_their_role_is_said(put: Any) -> None:
    path = put(LONG.format("Rang", 2, 1, 1))
    assert read(path, columns={"rank": "Rang"}).to_rankings()[0] == [[["y"], ["x"]]]
    assert read(path, columns={"confidence": "Rang"}).to_rankings()[0] == [[["x"], ["y"]]]
    reading = examine(path, ignore=["Rang"])
    assert reading.rankings.to_rankings()[0] == [[["x", "y"]]]
    assert str(reading.receipt.columns[-1]) == "'Rang' is not used (ignored, as said)"
    assert not reading.receipt.everything_was_used


@pytest.mark.parametrize(
    "text",
    [
        "case,annotator,label,age\nc1,A,x,40\nc1,B,y,40\nc2,A,x,38\n",
        "case,annotator,label,rank,age\nc1,A,x,1,40\nc1,A,y,2,40\n",
        "case,annotator,label,site\nc1,A,x,arm\nc1,A,y,leg\n",
        ",case,annotator,label\n1,c1,A,x\n2,c1,A,y\n3,c2,A,y\n",
    ],
)
def test_what_cannot_be_an_order_is_not_refused(put: Any, text: str) -> None:
    receipt = examine(put(text)).receipt
    assert len(receipt.unused) == 1


def test_several_columns_of_numbers_are_all_named(put: Any) -> None:
    path = put("case,annotator,label,a,b\nc1,A,x,3,4\nc1,A,y,4,4\n")
    error = refused(path)
    assert "the columns 'a', 'b' hold numbers and have no role" in error.problem
    assert "--ignore a --ignore b" in error.advice
    assert read(path, columns={"rank": "a"}).to_rankings() == [[[["x"], ["y"]]]]


def test_a_column_to_ignore_must_exist(put: Any, tmp_path: Path) -> None:
    path = put("case,annotator,label,age\nc1,A,x,40\n")
    error = refused(path, ignore=["ages"])
    assert error.problem == "there is no column 'ages' to ignore"
    assert error.advice == "did you mean 'age'?"
    refused(write_json(tmp_path / "a.json", [[[["x"]]]]), ignore=["age"])


# Two columns for one role -------------------------------------------------------------------------------


def test_two_columns_for_one_role_that_differ_are_refused(put: Any) -> None:
    path = put("image,item,annotator,label\np1,i1,A,x\np1,i2,A,y\np2,i2,A,x\n")
    error = refused(path)
    assert error.problem == "two columns could be the case"
    assert "--column case=image" in error.advice
    assert read(path, columns={"case": "image"}).case_names == ("p1", "p2")
    labels = put("case,annotator,class,diagnosis\nc1,A,x,y\nc2,A,x,z\n")
    assert refused(labels).problem == "two columns could be the condition"
    scores = put("case,rater,rating,toxicity_score\nc1,A,1,2\nc1,B,1,3\n")
    with pytest.raises(DissensusError, match="two columns could be the score"):
        examine(scores)


@pytest.mark.parametrize(
    ("text", "case", "other"),
    [
        ("case,image,annotator,label\nc1,p1,A,x\nc1,p2,B,y\n", "case", "image"),
        ("id,image,annotator,label\n1,p1,A,x\n2,p1,B,y\n", "image", "id"),
        ("image,item,annotator,label\np1,i1,A,x\np2,i2,A,y\np1,i1,B,y\n", "item", "image"),
    ],
)
def test_the_roles_own_name_a_number_of_the_row_and_the_same_groups_settle_it(
    put: Any, text: str, case: str, other: str
) -> None:
    columns = {column.name: column for column in examine(put(text)).receipt.columns}
    assert columns[case].role == "case"
    assert str(columns[other]) == f"{other!r} is not used ({case!r} is the case)"


# Wide tables --------------------------------------------------------------------------------------------

READERS = "case,Ann,Bo,Cy{}\nc1,nevus,nevus,melanoma{}\nc2,melanoma,acne,acne{}\nc3,nevus,melanoma,nevus{}\n"


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (("age", "41", "38", "60"), "'age' holds numbers"),
        (("size", '"1,5"', '"2,0"', ""), "'size' holds numbers"),
        (("seen", "2024-05-01", "2024-05-02", "2024-06-01"), "'seen' holds dates"),
        (("seen", "1.5.2024", "2.5.2024 10:00", "1.6.2024"), "'seen' holds dates"),
        (("sex", "f", "m", "f"), "'sex' shares no labels with 'Ann', 'Bo', 'Cy'"),
        (("comment", "blurred", "see again in a year", ""), "'comment' shares no labels"),
        (("ground truth", "nevus", "acne", "nevus"), "'ground truth' is called like a reference"),
    ],
)
def test_a_column_that_is_no_annotator_is_named(put: Any, cells: tuple[str, ...], reason: str) -> None:
    path = put(READERS.format(*(f",{cell}" for cell in cells)))
    error = refused(path)
    assert error.problem == "the columns do not look like annotators of one question"
    assert reason in error.got
    assert "'Ann' " not in error.got
    assert f"--ignore {cells[0]}" in error.advice
    assert "--format wide" in error.advice
    assert read(path, ignore=[cells[0]]).annotator_names == ("Ann", "Bo", "Cy")
    assert cells[0] in read(path, "wide").annotator_names


@pytest.mark.parametrize("text", ["case,age,sex\nc1,old,f\nc2,young,m\n", "case,Ann,Bo\nc1,x,y\nc2,z,w\n"])
def test_two_columns_that_share_nothing_are_both_named(put: Any, text: str) -> None:
    error = refused(put(text))
    assert all(repr(name) in error.got for name in text.split("\n")[0].split(",")[1:])


def test_a_single_column_is_refused_with_both_choices(put: Any) -> None:
    path = put("case,sex\nc1,f\nc2,m\n")
    error = refused(path)
    assert "--column condition=sex" in error.advice
    assert "--format wide" in error.advice
    assert read(path, columns={"condition": "sex"}).annotator_names == ()
    assert read(path, "wide").annotator_names == ("sex",)
    assert read(put("case,Ann\nc1,x>y\nc2,z\n")).annotator_names == ("Ann",)


@pytest.mark.parametrize("cell", ["\"['x', 'y']\"", '"{""x"": 0.5}"', "[]", '"[1, 2]"'])
def test_lists_in_cells_are_refused_even_if_the_format_is_said(put: Any, cell: str) -> None:
    path = put(f"case,labels,weights\nc1,{cell},{cell}\n")
    assert "cells hold lists or objects" in refused(path, format="wide").problem
    assert read(put("case,Ann,Bo\nc1,[sic] x,[sic] x\n")).n_conditions == 1


def test_labels_of_the_given_conditions_need_no_other_witness(put: Any) -> None:
    path = put("case,Ann,Bo\nc1,x,y\nc2,z,w\n")
    assert read(path, conditions=["w", "x", "y", "z"]).n_rankings == 4
    error = refused(put("case,Ann,sex\nc1,x,f\nc2,z,m\n"), conditions=["x", "z"])
    assert error.got == "'sex' holds none of the given conditions"


def test_a_first_column_that_speaks_like_the_others_is_no_case_column(put: Any) -> None:
    path = put("Ann,Bo,Cy\nx,x,y\ny,z,z\n")
    error = refused(path)
    assert error.problem == "the table has no case column"
    assert "'Ann', holds labels that 'Bo', 'Cy' uses" in error.got
    assert read(path, columns={"case": "Ann"}).case_names == ("x", "y")


# Wide tables as people have them ------------------------------------------------------------------------


def is_taken(table: pl.DataFrame) -> bool:
    try:
        Wide().parse(Source(Path("a.csv"), "table", table), Options())
    except DissensusError as error:
        assert "annotators of one question" in error.problem  # noqa: PT017 - either outcome is counted
        return False
    return True


def wide_table(rng: np.random.Generator, sizes: tuple[int, int, int], agreement: float, missing: float) -> pl.DataFrame:
    """Simulate readers who name the truth or something else, frequent conditions more often than rare ones."""
    n_cases, n_readers, n_conditions = sizes
    shares = 1 / np.arange(1, n_conditions + 1)
    shares /= shares.sum()
    truth = rng.choice(n_conditions, n_cases, p=shares)
    other = rng.choice(n_conditions, (n_cases, n_readers), p=shares)
    said = np.where(rng.random((n_cases, n_readers)) < agreement, truth[:, None], other)
    silent = rng.random((n_cases, n_readers)) < missing
    columns = {
        f"reader {reader}": [
            None if s else f"condition {c}" for s, c in zip(silent[:, reader], said[:, reader], strict=True)
        ]
        for reader in range(n_readers)
    }
    return pl.DataFrame(
        {"case": [f"c{case}" for case in range(n_cases)], **columns}, schema_overrides=dict.fromkeys(columns, pl.String)
    )


@pytest.mark.parametrize(("n_cases", "most_refused"), [(10, 0.03), (20, 0.005), (100, 0.0)])
def test_wide_tables_of_real_studies_are_taken(n_cases: int, most_refused: float) -> None:
    rng = np.random.default_rng(n_cases)
    designs = list(product((3, 5, 10), (2, 5, 20, 100, 400), (0.4, 0.6, 0.8), (0.0, 0.3)))
    taken = [
        is_taken(wide_table(rng, (n_cases, readers, conditions), agreement, missing))
        for readers, conditions, agreement, missing in designs * (1 if n_cases == 100 else 2)
    ]
    assert 1 - np.mean(taken) <= most_refused


def test_a_single_label_in_common_does_not_make_an_annotator() -> None:
    remarks = pl.Series([*(f"remark {number}" for number in range(30)), "a"])
    heard = {"Ann": pl.Series([*"abab"]), "Bo": pl.Series([*"baab"]), "comment": remarks}
    assert columns_by_shared_labels(heard, set()) == [["Ann", "Bo"], ["comment"]]


@pytest.mark.parametrize("added", ["age", "sex", "comment"])
def test_a_column_of_something_else_is_always_found(added: str) -> None:
    rng = np.random.default_rng(3)
    others = {
        "age": lambda case: str(20 + case),
        "sex": lambda case: "fm"[case % 2],
        "comment": lambda case: f"remark number {case}",
    }
    for conditions in (2, 20, 400):
        table = wide_table(rng, (40, 3, conditions), 0.6, 0.1)
        column = pl.Series(added, [others[added](case) for case in range(40)])
        assert is_taken(table)
        assert not is_taken(table.with_columns(column))


# Codes --------------------------------------------------------------------------------------------------

NAMES = ["Melanoma", "Nevus", "Acne"]


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("case,Melanoma,Nevus,Acne\nc1,1,0,1\n", "called like conditions: 'Melanoma', 'Nevus', 'Acne'"),
        ("case,melanoma,other\nc1,1,2\n", "called like conditions: 'melanoma'"),
        ("case,erythema,scaling\nc1,1,0\nc2,0,0\n", "nothing but 0 and 1, although there are 3 conditions"),
        ("case,Ann,Bo,gold\nc1,1,0,2\n", "called like a reference, not like an annotator: 'gold'"),
    ],
)
def test_codes_that_may_be_findings_are_refused(put: Any, text: str, got: str) -> None:
    path = put(text)
    error = refused(path, conditions=NAMES)
    assert error.problem == "the columns may be findings rather than annotators"
    assert got in error.got
    assert "--format cleanlab" in error.advice
    assert "long form" in error.advice
    assert read(path, "cleanlab", conditions=NAMES).n_conditions == 3


def test_codes_of_annotators_are_taken(put: Any) -> None:
    assert read(put("case,Ann,Bo\nc1,0,1\nc2,2,1\n"), conditions=NAMES).n_rankings == 4
    assert read(put("case,Ann,Bo\nc1,0,1\n"), conditions=NAMES[:2]).n_rankings == 2
    assert read(put(",Ann,Bo\n0,0,1\n1,2,1\n"), conditions=NAMES).case_names == ("0", "1")


def test_a_first_column_that_may_hold_codes_is_no_case_column(put: Any) -> None:
    path = put("photo,Ann,Bo\n0,0,1\n1,2,1\n")
    assert refused(path, conditions=NAMES).problem == "the table has no case column"
    assert read(path, conditions=NAMES, columns={"case": "photo"}).case_names == ("0", "1")
    assert read(put("photo,Ann,Bo\n7,0,1\n8,2,1\n"), conditions=NAMES).case_names == ("7", "8")
