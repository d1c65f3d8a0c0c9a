"""Rankings: built from nested lists and counts, what is refused, how cases are chosen, and what a study counts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus import DissensusError, Study, examine, read
from dissensus.core.errors import FormatError
from dissensus.study.panel import Panel
from format_examples import CONFIDENCES, ORDERS, written
from refusals import refused
from strategies import rankings, studies
from voted_studies import written_out

NESTED = [[[["b"], ["a", "c"]], [["c"]]], [], [[["a"]]]]


def test_names_become_codes_in_alphabetical_order_or_in_that_of_a_list() -> None:
    said = Study.from_rankings(NESTED)
    assert (said.conditions, said.case_names, said.unannotated) == (("a", "b", "c"), ("0", "1", "2"), ("1",))
    assert said.codes.tolist() == [1, 0, 2, 2, 0]
    assert said.code_offsets.tolist() == [0, 1, 3, 4, 5]
    assert said.block_offsets.tolist() == [0, 2, 3, 4]
    assert said.ranking_offsets.tolist() == [0, 2, 2, 3]
    by_code = Study.from_rankings([[[[1], [2, 0]], [[2]]], [], [[[0]]]], ["a", "b", "c"])
    assert by_code == Study.from_rankings(NESTED, ["a", "b", "c"]) == said
    listed = Study.from_rankings([[[["z"]]]], ["z", "y", "x"])
    assert (listed.conditions, listed.n_mentioned) == (("z", "y", "x"), 1)
    arrays = Study.from_rankings([[[np.array([2, 0]), np.array([1])]]], conditions=4)
    assert arrays == Study.from_rankings([[[[0, 2], [1]]]], conditions=4)
    assert arrays.to_rankings() == [[[["0", "2"], ["1"]]]]


def test_annotators_and_weights_may_be_nested_or_serve_every_case_and_be_nobodys() -> None:
    names: Any = ["Ann", "Bo"]
    weights: Any = [1.0, 2.0]
    nested = [[[["a"]], [["b"]]], [[["a"]], [["a"]]]]
    said = Study.from_rankings(nested, annotator_names=names, weights=weights)
    assert said == Study.from_rankings(nested, annotator_names=[names, names], weights=[weights, weights])
    assert (said.annotator_names, said.annotators.tolist()) == (("Ann", "Bo"), [0, 1, 0, 1])
    assert said.weights.tolist() == [1, 2, 1, 2]
    said = Study.from_rankings([[[["a"]], [["b"]]]], annotator_names=["Ann", None])
    assert (said.annotator_names, said.annotators.tolist()) == (("Ann",), [0, -1])
    groups = np.array(["p", "p", "q"])
    said = Study.from_rankings(NESTED, groups=groups, case_weights=[1, 2, 0.5])  # type: ignore[arg-type]
    assert (said.groups, said.case_weights.tolist()) == (("p", "p", "q"), [1, 2, 0.5])
    said = Study.from_rankings([])
    assert (said.n_cases, said.n_rankings, said.n_conditions) == (0, 0, 0)
    assert "0 cases" in repr(said)


@given(studies())
def test_nested_lists_come_back_out(said: Study) -> None:
    again = Study.from_rankings(said.to_rankings(), said.conditions, case_names=said.case_names)
    assert again.to_rankings() == said.to_rankings()
    assert np.array_equal(again.codes, said.codes)


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=5))
def test_counts_are_that_many_single_labels(counts: list[list[int]]) -> None:
    said = Study.from_counts(counts, ["a", "b", "c"])
    votes = [[["a", "b", "c"][k] for k in range(3) for _ in range(row[k])] for row in counts]
    assert written_out(said) == Study.from_rankings([[[[vote]] for vote in row] for row in votes], ["a", "b", "c"])


def test_columns_of_counts_are_numbered_and_numbers_are_levels_unless_a_question_is_named() -> None:
    assert Study.from_counts(np.eye(2)).conditions == ("0", "1")
    assert Study.from_counts([[1, 2]], [3, 4.5]).scores.tolist() == [3, 4.5]  # type: ignore[list-item]
    assert Study.from_counts([[1, 2]], [3, 4], question="grades").conditions == ("3", "4")  # type: ignore[list-item]


# Studies of rankings ------------------------------------------------------------------------------------


def small_study() -> Study:
    return Study.from_rankings(
        [[[["b"], ["a", "c"]], [["c"]]], [[]], [], [[["a"]]]],
        ["a", "b", "c", "d"],
        case_names=["w", "x", "y", "z"],
        annotator_names=[["Ann", "Bo"], ["Ann"], [], ["Bo"]],
        groups=["p", "p", "q", "q"],
    )


def test_arrays_that_contradict_each_other_are_refused_and_equality_looks_at_everything() -> None:
    panel = Panel(("x",), np.array([0, 1]), np.array([-1]))
    fitting = {"block_offsets": [0, 1], "code_offsets": [0, 1], "codes": [0]}
    wrong = {"block_offsets": ([0, 2], [0, 1, 1]), "code_offsets": ([0, 3], [1, 1]), "codes": ([0, 1], [5], [-1])}
    for name, values in wrong.items():
        for value in values:
            arrays: dict[str, Any] = {part: np.array(given) for part, given in {**fitting, name: value}.items()}
            refused("", Study, ("a", "b"), panel, **arrays)
    said = small_study()
    assert said == small_study()
    different = [
        said.with_unranked("unobserved"),
        said.with_conditions(["a", "b", "c", "d", "e"]),
        said.select([0, 1, 2]),
        said.select([1, 0, 2, 3]),
        Study.from_rankings(said.to_rankings(), said.conditions, case_names=said.case_names),
    ]
    assert all(said != other for other in different)
    assert said != "annotations"


CHOICES: list[tuple[Any, str]] = [
    *((["z", "w"], "zw"), (np.array(["z", "w"]), "zw"), (("y",), "y"), ([3, 0], "zw"), ([-1, -4], "zw")),
    *((np.array([1]), "x"), (slice(1, 3), "xy"), (slice(None, None, -1), "zyxw"), ([True, False, False, True], "wz")),
    *((np.array([False] * 4), ""), ([], "")),
]


def test_cases_are_selected_in_the_order_asked_for() -> None:
    said = small_study()
    everything = dict(zip(said.case_names, said.to_rankings(), strict=True))
    for cases, expected in CHOICES:
        chosen = said.select(cases)
        assert chosen.case_names == tuple(expected)
        assert chosen.to_rankings() == [everything[name] for name in expected]
        assert (chosen.conditions, chosen.annotator_names) == (said.conditions, said.annotator_names)
        assert chosen.groups == tuple(dict(zip("wxyz", said.groups, strict=True))[name] for name in expected)


@pytest.mark.parametrize(
    ("cases", "problem"),
    [
        (["w", "nobody"], "unknown case 'nobody'"),
        (["Patient 71"], "did you mean 'patient 17'"),
        *(([position], "no case at this position") for position in (5, -6)),
        ([0, 0], "case names must all be different"),
        ([True, False], "number of mask values"),
        *((wrong, "choice of cases is not understood") for wrong in ([0.5], "w", 2, None, [[0]])),
    ],
)
def test_choices_that_make_no_sense_are_refused(cases: Any, problem: str) -> None:
    patient = Study.from_rankings([[[["a"]]]], ["a", "b", "c", "d"], case_names=["patient 17"])
    refused(problem, Study.concatenate([small_study(), patient]).select, cases)


def test_annotators_are_matched_by_name_and_vocabularies_neither_mixed_nor_cut_short() -> None:
    one = Study.from_rankings([[[["a"]]]], case_names=["x"], annotator_names=[["Ann"]])
    other = Study.from_rankings([[[["a"]], [["a"]]]], case_names=["y"], annotator_names=[["Bo", "Ann"]])
    both = Study.concatenate([one, other, Study.from_rankings([[[["a"]]]], case_names=["z"])])
    assert (both.annotator_names, both.annotators.tolist()) == (("Ann", "Bo"), [0, 1, 0, -1])
    said = small_study()
    with pytest.raises(DissensusError, match=r"different conditions[^$]*with_conditions"):
        Study.concatenate([said, said.with_conditions(["d", "c", "b", "a"])])
    with pytest.raises(DissensusError, match=r"not mentioned means something else[^$]*with_unranked"):
        Study.concatenate([said, said.with_unranked("unobserved")])
    assert said.with_conditions(["a", "b", "c"]).n_conditions == 3
    refused(r"lacks some that are mentioned[^$]*'c'[^$]*did you mean 'C'\?", said.with_conditions, ["a", "b", "C"])


# Rankings as arrays ----------------------------------------------------------------------------------


Blocks = list[list[int]]
NAMES = ["ant", "bee", "cat", "dog"]
SAID: list[list[Blocks]] = [[[[0, 3], [2]], [[1], [0]]], [[[2], [0, 1]]], []]
EXPECTED = Study.from_rankings(SAID, NAMES, case_names=["den", "hive", "yard"])


@st.composite
def spoken(draw: st.DrawFn) -> tuple[list[list[Blocks]], int]:
    """Draw cases with some rankings that say something, at least one of them, and the number of conditions."""
    n_conditions = draw(st.integers(1, 5))
    case = st.lists(rankings(n_conditions).filter(bool), max_size=3)
    return draw(st.lists(case, min_size=1, max_size=4).filter(any)), n_conditions


def as_rows(ranking: Blocks, n_conditions: int) -> tuple[list[int], list[int], list[int]]:
    """Write one ranking out as an order, as groups and as confidences, by plain loops."""
    order = [code for block in ranking for code in block]
    groups = [number for number, block in enumerate(ranking) for _ in block]
    confidences = [0] * n_conditions
    for number, block in enumerate(ranking):
        for code in block:
            confidences[code] = 10 - number
    rest = [code for code in range(n_conditions) if code not in order]
    return order + rest, groups + [-1] * len(rest), confidences


@given(spoken())
def test_arrays_of_either_kind_are_the_rankings(problem: tuple[list[list[Blocks]], int]) -> None:
    cases, n_conditions = problem
    rows = [[as_rows(ranking, n_conditions) for ranking in case] for case in cases]
    expected = Study.from_rankings(cases, n_conditions)
    orders, groups, confidences = ([[row[i] for row in case] for case in rows] for i in range(3))
    assert Study.from_ranking_arrays(orders, groups) == expected
    assert Study.from_confidences(confidences) == expected
    written = expected.to_ranking_arrays()
    assert Study.from_ranking_arrays(*written) == expected
    most = max(len(case) for case in cases)
    assert {array.shape for array in written} == {(len(cases), most, n_conditions)}
    for case, ranked in enumerate(cases):
        for i in range(most):
            order, group, _ = as_rows([sorted(block) for block in ranked[i]] if i < len(ranked) else [], n_conditions)
            assert (written[0][case, i].tolist(), written[1][case, i].tolist()) == (order, group)


def test_shared_rankings_are_written_out_of_absent_annotators_nothing_is_read_and_numbers_are_of_any_size() -> None:
    orders, groups = Study.from_counts([[2, 1], [0, 1]]).to_ranking_arrays()
    assert orders.tolist() == [[[0, 1], [0, 1], [1, 0]], [[1, 0], [0, 1], [0, 1]]]
    assert groups.tolist() == [[[0, -1]] * 3, [[0, -1], [-1, -1], [-1, -1]]]
    said = Study.from_ranking_arrays([[[1, 0], [0, 0]]], [[[0, -1], [-1, -1]]])
    assert said.to_rankings() == [[[["1"]]]]
    names: dict[str, Any] = {"conditions": NAMES, "case_names": ["den", "hive", "yard"]}
    for dtype in (np.int8, np.int64):
        arrays = [ORDERS[key].astype(dtype) for key in ("rankings", "groups")]
        assert Study.from_ranking_arrays(*arrays, **names) == EXPECTED
    nobody = Study.from_confidences(np.zeros((2, 0, 3)))
    assert (nobody.n_cases, nobody.n_rankings, nobody.n_conditions) == (2, 0, 3)
    assert Study.from_confidences(np.zeros((0, 2, 3))).n_conditions == 3


# What is refused ------------------------------------------------------------------------------------------


def test_confidences_must_be_finite_and_not_negative() -> None:
    for value in (-1, np.nan, np.inf):
        with pytest.raises(DissensusError, match=r"finite and not negative[^$]*case '0', annotator 2, condition 'b'"):
            Study.from_confidences([[[1.0, 0.0], [0.5, value]]], ["a", "b"])


# Files ----------------------------------------------------------------------------------------------------


def test_an_npz_file_of_orders_is_read_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    reading = examine(written(tmp_path / "orders.npz", ORDERS))
    assert reading.rankings == EXPECTED
    assert [str(note) for note in reading.receipt.notes] == [
        "rows that rank nothing: 3, taken as annotators who are not there"
    ]
    assert not reading.receipt.lost
    assert "every row is the ranking of one annotator without a name" in reading.receipt.assumed


def test_names_are_given_stand_beside_or_are_numbers(tmp_path: Path) -> None:
    bare = {key: ORDERS[key] for key in ("rankings", "groups")}
    path = written(tmp_path / "orders.npz", bare)
    reading = examine(path)
    assert (reading.rankings.conditions[-1], reading.rankings.case_names[-1]) == ("3", "2")
    assert "the conditions are numbered from 0" in reading.receipt.assumed
    assert "the cases are numbered from 0" in reading.receipt.assumed
    (tmp_path / "orders.conditions.txt").write_text("\n".join(NAMES), encoding="utf-8")
    (tmp_path / "orders.cases.txt").write_text("den\nhive\nyard\n", encoding="utf-8")
    assert read(path) == EXPECTED
    given_names = read(path, conditions=["w", "x", "y", "z"])
    assert given_names.conditions == ("w", "x", "y", "z")
    assert given_names.to_rankings()[0][0] == [["w", "z"], ["y"]]


def test_confidences_are_read_from_either_kind_of_file(tmp_path: Path) -> None:
    for path in (
        written(tmp_path / "a.npy", CONFIDENCES),
        written(tmp_path / "b.npz", {"opinions": CONFIDENCES}),
        written(tmp_path / "c.npz", {"confidences": CONFIDENCES / 7.0}),
    ):
        assert read(path, conditions=NAMES).to_rankings() == EXPECTED.to_rankings()
    floats = written(tmp_path / "d.npy", CONFIDENCES / 7.0)
    with pytest.raises(FormatError, match="no known format fits"):
        read(floats)
    assert read(floats, "confidences", conditions=NAMES).to_rankings() == EXPECTED.to_rankings()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"groups": ORDERS["groups"][:, :1]}, "rankings and groups have different shapes"),
        ({"groups": ORDERS["groups"] + 1}, "the groups of a ranking are no groups"),
        ({"rankings": ORDERS["rankings"] * 0}, "a ranking is no order of all conditions"),
        ({"rankings": ORDERS["rankings"].astype(float)}, "rankings must be whole numbers"),
        ({"conditions": np.array(["a", "b"])}, "the number of conditions does not fit"),
        ({"conditions": np.array(["a", "a", "b", "c"])}, "twice|several|duplicate|more than once"),
        ({"case_names": np.arange(3)}, "the array 'case_names'"),
        ({"unranked": np.array("above")}, "'unranked' must be one word"),
    ],
)
def test_files_with_wrong_arrays_are_refused_with_their_name(changes: Any, message: str, tmp_path: Path) -> None:
    path = written(tmp_path / "orders.npz", {**ORDERS, **changes})
    refused(f"({message})[^$]*orders.npz", read, path)


@pytest.mark.parametrize(
    ("arrays", "options", "problem"),
    [
        ({"rankings": np.array([[[0]]], dtype=object)}, {}, "objects, which only pickle could load"),
        ({}, {"limits": {"memory": 100}}, "the file unpacks to too much"),
        ({"groups": None}, {"format": "ranking-arrays"}, r"there is no array 'groups'\n.*\n.*arrays 'rankings'"),
    ],
)
def test_files_that_cannot_be_taken_as_arrays_are_refused(
    arrays: Any, options: Any, problem: str, tmp_path: Path
) -> None:
    given = {name: ORDERS[name] for name in ("rankings", "groups")} | arrays
    np.savez(tmp_path / "orders.npz", **{name: array for name, array in given.items() if array is not None})
    with pytest.raises(FormatError, match=problem):
        read(tmp_path / "orders.npz", **options)
