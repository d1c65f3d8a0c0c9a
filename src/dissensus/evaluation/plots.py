"""Draw an evaluation: one method per figure, and all of them as files for a paper."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, update_wrapper
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias

from dissensus.core.arrays import Path
from dissensus.core.errors import DissensusError, known_name
from dissensus.evaluation.curves import EVERYBODY
from dissensus.evaluation.estimates import ADJUSTED, AGREEMENT
from dissensus.evaluation.results import Evaluation
from dissensus.evaluation.sentences import ranked, side_by_side
from dissensus.evaluation.tally import TRUTH
from dissensus.figures import evaluation_charts as drawings
from dissensus.figures.charts import Chart

if TYPE_CHECKING:
    import polars as pl
    from altair import VConcatChart as Figure

# A run by its position or its label; nothing for the run that the figure is about first.
ChosenRun: TypeAlias = int | str | None

Options = ParamSpec("Options")


def _curves(evaluation: Evaluation) -> set[str]:
    return {one.kind for one in evaluation.lines if len(one.x)}


# What figures may need, and how to tell whether an evaluation has it.
NEEDS: dict[str, Callable[[Evaluation], bool]] = {
    "models": lambda evaluation: bool(evaluation.models),
    "an adjusted run": lambda evaluation: bool(evaluation.adjusted_runs),
    "two models": lambda evaluation: len(evaluation.models) > 1,
    "categories": lambda evaluation: evaluation.categories is not None,
    "levels of risk": lambda evaluation: evaluation.categories is not None and bool(evaluation.categories.levels),
    "cases with two annotators": lambda evaluation: bool((evaluation.study.panel.votes_per_case > 1).any()),
    "rankings": lambda evaluation: evaluation.study.kind == "rankings",
    "a calibration": lambda evaluation: evaluation.calibration is not None and bool(evaluation.calibration.split_rows),
    "a metric that ranks cases": lambda evaluation: "roc" in _curves(evaluation),
    "a calibration error": lambda evaluation: "reliability" in _curves(evaluation),
    "net benefit": lambda evaluation: "decision" in _curves(evaluation),
    "decisions between few conditions": lambda evaluation: "confusion" in _curves(evaluation),
}


@dataclass(frozen=True)
class FigureSort:
    """Describe one sort of figure: what it shows, which options it takes, what it needs, how it is built.

    Figures with ``panel`` are about what a large panel would say, where that is estimated; all others are about the
    reference run, which models have no part in.
    """

    name: str
    shows: str
    build: Callable[..., Chart]
    options: tuple[str, ...]
    needs: tuple[str, ...]
    panel: bool = False

    def lacking(self, evaluation: Evaluation) -> str:
        """Name what the figure needs and the evaluation does not have, or nothing."""
        return next((need for need in self.needs if not NEEDS[need](evaluation)), "")

    def chart(self, plots: Plots, *values: Any, **options: Any) -> Chart:
        """Build the figure, or say what it lacks."""
        lacking = self.lacking(plots.evaluation)
        if lacking:
            problem, advice = (
                f"this evaluation has no figure {self.name!r}",
                f"its figures are {', '.join(plots.names())}",
            )
            raise DissensusError(problem, expected=f"an evaluation with {lacking}", advice=advice)
        given = inspect.signature(self.build).bind(plots, *values, **options)
        if self.panel and given.arguments.get("run") is None:
            given.arguments["run"] = plots.evaluation.headline
        return self.build(*given.args, **given.kwargs)


# All figures by name: those that the methods of :class:`Plots` draw.
FIGURES: dict[str, FigureSort] = {}


def found_figure(name: str) -> FigureSort:
    """Return the sort of figure of this name, or say which there are.

    >>> found_figure("draws").options
    ('metric', 'run')
    """
    return FIGURES[known_name("figure", name, list(FIGURES))]


def figure(
    *needs: str, panel: bool = False
) -> Callable[[Callable[Concatenate[Plots, Options], Chart]], Callable[Concatenate[Plots, Options], Figure]]:
    """Make a method that builds a chart one that draws it, and make the figure known by its name."""

    def declared(build: Callable[Concatenate[Plots, Options], Chart]) -> Callable[Concatenate[Plots, Options], Figure]:
        name, shows = build.__name__, (inspect.getdoc(build) or "").rstrip(".")
        options = tuple(inspect.signature(build).parameters)[1:]
        sort = FIGURES[name] = FigureSort(name, shows, build, options, needs, panel)

        def drawn(plots: Plots, /, *values: Options.args, **options: Options.kwargs) -> Figure:
            from dissensus.figures.charts import drawn as altair_chart

            return altair_chart(sort.chart(plots, *values, **options))

        update_wrapper(drawn, build)
        return drawn

    return declared


class Tables:
    """Give the tables of an evaluation, by the names of its methods, each computed once."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = cache(getattr(self.evaluation, name))
        return found


@dataclass(frozen=True)
class Plots:
    """Draw an evaluation; every figure is an Altair chart.

    A ``run`` is a position in ``evaluation.runs`` or a label such as ``"plackett-luce 3"``. By default, figures that
    compare models are about the panel estimate where there is one, and all others about the reference run. A ``metric``
    is a name, by default that of the first.

    Examples
    --------
    >>> from dissensus import Study, evaluate
    >>> said = Study.from_counts([[3, 1], [0, 4]], ["a", "b"])
    >>> plots = evaluate(said, {}, aggregations=["plackett-luce:1,3"], draws=40).plot
    >>> plots.names()
    ('certainty', 'certainty_histogram', 'certainty_by_top', 'share_below', 'agreement', 'study', 'case')
    >>> plots.chart("certainty_histogram", run="plackett-luce 1").title
    'Certainty under plackett-luce 1'
    """

    evaluation: Evaluation

    @cached_property
    def tables(self) -> Tables:
        """The tables that figures are drawn from."""
        return Tables(self.evaluation)

    def __call__(self) -> Figure:
        """Draw the figure that says the most: models by all estimands, or without models the certainty of the cases."""
        drawn: Figure = self.estimands() if self.evaluation.models else self.certainty()
        return drawn

    # Figures ----------------------------------------------------------------------------------------------

    @figure()
    def certainty(self) -> Chart:
        """Sort the cases by certainty, a line for every run."""
        return drawings.certainty_curves(self._swept(self.tables.certainties()))

    @figure()
    def certainty_histogram(self, run: ChosenRun = None) -> Chart:
        """Count the cases by certainty."""
        return self._of_run(drawings.certainty_histogram, self.tables.certainties(), run)

    @figure()
    def certainty_by_top(self, run: ChosenRun = None) -> Chart:
        """Sort the cases by the certainty of the first one, two and three conditions."""
        return self._of_run(drawings.certainty_by_top, self.tables.certainties(), run)

    @figure()
    def share_below(self) -> Chart:
        """Tell the share of uncertain cases for every run."""
        return drawings.share_below(self._swept(self.tables.certainties()))

    @figure("categories")
    def categories(self, run: ChosenRun = None) -> Chart:
        """Plot the certainty of categories against that of conditions."""
        own = self._rows(self.tables.category_certainties(), run)
        build, certainties = drawings.categories_against_conditions, self.tables.certainties()
        return self._of_run(build, certainties, run, own, order=self._category_names)

    @figure("a calibration")
    def confirmation(self) -> Chart:
        """Plot certainty from half of the annotators against how often the others confirmed it."""
        found = self.evaluation.calibration
        assert found is not None, "checked by the needs of the figure"
        return drawings.confirmation_curve(found.curve(), run=self._label(None))

    @figure("models")
    def estimands(self, metric: str | None = None) -> Chart:
        """Put one annotator and all models side by side, by every estimand with its interval, and by practice."""
        evaluation, name, results = self.evaluation, self._metric(metric), self.tables.to_frame()
        labels = [evaluation.run_label(run) for run in (evaluation.reference, evaluation.panel) if run is not None]
        rows = results.filter(results["run"].is_in(labels) | (results["estimand"] == AGREEMENT))
        experts, annotator = evaluation.experts, None
        own = [row for row in experts.rows if row["metric"] == name] if experts is not None else []
        if experts is not None and own:
            columns = {"mean": "experts", "low": "experts_low", "high": "experts_high"}
            annotator = experts.called, {part: own[0][column] for part, column in columns.items()}
        order = ranked(evaluation)
        rows = rows.sort(rows["model"].replace_strict(order, list(range(len(order)))), maintain_order=True)
        beside = [one for one in side_by_side(evaluation, results) if one.metric == name]
        points = {usual: {one.model: one.practices[usual] for one in beside} for usual in [*beside[0].practices][:1]}
        truth = {one.model: one.truth for one in beside if one.truth is not None}
        points |= {TRUTH: truth} if truth else {}
        how: dict[str, Any] = {"annotator": annotator, "level": evaluation.level}
        return drawings.estimands_side_by_side(rows, name, points=points, **how)

    @figure("models", "an adjusted run")
    def reliability(self, metric: str | None = None) -> Chart:
        """Follow the adjusted metric of every model across reliabilities, with intervals, beside panel and practice."""
        results, run, level = self.tables.to_frame(), self.evaluation.panel, self.evaluation.level
        panel, name = None if run is None else self.evaluation.of_run(results, run), self._metric(metric)
        return drawings.metric_across_reliability(self._swept(results), name, panel=panel, level=level)

    @figure("models", panel=True)
    def draws(self, metric: str | None = None, run: ChosenRun = None) -> Chart:
        """Show how a metric spreads over draws."""
        others = (self._rows(table, run) for table in (self.tables.per_resample(), self.tables.to_frame()))
        return self._of_run(drawings.draws_histogram, self.tables.per_draw(), run, *others, self._metric(metric))

    @figure("models")
    def by_certainty(self, metric: str | None = None, run: ChosenRun = None) -> Chart:
        """Compare the models among cases of like certainty."""
        return self._by_group(self.tables.by_certainty(), metric, run)

    @figure("two models", panel=True)
    def comparison(self, metric: str | None = None, run: ChosenRun = None) -> Chart:
        """Tabulate the probability that one model is better than another."""
        pairs, models = self.tables.compare().to_frame(), self.evaluation.models
        return self._of_run(drawings.probability_matrix, pairs, run, self._metric(metric), models=models)

    @figure("two models", panel=True)
    def ranks(self, metric: str | None = None, run: ChosenRun = None) -> Chart:
        """Show how often each model has each rank; the run ``"all"`` shows the sweep over reliabilities."""
        ranks, name = self.tables.compare().rank_frame(), self._metric(metric)
        if run == "all":
            return drawings.rank_distribution(self._swept(ranks), name)
        return self._of_run(drawings.rank_distribution, ranks, run, name)

    @figure("a metric that ranks cases", panel=True)
    def roc(self, run: ChosenRun = None) -> Chart:
        """Draw sensitivity over the false positive rate of every model, with bands."""
        return self._curves(drawings.curves, self.tables.curves("roc"), run)

    @figure("a metric that ranks cases", panel=True)
    def precision_recall(self, run: ChosenRun = None) -> Chart:
        """Draw precision over recall of every model, with bands."""
        return self._curves(drawings.curves, self.tables.curves("precision-recall"), run)

    @figure("a calibration error", panel=True)
    def reliability_diagram(self, run: ChosenRun = None) -> Chart:
        """Draw the share of positive cases over the probability that a model gave, in ten bins."""
        return self._curves(drawings.curves, self.tables.curves("reliability"), run)

    @figure("net benefit", panel=True)
    def decision_curve(self, run: ChosenRun = None) -> Chart:
        """Draw the net benefit over threshold probabilities, with bands."""
        return self._curves(drawings.curves, self.tables.curves("decision"), run, everybody=EVERYBODY)

    @figure("decisions between few conditions", panel=True)
    def confusion(self, run: ChosenRun = None) -> Chart:
        """Tabulate how many cases of which label are called what, with intervals."""
        conditions = self.evaluation.conditions
        return self._curves(drawings.confusion_matrices, self.tables.confusion(), run, conditions=conditions)

    @figure("levels of risk")
    def risk(self, run: ChosenRun = None) -> Chart:
        """Sort the cases by expected risk, with the range over draws."""
        categories = self.evaluation.categories
        assert categories is not None, "checked by the needs of the figure"
        levels = tuple(zip(categories.levels, categories.names, strict=True))
        return self._of_run(drawings.risk_ranges, self.tables.risks(), run, levels=levels)

    @figure("models", "categories", panel=True)
    def category_metrics(self, metric: str | None = None, run: ChosenRun = None) -> Chart:
        """Compare the models within each category."""
        return self._by_group(self.tables.by_category(), metric, run)

    @figure("rankings", "cases with two annotators")
    def agreement(self, run: ChosenRun = None) -> Chart:
        """Plot the agreement among annotators against certainty."""
        certainties = self._rows(self.tables.certainties(), run)
        return drawings.agreement_scatter(self.tables.agreement(), certainties, run=self._label(run))

    @figure()
    def study(self) -> Chart:
        """Count annotators, conditions and ties."""
        labels = self._rows(self.tables.category_certainties(), None)["category"].to_list()
        noun = "findings of cases" if self.evaluation.asked_findings else "cases"
        study, order = self.evaluation.study, self._category_names
        return drawings.study_statistics(study, categories=labels, order=order, noun=noun)

    @figure()
    def case(self, case: str | None = None, run: ChosenRun = None) -> Chart:
        """Show the plausibilities of one case."""
        names = self.evaluation.case_names
        if case is None:
            raise DissensusError("this figure shows one case", expected=f"its name, such as {names[0]!r}")
        shown = known_name("case", case, names)
        return self._of_run(drawings.case_plausibilities, self.tables.plausibilities(), run, shown)

    # By name ----------------------------------------------------------------------------------------------

    def figure(self, name: str, *, metric: str | None = None, run: ChosenRun = None, case: str | None = None) -> Figure:
        """Draw a figure by its name, one of :data:`FIGURES`, as an Altair chart."""
        from dissensus.figures.charts import drawn

        return drawn(self.chart(name, metric=metric, run=run, case=case))

    def chart(self, name: str, *, metric: str | None = None, run: ChosenRun = None, case: str | None = None) -> Chart:
        """Return what a figure shows; options that it does not take are ignored."""
        sort, given = found_figure(name), {"metric": metric, "run": run, "case": case}
        return sort.chart(self, **{option: given[option] for option in sort.options})

    def names(self) -> tuple[str, ...]:
        """Name the figures that this evaluation has."""
        return tuple(name for name, sort in FIGURES.items() if not sort.lacking(self.evaluation))

    def write(self, directory: Path, *, ending: str = ".svg") -> tuple[FilePath, ...]:
        """Write all figures (but those of single cases) for a paper into a new directory, and return their paths.

        Figures about metrics are written for every metric.
        """
        from dissensus.figures.charts import write_charts

        charts = {}
        for name in self.names():
            if "metric" in FIGURES[name].options:
                for place, one in enumerate(self.evaluation.metrics, start=1):
                    # what every file system takes; names that become the same are told apart by the number
                    told = "-".join(re.findall(r"[A-Za-z0-9_-]+", one.name)) or "metric"
                    charts[f"{name}-{place}-{told}"] = self.chart(name, metric=one.name)
            elif "case" not in FIGURES[name].options:
                charts[name] = self.chart(name)
        return write_charts(charts, directory, ending=ending)

    # What names mean --------------------------------------------------------------------------------------

    def _by_group(self, frame: pl.DataFrame, metric: str | None, run: ChosenRun) -> Chart:
        """Draw a metric by groups of cases under a run."""
        return self._of_run(drawings.metric_by_group, frame, run, self._metric(metric), level=self.evaluation.level)

    def _metric(self, name: str | None) -> str:
        """Return the name of the metric: the one asked for, or the first."""
        return self.evaluation.metrics[0].name if name is None else self.evaluation.metric(name).name

    def _run(self, chosen: ChosenRun) -> int:
        """Return the position of the run: the one asked for, or the reference."""
        labels = [run.label for run in self.evaluation.runs]
        if isinstance(chosen, str):
            return labels.index(known_name("run", chosen, labels))
        place = self.evaluation.reference if chosen is None else chosen
        if not 0 <= place < len(labels):
            raise DissensusError(f"there is no run {place}", expected=f"0 to {len(labels) - 1}, or a label")
        return place

    def _swept(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Keep the runs that models have no part in; all of them if they have a part in every one."""
        kept = frame.filter(frame["estimand"] == ADJUSTED)
        return kept if len(kept) else frame

    def _label(self, chosen: ChosenRun) -> str:
        return self.evaluation.runs[self._run(chosen)].label

    def _rows(self, frame: pl.DataFrame, chosen: ChosenRun) -> pl.DataFrame:
        return self.evaluation.of_run(frame, self._run(chosen))

    def _of_run(
        self, build: Callable[..., Chart], frame: pl.DataFrame, chosen: ChosenRun, *others: Any, **more: Any
    ) -> Chart:
        """Draw the rows of a run."""
        return build(self._rows(frame, chosen), *others, run=self._label(chosen), **more)

    def _curves(self, build: Callable[..., Chart], frame: pl.DataFrame, chosen: ChosenRun, **more: Any) -> Chart:
        """Draw the curves of a run, or say that curves of it were not kept."""
        label, known = self._label(chosen), frame["run"].unique(maintain_order=True).to_list()
        if label not in known:
            raise DissensusError(f"there are no curves of the run {label!r}", expected=f"one of {', '.join(known)}")
        return self._of_run(build, frame, chosen, level=self.evaluation.level, **more)

    @property
    def _category_names(self) -> tuple[str, ...]:
        return () if self.evaluation.categories is None else self.evaluation.categories.names
