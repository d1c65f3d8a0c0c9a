"""Compare models on the same draws and the same resampled cases, and say when they cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.core.checks import check_positive
from dissensus.evaluation.estimates import AGREEMENT, PANEL, Estimate
from dissensus.evaluation.plan import TRUTH
from dissensus.evaluation.results import Evaluation

if TYPE_CHECKING:
    import polars as pl

# Values that differ by less than this part of them are equal.
ROUNDING = 1e-12

# Estimands that some metrics do not have.
PARTIAL = (AGREEMENT, TRUTH)

# With fewer cases, or fewer groups of cases, there are numbers but no verdict.
LEAST_CASES, LEAST_GROUPS = 30, 5


@dataclass(frozen=True)
class Difference:
    """How one model compares with another under one run and metric.

    Attributes
    ----------
    run, aggregation, reliability, estimand, metric, first, second
        What is compared.
    difference, low, high
        The first minus the second, and the interval of this difference on cases like these.
    probability_better
        Share of resamples in which the first is better, ties counted half.
    p_value, p_adjusted
        Twice the smaller probability of either order, as it is, and by Holm's method over all pairs and metrics of the
        run; undefined for a model and itself.
    margin
        The largest difference that does not matter, if one was given.
    level
        Probability that the interval holds.
    higher_is_better, are_same, n_cases, n_groups
        How the metric is oriented, whether both models are the same predictions, how many cases there are, and in how
        many groups (0 if they stand alone).

    Examples
    --------
    >>> found = Difference("dirichlet 1", "dirichlet", 1.0, "adjusted", "top-1 accuracy", "A", "B", 0.02, -0.01, 0.05,
    ...                    0.88, 0.24, 0.24, n_cases=200)
    >>> found.is_distinguishable, found.verdict
    (False, 'A and B are not distinguishable')
    """

    run: str
    aggregation: str
    reliability: float | None
    estimand: str
    metric: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    probability_better: float
    p_value: float
    p_adjusted: float
    margin: float | None = None
    level: float = 0.9
    higher_is_better: bool = True
    are_same: bool = False
    n_cases: int = 0
    n_groups: int = 0

    @property
    def is_decided(self) -> bool:
        """Whether there are enough cases, and groups of cases, for a verdict."""
        return self.n_cases >= LEAST_CASES and (not self.n_groups or self.n_groups >= LEAST_GROUPS)

    @property
    def is_distinguishable(self) -> bool:
        """Whether the order of the models is beyond doubt at the level, all comparisons of the run considered."""
        outside = self.low > 0 or self.high < 0
        return self.is_decided and not self.are_same and outside and self.p_adjusted < 1 - self.level

    @property
    def verdict(self) -> str:
        """Say in words which model is better, or why that cannot be said."""
        if self.are_same:
            return f"{self.first} and {self.second} are the same predictions"
        if self.n_cases < LEAST_CASES:
            return f"too few cases for a verdict ({self.n_cases} of at least {LEAST_CASES})"
        if not self.is_decided:
            return f"too few groups for a verdict ({self.n_groups} of at least {LEAST_GROUPS})"
        if self.is_distinguishable:
            better, worse = (self.first, self.second) if self.probability_better > 0.5 else (self.second, self.first)
            return f"{better} is better than {worse}"
        margin = np.nan if self.margin is None else self.margin  # compares as false
        low, high = (self.low, self.high) if self.higher_is_better else (-self.high, -self.low)
        if -margin < low and high < margin:
            return f"{self.first} and {self.second} are equivalent within {margin:g}"
        if low > -margin:
            return f"{self.first} is not worse than {self.second} by more than {margin:g}"
        if high < margin:
            return f"{self.second} is not worse than {self.first} by more than {margin:g}"
        return f"{self.first} and {self.second} are not distinguishable"

    def mirrored(self) -> Difference:
        """Return the same comparison the other way round.

        Examples
        --------
        >>> found = Difference("dirichlet 1", "dirichlet", 1.0, "adjusted", "top-1 accuracy", "A", "B", 0.02, -0.01,
        ...                    0.05, 0.88, 0.24, 0.24)
        >>> found.mirrored().first, found.mirrored().difference
        ('B', -0.02)
        """
        return replace(
            self,
            first=self.second,
            second=self.first,
            difference=-self.difference,
            low=-self.high,
            high=-self.low,
            probability_better=1 - self.probability_better,
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Hold the differences of all pairs of models, and how often each model has each rank.

    Attributes
    ----------
    differences
        One per estimate, metric and pair of models.
    ranks : (estimates, metrics, models, models)
        Probability that a model (third axis) has rank 1, 2, ... (last axis); ties share ranks. Estimates are the runs,
        and then the agreement with single annotators.
    evaluation
        What was compared.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
    >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
    >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
    >>> compared = result.compare()
    >>> [(found.first, found.second, found.difference) for found in compared.differences]
    [('A', 'B', 0.5), ('A', 'B', 0.25)]
    >>> compared.ranks.shape
    (2, 1, 2, 2)
    """

    differences: tuple[Difference, ...]
    ranks: FloatArray
    evaluation: Evaluation

    def to_frame(self) -> pl.DataFrame:
        """Return one row per aggregation, metric and pair of models.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
        >>> result.compare().to_frame().select("run", "metric", "first", "second", "difference").row(0)
        ('majority-vote', 'top-1 accuracy', 'A', 'B', 0.5)
        """
        import polars as pl

        names = [one.name for one in fields(Difference)]
        shown = names[: names.index("margin") + 1]
        rows = [{**{name: getattr(d, name) for name in shown}, "verdict": d.verdict} for d in self.differences]
        kinds = {"reliability": pl.Float64, "margin": pl.Float64}
        return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=kinds)

    def rank_frame(self) -> pl.DataFrame:
        """Return the probability of each rank: one row per aggregation, metric, model and rank.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
        >>> result.compare().rank_frame().filter(run="majority-vote").select("model", "rank").rows()
        [('A', 1), ('A', 2), ('B', 1), ('B', 2)]
        """
        import polars as pl

        result = self.evaluation
        rows = [
            {
                **one.identity,
                "metric": metric.name,
                "model": model,
                "rank": rank + 1,
                "probability": float(self.ranks[r, k, m, rank]),
            }
            for r, one in enumerate(result.estimates)
            for k, metric in enumerate(result.metrics)
            for m, model in enumerate(result.models)
            for rank in range(len(result.models))
            if one.identity["estimand"] not in PARTIAL or not np.isnan(self.ranks[r, k, m, rank])
        ]
        return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"reliability": pl.Float64})

    def flips(self) -> pl.DataFrame:
        """Return the pairs of models of which one is better here and the other one there, beyond doubt in both places.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[5, 3, 0]] * 40, ["a", "b", "c"])
        >>> models = {"A": [[3, 1, 2]] * 40, "B": [[2, 3, 1]] * 40}
        >>> metrics = ["top-k-accuracy:1", "set-accuracy:2"]
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"], metrics=metrics)
        >>> result.compare().flips().select("first", "second", "first_better").row(0)
        ('A', 'B', 'top-1 accuracy (majority-vote); top-1 accuracy (annotators)')
        """
        import polars as pl

        rows = []
        for pair in combinations(self.evaluation.models, 2):
            found = [d for d in self.differences if {d.first, d.second} == set(pair) and d.is_distinguishable]
            found.sort(key=lambda one: one.estimand != PANEL)  # what verdicts are about is named first
            better = {sign: [d for d in found if np.sign(d.probability_better - 0.5) == sign] for sign in (1, -1)}
            if better[1] and better[-1]:
                rows.append((*pair, _where(better[1]), _where(better[-1])))
        names = ("first", "second", "first_better", "second_better")
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def _where(differences: list[Difference]) -> str:
    places = [f"{d.metric} ({d.run})" for d in differences[:4]]
    more = f" and {len(differences) - 4} more" if len(differences) > 4 else ""
    return "; ".join(places) + more


def compared(evaluation: Evaluation, margin: float | None = None) -> Comparison:
    """Compare all pairs of models; see :meth:`Evaluation.compare`."""
    if margin is not None:
        check_positive(margin=margin)
    differences = [found for one in evaluation.estimates for found in of_estimate(one, margin)]
    ranks = [
        [rank_probabilities(metric.goodness(one.spread.values[:, k])) for k, metric in enumerate(evaluation.metrics)]
        for one in evaluation.estimates
    ]
    return Comparison(tuple(differences), np.array(ranks), evaluation)


@np.errstate(invalid="ignore")  # the spread around what is infinite is undefined
def of_estimate(one: Estimate, margin: float | None = None) -> list[Difference]:
    """Compare all pairs of models under one estimate, by metric and then by pair, with Holm's adjustment."""
    evaluation, means, groups = one.evaluation, one.tally.means, one.evaluation.n_groups
    pairs = list(combinations(range(len(evaluation.models)), 2))
    same = evaluation.sums["least", "same"] if pairs else np.empty((0, 0))
    apart = {(a, b): np.where(same[a, b], 0.0, one.spread_of_difference(a, b).values) for a, b in pairs}
    tails = (1 - evaluation.level) / 2, (1 + evaluation.level) / 2
    found = []
    for k, metric in enumerate(evaluation.metrics):
        one_way, other_way = metric.goodness(np.array([1.0, -1.0]))
        for a, b in pairs:
            values = apart[a, b][k]
            gains = metric.goodness(values)
            if one_way == other_way:  # the best value is in the middle: the distances from it are compared
                gains = np.subtract(*metric.goodness(one.spread.values[[a, b], k]))
            chance = np.nan if np.isnan(gains).any() else float(np.mean(gains > 0) + np.mean(gains == 0) / 2)
            low, high = (np.nan, np.nan) if np.isnan(values).any() else np.quantile(values, tails)
            gap = float(np.mean(means[a, k] - means[b, k]))
            p_value = np.nan if same[a, b] else min(1.0, 2 * min(chance, 1 - chance) + 1 / len(values))
            if one.identity["estimand"] in PARTIAL and np.isnan(gap):
                continue
            found.append(
                Difference(
                    **one.identity,
                    metric=metric.name,
                    first=evaluation.models[a],
                    second=evaluation.models[b],
                    difference=gap,
                    low=float(np.fmin(low, gap)),
                    high=float(np.fmax(high, gap)),
                    probability_better=chance,
                    p_value=p_value,
                    p_adjusted=p_value,
                    margin=margin,
                    level=evaluation.level,
                    higher_is_better=metric.higher_is_better,
                    are_same=bool(same[a, b]),
                    n_cases=evaluation.n_cases,
                    n_groups=groups,
                )
            )
    adjusted = holm([each.p_value for each in found])
    return [replace(each, p_adjusted=p) for each, p in zip(found, adjusted, strict=True)]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number by Holm's method; undefined ones do not count.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    values = np.array(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    stepped = np.maximum.accumulate(values[order] * np.arange(len(order), 0, -1))
    values[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in values]


def difference(one: Estimate, k: int, a: int, b: int) -> Difference:
    """Compare model ``a`` with model ``b`` by metric ``k`` under one estimate, all its comparisons considered."""
    models, metric = one.evaluation.models, one.evaluation.metrics[k].name
    pair = {models[a], models[b]}
    found = next(each for each in of_estimate(one) if each.metric == metric and {each.first, each.second} == pair)
    return found if found.first == models[a] else found.mirrored()


def rank_probabilities(goodness: FloatArray) -> FloatArray:
    """Return how often each model has each rank, (models, models), given its goodness in every draw (models, draws).

    Equal models share the ranks they take up. Where a model has no value, nothing is known of any rank.

    >>> rank_probabilities(np.array([[2.0, 1.0], [1.0, 1.0]]))
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    n_models = len(goodness)
    if np.isnan(goodness).any():
        return np.full((n_models, n_models), np.nan)
    with np.errstate(invalid="ignore"):  # of infinities
        gaps = np.where(goodness[None] == goodness[:, None], 0.0, goodness[None] - goodness[:, None])
    near = ROUNDING * np.abs(goodness)[:, None]  # what rounding tells apart is tied
    above = (gaps > near).sum(axis=1)
    tied = (np.abs(gaps) <= near).sum(axis=1)
    ranks = np.arange(n_models)[:, None, None]
    inside = (ranks >= above) & (ranks < above + tied)
    return np.asarray((inside / tied).mean(axis=2).T)
