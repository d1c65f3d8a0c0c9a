"""Sums over cases add up, piece by piece, to those of all cases at once."""

from typing import Any

import numpy as np
import pytest

import dissensus as ds
from dissensus.core.arrays import FloatArray
from dissensus.evaluation import plan, tally
from dissensus.evaluation.sums import CaseWeights, Sums, Tally, design_effects, place_sums, resampled_means

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
    monkeypatch.setattr(plan, "PIECE", 13)
    monkeypatch.setattr(tally, "PIECE", 13)
    monkeypatch.setattr(tally, "BATCH_CASES", 7)
    monkeypatch.setattr(tally, "BATCH_DRAWS", 0)
    pieces = ds.evaluate(study.annotations, study.predictions, **how)
    assert pieces.sums.arrays.keys() == whole.sums.arrays.keys()
    for name, array in whole.sums.arrays.items():
        if array.dtype.kind == "f":
            np.testing.assert_allclose(pieces.sums[name], array, rtol=1e-9, atol=1e-12, err_msg=str(name))


def test_the_order_of_rows_and_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "PIECE", 10)
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
