"""The parts of figures: thinning, bands with gaps, shades, the triangle, what is undefined; files, whole or not."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import dissensus as ds
from dissensus.aggregations import MajorityVote
from dissensus.core.errors import FormatError
from dissensus.evaluation.plots import Plots
from dissensus.figures import charts, theme
from dissensus.figures.charts import Axis, Band, Chart, Line, Pane, Points, specification, svg
from dissensus.figures.evaluation_charts import bands, draws_histogram, metric_across_reliability, sampled
from dissensus.metrics import TopKAccuracy
from figures.figure_studies import at_edge, evaluated, study, usual

NUMBERS = st.floats(-5, 5) | st.just(float("nan"))


@given(arrays(np.float64, st.integers(0, 900), elements=NUMBERS))
def test_quantile_curves_rise_and_keep_their_ends(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    x, y = charts.quantile_curve(values)
    finite = values[np.isfinite(values)]
    assert len(x) == len(y) <= 401
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) >= 0).all()
    if len(finite):
        assert (x[0], x[-1], y[0], y[-1]) == (0, 1, finite.min(), finite.max())


@given(st.integers(1, 10_000))
def test_kept_places_are_few_and_reach_both_ends(number: int) -> None:
    kept = charts.kept_places(number)
    assert (kept[0], kept[-1]) == (0, number - 1)
    assert len(kept) == min(number, 400)


def test_clouds_counts_spans_and_shades() -> None:
    (first, note), (again, _) = sampled(rows := pl.DataFrame({"row": range(5000)})), sampled(rows)
    assert first.equals(again)
    assert (first["row"].n_unique(), note[:13]) == (2000, " 2000 of 5000")
    undefined, one = (charts.even_edges(np.array([value]), number=4) for value in (np.nan, 0.5))
    assert np.isnan(charts.counted(np.array([np.nan]), undefined)).all()
    assert charts.counted(np.array([0.5]), one).sum() == 1
    assert charts.joint_span(np.array([np.nan, np.inf])) is None
    low, high = charts.joint_span(np.array([1.0, np.nan, 3.0])) or (0, 0)
    assert low < 1 < 3 < high
    shades = [theme.shade(place, 5) for place in range(5)]
    assert (len(set(shades)), theme.shade(0, 1)) == (5, shades[0])
    light = [sum(weight * int(s[i : i + 2], 16) for weight, i in ((0.3, 1), (0.6, 3), (0.1, 5))) for s in shades]
    assert light == sorted(light)


def test_bands_leave_gaps_where_numbers_are_undefined() -> None:
    low = np.array([0.1, 0.2, np.nan, 0.4])
    first, second = bands(np.arange(4.0), low, low + 0.1, colour="#000000", opacity=0.2)
    assert first.x.tolist() == [0, 1]
    assert second.low.tolist() == [0.4, 0.4]
    assert second.x[0] < 3 < second.x[1]
    assert bands(np.arange(2.0), np.full(2, np.nan), np.ones(2), colour="#000000", opacity=0.2) == ()


def test_a_square_without_axes_is_drawn() -> None:
    hidden = Axis(span=(-0.2, 1.2), is_shown=False)
    pane = Pane((Points(np.array([0.0, 1.0, 0.5]), np.array([0.0, 0.0, 0.9])),), hidden, hidden, is_square=True)
    panel = specification(Chart("triangle", (pane,)))["vconcat"][0]["hconcat"][0]
    assert panel["width"] == panel["height"]
    assert panel["layer"][0]["encoding"]["x"]["axis"] is None


def summary(values: list[float], reliabilities: list[float | None]) -> pl.DataFrame:
    numbers = dict.fromkeys(("mean", "low", "high", "annotation_low", "annotation_high"), values)
    labels = {"aggregation": "x", "estimand": "adjusted", "model": "A", "metric": "m"}
    runs = [f"x {reliability:g}" if reliability else "x" for reliability in reliabilities]
    column, points = (pl.Series(some, dtype=pl.Float64) for some in (reliabilities, [None] * len(values)))
    frame = pl.DataFrame({"run": runs, **numbers, "reliability": column, "point_estimate": points})
    return frame.with_columns(pl.lit(value).alias(name) for name, value in labels.items())


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_undefined_metrics_are_gaps_and_reliabilities_are_in_order_whatever_that_of_runs(value: float) -> None:
    chart = metric_across_reliability(summary([0.7, 1 / 3, value], [10.0, 1.0, 3.0]), "m")
    line = next(mark for mark in chart.panels[0].marks if isinstance(mark, Line))
    np.testing.assert_array_equal(line.y, [1 / 3, np.nan, 0.7])
    assert "undefined" in line.texts[1]
    assert [name for _, name in chart.panels[0].x.ticks] == ["1", "3", "10"]
    spec = specification(chart)
    assert all(word not in json.dumps(spec) + svg(chart) for word in ("NaN", "Infinity"))
    shown = next(layer for layer in spec["vconcat"][0]["hconcat"][0]["layer"] if layer["mark"]["type"] == "line")
    assert [row["y"] for row in spec["datasets"][shown["data"]["name"]]] == [0.33333, None, 0.7]
    frame = summary([value], [None])
    (panel,) = metric_across_reliability(frame, "m").panels
    assert not [mark for mark in panel.marks if isinstance(mark, Band)]
    assert panel.x.ticks == ((0.0, "none"),)
    draws = frame.select("model", "metric", "mean")
    assert "<svg" in svg(draws_histogram(draws, draws, frame, "m", run="x"))


# Files --------------------------------------------------------------------------------------------------


STARTS = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG", ".html": b"<!DOCTYPE"}


@pytest.mark.parametrize("ending", STARTS)
def test_figures_are_the_same_bytes_every_time(tmp_path: Path, ending: str) -> None:
    chart = Plots(usual()).chart("reliability")
    for name in ("one", "two"):
        charts.write_chart(chart, tmp_path / f"{name}{ending}")
    first, second = ((tmp_path / f"{name}{ending}").read_bytes() for name in ("one", "two"))
    assert first.startswith(STARTS[ending])
    assert len(first) == len(second)
    if ending != ".pdf":  # whose objects come in any order
        assert first == second


def test_all_figures_that_apply_are_written(tmp_path: Path) -> None:
    two = evaluated(study(), 1, [MajorityVote()], metrics=[TopKAccuracy(1), TopKAccuracy(3)], draws=1)
    for place, evaluation in (("two metrics", two), ("no models", at_edge("no models"))):
        plots = Plots(evaluation)
        paths = plots.write(tmp_path / place)
        assert sorted(path.name for path in paths) == sorted(path.name for path in (tmp_path / place).iterdir())
        assert {path.stem.partition("-")[0] for path in paths} == set(plots.names()) - {"case"}
    names = {path.stem for path in (tmp_path / "two metrics").iterdir()}
    assert {"reliability-1-top-1-accuracy", "reliability-2-top-3-accuracy"} <= names


def test_characters_that_control_a_terminal_are_shown() -> None:
    hostile = "\x1b[31mA\x07\u202e\ud800\x9b\x7f"
    said = ds.Study.from_counts([[3, 1], [0, 4]], [hostile.replace("\ud800", ""), "b"])
    result = ds.evaluate(said, {"A\x1b": [[0.9, 0.1], [0.4, 0.6]]}, aggregations=["dirichlet:1"], draws=20)
    drawing = svg(result.plot.chart("estimands")) + svg(result.plot.chart("case", case="0"))
    assert not set(drawing) & set("\x1b\x07\u202e\x9b\x7f")
    assert "\\x1b" in drawing
    assert "<path" in svg(Chart(hostile, (Pane((Points(np.zeros(1), np.zeros(1), texts=(hostile,)),)),)))


def test_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chart = Plots(usual()).chart("study")
    with pytest.raises(FormatError, match=r"one of \.svg, \.pdf, \.png, \.html"):
        charts.write_chart(chart, tmp_path / "study.jpeg")
    monkeypatch.setattr(charts, "encoded", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        charts.write_chart(chart, tmp_path / "study.svg")
    with pytest.raises(ZeroDivisionError):
        charts.write_charts({"study": chart}, tmp_path / "figures")
    assert list(tmp_path.iterdir()) == []
