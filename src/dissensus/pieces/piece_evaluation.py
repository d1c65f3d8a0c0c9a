"""What is done on a piece wherever that is: its cases evaluated, or summed over where a prior is fitted."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.case_prior import REFITS, PriorRecipe, prior_of
from dissensus.aggregation.rating_prior import RatingPrior
from dissensus.core.aliases import FloatArray
from dissensus.core.bundle import bundled
from dissensus.core.names import in_order_of_keys
from dissensus.evaluation.assembly import assembled
from dissensus.evaluation.plan import Plan, informed_by
from dissensus.evaluation.questions import Questions
from dissensus.evaluation.refits import InformedPrior
from dissensus.evaluation.results import Evaluation
from dissensus.evaluation.sums import CaseWeights, Sums
from dissensus.pieces.piece import Piece, Reading
from dissensus.pieces.piece_sums import excluded, sums_of_piece, written
from dissensus.predictions.lists import Predictions
from dissensus.study.opinions import kept_opinions
from dissensus.study.study import Study


@dataclass(frozen=True, eq=False)
class Taught:
    """What was learned from all cases of one part: the study, or one finding.

    Attributes
    ----------
    aggregations
        With what they learned.
    recipe
        How the prior that models inform is made, if there is one; of ratings, one of a sample of the cases.
    refits : (n_refits, n_coefficients)
        What resamples of the cases would have.
    """

    aggregations: tuple[Aggregation, ...]
    recipe: PriorRecipe | RatingPrior | None
    refits: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Settings:
    """What the evaluation of a piece needs to know.

    Attributes
    ----------
    reading
        How pieces are read.
    plan
        What is computed.
    specs
        The aggregations as they were asked for.
    taught
        What was learned, by finding; under the name "" for a study of cases.
    level
        Probability that intervals hold.
    threads
        How many threads draw.
    reference
        The run that says which cases have the least certainty.
    """

    reading: Reading
    plan: Plan
    specs: tuple[Aggregation, ...]
    taught: Mapping[str, Taught]
    level: float
    threads: int | None = None
    reference: int = 0

    def informed(self, finding: str, study: Study, models: Mapping[str, Predictions]) -> tuple[Plan, Study]:
        """Give the aggregations what they learned of a part, and those that ask for it the prior of its cases.

        The cases come back in the order of their keys, in which a plan and its prior take them.
        """
        taught, names = self.taught[finding], [study.case_names[i] for i in in_order_of_keys(study.case_names)]
        study = study.select(names)
        if taught.recipe is None:
            return replace(self.plan, aggregations=taught.aggregations), study
        said = {name: model.select(names) for name, model in models.items()}
        if isinstance(taught.recipe, PriorRecipe):
            prior: InformedPrior = prior_of(taught.recipe, study.opinions, said)
        else:
            prior = taught.recipe.about(study, said)
        informed = tuple(informed_by(spec, prior) for spec in taught.aggregations)
        return replace(self.plan, aggregations=informed, refits=taught.refits), study

    def tally(self, asked: Questions) -> Sums:
        """Sum over the rows of every part on which somebody said anything."""
        found = []
        for finding, rows in asked.parts.items():
            study, models = asked.of_part(rows)
            if study.counted.panel.votes_per_case.any():
                plan, study = self.informed(finding, study, models)
                found.append(plan.tally(study, models, asked.strata, threads=self.threads))
        return Sums.joined(found)

    def assembled(self, asked: Questions, sums: Sums, **known: Any) -> Evaluation:
        """Put what came out for rows together."""
        given = {"study": asked.study, "models": asked.models, "labels": asked.labels, "level": self.level}
        return assembled(self.plan, self.specs, sums, threads=self.threads, **{**given, **known})

    @property
    def of_cases(self) -> Settings:
        """The same without metrics of a whole data set, of which a piece alone says nothing."""
        metrics = tuple(metric for metric in self.plan.metrics if metric.sees != "data set")
        return replace(self, plan=replace(self.plan, metrics=metrics))


def evaluate_piece(settings: bytes, payload: bytes) -> bytes:
    """Evaluate the cases of a piece: the work of the second pass; by kind of output, the bytes of a file."""
    how: Settings = pickle.loads(settings)
    how = replace(how, plan=replace(how.plan, sketches=False))
    piece = Piece.read(payload, how.reading)
    if piece is None or not piece.questions.study.counted.panel.votes_per_case.any():
        return bundled({"sums": written(excluded(() if piece is None else piece.questions.study.case_names))})
    asked, plan = piece.questions, how.plan
    for metric in plan.metrics:
        for model in asked.models.values():
            metric.check(model)
    sums = how.tally(asked)
    result = how.of_cases.assembled(asked, sums)
    tables = {"certainty": parquet(result.certainties())}
    if result.metrics or not asked.models:
        tables["per_case"] = parquet(result.per_case())
    return bundled({**tables, "sums": written(sums_of_piece(plan, sums, asked.study, how.reference))})


def parquet(table: pl.DataFrame) -> bytes:
    """Write a table as bytes."""
    written = io.BytesIO()
    table.write_parquet(written)
    return written.getvalue()


def sum_piece(settings: bytes, payload: bytes) -> bytes:
    """Sum over the cases of a piece what the fit of an informed prior asks for: the work of its passes."""
    reading, request, seed, finding = pickle.loads(settings)
    piece = Piece.read(payload, reading)
    if piece is None:
        return bundled(None)
    asked = piece.questions
    study, models = asked.of_part(asked.parts[finding])
    opinions = kept_opinions(study.counted)  # type: ignore[arg-type]  # priors are of rankings
    if request.sought != "refits":
        return bundled(request.of_part(opinions, models))
    # each case counts as in the first resamples
    weights = CaseWeights.of(study.panel, seed)
    cases = study.panel.positions(list(opinions.case_names))
    return bundled(request.of_part(opinions, models, weights.bootstrap(cases, REFITS)))
