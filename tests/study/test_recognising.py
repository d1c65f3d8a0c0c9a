"""Every format is recognised from content, and by one reader only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dissensus.core.errors import DissensusError, FormatError
from dissensus.core.files import open_source
from dissensus.study.reading import examine_annotations, recognised_format
from dissensus.study.reading.format import Format, known_formats
from format_examples import EXAMPLES, PREFLIB, Example, write_json, write_lines, write_text


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_exactly_one_format_fits(example: Example, tmp_path: Path) -> None:
    source = open_source(example.file(tmp_path))
    assert [known.id for known in known_formats() if known.recognises(source)] == [example.format]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_recognised_file_is_read(example: Example, tmp_path: Path) -> None:
    reading = examine_annotations(example.file(tmp_path), **example.options)
    assert reading.receipt.format == example.format
    assert reading.study.n_opinions > 0
    assert reading.study.kind == Format.family.find(example.format).study


def test_every_format_has_an_example() -> None:
    assert {example.format for example in EXAMPLES} == set(Format.family.known())


def test_every_format_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in Format.family.known())


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
@pytest.mark.parametrize("name", sorted(Format.family.known()))
def test_a_wrong_format_is_an_error_or_a_reading(example: Example, name: str, tmp_path: Path) -> None:
    path = example.file(tmp_path)
    try:
        examine_annotations(path, name, **example.options)
    except DissensusError as error:
        assert str(path) in error.where  # noqa: PT017 - either outcome is fine


def test_lists_of_labels_without_annotators_beside_a_text_are_ambiguous(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"id": 1, "text": "hail", "labels": ["ice", "rain"]}])
    with pytest.raises(FormatError, match="fits several formats") as caught:
        recognised_format(open_source(path))
    assert "doccano, hugging-face" in caught.value.expected
    one = examine_annotations(path, "doccano").rankings
    many = examine_annotations(path, "hugging-face", lists="votes").rankings
    assert one.to_rankings() == [[[["ice", "rain"]]]]
    assert many.to_rankings() == [[[["ice"]], [["rain"]]]]


def test_a_directory_of_two_formats_is_ambiguous(tmp_path: Path) -> None:
    write_text(tmp_path / "soup.toi", PREFLIB)
    write_lines(tmp_path / "ines.jsonl", [{"id": 1, "label": ["ice"]}])
    with pytest.raises(FormatError, match="fits several formats") as caught:
        examine_annotations(tmp_path)
    assert "doccano, preflib" in caught.value.expected


@pytest.mark.parametrize("value", [[], {}, [1, 2], {"a": 1}, "words", [{"id": 1, "text": "no labels"}]])
def test_other_json_fits_no_format(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    if isinstance(value, str):
        write_text(path, value)
    else:
        write_json(path, value)
    with pytest.raises(FormatError, match="no known format fits"):
        examine_annotations(path)


def test_deep_nesting_is_an_error(tmp_path: Path) -> None:
    path = write_text(tmp_path / "deep.json", "[" * 100_000)
    with pytest.raises(FormatError, match="nested too deeply"):
        examine_annotations(path)
