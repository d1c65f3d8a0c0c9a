"""The second look at every shard: its cases evaluated, and what they add to the whole."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.case_prior import prior_of
from dissensus.aggregation.prior_recipe import REFITS, PriorRecipe, Request
from dissensus.core.bundle import bundled
from dissensus.core.exact import Exact
from dissensus.evaluation.basis import merged
from dissensus.evaluation.batches import bin_of
from dissensus.evaluation.completion import SeenCases
from dissensus.evaluation.evaluator import assembled, material_of
from dissensus.evaluation.plan import Evaluated, Plan, informed_by
from dissensus.evaluation.questions import Questions
from dissensus.evaluation.results import Evaluation
from dissensus.evaluation.tally import CaseWeights
from dissensus.predictions.lists import Predictions
from dissensus.shards.buckets import frames_from
from dissensus.shards.contents import Reading
from dissensus.shards.shard_content import read_shard
from dissensus.shards.sums import Named, sums_of
from dissensus.study.opinions import kept_opinions
from dissensus.study.study import Study


@dataclass(frozen=True, eq=False)
class Taught:
    """What was learned from all cases of one part: the whole study, or one finding.

    Attributes
    ----------
    aggregations
        With what they learned.
    recipe
        How the prior that models inform is made, if there is one.
    """

    aggregations: tuple[Aggregation, ...]
    recipe: PriorRecipe | None


@dataclass(frozen=True, eq=False)
class Settings:
    """What the evaluation of a shard needs to know.

    Attributes
    ----------
    reading, models
        How shards are read, and the names of the models.
    plan
        What is computed.
    specs
        The aggregations as they were asked for.
    taught
        What was learned, by finding; under the name "" for a study of cases.
    level
        Probability that intervals hold.
    reference
        The run that says which cases have the least certainty.
    threads
        How many threads draw.
    """

    reading: Reading
    models: tuple[str, ...]
    plan: Plan
    specs: tuple[Aggregation, ...]
    taught: Mapping[str, Taught]
    level: float
    reference: int = 0
    threads: int | None = None

    def informed(self, finding: str, study: Study, models: Mapping[str, Predictions]) -> Plan:
        """Give the aggregations what they learned of a part, and those that ask for it the prior of its cases."""
        taught = self.taught[finding]
        if taught.recipe is None:
            return replace(self.plan, aggregations=taught.aggregations)
        prior = prior_of(taught.recipe, study.opinions, models)
        informed = tuple(informed_by(spec, prior) for spec in taught.aggregations)
        return replace(self.plan, aggregations=informed, refits=taught.recipe.refits)

    def evaluated(self, asked: Questions) -> Evaluated:
        """Evaluate rows, part by part; those of a part on which nobody said anything are left out."""
        found, lost = [], []
        for finding, rows in asked.parts.items():
            study, models = asked.of_part(rows)
            if study.counted.panel.votes_per_case.any():
                plan = self.informed(finding, study, models)
                found.append(plan.evaluated(study, models, asked.strata, threads=self.threads))
            else:
                lost += list(rows)
        done = merged(found)
        return replace(done, excluded=(*done.excluded, *lost))

    def assembled(self, asked: Questions, done: Evaluated) -> Evaluation:
        """Put what came out for rows together."""
        material = material_of(self.plan, done, asked.study, asked.models, asked.labels)
        return assembled(self.plan, self.specs, done, material=material, level=self.level)


def evaluate_shard(settings: bytes, payload: bytes) -> bytes:
    """Evaluate the cases of a shard: the work of the second pass; by kind of output, the bytes of a file."""
    how: Settings = pickle.loads(settings)
    how = replace(how, plan=replace(how.plan, sketches=False))
    content = read_shard(frames_from(payload), how.reading, how.models)
    if content is None:
        return bundled({})
    asked, plan = content.questions, how.plan
    if not asked.study.counted.panel.votes_per_case.any():
        return bundled({"excluded": bundled(Named.of(asked.study.case_names))})
    for metric in plan.metrics:
        for model in asked.models.values():
            metric.check(model)
    done = how.evaluated(asked)
    result = how.assembled(asked, done)
    sums, groups = sums_of(
        done, asked.study, asked.models, asked.strata, seed=plan.seed, unit=plan.unit, reference=how.reference
    )
    outputs = {
        "per_case": parquet(result.per_case()),
        "certainty": parquet(result.certainties()),
        "excluded": bundled(Named.of(done.excluded)),
        "sums": bundled(sums),
        **labels_of_shard(result, done),
    }
    return bundled({**outputs, **({"groups": bundled(groups)} if groups else {})})


def labels_of_shard(result: Evaluation, done: Evaluated) -> dict[str, bytes]:
    """Write what metrics of a whole data set need of the cases of a shard, run by run; nothing without such metrics."""
    if done.votes is None:
        return {}
    bins = tuple(bin_of(found.certainties[0]) for found in result.findings if len(found.certainties))
    runs = {f"labels {place}": bundled(outcome.labels) for place, outcome in enumerate(done.outcomes)}
    points = {f"point labels {place}": bundled(labels) for place, labels in enumerate(done.point_labels)}
    seen = bundled(SeenCases.of(result.study, result.predictions, result.strata, bins))
    return {"seen": seen, "votes": bundled(done.votes), **runs, **points}


def parquet(table: pl.DataFrame) -> bytes:
    """Write a table as bytes."""
    written = io.BytesIO()
    table.write_parquet(written)
    return written.getvalue()


def sum_shard(settings: bytes, payload: bytes) -> bytes:
    """Sum over the cases of a shard what the fit of an informed prior asks for: the work of its passes."""
    reading, names, request, seed, finding = pickle.loads(settings)
    content = read_shard(frames_from(payload), reading, names)
    if content is None:
        return bundled(None)
    asked = content.questions
    return bundled(part_of(request, *asked.of_part(asked.parts[finding]), seed))


def part_of(request: Request, study: Study, models: Mapping[str, Predictions], seed: int) -> Exact:
    """Sum over cases; where refits are sought, each case counts as in the first resamples."""
    opinions = kept_opinions(study.counted)  # priors are of rankings
    if request.sought != "refits":
        return request.of_part(opinions, models)
    weights = CaseWeights.of(study.panel, seed)
    cases = study.panel.positions(list(opinions.case_names))
    return request.of_part(opinions, models, weights.bootstrap(cases, REFITS))
