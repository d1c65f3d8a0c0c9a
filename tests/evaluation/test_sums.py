"""What an evaluation adds up over cases, by another route: dense draws, plain NumPy, and in pieces of any size."""

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import dissensus as ds
from dissensus.aggregations import Dirichlet
from dissensus.core.arrays import FloatArray
from dissensus.evaluation import tally
from dissensus.evaluation.sums import CaseWeights, Sums, Tally, design_effects, place_sums, resampled_means
from dissensus.metrics import UserMetric
from dissensus.simulate.differential_study import SimulatedStudy

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


N, NAME = 60, ("run 0", "all", "each case")
LUCK = np.random.default_rng(2)
VALUES, SHARES = LUCK.normal(size=(2, 3, N)), LUCK.random((1, 1, N)) * (LUCK.random((1, 1, N)) < 0.9)
GROUPED = CaseWeights.named(
    3, LUCK.choice([0.5, 1.0, 4.0], N), tuple(map(str, range(N))), tuple(str(i % 23) for i in range(N))
)


def sums_of(rows: Any, values: FloatArray = VALUES) -> Sums:
    cases = np.arange(N)[rows]
    weights = GROUPED.take(cases)
    bootstrap = GROUPED.bootstrap(cases, 50)
    return Sums(place_sums(values[..., cases], SHARES[..., cases], weights, bootstrap, NAME, pairs=True))


def test_pieces_add_up_to_all_cases_in_any_grouping() -> None:
    whole, parts = sums_of(slice(None)), [sums_of(slice(a, a + 20)) for a in (0, 20, 40)]
    for found in (Sums.joined(parts), (parts[0] + parts[1]) + parts[2], parts[0] + (parts[1] + parts[2])):
        for name in whole.arrays:
            if name[0] != "rows":
                np.testing.assert_allclose(found[name], whole[name], rtol=1e-12, err_msg=str(name))
        (effects, n_groups), (expected, n_expected) = (design_effects(one, NAME, N) for one in (found, whole))
        np.testing.assert_allclose(effects, expected, rtol=1e-9)
        assert n_groups == n_expected == 23
    assert parts[0] + Sums() == parts[0]


def test_resampled_sums_are_those_of_a_plain_product() -> None:
    found, masses = sums_of(slice(None)), SHARES * GROUPED.weights
    bootstrap = GROUPED.bootstrap(np.arange(N), 50)
    np.testing.assert_allclose(found["resampled", *NAME][0], (masses * VALUES) @ bootstrap, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found["squares", *NAME], np.broadcast_to((masses**2).sum(axis=-1), (2, 3)))
    np.testing.assert_array_equal(found["least", *NAME], VALUES.min(axis=-1))
    np.testing.assert_array_equal(found["greatest", *NAME], VALUES.max(axis=-1))


def test_a_case_without_weight_does_not_count_however_large_it_is() -> None:
    values = VALUES.copy()
    values[..., SHARES[0, 0] == 0] = -np.inf
    assert (SHARES == 0).any()
    with_it, without = (sums_of(slice(None), one)["resampled", *NAME] for one in (values, VALUES))
    np.testing.assert_array_equal(with_it, without)


def test_what_draws_add_falls_with_the_root_of_the_effective_number_of_cases() -> None:
    for weights in (np.ones(16), np.array([4.0, *np.ones(15)])):
        draws = np.array([[[0.4, 0.6]]])
        found = Tally(draws * weights.sum(), np.full((1, 1, 2), weights.sum()))
        squares = np.full((1, 1), (weights**2).sum())
        own = resampled_means(np.ones((2, 1, 1, 8)), squares, found, np.ones((1, 1)))
        effective = weights.sum() ** 2 / (weights**2).sum()
        np.testing.assert_allclose(own.gaps[0, 0, :2], np.array([-0.1, 0.1]) / np.sqrt(effective))
        np.testing.assert_allclose(own.units, effective**-1 * weights.sum())
    assert np.isnan(Tally(np.zeros((1, 1, 1)), np.zeros((1, 1, 1))).means).all()


def test_the_size_of_pieces_changes_nothing_but_the_last_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    study = ds.simulate.study(n_cases=60, n_conditions=5, seed=3)
    strata = {"site": [str(case % 4) for case in range(60)]}
    how: dict[str, Any] = {"aggregations": ["dirichlet:1"], "draws": 20, "strata": strata, "panel": False}
    whole = ds.evaluate(study.annotations, study.predictions, **how)
    monkeypatch.setattr(tally, "PIECE", 13)
    monkeypatch.setattr(tally, "BATCH_CASES", 7)
    monkeypatch.setattr(tally, "BATCH_DRAWS", 0)
    pieces = ds.evaluate(study.annotations, study.predictions, **how)
    assert pieces.sums.arrays.keys() == whole.sums.arrays.keys()
    for name, array in whole.sums.arrays.items():
        if array.dtype.kind == "f":
            np.testing.assert_allclose(pieces.sums[name], array, rtol=1e-9, atol=1e-12, err_msg=str(name))


def test_the_order_of_rows_and_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "PIECE", 10)
    simulated = ds.simulate.study(n_cases=30, n_conditions=4, seed=5)
    said, order = simulated.annotations, LUCK.permutation(30).tolist()
    how: dict[str, Any] = {"aggregations": ["plackett-luce:1"], "draws": 20, "metrics": ["brier-score", "auroc"]}
    one = ds.evaluate(said, simulated.predictions, threads=1, **how)
    models = {name: model.select(order) for name, model in simulated.predictions.items()}
    other = ds.evaluate(said.select(order), models, threads=2, **how)
    tables = (
        (each.to_frame(), each.compare().to_frame(), each.per_case().sort("case", "run", "model"))
        for each in (one, other)
    )
    assert all(mine.equals(theirs) for mine, theirs in zip(*tables, strict=True))
    assert other.case_names == said.select(order).case_names


@pytest.fixture(scope="module")
def many() -> SimulatedStudy:
    return ds.simulate.study(n_cases=130, n_conditions=6, seed=2)


SPECS: dict[str, Any] = {"aggregations": ["plackett-luce:1", "dirichlet:1", "annotator-bootstrap"], "draws": 20}


def test_parts_that_processes_evaluate_are_the_whole(many: SimulatedStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are tried for every metric of a whole data set, among the laws."""
    monkeypatch.setattr(tally, "PIECE", 40)
    strata = {"site": ["rare" if place == 3 else "often" for place in range(130)]}
    models = dict(list(many.predictions.items())[:2])
    once = ds.evaluate(many.annotations, models, strata=strata, **SPECS)
    assert once.panel is not None
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        found = ds.evaluate(many.annotations, models, strata=strata, executor=executor, **SPECS)
    assert found == once
    assert found.by_group("site").equals(once.by_group("site"))


def test_what_learns_from_all_cases_is_refused(many: SimulatedStudy) -> None:
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(ds.DissensusError, match="dawid-skene cannot be evaluated by"),
    ):
        ds.evaluate(many.annotations, many.predictions, aggregations=["dawid-skene"], draws=10, executor=executor)


def test_a_metric_that_cannot_be_sent_is_one_clear_error(many: SimulatedStudy) -> None:
    own = UserMetric("own", lambda scores, drawn: drawn[:, :, 0] * scores[:, :1])
    with ThreadPoolExecutor(1) as executor, pytest.raises(ds.DissensusError, match="cannot be sent to workers"):
        ds.evaluate(many.annotations, many.predictions, metrics=[own], executor=executor, **SPECS)


SCRIPT = """
import dissensus as ds
import numpy as np
import polars as pl

rng, cases = np.random.default_rng(0), [f"c{i}" for i in range(6000)]
chance = rng.random(len(cases))
given = [(case, f"a{who}", p) for case, p in zip(cases, chance) for who in range(4)]
frame = pl.DataFrame(given, schema=["case", "annotator", "p"], orient="row")
noise = rng.normal(0, 0.2, frame.height)
labels = frame.select("case", "annotator", label=np.where(frame["p"] + noise > 0.5, "yes", "no"))
ratings = frame.select("case", "annotator", rating=frame["p"] + noise)
said = np.clip(chance + rng.normal(0, 0.3, len(cases)), 0.01, 0.99)
for opinions, model in [
    (labels, {"case": cases, "yes": said, "no": 1 - said}),
    (ratings, {"case": cases, "value": said}),
]:
    print(ds.evaluate(ds.read(opinions), {"A": pl.DataFrame(model)}, draws=50).to_frame().write_csv())
"""


@pytest.mark.slow
def test_tables_have_the_same_bits_with_any_number_of_blas_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    said = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
        run = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True)
        said.append(run.stdout)
    assert said[0].count("\n") > 20
    assert said[0] == said[1]
