"""What is computed, once everything that is learned from all cases is known: the same for any piece of them."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeVar, cast

import numpy as np

from dissensus.aggregations.base import Aggregation, available_threads
from dissensus.aggregations.case_prior import known_prior
from dissensus.aggregations.point_estimates import MajorityVote, MeanRating
from dissensus.aggregations.priors import Lessons, taught
from dissensus.certainty.categories import Categories
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.errors import DissensusError, listing
from dissensus.core.names import in_order_of_keys
from dissensus.draws import Plausibilities
from dissensus.evaluation.refits import InformedPrior
from dissensus.evaluation.sums import CaseWeights, Place, Sums
from dissensus.evaluation.tally import PIECE, Tallier, with_places
from dissensus.metrics.base import Metric
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study
from dissensus.workers import worked

Cases = TypeVar("Cases", range, list[str])

# Keys of the references that are no aggregations of opinions.
ANNOTATORS, TRUTH = "annotators", "truth"

# For every column, the label of each case by name.
Strata = Mapping[str, Mapping[str, str]]


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
            payloads = [partial(_payload, study, models, strata, cases) for cases in cut(names)]
            done, known = sent(executor, pickled((replace(self, aggregations=specs), threads)), payloads), Sums()

        def told(piece: Sums) -> Sums:
            if advance is not None:
                advance(int(piece["n",]) * len(self.aggregations))
            return piece

        sums = Sums.joined(chain([known], map(told, done)))
        if not places:
            return sums
        names = sums["rows", "names"].tolist()
        labels = {column: np.array([of[name] for name in names], dtype=np.str_) for column, of in strata.items()}
        weights = CaseWeights.of(study.panel, self.seed).take(study.panel.positions(names))
        return with_places(sums, weights, labels)

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


def in_order(tasks: Iterable[Callable[[], Sums]], threads: int) -> Iterator[Sums]:
    """Run tasks in threads and give their results in order; few of them wait at any time."""
    if threads == 1:
        yield from (task() for task in tasks)
        return
    waiting: deque[Future[Sums]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(task))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


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


def refuse_whole(aggregations: Sequence[Aggregation]) -> None:
    """Refuse aggregations that have to see all cases at once."""
    for spec in aggregations:
        if spec.needs_whole:
            raise DissensusError(
                f"{spec.id} cannot be evaluated by an executor", got=spec.needs_whole, advice="leave the executor out"
            )


def _payload(study: Study, models: Mapping[str, Predictions], strata: Strata, cases: list[str]) -> bytes:
    own = {column: {name: labels[name] for name in cases} for column, labels in strata.items()}
    said = {name: model.select(cases) for name, model in models.items()}
    return pickle.dumps((study.select(cases), said, own))


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
