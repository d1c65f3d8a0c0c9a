"""The command that writes the page."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import numpy as np
import pytest

import dissensus as ds
from command_calls import Run


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = ds.simulate_study(n_cases=8, n_conditions=5, seed=4)
    scores = np.random.default_rng(1).random(study.theta.shape)
    path = tmp_path_factory.mktemp("report") / "results"
    how = {"aggregations": ["plackett-luce:3"], "metrics": ["top-k-accuracy:1"], "draws": 40}
    ds.evaluate(study.annotations, {"A": scores, "B": study.theta}, **how).save(path)  # type: ignore[arg-type]
    return path


def test_the_page_stands_among_the_results_and_its_size_is_told(results: Path, run: Run) -> None:
    outcome = run("report", results)
    assert outcome.code == 0
    page = results / "report.html"
    said = outcome.out.replace("\n", "")
    assert str(page) in said
    assert f"{page.stat().st_size / 1e6:.1f} MB" in said
    assert "2 models evaluated against uncertain annotations" in page.read_text(encoding="utf-8")
    assert run("report", results).code == 0


def test_place_and_title_can_be_chosen(results: Path, tmp_path: Path, run: Run) -> None:
    assert run("report", results, "--out", tmp_path / "page.html", "--title", "Study <2>").code == 0
    assert "<h1>Study &lt;2&gt;</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_figures_for_a_paper_are_written_beside(results: Path, tmp_path: Path, run: Run) -> None:
    words = ["--out", tmp_path / "page.html", "--static", tmp_path / "figures"]
    outcome = run("report", results, *words)
    assert outcome.code == 0
    figures = list((tmp_path / "figures").glob("*.svg"))
    assert len(figures) > 5
    assert f"{len(figures)} figures" in outcome.out
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
    assert "open the file yourself" in run("report", results, "--out", page, "--open", "--overwrite").out


def test_only_the_own_page_of_the_results_is_written_anew_unasked(results: Path, tmp_path: Path, run: Run) -> None:
    mine = tmp_path / "mine.html"
    mine.write_text("mine")
    (results / "report.html").unlink(missing_ok=True)
    (results / "report.html").symlink_to(mine)
    assert run("report", results).refused("exists already")
    (results / "report.html").unlink()
    assert run("report", results, "--out", results / "run.json", "--overwrite").refused("would replace an input")
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("words", [["."], ["nowhere"], ["{results}", "--out", "no/such/place.html"]])
def test_what_cannot_be_reported_is_an_error_in_words(
    results: Path, tmp_path: Path, run: Run, words: list[str]
) -> None:
    assert run("report", *(word.format(results=results) for word in words)).refused()
    assert list(tmp_path.iterdir()) == []
