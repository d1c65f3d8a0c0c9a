"""A directory, or a list of files, with one file per annotator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dissensus import DissensusError, DissensusWarning, Study, examine, read
from dissensus.core.files import open_source
from dissensus.study.reading.annotator_files import AnnotatorFiles
from dissensus.study.reading.format import Options
from format_examples import ANNOTATOR_FILES, DOCCANO, PREFLIB, write_directory, write_folder, write_text

RANKED = "case,label,rank\nc1,oak,1\nc1,elm,2\n"


def by_annotator(said: Study) -> dict[tuple[str, str], Any]:
    """Look rankings up by case and annotator."""
    cases = [said.case_names[case] for case in said.panel.case_of_opinion]
    names = [said.annotator_names[code] for code in said.annotators]
    rankings = [ranking for case in said.to_rankings() for ranking in case]
    return dict(zip(zip(cases, names, strict=True), rankings, strict=True))


def test_tables_and_json_stand_side_by_side(tmp_path: Path) -> None:
    said = read(write_folder(tmp_path / "trees", ANNOTATOR_FILES))
    assert said.annotator_names == ("ann", "bo")
    assert by_annotator(said) == {
        ("c1", "ann"): [["oak"], ["elm"]],
        ("c2", "ann"): [["ash"]],
        ("c1", "bo"): [["elm"]],
        ("c2", "bo"): [["oak"], ["ash", "elm"]],
    }
    write_folder(tmp_path, {**ANNOTATOR_FILES, "extra.csv": RANKED})
    said = read([str(tmp_path / "bo.json"), tmp_path / "ann.csv"])
    assert said.annotator_names == ("bo", "ann")


def test_files_of_every_kind_of_table_agree(tmp_path: Path) -> None:
    frame = pl.DataFrame({"image": ["c1", "c1"], "diagnosis": ["oak", "elm"], "rank": [1, 2]})
    write_folder(tmp_path, {"a.csv": frame.write_csv(), "b.tsv": frame.write_csv(separator="\t")})
    frame.write_parquet(tmp_path / "c.parquet")
    (tmp_path / "d.json").write_text(frame.write_json(), encoding="utf-8")
    assert set(map(str, by_annotator(read(tmp_path)).values())) == {"[['oak'], ['elm']]"}
    folder = write_directory(
        tmp_path / "lines", {"ann": [{"case": "c1", "label": "oak"}], "bo": [{"case": "c1", "label": "elm"}]}
    )
    said = read(folder, "annotator-files")
    assert by_annotator(said) == {("c1", "ann"): [["oak"]], ("c1", "bo"): [["elm"]]}


def test_labels_without_ranks_are_tied_and_that_is_assumed(tmp_path: Path) -> None:
    write_folder(tmp_path, {"ann.csv": "case,label\nc1,oak\nc1,elm\n", "bo.csv": "case,label\nc1,elm\n"})
    assert by_annotator(read(tmp_path)) == {("c1", "ann"): [["elm", "oak"]], ("c1", "bo"): [["elm"]]}
    parsed = AnnotatorFiles().parse(open_source(tmp_path), Options())
    assert parsed.assumed == (
        "the name of a file is its annotator",
        "several labels that an annotator gave a case without a rank are tied",
    )
    assert [str(column) for column in parsed.columns] == [
        "'case' is the case (by its name)",
        "'label' is the condition (by its name)",
    ]


def test_confidences_are_shared_over_all_files(tmp_path: Path) -> None:
    write_folder(tmp_path, {"ann.csv": "case,label,confidence\nc1,oak,1\nc1,elm,3\n", "bo.csv": "case,label\nc1,oak\n"})
    assert read(tmp_path, confidence="share").weights.tolist() == [0.75, 0.25, 1.0]


def test_columns_integers_and_separators_are_as_said(tmp_path: Path) -> None:
    write_folder(tmp_path, {"ann.csv": "picture,mine\n7,0|1\n", "bo.csv": "picture,mine\n7,1\n"})
    said = read(
        tmp_path, columns={"case": "picture", "condition": "mine"}, conditions=["oak", "elm"], tie_separator="|"
    )
    assert by_annotator(said) == {("7", "ann"): [["oak", "elm"]], ("7", "bo"): [["elm"]]}
    folder = write_folder(tmp_path / "one", {"ann.json": '{"c1": null, "c2": [], "c3": "oak"}'})
    assert read(folder).to_rankings() == [[], [[]], [[["oak"]]]]


def test_what_is_skipped_is_noted(tmp_path: Path) -> None:
    write_folder(tmp_path, {"ann.csv": RANKED, "README.md": "read me", ".DS_Store": "x"})
    (tmp_path / "old").mkdir()
    with pytest.warns(DissensusWarning, match=r"files with another ending: 1, skipped \(for example 'README.md'\)"):
        read(tmp_path)
    notes = {note.found: note for note in examine(tmp_path).receipt.notes}
    assert not notes["hidden files"].lost
    assert (notes["folders"].examples, notes["folders"].lost) == (("old",), True)


def test_columns_without_a_role_are_told_once(tmp_path: Path) -> None:
    write_folder(tmp_path, dict.fromkeys(("ann.csv", "bo.csv"), "case,label,age\nc1,oak,7\n"))
    receipt = examine(tmp_path).receipt
    assert [column.name for column in receipt.columns if not column.role] == ["age"]
    assert not receipt.everything_was_used


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("bo.csv", "case,reader,label\nc1,Bo,oak\n", "a file of one annotator has an annotator column"),
        ("bo.csv", "photo,label\nc1,oak\n", "the table has no case column"),
        ("bo.csv", "case,rank\nc1,1\n", "the table has no condition column"),
        ("bo.csv", "", "the file is empty"),
        ("bo.csv", "case,label\nc1,oak\nc1,elm\n", "a file has no rank although others have"),
        ("bo.csv", "case,label,rank\nc1,oak,first\n", "a rank is not a number"),
        ("bo.json", "{", "the JSON is"),
        ("bo.json", "[[[[1]]]]", "this is not a table"),
        ("bo.json", '{"c1": ["oak", "elm"]}', "a list of labels can be an order or a tie"),
        ("bo.json", '{"c1": {"oak": 1}}', "a condition is not understood"),
        ("bo.json", '{"": "oak"}', "a case has no name"),
        ("bo.xlsx", "PK", "the spreadsheet cannot be read"),
        ("bo.csv", "case,label,rank\nc1,oak,1\nc1,oak,2\n", "'oak' is mentioned twice"),
    ],
)
def test_a_wrong_file_is_named_with_what_to_do(name: str, content: str, problem: str, tmp_path: Path) -> None:
    write_folder(tmp_path, {"ann.csv": RANKED, name: content})
    with pytest.raises(DissensusError, match=problem) as caught:
        read(tmp_path)
    assert "bo" in caught.value.where
    assert caught.value.advice


def test_ranks_and_confidences_do_not_mix(tmp_path: Path) -> None:
    write_folder(tmp_path, {"ann.csv": RANKED, "bo.csv": "case,label,confidence\nc1,oak,1\nc1,elm,3\n"})
    with pytest.raises(DissensusError, match="some files have ranks and others confidences") as caught:
        read(tmp_path)
    assert caught.value.got == "ann.csv (rank) and bo.csv (confidence)"
    (tmp_path / "bo.csv").unlink()
    write_folder(tmp_path, {"ann.json": json.dumps({"c1": "oak"})})
    with pytest.raises(DissensusError, match="two files would be annotator 'ann'"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("given", "problem"),
    [([], "the list of files is empty"), (["."], "a directory is among the files"), (["none.csv"], "no such file")],
)
def test_a_wrong_list_is_refused(given: list[str], problem: str) -> None:
    with pytest.raises(DissensusError, match=problem):
        read(given)


def test_a_file_of_a_list_is_never_skipped(tmp_path: Path) -> None:
    write_folder(tmp_path, {"ann.csv": RANKED, "notes.txt": "oak"})
    with pytest.raises(DissensusError, match="this is not a table") as caught:
        read([tmp_path / "ann.csv", tmp_path / "notes.txt"])
    assert "notes.txt" in caught.value.where


def test_directories_of_other_formats_stay_theirs(tmp_path: Path) -> None:
    weather = write_directory(tmp_path / "weather", DOCCANO)
    write_text(weather / "labels.csv", RANKED)
    assert not AnnotatorFiles().recognises(open_source(weather))
    soups = write_folder(tmp_path / "soups", {"soup.toi": PREFLIB, "labels.csv": RANKED})
    assert not AnnotatorFiles().recognises(open_source(soups))
