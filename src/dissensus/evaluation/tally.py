"""What is computed, and the tally of a piece of the cases: the same for every batch, thread and worker."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import chain, combinations
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from dissensus.aggregations.base import Aggregation, available_threads
from dissensus.aggregations.case_prior import known_prior
from dissensus.aggregations.point_estimates import InverseRank, MajorityVote, MeanRating
from dissensus.aggregations.priors import Lessons, taught
from dissensus.certainty.categories import Categories, category_certainty, order_chances, risk_ranges
from dissensus.certainty.top_sets import batch_certainty
from dissensus.core.arrays import NEAR, ROUGH, FloatArray, IntArray, SmallFloatArray, Value, is_uncertain
from dissensus.core.errors import DissensusError, listing
from dissensus.core.names import case_positions, in_order_of_keys
from dissensus.core.ragged import offsets_from_lengths, row_of_each, take_rows, weighted_counts
from dissensus.draws import Batch, Plausibilities, identified, in_order
from dissensus.evaluation.intervals import (
    CATEGORY_FIT,
    GROUP_RESAMPLES,
    REFIT_DRAWS,
    RESAMPLES,
    InformedPrior,
    other_family,
    ratio,
    refit_weights,
    reweighted,
    with_all,
)
from dissensus.evaluation.labels import Labels, LabelsByTruth, data_set_metrics, label_entries, labels_of, vote_labels
from dissensus.evaluation.sums import ALL, EACH, GROUPS, Array, CaseWeights, Name, Place, Sums, place_sums
from dissensus.metrics.base import Drawn, Metric, OrderMetric, Predicted, Truth
from dissensus.predictions.lists import Predictions, repeated
from dissensus.study.study import Study
from dissensus.workers import worked

Item = TypeVar("Item", bound=np.generic)

Cases = TypeVar("Cases", range, list[str])

# Keys of the references that are no aggregations of opinions.
ANNOTATORS, TRUTH = "annotators", "truth"

# For every column, the label of each case by name.
Strata = Mapping[str, Mapping[str, str]]

# Limits between bins of certainty.
EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.99, 1.0)

# What every case of a place adds, how much of it counts (models, metrics, n), the positions of the cases, in the order
# of keys, and where they stand in these arrays.
Influences: TypeAlias = tuple[FloatArray, FloatArray, IntArray, IntArray]

# Which cases of a batch a place has, and the place of what of their draws counts among the chances of values.
View: TypeAlias = tuple[IntArray | slice, int]

# What is known of every case: its mean over draws, their deviation, and how much of it counts.
MOMENTS = ("means", "deviations", "shares")

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


# The plan ------------------------------------------------------------------------------------------


class Reference(NamedTuple):
    """What models are evaluated against: weighted draws of every case.

    Attributes
    ----------
    key
        What names of sums call it: ``"run 0"``, ``"annotators"``, ``"truth"`` or ``"point 0"``.
    spec
        What draws; nothing for single annotators, whose opinions are averaged.
    detail
        What is found out: of a run everything, of an estimate values and intervals, of a point its value.
    """

    key: str
    spec: Aggregation | None
    detail: Literal["run", "estimate", "point"]


@dataclass(frozen=True, eq=False)
class Plan:
    """Evaluate any piece of the cases: everything that is learned from all of them is known.

    Attributes
    ----------
    aggregations
        With everything that they learn from all cases fixed.
    points
        The deterministic aggregations that point estimates come from.
    metrics
        The metrics; none without models.
    tops : (n_tops,)
        Numbers of first places to find the certainty of.
    depth
        How many places of a draw matter.
    categories
        Categories of conditions, if wanted.
    draws, seed
        As in :func:`evaluate`.
    refits : (n_refits, n_coefficients)
        Coefficients of an informed prior under resamples of all cases, if there is one.
    agreement
        Whether models are compared with single annotators.
    truth
        What is known to be true, as a study with an opinion per case, if it was given.
    conditions
        Names of the conditions.
    sketches
        Whether a few draws of every case are kept, to be looked at.
    """

    aggregations: tuple[Aggregation, ...]
    points: tuple[Aggregation, ...]
    metrics: tuple[Metric, ...]
    tops: IntArray
    depth: int
    categories: Categories | None
    draws: int
    seed: int
    refits: FloatArray | None = None
    agreement: bool = False
    truth: Study | None = None
    conditions: tuple[str, ...] = ()
    sketches: bool = True

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """What models are evaluated against: the runs, single annotators, the truth, and usual practice."""
        found = [Reference(f"run {place}", spec, "run") for place, spec in enumerate(self.aggregations)]
        if self.agreement:
            found.append(Reference(ANNOTATORS, None, "estimate"))
        if self.truth is not None:
            found.append(Reference(TRUTH, MeanRating() if self.truth.kind == "ratings" else MajorityVote(), "estimate"))
        return (*found, *(Reference(f"point {place}", spec, "point") for place, spec in enumerate(self.points)))

    @cached_property
    def category_places(self) -> dict[Place, IntArray]:
        """The conditions of every category, if there are any, by its place."""
        if (known := self.categories) is None:
            return {}
        return {("category", name): np.flatnonzero(known.codes == code) for code, name in enumerate(known.names)}

    def tally(
        self,
        study: Study,
        models: Mapping[str, Predictions],
        strata: Strata,
        *,
        threads: int | None = None,
        executor: object | None = None,
        advance: Callable[[int], None] | None = None,
        places: bool = True,
    ) -> Sums:
        """Evaluate the cases of a study that have opinions: what their sums are, and what is known of each.

        Cases are taken in the order of their keys, a piece at a time; an executor changes the speed only. Without
        ``places``, what intervals are found from is left out: :func:`with_places` finds it.
        """
        study = study.select(in_order_of_keys(study.case_names))
        if executor is None:
            sampled, tallier = self.sampled(study), Tallier(self, study, models, strata)
            pieces = cut(range(sampled["run 0"].n_cases))
            done = in_order((partial(tallier.piece, rows, sampled) for rows in pieces), threads or available_threads())
            known = tallier.about(list(sampled["run 0"].case_names))
        else:
            lessons = Lessons.of(study)  # what is learned from all cases
            specs = tuple(taught(spec, lessons, study.conditions) for spec in self.aggregations)
            counts = study.counted.panel.votes_per_case
            names = [name for name, count in zip(study.case_names, counts, strict=True) if count]

            def payload(cases: list[str]) -> bytes:
                own = {column: {name: labels[name] for name in cases} for column, labels in strata.items()}
                said = {name: model.select(cases) for name, model in models.items()}
                return pickle.dumps((study.select(cases), said, own))

            payloads = [partial(payload, cases) for cases in cut(names)]
            done, known = sent(executor, pickled((replace(self, aggregations=specs), threads)), payloads), Sums()

        def told(piece: Sums) -> Sums:
            if advance is not None:
                advance(int(piece["n",]) * len(self.aggregations))
            return piece

        sums = Sums.joined(chain([known], map(told, done)))
        return with_places(sums, study, strata, self.seed, threads) if places else sums

    def sampled(self, study: Study) -> dict[str, Plausibilities]:
        """Draw every case of which all aggregations have draws, by reference."""
        found, how = dict[str, Plausibilities](), {"draws": self.draws, "seed": self.seed}
        for one in self.references:
            if one.spec is not None:
                of = study if one.key != TRUTH or self.truth is None else self.truth
                found[one.key] = one.spec.sample(of, threads=1, **(how if one.detail == "run" else {}))
        runs = [found[one.key] for one in self.references if one.detail == "run"]
        shared = set[str].intersection(*(set(drawn.case_names) for drawn in runs))
        names = [name for name in runs[0].case_names if name in shared]
        return {key: one if one.case_names == tuple(names) else one.select(names) for key, one in found.items()}


def cut(cases: Cases) -> list[Cases]:
    """Cut cases into pieces, the last one shorter."""
    return [cases[start : start + PIECE] for start in range(0, len(cases), PIECE)]


# Elsewhere ------------------------------------------------------------------------------------------------


def pickled(settings: object) -> bytes:
    """Write settings so that workers can read them, or say what cannot be sent.

    >>> pickled(lambda: 1)
    Traceback (most recent call last):
    ...
    dissensus.core.errors.DissensusError: an aggregation or a metric cannot be sent to workers
    ...
    """
    try:
        return pickle.dumps(settings)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise DissensusError(
            "an aggregation or a metric cannot be sent to workers",
            expected="functions and classes that a module defines under their own names",
            got=str(error),
            advice="put the function into a module that workers can import, or evaluate in memory without an executor",
        ) from error


def refuse_whole(aggregations: Sequence[Aggregation], how: str, advice: str) -> None:
    """Refuse aggregations that have to see all cases at once."""
    for spec in aggregations:
        if spec.needs_whole:
            raise DissensusError(f"{spec.id} cannot be evaluated {how}", got=spec.needs_whole, advice=advice)


def sent(executor: object, settings: bytes, payloads: Sequence[Callable[[], bytes]]) -> Iterator[Sums]:
    """Tally pieces elsewhere, and give their sums in order."""
    done: dict[str, bytes] = {}
    wanted = 0
    try:
        for name, result in worked(executor, tally_piece, settings, {str(i): one for i, one in enumerate(payloads)}):
            done[name] = result
            while str(wanted) in done:
                yield pickle.loads(done.pop(str(wanted)))
                wanted += 1
    except DissensusError as error:
        if "--resume" not in error.advice:
            raise
        again = "evaluate again, in memory without an executor if it stays so"  # nothing is kept between calls
        raise DissensusError(error.problem, got=error.got, where=error.where, advice=again) from error


def tally_piece(settings: bytes, payload: bytes) -> bytes:
    """Tally some cases: the work of an executor."""
    plan, threads = pickle.loads(settings)
    study, models, strata = pickle.loads(payload)
    prior = known_prior(plan.aggregations)
    if prior is not None:
        names = study.opinions.case_names
        own = prior.repeated(names, names)
        plan = replace(plan, aggregations=tuple(informed_by(spec, own) for spec in plan.aggregations))
    return pickle.dumps(plan.tally(study, models, strata, threads=threads, places=False))


def informed_by(spec: Aggregation, prior: InformedPrior | None) -> Aggregation:
    """Give an aggregation the prior that it asks for."""
    if prior is None or not spec.is_informed:
        return spec
    return type(spec).from_parameters({**spec.parameters(), "prior": prior})


def prior_for(
    specs: Sequence[Aggregation],
    study: Study,
    models: Mapping[str, Predictions],
    start: InformedPrior | None = None,
    *,
    strata: Strata | None = None,
    trained_on: Sequence[str] = (),
) -> InformedPrior:
    """Fit the prior that models inform to a study of any kind.

    ``start`` was fitted to a similar one, whose strata and left-out models are kept. Ratings have no strata.
    """
    from dissensus import aggregations

    before = cast("Any", start)  # of the same kind of study
    if study.kind == "ratings":
        shifts = any(spec.is_informed and getattr(spec, "shifts", False) for spec in specs)
        known = None if start is None else before.left_out
        return aggregations.rating_prior(study, models, shifts=shifts, left_out=known, trained_on=trained_on)
    columns = {column: [of[name] for name in study.case_names] for column, of in (strata or {}).items()}
    return aggregations.informed_prior(study, models, start=before, strata=columns, trained_on=trained_on)


def common_conditions(sampled: Sequence[Plausibilities]) -> tuple[str, ...]:
    """Return the conditions of all aggregations, which must be the same ones."""
    if not sampled:
        raise DissensusError("there is nothing to evaluate", expected="at least one aggregation")
    for other in sampled[1:]:
        if other.conditions != sampled[0].conditions:
            raise DissensusError(
                "the aggregations give different conditions",
                expected=listing(sampled[0].conditions),
                got=listing(other.conditions),
                advice="evaluate them one after the other",
            )
    return sampled[0].conditions


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
    chances
        How much each order counts (n_orders,): all alike, which is None, and then for every category.
    """

    drawn: Drawn
    of_orders: FloatArray
    of_draws: FloatArray
    places: IntArray
    chances: Sequence[FloatArray | None] = (None,)

    @staticmethod
    def of(
        drawn: Drawn, metrics: Sequence[Metric], known: Sequence[Predicted], categories: Categories | None
    ) -> Values:
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
            (None, *([] if categories is None else order_chances(drawn, categories))),
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
        counted = drawn.of_draws(worth) if self.of_draws.size else np.ones(1)
        weights = np.where(np.isnan(self.of_draws), 0.0, counted)
        counts = weights.sum(axis=-1)
        values = np.where(weights > 0, self.of_draws, 0.0)
        others = ratio((weights * values).sum(axis=-1), counts)
        with np.errstate(invalid="ignore"):
            squares = np.where(weights > 0, weights * (values - others[..., None]) ** 2, 0.0)
        shares = share[None, None]
        if (weights != counted).any():
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

    def of_cases(self, number: int, step: int) -> tuple[FloatArray, FloatArray | None]:
        """Return the values of every ``step``-th draw, (n_cases, models, metrics, n_draws), and how much draws count.

        The latter are (n_cases, n_draws), for what of the draws has this number; nothing where all count alike.
        """
        of_draw, chance = self.drawn.orders.of_draw[:, ::step], self.chances[number]
        values = self.arranged(self.of_orders[..., of_draw], self.of_draws[..., ::step])
        return np.moveaxis(values, 2, 0), None if chance is None else chance[of_draw]

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

    def about(self, names: list[str]) -> Sums:
        """Write down what is known of cases whatever they are compared with."""
        own, models = self.study.select(names), {name: model.select(names) for name, model in self.models.items()}
        said, same = list(models.values()), np.eye(len(models))
        for a, b in combinations(range(len(said)), 2):  # 1 for models that say the same about the same cases
            parts = ([one.offsets, one.codes, one.values] for one in (said[a], said[b]))
            same[a, b] = same[b, a] = float(said[a].kind == said[b].kind and all(map(np.array_equal, *parts)))
        found: dict[Name, Array] = {
            ("votes",): np.array(float(own.panel.votes_per_case.sum())),
            ("rows", "names"): np.array(names, dtype=np.str_),
            ("least", "same"): same,
        }
        return Sums(found | (table_entries(own, models, self.strata, names) if self.truths else {}))

    def piece(self, rows: range, sampled: Mapping[str, Plausibilities]) -> Sums:
        """Tally some cases against all references; ``sampled`` are the draws of all cases, by reference."""
        found: dict[Name, Array] = {("n",): np.array(float(len(rows)))}
        for reference in self.plan.references:
            key = reference.key
            if reference.spec is None:
                names = list(sampled[self.plan.references[0].key].case_names[rows.start : rows.stop])
                own = self.weights.take(self.study.panel.positions(names))
                found |= replace(self, study=self.study.select(names))._single_opinions(key, own)
                continue
            drawn = sampled[key]
            parts = (Sums(self._batch(reference, drawn.n_draws, batch)) for batch in self._batches(drawn, rows))
            found |= Sums.joined(parts).arrays
            if reference.detail == "run":
                found["least", "draws", key] = np.array([drawn.n_draws, drawn.n_chains])
                found |= {("least", "fitted", key, name): np.array(value) for name, value in drawn.fitted.items()}
        return Sums(found)

    # One reference ---------------------------------------------------------------------------------------

    def _batches(self, drawn: Plausibilities, rows: range) -> Iterator[Batch]:
        """Draw the cases at some positions, a few at a time; numbers are forgotten where models give none."""
        size = max(BATCH_CASES, min(BATCH_DRAWS // drawn.n_draws, PIECE))
        every = np.arange(drawn.n_cases) if drawn.positions is None else drawn.positions
        positions = every[rows.start : rows.stop]
        found = (drawn.sampler(positions[start : start + size]) for start in range(0, len(rows), size))
        return (batch if self.has_numbers else replace(batch, numbers=None) for batch in found)

    def _valued(self, *batches: Batch) -> list[Values]:
        """Compute the metrics of single cases on draws of batches of the same cases, whose rests are split alike."""
        found = []
        for batch in identified(batches, self.plan.depth):
            known = [Predicted(model, batch.outline()) for model in self.models.values()]
            found.append(Values.of(Drawn(batch, self.plan.depth), self.metrics, known, self.plan.categories))
        return found

    def _labels(self, values: Values, plain: Batch, weights: list[FloatArray] | None = None) -> LabelsByTruth:
        """Keep the labels of draws; plausibilities are those before unmentioned conditions were told apart."""
        whole = replace(values.drawn, batch=plain)
        how: dict[str, Any] = {"seed": self.plan.seed, "weights": weights, "step": step_of(plain.n_draws, REFIT_DRAWS)}
        return {truth: labels_of(values.drawn if truth == "top" else whole, truth, **how) for truth in self.truths}

    def _batch(self, reference: Reference, n_drawn: int, batch: Batch) -> dict[Name, Array]:
        """Compare the draws of some cases with all models."""
        key, is_run, plan, refits, family = reference.key, reference.detail == "run", self.plan, None, None
        own = self.weights.take(self.study.panel.positions(list(batch.case_names)))
        prior = known_prior([reference.spec]) if is_run and reference.spec is not None else None
        if prior is not None and plan.refits is not None:
            opinions = self.study.select(list(batch.case_names)).opinions
            refits = refit_weights(prior, opinions, plan.refits, batch, step_of(batch.n_draws, REFIT_DRAWS))
            family = other_family(prior, opinions, batch, plan.seed)
        values, *moved = self._valued(batch, *([] if family is None else family[:1]))
        labels = self._labels(values, batch, refits)
        if family is not None:
            ends = self._labels(moved[0], *family)  # whose means stand behind those under refits
            both = {truth: np.concatenate([own.moved, ends[truth].moved], axis=1) for truth, own in labels.items()}
            labels = {truth: replace(own, moved=both[truth]) for truth, own in labels.items()}
        found = label_entries(key, labels)
        if is_run and len(plan.tops):
            found |= Profiles.of(values, plan.tops, plan.categories, sketches=plan.sketches).entries(key)
        views = self._views(batch.case_names, found.get(("profile", key, "certainties")))
        if self.models:
            n_draws = plan.draws if is_run and n_drawn == 1 else n_drawn
            for place, (rows, number) in views.items():
                how: dict[str, Any] = {"step": 1 if place == ALL else step_of(n_draws), "rows": rows}
                sums, total = values.by_draw(own.weights, n_draws, chance=values.chances[number], **how)
                found |= {("draws", key, *place, EACH): sums, ("weight", key, *place): total}
        if reference.detail == "point":
            return found
        moments = [values.moments(chance) for chance in values.chances]
        found |= {("cases", what, key, EACH): part for what, part in zip(MOMENTS, moments[0], strict=True)}
        found |= self._category_sums(key, [(means, shares) for means, _, shares in moments], own)
        others = None if family is None else (moved[0], family[1])
        return found | ({} if refits is None else fit_entries(key, views, refits, values, own, others))

    def _views(self, names: Sequence[str], certainties: FloatArray | None = None) -> dict[Place, View]:
        """Say which of some cases every place has, and what of their draws: all, or what counts for a category."""
        labels = {column: np.array([of[name] for name in names], np.str_) for column, of in self.strata.items()}
        rows: dict[Place, IntArray | slice] = {ALL: slice(None), **cases_of_places(labels, certainties)}
        categories = enumerate(self.plan.category_places, start=1)
        return {place: (own, 0) for place, own in rows.items()} | {one: (slice(None), i) for i, one in categories}

    def _category_sums(
        self, key: str, counted: Sequence[tuple[FloatArray, FloatArray]], own: CaseWeights
    ) -> dict[Name, Array]:
        """Sum what intervals of categories are found from: means of cases, and the share of each that counts."""
        alone, found = replace(own, is_grouped=False), dict[Name, Array]()
        if self.models and self.plan.category_places:
            few = own.bootstrap(slice(None), GROUP_RESAMPLES)
            for place, (means, shares) in zip(self.plan.category_places, counted[1:], strict=True):
                found |= place_sums(means, shares, alone, few, (key, *place, EACH))
        return found

    def compared(self, drawn: Plausibilities) -> tuple[FloatArray, LabelsByTruth]:
        """Return means of all cases over their draws, and how much of each counts: in all, then in every category.

        The shape is (1 + n_categories, 2, models, metrics, n_cases). The labels of the draws come after it.
        """
        found: list[tuple[FloatArray, LabelsByTruth]] = []
        for batch in self._batches(drawn, range(drawn.n_cases)):
            (values,) = self._valued(batch)
            moments = map(values.moments, values.chances)
            counted = [np.broadcast_arrays(means, shares) for means, _, shares in moments]
            found.append((np.array(counted), self._labels(values, batch)))
        return (
            np.concatenate([means for means, _ in found], axis=-1),
            {truth: Labels.joined([labels[truth] for _, labels in found]) for truth in self.truths},
        )

    # Single opinions --------------------------------------------------------------------------------------

    def _single_opinions(self, key: str, own: CaseWeights) -> dict[Name, Array]:
        """Average over the opinions on each case what every one of them gives."""
        counts = counted_means(self.study.counted, self.of_opinions())
        votes = vote_labels(self.study, self.study.case_names) if self.truths else None
        found: dict[Name, Array] = {
            ("cases", "means", key, EACH): counts[0][0],
            ("cases", "shares", key, EACH): counts[0][1],
            **({} if votes is None else label_entries(key, dict.fromkeys(self.truths, votes))),
        }
        for place, (rows, number) in self._views(self.study.case_names).items():
            means, masses = counts[number][0][..., rows], counts[number][1][..., rows] * own.weights[rows]
            sums = np.stack([(masses * np.nan_to_num(means)).sum(axis=-1), masses.sum(axis=-1)])
            total = sums[1].max(initial=0.0) if number else own.weights[rows].sum()
            found |= {("draws", key, *place, EACH): sums[..., None], ("weight", key, *place): np.array([total])}
        return found | self._category_sums(key, counts, own)

    def of_opinions(self) -> FloatArray:
        """Compare every opinion that counts with every model, each as a case of its own.

        The shape is (1 + n_categories, 2, models, metrics, n_opinions): how far it agrees, and how much of it counts;
        in all, and in every category. Metrics that need more than an order are undefined.
        """
        said: Any = self.study.counted
        spec = MeanRating() if self.has_numbers else InverseRank("each")
        shape = (1 + len(self.plan.category_places), 2, len(self.models), len(self.metrics), said.n_opinions)
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
            counted, _ = Tallier(plan, alone, models, {}).compared(spec.sample(alone))
            found[..., ordered, start : start + len(chosen)] = counted
        return found


def counted_means(said: Study, values: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
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


def fit_entries(
    key: str,
    views: Mapping[Place, View],
    refits: list[FloatArray],
    values: Values,
    own: CaseWeights,
    others: tuple[Values, list[FloatArray]] | None,
) -> dict[Name, Array]:
    """Sum draws weighed anew over resampled cases, and over all, for the cases of places: see :class:`FitSpread`.

    Last comes another family of priors, which has draws of its own if there are ``others``.
    """
    found, n_refits = dict[Name, Array](), len(refits[0]) + (others is not None)
    step = step_of(values.drawn.orders.of_draw.shape[1], REFIT_DRAWS)
    bootstrap = with_all(own.bootstrap(slice(None), n_refits - 1)) * own.weights[:, None]
    for number in range(len(values.chances)):
        every, counted = values.of_cases(number, step)
        sums = reweighted(every, np.stack(refits), counted)
        if others is not None:
            every, counted = others[0].of_cases(number, 1)
            other = reweighted(every, np.stack(others[1]), counted)
            other[:: 2 if number else 3] = sums[:: 2 if number else 3, :, :1]  # with the prior as it is
            sums = np.concatenate([sums, other], axis=2)
        word, of_cases = CATEGORY_FIT if number else "fit", sums * bootstrap[:, :, None, None]
        own_places = (place for place, view in views.items() if view[1] == number and place[0] != "bin")
        found |= {(word, key, *place, EACH): of_cases[:, views[place][0]].sum(axis=1) for place in own_places}
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


def with_places(sums: Sums, study: Study, strata: Strata, seed: int, threads: int | None = None) -> Sums:
    """Add what intervals of metrics of single cases are found from: sums over all cases, and over those of a place.

    Parameters
    ----------
    sums
        With what is known of every case.
    study, strata
        Of these cases and others: how much they count, and for every column the label of each.
    """
    names = sums["rows", "names"].tolist()
    order = in_order_of_keys(names)
    weights = CaseWeights.of(study.panel, seed).take(study.panel.positions(names)[order])
    labels = {column: np.array([of[names[row]] for row in order], np.str_) for column, of in strata.items()}
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
    return Sums({**sums.arrays, **found, **interval_sums(weights, wanted, threads or available_threads())})


def interval_sums(weights: CaseWeights, wanted: Mapping[Name, Influences], threads: int = 1) -> Mapping[Name, Array]:
    """Sum over cases, a piece at a time, what intervals are found from: for a reference and a place of cases each."""

    def of_piece(start: int) -> Sums:
        bootstrap, found = weights.bootstrap(slice(start, start + PIECE), RESAMPLES), dict[Name, Array]()
        for name, (means, shares, rows, columns) in wanted.items():
            now = slice(*np.searchsorted(rows, (start, start + PIECE)))
            if now.start == now.stop:
                continue
            own, is_all = weights.take(rows[now]), name[1:-1] == ALL
            few = np.ascontiguousarray(bootstrap[rows[now] - start, : RESAMPLES if is_all else GROUP_RESAMPLES])
            if name[1] == "category":
                own = replace(own, is_grouped=False)
            found |= place_sums(means[..., columns[now]], shares[..., columns[now]], own, few, name, pairs=is_all)
        return Sums(found)

    starts = range(0, len(weights.keys) if wanted else 0, PIECE)
    return Sums.joined(in_order((partial(of_piece, start) for start in starts), threads)).arrays


def is_of_places(name: Name) -> bool:
    """Tell whether :func:`with_places` finds an array with this name."""
    if name[0] == "n":
        return len(name) > 1
    own = name[0] in ("resampled", "squares", "moments", "least", "greatest") or name[:2] in GROUPS
    return own and name[-1] == EACH and "category" not in name


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
    def of(values: Values, tops: IntArray, categories: Categories | None, *, sketches: bool = True) -> Profiles:
        """Find out what the draws of a batch say; without ``sketches`` none of them are kept."""
        from dissensus.kernels.orders import place_shares

        drawn, batch = values.drawn, values.drawn.batch
        certainties, errors, is_member = batch_certainty(drawn, tops)
        by_category = (np.empty(0), np.empty(0), np.empty(0, dtype=np.int64))
        if categories is not None:
            chances = [drawn.of_draws(one) for one in values.chances if one is not None]
            by_category = category_certainty(np.stack(chances), batch.n_chains)
        tops_of_members, told = place_shares(drawn.layout, drawn.orders, 1), np.arange(len(batch.support))
        if batch.is_mentioned is not None:
            told = np.flatnonzero(batch.is_mentioned | is_member.any(axis=0))
        return Profiles(
            np.bincount(batch.case_of_member[told], minlength=batch.n_cases),
            batch.support[told],
            certainties,
            errors,
            is_member[:, told],
            pooled(batch, batch.means(), told),
            pooled(batch, tops_of_members, told),
            sketched(batch, told) if sketches else np.empty((0, len(told) + batch.n_cases), dtype=np.float16),
            *by_category,
            risk_ranges(batch, categories) if categories is not None and categories.levels else np.empty((3, 0)),
        )

    def entries(self, key: str) -> dict[Name, Array]:
        """Name what is known of single cases, and count how many are certain."""
        first, categories = self.certainties[0], self.category_certainties
        open_cases = is_uncertain(first).sum(), is_uncertain(categories).sum(), (self.errors[0] > ROUGH).sum()
        found: dict[Name, Array] = {("profile", key, part.name): getattr(self, part.name) for part in fields(self)}
        return found | {("certainty", key): np.array([len(first), *open_cases, first.sum()], dtype=np.float64)}

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
    case = batch.case_of_member
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
        case = batch.case_of_member
        for member in told[~batch.is_mentioned[told]]:
            masses = batch.plausibility_of(int(case[member]), int(batch.support[member]), kept)
            sketch[:, member + case[member]] = masses
            sketch[:, columns[case[member] + 1] - 1] -= masses
        is_kept = np.zeros(sketch.shape[1], dtype=np.bool_)
        is_kept[told + case[told]] = is_kept[columns[1:] - 1] = True
        sketch = np.maximum(sketch[:, is_kept], 0.0)
    small: SmallFloatArray = sketch.astype(np.float16)
    return small
