"""Agreement of annotators and models with one annotator, with intervals over cases and over annotators.

Every opinion has a value: how well it agrees with the others, or a model with it. Around the mean of their case, these
values add up over the cases of an annotator to one effect. The sum of squared effects beyond what independent cases
give by chance is the variance between annotators; its scale follows from who read which case with whom.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, stdtr, stdtrit

from dissensus.agreement.coefficients import sparse
from dissensus.core.aliases import BoolArray, FloatArray, IntArray
from dissensus.core.ragged import weighted_counts
from dissensus.evaluation.expert_comparison.alternative_annotator import first_shares
from dissensus.evaluation.expert_comparison.pairs import Pairs, Pooled, needs_scores, values_of_cases
from dissensus.evaluation.expert_comparison.survey_equivalence import Panels, Worth, worth_of
from dissensus.evaluation.folds import clusters_of
from dissensus.evaluation.intervals import Part
from dissensus.metrics.base import Metric
from dissensus.metrics.data_set import DataSetMetric
from dissensus.metrics.decisions import Sensitivity, Specificity
from dissensus.metrics.ranking import SensitivityAtSpecificity
from dissensus.predictions.lists import Predictions
from dissensus.study.panel import ANONYMOUS

# So many cases with two annotators or more are needed, of all and of every subgroup and annotator.
LEAST_CASES = 10

# Annotators are a sample if so many read so many cases with at least two others.
LEAST_ANNOTATORS, LEAST_COMMON = 4, 10

EXPERTS = ("experts", "experts_low", "experts_high")

# How far from the annotators' specificity the slope of a curve is looked at.
NEAR = 0.05

# How an annotator's share of the pairs of a case may lie below one half, which it is where there are only two.
ROUNDED = 1e-9


class PointOfExperts(NamedTuple):
    """The sensitivity of a model at the specificity of annotators, beside their sensitivity; a metric of pairs only."""

    called: str
    range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    scale: str = "logit"

    @property
    def name(self) -> str:
        """What it is called."""
        return f"sensitivity at the specificity of one {self.called}"


class Estimate(NamedTuple):
    """A mean over cases with its interval and what makes it uncertain."""

    mean: float
    low: float
    high: float
    case_sd: float
    annotator_sd: float
    df: float

    def named(self, *names: str) -> dict[str, float]:
        """Return mean and limits under names of columns."""
        return dict(zip(names, (self.mean, self.low, self.high), strict=True))

    def tail(self, value: float) -> float:
        """Return the probability that so much more than a value is seen, if the value is true: a one-sided p-value."""
        sd = math.hypot(self.case_sd, 0.0 if math.isnan(self.annotator_sd) else self.annotator_sd)
        return float(stdtr(self.df, (value - self.mean) / sd)) if sd > 0 else float(self.mean <= value)


def estimate(
    values: FloatArray,
    weights: FloatArray,
    clusters: IntArray,
    bounds: tuple[float, float],
    part: Part | None,
    level: float,
    scale: str = "plain",
) -> Estimate:
    """Average values over cases, with Student's t interval at the degrees of freedom of Satterthwaite.

    The variance over cases is that of clusters, with one more case at the ends of the range, so that no interval is
    empty; that over annotators is added where they are a sample. On the logit scale an interval keeps to its range.

    >>> found = estimate(np.array([0.0, 1.0, 1.0, 1.0]), np.ones(4), np.arange(4), (0.0, 1.0), None, 0.95)
    >>> round(found.mean, 2), round(found.low, 2), round(found.high, 2)
    (0.75, 0.0, 1.0)
    """
    total = float(weights.sum())
    mean = float(weights @ values / total)
    if math.isnan(mean):
        return Estimate(*(math.nan,) * 5, math.inf)
    sums = weighted_counts(clusters, weights * (values - mean), int(clusters.max()) + 1)
    n = int((weighted_counts(clusters, weights, len(sums)) > 0).sum())
    low, high = bounds
    end = (high - low) / 2 if math.isfinite(high - low) else float(np.ptp(values)) / 2
    unit = float(np.square(weights).sum()) / total
    cases = (float(np.square(sums).sum()) * n / max(n - 1, 1) + (unit * end) ** 2) / total**2
    annotators = 0.0 if part is None else float(part.variance)
    doubt = cases**2 / max(n - 1, 1) + (0.0 if part is None else float(part.before) ** 2 / part.freedom)
    df = max((cases + annotators) ** 2 / doubt, 1.0) if doubt > 0 else math.inf
    half = float(stdtrit(df, (1 + level) / 2)) * math.sqrt(cases + annotators)
    annotator_sd = math.nan if part is None else math.sqrt(annotators)
    ends = max(mean - half, low), min(mean + half, high)
    if scale == "logit" and 0 < mean < 1:
        centre, wide = float(logit(mean)), half / (mean * (1 - mean))
        ends = float(expit(centre - wide)), float(expit(centre + wide))
    return Estimate(mean, *ends, math.sqrt(cases), annotator_sd, df)


@dataclass(frozen=True, eq=False)
class Crossing:
    """Say who read which case with whom, and how effects of annotators become a variance.

    With the share h of an annotator in a case of weight w, an effect g of annotators moves the values of a case by
    w h (g - mean of g): the quadratic form of these, minus what chance would give, is compared with that of the mean.

    Attributes
    ----------
    counted : (n_opinions,)
        Opinions of named annotators with two others or more on the case.
    cell, annotator : (n_counted,), (n_cells,)
        Who read which case, or group of cases, and the annotator of each of these.
    scale, freedom
        From squared effects beyond chance to the variance of the mean, and the degrees of freedom.
    """

    counted: BoolArray
    cell: IntArray
    annotator: IntArray
    scale: float
    freedom: float

    @staticmethod
    def of(pairs: Pairs, shares: FloatArray, weights: FloatArray, clusters: IntArray) -> Crossing | None:
        """Find who read what with whom; nothing if too few annotators read enough cases with two others."""
        study, case, n_clusters = pairs.study, pairs.study.panel.case_of_opinion, int(clusters.max()) + 1
        n_names, weight = len(study.annotator_names), weights / weights.sum()
        own = pairs.involved(shares) / 2
        largest = np.zeros(study.n_cases)
        np.maximum.at(largest, case, own)
        named = study.annotators != ANONYMOUS
        counted = named & (own > 0) & (weight[case] > 0) & (largest[case] < 0.5 - ROUNDED)
        keys = study.annotators * n_clusters + clusters[case]
        read = np.bincount(np.unique(keys[counted]) // n_clusters, minlength=n_names + 1)
        counted &= read[study.annotators] > 1
        if (read >= LEAST_COMMON).sum() < LEAST_ANNOTATORS:
            return None
        cells, cell = np.unique(keys[counted], return_inverse=True)
        annotator, place = cells // n_clusters, np.full(study.n_opinions, -1)
        place[counted] = cell
        both = counted[pairs.predictor] & counted[pairs.target] & (pairs.predictor != pairs.target)
        one, other, alone = pairs.predictor[both], pairs.target[both], np.flatnonzero(counted)
        moved = sparse(
            np.concatenate([-weight[case[one]] * own[one] * own[other], (weight[case] * own * (1 - own))[alone]]),
            np.concatenate([place[one], cell]),
            study.annotators[np.concatenate([other, alone])],
            (len(cells), n_names),
        )
        effects = sparse(np.ones(len(cells)), annotator, np.arange(len(cells)), (n_names, len(cells))) @ moved
        squares = np.asarray(effects.multiply(effects).sum(axis=1)).ravel()
        by_cell = weighted_counts(annotator, np.asarray(moved.multiply(moved).sum(axis=1)).ravel(), n_names)
        found = float((squares - _chance(read[:n_names], by_cell, squares)).sum())
        of_mean = weighted_counts(study.annotators[named], (weight[case] * own)[named], n_names)
        product = effects @ effects.T
        freedom = float(squares.sum() ** 2 / product.multiply(product).sum())
        return (
            Crossing(counted, cell, annotator, float(np.square(of_mean).sum()) / found, freedom) if found > 0 else None
        )

    def part(self, effects: FloatArray) -> Part:
        """Return the variance of a mean that comes from annotators, given what every opinion moves, (n_opinions,)."""
        cells = weighted_counts(self.cell, effects[self.counted], len(self.annotator))
        n_names = int(self.annotator.max()) + 1
        sums, squares = (weighted_counts(self.annotator, cells**power, n_names) for power in (1, 2))
        noise = _chance(np.bincount(self.annotator), squares, sums**2).sum()
        before = self.scale * float(np.square(sums).sum())
        return Part(np.asarray(max(before - self.scale * noise, 0.0)), np.asarray(before), self.freedom)


def _chance(n: IntArray, squares: FloatArray, squared_sums: FloatArray) -> FloatArray:
    """Return the variance of sums of n independent values, given the sums of their squares and their squared sums."""
    return np.where(n > 1, n / np.maximum(n - 1, 1) * (squares - squared_sums / np.maximum(n, 1)), 0.0)


@dataclass(frozen=True, eq=False)
class Sample:
    """Hold what every pair of annotators, and every model and annotator, is worth.

    Attributes
    ----------
    pairs, shares
        Who is compared with whom, and the share of each pair in its case; zero for pairs that do not count.
    weights : (n_cases,)
        How much each case counts.
    models, metrics
        What is compared.
    pooled
        What metrics of a whole data set see.
    of_pairs : (metrics, n_pairs)
        Agreement of one annotator with another; nan of metrics that need scores.
    of_models : (models, metrics, n_opinions)
        Agreement of each model with each annotator.
    """

    pairs: Pairs
    shares: FloatArray
    weights: FloatArray
    models: Mapping[str, Predictions]
    metrics: tuple[Metric | PointOfExperts, ...]
    pooled: Pooled
    of_pairs: FloatArray
    of_models: FloatArray

    @staticmethod
    def of(
        pairs: Pairs,
        models: Mapping[str, Predictions],
        metrics: tuple[Metric, ...],
        *,
        findings: Mapping[str, str],
        called: str,
        point: bool,
    ) -> Sample:
        """Compare everybody with everybody.

        Where models give scores for a yes-or-no question, the point of their curve at the annotators' mean specificity
        is compared too: first, if there is a ``point`` in it, as the metric that was wanted first needs scores.
        """
        study, shares, rows = pairs.study, pairs.shares(), np.arange(pairs.study.n_cases)
        _, of_finding = np.unique([findings.get(name, "") for name in study.case_names], return_inverse=True)
        items = clusters_of(study, rows) if findings else rows
        pooled = Pooled(pairs, study.case_weights, of_finding.astype(np.int64), items)
        wanted: list[Metric | PointOfExperts] = list(metrics)
        scored = study.question == "binary" and all(model.kind == "scores" for model in models.values())
        if scored and (point or any(isinstance(metric, Sensitivity) for metric in metrics)):
            wanted.insert(0 if point else len(wanted), PointOfExperts(called))
            wanted += [metric for metric in (Specificity(),) if metric not in wanted]
        of_pairs = np.full((len(wanted), len(shares)), np.nan)
        of_models = np.full((len(models), len(wanted), study.n_opinions), np.nan)
        places = [place for place, metric in enumerate(wanted) if metric in metrics]
        alone = [place for place in places if not isinstance(wanted[place], DataSetMetric)]
        if alone:
            chosen = [metric for metric in metrics if not isinstance(metric, DataSetMetric)]
            of_pairs[alone], of_models[:, alone] = values_of_cases(chosen, pairs, models, called)
        found = Sample(pairs, shares, study.case_weights, models, tuple(wanted), pooled, of_pairs, of_models)
        return found.of_whole()

    def of_whole(self) -> Sample:
        """Return the same with the values of metrics of a whole data set, by the pairs that count."""
        of_pairs, of_models = self.of_pairs.copy(), self.of_models.copy()
        for place, metric in enumerate(self.metrics):
            alone, beside = self.pooled_metrics(metric)
            if alone is not None and not needs_scores(alone):
                of_pairs[place] = self.pooled.of_pairs(alone, self.shares)
            if beside is not None:
                for number, model in enumerate(self.models.values()):
                    of_models[number, place] = self.pooled.of_model(beside, model, self.shares)
        return replace(self, of_pairs=of_pairs, of_models=of_models)

    def pooled_metrics(self, metric: Metric | PointOfExperts) -> tuple[DataSetMetric | None, DataSetMetric | None]:
        """Return what is computed of annotators and of models, if it is of a whole data set."""
        if isinstance(metric, PointOfExperts):
            return Sensitivity(), at_specificity(self.specificity)
        return (metric, metric) if isinstance(metric, DataSetMetric) else (None, None)

    @cached_property
    def specificity(self) -> float:
        """How often annotators agree with each other where the finding is absent."""
        weights = self.shares * self.weights[self.pairs.case] / self.weights.sum()
        return float(weights @ self.pooled.of_pairs(Specificity(), self.shares))

    def slope(self, model: Predictions) -> float:
        """Return how fast the sensitivity of a model falls with specificity, around that of annotators."""
        c, weights = self.specificity, self.targets * self.weights[self.pairs.study.panel.case_of_opinion]
        ends = max(c - NEAR, c / 2), min(c + NEAR, (1 + c) / 2)
        there = [at_specificity(one) for one in ends]
        if None in there:
            return 0.0
        low, high = (weights @ self.pooled.of_model(one, model, self.shares) for one in there if one is not None)
        return float((high - low) / weights.sum() / (ends[1] - ends[0]))

    def part(self, kept: BoolArray | IntArray) -> Sample:
        """Return the same for some of the pairs, shape (n_pairs,), and the cases that have any."""
        pairs, cases, opinions = self.pairs.part(kept)
        weights, findings, items = (one[cases] for one in (self.weights, self.pooled.findings, self.pooled.items))
        models = {name: model.select(cases) for name, model in self.models.items()}
        pooled = Pooled(pairs, weights, findings, items)
        values = self.of_pairs[:, kept], self.of_models[..., opinions]
        return Sample(pairs, pairs.shares(), weights, models, self.metrics, pooled, *values).of_whole()

    @cached_property
    def targets(self) -> FloatArray:
        """Share of each opinion in its case, as the one that is agreed with, shape (n_opinions,)."""
        return weighted_counts(self.pairs.target, self.shares, self.pairs.study.n_opinions)

    @cached_property
    def means(self) -> FloatArray:
        """Agreement of annotators and of models on each case, shape (1 + models, metrics, n_cases)."""
        study = self.pairs.study
        flat = (self.targets * self.of_models).reshape(-1, study.n_opinions)
        models = np.array([weighted_counts(study.panel.case_of_opinion, row, study.n_cases) for row in flat])
        models = models.reshape(len(self.models), len(self.metrics), study.n_cases)
        return np.concatenate([self.pairs.by_case(self.of_pairs, self.shares)[None], models])

    @cached_property
    def clusters(self) -> IntArray:
        """What is resampled together: groups of cases, or cases."""
        return clusters_of(self.pairs.study, np.arange(self.pairs.study.n_cases))

    @cached_property
    def crossing(self) -> Crossing | None:
        """Who read what with whom; nothing if annotators are no sample."""
        return Crossing.of(self.pairs, self.shares, self.weights, self.clusters)

    @cached_property
    def effects(self) -> FloatArray:
        """How far every opinion moves the mean of annotators and of models, (1 + models, metrics, n_opinions).

        An opinion is part of a pair twice, as the one that agrees and as the one that is agreed with; what is left of
        the mean of its case without it says how far it moves.
        """
        pairs, case = self.pairs, self.pairs.study.panel.case_of_opinion
        weight, involved = (self.weights / self.weights.sum())[case], pairs.involved(self.shares)
        left = np.where(involved < 1 - ROUNDED, 1 - involved, np.inf)
        of_pairs = np.array([pairs.involved(self.shares * row) for row in self.of_pairs])
        alone = (of_pairs - involved * self.means[0][:, case]) * (1 - involved / 2) / left
        models = self.targets * (self.of_models - self.means[1:][..., case])
        return np.asarray(weight * np.concatenate([alone[None], models]))

    def rows(self, margin: float | None, level: float) -> list[dict[str, Any]]:
        """Return a row per metric and model, with p-values: of no difference, and of one beyond the margin."""
        crossing = self.crossing

        def estimated(
            values: FloatArray, effects: FloatArray, bounds: tuple[float, float], scale: str = "plain"
        ) -> Estimate:
            part = None if crossing is None else crossing.part(effects)
            return estimate(values, self.weights, self.clusters, bounds, part, level, scale)

        found, means = [], self.means
        effects = np.zeros((*means.shape[:2], 0)) if crossing is None else self.effects
        for k, metric in enumerate(self.metrics):
            low, high = bounds = metric.range
            point = self.metrics.index(Specificity()) if isinstance(metric, PointOfExperts) else -1
            of_experts = estimated(means[0, k], effects[0, k], bounds, metric.scale)
            for number, name in enumerate(self.models, start=1):
                values, moves = means[number, k], effects[number, k]
                if point >= 0:  # the specificity of annotators is uncertain too
                    slope = self.slope(self.models[name])
                    values = values + slope * (means[0, point] - self.specificity)
                    moves = moves + slope * effects[0, point]
                own = estimated(values, moves, bounds, metric.scale)
                gap = estimated(values - means[0, k], moves - effects[0, k], (low - high, high - low))
                better = gap if metric.higher_is_better else gap._replace(mean=-gap.mean)
                found.append(
                    {
                        "metric": metric.name,
                        "model": name,
                        **of_experts.named(*EXPERTS),
                        **own.named("agreement", "low", "high"),
                        **gap.named("difference", "difference_low", "difference_high"),
                        "case_sd": gap.case_sd,
                        "annotator_sd": gap.annotator_sd,
                        "p_value": min(2 * min(better.tail(0.0), 1 - better.tail(0.0)), 1.0),
                        "p_noninferior": math.nan if margin is None else better.tail(-margin),
                    }
                )
        return found

    def worth(self, level: float) -> dict[str, Worth]:
        """Return how many annotators each model is worth, by first choices or, of ratings, by squared distance."""
        study = self.pairs.study
        panels, case = Panels(study), study.panel.case_of_opinion
        share = self.pairs.involved(self.shares) / 2
        crossings: dict[bytes, Crossing | None] = {}
        found = {}
        for name, model in self.models.items():
            if study.kind == "ratings":
                values = -np.square(model.numbers[case] - study.scores)
            else:
                shares = first_shares(model, study.n_conditions)[case]
                values = np.asarray(shares.multiply(self.pooled.labels).sum(axis=1)).ravel()
            own = weighted_counts(case, self.targets * values, study.n_cases)
            moves = self.targets * (values - own[case])

            def compare(k: int, own: FloatArray = own, moves: FloatArray = moves) -> Estimate:
                of_panel = panels.agreement(k)
                weights = np.where(np.isnan(of_panel), 0.0, self.weights)
                key = (weights > 0).tobytes()
                if key not in crossings:
                    crossings[key] = Crossing.of(self.pairs, self.shares, weights, self.clusters)
                crossing, part = crossings[key], None
                if crossing is not None:
                    part = crossing.part((moves - (1 - share) * panels.moves(k)) * weights[case] / weights.sum())
                gaps = np.where(weights > 0, own - np.nan_to_num(of_panel), 0.0)
                return estimate(gaps, weights, self.clusters, (-math.inf, math.inf), part, level)

            found[name] = worth_of(panels, compare)
        return found

    def annotator_rows(self, level: float) -> list[dict[str, Any]]:
        """Score every named annotator like a model, beside every model on the same cases against the same others."""
        study, found = self.pairs.study, []
        predictor = study.annotators[self.pairs.predictor]
        order = np.argsort(predictor, kind="stable")
        limits = np.searchsorted(predictor[order], np.arange(len(study.annotator_names) + 1))
        for code, name in enumerate(study.annotator_names):
            kept = order[limits[code] : limits[code + 1]]
            n_cases = len(np.unique(self.pairs.case[kept]))
            if n_cases < LEAST_CASES:
                continue
            for row in self.part(kept).rows(None, level):
                if math.isnan(row["experts"]):  # an annotator gives no scores
                    continue
                beside = {"model": row["model"], "model_agreement": row["agreement"]}
                own = {to: row[of] for of, to in zip(EXPERTS, ("agreement", "low", "high"), strict=True)}
                gap = {part: row[part] for part in ("difference", "difference_low", "difference_high")}
                found.append({"annotator": name, "metric": row["metric"], "n_cases": n_cases, **own, **beside, **gap})
        return found


def at_specificity(value: float) -> SensitivityAtSpecificity | None:
    """Return the sensitivity at a specificity, if that is between 0 and 1."""
    return SensitivityAtSpecificity(value) if 0 < value < 1 else None
