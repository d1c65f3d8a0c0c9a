"""Ways in which work was lost: a thesis beside the results, the opinions themselves, the directory one stands in."""

import sys
from pathlib import Path

import pytest

import dissensus as ds
from command_calls import Run
from faults.small_study import EVALUATE, entries, put_study, snapshot

EVALUATE_INTO = EVALUATE[:-1]
DRAWN = ("--aggregation", "dirichlet", "--draws", "20")
WRITING: dict[str, tuple[str, ...]] = {
    "certainty": ("certainty", "opinions.csv", *DRAWN, "--categories", "risks.csv", "--out", "{out}"),
    "aggregate": ("aggregate", "opinions.csv", *DRAWN, "--out", "{out}"),
    "aggregate draws": ("aggregate", "opinions.csv", *DRAWN, "--out", "{out}.csv", "--draws-out", "{out}"),
    "convert": ("convert", "opinions.csv", "{out}"),
}


@pytest.fixture(autouse=True)
def study(run: Run, tmp_path: Path) -> None:  # noqa: ARG001 - it goes to the folder
    put_study(tmp_path)
    (tmp_path / "risks.csv").write_text("condition,category\nEczema,low\nTinea,low\nLupus,high\n")


def unharmed(run: Run, tmp_path: Path, *words: object, problem: str) -> None:
    """Assert that a command is refused and changes nothing."""
    before = snapshot(tmp_path)
    assert run(*words).refused(problem)
    assert snapshot(tmp_path) == before


def test_only_results_are_replaced_and_only_when_asked_for(run: Run, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    for text in ("{}", "[]", "{", '{"format": "another"}'):
        (tmp_path / "results" / "run.json").write_text(text)
        unharmed(run, tmp_path, *EVALUATE, "--overwrite", problem="no run.json with the format")
    (tmp_path / "results" / "run.json").unlink()
    (tmp_path / "results").rmdir()
    unharmed(run, tmp_path, *EVALUATE_INTO, "opinions.csv", "--overwrite", problem="is a file")
    assert run(*EVALUATE, "--seed", "1").code == 0
    unharmed(run, tmp_path, *EVALUATE, problem="exists already")
    (tmp_path / "link").symlink_to(tmp_path / "results")
    assert run(*EVALUATE_INTO, "link", "--seed", "2", "--overwrite").code == 0
    assert ds.load(tmp_path / "results").seed == 2
    assert entries(tmp_path) == ["A.csv", "link", "opinions.csv", "results", "risks.csv"]
    (tmp_path / "results" / "report.html").write_bytes((tmp_path / "opinions.csv").read_bytes())
    (tmp_path / "link.csv").symlink_to(tmp_path / "results" / "report.html")
    words = [word.replace("opinions.csv", "link.csv") for word in EVALUATE]
    unharmed(run, tmp_path, *words, "--overwrite", problem="holds an input")
    (tmp_path / "results" / "thesis.tex").write_text("years of work")
    unharmed(run, tmp_path, *EVALUATE, "--overwrite", problem="thesis.tex")


@pytest.mark.parametrize("words", WRITING.values(), ids=WRITING)
def test_no_command_replaces_its_input_or_other_files_unasked(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "link.csv").symlink_to("opinions.csv")
    (tmp_path / "names.csv").write_text("Eczema\nTinea\nLupus\n")
    inputs = ["opinions.csv", "link.csv", "names.csv", *(["risks.csv"] if "risks.csv" in words else [])]
    for place in inputs:
        given = (*(word.format(out=place) for word in words), "--conditions", "names.csv", "--overwrite")
        unharmed(run, tmp_path, *given, problem="would replace an input")
    (tmp_path / "b.csv").write_text("precious")
    own = [word.format(out="b.csv") for word in words]
    unharmed(run, tmp_path, *own, problem="the output file exists already")
    assert run(*own, "--overwrite").code == 0
    assert "precious" not in (tmp_path / "b.csv").read_text()


def test_commands_that_show_results_replace_nothing_unasked(run: Run, tmp_path: Path) -> None:
    assert run(*EVALUATE).code == 0
    for words in (
        ("compare", "results", "--out", "b.csv"),
        ("plot", "results", "certainty", "--out", "b.svg"),
        ("report", "results", "--out", "b.html"),
    ):
        (tmp_path / words[-1]).write_text("precious")
        unharmed(run, tmp_path, *words, problem="the output file exists already")
        assert run(*words, "--overwrite").code == 0
        assert (tmp_path / words[-1]).read_text() != "precious"
    words = ("compare", "results", "--out", "results/per_case.parquet", "--overwrite")
    unharmed(run, tmp_path, *words, problem="would replace an input")
    both = ("aggregate", "opinions.csv", *DRAWN, "--out", "soft.csv", "--draws-out", "./soft.csv")
    unharmed(run, tmp_path, *both, problem="are the same file")


@pytest.mark.parametrize("words", [*WRITING.values(), (*EVALUATE_INTO, "{out}")], ids=[*WRITING, "evaluate"])
def test_targets_come_first(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    def too_early(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(sys.modules["dissensus.cli.options"], "examine", too_early)
    (tmp_path / "there.csv").write_text("precious")
    for place, problem in (("no/such/place.csv", "does not exist"), ("there.csv", "the output")):
        unharmed(run, tmp_path, *(word.format(out=place) for word in words), problem=problem)
