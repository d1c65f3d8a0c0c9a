"""Small evaluations whose figures are looked at: a usual one with hostile names, and the edges."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import dissensus as ds
from dissensus.aggregations import MajorityVote, NormalInverseGamma, PlackettLuce, ProbabilisticInverseRank
from dissensus.metrics import AUROC, CalibrationError, NetBenefit, Sensitivity, TopKAccuracy
from dissensus.plugins import Aggregation, Metric

SCRIPT = "<script>alert(1)</script>"
MODEL = '<b>A</b> & "B"'
TEMPLATE = "50 %{x} $y$ _z"
CONDITIONS = (SCRIPT, "b", "c", "d", TEMPLATE)
CATEGORIES = ds.Categories.from_labels(["low", "low", "medium", "high", "high"], CONDITIONS)


def study(n_cases: int = 12) -> ds.Study:
    """Give a few opinions of two to four annotators on every case, with ties."""
    rng = np.random.default_rng(5)
    rankings = []
    for _ in range(n_cases):
        favourite = rng.permutation(5)
        opinions = []
        for _ in range(int(rng.integers(2, 5))):
            first, second = rng.choice(favourite[:3], 2, replace=False).tolist()
            opinions.append([[first], [second]] if rng.random() < 0.7 else [[first, second]])
        rankings.append(opinions)
    return ds.Study.from_rankings(rankings, list(CONDITIONS), case_names=[f"<i>{i}</i>" for i in range(n_cases)])


def scores(n_cases: int, n_models: int) -> dict[str, np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    rng = np.random.default_rng(6)
    return {name: rng.random((n_cases, 5)) for name in (MODEL, TEMPLATE, "_C")[:n_models]}


@cache
def usual() -> ds.Evaluation:
    """Evaluate three models under two aggregations, with categories, and what held-out annotators say."""
    aggregations = [
        *(PlackettLuce(gamma, alpha=1.0, prior="observed") for gamma in (1, 3, 10)),
        ProbabilisticInverseRank(10),
    ]
    metrics = [TopKAccuracy(1), TopKAccuracy(3), AUROC(), CalibrationError(), NetBenefit(0.2), Sensitivity()]
    trust = ds.calibrate(study(), aggregations[:1], draws=40)
    return evaluated(study(), 3, aggregations, metrics=metrics, categories=CATEGORIES, reference=trust)


def case_about(condition: str) -> str:
    """Name a case of the usual study whose annotators mention a condition."""
    said = study()
    return next(
        name for name, opinions in zip(said.case_names, said.to_rankings(), strict=True) if condition in str(opinions)
    )


def evaluated(
    said: ds.Study,
    n_models: int,
    aggregations: Sequence[Aggregation],
    *,
    metrics: Sequence[Metric] = (TopKAccuracy(1),),
    draws: int = 40,
    **options: Any,
) -> ds.Evaluation:
    models = scores(said.n_cases, n_models)
    return ds.evaluate(said, models, aggregations=aggregations, metrics=metrics, draws=draws, **options)


ONE = ds.Study.from_rankings([[[[0], [1]]]], list(CONDITIONS))
ALONE = ds.Study.from_rankings([[[[i % 5]]] for i in range(4)], list(CONDITIONS))
LUCE: list[Aggregation] = [PlackettLuce(3, alpha=1.0, prior="observed")]
RATINGS = ds.Study.from_scores([[1.0, 2.0], [-1.0, -2.0, 0.5]])
EDGES: dict[str, Callable[[], ds.Evaluation]] = {
    "one case": lambda: evaluated(ONE, 2, LUCE, categories=CATEGORIES),
    "one annotator": lambda: evaluated(ALONE, 2, LUCE, categories=CATEGORIES),
    "one model": lambda: evaluated(study(), 1, LUCE),
    "no models": lambda: evaluated(study(), 0, LUCE, categories=CATEGORIES),
    "no categories": lambda: evaluated(study(), 2, LUCE),
    "no reliability": lambda: evaluated(study(), 2, [MajorityVote()], categories=CATEGORIES, draws=1),
    "one draw": lambda: evaluated(study(), 2, LUCE, categories=CATEGORIES, draws=1),
    "two conditions": lambda: ds.evaluate(
        ds.Study.from_counts([[2, 1], [0, 3]], ["x", "y"]),
        {"A": np.eye(2), "B": np.ones((2, 2))},
        aggregations=LUCE,
        metrics=[TopKAccuracy(1)],
        draws=10,
    ),
    "ratings": lambda: ds.evaluate(RATINGS, {}, aggregations=[NormalInverseGamma(thresholds=(0.0,))], draws=20),
}
"""What is only just enough."""


@cache
def at_edge(name: str) -> ds.Evaluation:
    """Evaluate what is only just enough, once it is looked at."""
    return EDGES[name]()
