"""Sums over cases add up, piece by piece, to those of all cases at once, whoever and whatever adds them."""

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus.core.arrays import FloatArray
from dissensus.evaluation import tally
from dissensus.evaluation.sums import CaseWeights, Sums, Tally, design_effects, place_sums, resampled_means
from dissensus.metrics import UserMetric
from dissensus.simulate.differential_study import SimulatedStudy

N, NAME = 60, ("run 0", "all", "each case")
RNG = np.random.default_rng(2)
VALUES, SHARES = RNG.normal(size=(2, 3, N)), RNG.random((1, 1, N)) * (RNG.random((1, 1, N)) < 0.9)
WEIGHTS = CaseWeights.named(
    3, RNG.choice([0.5, 1.0, 4.0], N), tuple(map(str, range(N))), tuple(str(i % 23) for i in range(N))
)


def sums_of(rows: Any, values: FloatArray = VALUES) -> Sums:
    cases = np.arange(N)[rows]
    weights = WEIGHTS.take(cases)
    bootstrap = WEIGHTS.bootstrap(cases, 50)
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
    found, masses = sums_of(slice(None)), SHARES * WEIGHTS.weights
    bootstrap = WEIGHTS.bootstrap(np.arange(N), 50)
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
    study = ds.simulate.study(n_cases=30, n_conditions=4, seed=5)
    order = RNG.permutation(30).tolist()
    how: dict[str, Any] = {"aggregations": ["plackett-luce:1"], "draws": 20, "metrics": ["brier-score", "auroc"]}
    one = ds.evaluate(study.annotations, study.predictions, threads=1, **how)
    said, models = study.annotations.select(order), {n: m.select(order) for n, m in study.predictions.items()}
    other = ds.evaluate(said, models, threads=2, **how)
    assert one.to_frame().equals(other.to_frame())
    assert one.compare().to_frame().equals(other.compare().to_frame())
    assert other.case_names == said.case_names
    assert one.per_case().sort("case", "run", "model").equals(other.per_case().sort("case", "run", "model"))


@pytest.fixture(scope="module")
def study() -> SimulatedStudy:
    return ds.simulate.study(n_cases=130, n_conditions=6, seed=2)


SPECS: dict[str, Any] = {"aggregations": ["plackett-luce:1", "dirichlet:1", "annotator-bootstrap"], "draws": 20}


def test_parts_that_processes_evaluate_are_the_whole(study: SimulatedStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are tried for every metric of a whole data set, among the laws."""
    monkeypatch.setattr(tally, "PIECE", 40)
    strata = {"site": ["rare" if place == 3 else "often" for place in range(130)]}
    models = dict(list(study.predictions.items())[:2])
    once = ds.evaluate(study.annotations, models, strata=strata, **SPECS)
    assert once.panel is not None
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        found = ds.evaluate(study.annotations, models, strata=strata, executor=executor, **SPECS)
    assert found == once
    assert found.by_group("site").equals(once.by_group("site"))


def test_what_learns_from_all_cases_is_refused(study: SimulatedStudy) -> None:
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(ds.DissensusError, match="dawid-skene cannot be evaluated by"),
    ):
        ds.evaluate(study.annotations, study.predictions, aggregations=["dawid-skene"], draws=10, executor=executor)


def test_a_metric_that_cannot_be_sent_is_one_clear_error(study: SimulatedStudy) -> None:
    own = UserMetric("own", lambda scores, drawn: drawn[:, :, 0] * scores[:, :1])
    with ThreadPoolExecutor(1) as executor, pytest.raises(ds.DissensusError, match="cannot be sent to workers"):
        ds.evaluate(study.annotations, study.predictions, metrics=[own], executor=executor, **SPECS)


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
