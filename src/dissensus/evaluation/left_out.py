"""Evaluate again without some annotators, to see how far what results lead with moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dissensus.core.aliases import FloatArray
from dissensus.evaluation.annotators import AnnotatorSpread, Design
from dissensus.evaluation.estimates import block_places
from dissensus.evaluation.folds import Fold
from dissensus.evaluation.labels import Labels, LabelsByTruth, data_set_metrics, vote_labels
from dissensus.evaluation.plan import ANNOTATORS, Plan, informed_by, prior_for
from dissensus.evaluation.refits import InformedPrior, known_prior
from dissensus.evaluation.sums import DATA_SET, FINDING, Sums
from dissensus.evaluation.tally import Tallier, opinion_means, table_entries
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study

if TYPE_CHECKING:
    from dissensus.evaluation.influences import Valued
    from dissensus.metrics.data_set import DataSetMetric

# Draws per case where annotators are left out: the noise of draws is told apart from what annotators move.
LEFT_OUT_DRAWS = 250


class Piece(NamedTuple):
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
    runs
        The runs that results lead with: annotators count as fixed in others.
    threads
        How many threads draw.
    """

    pieces: Sequence[Piece]
    models: Mapping[str, Predictions]
    design: Design
    findings: Mapping[str, str]
    runs: Sequence[int]
    threads: int | None = None

    @property
    def plan(self) -> Plan:
        """What is computed, without what is learned."""
        return self.pieces[0].plan

    @cached_property
    def _metrics(self) -> tuple[DataSetMetric, ...]:
        return data_set_metrics(self.plan.metrics)

    @cached_property
    def _names(self) -> list[str]:
        """The cases of the design on which somebody said something, in its order."""
        study = self.design.study
        return [name for name, count in zip(study.case_names, study.panel.votes_per_case, strict=True) if count]

    @cached_property
    def _of_opinions(self) -> FloatArray:
        plan = replace(self.plan, categories=None)
        return Tallier(plan, self.design.study, self.models, {}).of_opinions()[0][0]

    def spreads(self, advance: Callable[[int], None] | None) -> dict[str, AnnotatorSpread]:
        """Say how far these runs and the agreement with single annotators move; nothing for draws from elsewhere."""
        whole: dict[str, Valued] = {}
        if self._metrics:
            whole = {key: self._valued(labels) for key, (_, labels) in self._evaluated(None).items()}
        found: dict[str, list[FloatArray]] = {}
        for group in np.unique(self.design.group):
            fold = self.design.fold(int(group))
            for key, (means, labels) in self._evaluated(fold).items():
                found.setdefault(key, []).append(self._arranged(means, whole.get(key), labels, fold.case_names))
            if advance is not None:
                advance(len(fold.cases) * len(self.runs))
        return {key: self.design.spread(np.concatenate(means, axis=-1)) for key, means in found.items()}

    def _evaluated(self, fold: Fold | None) -> dict[str, tuple[FloatArray, LabelsByTruth]]:
        """Evaluate the cases of a fold, or all with everybody, under these runs: means of cases, and labels.

        Every piece is evaluated by itself; where opinions are missing, its prior is fitted again.
        """
        study, names = (self.design.study, self._names) if fold is None else (fold.reweighted, fold.case_names)
        order = {name: place for place, name in enumerate(names)}
        parts: dict[str, list[tuple[FloatArray, LabelsByTruth]]] = {}
        rows: list[int] = []
        for piece in self.pieces:
            wanted, aggregations = set(piece.study.case_names), piece.plan.aggregations
            own = [name for name in names if name in wanted]
            if not own:
                continue
            rows += [order[name] for name in own]
            said = study if len(self.pieces) == 1 else study.select([n for n in study.case_names if n in wanted])
            tallier = Tallier(replace(piece.plan, draws=LEFT_OUT_DRAWS), said, self.models, {})
            prior = None if fold is None else known_prior([aggregations[run] for run in self.runs])
            if prior is not None:
                asked = {name: model.select(list(said.case_names)) for name, model in self.models.items()}
                prior = prior_for(aggregations, said, asked, prior)
            for run in self.runs:
                if (spec := aggregations[run]).id != "given-draws":
                    how: dict[str, Any] = {"draws": LEFT_OUT_DRAWS, "seed": self.plan.seed, "threads": self.threads}
                    drawn = informed_by(spec, prior).sample(said, **how).select(own)
                    parts.setdefault(f"run {run}", []).append(tallier.compared(drawn))
        back = np.argsort(rows, kind="stable")
        found: dict[str, tuple[FloatArray, LabelsByTruth]] = {
            key: (
                np.concatenate([means for means, _ in own], axis=-1)[..., back],
                {truth: Labels.joined([labels[truth] for _, labels in own]).take(back) for truth in own[0][1]},
            )
            for key, own in parts.items()
        }
        if self.plan.agreement:
            kept = np.arange(study.n_opinions) if fold is None else np.flatnonzero(fold.votes > 0)
            means = opinion_means(study, self._of_opinions[..., kept])[..., study.panel.positions(names)]
            votes = vote_labels(study, names)
            found[ANNOTATORS] = means, {metric.truth: votes for metric in self._metrics}
        return found

    # Metrics of a whole data set --------------------------------------------------------------------------

    def _valued(self, labels: LabelsByTruth) -> Valued:
        """Compute metrics of a whole data set with everybody, to know what every case adds."""
        from dissensus.evaluation.influences import DataSet, SomeCases

        study = self.design.study.select(self._names)
        strata = {FINDING: dict(self.findings)} if self.findings else {}
        table = {("rows", "names"): np.array(self._names), **table_entries(study, self.models, strata, self._names)}
        cases = SomeCases(self.plan, Sums(table), len(self.models), study.question == "binary")
        back = np.argsort(cases.order, kind="stable")
        return DataSet(tuple(one.select(back) for one in cases.said), labels).valued(self._metrics)

    def _arranged(
        self, means: FloatArray, whole: Valued | None, labels: LabelsByTruth, names: Sequence[str]
    ) -> FloatArray:
        """Put pseudo-values of metrics of a whole data set beside the means of others (models, metrics, n_cases)."""
        if whole is None:
            return means
        places = block_places(self.plan.metrics, DATA_SET)
        found = np.empty((len(means), len(self.plan.metrics), means.shape[-1]))
        found[:, np.delete(np.arange(found.shape[1]), places)] = means
        position = {name: i for i, name in enumerate(self._names)}
        masses = np.stack([labels[metric.truth].means for metric in self._metrics])
        found[:, places] = whole.pseudo_values(masses, np.array([position[name] for name in names], dtype=np.int64))
        return found
