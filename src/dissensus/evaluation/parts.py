"""Evaluate parts of the cases wherever an executor runs them; together they are what one process would have found."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.learned import Lessons, cannot_be_split, taught
from dissensus.core.errors import DissensusError
from dissensus.evaluation.basis import merged
from dissensus.evaluation.plan import Evaluated, Plan, Strata, informed_by, known_prior
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study
from dissensus.workers import n_workers, worked

LEAST_CASES, MOST_CASES = 128, 10_000
"""How many cases a part has: a few parts for every worker, within these limits."""

PARTS_PER_WORKER = 4


def evaluated_in_parts(
    plan: Plan,
    study: Study,
    models: Mapping[str, Predictions],
    strata: Strata,
    *,
    executor: object,
    threads: int | None = None,
    advance: Callable[[int], None] | None = None,
) -> Evaluated:
    """Evaluate all cases, part by part; parameters are those of :meth:`Plan.evaluated`."""
    counts = study.counted.panel.votes_per_case
    annotated = [name for name, count in zip(study.case_names, counts, strict=True) if count]
    size = -(-len(annotated) // (PARTS_PER_WORKER * n_workers(executor)))
    size = max(LEAST_CASES, min(size, MOST_CASES))
    parts = {f"{first:09d}": annotated[first : first + size] for first in range(0, len(annotated), size)}
    payloads = {name: partial(_payload, study, models, strata, cases) for name, cases in parts.items()}
    fixed = replace(plan, aggregations=fixed_aggregations(plan.aggregations, study))
    found: dict[str, Evaluated] = {}
    for name, result in worked(executor, evaluate_part, pickled((fixed, threads)), payloads):
        found[name] = pickle.loads(result)
        if advance is not None:
            advance(len(parts[name]) * len(plan.aggregations))
    known = set(annotated)
    lost = tuple(name for name in study.case_names if name not in known)
    return replace(merged(found[name] for name in parts), excluded=lost)


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


def fixed_aggregations(aggregations: Sequence[Aggregation], study: Study) -> tuple[Aggregation, ...]:
    """Fix what aggregations learn from all cases; refuse those that have to see all cases at once."""
    for spec in aggregations:
        reason = cannot_be_split(spec)
        if reason:
            raise DissensusError(
                f"{spec.id} cannot be evaluated by an executor", got=reason, advice="leave the executor out"
            )
    lessons = Lessons.of(study)
    return tuple(taught(spec, lessons, study.conditions) for spec in aggregations)


def _payload(study: Study, models: Mapping[str, Predictions], strata: Strata, cases: list[str]) -> bytes:
    own = {column: {name: labels[name] for name in cases} for column, labels in strata.items()}
    said = {name: model.select(cases) for name, model in models.items()}
    return pickle.dumps((study.select(cases), said, own))


def evaluate_part(settings: bytes, payload: bytes) -> bytes:
    """Evaluate some cases: the work of an executor."""
    plan, threads = pickle.loads(settings)
    study, models, strata = pickle.loads(payload)
    prior = known_prior(plan.aggregations)
    if prior is not None:
        names = study.opinions.case_names
        own = prior.repeated(names, names)
        plan = replace(plan, aggregations=tuple(informed_by(spec, own) for spec in plan.aggregations))
    return pickle.dumps(plan.evaluated(study, models, strata, threads=threads))
