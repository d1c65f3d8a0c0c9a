"""Reader studies: the published analysis of Van Dyke's data, bad input, and intervals of simulated studies."""

import numpy as np
import pytest

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.evaluation.expert_comparison.reader_studies import Covariance, covariances, reader_study
from refusals import refused
from shared_data import needs_shared, vandyke

TRUTH = [0, 0, 0, 1, 1, 1]
ONE = {"Ada": [1, 2, 3, 3, 4, 5], "Bo": [1, 1, 2, 2, 5, 4]}
OTHER = {"Ada": [1, 3, 2, 2, 4, 3], "Bo": [2, 1, 3, 2, 3, 4]}


@needs_shared
@pytest.mark.parametrize(
    ("covariance", "f", "df", "p"),
    [("jackknife", 4.456, 15.26, 0.0517), ("delong", 4.485, 15.07, 0.0512), ("unbiased", 4.490, 15.03, 0.0512)],
)
def test_the_published_analysis_is_reproduced(covariance: Covariance, f: float, df: float, p: float) -> None:
    found = reader_study(*vandyke(), covariance=covariance)
    assert found.f == pytest.approx(f, abs=5e-4)
    assert found.df == pytest.approx(df, abs=5e-3)
    assert found.p_value == pytest.approx(p, abs=5e-5)
    assert found.difference == pytest.approx(-0.04380, abs=5e-6)
    assert found.areas.mean(axis=1) == pytest.approx([0.897, 0.941], abs=5e-4)
    if covariance == "jackknife":
        assert (found.error, *found.interval()) == pytest.approx((0.02075, -0.08796, 0.00036), abs=5e-6)
        printed = {"reader x test": 20040, "cov1": 34661, "cov2": 34407, "cov3": 23903, "var": 80229}
    elif covariance == "delong":
        printed = {"reader x test": 20458, "cov1": 34201, "cov2": 33953, "cov3": 23585, "var": 79213}
    else:
        return
    assert found.components == pytest.approx({name: value * 1e-8 for name, value in printed.items()}, abs=5e-9)


def test_covariances_equal_loops_over_cases() -> None:
    rng = np.random.default_rng(1)
    kernel = rng.integers(0, 3, (3, 5, 4)) / 2
    m, n = kernel.shape[1:]
    left_out = [np.delete(kernel, i, axis=1).mean(axis=(1, 2)) for i in range(m)]
    left_out += [np.delete(kernel, j, axis=2).mean(axis=(1, 2)) for j in range(n)]
    apart = np.array(left_out) - np.mean(left_out, axis=0)
    assert covariances(kernel, "jackknife") == pytest.approx((m + n - 1) / (m + n) * apart.T @ apart)
    products = [
        np.outer(kernel[:, i, j], kernel[:, k, l])
        for i in range(m)
        for j in range(n)
        for k in range(m)
        for l in range(n)  # noqa: E741
        if i != k and j != l
    ]
    areas = kernel.mean(axis=(1, 2))
    assert covariances(kernel, "unbiased") == pytest.approx(np.outer(areas, areas) - np.mean(products, axis=0))


def test_the_test_is_that_of_the_analysis_of_variance_of_pseudo_values() -> None:
    """Dorfman, Berbaum and Metz: the same F by another route, where readers have more in common within a modality."""
    rng = np.random.default_rng(4)
    truth = np.repeat([0, 1], 20)
    skill = {"one": rng.normal(size=40), "other": rng.normal(size=40)}
    rated = {name: {f"r{i}": truth + own + 0.7 * rng.normal(size=40) for i in range(4)} for name, own in skill.items()}
    found = reader_study({name: {r: list(x) for r, x in own.items()} for name, own in rated.items()}, truth.tolist())
    scores = np.array([list(own.values()) for own in rated.values()])

    def areas(kept: IntArray) -> FloatArray:
        some, known = scores[..., kept], truth[kept]
        above = some[..., known == 1, None] - some[..., None, known == 0]
        return np.asarray(((above > 0) + 0.5 * (above == 0)).mean(axis=(-1, -2)))

    every = np.arange(40)
    values = np.stack([40 * areas(every) - 39 * areas(np.delete(every, k)) for k in every], axis=-1)
    mean = values.mean(axis=(1, 2))
    by_reader, by_case = values.mean(axis=2), values.mean(axis=1)

    def square(table: FloatArray, size: int) -> float:
        apart = table - table.mean(axis=0) - (table - table.mean(axis=0)).mean(axis=1, keepdims=True)
        return float(size * np.square(apart).sum() / (table.shape[1] - 1))

    within = values - by_reader[..., None] - by_case[:, None] + mean[:, None, None]
    within = within - within.mean(axis=0)
    all_three = np.square(within).sum() / (3 * 39)
    noise = square(by_reader, 40) + max(square(by_case, 4) - all_three, 0.0)
    assert square(by_case, 4) > all_three
    assert found.f == pytest.approx(4 * 40 * np.square(mean - mean.mean()).sum() / noise)


def test_a_model_stands_beside_every_reader() -> None:
    model = [1, 2, 3, 4, 5, 6]
    found = reader_study({"model": model, "readers": ONE}, TRUTH)
    repeated = reader_study({"model": {"Ada": model, "Bo": model}, "readers": ONE}, TRUTH)
    assert (found.areas.tolist(), found.error) == (repeated.areas.tolist(), repeated.error)
    assert found.areas[0].tolist() == [1.0, 1.0]
    turned = reader_study({"readers": ONE, "model": model}, TRUTH)
    assert turned.difference == -found.difference
    assert turned.is_noninferior(0.9)
    assert not turned.is_noninferior(1e-9)


@pytest.mark.parametrize(
    ("ratings", "truth", "words"),
    [
        ({"new": ONE}, TRUTH, "compares two modalities"),
        ({"new": TRUTH, "old": TRUTH}, TRUTH, "compares two modalities"),
        ({"new": ONE, "old": {"Ada": OTHER["Ada"]}}, TRUTH, "every reader must rate every case"),
        ({"new": ONE, "old": OTHER | {"Cy": OTHER["Bo"]}}, TRUTH, "every reader must rate every case"),
        ({"new": {"Ada": ONE["Ada"]}, "old": TRUTH}, TRUTH, "too few readers"),
        ({"new": ONE, "old": OTHER}, [0, 0, 0, 0, 0, 1], "truth must be 0 or 1"),
        ({"new": ONE, "old": OTHER}, [0, 0, 0, 2, 2, 2], "truth must be 0 or 1"),
    ],
)
def test_bad_input_is_one_clear_error(ratings: dict[str, dict[str, list[float]]], truth: list[int], words: str) -> None:
    refused(words, reader_study, ratings, truth)
