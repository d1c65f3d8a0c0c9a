"""Every format: recognised from content, by one reader only, opened once, and told in a receipt."""

import hashlib
import json
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import dissensus as ds
from dissensus import DissensusError, examine, read, read_predictions
from dissensus.cli.app import app
from dissensus.core.files import open_source
from dissensus.core.receipt import Receipt
from dissensus.predictions.reader import examine_predictions
from dissensus.study.reading.format import Format
from format_examples import EXAMPLES, PREFLIB, Example

ALSO_READ = json.loads(Path(__file__).with_name("readings.json").read_text(encoding="utf-8"))["also_read"]
"""The other formats as which an example can be read if they are named; all others name the file they refuse."""

opened: deque[str] = deque(maxlen=10_000)
"""What Python opened last; a hook cannot be taken away again, so it must not fill the memory of later tests."""


@pytest.fixture(scope="module", autouse=True)
def _watched() -> None:
    sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)


def openings(path: Path, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """Count how often Python opens a path; polars opens files unseen, so it may not be given one."""

    def read_by(function: Any) -> Any:
        def watched(source: object, **options: Any) -> Any:
            assert not isinstance(source, str | Path)
            return function(source, **options)

        return watched

    with monkeypatch.context() as patch:
        patch.setattr(pl, "read_csv", read_by(pl.read_csv))
        patch.setattr(pl, "read_parquet", read_by(pl.read_parquet))
        opened.clear()
        act()
    return opened.count(str(path))


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_one_format_fits_opens_the_file_once_and_tells_of_every_column(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = example.file(tmp_path)
    source = open_source(path)
    assert [name for name, known in Format.family.known().items() if known().recognises(source)] == [example.format]
    if not path.is_dir():
        assert openings(path, lambda: examine(path, **example.options), monkeypatch) == 1
    reading = examine(path, **example.options)
    receipt = reading.receipt
    assert reading.study.n_opinions > 0
    assert reading.study.kind == Format.family.find(example.format).study
    assert (receipt.path, receipt.format, receipt.is_given) == (str(path), example.format, False)
    assert 1 <= len(receipt.examples) <= 3
    assert all(" said: " in sentence for sentence in receipt.examples)
    assert examine(path, example.format, **example.options).receipt.is_given
    assert Receipt.from_dict(receipt.to_dict()) == receipt
    told = {column.name.partition(".")[0] for column in receipt.columns}
    if example.name.endswith(".csv"):
        assert [column.name for column in receipt.columns] == example.content.splitlines()[0].split(",")
    elif isinstance(example.content, list) and isinstance(example.content[0], dict):
        assert told == {key for record in example.content for key in record}
    elif example.name in ("soup.toi", "votes.npy", "confidences.npy", "bare.json"):
        assert not told
    if told and example.format != "patterns":  # whose rows are many cases
        assert {"case"} < {column.role for column in receipt.columns}


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_other_formats_refuse_the_file_by_name(example: Example, tmp_path: Path) -> None:
    path = example.file(tmp_path)
    for name in Format.family.known().keys() - {example.format}:
        if name in ALSO_READ.get(str(example), "").split():
            assert examine(path, name, **example.options).receipt.understood == f"{name} (as said)"
            continue
        with pytest.raises(DissensusError) as caught:
            examine(path, name, **example.options)
        assert str(path) in caught.value.where


def test_every_format_has_an_example_but_that_of_logs_which_need_a_package() -> None:
    assert {example.format for example in EXAMPLES} == set(Format.family.known()) - {"inspect"}


TEXT = [{"id": 1, "text": "hail", "labels": ["ice", "rain"]}]


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("a.jsonl", TEXT, r"fits several formats[^$]*doccano, hugging-face"),
        ("soups", {"soup.toi": PREFLIB, "ines": [{"id": 1, "label": ["ice"]}]}, "several formats[^$]*doccano, preflib"),
        *(
            ("a.json", value, "no known format fits")
            for value in ([], {}, [1, 2], {"a": 1}, "words", [{"id": 1, "text": "no labels"}])
        ),
    ],
)
def test_what_fits_several_formats_or_none_is_refused(file: str, content: Any, problem: str, put: Any) -> None:
    with pytest.raises(DissensusError, match=problem):
        examine(put(content, file))


MATRIX, WIDE = "0.2,0.8\n0.6,0.4\n", "case,a,b\nc1,0.2,0.8\nc2,0.6,0.4\n"
LINES = '{"case": "c1", "ranked": ["b", "a"]}\n{"case": "c2", "ranked": ["a"]}\n'
VALIDATED = {"rankings.csv": "case,annotator,label\nc1,A,x\n", "ratings.csv": "case,annotator,score\nc1,A,3\n"}
PREDICTED = {"wide.csv": WIDE, "wide.txt": WIDE, "matrix.csv": MATRIX, "lines.jsonl": LINES}
PREDICTED["matrix.txt"] = MATRIX.replace(",", " ")


def test_directories_parquet_predictions_and_what_is_refused_or_validated_are_opened_once(
    put: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = next(one for one in EXAMPLES if one.format == "doccano").file(tmp_path)
    assert openings(folder / "ines.jsonl", lambda: examine(folder), monkeypatch) == 1
    place = put(pl.DataFrame({"case": ["c1"], "score": [4.0]}), "a.parquet")
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
            place = put(content, name)
            assert openings(place, act, monkeypatch) == 1, name


def test_the_hash_is_that_of_what_was_read(put: Any, tmp_path: Path) -> None:
    path = put(VALIDATED["rankings.csv"])
    wanted = hashlib.sha256(path.read_bytes()).hexdigest()
    reading = examine(path)
    put("changed")
    assert reading.source.sha256 == wanted
    array = put(np.array([[0.2, 0.8]]), "a.npy")
    found = examine_predictions(array, conditions=["a", "b"], cases=["c1"])
    assert found.source.sha256 == hashlib.sha256(array.read_bytes()).hexdigest()
    assert open_source(tmp_path).sha256 == ""


SEEN_ELSEWHERE = ("train.json", "page.json", "long.json", "bare.json", "confidences.npz", "voted.csv", "mrmcaov.csv")
"""Files whose format and kind of content another example has."""


@pytest.mark.filterwarnings("ignore:alpha is not learned")
@pytest.mark.parametrize(
    "example",
    [
        pytest.param(one, id=str(one), marks=[pytest.mark.slow] if one.name in SEEN_ELSEWHERE else [])
        for one in EXAMPLES
    ],
)
def test_every_format_goes_from_the_file_to_the_report_without_a_converter(example: Example, tmp_path: Path) -> None:
    file, options = example.file(tmp_path), example.options
    study = examine(file, **options).study
    if study.kind == "rankings" and study.n_conditions < 2:
        study = examine(file, **{**options, "conditions": [*study.conditions, "ivy"]}).study
    rng = np.random.default_rng(0)
    names = study.findings if study.kind == "checklists" else study.conditions
    models: Any = {case: dict(zip(names, rng.dirichlet(np.ones(len(names))), strict=True)) for case in study.case_names}
    if study.kind == "ratings":
        models = {case: float(rng.random()) for case in study.case_names}
    (tmp_path / "Fir.json").write_text(json.dumps(models), encoding="utf-8")
    spec = "mean-rating" if study.kind == "ratings" else "dirichlet"
    result = ds.evaluate(study, {"Fir": tmp_path / "Fir.json"}, aggregations=[spec], draws=20, annotators="fixed")
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert study.case_names[0] in page
    assert example.format in page
    assert result.summary()["model"].unique().to_list() == ["Fir"]
