"""What people have on the first day, from data in memory, pipes and spreadsheets to results, without a converter."""

import importlib.util
import io
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dissensus as ds
from dissensus.core.errors import MissingExtraError
from dissensus.core.files import open_source

TREES = pl.DataFrame(
    {
        "case": ["c1", "c1", "c2", "c2", "c3", "c3"],
        "reader": ["ann", "bob"] * 3,
        "label": ["oak", "elm", "elm", "elm", "oak", "oak"],
    }
)


# What is in memory, and pipes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        TREES,
        TREES.to_pandas(),
        TREES.to_arrow(),
        TREES.to_dict(as_series=False),
        TREES.to_dicts(),
        {
            "annotators": {
                "ann": {"c1": "oak", "c2": "elm", "c3": "oak"},
                "bob": {"c1": "elm", "c2": "elm", "c3": "oak"},
            }
        },
        pd.DataFrame({"ann": ["oak", "elm", "oak"], "bob": ["elm", "elm", "oak"]}, index=["c1", "c2", "c3"]),
    ],
    ids=["polars", "pandas", "arrow", "columns", "records", "JSON", "index"],
)
def test_data_in_memory_are_read_like_files(given: Any) -> None:
    said = ds.read(given)
    assert said.case_names == ("c1", "c2", "c3")
    assert said.annotator_names == ("ann", "bob")
    assert said.to_rankings() == [[[["oak"]], [["elm"]]], [[["elm"]], [["elm"]]], [[["oak"]], [["oak"]]]]


@pytest.mark.parametrize("given", [3, None, {1, 2}, object(), b"case", {"a": object()}, pl.DataFrame().lazy()])
def test_what_is_no_data_is_refused(given: Any) -> None:
    with pytest.raises(ds.DissensusError):
        ds.read(given)


def test_standard_input_and_pipes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = TREES.write_csv().encode()
    for data in (table, json.dumps(TREES.to_dicts()).encode(), table.replace(b",", b"\t")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert ds.examine("-").study == ds.read(TREES)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(ds.DissensusError, match="the file is empty") as caught:
        ds.read("-")
    assert caught.value.where == "standard input"
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(table,))
    writer.start()
    assert ds.read(pipe) == ds.read(TREES)
    writer.join()


def test_links_that_lead_nowhere_are_said_to(tmp_path: Path) -> None:
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "nothing.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    for name in ("dangling.csv", "loop.csv"):
        with pytest.raises(ds.DissensusError, match="the link leads to no file"):
            ds.read(tmp_path / name)


# Spreadsheets -------------------------------------------------------------------------------------------


def test_a_sheet_is_read_and_several_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(tmp_path / "opinions.xlsx")
    TREES.write_excel(book, "opinions")
    pl.DataFrame({"case": ["c1", "c2", "c3"], "oak": [0.5, 1, 0.25], "elm": [0.5, 0, 0.75]}).write_excel(book, "model")
    book.add_worksheet("empty")
    book.close()
    with pytest.raises(ds.DissensusError, match="several sheets") as caught:
        ds.read(tmp_path / "opinions.xlsx")
    assert "'opinions', 'model', 'empty'" in caught.value.got
    assert caught.value.advice.startswith("say which: --sheet opinions")
    assert ds.read(tmp_path / "opinions.xlsx", sheet="opinions") == ds.read(TREES)
    model = ds.read_predictions(tmp_path / "opinions.xlsx", sheet="model")
    assert model.to_scores().tolist() == [[0.5, 0.5], [1, 0], [0.25, 0.75]]
    study = ds.read(tmp_path / "opinions.xlsx", sheet="opinions")
    ds.evaluate(study, {"Fir": model}, draws=20).report(tmp_path / "report.html")
    assert "Fir" in (tmp_path / "report.html").read_text(encoding="utf-8")
    with pytest.raises(ds.DissensusError, match="no such sheet"):
        ds.read(tmp_path / "opinions.xlsx", sheet="other")
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(MissingExtraError, match="fastexcel is needed") as lacking:
        ds.read(tmp_path / "opinions.xlsx")
    assert lacking.value.advice == "pip install 'dissensus[excel]'"


# Inspect ------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # of its own
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is None, reason="inspect-ai is not installed")
def test_a_log_of_inspect_by_its_own_mock_model(tmp_path: Path) -> None:
    from inspect_ai import Task, eval  # noqa: A004
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import includes, match

    said = [ModelOutput.from_content("mockllm/model", word) for word in ("yes", "no", "yes", "no")]
    for output in said:
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    task = Task(
        dataset=[Sample(id=f"c{i}", input="?", target="yes") for i in (1, 2)], scorer=[match(), includes()], epochs=2
    )
    model = get_model("mockllm/model", custom_outputs=said)
    eval(task, model=model, log_dir=str(tmp_path), display="none", max_samples=1)
    path = next(tmp_path.glob("*.eval"))
    reading = ds.examine(path)
    assert (reading.receipt.format, reading.study.question) == ("inspect", "binary")
    assert (reading.study.conditions, reading.study.annotator_names) == (("I", "C"), ("match", "includes"))
    by_epoch = ds.read(path, columns={"annotator": "epoch", "condition": "answer"}, only={"scorer": "match"})
    assert by_epoch.annotator_names == ("1", "2")
    assert set(by_epoch.conditions) == {"yes", "no"}
    answers = ds.read_predictions(path, only={"epoch": "1"}, conditions=["no", "yes"])
    assert answers.case_names == ("c1", "c2")
    ds.evaluate(by_epoch, {"model": answers}, draws=20).report(tmp_path / "report.html")
    assert "c1" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_log_of_inspect_needs_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    (tmp_path / "a.eval").write_bytes(b"PK\x03\x04")
    with pytest.raises(MissingExtraError, match="inspect_ai is needed") as caught:
        ds.read(tmp_path / "a.eval")
    assert caught.value.advice == "pip install 'dissensus[inspect]'"


# Predictions --------------------------------------------------------------------------------------------


def test_a_vector_is_enough_for_yes_or_no(tmp_path: Path) -> None:
    study = ds.read(
        {"case": ["c1", "c1", "c2"], "reader": ["a", "b", "a"], "label": ["Benign", "malignant", "malignant"]}
    )
    assert (study.question, study.conditions) == ("binary", ("Benign", "malignant"))
    (tmp_path / "p.csv").write_text("case,p\nc2,0.9\nc1,0.4\n", encoding="utf-8")
    vectors: dict[str, Any] = {
        "list": [0.4, 0.9],
        "array": np.array([0.4, 0.9]),
        "polars": pl.Series([0.4, 0.9]),
        "pandas": pd.Series([0.9, 0.4], index=["c2", "c1"]),
        "file": tmp_path / "p.csv",
        "frame": pl.read_csv(tmp_path / "p.csv"),
    }
    result = ds.evaluate(study, vectors, aggregations=["dirichlet"], draws=8)
    for model in result.predictions.values():
        assert model.to_scores()[:, 1].tolist() == [0.4, 0.9]
    with pytest.raises(ds.DissensusError, match="number of scores"):
        ds.evaluate(study, {"A": [0.4]}, draws=8)


def test_decisions_of_findings_are_measured() -> None:
    study = ds.Study.from_sets([[["AF"], ["AF", "ST"]], [[], ["ST"]]], ["AF", "ST"], case_names=["a", "b"])
    decided = pl.DataFrame({"case": ["a", "b"], "AF": [1, 0], "ST": [0, 1]})
    result = ds.evaluate(study, {"A": decided}, aggregations=["dirichlet"], draws=8)
    assert [metric.name for metric in result.metrics] == ["sensitivity", "specificity", "F1", "top-1 accuracy"]


# Roles, rows and types of columns ------------------------------------------------------------------------


def refused(given: Any, *words: str, **options: Any) -> ds.DissensusError:
    with pytest.raises(ds.DissensusError) as caught:
        ds.read(given, **options)
    assert all(word in str(caught.value) for word in words), caught.value
    return caught.value


@pytest.mark.parametrize(
    "values", [[b"x"], [{"a": 1}], pl.Series([1], dtype=pl.Duration)], ids=["bytes", "struct", "time"]
)
def test_columns_that_are_neither_text_nor_numbers_are_named(values: Any) -> None:
    odd = TREES.head(1).with_columns(pl.Series("odd", values))
    error = refused(odd, "the column 'odd'")
    assert error.advice.endswith("--ignore odd (ignore=['odd'])")
    assert ds.read(odd, ignore=["odd"]).n_cases == 1


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["oak", "elm"])])
def test_categories_of_a_frame_are_names(dtype: Any) -> None:
    assert ds.read(TREES.with_columns(pl.col("label").cast(dtype))) == ds.read(TREES)


# Names --------------------------------------------------------------------------------------------------


def test_names_that_look_alike_are_noted_and_those_that_differ_are_not() -> None:
    study = ds.Study.from_rankings(
        [[[["HER2+"]], [["HER2-"]]], [[["HER2+"]], [["HER2-"]]]], case_names=["1", "01"], annotator_names=["b", "b "]
    )
    remarks = ds.diagnose(study).remarks()
    assert [one for one in remarks if "alike" in one] == [
        "cases '1' and '01' look alike: one name spelt twice?",
        "annotators 'b' and 'b ' look alike: one name spelt twice?",
    ]


# Kinds of questions ---------------------------------------------------------------------------------------


def test_bare_labels_have_no_metrics_of_sets_by_default() -> None:
    bare = ds.Study.from_counts([[2, 1, 0], [0, 1, 2]], ["a", "b", "c"])
    ranked = ds.Study.from_rankings([[[["a"], ["b"]]], [[["c"], ["a"]]]], ["a", "b", "c"])
    for study, has_sets in ((bare, False), (ranked, True)):
        result = ds.evaluate(study, {"A": np.eye(3)[:2]}, aggregations=["dirichlet"], draws=8)
        assert any("set" in metric.name for metric in result.metrics) == has_sets


# Memory ---------------------------------------------------------------------------------------------------


def test_shapes_are_compared_with_names_before_anything_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    np.savez_compressed(
        path, probs=np.zeros((30_000, 500), dtype=np.float64), case_ids=np.array(["a", "b"]), classes=np.array(["x"])
    )
    with pytest.raises(ds.DissensusError, match="names do not fit"):
        open_source(path)
