"""The commands that compare results, draw them and write their page."""

import webbrowser
from pathlib import Path

import numpy as np
import pytest

import dissensus as ds
from command_calls import Run
from figures.figure_studies import at_edge, usual


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = ds.simulate.study(n_cases=8, n_conditions=5, seed=4)
    scores = np.random.default_rng(1).random(study.theta.shape)
    path = tmp_path_factory.mktemp("report") / "results"
    how = {"aggregations": ["plackett-luce:3"], "metrics": ["top-k-accuracy:1"], "draws": 40}
    ds.evaluate(study.annotations, {"A": scores, "B": study.theta}, **how).save(path)  # type: ignore[arg-type]
    return path


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two of three annotators say a, and models say it in some of 60 cases."""
    path = tmp_path_factory.mktemp("compare") / "results"
    scores = {name: [[0.9, 0.1] if case < right else [0.1, 0.9] for case in range(60)] for name, right in RIGHT.items()}
    study = ds.Study.from_counts([[2, 1]] * 60, ["a", "b"])
    metrics, how = ["top-k-accuracy:1", "brier-score"], {"aggregations": ["majority-vote"], "panel": False}
    ds.evaluate(study, scores, metrics=metrics, **how).save(path)  # type: ignore[arg-type]
    return path


RIGHT = {"low": 6, "high": 58, "near": 57}


def test_pairs_of_the_primary_metric_are_in_order(judged: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    told = run("compare", judged).out
    assert "top-1 accuracy: agreement" in told
    assert "Brier score" not in told
    assert told.count("majority-vote") == 0
    rows = [line.split() for line in told.splitlines() if " [" in line][1:]
    assert [" ".join(row[:3]) for row in rows] == ["high near +0.006", "high low +0.289", "near low +0.283"]
    assert [row[-1] for row in rows] == ["distinguishable", "better", "better"]
    assert "Not distinguishable from the leader, high (0.656): near." in told
    more = run("compare", judged, "--all").out
    assert {"Brier", "majority-vote"} <= set(more.split())
    assert "(secondary, not adjusted)" in run("compare", judged, "--json", "--all").out
    assert len(told.splitlines()) < 25


def test_the_page_stands_among_the_results_and_its_size_is_told(results: Path, run: Run) -> None:
    outcome = run("report", results).done()
    page = results / "report.html"
    said = outcome.out.replace("\n", "")
    assert str(page) in said
    assert f"{page.stat().st_size / 1e6:.1f} MB" in said
    assert "<h1>A or B?</h1>" in page.read_text(encoding="utf-8")
    assert run("report", results).code == 0


def test_place_title_and_figures_for_a_paper_can_be_chosen(results: Path, tmp_path: Path, run: Run) -> None:
    words = ["--out", tmp_path / "page.html", "--title", "Study <2>", "--static", tmp_path / "figures"]
    outcome = run("report", results, *words)
    assert "<h1>Study &lt;2&gt;</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    figures = list((tmp_path / "figures").glob("*.svg"))
    assert len(figures) > 5
    assert f"{len(figures)} figures" in outcome.err
    (tmp_path / "page.html").unlink()
    assert run("report", results, *words).refused("exists already")
    assert not (tmp_path / "page.html").exists()


def test_the_page_can_be_opened(results: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    answers = iter([True, False])

    def pretend(address: str) -> bool:
        opened.append(address)
        return next(answers)

    monkeypatch.setattr(webbrowser, "open", pretend)
    page = tmp_path / "page one.html"
    assert run("report", results, "--out", page, "--open").code == 0
    assert opened == [page.as_uri()]
    assert run("report", results, "--out", page, "--open").refused("exists already")
    assert "open the file yourself" in run("report", results, "--out", page, "--open", "--overwrite").err


def test_only_the_own_page_of_the_results_is_written_anew_unasked(results: Path, tmp_path: Path, run: Run) -> None:
    mine = tmp_path / "mine.html"
    mine.write_text("mine")
    (results / "report.html").unlink(missing_ok=True)
    (results / "report.html").symlink_to(mine)
    assert run("report", results).refused("exists already")
    (results / "report.html").unlink()
    assert run("report", results, "--out", results / "run.json", "--overwrite").refused("would replace an input")
    assert mine.read_text() == "mine"


# Figures --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plot") / "results"
    usual().save(path)
    return path


def test_the_list_tells_what_there_is_and_what_is_lacking(figures: Path, tmp_path: Path, run: Run) -> None:
    told = run("plot", figures, "--list").out
    for part in ("category_metrics", "metrics: top-1 accuracy, top-3 accuracy, AUROC", "runs: plackett-luce 1, "):
        assert part in told
    assert "no: needs" not in told
    at_edge("no models").save(tmp_path / "results")
    assert "no: needs two models" in run("plot", tmp_path / "results", "--list").out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["certainty"], "--out is missing"),
        ([], "the figure to draw is missing"),
        (["certainity", "--out", "x.svg"], "did you mean 'certainty'?"),
        (["draws", "--run", "plackett-luce 4", "--out", "x.svg"], "there is no run 'plackett-luce 4'"),
    ],
)
def test_bad_requests_write_no_figure(figures: Path, tmp_path: Path, run: Run, words: list[str], told: str) -> None:
    assert run("plot", figures, *words).refused(told)
    assert list(tmp_path.iterdir()) == []
    outcome = run("plot", figures, "case", "--case", "<i>3</i>", "--out", tmp_path / "case.html")
    assert f"-> {tmp_path / 'case.html'}" in outcome.out.replace("\n", "")
    assert b"<h1>Case &lt;i&gt;3&lt;/i&gt; under" in (tmp_path / "case.html").read_bytes()
