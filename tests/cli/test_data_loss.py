"""Ways in which work was lost: a thesis beside the results, the opinions themselves, the directory one stands in."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import dissensus as ds
from faults.small_study import EVALUATE, Outcome, call, entries, put_study, snapshot

Run = Callable[..., Outcome]
EVALUATE_INTO = EVALUATE[:-1]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line where the study is."""
    put_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: call(monkeypatch, capsys, words)


def refused(outcome: Outcome, problem: str) -> None:
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert problem in outcome.err
    assert "Traceback" not in outcome.err


def unharmed(run: Run, tmp_path: Path, *words: object, problem: str) -> None:
    """Assert that a command is refused and changes nothing."""
    before = snapshot(tmp_path)
    refused(run(*words), problem)
    assert snapshot(tmp_path) == before


# Directories --------------------------------------------------------------------------------------------


def test_a_project_with_a_thesis_is_not_replaced(run: Run, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "thesis.tex").write_text("years of work")
    unharmed(run, tmp_path, *EVALUATE_INTO, "project", "--overwrite", problem="holds something else")


def test_a_thesis_among_the_results_is_not_replaced(run: Run, tmp_path: Path) -> None:
    assert run(*EVALUATE).code == 0
    (tmp_path / "results" / "thesis.tex").write_text("years of work")
    unharmed(run, tmp_path, *EVALUATE, "--overwrite", problem="thesis.tex")


def test_results_that_only_look_like_some_are_not_replaced(run: Run, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    for text in ("{}", "[]", "{", '{"format": "another"}'):
        (tmp_path / "results" / "run.json").write_text(text)
        unharmed(run, tmp_path, *EVALUATE, "--overwrite", problem="no run.json with the format")


def test_a_file_is_not_replaced_by_a_directory(run: Run, tmp_path: Path) -> None:
    unharmed(run, tmp_path, *EVALUATE_INTO, "opinions.csv", "--overwrite", problem="is a file")


@pytest.mark.parametrize("spelling", ["../here", ".", "..", "{tmp_path}/here", "{tmp_path}/link"])
def test_the_directory_one_stands_in_is_not_replaced(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    assert run(*EVALUATE_INTO, "here").code == 0
    (tmp_path / "link").symlink_to(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    words = [word.replace("opinions.csv", "../opinions.csv").replace("A.csv", "../A.csv") for word in EVALUATE_INTO]
    place = spelling.format(tmp_path=tmp_path)
    unharmed(run, tmp_path, *words, place, "--overwrite", problem="holds the working directory")


def test_results_that_hold_an_input_are_not_replaced(run: Run, tmp_path: Path) -> None:
    assert run(*EVALUATE).code == 0
    (tmp_path / "results" / "report.html").write_bytes((tmp_path / "opinions.csv").read_bytes())
    (tmp_path / "link.csv").symlink_to(tmp_path / "results" / "report.html")
    words = [word.replace("opinions.csv", "link.csv") for word in EVALUATE]
    unharmed(run, tmp_path, *words, "--overwrite", problem="holds an input")


def test_results_are_replaced_when_asked_for_also_through_a_link(run: Run, tmp_path: Path) -> None:
    assert run(*EVALUATE, "--seed", "1").code == 0
    unharmed(run, tmp_path, *EVALUATE, problem="exists already")
    assert run(*EVALUATE, "--seed", "2", "--overwrite").code == 0
    assert ds.load(tmp_path / "results").seed == 2
    (tmp_path / "link").symlink_to(tmp_path / "results")
    assert run(*EVALUATE_INTO, "link", "--seed", "3", "--overwrite").code == 0
    assert ds.load(tmp_path / "results").seed == 3
    assert (tmp_path / "link").is_symlink()
    assert entries(tmp_path) == ["A.csv", "link", "opinions.csv", "results"]


# Files --------------------------------------------------------------------------------------------------

DRAWN = ("--aggregation", "dirichlet", "--draws", "20")
WRITING: dict[str, tuple[str, ...]] = {
    "certainty": ("certainty", "opinions.csv", *DRAWN, "--out", "{out}"),
    "aggregate": ("aggregate", "opinions.csv", *DRAWN, "--out", "{out}"),
    "aggregate draws": ("aggregate", "opinions.csv", *DRAWN, "--out", "{out}.csv", "--draws-out", "{out}"),
    "convert": ("convert", "opinions.csv", "{out}"),
}


@pytest.mark.parametrize("words", WRITING.values(), ids=WRITING)
@pytest.mark.parametrize("spelling", ["opinions.csv", "{tmp_path}/opinions.csv", "link.csv", "sub/../opinions.csv"])
def test_no_command_replaces_its_input(run: Run, tmp_path: Path, words: tuple[str, ...], spelling: str) -> None:
    (tmp_path / "link.csv").symlink_to("opinions.csv")
    (tmp_path / "sub").mkdir()
    place = spelling.format(tmp_path=tmp_path)
    for more in ((), ("--overwrite",)):
        unharmed(run, tmp_path, *(word.format(out=place) for word in words), *more, problem="would replace an input")


def test_other_inputs_are_not_replaced_either(run: Run, tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("Eczema\nTinea\nLupus\n")
    (tmp_path / "risks.csv").write_text("condition,category\nEczema,low\nTinea,low\nLupus,high\n")
    for command in ("certainty", "aggregate"):
        words = (command, "opinions.csv", *DRAWN, "--conditions", "names.csv", "--overwrite")
        unharmed(run, tmp_path, *words, "--out", "names.csv", problem="would replace an input")
    words = ("certainty", "opinions.csv", *DRAWN, "--categories", "risks.csv", "--overwrite")
    unharmed(run, tmp_path, *words, "--out", "risks.csv", problem="would replace an input")


@pytest.mark.parametrize("words", WRITING.values(), ids=WRITING)
def test_every_command_replaces_a_file_only_when_asked_for(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "b.csv").write_text("precious")
    given = [word.format(out="b.csv") for word in words]
    unharmed(run, tmp_path, *given, problem="the output file exists already")
    assert run(*given, "--overwrite").code == 0
    assert "precious" not in (tmp_path / "b.csv").read_text()


def test_commands_that_show_results_replace_nothing_unasked(run: Run, tmp_path: Path) -> None:
    assert run(*EVALUATE).code == 0
    (tmp_path / "b.csv").write_text("precious")
    (tmp_path / "b.svg").write_text("precious")
    (tmp_path / "b.html").write_text("precious")
    for words in (
        ("compare", "results", "--out", "b.csv"),
        ("plot", "results", "certainty", "--out", "b.svg"),
        ("plot", "results", "certainty", "--out", "b.html"),
        ("report", "results", "--out", "b.html"),
    ):
        unharmed(run, tmp_path, *words, problem="the output file exists already")
        assert run(*words, "--overwrite").code == 0
        assert (tmp_path / words[-1]).read_text() != "precious"
        (tmp_path / words[-1]).write_text("precious")
    words = ("compare", "results", "--out", "results/per_case.parquet", "--overwrite")
    unharmed(run, tmp_path, *words, problem="would replace an input")


def test_two_outputs_are_not_one_file(run: Run, tmp_path: Path) -> None:
    words = ("aggregate", "opinions.csv", *DRAWN, "--out", "soft.csv", "--draws-out", "./soft.csv")
    unharmed(run, tmp_path, *words, problem="are the same file")


# Before computing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [*WRITING.values(), (*EVALUATE_INTO, "{out}")], ids=[*WRITING, "evaluate"])
def test_targets_are_refused_before_anything_is_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    def too_early(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(sys.modules["dissensus.cli.options"], "examine", too_early)
    (tmp_path / "there.csv").write_text("precious")
    for place, problem in (("no/such/place.csv", "does not exist"), ("there.csv", "the output")):
        unharmed(run, tmp_path, *(word.format(out=place) for word in words), problem=problem)
