"""Evaluate models against uncertain annotations: one pass over the cases, bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dissensus.aggregation import (
    Aggregation,
    AnnotatorBootstrap,
    Dirichlet,
    InverseRank,
    MajorityVote,
    PlackettLuce,
    PlackettLuceML,
    ProbabilisticInverseRank,
)
from dissensus.aggregation.naming import hyphenated
from dissensus.annotations.panel import check_length, check_names
from dissensus.annotations.rankings import Annotations
from dissensus.annotations.ratings import Ratings
from dissensus.errors import DissensusError
from dissensus.evaluation.results import Evaluation, Measure, Run
from dissensus.evaluation.tally import Tally
from dissensus.metrics import AverageOverlap, Drawn, Metric, Predicted, SetAccuracy, TopKAccuracy
from dissensus.plausibilities import Batch, Plausibilities, case_keys
from dissensus.predictions.lists import Predictions
from dissensus.typing import BoolArray, FloatArray, KeyArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

BATCH_CASES = 64
"""Cases that are evaluated at a time; fixed, so that sums do not depend on threads."""

POINTS: tuple[Aggregation, ...] = (MajorityVote(), InverseRank("shared"), InverseRank("each"), PlackettLuceML())
"""The deterministic aggregations that usual practice evaluates against."""


def default_aggregations() -> tuple[Aggregation, ...]:
    """Return the sweep of the paper: Plackett-Luce and probabilistic inverse ranks at five reliabilities each."""
    return (
        *(PlackettLuce(reliability=gamma) for gamma in (1, 2, 3, 5, 10)),
        *(ProbabilisticInverseRank(reliability=gamma) for gamma in (10, 20, 30, 50, 100)),
    )


def default_metrics(n_conditions: int) -> tuple[Metric, ...]:
    """Return the metrics of the paper's main figure, as far as there are conditions for them."""
    wanted = (TopKAccuracy(1), TopKAccuracy(3), SetAccuracy(2), SetAccuracy(3), AverageOverlap(3))
    return tuple(metric for metric in wanted if metric.depth < n_conditions)


def evaluate(
    annotations: Annotations | Ratings,
    predictions: Mapping[str, ArrayLike | Predictions],
    *,
    aggregations: Sequence[Aggregation] | None = None,
    metrics: Sequence[Metric] | None = None,
    draws: int = 1000,
    seed: int = 0,
    threads: int | None = None,
    strata: Mapping[str, Sequence[str]] | None = None,
    level: float = 0.9,
    allow_missing: bool = False,
    advance: Callable[[int], None] | None = None,
) -> Evaluation:
    """Evaluate models against draws of the plausibilities rather than against one label.

    Parameters
    ----------
    annotations
        What the annotators said.
    predictions
        Model name to scores (n_cases, K), in the order of the annotations, or to :class:`Predictions`, which are
        aligned by the names of cases and conditions.
    aggregations
        By default Plackett-Luce (1, 2, 3, 5, 10) and probabilistic inverse ranks (10, 20, 30, 50, 100).
    metrics
        By default top-1 and top-3 accuracy, set accuracy of 2 and 3, and average overlap of 3.
    draws, seed, threads
        As in :meth:`Aggregation.sample`. Models share draws and resampled cases, so differences are paired.
    strata
        Columns of cases: name to one label per case, for :meth:`Evaluation.by_group`.
    level
        Probability that intervals hold.
    allow_missing
        Evaluate the cases that all models have, instead of refusing models that lack some.
    advance
        Told the number of cases done, aggregation by aggregation.

    Examples
    --------
    >>> said = Annotations.from_rankings([[[["a"], ["b"]], [["b"]]], [[["c"]]]], ["a", "b", "c"])
    >>> result = evaluate(said, {"A": [[3, 2, 1], [0, 1, 2]]}, aggregations=[PlackettLuce(3)],
    ...                   metrics=[TopKAccuracy(1)], draws=2000)
    >>> row = result.to_frame().row(0, named=True)
    >>> round(row["mean"], 1), row["point_estimate"]
    (0.7, 0.75)
    """
    chosen = tuple(default_aggregations() if aggregations is None else aggregations)
    models = aligned_models(annotations, predictions, allow_missing=allow_missing)
    common = common_cases(annotations, models)
    study = annotations.select(common)
    measures = tuple(default_metrics(_n_conditions(models)) if metrics is None else metrics)
    check_request(chosen, measures, models, level)
    labels = _labels_of(annotations, strata or {}, common)
    job = Job(measures, models, seed, draws, study, labels)
    sampled = [aggregation.sample(study, draws=draws, seed=seed, threads=threads) for aggregation in chosen]
    points = _points_for(study, chosen)
    done = [job.run(plausibilities, advance) for plausibilities in sampled]
    at_once = replace(job, draws=1, strata={})
    limits = [at_once.run(point.sample(study, threads=threads), None) for point in points]
    return Evaluation(
        runs=tuple(_run(a, p) for a, p in zip(chosen, sampled, strict=True)),
        points=tuple(_described(point) for point in points),
        models=tuple(models),
        measures=tuple(Measure(metric.name, metric.higher_is_better) for metric in measures),
        case_names=sampled[0].case_names,
        excluded=sampled[0].excluded,
        tallies=tuple(outcome.tally for outcome in done),
        point_tallies=tuple(outcome.tally for outcome in limits),
        case_means=np.stack([outcome.means for outcome in done]),
        case_deviations=np.stack([outcome.deviations for outcome in done]),
        strata={column: tuple(names[n] for n in sampled[0].case_names) for column, names in labels.items()},
        stratum_tallies={key: tuple(outcome.strata[key] for outcome in done) for key in done[0].strata},
        level=level,
        seed=seed,
    )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one aggregation gives: sums over cases, sums by stratum, and every case's mean and spread over draws."""

    tally: Tally
    strata: Mapping[tuple[str, str], Tally]
    means: FloatArray
    deviations: FloatArray


@dataclass(frozen=True, eq=False)
class Job:
    """Evaluate batches: the same function for every batch, thread and worker."""

    metrics: tuple[Metric, ...]
    models: Mapping[str, Predictions]
    seed: int
    draws: int
    study: Annotations | Ratings
    strata: Mapping[str, Mapping[str, str]]

    def run(self, plausibilities: Plausibilities, advance: Callable[[int], None] | None) -> Outcome:
        """Evaluate all cases under one aggregation, and merge in the order of cases."""
        parts = []
        for part in plausibilities.map(self.batch, batch_cases=BATCH_CASES):
            parts.append(part)
            if advance is not None:
                advance(part.means.shape[-1])
        shape = (len(self.models), len(self.metrics), self.draws)
        labels = {(column, label) for column, names in self.strata.items() for label in names.values()}
        return Outcome(
            tally=sum((part.tally for part in parts), Tally.zeros(*shape)),
            strata={
                key: sum((part.strata[key] for part in parts if key in part.strata), Tally.zeros(*shape))
                for key in sorted(labels)
            },
            means=np.concatenate([part.means for part in parts], axis=-1),
            deviations=np.concatenate([part.deviations for part in parts], axis=-1),
        )

    def batch(self, batch: Batch) -> Outcome:
        """Evaluate all models and metrics on the draws of some cases."""
        drawn = Drawn(batch, max(metric.depth for metric in self.metrics))
        known = [Predicted(model, batch) for model in self.models.values()]
        values = np.array([[metric.values(drawn, predicted) for metric in self.metrics] for predicted in known])
        weights, bootstrap = self._weights(batch)
        repeated = np.broadcast_to(values, (*values.shape[:-1], self.draws))
        return Outcome(
            tally=Tally.of(repeated, weights, bootstrap),
            strata={
                key: Tally.of(repeated[:, :, mask], weights[mask], bootstrap[mask])
                for key, mask in self._masks(batch).items()
            },
            means=values.mean(axis=-1),
            deviations=values.std(axis=-1),
        )

    def _weights(self, batch: Batch) -> tuple[FloatArray, FloatArray]:
        """Return the weights of the cases and their bootstrap weights, both (n_cases, draws)."""
        from dissensus.kernels.bootstrap import case_weights

        panel = self.study.panel
        positions = panel.positions(list(batch.case_names))
        weights = np.repeat(panel.case_weights[positions, None], self.draws, axis=1)
        return weights, case_weights(np.uint64(self.seed), self._keys(batch), self.draws)

    def _keys(self, batch: Batch) -> KeyArray:
        """Hash what is resampled together: the group of each case, or the case itself."""
        panel = self.study.panel
        if not panel.groups:
            return case_keys(batch.case_names)
        return case_keys([f"group {panel.groups[position]}" for position in panel.positions(list(batch.case_names))])

    def _masks(self, batch: Batch) -> dict[tuple[str, str], BoolArray]:
        masks = {}
        for column, names in self.strata.items():
            labels = np.array([names[name] for name in batch.case_names], dtype=object)
            masks.update({(column, str(label)): labels == label for label in set(labels.tolist())})
        return masks


# Checks and names ---------------------------------------------------------------------------------------


def aligned_models(
    annotations: Annotations | Ratings, predictions: Mapping[str, ArrayLike | Predictions], *, allow_missing: bool
) -> dict[str, Predictions]:
    """Return every model's predictions aligned to the cases and conditions of the study."""
    if not predictions:
        raise DissensusError("there is no model to evaluate", expected="{name: scores or Predictions, ...}")
    conditions = annotations.conditions if isinstance(annotations, Annotations) else None
    models = {}
    for name, given in predictions.items():
        said = (
            given
            if isinstance(given, Predictions)
            else Predictions.from_scores(given, conditions, case_names=annotations.case_names, name=str(name))
        )
        models[str(name)] = said.align(
            annotations.case_names, conditions or said.conditions, allow_missing=allow_missing
        )
    check_names("model", tuple(models))
    return models


def common_cases(annotations: Annotations | Ratings, models: Mapping[str, Predictions]) -> list[str]:
    """Return the cases that every model has, in the order of the annotations."""
    shared = set(annotations.case_names).intersection(*(model.case_names for model in models.values()))
    if not shared:
        raise DissensusError(
            "the models have no case in common", got=f"{len(models)} models: {', '.join(map(repr, models))}"
        )
    return [name for name in annotations.case_names if name in shared]


def check_request(
    aggregations: Sequence[Aggregation], metrics: Sequence[Metric], models: Mapping[str, Predictions], level: float
) -> None:
    """Refuse what cannot be evaluated before anything is drawn."""
    if not aggregations or not metrics:
        raise DissensusError(
            "there is nothing to evaluate",
            expected="at least one aggregation and one metric",
            got=f"{len(aggregations)} aggregations, {len(metrics)} metrics",
        )
    if not 0 < level < 1:
        raise DissensusError("level must be between 0 and 1", got=repr(level), advice="use 0.9 for 90 % intervals")
    check_names("metric", tuple(metric.name for metric in metrics))
    for model in models.values():
        for metric in metrics:
            metric.check(model)


def _n_conditions(models: Mapping[str, Predictions]) -> int:
    return next(iter(models.values())).n_conditions


def _labels_of(
    annotations: Annotations | Ratings, strata: Mapping[str, Sequence[str]], cases: Sequence[str]
) -> dict[str, dict[str, str]]:
    kept = set(cases)
    found = {}
    for column, labels in strata.items():
        check_length(f"{column} label", len(labels), annotations.n_cases)
        pairs = zip(annotations.case_names, labels, strict=True)
        found[column] = {name: str(label) for name, label in pairs if name in kept}
    return found


def _points_for(study: Annotations | Ratings, aggregations: Sequence[Aggregation]) -> list[Aggregation]:
    if not isinstance(study, Annotations):
        return []
    wanted = [*POINTS, *(limit for a in aggregations if (limit := limit_of(a)) is not None)]
    return list(dict.fromkeys(wanted))


def limit_of(aggregation: Aggregation) -> Aggregation | None:
    """Return the deterministic aggregation that an aggregation tends to with growing reliability."""
    match aggregation:
        case PlackettLuce():
            return PlackettLuceML()
        case ProbabilisticInverseRank(ties=ties):
            return InverseRank(ties)
        case Dirichlet():
            return MajorityVote()
        case AnnotatorBootstrap(model=model):
            return model
        case MajorityVote() | InverseRank() | PlackettLuceML():
            return aggregation
    return None


def _run(aggregation: Aggregation, plausibilities: Plausibilities) -> Run:
    limit = limit_of(aggregation)
    reliability = getattr(aggregation, "reliability", None)
    return Run(
        aggregation=hyphenated(type(aggregation).__name__),
        reliability=None if reliability is None else float(reliability),
        parameters=repr(aggregation),
        n_draws=plausibilities.n_draws,
        n_chains=plausibilities.n_chains,
        point=None if limit is None else repr(limit),
    )


def _described(aggregation: Aggregation) -> Run:
    return Run(hyphenated(type(aggregation).__name__), None, repr(aggregation), 1, 1)
