"""Metrics of a whole data set, once the labels of all draws are known: values by draw, and what every case adds.

With masses m of labels and slopes D, a metric with value t adds up over cases: the pseudo-value of a case is t plus the
mass of all cases times the sum of m D over its labels, per unit of its own mass. The mean of the pseudo-values is t,
and what resampled cases, groups of them, other annotators and other priors do to the metric follows from them to first
order. Cases are summed in the order of their keys, so that their order and the parts they come in do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.thresholds import NEAR
from dissensus.core.value import Value
from dissensus.evaluation.basis import Basis, Measured, case_sums
from dissensus.evaluation.curves import Curve
from dissensus.evaluation.labels import Labels, LabelsByTruth
from dissensus.evaluation.refits import FitSums
from dissensus.evaluation.tally import CaseWeights
from dissensus.evaluation.whole import Place
from dissensus.metrics.base import Metric
from dissensus.metrics.data_set import DataSetMetric, Said, first_shares

FINDING = "finding"
"""Name of the column that says which finding a row is about, where every finding of a case is a row."""

AT_ONCE = 4_000_000
"""How many masses of labels are looked at at a time: 32 MB."""

CASES_AT_ONCE = 4096
"""How many cases are summed at a time."""


@dataclass(frozen=True, eq=False)
class Kept(Value):
    """What an evaluation keeps for metrics of a whole data set.

    Attributes
    ----------
    runs, points
        The labels of every run, and of every deterministic aggregation.
    votes
        What single annotators say: shares of all conditions; missing where that is not defined.
    bases
        What intervals of these metrics over groups of cases are found from, by :data:`Place`; those over all cases
        follow from pseudo-values where all cases are held.
    reaches : (models, metrics)
        By :data:`Place`, of how many cases one is that the metric rests on.
    agreed : (models, metrics, 1)
        The metrics against single annotators; missing where that is not defined.
    remarks
        What makes a metric meaningless, in sentences.
    curves
        Curves of the headline run and of the reference run, and rows of their confusion matrices.
    """

    runs: tuple[LabelsByTruth, ...]
    points: tuple[LabelsByTruth, ...] = ()
    votes: Labels | None = None
    bases: Mapping[Place, Basis] = field(default_factory=dict)
    reaches: Mapping[Place, FloatArray] = field(default_factory=dict)
    agreed: FloatArray | None = None
    remarks: tuple[str, ...] = ()
    curves: tuple[Curve, ...] = ()


def places_of(metrics: Sequence[Metric]) -> IntArray:
    """Return where the metrics of a whole data set stand among all metrics."""
    return np.array([k for k, metric in enumerate(metrics) if isinstance(metric, DataSetMetric)], dtype=np.int64)


def whole_metrics(metrics: Sequence[Metric]) -> tuple[DataSetMetric, ...]:
    """Return the metrics of a whole data set."""
    return tuple(metric for metric in metrics if isinstance(metric, DataSetMetric))


def said_by(
    scores: FloatArray, weights: FloatArray, *, is_binary: bool, findings: IntArray | None, items: IntArray | None
) -> Said:
    """Hold what a model said, scores (n_cases, K); rows are cases unless they are findings of cases."""
    alone = np.arange(len(scores), dtype=np.int64)
    return Said(
        scores,
        first_shares(scores),
        weights,
        is_binary,
        np.zeros_like(alone) if findings is None else findings,
        alone if items is None else items,
    )


@dataclass(frozen=True, eq=False)
class DataSet:
    """What metrics of a whole data set see under one aggregation.

    Attributes
    ----------
    said
        What every model said.
    labels
        Labels of draws by truth.
    """

    said: tuple[Said, ...]
    labels: LabelsByTruth

    @property
    def weights(self) -> FloatArray:
        """How much each case counts, shape (n_cases,)."""
        return self.said[0].weights

    def take(self, cases: IntArray) -> DataSet:
        """Keep the cases at these positions."""
        return DataSet(
            tuple(one.select(cases) for one in self.said),
            {truth: labels.take(cases) for truth, labels in self.labels.items()},
        )

    def within(self, codes: IntArray) -> DataSet:
        """Keep the draws whose label is one of some conditions."""
        return DataSet(self.said, {truth: labels.within(codes) for truth, labels in self.labels.items()})

    def valued(self, metrics: Sequence[DataSetMetric], *, step: int = 1, threads: int = 1) -> Valued:
        """Compute metrics of all models on every ``step``-th draw."""
        values = self._values(metrics, step, threads)
        slopes = [[self._slopes(metric, said) for metric in metrics] for said in self.said]
        counted = [[metric.counted(said, self._means(metric)) for metric in metrics] for said in self.said]
        return Valued(
            values,
            slopes,
            np.stack([self.labels[metric.truth].means for metric in metrics]),
            self.weights,
            np.array(counted),
            np.array([metric.range for metric in metrics], dtype=np.float64),
            any(labels.form == "numbers" for labels in self.labels.values()),
        )

    def _values(self, metrics: Sequence[DataSetMetric], step: int, threads: int) -> FloatArray:
        """Return the values of all models and metrics on every draw, shape (models, metrics, n_draws)."""
        n_draws = max(labels.n_draws for labels in self.labels.values())
        found = np.full((len(self.said), len(metrics), -(-n_draws // step)), np.nan)

        def fill(labels: Labels, draws: range, places: Sequence[int]) -> None:
            masses = labels.block(draws)
            own = slice(draws.start // step, -(-draws.stop // step))
            for m, said in enumerate(self.said):
                for k in places:
                    found[m, k, own] = metrics[k].of_draws(said, masses)

        tasks = []
        for truth, labels in self.labels.items():
            places = [k for k, metric in enumerate(metrics) if metric.truth == truth]
            tasks += [(labels, draws, places) for draws in _blocks(labels, step) if places]
        with ThreadPoolExecutor(max(1, threads)) as pool:
            for done in [pool.submit(fill, *task) for task in tasks]:
                done.result()
        return found

    def _means(self, metric: DataSetMetric) -> FloatArray:
        """Return the mean masses of labels, shape (K, n_cases)."""
        return np.ascontiguousarray(self.labels[metric.truth].means.T)

    def _slopes(self, metric: DataSetMetric, said: Said) -> FloatArray:
        return metric.slopes(said, self._means(metric))

    def remarks(self, metrics: Sequence[DataSetMetric], names: Sequence[str]) -> tuple[str, ...]:
        """Say what makes a metric of a model meaningless; what is true of several is said once."""
        models: dict[tuple[str, str], list[str]] = {}
        for metric in metrics:
            for name, said in zip(names, self.said, strict=True):
                for remark in metric.remarks(said, self._means(metric)):
                    models.setdefault((remark, metric.name), []).append(name)
        alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for (remark, metric_name), own in models.items():
            alike.setdefault((remark, tuple(own)), []).append(metric_name)
        return tuple(
            f"{', '.join([*(() if len(own) == len(names) > 1 else own), *measures])}: {remark}"
            for (remark, own), measures in alike.items()
        )


def _blocks(labels: Labels, step: int) -> Iterator[range]:
    """Cut draws into runs, each so short that its masses fit into memory."""
    most = max(1, AT_ONCE // max(labels.means.size, 1))
    size = 8 * step * max(1, most // 8) if most >= 8 else step * most
    for first in range(0, labels.n_draws, size):
        yield range(first, min(first + size, labels.n_draws), step)


@dataclass(frozen=True, eq=False)
class Valued:
    """Values of metrics, and what every case adds to them.

    Attributes
    ----------
    values : (models, metrics, n_draws)
        Of every draw; nan where it is undefined.
    slopes : (models, metrics) lists of (K, n_cases)
        Derivatives by the masses of labels.
    labels : (metrics, n_cases, K)
        Mean masses of labels.
    weights : (n_cases,)
        Of cases.
    counted : (models, metrics)
        Mass of the cases that a metric rests on.
    ranges : (metrics, 2)
        The least and the greatest value of every metric.
    are_numbers
        Whether labels are 1, a number and its square, not masses of conditions.
    """

    values: FloatArray
    slopes: list[list[FloatArray]]
    labels: FloatArray
    weights: FloatArray
    counted: FloatArray
    ranges: FloatArray
    are_numbers: bool

    @cached_property
    def reaches(self) -> FloatArray:
        """Of how many cases one is that the metric rests on, shape (models, metrics).

        An interval allows for a case at either end of the range, which weighs as much as one of the cases that count.
        Where values of cases vary less than those that are 0 or 1 with the same mean, there are as many more of these
        as their variance is smaller: the effective sample size of Korn and Graubard (1998), drawn to the plain count
        by one case. A range without end has no such cases: none is added.
        """
        low, high = self.ranges.T
        span = np.where(np.isfinite(high - low), high - low, 1.0)
        place = np.where(np.isfinite(high - low), (self.centres - np.where(np.isfinite(low), low, 0.0)) / span, np.nan)
        gaps = (self.pseudo_values() - self.centres[..., None]) * self.shares() * self.weights / span[:, None]
        variance = np.square(gaps / self._mass[:, None]).sum(axis=-1)
        most = self._mass**2 / np.maximum(np.square(self.weights * self.shares()).sum(axis=-1), 1e-300)
        # masses grow with the weights of all cases, the number of cases does not
        alone = np.nan_to_num(self.counted) * np.divide(most, self._mass, out=np.ones_like(most), where=self._mass > 0)
        counted = np.clip(alone, 1.0, np.maximum(most, 1.0))
        whole = place * (1 - place)
        is_known = (variance > 0) & (whole > 0)
        ratio = np.divide(variance * counted, whole, out=np.ones_like(counted), where=is_known)
        effective = counted / np.minimum((counted * ratio + 1) / (counted + 1), 1.0)
        return np.where(np.isfinite(high - low), np.maximum(most / effective, 1.0), 0.0)

    @cached_property
    def _mass(self) -> FloatArray:
        """Mass of all cases, shape (metrics,)."""
        return np.asarray((self.weights * self.shares()).sum(axis=1))

    @cached_property
    def centres(self) -> FloatArray:
        """Mean over the draws that have a value, shape (models, metrics); nan where none has."""
        known = ~np.isnan(self.values)
        sums, counts = np.where(known, self.values, 0.0).sum(axis=-1), known.sum(axis=-1)
        return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))

    def shares(self, labels: FloatArray | None = None) -> FloatArray:
        """Return how much of each case counts, shape (metrics, n_cases)."""
        masses = self.labels if labels is None else labels
        sums = masses[..., 0] if self.are_numbers else masses.sum(axis=-1)
        return np.where(np.abs(sums - 1.0) < NEAR, 1.0, sums)

    def pseudo_values(self, labels: FloatArray | None = None, cases: IntArray | None = None) -> FloatArray:
        """Return the pseudo-value of each case, shape (models, metrics, n_cases).

        Parameters
        ----------
        labels : (metrics, n_cases, K)
            Other mean masses, such as those without some annotators; by default those that slopes are of.
        cases : (n_cases,)
            Positions of the cases that these are about.
        """
        masses = self.labels if labels is None else labels
        whole, shares = self._mass, self.shares(masses)
        centres, found = self.centres, np.empty((*self.centres.shape, masses.shape[1]))
        for m, of_model in enumerate(self.slopes):
            for k, slopes in enumerate(of_model):
                own = slopes if cases is None else slopes[:, cases]
                added = whole[k] * (masses[k].T * own).sum(axis=0)
                found[m, k] = centres[m, k] + np.divide(added, shares[k], out=np.zeros_like(added), where=shares[k] > 0)
        return found

    def deviations(self) -> FloatArray:
        """Return how far the pseudo-value of each case varies over draws, shape (models, metrics, n_cases)."""
        whole, found = self._mass, np.full((*self.centres.shape, len(self.weights)), np.nan)
        if self.are_numbers:
            return found
        for m, of_model in enumerate(self.slopes):
            for k, slopes in enumerate(of_model):
                masses = self.labels[k].T
                spread = (masses * slopes**2).sum(axis=0) - (masses * slopes).sum(axis=0) ** 2
                found[m, k] = whole[k] * np.sqrt(np.maximum(spread, 0.0))
        return found

    def measured(self) -> Measured:
        """Return pseudo-values and shares as sums over cases take them; undefined ones do not count."""
        means = self.pseudo_values()
        shares = np.broadcast_to(self.shares(), means.shape)
        return Measured(means, np.where(np.isnan(means), 0.0, shares))

    def fit(self, moved: Sequence[FloatArray], bootstrap: FloatArray) -> FitSums:
        """Sum over resampled cases with the prior as it is and refitted.

        Parameters
        ----------
        moved : metrics arrays of shape (n_cases, n_refits, K)
            Mean masses under every refit.
        bootstrap : (n_cases, n_refits)
            Weights of resampled cases.
        """
        still, n_refits = self.pseudo_values(), bootstrap.shape[1]
        sums = np.zeros((3, n_refits, *still.shape[:2]))
        for first in range(0, len(self.weights), CASES_AT_ONCE):
            cases = np.arange(first, min(first + CASES_AT_ONCE, len(self.weights)))
            for refit in range(n_refits):
                weights = bootstrap[cases, refit] * self.weights[cases]
                own = self.pseudo_values(np.stack([of[cases, refit].astype(np.float64) for of in moved]), cases)
                parts = (still[..., cases], own, np.ones_like(own))
                sums[:, refit] += np.stack([(weights * part).sum(axis=-1) for part in parts])
        return FitSums(*np.nan_to_num(sums))


def bases_of(valued: Valued, weights: CaseWeights, *, n_resamples: int, pairs: bool) -> Basis:
    """Return what intervals of metrics are found from, over all cases that they were computed on."""
    (sums,), (groups,) = case_sums(valued.measured(), weights, n_resamples=n_resamples, pairs=pairs)
    return sums.basis(None if groups is None else groups.squares(sums.masses), weights.unit)
