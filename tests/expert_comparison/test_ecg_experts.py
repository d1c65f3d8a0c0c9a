"""Electrocardiograms with six findings: readers beside networks, agreement and truth side by side."""

from functools import cache

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from dissensus.evaluation.expert_comparison.experts import Experts
from shared_data import SHARED, needs_shared

pytestmark = [needs_shared, pytest.mark.filterwarnings("ignore::dissensus.core.errors.DissensusWarning")]

FOLDER = SHARED / "ecg"
FINDINGS = ("1dAVb", "RBBB", "LBBB", "SB", "AF", "ST")


@cache
def said() -> ds.Study:
    return ds.read(FOLDER / "opinions_ties.csv", "checklist", conditions=FINDINGS, nothing="none of the six")


@cache
def found() -> Experts:
    model = ds.read_predictions(FOLDER / "pred_model.csv", name="network", findings=True)
    sexes = {str(row["case"]): row["sex"] for row in pl.read_csv(FOLDER / "attributes.csv").iter_rows(named=True)}
    strata = {"sex": [sexes[name] for name in said().case_names]}
    return ds.experts(said(), {"network": model}, margin=0.05, called="reader", strata=strata)


def table(name: str) -> np.ndarray:
    frame = pl.read_csv(FOLDER / name)
    rows = {str(case): row for case, row in zip(frame["case"], frame.select(FINDINGS).to_numpy(), strict=True)}
    return np.stack([rows[case] for case in said().case_names]).astype(float)


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
