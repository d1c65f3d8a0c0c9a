"""Electrocardiograms with six findings (Ribeiro et al. 2020): the whole way from files to results and a report.

Cardiologists, residents and students ticked what they saw, three networks scored every finding, and there is an
adjudicated gold standard that the evaluation never sees.
"""

import warnings
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score, f1_score, recall_score, roc_auc_score

import dissensus as ds
from dissensus.core.arrays import FloatArray
from shared_data import SHARED, needs_shared

pytestmark = [needs_shared, pytest.mark.filterwarnings("ignore::dissensus.core.errors.DissensusWarning")]

FOLDER = SHARED / "ecg"
FINDINGS = ("1dAVb", "RBBB", "LBBB", "SB", "AF", "ST")
NETWORKS = ("model", "model_1", "model_5")
METRICS = ["auroc", "average-precision", "f-beta", "sensitivity", "specificity", "subset-accuracy"]


@cache
def said() -> ds.Study:
    return ds.read(FOLDER / "opinions_ties.csv", "checklist", conditions=FINDINGS, nothing="none of the six")


def sexes() -> dict[str, list[str]]:
    known = dict(pl.read_csv(FOLDER / "attributes.csv").select(pl.col("case").cast(pl.String), "sex").iter_rows())
    return {"sex": [str(known[name]) for name in said().case_names]}


@cache
def evaluation() -> ds.Evaluation:
    models = {name: ds.read_predictions(FOLDER / f"pred_{name}.csv", name=name, findings=True) for name in NETWORKS}
    how: dict[str, Any] = {"aggregations": ["dirichlet:1", "majority-vote"], "strata": sexes(), "annotators": "fixed"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ds.DissensusWarning)
        return ds.evaluate(said(), models, metrics=METRICS, draws=150, threads=1, **how)


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
            (name, "F1 at 0.5", f1_score(truth, calls, average="macro")),
            (name, "sensitivity at 0.5", recall_score(truth, calls, average="macro")),
            (
                name,
                "specificity at 0.5",
                np.mean([recall_score(t, c, pos_label=0) for t, c in zip(truth.T, calls.T, strict=True)]),
            ),
            (name, "subset accuracy at 0.5", float((truth == calls).all(axis=1).mean())),
        ]
    return pl.DataFrame(rows, schema=["model", "metric", "gold"], orient="row")


@pytest.mark.slow
def test_the_panel_holds_the_gold_standard_and_is_nearer_to_it_than_the_majority_vote() -> None:
    assert (said().findings, said().n_cases, evaluation().n_excluded) == (FINDINGS, 827, 0)
    is_vote = pl.col("run") == "majority-vote"
    number = pl.when(is_vote).then(pl.lit("majority vote")).otherwise("estimand")
    away = (pl.col("mean") - pl.col("gold")).abs()
    held = evaluation().to_frame().join(gold(), on=["model", "metric"]).with_columns(number=number, away=away)
    panel = held.filter(number="panel")
    assert len(panel) == len(NETWORKS) * len(METRICS)
    assert panel.filter(pl.col("gold").is_between("low", "high")).height >= 16
    areas = panel.filter(metric="AUROC")
    assert (areas["gold"].is_between(areas["low"], areas["high"])).all()
    assert areas["away"].to_numpy().max() < 0.0005
    votes = held.filter(metric="AUROC", number="majority vote")
    assert areas["away"].to_numpy().mean() < 0.5 * votes["away"].to_numpy().mean()


@pytest.mark.slow
def test_findings_and_strata_are_reported_by_group() -> None:
    by_finding = evaluation().by_group("finding")
    assert set(by_finding["stratum"]) == set(FINDINGS)
    assert set(evaluation().by_group("sex")["stratum"]) == {"F", "M"}
    whole = evaluation().to_frame().filter(run="panel", metric="AUROC", model="model")["mean"].item()
    parts = by_finding.filter(run="panel", metric="AUROC", model="model")["mean"]
    assert whole == pytest.approx(parts.mean(), abs=1e-3)


# Readers beside networks -----------------------------------------------------------------------------------


@cache
def found() -> ds.Experts:
    model = ds.read_predictions(FOLDER / "pred_model.csv", name="network", findings=True)
    return ds.experts(said(), {"network": model}, margin=0.05, called="reader", strata=sexes())


def sensitivity(yes: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean((yes * truth).sum(axis=0) / truth.sum(axis=0)))


def test_a_threshold_of_one_half_is_too_strict_and_the_curve_meets_the_readers() -> None:
    """At 0.5 the network misses more than readers do; at their specificity it does not, here as against the truth."""
    rows = {row["metric"]: row for row in found().rows}
    assert found().n_cases == 827
    assert found().primary == "sensitivity at the specificity of one reader"
    assert rows["sensitivity"]["difference_high"] < 0
    at_half = rows["sensitivity"]["difference"]
    point = found().row("network")
    assert at_half < -0.1 < point["difference_low"] - at_half
    assert abs(point["difference"]) < 0.05
    truth, scores = table("gold.csv"), table("pred_model.csv")
    readers = dict(
        zip(said().annotator_names, said().answers.reshape(-1, 5, len(FINDINGS)).swapaxes(0, 1), strict=True)
    )
    assert sensitivity(scores > 0.5, truth) < np.mean([sensitivity(yes, truth) for yes in readers.values()])


def test_every_reader_is_scored_and_subgroups_are_findings_and_sex() -> None:
    own = found().annotators().filter(metric="specificity")
    assert set(own["annotator"]) == set(said().annotator_names)
    strictest, mildest = own.sort("agreement")["annotator"].to_list()[-1], own.sort("agreement")["annotator"][0]
    assert (strictest[:12], mildest) == ("cardiologist", "medical_students")
    groups = found().by_stratum().filter(metric=found().primary)
    assert set(groups.filter(column="finding")["stratum"]) == set(FINDINGS)
    assert groups.filter(column="sex")["n_cases"].sum() == 827
    assert (groups["p_adjusted"] >= groups["p_value"]).all()
