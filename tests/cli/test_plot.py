"""``dissensus plot`` as a person meets it."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

import dissensus as ds
from dissensus.cli.saved_results import plot
from figures.figure_studies import edges, usual

app = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False)
app.command()(plot)


def run(*words: object) -> Result:
    return CliRunner(env={"COLUMNS": "240"}).invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plot") / "results"
    usual().save(path)
    return path


@pytest.mark.parametrize(
    ("words", "ending", "start"),
    [
        (["reliability", "--metric", "top-3 accuracy"], "svg", b"<?xml"),
        (["draws", "--run", "plackett-luce 10"], "pdf", b"%PDF"),
        (["ranks", "--run", "all"], "png", b"\x89PNG"),
        (["case", "--case", "<i>3</i>"], "html", b"<!DOCTYPE html>"),
    ],
)
def test_one_figure_is_written(results: Path, tmp_path: Path, words: list[str], ending: str, start: bytes) -> None:
    out = tmp_path / f"figure.{ending}"
    outcome = run(results, *words, "--out", out)
    assert outcome.exit_code == 0, outcome.output
    assert out.read_bytes().startswith(start)
    assert f"-> {out}" in outcome.output.replace("\n", "")


def test_a_page_needs_no_network(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "figure.html"
    assert run(results, "certainty", "--out", out).exit_code == 0
    text = out.read_text(encoding="utf-8")
    assert "Plotly.newPlot" in text
    assert "<script src=" not in text
    assert "<h1>Certainty of every case</h1>" in text


def test_the_list_tells_what_there_is(results: Path) -> None:
    outcome = run(results, "--list")
    assert outcome.exit_code == 0
    assert "category_metrics" in outcome.output
    assert "metrics: top-1 accuracy, top-3 accuracy, AUROC" in outcome.output
    assert "runs: plackett-luce 1, plackett-luce 3" in outcome.output
    assert "no: needs" not in outcome.output


def test_the_list_tells_what_is_lacking(tmp_path: Path) -> None:
    edges()["no models"].save(tmp_path / "results")
    assert "no: needs two models" in run(tmp_path / "results", "--list").output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["certainty"], "--out is missing"),
        ([], "the figure to draw is missing"),
        (["certainity", "--out", "x.svg"], "did you mean 'certainty'?"),
        (["certainty", "--out", "x.jpeg"], "one of .svg, .pdf, .png, .html"),
        (["draws", "--metric", "top-1 acuracy", "--out", "x.svg"], "did you mean 'top-1 accuracy'?"),
        (["draws", "--run", "plackett-luce 4", "--out", "x.svg"], "there is no run 'plackett-luce 4'"),
        (["case", "--out", "x.svg"], "this figure shows one case"),
    ],
)
def test_bad_requests_are_refused_and_write_nothing(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run(results, *words)
    assert isinstance(outcome.exception, ds.DissensusError)
    assert told in str(outcome.exception)
    assert list(tmp_path.iterdir()) == []
