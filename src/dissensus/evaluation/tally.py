"""Tally a piece of the cases: the same function for every batch, thread and worker; what it returns adds up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from dissensus.aggregations.base import Aggregation
from dissensus.aggregations.point_estimates import InverseRank, MeanRating
from dissensus.certainty.categories import order_chances
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.names import in_order_of_keys
from dissensus.core.ragged import take_rows, weighted_counts
from dissensus.core.thresholds import NEAR, ROUGH, is_uncertain
from dissensus.draws import Batch, Plausibilities
from dissensus.evaluation.intervals import GROUP_RESAMPLES, RESAMPLES
from dissensus.evaluation.labels import Labels, LabelsByTruth, label_entries, labels_of, vote_labels
from dissensus.evaluation.profiles import Profiles
from dissensus.evaluation.refits import REFIT_DRAWS, Reweighting, reweighted_means
from dissensus.evaluation.sums import ALL, EACH, Array, CaseWeights, Name, Place, Sums, place_sums
from dissensus.metrics.base import Drawn, Metric, OrderMetric, Predicted, Truth
from dissensus.metrics.data_set import DataSetMetric
from dissensus.metrics.numbers import NumberMetric
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study

if TYPE_CHECKING:
    from dissensus.evaluation.plan import Plan, Reference


Item = TypeVar("Item", bound=np.generic)

# Limits between bins of certainty.
EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.99, 1.0)

# How many cases are tallied at a time; fixed, so that sums do not depend on threads and workers.
PIECE = 256

# How many cases of a piece are drawn at a time, more if there are few draws.
BATCH_CASES, BATCH_DRAWS = 128, 128_000

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

    def of_case(self, case: int) -> FloatArray:
        """Return all metrics of all models in every draw of one case, shape (models, metrics, n_draws)."""
        return self.arranged(self.of_orders[..., self.drawn.orders.of_draw[case]], self.of_draws[:, :, case])

    def moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return mean and standard deviation over the draws of each case, and the share of draws with a value."""
        means = self.drawn.means(self.of_orders)
        gaps = self.of_orders - np.repeat(means, np.diff(self.drawn.orders.offsets), axis=-1)
        known = ~np.isnan(self.of_draws)
        others, spread = _defined_moments(self.of_draws, known)
        shares = np.ones((1, 1, self.drawn.batch.n_cases))
        if not known.all():
            shares = self.arranged(np.ones_like(means), known.mean(axis=-1))
        return self.arranged(means, others), self.arranged(np.sqrt(self.drawn.means(gaps**2)), spread), shares

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
        from dissensus.kernels.jit import plain
        from dissensus.kernels.resamples import add_orders

        orders, shape = self.drawn.orders, self.of_orders.shape
        of_draw = np.broadcast_to(orders.of_draw, (len(weights), n_draws))[rows, ::step]
        worth = np.repeat(weights, np.diff(orders.offsets)) * (1.0 if chance is None else chance)
        table = np.concatenate([self.of_orders.reshape(-1, shape[-1]), np.ones((1, shape[-1]))]) * worth
        sums = np.zeros((1, of_draw.shape[1], len(table)))
        add_orders(plain(of_draw), plain(table.T), np.zeros(len(of_draw), dtype=np.int64), sums)
        total, one = sums[0, :, -1], sums[0, :, :-1].T.reshape(*shape[:2], of_draw.shape[1])
        values = np.broadcast_to(self.of_draws, (*self.of_draws.shape[:-1], n_draws))[:, :, rows, ::step]
        counted = np.where(np.isnan(values), 0.0, worth[of_draw])
        with np.errstate(invalid="ignore"):  # infinities of both signs
            others = (counted * np.where(counted > 0, values, 0.0)).sum(axis=2), counted.sum(axis=2)
        full = np.broadcast_to(total, one.shape)
        return np.stack([self.arranged(one, others[0]), self.arranged(full, others[1])]), total


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
        return tuple(metric for metric in self.plan.metrics if not isinstance(metric, DataSetMetric))

    @cached_property
    def truths(self) -> tuple[Truth, ...]:
        """What the label of a draw is for the metrics of a whole data set."""
        return tuple(sorted({metric.truth for metric in self.plan.metrics if isinstance(metric, DataSetMetric)}))

    @cached_property
    def has_numbers(self) -> bool:
        """Whether models give numbers; if not, draws are of conditions, even those of ratings."""
        return any(model.kind == "numbers" for model in self.models.values())

    def piece(self, rows: range, sampled: Mapping[str, Plausibilities]) -> Sums:
        """Tally some cases against all references; ``sampled`` are the draws of all cases, by reference."""
        names = sampled[self.plan.references[0].key].case_names[rows.start : rows.stop]
        cases = self.study.panel.positions(list(names))
        found: dict[Name, Array] = {
            ("n",): np.array(float(len(cases))),
            ("votes",): np.array(float(self.study.panel.votes_per_case[cases].sum())),
            ("rows", "names"): np.array(names, dtype=np.str_),
            ("least", "same"): same_models({name: model.select(list(names)) for name, model in self.models.items()}),
        }
        for reference in self.plan.references:
            if reference.detail == "run":
                drawn = sampled[reference.key]
                found["least", "draws", reference.key] = np.array([drawn.n_draws, drawn.n_chains])
                for name, value in drawn.fitted.items():
                    found["least", "fitted", reference.key, name] = np.array(value)
            if reference.spec is None:
                found |= self._single_opinions(reference, names, cases)
            else:
                drawn = sampled[reference.key]
                done = (Sums(self._batch(reference, drawn, batch)) for batch in batches(drawn, rows))
                found |= Sums.joined(done).arrays
        if self.truths and self.models:
            found |= table_entries(self.study.select(list(names)), self.models, self.strata, names)
        return Sums(found)

    # One reference ---------------------------------------------------------------------------------------

    def _batch(self, reference: Reference, drawn_from: Plausibilities, batch: Batch) -> dict[Name, Array]:
        """Compare the draws of some cases with all models."""
        plan, key = self.plan, reference.key
        if not self.has_numbers:
            batch = replace(batch, numbers=None)
        plain, batch = batch, batch.identified(plan.depth)
        drawn, cases = Drawn(batch, plan.depth), self.study.panel.positions(list(batch.case_names))
        weights, refits = self.weights.weights[cases], self._refitted(reference, plain)
        values = Values.of(drawn, self.metrics, self._predicted(batch))
        n_draws = plan.draws if reference.detail == "run" and drawn_from.n_draws == 1 else drawn_from.n_draws
        found: dict[Name, Array] = {}
        labels = self._labels(drawn, plain, refits)
        found |= label_entries(key, labels)
        if self.models:
            found |= draw_entries((key, *ALL), *values.by_draw(weights, n_draws))
        if reference.detail == "point":
            return found
        for name, part in zip(("means", "deviations", "shares"), values.moments(), strict=True):
            found["cases", name, key, EACH] = part
        if reference.detail == "run":
            found |= self._details(reference, drawn, values, weights, n_draws)
        if refits is not None:
            found["fit", key, EACH] = self._fit(refits, plain, values, cases)
        return found

    def _details(
        self, reference: Reference, drawn: Drawn, values: Values, weights: FloatArray, n_draws: int
    ) -> dict[Name, Array]:
        """Say what the draws look like, and sum over those that count for a group of cases or a category."""
        plan, key, step = self.plan, reference.key, step_of(n_draws)
        found: dict[Name, Array] = {}
        chances = [] if plan.categories is None else order_chances(drawn, plan.categories)
        if len(plan.tops):
            known = Profiles.of(drawn, plan.tops, plan.categories, chances, sketches=plan.sketches)
            found |= profile_entries(key, known)
            found["certainty", key] = certainty_counts(known)
        if not self.models:
            return found
        names = drawn.batch.case_names
        labels = {column: np.array([of[name] for name in names], np.str_) for column, of in self.strata.items()}
        for place, rows in cases_of_places(labels, found.get(("profile", key, "certainties"))).items():
            found |= draw_entries((key, *place), *values.by_draw(weights, n_draws, step=step, rows=rows))
        cases = self.study.panel.positions(list(names))
        few = self.weights.bootstrap(cases, GROUP_RESAMPLES) if chances else np.empty((0, 0))
        for name, chance in zip(plan.category_names, chances, strict=True):
            where = (key, "category", name)
            found |= draw_entries(where, *values.by_draw(weights, n_draws, step=step, chance=chance))
            alone = replace(self.weights.take(cases), is_grouped=False)
            found |= place_sums(*values.counted(chance), alone, few, where=where, block=EACH)
        return found

    def _labels(self, drawn: Drawn, plain: Batch, weights: list[FloatArray] | None) -> LabelsByTruth:
        """Keep the labels of draws; plausibilities are those before unmentioned conditions were told apart."""
        whole, step = replace(drawn, batch=plain), step_of(plain.n_draws, REFIT_DRAWS)
        seed = self.plan.seed
        return {
            truth: labels_of(drawn if truth == "top" else whole, truth, seed=seed, weights=weights, step=step)
            for truth in self.truths
            if self.models
        }

    @cached_property
    def _reweightings(self) -> dict[str, Reweighting]:
        return {}

    def _refitted(self, reference: Reference, batch: Batch) -> list[FloatArray] | None:
        """Weigh the draws of a batch as refits of an informed prior would have them, if there is one."""
        if reference.detail != "run":
            return None
        if reference.key not in self._reweightings:
            found = self.plan.reweighting(reference, self.study)
            if found is None:
                return None
            self._reweightings[reference.key] = found
        return self._reweightings[reference.key].weights(batch, step_of(batch.n_draws, REFIT_DRAWS))

    def _fit(self, weights: list[FloatArray], batch: Batch, values: Values, cases: IntArray) -> FloatArray:
        """Sum the means of cases over resamples of the cases, with the prior as it is and refitted.

        The shape is (3, n_refits, models, metrics): sums with the prior as it is and refitted, and of weights.
        """
        n_refits, step = len(weights[0]), step_of(batch.n_draws, REFIT_DRAWS)
        bootstrap = self.weights.bootstrap(cases, n_refits) * self.weights.weights[cases][:, None]
        found = np.zeros((3, n_refits, len(self.models), len(self.metrics)))
        for case, of_case in enumerate(weights):
            still, moved, is_known = reweighted_means(values.of_case(case)[..., ::step], of_case)
            parts = np.stack([np.broadcast_to(still, moved.shape), moved, is_known])
            found += bootstrap[case][:, None, None] * parts
        return found

    def _predicted(self, batch: Batch) -> list[Predicted]:
        return [Predicted(model, batch.outline()) for model in self.models.values()]

    def compared(self, drawn: Plausibilities) -> tuple[FloatArray, LabelsByTruth]:
        """Return the means of all cases that were drawn, over their draws, (models, metrics, n_cases), and labels."""
        found: list[tuple[FloatArray, LabelsByTruth]] = []
        for plain in batches(drawn, range(drawn.n_cases)):
            given = plain if self.has_numbers else replace(plain, numbers=None)
            seen = Drawn(given.identified(self.plan.depth), self.plan.depth)
            values = Values.of(seen, self.metrics, self._predicted(seen.batch))
            found.append((values.moments()[0], self._labels(seen, given, None)))
        return (
            np.concatenate([means for means, _ in found], axis=-1),
            {truth: Labels.joined([labels[truth] for _, labels in found]) for truth in self.truths},
        )

    def _single_opinions(self, reference: Reference, names: Sequence[str], cases: IntArray) -> dict[Name, Array]:
        """Average over the opinions on each case what every one of them gives."""
        own = self.study.select(list(names))
        means = SingleOpinions.of(replace(self, study=own)).means()
        is_known = ~np.isnan(means)
        weights = np.where(is_known, self.weights.weights[cases], 0.0)
        sums = np.stack([(weights * np.where(is_known, means, 0.0)).sum(axis=-1), weights.sum(axis=-1)])[..., None]
        key = reference.key
        found: dict[Name, Array] = {
            ("draws", key, *ALL, EACH): sums,
            ("weight", key, *ALL): np.array([float(self.weights.weights[cases].sum())]),
            ("cases", "means", key, EACH): means,
            ("cases", "shares", key, EACH): is_known.astype(np.float64),
        }
        if self.truths:
            votes = vote_labels(own, names)
            found |= label_entries(key, dict.fromkeys(self.truths, votes))
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
    known = [str(name[2]) for name in sums.names("cases", "means") if name[-1] == EACH]
    order, parts = in_order_of_keys(sums["rows", "names"].tolist()), []
    for start in range(0, len(order) if known else 0, PIECE):
        rows = order[start : start + PIECE]
        own, bootstrap = weights.take(rows), weights.bootstrap(rows, RESAMPLES)
        few = np.ascontiguousarray(bootstrap[:, :GROUP_RESAMPLES])
        labels = {column: of_cases[rows] for column, of_cases in strata.items()}
        for key in known:
            means, shares = (sums["cases", what, key, EACH][..., rows] for what in ("means", "shares"))
            found: dict[Name, Array] = {}
            if len(means):
                found |= place_sums(means, shares, own, bootstrap, where=(key, *ALL), block=EACH, pairs=True)
            if key.startswith("run"):
                certainties = sums.arrays.get(("profile", key, "certainties"))
                certain = None if certainties is None else certainties[:, rows]
                for place, some in cases_of_places(labels, certain).items():
                    inside = means[..., some], shares[..., some], own.take(some), few[some]
                    found["n", key, *place] = np.array(float(len(some)))
                    found |= place_sums(*inside, where=(key, *place), block=EACH) if len(means) else {}
            parts.append(Sums(found))
    return Sums({**sums.arrays, **Sums.joined(parts).arrays})


def is_of_places(name: Name) -> bool:
    """Tell whether :func:`with_places` finds an array with this name."""
    if name[0] == "n":
        return len(name) > 1
    own = name[0] in ("resampled", "squares", "moments", "least", "greatest") or name[1:2] in (
        ("group keys",),
        ("group sums",),
    )
    return own and name[-1] == EACH and "category" not in name


def batches(drawn: Plausibilities, rows: range) -> Iterator[Batch]:
    """Draw the cases at some positions, a few at a time."""
    size = max(BATCH_CASES, min(BATCH_DRAWS // drawn.n_draws, PIECE))
    every = np.arange(drawn.n_cases) if drawn.positions is None else drawn.positions
    positions = every[rows.start : rows.stop]
    return (drawn.sampler(positions[start : start + size]) for start in range(0, len(rows), size))


def draw_entries(where: tuple[str | int, ...], sums: FloatArray, total: FloatArray) -> dict[Name, Array]:
    """Name the sums of every draw."""
    return {("draws", *where, EACH): sums, ("weight", *where): total}


def profile_entries(key: str, known: Profiles) -> dict[Name, Array]:
    """Name what is known of the draws of single cases."""
    return {("profile", key, name): getattr(known, name) for name in Profiles.__dataclass_fields__}


def certainty_counts(found: Profiles) -> FloatArray:
    """Count cases, those whose first condition is uncertain, those whose category is, and those not known well; (5,).

    The last number is the sum of the certainties.
    """
    first, errors = found.certainties[0], found.errors[0]
    counts = is_uncertain(first).sum(), is_uncertain(found.category_certainties).sum(), (errors > ROUGH).sum()
    return np.array([len(first), *counts, first.sum()], dtype=np.float64)


def same_models(models: Mapping[str, Predictions]) -> FloatArray:
    """Tell by a 1 which models are the same predictions, shape (models, models)."""
    said = list(models.values())
    found = np.eye(len(said))
    for a, b in combinations(range(len(said)), 2):
        found[a, b] = found[b, a] = float(same_lists(said[a], said[b]))
    return found


def same_lists(one: Predictions, other: Predictions) -> bool:
    """Tell whether two models say the same about the same cases."""
    return one.kind == other.kind and all(
        np.array_equal(getattr(one, part), getattr(other, part)) for part in ("offsets", "codes", "values")
    )


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


# How many opinions are compared at a time: each has the predictions of its case at its side.
OPINIONS_AT_ONCE = 2000


@dataclass(frozen=True, eq=False)
class SingleOpinions:
    """What every metric of every model is worth against every single opinion.

    Attributes
    ----------
    study
        The opinions that count.
    values : (models, metrics, n_opinions)
        Values; nan for metrics that need more than an order.
    """

    study: Any
    values: FloatArray

    @staticmethod
    def of(tallier: Tallier) -> SingleOpinions:
        """Compare every opinion with every model."""
        said, kind = tallier.study.counted, NumberMetric if tallier.has_numbers else OrderMetric
        values = np.full((len(tallier.models), len(tallier.metrics), said.n_opinions), np.nan)
        ordered = [place for place, metric in enumerate(tallier.metrics) if isinstance(metric, kind)]
        if ordered:
            own = replace(tallier, plan=replace(tallier.plan, metrics=tuple(tallier.metrics[k] for k in ordered)))
            for start in range(0, said.n_opinions, OPINIONS_AT_ONCE):
                chosen = np.arange(start, min(start + OPINIONS_AT_ONCE, said.n_opinions))
                values[:, ordered, chosen[0] : chosen[-1] + 1] = _compared(own, said, chosen)
        return SingleOpinions(said, values)

    @property
    def weights(self) -> FloatArray:
        """How much each opinion counts, shape (n_opinions,)."""
        return np.asarray(self.study.weights * self.study.votes)

    def means(self, cases: IntArray | None = None, *, kept: IntArray | None = None) -> FloatArray:
        """Average over the opinions on each case, shape (models, metrics, n_cases); nan where nobody said anything.

        Parameters
        ----------
        cases
            Positions of cases, by default all.
        kept
            Positions of the opinions that count, by default all.
        """
        everyone = np.arange(self.study.n_opinions) if kept is None else kept
        of_opinion = self.study.panel.case_of_opinion[everyone]
        weights = self.weights[everyone]
        n_cases = self.study.n_cases
        totals = weighted_counts(of_opinion, weights, n_cases)
        flat = self.values.reshape(-1, self.values.shape[-1])[:, everyone]
        sums = np.array([weighted_counts(of_opinion, weights * row, n_cases) for row in flat]).reshape(-1, n_cases)
        means = np.divide(sums, totals, out=np.full(sums.shape, np.nan), where=totals > 0)
        shaped = means.reshape(*self.values.shape[:2], n_cases)
        return np.asarray(shaped if cases is None else shaped[..., cases])


def _compared(tallier: Tallier, said: Any, chosen: IntArray) -> FloatArray:
    """Evaluate some opinions, each as a case of its own; shape (models, metrics, n_chosen)."""
    names = tuple(map(str, range(len(chosen))))
    of_case = said.panel.case_of_opinion[chosen]
    alone, cases = said.each_alone(chosen, names), [said.case_names[i] for i in of_case]
    rows = {name: _repeated(model, cases, names) for name, model in tallier.models.items()}
    spec: Aggregation = MeanRating() if tallier.has_numbers else InverseRank("each")
    return replace(tallier, study=alone, models=rows).compared(spec.sample(alone))[0]


def _repeated(model: Predictions, cases: list[str], names: tuple[str, ...]) -> Predictions:
    """Give the predictions of a case to every opinion on it."""
    position = {name: place for place, name in enumerate(model.case_names)}
    offsets, entries = take_rows(model.offsets, np.array([position[case] for case in cases], dtype=np.int64))
    return replace(model, case_names=names, offsets=offsets, codes=model.codes[entries], values=model.values[entries])
