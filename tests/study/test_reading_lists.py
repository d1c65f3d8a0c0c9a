"""Lists of labels in tables and records, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dissensus import DissensusError, examine_annotations, read_annotations
from format_examples import write_lines, write_text

RECORDS = [
    {"id": "c1", "labels": ["oak", "elm"], "annotators": ["ann", "bo"]},
    {"id": "c2", "labels": ["elm"], "annotators": ["bo"]},
    {"id": "c3", "labels": [], "annotators": []},
]


def test_parquet_csv_and_json_lines_agree(tmp_path: Path) -> None:
    expected = read_annotations(write_lines(tmp_path / "a.jsonl", RECORDS))
    pl.DataFrame(RECORDS).write_parquet(tmp_path / "a.parquet")
    rows = "".join(f'{one["id"]},"{one["labels"]}","{one["annotators"]}"\n' for one in RECORDS)
    write_text(tmp_path / "a.csv", f"id,labels,annotators\n{rows}")
    assert expected.to_rankings() == [[[["oak"]], [["elm"]]], [[["elm"]]], []]
    assert read_annotations(tmp_path / "a.parquet") == expected
    assert read_annotations(tmp_path / "a.csv") == expected


def test_parquet_codes_are_names_with_a_list(tmp_path: Path) -> None:
    frame = pl.DataFrame({"case": ["c1", "c2"], "label": [[0, 1], [1, 1]], "annotator_ids": [["a", "b"], ["a", "b"]]})
    path = tmp_path / "a.parquet"
    frame.with_columns(pl.col("label").cast(pl.Array(pl.Int64, 2))).write_parquet(path)
    with pytest.raises(DissensusError, match="integer labels need a list of conditions"):
        read_annotations(path)
    said = read_annotations(path, conditions=["oak", "elm"])
    assert said.to_rankings() == [[[["oak"]], [["elm"]]], [[["elm"]], [["elm"]]]]


@pytest.mark.parametrize(
    ("lists", "rankings"),
    [("votes", [[["oak"]], [["elm"]]]), ("order", [[["oak"], ["elm"]]]), ("tie", [[["elm", "oak"]]])],
)
@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.jsonl"])
def test_a_list_without_annotators_means_what_is_said(
    lists: Any, rankings: list[Any], name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if name == "a.parquet":
        pl.DataFrame({"id": ["c1"], "labels": [["oak", "elm"]]}).write_parquet(path)
    elif name == "a.csv":
        write_text(path, 'id,labels\nc1,"[""oak"", ""elm""]"\n')
    else:
        write_lines(path, [{"id": "c1", "labels": ["oak", "elm"]}])
    with pytest.raises(DissensusError, match="can be votes, an order or a tie") as caught:
        read_annotations(path)
    assert "['oak', 'elm']" in caught.value.got
    assert "--lists votes" in caught.value.advice
    assert read_annotations(path, lists=lists).to_rankings() == [rankings]


def test_lists_of_one_annotator_have_a_row_each(tmp_path: Path) -> None:
    text = "case,annotator,labels\nc1,ann,\"['oak', ['elm', 'ash']]\"\nc1,bo,['elm']\nc2,bo,\nc3,bo,[]\n"
    path = write_text(tmp_path / "a.csv", text)
    with pytest.raises(DissensusError, match="can be votes, an order or a tie") as caught:
        read_annotations(path)
    assert "beside 'annotator': 'ann'" in caught.value.got
    said = read_annotations(path, lists="order")
    assert said.to_rankings() == [[[["oak"], ["ash", "elm"]], [["elm"]]], [], [[]]]
    assert said.annotator_names == ("ann", "bo")


def test_lists_of_one_label_mean_the_same_whatever_they_mean(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"id": "c1", "labels": ["oak"]}, {"id": "c2", "labels": []}])
    assert read_annotations(path).to_rankings() == [[[["oak"]]], []]


def test_a_list_of_blocks_without_annotators_is_doubtful(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"id": "c1", "labels": [["oak", "elm"]]}])
    with pytest.raises(DissensusError, match="can be votes, an order or a tie"):
        read_annotations(path)


@pytest.mark.parametrize("cell", ["['oak' 'elm']", "[0 1]", "[oak, elm]", "['oak', {'a': 1}]", "[__import__('os')]"])
def test_a_cell_that_is_no_list_is_refused_with_its_row(cell: str, tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", f'id,labels\nc0,[]\nc1,"{cell}"\n')
    with pytest.raises(DissensusError, match="a list in a cell is not understood") as caught:
        read_annotations(path, lists="votes")
    assert "data row 2, column 'labels'" in caught.value.where


def test_quotes_and_commas_in_labels_survive(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", "id,labels\nc1,\"['it''s', ']']\"\n".replace("''", "\\'"))
    assert read_annotations(path, lists="tie").to_rankings() == [[[["]", "it's"]]]]


def test_lists_and_annotators_of_other_lengths_do_not_match(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", "id,labels,annotators\nc1,\"['a', 'b']\",['x']\n")
    with pytest.raises(DissensusError, match="the labels and the annotators of a record do not match"):
        read_annotations(path)


def test_a_label_in_brackets_in_some_rows_is_a_label(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.csv", "case,annotator,label\nc1,ann,[other]\nc2,ann,oak\n")
    assert examine_annotations(path).receipt.format == "long"
