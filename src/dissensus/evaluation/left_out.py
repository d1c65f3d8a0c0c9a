"""Evaluate again without some annotators, to see how far every run moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dissensus.aggregations.given_draws import GivenDraws
from dissensus.core.aliases import FloatArray
from dissensus.evaluation.annotators import AnnotatorSpread, Design
from dissensus.evaluation.influences import FINDING, AllCases, DataSet, Valued, data_set_metrics, places_of
from dissensus.evaluation.labels import Labels, LabelsByTruth, plain_labels, vote_labels, vote_masses
from dissensus.evaluation.plan import ANNOTATORS, Plan, informed_by, known_prior, prior_for
from dissensus.evaluation.refits import InformedPrior
from dissensus.evaluation.sums import Sums
from dissensus.evaluation.tally import SingleOpinions, Tallier, table_entries
from dissensus.metrics.data_set import DataSetMetric
from dissensus.predictions.lists import Predictions
from dissensus.study.panel import ANONYMOUS
from dissensus.study.study import Study

# Draws per case where annotators are left out: the noise of draws is told apart from what annotators move.
LEFT_OUT_DRAWS = 250


@dataclass(frozen=True, eq=False)
class Piece:
    """Cases of which everything is learned together: all cases of a study, or those of one finding.

    Attributes
    ----------
    plan
        What is computed, with everything that is learned fixed.
    study, models
        The cases.
    prior
        The prior that models inform, if there is one.
    """

    plan: Plan
    study: Study
    models: Mapping[str, Predictions]
    prior: InformedPrior | None = None


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

    def spreads(self, advance: Callable[[int], None] | None) -> dict[str, AnnotatorSpread]:
        """Say how far every run and the agreement with single annotators move; nothing for draws from elsewhere."""
        runs = {one.key: one.spec for one in self.plan.references if one.detail == "run"}
        keys = [key for key, spec in runs.items() if not isinstance(spec, GivenDraws)]
        whole = (
            {key: self._valued(labels) for key, (_, labels) in self._runs(self.design.study, self._names, keys).items()}
            if self._metrics
            else {}
        )
        found: dict[str, list[FloatArray]] = {}
        for group in np.unique(self.design.group):
            fold = self.design.fold(int(group))
            study, names = fold.reweighted, fold.case_names
            refitted = self._runs(study, names, keys, again=True)
            for key, (means, labels) in refitted.items():
                found.setdefault(key, []).append(self._arranged(means, whole.get(key), labels, names))
            if advance is not None:
                advance(len(names) * len(runs))
        spreads = {key: self.design.spread(np.concatenate(means, axis=-1)) for key, means in found.items()}
        return {**spreads, **({ANNOTATORS: self._single()} if self.plan.agreement else {})}

    def _runs(
        self, study: Study, names: Sequence[str], keys: Sequence[str], *, again: bool = False
    ) -> dict[str, tuple[FloatArray, LabelsByTruth]]:
        """Evaluate some cases of a study under every run, piece by piece: means of cases, and labels.

        ``again`` where opinions are missing, so that priors are fitted again.
        """
        order = {name: place for place, name in enumerate(names)}
        parts: dict[str, list[tuple[FloatArray, LabelsByTruth]]] = {}
        rows: list[int] = []
        for piece in self.pieces:
            wanted = set(piece.study.case_names)
            own = [name for name in names if name in wanted]
            if not own:
                continue
            rows += [order[name] for name in own]
            said = study if len(self.pieces) == 1 else study.select([n for n in study.case_names if n in wanted])
            tallier = Tallier(replace(piece.plan, draws=LEFT_OUT_DRAWS), said, self.models, {})
            prior = known_prior(piece.plan.aggregations) if again else None
            if prior is not None:
                names_said = list(said.case_names)
                asked = {name: model.select(names_said) for name, model in self.models.items()}
                prior = prior_for(piece.plan.aggregations, said, asked, prior)
            for key in keys:
                spec = informed_by(piece.plan.aggregations[int(key.split()[1])], prior)
                how: dict[str, Any] = {"draws": LEFT_OUT_DRAWS, "seed": self.plan.seed, "threads": self.threads}
                parts.setdefault(key, []).append(tallier.compared(spec.sample(said, **how).select(own)))
        back = np.argsort(rows, kind="stable")
        return {
            key: (
                np.concatenate([means for means, _ in own], axis=-1)[..., back],
                {truth: Labels.joined([labels[truth] for _, labels in own]).take(back) for truth in own[0][1]},
            )
            for key, own in parts.items()
        }

    # Metrics of a whole data set --------------------------------------------------------------------------

    @cached_property
    def _metrics(self) -> tuple[DataSetMetric, ...]:
        return data_set_metrics(self.plan.metrics)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The cases of the design on which somebody said something, in its order."""
        counts = self.design.study.panel.votes_per_case
        return tuple(name for name, count in zip(self.design.study.case_names, counts, strict=True) if count)

    def _valued(self, labels: LabelsByTruth) -> Valued:
        """Compute metrics of a whole data set with everybody, to know what every case adds."""
        names = list(self._names)
        strata = {FINDING: dict(self.findings)} if self.findings else {}
        study = self.design.study.select(names)
        table = {("rows", "names"): np.array(names), **table_entries(study, self.models, strata, names)}
        is_binary = study.question == "binary"
        cases = AllCases(self.plan, Sums(table), len(self.models), is_binary)
        back = np.argsort(cases.order, kind="stable")
        return DataSet(tuple(one.select(back) for one in cases.said), labels).valued(self._metrics)

    def _arranged(
        self, means: FloatArray, whole: Valued | None, labels: LabelsByTruth, names: Sequence[str]
    ) -> FloatArray:
        """Put pseudo-values of metrics of a whole data set beside the means of others (models, metrics, n_cases)."""
        if whole is None:
            return means
        places = places_of(self.plan.metrics)
        found = np.empty((len(means), len(self.plan.metrics), means.shape[-1]))
        found[:, np.delete(np.arange(found.shape[1]), places)] = means
        position = {name: i for i, name in enumerate(self._names)}
        masses = np.stack([labels[metric.truth].means for metric in self._metrics])
        found[:, places] = whole.pseudo_values(masses, np.array([position[name] for name in names], dtype=np.int64))
        return found

    def _single(self) -> AnnotatorSpread:
        """Say how far the agreement with single annotators moves."""
        design, found = self.design, []
        alone = SingleOpinions.of(Tallier(self.plan, design.study, self.models, {}))
        groups = np.append(design.group_of, ANONYMOUS)[alone.study.annotators]
        whole = None
        if self._metrics:
            votes = vote_labels(design.study, self._names)
            whole = self._valued({metric.truth: votes for metric in self._metrics})
        for group in np.unique(design.group):
            cases = design.case[design.group == group]
            means = alone.means(cases, kept=np.flatnonzero(groups != group))
            labels: LabelsByTruth = {}
            if whole is not None:
                rows = np.full(design.study.n_cases, -1, dtype=np.int64)
                rows[cases] = np.arange(len(cases))
                left = np.where(groups != group, rows[alone.study.panel.case_of_opinion], -1)
                masses = plain_labels("masses", 1, np.empty((0, 0)), vote_masses(alone.study, left, len(cases)))
                labels = {metric.truth: masses for metric in self._metrics}
            names = [design.study.case_names[case] for case in cases]
            found.append(self._arranged(means, whole, labels, names))
        return design.spread(np.concatenate(found, axis=-1))
