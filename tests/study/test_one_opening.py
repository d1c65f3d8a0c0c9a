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


MATRIX = "0.2,0.8\n0.6,0.4\n"
WIDE = "case,a,b\nc1,0.2,0.8\nc2,0.6,0.4\n"
LINES = '{"case": "c1", "ranked": ["b", "a"]}\n{"case": "c2", "ranked": ["a"]}\n'
VALIDATED = {"rankings.csv": "case,annotator,label\nc1,A,x\n", "ratings.csv": "case,annotator,score\nc1,A,3\n"}
PREDICTED = {"wide.csv": WIDE, "wide.txt": WIDE, "matrix.csv": MATRIX, "lines.jsonl": LINES}
PREDICTED["matrix.txt"] = MATRIX.replace(",", " ")


def test_directories_parquet_predictions_and_what_is_refused_or_validated_are_opened_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = next(one for one in EXAMPLES if one.format == "doccano").file(tmp_path)
    assert openings(folder / "ines.jsonl", lambda: examine(folder), monkeypatch) == 1
    place = tmp_path / "a.parquet"
    pl.DataFrame({"case": ["c1"], "score": [4.0]}).write_parquet(place)
    assert openings(place, lambda: read(place, "ratings"), monkeypatch) == 1

    def refused() -> None:
        with pytest.raises(ValueError, match="quotation mark"):
            read(place)

    def validated() -> None:
        assert CliRunner().invoke(app, ["validate", str(place)]).exit_code == 0

    acts: dict[Callable[[], object], dict[str, str]] = {
        refused: {"broken.csv": 'case,label\nc1,"a\nc2,b,c\n'},
        validated: VALIDATED,
        lambda: read_predictions(place, conditions=["a", "b"], cases=["c1", "c2"]): PREDICTED,
    }
    for act, files in acts.items():
        for name, content in files.items():
            place = tmp_path / name
            place.write_text(content, encoding="utf-8")
            assert openings(place, act, monkeypatch) == 1, name


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
