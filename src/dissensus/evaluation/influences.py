"""Metrics of a whole data set, once the labels of all draws are known: values by draw, and what every case adds.

With masses m of labels and slopes D, a metric with value t adds up over cases: the pseudo-value of a case is t plus the
mass of all cases times the sum of m D over its labels, per unit of its own mass. The mean of the pseudo-values is t,
and what resampled cases, groups of them, other annotators and other priors do to the metric follows from them to first
order. Cases are summed in the order of their keys, so that their order and the parts they come in do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.names import in_order_of_keys
from dissensus.core.thresholds import NEAR
from dissensus.evaluation.curves import Curve, Sheet, wishes
from dissensus.evaluation.labels import Labels, LabelsByTruth, kept_labels
from dissensus.evaluation.refits import with_all
from dissensus.evaluation.sums import ALL, DATA_SET, Array, CaseWeights, Name, Place, Sums
from dissensus.evaluation.tally import Influences, cases_of_places, interval_sums, step_of
from dissensus.metrics.base import Metric, Truth
from dissensus.metrics.data_set import DataSetMetric, Said, first_shares
from dissensus.study.question import PAIR

if TYPE_CHECKING:
    from dissensus.evaluation.plan import Plan, Reference

# Name of the column that says which finding a row is about, where every finding of a case is a row.
FINDING = "finding"

# How many masses of labels are looked at at a time: 32 MB.
AT_ONCE = 4_000_000


def places_of(metrics: Sequence[Metric]) -> IntArray:
    """Return where the metrics of a whole data set stand among all metrics."""
    return np.array([k for k, metric in enumerate(metrics) if metric.sees == "data set"], dtype=np.int64)


def data_set_metrics(metrics: Sequence[Metric]) -> tuple[DataSetMetric, ...]:
    """Return the metrics of a whole data set."""
    return tuple(metric for metric in metrics if isinstance(metric, DataSetMetric))


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

    def take(self, cases: IntArray, *, only_labels: bool = False) -> DataSet:
        """Keep the cases at these positions; ``only_labels`` where what was said is of these cases already."""
        said = self.said if only_labels else tuple(one.select(cases) for one in self.said)
        return DataSet(said, {truth: labels.take(cases) for truth, labels in self.labels.items()})

    def within(self, codes: IntArray) -> DataSet:
        """Keep the draws whose label is one of some conditions."""
        return DataSet(self.said, {truth: labels.within(codes) for truth, labels in self.labels.items()})

    def means(self, metric: DataSetMetric) -> FloatArray:
        """Return the mean masses of labels that a metric sees, shape (K, n_cases)."""
        return np.ascontiguousarray(self.labels[metric.truth].means.T)

    def valued(self, metrics: Sequence[DataSetMetric], *, step: int = 1, threads: int = 1) -> Valued:
        """Compute metrics of all models on every ``step``-th draw."""
        return Valued(
            self._values(metrics, step, threads),
            [[metric.slopes(said, self.means(metric)) for metric in metrics] for said in self.said],
            np.stack([self.labels[metric.truth].means for metric in metrics]),
            self.said[0].weights,
            np.array([[metric.counted(said, self.means(metric)) for metric in metrics] for said in self.said]),
            np.array([metric.range for metric in metrics], dtype=np.float64),
            any(labels.form == "numbers" for labels in self.labels.values()),
        )

    def _values(self, metrics: Sequence[DataSetMetric], step: int, threads: int) -> FloatArray:
        """Return the values of all models and metrics on every draw, shape (models, metrics, n_draws)."""
        n_draws = max(labels.n_draws for labels in self.labels.values())
        found = np.full((len(self.said), len(metrics), -(-n_draws // step)), np.nan)

        def fill(truth: Truth, draws: range) -> None:
            masses, own = self.labels[truth].block(draws), slice(draws.start // step, -(-draws.stop // step))
            for k, metric in enumerate(metrics):
                for m, said in enumerate(self.said if metric.truth == truth else ()):
                    found[m, k, own] = metric.of_draws(said, masses)

        with ThreadPoolExecutor(max(1, threads)) as pool:
            tasks = [(truth, draws) for truth, labels in self.labels.items() for draws in _blocks(labels, step)]
            for done in [pool.submit(fill, *task) for task in tasks]:
                done.result()
        return found


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

    def _pseudo(self, m: int, k: int, masses: FloatArray, cases: IntArray | slice = slice(None)) -> FloatArray:
        """Return the pseudo-values of a model and a metric under masses of labels (n_cases, ..., K)."""
        added = self._mass[k] * np.einsum("n...k,kn->n...", masses, self.slopes[m][k][:, cases])
        shares = self.shares(masses)
        return np.asarray(self.centres[m, k] + np.divide(added, shares, out=np.zeros_like(added), where=shares > 0))

    def pseudo_values(self, labels: FloatArray | None = None, cases: IntArray | slice = slice(None)) -> FloatArray:
        """Return the pseudo-value of each case, shape (models, metrics, n_cases).

        Parameters
        ----------
        labels : (metrics, n_cases, K)
            Other mean masses, such as those without some annotators; by default those that slopes are of.
        cases : (n_cases,)
            Positions of the cases that these are about.
        """
        masses = self.labels if labels is None else labels
        return np.array(
            [[self._pseudo(m, k, own, cases) for k, own in enumerate(masses)] for m in range(len(self.slopes))]
        )

    def influences(self) -> tuple[FloatArray, FloatArray]:
        """Return pseudo-values and shares (models, metrics, n_cases); what is undefined does not count."""
        means = self.pseudo_values()
        return means, np.where(np.isnan(means), 0.0, np.broadcast_to(self.shares(), means.shape))

    def deviations(self) -> FloatArray:
        """Return how far the pseudo-value of each case varies over draws, shape (models, metrics, n_cases)."""
        found = np.full((*self.centres.shape, len(self.weights)), np.nan)
        for m, of_model in enumerate([] if self.are_numbers else self.slopes):
            for k, slopes in enumerate(of_model):
                masses = self.labels[k].T
                spread = (masses * slopes**2).sum(axis=0) - (masses * slopes).sum(axis=0) ** 2
                found[m, k] = self._mass[k] * np.sqrt(np.maximum(spread, 0.0))
        return found

    def fit(self, moved: Sequence[FloatArray], bootstrap: FloatArray) -> FloatArray:
        """Sum over resampled cases with the prior as it is and refitted, and weights: (3, n_refits, models, metrics).

        Parameters
        ----------
        moved : metrics arrays of shape (n_cases, n_refits, K)
            Mean masses under every refit.
        bootstrap : (n_cases, n_refits)
            Weights of resampled cases.
        """
        weights, still = bootstrap * self.weights[:, None], self.pseudo_values()
        sums = np.empty((3, bootstrap.shape[1], *still.shape[:2]))
        for m, k in np.ndindex(still.shape[:2]):
            sums[:, :, m, k] = (
                still[m, k] @ weights,
                (weights * self._pseudo(m, k, moved[k])).sum(axis=0),
                weights.sum(axis=0),
            )
        return np.nan_to_num(sums)


# All cases ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AllCases:
    """Compute metrics of a whole data set from what all pieces of a study kept of their cases.

    Attributes
    ----------
    plan
        What is computed.
    sums
        The sums over all cases, with their labels and what models said about them.
    n_models
        How many models there are.
    is_binary
        Whether the last of two conditions is the positive one.
    threads
        How many threads compute.
    """

    plan: Plan
    sums: Sums
    n_models: int
    is_binary: bool
    threads: int = 1

    @cached_property
    def metrics(self) -> tuple[DataSetMetric, ...]:
        """The metrics of a whole data set."""
        return data_set_metrics(self.plan.metrics)

    @cached_property
    def order(self) -> IntArray:
        """Positions of the cases in the order of their keys."""
        return in_order_of_keys(self.sums["rows", "names"].tolist())

    @cached_property
    def weights(self) -> CaseWeights:
        """How much each case counts, in the order of keys."""
        names, groups = self.sums["rows", "names"], self.sums.arrays.get(("rows", "table", "groups"), np.empty(0))
        cases = self.sums["rows", "table", "weights"], tuple(names.tolist()), tuple(groups.tolist())
        return CaseWeights.named(self.plan.seed, *cases).take(self.order)

    @cached_property
    def strata(self) -> dict[str, npt.NDArray[Any]]:
        """For every column, the label of each case, in the order of keys."""
        named = self.sums.names("rows", "table", "strata")
        return {str(name[-1]): self.sums[name][self.order] for name in named}

    @cached_property
    def said(self) -> tuple[Said, ...]:
        """What every model said, in the order of keys."""
        rows = np.arange(len(self.order))
        findings, items = np.zeros_like(rows), rows
        if self.is_binary and FINDING in self.strata:
            names = self.sums["rows", "names"][self.order].tolist()
            findings, items = findings_of(names, self.strata[FINDING].tolist())
        every = (self.sums["rows", "table", "scores", model][self.order] for model in range(self.n_models))
        known = (self.weights.weights, self.is_binary, findings, items)
        return tuple(Said(scores, first_shares(scores), *known) for scores in every)

    def data(self, key: str) -> DataSet:
        """Return what the metrics see of a reference, in the order of keys."""
        truths = dict.fromkeys(metric.truth for metric in self.metrics)
        return DataSet(self.said, kept_labels(self.sums, key, truths)).take(self.order, only_labels=True)

    def entries(self) -> dict[Name, Array]:
        """Compute the metrics against all references, and sum over all cases what intervals are found from."""
        found: dict[Name, Array] = {}
        for reference in self.plan.references:
            key, data = reference.key, self.data(reference.key)
            few = step_of(max(one.n_draws for one in data.labels.values()))
            wanted: dict[Name, Influences] = {}
            for place, (inside, rows) in self._places(reference, data):
                own = inside.valued(self.metrics, step=1 if place == ALL else few, threads=self.threads)
                # values of every draw weigh as those of other metrics do; what is undefined weighs nothing
                total = self.sums["weight", key, *place]
                values = np.broadcast_to(own.values, (*own.values.shape[:2], len(total)))
                weights = np.where(np.isnan(values), 0.0, total)
                sums = np.where(np.isnan(values), 0.0, values) * weights
                found["draws", key, *place, DATA_SET] = np.stack([sums, weights])
                if reference.detail != "point":
                    found["reach", key, *place, DATA_SET] = own.reaches
                    wanted[key, *place, DATA_SET] = (*own.influences(), rows, np.arange(len(rows)))
                if reference.detail != "point" and place == ALL:
                    found |= self._of_cases(key, data, own)
            found |= interval_sums(self.weights, wanted)
        return found

    def _places(self, reference: Reference, data: DataSet) -> Iterator[tuple[Place, tuple[DataSet, IntArray]]]:
        """Give all cases and, of a run, groups of them and categories: what metrics see, and positions of cases."""
        everyone = np.arange(len(self.order))
        yield ALL, (data, everyone)
        if reference.detail != "run":
            return
        known = self.sums.arrays.get(("profile", reference.key, "certainties"))
        for place, rows in cases_of_places(self.strata, None if known is None else known[:, self.order]).items():
            yield place, (data.take(rows), rows)
        for code, name in enumerate(self.plan.category_names):
            assert self.plan.categories is not None  # as they have names
            yield ("category", name), (data.within(np.flatnonzero(self.plan.categories.codes == code)), everyone)

    def _of_cases(self, key: str, data: DataSet, own: Valued) -> dict[Name, Array]:
        """Say what every case adds, in the order of the cases, and what refits of a prior do."""
        back, (means, shares) = np.argsort(self.order, kind="stable"), own.influences()
        parts = {"means": means, "deviations": own.deviations(), "shares": shares}
        found: dict[Name, Array] = {("cases", what, key, DATA_SET): part[..., back] for what, part in parts.items()}
        moved = [data.labels[metric.truth].moved for metric in self.metrics]
        if moved[0].shape[1]:
            bootstrap = with_all(self.weights.bootstrap(slice(None), moved[0].shape[1] - 1))
            found["fit", key, DATA_SET] = own.fit(moved, bootstrap)
        return found

    def remarks(self, key: str, models: Sequence[str]) -> tuple[str, ...]:
        """Say what makes a metric of a model meaningless; what is true of several is said once."""
        data = self.data(key)
        alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for metric in self.metrics:
            pairs = zip(models, data.said, strict=True)
            told = {name: metric.remarks(said, data.means(metric)) for name, said in pairs}
            for remark in dict.fromkeys(chain.from_iterable(told.values())):
                own = tuple(name for name, remarks in told.items() if remark in remarks)
                alike.setdefault((remark, own), []).append(metric.name)
        return tuple(
            f"{', '.join([*(() if len(own) == len(models) > 1 else own), *measures])}: {remark}"
            for (remark, own), measures in alike.items()
        )

    def curves(
        self, key: str, models: tuple[str, ...], conditions: tuple[str, ...], run: str, level: float
    ) -> tuple[Curve, ...]:
        """Draw the curves of the metrics that were asked for, under one run."""
        data = self.data(key)
        if any(one.form == "numbers" for one in data.labels.values()):
            return ()
        names = conditions
        if self.is_binary:
            names = tuple(np.unique(self.strata[FINDING]).tolist()) if FINDING in self.strata else ("",)
        sheet = Sheet(self.said, models, data.labels, self.weights, names, conditions, run, level)
        return sheet.curves(wishes(self.plan.metrics, list(data.labels), len(conditions)))


def findings_of(names: Sequence[str], findings: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Give every row the number of its finding and that of its case.

    >>> findings_of(["x / AF", "x / ST", "y / AF"], ["AF", "ST", "AF"])
    (array([0, 1, 0]), array([0, 0, 1]))
    """
    cases = [name.removesuffix(f"{PAIR}{finding}") for name, finding in zip(names, findings, strict=True)]
    codes = [np.unique(part, return_inverse=True)[1].astype(np.int64) for part in (list(findings), cases)]
    return codes[0], codes[1]
