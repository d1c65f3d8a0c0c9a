"""Compare models on the same draws and the same resampled cases, and say when they cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from dissensus.core.arrays import NEAR, BoolArray, FloatArray, IntArray
from dissensus.core.checks import check_positive
from dissensus.core.errors import known_name
from dissensus.core.screen import Screen, Shown, small_probability
from dissensus.evaluation.estimates import AGREEMENT, Estimate
from dissensus.evaluation.intervals import LEAST_P, tail_probability
from dissensus.evaluation.results import Evaluation
from dissensus.evaluation.tally import TRUTH

# Values that differ by less than this part of them are equal.
ROUNDING = 1e-12

# How many resampled differences are held at the same time: few enough for the caches of a processor.
NUMBERS_AT_ONCE = 100_000

# What is found of every pair and metric, by the names that differences give it.
NUMBERS = ("difference", "low", "high", "probability_better", "p_value")

# Estimands that some metrics do not have.
PARTIAL = (AGREEMENT, TRUTH)

# So many pairs of models are shown; the rest is counted.
MOST_PAIRS = 15

# With fewer cases, or fewer groups of cases, there are numbers but no verdict.
LEAST_CASES, LEAST_GROUPS = 30, 5


@dataclass(frozen=True)
class Difference:
    """How the better of two models, by its estimate, compares with the worse under one run and metric.

    Attributes
    ----------
    run, aggregation, reliability, estimand, metric, first, second
        What is compared.
    difference, low, high
        The first minus the second, and the interval of this difference on cases like these.
    probability_better
        Share of resamples in which the first is better, ties counted half.
    p_value
        Twice the probability of the other order, from the tail of the resampled differences; undefined for a model and
        itself.
    p_adjusted
        The same adjusted by Holm for all pairs of models, of the primary metric; undefined for other metrics, and for
        pairs that have no verdict.
    margin
        The largest difference that does not matter, if one was given.
    is_primary
        Whether the metric is the primary one, whose pairs have verdicts; others are secondary.
    level
        Probability that the interval holds.
    higher_is_better, are_same, n_cases, n_groups
        How the metric is oriented, whether both models are the same predictions, how many cases there are, and in how
        many groups (0 if they stand alone).
    trained
        Those of the two that were trained on these annotations: there is no verdict about them.

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
    is_primary: bool = True
    level: float = 0.95
    higher_is_better: bool = True
    are_same: bool = False
    n_cases: int = 0
    n_groups: int = 0
    trained: tuple[str, ...] = ()

    @property
    def is_decided(self) -> bool:
        """Whether there are enough cases, and groups of cases, for a verdict, and neither model was trained on them."""
        is_enough = self.n_cases >= LEAST_CASES and (not self.n_groups or self.n_groups >= LEAST_GROUPS)
        return is_enough and not self.trained

    @property
    def is_distinguishable(self) -> bool:
        """Whether the order is beyond doubt at the level: of the primary metric, all pairs of models considered."""
        p_value = self.p_adjusted if self.is_primary else self.p_value
        outside = self.low > 0 or self.high < 0
        return self.is_decided and not self.are_same and outside and p_value < 1 - self.level

    @property
    def verdict(self) -> str:
        """Say in words which model is better, or why that cannot be said."""
        told = self._judged[1].format(self.first, self.second)
        is_plain = self.is_primary or self.are_same or not self.is_decided
        return told if is_plain else f"{told} (secondary, not adjusted)"

    @property
    def outcome(self) -> str:
        """The verdict on the first model in a few words."""
        return self._judged[0]

    @property
    def _judged(self) -> tuple[str, str]:
        """The verdict in a few words and in a sentence, with fields for the first and the second model."""
        if self.are_same:
            return "same predictions", "{0} and {1} are the same predictions"
        if self.trained:
            told = " and ".join("{0}" if name == self.first else "{1}" for name in self.trained)
            return "no verdict", f"{told} trained on these annotations: no verdict"
        if self.n_cases < LEAST_CASES:
            return "no verdict", f"too few cases for a verdict ({self.n_cases} of at least {LEAST_CASES})"
        if not self.is_decided:
            return "no verdict", f"too few groups for a verdict ({self.n_groups} of at least {LEAST_GROUPS})"
        if self.is_distinguishable:
            better = self.probability_better > 0.5
            return ("better", "{0} is better than {1}") if better else ("worse", "{1} is better than {0}")
        margin = np.nan if self.margin is None else self.margin  # compares as false
        low, high = (self.low, self.high) if self.higher_is_better else (-self.high, -self.low)
        if -margin < low and high < margin:
            return "equivalent", f"{{0}} and {{1}} are equivalent within {margin:g}"
        if low > -margin:
            return "not worse", f"{{0}} is not worse than {{1}} by more than {margin:g}"
        if high < margin:
            return "not better", f"{{1}} is not worse than {{0}} by more than {margin:g}"
        if np.isnan(self.p_value):
            return "undefined", "the difference of {0} and {1} is undefined"
        if self.is_primary and self.p_value <= LEAST_P:
            return "resolution too low", "{0} and {1} cannot be decided at this resolution"
        return "not distinguishable", "{0} and {1} are not distinguishable"

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


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
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
        names = [one.name for one in fields(Difference)]
        shown = {name: [getattr(d, name) for d in self.differences] for name in names[: names.index("is_primary") + 1]}
        kinds = {"reliability": pl.Float64, "margin": pl.Float64}
        return pl.DataFrame({**shown, "verdict": [d.verdict for d in self.differences]}, schema_overrides=kinds)

    def summary(self) -> pl.DataFrame:
        """Return what decides, a row per pair of models from better to worse, the verdict first.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]] * 20, ["a", "b"])
        >>> models = {"A": [[1, 0], [0, 1]] * 20, "B": [[0, 1], [0, 1]] * 20}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
        >>> result.compare().summary().select("verdict", "difference").rows()
        [('A is better than B', 0.25)]
        """
        rows = {id(one): row for row, one in enumerate(self.differences)}
        return self.to_frame()[[rows[id(one)] for one in self.deciding()]].select("verdict", pl.exclude("verdict"))

    def deciding(self) -> list[Difference]:
        """Return what verdicts are about: the pairs of the primary metric, from better to worse."""
        from dissensus.evaluation.sentences import deciding

        if not self.differences:
            return []
        run = deciding(self.evaluation).identity["run"]
        found = [one for one in self.differences if one.run == run and one.is_primary]
        wins = [one.first for one in found]
        return sorted(found, key=lambda one: (-wins.count(one.first), -wins.count(one.second)))

    def screen(self, *, metric: str | None = None, show_all: bool = False) -> Screen:
        """Return what is seen first: a row per pair by what decides, who leads, and where the order flips.

        Parameters
        ----------
        metric
            Compare by this metric instead of the primary one.
        show_all
            Show every metric and estimand.
        """
        from dissensus.evaluation.sentences import deciding, decision, flips

        result, found = self.evaluation, self.deciding()
        if not found:
            return Screen("There is nothing to compare: an evaluation needs two models.")
        if metric is not None or show_all:
            run = deciding(result).identity["run"]
            found = [one for one in self.differences if metric in (None, one.metric) and (show_all or one.run == run)]
            found.sort(key=lambda one: (not one.is_primary, one.estimand != AGREEMENT))
        shown = found if show_all else found[:MOST_PAIRS]
        columns = {
            "": [one.first for one in shown],
            "minus": [one.second for one in shown],
            f"difference [{100 * result.level:g} %]": [
                f"{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}]" for one in shown
            ],
            "p (Holm)": [small_probability(one.p_adjusted if one.is_primary else one.p_value) for one in shown],
            "first is": [one.outcome for one in shown],
        }
        if show_all:
            columns |= {"metric": [one.metric for one in shown], "run": [one.run for one in shown]}
        told = [f"{len(found) - len(shown)} more pairs: --all"] if len(found) > len(shown) else []
        told += [f"{found[0].verdict}."] if len(found) == 1 else decision(result)
        turned = [f"The order flips: {one}" for one in flips(self)]
        heading = f"{found[0].metric}: {found[0].estimand}" if not show_all else "all metrics and estimands"
        wanted = set(map(id, found))
        rows = [row for one, row in zip(self.differences, self.to_frame().to_dicts(), strict=True) if id(one) in wanted]
        said: dict[str, Any] = {"n_names": 2, "more": "--all", "is_whole": show_all, "records": rows}
        return Screen(heading, "", columns, tuple(told), tuple(turned), **said)

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
        metrics, models = [metric.name for metric in self.evaluation.metrics], self.evaluation.models
        rows = [
            {**one.identity, "metric": metrics[k], "model": models[m], "rank": rank + 1, "probability": p}
            for one, ranks in zip(self.evaluation.estimates, self.ranks, strict=True)
            for (k, m, rank), p in zip(np.ndindex(ranks.shape), ranks.ravel().tolist(), strict=True)
            if one.identity["estimand"] not in PARTIAL or not np.isnan(p)
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
        ('A', 'B', 'top-1 accuracy (annotators); top-1 accuracy (majority-vote)')
        """
        rows, known = [], dict[frozenset[str], list[Difference]]()
        for each in self.differences:
            if each.is_distinguishable:
                known.setdefault(frozenset((each.first, each.second)), []).append(each)
        for pair in combinations(self.evaluation.models, 2):
            found = known.get(frozenset(pair), [])
            found.sort(key=lambda one: (not one.is_primary, one.estimand != AGREEMENT))  # what decides is named first
            better = {name: [d for d in found if (d.probability_better > 0.5) == (d.first == name)] for name in pair}
            if all(better.values()):
                rows.append((*pair, *map(_where, better.values())))
        names = ("first", "second", "first_better", "second_better")
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def _where(differences: list[Difference]) -> str:
    places = [f"{d.metric} ({d.run})" for d in differences[:4]]
    more = f" and {len(differences) - 4} more" if len(differences) > 4 else ""
    return "; ".join(places) + more


def compared(evaluation: Evaluation, pair: tuple[str, ...] = (), margin: float | None = None) -> Comparison:
    """Compare all pairs of models, or one pair by what decides; see :meth:`Evaluation.compare`."""
    if margin is not None:
        check_positive(margin=margin)
    for name in pair:
        known_name("model", name, evaluation.models)
    ranks = [
        [rank_probabilities(metric.goodness(one.spread.values[:, k])) for k, metric in enumerate(evaluation.metrics)]
        for one in evaluation.estimates
    ]
    told = (found for one in evaluation.estimates for found in one.differences)
    told = told if margin is None else (replace(one, margin=margin) for one in told)
    found = Comparison(tuple(told), np.array(ranks), evaluation)
    if not pair:
        return found
    own = [one for one in found.deciding() if {one.first, one.second} == {*pair}]
    return replace(found, differences=tuple(one if one.first == pair[0] else one.mirrored() for one in own))


def differences_of(one: Estimate) -> Iterator[Difference]:
    """Compare all pairs of models under one estimate, by metric and then by pair, each from better to worse.

    The pairs of the primary metric, which is the first, are the family of Holm's adjustment.
    """
    evaluation, models, n_groups = one.evaluation, one.evaluation.models, one.evaluation.n_groups
    first, second = np.triu_indices(len(models), 1)
    if not len(first):
        return
    same = evaluation.sums["least", "same"][first, second] > 0
    at_once = max(1, NUMBERS_AT_ONCE // one.spread.values[0].size)
    parts = [slice(start, start + at_once) for start in range(0, len(first), at_once)]
    numbers = np.concatenate([_compared(one, first[part], second[part], same[part]) for part in parts], axis=1)
    trained = [
        tuple(models[m] for m in pair if models[m] in evaluation.trained_on) for pair in zip(first, second, strict=True)
    ]
    adjusted = holm(np.where([bool(names) for names in trained], np.nan, numbers[:, :, 0][3]))
    means, identity = one.tally.means.mean(axis=-1), one.identity
    for k, metric in enumerate(evaluation.metrics):
        with np.errstate(invalid="ignore"):  # of infinities
            gaps = means[first, k] - means[second, k]
        goodness = metric.goodness(means[:, k])
        for i, values in enumerate(zip(gaps.tolist(), *numbers[:, :, k].tolist(), strict=True)):
            a, b = first[i], second[i]
            if identity["estimand"] in PARTIAL and np.isnan(values[0]):
                continue
            each = Difference(
                **identity,
                **dict(zip(NUMBERS, values, strict=True)),  # a p-value is undefined where all values are zero
                metric=metric.name,
                first=models[a],
                second=models[b],
                p_adjusted=adjusted[i] if k == 0 else np.nan,
                is_primary=k == 0,
                level=evaluation.level,
                higher_is_better=metric.higher_is_better,
                are_same=bool(same[i]),
                n_cases=evaluation.n_cases,
                n_groups=n_groups,
                trained=trained[i],
            )
            yield each.mirrored() if goodness[a] < goodness[b] - NEAR else each


@np.errstate(invalid="ignore")  # the spread around what is infinite is undefined
def _compared(one: Estimate, first: IntArray, second: IntArray, same: BoolArray) -> FloatArray:
    """Return the limits of the differences of pairs, the chance that the first is better, and the p-value.

    The shape is (4, pairs, metrics). Limits hold the difference of the means.
    """
    level, metrics, apart = one.evaluation.level, one.evaluation.metrics, one.spread_of_difference(first, second)
    values = np.where(same[:, None, None], 0.0, apart.values)
    gains = np.stack([metric.goodness(values[:, k]) for k, metric in enumerate(metrics)], axis=1)
    signed, third = values, apart.third
    for k, metric in enumerate(metrics):
        one_way, other_way = metric.goodness(np.array([1.0, -1.0]))
        if one_way == other_way:  # the best value is in the middle: the distances from it are compared
            own = metric.goodness(one.spread.values[:, k])
            signed, gains[:, k] = signed.copy(), own[first] - own[second]
            signed[:, k], third[:, k] = gains[:, k], 0.0
    gap = np.subtract(*one.tally.means.mean(axis=-1)[[first, second]])
    low, high = np.quantile(values, ((1 - level) / 2, (1 + level) / 2), axis=-1)
    p_values = tail_probability(signed, apart.freedom, third, n_cases=one.evaluation.n_cases, level=level)
    return np.array([np.fmin(low, gap), np.fmax(high, gap), (np.sign(gains).mean(axis=-1) + 1) / 2, p_values])


def holm(p_values: Sequence[float] | FloatArray) -> list[float]:
    """Adjust p-values for their number as Holm does; undefined ones do not count.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    values = np.array(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    stepped = np.maximum.accumulate(values[order] * np.arange(len(order), 0, -1))
    values[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in values]


def rank_probabilities(goodness: FloatArray) -> FloatArray:
    """Return how often each model has each rank, (models, models), given its goodness in every draw (models, draws).

    Equal models share the ranks they take up. Where a model has no value, nothing is known of any rank.

    >>> rank_probabilities(np.array([[2.0, 1.0], [1.0, 1.0]]))
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    if np.isnan(goodness).any():
        return np.full((len(goodness), len(goodness)), np.nan)
    ranks, found = np.arange(len(goodness))[:, None], np.empty((len(goodness), len(goodness)))
    for model, own in enumerate(goodness):
        near = np.where(np.isfinite(own), ROUNDING * np.abs(own), 0.0)  # what rounding tells apart is tied
        above = (goodness > own + near).sum(axis=0)
        tied = (goodness >= own - near).sum(axis=0) - above
        inside = (ranks >= above) & (ranks < above + tied)
        found[model] = (inside / tied).mean(axis=1)
    return found
