"""Predictions: how they are built, selected, aligned and told; of conditions, of findings, and of numbers per case."""

import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest

from dissensus import DissensusError, Predictions, Study, evaluate, read_predictions
from dissensus.metrics import TopKAccuracy
from dissensus.predictions.lists import predictions_of_finding
from dissensus.predictions.reader import examine_predictions
from refusals import refused

NAMES = ["Eczema", "Psoriasis", "Tinea"]
SCORES = [[0.2, 0.7, 0.1], [0.4, 0.2, 0.4]]
SETS: list[Any] = [
    [["Tinea", "Eczema"], []],
    [{"Tinea", "Eczema"}, set()],
    [[2, 0], []],
    [[True, False, True], [False, False, False]],
    np.array([[1, 0, 1], [0, 0, 0]]),
    np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]),
]


def scores() -> Predictions:
    return Predictions.from_scores(SCORES, NAMES, case_names=["c1", "c2"], name="A")


def long(columns: dict[str, Any], conditions: Any = None, **options: Any) -> Predictions:
    frame = {"case": ["c1", "c1", "c2"], "condition": ["Tinea", "Eczema", "Tinea"], **columns}
    return Predictions.from_long(pl.DataFrame(frame, strict=False), conditions, **options)


def test_entries_are_sorted_best_first_and_rankings_count_blocks_to_the_end() -> None:
    said = scores()
    assert said.codes.tolist() == [1, 0, 2, 0, 2, 1]
    assert said.values.tolist() == [0.7, 0.2, 0.1, 0.4, 0.4, 0.2]
    assert (said.has_tie.tolist(), said.complete) == ([False, True], True)
    ranked = Predictions.from_rankings([["Tinea", ["Eczema", "Psoriasis"]], [["Psoriasis"]], []], NAMES)
    assert ranked.values.tolist() == [2, 1, 1, 1]
    assert ranked.to_scores().tolist() == [[1, 1, 2], [0, 1, 0], [0, 0, 0]]
    assert Predictions.from_rankings([[2, [0, 1]], [np.int64(1)], []], NAMES) == ranked
    assert Predictions.from_rankings([[1, 0]], 3).conditions == ("0", "1", "2")


@pytest.mark.parametrize("sets", SETS)
def test_sets_come_as_lists_or_matrix(sets: Any) -> None:
    said = Predictions.from_sets(sets, NAMES)
    assert (said.to_lists(), said.entries_per_case.tolist()) == ([[["Eczema", "Tinea"]], []], [2, 0])


@pytest.mark.parametrize(
    ("columns", "options", "lists"),
    [
        ({"case": ["c"] * 3, "condition": NAMES, "rank": [7, 3, 7]}, {}, [[["Psoriasis"], ["Eczema", "Tinea"]]]),
        ({"case": [*"xyx"], "condition": [*"aab"], "score": [0.1, 1, 0.9]}, {}, [[["b"], ["a"]], [["a"]]]),
        ({"case": [*"xxy"], "condition": ["a", "b", None]}, {"kind": "set"}, [[["a", "b"]], []]),
        ({"case": ["c"] * 3, "condition": [*"abc"], "logit": [-1.0, 0.0, 2.0]}, {}, [[["c"], ["b"], ["a"]]]),
        ({"score": [0.9, 0.0, 1.0]}, {"conditions": NAMES}, [[["Tinea"]], [["Tinea"]]]),  # not listed is 0
        ({"score": [0.1, 0.9, 1], "rank": [1, 2, 1]}, {"kind": "ranking"}, [[["Tinea"], ["Eczema"]], [["Tinea"]]]),
        ({"score": [0.1, 0.9, 1], "rank": [1, 2, 1]}, {"kind": "scores"}, [[["Eczema"], ["Tinea"]], [["Tinea"]]]),
    ],
)
def test_rows_are_ranks_scores_sets_or_logits(columns: dict[str, Any], options: dict[str, Any], lists: Any) -> None:
    said = long(columns, **options)
    assert (said.to_lists(), said.complete) == (lists, "logit" in columns)
    assert said.case_names == tuple(dict.fromkeys(columns.get("case", ["c1", "c2"])))


def test_wide_integers_0_and_1_and_booleans_are_sets_and_a_hundred_thousand_conditions_stay_compact() -> None:
    frame = pl.DataFrame({"case": ["c1"], "a": [1], "b": [0]})
    for own, kind in ((frame, "set"), (frame.with_columns(pl.col("a").cast(pl.Float64)), "scores")):
        assert Predictions.from_wide(own).kind == kind
    assert Predictions.from_wide(frame, kind="scores").kind == "scores"
    assert Predictions.from_wide(frame.with_columns(pl.col("a", "b").cast(pl.Boolean))).to_lists() == [[["a"]]]
    codes = np.arange(1000) * 97
    rows = {"case": np.arange(1000) // 10, "condition": [f"k{code}" for code in codes], "score": 1.0 + codes}
    said = long(rows, [f"k{code}" for code in range(100_000)])
    assert said.entries_per_case.tolist() == [10] * 100


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"kind": "guess"}, "kind is not understood"),
    ({"case_names": ("c1", "c1")}, "must all be different"),
    ({"offsets": [0, 3]}, "number of offsets"),
    ({"codes": [1, 0, 2]}, "number of codes"),
    ({"values": [1.0]}, "number of values"),
    ({"codes": [1, 0, 2, 0, 9, 1]}, "out of range"),
    ({"codes": [1, 0, 2, 2, 0, 1]}, "not in order"),
    ({"values": [0.7, 0.2, np.nan, 0.4, 0.4, 0.2]}, "not a finite number"),
    ({"offsets": [0, 2, 6]}, "not in order"),
    ({"codes": [1, 0, 2], "values": [0.7, 0.2, 0.1], "offsets": [0, 2, 3]}, "must list every condition"),
]


@pytest.mark.parametrize(("change", "problem"), CHANGES)
def test_the_constructor_refuses_what_cannot_be(change: dict[str, Any], problem: str) -> None:
    parts = {name: getattr(scores(), name) for name in Predictions.__dataclass_fields__}
    refused(problem, Predictions, **{**parts, **change})


# What they do -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cases", [["c2"], [1], slice(1, None), np.array([False, True])])
def test_select_takes_names_positions_slices_and_masks(cases: Any) -> None:
    said, nothing = scores().select(cases), scores().select([])
    assert (said.case_names, said.to_scores().tolist()) == (("c2",), [SCORES[1]])
    assert (len(nothing), nothing.notes(), "0 cases" in repr(nothing)) == (0, (), True)


def test_align_adds_conditions_leaves_out_unlisted_ones_and_takes_common_cases() -> None:
    said = scores().align(["c2", "c1"], ["Tinea", "Eczema", "Psoriasis"])
    assert (said.case_names, said.codes.tolist()[:3]) == (("c2", "c1"), [0, 1, 2])
    assert said.to_scores().tolist() == [[0.4, 0.4, 0.2], [0.1, 0.2, 0.7]]
    more = Predictions.from_rankings([["b", "a"]]).align(conditions=["c", "a", "b"])
    assert (more.to_lists(), more.n_conditions) == ([[["b"], ["a"]]], 3)
    assert Predictions.from_sets([["a"]], ["a", "b"]).align(conditions=["a"]).n_conditions == 1
    assert scores().align(["c0", "c2", "c1"], allow_missing=True).case_names == ("c2", "c1")


def test_predictions_are_read_only_values_that_are_equal_by_content() -> None:
    given = np.array(SCORES)
    said = Predictions.from_scores(given, NAMES, case_names=["c1", "c2"], name="A")
    given[:] = 0
    assert said == scores() == pickle.loads(pickle.dumps(said))
    assert said not in (scores().rename("B"), scores().select([1, 0]), "scores")
    for one in (said, pickle.loads(pickle.dumps(said))):
        with pytest.raises(ValueError, match="read-only"):
            one.values[0] = 1


def test_repr_and_notes_tell_what_is_inside() -> None:
    text = repr(Predictions.from_sets([["a"], [], ["a", "b"]], ["a", "b", "c"], name="sets"))
    for words in ("'sets': 3 sets over 3 conditions", "2 of 3; 0 to 2 per case", "33.3 % of cases"):
        assert words in text
    assert all(words in repr(scores()) for words in ("scores on 2 cases", "50.0 % of cases"))
    assert scores().notes() == ()


@pytest.mark.parametrize(
    ("said", "notes"),
    [
        (Predictions.from_scores([[1.0, 2.0], [0.5, 0.5]]), {"cases whose scores do not sum to 1": 1}),
        (Predictions.from_scores([[0.5, 0.5], [0.3, 0.7]]), {"cases with the same score for every condition": 1}),
        (Predictions.from_scores([[-1.0, 2.0], [1.0, 0.5]]), {"cases with negative scores": 1}),
        (Predictions.from_scores([[1.0, 0.0]]), {"cases with scores of 0 and 1 only": 1}),
        (Predictions.from_rankings([[], ["a"]]), {"empty rankings": 1}),
        (Predictions.from_sets([[], ["a"], ["a", "b"]]), {"empty sets": 1, "sets of all conditions": 1}),
        (
            long({"score": [0.5, 0.2, 0.4]}, NAMES),
            {"conditions without a score": 1, "cases on which some of the other conditions have no score": 1},
        ),
    ],
)
def test_notes_count_what_deserves_a_look(said: Predictions, notes: dict[str, int]) -> None:
    found = {note.found: note.count for note in said.notes()}
    assert found | notes == found
    assert len(found) == len(notes) or said.complete


# Findings -----------------------------------------------------------------------------------------------

FINDINGS, CASES = ("AF", "ST"), ("x", "y", "z")
OF_FINDINGS = [[0.9, 0.0], [0.2, 0.7], [0.0, 0.0]]
ROWS = [(case, name, OF_FINDINGS[i][k]) for i, case in enumerate(CASES) for k, name in enumerate(FINDINGS)]
STUDY: dict[str, Any] = {"conditions": FINDINGS, "cases": CASES}
FORMS: dict[str, Any] = {
    "wide.csv": "case,AF,ST\nx,0.9,0.0\ny,0.2,0.7\nz,0.0,0.0\n",
    "long.parquet": pl.DataFrame(ROWS, schema=["case", "finding", "score"], orient="row"),
    "model.npz": {"probs": np.array(OF_FINDINGS), "case_ids": np.array(CASES), "classes": np.array(FINDINGS)},
}


def of(values: Any) -> Predictions:
    return Predictions.from_scores(values, FINDINGS, case_names=CASES, findings=True)


def test_a_probability_becomes_two_scores_under_the_names_of_the_study_and_other_scores_are_opposites() -> None:
    said = predictions_of_finding(of(OF_FINDINGS), "AF", ["z", "x"])
    asked = Study.from_sets([[[]], [[]], [[]]], FINDINGS, case_names=CASES).of_finding("AF")
    assert said.conditions == asked.conditions == ("absent", "present")
    assert set(said.case_names) < set(asked.case_names)
    assert (said.case_names, said.complete) == (("z / AF", "x / AF"), True)
    assert said.to_scores().tolist() == [[1.0, 0.0], [1 - 0.9, 0.9]]
    model = of([[2.5, 0.5], [0.3, -1.0], [0.0, 0.0]])
    for finding, expected in (("AF", [[-2.5, 2.5], [-0.3, 0.3], [0, 0]]), ("ST", [[-0.5, 0.5], [1.0, -1.0], [0, 0]])):
        assert predictions_of_finding(model, finding, CASES).to_scores().tolist() == expected


def test_a_set_decides_about_every_finding_and_an_order_and_unknown_findings_are_refused() -> None:
    said = predictions_of_finding(
        Predictions.from_sets([["AF"], [], [*FINDINGS]], FINDINGS, case_names=CASES), "ST", CASES
    )
    assert (said.kind, said.to_lists()) == ("ranking", [[["absent"]], [["absent"]], [["present"]]])
    ranked = Predictions.from_rankings([["AF"], ["ST"], ["AF"]], FINDINGS, case_names=CASES)
    for model, finding, told in ((ranked, "AF", "which are present"), (of(OF_FINDINGS), "RBBB", "no finding 'RBBB'")):
        refused(told, predictions_of_finding, model, finding, CASES)


@pytest.mark.parametrize("name", FORMS)
def test_cases_without_any_finding_are_read_and_sums_are_not_looked_at(name: str, put: Any) -> None:
    file = put(FORMS[name], name)
    reading = examine_predictions(file, **STUDY, findings=True)
    assert (reading.predictions.to_scores().tolist(), reading.receipt.notes) == (OF_FINDINGS, ())
    refused("all scores of a case are zero", examine_predictions, file, **STUDY)


def test_findings_without_a_score_and_scores_that_are_no_probabilities_are_noted_and_0_and_1_decide(put: Any) -> None:
    one = examine_predictions(put("case,AF\nx,0.9\ny,0.2\nz,0\n"), **STUDY, findings=True)
    assert one.predictions.to_scores().tolist() == [[0.9, 0.0], [0.2, 0.0], [0.0, 0.0]]
    told = "findings without a score above 0: 1, taken as absent on every case (for example 'ST')"
    assert [str(note) for note in one.receipt.notes] == [told]
    other = examine_predictions(put("case,AF,ST\nx,2.5,-1\ny,0.2,0.1\nz,0.5,0.5\n"), **STUDY, findings=True)
    assert [(note.count, "not as probabilities" in note.action) for note in other.receipt.notes] == [(1, True)]
    texts = ("case,AF,ST\nx,1,1\ny,0,0\nz,0,1\n", "case,finding\nx,AF\nx,ST\ny,\nz,ST\n")
    sets, listed = (read_predictions(put(text), **STUDY, findings=True) for text in texts)
    assert sets == listed
    assert (sets.kind, sets.to_lists()) == ("set", [[["AF", "ST"]], [], [["ST"]]])


# Numbers ------------------------------------------------------------------------------------------------

NUMBERS = [2.5, -1.0, 0.0]
TABLE = pl.DataFrame({"case": CASES, "prediction": NUMBERS, "sd": [1.0, 1.0, 2.0]})
VECTOR = {"predictions": np.array([0.0, 2.5, -1.0]), "case_ids": np.array(["z", "x", "y"])}


def numbers(**options: Any) -> Predictions:
    return Predictions.from_numbers(NUMBERS, case_names=CASES, **options)


def test_a_number_per_case_is_kept_in_the_order_of_cases_whatever_its_sign() -> None:
    said, surer = numbers(name="A"), numbers(deviations=[1.0, 3.0, 0.5])
    for one in (said, said.rename("B"), surer, pickle.loads(pickle.dumps(said))):
        assert (one.kind, one.n_cases, one.numbers.tolist()) == ("numbers", 3, NUMBERS)
    assert said.select(["z", "x"]).numbers.tolist() == [0.0, 2.5]
    assert repr(said) == "Predictions of 'A': numbers on 3 cases\n  lowest to highest     -1 to 2.5; mean 0.5"
    assert (said.examples(), said.notes()) == (("on case x: 2.5", "on case y: -1", "on case z: 0"), ())
    assert said.deviations is None
    assert (surer.deviations is not None and surer.deviations.tolist()) == [1.0, 3.0, 0.5]
    assert (surer.words(1), "standard deviation    0.5 to 3" in repr(surer)) == ("-1 (sd 3)", True)
    with pytest.raises(DissensusError, match="gives set, not numbers"):
        _ = Predictions.from_sets([["a"]]).numbers


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
    refused(problem, Predictions.from_numbers, given, **options)


@pytest.mark.parametrize("column", ["prediction", "number", "score", "value", "rating"])
def test_a_table_of_cases_and_numbers_is_read_as_numbers(put: Any, column: str) -> None:
    reading = examine_predictions(put(f"case_id,{column}\ny,-1\nx,2.5\nz,0\n", "a.csv"), cases=CASES)
    assert reading.predictions == numbers(name="a")
    assert [(one.name, one.role) for one in reading.receipt.columns] == [("case_id", "case"), (column, "number")]


def test_standard_deviations_vectors_and_columns_as_said_are_read(put: Any) -> None:
    for path in (put(TABLE, "a.parquet"), put(TABLE.to_dicts(), "a.jsonl")):
        assert read_predictions(path, cases=CASES) == numbers(name="a", deviations=[1.0, 1.0, 2.0])
    for path in (put(np.array(NUMBERS), "a.npy"), put(VECTOR, "a.npz"), put("2.5\n-1\n0\n", "a.txt")):
        assert read_predictions(path, cases=CASES) == numbers(name="a")
    path = put("case,stars,remark\nx,2.5,good\ny,-1,bad\nz,0,fair\n", "a.csv")
    assert read_predictions(path, cases=CASES, kind="numbers", columns={"score": "stars"}) == numbers(name="a")


def test_numbers_need_the_cases_of_the_study_and_a_study_and_metrics_of_numbers() -> None:
    assert numbers().align(["z", "x", "w"], allow_missing=True).case_names == ("z", "x")
    said, one = Study.from_counts([[3, 1]], ["a", "b"]), Predictions.from_numbers([1.0])
    for act, problem, advice in (
        (lambda: numbers().align(["x", "y"]), "the cases of the study and of the predictions differ", ""),
        (lambda: evaluate(said, {"A": one}), "the study asks for conditions", "ratings"),
        (lambda: TopKAccuracy(1).check(numbers()), "needs scores or rankings", "mean-absolute-error"),
    ):
        caught = refused(problem, act)
        assert advice in caught.advice
