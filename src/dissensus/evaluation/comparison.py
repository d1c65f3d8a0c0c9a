"""Compare models on the same draws and the same resampled cases, and say when they cannot be told apart."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.evaluation.results import Evaluation

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Difference:
    """How one model compares with another under one aggregation and metric.

    ``difference`` is the first minus the second, ``low`` to ``high`` its interval on cases like these,
    ``probability_better`` the share of resamples in which the first is better, ties counted half.

    Examples
    --------
    >>> found = Difference("dirichlet 1", "dirichlet", 1.0, "top-1 accuracy", "A", "B", 0.02, -0.01, 0.05, 0.88)
    >>> found.is_distinguishable, found.verdict
    (False, 'A and B are not distinguishable')
    """

    run: str
    aggregation: str
    reliability: float | None
    metric: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    probability_better: float

    @property
    def is_distinguishable(self) -> bool:
        """Whether the interval of the difference leaves zero out."""
        return self.low > 0 or self.high < 0

    @property
    def verdict(self) -> str:
        """Say in words which model is better, or that they are not distinguishable."""
        if not self.is_distinguishable:
            return f"{self.first} and {self.second} are not distinguishable"
        better, worse = (self.first, self.second) if self.probability_better > 0.5 else (self.second, self.first)
        return f"{better} is better than {worse}"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Hold the differences of all pairs of models, and how often each model has each rank.

    Attributes
    ----------
    differences
        One per aggregation, metric and pair of models.
    ranks : (runs, metrics, models, models)
        Probability that a model (third axis) has rank 1, 2, ... (last axis); ties share ranks.
    evaluation
        What was compared.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
    >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
    >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
    >>> compared = result.compare()
    >>> [(found.first, found.second, found.difference) for found in compared.differences]
    [('A', 'B', 0.5)]
    >>> compared.ranks.shape
    (1, 1, 2, 2)
    """

    differences: tuple[Difference, ...]
    ranks: FloatArray
    evaluation: Evaluation

    def to_frame(self) -> pl.DataFrame:
        """Return one row per aggregation, metric and pair of models.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
        >>> result.compare().to_frame().select("run", "metric", "first", "second", "difference").row(0)
        ('majority-vote', 'top-1 accuracy', 'A', 'B', 0.5)
        """
        import polars as pl

        names = tuple(Difference.__dataclass_fields__)
        rows = [{**{name: getattr(d, name) for name in names}, "verdict": d.verdict} for d in self.differences]
        return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"reliability": pl.Float64})

    def rank_frame(self) -> pl.DataFrame:
        """Return the probability of each rank: one row per aggregation, metric, model and rank.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
        >>> result.compare().rank_frame().select("run", "model", "rank").rows()
        [('majority-vote', 'A', 1), ('majority-vote', 'A', 2), ('majority-vote', 'B', 1), ('majority-vote', 'B', 2)]
        """
        import polars as pl

        result = self.evaluation
        rows = [
            {
                **run.identity,
                "metric": metric.name,
                "model": model,
                "rank": rank + 1,
                "probability": float(self.ranks[r, k, m, rank]),
            }
            for r, run in enumerate(result.runs)
            for k, metric in enumerate(result.metrics)
            for m, model in enumerate(result.models)
            for rank in range(len(result.models))
        ]
        return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"reliability": pl.Float64})

    def flips(self) -> pl.DataFrame:
        """Return the pairs of models whose order by mean changes between metrics or aggregations, with examples.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[5, 3, 0], [5, 3, 0]], ["a", "b", "c"])
        >>> models = {"A": [[3, 1, 2], [3, 1, 2]], "B": [[2, 3, 1], [2, 3, 1]]}
        >>> metrics = ["top-k-accuracy:1", "set-accuracy:2"]
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"], metrics=metrics)
        >>> result.compare().flips().rows()
        [('A', 'B', 'top-1 accuracy (majority-vote)', 'top-2 set accuracy (majority-vote)')]
        """
        import polars as pl

        rows = []
        for pair in combinations(self.evaluation.models, 2):
            found = [d for d in self.differences if {d.first, d.second} == set(pair)]
            better = {sign: [d for d in found if np.sign(d.probability_better - 0.5) == sign] for sign in (1, -1)}
            if better[1] and better[-1]:
                rows.append(
                    {
                        "first": pair[0],
                        "second": pair[1],
                        "first_better": _where(better[1]),
                        "second_better": _where(better[-1]),
                    }
                )
        schema = {"first": pl.String, "second": pl.String, "first_better": pl.String, "second_better": pl.String}
        return pl.DataFrame(rows, schema=schema)


def _where(differences: list[Difference]) -> str:
    places = [f"{d.metric} ({d.run})" for d in differences[:4]]
    more = f" and {len(differences) - 4} more" if len(differences) > 4 else ""
    return "; ".join(places) + more


def compared(evaluation: Evaluation) -> Comparison:
    """Compare all pairs of models; see :meth:`Evaluation.compare`."""
    differences = [
        difference(evaluation, run, k, a, b)
        for run in range(len(evaluation.runs))
        for k in range(len(evaluation.metrics))
        for a, b in combinations(range(len(evaluation.models)), 2)
    ]
    signs = [1.0 if metric.higher_is_better else -1.0 for metric in evaluation.metrics]
    ranks = [
        [rank_probabilities(sign * evaluation.resampled_means(run)[:, k]) for k, sign in enumerate(signs)]
        for run in range(len(evaluation.runs))
    ]
    return Comparison(tuple(differences), np.array(ranks), evaluation)


def difference(evaluation: Evaluation, run: int, k: int, a: int, b: int) -> Difference:
    """Compare model ``a`` with model ``b`` by metric ``k`` under one run."""
    tally, metric = evaluation.tallies[run], evaluation.metrics[k]
    resampled = evaluation.resampled_means(run)
    gap = resampled[a, k] - resampled[b, k]
    better = gap > 0 if metric.higher_is_better else gap < 0
    low, high = _interval(gap, evaluation.level)
    return Difference(
        **evaluation.runs[run].identity,
        metric=metric.name,
        first=evaluation.models[a],
        second=evaluation.models[b],
        difference=float(np.mean(tally.means[a, k] - tally.means[b, k])),
        low=low,
        high=high,
        probability_better=float(np.mean(better) + np.mean(gap == 0) / 2),
    )


def _interval(values: FloatArray, level: float) -> tuple[float, float]:
    if np.isnan(values).any():
        return float("nan"), float("nan")
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def rank_probabilities(goodness: FloatArray) -> FloatArray:
    """Return how often each model has each rank, (models, models), given its goodness in every draw (models, draws).

    Equal models share the ranks they take up.

    >>> rank_probabilities(np.array([[2.0, 1.0], [1.0, 1.0]]))
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    n_models = len(goodness)
    above = (goodness[None] > goodness[:, None]).sum(axis=1)
    tied = (goodness[None] == goodness[:, None]).sum(axis=1)
    ranks = np.arange(n_models)[:, None, None]
    inside = (ranks >= above) & (ranks < above + tied)
    return np.asarray((inside / tied).mean(axis=2).T)
