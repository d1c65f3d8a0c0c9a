"""Intervals of metrics of a whole data set hold as often as they say, on simulated studies with a known truth.

Studies of 250 cases with three annotators each, two models, AUROC, sensitivity and F1 against what a large panel says
most often. ``make data-set-trials`` tries far more; 40 studies with fixed seeds tell intervals that hold from those
that are half as wide. Of the models and metrics of a study, which go together, the share that holds has a standard
deviation of about 0.14, of their differences 0.25: were the intervals exact, a mean over 40 studies would be below 0.77
for another choice of seeds once in 100 000 times, of differences once in a thousand times. Intervals half as wide hold
in about 60 %.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

from dissensus.core.arrays import FloatArray
from dissensus.metrics import AUROC, FBeta, Sensitivity
from dissensus.metrics.data_set import DataSetMetric, Said
from paper.trials.coverage import DIFFERENCE, MODEL
from paper.trials.data_set_trials import rows_of_study, truths_of
from paper.trials.severity import Setting

pytestmark = pytest.mark.slow
N_STUDIES, LEAST, MOST = 40, 0.77, 0.99
SETTING = Setting("plain", "binary", 3, 0.4, n_cases=250)


@cache
def studies(first: int = 0, end: int = N_STUDIES) -> pl.DataFrame:
    truths = truths_of(SETTING, SETTING.drawn(200_000, (0,)))
    rows = [
        {"study": number, **row}
        for number in range(first, end)
        for row in rows_of_study(SETTING, truths, seed=(1, number), draws=60)
    ]
    return pl.DataFrame(rows).filter(number="panel")


def held(rows: pl.DataFrame, *, factor: float = 1.0) -> float:
    """Return the share of intervals that hold the truth about all cases, made narrower by a factor."""
    middle, half = (pl.col("low") + pl.col("high")) / 2, factor * (pl.col("high") - pl.col("low")) / 2
    inside = pl.col("everywhere").is_between(middle - half, middle + half)
    return float(rows.select(inside.mean()).item())


@pytest.mark.parametrize("kind", [MODEL, DIFFERENCE])
def test_intervals_of_the_panel_hold(kind: str) -> None:
    assert LEAST < held(studies().filter(kind=kind)) < MOST


def test_half_as_wide_they_would_not_hold() -> None:
    assert held(studies().filter(kind=MODEL), factor=0.5) < LEAST


def test_estimates_of_the_panel_are_right_on_average() -> None:
    for (metric,), rows in studies().filter(kind=MODEL).group_by("metric"):
        gaps = rows.group_by("study").agg(gap=(pl.col("estimate") - pl.col("everywhere")).mean())["gap"].to_numpy()
        # of metrics without bias, 3.5 standard errors fail once in 700 times for any of three
        assert abs(gaps.mean()) < 3.5 * gaps.std() / np.sqrt(N_STUDIES), metric


@pytest.mark.parametrize("metric", [AUROC, Sensitivity, FBeta])
def test_without_slopes_they_would_be_far_too_narrow(metric: type, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = studies().filter(kind=MODEL, metric=metric().name)

    def none(self: DataSetMetric, said: Said, labels: FloatArray) -> FloatArray:  # noqa: ARG001
        return np.zeros(labels.shape)

    monkeypatch.setattr(metric, "slopes", none)
    narrow = studies.__wrapped__(0, 3).filter(kind=MODEL, metric=metric().name)
    width = pl.col("high") - pl.col("low")
    assert narrow.select(width.mean()).item() < 0.6 * usual.select(width.mean()).item()
