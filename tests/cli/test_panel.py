"""What a large panel would say, on the command line: asked for, left out, refused, and compared beside."""

import json
from pathlib import Path

import pytest

import dissensus as ds
from cli.conftest import put_study
from command_calls import Run

WORDS = (
    *("--aggregation", "plackett-luce:1,3", "--metric", "top-k-accuracy:1", "--draws", "20", "--no-report"),
    *("--out", "results"),
)


def files(n_cases: int) -> list[str]:
    """Write a study and the scores of two models, and return the words that name them."""
    return put_study(ds.simulate.study(n_cases=n_cases, n_conditions=8, seed=9), "Aster", "Birch")


def test_the_panel_is_estimated_and_stands_beside_what_decides(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = run("evaluate", *files(110), *WORDS).out
    assert "with one annotator" in said
    assert "panel (est.)" in said or "The panel estimate is a sensitivity analysis" in said
    assert len(said.splitlines()) <= 25
    assert max(map(len, said.splitlines())) <= 80
    assert ds.load("results").panel == 2
    assert run("compare", "results").out.startswith("top-1 accuracy: agreement\n")
    runs = {row["run"] for row in json.loads(run("compare", "results", "--all", "--json").out)["rows"]}
    assert {"annotators", "panel", "plackett-luce 1"} <= runs


def test_the_panel_is_left_out_on_request_and_refused_with_too_few_cases(run: Run) -> None:
    said = run("evaluate", *files(110), *WORDS, "--no-panel").out
    assert "No panel estimate: it was not asked for." in said
    assert [one.label for one in ds.load("results").runs] == ["plackett-luce 1", "plackett-luce 3"]
    given, words = files(40), (*WORDS[:-1], "others")
    assert run("evaluate", *given, *words, "--panel").refused(
        "there are 40 annotated cases, and at least 100 are needed"
    )
    assert run("evaluate", *given, *words, "--sweep").refused("a sweep and aggregations are both given")
    assert not Path("others").exists()
    assert "No panel estimate: there are 40 annotated cases" in run("evaluate", *given, *words).out
    run("evaluate", *given, "--sweep", "--draws", "5", "--out", "swept", "--no-report")
    assert len(ds.load("swept").runs) == 10
    refused = run("certainty", given[0], "--prior", "informed", "--out", "open.csv")
    assert refused.refused("needs to know what the models say")


def test_a_prior_by_name_is_that_of_all_aggregations_that_have_one(run: Run) -> None:
    words, vote = ("evaluate", *files(100), *WORDS[2:-1]), ("--aggregation", "majority-vote", "--prior")
    assert run(*words, "results", "--aggregation", "dirichlet:1", *vote, "informed").code == 0
    result = ds.load("results")
    assert [one.estimand for one in result.runs] == ["panel", "adjusted"]
    assert result.runs[0].spec.parameters()["prior"] == "informed"
    assert run(*words, "others", "--aggregation", "dirichlet:1", *vote, "flat").refused("prior")
    assert run(*words, "others", *vote, "informed").refused("no aggregation has a prior")
