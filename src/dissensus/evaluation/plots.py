"""Draw an evaluation: one method per figure, and all of them as files for a paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, TypeAlias

from dissensus.core.aliases import Path
from dissensus.core.errors import DissensusError
from dissensus.core.names import known_name
from dissensus.evaluation.results import Evaluation
from dissensus.figures import case_charts, certainty_charts, comparison_charts, metric_charts, study_charts
from dissensus.figures.charts import Chart

if TYPE_CHECKING:
    import polars as pl
    from plotly.graph_objects import Figure

ChosenRun: TypeAlias = int | str | None
"""A run by its position or its label; nothing for the reference run."""


class Tables:
    """Give the tables of an evaluation, each computed once, when it is first asked for."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.results = cache(evaluation.to_frame)
        self.per_draw = cache(evaluation.per_draw)
        self.by_category = cache(evaluation.by_category)
        self.by_certainty = cache(evaluation.by_certainty)
        self.certainties = cache(evaluation.certainties)
        self.category_certainties = cache(evaluation.category_certainties)
        self.risks = cache(evaluation.risks)
        self.plausibilities = cache(evaluation.plausibilities)
        self.agreement = cache(evaluation.agreement)
        self.comparison = cache(evaluation.compare)


@dataclass(frozen=True)
class Plots:
    """Draw an evaluation with plotly.

    A ``run`` is a position in ``evaluation.runs`` or a label such as ``"plackett-luce 3"``, by default the reference
    run; a ``metric`` is a name, by default that of the first.
    """

    evaluation: Evaluation

    @cached_property
    def tables(self) -> Tables:
        """The tables that figures are drawn from."""
        return Tables(self.evaluation)

    def certainty(self) -> Figure:
        """Sort the cases by certainty, a line for every run."""
        return self.figure("certainty")

    def certainty_histogram(self, run: ChosenRun = None) -> Figure:
        """Count the cases by certainty."""
        return self.figure("certainty_histogram", run=run)

    def certainty_by_top(self, run: ChosenRun = None) -> Figure:
        """Sort the cases by the certainty of the first one, two and three conditions."""
        return self.figure("certainty_by_top", run=run)

    def share_below(self) -> Figure:
        """Tell the share of uncertain cases for every run."""
        return self.figure("share_below")

    def categories(self, run: ChosenRun = None) -> Figure:
        """Plot the certainty of categories against that of conditions."""
        return self.figure("categories", run=run)

    def reliability(self, metric: str | None = None) -> Figure:
        """Follow a metric of every model across reliabilities, with intervals and point estimates."""
        return self.figure("reliability", metric=metric)

    def draws(self, metric: str | None = None, run: ChosenRun = None) -> Figure:
        """Show how a metric spreads over draws."""
        return self.figure("draws", metric=metric, run=run)

    def by_certainty(self, metric: str | None = None, run: ChosenRun = None) -> Figure:
        """Compare the models among cases of like certainty."""
        return self.figure("by_certainty", metric=metric, run=run)

    def comparison(self, metric: str | None = None, run: ChosenRun = None) -> Figure:
        """Tabulate the probability that one model is better than another."""
        return self.figure("comparison", metric=metric, run=run)

    def ranks(self, metric: str | None = None, run: ChosenRun = None) -> Figure:
        """Show how often each model has each rank; the run ``"all"`` shows all runs."""
        return self.figure("ranks", metric=metric, run=run)

    def risk(self, run: ChosenRun = None) -> Figure:
        """Sort the cases by expected risk, with the range over draws."""
        return self.figure("risk", run=run)

    def category_metrics(self, metric: str | None = None, run: ChosenRun = None) -> Figure:
        """Compare the models within each category."""
        return self.figure("category_metrics", metric=metric, run=run)

    def agreement(self, run: ChosenRun = None) -> Figure:
        """Plot the agreement of annotators against certainty."""
        return self.figure("agreement", run=run)

    def study(self) -> Figure:
        """Count annotators, conditions and ties."""
        return self.figure("study")

    def case(self, name: str, run: ChosenRun = None) -> Figure:
        """Show the plausibilities of one case."""
        return self.figure("case", run=run, case=name)

    def figure(self, name: str, *, metric: str | None = None, run: ChosenRun = None, case: str | None = None) -> Figure:
        """Draw a figure by its name, one of :data:`FIGURES`, with plotly."""
        from dissensus.figures.plotly_renderer import interactive

        return interactive(self.chart(name, metric=metric, run=run, case=case))

    def chart(self, name: str, *, metric: str | None = None, run: ChosenRun = None, case: str | None = None) -> Chart:
        """Return what a figure shows, for plotly and matplotlib alike."""
        sort = found_figure(name)
        lacking = sort.lacking(self.evaluation)
        if lacking:
            raise DissensusError(
                f"this evaluation has no figure {name!r}",
                expected=f"an evaluation with {lacking}",
                advice=f"its figures are {', '.join(self.names())}",
            )
        return sort.build(FigureRequest(self.evaluation, self.tables, metric, run, case))

    def names(self) -> tuple[str, ...]:
        """Name the figures that this evaluation has."""
        return tuple(name for name, sort in FIGURES.items() if not sort.lacking(self.evaluation))

    def write(self, directory: Path, *, ending: str = ".svg") -> tuple[FilePath, ...]:
        """Write all figures (but those of single cases) for a paper into a new directory, and return their paths.

        Figures about metrics are written for every metric. Needs the extra ``static``.
        """
        from dissensus.figures.matplotlib_renderer import write_charts

        charts = {}
        for name in self.names():
            if "metric" in FIGURES[name].options:
                for place, one in enumerate(self.evaluation.metrics, start=1):
                    charts[f"{name}-{place}-{_file_name(one.name)}"] = self.chart(name, metric=one.name)
            elif "case" not in FIGURES[name].options:
                charts[name] = self.chart(name)
        return write_charts(charts, directory, ending=ending)


def write_static(source: Evaluation | Plots, directory: Path, *, ending: str = ".svg") -> tuple[FilePath, ...]:
    """Write all figures of an evaluation for a paper into a new directory; see :meth:`Plots.write`."""
    plots = source if isinstance(source, Plots) else Plots(source)
    return plots.write(directory, ending=ending)


def _file_name(name: str) -> str:
    """Keep of a name what every file system takes; names that become the same are told apart by a number before."""
    kept = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else " " for letter in name)
    return "-".join(kept.split()) or "metric"


@dataclass(frozen=True)
class FigureRequest:
    """Ask an evaluation for one figure, and look up what its names mean."""

    evaluation: Evaluation
    tables: Tables
    metric_name: str | None
    chosen: ChosenRun
    case_name: str | None

    @property
    def metric(self) -> str:
        """The name of the metric: the one asked for, or the first."""
        if self.metric_name is None:
            return self.evaluation.metrics[0].name
        return self.evaluation.metric(self.metric_name).name

    @property
    def case(self) -> str:
        """The name of the case, which has to be given."""
        names = self.evaluation.case_names
        if self.case_name is None:
            raise DissensusError("this figure shows one case", expected=f"its name, such as {names[0]!r}")
        return known_name("case", self.case_name, names)

    @property
    def run(self) -> int:
        """The position of the run: the one asked for, or the reference."""
        labels = [run.label for run in self.evaluation.runs]
        if isinstance(self.chosen, str):
            return labels.index(known_name("run", self.chosen, labels))
        place = self.evaluation.reference if self.chosen is None else self.chosen
        if not 0 <= place < len(labels):
            raise DissensusError(f"there is no run {place}", expected=f"0 to {len(labels) - 1}, or a label")
        return place

    @property
    def label(self) -> str:
        """The label of the run."""
        return self.evaluation.runs[self.run].label

    def of_run(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Keep the rows of the run."""
        return self.evaluation.of_run(frame, self.run)


# The figures ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FigureSort:
    """Describe one sort of figure: what it shows, which options it takes, what it needs, how it is built."""

    shows: str
    build: Callable[[FigureRequest], Chart]
    options: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    def lacking(self, evaluation: Evaluation) -> str:
        """Name what the figure needs and the evaluation does not have, or nothing."""
        return next((need for need in self.needs if not NEEDS[need](evaluation)), "")


NEEDS: dict[str, Callable[[Evaluation], bool]] = {
    "models": lambda evaluation: bool(evaluation.models),
    "two models": lambda evaluation: len(evaluation.models) > 1,
    "categories": lambda evaluation: evaluation.categories is not None,
    "levels of risk": lambda evaluation: evaluation.categories is not None and bool(evaluation.categories.levels),
    "cases with two annotators": lambda evaluation: bool((evaluation.study.panel.opinions_per_case > 1).any()),
    "rankings": lambda evaluation: evaluation.study.kind == "rankings",
}


def _certainty(ask: FigureRequest) -> Chart:
    return certainty_charts.certainty_curves(ask.tables.certainties())


def _certainty_histogram(ask: FigureRequest) -> Chart:
    return certainty_charts.certainty_histogram(ask.of_run(ask.tables.certainties()), run=ask.label)


def _certainty_by_top(ask: FigureRequest) -> Chart:
    return certainty_charts.certainty_by_top(ask.of_run(ask.tables.certainties()), run=ask.label)


def _share_below(ask: FigureRequest) -> Chart:
    return certainty_charts.share_below(ask.tables.certainties())


def _categories(ask: FigureRequest) -> Chart:
    of_conditions, of_categories = ask.tables.certainties(), ask.tables.category_certainties()
    return certainty_charts.categories_against_conditions(
        ask.of_run(of_conditions), ask.of_run(of_categories), run=ask.label, order=_category_names(ask.evaluation)
    )


def _agreement(ask: FigureRequest) -> Chart:
    certainties = ask.of_run(ask.tables.certainties())
    return certainty_charts.agreement_scatter(ask.tables.agreement(), certainties, run=ask.label)


def _study(ask: FigureRequest) -> Chart:
    labels = ask.of_run(ask.tables.category_certainties())["category"].to_list() if ask.evaluation.categories else []
    return study_charts.study_statistics(ask.evaluation.study, categories=labels, order=_category_names(ask.evaluation))


def _reliability(ask: FigureRequest) -> Chart:
    return metric_charts.metric_across_reliability(ask.tables.results(), ask.metric, level=ask.evaluation.level)


def _draws(ask: FigureRequest) -> Chart:
    per_draw, summary = ask.of_run(ask.tables.per_draw()), ask.of_run(ask.tables.results())
    return metric_charts.draws_histogram(per_draw, summary, ask.metric, run=ask.label)


def _by_certainty(ask: FigureRequest) -> Chart:
    rows = ask.of_run(ask.tables.by_certainty())
    return metric_charts.metric_by_certainty(rows, ask.metric, run=ask.label, level=ask.evaluation.level)


def _category_metrics(ask: FigureRequest) -> Chart:
    rows = ask.of_run(ask.tables.by_category())
    return metric_charts.category_metrics(rows, ask.metric, run=ask.label, level=ask.evaluation.level)


def _comparison(ask: FigureRequest) -> Chart:
    pairs = ask.of_run(ask.tables.comparison().to_frame())
    return comparison_charts.probability_matrix(pairs, ask.metric, run=ask.label, models=ask.evaluation.models)


def _ranks(ask: FigureRequest) -> Chart:
    ranks = ask.tables.comparison().rank_frame()
    if ask.chosen == "all":
        return comparison_charts.rank_distribution(ranks, ask.metric)
    return comparison_charts.rank_distribution(ask.of_run(ranks), ask.metric, run=ask.label)


def _risk(ask: FigureRequest) -> Chart:
    categories = ask.evaluation.categories
    assert categories is not None, "checked by the needs of the figure"
    levels = tuple(zip(categories.levels, categories.names, strict=True))
    return case_charts.risk_ranges(ask.of_run(ask.tables.risks()), run=ask.label, levels=levels)


def _case(ask: FigureRequest) -> Chart:
    return case_charts.case_plausibilities(ask.of_run(ask.tables.plausibilities()), ask.case, run=ask.label)


def _category_names(evaluation: Evaluation) -> tuple[str, ...]:
    return () if evaluation.categories is None else evaluation.categories.names


MODELS, PAIRS = ("models",), ("two models",)
AGREEING = ("rankings", "cases with two annotators")
OF_METRIC = ("metric", "run")
FIGURES: dict[str, FigureSort] = {
    "certainty": FigureSort("certainty of every case, a line for every run", _certainty),
    "certainty_histogram": FigureSort("number of cases by certainty", _certainty_histogram, ("run",)),
    "certainty_by_top": FigureSort("certainty of the first 1, 2, 3 conditions", _certainty_by_top, ("run",)),
    "share_below": FigureSort("share of uncertain cases for every run", _share_below),
    "categories": FigureSort("certainty of categories and conditions", _categories, ("run",), ("categories",)),
    "reliability": FigureSort("a metric across reliabilities", _reliability, ("metric",), MODELS),
    "draws": FigureSort("how a metric spreads over draws", _draws, OF_METRIC, MODELS),
    "by_certainty": FigureSort("a metric among cases of like certainty", _by_certainty, OF_METRIC, MODELS),
    "comparison": FigureSort("probability that a model is better", _comparison, OF_METRIC, PAIRS),
    "ranks": FigureSort('how often each model has each rank (run "all": all runs)', _ranks, OF_METRIC, PAIRS),
    "risk": FigureSort("expected risk of every case, with its range", _risk, ("run",), ("levels of risk",)),
    "category_metrics": FigureSort(
        "a metric within each category", _category_metrics, OF_METRIC, ("models", "categories")
    ),
    "agreement": FigureSort("agreement of annotators and certainty", _agreement, ("run",), AGREEING),
    "study": FigureSort("numbers of annotators, conditions and ties", _study),
    "case": FigureSort("plausibilities of one case", _case, ("run", "case")),
}
"""All figures by name."""


def found_figure(name: str) -> FigureSort:
    """Return the sort of figure of this name, or say which there are."""
    return FIGURES[known_name("figure", name, list(FIGURES))]
