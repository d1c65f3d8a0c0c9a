"""Put metrics of a whole data set into an evaluation, once all cases are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.aggregation.base import available_threads
from dissensus.core.aliases import BoolArray, FloatArray, IntArray
from dissensus.core.names import in_order_of_keys
from dissensus.core.value import Value
from dissensus.evaluation.basis import Basis
from dissensus.evaluation.batches import bin_of, step_of
from dissensus.evaluation.categories import Categories
from dissensus.evaluation.curves import Curve, Sheet, wishes
from dissensus.evaluation.data_set import (
    FINDING,
    DataSet,
    Kept,
    Valued,
    bases_of,
    places_of,
    said_by,
    whole_metrics,
)
from dissensus.evaluation.intervals import GROUP_RESAMPLES, RESAMPLES
from dissensus.evaluation.labels import Labels, LabelsByTruth
from dissensus.evaluation.refits import FitSums
from dissensus.evaluation.results import Evaluation, Shared
from dissensus.evaluation.tally import CaseWeights, Resamples, Tally
from dissensus.evaluation.whole import Place
from dissensus.metrics.data_set import DataSetMetric, Said
from dissensus.predictions.lists import Predictions
from dissensus.study.checklists import PAIR
from dissensus.study.study import Study


@dataclass(frozen=True, eq=False)
class AllCases:
    """What metrics of a whole data set need to know of all cases besides the labels of draws.

    Attributes
    ----------
    names
        Of the cases.
    weights
        How much each case counts, and what is resampled together.
    said
        What every model said.
    strata
        For every column, the label of each case.
    bins
        For every run, the bin of certainty of each case; none where certainties are not known.
    categories
        Categories of conditions, if there are any.
    """

    names: tuple[str, ...]
    weights: CaseWeights
    said: tuple[Said, ...]
    strata: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    bins: tuple[IntArray, ...] = ()
    categories: Categories | None = None


@dataclass(frozen=True, eq=False)
class SeenCases(Value):
    """Hold the same of some cases, as it is written down; other cases are put behind them by ``+``.

    Attributes
    ----------
    names, groups
        Of the cases; no groups where they stand alone.
    weights : (n_cases,)
        Of the cases.
    scores : n_models arrays of shape (n_cases, K)
        What every model said.
    is_binary
        Whether the last of two conditions is the positive one.
    strata
        For every column, the label of each case.
    bins
        For every run, the bin of certainty of each case.
    """

    names: tuple[str, ...]
    groups: tuple[str, ...]
    weights: FloatArray
    scores: tuple[FloatArray, ...]
    is_binary: bool
    strata: Mapping[str, tuple[str, ...]]
    bins: tuple[IntArray, ...]

    @staticmethod
    def of(
        study: Study, models: Mapping[str, Predictions], strata: Mapping[str, Sequence[str]], bins: tuple[IntArray, ...]
    ) -> SeenCases:
        """Write down the cases of a study; models are in its order."""
        return SeenCases(
            study.case_names,
            study.groups,
            study.case_weights,
            tuple(model.to_scores() for model in models.values()),
            study.question == "binary",
            {column: tuple(labels) for column, labels in strata.items()},
            bins,
        )

    def __add__(self, other: SeenCases) -> SeenCases:
        return SeenCases(
            (*self.names, *other.names),
            (*self.groups, *other.groups),
            np.concatenate([self.weights, other.weights]),
            tuple(np.concatenate(pair) for pair in zip(self.scores, other.scores, strict=True)),
            self.is_binary,
            {column: (*labels, *other.strata[column]) for column, labels in self.strata.items()},
            tuple(np.concatenate(pair) for pair in zip(self.bins, other.bins, strict=True)),
        )

    def all_cases(self, weights: CaseWeights, categories: Categories | None) -> AllCases:
        """Make ready what metrics need; ``weights`` are of the same cases."""
        return AllCases(
            self.names,
            weights,
            self.said,
            {column: np.array(labels, dtype=object).astype(str) for column, labels in self.strata.items()},
            self.bins,
            categories,
        )

    @property
    def said(self) -> tuple[Said, ...]:
        """What every model said."""
        findings, items = findings_of(self.names, self.strata.get(FINDING) if self.is_binary else None)
        how: dict[str, Any] = {"is_binary": self.is_binary, "findings": findings, "items": items}
        return tuple(said_by(scores, self.weights, **how) for scores in self.scores)


@dataclass(frozen=True, eq=False)
class RunColumns:
    """What metrics of a whole data set are under one aggregation.

    Attributes
    ----------
    values : (models, metrics, n_draws)
        Of every draw.
    strata, bins, categories
        The same by (column, label), by number of the bin, and by name of the category.
    means, deviations, shares : (models, metrics, n_cases)
        Pseudo-values, their spread over draws, and how much of each case counts.
    fit
        What refits of an informed prior do, if there are any.
    resamples
        Sums over resampled cases by category.
    bases, reaches
        What intervals are found from, and of how many cases one is that a metric rests on, by place.
    """

    values: FloatArray
    strata: Mapping[tuple[str, str], FloatArray]
    bins: Mapping[int, FloatArray]
    categories: Mapping[str, FloatArray]
    means: FloatArray
    deviations: FloatArray
    shares: FloatArray
    fit: FitSums | None
    resamples: Mapping[str, Resamples]
    bases: Mapping[Place, Basis]
    reaches: Mapping[Place, FloatArray]


@dataclass(frozen=True, eq=False)
class Completion:
    """Compute metrics of a whole data set for all aggregations.

    Attributes
    ----------
    metrics
        These metrics.
    cases
        What is known of all cases.
    is_whole
        Whether sums over all cases are wanted, as where not all cases are held.
    threads
        How many threads compute.
    """

    metrics: tuple[DataSetMetric, ...]
    cases: AllCases
    is_whole: bool = False
    threads: int = 1

    @cached_property
    def order(self) -> IntArray:
        """Positions of the cases in the order of their keys."""
        return in_order_of_keys(self.cases.names)

    @cached_property
    def back(self) -> IntArray:
        """Where each case stands in that order."""
        return np.argsort(self.order, kind="stable")

    def valued(self, labels: LabelsByTruth, rows: IntArray | None = None, *, step: int = 1) -> Valued:
        """Compute the metrics on the cases at some positions, in the order of keys; by default on all."""
        own = DataSet(self.cases.said, labels).take(self.order if rows is None else rows)
        return own.valued(self.metrics, step=step, threads=self.threads)

    def run(self, labels: LabelsByTruth, place: int, *, grouped: bool = True) -> RunColumns:
        """Compute the metrics of one run on all cases, and on groups of them."""
        whole = self.valued(labels)
        step = step_of(max(one.n_draws for one in labels.values()))
        strata, bins = (self._strata(labels, step), self._bins(labels, place, step)) if grouped else ({}, {})
        inside = {name: self._inside(labels, codes, step) for name, codes in self._category_codes() if grouped}
        parts: dict[Place, _Part] = {
            **{("stratum", column, label, place): part for (column, label), part in strata.items()},
            **{("bin", number, place): part for number, part in bins.items()},
        }
        reaches: dict[Place, FloatArray] = {where: part.valued.reaches for where, part in parts.items()}
        reaches |= {("category", name, place): one.reaches for name, one in inside.items()}
        bases = {where: part.basis for where, part in parts.items()}
        if self.is_whole:
            bases["all", place] = self._basis(whole, self.order, n_resamples=RESAMPLES, pairs=True)
        return RunColumns(
            whole.values,
            {key: part.valued.values for key, part in strata.items()},
            {number: part.valued.values for number, part in bins.items()},
            {name: one.values for name, one in inside.items()},
            whole.pseudo_values()[..., self.back],
            whole.deviations()[..., self.back],
            np.broadcast_to(whole.shares(), (*whole.values.shape[:2], len(self.order)))[..., self.back],
            self._fit(labels, whole),
            {name: self._resampled(one) for name, one in inside.items()},
            bases,
            {("all", place): whole.reaches, **reaches},
        )

    def _strata(self, labels: LabelsByTruth, step: int) -> dict[tuple[str, str], _Part]:
        return {
            (column, label): self._part(labels, names == label, step)
            for column, names in self.cases.strata.items()
            for label in np.unique(names).tolist()
        }

    def _bins(self, labels: LabelsByTruth, place: int, step: int) -> dict[int, _Part]:
        if not self.cases.bins:
            return {}
        return {
            number: self._part(labels, self.cases.bins[place] == number, step)
            for number in np.unique(self.cases.bins[place]).tolist()
        }

    def _inside(self, labels: LabelsByTruth, codes: IntArray, step: int) -> Valued:
        return self.valued({truth: one.within(codes) for truth, one in labels.items()}, step=step)

    def _basis(self, valued: Valued, rows: IntArray, *, n_resamples: int, pairs: bool) -> Basis:
        weights = chosen_weights(self.cases.weights, rows)
        return replace(bases_of(valued, weights, n_resamples=n_resamples, pairs=pairs), reaches=valued.reaches)

    def _part(self, labels: LabelsByTruth, is_own: BoolArray, step: int) -> _Part:
        """Compute the metrics on some cases (n_cases,), and what their intervals are found from."""
        rows = self.order[is_own[self.order]]
        valued = self.valued(labels, rows, step=step)
        return _Part(valued, self._basis(valued, rows, n_resamples=GROUP_RESAMPLES, pairs=False))

    def _category_codes(self) -> list[tuple[str, IntArray]]:
        found = self.cases.categories
        if found is None:
            return []
        return [(name, np.flatnonzero(found.codes == code)) for code, name in enumerate(found.names)]

    def _resampled(self, inside: Valued) -> Resamples:
        measured, weights = inside.measured(), chosen_weights(self.cases.weights, self.order)
        [found] = weights.resamples(measured.means, measured.shares, n_resamples=GROUP_RESAMPLES)
        return found.rounded(weights.unit).in_single_precision()

    def _fit(self, labels: LabelsByTruth, whole: Valued) -> FitSums | None:
        moved = [labels[metric.truth].moved for metric in self.metrics]
        if not moved[0].shape[1]:
            return None
        bootstrap = self.cases.weights.bootstrap(self.order, moved[0].shape[1])
        return whole.fit([one[self.order] for one in moved], bootstrap)

    def columns(
        self,
        runs: Iterable[LabelsByTruth],
        points: Iterable[LabelsByTruth],
        votes: Labels | None,
        evaluation: Evaluation,
    ) -> Columns:
        """Compute the metrics of all runs, one after the other, and of what else the evaluation compares them with."""
        found: list[RunColumns] = []
        remarks: tuple[str, ...] = ()
        curves: list[Curve] = []
        for place, labels in enumerate(runs):
            found.append(self.run(labels, place))
            if place in (evaluation.headline, evaluation.reference):
                curves += self.curves(labels, place, evaluation)
            if place == evaluation.headline:
                remarks = DataSet(self.cases.said, labels).remarks(self.metrics, evaluation.models)
        alone = None
        if votes is not None:
            single: LabelsByTruth = {metric.truth: votes for metric in self.metrics}
            alone = self.run(single, len(found), grouped=False)
        values = tuple(self.valued(labels).values for labels in points)
        return Columns(self.cases.names, tuple(found), values, alone, remarks, tuple(curves))

    def curves(self, labels: LabelsByTruth, place: int, evaluation: Evaluation) -> tuple[Curve, ...]:
        """Draw the curves of the metrics that were asked for, under one run."""
        if any(one.form == "numbers" for one in labels.values()):
            return ()
        whole, conditions = DataSet(self.cases.said, labels).take(self.order), evaluation.conditions
        sheet = Sheet(
            whole.said,
            evaluation.models,
            whole.labels,
            chosen_weights(self.cases.weights, self.order),
            self._question_names(conditions),
            conditions,
            evaluation.run_label(place),
            evaluation.level,
        )
        return sheet.curves(wishes(evaluation.metrics, list(labels), len(conditions)))

    def _question_names(self, conditions: tuple[str, ...]) -> tuple[str, ...]:
        if not self.cases.said[0].is_binary:
            return conditions
        return tuple(np.unique(self.cases.strata[FINDING]).tolist()) if FINDING in self.cases.strata else ("",)


@dataclass(frozen=True, eq=False)
class Columns:
    """What metrics of a whole data set are under all aggregations.

    Attributes
    ----------
    names
        Of the cases.
    runs
        Of every run.
    points : (models, metrics, 1) each
        Against the deterministic aggregations.
    alone
        Against single annotators, if that is defined.
    remarks
        What makes a metric meaningless.
    curves
        Of the headline run and of the reference run.
    """

    names: tuple[str, ...]
    runs: tuple[RunColumns, ...]
    points: tuple[FloatArray, ...]
    alone: RunColumns | None
    remarks: tuple[str, ...]
    curves: tuple[Curve, ...] = ()


@dataclass(frozen=True, eq=False)
class _Part:
    """The metrics on some cases, and what their intervals are found from."""

    valued: Valued
    basis: Basis


def chosen_weights(weights: CaseWeights, cases: IntArray) -> CaseWeights:
    """Keep the weights of some cases."""
    return replace(weights, weights=weights.weights[cases], names=tuple(weights.names[i] for i in cases))


# Evaluations ---------------------------------------------------------------------------------------------


def completed(evaluation: Evaluation, kept: Kept, *, threads: int | None = None) -> Evaluation:
    """Compute the metrics of a whole data set of an evaluation that holds all of its cases."""
    metrics = whole_metrics(evaluation.metrics)
    if not metrics or not evaluation.models:
        return evaluation
    completion = Completion(metrics, cases_of(evaluation), threads=threads or available_threads())
    return with_columns(evaluation, completion.columns(kept.runs, kept.points, kept.votes, evaluation), kept)


def with_columns(evaluation: Evaluation, own: Columns, kept: Kept) -> Evaluation:
    """Put the columns of these metrics in their places."""
    places, runs = places_of(evaluation.metrics), own.runs
    every = [*runs, *([] if own.alone is None else [own.alone])]
    known = replace(
        kept,
        bases={place: basis for one in every for place, basis in one.bases.items()},
        reaches={place: reach for one in every for place, reach in one.reaches.items()},
        agreed=None if own.alone is None else own.alone.values,
        remarks=own.remarks,
        curves=own.curves,
    )
    return replace(
        evaluation,
        tallies=_tallies(evaluation.tallies, [one.values for one in runs], places),
        point_tallies=_tallies(evaluation.point_tallies, own.points, places),
        stratum_tallies=_by_key(evaluation.stratum_tallies, [one.strata for one in runs], places),
        category_tallies=_by_key(evaluation.category_tallies, [one.categories for one in runs], places),
        bin_tallies=tuple(
            tuple(
                tally.with_columns(one.bins[number], places) if number in one.bins else tally
                for tally, one in zip(of_runs, runs, strict=True)
            )
            for number, of_runs in enumerate(evaluation.bin_tallies)
        ),
        category_resamples={
            name: tuple(
                _with_resamples(of_run, one.resamples[name], places) for of_run, one in zip(of_runs, runs, strict=True)
            )
            for name, of_runs in evaluation.category_resamples.items()
        },
        fits=tuple(
            None if before is None or one.fit is None else _with_fit(before, one.fit, places)
            for before, one in zip(evaluation.fits or [None] * len(runs), runs, strict=True)
        ),
        kept=known,
        **_of_cases(evaluation, own, places),
    )


def _of_cases(evaluation: Evaluation, own: Columns, places: IntArray) -> dict[str, Any]:
    """Put pseudo-values in the place of the values of the cases that are held."""
    row = {name: place for place, name in enumerate(own.names)}
    rows = np.array([row[name] for name in evaluation.case_names], dtype=np.int64)
    means, deviations = evaluation.case_means.copy(), evaluation.case_deviations.copy()
    found = np.stack([one.means[..., rows] for one in own.runs])
    shares = np.where(np.isnan(found), 0.0, np.stack([one.shares[..., rows] for one in own.runs]))
    means[:, :, places], before = found, evaluation.case_shares
    deviations[:, :, places] = np.stack([one.deviations[..., rows] for one in own.runs])
    if (shares != 1).any():
        before = np.broadcast_to(before, means.shape).copy()
        before[:, :, places] = shares
    shared = evaluation.shared
    if shared is not None and own.alone is not None:
        agreed = shared.means.copy()
        agreed[:, places] = own.alone.means[..., rows]
        shared = Shared(agreed, shared.annotators)
    return {"case_means": means, "case_deviations": deviations, "case_shares": before, "shared": shared}


def _tallies(tallies: Sequence[Tally], values: Sequence[FloatArray], places: IntArray) -> tuple[Tally, ...]:
    return tuple(tally.with_columns(own, places) for tally, own in zip(tallies, values, strict=True))


def _by_key(
    tallies: Mapping[Any, tuple[Tally, ...]], values: Sequence[Mapping[Any, FloatArray]], places: IntArray
) -> dict[Any, tuple[Tally, ...]]:
    return {key: _tallies(of_runs, [one[key] for one in values], places) for key, of_runs in tallies.items()}


def _with_resamples(before: Resamples, own: Resamples, places: IntArray) -> Resamples:
    shape = before.sums.shape
    parts = [np.broadcast_to(part, (*shape[:2], part.shape[-1])).copy() for part in _parts(before)]
    for part, mine in zip(parts, _parts(own), strict=True):
        part[:, places] = mine
    return Resamples(*parts)


def _parts(resamples: Resamples) -> tuple[FloatArray, FloatArray, FloatArray]:
    return resamples.sums, resamples.weights, resamples.squares


def _with_fit(before: FitSums, own: FitSums, places: IntArray) -> FitSums:
    parts = [np.array(part) for part in (before.still, before.moved, before.weights)]
    for part, mine in zip(parts, (own.still, own.moved, own.weights), strict=True):
        part[..., places] = mine
    return FitSums(*parts)


def cases_of(evaluation: Evaluation) -> AllCases:
    """Take what metrics of a whole data set need from an evaluation that holds all cases."""
    found = tuple(bin_of(one.certainties[0]) for one in evaluation.findings if len(one.certainties))
    seen = SeenCases.of(evaluation.study, evaluation.predictions, evaluation.strata, found)
    return seen.all_cases(evaluation.case_weights, evaluation.categories)


def findings_of(names: Sequence[str], findings: Sequence[str] | None) -> tuple[IntArray | None, IntArray | None]:
    """Give every row the number of its finding and that of its case; nothing where rows are cases.

    >>> findings_of(["x / AF", "x / ST", "y / AF"], ["AF", "ST", "AF"])
    (array([0, 1, 0]), array([0, 0, 1]))
    """
    if findings is None:
        return None, None
    cases = [name.removesuffix(f"{PAIR}{finding}") for name, finding in zip(names, findings, strict=True)]
    codes = [np.unique(part, return_inverse=True)[1].astype(np.int64) for part in (list(findings), cases)]
    return codes[0], codes[1]
