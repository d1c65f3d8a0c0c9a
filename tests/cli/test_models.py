"""The commands that draw: aggregate, evaluate and compare."""

import hashlib
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dissensus as ds
from cli.conftest import put_study
from command_calls import Run
from dissensus.aggregations import PlackettLuce

STUDY = ds.simulate.study(n_cases=20, n_conditions=8, seed=9)


@pytest.fixture(autouse=True)
def opinions(run: Run) -> None:  # noqa: ARG001 - it goes to the folder
    ds.write(STUDY.annotations, "opinions.csv")


@pytest.fixture
def models(run: Run) -> list[str]:  # noqa: ARG001 - it goes to the folder
    return put_study(STUDY, "Aster", "Dahlia")[1:]


def test_aggregate_writes_soft_labels_and_draws_in_every_form(run: Run) -> None:
    expected = PlackettLuce(reliability=3).sample(ds.read("opinions.csv"), draws=200, seed=4)
    forms: dict[str, Any] = {"parquet": pl.read_parquet, "csv": pl.read_csv}
    for ending, read in forms.items():
        words = ("--reliability", "3", "--draws", "200", "--seed", "4", "--out", f"soft.{ending}")
        outcome = run("aggregate", "opinions.csv", *words, "--draws-out", f"draws-{ending}.parquet")
        assert "20 cases, 200 draws in 4 chains" in outcome.out
        found = read(f"soft.{ending}")
        assert found.columns == ["case", "condition", "mean", "sd", "top"]
        np.testing.assert_allclose(found["mean"], expected.summary()["mean"], rtol=1e-12)
    assert pl.read_parquet("draws-csv.parquet").equals(expected.to_frame())


def test_aggregate_takes_ratings(run: Run) -> None:
    Path("scores.csv").write_text("case,annotator,score\nc1,a,1\nc1,b,2\nc2,a,-1\nc2,b,-2\n")
    words = ["--aggregation", "normal-inverse-gamma", "--thresholds", "-0.5,0.5", "--out", "soft.csv"]
    assert run("aggregate", "scores.csv", *words).code == 0
    assert set(pl.read_csv("soft.csv")["condition"].drop_nulls()) == {"<= -0.5", "-0.5 to 0.5", "> 0.5"}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--reliability", "0"], "reliability must be a positive, finite number"),
        (["--aggregation", "plackett-lucy"], "did you mean 'plackett-luce'?"),
        (["--aggregation", "majority-vote", "--reliability", "2"], "majority-vote has no reliability"),
        (["--aggregation", "normal-inverse-gamma", "--thresholds", "a"], "thresholds must be a number"),
        (["--draws", "0"], "draws must be a whole number"),
        (["--precision", "-1"], "precision must be a positive"),
        (["--draws-out", "draws.xlsx"], "one of .csv, .tsv, .parquet, .jsonl"),
    ],
)
def test_aggregate_refuses_bad_requests_and_writes_nothing(run: Run, words: list[str], problem: str) -> None:
    assert run("aggregate", "opinions.csv", *words, "--out", "soft.csv").refused(problem)
    assert not Path("soft.csv").exists()


def test_evaluate_by_category_and_without_models(run: Run, models: list[str]) -> None:
    names = STUDY.annotations.case_names
    Path("risks.txt").write_text("".join(f"{('low', 'high')[i % 2]}\n" for i in range(STUDY.annotations.n_conditions)))
    Path("columns.csv").write_text("case,image\n" + "".join(f"{name},{name}.png\n" for name in names))
    words = ["--aggregation", "dirichlet:1", "--draws", "50", "--categories", "risks.txt", "--strata", "columns.csv"]
    metric = ["--metric", "category-accuracy:2", "--metric", "top-k-accuracy:1"]
    outcome = run("evaluate", "opinions.csv", *models, *words, "--no-report", *metric, "--out", "both")
    assert "top-2 category accuracy" in outcome.out
    result = ds.load("both")
    assert set(result.by_category()["category"]) == {"low", "high"}
    assert result.images[0] == f"{names[0]}.png"
    assert "mean certainty" in run("evaluate", "opinions.csv", *words, "--no-report", "--out", "certainty").out
    outcome = run("evaluate", "opinions.csv", *models, *metric, "--out", "none")
    assert outcome.refused("category-accuracy needs categories")
    assert not Path("none").exists()


def test_evaluate_and_compare(run: Run, models: list[str]) -> None:
    rows = "".join(f"{name},{i % 2}\n" for i, name in enumerate(STUDY.annotations.case_names))
    Path("sites.csv").write_text("case,site\n" + rows)
    words = ["--aggregation", "plackett-luce:1,3", "--metric", "top-k-accuracy:3", "--metric", "set-accuracy:2"]
    request = ["evaluate", "opinions.csv", *models, *words, "--strata", "sites.csv", "--draws", "100", "--out", "out"]
    assert "top-3 accuracy" in run(*request).out
    found = json.loads(Path("out/summary.json").read_text())
    assert {(row["reliability"], row["model"], row["metric"]) for row in found if row["estimand"] == "adjusted"} == set(
        product((1.0, 3.0), ("Aster", "Dahlia"), ("top-3 accuracy", "top-2 set accuracy"))
    )
    inputs = json.loads(Path("out/run.json").read_text())["inputs"]
    assert set(inputs) == {"opinions.csv", "Aster.csv", "Dahlia.csv", "sites.csv"}
    assert Path("out/report.html").stat().st_size > 100_000
    assert run(*request).refused("exists already")
    assert run(*request, "--overwrite", "--no-report", "--primary", "top-2 set accuracy").code == 0
    assert ds.load("out").primary == "top-2 set accuracy"
    assert run(*request, "--overwrite", "--primary", "top-2 accuracy").refused("there is no metric 'top-2 accuracy'")
    assert not Path("out/report.html").exists()
    assert run("compare", "out", "--metric", "top-3 accuracy", "--out", "comparison.csv").code == 0
    assert pl.read_csv("comparison.csv")["estimand"].to_list() == ["adjusted", "adjusted", "agreement"]
    assert run("compare", "out", "--metric", "top-3 acuracy").refused("did you mean 'top-3 accuracy'?")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--metric", "top-k-acuracy:3"], "did you mean 'top-k-accuracy'?"),
        (["--metric", "top-k-accuracy:8"], "top-8 accuracy"),
        (["--aggregation", "plackett-luce:many"], "reliability must be a number"),
        (["--level", "2"], "level must be between 0 and 1"),
        (["--predictions", "C=missing.csv"], "there is no such file"),
        (["--predictions", "Aster=missing.csv"], "two models have the name"),
    ],
)
def test_bad_requests_to_evaluate_write_nothing(run: Run, models: list[str], words: list[str], problem: str) -> None:
    outcome = run("evaluate", "opinions.csv", *models[:2], *words, "--draws", "10", "--out", "results")
    assert outcome.refused(problem)
    assert not Path("results").exists()


SHORT = ("--aggregation", "dirichlet", "--metric", "top-k-accuracy:1", "--draws", 20, "--no-report", "--out", "results")


def test_evaluate_says_what_was_left_out_and_hashes_every_file(run: Run, models: list[str]) -> None:
    table = pl.read_csv("Aster.csv").head(15)
    table.drop(table.columns[-1]).write_csv("Aster.csv")
    outcome = run("evaluate", "opinions.csv", *models, "--allow-missing", *SHORT)
    told = next(line for line in outcome.err.splitlines() if "Aster.csv: read as wide" in line)
    assert "; ! cases without a prediction: 5, skipped" in told
    error = " ".join(outcome.err.split())
    assert "Aster.csv: conditions without a score: 1, of 8, taken as not predicted" in error
    assert "Dahlia.csv: conditions" not in error
    read = [(receipt.path, receipt.format) for receipt in ds.load("results").receipts]
    assert read[:2] == [("opinions.csv", "long"), ("Aster.csv", "wide")]
    hashes = {path.name: f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}" for path in Path.cwd().glob("*.csv")}
    assert json.loads(Path("results/run.json").read_text(encoding="utf-8"))["inputs"] == hashes


PROBABILITY, LABEL = "case,prob\nc1,0.7\nc2,0.1\n", "case,label\nc1,Nevus\nc2,Nevus\n"
LABELS = LABEL + "c1,Melanoma\n"


@pytest.mark.parametrize(
    ("text", "words", "kind"),
    [
        (PROBABILITY, ["--positive", "Melanoma"], "scores"),
        (LABEL, [], "ranking"),
        (LABELS, ["--kind", "M=ranking"], "ranking"),
        (LABEL, ["--kind", "scores"], "scores"),
        (PROBABILITY, [], "does not say whose probability it is"),
        (LABELS, [], "a case has several labels"),
        (LABEL, ["--kind", "N=set"], "there is no model 'N' for --kind"),
        (LABEL, ["--kind", "sets"], "kind is not understood"),
    ],
)
def test_evaluate_takes_a_word_where_predictions_leave_doubt(run: Run, text: str, words: list[str], kind: str) -> None:
    Path("two.csv").write_text("case,annotator,condition\nc1,A,Nevus\nc1,B,Melanoma\nc2,A,Nevus\nc2,B,Nevus\n")
    Path("m.csv").write_text(text, encoding="utf-8")
    outcome = run("evaluate", "two.csv", "--predictions", "M=m.csv", *words, *SHORT)
    if " " in kind:
        assert outcome.refused(kind)
    else:
        assert [model.kind for model in ds.load("results").predictions.values()] == [kind]


def test_a_truth_is_one_more_reference(run: Run, models: list[str]) -> None:
    cases, best = STUDY.annotations.case_names, STUDY.theta.argmax(axis=1)
    labels = [STUDY.annotations.conditions[place] for place in best]
    known = pl.DataFrame({"case": cases, "label": labels})
    known.rename({"case": "patient", "label": "ground_truth"}).write_csv("truth.csv")  # usual names of what is true
    words = [*models, "--aggregation", "dirichlet:1", "--metric", "top-k-accuracy:1", "--draws", "50"]
    outcome = run("evaluate", "opinions.csv", *words, "--truth", "truth.csv", "--out", "out")
    assert "truth" in outcome.out.split("\n")[2]
    assert ">truth</th>" in Path("out/report.html").read_text(encoding="utf-8")
    rows = ds.load("out").to_frame().filter(estimand="truth")
    scores = pl.read_csv("Aster.csv").drop("case").to_numpy()
    assert rows.filter(model="Aster")["mean"].item() == pytest.approx((scores.argmax(axis=1) == best).mean())
    assert "truth.csv" in json.loads(Path("out/run.json").read_text())["inputs"]
    known.head(19).write_csv("few.csv")
    pl.concat([known, known.head(1)]).write_csv("twice.csv")
    pl.DataFrame({"case": cases, "score": 1.0}).write_csv("numbers.csv")
    for name, problem in (("few", "truth of some cases"), ("twice", "several answers"), ("numbers", "numbers.csv")):
        outcome = run("evaluate", "opinions.csv", *words, "--truth", f"{name}.csv", "--out", "none")
        assert outcome.refused(problem)
    assert not Path("none").exists()
    for name in ("opinions", "Aster", "Dahlia"):
        pl.read_csv(f"{name}.csv").write_parquet(f"{name}.parquet")
    split = [word.replace(".csv", ".parquet") for word in words]
    outcome = run(
        *("evaluate", "opinions.parquet", *split, "--truth", "truth.csv", "--shard-size", "10", "--out", "split")
    ).done()
    assert ds.load("split").to_frame().filter(estimand="truth")["mean"].to_list() == rows["mean"].to_list()


@pytest.mark.parametrize(
    ("opinions", "said", "truth", "expected"),
    [
        ("case,annotator,score\nx,a,1\nx,b,2\ny,a,4\ny,b,6\n", "x,2\ny,5\n", "patient,depth\nx,1\ny,7\n", 1.5),
        (
            "case,annotator,finding,present\nx,a,AF,1\nx,b,AF,0\ny,a,ST,1\ny,b,AF,1\n",
            None,
            "case,finding,present\nx,AF,1\ny,AF,0\ny,ST,0\n",
            0.75,
        ),
    ],
    ids=["numbers", "findings"],
)
def test_truth_of_numbers_and_findings(run: Run, opinions: str, said: str | None, truth: str, expected: float) -> None:
    Path("said.csv").write_text(opinions)
    Path("truth.csv").write_text(truth)
    Path("M.csv").write_text(f"patient,stars\n{said}" if said else "case,AF,ST\nx,0.9,0.1\ny,0.2,0.8\n")
    metric = "mean-absolute-error" if said else "top-k-accuracy:1"
    words = ["--predictions", "M=M.csv", "--metric", metric, "--no-report", "--out", "out", "--truth", "truth.csv"]
    run("evaluate", "said.csv", *words, "--draws", "20", "--annotators", "fixed").done()
    assert ds.load("out").to_frame().filter(estimand="truth")["mean"].item() == pytest.approx(expected)
