"""Electrocardiograms with six findings (Ribeiro et al. 2020): the whole way from files to results and a report.

Cardiologists, residents and students ticked what they saw, three networks scored every finding, and there is an
adjudicated gold standard that the evaluation never sees.
"""

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score, f1_score, recall_score, roc_auc_score

import dissensus as ds
from dissensus.core.aliases import FloatArray
from dissensus.report.page import report_html
from shared_data import SHARED, needs_shared

pytestmark = [needs_shared, pytest.mark.filterwarnings("ignore::dissensus.core.errors.DissensusWarning")]

FOLDER = SHARED / "ecg"
FINDINGS = ("1dAVb", "RBBB", "LBBB", "SB", "AF", "ST")
NETWORKS = ("model", "model_1", "model_5")
METRICS = ["auroc", "average-precision", "f-beta", "sensitivity", "specificity", "subset-accuracy"]


@cache
def said() -> ds.Study:
    return ds.read(FOLDER / "opinions_ties.csv", "checklist", conditions=FINDINGS, nothing="none of the six")


@cache
def evaluation() -> ds.Evaluation:
    study = said()
    models = {name: ds.read_predictions(FOLDER / f"pred_{name}.csv", name=name, findings=True) for name in NETWORKS}
    known = {str(row["case"]): row for row in pl.read_csv(FOLDER / "attributes.csv").iter_rows(named=True)}
    strata = {"sex": [str(known[name]["sex"]) for name in study.case_names]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ds.DissensusWarning)
        return ds.evaluate(
            study,
            models,
            aggregations=["dirichlet:1", "majority-vote"],
            metrics=METRICS,
            strata=strata,
            draws=300,
            annotators="fixed",
            threads=1,
        )


def table(path: str) -> FloatArray:
    """Return a table of findings in the order of the cases of the study."""
    frame = pl.read_csv(FOLDER / path)
    rows = {str(name): row for name, row in zip(frame["case"], frame.select(FINDINGS).to_numpy(), strict=True)}
    return np.stack([rows[name] for name in said().case_names]).astype(float)


@cache
def gold() -> pl.DataFrame:
    """Hold networks against the gold standard, with scikit-learn."""
    truth, rows = table("gold.csv").astype(int), []
    for name in NETWORKS:
        scores = table(f"pred_{name}.csv")
        calls = (scores > 0.5).astype(int)
        rows += [
            (name, "AUROC", roc_auc_score(truth, scores, average="macro")),
            (name, "average precision", average_precision_score(truth, scores, average="macro")),
            (name, "F1", f1_score(truth, calls, average="macro")),
            (name, "sensitivity", recall_score(truth, calls, average="macro")),
            (
                name,
                "specificity",
                np.mean([recall_score(t, c, pos_label=0) for t, c in zip(truth.T, calls.T, strict=True)]),
            ),
            (name, "subset accuracy", float((truth == calls).all(axis=1).mean())),
        ]
    return pl.DataFrame(rows, schema=["model", "metric", "gold"], orient="row")


def held_against_gold() -> pl.DataFrame:
    """Put every estimate beside the gold standard: mean distance, and share of intervals that hold it, by metric."""
    found = evaluation().to_frame().join(gold(), on=["model", "metric"])
    number = pl.when(pl.col("run") == "majority-vote").then(pl.lit("majority vote")).otherwise("estimand")
    return found.with_columns(number=number)


def test_nothing_found_is_an_opinion_and_no_finding() -> None:
    study = said()
    assert study.findings == FINDINGS
    assert study.n_cases == 827
    assert evaluation().n_excluded == 0


def test_macro_areas_of_the_panel_are_those_of_the_gold_standard() -> None:
    panel = held_against_gold().filter(number="panel", metric="AUROC")
    assert len(panel) == len(NETWORKS)
    assert (panel["gold"].is_between(panel["low"], panel["high"])).all()
    assert np.abs((panel["mean"] - panel["gold"]).to_numpy()).max() < 0.0005


def test_the_panel_is_nearer_to_the_gold_standard_than_the_majority_vote() -> None:
    areas = held_against_gold().filter(metric="AUROC")
    distance = {
        str(number): float(np.abs((part["mean"] - part["gold"]).to_numpy()).mean())
        for (number,), part in areas.group_by("number")
    }
    assert distance["panel"] < 0.5 * distance["majority vote"]


def test_most_intervals_of_the_panel_hold_the_gold_standard() -> None:
    panel = held_against_gold().filter(number="panel")
    assert len(panel) == len(NETWORKS) * len(METRICS)
    assert panel.filter(pl.col("gold").is_between("low", "high")).height >= 16


def test_findings_and_strata_are_reported_by_group(tmp_path: Path) -> None:
    by_finding = evaluation().by_group("finding")
    assert set(by_finding["stratum"]) == set(FINDINGS)
    assert set(evaluation().by_group("sex")["stratum"]) == {"F", "M"}
    whole = evaluation().to_frame().filter(run="panel", metric="AUROC", model="model")["mean"].item()
    parts = by_finding.filter(run="panel", metric="AUROC", model="model")["mean"]
    assert whole == pytest.approx(parts.mean(), abs=1e-3)
    page = report_html(evaluation())
    assert all(finding in page for finding in FINDINGS)
    evaluation().save(tmp_path / "results")
    assert ds.load(tmp_path / "results") == evaluation()
