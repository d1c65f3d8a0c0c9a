"""Draw an evaluation: one method per figure, and all of them as files for a paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, TypeAlias

from dissensus.core.aliases import Path
from dissensus.core.errors import DissensusError
from dissensus.core.names import known_name
from dissensus.evaluation.results import Evaluation

if TYPE_CHECKING:
    import polars as pl
    from plotly.graph_objects import Figure

    from dissensus.figures.charts import Chart

ChosenRun: TypeAlias = int | str | None
"""A run by its position or its label; nothing for the reference run."""


@dataclass(frozen=True)
class Plots:
    """Draw an evaluation with plotly.

    A ``run`` is a position in ``evaluation.runs`` or a label such as ``"plackett-luce 3"``, by default the reference
    run; a ``metric`` is a name, by default that of the first.
    """

    evaluation: Evaluation

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
        return sort.build(Request(self.evaluation, metric, run, case))

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
class Request:
    """Ask an evaluation for one figure, and look up what its names mean."""

    evaluation: Evaluation
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
    build: Callable[[Request], Chart]
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
    "rankings": lambda evaluation: evaluation.study.has_agreement,
}


def _certainty(ask: Request) -> Chart:
    from dissensus.figures.certainty_charts import certainty_curves

    return certainty_curves(ask.evaluation.certainties())


def _certainty_histogram(ask: Request) -> Chart:
    from dissensus.figures.certainty_charts import certainty_histogram

    return certainty_histogram(ask.of_run(ask.evaluation.certainties()), run=ask.label)


def _certainty_by_top(ask: Request) -> Chart:
    from dissensus.figures.certainty_charts import certainty_by_top

    return certainty_by_top(ask.of_run(ask.evaluation.certainties()), run=ask.label)


def _share_below(ask: Request) -> Chart:
    from dissensus.figures.certainty_charts import share_below

    return share_below(ask.evaluation.certainties())


def _categories(ask: Request) -> Chart:
    from dissensus.figures.certainty_charts import categories_against_conditions

    by_condition, by_category = ask.evaluation.certainties(), ask.evaluation.category_certainties()
    return categories_against_conditions(
        ask.of_run(by_condition), ask.of_run(by_category), run=ask.label, order=_category_names(ask.evaluation)
    )


def _agreement(ask: Request) -> Chart:
    from dissensus.figures.certainty_charts import agreement_scatter

    return agreement_scatter(ask.evaluation.agreement(), ask.of_run(ask.evaluation.certainties()), run=ask.label)


def _study(ask: Request) -> Chart:
    from dissensus.figures.study_charts import study_statistics

    evaluation = ask.evaluation
    labels = ask.of_run(evaluation.category_certainties())["category"].to_list() if evaluation.categories else []
    return study_statistics(evaluation.study, categories=labels, order=_category_names(evaluation))


def _reliability(ask: Request) -> Chart:
    from dissensus.figures.metric_charts import metric_across_reliability

    return metric_across_reliability(ask.evaluation.to_frame(), ask.metric, level=ask.evaluation.level)


def _draws(ask: Request) -> Chart:
    from dissensus.figures.metric_charts import draws_histogram

    per_draw, summary = ask.of_run(ask.evaluation.per_draw()), ask.of_run(ask.evaluation.to_frame())
    return draws_histogram(per_draw, summary, ask.metric, run=ask.label)


def _by_certainty(ask: Request) -> Chart:
    from dissensus.figures.metric_charts import metric_by_certainty

    rows = ask.of_run(ask.evaluation.by_certainty())
    return metric_by_certainty(rows, ask.metric, run=ask.label, level=ask.evaluation.level)


def _category_metrics(ask: Request) -> Chart:
    from dissensus.figures.metric_charts import category_metrics

    rows = ask.of_run(ask.evaluation.by_category())
    return category_metrics(rows, ask.metric, run=ask.label, level=ask.evaluation.level)


def _comparison(ask: Request) -> Chart:
    from dissensus.figures.comparison_charts import probability_matrix

    pairs = ask.of_run(ask.evaluation.compare().to_frame())
    return probability_matrix(pairs, ask.metric, run=ask.label, models=ask.evaluation.models)


def _ranks(ask: Request) -> Chart:
    from dissensus.figures.comparison_charts import rank_distribution

    ranks = ask.evaluation.compare().rank_frame()
    if ask.chosen == "all":
        return rank_distribution(ranks, ask.metric)
    return rank_distribution(ask.of_run(ranks), ask.metric, run=ask.label)


def _risk(ask: Request) -> Chart:
    from dissensus.figures.case_charts import risk_ranges

    categories = ask.evaluation.categories
    assert categories is not None, "checked by the needs of the figure"
    levels = tuple(zip(categories.levels, categories.names, strict=True))
    return risk_ranges(ask.of_run(ask.evaluation.risks()), run=ask.label, levels=levels)


def _case(ask: Request) -> Chart:
    from dissensus.figures.case_charts import case_plausibilities

    return case_plausibilities(ask.of_run(ask.evaluation.plausibilities()), ask.case, run=ask.label)


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
