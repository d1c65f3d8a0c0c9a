"""Every figure of an evaluation: it shows something, it shows the right thing, and names stay names."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from plotly.graph_objects import Figure

import dissensus as ds
from dissensus.aggregations import PlackettLuce
from dissensus.core.thresholds import CERTAIN
from dissensus.evaluation.plots import FIGURES, Plots
from dissensus.figures import case_charts, model_charts, theme
from dissensus.figures.charts import Band, Bars, Cells, Line, Mark, Points
from dissensus.figures.matplotlib_renderer import drawn
from dissensus.figures.plotly_renderer import interactive, page
from figures.figure_studies import CATEGORIES, CONDITIONS, MODEL, SCRIPT, case_about, edges, evaluated, study, usual

EDGES = list(edges())


def plots() -> Plots:
    return Plots(usual())


def chart_marks(name: str, kind: type[Mark], *, panel: int = 0, **options: Any) -> list[Any]:
    return [mark for mark in plots().chart(name, **options).panels[panel].marks if isinstance(mark, kind)]


def of_run(frame: pl.DataFrame, **wanted: object) -> pl.DataFrame:
    return frame.filter(aggregation="plackett-luce", reliability=1.0, **wanted)


def case_of(evaluation: ds.Evaluation, name: str) -> str | None:
    return evaluation.case_names[0] if name == "case" else None


# Everything is drawn ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_marks_titles_and_a_caption(name: str) -> None:
    chart = plots().chart(name, case=case_of(usual(), name))
    figure = interactive(chart)
    assert figure.data
    assert all(len(trace.x if trace.x is not None else trace.z) for trace in figure.data)
    assert chart.title
    assert chart.caption.endswith(".")
    assert figure.layout.meta["caption"] == chart.caption
    assert all(panel.x.title or panel.x.ticks for panel in chart.panels[-1:])
    assert drawn(chart).axes
    arguments = [usual().case_names[0]] if name == "case" else []
    assert isinstance(getattr(plots(), name)(*arguments), Figure)


@pytest.mark.parametrize("edge", EDGES)
def test_edges_are_drawn(edge: str) -> None:
    found = Plots(edges()[edge])
    assert {"certainty", "study", "case"} <= set(found.names())
    for name in found.names():
        chart = found.chart(name, case=case_of(found.evaluation, name))
        assert interactive(chart).data
        assert drawn(chart).axes


@pytest.mark.parametrize(
    ("edge", "absent"),
    [
        ("no models", {"estimands", "reliability", "draws", "by_certainty", "comparison", "ranks", "category_metrics"}),
        ("one model", {"comparison", "ranks", "categories", "risk", "category_metrics"}),
        ("no categories", {"categories", "risk", "category_metrics"}),
        ("one annotator", {"agreement"}),
        ("one draw", set()),
    ],
)
def test_figures_that_need_what_is_not_there_are_refused(edge: str, absent: set[str]) -> None:
    found = Plots(edges()[edge])
    always = {"confirmation", "roc", "precision_recall", "reliability_diagram", "decision_curve", "confusion"}
    assert set(FIGURES) - set(found.names()) == absent | always
    for name in (*absent, *always):
        with pytest.raises(ds.DissensusError, match=f"no figure '{name}'") as refused:
            found.chart(name)
        assert "an evaluation with" in str(refused.value)


def test_figures_are_small_enough_for_a_page() -> None:
    many = study(3000)
    found = Plots(evaluated(many, 2, [PlackettLuce(3, alpha=1.0, prior="observed")], draws=10))
    for name in ("certainty", "certainty_by_top", "agreement"):
        figure = found.figure(name)
        assert max(len(trace.x) for trace in figure.data) <= 2000
        assert len(figure.to_json()) < 300_000
    assert "2000 of 3000 cases are drawn" in found.chart("agreement").caption
    assert max(len(trace.x) for trace in found.certainty().data) <= 401


# Right values -----------------------------------------------------------------------------------------------


def test_certainty_curves_are_quantile_functions_and_shares_and_counts_agree_with_the_frame() -> None:
    (line,) = [mark for mark in chart_marks("certainty", Line) if mark.name == "plackett-luce 1"]
    values = np.sort(of_run(usual().certainties(), top=1)["certainty"].to_numpy())
    np.testing.assert_allclose(line.y, [values[0], *values])
    np.testing.assert_allclose(line.x, np.arange(13) / 12)
    rows = of_run(usual().certainties(), top=2)
    assert chart_marks("share_below", Line)[1].y[0] == pytest.approx((rows["certainty"] < CERTAIN).mean())
    (bars,) = chart_marks("certainty_histogram", Bars)
    assert bars.lengths.sum() == 12


def test_what_was_confirmed_is_drawn_against_what_was_stated_and_expected() -> None:
    found = usual().calibration
    assert found is not None
    expected, stated = chart_marks("confirmation", Points)
    curve = found.curve()
    np.testing.assert_allclose(stated.x, curve["stated"])
    np.testing.assert_allclose(expected.x, curve["predicted"])
    np.testing.assert_allclose(expected.y, curve["confirmed"])
    assert expected.low is not None
    assert (expected.low <= expected.y).all()


def test_bands_are_the_intervals_of_the_frame() -> None:
    bands = chart_marks("reliability", Band)
    rows = usual().to_frame().filter(aggregation="plackett-luce", metric="top-1 accuracy", model=MODEL)
    for band, kind in zip(bands[:2], ("", "annotation_"), strict=True):
        np.testing.assert_allclose(band.low, rows[f"{kind}low"])
        np.testing.assert_allclose(band.high, rows[f"{kind}high"])
    line = chart_marks("reliability", Line)[0]
    np.testing.assert_allclose(line.y, rows["mean"])
    cross = chart_marks("reliability", Points)[0]
    np.testing.assert_allclose(cross.y, rows["point_estimate"][-1:])
    assert cross.symbol < 0


def test_draws_are_counted_per_model() -> None:
    solid = chart_marks("draws", Bars, panel=1)[1]
    assert solid.lengths.sum() == pytest.approx(1)
    rows = usual().per_draw().filter(pl.col("model") == usual().models[1])
    means = of_run(rows, metric="top-1 accuracy")["mean"].to_numpy()
    assert (solid.positions @ solid.lengths) == pytest.approx(means.mean(), abs=solid.width)


def test_bins_of_certainty_show_their_numbers_of_cases() -> None:
    chart = plots().chart("by_certainty")
    rows = of_run(usual().by_certainty(), metric="top-1 accuracy", model=MODEL)
    assert [tick for _, tick in chart.panels[0].x.ticks] == [
        f"{name}\nn = {number}" for name, number in rows.select("bin", "n_cases").iter_rows()
    ]
    points = chart.panels[0].marks[0]
    assert isinstance(points, Points)
    assert points.low is not None
    np.testing.assert_allclose(points.low, rows["low"])


def test_the_matrix_holds_the_probabilities_of_the_comparison() -> None:
    (cells,) = chart_marks("comparison", Cells)
    first = usual().compare().to_frame()
    expected = of_run(first, metric="top-1 accuracy", first=usual().models[0], second=usual().models[1])
    assert cells.values[0, 1] == pytest.approx(expected["probability_better"][0])
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose((cells.values + cells.values.T)[off], 1)
    assert np.isnan(np.diag(cells.values)).all()


@pytest.mark.parametrize("run", [None, "all"])
def test_ranks_stack_to_one(run: str | None) -> None:
    for panel in plots().chart("ranks", run=run).panels:
        bars = [mark for mark in panel.marks if isinstance(mark, Bars)]
        np.testing.assert_allclose(sum(mark.lengths for mark in bars), 1)
        np.testing.assert_allclose(bars[-1].starts + bars[-1].lengths, 1)


def test_curves_are_those_of_the_table() -> None:
    rows = usual().curves("roc").filter(run="plackett-luce 1", model="_C", question="b")
    pane = next(pane for pane in plots().chart("roc").panels if pane.title == "b")
    (line,) = [mark for mark in pane.marks if isinstance(mark, Line) and mark.name == "_C"]
    np.testing.assert_array_equal(line.y[1:], rows["y"].to_numpy())
    assert (line.x[0], line.y[0]) == (0.0, 0.0)
    band = [mark for mark in pane.marks if isinstance(mark, Band)][2]
    np.testing.assert_array_equal(band.high, rows["high"].to_numpy())
    assert pane.y.title == "adjusted sensitivity"


def test_a_confusion_matrix_counts_every_case_and_colours_by_row() -> None:
    chart = plots().chart("confusion")
    assert [pane.title for pane in chart.panels] == list(usual().models)
    rows = usual().confusion().filter(run="plackett-luce 1", model=MODEL)
    assert rows["n_cases"].sum() == pytest.approx(usual().n_cases)
    (cells,) = chart.panels[0].marks
    assert isinstance(cells, Cells)
    values = rows["n_cases"].to_numpy().reshape(5, 5)
    np.testing.assert_allclose(cells.values, 0.5 + 0.5 * values / values.sum(axis=1, keepdims=True))


def test_curves_of_other_runs_are_refused() -> None:
    with pytest.raises(ds.DissensusError, match="no curves of the run"):
        plots().chart("roc", run="probabilistic-inverse-rank 10")


def test_risks_are_sorted_with_their_range() -> None:
    (band,), (line,) = chart_marks("risk", Band), chart_marks("risk", Line)
    rows = of_run(usual().risks()).sort("mean", maintain_order=True)
    np.testing.assert_allclose(line.y, rows["mean"])
    np.testing.assert_allclose(band.low, rows["min"])
    np.testing.assert_allclose(band.high, rows["max"])


def test_the_regression_is_that_of_the_data() -> None:
    chart = plots().chart("agreement")
    both = of_run(usual().certainties(), top=1).join(usual().agreement(), on="case")
    correlation = np.corrcoef(both["certainty"], both["agreement"])[0, 1]
    assert chart.panels[0].title == f"correlation {correlation:.2f}, 12 cases"
    (line,) = chart_marks("agreement", Line)
    slope, intercept = np.polyfit(both["certainty"], both["agreement"], 1)
    np.testing.assert_allclose(line.y, slope * line.x + intercept)


def test_a_constant_side_has_no_correlation() -> None:
    agreement = pl.DataFrame({"case": ["a", "b"], "agreement": [1.0, 1.0]})
    certainties = pl.DataFrame({"case": ["a", "b"], "top": [1, 1], "certainty": [0.5, 1.0]})
    chart = case_charts.agreement_scatter(agreement, certainties, run="x")
    assert chart.panels[0].title == "correlation undefined, 2 cases"
    assert [type(mark) for mark in chart.panels[0].marks] == [Points]


def test_a_case_shows_means_and_draws() -> None:
    case = usual().case_names[3]
    chart = plots().chart("case", case=case)
    bars, dots = chart.panels[0].marks
    rows = of_run(usual().plausibilities(), case=case)
    assert isinstance(bars, Bars)
    assert isinstance(dots, Points)
    assert bars.lengths.sum() == pytest.approx(1)
    assert len(dots.x) == len(rows) * 20
    assert chart.panels[0].y.ticks[-1][1] == "any other"


def test_the_study_is_counted_within_categories() -> None:
    chart = plots().chart("study")
    for panel in chart.panels:
        for bars in panel.marks:
            assert isinstance(bars, Bars)
            assert bars.lengths.sum() == pytest.approx(1)
    names = {mark.name for mark in chart.panels[0].marks if isinstance(mark, Bars)}
    assert names == set(of_run(usual().category_certainties())["category"])
    plain = Plots(edges()["no categories"]).chart("study")
    sizes = np.bincount(study().rankings_per_case, minlength=5)[2:5] / 12
    assert isinstance(plain.panels[0].marks[0], Bars)
    np.testing.assert_allclose(plain.panels[0].marks[0].lengths, sizes)


def test_categories_show_every_case_once() -> None:
    marks = chart_marks("categories", Points)
    assert sum(len(mark.x) for mark in marks) == 12
    rows = of_run(usual().category_certainties())
    np.testing.assert_allclose(np.sort(np.concatenate([mark.y for mark in marks])), np.sort(rows["certainty"]))


def test_category_metrics_are_those_of_the_frame() -> None:
    points = chart_marks("category_metrics", Points)[0]
    rows = of_run(usual().by_category(), metric="top-1 accuracy", model=MODEL)
    np.testing.assert_allclose(points.y, rows["mean"])
    np.testing.assert_allclose(points.high, rows["high"])


# Runs and names ---------------------------------------------------------------------------------------------


def test_runs_are_chosen_by_label_or_position() -> None:
    by_label = plots().chart("certainty_by_top", run="plackett-luce 10")
    by_place = plots().chart("certainty_by_top", run=2)
    assert by_label.title == by_place.title == "Certainty of the first conditions under plackett-luce 10"
    assert plots().chart("certainty_by_top").title.endswith("plackett-luce 1")


@pytest.mark.parametrize(
    ("figure", "options", "told"),
    [
        ("certainity", {}, "did you mean 'certainty'?"),
        ("draws", {"metric": "top-1 acuracy"}, "did you mean 'top-1 accuracy'?"),
        ("draws", {"run": "placket-luce 3"}, "did you mean 'plackett-luce 3'?"),
        ("draws", {"run": 9}, "expected: 0 to 3"),
        ("case", {"case": "<i>77</i>"}, "did you mean '<i>7</i>'?"),
        ("case", {}, "this figure shows one case"),
    ],
)
def test_unknown_names_are_refused_with_a_suggestion(figure: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(ds.DissensusError, match=re.escape(told)):
        plots().chart(figure, **options)


def test_runs_that_differ_by_other_parameters_are_not_mixed() -> None:
    runs = [PlackettLuce(gamma, alpha=alpha, prior="observed") for alpha in (1.0, 0.1) for gamma in (1, 3)]
    found = Plots(evaluated(study(), 2, runs))
    chart = found.chart("certainty")
    assert [len(panel.marks) for panel in chart.panels] == [2, 2]
    labels = [run.label for run in found.evaluation.runs]
    (bars,) = found.chart("certainty_histogram", run=labels[3]).panels[0].marks
    assert isinstance(bars, Bars)
    assert bars.lengths.sum() == 12
    assert "alpha=0.1" in found.chart("certainty_histogram", run=3).title


def three_priors() -> ds.Evaluation:
    """Evaluate under three runs of one aggregation and one reliability: only their priors differ."""
    runs = [
        PlackettLuce(3, alpha=1.0, prior="observed"),
        PlackettLuce(3, prior="symmetric"),
        PlackettLuce(3, alpha=0.1, prior="observed"),
    ]
    return evaluated(study(), 2, runs, categories=CATEGORIES)


def test_runs_that_differ_in_their_prior_alone_are_three_lines_with_three_names() -> None:
    found = Plots(three_priors())
    labels = [run.label for run in found.evaluation.runs]
    assert len(set(labels)) == 3
    for name in ("certainty", "share_below", "reliability"):
        panels = found.chart(name).panels
        assert [panel.title for panel in panels] == [run.aggregation for run in found.evaluation.runs]
    lines = [mark for panel in found.chart("certainty").panels for mark in panel.marks]
    assert [mark.name for mark in lines if isinstance(mark, Line)] == labels
    values = {label: found.evaluation.certainties().filter(run=label, top=1) for label in labels}
    for line in lines:
        assert isinstance(line, Line)
        np.testing.assert_allclose(line.y[1:], np.sort(values[line.name]["certainty"]))


OF_RUNS = [name for name, sort in FIGURES.items() if "run" in sort.options and name in Plots(three_priors()).names()]


@pytest.mark.parametrize("name", OF_RUNS)
def test_a_figure_of_each_of_three_priors_names_its_run(name: str) -> None:
    found = Plots(three_priors())
    for run in found.evaluation.runs:
        chart = found.chart(name, run=run.label, case=case_of(found.evaluation, name))
        assert run.label in chart.title
        assert interactive(chart).data


def test_ranks_under_every_run_name_all_three_priors() -> None:
    found = Plots(three_priors())
    texts = str(interactive(found.chart("ranks", run="all")).to_json())
    assert all(run.label in texts for run in found.evaluation.runs)


def test_draws_that_all_agree_do_not_make_a_probability_certain() -> None:
    names = {"estimand": ["adjusted"], "metric": ["m"], "first": ["A"], "second": ["B"]}
    pairs = pl.DataFrame({**names, "probability_better": [1.0]})
    (cells,) = model_charts.probability_matrix(pairs, "m", run="x", models=["A", "B"]).panels[0].marks
    assert isinstance(cells, Cells)
    assert cells.labels == (("", "> 0.99"), ("< 0.01", ""))
    assert "1.000" not in str(cells.texts)


# Names from files are text ----------------------------------------------------------------------------------


def words_of(value: object) -> list[str]:
    """Collect all texts of a figure that plotly reads as markup."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [word for key, part in value.items() if key != "meta" for word in words_of(part)]
    return [word for part in value for word in words_of(part)] if isinstance(value, list | tuple) else []


@pytest.mark.parametrize("name", FIGURES)
def test_names_cannot_become_markup(name: str) -> None:
    figure = plots().figure(name, case=case_of(usual(), name))
    own = {"br", "b", "/b", "extra", "/extra"}
    for text in words_of(json.loads(figure.to_json())):
        assert set(re.findall(r"<([^>]*)>", text.replace("&", ""))) <= own, text
        assert "<b>A" not in text
        assert "%{x} $y$" not in text


def test_hostile_names_are_shown_as_they_are() -> None:
    assert usual().conditions == CONDITIONS
    figure = plots().reliability()
    assert '&lt;b&gt;A&lt;/b&gt; &amp; "B"' in {trace.name for trace in figure.data}
    html = page(plots().chart("case", case=case_about(SCRIPT)))
    assert SCRIPT not in html
    assert "alert(1)" in html
    assert html.count("<h1>") == 1
    assert "Plotly.newPlot" in html


def test_long_and_many_names() -> None:
    names = [f"condition with a long name number {i} of a long list of names" for i in range(40)]
    said = ds.Study.from_rankings([[[[i] for i in range(40)]]], names)
    runs = [PlackettLuce(1, alpha=1.0, prior="observed")]
    chart = Plots(ds.evaluate(said, {}, aggregations=runs, draws=10)).chart("case", case="0")
    assert "25 less plausible conditions are not shown" in chart.caption
    assert all(len(tick) <= 34 for _, tick in chart.panels[0].y.ticks)


def test_colours_fit_any_page_and_can_be_fixed() -> None:
    figure = plots().certainty()
    assert figure.layout.template.layout.paper_bgcolor == "rgba(0,0,0,0)"
    assert len({theme.template(dark=dark)["layout"]["font"]["color"] for dark in (None, True, False)}) == 3
