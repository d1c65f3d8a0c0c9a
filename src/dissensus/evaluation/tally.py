"""Tally a piece of the cases: the same function for every batch, thread and worker; what it returns adds up."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from dissensus.aggregations.case_prior import known_prior
from dissensus.aggregations.point_estimates import InverseRank, MeanRating
from dissensus.certainty.categories import Categories, category_certainty, order_chances, risk_ranges
from dissensus.certainty.top_sets import batch_certainty
from dissensus.core.aliases import FloatArray, IntArray, SmallFloatArray
from dissensus.core.names import case_positions, in_order_of_keys
from dissensus.core.ragged import offsets_from_lengths, row_of_each, take_rows, weighted_counts
from dissensus.core.thresholds import NEAR, ROUGH, is_uncertain
from dissensus.core.value import Value
from dissensus.draws import Batch, Plausibilities, identified
from dissensus.evaluation.intervals import GROUP_RESAMPLES, RESAMPLES
from dissensus.evaluation.labels import Labels, LabelsByTruth, data_set_metrics, label_entries, labels_of, vote_labels
from dissensus.evaluation.refits import (
    CATEGORY_FIT,
    REFIT_DRAWS,
    other_family,
    refit_weights,
    reweighted_means,
    reweighted_sums,
    with_all,
)
from dissensus.evaluation.sums import ALL, EACH, GROUPS, Array, CaseWeights, Name, Place, Sums, place_sums, ratio
from dissensus.metrics.base import Drawn, Metric, OrderMetric, Predicted, Truth
from dissensus.predictions.alignment import repeated
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study

if TYPE_CHECKING:
    from dissensus.evaluation.plan import Plan, Reference

Item = TypeVar("Item", bound=np.generic)

# Limits between bins of certainty.
EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.99, 1.0)

# What every case of a place adds, how much of it counts (models, metrics, n), the positions of the cases, in the order
# of keys, and where they stand in these arrays.
Influences: TypeAlias = tuple[FloatArray, FloatArray, IntArray, IntArray]

# How many cases are tallied at a time; fixed, so that sums do not depend on threads and workers.
PIECE = 256

# How many cases of a piece are drawn at a time, more if there are few draws.
BATCH_CASES, BATCH_DRAWS = 64, 64_000

# How many opinions are compared at a time: each has the predictions of its case at its side.
OPINIONS_AT_ONCE = 2000

# Of more draws, groups of cases see at most this many, evenly spaced: enough for an interval.
GROUP_DRAWS = 250


def step_of(n_draws: int, most: int = GROUP_DRAWS) -> int:
    """Return how many draws further the next one is that is used, if at most so many are; by default for groups.

    >>> step_of(250), step_of(1000)
    (1, 4)
    """
    return -(-n_draws // most)


def bin_of(certainties: FloatArray) -> IntArray:
    """Return the bin of each certainty: from its lower edge up to, but not including, the upper one; 1 is in the last.

    >>> bin_of(np.array([0.2, 0.5, 0.99, 1.0]))
    array([0, 1, 5, 5])
    """
    inner = np.array(EDGES[1:-1])
    return np.searchsorted(inner, certainties + NEAR, side="right").astype(np.int64)


# Values of a batch ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Values:
    """Hold every metric of every model on the draws of a batch.

    Attributes
    ----------
    drawn
        The draws.
    of_orders : (models, order metrics, n_orders)
        What depends on the order of conditions only, once per order.
    of_draws : (models, other metrics, n_cases, n_draws)
        Everything else; nan where it is undefined.
    places
        Where the order metrics stand among all metrics, and then the others.
    """

    drawn: Drawn
    of_orders: FloatArray
    of_draws: FloatArray
    places: IntArray

    @staticmethod
    def of(drawn: Drawn, metrics: Sequence[Metric], known: Sequence[Predicted]) -> Values:
        """Compute all metrics of all models."""
        by_order = [m for m in metrics if isinstance(m, OrderMetric)]
        others = [m for m in metrics if not isinstance(m, OrderMetric)]
        orders, shape = len(drawn.orders.counts), (drawn.batch.n_cases, drawn.batch.n_draws)
        return Values(
            drawn,
            np.array([[m.of_orders(drawn, p) for m in by_order] for p in known]).reshape(
                len(known), len(by_order), orders
            ),
            np.array([[m.values(drawn, p) for m in others] for p in known]).reshape(len(known), len(others), *shape),
            np.array([list(metrics).index(m) for m in (*by_order, *others)], dtype=np.int64),
        )

    def moments(self, chance: FloatArray | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return mean and standard deviation of each case over the draws that count, and their share.

        ``chance`` (n_orders,) says how much each order counts, by default one. Draws without a value do not; the mean
        of none is undefined, as is the spread around one that is infinite. Shapes are (models, metrics, n_cases), and
        (1, 1, n_cases) for the shares unless values are undefined.
        """
        drawn = self.drawn
        worth = np.ones(len(drawn.orders.counts)) if chance is None else chance
        share = drawn.means(worth)
        means = ratio(drawn.means(worth * self.of_orders), share)
        gaps = self.of_orders - np.repeat(means, np.diff(drawn.orders.offsets), axis=-1)
        spread = ratio(drawn.means(worth * gaps**2), share)
        weights = np.where(np.isnan(self.of_draws), 0.0, drawn.of_draws(worth))
        counts = weights.sum(axis=-1)
        values = np.where(weights > 0, self.of_draws, 0.0)
        others = ratio((weights * values).sum(axis=-1), counts)
        with np.errstate(invalid="ignore"):
            squares = np.where(weights > 0, weights * (values - others[..., None]) ** 2, 0.0)
        shares = share[None, None]
        if (weights != drawn.of_draws(worth)).any():
            shares = self.arranged(np.broadcast_to(share, means.shape), weights.mean(axis=-1))
        return (
            self.arranged(means, others),
            np.sqrt(self.arranged(spread, ratio(squares.sum(axis=-1), counts))),
            shares,
        )

    def arranged(self, of_orders: npt.NDArray[Item], of_draws: npt.NDArray[Item]) -> npt.NDArray[Item]:
        """Put numbers of order metrics (models, metrics, ...) and those of others into the order of all metrics."""
        both = np.concatenate([of_orders, of_draws], axis=1)
        return np.asarray(both[:, np.argsort(self.places)])

    def of_case(self, case: int, step: int = 1) -> FloatArray:
        """Return the values of every ``step``-th draw of a case, shape (models, metrics, n_draws)."""
        of_draw = self.drawn.orders.of_draw[case]
        return self.arranged(self.of_orders[..., of_draw], self.of_draws[:, :, case])[..., ::step]

    def by_draw(
        self,
        weights: FloatArray,
        n_draws: int,
        *,
        step: int = 1,
        chance: FloatArray | None = None,
        rows: IntArray | slice = slice(None),
    ) -> tuple[FloatArray, FloatArray]:
        """Sum weighted values, and weights, of every ``step``-th of the draws: (2, models, metrics, n), and (n,).

        Parameters
        ----------
        weights : (n_cases,)
            Of the cases.
        n_draws, step
            How many draws there are, a single one counting for all, and how far the next one is that is used.
        chance : (n_orders,)
            How much each order counts.
        rows
            The cases that count, by default all.
        """
        if not len(self.places) and chance is None:  # of metrics that see all cases, only how much these weigh
            total = np.full(-(-n_draws // step), weights[rows].sum())
            return np.empty((2, len(self.of_orders), 0, len(total))), total
        orders, shape = self.drawn.orders, self.of_orders.shape
        of_draw = np.broadcast_to(orders.of_draw, (len(weights), n_draws))[rows, ::step]
        worth = np.repeat(weights, np.diff(orders.offsets)) * (1.0 if chance is None else chance)
        table = np.concatenate([self.of_orders.reshape(-1, shape[-1]), np.ones((1, shape[-1]))]) * worth
        by_order, sums = np.ascontiguousarray(table.T), np.zeros((of_draw.shape[1], len(table)))
        for of_case in of_draw:
            sums += by_order[of_case]
        total, one = sums[:, -1], sums[:, :-1].T.reshape(*shape[:2], of_draw.shape[1])
        values = np.broadcast_to(self.of_draws, (*self.of_draws.shape[:-1], n_draws))[:, :, rows, ::step]
        counted = np.where(np.isnan(values), 0.0, worth[of_draw])
        with np.errstate(invalid="ignore"):  # infinities of both signs
            others = (counted * np.where(counted > 0, values, 0.0)).sum(axis=2), counted.sum(axis=2)
        full = np.broadcast_to(total, one.shape)
        return np.stack([self.arranged(one, others[0]), self.arranged(full, others[1])]), total


# Pieces ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tallier:
    """Tally cases of a study against references.

    Attributes
    ----------
    plan
        What is computed.
    study, models, strata
        The cases: opinions, predictions, and for every column the label of each case by name.
    """

    plan: Plan
    study: Study
    models: Mapping[str, Predictions]
    strata: Mapping[str, Mapping[str, str]]

    @cached_property
    def weights(self) -> CaseWeights:
        """How much each case of the study counts, and what is resampled together."""
        return CaseWeights.of(self.study.panel, self.plan.seed)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of single cases."""
        return tuple(metric for metric in self.plan.metrics if metric.sees == "case")

    @cached_property
    def truths(self) -> tuple[Truth, ...]:
        """What the label of a draw is for the metrics of a whole data set."""
        seen = {metric.truth for metric in data_set_metrics(self.plan.metrics)}
        return tuple(sorted(seen)) if self.models else ()

    @cached_property
    def has_numbers(self) -> bool:
        """Whether models give numbers; if not, draws are of conditions, even those of ratings."""
        return any(model.kind == "numbers" for model in self.models.values())

    def piece(self, rows: range, sampled: Mapping[str, Plausibilities]) -> Sums:
        """Tally some cases against all references; ``sampled`` are the draws of all cases, by reference."""
        names = list(sampled[self.plan.references[0].key].case_names[rows.start : rows.stop])
        own, models = self.study.select(names), {name: model.select(names) for name, model in self.models.items()}
        found: dict[Name, Array] = {
            ("n",): np.array(float(len(names))),
            ("votes",): np.array(float(own.panel.votes_per_case.sum())),
            ("rows", "names"): np.array(names, dtype=np.str_),
            ("least", "same"): same_models(list(models.values())),
        }
        for reference in self.plan.references:
            key = reference.key
            if reference.spec is None:
                found |= replace(self, study=own)._single_opinions(key)
                continue
            drawn = sampled[key]
            found |= Sums.joined(Sums(self._batch(reference, drawn, batch)) for batch in batches(drawn, rows)).arrays
            if reference.detail == "run":
                found["least", "draws", key] = np.array([drawn.n_draws, drawn.n_chains])
                found |= {("least", "fitted", key, name): np.array(value) for name, value in drawn.fitted.items()}
        return Sums(found | (table_entries(own, models, self.strata, names) if self.truths else {}))

    # One reference ---------------------------------------------------------------------------------------

    def _plain(self, batch: Batch) -> Batch:
        """Forget numbers where models give none."""
        return batch if self.has_numbers else replace(batch, numbers=None)

    def _valued(self, *batches: Batch) -> list[Values]:
        """Compute the metrics of single cases on draws of batches of the same cases, whose rests are split alike."""
        found = []
        for batch in identified(batches, self.plan.depth):
            known = [Predicted(model, batch.outline()) for model in self.models.values()]
            found.append(Values.of(Drawn(batch, self.plan.depth), self.metrics, known))
        return found

    def _labels(self, values: Values, plain: Batch, weights: list[FloatArray] | None = None) -> LabelsByTruth:
        """Keep the labels of draws; plausibilities are those before unmentioned conditions were told apart."""
        whole = replace(values.drawn, batch=plain)
        how: dict[str, Any] = {"seed": self.plan.seed, "weights": weights, "step": step_of(plain.n_draws, REFIT_DRAWS)}
        return {truth: labels_of(values.drawn if truth == "top" else whole, truth, **how) for truth in self.truths}

    def _batch(self, reference: Reference, drawn_from: Plausibilities, batch: Batch) -> dict[Name, Array]:
        """Compare the draws of some cases with all models."""
        plain, key, is_run = self._plain(batch), reference.key, reference.detail == "run"
        own = self.weights.take(self.study.panel.positions(list(batch.case_names)))
        n_draws = self.plan.draws if is_run and drawn_from.n_draws == 1 else drawn_from.n_draws
        prior = known_prior([reference.spec]) if is_run and reference.spec is not None else None
        refits, family, others = None, None, None
        if prior is not None and self.plan.refits is not None:
            step = step_of(plain.n_draws, REFIT_DRAWS)
            opinions = self.study.select(list(batch.case_names)).opinions
            refits = refit_weights(prior, opinions, self.plan.refits, plain, step)
            family = other_family(prior, opinions, plain, self.plan.seed)
        values, *moved = self._valued(plain, *([] if family is None else family[:1]))
        labels = self._labels(values, plain, refits)
        if family is not None:
            others = moved[0], family[1]
            ends = self._labels(moved[0], *family)
            labels = {
                truth: replace(one, moved=np.concatenate([one.moved, ends[truth].moved], axis=1))
                for truth, one in labels.items()
            }
        found = label_entries(key, labels)
        chances = self._chances(values)
        if is_run:
            found |= self._profile(key, values, chances)
        if self.models:
            certainties = found.get(("profile", key, "certainties"))
            found |= self._places(reference, values, own, n_draws, certainties, chances)
        if reference.detail == "point":
            return found
        for name, part in zip(("means", "deviations", "shares"), values.moments(), strict=True):
            found["cases", name, key, EACH] = part
        if refits is not None:
            places = {ALL: np.arange(plain.n_cases), **cases_of_places(self._labels_of(batch.case_names), None)}
            fits = _fits(refits, values, own, places.values(), others)
            found |= {("fit", key, *place, EACH): fit for place, fit in zip(places, fits, strict=True)}
            counted = zip(chances, chances if others is None else self._chances(others[0]), strict=True)
            for name, both in zip(self.plan.category_names, counted, strict=True):
                found[CATEGORY_FIT, key, "category", name, EACH] = _category_fit(refits, values, own, both, others)
        return found

    def _labels_of(self, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
        """Return for every column the labels of some cases."""
        return {column: np.array([of[name] for name in names], np.str_) for column, of in self.strata.items()}

    def _chances(self, values: Values) -> list[FloatArray]:
        """Return how much each order counts for every category, shape (n_orders,) each."""
        return [] if self.plan.categories is None else list(order_chances(values.drawn, self.plan.categories))

    def _profile(self, key: str, values: Values, chances: list[FloatArray]) -> dict[Name, Array]:
        """Say what the draws look like."""
        plan, found = self.plan, dict[Name, Array]()
        if len(plan.tops):
            known = Profiles.of(values.drawn, plan.tops, plan.categories, chances, sketches=plan.sketches)
            first, categories = known.certainties[0], known.category_certainties
            open_cases = is_uncertain(first).sum(), is_uncertain(categories).sum(), (known.errors[0] > ROUGH).sum()
            found |= profile_entries(key, known)
            found["certainty", key] = np.array([len(first), *open_cases, first.sum()], dtype=np.float64)
        return found

    def _places(
        self,
        reference: Reference,
        values: Values,
        own: CaseWeights,
        n_draws: int,
        certainties: FloatArray | None,
        chances: list[FloatArray],
    ) -> dict[Name, Array]:
        """Sum over all cases, over those of a stratum or a certainty, and over draws that count for a category."""
        key, step, names = reference.key, step_of(n_draws), values.drawn.batch.case_names
        found = draw_entries((key, *ALL), *values.by_draw(own.weights, n_draws))
        for place, rows in cases_of_places(self._labels_of(names), certainties).items():
            found |= draw_entries((key, *place), *values.by_draw(own.weights, n_draws, step=step, rows=rows))
        parts: dict[str, tuple[FloatArray, FloatArray]] = {}
        for name, chance in zip(self.plan.category_names, chances, strict=True):
            found |= draw_entries(
                (key, "category", name), *values.by_draw(own.weights, n_draws, step=step, chance=chance)
            )
            if reference.detail != "point":
                means, _, shares = values.moments(chance)
                parts[name] = means, shares
        return found | category_sums(key, parts, own)

    def compared(self, drawn: Plausibilities) -> tuple[FloatArray, LabelsByTruth]:
        """Return means of all cases over their draws, and how much of each counts: in all, then in every category.

        The shape is (1 + n_categories, 2, models, metrics, n_cases). The labels of the draws come after it.
        """
        found: list[tuple[FloatArray, LabelsByTruth]] = []
        for batch in batches(drawn, range(drawn.n_cases)):
            plain = self._plain(batch)
            (values,) = self._valued(plain)
            moments = (values.moments(chance) for chance in (None, *self._chances(values)))
            counted = [np.broadcast_arrays(means, shares) for means, _, shares in moments]
            found.append((np.array(counted), self._labels(values, plain)))
        return (
            np.concatenate([means for means, _ in found], axis=-1),
            {truth: Labels.joined([labels[truth] for _, labels in found]) for truth in self.truths},
        )

    # Single opinions --------------------------------------------------------------------------------------

    def _single_opinions(self, key: str) -> dict[Name, Array]:
        """Average over the opinions on each case what every one of them gives."""
        said, own = self.study.counted, self.weights
        (means, is_known), *by_category = counted_means(said, self.of_opinions())
        votes = vote_labels(self.study, self.study.case_names) if self.truths else None
        found: dict[Name, Array] = {
            ("cases", "means", key, EACH): means,
            ("cases", "shares", key, EACH): is_known,
            **({} if votes is None else label_entries(key, dict.fromkeys(self.truths, votes))),
        }
        places = cases_of_places(self._labels_of(self.study.case_names), None)
        for place, rows in {ALL: np.arange(self.study.n_cases), **places}.items():
            weights = own.weights[rows]
            found |= case_entries((key, *place), means[..., rows], is_known[..., rows] * weights, weights.sum())
        parts: dict[str, tuple[FloatArray, FloatArray]] = {}
        for name, (means, counted) in zip(self.plan.category_names, by_category, strict=True):
            masses = counted * own.weights
            found |= case_entries((key, "category", name), means, masses, masses.sum(axis=-1).max(initial=0.0))
            parts[name] = means, counted
        return found | category_sums(key, parts, own)

    def of_opinions(self) -> list[tuple[FloatArray, FloatArray]]:
        """Compare every opinion that counts with every model, each as a case of its own: (models, metrics, n_opinions).

        That is how far it agrees, and how much of it counts: in all, and in every category. Metrics that need more than
        an order are undefined.
        """
        said: Any = self.study.counted
        spec = MeanRating() if self.has_numbers else InverseRank("each")
        shape = (2, 1 + len(self.plan.category_names), len(self.models), len(self.metrics), said.n_opinions)
        found = np.full(shape, np.nan)
        is_able = [isinstance(metric, OrderMetric) or metric.accepts == ("numbers",) for metric in self.metrics]
        ordered = np.flatnonzero(is_able)
        plan = replace(self.plan, metrics=tuple(self.metrics[k] for k in ordered))
        for start in range(0, said.n_opinions if len(ordered) else 0, OPINIONS_AT_ONCE):
            chosen = np.arange(start, min(start + OPINIONS_AT_ONCE, said.n_opinions))
            names, cases = tuple(map(str, chosen)), [said.case_names[i] for i in said.panel.case_of_opinion[chosen]]
            alone, models = said.each_alone(chosen, names), {}
            for name, model in self.models.items():  # every opinion has the predictions of its case
                models[name] = repeated(model, case_positions(cases, model._positions), names)
            own, end = Tallier(plan, alone, models, {}), start
            for batch in batches(spec.sample(alone), range(len(chosen))):
                (values,), first = own._valued(own._plain(batch)), end
                end += batch.n_cases
                for place, chance in enumerate((None, *own._chances(values))):
                    means, _, shares = values.moments(chance)
                    found[0, place, :, ordered, first:end] = np.moveaxis(means, 1, 0)
                    found[1, place, :, ordered, first:end] = np.moveaxis(np.broadcast_to(shares, means.shape), 1, 0)
        return list(zip(*found, strict=True))


def counted_means(
    said: Study, values: Sequence[tuple[FloatArray, FloatArray]] | FloatArray
) -> list[tuple[FloatArray, FloatArray]]:
    """Average what opinions give over those on each case, and how much of them counts; see :meth:`Tallier.of_opinions`.

    In all, a case counts whole if every opinion on it gives something. All are (models, metrics, n_cases).
    """
    means = opinion_means(said, values[0][0])
    found = [(means, (~np.isnan(means)).astype(np.float64))]
    for of_opinions, shares in values[1:]:
        counted = opinion_means(said, shares)
        means = ratio(opinion_means(said, np.nan_to_num(of_opinions) * shares), counted)
        found.append((means, np.where(np.isnan(means), 0.0, counted)))
    return found


def opinion_means(said: Study, values: FloatArray) -> FloatArray:
    """Average what opinions give over those on each case, shape (models, metrics, n_cases); nan where there are none.

    Parameters
    ----------
    said
        The opinions that count.
    values : (models, metrics, n_opinions)
        What each of them gives.
    """
    of_opinion, weights = said.panel.case_of_opinion, said.weights * said.votes
    sums = [weighted_counts(of_opinion, weights * row, said.n_cases) for row in values.reshape(-1, said.n_opinions)]
    totals = weighted_counts(of_opinion, weights, said.n_cases)
    return ratio(np.array(sums).reshape(*values.shape[:2], said.n_cases), totals)


def _fits(
    refits: list[FloatArray],
    values: Values,
    own: CaseWeights,
    places: Collection[IntArray],
    others: tuple[Values, list[FloatArray]] | None,
) -> list[FloatArray]:
    """Sum the means of the cases of places over resamples, and over all, with the prior as it is and another.

    The shape of each is (3, n_refits + 1, models, metrics): sums with the prior as it is; refitted and, at last, of
    another family, which has draws of its own if there are ``others``; and of weights.
    """
    of_draw, n_refits = values.drawn.orders.of_draw, len(refits[0]) + (others is not None)
    step = step_of(of_draw.shape[1], REFIT_DRAWS)
    bootstrap = with_all(own.bootstrap(slice(None), n_refits - 1)) * own.weights[:, None]
    found = [np.zeros((3, n_refits, *values.of_orders.shape[:1], len(values.places))) for _ in places]
    of_places: list[list[FloatArray]] = [[] for _ in refits]
    for total, rows in zip(found, places, strict=True):
        for case in rows.tolist():
            of_places[case].append(total)
    for case, weights in enumerate(refits):
        means = reweighted_means(values.of_case(case, step), weights)
        if others is not None:
            other = reweighted_means(others[0].of_case(case), others[1][case])
            other[0] = means[0, :1]
            means = np.concatenate([means, other], axis=1)
        added = bootstrap[case][:, None, None] * means
        for total in of_places[case]:
            np.add(total, added, out=total)
    return found


def _category_fit(
    refits: list[FloatArray],
    values: Values,
    own: CaseWeights,
    chances: tuple[FloatArray, FloatArray],
    others: tuple[Values, list[FloatArray]] | None,
) -> FloatArray:
    """Sum the same over the draws that count for a category, by how much each order does: see :class:`FitSpread`.

    The shape is (4, n_refits + 1, models, metrics): weights, too, depend on the prior.
    """
    of_draw, n_refits = values.drawn.orders.of_draw, len(refits[0]) + (others is not None)
    step = step_of(of_draw.shape[1], REFIT_DRAWS)
    bootstrap = with_all(own.bootstrap(slice(None), n_refits - 1)) * own.weights[:, None]
    found = np.zeros((4, n_refits, *values.of_orders.shape[:1], len(values.places)))
    for case, weights in enumerate(refits):
        sums = reweighted_sums(values.of_case(case, step), weights, chances[0][of_draw[case]][::step])
        if others is not None:
            other = reweighted_sums(
                others[0].of_case(case), others[1][case], chances[1][others[0].drawn.orders.of_draw[case]]
            )
            other[::2] = sums[::2, :1]
            sums = np.concatenate([sums, other], axis=1)
        found += bootstrap[case][:, None, None] * sums
    return found


def cases_of_places(strata: Mapping[str, npt.NDArray[Any]], certainties: FloatArray | None) -> dict[Place, IntArray]:
    """Find the cases of every stratum and, by their certainties (n_tops, n_cases), of every bin, by place."""
    columns: dict[Place, npt.NDArray[Any]] = {("stratum", column): labels for column, labels in strata.items()}
    if certainties is not None and len(certainties):
        columns["bin",] = bin_of(certainties[0])
    return {
        (*column, label): np.flatnonzero(labels == label)
        for column, labels in columns.items()
        for label in np.unique(labels).tolist()
    }


def with_places(sums: Sums, weights: CaseWeights, strata: Mapping[str, npt.NDArray[Any]]) -> Sums:
    """Add what intervals of metrics of single cases are found from: sums over all cases, and over those of a place.

    Parameters
    ----------
    sums
        With what is known of every case.
    weights, strata
        Of these cases, in their order: how much they count, and for every column the label of each.
    """
    order = in_order_of_keys(sums["rows", "names"].tolist())
    labels = {column: of_cases[order] for column, of_cases in strata.items()}
    wanted: dict[Name, Influences] = {}
    found: dict[Name, Array] = {}
    for key in [str(name[2]) for name in sums.names("cases", "means") if name[-1] == EACH]:
        means, shares = (sums["cases", what, key, EACH] for what in ("means", "shares"))
        places: dict[Place, IntArray] = {ALL: np.arange(len(order))}
        certainties = sums.arrays.get(("profile", key, "certainties"))
        own = cases_of_places(labels, None if certainties is None else certainties[:, order])
        found |= {("n", key, *place): np.array(float(len(rows))) for place, rows in own.items()}
        places |= own
        if means[..., :1].size:
            wanted |= {(key, *place, EACH): (means, shares, rows, order[rows]) for place, rows in places.items()}
    return Sums({**sums.arrays, **found, **interval_sums(weights.take(order), wanted)})


def interval_sums(weights: CaseWeights, wanted: Mapping[Name, Influences]) -> Mapping[Name, Array]:
    """Sum over cases, a piece at a time, what intervals are found from: for a reference and a place of cases each."""
    parts = []
    for start in range(0, len(weights.names) if wanted else 0, PIECE):
        bootstrap = weights.bootstrap(slice(start, start + PIECE), RESAMPLES)
        found: dict[Name, Array] = {}
        for name, (means, shares, rows, columns) in wanted.items():
            now = slice(*np.searchsorted(rows, (start, start + PIECE)))
            if now.start == now.stop:
                continue
            own, is_all = weights.take(rows[now]), name[1:-1] == ALL
            few = np.ascontiguousarray(bootstrap[rows[now] - start, : RESAMPLES if is_all else GROUP_RESAMPLES])
            if name[1] == "category":
                own = replace(own, is_grouped=False)
            found |= place_sums(means[..., columns[now]], shares[..., columns[now]], own, few, name, pairs=is_all)
        parts.append(Sums(found))
    return Sums.joined(parts).arrays


def is_of_places(name: Name) -> bool:
    """Tell whether :func:`with_places` finds an array with this name."""
    if name[0] == "n":
        return len(name) > 1
    own = name[0] in ("resampled", "squares", "moments", "least", "greatest") or name[:2] in GROUPS
    return own and name[-1] == EACH and "category" not in name


def batches(drawn: Plausibilities, rows: range) -> Iterator[Batch]:
    """Draw the cases at some positions, a few at a time."""
    size = max(BATCH_CASES, min(BATCH_DRAWS // drawn.n_draws, PIECE))
    every = np.arange(drawn.n_cases) if drawn.positions is None else drawn.positions
    positions = every[rows.start : rows.stop]
    return (drawn.sampler(positions[start : start + size]) for start in range(0, len(rows), size))


def category_sums(key: str, parts: Mapping[str, tuple[FloatArray, FloatArray]], own: CaseWeights) -> dict[Name, Array]:
    """Sum what intervals of categories are found from, by name: means of cases, and the share of each that counts."""
    few = own.bootstrap(slice(None), GROUP_RESAMPLES) if parts else np.empty((0, 0))
    alone, found = replace(own, is_grouped=False), dict[Name, Array]()
    for name, (means, shares) in parts.items():
        found |= place_sums(means, shares, alone, few, (key, "category", name, EACH))
    return found


def case_entries(where: Name, means: FloatArray, masses: FloatArray, total: float) -> dict[Name, Array]:
    """Name the sums over cases of what there is one value of each, and its mass (models, metrics, n_cases)."""
    sums = np.stack([(masses * np.nan_to_num(means)).sum(axis=-1), masses.sum(axis=-1)])
    return draw_entries(where, sums[..., None], np.array([total]))


def draw_entries(where: tuple[str | int, ...], sums: FloatArray, total: FloatArray) -> dict[Name, Array]:
    """Name the sums of every draw."""
    return {("draws", *where, EACH): sums, ("weight", *where): total}


def profile_entries(key: str, known: Profiles) -> dict[Name, Array]:
    """Name what is known of the draws of single cases."""
    return {("profile", key, name): getattr(known, name) for name in Profiles.__dataclass_fields__}


def same_models(said: Sequence[Predictions]) -> FloatArray:
    """Tell by a 1 which models say the same about the same cases, shape (models, models)."""
    found = np.eye(len(said))
    for a, b in combinations(range(len(said)), 2):
        parts = ([said[i].offsets, said[i].codes, said[i].values] for i in (a, b))
        is_same = said[a].kind == said[b].kind and all(map(np.array_equal, *parts))
        found[a, b] = found[b, a] = float(is_same)
    return found


def table_entries(
    study: Study, models: Mapping[str, Predictions], strata: Mapping[str, Mapping[str, str]], names: Sequence[str]
) -> dict[Name, Array]:
    """Write down the cases of a study as metrics of a whole data set see them."""
    found: dict[Name, Array] = {("rows", "table", "weights"): study.case_weights}
    if study.groups:
        found["rows", "table", "groups"] = np.array(study.groups, dtype=np.str_)
    for number, model in enumerate(models.values()):
        found["rows", "table", "scores", number] = model.select(list(names)).to_scores()
    for column, of_cases in strata.items():
        found["rows", "table", "strata", column] = np.array([of_cases[name] for name in names], dtype=np.str_)
    return found


# How many draws of each case are kept to be looked at.
SKETCHED = 20


@dataclass(frozen=True, eq=False)
class Profiles(Value):
    """Hold what the draws of one aggregation say about every case.

    Attributes
    ----------
    support_sizes : (n_cases,)
        Number of conditions of each case that have plausibilities of their own, U; all others are the rest.
    support : (sum of U,)
        Their codes.
    certainties, errors : (n_tops, n_cases)
        Certainty of the first 1, 2, ... conditions, and its Monte Carlo standard error.
    is_member : (n_tops, sum of U)
        One for the mentioned conditions that belong to the winning set of their case.
    means, tops : (sum of (U + 1),)
        Mean plausibility of each mentioned condition and of all others together, and how often it is on top.
    sketch : (at most 20, sum of (U + 1))
        A few draws, to be looked at: in half precision.
    category_certainties, category_errors, category_winners : (n_cases,)
        Certainty of the category of the first condition; empty without categories.
    risks : (3, n_cases)
        Mean, least and greatest expected risk over the draws; empty without levels of risk.
    """

    support_sizes: IntArray
    support: IntArray
    certainties: FloatArray
    errors: FloatArray
    is_member: IntArray
    means: FloatArray
    tops: FloatArray
    sketch: SmallFloatArray
    category_certainties: FloatArray
    category_errors: FloatArray
    category_winners: IntArray
    risks: FloatArray

    @staticmethod
    def of(
        drawn: Drawn,
        tops: IntArray,
        categories: Categories | None,
        chances: Sequence[FloatArray],
        *,
        sketches: bool = True,
    ) -> Profiles:
        """Find out what the draws of a batch say; ``chances`` are the :func:`order_chances` of the categories.

        Without ``sketches`` no draws are kept.
        """
        from dissensus.kernels.orders import place_shares

        batch = drawn.batch
        certain = batch_certainty(drawn, tops)
        by_category = (np.empty(0), np.empty(0), np.empty(0, dtype=np.int64))
        if categories is not None:
            by_category = category_certainty(np.stack([drawn.of_draws(one) for one in chances]), batch.n_chains)
        tops_of_members, told = place_shares(drawn.layout, drawn.orders, 1), np.arange(len(batch.support))
        if batch.is_mentioned is not None:
            told = np.flatnonzero(batch.is_mentioned | certain.is_member.any(axis=0))
        return Profiles(
            np.bincount(drawn.case_of_member[told], minlength=batch.n_cases),
            batch.support[told],
            certain.values,
            certain.errors,
            certain.is_member[:, told],
            pooled(batch, batch.means(), told),
            pooled(batch, tops_of_members, told),
            sketched(batch, told) if sketches else np.empty((0, len(told) + batch.n_cases), dtype=np.float16),
            *by_category,
            risk_ranges(batch, categories) if categories is not None and categories.levels else np.empty((3, 0)),
        )

    def take(self, cases: IntArray) -> Profiles:
        """Keep the cases at these positions."""
        members, columns = take_rows(self.support_offsets, cases)[1], take_rows(self.columns, cases)[1]
        chosen = {"support": members, "is_member": members, "means": columns, "tops": columns, "sketch": columns}
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return Profiles(
            **{name: part[..., chosen.get(name, cases)] if part.shape[-1] else part for name, part in parts.items()}
        )

    @property
    def support_offsets(self) -> IntArray:
        """Where the support of each case begins, shape (n_cases + 1,)."""
        return offsets_from_lengths(self.support_sizes)

    @property
    def columns(self) -> IntArray:
        """Where the U + 1 numbers of each case begin when all are put side by side, shape (n_cases + 1,)."""
        return self.support_offsets + np.arange(len(self.support_sizes) + 1)


def pooled(batch: Batch, side_by_side: FloatArray, told: IntArray) -> FloatArray:
    """Add what is not told apart any more to the rest of its case; ``side_by_side`` has U + 1 numbers per case."""
    if len(told) == len(batch.support):
        return side_by_side
    case = row_of_each(batch.support_offsets)
    is_told = np.zeros(len(case), dtype=np.bool_)
    is_told[told] = True
    of_members = side_by_side[np.arange(len(case)) + case]
    rests = side_by_side[batch.columns[1:] - 1] + weighted_counts(case, of_members * ~is_told, batch.n_cases)
    ends = np.cumsum(np.bincount(case[told], minlength=batch.n_cases))
    return np.insert(of_members[told], ends, rests)


def sketched(batch: Batch, told: IntArray) -> SmallFloatArray:
    """Pick a few draws of every case, evenly spaced, shape (at most 20, sum of (U + 1))."""
    kept = np.unique(np.linspace(0, batch.n_draws - 1, SKETCHED).astype(np.int64))
    columns, owner = batch.columns, row_of_each(batch.columns)
    first = batch.n_draws * columns[owner] + np.arange(columns[-1]) - columns[owner]
    sketch = batch.values[first + kept[:, None] * np.diff(columns)[owner]]
    if batch.is_mentioned is not None:
        # unmentioned conditions that are told apart are taken out of the rest, and the others dropped
        case = row_of_each(batch.support_offsets)
        for member in told[~batch.is_mentioned[told]]:
            masses = batch.plausibility_of(int(case[member]), int(batch.support[member]), kept)
            sketch[:, member + case[member]] = masses
            sketch[:, columns[case[member] + 1] - 1] -= masses
        is_kept = np.zeros(sketch.shape[1], dtype=np.bool_)
        is_kept[told + case[told]] = is_kept[columns[1:] - 1] = True
        sketch = np.maximum(sketch[:, is_kept], 0.0)
    small: SmallFloatArray = sketch.astype(np.float16)
    return small
