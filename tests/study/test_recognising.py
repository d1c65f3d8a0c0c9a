"""Every format is recognised from content, and by one reader only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dissensus.core.errors import DissensusError, FormatError
from dissensus.core.files import open_source
from dissensus.study.reading import examine, recognised_format
from dissensus.study.reading.format import Format
from format_examples import EXAMPLES, PREFLIB, Example, write_json, write_lines, write_text

JSON_ANSWERS = {"argilla", "label-studio"}
ALSO_READ = {
    "label-studio-export.json": {"argilla", "checklist"},
    "hugging-face-train.jsonl": JSON_ANSWERS,
    "hugging-face-train.json": JSON_ANSWERS,
    "argilla-records.json": {"label-studio"},
    "long-long.jsonl": {"checklist", "crowd-kit"},
    "long-long.json": {"checklist", "crowd-kit"},
    "annotator-json-people.json": JSON_ANSWERS,
    "case-json-trees.json": JSON_ANSWERS,
    "long-voted.csv": {"crowd-kit"},
    "long-long.csv": {"checklist", "crowd-kit", "hugging-face", "wide"},
    "crowd-kit-crowd.csv": {"checklist", "hugging-face", "long", "wide"},
    "cleanlab-codes.csv": {"wide"},
    "checklist-boxes.csv": {"counts"},
    "reader-study-imrmc.csv": {"ratings"},
    "reader-study-mrmcaov.csv": {"ratings"},
    "ratings-stars.csv": {"reader-study"},
    "hugging-face-sure.json": JSON_ANSWERS,
    "counts-shares.jsonl": JSON_ANSWERS,
}
"""The other formats as which an example can be read if they are named; all others name the file they refuse."""


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_exactly_one_format_fits_and_others_refuse_the_file_by_name(example: Example, tmp_path: Path) -> None:
    path = example.file(tmp_path)
    source = open_source(path)
    fitting = [name for name, known in Format.family.known().items() if known().recognises(source)]
    assert fitting == [example.format]
    reading = examine(path, **example.options)
    assert reading.receipt.format == example.format
    assert reading.study.n_opinions > 0
    assert reading.study.kind == Format.family.find(example.format).study
    for name in Format.family.known().keys() - {example.format}:
        if name in ALSO_READ.get(str(example), ()):
            assert examine(path, name, **example.options).receipt.understood == f"{name} (as said)"
            continue
        with pytest.raises(DissensusError) as caught:
            examine(path, name, **example.options)
        assert str(path) in caught.value.where


def test_every_format_has_an_example() -> None:
    assert {example.format for example in EXAMPLES} == set(Format.family.known()) - {
        "inspect"
    }  # a log needs its package


def test_lists_of_labels_without_annotators_beside_a_text_are_ambiguous(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"id": 1, "text": "hail", "labels": ["ice", "rain"]}])
    with pytest.raises(FormatError, match="fits several formats") as caught:
        recognised_format(open_source(path))
    assert "doccano, hugging-face" in caught.value.expected
    one = examine(path, "doccano").rankings
    many = examine(path, "hugging-face", lists="votes").rankings
    assert one.to_rankings() == [[[["ice", "rain"]]]]
    assert many.to_rankings() == [[[["ice"]], [["rain"]]]]


def test_a_directory_of_two_formats_is_ambiguous(tmp_path: Path) -> None:
    write_text(tmp_path / "soup.toi", PREFLIB)
    write_lines(tmp_path / "ines.jsonl", [{"id": 1, "label": ["ice"]}])
    with pytest.raises(FormatError, match="fits several formats") as caught:
        examine(tmp_path)
    assert "doccano, preflib" in caught.value.expected


@pytest.mark.parametrize("value", [[], {}, [1, 2], {"a": 1}, "words", [{"id": 1, "text": "no labels"}]])
def test_other_json_fits_no_format(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    if isinstance(value, str):
        write_text(path, value)
    else:
        write_json(path, value)
    with pytest.raises(FormatError, match="no known format fits"):
        examine(path)
