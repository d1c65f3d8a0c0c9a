"""Figures for papers: whole, the same bytes every time, and safe names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dissensus as ds
from dissensus.aggregations import MajorityVote
from dissensus.core.errors import FormatError
from dissensus.evaluation.plots import Plots
from dissensus.figures.charts import Chart, Labels, Pane, svg, write_chart, write_charts
from dissensus.metrics import TopKAccuracy
from figures.figure_studies import at_edge, evaluated, study, usual

STARTS = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG", ".html": b"<!DOCTYPE"}


@pytest.mark.parametrize("ending", STARTS)
def test_figures_are_the_same_bytes_every_time(tmp_path: Path, ending: str) -> None:
    chart = Plots(usual()).chart("reliability")
    for name in ("one", "two"):
        write_chart(chart, tmp_path / f"{name}{ending}")
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
    assert "<path" in svg(Chart(hostile, (Pane((Labels(np.zeros(1), np.zeros(1), (hostile,)),)),)))


def test_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chart = Plots(usual()).chart("study")
    with pytest.raises(FormatError, match=r"one of \.svg, \.pdf, \.png, \.html"):
        write_chart(chart, tmp_path / "study.jpeg")
    monkeypatch.setattr("dissensus.figures.charts.encoded", fail)
    with pytest.raises(RuntimeError):
        write_chart(chart, tmp_path / "study.svg")
    with pytest.raises(RuntimeError):
        write_charts({"study": chart}, tmp_path / "figures")
    assert list(tmp_path.iterdir()) == []


def fail(*_: object) -> None:
    raise RuntimeError("the disk is on fire")
