"""Evaluate again without some annotators, to see how far every run moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dissensus.aggregation.base import Aggregation
from dissensus.aggregation.given_draws import GivenDraws
from dissensus.core.aliases import FloatArray, IntArray
from dissensus.evaluation.annotators import AnnotatorSpread, Design
from dissensus.evaluation.batches import Job
from dissensus.evaluation.completion import SeenCases
from dissensus.evaluation.data_set import FINDING, DataSet, Valued, places_of, whole_metrics
from dissensus.evaluation.labels import LabelsByTruth, vote_labels, vote_masses
from dissensus.evaluation.plan import Plan, informed_by, known_prior, prior_for
from dissensus.evaluation.refits import InformedPrior
from dissensus.evaluation.single_opinions import SingleOpinions
from dissensus.predictions.lists import Predictions
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study

LEFT_OUT_DRAWS = 250
"""Draws per case where annotators are left out: the noise of draws is told apart from what annotators move."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Cases of which everything is learned together: all cases of a study, or those of one finding.

    Attributes
    ----------
    plan
        What is computed, with everything that is learned fixed.
    case_names
        The cases.
    """

    plan: Plan
    case_names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Evaluate the cases of a design without groups of annotators.

    Attributes
    ----------
    pieces
        What is computed.
    models
        What the models said, about these cases and others.
    design
        Who is left out of which cases.
    findings
        The finding that each case of the study is about, by name; empty where cases are cases.
    threads
        How many threads draw.
    """

    pieces: Sequence[Piece]
    models: Mapping[str, Predictions]
    design: Design
    findings: Mapping[str, str]
    threads: int | None = None

    @property
    def plan(self) -> Plan:
        """What is computed, without what is learned."""
        return self.pieces[0].plan

    @property
    def places(self) -> IntArray:
        """Where metrics of a whole data set stand among all metrics."""
        return places_of(self.plan.metrics)

    def spreads(self, advance: Callable[[int], None] | None) -> tuple[AnnotatorSpread | None, ...]:
        """Say how far every run moves; nothing for draws from elsewhere."""
        groups = [int(group) for group in np.unique(self.design.group)]
        whole = [self._valued(run) for run in range(len(self.plan.aggregations))]
        found: list[list[FloatArray]] = [[] for _ in self.plan.aggregations]
        for group in groups:
            study, cases = self.design.without(group), self.design.cases_of(group)
            for run, means in enumerate(self._means(study, cases, whole)):
                if means is not None:
                    found[run].append(means)
                if advance is not None:
                    advance(len(cases))
        return tuple(self.design.spread(np.concatenate(means, axis=-1)) if means else None for means in found)

    def _means(self, study: Study, cases: Sequence[str], whole: Sequence[Valued | None]) -> list[FloatArray | None]:
        """Return the means of cases of every run (models, metrics, n_cases) on a study without some opinions."""
        order = {name: place for place, name in enumerate(cases)}
        found: list[FloatArray | None] = []
        parts = [self._part(piece, study, cases) for piece in self.pieces]
        for run, valued in enumerate(whole):
            own = [(names, by_run[run]) for names, by_run in parts if names and by_run[run] is not None]
            if not own:
                found.append(None)
                continue
            rows = np.argsort([order[name] for names, _ in own for name in names], kind="stable")
            means = np.concatenate([means for _, (means, _) in own], axis=-1)[..., rows]  # type: ignore[misc]
            if valued is not None:
                labels = _stacked(self.plan, [labels for _, (_, labels) in own])[:, rows]  # type: ignore[misc]
                means[:, self.places] = valued.pseudo_values(labels, self._positions(cases))
            found.append(means)
        return found

    def _part(
        self, piece: Piece, study: Study, cases: Sequence[str]
    ) -> tuple[list[str], list[tuple[FloatArray, LabelsByTruth] | None]]:
        """Evaluate the cases of one piece: their names, and for every run their means and labels."""
        own, wanted = self._own(piece, study), set(piece.case_names)
        names = [name for name in cases if name in wanted]
        if not names:
            return [], []
        prior = refitted_prior(own, self.models, piece.plan.aggregations)
        job = self._job(piece, own)
        return names, [self._run(job, informed_by(spec, prior), own, names) for spec in piece.plan.aggregations]

    def _run(
        self, job: Job, spec: Aggregation, study: Study, names: list[str]
    ) -> tuple[FloatArray, LabelsByTruth] | None:
        if isinstance(spec, GivenDraws):
            return None
        drawn = spec.sample(study, draws=LEFT_OUT_DRAWS, seed=self.plan.seed, threads=self.threads).select(names)
        outcome = job.run(drawn, None)
        return outcome.means, outcome.labels

    def _own(self, piece: Piece, study: Study) -> Study:
        """Keep the cases of a piece."""
        if len(self.pieces) == 1:
            return study
        wanted = set(piece.case_names)
        return study.select([name for name in study.case_names if name in wanted])

    def _job(self, piece: Piece, study: Study) -> Job:
        return replace(piece.plan.single(study, self.models), draws=LEFT_OUT_DRAWS)

    # Metrics of a whole data set --------------------------------------------------------------------------

    def _positions(self, cases: Sequence[str]) -> IntArray:
        return np.array([self._place[name] for name in cases], dtype=np.int64)

    @cached_property
    def _place(self) -> dict[str, int]:
        """Where each annotated case of the design stands, by name."""
        return {name: i for i, name in enumerate(self._annotated)}

    @cached_property
    def _annotated(self) -> tuple[str, ...]:
        """The cases of the design on which somebody said something, in its order."""
        counts = self.design.study.panel.votes_per_case
        return tuple(name for name, count in zip(self.design.study.case_names, counts, strict=True) if count)

    def _valued(self, run: int) -> Valued | None:
        """Compute metrics of a whole data set with everybody, to know what every case adds."""
        if not len(self.places) or isinstance(self.plan.aggregations[run], GivenDraws):
            return None
        study, labels = self.design.study, []
        for piece in self.pieces:
            own, wanted = self._own(piece, study), set(piece.case_names)
            names = [name for name in self._annotated if name in wanted]
            found = self._run(self._job(piece, own), piece.plan.aggregations[run], own, names)
            assert found is not None  # as draws are not given
            labels.append((names, found[1]))
        rows = np.argsort(self._positions([name for names, _ in labels for name in names]), kind="stable")
        joined = {
            truth: type(one).joined([of_piece[truth] for _, of_piece in labels]).take(rows)
            for truth, one in labels[0][1].items()
        }
        return self._completed(joined)

    def _completed(self, labels: LabelsByTruth) -> Valued:
        """Compute metrics of a whole data set on the annotated cases of the design, in their order."""
        names = list(self._annotated)
        study = self.design.study.select(names)
        models = {name: model.select(names) for name, model in self.models.items()}
        strata = {FINDING: [self.findings[name] for name in names]} if self.findings else {}
        seen = SeenCases.of(study, models, strata, ())
        data = DataSet(seen.said, labels)
        return data.valued(whole_metrics(self.plan.metrics))

    def shared(self) -> AnnotatorSpread:
        """Say how far the agreement with single annotators moves."""
        design, found = self.design, []
        alone = SingleOpinions.of(self.plan.single(design.study, self.models))
        assert alone is not None  # as it is asked for only where it is defined
        groups = np.append(design.group_of, ANONYMOUS)[alone.study.annotators]
        single = None
        if len(self.places):
            votes = vote_labels(design.study, self._annotated)
            single = self._completed({metric.truth: votes for metric in whole_metrics(self.plan.metrics)})
        for group in np.unique(design.group):
            cases = design.case[design.group == group]
            means = alone.means(cases, kept=np.flatnonzero(groups != group))
            if single is not None:
                rows = np.full(design.study.n_cases, -1, dtype=np.int64)
                rows[cases] = np.arange(len(cases))
                left = np.where(groups != group, rows[alone.study.panel.case_of_opinion], -1)
                masses = np.broadcast_to(
                    vote_masses(alone.study, left, len(cases)), (len(self.places), len(cases), single.labels.shape[-1])
                )
                names = [design.study.case_names[case] for case in cases]
                means[:, self.places] = single.pseudo_values(masses, self._positions(names))
            found.append(means)
        return design.spread(np.concatenate(found, axis=-1))


def _stacked(plan: Plan, parts: Sequence[LabelsByTruth]) -> FloatArray:
    """Return the mean labels of all cases for every metric of a whole data set, shape (metrics, n_cases, K)."""
    truths = [metric.truth for metric in whole_metrics(plan.metrics)]
    return np.stack([np.concatenate([part[truth].means for part in parts]) for truth in truths])


def refitted_prior(
    study: Study, models: Mapping[str, Predictions], specs: Sequence[Aggregation]
) -> InformedPrior | None:
    """Fit a prior again to a study that lacks some opinions or cases, if an aggregation has one."""
    known = known_prior(specs)
    if known is None:
        return None
    names = list(study.case_names)
    return prior_for(specs, study, {name: model.select(names) for name, model in models.items()}, known)
