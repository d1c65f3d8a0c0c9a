"""A file of data is opened once, whatever it turns out to hold."""

from __future__ import annotations

import hashlib
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dissensus import examine, read, read_predictions
from dissensus.cli.app import app
from dissensus.core.files import open_source
from dissensus.predictions.reader import examine_predictions
from format_examples import EXAMPLES, Example

opened: deque[str] = deque(maxlen=10_000)
"""What Python opened last; a hook cannot be taken away again, so it must not fill the memory of later tests."""


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        opened.append(str(arguments[0]))


@pytest.fixture(scope="module", autouse=True)
def _watched() -> None:
    sys.addaudithook(watch)


def openings(path: Path, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """Count how often Python opens a path; polars opens files unseen, so it may not be given one."""
    read_csv, read_parquet = pl.read_csv, pl.read_parquet
    monkeypatch.setattr(pl, "read_csv", lambda source, **options: read_csv(not_a_path(source), **options))
    monkeypatch.setattr(pl, "read_parquet", lambda source, **options: read_parquet(not_a_path(source), **options))
    opened.clear()
    act()
    return opened.count(str(path))


def not_a_path(source: object) -> Any:
    assert not isinstance(source, str | Path)
    return source


@pytest.mark.parametrize(
    "example", [one for one in EXAMPLES if one.format not in ("doccano", "annotator-files")], ids=str
)
def test_annotations_are_read_in_one_opening(example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = example.file(tmp_path)
    assert openings(path, lambda: examine(path, **example.options), monkeypatch) == 1


def test_a_directory_is_read_in_one_opening_per_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = next(one for one in EXAMPLES if one.format == "doccano")
    folder = example.file(tmp_path)
    assert openings(folder / "ines.jsonl", lambda: examine(folder), monkeypatch) == 1


def test_parquet_and_ratings_are_read_in_one_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pl.DataFrame({"case": ["c1"], "score": [4.0]}).write_parquet(tmp_path / "a.parquet")
    assert openings(tmp_path / "a.parquet", lambda: read(tmp_path / "a.parquet", "ratings"), monkeypatch) == 1


def test_a_broken_table_is_explained_without_another_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text('case,label\nc1,"a\nc2,b,c\n', encoding="utf-8")

    def refused() -> None:
        with pytest.raises(ValueError, match="quotation mark"):
            read(path)

    assert openings(path, refused, monkeypatch) == 1


@pytest.mark.parametrize("text", ["case,annotator,label\nc1,A,x\n", "case,annotator,score\nc1,A,3\n"])
def test_validate_opens_rankings_and_ratings_once(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    outcome: list[int] = []
    act = lambda: outcome.append(CliRunner().invoke(app, ["validate", str(path)]).exit_code)  # noqa: E731
    assert openings(path, act, monkeypatch) == 1
    assert outcome == [0]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("wide.csv", "case,a,b\nc1,0.2,0.8\nc2,0.6,0.4\n"),
        ("wide.txt", "case,a,b\nc1,0.2,0.8\nc2,0.6,0.4\n"),
        ("matrix.csv", "0.2,0.8\n0.6,0.4\n"),
        ("matrix.txt", "0.2 0.8\n0.6 0.4\n"),
        ("lines.jsonl", '{"case": "c1", "ranked": ["b", "a"]}\n{"case": "c2", "ranked": ["a"]}\n'),
    ],
)
def test_predictions_are_read_in_one_opening(
    name: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    act = lambda: read_predictions(path, conditions=["a", "b"], cases=["c1", "c2"])  # noqa: E731
    assert openings(path, act, monkeypatch) == 1


def test_the_hash_is_that_of_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("case,annotator,label\nc1,A,x\n", encoding="utf-8")
    wanted = hashlib.sha256(path.read_bytes()).hexdigest()
    reading = examine(path)
    path.write_text("changed", encoding="utf-8")
    assert reading.source.sha256 == wanted
    np.save(tmp_path / "a.npy", np.array([[0.2, 0.8]]))
    found = examine_predictions(tmp_path / "a.npy", conditions=["a", "b"], cases=["c1"])
    assert found.source.sha256 == hashlib.sha256((tmp_path / "a.npy").read_bytes()).hexdigest()
    assert open_source(tmp_path).sha256 == ""
