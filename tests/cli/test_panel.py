"""What a large panel would say, on the command line: asked for, left out, refused, and compared beside."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dissensus as ds
from cli.conftest import Demo
from command_calls import Run
from dissensus.cli.demo import evaluated, truth_told

WORDS = (
    *("--aggregation", "plackett-luce:1,3", "--metric", "top-k-accuracy:1", "--draws", "20", "--no-report"),
    *("--out", "results"),
)


def files(n_cases: int) -> tuple[str, ...]:
    """Write a study and the scores of two models, and return the words that name them."""
    study = ds.simulate.study(n_cases=n_cases, n_conditions=8, seed=9)
    ds.write(study.annotations, "opinions.csv", overwrite=True)
    for name, power in (("A", 2.0), ("B", 0.5)):
        scores = pl.DataFrame(study.theta**power, schema=list(study.annotations.conditions))
        scores.insert_column(0, pl.Series("case", study.annotations.case_names)).write_csv(f"{name}.csv")
    return ("opinions.csv", "--predictions", "A=A.csv", "--predictions", "B=B.csv")


def test_the_panel_is_estimated_by_itself_and_stands_beside_what_decides(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = run("evaluate", *files(110), *WORDS).out
    assert "with one annotator" in said
    assert "panel (est.)" in said or "The panel estimate is a sensitivity analysis" in said
    assert len(said.splitlines()) <= 25
    assert max(map(len, said.splitlines())) <= 80
    assert ds.load("results").panel == 2
    titles = [line.strip() for line in run("compare", "results").out.splitlines() if "top-1 accuracy" in line]
    assert titles == ["top-1 accuracy: agreement"]
    titles = [line.strip() for line in run("compare", "results", "--all").out.splitlines() if "accuracy:" in line]
    assert titles[0] == "top-1 accuracy: agreement"
    assert "top-1 accuracy: panel" in titles
    assert any(title.startswith("top-1 accuracy: adjusted, plackett-luce 1") for title in titles)


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


def test_models_that_were_trained_on_the_annotations_are_named(run: Run) -> None:
    given = files(110)
    names = [one.partition("=")[0] for one in given if "=" in one]
    assert run("evaluate", *given, *WORDS, "--trained-on", names[0]).code == 0
    found = ds.load("results")
    assert found.trained_on == (names[0],)
    assert found.prior is not None
    assert [row["model"] for row in found.prior.models if row["left_out"] is not None] == [names[0]]
    refused = run("evaluate", *given, *WORDS[:-1], "others", "--trained-on", "Nobody")
    assert refused.refused("a model that was trained on the annotations is not among the models")


def test_an_aggregation_takes_the_informed_prior_in_its_text(run: Run) -> None:
    words = ("--aggregation", "plackett-luce:1", "--aggregation", "dirichlet:1:prior=informed", *WORDS[2:])
    assert run("evaluate", *files(110), *words).code == 0
    assert [one.estimand for one in ds.load("results").runs] == ["adjusted", "panel"]


def test_a_prior_by_name_is_that_of_all_aggregations_that_have_one(run: Run) -> None:
    words, vote = ("evaluate", *files(100), *WORDS[2:-1]), ("--aggregation", "majority-vote", "--prior")
    assert run(*words, "results", "--aggregation", "dirichlet:1", *vote, "informed").code == 0
    result = ds.load("results")
    assert [one.estimand for one in result.runs] == ["panel", "adjusted"]
    assert result.runs[0].spec.parameters()["prior"] == "informed"
    assert run(*words, "others", "--aggregation", "dirichlet:1", *vote, "flat").refused("prior")
    assert run(*words, "others", *vote, "informed").refused("no aggregation has a prior")


# The demo -----------------------------------------------------------------------------------------------


def test_the_demo_names_the_estimands_and_counts_the_intervals_that_hold_the_truth(demo: Demo) -> None:
    from dissensus.evaluation.sentences import leading

    said = truth_told(demo.result)
    assert [line.split()[0] for line in said.splitlines()[1:4]] == ["agreement", "adjusted", "panel"]
    found = leading(demo.result, demo.result.to_frame())
    held = sum(one.panel["low"] <= one.truth <= one.panel["high"] for one in found if one.panel and one.truth)
    assert f"hold the truth of {held} of {len(found)} models" in said
    assert max(map(len, said.splitlines()[:4])) <= 80


def test_a_small_demo_says_why_there_is_no_panel() -> None:
    study = ds.simulate.study(n_cases=30, n_conditions=10, seed=1)
    small = truth_told(evaluated(study, {"draws": 10, "seed": 1}, origin="here"))
    assert "not estimated: there are 30 annotated cases" in small
    assert "  panel" not in small
