"""What is estimated: every model and metric against one reference, over some cases, and where the values may lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.aggregations.base import Aggregation
from dissensus.core.arrays import FloatArray, IntArray
from dissensus.core.spec import SWEPT, distinct_names
from dissensus.evaluation.annotators import AnnotatorSpread
from dissensus.evaluation.intervals import (
    CATEGORY_FIT,
    GROUP_RESAMPLES,
    RESAMPLES,
    FamilySpread,
    FitSpread,
    Part,
    Resampled,
    Spread,
    end_weights,
    spread,
)
from dissensus.evaluation.sums import (
    ALL,
    DATA_SET,
    EACH,
    Place,
    Sums,
    Tally,
    block_places,
    design_effects,
    resampled_means,
)
from dissensus.evaluation.tally import ANNOTATORS, TRUTH
from dissensus.metrics.base import Metric

if TYPE_CHECKING:
    from dissensus.evaluation.comparison import Difference
    from dissensus.evaluation.results import Evaluation

# What a number is an estimate of: see the glossary.
PANEL, ADJUSTED, AGREEMENT = "panel", "adjusted", "agreement"

# What the column ``estimand`` says of point estimates: usual practice reports them, and says not of what.
PRACTICE = "practice"

# What tables call references that are no runs, and what these estimate.
ESTIMANDS = {ANNOTATORS: AGREEMENT, TRUTH: TRUTH}

# Stands for the end of a range that has none, where it is multiplied by nothing.
BEYOND = 1e100


@dataclass(frozen=True)
class Run:
    """One aggregation as it was sampled.

    Attributes
    ----------
    spec
        The aggregation with all its parameters.
    aggregation
        Its id, with the parameters that tell it from others of the same evaluation; the reliability is not part of it.
    n_draws, n_chains
        Draws per case, and the chains they come from.
    fitted
        The numbers that parameters stand for which were fitted to the study, by name.

    Examples
    --------
    >>> from dissensus.aggregations import PlackettLuce
    >>> Run(PlackettLuce(3), "plackett-luce", 1000, 4).label
    'plackett-luce 3'
    """

    spec: Aggregation
    aggregation: str
    n_draws: int
    n_chains: int
    fitted: Mapping[str, float] = field(default_factory=dict)

    @property
    def reliability(self) -> float | None:
        """How much annotators are trusted, where that is a parameter."""
        value = self.spec.parameters().get(SWEPT)
        return None if value is None else float(value)

    @property
    def estimand(self) -> str:
        """What its values estimate: those of a large panel if models inform the prior, otherwise adjusted ones.

        >>> from dissensus.aggregations import PlackettLuce
        >>> Run(PlackettLuce(prior="informed"), "plackett-luce", 1000, 4).estimand
        'panel'
        """
        return PANEL if self.spec.is_informed else ADJUSTED

    @property
    def label(self) -> str:
        """Aggregation and reliability: no two runs of an evaluation have the same. The panel needs no reliability."""
        plain = self.reliability is None or (self.estimand == PANEL and self.reliability == 1)
        return self.aggregation if plain else f"{self.aggregation} {self.reliability:g}"

    @property
    def identity(self) -> dict[str, Any]:
        """What the columns of every table say about a run."""
        known = {"aggregation": self.aggregation, "reliability": self.reliability, "estimand": self.estimand}
        return {"run": self.label, **known}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self.record() == other.record()

    __hash__ = None  # type: ignore[assignment]

    def record(self) -> dict[str, Any]:
        """Return everything as plain values.

        Examples
        --------
        >>> from dissensus.aggregations import MajorityVote
        >>> Run(MajorityVote(), "majority-vote", 1, 1).record()["spec"]["id"]
        'majority-vote'
        """
        numbers = {"n_draws": self.n_draws, "n_chains": self.n_chains}
        fitted = {"fitted": dict(self.fitted)} if self.fitted else {}
        return {"run": self.label, "aggregation": self.aggregation, "spec": self.spec.record(), **numbers, **fitted}


def run_names(specs: Sequence[Aggregation]) -> tuple[str, ...]:
    """Name aggregations; those that models inform are called after what they estimate.

    >>> from dissensus.aggregations import PlackettLuce
    >>> run_names([PlackettLuce(), PlackettLuce(prior="informed")])
    ('plackett-luce', 'panel')
    """
    others = iter(distinct_names([spec for spec in specs if not spec.is_informed]))
    informed = [spec for spec in specs if spec.is_informed]
    several = len({spec.id for spec in informed}) > 1
    return tuple((f"{PANEL} {spec.id}" if several else PANEL) if spec.is_informed else next(others) for spec in specs)


def leading_runs(specs: Sequence[Aggregation], leads: str, best: Aggregation | None = None) -> tuple[int, int]:
    """Return the places of the headline run and of the reference run, see :class:`Evaluation`.

    Parameters
    ----------
    specs
        The aggregations of all runs.
    leads
        What results lead with.
    best
        What held-out annotators chose.

    Examples
    --------
    >>> from dissensus.aggregations import PlackettLuce
    >>> specs = [*map(PlackettLuce, (1, 3, 10)), PlackettLuce(prior="informed")]
    >>> leading_runs(specs, "agreement"), leading_runs(specs, "adjusted")
    ((3, 0), (1, 1))
    """
    places = range(len(specs))
    adjusted = [place for place in places if not specs[place].is_informed] or list(places)
    first = [place for place in adjusted if specs[place].id == specs[adjusted[0]].id]
    plain = [place for place in first if specs[place].parameters().get(SWEPT) == 1 and leads == AGREEMENT]
    reference = plain[0] if plain else first[len(first) // 2]
    if best is not None:
        reference = [spec.record() for spec in specs].index(best.record())
    panel = [place for place in places if specs[place].is_informed and leads == AGREEMENT]
    return (panel[0] if panel else reference), reference


@dataclass(frozen=True, eq=False)
class Estimate:
    """The values of all models and metrics against one reference, and what they are estimates of.

    Attributes
    ----------
    evaluation
        What it belongs to.
    key
        What names of sums call the reference.
    run
        The run whose draws are the reference; missing for opinions of single annotators, the truth and usual practice.
    place
        Which cases. At a certainty, annotators and what was fitted count as fixed.
    """

    evaluation: Evaluation
    key: str
    run: Run | None = None
    place: Place = ALL

    def at(self, place: Place) -> Estimate:
        """Return the same over other cases."""
        return replace(self, place=place)

    @property
    def identity(self) -> Mapping[str, Any]:
        """What the columns of every table say: ``run``, ``aggregation``, ``reliability`` and ``estimand``."""
        if self.run is not None:
            return self.run.identity
        points, name = self.evaluation.points, self.key
        if name not in ESTIMANDS:
            name = distinct_names(points)[point_keys(points).index(name)]
        return {"run": name, "aggregation": name, "reliability": None, "estimand": ESTIMANDS.get(name, PRACTICE)}

    @property
    def is_known(self) -> bool:
        """Whether anything was summed over these cases."""
        return ("weight", self.key, *self.place) in self.evaluation.sums

    @property
    def n_cases(self) -> int:
        """How many cases there are."""
        return int(self.evaluation.sums.arrays.get(("n", self.key, *self.place), 0))

    @cached_property
    def tally(self) -> Tally:
        """Sums over the cases, by draw."""
        return Tally(*self._stacked("draws", axis=2))

    @cached_property
    def means(self) -> FloatArray:
        """Mean of every case that is held, shape (models, metrics, cases)."""
        return stacked(self.evaluation.sums, self.evaluation.metrics, "cases", "means", self.key)

    @property
    def annotators(self) -> AnnotatorSpread | None:
        """How far means move when annotators are left out; missing where they count as fixed."""
        found = self.evaluation.moved.get(self.key)
        return found if found is not None and (self.place == ALL or self.place in found.places) else None

    @cached_property
    def fit(self) -> tuple[FitSpread, FamilySpread] | tuple[None, None]:
        """How far means move when the prior is fitted to resampled cases, and under another family, if one was."""
        word = CATEGORY_FIT if self.place[0] == "category" else "fit"
        if not self.evaluation.sums.names(word, self.key, *self.place):
            return None, None
        found = self._stacked(word, axis=3)
        return FitSpread(found[:, :-1]), FamilySpread(found[:, -1:])

    def _stacked(self, what: str, axis: int = 1) -> FloatArray:
        return stacked(self.evaluation.sums, self.evaluation.metrics, what, self.key, *self.place, axis=axis)

    # Intervals --------------------------------------------------------------------------------------------

    @cached_property
    def designs(self) -> tuple[FloatArray, int | None]:
        """How many cases an added case stands for (models, then pairs; metrics), and the number of groups."""
        whole = self.evaluation
        if self.place[0] == "category":  # every case may count for it
            return next(one for one in whole.estimates if one.key == self.key).designs
        n_models, n_groups = len(whole.models), None
        n_rows = n_models * (n_models + 1) // 2 if self.place == ALL else n_models
        found = np.ones((n_rows, len(whole.metrics)))
        for block in (EACH, DATA_SET):
            name = (self.key, *self.place, block)
            if ("moments", *name) in whole.sums:
                n_cases = whole.n_cases if self.place == ALL else self.n_cases
                found[:, block_places(whole.metrics, block)], n_groups = design_effects(whole.sums, name, n_cases)
        return found, n_groups

    @cached_property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest value of each metric, as far as it has limits; otherwise those seen."""
        metrics = self.evaluation.metrics
        ranges = np.array([metric.range for metric in metrics], dtype=np.float64).reshape(-1, 2)
        seen = np.stack([self.at(ALL)._stacked(what) for what in ("least", "greatest")])
        # no value of a whole data set is one of a case
        seen[:, :, block_places(metrics, DATA_SET)] = np.array([-BEYOND, BEYOND])[:, None, None]
        low, high = (np.where(np.isfinite(limit), limit, own) for limit, own in zip(ranges.T, seen, strict=True))
        return low, high

    @cached_property
    def resampled(self) -> Resampled:
        """Means over resampled cases on the scale of each metric, without added cases."""
        whole, reach = self.evaluation, ("reach", self.key, *self.place, DATA_SET)
        both, squares = (self._stacked(*how).astype(np.float64) for how in (("resampled", 2), ("squares", 1)))
        designs = self.designs[0][: len(whole.models)].copy()
        if reach in whole.sums:
            designs[:, block_places(whole.metrics, DATA_SET)] *= whole.sums[reach]
        centres, scales = over_draws(np.mean, self.tally.means), [metric.scale for metric in whole.metrics]
        return resampled_means(both, squares, self.tally, designs).on_scales(centres, scales)

    @cached_property
    def spread(self) -> Spread:
        """Where the means of all models may lie on cases like these."""
        return self._spread(self.resampled, *self.limits)

    @np.errstate(invalid="ignore")  # the spread around what is infinite is undefined
    def spread_of_difference(self, first: IntArray, second: IntArray) -> Spread:
        """Return where the differences of pairs of models may lie on cases like these, for all metrics."""
        names = np.argsort(np.argsort(self.evaluation.models))
        sign = np.where(names[first] > names[second], -1.0, 1.0)[:, None]  # so that the other order is its mirror image
        one, other = np.where(sign[:, 0] < 0, [second, first], [first, second])
        own, designs, a, b = self.resampled, self.designs[0], np.minimum(one, other), np.maximum(one, other)
        pair = len(names) + a * (2 * len(names) - a - 1) // 2 + b - a - 1  # as combinations put them
        low, high = self.limits
        widest = np.maximum(high[a], high[b]) - np.minimum(low[a], low[b])
        cases = Resampled(
            own.means[one] - own.means[other],
            (own.masses[one] + own.masses[other]) / 2,
            own.units[one] / designs[one] * designs[pair],
            own.gaps[one] - own.gaps[other],
        )
        found = self._spread(cases, -widest, widest, (one, other))
        return replace(found, values=sign[..., None] * found.values, third=sign * found.third)

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """All pairs of models, by metric and then by pair, each from better to worse."""
        from dissensus.evaluation.comparison import differences_of

        return tuple(differences_of(self))

    def _spread(
        self, cases: Resampled, low: FloatArray, high: FloatArray, pairs: tuple[IntArray, IntArray] | None = None
    ) -> Spread:
        annotators, fit, family = (None if one is None else one.part(pairs) for one in (self.annotators, *self.fit))
        if self.annotators is not None and self.place != ALL:
            annotators = Part(*self.annotators.places[self.place])
        ends = end_weights(self.evaluation.seed, RESAMPLES if self.place == ALL else GROUP_RESAMPLES)
        n_groups, level = self.designs[1], self.evaluation.level
        parts = {"annotators": annotators, "fit": fit, "family": family}
        return spread(cases, low, high, ends=ends, n_groups=n_groups, **parts, level=level)

    # Rows of tables ---------------------------------------------------------------------------------------

    @np.errstate(invalid="ignore")  # the difference of what is infinite is undefined
    def rows(self) -> list[dict[str, Any]]:
        """Return one tidy row per model and metric; metrics that the reference does not have are left out."""
        whole, means = self.evaluation, self.tally.means
        n_draws, n_chains = (1, 1) if self.run is None else (self.run.n_draws, self.run.n_chains)
        if self.key in point_keys(whole.points):  # usual practice says nothing about intervals
            numbers = {"mean": means[..., 0]}
        else:
            numbers = summary(means, self.spread, n_chains, whole.level)
        if self.run is not None and self.run.spec.limit in whole.points:
            number = whole.points.index(self.run.spec.limit)
            limit = Estimate(whole, point_keys(whole.points)[number], place=self.place)
            if limit.is_known:
                numbers["point_estimate"] = limit.tally.means[..., 0]
                numbers["difference"] = numbers["point_estimate"] - numbers["mean"]
        return [
            {
                **self.identity,
                "model": whole.models[m],
                "metric": whole.metrics[k].name,
                **{name: float(value[m, k]) for name, value in numbers.items()},
                "n_draws": min(n_draws, self.tally.n_draws),
            }
            for m, k in np.ndindex(means.shape[:2])
            if self.run is not None or not np.isnan(means[m, k]).all()
        ]


def point_keys(points: Sequence[Aggregation]) -> list[str]:
    """Return what names of sums call deterministic aggregations."""
    return [f"point {place}" for place in range(len(points))]


def stacked(sums: Sums, metrics: Sequence[Metric], *name: str | int, axis: int = 1) -> FloatArray:
    """Put what is known of metrics of single cases and of those of a whole data set into the order of metrics."""
    blocks = {block: own for block in (EACH, DATA_SET) if (own := block_places(metrics, block))}
    if len(blocks) == 1:
        return sums[*name, *blocks]
    parts = [np.moveaxis(sums[*name, block], axis, 0) for block in blocks]
    shape = np.broadcast_shapes(*(part.shape[1:] for part in parts))
    full = [np.broadcast_to(part, (len(own), *shape)) for part, own in zip(parts, blocks.values(), strict=True)]
    order = np.argsort([k for own in blocks.values() for k in own])
    return np.moveaxis(np.concatenate(full)[order], 0, axis)


@np.errstate(invalid="ignore")  # the spread around what is infinite is undefined
def summary(means: FloatArray, apart: Spread, n_chains: int, level: float) -> dict[str, FloatArray]:
    """Summarise the means over cases of every draw, as they are and on cases like these, each (models, metrics).

    The interval always holds the mean. Draws in which no case counts, as in a rare category, are left out.
    """
    from dissensus.aggregations.diagnostics import standard_errors_of_means

    tails = ((1 - level) / 2, (1 + level) / 2)
    mean, errors = over_draws(np.mean, means), standard_errors_of_means(means.reshape(-1, means.shape[-1]), n_chains)
    parts = ("case_sd", "annotator_sd", "draw_sd", "fit_sd", "family_sd")
    return {
        "mean": mean,
        "sd": over_draws(np.std, means),
        "low": np.fmin(over_draws(np.quantile, apart.values, q=tails[0]), mean),
        "high": np.fmax(over_draws(np.quantile, apart.values, q=tails[1]), mean),
        "annotation_low": over_draws(np.quantile, means, q=tails[0]),
        "annotation_high": over_draws(np.quantile, means, q=tails[1]),
        "min": over_draws(np.min, means),
        "max": over_draws(np.max, means),
        **{name: getattr(apart, name) for name in parts},
        "mc_error": errors.reshape(means.shape[:-1]),
    }


def over_draws(function: Callable[..., Any], values: FloatArray, **options: float) -> FloatArray:
    """Apply a function along the last axis, to the draws that have a value; nan where none has.

    >>> over_draws(np.max, np.array([[1.0, np.nan], [np.nan, np.nan]]))
    array([ 1., nan])
    """
    is_known = ~np.isnan(values)
    if is_known.all():
        return np.asarray(function(values, axis=-1, **options))
    found = np.full(values.shape[:-1], np.nan)
    for place in np.ndindex(found.shape):
        if is_known[place].any():
            found[place] = function(values[place][is_known[place]], **options)
    return found
