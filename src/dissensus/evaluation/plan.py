"""What is computed, once everything that is learned from all cases is known: the same for any part of the cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.case_prior import CasePrior, informed_prior
from dissensus.aggregation.rating_prior import RatingPrior, rating_prior
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.errors import DissensusError, listing
from dissensus.draws import Plausibilities
from dissensus.evaluation.batches import EDGES, Job, Outcome, Totals, step_of
from dissensus.evaluation.categories import Categories
from dissensus.evaluation.data_set import Kept
from dissensus.evaluation.labels import Labels, LabelsByTruth, joined_labels, vote_labels
from dissensus.evaluation.refits import InformedPrior, RatingRefits, Refits, Reweighting
from dissensus.evaluation.single_opinions import SingleOpinions
from dissensus.evaluation.tally import ExactTally
from dissensus.metrics.base import Metric
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study

Strata = Mapping[str, Mapping[str, str]]
"""For every column, the label of each case by name."""


@dataclass(frozen=True)
class Drawing:
    """How one aggregation was drawn: draws per case, the chains they come from, and which numbers were fitted."""

    n_draws: int
    n_chains: int
    fitted: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What came out for some cases; other cases are put behind them by ``+``.

    Attributes
    ----------
    case_names, excluded, conditions
        The cases, those without any opinion, and the conditions.
    drawings
        How each aggregation was drawn.
    outcomes
        What each aggregation gives.
    points
        Sums of the deterministic aggregations.
    shared : (models, metrics, n_cases)
        What single annotators share with the models; missing where opinions are not rankings.
    point_labels
        Labels of the deterministic aggregations, for metrics of a whole data set.
    votes
        What single annotators say, for the same; missing if there are no such metrics.
    """

    case_names: tuple[str, ...]
    excluded: tuple[str, ...]
    conditions: tuple[str, ...]
    drawings: tuple[Drawing, ...]
    outcomes: tuple[Outcome, ...]
    points: tuple[ExactTally, ...]
    shared: FloatArray | None
    point_labels: tuple[LabelsByTruth, ...] = ()
    votes: Labels | None = None

    @property
    def kept(self) -> Kept:
        """What metrics of a whole data set need."""
        return Kept(tuple(outcome.labels for outcome in self.outcomes), self.point_labels, self.votes)

    def __add__(self, other: Evaluated) -> Evaluated:
        return Evaluated(
            (*self.case_names, *other.case_names),
            (*self.excluded, *other.excluded),
            self.conditions,
            self.drawings,
            tuple(one + more for one, more in zip(self.outcomes, other.outcomes, strict=True)),
            tuple(one + more for one, more in zip(self.points, other.points, strict=True)),
            None
            if self.shared is None or other.shared is None
            else np.concatenate([self.shared, other.shared], axis=-1),
            tuple(joined_labels(one, more) for one, more in zip(self.point_labels, other.point_labels, strict=True)),
            None if self.votes is None or other.votes is None else self.votes + other.votes,
        )


@dataclass(frozen=True, eq=False)
class Plan:
    """Evaluate any part of the cases.

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
    unit
        In which the weights of all cases are counted, see :func:`~dissensus.evaluation.tally.unit_of`.
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
    unit: float = 1.0
    sketches: bool = True

    def evaluated(
        self,
        study: Study,
        models: Mapping[str, Predictions],
        strata: Strata,
        *,
        threads: int | None = None,
        advance: Callable[[int], None] | None = None,
        sampled: Sequence[Plausibilities] | None = None,
    ) -> Evaluated:
        """Evaluate all aggregations on the cases of a study that all models have.

        ``sampled`` are their draws, if they are known already.
        """
        sampled = self.sampled(study, threads) if sampled is None else sampled
        job = self.job(study, models, strata)
        outcomes = tuple(
            self._job_of(job, spec, one).run(one, advance) for spec, one in zip(self.aggregations, sampled, strict=True)
        )
        at_once, names = self.single(study, models), sampled[0].case_names
        points = tuple(at_once.run(spec.sample(study, threads=threads), None) for spec in self.points if models)
        return Evaluated(
            names,
            sampled[0].excluded,
            common_conditions(sampled),
            tuple(Drawing(one.n_draws, one.n_chains, one.fitted) for one in sampled),
            outcomes,
            tuple(outcome.totals.tally for outcome in points),
            shared_means(SingleOpinions.of(at_once), names) if models else None,
            tuple(outcome.labels for outcome in points),
            vote_labels(study, names) if job.truths and models and _have_labels(study, job) else None,
        )

    @property
    def category_names(self) -> tuple[str, ...]:
        """Names of the categories, if there are any."""
        return () if self.categories is None else self.categories.names

    def rounded(self, totals: Sequence[Totals], points: Sequence[ExactTally]) -> dict[str, Any]:
        """Round the sums of all runs and of the deterministic aggregations; by field of an evaluation.

        A bin of certainty that has no cases has sums of zero.
        """
        keys, names = sorted({key for one in totals for key in one.strata}), self.category_names
        bins = range(len(EDGES) - 1) if len(self.tops) else ()
        return {
            "tallies": tuple(one.tally.rounded(self.unit) for one in totals),
            "point_tallies": tuple(tally.rounded(self.unit) for tally in points),
            "stratum_tallies": {key: tuple(one.strata[key].rounded(self.unit) for one in totals) for key in keys},
            "category_tallies": {
                name: tuple(one.categories[name].rounded(self.unit) for one in totals) for name in names
            },
            "category_resamples": {
                name: tuple(one.category_resamples[name].rounded(self.unit).in_single_precision() for one in totals)
                for name in names
            },
            "bin_tallies": tuple(
                tuple(one.bins.get(number, _thinned_zeros(one)).rounded(self.unit) for one in totals) for number in bins
            ),
            "fits": tuple(None if one.fit is None else one.fit.rounded(self.unit) for one in totals),
        }

    def job(self, study: Study, models: Mapping[str, Predictions], strata: Strata) -> Job:
        """Return what evaluates the batches of draws."""
        return Job(
            metrics=self.metrics,
            models=models,
            seed=self.seed,
            draws=self.draws,
            study=study,
            tops=self.tops,
            categories=self.categories,
            strata=strata,
            depth=self.depth,
            unit=self.unit,
            sketches=self.sketches,
        )

    def single(self, study: Study, models: Mapping[str, Predictions]) -> Job:
        """Return the same for single draws, of which nothing but the means is asked for."""
        own = self.job(study, models, {})
        return replace(own, draws=1, categories=None, tops=np.empty(0, dtype=np.int64))

    def sampled(self, study: Study, threads: int | None = None) -> list[Plausibilities]:
        """Draw every case of which all aggregations have draws."""
        return common_draws(
            [spec.sample(study, draws=self.draws, seed=self.seed, threads=threads) for spec in self.aggregations]
        )

    def _job_of(self, job: Job, spec: Aggregation, drawn: Plausibilities) -> Job:
        """Fit the job to an aggregation: a single draw counts for as many as were asked for."""
        prior, draws = known_prior([spec]), self.draws if drawn.n_draws == 1 else drawn.n_draws
        if prior is None or self.refits is None:
            return replace(job, draws=draws)
        return replace(job, draws=draws, refits=_reweighting(prior, job.study, self.refits))


def _reweighting(prior: InformedPrior, study: Study, refits: FloatArray) -> Reweighting:
    if isinstance(prior, RatingPrior):
        return RatingRefits(prior, refits)
    return Refits(prior, study.opinions, refits)


def _thinned_zeros(totals: Totals) -> ExactTally:
    """Return the sums of no cases, by as many draws as groups of cases see."""
    n_models, n_metrics, n_draws = totals.tally.sums.high.shape
    return ExactTally.zeros(n_models, n_metrics, -(-n_draws // step_of(n_draws)))


def _have_labels(study: Study, job: Job) -> bool:
    """Tell whether single opinions are labels of draws; a rating is no interval between thresholds."""
    return job.has_numbers or study.kind != "ratings"


def depth_of(metrics: Sequence[Metric], models: Mapping[str, Predictions], tops: IntArray) -> int:
    """Return how many places of a draw matter."""
    wanted = (metric.depth_for(model) for metric in metrics for model in models.values())
    return int(max(chain([1], tops.tolist(), wanted)))


def known_prior(specs: Sequence[Aggregation]) -> InformedPrior | None:
    """Return the prior that was given to an aggregation, if any was."""
    fields = ("case_prior", "rating_prior")
    given = (getattr(spec, name, None) for spec in specs for name in fields)
    return next((prior for prior in given if prior is not None), None)


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
) -> InformedPrior:
    """Fit the prior that models inform to a study of any kind; ``start`` was fitted to a similar one."""
    if study.kind == "ratings":
        shifts = any(spec.is_informed and getattr(spec, "shifts", False) for spec in specs)
        known = start.left_out if isinstance(start, RatingPrior) else None
        return rating_prior(study, models, shifts=shifts, left_out=known)
    return informed_prior(study, models, start=start if isinstance(start, CasePrior) else None)


def shared_means(alone: SingleOpinions | None, names: Sequence[str]) -> FloatArray | None:
    """Average what single annotators share with the models, on the cases with these names."""
    if alone is None:
        return None
    place = {name: i for i, name in enumerate(alone.study.case_names)}
    return alone.means()[..., [place[name] for name in names]]


def common_draws(sampled: Sequence[Plausibilities]) -> list[Plausibilities]:
    """Keep the cases of which all aggregations have draws; the others are named among the excluded."""
    if len({drawn.case_names for drawn in sampled}) < 2:
        return list(sampled)
    shared = set(sampled[0].case_names).intersection(*(drawn.case_names for drawn in sampled))
    excluded = tuple(dict.fromkeys(name for drawn in sampled for name in (*drawn.excluded, *drawn.case_names)))
    lost = tuple(name for name in excluded if name not in shared)
    kept = [name for name in sampled[0].case_names if name in shared]
    return [replace(drawn.select(kept), excluded=lost) for drawn in sampled]


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
