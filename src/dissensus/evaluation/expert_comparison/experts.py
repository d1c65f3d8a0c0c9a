"""The model beside the experts: its agreement with one of them, and theirs with each other, on the same cases.

Nothing is assumed about a truth: annotators are exchangeable, and no model has seen what they said. Every annotator is
left out in turn and scored like a model against the others; every model is scored on the same cases against the same
others. Differences are paired, and their intervals are over cases and annotators.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from dissensus.core.aliases import FloatArray, IntArray
from dissensus.core.checks import checked
from dissensus.core.errors import DissensusError
from dissensus.core.ragged import weighted_counts
from dissensus.core.spec import as_specs
from dissensus.evaluation.annotators import AnnotatorSpread, Design, are_crossed
from dissensus.evaluation.expert_comparison.alternative_annotator import (
    AlternativeAnnotator,
    alternative_annotator_test,
    first_shares,
)
from dissensus.evaluation.expert_comparison.pairs import Pairs, Pooled, values_of_cases
from dissensus.evaluation.expert_comparison.survey_equivalence import Panels, Worth, worth_of
from dissensus.evaluation.folds import clusters_of
from dissensus.evaluation.influences import FINDING
from dissensus.evaluation.intervals import Part
from dissensus.evaluation.questions import Questions
from dissensus.evaluation.request import check_request, common_cases, default_metrics, listed_metrics
from dissensus.metrics.base import Metric
from dissensus.metrics.data_set import DataSetMetric
from dissensus.metrics.decisions import Sensitivity, Specificity
from dissensus.metrics.ranking import SensitivityAtSpecificity
from dissensus.predictions.alignment import aligned_models
from dissensus.predictions.lists import Predictions
from dissensus.study.study import Study

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import ArrayLike

# So many cases with two annotators or more are needed.
LEAST_CASES = 10


@dataclass(frozen=True, eq=False)
class Experts:
    """Hold how well models and annotators agree with one annotator.

    Attributes
    ----------
    rows
        A row per metric and model: ``metric``, ``model``, ``experts`` (agreement of one annotator with another, with
        ``experts_low``, ``experts_high``), ``agreement`` (of the model with one annotator, ``low``, ``high``),
        ``difference`` (model minus annotator, ``difference_low``, ``difference_high``), its parts ``case_sd`` and
        ``annotator_sd``, and the ``verdict`` where there is a margin.
    worth
        How many annotators each model is worth, by its name.
    annotator_rows
        A row per named annotator, metric and model: the annotator scored like a model against the others, and the model
        against the same others.
    called
        What an annotator is called.
    margin, level
        How much worse still counts as not inferior, if that was said, and the probability that intervals hold.
    n_cases, n_left_out
        Cases with two annotators or more, and those that lack a second one.
    notes
        What has to be known to read it.

    Examples
    --------
    >>> import dissensus as ds
    >>> study = ds.simulate.study(n_cases=60, n_conditions=5, seed=1)
    >>> found = experts(study.annotations, study.predictions, metrics=["top-k-accuracy:1"])
    >>> found.n_cases
    60
    """

    rows: tuple[dict[str, Any], ...]
    worth: Mapping[str, Worth]
    annotator_rows: tuple[dict[str, Any], ...]
    called: str
    margin: float | None
    level: float
    n_cases: int
    n_left_out: int
    notes: tuple[str, ...]
    _study: Study
    _models: Mapping[str, Predictions]

    def to_frame(self) -> pl.DataFrame:
        """Return :attr:`rows` as a frame, with the worth of each model.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=60, n_conditions=5, seed=1)
        >>> found = ds.experts(study.annotations, study.predictions, ["top-k-accuracy:1"])
        >>> found.to_frame().columns[:3]
        ['metric', 'model', 'experts']
        """
        import polars as pl

        found = pl.DataFrame(list(self.rows))
        for part in ("value", "low", "high"):
            of_model = {name: getattr(one, part) for name, one in self.worth.items()}
            column = "worth" if part == "value" else f"worth_{part}"
            found = found.with_columns(pl.Series(column, [of_model.get(name) for name in found["model"]], pl.Float64))
        return found

    def annotators(self) -> pl.DataFrame:
        """Return :attr:`annotator_rows` as a frame.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=60, n_conditions=5, seed=1)
        >>> found = ds.experts(study.annotations, study.predictions, ["top-k-accuracy:1"])
        >>> found.annotators().columns[:3]
        ['annotator', 'metric', 'n_cases']
        """
        import polars as pl

        return pl.DataFrame(list(self.annotator_rows))

    def alt_test(self, epsilon: float = 0.2) -> dict[str, AlternativeAnnotator]:
        """Test of every model whether it may take the place of an annotator (Calderon and others 2025).

        Parameters
        ----------
        epsilon
            By how much the annotator may be the better one, between 0 and 1: 0.2 for experts, 0.1 for crowds.

        Examples
        --------
        >>> import dissensus as ds
        >>> study = ds.simulate.study(n_cases=200, n_conditions=5, seed=1)
        >>> found = ds.experts(study.annotations, study.predictions, ["top-k-accuracy:1"])
        >>> 0 <= found.alt_test()["Aster"].winning_rate <= 1
        True
        """
        return {
            name: alternative_annotator_test(self._study, model, epsilon=epsilon)
            for name, model in self._models.items()
        }

    def __repr__(self) -> str:
        metric = self.rows[0]["metric"]
        own = [row for row in self.rows if row["metric"] == metric]
        lines = [f"{metric} with one {self.called}: {self.n_cases} cases, {100 * self.level:g} % intervals"]
        first = own[0]
        width = max(len(self.called) + 4, *(len(row["model"]) for row in own))
        lines.append(f"  {f'one {self.called}':<{width}}  {_shown(first, 'experts')}")
        for row in own[:15]:
            verdict = f"  {row['verdict']}" if row["verdict"] else ""
            gap = f"difference {row['difference']:+.3f} [{row['difference_low']:+.3f}, {row['difference_high']:+.3f}]"
            worth = f"  worth {self.worth[row['model']]}" if row["model"] in self.worth else ""
            lines.append(f"  {row['model']:<{width}}  {_shown(row, 'agreement')}  {gap}{worth}{verdict}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes[:2])])


def _shown(row: Mapping[str, Any], name: str) -> str:
    low, high = ("low", "high") if name == "agreement" else (f"{name}_low", f"{name}_high")
    return f"{row[name]:.3f} [{row[low]:.3f}, {row[high]:.3f}]"


@checked
def experts(
    study: Study,
    predictions: Mapping[str, ArrayLike | Predictions],
    metrics: Sequence[Metric | str] | None = None,
    *,
    margin: float | None = None,
    called: str = "annotator",
    level: float = 0.95,
    allow_missing: bool = False,
) -> Experts:
    """Put models beside the annotators: agreement with one annotator, on the same cases against the same others.

    Parameters
    ----------
    study
        What the annotators said; cases with one annotator are left out and counted.
    predictions
        As in :func:`evaluate`.
    metrics
        Specs or their text; by default those of the kind of question, as far as an annotator can be measured by them.
    margin
        How much worse than an annotator a model may be to count as non-inferior, in units of the metric; with it, every
        model is superior, non-inferior, or that is not shown (one-sided, at half of one minus the level).
    called
        What an annotator is called, such as "radiologist".
    level
        Probability that intervals hold.
    allow_missing
        Take the cases that all models have, instead of refusing models that lack some.

    Examples
    --------
    >>> from dissensus import Study
    >>> said = Study.from_counts([[3, 1], [0, 4]] * 10, ["a", "b"])
    >>> found = experts(said, {"A": [[0.9, 0.1], [0.2, 0.8]] * 10}, ["top-k-accuracy:1"])
    >>> row = found.rows[0]
    >>> round(row["experts"], 3), round(row["agreement"], 3), str(found.worth["A"])
    (0.75, 0.875, '>3 [>3, >3]')
    """
    findings = study.kind == "checklists"
    models = aligned_models(
        predictions, study.case_names, study.conditions, allow_missing=allow_missing, findings=findings
    )
    asked = Questions.of(study.select(common_cases(study, models)), models)
    pairs = Pairs.of(asked.study)
    n_rows = len(asked.study.case_names)
    if pairs.study.n_cases < LEAST_CASES:
        raise DissensusError(
            "too few cases have opinions of two annotators",
            expected=f"at least {LEAST_CASES}",
            got=f"{pairs.study.n_cases} of {n_rows}",
            advice="ask a second annotator about some of the cases",
        )
    said = {name: model.select(list(pairs.study.case_names)) for name, model in asked.models.items()}
    kind = "numbers" if pairs.study.kind == "ratings" else "ranking"
    usual = default_metrics(pairs.study, said, pairs.study.conditions, None)
    wanted = as_specs(Metric.family, usual if metrics is None else listed_metrics(metrics))
    check_request(wanted, {name: model for name, model in said.items() if model.kind != "set"}, level)
    chosen = tuple(metric for metric in wanted if kind in metric.accepts)
    notes = [f"{metric.name} needs scores, which {called}s do not give" for metric in wanted if metric not in chosen]
    if not chosen:
        raise DissensusError("no metric can be computed of an annotator", got="; ".join(notes))
    if not models:
        raise DissensusError("there is no model to put beside annotators", expected="predictions of at least one")
    if margin is not None and not 0 < margin < np.ptp(chosen[0].range):
        raise DissensusError(
            f"the margin is outside of the range of {chosen[0].name}",
            expected=f"above 0 and below {np.ptp(chosen[0].range):g}",
            got=f"{margin:g}",
        )
    sample = Sample.of(pairs, said, chosen, findings=asked.labels.get(FINDING, {}), called=called)
    if sample.spread is None:
        notes.append(f"intervals are about these {called}s: too few of them have names and common cases")
    rows = sample.rows(margin, level)
    return Experts(
        tuple(rows),
        sample.worth(level),
        tuple(sample.annotator_rows(level)),
        called,
        margin,
        level,
        pairs.study.n_cases,
        n_rows - pairs.study.n_cases,
        tuple(notes),
        asked.study,
        asked.models,
    )


class PointOfExperts(NamedTuple):
    """The sensitivity of a model at the specificity of annotators, beside their sensitivity; a metric of pairs only."""

    specificity: float
    called: str
    range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True

    @property
    def name(self) -> str:
        """What it is called."""
        return f"sensitivity at the specificity of one {self.called} ({self.specificity:.3f})"


@dataclass(frozen=True, eq=False)
class Sample:
    """Hold what every pair of annotators, and every model and annotator, is worth.

    Attributes
    ----------
    pairs, shares
        Who is compared with whom, and the share of each pair in its case.
    models, metrics
        What is compared.
    pooled
        What metrics of a whole data set see.
    of_pairs : (metrics, n_pairs)
        Agreement of one annotator with another.
    of_models : (models, metrics, n_opinions)
        Agreement of each model with each annotator.
    """

    pairs: Pairs
    shares: FloatArray
    models: Mapping[str, Predictions]
    metrics: tuple[Metric | PointOfExperts, ...]
    pooled: Pooled
    of_pairs: FloatArray
    of_models: FloatArray

    @staticmethod
    def of(
        pairs: Pairs,
        models: Mapping[str, Predictions],
        metrics: tuple[Metric, ...],
        *,
        findings: Mapping[str, str],
        called: str,
    ) -> Sample:
        """Compare everybody with everybody; of two answers, also at the annotators' point of the curve."""
        study, shares = pairs.study, pairs.shares()
        rows = np.arange(study.n_cases)
        _, of_finding = np.unique([findings.get(name, "") for name in study.case_names], return_inverse=True)
        items = clusters_of(study, rows) if findings else rows
        pooled = Pooled(pairs, study.case_weights, of_finding.astype(np.int64), items)
        alone = [metric for metric in metrics if not isinstance(metric, DataSetMetric)]
        of_pairs = np.empty((len(metrics), len(shares)))
        of_models = np.empty((len(models), len(metrics), study.n_opinions))
        places = [place for place, metric in enumerate(metrics) if metric in alone]
        if alone:
            of_pairs[places], of_models[:, places] = values_of_cases(alone, pairs, models, called)
        found = Sample(pairs, shares, models, metrics, pooled, of_pairs, of_models).weighed_by(shares)
        return found.with_point(called) if any(isinstance(metric, Sensitivity) for metric in metrics) else found

    def with_point(self, called: str) -> Sample:
        """Add the sensitivity of models at the specificity that annotators have on average, beside theirs."""
        case_weights = self.pairs.study.case_weights
        shares = self.shares * case_weights[self.pairs.case] / case_weights.sum()
        specificity = float(shares @ self.pooled.of_pairs(Specificity(), self.shares))
        if not 0 < specificity < 1 or any(model.kind != "scores" for model in self.models.values()):
            return self
        there = SensitivityAtSpecificity(specificity)
        of_models = [self.pooled.of_model(there, model, self.shares) for model in self.models.values()]
        return replace(
            self,
            metrics=(*self.metrics, PointOfExperts(specificity, called)),
            of_pairs=np.vstack([self.of_pairs, self.pooled.of_pairs(Sensitivity(), self.shares)]),
            of_models=np.concatenate([self.of_models, np.array(of_models)[:, None]], axis=1),
        )

    def by_case(self, shares: FloatArray) -> FloatArray:
        """Average over the pairs of each case: annotators, then models; shape (1 + models, metrics, n_cases)."""
        study, pairs = self.pairs.study, self.pairs
        mass = weighted_counts(pairs.target, shares, study.n_opinions)
        case = study.panel.case_of_opinion
        flat = self.of_models.reshape(-1, study.n_opinions)
        models = np.array([weighted_counts(case, mass * row, study.n_cases) for row in flat])
        models = models.reshape(len(self.models), len(self.metrics), study.n_cases)
        return np.concatenate([pairs.by_case(self.of_pairs, shares)[None], models])

    @cached_property
    def means(self) -> FloatArray:
        """Agreement of annotators and of models on each case, shape (1 + models, metrics, n_cases)."""
        return self.by_case(self.shares)

    @cached_property
    def clusters(self) -> IntArray:
        """What is resampled together: groups of cases, or cases."""
        return clusters_of(self.pairs.study, np.arange(self.pairs.study.n_cases))

    @cached_property
    def spread(self) -> AnnotatorSpread | None:
        """How far agreement moves when annotators are left out, both as predictors and as labels."""
        study = self.pairs.study
        if not are_crossed(study):
            return None
        design = Design.of(study)
        group_of = {name: int(group) for name, group in zip(design.study.annotator_names, design.group_of, strict=True)}
        of_name = np.array([group_of.get(name, -1) for name in study.annotator_names] + [-1])
        group = of_name[study.annotators]
        rows = study.panel.positions(list(design.study.case_names))[design.case]
        found = np.empty((*self.means.shape[:2], len(rows)))
        for number in range(design.n_groups):
            own = design.group == number
            kept = (group[self.pairs.predictor] != number) & (group[self.pairs.target] != number)
            found[..., own] = self.by_case(self.pairs.shares(kept))[..., rows[own]]
        return design.spread(found)

    def estimate(self, values: FloatArray, bounds: tuple[float, float], part: Part | None, level: float) -> Estimate:
        """Average values over cases; the interval is over cases, and over annotators where they are a sample."""
        return estimate(values, self.pairs.study.case_weights, self.clusters, bounds, part, level)

    def rows(self, margin: float | None, level: float) -> list[dict[str, Any]]:
        """Return a row per metric and model."""
        found = []
        alone = None if self.spread is None else self.spread.of_models()
        for k, metric in enumerate(self.metrics):
            low, high = bounds = metric.range

            def one(who: int, k: int = k, bounds: tuple[float, float] = bounds) -> Estimate:
                part = None if alone is None else Part(alone.variance[who, k], alone.before[who, k], alone.freedom)
                return self.estimate(self.means[who, k], bounds, part, level)

            of_experts = one(0)
            for number, name in enumerate(self.models, start=1):
                part = None
                if self.spread is not None:
                    both = self.spread.of_difference(number, 0)
                    part = Part(both.variance[k], both.before[k], both.freedom)
                apart = self.means[number, k] - self.means[0, k]
                own, gap = one(number), self.estimate(apart, (low - high, high - low), part, level)
                found.append(
                    {
                        "metric": metric.name,
                        "model": name,
                        **of_experts.named("experts", "experts_low", "experts_high"),
                        **own.named("agreement", "low", "high"),
                        **gap.named("difference", "difference_low", "difference_high"),
                        "case_sd": gap.case_sd,
                        "annotator_sd": gap.annotator_sd,
                        "verdict": "" if margin is None or k else verdict(gap, margin, better=metric.higher_is_better),
                    }
                )
        return found

    def worth(self, level: float) -> dict[str, Worth]:
        """Return how many annotators each model is worth, by first choices or, of ratings, by squared distance."""
        study = self.pairs.study
        panels, case = Panels(study), study.panel.case_of_opinion
        mass = weighted_counts(self.pairs.target, self.shares, study.n_opinions)
        part = None
        if self.spread is not None and not isinstance(self.metrics[0], DataSetMetric):
            part = self.spread
        found = {}
        for number, (name, model) in enumerate(self.models.items(), start=1):
            if study.kind == "ratings":
                values = -np.square(model.numbers[case] - study.scores)
            else:
                shares = first_shares(model, study.n_conditions)[case]
                values = np.asarray(shares.multiply(self.pooled.labels).sum(axis=1)).ravel()
            own = weighted_counts(case, mass * values, study.n_cases)
            both = None if part is None else part.of_difference(number, 0)

            def half(gaps: FloatArray, able: Any, both: Part | None = both) -> tuple[float, float]:
                of_annotators = None if both is None else Part(both.variance[0], both.before[0], both.freedom)
                weights = np.where(able, study.case_weights, 0.0)
                found = estimate(
                    np.where(able, gaps, 0.0), weights, self.clusters, (-np.inf, np.inf), of_annotators, level
                )
                return found.mean, (found.high - found.low) / 2

            found[name] = worth_of(own, panels, half)
        return found

    def annotator_rows(self, level: float) -> list[dict[str, Any]]:
        """Score every named annotator like a model, beside every model on the same cases against the same others."""
        study, found = self.pairs.study, []
        for code, name in enumerate(study.annotator_names):
            kept = study.annotators[self.pairs.predictor] == code
            shares = self.pairs.shares(kept)
            read = np.bincount(self.pairs.case[kept], minlength=study.n_cases) > 0
            if read.sum() < LEAST_CASES:
                continue
            means = self.weighed_by(shares).by_case(shares)
            weights = np.where(read, study.case_weights, 0.0)
            for k, metric in enumerate(self.metrics):
                low, high = metric.range
                alone = estimate(means[0, k], weights, self.clusters, (low, high), None, level)
                for number, model in enumerate(self.models, start=1):
                    apart, ends = means[number, k] - means[0, k], (low - high, high - low)
                    gap = estimate(apart, weights, self.clusters, ends, None, level)
                    found.append(
                        {
                            "annotator": name,
                            "metric": metric.name,
                            "n_cases": int(read.sum()),
                            **alone.named("agreement", "low", "high"),
                            "model": model,
                            "model_agreement": alone.mean + gap.mean,
                            **gap.named("difference", "difference_low", "difference_high"),
                        }
                    )
        return found

    def weighed_by(self, shares: FloatArray) -> Sample:
        """Return the same where metrics of a whole data set are those of pairs with these shares."""
        of_pairs, of_models = self.of_pairs.copy(), self.of_models.copy()
        for place, metric in enumerate(self.metrics):
            if isinstance(metric, DataSetMetric):
                of_pairs[place] = self.pooled.of_pairs(metric, shares)
                for number, model in enumerate(self.models.values()):
                    of_models[number, place] = self.pooled.of_model(metric, model, shares)
        return replace(self, of_pairs=of_pairs, of_models=of_models)


@dataclass(frozen=True)
class Estimate:
    """A mean over cases with its interval and what makes it uncertain."""

    mean: float
    low: float
    high: float
    case_sd: float
    annotator_sd: float

    def named(self, *names: str) -> dict[str, float]:
        """Return mean and limits under names of columns."""
        return dict(zip(names, (self.mean, self.low, self.high), strict=True))


def estimate(
    values: FloatArray,
    weights: FloatArray,
    clusters: IntArray,
    bounds: tuple[float, float],
    part: Part | None,
    level: float,
) -> Estimate:
    """Average values over cases, with Student's t interval at the degrees of freedom of Satterthwaite.

    The variance over cases is that of clusters, with one more case at the ends of the range, so that no interval is
    empty; that over annotators is added where they are a sample.

    >>> found = estimate(np.array([0.0, 1.0, 1.0, 1.0]), np.ones(4), np.arange(4), (0.0, 1.0), None, 0.95)
    >>> round(found.mean, 2), round(found.low, 2), round(found.high, 2)
    (0.75, 0.0, 1.0)
    """
    total = float(weights.sum())
    mean = float(weights @ values / total)
    sums = weighted_counts(clusters, weights * (values - mean), int(clusters.max()) + 1)
    n = int((weighted_counts(clusters, weights, len(sums)) > 0).sum())
    low, high = bounds
    end = (high - low) / 2 if math.isfinite(high - low) else float(np.ptp(values)) / 2
    unit = float(np.square(weights).sum()) / total
    cases = (float(np.square(sums).sum()) * n / max(n - 1, 1) + (unit * end) ** 2) / total**2
    annotators = 0.0 if part is None else float(part.variance)
    doubt = cases**2 / max(n - 1, 1) + (0.0 if part is None else float(part.before) ** 2 / part.freedom)
    df = max((cases + annotators) ** 2 / doubt, 1.0) if doubt > 0 else np.inf
    half = float(stdtrit(df, (1 + level) / 2)) * math.sqrt(cases + annotators)
    return Estimate(
        mean,
        max(mean - half, low),
        min(mean + half, high),
        math.sqrt(cases),
        math.nan if part is None else math.sqrt(annotators),
    )


def verdict(gap: Estimate, margin: float, *, better: bool) -> str:
    """Say what an interval of a difference, model minus annotator, shows.

    >>> verdict(Estimate(0.1, 0.02, 0.18, 0.0, 0.0), 0.05, better=True)
    'superior'
    """
    low = gap.low if better else -gap.high
    return "superior" if low > 0 else "non-inferior" if low > -margin else "not shown"
