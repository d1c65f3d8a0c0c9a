"""What came out: an immutable result that answers questions in the user's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from dissensus.aggregations.base import Aggregation
from dissensus.certainty.categories import Categories
from dissensus.core.aliases import FloatArray, Path
from dissensus.core.checks import checked
from dissensus.core.errors import DissensusError, listing, suggestion
from dissensus.core.names import known_name
from dissensus.core.receipt import Receipt
from dissensus.core.spec import SWEPT, distinct_names
from dissensus.core.value import Value, equal_fields
from dissensus.core.versions import present_versions
from dissensus.evaluation import tables
from dissensus.evaluation.annotators import AnnotatorSpread
from dissensus.evaluation.curves import Curve
from dissensus.evaluation.influences import FINDING
from dissensus.evaluation.intervals import GROUP_RESAMPLES, RESAMPLES, Resampled, Spread, end_weights, spread
from dissensus.evaluation.labels import LabelsByTruth, kept_labels
from dissensus.evaluation.plan import ANNOTATORS, TRUTH
from dissensus.evaluation.profiles import Profiles
from dissensus.evaluation.refits import FitSpread
from dissensus.evaluation.sums import ALL, DATA_SET, EACH, Place, Sums, Tally, design_effects, resampled_means
from dissensus.evaluation.tables import RUN, SUMMARY
from dissensus.evaluation.tally import EDGES
from dissensus.metrics.base import Metric
from dissensus.metrics.data_set import DataSetMetric
from dissensus.predictions.lists import Predictions
from dissensus.study.question import PAIR
from dissensus.study.study import Study

if TYPE_CHECKING:
    import polars as pl

    from dissensus.evaluation.calibration import Calibration
    from dissensus.evaluation.comparison import Comparison
    from dissensus.evaluation.plots import Plots

# What a number is an estimate of: see the glossary.
PANEL, ADJUSTED, AGREEMENT = "panel", "adjusted", "agreement"

# What the column ``estimand`` says of point estimates: usual practice reports them, and says not of what.
PRACTICE = "practice"

# What the columns of tables say about references that are no runs.
IDENTITIES = {
    ANNOTATORS: {"run": ANNOTATORS, "aggregation": ANNOTATORS, "reliability": None, "estimand": AGREEMENT},
    TRUTH: {"run": TRUTH, "aggregation": TRUTH, "reliability": None, "estimand": TRUTH},
}

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
    def fitted_words(self) -> str:
        """What was fitted, in words; empty if nothing was.

        >>> from dissensus.aggregations import Dirichlet
        >>> Run(Dirichlet(alpha="fitted"), "dirichlet", 1000, 1, {"alpha": 0.0134}).fitted_words
        'alpha = 0.0134'
        """
        return ", ".join(f"{name} = {value:.3g}" for name, value in self.fitted.items())

    @property
    def identity(self) -> dict[str, Any]:
        """What the columns of every table say about a run."""
        return {
            "run": self.label,
            "aggregation": self.aggregation,
            "reliability": self.reliability,
            "estimand": self.estimand,
        }

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


@dataclass(frozen=True)
class PriorRecord:
    """How much each model informs the prior of the panel estimate.

    Attributes
    ----------
    models
        One row per model; see :meth:`CasePrior.table`.
    concentrations
        How many votes the prior of a case is worth: least, quartiles, most.
    reason
        Why there is no panel estimate; empty if there is one.
    warnings
        What deserves a look, in sentences.
    """

    models: tuple[Mapping[str, Any], ...] = ()
    concentrations: tuple[float, ...] = ()
    reason: str = ""
    warnings: tuple[str, ...] = ()

    def table(self) -> pl.DataFrame:
        """Return the rows of all models."""
        import polars as pl

        return pl.DataFrame(list(self.models))


@dataclass(frozen=True, eq=False)
class Estimate:
    """One number per model, metric and case, and what it is an estimate of.

    Attributes
    ----------
    key
        What names of sums call it.
    identity
        What the columns of every table say about it: ``run``, ``aggregation``, ``reliability`` and ``estimand``.
    means : (models, metrics, n_cases)
        Mean of every case.
    tally
        Sums over cases by draw.
    annotators
        How far means over cases move when annotators are left out, if that is known.
    fit
        How far they move when the prior is fitted to resampled cases, if it was fitted.
    n_draws, n_chains
        Draws per case, and the chains they come from.
    """

    key: str
    identity: Mapping[str, Any]
    means: FloatArray
    tally: Tally
    annotators: AnnotatorSpread | None = None
    fit: FitSpread | None = None
    n_draws: int = 1
    n_chains: int = 1


# What a row is labelled with, the estimate, the cases, and how many they are.
Wanted: TypeAlias = tuple[Mapping[str, Any], Estimate, Place, float]


@dataclass(frozen=True)
class Certainties:
    """Count the cases whose annotations leave the answer open.

    Attributes
    ----------
    n_cases, n_open, n_open_categories, n_rough
        How many cases there are, of how many the first condition is uncertain, of how many its category, and of how
        many the certainty is not known well.
    mean
        The mean certainty.
    """

    n_cases: int
    n_open: int
    n_open_categories: int
    n_rough: int
    mean: float


@dataclass(frozen=True, eq=False)
class Evaluation(Value):
    """Hold every metric of every model under every aggregation.

    Attributes
    ----------
    runs
        The aggregations that were sampled.
    points
        The deterministic aggregations that point estimates come from.
    metrics
        The metrics.
    study
        The opinions on the evaluated cases that are held here: all, or a sample of so many that they are not.
    conditions
        Names of the conditions.
    predictions
        The first conditions that each model named.
    sums
        Sums over all cases, from which every table follows, and what is known of each case that is held.
    categories
        Categories of the conditions, if there are any.
    strata
        For every column of cases, the label of each case.
    images
        A path or address of a picture of each case; empty if there are none.
    inputs
        Hashes of the files that it came from.
    excluded, n_excluded
        Cases without any opinion, the first ones of very many; and how many there are.
    n_annotators
        How many annotators have a name; missing if these are too many to be counted.
    moved
        How far means move when annotators are left out, by reference; empty where they count as fixed.
    prior
        How much each model informs the prior; missing where there is no panel estimate.
    calibration
        What annotators who were held out say, if they chose the reference run; otherwise missing.
    remarks
        What makes a metric of a whole data set meaningless, in sentences.
    lines
        Curves of the headline run and of the reference run, and rows of their confusion matrices.
    disputed
        Of more cases than are held, the evaluation of those with the least certainty, to be looked at.
    level
        Probability that intervals hold.
    seed
        The seed of all draws.
    versions
        Versions of the packages that computed it.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
    >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
    >>> result = ds.evaluate(said, models, aggregations=["majority-vote"], strata={"site": ["N", "S"]})
    >>> for row in result.to_frame().select("run", "estimand", "model", "mean").iter_rows():
    ...     print(row)
    ('majority-vote', 'adjusted', 'A', 1.0)
    ('majority-vote', 'adjusted', 'B', 0.5)
    ('annotators', 'agreement', 'A', 0.875)
    ('annotators', 'agreement', 'B', 0.625)
    >>> result.runs[0].spec, result.metrics
    (MajorityVote(), (TopKAccuracy(k=1, j=1),))
    >>> result.by_group("site").filter(model="B").select("stratum", "mean", "n_cases").rows()
    [('N', 0.0, 1.0), ('S', 1.0, 1.0)]
    >>> result.by_certainty().select("bin", "model", "mean", "n_cases").rows()
    [('0.99 to 1', 'A', 1.0, 2), ('0.99 to 1', 'B', 0.5, 2)]
    >>> result.point_estimates().filter(aggregation="majority-vote").drop("metric").rows()
    [('majority-vote', 'practice', 'A', 1.0), ('majority-vote', 'practice', 'B', 0.5)]
    >>> result.per_case().filter(model="B").select("case", "mean", "sd").rows()
    [('x', 0.0, 0.0), ('y', 1.0, 0.0)]
    >>> result.certainties().select("run", "top", "case", "certainty", "winner").rows()
    [('majority-vote', 1, 'x', 1.0, ['a']), ('majority-vote', 1, 'y', 1.0, ['b'])]
    >>> result.plausibilities().select("case", "condition", "mean", "top").head(3).rows()
    [('x', 'a', 0.75, 1.0), ('x', 'b', 0.25, 0.0), ('x', None, 0.0, 0.0)]
    >>> result.agreement().rows()
    [('x', 0.75, 4), ('y', 1.0, 4)]
    >>> result.compare().differences[0].difference
    0.5
    """

    runs: tuple[Run, ...]
    points: tuple[Aggregation, ...]
    metrics: tuple[Metric, ...]
    study: Study
    conditions: tuple[str, ...]
    predictions: Mapping[str, Predictions]
    sums: Sums
    categories: Categories | None = None
    strata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    images: tuple[str, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    excluded: tuple[str, ...] = ()
    n_excluded: int = 0
    n_annotators: int | None = 0
    moved: Mapping[str, AnnotatorSpread] = field(default_factory=dict)
    prior: PriorRecord | None = None
    calibration: Calibration | None = None
    remarks: tuple[str, ...] = ()
    lines: tuple[Curve, ...] = ()
    disputed: Evaluation | None = None
    level: float = 0.9
    seed: int = 0
    versions: Mapping[str, str] = field(default_factory=present_versions)

    # What was evaluated -----------------------------------------------------------------------------------

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """What was understood of the files: of opinions, then of each model; none for what was built in memory."""
        found = [self.study.receipt, *(said.receipt for said in self.predictions.values())]
        return tuple(receipt for receipt in found if receipt is not None)

    @property
    def case_names(self) -> tuple[str, ...]:
        """The evaluated cases that are held here: all, or a sample of so many that they are not."""
        return self.study.case_names

    @property
    def n_cases(self) -> int:
        """Number of evaluated cases, whether they are all held here or not."""
        return int(self.sums["n",])

    @property
    def asked_findings(self) -> tuple[str, ...]:
        """The findings that rows are about, where every finding of a case is a row; none where rows are cases.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_sets([[{"AF"}, set()], [{"AF", "ST"}]], ["AF", "ST"])
        >>> result = ds.evaluate(said, {}, aggregations=["majority-vote"])
        >>> result.asked_findings, result.n_cases, result.n_items
        (('AF', 'ST'), 4, 2)
        """
        labels = self.strata.get(FINDING, ())
        pairs = zip(self.case_names, labels, strict=True)
        if not labels or not all(name.endswith(f"{PAIR}{label}") for name, label in pairs):
            return ()
        return tuple(self.labels_of(FINDING))

    @property
    def n_items(self) -> int:
        """Number of cases, where every finding of a case is a row; otherwise the same as :attr:`n_cases`."""
        findings = self.asked_findings
        if not findings:
            return self.n_cases
        if self.is_sample:
            return max(self._n(self._key(0), ("stratum", FINDING, label)) for label in findings)
        labels = self.strata[FINDING]
        return len({name.removesuffix(f"{PAIR}{label}") for name, label in zip(self.case_names, labels, strict=True)})

    @property
    def n_votes(self) -> int:
        """Number of opinions on the evaluated cases, as often as each was given."""
        return int(self.sums["votes",])

    @property
    def is_sample(self) -> bool:
        """Whether the cases that are held here are some of those that were evaluated: a study larger than memory."""
        return len(self.case_names) < self.n_cases

    @property
    def n_groups(self) -> int:
        """Number of groups of cases, 0 if cases stand alone."""
        if self.study.groups and self.is_sample and self.models:
            return self._designs(self._key(0), ALL)[1] or 0
        return len(set(self.study.groups))

    @cached_property
    def certainty_counts(self) -> tuple[Certainties, ...]:
        """For every run, in how many cases the annotations leave the answer open; none without certainties."""
        found = []
        for run in range(len(self.runs)):
            if ("certainty", self._key(run)) in self.sums:
                n, is_open, categories, rough, total = self.sums["certainty", self._key(run)].tolist()
                found.append(Certainties(int(n), int(is_open), int(categories), int(rough), total / n))
        return tuple(found)

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.predictions)

    @property
    def panel(self) -> int | None:
        """The run whose values estimate what a large panel would say, if there is one."""
        return next((place for place, run in enumerate(self.runs) if run.estimand == PANEL), None)

    @property
    def headline(self) -> int:
        """The run that first sentences and verdicts about models are about: the panel, otherwise the reference."""
        return self.reference if self.panel is None else self.panel

    @property
    def reference(self) -> int:
        """The run that stands for all adjusted ones: what was calibrated, else reliability 1, else the middle.

        What is said about the annotations themselves, such as their certainty, is said about this run, which models
        have no part in.
        """
        if self.calibration is not None:
            best = self.calibration.best.record()
            return next(i for i, run in enumerate(self.runs) if run.spec.record() == best)
        adjusted = [i for i, run in enumerate(self.runs) if run.estimand == ADJUSTED] or range(len(self.runs))
        first = [i for i in adjusted if self.runs[i].spec.id == self.runs[adjusted[0]].spec.id]
        return next((i for i in first if self.runs[i].reliability == 1), first[len(first) // 2])

    @property
    def adjusted_runs(self) -> tuple[int, ...]:
        """The runs whose draws the models have no part in: those of sweeps over reliability."""
        return tuple(place for place, run in enumerate(self.runs) if run.estimand == ADJUSTED)

    def run_label(self, run: int) -> str:
        """Name a run as the column ``run`` of every table does."""
        return self.runs[run].label

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know first: cases left out, and numbers that need more draws."""
        from dissensus.evaluation.sentences import cautions

        return cautions(self)

    @property
    def plot(self) -> Plots:
        """Figures of the results."""
        from dissensus.evaluation.plots import Plots

        return Plots(self)

    # What the sums hold -----------------------------------------------------------------------------------

    def _key(self, place: int) -> str:
        return f"run {place}"

    def _stacked(self, *name: str | int, axis: int = 1) -> FloatArray:
        """Put what is known of metrics of single cases and of those of a whole data set into the order of metrics."""
        blocks = {block: self._places(block) for block in (EACH, DATA_SET)}
        parts = {block: self.sums[*name, block] for block, own in blocks.items() if own}
        places = [k for block in parts for k in blocks[block]]
        if len(parts) == 1:
            return next(iter(parts.values()))
        trailing = [np.moveaxis(part, axis, 0) for part in parts.values()]
        shape = np.broadcast_shapes(*(part.shape[1:] for part in trailing))
        full = [
            np.broadcast_to(part, (len(blocks[block]), *shape)) for part, block in zip(trailing, parts, strict=True)
        ]
        return np.moveaxis(np.concatenate(full)[np.argsort(places)], 0, axis)

    def tally(self, key: str, place: Place = ALL) -> Tally:
        """Return the sums over some cases of every draw of a reference."""
        return Tally(*self._stacked("draws", key, *place, axis=2))

    @cached_property
    def tallies(self) -> tuple[Tally, ...]:
        """For each run, sums over all cases of every draw."""
        return tuple(self.tally(self._key(run)) for run in range(len(self.runs)))

    @cached_property
    def point_tallies(self) -> tuple[Tally, ...]:
        """For each deterministic aggregation, sums over all cases."""
        return tuple(self.tally(f"point {place}") for place in range(len(self.points)))

    def _cases(self, what: str) -> FloatArray:
        if not self.models:
            return np.empty((len(self.runs), 0, 0, len(self.case_names)))
        found = [self._stacked("cases", what, self._key(run)) for run in range(len(self.runs))]
        shape = np.broadcast_shapes(*(one.shape for one in found))
        return np.stack([np.broadcast_to(one, shape) for one in found])

    @cached_property
    def case_means(self) -> FloatArray:
        """Mean over draws of every case that is held, shape (runs, models, metrics, cases)."""
        return self._cases("means")

    @cached_property
    def case_deviations(self) -> FloatArray:
        """Standard deviation over draws of every case that is held, shape (runs, models, metrics, cases)."""
        return self._cases("deviations")

    @cached_property
    def profiles(self) -> tuple[Profiles, ...]:
        """For each run, what the draws say about every case that is held."""
        keys = [self._key(run) for run in range(len(self.runs)) if ("profile", self._key(run), "support") in self.sums]
        names = Profiles.__dataclass_fields__
        return tuple(Profiles(**{name: self.sums["profile", key, name] for name in names}) for key in keys)

    def label_masses(self, run: int) -> LabelsByTruth:
        """Return the labels of the draws of a run, by truth; nothing where no metric keeps them."""
        truths = {metric.truth: None for metric in self.metrics if isinstance(metric, DataSetMetric)}
        has_any = bool(self.sums.names("rows", "labels", self._key(run)))
        return kept_labels(self.sums, self._key(run), truths) if has_any else {}

    def labels_of(self, column: str) -> list[str]:
        """Return the labels of a column of cases, in order."""
        first = ("n", self._key(0), "stratum", column)
        known = [str(name[-1]) for name in self.sums.names(*first)]
        return sorted(known or set(self.strata[column]))

    def _n(self, key: str, place: Place) -> int:
        return int(self.sums.arrays.get(("n", key, *place), 0))

    # Tables -----------------------------------------------------------------------------------------------

    @property
    def overall(self) -> pl.DataFrame:
        """One row per aggregation, model and metric; the same as :meth:`to_frame`."""
        return self.to_frame()

    def to_frame(self) -> pl.DataFrame:
        """Return one tidy row per aggregation, model and metric.

        ``estimand`` says what ``mean`` estimates: *panel* is the value against what a large panel of annotators like
        these would say, *adjusted* the average over draws that know nothing of the models, *agreement* the chance that
        one of the annotators, taken at random, says what the model says, *truth* the value against what was given as
        true. ``low`` to ``high`` is an interval for the
        value on cases like these, annotated likewise; ``case_sd``, ``annotator_sd``, ``draw_sd`` and ``fit_sd`` are
        what it owes to the cases, to who the annotators were (nan where they count as fixed), to what their opinions
        leave open and to the fit of the prior (nan where none was fitted). ``sd``, ``min``, ``max`` and the interval
        ``annotation_low`` to ``annotation_high`` tell how far the annotations alone move the value on these very cases.
        ``mc_error`` is the Monte Carlo error of ``mean``.
        ``point_estimate`` is the value against the deterministic aggregation that the run tends to, and ``difference``
        is ``point_estimate`` minus ``mean``.
        """
        wanted: list[Wanted] = [({}, one, ALL, self.n_cases) for one in self.estimates]
        return self._summarised(SUMMARY, wanted)

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """What the tables hold: the values of every run, then the agreement with single annotators, and the truth."""
        if not self.models:
            return ()
        found = []
        for place, run in enumerate(self.runs):
            key, means = self._key(place), self.case_means[place]
            has_fit = any(("fit", key, block) in self.sums for block in (EACH, DATA_SET))
            fit = FitSpread(self._stacked("fit", key, axis=3)) if has_fit else None
            how = (self.moved.get(key), fit, run.n_draws, run.n_chains)
            found.append(Estimate(key, run.identity, means, self.tallies[place], *how))
        for key in (ANNOTATORS, TRUTH):
            if self.sums.names("draws", key):
                means = self._stacked("cases", "means", key)
                found.append(Estimate(key, IDENTITIES[key], means, self.tally(key), self.moved.get(key)))
        return tuple(found)

    @property
    def annotators(self) -> tuple[AnnotatorSpread | None, ...]:
        """For each run, how far its means move when annotators are left out; missing where they count as fixed."""
        return tuple(self.moved.get(self._key(run)) for run in range(len(self.runs)))

    @property
    def shared(self) -> Estimate | None:
        """The agreement with single annotators; missing where opinions are no answers of their own."""
        return next((one for one in self.estimates if one.key == ANNOTATORS), None)

    # Intervals --------------------------------------------------------------------------------------------

    def spread(self, place: int) -> Spread:
        """Return where the means of all models may lie on cases like these, found when it is first asked for.

        ``place`` is that of :attr:`estimates`: the runs, then the agreement, and the truth.
        """
        one = self.estimates[place]
        return cast("Spread", self._once(("spread", place), lambda: self._spread(one.key, ALL, one.tally, one)))

    def _spread(self, key: str, where: Place, tally: Tally, one: Estimate | None = None) -> Spread:
        """Return where the means over some cases may lie; without an estimate, annotators count as fixed."""
        return spread(
            self._resampled(key, where, tally),
            *self._limits(key),
            ends=end_weights(self.seed, RESAMPLES if where == ALL else GROUP_RESAMPLES),
            n_groups=self._designs(key, ALL if where[0] == "category" else where)[1],
            annotators=None if one is None or one.annotators is None else one.annotators.of_models(),
            fit=None if one is None or one.fit is None else one.fit.of_models(),
            level=self.level,
        )

    @np.errstate(invalid="ignore")  # the spread around what is infinite is undefined
    def spread_of_difference(self, place: int, first: int, second: int) -> Spread:
        """Return where the difference of two models may lie on cases like these, for all metrics."""
        if self.models[first] > self.models[second]:  # one order only, so that the other is its mirror image
            return self.spread_of_difference(place, second, first).mirrored()
        one = self.estimates[place]
        own = self._resampled(one.key, ALL, one.tally)
        designs, n_groups = self._designs(one.key, ALL)
        pair = len(self.models) + list(combinations(range(len(self.models)), 2)).index(
            (min(first, second), max(first, second))
        )
        low, high = self._limits(one.key)
        widest = np.maximum(high[first], high[second]) - np.minimum(low[first], low[second])
        return spread(
            Resampled(
                own.means[first] - own.means[second],
                (own.masses[first] + own.masses[second]) / 2,
                own.units[first] / designs[first] * designs[pair],
                own.gaps[first] - own.gaps[second],
            ),
            *(-widest, widest),
            ends=end_weights(self.seed, RESAMPLES),
            n_groups=n_groups,
            annotators=None if one.annotators is None else one.annotators.of_difference(first, second),
            fit=None if one.fit is None else one.fit.of_difference(first, second),
            level=self.level,
        )

    @cached_property
    def _known(self) -> dict[tuple[str | int, ...], Any]:
        return {}

    def _once(self, name: tuple[str | int, ...], find: Callable[[], Any]) -> Any:
        """Find something when it is first asked for."""
        if name not in self._known:
            self._known[name] = find()
        return self._known[name]

    def _designs(self, key: str, where: Place) -> tuple[FloatArray, int | None]:
        """Return how many cases an added case stands for (models, then pairs; metrics), and the number of groups."""

        def find() -> tuple[FloatArray, int | None]:
            n_models, n_groups = len(self.models), None
            n_rows = n_models * (n_models + 1) // 2 if where == ALL else n_models
            found = np.ones((n_rows, len(self.metrics)))
            n_cases = self.n_cases if where == ALL else self._n(key, where)
            for block in (EACH, DATA_SET):
                if ("moments", key, *where, block) in self.sums:
                    own, n_groups = design_effects(self.sums, (key, *where, block), n_cases)
                    found[:, self._places(block)] = own
            return found, n_groups

        return cast("tuple[FloatArray, int | None]", self._once(("design", key, *where), find))

    def _places(self, block: str) -> list[int]:
        """Say where metrics of single cases, or those of a whole data set, stand among all metrics."""
        return [k for k, one in enumerate(self.metrics) if (one.sees == "data set") == (block == DATA_SET)]

    def _limits(self, key: str) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest value of each metric, as far as it has limits; otherwise those seen."""
        ranges = np.array([metric.range for metric in self.metrics], dtype=np.float64).reshape(-1, 2)
        seen = np.stack([self._stacked(what, key, *ALL) for what in ("least", "greatest")])
        seen[:, :, self._places(DATA_SET)] = np.array([-BEYOND, BEYOND])[:, None, None]  # no value is one of a case
        low, high = (np.where(np.isfinite(limit), limit, own) for limit, own in zip(ranges.T, seen, strict=True))
        return low, high

    def _resampled(self, key: str, where: Place, tally: Tally) -> Resampled:
        """Return means over resampled cases on the scale of each metric, without added cases."""

        def find() -> Resampled:
            both = self._stacked("resampled", key, *where, axis=2).astype(np.float64)
            squares = self._stacked("squares", key, *where).astype(np.float64)
            designs = self._designs(key, where if where[0] != "category" else ALL)[0][: len(self.models)].copy()
            if ("reach", key, *where, DATA_SET) in self.sums:
                designs[:, self._places(DATA_SET)] *= self.sums["reach", key, *where, DATA_SET]
            centres, scales = over_draws(np.mean, tally.means), [metric.scale for metric in self.metrics]
            return resampled_means(both, squares, tally, designs).on_scales(centres, scales)

        return cast("Resampled", self._once(("resampled", key, *where), find))

    # Groups of cases --------------------------------------------------------------------------------------

    def by_group(self, column: str) -> pl.DataFrame:
        """Return the same rows for each stratum of a column of cases, with the number of cases in it."""
        if column not in self.strata:
            raise DissensusError(
                f"cases have no column {column!r}",
                expected=f"one of {listing(self.strata)}" if self.strata else "evaluate(..., strata={...})",
                advice=suggestion(column, self.strata),
            )
        places = [("stratum", column, label) for label in self.labels_of(column)]
        return self._grouped("stratum", {place: self._n(self._key(0), place) for place in places})

    def by_category(self) -> pl.DataFrame:
        """Return the same rows for each category, by the category of the first condition of every draw.

        A case counts for a category in the draws that say so, and ``n_cases`` is the expected number of cases: sums
        over these draws and cases are divided by their number. Without categories there are no rows.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> risks = ds.Categories.from_mapping({"a": "low", "b": "high"})
        >>> result = ds.evaluate(said, {"A": [[1, 0], [1, 0]]}, aggregations=["majority-vote"], categories=risks)
        >>> rows = result.by_category().filter(metric="top-1 accuracy")
        >>> rows.select("category", "model", "mean", "n_cases").rows()
        [('low', 'A', 1.0, 1.0), ('high', 'A', 0.0, 1.0)]
        """
        names = () if self.categories is None or not self.models else self.categories.names
        keys = [self._key(run) for run in range(len(self.runs))]
        sizes: dict[Place, float] = {
            ("category", name): float(np.mean([self.tally(key, ("category", name)).weights.mean() for key in keys]))
            for name in names
        }
        return self._grouped("category", sizes)

    def _grouped(self, name: str, sizes: Mapping[Place, float]) -> pl.DataFrame:
        import polars as pl

        runs = self.estimates[: len(self.runs)]
        wanted = [({name: place[-1]}, one, place, size) for place, size in sizes.items() for one in runs]
        return self._summarised({name: pl.String, **SUMMARY, "n_cases": pl.Float64}, wanted)

    def by_certainty(self) -> pl.DataFrame:
        """Return the same rows by the certainty of the case under the same aggregation, with its bin and its limits.

        A bin reaches from its lower limit up to, but not including, the upper one; the last bin includes it. Bins
        without cases are left out.
        """
        import polars as pl

        wanted: list[Wanted] = [
            (
                {"bin": f"{EDGES[i]:g} to {EDGES[i + 1]:g}", "from": EDGES[i], "to": EDGES[i + 1]},
                *(one, ("bin", i), self._n(one.key, ("bin", i))),
            )
            for one in self.estimates[: len(self.runs)]
            for i in sorted(int(name[-1]) for name in self.sums.names("n", one.key, "bin"))
        ]
        return self._summarised({"bin": pl.String, "from": pl.Float64, "to": pl.Float64, **SUMMARY}, wanted)

    @np.errstate(invalid="ignore")  # the difference of what is infinite is undefined
    def _summarised(self, schema: Mapping[str, Any], wanted: Sequence[Wanted]) -> pl.DataFrame:
        """Return one tidy row per model and metric for estimates on some cases; each has labels, place and size."""
        import polars as pl

        rows: list[dict[str, Any]] = []
        for labels, one, place, size in wanted:
            tally, run = (one.tally if place == ALL else self.tally(one.key, place)), self.estimates.index(one)
            apart = self.spread(run) if place == ALL else self._spread(one.key, place, tally)
            numbers = summary(tally.means, apart, one.n_chains, self.level)
            limit = self.runs[run].spec.limit if place == ALL and run < len(self.runs) else None
            if limit in self.points:
                numbers["point_estimate"] = self.point_tallies[self.points.index(limit)].means[..., 0]
                numbers["difference"] = numbers["point_estimate"] - numbers["mean"]
            for m, k in np.ndindex(tally.sums.shape[:2]):
                if one.key in IDENTITIES and np.isnan(one.means[m, k]).all():
                    continue
                named = {**labels, **one.identity, "model": self.models[m], "metric": self.metrics[k].name}
                counts = {"n_cases": size, "n_draws": min(one.n_draws, tally.n_draws)}
                rows.append({**named, **{name: float(values[m, k]) for name, values in numbers.items()}, **counts})
        return pl.DataFrame(rows, schema=dict(schema))

    # More tables ------------------------------------------------------------------------------------------

    def curves(self, kind: str | None = None) -> pl.DataFrame:
        """Return the curves of metrics of a whole data set: one row per run, model, finding or condition, and place.

        Kinds are ``roc`` (sensitivity ``y`` at the false positive rate ``x``), ``precision-recall`` (precision at a
        recall), ``reliability`` (share of positive cases at the mean probability of a bin, with the number of cases
        ``n_cases``) and ``decision`` (net benefit at a threshold probability). ``low`` to ``high`` holds at each place
        on cases like these; annotators count as fixed. There are curves of the run that sentences are about and of the
        reference run, as far as metrics that they show were asked for.

        Parameters
        ----------
        kind
            Keep the curves of one kind.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[4, 0], [0, 4], [4, 0]], ["no", "yes"], question="binary")
        >>> models = {"A": [[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"], metrics=["auroc"])
        >>> result.curves("roc").select("model", "x", "y")[50].row(0)
        ('A', 0.5, 1.0)
        """
        return tables.curves(self, kind)

    def confusion(self) -> pl.DataFrame:
        """Return how many cases of which label a model calls what: expected numbers, with intervals.

        A case counts for a label in the draws that say so, or by its plausibility. There are rows where metrics of
        decisions were asked for, and at most twelve conditions.
        """
        return tables.confusion(self)

    def point_estimates(self) -> pl.DataFrame:
        """Return every metric against every deterministic aggregation: what usual practice reports.

        The column ``estimand`` says ``practice``: such a number takes one answer per case for certain.
        """
        import polars as pl

        rows = [
            {
                "aggregation": name,
                "estimand": PRACTICE,
                "model": model,
                "metric": metric.name,
                "point_estimate": float(tally.means[m, k, 0]),
            }
            for name, tally in zip(distinct_names(self.points), self.point_tallies, strict=True)
            for m, model in enumerate(self.models)
            for k, metric in enumerate(self.metrics)
        ]
        names = ("aggregation", "estimand", "model", "metric")
        return pl.DataFrame(rows, schema={**dict.fromkeys(names, pl.String), "point_estimate": pl.Float64})

    def per_case(self) -> pl.DataFrame:
        """Return the mean and spread over draws of every case: one row per case, aggregation, model and metric.

        Where cases are a sample (``is_sample``), so are the rows; those of all cases are in ``per_case`` of the run.
        Metrics of a whole data set have no value of one case.
        """
        import polars as pl

        own = self._places(EACH)
        columns = self._labels(self.case_names, "case", metrics=own)
        numbers = {"mean": self.case_means[:, :, own].ravel(), "sd": self.case_deviations[:, :, own].ravel()}
        return pl.DataFrame({**columns, **numbers})

    def per_draw(self) -> pl.DataFrame:
        """Return the mean over cases of every draw: one row per aggregation, model, metric and draw."""
        import polars as pl

        parts = []
        for run in range(len(self.runs)):
            means = self.tallies[run].means if self.models else np.empty((0, 0, 0))
            columns = self._labels([str(draw) for draw in range(means.shape[-1])], "draw", runs=[run])
            table = pl.DataFrame({**columns, "mean": means.ravel()})
            parts.append(table.with_columns(pl.col("draw").cast(pl.Int64)))
        return pl.concat(parts)

    def per_resample(self) -> pl.DataFrame:
        """Return the mean over every resample of the cases: one row per aggregation, model, metric and resample.

        The quantiles of these means are the limits of intervals, so they hold everything that widens one.
        """
        import polars as pl

        columns = self._labels([str(number) for number in range(RESAMPLES)], "resample")
        means = np.concatenate([self.spread(run).values.ravel() for run in range(len(self.runs))])
        return pl.DataFrame({**columns, "mean": means}).with_columns(pl.col("resample").cast(pl.Int64))

    def _labels(
        self,
        last: Sequence[str],
        name: str,
        *,
        runs: Sequence[int] | None = None,
        metrics: Sequence[int] | None = None,
    ) -> dict[str, pl.Series]:
        """Name the rows of arrays (runs, models, metrics, last) laid out flat."""
        import polars as pl

        chosen = range(len(self.runs)) if runs is None else runs
        measures = [self.metrics[k].name for k in (range(len(self.metrics)) if metrics is None else metrics)]
        shape = (len(chosen), len(self.models), len(measures), len(last))
        run, model, measure, place = (axis.ravel() for axis in np.indices(shape))
        identities = [self.runs[r].identity for r in chosen]
        return {
            **{
                name: pl.Series([one[name] for one in identities], dtype=kind).gather(run) for name, kind in RUN.items()
            },
            "model": pl.Series(self.models, dtype=pl.String).gather(model),
            "metric": pl.Series(measures, dtype=pl.String).gather(measure),
            name: pl.Series(last, dtype=pl.String).gather(place),
        }

    def certainties(self) -> pl.DataFrame:
        """Return the certainty of the first 1, 2 and 3 conditions: one row per aggregation, number and case.

        ``error`` is its Monte Carlo standard error and ``winner`` the set that most draws agree on, as a list. Where
        cases are a sample (``is_sample``), so are the rows; those of all cases are in ``certainty`` of the run.
        """
        return tables.certainties(self)

    def category_certainties(self) -> pl.DataFrame:
        """Return the certainty of the category of the first condition: one row per aggregation and case that is held.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> risks = ds.Categories.from_mapping({"a": "low", "b": "high"})
        >>> result = ds.evaluate(said, {}, aggregations=["majority-vote"], categories=risks)
        >>> result.category_certainties().select("case", "certainty", "category").rows()
        [('x', 1.0, 'low'), ('y', 1.0, 'high')]
        >>> result.risks().select("case", "mean").rows()
        [('x', 0.5), ('y', 2.0)]
        """
        return tables.category_certainties(self)

    def risks(self) -> pl.DataFrame:
        """Return the expected risk, ``mean``, ``min`` and ``max`` over draws: one row per aggregation and held case."""
        return tables.risks(self)

    def plausibilities(self) -> pl.DataFrame:
        """Return mean plausibility, share of draws on top and a few draws: one row per aggregation, case and condition.

        A missing condition stands for all that nobody mentioned, together. Cases are those that are held, which may be
        a sample (``is_sample``).
        """
        return tables.plausibilities(self)

    def agreement(self) -> pl.DataFrame:
        """Return how far the annotators of each case agree, see :func:`annotator_agreement`; no rows for ratings.

        Where cases are a sample (``is_sample``), so are the rows.
        """
        return tables.agreement(self)

    @checked
    def compare(self, *, margin: float | None = None) -> Comparison:
        """Compare the models with each other on the same draws and the same resampled cases.

        Parameters
        ----------
        margin
            The largest difference that does not matter, in units of the metric. With it, verdicts also say whether one
            model is not worse than the other by more than that, and whether both are equivalent.
        """
        from dissensus.evaluation.comparison import compared

        return compared(self, margin)

    def merge(self, other: Evaluation) -> Evaluation:
        """Put evaluations of different cases together; models, metrics and settings must agree.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = ds.Predictions.from_scores([[1, 0], [0, 1]], ["a", "b"], case_names=["x", "y"])
        >>> one, other = (ds.evaluate(said.select([case]), {"A": models.select([case])}, aggregations=["majority-vote"])
        ...               for case in ("x", "y"))
        >>> one.merge(other).case_names
        ('x', 'y')
        """
        from dissensus.evaluation.assembly import merged

        return merged(self, other)

    @checked
    def save(self, directory: Path, *, overwrite: bool = False) -> None:
        """Write the results into a new directory, whole or not at all; see :func:`load`.

        Of a study in pieces, tables by case stay in the directory of its run.

        Parameters
        ----------
        directory
            Where to.
        overwrite
            Replace earlier results. A directory that holds anything else stays, as does the working directory.
        """
        from dissensus.evaluation.store import save_evaluation

        save_evaluation(self, directory, overwrite=overwrite)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Evaluation) and equal_fields(self._plain(), other._plain())

    def _plain(self) -> Evaluation:
        """Put records in the place of specs: what stands for a metric that is not at hand equals it."""
        metrics: Any = tuple(metric.record() for metric in self.metrics)
        return replace(self, metrics=metrics)

    __hash__ = None

    def _repr_html_(self) -> str:
        from dissensus.evaluation.sentences import headline_html

        return headline_html(self)

    def metric(self, name: str) -> Metric:
        """Return a metric by name, or say which there are."""
        names = [metric.name for metric in self.metrics]
        return self.metrics[names.index(known_name("metric", name, names))]

    def of_run(self, frame: pl.DataFrame, run: int) -> pl.DataFrame:
        """Keep the rows of one run of any of the tables."""
        return frame.filter(frame["run"] == self.runs[run].label)

    def __repr__(self) -> str:
        from dissensus.evaluation.sentences import headline

        return headline(self)


@np.errstate(invalid="ignore")  # the spread around what is infinite is undefined
def summary(means: FloatArray, apart: Spread, n_chains: int, level: float) -> dict[str, FloatArray]:
    """Summarise the means over cases of every draw, as they are and on cases like these, each (models, metrics).

    The interval always holds the mean. Draws in which no case counts, as in a rare category, are left out.
    """
    from dissensus.aggregations.diagnostics import standard_errors_of_means

    tails = ((1 - level) / 2, (1 + level) / 2)
    mean = over_draws(np.mean, means)
    return {
        "mean": mean,
        "sd": over_draws(np.std, means),
        "low": np.fmin(over_draws(np.quantile, apart.values, q=tails[0]), mean),
        "high": np.fmax(over_draws(np.quantile, apart.values, q=tails[1]), mean),
        "annotation_low": over_draws(np.quantile, means, q=tails[0]),
        "annotation_high": over_draws(np.quantile, means, q=tails[1]),
        "min": over_draws(np.min, means),
        "max": over_draws(np.max, means),
        "case_sd": apart.case_sd,
        "annotator_sd": apart.annotator_sd,
        "draw_sd": apart.draw_sd,
        "fit_sd": apart.fit_sd,
        "mc_error": standard_errors_of_means(means.reshape(-1, means.shape[-1]), n_chains).reshape(means.shape[:-1]),
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
