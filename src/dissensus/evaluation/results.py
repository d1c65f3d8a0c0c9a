"""What came out: an immutable result that answers questions in the user's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from dissensus.aggregations.base import Aggregation
from dissensus.certainty.categories import Categories
from dissensus.certainty.top_sets import ANY_OTHER
from dissensus.core.arrays import FloatArray, Path, Value, equal_fields
from dissensus.core.checks import check_choice, check_position, checked, with_checked_methods
from dissensus.core.errors import DissensusError, known_name, listing, suggestion
from dissensus.core.output import directory_written_whole
from dissensus.core.ragged import row_of_each
from dissensus.core.receipt import Receipt
from dissensus.core.screen import Screen, Shown
from dissensus.core.spec import distinct_names, one_spec, present_versions
from dissensus.evaluation.annotators import AnnotatorSpread
from dissensus.evaluation.estimates import ADJUSTED, PANEL, PRACTICE, Estimate, Run, leading_runs, point_keys, stacked
from dissensus.evaluation.labels import LabelsByTruth, data_set_metrics, kept_labels
from dissensus.evaluation.protocol import Protocol
from dissensus.evaluation.sums import EACH, FINDING, Place, Sums, block_places
from dissensus.evaluation.tally import ANNOTATORS, EDGES, TRUTH, Profiles
from dissensus.metrics.base import Metric
from dissensus.predictions.lists import Predictions
from dissensus.study.question import PAIR
from dissensus.study.study import Study

if TYPE_CHECKING:
    from dissensus.evaluation.calibration import Calibration
    from dissensus.evaluation.comparison import Comparison
    from dissensus.evaluation.curves import Curve
    from dissensus.evaluation.expert_comparison.experts import Experts
    from dissensus.evaluation.plots import Plots


# What results lead with: the agreement with single annotators, or uncertainty-adjusted metrics, as the paper does.
Leads: TypeAlias = Literal["agreement", "adjusted"]


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
    held_out_gain
        By how much models raise the mean log-probability of a first choice (of ratings, log-density of a rating) that
        the prior has not seen, given the other opinions on the case; negative if they lower it, of several findings
        their mean, missing where it is not known.
    are_labels
        Whether no model that informs the prior gives scores.
    """

    models: tuple[Mapping[str, Any], ...] = ()
    concentrations: tuple[float, ...] = ()
    reason: str = ""
    warnings: tuple[str, ...] = ()
    held_out_gain: float | None = None
    are_labels: bool = False


class Certainties(NamedTuple):
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


@with_checked_methods
@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Shown, Value):
    """Hold every metric of every model under every aggregation.

    Attributes
    ----------
    runs
        The aggregations that were sampled.
    points
        The deterministic aggregations that point estimates come from.
    metrics
        The metrics, the primary one first.
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
    trained_on
        Models that were declared as trained on these annotations; they do not inform the prior.
    remarks
        What makes a metric of a whole data set meaningless, in sentences.
    lines
        Curves of the headline run and of the reference run, and rows of their confusion matrices.
    disputed
        Of more cases than are held, the evaluation of those with the least certainty, to be looked at.
    experts
        Models beside one annotator; missing without models. Where nothing could be compared, its notes say why.
    level
        Probability that intervals hold.
    leads
        What results lead with: ``"agreement"`` with single annotators, or ``"adjusted"`` metrics as in the paper.
    seed
        The seed of all draws.
    protocol
        What was decided before the data were seen, and what deviates from it; missing without a protocol.
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
    >>> result.by_group("site").filter(model="B", estimand="adjusted").select("stratum", "mean", "n_cases").rows()
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
    trained_on: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    lines: tuple[Curve, ...] = ()
    disputed: Evaluation | None = None
    experts: Experts | None = None
    level: float = 0.95
    leads: Leads = "agreement"
    seed: int = 0
    protocol: Protocol | None = None
    versions: Mapping[str, str] = field(default_factory=present_versions)

    # What was evaluated -----------------------------------------------------------------------------------

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """What was understood of the files: of opinions, then of each model; none for what was built in memory."""
        read = (self.study, *self.predictions.values())
        return tuple(one.receipt for one in read if one.receipt is not None)

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
            return max(int(self.sums["n", "run 0", "stratum", FINDING, label]) for label in findings)
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
            return self.estimates[0].designs[1] or 0
        return len(set(self.study.groups))

    @cached_property
    def certainty_counts(self) -> tuple[Certainties, ...]:
        """For every run, in how many cases the annotations leave the answer open; none without certainties."""
        known = (self.sums["certainty", key].tolist() for key in self.keys if ("certainty", key) in self.sums)
        return tuple(Certainties(int(n), int(a), int(b), int(c), total / n) for n, a, b, c, total in known)

    @property
    def keys(self) -> tuple[str, ...]:
        """What names of sums call the runs."""
        return tuple(f"run {place}" for place in range(len(self.runs)))

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.predictions)

    @property
    def primary(self) -> str:
        """Name of the primary metric, the first, which verdicts are about; empty without models."""
        return self.metrics[0].name if self.metrics else ""

    @property
    def panel(self) -> int | None:
        """The run whose values estimate what a large panel would say, if there is one."""
        return next((place for place, run in enumerate(self.runs) if run.estimand == PANEL), None)

    @cached_property
    def _leading(self) -> tuple[int, int]:
        best = None if self.calibration is None else self.calibration.best
        return leading_runs([run.spec for run in self.runs], self.leads, best)

    @property
    def headline(self) -> int:
        """The run that first sentences about models are about: the panel, unless adjusted metrics lead."""
        return self._leading[0]

    @property
    def reference(self) -> int:
        """The run that stands for all adjusted ones: what was calibrated, else reliability 1, else the middle.

        Where adjusted metrics lead, it is the middle one, the medium reliability of the paper.

        What is said about the annotations themselves, such as their certainty, is said about this run, which models
        have no part in.
        """
        return self._leading[1]

    @property
    def adjusted_runs(self) -> tuple[int, ...]:
        """The runs whose draws the models have no part in: those of sweeps over reliability."""
        return tuple(place for place, run in enumerate(self.runs) if run.estimand == ADJUSTED)

    def run_label(self, run: int) -> str:
        """Name a run as the column ``run`` of every table does."""
        check_position("run", run, len(self.runs))
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

    def screen(self) -> Screen:
        """Return what is seen first: models beside annotators, what that decides, and what to know before use."""
        from dissensus.evaluation.first_screen import first_screen

        return first_screen(self)

    def summary(self) -> pl.DataFrame:
        """Return one row per metric and model: agreement, worth, majority vote, adjusted, panel, and truth if known.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]] * 10, ["a", "b"])
        >>> result = ds.evaluate(said, {"A": [[1, 0], [0, 1]] * 10}, aggregations=["majority-vote"])
        >>> result.summary().select("model", "agreement", "experts", "majority_vote").row(0)
        ('A', 0.875, 0.75, 1.0)
        """
        from dissensus.evaluation.first_screen import records

        return pl.DataFrame(records(self), infer_schema_length=None)

    def to_metrics(self) -> dict[str, float]:
        """Return what is estimated as a flat mapping of names to numbers, for trackers of experiments.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[3, 1], [0, 4]] * 10, ["a", "b"])
        >>> result = ds.evaluate(said, {"A": [[1, 0], [0, 1]] * 10}, aggregations=["majority-vote"])
        >>> result.to_metrics()["A/top-1 accuracy/agreement"]
        0.875
        """
        counts, found = self.certainty_counts, dict[str, float]()
        for row in self.summary().to_dicts():
            numbers = {name: float(of) for name, of in row.items() if isinstance(of, int | float) and np.isfinite(of)}
            found |= {f"{row['model']}/{row['metric']}/{name}": value for name, value in numbers.items()}
        return found | ({"mean certainty": counts[self.reference].mean} if counts else {})

    @checked
    def report(self, path: Path = "report.html", *, title: str | None = None, overwrite: bool = False) -> None:
        """Write the report: one page that works without a network; see :func:`write_report`."""
        page = import_module("dissensus.report.page")  # it stands above evaluations, and knows them
        page.write_report(self, path, title=title, overwrite=overwrite)

    def cases(self) -> pl.DataFrame:
        """Return the cases that need a look, by rule, with the models that a rule names; see ``dissensus cases``.

        Examples
        --------
        >>> import dissensus as ds
        >>> said = ds.Study.from_counts([[9, 0], [5, 4]], ["a", "b"], case_names=["x", "y"])
        >>> result = ds.evaluate(said, {"A": [[0, 1], [0, 1]]}, aggregations=["dirichlet:10"])
        >>> result.cases().select("case", "reason", "models").rows()
        [('x', 'confidently wrong', 'A'), ('y', 'unsettled', None)]
        """
        from dissensus.evaluation.first_screen import MISSED, RULES, WRONG, triage

        columns = {**dict.fromkeys(("case", "reason", "models", "annotators"), pl.String), "certainty": pl.Float64}
        if not self.profiles:
            return pl.DataFrame(schema=columns)
        found, known = triage(self), self.profiles[self.reference]
        best = [" + ".join(names) for names in winners(self.conditions, known, 1).to_list()]
        rows: list[tuple[Any, ...]] = []
        for rule in RULES:
            of_model = {name: {*found.of_rule(rule, m).tolist()} for m, name in enumerate(self.models)}
            places = found.of_rule(rule).tolist()
            who = {i: [name for name, cases in of_model.items() if i in cases] for i in places}
            for i in sorted(places, key=lambda i: (-len(who[i]), known.certainties[0][i])):
                named = ", ".join(who[i]) if rule in (WRONG, MISSED) else None
                rows.append((self.case_names[i], rule, named, best[i], known.certainties[0][i]))
        return pl.DataFrame(rows, schema=columns, orient="row")

    # What the sums hold -----------------------------------------------------------------------------------

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """What the tables hold: the values of every run, then the agreement with single annotators, and the truth."""
        if not self.models:
            return ()
        others = (Estimate(self, key) for key in (ANNOTATORS, TRUTH) if self.sums.names("draws", key))
        return (*(Estimate(self, key, run) for key, run in zip(self.keys, self.runs, strict=True)), *others)

    @property
    def shared(self) -> Estimate | None:
        """The agreement with single annotators; missing where opinions are no answers of their own."""
        return next((one for one in self.estimates if one.key == ANNOTATORS), None)

    @cached_property
    def point_values(self) -> tuple[FloatArray, ...]:
        """For each deterministic aggregation, the mean over all cases, shape (models, metrics)."""
        return tuple(Estimate(self, key).tally.means[..., 0] for key in point_keys(self.points))

    def _cases(self, what: str) -> FloatArray:
        if not self.models:
            return np.empty((len(self.runs), 0, 0, len(self.case_names)))
        return np.stack(np.broadcast_arrays(*(stacked(self.sums, self.metrics, "cases", what, k) for k in self.keys)))

    @cached_property
    def case_means(self) -> FloatArray:
        """Mean over draws of every case that is held, shape (runs, models, metrics, cases)."""
        return self._cases("means")

    @cached_property
    def profiles(self) -> tuple[Profiles, ...]:
        """For each run, what the draws say about every case that is held."""
        keys = [key for key in self.keys if ("profile", key, "support") in self.sums]
        names = Profiles.__dataclass_fields__
        return tuple(Profiles(**{name: self.sums["profile", key, name] for name in names}) for key in keys)

    def label_masses(self, run: int) -> LabelsByTruth:
        """Return the labels of the draws of a run, by truth; nothing where no metric keeps them."""
        check_position("run", run, len(self.runs))
        truths = {metric.truth: None for metric in data_set_metrics(self.metrics)}
        has_any = bool(self.sums.names("rows", "labels", self.keys[run]))
        return kept_labels(self.sums, self.keys[run], truths) if has_any else {}

    def labels_of(self, column: str) -> list[str]:
        """Return the labels of a column of cases, in order."""
        known = [str(name[-1]) for name in self.sums.names("n", "run 0", "stratum", column)]
        return sorted(known or set(self.strata[known_name("column", column, self.strata)]))

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
        value on cases like these, annotated likewise; ``case_sd``, ``annotator_sd``, ``draw_sd``, ``fit_sd`` and
        ``family_sd`` are what it owes to the cases, to the choice of annotators (nan where they count as fixed), to the
        draws, and to the fit of the prior and its family (nan where none was fitted). ``sd``,
        ``min``, ``max`` and the interval ``annotation_low`` to ``annotation_high`` tell how far the annotations alone
        move the value on these very cases. ``mc_error`` is the Monte Carlo error of ``mean``.
        ``point_estimate`` is the value against the deterministic aggregation that the run tends to, and ``difference``
        is ``point_estimate`` minus ``mean``.
        """
        return _summarised({}, (({"n_cases": self.n_cases}, one) for one in self.estimates))

    # Groups of cases --------------------------------------------------------------------------------------

    def by_group(self, column: str) -> pl.DataFrame:
        """Return the same rows for each stratum of a column of cases, with the number of cases in it.

        Usual practice has rows of its own, without intervals.
        """
        if column not in self.strata:
            raise DissensusError(
                f"cases have no column {column!r}",
                expected=f"one of {listing(self.strata)}" if self.strata else "evaluate(..., strata={...})",
                advice=suggestion(column, self.strata),
            )
        return self._grouped("stratum", [("stratum", column, label) for label in self.labels_of(column)])

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
        >>> rows = result.by_category().filter(metric="top-1 accuracy", estimand="adjusted")
        >>> rows.select("category", "model", "mean", "n_cases").rows()
        [('low', 'A', 1.0, 1.0), ('high', 'A', 0.0, 1.0)]
        """
        names = () if self.categories is None or not self.models else self.categories.names
        return self._grouped("category", [("category", name) for name in names])

    def _grouped(self, name: str, places: Sequence[Place]) -> pl.DataFrame:
        wanted: list[tuple[dict[str, Any], Estimate]] = []
        for place in places:
            usual = (Estimate(self, key) for key in point_keys(self.points))
            found = [one.at(place) for one in (*self.estimates, *usual)] if self.models else []
            runs = found[: len(self.runs)]
            size = float(runs[0].n_cases) if runs else 0.0
            if name == "category":
                size = float(np.mean([one.tally.weights.mean() for one in runs]))
            wanted += [({name: place[-1], "n_cases": size}, one) for one in found if one.is_known]
        return _summarised({name: pl.String, "n_cases": pl.Float64}, wanted)

    def by_certainty(self) -> pl.DataFrame:
        """Return the same rows by the certainty of the case under the same aggregation, with its bin and its limits.

        A bin reaches from its lower limit up to, but not including, the upper one; the last bin includes it. Bins
        without cases are left out.
        """
        wanted: list[tuple[dict[str, Any], Estimate]] = []
        for one in self.estimates[: len(self.runs)]:
            for i in sorted(int(name[-1]) for name in self.sums.names("n", one.key, "bin")):
                low, high, own = EDGES[i], EDGES[i + 1], one.at(("bin", i))
                labels = {"bin": f"{low:g} to {high:g}", "from": low, "to": high}
                wanted.append(({**labels, "n_cases": own.n_cases}, own))
        return _summarised({"bin": pl.String, "from": pl.Float64, "to": pl.Float64}, wanted)

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
        from dissensus.evaluation.curves import KINDS

        drawn = [name for name in KINDS if name != "confusion"]
        if kind is not None:
            check_choice("kind", kind, drawn)
        return self._drawn(drawn if kind is None else [kind]).drop("given")

    def confusion(self) -> pl.DataFrame:
        """Return how many cases of which label a model calls what: expected numbers, with intervals.

        A case counts for a label in the draws that say so, or by its plausibility. There are rows where metrics of
        decisions were asked for, and at most twelve conditions.
        """
        found = self._drawn(["confusion"])
        called = pl.Series(self.conditions, dtype=pl.String).gather(found["x"].cast(pl.Int64))
        whose = ("run", "estimand", "truth", "model", "question")
        return found.select(*whose, label="given", called=called, n_cases="y", low="low", high="high")

    def _drawn(self, kinds: Sequence[str]) -> pl.DataFrame:
        """Return a row per point of every curve of some kinds, with what says whose it is."""
        estimands = {run.label: run.estimand for run in self.runs}
        rows = [
            (one.kind, one.run, estimands[one.run], one.truth, one.model, one.question, one.given, *point)
            for one in self.lines
            if one.kind in kinds
            for point in zip_longest(one.x, one.y, one.low, one.high, one.sizes)
        ]
        whose = dict.fromkeys(("kind", "run", "estimand", "truth", "model", "question", "given"), pl.String)
        columns = dict.fromkeys(("x", "y", "low", "high", "n_cases"), pl.Float64)
        return pl.DataFrame(rows, schema={**whose, **columns}, orient="row")

    def point_estimates(self) -> pl.DataFrame:
        """Return every metric against every deterministic aggregation: what usual practice reports.

        The column ``estimand`` says ``practice``: such a number takes one answer per case for certain.
        """
        columns = dict.fromkeys(("aggregation", "estimand", "model", "metric"), pl.String)
        rows = [
            (name, PRACTICE, model, metric.name, float(values[m, k]))
            for name, values in zip(distinct_names(self.points), self.point_values if self.models else (), strict=False)
            for m, model in enumerate(self.models)
            for k, metric in enumerate(self.metrics)
        ]
        return pl.DataFrame(rows, schema={**columns, "point_estimate": pl.Float64}, orient="row")

    def per_case(self) -> pl.DataFrame:
        """Return the mean and spread over draws of every case: one row per case, aggregation, model and metric.

        Where cases are a sample (``is_sample``), so are the rows; those of all cases are in ``per_case`` of the run.
        Metrics of a whole data set have no value of one case.
        """
        own = block_places(self.metrics, EACH)
        both = zip(self.case_means[:, :, own], self._cases("deviations")[:, :, own], strict=True)
        parts = ({"mean": means, "sd": deviations} for means, deviations in both)
        found = self._laid_out("case", parts, [self.metrics[k].name for k in own])
        return found.with_columns(pl.Series(self.case_names, dtype=pl.String).gather(found["case"]).alias("case"))

    def per_draw(self) -> pl.DataFrame:
        """Return the mean over cases of every draw: one row per aggregation, model, metric and draw."""
        return self._laid_out("draw", ({"mean": one.tally.means} for one in self.estimates[: len(self.runs)]))

    def per_resample(self) -> pl.DataFrame:
        """Return the mean over every resample of the cases: one row per aggregation, model, metric and resample.

        The quantiles of these means are the limits of intervals, so they hold everything that widens one.
        """
        return self._laid_out("resample", ({"mean": one.spread.values} for one in self.estimates[: len(self.runs)]))

    def _laid_out(
        self, name: str, found: Iterable[Mapping[str, FloatArray]], metrics: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Write arrays of each run, (models, metrics, n) each, as rows, with the place along the last axis."""
        measures = [one.name for one in self.metrics] if metrics is None else metrics
        parts = []
        for columns in list(found) or [{"mean": np.empty((0, 0, 0))} for _ in self.runs]:
            model, measure, last = np.indices(next(iter(columns.values())).shape).reshape(3, -1)
            labels = {
                "model": pl.Series(self.models, dtype=pl.String).gather(model),
                "metric": pl.Series(measures, dtype=pl.String).gather(measure),
                name: pl.Series(last),
            }
            parts.append({**labels, **{column: values.ravel() for column, values in columns.items()}})
        return self._of_runs(parts)

    def _of_runs(self, found: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
        """Put columns of each run below each other, with what says which run it is."""
        parts = []
        for run, columns in zip(self.runs, found, strict=True):
            labels = (pl.lit(run.identity[name], dtype=kind).alias(name) for name, kind in RUN.items())
            parts.append(pl.DataFrame(columns).select(*labels, pl.all()))
        return pl.concat(parts)

    def certainties(self) -> pl.DataFrame:
        """Return the certainty of the first 1, 2 and 3 conditions: one row per aggregation, number and case.

        ``error`` is its Monte Carlo standard error and ``winner`` the set that most draws agree on, as a list. Where
        cases are a sample (``is_sample``), so are the rows; those of all cases are in ``certainty`` of the run.
        """
        cases = pl.Series(self.case_names, dtype=pl.String)
        found = (
            {
                "top": np.repeat(np.arange(1, len(known.certainties) + 1), len(cases)),
                "case": pl.concat([cases] * len(known.certainties)),
                "certainty": known.certainties.ravel(),
                "error": known.errors.ravel(),
                "winner": pl.concat([winners(self.conditions, known, i) for i in range(1, len(known.certainties) + 1)]),
            }
            for known in self.profiles
        )
        return self._of_runs(found)

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
        names = pl.Series(() if self.categories is None else self.categories.names, dtype=pl.String)
        found = [
            {
                "case": pl.Series(self.case_names[: len(known.category_winners)], dtype=pl.String),
                "certainty": known.category_certainties,
                "error": known.category_errors,
                "category": names.gather(known.category_winners),
            }
            for known in self.profiles  # which hold nothing without categories
        ]
        return self._of_runs(found)

    def risks(self) -> pl.DataFrame:
        """Return the expected risk, ``mean``, ``min`` and ``max`` over draws: one row per aggregation and held case."""
        cases = pl.Series(self.case_names, dtype=pl.String)
        return self._of_runs(
            {"case": cases[: known.risks.shape[1]], **dict(zip(("mean", "min", "max"), known.risks, strict=True))}
            for known in self.profiles  # which hold nothing without levels of risk
        )

    def plausibilities(self) -> pl.DataFrame:
        """Return mean plausibility, share of draws on top and a few draws: one row per aggregation, case and condition.

        A missing condition stands for all that nobody mentioned, together. Cases are those that are held, which may be
        a sample (``is_sample``).
        """
        cases = pl.Series(self.case_names, dtype=pl.String)
        names, others = pl.Series([*self.conditions, None], dtype=pl.String), len(self.conditions)
        found = [
            {
                "case": cases.gather(row_of_each(known.columns)),
                "condition": names.gather(np.insert(known.support, known.support_offsets[1:], others)),
                "mean": known.means,
                "top": known.tops,
                "draws": pl.Series(np.ascontiguousarray(known.sketch.T.astype(np.float32))).arr.to_list(),
            }
            for known in self.profiles
        ]
        return self._of_runs(found)

    def agreement(self) -> pl.DataFrame:
        """Return how far the annotators of each case agree, see :func:`annotator_agreement`; no rows for ratings.

        Where cases are a sample (``is_sample``), so are the rows.
        """
        if self.study.kind != "rankings":
            return pl.DataFrame(schema={"case": pl.String, "agreement": pl.Float64, "n_annotators": pl.Int64})
        from dissensus.agreement.peers import annotator_agreement

        return annotator_agreement(self.study).to_frame().with_columns(pl.col("agreement").fill_nan(None))

    @checked
    def compare(
        self, first: str | None = None, second: str | None = None, *, margin: float | None = None
    ) -> Comparison:
        """Compare the models with each other on the same draws and the same resampled cases.

        Parameters
        ----------
        first, second
            Names of two models: compare these alone, by what decides (the primary metric). By default all pairs, by
            all metrics and estimands.
        margin
            The largest difference that does not matter, in units of the metric. With it, verdicts also say whether one
            model is not worse than the other by more than that, and whether both are equivalent.
        """
        from dissensus.evaluation.comparison import compared

        if (first is None) != (second is None) or (first is not None and first == second):
            raise DissensusError("two models are compared with each other", expected="the names of two, or none")
        return compared(self, () if first is None or second is None else (first, second), margin)

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
        from dissensus.evaluation.evaluator import merged

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
        from dissensus.evaluation.store import not_results, write_files

        with directory_written_whole(directory, overwrite=overwrite, foreign=not_results) as place:
            write_files(self, place)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Evaluation) and equal_fields(self._plain(), other._plain())

    def _plain(self) -> Evaluation:
        """Put records in the place of specs: what stands for a metric that is not at hand equals it."""
        metrics: Any = tuple(metric.record() for metric in self.metrics)
        experts: Any = self.experts and self.experts.to_json()
        return replace(self, metrics=metrics, experts=experts)

    __hash__ = None

    def metric(self, name: str) -> Metric:
        """Return a metric by its name here or any usual one, or say which there are."""
        names = [metric.name for metric in self.metrics]
        found = name
        if name not in names:
            with suppress(DissensusError):
                found = one_spec(Metric.family, name, {"categories": self.categories and self.categories.labels}).name
        return self.metrics[names.index(found if found in names else known_name("metric", name, names))]

    def of_run(self, frame: pl.DataFrame, run: int) -> pl.DataFrame:
        """Keep the rows of one run of any of the tables; a usual practice may be called like it."""
        one = self.runs[run]
        kept = frame.filter(frame["run"] == one.label)
        return kept.filter(kept["estimand"] == one.estimand) if "estimand" in kept.columns else kept


def _summarised(columns: Mapping[str, Any], wanted: Iterable[tuple[Mapping[str, Any], Estimate]]) -> pl.DataFrame:
    """Return tidy rows of estimates, each with labels of its own; ``columns`` come before the usual ones."""
    rows = [{**row, **labels} for labels, one in wanted for row in one.rows()]
    first = {name: kind for name, kind in columns.items() if name not in SUMMARY}
    return pl.DataFrame(rows, schema={**first, **SUMMARY, **columns})


# Columns that say which run a row belongs to, and what it estimates.
RUN = {"run": pl.String, "aggregation": pl.String, "reliability": pl.Float64, "estimand": pl.String}


# Columns of the tidy table.
SUMMARY = {
    **RUN,
    "model": pl.String,
    "metric": pl.String,
    **dict.fromkeys(("mean", "sd", "low", "high", "annotation_low", "annotation_high", "min", "max"), pl.Float64),
    **dict.fromkeys(("case_sd", "annotator_sd", "draw_sd", "fit_sd", "family_sd", "mc_error"), pl.Float64),
    "point_estimate": pl.Float64,
    "difference": pl.Float64,
    "n_cases": pl.Int64,
    "n_draws": pl.Int64,
}


def winners(conditions: tuple[str, ...], known: Profiles, top: int) -> pl.Series:
    """Name the winning set of every case; what it lacks is some unmentioned condition."""
    chosen, offsets = np.flatnonzero(known.is_member[top - 1]), known.support_offsets
    cases = row_of_each(offsets)[chosen]
    lacking = np.repeat(np.arange(len(offsets) - 1), top - np.bincount(cases, minlength=len(offsets) - 1))
    names = pl.Series([*conditions, ANY_OTHER], dtype=pl.String)
    codes = np.concatenate([known.support[chosen], np.full(len(lacking), len(conditions))])
    rows = pl.DataFrame({"case": np.concatenate([cases, lacking]), "winner": names.gather(codes)})
    return rows.sort("case", maintain_order=True).group_by("case", maintain_order=True).agg("winner")["winner"]
