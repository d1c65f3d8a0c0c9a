"""Every figure of an evaluation: it shows something, it shows the right thing, and names stay names."""

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from altair import VConcatChart

import dissensus as ds
from dissensus.aggregations import MajorityVote
from dissensus.core.arrays import CERTAIN
from dissensus.evaluation.plots import FIGURES, Plots
from dissensus.figures import evaluation_charts
from dissensus.figures.charts import Band, Bars, Cells, Line, Mark, Points, encoded, specification, svg
from figures.figure_studies import CONDITIONS, EDGES, MODEL, SCRIPT, at_edge, case_about, evaluated, study, usual
from refusals import refused


def plots() -> Plots:
    return Plots(usual())


def marks(name: str, kind: type[Mark], *, panel: int = 0, **options: Any) -> list[Any]:
    return [mark for mark in plots().chart(name, **options).panels[panel].marks if isinstance(mark, kind)]


def same(*pairs: tuple[Any, Any]) -> None:
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected)


def of_run(frame: pl.DataFrame, **wanted: object) -> pl.DataFrame:
    return frame.filter(aggregation="plackett-luce", reliability=1.0, **wanted)


def case_of(evaluation: ds.Evaluation, name: str) -> str | None:
    return evaluation.case_names[0] if name == "case" else None


# Everything is drawn ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_marks_titles_a_caption_and_names_that_are_text(name: str) -> None:
    chart = plots().chart(name, case=case_of(usual(), name))
    found = specification(chart)
    if name in ("confusion", "case", "certainty_histogram"):  # each is a method, which gives a chart of Altair
        figure = getattr(plots(), name)(*([usual().case_names[0]] if name == "case" else []))
        assert isinstance(figure, VConcatChart)
        assert figure.to_dict(validate=True)["title"] == found["title"]
    assert found["title"]["text"] == chart.title
    panels = [panel for row in found["vconcat"] for panel in row["hconcat"]]
    assert len(panels) == len(chart.panels)
    assert all(panel["layer"] for panel in panels)
    assert all(found["datasets"].values())
    assert chart.caption.endswith(".")
    assert all(panel.x.title or panel.x.ticks for panel in chart.panels[-1:])
    drawing = svg(chart, name)
    known = {"svg", "g", "path", "text", "tspan", "title", "defs", "clipPath", "rect", "line"}
    assert set(re.findall(r"<(\w+)", drawing)) <= known
    assert not re.findall(r"https?://(?!www.w3.org)", drawing)


CURVES = {"confirmation", "roc", "precision_recall", "reliability_diagram", "decision_curve", "confusion"}
ABSENT = {
    "no models": {"estimands", "reliability", "draws", "by_certainty", "comparison", "ranks", "category_metrics"},
    "one model": {"comparison", "ranks", "categories", "risk", "category_metrics"},
    "no categories": {"categories", "risk", "category_metrics"},
    "one annotator": {"agreement"},
    "one draw": set(),
}


@pytest.mark.parametrize("edge", EDGES)
def test_edges_are_drawn_and_figures_that_need_what_is_not_there_refused(edge: str) -> None:
    found = Plots(at_edge(edge))
    assert {"certainty", "study", "case"} <= set(found.names())
    for name in found.names():
        chart = found.chart(name, case=case_of(found.evaluation, name))
        assert "<path" in svg(chart)
    absent = set(FIGURES) - set(found.names())
    assert absent == ABSENT.get(edge, absent - CURVES) | CURVES
    for name in absent:
        refused(f"(?s)no figure '{name}'.*an evaluation with", found.chart, name)


def test_a_run_that_is_called_like_a_usual_practice_is_drawn_alone() -> None:
    points = Plots(at_edge("no reliability")).chart("category_metrics").panels[0].marks
    assert [len(one.x) for one in points if isinstance(one, Points)] == [3, 3]  # models with categories each


@pytest.mark.slow
def test_figures_are_small_enough_for_a_page() -> None:
    found = Plots(evaluated(study(2100), 2, [MajorityVote()], draws=1))
    for name, most in (("certainty", 401), ("certainty_by_top", 2000), ("agreement", 2000)):
        assert max(map(len, found.figure(name).to_dict()["datasets"].values())) <= most
        assert len(svg(found.chart(name))) < 700_000
    assert "2000 of 2100 cases are drawn" in found.chart("agreement").caption


# Right values -----------------------------------------------------------------------------------------------


def test_figures_of_certainty_and_risk_hold_what_the_tables_hold() -> None:
    (line,) = [mark for mark in marks("certainty", Line) if mark.name == "plackett-luce 1"]
    values = np.sort(of_run(usual().certainties(), top=1)["certainty"].to_numpy())
    same((line.y, [values[0], *values]), (line.x, np.arange(13) / 12))
    below = of_run(usual().certainties(), top=2)["certainty"] < CERTAIN
    assert marks("share_below", Line)[1].y[0] == pytest.approx(below.mean())
    (bars,) = marks("certainty_histogram", Bars)
    assert bars.lengths.sum() == 12
    found = usual().calibration
    assert found is not None
    (expected, stated), curve = marks("confirmation", Points), found.curve()
    same((stated.x, curve["stated"]), (expected.x, curve["predicted"]), (expected.y, curve["confirmed"]))
    assert (expected.low <= expected.y).all()
    (band,), (line,) = marks("risk", Band), marks("risk", Line)
    rows = of_run(usual().risks()).sort("mean", maintain_order=True)
    same((line.y, rows["mean"]), (band.low, rows["min"]), (band.high, rows["max"]))
    points, rows = marks("categories", Points), of_run(usual().category_certainties())
    same((np.sort(np.concatenate([mark.y for mark in points])), np.sort(rows["certainty"])))


def test_figures_of_models_hold_what_the_tables_hold() -> None:
    rows = usual().to_frame().filter(aggregation="plackett-luce", metric="top-1 accuracy", model=MODEL)
    for band, kind in zip(marks("reliability", Band)[:2], ("", "annotation_"), strict=True):
        same((band.low, rows[f"{kind}low"]), (band.high, rows[f"{kind}high"]))
    cross = marks("reliability", Points)[0]
    same((marks("reliability", Line)[0].y, rows["mean"]), (cross.y, rows["point_estimate"][-1:]))
    assert cross.symbol < 0
    solid = marks("draws", Bars, panel=1)[1]
    assert solid.lengths.sum() == pytest.approx(1)
    means = of_run(usual().per_draw(), metric="top-1 accuracy", model=usual().models[1])["mean"]
    assert (solid.positions @ solid.lengths) == pytest.approx(means.mean(), abs=solid.width)
    rows = of_run(usual().by_certainty(), metric="top-1 accuracy", model=MODEL)
    ticks = [tick for _, tick in plots().chart("by_certainty").panels[0].x.ticks]
    assert ticks == [f"{name}\nn = {number}" for name, number in rows.select("bin", "n_cases").iter_rows()]
    same((marks("by_certainty", Points)[0].low, rows["low"]))
    points = marks("category_metrics", Points)[0]
    rows = of_run(usual().by_category(), metric="top-1 accuracy", model=MODEL)
    same((points.y, rows["mean"]), (points.high, rows["high"]))


def test_figures_of_comparisons_hold_probabilities() -> None:
    (cells,) = marks("comparison", Cells)
    compared = of_run(usual().compare().to_frame(), metric="top-1 accuracy")
    for first, second, chance in compared.select("first", "second", "probability_better").iter_rows():
        assert cells.values[usual().models.index(first), usual().models.index(second)] == pytest.approx(chance)
    same(((cells.values + cells.values.T)[~np.eye(3, dtype=bool)], 1))
    assert np.isnan(np.diag(cells.values)).all()
    for run in (None, "all"):
        for panel in plots().chart("ranks", run=run).panels:
            bars = [mark for mark in panel.marks if isinstance(mark, Bars)]
            same((sum(mark.lengths for mark in bars), 1), (bars[-1].starts + bars[-1].lengths, 1))


def test_curves_and_matrices_are_those_of_the_tables() -> None:
    rows = usual().curves("roc").filter(run="plackett-luce 1", model="_C", question="b")
    pane = next(pane for pane in plots().chart("roc").panels if pane.title == "b")
    (line,) = [mark for mark in pane.marks if isinstance(mark, Line) and mark.name == "_C"]
    band = [mark for mark in pane.marks if isinstance(mark, Band)][2]
    same((line.y[1:], rows["y"]), (band.high, rows["high"]), ((line.x[0], line.y[0]), (0.0, 0.0)))
    assert pane.y.title == "adjusted sensitivity"
    chart = plots().chart("confusion")
    assert [pane.title for pane in chart.panels] == list(usual().models)
    rows = usual().confusion().filter(run="plackett-luce 1", model=MODEL)
    assert rows["n_cases"].sum() == pytest.approx(usual().n_cases)
    values = rows["n_cases"].to_numpy().reshape(5, 5)
    same((marks("confusion", Cells)[0].values, 0.5 + 0.5 * values / values.sum(axis=1, keepdims=True)))
    refused("no curves of the run", plots().chart, "roc", run="probabilistic-inverse-rank 10")


def test_the_regression_is_that_of_the_data_and_a_constant_side_has_none() -> None:
    both = of_run(usual().certainties(), top=1).join(usual().agreement(), on="case")
    correlation = np.corrcoef(both["certainty"], both["agreement"])[0, 1]
    assert plots().chart("agreement").panels[0].title == f"correlation {correlation:.2f}, 12 cases"
    (line,) = marks("agreement", Line)
    slope, intercept = np.polyfit(both["certainty"], both["agreement"], 1)
    same((line.y, slope * line.x + intercept))
    agreement = pl.DataFrame({"case": ["a", "b"], "agreement": [1.0, 1.0]})
    certainties = pl.DataFrame({"case": ["a", "b"], "top": [1, 1], "certainty": [0.5, 1.0]})
    chart = evaluation_charts.agreement_scatter(agreement, certainties, run="x")
    assert chart.panels[0].title == "correlation undefined, 2 cases"
    assert [type(mark) for mark in chart.panels[0].marks] == [Points]


def test_a_case_shows_means_and_draws_and_the_study_is_counted_within_categories() -> None:
    case = usual().case_names[3]
    (bars,), (dots,) = marks("case", Bars, case=case), marks("case", Points, case=case)
    assert bars.lengths.sum() == pytest.approx(1)
    assert len(dots.x) == len(of_run(usual().plausibilities(), case=case)) * 20
    assert plots().chart("case", case=case).panels[0].y.ticks[-1][1] == "any other"
    for panel in range(len(plots().chart("study").panels)):
        same(*((bars.lengths.sum(), 1) for bars in marks("study", Bars, panel=panel)))
    names = {mark.name for mark in marks("study", Bars)}
    assert names == set(of_run(usual().category_certainties())["category"])
    (plain,) = Plots(at_edge("no categories")).chart("study").panels[0].marks
    assert isinstance(plain, Bars)
    same((plain.lengths, np.bincount(study().rankings_per_case, minlength=5)[2:5] / 12))


# Runs and names ---------------------------------------------------------------------------------------------


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
    refused(re.escape(told), plots().chart, figure, **options)


def test_draws_that_all_agree_do_not_make_a_probability_certain() -> None:
    names = {"estimand": ["adjusted"], "metric": ["m"], "first": ["A"], "second": ["B"]}
    pairs = pl.DataFrame({**names, "probability_better": [1.0]})
    (cells,) = evaluation_charts.probability_matrix(pairs, "m", run="x", models=["A", "B"]).panels[0].marks
    assert isinstance(cells, Cells)
    assert cells.labels == (("", "> 0.99"), ("< 0.01", ""))
    assert "1.000" not in str(cells.texts)


def test_hostile_long_and_many_names_are_shown_as_they_are() -> None:
    assert usual().conditions == CONDITIONS
    assert '&lt;b&gt;A&lt;/b&gt; &amp; "B"' in svg(plots().chart("reliability")).replace("&quot;", '"')
    html = encoded(plots().chart("case", case=case_about(SCRIPT)), ".html").decode()
    assert SCRIPT not in html
    assert "alert(1)" in html
    assert html.count("<h1>") == 1
    names = [f"condition with a long name number {i} of a long list of names" for i in range(40)]
    said = ds.Study.from_rankings([[[[i] for i in range(40)]]], names)
    chart = ds.evaluate(said, {}, aggregations=["dirichlet"], draws=10).plot.chart("case", case="0")
    assert "25 less plausible conditions are not shown" in chart.caption
    assert all(len(tick) <= 34 for _, tick in chart.panels[0].y.ticks)


def test_words_take_the_colour_of_the_page_and_every_mark_says_what_it_is() -> None:
    drawing = svg(plots().chart("estimands"))
    assert 'fill="currentColor"' in drawing
    assert f"<title>{MODEL}, adjusted" in drawing.replace("&lt;", "<").replace("&gt;", ">").replace(
        "&amp;", "&"
    ).replace("&quot;", '"')
    several = svg(plots().chart("draws"), "one") + svg(plots().chart("draws"), "other")
    names = re.findall(r'id="([^"]*)"', several)
    assert len(set(names)) == len(names)
    assert set(re.findall(r"url\(#([^)]*)\)", several)) <= set(names)
