"""The command `reproduce`: the table, the files it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import dissensus as ds
from datasets.published_files import write_dermatology, write_toxicity
from dissensus.cli.reproduce import reproduce

FEW = ["--draws", "60", "--sweep-draws", "5"]

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(reproduce)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


def run(*words: str) -> str:
    outcome = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert outcome.exit_code == 0
    return outcome.stdout


def test_without_data_it_runs_and_says_what_is_missing() -> None:
    printed = run(*FEW)
    assert "Toy problem" in printed
    assert "case 1026, model A" in printed
    assert "0.70 (± 0.06)" in printed
    assert "agrees" in printed
    assert "differs" in printed
    assert "no dermatology data (dermatology_selectors.json" in printed
    assert "github.com/google-deepmind/uncertain_ground_truth" in printed


def test_what_the_paper_says_nothing_of_is_printed_only_if_asked_for() -> None:
    few, all_ = run(*FEW), run("--all", *FEW)
    assert "certainty of example (i) at reliability 1" not in few
    assert "Toy problem: 3 of 9 numbers" in few
    assert "certainty of example (i) at reliability 1" in all_
    assert "Toy problem: 9 of 9 numbers" in all_


def test_settings_stand_above_their_rows_once() -> None:
    printed = run(*FEW)
    assert printed.count("PL, reliability 3, alpha 1, 1200 draws") == 1
    assert printed.index("PL, reliability 3, alpha 1") < printed.index("case 1026, model A")


def test_reasons_are_printed_below_the_table() -> None:
    printed = run(*FEW)
    assert "(1) the paper averages 1000 successive" in printed
    assert "(3) the paper's equation shares" in printed


def test_json_and_figures_are_written(tmp_path: Path) -> None:
    data = write_toxicity(tmp_path / "data")
    target, figures = tmp_path / "out.json", tmp_path / "figures"
    printed = run("--data", str(data), "--json", str(target), "--out", str(figures), *FEW)
    told = json.loads(target.read_text(encoding="utf-8"))
    assert {row["section"] for row in told["rows"]} == {"Toy problem", "Printed cases", "Wikipedia toxicity ratings"}
    assert "toy.svg" in {path.name for path in figures.iterdir()}
    assert str(target) in printed


def test_notes_on_the_data_are_printed(tmp_path: Path) -> None:
    printed = run("--data", str(write_dermatology(tmp_path)), *FEW)
    assert "other contents than the published ones: 3" in printed


def test_wrong_places_are_refused_before_anything_is_computed(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    for words, match in (
        (["--data", str(tmp_path / "nowhere")], "no such directory"),
        (["--data", str(tmp_path / "figures")], "none of the data"),
        (["--json", str(tmp_path / "no" / "x.json")], "directory to write into does not exist"),
        (["--out", str(tmp_path / "figures")], "exists already"),
    ):
        with pytest.raises(ds.DissensusError, match=match):
            CliRunner().invoke(app, [*words, *FEW], catch_exceptions=False)
    assert list((tmp_path / "figures").iterdir()) == []
