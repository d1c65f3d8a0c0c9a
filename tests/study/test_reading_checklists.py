"""Checklists are read from long and wide tables, from a file per annotator, and from Label Studio's choices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus import DissensusError, DissensusWarning, Study, examine, read, write
from dissensus.study.canonical import long_table
from dissensus.study.panel import Panel
from format_examples import write_folder, write_json, write_text

LONG = "case,annotator,finding\nc1,Ann,AF\nc1,Ann,ST\nc1,Bo,normal\nc2,Bo,RBBB\n"
WIDE = "case,annotator,AF,ST,RBBB\nc1,Ann,1,1,0\nc1,Bo,0,0,0\nc2,Bo,0,0,1\n"


def read_text(folder: Path, text: str, **options: Any) -> Study:
    return read(write_text(folder / "checklists.csv", text), "checklist", **options)


def test_long_and_wide_tables_say_the_same(tmp_path: Path) -> None:
    said = read_text(tmp_path, LONG, nothing="normal")
    assert said.findings == ("AF", "ST", "RBBB")
    assert said.to_sets() == [[{"AF", "ST"}, set()], [{"RBBB"}]]
    assert read_text(tmp_path, WIDE) == said
    answers = {"1": "yes", "0": "absent"}
    words = "\n".join(",".join(answers.get(cell, cell) for cell in line.split(",")) for line in WIDE.splitlines())
    assert read_text(tmp_path, words) == said


def test_an_empty_cell_of_a_wide_table_is_not_assessed(tmp_path: Path) -> None:
    said = read_text(tmp_path, "case,annotator,AF,ST\nc1,Ann,1,\nc1,Bo,,\nc2,Bo,no,yes\n")
    assert said.answers.tolist() == [[1, -1], [-1, -1], [0, 1]]
    assert said.is_abstention.tolist() == [False, True, False]
    assert said.receipt is not None
    assert "an empty cell is a finding that was not assessed" in said.receipt.assumed


def test_the_list_of_findings_decides_which_columns_are_findings(tmp_path: Path) -> None:
    text = "case,annotator,age,AF,ST\nc1,Ann,71,1,0\nc2,Ann,30,0,0\n"
    with pytest.raises(DissensusError, match="the answer for 'age' is not understood") as caught:
        read_text(tmp_path, text)
    assert "--ignore" in caught.value.advice
    assert "data row 1, case 'c1', annotator 'Ann'" in caught.value.where
    said = read_text(tmp_path, text, conditions=["ST", "AF", "RBBB"])
    assert said.answers.tolist() == [[0, 1, -1], [0, 0, -1]]
    assert said.receipt is not None
    assert said.receipt.unused == ("age",)
    assert [str(note) for note in said.receipt.notes] == [
        "findings without a column: 1, kept as not assessed (for example 'RBBB')"
    ]
    assert read_text(tmp_path, text, ignore=["age"]).findings == ("AF", "ST")


@pytest.mark.parametrize("word", ["uncertain", "-1", "2", "maybe", "0.5"])
def test_words_that_are_no_answer_are_refused_with_advice(tmp_path: Path, word: str) -> None:
    with pytest.raises(DissensusError, match="the answer for 'ST' is not understood") as caught:
        read_text(tmp_path, f"case,annotator,AF,ST\nc1,Ann,1,0\nc1,Bo,1,{word}\n")
    assert caught.value.got == f"'{word}'" or caught.value.got == word
    assert "leave the cell empty" in caught.value.advice


def test_a_wide_column_may_say_that_nothing_was_found(tmp_path: Path) -> None:
    text = "case,annotator,AF,ST,No Finding\nc1,Ann,,,1\nc1,Bo,1,,0\nc2,Bo,1,,\n"
    said = read_text(tmp_path, text, nothing="No Finding")
    assert said.findings == ("AF", "ST")
    assert said.answers.tolist() == [[0, 0], [1, -1], [1, -1]]
    with pytest.raises(DissensusError, match="says that nothing was found, and names a finding"):
        read_text(tmp_path, text + "c3,Bo,1,0,1\n", nothing="No Finding")


def test_a_wide_table_without_annotators_has_a_checklist_per_row(tmp_path: Path) -> None:
    said = read_text(tmp_path, "case,AF,ST\nc1,1,0\nc1,0,0\nc2,0,1\n")
    assert said.to_sets() == [[{"AF"}, set()], [{"ST"}]]
    assert said.annotator_names == ()
    with pytest.raises(DissensusError, match="'AF' is answered twice"):
        read_text(tmp_path, "case,annotator,AF\nc1,Ann,1\nc1,Ann,0\n")
    assert read_text(tmp_path, "case,annotator,round,AF\nc1,Ann,1,1\nc1,Ann,2,0\n").n_opinions == 2


def test_cells_may_hold_several_findings(tmp_path: Path) -> None:
    said = read_text(tmp_path, "case,annotator,finding\nc1,Ann,AF|ST\nc1,Bo,\n", tie_separator="|")
    assert said.to_sets() == [[{"AF", "ST"}, set()]]


def test_a_file_per_annotator_is_a_directory_or_a_list(tmp_path: Path) -> None:
    files = {"ann.csv": "case,AF,ST\nc1,1,0\nc2,0,0\n", "bo.csv": "case,AF,RBBB\nc1,,1\n"}
    folder = write_folder(tmp_path / "readers", files)
    said = read(folder, "checklist")
    assert (said.findings, said.annotator_names) == (("AF", "ST", "RBBB"), ("ann", "bo"))
    assert said.answers.tolist() == [[1, 0, -1], [-1, -1, 1], [0, 0, -1]]
    assert read([folder / "ann.csv", folder / "bo.csv"], "checklist") == said
    assert said.receipt is not None
    assert "the name of a file is its annotator" in said.receipt.assumed
    assert "findings without a column: 2" in str(said.receipt.notes[0])
    (folder / "cy.csv").write_text("case,AF,ST\nc1,maybe,0\n", encoding="utf-8")
    with pytest.raises(DissensusError, match="the answer for 'AF' is not understood") as caught:
        read(folder, "checklist")
    assert "cy.csv" in caught.value.where
    (folder / "cy.csv").write_text("case,annotator,AF\nc1,Di,0\n", encoding="utf-8")
    with pytest.raises(DissensusError, match="has an annotator column"):
        read(folder, "checklist")


def test_files_per_annotator_may_be_long(tmp_path: Path) -> None:
    files = {"ann.csv": "case,finding\nc1,AF\nc2,none\n", "bo.csv": "case,AF,ST\nc1,0,1\n"}
    said = read(write_folder(tmp_path / "readers", files), "checklist", nothing="none")
    assert said.to_sets() == [[{"AF"}, {"ST"}], [set()]]


def task(name: int, *annotations: tuple[int, list[str] | None, bool]) -> dict[str, Any]:
    def result(chosen: list[str] | None) -> list[Any]:
        return [{"from_name": "seen", "type": "choices", "value": {"choices": chosen}}] if chosen is not None else []

    return {
        "id": name,
        "data": {"image": "x"},
        "annotations": [
            {"id": 100 * name + who, "completed_by": who, "was_cancelled": cancelled, "result": result(chosen)}
            for who, chosen, cancelled in annotations
        ],
    }


def test_label_studio_choices_are_findings_and_no_choice_is_nothing_found(tmp_path: Path) -> None:
    tasks = [
        task(1, (7, ["AF", "ST"], False), (8, None, False), (9, None, True)),
        task(2, (8, ["normal"], False)),
        task(3),
    ]
    file = write_json(tmp_path / "export.json", tasks)
    with pytest.warns(DissensusWarning, match="cancelled annotations: 1, skipped"):
        said = read(file, "checklist", nothing="normal")
    assert said.to_sets() == [[{"AF", "ST"}, set()], [set()], []]
    assert said.annotator_names == ("7", "8")
    assert said.unannotated == ("3",)
    assert said.receipt is not None
    assert "checklists without a finding: 1, kept as nothing found (for example '1')" in map(str, said.receipt.notes)
    assert ("annotations.result.seen", "finding") in {(one.name, one.role) for one in said.receipt.columns}
    assert examine(file).study.kind == "rankings"


def test_a_ranker_is_no_checklist(tmp_path: Path) -> None:
    tasks = [task(1, (7, ["AF"], False))]
    tasks[0]["annotations"][0]["result"] = [{"from_name": "seen", "type": "ranker", "value": {"ranker": ["AF"]}}]
    with pytest.raises(DissensusError, match="a ranker orders conditions"):
        read(write_json(tmp_path / "export.json", tasks), "checklist")


# What is told -----------------------------------------------------------------------------------------


def test_only_a_table_that_says_what_is_present_is_recognised(tmp_path: Path) -> None:
    answered = write_text(tmp_path / "a.csv", "case,annotator,finding,present\nc1,Ann,AF,1\n")
    assert examine(answered).receipt.format == "checklist"
    with pytest.raises(DissensusError, match="no condition column"):
        examine(write_text(tmp_path / "b.csv", LONG))
    said = examine(tmp_path / "b.csv", columns={"condition": "finding"})
    assert said.study.kind == "rankings"
    assert read(answered).kind == "checklists"


def test_ties_without_an_order_point_to_checklists_in_one_note(tmp_path: Path) -> None:
    rows = "".join(f"c{i},Ann,AF\nc{i},Ann,ST\nc{i},Bo,AF\n" for i in range(3))
    tied = examine(write_text(tmp_path / "ties.csv", "case,annotator,label\n" + rows))
    notes = [str(note) for note in tied.receipt.notes]
    assert len(notes) == 1
    assert "several conditions in no order: 3" in notes[0]
    assert "--format checklist" in notes[0]
    assert not tied.receipt.lost
    ranked = rows.replace("AF\n", "AF,1\n").replace("ST\n", "ST,2\n")
    other = examine(write_text(tmp_path / "ranks.csv", "case,annotator,label,rank\n" + ranked))
    assert not other.receipt.notes


def test_a_name_for_nothing_found_that_stands_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DissensusError, match="no checklist says 'none'"):
        read_text(tmp_path, LONG, nothing="none")


def test_roles_of_unusual_columns_can_be_said(tmp_path: Path) -> None:
    text = "pic,doc,sign,there\nc1,Ann,AF,y\nc1,Ann,ST,n\n"
    columns = {"case": "pic", "annotator": "doc", "finding": "sign", "present": "there"}
    said = read_text(tmp_path, text, columns=columns)
    assert said.answers.tolist() == [[1, 0]]
    assert said.receipt is not None
    assert said.receipt.roles()["finding", "as said"] == ("sign",)
    assert examine(tmp_path / "checklists.csv", columns=columns).receipt.format == "checklist"


# Written and read again -------------------------------------------------------------------------------

answers = st.lists(st.sampled_from([1, 0, -1]), min_size=2, max_size=2)
named = st.sampled_from([["Ann", "Bo", "Cy"], None])


@given(
    st.lists(st.lists(answers, max_size=3), min_size=1, max_size=4), named, st.sampled_from(["csv", "jsonl", "parquet"])
)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, cases: list[list[list[int]]], who: list[str] | None, ending: str
) -> None:
    sets = [[[name for name, one in zip(("AF", "ST"), row, strict=True) if one == 1] for row in case] for case in cases]
    looked = [
        [[name for name, one in zip(("AF", "ST"), row, strict=True) if one != -1] for row in case] for case in cases
    ]
    people = None if who is None else [who[: len(case)] for case in cases]
    said = Study.from_sets(sets, ["AF", "ST"], assessed=looked, annotator_names=people)
    file = tmp_path_factory.mktemp("written") / f"checklists.{ending}"
    write(said, file)
    again = examine(file)
    assert again.receipt.format == "checklist"
    assert again.study == said


def test_the_canonical_form_keeps_weights_votes_groups_and_declares_names(tmp_path: Path) -> None:
    panel = Panel(
        case_names=("x", "y", "z"),
        opinion_offsets=np.array([0, 2, 2, 3]),
        annotators=np.array([1, -1, 1]),
        annotator_names=("Ann", "Bo"),
        weights=np.array([1.0, 2.0, 0.5]),
        groups=("p", "p", "q"),
        case_weights=np.array([1.0, 2.0, 1.0]),
        votes=np.array([1, 3, 1]),
    )
    said = Study(("AF", "ST"), panel, answers=np.array([[1, 0], [-1, 1], [-1, -1]]), question="findings")
    for name in ("checklists.csv", "checklists.parquet"):
        write(said, tmp_path / name)
        assert read(tmp_path / name, "checklist") == said
    assert long_table(said).columns == [
        *("case", "annotation", "annotator", "finding", "present", "weight", "votes", "group", "case_weight")
    ]
    with pytest.raises(DissensusError, match="cannot hold checklists"):
        write(said, tmp_path / "checklists.json")
    assert not list(tmp_path.glob("*.json"))
