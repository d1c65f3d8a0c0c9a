"""Electrocardiograms (Ribeiro et al. 2020): the loader, and the whole way from the published files to results."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score, f1_score, recall_score, roc_auc_score

import dissensus as ds
from dissensus.core.arrays import FloatArray
from dissensus.core.errors import DissensusError
from paper.data import fetch_ecg, load_ecg
from paper.data.ecg import FINDINGS, Ecg
from shared_data import SHARED, needs_shared

METRICS = ["auroc", "average-precision", "f-beta", "sensitivity", "specificity", "subset-accuracy"]
HEAD = "case,1dAVb,RBBB,LBBB,SB,AF,ST\n"
FILES = {
    "opinions_ties.csv": "case,annotator,condition\na,A,none of the six\na,B,AF\na,B,RBBB\nb,A,SB\n"
    "b,B,none of the six\n",
    "gold.csv": HEAD + "a,0,1,0,0,1,0\nb,0,0,0,0,0,0\n",
    "attributes.csv": "case,age,sex\nb,71,F\na,39,M\n",
    **dict.fromkeys(
        ("pred_model.csv", "pred_model_1.csv", "pred_model_5.csv"), HEAD + "b,0,0,0,0,0,0\na,0,0.5,0,0,0.9,0\n"
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_checklists_networks_and_strata_are_aligned(folder: Path) -> None:
    data = load_ecg(folder)
    assert data.checklists.to_sets() == [[set(), {"AF", "RBBB"}], [{"SB"}, set()]]
    assert data.checklists.findings == ("1dAVb", "RBBB", "LBBB", "SB", "AF", "ST")
    assert data.predictions["model_5"].to_scores()[0].tolist() == [0, 0.5, 0, 0, 0.9, 0]
    assert data.strata == {"age": ("under 40", "65 and over"), "sex": ("M", "F")}
    assert data.gold["AF"].to_list() == [1, 0]
    assert data.notes[0].count == 6


def test_missing_files_and_columns_are_named(folder: Path) -> None:
    (folder / "attributes.csv").write_text("case,age\na,1\n", encoding="utf-8")
    with pytest.raises(DissensusError, match="not a table of the ECG data") as caught:
        load_ecg(folder)
    assert "'sex'" in caught.value.got
    (folder / "gold.csv").unlink()
    with pytest.raises(DissensusError, match="files of the ECG data are missing"):
        load_ecg(folder)
    with pytest.raises(DissensusError, match="cannot be fetched"):
        fetch_ecg()


@needs_shared
def test_the_published_files_hold_every_annotator_on_every_case() -> None:
    data = load_ecg(SHARED / "ecg")
    said = data.checklists
    assert (said.n_cases, said.n_opinions, said.n_findings) == (827, 4135, 6)
    assert not said.is_abstention.any()
    assert said.unannotated == ()
    assert (said.panel.annotators_per_case == 5).all()
    assert int((said.present_per_checklist == 0).sum()) == 3434
    assert data.notes == ()
    assert {name: model.n_cases for name, model in data.predictions.items()} == dict.fromkeys(
        ("model", "model_1", "model_5"), 827
    )
    assert data.gold.select(said.findings).to_numpy().sum(axis=0).tolist() == [28, 34, 30, 16, 13, 37]


# The whole way: from files to results, against the gold standard, which the evaluation never sees ------------------


@cache
def published() -> Ecg:
    return load_ecg(SHARED / "ecg")


@cache
def gold() -> FloatArray:
    """Return the gold standard in the order of the cases of the study."""
    table = published().gold
    rows = dict(zip(table["case"].cast(str), table.select(FINDINGS).to_numpy(), strict=True))
    return np.stack([rows[name] for name in published().checklists.case_names]).astype(float)


@cache
def evaluation() -> ds.Evaluation:
    data = published()
    how: dict[str, Any] = {"aggregations": ["dirichlet:1", "majority-vote"], "annotators": "fixed"}
    how["strata"] = {"sex": data.strata["sex"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ds.DissensusWarning)
        return ds.evaluate(data.checklists, data.predictions, metrics=METRICS, draws=150, threads=1, **how)


def against_gold() -> pl.DataFrame:
    """Hold networks against the gold standard, with scikit-learn."""
    truth, rows = gold().astype(int), []
    for name, model in published().predictions.items():
        scores = model.to_scores()
        calls = (scores > 0.5).astype(int)
        specificities = [recall_score(t, c, pos_label=0) for t, c in zip(truth.T, calls.T, strict=True)]
        rows += [
            (name, "AUROC", roc_auc_score(truth, scores, average="macro")),
            (name, "average precision", average_precision_score(truth, scores, average="macro")),
            (name, "F1 at 0.5", f1_score(truth, calls, average="macro")),
            (name, "sensitivity at 0.5", recall_score(truth, calls, average="macro")),
            (name, "specificity at 0.5", np.mean(specificities)),
            (name, "subset accuracy at 0.5", float((truth == calls).all(axis=1).mean())),
        ]
    return pl.DataFrame(rows, schema=["model", "metric", "gold"], orient="row")


@needs_shared
@pytest.mark.slow
def test_the_panel_holds_the_gold_standard_and_is_nearer_to_it_than_the_majority_vote() -> None:
    assert evaluation().n_excluded == 0
    is_vote = pl.col("run") == "majority-vote"
    number = pl.when(is_vote).then(pl.lit("majority vote")).otherwise("estimand")
    away = (pl.col("mean") - pl.col("gold")).abs()
    held = evaluation().to_frame().join(against_gold(), on=["model", "metric"]).with_columns(number=number, away=away)
    panel = held.filter(number="panel")
    assert len(panel) == 3 * len(METRICS)
    assert panel.filter(pl.col("gold").is_between("low", "high")).height >= 16
    areas = panel.filter(metric="AUROC")
    assert (areas["gold"].is_between(areas["low"], areas["high"])).all()
    assert areas["away"].to_numpy().max() < 0.0005
    votes = held.filter(metric="AUROC", number="majority vote")
    assert areas["away"].to_numpy().mean() < 0.5 * votes["away"].to_numpy().mean()


@needs_shared
@pytest.mark.slow
def test_findings_and_strata_are_reported_by_group() -> None:
    by_finding = evaluation().by_group("finding")
    assert set(by_finding["stratum"]) == set(FINDINGS)
    assert set(evaluation().by_group("sex")["stratum"]) == {"F", "M"}
    whole = evaluation().to_frame().filter(run="panel", metric="AUROC", model="model")["mean"].item()
    parts = by_finding.filter(run="panel", metric="AUROC", model="model")["mean"]
    assert whole == pytest.approx(parts.mean(), abs=1e-3)


@cache
def beside_readers() -> ds.Experts:
    data = published()
    how: dict[str, Any] = {"margin": 0.05, "called": "reader", "strata": {"sex": data.strata["sex"]}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ds.DissensusWarning)
        return ds.experts(data.checklists, {"network": data.predictions["model"]}, **how)


def sensitivity(yes: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean((yes * truth).sum(axis=0) / truth.sum(axis=0)))


@needs_shared
def test_a_threshold_of_one_half_is_too_strict_and_the_curve_meets_the_readers() -> None:
    """At 0.5 the network misses more than readers do; at their specificity it does not, here as against the truth."""
    found, said = beside_readers(), published().checklists
    rows = {row["metric"]: row for row in found.rows}
    assert found.n_cases == 827
    assert found.primary == "sensitivity at the specificity of one reader"
    assert rows["sensitivity"]["difference_high"] < 0
    at_half = rows["sensitivity"]["difference"]
    point = found.row("network")
    assert at_half < -0.1 < point["difference_low"] - at_half
    assert abs(point["difference"]) < 0.05
    readers = said.answers.reshape(-1, 5, len(FINDINGS)).swapaxes(0, 1)
    scores = published().predictions["model"].to_scores()
    assert sensitivity(scores > 0.5, gold()) < np.mean([sensitivity(yes, gold()) for yes in readers])


@needs_shared
def test_every_reader_is_scored_and_subgroups_are_findings_and_sex() -> None:
    found = beside_readers()
    own = found.annotators().filter(metric="specificity")
    assert set(own["annotator"]) == set(published().checklists.annotator_names)
    strictest, mildest = own.sort("agreement")["annotator"].to_list()[-1], own.sort("agreement")["annotator"][0]
    assert (strictest[:12], mildest) == ("cardiologist", "medical_students")
    groups = found.by_stratum().filter(metric=found.primary)
    assert set(groups.filter(column="finding")["stratum"]) == set(FINDINGS)
    assert groups.filter(column="sex")["n_cases"].sum() == 827
    assert (groups["p_adjusted"] >= groups["p_value"]).all()
