"""Evaluate batches of cases: the same function for every batch, thread and worker; results add up."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.exact import Exact, carried
from dissensus.core.thresholds import NEAR
from dissensus.draws import Batch, Plausibilities
from dissensus.evaluation.basis import Addend, merged
from dissensus.evaluation.categories import Categories, order_chances
from dissensus.evaluation.findings import Findings
from dissensus.evaluation.intervals import GROUP_RESAMPLES
from dissensus.evaluation.labels import LabelsByTruth, joined_labels, labels_of
from dissensus.evaluation.refits import REFIT_DRAWS, ExactFit, Reweighting, reweighted_means
from dissensus.evaluation.tally import CaseWeights, ExactResamples, ExactTally
from dissensus.metrics.base import Drawn, Metric, OrderMetric, Predicted
from dissensus.metrics.data_set import DataSetMetric, Truth
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study

Item = TypeVar("Item", bound=np.generic)
Key = TypeVar("Key", bound=Hashable)

EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.99, 1.0)
"""Limits between bins of certainty."""

BATCH_CASES, BATCH_DRAWS = 128, 128_000
"""How many cases are evaluated at a time, more if there are few draws; fixed, so that sums do not depend on threads."""

MOST_CASES = 2048

GROUP_DRAWS = 250
"""Of more draws, groups of cases see at most this many, evenly spaced: enough for an interval."""


def step_of(n_draws: int, most: int = GROUP_DRAWS) -> int:
    """Return how many draws further the next one is that is used, if at most so many are; by default for groups.

    >>> step_of(250), step_of(1000)
    (1, 4)
    """
    return -(-n_draws // most)


@dataclass(frozen=True, eq=False)
class Totals:
    """Sum over some cases what one aggregation gives; totals of different cases add up, in any order to the same.

    Attributes
    ----------
    tally
        Sums of shape (models, metrics, n_draws).
    strata, categories, bins
        The same by (column, label), by the category of the first condition of each draw, and by bin of certainty.
    category_resamples
        Sums over resampled cases by category.
    fit
        Sums over resampled cases with and without refits of an informed prior.
    """

    tally: ExactTally
    strata: Mapping[tuple[str, str], ExactTally]
    categories: Mapping[str, ExactTally]
    category_resamples: Mapping[str, ExactResamples]
    bins: Mapping[int, ExactTally]
    fit: ExactFit | None

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.tally + other.tally,
            added_by_key(self.strata, other.strata),
            added_by_key(self.categories, other.categories),
            added_by_key(self.category_resamples, other.category_resamples),
            added_by_key(self.bins, other.bins),
            None if self.fit is None or other.fit is None else self.fit + other.fit,
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one aggregation gives for some cases: their sums, and what is known about each.

    Attributes
    ----------
    totals
        The sums.
    means, deviations : (models, metrics, n_cases)
        Mean and standard deviation over draws of every case.
    shares : (models, metrics, n_cases) or (1, 1, n_cases)
        Share of draws in which the metric is defined.
    findings
        What the draws say about every case; missing for point estimates.
    labels
        Labels of draws, by truth, as far as metrics of a whole data set need them.
    """

    totals: Totals
    means: FloatArray
    deviations: FloatArray
    shares: FloatArray
    findings: Findings | None
    labels: LabelsByTruth

    def __add__(self, other: Outcome) -> Outcome:
        """Put other cases behind these."""
        is_full = any(one.shares.size > one.shares.shape[-1] for one in (self, other))
        shares = [np.broadcast_to(one.shares, one.means.shape) if is_full else one.shares for one in (self, other)]
        findings = [one.findings for one in (self, other) if one.findings is not None]
        return Outcome(
            self.totals + other.totals,
            np.concatenate([self.means, other.means], axis=-1),
            np.concatenate([self.deviations, other.deviations], axis=-1),
            np.concatenate(shares, axis=-1),
            Findings.concatenate(findings) if findings else None,
            joined_labels(self.labels, other.labels),
        )


@dataclass(frozen=True, eq=False)
class Job:
    """Evaluate batches.

    Attributes
    ----------
    metrics, models
        What is computed, and for whom.
    seed, draws
        Seed of the resampling of cases, and number of draws.
    study
        The opinions.
    tops
        Numbers of first places to find the certainty of; empty for point estimates.
    categories
        Categories of conditions, if wanted.
    strata
        For every column, the label of each case by name.
    depth
        How many places of a draw matter; what is known of the order of a case may depend on it.
    refits
        How an informed prior would move, if the draws are of one.
    unit
        That of the weights of cases.
    sketches
        Whether a few draws of every case are kept, to be looked at.
    """

    metrics: tuple[Metric, ...]
    models: Mapping[str, Predictions]
    seed: int
    draws: int
    study: Study
    tops: IntArray
    categories: Categories | None
    strata: Mapping[str, Mapping[str, str]]
    depth: int
    refits: Reweighting | None = None
    unit: float = 1.0
    sketches: bool = True

    @property
    def category_names(self) -> tuple[str, ...]:
        """Names of the categories, if there are any."""
        return () if self.categories is None else self.categories.names

    @cached_property
    def weights(self) -> CaseWeights:
        """How much each case counts, and what is resampled together."""
        return CaseWeights.of(self.study.panel, self.seed, self.unit)

    def run(self, plausibilities: Plausibilities, advance: Callable[[int], None] | None) -> Outcome:
        """Evaluate all cases under one aggregation, batch after batch."""
        size = max(BATCH_CASES, min(BATCH_DRAWS // plausibilities.n_draws, MOST_CASES))
        return merged(self._counted(part, advance) for part in plausibilities.map(self.batch, batch_cases=size))

    def _counted(self, part: Outcome, advance: Callable[[int], None] | None) -> Outcome:
        if advance is not None:
            advance(part.means.shape[-1])
        return part

    def batch(self, batch: Batch) -> Outcome:
        """Evaluate all models and metrics on the draws of some cases."""
        if not self.has_numbers:
            batch = replace(batch, numbers=None)
        drawn_from, batch = batch, batch.identified(self.depth)
        drawn = Drawn(batch, self.depth)
        cases = self.study.panel.positions(list(batch.case_names))
        values = Values.of(drawn, self.metrics, self._predicted(batch))
        whole = Adder(values, self.weights.weights[cases], self.draws)
        thinned = Adder(values, self.weights.weights[cases], self.draws, step_of(self.draws))
        chances = [] if self.categories is None else order_chances(drawn, self.categories)
        findings = None
        if len(self.tops):
            findings = Findings.of(drawn, self.tops, self.categories, chances, sketches=self.sketches)
        named = dict(zip(self.category_names, chances, strict=True))
        means, deviations, shares = values.moments()
        refitted = None
        if self.refits is not None:
            refitted = self.refits.weights(drawn_from, step_of(drawn_from.n_draws, REFIT_DRAWS))
        totals = Totals(
            tally=whole.tallies()[0],
            strata=self._by_stratum(thinned, batch),
            categories={name: thinned.tallies(chance)[0] for name, chance in named.items()},
            category_resamples={name: self._resampled(values, chance, cases) for name, chance in named.items()},
            bins={} if findings is None else thinned.by_label(bin_of(findings.certainties[0])),
            fit=None if refitted is None else self._refitted(refitted, drawn_from, values, cases),
        )
        labels = self._labels(drawn, drawn_from, refitted)
        return Outcome(totals, means, deviations, shares, findings, labels)

    @cached_property
    def has_numbers(self) -> bool:
        """Whether models give numbers; if not, draws are of conditions, even those of ratings."""
        return any(model.kind == "numbers" for model in self.models.values())

    @cached_property
    def truths(self) -> tuple[Truth, ...]:
        """What the label of a draw is for the metrics of a whole data set."""
        return tuple(sorted({metric.truth for metric in self.metrics if isinstance(metric, DataSetMetric)}))

    def _labels(self, drawn: Drawn, drawn_from: Batch, weights: list[FloatArray] | None) -> LabelsByTruth:
        """Keep the labels of draws; plausibilities are those before unmentioned conditions were told apart."""
        whole = replace(drawn, batch=drawn_from)
        step = step_of(drawn_from.n_draws, REFIT_DRAWS)
        return {
            truth: labels_of(drawn if truth == "top" else whole, truth, seed=self.seed, weights=weights, step=step)
            for truth in self.truths
        }

    def _refitted(self, weights: list[FloatArray], batch: Batch, values: Values, cases: IntArray) -> ExactFit:
        """Sum the means of cases over resamples of the cases, with the prior as it is and refitted."""
        n_refits, step = len(weights[0]), step_of(batch.n_draws, REFIT_DRAWS)
        bootstrap = self.weights.bootstrap(cases, n_refits) * self.weights.weights[cases][:, None]
        found = np.empty((batch.n_cases, 3, n_refits, len(self.models), len(self.metrics)))
        for case, of_case in enumerate(weights):
            still, moved, is_known = reweighted_means(values.of_case(case)[..., ::step], of_case)
            found[case] = bootstrap[case][:, None, None] * np.stack(
                [np.broadcast_to(still, moved.shape), moved, is_known]
            )
        sums = Exact.of(found).summed(0)
        return ExactFit(sums[0], sums[1], sums[2])

    def _resampled(self, values: Values, chance: FloatArray, cases: IntArray) -> ExactResamples:
        """Resample the cases, each as far as its draws count."""
        means, shares = values.counted(chance)
        return self.weights.resamples(means, shares, n_resamples=GROUP_RESAMPLES, cases=cases)[0]

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

    def _by_stratum(self, adder: Adder, batch: Batch) -> dict[tuple[str, str], ExactTally]:
        return {
            (column, label): tally
            for column, names in self.strata.items()
            for label, tally in adder.by_label(np.array([names[name] for name in batch.case_names])).items()
        }


def _spread_out(part: npt.NDArray[Item], is_told: npt.NDArray[np.bool_]) -> npt.NDArray[Item]:
    """Put zeros where there is no column."""
    full = np.zeros((*part.shape[:-1], len(is_told)), dtype=part.dtype)
    full[..., is_told] = part
    return full


def added_by_key(one: Mapping[Key, Addend], other: Mapping[Key, Addend]) -> dict[Key, Addend]:
    """Add what both have, and keep what one has.

    >>> added_by_key({"a": 1, "b": 2}, {"b": 3, "c": 4})
    {'a': 1, 'b': 5, 'c': 4}
    """
    return {**one, **{key: one[key] + sums if key in one else sums for key, sums in other.items()}}


def bin_of(certainties: FloatArray) -> IntArray:
    """Return the bin of each certainty: from its lower edge up to, but not including, the upper one; 1 is in the last.

    >>> bin_of(np.array([0.2, 0.5, 0.99, 1.0]))
    array([0, 1, 5, 5])
    """
    inner = np.array(EDGES[1:-1])
    return np.searchsorted(inner, certainties + NEAR, side="right").astype(np.int64)


@dataclass(frozen=True, eq=False)
class Values:
    """Hold every metric of every model on the draws of a batch.

    Attributes
    ----------
    drawn
        The draws.
    of_orders : (models, order metrics, n_orders)
        What depends on the order of conditions only, once per order; zero for metrics of a whole data set, which are
        computed once all cases are known.
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
    def of(drawn: Drawn, metrics: tuple[Metric, ...], known: Sequence[Predicted]) -> Values:
        """Compute all metrics of all models."""
        by_order = [m for m in metrics if isinstance(m, OrderMetric | DataSetMetric)]
        others = [m for m in metrics if m not in by_order]
        n_orders, n_draws = len(drawn.orders.counts), drawn.batch.n_draws
        return Values(
            drawn,
            np.array([[_of_orders(m, drawn, p) for m in by_order] for p in known]).reshape(
                len(known), len(by_order), n_orders
            ),
            np.array([[m.values(drawn, p) for m in others] for p in known]).reshape(
                len(known), len(others), drawn.batch.n_cases, n_draws
            ),
            np.array([metrics.index(m) for m in (*by_order, *others)], dtype=np.int64),
        )

    def of_case(self, case: int) -> FloatArray:
        """Return all metrics of all models in every draw of one case, shape (models, metrics, n_draws)."""
        return self.arranged(self.of_orders[..., self.drawn.orders.of_draw[case]], self.of_draws[:, :, case])

    def moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return mean and standard deviation over the draws of each case, and the share of draws with a value."""
        means = self.drawn.means(self.of_orders)
        gaps = self.of_orders - np.repeat(means, np.diff(self.drawn.orders.offsets), axis=-1)
        known = ~np.isnan(self.of_draws)
        others, spread = _defined_moments(self.of_draws, known)
        n_cases = self.drawn.batch.n_cases
        shares = np.ones((1, 1, n_cases))
        if not known.all():
            shares = self.arranged(np.ones_like(means), known.mean(axis=-1))
        return (
            self.arranged(means, others),
            self.arranged(np.sqrt(self.drawn.means(gaps**2)), spread),
            shares,
        )

    def counted(self, chance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean of each case over the draws that count, and their share; ``chance`` (n_orders,) says which.

        Shapes are (models, metrics, n_cases), and (1, 1, n_cases) for the shares unless values are undefined.
        """
        share = self.drawn.means(chance)
        means = _divided(self.drawn.means(chance * self.of_orders), share)
        if not self.of_draws.shape[1]:
            return means, share[None, None]
        weights = np.where(np.isnan(self.of_draws), 0.0, self.drawn.of_draws(chance))
        others = weights.mean(axis=-1)
        products = (weights * np.nan_to_num(self.of_draws, posinf=np.inf, neginf=-np.inf)).mean(axis=-1)
        return self.arranged(means, _divided(products, others)), self.arranged(
            np.broadcast_to(share, means.shape), others
        )

    def arranged(self, of_orders: npt.NDArray[Item], of_draws: npt.NDArray[Item]) -> npt.NDArray[Item]:
        """Put numbers of order metrics (models, metrics, ...) and those of others into the order of all metrics."""
        both = np.concatenate([of_orders, of_draws], axis=1)
        return np.asarray(both[:, np.argsort(self.places)])


def _of_orders(metric: Metric, drawn: Drawn, predicted: Predicted) -> FloatArray:
    return metric.of_orders(drawn, predicted) if isinstance(metric, OrderMetric) else np.zeros(len(drawn.orders.counts))


def _divided(sums: FloatArray, weights: FloatArray) -> FloatArray:
    where = np.broadcast_to(weights > 0, sums.shape)
    return np.divide(sums, weights, out=np.zeros_like(sums), where=where)


def _defined_moments(values: FloatArray, known: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation along the last axis over the values that are defined; nan where none is.

    The spread around a mean that is infinite is undefined as well.
    """
    if known.all():
        with np.errstate(invalid="ignore"):
            return values.mean(axis=-1), values.std(axis=-1)
    counts = known.sum(axis=-1)
    nothing, some = np.full(counts.shape, np.nan), counts > 0
    means = np.divide(np.where(known, values, 0.0).sum(axis=-1), counts, out=nothing.copy(), where=some)
    with np.errstate(invalid="ignore"):
        gaps = np.where(known, values - means[..., None], 0.0) ** 2
    return means, np.sqrt(np.divide(gaps.sum(axis=-1), counts, out=nothing, where=some))


@dataclass(frozen=True, eq=False)
class Adder:
    """Add up metrics over the cases of a batch.

    Attributes
    ----------
    values
        The metrics.
    weights : (n_cases,)
        Weight of each case.
    n_draws
        Number of draws; a single one counts for all.
    step
        How many draws further the next one is that is used.
    """

    values: Values
    weights: FloatArray
    n_draws: int
    step: int = 1

    @cached_property
    def of_draw(self) -> IntArray:
        """The order of every draw that is used, shape (n_cases, draws)."""
        of_draw = self.values.drawn.orders.of_draw
        full = np.broadcast_to(of_draw, (len(of_draw), self.n_draws))
        return np.ascontiguousarray(full[:, :: self.step])

    @cached_property
    def table(self) -> FloatArray:
        """What each order is worth by each model and metric, shape (n_orders, models * metrics)."""
        table = self.values.of_orders
        return np.ascontiguousarray(table.reshape(-1, table.shape[-1]).T)

    def tallies(
        self, shares: FloatArray | None = None, *, groups: IntArray | None = None, n_groups: int = 1
    ) -> list[ExactTally]:
        """Tally the cases of each group; ``shares`` (n_orders,) say how much each order counts."""
        shares = np.ones(len(self.table)) if shares is None else shares
        groups = np.zeros(len(self.weights), dtype=np.int64) if groups is None else groups
        by_order = self._order_tallies(shares, groups, n_groups)
        if not self.values.of_draws.shape[1]:
            return by_order
        others = self._other_tallies(shares, groups, n_groups)
        return [self._arranged(one, other) for one, other in zip(by_order, others, strict=True)]

    def _arranged(self, by_order: ExactTally, others: ExactTally) -> ExactTally:
        """Put the sums of order metrics and of other ones into the order of all metrics."""
        shape = by_order.sums.high.shape
        weights = by_order.weights.arranged(lambda part: np.broadcast_to(part, shape))
        return ExactTally(self._joined(by_order.sums, others.sums), self._joined(weights, others.weights))

    def _joined(self, one: Exact, other: Exact) -> Exact:
        put = self.values.arranged
        return Exact(put(one.high, other.high), put(one.low, other.low), put(one.beyond, other.beyond))

    def by_label(self, labels: npt.NDArray[Any]) -> dict[Any, ExactTally]:
        """Tally the cases of each label (n_cases,) on their own."""
        known, groups = np.unique(labels, return_inverse=True)
        found = self.tallies(groups=groups.astype(np.int64), n_groups=len(known))
        return dict(zip(known.tolist(), found, strict=True))

    def _order_tallies(self, shares: FloatArray, groups: IntArray, n_groups: int) -> list[ExactTally]:
        """Weigh every order once, as whole units, and add these up draw by draw; the last column is the weight."""
        from dissensus.kernels.jit import plain
        from dissensus.kernels.tallies import add_orders

        weights = np.repeat(self.weights, np.diff(self.values.drawn.orders.offsets)) * shares
        is_told = np.append(self.table.any(axis=0), True)  # what is zero throughout needs no sum
        worth = Exact.of(weights[:, None] * np.column_stack([self.table, np.ones(len(self.table))])[:, is_told])
        room = (n_groups, self.of_draw.shape[1], worth.high.shape[1])
        high, low = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
        for part, units in ((high, worth.high), (low, worth.low)):
            add_orders(plain(self.of_draw), plain(units), plain(groups), part)
        total = carried(high, low, self._beyond(worth.beyond, groups, room))
        total = total.arranged(lambda part: _spread_out(part, is_told))
        shape = (*self.values.of_orders.shape[:2], self.of_draw.shape[1])
        return [
            ExactTally(
                total.arranged(lambda part, group=group: part[group, :, :-1].T.reshape(shape)),
                total.arranged(lambda part, group=group: part[group, :, -1][None, None]),
            )
            for group in range(n_groups)
        ]

    def _beyond(self, worth: FloatArray, groups: IntArray, shape: tuple[int, ...]) -> FloatArray:
        """Add up what is too large for whole units, or infinite; there rarely is any."""
        sums = np.zeros(shape)
        if worth.any():
            for case, group in enumerate(groups):
                sums[group] += worth[self.of_draw[case]]
        return sums

    def _other_tallies(self, shares: FloatArray, groups: IntArray, n_groups: int) -> list[ExactTally]:
        values = self.values.of_draws
        full = np.broadcast_to(values, (*values.shape[:-1], self.n_draws))[..., :: self.step]
        weights = self.weights[:, None] * shares[self.of_draw]
        masks = [groups == group for group in range(n_groups)]
        return [ExactTally.of(full[:, :, mask], weights[mask]) for mask in masks]
