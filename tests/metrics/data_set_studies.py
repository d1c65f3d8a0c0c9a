"""What models say and masses of labels, for the tests of metrics of a whole data set."""

from typing import Any

import numpy as np

from dissensus.core.arrays import FloatArray, IntArray
from dissensus.metrics.data_set import BinaryMetric, DataSetMetric, Said, first_shares
from dissensus.plugins import Metric

KINDS = tuple(kind for kind in Metric.family.known().values() if issubclass(kind, DataSetMetric))
OWN = tuple(kind for kind in KINDS if "numbers" not in kind.accepts)
"""Metrics of conditions; those of numbers have labels of their own."""

CHOSEN: dict[str, list[dict[str, Any]]] = {
    "net-benefit": [{"threshold": 0.2}],
    "partial-auroc": [{}, {"up_to": 0.6}],
    "f-beta": [{}, {"beta": 2.0}],
    "cohen-kappa": [{}, {"weights": "linear"}, {"weights": "quadratic"}],
    "calibration-error": [{}, {"bins": 5, "debiased": True}],
}
"""Parameters to try; all others have defaults."""


def every_metric() -> list[DataSetMetric]:
    """Give every metric with some parameters, averages and truths, and at a threshold where it takes one."""
    return [kind.from_parameters(chosen) for kind in OWN for chosen in parameters_for(kind)]


def parameters_for(kind: type[Metric]) -> list[dict[str, Any]]:
    names = [part.name for part in kind.parameter_fields()]
    found = list(CHOSEN.get(kind.id, [{}]))
    if "threshold" in names and kind.id != "net-benefit":
        found.append({**found[0], "threshold": 0.45})
    if issubclass(kind, BinaryMetric):
        found += [{**found[0], "average": "weighted"}, {**found[0], "average": "micro"}]
    return found


def some_said(
    n: int = 40, *, conditions: int = 2, findings: int = 1, seed: int = 0, is_binary: bool = True, rounded: int = 1
) -> Said:
    """Make scores with ties, unequal weights, and findings of cases where there are several."""
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.ones(conditions), size=n * findings)
    last = scores[:, -1].round(rounded)
    scores = np.column_stack([scores[:, :-1] * ((1 - last) / (1 - scores[:, -1]))[:, None], last])
    items = np.tile(np.arange(n), findings)
    weights = rng.uniform(0.5, 2.0, size=n)[items]
    return Said(scores, first_shares(scores), weights, is_binary, np.repeat(np.arange(findings), n), items)


def soft_labels(said: Said, *, draws: int = 3, seed: int = 1) -> FloatArray:
    """Make masses that follow the scores a little, shape (draws, K, n)."""
    rng = np.random.default_rng(seed)
    masses = rng.dirichlet(np.full(said.n_conditions, 0.7), size=(draws, said.n_cases)) + 0.5 * said.scores
    return np.ascontiguousarray((masses / masses.sum(axis=2, keepdims=True)).transpose(0, 2, 1))


def hard_labels(said: Said, *, draws: int = 3, seed: int = 1) -> tuple[FloatArray, IntArray]:
    """Make labels of mass 1, shape (draws, K, n), and their codes (draws, n)."""
    soft = soft_labels(said, draws=draws, seed=seed)
    chance = np.random.default_rng(seed + 1).random((draws, 1, said.n_cases))
    codes = np.asarray((np.cumsum(soft, axis=1) < chance).sum(axis=1)).clip(0, said.n_conditions - 1)
    return masses_of(codes, said.n_conditions), codes


def masses_of(codes: IntArray, n_conditions: int) -> FloatArray:
    """Turn codes (draws, n) into masses (draws, K, n)."""
    return np.asarray(codes[:, None, :] == np.arange(n_conditions)[None, :, None], dtype=np.float64)


STUDIES = {
    "binary": some_said(),
    "findings": some_said(25, findings=3, seed=2),
    "conditions": some_said(30, conditions=4, is_binary=False, seed=3),
}
