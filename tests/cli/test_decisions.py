"""``plan``, ``judges``, ``relabel`` and ``conformal``: what they print and write, and what they refuse."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dissensus as ds
from cli.conftest import put_study


@pytest.fixture
def files(run: Any, tmp_path: Path) -> list[str]:  # noqa: ARG001 - it goes to the folder
    """Write 60 simulated cases, of which 40 are annotated in a file of their own, and what two models say."""
    study = ds.simulate.study(n_cases=60, n_conditions=4, seed=1)
    ds.write(study.annotations.select(range(40)), tmp_path / "humans.csv")
    return put_study(study, "Aster", "Birch")[1:]


def test_a_plan_from_a_pilot_and_from_standard_deviations(run: Any, files: list[str], tmp_path: Path) -> None:
    asked = ["--metric", "top-k-accuracy:1", "--effect", "0.05", "--opinions", "2,5", "--cost", "case=4"]
    outcome = run("plan", "opinions.csv", *files, *asked, "--out", "plan.csv", "--plot", "plan.svg").done()
    assert "cheapest design for power 0.8" in outcome.out
    assert pl.read_csv(tmp_path / "plan.csv").columns[:3] == ["cases", "opinions", "annotators"]
    assert (tmp_path / "plan.svg").read_text(encoding="utf-8").startswith("<svg")
    stated = run("plan", "--sd", "case=0.3", "--sd", "opinion=0.4", "--effect", "0.05", "--opinions", "3", "--json")
    found = json.loads(stated.out)
    wanted = ds.plan({"case_sd": 0.3, "opinion_sd": 0.4}, effect=0.05, opinions=[3])
    assert found["rows"][0]["power"] == pytest.approx(wanted.rows[0]["power"])
    assert len(outcome.out.splitlines()) <= 25


@pytest.mark.usefixtures("files")
def test_judges_are_corrected_on_all_cases_that_they_judged(run: Any, tmp_path: Path) -> None:
    condition = ds.read(tmp_path / "opinions.csv").conditions[0]
    given = ["humans.csv", "--judge", "A=Aster.csv", "--judge", "B=Birch.csv", "--judge", "B=Birch.csv"]
    outcome = run("judges", *given, "--condition", condition, "--out", "judges.csv", "--width", "0.2").done()
    assert "40 of 60 cases labelled by humans" in outcome.out
    assert "B: two answers agree in 1.00" in outcome.out
    table = pl.read_csv(tmp_path / "judges.csv")
    assert table["judge"].to_list() == ["A", "B", "mean of judges"]
    scored = run("judges", *given[:3], "--predictions", "Birch=Birch.csv", "--metric", "top-k-accuracy:1", "--json")
    assert json.loads(scored.out)["rows"][0]["quantity"] == "Birch"


def test_cases_to_ask_about_again_are_listed(run: Any, files: list[str], tmp_path: Path) -> None:
    outcome = run(
        "relabel", "opinions.csv", *files, "--metric", "top-k-accuracy:1", "-n", "5", "--out", "again.json"
    ).done()
    assert "of the variance of the conclusion" in " ".join(outcome.out.split())
    assert len(json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))) == 5


def test_sets_of_new_cases_are_written_and_can_be_read(run: Any, files: list[str], tmp_path: Path) -> None:
    given = ["humans.csv", *files[:2], "--allow-missing", "--alpha", "0.2"]
    outcome = run("conformal", *given, "--new", "Birch.csv", "--out", "sets.csv").done()
    assert "guarantee" in outcome.out
    assert "60 sets" in outcome.out
    known = ds.read(tmp_path / "opinions.csv").case_names
    assert set(pl.read_csv(tmp_path / "sets.csv", infer_schema=False)["case"]) <= set(known)
    assert run("conformal", *given).code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["plan", "--effect", "0.1"], "a pilot study or from standard deviations"),
        (["plan", "--sd", "case=0.3", "--effect", "0.1", "--cost", "case=x"], "--cost is not understood"),
        (["plan", "--sd", "case=0.3", "--effect", "0.1", "--cases", "ten"], "--cases is not understood"),
        (["plan", "--sd", "case=0.3", "--effect", "0.1", "--cost", "case=0"], "must be positive"),
        (["judges", "humans.csv"], "there is no judge"),
        (["relabel", "opinions.csv", "--predictions", "A=Aster.csv", "-n", "1000"], "not so many cases"),
        (["conformal", "opinions.csv", "--predictions", "A=Aster.csv", "--alpha", "2"], "alpha must be between"),
        (["conformal", "opinions.csv", "--predictions", "A=Aster.csv", "--new", "Aster.csv"], "--new and --out"),
    ],
)
@pytest.mark.usefixtures("files")
def test_what_is_refused_is_one_clear_error(run: Any, words: list[str], told: str) -> None:
    assert run(*words).refused(told)
