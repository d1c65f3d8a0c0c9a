"""Evaluate batches of cases: the same function for every batch, thread and worker; results add up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.core.aliases import FloatArray, IntArray, KeyArray
from dissensus.core.names import case_keys
from dissensus.core.thresholds import NEAR
from dissensus.draws import Batch, Plausibilities
from dissensus.evaluation.categories import Categories, order_chances
from dissensus.evaluation.findings import Findings
from dissensus.evaluation.tally import Tally
from dissensus.metrics.base import Drawn, Metric, OrderMetric, Predicted
from dissensus.predictions.lists import Predictions
from dissensus.study.rankings import Annotations
from dissensus.study.ratings import Ratings

EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.99, 1.0)
"""Limits between bins of certainty."""

BATCH_CASES, BATCH_DRAWS = 128, 128_000
"""How many cases are evaluated at a time, more if there are few draws; fixed, so that sums do not depend on threads."""


MOST_CASES = 2048

GROUP_DRAWS = 250
"""Of more draws, groups of cases see at most this many, evenly spaced: enough for an interval."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one aggregation gives: sums over cases, and what is known about every case.

    Attributes
    ----------
    tally
        Sums of shape (models, metrics, n_draws).
    strata, categories, bins
        The same by (column, label), by the category of the first condition of each draw, and by bin of certainty.
    means, deviations : (models, metrics, n_cases)
        Mean and standard deviation over draws of every case.
    findings
        What the draws say about every case; missing for point estimates.
    """

    tally: Tally
    strata: Mapping[tuple[str, str], Tally]
    categories: Mapping[str, Tally]
    bins: Mapping[int, Tally]
    means: FloatArray
    deviations: FloatArray
    findings: Findings | None


@dataclass(frozen=True, eq=False)
class Job:
    """Evaluate batches.

    Attributes
    ----------
    metrics, models
        What is computed, and for whom.
    seed, draws
        Of the resampling of cases: as many resamples as draws.
    study
        The opinions.
    tops
        Numbers of first places to find the certainty of; empty for point estimates.
    categories
        Categories of conditions, if wanted.
    strata
        For every column, the label of each case by name.
    """

    metrics: tuple[Metric, ...]
    models: Mapping[str, Predictions]
    seed: int
    draws: int
    study: Annotations | Ratings
    tops: IntArray
    categories: Categories | None
    strata: Mapping[str, Mapping[str, str]]

    @cached_property
    def depth(self) -> int:
        """How many places of a draw matter."""
        wanted = [metric.depth_for(model) for metric in self.metrics for model in self.models.values()]
        return int(max([1, *self.tops, *wanted]))

    @property
    def step(self) -> int:
        """Groups of cases are tallied on every so-manieth draw."""
        return -(-self.draws // GROUP_DRAWS)

    @cached_property
    def labels(self) -> list[tuple[str, str]]:
        """Every column and label, in order."""
        return sorted({(column, label) for column, names in self.strata.items() for label in names.values()})

    @property
    def category_names(self) -> tuple[str, ...]:
        """Names of the categories, if there are any."""
        return () if self.categories is None else self.categories.names

    def run(self, plausibilities: Plausibilities, advance: Callable[[int], None] | None) -> Outcome:
        """Evaluate all cases under one aggregation; sums are merged in the order of cases, as soon as they come."""
        tally = Tally.zeros(len(self.models), len(self.metrics), self.draws)
        nothing = Tally.zeros(len(self.models), len(self.metrics), -(-self.draws // self.step))
        strata, categories = dict.fromkeys(self.labels, nothing), dict.fromkeys(self.category_names, nothing)
        bins = dict.fromkeys(range(len(EDGES) - 1) if len(self.tops) else (), nothing)
        means, deviations, findings = [], [], []
        size = max(BATCH_CASES, min(BATCH_DRAWS // plausibilities.n_draws, MOST_CASES))
        for part in plausibilities.map(self.batch, batch_cases=size):
            tally += part.tally
            strata.update({key: strata[key] + found for key, found in part.strata.items()})
            categories.update({name: categories[name] + found for name, found in part.categories.items()})
            bins.update({number: bins[number] + found for number, found in part.bins.items()})
            means.append(part.means)
            deviations.append(part.deviations)
            findings += [part.findings] if part.findings is not None else []
            if advance is not None:
                advance(part.means.shape[-1])
        return Outcome(
            tally,
            strata,
            categories,
            bins,
            np.concatenate(means, axis=-1),
            np.concatenate(deviations, axis=-1),
            Findings.concatenate(findings) if findings else None,
        )

    def batch(self, batch: Batch) -> Outcome:
        """Evaluate all models and metrics on the draws of some cases."""
        drawn = Drawn(batch, self.depth)
        measured = Measured.of(drawn, self.metrics, self._predicted(batch))
        weights = self.study.panel.case_weights[self._positions(batch)]
        adder = Adder(measured, weights, self._resampling(batch))
        (tally,) = adder.tallies()
        thinned = Adder(measured, weights, adder.bootstrap[:, :: self.step], self.step)
        means, deviations = measured.moments()
        chances = [] if self.categories is None else order_chances(drawn, self.categories)
        findings = Findings.of(drawn, self.tops, self.categories, chances) if len(self.tops) else None
        return Outcome(
            tally=tally,
            strata=self._by_stratum(thinned, batch),
            categories={name: thinned.tallies(one)[0] for name, one in zip(self.category_names, chances, strict=True)},
            bins={} if findings is None else thinned.by_label(bin_of(findings.certainties[0])),
            means=means,
            deviations=deviations,
            findings=findings,
        )

    @cached_property
    def _known(self) -> dict[tuple[str, int], list[Predicted]]:
        return {}

    def _predicted(self, batch: Batch) -> list[Predicted]:
        """Look up what the models said about the cases of a batch, once for all aggregations."""
        key = batch.case_names[0], batch.n_cases
        known = self._known.get(key)
        if known is None or any(not np.array_equal(model.batch.support, batch.support) for model in known):
            known = [Predicted(model, batch.outline()) for model in self.models.values()]
            self._known[key] = known
        return known

    def _resampling(self, batch: Batch) -> FloatArray:
        """Return the bootstrap weights of the cases, shape (n_cases, draws)."""
        from dissensus.kernels.resamples import case_weights

        return case_weights(np.uint64(self.seed), self._keys[self._positions(batch)], self.draws)

    @cached_property
    def _keys(self) -> KeyArray:
        """Hash what is resampled together: the group of each case, or the case itself."""
        groups = self.study.panel.groups
        return case_keys([f"group {name}" for name in groups] if groups else self.study.case_names)

    def _positions(self, batch: Batch) -> IntArray:
        return self.study.panel.positions(list(batch.case_names))

    def _by_stratum(self, adder: Adder, batch: Batch) -> dict[tuple[str, str], Tally]:
        return {
            (column, label): tally
            for column, names in self.strata.items()
            for label, tally in adder.by_label(np.array([names[name] for name in batch.case_names])).items()
        }


def bin_of(certainties: FloatArray) -> IntArray:
    """Return the bin of each certainty: from its lower edge up to, but not including, the upper one; 1 is in the last.

    >>> bin_of(np.array([0.2, 0.5, 0.99, 1.0]))
    array([0, 1, 5, 5])
    """
    inner = np.array(EDGES[1:-1])
    return np.searchsorted(inner, certainties + NEAR, side="right").astype(np.int64)


@dataclass(frozen=True, eq=False)
class Measured:
    """Hold every metric of every model on the draws of a batch.

    Attributes
    ----------
    drawn
        The draws.
    of_orders : (models, order metrics, n_orders)
        What depends on the order of conditions only, once per order.
    of_draws : (models, other metrics, n_cases, n_draws)
        Everything else.
    places
        Where the order metrics stand among all metrics, and then the others.
    """

    drawn: Drawn
    of_orders: FloatArray
    of_draws: FloatArray
    places: IntArray

    @staticmethod
    def of(drawn: Drawn, metrics: tuple[Metric, ...], known: Sequence[Predicted]) -> Measured:
        """Compute all metrics of all models."""
        by_order = [m for m in metrics if isinstance(m, OrderMetric)]
        others = [m for m in metrics if not isinstance(m, OrderMetric)]
        n_orders, n_draws = len(drawn.orders.counts), drawn.batch.n_draws
        return Measured(
            drawn,
            np.array([[m.of_orders(drawn, p) for m in by_order] for p in known]).reshape(
                len(known), len(by_order), n_orders
            ),
            np.array([[m.values(drawn, p) for m in others] for p in known]).reshape(
                len(known), len(others), drawn.batch.n_cases, n_draws
            ),
            np.array([metrics.index(m) for m in (*by_order, *others)], dtype=np.int64),
        )

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation over the draws of each case, shape (models, metrics, n_cases)."""
        means = self.drawn.means(self.of_orders)
        gaps = self.of_orders - np.repeat(means, np.diff(self.drawn.orders.offsets), axis=-1)
        deviations = np.sqrt(self.drawn.means(gaps**2))
        return (
            self.arranged(means, self.of_draws.mean(axis=-1)),
            self.arranged(deviations, self.of_draws.std(axis=-1)),
        )

    def arranged(self, of_orders: FloatArray, of_draws: FloatArray) -> FloatArray:
        """Put numbers of order metrics (models, metrics, ...) and those of others into the order of all metrics."""
        both = np.concatenate([of_orders, of_draws], axis=1)
        return np.asarray(both[:, np.argsort(self.places)])


@dataclass(frozen=True, eq=False)
class Adder:
    """Add up metrics over the cases of a batch.

    Attributes
    ----------
    measured
        The metrics.
    weights : (n_cases,)
        Weight of each case.
    bootstrap : (n_cases, draws)
        Weight of each case in every resample.
    step
        Use every so-manieth draw.
    """

    measured: Measured
    weights: FloatArray
    bootstrap: FloatArray
    step: int = 1

    @cached_property
    def of_draw(self) -> IntArray:
        """The order of every draw, shape (n_cases, draws); a single draw counts for all."""
        of_draw = self.measured.drawn.orders.of_draw[:, :: self.step]
        return np.ascontiguousarray(np.broadcast_to(of_draw, self.bootstrap.shape))

    @cached_property
    def table(self) -> FloatArray:
        """What each order is worth by each model and metric, shape (n_orders, models * metrics)."""
        table = self.measured.of_orders
        return np.ascontiguousarray(table.reshape(-1, table.shape[-1]).T)

    def tallies(
        self, shares: FloatArray | None = None, *, groups: IntArray | None = None, n_groups: int = 1
    ) -> list[Tally]:
        """Tally the cases of each group; ``shares`` (n_orders,) say how much each order counts."""
        shares = np.ones(len(self.table)) if shares is None else shares
        groups = np.zeros(len(self.weights), dtype=np.int64) if groups is None else groups
        by_order = self._order_tallies(shares, groups, n_groups)
        if not self.measured.of_draws.shape[1]:
            return by_order
        others = self._other_tallies(shares, groups, n_groups)
        return [self._arranged(one, other) for one, other in zip(by_order, others, strict=True)]

    def _arranged(self, by_order: Tally, others: Tally) -> Tally:
        """Put the sums of order metrics and of other ones into the order of all metrics."""
        pairs = zip(by_order.parts, others.parts, strict=True)
        shape = by_order.sums.shape[:-1]
        return Tally(
            *(self.measured.arranged(np.broadcast_to(one, (*shape, one.shape[-1])), other) for one, other in pairs)
        )

    def by_label(self, labels: npt.NDArray[Any]) -> dict[Any, Tally]:
        """Tally the cases of each label (n_cases,) on their own."""
        known, groups = np.unique(labels, return_inverse=True)
        found = self.tallies(groups=groups.astype(np.int64), n_groups=len(known))
        return dict(zip(known.tolist(), found, strict=True))

    def _order_tallies(self, shares: FloatArray, groups: IntArray, n_groups: int) -> list[Tally]:
        from dissensus.kernels.tallies import tally_orders

        n_models, n_metrics, _ = self.measured.of_orders.shape
        bootstrap = np.ascontiguousarray(self.bootstrap)
        found = tally_orders(self.of_draw, self.table, shares, self.weights, bootstrap, groups, n_groups)
        shape = (n_models, n_metrics, self.bootstrap.shape[1])
        sums, resampled = (
            part.transpose(0, 2, 1).reshape(n_groups, *shape) for part in (found.sums, found.resampled_sums)
        )
        weights, totals = (part[:, None, None] for part in (found.weights, found.resampled_weights))
        squares = found.squares[:, None, None, None]
        return [Tally(*parts) for parts in zip(sums, weights, resampled, totals, squares, strict=True)]

    def _other_tallies(self, shares: FloatArray, groups: IntArray, n_groups: int) -> list[Tally]:
        values = self.measured.of_draws[..., :: self.step]
        weights = self.weights[:, None] * shares[self.of_draw]
        values = np.broadcast_to(values, (*values.shape[:-1], self.bootstrap.shape[1]))
        masks = [groups == group for group in range(n_groups)]
        return [Tally.of(values[:, :, mask], weights[mask], self.bootstrap[mask]) for mask in masks]
