"""Predictions of one number per case: built, read, aligned, told of, and refused where conditions are asked for."""

import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest

from dissensus import DissensusError, Predictions, Study, evaluate, read_predictions
from dissensus.metrics import TopKAccuracy
from dissensus.predictions.reader import examine_predictions

CASES = ("x", "y", "z")


def numbers(**options: Any) -> Predictions:
    return Predictions.from_numbers([2.5, -1.0, 0.0], case_names=CASES, **options)


def test_a_number_per_case_is_kept_in_the_order_of_cases_whatever_its_sign() -> None:
    said = numbers(name="A")
    assert (said.kind, said.n_cases, said.numbers.tolist()) == ("numbers", 3, [2.5, -1.0, 0.0])
    assert said.deviations is None
    assert said.select(["z", "x"]).numbers.tolist() == [0.0, 2.5]
    assert said.rename("B").numbers.tolist() == [2.5, -1.0, 0.0]
    assert pickle.loads(pickle.dumps(said)) == said
    assert repr(said).splitlines() == [
        "Predictions of 'A': numbers on 3 cases",
        "  lowest to highest     -1 to 2.5; mean 0.5",
    ]
    assert said.examples() == ("on case x: 2.5", "on case y: -1", "on case z: 0")
    assert said.notes() == ()
    surer = numbers(deviations=[1.0, 3.0, 0.5])
    assert surer.numbers.tolist() == [2.5, -1.0, 0.0]
    assert (surer.deviations is not None and surer.deviations.tolist()) == [1.0, 3.0, 0.5]
    assert surer.words(1) == "-1 (sd 3)"
    assert "standard deviation    0.5 to 3" in repr(surer)
    with pytest.raises(DissensusError, match="gives set, not numbers"):
        _ = Predictions.from_sets([["a"]]).numbers
    with pytest.raises(DissensusError, match="needs scores or rankings") as caught:
        TopKAccuracy(1).check(numbers())
    assert "mean-absolute-error" in caught.value.advice


@pytest.mark.parametrize(
    ("given", "options", "problem"),
    [
        ([1.0, np.nan], {}, "a number is not finite"),
        ([[1.0, 2.0]], {}, "numbers must be a list with one number per case"),
        (["a"], {}, "numbers must be a list with one number per case"),
        ([1.0], {"deviations": [-1.0]}, "an sd is negative"),
        ([1.0], {"deviations": [1.0, 2.0]}, "sd"),
        ([1.0], {"case_names": ["x", "y"]}, "the matrix does not fit the names"),
    ],
)
def test_what_is_not_one_finite_number_per_case_is_refused(given: Any, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(DissensusError, match=problem):
        Predictions.from_numbers(given, **options)


TABLE = pl.DataFrame({"case": CASES, "prediction": [2.5, -1.0, 0.0], "sd": [1.0, 1.0, 2.0]})
VECTOR = {"predictions": np.array([0.0, 2.5, -1.0]), "case_ids": np.array(["z", "x", "y"])}


@pytest.mark.parametrize("column", ["prediction", "number", "score", "value", "rating"])
def test_a_table_of_cases_and_numbers_is_read_as_numbers(put: Any, column: str) -> None:
    reading = examine_predictions(put(f"case_id,{column}\ny,-1\nx,2.5\nz,0\n", "a.csv"), cases=CASES)
    assert reading.predictions == numbers(name="a")
    assert [(one.name, one.role) for one in reading.receipt.columns] == [("case_id", "case"), (column, "number")]


def test_standard_deviations_vectors_and_columns_as_said_are_read(put: Any) -> None:
    for path in (put(TABLE, "a.parquet"), put(TABLE.to_dicts(), "a.jsonl")):
        assert read_predictions(path, cases=CASES) == numbers(name="a", deviations=[1.0, 1.0, 2.0])
    for path in (put(np.array([2.5, -1.0, 0.0]), "a.npy"), put(VECTOR, "a.npz"), put("2.5\n-1\n0\n", "a.txt")):
        assert read_predictions(path, cases=CASES) == numbers(name="a")
    path = put("case,stars,remark\nx,2.5,good\ny,-1,bad\nz,0,fair\n", "a.csv")
    assert read_predictions(path, cases=CASES, kind="numbers", columns={"score": "stars"}) == numbers(name="a")


def test_numbers_need_the_cases_of_the_study() -> None:
    with pytest.raises(DissensusError, match="the cases of the study and of the predictions differ"):
        numbers().align(["x", "y"])
    assert numbers().align(["z", "x", "w"], allow_missing=True).case_names == ("z", "x")


def test_numbers_about_a_study_of_conditions_are_refused_with_advice() -> None:
    said = Study.from_counts([[3, 1]], ["a", "b"])
    with pytest.raises(DissensusError, match="the study asks for conditions") as caught:
        evaluate(said, {"A": Predictions.from_numbers([1.0])})
    assert "ratings" in caught.value.advice
