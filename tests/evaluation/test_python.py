"""What people type in a session: data in whatever form it is, results that show themselves, and one number."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dissensus as ds
from dissensus.core.spec import one_spec
from dissensus.plugins import Metric
from refusals import refused

ROWS = [
    (f"c{i}", who, ("benign", "malignant")[(i + (who == "Cy")) % 2]) for i in range(40) for who in ("Ann", "Bo", "Cy")
]
COLUMNS = {name: [row[place] for row in ROWS] for place, name in enumerate(("case", "annotator", "label"))}
STUDY = ds.read(COLUMNS, positive="malignant")
SCORES = np.array([0.2, 0.9] * 20)
QUICK: dict[str, Any] = {"aggregations": ["majority-vote"], "metrics": ["accuracy", "auc"]}


def test_labels_and_ratings_come_as_vectors_too() -> None:
    said = ["malignant", "benign"] * 20
    labels = ds.evaluate(
        STUDY, {"A": said, "B": pd.Series(said, index=list(STUDY.case_names))}, **QUICK | {"metrics": None}
    )
    assert {one.kind for one in labels.predictions.values()} == {"ranking"}
    ratings = ds.Study.from_scores([[1.0, 2.0], [3.0, 5.0]] * 6)
    numbers = ds.evaluate(ratings, {"A": pd.Series([1.5, 4.0] * 6)}, draws=20)
    assert numbers.metrics[0].name == "mean absolute error"


def test_labels_of_many_conditions_and_the_truth_come_in_any_form(tmp_path: Path) -> None:
    names, trees = [f"c{i}" for i in range(12)], ["oak", "elm", "ash"] * 4
    study = ds.read({"case": names * 2, "reader": ["ann"] * 12 + ["bob"] * 12, "label": trees + trees[::-1]})
    frame = pd.DataFrame({"plot": names, "ground_truth": trees})
    frame.to_csv(tmp_path / "truth.csv", index=False)
    known = [tmp_path / "truth.csv", frame, pl.from_pandas(frame), pd.Series(trees, index=names)]
    models = {"list": trees, "array": np.array(trees), "frame": pd.DataFrame({"case": names, "tree": trees})}
    for truth in [dict(zip(names, trees, strict=True)), *known]:
        result = ds.evaluate(study, models, truth=truth, aggregations=["dirichlet"], draws=8)
        assert result.to_frame().filter(estimand="truth", metric="top-1 accuracy")["mean"].to_list() == [1.0] * 3
    refused("truth is not of the right kind", ds.evaluate, study, models, truth=3)


def test_a_study_may_be_a_path_and_models_are_not_needed(tmp_path: Path) -> None:
    pl.DataFrame(COLUMNS).write_csv(tmp_path / "o.csv")
    result = ds.evaluate(tmp_path / "o.csv", draws=20, aggregations=["dirichlet:1"])
    assert result.models == ()
    assert "The annotations settle" in repr(result)


def test_one_number_is_as_easy_as_anywhere() -> None:
    value, low, high = ds.score(STUDY, SCORES, "accuracy")
    row = ds.evaluate(STUDY, {"A": SCORES}, **QUICK).to_frame().filter(metric="top-1 accuracy", estimand="agreement")
    assert (value, low, high) == pytest.approx(row.select("mean", "low", "high").row(0))
    assert ds.score(STUDY, SCORES, "auc", against="majority").value == pytest.approx(1.0)
    refused("unknown metric 'acuracy'", ds.score, STUDY, SCORES, "acuracy")


@pytest.fixture(scope="module")
def result() -> ds.Evaluation:
    models = {"<b>A": SCORES, "B": 1 - SCORES, "C": np.roll(SCORES, 1) * 0.5 + 0.2}
    return ds.evaluate(STUDY, models, annotators="fixed", **QUICK)


def test_a_pair_is_compared_in_one_row_verdict_first(result: ds.Evaluation) -> None:
    found = result.compare("B", "<b>A", margin=0.02)
    assert len(found.differences) == 1
    assert (found.differences[0].first, found.differences[0].outcome) == ("B", "worse")
    assert found.summary().columns[0] == "verdict"
    assert "<b>A is better than B." in repr(found)
    refused("there is no model 'Z'", result.compare, "B", "Z")
    refused("two models", result.compare, "B")


def test_every_result_shows_itself_in_twenty_lines_and_escapes_names(result: ds.Evaluation) -> None:
    assert result.experts is not None
    shown: dict[str, Any] = {
        "evaluation": result,
        "comparison": result.compare(),
        "experts": result.experts,
        "calibration": ds.calibrate(STUDY, ["dirichlet:1,3"], draws=40),
        "study": STUDY,
        "plausibilities": ds.aggregations.Dirichlet().sample(STUDY, draws=20),
        "predictions": result.predictions["B"],
        "certainty": ds.certainty.annotation_certainty(ds.aggregations.Dirichlet().sample(STUDY, draws=20)),
    }
    for name, one in shown.items():
        assert 1 <= len(repr(one).splitlines()) <= 20, name
        page = one._repr_html_()
        assert "<b>A" not in page, name
        assert "color" not in page, name  # light and dark are those of the notebook
        assert page.startswith("<"), name


def test_numbers_for_trackers_are_flat(result: ds.Evaluation) -> None:
    found = result.to_metrics()
    assert found["B/top-1 accuracy/agreement"] == pytest.approx(result.summary().filter(model="B")["agreement"][0])
    assert all(isinstance(value, float) and np.isfinite(value) for value in found.values())


def test_the_report_and_the_figure_are_one_call(result: ds.Evaluation, tmp_path: Path) -> None:
    result.report(tmp_path / "page.html", title="Mine")
    assert "<h1>Mine</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert result.plot().to_dict() == result.plot.estimands().to_dict()
    assert ds.evaluate(STUDY, draws=20, aggregations=["dirichlet:1"]).plot() is not None


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("accuracy", "top-1 accuracy"),
        ("Top-3 Accuracy", "top-3 accuracy"),
        ("top 2 set accuracy", "top-2 set accuracy"),
        ("auc", "AUROC"),
        ("f1", "F1"),
        ("kappa", "Cohen's kappa"),
        ("mae", "mean absolute error"),
        ("sensitivity at 0.3", "sensitivity at 0.3"),
        ("recall:0.3", "sensitivity at 0.3"),
    ],
)
def test_a_metric_goes_by_its_usual_names_and_those_of_results(asked: str, name: str) -> None:
    spec: Any = one_spec(Metric.family, asked)
    assert spec.name == name
    assert one_spec(Metric.family, name) == spec


def test_every_metric_is_found_by_the_name_that_results_give_it() -> None:
    whole = [kind for kind in Metric.family.known().values() if not kind.given]
    for kind in whole:
        sized = {"k": 2} if kind.id in ("kendall-tau", "spearman-footrule") else {}
        metric = kind.from_parameters({"threshold": 0.3} if kind.id == "net-benefit" else sized)
        assert one_spec(Metric.family, metric.name).name == metric.name
    assert len(whole) > 40
