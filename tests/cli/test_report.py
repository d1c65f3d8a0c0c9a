"""The command that writes the page."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path

import numpy as np
import pytest

import dissensus as ds
from dissensus.cli import main


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = ds.simulate_study(n_cases=8, n_conditions=5, seed=4)
    scores = np.random.default_rng(1).random(study.theta.shape)
    path = tmp_path_factory.mktemp("report") / "results"
    ds.evaluate(study.annotations, {"A": scores, "B": study.theta}, aggregations=[ds.PlackettLuce(3)], draws=40).save(
        path
    )
    return path


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["dissensus", "report", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


def test_the_page_stands_among_the_results_and_its_size_is_told(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, results) == 0
    page = results / "report.html"
    said = capsys.readouterr().out.replace("\n", "")
    assert str(page) in said
    assert f"{page.stat().st_size / 1e6:.1f} MB" in said
    assert "2 models evaluated against uncertain annotations" in page.read_text(encoding="utf-8")
    assert run(monkeypatch, results) == 0


def test_place_and_title_can_be_chosen(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, results, "--out", tmp_path / "page.html", "--title", "Study <2>") == 0
    assert "<h1>Study &lt;2&gt;</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_figures_for_a_paper_are_written_beside(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--out", tmp_path / "page.html", "--static", tmp_path / "figures"]
    assert run(monkeypatch, results, *words) == 0
    figures = list((tmp_path / "figures").glob("*.svg"))
    assert len(figures) > 5
    assert f"{len(figures)} figures" in capsys.readouterr().out
    (tmp_path / "page.html").unlink()
    assert run(monkeypatch, results, *words) == 2
    assert "exists already" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_the_page_can_be_opened(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    answers = iter([True, False])

    def pretend(address: str) -> bool:
        opened.append(address)
        return next(answers)

    monkeypatch.setattr(webbrowser, "open", pretend)
    page = tmp_path / "page one.html"
    assert run(monkeypatch, results, "--out", page, "--open") == 0
    assert opened == [page.as_uri()]
    assert run(monkeypatch, results, "--out", page, "--open") == 2
    assert "exists already" in capsys.readouterr().err
    assert run(monkeypatch, results, "--out", page, "--open", "--overwrite") == 0
    assert "open the file yourself" in capsys.readouterr().out


def test_only_the_own_page_of_the_results_is_written_anew_unasked(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.html"
    mine.write_text("mine")
    (results / "report.html").unlink(missing_ok=True)
    (results / "report.html").symlink_to(mine)
    assert run(monkeypatch, results) == 2
    assert "exists already" in capsys.readouterr().err
    (results / "report.html").unlink()
    assert run(monkeypatch, results, "--out", results / "run.json", "--overwrite") == 2
    assert "would replace an input" in capsys.readouterr().err
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("words", [["."], ["nowhere"], ["{results}", "--out", "no/such/place.html"]])
def test_what_cannot_be_reported_is_an_error_in_words(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, *(word.format(results=results) for word in words)) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert list(tmp_path.iterdir()) == []
