"""What came out: an immutable result that answers questions in the user's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.aggregation.base import Aggregation
from dissensus.core.aliases import FloatArray, IntArray, Path
from dissensus.core.arguments import checked
from dissensus.core.checks import equal_fields
from dissensus.core.errors import DissensusError, listing, suggestion
from dissensus.core.names import known_name
from dissensus.core.receipt import Receipt
from dissensus.core.spec import SWEPT, distinct_names
from dissensus.core.value import Value
from dissensus.core.versions import present_versions
from dissensus.evaluation import case_tables
from dissensus.evaluation.annotators import AnnotatorSpread
from dissensus.evaluation.basis import Basis, Measured, case_sums
from dissensus.evaluation.batches import EDGES, bin_of
from dissensus.evaluation.case_tables import RUN, SUMMARY
from dissensus.evaluation.categories import Categories
from dissensus.evaluation.data_set import FINDING, Kept, places_of
from dissensus.evaluation.findings import Findings
from dissensus.evaluation.intervals import (
    GROUP_RESAMPLES,
    RESAMPLES,
    Resampled,
    Spread,
    end_weights,
    spread,
)
from dissensus.evaluation.material import Material
from dissensus.evaluation.refits import FitSums
from dissensus.evaluation.tally import CaseWeights, ExactTally, Resamples, Tally
from dissensus.evaluation.whole import Certainties, Place, Whole
from dissensus.metrics.base import Metric
from dissensus.metrics.data_set import DataSetMetric
from dissensus.predictions.lists import Predictions
from dissensus.study.checklists import PAIR
from dissensus.study.study import Study

if TYPE_CHECKING:
    import polars as pl

    from dissensus.evaluation.calibration import Calibration
    from dissensus.evaluation.comparison import Comparison
    from dissensus.evaluation.plots import Plots

PANEL, ADJUSTED, AGREEMENT = "panel", "adjusted", "agreement"
"""What a number is an estimate of: see the glossary."""

PRACTICE = "practice"
"""What the column ``estimand`` says of point estimates: usual practice reports them, and says not of what."""

ONE_ANNOTATOR = {"run": "annotators", "aggregation": "annotators", "reliability": None, "estimand": AGREEMENT}
"""What the columns of tables say about the agreement with single annotators."""


BEYOND = 1e100
"""Stands for the end of a range that has none, where it is multiplied by nothing."""


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
    >>> from dissensus import PlackettLuce
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

        >>> from dissensus import PlackettLuce
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

        >>> from dissensus import Dirichlet
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
        >>> from dissensus import MajorityVote
        >>> Run(MajorityVote(), "majority-vote", 1, 1).record()["spec"]["id"]
        'majority-vote'
        """
        numbers = {"n_draws": self.n_draws, "n_chains": self.n_chains}
        fitted = {"fitted": dict(self.fitted)} if self.fitted else {}
        return {"run": self.label, "aggregation": self.aggregation, "spec": self.spec.record(), **numbers, **fitted}


@dataclass(frozen=True, eq=False)
class Shared(Value):
    """What single annotators share with the models: the chance that one taken at random says the same.

    Attributes
    ----------
    means : (models, metrics, n_cases)
        Mean over the annotators of every case; nan for metrics that need more than an order.
    annotators
        How far the means over cases move when annotators are left out; missing where they count as fixed.
    """

    means: FloatArray
    annotators: AnnotatorSpread | None


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
    identity
        What the columns of every table say about it: ``run``, ``aggregation``, ``reliability`` and ``estimand``.
    means : (models, metrics, n_cases)
        Mean of every case.
    shares : (models, metrics, n_cases) or (1, 1, n_cases)
        How much of the case counts.
    tally
        Sums over cases by draw.
    annotators
        How far means over cases move when annotators are left out, if that is known.
    fit
        How far they move when the prior is fitted to resampled cases, if it was fitted.
    n_draws, n_chains
        Draws per case, and the chains they come from.
    """

    identity: Mapping[str, Any]
    means: FloatArray
    shares: FloatArray
    tally: Tally
    annotators: AnnotatorSpread | None
    fit: FitSums | None = None
    n_draws: int = 1
    n_chains: int = 1


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
    material
        What was evaluated: opinions, predictions, categories, columns of cases.
    excluded
        Cases without any opinion.
    tallies
        For each run, sums of shape (models, metrics, n_draws).
    point_tallies
        For each deterministic aggregation, sums of shape (models, metrics, 1).
    case_means, case_deviations : (runs, models, metrics, cases)
        Mean and standard deviation over draws of every case.
    case_shares : (runs, models, metrics, cases) or (runs, 1, 1, cases)
        Share of draws in which a metric is defined.
    findings
        For each run, what the draws say about every case.
    stratum_tallies, category_tallies, bin_tallies
        Tallies of the runs by (column, label), by the category of the first condition of each draw, and by bin of
        certainty.
    category_resamples
        Sums over resampled cases of the runs by category; all others follow from the means of cases.
    annotators
        For each run, how far its means move when annotators are left out; missing where they count as fixed.
    fits
        For each run, how far its means move when an informed prior is fitted to resampled cases; missing for others.
    prior
        How much each model informs the prior; missing where there is no panel estimate.
    shared
        What single annotators share with the models; missing where opinions are not rankings.
    calibration
        What annotators who were held out say, if they chose the reference run; otherwise missing.
    whole
        What is known of all cases, if there were so many that only some of them are held here: tables over cases are
        about all of them, those of single cases about a sample. Missing if all cases are here.
    kept
        What metrics of a whole data set need, such as the labels of all draws; missing if there are none.
    level
        Probability that intervals hold.
    seed
        The seed of all draws.
    versions
        Versions of the packages that computed it.

    Examples
    --------
    >>> import dissensus as ds
    >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
    >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
    >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
    >>> for row in result.to_frame().select("run", "estimand", "model", "mean").iter_rows():
    ...     print(row)
    ('majority-vote', 'adjusted', 'A', 1.0)
    ('majority-vote', 'adjusted', 'B', 0.5)
    ('annotators', 'agreement', 'A', 0.875)
    ('annotators', 'agreement', 'B', 0.625)
    >>> result.runs[0].spec, result.metrics
    (MajorityVote(), (TopKAccuracy(k=1, j=1),))
    """

    runs: tuple[Run, ...]
    points: tuple[Aggregation, ...]
    metrics: tuple[Metric, ...]
    material: Material
    excluded: tuple[str, ...]
    tallies: tuple[Tally, ...]
    point_tallies: tuple[Tally, ...]
    case_means: FloatArray
    case_deviations: FloatArray
    case_shares: FloatArray
    findings: tuple[Findings, ...]
    stratum_tallies: Mapping[tuple[str, str], tuple[Tally, ...]] = field(default_factory=dict)
    category_tallies: Mapping[str, tuple[Tally, ...]] = field(default_factory=dict)
    category_resamples: Mapping[str, tuple[Resamples, ...]] = field(default_factory=dict)
    bin_tallies: tuple[tuple[Tally, ...], ...] = ()
    annotators: tuple[AnnotatorSpread | None, ...] = ()
    fits: tuple[FitSums | None, ...] = ()
    prior: PriorRecord | None = None
    shared: Shared | None = None
    calibration: Calibration | None = None
    whole: Whole | None = None
    kept: Kept | None = None
    level: float = 0.9
    seed: int = 0
    versions: Mapping[str, str] = field(default_factory=present_versions)

    # What was evaluated -----------------------------------------------------------------------------------

    @property
    def study(self) -> Study:
        """The opinions on the evaluated cases."""
        return self.material.study

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """What was understood of the files: of opinions, then of each model; none for what was built in memory."""
        found = [self.study.receipt, *(said.receipt for said in self.material.predictions.values())]
        return tuple(receipt for receipt in found if receipt is not None)

    @property
    def case_names(self) -> tuple[str, ...]:
        """The evaluated cases that are held here: all, or a sample of so many that they are not."""
        return self.study.case_names

    @property
    def n_cases(self) -> int:
        """Number of evaluated cases, whether they are all held here or not."""
        return len(self.case_names) if self.whole is None else self.whole.n_cases

    @property
    def asked_findings(self) -> tuple[str, ...]:
        """The findings that rows are about, where every finding of a case is a row; none where rows are cases.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Checklists.from_sets([[{"AF"}, set()], [{"AF", "ST"}]], ["AF", "ST"])
        >>> result = ds.evaluate(said, {}, aggregations=["majority-vote"])
        >>> result.asked_findings, result.n_cases, result.n_items
        (('AF', 'ST'), 4, 2)
        """
        labels = self.strata.get(FINDING, ())
        pairs = zip(self.case_names, labels, strict=True)
        if not labels or not all(name.endswith(f"{PAIR}{label}") for name, label in pairs):
            return ()
        return tuple(sorted(label for column, label in self.stratum_tallies if column == FINDING) or sorted({*labels}))

    @property
    def n_items(self) -> int:
        """Number of cases, where every finding of a case is a row; otherwise the same as :attr:`n_cases`."""
        if not self.asked_findings:
            return self.n_cases
        if self.whole is not None:
            return max(of_runs[0].n_cases for of_runs in self.whole.strata(FINDING).values())
        labels = self.strata[FINDING]
        return len({name.removesuffix(f"{PAIR}{label}") for name, label in zip(self.case_names, labels, strict=True)})

    @property
    def n_excluded(self) -> int:
        """Number of cases without any opinion."""
        return len(self.excluded) if self.whole is None else self.whole.n_excluded

    @property
    def n_votes(self) -> int:
        """Number of opinions on the evaluated cases, as often as each was given."""
        return self.study.panel.n_votes if self.whole is None else self.whole.n_votes

    @property
    def is_sample(self) -> bool:
        """Whether the cases that are held here are some of those that were evaluated: a study larger than memory."""
        return len(self.case_names) < self.n_cases

    @property
    def n_groups(self) -> int:
        """Number of groups of cases, 0 if cases stand alone."""
        if self.whole is not None:
            return self.whole.bases["all", 0].n_groups or 0
        return len(set(self.study.groups))

    @cached_property
    def certainty_counts(self) -> tuple[Certainties, ...]:
        """For every run, in how many cases the annotations leave the answer open; none without certainties.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> ds.evaluate(said, {}, aggregations=["majority-vote"]).certainty_counts[0].n_open
        0
        """
        if self.whole is not None:
            return self.whole.certainties
        return tuple(Certainties.of(found) for found in self.findings if len(found.certainties))

    @property
    def conditions(self) -> tuple[str, ...]:
        """Names of the conditions."""
        return self.material.conditions

    @property
    def categories(self) -> Categories | None:
        """Categories of the conditions, if there are any."""
        return self.material.categories

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.material.predictions)

    @property
    def predictions(self) -> Mapping[str, Predictions]:
        """The first conditions that each model named."""
        return self.material.predictions

    @property
    def strata(self) -> Mapping[str, tuple[str, ...]]:
        """For every column of cases, the label of each case."""
        return self.material.strata

    @property
    def images(self) -> tuple[str, ...]:
        """A path or address of a picture of each case; empty if there are none."""
        return self.material.images

    @property
    def inputs(self) -> Mapping[str, str]:
        """Hashes of the files that it came from."""
        return self.material.inputs

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
        """The runs whose draws the models have no part in: those of sweeps over reliability.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> result = ds.evaluate(said, {}, aggregations=["dirichlet:1,3"], draws=50)
        >>> result.adjusted_runs
        (0, 1)
        """
        return tuple(place for place, run in enumerate(self.runs) if run.estimand == ADJUSTED)

    def run_label(self, run: int) -> str:
        """Name a run as the column ``run`` of every table does.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> result = ds.evaluate(said, {}, aggregations=["dirichlet:1,3"], draws=50)
        >>> result.run_label(0), result.run_label(1)
        ('dirichlet 1', 'dirichlet 3')
        """
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

    # Tables -----------------------------------------------------------------------------------------------

    @property
    def overall(self) -> pl.DataFrame:
        """One row per aggregation, model and metric; the same as :meth:`to_frame`."""
        return self.to_frame()

    def to_frame(self) -> pl.DataFrame:
        """Return one tidy row per aggregation, model and metric.

        ``estimand`` says what ``mean`` estimates: *panel* is the value against what a large panel of annotators like
        these would say, *adjusted* the average over draws that know nothing of the models, *agreement* the chance that
        one of the annotators, taken at random, says what the model says. ``low`` to ``high`` is an interval for the
        value on cases like these, annotated likewise; ``case_sd``, ``annotator_sd``, ``draw_sd`` and ``fit_sd`` are
        what it owes to the cases, to who the annotators were (nan where they count as fixed), to what their opinions
        leave open and to the fit of the prior (nan where none was fitted). ``sd``, ``min``, ``max`` and the interval
        ``annotation_low`` to ``annotation_high`` tell how far the annotations alone move the value on these very cases.
        ``mc_error`` is the Monte Carlo error of ``mean``.
        ``point_estimate`` is the value against the deterministic aggregation that the run tends to, and ``difference``
        is ``point_estimate`` minus ``mean``.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
        >>> result.to_frame().select("run", "model", "metric", "mean", "point_estimate", "difference").row(0)
        ('majority-vote', 'A', 'top-1 accuracy', 1.0, 1.0, 0.0)
        """
        import polars as pl

        rows = [
            row
            for place, one in enumerate(self.estimates)
            for row in self._rows(one, one.tally, self.spread(place), self.n_cases, point=self._point(place))
        ]
        return pl.DataFrame(rows, schema=SUMMARY)

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """What the tables hold: the adjusted values of every run, and then the agreement with single annotators."""
        known = self.annotators or (None,) * len(self.runs)
        fits = self.fits or (None,) * len(self.runs)
        adjusted = [
            Estimate(
                run.identity,
                self.case_means[place],
                self.case_shares[place],
                self.tallies[place],
                known[place],
                fits[place],
                run.n_draws,
                run.n_chains,
            )
            for place, run in enumerate(self.runs)
        ]
        return (*adjusted, *([] if self.shared is None else [self._agreement(self.shared)]))

    def _agreement(self, shared: Shared) -> Estimate:
        """Treat the shares of annotators like a run with a single draw."""
        is_known = ~np.isnan(shared.means)
        tally = None if self.whole is None else self.whole.shared
        if tally is None:
            weights = self.case_weights
            tally = ExactTally.of(shared.means[..., None], weights.weights[:, None]).rounded(weights.unit)
        if self.kept is not None and self.kept.agreed is not None:
            mass = float(self.tallies[0].weights.max(initial=0.0))
            tally = tally.with_columns(self.kept.agreed, places_of(self.metrics), mass)
        return Estimate(ONE_ANNOTATOR, shared.means, is_known.astype(np.float64), tally, shared.annotators)

    # Intervals --------------------------------------------------------------------------------------------

    @cached_property
    def case_weights(self) -> CaseWeights:
        """How much each case counts, and what is resampled together."""
        return CaseWeights.of(self.study.panel, self.seed)

    def resampled_means(self, run: int) -> FloatArray:
        """Return means over resampled cases, shape (models, metrics, n_resamples); intervals are their quantiles.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> result = ds.evaluate(said, {"A": [[1, 0], [0, 1]]}, aggregations=["dirichlet:1"], draws=50)
        >>> result.resampled_means(0).shape
        (1, 1, 2000)
        """
        return self.spread(run).values

    def spread(self, place: int) -> Spread:
        """Return where the means of all models may lie on cases like these, found when it is first asked for.

        ``place`` is that of :attr:`estimates`: the runs, and then the agreement.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> result = ds.evaluate(said, {"A": [[1, 0], [0, 1]]}, aggregations=["dirichlet:1"], draws=50)
        >>> result.spread(0).case_sd.shape
        (1, 1)
        """
        if place not in self._spreads:
            one = self.estimates[place]
            self._spreads[place] = spread(
                self._resampled(place),
                *self._limits(place),
                ends=self._ends(RESAMPLES),
                n_groups=self.basis(place).n_groups,
                annotators=None if one.annotators is None else one.annotators.of_models(),
                fit=None if one.fit is None else one.fit.of_models(),
                level=self.level,
            )
        return self._spreads[place]

    @np.errstate(invalid="ignore")  # the spread around what is infinite is undefined
    def spread_of_difference(self, place: int, first: int, second: int) -> Spread:
        """Return where the difference of two models may lie on cases like these, for all metrics.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
        >>> result = ds.evaluate(said, models, aggregations=["dirichlet:1"], draws=50)
        >>> result.spread_of_difference(0, 0, 1).values.shape
        (1, 2000)
        """
        if self.models[first] > self.models[second]:  # one order only, so that the other is its mirror image
            return self.spread_of_difference(place, second, first).mirrored()
        one, own, basis = self.estimates[place], self._resampled(place), self.basis(place)
        low, high = self._limits(place)
        widest = np.maximum(high[first], high[second]) - np.minimum(low[first], low[second])
        return spread(
            Resampled(
                own.means[first] - own.means[second],
                (own.masses[first] + own.masses[second]) / 2,
                own.units[first] / basis.designs[first] * basis.pair_designs[first, second],
                own.gaps[first] - own.gaps[second],
            ),
            *(-widest, widest),
            ends=self._ends(RESAMPLES),
            n_groups=basis.n_groups,
            annotators=None if one.annotators is None else one.annotators.of_difference(first, second),
            fit=None if one.fit is None else one.fit.of_difference(first, second),
            level=self.level,
        )

    @cached_property
    def _spreads(self) -> dict[int, Spread]:
        return {}

    def _ends(self, n_resamples: int) -> FloatArray:
        return end_weights(self.seed, n_resamples)

    def basis(self, place: int) -> Basis:
        """Return what the intervals of an estimate are found from, summed over cases when it is first asked for.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> result = ds.evaluate(said, {"A": [[1, 0], [0, 1]]}, aggregations=["dirichlet:1"], draws=50)
        >>> result.basis(0).n_cases, result.basis(0).designs
        (2, array([[1.]]))
        """
        if place not in self._bases:
            found = self._summed(place) if self.whole is None else self.whole.bases["all", place]
            self._bases[place] = self._with_kept(found, ("all", place))
        return self._bases[place]

    def _with_kept(self, basis: Basis, place: Place) -> Basis:
        """Put what is known of metrics of a whole data set in its place."""
        if self.kept is None or place not in self.kept.reaches:
            return basis
        places = places_of(self.metrics)
        if place in self.kept.bases:
            return basis.with_columns(self.kept.bases[place], places)
        reaches = np.ones((len(self.models), len(self.metrics)))
        reaches[:, places] = self.kept.reaches[place]
        return replace(basis, reaches=reaches)

    @cached_property
    def _bases(self) -> dict[int, Basis]:
        return {}

    def _summed(self, place: int) -> Basis:
        return self._bases_by_label(place, None, 1, n_resamples=RESAMPLES)[0]

    def _bases_by_label(
        self, place: int, labels: IntArray | None, n_labels: int, *, n_resamples: int = GROUP_RESAMPLES
    ) -> list[Basis]:
        """Sum over the cases of each label; without labels over all, for differences of models as well."""
        one = self.estimates[place]
        found, groups = case_sums(
            Measured(one.means, one.shares),
            self.case_weights,
            n_resamples=n_resamples,
            labels=labels,
            n_labels=n_labels,
            pairs=labels is None,
        )
        return [
            sums.basis(None if of_groups is None else of_groups.squares(sums.masses), self.case_weights.unit)
            for sums, of_groups in zip(found, groups, strict=True)
        ]

    def _limits(self, place: int) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest value of each metric, as far as it has limits; otherwise those seen."""
        ranges = np.array([metric.range for metric in self.metrics], dtype=np.float64).reshape(-1, 2)
        seen = self.basis(place).limits.copy()
        seen[:, :, places_of(self.metrics)] = np.array([-BEYOND, BEYOND])[:, None, None]  # no value is one of a case
        low, high = (np.where(np.isfinite(limit), limit, own) for limit, own in zip(ranges.T, seen, strict=True))
        return low, high

    def _resampled(self, place: int) -> Resampled:
        if place not in self._resampled_cases:
            self._resampled_cases[place] = self._scaled(self.basis(place), self.estimates[place].tally)
        return self._resampled_cases[place]

    def _scaled(self, basis: Basis, tally: Tally) -> Resampled:
        """Return means over resampled cases, each on the scale of its metric."""
        return basis.resampled(tally).on_scales(over_draws(np.mean, tally.means), self._scales)

    @cached_property
    def _scales(self) -> list[str]:
        return [metric.scale for metric in self.metrics]

    @cached_property
    def _resampled_cases(self) -> dict[int, Resampled]:
        return {}

    def _group_spread(self, run: int, basis: Basis, tally: Tally) -> Spread:
        """Return where the means over a group of cases may lie; annotators count as fixed."""
        return spread(
            self._scaled(basis, tally),
            *self._limits(run),
            ends=self._ends(GROUP_RESAMPLES),
            n_groups=basis.n_groups,
            level=self.level,
        )

    def by_group(self, column: str) -> pl.DataFrame:
        """Return the same rows for each stratum of a column of cases, with the number of cases in it.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> model, sites = {"A": [[1, 0], [1, 0]]}, {"site": ["N", "S"]}
        >>> result = ds.evaluate(said, model, aggregations=["majority-vote"], strata=sites)
        >>> result.by_group("site").select("stratum", "run", "model", "mean", "n_cases").rows()
        [('N', 'majority-vote', 'A', 1.0, 1.0), ('S', 'majority-vote', 'A', 0.0, 1.0)]
        """
        if column not in self.strata:
            raise DissensusError(
                f"cases have no column {column!r}",
                expected=f"one of {listing(self.strata)}" if self.strata else "evaluate(..., strata={...})",
                advice=suggestion(column, self.strata),
            )
        bases = self._stratum_bases(column)
        tallies = {label: self.stratum_tallies[column, label] for label in bases}
        spreads = {
            label: tuple(map(self._group_spread, range(len(self.runs)), of_runs, tallies[label]))
            for label, of_runs in bases.items()
        }
        sizes = {label: float(of_runs[0].n_cases) for label, of_runs in bases.items()}
        return self._grouped("stratum", tallies, spreads, sizes)

    def _stratum_bases(self, column: str) -> dict[str, tuple[Basis, ...]]:
        """Sum over the cases of each label of a column, for every run."""
        if self.whole is not None:
            return {
                label: tuple(self._with_kept(one, ("stratum", column, label, run)) for run, one in enumerate(of_runs))
                for label, of_runs in self.whole.strata(column).items()
            }
        known, codes = np.unique(np.array(self.strata[column], dtype=object).astype(str), return_inverse=True)
        by_run = [self._bases_by_label(run, codes.astype(np.int64), len(known)) for run in range(len(self.runs))]
        return {
            label: tuple(
                self._with_kept(of_run[place], ("stratum", column, label, run)) for run, of_run in enumerate(by_run)
            )
            for place, label in enumerate(known.tolist())
        }

    def by_category(self) -> pl.DataFrame:
        """Return the same rows for each category, by the category of the first condition of every draw.

        A case counts for a category in the draws that say so, and ``n_cases`` is the expected number of cases: sums
        over these draws and cases are divided by their number. Without categories there are no rows.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> risks = ds.Categories.from_mapping({"a": "low", "b": "high"})
        >>> result = ds.evaluate(said, {"A": [[1, 0], [1, 0]]}, aggregations=["majority-vote"], categories=risks)
        >>> rows = result.by_category().filter(metric="top-1 accuracy")
        >>> rows.select("category", "model", "mean", "n_cases").rows()
        [('low', 'A', 1.0, 1.0), ('high', 'A', 0.0, 1.0)]
        """
        sizes = {name: self._expected_size(tallies) for name, tallies in self.category_tallies.items()}
        spreads = {
            name: tuple(
                self._group_spread(run, self._category_basis(run, name, one), self.category_tallies[name][run])
                for run, one in enumerate(of_runs)
            )
            for name, of_runs in self.category_resamples.items()
        }
        return self._grouped("category", self.category_tallies, spreads, sizes)

    def _category_basis(self, run: int, name: str, resamples: Resamples) -> Basis:
        basis, place = replace(self.basis(run), resamples=resamples), ("category", name, run)
        if self.kept is None or place not in self.kept.reaches:
            return basis
        return self._with_kept(basis, place)

    def by_certainty(self) -> pl.DataFrame:
        """Return the same rows by the certainty of the case under the same aggregation, with its bin and its limits.

        A bin reaches from its lower limit up to, but not including, the upper one; the last bin includes it. Bins
        without cases are left out.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
        >>> result.by_certainty().select("bin", "model", "mean", "n_cases").rows()
        [('0.99 to 1', 'A', 1.0, 2), ('0.99 to 1', 'B', 0.5, 2)]
        """
        import polars as pl

        schema = {"bin": pl.String, "from": pl.Float64, "to": pl.Float64, **SUMMARY}
        rows = [row for run, found in enumerate(self.findings) if len(found.certainties) for row in self._bins(run)]
        return pl.DataFrame(rows, schema=schema)

    def _bins(self, run: int) -> Iterable[dict[str, Any]]:
        """Write the rows of one run by bin of certainty."""
        for i, basis in enumerate(self._bin_bases(run)):
            if not basis.n_cases:
                continue
            tally = self.bin_tallies[i][run]
            limits = {"bin": f"{EDGES[i]:g} to {EDGES[i + 1]:g}", "from": EDGES[i], "to": EDGES[i + 1]}
            for row in self._rows(self.estimates[run], tally, self._group_spread(run, basis, tally), basis.n_cases):
                yield {**limits, **row}

    def _bin_bases(self, run: int) -> Sequence[Basis]:
        found: Sequence[Basis]
        if self.whole is not None:
            found = self.whole.bins(run)
        else:
            found = self._bases_by_label(run, bin_of(self.findings[run].certainties[0]), len(EDGES) - 1)
        return [self._with_kept(basis, ("bin", number, run)) for number, basis in enumerate(found)]

    def _grouped(
        self,
        name: str,
        tallies: Mapping[str, tuple[Tally, ...]],
        spreads: Mapping[str, tuple[Spread, ...]],
        sizes: Mapping[str, float],
    ) -> pl.DataFrame:
        import polars as pl

        rows = [
            {name: label, **row}
            for label, of_runs in tallies.items()
            for run, tally in enumerate(of_runs)
            for row in self._rows(self.estimates[run], tally, spreads[label][run], sizes[label])
        ]
        return pl.DataFrame(rows, schema={name: pl.String, **SUMMARY, "n_cases": pl.Float64})

    def _expected_size(self, tallies: tuple[Tally, ...]) -> float:
        return float(np.mean([tally.weights.mean() for tally in tallies])) if self.models else 0.0

    def _rows(
        self, one: Estimate, tally: Tally, apart: Spread, n_cases: float, *, point: FloatArray | None = None
    ) -> Iterable[dict[str, Any]]:
        numbers = summary(tally.means, apart, one.n_chains, self.level)
        for m, model in enumerate(self.models):
            for k, metric in enumerate(self.metrics):
                if one.identity["estimand"] == AGREEMENT and np.isnan(one.means[m, k]).all():
                    continue
                row = {name: float(values[m, k]) for name, values in numbers.items()}
                estimate = float(point[m, k]) if point is not None else None
                yield {
                    **one.identity,
                    "model": model,
                    "metric": metric.name,
                    **row,
                    "point_estimate": estimate,
                    "difference": None if estimate is None else estimate - row["mean"],
                    "n_cases": n_cases,
                    "n_draws": min(one.n_draws, tally.n_draws),
                }

    def _point(self, place: int) -> FloatArray | None:
        limit = self.runs[place].spec.limit if place < len(self.runs) else None
        return self.point_tallies[self.points.index(limit)].means[..., 0] if limit in self.points else None

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
        >>> said = ds.Annotations.from_counts([[4, 0], [0, 4], [4, 0]], ["no", "yes"], question="binary")
        >>> models = {"A": [[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"], metrics=["auroc"])
        >>> result.curves("roc").select("model", "x", "y")[50].row(0)
        ('A', 0.5, 1.0)
        """
        from dissensus.evaluation.curve_tables import curves

        return curves(self, kind)

    def confusion(self) -> pl.DataFrame:
        """Return how many cases of which label a model calls what: expected numbers, with intervals.

        A case counts for a label in the draws that say so, or by its plausibility. There are rows where metrics of
        decisions were asked for, and at most twelve conditions.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[4, 0], [0, 4], [4, 0]], ["no", "yes"], question="binary")
        >>> models = {"A": [[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"], metrics=["auroc"])
        >>> result.confusion().columns
        ['run', 'estimand', 'truth', 'model', 'question', 'label', 'called', 'n_cases', 'low', 'high']
        """
        from dissensus.evaluation.curve_tables import confusion

        return confusion(self)

    def point_estimates(self) -> pl.DataFrame:
        """Return every metric against every deterministic aggregation: what usual practice reports.

        The column ``estimand`` says ``practice``: such a number takes one answer per case for certain.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
        >>> result.point_estimates().filter(aggregation="majority-vote").drop("metric").rows()
        [('majority-vote', 'practice', 'A', 1.0), ('majority-vote', 'practice', 'B', 0.5)]
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

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
        >>> result.per_case().filter(model="B").select("run", "case", "mean", "sd").rows()
        [('majority-vote', 'x', 0.0, 0.0), ('majority-vote', 'y', 1.0, 0.0)]
        """
        import polars as pl

        own = [k for k, metric in enumerate(self.metrics) if not isinstance(metric, DataSetMetric)]
        columns = self._labels(self.case_names, "case", metrics=own)
        numbers = {"mean": self.case_means[:, :, own].ravel(), "sd": self.case_deviations[:, :, own].ravel()}
        return pl.DataFrame({**columns, **numbers})

    def per_draw(self) -> pl.DataFrame:
        """Return the mean over cases of every draw: one row per aggregation, model, metric and draw.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> result = ds.evaluate(said, {"A": [[1, 0], [0, 1]]}, aggregations=["dirichlet:1"], draws=50)
        >>> result.per_draw().columns
        ['run', 'aggregation', 'reliability', 'estimand', 'model', 'metric', 'draw', 'mean']
        >>> len(result.per_draw())
        50
        """
        import polars as pl

        parts = []
        for run, tally in enumerate(self.tallies):
            draws = [str(draw) for draw in range(tally.n_draws)]
            columns = self._labels(draws, "draw", runs=[run])
            table = pl.DataFrame({**columns, "mean": tally.means.ravel()})
            parts.append(table.with_columns(pl.col("draw").cast(pl.Int64)))
        return pl.concat(parts)

    def per_resample(self) -> pl.DataFrame:
        """Return the mean over every resample of the cases: one row per aggregation, model, metric and resample.

        The quantiles of these means are the limits of intervals, so they hold everything that widens one.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> result = ds.evaluate(said, {"A": [[1, 0], [0, 1]]}, aggregations=["dirichlet:1"], draws=50)
        >>> len(result.per_resample())
        2000
        """
        import polars as pl

        numbers = [str(number) for number in range(RESAMPLES)]
        columns = self._labels(numbers, "resample")
        means = np.concatenate([self.resampled_means(run).ravel() for run in range(len(self.runs))])
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

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
        >>> result.certainties().select("run", "top", "case", "certainty", "winner").rows()
        [('majority-vote', 1, 'x', 1.0, ['a']), ('majority-vote', 1, 'y', 1.0, ['b'])]
        """
        return case_tables.certainties(self)

    def category_certainties(self) -> pl.DataFrame:
        """Return the certainty of the category of the first condition: one row per aggregation and case that is held.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> risks = ds.Categories.from_mapping({"a": "low", "b": "high"})
        >>> result = ds.evaluate(said, {}, aggregations=["majority-vote"], categories=risks)
        >>> result.category_certainties().select("case", "certainty", "category").rows()
        [('x', 1.0, 'low'), ('y', 1.0, 'high')]
        """
        return case_tables.category_certainties(self)

    def risks(self) -> pl.DataFrame:
        """Return the expected risk, ``mean``, ``min`` and ``max`` over draws: one row per aggregation and held case.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> risks = ds.Categories.from_mapping({"a": "low", "b": "high"})
        >>> result = ds.evaluate(said, {}, aggregations=["majority-vote"], categories=risks)
        >>> result.risks().select("case", "mean").rows()
        [('x', 0.5), ('y', 2.0)]
        """
        return case_tables.risks(self)

    def plausibilities(self) -> pl.DataFrame:
        """Return mean plausibility, share of draws on top and a few draws: one row per aggregation, case and condition.

        A missing condition stands for all that nobody mentioned, together. Cases are those that are held, which may be
        a sample (``is_sample``).

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
        >>> result.plausibilities().select("case", "condition", "mean", "top").head(3).rows()
        [('x', 'a', 0.75, 1.0), ('x', 'b', 0.25, 0.0), ('x', None, 0.0, 0.0)]
        """
        return case_tables.plausibilities(self)

    def agreement(self) -> pl.DataFrame:
        """Return how far the annotators of each case agree, see :func:`annotator_agreement`; no rows for ratings.

        Where cases are a sample (``is_sample``), so are the rows.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
        >>> result.agreement().rows()
        [('x', 0.75, 4), ('y', 1.0, 4)]
        """
        return case_tables.agreement(self)

    @checked
    def compare(self, *, margin: float | None = None) -> Comparison:
        """Compare the models with each other on the same draws and the same resampled cases.

        Parameters
        ----------
        margin
            The largest difference that does not matter, in units of the metric. With it, verdicts also say whether one
            model is not worse than the other by more than that, and whether both are equivalent.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
        >>> result.compare().differences[0].difference
        0.5
        """
        from dissensus.evaluation.comparison import compared

        return compared(self, margin)

    def merge(self, other: Evaluation) -> Evaluation:
        """Put evaluations of different cases together; models, metrics and settings must agree.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = ds.Predictions.from_scores([[1, 0], [0, 1]], ["a", "b"], case_names=["x", "y"])
        >>> one, other = (ds.evaluate(said.select([case]), {"A": models.select([case])}, aggregations=["majority-vote"])
        ...               for case in ("x", "y"))
        >>> one.merge(other).case_names
        ('x', 'y')
        """
        from dissensus.evaluation.union import merged

        return merged(self, other)

    @checked
    def save(self, directory: Path, *, overwrite: bool = False) -> None:
        """Write the results into a new directory, whole or not at all; see :func:`load_evaluation`.

        Of a study in shards, tables by case stay in the directory of its run.

        Parameters
        ----------
        directory
            Where to.
        overwrite
            Replace earlier results. A directory that holds anything else stays, as does the working directory.

        Examples
        --------
        >>> import tempfile
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> result = ds.evaluate(said, {"A": [[1, 0], [0, 1]]}, aggregations=["majority-vote"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(f"{folder}/results")
        ...     ds.load_evaluation(f"{folder}/results").models
        ('A',)
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
        """Return a metric by name, or say which there are.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> models = {"A": [[1, 0], [0, 1]], "B": [[0, 1], [0, 1]]}
        >>> result = ds.evaluate(said, models, aggregations=["majority-vote"])
        >>> result.metric("top-1 accuracy")
        TopKAccuracy(k=1, j=1)
        """
        names = [metric.name for metric in self.metrics]
        return self.metrics[names.index(known_name("metric", name, names))]

    def of_run(self, frame: pl.DataFrame, run: int) -> pl.DataFrame:
        """Keep the rows of one run of any of the tables.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Annotations.from_counts([[3, 1], [0, 4]], ["a", "b"], case_names=["x", "y"])
        >>> result = ds.evaluate(said, {}, aggregations=["dirichlet:1,3"], draws=50)
        >>> result.of_run(result.certainties(), 1)["run"].unique().to_list()
        ['dirichlet 3']
        """
        return frame.filter(frame["run"] == self.runs[run].label)

    def __repr__(self) -> str:
        from dissensus.evaluation.sentences import headline

        return headline(self)


@np.errstate(invalid="ignore")  # the spread around what is infinite is undefined
def summary(means: FloatArray, apart: Spread, n_chains: int, level: float) -> dict[str, FloatArray]:
    """Summarise the means over cases of every draw, as they are and on cases like these, each (models, metrics).

    The interval always holds the mean. Draws in which no case counts, as in a rare category, are left out.
    """
    from dissensus.aggregation.diagnostics import standard_errors_of_means

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
