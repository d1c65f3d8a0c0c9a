"""Checklists: sets of findings, what was not assessed, and one binary study per finding."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from dissensus import Study, diagnose
from refusals import refused

FINDINGS = ("AF", "RBBB", "ST")


def two_cases(**options: Any) -> Study:
    sets: list[list[Any]] = [[{"AF"}, {"AF", "RBBB"}, set()], [set(), None, {"ST"}]]
    return Study.from_sets(sets, FINDINGS, case_names=["x", "y"], annotator_names=["Ann", "Bo", "Cy"], **options)


def test_nothing_found_is_an_opinion_and_nothing_assessed_is_none() -> None:
    said = two_cases()
    assert said.answers.dtype == np.int8
    assert said.answers.tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 0], [-1, -1, -1], [0, 0, 1]]
    assert said.is_abstention.tolist() == [False] * 4 + [True, False]
    assert said.counted.n_opinions == 5
    assert [said.words(i) for i in (1, 2, 4)] == ["AF, RBBB", "nothing found", "nothing assessed"]
    assert said.to_sets() == [[{"AF"}, {"AF", "RBBB"}, set()], [set(), None, {"ST"}]]
    assert repr(said) == "Checklists: 2 cases, 6 checklists of 3 findings; 2 found nothing"
    nothing = Study.from_sets([[set(), set()], [None]], ["AF"])
    assert nothing.unannotated == ("1",)
    assert nothing.of_finding("AF").to_rankings() == [[[["absent"]], [["absent"]]], []]


def test_a_finding_is_a_study_of_two_conditions_tied_to_its_case() -> None:
    said = two_cases(assessed=[[None, None, ["ST"]], [None, None, None]])
    asked = said.of_finding("AF")
    assert (asked.conditions, asked.case_names) == (("absent", "present"), ("x / AF", "y / AF"))
    assert (asked.groups, asked.annotator_names) == (("x", "y"), ("Ann", "Bo", "Cy"))
    assert (asked.annotators.tolist(), asked.codes.tolist()) == ([0, 1, 0, 2], [1, 1, 0, 0])
    assert list(said.by_finding()) == list(FINDINGS)
    assert said.by_finding()["ST"].n_rankings == 5
    refused(r"there is no finding 'Af'[^$]*did you mean 'AF'\?", said.of_finding, "Af")


def test_groups_weights_and_votes_of_the_study_are_those_of_each_finding() -> None:
    said = Study.from_matrix([[[1, 0], [-1, -1]], [[0, 1], [1, 0]]], ["AF", "ST"], groups=["p", "p"])
    said = replace(said, answers=np.array([[1, -1], [0, 1], [1, 0]])).with_weights(np.array([1.0, 2.0, 0.5]))
    said = replace(said, panel=replace(said.panel, case_weights=np.array([1.0, 3.0]), votes=np.array([4, 1, 2])))
    asked = said.of_finding("ST")
    assert (asked.groups, asked.votes.tolist(), asked.weights.tolist()) == (("p", "p"), [1, 2], [2.0, 0.5])
    assert (asked.case_weights.tolist(), asked.unannotated) == ([1.0, 3.0], ("0 / ST",))
    assert said.items() == Study.concatenate(list(said.by_finding().values()))
    assert said.opinions.weights.tolist() == [4.0, 2.0, 1.0, 2.0, 1.0]


@given(st.lists(st.lists(st.lists(st.sampled_from([1, 0, -1]), min_size=3, max_size=3), min_size=2, max_size=2)))
def test_a_matrix_holds_what_was_assessed(cases: list[list[list[int]]]) -> None:
    matrix = np.array(cases, dtype=np.int64).reshape(len(cases), 2, 3)
    said = Study.from_matrix(matrix, FINDINGS, annotator_names=["Ann", "Bo"])
    assert said.answers.tolist() == [row.tolist() for case in matrix for row in case if (row != -1).any()]
    missing = np.where(matrix == -1, np.nan, matrix)
    assert Study.from_matrix(missing, FINDINGS, annotator_names=["Ann", "Bo"]) == said
    for code, name in enumerate(FINDINGS):
        asked = said.of_finding(name)
        assert asked.codes.tolist() == [answer for answer in matrix[:, :, code].ravel() if answer != -1]


def test_answers_that_do_not_fit_and_other_findings_are_refused() -> None:
    said, other = two_cases(), Study.from_sets([[[]]], ["AF"], case_names=["z"])
    not_understood = r"an answer is not understood(.*\n)*.*checklist 1, finding 1"
    for answers, problem in ((np.full((6, 3), 300), not_understood), (np.zeros((6, 2), dtype=np.int8), "do not fit")):
        refused(problem, replace, said, answers=answers)
    refused("different findings cannot be concatenated", Study.concatenate, [said, other])


# Long tables ------------------------------------------------------------------------------------------


def long(rows: list[tuple[Any, ...]], names: str = "case annotator finding present", **options: Any) -> Study:
    return Study.from_long(pl.DataFrame(rows, schema=names.split(), orient="row"), **options)


def test_rows_name_what_is_present_or_say_it_in_a_column_in_any_order() -> None:
    rows: list[tuple[Any, ...]] = [("x", "Ann", "AF"), ("x", "Ann", "ST"), ("x", "Bo", None), ("y", "Bo", "RBBB")]
    said = long(rows, "case annotator finding")
    assert said.findings == ("AF", "ST", "RBBB")
    assert said.answers.tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    named = [(case, who, finding or "normal") for case, who, finding in rows]
    assert long(named, "case annotator finding", nothing="normal") == said
    refused("no checklist says 'Normal'", long, named, "case annotator finding", nothing="Normal")
    answers = [("x", "Ann", "AF", "yes"), ("x", "Ann", "ST", ""), ("x", "Bo", "AF", "No"), ("y", "Bo", "RBBB", "1.0")]
    assert long(answers).answers.tolist() == [[1, -1, 0], [0, 0, 0], [0, 0, 1]]
    whole = [(case, who, name, int(case + who < name)) for case in "xy" for who in "AB" for name in ("x", "y", "z")]
    said, again = (long(some, findings=["x", "y", "z"]) for some in (whole, whole[::-1]))
    assert again.select(["x", "y"]).to_sets() == [case[::-1] for case in said.to_sets()]
    said = long([("x", "AF"), ("x", "ST"), ("y", None)], "case finding")  # the rows of a case are one checklist
    assert (said.to_sets(), said.annotator_names) == ([[{"AF", "ST"}], [set()]], ())
    assert long([("x", "Ann", "AF"), ("y", None, None)], "case annotator finding").unannotated == ("y",)


def test_a_diagnosis_counts_what_was_found() -> None:
    found = diagnose(two_cases())
    assert (found.checklists, found.nothing_found, found.abstentions, found.not_assessed) == (6, 2, 1, 3)
    assert found.present == {"AF": 2, "RBBB": 1, "ST": 1}
    assert found.lines()["checklists with nothing found"] == "2 (40.0 %)"
    remarks = diagnose(Study.from_sets([[["AF"], []], [None]], ["AF", "af"])).remarks()
    assert all(any(part in remark for remark in remarks) for part in ("never present", "look alike", "'1'"))
    shares = ["0 to 2, median 1, mean 0.80", "2 (40.0 %)", "3 (16.7 %)"]
    assert [fact.value for fact in two_cases().facts()] == ["2", "6", "3", "3", *shares]
