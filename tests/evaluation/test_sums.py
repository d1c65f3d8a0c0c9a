"""What an evaluation adds up over cases, by another route: dense draws and plain NumPy, from the tables it gives."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import dissensus as ds
from dissensus.aggregations import Dirichlet
from dissensus.core.arrays import FloatArray
from dissensus.metrics import UserMetric

N_CASES, DRAWS = 24, 40
RNG = np.random.default_rng(3)
COUNTS = RNG.multinomial(6, [0.5, 0.3, 0.2], size=N_CASES) + 1
"""Somebody names every condition of every case, so that draws have no ties."""

WEIGHTS = RNG.choice([0.5, 1.0, 3.0], size=N_CASES)
SCORES = {name: RNG.dirichlet(np.ones(3), size=N_CASES) for name in "AB"}
SITES = [f"site {number % 3}" for number in range(N_CASES)]
ASKED: dict[str, Any] = {"aggregations": ["dirichlet:1"], "draws": DRAWS, "seed": 4}
METRICS = ["top-k-accuracy:1", "expected-accuracy:1"]


def study(rows: Any = None, weights: FloatArray = WEIGHTS) -> Any:
    chosen = np.arange(N_CASES) if rows is None else np.asarray(rows)
    return ds.Study.from_rankings(
        [[[[code]] for code in range(3) for _ in range(COUNTS[case, code])] for case in chosen],
        ["a", "b", "c"],
        case_names=[f"case {case}" for case in chosen],
        case_weights=weights[chosen].tolist(),
    )


def evaluated(rows: Any = None, weights: FloatArray = WEIGHTS, **how: Any) -> ds.Evaluation:
    chosen = np.arange(N_CASES) if rows is None else np.asarray(rows)
    models = {name: values[chosen] for name, values in SCORES.items()}
    strata = {"site": [SITES[case] for case in chosen]}
    return ds.evaluate(study(rows, weights), models, metrics=METRICS, strata=strata, **ASKED, **how)


@pytest.fixture(scope="module")
def whole() -> ds.Evaluation:
    return evaluated()


def plain_values(model: str) -> tuple[FloatArray, FloatArray]:
    """Value of both metrics for every case and draw, from dense draws."""
    dense = Dirichlet(1).sample(study(), draws=DRAWS, seed=4).dense()
    first = SCORES[model].argmax(axis=1)
    hits = (dense.argmax(axis=2) == first[:, None]).astype(float)
    return hits, np.take_along_axis(dense, first[:, None, None], axis=2)[:, :, 0]


def column(table: pl.DataFrame, model: str, number: int, name: str = "mean") -> FloatArray:
    metric = ("top-1 accuracy", "expected top-1 accuracy")[number]
    return table.filter(model=model, metric=metric, estimand="adjusted")[name].to_numpy()


@pytest.mark.parametrize("model", SCORES)
def test_values_of_draws_are_weighted_means_over_cases(whole: ds.Evaluation, model: str) -> None:
    for number, values in enumerate(plain_values(model)):
        by_draw = np.average(values, axis=0, weights=WEIGHTS)
        np.testing.assert_allclose(column(whole.per_draw(), model, number), by_draw, rtol=1e-12)
        np.testing.assert_allclose(column(whole.to_frame(), model, number), by_draw.mean(), rtol=1e-12)
        np.testing.assert_allclose(column(whole.to_frame(), model, number, "sd"), by_draw.std(), rtol=1e-9)
        np.testing.assert_allclose(column(whole.per_case(), model, number), values.mean(axis=1), rtol=1e-12)
        for site in set(SITES):
            rows = [case for case in range(N_CASES) if SITES[case] == site]
            expected = np.average(values[rows].mean(axis=1), weights=WEIGHTS[rows])
            found = column(whole.by_group("site").filter(stratum=site), model, number)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_stratum_is_what_its_cases_say_alone(whole: ds.Evaluation) -> None:
    rows = [case for case in range(N_CASES) if SITES[case] == "site 1"]
    alone = evaluated(rows).to_frame().filter(estimand="adjusted")
    own = whole.by_group("site").filter(stratum="site 1", estimand="adjusted")
    names = ["model", "metric", "mean", "sd", "min", "max"]
    assert_frame_equal(own.select(names), alone.select(names), rel_tol=1e-9, abs_tol=1e-12)
    resampled = ["case_sd", "draw_sd", "low", "high"]
    assert_frame_equal(own.select(resampled), alone.select(resampled), rel_tol=0.1, abs_tol=0.02)


def test_undefined_values_do_not_count_and_a_mean_of_nothing_is_undefined() -> None:
    def of_a(scores: FloatArray, plausibilities: FloatArray) -> FloatArray:
        best = plausibilities.argmax(axis=2)
        return np.where(best == 0, scores[:, :1], np.nan)

    said = ds.Study.from_counts([[5, 0], [5, 0], [0, 5]], ["a", "b"])
    strata = {"said": ["a", "a", "b"]}
    scores = [[0.2, 0.8], [0.6, 0.4], [0.9, 0.1]]
    own = [UserMetric("of a", of_a)]
    result = ds.evaluate(said, {"A": scores}, aggregations=["majority-vote"], metrics=own, strata=strata)
    assert result.to_frame()["mean"].to_list() == pytest.approx([0.4])
    by_group = dict(result.by_group("said").select("stratum", "mean").iter_rows())
    assert by_group["a"] == pytest.approx(0.4)
    assert np.isnan(by_group["b"])
